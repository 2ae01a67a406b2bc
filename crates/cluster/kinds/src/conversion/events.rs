//! Events: the core's, and those of the group of their own.

use serde_json::{Value, json};

use crate::tree::{Fields, Tree};

/// The names of the same field in the core and in the group.
const NAMES: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// Makes an event of the core one of the group.
pub(super) fn to_group(event: &mut Fields) {
    for (core, group) in NAMES {
        rename(event, core, group);
    }
    // These are left out in the group when they are empty.
    for field in ["reportingController", "reportingInstance"] {
        if event.is_zero(field) {
            event.remove(field);
        }
    }
    event.set_if_unset("regarding", json!({}));
    event.set_if_unset("deprecatedSource", json!({}));
    always_there(
        event,
        &["eventTime", "deprecatedFirstTimestamp", "deprecatedLastTimestamp"],
    );
}

/// Makes an event of the group one of the core.
pub(super) fn to_core(event: &mut Fields) {
    for (core, group) in NAMES {
        rename(event, group, core);
    }
    event.set_if_unset("involvedObject", json!({}));
    event.set_if_unset("source", json!({}));
    event.set_if_unset("reportingComponent", "");
    event.set_if_unset("reportingInstance", "");
    always_there(event, &["eventTime", "firstTimestamp", "lastTimestamp"]);
}

fn rename(event: &mut Fields, from: &str, to: &str) {
    if let Some(value) = event.remove(from) {
        event.set(to, value);
    }
}

fn always_there(event: &mut Fields, fields: &[&str]) {
    for field in fields {
        if !event.contains_key(*field) {
            event.set(field, Value::Null);
        }
    }
}
