//! Which operator needs which, among those that are there together.

use std::collections::BTreeMap;

use super::api_set::Api;
use super::entry::Entry;
use super::need::{Need, Wanted};
use crate::dependencies::{GroupVersionKind, Requirement};

/// Something that an operator needs of another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dependence {
    /// Who needs it, by its place among the operators.
    pub needer: usize,
    /// What is needed, in words.
    pub need: String,
    /// Those that have it, by their places; empty where none has.
    pub met_by: Vec<usize>,
}

/// Returns what operators need of each other: by their properties, and by the APIs that they say they require.
///
/// What an operator has itself it needs of nobody, unless another one has it too.
pub fn dependences(operators: &[&Entry]) -> Vec<Dependence> {
    let mut found = Vec::new();
    for (needer, operator) in operators.iter().enumerate() {
        let mut needs: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        let mut add = |need: String, is_met_by: &dyn Fn(&Entry) -> bool| {
            let met_by = operators.iter().enumerate().filter(|(_, other)| is_met_by(other));
            let met_by: Vec<usize> = met_by.map(|(place, _)| place).collect();
            if met_by != [needer] {
                let others = met_by.into_iter().filter(|place| *place != needer);
                needs.insert(need, others.collect());
            }
        };
        match operator.needs() {
            Ok(all) => {
                for need in all {
                    add(in_words(need), &|other| need.is_met_by(other));
                }
            }
            Err(fault) => add(format!("something that can't be read: {fault}"), &|_| false),
        }
        for api in operator.required_apis.iter() {
            let kind = kind_of(api);
            add(kind_in_words(&kind), &|other| has(other, &kind));
        }
        found.extend(
            needs
                .into_iter()
                .map(|(need, met_by)| Dependence { needer, need, met_by }),
        );
    }
    found
}

/// Returns a need in words, without upstream's around them.
pub fn in_words(need: &Need) -> String {
    let constraint = match &need.wanted {
        Wanted::Label(label) => return format!("label {label}"),
        Wanted::Constraint(constraint) => constraint,
    };
    match (&constraint.requirement, &constraint.message) {
        (Requirement::Kind(kind), _) => kind_in_words(kind),
        (Requirement::Package { name, text, .. }, _) => format!("package {name} {text}"),
        (_, Some(message)) => message.clone(),
        (_, None) => format!("an operator {need}"),
    }
}

/// Returns a kind as upstream's messages about providers have it.
pub fn kind_in_words(kind: &GroupVersionKind) -> String {
    format!("{} ({}/{})", kind.kind, kind.group, kind.version)
}

fn kind_of(api: &Api) -> GroupVersionKind {
    GroupVersionKind {
        group: api.group.clone(),
        version: api.version.clone(),
        kind: api.kind.clone(),
    }
}

/// Returns whether an operator has a kind, by its properties or by its own word.
fn has(operator: &Entry, kind: &GroupVersionKind) -> bool {
    operator.provides(kind) || operator.provided_apis.iter().any(|api| kind_of(api) == *kind)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::classic::existing::entry_from_csv;
    use crate::classic::property::Property;

    fn with_properties(name: &str, properties: &[(&str, Value)]) -> Entry {
        let properties = properties
            .iter()
            .map(|(kind, value)| Property::new(*kind, value.to_string()));
        Entry::new(name, properties.collect())
    }

    fn told(operators: &[&Entry]) -> Vec<String> {
        let name = |place: &usize| operators[*place].name.as_str();
        let tell = |one: Dependence| {
            let met_by: Vec<&str> = one.met_by.iter().map(name).collect();
            format!("{} needs {}: {}", name(&one.needer), one.need, met_by.join(", "))
        };
        dependences(operators).into_iter().map(tell).collect()
    }

    #[test]
    fn needs_of_properties_lead_to_those_that_meet_them() {
        let beta = json!({"group": "g", "version": "v1", "kind": "Beta"});
        let web = with_properties(
            "web.v1",
            &[
                ("olm.gvk.required", beta.clone()),
                (
                    "olm.package.required",
                    json!({"packageName": "cache", "versionRange": ">=2.0.0"}),
                ),
                ("olm.label.required", json!({"label": "fast"})),
                (
                    "olm.constraint",
                    json!({"failureMessage": "needs a disk", "any": {"constraints": [
                        {"package": {"packageName": "disk", "versionRange": ">=1.0.0"}},
                    ]}}),
                ),
            ],
        );
        let data = with_properties(
            "beta.v1",
            &[("olm.gvk", beta), ("olm.label", json!({"label": "fast"}))],
        );
        let cache = with_properties(
            "cache.v1",
            &[("olm.package", json!({"packageName": "cache", "version": "1.0.0"}))],
        );
        assert_eq!(
            told(&[&web, &data, &cache]),
            [
                "web.v1 needs Beta (g/v1): beta.v1",
                "web.v1 needs label fast: beta.v1",
                "web.v1 needs needs a disk: ",
                "web.v1 needs package cache >=2.0.0: ",
            ]
        );
    }

    #[test]
    fn what_a_version_says_it_requires_counts_beside_its_properties() {
        let version = |name: &str, owned: &[&str], required: &[&str]| {
            let described = |kinds: &[&str]| -> Vec<Value> {
                let one = |kind: &&str| json!({"name": format!("{}s.g", kind.to_lowercase()), "version": "v1", "kind": kind});
                kinds.iter().map(one).collect()
            };
            let (entry, faults) = entry_from_csv(&json!({
                "metadata": {"name": name},
                "spec": {"customresourcedefinitions": {"owned": described(owned), "required": described(required)}},
            }));
            assert!(faults.is_empty());
            entry
        };
        let web = version("web.v1", &["Web"], &["Web", "Beta", "Gamma"]);
        // An annotation that says less than the spec doesn't hide what the spec requires.
        let web = web.with_properties(Vec::new());
        let data = version("beta.v1", &["Beta"], &[]);
        assert_eq!(
            told(&[&web, &data]),
            ["web.v1 needs Beta (g/v1): beta.v1", "web.v1 needs Gamma (g/v1): "]
        );
    }

    #[test]
    fn what_can_not_be_read_is_said() {
        let odd = with_properties("odd.v1", &[("olm.constraint", json!({}))]);
        let found = dependences(&[&odd]);
        assert_eq!(found.len(), 1);
        assert!(
            found[0].need.starts_with("something that can't be read: "),
            "{found:?}"
        );
    }
}
