//! The mapped file of a store: checked when it is opened, and piece by piece when its content is first read.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use image::digest::Digest;
use memmap2::Mmap;

use super::error::{Flaw, StoreError};
use super::format::{EntryRecord, Header, MetaRecord, PackageRecord, Record, Section, Table, line_end};
use super::symbols::Symbols;

/// A store's file in memory.
#[derive(Debug)]
pub(super) struct Content {
    path: PathBuf,
    bytes: Bytes,
    header: Header,
    read_objects: Seen,
    read_packages: Seen,
    read_entries: Seen,
}

/// The encoded message of a channel entry, and two of its three pieces.
#[derive(Debug, Clone, Copy)]
pub(super) struct EntryMessage<'a> {
    /// All of it, as `ListBundles` sends it.
    pub(super) whole: &'a [u8],
    /// The manifests of a bundle that has no image.
    pub(super) inlined: &'a [u8],
    /// What is always sent.
    pub(super) common: &'a [u8],
}

/// Which pieces were found to be whole.
#[derive(Debug)]
struct Seen(Box<[AtomicU64]>);

impl Seen {
    fn new(pieces: usize) -> Self {
        Self((0..pieces.div_ceil(64)).map(|_| AtomicU64::new(0)).collect())
    }

    /// Runs `check` unless it has succeeded for this piece before. Two readers may both run it, to the same end.
    fn once<E>(&self, piece: usize, check: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        let (Some(word), bit) = (self.0.get(piece / 64), 1 << (piece % 64)) else {
            return check();
        };
        if word.load(Ordering::Relaxed) & bit == 0 {
            check()?;
            word.fetch_or(bit, Ordering::Relaxed);
        }
        Ok(())
    }
}

#[expect(
    unsafe_code,
    reason = "a mapping is sound as long as nobody changes the bytes: a store is written under a name of its own, \
              renamed when it is whole, and never written or truncated again; deleting it leaves the mapping alone"
)]
pub(super) fn map(file: &File) -> io::Result<Mmap> {
    unsafe { Mmap::map(file) }
}

impl Content {
    /// Opens a store's file: reads and checks its header and indexes, and nothing else.
    pub(super) fn open(path: &Path, digest: &Digest) -> Result<Option<Self>, StoreError> {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(StoreError::io("open", path)(error)),
        };
        Self::of_file(&file, path, digest).map(Some)
    }

    /// Maps an opened file and checks its header and indexes.
    pub(super) fn of_file(file: &File, path: &Path, digest: &Digest) -> Result<Self, StoreError> {
        let unusable = |flaw| StoreError::Unusable {
            path: path.to_path_buf(),
            flaw,
        };
        let metadata = file.metadata().map_err(StoreError::io("open", path))?;
        if metadata.len() == 0 || !metadata.is_file() {
            return Err(unusable(Flaw::Foreign));
        }
        let bytes = Bytes::from_owner(map(file).map_err(StoreError::io("map", path))?);
        let header = Header::decode(&bytes, digest).map_err(unusable)?;
        let mut content = Self {
            path: path.to_path_buf(),
            bytes,
            header,
            read_objects: Seen::new(0),
            read_packages: Seen::new(0),
            read_entries: Seen::new(0),
        };
        content.check_indexes().map_err(unusable)?;
        content.read_objects = Seen::new(content.metas().len());
        content.read_packages = Seen::new(content.table::<PackageRecord>(Section::Packages).len());
        content.read_entries = Seen::new(content.table::<EntryRecord>(Section::Entries).len());
        Ok(content)
    }

    fn check_indexes(&self) -> Result<(), Flaw> {
        for section in Section::ALL.into_iter().filter(|section| section.is_index()) {
            if crc32fast::hash(self.section(section)) != self.header.extent(section).checksum {
                return Err(Flaw::Checksum("index"));
            }
        }
        let objects = self.metas().len();
        for order in [Section::BySchema, Section::ByPackage, Section::ByName] {
            if self.table::<u32>(order).len() != objects {
                return Err(Flaw::Inconsistent("index"));
            }
        }
        Ok(())
    }

    /// The catalog that the store holds.
    pub(super) fn digest(&self) -> &Digest {
        &self.header.digest
    }

    /// Whether the store can answer what `api.Registry` asks.
    pub(super) fn has_registry(&self) -> bool {
        self.header.has_registry
    }

    /// A part of the file.
    pub(super) fn section(&self, section: Section) -> &[u8] {
        self.header
            .extent(section)
            .range(self.bytes.len())
            .and_then(|range| self.bytes.get(range))
            .unwrap_or_default()
    }

    /// The records of a section.
    pub(super) fn table<R: Record>(&self, section: Section) -> Table<'_, R> {
        Table::new(self.section(section))
    }

    /// The objects in walk order.
    pub(super) fn metas(&self) -> Table<'_, MetaRecord> {
        self.table(Section::Metas)
    }

    /// The store's texts.
    pub(super) fn symbols(&self) -> Symbols<'_> {
        Symbols::new(self.table(Section::StringOffsets), self.section(Section::Strings))
    }

    /// An object with its newline, checked when it is read for the first time.
    pub(super) fn line(&self, position: usize, record: &MetaRecord) -> Result<&[u8], StoreError> {
        let line = (|| {
            let start = usize::try_from(record.offset).ok()?;
            let end = start
                .checked_add(record.length as usize)?
                .checked_add(line_end(record.length))?;
            self.section(Section::Content).get(start..end)
        })()
        .ok_or_else(|| self.unusable(Flaw::Inconsistent("index")))?;
        self.read_objects
            .once(position, || self.check("content", record.checksum, line))?;
        Ok(line)
    }

    /// The same bytes as [`Self::line`], kept alive by themselves.
    pub(super) fn share(&self, part: &[u8]) -> Bytes {
        self.bytes.slice_ref(part)
    }

    /// All objects with their newlines, each checked once.
    pub(super) fn lines(&self, range: Range<u64>) -> Result<Bytes, StoreError> {
        let metas = self.metas();
        let first = metas
            .partition_point(|record| record.offset.saturating_add(u64::from(record.length)) < range.start);
        for position in first..metas.len() {
            let Some(record) = metas.get(position) else { break };
            if record.offset >= range.end {
                break;
            }
            self.line(position, &record)?;
        }
        let content = self.section(Section::Content);
        let end = range.end.min(content.len() as u64) as usize;
        let start = (range.start as usize).min(end);
        Ok(self.share(&content[start..end]))
    }

    /// The encoded message of a package.
    pub(super) fn package_message(
        &self,
        position: usize,
        record: &PackageRecord,
    ) -> Result<&[u8], StoreError> {
        let message = self.message(record.message_offset, u64::from(record.message_length))?;
        self.read_packages
            .once(position, || self.check("messages", record.checksum, message))?;
        Ok(message)
    }

    /// The encoded message of a channel entry.
    pub(super) fn entry_message(
        &self,
        position: usize,
        record: &EntryRecord,
    ) -> Result<EntryMessage<'_>, StoreError> {
        let lengths = [record.inlined_length, record.common_length, record.edges_length].map(u64::from);
        let whole = self.message(record.message_offset, lengths.iter().sum())?;
        self.read_entries
            .once(position, || self.check("messages", record.checksum, whole))?;
        let (inlined, rest) = whole.split_at(record.inlined_length as usize);
        let (common, _) = rest.split_at(record.common_length as usize);
        Ok(EntryMessage {
            whole,
            inlined,
            common,
        })
    }

    fn message(&self, offset: u64, length: u64) -> Result<&[u8], StoreError> {
        offset
            .checked_add(length)
            .and_then(|end| self.section(Section::Messages).get(offset as usize..end as usize))
            .ok_or_else(|| self.unusable(Flaw::Inconsistent("index")))
    }

    fn check(&self, part: &'static str, checksum: u32, bytes: &[u8]) -> Result<(), StoreError> {
        if crc32fast::hash(bytes) == checksum {
            Ok(())
        } else {
            Err(self.unusable(Flaw::Checksum(part)))
        }
    }

    /// What to say when the file turns out not to be what its header promised.
    pub(super) fn unusable(&self, flaw: Flaw) -> StoreError {
        StoreError::Unusable {
            path: self.path.clone(),
            flaw,
        }
    }
}
