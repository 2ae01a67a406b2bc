//! `baton plan`: what the controller would do now, object by object.

use std::fmt::Write as _;

use apply::diff::What;
use apply::engine::Engine;
use clap::Args;
use extension_controller::planning::{self, Planned, Tally};

use crate::extensions::Extensions;
use crate::failure::Failure;
use crate::observed_cluster::{self, ObservationFlags};
use crate::output::OutputFlag;
use crate::runtime;
use crate::terminal::Terminal;

/// Shows what the controller would do now for an extension, object by object, and changes nothing.
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
                .print(terminal, &planned, |planned| told(planned, self.all))
        })
    }
}

fn told(planned: &Planned, all: bool) -> String {
    let mut text = String::new();
    if let Some(waits_for) = &planned.waits_for {
        let _ = writeln!(
            text,
            "{}: version {waits_for} isn't rolled out yet",
            planned.extension
        );
    }
    if planned.revisions.is_empty() {
        let next = if planned.progress.starts_with("Succeeded") {
            String::new()
        } else {
            format!("; `baton explain {}` says what could", planned.extension)
        };
        let _ = writeln!(
            text,
            "{}: nothing happens ({}){next}",
            planned.extension, planned.progress
        );
        return text;
    }
    for revision in &planned.revisions {
        let _ = writeln!(
            text,
            "{}: {} revision {}",
            planned.extension,
            revision.action.verb(),
            revision.name
        );
        let shown = revision
            .objects
            .iter()
            .filter(|change| all || change.what != What::Same);
        for change in shown {
            // As in conditions, what is in no namespace has a slash before its name, which says nothing here.
            let told = change
                .to_string()
                .replacen(" /", " ", usize::from(change.id.namespace.is_empty()));
            for line in told.lines() {
                let _ = writeln!(text, "  {line}");
            }
        }
        let tally = Tally::of(&revision.objects);
        if !revision.objects.is_empty() {
            let _ = writeln!(
                text,
                "  {} to make, {} to change, {} to delete, {} as they are, {} refused",
                tally.made, tally.changed, tally.deleted, tally.same, tally.refused,
            );
        }
    }
    text
}
