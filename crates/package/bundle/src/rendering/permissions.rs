//! Service accounts, and the roles that bind what the ClusterServiceVersion permits them.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{RenderError, RenderOptions, list, object, text};
use crate::registry::RegistryBundle;

const RBAC: &str = "rbac.authorization.k8s.io/v1";
const PERMISSIONS: &str = "/spec/install/spec/permissions";
const CLUSTER_PERMISSIONS: &str = "/spec/install/spec/clusterPermissions";

/// The account that every namespace has already.
const DEFAULT_ACCOUNT: &str = "default";

fn account(permission: &Value) -> &str {
    Some(text(permission, "serviceAccountName"))
        .filter(|name| !name.is_empty())
        .unwrap_or(DEFAULT_ACCOUNT)
}

pub(super) fn service_accounts(
    bundle: &RegistryBundle,
    options: &RenderOptions<'_>,
) -> Result<Vec<Value>, RenderError> {
    let permissions = list(bundle, PERMISSIONS)
        .iter()
        .chain(list(bundle, CLUSTER_PERMISSIONS));
    let names: BTreeSet<&str> = permissions
        .map(account)
        .filter(|name| *name != DEFAULT_ACCOUNT)
        .collect();
    Ok(names
        .into_iter()
        .map(|name| object("v1", "ServiceAccount", name, &options.install_namespace))
        .collect())
}

pub(super) fn roles(bundle: &RegistryBundle, options: &RenderOptions<'_>) -> Result<Vec<Value>, RenderError> {
    // An operator that watches everything gets these permissions in every namespace, see `cluster_roles`.
    if options.watches_all_namespaces() {
        return Ok(Vec::new());
    }
    let in_each = options.target_namespaces.iter();
    let granted = in_each.flat_map(|namespace| {
        list(bundle, PERMISSIONS)
            .iter()
            .map(move |permission| (namespace, permission))
    });
    Ok(granted
        .flat_map(|(namespace, permission)| grant(bundle, options, permission, "Role", namespace))
        .collect())
}

pub(super) fn cluster_roles(
    bundle: &RegistryBundle,
    options: &RenderOptions<'_>,
) -> Result<Vec<Value>, RenderError> {
    let mut permissions = list(bundle, CLUSTER_PERMISSIONS).to_vec();
    if options.watches_all_namespaces() {
        let reads_namespaces =
            json!({ "verbs": ["get", "list", "watch"], "apiGroups": [""], "resources": ["namespaces"] });
        permissions.extend(list(bundle, PERMISSIONS).iter().cloned().map(|mut permission| {
            match &mut permission["rules"] {
                Value::Array(rules) => rules.push(reads_namespaces.clone()),
                other => *other = json!([reads_namespaces]),
            }
            permission
        }));
    }
    Ok(permissions
        .iter()
        .flat_map(|permission| grant(bundle, options, permission, "ClusterRole", ""))
        .collect())
}

/// A role that permits, and the binding that gives it to the operator's account.
fn grant(
    bundle: &RegistryBundle,
    options: &RenderOptions<'_>,
    permission: &Value,
    kind: &str,
    namespace: &str,
) -> [Value; 2] {
    let account = account(permission);
    let csv = text(&bundle.cluster_service_version["metadata"], "name");
    let name = (options.unique_name)(&format!("{csv}-{account}"), permission);
    let mut role = object(RBAC, kind, &name, namespace);
    if !permission["rules"].is_null() {
        role["rules"] = permission["rules"].clone();
    }
    let mut binding = object(RBAC, &format!("{kind}Binding"), &name, namespace);
    binding["subjects"] =
        json!([{ "kind": "ServiceAccount", "name": account, "namespace": options.install_namespace }]);
    binding["roleRef"] = json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name });
    [role, binding]
}
