//! `baton init`: a new author's tree from a chart.

use std::path::{Path, PathBuf};

use bundle::generation::scaffold::{NewProject, new_project};
use chart::loader;
use clap::Args;

use crate::failure::Failure;
use crate::terminal::Terminal;
use crate::written_files;

/// Makes a new author's tree from a chart: everything that an operator with versions needs.
#[derive(Args)]
pub(crate) struct Init {
    /// The chart: a directory or an archive
    #[arg(long, value_name = "CHART")]
    chart: PathBuf,
    /// Where to make the tree
    #[arg(value_name = "FOLDER", default_value = ".")]
    directory: PathBuf,
    /// The package, such as inference-stack-operator
    #[arg(long, value_name = "PACKAGE")]
    package: Option<String>,
    /// The custom resource's group, such as models.example.com
    #[arg(long, value_name = "GROUP")]
    group: Option<String>,
    /// The custom resource's kind, such as InferenceStack
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// The custom resource's version
    #[arg(long, value_name = "VERSION")]
    crd_version: Option<String>,
    /// The operator's image without a tag; the bundle's and the catalog's are named after it
    #[arg(long, value_name = "IMAGE")]
    image: Option<String>,
}

impl Init {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        let told = |error: &dyn std::fmt::Display| {
            Failure::new(format!("cannot load chart {}: {error}", self.chart.display()))
        };
        let chart = loader::load(&self.chart, &mut |warning| terminal.remark(warning))
            .map_err(|error| told(&error))?;
        let mut new = NewProject::of(&chart);
        for (given, field) in [
            (self.package, &mut new.package),
            (self.group, &mut new.group),
            (self.kind, &mut new.kind),
            (self.crd_version, &mut new.version),
            (self.image, &mut new.image),
        ] {
            if let Some(text) = given {
                *field = text;
            }
        }
        let files: Vec<(PathBuf, Vec<u8>)> = new_project(&chart, &new)?
            .into_iter()
            .map(|(path, bytes)| (self.directory.join(path), bytes))
            .collect();
        if let Some((path, _)) = files.iter().find(|(path, _)| Path::exists(path)) {
            return Err(Failure::new(format!(
                "{} is there already: nothing was written; choose another folder, or move it away",
                path.display()
            )));
        }
        written_files::write_all(&files).map_err(|error| {
            Failure::new(format!("cannot write to {}: {error}", self.directory.display()))
        })?;
        terminal.print(
            format!(
                "operator {} for {} {}/{} in {}: {} files; next: cd there, and make help\n",
                new.package,
                new.kind,
                new.group,
                new.version,
                self.directory.display(),
                files.len()
            )
            .as_bytes(),
        )
    }
}
