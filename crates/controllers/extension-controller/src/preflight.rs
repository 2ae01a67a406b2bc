//! What is checked before a revision is made: that changed definitions do no harm to the resources that exist.

use api::ClusterExtension;
use api::cluster_extension::Enforcement;
use apply::definition_safety;

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
        Some(Ok(definition)) => Ok(Some(definition.clone())),
        Some(Err(cause)) => Err(cause.clone()),
    };
    definition_safety::preflight(&content.objects, existing, &settings.checks).map_err(Failure::passing)
}
