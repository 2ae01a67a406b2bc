//! The condition `Ready`: whether what a release made really works.

use api::condition::ConditionStatus;
use apply::object::ObjectId;
use release::readiness::Readiness;

use crate::status::{Aspect, Statement};

/// How many objects a message names; the rest is counted.
const NAMED: usize = 5;

/// Says whether everything works; nothing if there is nothing that could.
pub fn statement(objects: &[(ObjectId, Readiness)]) -> Option<Statement> {
    if objects.is_empty() {
        return Some(Statement::new(
            Aspect::Ready,
            ConditionStatus::True,
            "NothingToWaitFor",
            "the release has no workloads",
        ));
    }
    let named = |kept: &dyn Fn(&Readiness) -> Option<&str>| -> Vec<String> {
        let all: Vec<String> = objects
            .iter()
            .filter_map(|(id, readiness)| Some(format!("{} {} ({})", id.kind, id.name, kept(readiness)?)))
            .collect();
        let more = all.len().saturating_sub(NAMED);
        let mut first: Vec<String> = all.into_iter().take(NAMED).collect();
        if more > 0 {
            first.push(format!("{more} more"));
        }
        first
    };
    let failed = named(&|readiness| match readiness {
        Readiness::Failed(why) => Some(why.as_str()),
        _ => None,
    });
    let waiting = named(&|readiness| match readiness {
        Readiness::Waiting(why) => Some(why.as_str()),
        _ => None,
    });
    Some(match (failed.is_empty(), waiting.is_empty()) {
        (false, _) => Statement::new(
            Aspect::Ready,
            ConditionStatus::False,
            "WorkloadFailed",
            format!("failed: {}", failed.join(", ")),
        ),
        (true, false) => Statement::new(
            Aspect::Ready,
            ConditionStatus::False,
            "Waiting",
            format!("waiting for {}", waiting.join(", ")),
        ),
        (true, true) => Statement::new(Aspect::Ready, ConditionStatus::True, "WorkloadsAvailable", ""),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(name: &str, readiness: Readiness) -> (ObjectId, Readiness) {
        let id = ObjectId {
            api_version: "apps/v1".to_owned(),
            kind: "Deployment".to_owned(),
            namespace: "models".to_owned(),
            name: name.to_owned(),
        };
        (id, readiness)
    }

    #[test]
    fn what_is_waited_for_is_named() {
        let waiting = |name| object(name, Readiness::Waiting("0 of 1 ready".to_owned()));
        let rows = [
            (vec![], ConditionStatus::True, "the release has no workloads"),
            (vec![object("a", Readiness::Ready)], ConditionStatus::True, ""),
            (
                vec![object("a", Readiness::Ready), waiting("b")],
                ConditionStatus::False,
                "waiting for Deployment b (0 of 1 ready)",
            ),
            (
                vec![
                    waiting("b"),
                    object("c", Readiness::Failed("no image".to_owned())),
                ],
                ConditionStatus::False,
                "failed: Deployment c (no image)",
            ),
            (
                (0..7).map(|_| waiting("d")).collect(),
                ConditionStatus::False,
                "waiting for Deployment d (0 of 1 ready), Deployment d (0 of 1 ready), Deployment d (0 of 1 ready), \
                 Deployment d (0 of 1 ready), Deployment d (0 of 1 ready), 2 more",
            ),
        ];
        for (objects, truth, message) in rows {
            let statement = statement(&objects).expect("something to say");
            assert_eq!((statement.truth, statement.message.as_str()), (truth, message));
        }
    }
}
