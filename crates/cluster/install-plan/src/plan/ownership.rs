//! Which ClusterServiceVersion the objects of a step belong to.

use apply::object::{ObjectId, as_map, text};
use bundle::cluster_service_version::KIND as SERVICE_VERSION;
use classic::{Kind, World};
use serde_json::{Value, json};

use super::execution::{Pause, Run, StepFailure};
use super::object::StepAct;
use super::versions;
use crate::reference;

/// Makes a ClusterServiceVersion an owner of an object; its identity is found by [`identify_owners`].
pub(super) fn add_owner(object: &mut Value, version: &str) {
    let owner = reference::to_owner(Kind::ClusterServiceVersion, version, "");
    let owners = as_map(&mut object["metadata"])
        .entry("ownerReferences")
        .or_insert_with(|| json!([]));
    if let Value::Array(owners) = owners {
        owners.push(owner);
    }
}

/// Gives owner references to ClusterServiceVersions the identity that the server gave those; or says what is to be seen
/// for it.
pub(super) fn identify_owners(run: &Run<'_>, object: &mut Value) -> Result<Option<StepAct>, Pause> {
    let namespace = text(run.plan, "/metadata/namespace");
    let name = text(object, "/metadata/name").to_owned();
    let kind = text(object, "/kind").to_owned();
    let owners = object
        .pointer_mut("/metadata/ownerReferences")
        .and_then(Value::as_array_mut);
    for owner in owners.into_iter().flatten() {
        if text(owner, "/kind") != SERVICE_VERSION {
            continue;
        }
        let version = text(owner, "/name").to_owned();
        let Some(found) = run.world.get(Kind::ClusterServiceVersion, namespace, &version) else {
            let id = ObjectId {
                api_version: reference::ALPHA.to_owned(),
                kind: SERVICE_VERSION.to_owned(),
                namespace: namespace.to_owned(),
                name: version.clone(),
            };
            if !run.progress.looked.contains(&id) {
                return Ok(Some(StepAct::Look(id)));
            }
            let what = match kind.as_str() {
                "Role" => format!("role {name}"),
                "RoleBinding" => format!("rolebinding {name}"),
                "Secret" => format!("secret {name}"),
                "ServiceAccount" => format!("service account: {name}"),
                "Service" => format!("service: {name}"),
                "ConfigMap" => format!("configmap: {name}"),
                _ => format!("unstructured object: {name}"),
            };
            return Err(StepFailure::new(format!(
                "error generating ownerrefs for {what}: clusterserviceversions.operators.coreos.com {version:?} not found"
            ))
            .into());
        };
        owner["uid"] = Value::from(text(found, "/metadata/uid"));
    }
    Ok(None)
}

/// Refuses a dependency that owns what another version in the namespace owns.
pub(super) fn check_owners(world: &World, plan: &Value, version: &Value) -> Result<(), Pause> {
    let name = text(version, "/metadata/name");
    if versions(plan).contains(&name) {
        return Ok(());
    }
    let namespace = text(plan, "/metadata/namespace");
    for definition in owned(version) {
        let owners: Vec<&str> = world
            .in_namespace(Kind::ClusterServiceVersion, namespace)
            .filter(|other| owned(other).any(|other| other == definition))
            .map(|other| text(other, "/metadata/name"))
            .collect();
        match owners.as_slice() {
            [] => {}
            [only] if *only == name => {}
            [_] => {
                return Err(StepFailure::new(format!(
                    "pre-existing CRD owners found for owned CRD(s) of dependent CSV {name}"
                ))
                .into());
            }
            several => {
                return Err(StepFailure::new(format!(
                    "error checking crd owners for: {name}: Existing CSVs [{}] in namespace {namespace} all claim to own \
                     CRD {definition}",
                    several.join(" ")
                ))
                .into());
            }
        }
    }
    Ok(())
}

/// The definitions that a ClusterServiceVersion owns.
pub(super) fn owned(version: &Value) -> impl Iterator<Item = &str> {
    let owned = version
        .pointer("/spec/customresourcedefinitions/owned")
        .and_then(Value::as_array);
    owned
        .into_iter()
        .flatten()
        .map(|definition| text(definition, "/name"))
}
