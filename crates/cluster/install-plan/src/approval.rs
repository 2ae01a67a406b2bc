//! Approval of single operators of a plan that several share.
//!
//! Upstream has one plan for everything that a namespace's Subscriptions lead to, and approves it as a whole. The
//! annotation [`APPROVED`] of a plan names the ClusterServiceVersions that are approved, joined by commas; what they need
//! of the same plan is approved with them. Their steps are taken, and the plan goes on requiring approval for the rest.

use std::collections::{BTreeMap, BTreeSet};

use apply::object::{annotation, text};
use bundle::cluster_service_version::KIND as SERVICE_VERSION;
use classic::keys;
use resolve::classic::entry::Entry;
use resolve::classic::property::{Property, from_annotation};
use serde_json::Value;

use crate::manifest::{self, Contents, Reference};

/// The annotation of an InstallPlan with the ClusterServiceVersions of it that are approved.
pub const APPROVED: &str = "classic.baton.dev/approved-versions";

/// Returns the ClusterServiceVersions of a plan that are approved although the plan isn't.
pub fn approved_alone(plan: &Value, contents: &dyn Contents) -> BTreeSet<String> {
    let named: BTreeSet<&str> = annotation(plan, APPROVED)
        .into_iter()
        .flat_map(|names| names.split(','))
        .map(str::trim)
        .collect();
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

/// Returns the ClusterServiceVersions of a plan with what they say of themselves.
fn entries(plan: &Value, contents: &dyn Contents) -> BTreeMap<String, Entry> {
    let steps = plan.pointer("/status/plan").and_then(Value::as_array);
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
    let lookups = plan.pointer("/status/bundleLookups").and_then(Value::as_array);
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
    }
}
