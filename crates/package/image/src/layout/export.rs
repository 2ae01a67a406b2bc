//! Writing layouts.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

use flate2::GzBuilder;
use oci_spec::image::{Descriptor, ImageIndex, ImageIndexBuilder, MediaType, SCHEMA_VERSION};
use tar::{EntryType, Header};

use super::{LayoutError, NamedImage, REF_NAME};
use crate::content::{ContentStore, Pin};
use crate::digest::Digest;
use crate::layer::Compression;
use crate::manifest::{MAX_DOCUMENT_BYTES, ManifestError, digest_of, parts};

/// The file that says that a directory is a layout.
const LAYOUT_FILE: &str = r#"{"imageLayoutVersion":"1.0.0"}"#;

/// The level of zstd for tars: its own default.
const ZSTD_LEVEL: i32 = 3;

/// Writes images to a layout directory, beside the images that are there already; one with the same name is replaced.
///
/// `index.json` comes last and in one step, so that whoever reads the directory sees whole images at any time.
pub fn export_directory(
    store: &ContentStore,
    images: &[NamedImage],
    directory: &Path,
) -> Result<(), LayoutError> {
    let (blobs, _pins) = all_parts(store, images)?;
    let failed = |path: &Path| {
        let path = path.to_path_buf();
        move |source| LayoutError::Write { path, source }
    };
    let folder = directory.join("blobs/sha256");
    fs::create_dir_all(&folder).map_err(failed(&folder))?;
    for (digest, size) in blobs {
        let path = folder.join(digest.hex());
        let is_there = fs::metadata(&path).is_ok_and(|metadata| metadata.is_file() && metadata.len() == size);
        if !is_there {
            let mut blob = store.open_verified(&digest)?;
            write_in_one_step(&path, |file| {
                io::copy(&mut blob, file)?;
                Ok(())
            })?;
        }
    }
    let index_path = directory.join("index.json");
    let present = match File::open(&index_path) {
        Ok(file) => read_index(&index_path, file)?.manifests().clone(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(source) => {
            return Err(LayoutError::Read {
                path: index_path,
                source,
            });
        }
    };
    let name = |descriptor: &Descriptor| descriptor.annotations().as_ref()?.get(REF_NAME).cloned();
    let new = index_entries(images);
    let mut entries: Vec<_> = present
        .into_iter()
        .filter(|old| {
            let same_name = |new: &Descriptor| match (name(old), name(new)) {
                (None, None) => old.digest() == new.digest(),
                (old, new) => old == new,
            };
            !new.iter().any(same_name)
        })
        .collect();
    entries.extend(new);
    write_in_one_step(&directory.join("oci-layout"), |file| {
        file.write_all(LAYOUT_FILE.as_bytes())
    })?;
    let index = index_document(entries).map_err(failed(&index_path))?;
    write_in_one_step(&index_path, |file| file.write_all(&index))
}

/// Writes images to a file as the tar of a layout; the file appears when it is whole.
pub fn export_tar(
    store: &ContentStore,
    images: &[NamedImage],
    path: &Path,
    compression: Compression,
) -> Result<(), LayoutError> {
    let parts = Archive::new(store, images)?;
    write_in_one_step(path, |file| {
        match compression {
            Compression::None => parts.write(file)?,
            Compression::Gzip => {
                let mut packed = GzBuilder::new()
                    .mtime(0)
                    .operating_system(255)
                    .write(file, flate2::Compression::default());
                parts.write(&mut packed)?;
                packed.finish()?;
            }
            Compression::Zstd => {
                let mut packed = zstd::Encoder::new(file, ZSTD_LEVEL)?;
                parts.write(&mut packed)?;
                packed.finish()?;
            }
        }
        Ok(())
    })
}

/// Writes images to a stream as the tar of a layout.
pub fn write_tar(
    store: &ContentStore,
    images: &[NamedImage],
    stream: &mut dyn Write,
) -> Result<(), LayoutError> {
    Archive::new(store, images)?
        .write(stream)
        .map_err(|error| write_error(Path::new("the tar"), error))
}

/// The parts of a layout's tar.
struct Archive<'a> {
    store: &'a ContentStore,
    index: Vec<u8>,
    blobs: BTreeMap<Digest, u64>,
    _pins: Vec<Pin>,
}

impl<'a> Archive<'a> {
    fn new(store: &'a ContentStore, images: &[NamedImage]) -> Result<Self, LayoutError> {
        let (blobs, pins) = all_parts(store, images)?;
        let index = index_document(index_entries(images)).map_err(|source| LayoutError::Write {
            path: "index.json".into(),
            source,
        })?;
        Ok(Self {
            store,
            index,
            blobs,
            _pins: pins,
        })
    }

    fn write(&self, stream: &mut dyn Write) -> io::Result<()> {
        let mut tar = tar::Builder::new(stream);
        append(
            &mut tar,
            "oci-layout",
            LAYOUT_FILE.len() as u64,
            LAYOUT_FILE.as_bytes(),
        )?;
        append(&mut tar, "index.json", self.index.len() as u64, &self.index[..])?;
        for directory in ["blobs/", "blobs/sha256/"] {
            append(&mut tar, directory, 0, io::empty())?;
        }
        for (digest, size) in &self.blobs {
            let mut blob = self.store.open_verified(digest)?;
            append(
                &mut tar,
                &format!("blobs/sha256/{}", digest.hex()),
                *size,
                (&mut blob).take(*size),
            )?;
            blob.finish()?;
        }
        tar.finish()
    }
}

fn append(
    tar: &mut tar::Builder<&mut dyn Write>,
    name: &str,
    size: u64,
    content: impl Read,
) -> io::Result<()> {
    let mut header = Header::new_ustar();
    let is_directory = name.ends_with('/');
    header.set_entry_type(if is_directory {
        EntryType::Directory
    } else {
        EntryType::Regular
    });
    header.set_mode(if is_directory { 0o755 } else { 0o644 });
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_size(size);
    tar.append_data(&mut header, name, content)
}

/// Everything that the images consist of, with its size, kept from being evicted.
fn all_parts(
    store: &ContentStore,
    images: &[NamedImage],
) -> Result<(BTreeMap<Digest, u64>, Vec<Pin>), LayoutError> {
    let mut blobs = BTreeMap::new();
    let mut pins = Vec::new();
    for image in images {
        for part in parts(store, &image.descriptor)? {
            let digest = digest_of(&part)?;
            pins.push(store.pin(&digest)?);
            let size = store.size(&digest).ok_or_else(|| {
                ManifestError::Content(crate::content::ContentError::Missing {
                    store: store.root().to_path_buf(),
                    digest,
                })
            })?;
            blobs.insert(digest, size);
        }
    }
    Ok((blobs, pins))
}

fn index_entries(images: &[NamedImage]) -> Vec<Descriptor> {
    images
        .iter()
        .map(|image| {
            let mut descriptor = image.descriptor.clone();
            if let Some(name) = &image.name {
                let mut annotations = descriptor.annotations().clone().unwrap_or_default();
                annotations.insert(REF_NAME.to_owned(), name.clone());
                descriptor.set_annotations(Some(annotations));
            }
            descriptor
        })
        .collect()
}

fn index_document(entries: Vec<Descriptor>) -> io::Result<Vec<u8>> {
    let index = ImageIndexBuilder::default()
        .schema_version(SCHEMA_VERSION)
        .media_type(MediaType::ImageIndex)
        .manifests(entries)
        .build()
        .map_err(io::Error::other)?;
    // By way of a value, whose maps are sorted.
    let value = serde_json::to_value(&index)?;
    Ok(serde_json::to_vec(&value)?)
}

pub(super) fn read_index(path: &Path, file: impl Read) -> Result<ImageIndex, LayoutError> {
    let mut bytes = Vec::new();
    let read = file.take(MAX_DOCUMENT_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|source| LayoutError::Read {
        path: path.to_path_buf(),
        source,
    })?;
    let unusable = |cause: String| LayoutError::NotALayout {
        path: path.to_path_buf(),
        cause,
    };
    if bytes.len() as u64 > MAX_DOCUMENT_BYTES {
        return Err(unusable(format!(
            "index.json is longer than {MAX_DOCUMENT_BYTES} bytes"
        )));
    }
    serde_json::from_slice(&bytes).map_err(|error| unusable(format!("index.json can't be read: {error}")))
}

/// Writes a file beside its path and moves it there when it is whole and on disk.
fn write_in_one_step(path: &Path, fill: impl FnOnce(&mut File) -> io::Result<()>) -> Result<(), LayoutError> {
    let parent = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let written = tempfile::Builder::new()
        .prefix(".baton-")
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))
        .tempfile_in(parent)
        .and_then(|mut file| {
            fill(file.as_file_mut())?;
            file.as_file().sync_all()?;
            file.persist(path).map_err(|error| error.error)?;
            File::open(parent)?.sync_all()
        });
    written.map_err(|error| write_error(path, error))
}

fn write_error(path: &Path, error: io::Error) -> LayoutError {
    match error.downcast() {
        Ok(content) => LayoutError::Content(content),
        Err(source) => LayoutError::Write {
            path: path.to_path_buf(),
            source,
        },
    }
}
