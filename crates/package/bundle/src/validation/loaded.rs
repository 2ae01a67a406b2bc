//! A bundle as operator-framework/api loads it: the objects beside a `ClusterServiceVersion`, and what the annotations say.

use std::collections::BTreeMap;

use goyaml::go_struct;
use serde_json::Value;

use super::custom_resource_definition::{Definition, V1, V1BETA1};
use super::field_error::aggregate;
use super::gzip_size::gzip_size;
use super::manifest;
use crate::cluster_service_version::{self, ClusterServiceVersion};
use crate::files::BundleFiles;

/// A bundle that could be loaded.
#[derive(Debug, Clone)]
pub(super) struct Loaded {
    /// The `ClusterServiceVersion`'s name.
    pub(super) name: String,
    /// Every object, the `ClusterServiceVersion` among them, by the order of their files.
    pub(super) objects: Vec<Value>,
    /// The package, when the annotations were among the files.
    pub(super) package: String,
    /// The channels, likewise.
    pub(super) channels: Vec<String>,
    /// The default channel, likewise.
    pub(super) default_channel: String,
    /// The operator's version.
    pub(super) csv: ClusterServiceVersion,
    /// The same as it was written.
    pub(super) csv_object: Value,
    /// The definitions of custom resources.
    pub(super) definitions: Vec<Definition>,
    /// Those of the API before Kubernetes 1.16.
    pub(super) old_definitions: Vec<Definition>,
    /// The bytes of all files, each compressed and in base64.
    pub(super) compressed_size: u64,
    /// The bytes of all files.
    pub(super) size: u64,
}

/// What is read of an annotations file.
#[derive(Debug, Clone, Default)]
struct AnnotationsFile {
    annotations: Annotations,
}
go_struct!(AnnotationsFile, "manifests.AnnotationsFile", { "annotations" => annotations });

#[derive(Debug, Clone, Default)]
struct Annotations {
    package: String,
    channels: String,
    default_channel: String,
}
go_struct!(Annotations, "manifests.Annotations", {
    "operators.operatorframework.io.bundle.package.v1" => package,
    "operators.operatorframework.io.bundle.channels.v1" => channels,
    "operators.operatorframework.io.bundle.channel.default.v1" => default_channel,
});

/// A directory of a bundle and how messages call it.
pub(super) struct Directory<'f> {
    files: &'f BundleFiles,
    /// The path below the bundle's root; empty for the root.
    path: String,
    shown: String,
}

impl<'f> Directory<'f> {
    /// The directory at `path` of a bundle that messages call `location`.
    pub(super) fn new(files: &'f BundleFiles, location: &str, path: &str) -> Self {
        Self {
            files,
            path: path.to_owned(),
            shown: joined(location, path),
        }
    }

    /// How messages call it.
    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    pub(super) fn exists(&self) -> bool {
        self.path.is_empty() || self.files.has_directory(&self.path)
    }

    /// Every file below it, by its path from here.
    fn files_below(&self) -> Vec<(&'f str, &'f [u8])> {
        if self.path.is_empty() {
            return self.files.iter().collect();
        }
        let prefix = format!("{}/", self.path);
        self.files
            .iter()
            .filter_map(|(path, bytes)| Some((path.strip_prefix(&prefix)?, bytes)))
            .collect()
    }

    /// Its own entries by name: the bytes of a file, or nothing for a directory.
    pub(super) fn entries(&self) -> BTreeMap<&'f str, Option<&'f [u8]>> {
        let mut entries = BTreeMap::new();
        for (path, bytes) in self.files_below() {
            match path.split_once('/') {
                None => entries.insert(path, Some(bytes)),
                Some((directory, _)) => entries.insert(directory, None),
            };
        }
        let prefix = if self.path.is_empty() {
            String::new()
        } else {
            format!("{}/", self.path)
        };
        for directory in self.files.directories() {
            if let Some(name) = directory.strip_prefix(&prefix)
                && !name.is_empty()
                && !name.contains('/')
            {
                entries.insert(name, None);
            }
        }
        entries
    }

    fn below(&self, path: &str) -> Self {
        Self {
            files: self.files,
            path: joined(&self.path, path),
            shown: joined(&self.shown, path),
        }
    }
}

/// Joins two paths, either of which may be empty.
pub(super) fn joined(base: &str, path: &str) -> String {
    match (base.trim_end_matches('/'), path) {
        (_, "") if base.is_empty() => String::new(),
        (base, "") => base.to_owned(),
        ("", path) if base.is_empty() => path.to_owned(),
        (base, path) => format!("{base}/{path}"),
    }
}

/// Loads the bundle in a directory and below.
///
/// # Errors
///
/// Everything that upstream's loader minds, joined as it joins it.
pub(super) fn load(directory: &Directory<'_>) -> Result<Loaded, String> {
    let mut faults = Vec::new();
    let mut annotations = AnnotationsFile::default();
    let mut loaded: Option<Loaded> = None;
    let mut found = false;
    if !directory.exists() {
        faults.push(format!("lstat {}: no such file or directory", directory.shown));
    }
    for (path, bytes) in directory.files_below() {
        if path.split('/').any(|part| part.starts_with('.')) {
            continue;
        }
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        if name.starts_with("annotations") {
            match manifest_annotations(bytes) {
                Ok(read) => annotations = read,
                Err(error) => {
                    faults.push(format!(
                        "unable to load the annotations file {}: {error}",
                        joined(&directory.shown, path)
                    ));
                    continue;
                }
            }
        }
        if !manifest::may_be(bytes, cluster_service_version::KIND) {
            continue;
        }
        let Ok(object) = manifest::object(bytes) else {
            continue;
        };
        if manifest::kind(&object) != cluster_service_version::KIND {
            continue;
        }
        found = true;
        let (result, errors) = load_beside(manifest::name(&object), &directory.below(parent));
        if !errors.is_empty() {
            faults.push(format!("error loading objs in directory: {}", aggregate(&errors)));
        }
        match result {
            Some(bundle) => loaded = Some(bundle),
            None => faults.push("no bundle csv found".to_owned()),
        }
    }
    match loaded {
        Some(mut loaded) if faults.is_empty() => {
            loaded.take_annotations(annotations.annotations);
            loaded.measure(directory);
            Ok(loaded)
        }
        loaded => {
            if !found {
                faults.push(format!(
                    "unable to find a csv in bundle directory {}",
                    directory.shown
                ));
            } else if loaded.is_none() {
                faults.push(format!(
                    "unable to load bundle from directory {}",
                    directory.shown
                ));
            }
            Err(aggregate(&faults))
        }
    }
}

fn manifest_annotations(bytes: &[u8]) -> Result<AnnotationsFile, String> {
    let value = goyaml::to_value(bytes).map_err(|error| error.in_sigs_words())?;
    manifest::typed(&value)
}

/// Loads every object in the directory of a `ClusterServiceVersion`, and says what was wrong; some faults leave nothing.
fn load_beside(name: &str, directory: &Directory<'_>) -> (Option<Loaded>, Vec<String>) {
    let mut faults = Vec::new();
    let mut objects = Vec::new();
    let mut csv: Option<(ClusterServiceVersion, Value)> = None;
    let mut definitions = Vec::new();
    let mut old_definitions = Vec::new();
    for (file, bytes) in directory.entries() {
        let path = || joined(&directory.shown, file);
        let Some(bytes) = bytes else {
            faults.push(format!("bundle manifests dir contains directory: {}", path()));
            continue;
        };
        if file.starts_with('.') {
            faults.push(format!("bundle manifests dir has hidden file: {}", path()));
            continue;
        }
        let object = match manifest::yaml_object(bytes) {
            Ok(object) => object,
            Err(error) => {
                faults.push(format!("unable to decode object: {error}"));
                continue;
            }
        };
        // These end the reading, and what was found before is forgotten.
        let fatal = match (manifest::kind(&object), manifest::api_version(&object)) {
            (cluster_service_version::KIND, _) if csv.is_some() => {
                Some("invalid bundle: contains multiple CSVs".to_owned())
            }
            (cluster_service_version::KIND, _) => match manifest::typed(&object) {
                Ok(read) => {
                    csv = Some((read, object.clone()));
                    None
                }
                Err(error) => Some(format!("unable to parse CSV {file}: {error}")),
            },
            ("CustomResourceDefinition", version) => {
                let read = match version {
                    V1 => Definition::read_v1(&object).map(|read| definitions.push(read)),
                    V1BETA1 => Definition::read_v1beta1(&object).map(|read| old_definitions.push(read)),
                    _ => {
                        return (
                            None,
                            vec![format!("unsupported CRD version {version} for {file}")],
                        );
                    }
                };
                read.err()
                    .map(|error| format!("unable to parse CRD {file}: {error}"))
            }
            _ => None,
        };
        if let Some(fatal) = fatal {
            return (None, vec![fatal]);
        }
        objects.push(object);
    }
    let loaded = csv.map(|(csv, csv_object)| Loaded {
        objects,
        definitions,
        old_definitions,
        ..Loaded::of_csv(name, csv, csv_object)
    });
    (loaded, faults)
}

impl Loaded {
    /// A bundle of nothing but a `ClusterServiceVersion`.
    pub(super) fn of_csv(name: &str, csv: ClusterServiceVersion, csv_object: Value) -> Self {
        Self {
            name: name.to_owned(),
            objects: Vec::new(),
            package: String::new(),
            channels: Vec::new(),
            default_channel: String::new(),
            csv,
            csv_object,
            definitions: Vec::new(),
            old_definitions: Vec::new(),
            compressed_size: 0,
            size: 0,
        }
    }

    fn take_annotations(&mut self, annotations: Annotations) {
        self.channels = annotations.channels.split(',').map(str::to_owned).collect();
        self.default_channel = annotations.default_channel;
        self.package = annotations.package;
    }

    /// Adds up the sizes of all files, as they would be stored in the cluster.
    fn measure(&mut self, directory: &Directory<'_>) {
        for (_, bytes) in directory.files_below() {
            self.size += bytes.len() as u64;
            self.compressed_size += gzip_size(bytes).div_ceil(3) * 4;
        }
    }

    /// Whether the `ClusterServiceVersion` has anything but null at a place; keys match whatever their case.
    pub(super) fn csv_has(&self, path: &[&str]) -> bool {
        path.iter()
            .try_fold(&self.csv_object, |value, key| {
                value
                    .as_object()?
                    .iter()
                    .find_map(|(name, value)| name.eq_ignore_ascii_case(key).then_some(value))
            })
            .is_some_and(|value| !value.is_null())
    }
}
