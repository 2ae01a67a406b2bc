//! `baton package`: packs a chart's directory into an archive.

use std::path::{Path, PathBuf};

use chart::archive::{self, PackageError, PackageOptions};
use chart::{loader, packaging};
use clap::Args;

use crate::commands::dependency_files;
use crate::failure::Failure;
use crate::terminal::Terminal;
use crate::written_files;

/// Packs a chart's directory into an archive, as `helm package` does; the same chart gives the same bytes.
#[derive(Args)]
#[command(args_override_self = true, override_usage = "baton package CHART... [flags]")]
pub(crate) struct Package {
    /// Directories of charts
    #[arg(value_name = "CHART")]
    charts: Vec<String>,

    /// Where the archive is written
    #[arg(
        short,
        long,
        value_name = "DIRECTORY",
        default_value = ".",
        allow_hyphen_values = true
    )]
    destination: String,

    /// Pack the chart as this version in place of the one in Chart.yaml
    #[arg(long, allow_hyphen_values = true)]
    version: Option<String>,

    /// Pack the chart with this appVersion
    #[arg(long, value_name = "VERSION", allow_hyphen_values = true)]
    app_version: Option<String>,

    /// Pack dependencies into charts/ first, where that needs no network
    #[arg(short = 'u', long)]
    dependency_update: bool,

    #[arg(long, hide = true)]
    sign: bool,
}

impl Package {
    pub(crate) fn run(&self, terminal: &mut Terminal) -> Result<(), Failure> {
        if self.charts.is_empty() {
            return Err(Failure::new("need at least one argument, the path to the chart"));
        }
        if self.sign {
            return Err(Failure::new(
                "--sign is not supported; sign the archive with the tool that has the key",
            ));
        }
        for chart in &self.charts {
            let path = self.pack(chart, terminal)?;
            let line = format!(
                "Successfully packaged chart and saved it to: {}\n",
                path.display()
            );
            terminal.print(line.as_bytes())?;
        }
        Ok(())
    }

    fn pack(&self, name: &str, terminal: &mut Terminal) -> Result<PathBuf, Failure> {
        let directory = std::path::absolute(name)?;
        match std::fs::metadata(name) {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => return Err(loader::LoadError::NoChartFile.into()),
            Err(source) => {
                let path = PathBuf::from(name);
                return Err(loader::LoadError::NotFound { path, source }.into());
            }
        }
        if self.dependency_update {
            dependency_files::update(&directory, terminal)?;
        }
        let loaded = loader::load_directory(&directory, &mut |warning| terminal.remark(warning))?;
        let given = |version: &Option<String>| version.clone().filter(|version| !version.is_empty());
        let chart = packaging::prepare(
            loaded,
            given(&self.version).as_deref(),
            given(&self.app_version).as_deref(),
        )?;
        let file = archive::file_name(&chart);
        // A name of dots would lead out of the archive, and a slash out of the destination.
        if !written_files::stays_inside(chart.name()) || file.components().count() != 1 {
            return Err(Failure::new(format!(
                "{:?} is not a valid chart name",
                chart.name()
            )));
        }
        let path = self.destination()?.join(file);
        written_files::write(&path, |output| {
            archive::write(&chart, output, PackageOptions::default())
        })
        .map_err(|error: PackageError| Failure::new(format!("failed to save: {error}")))?;
        Ok(path)
    }

    /// The directory that Helm would name: the current one in full, any other as it was given.
    fn destination(&self) -> Result<PathBuf, Failure> {
        if self.destination == "." {
            Ok(std::env::current_dir()?)
        } else {
            Ok(Path::new(&self.destination).to_owned())
        }
    }
}
