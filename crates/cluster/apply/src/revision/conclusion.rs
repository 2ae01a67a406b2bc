//! What is said of a revision in the end: its conditions, and when to look again.

use std::time::Duration;

use api::cluster_object_set::ClusterObjectSetStatus;
use api::condition::{self, Condition, Statement};
use api::{ClusterObjectSet, ConditionStatus, keys};
use jiff::{SignedDuration, Timestamp};

use super::report::{PhaseReport, Rollout, Standing};
use crate::deadline;
use crate::probes::ProbeStatus;

/// How long to wait before something is tried again that somebody must change first.
const RETRY: Duration = Duration::from_secs(10);

/// How long to wait for objects to go.
const TEARDOWN_RETRY: Duration = Duration::from_secs(5);

/// How often it is looked whether custom resources and pods are gone: who deletes an extension waits for it.
const FAREWELL_RETRY: Duration = Duration::from_secs(1);

/// How it is said that objects of a phase belong to others, before the number of the phase and the objects.
const COLLISIONS: &str = "revision object collisions in phase";

/// Returns whether a revision says that objects of it belong to others.
pub fn collides(conditions: &[Condition]) -> bool {
    // When its time is over, it says that as well.
    condition::find(conditions, "Progressing").is_some_and(|said| said.message.contains(COLLISIONS))
}

/// What is said of a revision, and what follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conclusion {
    /// The status to write.
    pub status: ClusterObjectSetStatus,
    /// When to look again; none to wait until something changes.
    pub after: Option<Duration>,
    /// What failed, so that it is tried again with growing patience.
    pub failure: Option<String>,
    /// Whether the revision may go: its finalizer is removed.
    pub release: bool,
}

/// Where a revision stands before anything new is said of it.
#[derive(Debug, Clone)]
pub struct Speaker<'a> {
    set: &'a ClusterObjectSet,
    status: ClusterObjectSetStatus,
    now: Timestamp,
    remaining: Option<SignedDuration>,
}

impl<'a> Speaker<'a> {
    /// Begins with what was said before.
    pub fn new(set: &'a ClusterObjectSet, now: Timestamp) -> Self {
        Self {
            set,
            status: set.status.clone(),
            now,
            remaining: deadline::remaining(set, now),
        }
    }

    /// Notes what the phases held when they were first looked at.
    pub fn noting(mut self, digests: &[api::cluster_object_set::ObservedPhase]) -> Self {
        if self.status.observed_phases.is_empty() {
            self.status.observed_phases = digests.to_vec();
        }
        self
    }

    /// Somebody must change something before the revision is tried again; nothing tells when that is done.
    pub fn blocked(mut self, message: &str) -> Conclusion {
        self.say("Progressing", ConditionStatus::False, "Blocked", message);
        Conclusion {
            after: Some(RETRY),
            ..self.done()
        }
    }

    /// Something failed that may work next time; `doing` says what was tried.
    pub fn failed(mut self, doing: &str, message: &str) -> Conclusion {
        self.retrying(message);
        Conclusion {
            failure: Some(format!("{doing}: {message}")),
            ..self.done()
        }
    }

    /// The phases were tried; this is how far they came.
    pub fn rolled_out(mut self, rollout: &Rollout) -> Conclusion {
        if let Some(message) = obstacle(rollout) {
            self.retrying(&message);
            return Conclusion {
                after: Some(RETRY),
                ..self.done()
            };
        }
        let version = self.set.metadata.annotations.as_ref();
        let version = version
            .and_then(|annotations| annotations.get(keys::BUNDLE_VERSION))
            .map_or("", String::as_str)
            .to_owned();
        if rollout.complete {
            self.progressing("Succeeded", &format!("Revision {version} has rolled out."));
            self.say(
                "Available",
                ConditionStatus::True,
                "ProbesSucceeded",
                "Objects are available and pass all probes.",
            );
            self.say(
                "Succeeded",
                ConditionStatus::True,
                "Succeeded",
                "Revision succeeded rolling out.",
            );
            return self.done();
        }
        let rolling = format!("Revision {version} is rolling out.");
        let failing: Vec<String> = rollout.phases.iter().filter_map(failing_probe).collect();
        if failing.is_empty() {
            self.say("Available", ConditionStatus::False, "RollingOut", &rolling);
        } else {
            self.say(
                "Available",
                ConditionStatus::False,
                "ProbeFailure",
                &failing.join("\n"),
            );
        }
        self.progressing("RollingOut", &rolling);
        let after = self.remaining.filter(SignedDuration::is_positive);
        Conclusion {
            after: after.map(SignedDuration::unsigned_abs),
            ..self.done()
        }
    }

    /// The revision's objects are on their way out.
    pub fn tearing_down(mut self) -> Conclusion {
        self.retrying("removing revision resources that are not owned by another revision");
        Conclusion {
            after: Some(TEARDOWN_RETRY),
            ..self.done()
        }
    }

    /// Definitions are on their way out, and the operator with them once its custom resources are gone.
    pub fn waiting_for_custom_resources(self, definitions: &[&str]) -> Conclusion {
        let message = format!(
            "waiting until the custom resources of {} are gone: the operator may have to let go of them",
            definitions.join(", ")
        );
        self.saying_farewell(&message)
    }

    /// Workloads are on their way out, and the rest with them once their pods are gone.
    pub fn waiting_for_pods(self, workloads: &[&str]) -> Conclusion {
        let message = format!(
            "waiting until the pods of {} are gone: they may need their rights until then",
            workloads.join(", ")
        );
        self.saying_farewell(&message)
    }

    fn saying_farewell(mut self, message: &str) -> Conclusion {
        self.retrying(message);
        Conclusion {
            after: Some(FAREWELL_RETRY),
            ..self.done()
        }
    }

    /// An object would not go.
    pub fn teardown_failed(mut self, message: &str) -> Conclusion {
        let message = format!("error archiving revision: {message}");
        self.retrying(&message);
        Conclusion {
            failure: Some(message),
            ..self.done()
        }
    }

    /// The revision has no object left.
    pub fn archived(mut self) -> Conclusion {
        let message = "revision is archived";
        self.say("Progressing", ConditionStatus::False, "Archived", message);
        self.say("Available", ConditionStatus::Unknown, "Archived", message);
        Conclusion {
            release: true,
            ..self.done()
        }
    }

    /// The revision is deleted: nothing is said any more.
    pub fn deleted(self) -> Conclusion {
        Conclusion {
            release: true,
            ..self.done()
        }
    }

    fn retrying(&mut self, message: &str) {
        self.progressing("Retrying", message);
        if condition::find(&self.status.conditions, "Available").is_some() {
            self.say("Available", ConditionStatus::Unknown, "Reconciling", message);
        }
    }

    /// Says that the revision goes on, unless its time is over and it hasn't succeeded.
    fn progressing(&mut self, reason: &str, message: &str) {
        let is_over = self.remaining.is_some_and(|time| !time.is_positive());
        if is_over && reason != "Succeeded" {
            let minutes = self.set.spec.progress_deadline_minutes.unwrap_or_default();
            let message =
                format!("Revision has not rolled out for {minutes} minute(s). Last status: {message}");
            self.say(
                "Progressing",
                ConditionStatus::False,
                "ProgressDeadlineExceeded",
                &message,
            );
        } else {
            self.say("Progressing", ConditionStatus::True, reason, message);
        }
    }

    fn say(&mut self, kind: &'static str, status: ConditionStatus, reason: &str, message: &str) {
        condition::set(
            &mut self.status.conditions,
            Statement::new(kind, status, reason, message),
            self.set.generation(),
            self.now,
        );
    }

    fn done(&self) -> Conclusion {
        Conclusion {
            status: self.status.clone(),
            after: None,
            failure: None,
            release: false,
        }
    }
}

/// Says why a rollout can't go on before somebody changes something.
fn obstacle(rollout: &Rollout) -> Option<String> {
    if let Some(problem) = &rollout.problem {
        return Some(format!("revision validation error: {problem}"));
    }
    rollout.phases.iter().enumerate().find_map(|(index, phase)| {
        if let Some(problem) = &phase.problem {
            return Some(format!("phase {index} validation error: {problem}"));
        }
        let collisions: Vec<String> = phase
            .objects
            .iter()
            .filter_map(|object| match &object.standing {
                Standing::Collision(collision) => Some(collision.message()),
                _ => None,
            })
            .collect();
        (!collisions.is_empty()).then(|| format!("{COLLISIONS} {index}\n{}", collisions.join("\n\n")))
    })
}

/// Says which object a phase waits for first, in upstream's words, and then why, as its pods tell it; none if it waits for
/// none.
fn failing_probe(phase: &PhaseReport) -> Option<String> {
    let object = phase
        .objects
        .iter()
        .find(|object| object.probe.status != ProbeStatus::True)?;
    let mut words = format!(
        "Object {}: {}",
        object.id.in_conditions(),
        object.probe.messages.join(" and ")
    );
    if let Some(trouble) = &object.trouble {
        words.push_str("; ");
        words.push_str(trouble);
    }
    Some(words)
}
