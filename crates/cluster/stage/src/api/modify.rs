//! A change of an object that is there: the part that updates, patches and subresources share.

use std::future::Future;
use std::sync::Arc;

use schema::{FieldError, FieldPath};
use serde_json::{Value, json};

use super::create::{match_namespace, remove_repeated_owners};
use super::{Answered, Api, Call, MOST_ATTEMPTS, Outcome, Place, Written};
use crate::admission::{Operation, Review};
use crate::object::Object;
use crate::options::WriteOptions;
use crate::resource::Nature;
use crate::rules;
use crate::status::Status;
use crate::store::{Change, Expect, Stored, Write, WriteError};

/// An object as a write found it.
#[derive(Debug)]
pub struct Found {
    /// The object in the version of the resource that is written.
    pub object: Value,
    /// The object as it is stored.
    pub stored: Arc<Stored>,
}

/// What a change of an object is, and what it depends on.
#[derive(Debug)]
pub struct Changed {
    /// The new object, in the version of the resource.
    pub object: Value,
    /// Whether the managers of fields are in it already, as after an apply.
    pub fields_are_noted: bool,
    /// Whether it is a whole object whose uid says which one it replaces.
    pub replaces: bool,
}

impl Api {
    /// Puts a whole object, given in the version of the resource, in place of the old one.
    pub async fn update(
        &self,
        call: &Call,
        place: &Place,
        object: Value,
        options: &WriteOptions,
    ) -> Result<Written, Status> {
        match_name(place, &object)?;
        if place.subresource.is_empty()
            && place.resource.row().is_some_and(|row| row.created_by_update)
            && self.store.get(&place.key()).is_none()
        {
            return self.create(call, place, object, options).await;
        }
        let demands_version = match &place.resource.nature {
            Nature::BuiltIn(row) => row.demands_resource_version,
            Nature::Custom(_) => true,
        };
        if demands_version
            && object.metadata_text("resourceVersion").is_empty()
            && self.store.get(&place.key()).is_some()
        {
            let errors = [FieldError::invalid(
                FieldPath::new("metadata").child("resourceVersion"),
                &json!(0),
                "must be specified for an update",
            )];
            let resource = &place.resource;
            return Err(Status::invalid(
                &resource.group,
                &resource.plural,
                &place.name,
                &errors,
            ));
        }
        let mut object = object;
        match_namespace(place, &mut object)?;
        rules::default(&place.resource, &mut object);
        self.modify(call, place, options, |_| {
            let object = object.clone();
            async {
                Ok(Changed {
                    object,
                    fields_are_noted: false,
                    replaces: true,
                })
            }
        })
        .await
    }

    /// Changes an object with a function of what it is, again and again until nobody else has changed it meanwhile.
    ///
    /// A change that names a resource version is tried once.
    pub async fn modify<Make, Making>(
        &self,
        call: &Call,
        place: &Place,
        options: &WriteOptions,
        make: Make,
    ) -> Result<Written, Status>
    where
        Make: Fn(&Found) -> Making,
        Making: Future<Output = Result<Changed, Status>>,
    {
        for _ in 0..MOST_ATTEMPTS {
            let stored = self.get(place)?;
            let found = Found {
                object: self.served(&place.resource, &stored).await?,
                stored,
            };
            let changed = make(&found).await?;
            let named_version = changed.object.metadata_text("resourceVersion").to_owned();
            match self.store_change(call, place, options, found, changed).await {
                Ok(written) => return Ok(written),
                Err(Failed::Refused(status)) => return Err(status),
                Err(Failed::Raced) if named_version.is_empty() || named_version == "0" => {}
                Err(Failed::Raced) => {
                    // Someone wrote between our look and our write; the next look says whether the version still fits.
                }
            }
        }
        Err(Status::modified(place.resource.group_resource(), &place.name))
    }

    async fn store_change(
        &self,
        call: &Call,
        place: &Place,
        options: &WriteOptions,
        found: Found,
        changed: Changed,
    ) -> Result<Written, Failed> {
        let mut new = changed.object;
        check_versions(place, &new, &found, changed.replaces)?;
        match_namespace(place, &mut new)?;
        remove_repeated_owners(call, &mut new);
        if !changed.fields_are_noted {
            new = self.note_fields(call, place, Some(&found.object), new, options)?;
        }
        call.pause().await;
        let mut new = self.to_stored_version(&place.resource, new).await?;
        let old = found.stored.value();
        let mut review = Review::new(
            self,
            call,
            place,
            Operation::Update,
            Some(new),
            Some(&old),
            options.dry_run,
        )
        .written_with(options);
        self.admission.mutate(&mut review).await?;
        call.pause().await;
        new = review.take_object();
        remove_repeated_owners(call, &mut new);
        self.default_stored(&place.resource, &mut new);
        self.access
            .refuse_escalation(&call.caller, place, &place.name, &new, Some(&old))?;
        let claim = self.allocate(place, &mut new, Some(&old), options.dry_run)?;
        call.pause().await;
        // A write that names no version is one of the version that is there.
        new.metadata_mut()
            .insert("resourceVersion".into(), found.stored.revision.to_string().into());
        Self::finish_update(call, place, &mut new, &old)?;
        call.pause().await;
        let review = Review::new(
            self,
            call,
            place,
            Operation::Update,
            Some(new),
            Some(&old),
            options.dry_run,
        )
        .written_with(options);
        self.admission.validate(&review).await?;
        let mut new = review.into_object();
        rules::settle(&place.resource, &mut new);

        // The store sets the version; a write that changes nothing is none.
        if crate::api::fields::same_but_for_times(&mut new, &old) {
            return Ok(Written {
                outcome: Outcome::Done,
                answer: Answered::Stored(found.stored),
            });
        }
        let gone = ends_deletion(&new, &old);
        if options.dry_run {
            return Ok(Written {
                outcome: Outcome::Done,
                answer: Answered::Value(new),
            });
        }
        let expect = Expect::Revision(found.stored.revision);
        // Those who watch see what was stored; the one who ended the deletion sees what it came to.
        let (change, ended) = if gone {
            (Change::Delete, Some(new))
        } else {
            (Change::Put(new), None)
        };
        match self
            .store
            .write(Write {
                key: place.key(),
                expect,
                change,
            })
            .await
        {
            Ok(stored) => {
                claim.keep(&stored.key);
                Ok(Written {
                    outcome: Outcome::Done,
                    answer: ended.map_or_else(|| Answered::Stored(stored), Answered::Value),
                })
            }
            Err(WriteError::Conflict { .. } | WriteError::NotFound { .. }) => Err(Failed::Raced),
            Err(error) => Err(Failed::Refused(Self::write_failure(place, error))),
        }
    }

    /// Keeps what an update may not change, and checks the whole.
    fn finish_update(call: &Call, place: &Place, new: &mut Value, old: &Value) -> Result<(), Status> {
        let below = place.below();
        let metadata = new.metadata_mut();
        match old.metadata().and_then(|old| old.get("generation")) {
            Some(generation) => metadata.insert("generation".into(), generation.clone()),
            None => metadata.remove("generation"),
        };
        metadata.remove("selfLink");
        rules::prepare_for_update(&place.resource, below, new, old);
        keep_metadata(new, old);
        let (errors, kept) = rules::validate_update(&place.resource, below, new, old);
        if !errors.is_empty() {
            let resource = &place.resource;
            return Err(Status::invalid(
                resource.storage.group(),
                &resource.kind,
                new.name(),
                &errors,
            ));
        }
        for warning in kept
            .into_iter()
            .chain(rules::warnings(&place.resource, new, Some(old)))
        {
            call.warn(warning);
        }
        Ok(())
    }
}

/// Why a change was not stored.
enum Failed {
    /// It is refused.
    Refused(Status),
    /// Someone else changed the object meanwhile.
    Raced,
}

impl From<Status> for Failed {
    fn from(status: Status) -> Self {
        Self::Refused(status)
    }
}

/// Checks that the object's name is the path's.
fn match_name(place: &Place, object: &Value) -> Result<(), Status> {
    let named = object.name();
    if named == place.name {
        return Ok(());
    }
    if named.is_empty() {
        return Err(Status::bad_request("name must be provided"));
    }
    Err(Status::bad_request(format!(
        "the name of the object ({named}) does not match the name on the URL ({})",
        place.name
    )))
}

/// Checks the resource version and the uid that the new object names, if it names any.
fn check_versions(place: &Place, new: &Value, found: &Found, replaces: bool) -> Result<(), Status> {
    let resource = place.resource.group_resource();
    let uid = new.uid();
    if replaces && !uid.is_empty() && uid != &*found.stored.uid {
        let prefix = if place.resource.custom().is_some() {
            format!("{}/", place.resource.group)
        } else {
            String::new()
        };
        let namespace = if place.namespace.is_empty() {
            String::new()
        } else {
            format!("{}/", place.namespace)
        };
        return Err(Status::conflict(
            resource,
            &place.name,
            format_args!(
                "StorageError: invalid object, Code: 4, Key: /registry/{prefix}{}/{namespace}{}, ResourceVersion: 0, \
                 AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
                place.resource.plural, place.name, found.stored.uid
            ),
        ));
    }
    let version = new.metadata_text("resourceVersion");
    if version.is_empty() || version == "0" || version == found.stored.revision.to_string() {
        return Ok(());
    }
    if version.parse::<u64>().is_err() {
        let why = super::read::not_a_version(version);
        return Err(Status::refusal(http::StatusCode::INTERNAL_SERVER_ERROR, "", why));
    }
    Err(Status::modified(resource, &place.name))
}

/// Keeps the metadata that only the server writes.
fn keep_metadata(new: &mut Value, old: &Value) {
    let Some(old) = old.metadata() else { return };
    let metadata = new.metadata_mut();
    for name in ["creationTimestamp", "deletionTimestamp"] {
        match old.get(name) {
            Some(value) if !value.is_null() => metadata.insert(name.into(), value.clone()),
            _ => metadata.remove(name),
        };
    }
    for name in ["uid", "deletionGracePeriodSeconds"] {
        if let Some(value) = old.get(name)
            && metadata.get(name).is_none_or(|new| new.is_null() || new == "")
        {
            metadata.insert(name.into(), value.clone());
        }
    }
}

/// Returns whether nothing keeps an object any more that is being deleted and was now updated.
fn ends_deletion(new: &Value, old: &Value) -> bool {
    if !old.is_being_deleted() || !new.finalizers().is_empty() {
        return false;
    }
    if new.get("kind").and_then(Value::as_str) == Some("Namespace")
        && new["spec"]["finalizers"]
            .as_array()
            .is_some_and(|all| !all.is_empty())
    {
        return false;
    }
    let grace = |object: &Value| {
        object
            .metadata()
            .and_then(|all| all.get("deletionGracePeriodSeconds")?.as_i64())
    };
    grace(old).unwrap_or(0) == 0
}
