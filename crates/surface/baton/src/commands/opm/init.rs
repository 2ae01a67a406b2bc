//! `opm init`: the object that starts a package.

use std::path::Path;

use catalog::objects::Catalog;

use crate::commands::catalog::init::read;
use crate::terminal::Terminal;

use super::command::{Arguments, Command, Invocation};
use super::ending::Ending;
use super::flags::Flag;
use super::notation;

pub(super) fn command() -> Command {
    Command {
        line: "init <packageName>",
        short: "Generate an olm.package declarative config blob",
        arguments: Arguments::Exactly(1),
        flags: vec![
            Flag::text(
                "default-channel",
                "",
                "The channel that subscriptions will default to if unspecified",
            )
            .letter('c'),
            Flag::text("icon", "", "Path to package's icon").letter('i'),
            Flag::text(
                "description",
                "",
                "Path to the operator's README.md (or other documentation)",
            )
            .letter('d'),
            notation::flag("Output format (json|yaml)"),
        ],
        run: Some(run),
        ..Command::default()
    }
}

fn run(invocation: &Invocation<'_>, terminal: &mut Terminal) -> Result<(), Ending> {
    let notation = notation::of(invocation).map_err(Ending::logger)?;
    let file = |name: &str| Some(invocation.text(name)).filter(|file| !file.is_empty());
    let package = read(
        invocation.argument(0),
        invocation.text("default-channel"),
        file("icon").map(Path::new),
        file("description").map(Path::new),
    )
    .map_err(Ending::logger)?;
    let catalog = Catalog {
        packages: vec![package],
        ..Catalog::default()
    };
    notation.print(&catalog, terminal).map_err(Ending::logger)
}
