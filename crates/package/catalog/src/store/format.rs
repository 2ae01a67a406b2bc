//! How a store lies in its file: a header, the catalog's content, and tables of fixed-width records.
//!
//! ```text
//! header │ content: a line per object │ messages │ string offsets │ strings │ metas │ three orders │ packages │ …
//! ```
//!
//! Numbers are little-endian. Every byte is under a checksum: header and tables are checked when the file is opened,
//! each object and message when it is first read.

use std::marker::PhantomData;
use std::ops::Range;

use image::digest::Digest;

use super::error::Flaw;

/// The first bytes of every store.
const MAGIC: [u8; 8] = *b"batoncat";

/// The version of this layout; a file with another one is built again.
const VERSION: u32 = 1;

/// How many bytes the header takes, with room for more sections.
pub(super) const HEADER_LENGTH: usize = 512;

/// Where the header's own checksum lies.
const CHECKSUM_FIELD: Range<usize> = 12..16;

/// Where the list of sections begins.
const SECTIONS_START: usize = 64;

/// The flag that says that the store can answer what `api.Registry` asks.
const REGISTRY_FLAG: u32 = 1;

/// A part of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub(super) enum Section {
    /// Every object in walk order, each followed by a newline.
    Content,
    /// Encoded protobuf messages.
    Messages,
    /// Where each string begins, and where the last one ends.
    StringOffsets,
    /// The strings, sorted, one after the other.
    Strings,
    /// The objects in walk order.
    Metas,
    /// Positions of objects, sorted by schema and then by position.
    BySchema,
    /// Positions of objects, sorted by package and then by position.
    ByPackage,
    /// Positions of objects, sorted by name and then by position.
    ByName,
    /// Packages, sorted by name.
    Packages,
    /// Channels, sorted by package and name.
    Channels,
    /// Channel entries, sorted by channel, package and name.
    Entries,
    /// Lists of symbols and numbers that records refer to.
    Lists,
    /// Kubernetes APIs, sorted by group, version and kind.
    Apis,
}

impl Section {
    /// Every section, in the order in which they lie in the file.
    pub(super) const ALL: [Self; 13] = [
        Self::Content,
        Self::Messages,
        Self::StringOffsets,
        Self::Strings,
        Self::Metas,
        Self::BySchema,
        Self::ByPackage,
        Self::ByName,
        Self::Packages,
        Self::Channels,
        Self::Entries,
        Self::Lists,
        Self::Apis,
    ];

    /// Whether the section is an index, which is checked when the file is opened.
    pub(super) fn is_index(self) -> bool {
        !matches!(self, Self::Content | Self::Messages)
    }

    /// How many bytes one of its records takes.
    fn record_length(self) -> usize {
        match self {
            Self::Content | Self::Messages | Self::Strings => 1,
            Self::StringOffsets | Self::BySchema | Self::ByPackage | Self::ByName | Self::Lists => {
                u32::LENGTH
            }
            Self::Metas => MetaRecord::LENGTH,
            Self::Packages => PackageRecord::LENGTH,
            Self::Channels => ChannelRecord::LENGTH,
            Self::Entries => EntryRecord::LENGTH,
            Self::Apis => ApiRecord::LENGTH,
        }
    }
}

/// How many bytes follow an object of a length: a newline, unless the object is an empty YAML document.
pub(super) fn line_end(length: u32) -> usize {
    usize::from(length > 0)
}

/// Where a section lies, and its checksum if it is an index.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) offset: u64,
    pub(super) length: u64,
    pub(super) checksum: u32,
}

impl Extent {
    /// The section's place in memory, if it lies within `available` bytes.
    pub(super) fn range(&self, available: usize) -> Option<Range<usize>> {
        let start = usize::try_from(self.offset).ok()?;
        let end = start.checked_add(usize::try_from(self.length).ok()?)?;
        (end <= available).then_some(start..end)
    }
}

/// What the first bytes of a store say about the rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) digest: Digest,
    pub(super) file_length: u64,
    pub(super) has_registry: bool,
    pub(super) sections: [Extent; Section::ALL.len()],
}

impl Header {
    /// Where a section lies.
    pub(super) fn extent(&self, section: Section) -> Extent {
        self.sections[section as usize]
    }

    /// The header as it lies in the file.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEADER_LENGTH);
        out.extend_from_slice(&MAGIC);
        VERSION.append(&mut out);
        0_u32.append(&mut out);
        self.file_length.append(&mut out);
        out.extend_from_slice(self.digest.bytes());
        u32::from(self.has_registry).append(&mut out);
        0_u32.append(&mut out);
        for extent in &self.sections {
            extent.offset.append(&mut out);
            extent.length.append(&mut out);
            extent.checksum.append(&mut out);
        }
        out.resize(HEADER_LENGTH, 0);
        let checksum = crc32fast::hash(&out);
        out[CHECKSUM_FIELD].copy_from_slice(&checksum.to_le_bytes());
        out
    }

    /// Reads the header of a whole file and checks that it belongs to `digest` and to this very file.
    pub(super) fn decode(file: &[u8], digest: &Digest) -> Result<Self, Flaw> {
        if file.get(..MAGIC.len()) != Some(&MAGIC) {
            return Err(Flaw::Foreign);
        }
        let version = file.get(8..).and_then(u32::take).ok_or(Flaw::Truncated)?;
        if version != VERSION {
            return Err(Flaw::OtherFormat(version));
        }
        let mut bytes = file.get(..HEADER_LENGTH).ok_or(Flaw::Truncated)?.to_vec();
        let checksum = u32::take(&bytes[CHECKSUM_FIELD]).ok_or(Flaw::Truncated)?;
        bytes[CHECKSUM_FIELD].fill(0);
        if crc32fast::hash(&bytes) != checksum {
            return Err(Flaw::Checksum("header"));
        }
        let field = |start: usize| bytes.get(start..).ok_or(Flaw::Truncated);
        let file_length = u64::take(field(16)?).ok_or(Flaw::Truncated)?;
        if file_length != file.len() as u64 {
            return Err(Flaw::Truncated);
        }
        if field(24)?.get(..digest.bytes().len()) != Some(digest.bytes()) {
            return Err(Flaw::OtherDigest);
        }
        let flags = u32::take(field(56)?).ok_or(Flaw::Truncated)?;
        let mut sections = [Extent::default(); Section::ALL.len()];
        for (section, extent) in Section::ALL.into_iter().zip(&mut sections) {
            let start = SECTIONS_START + section as usize * 20;
            *extent = Extent {
                offset: u64::take(field(start)?).ok_or(Flaw::Truncated)?,
                length: u64::take(field(start + 8)?).ok_or(Flaw::Truncated)?,
                checksum: u32::take(field(start + 16)?).ok_or(Flaw::Truncated)?,
            };
            let range = extent
                .range(file.len())
                .ok_or(Flaw::Inconsistent("section table"))?;
            if !range.len().is_multiple_of(section.record_length()) {
                return Err(Flaw::Inconsistent("section table"));
            }
        }
        Ok(Self {
            digest: *digest,
            file_length,
            has_registry: flags & REGISTRY_FLAG != 0,
            sections,
        })
    }
}

/// A value of fixed width in the file.
pub(super) trait Record: Sized {
    /// How many bytes it takes.
    const LENGTH: usize;

    /// Writes it.
    fn append(&self, out: &mut Vec<u8>);

    /// Reads it from the beginning of `bytes`.
    fn take(bytes: &[u8]) -> Option<Self>;
}

macro_rules! number {
    ($($number:ty),*) => {$(
        impl Record for $number {
            const LENGTH: usize = size_of::<Self>();

            fn append(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            fn take(bytes: &[u8]) -> Option<Self> {
                bytes.first_chunk().map(|chunk| Self::from_le_bytes(*chunk))
            }
        }
    )*};
}

number!(u32, u64);

macro_rules! record {
    ($(#[$comment:meta])* $name:ident { $($(#[$field_comment:meta])* $field:ident: $number:ty,)* }) => {
        $(#[$comment])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub(super) struct $name {
            $($(#[$field_comment])* pub(super) $field: $number,)*
        }

        impl Record for $name {
            const LENGTH: usize = 0 $(+ <$number as Record>::LENGTH)*;

            fn append(&self, out: &mut Vec<u8>) {
                $(self.$field.append(out);)*
            }

            fn take(bytes: &[u8]) -> Option<Self> {
                let mut rest = bytes.get(..Self::LENGTH)?;
                $(
                    let $field = <$number as Record>::take(rest)?;
                    rest = &rest[<$number as Record>::LENGTH..];
                )*
                let _ = rest;
                Some(Self { $($field),* })
            }
        }
    };
}

record! {
    /// An object of the catalog. Texts are symbols: positions in the sorted list of strings.
    MetaRecord {
        schema: u32,
        package: u32,
        name: u32,
        /// Of the line: the object and its newline.
        checksum: u32,
        /// From the beginning of the content.
        offset: u64,
        /// Of the object, without its newline.
        length: u32,
    }
}

record! {
    /// A package that `api.Registry` knows.
    PackageRecord {
        name: u32,
        default_channel: u32,
        channels_start: u32,
        channels_count: u32,
        /// The position of its `olm.package` object.
        meta: u32,
        /// Of its encoded message.
        checksum: u32,
        message_offset: u64,
        message_length: u32,
    }
}

record! {
    /// A channel; its entries lie side by side.
    ChannelRecord {
        name: u32,
        entries_start: u32,
        entries_count: u32,
        /// The position of the entry at its head, among all entries.
        head: u32,
    }
}

record! {
    /// An entry of a channel.
    ///
    /// Its message lies in three pieces: what is inlined of a bundle without an image, what is always sent, and the
    /// edges, which only `ListBundles` sends.
    EntryRecord {
        package: u32,
        channel: u32,
        name: u32,
        replaces: u32,
        skips_start: u32,
        skips_count: u32,
        apis_start: u32,
        apis_count: u32,
        /// The position of its `olm.bundle` object.
        meta: u32,
        /// The position of its `olm.package` object.
        package_meta: u32,
        /// 1 at the head of the channel.
        is_head: u32,
        /// Of the three pieces.
        checksum: u32,
        message_offset: u64,
        inlined_length: u32,
        common_length: u32,
        edges_length: u32,
    }
}

record! {
    /// A Kubernetes API.
    ApiRecord {
        group: u32,
        version: u32,
        kind: u32,
    }
}

/// Records that lie side by side in the file.
#[derive(Debug)]
pub(super) struct Table<'a, R> {
    bytes: &'a [u8],
    record: PhantomData<R>,
}

impl<R> Clone for Table<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Table<'_, R> {}

impl<'a, R: Record> Table<'a, R> {
    /// The records in `bytes`.
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            record: PhantomData,
        }
    }

    /// How many records there are.
    pub(super) fn len(self) -> usize {
        self.bytes.len() / R::LENGTH
    }

    /// One record.
    pub(super) fn get(self, position: usize) -> Option<R> {
        R::take(self.bytes.get(position.checked_mul(R::LENGTH)?..)?)
    }

    /// The records at `range`; none of them if it reaches beyond the table.
    pub(super) fn slice(self, range: Range<usize>) -> Self {
        let bytes = (|| {
            let start = range.start.checked_mul(R::LENGTH)?;
            let end = range.end.checked_mul(R::LENGTH)?;
            self.bytes.get(start..end)
        })();
        Self::new(bytes.unwrap_or_default())
    }

    /// The records from `start` on, as a record of another table counts them.
    pub(super) fn list(self, start: u32, count: u32) -> Self {
        let start = start as usize;
        self.slice(start..start.saturating_add(count as usize))
    }

    /// Every record in order.
    pub(super) fn iter(self) -> impl ExactSizeIterator<Item = R> + use<'a, R> {
        self.bytes
            .chunks_exact(R::LENGTH)
            .map(|bytes| R::take(bytes).unwrap_or_else(|| unreachable!("a chunk has the length of a record")))
    }

    /// How many records come before the first that `is_before` denies, in a table that is sorted by it.
    pub(super) fn partition_point(self, mut is_before: impl FnMut(&R) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            match self.get(middle) {
                Some(record) if is_before(&record) => low = middle + 1,
                _ => high = middle,
            }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        Header {
            digest: Digest::of(b"catalog"),
            file_length: HEADER_LENGTH as u64,
            has_registry: true,
            sections: [Extent {
                offset: HEADER_LENGTH as u64,
                length: 0,
                checksum: 7,
            }; Section::ALL.len()],
        }
    }

    #[test]
    fn a_header_reads_as_it_was_written() {
        let header = header();
        assert_eq!(Header::decode(&header.encode(), &header.digest), Ok(header));
    }

    #[test]
    fn sections_are_listed_in_the_order_of_their_numbers() {
        for (position, section) in Section::ALL.into_iter().enumerate() {
            assert_eq!(section as usize, position);
        }
    }

    #[test]
    fn a_flaw_of_a_header_is_named() {
        let good = header().encode();
        let digest = header().digest;
        let flawed = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut bytes = good.clone();
            change(&mut bytes);
            Header::decode(&bytes, &digest)
        };
        assert_eq!(flawed(&|bytes| bytes[0] = b'B'), Err(Flaw::Foreign));
        assert_eq!(flawed(&|bytes| bytes.clear()), Err(Flaw::Foreign));
        assert_eq!(flawed(&|bytes| bytes[8] = 9), Err(Flaw::OtherFormat(9)));
        assert_eq!(flawed(&|bytes| bytes[100] ^= 1), Err(Flaw::Checksum("header")));
        assert_eq!(flawed(&|bytes| bytes.truncate(300)), Err(Flaw::Truncated));
        assert_eq!(flawed(&|bytes| bytes.push(0)), Err(Flaw::Truncated));
        assert_eq!(
            Header::decode(&good, &Digest::of(b"other")),
            Err(Flaw::OtherDigest)
        );
    }
}
