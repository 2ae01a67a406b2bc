//! The store that `opm serve` serves: of a directory, found in a cache or built.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use gotemplate::format::quoted;
use image::digest::Digest;
use tempfile::TempDir;
use thiserror::Error;

use crate::reading::{self, ReadError, Source};
use crate::store::{BuildError, Store, StoreError, StoreWriter};

/// The folder of a cache in which our stores lie, beside what opm itself may have put there.
const FOLDER: &str = "baton.v1";

/// The folders and files of opm's own caches.
const UPSTREAM_CACHES: [&str; 3] = ["pogreb.v1", "cache", "digest"];

/// What is to be served, and where its store is kept.
#[derive(Debug, Clone, Default)]
pub struct ServeOptions {
    /// The directory with the catalog's files.
    pub source: PathBuf,
    /// Where stores are kept; without it, the store is built in a folder that is deleted at the end.
    pub cache_directory: Option<PathBuf>,
    /// Only build the store, don't serve.
    pub cache_only: bool,
    /// Whether a cache that doesn't fit the files is an error. If that isn't said, it is one when there is a cache
    /// directory and the catalog is to be served.
    pub enforce_integrity: Option<bool>,
}

/// Why there is no store to serve. The texts are those of `opm serve`.
#[derive(Debug, Error)]
pub enum PrepareError {
    /// Integrity can only be enforced of a cache that is kept.
    #[error("--cache-dir must be specified with --cache-enforce-integrity")]
    NothingToEnforce,
    /// The cache has no store, or the store of other files.
    #[error("integrity check failed: {0}")]
    Integrity(String),
    /// The store can't be built.
    #[error("failed to load or rebuild cache: failed to rebuild cache: {0}")]
    Build(#[from] BuildError),
    /// The files can't be read.
    #[error("failed to load or rebuild cache: compute digest: {0}")]
    Digest(#[from] ReadError),
    /// The store can't be opened.
    #[error("failed to load cache: {0}")]
    Store(#[from] StoreError),
    /// There is no folder for a store that isn't kept.
    #[error("cannot create a temporary folder for the catalog store: {0}; set TMPDIR to a folder with space")]
    TemporaryFolder(io::Error),
}

/// A store, and the folder that goes with it if it isn't kept.
#[derive(Debug)]
pub struct PreparedStore {
    /// The store.
    pub store: Store,
    _folder: Option<TempDir>,
}

/// Finds or builds the store that is to be served.
pub fn prepare(options: &ServeOptions) -> Result<PreparedStore, PrepareError> {
    let enforce = options
        .enforce_integrity
        .unwrap_or(options.cache_directory.is_some() && !options.cache_only);
    let source = Source::Directory(&options.source);
    let Some(cache) = &options.cache_directory else {
        if enforce {
            return Err(PrepareError::NothingToEnforce);
        }
        return prepare_temporarily(source);
    };
    let folder = cache.join(FOLDER);
    let digest = reading::digest(source)?;
    match Store::open(&folder, &digest) {
        Ok(Some(store)) if store.registry().is_some() => return Ok(PreparedStore { store, _folder: None }),
        Err(error) if !error.calls_for_rebuild() => return Err(error.into()),
        _ => {}
    }
    if enforce {
        check_foreign_cache(cache, &folder, &digest)?;
    }
    let built = StoreWriter::create(&folder, &digest)
        .map_err(BuildError::from)
        .and_then(|writer| build(writer, source));
    match built {
        Ok(store) => {
            // A cache keeps the store of one catalog, as opm's does.
            store.delete_others(&folder)?;
            Ok(PreparedStore { store, _folder: None })
        }
        // With opm's own cache in a read-only image, integrity is enforced of that; ours is only a means.
        Err(BuildError::Store(StoreError::Io { .. })) if enforce => prepare_temporarily(source),
        Err(error) => Err(error.into()),
    }
}

/// Builds a store that is deleted when it is dropped.
fn prepare_temporarily(source: Source<'_>) -> Result<PreparedStore, PrepareError> {
    let folder = tempfile::Builder::new()
        .prefix("opm-serve-cache-")
        .tempdir()
        .map_err(PrepareError::TemporaryFolder)?;
    let writer = StoreWriter::create(folder.path(), &Digest::of(b""))?;
    let store = build(writer, source)?;
    Ok(PreparedStore {
        store,
        _folder: Some(folder),
    })
}

fn build(mut writer: StoreWriter, source: Source<'_>) -> Result<Store, BuildError> {
    writer.push_all(source)?;
    writer.finish_with_registry()
}

/// Refuses a cache that has the store of other files, or none at all; one that only opm has filled may be used.
fn check_foreign_cache(cache: &Path, folder: &Path, digest: &Digest) -> Result<(), PrepareError> {
    let name_of_store = |folder: &Path| {
        let entries = fs::read_dir(folder).ok()?;
        let mut names: Vec<String> = entries
            .flatten()
            .filter_map(|entry| Some(entry.file_name().to_str()?.strip_suffix(".catalog")?.to_owned()))
            .collect();
        names.sort();
        names.into_iter().next()
    };
    if let Some(existing) = name_of_store(folder) {
        return Err(PrepareError::Integrity(format!(
            "cache requires rebuild: cache reports digest as {}, but computed digest is {}",
            quoted(existing),
            quoted(digest.hex())
        )));
    }
    let is_upstream = UPSTREAM_CACHES.iter().any(|name| cache.join(name).exists());
    if is_upstream {
        return Ok(());
    }
    Err(PrepareError::Integrity(format!(
        "read existing cache digest: open {}: no such file or directory",
        folder.join(digest.hex()).display()
    )))
}

/// Writes why the program ends where Kubernetes looks for it.
pub fn write_termination_log(path: &Path, line: &str) -> io::Result<()> {
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)?;
    file.write_all(line.as_bytes())
}
