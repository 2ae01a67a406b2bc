//! `baton approve`: the word that an extension with manual approval waits for.

use api::keys;
use clap::Args;
use serde_json::json;

use crate::cluster::ClusterAccess;
use crate::commands::install::told;
use crate::extensions::{Extensions, waiting_version};
use crate::failure::Failure;
use crate::output::OutputFlag;
use crate::runtime;
use crate::terminal::Terminal;
use crate::waiting::WaitFlags;

/// Approves the version that an extension waits to go to.
#[derive(Args)]
pub(crate) struct Approve {
    /// The extension
    #[arg(value_name = "EXTENSION")]
    name: String,
    /// The version; without it, the one that waits now
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    #[command(flatten)]
    wait: WaitFlags,
    #[command(flatten)]
    access: ClusterAccess,
    #[command(flatten)]
    output: OutputFlag,
}

impl Approve {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        runtime::block_on(async {
            let extensions = Extensions::of(self.access.connect().await?);
            let extension = extensions.read(&self.name).await?;
            let version = match &self.version {
                Some(version) => version.clone(),
                None => waiting_version(&extension).cloned().ok_or_else(|| {
                    Failure::new(format!(
                        "ClusterExtension {0:?} has no version that waits; see `baton plan {0}`, or name one with --version to \
                         approve it in advance",
                        self.name
                    ))
                })?,
            };
            let change = json!({"metadata": {"annotations": {keys::APPROVE: version}}});
            let wanted = extensions.change(&self.name, &change).await?;
            terminal.remark(format!("approved version {version} of {}", self.name));
            let installed = extensions
                .wait_version(&wanted, &version, self.wait, terminal)
                .await?;
            self.output.print(terminal, &installed, told)
        })
    }
}
