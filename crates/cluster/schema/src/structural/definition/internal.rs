//! Schemas and versions as errors show them: in the form that they have inside the API server, which isn't the one that
//! clients write.

use std::fmt::Write;

use goyaml::json::{self, Escape};
use serde_json::Value;

use crate::structural::Rule;
use crate::structural::document::Document;

fn json(value: &Value) -> String {
    // Every JSON value has a JSON form.
    json::to_string(value, Escape::Html).unwrap_or_default()
}

fn text(value: &str) -> String {
    json::to_string(value, Escape::Html).unwrap_or_default()
}

/// An object that is written field by field.
struct Fields(String);

impl Fields {
    fn new() -> Self {
        Self("{".to_owned())
    }

    fn add(&mut self, name: &str, value: &str) {
        let separator = if self.0.len() > 1 { "," } else { "" };
        // Writing to a string can't fail.
        let _ = write!(self.0, "{separator}\"{name}\":{value}");
    }

    fn finish(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

fn list(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    format!("[{}]", items.join(","))
}

/// How a keyword is held.
enum Held {
    Text,
    Flag,
    Json,
    Number,
    Texts,
    Schema,
    Schemas,
    SchemaMap,
    SchemaOrList,
    SchemaOrFlag,
    SchemaOrTextsMap,
    Rules,
    Documentation,
}

const SCHEMA: [(&str, &str, Held); 44] = [
    ("id", "ID", Held::Text),
    ("$schema", "Schema", Held::Text),
    ("$ref", "Ref", Held::Json),
    ("description", "Description", Held::Text),
    ("type", "Type", Held::Text),
    ("nullable", "Nullable", Held::Flag),
    ("format", "Format", Held::Text),
    ("title", "Title", Held::Text),
    ("default", "Default", Held::Json),
    ("maximum", "Maximum", Held::Number),
    ("exclusiveMaximum", "ExclusiveMaximum", Held::Flag),
    ("minimum", "Minimum", Held::Number),
    ("exclusiveMinimum", "ExclusiveMinimum", Held::Flag),
    ("maxLength", "MaxLength", Held::Json),
    ("minLength", "MinLength", Held::Json),
    ("pattern", "Pattern", Held::Text),
    ("maxItems", "MaxItems", Held::Json),
    ("minItems", "MinItems", Held::Json),
    ("uniqueItems", "UniqueItems", Held::Flag),
    ("multipleOf", "MultipleOf", Held::Number),
    ("enum", "Enum", Held::Json),
    ("maxProperties", "MaxProperties", Held::Json),
    ("minProperties", "MinProperties", Held::Json),
    ("required", "Required", Held::Texts),
    ("items", "Items", Held::SchemaOrList),
    ("allOf", "AllOf", Held::Schemas),
    ("oneOf", "OneOf", Held::Schemas),
    ("anyOf", "AnyOf", Held::Schemas),
    ("not", "Not", Held::Schema),
    ("properties", "Properties", Held::SchemaMap),
    ("additionalProperties", "AdditionalProperties", Held::SchemaOrFlag),
    ("patternProperties", "PatternProperties", Held::SchemaMap),
    ("dependencies", "Dependencies", Held::SchemaOrTextsMap),
    ("additionalItems", "AdditionalItems", Held::SchemaOrFlag),
    ("definitions", "Definitions", Held::SchemaMap),
    ("externalDocs", "ExternalDocs", Held::Documentation),
    ("example", "Example", Held::Json),
    (
        "x-kubernetes-preserve-unknown-fields",
        "XPreserveUnknownFields",
        Held::Json,
    ),
    ("x-kubernetes-embedded-resource", "XEmbeddedResource", Held::Flag),
    ("x-kubernetes-int-or-string", "XIntOrString", Held::Flag),
    ("x-kubernetes-list-map-keys", "XListMapKeys", Held::Texts),
    ("x-kubernetes-list-type", "XListType", Held::Json),
    ("x-kubernetes-map-type", "XMapType", Held::Json),
    ("x-kubernetes-validations", "XValidations", Held::Rules),
];

/// Returns the keywords of a schema in the order of their fields inside the server, with the names of the fields.
pub(super) fn keywords() -> impl Iterator<Item = (&'static str, &'static str)> {
    SCHEMA.iter().map(|(keyword, field, _)| (*keyword, *field))
}

/// Returns a schema as errors show it.
pub(super) fn schema(node: Document<'_>) -> String {
    schema_form(node, Form::Exact)
}

/// Returns a schema in a form that is the same for all that mean the same.
pub(super) fn meaning(node: Document<'_>) -> String {
    schema_form(node, Form::Meaning)
}

/// What a form of a schema is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// To be shown.
    Exact,
    /// To be compared: an empty list is none.
    Meaning,
}

fn schema_form(node: Document<'_>, form: Form) -> String {
    let mut fields = Fields::new();
    for (keyword, name, held) in &SCHEMA {
        fields.add(name, &keyword_shown(node, keyword, held, form));
    }
    fields.finish()
}

fn keyword_shown(node: Document<'_>, keyword: &str, held: &Held, form: Form) -> String {
    match held {
        Held::Text => return text(node.text(keyword).unwrap_or_default()),
        Held::Flag => return node.flag(keyword).to_string(),
        _ => {}
    }
    let Some(value) = node.value(keyword) else {
        return "null".to_owned();
    };
    let is_empty = match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => {
            fields.is_empty() && matches!(held, Held::SchemaMap | Held::SchemaOrTextsMap)
        }
        _ => false,
    };
    if form == Form::Meaning && is_empty && keyword != "default" {
        return "null".to_owned();
    }
    let schema = |node: Document<'_>| schema_form(node, form);
    let schemas = |value: &Value| {
        value.as_array().map_or_else(
            || "null".to_owned(),
            |items| list(items.iter().filter_map(Document::of).map(schema)),
        )
    };
    let one = |value: &Value| Document::of(value).map_or_else(|| "null".to_owned(), schema);
    match held {
        Held::Text | Held::Flag | Held::Json | Held::Texts => json(value),
        Held::Number => value
            .as_f64()
            .and_then(json::number_text)
            .unwrap_or_else(|| "null".to_owned()),
        Held::Schema => one(value),
        Held::Schemas => schemas(value),
        Held::SchemaMap => {
            let mut fields = Fields::new();
            for (name, value) in value.as_object().into_iter().flatten() {
                add_escaped(&mut fields, name, &one(value));
            }
            fields.finish()
        }
        Held::SchemaOrList => {
            let mut fields = Fields::new();
            fields.add("Schema", &one(value));
            fields.add("JSONSchemas", &schemas(value));
            fields.finish()
        }
        Held::SchemaOrFlag => {
            let mut fields = Fields::new();
            fields.add("Allows", &value.as_bool().unwrap_or(true).to_string());
            fields.add("Schema", &one(value));
            fields.finish()
        }
        Held::SchemaOrTextsMap => {
            let mut fields = Fields::new();
            for (name, value) in value.as_object().into_iter().flatten() {
                let mut entry = Fields::new();
                entry.add("Schema", &one(value));
                entry.add(
                    "Property",
                    &if value.is_array() {
                        json(value)
                    } else {
                        "null".to_owned()
                    },
                );
                add_escaped(&mut fields, name, &entry.finish());
            }
            fields.finish()
        }
        Held::Rules => list(node.items(keyword).iter().map(|value| rule(&Rule::read(value)))),
        Held::Documentation => {
            let documentation = Document::of(value);
            let part = |name: &str| text(documentation.and_then(|node| node.text(name)).unwrap_or_default());
            let mut fields = Fields::new();
            fields.add("Description", &part("description"));
            fields.add("URL", &part("url"));
            fields.finish()
        }
    }
}

fn add_escaped(fields: &mut Fields, name: &str, value: &str) {
    let name = text(name);
    fields.add(name.trim_matches('"'), value);
}

/// Returns a rule as errors show it.
pub fn rule(rule: &Rule) -> String {
    let mut fields = Fields::new();
    fields.add("Rule", &text(&rule.rule));
    fields.add("Message", &text(&rule.message));
    fields.add("MessageExpression", &text(&rule.message_expression));
    let reason = rule.reason.as_deref().map_or_else(|| "null".to_owned(), text);
    fields.add("Reason", &reason);
    fields.add("FieldPath", &text(&rule.field_path));
    let optional = rule
        .optional_old_self
        .map_or_else(|| "null".to_owned(), |flag| flag.to_string());
    fields.add("OptionalOldSelf", &optional);
    fields.finish()
}

/// Returns a list of schemas or a single one, as `items` holds them, as errors show it.
pub(super) fn items(node: Document<'_>) -> String {
    keyword_shown(node, "items", &Held::SchemaOrList, Form::Exact)
}

/// The parts of a version that all versions may share, in which case they are shown as left out.
#[derive(Clone, Copy)]
pub(super) struct Parts<'a> {
    pub(super) schema: Option<&'a Value>,
    pub(super) subresources: Option<&'a Value>,
    pub(super) columns: Option<&'a [Value]>,
    pub(super) selectable_fields: Option<&'a [Value]>,
}

/// Returns a version as errors show it.
pub(super) fn version(version: Document<'_>, parts: Parts<'_>) -> String {
    let null = || "null".to_owned();
    let mut fields = Fields::new();
    fields.add("Name", &text(version.text("name").unwrap_or_default()));
    for (keyword, name) in [
        ("served", "Served"),
        ("storage", "Storage"),
        ("deprecated", "Deprecated"),
    ] {
        fields.add(name, &version.flag(keyword).to_string());
    }
    fields.add(
        "DeprecationWarning",
        &version.pointed_text("deprecationWarning").map_or_else(null, text),
    );
    let validation = parts
        .schema
        .and_then(Document::of)
        .map_or_else(null, |validation| {
            let mut fields = Fields::new();
            let inner = validation.node("openAPIV3Schema").map_or_else(null, schema);
            fields.add("OpenAPIV3Schema", &inner);
            fields.finish()
        });
    fields.add("Schema", &validation);
    fields.add("Subresources", &subresources(parts.subresources));
    fields.add("AdditionalPrinterColumns", &columns(parts.columns));
    let selectable = parts.selectable_fields.map_or_else(null, |selectable| {
        list(selectable.iter().filter_map(Document::of).map(|field| {
            let mut fields = Fields::new();
            fields.add("JSONPath", &text(field.text("jsonPath").unwrap_or_default()));
            fields.finish()
        }))
    });
    fields.add("SelectableFields", &selectable);
    fields.finish()
}

fn subresources(value: Option<&Value>) -> String {
    let null = || "null".to_owned();
    value.and_then(Document::of).map_or_else(null, |subresources| {
        let mut fields = Fields::new();
        let status = subresources.node("status").map_or_else(null, |_| "{}".to_owned());
        fields.add("Status", &status);
        let scale = subresources.node("scale").map_or_else(null, |scale| {
            let mut fields = Fields::new();
            for (keyword, name) in [
                ("specReplicasPath", "SpecReplicasPath"),
                ("statusReplicasPath", "StatusReplicasPath"),
            ] {
                fields.add(name, &text(scale.text(keyword).unwrap_or_default()));
            }
            let selector = scale.pointed_text("labelSelectorPath").map_or_else(null, text);
            fields.add("LabelSelectorPath", &selector);
            fields.finish()
        });
        fields.add("Scale", &scale);
        fields.finish()
    })
}

fn columns(columns: Option<&[Value]>) -> String {
    let Some(columns) = columns else {
        return "null".to_owned();
    };
    list(columns.iter().filter_map(Document::of).map(|column| {
        let mut fields = Fields::new();
        for (keyword, name) in [
            ("name", "Name"),
            ("type", "Type"),
            ("format", "Format"),
            ("description", "Description"),
        ] {
            fields.add(name, &text(column.text(keyword).unwrap_or_default()));
        }
        fields.add(
            "Priority",
            &column.count("priority").unwrap_or_default().to_string(),
        );
        fields.add("JSONPath", &text(column.text("jsonPath").unwrap_or_default()));
        fields.finish()
    }))
}
