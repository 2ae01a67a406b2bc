//! Which Pods of a Job are made and which removed.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use super::super::TRACKING;
use super::super::backoff;
use super::super::failure::{judge, replaces_only_failed};
use super::super::indexes::{INDEX, index_of};
use super::{INDEX_FAILURES, INDEX_IGNORED_FAILURES, Plan, Sync, all_failures, failures_before};
use crate::controllers::pods;
use crate::controllers::work::Next;
use crate::object::{Object, map_of};

/// How many Pods are made or removed in one go, so that others get their turn.
const BURST: usize = 500;

/// The environment variable with a Pod's completion index.
const INDEX_VARIABLE: &str = "JOB_COMPLETION_INDEX";

/// The longest `generateName` whose end is kept.
const LONGEST_PREFIX: usize = 58;

/// Decides which Pods to make and to remove.
pub(super) fn manage(sync: &Sync<'_>, plan: &mut Plan, succeeded: i64, terminating: i64) {
    let active = i64::try_from(sync.active.len()).unwrap_or(i64::MAX);
    if sync.is_suspended() {
        plan.delete = sync.active.iter().map(|&pod| (pod.clone(), true)).collect();
        return;
    }
    let parallelism = sync.job["spec"]["parallelism"].as_i64().unwrap_or(1);
    let wanted = match sync.completions {
        None if succeeded > 0 => active,
        None => parallelism,
        Some(completions) => (completions - succeeded).clamp(0, parallelism.max(0)),
    };
    let surplus = usize::try_from(active - wanted).unwrap_or(0);
    let mut remove = to_remove(sync, surplus);
    remove.truncate(BURST);
    if !remove.is_empty() {
        plan.delete = remove.into_iter().map(|pod| (pod, true)).collect();
        return;
    }
    let waiting = if replaces_only_failed(sync.job) {
        terminating
    } else {
        0
    };
    let missing = usize::try_from(wanted - waiting - active).unwrap_or(0).min(BURST);
    if missing == 0 {
        return;
    }
    if sync.failed_indexes.is_none() {
        let left = plan.record.left(sync.now);
        if !left.is_zero() {
            plan.next = sooner(plan.next, left);
            return;
        }
    }
    if !sync.indexed {
        plan.create = vec![made_for(sync, None); missing];
        return;
    }
    let mut shortest = None;
    for index in pending_indexes(sync, missing) {
        let held = sync.held.get(&index).copied();
        let left = held.map_or(Duration::ZERO, |pod| {
            let failures = u32::try_from(all_failures(pod)).unwrap_or(u32::MAX);
            backoff::left_for_index(pod, failures, sync.now)
        });
        if left.is_zero() {
            plan.create.push(made_for(sync, Some(index)));
        } else {
            shortest = Some(shortest.map_or(left, |known: Duration| known.min(left)));
        }
    }
    if let Some(left) = shortest {
        plan.next = sooner(plan.next, left);
    }
}

fn sooner(next: Next, delay: Duration) -> Next {
    match next {
        Next::After(known) if known < delay => next,
        _ => Next::After(delay),
    }
}

fn to_remove(sync: &Sync<'_>, surplus: usize) -> Vec<Value> {
    let sorted = pods::by_removal(
        sync.active.iter().map(|&pod| pod.clone()).collect(),
        &|_| 0,
        sync.now,
    );
    if !sync.indexed {
        return sorted.into_iter().take(surplus).collect();
    }
    // Of two Pods with one index the one that is worth more stays.
    let mut kept: BTreeSet<i64> = BTreeSet::new();
    let (mut remove, mut left) = (Vec::new(), Vec::new());
    for pod in sorted.into_iter().rev() {
        match sync.valid_index(&pod) {
            Some(index) if kept.insert(index) => left.push(pod),
            _ => remove.push(pod),
        }
    }
    while remove.len() < surplus {
        let Some(pod) = left.pop() else { break };
        remove.push(pod);
    }
    remove
}

fn pending_indexes(sync: &Sync<'_>, count: usize) -> Vec<i64> {
    let mut taken: BTreeSet<i64> = sync.active.iter().filter_map(|pod| index_of(pod)).collect();
    if replaces_only_failed(sync.job) {
        taken.extend(
            sync.pods
                .iter()
                .filter(|pod| pods::is_terminating(pod))
                .filter_map(index_of),
        );
    }
    (0..sync.completions.unwrap_or(0))
        .filter(|index| {
            !taken.contains(index)
                && !sync.succeeded_indexes.contains(index)
                && !sync
                    .failed_indexes
                    .as_ref()
                    .is_some_and(|failed| failed.contains(index))
        })
        .take(count)
        .collect()
}

/// Returns the Pod of a Job, or of one of its indexes.
fn made_for(sync: &Sync<'_>, index: Option<i64>) -> Value {
    let job = sync.job;
    let mut pod = pods::from_template(&job["spec"]["template"], job);
    let finalizers = pod
        .metadata_mut()
        .entry("finalizers")
        .or_insert_with(|| json!([]));
    if let Value::Array(all) = finalizers
        && !all.iter().any(|one| one == TRACKING)
    {
        all.push(TRACKING.into());
    }
    let Some(index) = index else { return pod };
    let mut annotations = vec![(INDEX, index.to_string())];
    if sync.failed_indexes.is_some() {
        let held = sync.held.get(&index);
        let ignored = held.is_some_and(|pod| judge(job, pod).ignored);
        let before = |name: &str| held.map_or(0, |pod| failures_before(pod, name));
        let counted = before(INDEX_FAILURES) + i64::from(held.is_some() && !ignored);
        annotations.push((INDEX_FAILURES, counted.to_string()));
        let uncounted = before(INDEX_IGNORED_FAILURES) + i64::from(ignored);
        if uncounted > 0 {
            annotations.push((INDEX_IGNORED_FAILURES, uncounted.to_string()));
        }
    }
    let suffix = format!("-{index}-");
    let mut prefix = job.name().to_owned();
    prefix.truncate(LONGEST_PREFIX.saturating_sub(suffix.len()));
    let metadata = pod.metadata_mut();
    metadata.insert("generateName".into(), format!("{prefix}{suffix}").into());
    let labels = map_of(metadata.entry("labels").or_insert(Value::Null));
    labels.insert(INDEX.into(), index.to_string().into());
    let noted = map_of(metadata.entry("annotations").or_insert(Value::Null));
    for (name, value) in annotations {
        noted.insert(name.into(), value.into());
    }
    let spec = map_of(map_of(&mut pod).entry("spec").or_insert(Value::Null));
    spec.insert("hostname".into(), format!("{}-{index}", job.name()).into());
    for list in ["initContainers", "containers"] {
        if let Some(Value::Array(containers)) = spec.get_mut(list) {
            containers.iter_mut().for_each(add_index_variable);
        }
    }
    pod
}

fn add_index_variable(container: &mut Value) {
    let variables = map_of(container).entry("env").or_insert_with(|| json!([]));
    if let Value::Array(all) = variables
        && !all.iter().any(|one| one["name"] == INDEX_VARIABLE)
    {
        let path = format!("metadata.labels['{INDEX}']");
        all.push(json!({"name": INDEX_VARIABLE, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}}));
    }
}
