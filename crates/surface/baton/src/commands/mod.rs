//! The commands, one module each.

mod dependency_files;
mod lint;
mod package;
mod show;
mod template;

use clap::Subcommand;

use crate::failure::Failure;
use crate::terminal::Terminal;

/// What baton can be told to do.
#[derive(Subcommand)]
pub(crate) enum Command {
    Template(Box<template::Template>),
    #[command(visible_alias = "inspect")]
    Show(show::Show),
    Lint(Box<lint::Lint>),
    Package(package::Package),
}

impl Command {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        match self {
            Self::Template(template) => template.run(terminal),
            Self::Show(show) => show.run(terminal),
            Self::Lint(lint) => lint.run(terminal),
            Self::Package(package) => package.run(terminal),
        }
    }
}
