//! What people ask of an extension beside its spec, as changes of its object: what `baton approve`, `pause`, `resume` and
//! `rollback` write, and the buttons of the console.

use api::cluster_extension::UpgradeConstraintPolicy;
use api::{ClusterExtension, ClusterObjectSet, condition, keys};
use patch::merge_patch::merge;
use serde_json::{Value, json};

use crate::status::SUCCEEDED;

/// Returns the version that the controller noted as waiting.
pub fn waiting(extension: &ClusterExtension) -> Option<&str> {
    let annotations = extension.metadata.annotations.as_ref()?;
    annotations.get(keys::WAITING).map(String::as_str)
}

/// Returns the change that approves a version.
pub fn approve(version: &str) -> Value {
    json!({"metadata": {"annotations": {keys::APPROVE: version}}})
}

/// Returns the change after which an extension stays at its version, or follows its spec again.
pub fn pause(paused: bool) -> Value {
    json!({"metadata": {"annotations": {keys::PAUSE: paused.then_some("true")}}})
}

/// Returns the change that takes an extension to a version, whatever the catalog's edges say, and keeps it there.
pub fn pin(version: &str) -> Value {
    json!({"spec": {"source": {"catalog": {
        "version": version,
        "upgradeConstraintPolicy": UpgradeConstraintPolicy::SelfCertified,
    }}}})
}

/// Returns an extension as it would be after a change, for those who want to know what it would do.
///
/// # Errors
///
/// If it would be no extension any more.
pub fn changed(extension: &ClusterExtension, change: &Value) -> Result<ClusterExtension, String> {
    let object = serde_json::to_value(extension).map_err(|error| error.to_string())?;
    let object = merge(object, change.clone()).map_err(|error| error.message())?;
    serde_json::from_value(object).map_err(|error| error.to_string())
}

/// Returns the versions that were rolled out completely and can be gone back to, the newest first.
pub fn earlier_versions(extension: &ClusterExtension, revisions: &[&ClusterObjectSet]) -> Vec<String> {
    let installed = installed(extension);
    let mut versions = rolled_out(revisions);
    versions.retain(|version| installed != Some(version.as_str()));
    versions
}

/// Returns the version to go back to: the asked one, or the newest rolled out one that isn't installed.
///
/// # Errors
///
/// With what to do instead, where there is none.
pub fn rollback_target(
    extension: &ClusterExtension,
    revisions: &[&ClusterObjectSet],
    asked: Option<&str>,
) -> Result<String, String> {
    let name = extension.name();
    let versions = rolled_out(revisions);
    let installed = installed(extension);
    let there = || match versions.len() {
        0 => "no revision of it was ever rolled out".to_owned(),
        _ => format!("its revisions that were rolled out have {}", versions.join(", ")),
    };
    match asked {
        Some(asked) if installed == Some(asked) => Err(format!(
            "ClusterExtension {name:?} has version {asked} already; {}",
            there()
        )),
        Some(asked) if versions.iter().any(|version| version == asked) => Ok(asked.to_owned()),
        Some(asked) => Err(format!(
            "ClusterExtension {name:?} never had version {asked}: {}; to take another one, use: baton upgrade {name} --version \
             {asked} --force",
            there()
        )),
        None => versions
            .iter()
            .find(|version| installed != Some(version.as_str()))
            .cloned()
            .ok_or_else(|| format!("ClusterExtension {name:?} has nothing to go back to: {}", there())),
    }
}

fn installed(extension: &ClusterExtension) -> Option<&str> {
    let install = extension.status.install.as_ref()?;
    Some(install.bundle.version.as_str())
}

/// The versions of revisions that were rolled out, the newest first, each once.
fn rolled_out(revisions: &[&ClusterObjectSet]) -> Vec<String> {
    let mut revisions = revisions.to_vec();
    revisions.sort_by_key(|revision| std::cmp::Reverse(revision.spec.revision));
    let mut versions: Vec<String> = Vec::new();
    for revision in revisions {
        let annotations = revision.metadata.annotations.as_ref();
        let version = annotations.and_then(|all| all.get(keys::BUNDLE_VERSION));
        if let Some(version) = version
            && condition::is_true(&revision.status.conditions, SUCCEEDED)
            && !versions.contains(version)
        {
            versions.push(version.clone());
        }
    }
    versions
}

#[cfg(test)]
mod tests {
    use serde_json::from_value;

    use super::*;

    fn revision(number: i64, version: &str, succeeded: &str) -> ClusterObjectSet {
        from_value(json!({
            "metadata": {"name": format!("web-{number}"), "annotations": {keys::BUNDLE_VERSION: version}},
            "spec": {"lifecycleState": "Active", "revision": number, "collisionProtection": "Prevent"},
            "status": {"conditions": [{
                "type": "Succeeded", "status": succeeded, "reason": "Succeeded", "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }]},
        }))
        .expect("a revision")
    }

    fn extension(installed: &str) -> ClusterExtension {
        from_value(json!({
            "metadata": {"name": "web", "annotations": {keys::PAUSE: "true", "other": "kept"}},
            "spec": {"namespace": "web", "source": {"sourceType": "Catalog", "catalog": {"packageName": "web"}}},
            "status": {"install": {"bundle": {"name": format!("web.v{installed}"), "version": installed}}},
        }))
        .expect("an extension")
    }

    #[test]
    fn an_extension_goes_back_to_what_was_rolled_out() {
        let revisions = [
            revision(1, "1.0.0", "True"),
            revision(2, "1.1.0", "True"),
            revision(3, "1.2.0", "False"),
            revision(4, "1.3.0", "True"),
        ];
        let revisions: Vec<&ClusterObjectSet> = revisions.iter().collect();
        let target = |asked| rollback_target(&extension("1.3.0"), &revisions, asked);
        assert_eq!(target(None).as_deref(), Ok("1.1.0"));
        assert_eq!(target(Some("1.0.0")).as_deref(), Ok("1.0.0"));
        let refused = target(Some("1.2.0")).expect_err("it never rolled out");
        assert!(
            refused.contains("never had version 1.2.0") && refused.contains("1.3.0, 1.1.0, 1.0.0"),
            "{refused}"
        );
        assert!(target(Some("1.3.0")).is_err(), "it is installed");
        assert_eq!(
            earlier_versions(&extension("1.3.0"), &revisions),
            ["1.1.0", "1.0.0"]
        );
        let nothing = rollback_target(&extension("1.0.0"), &[], None).expect_err("there is none");
        assert!(
            nothing.contains("no revision of it was ever rolled out"),
            "{nothing}"
        );
    }

    #[test]
    fn a_change_can_be_tried_on_a_copy() {
        let before = extension("1.0.0");
        let annotations = |change: &Value| {
            let after = changed(&before, change).expect("an extension");
            after.metadata.annotations.unwrap_or_default()
        };
        let resumed = annotations(&pause(false));
        assert!(!resumed.contains_key(keys::PAUSE) && resumed["other"] == "kept");
        assert_eq!(annotations(&approve("1.1.0"))[keys::APPROVE], "1.1.0");
        let pinned = changed(&before, &pin("0.9.0")).expect("an extension");
        let catalog = pinned.spec.source.catalog.expect("a catalog");
        assert_eq!(
            (catalog.version.as_str(), catalog.upgrade_constraint_policy),
            ("0.9.0", UpgradeConstraintPolicy::SelfCertified)
        );
    }
}
