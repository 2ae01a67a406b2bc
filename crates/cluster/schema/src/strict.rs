//! A request's body read as the API server reads it: fields that a type doesn't have, fields that are written twice,
//! values of the wrong type, all in the server's words.
//!
//! [`decode`] reads JSON or YAML into a [`Target`]. For a built-in kind the result is what the server's own types make
//! of the body: unknown fields are dropped, `null` is nothing, quantities, times and base64 have their one written form,
//! empty fields are left out and the zeros of others are written, as in every object that the server shows. For a custom
//! resource it is the body with `metadata` in that form and without the fields that its schema doesn't have.
//!
//! What strict decoding finds is in [`Decoded::problems`]: [`Decoded::strict_error`] is the text of a refusal under
//! `fieldValidation=Strict`, [`Decoded::warnings`] the warnings under `Warn`.

mod custom;
mod interpret;
mod leaf;
mod problems;
mod scanner;
mod typed;
mod untyped;

use std::borrow::Cow;
use std::fmt::Write as _;

use goyaml::ReadOptions;
use serde_json::Value;

pub use self::interpret::Found;
use self::problems::Problems;
use self::scanner::Scanner;
pub use self::scanner::SyntaxError;
use self::typed::Typed;
use crate::{Schema, builtin};

/// What a body is read into.
#[derive(Debug, Clone, Copy)]
pub enum Target<'a> {
    /// A built-in kind, by the name of its definition, such as `io.k8s.api.apps.v1.Deployment`.
    BuiltIn(&'a str),
    /// A custom resource. Without a schema it keeps every field.
    Custom(Option<&'a Schema>),
}

/// How a body is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// `application/json`.
    Json,
    /// `application/yaml`.
    Yaml,
}

/// A body that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoded {
    /// The object.
    pub value: Value,
    /// The kind that the body says it is.
    pub found: Found,
    /// What strict decoding finds, in order: each is one error of Kubernetes' strict decoder.
    pub problems: Vec<String>,
}

impl Decoded {
    /// Returns the text that refuses the body under `fieldValidation=Strict`; `None` if there is nothing to refuse.
    pub fn strict_error(&self) -> Option<String> {
        (!self.problems.is_empty()).then(|| format!("strict decoding error: {}", self.problems.join(", ")))
    }

    /// Returns the warnings under `fieldValidation=Warn`: a warning for each problem, and for each line of YAML's.
    pub fn warnings(&self) -> Vec<String> {
        let lines = |problem: &String| -> Vec<String> {
            let yaml = problem
                .strip_prefix("error converting YAML to JSON: yaml: unmarshal errors:\n")
                .or_else(|| problem.strip_prefix("yaml: unmarshal errors:\n"));
            match yaml {
                Some(lines) => lines.split('\n').map(|line| line.trim().to_owned()).collect(),
                None => vec![problem.clone()],
            }
        };
        self.problems.iter().flat_map(lines).collect()
    }
}

/// Why a body can't be read at all, whatever the field validation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The body doesn't tell its kind: it isn't JSON or YAML, or `kind` and `apiVersion` aren't strings.
    #[error("{0}")]
    Unrecognized(String),
    /// The body has a kind, but a value in it has the wrong type or form.
    #[error("{message}")]
    Malformed {
        /// What the server's decoder says.
        message: String,
        /// The kind that the body says it is.
        found: Found,
    },
}

/// How much of a body is shown when its kind is unknown.
const SHOWN_OF_BODY: usize = 30;

impl DecodeError {
    /// Returns the server's answer to the body, a `BadRequest`: `kind` in `version` is what the path expects.
    pub fn bad_request(&self, version: &str, kind: &str, body: &[u8]) -> String {
        match self {
            Self::Malformed { message, found } => cannot_be_handled(found, version, kind, message),
            Self::Unrecognized(message) => unrecognized(kind, message, body),
        }
    }
}

/// Returns the server's answer to a body whose kind is known but which can't be taken for what the path expects, such as
/// one that strict decoding refuses.
pub fn cannot_be_handled(found: &Found, version: &str, kind: &str, message: &str) -> String {
    let found_kind = if found.kind.is_empty() { kind } else { &found.kind };
    let found_version = if found.version.is_empty() {
        version
    } else {
        &found.version
    };
    format!("{found_kind} in version \"{found_version}\" cannot be handled as a {kind}: {message}")
}

/// Returns the server's answer to a body whose kind isn't known.
pub fn unrecognized(kind: &str, message: &str, body: &[u8]) -> String {
    let shown = body.get(..SHOWN_OF_BODY).unwrap_or(body);
    let mut summary = match body.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => String::from_utf8_lossy(shown).into_owned(),
        Some(_) => shown.iter().fold(String::new(), |mut digits, byte| {
            let _ = write!(digits, "{byte:02x}");
            digits
        }),
    };
    if body.len() > SHOWN_OF_BODY {
        summary.push_str(" ...");
    }
    format!("the object provided is unrecognized (must be of type {kind}): {message} ({summary})")
}

/// Reads a body.
pub fn decode(body: &[u8], encoding: Encoding, target: Target<'_>) -> Result<Decoded, DecodeError> {
    let mut problems = Vec::new();
    let json = match encoding {
        Encoding::Json => Cow::Borrowed(body),
        Encoding::Yaml => Cow::Owned(json_of_yaml(body, &mut problems)?),
    };
    let found = interpret::interpret(&json)?;
    let refuse = |message: String| DecodeError::Malformed {
        message,
        found: found.clone(),
    };
    let value = match target {
        Target::BuiltIn(definition) => {
            let (value, told) = built_in(&json, definition).map_err(refuse)?;
            problems.extend(told);
            value
        }
        Target::Custom(schema) => {
            if found.kind.is_empty() {
                let body = String::from_utf8_lossy(body);
                return Err(DecodeError::Unrecognized(format!(
                    "Object 'Kind' is missing in '{body}'"
                )));
            }
            let (value, told) = custom::decode(&json, schema).map_err(refuse)?;
            problems.extend(told);
            value
        }
    };
    Ok(Decoded {
        value,
        found,
        problems,
    })
}

/// Returns an object as the server's own types hold and write it: see [`decode`]. For objects that weren't decoded, such
/// as the result of a patch.
pub fn normalize(definition: &str, value: &Value) -> Result<Decoded, DecodeError> {
    let json = serde_json::to_vec(value).map_err(|error| DecodeError::Unrecognized(error.to_string()))?;
    decode(&json, Encoding::Json, Target::BuiltIn(definition))
}

fn json_of_yaml(body: &[u8], problems: &mut Vec<String>) -> Result<Vec<u8>, DecodeError> {
    let unrecognized = |message: String| DecodeError::Unrecognized(message);
    let value = goyaml::to_value(body).map_err(|error| unrecognized(error.to_string()))?;
    let strict = ReadOptions {
        strict: true,
        ..ReadOptions::default()
    };
    if let Err(error) = goyaml::to_value_with(body, strict) {
        problems.push(error.to_string());
    }
    serde_json::to_vec(&value).map_err(|error| unrecognized(error.to_string()))
}

/// Reads JSON into a built-in kind, and returns what strict decoding finds, or what the decoder says against it.
fn built_in(json: &[u8], definition: &str) -> Result<(Value, Vec<String>), String> {
    let record =
        builtin::record(definition).ok_or_else(|| format!("no definition is named {definition:?}"))?;
    let mut scanner = Scanner::new(json);
    let mut problems = Problems::default();
    let mut typed = Typed::new(&mut scanner, &mut problems);
    let value = typed.whole(record).map_err(|error| error.to_string())?;
    match typed.refusal() {
        Some(refusal) => Err(refusal),
        None => Ok((value, problems.into_told())),
    }
}

#[cfg(test)]
mod tests;
