//! A revision: what is to be done next about one `ClusterObjectSet`.
//!
//! [`decide`] looks at what is known and says the next step; whoever acts notes the outcome in the [`Snapshot`] and asks
//! again, until the step is a conclusion. Phases go in their order: the next begins when the objects of the one before
//! pass their probes. A revision that is archived lets go of its objects in reverse order, and waits for the pods of workloads
//! before it takes what they need, such as their rights.

pub mod conclusion;
mod removal;
pub mod report;

use api::ClusterObjectSet;
use api::cluster_object_set::LifecycleState;
use api::keys;
use jiff::Timestamp;
use serde_json::Value;

use crate::collision::{self, Action, Claimant};
use crate::content::{Content, ContentError, ContentPhase, owner_of};
use crate::desired;
use crate::digests;
use crate::owners::Owner;
use crate::probes::{ProbeResult, ProbeStatus};
use crate::served;
use crate::teardown::{Parting, Survivors};
use crate::validation::{PhaseProblem, problem_of_revision};
use conclusion::{Conclusion, Speaker};
use removal::{let_go, say_farewell};
use report::{ObjectReport, PhaseReport, Rollout, Standing};

/// Everything that is known of a revision when the next step is decided.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The revision.
    pub set: ClusterObjectSet,
    /// The revisions that carry the same extension's name, itself among them or not.
    pub related: Vec<ClusterObjectSet>,
    /// What it holds.
    pub content: Result<Content, ContentError>,
    /// What time it is.
    pub now: Timestamp,
    /// The phases that are finished: complete ones, or torn down ones when the revision is let go.
    pub finished: Vec<PhaseReport>,
    /// What is known of the objects of the next phase.
    pub objects: Vec<Observed>,
}

/// What is known of an object.
#[derive(Debug, Clone, Default)]
pub struct Observed {
    /// What the server has under its name.
    pub seen: Seen,
    /// What became of an attempt to change it.
    pub outcome: Option<Outcome>,
    /// Why it doesn't pass its probes, as its pods tell it.
    pub trouble: Option<String>,
}

/// What the server has under the name of an object.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Seen {
    /// Nobody has looked yet.
    #[default]
    Unknown,
    /// Nothing.
    Absent,
    /// This.
    Present(Box<Value>),
    /// What it had when the object was found as wanted and passed its probes; nothing was heard of it since.
    Settled,
    /// It doesn't know the kind; with its words.
    Unserved(String),
}

/// What became of an attempt to change an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It was done; what the server has now was noted.
    Done,
    /// The server would not take it.
    Invalid(String),
    /// It failed, and may work next time.
    Failed(String),
}

/// One object to write.
#[derive(Debug, Clone, PartialEq)]
pub struct Write {
    /// Which object of the phase.
    pub index: usize,
    /// How.
    pub how: How,
    /// What.
    pub object: Value,
}

/// How an object is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// It is made, and must not exist.
    Create,
    /// It is applied to the one that was seen.
    Apply,
    /// It is applied to the one that was seen, whoever it belonged to.
    Adopt,
}

/// What is to be done next.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// See what the server has of a phase's objects, as far as that is not known.
    Look {
        /// The index of the phase.
        phase: usize,
    },
    /// Add the finalizer before anything else is made.
    Protect,
    /// Write objects of a phase: all, or none if the server would refuse one.
    Write {
        /// The index of the phase.
        phase: usize,
        /// The objects.
        writes: Vec<Write>,
    },
    /// Let go of objects of a phase.
    Part {
        /// The index of the phase.
        phase: usize,
        /// The objects, by their index in the phase, and what is to be done about each.
        partings: Vec<(usize, Parting)>,
    },
    /// Note that a phase is finished, and go on with the next.
    Advance(PhaseReport),
    /// Archive older revisions, by name.
    Archive(Vec<String>),
    /// Write the status; that was all.
    Conclude(Box<Conclusion>),
}

/// Decides what is to be done next.
pub fn decide(snapshot: &Snapshot) -> Step {
    let set = &snapshot.set;
    let speaker = Speaker::new(set, snapshot.now);
    let conclude = |conclusion| Step::Conclude(Box::new(conclusion));
    if set.metadata.deletion_timestamp.is_some() {
        let survivors = Survivors::of_deletion(set);
        return match &snapshot.content {
            Err(_) if survivors == Survivors::None => conclude(speaker.deleted()),
            Ok(content) if survivors == Survivors::None => say_farewell(snapshot, content),
            // What is kept must be let go by name, or the collector takes it.
            Err(error) => conclude(speaker.failed("letting objects go", &error.to_string())),
            Ok(content) => let_go(snapshot, content, survivors, Speaker::deleted),
        };
    }
    let content = match &snapshot.content {
        Ok(content) => content,
        Err(ContentError::Blocked(message)) => return conclude(speaker.blocked(message)),
        Err(ContentError::Retry(message)) => {
            return conclude(speaker.failed("converting to boxcutter revision", message));
        }
    };
    let noted = &set.status.observed_phases;
    if !noted.is_empty()
        && let Err(changed) = digests::check(noted, &content.digests)
    {
        return conclude(speaker.blocked(&changed.to_string()));
    }
    if set.spec.lifecycle_state == LifecycleState::Archived {
        return let_go(snapshot, content, Survivors::of_archiving(set), Speaker::archived);
    }
    if !has_finalizer(set) {
        return Step::Protect;
    }
    if let Some(problem) = problem_of_revision(set.name(), set.spec.revision, &content.phases) {
        let rollout = Rollout {
            problem: Some(problem),
            ..Rollout::default()
        };
        return conclude(speaker.noting(&content.digests).rolled_out(&rollout));
    }
    roll_out(snapshot, content)
}

/// Returns whether a revision is kept until its objects are let go.
pub fn has_finalizer(set: &ClusterObjectSet) -> bool {
    set.metadata
        .finalizers
        .as_ref()
        .is_some_and(|finalizers| finalizers.iter().any(|finalizer| finalizer == keys::TEARDOWN))
}

/// Returns the other active revisions of the same extension.
pub fn siblings<'a>(set: &ClusterObjectSet, related: &'a [ClusterObjectSet]) -> Vec<&'a ClusterObjectSet> {
    let label = |set: &ClusterObjectSet| {
        let labels = set.metadata.labels.as_ref()?;
        labels.get(keys::OWNER_NAME).cloned()
    };
    let Some(owner) = label(set) else {
        return Vec::new();
    };
    related
        .iter()
        .filter(|other| {
            other.name() != set.name()
                && label(other).as_ref() == Some(&owner)
                && other.spec.lifecycle_state == LifecycleState::Active
                && other.metadata.deletion_timestamp.is_none()
        })
        .collect()
}

/// Returns the other active revisions of the same extension that come before this one.
pub fn previous<'a>(set: &ClusterObjectSet, related: &'a [ClusterObjectSet]) -> Vec<&'a ClusterObjectSet> {
    let mut previous = siblings(set, related);
    previous.retain(|other| other.spec.revision < set.spec.revision);
    previous
}

/// Returns the revision as one who asks for objects.
pub fn claimant(set: &ClusterObjectSet, related: &[ClusterObjectSet]) -> Claimant {
    Claimant {
        owner: Owner::of(set),
        revision: set.spec.revision,
        siblings: siblings(set, related).into_iter().map(Owner::of).collect(),
    }
}

fn roll_out(snapshot: &Snapshot, content: &Content) -> Step {
    let set = &snapshot.set;
    let index = snapshot.finished.len();
    let speaker = Speaker::new(set, snapshot.now).noting(&content.digests);
    let conclude = |conclusion| Step::Conclude(Box::new(conclusion));
    let Some(phase) = content.phases.get(index) else {
        let rollout = Rollout::of(snapshot.finished.clone(), content.phases.len());
        let previous = previous(set, &snapshot.related);
        if rollout.complete && !previous.is_empty() {
            return Step::Archive(previous.iter().map(|set| set.name().to_owned()).collect());
        }
        return conclude(speaker.rolled_out(&rollout));
    };
    if !is_known(snapshot, phase) {
        return Step::Look { phase: index };
    }
    let so_far = |report: PhaseReport| {
        let mut phases = snapshot.finished.clone();
        phases.push(report);
        Rollout::of(phases, content.phases.len())
    };
    let problem = problem(snapshot, phase);
    if !problem.is_empty() {
        let report = PhaseReport {
            name: phase.name.clone(),
            problem: Some(problem.message()),
            objects: Vec::new(),
        };
        return conclude(speaker.rolled_out(&so_far(report)));
    }
    let failures = failures(snapshot);
    if !failures.is_empty() {
        let message = format!("reconciling object: {}", failures.join("\n"));
        return conclude(speaker.failed("revision reconcile", &message));
    }
    let claimant = claimant(set, &snapshot.related);
    let mut writes = Vec::new();
    let mut report = PhaseReport {
        name: phase.name.clone(),
        ..PhaseReport::default()
    };
    for (index, (wanted, observed)) in phase.objects.iter().zip(&snapshot.objects).enumerate() {
        let live = match &observed.seen {
            Seen::Settled => {
                report.objects.push(ObjectReport {
                    id: wanted.id.clone(),
                    standing: Standing::Settled,
                    probe: ProbeResult::passed(),
                    trouble: None,
                });
                continue;
            }
            Seen::Present(live) => Some(live.as_ref()),
            _ => None,
        };
        let marked = desired::marked(&wanted.object, &claimant, owner_of(set));
        let mut write = |how, object| writes.push(Write { index, how, object });
        let standing = if observed.outcome == Some(Outcome::Done) {
            Standing::Settled
        } else {
            let over = |live: &Value, adopting| desired::over(&marked, live, &claimant, adopting);
            let own = live.map_or_else(|| marked.clone(), |live| over(live, false));
            match (collision::decide(&own, live, &claimant, wanted.protection), live) {
                (Action::Collide(collision), _) => Standing::Collision(Box::new(collision)),
                (Action::Progressed, _) => Standing::Progressed,
                (Action::Keep, _) => Standing::Settled,
                (Action::Apply, Some(live)) => {
                    write(How::Apply, desired::locked(own, live));
                    continue;
                }
                (Action::Adopt, Some(live)) => {
                    write(How::Adopt, desired::locked(over(live, true), live));
                    continue;
                }
                (Action::Create | Action::Apply | Action::Adopt, _) => {
                    write(How::Create, marked);
                    continue;
                }
            }
        };
        report.objects.push(ObjectReport {
            id: wanted.id.clone(),
            probe: live.map_or_else(ProbeResult::passed, |live| content.probes.ask(live)),
            standing,
            trouble: observed.trouble.clone(),
        });
    }
    if !writes.is_empty() {
        return Step::Write { phase: index, writes };
    }
    if report.is_complete() {
        return Step::Advance(report);
    }
    conclude(speaker.rolled_out(&so_far(report)))
}

/// Returns the object that an active revision waits for first, by its place in the phase that is looked at; none if it waits for
/// none of them. [`Observed::trouble`] of it is said beside what its probes say.
pub fn waits_for(snapshot: &Snapshot) -> Option<(usize, &Value)> {
    let set = &snapshot.set;
    if set.metadata.deletion_timestamp.is_some() || set.spec.lifecycle_state != LifecycleState::Active {
        return None;
    }
    let probes = &snapshot.content.as_ref().ok()?.probes;
    let mut objects = snapshot.objects.iter().enumerate();
    objects.find_map(|(index, observed)| match &observed.seen {
        Seen::Present(live) if probes.ask(live).status != ProbeStatus::True => Some((index, live.as_ref())),
        _ => None,
    })
}

fn is_known(snapshot: &Snapshot, phase: &ContentPhase) -> bool {
    snapshot.objects.len() == phase.objects.len()
        && snapshot
            .objects
            .iter()
            .all(|observed| observed.seen != Seen::Unknown || observed.outcome.is_some())
}

/// Returns what the server would not take.
fn problem(snapshot: &Snapshot, phase: &ContentPhase) -> PhaseProblem {
    let of_objects = phase.objects.iter().zip(&snapshot.objects);
    let of_objects = of_objects.filter_map(|(wanted, observed)| match (&observed.seen, &observed.outcome) {
        (Seen::Unserved(message), _) | (_, Some(Outcome::Invalid(message))) => {
            Some((wanted.id.clone(), vec![message.clone()]))
        }
        _ => None,
    });
    let unserved = phase.objects.iter().zip(&snapshot.objects);
    let mut unserved = unserved.filter(|(_, observed)| matches!(observed.seen, Seen::Unserved(_)));
    PhaseProblem {
        phase: phase.name.clone(),
        of_phase: None,
        of_objects: of_objects.collect(),
        next_step: unserved.find_map(|(wanted, _)| served::next_step(wanted.id.group())),
    }
}

fn failures(snapshot: &Snapshot) -> Vec<&str> {
    snapshot
        .objects
        .iter()
        .filter_map(|observed| match &observed.outcome {
            Some(Outcome::Failed(message)) => Some(message.as_str()),
            _ => None,
        })
        .collect()
}
