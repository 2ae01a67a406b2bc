//! Records of Helm releases that somebody stopped halfway.

use apply::object::{label, text};
use chart::release::Status;
use serde_json::Value;

use crate::finding::Finding;
use crate::finding::Severity::{Broken, Note};
use crate::kinds;
use crate::moment::{PATIENCE_SECONDS, words};
use crate::picture::Picture;
use crate::subject::Subject;

/// Looks at all records of releases.
pub fn look(picture: &Picture) -> Vec<Finding> {
    picture
        .all(kinds::SECRET)
        .filter(|secret| label(secret, "owner") == Some("helm"))
        .filter_map(|secret| judge(picture, secret))
        .collect()
}

fn judge(picture: &Picture, secret: &Value) -> Option<Finding> {
    let status = Status::from_name(label(secret, "status")?);
    if !status.is_pending() {
        return None;
    }
    let (namespace, release) = (text(secret, "/metadata/namespace"), label(secret, "name")?);
    let written = ["modifiedAt", "createdAt"]
        .into_iter()
        .find_map(|key| label(secret, key)?.parse::<i64>().ok());
    let age = picture.now.as_second() - written?;
    let severity = if age > PATIENCE_SECONDS { Broken } else { Note };
    let owner = owner(secret);
    Some(
        Finding::new(severity, "release-unfinished", secret)
            .at("metadata.labels[status]")
            .because(format!(
                "release {release} has been {} for {}: whoever worked on it {}",
                status.as_str(),
                words(age),
                if severity == Broken {
                    "was stopped halfway"
                } else {
                    "may still be at it"
                }
            ))
            .next(match &owner {
                Some(owner) => format!(
                    "see that the operator of {owner} runs: it goes on by itself; kubectl describe {}",
                    owner.for_kubectl()
                ),
                None => format!(
                    "helm history {release} -n {namespace}; then: helm rollback {release} -n {namespace}"
                ),
            })
            .suspecting(owner),
    )
}

/// The custom resource that a release was made for.
pub(crate) fn owner(secret: &Value) -> Option<Subject> {
    let owners = secret.pointer("/metadata/ownerReferences")?.as_array()?;
    let owner = owners
        .iter()
        .find(|owner| owner.get("controller") == Some(&Value::Bool(true)))?;
    let (group, _) = text(owner, "/apiVersion").split_once('/')?;
    Some(Subject {
        kind: text(owner, "/kind").to_owned(),
        group: group.to_owned(),
        namespace: text(secret, "/metadata/namespace").to_owned(),
        name: text(owner, "/name").to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::testing::{NOW, object, picture, told};

    #[test]
    fn a_release_is_not_left_halfway() {
        let now: jiff::Timestamp = NOW.parse().expect("a time");
        let record = |status: &str, age: i64| {
            let labels = json!({"owner": "helm", "name": "stack", "status": status, "version": "2",
                "createdAt": (now.as_second() - age).to_string()});
            object(
                "v1",
                "Secret",
                "models",
                "sh.helm.release.v1.stack.v2",
                json!({"metadata": {"labels": labels}}),
            )
        };
        for (record, expected) in [
            (record("deployed", 10_000), None),
            (
                record("pending-upgrade", 7_200),
                Some(
                    "broken release-unfinished Secret models/sh.helm.release.v1.stack.v2: release stack has been pending-upgrade for 2 h: whoever worked on it was stopped halfway",
                ),
            ),
            (
                record("pending-install", 30),
                Some(
                    "note release-unfinished Secret models/sh.helm.release.v1.stack.v2: release stack has been pending-install for 30 s: whoever worked on it may still be at it",
                ),
            ),
        ] {
            let findings = told(&look(&picture([record])));
            assert_eq!(findings, expected.into_iter().collect::<Vec<_>>());
        }
    }
}
