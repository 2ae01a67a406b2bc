//! Subscriptions of OLM v0: what they wait for, and what is said against what they have.

use apply::object::{is_terminating, text};
use install_plan::standing::{Standing, current_version, in_pieces, standing};
use serde_json::Value;

use crate::conditions::{condition, deprecations, shortened};
use crate::finding::Finding;
use crate::finding::Severity::{Broken, Note, Risky};
use crate::kinds;
use crate::moment::{PATIENCE_SECONDS, seconds_since};
use crate::picture::Picture;
use crate::rules::leases;
use crate::subject::Subject;

/// Looks at all Subscriptions.
pub fn look(picture: &Picture) -> Vec<Finding> {
    let mut findings = Vec::new();
    let all = picture.all(kinds::SUBSCRIPTION);
    for subscription in all.filter(|subscription| !is_terminating(subscription)) {
        let missing = missing_group(picture, subscription).or_else(|| missing_source(picture, subscription));
        findings.extend(missing.or_else(|| waiting(picture, subscription)));
        findings.extend(deprecated(subscription));
    }
    findings
}

fn missing_group(picture: &Picture, subscription: &Value) -> Option<Finding> {
    let namespace = text(subscription, "/metadata/namespace");
    let has_none = picture.has_seen_all(kinds::OPERATOR_GROUP, namespace)
        && picture
            .in_namespace(kinds::OPERATOR_GROUP, namespace)
            .next()
            .is_none();
    has_none.then(|| {
        Finding::new(Broken, "subscription-without-operator-group", subscription)
            .at("metadata.namespace")
            .because(format!(
                "namespace {namespace} has no OperatorGroup, and nothing is installed without one"
            ))
            .next(format!(
                "make one that says which namespaces the operator watches; for all of them: echo '{{\"apiVersion\":\
                 \"operators.coreos.com/v1\",\"kind\":\"OperatorGroup\",\"metadata\":{{\"name\":\"{namespace}\"}}}}' | \
                 kubectl apply -n {namespace} -f -"
            ))
    })
}

fn source_of(subscription: &Value) -> (&str, &str) {
    (
        text(subscription, "/spec/sourceNamespace"),
        text(subscription, "/spec/source"),
    )
}

fn missing_source(picture: &Picture, subscription: &Value) -> Option<Finding> {
    let (namespace, name) = source_of(subscription);
    picture
        .is_absent(kinds::CATALOG_SOURCE, namespace, name)
        .then(|| {
            let known: Vec<String> = picture
                .all(kinds::CATALOG_SOURCE)
                .map(|source| {
                    format!(
                        "{}/{}",
                        text(source, "/metadata/namespace"),
                        text(source, "/metadata/name")
                    )
                })
                .collect();
            let known = if known.is_empty() {
                "none".to_owned()
            } else {
                known.join(", ")
            };
            Finding::new(Broken, "subscription-without-catalog", subscription)
                .at("spec.source")
                .because(format!(
                    "it names CatalogSource {namespace}/{name}, which isn't there; there are: {known}"
                ))
                .next(format!(
                    "name one that has the package: kubectl edit {}",
                    Subject::of(subscription).for_kubectl()
                ))
        })
}

fn waiting(picture: &Picture, subscription: &Value) -> Option<Finding> {
    let (namespace, name) = (
        text(subscription, "/metadata/namespace"),
        text(subscription, "/metadata/name"),
    );
    let plan_name = text(subscription, "/status/installPlanRef/name");
    let plan = picture.get(kinds::INSTALL_PLAN, namespace, plan_name);
    let version = picture.get(kinds::SERVICE_VERSION, namespace, current_version(subscription));
    let see = format!("see all of it: baton classic status {name} -n {namespace}");
    let finding = match standing(subscription, plan, version) {
        Standing::Done(_) => return None,
        Standing::NeedsApproval { plan, versions } => {
            Finding::new(Note, "subscription-waits-for-approval", subscription)
                .at("status.installPlanRef")
                .because(format!(
                    "InstallPlan {plan} ({}) waits for somebody's word",
                    versions.join(", ")
                ))
                .next(format!("baton classic approve {plan} -n {namespace}"))
        }
        Standing::Stopped(why) => Finding::new(Broken, "subscription-stopped", subscription)
            .at("status")
            .because(shortened(&in_pieces(&why)))
            .next(format!(
                "see what excludes each version: baton classic explain {name} -n {namespace}"
            )),
        Standing::Underway(why) => {
            let is_refused = condition(subscription, "ResolutionFailed").is_some_and(|said| said.is_true());
            let age =
                seconds_since(subscription, "/metadata/creationTimestamp", picture.now).unwrap_or_default();
            let severity = match (is_refused, age > PATIENCE_SECONDS) {
                (true, _) => Broken,
                (false, true) => Risky,
                (false, false) => Note,
            };
            Finding::new(severity, "subscription-waits", subscription)
                .at("status")
                .because(shortened(&in_pieces(&why)))
                .next(see)
        }
    };
    let (source_namespace, source) = source_of(subscription);
    let suspects = [
        Subject::new(kinds::INSTALL_PLAN, namespace, plan_name),
        Subject::new(kinds::SERVICE_VERSION, namespace, current_version(subscription)),
        Subject::new(kinds::CATALOG_SOURCE, source_namespace, source),
    ];
    let groups = picture
        .in_namespace(kinds::OPERATOR_GROUP, namespace)
        .map(Subject::of);
    Some(
        finding
            .suspecting(suspects)
            .suspecting(groups)
            .suspecting(unhealthy_neighbours(picture, namespace))
            .suspecting(leases::of_subscriptions(picture)),
    )
}

/// Everything that a namespace's Subscriptions draw from: one catalog that isn't well holds up all of them.
fn unhealthy_neighbours<'a>(picture: &'a Picture, namespace: &'a str) -> impl Iterator<Item = Subject> + 'a {
    picture
        .in_namespace(kinds::SUBSCRIPTION, namespace)
        .map(source_of)
        .map(|(namespace, name)| Subject::new(kinds::CATALOG_SOURCE, namespace, name))
}

fn deprecated(subscription: &Value) -> Option<Finding> {
    let (namespace, name) = (
        text(subscription, "/metadata/namespace"),
        text(subscription, "/metadata/name"),
    );
    let (kind, said) = deprecations(subscription)?;
    Some(
        Finding::new(Risky, "subscription-deprecated", subscription)
            .at_condition(kind)
            .because(format!("what it asks for is deprecated: {said}"))
            .next(format!(
                "see which channels there are: baton classic explain {name} -n {namespace}; then change spec.channel"
            )),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::testing::{object, picture, told};

    const ALPHA: &str = "operators.coreos.com/v1alpha1";

    fn subscription(status: Value) -> Value {
        object(
            ALPHA,
            "Subscription",
            "apps",
            "web",
            json!({
                "spec": {"name": "web-operator", "source": "models", "sourceNamespace": "olm"},
                "status": status,
            }),
        )
    }

    fn group() -> Value {
        object(
            "operators.coreos.com/v1",
            "OperatorGroup",
            "apps",
            "apps",
            json!({}),
        )
    }

    fn source() -> Value {
        object(ALPHA, "CatalogSource", "olm", "models", json!({}))
    }

    #[test]
    fn a_subscription_says_what_it_lacks_or_waits_for() {
        let failed = json!({"conditions": [{"type": "ResolutionFailed", "status": "True",
            "reason": "ErrorPreventedResolution", "message": "olm/models isn't connected"}]});
        let unsatisfiable = json!({"conditions": [{"type": "ResolutionFailed", "status": "True",
            "reason": "ConstraintsNotSatisfiable", "message": "no operators found"}]});
        let plan = object(
            ALPHA,
            "InstallPlan",
            "apps",
            "install-1",
            json!({
                "spec": {"clusterServiceVersionNames": ["web.v2"], "approved": false},
                "status": {"phase": "RequiresApproval"},
            }),
        );
        let version = object(
            ALPHA,
            "ClusterServiceVersion",
            "apps",
            "web.v1",
            json!({"status": {"phase": "Succeeded"}}),
        );
        let installed = json!({"installedCSV": "web.v1", "currentCSV": "web.v1"});
        let mut old = installed.clone();
        old["conditions"] = json!([{"type": "BundleDeprecated", "status": "True", "message": "take web.v2"}]);
        for (objects, expected) in [
            (
                vec![subscription(installed), group(), source(), version.clone()],
                &[][..],
            ),
            (
                vec![subscription(json!({})), source()],
                &[
                    "broken subscription-without-operator-group Subscription apps/web: namespace apps has no OperatorGroup, and nothing is installed without one",
                ][..],
            ),
            (
                vec![subscription(json!({})), group()],
                &[
                    "broken subscription-without-catalog Subscription apps/web: it names CatalogSource olm/models, which isn't there; there are: none",
                ][..],
            ),
            (
                vec![subscription(failed), group(), source()],
                &[
                    "broken subscription-waits Subscription apps/web: it can't be resolved yet: olm/models isn't connected",
                ][..],
            ),
            (
                vec![subscription(unsatisfiable), group(), source()],
                &["broken subscription-stopped Subscription apps/web: nothing fits: no operators found"][..],
            ),
            (
                vec![
                    subscription(json!({"installPlanRef": {"name": "install-1"}})),
                    group(),
                    source(),
                    plan,
                ],
                &[
                    "note subscription-waits-for-approval Subscription apps/web: InstallPlan install-1 (web.v2) waits for somebody's word",
                ][..],
            ),
            (
                vec![subscription(json!({})), group(), source()],
                &["risky subscription-waits Subscription apps/web: waiting for the controller to resolve it"]
                    [..],
            ),
            (
                vec![subscription(old), group(), source(), version],
                &[
                    "risky subscription-deprecated Subscription apps/web: what it asks for is deprecated: take web.v2",
                ][..],
            ),
        ] {
            assert_eq!(told(&look(&picture(objects))), expected);
        }
    }
}
