//! `baton rollback`: an extension back at a version that it had before.

use api::cluster_extension::UpgradeConstraintPolicy;
use api::{ClusterExtension, ClusterObjectSet, condition, keys};
use clap::Args;
use kube::ResourceExt as _;
use kube::api::{Api, ListParams};
use serde_json::json;

use crate::cluster::{ClusterAccess, refused};
use crate::commands::install::told;
use crate::extensions::Extensions;
use crate::failure::Failure;
use crate::output::OutputFlag;
use crate::runtime;
use crate::terminal::Terminal;
use crate::waiting::WaitFlags;

/// Takes an extension back to a version that was rolled out before, and keeps it there.
#[derive(Args)]
pub(crate) struct Rollback {
    /// The extension
    #[arg(value_name = "EXTENSION")]
    name: String,
    /// The version; without it, the one before the installed one
    #[arg(long, value_name = "VERSION")]
    to: Option<String>,
    #[command(flatten)]
    wait: WaitFlags,
    #[command(flatten)]
    access: ClusterAccess,
    #[command(flatten)]
    output: OutputFlag,
}

impl Rollback {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        runtime::block_on(async {
            let client = self.access.connect().await?;
            let extensions = Extensions::of(client.clone());
            let extension = extensions.read(&self.name).await?;
            let owned = ListParams::default().labels(&format!("{}={}", keys::OWNER_NAME, self.name));
            let mut revisions = Api::<ClusterObjectSet>::all(client)
                .list(&owned)
                .await
                .map_err(|error| {
                    refused(
                        &format!("list the revisions of ClusterExtension {:?}", self.name),
                        error,
                    )
                })?
                .items;
            revisions.sort_by_key(|revision| std::cmp::Reverse(revision.spec.revision));
            let version = target(&extension, &revisions, self.to.as_deref()).map_err(Failure::new)?;
            terminal.remark(format!(
                "pins {} to version {version}; let it go on with: baton upgrade {} --version '' --no-force",
                self.name, self.name
            ));
            let change = json!({"spec": {"source": {"catalog": {
                "version": version,
                "upgradeConstraintPolicy": UpgradeConstraintPolicy::SelfCertified,
            }}}});
            let wanted = extensions.change(&self.name, &change).await?;
            let installed = extensions.wait_installed(&wanted, self.wait, terminal).await?;
            self.output.print(terminal, &installed, told)
        })
    }
}

/// The version to go back to: the asked one, or the newest rolled out one that isn't installed. `revisions` begins with
/// the newest.
fn target(
    extension: &ClusterExtension,
    revisions: &[ClusterObjectSet],
    asked: Option<&str>,
) -> Result<String, String> {
    let name = extension.name_any();
    let rolled_out =
        |revision: &&ClusterObjectSet| condition::is_true(&revision.status.conditions, "Succeeded");
    let version_of = |revision: &ClusterObjectSet| revision.annotations().get(keys::BUNDLE_VERSION).cloned();
    let mut versions: Vec<String> = Vec::new();
    for version in revisions.iter().filter(rolled_out).filter_map(version_of) {
        if !versions.contains(&version) {
            versions.push(version);
        }
    }
    let installed = extension
        .status
        .install
        .as_ref()
        .map(|install| install.bundle.version.as_str());
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

    #[test]
    fn one_goes_back_to_what_was_rolled_out_before() {
        let extension: ClusterExtension = from_value(json!({
            "metadata": {"name": "web"},
            "spec": {"namespace": "web", "source": {"sourceType": "Catalog", "catalog": {"packageName": "web"}}},
            "status": {"install": {"bundle": {"name": "web.v1.2.0", "version": "1.2.0"}}},
        }))
        .expect("an extension");
        let revisions = [
            revision(5, "1.3.0", "False"),
            revision(4, "1.2.0", "True"),
            revision(3, "1.2.0", "True"),
            revision(2, "1.1.0", "True"),
            revision(1, "1.0.0", "True"),
        ];
        let to = |asked| target(&extension, &revisions, asked);
        assert_eq!(to(None), Ok("1.1.0".to_owned()));
        assert_eq!(to(Some("1.0.0")), Ok("1.0.0".to_owned()));
        insta::assert_snapshot!(to(Some("1.3.0")).expect_err("never rolled out"), @r#"ClusterExtension "web" never had version 1.3.0: its revisions that were rolled out have 1.2.0, 1.1.0, 1.0.0; to take another one, use: baton upgrade web --version 1.3.0 --force"#);
        insta::assert_snapshot!(to(Some("1.2.0")).expect_err("installed"), @r#"ClusterExtension "web" has version 1.2.0 already; its revisions that were rolled out have 1.2.0, 1.1.0, 1.0.0"#);
        insta::assert_snapshot!(target(&extension, &revisions[..1], None).expect_err("nothing"), @r#"ClusterExtension "web" has nothing to go back to: no revision of it was ever rolled out"#);
    }
}
