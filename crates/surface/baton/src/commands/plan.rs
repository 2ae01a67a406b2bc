//! `baton plan`: what the controller would do now, object by object; and for a version that waits, what it would do then.

mod drawing;

use apply::engine::Engine;
use clap::Args;
use extension_controller::planning;

use crate::extensions::Extensions;
use crate::failure::Failure;
use crate::observed_cluster::{self, ObservationFlags};
use crate::output::OutputFlag;
use crate::runtime;
use crate::terminal::Terminal;

/// Shows what the controller would do for an extension now, or once the version that waits is approved, object by object.
///
/// Nothing is changed by that. Objects whose names carry the version are held against those whose place they take, and roles right
/// by right.
#[derive(Args)]
pub(crate) struct Plan {
    /// The extension
    #[arg(value_name = "EXTENSION")]
    name: String,
    /// As if this version, or range of versions, were asked for
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    /// As if the catalog's edges didn't matter
    #[arg(long)]
    force: bool,
    /// Show objects that stay as they are too
    #[arg(short, long)]
    all: bool,
    #[command(flatten)]
    observation: ObservationFlags,
    #[command(flatten)]
    output: OutputFlag,
}

impl Plan {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        runtime::block_on(async {
            let observer = observed_cluster::observe(&self.observation, terminal).await?;
            let mut extension = Extensions::of(observer.client.clone()).read(&self.name).await?;
            if let Some(catalog) = &mut extension.spec.source.catalog {
                if let Some(version) = &self.version {
                    catalog.version.clone_from(version);
                }
                if self.force {
                    catalog.upgrade_constraint_policy =
                        api::cluster_extension::UpgradeConstraintPolicy::SelfCertified;
                }
            }
            let engine = Engine::new(observer.client.clone(), self.observation.system_namespace.clone());
            let planned = planning::plan(&observer, &engine, &extension).await?;
            self.output
                .print(terminal, &planned, |planned| drawing::told(planned, self.all))
        })
    }
}
