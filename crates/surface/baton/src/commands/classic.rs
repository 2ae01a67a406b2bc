//! `baton classic`: operators as OLM v0 knows them, by Subscriptions.

mod approve;
mod explain;
mod list;
mod migrate;
mod status;
mod subscribe;
mod uninstall;

use clap::Subcommand;

use crate::failure::Failure;
use crate::terminal::Terminal;

/// Subscribes to packages as OLM v0 does, approves plans, shows what they wait for, and uninstalls or migrates operators.
#[derive(Subcommand)]
pub(crate) enum ClassicCommand {
    Subscribe(Box<subscribe::Subscribe>),
    Approve(approve::Approve),
    List(list::List),
    Status(status::Status),
    Explain(Box<explain::Explain>),
    Uninstall(uninstall::Uninstall),
    Migrate(Box<migrate::Migrate>),
}

impl ClassicCommand {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        match self {
            Self::Subscribe(subscribe) => subscribe.run(terminal),
            Self::Approve(approve) => approve.run(terminal),
            Self::List(list) => list.run(terminal),
            Self::Status(status) => status.run(terminal),
            Self::Explain(explain) => explain.run(terminal),
            Self::Uninstall(uninstall) => uninstall.run(terminal),
            Self::Migrate(migrate) => migrate.run(terminal),
        }
    }
}
