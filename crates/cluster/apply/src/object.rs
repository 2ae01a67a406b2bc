//! What an object is called, and what is read of any object whatever its kind.

use std::fmt;

use serde_json::{Map, Value};

/// An object of a cluster by its kind, namespace and name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct ObjectId {
    /// The group and version, as objects write it.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// The namespace; empty for none.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl ObjectId {
    /// Reads what an object says of itself; what it doesn't say is empty.
    pub fn of(object: &Value) -> Self {
        Self {
            api_version: text(object, "/apiVersion").to_owned(),
            kind: text(object, "/kind").to_owned(),
            namespace: text(object, "/metadata/namespace").to_owned(),
            name: text(object, "/metadata/name").to_owned(),
        }
    }

    /// Returns the API group; empty for the core.
    pub fn group(&self) -> &str {
        group_and_version(&self.api_version).0
    }

    /// Returns the version within the group.
    pub fn version(&self) -> &str {
        group_and_version(&self.api_version).1
    }

    /// Returns how conditions name the object: `Deployment.apps/v1 namespace/name`.
    pub fn in_conditions(&self) -> String {
        format!(
            "{}.{} {}/{}",
            self.kind, self.api_version, self.namespace, self.name
        )
    }
}

impl fmt::Display for ObjectId {
    /// Writes how errors name the object: `apps/v1, Kind=Deployment namespace/name`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{}/{}, Kind={} {}/{}",
            self.group(),
            self.version(),
            self.kind,
            self.namespace,
            self.name
        )
    }
}

/// Splits what stands in `apiVersion`; a text with more than one slash has no group.
pub(crate) fn group_and_version(api_version: &str) -> (&str, &str) {
    match api_version.split_once('/') {
        Some((group, version)) if !version.contains('/') => (group, version),
        _ => ("", api_version),
    }
}

/// Returns what is at a JSON pointer, like `Value::pointer`, which copies each part of the pointer twice in search of escaped
/// characters. Controllers look at objects by pointers all the time, and hardly one of those has any.
pub fn at<'a>(object: &'a Value, pointer: &str) -> Option<&'a Value> {
    if pointer.contains('~') {
        return object.pointer(pointer);
    }
    let Some(parts) = pointer.strip_prefix('/') else {
        return pointer.is_empty().then_some(object);
    };
    parts.split('/').try_fold(object, |value, part| match value {
        Value::Object(fields) => fields.get(part),
        Value::Array(_) => value.pointer(&format!("/{part}")),
        _ => None,
    })
}

/// Returns the text at a JSON pointer; empty where there is none.
pub fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    at(object, pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the generation of an object's spec, 0 if it has none.
pub fn generation(object: &Value) -> i64 {
    at(object, "/metadata/generation")
        .and_then(Value::as_i64)
        .unwrap_or_default()
}

/// Returns whether the object is on its way out.
pub fn is_terminating(object: &Value) -> bool {
    !text(object, "/metadata/deletionTimestamp").is_empty()
}

/// Returns an annotation.
pub fn annotation<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    at(object, "/metadata/annotations")?
        .as_object()?
        .get(key)?
        .as_str()
}

/// Returns a label.
pub fn label<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    at(object, "/metadata/labels")?.as_object()?.get(key)?.as_str()
}

/// Sets one entry of a map in the metadata, such as a label; what was no map becomes one.
pub fn set_metadata_entry(object: &mut Value, map: &str, key: &str, value: &str) {
    let Some(object) = object.as_object_mut() else {
        return;
    };
    as_map(
        as_map(object.entry("metadata").or_insert(Value::Null))
            .entry(map)
            .or_insert(Value::Null),
    )
    .insert(key.to_owned(), Value::from(value));
}

/// Returns the map that a value is, after making it one.
pub fn as_map(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    match value {
        Value::Object(map) => map,
        _ => unreachable!("it was just made a map"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pointers_lead_where_the_librarys_do() {
        let object = json!({"a": {"b": ["c", {"d~e": 1, "f/g": 2, "": 3}]}, "": {"": 4}});
        for pointer in [
            "",
            "/",
            "//",
            "/a",
            "/a/b",
            "/a/b/1",
            "/a/b/01",
            "/a/b/2",
            "/a/b/1/d~0e",
            "/a/b/1/f~1g",
            "/a/b/1/",
            "a",
            "/a/b/-",
            "/a/b/0/c",
            "/z",
        ] {
            assert_eq!(at(&object, pointer), object.pointer(pointer), "{pointer:?}");
        }
    }

    #[test]
    fn an_object_is_named_as_upstream_names_it() {
        let object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a", "namespace": "b"}});
        let id = ObjectId::of(&object);
        assert_eq!(id.to_string(), "apps/v1, Kind=Deployment b/a");
        assert_eq!(id.in_conditions(), "Deployment.apps/v1 b/a");
        let id = ObjectId::of(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}));
        assert_eq!(id.to_string(), "/v1, Kind=Namespace /a");
    }

    #[test]
    fn an_entry_is_set_whatever_stood_there() {
        let mut object = json!({"metadata": 3});
        set_metadata_entry(&mut object, "labels", "a", "b");
        assert_eq!(object, json!({"metadata": {"labels": {"a": "b"}}}));
        let mut nothing = json!(null);
        set_metadata_entry(&mut nothing, "labels", "a", "b");
        assert_eq!(nothing, json!(null));
    }
}
