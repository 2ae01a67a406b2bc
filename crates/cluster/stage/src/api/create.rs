//! A new object.

use std::collections::HashSet;

use jiff::Timestamp;
use serde_json::Value;

use super::modify::Changed;
use super::{Answered, Api, Call, Outcome, Place, Written};
use crate::admission::{Operation, Review};
use crate::object::{Object, timestamp};
use crate::options::WriteOptions;
use crate::resource::{Nature, Resource, split_api_version};
use crate::rules;
use crate::status::Status;
use crate::store::{Change, Expect, Write, WriteError};

/// What generated names end in: no vowels, so that no words appear, and nothing that looks like something else.
const NAME_LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// How many letters a generated name ends in.
const GENERATED_LETTERS: usize = 5;

/// The longest name that is generated, as a DNS label.
const LONGEST_GENERATED_NAME: usize = 63;

/// How many names are tried before the client is asked to try again.
const MOST_GENERATED_NAMES: usize = 8;

impl Api {
    /// Stores a new object, which is given in the version of the resource.
    pub async fn create(
        &self,
        call: &Call,
        place: &Place,
        object: Value,
        options: &WriteOptions,
    ) -> Result<Written, Status> {
        self.create_changed(
            call,
            place,
            Changed {
                object,
                fields_are_noted: false,
                replaces: false,
            },
            options,
        )
        .await
    }

    /// Stores a new object whose fields may have their managers already, as after an apply.
    pub(super) async fn create_changed(
        &self,
        call: &Call,
        place: &Place,
        changed: Changed,
        options: &WriteOptions,
    ) -> Result<Written, Status> {
        let mut object = changed.object;
        match_namespace(place, &mut object)?;
        let requested_name = place.name.as_str();
        let mut place = place.clone();
        rules::default(&place.resource, &mut object);
        remove_repeated_owners(call, &mut object);
        if !changed.fields_are_noted {
            object = self.note_fields(call, &place, None, object, options)?;
        }
        call.pause().await;
        let mut object = self.to_stored_version(&place.resource, object).await?;
        if place.resource.is("", "limitranges")
            && object.name().is_empty()
            && object.metadata_text("generateName").is_empty()
        {
            // The one kind whose objects get a name when they bring none.
            object.set_metadata_text("name", &uuid::Uuid::new_v4().to_string());
        }
        let generates = object.name().is_empty() && !object.metadata_text("generateName").is_empty();
        place.name = object.name().to_owned();
        let mut review = Review::new(
            self,
            call,
            &place,
            Operation::Create,
            Some(object),
            None,
            options.dry_run,
        )
        .written_with(options);
        self.admission.mutate(&mut review).await?;
        call.pause().await;
        object = review.take_object();
        remove_repeated_owners(call, &mut object);
        self.default_stored(&place.resource, &mut object);
        self.access
            .refuse_escalation(&call.caller, &place, requested_name, &object, None)?;

        for attempt in 0..MOST_GENERATED_NAMES {
            call.pause().await;
            let mut candidate = object.clone();
            if generates && candidate.name().is_empty() {
                let name = generated_name(candidate.metadata_text("generateName"));
                candidate.set_metadata_text("name", &name);
            }
            candidate.name().clone_into(&mut place.name);
            let claim = self.allocate(&place, &mut candidate, None, options.dry_run)?;
            Self::finish_create(call, &place, &mut candidate)?;
            call.pause().await;
            let review = Review::new(
                self,
                call,
                &place,
                Operation::Create,
                Some(candidate),
                None,
                options.dry_run,
            )
            .written_with(options);
            self.admission.validate(&review).await?;
            let mut candidate = review.into_object();
            rules::settle(&place.resource, &mut candidate);
            if !candidate.metadata_text("resourceVersion").is_empty() {
                return Err(Status::refusal(
                    http::StatusCode::INTERNAL_SERVER_ERROR,
                    "",
                    "resourceVersion should not be set on objects to be created",
                ));
            }
            if options.dry_run {
                if self.store.get(&place.key()).is_some() {
                    return Err(Status::already_exists(
                        place.resource.group_resource(),
                        &place.name,
                    ));
                }
                return Ok(Written {
                    outcome: Outcome::Created,
                    answer: Answered::Value(candidate),
                });
            }
            let write = Write {
                key: place.key(),
                expect: Expect::Absent,
                change: Change::Put(candidate),
            };
            match self.store.write(write).await {
                Ok(stored) => {
                    claim.keep(&stored.key);
                    return Ok(Written {
                        outcome: Outcome::Created,
                        answer: Answered::Stored(stored),
                    });
                }
                Err(WriteError::AlreadyExists { .. }) if generates && attempt + 1 < MOST_GENERATED_NAMES => {}
                Err(WriteError::AlreadyExists { .. }) if generates => break,
                Err(error) => return Err(Self::write_failure(&place, error)),
            }
        }
        Err(Status::no_free_name(place.resource.group_resource(), &place.name))
    }

    /// Sets what only the server sets on a new object, and checks the whole.
    pub(crate) fn finish_create(call: &Call, place: &Place, object: &mut Value) -> Result<(), Status> {
        let now = timestamp(Timestamp::now());
        let metadata = object.metadata_mut();
        metadata.insert("uid".into(), uuid::Uuid::new_v4().to_string().into());
        metadata.insert("creationTimestamp".into(), now.into());
        for name in ["selfLink", "deletionTimestamp", "deletionGracePeriodSeconds"] {
            metadata.remove(name);
        }
        rules::prepare_for_create(&place.resource, object);
        if place
            .resource
            .is("certificates.k8s.io", "certificatesigningrequests")
        {
            let caller = &call.caller;
            let requester = kinds::strategy::Requester {
                name: &caller.user,
                uid: &caller.uid,
                groups: &caller.groups,
                extra: &caller.extra,
            };
            kinds::strategy::note_requester(object, &requester);
        }
        let errors = rules::validate_create(&place.resource, object);
        if !errors.is_empty() {
            let resource = &place.resource;
            return Err(Status::invalid(
                resource.storage.group(),
                &resource.kind,
                object.name(),
                &errors,
            ));
        }
        for warning in rules::warnings(&place.resource, object, None) {
            call.warn(warning);
        }
        Ok(())
    }

    /// Fills in defaults of the stored version, which a conversion or a webhook may have left out.
    pub(crate) fn default_stored(&self, resource: &Resource, object: &mut Value) {
        match &resource.nature {
            Nature::Custom(custom) => custom.default_stored(object),
            Nature::BuiltIn(_) => {
                let (group, version) = split_api_version(&resource.storage_api_version);
                let served = self.resources.now();
                if let Some(stored) = served.resource(group, version, &resource.plural) {
                    rules::default(stored, object);
                }
            }
        }
    }
}

/// Checks that the object's namespace is the path's, and sets it where the object names none.
pub(crate) fn match_namespace(place: &Place, object: &mut Value) -> Result<(), Status> {
    let named = object.namespace();
    if named == place.namespace {
        return Ok(());
    }
    if !place.resource.namespaced && !named.is_empty() && place.namespace.is_empty() {
        // The real server drops a namespace that an object of the whole cluster can't have.
        object.set_metadata_text("namespace", "");
        return Ok(());
    }
    if named.is_empty() {
        let namespace = place.namespace.clone();
        object.set_metadata_text("namespace", &namespace);
        return Ok(());
    }
    Err(Status::bad_request(
        "the namespace of the provided object does not match the namespace sent on the request",
    ))
}

/// Removes owner references that are there twice, and says so.
pub(crate) fn remove_repeated_owners(call: &Call, object: &mut Value) {
    let Some(Value::Array(owners)) = object.metadata_mut().get_mut("ownerReferences") else {
        return;
    };
    let mut seen: HashSet<Value> = HashSet::with_capacity(owners.len());
    let mut repeated = Vec::new();
    owners.retain(|owner| {
        let is_new = seen.insert(owner.clone());
        if !is_new {
            repeated.push(owner["uid"].as_str().unwrap_or_default().to_owned());
        }
        is_new
    });
    if !repeated.is_empty() {
        call.warn(format!(
            ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may \
             reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
            repeated.join(", ")
        ));
    }
}

/// Returns a name with a random end.
pub(crate) fn generated_name(base: &str) -> String {
    let mut cut = base.len().min(LONGEST_GENERATED_NAME - GENERATED_LETTERS);
    while !base.is_char_boundary(cut) {
        cut -= 1;
    }
    let mut name = base[..cut].to_owned();
    let random = uuid::Uuid::new_v4();
    for byte in &random.as_bytes()[..GENERATED_LETTERS] {
        name.push(char::from(NAME_LETTERS[usize::from(*byte) % NAME_LETTERS.len()]));
    }
    name
}
