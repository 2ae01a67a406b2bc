//! The commands, one module each.

mod bundle;
mod catalog;
mod dependency_files;
mod init;
mod lint;
pub(crate) mod opm;
mod package;
mod publish;
mod registry;
mod show;
mod stage;
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
    Init(init::Init),
    #[command(subcommand)]
    Bundle(Box<bundle::BundleCommand>),
    #[command(subcommand)]
    Catalog(Box<catalog::CatalogCommand>),
    Publish(Box<publish::Publish>),
    Opm(opm::Opm),
    #[command(subcommand)]
    Registry(registry::RegistryCommand),
    Stage(stage::Stage),
}

impl Command {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        match self {
            Self::Template(template) => template.run(terminal),
            Self::Show(show) => show.run(terminal),
            Self::Lint(lint) => lint.run(terminal),
            Self::Package(package) => package.run(terminal),
            Self::Init(init) => init.run(terminal),
            Self::Bundle(bundle) => bundle.run(terminal),
            Self::Catalog(catalog) => catalog.run(terminal),
            Self::Opm(opm) => opm.run(terminal),
            Self::Publish(publish) => publish.run(terminal),
            Self::Registry(registry) => registry.run(terminal),
            Self::Stage(stage) => stage.run(terminal),
        }
    }
}
