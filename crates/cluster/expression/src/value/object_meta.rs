//! The fields that expressions can read of every resource: `apiVersion`, `kind`, and the names in `metadata`.

use std::sync::{Arc, LazyLock};

use schema::{Reference, Schema, Type};

static STRING: LazyLock<Schema> = LazyLock::new(|| Schema {
    value_type: Type::String,
    ..Schema::anything()
});

static METADATA: LazyLock<Schema> = LazyLock::new(|| {
    let string = Arc::new(STRING.clone());
    let properties = ["name", "generateName"].map(|name| (name.into(), Reference::Inline(string.clone())));
    Schema {
        value_type: Type::Object,
        properties: properties.into_iter().collect(),
        ..Schema::anything()
    }
});

/// Returns the schema of one of the fields that every resource has.
pub(crate) fn field(name: &str) -> Option<&'static Schema> {
    match name {
        "apiVersion" | "kind" => Some(&STRING),
        "metadata" => Some(&METADATA),
        _ => None,
    }
}

/// Returns whether a schema names these fields itself, in which case it is taken as it is.
pub(crate) fn is_declared(schema: &Schema) -> bool {
    let is = |schema: &Schema, name: &str, wanted: Type| {
        schema
            .properties
            .get(name)
            .is_some_and(|found| found.schema().value_type == wanted)
    };
    is(schema, "kind", Type::String)
        && is(schema, "apiVersion", Type::String)
        && schema.properties.get("metadata").is_some_and(|metadata| {
            let metadata = metadata.schema();
            metadata.value_type == Type::Object
                && is(metadata, "name", Type::String)
                && is(metadata, "generateName", Type::String)
        })
}

/// Returns the schema of a property of an object; of a resource, also of those that its schema doesn't name.
pub(crate) fn property<'a>(schema: &'a Schema, name: &str, resource: bool) -> Option<&'a Schema> {
    if resource
        && let Some(supplied) = field(name)
        && !is_declared(schema)
    {
        return Some(supplied);
    }
    schema.properties.get(name).map(Reference::schema)
}
