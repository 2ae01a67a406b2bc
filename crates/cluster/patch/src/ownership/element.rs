//! One step of a path to a field, and the paths made of them.

use std::cmp::Ordering;
use std::fmt::{self, Write as _};
use std::sync::Arc;

use gotemplate::format::{float_text, quoted};
use goyaml::json::{Escape, to_string};
use serde_json::{Number, Value};
use thiserror::Error;

use super::order::{float, order};

/// How a child is found in its parent.
#[derive(Debug, Clone)]
pub enum PathElement {
    /// The field of an object, written `f:name`.
    Field(Arc<str>),
    /// The item of a list that has these fields, sorted by name, written `k:{"name":"value"}`.
    Key(Box<[(Box<str>, Value)]>),
    /// The item of a list of scalars that has this value, written `v:"value"`.
    Value(Value),
    /// The item at this position, written `i:0`.
    Index(i64),
}

/// The text of a path element can't be read.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ElementError {
    /// The text has no room for a kind and a colon.
    #[error("key must be 2 characters long:")]
    TooShort,
    /// The second character isn't a colon.
    #[error("missing colon: {0}")]
    NoColon(String),
    /// What follows `k:` or `v:` isn't JSON of the right kind.
    #[error("{0:?} is not a path element: what follows the colon must be JSON")]
    NotJson(String),
    /// What follows `i:` isn't a number.
    #[error("strconv.Atoi: parsing {0:?}: invalid syntax")]
    NotIndex(String),
}

impl PathElement {
    /// Returns the element for the field `name` of an object.
    pub fn field(name: &str) -> Self {
        Self::Field(name.into())
    }

    /// Returns the element for the list item with these key fields.
    pub fn key(fields: impl IntoIterator<Item = (Box<str>, Value)>) -> Self {
        let mut fields: Vec<_> = fields.into_iter().collect();
        fields.sort_by(|left, right| left.0.cmp(&right.0));
        Self::Key(fields.into())
    }

    /// Reads an element as `FieldsV1` writes it; `None` for a kind of element that this version doesn't know.
    pub fn parse(text: &str) -> Result<Option<Self>, ElementError> {
        let bytes = text.as_bytes();
        let (Some(kind), Some(colon)) = (bytes.first(), bytes.get(1)) else {
            return Err(ElementError::TooShort);
        };
        if *colon != b':' {
            return Err(ElementError::NoColon(text.to_owned()));
        }
        let rest = text.get(2..).unwrap_or_default();
        let not_json = || ElementError::NotJson(text.to_owned());
        Ok(Some(match kind {
            b'f' => Self::field(rest),
            b'v' => Self::Value(floats(first_value(rest).ok_or_else(not_json)?)),
            b'k' => match first_value(rest).ok_or_else(not_json)? {
                Value::Object(fields) => Self::key(
                    fields
                        .into_iter()
                        .map(|(name, value)| (name.into_boxed_str(), floats(value))),
                ),
                Value::Null => Self::Key(Box::default()),
                _ => return Err(not_json()),
            },
            b'i' => Self::Index(
                rest.parse()
                    .map_err(|_| ElementError::NotIndex(rest.to_owned()))?,
            ),
            _ => return Ok(None),
        }))
    }

    /// Writes the element as `FieldsV1` does, at the end of `out`.
    pub fn write(&self, out: &mut String) {
        match self {
            Self::Field(name) => {
                out.push_str("f:");
                out.push_str(name);
            }
            Self::Key(fields) => {
                out.push_str("k:{");
                for (position, (name, value)) in fields.iter().enumerate() {
                    if position > 0 {
                        out.push(',');
                    }
                    write_text(out, name);
                    out.push(':');
                    write_value(out, value);
                }
                out.push('}');
            }
            Self::Value(value) => {
                out.push_str("v:");
                write_value(out, value);
            }
            Self::Index(index) => {
                // Writing to a string can't fail.
                let _ = write!(out, "i:{index}");
            }
        }
    }

    /// Returns the element as `FieldsV1` writes it.
    pub fn to_key(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        }
    }
}

impl Ord for PathElement {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(left), Self::Field(right)) => left.cmp(right),
            (Self::Key(left), Self::Key(right)) => left
                .iter()
                .zip(right.iter())
                .map(|(left, right)| left.0.cmp(&right.0).then_with(|| order(&left.1, &right.1)))
                .find(|order| order.is_ne())
                .unwrap_or_else(|| left.len().cmp(&right.len())),
            (Self::Value(left), Self::Value(right)) => order(left, right),
            (Self::Index(left), Self::Index(right)) => left.cmp(right),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for PathElement {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PathElement {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for PathElement {}

impl fmt::Display for PathElement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(formatter, ".{name}"),
            Self::Key(fields) => {
                formatter.write_char('[')?;
                for (position, (name, value)) in fields.iter().enumerate() {
                    let comma = if position > 0 { "," } else { "" };
                    write!(formatter, "{comma}{name}={}", Shown(value))?;
                }
                formatter.write_char(']')
            }
            Self::Value(value) => write!(formatter, "[={}]", Shown(value)),
            Self::Index(index) => write!(formatter, "[{index}]"),
        }
    }
}

/// The way from the root of an object to one of its fields, shown as `.spec.containers[name="web"].image`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct FieldPath(pub Vec<PathElement>);

impl FieldPath {
    /// Returns the path through these fields of objects.
    pub fn of_fields<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        Self(names.into_iter().map(PathElement::field).collect())
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|element| element.fmt(formatter))
    }
}

/// A value as paths show it: text as Go's `%q`, numbers as `%v`.
struct Shown<'a>(&'a Value);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::Null => formatter.write_str("null"),
            Value::Bool(value) => write!(formatter, "{value}"),
            Value::Number(number) => formatter.write_str(&number_text(number)),
            Value::String(text) => formatter.write_str(&quoted(text)),
            Value::Array(items) => {
                formatter.write_char('[')?;
                for (position, item) in items.iter().enumerate() {
                    let comma = if position > 0 { "," } else { "" };
                    write!(formatter, "{comma}{}", Shown(item))?;
                }
                formatter.write_char(']')
            }
            Value::Object(fields) => fields
                .iter()
                .try_for_each(|(name, value)| write!(formatter, "{name}={}", Shown(value))),
        }
    }
}

fn number_text(number: &Number) -> String {
    match number.as_i64() {
        Some(whole) => whole.to_string(),
        None => float_text(float(number), b'g', None),
    }
}

/// Reads the JSON value at the beginning; what follows it is not looked at, as upstream's reader doesn't.
fn first_value(text: &str) -> Option<Value> {
    serde_json::Deserializer::from_str(text).into_iter().next()?.ok()
}

/// Returns a value with every number as a floating point number. That is how `FieldsV1`, and what a client applies, are
/// read upstream.
pub(super) fn floats(value: Value) -> Value {
    match value {
        Value::Number(number) => {
            Number::from_f64(float(&number)).map_or(Value::Number(number), Value::Number)
        }
        Value::Array(items) => Value::Array(items.into_iter().map(floats).collect()),
        Value::Object(fields) => Value::Object(
            fields
                .into_iter()
                .map(|(name, value)| (name, floats(value)))
                .collect(),
        ),
        other => other,
    }
}

fn write_value(out: &mut String, value: &Value) {
    match value {
        Value::String(text) => write_text(out, text),
        // Every JSON value has a JSON form.
        other => out.push_str(&to_string(other, Escape::Html).unwrap_or_default()),
    }
}

fn write_text(out: &mut String, text: &str) {
    let plain = |byte: u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\' | b'<' | b'>' | b'&');
    if text.bytes().all(plain) {
        out.push('"');
        out.push_str(text);
        out.push('"');
    } else {
        out.push_str(&to_string(text, Escape::Html).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_element_reads_back_as_it_is_written() {
        for text in [
            "f:spec",
            "f:",
            "f:a:b/c",
            r#"k:{"containerPort":80,"protocol":"TCP"}"#,
            r#"k:{"name":"a\u003cb\"c"}"#,
            r#"v:"x""#,
            "v:1.5",
            "v:true",
            "v:80",
            "i:3",
        ] {
            assert_eq!(PathElement::parse(text).unwrap().unwrap().to_key(), text);
        }
        assert_eq!(PathElement::parse("x:y"), Ok(None));
        assert_eq!(PathElement::parse("f"), Err(ElementError::TooShort));
        assert_eq!(
            PathElement::parse("field"),
            Err(ElementError::NoColon("field".into()))
        );
        assert!(PathElement::parse("k:[1]").is_err());
        assert!(PathElement::parse("v:").is_err());
        assert!(PathElement::parse("i:x").is_err());
        assert!(PathElement::parse("é").is_err());
    }

    #[test]
    fn a_path_is_shown_as_the_api_server_shows_it() {
        let path = FieldPath(vec![
            PathElement::field("spec"),
            PathElement::key([
                ("protocol".into(), json!("TCP")),
                ("containerPort".into(), json!(80.0)),
            ]),
            PathElement::Value(json!("a\"b")),
            PathElement::Index(2),
            PathElement::Value(json!(1_000_000.0)),
        ]);
        assert_eq!(
            path.to_string(),
            r#".spec[containerPort=80,protocol="TCP"][="a\"b"][2][=1e+06]"#
        );
    }

    #[test]
    fn fields_come_before_keys_before_values_before_positions() {
        let sorted = [
            PathElement::field("a"),
            PathElement::field("b"),
            PathElement::key([("name".into(), json!(80))]),
            PathElement::key([("name".into(), json!(443.0))]),
            PathElement::key([("name".into(), json!("a"))]),
            PathElement::key([("name".into(), json!("a")), ("z".into(), json!(1))]),
            PathElement::Value(json!(1)),
            PathElement::Index(0),
        ];
        assert!(sorted.is_sorted());
        assert_eq!(PathElement::Value(json!(1)), PathElement::Value(json!(1.0)));
    }
}
