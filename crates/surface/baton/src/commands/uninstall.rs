//! `baton uninstall`: an extension and everything that it installed, gone.

use api::keys;
use clap::{Args, ValueEnum};
use serde_json::json;

use crate::cluster::ClusterAccess;
use crate::extensions::Extensions;
use crate::failure::Failure;
use crate::output::OutputFlag;
use crate::runtime;
use crate::terminal::Terminal;
use crate::waiting::WaitFlags;

/// Removes an extension and what it installed, and waits until all is gone.
#[derive(Args)]
pub(crate) struct Uninstall {
    /// The extension
    #[arg(value_name = "EXTENSION")]
    name: String,
    /// Leave something in the cluster
    #[arg(long, value_enum, value_name = "WHAT")]
    keep: Option<Keep>,
    #[command(flatten)]
    wait: WaitFlags,
    #[command(flatten)]
    access: ClusterAccess,
    #[command(flatten)]
    output: OutputFlag,
}

/// What stays in the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Keep {
    /// The definitions of custom resources, and with them the resources
    Crds,
    /// Everything; nobody looks after it any more
    Everything,
}

impl Uninstall {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        runtime::block_on(async {
            let extensions = Extensions::of(self.access.connect().await?);
            let extension = extensions.read(&self.name).await?;
            if let Some(keep) = self.keep {
                let value = match keep {
                    Keep::Crds => "keep-crds",
                    Keep::Everything => "orphan",
                };
                let change = json!({"metadata": {"annotations": {keys::ON_DELETE: value}}});
                extensions.change(&self.name, &change).await?;
            }
            extensions.delete(&self.name).await?;
            extensions.wait_gone(&self.name, self.wait).await?;
            self.output.print(terminal, &extension, |extension| {
                let (name, namespace) = (&self.name, &extension.spec.namespace);
                let stays = match self.keep {
                    None => format!("the namespace {namespace} stays"),
                    Some(Keep::Crds) => {
                        format!("its definitions with their resources and the namespace {namespace} stay")
                    }
                    Some(Keep::Everything) => {
                        format!("what it installed into the namespace {namespace} stays, and nobody looks after it")
                    }
                };
                if self.wait.is_declined() {
                    format!("{name} is being removed, see `baton status {name}`; {stays}\n")
                } else {
                    format!("{name} is gone; {stays}\n")
                }
            })
        })
    }
}
