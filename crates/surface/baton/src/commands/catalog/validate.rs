//! `baton catalog validate`: a catalog's rules checked.

use std::path::Path;

use catalog::objects::Catalog;
use catalog::reading;
use catalog::validation::{self, ValidationError};
use chart::diagnosis::Diagnosis;
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
        let (result, catalog) = if path.is_dir() && !path.join("oci-layout").is_file() {
            (validation::validate_directory(path), None)
        } else {
            let images = Images::open(&self.images, PolicySource::Optional, terminal.bars())?;
            let catalog = runtime::block_on(images.read_catalog(&self.source))?;
            (validation::validate(&catalog), Some(catalog))
        };
        if let Some(output) = self.output {
            let text = result.as_ref().err().map(ToString::to_string);
            terminal.print(report(text.as_ref(), output)?.as_bytes())?;
            return result.map_err(|_| Failure::Told);
        }
        result.map_err(|error| {
            // One that can't be read is told as such.
            let catalog = catalog
                .or_else(|| reading::read_catalog(path).ok())
                .unwrap_or_default();
            not_valid(&format!("catalog {}", self.source), &error, &catalog)
        })
    }
}

/// Checks a catalog, which messages call `what`.
pub(crate) fn check(what: &str, catalog: &Catalog) -> Result<(), Failure> {
    validation::validate(catalog).map_err(|error| not_valid(what, &error, catalog))
}

fn not_valid(what: &str, error: &ValidationError, catalog: &Catalog) -> Failure {
    let diagnosis = Diagnosis {
        notes: validation::suggestions(catalog),
        ..Diagnosis::default()
    };
    Failure::with_diagnosis(format!("{what} is not valid: {error}"), diagnosis)
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
