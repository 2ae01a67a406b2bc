//! `opm alpha render-graph`: upgrade graphs as mermaid text.

use catalog::graph::mermaid;

use crate::commands::opm::command::{Arguments, Command, Invocation};
use crate::commands::opm::ending::Ending;
use crate::commands::opm::flags::Flag;
use crate::commands::opm::references::{self, Allowed, without_image};
use crate::commands::opm::registries::Registries;
use crate::terminal::Terminal;

const EXAMPLE: &str = r#"
#
# Output channel graph of a catalog in mermaid format
#
$ opm alpha render-graph quay.io/operatorhubio/catalog:latest

#
# Output channel graph of a catalog and generate a scaled vector graphic (SVG) representation
#
$ opm alpha render-graph quay.io/operatorhubio/catalog:latest | \
    docker run --rm -i -v "$PWD":/data ghcr.io/mermaid-js/mermaid-cli/mermaid-cli -o /data/operatorhubio-catalog.svg

# Note:  mermaid has a default maxTextSize of 30 000 characters.  To override this, generate a JSON-formatted initialization file for
# mermaid like this (using 300 000 for the limit):
$ cat << EOF > ./mermaid.json
{ "maxTextSize": 300000 }
EOF
# and then pass the file for initialization configuration, via the '-c' option, like:
$ opm alpha render-graph quay.io/operatorhubio/catalog:latest | \
    docker run --rm -i -v "$PWD":/data ghcr.io/mermaid-js/mermaid-cli/mermaid-cli -c /data/mermaid.json -o /data/operatorhubio-catalog.svg


		"#;

pub(super) fn command() -> Command {
    Command {
        line: "render-graph [index-image | fbc-dir]",
        short: "Generate mermaid-formatted view of upgrade graph of operators in an index",
        long: "Generate mermaid-formatted view of upgrade graphs of operators in an index".to_owned(),
        example: EXAMPLE,
        arguments: Arguments::AtLeast(1),
        flags: vec![
            Flag::text(
                "minimum-edge",
                "",
                "the channel edge to be used as the lower bound of the set of edges composing the upgrade graph; default is to include all edges",
            ),
            Flag::text(
                "package-name",
                "",
                "a specific package name to filter output; default is to include all packages in reference",
            )
            .letter('p'),
            Flag::switch(
                "draw-v0-semantics",
                "whether to indicate OLMv0 semantics in the output; default is to simply represent the upgrade graph",
            ),
        ],
        run: Some(run),
        ..Command::default()
    }
}

fn run(invocation: &Invocation<'_>, terminal: &mut Terminal) -> Result<(), Ending> {
    let registries = Registries::of(invocation).map_err(Ending::log)?;
    let catalog = references::render(
        &registries,
        invocation.arguments(),
        Allowed::Catalogs,
        &without_image,
        terminal,
    )
    .map_err(Ending::log)?;
    let options = mermaid::Options {
        minimum_edge: invocation.text("minimum-edge"),
        package: invocation.text("package-name"),
        draw_v0_semantics: invocation.is_on("draw-v0-semantics"),
    };
    let drawing = mermaid::draw(&catalog, options).map_err(Ending::log)?;
    for warning in drawing.warnings {
        terminal.remark(warning);
    }
    Ok(terminal.print(drawing.text.as_bytes())?)
}
