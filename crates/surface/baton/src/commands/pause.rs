//! `baton pause` and `baton resume`: an extension that stays as it is for a while.

use api::{ClusterExtension, keys};
use clap::Args;
use serde_json::json;

use crate::cluster::ClusterAccess;
use crate::extensions::Extensions;
use crate::failure::Failure;
use crate::output::OutputFlag;
use crate::runtime;
use crate::terminal::Terminal;

/// Keeps an extension at its version until `baton resume`; what is installed is still repaired.
#[derive(Args)]
pub(crate) struct Pause {
    #[command(flatten)]
    pausing: Pausing,
}

/// Lets a paused extension change its version again.
#[derive(Args)]
pub(crate) struct Resume {
    #[command(flatten)]
    pausing: Pausing,
}

#[derive(Args)]
struct Pausing {
    /// The extension
    #[arg(value_name = "EXTENSION")]
    name: String,
    #[command(flatten)]
    access: ClusterAccess,
    #[command(flatten)]
    output: OutputFlag,
}

impl Pause {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        let paused = self.pausing.set(Some("true"))?;
        self.pausing.output.print(terminal, &paused, |_| {
            format!(
                "{0} stays at its version; let it go on with `baton resume {0}`\n",
                self.pausing.name
            )
        })
    }
}

impl Resume {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        let resumed = self.pausing.set(None)?;
        self.pausing.output.print(terminal, &resumed, |_| {
            format!("{} follows its spec again\n", self.pausing.name)
        })
    }
}

impl Pausing {
    fn set(&self, value: Option<&str>) -> Result<ClusterExtension, Failure> {
        runtime::block_on(async {
            let extensions = Extensions::of(self.access.connect().await?);
            extensions.read(&self.name).await?;
            let change = json!({"metadata": {"annotations": {keys::PAUSE: value}}});
            extensions.change(&self.name, &change).await
        })
    }
}
