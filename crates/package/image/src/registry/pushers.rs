//! Who pushed what: asked by those who run programs from here, and found out for folders from before it was noted.

use std::io;
use std::path::Path;

use oci_spec::image::ImageIndex;
use serde_json::Value;

use super::content_digest::ContentDigest;
use super::durable;
use super::layout::Layout;
use super::manifest::{Manifest, Role};
use super::names::{ManifestReference, RepositoryName};
use super::store::{Store, StoreError};
use super::{Registry, RegistryError};
use crate::digest::Digest;
use crate::manifest::{host_architecture, select_platform};

/// The largest configuration of an image that is read for its labels.
const MAX_CONFIGURATION_BYTES: u64 = 4 << 20;

/// How many manifests of an index are looked at: images have one for each platform, and one that says how it was built.
const MAX_MANIFESTS: usize = 100;

impl Registry {
    /// Who pushed a manifest into a repository, by the name that was logged in with; `None` where nobody had to log in, or there
    /// is no such manifest. Blocks.
    pub fn pusher(&self, repository: &str, digest: &Digest) -> Result<Option<String>, RegistryError> {
        let Some((repository, digest)) = named(repository, digest) else {
            return Ok(None);
        };
        self.0.store.pusher(&repository, &digest).map_err(unreadable)
    }

    /// Whether an image, or one of an index, has a label. Blocks.
    pub fn has_label(&self, repository: &str, digest: &Digest, label: &str) -> Result<bool, RegistryError> {
        let Some((repository, digest)) = named(repository, digest) else {
            return Ok(false);
        };
        has_label(&self.0.store, &repository, &digest, label).map_err(unreadable)
    }
}

fn named(repository: &str, digest: &Digest) -> Option<(RepositoryName, ContentDigest)> {
    Some((
        RepositoryName::parse(repository).ok()?,
        digest.to_string().parse().ok()?,
    ))
}

fn unreadable(error: StoreError) -> RegistryError {
    RegistryError::Read(error.to_string())
}

fn has_label(
    store: &Store,
    repository: &RepositoryName,
    digest: &ContentDigest,
    label: &str,
) -> Result<bool, StoreError> {
    let Some(root) = store.parsed_manifest(repository, digest)? else {
        return Ok(false);
    };
    let mut images = vec![root];
    for digest in digests(&images[0], Role::Manifest)
        .take(MAX_MANIFESTS)
        .collect::<Vec<_>>()
    {
        images.extend(store.parsed_manifest(repository, &digest)?);
    }
    for config in images.iter().flat_map(|image| digests(image, Role::Config)) {
        let Some(blob) = store.blob(repository, &config)? else {
            continue;
        };
        // What isn't the configuration of an image has no labels.
        let read = io::Read::take(blob.file, MAX_CONFIGURATION_BYTES);
        let config: Value = serde_json::from_reader(io::BufReader::new(read)).unwrap_or_default();
        if config["config"]["Labels"].get(label).is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

fn digests(manifest: &Manifest, wanted: Role) -> impl Iterator<Item = ContentDigest> {
    manifest
        .parts()
        .filter(move |(role, _)| *role == wanted)
        .map(|(_, part)| part.digest.clone())
}

/// Notes who pushed the images of a registry's folder that nobody serves: `name`, as far as `is_his` says so. An index is his when
/// the image is that this machine runs: it never looked at the others.
///
/// Folders from before pushers were noted are brought along with this.
pub fn note_pusher(folder: &Path, name: &str, is_his: impl Fn(&Digest) -> bool) -> io::Result<()> {
    let layout = Layout::new(folder);
    if !layout.version().is_file() {
        return Ok(());
    }
    durable::create_folders(&layout.temporary())?;
    let store = Store::new(layout, false);
    let is_known = |digest: &ContentDigest| {
        digest
            .to_string()
            .parse::<Digest>()
            .is_ok_and(|digest| is_his(&digest))
    };
    for repository in store.all_repositories().map_err(io::Error::other)? {
        for digest in store.manifests(&repository).map_err(io::Error::other)? {
            let run = image_run_here(&store, &repository, &digest);
            if is_known(&digest) || run.is_some_and(|image| is_known(&image)) {
                let record = store.layout.pusher(&repository, &digest);
                durable::replace(&store.layout.temporary(), &record, name.as_bytes())?;
            }
        }
    }
    Ok(())
}

/// The image of an index that is run on this machine; none of what can't be read.
fn image_run_here(
    store: &Store,
    repository: &RepositoryName,
    digest: &ContentDigest,
) -> Option<ContentDigest> {
    let reference = ManifestReference::Digest(digest.clone());
    let stored = store.manifest(repository, &reference).ok()??;
    let index: ImageIndex = serde_json::from_slice(&stored.bytes).ok()?;
    let image = select_platform(&index, host_architecture()).ok()?;
    image.digest().to_string().parse().ok()
}
