//! A ClusterServiceVersion as a plan installs it: as Go writes the type, with what the plan knows better.

use apply::object::{as_map, set_metadata_entry};
use bundle::cluster_service_version::ClusterServiceVersion;
use classic::hashes::{Shape, go_json};
use classic::keys;
use resolve::classic::property::{Property, to_annotation};
use serde_json::{Value, json};

use super::StepError;

/// Returns a bundle's ClusterServiceVersion for a namespace: it replaces what is installed, and carries the bundle's
/// properties.
pub fn as_installed(
    service_version: &Value,
    properties: &[Property],
    namespace: &str,
    replaces: &str,
) -> Result<Value, StepError> {
    let read = ClusterServiceVersion::decode(service_version).map_err(StepError::Unreadable)?;
    let name = read.metadata.name.clone();
    if read.api_version.is_empty() {
        return Err(StepError::MissingApiVersion(name));
    }
    if read.kind.is_empty() {
        return Err(StepError::MissingKind(name));
    }
    if read.spec.install.strategy != "deployment" {
        return Err(StepError::UnknownStrategy);
    }
    let annotation = to_annotation(properties).map_err(|source| StepError::Properties { name, source })?;
    let mut installed = service_version.clone();
    installed["metadata"]["namespace"] = Value::from(namespace);
    set_metadata_entry(&mut installed, "annotations", keys::PROPERTIES, &annotation);
    let spec = as_map(&mut installed["spec"]);
    if replaces.is_empty() {
        spec.remove("replaces");
    } else {
        spec.insert("replaces".to_owned(), Value::from(replaces));
    }
    spec.insert("version".to_owned(), Value::from(read.spec.version.0.to_string()));
    write_what_go_writes(&mut installed);
    Ok(installed)
}

/// Adds the fields that Go writes even when they are empty, so that what lands in the cluster is what upstream puts
/// there.
fn write_what_go_writes(service_version: &mut Value) {
    let empty = || json!({});
    let spec = as_map(&mut service_version["spec"]);
    for field in ["customresourcedefinitions", "apiservicedefinitions", "provider"] {
        spec.entry(field).or_insert_with(empty);
    }
    spec.entry("displayName").or_insert_with(|| json!(""));
    let cleanup = as_map(spec.entry("cleanup").or_insert_with(empty));
    cleanup.entry("enabled").or_insert(Value::Bool(false));
    let install = as_map(spec.entry("install").or_insert_with(empty));
    install.entry("strategy").or_insert_with(|| json!(""));
    let details = as_map(install.entry("spec").or_insert_with(empty));
    let deployments = details.entry("deployments").or_insert(Value::Null);
    for deployment in deployments.as_array_mut().into_iter().flatten() {
        let spec = deployment.get("spec").unwrap_or(&Value::Null);
        // What was just written reads as JSON; a text that doesn't leaves the bundle's own.
        if let Ok(written) = serde_json::from_str(&go_json(Shape::DeploymentSpec, spec)) {
            deployment["spec"] = written;
        }
    }
    let status = as_map(as_map(service_version).entry("status").or_insert_with(empty));
    status.entry("cleanup").or_insert_with(empty);
}
