//! `baton catalog init`: the object that starts a package.

use std::path::PathBuf;

use catalog::objects::Catalog;
use catalog::template::package;
use clap::Args;

use super::Notation;
use crate::failure::{Failure, system_reason};
use crate::terminal::Terminal;

/// Prints the olm.package object that a package's catalog starts with.
#[derive(Args)]
pub(crate) struct Init {
    /// The package's name
    #[arg(value_name = "PACKAGE")]
    name: String,
    /// The channel for who names none
    #[arg(short = 'c', long, value_name = "CHANNEL", default_value = "")]
    default_channel: String,
    /// The package's picture
    #[arg(short, long, value_name = "FILE")]
    icon: Option<PathBuf>,
    /// A text that says what the package is for
    #[arg(short, long, value_name = "FILE")]
    description: Option<PathBuf>,
    /// The notation
    #[arg(short, long, value_enum, default_value = "yaml")]
    output: Notation,
}

impl Init {
    pub(super) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        let package = read(
            &self.name,
            &self.default_channel,
            self.icon.as_deref(),
            self.description.as_deref(),
        )?;
        self.output.print(
            &Catalog {
                packages: vec![package],
                ..Catalog::default()
            },
            terminal,
        )
    }
}

/// Makes the object, with the words of opm for what can't be read.
pub(crate) fn read(
    name: &str,
    default_channel: &str,
    icon: Option<&std::path::Path>,
    description: Option<&std::path::Path>,
) -> Result<catalog::objects::Package, Failure> {
    let bytes = |what: &str, path: Option<&std::path::Path>| match path {
        None => Ok(None),
        Some(path) => std::fs::read(path).map(Some).map_err(|error| {
            let reason = system_reason(&error);
            Failure::new(format!("open {what} file: open {}: {reason}", path.display()))
        }),
    };
    let (icon, description) = (bytes("icon", icon)?, bytes("description", description)?);
    Ok(package::init(
        name,
        default_channel,
        description.as_deref(),
        icon.as_deref(),
    )?)
}
