//! How a revision is taken away: what goes first, and what that is waited for.
//!
//! ```text
//! deleted: definitions, while the operator can let go of custom resources ─► workloads, while their pods have their rights
//!          ─► the collector takes the rest
//! archived: phase by phase, from the last to the first; a workload is gone when its pods are
//! ```

use jiff::SignedDuration;

use super::conclusion::{Conclusion, Speaker};
use super::report::PhaseReport;
use super::{Observed, Outcome, Seen, Snapshot, Step, failures, is_known};
use crate::content::{Content, Wanted};
use crate::owners::Owner;
use crate::teardown::{self, Parting, Survivors};

/// How long an operator has to clean up after its custom resources before it goes itself, and its pods to end.
const FAREWELL: SignedDuration = SignedDuration::from_mins(2);

/// Returns whether a revision that is deleted has taken all the time that it has for that.
fn is_farewell_over(snapshot: &Snapshot) -> bool {
    let since = snapshot.set.metadata.deletion_timestamp.as_ref();
    since.is_none_or(|since| snapshot.now.duration_since(since.0) > FAREWELL)
}

/// What is taken away by name before the collector takes the rest of a deleted revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leaving {
    /// Definitions: as long as the operator runs, it can let go of the custom resources that go with them.
    Definitions,
    /// Workloads: their pods need their rights as long as they run.
    Workloads,
}

impl Leaving {
    fn includes(self, wanted: &Wanted) -> bool {
        match self {
            Self::Definitions => Survivors::Definitions.include(&wanted.id),
            Self::Workloads => teardown::has_pods(&wanted.id),
        }
    }
}

/// Takes away definitions from the first phase to the last, then workloads from the last to the first; the collector takes
/// the rest.
pub(super) fn say_farewell(snapshot: &Snapshot, content: &Content) -> Step {
    let set = &snapshot.set;
    let speaker = Speaker::new(set, snapshot.now);
    let conclude = |conclusion| Step::Conclude(Box::new(conclusion));
    let definitions = content.phases.iter().enumerate();
    let workloads = definitions.clone().rev();
    let mut turns = definitions
        .map(|turn| (turn, Leaving::Definitions))
        .chain(workloads.map(|turn| (turn, Leaving::Workloads)))
        .filter(|((_, phase), leaving)| phase.objects.iter().any(|wanted| leaving.includes(wanted)));
    let turn = turns.nth(snapshot.finished.len());
    let Some(((index, phase), leaving)) = turn.filter(|_| !is_farewell_over(snapshot)) else {
        return conclude(speaker.deleted());
    };
    if !is_known(snapshot, phase) {
        return Step::Look { phase: index };
    }
    let owner = Owner::of(set);
    let mut partings = Vec::new();
    let mut waiting = Vec::new();
    let objects = phase.objects.iter().zip(&snapshot.objects).enumerate();
    for (index, (wanted, observed)) in objects.filter(|(_, (wanted, _))| leaving.includes(wanted)) {
        let live = match &observed.seen {
            Seen::Present(live) => Some(live.as_ref()),
            _ => None,
        };
        match (teardown::decide(live, &owner, false), &observed.outcome) {
            (parting @ Parting::Delete { .. }, None) => partings.push((index, parting)),
            (Parting::Done | Parting::Release(_), None | Some(Outcome::Done)) => {}
            // On its way out, or the server would not take its deletion, which is tried again.
            _ => waiting.push(wanted.id.name.as_str()),
        }
    }
    if !partings.is_empty() {
        return Step::Part {
            phase: index,
            partings,
        };
    }
    if !waiting.is_empty() {
        return conclude(match leaving {
            Leaving::Definitions => speaker.waiting_for_custom_resources(&waiting),
            Leaving::Workloads => speaker.waiting_for_pods(&waiting),
        });
    }
    Step::Advance(PhaseReport {
        name: phase.name.clone(),
        ..PhaseReport::default()
    })
}

/// Lets go of the phases from the last to the first.
pub(super) fn let_go<'a>(
    snapshot: &'a Snapshot,
    content: &Content,
    survivors: Survivors,
    end: impl FnOnce(Speaker<'a>) -> Conclusion,
) -> Step {
    let set = &snapshot.set;
    let speaker = Speaker::new(set, snapshot.now).noting(&content.digests);
    let conclude = |conclusion| Step::Conclude(Box::new(conclusion));
    let is_deleted = set.metadata.deletion_timestamp.is_some();
    let left = content.phases.len().saturating_sub(snapshot.finished.len());
    let Some((index, phase)) = left
        .checked_sub(1)
        .and_then(|index| Some((index, content.phases.get(index)?)))
    else {
        return conclude(end(speaker));
    };
    let must_be_seen = |observed: &Observed| observed.seen == Seen::Settled;
    if !is_known(snapshot, phase) || snapshot.objects.iter().any(must_be_seen) {
        return Step::Look { phase: index };
    }
    let failures = failures(snapshot);
    if !failures.is_empty() {
        return conclude(speaker.teardown_failed(&format!("teardown phase: {}", failures.join("\n"))));
    }
    let owner = Owner::of(set);
    let mut partings = Vec::new();
    let mut waiting = Vec::new();
    for (index, (wanted, observed)) in phase.objects.iter().zip(&snapshot.objects).enumerate() {
        let live = match &observed.seen {
            Seen::Present(live) => Some(live.as_ref()),
            _ => None,
        };
        let survives = survivors.include(&wanted.id);
        // When a revision is deleted, what doesn't survive is collected; only what survives must be let go, and workloads
        // must be gone before the collector takes what their pods need.
        let is_collected = is_deleted && !survives;
        if is_collected && (!teardown::has_pods(&wanted.id) || is_farewell_over(snapshot)) {
            continue;
        }
        match teardown::decide(live, &owner, survives) {
            Parting::Done => {}
            Parting::Waiting
                if teardown::has_pods(&wanted.id)
                    && live.is_some_and(|live| teardown::is_overdue(live, snapshot.now)) => {}
            Parting::Waiting => waiting.push(wanted.id.name.as_str()),
            // Deleted a moment ago, and seen once more since: its finalizers take their time.
            _ if observed.outcome == Some(Outcome::Done) => waiting.push(wanted.id.name.as_str()),
            parting => partings.push((index, parting)),
        }
    }
    if !partings.is_empty() {
        return Step::Part {
            phase: index,
            partings,
        };
    }
    if !waiting.is_empty() {
        return conclude(if is_deleted {
            speaker.waiting_for_pods(&waiting)
        } else {
            speaker.tearing_down()
        });
    }
    Step::Advance(PhaseReport {
        name: phase.name.clone(),
        ..PhaseReport::default()
    })
}
