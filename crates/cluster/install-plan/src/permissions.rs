//! The service accounts of a ClusterServiceVersion with the roles and bindings that give them what it permits.

use std::collections::BTreeMap;

use apply::object::text;
use bundle::cluster_service_version::KIND;
use classic::{Kind, hashes, keys, names};
use serde_json::{Map, Value, json};

use crate::reference;

/// The account that every namespace has already.
pub const DEFAULT_ACCOUNT: &str = "default";

const RBAC_GROUP: &str = "rbac.authorization.k8s.io";

/// One service account and what binds permissions to it. The objects have no `kind`, as upstream keeps them in plans.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AccountPermissions {
    /// The service account.
    pub account: Value,
    /// Its roles.
    pub roles: Vec<Value>,
    /// The bindings of its roles.
    pub role_bindings: Vec<Value>,
    /// Its cluster roles.
    pub cluster_roles: Vec<Value>,
    /// The bindings of its cluster roles.
    pub cluster_role_bindings: Vec<Value>,
}

/// Returns what a ClusterServiceVersion permits, by service account in the order of their names.
pub fn of_service_version(service_version: &Value) -> BTreeMap<String, AccountPermissions> {
    let name = text(service_version, "/metadata/name");
    let namespace = text(service_version, "/metadata/namespace");
    let owner = reference::to_owner(Kind::ClusterServiceVersion, name, "");
    let mut accounts: BTreeMap<String, AccountPermissions> = BTreeMap::new();
    for permission in list(service_version, "/spec/install/spec/permissions") {
        let account = text(permission, "/serviceAccountName");
        let entry = accounts
            .entry(account.to_owned())
            .or_insert_with(|| AccountPermissions {
                account: json!({"metadata": {
                    "name": account, "namespace": namespace, "ownerReferences": [owner],
                }}),
                ..AccountPermissions::default()
            });
        let role_name = names::role(name, permission);
        let metadata = |hash: String| {
            json!({
                "name": role_name,
                "namespace": namespace,
                "labels": labels(name, namespace, &hash),
                "ownerReferences": [owner],
            })
        };
        let (role, binding) = grant(permission, "Role", &role_name, account, namespace, metadata);
        entry.roles.push(role);
        entry.role_bindings.push(binding);
    }
    for permission in list(service_version, "/spec/install/spec/clusterPermissions") {
        let account = text(permission, "/serviceAccountName");
        let entry = accounts
            .entry(account.to_owned())
            .or_insert_with(|| AccountPermissions {
                account: json!({"metadata": {"name": account, "ownerReferences": [owner]}}),
                ..AccountPermissions::default()
            });
        let role_name = names::cluster_role(name, namespace, permission);
        let metadata = |hash: String| json!({"name": role_name, "labels": labels(name, namespace, &hash)});
        let (role, mut binding) = grant(
            permission,
            "ClusterRole",
            &role_name,
            account,
            namespace,
            metadata,
        );
        // Upstream's bindings of cluster roles carry a namespace, which the API server drops.
        if !namespace.is_empty() {
            binding["metadata"]["namespace"] = Value::from(namespace);
        }
        entry.cluster_roles.push(role);
        entry.cluster_role_bindings.push(binding);
    }
    accounts
}

fn list<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    object
        .pointer(pointer)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn labels(owner: &str, namespace: &str, hash: &str) -> Value {
    json!({
        keys::OWNER: owner,
        keys::OWNER_NAMESPACE: namespace,
        keys::OWNER_KIND: KIND,
        keys::PERMISSIONS_HASH: hash,
    })
}

/// A role that permits, and the binding that gives it to the account.
fn grant(
    permission: &Value,
    kind: &str,
    role_name: &str,
    account: &str,
    namespace: &str,
    metadata: impl Fn(String) -> Value,
) -> (Value, Value) {
    let rules = permission.get("rules").unwrap_or(&Value::Null);
    let role = json!({"metadata": metadata(hashes::rules_hash(rules)), "rules": rules});
    let role_reference = json!({"apiGroup": RBAC_GROUP, "kind": kind, "name": role_name});
    let mut subject = Map::new();
    subject.insert("kind".to_owned(), Value::from("ServiceAccount"));
    subject.insert("name".to_owned(), Value::from(account));
    if !namespace.is_empty() {
        subject.insert("namespace".to_owned(), Value::from(namespace));
    }
    let subjects = json!([subject]);
    let hash = hashes::binding_hash(&role_reference, &subjects);
    let binding = json!({"metadata": metadata(hash), "subjects": subjects, "roleRef": role_reference});
    (role, binding)
}
