//! The operators that are installed in a namespace, as entries.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bundle::cluster_service_version::{ApiServiceDefinitions, CustomResourceDefinitions};
use gotemplate::format::quoted;
use goyaml::typed::decode;
use serde_json::Value;
use thiserror::Error;
use version::Version;

use super::api_set::{Api, ApiSet};
use super::entry::{CatalogKey, Entry};
use super::property::{self, PROPERTIES_ANNOTATION, Property};
use super::request::Subscription;

const COPIED_LABEL: &str = "olm.copiedFrom";
const OPERATOR_NAMESPACE_ANNOTATION: &str = "olm.operatorNamespace";
const REPLACING: &str = "Replacing";
const FAILED: &str = "Failed";

/// What becomes of an operator that failed: `spec.upgradeStrategy` of the OperatorGroup.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum UpgradeStrategy {
    /// It stays until somebody mends it.
    #[default]
    Default,
    /// It may be upgraded like one that works.
    UnsafeFailForward,
}

impl UpgradeStrategy {
    /// Reads `spec.upgradeStrategy` of an OperatorGroup.
    pub fn of_group(group: &Value) -> Self {
        match text(group, "/spec/upgradeStrategy") {
            "TechPreviewUnsafeFailForward" => Self::UnsafeFailForward,
            _ => Self::Default,
        }
    }
}

/// An operator that is installed.
#[derive(Debug, Clone)]
pub struct ExistingVersion {
    /// What it is.
    pub entry: Arc<Entry>,
    /// The Subscription whose `status.installedCSV` it is. One without stays, whatever is resolved.
    pub subscription: Option<String>,
    /// The installed operator that is taking its place.
    pub replaced_by: Option<String>,
}

/// The operators that are installed in a namespace.
#[derive(Debug, Clone, Default)]
pub struct Existing {
    /// The operators, by name.
    pub versions: Vec<ExistingVersion>,
    /// What couldn't be read of them. Upstream gives up at the first; here the rest counts.
    pub faults: Vec<ExistingError>,
}

/// Something about an installed operator that can't be read. The words are upstream's.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ExistingError {
    /// The name of a custom resource definition isn't of the form `plural.group`.
    #[error("error parsing crd name: {0}")]
    DefinitionName(String),
    /// A list of APIs isn't one.
    #[error("failed to read the APIs of csv {}: {cause}", quoted(.csv))]
    Apis {
        /// The ClusterServiceVersion.
        csv: String,
        /// What is wrong with it.
        cause: String,
    },
    /// The annotation with the properties isn't readable.
    #[error("failed to retrieve properties of csv {}: {cause}", quoted(.csv))]
    Properties {
        /// The ClusterServiceVersion.
        csv: String,
        /// What is wrong with it.
        cause: String,
    },
    /// A chain of replacements isn't one that failing forward goes along.
    #[error(transparent)]
    Chain(#[from] ChainError),
}

/// Why a chain of `ClusterServiceVersion`s that replace each other can't be gone along. The words are upstream's.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ChainError {
    /// One before the last isn't being replaced.
    #[error("csv {csv} in phase {phase} instead of Replacing")]
    NotReplacing {
        /// The ClusterServiceVersion, as `namespace/name`.
        csv: String,
        /// Its phase.
        phase: String,
    },
    /// They replace each other in a circle.
    #[error("csv {csv} has already been seen")]
    Circle {
        /// The ClusterServiceVersion, as `namespace/name`.
        csv: String,
    },
}

impl Existing {
    /// Reads the `ClusterServiceVersion`s of a namespace; copies are passed over.
    ///
    /// With [`UpgradeStrategy::UnsafeFailForward`], those that a failed one was to replace are passed over too.
    pub fn read(
        namespace: &str,
        csvs: &[&Value],
        subscriptions: &[Subscription],
        strategy: UpgradeStrategy,
    ) -> Self {
        let mut csvs = csvs.to_vec();
        csvs.sort_by_key(|csv| text(csv, "/metadata/name"));
        let mut replacements = BTreeMap::new();
        for csv in &csvs {
            let replaced = text(csv, "/spec/replaces");
            if !replaced.is_empty() {
                replacements.insert(replaced, *csv);
            }
        }
        let mut existing = Self::default();
        for csv in csvs.into_iter().filter(|csv| !is_copied(csv)) {
            if strategy == UpgradeStrategy::UnsafeFailForward {
                match ends_in_failure(csv, &replacements) {
                    Ok(true) if phase(csv) == REPLACING => continue,
                    Ok(_) => {}
                    Err(fault) => existing.faults.push(fault.into()),
                }
            }
            let name = text(csv, "/metadata/name");
            let owner = subscriptions.iter().filter(|owner| owner.installed_csv == name);
            let subscription = owner.map(|owner| owner.name.clone()).min();
            let replacement = replacements.get(name).filter(|_| phase(csv) == REPLACING);
            let entry = existing.entry(namespace, csv, subscriptions);
            existing.versions.push(ExistingVersion {
                entry: Arc::new(entry),
                subscription,
                replaced_by: replacement.map(|csv| text(csv, "/metadata/name").to_owned()),
            });
        }
        existing
    }

    fn entry(&mut self, namespace: &str, csv: &Value, subscriptions: &[Subscription]) -> Entry {
        let name = text(csv, "/metadata/name").to_owned();
        let (mut entry, faults) = entry_from_csv(csv);
        self.faults.extend(faults);
        let annotation = csv
            .pointer("/metadata/annotations")
            .and_then(|annotations| annotations.get(PROPERTIES_ANNOTATION)?.as_str());
        let annotated = annotation.and_then(|annotation| match property::from_annotation(annotation) {
            Ok(properties) => Some(properties),
            Err(error) => {
                self.faults.push(ExistingError::Properties {
                    csv: name,
                    cause: error.to_string(),
                });
                None
            }
        });
        let properties = annotated.unwrap_or_else(|| {
            let mut properties = entry.properties().to_vec();
            properties.extend(infer_properties(csv, subscriptions));
            properties
        });
        entry = entry.with_properties(properties);
        let package = entry.packages().last().unwrap_or_default().to_owned();
        entry.package = package;
        entry.catalog = CatalogKey::existing(namespace);
        entry
    }
}

/// Returns the entry of a ClusterServiceVersion by its own word, without its annotation, and what couldn't be read.
pub fn entry_from_csv(csv: &Value) -> (Entry, Vec<ExistingError>) {
    let mut faults = Vec::new();
    let name = text(csv, "/metadata/name");
    let fault = |error: goyaml::Error| ExistingError::Apis {
        csv: name.to_owned(),
        cause: error.to_string(),
    };
    let null = Value::Null;
    let part = |name: &str| csv.get("spec").and_then(|spec| spec.get(name)).unwrap_or(&null);
    let definitions: CustomResourceDefinitions =
        decode(part("customresourcedefinitions")).unwrap_or_else(|error| {
            faults.push(fault(error));
            CustomResourceDefinitions::default()
        });
    let services: ApiServiceDefinitions = decode(part("apiservicedefinitions")).unwrap_or_else(|error| {
        faults.push(fault(error));
        ApiServiceDefinitions::default()
    });
    let mut apis = |definitions: Vec<_>, services: Vec<_>| -> ApiSet {
        let definition = |definition: bundle::cluster_service_version::CustomResourceDescription| {
            let Some((plural, group)) = definition.name.split_once('.') else {
                faults.push(ExistingError::DefinitionName(definition.name));
                return None;
            };
            Some(Api {
                group: group.to_owned(),
                version: definition.version,
                kind: definition.kind,
                plural: plural.to_owned(),
            })
        };
        let service = |service: bundle::cluster_service_version::ApiServiceDescription| Api {
            group: service.group,
            version: service.version,
            kind: service.kind,
            plural: service.name,
        };
        let definitions: Vec<Api> = definitions.into_iter().filter_map(definition).collect();
        definitions
            .into_iter()
            .chain(services.into_iter().map(service))
            .collect()
    };
    let provided = apis(definitions.owned, services.owned);
    let required = apis(definitions.required, services.required);
    let mut properties = property::provided(&provided);
    properties.extend(property::required(&required));
    let mut entry = Entry::new(name, properties);
    entry.version = Some(version(csv));
    entry.provided_apis = provided;
    entry.required_apis = required;
    (entry, faults)
}

/// Returns the property that says which package a ClusterServiceVersion is of, if the Subscriptions to it agree.
pub fn infer_properties(csv: &Value, subscriptions: &[Subscription]) -> Option<Property> {
    let name = text(csv, "/metadata/name");
    let packages: BTreeSet<&str> = subscriptions
        .iter()
        .filter(|subscription| subscription.installed_csv == name && !subscription.package.is_empty())
        .map(|subscription| subscription.package.as_str())
        .collect();
    let package = packages.first().filter(|_| packages.len() == 1)?;
    let version = version(csv);
    let none = Version::new(0, 0, 0);
    let version = if version.precedence(&none).is_eq() {
        String::new()
    } else {
        version.to_string()
    };
    Some(property::package(package, &version))
}

/// Returns whether the last of a chain of replacements has failed, and all before it are being replaced.
pub fn ends_in_failure(csv: &Value, replacements: &BTreeMap<&str, &Value>) -> Result<bool, ChainError> {
    let called = |csv: &Value| {
        format!(
            "{}/{}",
            text(csv, "/metadata/namespace"),
            text(csv, "/metadata/name")
        )
    };
    let mut seen = BTreeSet::new();
    let mut last = csv;
    while let Some(next) = replacements.get(text(last, "/metadata/name")) {
        if phase(last) != REPLACING {
            return Err(ChainError::NotReplacing {
                csv: called(last),
                phase: phase(last).to_owned(),
            });
        }
        if !seen.insert(text(last, "/metadata/name")) {
            return Err(ChainError::Circle { csv: called(last) });
        }
        last = next;
    }
    Ok(phase(last) == FAILED)
}

fn is_copied(csv: &Value) -> bool {
    let metadata = |map: &str, key: &str| csv.get("metadata")?.get(map)?.get(key)?.as_str();
    text(csv, "/status/reason") == "Copied"
        || metadata("labels", COPIED_LABEL).is_some()
        || metadata("annotations", OPERATOR_NAMESPACE_ANNOTATION)
            .is_some_and(|namespace| namespace != text(csv, "/metadata/namespace"))
}

fn version(csv: &Value) -> Version {
    Version::parse(text(csv, "/spec/version")).unwrap_or_else(|_| Version::new(0, 0, 0))
}

fn phase(csv: &Value) -> &str {
    text(csv, "/status/phase")
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}
