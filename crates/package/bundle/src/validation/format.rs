//! The form of a bundle as opm checks it: its directories, annotations and dependencies.

use std::collections::BTreeMap;

use gotemplate::format::quoted;
use goyaml::go_struct;
use serde_json::Value;

use super::dependencies::DependenciesFile;
use super::loaded::{Directory, joined};
use super::manifest;
use crate::cluster_service_version;
use crate::files::BundleFiles;

/// The directory of a bundle's objects.
pub(super) const MANIFESTS: &str = "manifests";
/// The directory of what is said about a bundle.
pub(super) const METADATA: &str = "metadata";

/// The annotations of a bundle have this before their names.
const PREFIX: &str = "operators.operatorframework.io.bundle.";
/// The name of the annotation that says where a bundle's objects are.
pub(super) const MANIFESTS_ANNOTATION: &str = "operators.operatorframework.io.bundle.manifests.v1";

/// How a bundle's objects are to be understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MediaType {
    /// A `ClusterServiceVersion` and what belongs to it.
    RegistryV1,
    /// Objects without a `ClusterServiceVersion`.
    Plain,
    /// A chart.
    Helm,
}

impl MediaType {
    /// The value of the annotation for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::RegistryV1 => "registry+v1",
            Self::Plain => "plain",
            Self::Helm => "helm",
        }
    }
}

/// What is read of an annotations file.
#[derive(Debug, Clone, Default)]
pub(super) struct AnnotationsFile {
    pub(super) annotations: Option<BTreeMap<String, String>>,
}
go_struct!(AnnotationsFile, "bundle.AnnotationMetadata", { "annotations" => annotations });

/// Tells by the files in a directory how they are to be understood.
///
/// # Errors
///
/// When there is no file.
pub(super) fn media_type(directory: &Directory<'_>) -> Result<MediaType, String> {
    let files: Vec<&[u8]> = directory.entries().into_values().flatten().collect();
    if files.is_empty() {
        return Err(format!(
            "The directory {} contains no yaml files",
            directory.shown()
        ));
    }
    if is_chart(directory) {
        return Ok(MediaType::Helm);
    }
    let has_csv = files.into_iter().any(|bytes| {
        manifest::may_be(bytes, cluster_service_version::KIND)
            && manifest::object_within(bytes, MEDIA_TYPE_LOOKAHEAD)
                .is_ok_and(|object| manifest::kind(&object) == cluster_service_version::KIND)
    });
    Ok(if has_csv {
        MediaType::RegistryV1
    } else {
        MediaType::Plain
    })
}

/// How many bytes opm looks at here to tell JSON from YAML.
const MEDIA_TYPE_LOOKAHEAD: usize = 10;

fn is_chart(directory: &Directory<'_>) -> bool {
    directory
        .entries()
        .get("Chart.yaml")
        .copied()
        .flatten()
        .and_then(|bytes| goyaml::to_value(bytes).ok())
        .is_some_and(|chart| chart["name"].as_str().is_some_and(|name| !name.is_empty()))
}

/// What opm says against the form of a bundle.
pub(super) fn faults(files: &BundleFiles, location: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for (directory, what) in [(MANIFESTS, "manifests"), (METADATA, "metadata")] {
        if !files.has_directory(directory) {
            faults.push(format!("Unable to locate {what} directory"));
        }
    }
    if !faults.is_empty() {
        return faults;
    }
    // opm writes the directory with its slash, but joins paths cleanly.
    let media_type = match media_type(&Directory::new(files, location, MANIFESTS)) {
        Ok(media_type) => Some(media_type),
        Err(error) => {
            faults.push(error);
            None
        }
    };
    let (annotations, dependencies) = metadata(files, location);
    match annotations {
        None => faults.push("Could not find annotations file".to_owned()),
        Some(annotations) => faults.extend(annotation_faults(media_type, &annotations)),
    }
    for dependency in dependencies.unwrap_or_default().dependencies {
        faults.extend(dependency.faults());
    }
    faults
}

/// The first file with annotations, and the first other one with dependencies.
fn metadata(
    files: &BundleFiles,
    location: &str,
) -> (Option<BTreeMap<String, String>>, Option<DependenciesFile>) {
    let directory = Directory::new(files, location, METADATA);
    let mut annotations = None;
    let mut dependencies = None;
    for bytes in directory.entries().into_values().flatten() {
        let Ok(value) = manifest::value(bytes) else {
            continue;
        };
        if annotations.is_none() {
            annotations = manifest::typed::<AnnotationsFile>(&value)
                .ok()
                .and_then(|file| file.annotations);
            if annotations.is_some() {
                continue;
            }
        }
        if dependencies.is_none() {
            dependencies = manifest::typed::<DependenciesFile>(&value)
                .ok()
                .filter(|file| !file.dependencies.is_empty());
        }
    }
    (annotations, dependencies)
}

fn annotation_faults(media_type: Option<MediaType>, annotations: &BTreeMap<String, String>) -> Vec<String> {
    let mut faults = Vec::new();
    // Upstream walks a map here; this is the order of the names.
    for name in [
        "channel.default.v1",
        "channels.v1",
        "manifests.v1",
        "mediatype.v1",
        "metadata.v1",
        "package.v1",
    ] {
        let label = format!("{PREFIX}{name}");
        let value = annotations.get(&label);
        if value.is_none() && name != "channel.default.v1" {
            faults.push(format!("Missing annotation {}", quoted(&label)));
        }
        match name {
            "mediatype.v1" => {
                let expected = media_type.map_or("", MediaType::name);
                let given = value.map_or("", String::as_str);
                if given != expected {
                    faults.push(format!(
                        "Expecting annotation {} to have value {} instead of {}",
                        quoted(&label),
                        quoted(expected),
                        quoted(given)
                    ));
                }
            }
            "channels.v1" if value.is_none_or(String::is_empty) => faults.push(non_empty(&label)),
            "channel.default.v1" if value.is_some_and(String::is_empty) => faults.push(non_empty(&label)),
            _ => {}
        }
    }
    faults
}

fn non_empty(label: &str) -> String {
    format!("Expecting annotation {} to have non-empty value", quoted(label))
}

/// The annotations of a bundle: those of its file, or else of the image's labels.
///
/// # Errors
///
/// When the file can't be read, or there is neither.
pub(super) fn annotations(files: &BundleFiles, location: &str) -> Result<BTreeMap<String, String>, String> {
    const FILE: &str = "metadata/annotations.yaml";
    if let Some(bytes) = files.get(FILE) {
        let read = read_annotations(bytes).map_err(|error| {
            format!(
                "error unmarshalling potential bundle metadata {}: {error}",
                joined(location, FILE)
            )
        })?;
        if !read.is_empty() {
            return Ok(read);
        }
    }
    files
        .iter()
        .filter_map(|(_, bytes)| read_annotations(bytes).ok())
        .find(|read| !read.is_empty())
        .or_else(|| {
            let labels = files.labels();
            let is_bundle = labels.keys().any(|label| label.starts_with(PREFIX));
            is_bundle.then(|| labels.clone())
        })
        .ok_or_else(|| format!("metadata not found in {location}"))
}

fn read_annotations(bytes: &[u8]) -> Result<BTreeMap<String, String>, String> {
    let value: Value = goyaml::to_value(bytes).map_err(|error| error.in_sigs_words())?;
    let file: AnnotationsFile = manifest::typed(&value)?;
    Ok(file.annotations.unwrap_or_default())
}
