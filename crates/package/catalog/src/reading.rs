//! Catalog files read as streams of objects.
//!
//! Every file of a directory counts, whatever its name, except those that an `.indexignore` names. A file holds JSON
//! objects or YAML documents; files are read one after the other, an object at a time, so that a catalog of any size
//! passes through little memory.

pub(crate) mod decode;
mod ignore;
mod stream;
mod walk;
mod window;

use std::io::{self, Read};
use std::path::Path;

use image::digest::{Digest, Hasher};
use thiserror::Error;

pub(crate) use decode::{
    BUNDLE, CHANNEL, DEPRECATIONS, PACKAGE, bundle, channel, check_bundle_object, deprecations,
    missing_schema, package,
};
pub(crate) use stream::Found;
use stream::{Interruption, Scratch};
pub use walk::Source;

use crate::objects::{Catalog, Meta};

/// Go's words for JSON text without anything in it.
pub(crate) const EMPTY_JSON: &str = "unexpected end of JSON input";

/// How much of a file is hashed at once.
const DIGEST_BUFFER_BYTES: usize = 256 << 10;

/// One object of a catalog in its canonical form, borrowed for as long as it is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetaRef<'a> {
    /// What kind of object this is, such as `olm.bundle`; empty for an object that does not say.
    pub schema: &'a str,
    /// The package it belongs to; empty at the root of a catalog, and for `olm.package` objects themselves.
    pub package: &'a str,
    /// Its name; empty for objects that have none.
    pub name: &'a str,
    /// The object as compact JSON with sorted keys, without the final newline; empty for an empty YAML document.
    pub blob: &'a [u8],
}

impl MetaRef<'_> {
    /// Copies the object.
    #[must_use]
    pub fn to_meta(&self) -> Meta {
        Meta {
            schema: self.schema.to_owned(),
            package: self.package.to_owned(),
            name: self.name.to_owned(),
            blob: self.blob.into(),
        }
    }
}

/// Why a catalog cannot be read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// A file or directory cannot be read. Permissions, or a link that leads nowhere.
    #[error("{operation} {path}: {error}")]
    Io {
        /// What was tried, by the name of the system call.
        operation: &'static str,
        /// The path inside of the catalog.
        path: String,
        /// The reason.
        error: io::Error,
    },
    /// A file holds something that is no catalog object. The text is upstream's and does not name the file; see
    /// [`ReadError::path`].
    #[error("{message}")]
    Object {
        /// The path inside of the catalog; empty for a stream without one.
        path: String,
        /// What is wrong, in upstream's words.
        message: String,
    },
    /// Directories are nested deeper than a catalog needs; look for a directory that was put there by mistake.
    #[error("catalog directory {path} lies more than {limit} levels deep; move catalog files further up")]
    TooDeep {
        /// The path inside of the catalog.
        path: String,
        /// The limit.
        limit: usize,
    },
    /// An `.indexignore` is larger than patterns need.
    #[error("{path} has more than {limit} bytes; name directories instead of single files in it")]
    IgnoreFileTooLarge {
        /// The path inside of the catalog.
        path: String,
        /// The limit.
        limit: u64,
    },
    /// There are more files than a catalog needs.
    #[error("catalog has more than {0} files; check that the right directory is given")]
    TooManyFiles(usize),
}

impl ReadError {
    fn io(operation: &'static str, path: &str, error: io::Error) -> Self {
        Self::Io {
            operation,
            path: path.to_owned(),
            error,
        }
    }

    /// Returns the path inside of the catalog of the file that the error is about, where there is one.
    #[must_use]
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Io { path, .. }
            | Self::Object { path, .. }
            | Self::TooDeep { path, .. }
            | Self::IgnoreFileTooLarge { path, .. } => Some(path.as_str()).filter(|path| !path.is_empty()),
            Self::TooManyFiles(_) => None,
        }
    }
}

/// Gives every object of a catalog, in its canonical form and in the order of files, to `receiver`.
///
/// No more than the largest object is held in memory. Objects without a schema are given, too; see
/// [`Catalog::from_metas`] for who refuses them.
pub fn for_each<E: From<ReadError>>(
    source: Source<'_>,
    mut receiver: impl FnMut(MetaRef<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut blob = Vec::new();
    for_each_found(source, |_, found| {
        blob.clear();
        found.write_blob(&mut blob);
        receiver(MetaRef {
            schema: &found.head.schema,
            package: &found.head.package,
            name: &found.head.name,
            blob: &blob,
        })
    })
}

/// Gives every object of a catalog, as it stands and with the path of its file, to `receiver`.
pub(crate) fn for_each_found<E: From<ReadError>>(
    source: Source<'_>,
    mut receiver: impl FnMut(&str, Found<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut scratch = Scratch::default();
    for file in walk::files(source)? {
        let reader = file
            .open()
            .map_err(|error| ReadError::io("open", &file.path, error))?;
        let result = stream::read(reader, &mut scratch, |found| receiver(&file.path, found));
        result.map_err(|interruption| error_of(interruption, &file.path))?;
    }
    Ok(())
}

fn error_of<E: From<ReadError>>(interruption: Interruption<E>, path: &str) -> E {
    match interruption {
        Interruption::Receiver(error) => error,
        Interruption::Io(error) => ReadError::io("read", path, error).into(),
        Interruption::Refused(message) => ReadError::Object {
            path: path.to_owned(),
            message,
        }
        .into(),
    }
}

/// The digest of a catalog's files: their paths and bytes, without those that an `.indexignore` names.
///
/// Nothing is parsed, so this is quick, and says no more than whether the files are the same.
pub fn digest(source: Source<'_>) -> Result<Digest, ReadError> {
    let mut hasher = Hasher::new();
    let mut buffer = vec![0; DIGEST_BUFFER_BYTES];
    for file in walk::files(source)? {
        hasher.update(&(file.path.len() as u64).to_le_bytes());
        hasher.update(file.path.as_bytes());
        let mut reader = file
            .open()
            .map_err(|error| ReadError::io("open", &file.path, error))?;
        let mut length = 0_u64;
        loop {
            match reader.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => {
                    hasher.update(&buffer[..count]);
                    length += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(ReadError::io("read", &file.path, error)),
            }
        }
        // After the content, so that where one file ends and the next begins can't be mistaken.
        hasher.update(&length.to_le_bytes());
    }
    Ok(hasher.finish())
}

/// Gives every object of a single stream, such as standard input, to `receiver`.
pub fn for_each_in_stream<E: From<ReadError>>(
    reader: impl Read,
    mut receiver: impl FnMut(MetaRef<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut blob = Vec::new();
    let result = stream::read(reader, &mut Scratch::default(), |found| {
        blob.clear();
        found.write_blob(&mut blob);
        receiver(MetaRef {
            schema: &found.head.schema,
            package: &found.head.package,
            name: &found.head.name,
            blob: &blob,
        })
    });
    result.map_err(|interruption| error_of(interruption, ""))
}

/// Reads the catalog in a directory.
pub fn read_catalog(path: &Path) -> Result<Catalog, ReadError> {
    read(Source::Directory(path))
}

/// Reads a catalog.
pub fn read(source: Source<'_>) -> Result<Catalog, ReadError> {
    let mut catalog = Catalog::default();
    let mut blob = Vec::new();
    for_each_found(source, |path, found| {
        blob.clear();
        found.write_blob(&mut blob);
        let meta = MetaRef {
            schema: &found.head.schema,
            package: &found.head.package,
            name: &found.head.name,
            blob: &blob,
        };
        catalog.add(meta).map_err(|message| ReadError::Object {
            path: path.to_owned(),
            message,
        })
    })?;
    Ok(catalog)
}

/// Reads the catalog in a single stream, such as standard input.
pub fn read_stream(reader: impl Read) -> Result<Catalog, ReadError> {
    let mut catalog = Catalog::default();
    for_each_in_stream(reader, |meta| {
        catalog.add(meta).map_err(|message| ReadError::Object {
            path: String::new(),
            message,
        })
    })?;
    Ok(catalog)
}

impl Catalog {
    /// Reads objects in their canonical form; an object without a schema, or whose fields do not fit it, is refused.
    pub fn from_metas<'a>(metas: impl IntoIterator<Item = MetaRef<'a>>) -> Result<Self, ReadError> {
        let mut catalog = Self::default();
        for meta in metas {
            catalog.add(meta).map_err(|message| ReadError::Object {
                path: String::new(),
                message,
            })?;
        }
        Ok(catalog)
    }

    fn add(&mut self, meta: MetaRef<'_>) -> Result<(), String> {
        match meta.schema {
            PACKAGE => self.packages.push(decode::package(meta.blob)?),
            CHANNEL => self.channels.push(decode::channel(meta.blob)?),
            BUNDLE => self.bundles.push(decode::bundle(meta.blob)?),
            DEPRECATIONS => self.deprecations.push(decode::deprecations(meta.blob)?),
            "" => return Err(missing_schema(meta.blob)),
            _ => self.others.push(meta.to_meta()),
        }
        Ok(())
    }
}

impl Meta {
    /// Borrows the object.
    #[must_use]
    pub fn borrowed(&self) -> MetaRef<'_> {
        MetaRef {
            schema: &self.schema,
            package: &self.package,
            name: &self.name,
            blob: &self.blob,
        }
    }
}
