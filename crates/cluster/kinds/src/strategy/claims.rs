//! Where a claim's content comes from, which has an old and a new field.

use serde_json::{Value, json};

use crate::tree::{Fields, Tree};

/// Makes both fields agree, and drops sources that were never allowed in the old one.
pub(super) fn prepare(spec: &mut Fields, old: Option<&Fields>) {
    let was_filled = old.is_some_and(|old| !old.is_unset("dataSource") || !old.is_unset("dataSourceRef"));
    let had_reference = old.is_some_and(|old| !old.is_unset("dataSourceRef"));
    let is_elsewhere = spec
        .part("dataSourceRef")
        .is_some_and(|source| !source.is_zero("namespace"));
    if is_elsewhere && !had_reference {
        spec.remove("dataSourceRef");
    }
    if !was_filled
        && spec.is_unset("dataSourceRef")
        && !spec.part("dataSource").is_some_and(is_claim_or_snapshot)
    {
        spec.remove("dataSource");
    }
    if let Some(source) = spec.part("dataSource")
        && spec.is_unset("dataSourceRef")
    {
        let reference = reference(source);
        spec.set("dataSourceRef", reference);
    } else if let Some(source) = spec.part("dataSourceRef")
        && spec.is_unset("dataSource")
        && source.is_zero("namespace")
    {
        let reference = reference(source);
        spec.set("dataSource", reference);
    }
}

fn is_claim_or_snapshot(source: &Fields) -> bool {
    match source.text("kind") {
        "PersistentVolumeClaim" => source.is_zero("apiGroup"),
        "VolumeSnapshot" => source.text("apiGroup") == "snapshot.storage.k8s.io",
        _ => false,
    }
}

fn reference(source: &Fields) -> Value {
    let mut reference = json!({"kind": source.text("kind"), "name": source.text("name"), "apiGroup": null});
    if let Some(fields) = reference.as_object_mut()
        && let Some(group) = source.get("apiGroup")
    {
        fields.set("apiGroup", group.clone());
    }
    reference
}
