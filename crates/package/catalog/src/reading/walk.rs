//! The files of a catalog, in the order in which they are read.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::ReadError;
use super::ignore::{FILE_NAME, Ignored};

/// Where a catalog's files are.
#[derive(Debug, Clone, Copy)]
pub enum Source<'a> {
    /// A directory on disk.
    Directory(&'a Path),
    /// Files by their path with slashes, such as those below `/configs` of a catalog image.
    Files(&'a BTreeMap<String, Vec<u8>>),
}

/// How deep directories may be nested: deeper than any catalog, and short of what a path can hold.
const MAX_DIRECTORY_DEPTH: usize = 256;

/// How many files a catalog may have; that of operatorhub.io, with a directory per version, stays below a tenth.
const MAX_FILES: usize = 1_000_000;

/// The largest `.indexignore`, in bytes.
const MAX_IGNORE_FILE_BYTES: u64 = 1 << 20;

/// A file of a catalog that is not open yet.
pub(super) struct CatalogFile<'a> {
    /// The path inside of the catalog, with slashes.
    pub(super) path: String,
    place: Place<'a>,
}

enum Place<'a> {
    Disk(PathBuf),
    Memory(&'a [u8]),
}

/// Returns the files to read: every one but the ignored, whatever its extension, in lexical order.
pub(super) fn files(source: Source<'_>) -> Result<Vec<CatalogFile<'_>>, ReadError> {
    let mut files = match source {
        Source::Directory(root) => on_disk(root)?,
        Source::Files(files) => in_memory(files),
    };
    let mut ignored = Ignored::default();
    for file in &files {
        if is_ignore_file(&file.path) {
            let mut content = Vec::new();
            let read = file
                .open()
                .and_then(|reader| reader.take(MAX_IGNORE_FILE_BYTES + 1).read_to_end(&mut content));
            let size = read.map_err(|error| ReadError::io("read", &file.path, error))?;
            if size as u64 > MAX_IGNORE_FILE_BYTES {
                return Err(ReadError::IgnoreFileTooLarge {
                    path: file.path.clone(),
                    limit: MAX_IGNORE_FILE_BYTES,
                });
            }
            ignored.add(&file.path, &content);
        }
    }
    files.retain(|file| !is_ignore_file(&file.path) && !ignored.covers(&file.path));
    Ok(files)
}

fn is_ignore_file(path: &str) -> bool {
    path.rsplit('/').next() == Some(FILE_NAME)
}

fn in_memory(files: &BTreeMap<String, Vec<u8>>) -> Vec<CatalogFile<'_>> {
    let mut found: Vec<CatalogFile<'_>> = files
        .iter()
        .map(|(path, content)| CatalogFile {
            path: path.trim_start_matches('/').to_owned(),
            place: Place::Memory(content),
        })
        .collect();
    // By name within each directory, which is not the order of whole paths: `a/x` comes before `a.json`.
    found.sort_by(|a, b| a.path.split('/').cmp(b.path.split('/')));
    found
}

fn on_disk(root: &Path) -> Result<Vec<CatalogFile<'static>>, ReadError> {
    let mut found = Vec::new();
    // Directories still to be read are stacked in reverse, so that the next one in order is on top.
    let mut pending = vec![(String::new(), root.to_path_buf(), 0)];
    while let Some((path, place, depth)) = pending.pop() {
        let is_directory = path.is_empty()
            || fs::symlink_metadata(&place)
                .map_err(|error| ReadError::io("lstat", &path, error))?
                .is_dir();
        if !is_directory {
            if found.len() >= MAX_FILES {
                return Err(ReadError::TooManyFiles(MAX_FILES));
            }
            found.push(CatalogFile {
                path,
                place: Place::Disk(place),
            });
            continue;
        }
        if depth > MAX_DIRECTORY_DEPTH {
            return Err(ReadError::TooDeep {
                path,
                limit: MAX_DIRECTORY_DEPTH,
            });
        }
        let shown = if path.is_empty() { "." } else { &path };
        let failed = |error| ReadError::io("open", shown, error);
        let mut names = Vec::new();
        for entry in fs::read_dir(&place).map_err(failed)? {
            names.push(entry.map_err(failed)?.file_name());
        }
        names.sort_unstable();
        for name in names.into_iter().rev() {
            let shown = name.to_string_lossy();
            let inner = if path.is_empty() {
                shown.into_owned()
            } else {
                format!("{path}/{shown}")
            };
            pending.push((inner, place.join(&name), depth + 1));
        }
    }
    Ok(found)
}

impl<'a> CatalogFile<'a> {
    /// Opens the file. A link is followed to the file it names; what is no file is refused, because reading a pipe
    /// could wait for ever.
    pub(super) fn open(&self) -> io::Result<FileReader<'a>> {
        match &self.place {
            Place::Memory(bytes) => Ok(FileReader::Memory(bytes)),
            Place::Disk(path) => {
                let kind = fs::metadata(path)?;
                if kind.is_dir() {
                    return Err(io::ErrorKind::IsADirectory.into());
                }
                if !kind.is_file() {
                    return Err(io::Error::other("not a regular file"));
                }
                Ok(FileReader::Disk(File::open(path)?))
            }
        }
    }
}

/// An open file of a catalog.
pub(super) enum FileReader<'a> {
    Disk(File),
    Memory(&'a [u8]),
}

impl Read for FileReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Disk(file) => file.read(buffer),
            Self::Memory(bytes) => bytes.read(buffer),
        }
    }
}
