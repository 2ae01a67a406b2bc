//! What the server decides about pods.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{keep_metadata, raise_generation};
use crate::quantity::Quantity;
use crate::tree::{Fields, Tree, same};

/// Where a pod's profiles of `AppArmor` were before they had a field, before the name of the container.
const APP_ARMOR_ANNOTATION: &str = "container.apparmor.security.beta.kubernetes.io/";

/// The longest name of a profile of `AppArmor`.
const LONGEST_PROFILE: usize = 4095;

/// Sets the status that a pod begins with, and what follows from its labels and annotations.
pub(super) fn prepare_for_create(pod: &mut Fields) {
    let class = pod.part("spec").map_or("BestEffort", quality_of_service);
    let mut status = Fields::new();
    status.set("phase", "Pending");
    status.set("qosClass", class);
    let is_gated = pod
        .part("spec")
        .is_some_and(|spec| !spec.is_zero("schedulingGates"));
    if is_gated {
        let now = super::creation_time(pod);
        status.set(
            "conditions",
            json!([{
                "type": "PodScheduled",
                "status": "False",
                "lastProbeTime": null,
                "lastTransitionTime": now,
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
            }]),
        );
    }
    pod.set("status", status);
    let metadata = pod.part("metadata").cloned().unwrap_or_default();
    if let Some(spec) = pod.part_mut("spec") {
        if let Some(labels) = metadata.part("labels") {
            select_by_own_labels(spec, labels);
        }
        if let Some(annotations) = metadata.part("annotations") {
            take_app_armor_profiles(spec, annotations);
        }
    }
}

/// Returns how sure a pod can be of its resources.
pub(crate) fn quality_of_service(spec: &Fields) -> &'static str {
    let mut requests = BTreeMap::new();
    let mut limits = BTreeMap::new();
    let mut is_guaranteed = true;
    if let Some(resources) = spec.part("resources") {
        add(&mut requests, resources.part("requests"));
        let limited = add(&mut limits, resources.part("limits"));
        is_guaranteed = resources.is_zero("limits") || limited == 2;
    } else {
        for container in spec.items("containers").chain(spec.items("initContainers")) {
            let resources = container.part("resources");
            add(&mut requests, resources.and_then(|all| all.part("requests")));
            let limited = add(&mut limits, resources.and_then(|all| all.part("limits")));
            is_guaranteed &= limited == 2;
        }
    }
    if requests.is_empty() && limits.is_empty() {
        return "BestEffort";
    }
    let are_same = requests.len() == limits.len()
        && requests.iter().all(|(name, request): (&&str, &Quantity)| {
            limits
                .get(name)
                .is_some_and(|limit: &Quantity| limit.is_same_number(*request))
        });
    if is_guaranteed && are_same {
        "Guaranteed"
    } else {
        "Burstable"
    }
}

/// Adds the processor and the memory of a list to a sum, and returns how many of the two are there.
fn add(sum: &mut BTreeMap<&'static str, Quantity>, list: Option<&Fields>) -> usize {
    let mut found = 0;
    for name in ["cpu", "memory"] {
        let Some(amount) = list.and_then(|list| list.get(name)?.as_str()) else {
            continue;
        };
        let amount = Quantity::read(amount);
        if amount.is_positive() {
            found += 1;
            sum.entry(name)
                .and_modify(|there| *there = there.plus(amount))
                .or_insert(amount);
        }
    }
    found
}

/// Writes the values of the pod's own labels into the selectors that name them.
fn select_by_own_labels(spec: &mut Fields, labels: &Fields) {
    if let Some(affinity) = spec.part_mut("affinity") {
        for kind in ["podAffinity", "podAntiAffinity"] {
            let Some(affinity) = affinity.part_mut(kind) else {
                continue;
            };
            for preferred in affinity.items_mut("preferredDuringSchedulingIgnoredDuringExecution") {
                if let Some(term) = preferred.part_mut("podAffinityTerm") {
                    match_own_labels(term, labels);
                }
            }
            for term in affinity.items_mut("requiredDuringSchedulingIgnoredDuringExecution") {
                match_own_labels(term, labels);
            }
        }
    }
    for constraint in spec.items_mut("topologySpreadConstraints") {
        match_own_labels(constraint, labels);
    }
}

fn match_own_labels(term: &mut Fields, labels: &Fields) {
    let mut expressions = Vec::new();
    for (field, operator) in [("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")] {
        for key in term.get(field).and_then(Value::as_array).into_iter().flatten() {
            if let Some(value) = key.as_str().and_then(|key| labels.get(key)) {
                expressions.push(json!({"key": key, "operator": operator, "values": [value]}));
            }
        }
    }
    if expressions.is_empty() {
        return;
    }
    if let Some(selector) = term.part_mut("labelSelector") {
        match selector.get_mut("matchExpressions").and_then(Value::as_array_mut) {
            Some(there) => there.extend(expressions),
            None => selector.set("matchExpressions", expressions),
        }
    }
}

/// Writes profiles of `AppArmor` that are given as annotations into the fields of the containers.
fn take_app_armor_profiles(spec: &mut Fields, annotations: &Fields) {
    if spec
        .part("os")
        .is_some_and(|system| system.text("name") == "windows")
        || !annotations
            .keys()
            .any(|name| name.starts_with(APP_ARMOR_ANNOTATION))
    {
        return;
    }
    let of_pod = spec
        .part("securityContext")
        .and_then(|context| context.get("appArmorProfile"))
        .cloned();
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        for container in spec.items_mut(list) {
            let annotation = format!("{APP_ARMOR_ANNOTATION}{}", container.text("name"));
            let Some(profile) = annotations.get(&annotation).and_then(Value::as_str) else {
                continue;
            };
            let has_field = container
                .part("securityContext")
                .is_some_and(|context| !context.is_unset("appArmorProfile"));
            let Some(profile) = app_armor_profile(profile) else {
                continue;
            };
            if !has_field && of_pod.as_ref() != Some(&profile) {
                container
                    .part_or_new("securityContext")
                    .set("appArmorProfile", profile);
            }
        }
    }
}

fn app_armor_profile(annotation: &str) -> Option<Value> {
    match annotation {
        "unconfined" => Some(json!({"type": "Unconfined"})),
        "runtime/default" => Some(json!({"type": "RuntimeDefault"})),
        other => {
            let profile = other.strip_prefix("localhost/")?;
            let is_fit = !profile.is_empty() && profile.trim() == profile && profile.len() <= LONGEST_PROFILE;
            is_fit.then(|| json!({"type": "Localhost", "localhostProfile": profile}))
        }
    }
}

/// Keeps what a write to the status leaves out without meaning to.
pub(super) fn update_status(new: &mut Fields, old: &Fields) {
    let old_status = old.part("status");
    let status = new.part_or_new("status");
    if status.is_zero("qosClass") {
        status.take_from(old_status, "qosClass");
    }
    if status.is_zero("observedGeneration") {
        status.take_from(old_status, "observedGeneration");
    }
    let mut generations: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
    for condition in old_status
        .into_iter()
        .flat_map(|status| status.items("conditions"))
    {
        generations
            .entry(condition.text("type"))
            .or_default()
            .push(condition.number("observedGeneration"));
    }
    for all in generations.values_mut() {
        all.reverse();
    }
    for condition in status.items_mut("conditions") {
        let generation = generations
            .get_mut(condition.text("type"))
            .and_then(Vec::pop)
            .unwrap_or(0);
        if generation != 0 {
            condition.set_if_zero("observedGeneration", generation);
        }
    }
}

/// Keeps all but the ephemeral containers.
pub(super) fn update_ephemeral_containers(new: &mut Fields, old: &Fields) {
    let containers = new
        .part_mut("spec")
        .and_then(|spec| spec.remove("ephemeralContainers"));
    keep_all(new, old);
    let spec = new.part_or_new("spec");
    match containers {
        Some(containers) => spec.set("ephemeralContainers", containers),
        None => {
            spec.remove("ephemeralContainers");
        }
    }
    raise_if_changed(new, old);
}

/// Keeps all but the resources of the pod and its containers.
pub(super) fn update_resources(new: &mut Fields, old: &Fields) {
    let empty = Fields::new();
    let new_spec = new.part("spec").unwrap_or(&empty);
    let old_spec = old.part("spec").unwrap_or(&empty);
    let lists = ["containers", "initContainers"];
    let have_same_number = |list| new_spec.items(list).count() == old_spec.items(list).count();
    if lists.into_iter().all(have_same_number) {
        let containers = lists.map(|list| with_new_resources(new_spec, old_spec, list));
        let resources = new_spec.get("resources").cloned();
        keep_all(new, old);
        let spec = new.part_or_new("spec");
        for (list, containers) in lists.into_iter().zip(containers) {
            if let Some(containers) = containers {
                spec.set(list, containers);
            }
        }
        match resources {
            Some(resources) => spec.set("resources", resources),
            None => {
                spec.remove("resources");
            }
        }
    }
    raise_if_changed(new, old);
}

/// Returns the old containers with the resources of the new ones; the new ones where they are others, for the
/// validation to refuse.
fn with_new_resources(new: &Fields, old: &Fields, list: &str) -> Option<Value> {
    let mut containers = old.get(list)?.clone();
    let there = containers.as_array_mut()?;
    for (container, new_container) in there
        .iter_mut()
        .filter_map(Value::as_object_mut)
        .zip(new.items(list))
    {
        if container.text("name") != new_container.text("name") {
            return new.get(list).cloned();
        }
        container.take_from(Some(new_container), "resources");
        container.take_from(Some(new_container), "resizePolicy");
    }
    Some(containers)
}

fn keep_all(new: &mut Fields, old: &Fields) {
    new.take_from(Some(old), "spec");
    new.take_from(Some(old), "status");
    keep_metadata(new.part_or_new("metadata"), old.part("metadata"));
}

fn raise_if_changed(new: &mut Fields, old: &Fields) {
    if !same(new.get("spec"), old.get("spec")) {
        raise_generation(new, old);
    }
}
