//! What a CronJob has to do now, as a pure function of it and its Jobs.

use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use super::schedule::Schedule;
use crate::controllers::conditions;
use crate::controllers::ownership::controller_reference;
use crate::controllers::work::Next;
use crate::events::Note;
use crate::object::{Object, map_of, timestamp};

/// The annotation of a Job with the time it was made for.
const SCHEDULED: &str = "batch.kubernetes.io/cronjob-scheduled-timestamp";

/// How many missed times are counted; when there are more, a warning says that something is wrong.
const MOST_MISSED: i64 = 100;

/// How long after a time the controller looks, so that it is over for sure.
const LATE: Duration = Duration::from_millis(100);

/// What has to be done.
#[derive(Debug)]
pub(super) struct Plan {
    /// The Job to make.
    pub(super) create: Option<Value>,
    /// The names of the Jobs to delete.
    pub(super) delete: Vec<String>,
    /// What to tell.
    pub(super) notes: Vec<Note>,
    /// The CronJob with its new status, but for the Job that is made.
    pub(super) cron: Value,
    /// When to look again.
    pub(super) next: Next,
}

fn finished(job: &Value) -> Option<&'static str> {
    ["Complete", "Failed"]
        .into_iter()
        .find(|kind| conditions::is_true(&job["status"], kind))
}

/// Decides what to do now.
pub(super) fn decide(cron: &Value, jobs: &[Value], now: Timestamp) -> Plan {
    let mut plan = Plan {
        create: None,
        delete: Vec::new(),
        notes: Vec::new(),
        cron: cron.clone(),
        next: Next::Wait,
    };
    clean_up(&mut plan, jobs);
    follow_active(&mut plan, jobs);
    if cron.is_being_deleted() || cron["spec"]["suspend"] == true {
        return plan;
    }
    start_due(&mut plan, jobs, now);
    plan
}

/// Removes finished Jobs beyond those that are kept.
fn clean_up(plan: &mut Plan, jobs: &[Value]) {
    for (kind, limit) in [
        ("Complete", "successfulJobsHistoryLimit"),
        ("Failed", "failedJobsHistoryLimit"),
    ] {
        let Some(limit) = plan.cron["spec"][limit].as_u64() else {
            continue;
        };
        let mut done: Vec<&Value> = jobs.iter().filter(|job| finished(job) == Some(kind)).collect();
        done.sort_by_key(|job| {
            let started = job["status"]["startTime"].as_str().unwrap_or_default().to_owned();
            (started, job.name().to_owned())
        });
        let surplus = done
            .len()
            .saturating_sub(usize::try_from(limit).unwrap_or(usize::MAX));
        plan.delete
            .extend(done.into_iter().take(surplus).map(|job| job.name().to_owned()));
    }
}

/// Takes Jobs that have finished, or are gone, from the list of those that run.
fn follow_active(plan: &mut Plan, jobs: &[Value]) {
    let mut active = plan.cron["status"]["active"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let is = |reference: &Value, job: &Value| reference["uid"].as_str() == Some(job.uid());
    let mut last_success = plan.cron["status"]["lastSuccessfulTime"]
        .as_str()
        .map(str::to_owned);
    for job in jobs {
        let listed = active.iter().any(|reference| is(reference, job));
        match finished(job) {
            None if !listed => {
                let text = format!(
                    "Saw a job that the controller did not create or forgot: {}",
                    job.name()
                );
                plan.notes.push(Note::warning("UnexpectedJob", text));
            }
            Some(kind) if listed => {
                active.retain(|reference| !is(reference, job));
                let text = format!("Saw completed job: {}, condition: {kind}", job.name());
                plan.notes.push(Note::normal("SawCompletedJob", text));
            }
            _ => {}
        }
        if let Some(at) = job["status"]["completionTime"].as_str()
            && finished(job) == Some("Complete")
            && last_success.as_deref().is_none_or(|known| known < at)
        {
            last_success = Some(at.to_owned());
        }
    }
    active.retain(|reference| {
        let present = jobs.iter().any(|job| is(reference, job));
        if !present {
            let name = reference["name"].as_str().unwrap_or_default();
            plan.notes.push(Note::normal(
                "MissingJob",
                format!("Active job went missing: {name}"),
            ));
        }
        present
    });
    let before = plan.cron["status"].as_object().cloned().unwrap_or_default();
    let mut status = before.clone();
    if active.is_empty() {
        status.remove("active");
    } else {
        status.insert("active".into(), active.into());
    }
    if let Some(last) = last_success {
        status.insert("lastSuccessfulTime".into(), last.into());
    }
    if status != before {
        map_of(&mut plan.cron).insert("status".into(), Value::Object(status));
    }
}

fn zone_of(cron: &Value) -> Result<TimeZone, Note> {
    let Some(name) = cron["spec"]["timeZone"].as_str() else {
        return Ok(TimeZone::UTC);
    };
    TimeZone::get(name).map_err(|_| {
        let text = format!("invalid timeZone: {name:?}: unknown time zone {name}");
        Note::warning("UnknownTimeZone", text)
    })
}

fn start_due(plan: &mut Plan, jobs: &[Value], now: Timestamp) {
    let cron = plan.cron.clone();
    let text = cron["spec"]["schedule"].as_str().unwrap_or_default();
    let read = zone_of(&cron).and_then(|zone| {
        let schedule = Schedule::read(text).map_err(|why| {
            let text = format!("unparseable schedule: {text:?} : {why}");
            Note::warning("UnparseableSchedule", text)
        })?;
        Ok((zone, schedule))
    });
    let (zone, schedule) = match read {
        Ok(read) => read,
        Err(note) => {
            plan.notes.push(note);
            return;
        }
    };
    plan.next = schedule.after(now, &zone).map_or(Next::Wait, |at| {
        Next::After(Duration::try_from(at.duration_since(now)).unwrap_or_default() + LATE)
    });
    let Some(due) = most_recent(plan, &schedule, &zone, now) else {
        return;
    };
    if let Some(seconds) = cron["spec"]["startingDeadlineSeconds"].as_i64()
        && due
            .checked_add(SignedDuration::from_secs(seconds))
            .is_ok_and(|latest| latest < now)
    {
        let at = due.strftime("%a, %d %b %Y %H:%M:%S +0000");
        let text = format!("Missed scheduled time to start a job: {at}");
        plan.notes.push(Note::warning("MissSchedule", text));
        return;
    }
    let job = made_for(&cron, due, &zone);
    let known = |name: &Value| name.as_str() == Some(job.name());
    let active = cron["status"]["active"].as_array().cloned().unwrap_or_default();
    let done = cron["status"]["lastScheduleTime"].as_str() == Some(&timestamp(due));
    if done || active.iter().any(|reference| known(&reference["name"])) {
        return;
    }
    match cron["spec"]["concurrencyPolicy"].as_str().unwrap_or_default() {
        "Forbid" if !active.is_empty() => {
            let text = "Not starting job because prior execution is running and concurrency policy is Forbid";
            plan.notes.push(Note::normal("JobAlreadyActive", text));
            return;
        }
        "Replace" => {
            let running = jobs
                .iter()
                .filter(|job| active.iter().any(|one| one["uid"].as_str() == Some(job.uid())));
            plan.delete.extend(running.map(|job| job.name().to_owned()));
            if let Some(status) = map_of(&mut plan.cron).get_mut("status") {
                map_of(status).remove("active");
            }
        }
        _ => {}
    }
    let status = map_of(map_of(&mut plan.cron).entry("status").or_insert(Value::Null));
    status.insert("lastScheduleTime".into(), timestamp(due).into());
    plan.create = Some(job);
}

/// Returns the last time that is over and wasn't looked at yet.
fn most_recent(plan: &mut Plan, schedule: &Schedule, zone: &TimeZone, now: Timestamp) -> Option<Timestamp> {
    let cron = &plan.cron;
    let last = cron["status"]["lastScheduleTime"].as_str();
    let mut earliest: Timestamp = last
        .unwrap_or_else(|| cron.metadata_text("creationTimestamp"))
        .parse()
        .ok()?;
    if let Some(seconds) = cron["spec"]["startingDeadlineSeconds"].as_i64()
        && let Ok(deadline) = now.checked_sub(SignedDuration::from_secs(seconds))
    {
        earliest = earliest.max(deadline);
    }
    let mut due = schedule.after(earliest, zone).filter(|&at| at <= now)?;
    let second = schedule.after(due, zone);
    let Some(second) = second.filter(|&at| at <= now) else {
        return Some(due);
    };
    // Far behind, most of the way is taken in one leap.
    let pause = second.duration_since(due).as_secs().max(1);
    let missed = now.duration_since(due).as_secs() / pause + 1;
    if missed > MOST_MISSED {
        let text =
            "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew";
        plan.notes.push(Note::warning("TooManyMissedTimes", text));
    }
    let leap = SignedDuration::from_secs((missed - 2).max(0).saturating_mul(pause));
    if let Some(near) = due
        .checked_add(leap)
        .ok()
        .and_then(|at| at.checked_sub(SignedDuration::from_secs(pause)).ok())
        .and_then(|at| schedule.after(at, zone))
        .filter(|&at| at <= now && at > due)
    {
        due = near;
    }
    while let Some(next) = schedule.after(due, zone).filter(|&at| at <= now) {
        due = next;
    }
    Some(due)
}

fn made_for(cron: &Value, due: Timestamp, zone: &TimeZone) -> Value {
    let template = &cron["spec"]["jobTemplate"];
    let part = |name: &str| template["metadata"][name].as_object().cloned();
    let mut metadata = Map::new();
    let minutes = due.as_second().div_euclid(60);
    metadata.insert("name".into(), format!("{}-{minutes}", cron.name()).into());
    metadata.insert("namespace".into(), cron.namespace().into());
    if let Some(labels) = part("labels") {
        metadata.insert("labels".into(), Value::Object(labels));
    }
    let mut annotations = part("annotations").unwrap_or_default();
    let local = due.to_zoned(zone.clone());
    let scheduled = if *zone == TimeZone::UTC {
        timestamp(due)
    } else {
        local.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
    };
    annotations.insert(SCHEDULED.into(), scheduled.into());
    metadata.insert("annotations".into(), Value::Object(annotations));
    metadata.insert("ownerReferences".into(), json!([controller_reference(cron)]));
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": template["spec"]})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cron(spec: Value) -> Value {
        let mut cron = json!({"apiVersion": "batch/v1", "kind": "CronJob",
            "metadata": {"name": "c", "namespace": "n", "uid": "u", "creationTimestamp": "2026-01-01T00:00:30Z"},
            "spec": {"schedule": "*/5 * * * *", "concurrencyPolicy": "Allow", "successfulJobsHistoryLimit": 1,
                "failedJobsHistoryLimit": 1, "jobTemplate": {"metadata": {"labels": {"a": "b"}}, "spec": {"x": 1}}}});
        for (name, value) in spec.as_object().cloned().unwrap_or_default() {
            cron["spec"][name] = value;
        }
        cron
    }

    fn job(name: &str, finished: Option<&str>) -> Value {
        let mut job =
            json!({"kind": "Job", "metadata": {"name": name, "uid": name}, "status": {"startTime": name}});
        if let Some(kind) = finished {
            job["status"]["conditions"] = json!([{"type": kind, "status": "True"}]);
            job["status"]["completionTime"] = "2026-01-01T00:01:00Z".into();
        }
        job
    }

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a time")
    }

    fn reasons(plan: &Plan) -> Vec<&str> {
        plan.notes.iter().map(|note| note.reason).collect()
    }

    #[test]
    fn a_job_is_made_when_it_is_time() {
        let early = decide(&cron(json!({})), &[], at("2026-01-01T00:04:00Z"));
        assert!(early.create.is_none());
        assert_eq!(early.next, Next::After(Duration::from_millis(60_100)));
        let plan = decide(&cron(json!({})), &[], at("2026-01-01T00:05:00.2Z"));
        let made = plan.create.expect("a job");
        assert_eq!(made.name(), "c-29453765");
        assert_eq!(made.annotation(SCHEDULED), Some("2026-01-01T00:05:00Z"));
        assert_eq!(made["spec"], json!({"x": 1}));
        assert_eq!(plan.cron["status"]["lastScheduleTime"], "2026-01-01T00:05:00Z");
        let again = decide(&plan.cron, &[], at("2026-01-01T00:05:01Z"));
        assert!(again.create.is_none());
    }

    #[test]
    fn of_many_missed_times_the_last_one_counts() {
        let plan = decide(&cron(json!({})), &[], at("2026-01-02T00:03:00Z"));
        assert_eq!(
            plan.create.expect("a job").annotation(SCHEDULED),
            Some("2026-01-02T00:00:00Z")
        );
        assert_eq!(
            reasons(&plan_of(json!({}), "2026-01-02T00:03:00Z")),
            ["TooManyMissedTimes"]
        );
        let late = plan_of(json!({"startingDeadlineSeconds": 60}), "2026-01-02T00:03:00Z");
        assert!(late.create.is_none());
        let paused = plan_of(json!({"suspend": true}), "2026-01-02T00:03:00Z");
        assert!(paused.create.is_none() && paused.next == Next::Wait);
    }

    fn plan_of(spec: Value, now: &str) -> Plan {
        decide(&cron(spec), &[], at(now))
    }

    #[test]
    fn what_runs_decides_with_the_policy() {
        let running = |policy: &str| {
            let mut cron = cron(json!({"concurrencyPolicy": policy}));
            cron["status"] = json!({"active": [{"name": "old", "uid": "old"}]});
            decide(&cron, &[job("old", None)], at("2026-01-01T00:05:01Z"))
        };
        assert!(running("Allow").create.is_some());
        let forbidden = running("Forbid");
        assert!(forbidden.create.is_none());
        assert_eq!(reasons(&forbidden), ["JobAlreadyActive"]);
        let replaced = running("Replace");
        assert_eq!(replaced.delete, ["old"]);
        assert!(replaced.create.is_some() && replaced.cron["status"].get("active").is_none());
    }

    #[test]
    fn finished_jobs_are_kept_as_far_as_the_history_goes() {
        let mut cron = cron(json!({"suspend": true}));
        cron["status"] = json!({"active": [{"name": "s2", "uid": "s2"}, {"name": "gone", "uid": "gone"}]});
        let jobs = [
            job("s2", Some("Complete")),
            job("s1", Some("Complete")),
            job("f1", Some("Failed")),
            job("r1", None),
        ];
        let plan = decide(&cron, &jobs, at("2026-01-01T00:05:01Z"));
        assert_eq!(plan.delete, ["s1"]);
        assert_eq!(reasons(&plan), ["SawCompletedJob", "UnexpectedJob", "MissingJob"]);
        assert_eq!(
            plan.cron["status"],
            json!({"lastSuccessfulTime": "2026-01-01T00:01:00Z"})
        );
    }

    #[test]
    fn a_time_zone_moves_the_times() {
        let spec = json!({"schedule": "0 9 * * *", "timeZone": "Europe/Berlin"});
        let plan = plan_of(spec, "2026-01-01T08:00:01Z");
        assert_eq!(
            plan.create.expect("a job").annotation(SCHEDULED),
            Some("2026-01-01T09:00:00+01:00")
        );
        let unknown = plan_of(json!({"timeZone": "Nowhere/Land"}), "2026-01-01T08:00:01Z");
        assert_eq!(reasons(&unknown), ["UnknownTimeZone"]);
    }
}
