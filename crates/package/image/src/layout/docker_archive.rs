//! What `docker save` wrote before it wrote layouts: a `manifest.json` that names a configuration and plain layers.

use std::io::Read;
use std::path::Path;

use oci_spec::image::{ImageManifestBuilder, MediaType, SCHEMA_VERSION};
use serde::Deserialize;

use super::{LayoutError, NamedImage};
use crate::content::{ContentStore, Pin};
use crate::digest::Digest;
use crate::manifest::descriptor;

/// A file of the tar that is in the content store now.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stored {
    pub(super) digest: Digest,
    pub(super) size: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct SavedImage {
    config: String,
    repo_tags: Option<Vec<String>>,
    layers: Option<Vec<String>>,
}

/// Makes OCI images of what `manifest.json` names; `find` knows the tar's files by their names.
///
/// An image with several names comes once for each.
pub(super) fn images(
    store: &ContentStore,
    path: &Path,
    manifest: &[u8],
    find: &dyn Fn(&str) -> Option<Stored>,
) -> Result<(Vec<NamedImage>, Vec<Pin>), LayoutError> {
    let unusable = |cause: String| LayoutError::NotALayout {
        path: path.to_path_buf(),
        cause,
    };
    let saved: Vec<SavedImage> = serde_json::from_slice(manifest)
        .map_err(|error| unusable(format!("manifest.json can't be read: {error}")))?;
    let mut images = Vec::new();
    let mut pins = Vec::new();
    for entry in saved {
        let tags = entry.repo_tags.unwrap_or_default();
        let called = tags.first().unwrap_or(&entry.config);
        let stored = |name: &str| {
            find(name).ok_or_else(|| LayoutError::Incomplete {
                path: path.to_path_buf(),
                image: called.clone(),
                part: name.to_owned(),
            })
        };
        let config = stored(&entry.config)?;
        let layers = entry
            .layers
            .unwrap_or_default()
            .iter()
            .map(|name| {
                let layer = stored(name)?;
                Ok(descriptor(layer_type(store, &layer)?, &layer.digest, layer.size))
            })
            .collect::<Result<Vec<_>, LayoutError>>()?;
        let document = ImageManifestBuilder::default()
            .schema_version(SCHEMA_VERSION)
            .media_type(MediaType::ImageManifest)
            .config(descriptor(MediaType::ImageConfig, &config.digest, config.size))
            .layers(layers)
            .build()
            .map_err(|error| unusable(error.to_string()))?;
        let bytes = serde_json::to_value(&document)
            .and_then(|value| serde_json::to_vec(&value))
            .map_err(|error| unusable(error.to_string()))?;
        let digest = Digest::of(&bytes);
        pins.push(store.pin(&digest)?);
        store.insert(&bytes)?;
        let descriptor = descriptor(MediaType::ImageManifest, &digest, bytes.len() as u64);
        let named = |name| NamedImage {
            descriptor: descriptor.clone(),
            name,
        };
        if tags.is_empty() {
            images.push(named(None));
        } else {
            images.extend(tags.into_iter().map(|name| named(Some(name))));
        }
    }
    Ok((images, pins))
}

/// Layers are saved as plain tars, but some tools keep them packed.
fn layer_type(store: &ContentStore, layer: &Stored) -> Result<MediaType, LayoutError> {
    let mut magic = Vec::new();
    let file = store.open_blob(&layer.digest)?;
    file.take(4)
        .read_to_end(&mut magic)
        .map_err(|source| LayoutError::Read {
            path: store.root().to_path_buf(),
            source,
        })?;
    Ok(match &magic[..] {
        [0x1f, 0x8b, ..] => MediaType::ImageLayerGzip,
        [0x28, 0xb5, 0x2f, 0xfd] => MediaType::ImageLayerZstd,
        _ => MediaType::ImageLayer,
    })
}
