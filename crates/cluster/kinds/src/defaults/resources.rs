//! Amounts of resources: rounded to what is stored, and filled in from each other.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::quantity::{Quantity, rounded_to_milli};
use crate::tree::{Fields, Tree};

/// Rounds the amounts in a list of resources.
pub(super) fn list(parent: &mut Fields, name: &str) {
    let Some(amounts) = parent.part_mut(name) else {
        return;
    };
    for amount in amounts.values_mut() {
        if let Value::String(text) = amount
            && let Some(rounded) = rounded_to_milli(text)
        {
            *text = rounded;
        }
    }
}

/// Rounds the amounts of `resources`.
pub(super) fn requirements(holder: &mut Fields) {
    if let Some(resources) = holder.part_mut("resources") {
        list(resources, "limits");
        list(resources, "requests");
    }
}

/// Requests what a container may use at most, for resources that it doesn't request otherwise.
pub(super) fn requests_from_limits(container: &mut Fields) {
    let Some(resources) = container.part_mut("resources") else {
        return;
    };
    fill_in(resources, "limits", "requests");
}

/// Copies the entries of one map to another that doesn't have them.
pub(super) fn fill_in(parent: &mut Fields, from: &str, to: &str) {
    let Some(source) = parent.part(from) else { return };
    let missing: Vec<(String, Value)> = source
        .iter()
        .filter(|(name, _)| parent.part(to).is_none_or(|there| !there.contains_key(*name)))
        .map(|(name, amount)| (name.clone(), amount.clone()))
        .collect();
    if !missing.is_empty() {
        parent.part_or_new(to).extend(missing);
    }
}

const HUGE_PAGES: &str = "hugepages-";

fn is_for_whole_pods(resource: &str) -> bool {
    matches!(resource, "cpu" | "memory") || resource.starts_with(HUGE_PAGES)
}

/// Fills in the resources of a whole pod, where it names any, from its containers and from each other.
pub(super) fn whole_pod(spec: &mut Fields) {
    let Some(resources) = spec.part("resources") else {
        return;
    };
    if resources.is_zero("limits") && resources.is_zero("requests") {
        return;
    }
    let limits = sum_of_containers(spec, "limits");
    let requests = sum_of_containers(spec, "requests");
    let resources = spec.part_or_new("resources");
    for (name, amount) in limits {
        let is_requested = resources
            .part("requests")
            .is_some_and(|all| all.contains_key(&name));
        if name.starts_with(HUGE_PAGES) && !is_requested {
            let written = amount.written();
            resources
                .part_or_new("limits")
                .entry(name)
                .or_insert(written.into());
        }
    }
    if resources.is_zero("limits") {
        return;
    }
    for (name, amount) in requests {
        // Huge pages can't be promised twice, so what containers ask for says nothing about the pod.
        if matches!(name.as_str(), "cpu" | "memory") {
            let written = amount.written();
            resources
                .part_or_new("requests")
                .entry(name)
                .or_insert(written.into());
        }
    }
    let from_limits: Vec<(String, Value)> = resources
        .part("limits")
        .into_iter()
        .flatten()
        .filter(|(name, _)| is_for_whole_pods(name))
        .map(|(name, amount)| (name.clone(), amount.clone()))
        .collect();
    for (name, amount) in from_limits {
        resources.part_or_new("requests").entry(name).or_insert(amount);
    }
}

type Amounts = BTreeMap<String, Quantity>;

/// Returns what all containers of a pod need at once: the running ones together, or an initial one with the sidecars
/// that were started before it, whichever is more.
fn sum_of_containers(spec: &Fields, which: &str) -> Amounts {
    let mut running = Amounts::new();
    for container in spec.items("containers") {
        add(&mut running, &amounts(container, which));
    }
    let mut sidecars = Amounts::new();
    let mut initial = Amounts::new();
    for container in spec.items("initContainers") {
        let mut needed = amounts(container, which);
        if container.text("restartPolicy") == "Always" {
            add(&mut running, &needed);
            add(&mut sidecars, &needed);
            needed = sidecars.clone();
        } else {
            add(&mut needed, &sidecars);
        }
        raise(&mut initial, needed);
    }
    raise(&mut running, initial);
    running
}

fn amounts(container: &Fields, which: &str) -> Amounts {
    let listed = container
        .part("resources")
        .and_then(|resources| resources.part(which));
    listed
        .into_iter()
        .flatten()
        .map(|(name, amount)| (name.clone(), Quantity::read(amount.as_str().unwrap_or_default())))
        .collect()
}

fn add(sum: &mut Amounts, more: &Amounts) {
    for (name, amount) in more {
        sum.entry(name.clone())
            .and_modify(|there| *there = there.plus(*amount))
            .or_insert(*amount);
    }
}

fn raise(most: &mut Amounts, other: Amounts) {
    for (name, amount) in other {
        let there = most.entry(name).or_insert(amount);
        if amount.is_more_than(*there) {
            *there = amount;
        }
    }
}
