//! Whether a service account may do what a rule says, by the roles and bindings that the cluster holds.

use apply::object::text;
use classic::{Kind, World};
use serde_json::Value;

use crate::ownership::belongs_to_another;

/// A rule that can't be a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRule {
    /// Nothing is allowed by it.
    #[error("rule invalid: policy rule must have at least one verb")]
    NoVerb,
    /// It mixes what can't be mixed.
    #[error("rule invalid: rule cannot apply to both regular resources and non-resource URLs")]
    Mixed,
}

/// What one service account may do, in one namespace or in the whole cluster.
#[derive(Debug)]
pub struct Granted<'a> {
    rules: Vec<&'a Value>,
}

impl<'a> Granted<'a> {
    /// Gathers the rules that hold for an account in `place`, which is empty for the whole cluster.
    ///
    /// Roles and bindings of other versions don't count, since they go with those.
    pub fn to(world: &'a World, account: (&str, &str), place: &str, version: &Value) -> Self {
        let mut rules = Vec::new();
        let mut add = |kind: Kind, namespace: &str, name: &str| {
            let Some(role) = world.get(kind, namespace, name) else {
                return;
            };
            if !belongs_to_another(role, version) {
                rules.extend(role.get("rules").and_then(Value::as_array).into_iter().flatten());
            }
        };
        for binding in world.all(Kind::ClusterRoleBinding) {
            if is_about(binding, account) && !belongs_to_another(binding, version) {
                add(Kind::ClusterRole, "", text(binding, "/roleRef/name"));
            }
        }
        if !place.is_empty() {
            for binding in world.in_namespace(Kind::RoleBinding, place) {
                if !is_about(binding, account) || belongs_to_another(binding, version) {
                    continue;
                }
                let name = text(binding, "/roleRef/name");
                match text(binding, "/roleRef/kind") {
                    "ClusterRole" => add(Kind::ClusterRole, "", name),
                    _ => add(Kind::Role, place, name),
                }
            }
        }
        Self { rules }
    }

    /// Returns whether everything that a rule allows is granted.
    ///
    /// # Errors
    ///
    /// [`InvalidRule`] where the rule can't be one.
    pub fn covers(&self, rule: &Value) -> Result<bool, InvalidRule> {
        let verbs = list(rule, "verbs");
        if verbs.is_empty() {
            return Err(InvalidRule::NoVerb);
        }
        let (groups, resources) = (list(rule, "apiGroups"), list(rule, "resources"));
        let (names, paths) = (list(rule, "resourceNames"), list(rule, "nonResourceURLs"));
        let is_about_resources = !groups.is_empty() || !resources.is_empty() || !names.is_empty();
        if !paths.is_empty() {
            if is_about_resources {
                return Err(InvalidRule::Mixed);
            }
            return Ok(verbs.iter().all(|verb| {
                paths
                    .iter()
                    .all(|path| self.rules.iter().any(|granted| allows_path(granted, verb, path)))
            }));
        }
        // What a rule leaves open is asked for by the empty name, as upstream asks.
        Ok(verbs.iter().all(|verb| {
            each(&groups).all(|group| {
                each(&resources).all(|resource| {
                    each(&names).all(|name| {
                        self.rules
                            .iter()
                            .any(|granted| allows(granted, verb, group, resource, name))
                    })
                })
            })
        }))
    }
}

/// Goes through a list; an empty one has one empty entry.
fn each<'a>(listed: &'a [&'a str]) -> impl Iterator<Item = &'a str> {
    let empty = listed.is_empty().then_some("");
    listed.iter().copied().chain(empty)
}

fn list<'a>(rule: &'a Value, field: &str) -> Vec<&'a str> {
    let listed = rule.get(field).and_then(Value::as_array);
    listed.into_iter().flatten().filter_map(Value::as_str).collect()
}

fn has_or_all(rule: &Value, field: &str, wanted: &str) -> bool {
    list(rule, field).iter().any(|one| *one == "*" || *one == wanted)
}

fn allows(rule: &Value, verb: &str, group: &str, resource: &str, name: &str) -> bool {
    // A resource may name something below objects, and a rule may allow that below all objects.
    let matches = |granted: &str| {
        granted == "*"
            || granted == resource
            || granted.strip_prefix("*/").is_some_and(|below| {
                resource
                    .split_once('/')
                    .is_some_and(|(_, wanted)| wanted == below)
            })
    };
    let names = list(rule, "resourceNames");
    has_or_all(rule, "verbs", verb)
        && has_or_all(rule, "apiGroups", group)
        && list(rule, "resources").into_iter().any(matches)
        && (names.is_empty() || names.contains(&name))
}

fn allows_path(rule: &Value, verb: &str, path: &str) -> bool {
    has_or_all(rule, "verbs", verb)
        && list(rule, "nonResourceURLs").into_iter().any(|granted| {
            granted == path
                || granted
                    .strip_suffix('*')
                    .is_some_and(|_| path.starts_with(granted.trim_end_matches('*')))
        })
}

/// Returns whether a binding is about a service account: by its name, or as one of all of them.
fn is_about(binding: &Value, (namespace, name): (&str, &str)) -> bool {
    let subjects = binding.get("subjects").and_then(Value::as_array);
    subjects.into_iter().flatten().any(|subject| {
        let subject_name = text(subject, "/name");
        match text(subject, "/kind") {
            "ServiceAccount" => {
                let of = match text(subject, "/namespace") {
                    "" => text(binding, "/metadata/namespace"),
                    named => named,
                };
                subject_name == name && of == namespace
            }
            "User" => subject_name == format!("system:serviceaccount:{namespace}:{name}"),
            "Group" => {
                subject_name == "system:serviceaccounts"
                    || subject_name == "system:authenticated"
                    || subject_name == format!("system:serviceaccounts:{namespace}")
            }
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn world(rule: Value) -> World {
        let mut world = World::default();
        world.put(json!({"kind": "ClusterRole", "metadata": {"name": "r"}, "rules": [rule]}));
        world.put(json!({
            "kind": "ClusterRoleBinding", "metadata": {"name": "b"},
            "roleRef": {"kind": "ClusterRole", "name": "r"},
            "subjects": [{"kind": "ServiceAccount", "namespace": "n", "name": "a"}],
        }));
        world
    }

    fn covers(granted: Value, wanted: Value) -> bool {
        let world = world(granted);
        Granted::to(&world, ("n", "a"), "", &json!({}))
            .covers(&wanted)
            .expect("a rule")
    }

    #[test]
    fn a_rule_is_covered_when_all_its_parts_are() {
        let pods =
            |verbs: Value| json!({"verbs": verbs, "apiGroups": [""], "resources": ["pods", "pods/log"]});
        assert!(covers(
            json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}),
            pods(json!(["get"]))
        ));
        assert!(covers(pods(json!(["get", "list"])), pods(json!(["list"]))));
        assert!(!covers(pods(json!(["get"])), pods(json!(["get", "list"]))));
        let named = json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods", "*/log"], "resourceNames": ["x"]});
        assert!(
            !covers(named.clone(), pods(json!(["get"]))),
            "all pods are more than one of them"
        );
        let one =
            json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods/log"], "resourceNames": ["x"]});
        assert!(covers(named, one));
        let paths = |path: &str| json!({"verbs": ["get"], "nonResourceURLs": [path]});
        assert!(covers(paths("/a/*"), paths("/a/b")) && covers(paths("*"), paths("/a")));
        assert!(!covers(paths("/a/*"), paths("/a")));
    }

    #[test]
    fn a_rule_that_mixes_paths_and_resources_is_none() {
        let world = World::default();
        let granted = Granted::to(&world, ("n", "a"), "", &json!({}));
        let mixed =
            json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "nonResourceURLs": ["/a"]});
        assert_eq!(granted.covers(&mixed), Err(InvalidRule::Mixed));
        assert_eq!(granted.covers(&json!({})), Err(InvalidRule::NoVerb));
    }
}
