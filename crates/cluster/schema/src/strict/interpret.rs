//! The kind that a body says it is, found before the body is read into that kind.

use super::DecodeError;
use super::scanner::{Begin, Scanner, SyntaxError};

/// The kind that a body says it is; what it doesn't say is empty.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Found {
    /// The API group; empty for the core group.
    pub group: String,
    /// The version in the group.
    pub version: String,
    /// The kind.
    pub kind: String,
}

/// How Go prints the struct that it looks for the kind with.
const LOOKED_FOR: &str =
    r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;

/// Finds the kind of a body, and checks that all of the body is JSON.
pub(super) fn interpret(json: &[u8]) -> Result<Found, DecodeError> {
    let unreadable = |cause: String| {
        DecodeError::Unrecognized(format!("couldn't get version/kind; json parse error: {cause}"))
    };
    let (api_version, kind) = scan(json)
        .map_err(|error| unreadable(error.to_string()))?
        .map_err(unreadable)?;
    let mut parts = api_version.split('/');
    let (group, version) = match (parts.next(), parts.next(), parts.next()) {
        (Some(version), None, _) => (String::new(), version.to_owned()),
        (Some(group), Some(version), None) => (group.to_owned(), version.to_owned()),
        _ => {
            let message = format!("unexpected GroupVersion string: {api_version}");
            return Err(DecodeError::Unrecognized(message));
        }
    };
    Ok(Found { group, version, kind })
}

type ApiVersionAndKind = (String, String);

/// The outer error is about the text, the inner one about a value of the wrong type.
fn scan(json: &[u8]) -> Result<Result<ApiVersionAndKind, String>, SyntaxError> {
    let mut scanner = Scanner::new(json);
    let begin = scanner.begin()?;
    let given = match begin {
        Begin::Object => None,
        Begin::Null => Some(None),
        Begin::Array => Some(Some("array")),
        Begin::Text => Some(Some("string")),
        Begin::Number => Some(Some("number")),
        Begin::True | Begin::False => Some(Some("bool")),
    };
    if let Some(given) = given {
        scanner.skip()?;
        scanner.end()?;
        return Ok(match given {
            None => Ok((String::new(), String::new())),
            Some(given) => Err(format!(
                "json: cannot unmarshal {given} into Go value of type {LOOKED_FOR}"
            )),
        });
    }
    let (mut api_version, mut kind, mut refusal) = (String::new(), String::new(), None);
    scanner.open()?;
    let mut is_first = true;
    while let Some(key) = scanner.key(is_first)? {
        is_first = false;
        let (name, slot) = if key.eq_ignore_ascii_case("kind") {
            ("kind", &mut kind)
        } else if key.eq_ignore_ascii_case("apiVersion") {
            ("apiVersion", &mut api_version)
        } else {
            scanner.skip()?;
            continue;
        };
        let given = match scanner.begin()? {
            Begin::Text => {
                *slot = scanner.text()?.into_owned();
                continue;
            }
            Begin::Null => {
                scanner.skip()?;
                continue;
            }
            Begin::Object => "object",
            Begin::Array => "array",
            Begin::Number => "number",
            Begin::True | Begin::False => "bool",
        };
        scanner.skip()?;
        refusal.get_or_insert_with(|| {
            format!("json: cannot unmarshal {given} into Go struct field .{name} of type string")
        });
    }
    scanner.end()?;
    Ok(match refusal {
        Some(refusal) => Err(refusal),
        None => Ok((api_version, kind)),
    })
}
