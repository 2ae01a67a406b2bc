//! Which platforms an operator's images are there for, asked of their registries.

use bundle::validation::{ImagePlatforms, Platform};
use image::reference::Reference;
use serde_json::Value;

use crate::images::Images;
use crate::runtime;

/// Asks registries, one image at a time.
pub(crate) struct AskedPlatforms<'i>(pub(crate) &'i Images);

impl ImagePlatforms for AskedPlatforms<'_> {
    fn platforms(&self, image: &str) -> Result<Vec<Platform>, String> {
        let reference = Reference::parse_normalized(image).map_err(|error| error.to_string())?;
        let asked = runtime::block_on(async { Ok(self.0.remote()?.manifest(&reference).await?) });
        let (_, bytes) = asked.map_err(crate::failure::Failure::text)?;
        let manifest: Value = serde_json::from_slice(&bytes).map_err(|error| format!("{image}: {error}"))?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let images = manifest["manifests"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|image| &image["platform"]);
        let platform = |platform: &Value| Platform {
            system: text(&platform["os"]),
            architecture: text(&platform["architecture"]),
        };
        Ok(images
            .filter(|platform| platform.is_object())
            .map(platform)
            .collect())
    }
}
