//! Two OLMs at once: upstream's and baton's, or baton's twice, working on the same objects.

use apply::object::{label, text};
use deploy::component::{Component, MANAGED_BY};
use serde_json::Value;

use crate::finding::Finding;
use crate::finding::Severity::Broken;
use crate::kinds;
use crate::picture::Picture;
use crate::rules::leases::{Holder, holder, of_component};
use crate::subject::Subject;

/// Looks at each half of OLM for a second one at work.
pub fn look(picture: &Picture) -> Vec<Finding> {
    Component::ALL
        .iter()
        .filter_map(|component| judge(picture, *component))
        .collect()
}

fn judge(picture: &Picture, component: Component) -> Option<Finding> {
    let held: Vec<(&Value, &str)> = of_component(picture, component)
        .filter_map(|lease| match holder(picture, lease) {
            Holder::Works(holder) => Some((lease, holder)),
            _ => None,
        })
        .collect();
    let upstream: Vec<&Value> = upstream(picture, component).collect();
    // Upstream's OLM v1 holds the same Lease that baton would, so that a Deployment of it proves nothing.
    let second = match (component, upstream.first(), held.as_slice()) {
        (Component::Subscriptions, Some(deployment), [(lease, holder), ..]) => {
            Some((Subject::of(deployment), lease, holder, true))
        }
        (_, _, [(lease, holder), (other, _), ..]) => Some((Subject::of(other), lease, holder, false)),
        _ => None,
    };
    let (second, lease, holder, is_upstream) = second?;
    let first = Subject::of(lease);
    Some(
        Finding::about(Broken, "two-olms", second.clone())
            .because(format!(
                "two OLMs work on the same objects and undo each other's work: {second}{}, and {holder} which holds {first}",
                if is_upstream { " of upstream" } else { "" }
            ))
            .next(if is_upstream {
                format!(
                    "decide for one: kubectl scale {} --replicas=0, and the same for catalog-operator and packageserver; or \
                     stop baton's",
                    second.for_kubectl().replace("deployment ", "deployment/")
                )
            } else {
                "stop one of the two: all replicas must use the same --system-namespace".to_owned()
            }),
    )
}

/// Upstream's Deployments for the work of a component that have a pod at work.
pub(crate) fn upstream(picture: &Picture, component: Component) -> impl Iterator<Item = &Value> {
    picture.all(kinds::DEPLOYMENT).filter(move |deployment| {
        let name = text(deployment, "/metadata/name");
        let is_component = match component {
            Component::Subscriptions => matches!(name, "olm-operator" | "catalog-operator"),
            other => name == other.deployment(),
        };
        let ready = deployment
            .pointer("/status/readyReplicas")
            .and_then(Value::as_i64)
            .unwrap_or_default();
        is_component && ready > 0 && label(deployment, MANAGED_BY.0) != Some(MANAGED_BY.1)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::testing::{object, picture, told};

    #[test]
    fn only_one_olm_works() {
        let lease = |namespace: &str, component: Component| {
            object(
                "coordination.k8s.io/v1",
                "Lease",
                namespace,
                component.lease(),
                json!({
                "spec": {"holderIdentity": format!("{namespace}_1"), "leaseDurationSeconds": 15, "renewTime": "2026-06-01T11:59:50Z"}}),
            )
        };
        let deployment = |ready: i64, labels: Value| {
            object(
                "apps/v1",
                "Deployment",
                "olm",
                "olm-operator",
                json!({
                "metadata": {"labels": labels}, "status": {"readyReplicas": ready}}),
            )
        };
        let classic = || lease("olm", Component::Subscriptions);
        for (objects, expected) in [
            (vec![deployment(1, json!({}))], &[][..]),
            (vec![deployment(0, json!({})), classic()], &[][..]),
            (
                vec![deployment(1, json!({MANAGED_BY.0: MANAGED_BY.1})), classic()],
                &[][..],
            ),
            (
                vec![deployment(1, json!({})), classic()],
                &[
                    "broken two-olms Deployment olm/olm-operator: two OLMs work on the same objects and undo each other's work: Deployment olm/olm-operator of upstream, and olm_1 which holds Lease olm/classic.baton.dev",
                ][..],
            ),
            (
                vec![
                    lease("a", Component::Extensions),
                    lease("b", Component::Extensions),
                ],
                &[
                    "broken two-olms Lease b/9c4404e7.operatorframework.io: two OLMs work on the same objects and undo each other's work: Lease b/9c4404e7.operatorframework.io, and a_1 which holds Lease a/9c4404e7.operatorframework.io",
                ][..],
            ),
        ] {
            assert_eq!(told(&look(&picture(objects))), expected);
        }
    }
}
