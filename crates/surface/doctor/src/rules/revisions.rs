//! `ClusterObjectSet`s: revisions of extensions that don't roll out or don't work.

use api::keys;
use apply::object::{is_terminating, label, text};
use serde_json::Value;

use crate::conditions::{Said, condition};
use crate::finding::Finding;
use crate::finding::Severity::{Broken, Note, Risky};
use crate::kinds;
use crate::moment::{PATIENCE_SECONDS, words};
use crate::picture::Picture;
use crate::subject::Subject;

/// Looks at all revisions that are active.
pub fn look(picture: &Picture) -> Vec<Finding> {
    picture
        .all(kinds::CLUSTER_OBJECT_SET)
        .filter(|set| text(set, "/spec/lifecycleState") == "Active" && !is_terminating(set))
        .filter_map(|set| judge(picture, set))
        .collect()
}

fn judge(picture: &Picture, set: &Value) -> Option<Finding> {
    let progressing = condition(set, "Progressing")?;
    let unavailable = condition(set, "Available").filter(Said::is_false);
    let owner = label(set, keys::OWNER_NAME).unwrap_or_default();
    let finding = match (progressing.status, progressing.reason) {
        ("False", _) => Finding::new(Broken, "revision-stopped", set)
            .at_condition("Progressing")
            .because(format!(
                "its rollout stopped: {}",
                told(&progressing, unavailable)
            )),
        (_, "Retrying") => Finding::new(Broken, "revision-refused", set)
            .at_condition("Progressing")
            .because(format!(
                "its objects can't be applied, and are tried again: {}",
                progressing.words()
            )),
        (_, "RollingOut") => {
            let since = progressing.since?;
            let age = picture.now.as_second() - since.as_second();
            let severity = if age > PATIENCE_SECONDS { Risky } else { Note };
            Finding::new(severity, "revision-rolling-out", set)
                .at_condition("Available")
                .because(format!(
                    "it has been rolling out for {}: {}",
                    words(age),
                    told(&progressing, unavailable)
                ))
        }
        _ => Finding::new(Broken, "revision-not-available", set)
            .at_condition("Available")
            .because(format!(
                "what it installed doesn't work: {}",
                unavailable?.words()
            )),
    };
    let shown = if owner.is_empty() {
        Subject::of(set).describe()
    } else {
        format!("baton status {owner}")
    };
    Some(
        finding
            .next(format!("see which objects aren't ready: {shown}"))
            .suspecting(workloads(picture, owner)),
    )
}

/// What a probe says tells more than that the rollout goes on.
fn told(progressing: &Said<'_>, unavailable: Option<Said<'_>>) -> String {
    unavailable.unwrap_or(*progressing).words()
}

fn workloads(picture: &Picture, owner: &str) -> Vec<Subject> {
    picture
        .all(kinds::DEPLOYMENT)
        .filter(|deployment| !owner.is_empty() && label(deployment, keys::OWNER_NAME) == Some(owner))
        .map(Subject::of)
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::testing::{conditions, object, picture, told};

    #[test]
    fn an_active_revision_works_or_says_why_not() {
        let revision = |state: &str, progressing: (&str, &str), available: (&str, &str)| {
            let mut rest = conditions(&[
                ("Progressing", progressing.0, progressing.1, "told"),
                ("Available", available.0, "Any", available.1),
            ]);
            rest["spec"] = json!({"lifecycleState": state});
            rest["metadata"] = json!({"labels": {keys::OWNER_NAME: "web"}});
            object(
                "olm.operatorframework.io/v1",
                "ClusterObjectSet",
                "",
                "web-2",
                rest,
            )
        };
        let (well, ill) = (("True", ""), ("False", "Deployment a/web: not ready"));
        for (revision, expected) in [
            (revision("Active", ("True", "Succeeded"), well), &[][..]),
            (revision("Archived", ("False", "Archived"), ill), &[][..]),
            (
                revision("Active", ("True", "Succeeded"), ill),
                &[
                    "broken revision-not-available ClusterObjectSet web-2: what it installed doesn't work: Deployment a/web: not ready",
                ][..],
            ),
            (
                revision("Active", ("False", "ProgressDeadlineExceeded"), ill),
                &[
                    "broken revision-stopped ClusterObjectSet web-2: its rollout stopped: Deployment a/web: not ready",
                ][..],
            ),
            (
                revision("Active", ("True", "Retrying"), well),
                &[
                    "broken revision-refused ClusterObjectSet web-2: its objects can't be applied, and are tried again: told",
                ][..],
            ),
            (
                revision("Active", ("True", "RollingOut"), ill),
                &[
                    "risky revision-rolling-out ClusterObjectSet web-2: it has been rolling out for 2 h: Deployment a/web: not ready",
                ][..],
            ),
        ] {
            assert_eq!(told(&look(&picture([revision]))), expected);
        }
    }
}
