//! `opm migrate`: a catalog brought up to date, a file for each package.

use std::fs;
use std::path::Path;

use catalog::writing;
use gotemplate::format::quoted;

use crate::failure::Failure;
use crate::terminal::Terminal;

use super::command::{Arguments, Command, Invocation};
use super::ending::{Ending, log_line};
use super::notation;
use super::references::{self, Allowed, cannot, without_image};
use super::registries::Registries;

const LONG: &str = "Migrate a file-based catalog image or directory to a new file-based catalog,
optionally applying migrations.

The input catalogRef may be a container image reference or a local directory
containing a file-based catalog.

NOTE: the --output=json format produces streamable, concatenated JSON files.
These are suitable to opm and jq, but may not be supported by arbitrary JSON
parsers that assume that a file contains exactly one valid JSON object.";

pub(super) fn command() -> Command {
    Command {
        line: "migrate <catalogRef> <outputDir>",
        short: "Migrate a file-based catalog to a new file-based catalog applying optional migrations",
        long: LONG.to_owned(),
        arguments: Arguments::Exactly(2),
        flags: vec![
            notation::flag("Output format (json|yaml)"),
            notation::level_flag(),
        ],
        run: Some(run),
        ..Command::default()
    }
}

fn run(invocation: &Invocation<'_>, terminal: &mut Terminal) -> Result<(), Ending> {
    let notation = notation::of(invocation).map_err(Ending::log)?;
    let form = notation::form(invocation).map_err(Ending::log)?;
    let (reference, directory) = (invocation.argument(0), invocation.argument(1));
    let line = format!("rendering catalog {} as file-based catalog", quoted(reference));
    terminal.remark(log_line("info", &line, &[]));

    check_empty(Path::new(directory)).map_err(Ending::logger)?;
    let registries = Registries::of(invocation).map_err(Ending::logger)?;
    let references = [reference.to_owned()];
    let mut catalog = references::render(
        &registries,
        &references,
        Allowed::Catalogs,
        &without_image,
        terminal,
    )
    .map_err(|failure| Ending::logger(failure.within("render catalog image")))?;
    form.apply(&mut catalog)
        .map_err(|failure| Ending::logger(failure.within("render catalog image")))?;
    writing::write_directory(&catalog, Path::new(directory), notation.format()).map_err(Ending::logger)?;

    let line = format!("wrote rendered file-based catalog to {}\n", quoted(directory));
    terminal.remark(log_line("info", &line, &[]));
    Ok(())
}

/// Refuses a directory with something in it; one that isn't there is made later.
fn check_empty(directory: &Path) -> Result<(), Failure> {
    match fs::read_dir(directory).map(|mut entries| entries.next().is_some()) {
        Ok(true) => Err(Failure::new(format!(
            "output dir {} must be empty",
            quoted(directory.to_string_lossy().as_bytes())
        ))),
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Failure::new(cannot("open", directory, &error)))
        }
        _ => Ok(()),
    }
}
