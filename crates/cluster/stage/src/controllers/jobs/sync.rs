//! The next step of a Job, as a pure function of the Job and its Pods.
//!
//! - [`parallelism`]: which Pods are made and which removed

mod parallelism;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::TRACKING;
use super::backoff::Record;
use super::failure::{is_failed, judge, success_rule_met};
use super::indexes::{self, index_of};
use crate::controllers::conditions::{self, set_count};
use crate::controllers::pods;
use crate::controllers::work::Next;
use crate::events::Note;
use crate::object::{Object, map_of, timestamp};

/// The annotation with how often an index failed before.
const INDEX_FAILURES: &str = "batch.kubernetes.io/job-index-failure-count";

/// The annotation with how often an index failed in a way that doesn't count.
const INDEX_IGNORED_FAILURES: &str = "batch.kubernetes.io/job-index-ignored-failure-count";

/// What has to be done, in this order.
#[derive(Debug)]
pub(super) struct Plan {
    /// The Pods to delete; whether each loses the finalizer first.
    pub(super) delete: Vec<(Value, bool)>,
    /// The Pods to make.
    pub(super) create: Vec<Value>,
    /// The Job with the ended Pods noted, but not counted yet.
    pub(super) noted: Value,
    /// The Pods that lose the finalizer, now that they are noted.
    pub(super) release: Vec<Value>,
    /// The Job with the ended Pods counted, and finished where it is.
    pub(super) counted: Value,
    /// What to tell.
    pub(super) notes: Vec<Note>,
    /// What to tell when the Job is finished.
    pub(super) finished_notes: Vec<Note>,
    /// The failures since the last success.
    pub(super) record: Record,
    /// When to look again.
    pub(super) next: Next,
}

/// A condition that ends the Job.
#[derive(Debug, Clone)]
struct End {
    succeeds: bool,
    reason: String,
    message: String,
}

impl End {
    fn new(succeeds: bool, reason: &str, message: &str) -> Self {
        Self {
            succeeds,
            reason: reason.to_owned(),
            message: message.to_owned(),
        }
    }

    /// What the Job says before the last of its Pods is gone.
    fn first(&self) -> &'static str {
        if self.succeeds {
            "SuccessCriteriaMet"
        } else {
            "FailureTarget"
        }
    }

    fn last(&self) -> &'static str {
        if self.succeeds { "Complete" } else { "Failed" }
    }
}

/// Returns whether a Job is finished.
pub(super) fn is_finished(job: &Value) -> bool {
    conditions::is_true(&job["status"], "Complete") || conditions::is_true(&job["status"], "Failed")
}

fn is_tracked(pod: &Value) -> bool {
    pod.finalizers().contains(&TRACKING)
}

fn uids(list: &Value) -> Vec<&str> {
    list.as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

/// A Job and its Pods, as they are looked at.
struct Sync<'a> {
    job: &'a Value,
    pods: &'a [Value],
    active: Vec<&'a Value>,
    now: Timestamp,
    completions: Option<i64>,
    indexed: bool,
    succeeded_indexes: BTreeSet<i64>,
    failed_indexes: Option<BTreeSet<i64>>,
    /// The failed Pods which stay until their index is tried again, as they know how often it failed.
    held: BTreeMap<i64, &'a Value>,
}

impl<'a> Sync<'a> {
    fn new(job: &'a Value, pods: &'a [Value], now: Timestamp) -> Self {
        let completions = job["spec"]["completions"].as_i64();
        let mut sync = Self {
            job,
            pods,
            active: pods.iter().filter(|pod| pods::is_active(pod)).collect(),
            now,
            completions,
            indexed: job["spec"]["completionMode"] == "Indexed",
            succeeded_indexes: BTreeSet::new(),
            failed_indexes: None,
            held: BTreeMap::new(),
        };
        if sync.indexed {
            sync.read_indexes();
        }
        sync
    }

    fn valid_index(&self, pod: &Value) -> Option<i64> {
        index_of(pod).filter(|&index| index < self.completions.unwrap_or(0))
    }

    fn read_indexes(&mut self) {
        let completions = self.completions.unwrap_or(0);
        let status = &self.job["status"];
        let known = status["completedIndexes"].as_str().unwrap_or_default();
        self.succeeded_indexes = indexes::read(known, completions);
        for pod in self.pods {
            if pods::phase(pod) == "Succeeded"
                && is_tracked(pod)
                && let Some(index) = self.valid_index(pod)
            {
                self.succeeded_indexes.insert(index);
            }
        }
        let Some(limit) = self.job["spec"]["backoffLimitPerIndex"].as_i64() else {
            return;
        };
        let known = status["failedIndexes"].as_str().unwrap_or_default();
        let mut failed = indexes::read(known, completions);
        for pod in self
            .pods
            .iter()
            .filter(|pod| is_tracked(pod) && is_failed(pod, self.job))
        {
            let Some(index) = self.valid_index(pod) else {
                continue;
            };
            let verdict = judge(self.job, pod);
            let spent = verdict.counts && failures_before(pod, INDEX_FAILURES) >= limit;
            if verdict.fails_index || spent {
                failed.insert(index);
            }
        }
        let active: BTreeSet<i64> = self.active.iter().filter_map(|pod| index_of(pod)).collect();
        for pod in self
            .pods
            .iter()
            .filter(|pod| is_tracked(pod) && is_failed(pod, self.job))
        {
            let Some(index) = self.valid_index(pod) else {
                continue;
            };
            let settled =
                self.succeeded_indexes.contains(&index) || failed.contains(&index) || active.contains(&index);
            let later = |held: &&Value| all_failures(pod) >= all_failures(held);
            if !settled && self.held.get(&index).is_none_or(later) {
                self.held.insert(index, pod);
            }
        }
        self.failed_indexes = Some(failed);
    }

    fn is_suspended(&self) -> bool {
        self.job["spec"]["suspend"] == true
    }
}

fn failures_before(pod: &Value, annotation: &str) -> i64 {
    pod.annotation(annotation)
        .and_then(|text| text.parse().ok())
        .unwrap_or(0)
}

fn all_failures(pod: &Value) -> i64 {
    failures_before(pod, INDEX_FAILURES).saturating_add(failures_before(pod, INDEX_IGNORED_FAILURES))
}

/// Decides the next step of a Job that isn't finished.
pub(super) fn decide(job: &Value, pods: &[Value], record: Record, now: Timestamp) -> Plan {
    let sync = Sync::new(job, pods, now);
    let mut noted = job.clone();
    let status = map_of(map_of(&mut noted).entry("status").or_insert(Value::Null));
    status
        .entry("uncountedTerminatedPods")
        .or_insert_with(|| json!({}));
    if !sync.is_suspended() && !status.contains_key("startTime") {
        status.insert("startTime".into(), timestamp(now).into());
    }

    let before = &job["status"];
    let uncounted = &before["uncountedTerminatedPods"];
    let (known_good, known_bad) = (uids(&uncounted["succeeded"]), uids(&uncounted["failed"]));
    let is_new = |pod: &&Value, known: &[&str]| {
        is_tracked(pod) && !known.contains(&pod.uid()) && (!sync.indexed || sync.valid_index(pod).is_some())
    };
    let newly_good: Vec<&Value> = pods
        .iter()
        .filter(|pod| pods::phase(pod) == "Succeeded" && is_new(pod, &known_good))
        .collect();
    let newly_bad: Vec<&Value> = pods
        .iter()
        .filter(|pod| is_failed(pod, job) && is_new(pod, &known_bad))
        .collect();
    let count = |name: &str| before[name].as_i64().unwrap_or(0);
    let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    let mut succeeded = count("succeeded") + number(newly_good.len()) + number(known_good.len());
    if sync.indexed {
        succeeded = number(sync.succeeded_indexes.len());
    }
    let counting = newly_bad.iter().filter(|pod| judge(job, pod).counts).count();
    let failed = count("failed") + number(counting) + number(known_bad.len());
    let record_after = record.after(&newly_good, &newly_bad);

    let mut plan = Plan {
        delete: Vec::new(),
        create: Vec::new(),
        noted,
        release: Vec::new(),
        counted: Value::Null,
        notes: Vec::new(),
        finished_notes: Vec::new(),
        record: record_after,
        next: Next::Wait,
    };
    let mut ready = number(sync.active.iter().filter(|pod| pods::is_ready(pod)).count());
    let mut terminating = number(pods.iter().filter(|pod| pods::is_terminating(pod)).count());
    let mut active = number(sync.active.len());
    let mut end = why_ended(&sync, failed, &plan.noted, &mut plan.next);
    if end.is_some() {
        plan.delete = sync.active.iter().map(|&pod| (pod.clone(), false)).collect();
    } else if !job.is_being_deleted() {
        parallelism::manage(&sync, &mut plan, succeeded, terminating);
        active += number(plan.create.len());
    }
    active -= number(plan.delete.len());
    terminating += number(plan.delete.len());
    ready -= number(plan.delete.iter().filter(|(pod, _)| pods::is_ready(pod)).count());
    if end.is_none() {
        let complete = match sync.completions {
            None => succeeded > 0 && active == 0,
            Some(completions) => succeeded >= completions && active == 0,
        };
        if complete {
            end = Some(End::new(
                true,
                "CompletionsReached",
                "Reached expected number of succeeded pods",
            ));
        } else if !job.is_being_deleted() {
            note_suspension(&sync, &mut plan);
        }
    }
    let status = map_of(&mut map_of(&mut plan.noted)["status"]);
    set_count(status, "active", active);
    status.insert("ready".into(), ready.into());
    status.insert("terminating".into(), terminating.into());
    note_ended(&sync, &mut plan, end.as_ref());
    if let Some(end) = &end {
        let status = &mut map_of(&mut plan.noted)["status"];
        if !conditions::is_true(status, end.first()) {
            conditions::put(
                status,
                condition(end.first(), "True", &end.reason, &end.message, now),
            );
        }
    }
    count_ended(&sync, &mut plan, end.as_ref(), terminating);
    plan
}

fn condition(kind: &str, status: &str, reason: &str, message: &str, now: Timestamp) -> Value {
    let now = timestamp(now);
    json!({"type": kind, "status": status, "reason": reason, "message": message, "lastProbeTime": now,
        "lastTransitionTime": now})
}

/// Returns why the Job ends now, or when to look again at its deadline.
fn why_ended(sync: &Sync<'_>, failed: i64, noted: &Value, next: &mut Next) -> Option<End> {
    let (job, spec) = (sync.job, &sync.job["spec"]);
    for (kind, succeeds) in [("SuccessCriteriaMet", true), ("FailureTarget", false)] {
        if let Some(found) = conditions::find(&job["status"], kind).filter(|one| one["status"] == "True") {
            let text = |name: &str| found[name].as_str().unwrap_or_default();
            return Some(End::new(succeeds, text("reason"), text("message")));
        }
    }
    let failures = sync.pods.iter().filter(|pod| is_failed(pod, job));
    if let Some(message) = failures.into_iter().find_map(|pod| judge(job, pod).fails_job) {
        return Some(End::new(false, "PodFailurePolicy", &message));
    }
    let limit = spec["backoffLimit"].as_i64().unwrap_or(6);
    if failed > limit || restarts_exceed(sync, limit) {
        let message = "Job has reached the specified backoff limit";
        return Some(End::new(false, "BackoffLimitExceeded", message));
    }
    if let Some(seconds) = spec["activeDeadlineSeconds"].as_i64()
        && !sync.is_suspended()
    {
        let started: Timestamp = noted["status"]["startTime"]
            .as_str()
            .and_then(|text| text.parse().ok())
            .unwrap_or(sync.now);
        let left = SignedDuration::from_secs(seconds) - sync.now.duration_since(started);
        if left <= SignedDuration::ZERO {
            let message = "Job was active longer than specified deadline";
            return Some(End::new(false, "DeadlineExceeded", message));
        }
        *next = Next::After(Duration::try_from(left).unwrap_or_default());
    }
    if !sync.indexed {
        return None;
    }
    if let Some(failed) = &sync.failed_indexes {
        let most = spec["maxFailedIndexes"]
            .as_u64()
            .and_then(|most| usize::try_from(most).ok());
        if most.is_some_and(|most| failed.len() > most) {
            let message = "Job has exceeded the specified maximal number of failed indexes";
            return Some(End::new(false, "MaxFailedIndexesExceeded", message));
        }
        let settled = i64::try_from(failed.len() + sync.succeeded_indexes.len()).unwrap_or(i64::MAX);
        if !failed.is_empty() && settled >= sync.completions.unwrap_or(0) {
            return Some(End::new(false, "FailedIndexes", "Job has failed indexes"));
        }
    }
    let message = success_rule_met(job, &sync.succeeded_indexes)?;
    Some(End::new(true, "SuccessPolicy", &message))
}

/// Returns whether containers were restarted too often in Pods that restart them themselves.
fn restarts_exceed(sync: &Sync<'_>, limit: i64) -> bool {
    if sync.job["spec"]["template"]["spec"]["restartPolicy"] != "OnFailure" {
        return false;
    }
    let restarts: i64 = sync
        .pods
        .iter()
        .filter(|pod| matches!(pods::phase(pod), "Running" | "Pending"))
        .flat_map(|pod| ["initContainerStatuses", "containerStatuses"].map(|list| &pod["status"][list]))
        .flat_map(|list| list.as_array().into_iter().flatten())
        .filter_map(|status| status["restartCount"].as_i64())
        .sum();
    if limit == 0 {
        restarts > 0
    } else {
        restarts >= limit
    }
}

fn note_suspension(sync: &Sync<'_>, plan: &mut Plan) {
    let (status, reason, message, event) = if sync.is_suspended() {
        ("True", "JobSuspended", "Job suspended", "Suspended")
    } else {
        ("False", "JobResumed", "Job resumed", "Resumed")
    };
    let found = conditions::find(&sync.job["status"], "Suspended");
    let news = match found {
        Some(one) => one["status"] != status,
        None => status == "True",
    };
    if !news {
        return;
    }
    let built = condition("Suspended", status, reason, message, sync.now);
    let state = map_of(&mut map_of(&mut plan.noted)["status"]);
    let conditions = state.entry("conditions").or_insert_with(|| json!([]));
    if let Value::Array(all) = conditions {
        match all.iter_mut().find(|one| one["type"] == "Suspended") {
            Some(one) => *one = built,
            None => all.push(built),
        }
    }
    if status == "True" {
        state.remove("startTime");
    } else {
        state.insert("startTime".into(), timestamp(sync.now).into());
    }
    plan.notes.push(Note::normal(event, message));
}

/// Notes the Pods that have ended in the status, so that none is counted twice or not at all.
fn note_ended(sync: &Sync<'_>, plan: &mut Plan, end: Option<&End>) {
    let job = sync.job;
    let before = &job["status"]["uncountedTerminatedPods"];
    let mut good: Vec<String> = uids(&before["succeeded"])
        .into_iter()
        .map(str::to_owned)
        .collect();
    let mut bad: Vec<String> = uids(&before["failed"]).into_iter().map(str::to_owned).collect();
    let releasing: BTreeSet<&str> = plan
        .delete
        .iter()
        .filter(|(_, releases)| *releases)
        .map(|(pod, _)| pod.uid())
        .collect();
    for pod in sync
        .pods
        .iter()
        .filter(|pod| is_tracked(pod) && !releasing.contains(pod.uid()))
    {
        let considered_failed = is_failed(pod, job);
        let succeeded = pods::phase(pod) == "Succeeded";
        let held = index_of(pod).is_some_and(|index| {
            sync.held.get(&index).is_some_and(|held| held.uid() == pod.uid())
                && !plan.create.iter().any(|made| index_of(made) == Some(index))
        });
        let may_go = job.is_being_deleted() || end.is_some() || succeeded || (considered_failed && !held);
        if !may_go {
            continue;
        }
        plan.release.push(pod.clone());
        let uid = pod.uid().to_owned();
        if succeeded && !bad.contains(&uid) {
            if !sync.indexed && !good.contains(&uid) {
                good.push(uid);
            }
        } else if (considered_failed || end.is_some_and(|end| !end.succeeds))
            && !bad.contains(&uid)
            && (!sync.indexed || sync.valid_index(pod).is_some())
            && judge(job, pod).counts
        {
            bad.push(uid);
        }
    }
    let status = map_of(&mut map_of(&mut plan.noted)["status"]);
    let mut uncounted = json!({});
    for (name, list) in [("succeeded", good), ("failed", bad)] {
        if !list.is_empty() {
            map_of(&mut uncounted).insert(name.into(), list.into());
        }
    }
    status.insert("uncountedTerminatedPods".into(), uncounted);
    if sync.indexed {
        let done = indexes::write(&sync.succeeded_indexes);
        set_count(
            status,
            "succeeded",
            i64::try_from(sync.succeeded_indexes.len()).unwrap_or(i64::MAX),
        );
        if done.is_empty() {
            status.remove("completedIndexes");
        } else {
            status.insert("completedIndexes".into(), done.into());
        }
        if let Some(failed) = &sync.failed_indexes {
            status.insert("failedIndexes".into(), indexes::write(failed).into());
        }
    }
}

/// Counts the Pods that were noted, and finishes the Job once nothing of it is left.
fn count_ended(sync: &Sync<'_>, plan: &mut Plan, end: Option<&End>, terminating: i64) {
    let mut counted = plan.noted.clone();
    let state = &mut map_of(&mut counted)["status"];
    for name in ["succeeded", "failed"] {
        let more = uids(&state["uncountedTerminatedPods"][name]).len();
        let before = state[name].as_i64().unwrap_or(0);
        let after = before.saturating_add(i64::try_from(more).unwrap_or(i64::MAX));
        set_count(map_of(state), name, after);
    }
    map_of(state).insert("uncountedTerminatedPods".into(), json!({}));
    if let Some(end) = end
        && terminating == 0
    {
        let finished = condition(end.last(), "True", &end.reason, &end.message, sync.now);
        conditions::put(state, finished);
        if end.succeeds {
            map_of(state).insert("completionTime".into(), timestamp(sync.now).into());
            let completions = sync.completions.unwrap_or(i64::MAX);
            if state["succeeded"].as_i64().unwrap_or(0) > completions {
                let text = "Too many succeeded pods running after completion count reached";
                plan.finished_notes
                    .push(Note::warning("TooManySucceededPods", text));
            }
            plan.finished_notes
                .push(Note::normal("Completed", "Job completed"));
        } else {
            plan.finished_notes
                .push(Note::warning(static_reason(&end.reason), &*end.message));
        }
    }
    plan.counted = counted;
}

/// Returns the reason of a failure as the event has it.
fn static_reason(reason: &str) -> &'static str {
    const KNOWN: &[&str] = &[
        "PodFailurePolicy",
        "BackoffLimitExceeded",
        "DeadlineExceeded",
        "MaxFailedIndexesExceeded",
        "FailedIndexes",
    ];
    KNOWN
        .iter()
        .find(|&&known| known == reason)
        .copied()
        .unwrap_or("Failed")
}

#[cfg(test)]
mod tests;
