//! The body of a patch as data, with what strict reading finds in it.

use std::collections::BTreeSet;

use goyaml::ReadOptions;
use serde_json::Value;

/// How many findings are kept of one body; upstream stops counting there.
const MAX_FINDINGS: usize = 100;

/// Reads a body as Kubernetes reads JSON, with Go's words for what is wrong with it.
pub(crate) fn read(body: &[u8]) -> Result<Value, String> {
    goyaml::json::to_value(body, ReadOptions::default()).map_err(|error| error.to_string())
}

/// Returns Go's words for a value that doesn't fit a type.
pub(crate) fn does_not_fit(value: &Value, go_type: &str) -> String {
    let word = goyaml::json::kind_word(value);
    format!("json: cannot unmarshal {word} into Go value of type {go_type}")
}

/// One step on the way to a place in a body.
pub(crate) enum Place {
    /// A field of an object, once its name has been read.
    Object {
        /// The field's name.
        key: String,
        /// It and the names before it.
        seen: BTreeSet<String>,
    },
    /// The item of a list.
    Array {
        /// Which one.
        index: usize,
    },
}

/// Collects `duplicate field "a.b"` for every field that is there twice, in the order of the body.
///
/// The body must be valid JSON; what isn't has no findings.
pub(crate) fn repeated_fields(body: &[u8]) -> Vec<String> {
    let mut findings = Findings::default();
    visit_fields(body, |place, repeated| {
        if repeated {
            findings.add(format!("duplicate field \"{}\"", path_of(place)));
        }
    });
    findings.texts
}

/// Shows every field of a body, in its order: the way to it, and whether it is there for the second time.
pub(crate) fn visit_fields(body: &[u8], mut visit: impl FnMut(&[Place], bool)) {
    let mut open: Vec<Place> = Vec::new();
    let mut position = 0;
    // Whether the next string is the name of a field.
    let mut name_next = false;
    while let Some(&byte) = body.get(position) {
        match byte {
            b'{' => {
                open.push(Place::Object {
                    key: String::new(),
                    seen: BTreeSet::new(),
                });
                name_next = true;
            }
            b'[' => {
                open.push(Place::Array { index: 0 });
                name_next = false;
            }
            b'}' | b']' => {
                open.pop();
                name_next = false;
            }
            b',' => match open.last_mut() {
                Some(Place::Array { index }) => *index += 1,
                Some(Place::Object { .. }) => name_next = true,
                None => {}
            },
            b'"' => {
                let end = end_of_string(body, position);
                if name_next {
                    name_next = false;
                    let name = text_of(body.get(position..end).unwrap_or_default());
                    let mut repeated = false;
                    if let Some(Place::Object { key, seen }) = open.last_mut() {
                        repeated = !seen.insert(name.clone());
                        *key = name;
                    }
                    visit(&open, repeated);
                }
                position = end;
                continue;
            }
            _ => {}
        }
        position += 1;
    }
}

/// The findings of strict reading: each text once, and not too many.
#[derive(Default)]
pub(crate) struct Findings {
    texts: Vec<String>,
    seen: BTreeSet<String>,
}

impl Findings {
    /// Keeps a finding.
    pub(crate) fn add(&mut self, text: String) {
        if self.texts.len() < MAX_FINDINGS && self.seen.insert(text.clone()) {
            self.texts.push(text);
        }
    }

    /// Returns what was kept, in order.
    pub(crate) fn into_texts(self) -> Vec<String> {
        self.texts
    }
}

/// Returns a place as findings show it: `spec.containers[0].name`.
pub(crate) fn path_of(open: &[Place]) -> String {
    let mut path = String::new();
    for place in open {
        match place {
            Place::Object { key, .. } => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(key);
            }
            Place::Array { index } => path.extend(["[", &index.to_string(), "]"]),
        }
    }
    path
}

/// Returns the position after the string that starts at `start`.
fn end_of_string(body: &[u8], start: usize) -> usize {
    let mut position = start + 1;
    while let Some(&byte) = body.get(position) {
        match byte {
            b'"' => return position + 1,
            b'\\' => position += 2,
            _ => position += 1,
        }
    }
    body.len()
}

fn text_of(quoted: &[u8]) -> String {
    match read(quoted) {
        Ok(Value::String(text)) => text,
        _ => String::from_utf8_lossy(quoted).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_that_is_there_twice_is_found_with_its_path() {
        let body = br#"{"a":{"b":1,"b":[{"c":1,"\u0063":"}"}]},"a":2}"#;
        let found = repeated_fields(body);
        assert_eq!(
            found,
            [
                "duplicate field \"a.b\"",
                "duplicate field \"a.b[0].c\"",
                "duplicate field \"a\""
            ]
        );
    }

    #[test]
    fn a_body_that_is_not_json_has_no_findings_and_does_not_panic() {
        assert!(repeated_fields(b"\"\\").is_empty());
        assert!(repeated_fields(b"{]}\"").is_empty());
    }
}
