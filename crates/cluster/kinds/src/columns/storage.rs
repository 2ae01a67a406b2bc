//! The rows of volumes and where they come from.

use serde_json::Value;

use super::cells::{Cells, at, items_at, or, quantity_text, text_at};

const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";

/// Returns access modes in their short forms, each once, in upstream's order.
fn access_modes(object: &Value, path: &str) -> String {
    let modes: Vec<&str> = items_at(object, path).iter().filter_map(Value::as_str).collect();
    let short: Vec<&str> = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ]
    .into_iter()
    .filter_map(|(mode, short)| modes.contains(&mode).then_some(short))
    .collect();
    short.join(",")
}

/// Returns the storage class: what an old annotation says, else the field.
fn class(object: &Value) -> &str {
    let annotated =
        at(object, "metadata.annotations").and_then(|annotations| annotations.get(CLASS_ANNOTATION));
    annotated
        .and_then(Value::as_str)
        .unwrap_or_else(|| text_at(object, "spec.storageClassName"))
}

fn phase<'a>(cells: &Cells<'a>) -> &'a str {
    if cells.is_deleted() {
        "Terminating"
    } else {
        text_at(cells.object(), "status.phase")
    }
}

fn written(cells: &Cells<'_>, path: &str) -> Value {
    at(cells.object(), path).map_or("<unset>".into(), Value::clone)
}

pub(super) fn persistent_volume(cells: &Cells<'_>) -> Vec<Value> {
    let volume = cells.object();
    let claim = at(volume, "spec.claimRef")
        .map(|claim| format!("{}/{}", text_at(claim, "namespace"), text_at(claim, "name")))
        .unwrap_or_default();
    vec![
        cells.name(),
        quantity_text(at(volume, "spec.capacity.storage")).into(),
        access_modes(volume, "spec.accessModes").into(),
        cells.text("spec.persistentVolumeReclaimPolicy"),
        phase(cells).into(),
        claim.into(),
        class(volume).into(),
        written(cells, "spec.volumeAttributesClassName"),
        cells.text("status.reason"),
        cells.age(),
        written(cells, "spec.volumeMode"),
    ]
}

pub(super) fn persistent_volume_claim(cells: &Cells<'_>) -> Vec<Value> {
    let claim = cells.object();
    let (capacity, modes) = if text_at(claim, "spec.volumeName").is_empty() {
        (String::new(), String::new())
    } else {
        (
            quantity_text(at(claim, "status.capacity.storage")),
            access_modes(claim, "status.accessModes"),
        )
    };
    vec![
        cells.name(),
        phase(cells).into(),
        cells.text("spec.volumeName"),
        capacity.into(),
        modes.into(),
        class(claim).into(),
        written(cells, "spec.volumeAttributesClassName"),
        cells.age(),
        written(cells, "spec.volumeMode"),
    ]
}

pub(super) fn storage_class(cells: &Cells<'_>) -> Vec<Value> {
    let annotations = at(cells.object(), "metadata.annotations");
    let is_default = [
        "storageclass.kubernetes.io/is-default-class",
        "storageclass.beta.kubernetes.io/is-default-class",
    ]
    .into_iter()
    .any(|name| annotations.and_then(|all| all.get(name)).and_then(Value::as_str) == Some("true"));
    let name = text_at(cells.object(), "metadata.name");
    vec![
        if is_default {
            format!("{name} (default)").into()
        } else {
            name.into()
        },
        cells.text("provisioner"),
        cells.text_or("reclaimPolicy", "Delete"),
        cells.text_or("volumeBindingMode", "Immediate"),
        cells.boolean("allowVolumeExpansion", false),
        cells.age(),
    ]
}

pub(super) fn csi_driver(cells: &Cells<'_>) -> Vec<Value> {
    let driver = cells.object();
    let modes: Vec<&str> = items_at(driver, "spec.volumeLifecycleModes")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let audiences = at(driver, "spec.tokenRequests")
        .and_then(Value::as_array)
        .map(|requests| {
            let audiences: Vec<&str> = requests
                .iter()
                .map(|request| text_at(request, "audience"))
                .collect();
            audiences.join(",")
        });
    vec![
        cells.name(),
        cells.boolean("spec.attachRequired", true),
        cells.boolean("spec.podInfoOnMount", false),
        cells.boolean("spec.storageCapacity", false),
        audiences.unwrap_or_else(|| "<unset>".to_owned()).into(),
        cells.boolean("spec.requiresRepublish", false),
        or(&modes.join(","), "<none>").into(),
        cells.age(),
    ]
}

pub(super) fn volume_attachment(cells: &Cells<'_>) -> Vec<Value> {
    vec![
        cells.name(),
        cells.text("spec.attacher"),
        cells.text("spec.source.persistentVolumeName"),
        cells.text("spec.nodeName"),
        cells.boolean("status.attached", false),
        cells.age(),
    ]
}
