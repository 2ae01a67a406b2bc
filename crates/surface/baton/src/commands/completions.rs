//! `baton completions`: what a shell needs to complete baton's commands.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::failure::Failure;
use crate::terminal::Terminal;

/// Prints the completions of baton's commands for a shell.
#[derive(Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    pub(crate) fn run<P: CommandFactory>(self, terminal: &mut Terminal) -> Result<(), Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut P::command(), "baton", &mut script);
        terminal.print(&script)
    }
}
