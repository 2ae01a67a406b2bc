//! `values.schema.json` made into a structural schema: the kind that a `CustomResourceDefinition` may have.
//!
//! The result is never stricter than the chart: whatever values the chart accepts, the API server stores, and nothing
//! of it is pruned. What can't be said structurally is left to the chart's own schema, which the operator checks on every
//! render. Two rules follow from how Helm fills in defaults: a value that the chart has a default for is never
//! required, and may be null, which takes the default away. Schema defaults are left out: the API server would write
//! them into each custom resource, where they would outlive the chart's next version.

mod rules;
mod union;

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

pub use rules::violations;
use union::union;

/// How deep a schema may nest before the rest is passed on unchecked; references may lead in circles.
const MAXIMUM_DEPTH: usize = 24;

/// How many schemas are converted before the rest is passed on unchecked: an API server stores at most 1.5 MB.
const MAXIMUM_SCHEMAS: usize = 4_000;

/// How many references are followed in a row.
const MAXIMUM_REFERENCES: usize = 32;

/// The formats that the API server knows and judges as JSON Schema does.
const KNOWN_FORMATS: [&str; 12] = [
    "byte",
    "date",
    "date-time",
    "double",
    "email",
    "float",
    "hostname",
    "int32",
    "int64",
    "ipv4",
    "ipv6",
    "uri",
];

const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";
const INT_OR_STRING: &str = "x-kubernetes-int-or-string";

/// The schemas that `$ref` can name.
#[derive(Clone, Copy)]
pub struct Definitions<'schema> {
    root: &'schema Value,
}

impl<'schema> Definitions<'schema> {
    /// Takes the definitions of a whole schema.
    pub fn new(root: &'schema Value) -> Self {
        Self { root }
    }

    /// Follows references within the document; what can't be followed is the schema that accepts everything.
    pub fn resolve<'a>(self, schema: &'a Value) -> &'a Value
    where
        'schema: 'a,
    {
        static ANYTHING: Value = Value::Bool(true);
        let mut schema = schema;
        for _ in 0..MAXIMUM_REFERENCES {
            let Some(reference) = schema.get("$ref").and_then(Value::as_str) else {
                return schema;
            };
            match self.find(reference) {
                Some(found) => schema = found,
                None => return &ANYTHING,
            }
        }
        &ANYTHING
    }

    fn find(self, reference: &str) -> Option<&'schema Value> {
        let pointer = reference.strip_prefix('#')?;
        if pointer.is_empty() {
            return Some(self.root);
        }
        if pointer.starts_with('/') {
            return self.root.pointer(&percent_decoded(pointer));
        }
        // A plain name, as `$id: "#name"` or `$anchor: name` give.
        ["definitions", "$defs"].iter().find_map(|place| {
            self.root.get(place)?.as_object()?.values().find(|candidate| {
                let is = |key: &str, value: &str| candidate.get(key).and_then(Value::as_str) == Some(value);
                is("$id", reference) || is("id", reference) || is("$anchor", pointer)
            })
        })
    }
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let hex = tail.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        if first == b'%'
            && let Some(byte) = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok())
        {
            bytes.push(byte);
            rest = tail.get(2..).unwrap_or_default();
        } else {
            bytes.push(first);
            rest = tail;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Makes the structural schema of a chart's values; `defaults` are the chart's own.
pub fn structural(schema: &Value, defaults: Option<&Value>) -> Value {
    let mut conversion = Conversion {
        definitions: Definitions::new(schema),
        left: MAXIMUM_SCHEMAS,
    };
    let mut converted = conversion.convert(schema, defaults, 0);
    let is_object = converted.get("type").and_then(Value::as_str) == Some("object");
    if !is_object {
        converted = kept_text(schema);
        converted.insert("type".into(), "object".into());
        converted.insert(PRESERVE.into(), true.into());
    }
    converted.remove("nullable");
    Value::Object(converted)
}

struct Conversion<'schema> {
    definitions: Definitions<'schema>,
    left: usize,
}

impl Conversion<'_> {
    fn convert(&mut self, schema: &Value, defaults: Option<&Value>, depth: usize) -> Map<String, Value> {
        let definitions = self.definitions;
        let resolved = definitions.resolve(schema);
        let Value::Object(object) = resolved else {
            return anything(schema);
        };
        if depth > MAXIMUM_DEPTH || self.left == 0 {
            return anything(schema);
        }
        self.left -= 1;
        let merged = self.with_all_of(object);
        let object = merged.as_ref().unwrap_or(object);
        let mut converted = match shape(object) {
            Shape::Null => anything(schema),
            Shape::Anything => self
                .choice(object, defaults, depth)
                .unwrap_or_else(|| anything(schema)),
            Shape::IntOrString => Map::from_iter([(INT_OR_STRING.to_owned(), Value::Bool(true))]),
            Shape::Object => self.object(object, defaults, depth),
            Shape::Array => self.array(object, depth),
            Shape::Scalar(name) => scalar(object, name),
        };
        for (key, value) in kept_text(schema).into_iter().chain(kept_text(resolved)) {
            converted.entry(key).or_insert(value);
        }
        if accepts_null(object) {
            converted.insert("nullable".into(), true.into());
        }
        converted
    }

    /// The schema with everything that `allOf` adds; none where it adds nothing.
    fn with_all_of(&self, object: &Map<String, Value>) -> Option<Map<String, Value>> {
        let parts = object.get("allOf")?.as_array()?;
        let mut merged = object.clone();
        merged.remove("allOf");
        for part in parts {
            let Value::Object(part) = self.definitions.resolve(part) else {
                continue;
            };
            // Each part's own rule about other properties doesn't know the properties of the rest.
            if part.contains_key("properties") && merged.contains_key("properties") {
                merged.remove("additionalProperties");
            }
            let closed_alone = part.contains_key("properties") && !merged.contains_key("properties");
            for (key, value) in part {
                match (merged.get_mut(key), value) {
                    (Some(Value::Object(own)), Value::Object(added)) if key == "properties" => {
                        for (name, property) in added {
                            own.entry(name.clone()).or_insert_with(|| property.clone());
                        }
                    }
                    (Some(Value::Array(own)), Value::Array(added)) if key == "required" => {
                        own.extend(added.iter().cloned());
                    }
                    (None, _) if key != "additionalProperties" || closed_alone => {
                        merged.insert(key.clone(), value.clone());
                    }
                    _ => {}
                }
            }
        }
        Some(merged)
    }

    fn object(
        &mut self,
        object: &Map<String, Value>,
        defaults: Option<&Value>,
        depth: usize,
    ) -> Map<String, Value> {
        let mut converted = Map::from_iter([("type".to_owned(), Value::from("object"))]);
        let properties = object
            .get("properties")
            .and_then(Value::as_object)
            .filter(|map| !map.is_empty());
        let patterns = object
            .get("patternProperties")
            .and_then(Value::as_object)
            .filter(|map| !map.is_empty());
        let others = object.get("additionalProperties");
        match (properties, patterns, others) {
            (None, None, Some(others @ Value::Object(_))) => {
                let others = self.convert(others, None, depth + 1);
                converted.insert("additionalProperties".into(), Value::Object(others));
            }
            (None, Some(patterns), Some(Value::Bool(false))) if patterns.len() == 1 => {
                for only in patterns.values() {
                    let only = self.convert(only, None, depth + 1);
                    converted.insert("additionalProperties".into(), Value::Object(only));
                }
            }
            (Some(properties), patterns, others) => {
                let mut structural = Map::new();
                for (name, property) in properties {
                    let default = defaults.and_then(|defaults| defaults.get(name));
                    let mut property = self.convert(property, default, depth + 1);
                    // The API server takes no null where there are choices.
                    if default.is_some() && !property.contains_key("enum") {
                        property.insert("nullable".into(), true.into());
                    }
                    structural.insert(name.clone(), Value::Object(property));
                }
                converted.insert("properties".into(), Value::Object(structural));
                if patterns.is_some() || others != Some(&Value::Bool(false)) {
                    converted.insert(PRESERVE.into(), true.into());
                }
            }
            (None, None, Some(Value::Bool(false))) => {}
            _ => {
                converted.insert(PRESERVE.into(), true.into());
            }
        }
        let has_default = |name: &str| defaults.is_some_and(|defaults| defaults.get(name).is_some());
        let required: BTreeSet<&str> = object
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .filter(|name| !has_default(name))
            .collect();
        if !required.is_empty() {
            converted.insert("required".into(), json!(required));
        }
        copy_count(object, &mut converted, "maxProperties");
        if defaults.is_none() {
            copy_count(object, &mut converted, "minProperties");
        }
        converted
    }

    fn array(&mut self, object: &Map<String, Value>, depth: usize) -> Map<String, Value> {
        let items = match object.get("items") {
            Some(items @ Value::Object(_)) => self.convert(items, None, depth + 1),
            _ => anything(&Value::Null),
        };
        let mut converted = Map::from_iter([
            ("type".to_owned(), Value::from("array")),
            ("items".to_owned(), Value::Object(items)),
        ]);
        copy_count(object, &mut converted, "minItems");
        copy_count(object, &mut converted, "maxItems");
        converted
    }

    /// The schema that accepts whatever one of the choices of `oneOf` or `anyOf` does; none where there are none.
    fn choice(
        &mut self,
        object: &Map<String, Value>,
        defaults: Option<&Value>,
        depth: usize,
    ) -> Option<Map<String, Value>> {
        let branches = object.get("oneOf").or_else(|| object.get("anyOf"))?.as_array()?;
        let mut nullable = false;
        let mut converted: Vec<Map<String, Value>> = Vec::new();
        for branch in branches {
            if branch.get("type").and_then(Value::as_str) == Some("null") {
                nullable = true;
            } else {
                converted.push(self.convert(branch, defaults, depth + 1));
            }
        }
        let mut union = converted
            .into_iter()
            .reduce(|left, right| union(left, right, 0))?;
        if nullable {
            union.insert("nullable".into(), true.into());
        }
        Some(union)
    }
}

enum Shape {
    /// Only null is accepted.
    Null,
    /// Several types are, or any.
    Anything,
    IntOrString,
    Object,
    Array,
    Scalar(&'static str),
}

fn shape(object: &Map<String, Value>) -> Shape {
    let shape_of = |names: &BTreeSet<&str>| {
        let names: Vec<&str> = names.iter().copied().filter(|name| *name != "null").collect();
        match names.as_slice() {
            [] => Shape::Null,
            ["object"] => Shape::Object,
            ["array"] => Shape::Array,
            ["boolean"] => Shape::Scalar("boolean"),
            ["integer"] => Shape::Scalar("integer"),
            ["number"] | ["integer", "number"] => Shape::Scalar("number"),
            ["string"] => Shape::Scalar("string"),
            ["integer", "string"] => Shape::IntOrString,
            _ => Shape::Anything,
        }
    };
    match object.get("type") {
        Some(Value::String(name)) => return shape_of(&BTreeSet::from([name.as_str()])),
        Some(Value::Array(names)) => return shape_of(&names.iter().filter_map(Value::as_str).collect()),
        _ => {}
    }
    if let Some(choices) = choices(object) {
        return shape_of(&choices.iter().map(type_name).collect());
    }
    if ["properties", "additionalProperties", "patternProperties"]
        .iter()
        .any(|key| object.contains_key(*key))
    {
        return Shape::Object;
    }
    if object.get("items").is_some_and(Value::is_object) {
        return Shape::Array;
    }
    Shape::Anything
}

/// The schema that accepts everything and prunes nothing.
fn anything(schema: &Value) -> Map<String, Value> {
    let mut converted = kept_text(schema);
    converted.insert(PRESERVE.into(), true.into());
    converted
}

/// What a schema says to people.
fn kept_text(schema: &Value) -> Map<String, Value> {
    ["description", "title"]
        .iter()
        .filter_map(|key| {
            let text = schema.get(key)?.as_str()?;
            (!text.is_empty()).then(|| ((*key).to_owned(), Value::from(text)))
        })
        .collect()
}

fn accepts_null(object: &Map<String, Value>) -> bool {
    let typed = match object.get("type") {
        Some(Value::Array(names)) => names.iter().any(|name| name == "null"),
        Some(Value::String(name)) => name == "null",
        _ => choices(object).is_some_and(|choices| choices.contains(&Value::Null)),
    };
    typed || object.get("nullable") == Some(&Value::Bool(true))
}

/// The values that `enum` or `const` leave to choose from.
fn choices(object: &Map<String, Value>) -> Option<Vec<Value>> {
    match (object.get("enum"), object.get("const")) {
        (_, Some(only)) => Some(vec![only.clone()]),
        (Some(Value::Array(choices)), None) if !choices.is_empty() => Some(choices.clone()),
        _ => None,
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn scalar(object: &Map<String, Value>, name: &'static str) -> Map<String, Value> {
    let mut converted = Map::from_iter([("type".to_owned(), Value::from(name))]);
    if let Some(mut choices) = choices(object) {
        choices.dedup();
        let fits = |choice: &Value| {
            let found = type_name(choice);
            found == name || (name == "number" && found == "integer")
        };
        // The API server never takes null for one of the choices, so that null leaves no choice but any.
        if choices.iter().all(fits) {
            converted.insert("enum".into(), Value::Array(choices));
        }
    }
    match name {
        "string" => {
            copy_count(object, &mut converted, "minLength");
            copy_count(object, &mut converted, "maxLength");
            if let Some(format) = object.get("format").and_then(Value::as_str)
                && KNOWN_FORMATS.contains(&format)
            {
                converted.insert("format".into(), format.into());
            }
            // The API server compiles patterns with Go's syntax, which is that of the regex crate in all that matters here.
            if let Some(pattern) = object.get("pattern").and_then(Value::as_str)
                && regex::Regex::new(pattern).is_ok()
            {
                converted.insert("pattern".into(), pattern.into());
            }
        }
        "integer" | "number" => {
            bound(object, &mut converted, "minimum", "exclusiveMinimum");
            bound(object, &mut converted, "maximum", "exclusiveMaximum");
            if let Some(step) = object
                .get("multipleOf")
                .filter(|step| step.as_f64().is_some_and(|step| step > 0.0))
            {
                converted.insert("multipleOf".into(), step.clone());
            }
        }
        _ => {}
    }
    converted
}

/// A limit, in the old form where `exclusive…` is a flag beside it; newer drafts have a number there.
fn bound(object: &Map<String, Value>, converted: &mut Map<String, Value>, limit: &str, exclusive: &str) {
    let inclusive = object.get(limit).filter(|limit| limit.is_number());
    let (value, is_exclusive) = match (inclusive, object.get(exclusive)) {
        (Some(value), Some(Value::Bool(true))) | (None, Some(value @ Value::Number(_))) => (value, true),
        (Some(value), _) => (value, false),
        _ => return,
    };
    converted.insert(limit.into(), value.clone());
    if is_exclusive {
        converted.insert(exclusive.into(), true.into());
    }
}

/// Copies a limit on a count, which the API server holds in 64 bits.
fn copy_count(object: &Map<String, Value>, converted: &mut Map<String, Value>, key: &str) {
    let count = object
        .get(key)
        .and_then(|count| count.as_i64().or_else(|| whole(count)));
    if let Some(count) = count.filter(|count| *count >= 0) {
        converted.insert(key.to_owned(), count.into());
    }
}

fn whole(number: &Value) -> Option<i64> {
    let number = number.as_f64()?;
    (number.fract() == 0.0 && number.abs() < 1e15).then_some(number as i64)
}

#[cfg(test)]
mod tests;
