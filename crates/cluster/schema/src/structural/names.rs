//! Which names of a definition are accepted, seen from the other definitions of its group.

use std::collections::HashSet;

use gotemplate::format::quoted;
use serde_json::{Map, Value, json};

use super::definition::{Approval, approval, condition, is_condition_true, needs_approval, non_structural};

/// A condition as it should be; when it last changed is for the caller to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// The type, such as `NamesAccepted`.
    pub condition_type: &'static str,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// The reason in one word.
    pub reason: String,
    /// The reason in a sentence.
    pub message: String,
}

impl Condition {
    fn new(condition_type: &'static str, is_true: bool, reason: &str, message: impl Into<String>) -> Self {
        Self {
            condition_type,
            status: if is_true { "True" } else { "False" }.to_owned(),
            reason: reason.to_owned(),
            message: message.into(),
        }
    }

    fn of(condition_type: &'static str, condition: &Value) -> Self {
        let text = |name: &str| {
            condition
                .get(name)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        Self {
            condition_type,
            status: text("status"),
            reason: text("reason"),
            message: text("message"),
        }
    }

    /// Returns whether a definition has the condition already, whenever it last changed.
    pub fn is_in(&self, definition: &Value) -> bool {
        condition(definition, self.condition_type)
            .is_some_and(|one| Self::of(self.condition_type, one) == *self)
    }

    /// Writes the condition into a definition; `now` is when it changes, if it does.
    pub fn write(&self, definition: &mut Value, now: &str) {
        let Some(fields) = definition.as_object_mut() else {
            return;
        };
        let status = fields.entry("status").or_insert_with(|| json!({}));
        let Some(status) = status.as_object_mut() else {
            return;
        };
        let conditions = status.entry("conditions").or_insert(Value::Null);
        if !conditions.is_array() {
            *conditions = json!([]);
        }
        let Some(conditions) = conditions.as_array_mut() else {
            return;
        };
        let known = conditions
            .iter_mut()
            .filter_map(Value::as_object_mut)
            .find(|one| one.get("type").and_then(Value::as_str) == Some(self.condition_type));
        if let Some(known) = known {
            if known.get("status").and_then(Value::as_str) != Some(&self.status)
                || known.get("lastTransitionTime").is_none_or(Value::is_null)
            {
                known.insert("lastTransitionTime".to_owned(), now.into());
            }
            known.insert("status".to_owned(), self.status.as_str().into());
            known.insert("reason".to_owned(), self.reason.as_str().into());
            known.insert("message".to_owned(), self.message.as_str().into());
        } else {
            conditions.push(json!({
                "type": self.condition_type,
                "status": self.status,
                "lastTransitionTime": now,
                "reason": self.reason,
                "message": self.message,
            }));
        }
    }
}

/// What the names of a definition come to.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// `status.acceptedNames`: what was asked for where it is free, else what was accepted before.
    pub accepted: Value,
    /// `NamesAccepted`.
    pub names_accepted: Condition,
    /// `Established`, which [`established`] makes true once the resource is served.
    pub established: Condition,
}

/// Decides about the names of a definition; `None` where nothing changes.
///
/// `others` are all definitions; those of other groups don't matter, and the definition itself may be among them.
pub fn decide<'a>(definition: &'a Value, others: impl IntoIterator<Item = &'a Value>) -> Option<Decision> {
    let empty = Map::new();
    let names_at = |pointer: &str| {
        definition
            .pointer(pointer)
            .and_then(Value::as_object)
            .unwrap_or(&empty)
    };
    let (wanted, accepted) = (names_at("/spec/names"), names_at("/status/acceptedNames"));
    if is_same(wanted, accepted) {
        return None;
    }
    let (resources, kinds) = taken(definition, others);
    let text = |names: &Map<String, Value>, name: &str| {
        names
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let mut new = accepted.clone();
    let mut conflict: Option<(&str, String)> = None;
    let mut settle = |name: &str, reason: &'static str, used: &HashSet<&str>| {
        let value = text(wanted, name);
        if value != text(accepted, name) && used.contains(value.as_str()) {
            conflict = Some((reason, format!("{} is already in use", quoted(&value))));
        } else {
            new.insert(name.to_owned(), value.into());
        }
    };
    settle("plural", "PluralConflict", &resources);
    settle("singular", "SingularConflict", &resources);
    let mut short_conflict = None;
    let short_names = list(wanted, "shortNames");
    if short_names != list(accepted, "shortNames") {
        let mut faults: Vec<String> = Vec::new();
        for name in short_names
            .iter()
            .filter(|name| !list(accepted, "shortNames").contains(name))
        {
            let fault = format!("{} is already in use", quoted(name));
            if resources.contains(name) && !faults.contains(&fault) {
                faults.push(fault);
            }
        }
        short_conflict = match faults.as_slice() {
            [] => None,
            [only] => Some(only.clone()),
            all => Some(format!("[{}]", all.join(", "))),
        };
    }
    let before_short = conflict.take();
    let mut settle_kinds = |name: &str, reason: &'static str| {
        let value = text(wanted, name);
        if value != text(accepted, name) && kinds.contains(value.as_str()) {
            conflict = Some((reason, format!("{} is already in use", quoted(&value))));
        } else {
            new.insert(name.to_owned(), value.into());
        }
    };
    settle_kinds("kind", "KindConflict");
    settle_kinds("listKind", "ListKindConflict");
    if short_conflict.is_none() {
        copy_list(wanted, &mut new, "shortNames");
    }
    copy_list(wanted, &mut new, "categories");
    // The last conflict is the one that is told.
    let conflict = conflict
        .or(short_conflict.map(|message| ("ShortNamesConflict", message)))
        .or(before_short);
    let names_accepted = match conflict {
        Some((reason, message)) => Condition::new("NamesAccepted", false, reason, message),
        None => Condition::new("NamesAccepted", true, "NoConflicts", "no conflicts found"),
    };
    let established = match condition(definition, "Established") {
        Some(known) if is_condition_true(definition, "Established") || names_accepted.status != "True" => {
            Condition::of("Established", known)
        }
        _ if names_accepted.status == "True" => Condition::new(
            "Established",
            false,
            "Installing",
            "the initial names have been accepted",
        ),
        _ => Condition::new("Established", false, "NotAccepted", "not all names are accepted"),
    };
    let decision = Decision {
        accepted: Value::Object(new),
        names_accepted,
        established,
    };
    let is_settled = decision
        .accepted
        .as_object()
        .is_some_and(|new| is_same(new, accepted))
        && decision.names_accepted.is_in(definition);
    (!is_settled).then_some(decision)
}

fn list<'a>(names: &'a Map<String, Value>, name: &str) -> Vec<&'a str> {
    let items = names.get(name).and_then(Value::as_array);
    items.into_iter().flatten().filter_map(Value::as_str).collect()
}

fn copy_list(from: &Map<String, Value>, to: &mut Map<String, Value>, name: &str) {
    match from.get(name).filter(|value| !value.is_null()) {
        Some(value) => to.insert(name.to_owned(), value.clone()),
        None => to.remove(name),
    };
}

fn is_same(one: &Map<String, Value>, other: &Map<String, Value>) -> bool {
    let texts = ["plural", "singular", "kind", "listKind"];
    let text = |names: &Map<String, Value>, name: &str| {
        names
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    texts.into_iter().all(|name| text(one, name) == text(other, name))
        && ["shortNames", "categories"]
            .into_iter()
            .all(|name| list(one, name) == list(other, name))
}

/// Returns the resource names and the kinds that definitions of the same group have.
fn taken<'a>(
    definition: &'a Value,
    others: impl IntoIterator<Item = &'a Value>,
) -> (HashSet<&'a str>, HashSet<&'a str>) {
    let group = definition.pointer("/spec/group");
    let (mut resources, mut kinds) = (HashSet::new(), HashSet::new());
    for other in others {
        if other.pointer("/spec/group") != group {
            continue;
        }
        let Some(names) = other.pointer("/status/acceptedNames").and_then(Value::as_object) else {
            continue;
        };
        let text = |name: &str| names.get(name).and_then(Value::as_str).unwrap_or_default();
        resources.extend([text("plural"), text("singular")]);
        resources.extend(list(names, "shortNames"));
        kinds.extend([text("kind"), text("listKind")]);
    }
    (resources, kinds)
}

/// Returns the condition `Established` of a definition whose names are accepted and whose resource can be served;
/// `None` where nothing changes.
pub fn established(definition: &Value) -> Option<Condition> {
    if !is_condition_true(definition, "NamesAccepted") || is_condition_true(definition, "Established") {
        return None;
    }
    let message = "the initial names have been accepted";
    let condition = if super::definition::has_invalid_authority_bundle(definition) {
        let message = "The conversion webhook CABundle is invalid";
        Condition::new("Established", false, "InvalidCABundle", message)
    } else {
        Condition::new("Established", true, "InitialNamesAccepted", message)
    };
    (!condition.is_in(definition)).then_some(condition)
}

/// Returns the condition that tells of the approval of an API in a group of the Kubernetes project; `None` for others.
pub fn approval_condition(definition: &Value) -> Option<Condition> {
    let group = definition
        .pointer("/spec/group")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if !needs_approval(group) {
        return None;
    }
    let (state, message) = approval(definition);
    let (is_true, reason) = match state {
        Approval::Invalid => (false, "InvalidAnnotation"),
        Approval::Missing => (false, "MissingAnnotation"),
        Approval::Approved => (true, "ApprovedAnnotation"),
        Approval::Bypassed => (false, "UnapprovedAnnotation"),
    };
    Some(Condition::new(
        "KubernetesAPIApprovalPolicyConformant",
        is_true,
        reason,
        message,
    ))
}

/// Returns the condition that tells of schemas that aren't structural; `None` where all are.
pub fn non_structural_condition(definition: &Value) -> Option<Condition> {
    non_structural(definition)
        .map(|message| Condition::new("NonStructuralSchema", true, "Violations", message))
}
