//! What roles would allow that they don't allow now, right by right: a list of rules hides one verb that is new in it.

use std::collections::{BTreeMap, BTreeSet};

use apply::object::ObjectId;
use serde::Serialize;
use serde_json::Value;

/// The most single rights that a role may stand for and still be looked at right by right: the longest roles of public bundles
/// stand for a few thousand.
const MAXIMUM_RIGHTS: usize = 20_000;

/// What a role would allow that it doesn't allow now, and what no more.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RoleChange {
    /// What would be allowed: resources with their verbs, such as `secrets: create, get`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allows: Vec<String>,
    /// What would not be allowed any more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub forbids: Vec<String>,
}

/// Returns whether an object is a role, of a namespace or of the cluster.
pub(super) fn is_role(id: &ObjectId) -> bool {
    id.group() == "rbac.authorization.k8s.io" && matches!(id.kind.as_str(), "Role" | "ClusterRole")
}

/// Says what becomes of the rights of a role; none where they stay, or are too many to be told.
pub(super) fn change(before: Option<&Value>, after: Option<&Value>) -> Option<RoleChange> {
    let (before, after) = (rights(before)?, rights(after)?);
    let change = RoleChange {
        allows: told(after.difference(&before)),
        forbids: told(before.difference(&after)),
    };
    (change != RoleChange::default()).then_some(change)
}

/// How many rights differ between two roles; none where they are too many to be compared.
pub(super) fn distance(before: &Value, after: &Value) -> Option<usize> {
    let (before, after) = (rights(Some(before))?, rights(Some(after))?);
    Some(before.symmetric_difference(&after).count())
}

/// A verb for what it is allowed for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Right<'a> {
    group: &'a str,
    resource: &'a str,
    /// The one object that it is allowed for; empty for all.
    name: &'a str,
    verb: &'a str,
}

fn rights(role: Option<&Value>) -> Option<BTreeSet<Right<'_>>> {
    let rules = role.and_then(|role| role.get("rules")).and_then(Value::as_array);
    let mut rights = BTreeSet::new();
    for rule in rules.into_iter().flatten() {
        let list = |field: &str| -> Vec<&str> {
            let entries = rule.get(field).and_then(Value::as_array);
            entries.into_iter().flatten().filter_map(Value::as_str).collect()
        };
        let (verbs, mut names) = (list("verbs"), list("resourceNames"));
        for url in list("nonResourceURLs") {
            let allowed = verbs.iter().map(|verb| Right {
                group: "",
                resource: url,
                name: "",
                verb,
            });
            rights.extend(allowed);
        }
        if names.is_empty() {
            names.push("");
        }
        for group in list("apiGroups") {
            for resource in list("resources") {
                for name in &names {
                    let allowed = verbs.iter().map(|verb| Right {
                        group,
                        resource,
                        name,
                        verb,
                    });
                    rights.extend(allowed);
                    if rights.len() > MAXIMUM_RIGHTS {
                        return None;
                    }
                }
            }
        }
    }
    Some(rights)
}

/// Writes rights as people read them: for each thing its verbs.
fn told<'a>(rights: impl Iterator<Item = &'a Right<'a>>) -> Vec<String> {
    let mut verbs: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for right in rights {
        let mut thing = right.resource.to_owned();
        if !right.group.is_empty() {
            thing.push('.');
            thing.push_str(right.group);
        }
        if !right.name.is_empty() {
            thing.push(' ');
            thing.push_str(right.name);
        }
        verbs.entry(thing).or_default().push(right.verb);
    }
    verbs
        .into_iter()
        .map(|(thing, verbs)| format!("{thing}: {}", verbs.join(", ")))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn role(rules: &Value) -> Value {
        json!({"kind": "ClusterRole", "rules": rules})
    }

    #[test]
    fn a_right_that_is_new_among_many_is_told() {
        let before = role(&json!([
            {"apiGroups": [""], "resources": ["secrets", "configmaps"], "verbs": ["get", "list"]},
            {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["*"]},
            {"nonResourceURLs": ["/metrics"], "verbs": ["get"]},
        ]));
        let after = role(&json!([
            {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["*"]},
            {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "get"]},
            {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list", "create"]},
            {"apiGroups": ["apps"], "resources": ["statefulsets"], "resourceNames": ["web"], "verbs": ["patch", "get"]},
        ]));
        let grown = change(Some(&before), Some(&after)).expect("a change");
        assert_eq!(
            grown.allows,
            ["secrets: create", "statefulsets.apps web: get, patch"]
        );
        assert_eq!(grown.forbids, ["/metrics: get"]);
        assert_eq!(distance(&before, &after), Some(4));
        // The same rights in other words are the same.
        assert_eq!(change(Some(&before), Some(&before)), None);
        let reordered = role(&json!([
            {"apiGroups": [""], "resources": ["configmaps", "secrets"], "verbs": ["list", "get"]},
            {"nonResourceURLs": ["/metrics"], "verbs": ["get"]},
            {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["*"]},
        ]));
        assert_eq!(change(Some(&before), Some(&reordered)), None);
        let made = change(None, Some(&before)).expect("a change");
        assert_eq!(
            made.allows,
            [
                "/metrics: get",
                "configmaps: get, list",
                "deployments.apps: *",
                "secrets: get, list"
            ]
        );
        assert_eq!(
            change(Some(&before), None).expect("a change").forbids,
            made.allows
        );
    }

    #[test]
    fn rules_that_stand_for_too_much_are_not_told_right_by_right() {
        let many: Vec<String> = (0..200).map(|number| format!("r{number}")).collect();
        let role = role(&json!([{"apiGroups": many, "resources": many, "verbs": ["get"]}]));
        assert_eq!(change(None, Some(&role)), None);
        assert_eq!(distance(&role, &role), None);
    }
}
