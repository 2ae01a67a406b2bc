//! Objects in the form that was asked for.

use std::sync::LazyLock;

use bytes::{BufMut as _, Bytes, BytesMut};
use jiff::Timestamp;
use kinds::columns::Column;
use kinds::columns::custom::Columns;
use serde_json::{Value, json};

use super::negotiation::{Accepted, Format, Shape};
use crate::object::Object;
use crate::resource::{Nature, Resource};
use crate::status::Status;

/// Writes a value.
pub fn write(value: &Value, accepted: &Accepted) -> Result<Bytes, Status> {
    match accepted.format {
        Format::Protobuf => match schema::protobuf::encode(value) {
            Ok(bytes) => Ok(bytes.into()),
            Err(error) => Err(Status::internal(error)),
        },
        Format::Yaml => goyaml::to_string(value)
            .map(Bytes::from)
            .map_err(Status::internal),
        Format::Json if accepted.pretty => {
            let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
            text.push('\n');
            Ok(text.into())
        }
        Format::Json => {
            let mut bytes = BytesMut::new().writer();
            // Writing to memory doesn't fail.
            let _ = serde_json::to_writer(&mut bytes, value);
            let mut bytes = bytes.into_inner();
            bytes.put_u8(b'\n');
            Ok(bytes.freeze())
        }
    }
}

/// How much of an object is in each row of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Included {
    /// Nothing.
    None,
    /// Its metadata.
    #[default]
    Metadata,
    /// All of it.
    Object,
}

impl Included {
    /// Reads the `includeObject` of a query.
    pub fn read(text: &str) -> Result<Self, Status> {
        match text {
            "" | "Metadata" => Ok(Self::Metadata),
            "None" => Ok(Self::None),
            "Object" => Ok(Self::Object),
            other => Err(Status::bad_request(format!(
                "Unable to convert to Table as requested: includeObject: Invalid value: {}: must be 'Metadata', \
                 'Object', 'None', or empty",
                schema::field_error::shown(&Value::from(other))
            ))),
        }
    }
}

/// Returns an object in the shape that was asked for.
pub fn object(resource: &Resource, accepted: &Accepted, object: Value, included: Included) -> Value {
    match accepted.shape {
        Shape::Whole | Shape::Discovery(_) => object,
        Shape::Metadata => metadata_only(object),
        Shape::Table => {
            let version = object.metadata_text("resourceVersion").to_owned();
            table(
                resource,
                vec![object],
                json!({"resourceVersion": version}),
                included,
                true,
            )
        }
    }
}

/// Returns an object of a watch in the shape that was asked for; only the first table has columns.
pub fn watched(resource: &Resource, accepted: &Accepted, object: Value, first: bool) -> Value {
    match accepted.shape {
        Shape::Whole | Shape::Discovery(_) => object,
        Shape::Metadata => metadata_only(object),
        Shape::Table => {
            let version = object.metadata_text("resourceVersion").to_owned();
            table(
                resource,
                vec![object],
                json!({"resourceVersion": version}),
                Included::Metadata,
                first,
            )
        }
    }
}

/// Returns only the metadata of an object.
pub fn metadata_only(mut object: Value) -> Value {
    let metadata = object.get_mut("metadata").map(Value::take).unwrap_or_default();
    document("meta.k8s.io/v1", "PartialObjectMetadata", metadata, [])
}

/// Returns the list of the metadata of objects.
pub fn metadata_list(objects: Vec<Value>, metadata: Value) -> Value {
    let items: Value = objects.into_iter().map(metadata_only).collect();
    let kind = "PartialObjectMetadataList";
    document("meta.k8s.io/v1", kind, metadata, [("items", items)])
}

/// Returns a document with metadata and more. What it is made of may be large and is moved; `json!` would copy it.
pub fn document<const MORE: usize>(
    api_version: &str,
    kind: &str,
    metadata: Value,
    more: [(&str, Value); MORE],
) -> Value {
    let named = [
        ("kind", kind.into()),
        ("apiVersion", api_version.into()),
        ("metadata", metadata),
    ];
    let fields = named.into_iter().chain(more);
    Value::Object(fields.map(|(name, value)| (name.to_owned(), value)).collect())
}

/// The columns of the Scale of a custom resource.
static CUSTOM_SCALE: LazyLock<Columns> = LazyLock::new(|| {
    let built_in = kinds::columns::columns("autoscaling", "Scale").unwrap_or_default();
    let age = built_in
        .last()
        .map(|age| age.description.as_str())
        .unwrap_or_default();
    Columns::from_definitions(&[
        json!({"name": "Desired", "type": "integer", "description": "Number of desired replicas", "jsonPath": ".spec.replicas"}),
        json!({"name": "Available", "type": "integer", "description": "Number of actual replicas", "jsonPath": ".status.replicas"}),
        json!({"name": "Age", "type": "date", "description": age, "jsonPath": ".metadata.creationTimestamp"}),
    ])
    .unwrap_or_default()
});

/// Returns the Scale of an object in the shape that was asked for.
pub fn scale(resource: &Resource, accepted: &Accepted, scale: Value, included: Included) -> Value {
    match accepted.shape {
        Shape::Whole | Shape::Discovery(_) => scale,
        Shape::Metadata => metadata_only(scale),
        Shape::Table => {
            let metadata = json!({"resourceVersion": scale.metadata_text("resourceVersion")});
            let printing = match &resource.nature {
                Nature::BuiltIn(_) => Printing::BuiltIn("autoscaling", "Scale"),
                Nature::Custom(_) => Printing::Custom(&CUSTOM_SCALE),
            };
            printing.table(vec![scale], metadata, included, true)
        }
    }
}

/// Returns the rows of objects as `kubectl get` prints them.
pub fn table(
    resource: &Resource,
    objects: Vec<Value>,
    metadata: Value,
    included: Included,
    columns: bool,
) -> Value {
    let printing = match &resource.nature {
        Nature::BuiltIn(row) => Printing::BuiltIn(row.group, row.kind),
        Nature::Custom(custom) => Printing::Custom(&custom.columns),
    };
    printing.table(objects, metadata, included, columns)
}

/// Whose columns an object is printed in.
enum Printing<'a> {
    /// Those of a built-in kind, by its group and name.
    BuiltIn(&'static str, &'static str),
    /// Those that a definition has.
    Custom(&'a Columns),
}

impl Printing<'_> {
    fn table(&self, objects: Vec<Value>, metadata: Value, included: Included, columns: bool) -> Value {
        let now = Timestamp::now();
        let mut rows = Vec::with_capacity(objects.len());
        for object in objects {
            let printed = match self {
                Self::BuiltIn(group, kind) => kinds::columns::row(group, kind, &object, now),
                Self::Custom(columns) => columns.row(&object, now),
            };
            let shown = match included {
                Included::None => Value::Null,
                Included::Metadata => metadata_only(object),
                Included::Object => object,
            };
            rows.push(printed.to_value(shown));
        }
        let own_columns = match self {
            Self::BuiltIn(group, kind) => kinds::columns::columns(group, kind),
            Self::Custom(columns) => Some(columns.columns()),
        };
        let definitions = if columns {
            match own_columns {
                Some(own) => described(own),
                None => described(kinds::columns::default_columns()),
            }
        } else {
            Value::Null
        };
        // A kind without columns of its own has no list of rows where it has no objects.
        let rows = if rows.is_empty() && own_columns.is_none() {
            Value::Null
        } else {
            rows.into()
        };
        let parts = [("columnDefinitions", definitions), ("rows", rows)];
        document("meta.k8s.io/v1", "Table", metadata, parts)
    }
}

fn described(columns: &[Column]) -> Value {
    columns.iter().map(Column::to_value).collect()
}

/// Returns the table that tells a watcher how far it is.
pub fn bookmark_table(revision: &str, end_of_initial_events: bool) -> Value {
    let mut metadata = json!({"resourceVersion": revision, "creationTimestamp": null});
    if end_of_initial_events {
        metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
    }
    let object =
        json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata});
    json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {"resourceVersion": revision},
        "columnDefinitions": null, "rows": [{"cells": [], "object": object}],
    })
}
