//! What became of the phases of a revision.

use crate::collision::Collision;
use crate::object::ObjectId;
use crate::probes::{ProbeResult, ProbeStatus};

/// How an object stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// It is as the revision wants it.
    Settled,
    /// A newer revision has it.
    Progressed,
    /// It belongs to somebody else.
    Collision(Box<Collision>),
}

/// What became of one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectReport {
    /// The object.
    pub id: ObjectId,
    /// How it stands.
    pub standing: Standing,
    /// Whether it passes its probes.
    pub probe: ProbeResult,
    /// Why it doesn't, as its pods tell it.
    pub trouble: Option<String>,
}

impl ObjectReport {
    fn is_complete(&self) -> bool {
        !matches!(self.standing, Standing::Collision(_)) && self.probe.status == ProbeStatus::True
    }
}

/// What became of one phase.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PhaseReport {
    /// Its name.
    pub name: String,
    /// Why the server would not have taken it.
    pub problem: Option<String>,
    /// What became of its objects.
    pub objects: Vec<ObjectReport>,
}

impl PhaseReport {
    /// Returns whether the next phase may begin.
    pub fn is_complete(&self) -> bool {
        self.problem.is_none() && self.objects.iter().all(ObjectReport::is_complete)
    }

    /// Returns whether some of its objects, but not all, belong to others.
    fn is_in_transition(&self) -> bool {
        let progressed = |object: &ObjectReport| object.standing == Standing::Progressed;
        self.problem.is_none()
            && !self.objects.iter().all(progressed)
            && self
                .objects
                .iter()
                .any(|object| object.standing != Standing::Settled)
    }
}

/// How far a revision has come.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rollout {
    /// Why none of it was tried.
    pub problem: Option<String>,
    /// What became of the phases that were tried.
    pub phases: Vec<PhaseReport>,
    /// Whether there is more to come.
    pub in_transition: bool,
    /// Whether all objects are there and pass their probes.
    pub complete: bool,
}

impl Rollout {
    /// Sums up what became of the phases that were tried, out of so many.
    pub fn of(phases: Vec<PhaseReport>, of: usize) -> Self {
        let all = phases.len() >= of;
        Self {
            problem: None,
            in_transition: !all || phases.iter().any(PhaseReport::is_in_transition),
            complete: all && phases.iter().all(PhaseReport::is_complete),
            phases,
        }
    }
}
