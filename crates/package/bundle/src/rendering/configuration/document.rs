//! A schema document: its draft, what its references lead to, and whether it is sound.

use std::collections::{HashMap, HashSet};

use chart::go_expression::Expression;
use serde_json::{Map, Value};

/// How deep schemas may contain schemas. Each level costs stack; the schema of registry+v1 bundles has 6.
const MAXIMUM_NESTING: usize = 200;

/// The draft of a schema that names none: the newest that upstream's library knows.
const NEWEST_DRAFT: u32 = 2020;

/// A schema that values can be judged by.
pub(super) struct Document<'s> {
    pub(super) root: &'s Value,
    /// The draft: 4, 6 or 7, then by year.
    pub(super) draft: u32,
    expressions: HashMap<&'s str, Expression>,
    anchors: HashMap<&'s str, &'s Value>,
}

/// What the value of a keyword must be.
#[derive(Clone, Copy)]
enum Shape {
    Schema,
    Schemas,
    OneOrMoreSchemas,
    SchemasByName,
    SchemasByExpression,
    Dependencies,
    TextsByName,
    Count,
    Number,
    Limit,
    Flag,
    Text,
    Texts,
    Expression,
    Types,
    List,
}

/// The keywords, the draft that brought each, and what it holds.
const KEYWORDS: [(&str, u32, Shape); 42] = [
    ("$ref", 4, Shape::Text),
    ("definitions", 4, Shape::SchemasByName),
    ("$defs", 2019, Shape::SchemasByName),
    ("allOf", 4, Shape::Schemas),
    ("anyOf", 4, Shape::Schemas),
    ("oneOf", 4, Shape::Schemas),
    ("not", 4, Shape::Schema),
    ("items", 4, Shape::OneOrMoreSchemas),
    ("additionalItems", 4, Shape::Schema),
    ("prefixItems", 2020, Shape::Schemas),
    ("properties", 4, Shape::SchemasByName),
    ("patternProperties", 4, Shape::SchemasByExpression),
    ("additionalProperties", 4, Shape::Schema),
    ("dependencies", 4, Shape::Dependencies),
    ("dependentRequired", 2019, Shape::TextsByName),
    ("dependentSchemas", 2019, Shape::SchemasByName),
    ("propertyNames", 6, Shape::Schema),
    ("contains", 6, Shape::Schema),
    ("if", 7, Shape::Schema),
    ("then", 7, Shape::Schema),
    ("else", 7, Shape::Schema),
    ("type", 4, Shape::Types),
    ("enum", 4, Shape::List),
    ("format", 4, Shape::Text),
    ("pattern", 4, Shape::Expression),
    ("required", 4, Shape::Texts),
    ("uniqueItems", 4, Shape::Flag),
    ("multipleOf", 4, Shape::Number),
    ("minimum", 4, Shape::Number),
    ("maximum", 4, Shape::Number),
    ("exclusiveMinimum", 4, Shape::Limit),
    ("exclusiveMaximum", 4, Shape::Limit),
    ("minLength", 4, Shape::Count),
    ("maxLength", 4, Shape::Count),
    ("minItems", 4, Shape::Count),
    ("maxItems", 4, Shape::Count),
    ("minProperties", 4, Shape::Count),
    ("maxProperties", 4, Shape::Count),
    ("minContains", 2019, Shape::Count),
    ("maxContains", 2019, Shape::Count),
    ("$schema", 4, Shape::Text),
    ("$anchor", 2019, Shape::Text),
];

/// Keywords that would need the whole history of a judgement; to pass over them would be to accept what they forbid.
const NOT_SUPPORTED: [&str; 4] = [
    "unevaluatedProperties",
    "unevaluatedItems",
    "$recursiveRef",
    "$dynamicRef",
];

const TYPES: [&str; 7] = [
    "null", "boolean", "number", "integer", "string", "array", "object",
];

impl<'s> Document<'s> {
    /// Looks a schema through; the error says where it isn't sound.
    pub(super) fn read(root: &'s Value) -> Result<Self, String> {
        let mut document = Self {
            root,
            draft: draft_of(root)?,
            expressions: HashMap::new(),
            anchors: HashMap::new(),
        };
        let mut references = Vec::new();
        let mut seen = HashSet::new();
        document.look_through(root, "", 0, &mut seen, &mut references)?;
        // What references lead to need not be where schemas usually are.
        while let Some((reference, place)) = references.pop() {
            let target = document
                .target(reference)
                .ok_or_else(|| not_found(reference, &place))?;
            document.look_through(target, reference, 0, &mut seen, &mut references)?;
        }
        Ok(document)
    }

    /// The compiled form of an expression in the schema.
    pub(super) fn expression(&self, text: &str) -> Option<&Expression> {
        self.expressions.get(text)
    }

    /// The schema that a reference leads to: a place or a name in this document.
    pub(super) fn target(&self, reference: &str) -> Option<&'s Value> {
        let (address, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let own = self.root[self.identifier()].as_str().unwrap_or_default();
        if !address.is_empty() && address != own.split('#').next().unwrap_or_default() {
            return None;
        }
        let fragment = percent_decoded(fragment)?;
        if fragment.is_empty() || fragment.starts_with('/') {
            return self.root.pointer(&fragment);
        }
        self.anchors.get(fragment.as_str()).copied()
    }

    fn identifier(&self) -> &'static str {
        if self.draft == 4 { "id" } else { "$id" }
    }

    fn look_through(
        &mut self,
        schema: &'s Value,
        place: &str,
        depth: usize,
        seen: &mut HashSet<usize>,
        references: &mut Vec<(&'s str, String)>,
    ) -> Result<(), String> {
        if depth > MAXIMUM_NESTING {
            return Err(format!(
                "at '{place}': schemas are nested more than {MAXIMUM_NESTING} deep; make the schema flatter"
            ));
        }
        let keywords = match schema {
            Value::Object(keywords) => keywords,
            Value::Bool(_) if self.draft > 4 || depth > 0 => return Ok(()),
            _ => return Err(wrong(place, "a schema")),
        };
        if !seen.insert(std::ptr::from_ref(schema).addr()) {
            return Ok(());
        }
        self.remember_anchor(schema, keywords);
        for keyword in NOT_SUPPORTED {
            if self.draft >= 2019 && keywords.contains_key(keyword) {
                return Err(format!(
                    "at '{place}/{keyword}': baton doesn't know this keyword; write the schema for draft-07, without it"
                ));
            }
        }
        for (keyword, since, shape) in KEYWORDS {
            let Some(value) = keywords.get(keyword).filter(|_| self.draft >= since) else {
                continue;
            };
            let place = format!("{place}/{keyword}");
            if let Some(expected) = self.misshapen(shape, value) {
                return Err(wrong(&place, expected));
            }
            if keyword == "$ref"
                && let Some(reference) = value.as_str()
            {
                references.push((reference, place.clone()));
            }
            for expression in expressions_in(shape, value) {
                let compiled = Expression::new(expression.as_bytes())
                    .map_err(|cause| format!("at '{place}': '{expression}' is not valid regex: {cause}"))?;
                self.expressions.insert(expression, compiled);
            }
            for (name, schema) in schemas_in(shape, value) {
                self.look_through(schema, &(place.clone() + &name), depth + 1, seen, references)?;
            }
        }
        Ok(())
    }

    fn remember_anchor(&mut self, schema: &'s Value, keywords: &'s Map<String, Value>) {
        let name = if self.draft >= 2019 {
            keywords.get("$anchor").and_then(Value::as_str)
        } else {
            let identifier = keywords.get(self.identifier()).and_then(Value::as_str);
            identifier
                .and_then(|text| Some(text.split_once('#')?.1))
                .filter(|name| !name.is_empty())
        };
        if let Some(name) = name {
            self.anchors.insert(name, schema);
        }
    }

    /// What a keyword should hold, if it doesn't.
    fn misshapen(&self, shape: Shape, value: &Value) -> Option<&'static str> {
        let is_text = |value: &Value| value.is_string();
        let texts = |value: &Value| value.as_array().is_some_and(|list| list.iter().all(is_text));
        let by_name = |value: &Value, each: &dyn Fn(&Value) -> bool| {
            value.as_object().is_some_and(|map| map.values().all(each))
        };
        let is_schema = |value: &Value| value.is_object() || value.is_boolean();
        let schemas = |value: &Value| {
            value
                .as_array()
                .is_some_and(|list| !list.is_empty() && list.iter().all(is_schema))
        };
        let is_type = |value: &Value| value.as_str().is_some_and(|name| TYPES.contains(&name));
        let (fits, expected) = match shape {
            Shape::Schema => (is_schema(value), "a schema"),
            Shape::Schemas => (schemas(value), "a list of schemas"),
            Shape::OneOrMoreSchemas if self.draft >= 2020 => (is_schema(value), "a schema"),
            Shape::OneOrMoreSchemas => (
                is_schema(value) || schemas(value),
                "a schema or a list of schemas",
            ),
            Shape::SchemasByName | Shape::SchemasByExpression => {
                (by_name(value, &is_schema), "schemas by name")
            }
            Shape::Dependencies => (
                by_name(value, &|each| is_schema(each) || texts(each)),
                "schemas or lists of names, by name",
            ),
            Shape::TextsByName => (by_name(value, &texts), "lists of names, by name"),
            Shape::Count => (
                value
                    .as_f64()
                    .is_some_and(|number| number >= 0.0 && number.fract() == 0.0),
                "an integer that is not negative",
            ),
            Shape::Limit if self.draft == 4 => (value.is_boolean(), "true or false"),
            Shape::Number | Shape::Limit => (value.is_number(), "a number"),
            Shape::Flag => (value.is_boolean(), "true or false"),
            Shape::Text | Shape::Expression => (value.is_string(), "a text"),
            Shape::Texts => (texts(value), "a list of names"),
            Shape::Types => (
                is_type(value) || value.as_array().is_some_and(|list| list.iter().all(is_type)),
                "a type or a list of types",
            ),
            Shape::List => (value.is_array(), "a list"),
        };
        (!fits).then_some(expected)
    }
}

fn wrong(place: &str, expected: &str) -> String {
    format!("at '{place}': must be {expected}")
}

fn not_found(reference: &str, place: &str) -> String {
    format!(
        "at '{place}': '{reference}' leads nowhere in this schema, and other documents are not read; bring it in as a definition"
    )
}

/// The schemas in a keyword's value, each with its place below the keyword.
fn schemas_in(shape: Shape, value: &Value) -> Vec<(String, &Value)> {
    match (shape, value) {
        (Shape::Schema | Shape::OneOrMoreSchemas, Value::Object(_)) => vec![(String::new(), value)],
        (Shape::Schemas | Shape::OneOrMoreSchemas, Value::Array(list)) => {
            let numbered = list.iter().enumerate();
            numbered
                .map(|(number, schema)| (format!("/{number}"), schema))
                .collect()
        }
        (Shape::SchemasByName | Shape::SchemasByExpression | Shape::Dependencies, Value::Object(map)) => map
            .iter()
            .filter(|(_, schema)| !schema.is_array())
            .map(|(name, schema)| (format!("/{}", escaped(name)), schema))
            .collect(),
        _ => Vec::new(),
    }
}

fn expressions_in(shape: Shape, value: &Value) -> Vec<&str> {
    match shape {
        Shape::Expression => value.as_str().into_iter().collect(),
        Shape::SchemasByExpression => value
            .as_object()
            .map(|map| map.keys().map(String::as_str).collect())
            .unwrap_or_default(),
        _ => Vec::new(),
    }
}

/// A key as a part of a JSON pointer.
pub(super) fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

fn draft_of(root: &Value) -> Result<u32, String> {
    let Some(stated) = root["$schema"].as_str() else {
        return Ok(NEWEST_DRAFT);
    };
    let address = stated.strip_suffix('#').unwrap_or(stated);
    let address = address
        .strip_prefix("https://")
        .or_else(|| address.strip_prefix("http://"))
        .unwrap_or(address);
    match address {
        "json-schema.org/draft-04/schema" => Ok(4),
        "json-schema.org/draft-06/schema" => Ok(6),
        "json-schema.org/draft-07/schema" => Ok(7),
        "json-schema.org/draft/2019-09/schema" => Ok(2019),
        "json-schema.org/schema" | "json-schema.org/draft/2020-12/schema" => Ok(NEWEST_DRAFT),
        _ => Err(format!(
            "at '/$schema': '{stated}' is no draft of JSON Schema that baton knows; use \"http://json-schema.org/draft-07/schema#\""
        )),
    }
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = rest.get(2..)?;
    }
    String::from_utf8(bytes).ok()
}
