//! Who of several running operators looks after a resource.
//!
//! Each operator picks resources by their labels, usually by `operatorVersion`. A resource that one operator picks is
//! its; of several that pick it the newest has it; one that nobody picks is told so by the newest, and is let go by it when
//! it is deleted.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::core::{Expression, Selector, SelectorExt as _};
use serde::{Deserialize, Serialize};
use version::Version;

use crate::blueprint::Blueprint;
use crate::resource::CustomResource;

/// A running operator, as far as one kind goes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Operator {
    /// What tells it from others: the namespace and name of its Lease.
    #[serde(skip)]
    pub id: String,
    /// The API group of the kind.
    #[serde(default)]
    pub group: String,
    /// The kind.
    pub kind: String,
    /// Which resources it picks.
    #[serde(default)]
    pub selector: LabelSelector,
    /// The name of its chart.
    pub chart: String,
    /// The version of its chart.
    pub version: String,
    /// The namespaces that it looks after; all if it is empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<String>,
}

impl Operator {
    /// Returns the operator of a chart that looks after some namespaces, or after all.
    pub fn of(blueprint: &Blueprint, namespaces: &[String]) -> Self {
        let kind = &blueprint.watch.kind;
        Self {
            id: String::new(),
            group: kind.group.clone(),
            kind: kind.kind.clone(),
            selector: blueprint.watch.selector.clone(),
            chart: blueprint.chart.metadata.name.clone(),
            version: blueprint.version().to_owned(),
            namespaces: namespaces.to_vec(),
        }
    }

    /// Returns whether it sees the resources of a namespace; those of the whole cluster have none and are seen by all.
    fn sees(&self, namespace: &str) -> bool {
        namespace.is_empty()
            || self.namespaces.is_empty()
            || self.namespaces.iter().any(|seen| seen == namespace)
    }

    fn selects(&self, labels: &BTreeMap<String, String>) -> bool {
        Selector::try_from(self.selector.clone()).is_ok_and(|selector| selector.matches(labels))
    }

    /// Returns how a person names what it picks.
    pub fn wanted(&self) -> String {
        let selector = Selector::try_from(self.selector.clone()).unwrap_or_default();
        if selector.selects_all() {
            "every resource".to_owned()
        } else {
            selector.to_string()
        }
    }

    /// Returns the labels whose values decide.
    fn keys(&self) -> Vec<String> {
        let selector = Selector::try_from(self.selector.clone()).unwrap_or_default();
        selector
            .into_iter()
            .map(|expression| match expression {
                Expression::In(key, _)
                | Expression::NotIn(key, _)
                | Expression::Equal(key, _)
                | Expression::NotEqual(key, _)
                | Expression::Exists(key)
                | Expression::DoesNotExist(key) => key,
            })
            .collect()
    }
}

/// The newer operator comes first; those of the same version are told apart by their names.
fn newest_first(left: &Operator, right: &Operator) -> Ordering {
    let version = |operator: &Operator| Version::parse(operator.version.trim_start_matches('v')).ok();
    version(right)
        .cmp(&version(left))
        .then_with(|| right.version.cmp(&left.version))
        .then_with(|| left.id.cmp(&right.id))
}

/// What an operator has to do with a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Role {
    /// It looks after the resource.
    Owner,
    /// It picks the resource too, but a newer one has it.
    Beaten {
        /// Which.
        by: String,
    },
    /// Nobody picks the resource; this operator is the newest, and says so.
    Herald {
        /// What to say.
        message: String,
    },
    /// Another operator has it, or says that nobody has.
    Bystander,
}

/// Works out what one operator has to do with a resource; `others` may contain it.
pub fn role(me: &Operator, others: &[Operator], resource: &CustomResource) -> Role {
    let labels = &resource.labels;
    let mut all: Vec<&Operator> = others
        .iter()
        .filter(|other| (&other.group, &other.kind) == (&me.group, &me.kind) && other.id != me.id)
        .filter(|other| other.sees(&resource.id.namespace))
        .chain([me])
        .collect();
    all.sort_by(|left, right| newest_first(left, right));
    let owner = all.iter().find(|operator| operator.selects(labels));
    match owner {
        Some(owner) if owner.id == me.id => Role::Owner,
        Some(owner) if me.selects(labels) => Role::Beaten {
            by: format!("{} {} ({})", owner.chart, owner.version, owner.id),
        },
        None if all.first().is_some_and(|newest| newest.id == me.id) => Role::Herald {
            message: nobody(&all, labels),
        },
        _ => Role::Bystander,
    }
}

/// Says that nobody picks a resource, which labels would be picked, and what it has.
fn nobody(operators: &[&Operator], labels: &BTreeMap<String, String>) -> String {
    let offers: Vec<String> = operators
        .iter()
        .map(|operator| format!("{} ({} {})", operator.wanted(), operator.chart, operator.version))
        .collect();
    let mut keys: Vec<String> = operators.iter().flat_map(|operator| operator.keys()).collect();
    keys.sort();
    keys.dedup();
    let has: Vec<String> = keys
        .iter()
        .map(|key| match labels.get(key) {
            Some(value) => format!("{key}={value}"),
            None => format!("no label {key}"),
        })
        .collect();
    format!(
        "no running operator looks after this resource: it has {}; running operators look after {}; set the label of \
         one of them",
        has.join(", "),
        offers.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn operator(id: &str, version: &str, label: Option<&str>) -> Operator {
        Operator {
            id: id.to_owned(),
            group: "doublewordai.co".to_owned(),
            kind: "InferenceStack".to_owned(),
            selector: LabelSelector {
                match_labels: label
                    .map(|label| BTreeMap::from([("operatorVersion".to_owned(), label.to_owned())])),
                match_expressions: None,
            },
            chart: "inference-stack".to_owned(),
            version: version.to_owned(),
            namespaces: Vec::new(),
        }
    }

    fn resource(label: Option<&str>) -> CustomResource {
        let labels = label.map_or(json!({}), |label| json!({"operatorVersion": label}));
        CustomResource::read(json!({"metadata": {"namespace": "models", "name": "stack", "labels": labels}}))
    }

    #[test]
    fn each_resource_has_one_operator() {
        let operators = [
            operator("a/one", "2.9.0", Some("v2")),
            operator("a/two", "2.10.0", Some("v2")),
            operator("a/three", "3.0.0", Some("v3")),
        ];
        let roles = |label: Option<&str>| -> Vec<Role> {
            operators
                .iter()
                .map(|me| role(me, &operators, &resource(label)))
                .collect()
        };
        let beaten = Role::Beaten {
            by: "inference-stack 2.10.0 (a/two)".to_owned(),
        };
        assert_eq!(roles(Some("v2")), [beaten, Role::Owner, Role::Bystander]);
        assert_eq!(roles(Some("v3")), [Role::Bystander, Role::Bystander, Role::Owner]);
        let herald = Role::Herald {
            message: "no running operator looks after this resource: it has operatorVersion=v9; running operators look \
                      after operatorVersion=v3 (inference-stack 3.0.0), operatorVersion=v2 (inference-stack 2.10.0), \
                      operatorVersion=v2 (inference-stack 2.9.0); set the label of one of them"
                .to_owned(),
        };
        assert_eq!(roles(Some("v9")), [Role::Bystander, Role::Bystander, herald]);
    }

    #[test]
    fn operators_of_other_kinds_count_not() {
        let me = operator("a/one", "1.0.0", Some("v1"));
        let mut other = operator("a/two", "2.0.0", None);
        assert!(matches!(
            role(&me, std::slice::from_ref(&other), &resource(Some("v1"))),
            Role::Beaten { .. }
        ));
        other.kind = "ModelOrchestra".to_owned();
        assert_eq!(role(&me, &[other], &resource(Some("v1"))), Role::Owner);
    }

    #[test]
    fn operators_of_other_namespaces_count_not() {
        let mut me = operator("a/one", "1.0.0", Some("v1"));
        let mut other = operator("a/two", "2.0.0", Some("v1"));
        other.namespaces = vec!["elsewhere".to_owned()];
        assert_eq!(
            role(&me, std::slice::from_ref(&other), &resource(Some("v1"))),
            Role::Owner
        );
        me.namespaces = vec!["models".to_owned()];
        other.namespaces.push("models".to_owned());
        assert!(matches!(
            role(&me, &[other], &resource(Some("v1"))),
            Role::Beaten { .. }
        ));
    }

    #[test]
    fn a_version_that_is_none_is_the_oldest() {
        let (me, other) = (
            operator("a/one", "0.2.13", None),
            operator("a/two", "latest", None),
        );
        assert_eq!(role(&me, &[other], &resource(None)), Role::Owner);
    }
}
