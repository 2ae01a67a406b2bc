//! The entries of a layer's tar, with long names put together and names made safe.

use std::io::{self, Read};

use tar::{Archive, EntryType};

use super::layer_reader::{LayerReader, unreadable};
use super::{EntryProblem, Limits, UnpackError};
use crate::digest::Digest;

/// How long the records before an entry may be that hold its long name: what Go's reader accepts.
const MAX_EXTENSION_BYTES: u64 = 1 << 20;

/// How long a path or the target of a link may be: what Linux allows.
const MAX_PATH_BYTES: usize = 4096;

/// How long one name in a path may be: what Linux's file systems allow.
const MAX_NAME_BYTES: usize = 255;

/// How deep directories may lie in each other: each level costs a look-up for every file below.
const MAX_DEPTH: usize = 128;

/// What a layer says about one path.
#[derive(Debug)]
pub(super) struct Entry {
    /// Relative to the root of the image, without dots.
    pub(super) path: String,
    pub(super) what: What,
    pub(super) mode: u32,
}

#[derive(Debug)]
pub(super) enum What {
    Directory,
    File {
        size: u64,
    },
    Symlink(String),
    HardLink(String),
    /// What lower layers have at the path is not there any more.
    Removed,
    /// What lower layers have below the path is not there any more.
    Emptied,
}

/// Long names and other records that apply to the next entry.
#[derive(Default)]
struct Extensions {
    path: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
    size: Option<u64>,
    sparse: bool,
}

/// A layer's tar, entry by entry.
pub(super) struct Entries<'a> {
    layer: Digest,
    archive: Archive<LayerReader<'a>>,
    limits: &'a Limits,
    /// How many entries the image's layers may still have.
    left: u64,
    /// The last entry that was read, for messages.
    last: String,
}

impl<'a> Entries<'a> {
    pub(super) fn new(layer: Digest, reader: LayerReader<'a>, limits: &'a Limits, left: u64) -> Self {
        Self {
            layer,
            archive: Archive::new(reader),
            limits,
            left,
            last: String::new(),
        }
    }

    /// Calls `take` with each entry and its content.
    pub(super) fn for_each(
        &mut self,
        mut take: impl FnMut(Entry, &mut dyn Read) -> Result<(), EntryProblem>,
    ) -> Result<(), UnpackError> {
        let layer = self.layer;
        let mut extensions = Extensions::default();
        let entries = self
            .archive
            .entries()
            .map_err(|error| unreadable(layer, "", error))?;
        // Long names are put together here, since the tar reader would take them at any length.
        for entry in entries.raw(true) {
            let mut entry = entry.map_err(|error| unreadable(layer, &self.last, error))?;
            self.left = self.left.checked_sub(1).ok_or(UnpackError::LayerTooBig {
                layer,
                what: "entries",
                limit: self.limits.entries,
            })?;
            let name = extensions
                .path
                .clone()
                .unwrap_or_else(|| entry.path_bytes().into_owned());
            let failed = |problem| match problem {
                // What the layer itself got wrong, and damage in the store, are told apart from this entry's trouble.
                EntryProblem::Stream(error)
                    if error.get_ref().is_some() || error.kind() == io::ErrorKind::UnexpectedEof =>
                {
                    unreadable(layer, &lossy(&name), error)
                }
                problem => UnpackError::Entry {
                    layer,
                    entry: lossy(&name),
                    problem,
                },
            };
            match entry.header().entry_type() {
                EntryType::GNULongName => extensions.path = Some(long_name(&mut entry).map_err(failed)?),
                EntryType::GNULongLink => extensions.link = Some(long_name(&mut entry).map_err(failed)?),
                EntryType::XHeader => {
                    let records = extension(&mut entry).map_err(failed)?;
                    extensions.take_records(&records).map_err(failed)?;
                }
                EntryType::XGlobalHeader => {}
                kind => {
                    let extensions = std::mem::take(&mut extensions);
                    let size = entry.size();
                    let mode = entry.header().mode().unwrap_or(0o644);
                    let link = entry.link_name_bytes().map(std::borrow::Cow::into_owned);
                    if let Some(read) =
                        read_entry(kind, &name, link, size, mode, extensions).map_err(failed)?
                    {
                        take(read, &mut entry).map_err(failed)?;
                    }
                    self.last = lossy(&name);
                }
            }
        }
        Ok(())
    }

    /// Verifies the rest of the layer; returns how many entries and bytes the next layers may have.
    pub(super) fn finish(self, diff_id: &Digest) -> Result<(u64, u64), UnpackError> {
        let bytes_left = self.archive.into_inner().finish(diff_id, &self.last)?;
        Ok((self.left, bytes_left))
    }
}

/// Understands an entry, or returns nothing for one that unpacking skips.
fn read_entry(
    kind: EntryType,
    name: &[u8],
    link: Option<Vec<u8>>,
    size: u64,
    mode: u32,
    extensions: Extensions,
) -> Result<Option<Entry>, EntryProblem> {
    if extensions.sparse || kind == EntryType::GNUSparse {
        return Err(EntryProblem::Sparse);
    }
    if extensions.size.is_some_and(|said| said != size) {
        // Readers disagree about which of the two counts, and so about where the next entry starts.
        return Err(EntryProblem::Malformed("it has two different sizes"));
    }
    let has_content = matches!(kind, EntryType::Regular | EntryType::Continuous);
    let is_link = matches!(kind, EntryType::Link | EntryType::Symlink);
    if !has_content && !is_link && kind != EntryType::Directory {
        // Devices and pipes make no sense in a directory of files; other kinds are for tapes.
        return Ok(None);
    }
    if !has_content && size != 0 {
        // Here too readers disagree about where the next entry starts.
        return Err(EntryProblem::Malformed(
            "it has a size although its kind has no content",
        ));
    }
    let target = match extensions.link.or(link) {
        _ if !is_link => String::new(),
        Some(target) => link_target(&target)?,
        None => return Err(EntryProblem::Malformed("it is a link without a target")),
    };
    let path = clean_path(name)?;
    if path.is_empty() {
        return Ok(None);
    }
    let entry = |path: String, what| Ok(Some(Entry { path, what, mode }));
    let (parent, base) = path.rsplit_once('/').unwrap_or(("", &path));
    if let Some(removed) = base.strip_prefix(".wh.") {
        return match removed {
            ".wh..opq" => entry(parent.to_owned(), What::Emptied),
            // Other names of this form are notes of a file system that Docker once used.
            _ if removed.starts_with(".wh.") => Ok(None),
            "" | "." | ".." => Err(EntryProblem::Malformed("it removes no file")),
            _ if parent.is_empty() => entry(removed.to_owned(), What::Removed),
            _ => entry(format!("{parent}/{removed}"), What::Removed),
        };
    }
    let what = match kind {
        EntryType::Directory => What::Directory,
        EntryType::Symlink => What::Symlink(target),
        EntryType::Link => What::HardLink(target),
        // The oldest tars mark a directory by its name alone.
        _ if name.ends_with(b"/") && size == 0 => What::Directory,
        _ => What::File { size },
    };
    entry(path, what)
}

/// A path relative to the root of the image; nothing for the root itself.
fn clean_path(name: &[u8]) -> Result<String, EntryProblem> {
    let name = text(name)?;
    let mut components: Vec<&str> = Vec::new();
    for component in name.split('/') {
        match component {
            "" | "." => {}
            ".." => {
                components.pop().ok_or(EntryProblem::LeadsOut)?;
            }
            _ if component.len() > MAX_NAME_BYTES => {
                return Err(EntryProblem::Malformed(
                    "a name in its path is longer than 255 bytes",
                ));
            }
            _ => components.push(component),
        }
    }
    if components.len() > MAX_DEPTH {
        return Err(EntryProblem::Malformed(
            "its path is more than 128 directories deep",
        ));
    }
    Ok(components.join("/"))
}

fn link_target(target: &[u8]) -> Result<String, EntryProblem> {
    let target = text(target)?;
    if target.is_empty() {
        return Err(EntryProblem::Malformed("it is a link without a target"));
    }
    Ok(target.to_owned())
}

fn text(name: &[u8]) -> Result<&str, EntryProblem> {
    let name = std::str::from_utf8(name).map_err(|_| EntryProblem::Malformed("its name is not UTF-8"))?;
    if name.contains('\0') {
        return Err(EntryProblem::Malformed("its name contains a zero byte"));
    }
    if name.len() > MAX_PATH_BYTES {
        return Err(EntryProblem::Malformed("its path is longer than 4096 bytes"));
    }
    Ok(name)
}

fn lossy(name: &[u8]) -> String {
    /// Enough of a name to find the entry by.
    const SHOWN_BYTES: usize = 300;
    String::from_utf8_lossy(name.get(..SHOWN_BYTES).unwrap_or(name)).into_owned()
}

fn extension(entry: &mut impl Read) -> Result<Vec<u8>, EntryProblem> {
    let mut bytes = Vec::new();
    let read = entry.take(MAX_EXTENSION_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(EntryProblem::Stream)?;
    if bytes.len() as u64 > MAX_EXTENSION_BYTES {
        return Err(EntryProblem::Malformed(
            "the record of its long name is longer than 1 MiB",
        ));
    }
    Ok(bytes)
}

fn long_name(entry: &mut impl Read) -> Result<Vec<u8>, EntryProblem> {
    let mut name = extension(entry)?;
    // The name ends where a string of C would end.
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    name.truncate(end);
    Ok(name)
}

impl Extensions {
    /// Takes records of the form `<length of the record> <key>=<value>\n`.
    fn take_records(&mut self, mut records: &[u8]) -> Result<(), EntryProblem> {
        const MALFORMED: EntryProblem = EntryProblem::Malformed("its extended records can't be read");
        while !records.is_empty() {
            let space = records.iter().position(|byte| *byte == b' ').ok_or(MALFORMED)?;
            let digits = records
                .get(..space)
                .and_then(|digits| std::str::from_utf8(digits).ok());
            let length: usize = digits.and_then(|digits| digits.parse().ok()).ok_or(MALFORMED)?;
            let (record, rest) = records.split_at_checked(length).ok_or(MALFORMED)?;
            let record = record
                .get(space + 1..)
                .and_then(|record| record.strip_suffix(b"\n"));
            let record = record.ok_or(MALFORMED)?;
            let equals = record.iter().position(|byte| *byte == b'=').ok_or(MALFORMED)?;
            let (key, value) = record.split_at(equals);
            let value = value.get(1..).unwrap_or_default();
            match key {
                b"path" if !value.is_empty() => self.path = Some(value.to_vec()),
                b"linkpath" if !value.is_empty() => self.link = Some(value.to_vec()),
                b"size" if !value.is_empty() => {
                    let size = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
                    self.size = Some(size.ok_or(MALFORMED)?);
                }
                _ if key.starts_with(b"GNU.sparse.") => self.sparse = true,
                _ => {}
            }
            records = rest;
        }
        Ok(())
    }
}
