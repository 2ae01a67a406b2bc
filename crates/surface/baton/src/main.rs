//! The `baton` program: reads the command line, hands it to a command, and prints what comes of it.
//!
//! ```text
//! main ─► arguments (flags that commands share) ─► commands/<name> ─► chart (all rules) ─► terminal (all printing)
//! ```

#![allow(
    rustdoc::broken_intra_doc_links,
    reason = "comments on flags are the text of --help, where a bracket is a bracket"
)]

mod arguments;
mod attestations;
mod binaries;
mod built_images;
mod catalogs;
mod cluster;
mod cluster_content;
mod cluster_picture;
mod commands;
mod data_folder;
mod data_format;
mod extensions;
mod failure;
mod guarded_metrics;
mod hosted_stage;
mod image_platforms;
mod images;
mod instance;
mod kept_secret;
mod known_names;
mod kubeconfig;
mod leadership;
mod listening;
mod logging;
mod named_source;
mod observed_cluster;
mod offers;
mod olm;
mod output;
mod own_registry;
mod planned_steps;
mod process_metrics;
mod progress;
mod runtime;
mod served_router;
mod sources;
mod startup_code;
mod stop_signals;
mod subscriptions;
mod telemetry;
mod tenure;
mod terminal;
mod tls;
mod waiting;
mod written_files;

use std::path::Path;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory as _, Parser};

use crate::arguments::{plain_switches, usage_error};
use crate::commands::Command;
use crate::terminal::Terminal;

/// Makes Helm charts into operators with versions, installs and looks after operators, and renders, inspects, checks and
/// packages charts as Helm does.
#[derive(Parser)]
#[command(
    name = "baton",
    version,
    about,
    max_term_width = 110,
    subcommand_required = true,
    arg_required_else_help = true,
    args_override_self = true
)]
struct Program {
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    let mut terminal = Terminal::new();
    if is_called("opm") {
        let outcome = commands::opm::run(std::env::args_os().skip(1).collect(), &mut terminal);
        return terminal.finish(outcome);
    }
    let mut arguments: Vec<std::ffi::OsString> = std::env::args_os().collect();
    if is_called("helm-operator") {
        arguments.insert(1, "operator".into());
    }
    let outcome = match plain_switches(&Program::command(), arguments).map(Program::try_parse_from) {
        Err(failure) => Err(failure),
        Ok(Ok(program)) => program.command.run(&mut terminal),
        Ok(Err(help)) if is_help(help.kind()) => terminal.print_help(&help),
        Ok(Err(error)) => Err(usage_error(&error)),
    };
    terminal.finish(outcome)
}

/// Whether the program is called by this name, through a link or a copy.
fn is_called(name: &str) -> bool {
    std::env::args_os()
        .next()
        .is_some_and(|path| Path::new(&path).file_name().is_some_and(|file| file == name))
}

/// Whether what the command line gave rise to is a text that was asked for, or one for somebody who did not know what to
/// ask for.
fn is_help(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    )
}
