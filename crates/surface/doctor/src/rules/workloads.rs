//! Deployments of operators and controllers that aren't ready.

use apply::object::{is_terminating, text};
use release::readiness::{self, Readiness};
use serde_json::Value;

use crate::conditions::{Said, condition, holds};
use crate::finding::Finding;
use crate::finding::Severity::{Broken, Note, Risky};
use crate::kinds;
use crate::moment::{FIRST_LOOK_SECONDS, seconds_since};
use crate::picture::Picture;
use crate::rules::pods;
use crate::subject::Subject;

/// Looks at all Deployments of the picture: those of bundles and of controllers.
pub fn look(picture: &Picture) -> Vec<Finding> {
    picture
        .all(kinds::DEPLOYMENT)
        .filter(|deployment| !is_terminating(deployment))
        .filter_map(|deployment| judge(picture, deployment))
        .collect()
}

fn judge(picture: &Picture, deployment: &Value) -> Option<Finding> {
    let subject = Subject::of(deployment);
    let describe = subject.describe();
    if deployment.pointer("/spec/paused") == Some(&Value::Bool(true)) {
        return Some(
            Finding::new(Risky, "workload-paused", deployment)
                .at("spec.paused")
                .because("somebody paused it: changes of it reach no pod")
                .next(format!(
                    "kubectl rollout resume deployment/{} -n {}",
                    subject.name, subject.namespace
                )),
        );
    }
    let why = match readiness::of(deployment) {
        Readiness::Ready => return None,
        Readiness::Waiting(why) | Readiness::Failed(why) => why,
    };
    if let Some(failure) = condition(deployment, "ReplicaFailure").filter(Said::is_true) {
        let quotas = picture
            .in_namespace(kinds::RESOURCE_QUOTA, &subject.namespace)
            .filter(|quota| {
                let name = format!("exceeded quota: {},", text(quota, "/metadata/name"));
                failure.message.contains(&name)
            });
        return Some(
            Finding::new(Broken, "workload-without-pods", deployment)
                .at_condition("ReplicaFailure")
                .because(format!("its pods can't be made: {}", failure.words()))
                .next(describe)
                .suspecting(quotas.map(Subject::of)),
        );
    }
    let age = seconds_since(deployment, "/metadata/creationTimestamp", picture.now).unwrap_or_default();
    let pods = pods::of_deployment(picture, deployment);
    let suspects: Vec<Subject> = pods.into_iter().map(Subject::of).collect();
    let severity = match (holds(deployment, "Available"), age > FIRST_LOOK_SECONDS) {
        (true, _) => Risky,
        (false, true) => Broken,
        (false, false) => Note,
    };
    let rule = match severity {
        Broken => "workload-not-available",
        Risky => "workload-not-rolled-out",
        Note => "workload-starting",
    };
    Some(
        Finding::new(severity, rule, deployment)
            .at_condition(if severity == Risky {
                "Progressing"
            } else {
                "Available"
            })
            .because(match severity {
                Broken => format!("it doesn't work: {why}"),
                Risky => format!("the pods of before work, but the new ones don't come: {why}"),
                Note => format!("it was made a moment ago: {why}"),
            })
            .next(format!(
                "kubectl get pods -n {}; then: {describe}",
                subject.namespace
            ))
            .suspecting(suspects),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::testing::{object, picture, told};

    fn deployment(created: &str, conditions: Value, available: i64) -> Value {
        object(
            "apps/v1",
            "Deployment",
            "apps",
            "web",
            json!({
                "metadata": {"creationTimestamp": created, "generation": 1},
                "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}},
                "status": {"observedGeneration": 1, "replicas": 1, "updatedReplicas": available,
                    "availableReplicas": available, "readyReplicas": available, "conditions": conditions},
            }),
        )
    }

    #[test]
    fn a_workload_is_ready_or_says_why_not() {
        const LONG_AGO: &str = "2026-06-01T10:00:00Z";
        let available = |status: &str| json!({"type": "Available", "status": status, "reason": "MinimumReplicas", "message": "too few"});
        let progressing = json!({"type": "Progressing", "status": "True", "reason": "ReplicaSetUpdated"});
        let refused = json!({"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate",
            "message": "pods \"web-1\" is forbidden: exceeded quota: small, requested: pods=1, used: pods=1, limited: pods=1"});
        let told_of = |deployment: Value| -> Vec<String> {
            let lines = told(&look(&picture([deployment])));
            lines
                .iter()
                .map(|line| line.split_whitespace().take(3).collect::<Vec<_>>().join(" "))
                .collect()
        };
        let cases = [
            (
                deployment(LONG_AGO, json!([available("True"), progressing]), 1),
                None,
            ),
            (
                deployment(LONG_AGO, json!([available("False"), progressing]), 0),
                Some("broken workload-not-available Deployment"),
            ),
            (
                deployment(
                    "2026-06-01T11:59:00Z",
                    json!([available("False"), progressing]),
                    0,
                ),
                Some("note workload-starting Deployment"),
            ),
            (
                deployment(LONG_AGO, json!([available("True"), progressing]), 0),
                Some("risky workload-not-rolled-out Deployment"),
            ),
            (
                deployment(
                    LONG_AGO,
                    json!([available("False"), progressing, refused.clone()]),
                    0,
                ),
                Some("broken workload-without-pods Deployment"),
            ),
        ];
        for (deployment, expected) in cases {
            assert_eq!(told_of(deployment), expected.into_iter().collect::<Vec<_>>());
        }
        let quota = object("v1", "ResourceQuota", "apps", "small", json!({}));
        let refused = deployment(LONG_AGO, json!([available("False"), refused]), 0);
        let findings = look(&picture([refused, quota]));
        assert_eq!(findings[0].suspects[0].to_string(), "ResourceQuota apps/small");
    }
}
