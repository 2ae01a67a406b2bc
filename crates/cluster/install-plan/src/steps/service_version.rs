//! A ClusterServiceVersion as a plan installs it: as Go writes the type, with what the plan knows better.

use apply::object::{as_map, set_metadata_entry};
use bundle::cluster_service_version::ClusterServiceVersion;
use classic::hashes::{Shape, go_json};
use classic::keys;
use resolve::classic::property::{Property, to_annotation};
use serde_json::Value;

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

/// Writes the version as Go writes its type: what isn't there is empty where the type says so, and what the type doesn't
/// have is gone. What lands in the cluster is what upstream puts there, and the API server finds all that it requires.
fn write_what_go_writes(service_version: &mut Value) {
    for (field, shape) in [
        ("spec", Shape::ServiceVersionSpec),
        ("status", Shape::ServiceVersionStatus),
    ] {
        let value = service_version.get(field).unwrap_or(&Value::Null);
        // What was just written reads as JSON; a text that doesn't leaves the bundle's own.
        if let Ok(written) = serde_json::from_str(&go_json(shape, value)) {
            service_version[field] = written;
        }
    }
}
