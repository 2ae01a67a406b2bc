//! JSON as Go writes structs: fields in the order of the type, and characters escaped that mean something in HTML.

use serde_json::Value;

/// Writes a list, each of its items with the function.
pub(super) fn list<T>(items: impl IntoIterator<Item = T>, write: impl Fn(T) -> String) -> String {
    let items: Vec<String> = items.into_iter().map(write).collect();
    format!("[{}]", items.join(","))
}

/// An object that is being written, field by field.
#[derive(Debug, Default)]
pub(super) struct Struct(String);

impl Struct {
    /// Adds a field whose value is written already.
    pub(super) fn written(mut self, name: &str, value: &str) -> Self {
        self.0.push(if self.0.is_empty() { '{' } else { ',' });
        self.0.push('"');
        self.0.push_str(name);
        self.0.push_str("\":");
        self.0.push_str(value);
        self
    }

    /// Adds a field.
    pub(super) fn field(self, name: &str, value: &Value) -> Self {
        self.written(name, &value_of(value))
    }

    /// Adds a field, unless it is missing.
    pub(super) fn field_if_set(self, name: &str, value: Option<&Value>) -> Self {
        match value {
            Some(value) if !value.is_null() => self.field(name, value),
            _ => self,
        }
    }

    /// Adds a field whose value is written already, unless it is missing.
    pub(super) fn written_if_set(self, name: &str, value: Option<String>) -> Self {
        match value {
            Some(value) => self.written(name, &value),
            None => self,
        }
    }

    /// Returns the object.
    pub(super) fn end(mut self) -> String {
        if self.0.is_empty() {
            return "{}".to_owned();
        }
        self.0.push('}');
        self.0
    }
}

fn value_of(value: &Value) -> String {
    let text = value.to_string();
    if !text.contains(['<', '>', '&', '\u{2028}', '\u{2029}']) {
        return text;
    }
    text.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}
