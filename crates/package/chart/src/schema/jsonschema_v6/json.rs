//! JSON whose numbers are as they were written, because the library shows them so.

use std::collections::BTreeMap;

use goyaml::ReadOptions;
use serde_json::Value;

use super::limits::{MAX_NESTING, with_stack};
use crate::schema::number::{Decimal, MAX_DIGITS};
use crate::schema::{SchemaError, json_text};

/// A value, or a schema before it is compiled.
#[derive(Clone, Debug)]
pub(super) enum Json {
    Null,
    Bool(bool),
    Number(Numeral),
    String(String),
    Array(Vec<Json>),
    Object(BTreeMap<String, Json>),
}

/// A number and its text.
#[derive(Clone, Debug)]
pub(super) struct Numeral {
    pub(super) text: String,
    pub(super) number: Decimal,
}

impl Json {
    /// Reads a document, after which nothing may follow.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, SchemaError> {
        let text = String::from_utf8_lossy(bytes);
        let (written, rest) = json_text::cut(&text)?;
        match json_text::read(written) {
            // The only fault is a number that is no float, which is none here.
            Err(SchemaError::Faulty(fault)) if fault.starts_with("json: cannot unmarshal number ") => {}
            outcome => drop(outcome?),
        }
        if !rest.trim_matches([' ', '\t', '\r', '\n']).is_empty() {
            return Err(SchemaError::Faulty(
                "invalid character after top-level value".to_owned(),
            ));
        }
        Reader {
            rest: written,
            depth: 0,
        }
        .value()
    }

    pub(super) fn as_object(&self) -> Option<&BTreeMap<String, Json>> {
        match self {
            Json::Object(entries) => Some(entries),
            _ => None,
        }
    }

    pub(super) fn as_text(&self) -> Option<&str> {
        match self {
            Json::String(text) => Some(text),
            _ => None,
        }
    }

    /// Tells whether two values are the same to the library. It may matter which one is first: see [`is_written_as`].
    pub(super) fn equals(&self, other: &Json) -> bool {
        match (self, other) {
            (Json::Null, Json::Null) => true,
            (Json::Bool(first), Json::Bool(second)) => first == second,
            (Json::String(first), Json::String(second)) => first == second,
            (Json::Number(first), Json::Number(second)) => first.number.compare(&second.number).is_eq(),
            (Json::Number(first), Json::String(second)) => is_written_as(&first.number, second),
            (Json::Array(first), Json::Array(second)) => {
                first.len() == second.len()
                    && first
                        .iter()
                        .zip(second)
                        .all(|(first, second)| first.equals(second))
            }
            (Json::Object(first), Json::Object(second)) => {
                first.len() == second.len()
                    && first
                        .iter()
                        .all(|(key, value)| second.get(key).is_some_and(|other| value.equals(other)))
            }
            _ => false,
        }
    }
}

/// Tells whether text is the number. The library reads as a number whatever it compares with one: `5` equals `"5"`, and
/// `"10/2"`.
fn is_written_as(number: &Decimal, text: &str) -> bool {
    match text.split_once('/') {
        Some((numerator, denominator)) => {
            let is_whole = |text: &str| !text.contains(['.', 'e', 'E']);
            let parse = |text: &str| Decimal::parse(text).filter(|_| is_whole(text));
            match (parse(numerator), parse(denominator)) {
                (Some(numerator), Some(denominator)) if !denominator_is_signed(text) => {
                    number.is_quotient(&numerator, &denominator)
                }
                _ => false,
            }
        }
        None => Decimal::parse(text).is_some_and(|other| number.compare(&other).is_eq()),
    }
}

fn denominator_is_signed(fraction: &str) -> bool {
    fraction.contains("/-") || fraction.contains("/+")
}

impl From<&Value> for Json {
    fn from(value: &Value) -> Self {
        match value {
            Value::Null => Json::Null,
            Value::Bool(flag) => Json::Bool(*flag),
            Value::Number(number) => Json::Number(Numeral {
                text: number.to_string(),
                number: Decimal::new(number),
            }),
            Value::String(text) => Json::String(text.clone()),
            Value::Array(items) => Json::Array(items.iter().map(Json::from).collect()),
            Value::Object(entries) => Json::Object(
                entries
                    .iter()
                    .map(|(key, value)| (key.clone(), Json::from(value)))
                    .collect(),
            ),
        }
    }
}

/// Reads text that is known to be JSON.
struct Reader<'t> {
    rest: &'t str,
    depth: usize,
}

impl<'t> Reader<'t> {
    fn next(&mut self) -> Option<u8> {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
        self.rest.bytes().next()
    }

    fn take(&mut self, length: usize) -> &'t str {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }

    fn value(&mut self) -> Result<Json, SchemaError> {
        match self.next() {
            Some(b'{') => self.inside(Self::object),
            Some(b'[') => self.inside(Self::array),
            Some(b'"') => self.text().map(Json::String),
            Some(b't') => {
                self.take("true".len());
                Ok(Json::Bool(true))
            }
            Some(b'f') => {
                self.take("false".len());
                Ok(Json::Bool(false))
            }
            Some(b'n') => {
                self.take("null".len());
                Ok(Json::Null)
            }
            _ => self.number(),
        }
    }

    fn inside(&mut self, read: fn(&mut Self) -> Result<Json, SchemaError>) -> Result<Json, SchemaError> {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            return Err(SchemaError::Faulty(format!(
                "exceeded max depth of {MAX_NESTING}"
            )));
        }
        let value = with_stack(|| read(self));
        self.depth -= 1;
        value
    }

    fn object(&mut self) -> Result<Json, SchemaError> {
        self.take(1);
        let mut entries = BTreeMap::new();
        while self.next() == Some(b'"') {
            let key = self.text()?;
            self.next();
            self.take(":".len());
            let value = self.value()?;
            entries.insert(key, value);
            if self.next() == Some(b',') {
                self.take(1);
            }
        }
        self.take("}".len());
        Ok(Json::Object(entries))
    }

    fn array(&mut self) -> Result<Json, SchemaError> {
        self.take(1);
        let mut items = Vec::new();
        while self.next().is_some_and(|next| next != b']') {
            items.push(self.value()?);
            if self.next() == Some(b',') {
                self.take(1);
            }
        }
        self.take("]".len());
        Ok(Json::Array(items))
    }

    fn text(&mut self) -> Result<String, SchemaError> {
        let mut escaped = false;
        let end = self.rest.bytes().skip(1).position(|byte| {
            let ends = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            ends
        });
        let literal = self.take(end.map_or(self.rest.len(), |end| end + 2));
        match goyaml::json::to_value(literal.as_bytes(), ReadOptions::default()) {
            Ok(Value::String(text)) => Ok(text),
            Ok(_) => Ok(String::new()),
            Err(error) => Err(SchemaError::Faulty(error.to_string())),
        }
    }

    fn number(&mut self) -> Result<Json, SchemaError> {
        let ends = |byte: u8| !(byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E'));
        let length = self.rest.bytes().position(ends).unwrap_or(self.rest.len());
        let text = self.take(length);
        match Decimal::parse(text) {
            Some(number) => Ok(Json::Number(Numeral {
                text: text.to_owned(),
                number,
            })),
            None => Err(SchemaError::Faulty(format!(
                "schema has a number with more than {MAX_DIGITS} digits"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        match Json::read(text.as_bytes()) {
            Ok(json) => format!("{json:?}"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn numbers_keep_their_text() {
        let Ok(Json::Array(items)) = Json::read(b"[1.0, 1e3, -0, 12345678901234567890123]") else {
            panic!("an array");
        };
        let texts: Vec<&str> = items
            .iter()
            .map(|item| match item {
                Json::Number(numeral) => numeral.text.as_str(),
                _ => "no number",
            })
            .collect();
        assert_eq!(texts, ["1.0", "1e3", "-0", "12345678901234567890123"]);
    }

    #[test]
    fn what_is_no_document_is_refused_in_gos_words() {
        for (text, expected) in [
            ("", "EOF"),
            ("{", "unexpected EOF"),
            ("{} {}", "invalid character after top-level value"),
            ("{}]", "invalid character after top-level value"),
            (
                "{x}",
                "invalid character 'x' looking for beginning of object key string",
            ),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
        assert!(read(&format!("[{}]", "9".repeat(MAX_DIGITS + 1))).contains("digits"));
        assert!(read("1e99999999999").contains("digits"));
    }

    #[test]
    fn of_a_repeated_key_the_last_one_counts() {
        assert_eq!(
            read(r#" { "a\"\u0041" : [ ] , "b":{} , "b" : null } "#),
            read(r#"{"a\"A":[],"b":null}"#)
        );
    }

    #[test]
    fn a_number_equals_text_that_says_it_but_not_the_other_way_round() {
        let json = |text: &str| Json::read(text.as_bytes()).unwrap();
        for text in [r#""5""#, r#""5.0""#, r#""10/2""#, r#""+5e0""#, "5.00"] {
            assert!(json("5").equals(&json(text)), "{text}");
        }
        for text in [
            r#""5 ""#,
            r#""""#,
            r#""5/0""#,
            r#""1/2""#,
            r#""-10/-2""#,
            "true",
            "null",
            "[5]",
        ] {
            assert!(!json("5").equals(&json(text)), "{text}");
        }
        assert!(!json(r#""5""#).equals(&json("5")));
    }
}
