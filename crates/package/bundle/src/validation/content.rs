//! The content of a bundle as opm checks it: every object, and whether definitions and `ClusterServiceVersion` agree.

use std::collections::{BTreeMap, BTreeSet};

use gotemplate::format::quoted;
use goyaml::go_struct;
use serde_json::Value;

use super::context::{Context, OptionalValues};
use super::csv_rules::{self, Written};
use super::custom_resource_definition::{Definition, V1, V1BETA1};
use super::field_error::aggregate;
use super::format::{self, MANIFESTS, MediaType};
use super::loaded::{Directory, Loaded, joined};
use super::manifest::{self, GroupVersionKind};
use super::object_metadata::ObjectMetadata;
use super::printed::Printed;
use super::{operator_hub, unstructured};
use crate::cluster_service_version::{self, ClusterServiceVersion};
use crate::files::BundleFiles;
use crate::supported_kinds::is_supported;

/// Which of opm's optional checks are made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OpmChecks {
    /// What `OperatorHub.io` asks for.
    pub operator_hub: bool,
    /// Disruption budgets, priority classes and roles. opm hands its check a list that it doesn't look into, so this
    /// finds nothing there, nor here.
    pub bundle_objects: bool,
}

impl OpmChecks {
    /// Reads the value of `--optional-validators`: names between commas; others are ignored.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let has = |wanted: &str| text.split(',').any(|name| name.trim() == wanted);
        Self {
            operator_hub: has("operatorhub"),
            bundle_objects: has("bundle-objects"),
        }
    }
}

/// An object's kind and metadata, read for the check that kubectl would take it.
#[derive(Debug, Clone, Default)]
struct Meta {
    kind: String,
    api_version: String,
    metadata: ObjectMetadata,
}
go_struct!(Meta, "bundle.Meta", {
    "kind" => kind in "TypeMeta", "apiVersion" => api_version in "TypeMeta", "metadata" => metadata,
});

/// What opm says against the content of a bundle.
pub(super) fn faults(
    files: &BundleFiles,
    location: &str,
    checks: OpmChecks,
    values: &OptionalValues,
) -> Vec<String> {
    let directory = Directory::new(files, location, MANIFESTS);
    let mut review = Review::default();
    let media_type = match format::media_type(&directory) {
        Ok(MediaType::Helm) => return Vec::new(),
        Ok(media_type) => Some(media_type),
        Err(error) => {
            review.faults.push(error);
            None
        }
    };
    if !directory.exists() {
        review
            .faults
            .push(format!("open {}: no such file or directory", directory.shown()));
    }
    for (name, bytes) in directory.entries() {
        let path = joined(directory.shown(), name);
        match bytes {
            None => review
                .faults
                .push(format!("Unable to read file {path} in supported types")),
            Some(bytes) => review.file(&path, bytes, media_type == Some(MediaType::RegistryV1)),
        }
    }
    review.agreement();
    if checks.operator_hub {
        let context = Context {
            values,
            platforms: None,
        };
        let bundle = Loaded::of_csv(&review.csv_name, review.csv.clone(), review.csv_object.clone());
        // The second result is only that the check is deprecated, which is a warning.
        if let Some(outcome) = operator_hub::check_deprecated(&bundle, &context)
            .into_iter()
            .next()
        {
            review
                .faults
                .extend(outcome.errors.iter().map(ToString::to_string));
        }
    }
    review.faults
}

#[derive(Default)]
struct Review {
    faults: Vec<String>,
    objects: Vec<Value>,
    csv: ClusterServiceVersion,
    csv_object: Value,
    csv_name: String,
}

impl Review {
    fn file(&mut self, path: &str, bytes: &[u8], is_registry: bool) {
        let object = match manifest::object(bytes) {
            Ok(object) => object,
            Err(error) => {
                self.faults.push(error.to_string());
                return;
            }
        };
        self.objects.push(object);
        let Some(object) = self.objects.last() else {
            return;
        };
        let gvk = GroupVersionKind::of(object);
        if is_registry && !is_supported(&gvk.kind) {
            self.faults.push(format!(
                "{} is not supported type for registryV1 bundle: {path}",
                gvk.kind
            ));
            return;
        }
        match gvk.kind.as_str() {
            cluster_service_version::KIND => {
                let converted = unstructured::convert(object);
                self.csv = manifest::typed(&converted.object).unwrap_or_default();
                self.csv_object = converted.object;
                if let Some(fault) = converted.fault {
                    self.faults.push(fault);
                    return;
                }
                self.csv_name.clone_from(&self.csv.metadata.name);
                let outcome = csv_rules::check(Written {
                    csv: &self.csv,
                    object: &self.csv_object,
                });
                self.faults.extend(outcome.errors.iter().map(ToString::to_string));
            }
            "CustomResourceDefinition" => {
                let version = joined(&gvk.group, &gvk.version);
                let read = match version.as_str() {
                    V1 => Definition::read_v1(object),
                    V1BETA1 => Definition::read_v1beta1(object),
                    _ => Err(format!("Unsupported api version of CRD: {version}")),
                };
                match read {
                    Ok(definition) => self
                        .faults
                        .extend(definition.outcome().errors.iter().map(ToString::to_string)),
                    Err(error) => self.faults.push(error),
                }
            }
            _ => self.faults.extend(applicability(bytes)),
        }
    }

    /// Whether definitions and `ClusterServiceVersion` agree, as operator-registry sees it.
    fn agreement(&mut self) {
        if self.objects.is_empty() {
            return;
        }
        // Upstream falls over when there is none; the form of the bundle says so already.
        let Some(csv) = self
            .objects
            .iter()
            .find(|object| manifest::kind(object) == cluster_service_version::KIND)
        else {
            return;
        };
        let mut faults = owned_faults(&self.objects, csv, &self.csv_name);
        faults.extend(release_fault(csv, &self.csv_name));
        self.faults.append(&mut faults);
    }
}

/// What is wrong with an object's metadata, so that kubectl would not take it.
fn applicability(bytes: &[u8]) -> Option<String> {
    let value = match goyaml::to_value(bytes) {
        Ok(value) => value,
        Err(error) => return Some(error.in_sigs_words()),
    };
    let meta: Meta = match goyaml::typed::decode(&value) {
        Ok(meta) => meta,
        Err(error) => return Some(error.to_string()),
    };
    let faults: Vec<String> = meta
        .metadata
        .faults(|_| Vec::new())
        .iter()
        .map(ToString::to_string)
        .collect();
    (!faults.is_empty()).then(|| {
        format!(
            "error validating object metadata: {}. &{{{{{} {}}} {}}}",
            aggregate(&faults),
            meta.kind,
            meta.api_version,
            meta.metadata.to_plain()
        )
    })
}

/// What is read of a `ClusterServiceVersion`'s list of definitions.
#[derive(Debug, Clone, Default)]
struct OwnedDefinitions {
    owned: Vec<DefinitionKey>,
    required: Vec<DefinitionKey>,
}
go_struct!(OwnedDefinitions, "registry.definitions", { "owned" => owned, "required" => required });

/// A definition as a `ClusterServiceVersion` names it.
#[derive(Debug, Clone, Default)]
struct DefinitionKey {
    group: String,
    kind: String,
    name: String,
    version: String,
}
go_struct!(DefinitionKey, "registry.DefinitionKey", {
    "group" => group, "kind" => kind, "name" => name, "version" => version,
});

fn owned_faults(objects: &[Value], csv: &Value, bundle_name: &str) -> Vec<String> {
    let unreadable = |what: &str, error: String| format!("Error: Value {error}: {what}");
    let listed = &csv["spec"]["customresourcedefinitions"];
    let owned = match goyaml::typed::decode::<OwnedDefinitions>(listed) {
        Ok(definitions) => definitions.owned,
        Err(error) => return vec![unreadable("error getting CSV CRDs", error.to_string())],
    };
    let mut present: BTreeMap<String, BTreeSet<(String, String)>> = BTreeMap::new();
    for object in objects
        .iter()
        .filter(|object| manifest::kind(object) == "CustomResourceDefinition")
    {
        let definition = match manifest::api_version(object) {
            V1 => Definition::read_v1(object),
            V1BETA1 => Definition::read_v1beta1(object),
            _ => continue,
        };
        // A definition that can't be read was named before.
        let Ok(definition) = definition else {
            continue;
        };
        let versions = match definition.written_version.as_str() {
            "" => definition.written_versions.clone(),
            single => vec![single.to_owned()],
        };
        for version in versions {
            present
                .entry(definition.metadata.name.clone())
                .or_default()
                .insert((version, definition.names.kind.clone()));
        }
    }
    let mut faults = Vec::new();
    for key in owned {
        let known = (key.version.clone(), key.kind.clone());
        // Keys carry a group too, which definitions are never entered with.
        let is_present = key.group.is_empty()
            && present
                .get_mut(&key.name)
                .is_some_and(|versions| versions.remove(&known));
        if !is_present {
            let shown = if key.name.is_empty() {
                format!("{}/{} {}", key.group, key.version, key.kind)
            } else {
                format!("{}/{}", key.name, key.version)
            };
            faults.push(format!(
                "Error: Value {{{} {} {} {}}}: owned CRD {shown} not found in bundle {}",
                key.group,
                key.kind,
                key.name,
                key.version,
                quoted(bundle_name)
            ));
        }
    }
    faults
}

/// A bundle that is a release of its version can't also stand in for another.
fn release_fault(csv: &Value, bundle_name: &str) -> Option<String> {
    let version = &csv["spec"]["version"];
    if !version.is_string() && !version.is_null() {
        return Some(format!(
            "Error: Value json: cannot unmarshal {} into Go value of type string: error getting bundle CSV version",
            goyaml::json::kind_word(version)
        ));
    }
    let release = match &csv["spec"]["release"] {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    let substituted = csv["metadata"]["annotations"][cluster_service_version::SUBSTITUTES_FOR_ANNOTATION]
        .as_str()
        .unwrap_or_default();
    (!release.is_empty() && !substituted.is_empty()).then(|| {
        format!(
            "Error: Value {{   }}: bundle {} cannot have both a release version ({}) and olm.substitutesFor annotation ({})",
            quoted(bundle_name),
            quoted(&release),
            quoted(substituted)
        )
    })
}
