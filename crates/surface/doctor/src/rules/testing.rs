//! Pictures for the tables of rules.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::finding::Finding;
use crate::picture::Picture;
use crate::question;

/// When every picture of a test was seen.
pub(crate) const NOW: &str = "2026-06-01T12:00:00Z";

/// Makes a picture of a cluster of which everything could be seen.
pub(crate) fn picture(objects: impl IntoIterator<Item = Value>) -> Picture {
    let mut picture = blank();
    for question in question::first(None) {
        picture.answer(question);
    }
    for object in objects {
        picture.put(object);
    }
    for question in question::further(&picture) {
        picture.answer(question);
    }
    picture
}

/// Makes a picture of a cluster of which nothing was seen yet.
pub(crate) fn blank() -> Picture {
    let now: Timestamp = NOW.parse().expect("a time");
    Picture::new(now, None)
}

/// Returns what a rule finds: severity, rule, object and cause, a line each.
pub(crate) fn told(findings: &[Finding]) -> Vec<String> {
    findings
        .iter()
        .map(|finding| {
            assert!(!finding.next.is_empty(), "{finding:?} says nothing of what to do");
            format!(
                "{} {} {}: {}",
                finding.severity.as_str(),
                finding.rule,
                finding.object,
                finding.cause
            )
        })
        .collect()
}

/// Makes an object; `rest` is merged over its head.
pub(crate) fn object(api_version: &str, kind: &str, namespace: &str, name: &str, rest: Value) -> Value {
    let mut object = json!({"apiVersion": api_version, "kind": kind,
        "metadata": {"name": name, "creationTimestamp": "2026-06-01T10:00:00Z"}});
    if !namespace.is_empty() {
        object["metadata"]["namespace"] = namespace.into();
    }
    merge(&mut object, rest);
    object
}

fn merge(object: &mut Value, rest: Value) {
    match (object, rest) {
        (Value::Object(object), Value::Object(rest)) => {
            for (key, value) in rest {
                merge(object.entry(key).or_insert(Value::Null), value);
            }
        }
        (place, value) => *place = value,
    }
}

/// Makes a status with conditions: type, status, reason and message.
pub(crate) fn conditions(said: &[(&str, &str, &str, &str)]) -> Value {
    let conditions: Vec<Value> = said
        .iter()
        .map(|(kind, status, reason, message)| {
            json!({"type": kind, "status": status, "reason": reason, "message": message,
                "lastTransitionTime": "2026-06-01T10:00:00Z"})
        })
        .collect();
    json!({"status": {"conditions": conditions}})
}
