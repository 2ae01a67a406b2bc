//! Writes a store: the content as it comes, then the tables, and only then the name under which it is found.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufWriter, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use image::digest::Digest;
use memmap2::{Mmap, MmapOptions};
use tempfile::NamedTempFile;

use super::content::Content;
use super::error::StoreError;
use super::format::{Extent, HEADER_LENGTH, Header, MetaRecord, Record as _, Section, line_end};
use super::registry::{EncodedTables, PackageError, PackageObject, RegistryTables};
use super::symbols::{Collected, Collector};
use super::{Store, file_of};
use crate::reading::{self, MetaRef, ReadError, Source};
use crate::validation;

/// How the name of an unfinished store ends.
const UNFINISHED_SUFFIX: &str = ".unfinished";

/// After how long an unfinished store counts as left behind by a process that was killed.
///
/// The largest catalogs take seconds; an hour leaves room for the slowest disk.
const ABANDONED_AFTER: Duration = Duration::from_hours(1);

/// The most bytes that one object may have. Ten times the largest catalog known.
const MAXIMUM_OBJECT_BYTES: u64 = 2 << 30;

/// How much is written to the file at once.
const BUFFER_BYTES: usize = 256 << 10;

/// The schemas that make packages; objects of all others are custom.
const PACKAGE_SCHEMAS: [&str; 4] = ["olm.package", "olm.channel", "olm.bundle", "olm.deprecations"];

/// Why a store that answers `api.Registry` can't be built. The texts are those of `opm serve`.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The store can't be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The catalog can't be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// An object of a custom schema has a schema or package that can't be asked for.
    #[error("invalid custom schema meta: {0}")]
    CustomSchema(String),
    /// A package breaks a rule.
    #[error(
        "build package index: process package {}: {cause}",
        gotemplate::format::quoted(package)
    )]
    Package {
        /// The package.
        package: String,
        /// The broken rule.
        cause: String,
    },
}

/// Writes the store of one catalog. Dropped unfinished, it leaves nothing behind.
///
/// Any number of processes may write the store of the same catalog at once: each writes its own file, and the last to
/// finish gives the store its name, which is as good as the one before.
#[derive(Debug)]
pub struct StoreWriter {
    directory: PathBuf,
    digest: Digest,
    file: BufWriter<NamedTempFile>,
    written: u64,
    names: Collector,
    metas: Vec<MetaRecord>,
}

impl StoreWriter {
    /// Begins the store of a catalog in `directory`, which is made if need be.
    pub fn create(directory: &Path, digest: &Digest) -> Result<Self, StoreError> {
        fs::create_dir_all(directory).map_err(StoreError::io("create the folder of", directory))?;
        remove_abandoned(directory);
        let mut builder = tempfile::Builder::new();
        builder.prefix(".").suffix(UNFINISHED_SUFFIX);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            // A store is often built with the image that serves it, where another user reads it.
            builder.permissions(fs::Permissions::from_mode(0o644));
        }
        let file = builder
            .tempfile_in(directory)
            .map_err(StoreError::io("create", directory))?;
        let mut writer = Self {
            directory: directory.to_path_buf(),
            digest: *digest,
            file: BufWriter::with_capacity(BUFFER_BYTES, file),
            written: 0,
            names: Collector::default(),
            metas: Vec::new(),
        };
        writer.append(&[0; HEADER_LENGTH])?;
        Ok(writer)
    }

    /// Adds every object of a catalog.
    pub fn push_all(&mut self, source: Source<'_>) -> Result<(), BuildError> {
        reading::for_each(source, |meta| Ok(self.push(meta)?))
    }

    /// Adds the next object of the walk.
    pub fn push(&mut self, meta: MetaRef<'_>) -> Result<(), StoreError> {
        let MetaRef {
            schema,
            package,
            name,
            blob,
        } = meta;
        let length = u32::try_from(blob.len())
            .ok()
            .filter(|length| u64::from(*length) <= MAXIMUM_OBJECT_BYTES)
            .ok_or(StoreError::TooLarge {
                what: "bytes in one object",
                limit: MAXIMUM_OBJECT_BYTES,
            })?;
        // Positions are numbers of 32 bits, and one is left over for "none".
        if self.metas.len() >= u32::MAX as usize {
            return Err(StoreError::TooLarge {
                what: "objects",
                limit: u64::from(u32::MAX),
            });
        }
        let end: &[u8] = &b"\n"[..line_end(length)];
        let mut checksum = crc32fast::Hasher::new();
        checksum.update(blob);
        checksum.update(end);
        self.metas.push(MetaRecord {
            schema: self.names.number(schema)?,
            package: self.names.number(package)?,
            name: self.names.number(name)?,
            checksum: checksum.finalize(),
            offset: self.written - HEADER_LENGTH as u64,
            length,
        });
        self.append(blob)?;
        self.append(end)
    }

    /// Finishes a store that holds the catalog's objects, whether or not they are valid.
    pub fn finish(self) -> Result<Store, StoreError> {
        let messages = self.written;
        self.seal(messages, None)
    }

    /// Finishes a store that answers `api.Registry` too, which only a valid catalog can.
    ///
    /// Packages are validated one by one, in the order of their names.
    pub fn finish_with_registry(mut self) -> Result<Store, BuildError> {
        let packages = self.packages()?;
        let messages_start = self.written;
        self.flush()?;
        let mut tables = RegistryTables::default();
        let mut messages = Vec::new();
        for (package, members) in packages {
            let mapped = self.map(&members)?;
            let mut objects = Vec::with_capacity(members.len());
            for Member { position, schema, .. } in members {
                let record = self.metas[position as usize];
                objects.push(PackageObject {
                    position,
                    schema,
                    blob: mapped.blob(&record),
                });
            }
            let failed = |cause| BuildError::Package {
                package: package.clone(),
                cause,
            };
            validation::validate_metas(objects.iter().map(PackageObject::meta))
                .map_err(|error| failed(error.to_string()))?;
            messages.clear();
            let offset = self.written - messages_start;
            match tables.add(&objects, &mut self.names, offset, &mut messages) {
                Ok(()) => self.append(&messages)?,
                Err(PackageError::Invalid(cause)) => return Err(failed(cause)),
                Err(PackageError::Store(error)) => return Err(error.into()),
            }
        }
        Ok(self.seal(messages_start, Some(tables))?)
    }

    /// The objects of each package, after checking that all others can be asked for.
    fn packages(&self) -> Result<BTreeMap<String, Vec<Member>>, BuildError> {
        let texts = self.names.texts();
        let text = |number: u32| texts.get(number as usize).copied().unwrap_or_default();
        let mut packages: BTreeMap<String, Vec<Member>> = BTreeMap::new();
        for (position, record) in (0..).zip(&self.metas) {
            let schema = text(record.schema);
            let package = match schema {
                "olm.package" => text(record.name),
                _ => text(record.package),
            };
            let Some(schema) = PACKAGE_SCHEMAS.into_iter().find(|known| *known == schema) else {
                super::custom_schema::check(schema, package).map_err(BuildError::CustomSchema)?;
                continue;
            };
            let member = Member {
                position,
                schema,
                start: record.offset,
                end: record.offset + u64::from(record.length),
            };
            match packages.get_mut(package) {
                Some(members) => members.push(member),
                None => {
                    packages.insert(package.to_owned(), vec![member]);
                }
            }
        }
        Ok(packages)
    }

    /// Maps the part of the unfinished file in which a package lies, so that no more than that is in memory.
    fn map(&self, members: &[Member]) -> Result<MappedPackage, StoreError> {
        let start = members.iter().map(|member| member.start).min().unwrap_or(0);
        let end = members.iter().map(|member| member.end).max().unwrap_or(start);
        let bytes = map_part(
            self.file.get_ref().as_file(),
            HEADER_LENGTH as u64 + start,
            end - start,
        )
        .map_err(StoreError::io("read back", &self.directory))?;
        Ok(MappedPackage { bytes, start })
    }

    /// Writes the tables and the header, and gives the store its name.
    fn seal(mut self, messages_start: u64, registry: Option<RegistryTables>) -> Result<Store, StoreError> {
        let mut sections = [Extent::default(); Section::ALL.len()];
        let header_length = HEADER_LENGTH as u64;
        sections[Section::Content as usize] = Extent {
            offset: header_length,
            length: messages_start - header_length,
            checksum: 0,
        };
        sections[Section::Messages as usize] = Extent {
            offset: messages_start,
            length: self.written - messages_start,
            checksum: 0,
        };
        let names = std::mem::take(&mut self.names).finish()?;
        let has_registry = registry.is_some();
        let tables = self.tables(&names, registry);
        for (section, bytes) in tables {
            sections[section as usize] = Extent {
                offset: self.written,
                length: bytes.len() as u64,
                checksum: crc32fast::hash(&bytes),
            };
            self.append(&bytes)?;
        }
        let header = Header {
            digest: self.digest,
            file_length: self.written,
            has_registry,
            sections,
        };
        self.flush()?;
        let path = file_of(&self.directory, &self.digest);
        let failed = |action| StoreError::io(action, &path);
        let (mut file, temporary) = self
            .file
            .into_inner()
            .map_err(|error| failed("write")(error.into_error()))?
            .into_parts();
        file.seek(SeekFrom::Start(0)).map_err(failed("write"))?;
        file.write_all(&header.encode()).map_err(failed("write"))?;
        // The name must not be there before the bytes are.
        file.sync_all().map_err(failed("write"))?;
        temporary
            .persist(&path)
            .map_err(|error| failed("name")(error.error))?;
        sync_directory(&self.directory);
        // What was written is opened, not what now has the name: that may be another process's.
        let content = Content::of_file(&file, &path, &self.digest)?;
        Ok(Store {
            content: Arc::new(content),
        })
    }

    /// The tables of the finished store.
    fn tables(&mut self, names: &Collected, registry: Option<RegistryTables>) -> Vec<(Section, Vec<u8>)> {
        let mut metas = Vec::with_capacity(self.metas.len() * MetaRecord::LENGTH);
        for record in &mut self.metas {
            for text in [&mut record.schema, &mut record.package, &mut record.name] {
                *text = names.symbol(*text);
            }
            record.append(&mut metas);
        }
        let order = |field: fn(&MetaRecord) -> u32| {
            let mut positions: Vec<u32> = (0..self.metas.len() as u32).collect();
            positions.sort_by_key(|position| field(&self.metas[*position as usize]));
            let mut encoded = Vec::with_capacity(positions.len() * u32::LENGTH);
            for position in positions {
                position.append(&mut encoded);
            }
            encoded
        };
        let by_schema = order(|record| record.schema);
        let by_package = order(|record| record.package);
        let by_name = order(|record| record.name);
        let registry = registry.map_or_else(EncodedTables::default, |tables| tables.finish(names));
        vec![
            (Section::StringOffsets, names.offsets.clone()),
            (Section::Strings, names.texts.clone()),
            (Section::Metas, metas),
            (Section::BySchema, by_schema),
            (Section::ByPackage, by_package),
            (Section::ByName, by_name),
            (Section::Packages, registry.packages),
            (Section::Channels, registry.channels),
            (Section::Entries, registry.entries),
            (Section::Lists, registry.lists),
            (Section::Apis, registry.apis),
        ]
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.file
            .write_all(bytes)
            .map_err(StoreError::io("write", &self.directory))?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        self.file
            .flush()
            .map_err(StoreError::io("write", &self.directory))
    }
}

/// An object of a package: where it stands in the walk and where it lies in the content.
#[derive(Debug, Clone, Copy)]
struct Member {
    position: u32,
    schema: &'static str,
    start: u64,
    end: u64,
}

/// The objects of one package in memory.
struct MappedPackage {
    bytes: Mmap,
    start: u64,
}

impl MappedPackage {
    fn blob(&self, record: &MetaRecord) -> &[u8] {
        let start = (record.offset - self.start) as usize;
        self.bytes
            .get(start..start + record.length as usize)
            .unwrap_or_default()
    }
}

#[expect(
    unsafe_code,
    reason = "the file is this writer's alone and has no name yet; what is mapped was written and flushed before, and \
              the writer only ever adds bytes after it"
)]
fn map_part(file: &File, offset: u64, length: u64) -> std::io::Result<Mmap> {
    unsafe { MmapOptions::new().offset(offset).len(length as usize).map(file) }
}

/// Removes what writers that were killed have left behind; others of them may still be at work.
fn remove_abandoned(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for entry in entries.flatten() {
        let is_unfinished = entry.file_name().to_string_lossy().ends_with(UNFINISHED_SUFFIX);
        let is_abandoned = || {
            let age = entry.metadata().ok()?.modified().ok()?.elapsed().ok()?;
            Some(age > ABANDONED_AFTER)
        };
        if is_unfinished && is_abandoned() == Some(true) {
            // Whoever comes next tries again.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Makes the new name last. Where folders can't be synchronised, the name may be lost with the power, not the store.
fn sync_directory(directory: &Path) {
    if let Ok(folder) = File::open(directory) {
        let _ = folder.sync_all();
    }
}
