//! Approval of single operators of a plan that several share.
//!
//! Upstream has one plan for everything that a namespace's Subscriptions lead to, and approves it as a whole. The
//! annotation [`APPROVED`] of a plan names the ClusterServiceVersions that are approved, joined by commas; what they need
//! of the same plan is approved with them. Their steps are taken, and the plan goes on requiring approval for the rest.

use std::collections::{BTreeMap, BTreeSet};

use apply::object::{annotation, at, text};
use bundle::cluster_service_version::KIND as SERVICE_VERSION;
use classic::keys;
use resolve::classic::entry::Entry;
use resolve::classic::property::{Property, from_annotation};
use serde_json::{Value, json};
use thiserror::Error;

use crate::manifest::{self, Contents, Reference};
use crate::plan::{phase, versions};

/// The annotation of an InstallPlan with the ClusterServiceVersions of it that are approved.
pub const APPROVED: &str = "classic.baton.dev/approved-versions";

/// Why a plan, or a part of it, can't be approved.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Unapprovable {
    /// It is approved already, or nobody knows yet what it takes, or it is over.
    #[error("InstallPlan {plan} doesn't wait for approval: it is {phase}")]
    NotWaiting {
        /// The plan, with what it installs.
        plan: String,
        /// How far it is.
        phase: String,
    },
    /// It doesn't install what shall be approved of it.
    #[error("InstallPlan {plan:?} doesn't install {unknown}; it installs {versions}")]
    NotInPlan {
        /// The plan.
        plan: String,
        /// What isn't in it.
        unknown: String,
        /// What is in it.
        versions: String,
    },
}

/// Returns whether a plan waits for somebody's word, for all of it or for a part.
pub fn waits(plan: &Value) -> bool {
    text(plan, "/status/phase") == phase::REQUIRES_APPROVAL
        && at(plan, "/spec/approved") != Some(&Value::Bool(true))
}

/// Says what of a plan is changed to approve it, or only some of its ClusterServiceVersions.
///
/// # Errors
///
/// [`Unapprovable`] where it doesn't wait, or doesn't install what shall be approved.
pub fn change(plan: &Value, only: &[String]) -> Result<Value, Unapprovable> {
    if !waits(plan) {
        return Err(not_waiting(plan));
    }
    if only.is_empty() {
        return Ok(json!({"spec": {"approved": true}}));
    }
    let versions = versions(plan);
    if let Some(unknown) = only.iter().find(|name| !versions.contains(&name.as_str())) {
        return Err(Unapprovable::NotInPlan {
            plan: text(plan, "/metadata/name").to_owned(),
            unknown: unknown.clone(),
            versions: versions.join(", "),
        });
    }
    let mut names = named(plan);
    names.extend(only.iter().map(String::as_str));
    let names: Vec<&str> = names.into_iter().collect();
    Ok(json!({"metadata": {"annotations": {APPROVED: names.join(",")}}}))
}

/// Says that a plan doesn't wait, and how far it is instead.
pub fn not_waiting(plan: &Value) -> Unapprovable {
    Unapprovable::NotWaiting {
        plan: in_words(plan),
        phase: match text(plan, "/status/phase") {
            "" => "not looked at yet".to_owned(),
            phase::REQUIRES_APPROVAL => "approved already".to_owned(),
            phase => phase.to_owned(),
        },
    }
}

/// Returns what a plan is called, and what it installs.
pub fn in_words(plan: &Value) -> String {
    format!(
        "{}/{} ({})",
        text(plan, "/metadata/namespace"),
        text(plan, "/metadata/name"),
        versions(plan).join(", ")
    )
}

/// Returns the ClusterServiceVersions that a plan's annotation names.
fn named(plan: &Value) -> BTreeSet<&str> {
    annotation(plan, APPROVED)
        .into_iter()
        .flat_map(|names| names.split(','))
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .collect()
}

/// Returns the ClusterServiceVersions of a plan that are approved although the plan isn't.
pub fn approved_alone(plan: &Value, contents: &dyn Contents) -> BTreeSet<String> {
    with_needs(plan, &named(plan), contents)
}

/// Returns ClusterServiceVersions of a plan, with everything of the same plan that they need.
pub fn with_needs(plan: &Value, named: &BTreeSet<&str>, contents: &dyn Contents) -> BTreeSet<String> {
    if named.is_empty() {
        return BTreeSet::new();
    }
    let entries = entries(plan, contents);
    let mut approved: BTreeSet<&str> = entries
        .keys()
        .map(String::as_str)
        .filter(|name| named.contains(name))
        .collect();
    let mut open: Vec<&str> = approved.iter().copied().collect();
    while let Some(name) = open.pop() {
        let Some(entry) = entries.get(name) else {
            continue;
        };
        // What can't be read of its needs may be any of the others.
        let is_needed = |other: &Entry| match entry.needs() {
            Ok(needs) => needs.iter().any(|need| need.is_met_by(other)),
            Err(_) => true,
        };
        for (other, candidate) in &entries {
            if !approved.contains(other.as_str()) && is_needed(candidate) {
                approved.insert(other);
                open.push(other);
            }
        }
    }
    approved.into_iter().map(str::to_owned).collect()
}

/// Returns a plan without the manifests of its steps, which may be large, but with all that approval reads of them.
pub fn reduced(mut plan: Value) -> Value {
    let steps = plan.pointer_mut("/status/plan").and_then(Value::as_array_mut);
    for step in steps.into_iter().flatten() {
        let kept = kept_manifest(step);
        if let Some(resource) = step.get_mut("resource").and_then(Value::as_object_mut) {
            match kept {
                Some(kept) => resource.insert("manifest".to_owned(), Value::from(kept)),
                None => resource.remove("manifest"),
            };
        }
    }
    plan
}

fn kept_manifest(step: &Value) -> Option<String> {
    if text(step, "/resource/kind") != SERVICE_VERSION {
        return None;
    }
    let manifest = manifest::parse(text(step, "/resource/manifest")).ok()?;
    if Reference::read(&manifest, text(step, "/resource/name")).is_some() {
        return Some(manifest.to_string());
    }
    let properties = annotation(&manifest, keys::PROPERTIES)?;
    Some(json!({"metadata": {"annotations": {keys::PROPERTIES: properties}}}).to_string())
}

/// Returns the ClusterServiceVersions of a plan with what they say of themselves.
pub fn entries(plan: &Value, contents: &dyn Contents) -> BTreeMap<String, Entry> {
    let steps = at(plan, "/status/plan").and_then(Value::as_array);
    let versions = steps
        .into_iter()
        .flatten()
        .filter(|step| text(step, "/resource/kind") == SERVICE_VERSION);
    versions
        .map(|step| {
            let name = text(step, "/resource/name");
            (
                name.to_owned(),
                Entry::new(name, properties(plan, step, contents)),
            )
        })
        .collect()
}

fn properties(plan: &Value, step: &Value, contents: &dyn Contents) -> Vec<Property> {
    let name = text(step, "/resource/name");
    let read = |annotation: &str| from_annotation(annotation).unwrap_or_default();
    let lookups = at(plan, "/status/bundleLookups").and_then(Value::as_array);
    let mut lookups = lookups.into_iter().flatten();
    if let Some(lookup) = lookups.find(|lookup| text(lookup, "/identifier") == name) {
        return read(text(lookup, "/properties"));
    }
    let Ok(manifest) = manifest::parse(text(step, "/resource/manifest")) else {
        return Vec::new();
    };
    match Reference::read(&manifest, name) {
        Some(reference) => contents
            .content(&reference)
            .map_or_else(Vec::new, |content| content.properties.clone()),
        None => annotation(&manifest, keys::PROPERTIES).map_or_else(Vec::new, read),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn step(name: &str, properties: &str) -> Value {
        let manifest = json!({"metadata": {"name": name, "annotations": {keys::PROPERTIES: properties}}});
        json!({
            "resolving": name, "status": "Unknown",
            "resource": {"kind": SERVICE_VERSION, "name": name, "manifest": manifest.to_string()},
        })
    }

    #[test]
    fn what_an_approved_operator_needs_is_approved_with_it() {
        let needs =
            r#"{"properties":[{"type":"olm.gvk.required","value":{"group":"g","version":"v1","kind":"K"}}]}"#;
        let provides =
            r#"{"properties":[{"type":"olm.gvk","value":{"group":"g","version":"v1","kind":"K"}}]}"#;
        let mut plan = json!({
            "metadata": {"name": "p", "namespace": "ns"},
            "status": {"plan": [step("a.v1", needs), step("b.v1", provides), step("c.v1", "{}")]},
        });
        assert!(approved_alone(&plan, &()).is_empty());
        plan["metadata"]["annotations"] = json!({APPROVED: "a.v1, unknown.v1"});
        let approved: Vec<String> = approved_alone(&plan, &()).into_iter().collect();
        assert_eq!(approved, ["a.v1", "b.v1"]);
        let named = BTreeSet::from(["b.v1"]);
        assert_eq!(
            with_needs(&plan, &named, &()),
            BTreeSet::from(["b.v1".to_owned()])
        );
    }

    #[test]
    fn a_reduced_plan_is_small_and_approved_like_the_whole() {
        let needs = r#"{"properties":[{"type":"olm.package.required","value":{"packageName":"b","versionRange":">=1.0.0"}}]}"#;
        let provides =
            r#"{"properties":[{"type":"olm.package","value":{"packageName":"b","version":"1.0.0"}}]}"#;
        let mut large = step("b.v1", provides);
        let manifest = json!({
            "metadata": {"name": "b.v1", "annotations": {keys::PROPERTIES: provides, "alm-examples": "x".repeat(10_000)}},
            "spec": {"description": "y".repeat(10_000)},
        });
        large["resource"]["manifest"] = Value::from(manifest.to_string());
        let secret = json!({"resource": {"kind": "Secret", "name": "s", "manifest": "z".repeat(10_000)}});
        let plan = json!({
            "metadata": {"name": "p", "namespace": "ns", "annotations": {APPROVED: "a.v1"}},
            "status": {"plan": [step("a.v1", needs), large, secret]},
        });
        let kept = reduced(plan.clone());
        assert!(kept.to_string().len() < 1_500, "{kept}");
        assert_eq!(approved_alone(&kept, &()), approved_alone(&plan, &()));
        assert_eq!(approved_alone(&kept, &()).len(), 2);
    }

    fn waiting() -> Value {
        json!({
            "metadata": {"namespace": "ns", "name": "install-1"},
            "spec": {"clusterServiceVersionNames": ["a.v1", "b.v1"], "approved": false},
            "status": {"phase": "RequiresApproval"},
        })
    }

    #[test]
    fn single_versions_are_approved_beside_those_that_are() {
        let mut plan = waiting();
        assert_eq!(change(&plan, &[]), Ok(json!({"spec": {"approved": true}})));
        plan["metadata"]["annotations"] = json!({APPROVED: "b.v1"});
        assert_eq!(
            change(&plan, &["a.v1".to_owned()]),
            Ok(json!({"metadata": {"annotations": {APPROVED: "a.v1,b.v1"}}}))
        );
        let refused = change(&plan, &["c.v1".to_owned()]).expect_err("not in the plan");
        assert_eq!(
            refused.to_string(),
            "InstallPlan \"install-1\" doesn't install c.v1; it installs a.v1, b.v1"
        );
    }

    #[test]
    fn only_a_plan_that_waits_is_approved() {
        let mut plan = waiting();
        for (phase, approved, said) in [
            ("Complete", true, "Complete"),
            ("", false, "not looked at yet"),
            ("RequiresApproval", true, "approved already"),
        ] {
            plan["status"]["phase"] = json!(phase);
            plan["spec"]["approved"] = json!(approved);
            let refused = change(&plan, &[]).expect_err("it doesn't wait");
            let expected =
                format!("InstallPlan ns/install-1 (a.v1, b.v1) doesn't wait for approval: it is {said}");
            assert_eq!(refused.to_string(), expected);
        }
    }
}
