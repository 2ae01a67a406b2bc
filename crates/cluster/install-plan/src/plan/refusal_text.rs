//! What upstream says when the server doesn't do what a step asks.

use apply::object::text;
use bundle::cluster_service_version::{GroupVersionKind, KIND as SERVICE_VERSION};
use classic::World;
use serde_json::Value;

use super::progress::Refusal;
use crate::steps::{BUNDLE_SECRET, DEFINITION};

/// Returns what upstream says when the API of a step isn't served; none where it is.
pub(super) fn missing_api(world: &World, step: &Value) -> Option<String> {
    let resource = &step["resource"];
    let wanted = GroupVersionKind {
        group: text(resource, "/group").to_owned(),
        version: text(resource, "/version").to_owned(),
        kind: text(resource, "/kind").to_owned(),
    };
    if world.served.contains(&wanted) {
        return None;
    }
    Some(format!(
        "api-server resource not found installing {kind} {name}: GroupVersionKind {group}/{version}, Kind={kind} not found \
         on the cluster. This API may have been deprecated and removed, see \
         https://kubernetes.io/docs/reference/using-api/deprecation-guide/ for more information.",
        kind = wanted.kind,
        name = text(resource, "/name"),
        group = wanted.group,
        version = wanted.version,
    ))
}

/// Returns what upstream says when the server refuses a write of a step.
pub(super) fn refused(step: &Value, refusal: &Refusal) -> String {
    let name = text(step, "/resource/name");
    let said = &refusal.message;
    let verb = if refusal.is_of_update {
        "updating"
    } else {
        "creating"
    };
    match text(step, "/resource/kind") {
        SERVICE_VERSION => format!("error creating csv {name}: {said}"),
        "Subscription" => format!("error creating subscription {name}: {said}"),
        "Secret" => format!("error creating secret {name} - {said}"),
        BUNDLE_SECRET => format!("error updating secret: {name}: {said}"),
        "ServiceAccount" => format!("error {verb} service account: {name}: {said}"),
        "Service" => format!("error updating service: {name}: {said}"),
        "ConfigMap" => format!("error updating configmap: {name}: {said}"),
        "ClusterRole" => format!("error {verb} clusterrole {name}: {said}"),
        "ClusterRoleBinding" => format!("error {verb} clusterrolebinding {name}: {said}"),
        "Role" => format!("error {verb} role {name}: {said}"),
        "RoleBinding" => format!("error {verb} rolebinding {name}: {said}"),
        DEFINITION if refusal.is_of_update => format!("error updating CRD {name:?}: {said}"),
        DEFINITION => said.clone(),
        _ => format!("error {verb} unstructured object {name}: {said}"),
    }
}
