//! The first document of a file that is JSON or YAML, as Kubernetes' decoder finds it.

use std::borrow::Cow;

use goyaml::ReadOptions;
use serde::de::{DeserializeOwned, IgnoredAny};

/// How far into a bundle's file a brace makes it JSON.
pub(crate) const BUNDLE_SNIFFED_BYTES: usize = 30;

/// How far into a template a brace makes it JSON.
pub(crate) const TEMPLATE_SNIFFED_BYTES: usize = 4096;

/// Reads the first document of a file and gives it to `accept`.
///
/// A file whose first `sniffed` bytes start with a brace is tried as JSON; what is not JSON, or is not accepted, is
/// tried as YAML. The error is the first of both.
pub(crate) fn read<D: DeserializeOwned, T>(
    bytes: &[u8],
    sniffed: usize,
    accept: impl Fn(D) -> Result<T, String>,
) -> Result<T, String> {
    let mut yaml = bytes;
    let mut first_error = None;
    let guessed = bytes.get(..sniffed).unwrap_or(bytes);
    if String::from_utf8_lossy(guessed).trim_start().starts_with('{') {
        match json_value(bytes).and_then(&accept) {
            Ok(accepted) => return Ok(accepted),
            Err(error) => first_error = Some(error),
        }
        yaml = behind_leading_blanks(bytes);
    }
    let document = match chunk(yaml)? {
        Some(chunk) => goyaml::from_slice(&chunk).map_err(|error| error.in_sigs_words()),
        None => Err("EOF".to_owned()),
    };
    document
        .and_then(accept)
        .map_err(|error| first_error.unwrap_or(error))
}

/// The text of the first JSON value of a file; `None` if it does not start with one.
pub(crate) fn json_text(bytes: &[u8]) -> Option<&[u8]> {
    let mut values = serde_json::Deserializer::from_slice(bytes).into_iter::<IgnoredAny>();
    values.next()?.ok()?;
    bytes.get(..values.byte_offset())
}

fn json_value<D: DeserializeOwned>(bytes: &[u8]) -> Result<D, String> {
    if let Some(text) = json_text(bytes) {
        return goyaml::json::from_slice(text, ReadOptions::default()).map_err(|error| error.to_string());
    }
    // A catalog is read by the same decoder, so what it says of this text is what the decoder says.
    match crate::reading::read_stream(bytes) {
        Err(error) => Err(error.to_string()),
        Ok(_) => Err("unexpected EOF".to_owned()),
    }
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

/// The file up to its second document; `None` if there is nothing.
fn chunk(bytes: &[u8]) -> Result<Option<Cow<'_, [u8]>>, String> {
    let mut end = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        if let Some(rest) = line.strip_prefix(b"---") {
            let rest = String::from_utf8_lossy(rest);
            let rest = rest.trim();
            if !rest.is_empty() && !rest.starts_with('#') {
                return Err(format!("invalid Yaml document separator: {rest}"));
            }
            // A separator at the very start belongs to the first document.
            if end > 0 {
                return Ok(bytes.get(..end).map(Cow::Borrowed));
            }
        }
        end += line.len();
    }
    Ok(bytes.last().map(|last| match last {
        b'\n' => Cow::Borrowed(bytes),
        // Lines are read one by one and each gets its end, also the last.
        _ => Cow::Owned([bytes, b"\n"].concat()),
    }))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn the_first_document_is_what_stands_before_the_first_separator() {
        for (text, expected) in [
            ("kind: A\n---\nkind: B\n", Ok(json!({"kind": "A"}))),
            ("---\nkind: A\n---\nkind: B\n", Ok(json!({"kind": "A"}))),
            ("# a comment\n--- # more\nkind: A\n", Ok(json!(null))),
            ("---\n---\nkind: A\n", Ok(json!(null))),
            ("kind: A\n--- x\n", Err("invalid Yaml document separator: x")),
            ("{\"kind\": \"A\"}{\"kind\": \"B\"}", Ok(json!({"kind": "A"}))),
            ("{kind: A}", Ok(json!({"kind": "A"}))),
            ("", Err("EOF")),
            ("kind: |\n  A", Ok(json!({"kind": "A\n"}))),
        ] {
            let read = read(text.as_bytes(), BUNDLE_SNIFFED_BYTES, Ok::<Value, String>);
            assert_eq!(read, expected.map_err(str::to_owned), "{text:?}");
        }
    }

    #[test]
    fn a_document_that_is_neither_json_nor_yaml_is_reported_as_json() {
        let error =
            read(b"{\"kind\": \"A\"", BUNDLE_SNIFFED_BYTES, Ok::<Value, String>).expect_err("truncated");
        assert_eq!(error, "unexpected EOF");
    }
}
