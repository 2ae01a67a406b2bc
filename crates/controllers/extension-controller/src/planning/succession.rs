//! Objects that come in the place of others: their names carry the version, or a hash of what they hold, so that an upgrade
//! deletes one and makes another. Whoever reads a plan wants to know what is different in the other.

use std::collections::BTreeMap;

use api::keys;
use apply::diff::{Change, What};
use apply::engine::Previewed;
use apply::object::{ObjectId, annotation};
use serde_json::Value;

use super::permissions;

/// The most objects of a kind that are held against each other; a bundle with more has them under names of their own.
const MOST_OF_A_KIND: usize = 64;

/// How long the last part of a name must be to be a hash: those that OLM writes have 38 to 45 letters and digits.
const SHORTEST_HASH: usize = 20;

/// An object that comes in the place of another one.
#[derive(Debug, Clone, PartialEq)]
pub struct Succession {
    /// The object that goes.
    pub before: ObjectId,
    /// The object that comes, and what is different in it.
    pub change: Change,
}

/// Finds the objects of a plan that come in the place of others.
pub(super) fn successions(objects: &[Previewed]) -> Vec<Succession> {
    let come = |previewed: &&Previewed| previewed.change.what == What::Create && previewed.after.is_some();
    let go = |previewed: &&Previewed| previewed.change.what == What::Delete && previewed.before.is_some();
    let mut sorts: BTreeMap<Sort<'_>, Pairing<'_>> = BTreeMap::new();
    for comes in objects.iter().filter(come) {
        let of_sort = sorts.entry(Sort::of(&comes.change.id)).or_default();
        of_sort.come.push(comes);
    }
    for goes in objects.iter().filter(go) {
        let of_sort = sorts.entry(Sort::of(&goes.change.id)).or_default();
        of_sort.go.push(goes);
    }
    let mut found = Vec::new();
    // Which binding follows which is known when it is known which role does.
    let (bindings, others): (Vec<_>, Vec<_>) = sorts.into_iter().partition(|(sort, _)| sort.is_of_bindings());
    for (_, pairing) in others.into_iter().chain(bindings) {
        let pairs = pairing.pairs(&found);
        found.extend(pairs);
    }
    found
}

/// Objects that may come in each other's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Sort<'a> {
    group: &'a str,
    kind: &'a str,
    namespace: &'a str,
}

impl<'a> Sort<'a> {
    fn of(id: &'a ObjectId) -> Self {
        Self {
            group: id.group(),
            kind: &id.kind,
            namespace: &id.namespace,
        }
    }

    fn is_of_bindings(&self) -> bool {
        matches!(self.kind, "RoleBinding" | "ClusterRoleBinding")
    }
}

/// What comes and what goes of one kind.
#[derive(Debug, Default)]
struct Pairing<'a> {
    come: Vec<&'a Previewed>,
    go: Vec<&'a Previewed>,
}

impl Pairing<'_> {
    /// Pairs what is most alike first.
    fn pairs(&self, found: &[Succession]) -> Vec<Succession> {
        if self.come.len() > MOST_OF_A_KIND || self.go.len() > MOST_OF_A_KIND {
            return Vec::new();
        }
        let mut likely = Vec::new();
        for comes in &self.come {
            for goes in &self.go {
                let (Some(before), Some(after)) = (&goes.before, &comes.after) else {
                    continue;
                };
                if !may_follow(before, after) {
                    continue;
                }
                let renamed = renamed(before, &comes.change.id, found);
                let change = Change::between(&comes.change.id, Some(&renamed), Some(after)).without_mark();
                let differences = if permissions::is_role(&change.id) {
                    permissions::distance(before, after)
                } else {
                    None
                };
                let differences = differences.unwrap_or(change.fields.len());
                let before = goes.change.id.clone();
                likely.push((differences, Succession { before, change }));
            }
        }
        likely.sort_by(|(one, first), (other, second)| {
            let names = |succession: &Succession| (succession.change.id.clone(), succession.before.clone());
            one.cmp(other).then_with(|| names(first).cmp(&names(second)))
        });
        let mut pairs: Vec<Succession> = Vec::new();
        for (_, succession) in likely {
            let is_taken = pairs
                .iter()
                .any(|pair| pair.before == succession.before || pair.change.id == succession.change.id);
            if !is_taken {
                pairs.push(succession);
            }
        }
        pairs.sort_by(|one, other| one.change.id.cmp(&other.change.id));
        pairs
    }
}

/// An object that goes, as it would be called if it stayed; a binding names the role that comes in the place of its own.
fn renamed(before: &Value, id: &ObjectId, found: &[Succession]) -> Value {
    let mut renamed = before.clone();
    if let Some(name) = renamed.pointer_mut("/metadata/name") {
        *name = Value::from(id.name.as_str());
    }
    // What is served in another version is the same object.
    if let Some(version) = renamed.get_mut("apiVersion") {
        *version = Value::from(id.api_version.as_str());
    }
    if let Some(role) = renamed.pointer_mut("/roleRef/name") {
        let follows = found.iter().find(|succession| {
            permissions::is_role(&succession.before) && *role == succession.before.name.as_str()
        });
        if let Some(follows) = follows {
            *role = Value::from(follows.change.id.name.as_str());
        }
    }
    renamed
}

/// Whether the names of two objects differ in nothing but a version, or a hash.
fn may_follow(before: &Value, after: &Value) -> bool {
    let (Some(one), Some(other)) = (Stem::of(before), Stem::of(after)) else {
        return false;
    };
    if one.is_cut && other.is_cut {
        // A longer hash leaves less of what stands before it.
        one.text.starts_with(&other.text) || other.text.starts_with(&one.text)
    } else {
        one.text == other.text
    }
}

/// What is left of a name without version and hash.
struct Stem {
    text: String,
    is_cut: bool,
}

impl Stem {
    fn of(object: &Value) -> Option<Self> {
        let name = object.pointer("/metadata/name")?.as_str()?;
        let (base, is_cut) = match name.rsplit_once('-') {
            Some((base, hash)) if is_hash(hash) => (base, true),
            _ => (name, false),
        };
        let mut text = base.to_owned();
        if let Some(version) = annotation(object, keys::BUNDLE_VERSION).filter(|version| !version.is_empty())
        {
            // Where it is cut off in the middle of the version, what is left of that goes too.
            text = text
                .replace(version, "")
                .replace(&version.replace(['.', '+'], "-"), "");
        }
        if is_cut {
            let kept = text.trim_end_matches(|letter: char| letter.is_ascii_digit() || ".-".contains(letter));
            text.truncate(kept.len());
        }
        Some(Self { text, is_cut })
    }
}

fn is_hash(text: &str) -> bool {
    text.len() >= SHORTEST_HASH
        && text
            .chars()
            .all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const HASHES: [&str; 4] = [
        "1ek79vchsyela467qn1aybetyvn060ga0z0a49pc72zb",
        "nyuz6mg8q5ub9h3pdwarei8vnbvze0mku3kd6liduui",
        "2vc3aggaj0atn2b8xgqsi4yk5bd3f6w7q8l0yhmvc6hd",
        "c6w8n2p4l6k8j0h1g3f5d7s9a2z4x6c8v0b1n3m5q7w9",
    ];

    fn object(kind: &str, name: &str, version: &str, content: &Value) -> Value {
        let is_of_rights = kind.contains("Role");
        let mut object = json!({
            "apiVersion": if is_of_rights { "rbac.authorization.k8s.io/v1" } else { "v1" }, "kind": kind,
            "metadata": {"name": name, "annotations": {keys::BUNDLE_VERSION: version}},
        });
        for (key, value) in content.as_object().expect("a map") {
            object[key] = value.clone();
        }
        object
    }

    fn comes(object: Value) -> Previewed {
        let id = ObjectId::of(&object);
        Previewed {
            change: Change::between(&id, None, Some(&object)),
            before: None,
            after: Some(object),
        }
    }

    fn goes(object: Value) -> Previewed {
        let id = ObjectId::of(&object);
        Previewed {
            change: Change::between(&id, Some(&object), None),
            before: Some(object),
            after: None,
        }
    }

    fn told(objects: &[Previewed]) -> Vec<String> {
        let told = |succession: &Succession| {
            let fields: Vec<&str> = succession
                .change
                .fields
                .iter()
                .map(|field| field.path.as_str())
                .collect();
            let (before, after) = (&succession.before.name, &succession.change.id.name);
            format!("{before} > {after}: {}", fields.join(" "))
        };
        successions(objects).iter().map(told).collect()
    }

    #[test]
    fn a_role_follows_the_one_that_it_is_most_like_and_its_binding_with_it() {
        let rules = |resource: &str, verbs: &[&str]| json!({"rules": [{"apiGroups": [""], "resources": [resource], "verbs": verbs}]});
        let name = |version: &str, hash: usize| format!("web.v{version}-sa-{}", HASHES[hash]);
        let binding = |version: &str, hash: usize| {
            let role = name(version, hash);
            let content = json!({"roleRef": {"kind": "ClusterRole", "name": role},
                "subjects": [{"kind": "ServiceAccount", "name": "sa"}]});
            object("ClusterRoleBinding", &role, version, &content)
        };
        let role = |version: &str, hash: usize, content: &Value| {
            object("ClusterRole", &name(version, hash), version, content)
        };
        let objects = [
            comes(binding("1.1.0", 2)),
            comes(binding("1.1.0", 3)),
            comes(role("1.1.0", 2, &rules("pods", &["get"]))),
            comes(role("1.1.0", 3, &rules("secrets", &["get", "create"]))),
            goes(binding("1.0.0", 0)),
            goes(binding("1.0.0", 1)),
            goes(role("1.0.0", 0, &rules("secrets", &["get"]))),
            goes(role("1.0.0", 1, &rules("pods", &["get"]))),
        ];
        let told = told(&objects);
        assert_eq!(
            told,
            [
                format!("{} > {}: ", name("1.0.0", 1), name("1.1.0", 2)),
                format!("{} > {}: rules[0].verbs[1]", name("1.0.0", 0), name("1.1.0", 3)),
                format!("{} > {}: ", name("1.0.0", 1), name("1.1.0", 2)),
                format!("{} > {}: ", name("1.0.0", 0), name("1.1.0", 3)),
            ]
        );
    }

    #[test]
    fn only_names_that_differ_in_a_version_or_a_hash_are_of_the_same() {
        let none = json!({});
        for (before, after, expected) in [
            ("web-v1.0.0", "web-v2.0.0", true),
            ("web-1-0-0-settings", "web-2-0-0-settings", true),
            ("web.v1.0.0-sa-%0", "web.v2.0.0-sa-%1", true),
            // Cut off within the version, or with a letter less.
            ("operator.v1.0-%0", "operator.v2.0-%1", true),
            ("operator.v1-%0", "operator.v2.0-%1", true),
            ("web-settings", "web-options", false),
            ("web-v1.0.0-a", "web-v2.0.0-b", false),
            ("web-v1.0.0", "web-v2.0.0-sa-%0", false),
            ("one.v1.0.0-%0", "two.v2.0.0-%1", false),
        ] {
            let name = |name: &str| name.replace("%0", HASHES[0]).replace("%1", HASHES[1]);
            let objects = [
                goes(object("ConfigMap", &name(before), "1.0.0", &none)),
                comes(object("ConfigMap", &name(after), "2.0.0", &none)),
            ];
            assert_eq!(!told(&objects).is_empty(), expected, "{before} {after}");
        }
        // Another kind is never the same.
        let objects = [
            goes(object("ConfigMap", "web-1.0.0", "1.0.0", &none)),
            comes(object("Secret", "web-2.0.0", "2.0.0", &none)),
        ];
        assert!(told(&objects).is_empty());
    }
}
