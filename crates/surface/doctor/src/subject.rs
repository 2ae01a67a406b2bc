//! What an object is called in a report.

use std::fmt;

use apply::object::ObjectId;
use classic::kind::Naming;
use serde::Serialize;
use serde_json::Value;

/// An object that something is said of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Subject {
    /// The kind.
    pub kind: String,
    /// The API group; empty for the core.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// The namespace; empty for none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The name; empty for all objects of the kind.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
}

impl Subject {
    /// Names an object of a known kind.
    pub fn new(kind: Naming, namespace: &str, name: &str) -> Self {
        Self {
            kind: kind.kind.to_owned(),
            group: group(kind.api_version).to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    /// Reads what an object says of itself.
    pub fn of(object: &Value) -> Self {
        let id = ObjectId::of(object);
        Self {
            group: id.group().to_owned(),
            kind: id.kind,
            namespace: id.namespace,
            name: id.name,
        }
    }

    /// Returns how kubectl is told of the object: the resource, the name and the namespace.
    pub fn for_kubectl(&self) -> String {
        let resource = self.kind.to_lowercase();
        let resource = match self.group.as_str() {
            // Nothing else has these names, and they are what people type.
            "" | "apps" => resource,
            group => format!("{resource}.{group}"),
        };
        match self.namespace.as_str() {
            "" => format!("{resource} {}", self.name),
            namespace => format!("{resource} {} -n {namespace}", self.name),
        }
    }

    /// Returns the command that shows all that is known of the object.
    pub fn describe(&self) -> String {
        format!("kubectl describe {}", self.for_kubectl())
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.kind)?;
        match (self.namespace.as_str(), self.name.as_str()) {
            ("", "") => Ok(()),
            ("", name) => write!(formatter, " {name}"),
            (namespace, "") => write!(formatter, " {namespace}/*"),
            (namespace, name) => write!(formatter, " {namespace}/{name}"),
        }
    }
}

/// Returns the group of what stands in `apiVersion`; empty for the core.
pub(crate) fn group(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_is_named_for_people_and_for_kubectl() {
        let object = |api_version: &str, kind: &str, namespace: Option<&str>| {
            Subject::of(&json!({"apiVersion": api_version, "kind": kind,
                "metadata": {"name": "web", "namespace": namespace}}))
        };
        for (subject, said, typed) in [
            (
                object("apps/v1", "Deployment", Some("a")),
                "Deployment a/web",
                "deployment web -n a",
            ),
            (object("v1", "Namespace", None), "Namespace web", "namespace web"),
            (
                object("operators.coreos.com/v1alpha1", "Subscription", Some("a")),
                "Subscription a/web",
                "subscription.operators.coreos.com web -n a",
            ),
        ] {
            assert_eq!(subject.to_string(), said);
            assert_eq!(subject.for_kubectl(), typed);
        }
    }
}
