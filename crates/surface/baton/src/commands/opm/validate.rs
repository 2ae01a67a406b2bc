//! `opm validate`: a catalog's rules checked.

use std::fs;
use std::path::Path;

use gotemplate::format::quoted;

use crate::commands::catalog::validate::{Output, report};
use crate::failure::Failure;
use crate::terminal::Terminal;

use super::command::{Arguments, Command, Invocation};
use super::ending::Ending;
use super::flags::Flag;
use super::notation;
use super::references::cannot;

pub(super) fn command() -> Command {
    Command {
        line: "validate <directory>",
        short: "Validate the declarative index config",
        long: "Validate the declarative config JSON file(s) in a given directory".to_owned(),
        arguments: Arguments::Exactly(1),
        flags: vec![Flag::text("output", "", "Output format for validation results (json|yaml)").letter('o')],
        run: Some(run),
        ..Command::default()
    }
}

fn run(invocation: &Invocation<'_>, terminal: &mut Terminal) -> Result<(), Ending> {
    let directory = Path::new(invocation.argument(0));
    let found = fs::metadata(directory).map_err(|error| Ending::Usage(cannot("stat", directory, &error)))?;
    if !found.is_dir() {
        return Err(Ending::Usage(format!(
            "{} is not a directory",
            quoted(invocation.argument(0))
        )));
    }
    let fault = catalog::validation::validate_directory(directory)
        .err()
        .map(|error| error.to_string());
    let output = match (invocation.text("output"), fault) {
        ("", None) => return Ok(()),
        ("", Some(fault)) => return Err(Ending::Logger(fault)),
        ("json", fault) => (Output::Json, fault),
        ("yaml", fault) => (Output::Yaml, fault),
        (other, _) => return Err(Ending::usage(notation::unknown(other, "json|yaml"))),
    };
    let (output, fault) = output;
    let text = report(fault.as_ref(), output)
        .map_err(|failure| Ending::usage(failure.within("failed to marshal output")))?;
    terminal.print(text.as_bytes())?;
    match fault {
        None => Ok(()),
        Some(_) => Err(Ending::Output(Failure::Told)),
    }
}
