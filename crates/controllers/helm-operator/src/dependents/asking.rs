//! Why workloads aren't ready: their pods are asked, and who holds a workload is told of the answer.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use apply::object::ObjectId;
use apply::troubles::{Troubles, Workload};
use release::readiness::Readiness;

use super::{Happening, State, Tell};

/// Adds to what a workload waits for why it does.
pub(super) fn because(readiness: Readiness, cause: impl FnOnce() -> Option<String>) -> Readiness {
    let with = |words: String| match cause() {
        Some(cause) => format!("{words}: {cause}"),
        None => words,
    };
    match readiness {
        Readiness::Ready => Readiness::Ready,
        Readiness::Waiting(words) => Readiness::Waiting(with(words)),
        Readiness::Failed(words) => Readiness::Failed(with(words)),
    }
}

/// Has the pods of workloads asked that aren't ready, and tells who holds the workload of the answer.
#[derive(Clone)]
pub(super) struct Asker<H> {
    pub(super) state: Weak<Mutex<State<H>>>,
    pub(super) troubles: Weak<Troubles>,
    pub(super) tell: Tell<H>,
}

impl<H: Clone + Send + 'static> Asker<H> {
    pub(super) fn ask(&self, id: &ObjectId, workload: &Workload) {
        let Some(troubles) = self.troubles.upgrade() else {
            return;
        };
        let (state, tell, name) = (Weak::clone(&self.state), Arc::clone(&self.tell), id.clone());
        troubles.unready(id, workload.clone(), move || {
            let Some(state) = state.upgrade() else {
                return;
            };
            let holder = {
                let state = state.lock().unwrap_or_else(PoisonError::into_inner);
                state.objects.get(&name).map(|held| held.by.clone())
            };
            if let Some(holder) = holder {
                tell(&holder, &name, Happening::Readiness);
            }
        });
    }

    pub(super) fn forget(&self, id: &ObjectId) {
        if let Some(troubles) = self.troubles.upgrade() {
            troubles.forget(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_waited_for_is_said_with_its_cause() {
        let waiting = |words: &str| Readiness::Waiting(words.to_owned());
        let failed = |words: &str| Readiness::Failed(words.to_owned());
        let rows = [
            (Readiness::Ready, Some("pod a: crashes"), Readiness::Ready),
            (waiting("0 of 1"), None, waiting("0 of 1")),
            (
                waiting("0 of 1"),
                Some("pod a: crashes"),
                waiting("0 of 1: pod a: crashes"),
            ),
            (
                failed("late"),
                Some("pod a: crashes"),
                failed("late: pod a: crashes"),
            ),
        ];
        for (readiness, cause, expected) in rows {
            assert_eq!(because(readiness, || cause.map(str::to_owned)), expected);
        }
    }
}
