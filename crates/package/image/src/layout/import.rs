//! Reading layouts into the content store.

use std::collections::{BTreeMap, BTreeSet, btree_map};
use std::fs::File;
use std::io::{self, BufReader, Chain, Cursor, Read, Write};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use oci_spec::image::Descriptor;
use tar::EntryType;

use super::docker_archive::{self, Stored};
use super::export::read_index;
use super::{
    LayoutError, MAX_ARCHIVE_BYTES, MAX_ARCHIVE_ENTRIES, MAX_ARCHIVE_NAMES_BYTES, NamedImage, named_images,
};
use crate::content::{ContentError, ContentStore, Pin};
use crate::digest::Digest;
use crate::manifest::{MAX_DOCUMENT_BYTES, Manifest, ManifestError, digest_of, is_manifest, parts};

/// Images that were read into a content store.
#[derive(Debug, Clone)]
pub struct Imported {
    /// The images, in the layout's order.
    pub images: Vec<NamedImage>,
    /// Keep all their parts in the store.
    pub pins: Vec<Pin>,
}

/// Reads the images of a layout: a directory, or a tar, plain or packed with gzip or zstd.
pub fn import(store: &ContentStore, path: &Path) -> Result<Imported, LayoutError> {
    let failed = |source| LayoutError::Read {
        path: path.to_path_buf(),
        source,
    };
    if std::fs::metadata(path).map_err(failed)?.is_dir() {
        return import_directory(store, path);
    }
    let file = File::open(path).map_err(failed)?;
    import_tar(store, path, file)
}

/// Reads the images of a layout directory.
pub fn import_directory(store: &ContentStore, directory: &Path) -> Result<Imported, LayoutError> {
    let index_path = directory.join("index.json");
    let file = File::open(&index_path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => LayoutError::NotALayout {
            path: directory.to_path_buf(),
            cause: "there is no index.json".to_owned(),
        },
        _ => LayoutError::Read {
            path: index_path.clone(),
            source,
        },
    })?;
    let images = named_images(&read_index(&index_path, file)?);
    let mut import = Import {
        store,
        path: directory,
        pins: BTreeMap::new(),
    };
    for image in &images {
        import.take_image_from_directory(&image.descriptor)?;
    }
    import.finish(images)
}

/// Reads the images of a tar from a stream; `path` is only what messages call it.
pub fn import_tar(store: &ContentStore, path: &Path, stream: impl Read) -> Result<Imported, LayoutError> {
    let failed = |error| read_error(path, error);
    let unpacked = Unpacked::new(stream).map_err(failed)?;
    let mut archive = tar::Archive::new(Counted {
        inner: unpacked,
        left: MAX_ARCHIVE_BYTES,
    });
    let mut import = Import {
        store,
        path,
        pins: BTreeMap::new(),
    };
    let mut contents = Contents::default();
    let mut names_left = MAX_ARCHIVE_NAMES_BYTES;
    for (number, entry) in archive.entries().map_err(failed)?.raw(true).enumerate() {
        let mut entry = entry.map_err(|error| match failed(error) {
            LayoutError::Read { source, .. } if number == 0 && source.raw_os_error().is_none() => {
                LayoutError::NotALayout {
                    path: path.to_path_buf(),
                    cause: "it is not a tar".to_owned(),
                }
            }
            error => error,
        })?;
        let path_bytes = entry.path_bytes().into_owned();
        let link = entry.link_name_bytes().map(std::borrow::Cow::into_owned);
        let used = path_bytes.len() + link.as_ref().map_or(0, Vec::len);
        names_left = names_left.saturating_sub(used);
        if number >= MAX_ARCHIVE_ENTRIES || names_left == 0 {
            return Err(LayoutError::TooBig {
                path: path.to_path_buf(),
                what: "more entries",
                limit: MAX_ARCHIVE_ENTRIES as u64,
            });
        }
        if path_bytes
            .split(|byte| *byte == b'/')
            .any(|component| component == b"..")
        {
            return Err(LayoutError::LeadsOut {
                path: path.to_path_buf(),
                entry: String::from_utf8_lossy(&path_bytes).into_owned(),
            });
        }
        let Some(name) = plain_name(&path_bytes) else {
            continue;
        };
        match entry.header().entry_type() {
            EntryType::Regular | EntryType::Continuous => {
                let size = entry.size();
                import.take_entry(&mut contents, name, size, &mut entry)?;
            }
            EntryType::Symlink | EntryType::Link => {
                let from_root = entry.header().entry_type() == EntryType::Link;
                if let Some(target) = link.and_then(|link| String::from_utf8(link).ok()) {
                    contents
                        .links
                        .insert(name.clone(), resolved(&name, &target, from_root));
                }
            }
            _ => {}
        }
    }
    if let Some(bytes) = contents.documents.get("index.json") {
        let images = named_images(&read_index(path, &bytes[..])?);
        return import.finish(images);
    }
    if let Some(manifest) = contents.documents.get("manifest.json") {
        let find = |name: &str| contents.find(name);
        let (images, made) = docker_archive::images(store, path, manifest, &find)?;
        for pin in made {
            import.pins.insert(*pin.digest(), pin);
        }
        return import.finish(images);
    }
    Err(LayoutError::NotALayout {
        path: path.to_path_buf(),
        cause: "the tar has neither index.json nor manifest.json".to_owned(),
    })
}

/// What a tar holds, as far as it may be needed.
#[derive(Default)]
struct Contents {
    documents: BTreeMap<String, Vec<u8>>,
    files: BTreeMap<String, Stored>,
    links: BTreeMap<String, String>,
}

impl Contents {
    /// Old tars of `docker save` hold a layer once and link to it from other places.
    fn find(&self, name: &str) -> Option<Stored> {
        let mut name = plain_name(name.as_bytes())?;
        for _ in 0..8 {
            if let Some(stored) = self.files.get(&name) {
                return Some(*stored);
            }
            name = self.links.get(&name)?.clone();
        }
        None
    }
}

struct Import<'a> {
    store: &'a ContentStore,
    path: &'a Path,
    pins: BTreeMap<Digest, Pin>,
}

impl Import<'_> {
    /// Takes one file of a tar into the store, or into memory when it says what the others are.
    fn take_entry(
        &mut self,
        contents: &mut Contents,
        name: String,
        size: u64,
        content: &mut dyn Read,
    ) -> Result<(), LayoutError> {
        if matches!(&*name, "index.json" | "manifest.json") {
            let mut bytes = Vec::new();
            let read = content.take(MAX_DOCUMENT_BYTES + 1).read_to_end(&mut bytes);
            read.map_err(|error| read_error(self.path, error))?;
            if bytes.len() as u64 > MAX_DOCUMENT_BYTES {
                return Err(LayoutError::NotALayout {
                    path: self.path.to_path_buf(),
                    cause: format!("{name} is longer than {MAX_DOCUMENT_BYTES} bytes"),
                });
            }
            contents.documents.insert(name, bytes);
            return Ok(());
        }
        let promised = name
            .strip_prefix("blobs/sha256/")
            .and_then(|hex| format!("sha256:{hex}").parse::<Digest>().ok());
        let digest = match promised {
            Some(digest) => {
                self.take(&digest, size, &name, content)?;
                digest
            }
            // Elsewhere only what docker save calls a layer or a configuration is of use.
            None if has_extension(&name, "tar") || has_extension(&name, "json") => {
                let mut ingest = self.store.ingest_unnamed()?;
                copy_exactly(self.path, content, &mut ingest, size)?;
                let (digest, pin) = ingest.commit_pinned()?;
                self.pins.insert(digest, pin);
                digest
            }
            None => return Ok(()),
        };
        contents.files.insert(name, Stored { digest, size });
        Ok(())
    }

    fn take(
        &mut self,
        digest: &Digest,
        size: u64,
        name: &str,
        content: &mut dyn Read,
    ) -> Result<(), LayoutError> {
        if let btree_map::Entry::Vacant(vacant) = self.pins.entry(*digest) {
            vacant.insert(self.store.pin(digest)?);
        }
        let mut ingest = self.store.ingest(digest, Some(size))?;
        if !ingest.is_complete() {
            ingest.restart()?;
            copy_exactly(self.path, content, &mut ingest, size)?;
        }
        match ingest.commit() {
            Ok(_) => Ok(()),
            Err(ContentError::WrongDigest { found, .. }) => Err(LayoutError::WrongDigest {
                path: self.path.to_path_buf(),
                blob: name.to_owned(),
                found,
            }),
            Err(error) => Err(error.into()),
        }
    }

    /// Takes a part from the layout's directory; one that isn't there may be in the store already.
    fn take_from_directory(&mut self, part: &Descriptor) -> Result<(), LayoutError> {
        let digest = digest_of(part)?;
        if self.pins.contains_key(&digest) {
            return Ok(());
        }
        let name = format!("blobs/sha256/{}", digest.hex());
        let path = self.path.join(&name);
        let failed = |source| LayoutError::Read {
            path: path.clone(),
            source,
        };
        match File::open(&path) {
            Ok(mut file) => {
                let size = file.metadata().map_err(failed)?.len();
                self.take(&digest, size, &name, &mut file)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.pins.insert(digest, self.store.pin(&digest)?);
                Ok(())
            }
            Err(source) => Err(failed(source)),
        }
    }

    /// Takes an image and everything that it consists of, as far as the directory has it.
    fn take_image_from_directory(&mut self, image: &Descriptor) -> Result<(), LayoutError> {
        let mut seen = BTreeSet::new();
        let mut ahead = vec![image.clone()];
        while let Some(part) = ahead.pop() {
            let digest = digest_of(&part)?;
            if !seen.insert(digest) {
                continue;
            }
            if seen.len() > MAX_ARCHIVE_ENTRIES {
                return Err(LayoutError::TooBig {
                    path: self.path.to_path_buf(),
                    what: "more parts",
                    limit: MAX_ARCHIVE_ENTRIES as u64,
                });
            }
            self.take_from_directory(&part)?;
            let is_document = seen.len() == 1 || is_manifest(&part);
            if is_document && self.store.contains(&digest) {
                ahead.extend(Manifest::read(self.store, &part)?.children());
            }
        }
        Ok(())
    }

    /// Makes sure that nothing is missing.
    fn finish(mut self, images: Vec<NamedImage>) -> Result<Imported, LayoutError> {
        if images.is_empty() {
            return Err(LayoutError::NotALayout {
                path: self.path.to_path_buf(),
                cause: "its index names no image".to_owned(),
            });
        }
        for image in &images {
            let incomplete = |part: String| LayoutError::Incomplete {
                path: self.path.to_path_buf(),
                image: image
                    .name
                    .clone()
                    .unwrap_or_else(|| image.descriptor.digest().to_string()),
                part,
            };
            let all = parts(self.store, &image.descriptor).map_err(|error| match error {
                ManifestError::Content(ContentError::Missing { digest, .. }) => {
                    incomplete(digest.to_string())
                }
                error => LayoutError::Manifest(error),
            })?;
            for part in all {
                let digest = digest_of(&part)?;
                if !self.pins.contains_key(&digest) {
                    self.pins.insert(digest, self.store.pin(&digest)?);
                }
                if !self.store.contains(&digest) {
                    return Err(incomplete(digest.to_string()));
                }
            }
        }
        Ok(Imported {
            images,
            pins: self.pins.into_values().collect(),
        })
    }
}

/// A name of the tar without a leading `./`; nothing for names that are not text or go up.
fn plain_name(name: &[u8]) -> Option<String> {
    let name = std::str::from_utf8(name).ok()?;
    let components: Vec<_> = name
        .split('/')
        .filter(|component| !matches!(*component, "" | "."))
        .collect();
    (!components.contains(&"..")).then(|| components.join("/"))
}

/// Where a link leads within the tar.
fn resolved(link: &str, target: &str, from_root: bool) -> String {
    let mut components: Vec<&str> = match link.rsplit_once('/') {
        Some((directory, _)) if !from_root && !target.starts_with('/') => directory.split('/').collect(),
        _ => Vec::new(),
    };
    for component in target.split('/') {
        match component {
            "" | "." => {}
            ".." => {
                components.pop();
            }
            _ => components.push(component),
        }
    }
    components.join("/")
}

fn has_extension(name: &str, extension: &str) -> bool {
    Path::new(name)
        .extension()
        .is_some_and(|found| found == extension)
}

fn copy_exactly(
    path: &Path,
    content: &mut dyn Read,
    into: &mut impl Write,
    size: u64,
) -> Result<(), LayoutError> {
    let copied = io::copy(content, into).map_err(|error| read_error(path, error))?;
    if copied == size {
        return Ok(());
    }
    Err(LayoutError::Read {
        path: path.to_path_buf(),
        source: io::Error::new(io::ErrorKind::UnexpectedEof, "it ends in the middle of a file"),
    })
}

fn read_error(path: &Path, error: io::Error) -> LayoutError {
    let error = match error.downcast::<ContentError>() {
        Ok(content) => return LayoutError::Content(content),
        Err(error) => error,
    };
    match error.downcast::<TooLong>() {
        Ok(TooLong) => LayoutError::TooBig {
            path: path.to_path_buf(),
            what: "more bytes",
            limit: MAX_ARCHIVE_BYTES,
        },
        Err(source) => LayoutError::Read {
            path: path.to_path_buf(),
            source,
        },
    }
}

type Source<R> = BufReader<Chain<Cursor<Vec<u8>>, R>>;

/// A tar that may be packed.
#[expect(clippy::large_enum_variant, reason = "few live at a time, each for a moment")]
enum Unpacked<R: Read> {
    Plain(Source<R>),
    Gzip(MultiGzDecoder<Source<R>>),
    Zstd(zstd::Decoder<'static, Source<R>>),
}

impl<R: Read> Unpacked<R> {
    fn new(mut stream: R) -> io::Result<Self> {
        let mut magic = Vec::new();
        (&mut stream).take(4).read_to_end(&mut magic)?;
        let kind = magic.clone();
        let source = BufReader::with_capacity(64 << 10, Cursor::new(magic).chain(stream));
        Ok(match &kind[..] {
            [0x1f, 0x8b, ..] => Self::Gzip(MultiGzDecoder::new(source)),
            [0x28, 0xb5, 0x2f, 0xfd] => Self::Zstd(zstd::Decoder::with_buffer(source)?),
            _ => Self::Plain(source),
        })
    }
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(source) => source.read(buffer),
            Self::Gzip(decoder) => decoder.read(buffer),
            Self::Zstd(decoder) => decoder.read(buffer),
        }
    }
}

/// Ends with an error when there is more than a tar of images has.
struct Counted<R> {
    inner: R,
    left: u64,
}

#[derive(Debug, thiserror::Error)]
#[error("it is too long")]
struct TooLong;

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.left = self
            .left
            .checked_sub(read as u64)
            .ok_or_else(|| io::Error::other(TooLong))?;
        Ok(read)
    }
}
