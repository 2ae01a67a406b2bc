//! `opm alpha render-template`: a template turned into a catalog.

use std::collections::BTreeMap;

use catalog::graph::mermaid;
use catalog::template::{Compatibility, Template, TemplateType};
use catalog::writing;
use gotemplate::format::quoted;

use crate::commands::catalog::rendering::bundle_images;
use crate::commands::catalog::template::{read, render_found};
use crate::commands::opm::command::{Arguments, Command, Invocation};
use crate::commands::opm::ending::Ending;
use crate::commands::opm::notation;
use crate::commands::opm::registries::Registries;
use crate::failure::Failure;
use crate::runtime;
use crate::terminal::Terminal;

// Two of these lines end in blanks; opm's do.
const LONG: &str = "Render a catalog template with optional type specification.

If TYPE is specified, it must be one of:\x20
 - basic
 - semver
 - substitutes

If TYPE is not specified, the template type will be auto-detected from the schema field in the input file.

When FILE is '-' or not provided, the template is read from standard input.
FILE must not match a supported TYPE name when TYPE is not provided, to avoid ambiguity.

Examples:
  opm alpha render-template basic template.yaml
  opm alpha render-template semver template.yaml \x20
  opm alpha render-template template.yaml  # auto-detect type
  opm alpha render-template < template.yaml  # auto-detect from stdin";

pub(super) fn command() -> Command {
    Command {
        line: "render-template [TYPE] [FILE]",
        short: "Render a catalog template (auto-detects type from schema if TYPE not specified)",
        long: LONG.to_owned(),
        arguments: Arguments::Between(0, 2),
        flags: vec![
            notation::flag("Output format (json|yaml|mermaid)"),
            notation::level_flag(),
        ],
        run: Some(run),
        ..Command::default()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Output {
    Json,
    Yaml,
    Mermaid,
}

fn run(invocation: &Invocation<'_>, terminal: &mut Terminal) -> Result<(), Ending> {
    let (text, written) = render(invocation, terminal).map_err(Ending::usage)?;
    // What was written before something that can't be is printed too.
    terminal.print(&text)?;
    written.map_err(|failure| Ending::usage(failure.within("writing output")))
}

fn render(
    invocation: &Invocation<'_>,
    terminal: &Terminal,
) -> Result<(Vec<u8>, Result<(), Failure>), Failure> {
    let (kind, file) = kind_and_file(invocation.arguments())?;
    let bytes = read(file)?;
    let output = match invocation.text("output") {
        "json" => Output::Json,
        "yaml" => Output::Yaml,
        "mermaid" => Output::Mermaid,
        other => return Err(notation::unknown(other, "json|yaml|mermaid")),
    };
    let registries =
        Registries::of(invocation).map_err(|failure| failure.within("creating containerd registry"))?;
    let form = notation::form(invocation)?;
    let template = Template::parse(&bytes, kind)?;
    let references = template.references();
    let found = match references.first().map(quoted) {
        None => BTreeMap::new(),
        Some(first) => {
            let images = registries.open(true, terminal).map_err(|failure| {
                failure.within(format!(
                    "rendering template: render reference {first}: failed to pull image {first}"
                ))
            })?;
            runtime::block_on(async { Ok(bundle_images(&images, &references, &form).await) })?
        }
    };
    let catalog = render_found(&template, &found, &form, Compatibility::Current)?;

    let mut text = Vec::new();
    let written = match output {
        Output::Json => writing::write_json(&catalog, &mut text).map_err(Failure::from),
        Output::Yaml => writing::write_yaml(&catalog, &mut text).map_err(Failure::from),
        Output::Mermaid => mermaid::draw(&catalog, mermaid::Options::default())
            .map(|drawing| text = drawing.text.into_bytes())
            .map_err(Failure::from),
    };
    Ok((text, written))
}

/// One argument may be the kind of the template or its file.
fn kind_and_file(arguments: &[String]) -> Result<(Option<TemplateType>, &str), Failure> {
    match arguments {
        [] => Ok((None, "-")),
        [word] => Ok(match word.parse() {
            Ok(kind) => (Some(kind), "-"),
            Err(_) => (None, word),
        }),
        [kind, file, ..] => {
            let known = kind.parse().map_err(|_| {
                let kinds = TemplateType::ALL.map(|kind| kind.to_string()).join(" ");
                Failure::new(format!(
                    "invalid template type {}, must be one of: [{kinds}]",
                    quoted(kind)
                ))
            })?;
            Ok((Some(known), file))
        }
    }
}
