//! `baton bundle validate`: a bundle checked, with operator-sdk's texts.

use std::path::{Path, PathBuf};

use bundle::files::BundleFiles;
use bundle::generation::chart_check::{self, ChartReport};
use bundle::generation::watches::WATCHES_FILE;
use bundle::generation::{GenerationError, Project};
use bundle::validation::{self, OptionalValues, Report, Selection, Selector};
use clap::{Args, ValueEnum};
use image::policy::PolicySource;
use serde_json::Value;

use super::charts::ChartCheckFlags;
use super::project::chart_sources;
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
    /// The chart of the tree that the bundle is in, if it is elsewhere than watches.yaml says: DIRECTORY, or
    /// NAME=DIRECTORY where there are several
    #[arg(long = "chart", value_name = "CHART", help_heading = "Chart")]
    charts: Vec<String>,
    #[command(flatten)]
    chart: ChartCheckFlags,
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
        let source = self.source.clone().unwrap_or_default();
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
        let allowed = self.chart.allowed()?;
        let is_directory = ["manifests", "metadata"]
            .iter()
            .any(|part| Path::new(&source).join(part).is_dir());
        let files = if is_directory {
            BundleFiles::read_directory(source.as_ref())?
        } else {
            runtime::block_on(images.read_bundle(&source))?.0
        };
        let mut report = validation::validate(&files, &selection, &values);
        let charts = match is_directory.then(|| tree_around(Path::new(&source))).flatten() {
            Some(tree) => self.check_charts(&tree, &files, terminal)?,
            None => None,
        };
        match charts {
            Some(charts) => report.extend_with_charts(&charts, &allowed)?,
            None if !allowed.is_empty() => {
                return Err(Failure::new(format!(
                    "--allow is given, but no chart of {source} is looked at that could have a fault: take it out"
                )));
            }
            None => {}
        }
        print(&report, self.output == Output::JsonAlpha1, terminal)
    }
}

impl Validate {
    /// Checks the charts of the tree that a bundle was made in; nothing where they aren't there.
    fn check_charts(
        &self,
        tree: &Path,
        files: &BundleFiles,
        terminal: &mut Terminal,
    ) -> Result<Option<ChartReport>, Failure> {
        match Project::read(tree, &chart_sources(&self.charts)) {
            Ok(project) => Ok(Some(chart_check::check(&project, &examples(files)))),
            // Charts are often copied into the tree only while a bundle is made, and other operators have watches too.
            Err(GenerationError::Chart { path, .. }) if !path.exists() && self.charts.is_empty() => {
                terminal.remark(format!(
                    "the chart isn't checked, because it isn't in {}: name it with --chart",
                    path.display()
                ));
                Ok(None)
            }
            Err(error @ GenerationError::Chart { .. }) => Err(error.into()),
            Err(error) if self.charts.is_empty() => {
                terminal.remark(format!("the chart isn't checked: {error}"));
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// The author's tree that a bundle's directory lies in.
fn tree_around(bundle: &Path) -> Option<PathBuf> {
    let around = match (bundle.file_name(), bundle.parent()) {
        (Some(_), Some(parent)) if parent.as_os_str().is_empty() => PathBuf::from("."),
        (Some(_), Some(parent)) => parent.to_owned(),
        _ => bundle.join(".."),
    };
    around.join(WATCHES_FILE).is_file().then_some(around)
}

/// The custom resources that a bundle shows as examples; that they can be read is checked elsewhere.
fn examples(files: &BundleFiles) -> Vec<Value> {
    let of_manifest = |(path, bytes): (&str, &[u8])| {
        let object = path
            .starts_with("manifests/")
            .then(|| goyaml::to_value(bytes).ok())??;
        let examples = object.pointer("/metadata/annotations/alm-examples")?.as_str()?;
        serde_json::from_str::<Vec<Value>>(examples).ok()
    };
    files.iter().filter_map(of_manifest).flatten().collect()
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
