//! `opm version`.

use gotemplate::format::quoted;

use crate::terminal::Terminal;
use image::manifest::host_architecture;

use super::command::{Arguments, Command, Invocation};
use super::ending::Ending;

/// The release of opm whose commands, flags and texts these are.
const OPM_VERSION: &str = "v1.73.0";

pub(super) fn command() -> Command {
    Command {
        line: "version",
        short: "Print the opm version",
        long: "Print the opm version".to_owned(),
        example: "kubebuilder version",
        arguments: Arguments::AtLeast(0),
        run: Some(run),
        ..Command::default()
    }
}

fn run(_: &Invocation<'_>, terminal: &mut Terminal) -> Result<(), Ending> {
    // Scripts look at the version; that it is baton's stands where opm has its commit.
    let commit = format!("baton-{}", env!("CARGO_PKG_VERSION"));
    let system = match std::env::consts::OS {
        "macos" => "darwin",
        other => other,
    };
    let text = format!(
        "Version: version.Version{{OpmVersion:{}, GitCommit:{}, BuildDate:\"\", GoOs:{}, GoArch:{}}}\n",
        quoted(OPM_VERSION),
        quoted(commit),
        quoted(system),
        quoted(host_architecture()),
    );
    Ok(terminal.print(text.as_bytes())?)
}
