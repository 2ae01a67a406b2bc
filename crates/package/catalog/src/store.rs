//! The indexed store of a catalog: written once per digest, memory-mapped, read by many.
//!
//! ```text
//! objects in walk order ─ StoreWriter ─► <digest>.catalog ─ Store ─┬─ content: /api/v1/all, one contiguous slice
//!                                                                  ├─ metas(Query): by schema, package and name
//!                                                                  ├─ package(name): what the resolver reads
//!                                                                  └─ registry(): what api.Registry answers
//! CurrentStore: the store that is served, replaced while it is read
//! ```
//!
//! Opening a store reads its header and indexes. Content is read when it is asked for, from the mapped file, and its
//! checksum is verified once. So a store costs hardly any memory of its own, and a damaged file gives an error, never
//! a wrong answer.

mod content;
mod current;
pub(crate) mod custom_schema;
mod error;
mod format;
mod query;
mod registry;
mod symbols;
mod writer;

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, fs};

use bytes::Bytes;
use image::digest::Digest;

use content::Content;
use format::{EntryRecord, PackageRecord, Section};

pub use current::CurrentStore;
pub use error::{Flaw, StoreError};
pub use query::{Query, StoredMeta, StoredMetas};
pub use registry::{Registry, RegistryChannel, RegistryEntry, RegistryPackage};
pub use writer::{BuildError, StoreWriter};

/// The last part of the name of every store's file.
const FILE_SUFFIX: &str = ".catalog";

/// A catalog, ready to be asked. Copies share the same mapped file.
#[derive(Clone)]
pub struct Store {
    content: Arc<Content>,
}

impl Store {
    /// Opens the store of a catalog, if `directory` has one.
    ///
    /// A file that is there but was torn, changed or written by another version is [`StoreError::Unusable`]; building
    /// the store again puts a good one in its place.
    pub fn open(directory: &Path, digest: &Digest) -> Result<Option<Self>, StoreError> {
        let content = Content::open(&file_of(directory, digest), digest)?;
        Ok(content.map(|content| Self {
            content: Arc::new(content),
        }))
    }

    /// Opens the store of a catalog; if there is none that is usable, has `build` write it.
    pub fn open_or_build<E: From<StoreError>>(
        directory: &Path,
        digest: &Digest,
        build: impl FnOnce(StoreWriter) -> Result<Self, E>,
    ) -> Result<Self, E> {
        match Self::open(directory, digest) {
            Ok(Some(store)) => Ok(store),
            Err(error) if !error.calls_for_rebuild() => Err(error.into()),
            Ok(None) | Err(_) => build(StoreWriter::create(directory, digest)?),
        }
    }

    /// The digest of the catalog that the store holds.
    pub fn digest(&self) -> &Digest {
        self.content.digest()
    }

    /// How many objects the catalog has.
    pub fn len(&self) -> usize {
        self.content.metas().len()
    }

    /// Whether the catalog has no object.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many bytes the whole catalog takes: every object in its canonical form, with a newline.
    pub fn content_length(&self) -> u64 {
        self.content.section(Section::Content).len() as u64
    }

    /// The whole catalog: every object in walk order, with a newline after each.
    pub fn content(&self) -> Result<Bytes, StoreError> {
        self.content_range(0..self.content_length())
    }

    /// A part of the whole catalog; what lies beyond its end is left out.
    pub fn content_range(&self, range: Range<u64>) -> Result<Bytes, StoreError> {
        self.content.lines(range)
    }

    /// The objects that a query wants, in walk order.
    pub fn metas(&self, query: Query<'_>) -> StoredMetas<'_> {
        StoredMetas::of_query(&self.content, query)
    }

    /// The object at a position of the walk.
    pub fn meta(&self, position: usize) -> Option<StoredMeta<'_>> {
        StoredMeta::at(&self.content, position)
    }

    /// The `olm.package` objects, in walk order.
    pub fn packages(&self) -> StoredMetas<'_> {
        self.metas(Query {
            schema: "olm.package",
            ..Query::default()
        })
    }

    /// What belongs to a package, if anything does.
    pub fn package<'a>(&'a self, name: &'a str) -> Option<StoredPackage<'a>> {
        let package = StoredPackage { store: self, name };
        let is_known = !name.is_empty() && (package.meta().is_some() || package.metas("").next().is_some());
        is_known.then_some(package)
    }

    /// The packages as `api.Registry` shows them, if the store was built for that.
    pub fn registry(&self) -> Option<Registry<'_>> {
        Registry::of(&self.content)
    }

    /// Reads everything and checks that it is what was written.
    pub fn verify(&self) -> Result<(), StoreError> {
        self.content()?;
        for (position, record) in self
            .content
            .table::<PackageRecord>(Section::Packages)
            .iter()
            .enumerate()
        {
            self.content.package_message(position, &record)?;
        }
        for (position, record) in self
            .content
            .table::<EntryRecord>(Section::Entries)
            .iter()
            .enumerate()
        {
            self.content.entry_message(position, &record)?;
        }
        Ok(())
    }

    /// Deletes the stores of every other catalog in `directory`. Those who have one open keep it.
    pub fn delete_others(&self, directory: &Path) -> Result<(), StoreError> {
        let own = file_of(directory, self.digest());
        let failed = |action| StoreError::io(action, directory);
        for entry in fs::read_dir(directory).map_err(failed("list the folder of"))? {
            let path = entry.map_err(failed("list the folder of"))?.path();
            let is_store = path.to_string_lossy().ends_with(FILE_SUFFIX);
            if is_store && path != own {
                match fs::remove_file(&path) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => {
                        return Err(StoreError::io("delete", &path)(error));
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Store")
            .field("digest", self.digest())
            .field("objects", &self.len())
            .finish_non_exhaustive()
    }
}

/// The file that holds the store of a catalog.
fn file_of(directory: &Path, digest: &Digest) -> PathBuf {
    directory.join(format!("{}{FILE_SUFFIX}", digest.hex()))
}

/// What belongs to a package of a store.
#[derive(Debug, Clone, Copy)]
pub struct StoredPackage<'a> {
    store: &'a Store,
    name: &'a str,
}

impl<'a> StoredPackage<'a> {
    /// The package's name.
    pub fn name(&self) -> &'a str {
        self.name
    }

    /// Its `olm.package` object.
    pub fn meta(&self) -> Option<StoredMeta<'a>> {
        let query = Query {
            schema: "olm.package",
            name: self.name,
            ..Query::default()
        };
        self.store.metas(query).next()
    }

    /// Its objects of one schema, such as `olm.channel`; of every schema if that is empty.
    pub fn metas(&self, schema: &str) -> StoredMetas<'a> {
        self.store.metas(Query {
            schema,
            package: self.name,
            name: "",
        })
    }

    /// Its objects of one schema with one name.
    pub fn named(&self, schema: &str, name: &str) -> StoredMetas<'a> {
        self.store.metas(Query {
            schema,
            package: self.name,
            name,
        })
    }
}
