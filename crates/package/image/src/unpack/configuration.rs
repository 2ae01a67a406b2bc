//! The configuration of an image, as far as unpacking needs it.

use std::collections::BTreeMap;

use oci_spec::image::ImageManifest;
use serde::Deserialize;

use super::{MAX_LAYERS, UnpackError};
use crate::content::ContentStore;
use crate::digest::Digest;
use crate::manifest::{MAX_DOCUMENT_BYTES, digest_of};

/// What the configuration says of files and labels.
pub(super) struct Configuration {
    /// The digest of each layer, unpacked.
    pub(super) diff_ids: Vec<Digest>,
    labels: BTreeMap<String, Option<String>>,
}

/// Go writes `null` for what is empty, so everything may be missing in two ways.
#[derive(Deserialize)]
struct Document {
    config: Option<Settings>,
    rootfs: Option<Files>,
}

#[derive(Deserialize)]
struct Settings {
    #[serde(rename = "Labels")]
    labels: Option<BTreeMap<String, Option<String>>>,
}

#[derive(Deserialize)]
struct Files {
    diff_ids: Option<Vec<Digest>>,
}

impl Configuration {
    pub(super) fn read(store: &ContentStore, image: &ImageManifest) -> Result<Self, UnpackError> {
        let digest = digest_of(image.config())?;
        let unusable = |cause| UnpackError::Configuration { digest, cause };
        let bytes = store.read(&digest, MAX_DOCUMENT_BYTES)?;
        let document: Document =
            serde_json::from_slice(&bytes).map_err(|error| unusable(error.to_string()))?;
        let diff_ids = document
            .rootfs
            .and_then(|files| files.diff_ids)
            .unwrap_or_default();
        let layers = image.layers().len();
        if diff_ids.len() != layers {
            return Err(unusable(format!(
                "it names {} layers and the manifest {layers}",
                diff_ids.len()
            )));
        }
        if layers > MAX_LAYERS {
            return Err(unusable(format!(
                "it names {layers} layers, more than {MAX_LAYERS}"
            )));
        }
        Ok(Self {
            diff_ids,
            labels: document
                .config
                .and_then(|config| config.labels)
                .unwrap_or_default(),
        })
    }

    pub(super) fn labels(&self) -> BTreeMap<String, String> {
        let labels = self.labels.iter();
        labels
            .map(|(key, value)| (key.clone(), value.clone().unwrap_or_default()))
            .collect()
    }
}
