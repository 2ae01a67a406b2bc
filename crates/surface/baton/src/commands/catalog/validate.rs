//! `baton catalog validate`: a catalog's rules checked.

use std::path::Path;

use catalog::validation;
use clap::{Args, ValueEnum};
use image::policy::PolicySource;
use serde_json::json;

use crate::failure::Failure;
use crate::images::{ImageFlags, Images};
use crate::runtime;
use crate::terminal::Terminal;

/// Checks a catalog: that everything it names is there, and that every channel has one way to its head.
#[derive(Args)]
pub(crate) struct Validate {
    /// The catalog: a directory, oci:LAYOUT, a tar, or an image
    #[arg(value_name = "CATALOG")]
    source: String,
    /// Print the result in this notation too
    #[arg(short, long, value_enum)]
    output: Option<Output>,
    #[command(flatten)]
    images: ImageFlags,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    Json,
    Yaml,
}

impl Validate {
    pub(super) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        let path = Path::new(&self.source);
        let result = if path.is_dir() && !path.join("oci-layout").is_file() {
            validation::validate_directory(path).map_err(|error| error.to_string())
        } else {
            let images = Images::open(&self.images, PolicySource::Optional, terminal.bars())?;
            let catalog = runtime::block_on(images.read_catalog(&self.source))?;
            validation::validate(&catalog).map_err(|error| error.to_string())
        };
        if let Some(output) = self.output {
            terminal.print(report(result.as_ref().err(), output)?.as_bytes())?;
            return result.map_err(|_| Failure::Told);
        }
        result.map_err(|text| Failure::new(format!("catalog {} is not valid: {text}", self.source)))
    }
}

/// The result as opm writes it for programs.
pub(crate) fn report(error: Option<&String>, output: Output) -> Result<String, Failure> {
    let mut report = json!({ "passed": error.is_none() });
    if let Some(message) = error {
        report["error"] = json!({ "message": message });
    }
    Ok(match output {
        Output::Json => format!(
            "{}\n",
            goyaml::json::to_string_pretty(&report, "  ", goyaml::json::Escape::Html)?
        ),
        Output::Yaml => format!("{}\n", goyaml::to_string(&report)?),
    })
}
