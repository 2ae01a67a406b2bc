//! Objects as a server sends them, without the list of who owns which field.
//!
//! That list is often longer than the object, and few read it: it is passed over while the object is read, in place of being
//! read and thrown away. What watches need of the metadata is beside the object.

use std::borrow::Cow;
use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::core::{ApiResource, DynamicResourceScope};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value};

use crate::object::text;

/// An object of any kind without `metadata.managedFields`.
#[derive(Debug, Clone)]
pub struct Unmanaged {
    /// The object.
    pub object: Value,
    /// Its names and its version, and nothing else.
    metadata: ObjectMeta,
}

impl Unmanaged {
    fn new(object: Value) -> Self {
        let named = |pointer| Some(text(&object, pointer).to_owned()).filter(|name| !name.is_empty());
        let metadata = ObjectMeta {
            name: named("/metadata/name"),
            namespace: named("/metadata/namespace"),
            uid: named("/metadata/uid"),
            resource_version: named("/metadata/resourceVersion"),
            ..ObjectMeta::default()
        };
        Self { object, metadata }
    }
}

impl<'de> Deserialize<'de> for Unmanaged {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields = deserializer.deserialize_map(Part::Object)?;
        Ok(Self::new(Value::Object(fields)))
    }
}

/// What is being read: an object, or its metadata.
#[derive(Clone, Copy)]
enum Part {
    Object,
    Metadata,
}

impl<'de> Visitor<'de> for Part {
    type Value = Map<String, Value>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut fields = Map::new();
        while let Some(name) = entries.next_key::<String>()? {
            match (self, name.as_str()) {
                (Self::Object, "metadata") => {
                    let metadata = entries.next_value_seed(Metadata)?;
                    fields.insert(name, metadata);
                }
                (Self::Metadata, "managedFields") => {
                    entries.next_value::<IgnoredAny>()?;
                }
                _ => {
                    let value = entries.next_value()?;
                    fields.insert(name, value);
                }
            }
        }
        Ok(fields)
    }
}

/// Reads metadata.
struct Metadata;

impl<'de> DeserializeSeed<'de> for Metadata {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_map(Part::Metadata).map(Value::Object)
    }
}

impl Resource for Unmanaged {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn kind(resource: &ApiResource) -> Cow<'_, str> {
        resource.kind.as_str().into()
    }

    fn group(resource: &ApiResource) -> Cow<'_, str> {
        resource.group.as_str().into()
    }

    fn version(resource: &ApiResource) -> Cow<'_, str> {
        resource.version.as_str().into()
    }

    fn api_version(resource: &ApiResource) -> Cow<'_, str> {
        resource.api_version.as_str().into()
    }

    fn plural(resource: &ApiResource) -> Cow<'_, str> {
        resource.plural.as_str().into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn who_owns_which_field_is_passed_over_and_nothing_else() {
        let mut object = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "name": "a", "namespace": "n", "uid": "u", "resourceVersion": "7", "labels": {"managedFields": "a label"},
                "managedFields": [{"manager": "someone", "fieldsV1": {"f:data": {}}}],
            },
            "managedFields": "no metadata", "data": {"metadata": "none"},
        });
        let read: Unmanaged = serde_json::from_str(&object.to_string()).expect("an object");
        object["metadata"]
            .as_object_mut()
            .expect("metadata")
            .remove("managedFields");
        assert_eq!(read.object, object);
        let metadata = read.meta();
        assert_eq!(metadata.name.as_deref(), Some("a"));
        assert_eq!(metadata.namespace.as_deref(), Some("n"));
        assert_eq!(metadata.uid.as_deref(), Some("u"));
        assert_eq!(metadata.resource_version.as_deref(), Some("7"));
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for text in ["[]", "7", "{\"metadata\": []}", "{\"metadata\": null}"] {
            assert!(serde_json::from_str::<Unmanaged>(text).is_err(), "{text}");
        }
        let read: Unmanaged = serde_json::from_str("{\"kind\": \"Status\"}").expect("an object");
        assert_eq!(read.meta().name, None);
    }
}
