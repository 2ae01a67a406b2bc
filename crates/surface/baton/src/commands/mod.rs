//! The commands, one module each.

mod adopt;
mod approve;
mod bundle;
mod catalog;
mod classic;
mod completions;
mod controllers;
mod dependency_files;
mod deploy;
mod doctor;
mod down;
mod explain;
mod get;
mod init;
mod install;
mod lint;
mod login;
mod operator;
pub(crate) mod opm;
mod package;
mod pause;
mod plan;
mod publish;
mod reference;
mod registry;
mod rehearse;
mod rollback;
mod show;
mod snapshot;
mod stage;
mod status;
mod template;
mod uninstall;
pub(crate) mod up;
mod upgrade;
mod version;
mod why;

use clap::Subcommand;

use crate::failure::Failure;
use crate::terminal::Terminal;

/// What baton can be told to do.
#[derive(Subcommand)]
pub(crate) enum Command {
    Up(Box<up::Up>),
    Down(down::Down),
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
    Login(login::Login),
    Logout(login::Logout),
    Stage(stage::Stage),
    Controllers(Box<controllers::Controllers>),
    Deploy(Box<deploy::Deploy>),
    #[command(subcommand)]
    Operator(operator::OperatorCommand),
    Install(Box<install::Install>),
    Upgrade(upgrade::Upgrade),
    Rollback(rollback::Rollback),
    Uninstall(uninstall::Uninstall),
    Pause(pause::Pause),
    Resume(pause::Resume),
    Approve(approve::Approve),
    Adopt(Box<adopt::Adopt>),
    Get(get::Get),
    Status(status::Status),
    Plan(Box<plan::Plan>),
    Rehearse(Box<rehearse::Rehearse>),
    Explain(Box<explain::Explain>),
    Why(why::Why),
    Doctor(doctor::Doctor),
    Snapshot(snapshot::Snapshot),
    #[command(subcommand)]
    Classic(classic::ClassicCommand),
    Completions(completions::Completions),
    Version(version::Version),
    #[command(hide = true)]
    Reference(reference::Reference),
}

impl Command {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        match self {
            Self::Up(up) => up.run(terminal),
            Self::Down(down) => down.run(terminal),
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
            Self::Login(login) => login.run(terminal),
            Self::Logout(logout) => logout.run(terminal),
            Self::Stage(stage) => stage.run(terminal),
            Self::Controllers(controllers) => controllers.run(terminal),
            Self::Deploy(deploy) => deploy.run(terminal),
            Self::Operator(operator) => operator.run(terminal),
            Self::Install(install) => install.run(terminal),
            Self::Upgrade(upgrade) => upgrade.run(terminal),
            Self::Rollback(rollback) => rollback.run(terminal),
            Self::Uninstall(uninstall) => uninstall.run(terminal),
            Self::Pause(pause) => pause.run(terminal),
            Self::Resume(resume) => resume.run(terminal),
            Self::Adopt(adopt) => adopt.run(terminal),
            Self::Approve(approve) => approve.run(terminal),
            Self::Get(get) => get.run(terminal),
            Self::Status(status) => status.run(terminal),
            Self::Plan(plan) => plan.run(terminal),
            Self::Rehearse(rehearse) => rehearse.run(terminal),
            Self::Explain(explain) => explain.run(terminal),
            Self::Why(why) => why.run(terminal),
            Self::Doctor(doctor) => doctor.run(terminal),
            Self::Snapshot(snapshot) => snapshot.run(terminal),
            Self::Classic(classic) => classic.run(terminal),
            Self::Completions(completions) => completions.run::<crate::Program>(terminal),
            Self::Version(version) => version.run(terminal),
            Self::Reference(reference) => reference.run::<crate::Program>(terminal),
        }
    }
}
