//! What becomes of the rights of an operator: each rule that holds for one of its service accounts before or after, and
//! where it holds.

use std::collections::{BTreeMap, BTreeSet};

use apply::object::text;
use classic::{Kind, World};
use serde::Serialize;
use serde_json::{Map, Value, json};
use service_version::authorization::Granted;

/// How many single rights a rule may stand for and still be held against others one by one. The longest rules of public
/// bundles stand for a few hundred; a longer one is the same right only where it is written the same.
const MAXIMUM_COMBINATIONS: usize = 20_000;

/// What a rule allows to one service account, and where.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Right {
    /// The service account, as `NAMESPACE/NAME`.
    pub service_account: String,
    /// The rule, with its lists sorted.
    pub rule: Value,
    /// Where it holds now.
    pub before: Scope,
    /// Where it will hold.
    pub after: Scope,
    /// What that means.
    pub becomes: Becomes,
}

/// Where a rule holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Scope {
    /// Whether it holds in the whole cluster.
    pub cluster: bool,
    /// The namespaces it holds in.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub namespaces: BTreeSet<String>,
}

impl Scope {
    /// Returns the scope for people.
    pub fn told(&self) -> String {
        if self.cluster {
            return "whole cluster".to_owned();
        }
        let namespaces: Vec<&str> = self.namespaces.iter().map(String::as_str).collect();
        match namespaces.as_slice() {
            [] => "nowhere".to_owned(),
            [one] => format!("namespace {one}"),
            several => format!("namespaces {}", several.join(", ")),
        }
    }

    fn add(&mut self, place: &str) {
        if place.is_empty() {
            self.cluster = true;
        } else {
            self.namespaces.insert(place.to_owned());
        }
    }

    fn holds_in(&self, place: &str) -> bool {
        self.cluster || self.namespaces.contains(place)
    }

    /// The places of the scope as authorization asks for them: an empty one is the whole cluster.
    fn places(&self) -> impl Iterator<Item = &str> {
        let cluster = self.cluster.then_some("");
        let namespaces = self.namespaces.iter().filter(|_| !self.cluster);
        cluster.into_iter().chain(namespaces.map(String::as_str))
    }
}

/// What becomes of a right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Becomes {
    /// Something is allowed somewhere that wasn't before.
    Widens,
    /// Something is no longer allowed.
    Narrows,
    /// The same is allowed.
    Stays,
}

impl Right {
    /// Returns the rule for people: verbs, then what they are for.
    pub fn told(&self) -> String {
        /// How many resources, groups and names are told in full.
        const TOLD: usize = 6;
        let shown = |field: &str| {
            let all = list(&self.rule, field);
            let shown: Vec<&str> = all.iter().take(TOLD).copied().collect();
            match all.len().saturating_sub(TOLD) {
                0 => shown.join(", "),
                more => format!("{} and {more} more", shown.join(", ")),
            }
        };
        let verbs = shown("verbs");
        if !list(&self.rule, "nonResourceURLs").is_empty() {
            return format!("{verbs} {}", shown("nonResourceURLs"));
        }
        let groups = list(&self.rule, "apiGroups");
        let of_groups = match groups.as_slice() {
            [] | [""] => String::new(),
            ["*"] => " of all groups".to_owned(),
            groups => {
                let named = groups
                    .iter()
                    .map(|group| if group.is_empty() { "core" } else { group });
                format!(" of {}", named.take(TOLD).collect::<Vec<_>>().join(", "))
            }
        };
        let names = match list(&self.rule, "resourceNames").as_slice() {
            [] => String::new(),
            _ => format!(" named {}", shown("resourceNames")),
        };
        format!("{verbs} {}{of_groups}{names}", shown("resources"))
    }
}

/// Compares what service accounts may do by the roles and bindings before with what they may do by those after.
///
/// Whose rights they are is said by the bindings that come or go; what all accounts of a namespace may do stays as it is.
pub fn compare(before: &[&Value], after: &[&Value], accounts: &BTreeSet<Account>) -> Vec<Right> {
    let (before, after) = (world(before), world(after));
    let (held, kept) = (grants(&before, accounts), grants(&after, accounts));
    let keys: BTreeSet<_> = held.keys().chain(kept.keys()).collect();
    let none = Scope::default();
    let mut rights: Vec<Right> = keys
        .into_iter()
        .map(|key| {
            let (account, rule) = key;
            let rule: Value = serde_json::from_str(rule).unwrap_or_default();
            let scope_before = held.get(key).unwrap_or(&none);
            let scope_after = kept.get(key).unwrap_or(&none);
            let lacks = |scope: &Scope, other: &Scope, world: &World| {
                scope
                    .places()
                    .any(|place| !other.holds_in(place) && !covers(world, account, place, &rule))
            };
            let becomes = if lacks(scope_after, scope_before, &before) {
                Becomes::Widens
            } else if lacks(scope_before, scope_after, &after) {
                Becomes::Narrows
            } else {
                Becomes::Stays
            };
            Right {
                service_account: format!("{}/{}", account.0, account.1),
                before: scope_before.clone(),
                after: scope_after.clone(),
                becomes,
                rule,
            }
        })
        .collect();
    rights.sort_by(|one, other| {
        (&one.service_account, one.becomes).cmp(&(&other.service_account, other.becomes))
    });
    rights
}

/// A service account by its namespace and name.
pub type Account = (String, String);

/// Returns the service accounts that bindings name.
pub fn accounts<'a>(bindings: impl IntoIterator<Item = &'a Value>) -> BTreeSet<Account> {
    bindings.into_iter().flat_map(subjects).collect()
}

/// Returns the service accounts that one binding names.
fn subjects(binding: &Value) -> impl Iterator<Item = Account> {
    let subjects = binding.get("subjects").and_then(Value::as_array);
    subjects.into_iter().flatten().filter_map(|subject| {
        if text(subject, "/kind") != "ServiceAccount" {
            return None;
        }
        let namespace = match text(subject, "/namespace") {
            "" => text(binding, "/metadata/namespace"),
            named => named,
        };
        Some((namespace.to_owned(), text(subject, "/name").to_owned()))
    })
}

/// The roles and bindings of a moment. Who owns them doesn't matter here.
fn world(objects: &[&Value]) -> World {
    let mut world = World::default();
    for object in objects {
        let kind = Kind::named(text(object, "/kind"));
        let is_about_rights = matches!(
            kind,
            Some(Kind::Role | Kind::RoleBinding | Kind::ClusterRole | Kind::ClusterRoleBinding)
        );
        if is_about_rights {
            let mut object = (*object).clone();
            if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
                metadata.remove("ownerReferences");
            }
            world.put(object);
        }
    }
    world
}

/// Where each rule holds for each account.
fn grants(world: &World, accounts: &BTreeSet<Account>) -> BTreeMap<(Account, String), Scope> {
    let mut grants: BTreeMap<(Account, String), Scope> = BTreeMap::new();
    for kind in [Kind::ClusterRoleBinding, Kind::RoleBinding] {
        for binding in world.all(kind) {
            let place = text(binding, "/metadata/namespace");
            let name = text(binding, "/roleRef/name");
            let role = match text(binding, "/roleRef/kind") {
                "ClusterRole" => world.get(Kind::ClusterRole, "", name),
                _ => world.get(Kind::Role, place, name),
            };
            let rules = role.and_then(|role| role.get("rules")).and_then(Value::as_array);
            for account in subjects(binding).filter(|account| accounts.contains(account)) {
                for rule in rules.into_iter().flatten() {
                    let key = (account.clone(), sorted(rule).to_string());
                    grants.entry(key).or_default().add(place);
                }
            }
        }
    }
    grants
}

/// A rule with its lists sorted and without the empty ones, so that the same right is written the same.
fn sorted(rule: &Value) -> Value {
    const LISTS: [&str; 5] = [
        "apiGroups",
        "nonResourceURLs",
        "resourceNames",
        "resources",
        "verbs",
    ];
    let mut sorted = Map::new();
    for field in LISTS {
        let mut entries = list(rule, field);
        entries.sort_unstable();
        entries.dedup();
        if !entries.is_empty() {
            sorted.insert(field.to_owned(), json!(entries));
        }
    }
    Value::Object(sorted)
}

/// Whether everything that a rule allows is granted to an account in a place.
fn covers(world: &World, account: &Account, place: &str, rule: &Value) -> bool {
    let combinations = ["verbs", "apiGroups", "resources", "resourceNames"]
        .iter()
        .map(|field| list(rule, field).len().max(1))
        .fold(list(rule, "nonResourceURLs").len().max(1), usize::saturating_mul);
    combinations <= MAXIMUM_COMBINATIONS
        && Granted::to(world, (&account.0, &account.1), place, &Value::Null)
            .covers(rule)
            // What can't be a rule allows nothing.
            .unwrap_or(true)
}

fn list<'a>(rule: &'a Value, field: &str) -> Vec<&'a str> {
    let listed = rule.get(field).and_then(Value::as_array);
    listed.into_iter().flatten().filter_map(Value::as_str).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role(kind: &str, namespace: &str, rules: &[(&str, &str)]) -> [Value; 2] {
        let metadata = if namespace.is_empty() {
            json!({"name": "r"})
        } else {
            json!({"name": "r", "namespace": namespace, "ownerReferences": [
                {"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion", "name": "w.v1", "uid": "1"},
            ]})
        };
        let rules: Vec<Value> = rules
            .iter()
            .map(|(verbs, resource)| {
                let verbs: Vec<&str> = verbs.split(' ').collect();
                json!({"verbs": verbs, "apiGroups": [""], "resources": [resource]})
            })
            .collect();
        [
            json!({"kind": kind, "metadata": metadata, "rules": rules}),
            json!({
                "kind": format!("{kind}Binding"), "metadata": metadata, "roleRef": {"kind": kind, "name": "r"},
                "subjects": [{"kind": "ServiceAccount", "name": "a", "namespace": "ns"}, {"kind": "Group", "name": "g"}],
            }),
        ]
    }

    fn told(before: &[[Value; 2]], after: &[[Value; 2]]) -> Vec<String> {
        let before: Vec<&Value> = before.iter().flatten().collect();
        let after: Vec<&Value> = after.iter().flatten().collect();
        let accounts = BTreeSet::from([("ns".to_owned(), "a".to_owned())]);
        compare(&before, &after, &accounts)
            .iter()
            .map(|right| {
                format!(
                    "{:?} {}: {} -> {}",
                    right.becomes,
                    right.told(),
                    right.before.told(),
                    right.after.told()
                )
            })
            .collect()
    }

    #[test]
    fn what_holds_elsewhere_or_for_more_widens() {
        let own = [role("Role", "ns", &[("get list", "pods")])];
        // What an operator of one namespace becomes where all are watched.
        assert_eq!(
            told(
                &own,
                &[role(
                    "ClusterRole",
                    "",
                    &[("list get", "pods"), ("get list watch", "namespaces")]
                )]
            ),
            [
                "Widens get, list, watch namespaces: nowhere -> whole cluster",
                "Widens get, list pods: namespace ns -> whole cluster",
            ]
        );
        assert_eq!(
            told(&own, &[role("Role", "other", &[("get list", "pods")])]),
            ["Widens get, list pods: namespace ns -> namespace other"]
        );
        assert_eq!(
            told(&own, &[role("Role", "ns", &[("get list", "*")])]),
            [
                "Widens get, list *: nowhere -> namespace ns",
                // The rule is gone, and what it allowed isn't.
                "Stays get, list pods: namespace ns -> nowhere",
            ]
        );
    }

    #[test]
    fn the_same_in_other_words_stays_and_less_narrows() {
        assert_eq!(
            told(
                &[role("Role", "ns", &[("get list watch", "pods")])],
                &[role("Role", "ns", &[("get list", "pods"), ("watch", "pods")])]
            ),
            [
                "Stays get, list, watch pods: namespace ns -> nowhere",
                "Stays get, list pods: nowhere -> namespace ns",
                "Stays watch pods: nowhere -> namespace ns",
            ]
        );
        // An operator of another namespace has rights in its own too with OLM v0.
        assert_eq!(
            told(
                &[
                    role("Role", "ns", &[("get", "pods")]),
                    role("Role", "team", &[("get", "pods")])
                ],
                &[role("Role", "team", &[("get", "pods")])]
            ),
            ["Narrows get pods: namespaces ns, team -> namespace team"]
        );
        assert_eq!(
            told(
                &[
                    role("ClusterRole", "", &[("get", "pods")]),
                    role("Role", "ns", &[("get", "pods")])
                ],
                &[role("ClusterRole", "", &[("get", "pods")])]
            ),
            ["Stays get pods: whole cluster -> whole cluster"]
        );
    }

    #[test]
    fn rules_that_stand_for_too_much_are_compared_as_they_are_written() {
        let many: Vec<String> = (0..200).map(|number| format!("r{number}")).collect();
        let rule = |verbs: usize| {
            let verbs: Vec<String> = (0..verbs).map(|number| format!("v{number}")).collect();
            let mut role = role("Role", "ns", &[]);
            role[0]["rules"] = json!([{"verbs": verbs, "apiGroups": [""], "resources": many}]);
            role
        };
        let outcome = |before: usize, after: usize| {
            let told = told(&[rule(before)], &[rule(after)]);
            told.iter()
                .map(|line| line.split(' ').next().unwrap_or_default().to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(outcome(101, 101), ["Stays"]);
        assert_eq!(outcome(102, 101), ["Widens", "Narrows"]);
        assert_eq!(outcome(51, 50), ["Narrows", "Stays"]);
    }
}
