//! JSON into typed fields by Go's rules: keys match without case, one bad field does not stop the rest, and the
//! first mismatch is reported in Go's words.

use std::collections::BTreeMap;

use gotemplate::format::float_text;
use serde_json::Value;

/// Decodes one document into a Go-like struct, field by field.
///
/// Scalars are turned into strings where the target is a string, as the YAML reader does that knows its target type.
#[derive(Default)]
pub(crate) struct FieldDecoder {
    first_mismatch: Option<String>,
    structure: Option<&'static str>,
    fields: Vec<&'static str>,
}

impl FieldDecoder {
    /// Ends decoding: the first mismatch, if there was one.
    pub(crate) fn finish(self) -> Result<(), String> {
        self.first_mismatch.map_or(Ok(()), Err)
    }

    /// Notes an error that a field's own decoder found, unless there is an earlier one.
    pub(crate) fn report(&mut self, message: String) {
        self.first_mismatch.get_or_insert(message);
    }

    /// Notes that `value` does not fit the Go type `expected`.
    pub(crate) fn mismatch(&mut self, value: &Value, expected: &str) {
        if self.first_mismatch.is_some() {
            return;
        }
        let given = goyaml::json::kind_word(value);
        self.first_mismatch = Some(match self.structure {
            Some(structure) => format!(
                "json: cannot unmarshal {given} into Go struct field {structure}.{} of type {expected}",
                self.fields.join(".")
            ),
            None => format!("json: cannot unmarshal {given} into Go value of type {expected}"),
        });
    }

    /// Decodes a string; numbers and booleans become their text.
    pub(crate) fn string(&mut self, value: &Value, target: &mut String) {
        match value {
            Value::Null => {}
            Value::String(text) => target.clone_from(text),
            Value::Bool(flag) => *target = flag.to_string(),
            Value::Number(number) => {
                *target = match number.as_f64() {
                    Some(float) if number.is_f64() => float_text(float, b'g', None),
                    _ => number.to_string(),
                }
            }
            _ => self.mismatch(value, "string"),
        }
    }

    /// Decodes a boolean.
    pub(crate) fn boolean(&mut self, value: &Value, target: &mut bool) {
        match value {
            Value::Null => {}
            Value::Bool(flag) => *target = *flag,
            _ => self.mismatch(value, "bool"),
        }
    }

    /// Decodes a list into the elements that are there already, as Go does; `null` empties it.
    pub(crate) fn list<T: Default>(
        &mut self,
        value: &Value,
        expected: &str,
        target: &mut Option<Vec<T>>,
        mut element: impl FnMut(&mut Self, &Value, &mut T),
    ) {
        match value {
            Value::Null => *target = None,
            Value::Array(items) => {
                let list = target.get_or_insert_default();
                list.resize_with(items.len(), T::default);
                for (item, slot) in items.iter().zip(list.iter_mut()) {
                    element(self, item, slot);
                }
            }
            _ => self.mismatch(value, expected),
        }
    }

    /// Decodes a list of strings.
    pub(crate) fn strings(&mut self, value: &Value, target: &mut Vec<String>) {
        let mut list = Some(std::mem::take(target));
        self.list(value, "[]string", &mut list, Self::string);
        *target = list.unwrap_or_default();
    }

    /// Decodes a map of strings into the entries that are there already.
    pub(crate) fn string_map(&mut self, value: &Value, target: &mut BTreeMap<String, String>) {
        match value {
            Value::Null => target.clear(),
            Value::Object(entries) => {
                for (key, item) in entries {
                    let mut text = String::new();
                    self.string(item, &mut text);
                    target.insert(key.clone(), text);
                }
            }
            _ => self.mismatch(value, "map[string]string"),
        }
    }

    /// Decodes an object: `field` is called with the declared name of every key that has one.
    pub(crate) fn structure(
        &mut self,
        value: &Value,
        name: &'static str,
        go_type: &str,
        names: &[&'static str],
        mut field: impl FnMut(&mut Self, &'static str, &Value),
    ) {
        match value {
            Value::Null => {}
            Value::Object(entries) => {
                for (key, item) in entries {
                    let Some(declared) = declared_name(names, key) else {
                        continue;
                    };
                    let outer = self.structure.replace(name);
                    self.fields.push(declared);
                    field(self, declared, item);
                    self.fields.pop();
                    self.structure = outer;
                }
            }
            _ => self.mismatch(value, go_type),
        }
    }
}

/// The field that Go's JSON would fill from `key`: the exact name, else the first that matches without case.
pub(crate) fn declared_name(names: &[&'static str], key: &str) -> Option<&'static str> {
    names
        .iter()
        .find(|name| **name == key)
        .or_else(|| {
            names
                .iter()
                .find(|name| name.chars().map(fold).eq(key.chars().map(fold)))
        })
        .copied()
}

/// Folds the letters that occur in field names, together with the two non-ASCII letters that Go folds onto them.
fn fold(character: char) -> char {
    match character {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        _ => character.to_ascii_lowercase(),
    }
}
