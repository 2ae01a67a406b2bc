//! Manifest files read as Kubernetes' decoders read them: the first document, into an object without a type.

use goyaml::json::{self, Escape};
use goyaml::{ReadOptions, Stage};
use serde_json::Value;

/// How many bytes are looked at to tell JSON from YAML; what upstream's calls say.
const JSON_LOOKAHEAD: usize = 30;

/// Why there is no object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DecodeError {
    /// The file has nothing in it.
    EndOfFile,
    /// What upstream says.
    Message(String),
}

impl std::fmt::Display for DecodeError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::EndOfFile => formatter.write_str("EOF"),
            Self::Message(text) => formatter.write_str(text),
        }
    }
}

/// Reads the first document of YAML; null for one that is there but empty.
pub(super) fn yaml_object(bytes: &[u8]) -> Result<Value, DecodeError> {
    let value = yaml_value(bytes)?;
    check_kind(&value).map_err(|text| {
        DecodeError::Message(format!("error unmarshaling JSON: while decoding JSON: {text}"))
    })?;
    Ok(value)
}

/// Reads the first document of YAML as data, whatever it is.
pub(super) fn yaml_value(bytes: &[u8]) -> Result<Value, DecodeError> {
    let document = first_document(bytes)?;
    goyaml::to_value(&document).map_err(|error| DecodeError::Message(error.in_sigs_words()))
}

/// Reads the first document of a file that may be JSON or YAML.
pub(super) fn object(bytes: &[u8]) -> Result<Value, DecodeError> {
    object_within(bytes, JSON_LOOKAHEAD)
}

/// The same, with another number of bytes that are looked at to tell JSON from YAML.
pub(super) fn object_within(bytes: &[u8], lookahead: usize) -> Result<Value, DecodeError> {
    decode(bytes, lookahead, check_kind)
}

/// Reads the first document of a file that may be JSON or YAML as data, whatever it is.
pub(super) fn value(bytes: &[u8]) -> Result<Value, DecodeError> {
    decode(bytes, JSON_LOOKAHEAD, |_| Ok(()))
}

fn decode(
    bytes: &[u8],
    lookahead: usize,
    check: fn(&Value) -> Result<(), String>,
) -> Result<Value, DecodeError> {
    let read_yaml = || {
        let value = yaml_value(bytes)?;
        check(&value).map_err(|text| {
            DecodeError::Message(format!("error unmarshaling JSON: while decoding JSON: {text}"))
        })?;
        Ok(value)
    };
    if !looks_like_json(bytes, lookahead) {
        return read_yaml();
    }
    let checked = first_json(bytes).and_then(|value| check(&value).map(|()| value));
    let first = match checked {
        Ok(value) => return Ok(value),
        Err(text) => text,
    };
    // What isn't JSON may still be YAML that begins with a brace; if it isn't either, the first error counts.
    match read_yaml() {
        Err(DecodeError::Message(_)) => Err(DecodeError::Message(first)),
        result => result,
    }
}

fn looks_like_json(bytes: &[u8], lookahead: usize) -> bool {
    let start = &bytes[..bytes.len().min(lookahead)];
    String::from_utf8_lossy(start).trim_start().starts_with('{')
}

/// The first JSON value in a stream of them.
fn first_json(bytes: &[u8]) -> Result<Value, String> {
    let mut stream = serde_json::Deserializer::from_slice(bytes).into_iter::<serde::de::IgnoredAny>();
    let end = match stream.next() {
        Some(Ok(_)) => stream.byte_offset().min(bytes.len()),
        _ => bytes.len(),
    };
    json::to_value(&bytes[..end], ReadOptions::default()).map_err(|error| {
        let text = error.to_string();
        if text == "unexpected end of JSON input" {
            return "unexpected EOF".to_owned();
        }
        match super::json_syntax::first_fault(bytes) {
            Some(offset) => format!("json: offset {offset}: {text}"),
            None => text,
        }
    })
}

/// Says what Kubernetes says of data that isn't an object with a kind; null is let through, as it sets nothing.
pub(super) fn check_kind(value: &Value) -> Result<(), String> {
    match value {
        Value::Null => Ok(()),
        Value::Object(entries) => {
            if entries
                .get("kind")
                .and_then(Value::as_str)
                .is_some_and(|kind| !kind.is_empty())
            {
                return Ok(());
            }
            let text = json::to_string(value, Escape::Html).map_err(|error| error.to_string())?;
            Err(format!("Object 'Kind' is missing in '{text}'"))
        }
        other => Err(format!(
            "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            json::kind_word(other)
        )),
    }
}

/// The lines up to the first separator that has something before it.
fn first_document(bytes: &[u8]) -> Result<Vec<u8>, DecodeError> {
    let mut document = Vec::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if let Some(rest) = line.strip_prefix(b"---") {
            let rest = String::from_utf8_lossy(rest);
            let rest = rest.trim();
            if !rest.is_empty() && !rest.starts_with('#') {
                return Err(DecodeError::Message(format!(
                    "invalid Yaml document separator: {rest}"
                )));
            }
            if !document.is_empty() {
                return Ok(document);
            }
        }
        document.extend_from_slice(line);
        document.push(b'\n');
    }
    if document.is_empty() {
        return Err(DecodeError::EndOfFile);
    }
    Ok(document)
}

/// Whether a file could hold an object of this kind, told without reading it: most files are large and of another kind.
pub(super) fn may_be(bytes: &[u8], kind: &str) -> bool {
    let contains = |needle: &[u8]| bytes.windows(needle.len()).any(|window| window == needle);
    // A backslash may hide the word behind an escape.
    contains(kind.as_bytes()) || contains(b"\\x") || contains(b"\\u") || contains(b"\\U")
}

/// An object's kind, when it has one.
pub(super) fn kind(object: &Value) -> &str {
    object["kind"].as_str().unwrap_or_default()
}

/// An object's API version, when it has one.
pub(super) fn api_version(object: &Value) -> &str {
    object["apiVersion"].as_str().unwrap_or_default()
}

/// An object's name, when it has one.
pub(super) fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

/// Group, version and kind of an object.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct GroupVersionKind {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) kind: String,
}

impl GroupVersionKind {
    /// What an API version and a kind say; an API version with more than one slash says nothing.
    pub(super) fn new(api_version: &str, kind: &str) -> Self {
        let parts: Vec<&str> = api_version.split('/').collect();
        let (group, version, kind) = match parts[..] {
            [version] => ("", version, kind),
            [group, version] => (group, version, kind),
            _ => ("", "", ""),
        };
        Self {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
        }
    }

    /// That of an object.
    pub(super) fn of(object: &Value) -> Self {
        Self::new(api_version(object), kind(object))
    }
}

impl std::fmt::Display for GroupVersionKind {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}/{}, Kind={}", self.group, self.version, self.kind)
    }
}

/// Reads YAML into a type, with the words that sigs.k8s.io/yaml has for what doesn't fit.
pub(super) fn typed<T: goyaml::typed::GoType>(value: &Value) -> Result<T, String> {
    let decoding = goyaml::typed::Decoding {
        scalars_as_text: true,
        ..goyaml::typed::Decoding::default()
    };
    goyaml::typed::decode_with(value, decoding).map_err(|error| {
        debug_assert_eq!(error.stage(), Stage::Unmarshal);
        error.in_sigs_words()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &str) -> String {
        object(bytes.as_bytes()).expect_err("an error").to_string()
    }

    #[test]
    fn only_the_first_document_is_read() {
        let first = object(b"---\nkind: A\n---\nkind: B\n").expect("an object");
        assert_eq!(kind(&first), "A");
        let first = object(b"{\"kind\":\"A\"}{\"kind\":\"B\"}").expect("an object");
        assert_eq!(kind(&first), "A");
    }

    #[test]
    fn what_is_no_object_is_named_as_kubernetes_does() {
        assert_eq!(text(""), "EOF");
        assert_eq!(
            text("a: 1"),
            "error unmarshaling JSON: while decoding JSON: Object 'Kind' is missing in '{\"a\":1}'"
        );
        assert_eq!(text("--- x\nkind: A"), "invalid Yaml document separator: x");
        assert_eq!(text("{\"kind\":"), "unexpected EOF");
        assert_eq!(object(b"# nothing\n").expect("null"), Value::Null);
    }
}
