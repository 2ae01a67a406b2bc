//! The files of a bundle's `metadata` directory; whatever they are called, their content says what they are.

use bundle::cluster_service_version::RawMessage;
use bundle::files::BundleFiles;
use goyaml::go_struct;
use goyaml::json::Escape;
use goyaml::typed::{Decoding, GoType, decode_with};
use serde_json::Value;

use super::properties::property_list;
use super::{RenderError, TextProperty, json};
use crate::first_document;

/// What `metadata` says of a bundle.
#[derive(Debug)]
pub(super) struct MetadataFiles {
    pub(super) annotations: Annotations,
    pub(super) dependencies: Vec<TextProperty>,
    pub(super) properties: Vec<TextProperty>,
}

/// The annotations that opm reads.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Annotations {
    pub(super) package: String,
    channels: String,
    default_channel: String,
}
go_struct!(Annotations, "registry.Annotations", {
    "operators.operatorframework.io.bundle.package.v1" => package,
    "operators.operatorframework.io.bundle.channels.v1" => channels,
    "operators.operatorframework.io.bundle.channel.default.v1" => default_channel,
});

#[derive(Default)]
struct AnnotationsFile {
    annotations: Annotations,
}
go_struct!(AnnotationsFile, "registry.AnnotationsFile", { "annotations" => annotations });

#[derive(Default)]
struct DependenciesFile {
    dependencies: Vec<ReadProperty>,
}
go_struct!(DependenciesFile, "registry.DependenciesFile", { "dependencies" => dependencies });

#[derive(Default)]
struct PropertiesFile {
    properties: Vec<ReadProperty>,
}
go_struct!(PropertiesFile, "registry.PropertiesFile", { "properties" => properties });

#[derive(Default)]
struct ReadProperty {
    kind: String,
    value: RawMessage,
}
go_struct!(ReadProperty, "registry.Property", { "type" => kind, "value" => value });

/// Reads the files in the order of their names; of each sort the first that says something counts.
pub(super) fn read(files: &BundleFiles) -> Result<MetadataFiles, RenderError> {
    if !files.has_directory("metadata") {
        return Err(RenderError::NoDirectory);
    }
    let mut annotations = None;
    let mut dependencies = Vec::new();
    let mut properties = Vec::new();
    for (name, bytes) in files.below("metadata") {
        if name.contains('/') {
            continue;
        }
        let Some(content) = Content::read(bytes) else {
            continue;
        };
        if annotations.is_none() {
            annotations = content
                .decode::<AnnotationsFile>()
                .map(|file| file.annotations)
                .filter(|found| *found != Annotations::default());
        }
        if dependencies.is_empty()
            && let Some(file) = content.decode::<DependenciesFile>()
        {
            dependencies = content.texts("dependencies", file.dependencies);
        }
        if properties.is_empty()
            && let Some(file) = content.decode::<PropertiesFile>()
        {
            properties = content.texts("properties", file.properties);
        }
    }
    Ok(MetadataFiles {
        annotations: annotations.ok_or(RenderError::NoAnnotations)?,
        dependencies,
        properties,
    })
}

/// A file's first document, and its text where that is JSON.
struct Content<'f> {
    value: Value,
    json: Option<&'f str>,
}

impl<'f> Content<'f> {
    fn read(bytes: &'f [u8]) -> Option<Self> {
        let value =
            first_document::read(bytes, first_document::BUNDLE_SNIFFED_BYTES, Ok::<Value, String>).ok()?;
        let json = first_document::json_text(bytes)
            .filter(|text| text.trim_ascii_start().starts_with(b"{"))
            .and_then(|text| std::str::from_utf8(text).ok());
        Some(Self { value, json })
    }

    fn decode<T: GoType>(&self) -> Option<T> {
        let decoding = Decoding {
            scalars_as_text: self.json.is_none(),
            ..Decoding::default()
        };
        decode_with(&self.value, decoding).ok()
    }

    /// The values as text: that of the file where it is JSON, else what YAML becomes.
    fn texts(&self, list: &str, read: Vec<ReadProperty>) -> Vec<TextProperty> {
        if let Some(text) = self.json {
            return property_list(text, Some(list)).0;
        }
        read.into_iter()
            .map(|property| TextProperty {
                kind: property.kind,
                value: property
                    .value
                    .0
                    .map(|value| json(&value, Escape::Html))
                    .unwrap_or_default(),
            })
            .collect()
    }
}
