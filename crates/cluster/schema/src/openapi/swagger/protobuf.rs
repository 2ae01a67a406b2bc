//! The document in the binary form that Go's clients ask for: gnostic's messages of OpenAPI v2.

use serde_json::Value;

use crate::protobuf::wire::{BackwardWriter, FIXED64};

/// A field of a message: its key in JSON, its number, and what it holds.
type Field = (&'static str, u32, Holds);

/// A message by its fields, from the lowest number to the highest. What isn't among them and begins with `x-` is an
/// extension and has the last number.
struct Message {
    fields: &'static [Field],
    extensions: u32,
}

#[derive(Clone, Copy)]
enum Holds {
    Text,
    Texts,
    Flag,
    Whole,
    Fraction,
    /// Any value, as YAML.
    Any,
    /// Any values, each as YAML.
    Anys,
    One(&'static Message),
    /// A map whose entries are messages.
    Named(&'static Message),
    /// Whole objects by their keys, in a message of its own around them.
    NamedWithin(&'static Message),
    /// A text or a list of them, in a message of its own.
    TextsWithin,
    /// A schema or a list of them, in a message of its own.
    SchemasWithin,
    /// A schema or whether there may be any.
    SchemaOrFlag,
    /// A schema as one of the kinds of schemas.
    SchemaItem,
    Parameters,
    NamedParameters,
    Responses,
    SecurityDefinitions,
    Security,
}

const NO_EXTENSIONS: u32 = 0;

static DOCUMENT: Message = Message {
    fields: &[
        ("swagger", 1, Holds::Text),
        ("info", 2, Holds::One(&INFO)),
        ("paths", 8, Holds::Named(&PATH_ITEM)),
        ("definitions", 9, Holds::NamedWithin(&SCHEMA)),
        ("parameters", 10, Holds::NamedParameters),
        ("security", 12, Holds::Security),
        ("securityDefinitions", 13, Holds::SecurityDefinitions),
    ],
    extensions: 16,
};

static INFO: Message = Message {
    fields: &[("title", 1, Holds::Text), ("version", 2, Holds::Text)],
    extensions: 7,
};

static PATH_ITEM: Message = Message {
    fields: &[
        ("get", 2, Holds::One(&OPERATION)),
        ("put", 3, Holds::One(&OPERATION)),
        ("post", 4, Holds::One(&OPERATION)),
        ("delete", 5, Holds::One(&OPERATION)),
        ("options", 6, Holds::One(&OPERATION)),
        ("head", 7, Holds::One(&OPERATION)),
        ("patch", 8, Holds::One(&OPERATION)),
        ("parameters", 9, Holds::Parameters),
    ],
    extensions: 10,
};

static OPERATION: Message = Message {
    fields: &[
        ("tags", 1, Holds::Texts),
        ("description", 3, Holds::Text),
        ("operationId", 5, Holds::Text),
        ("produces", 6, Holds::Texts),
        ("consumes", 7, Holds::Texts),
        ("parameters", 8, Holds::Parameters),
        ("responses", 9, Holds::Responses),
        ("schemes", 10, Holds::Texts),
    ],
    extensions: 13,
};

static RESPONSE: Message = Message {
    fields: &[("description", 1, Holds::Text), ("schema", 2, Holds::SchemaItem)],
    extensions: 5,
};

static BODY_PARAMETER: Message = Message {
    fields: &[
        ("description", 1, Holds::Text),
        ("name", 2, Holds::Text),
        ("in", 3, Holds::Text),
        ("required", 4, Holds::Flag),
        ("schema", 5, Holds::One(&SCHEMA)),
    ],
    extensions: 6,
};

static QUERY_PARAMETER: Message = Message {
    fields: &[
        ("required", 1, Holds::Flag),
        ("in", 2, Holds::Text),
        ("description", 3, Holds::Text),
        ("name", 4, Holds::Text),
        ("type", 6, Holds::Text),
        ("format", 7, Holds::Text),
        ("uniqueItems", 20, Holds::Flag),
    ],
    extensions: 23,
};

static PATH_PARAMETER: Message = Message {
    fields: &[
        ("required", 1, Holds::Flag),
        ("in", 2, Holds::Text),
        ("description", 3, Holds::Text),
        ("name", 4, Holds::Text),
        ("type", 5, Holds::Text),
        ("format", 6, Holds::Text),
        ("uniqueItems", 19, Holds::Flag),
    ],
    extensions: 22,
};

static REFERENCE: Message = Message {
    fields: &[("$ref", 1, Holds::Text), ("description", 2, Holds::Text)],
    extensions: NO_EXTENSIONS,
};

static API_KEY: Message = Message {
    fields: &[
        ("type", 1, Holds::Text),
        ("name", 2, Holds::Text),
        ("in", 3, Holds::Text),
        ("description", 4, Holds::Text),
    ],
    extensions: 5,
};

static EXTERNAL_DOCUMENTATION: Message = Message {
    fields: &[("description", 1, Holds::Text), ("url", 2, Holds::Text)],
    extensions: 3,
};

static SCHEMA: Message = Message {
    fields: &[
        ("$ref", 1, Holds::Text),
        ("format", 2, Holds::Text),
        ("title", 3, Holds::Text),
        ("description", 4, Holds::Text),
        ("multipleOf", 6, Holds::Fraction),
        ("maximum", 7, Holds::Fraction),
        ("exclusiveMaximum", 8, Holds::Flag),
        ("minimum", 9, Holds::Fraction),
        ("exclusiveMinimum", 10, Holds::Flag),
        ("maxLength", 11, Holds::Whole),
        ("minLength", 12, Holds::Whole),
        ("pattern", 13, Holds::Text),
        ("maxItems", 14, Holds::Whole),
        ("minItems", 15, Holds::Whole),
        ("uniqueItems", 16, Holds::Flag),
        ("maxProperties", 17, Holds::Whole),
        ("minProperties", 18, Holds::Whole),
        ("required", 19, Holds::Texts),
        ("enum", 20, Holds::Anys),
        ("additionalProperties", 21, Holds::SchemaOrFlag),
        ("type", 22, Holds::TextsWithin),
        ("items", 23, Holds::SchemasWithin),
        ("properties", 25, Holds::NamedWithin(&SCHEMA)),
        ("externalDocs", 29, Holds::One(&EXTERNAL_DOCUMENTATION)),
        ("example", 30, Holds::Any),
    ],
    extensions: 31,
};

/// Returns the document as bytes.
pub fn encode(document: &Value) -> Vec<u8> {
    let mut writer = BackwardWriter::default();
    message(&mut writer, &DOCUMENT, document);
    writer.finish()
}

/// Writes a message's content. The writer goes backwards, so the last field comes first.
fn message(writer: &mut BackwardWriter, of: &Message, value: &Value) {
    let Some(object) = value.as_object() else { return };
    if of.extensions != NO_EXTENSIONS {
        let extensions = object.iter().filter(|(key, _)| key.starts_with("x-"));
        for (key, value) in extensions.rev() {
            let mark = writer.mark();
            any(writer, 2, value);
            writer.delimited(1, key.as_bytes());
            writer.close(of.extensions, mark);
        }
    }
    for (key, number, holds) in of.fields.iter().rev() {
        if let Some(value) = object.get(*key) {
            field(writer, *number, *holds, value);
        }
    }
}

fn field(writer: &mut BackwardWriter, number: u32, holds: Holds, value: &Value) {
    let list = value.as_array().map(Vec::as_slice).unwrap_or_default();
    match holds {
        Holds::Text => text(writer, number, value),
        Holds::Texts => list.iter().rev().for_each(|one| element(writer, number, one)),
        Holds::Flag => {
            if value.as_bool() == Some(true) {
                writer.number(number, 1);
            }
        }
        Holds::Whole => {
            if let Some(whole) = value.as_i64().filter(|whole| *whole != 0) {
                writer.number(number, whole.cast_unsigned());
            }
        }
        Holds::Fraction => {
            if let Some(fraction) = value.as_f64().filter(|fraction| *fraction != 0.0) {
                writer.bytes(&fraction.to_le_bytes());
                writer.tag(number, FIXED64);
            }
        }
        Holds::Any => any(writer, number, value),
        Holds::Anys => list.iter().rev().for_each(|one| any(writer, number, one)),
        Holds::One(of) => {
            let mark = writer.mark();
            message(writer, of, value);
            writer.close(number, mark);
        }
        // The paths are in the second field of a message of their own.
        Holds::Named(of) => within(writer, number, |writer| {
            named(writer, 2, value, |writer, value| message(writer, of, value));
        }),
        Holds::NamedWithin(of) => {
            within(writer, number, |writer| {
                named(writer, 1, value, |writer, value| message(writer, of, value));
            });
        }
        Holds::TextsWithin => within(writer, number, |writer| match value {
            Value::Array(texts) => texts.iter().rev().for_each(|one| element(writer, 1, one)),
            one => element(writer, 1, one),
        }),
        Holds::SchemasWithin => within(writer, number, |writer| match value {
            Value::Array(schemas) => schemas
                .iter()
                .rev()
                .for_each(|one| field(writer, 1, Holds::One(&SCHEMA), one)),
            one => field(writer, 1, Holds::One(&SCHEMA), one),
        }),
        Holds::SchemaOrFlag => within(writer, number, |writer| match value {
            // One of two, so that even false is written.
            Value::Bool(flag) => writer.number(2, u64::from(*flag)),
            schema => field(writer, 1, Holds::One(&SCHEMA), schema),
        }),
        Holds::SchemaItem => within(writer, number, |writer| {
            field(writer, 1, Holds::One(&SCHEMA), value);
        }),
        Holds::Parameters => {
            for one in list.iter().rev() {
                within(writer, number, |writer| {
                    if one.get("$ref").is_some() {
                        field(writer, 2, Holds::One(&REFERENCE), one);
                    } else {
                        within(writer, 1, |writer| parameter(writer, one));
                    }
                });
            }
        }
        Holds::NamedParameters => within(writer, number, |writer| named(writer, 1, value, parameter)),
        Holds::Responses => within(writer, number, |writer| {
            named(writer, 1, value, |writer, response| {
                field(writer, 1, Holds::One(&RESPONSE), response);
            });
        }),
        Holds::SecurityDefinitions => within(writer, number, |writer| {
            named(writer, 1, value, |writer, definition| {
                field(writer, 2, Holds::One(&API_KEY), definition);
            });
        }),
        Holds::Security => {
            for one in list.iter().rev() {
                within(writer, number, |writer| {
                    named(writer, 1, one, |writer, scopes| {
                        let scopes = scopes.as_array().map(Vec::as_slice).unwrap_or_default();
                        scopes.iter().rev().for_each(|scope| element(writer, 1, scope));
                    });
                });
            }
        }
    }
}

fn within(writer: &mut BackwardWriter, number: u32, write: impl FnOnce(&mut BackwardWriter)) {
    let mark = writer.mark();
    write(writer);
    writer.close(number, mark);
}

/// Writes a map as a list of names and values.
fn named(writer: &mut BackwardWriter, number: u32, map: &Value, write: impl Fn(&mut BackwardWriter, &Value)) {
    for (name, value) in map.as_object().into_iter().flatten().rev() {
        within(writer, number, |writer| {
            within(writer, 2, |writer| write(writer, value));
            writer.delimited(1, name.as_bytes());
        });
    }
}

/// A parameter is one of two messages, and the second is again one of several.
fn parameter(writer: &mut BackwardWriter, value: &Value) {
    match value["in"].as_str() {
        Some("body") => field(writer, 1, Holds::One(&BODY_PARAMETER), value),
        Some("path") => within(writer, 2, |writer| {
            field(writer, 4, Holds::One(&PATH_PARAMETER), value);
        }),
        _ => within(writer, 2, |writer| {
            field(writer, 3, Holds::One(&QUERY_PARAMETER), value);
        }),
    }
}

/// Writes a text; an empty one is as good as none.
fn text(writer: &mut BackwardWriter, number: u32, value: &Value) {
    if let Some(text) = value.as_str().filter(|text| !text.is_empty()) {
        writer.delimited(number, text.as_bytes());
    }
}

/// Writes a text of a list, where an empty one counts.
fn element(writer: &mut BackwardWriter, number: u32, value: &Value) {
    writer.delimited(number, value.as_str().unwrap_or_default().as_bytes());
}

fn any(writer: &mut BackwardWriter, number: u32, value: &Value) {
    let yaml = goyaml::to_string(value).unwrap_or_default();
    within(writer, number, |writer| writer.delimited(2, yaml.as_bytes()));
}
