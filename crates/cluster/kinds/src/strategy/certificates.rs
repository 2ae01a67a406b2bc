//! Requests for certificates: who asked, and who decided when.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::written;
use crate::tree::{Fields, Tree};

/// Who sent a request, as it is noted in what they ask for.
#[derive(Debug, Clone, Copy)]
pub struct Requester<'a> {
    /// The user's name.
    pub name: &'a str,
    /// The user's uid; empty if there is none.
    pub uid: &'a str,
    /// The groups the user is in.
    pub groups: &'a [String],
    /// What else is known about the user.
    pub extra: &'a BTreeMap<String, Vec<String>>,
}

/// Notes in a new `CertificateSigningRequest` who sent it, whatever it says itself.
pub fn note_requester(object: &mut Value, requester: &Requester<'_>) {
    let Some(object) = object.as_object_mut() else {
        return;
    };
    let spec = object.part_or_new("spec");
    drop_requester(spec);
    for (field, text) in [("username", requester.name), ("uid", requester.uid)] {
        if !text.is_empty() {
            spec.set(field, text);
        }
    }
    if !requester.groups.is_empty() {
        spec.set("groups", requester.groups.to_vec());
    }
    if !requester.extra.is_empty() {
        let extra: Map<String, Value> = requester
            .extra
            .iter()
            .map(|(key, values)| (key.clone(), values.clone().into()))
            .collect();
        spec.set("extra", extra);
    }
}

fn drop_requester(spec: &mut Fields) {
    for field in ["username", "uid", "groups", "extra"] {
        spec.remove(field);
    }
}

/// Forgets who the request says it is from: see [`note_requester`].
pub(super) fn prepare_for_create(request: &mut Fields) {
    drop_requester(request.part_or_new("spec"));
}

/// Keeps the decision: it is written through the approval.
pub(super) fn update_status(new: &mut Fields, old: &Fields, now: Timestamp) {
    for decision in ["Approved", "Denied"] {
        keep_conditions(new, old, decision);
    }
    note_times(new, old, now);
}

/// Keeps all but the conditions.
pub(super) fn update_approval(new: &mut Fields, old: &Fields, now: Timestamp) {
    note_times(new, old, now);
    let conditions = new
        .part_mut("status")
        .and_then(|status| status.remove("conditions"));
    new.take_from(Some(old), "spec");
    new.take_from(Some(old), "status");
    let status = new.part_or_new("status");
    match conditions {
        Some(conditions) => status.set("conditions", conditions),
        None => {
            status.remove("conditions");
        }
    }
}

/// Puts back the conditions of a type, unless there are more or fewer of them, which the validation refuses.
fn keep_conditions(new: &mut Fields, old: &Fields, kind: &str) {
    let old_conditions: Vec<&Fields> = old
        .part("status")
        .into_iter()
        .flat_map(|status| status.items("conditions"))
        .filter(|condition| condition.text("type") == kind)
        .collect();
    let Some(status) = new.part_mut("status") else {
        return;
    };
    let new_conditions: Vec<&mut Fields> = status
        .items_mut("conditions")
        .filter(|condition| condition.text("type") == kind)
        .collect();
    if new_conditions.len() == old_conditions.len() {
        for (new, old) in new_conditions.into_iter().zip(old_conditions) {
            new.clone_from(old);
        }
    }
}

fn note_times(new: &mut Fields, old: &Fields, now: Timestamp) {
    let now = written(now);
    let Some(status) = new.part_mut("status") else {
        return;
    };
    for condition in status.items_mut("conditions") {
        condition.set_if_unset("lastUpdateTime", now.as_str());
        if condition.is_unset("lastTransitionTime") {
            let since = old
                .part("status")
                .into_iter()
                .flat_map(|status| status.items("conditions"))
                .filter(|known| {
                    known.text("type") == condition.text("type")
                        && known.text("status") == condition.text("status")
                })
                .find_map(|known| known.get("lastTransitionTime").filter(|time| !time.is_null()))
                .cloned()
                .unwrap_or_else(|| now.clone().into());
            condition.set("lastTransitionTime", since);
        }
    }
}
