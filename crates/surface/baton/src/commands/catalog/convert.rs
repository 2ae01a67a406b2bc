//! `baton catalog convert`: a catalog turned back into a template.

use catalog::template::convert::{self, Destination};
use clap::{Args, ValueEnum};

use super::Notation;
use super::template::read;
use crate::failure::Failure;
use crate::terminal::Terminal;

/// Turns a catalog into a template: its bundles become the images they are rendered from.
#[derive(Args)]
pub(crate) struct Convert {
    /// The kind of template
    #[arg(value_enum)]
    kind: Kind,
    /// The catalog's file; - or nothing reads standard input
    #[arg(value_name = "FILE", default_value = "-")]
    file: String,
    /// The notation
    #[arg(short, long, value_enum, default_value = "yaml")]
    output: Notation,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    Basic,
    Substitutes,
}

impl Kind {
    pub(crate) fn destination(self) -> Destination {
        match self {
            Self::Basic => Destination::Basic,
            Self::Substitutes => Destination::Substitutes,
        }
    }
}

impl Convert {
    pub(super) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        let converted = convert::convert(read(&self.file)?.as_slice(), self.kind.destination())?;
        let text = match self.output {
            Notation::Json => converted.to_json(),
            Notation::Yaml => converted.to_yaml()?,
        };
        terminal.print(text.as_bytes())
    }
}
