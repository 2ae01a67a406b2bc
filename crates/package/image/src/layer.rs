//! Reproducible layers: the same files give the same bytes and so the same digest.
//!
//! A layer is a tar whose entries are sorted by name, belong to root, and bear no time; every directory has an entry, so
//! that nobody has to guess its mode. Nothing of the machine or of the moment goes into it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use flate2::GzBuilder;
use flate2::write::GzEncoder;
use oci_spec::image::{Descriptor, MediaType};
use tar::{EntryType, Header};

use crate::content::{ContentError, ContentStore, Ingest, Pin};
use crate::digest::{Digest, Hasher};
use crate::manifest;

/// The mode of directories that were not added by themselves.
const DIRECTORY_MODE: u32 = 0o755;

/// The level of gzip: zlib's own default, a good size at a good speed. Another level means other digests.
const GZIP_LEVEL: u32 = 6;

/// The level of zstd: its own default. Another level means other digests.
const ZSTD_LEVEL: i32 = 3;

/// What the gzip header says of the operating system: unknown, so that it is the same everywhere.
const GZIP_UNKNOWN_SYSTEM: u8 = 255;

/// How many bytes the compressor gets at a time, however they were read: what it makes of them must not depend on that.
const COMPRESSOR_BYTES: usize = 64 << 10;

/// How long the path of a file may be: what Linux allows.
const MAX_PATH_BYTES: usize = 4096;

/// How long one name in a path may be: what Linux's file systems allow.
const MAX_NAME_BYTES: usize = 255;

/// How the bytes of a layer are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compression {
    /// A plain tar.
    None,
    /// gzip, which everything that reads images can read.
    #[default]
    Gzip,
    /// zstd: smaller and faster, for OCI images and readers of recent years.
    Zstd,
}

/// The names that the media types of an image come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// The Open Container Initiative's image format.
    #[default]
    Oci,
    /// Docker's image manifest version 2, schema 2, for registries and tools that know nothing newer.
    Docker,
}

/// Why a layer couldn't be made.
#[derive(Debug, thiserror::Error)]
pub enum LayerError {
    /// A path that no file in an image can have.
    #[error("{path:?} can't be the path of a file in an image: {cause}; choose another path")]
    Path {
        /// The path as given.
        path: String,
        /// What is wrong with it.
        cause: &'static str,
    },
    /// A path is to be a file and a directory at once, or two different files.
    #[error("{path:?} was added to the image twice, with different content; remove one of the two")]
    Conflict {
        /// The path.
        path: String,
    },
    /// A file on disk couldn't be read.
    #[error("cannot read {} for {path:?} in the image: {source}; check that it exists and may be read", file.display())]
    Source {
        /// The path in the image.
        path: String,
        /// The file on disk.
        file: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// A file on disk became longer or shorter while it was read.
    #[error("{} changed while it was put into the image as {path:?}; try again when nothing writes to it", file.display())]
    Changed {
        /// The path in the image.
        path: String,
        /// The file on disk.
        file: PathBuf,
    },
    /// The compression has no name in the image format.
    #[error("Docker's image format has no layers with zstd; use gzip, or the OCI format")]
    NoMediaType,
    /// The content store couldn't take the layer.
    #[error(transparent)]
    Content(#[from] ContentError),
}

/// The files of a layer, by path.
#[derive(Debug, Clone, Default)]
pub struct LayerFiles {
    entries: BTreeMap<String, Entry>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    content: Content,
    mode: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Content {
    Directory,
    Bytes(Vec<u8>),
    OnDisk(PathBuf),
    Symlink(String),
}

/// A layer in a content store.
#[derive(Debug, Clone)]
pub struct Layer {
    /// The digest of the tar before compression, by which an image's configuration names the layer.
    pub diff_id: Digest,
    /// The digest of the blob.
    pub digest: Digest,
    /// The size of the blob in bytes.
    pub size: u64,
    /// How the blob is packed.
    pub compression: Compression,
    /// Keeps the blob in the store.
    pub pin: Pin,
}

impl Layer {
    /// What a manifest says of the layer.
    pub fn descriptor(&self, format: Format) -> Result<Descriptor, LayerError> {
        let media_type = match (format, self.compression) {
            (Format::Oci, Compression::None) => MediaType::ImageLayer,
            (Format::Oci, Compression::Gzip) => MediaType::ImageLayerGzip,
            (Format::Oci, Compression::Zstd) => MediaType::ImageLayerZstd,
            (Format::Docker, Compression::None) => MediaType::Other(manifest::DOCKER_LAYER.to_owned()),
            (Format::Docker, Compression::Gzip) => MediaType::Other(manifest::DOCKER_LAYER_GZIP.to_owned()),
            (Format::Docker, Compression::Zstd) => return Err(LayerError::NoMediaType),
        };
        Ok(manifest::descriptor(media_type, &self.digest, self.size))
    }
}

impl LayerFiles {
    /// A layer without files.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file with the given content.
    pub fn add_bytes(&mut self, path: &str, bytes: impl Into<Vec<u8>>, mode: u32) -> Result<(), LayerError> {
        self.add(path, Content::Bytes(bytes.into()), mode)
    }

    /// Adds a file whose content is read from disk when the layer is written, and never lies in memory as a whole.
    pub fn add_file(&mut self, path: &str, source: &Path, mode: u32) -> Result<(), LayerError> {
        self.add(path, Content::OnDisk(source.to_path_buf()), mode)
    }

    /// Adds a directory; the directories that a file lies in are there anyway, with mode 755.
    pub fn add_directory(&mut self, path: &str, mode: u32) -> Result<(), LayerError> {
        self.add(path, Content::Directory, mode)
    }

    /// Adds a symbolic link.
    pub fn add_symlink(&mut self, path: &str, target: &str) -> Result<(), LayerError> {
        if target.is_empty() || target.contains('\0') || target.len() > MAX_PATH_BYTES {
            return Err(LayerError::Path {
                path: target.to_owned(),
                cause: "it is no target for a link",
            });
        }
        self.add(path, Content::Symlink(target.to_owned()), 0o777)
    }

    fn add(&mut self, path: &str, content: Content, mode: u32) -> Result<(), LayerError> {
        let path = normal_path(path)?;
        for (end, _) in path.match_indices('/') {
            let parent = path.get(..end).unwrap_or_default();
            let directory = Entry {
                content: Content::Directory,
                mode: DIRECTORY_MODE,
            };
            let entry = self.entries.entry(parent.to_owned()).or_insert(directory);
            if entry.content != Content::Directory {
                return Err(LayerError::Conflict {
                    path: parent.to_owned(),
                });
            }
        }
        let entry = Entry {
            content,
            mode: mode & 0o7777,
        };
        match self.entries.get(&path) {
            Some(present) if present.content == Content::Directory && entry.content == Content::Directory => {
            }
            Some(present) if *present == entry => return Ok(()),
            Some(_) => return Err(LayerError::Conflict { path }),
            None => {}
        }
        self.entries.insert(path, entry);
        Ok(())
    }

    /// Writes the layer into the store.
    pub fn write(&self, store: &ContentStore, compression: Compression) -> Result<Layer, LayerError> {
        let ingest = store.ingest_unnamed()?;
        let failed =
            |error| LayerError::Content(ContentError::of_stream(error, store.root(), "write a layer to"));
        let packed = Packed::new(ingest, compression).map_err(failed)?;
        let mut builder = tar::Builder::new(Hashed {
            hasher: Hasher::new(),
            inner: Even::new(packed),
        });
        for (path, entry) in &self.entries {
            append(&mut builder, path, entry, &failed)?;
        }
        let hashed = builder.into_inner().map_err(failed)?;
        let diff_id = hashed.hasher.finish();
        let ingest = hashed
            .inner
            .into_inner()
            .and_then(Packed::finish)
            .map_err(failed)?;
        let size = ingest.offset();
        let (digest, pin) = ingest.commit_pinned()?;
        Ok(Layer {
            diff_id,
            digest,
            size,
            compression,
            pin,
        })
    }
}

fn append<W: Write>(
    builder: &mut tar::Builder<W>,
    path: &str,
    entry: &Entry,
    failed: &impl Fn(io::Error) -> LayerError,
) -> Result<(), LayerError> {
    let mut header = Header::new_gnu();
    header.set_mode(entry.mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_size(0);
    match &entry.content {
        Content::Directory => {
            header.set_entry_type(EntryType::Directory);
            builder
                .append_data(&mut header, format!("{path}/"), io::empty())
                .map_err(failed)
        }
        Content::Symlink(target) => {
            header.set_entry_type(EntryType::Symlink);
            builder.append_link(&mut header, path, target).map_err(failed)
        }
        Content::Bytes(bytes) => {
            header.set_entry_type(EntryType::Regular);
            header.set_size(bytes.len() as u64);
            builder.append_data(&mut header, path, &bytes[..]).map_err(failed)
        }
        Content::OnDisk(file) => {
            let unreadable = |source| LayerError::Source {
                path: path.to_owned(),
                file: file.clone(),
                source,
            };
            let opened = File::open(file).map_err(unreadable)?;
            let metadata = opened.metadata().map_err(unreadable)?;
            if !metadata.is_file() {
                return Err(unreadable(io::Error::other("it is not a regular file")));
            }
            header.set_entry_type(EntryType::Regular);
            header.set_size(metadata.len());
            let mut exactly = Exactly {
                file: opened,
                left: metadata.len(),
                outcome: Ok(()),
            };
            let appended = builder.append_data(&mut header, path, &mut exactly);
            match exactly.outcome {
                Err(Some(source)) => Err(unreadable(source)),
                Err(None) => Err(LayerError::Changed {
                    path: path.to_owned(),
                    file: file.clone(),
                }),
                Ok(()) => appended.map_err(failed),
            }
        }
    }
}

/// A path as it stands in a layer: relative to the root, without empty or dot components.
fn normal_path(path: &str) -> Result<String, LayerError> {
    let refused = |cause| {
        Err(LayerError::Path {
            path: path.to_owned(),
            cause,
        })
    };
    let mut normal = String::with_capacity(path.len());
    for component in path.split('/') {
        match component {
            "" | "." => continue,
            ".." => return refused("it leads upwards"),
            _ if component.len() > MAX_NAME_BYTES => return refused("a name in it is longer than 255 bytes"),
            _ if component.contains('\0') => return refused("it contains a zero byte"),
            // In a layer such a name removes a file of the layers below.
            _ if component.starts_with(".wh.") => {
                return refused("names that start with .wh. mark removed files");
            }
            _ => {}
        }
        if !normal.is_empty() {
            normal.push('/');
        }
        normal.push_str(component);
    }
    if normal.is_empty() {
        return refused("it names no file");
    }
    if normal.len() > MAX_PATH_BYTES {
        return refused("it is longer than 4096 bytes");
    }
    Ok(normal)
}

/// Reads exactly as many bytes of a file as its tar header has promised.
struct Exactly {
    file: File,
    left: u64,
    /// Why reading failed: by the operating system, or (without an error of its own) by another length.
    outcome: Result<(), Option<io::Error>>,
}

impl Read for Exactly {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let changed = || io::Error::other("the file changed while it was read");
        let read = match self.file.read(buffer) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Err(error),
            Err(error) => {
                let kind = error.kind();
                self.outcome = Err(Some(error));
                return Err(kind.into());
            }
        };
        let ended_early = read == 0 && self.left > 0 && !buffer.is_empty();
        match self.left.checked_sub(read as u64) {
            Some(left) if !ended_early => {
                self.left = left;
                Ok(read)
            }
            _ => {
                self.outcome = Err(None);
                Err(changed())
            }
        }
    }
}

/// Computes the digest of what passes.
struct Hashed<W> {
    hasher: Hasher,
    inner: W,
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hasher.update(bytes.get(..written).unwrap_or(bytes));
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Passes bytes on in pieces of one size.
struct Even<W> {
    inner: W,
    buffer: Vec<u8>,
}

impl<W: Write> Even<W> {
    fn new(inner: W) -> Self {
        Self {
            inner,
            buffer: Vec::with_capacity(COMPRESSOR_BYTES),
        }
    }

    fn into_inner(mut self) -> io::Result<W> {
        self.inner.write_all(&self.buffer)?;
        Ok(self.inner)
    }
}

impl<W: Write> Write for Even<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = COMPRESSOR_BYTES.saturating_sub(self.buffer.len());
        let taken = bytes.get(..room).unwrap_or(bytes);
        self.buffer.extend_from_slice(taken);
        if self.buffer.len() >= COMPRESSOR_BYTES {
            self.inner.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A blob that is compressed while it is written.
enum Packed {
    Plain(Ingest),
    Gzip(GzEncoder<Ingest>),
    Zstd(zstd::Encoder<'static, Ingest>),
}

impl Packed {
    fn new(ingest: Ingest, compression: Compression) -> io::Result<Self> {
        Ok(match compression {
            Compression::None => Self::Plain(ingest),
            Compression::Gzip => Self::Gzip(
                GzBuilder::new()
                    .mtime(0)
                    .operating_system(GZIP_UNKNOWN_SYSTEM)
                    .write(ingest, flate2::Compression::new(GZIP_LEVEL)),
            ),
            Compression::Zstd => {
                let mut encoder = zstd::Encoder::new(ingest, ZSTD_LEVEL)?;
                encoder.include_checksum(true)?;
                Self::Zstd(encoder)
            }
        })
    }

    fn finish(self) -> io::Result<Ingest> {
        match self {
            Self::Plain(ingest) => Ok(ingest),
            Self::Gzip(encoder) => encoder.finish(),
            Self::Zstd(encoder) => encoder.finish(),
        }
    }
}

impl Write for Packed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(ingest) => ingest.write(bytes),
            Self::Gzip(encoder) => encoder.write(bytes),
            Self::Zstd(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
