//! Ownership of the number of replicas, seen from the `scale` subresource.
//!
//! A Scale is another kind than the object it scales. Whoever owns the replicas of the object owns `.spec.replicas` of
//! its Scale, and the other way round.

use std::collections::BTreeMap;

use serde_json::Value;

use super::element::FieldPath;
use super::managers::{Entry, Managers, ManagersError};
use super::set::Set;

/// The version of every Scale.
const SCALE_VERSION: &str = "autoscaling/v1";

/// Where the replicas of a kind are, in each of its versions; `None` in one that has no `scale` subresource.
pub type ReplicasPaths = BTreeMap<Box<str>, Option<FieldPath>>;

fn replicas_in_scale() -> FieldPath {
    FieldPath::of_fields(["spec", "replicas"])
}

/// Returns the `managedFields` of an object's Scale.
pub fn scale_managed_fields(
    parent: Option<&Value>,
    paths: &ReplicasPaths,
) -> Result<Option<Value>, ManagersError> {
    let mut scale = Managers::default();
    for entry in Managers::read(parent)?.entries {
        let Some(Some(path)) = paths.get(entry.api_version.as_str()) else {
            continue;
        };
        if entry.fields.has(path) {
            let mut owner = Entry::new(entry.manager, SCALE_VERSION, Set::of([&replicas_in_scale()]));
            owner.time = entry.time;
            scale.entries.push(owner);
        }
    }
    Ok(scale.write())
}

/// Returns the `managedFields` of an object after its Scale was written in `api_version` of the object.
pub fn managed_fields_from_scale(
    parent: Option<&Value>,
    scale: Option<&Value>,
    api_version: &str,
    paths: &ReplicasPaths,
) -> Result<Option<Value>, ManagersError> {
    let before = Managers::read(parent)?;
    let mut scale = Managers::read(scale)?;
    let mut after = Managers::default();
    for entry in &before.entries {
        // What is owned in a version that isn't served any more is dropped.
        let Some(path) = paths.get(entry.api_version.as_str()) else {
            continue;
        };
        let mut entry = entry.clone();
        if let Some(path) = path
            && entry.fields.has(path)
            && scale.remove(&entry.manager).is_none()
        {
            entry.fields.subtract(&Set::of([path]));
            entry.touch();
        }
        if !entry.fields.is_empty() {
            after.entries.push(entry);
        }
    }
    let replicas = paths.get(api_version).and_then(Option::as_ref);
    for owner in scale.entries {
        if let (true, Some(path)) = (owner.fields.has(&replicas_in_scale()), replicas) {
            let time = before.get(&owner.manager).and_then(|entry| entry.time.clone());
            let mut entry = Entry::new(owner.manager, api_version, Set::of([path]));
            entry.time = time;
            after.entries.push(entry);
        }
    }
    Ok(after.write())
}
