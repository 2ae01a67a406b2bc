//! Pod Security: how much a namespace lets its pods do, as the namespace's labels say.
//!
//! - [`levels`]: levels, versions and the labels that name them
//! - [`checks`]: what a pod of a level may not do

pub mod checks;
pub mod levels;

use std::collections::{BTreeMap, HashSet};

use serde_json::Value;

use super::{Operation, Review};
use crate::object::Object;
use crate::status::Status;
use crate::store::{Key, ResourceKey};
use checks::Violations;
use levels::{Level, Policy};

/// How many pods are looked at when a namespace becomes stricter.
const MOST_PODS: usize = 3_000;

/// Subresources of pods that don't change what a pod may do.
const HARMLESS: [&str; 8] = [
    "exec",
    "attach",
    "binding",
    "eviction",
    "log",
    "portforward",
    "proxy",
    "status",
];

/// Refuses pods that do more than their namespace allows, and warns about what would make such pods.
pub fn validate(review: &Review<'_>) -> Result<(), Status> {
    if !matches!(review.operation, Operation::Create | Operation::Update) {
        return Ok(());
    }
    let Some(object) = &review.object else {
        return Ok(());
    };
    let resource = &review.place.resource;
    if review.is_to("", "namespaces") {
        return namespace(review, object);
    }
    if resource.is("", "pods") {
        return pod(review, object);
    }
    if !review.place.subresource.is_empty() {
        return Ok(());
    }
    let template = match (&*resource.group, &*resource.plural) {
        ("", "podtemplates") => &object["template"],
        ("", "replicationcontrollers")
        | ("apps", "replicasets" | "deployments" | "statefulsets" | "daemonsets")
        | ("batch", "jobs") => &object["spec"]["template"],
        ("batch", "cronjobs") => &object["spec"]["jobTemplate"]["spec"]["template"],
        _ => return Ok(()),
    };
    if template.is_object()
        && let Some(policy) = policy_of(review)
    {
        warn(review, &policy, template);
    }
    Ok(())
}

/// Returns what the review's namespace asks of pods; `None` where it asks nothing.
fn policy_of(review: &Review<'_>) -> Option<Policy> {
    let key = Key::new(&ResourceKey::new("", "namespaces"), "", &review.place.namespace);
    let namespace = review.api.store.get(&key)?;
    let (policy, errors) = Policy::read(&|name| namespace.labels.get(name));
    (!errors.is_empty() || !policy.asks_nothing()).then_some(policy)
}

fn pod(review: &Review<'_>, pod: &Value) -> Result<(), Status> {
    if HARMLESS.contains(&review.place.subresource.as_str()) {
        return Ok(());
    }
    let Some(policy) = policy_of(review) else {
        return Ok(());
    };
    if review.operation == Operation::Update && review.old.is_some_and(|old| !is_significant(pod, old)) {
        return Ok(());
    }
    let violations = checks::evaluate(policy.enforce, pod);
    if !violations.is_empty() {
        return Err(review.forbidden(format_args!(
            "violates PodSecurity \"{}\": {}",
            policy.enforce,
            violations.details()
        )));
    }
    warn(review, &policy, pod);
    Ok(())
}

fn warn(review: &Review<'_>, policy: &Policy, pod: &Value) {
    let violations = checks::evaluate(policy.warn, pod);
    if !violations.is_empty() {
        review.call.warn(format!(
            "would violate PodSecurity \"{}\": {}",
            policy.warn,
            violations.details()
        ));
    }
}

/// Returns whether an update brings other images or containers; nothing else can make a pod do more.
fn is_significant(pod: &Value, old: &Value) -> bool {
    let images = |pod: &Value, list: &str| -> Vec<Value> {
        let containers = pod["spec"][list].as_array().into_iter().flatten();
        containers.map(|container| container["image"].clone()).collect()
    };
    let changed = ["containers", "initContainers"]
        .iter()
        .any(|list| images(pod, list) != images(old, list));
    let ephemeral = |pod: &Value| -> Vec<(Value, Value)> {
        let containers = pod["spec"]["ephemeralContainers"]
            .as_array()
            .into_iter()
            .flatten();
        containers
            .map(|container| (container["name"].clone(), container["image"].clone()))
            .collect()
    };
    let known = ephemeral(old);
    changed || ephemeral(pod).iter().any(|one| !known.contains(one))
}

fn namespace(review: &Review<'_>, namespace: &Value) -> Result<(), Status> {
    let (policy, errors) = Policy::read(&|name| namespace.label(name));
    let (old_policy, old_errors) = match review.old {
        Some(old) => Policy::read(&|name| old.label(name)),
        None => (Policy::default(), Vec::new()),
    };
    if !errors.is_empty() && (review.old.is_none() || errors != old_errors) {
        return Err(Status::invalid("", "Namespace", namespace.name(), &errors));
    }
    let (new, old) = (policy.enforce, old_policy.enforce);
    let stricter = review.operation == Operation::Update
        && new != old
        && new.level != Level::Privileged
        && !(new.version == old.version && new.level <= old.level);
    if stricter {
        for warning in existing_pods(review, namespace.name(), new) {
            review.call.warn(warning);
        }
    }
    Ok(())
}

/// Returns which pods of a namespace break what it asks from now on.
fn existing_pods(review: &Review<'_>, namespace: &str, enforce: levels::Rule) -> Vec<String> {
    let pods = ResourceKey::new("", "pods");
    let Ok(listing) = review.api.store.list(&pods, Some(namespace), None, None, None) else {
        return vec!["failed to list pods while checking new PodSecurity enforce level".to_owned()];
    };
    // One pod of each controller comes first, because its others are most likely the same.
    let mut seen = HashSet::new();
    let (mut first, mut others) = (Vec::new(), Vec::new());
    for stored in &listing.items {
        let pod = stored.value();
        let controller = pod
            .controller()
            .and_then(|owner| owner["uid"].as_str())
            .map(ToOwned::to_owned);
        match controller {
            Some(uid) if !seen.insert(uid.clone()) => others.push(pod),
            _ => first.push(pod),
        }
    }
    first.append(&mut others);
    let total = first.len();
    first.truncate(MOST_PODS);
    let mut found: BTreeMap<String, (String, usize)> = BTreeMap::new();
    for pod in &first {
        let violations = checks::evaluate(enforce, pod);
        if !violations.is_empty() {
            let entry = found
                .entry(violations.reasons())
                .or_insert_with(|| (pod.name().to_owned(), 0));
            if pod.name() < entry.0.as_str() {
                pod.name().clone_into(&mut entry.0);
            }
            entry.1 += 1;
        }
    }
    let mut warnings = Vec::new();
    if first.len() < total {
        warnings.push(format!(
            "new PodSecurity enforce level only checked against the first {} of {total} existing pods",
            first.len()
        ));
    }
    if !found.is_empty() {
        warnings.push(format!(
            "existing pods in namespace \"{namespace}\" violate the new PodSecurity enforce level \"{enforce}\""
        ));
    }
    let mut pods: Vec<String> = found
        .into_iter()
        .map(|(reasons, (name, count))| match count {
            1 => format!("{name}: {reasons}"),
            2 => format!("{name} (and 1 other pod): {reasons}"),
            more => format!("{name} (and {} other pods): {reasons}", more - 1),
        })
        .collect();
    pods.sort();
    warnings.extend(pods);
    warnings
}

impl Violations {
    /// Returns whether nothing is violated.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
