//! What a create or an update may not bring, and what it keeps of the old object.
//!
//! A kind's `Row` says what most kinds are told by: whether they have a status that is written apart, what
//! raises their generation, and what of the metadata a write to the status keeps. The few kinds with ways of their own
//! have modules.

mod certificates;
mod claims;
mod disabled;
pub(crate) mod pods;
mod reset;
mod rows;
mod services;
mod workloads;

use jiff::Timestamp;
use serde_json::Value;

pub use self::certificates::{Requester, note_requester};
pub use self::reset::{only_fields, reset_fields};
use self::rows::{Metadata, Row, row};
use crate::defaults;
use crate::tree::{Fields, Tree, same};

/// Removes what a client may not set on a new object, such as its status, and sets its generation where the kind has one.
///
/// The object's `creationTimestamp` and `uid` are already set: they are the time and the name of what depends on them.
pub fn prepare_for_create(group: &str, kind: &str, object: &mut Value) {
    let Some(object) = object.as_object_mut() else {
        return;
    };
    let row = row(group, kind);
    if row.status {
        object.set("status", rows::empty_status(kind));
    }
    // Kinds without a generation keep what the client writes there.
    if row.starts_counting {
        object.part_or_new("metadata").set("generation", 1);
    }
    disabled::drop_on_create(group, kind, object);
    match (group, kind) {
        ("", "Pod") => pods::prepare_for_create(object),
        ("", "Namespace") => prepare_namespace(object),
        ("", "Node") => {
            if let Some(spec) = object.part_mut("spec") {
                spec.remove("configSource");
            }
            if let Some(status) = object.part_mut("status") {
                status.remove("config");
            }
        }
        ("", "PersistentVolume") => {
            let now = creation_time(object);
            let status = object.part_or_new("status");
            status.set("phase", "Pending");
            status.set("lastPhaseTransitionTime", now);
        }
        ("", "PersistentVolumeClaim") => {
            claims::prepare(object.part_or_new("spec"), None);
            // What is stored without a phase is read with this one.
            object.part_or_new("status").set("phase", "Pending");
        }
        ("", "ServiceAccount") => keep_names_of_secrets(object),
        ("apps", "DaemonSet") => workloads::start_template_generation(object),
        ("batch", "Job") => {
            workloads::select_pods_of_job(object);
            workloads::label_job_like_its_pods(object);
        }
        ("discovery.k8s.io", "EndpointSlice") => services::drop_topology(object, None),
        ("certificates.k8s.io", "CertificateSigningRequest") => certificates::prepare_for_create(object),
        ("apiregistration.k8s.io", "APIService") => prepare_api_service(object),
        ("resource.k8s.io", "ResourceSlice") => {
            let now = creation_time(object);
            note_taints(object, &now);
        }
        _ => {}
    }
}

/// Puts back what an update through the object itself (`None`) or a subresource may not change, and raises the
/// generation when what is wanted has changed. The new object comes with the old generation.
pub fn prepare_for_update(
    group: &str,
    kind: &str,
    subresource: Option<&str>,
    new: &mut Value,
    old: &Value,
    now: Timestamp,
) {
    let (Some(new), Some(old)) = (new.as_object_mut(), old.as_object()) else {
        return;
    };
    let row = row(group, kind);
    match subresource {
        // A scale is written as the whole object with another number in it.
        None | Some("scale") => update_object(group, kind, row, new, old, now),
        Some("status") => update_status(group, kind, row, new, old, now),
        Some("finalize") => new.take_from(Some(old), "status"),
        Some("approval") => certificates::update_approval(new, old, now),
        Some("ephemeralcontainers") => pods::update_ephemeral_containers(new, old),
        Some("resize") => pods::update_resources(new, old),
        Some(_) => {}
    }
}

fn update_object(group: &str, kind: &str, row: Row, new: &mut Fields, old: &Fields, now: Timestamp) {
    if row.status || row.keeps_status {
        new.take_from(Some(old), "status");
    }
    disabled::drop_on_update(group, kind, new, old);
    match (group, kind) {
        ("", "Namespace") => {
            let finalizers = old.part("spec");
            new.part_or_new("spec").take_from(finalizers, "finalizers");
            defaults::label_with_name(new);
        }
        ("", "Secret") if new.is_zero("type") => new.take_from(Some(old), "type"),
        ("", "Service") => services::drop_what_the_old_type_had(new, old),
        ("", "ServiceAccount") => keep_names_of_secrets(new),
        ("", "PersistentVolumeClaim") => claims::prepare(new.part_or_new("spec"), old.part("spec")),
        ("apps", "DaemonSet") => workloads::raise_template_generation(new, old),
        ("batch", "Job") => workloads::label_job_like_its_pods(new),
        ("discovery.k8s.io", "EndpointSlice") => {
            services::raise_generation_of_slice(new, old);
            services::drop_topology(new, Some(old));
            return;
        }
        ("certificates.k8s.io", "CertificateSigningRequest") => new.take_from(Some(old), "spec"),
        ("resource.k8s.io", "ResourceSlice") => note_taints(new, &written(now)),
        _ => {}
    }
    let has_changed = row
        .counts
        .iter()
        .any(|field| !same(new.get(*field), old.get(*field)))
        || (kind == "Deployment" && group == "apps" && !same(annotations(new), annotations(old)));
    if has_changed {
        raise_generation(new, old);
    }
}

fn annotations(object: &Fields) -> Option<&Value> {
    object
        .part("metadata")?
        .get("annotations")
        .filter(|all| all.as_object().is_none_or(|all| !all.is_empty()))
}

fn raise_generation(new: &mut Fields, old: &Fields) {
    let generation = old
        .part("metadata")
        .map_or(0, |metadata| metadata.number("generation"));
    new.part_or_new("metadata")
        .set("generation", generation.saturating_add(1));
}

fn update_status(group: &str, kind: &str, row: Row, new: &mut Fields, old: &Fields, now: Timestamp) {
    new.take_from(Some(old), "spec");
    let old_metadata = old.part("metadata");
    let metadata = new.part_or_new("metadata");
    match row.metadata {
        Metadata::Free => {}
        Metadata::KeepLabels => metadata.take_from(old_metadata, "labels"),
        Metadata::KeepOwners => metadata.take_from(old_metadata, "ownerReferences"),
        Metadata::Keep => keep_metadata(metadata, old_metadata),
        Metadata::KeepAll => {
            let managers = metadata.remove("managedFields");
            *metadata = old_metadata.cloned().unwrap_or_default();
            match managers {
                Some(managers) => metadata.set("managedFields", managers),
                None => {
                    metadata.remove("managedFields");
                }
            }
        }
    }
    match (group, kind) {
        ("", "Pod") => pods::update_status(new, old),
        ("", "PersistentVolume") => note_phase_of_volume(new, old, now),
        ("", "Node") => {
            let had_configuration = old
                .part("status")
                .is_some_and(|status| !status.is_unset("config"));
            if !had_configuration && let Some(status) = new.part_mut("status") {
                status.remove("config");
            }
        }
        ("", "Namespace") => defaults::label_with_name(new),
        ("apps", "DaemonSet") => workloads::keep_template_generation(new, old),
        ("certificates.k8s.io", "CertificateSigningRequest") => {
            certificates::update_status(new, old, now);
        }
        _ => {}
    }
}

/// Keeps the metadata that clients write.
fn keep_metadata(metadata: &mut Fields, old: Option<&Fields>) {
    for name in [
        "deletionTimestamp",
        "generation",
        "labels",
        "annotations",
        "finalizers",
        "ownerReferences",
    ] {
        metadata.take_from(old, name);
    }
}

fn prepare_namespace(namespace: &mut Fields) {
    defaults::label_with_name(namespace);
    namespace.part_or_new("status").set("phase", "Active");
    let spec = namespace.part_or_new("spec");
    match spec.get_mut("finalizers").and_then(Value::as_array_mut) {
        Some(finalizers) if finalizers.iter().any(|name| name == "kubernetes") => {}
        Some(finalizers) => finalizers.push("kubernetes".into()),
        None => spec.set("finalizers", vec!["kubernetes"]),
    }
}

/// The reference to a secret of a `ServiceAccount` is its name, whatever else is written there.
fn keep_names_of_secrets(account: &mut Fields) {
    for secret in account.items_mut("secrets") {
        secret.retain(|field, _| field == "name");
    }
}

/// What isn't a service's is the API server's own, and so it is there.
fn prepare_api_service(service: &mut Fields) {
    let is_local = service.part("spec").is_none_or(|spec| spec.is_unset("service"));
    if is_local {
        let now = creation_time(service);
        let condition = serde_json::json!({
            "type": "Available",
            "status": "True",
            "lastTransitionTime": now,
            "reason": "Local",
            "message": "Local APIServices are always available",
        });
        service.part_or_new("status").set("conditions", vec![condition]);
    }
}

fn note_phase_of_volume(new: &mut Fields, old: &Fields, now: Timestamp) {
    let old_status = old.part("status");
    let old_time = old_status.and_then(|status| status.get("lastPhaseTransitionTime"));
    let old_phase = old_status.map_or("", |status| status.text("phase"));
    let status = new.part_or_new("status");
    let has_time = !status.is_unset("lastPhaseTransitionTime");
    if status.text("phase") == old_phase {
        if !has_time {
            status.take_from(old_status, "lastPhaseTransitionTime");
        }
    } else if !has_time || status.get("lastPhaseTransitionTime") == old_time {
        status.set("lastPhaseTransitionTime", written(now));
    }
}

/// Sets when the taints of devices were added.
fn note_taints(slice: &mut Fields, now: &str) {
    let devices = slice
        .part_mut("spec")
        .into_iter()
        .flat_map(|spec| spec.items_mut("devices"));
    for device in devices {
        for taint in device.items_mut("taints") {
            taint.set_if_unset("timeAdded", now);
        }
    }
}

fn creation_time(object: &Fields) -> String {
    object.part("metadata").map_or_else(String::new, |metadata| {
        metadata.text("creationTimestamp").to_owned()
    })
}

/// Returns the time as objects have it.
fn written(now: Timestamp) -> String {
    now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests;
