//! `baton pause` and `baton resume`: an extension that stays as it is for a while.

use api::keys;
use clap::Args;
use serde_json::json;

use crate::cluster::ClusterAccess;
use crate::extensions::Extensions;
use crate::failure::Failure;
use crate::runtime;
use crate::terminal::Terminal;

/// Keeps an extension at its version until `baton resume`; what is installed is still repaired.
#[derive(Args)]
pub(crate) struct Pause {
    /// The extension
    #[arg(value_name = "EXTENSION")]
    name: String,
    #[command(flatten)]
    access: ClusterAccess,
}

/// Lets a paused extension change its version again.
#[derive(Args)]
pub(crate) struct Resume {
    /// The extension
    #[arg(value_name = "EXTENSION")]
    name: String,
    #[command(flatten)]
    access: ClusterAccess,
}

impl Pause {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        set_paused(&self.access, &self.name, true)?;
        terminal.remark(format!(
            "{0} stays at its version; let it go on with `baton resume {0}`",
            self.name
        ));
        Ok(())
    }
}

impl Resume {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        set_paused(&self.access, &self.name, false)?;
        terminal.remark(format!("{} follows its spec again", self.name));
        Ok(())
    }
}

fn set_paused(access: &ClusterAccess, name: &str, paused: bool) -> Result<(), Failure> {
    runtime::block_on(async {
        let extensions = Extensions::of(access.connect().await?);
        extensions.read(name).await?;
        let value = paused.then_some("true");
        let change = json!({"metadata": {"annotations": {keys::PAUSE: value}}});
        extensions.change(name, &change).await.map(drop)
    })
}
