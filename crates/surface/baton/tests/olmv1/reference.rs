//! Where an object is: its kind, namespace and name, and the path by which a server knows it.

use std::fmt;

use serde_json::Value;

/// One object of a cluster, whether it is there or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reference {
    api_version: String,
    kind: String,
    namespace: Option<String>,
    pub(crate) name: String,
}

impl Reference {
    /// An object that belongs to no namespace.
    pub(crate) fn cluster(api_version: &str, kind: &str, name: &str) -> Self {
        Self {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            namespace: None,
            name: name.to_owned(),
        }
    }

    /// An object in a namespace.
    pub(crate) fn namespaced(api_version: &str, kind: &str, namespace: &str, name: &str) -> Self {
        Self {
            namespace: Some(namespace.to_owned()),
            ..Self::cluster(api_version, kind, name)
        }
    }

    /// An object of OLM v1.
    pub(crate) fn olm(kind: &str, name: &str) -> Self {
        Self::cluster("olm.operatorframework.io/v1", kind, name)
    }

    /// The object that a document describes.
    pub(crate) fn of(object: &Value) -> Self {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
        Self {
            api_version: text("/apiVersion").unwrap_or_default().to_owned(),
            kind: text("/kind").unwrap_or_default().to_owned(),
            namespace: text("/metadata/namespace").map(str::to_owned),
            name: text("/metadata/name").unwrap_or_default().to_owned(),
        }
    }

    /// The path of all objects of its kind in its namespace.
    pub(crate) fn collection(&self) -> String {
        let root = if self.api_version.contains('/') {
            format!("/apis/{}", self.api_version)
        } else {
            format!("/api/{}", self.api_version)
        };
        let namespace = self
            .namespace
            .as_ref()
            .map(|namespace| format!("/namespaces/{namespace}"));
        format!("{root}{}/{}", namespace.unwrap_or_default(), plural(&self.kind))
    }

    /// The path of the object.
    pub(crate) fn path(&self) -> String {
        format!("{}/{}", self.collection(), self.name)
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(formatter, "{} {namespace}/{}", self.kind, self.name),
            None => write!(formatter, "{} {}", self.kind, self.name),
        }
    }
}

/// English is enough: no kind of the scenarios has a plural of its own.
fn plural(kind: &str) -> String {
    let singular = kind.to_ascii_lowercase();
    if let Some(stem) = singular.strip_suffix('y') {
        format!("{stem}ies")
    } else if singular.ends_with('s') {
        format!("{singular}es")
    } else {
        format!("{singular}s")
    }
}
