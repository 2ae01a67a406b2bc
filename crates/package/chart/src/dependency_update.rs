//! `--dependency-update`: packs the dependencies that are on this machine into `charts/`, and locks their versions.
//!
//! Dependencies in directories (`file://`) are packed; those that lie in `charts/` already are kept. One that only a
//! repository on the network has is an error that says which repository.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thiserror::Error;
use version::{Constraint, Spelled};

use crate::archive::{self, PackageError, PackageOptions};
use crate::chart::Chart;
use crate::compatibility::{EDITION, is_compatible_range};
use crate::loader::{self, LoadError};
use crate::lock::Lock;
use crate::metadata::{API_VERSION_V1, Dependency};
use crate::source::Source;
use crate::warning::WarningSink;

/// How repositories on this machine are written.
const LOCAL_SCHEME: &str = "file://";

/// Dependencies that cannot be updated.
#[derive(Debug, Error)]
pub enum DependencyUpdateError {
    /// The chart is an archive.
    #[error("only unpacked charts can be updated")]
    NotADirectory,
    /// A chart cannot be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A dependency asks for versions in a way that cannot be read.
    #[error("dependency {name:?} has an invalid version/constraint format: {message}")]
    InvalidConstraint {
        /// The dependency.
        name: String,
        /// What is wrong.
        message: String,
    },
    /// The directory of a dependency is not there.
    #[error("directory {} not found", .0.display())]
    DirectoryNotFound(PathBuf),
    /// The directories have other versions than the chart asks for.
    #[error(
        "can't get a valid version for {} subchart(s): {}. Make sure a matching chart version exists in the repo, or \
         change the version constraint in Chart.yaml",
        .0.len(),
        .0.join(", ")
    )]
    NoValidVersion(Vec<String>),
    /// Dependencies are in repositories on the network.
    #[error(
        "cannot fetch {}: baton reads charts from this machine only; download them into charts/, or run `helm dependency \
         update`",
        .0.join(", ")
    )]
    Remote(Vec<String>),
    /// A dependency's chart cannot be packed.
    #[error(transparent)]
    Package(#[from] PackageError),
    /// The lock file cannot be written as YAML.
    #[error("cannot write the lock file: {0}")]
    Lock(String),
    /// A file cannot be written or removed.
    #[error(transparent)]
    File(#[from] io::Error),
}

/// A file that an update writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewFile {
    /// Where.
    pub path: PathBuf,
    /// What.
    pub content: Vec<u8>,
}

/// What an update does to a chart's directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DependencyUpdate {
    /// How many dependencies the chart declares.
    pub dependencies: usize,
    /// Archives for `charts/`, and the lock file.
    pub new_files: Vec<NewFile>,
    /// Archives of other versions of the same charts.
    pub outdated: Vec<PathBuf>,
}

/// Decides what to do so that a chart's dependencies are there; nothing is written.
pub fn plan(
    directory: &Path,
    source: &dyn Source,
    warn: WarningSink<'_>,
) -> Result<DependencyUpdate, DependencyUpdateError> {
    if !directory.is_dir() {
        return Err(DependencyUpdateError::NotADirectory);
    }
    let chart = loader::load_directory(directory, warn)?;
    let Some(declared) = &chart.metadata.dependencies else {
        return Ok(DependencyUpdate::default());
    };
    let mut update = DependencyUpdate {
        dependencies: declared.len(),
        ..DependencyUpdate::default()
    };
    let mut locked = Vec::with_capacity(declared.len());
    let (mut unfit, mut remote) = (Vec::new(), Vec::new());
    for dependency in declared {
        match find(&chart, directory, dependency, warn)? {
            Found::Packed(subchart) => {
                locked.push(Some(lock_entry(dependency, &subchart.metadata.version)));
                pack(&subchart, directory, &mut update)?;
            }
            Found::There(version) => locked.push(Some(lock_entry(dependency, &version))),
            Found::Unfit => unfit.push(format!(
                "{:?} (repository {:?}, version {:?})",
                dependency.name, dependency.repository, dependency.version
            )),
            Found::Remote => remote.push(format!(
                "{} {} from {}",
                dependency.name, dependency.version, dependency.repository
            )),
        }
    }
    if !unfit.is_empty() {
        return Err(DependencyUpdateError::NoValidVersion(unfit));
    }
    if !remote.is_empty() {
        return Err(DependencyUpdateError::Remote(remote));
    }
    lock(&chart, directory, declared, locked, source, &mut update)?;
    Ok(update)
}

/// Where a dependency was found.
enum Found {
    /// In a directory, from where it is packed.
    Packed(Arc<Chart>),
    /// In `charts/`, in this version.
    There(String),
    /// On this machine, but not in a version that the chart asks for.
    Unfit,
    /// Only in a repository on the network, if at all.
    Remote,
}

fn find(
    chart: &Chart,
    directory: &Path,
    dependency: &Dependency,
    warn: WarningSink<'_>,
) -> Result<Found, DependencyUpdateError> {
    Constraint::parse(&dependency.version, EDITION).map_err(|error| {
        DependencyUpdateError::InvalidConstraint {
            name: dependency.name.clone(),
            message: error.to_string(),
        }
    })?;
    let fits = |version: &str| {
        Spelled::parse(version, EDITION).is_ok() && is_compatible_range(&dependency.version, version)
    };
    if let Some(path) = dependency.repository.strip_prefix(LOCAL_SCHEME) {
        let path = directory.join(path);
        if !path.exists() {
            return Err(DependencyUpdateError::DirectoryNotFound(path));
        }
        let subchart = loader::load_directory(&path, warn)?;
        return Ok(if fits(&subchart.metadata.version) {
            Found::Packed(subchart)
        } else {
            Found::Unfit
        });
    }
    let there = chart
        .dependencies
        .iter()
        .find(|subchart| subchart.name() == dependency.name);
    Ok(match there {
        Some(subchart) if fits(&subchart.metadata.version) => Found::There(subchart.metadata.version.clone()),
        Some(_) if dependency.repository.is_empty() => Found::Unfit,
        None if dependency.repository.is_empty() => {
            return Err(DependencyUpdateError::DirectoryNotFound(
                directory.join("charts").join(&dependency.name),
            ));
        }
        _ => Found::Remote,
    })
}

fn lock_entry(dependency: &Dependency, version: &str) -> Dependency {
    Dependency {
        name: dependency.name.clone(),
        version: if dependency.repository.is_empty() {
            dependency.version.clone()
        } else {
            version.to_owned()
        },
        repository: dependency.repository.clone(),
        ..Dependency::default()
    }
}

fn pack(
    subchart: &Chart,
    directory: &Path,
    update: &mut DependencyUpdate,
) -> Result<(), DependencyUpdateError> {
    let charts = directory.join("charts");
    let path = charts.join(archive::file_name(subchart));
    if update.new_files.iter().any(|file| file.path == path) {
        return Ok(());
    }
    let mut content = Vec::new();
    archive::write(subchart, &mut content, PackageOptions::default())?;
    let entries = fs::read_dir(&charts).into_iter().flatten().flatten();
    for other in entries
        .map(|entry| entry.path())
        .filter(|other| *other != path && other.is_file())
    {
        let is_same_chart =
            loader::load(&other, &mut |_| {}).is_ok_and(|other| other.name() == subchart.name());
        if is_same_chart {
            update.outdated.push(other);
        }
    }
    update.new_files.push(NewFile { path, content });
    Ok(())
}

fn lock(
    chart: &Chart,
    directory: &Path,
    declared: &[Dependency],
    locked: Vec<Option<Dependency>>,
    source: &dyn Source,
    update: &mut DependencyUpdate,
) -> Result<(), DependencyUpdateError> {
    let failed = |error: serde_json::Error| DependencyUpdateError::Lock(error.to_string());
    // Go writes these characters of JSON as escapes, and the digest is that of Go's text.
    let text = serde_json::to_string(&(declared, &locked)).map_err(failed)?;
    let text = [
        ('<', "\\u003c"),
        ('>', "\\u003e"),
        ('&', "\\u0026"),
        ('\u{2028}', "\\u2028"),
        ('\u{2029}', "\\u2029"),
    ]
    .iter()
    .fold(text, |text, (character, escape)| text.replace(*character, escape));
    let hash = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, text.as_bytes());
    let mut digest = "sha256:".to_owned();
    for byte in hash.as_ref() {
        // Writing to memory cannot fail.
        write!(digest, "{byte:02x}").ok();
    }
    if chart.lock.as_ref().is_some_and(|lock| lock.digest == digest) {
        return Ok(());
    }
    let generated = source
        .now()
        .to_zoned(source.local_zone())
        .strftime("%Y-%m-%dT%H:%M:%S%.f%:z")
        .to_string();
    let generated = crate::lock::normalize_time(&generated).map_err(DependencyUpdateError::Lock)?;
    let lock = Lock {
        generated,
        digest,
        dependencies: Some(locked),
    };
    let content = crate::document::write(&lock)
        .map_err(DependencyUpdateError::Lock)?
        .into_bytes();
    let name = if chart.metadata.api_version == API_VERSION_V1 {
        "requirements.lock"
    } else {
        "Chart.lock"
    };
    update.new_files.push(NewFile {
        path: directory.join(name),
        content,
    });
    Ok(())
}
