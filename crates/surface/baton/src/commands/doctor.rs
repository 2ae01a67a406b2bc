//! `baton doctor`: what is wrong in a cluster, and the next step.

pub(crate) mod drawing;

use clap::Args;
use doctor::Report;

use crate::cluster::ClusterAccess;
use crate::cluster_picture::{self, Keep};
use crate::failure::Failure;
use crate::output::OutputFlag;
use crate::runtime;
use crate::terminal::Terminal;

/// Says what is wrong in a cluster, root causes first, and what to do next.
///
/// It only reads. It ends with 0 where nothing is broken, with 1 where something is, and with 2 where the cluster can't be
/// looked at.
#[derive(Args)]
pub(crate) struct Doctor {
    #[command(flatten)]
    pub(crate) scope: Scope,
    #[command(flatten)]
    access: ClusterAccess,
    #[command(flatten)]
    output: OutputFlag,
}

/// Where is looked.
#[derive(Args)]
pub(crate) struct Scope {
    /// Look at this namespace, and at what belongs to none
    #[arg(short, long, value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,
    /// Look at all namespaces, which is what happens where none is named
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    all_namespaces: bool,
}

impl Doctor {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        runtime::block_on(async {
            let client = self.access.connect().await.map_err(undecided)?;
            let namespace = self.scope.namespace.as_deref();
            let seen = cluster_picture::look(&client, namespace, Keep::Little).await?;
            let report = Report::of(&seen.picture);
            if self.output.is_for_programs() {
                self.output.print(terminal, &report, |_| String::new())?;
            } else {
                terminal.print_styled(&drawing::draw(&report))?;
            }
            if report.broken > 0 {
                return Err(Failure::Told);
            }
            Ok(())
        })
    }
}

/// Who can't reach a cluster knows nothing of it.
fn undecided(failure: Failure) -> Failure {
    match failure {
        Failure::Message { text, .. } => Failure::Undecided(text),
        other => other,
    }
}
