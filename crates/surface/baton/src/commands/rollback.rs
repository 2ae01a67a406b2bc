//! `baton rollback`: an extension back at a version that it had before.

use api::{ClusterObjectSet, keys};
use clap::Args;
use extension_controller::wishes::{pin, rollback_target};
use kube::api::{Api, ListParams};

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
            let revisions = Api::<ClusterObjectSet>::all(client)
                .list(&owned)
                .await
                .map_err(|error| {
                    refused(
                        &format!("list the revisions of ClusterExtension {:?}", self.name),
                        error,
                    )
                })?
                .items;
            let revisions: Vec<&ClusterObjectSet> = revisions.iter().collect();
            let version =
                rollback_target(&extension, &revisions, self.to.as_deref()).map_err(Failure::new)?;
            terminal.remark(format!(
                "pins {} to version {version}; let it go on with: baton upgrade {} --version '' --no-force",
                self.name, self.name
            ));
            let wanted = extensions.change(&self.name, &pin(&version)).await?;
            let installed = extensions.wait_installed(&wanted, self.wait, terminal).await?;
            self.output.print(terminal, &installed, told)
        })
    }
}
