//! A bundle's files, read from a directory or an image but not yet understood.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// The most bytes a bundle may hold. The largest of OperatorHub's 7,714 bundles has 6.8 MB.
pub const MAXIMUM_BUNDLE_BYTES: u64 = 256 << 20;

/// The most files a bundle may hold. The largest of OperatorHub's bundles has 105.
pub const MAXIMUM_BUNDLE_FILES: usize = 10_000;

/// How deep a bundle's directories may lie. `tests/scorecard/config.yaml` is the deepest that tools write.
pub const MAXIMUM_BUNDLE_DEPTH: usize = 16;

/// The files of a bundle by their path below its root, such as `manifests/foo.yaml`, in lexical order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BundleFiles {
    files: BTreeMap<String, Vec<u8>>,
    directories: Vec<String>,
    labels: BTreeMap<String, String>,
}

/// Why a bundle's files could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file system refused.
    #[error("cannot read bundle file {}: {cause}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the file system said.
        cause: std::io::Error,
    },
    /// The bundle is larger than any real one, see [`MAXIMUM_BUNDLE_BYTES`].
    #[error("bundle {} holds more than {MAXIMUM_BUNDLE_BYTES} bytes; is this the bundle's directory?", path.display())]
    TooLarge {
        /// The bundle's root.
        path: PathBuf,
    },
    /// The bundle has more files than any real one, see [`MAXIMUM_BUNDLE_FILES`].
    #[error("bundle {} holds more than {MAXIMUM_BUNDLE_FILES} files; is this the bundle's directory?", path.display())]
    TooMany {
        /// The bundle's root.
        path: PathBuf,
    },
    /// Directories lie deeper than [`MAXIMUM_BUNDLE_DEPTH`].
    #[error("bundle {} has directories more than {MAXIMUM_BUNDLE_DEPTH} deep; is this the bundle's directory?", path.display())]
    TooDeep {
        /// The bundle's root.
        path: PathBuf,
    },
    /// A file's name is not UTF-8, so no catalog could name it.
    #[error("bundle file {} has a name that is not UTF-8; rename it", path.display())]
    Name {
        /// The file.
        path: PathBuf,
    },
}

impl BundleFiles {
    /// Reads every file below `root`, following symbolic links only to files.
    ///
    /// # Errors
    ///
    /// When something can't be read, or the directory is larger than any real bundle.
    pub fn read_directory(root: &Path) -> Result<Self, ReadError> {
        let mut found = Self::default();
        let mut total = 0;
        found.read_below(root, root, 0, &mut total)?;
        found.directories.sort();
        Ok(found)
    }

    /// Takes files that were read from an image, and the image's labels.
    #[must_use]
    pub fn from_image(files: BTreeMap<String, Vec<u8>>, labels: BTreeMap<String, String>) -> Self {
        let mut directories: Vec<String> = files
            .keys()
            .flat_map(|path| path.match_indices('/').map(|(end, _)| path[..end].to_owned()))
            .collect();
        directories.sort();
        directories.dedup();
        Self {
            files,
            directories,
            labels,
        }
    }

    /// The bytes of the file at `path`.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<&[u8]> {
        self.files.get(path).map(Vec::as_slice)
    }

    /// Every file with its path, in lexical order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.files
            .iter()
            .map(|(path, bytes)| (path.as_str(), bytes.as_slice()))
    }

    /// The files below `directory`, by their path below it, in lexical order; files in its subdirectories too.
    pub fn below<'a>(&'a self, directory: &'a str) -> impl Iterator<Item = (&'a str, &'a [u8])> {
        self.iter().filter_map(move |(path, bytes)| {
            Some((
                path.strip_prefix(directory.trim_end_matches('/'))?
                    .strip_prefix('/')?,
                bytes,
            ))
        })
    }

    /// Whether there is a directory at `path`, also when it is empty.
    #[must_use]
    pub fn has_directory(&self, path: &str) -> bool {
        self.directories
            .binary_search_by(|known| known.as_str().cmp(path.trim_end_matches('/')))
            .is_ok()
    }

    /// The directories below the root, in lexical order.
    #[must_use]
    pub fn directories(&self) -> &[String] {
        &self.directories
    }

    /// The labels of the image that the files came from; none for a directory.
    #[must_use]
    pub fn labels(&self) -> &BTreeMap<String, String> {
        &self.labels
    }

    fn read_below(
        &mut self,
        root: &Path,
        directory: &Path,
        depth: usize,
        total: &mut u64,
    ) -> Result<(), ReadError> {
        if depth > MAXIMUM_BUNDLE_DEPTH {
            return Err(ReadError::TooDeep {
                path: root.to_owned(),
            });
        }
        let io = |path: &Path| {
            let path = path.to_owned();
            move |cause| ReadError::Io { path, cause }
        };
        for entry in fs::read_dir(directory).map_err(io(directory))? {
            let path = entry.map_err(io(directory))?.path();
            let name = path
                .strip_prefix(root)
                .ok()
                .and_then(Path::to_str)
                .ok_or_else(|| ReadError::Name { path: path.clone() })?
                .to_owned();
            if fs::symlink_metadata(&path).map_err(io(&path))?.is_dir() {
                self.directories.push(name);
                self.read_below(root, &path, depth + 1, total)?;
                continue;
            }
            if fs::metadata(&path).map_err(io(&path))?.is_dir() {
                continue;
            }
            if self.files.len() >= MAXIMUM_BUNDLE_FILES {
                return Err(ReadError::TooMany {
                    path: root.to_owned(),
                });
            }
            let mut bytes = Vec::new();
            let remaining = MAXIMUM_BUNDLE_BYTES - *total;
            let read = fs::File::open(&path)
                .and_then(|file| file.take(remaining + 1).read_to_end(&mut bytes))
                .map_err(io(&path))? as u64;
            if read > remaining {
                return Err(ReadError::TooLarge {
                    path: root.to_owned(),
                });
            }
            *total += read;
            self.files.insert(name, bytes);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_by_their_path_below_the_root() {
        let root = tempfile::tempdir().expect("a directory");
        for (path, text) in [
            ("manifests/a.yaml", "a"),
            ("metadata/annotations.yaml", "b"),
            ("manifests/deep/c.yaml", "c"),
        ] {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
            fs::write(path, text).expect("a file");
        }
        let files = BundleFiles::read_directory(root.path()).expect("a bundle");
        let names: Vec<_> = files.below("manifests/").map(|(name, _)| name).collect();
        assert_eq!(names, ["a.yaml", "deep/c.yaml"]);
        assert_eq!(files.get("metadata/annotations.yaml"), Some(b"b".as_slice()));
        assert!(files.has_directory("manifests/deep"));
        assert!(!files.has_directory("tests"));
    }

    #[test]
    fn an_images_directories_are_those_of_its_files() {
        let files = BTreeMap::from([("manifests/a.yaml".to_owned(), Vec::new())]);
        assert!(BundleFiles::from_image(files, BTreeMap::new()).has_directory("manifests/"));
    }
}
