//! The rules of roles: what they allow, what they cover, and how they read in messages.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::access::attributes::{Attributes, Wanted, quoted_list};

/// Stands for all verbs, groups, resources or paths.
const ALL: &str = "*";

/// A rule: some verbs on some resources, or on some paths.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rule {
    /// What is allowed.
    pub verbs: Vec<String>,
    /// The API groups.
    pub groups: Vec<String>,
    /// The resources, `pods` or `pods/log` or `*/scale`.
    pub resources: Vec<String>,
    /// The objects; empty for all.
    pub names: Vec<String>,
    /// The paths that are no resource's.
    pub paths: Vec<String>,
}

fn has(list: &[String], text: &str) -> bool {
    list.iter().any(|one| one == text)
}

fn has_or_all(list: &[String], text: &str) -> bool {
    list.iter().any(|one| one == ALL || one == text)
}

impl Rule {
    /// Reads a rule of a Role or a ClusterRole.
    pub fn read(rule: &Value) -> Self {
        let list = |field: &str| -> Vec<String> {
            let listed = rule.get(field).and_then(Value::as_array);
            listed
                .map(|all| all.iter().filter_map(Value::as_str).map(str::to_owned).collect())
                .unwrap_or_default()
        };
        Self {
            verbs: list("verbs"),
            groups: list("apiGroups"),
            resources: list("resources"),
            names: list("resourceNames"),
            paths: list("nonResourceURLs"),
        }
    }

    /// Reads the rules of a Role or a ClusterRole.
    pub fn read_all(role: &Value) -> Vec<Self> {
        let rules = role.get("rules").and_then(Value::as_array);
        rules
            .map(|all| all.iter().map(Self::read).collect())
            .unwrap_or_default()
    }

    /// Returns the rule as roles have it.
    pub fn to_value(&self) -> Value {
        let mut object = Map::new();
        object.insert("verbs".into(), json!(self.verbs));
        for (name, list) in [
            ("apiGroups", &self.groups),
            ("resources", &self.resources),
            ("resourceNames", &self.names),
            ("nonResourceURLs", &self.paths),
        ] {
            if !list.is_empty() {
                object.insert(name.into(), json!(list));
            }
        }
        Value::Object(object)
    }

    /// Returns the rule about resources as reviews show it; `None` where it is about none.
    pub fn resource_rule(&self) -> Option<Value> {
        let part = Self {
            paths: Vec::new(),
            ..self.clone()
        };
        (!self.resources.is_empty()).then(|| part.to_value())
    }

    /// Returns the rule about paths as reviews show it; `None` where it is about none.
    pub fn path_rule(&self) -> Option<Value> {
        (!self.paths.is_empty()).then(|| json!({"verbs": self.verbs, "nonResourceURLs": self.paths}))
    }

    /// Returns whether the rule allows something.
    pub fn allows(&self, attributes: &Attributes) -> bool {
        if !has_or_all(&self.verbs, &attributes.verb) {
            return false;
        }
        match &attributes.object {
            Wanted::Path(path) => self.paths.iter().any(|one| path_covers(one, path) || one == ALL),
            Wanted::Resource {
                group,
                resource,
                subresource,
                name,
                ..
            } => {
                has_or_all(&self.groups, group)
                    && self
                        .resources
                        .iter()
                        .any(|one| resource_matches(one, resource, subresource))
                    && (self.names.is_empty() || has(&self.names, name))
            }
        }
    }

    /// Breaks the rule into ones with one verb on one thing each.
    fn broken_down(&self) -> Vec<Self> {
        let mut parts = Vec::new();
        let one = |text: &String| vec![text.clone()];
        for group in &self.groups {
            for resource in &self.resources {
                for verb in &self.verbs {
                    let part = Self {
                        verbs: one(verb),
                        groups: one(group),
                        resources: one(resource),
                        ..Self::default()
                    };
                    if self.names.is_empty() {
                        parts.push(part);
                        continue;
                    }
                    parts.extend(self.names.iter().map(|name| Self {
                        names: one(name),
                        ..part.clone()
                    }));
                }
            }
        }
        for path in &self.paths {
            for verb in &self.verbs {
                parts.push(Self {
                    verbs: one(verb),
                    paths: one(path),
                    ..Self::default()
                });
            }
        }
        parts
    }

    /// Returns whether the rule allows all that a broken-down rule allows.
    fn covers(&self, part: &Self) -> bool {
        let all_of =
            |own: &[String], wanted: &[String]| has(own, ALL) || wanted.iter().all(|text| has(own, text));
        let names = if part.names.is_empty() {
            self.names.is_empty()
        } else {
            self.names.is_empty() || part.names.iter().all(|name| has(&self.names, name))
        };
        names
            && all_of(&self.verbs, &part.verbs)
            && all_of(&self.groups, &part.groups)
            && part.resources.iter().all(|resource| {
                has_or_all(&self.resources, resource)
                    || resource
                        .split_once('/')
                        .is_some_and(|(_, below)| has(&self.resources, &format!("*/{below}")))
            })
            && part
                .paths
                .iter()
                .all(|path| self.paths.iter().any(|own| path_covers(own, path)))
    }

    /// Returns the rule as messages show it.
    pub fn compact(&self) -> String {
        let parts: Vec<String> = [
            ("APIGroups", &self.groups),
            ("Resources", &self.resources),
            ("NonResourceURLs", &self.paths),
            ("ResourceNames", &self.names),
            ("Verbs", &self.verbs),
        ]
        .into_iter()
        .filter(|(_, list)| !list.is_empty())
        .map(|(name, list)| format!("{name}:{}", quoted_list(list)))
        .collect();
        format!("{{{}}}", parts.join(", "))
    }
}

/// Returns whether a path is the one of a rule, or one that it begins.
fn path_covers(own: &str, path: &str) -> bool {
    own == path || own.ends_with('*') && path.starts_with(own.trim_end_matches('*'))
}

fn resource_matches(own: &str, resource: &str, subresource: &str) -> bool {
    if own == ALL {
        return true;
    }
    if subresource.is_empty() {
        return own == resource;
    }
    match own.split_once('/') {
        Some((parent, below)) => (parent == resource || parent == ALL) && below == subresource,
        None => false,
    }
}

/// Returns what `wanted` allows beyond `own`, as rules with one verb on one thing each.
pub fn uncovered(own: &[Rule], wanted: &[Rule]) -> Vec<Rule> {
    let parts = wanted.iter().flat_map(Rule::broken_down);
    parts
        .filter(|part| !own.iter().any(|rule| rule.covers(part)))
        .collect()
}

/// Returns what `wanted` allows beyond `own`, in short; empty where nothing is missing.
///
/// Broken down rules that differ by their verb alone become one again, and the texts are sorted.
pub fn missing(own: &[Rule], wanted: &[Rule]) -> Vec<String> {
    let mut texts = Vec::new();
    let mut simple: BTreeMap<(String, String, Option<String>), Rule> = BTreeMap::new();
    for part in uncovered(own, wanted) {
        let (Some(group), Some(resource)) = (part.groups.first(), part.resources.first()) else {
            texts.push(part.compact());
            continue;
        };
        let key = (group.clone(), resource.clone(), part.names.first().cloned());
        match simple.get_mut(&key) {
            Some(known) => known.verbs.extend(part.verbs),
            None => {
                simple.insert(key, part);
            }
        }
    }
    texts.extend(simple.values().map(Rule::compact));
    texts.sort();
    texts.dedup();
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(value: &Value) -> Rule {
        Rule::read(value)
    }

    fn on(verb: &str, group: &str, resource: &str, below: &str, name: &str) -> Attributes {
        Attributes::resource(verb, "n", group, resource, name).below(below)
    }

    #[test]
    fn a_rule_allows_its_verbs_on_its_resources() {
        let pods = rule(&json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}));
        assert!(pods.allows(&on("get", "", "pods", "", "a")));
        assert!(!pods.allows(&on("list", "", "pods", "", "")));
        assert!(!pods.allows(&on("get", "apps", "pods", "", "a")));
        assert!(!pods.allows(&on("get", "", "pods", "log", "a")));
    }

    #[test]
    fn subresources_are_named_or_all_of_a_name() {
        let log = rule(&json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods/log"]}));
        assert!(log.allows(&on("get", "", "pods", "log", "a")));
        assert!(!log.allows(&on("get", "", "pods", "", "a")));
        let scale = rule(&json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*/scale"]}));
        assert!(scale.allows(&on("update", "apps", "deployments", "scale", "a")));
        assert!(!scale.allows(&on("update", "apps", "deployments", "status", "a")));
        assert!(!scale.allows(&on("get", "apps", "deployments", "", "a")));
        let all = rule(&json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}));
        assert!(all.allows(&on("x", "apps", "deployments", "status", "a")));
        assert!(!all.allows(&Attributes::path("get", "/version")));
    }

    #[test]
    fn names_limit_a_rule() {
        let one = rule(
            &json!({"verbs": ["*"], "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["a"]}),
        );
        assert!(one.allows(&on("get", "", "secrets", "", "a")));
        assert!(!one.allows(&on("get", "", "secrets", "", "b")));
        assert!(!one.allows(&on("list", "", "secrets", "", "")));
    }

    #[test]
    fn paths_end_in_a_star_or_are_exact() {
        let paths = rule(&json!({"verbs": ["get"], "nonResourceURLs": ["/healthz", "/api/*"]}));
        for (path, allowed) in [
            ("/healthz", true),
            ("/healthz/etcd", false),
            ("/api/v1", true),
            ("/api", false),
            ("/apis", false),
        ] {
            assert_eq!(paths.allows(&Attributes::path("get", path)), allowed, "{path}");
        }
        let all = rule(&json!({"verbs": ["*"], "nonResourceURLs": ["*"]}));
        assert!(all.allows(&Attributes::path("post", "/x")));
    }

    #[test]
    fn what_is_missing_is_told_in_short() {
        let own = [rule(
            &json!({"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods", "*/scale"]}),
        )];
        let wanted = [
            rule(
                &json!({"verbs": ["get", "watch", "delete"], "apiGroups": [""], "resources": ["pods", "secrets"]}),
            ),
            rule(
                &json!({"verbs": ["get"], "apiGroups": [""], "resources": ["replicationcontrollers/scale"]}),
            ),
            rule(&json!({"verbs": ["get"], "nonResourceURLs": ["/metrics"]})),
            rule(&json!({"verbs": ["get"], "apiGroups": ["a"], "resources": ["b"], "resourceNames": ["c"]})),
        ];
        insta::assert_snapshot!(missing(&own, &wanted).join("\n"), @r#"
        {APIGroups:[""], Resources:["pods"], Verbs:["watch" "delete"]}
        {APIGroups:[""], Resources:["secrets"], Verbs:["get" "watch" "delete"]}
        {APIGroups:["a"], Resources:["b"], ResourceNames:["c"], Verbs:["get"]}
        {NonResourceURLs:["/metrics"], Verbs:["get"]}
        "#);
        assert!(missing(&wanted, &wanted).is_empty());
    }
}
