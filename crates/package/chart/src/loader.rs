//! Charts from directories and archives.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gotemplate::format::quoted;
use serde_json::Value;
use thiserror::Error;

use crate::archive::{self, ArchiveError, Budget};
use crate::chart::{Chart, File};
use crate::directory::{self, DirectoryError};
use crate::document;
use crate::go_error::system_text;
use crate::lock::Lock;
use crate::metadata::{API_VERSION_V1, InvalidMetadata, Metadata};
use crate::warning::{Warning, WarningSink};

/// How deep charts may contain charts. Umbrella charts nest three or four deep; each level costs stack and, in archives,
/// a whole decompression.
const MAX_NESTING: usize = 32;

/// A chart that cannot be loaded.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The path does not exist or may not be read.
    #[error("stat {}: {}", path.display(), system_text(source))]
    NotFound {
        /// The path.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The directory cannot be read.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// The archive cannot be read.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The file has a gzip signature, but is broken from its first bytes on.
    #[error("file '{}' does not appear to be a valid chart file (details: {details})", path.display())]
    NotAChart {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        details: String,
    },
    /// One of the chart's own files is faulty.
    #[error("cannot load {file}: {message}")]
    Faulty {
        /// The file.
        file: &'static str,
        /// What is wrong with it, in Go's words.
        message: String,
    },
    /// There is no `Chart.yaml`.
    #[error("Chart.yaml file is missing")]
    NoChartFile,
    /// `Chart.yaml` breaks a rule.
    #[error(transparent)]
    Invalid(#[from] InvalidMetadata),
    /// A subchart cannot be loaded.
    #[error("error unpacking subchart {subchart} in {chart}: {source}")]
    Subchart {
        /// Its directory or archive below `charts/`.
        subchart: String,
        /// The chart that contains it.
        chart: String,
        /// Why.
        #[source]
        source: Box<LoadError>,
    },
    /// A directory below `charts/` is named like an archive.
    #[error("error unpacking subchart tar in {chart}: expected {expected}, got {found}")]
    NotAnArchive {
        /// The chart that contains it.
        chart: String,
        /// The name of the archive.
        expected: String,
        /// The first file in it.
        found: String,
    },
    /// Charts contain charts deeper than any real chart does.
    #[error("charts are nested more than {MAX_NESTING} deep")]
    TooDeep,
}

/// A chart that cannot be found by the name it was given.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum LocateError {
    /// A path leads nowhere.
    #[error("path {} not found", quoted(.0))]
    PathNotFound(String),
    /// The name is that of a chart in a repository that nobody added.
    #[error("repo {0} not found")]
    RepositoryNotFound(String),
    /// The name is neither a path nor one of a chart in a repository.
    #[error("non-absolute URLs should be in form of repo_name/path_to_chart, got: {0}")]
    NotAChartName(String),
    /// The chart is in a registry or on a server; charts are read from this machine only.
    #[error("chart {} is not on this machine; download it and give its path", quoted(.0))]
    Remote(String),
}

/// Finds the directory or archive that a chart's name on the command line means.
pub fn locate(name: &str) -> Result<PathBuf, LocateError> {
    let name = name.trim();
    let path = Path::new(name);
    if path.exists() {
        return Ok(std::path::absolute(path).unwrap_or_else(|_| path.to_owned()));
    }
    if path.is_absolute() || name.starts_with('.') {
        return Err(LocateError::PathNotFound(name.to_owned()));
    }
    if name.contains("://") {
        return Err(LocateError::Remote(name.to_owned()));
    }
    match name.split_once('/') {
        Some((repository, _)) => Err(LocateError::RepositoryNotFound(repository.to_owned())),
        None => Err(LocateError::NotAChartName(name.to_owned())),
    }
}

/// Loads a chart from a directory or an archive.
pub fn load(path: &Path, warn: WarningSink<'_>) -> Result<Arc<Chart>, LoadError> {
    let metadata = std::fs::metadata(path).map_err(|source| LoadError::NotFound {
        path: path.to_owned(),
        source,
    })?;
    if metadata.is_dir() {
        return load_directory(path, warn);
    }
    let mut budget = Budget::default();
    let files = archive::read_file(path, &mut budget).map_err(|error| match error {
        ArchiveError::Corrupt(details) if details == "gzip: invalid header" => LoadError::NotAChart {
            path: path.to_owned(),
            details,
        },
        error => LoadError::Archive(error),
    })?;
    Loading { budget, warn }.chart(files, 0)
}

/// Loads a chart from a directory.
pub fn load_directory(path: &Path, warn: WarningSink<'_>) -> Result<Arc<Chart>, LoadError> {
    let mut budget = Budget::default();
    let files = directory::read(path, &mut budget, warn)?;
    Loading { budget, warn }.chart(files, 0)
}

/// Loads a chart from the bytes of an archive.
pub fn load_archive(compressed: impl std::io::Read, warn: WarningSink<'_>) -> Result<Arc<Chart>, LoadError> {
    let mut budget = Budget::default();
    let files = archive::read(compressed, &mut budget)?;
    Loading { budget, warn }.chart(files, 0)
}

/// Loads a chart from files in memory.
pub fn load_files(files: Vec<File>, warn: WarningSink<'_>) -> Result<Arc<Chart>, LoadError> {
    Loading {
        budget: Budget::default(),
        warn,
    }
    .chart(files, 0)
}

struct Loading<'a> {
    budget: Budget,
    warn: WarningSink<'a>,
}

/// The parts of a chart while its files are sorted into them.
#[derive(Default)]
struct Parts {
    lock: Option<Lock>,
    values: Option<Arc<crate::values::Table>>,
    schema: Option<bytes::Bytes>,
    templates: Vec<File>,
    files: Vec<File>,
    /// By the first element of the path below `charts/`. Helm has them in random order, here it is by name.
    subcharts: BTreeMap<String, Vec<File>>,
}

impl Loading<'_> {
    fn chart(&mut self, raw: Vec<File>, nesting: usize) -> Result<Arc<Chart>, LoadError> {
        if nesting > MAX_NESTING {
            return Err(LoadError::TooDeep);
        }
        let mut metadata = None;
        for file in raw.iter().filter(|file| file.name == "Chart.yaml") {
            let metadata = metadata.get_or_insert_with(Metadata::default);
            decode_metadata(metadata, &file.data, "Chart.yaml")?;
            if metadata.api_version.is_empty() {
                API_VERSION_V1.clone_into(&mut metadata.api_version);
            }
        }
        let mut parts = Parts::default();
        for file in &raw {
            self.sort(file, &mut metadata, &mut parts)?;
        }
        let mut metadata = metadata.ok_or(LoadError::NoChartFile)?;
        metadata.validate()?;
        let mut dependencies = Vec::with_capacity(parts.subcharts.len());
        for (name, files) in parts.subcharts {
            if !name.starts_with(['_', '.']) {
                dependencies.push(self.subchart(&metadata.name, name, files, nesting)?);
            }
        }
        Ok(Arc::new(Chart {
            metadata: Arc::new(metadata),
            lock: parts.lock,
            values: parts.values,
            schema: parts.schema,
            templates: parts.templates.into(),
            files: parts.files.into(),
            raw: raw.into(),
            dependencies,
        }))
    }

    fn sort(
        &mut self,
        file: &File,
        metadata: &mut Option<Metadata>,
        parts: &mut Parts,
    ) -> Result<(), LoadError> {
        match file.name.as_str() {
            "Chart.yaml" => {}
            "Chart.lock" => parts.lock = decode_lock(&file.data, "Chart.lock")?,
            "values.yaml" => {
                let values = decode_values(&file.data).map_err(|message| LoadError::Faulty {
                    file: "values.yaml",
                    message,
                })?;
                parts.values = values.map(Arc::new);
            }
            "values.schema.json" => parts.schema = Some(file.data.clone()),
            "requirements.yaml" => {
                let metadata = metadata.get_or_insert_with(Metadata::default);
                if metadata.api_version != API_VERSION_V1 {
                    (self.warn)(Warning::new(
                        "load.go:120",
                        "Warning: Dependencies are handled in Chart.yaml since apiVersion \"v2\". We recommend migrating \
                         dependencies to Chart.yaml."
                            .to_owned(),
                    ));
                }
                decode_metadata(metadata, &file.data, "requirements.yaml")?;
                if metadata.api_version == API_VERSION_V1 {
                    parts.files.push(file.clone());
                }
            }
            "requirements.lock" => {
                parts.lock = decode_lock(&file.data, "requirements.lock")?;
                let metadata = metadata.get_or_insert_with(Metadata::default);
                if metadata.api_version == API_VERSION_V1 {
                    parts.files.push(file.clone());
                } else {
                    (self.warn)(Warning::new(
                        "load.go:138",
                        "Warning: Dependency locking is handled in Chart.lock since apiVersion \"v2\". We recommend \
                         migrating to Chart.lock."
                            .to_owned(),
                    ));
                }
            }
            name if name.starts_with("templates/") => parts.templates.push(file.clone()),
            name => match name.strip_prefix("charts/") {
                Some(rest) if !extension(name, "prov") => {
                    let directory = rest.split('/').next().unwrap_or(rest).to_owned();
                    let file = File {
                        name: rest.to_owned(),
                        data: file.data.clone(),
                    };
                    parts.subcharts.entry(directory).or_default().push(file);
                }
                _ => parts.files.push(file.clone()),
            },
        }
        Ok(())
    }

    fn subchart(
        &mut self,
        chart: &str,
        name: String,
        mut files: Vec<File>,
        nesting: usize,
    ) -> Result<Arc<Chart>, LoadError> {
        let loaded = if extension(&name, "tgz") {
            let first = files.first().map_or("", |file| &file.name);
            if first != name {
                let found = first.to_owned();
                return Err(LoadError::NotAnArchive {
                    chart: chart.to_owned(),
                    expected: name,
                    found,
                });
            }
            archive::read(files[0].data.as_ref(), &mut self.budget)
                .map_err(LoadError::from)
                .and_then(|files| self.chart(files, nesting + 1))
        } else {
            // A file directly in charts/ is in no chart.
            files.retain(|file| file.name.contains('/'));
            for file in &mut files {
                if let Some((_, rest)) = file.name.split_once('/') {
                    file.name = rest.to_owned();
                }
            }
            self.chart(files, nesting + 1)
        };
        loaded.map_err(|source| LoadError::Subchart {
            subchart: name,
            chart: chart.to_owned(),
            source: Box::new(source),
        })
    }
}

/// Tells whether the last element of a path has an extension.
fn extension(path: &str, expected: &str) -> bool {
    let element = path.rsplit('/').next().unwrap_or(path);
    element
        .rsplit_once('.')
        .is_some_and(|(_, extension)| extension == expected)
}

fn decode_metadata(metadata: &mut Metadata, data: &[u8], file: &'static str) -> Result<(), LoadError> {
    document::read(data)
        .and_then(|value| metadata.decode(&value).map_err(document::decoding_error))
        .map_err(|message| LoadError::Faulty { file, message })
}

fn decode_lock(data: &[u8], file: &'static str) -> Result<Option<Lock>, LoadError> {
    document::read(data)
        .and_then(|value| Lock::decode(&value).map_err(document::decoding_error))
        .map_err(|message| LoadError::Faulty { file, message })
}

/// Reads a file of values; every number is a float. An empty file has no table at all. The error is Go's text.
pub fn decode_values(data: &[u8]) -> Result<Option<crate::values::Table>, String> {
    match document::read_floats(data)? {
        Value::Null => Ok(None),
        Value::Object(table) => Ok(Some(table)),
        other => {
            let mut decoder = crate::field_decoder::FieldDecoder::default();
            decoder.mismatch(&other, "map[string]interface {}");
            Err(decoder
                .finish()
                .map_or_else(document::decoding_error, |()| String::new()))
        }
    }
}
