//! The documents that `/openapi/v3` serves: the index, and one document for each group and version.
//!
//! Clients learn from them which fields there are (`kubectl explain`), how lists merge (server-side apply on the client,
//! diffs), and whether an operation takes `fieldValidation` (`kubectl apply`). The documents are made from the
//! definitions of the built-in kinds and, at run time, from the schemas of custom resources.
//!
//! - `entrances`: the documents of paths that lead to groups and versions
//! - [`swagger`]: the same in the older form that `/openapi/v2` serves
//! - `components`: the schemas that a document's operations reach
//! - `custom`: the schemas of a custom resource and its list
//! - `operations`: what can be done with a resource, path by path
//! - `parameters`: what operations take in the query and the path
//! - [`comparison`]: where two documents differ

pub mod comparison;
mod components;
mod custom;
mod entrances;
mod operations;
mod parameters;
pub mod swagger;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

pub use self::entrances::entrance;

/// The release that the documents of built-in kinds name.
const RELEASE: &str = "1.36";

/// A resource that is served, as a document describes it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ServedResource {
    /// The API group; empty for the core group.
    pub group: String,
    /// The version in the group.
    pub version: String,
    /// The name in paths, such as `deployments`.
    pub plural: String,
    /// The name of one, such as `deployment`.
    pub singular: String,
    /// The kind, such as `Deployment`.
    pub kind: String,
    /// The kind of a list, such as `DeploymentList`.
    pub list_kind: String,
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
    /// What can be done with it, such as `get` and `deletecollection`.
    pub verbs: Vec<String>,
    /// The names of its subresources, such as `status`.
    pub subresources: Vec<String>,
    /// The `openAPIV3Schema` of a custom resource; `None` for a built-in kind.
    pub schema: Option<Arc<Value>>,
    /// The paths of the fields that a custom resource can be selected by, such as `.spec.color`.
    pub selectable_fields: Vec<String>,
}

impl ServedResource {
    /// Returns the name of the kind's schema in `components`.
    fn component(&self) -> String {
        self.component_of(&self.kind)
    }

    /// Returns the name of the list's schema in `components`.
    fn list_component(&self) -> String {
        self.component_of(&self.list_kind)
    }

    fn component_of(&self, kind: &str) -> String {
        if self.schema.is_none()
            && let Some(definition) = crate::builtin::kind(&self.group, &self.version, kind)
        {
            return definition.to_owned();
        }
        let reversed: Vec<&str> = self.group.rsplit('.').filter(|part| !part.is_empty()).collect();
        let mut parts = reversed;
        parts.extend([self.version.as_str(), kind]);
        parts.join(".")
    }
}

/// Returns the index: for each document its name, such as `apis/apps/v1`, and its hash.
pub fn index<'a>(documents: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<u8> {
    let paths: BTreeMap<&str, Value> = documents
        .into_iter()
        .map(|(name, hash)| {
            (
                name,
                json!({ "serverRelativeURL": format!("/openapi/v3/{name}?hash={hash}") }),
            )
        })
        .collect();
    serde_json::to_vec(&json!({ "paths": paths })).unwrap_or_default()
}

/// Returns the document of a group and version, such as `apps/v1` or `v1`, as JSON.
pub fn document(api_version: &str, resources: &[ServedResource]) -> Vec<u8> {
    serde_json::to_vec(&document_value(api_version, resources)).unwrap_or_default()
}

/// Returns what determines a document, for a hash of it that doesn't need the document: equal text, equal documents.
pub fn ingredients(api_version: &str, resources: &[ServedResource]) -> Vec<u8> {
    let described: Vec<Value> = resources
        .iter()
        .map(|resource| {
            json!([
                resource.group,
                resource.version,
                resource.plural,
                resource.kind,
                resource.list_kind,
                resource.namespaced,
                resource.verbs,
                resource.subresources,
                resource.schema.as_deref(),
                resource.selectable_fields,
            ])
        })
        .collect();
    serde_json::to_vec(&json!([
        RELEASE,
        env!("CARGO_PKG_VERSION"),
        api_version,
        described
    ]))
    .unwrap_or_default()
}

/// Returns the document of a group and version.
pub fn document_value(api_version: &str, resources: &[ServedResource]) -> Value {
    let is_custom = resources.iter().any(|resource| resource.schema.is_some());
    let root = if api_version.contains('/') {
        format!("/apis/{api_version}")
    } else {
        format!("/api/{api_version}")
    };
    let mut paths = BTreeMap::new();
    if !is_custom {
        let (path, item) = operations::discovery(api_version, &root);
        paths.insert(path, item);
    }
    for resource in resources {
        paths.extend(operations::paths(resource, &root));
    }
    let own: BTreeMap<String, Value> = resources
        .iter()
        .filter_map(custom::components)
        .flatten()
        .collect();
    let schemas = components::reached(&paths, own, api_version);
    let info = if is_custom {
        json!({ "title": "Kubernetes CRD Swagger", "version": "v0.1.0" })
    } else {
        json!({ "title": "Kubernetes", "version": RELEASE })
    };
    let mut document = json!({ "openapi": "3.0.0", "info": info, "paths": paths });
    document["components"] = json!({ "schemas": schemas });
    if !is_custom {
        document["components"]["securitySchemes"] = security_schemes();
    }
    document
}

fn security_schemes() -> Value {
    json!({
        "BearerToken": {
            "type": "apiKey",
            "description": "Bearer Token authentication",
            "name": "authorization",
            "in": "header",
        },
    })
}

#[cfg(test)]
mod tests;
