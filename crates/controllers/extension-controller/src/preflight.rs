//! What is checked before a revision is made: that changed definitions do no harm to the resources that exist.

use api::ClusterExtension;
use api::cluster_extension::Enforcement;
use api::keys;
use apply::definition_safety;
use apply::object::annotation;
use apply::owners::controller;
use serde_json::Value;

use crate::failure::Failure;
use crate::settings::Settings;
use crate::snapshot::Content;

/// Returns whether definitions are checked at all.
pub fn is_wanted(extension: &ClusterExtension) -> bool {
    let install = extension.spec.install.as_ref();
    let preflight = install.and_then(|install| install.preflight.as_ref());
    let safety = preflight.and_then(|preflight| preflight.definition_upgrade_safety.as_ref());
    safety.is_none_or(|safety| safety.enforcement == Enforcement::Strict)
}

/// Checks the definitions among the objects against those in the cluster.
///
/// # Errors
///
/// If one is unsafe, or can't be compared.
pub fn check(extension: &ClusterExtension, settings: &Settings, content: &Content) -> Result<(), Failure> {
    if !is_wanted(extension) {
        return Ok(());
    }
    let existing = |name: &str| match content.definitions.get(name) {
        None => Ok(None),
        Some(Ok(definition)) if is_stand_in(definition) => Ok(None),
        Some(Ok(definition)) => Ok(Some(definition.clone())),
        Some(Err(cause)) => Err(cause.clone()),
    };
    definition_safety::preflight(&content.objects, existing, &settings.checks).map_err(Failure::passing)
}

/// Whether a definition only stands in for that of a package: nobody relies on the little that it says. One that an extension took
/// over keeps the annotation, and is the extension's.
fn is_stand_in(definition: &Value) -> bool {
    annotation(definition, keys::STAND_IN) == Some("true") && controller(definition).is_none()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_definition_stands_in_for_another_until_somebody_has_it() {
        let owner = json!([{"apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterObjectSet", "name": "a-1", "uid": "u",
            "controller": true}]);
        for (marks, owners, expected) in [
            (json!({keys::STAND_IN: "true"}), Value::Null, true),
            (json!({keys::STAND_IN: "true"}), owner.clone(), false),
            (json!({}), Value::Null, false),
            (json!({}), owner, false),
        ] {
            let definition = json!({"metadata": {"annotations": marks, "ownerReferences": owners}});
            assert_eq!(is_stand_in(&definition), expected, "{definition}");
        }
    }
}
