//! `baton catalog diff`: what customers would see change.

use catalog::diff;
use clap::{Args, ValueEnum};
use image::policy::PolicySource;

use crate::failure::Failure;
use crate::images::{ImageFlags, Images};
use crate::runtime;
use crate::terminal::Terminal;

/// Compares two catalogs as customers see them: new heads, lost edges, versions that can't be reached any more.
#[derive(Args)]
pub(crate) struct Diff {
    /// The catalog that customers have
    #[arg(value_name = "OLD")]
    old: String,
    /// The catalog that they would get
    #[arg(value_name = "NEW")]
    new: String,
    /// The form of the answer
    #[arg(short, long, value_enum, default_value = "text")]
    output: Output,
    /// Exit with code 1 when customers would see a change
    #[arg(long)]
    exit_code: bool,
    #[command(flatten)]
    images: ImageFlags,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    Text,
    Json,
    Yaml,
}

impl Diff {
    pub(super) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        let images = Images::open(&self.images, PolicySource::Optional, terminal.bars())?;
        let (old, new) = runtime::block_on(async {
            Ok((
                images.read_catalog(&self.old).await?,
                images.read_catalog(&self.new).await?,
            ))
        })?;
        let found = diff::diff(&old, &new);
        let text = match self.output {
            Output::Text => found.to_string(),
            Output::Json => format!(
                "{}\n",
                goyaml::json::to_string_pretty(&found, "  ", goyaml::json::Escape::None)?
            ),
            Output::Yaml => goyaml::to_string(&found)?,
        };
        terminal.print(text.as_bytes())?;
        if self.exit_code && !found.is_empty() {
            Err(Failure::Told)
        } else {
            Ok(())
        }
    }
}
