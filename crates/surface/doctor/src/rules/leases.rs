//! Leases of controllers: whether somebody works.

use api::keys;
use apply::object::text;
use deploy::component::Component;
use serde_json::Value;

use crate::finding::Finding;
use crate::finding::Severity::{Broken, Note, Risky};
use crate::kinds;
use crate::moment::{seconds_since, words};
use crate::picture::Picture;
use crate::question::is_roster_lease;
use crate::subject::Subject;

/// How much later than a Lease ends it counts as left behind: the clocks of machines differ.
const MARGIN_SECONDS: i64 = 60;

/// Who holds a Lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holder<'a> {
    /// Somebody who gave a sign in time.
    Works(&'a str),
    /// Nobody; it was given back.
    Nobody,
    /// Somebody who gave no sign for so many seconds.
    Silent(&'a str, i64),
}

/// Returns who holds a Lease.
pub(crate) fn holder<'a>(picture: &Picture, lease: &'a Value) -> Holder<'a> {
    let holder = text(lease, "/spec/holderIdentity");
    if holder.is_empty() {
        return Holder::Nobody;
    }
    let lasts = lease
        .pointer("/spec/leaseDurationSeconds")
        .and_then(Value::as_i64);
    let silent = seconds_since(lease, "/spec/renewTime", picture.now);
    match (lasts, silent) {
        (Some(lasts), Some(silent)) if silent > lasts.saturating_mul(2).saturating_add(MARGIN_SECONDS) => {
            Holder::Silent(holder, silent)
        }
        // A Lease without a time belongs to a pod, and goes with it.
        _ => Holder::Works(holder),
    }
}

/// What may be the cause where nobody looks at catalogs.
pub(crate) fn of_catalogs(picture: &Picture) -> Vec<Subject> {
    let mut suspects = suspects(picture, Component::Catalogs);
    // One program may do the work of both under the Lease of extensions.
    suspects.extend(self::suspects(picture, Component::Extensions));
    suspects
}

/// What may be the cause where nobody looks at extensions.
pub(crate) fn of_extensions(picture: &Picture) -> Vec<Subject> {
    suspects(picture, Component::Extensions)
}

/// What may be the cause where nobody looks at OLM v0.
pub(crate) fn of_subscriptions(picture: &Picture) -> Vec<Subject> {
    suspects(picture, Component::Subscriptions)
}

fn suspects(picture: &Picture, component: Component) -> Vec<Subject> {
    let deployments = picture
        .all(kinds::DEPLOYMENT)
        .filter(|deployment| text(deployment, "/metadata/name") == component.deployment())
        .map(Subject::of);
    let leases = of_component(picture, component).map(Subject::of);
    deployments.chain(leases).chain([expected(component)]).collect()
}

/// The Lease that there would be, if somebody worked.
fn expected(component: Component) -> Subject {
    let namespace = match component {
        Component::Catalogs | Component::Extensions => keys::SYSTEM_NAMESPACE,
        Component::Subscriptions => deploy::settings::CLASSIC_NAMESPACE,
    };
    Subject::new(kinds::LEASE, namespace, component.lease())
}

/// The Leases of a component, in whatever namespaces.
pub(crate) fn of_component(picture: &Picture, component: Component) -> impl Iterator<Item = &Value> {
    picture
        .all(kinds::LEASE)
        .filter(move |lease| text(lease, "/metadata/name") == component.lease())
}

/// Returns whether somebody holds the Lease of a component.
pub(crate) fn works(picture: &Picture, component: Component) -> bool {
    of_component(picture, component).any(|lease| matches!(holder(picture, lease), Holder::Works(_)))
}

/// Looks at the Leases of baton's components and of Helm operators.
pub fn look(picture: &Picture) -> Vec<Finding> {
    let mut findings = Vec::new();
    for component in Component::ALL {
        findings.extend(component_at_work(picture, component));
    }
    let operators = picture.all(kinds::LEASE).filter(|lease| is_roster_lease(lease));
    findings.extend(operators.filter_map(|lease| silent_operator(picture, lease)));
    findings
}

/// Tells where nobody does the work of a component.
pub(crate) fn component_at_work(picture: &Picture, component: Component) -> Option<Finding> {
    if works(picture, component) || does_upstream_work(picture, component) {
        return None;
    }
    // One program may do the work of both under the Lease of extensions.
    if component == Component::Catalogs && works(picture, Component::Extensions) {
        return None;
    }
    let work = work(picture, component);
    let lease = of_component(picture, component).next();
    let severity = if work == 0 { Note } else { Broken };
    let awaited = awaited(component);
    let finding = match lease {
        Some(lease) => Finding::new(severity, "controller-silent", lease)
            .at("spec.renewTime")
            .because(match holder(picture, lease) {
                Holder::Silent(holder, seconds) => format!(
                    "{holder} held it, and has given no sign for {}: nobody looks after {awaited} ({work} there)",
                    words(seconds)
                ),
                _ => format!(
                    "it was given back, and nobody took it: nobody looks after {awaited} ({work} there)"
                ),
            }),
        // Where nothing is to be done, nobody is missed.
        None if work == 0 || !is_known_to_be_missing(picture, component) => return None,
        None => {
            let expected = expected(component);
            let cause = if picture.is_absent(kinds::NAMESPACE, "", &expected.namespace) {
                format!(
                    "there is no namespace {}, which it would be in: nobody looks after {awaited} ({work} there)",
                    expected.namespace
                )
            } else {
                format!("there is no such Lease: nobody has ever looked after {awaited} ({work} there)")
            };
            Finding::about(severity, "controller-missing", expected).because(cause)
        }
    };
    let deployments = picture
        .all(kinds::DEPLOYMENT)
        .filter(|deployment| text(deployment, "/metadata/name") == component.deployment())
        .map(Subject::of);
    Some(
        finding
            .next(
                "see whether the controllers run: kubectl get pods -A -l app.kubernetes.io/part-of=olm; or start them: \
                 baton controllers",
            )
            .suspecting(deployments),
    )
}

/// What a component looks after, for people.
pub(crate) fn awaited(component: Component) -> &'static str {
    match component {
        Component::Catalogs => "ClusterCatalogs",
        Component::Extensions => "ClusterExtensions",
        Component::Subscriptions => "Subscriptions and CatalogSources",
    }
}

/// Returns whether the Lease of a component was looked for in vain.
pub(crate) fn is_known_to_be_missing(picture: &Picture, component: Component) -> bool {
    let expected = expected(component);
    of_component(picture, component).next().is_none()
        && picture.is_absent(kinds::LEASE, &expected.namespace, &expected.name)
}

/// How many objects wait for a component.
fn work(picture: &Picture, component: Component) -> usize {
    match component {
        Component::Catalogs => picture.all(kinds::CLUSTER_CATALOG).count(),
        Component::Extensions => {
            picture.all(kinds::CLUSTER_EXTENSION).count() + picture.all(kinds::CLUSTER_OBJECT_SET).count()
        }
        Component::Subscriptions => {
            picture.all(kinds::SUBSCRIPTION).count() + picture.all(kinds::CATALOG_SOURCE).count()
        }
    }
}

/// Returns whether upstream's OLM v0 runs, which holds no Lease.
pub(crate) fn does_upstream_work(picture: &Picture, component: Component) -> bool {
    component == Component::Subscriptions && super::two_olms::upstream(picture, component).next().is_some()
}

fn silent_operator(picture: &Picture, lease: &Value) -> Option<Finding> {
    let Holder::Silent(holder, seconds) = holder(picture, lease) else {
        return None;
    };
    Some(
        Finding::new(Risky, "operator-silent", lease)
            .at("spec.renewTime")
            .because(format!(
                "Helm operator {holder} has given no sign for {}, so that nobody looks after its resources",
                words(seconds)
            ))
            .next(format!(
                "start it again; if it is gone for good: kubectl delete {}",
                Subject::of(lease).for_kubectl()
            )),
    )
}

#[cfg(test)]
mod tests {
    use helm_operator::roster;
    use serde_json::json;

    use super::*;
    use crate::rules::testing::{object, picture, told};

    fn lease(namespace: &str, name: &str, holder: &str, renewed: &str) -> Value {
        object(
            "coordination.k8s.io/v1",
            "Lease",
            namespace,
            name,
            json!({
            "spec": {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": renewed}}),
        )
    }

    #[test]
    fn somebody_holds_the_lease_or_it_is_told() {
        let name = Component::Extensions.lease();
        let extension = || {
            object(
                "olm.operatorframework.io/v1",
                "ClusterExtension",
                "",
                "web",
                json!({}),
            )
        };
        for (objects, expected) in [
            (vec![], &[][..]),
            (
                vec![
                    extension(),
                    lease("olmv1-system", name, "a", "2026-06-01T11:59:50.000000Z"),
                ],
                &[][..],
            ),
            (
                vec![
                    extension(),
                    object("v1", "Namespace", "", "olmv1-system", json!({})),
                ],
                &[
                    "broken controller-missing Lease olmv1-system/9c4404e7.operatorframework.io: there is no such Lease: nobody has ever looked after ClusterExtensions (1 there)",
                ][..],
            ),
            (
                vec![extension()],
                &[
                    "broken controller-missing Lease olmv1-system/9c4404e7.operatorframework.io: there is no namespace olmv1-system, which it would be in: nobody looks after ClusterExtensions (1 there)",
                ][..],
            ),
            (
                vec![
                    extension(),
                    lease("elsewhere", name, "a", "2026-06-01T11:00:00.000000Z"),
                ],
                &[
                    "broken controller-silent Lease elsewhere/9c4404e7.operatorframework.io: a held it, and has given no sign for 60 min: nobody looks after ClusterExtensions (1 there)",
                ][..],
            ),
            (
                vec![lease("olmv1-system", name, "", "2026-06-01T11:59:50Z")],
                &[
                    "note controller-silent Lease olmv1-system/9c4404e7.operatorframework.io: it was given back, and nobody took it: nobody looks after ClusterExtensions (0 there)",
                ][..],
            ),
        ] {
            assert_eq!(told(&look(&picture(objects))), expected);
        }
    }

    #[test]
    fn an_operator_that_gives_no_sign_is_told_of() {
        let mut lease = lease("models", "baton-helm-operator-1", "stack", "2026-06-01T11:00:00Z");
        lease["metadata"]["labels"] = json!({roster::LABEL: "true"});
        assert_eq!(
            told(&look(&picture([lease.clone()]))),
            [
                "risky operator-silent Lease models/baton-helm-operator-1: Helm operator stack has given no sign for 60 min, so that nobody looks after its resources"
            ]
        );
        // A Lease of a pod has no time.
        lease["spec"] = json!({"holderIdentity": "stack-0"});
        assert!(look(&picture([lease])).is_empty());
    }
}
