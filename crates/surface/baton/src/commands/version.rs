//! `baton version`: which release this program is, and what it is made of.

use clap::Args;
use deploy::materials;
use image::manifest::host_architecture;
use serde::Serialize;

use crate::failure::Failure;
use crate::output::OutputFlag;
use crate::terminal::Terminal;

/// Prints which release of baton this is, or what it is made of.
#[derive(Args)]
pub(crate) struct Version {
    /// Print every crate that is linked into this program, with version, licence and checksum (CycloneDX)
    #[arg(long, conflicts_with = "output")]
    sbom: bool,
    #[command(flatten)]
    output: OutputFlag,
}

/// A release, and for which machines this program of it is.
#[derive(Serialize)]
struct Release {
    version: &'static str,
    system: &'static str,
    architecture: &'static str,
}

impl Version {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        if self.sbom {
            return terminal.print(materials::LIST.as_bytes());
        }
        let release = Release {
            version: env!("CARGO_PKG_VERSION"),
            system: std::env::consts::OS,
            architecture: host_architecture(),
        };
        self.output.print(terminal, &release, |release| {
            let Release {
                version,
                system,
                architecture,
            } = release;
            format!("baton {version} {system}/{architecture}\n")
        })
    }
}
