//! The objects of a file-based catalog, with the fields that upstream's have, in the order in which they are written.

mod go_types;
mod nilable;
pub mod properties;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

pub use nilable::NilableList;

/// A whole catalog, its objects sorted by kind but otherwise in the order in which they were read.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    /// `olm.package` objects.
    pub packages: Vec<Package>,
    /// `olm.channel` objects.
    pub channels: Vec<Channel>,
    /// `olm.bundle` objects.
    pub bundles: Vec<Bundle>,
    /// `olm.deprecations` objects.
    pub deprecations: Vec<Deprecations>,
    /// Objects of every other schema, kept as they are.
    pub others: Vec<Meta>,
}

/// One object of a catalog in its canonical form, and the three fields it is found by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meta {
    /// What kind of object this is, such as `olm.bundle`.
    pub schema: String,
    /// The package it belongs to; empty at the root of a catalog, and for `olm.package` objects themselves.
    pub package: String,
    /// Its name; empty for objects that have none.
    pub name: String,
    /// The object as compact JSON with sorted keys, without the final newline.
    pub blob: Box<[u8]>,
}

/// `olm.package`: an operator.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Package {
    /// The operator's name.
    pub name: String,
    /// The channel that is used when none is asked for; written even when it is empty.
    pub default_channel: String,
    /// The operator's picture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icon: Option<Icon>,
    /// What the operator is for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Further properties.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub properties: Vec<Property>,
}

/// A picture inside a catalog.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Icon {
    /// The picture's bytes in base64, as written. See [`Icon::has_data`].
    #[serde(rename = "base64data", serialize_with = "null_without_data")]
    pub data: String,
    /// Its type, such as `image/svg+xml`.
    #[serde(rename = "mediatype")]
    pub media_type: String,
}

/// Stands for the data of a picture that has none: text that is not base64.
const WITHOUT_DATA: &str = "\0";

impl Icon {
    /// Whether the picture's bytes were given, be it none; if not, they are written as `null`.
    #[must_use]
    pub fn has_data(&self) -> bool {
        self.data != WITHOUT_DATA
    }
}

fn null_without_data<S: serde::Serializer>(data: &str, serializer: S) -> Result<S::Ok, S::Error> {
    if data == WITHOUT_DATA {
        return serializer.serialize_unit();
    }
    serializer.serialize_str(data)
}

/// `olm.channel`: versions of an operator and how they follow each other.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Channel {
    /// The channel's name.
    pub name: String,
    /// The package it belongs to.
    pub package: String,
    /// The versions; `None` is written as `null`, as upstream does for a channel without the field.
    pub entries: Option<Vec<ChannelEntry>>,
    /// Further properties.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub properties: Vec<Property>,
}

/// One version in a channel.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ChannelEntry {
    /// The bundle's name.
    pub name: String,
    /// The version that this one follows.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub replaces: String,
    /// Versions that this one follows too, and that are not installed any more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skips: Vec<String>,
    /// A range of versions that this one follows.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub skip_range: String,
}

/// `olm.bundle`: one version of an operator.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Bundle {
    /// The bundle's name, which is that of its `ClusterServiceVersion`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The package it belongs to.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub package: String,
    /// The bundle image; written even when it is empty.
    pub image: String,
    /// What is known of the bundle.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub properties: Vec<Property>,
    /// Every image the operator needs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub related_images: Vec<RelatedImage>,
}

/// A statement about a bundle, a channel or a package, whose type says how to read its value.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Property {
    /// The property's type, such as `olm.package`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The value as it was written; keys keep the order in which they stand. See [`Property::has_value`].
    #[serde(serialize_with = "null_without_value")]
    pub value: Box<RawValue>,
}

/// Stands for the value of a property that has none: a number that Go never reads, so that no real value looks so.
const WITHOUT_VALUE: &str = "1e999";

impl Default for Property {
    fn default() -> Self {
        Self {
            kind: String::new(),
            value: raw(WITHOUT_VALUE),
        }
    }
}

impl Property {
    /// Whether the property has a value; one without is written with `null`, and is not valid.
    #[must_use]
    pub fn has_value(&self) -> bool {
        self.value.get() != WITHOUT_VALUE
    }
}

/// Takes text that is JSON as it is; other text, which would be a defect, becomes null.
pub(crate) fn raw(json: impl Into<String>) -> Box<RawValue> {
    RawValue::from_string(json.into()).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

fn null_without_value<S: serde::Serializer>(value: &RawValue, serializer: S) -> Result<S::Ok, S::Error> {
    if value.get() == WITHOUT_VALUE {
        return serializer.serialize_unit();
    }
    value.serialize(serializer)
}

/// An image that an operator needs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RelatedImage {
    /// What the image is called in the `ClusterServiceVersion`; often empty, and written even then.
    pub name: String,
    /// The image.
    pub image: String,
}

/// `olm.deprecations`: what of a package should not be used any more.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Deprecations {
    /// The package.
    pub package: String,
    /// What is deprecated, and why.
    pub entries: NilableList<Deprecation>,
}

/// One deprecated thing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Deprecation {
    /// What is deprecated.
    pub reference: DeprecationReference,
    /// What users should know.
    pub message: String,
}

/// Names a package, a channel or a bundle of the package that the deprecations belong to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct DeprecationReference {
    /// `olm.package`, `olm.channel` or `olm.bundle`.
    pub schema: String,
    /// The channel or bundle; empty for the package itself.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
}
