//! The files of a chart's directory, in Helm's order.

use std::fs;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use bytes::Bytes;
use gotemplate::format::quoted;
use thiserror::Error;

use crate::archive::{BYTE_ORDER_MARK, Budget, MAX_FILE_SIZE, OverBudget};
use crate::chart::File;
use crate::go_error::system_text;
use crate::ignore::{self, IgnoreError, Rules};
use crate::warning::{Warning, WarningSink};

/// How deep directories may be nested. Real charts nest subcharts four or five deep, with three directories each; a
/// deeper tree would only exhaust the stack.
const MAX_DEPTH: usize = 128;

/// A directory that cannot be read as a chart.
#[derive(Debug, Error)]
pub enum DirectoryError {
    /// The operating system refused.
    #[error("{operation} {}: {}", path.display(), system_text(source))]
    FileSystem {
        /// What was tried, in Go's words.
        operation: &'static str,
        /// On which file.
        path: PathBuf,
        /// Why it failed.
        #[source]
        source: io::Error,
    },
    /// The content of a file could not be read.
    #[error("error reading {name}: open {}: {}", path.display(), system_text(source))]
    Unreadable {
        /// The path in the chart.
        name: String,
        /// The path on disk.
        path: PathBuf,
        /// Why it failed.
        #[source]
        source: io::Error,
    },
    /// A symbolic link leads nowhere or to itself.
    #[error("error evaluating symlink {}: lstat {}: {}", path.display(), missing.display(), system_text(source))]
    BrokenLink {
        /// The link.
        path: PathBuf,
        /// The first part of the way that is not there.
        missing: PathBuf,
        /// Why it could not be followed.
        #[source]
        source: io::Error,
    },
    /// A symbolic link leads out of the chart. Helm follows it; here the content of a chart is what is in its directory.
    #[error(
        "symbolic link {} leads out of the chart directory to {}; replace it with a copy",
        path.display(),
        target.display()
    )]
    LinkLeadsOut {
        /// The link.
        path: PathBuf,
        /// Where it leads.
        target: PathBuf,
    },
    /// A symbolic link leads to a directory that it is in.
    #[error("symbolic link {} leads to {}, a directory that contains it", path.display(), target.display())]
    LinkLoop {
        /// The link.
        path: PathBuf,
        /// Where it leads.
        target: PathBuf,
    },
    /// A device, socket or named pipe.
    #[error("cannot load irregular file {} as it has file mode type bits set", path.display())]
    Irregular {
        /// The file.
        path: PathBuf,
    },
    /// A file is larger than Helm loads.
    #[error(
        "chart file {} is larger than the maximum file size {MAX_FILE_SIZE}",
        quoted(name)
    )]
    TooLarge {
        /// The last element of its path.
        name: String,
    },
    /// Directories are nested deeper than any chart needs.
    #[error("{} is nested more than {MAX_DEPTH} directories deep", path.display())]
    TooDeep {
        /// The first directory that is too deep.
        path: PathBuf,
    },
    /// The chart has more files or bytes than are read.
    #[error(transparent)]
    OverBudget(#[from] OverBudget),
    /// The `.helmignore` is faulty.
    #[error(transparent)]
    Ignore(#[from] IgnoreError),
}

/// Reads the files of a chart's directory, in lexical order per directory, without those that `.helmignore` names.
pub fn read(
    directory: &Path,
    budget: &mut Budget,
    warn: WarningSink<'_>,
) -> Result<Vec<File>, DirectoryError> {
    let top = std::path::absolute(directory).map_err(|source| DirectoryError::FileSystem {
        operation: "getwd",
        path: directory.to_owned(),
        source,
    })?;
    let root = fs::canonicalize(&top).map_err(|source| DirectoryError::FileSystem {
        operation: "lstat",
        path: top.clone(),
        source,
    })?;
    let rules = read_rules(&top, &root)?;
    let mut walk = Walk {
        root: &root,
        rules,
        files: Vec::new(),
        budget,
        warn,
        ancestors: Vec::new(),
    };
    walk.directory(&top, "")?;
    Ok(walk.files)
}

fn read_rules(top: &Path, root: &Path) -> Result<Rules, DirectoryError> {
    let path = top.join(ignore::FILE_NAME);
    let Ok(metadata) = fs::metadata(&path) else {
        return Ok(Rules::parse(b"")?);
    };
    if !metadata.is_file() {
        return Err(DirectoryError::Irregular { path });
    }
    let target = fs::canonicalize(&path).map_err(|source| DirectoryError::BrokenLink {
        path: path.clone(),
        missing: missing_part(&path),
        source,
    })?;
    if !target.starts_with(root) {
        return Err(DirectoryError::LinkLeadsOut { path, target });
    }
    let content = read_limited(&path, ignore::FILE_NAME, ignore::FILE_NAME)?;
    Ok(Rules::parse(&content)?)
}

/// One walk through a chart's directory.
struct Walk<'a> {
    root: &'a Path,
    rules: Rules,
    files: Vec<File>,
    budget: &'a mut Budget,
    warn: WarningSink<'a>,
    /// The real paths of the directories that are open now, to find links that lead back.
    ancestors: Vec<PathBuf>,
}

impl Walk<'_> {
    fn directory(&mut self, path: &Path, name: &str) -> Result<(), DirectoryError> {
        if self.ancestors.len() >= MAX_DEPTH {
            return Err(DirectoryError::TooDeep {
                path: path.to_owned(),
            });
        }
        let failed = |operation| {
            move |source| DirectoryError::FileSystem {
                operation,
                path: path.to_owned(),
                source,
            }
        };
        let real = fs::canonicalize(path).map_err(failed("lstat"))?;
        self.ancestors.push(real);
        let mut names = Vec::new();
        for entry in fs::read_dir(path).map_err(failed("open"))? {
            self.budget.count_file()?;
            names.push(entry.map_err(failed("readdirent"))?.file_name());
        }
        names.sort();
        for element in names {
            let path = path.join(&element);
            let element = element.to_string_lossy();
            let name = if name.is_empty() {
                element.into_owned()
            } else {
                format!("{name}/{element}")
            };
            self.entry(path, name)?;
        }
        self.ancestors.pop();
        Ok(())
    }

    fn entry(&mut self, path: PathBuf, name: String) -> Result<(), DirectoryError> {
        let mut metadata = fs::symlink_metadata(&path).map_err(|source| DirectoryError::FileSystem {
            operation: "lstat",
            path: path.clone(),
            source,
        })?;
        let mut target = None;
        if metadata.is_symlink() {
            let resolved = fs::canonicalize(&path).map_err(|source| DirectoryError::BrokenLink {
                path: path.clone(),
                missing: missing_part(&path),
                source,
            })?;
            metadata = fs::symlink_metadata(&resolved).map_err(|source| DirectoryError::FileSystem {
                operation: "lstat",
                path: resolved.clone(),
                source,
            })?;
            target = Some(resolved);
        }
        if self.rules.ignore(&name, metadata.is_dir()) {
            return Ok(());
        }
        if let Some(target) = &target {
            self.check_link(&path, target)?;
        }
        if metadata.is_dir() {
            return self.directory(&path, &name);
        }
        if !metadata.is_file() {
            return Err(DirectoryError::Irregular { path });
        }
        let real = target.as_deref().unwrap_or(&path);
        let last_element = real.file_name().unwrap_or_default().to_string_lossy();
        if metadata.len() > MAX_FILE_SIZE {
            return Err(DirectoryError::TooLarge {
                name: last_element.into_owned(),
            });
        }
        let data = read_limited(&path, &name, &last_element)?;
        self.budget.count_bytes(data.len() as u64)?;
        self.files.push(File { name, data });
        Ok(())
    }

    fn check_link(&mut self, path: &Path, target: &Path) -> Result<(), DirectoryError> {
        if !target.starts_with(self.root) {
            return Err(DirectoryError::LinkLeadsOut {
                path: path.to_owned(),
                target: target.to_owned(),
            });
        }
        if self.ancestors.iter().any(|ancestor| ancestor.starts_with(target)) {
            return Err(DirectoryError::LinkLoop {
                path: path.to_owned(),
                target: target.to_owned(),
            });
        }
        (self.warn)(Warning::new(
            "walk.go:75",
            format!(
                "found symbolic link in path: {} resolves to {}. Contents of linked file included and used",
                path.display(),
                target.display()
            ),
        ));
        Ok(())
    }
}

/// Reads a file that may grow meanwhile, but never more than a chart's file may have.
fn read_limited(path: &Path, name: &str, last_element: &str) -> Result<Bytes, DirectoryError> {
    let failed = |source| DirectoryError::Unreadable {
        name: name.to_owned(),
        path: path.to_owned(),
        source,
    };
    let mut data = Vec::new();
    fs::File::open(path)
        .map_err(failed)?
        .take(MAX_FILE_SIZE + 1)
        .read_to_end(&mut data)
        .map_err(failed)?;
    if data.len() as u64 > MAX_FILE_SIZE {
        return Err(DirectoryError::TooLarge {
            name: last_element.to_owned(),
        });
    }
    let data = Bytes::from(data);
    Ok(if data.starts_with(BYTE_ORDER_MARK) {
        data.slice(BYTE_ORDER_MARK.len()..)
    } else {
        data
    })
}

/// How many links are followed in search of the part that is missing, as in Go.
const MAX_LINKS: usize = 255;

/// Returns the first part of a broken link's way that is not there; the link itself where all of it is.
fn missing_part(link: &Path) -> PathBuf {
    let mut current = link.to_path_buf();
    for _ in 0..MAX_LINKS {
        let (Ok(target), Some(parent)) = (fs::read_link(&current), current.parent()) else {
            break;
        };
        let way = parent.join(target);
        let mut walked = PathBuf::new();
        let mut next_link = None;
        for component in way.components() {
            match component {
                Component::ParentDir => {
                    walked.pop();
                    continue;
                }
                other => walked.push(other),
            }
            match fs::symlink_metadata(&walked) {
                Err(_) => return walked,
                Ok(metadata) if metadata.is_symlink() => {
                    let Ok(resolved) = fs::canonicalize(&walked) else {
                        next_link = Some(walked);
                        break;
                    };
                    walked = resolved;
                }
                Ok(_) => {}
            }
        }
        match next_link {
            Some(next) => current = next,
            None => break,
        }
    }
    link.to_path_buf()
}
