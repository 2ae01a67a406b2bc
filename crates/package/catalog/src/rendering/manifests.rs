//! The objects of a bundle's `manifests` directory: the first document of every file, as Kubernetes' decoder sees it.

use std::borrow::Cow;

use bundle::cluster_service_version::KIND;
use bundle::files::BundleFiles;
use goyaml::ReadOptions;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::RenderError;

/// How far into a file a brace makes it JSON.
const GUESSED_BYTES: usize = 30;

/// An object that says its kind.
pub(super) struct Object {
    pub(super) kind: String,
    pub(super) api_version: String,
    pub(super) value: Value,
}

/// Reads the objects in the order of their files' names; of several ClusterServiceVersions the first counts.
pub(super) fn read(files: &BundleFiles) -> Result<Vec<Object>, RenderError> {
    if !files.has_directory("manifests") {
        return Err(RenderError::NoDirectory);
    }
    let mut objects: Vec<Object> = Vec::new();
    let mut version_found = false;
    for (name, bytes) in files.below("manifests") {
        if name.contains('/') || name.starts_with('.') {
            continue;
        }
        let Some(object) = first_document(bytes, object) else {
            continue;
        };
        if object.kind == KIND {
            if version_found {
                continue;
            }
            version_found = true;
        }
        objects.push(object);
    }
    if objects.is_empty() {
        return Err(RenderError::NoObjects);
    }
    Ok(objects)
}

/// Takes data for an object: it must say its kind, and its group and version must be well-formed.
fn object(mut value: Value) -> Option<Object> {
    as_kubernetes_numbers(&mut value);
    let text = |key| {
        value
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let (kind, api_version) = (text("kind"), text("apiVersion"));
    if !value.is_object() || kind.is_empty() || api_version.matches('/').count() > 1 {
        return None;
    }
    Some(Object {
        kind,
        api_version,
        value,
    })
}

/// Turns integers beyond 64 bits with a sign into floats, as Kubernetes reads the numbers of objects.
fn as_kubernetes_numbers(value: &mut Value) {
    match value {
        Value::Number(number)
            if number
                .as_u64()
                .is_some_and(|number| i64::try_from(number).is_err()) =>
        {
            if let Some(float) = number.as_f64().and_then(serde_json::Number::from_f64) {
                *number = float;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(as_kubernetes_numbers),
        Value::Object(fields) => fields.values_mut().for_each(as_kubernetes_numbers),
        _ => {}
    }
}

/// Reads the first document of a file and gives it to `accept`; JSON that is not accepted is tried as YAML.
pub(super) fn first_document<T>(bytes: &[u8], accept: impl Fn(Value) -> Option<T>) -> Option<T> {
    let guessed = bytes.get(..GUESSED_BYTES).unwrap_or(bytes);
    let mut yaml = bytes;
    if String::from_utf8_lossy(guessed).trim_start().starts_with('{') {
        if let Some(accepted) = first_json_value(bytes).and_then(&accept) {
            return Some(accepted);
        }
        yaml = behind_leading_blanks(bytes);
    }
    let chunk = first_chunk(yaml)?;
    let value = goyaml::to_value(&chunk).ok()?;
    accept(value)
}

/// The text of the first JSON value of a file that starts with one.
pub(super) fn first_json_text(bytes: &[u8]) -> Option<&[u8]> {
    let mut values = serde_json::Deserializer::from_slice(bytes).into_iter::<IgnoredAny>();
    values.next()?.ok()?;
    bytes.get(..values.byte_offset())
}

fn first_json_value(bytes: &[u8]) -> Option<Value> {
    goyaml::json::to_value(first_json_text(bytes)?, ReadOptions::default()).ok()
}

/// What is left of a file when blanks up to the end of their line are taken away.
fn behind_leading_blanks(bytes: &[u8]) -> &[u8] {
    let blank = bytes
        .iter()
        .take_while(|byte| byte.is_ascii_whitespace() && **byte != b'\n')
        .count();
    let rest = bytes.get(blank..).unwrap_or_default();
    rest.strip_prefix(b"\n").unwrap_or(rest)
}

/// The file up to its second document; `None` if there is nothing, or more than a comment behind a separator.
pub(super) fn first_chunk(bytes: &[u8]) -> Option<Cow<'_, [u8]>> {
    let mut end = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        if let Some(rest) = line.strip_prefix(b"---") {
            let rest = rest.trim_ascii();
            if !rest.is_empty() && !rest.starts_with(b"#") {
                return None;
            }
            // A separator at the very start belongs to the first document.
            if end > 0 {
                return bytes.get(..end).map(Cow::Borrowed);
            }
        }
        end += line.len();
    }
    match bytes.last()? {
        b'\n' => Some(Cow::Borrowed(bytes)),
        // Lines are read one by one and each gets its end, also the last.
        _ => Some(Cow::Owned([bytes, b"\n"].concat())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> Option<String> {
        first_document(text.as_bytes(), object).map(|object| object.kind)
    }

    #[test]
    fn the_first_document_of_a_file_is_its_object() {
        for (text, expected) in [
            ("kind: A\n---\nkind: B\n", Some("A")),
            ("---\nkind: A\n---\nkind: B\n", Some("A")),
            ("# a comment\n--- # more\nkind: A\n", None),
            ("---\n---\nkind: A\n", None),
            ("kind: A\n--- x\n", None),
            ("{\"kind\": \"A\"}{\"kind\": \"B\"}", Some("A")),
            ("{kind: A}", Some("A")),
            ("{kind: A", None),
            ("kind: 7\n", None),
            ("kind: A\napiVersion: a/b/c\n", None),
            ("- kind: A\n", None),
            ("", None),
            ("kind: |\n  A", Some("A\n")),
        ] {
            assert_eq!(kind(text).as_deref(), expected, "{text:?}");
        }
    }
}
