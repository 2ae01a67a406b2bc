//! ClusterServiceVersions of OLM v0: operators that lack something, failed, or don't come to an end.

use apply::object::text;
use serde_json::Value;
use service_version::requirements::is_met;
use service_version::version::ServiceVersion;

use crate::conditions::shortened;
use crate::finding::Finding;
use crate::finding::Severity::{Broken, Risky};
use crate::kinds;
use crate::moment::{PATIENCE_SECONDS, seconds_since, words};
use crate::picture::Picture;
use crate::rules::leases;
use crate::subject::Subject;

/// How many unmet requirements are named; the rest is counted.
const NAMED: usize = 3;

/// Looks at all versions that are no copies.
pub fn look(picture: &Picture) -> Vec<Finding> {
    picture
        .all(kinds::SERVICE_VERSION)
        .filter_map(|object| judge(picture, object))
        .collect()
}

fn judge(picture: &Picture, object: &Value) -> Option<Finding> {
    let version = ServiceVersion::of(object);
    if version.is_copy() || version.is_terminating() {
        return None;
    }
    let (phase, reason) = (version.phase(), version.reason());
    let message = shortened(text(object, "/status/message"));
    let unmet = unmet(object);
    let describe = Subject::of(object).describe();
    let finding = match phase {
        "Succeeded" => return None,
        "Failed" => Finding::new(Broken, "version-failed", object)
            .at("status.reason")
            .because(format!("it failed, {reason}: {message}"))
            .next(describe),
        "Pending" if !unmet.is_empty() => Finding::new(Broken, "version-lacks-requirements", object)
            .at("status.requirementStatus")
            .because(format!("it lacks what it needs: {}", counted(&unmet)))
            .next(format!(
                "make what is missing, or install what provides it; all of it: {describe}"
            )),
        _ => {
            let since = seconds_since(object, "/status/lastTransitionTime", picture.now)
                .or_else(|| seconds_since(object, "/metadata/creationTimestamp", picture.now))?;
            if since <= PATIENCE_SECONDS {
                return None;
            }
            let phase = if phase.is_empty() { "not looked at" } else { phase };
            Finding::new(Risky, "version-not-done", object)
                .at("status.phase")
                .because(format!("it has been {phase} for {}: {message}", words(since)))
                .next(describe)
                .suspecting(leases::of_subscriptions(picture))
        }
    };
    let namespace = version.namespace();
    let deployments = version.deployments().iter();
    let definitions = version
        .required_definitions()
        .iter()
        .chain(version.owned_definitions());
    let groups = picture
        .in_namespace(kinds::OPERATOR_GROUP, namespace)
        .map(Subject::of);
    let is_about_groups = reason.contains("OperatorGroup") || reason.contains("InstallMode");
    let subscriptions = picture
        .in_namespace(kinds::SUBSCRIPTION, namespace)
        .filter(|_| reason == "NoOperatorGroup")
        .map(Subject::of);
    Some(
        finding
            .suspecting(deployments.map(|one| Subject::new(kinds::DEPLOYMENT, namespace, text(one, "/name"))))
            .suspecting(groups.filter(|_| is_about_groups))
            .suspecting(subscriptions)
            .suspecting(definitions.map(|one| Subject::new(kinds::DEFINITION, "", text(one, "/name")))),
    )
}

/// The requirements that aren't met, in words.
fn unmet(version: &Value) -> Vec<String> {
    let requirements = version
        .pointer("/status/requirementStatus")
        .and_then(Value::as_array);
    requirements
        .into_iter()
        .flatten()
        .filter(|requirement| !is_met(requirement))
        .map(|requirement| {
            let name = format!("{} {}", text(requirement, "/kind"), text(requirement, "/name"));
            let dependents = requirement.get("dependents").and_then(Value::as_array);
            let why = dependents
                .into_iter()
                .flatten()
                .filter(|dependent| !is_met(dependent))
                .map(|dependent| text(dependent, "/message"))
                .find(|message| !message.is_empty());
            match why.unwrap_or_else(|| text(requirement, "/message")) {
                "" => format!("{name} ({})", text(requirement, "/status")),
                why => format!("{name} ({})", shortened(why)),
            }
        })
        .collect()
}

fn counted(names: &[String]) -> String {
    let shown: Vec<&str> = names.iter().take(NAMED).map(String::as_str).collect();
    match names.len().saturating_sub(NAMED) {
        0 => shown.join("; "),
        more => format!("{}; and {more} more", shown.join("; ")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::testing::{object, picture, told};

    #[test]
    fn a_version_works_or_says_what_it_lacks() {
        let version = |labels: Value, status: Value| {
            let rest = json!({"metadata": {"labels": labels}, "status": status});
            object(
                "operators.coreos.com/v1alpha1",
                "ClusterServiceVersion",
                "apps",
                "web.v1",
                rest,
            )
        };
        let requirement = |name: &str, status: &str, message: &str| json!({"kind": "CustomResourceDefinition", "name": name, "status": status, "message": message});
        let lacking = json!({"phase": "Pending", "reason": "RequirementsNotMet", "requirementStatus": [
            requirement("a", "Present", ""), requirement("b", "NotPresent", "CRD is not present"),
            requirement("c", "NotPresent", ""), requirement("d", "NotPresent", ""), requirement("e", "NotPresent", "")]});
        let failed = json!({"phase": "Failed", "reason": "NoOperatorGroup", "message": "csv in namespace with no operatorgroups"});
        for (version, expected) in [
            (version(json!({}), json!({"phase": "Succeeded"})), &[][..]),
            (
                version(json!({"olm.copiedFrom": "operators"}), json!({"phase": "Failed"})),
                &[][..],
            ),
            (
                version(json!({}), failed),
                &[
                    "broken version-failed ClusterServiceVersion apps/web.v1: it failed, NoOperatorGroup: csv in namespace with no operatorgroups",
                ][..],
            ),
            (
                version(json!({}), lacking),
                &[
                    "broken version-lacks-requirements ClusterServiceVersion apps/web.v1: it lacks what it needs: CustomResourceDefinition b (CRD is not present); CustomResourceDefinition c (NotPresent); CustomResourceDefinition d (NotPresent); and 1 more",
                ][..],
            ),
            (
                version(
                    json!({}),
                    json!({"phase": "Installing", "message": "waiting for web", "lastTransitionTime": "2026-06-01T11:00:00Z"}),
                ),
                &[
                    "risky version-not-done ClusterServiceVersion apps/web.v1: it has been Installing for 60 min: waiting for web",
                ][..],
            ),
            (
                version(
                    json!({}),
                    json!({"phase": "Installing", "lastTransitionTime": "2026-06-01T11:59:00Z"}),
                ),
                &[][..],
            ),
        ] {
            assert_eq!(told(&look(&picture([version]))), expected);
        }
    }
}
