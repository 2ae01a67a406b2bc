//! `opm alpha list`: what a catalog has, as tables.

use catalog::listing::{self, DisplayNames};
use gotemplate::format::quoted;

use crate::commands::opm::command::{Arguments, Command, Invocation};
use crate::commands::opm::ending::Ending;
use crate::commands::opm::references::read_catalog;
use crate::commands::opm::registries::Registries;
use crate::failure::Failure;
use crate::terminal::Terminal;

const NOTE: &str = "NOTE: This is meant to be used for convenience and human-readability only. The
CLI and output format are subject to change, so it is not recommended to depend
on the output in any programs or scripts. Use the \"render\" subcommand to do
more complex processing and automation.";

pub(super) fn command() -> Command {
    let with_note = |text: &str| format!("{text}\n\n{NOTE}");
    Command {
        line: "list",
        short: "List contents of an index",
        long: with_note("The list subcommands print the contents of an index."),
        commands: vec![
            Command {
                line: "packages <indexRef>",
                short: "List packages in an index",
                long: with_note("The \"channels\" command lists the channels from the specified index."),
                arguments: Arguments::Exactly(1),
                run: Some(packages),
                ..Command::default()
            },
            Command {
                line: "channels <indexRef> [packageName]",
                short: "List package channels in an index",
                long: with_note(
                    "The \"channels\" command lists the channels from the specified index and package.",
                ),
                arguments: Arguments::Between(1, 2),
                run: Some(channels),
                ..Command::default()
            },
            Command {
                line: "bundles <indexRef> <packageName>",
                short: "List package bundles in an index",
                long: with_note(
                    "The \"bundles\" command lists the bundles from the specified index and package.
Bundles that exist in multiple channels are duplicated in the output (one
for each channel in which the bundle is present).",
                ),
                arguments: Arguments::Between(1, 2),
                run: Some(bundles),
                ..Command::default()
            },
        ],
        ..Command::default()
    }
}

fn packages(invocation: &Invocation<'_>, terminal: &mut Terminal) -> Result<(), Ending> {
    print(invocation, terminal, |catalog, _| {
        listing::packages(catalog, DisplayNames::OfManifests)
    })
}

fn channels(invocation: &Invocation<'_>, terminal: &mut Terminal) -> Result<(), Ending> {
    print(invocation, terminal, listing::channels)
}

fn bundles(invocation: &Invocation<'_>, terminal: &mut Terminal) -> Result<(), Ending> {
    print(invocation, terminal, listing::bundles)
}

fn print(
    invocation: &Invocation<'_>,
    terminal: &mut Terminal,
    table: impl FnOnce(&catalog::objects::Catalog, Option<&str>) -> Result<String, listing::ListError>,
) -> Result<(), Ending> {
    let list = || -> Result<String, Failure> {
        let registries = Registries::of(invocation)?;
        let reference = invocation.argument(0);
        let refusal = format!("cannot list non-index {}", quoted(reference));
        let catalog = read_catalog(&registries, reference, &refusal, terminal)?;
        let package = Some(invocation.argument(1)).filter(|package| !package.is_empty());
        Ok(table(&catalog, package)?)
    };
    let text = list().map_err(Ending::logger)?;
    Ok(terminal.print(text.as_bytes())?)
}
