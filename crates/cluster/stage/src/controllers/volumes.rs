//! `PersistentVolumeClaims` and the `PersistentVolumes` they are bound to.
//!
//! A claim gets a volume that is there and fits, or a new one where its `StorageClass` is of this cluster's own
//! provisioner; a volume whose claim is gone is released, and deleted where its reclaim policy says so.

mod claim;
mod look;
mod matching;
mod volume;

pub use claim::Claims;
pub(crate) use look::{words_of_claim, words_of_pod, words_of_volume};
pub use volume::Volumes;

use serde_json::Value;

use crate::client::Named;
use crate::object::Object;

/// The resource of claims.
const CLAIMS: Named<'static> = ("", "persistentvolumeclaims");

/// The resource of volumes.
const VOLUMES: Named<'static> = ("", "persistentvolumes");

/// The resource of classes.
const CLASSES: Named<'static> = ("storage.k8s.io", "storageclasses");

/// The annotation of a claim or a volume that was bound here, and not by who made it.
const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";

/// The annotation of a claim whose binding is done.
const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";

/// The annotation that names who made a volume.
const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";

/// Returns whether a volume is for this claim, or was.
fn is_for(volume: &Value, claim: &Value) -> bool {
    let reference = &volume["spec"]["claimRef"];
    let uid = reference["uid"].as_str().unwrap_or_default();
    reference["name"] == claim.name()
        && reference["namespace"] == claim.namespace()
        && (uid.is_empty() || uid == claim.uid())
}

/// Returns the name of the `StorageClass`; `None` where none is named, which isn't the same as the empty one.
fn class_of(object: &Value) -> Option<&str> {
    object
        .annotation("volume.beta.kubernetes.io/storage-class")
        .or_else(|| object["spec"]["storageClassName"].as_str())
}
