//! Files out of a `.tgz`, with the checks that keep an archive from naming files outside its own directory.

use std::io::{self, BufRead, Read, Seek};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use gotemplate::format::quoted;
use tar::EntryType;
use thiserror::Error;

use super::content_type::{SNIFF_LENGTH, detect};
use super::{BYTE_ORDER_MARK, Budget, MAX_ARCHIVE_SIZE, MAX_FILE_SIZE, OverBudget};
use crate::chart::File;
use crate::go_error::system_text;

/// How many bytes of headers, names and padding are read beside the files of an archive.
const MAX_OVERHEAD: u64 = 64 * 1024 * 1024;

/// An archive that is no chart, or not a safe one.
#[derive(Debug, Error)]
pub enum ArchiveError {
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
    /// The path is one of a directory.
    #[error("cannot load a directory")]
    IsDirectory,
    /// The path is one of a device, socket or named pipe.
    #[error("file '{}' is not a regular file", path.display())]
    Irregular {
        /// The file.
        path: PathBuf,
    },
    /// A YAML file was given where a chart belongs.
    #[error("file '{}' seems to be a YAML file, but expected a gzipped archive", path.display())]
    Yaml {
        /// The file.
        path: PathBuf,
    },
    /// Some other file was given where a chart belongs.
    #[error("file '{}' does not appear to be a gzipped archive; got '{content_type}'", path.display())]
    NotGzip {
        /// The file.
        path: PathBuf,
        /// What it seems to be.
        content_type: &'static str,
    },
    /// The compressed data is broken.
    #[error("{0}")]
    Corrupt(String),
    /// An entry has an absolute path.
    #[error("chart illegally contains absolute paths")]
    AbsolutePath,
    /// An entry is not in the chart's directory.
    #[error("chart illegally contains content outside the base directory: {}", quoted(.0))]
    OutsideBase(String),
    /// An entry leads out of the chart's directory.
    #[error("chart illegally references parent directory")]
    ParentDirectory,
    /// An entry has a name that is a path on another drive under Windows.
    #[error("chart contains illegally named files")]
    IllegalName,
    /// `Chart.yaml` is not in a directory.
    #[error("chart yaml not in base directory")]
    ChartFileNotInBase,
    /// The archive decompresses to more than Helm loads.
    #[error("decompressed chart is larger than the maximum file size {MAX_ARCHIVE_SIZE}")]
    TooLarge,
    /// A file in the archive is larger than Helm loads.
    #[error("decompressed chart file {} is larger than the maximum file size {MAX_FILE_SIZE}", quoted(.0))]
    FileTooLarge(String),
    /// The archive has no files.
    #[error("no files in chart archive")]
    Empty,
    /// The chart has more files or bytes than are read.
    #[error(transparent)]
    OverBudget(#[from] OverBudget),
}

/// Reads the files of an archive on disk.
pub fn read_file(path: &Path, budget: &mut Budget) -> Result<Vec<File>, ArchiveError> {
    let failed = |operation| {
        move |source| ArchiveError::FileSystem {
            operation,
            path: path.to_owned(),
            source,
        }
    };
    let metadata = std::fs::metadata(path).map_err(failed("stat"))?;
    if metadata.is_dir() {
        return Err(ArchiveError::IsDirectory);
    }
    if !metadata.is_file() {
        return Err(ArchiveError::Irregular {
            path: path.to_owned(),
        });
    }
    let mut file = std::fs::File::open(path).map_err(failed("open"))?;
    let mut start = Vec::with_capacity(SNIFF_LENGTH);
    file.by_ref()
        .take(SNIFF_LENGTH as u64)
        .read_to_end(&mut start)
        .map_err(failed("read"))?;
    // A short file counts as if zeros followed, which is why Helm calls a short text file binary.
    start.resize(SNIFF_LENGTH, 0);
    let content_type = detect(&start);
    if content_type != "application/x-gzip" && !start.starts_with(b"\x1f\x8b\x08") {
        if path
            .extension()
            .is_some_and(|extension| extension == "yml" || extension == "yaml")
        {
            return Err(ArchiveError::Yaml {
                path: path.to_owned(),
            });
        }
        return Err(ArchiveError::NotGzip {
            path: path.to_owned(),
            content_type,
        });
    }
    file.rewind().map_err(failed("seek"))?;
    read(file, budget)
}

/// Reads the files of an archive, as a stream; nothing is written to disk and no link is followed.
pub fn read(compressed: impl Read, budget: &mut Budget) -> Result<Vec<File>, ArchiveError> {
    let mut compressed = io::BufReader::new(compressed);
    if compressed.fill_buf().map_err(|error| corrupt(&error))?.is_empty() {
        return Err(ArchiveError::Corrupt("EOF".to_owned()));
    }
    let stream = MultiGzDecoder::new(compressed).take(MAX_ARCHIVE_SIZE + MAX_OVERHEAD);
    let mut archive = tar::Archive::new(stream);
    let mut remaining = MAX_ARCHIVE_SIZE;
    let mut files = Vec::new();
    for entry in archive.entries().map_err(|error| corrupt(&error))? {
        let mut entry = entry.map_err(|error| corrupt(&error))?;
        budget.count_file()?;
        let kind = entry.header().entry_type();
        let full_name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let is_directory =
            kind == EntryType::Directory || (kind == EntryType::Regular && full_name.ends_with('/'));
        if is_directory || matches!(kind, EntryType::XGlobalHeader | EntryType::XHeader) {
            continue;
        }
        let name = safe_name(&full_name)?;
        let size = entry.size();
        if size > remaining {
            return Err(ArchiveError::TooLarge);
        }
        if size > MAX_FILE_SIZE {
            return Err(ArchiveError::FileTooLarge(full_name));
        }
        let mut data = Vec::with_capacity(size as usize);
        // Links have no content, whatever their header says.
        if !matches!(kind, EntryType::Link | EntryType::Symlink) {
            entry
                .by_ref()
                .take(MAX_FILE_SIZE)
                .read_to_end(&mut data)
                .map_err(|error| corrupt(&error))?;
            if (data.len() as u64) < size {
                return Err(ArchiveError::Corrupt("unexpected EOF".to_owned()));
            }
        }
        budget.count_bytes(data.len() as u64)?;
        remaining -= data.len() as u64;
        if remaining == 0 {
            return Err(ArchiveError::TooLarge);
        }
        let data = Bytes::from(data);
        let data = if data.starts_with(BYTE_ORDER_MARK) {
            data.slice(BYTE_ORDER_MARK.len()..)
        } else {
            data
        };
        files.push(File { name, data });
    }
    if files.is_empty() {
        Err(ArchiveError::Empty)
    } else {
        Ok(files)
    }
}

/// The path of an entry below the archive's one directory, refused if it leads anywhere else.
fn safe_name(full_name: &str) -> Result<String, ArchiveError> {
    // An archive made under Windows may have backslashes.
    let delimiter = if full_name.contains('\\') { '\\' } else { '/' };
    let (base, rest) = full_name.split_once(delimiter).unwrap_or((full_name, ""));
    let name = rest.replace(delimiter, "/");
    if name.starts_with('/') {
        return Err(ArchiveError::AbsolutePath);
    }
    let name = clean(&name);
    if name == "." {
        return Err(ArchiveError::OutsideBase(full_name.to_owned()));
    }
    if name.starts_with("..") {
        return Err(ArchiveError::ParentDirectory);
    }
    if let [letter, b':', b'/', ..] = name.as_bytes()
        && letter.is_ascii_alphabetic()
    {
        return Err(ArchiveError::IllegalName);
    }
    if base == "Chart.yaml" {
        return Err(ArchiveError::ChartFileNotInBase);
    }
    Ok(name)
}

/// Shortens a relative path as Go's `path.Clean` does.
fn clean(path: &str) -> String {
    let mut elements: Vec<&str> = Vec::new();
    for element in path.split('/') {
        match element {
            "" | "." => {}
            ".." if elements.last().is_some_and(|last| *last != "..") => {
                elements.pop();
            }
            _ => elements.push(element),
        }
    }
    if elements.is_empty() {
        ".".to_owned()
    } else {
        elements.join("/")
    }
}

/// Broken data in the words that Go has for it.
fn corrupt(error: &io::Error) -> ArchiveError {
    let text = error.to_string();
    ArchiveError::Corrupt(match error.kind() {
        io::ErrorKind::UnexpectedEof => "unexpected EOF".to_owned(),
        _ if text.contains("invalid gzip header") => "gzip: invalid header".to_owned(),
        _ if text.contains("corrupt gzip stream") => "gzip: invalid checksum".to_owned(),
        io::ErrorKind::InvalidInput if text.contains("corrupt deflate stream") => {
            "flate: corrupt input".to_owned()
        }
        _ if text.contains("archive header checksum mismatch")
            || text.contains("numeric field was not a number") =>
        {
            "archive/tar: invalid tar header".to_owned()
        }
        _ => text,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_out_of_the_chart_are_refused() {
        let rows = [
            ("chart/templates/a.yaml", Ok("templates/a.yaml")),
            ("chart\\templates\\a.yaml", Ok("templates/a.yaml")),
            ("chart/./a//b", Ok("a/b")),
            ("chart/a/../b", Ok("b")),
            (
                "chart//etc/passwd",
                Err("chart illegally contains absolute paths"),
            ),
            (
                "chart",
                Err("chart illegally contains content outside the base directory: \"chart\""),
            ),
            (
                "chart/a/..",
                Err("chart illegally contains content outside the base directory: \"chart/a/..\""),
            ),
            (
                "chart/../../etc/passwd",
                Err("chart illegally references parent directory"),
            ),
            (
                "chart/..hidden",
                Err("chart illegally references parent directory"),
            ),
            ("chart/c:/windows", Err("chart contains illegally named files")),
            ("chart\\c:\\windows", Err("chart contains illegally named files")),
            ("Chart.yaml/x", Err("chart yaml not in base directory")),
        ];
        for (name, expected) in rows {
            let got = safe_name(name).map_err(|error| error.to_string());
            assert_eq!(got.as_deref().map_err(String::as_str), expected, "{name}");
        }
    }
}
