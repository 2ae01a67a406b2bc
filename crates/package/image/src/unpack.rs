//! The files of an image: layers applied one on another, with whiteouts, path safety and size caps.
//!
//! Layers are applied to a tree in memory, in which paths and links are resolved without asking the file system. Only
//! the finished tree is written out, links last: whatever an image's entries are called, nothing is written through a
//! link or outside the target.

mod configuration;
mod directory;
mod entries;
mod error;
mod layer_reader;
mod tree;

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use oci_spec::image::{Descriptor, ImageManifest};

use crate::content::{ContentError, ContentStore};
use crate::digest::Digest;
use crate::manifest::{self, Manifest};
use configuration::Configuration;
use entries::{Entries, Entry, What};
use layer_reader::LayerReader;
use tree::{Kind, Tree};

pub use crate::manifest::select_platform;
pub use error::{EntryProblem, UnpackError};

/// How many bytes of files are held in memory: several times the biggest public catalog, and what a small machine has.
pub const MAX_BYTES_IN_MEMORY: u64 = 512 << 20;
/// How big one file in memory may be: the YAML reader takes no more either.
pub const MAX_FILE_BYTES_IN_MEMORY: u64 = 256 << 20;
/// How many bytes of files are written to a directory: more than any operator image has.
pub const MAX_BYTES_ON_DISK: u64 = 16 << 30;
/// How big one file in a directory may be: more than any program is.
pub const MAX_FILE_BYTES_ON_DISK: u64 = 4 << 30;
/// How many bytes the layers of an image may have in all, with what is skipped: the time for it is spent anyway.
pub const MAX_LAYER_BYTES: u64 = 32 << 30;
/// How many entries the layers of an image may have: an operating system's image has a tenth.
pub const MAX_ENTRIES: u64 = 500_000;
/// How many times its packed size a layer may unpack to: text reaches a twentieth of that, a decompression bomb a
/// thousand times and more.
pub const MAX_COMPRESSION_RATIO: u64 = 250;
/// Up to how many bytes the ratio doesn't matter: a small layer of zeros harms nobody.
pub const RATIO_FREE_BYTES: u64 = 32 << 20;
/// How many layers an image may have: container runtimes can't mount more than a quarter of that.
pub const MAX_LAYERS: usize = 512;

/// Up to which size an image is unpacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of all files that are kept, counting those that a later layer removes.
    pub total_bytes: u64,
    /// Bytes of one file.
    pub file_bytes: u64,
    /// Bytes of all layers, unpacked.
    pub layer_bytes: u64,
    /// Entries of all layers.
    pub entries: u64,
    /// How many times its packed size a layer may unpack to.
    pub compression_ratio: u64,
}

impl Limits {
    /// For files that are held in memory: bundles and catalogs.
    pub const IN_MEMORY: Self = Self {
        total_bytes: MAX_BYTES_IN_MEMORY,
        file_bytes: MAX_FILE_BYTES_IN_MEMORY,
        ..Self::ON_DISK
    };

    /// For files that are written to a directory.
    pub const ON_DISK: Self = Self {
        total_bytes: MAX_BYTES_ON_DISK,
        file_bytes: MAX_FILE_BYTES_ON_DISK,
        layer_bytes: MAX_LAYER_BYTES,
        entries: MAX_ENTRIES,
        compression_ratio: MAX_COMPRESSION_RATIO,
    };
}

/// Files of an image, in memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImageFiles {
    /// The content of each file by its path, which is relative to the image's root. A link to a file counts as one.
    pub files: BTreeMap<String, Vec<u8>>,
    /// The labels of the image.
    pub labels: BTreeMap<String, String>,
    /// Links that lead to no file among these.
    pub unresolved_links: Vec<String>,
}

/// Reads the files of an image that lie at or below one of the `prefixes`, or all when there are none.
///
/// An index stands for its image for this machine's architecture.
pub fn files(
    store: &ContentStore,
    manifest: &Descriptor,
    prefixes: &[&str],
    limits: &Limits,
) -> Result<ImageFiles, UnpackError> {
    let image = image_manifest(store, manifest)?;
    let configuration = Configuration::read(store, &image)?;
    let filter = Filter::new(prefixes);
    let tree = apply(store, &image, &configuration, &filter, limits, &mut InMemory)?;
    let mut found = ImageFiles {
        labels: configuration.labels(),
        ..ImageFiles::default()
    };
    let mut total = 0_u64;
    for (path, node) in tree.nodes() {
        let content = match &node.kind {
            _ if !filter.wants(path) => continue,
            Kind::Directory => continue,
            Kind::File(content) => content,
            Kind::Symlink(_) => {
                let Some(Kind::File(content)) = tree.follow(path) else {
                    found.unresolved_links.push(path.clone());
                    continue;
                };
                content
            }
        };
        // Links multiply what was counted only once while it was read.
        total = total.saturating_add(content.len() as u64);
        if total > limits.total_bytes {
            return Err(UnpackError::TooBig {
                what: "files and links",
                limit: limits.total_bytes,
            });
        }
        found.files.insert(path.clone(), Vec::clone(content));
    }
    Ok(found)
}

/// Writes the files of an image that lie at or below one of the `prefixes`, or all when there are none, to `target`.
///
/// The target must not exist, or be an empty directory. It appears when everything is in it: whatever fails, there is
/// either the whole content or nothing. Owners are not taken over; modes are, but the owner may always read and write.
pub fn to_directory(
    store: &ContentStore,
    manifest: &Descriptor,
    target: &Path,
    prefixes: &[&str],
    limits: &Limits,
) -> Result<(), UnpackError> {
    let image = image_manifest(store, manifest)?;
    let configuration = Configuration::read(store, &image)?;
    let filter = Filter::new(prefixes);
    let mut workplace = directory::Workplace::beside(target)?;
    let tree = apply(store, &image, &configuration, &filter, limits, &mut workplace)?;
    workplace.publish(&tree, &filter)
}

/// The labels of an image; an index stands for its image for this machine's architecture.
pub fn labels(store: &ContentStore, manifest: &Descriptor) -> Result<BTreeMap<String, String>, UnpackError> {
    let image = image_manifest(store, manifest)?;
    Ok(Configuration::read(store, &image)?.labels())
}

fn image_manifest(store: &ContentStore, descriptor: &Descriptor) -> Result<ImageManifest, UnpackError> {
    let mut read = Manifest::read(store, descriptor)?;
    if let Manifest::Index(index) = &read {
        let image = select_platform(index, manifest::host_architecture())?;
        read = Manifest::read(store, &image)?;
    }
    match read {
        Manifest::Image(image) => Ok(image),
        Manifest::Index(_) => Err(UnpackError::NestedIndex {
            digest: manifest::digest_of(descriptor)?,
        }),
    }
}

/// Where the content of files is kept while the layers are applied.
trait Keep {
    /// Stands for the content of one file; hard links share it.
    type Content: Clone;

    /// Keeps the content of a file that says that it has `size` bytes, and reads that many.
    fn keep(&mut self, size: u64, content: &mut dyn Read) -> io::Result<Self::Content>;
}

struct InMemory;

impl Keep for InMemory {
    type Content = Arc<Vec<u8>>;

    fn keep(&mut self, size: u64, content: &mut dyn Read) -> io::Result<Self::Content> {
        // The size that a header says is not believed before the bytes have come.
        let mut bytes = Vec::new();
        content.read_to_end(&mut bytes)?;
        if bytes.len() as u64 != size {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes.shrink_to_fit();
        Ok(Arc::new(bytes))
    }
}

/// Which paths of an image are wanted.
struct Filter {
    prefixes: Vec<String>,
}

impl Filter {
    fn new(prefixes: &[&str]) -> Self {
        let normal = |prefix: &&str| {
            let components: Vec<_> = prefix
                .split('/')
                .filter(|component| !matches!(*component, "" | "."))
                .collect();
            components.join("/")
        };
        let prefixes: Vec<_> = prefixes.iter().map(normal).collect();
        // The root is a prefix of everything.
        let everything = prefixes.iter().any(String::is_empty);
        Self {
            prefixes: if everything { Vec::new() } else { prefixes },
        }
    }

    fn wants(&self, path: &str) -> bool {
        self.prefixes.is_empty() || self.prefixes.iter().any(|prefix| is_at_or_below(path, prefix))
    }

    /// Returns whether what happens to `path` can change which files are wanted.
    fn concerns(&self, path: &str) -> bool {
        self.wants(path) || self.prefixes.iter().any(|prefix| is_at_or_below(prefix, path))
    }
}

fn is_at_or_below(path: &str, directory: &str) -> bool {
    directory.is_empty()
        || path
            .strip_prefix(directory)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn apply<K: Keep>(
    store: &ContentStore,
    image: &ImageManifest,
    configuration: &Configuration,
    filter: &Filter,
    limits: &Limits,
    keeper: &mut K,
) -> Result<Tree<K::Content>, UnpackError> {
    let mut application = Application {
        store,
        filter,
        limits,
        left: *limits,
        tree: Tree::new(),
        keeper,
    };
    for (number, (layer, diff_id)) in image.layers().iter().zip(&configuration.diff_ids).enumerate() {
        let digest = manifest::digest_of(layer)?;
        application.tree.start_layer(number);
        application.layer(&digest, diff_id).map_err(|error| {
            // A damaged blob mostly fails as a broken tar, long before its end and so before its digest is known. Who
            // published the image is to blame only when the blob is what was published.
            match store.verify(&digest) {
                Err(damaged @ ContentError::Damaged { .. }) => UnpackError::Content(damaged),
                _ => error,
            }
        })?;
    }
    Ok(application.tree)
}

/// Layers while they are applied one on another.
struct Application<'a, K: Keep> {
    store: &'a ContentStore,
    filter: &'a Filter,
    limits: &'a Limits,
    /// What the layers that are still to come may use of the limits.
    left: Limits,
    tree: Tree<K::Content>,
    keeper: &'a mut K,
}

impl<K: Keep> Application<'_, K> {
    fn layer(&mut self, digest: &Digest, diff_id: &Digest) -> Result<(), UnpackError> {
        let reader = LayerReader::open(self.store, digest, self.limits, self.left.layer_bytes)?;
        let mut entries = Entries::new(*digest, reader, self.limits, self.left.entries);
        entries.for_each(|entry, content| self.entry(entry, content))?;
        (self.left.entries, self.left.layer_bytes) = entries.finish(diff_id)?;
        Ok(())
    }

    fn entry(&mut self, entry: Entry, content: &mut dyn Read) -> Result<(), EntryProblem> {
        if !self.filter.concerns(&entry.path) {
            return Ok(());
        }
        let tree = &mut self.tree;
        match entry.what {
            What::Directory => tree.place(&entry.path, Kind::Directory, entry.mode),
            What::Symlink(target) => tree.place(&entry.path, Kind::Symlink(target), entry.mode),
            What::HardLink(target) => tree.link(&entry.path, &target),
            What::Removed => tree.remove_lower(&entry.path),
            What::Emptied => tree.empty_lower(&entry.path),
            What::File { size } => {
                let limit = self.limits.file_bytes;
                if size > limit {
                    return Err(EntryProblem::TooBig { size, limit });
                }
                let left = self.left.total_bytes.checked_sub(size);
                self.left.total_bytes = left.ok_or(EntryProblem::TotalTooBig {
                    limit: self.limits.total_bytes,
                })?;
                let kept = self.keeper.keep(size, content).map_err(EntryProblem::Stream)?;
                tree.place(&entry.path, Kind::File(kept), entry.mode)
            }
        }
    }
}

#[cfg(test)]
mod tests;
