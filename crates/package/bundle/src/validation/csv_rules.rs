//! The rules for a `ClusterServiceVersion`: names, examples, install modes, required fields and annotations.

use std::collections::BTreeSet;

use gotemplate::format::quoted;
use serde_json::Value;

use super::finding::{Finding, Kind, Level, Outcome};
use super::manifest::{self, DecodeError, GroupVersionKind};
use super::{json_syntax, names};
use crate::cluster_service_version::ClusterServiceVersion;

/// What is said when the oldest Kubernetes is not named.
pub(super) const NO_MINIMUM_VERSION: &str = "csv.Spec.minKubeVersion is not informed. It is recommended you provide this \
    information. Otherwise, it would mean that your operator project can be distributed and installed in any cluster \
    version available, which is not necessarily the case for all projects.";

/// Annotations whose case matters.
const CASE_SENSITIVE: [&str; 5] = [
    "olm.operatorGroup",
    "olm.operatorNamespace",
    "olm.targetNamespaces",
    "olm.providedAPIs",
    crate::cluster_service_version::SKIP_RANGE_ANNOTATION,
];

/// A `ClusterServiceVersion` and the object it was read from.
#[derive(Clone, Copy)]
pub(super) struct Written<'c> {
    pub(super) csv: &'c ClusterServiceVersion,
    pub(super) object: &'c Value,
}

/// Checks a `ClusterServiceVersion`.
pub(super) fn check(written: Written<'_>) -> Outcome {
    let csv = written.csv;
    let name = csv.metadata.name.as_str();
    let error = |detail: String| Finding::csv(Level::Error, name, detail);
    let mut outcome = Outcome::about(name);
    if let Some(fault) = name_fault(name) {
        outcome.errors.push(error(format!("metadata.name {fault}")));
    }
    if !csv.spec.replaces.is_empty()
        && let Some(fault) = name_fault(&csv.spec.replaces)
    {
        outcome.errors.push(error(format!("spec.replaces {fault}")));
    }
    outcome.extend(examples(csv));
    outcome.extend(install_modes(csv));
    outcome.extend(minimum_version(csv));
    outcome.extend(required_fields(written));
    outcome.extend(annotation_names(csv));
    let gvk = GroupVersionKind::new(&csv.api_version, &csv.kind);
    if gvk.version.is_empty() {
        outcome.errors.push(error("'apiVersion' is missing".to_owned()));
    }
    if gvk.kind.is_empty() {
        outcome.errors.push(error("'kind' is missing".to_owned()));
    }
    outcome
}

/// A name is used as a label's value too, so it must be fit for both.
fn name_fault(name: &str) -> Option<String> {
    let mut faults = names::dns_subdomain(name);
    faults.extend(names::label_value(name));
    (!faults.is_empty()).then(|| format!("{} is invalid: {}", quoted(name), faults.join(",")))
}

fn examples(csv: &ClusterServiceVersion) -> Vec<Finding> {
    let name = csv.metadata.name.as_str();
    let annotations = &csv.metadata.annotations;
    let warning = |detail: &str| Finding::csv(Level::Warning, name, detail);
    if annotations.is_empty() {
        return vec![warning("annotations not found")];
    }
    let mut findings = Vec::new();
    let text = match (annotations.get("alm-examples"), annotations.get("olm.examples")) {
        (None, None) => return vec![warning("example annotations not found")],
        (Some(text), other) => {
            if other.is_some() {
                findings.push(warning(
                    "both `alm-examples` and `olm.examples` are present. Checking only `alm-examples`",
                ));
            }
            text
        }
        (None, Some(text)) => text,
    };
    let unreadable = |value: String, detail: &str| Finding::about(Level::Error, Kind::Parse, value, detail);
    if !text.is_empty()
        && let Some(offset) = json_syntax::first_fault(text.as_bytes())
    {
        let start = String::from_utf8_lossy(text.as_bytes().get(..offset).unwrap_or_default()).into_owned();
        findings.push(unreadable(
            format!("invalid character at {offset}\n {start}<--(see the invalid character)"),
            "invalid example",
        ));
        return findings;
    }
    let given = match example_kinds(text) {
        Ok(given) => given,
        Err(error) => {
            findings.push(unreadable(error, "error decoding example CustomResource"));
            return findings;
        }
    };
    let provided = provided(csv, &mut findings);
    for example in given.difference(&provided) {
        findings.push(Finding::about(
            Level::Error,
            Kind::Operation,
            example.to_string(),
            "example must have a provided API",
        ));
    }
    for api in provided.difference(&given) {
        findings.push(Finding::about(
            Level::Warning,
            Kind::Operation,
            api.to_string(),
            "provided API should have an example annotation",
        ));
    }
    findings
}

/// Group, version and kind of every example; examples are a list of objects.
fn example_kinds(text: &str) -> Result<BTreeSet<GroupVersionKind>, String> {
    let value = match manifest::value(text.as_bytes()) {
        Ok(value) => value,
        Err(DecodeError::EndOfFile) => return Ok(BTreeSet::new()),
        Err(DecodeError::Message(text)) => return Err(text),
    };
    let wrapped = |text: String| format!("error unmarshaling JSON: while decoding JSON: {text}");
    let items = match &value {
        Value::Null => return Ok(BTreeSet::new()),
        Value::Array(items) => items,
        other => {
            let text = format!(
                "json: cannot unmarshal {} into Go value of type []unstructured.Unstructured",
                goyaml::json::kind_word(other)
            );
            // An object is read as JSON, whose reader adds no words of its own.
            return Err(if other.is_object() { text } else { wrapped(text) });
        }
    };
    let mut kinds = BTreeSet::new();
    for item in items {
        match manifest::check_kind(item) {
            Ok(()) => kinds.insert(GroupVersionKind::of(item)),
            Err(text) => return Err(wrapped(text)),
        };
    }
    Ok(kinds)
}

fn provided(csv: &ClusterServiceVersion, findings: &mut Vec<Finding>) -> BTreeSet<GroupVersionKind> {
    let mut provided = BTreeSet::new();
    for owned in &csv.spec.custom_resource_definitions.owned {
        match owned.name.split_once('.') {
            Some((_, group)) => {
                provided.insert(GroupVersionKind {
                    group: group.to_owned(),
                    version: owned.version.clone(),
                    kind: owned.kind.clone(),
                });
            }
            None => findings.push(Finding {
                level: Level::Error,
                kind: Kind::Parse,
                field: String::new(),
                value: None,
                detail: format!("couldn't parse plural.group from crd name: {}", owned.name),
            }),
        }
    }
    provided.extend(
        csv.spec
            .api_service_definitions
            .owned
            .iter()
            .map(|owned| GroupVersionKind {
                group: owned.group.clone(),
                version: owned.version.clone(),
                kind: owned.kind.clone(),
            }),
    );
    provided
}

fn install_modes(csv: &ClusterServiceVersion) -> Vec<Finding> {
    let error = |detail: &str| Finding::csv(Level::Error, &csv.metadata.name, detail);
    let modes = &csv.spec.install_modes;
    if modes.is_empty() {
        return vec![error("install modes not found")];
    }
    let only_all_namespaces = modes
        .iter()
        .all(|mode| mode.supported == (mode.kind == "AllNamespaces"));
    let mut findings: Vec<Finding> = csv
        .spec
        .webhook_definitions
        .iter()
        .filter(|webhook| !webhook.conversion_crds.is_empty() && !only_all_namespaces)
        .map(|_| error("only AllNamespaces InstallModeType is supported when conversionCRDs is present"))
        .collect();
    if !modes.iter().any(|mode| mode.supported) {
        findings.push(error("none of InstallModeTypes are supported"));
    }
    findings
}

fn minimum_version(csv: &ClusterServiceVersion) -> Option<Finding> {
    let name = &csv.metadata.name;
    let minimum = &csv.spec.minimum_kubernetes_version;
    if minimum.trim().is_empty() {
        return Some(Finding::csv(Level::Warning, name, NO_MINIMUM_VERSION));
    }
    version::Version::parse(minimum).is_err().then(|| {
        Finding::csv(
            Level::Error,
            name,
            format!("csv.Spec.MinKubeVersion has an invalid value: {minimum}"),
        )
    })
}

/// The fields that upstream requires: those whose Go declaration doesn't let them be left out.
fn required_fields(written: Written<'_>) -> Vec<Finding> {
    let missing = |field: &str, what: &str| Finding {
        level: Level::Error,
        kind: Kind::FieldMissing,
        field: field.to_owned(),
        value: Some(what.to_owned()),
        detail: "required field missing".to_owned(),
    };
    let csv = written.csv;
    let mut findings = Vec::new();
    if is_empty(find(written.object, "metadata")) {
        findings.push(missing("ObjectMeta", "struct"));
    }
    let spec = find(written.object, "spec");
    if is_empty(spec) {
        findings.push(missing("Spec", "struct"));
        return findings;
    }
    let install = find(spec, "install");
    let details = find(install, "spec");
    let has_details = !is_empty(details);
    if csv.spec.install.strategy.is_empty() && !has_details {
        findings.push(missing("Spec.InstallStrategy", "struct"));
    } else {
        if csv.spec.install.strategy.is_empty() {
            findings.push(missing("Spec.InstallStrategy.StrategyName", "field"));
        }
        if has_details && find(details, "deployments").is_null() {
            findings.push(missing(
                "Spec.InstallStrategy.StrategySpec.DeploymentSpecs",
                "field",
            ));
        }
    }
    if csv.spec.display_name.is_empty() {
        findings.push(missing("Spec.DisplayName", "field"));
    }
    findings
}

/// The value of a key whatever its case; null where there is none.
fn find<'v>(value: &'v Value, key: &str) -> &'v Value {
    value
        .as_object()
        .and_then(|entries| {
            entries.get(key).or_else(|| {
                entries
                    .iter()
                    .find_map(|(name, value)| name.eq_ignore_ascii_case(key).then_some(value))
            })
        })
        .unwrap_or(&Value::Null)
}

/// Whether Go would find nothing in it: null, and objects of nothing but zero values.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::Object(entries) => entries.values().all(is_empty),
        Value::Bool(true) | Value::Array(_) => false,
    }
}

fn annotation_names(csv: &ClusterServiceVersion) -> Vec<Finding> {
    let mut findings = Vec::new();
    for key in csv.metadata.annotations.keys() {
        let known = CASE_SENSITIVE
            .iter()
            .find(|known| known.to_lowercase() == key.to_lowercase());
        if let Some(known) = known.filter(|known| *known != key) {
            findings.push(Finding::about(
                Level::Error,
                Kind::Validation,
                csv.metadata.name.clone(),
                format!("provided annotation {key} uses wrong case and should be {known} instead"),
            ));
        }
        if key == "olm.properties" {
            findings.push(Finding::about(
                Level::Warning,
                Kind::PropertiesAnnotation,
                "",
                format!("found {key} annotation, please define these properties in metadata/properties.yaml instead"),
            ));
        }
    }
    findings
}
