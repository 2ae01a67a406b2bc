//! `opm alpha convert-template`: a catalog turned back into a template.

use catalog::template::convert::{self, Destination};
use gotemplate::format::quoted;

use crate::commands::catalog::Notation;
use crate::commands::catalog::template::read;
use crate::commands::opm::command::{Arguments, Command, Invocation, Run};
use crate::commands::opm::ending::Ending;
use crate::commands::opm::notation;
use crate::failure::Failure;
use crate::terminal::Terminal;

pub(super) fn command() -> Command {
    let conversion = |line, short, kind: &str, run: Run| Command {
        line,
        short,
        long: format!(
            "Generate a {kind} template from existing FBC.

This command outputs a {kind} catalog template to STDOUT from input FBC.
If no argument is specified or is '-' input is assumed from STDIN.
"
        ),
        arguments: Arguments::AtMost(1),
        flags: vec![notation::flag("Output format (json|yaml)")],
        run: Some(run),
        ..Command::default()
    };
    Command {
        line: "convert-template",
        short: "Convert existing FBC to a supported template type",
        commands: vec![
            conversion(
                "basic [<fbc-file> | -]",
                "Generate a basic template from existing FBC",
                "basic",
                basic,
            ),
            conversion(
                "substitutes [<fbc-file> | -]",
                "Generate a substitutes template from existing FBC",
                "substitutes",
                substitutes,
            ),
        ],
        ..Command::default()
    }
}

fn basic(invocation: &Invocation<'_>, terminal: &mut Terminal) -> Result<(), Ending> {
    convert(invocation, Destination::Basic, terminal)
}

fn substitutes(invocation: &Invocation<'_>, terminal: &mut Terminal) -> Result<(), Ending> {
    convert(invocation, Destination::Substitutes, terminal)
}

fn convert(
    invocation: &Invocation<'_>,
    destination: Destination,
    terminal: &mut Terminal,
) -> Result<(), Ending> {
    let notation = notation::of(invocation).map_err(Ending::log)?;
    let file = invocation.arguments().first().map_or("-", String::as_str);
    let catalog = read(file).map_err(|_| Ending::Usage(format!("unable to open input: {}", quoted(file))))?;
    let converting = |failure: Failure| Ending::usage(failure.within("converting"));
    let converted =
        convert::convert(catalog.as_slice(), destination).map_err(|error| converting(error.into()))?;
    let text = match notation {
        Notation::Json => converted.to_json(),
        Notation::Yaml => converted.to_yaml().map_err(|error| converting(error.into()))?,
    };
    Ok(terminal.print(text.as_bytes())?)
}
