//! The schema of a registry+v1 bundle's configuration, made from the types that it is read into.

use serde_json::{Map, Value, json};

use super::deployment::{self, DEPLOYMENT_CONFIG};
use super::formats::{OWN_NAMESPACE, SINGLE_NAMESPACE};
use super::{DEPLOYMENT_CONFIG_FIELD, WATCH_NAMESPACE_FIELD};
use crate::rendering::targets::InstallModes;

/// What the name of a namespace looks like.
const NAMESPACE_PATTERN: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";

/// How long the name of a namespace may be: as long as a label of DNS.
const LONGEST_NAMESPACE: usize = 63;

/// The field of OLM v0's configuration that never had an effect, and that OLM v1 doesn't have.
const WITHOUT_EFFECT: &str = "selector";

/// The fields that must be there, for each type that has such fields.
const REQUIRED: [(&str, &[&str]); 44] = [
    ("v1.AWSElasticBlockStoreVolumeSource", &["volumeID"]),
    ("v1.AzureDiskVolumeSource", &["diskName", "diskURI"]),
    ("v1.AzureFileVolumeSource", &["secretName", "shareName"]),
    ("v1.CSIVolumeSource", &["driver"]),
    ("v1.CephFSVolumeSource", &["monitors"]),
    ("v1.CinderVolumeSource", &["volumeID"]),
    ("v1.ClusterTrustBundleProjection", &["path"]),
    ("v1.ConfigMapKeySelector", &["key"]),
    ("v1.DownwardAPIVolumeFile", &["path"]),
    ("v1.EnvVar", &["name"]),
    ("v1.FileKeySelector", &["volumeName", "path", "key"]),
    ("v1.FlexVolumeSource", &["driver"]),
    ("v1.GCEPersistentDiskVolumeSource", &["pdName"]),
    ("v1.GitRepoVolumeSource", &["repository"]),
    ("v1.GlusterfsVolumeSource", &["endpoints", "path"]),
    ("v1.HostPathVolumeSource", &["path"]),
    ("v1.ISCSIVolumeSource", &["targetPortal", "iqn", "lun"]),
    ("v1.KeyToPath", &["key", "path"]),
    ("v1.LabelSelectorRequirement", &["key", "operator"]),
    ("v1.NFSVolumeSource", &["server", "path"]),
    ("v1.NodeSelector", &["nodeSelectorTerms"]),
    ("v1.NodeSelectorRequirement", &["key", "operator"]),
    ("v1.ObjectFieldSelector", &["fieldPath"]),
    ("v1.OwnerReference", &["apiVersion", "kind", "name", "uid"]),
    ("v1.PersistentVolumeClaimTemplate", &["spec"]),
    ("v1.PersistentVolumeClaimVolumeSource", &["claimName"]),
    ("v1.PhotonPersistentDiskVolumeSource", &["pdID"]),
    ("v1.PodAffinityTerm", &["topologyKey"]),
    ("v1.PodCertificateProjection", &["signerName", "keyType"]),
    ("v1.PortworxVolumeSource", &["volumeID"]),
    ("v1.PreferredSchedulingTerm", &["weight", "preference"]),
    ("v1.QuobyteVolumeSource", &["registry", "volume"]),
    ("v1.RBDVolumeSource", &["monitors", "image"]),
    ("v1.ResourceClaim", &["name"]),
    ("v1.ResourceFieldSelector", &["resource"]),
    ("v1.ScaleIOVolumeSource", &["gateway", "system", "secretRef"]),
    ("v1.SecretKeySelector", &["key"]),
    ("v1.ServiceAccountTokenProjection", &["path"]),
    ("v1.TypedLocalObjectReference", &["kind", "name"]),
    ("v1.TypedObjectReference", &["kind", "name"]),
    ("v1.Volume", &["name"]),
    ("v1.VolumeMount", &["name", "mountPath"]),
    ("v1.VsphereVirtualDiskVolumeSource", &["volumePath"]),
    ("v1.WeightedPodAffinityTerm", &["weight", "podAffinityTerm"]),
];

/// The schema of the configuration of a bundle with these install modes.
pub(super) fn of_bundle(modes: &InstallModes, deployment_config: bool) -> Value {
    let mut definitions = Map::new();
    let mut properties = Map::new();
    if deployment_config {
        let fields = deployment::fields(DEPLOYMENT_CONFIG)
            .into_iter()
            .filter(|field| field.name != WITHOUT_EFFECT)
            .map(|field| {
                let schema = of_type(field.type_name, Wrapping::Bare, &mut definitions);
                (field.name.to_owned(), schema)
            });
        let fields: Map<_, _> = fields.collect();
        properties.insert(
            DEPLOYMENT_CONFIG_FIELD.to_owned(),
            json!({ "type": "object", "additionalProperties": false, "properties": fields }),
        );
    }
    let mut schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "additionalProperties": false,
    });
    if modes.has("SingleNamespace") || modes.has("OwnNamespace") {
        let required = !modes.has("AllNamespaces");
        properties.insert(WATCH_NAMESPACE_FIELD.to_owned(), watch_namespace(modes, required));
        if required {
            schema["required"] = json!([WATCH_NAMESPACE_FIELD]);
        }
    }
    schema["properties"] = properties.into();
    schema["definitions"] = definitions.into();
    schema
}

/// The rules for the namespace that the operator watches.
fn watch_namespace(modes: &InstallModes, required: bool) -> Value {
    let mut name = json!({
        "type": "string",
        "minLength": 1,
        "maxLength": LONGEST_NAMESPACE,
        "pattern": NAMESPACE_PATTERN,
    });
    match (modes.has("OwnNamespace"), modes.has("SingleNamespace")) {
        (true, false) => name["format"] = OWN_NAMESPACE.into(),
        (false, true) => name["format"] = SINGLE_NAMESPACE.into(),
        _ => {}
    }
    if required {
        name
    } else {
        json!({ "anyOf": [{ "type": "null" }, name] })
    }
}

/// How a schema refers to another: upstream's does it in two ways, and messages show which.
#[derive(Clone, Copy)]
enum Wrapping {
    Bare,
    InAllOf,
}

/// The schema of a type, whose name is written as in the table of types.
fn of_type(type_name: &'static str, wrapping: Wrapping, definitions: &mut Map<String, Value>) -> Value {
    let type_name = type_name.strip_prefix('*').unwrap_or(type_name);
    if let Some(element) = type_name.strip_prefix("[]") {
        let items = of_type(element, wrapping, definitions);
        return json!({ "type": "array", "items": items });
    }
    if let Some(element) = type_name.strip_prefix("map:") {
        let values = of_type(element, Wrapping::Bare, definitions);
        return json!({ "type": "object", "additionalProperties": values });
    }
    match type_name.split_once('=').map_or(type_name, |(kind, _)| kind) {
        "string" => json!({ "type": "string" }),
        "bool" => json!({ "type": "boolean" }),
        kind @ ("int32" | "int64") => json!({ "type": "integer", "format": kind }),
        _ => {
            define(type_name, definitions);
            let reference = json!({ "$ref": format!("#/definitions/{}", type_name.trim_start_matches('!')) });
            match wrapping {
                Wrapping::Bare => reference,
                Wrapping::InAllOf => json!({ "allOf": [reference] }),
            }
        }
    }
}

/// Adds a type, and those that it is made of, to the definitions.
fn define(type_name: &'static str, definitions: &mut Map<String, Value>) {
    let name = type_name.trim_start_matches('!');
    if definitions.contains_key(name) {
        return;
    }
    let schema = match name {
        "resource.Quantity" => json!({ "oneOf": [{ "type": "string" }, { "type": "number" }] }),
        "v1.Time" => json!({ "type": "string", "format": "date-time" }),
        _ => json!({ "type": "object" }),
    };
    definitions.insert(name.to_owned(), schema);
    let fields: Map<_, _> = deployment::fields(type_name)
        .into_iter()
        .map(|field| {
            let schema = of_type(field.type_name, Wrapping::InAllOf, definitions);
            (field.name.to_owned(), schema)
        })
        .collect();
    let Some(schema) = definitions.get_mut(name).filter(|_| !fields.is_empty()) else {
        return;
    };
    schema["properties"] = fields.into();
    if let Some((_, required)) = REQUIRED.iter().find(|(named, _)| *named == name) {
        schema["required"] = json!(required);
    }
}
