//! `baton bundle generate`: a bundle from a chart.

use bundle::generation::chart_check;
use clap::Args;

use super::charts::ChartCheckFlags;
use super::project::ProjectFlags;
use crate::failure::Failure;
use crate::terminal::Terminal;

/// Makes the bundle of an author's tree: ClusterServiceVersion, permissions, CRD, metadata.
#[derive(Args)]
pub(crate) struct Generate {
    #[command(flatten)]
    project: ProjectFlags,
    /// Say what the operator may do, and which template or value makes it need that
    #[arg(long)]
    explain_permissions: bool,
    /// Write nothing
    #[arg(long)]
    dry_run: bool,
    /// Write bundle.Dockerfile too, for those who build with a container tool
    #[arg(long)]
    dockerfile: bool,
    #[command(flatten)]
    chart: ChartCheckFlags,
}

impl Generate {
    pub(super) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        let made = self
            .project
            .generate(Vec::new(), self.chart.allowed()?, terminal)?;
        let generated = made.bundle;
        if self.explain_permissions {
            terminal.print(generated.derivation.to_string().as_bytes())?;
        }
        for undecided in &generated.derivation.undecided {
            terminal.remark(format!("permissions: {} {}", undecided.place, undecided.what));
        }
        if let Some(unfollowed) = chart_check::unfollowed(&made.project) {
            terminal.remark(unfollowed);
        }
        if self.dry_run {
            return Ok(());
        }
        self.project.write(&generated, self.dockerfile)?;
        let directory = self.project.bundle_directory();
        terminal.print(format!("{} in {}\n", generated.name, directory.display()).as_bytes())
    }
}
