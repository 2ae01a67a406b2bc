//! A chart as a `.tgz`, the same bytes for the same chart.

use std::io::{self, Write};
use std::path::PathBuf;

use flate2::{Compression, GzBuilder};
use gotemplate::format::quoted;
use thiserror::Error;

use crate::chart::Chart;
use crate::metadata::{API_VERSION_V1, API_VERSION_V2, base_name};

/// The extra field that Helm puts into the header of its archives.
const HEADER_EXTRA: &[u8] = b"+aHR0cHM6Ly95b3V0dS5iZS96OVV6MWljandyTQo=";

/// The permissions of every file in an archive.
const FILE_MODE: u32 = 0o644;

/// How an archive is written.
#[derive(Clone, Copy, Debug, Default)]
pub struct PackageOptions {
    /// The time of every file, in seconds since 1970. The fixed default makes archives of equal charts equal.
    pub modified: u64,
}

/// A chart that cannot be written as an archive.
#[derive(Debug, Error)]
pub enum PackageError {
    /// The chart's name is a path.
    #[error("{} is not a valid chart name", quoted(.0))]
    InvalidName(String),
    /// `values.schema.json` is no JSON.
    #[error("Invalid JSON in values.schema.json")]
    InvalidSchema,
    /// `Chart.yaml` or `Chart.lock` cannot be written as YAML.
    #[error("cannot write {file}: {message}")]
    Unwritable {
        /// The file.
        file: &'static str,
        /// Why.
        message: String,
    },
    /// The archive could not be written.
    #[error(transparent)]
    Output(#[from] io::Error),
}

/// The name of the archive that Helm would write for a chart.
pub fn file_name(chart: &Chart) -> PathBuf {
    PathBuf::from(format!("{}-{}.tgz", chart.name(), chart.metadata.version))
}

/// Writes a chart in Helm's layout: `Chart.yaml`, `Chart.lock`, values, schema, templates, files, subcharts.
pub fn write(chart: &Chart, output: impl Write, options: PackageOptions) -> Result<(), PackageError> {
    let compressed = GzBuilder::new()
        .extra(HEADER_EXTRA)
        .comment("Helm")
        .operating_system(255)
        .write(output, Compression::default());
    let mut archive = Archive {
        builder: tar::Builder::new(compressed),
        options,
    };
    archive.chart(chart, "")?;
    archive.builder.into_inner()?.finish()?.flush()?;
    Ok(())
}

struct Archive<W: Write> {
    builder: tar::Builder<W>,
    options: PackageOptions,
}

impl<W: Write> Archive<W> {
    fn chart(&mut self, chart: &Chart, parent: &str) -> Result<(), PackageError> {
        if base_name(chart.name()) != chart.name() {
            return Err(PackageError::InvalidName(chart.name().to_owned()));
        }
        let base = format!("{parent}{}/", chart.name());
        let yaml = if chart.metadata.api_version == API_VERSION_V1 {
            // A v1 chart has its dependencies in requirements.yaml, which is among its files.
            let mut metadata = (*chart.metadata).clone();
            metadata.dependencies = None;
            crate::document::write(&metadata)
        } else {
            crate::document::write(&*chart.metadata)
        };
        let yaml = yaml.map_err(|message| PackageError::Unwritable {
            file: "Chart.yaml",
            message,
        })?;
        self.file(&format!("{base}Chart.yaml"), yaml.as_bytes())?;
        if let (API_VERSION_V2, Some(lock)) = (chart.metadata.api_version.as_str(), &chart.lock) {
            let yaml = crate::document::write(lock).map_err(|message| PackageError::Unwritable {
                file: "Chart.lock",
                message,
            })?;
            self.file(&format!("{base}Chart.lock"), yaml.as_bytes())?;
        }
        for file in chart.raw.iter().filter(|file| file.name == "values.yaml") {
            self.file(&format!("{base}values.yaml"), &file.data)?;
        }
        if let Some(schema) = &chart.schema {
            serde_json::from_slice::<serde::de::IgnoredAny>(schema)
                .map_err(|_| PackageError::InvalidSchema)?;
            self.file(&format!("{base}values.schema.json"), schema)?;
        }
        for file in chart.templates.iter().chain(chart.files.iter()) {
            self.file(&format!("{base}{}", file.name), &file.data)?;
        }
        let charts = format!("{base}charts/");
        for dependency in &chart.dependencies {
            self.chart(dependency, &charts)?;
        }
        Ok(())
    }

    fn file(&mut self, name: &str, data: &[u8]) -> Result<(), PackageError> {
        let mut header = tar::Header::new_ustar();
        header.set_mode(FILE_MODE);
        header.set_size(data.len() as u64);
        header.set_mtime(self.options.modified);
        header.set_entry_type(tar::EntryType::Regular);
        Ok(self.builder.append_data(&mut header, name, data)?)
    }
}
