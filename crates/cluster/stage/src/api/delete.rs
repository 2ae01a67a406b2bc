//! The end of an object: at once, after a while, or when its finalizers are done.

use jiff::{SignedDuration, Timestamp};
use schema::structural::names;
use serde_json::{Value, json};

use super::{Answered, Api, Call, MOST_ATTEMPTS, Outcome, Place, Written};
use crate::admission::{Operation, Review};
use crate::controllers::definitions::{CLEANUP, DEFINITIONS};
use crate::filter::Filter;
use crate::object::{Object, timestamp};
use crate::options::{DeleteOptions, ListOptions, Propagation};
use crate::status::{self, Status};
use crate::store::{Change, Expect, Write, WriteError};

/// The finalizer that keeps an object until its dependents have lost their owner.
pub const ORPHAN: &str = "orphan";

/// The finalizer that keeps an object until its dependents are gone.
pub const FOREGROUND: &str = "foregroundDeletion";

/// How many objects of a collection are deleted between two looks at the store.
const COLLECTION_PAGE: usize = 500;

impl Api {
    /// Deletes an object, or begins to.
    pub async fn delete(
        &self,
        call: &Call,
        place: &Place,
        options: &DeleteOptions,
    ) -> Result<Written, Status> {
        let mut admitted = false;
        for _ in 0..MOST_ATTEMPTS {
            let stored = self.get(place)?;
            let mut object = stored.value();
            check_preconditions(place, &object, options)?;
            if !admitted {
                let mut review = Review::new(
                    self,
                    call,
                    place,
                    Operation::Delete,
                    None,
                    Some(&object),
                    options.dry_run,
                )
                .deleted_with(options);
                self.admission.mutate(&mut review).await?;
                self.admission.validate(&review).await?;
                admitted = true;
            }
            let step = next_step(place, &mut object, options, Timestamp::now());
            let (change, outcome) = match step {
                Step::Wait => {
                    return Ok(Written {
                        outcome: Outcome::Done,
                        answer: Answered::Stored(stored),
                    });
                }
                Step::Mark => (Change::Put(object.clone()), Outcome::Done),
                Step::Remove => (Change::Delete, Outcome::Done),
            };
            let removed = matches!(step, Step::Remove);
            if options.dry_run {
                return Ok(Written {
                    outcome,
                    answer: Self::deletion_answer(place, object, removed),
                });
            }
            let write = Write {
                key: place.key(),
                expect: Expect::Revision(stored.revision),
                change,
            };
            match self.store.write(write).await {
                Ok(deleted) if removed => {
                    object.set_metadata_text("resourceVersion", &deleted.revision.to_string());
                    return Ok(Written {
                        outcome,
                        answer: Self::deletion_answer(place, object, true),
                    });
                }
                Ok(stored) => {
                    return Ok(Written {
                        outcome,
                        answer: Answered::Stored(stored),
                    });
                }
                Err(WriteError::Conflict { .. }) => {}
                Err(error) => return Err(Self::write_failure(place, error)),
            }
        }
        Err(Status::modified(place.resource.group_resource(), &place.name))
    }

    fn deletion_answer(place: &Place, object: Value, removed: bool) -> Answered {
        let returns_object = place.resource.row().is_some_and(|row| row.returns_deleted_object);
        if returns_object || !removed {
            return Answered::Value(object);
        }
        Answered::Value(status::deleted(
            place.resource.group_resource(),
            object.name(),
            object.uid(),
        ))
    }

    /// Deletes every object of a collection that a filter lets through, and returns them as they were.
    pub async fn delete_collection(
        &self,
        call: &Call,
        place: &Place,
        filter: &Filter,
        list: &ListOptions,
        options: &DeleteOptions,
    ) -> Result<(u64, Vec<Value>), Status> {
        let mut deleted = Vec::new();
        let mut list = list.clone();
        let wanted = list.limit;
        list.limit = Some(wanted.unwrap_or(COLLECTION_PAGE));
        loop {
            let page = self.list(place, filter, &list)?;
            for item in &page.items {
                let object = Place {
                    namespace: item.key.namespace.to_string(),
                    name: item.key.name.to_string(),
                    ..place.clone()
                };
                match self.delete(call, &object, options).await {
                    Ok(_) => deleted.push(item.value()),
                    // Someone else was quicker.
                    Err(status) if status.code == http::StatusCode::NOT_FOUND => {}
                    Err(status) => return Err(status),
                }
            }
            if page.continue_token.is_empty() || wanted.is_some() {
                return Ok((page.revision, deleted));
            }
            list.continue_token = page.continue_token;
        }
    }
}

/// What a deletion does next.
enum Step {
    /// The deletion is under way already, and the request doesn't shorten it.
    Wait,
    /// The object is marked as being deleted, and stays.
    Mark,
    /// The object goes.
    Remove,
}

pub(super) fn check_preconditions(
    place: &Place,
    object: &Value,
    options: &DeleteOptions,
) -> Result<(), Status> {
    // The real server names the kind here, where it names the resource everywhere else.
    let named = status::GroupResource {
        group: &place.resource.group,
        resource: &place.resource.kind,
    };
    if let Some(uid) = &options.uid
        && uid != object.uid()
    {
        let why = format!(
            "the UID in the precondition ({uid}) does not match the UID in record ({}). The object might have been \
             deleted and then recreated",
            object.uid()
        );
        return Err(Status::conflict(named, object.name(), why));
    }
    let version = object.metadata_text("resourceVersion");
    if let Some(wanted) = &options.resource_version
        && wanted != version
    {
        let why = format!(
            "the ResourceVersion in the precondition ({wanted}) does not match the ResourceVersion in record \
             ({version}). The object might have been modified"
        );
        return Err(Status::conflict(named, object.name(), why));
    }
    Ok(())
}

/// Decides what a deletion does with the object as it is, and writes it into the object.
fn next_step(place: &Place, object: &mut Value, options: &DeleteOptions, now: Timestamp) -> Step {
    if place.resource.is(DEFINITIONS.0, DEFINITIONS.1) && !object.is_being_deleted() {
        mark_definition(object, now);
        return Step::Mark;
    }
    let mut graceful = false;
    let mut seconds = options
        .grace_period_seconds
        .map(|seconds| if seconds < 0 { 1 } else { seconds });
    let is_namespace = place.resource.is("", "namespaces");
    if object.is_being_deleted() {
        let left = object
            .metadata()
            .and_then(|all| all.get("deletionGracePeriodSeconds")?.as_i64())
            .unwrap_or(0);
        if left > 0 {
            match seconds {
                Some(period) if period < left => {
                    shorten(object, left, period, now);
                    graceful = true;
                }
                _ => return Step::Wait,
            }
        }
    } else if let Some(period) = grace_period(place, object, seconds) {
        seconds = Some(period);
        mark(object, now, period);
        graceful = true;
    }
    let keeps = deletion_finalizers(place, object, options);
    let finalizers_change = keeps != object.finalizers();
    if finalizers_change {
        let keeps: Vec<Value> = keeps.iter().map(|&name| name.into()).collect();
        if keeps.is_empty() {
            object.metadata_mut().remove("finalizers");
        } else {
            object.metadata_mut().insert("finalizers".into(), keeps.into());
        }
    }
    if is_namespace {
        return namespace_step(object, now);
    }
    let kept = !object.finalizers().is_empty();
    if graceful {
        let waits = seconds.unwrap_or(0) > 0;
        return if kept || waits { Step::Mark } else { Step::Remove };
    }
    if !kept {
        return Step::Remove;
    }
    if object.is_being_deleted() && !finalizers_change {
        return Step::Wait;
    }
    if !object.is_being_deleted() {
        mark(object, now, 0);
    }
    Step::Mark
}

/// A definition stays until its objects are gone, and says so.
fn mark_definition(object: &mut Value, now: Timestamp) {
    let mut finalizers: Vec<String> = object.finalizers().into_iter().map(ToOwned::to_owned).collect();
    if !finalizers.iter().any(|name| name == CLEANUP) {
        finalizers.push(CLEANUP.to_owned());
    }
    let now = timestamp(now);
    let metadata = object.metadata_mut();
    metadata.insert("deletionTimestamp".into(), now.clone().into());
    metadata.insert("finalizers".into(), finalizers.into());
    let condition = names::Condition {
        condition_type: "Terminating",
        status: "True".to_owned(),
        reason: "InstanceDeletionPending".to_owned(),
        message: "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
            .to_owned(),
    };
    condition.write(object, &now);
}

/// A namespace stays, terminating, until its own finalizers are done.
fn namespace_step(object: &mut Value, now: Timestamp) -> Step {
    let kept = |object: &Value| {
        object["spec"]["finalizers"]
            .as_array()
            .is_some_and(|all| !all.is_empty())
            || !object.finalizers().is_empty()
    };
    if object.is_being_deleted() {
        return if kept(object) { Step::Wait } else { Step::Remove };
    }
    if !kept(object) {
        return Step::Remove;
    }
    let metadata = object.metadata_mut();
    metadata.insert("deletionTimestamp".into(), timestamp(now).into());
    crate::object::map_of(object).insert("status".into(), json!({"phase": "Terminating"}));
    Step::Mark
}

/// Returns how long an object may take to stop; `None` for kinds that go at once.
fn grace_period(place: &Place, object: &Value, asked: Option<i64>) -> Option<i64> {
    if !place.resource.is("", "pods") {
        return None;
    }
    let mut seconds = asked
        .or_else(|| object["spec"]["terminationGracePeriodSeconds"].as_i64())
        .unwrap_or(30)
        .max(0);
    let unscheduled = object["spec"]["nodeName"].as_str().unwrap_or_default().is_empty();
    let phase = object["status"]["phase"].as_str().unwrap_or_default();
    if unscheduled || matches!(phase, "Succeeded" | "Failed") {
        seconds = 0;
    }
    Some(seconds)
}

fn mark(object: &mut Value, now: Timestamp, seconds: i64) {
    let at = now.checked_add(SignedDuration::from_secs(seconds)).unwrap_or(now);
    let generation = object.generation();
    let metadata = object.metadata_mut();
    metadata.insert("deletionTimestamp".into(), timestamp(at).into());
    metadata.insert("deletionGracePeriodSeconds".into(), seconds.into());
    if generation > 0 {
        metadata.insert("generation".into(), (generation + 1).into());
    }
}

/// Makes a deletion that is under way end sooner.
fn shorten(object: &mut Value, left: i64, mut period: i64, now: Timestamp) {
    let until: Option<Timestamp> = object.metadata_text("deletionTimestamp").parse().ok();
    let begun = until.and_then(|until| until.checked_sub(SignedDuration::from_secs(left)).ok());
    let mut at = begun
        .and_then(|begun| begun.checked_add(SignedDuration::from_secs(period)).ok())
        .unwrap_or(now);
    if at < now {
        at = now;
        if period != 0 {
            period = 1;
        }
    }
    let metadata = object.metadata_mut();
    metadata.insert("deletionTimestamp".into(), timestamp(at).into());
    metadata.insert("deletionGracePeriodSeconds".into(), period.into());
}

/// Returns the finalizers the object has while it is deleted: those it had, and the one for its dependents.
fn deletion_finalizers<'a>(place: &Place, object: &'a Value, options: &DeleteOptions) -> Vec<&'a str> {
    let present = object.finalizers();
    let propagation = options.propagation.or_else(|| {
        present.iter().find_map(|&name| match name {
            ORPHAN => Some(Propagation::Orphan),
            FOREGROUND => Some(Propagation::Foreground),
            _ => None,
        })
    });
    let orphans = place.resource.row().is_some_and(|row| row.orphans_dependents);
    let propagation = propagation.unwrap_or(if orphans {
        Propagation::Orphan
    } else {
        Propagation::Background
    });
    let mut wanted: Vec<&str> = present
        .iter()
        .copied()
        .filter(|&name| name != ORPHAN && name != FOREGROUND)
        .collect();
    match propagation {
        Propagation::Orphan => wanted.push(ORPHAN),
        Propagation::Foreground => wanted.push(FOREGROUND),
        Propagation::Background => {}
    }
    // The order is the client's where nothing changes.
    let same = wanted.len() == present.len() && wanted.iter().all(|name| present.contains(name));
    if same { present } else { wanted }
}
