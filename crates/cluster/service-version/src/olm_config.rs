//! The one `OLMConfig` of a cluster: whether copies of versions are wanted.

use apply::object::{at, text};
use classic::copied::is_marked_as_copy;
use classic::{Decision, Kind, World, Write};
use serde_json::{Value, json};

use crate::Circumstances;
use crate::progress::written;
use crate::provided_apis::status_namespaces;
use crate::version::ServiceVersion;

/// The name of the only object that counts.
pub const NAME: &str = "cluster";

const CONDITION: &str = "DisabledCopiedCSVs";

/// Returns whether versions that look after all namespaces are not copied.
pub fn disables_copies(world: &World) -> bool {
    world
        .get(Kind::OlmConfig, "", NAME)
        .and_then(|config| at(config, "/spec/features/disableCopiedCSVs"))
        .and_then(Value::as_bool)
        .unwrap_or_default()
}

/// Decides what the status of the `OLMConfig` says about copies.
pub fn decide(world: &World, circumstances: &Circumstances<'_>) -> Decision {
    let mut decision = Decision::default();
    let Some(config) = world.get(Kind::OlmConfig, "", NAME) else {
        return decision;
    };
    let is_disabled = disables_copies(world);
    let is_due = !is_settled(world, is_disabled, circumstances);
    let (status, reason, message) = match (is_disabled, is_due) {
        (false, false) => (
            "False",
            "CopiedCSVsEnabled",
            "Copied CSVs are enabled and present across the cluster",
        ),
        (false, true) => (
            "False",
            "CopiedCSVsEnabled",
            "Copied CSVs are enabled and at least one copied CSVs is missing",
        ),
        (true, true) => (
            "False",
            "CopiedCSVsDisabled",
            "Copied CSVs are disabled and at least one unexpected copied CSV was found for an operator installed in \
             AllNamespace mode",
        ),
        (true, false) => (
            "True",
            "CopiedCSVsDisabled",
            "Copied CSVs are disabled and no unexpected copied CSVs were found for operators installed in AllNamespace \
             mode",
        ),
    };
    let conditions = at(config, "/status/conditions").and_then(Value::as_array);
    let mut conditions = conditions.cloned().unwrap_or_default();
    let known = conditions
        .iter()
        .position(|condition| text(condition, "/type") == CONDITION);
    let known = known.map(|position| conditions.remove(position));
    let has = |field: &str, wanted: &str| known.as_ref().is_some_and(|known| text(known, field) == wanted);
    if has("/status", status) && has("/reason", reason) && has("/message", message) {
        return decision;
    }
    let since = match &known {
        Some(known) if text(known, "/status") == status => text(known, "/lastTransitionTime").to_owned(),
        _ => written(circumstances.now),
    };
    conditions.push(json!({
        "type": CONDITION, "status": status, "reason": reason, "message": message, "lastTransitionTime": since,
    }));
    let mut object = (**config).clone();
    object["status"]["conditions"] = Value::Array(conditions);
    decision.writes.push(Write::UpdateStatus(object));
    decision
}

/// Returns whether every version that looks after all namespaces has its copies, or none that it shall not have.
fn is_settled(world: &World, is_disabled: bool, circumstances: &Circumstances<'_>) -> bool {
    let active: Vec<&str> = world
        .all(Kind::Namespace)
        .filter(|namespace| text(namespace, "/status/phase") == "Active")
        .map(|namespace| text(namespace, "/metadata/name"))
        .collect();
    let groups = world
        .all(Kind::OperatorGroup)
        .filter(|group| status_namespaces(group).is_some_and(|targets| targets == [""]));
    for group in groups {
        let namespace = text(group, "/metadata/namespace");
        for version in ServiceVersion::all_in(world, namespace) {
            let is_fine = active.iter().filter(|name| **name != namespace).all(|name| {
                let has = world
                    .get(Kind::ClusterServiceVersion, name, version.name())
                    .is_some_and(|found| is_marked_as_copy(found));
                has == (!is_disabled || circumstances.protected_namespaces.contains(*name))
            });
            if !is_fine {
                return false;
            }
        }
    }
    true
}
