//! All roles and bindings, parsed and indexed by who they are about.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde_json::Value;

use super::rules::Rule;
use crate::access::attributes::{Attributes, Decision, quoted};
use crate::caller::{Caller, MASTERS};

/// The rules of one role.
pub type Rules = Arc<[Rule]>;

/// Where an object is: its namespace, which is empty for objects of the whole cluster, and its name.
type Position = (Arc<str>, Arc<str>);

/// Who a binding is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Subject {
    /// A user; ServiceAccounts are users, too.
    User(String),
    /// A group.
    Group(String),
}

/// A binding of a role.
#[derive(Debug)]
struct Binding {
    /// Who, and how messages call them, in the order of the binding.
    subjects: Vec<(Subject, String)>,
    role: RoleReference,
}

/// The role that a binding names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleReference {
    /// `Role` or `ClusterRole`.
    pub kind: String,
    /// The role's name.
    pub name: String,
}

impl RoleReference {
    /// Reads the `roleRef` of a binding.
    pub fn read(binding: &Value) -> Self {
        let text = |field: &str| {
            let reference = binding.get("roleRef").and_then(|reference| reference.get(field));
            reference.and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        Self {
            kind: text("kind"),
            name: text("name"),
        }
    }
}

/// Why the rules of a role can't be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoRules {
    /// There is no such role: `role` or `clusterrole`, and its name.
    NotFound(&'static str, String),
    /// The binding names something that is no role.
    Unsupported(String),
}

impl std::fmt::Display for NoRules {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotFound(kind, name) => {
                write!(formatter, "{kind}.rbac.authorization.k8s.io \"{name}\" not found")
            }
            Self::Unsupported(kind) => {
                write!(formatter, "unsupported role reference kind: {}", quoted(kind))
            }
        }
    }
}

/// All roles and bindings of a cluster.
#[derive(Debug, Default)]
pub struct Policy {
    roles: HashMap<Position, Rules>,
    bindings: BTreeMap<Position, Binding>,
    /// Which bindings of a namespace are about whom.
    about: HashMap<Arc<str>, HashMap<Subject, BTreeSet<Arc<str>>>>,
}

impl Policy {
    /// Puts a role in place of the old one.
    pub fn put_role(&mut self, namespace: &Arc<str>, name: &Arc<str>, role: &Value) {
        let rules = Rule::read_all(role).into();
        self.roles.insert((namespace.clone(), name.clone()), rules);
    }

    /// Removes a role.
    pub fn remove_role(&mut self, namespace: &Arc<str>, name: &Arc<str>) {
        self.roles.remove(&(namespace.clone(), name.clone()));
    }

    /// Puts a binding in place of the old one.
    pub fn put_binding(&mut self, namespace: &Arc<str>, name: &Arc<str>, binding: &Value) {
        self.remove_binding(namespace, name);
        let subjects = binding.get("subjects").and_then(Value::as_array);
        let subjects: Vec<(Subject, String)> = subjects
            .into_iter()
            .flatten()
            .filter_map(|subject| read_subject(subject, namespace))
            .collect();
        let about = self.about.entry(namespace.clone()).or_default();
        for (subject, _) in &subjects {
            about.entry(subject.clone()).or_default().insert(name.clone());
        }
        let binding = Binding {
            subjects,
            role: RoleReference::read(binding),
        };
        self.bindings.insert((namespace.clone(), name.clone()), binding);
    }

    /// Removes a binding.
    pub fn remove_binding(&mut self, namespace: &Arc<str>, name: &Arc<str>) {
        let Some(binding) = self.bindings.remove(&(namespace.clone(), name.clone())) else {
            return;
        };
        let Some(about) = self.about.get_mut(namespace) else {
            return;
        };
        for (subject, _) in &binding.subjects {
            if let Some(names) = about.get_mut(subject) {
                names.remove(name);
                if names.is_empty() {
                    about.remove(subject);
                }
            }
        }
        if about.is_empty() {
            self.about.remove(namespace);
        }
    }

    /// Returns the rules of the role that a binding in a namespace names.
    pub fn rules_of(&self, role: &RoleReference, namespace: &str) -> Result<&Rules, NoRules> {
        let (place, kind) = match role.kind.as_str() {
            "ClusterRole" => ("", "clusterrole"),
            "Role" => (namespace, "role"),
            _ => return Err(NoRules::Unsupported(role.kind.clone())),
        };
        self.roles
            .get(&(Arc::from(place), Arc::from(role.name.as_str())))
            .ok_or_else(|| NoRules::NotFound(kind, role.name.clone()))
    }

    /// Returns the bindings of a namespace (of the whole cluster for an empty one) that are about someone, by name.
    fn bindings_of<'a>(
        &'a self,
        caller: &Caller,
        namespace: &'a str,
    ) -> Vec<(&'a Arc<str>, &'a Binding, &'a str)> {
        let Some(about) = self.about.get(namespace) else {
            return Vec::new();
        };
        let user = Subject::User(caller.user.clone());
        let groups = caller.groups.iter().cloned().map(Subject::Group);
        let mut names: BTreeSet<&Arc<str>> = BTreeSet::new();
        for subject in std::iter::once(user).chain(groups) {
            names.extend(about.get(&subject).into_iter().flatten());
        }
        let place: Arc<str> = namespace.into();
        let mut found = Vec::with_capacity(names.len());
        for name in names {
            let Some(binding) = self.bindings.get(&(place.clone(), name.clone())) else {
                continue;
            };
            let described = binding.subjects.iter().find(|(subject, _)| match subject {
                Subject::User(user) => *user == caller.user,
                Subject::Group(group) => caller.is_in(group),
            });
            if let Some((_, described)) = described {
                found.push((name, binding, described.as_str()));
            }
        }
        found
    }

    /// Decides whether someone may do something.
    pub fn decide(&self, caller: &Caller, attributes: &Attributes) -> Decision {
        if caller.is_in(MASTERS) {
            return Decision {
                allowed: true,
                reason: String::new(),
            };
        }
        let mut failures: Vec<String> = Vec::new();
        let namespace = attributes.namespace();
        for place in places(namespace) {
            for (name, binding, described) in self.bindings_of(caller, place) {
                match self.rules_of(&binding.role, place) {
                    Ok(rules) if rules.iter().any(|rule| rule.allows(attributes)) => {
                        let (kind, role) = (&binding.role.kind, quoted(&binding.role.name));
                        let source = if place.is_empty() {
                            format!("ClusterRoleBinding {}", quoted(name))
                        } else {
                            format!("RoleBinding {}", quoted(&format!("{name}/{place}")))
                        };
                        return Decision {
                            allowed: true,
                            reason: format!("RBAC: allowed by {source} of {kind} {role} to {described}"),
                        };
                    }
                    Ok(_) => {}
                    Err(failure) => failures.push(failure.to_string()),
                }
            }
        }
        let reason = aggregated(&failures).map_or_else(String::new, |text| format!("RBAC: {text}"));
        Decision {
            allowed: false,
            reason,
        }
    }

    /// Returns the rules that hold for someone in a namespace, and why others can't be had.
    pub fn rules_for(&self, caller: &Caller, namespace: &str) -> (Vec<Rule>, Vec<NoRules>) {
        let mut rules = Vec::new();
        let mut failures = Vec::new();
        for place in places(namespace) {
            for (_, binding, _) in self.bindings_of(caller, place) {
                match self.rules_of(&binding.role, place) {
                    Ok(found) => rules.extend(found.iter().cloned()),
                    Err(failure) => failures.push(failure),
                }
            }
        }
        (rules, failures)
    }
}

/// Returns the whole cluster, and the namespace if there is one.
fn places(namespace: &str) -> impl Iterator<Item = &str> {
    std::iter::once("").chain((!namespace.is_empty()).then_some(namespace))
}

/// Returns several failures as one text, each once.
pub fn aggregated(failures: &[String]) -> Option<String> {
    let mut texts: Vec<&str> = Vec::new();
    for failure in failures {
        if !texts.contains(&failure.as_str()) {
            texts.push(failure);
        }
    }
    match texts.as_slice() {
        [] => None,
        [one] => Some((*one).to_owned()),
        several => Some(format!("[{}]", several.join(", "))),
    }
}

fn read_subject(subject: &Value, binding_namespace: &str) -> Option<(Subject, String)> {
    let text = |field: &str| subject.get(field).and_then(Value::as_str).unwrap_or_default();
    let (kind, name) = (text("kind"), text("name"));
    let found = match kind {
        "User" => Subject::User(name.to_owned()),
        "Group" => Subject::Group(name.to_owned()),
        "ServiceAccount" => {
            let namespace = match text("namespace") {
                "" => binding_namespace,
                named => named,
            };
            if namespace.is_empty() {
                return None;
            }
            let described = format!("{kind} {}", quoted(&format!("{name}/{namespace}")));
            return Some((
                Subject::User(format!("system:serviceaccount:{namespace}:{name}")),
                described,
            ));
        }
        _ => return None,
    };
    Some((found, format!("{kind} {}", quoted(name))))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text(text: &str) -> Arc<str> {
        text.into()
    }

    fn reader() -> Value {
        json!({"rules": [{"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]}]})
    }

    fn binding(kind: &str, role: &str, subjects: &Value) -> Value {
        json!({"roleRef": {"kind": kind, "name": role}, "subjects": subjects})
    }

    fn pods(namespace: &str) -> Attributes {
        Attributes::resource("list", namespace, "", "pods", "")
    }

    #[test]
    fn a_binding_of_the_cluster_holds_everywhere_and_one_of_a_namespace_there() {
        let mut policy = Policy::default();
        policy.put_role(&text(""), &text("reader"), &reader());
        let bob = json!([{"kind": "User", "name": "bob"}, {"kind": "Group", "name": "devs"}]);
        policy.put_binding(
            &text("a"),
            &text("readers"),
            &binding("ClusterRole", "reader", &bob),
        );
        let alice = Caller::named("alice", &["devs"]);
        assert!(policy.decide(&alice, &pods("a")).allowed);
        assert!(!policy.decide(&alice, &pods("b")).allowed);
        assert!(!policy.decide(&alice, &pods("")).allowed);
        assert_eq!(
            policy.decide(&alice, &pods("a")).reason,
            "RBAC: allowed by RoleBinding \"readers/a\" of ClusterRole \"reader\" to Group \"devs\""
        );
        let all = json!([{"kind": "Group", "name": "devs"}]);
        policy.put_binding(&text(""), &text("all"), &binding("ClusterRole", "reader", &all));
        assert!(policy.decide(&alice, &pods("")).allowed && policy.decide(&alice, &pods("b")).allowed);
        policy.remove_binding(&text(""), &text("all"));
        assert!(!policy.decide(&alice, &pods("b")).allowed);
    }

    #[test]
    fn service_accounts_are_users_of_their_namespace() {
        let mut policy = Policy::default();
        policy.put_role(&text("a"), &text("reader"), &reader());
        let subjects = json!([{"kind": "ServiceAccount", "name": "robot"}]);
        policy.put_binding(&text("a"), &text("robots"), &binding("Role", "reader", &subjects));
        let robot = Caller::named("system:serviceaccount:a:robot", &[]);
        let other = Caller::named("system:serviceaccount:b:robot", &[]);
        assert!(policy.decide(&robot, &pods("a")).allowed && !policy.decide(&other, &pods("a")).allowed);
    }

    #[test]
    fn roles_that_are_missing_are_told() {
        let mut policy = Policy::default();
        let subjects = || json!([{"kind": "User", "name": "bob"}]);
        policy.put_binding(
            &text(""),
            &text("one"),
            &binding("ClusterRole", "none", &subjects()),
        );
        let bob = Caller::named("bob", &[]);
        assert_eq!(
            policy.decide(&bob, &pods("a")).reason,
            "RBAC: clusterrole.rbac.authorization.k8s.io \"none\" not found"
        );
        policy.put_binding(&text("a"), &text("two"), &binding("Role", "gone", &subjects()));
        assert_eq!(
            policy.decide(&bob, &pods("a")).reason,
            "RBAC: [clusterrole.rbac.authorization.k8s.io \"none\" not found, role.rbac.authorization.k8s.io \
             \"gone\" not found]"
        );
    }
}
