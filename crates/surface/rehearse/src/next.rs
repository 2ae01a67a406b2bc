//! The bundle that an extension would go to, as the controller chooses it.

use std::collections::BTreeMap;

use api::cluster_extension::{
    DefinitionUpgradeSafety, Enforcement, Install, Preflight, UpgradeConstraintPolicy,
};
use api::{ClusterExtension, keys};
use apply::definition_safety::Checks;
use extension_controller::catalogs::Catalogs;
use extension_controller::choosing::{Target, choose};
use extension_controller::observing::Observer;
use extension_controller::preflight;
use extension_controller::settings::Settings;
use extension_controller::snapshot::{Content, NoContent};

use crate::impossible::Impossible;
use crate::rehearsal::extension_id;
use crate::report::{Break, Report};

/// What holds an extension back, or makes it go back: nobody waits for it on the stage.
const HELD_BACK_BY: [&str; 5] = [
    keys::APPROVAL,
    keys::PAUSE,
    keys::WINDOW,
    keys::WAITING,
    keys::ON_FAILURE,
];

/// The bundle that an extension would go to.
pub(crate) struct Next {
    /// The extension, as it would be asked for.
    pub(crate) extension: ClusterExtension,
    /// Which checks of changed definitions are done; none where none is.
    pub(crate) checks: Option<Checks>,
    /// The version that is installed.
    pub(crate) from: String,
    /// The bundle with its objects.
    pub(crate) content: Content,
}

/// What the controller comes to.
pub(crate) enum Chosen {
    /// A bundle that can be installed.
    Next(Box<Next>),
    /// A bundle that can't.
    Uninstallable(Box<Report>),
}

impl Next {
    /// Chooses the bundle for a version.
    pub(crate) async fn choose<C: Catalogs>(
        observer: &Observer<C>,
        name: &str,
        version: &str,
        force: bool,
    ) -> Result<Chosen, Impossible> {
        let found = observer.index.extension(name);
        let found = found.ok_or_else(|| Impossible::NotInstalled(name.to_owned()))?;
        let from = found
            .status
            .install
            .as_ref()
            .map(|install| install.bundle.clone());
        let from = from.ok_or_else(|| Impossible::NotInstalled(name.to_owned()))?;
        let settings = Settings::read(&found.metadata.annotations.clone().unwrap_or_default());
        let checks = settings.map(|settings| settings.checks).unwrap_or_default();
        let checks = preflight::is_wanted(&found).then_some(checks);
        let extension =
            asking(&found, version, force).ok_or_else(|| Impossible::NoCatalog(name.to_owned()))?;
        let snapshot = observer.observe(&extension).await;
        let choice = choose(&snapshot);
        let no_bundle = |cause: String| Impossible::NoBundle {
            extension: name.to_owned(),
            version: version.to_owned(),
            cause,
        };
        let bundle = match &choice.target {
            Target::Bundle(bundle) => bundle,
            Target::Unknown(failure) => return Err(no_bundle(failure.message.clone())),
            Target::AsItIs | Target::Again { .. } | Target::Image(_) => {
                let cause = choice.wait.map(|wait| wait.to_string());
                return Err(no_bundle(
                    cause.unwrap_or_else(|| "the controller would leave it as it is".to_owned()),
                ));
            }
        };
        if bundle.metadata == from {
            return Err(Impossible::Installed {
                extension: name.to_owned(),
                version: from.version,
            });
        }
        match observer.content(&snapshot, &choice).await {
            Some(Ok(content)) => Ok(Chosen::Next(Box::new(Self {
                extension,
                checks,
                from: from.version,
                content,
            }))),
            Some(Err(NoContent::Apply(failure))) => {
                let mut report = Report {
                    extension: name.to_owned(),
                    from: from.version,
                    to: bundle.metadata.version.clone(),
                    ..Report::default()
                };
                report.would_break.push(Break {
                    object: extension_id(&extension),
                    field: None,
                    cause: format!(
                        "bundle {} can't be installed: {}",
                        bundle.metadata.name, failure.message
                    ),
                    next_step: "change how the extension is configured, or ask the author to mend the bundle"
                        .to_owned(),
                });
                Ok(Chosen::Uninstallable(Box::new(report)))
            }
            Some(Err(NoContent::Pull(failure))) => Err(no_bundle(failure.message)),
            None => Err(no_bundle("the controller would leave it as it is".to_owned())),
        }
    }

    /// A report that says nothing yet.
    pub(crate) fn report(&self) -> Report {
        Report {
            extension: self.extension.name().to_owned(),
            from: self.from.clone(),
            to: self.content.bundle.metadata.version.clone(),
            ..Report::default()
        }
    }
}

/// Returns an extension as it would be asked for: to go to a version, now, whatever becomes of definitions. None if it
/// follows no catalog.
///
/// What is wrong with definitions is told apart, so that it hides nothing of what comes after.
fn asking(extension: &ClusterExtension, version: &str, force: bool) -> Option<ClusterExtension> {
    let mut asking = extension.clone();
    let catalog = asking.spec.source.catalog.as_mut()?;
    version.clone_into(&mut catalog.version);
    if force {
        catalog.upgrade_constraint_policy = UpgradeConstraintPolicy::SelfCertified;
    }
    let annotations: &mut BTreeMap<String, String> = asking.metadata.annotations.get_or_insert_default();
    if annotations.contains_key(keys::BUNDLE_IMAGE) {
        return None;
    }
    annotations.retain(|key, _| !HELD_BACK_BY.contains(&key.as_str()));
    annotations.insert(keys::APPROVE.to_owned(), version.to_owned());
    asking.spec.install = Some(Install {
        preflight: Some(Preflight {
            definition_upgrade_safety: Some(DefinitionUpgradeSafety {
                enforcement: Enforcement::None,
            }),
        }),
    });
    Some(asking)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_holds_a_rehearsal_back() {
        let extension = |annotations| -> ClusterExtension {
            serde_json::from_value(json!({
                "metadata": {"name": "web", "annotations": annotations},
                "spec": {"namespace": "web", "source": {"sourceType": "Catalog", "catalog": {"packageName": "web"}}},
            }))
            .expect("an extension")
        };
        let held = extension(
            json!({keys::PAUSE: "true", keys::APPROVAL: "manual", keys::WINDOW: "Sat 02:00-05:00 UTC",
            keys::ADOPT: "unowned"}),
        );
        let asked = asking(&held, "1.1.0", true).expect("it follows a catalog");
        assert_eq!(
            asked.metadata.annotations,
            Some(BTreeMap::from([
                (keys::ADOPT.to_owned(), "unowned".to_owned()),
                (keys::APPROVE.to_owned(), "1.1.0".to_owned())
            ]))
        );
        let catalog = asked.spec.source.catalog.as_ref().expect("a catalog");
        assert_eq!(catalog.version, "1.1.0");
        assert_eq!(
            catalog.upgrade_constraint_policy,
            UpgradeConstraintPolicy::SelfCertified
        );
        assert!(!preflight::is_wanted(&asked));
        assert!(asking(&extension(json!({keys::BUNDLE_IMAGE: "i"})), "1.1.0", false).is_none());
    }
}
