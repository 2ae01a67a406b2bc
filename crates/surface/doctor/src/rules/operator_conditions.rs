//! OperatorConditions of OLM v0: operators that hold back their own upgrade.

use crate::conditions::{Said, condition};
use crate::finding::Finding;
use crate::finding::Severity::Note;
use crate::kinds;
use crate::picture::Picture;
use crate::subject::Subject;

/// Looks at all OperatorConditions.
pub fn look(picture: &Picture) -> Vec<Finding> {
    picture
        .all(kinds::OPERATOR_CONDITION)
        .filter_map(|object| {
            let said = condition(object, "Upgradeable").filter(Said::is_false)?;
            Some(
                Finding::new(Note, "operator-not-upgradeable", object)
                    .at_condition("Upgradeable")
                    .because(format!(
                        "the operator holds back its own upgrade: {}",
                        said.words()
                    ))
                    .next(format!(
                        "wait until it says otherwise, or overrule it with spec.overrides: kubectl edit {}",
                        Subject::of(object).for_kubectl()
                    )),
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{conditions, object, picture, told};

    #[test]
    fn an_operator_may_hold_back_its_upgrade() {
        let said = |status: &str| {
            let rest = conditions(&[("Upgradeable", status, "Busy", "a migration runs")]);
            object(
                "operators.coreos.com/v2",
                "OperatorCondition",
                "apps",
                "web.v1",
                rest,
            )
        };
        assert!(look(&picture([said("True")])).is_empty());
        assert_eq!(
            told(&look(&picture([said("False")]))),
            [
                "note operator-not-upgradeable OperatorCondition apps/web.v1: the operator holds back its own upgrade: a migration runs"
            ]
        );
    }
}
