//! What could not be looked at, so that nobody takes silence for health.

use std::collections::BTreeMap;

use crate::conditions::shortened;
use crate::finding::Finding;
use crate::finding::Severity::Risky;
use crate::picture::Picture;
use crate::question::Question;
use crate::subject::{Subject, group};

/// Tells of lists that could not be read, or not to their end: once for each kind.
pub fn look(picture: &Picture) -> Vec<Finding> {
    let mut refused: BTreeMap<Subject, (&Question, &str)> = BTreeMap::new();
    for unseen in &picture.unseen {
        refused
            .entry(subject(&unseen.question))
            .or_insert((&unseen.question, &unseen.cause));
    }
    let refused = refused.into_iter().map(|(subject, (question, cause))| {
        let resource = match group(&question.api_version) {
            "" => question.plural.clone(),
            group => format!("{}.{group}", question.plural),
        };
        let place = match &question.namespace {
            Some(namespace) => format!("-n {namespace}"),
            None => "-A".to_owned(),
        };
        Finding::about(Risky, "not-looked-at", subject)
            .because(format!(
                "could not look at {}: {}",
                question.words(),
                shortened(cause)
            ))
            .next(format!(
                "who may: everybody for whom `kubectl auth can-i list {resource} {place}` says yes; ask for that right, or \
                 look at one namespace with --namespace"
            ))
    });
    let cut = picture.cut.iter().map(|question| {
        Finding::about(Risky, "not-all-looked-at", subject(question))
            .because(format!(
                "there are too many {} to look at all of them",
                question.words()
            ))
            .next("look at one namespace after the other: baton doctor --namespace NAMESPACE")
    });
    refused.chain(cut).collect()
}

fn subject(question: &Question) -> Subject {
    Subject {
        kind: question.kind.clone(),
        group: group(&question.api_version).to_owned(),
        namespace: question.namespace.clone().unwrap_or_default(),
        name: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds;
    use crate::rules::testing::{blank, told};

    #[test]
    fn what_could_not_be_seen_is_told_once_for_each_kind() {
        let mut picture = blank();
        for labels in ["a", "b"] {
            let question = Question::of(kinds::DEPLOYMENT).labelled(labels);
            picture.refuse(question, "deployments.apps is forbidden".to_owned());
        }
        picture.cut.insert(Question::of(kinds::INSTALL_PLAN));
        let findings = look(&picture);
        assert_eq!(
            told(&findings),
            [
                "risky not-looked-at Deployment: could not look at deployments with a: deployments.apps is forbidden",
                "risky not-all-looked-at InstallPlan: there are too many installplans to look at all of them",
            ]
        );
        assert!(
            findings[0]
                .next
                .contains("kubectl auth can-i list deployments.apps -A")
        );
    }
}
