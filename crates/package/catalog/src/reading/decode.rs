//! Objects out of their canonical form, with Go's errors for fields that do not fit.

use base64::Engine as _;
use gotemplate::format::quoted;
use goyaml::typed;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::objects::properties::{BUNDLE_OBJECT, BundleObject, decode};
use crate::objects::{Bundle, Channel, Deprecations, Package, Property, RelatedImage};

/// The schema of packages.
pub(crate) const PACKAGE: &str = "olm.package";
/// The schema of channels.
pub(crate) const CHANNEL: &str = "olm.channel";
/// The schema of bundles.
pub(crate) const BUNDLE: &str = "olm.bundle";
/// The schema of deprecations.
pub(crate) const DEPRECATIONS: &str = "olm.deprecations";

/// The words for an object that does not say what it is.
pub(crate) fn missing_schema(blob: &[u8]) -> String {
    let end = if blob.is_empty() { "" } else { "\n" };
    format!(
        "object '{}{end}' is missing root schema field",
        String::from_utf8_lossy(blob)
    )
}

/// Reads an `olm.package`.
pub(crate) fn package(blob: &[u8]) -> Result<Package, String> {
    decode(blob).map_err(|error| format!("parse package: {error}"))
}

/// Reads an `olm.channel`.
pub(crate) fn channel(blob: &[u8]) -> Result<Channel, String> {
    decode(blob).map_err(|error| format!("parse channel: {error}"))
}

/// Reads an `olm.deprecations`.
pub(crate) fn deprecations(blob: &[u8]) -> Result<Deprecations, String> {
    decode(blob).map_err(|error| format!("parse deprecation: {error}"))
}

/// Reads an `olm.bundle`, and checks the manifests in it.
pub(crate) fn bundle(blob: &[u8]) -> Result<Bundle, String> {
    let bundle = match serde_json::from_slice::<PlainBundle>(blob) {
        Ok(plain) => plain.into_bundle(),
        Err(_) => decode(blob).map_err(|error| format!("parse bundle: {error}"))?,
    };
    for (index, property) in bundle.properties.iter().enumerate() {
        if property.kind == BUNDLE_OBJECT {
            let value = property.has_value().then(|| property.value.get().as_bytes());
            check_bundle_object(value).map_err(|error| {
                let Bundle { package, name, .. } = &bundle;
                error.in_words(package, name, index)
            })?;
        }
    }
    Ok(bundle)
}

/// A bundle without anything unusual, which is nearly every one; what does not fit is read by Go's rules.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct PlainBundle {
    #[serde(rename = "schema")]
    _schema: IgnoredAny,
    #[serde(default)]
    name: String,
    #[serde(default)]
    package: String,
    #[serde(default)]
    image: String,
    #[serde(default)]
    properties: Vec<PlainProperty>,
    #[serde(default)]
    related_images: Vec<PlainImage>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlainProperty {
    r#type: String,
    value: Box<RawValue>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlainImage {
    #[serde(default)]
    name: String,
    #[serde(default)]
    image: String,
}

impl PlainBundle {
    fn into_bundle(self) -> Bundle {
        let property = |PlainProperty { r#type, value }| Property { kind: r#type, value };
        let image = |PlainImage { name, image }| RelatedImage { name, image };
        Bundle {
            name: self.name,
            package: self.package,
            image: self.image,
            properties: self.properties.into_iter().map(property).collect(),
            related_images: self.related_images.into_iter().map(image).collect(),
        }
    }
}

/// What is wrong with a manifest inside of a bundle.
pub(crate) enum BadBundleObject {
    Value(String),
    Manifest(String),
}

impl BadBundleObject {
    /// Upstream's words.
    pub(crate) fn in_words(&self, package: &str, bundle: &str, index: usize) -> String {
        let place = format!("package {}, bundle {}", quoted(package), quoted(bundle));
        match self {
            Self::Value(error) => format!(
                "read bundle objects: {place}: parse property at index {index} as bundle object: {error}"
            ),
            Self::Manifest(error) => format!(
                "read bundle objects: {place}: convert bundle object property at index {index} to JSON: {error}"
            ),
        }
    }
}

/// Checks that a property's value holds a manifest in JSON or YAML.
pub(crate) fn check_bundle_object(value: Option<&[u8]>) -> Result<(), BadBundleObject> {
    let value = value.ok_or_else(|| BadBundleObject::Value(crate::reading::EMPTY_JSON.to_owned()))?;
    if typed::fits::<BundleObject>(value) && starts_as_json(value) {
        return Ok(());
    }
    let object: BundleObject = decode(value).map_err(BadBundleObject::Value)?;
    let data = object.data.0.unwrap_or_default();
    if String::from_utf8_lossy(&data).trim_start().starts_with('{') {
        return Ok(());
    }
    match goyaml::to_value(&data) {
        Ok(_) => Ok(()),
        Err(error) => Err(BadBundleObject::Manifest(error.to_string())),
    }
}

/// Whether base64 data starts with a brace, seen from its first symbols.
fn starts_as_json(value: &[u8]) -> bool {
    let data = typed::skim(value, |skimmer| {
        let mut data = None;
        skimmer.object(|skimmer, key| match key {
            b"data" => {
                data = Some(skimmer.string()?);
                Some(())
            }
            _ => skimmer.skip().map(drop),
        })?;
        data
    });
    data.and_then(|data| data.get(..4))
        .and_then(|first| base64::engine::general_purpose::STANDARD.decode(first).ok())
        .is_some_and(|first| first.first() == Some(&b'{'))
}
