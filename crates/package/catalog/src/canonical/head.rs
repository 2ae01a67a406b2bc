//! The three fields that an object is found by.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use gotemplate::Value;
use gotemplate::format::{quoted, sprintf};
use thiserror::Error;

use super::scan::{Field, Scan};
use super::text;

/// The three fields that an object is found by; empty where the object has none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Head<'a> {
    /// What kind of object this is.
    pub schema: Cow<'a, str>,
    /// The package it belongs to.
    pub package: Cow<'a, str>,
    /// Its name.
    pub name: Cow<'a, str>,
}

/// Why the fields that an object is found by cannot be read.
#[derive(Debug, Error)]
pub enum HeadError {
    /// Keys differ only in case, so that it is not clear which one counts.
    #[error("{0}")]
    DuplicateKeys(String),
    /// A field is not a string.
    #[error("{0}")]
    NotText(String),
}

impl<'a> Head<'a> {
    /// Finds the fields of the object `object`, which was scanned last.
    pub(crate) fn of(scan: &Scan, object: &'a [u8]) -> Result<Self, HeadError> {
        let slice = |(start, end): (usize, usize)| object.get(start..end).unwrap_or_default();
        // Keys that are in lower-case ASCII are their own folded form, so only equal ones collide.
        if scan.fields.iter().any(|field| !is_folded(slice(field.key))) {
            check_collisions(scan.fields.iter().map(|field| text::decode(slice(field.key))))?;
        }
        let mut head = Self::default();
        // Upstream looks at them in no order; if several are wrong, the error is about the first by name.
        for (key, target) in [
            ("name", &mut head.name),
            ("package", &mut head.package),
            ("schema", &mut head.schema),
        ] {
            // Of a repeated key the last one counts.
            let found = scan
                .fields
                .iter()
                .rev()
                .find(|field| has_key(slice(field.key), key));
            if let Some(Field { key, value }) = found {
                *target = text_of(slice(*key), slice(*value))?;
            }
        }
        Ok(head)
    }
}

fn text_of<'a>(key: &[u8], value: &'a [u8]) -> Result<Cow<'a, str>, HeadError> {
    if value.starts_with(b"\"") {
        return Ok(text::decode(value));
    }
    let options = goyaml::ReadOptions {
        numbers: goyaml::Numbers::Float64,
        strict: false,
        most_values: None,
    };
    let value = goyaml::json::to_value(value, options).unwrap_or_default();
    let value = Value::from(&value);
    let operands = [Value::string(text::decode(key).as_ref()), value.clone(), value];
    let message = sprintf(b"expected value for key %q to be a string, got %t: %v", &operands);
    Err(HeadError::NotText(String::from_utf8_lossy(&message).into_owned()))
}

/// Whether a key's literal is folded already: lower-case ASCII without escapes.
fn is_folded(literal: &[u8]) -> bool {
    literal
        .iter()
        .all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase() && *byte != b'\\')
}

fn has_key(literal: &[u8], name: &str) -> bool {
    if is_folded(literal) {
        return literal.get(1..literal.len().saturating_sub(1)) == Some(name.as_bytes());
    }
    folded(&text::decode(literal)) == name
}

/// The Unicode case folding of a key.
fn folded(key: &str) -> String {
    unicase::UniCase::unicode(key).to_folded_case()
}

fn check_collisions<'a>(keys: impl Iterator<Item = Cow<'a, str>>) -> Result<(), HeadError> {
    let mut by_folded: BTreeMap<String, BTreeSet<Cow<'a, str>>> = BTreeMap::new();
    for key in keys {
        by_folded.entry(folded(&key)).or_default().insert(key);
    }
    let messages: Vec<String> = by_folded
        .iter()
        .filter(|(_, keys)| keys.len() > 1)
        .map(|(folded, keys)| {
            let keys: Vec<&str> = keys.iter().map(AsRef::as_ref).collect();
            format!("duplicate keys for key {}: [{}]", quoted(folded), keys.join(" "))
        })
        .collect();
    match messages.as_slice() {
        [] => Ok(()),
        [message] => Err(HeadError::DuplicateKeys(message.clone())),
        messages => Err(HeadError::DuplicateKeys(format!("[{}]", messages.join(", ")))),
    }
}
