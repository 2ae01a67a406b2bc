//! Whether a pod fits on the node, and if not, why: in the words and the order of upstream's scheduler.

use std::collections::BTreeMap;

use kinds::label_selector::{LabelSelector, Operator, Requirement};
use kinds::quantity::Quantity;
use serde_json::Value;

use super::ledger::Ledger;
use super::requests::{self, items};
use crate::object::Object;

/// What may let a pod fit that doesn't.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// Another node, or a change of this one or of what the pod names.
    Change,
    /// More of what it asks for.
    Room,
    /// Another pod that goes.
    Departure,
    /// Another pod that comes.
    Company,
}

/// Why a pod doesn't fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    /// The reasons, as the node's part of the message has them.
    pub reasons: Vec<String>,
    /// Whether it would fit if other pods went.
    pub others_could_go: bool,
    /// Whether the reason is the pod's alone, whatever the node.
    pub is_of_pod: bool,
    /// What to wait for.
    pub remedy: Remedy,
}

impl Misfit {
    fn of_node(reason: &str) -> Self {
        Self {
            reasons: vec![reason.to_owned()],
            others_could_go: false,
            is_of_pod: false,
            remedy: Remedy::Change,
        }
    }

    fn of_others(reason: &str) -> Self {
        Self {
            others_could_go: true,
            remedy: Remedy::Departure,
            ..Self::of_node(reason)
        }
    }

    /// Returns what the pod's condition and the event say.
    pub fn message(&self) -> String {
        if self.is_of_pod {
            let text = self.reasons.join(", ");
            return format!("0/1 nodes are available: {text}. not found");
        }
        let mut counted: Vec<String> = self.reasons.iter().map(|reason| format!("1 {reason}")).collect();
        counted.sort();
        let preemption = if self.others_could_go {
            "1 No preemption victims found for incoming pod"
        } else {
            "1 Preemption is not helpful for scheduling"
        };
        format!(
            "0/1 nodes are available: {}. no new claims to deallocate, preemption: 0/1 nodes are available: {preemption}.",
            counted.join(", ")
        )
    }
}

/// Returns why a pod doesn't fit on the node; `None` where it does. The first check that fails decides, as upstream.
pub fn misfit(pod: &Value, node: &Value, ledger: &Ledger) -> Option<Misfit> {
    unschedulable(pod, node)
        .or_else(|| taints(pod, node))
        .or_else(|| node_affinity(pod, node))
        .or_else(|| ports(pod, ledger))
        .or_else(|| resources(pod, node, ledger))
        .or_else(|| spread(pod, node))
        .or_else(|| neighbours(pod, node, ledger))
}

fn unschedulable(pod: &Value, node: &Value) -> Option<Misfit> {
    if node["spec"]["unschedulable"] != true {
        return None;
    }
    let taint = serde_json::json!({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"});
    (!is_tolerated(pod, &taint)).then(|| Misfit::of_node("node(s) were unschedulable"))
}

fn taints(pod: &Value, node: &Value) -> Option<Misfit> {
    let all = items(&node["spec"]["taints"]);
    all.filter(|taint| matches!(taint["effect"].as_str(), Some("NoSchedule" | "NoExecute")))
        .any(|taint| !is_tolerated(pod, taint))
        .then(|| Misfit::of_node("node(s) had untolerated taint(s)"))
}

fn is_tolerated(pod: &Value, taint: &Value) -> bool {
    tolerations(pod, taint).next().is_some()
}

/// Returns the tolerations of a pod that tolerate a taint.
pub fn tolerations<'a>(pod: &'a Value, taint: &'a Value) -> impl Iterator<Item = &'a Value> {
    let text = |value: &Value, field: &str| value[field].as_str().unwrap_or_default().to_owned();
    items(&pod["spec"]["tolerations"]).filter(move |toleration| {
        let (effect, key) = (text(toleration, "effect"), text(toleration, "key"));
        if !effect.is_empty() && effect != text(taint, "effect") {
            return false;
        }
        if !key.is_empty() && key != text(taint, "key") {
            return false;
        }
        match toleration["operator"].as_str() {
            Some("Exists") => true,
            None | Some("" | "Equal") => text(toleration, "value") == text(taint, "value"),
            Some(order @ ("Lt" | "Gt")) => {
                let numbers = (
                    text(toleration, "value").parse::<i64>(),
                    text(taint, "value").parse::<i64>(),
                );
                match numbers {
                    (Ok(wanted), Ok(there)) if order == "Lt" => there < wanted,
                    (Ok(wanted), Ok(there)) => there > wanted,
                    _ => false,
                }
            }
            Some(_) => false,
        }
    })
}

const NODE_AFFINITY: &str = "node(s) didn't match Pod's node affinity/selector";

fn node_affinity(pod: &Value, node: &Value) -> Option<Misfit> {
    let labels = node.pointer("/metadata/labels");
    let selected = pod["spec"]["nodeSelector"].as_object().into_iter().flatten();
    for (name, value) in selected {
        if labels.and_then(|labels| labels.get(name)) != Some(value) {
            return Some(Misfit::of_node(NODE_AFFINITY));
        }
    }
    let required = &pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    if required.is_null() {
        return None;
    }
    let matches = items(&required["nodeSelectorTerms"]).any(|term| node_term_matches(term, node));
    (!matches).then(|| Misfit::of_node(NODE_AFFINITY))
}

/// Returns whether the node has what one term asks for; a term that asks for nothing matches nothing.
pub fn node_term_matches(term: &Value, node: &Value) -> bool {
    let count = items(&term["matchExpressions"]).count() + items(&term["matchFields"]).count();
    let labels = node.pointer("/metadata/labels");
    count > 0
        && items(&term["matchExpressions"]).all(|expression| {
            node_requirement(expression).is_some_and(|requirement| requirement.matches(&labels))
        })
        && items(&term["matchFields"]).all(|expression| {
            let listed = items(&expression["values"]).any(|value| value.as_str() == Some(node.name()));
            expression["key"] == "metadata.name"
                && match expression["operator"].as_str() {
                    Some("In") => listed,
                    Some("NotIn") => !listed,
                    _ => false,
                }
        })
}

fn node_requirement(expression: &Value) -> Option<Requirement> {
    let operator = match expression["operator"].as_str()? {
        "In" => Operator::In,
        "NotIn" => Operator::NotIn,
        "Exists" => Operator::Exists,
        "DoesNotExist" => Operator::DoesNotExist,
        "Gt" => Operator::GreaterThan,
        "Lt" => Operator::LessThan,
        _ => return None,
    };
    let values = items(&expression["values"])
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect();
    Requirement::new(expression["key"].as_str()?, operator, values).ok()
}

fn ports(pod: &Value, ledger: &Ledger) -> Option<Misfit> {
    let collides = |(protocol, address, number): &requests::HostPort| {
        ledger.ports().any(|(other_protocol, other_address, other)| {
            protocol == other_protocol
                && number == other
                && (address == other_address || address == "0.0.0.0" || other_address == "0.0.0.0")
        })
    };
    requests::host_ports(pod)
        .iter()
        .any(collides)
        .then(|| Misfit::of_others("node(s) didn't have free ports for the requested pod ports"))
}

fn resources(pod: &Value, node: &Value, ledger: &Ledger) -> Option<Misfit> {
    let room = requests::amounts(&node["status"]["allocatable"]);
    let nothing = Quantity::read("0");
    let mut reasons = Vec::new();
    let mut others_could_go = true;
    let allowed = room.get("pods").copied().unwrap_or(nothing).whole();
    if i64::try_from(ledger.pods()).unwrap_or(i64::MAX).saturating_add(1) > allowed {
        reasons.push("Too many pods".to_owned());
    }
    for (name, asked) in requests::of_pod(pod) {
        if !asked.is_positive() {
            continue;
        }
        let room = room.get(&name).copied().unwrap_or(nothing);
        let taken = ledger.taken(&name).unwrap_or(nothing);
        if taken.plus(asked).is_more_than(room) {
            reasons.push(format!("Insufficient {name}"));
            others_could_go &= !asked.is_more_than(room);
        }
    }
    (!reasons.is_empty()).then_some(Misfit {
        reasons,
        others_could_go,
        is_of_pod: false,
        remedy: Remedy::Room,
    })
}

fn spread(pod: &Value, node: &Value) -> Option<Misfit> {
    items(&pod["spec"]["topologySpreadConstraints"])
        .filter(|constraint| constraint["whenUnsatisfiable"] == "DoNotSchedule")
        .any(|constraint| {
            constraint["topologyKey"]
                .as_str()
                .is_none_or(|key| node.label(key).is_none())
        })
        .then(|| {
            Misfit::of_node("node(s) didn't match pod topology spread constraints (missing required label)")
        })
}

/// A rule about the pods that a pod wants beside it, or doesn't want.
#[derive(Debug, Clone, PartialEq)]
pub struct NeighbourTerm {
    selector: LabelSelector,
    namespaces: Vec<String>,
    every_namespace: bool,
    topology_key: String,
}

impl NeighbourTerm {
    /// Reads the required terms of `podAffinity` or `podAntiAffinity`.
    ///
    /// Namespaces chosen by labels are taken as every namespace where the selector is empty, and else as none beside
    /// those that are named: the ledger doesn't know the labels of namespaces.
    pub fn read(pod: &Value, kind: &str) -> Vec<Self> {
        let terms = &pod["spec"]["affinity"][kind]["requiredDuringSchedulingIgnoredDuringExecution"];
        items(terms)
            .map(|term| {
                let mut namespaces: Vec<String> = items(&term["namespaces"])
                    .filter_map(Value::as_str)
                    .map(str::to_owned)
                    .collect();
                let chosen = term["namespaceSelector"].as_object();
                let every_namespace = chosen.is_some_and(serde_json::Map::is_empty);
                if namespaces.is_empty() && chosen.is_none() {
                    namespaces.push(pod.namespace().to_owned());
                }
                let selector = match &term["labelSelector"] {
                    Value::Null => LabelSelector::nothing(),
                    selector => {
                        LabelSelector::from_object(selector).unwrap_or_else(|_| LabelSelector::nothing())
                    }
                };
                let topology_key = term["topologyKey"].as_str().unwrap_or_default().to_owned();
                Self {
                    selector,
                    namespaces,
                    every_namespace,
                    topology_key,
                }
            })
            .collect()
    }

    /// Returns whether a pod is one that the term is about.
    pub fn is_about(&self, namespace: &str, labels: &BTreeMap<String, String>) -> bool {
        (self.every_namespace || self.namespaces.iter().any(|one| one == namespace))
            && self.selector.matches(labels)
    }
}

fn neighbours(pod: &Value, node: &Value, ledger: &Ledger) -> Option<Misfit> {
    let own_labels = labels_of(pod);
    // There is one node, so every pod on it shares every topology that the node has a label of.
    let in_topology = |term: &NeighbourTerm| node.label(&term.topology_key).is_some();
    for term in NeighbourTerm::read(pod, "podAffinity") {
        let satisfied = in_topology(&term)
            && (ledger.any_pod(|namespace, labels| term.is_about(namespace, labels))
                // The first of a group that wants to be together may begin.
                || term.is_about(pod.namespace(), &own_labels));
        if !satisfied {
            return Some(Misfit {
                remedy: Remedy::Company,
                ..Misfit::of_node("node(s) didn't match pod affinity rules")
            });
        }
    }
    for term in NeighbourTerm::read(pod, "podAntiAffinity") {
        if in_topology(&term) && ledger.any_pod(|namespace, labels| term.is_about(namespace, labels)) {
            return Some(Misfit::of_others("node(s) didn't match pod anti-affinity rules"));
        }
    }
    ledger
        .refused_neighbours()
        .any(|term| in_topology(term) && term.is_about(pod.namespace(), &own_labels))
        .then(|| Misfit::of_others("node(s) didn't satisfy existing pods anti-affinity rules"))
}

/// Returns the labels of an object as text.
pub fn labels_of(object: &Value) -> BTreeMap<String, String> {
    let labels = object.pointer("/metadata/labels").and_then(Value::as_object);
    labels
        .into_iter()
        .flatten()
        .map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned()))
        .collect()
}

#[cfg(test)]
mod tests;
