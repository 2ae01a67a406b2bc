//! The schemas of a custom resource and its list.

use serde_json::{Map, Value, json};

use super::ServedResource;
use super::components::reference;
use crate::builtin::OBJECT_META;

const LIST_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";

const CONVENTIONS: &str =
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md";

/// Returns the schemas of a custom resource by name; `None` for a built-in kind.
pub(super) fn components(resource: &ServedResource) -> Option<[(String, Value); 2]> {
    let schema = resource.schema.as_deref()?;
    let mut own = [
        (resource.component(), kind_schema(resource, schema)),
        (resource.list_component(), list_schema(resource)),
    ];
    if !resource.selectable_fields.is_empty() {
        let fields: Vec<Value> = resource
            .selectable_fields
            .iter()
            .map(|path| json!({ "fieldPath": path.trim_start_matches('.') }))
            .collect();
        for (_, schema) in &mut own {
            schema["x-kubernetes-selectable-fields"] = fields.clone().into();
        }
    }
    Some(own)
}

fn api_version_field() -> Value {
    json!({
        "description": format!(
            "APIVersion defines the versioned schema of this representation of an object. Servers should convert \
             recognized schemas to the latest internal value, and may reject unrecognized values. More info: \
             {CONVENTIONS}#resources"
        ),
        "type": "string",
    })
}

fn kind_field() -> Value {
    json!({
        "description": format!(
            "Kind is a string value representing the REST resource this object represents. Servers may infer this from \
             the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: \
             {CONVENTIONS}#types-kinds"
        ),
        "type": "string",
    })
}

fn metadata_field(definition: &str, description: &str) -> Value {
    json!({ "description": description, "allOf": [reference(definition)] })
}

fn object_metadata() -> Value {
    metadata_field(
        OBJECT_META,
        &format!("Standard object's metadata. More info: {CONVENTIONS}#metadata"),
    )
}

fn group_version_kind(resource: &ServedResource, kind: &str) -> Value {
    json!([{ "group": resource.group, "kind": kind, "version": resource.version }])
}

fn kind_schema(resource: &ServedResource, schema: &Value) -> Value {
    let mut schema = completed(schema);
    let Some(fields) = schema.as_object_mut() else {
        return schema;
    };
    fields.insert("type".into(), "object".into());
    let properties = fields
        .entry("properties")
        .or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(properties) = properties {
        properties.insert("apiVersion".into(), api_version_field());
        properties.insert("kind".into(), kind_field());
        properties.insert("metadata".into(), object_metadata());
    }
    fields.insert(
        "x-kubernetes-group-version-kind".into(),
        group_version_kind(resource, &resource.kind),
    );
    schema
}

fn list_schema(resource: &ServedResource) -> Value {
    json!({
        "description": format!("{} is a list of {}", resource.list_kind, resource.kind),
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": api_version_field(),
            "kind": kind_field(),
            "metadata": metadata_field(LIST_META, &format!("Standard list metadata. More info: {CONVENTIONS}#types-kinds"),
            ),
            "items": {
                "description": format!("List of {}. More info: {CONVENTIONS}", resource.plural),
                "type": "array",
                "items": reference(&resource.component()),
            },
        },
        "x-kubernetes-group-version-kind": group_version_kind(resource, &resource.list_kind),
    })
}

/// Returns a schema with what the extensions imply: the two types of a whole number that may be a string, and the fields
/// that every resource inside of another one has.
fn completed(schema: &Value) -> Value {
    let Some(fields) = schema.as_object() else {
        return schema.clone();
    };
    let mut completed = Map::new();
    for (key, value) in fields {
        let value = match (key.as_str(), value) {
            ("properties", Value::Object(properties)) => Value::Object(
                properties
                    .iter()
                    .map(|(name, property)| (name.clone(), self::completed(property)))
                    .collect(),
            ),
            ("items" | "additionalProperties", inner) => self::completed(inner),
            _ => value.clone(),
        };
        completed.insert(key.clone(), value);
    }
    if is_true(fields, "x-kubernetes-int-or-string") {
        let types = json!([{ "type": "integer" }, { "type": "string" }]);
        completed.entry("anyOf").or_insert(types);
    }
    if is_true(fields, "x-kubernetes-embedded-resource") {
        complete_embedded(&mut completed);
    }
    Value::Object(completed)
}

fn is_true(fields: &Map<String, Value>, key: &str) -> bool {
    fields.get(key).and_then(Value::as_bool) == Some(true)
}

fn complete_embedded(schema: &mut Map<String, Value>) {
    let properties = schema
        .entry("properties")
        .or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(properties) = properties {
        let api_version = format!(
            "apiVersion defines the versioned schema of this representation of an object. More info: \
             {CONVENTIONS}#resources"
        );
        let kind = format!(
            "kind is a string value representing the type of this object. In CamelCase. More info: \
             {CONVENTIONS}#types-kinds"
        );
        properties.insert(
            "apiVersion".into(),
            json!({ "description": api_version, "type": "string" }),
        );
        properties.insert("kind".into(), json!({ "description": kind, "type": "string" }));
        properties.insert("metadata".into(), object_metadata());
    }
    let required = schema.entry("required").or_insert_with(|| json!([]));
    if let Value::Array(required) = required {
        for name in ["kind", "apiVersion"] {
            if !required.iter().any(|present| present == name) {
                required.push(name.into());
            }
        }
    }
}
