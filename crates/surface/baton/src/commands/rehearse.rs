//! `baton rehearse`: an upgrade tried on a copy of what matters in a cluster.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use rehearse::{DEFAULT_SAMPLE, Rehearsal};

use crate::extensions::Extensions;
use crate::failure::Failure;
use crate::observed_cluster::{self, ObservationFlags, Origins};
use crate::output::OutputFlag;
use crate::runtime;
use crate::terminal::Terminal;

/// Tries an upgrade on a copy, and says what it would break, restart and change; the cluster is only read.
///
/// What matters of the cluster is copied to a throw-away stage in memory: the extension with its revisions, its
/// definitions and custom resources, and the objects that they made. The upgrade is played there, and every custom
/// resource is rendered with the new operator's chart. Values of Secrets stay where they are. The exit code is 0 if
/// nothing would break, 1 if something would, and 2 if it can't be told.
#[derive(Args)]
pub(crate) struct Rehearse {
    /// The extension
    #[arg(value_name = "EXTENSION")]
    name: String,
    /// The version to go to, or a range of versions
    #[arg(long, value_name = "VERSION")]
    to: String,
    /// As if the catalog's edges didn't matter
    #[arg(long)]
    force: bool,
    /// Copy at most this many custom resources of a kind
    #[arg(long, value_name = "NUMBER", default_value_t = NonZeroUsize::new(DEFAULT_SAMPLE).unwrap_or(NonZeroUsize::MIN))]
    sample: NonZeroUsize,
    /// Keep the stage in this folder, for a look at it with `baton stage --data-dir FOLDER`
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
    #[command(flatten)]
    observation: ObservationFlags,
    #[command(flatten)]
    output: OutputFlag,
}

impl Rehearse {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        let report = runtime::block_on(self.rehearse(terminal)).map_err(|failure| match failure {
            Failure::Message { text, .. } => Failure::Undecided(text),
            other => other,
        })?;
        self.output.print(terminal, &report, ToString::to_string)?;
        if report.is_fine() {
            Ok(())
        } else {
            Err(Failure::Told)
        }
    }

    async fn rehearse(&self, terminal: &mut Terminal) -> Result<rehearse::report::Report, Failure> {
        let Origins {
            client,
            catalogs,
            remotes,
            store,
        } = observed_cluster::open(&self.observation, terminal).await?;
        // One that isn't there is named beside those that are.
        Extensions::of(client.clone()).read(&self.name).await?;
        let rehearsal = Rehearsal {
            client,
            extension: self.name.clone(),
            version: self.to.clone(),
            force: self.force,
            sample: self.sample.get(),
            catalogs: Arc::new(catalogs),
            remotes,
            store,
            system_namespace: self.observation.system_namespace.clone(),
            keep: self.keep.clone(),
        };
        Ok(Box::pin(rehearsal.rehearse()).await?)
    }
}
