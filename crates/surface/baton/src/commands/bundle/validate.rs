//! `baton bundle validate`: a bundle checked, with operator-sdk's texts.

use std::path::PathBuf;

use bundle::files::BundleFiles;
use bundle::validation::{self, OptionalValues, Report, Selection, Selector};
use clap::{Args, ValueEnum};
use image::policy::PolicySource;

use crate::failure::Failure;
use crate::image_platforms::AskedPlatforms;
use crate::images::{ImageFlags, Images};
use crate::runtime;
use crate::terminal::Terminal;

/// Checks a bundle, as operator-sdk bundle validate does.
#[derive(Args)]
pub(crate) struct Validate {
    /// The bundle: a directory, oci:LAYOUT, a tar, or an image
    #[arg(value_name = "BUNDLE", required_unless_present = "list_optional")]
    source: Option<String>,
    /// Run these optional checks too: a label selector such as suite=operatorframework
    #[arg(long, value_name = "SELECTOR", default_value = "")]
    select_optional: String,
    /// Values for optional checks, such as k8s-version=1.32
    #[arg(long, value_name = "KEY=VALUE")]
    optional_values: Vec<String>,
    /// List the optional checks
    #[arg(long)]
    list_optional: bool,
    /// The form of the result
    #[arg(short, long, value_enum, default_value = "text")]
    output: Output,
    /// Leave out what baton itself advises
    #[arg(long)]
    no_advice: bool,
    #[command(flatten)]
    images: ImageFlags,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    Text,
    #[value(name = "json-alpha1")]
    JsonAlpha1,
}

impl Validate {
    pub(super) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        if self.list_optional {
            return terminal.print(validation::list_optional().as_bytes());
        }
        let source = self.source.unwrap_or_default();
        let images = Images::open(&self.images, PolicySource::Optional, terminal.bars())?;
        let platforms = AskedPlatforms(&images);
        let selection = Selection {
            location: source.clone(),
            optional: Selector::parse(&self.select_optional)
                .map_err(|error| Failure::new(format!("--select-optional: {error}")))?,
            own_advice: !self.no_advice,
            platforms: Some(&platforms),
        };
        if !selection.optional.is_empty() {
            selection.check()?;
        }
        let values = OptionalValues::parse(self.optional_values.iter().map(String::as_str))?
            .with_categories_file(std::env::var_os("OPERATOR_BUNDLE_CATEGORIES").map(PathBuf::from));
        let files = if PathBuf::from(&source).join("manifests").is_dir()
            || PathBuf::from(&source).join("metadata").is_dir()
        {
            BundleFiles::read_directory(source.as_ref())?
        } else {
            runtime::block_on(images.read_bundle(&source))?.0
        };
        let report = validation::validate(&files, &selection, &values);
        print(&report, self.output == Output::JsonAlpha1, terminal)
    }
}

/// Prints a report, and fails when the bundle does.
fn print(report: &Report, json: bool, terminal: &mut Terminal) -> Result<(), Failure> {
    let (mut out, mut log) = (Vec::new(), Vec::new());
    let time = now();
    let written = if json {
        report.write_json(&mut out, &mut log, &time)
    } else {
        report.write_text(&mut out, &mut log, &time)
    };
    written.map_err(|error| Failure::output(&error))?;
    terminal.print(&out)?;
    terminal.remark(String::from_utf8_lossy(&log).trim_end());
    if report.passed() {
        Ok(())
    } else {
        Err(Failure::Told)
    }
}

/// The time as log lines have it.
pub(crate) fn now() -> String {
    jiff::Zoned::now()
        .strftime("%Y-%m-%dT%H:%M:%S%:z")
        .to_string()
        .replace("+00:00", "Z")
}
