//! Values as the API server shows them where it holds them in its own types: every field is there, under its Go name.
//!
//! Errors show such values where they quote a whole part of an object, and the differences that updates are refused
//! with are between such texts.

use std::collections::HashMap;
use std::sync::LazyLock;

use goyaml::json::{self, Escape};
use serde_json::Value;

use super::reading::{Reading, nothing};
use super::report::Raw;
use crate::tree::Fields;

/// A structure and its fields, each with its Go name, its JSON name and what it holds.
const TABLE: &str = include_str!("internal_types.txt");

#[derive(Debug, Clone, PartialEq)]
enum Holds {
    Text,
    Number,
    Flag,
    Quantity,
    Time,
    Bytes,
    /// A number or a text.
    Either,
    /// A value that has JSON names in Go too.
    Tagged,
    Structure(&'static str),
    Pointer(Box<Self>),
    List(Box<Self>),
    Map(Box<Self>),
}

enum Field {
    /// A field with its Go name, its JSON name and what it holds.
    Named(&'static str, &'static str, Holds),
    /// The fields of another structure.
    Embedded(&'static str),
    /// The fields of metadata.
    Metadata,
}

fn holds(text: &'static str) -> Holds {
    match text.split_at_checked(1) {
        Some(("*", rest)) => Holds::Pointer(Box::new(holds(rest))),
        Some(("[", rest)) => Holds::List(Box::new(holds(rest))),
        Some(("{", rest)) => Holds::Map(Box::new(holds(rest))),
        _ => match text {
            "text" => Holds::Text,
            "number" => Holds::Number,
            "flag" => Holds::Flag,
            "quantity" => Holds::Quantity,
            "time" => Holds::Time,
            "bytes" => Holds::Bytes,
            "intstr" => Holds::Either,
            "tagged" => Holds::Tagged,
            name => Holds::Structure(name),
        },
    }
}

static STRUCTURES: LazyLock<HashMap<&'static str, Vec<Field>>> = LazyLock::new(|| {
    let mut all = HashMap::new();
    let mut current = "";
    for line in TABLE.lines() {
        let Some(line) = line.strip_prefix(' ') else {
            current = line;
            all.insert(current, Vec::new());
            continue;
        };
        let mut words = line.split(' ');
        let field = match (words.next(), words.next(), words.next()) {
            (Some("@metadata"), _, _) => Field::Metadata,
            (Some(name), Some(json_name), Some(kind)) => Field::Named(name, json_name, holds(kind)),
            (Some(name), _, _) => Field::Embedded(name.trim_start_matches('@')),
            (None, _, _) => continue,
        };
        if let Some(fields) = all.get_mut(current) {
            fields.push(field);
        }
    }
    all
});

/// Returns a part of an object as an error shows it.
pub(super) fn shown(structure: &'static str, value: Option<&Value>) -> Raw {
    Raw(written(&Holds::Structure(structure), value, None))
}

/// Returns a list of parts as an error shows it.
pub(super) fn shown_list(structure: &'static str, value: Option<&Value>) -> Raw {
    let list = Holds::List(Box::new(Holds::Structure(structure)));
    Raw(written(&list, value, None))
}

/// Returns a part that may be missing as an error shows it.
pub(super) fn shown_if_set(structure: &'static str, value: Option<&Value>) -> Raw {
    let pointer = Holds::Pointer(Box::new(Holds::Structure(structure)));
    Raw(written(&pointer, value, None))
}

/// Returns a part of an object over many lines.
pub(super) fn lines(structure: &'static str, value: Option<&Value>) -> String {
    written(&Holds::Structure(structure), value, Some(0))
}

fn written(holds: &Holds, value: Option<&Value>, indent: Option<usize>) -> String {
    let mut writer = Writer {
        out: String::new(),
        indent,
    };
    writer.value(holds, value.filter(|value| !value.is_null()));
    writer.out
}

struct Writer {
    out: String,
    /// How deep the text is, where it has lines.
    indent: Option<usize>,
}

impl Writer {
    fn open(&mut self, sign: char) {
        self.out.push(sign);
        if let Some(indent) = &mut self.indent {
            *indent += 1;
        }
    }

    fn close(&mut self, sign: char, is_empty: bool) {
        if let Some(indent) = &mut self.indent {
            *indent -= 1;
        }
        if !is_empty {
            self.line();
        }
        self.out.push(sign);
    }

    fn line(&mut self) {
        if let Some(indent) = self.indent {
            self.out.push('\n');
            self.out.extend(std::iter::repeat_n(' ', indent));
        }
    }

    fn separate(&mut self, is_first: &mut bool) {
        if !std::mem::take(is_first) {
            self.out.push(',');
        }
        self.line();
    }

    fn name(&mut self, name: &str) {
        self.text(name);
        self.out.push_str(if self.indent.is_some() { ": " } else { ":" });
    }

    fn text(&mut self, text: &str) {
        self.json(&Value::String(text.to_owned()));
    }

    fn json(&mut self, value: &Value) {
        self.out
            .push_str(&json::to_string(value, Escape::Html).unwrap_or_default());
    }

    /// Writes a value that has its JSON names in Go too.
    fn tagged(&mut self, value: &Value) {
        match value {
            Value::Object(fields) => {
                self.open('{');
                let mut is_first = true;
                for (name, value) in fields {
                    self.separate(&mut is_first);
                    self.name(name);
                    self.tagged(value);
                }
                self.close('}', is_first);
            }
            Value::Array(items) => {
                self.open('[');
                let mut is_first = true;
                for item in items {
                    self.separate(&mut is_first);
                    self.tagged(item);
                }
                self.close(']', is_first);
            }
            other => self.json(other),
        }
    }

    fn value(&mut self, holds: &Holds, value: Option<&Value>) {
        match (holds, value) {
            (Holds::Pointer(_) | Holds::List(_) | Holds::Map(_) | Holds::Time | Holds::Bytes, None) => {
                self.out.push_str("null");
            }
            (Holds::Text, None) => self.out.push_str("\"\""),
            (Holds::Number | Holds::Either, None) => self.out.push('0'),
            (Holds::Flag, None) => self.out.push_str("false"),
            (Holds::Quantity, None) => self.out.push_str("\"0\""),
            (Holds::Tagged, None) => self.out.push_str("{}"),
            (Holds::Structure(name), value) => {
                let fields = value.and_then(Value::as_object).unwrap_or(nothing());
                self.structure(name, fields);
            }
            (Holds::Pointer(inner), Some(value)) => self.value(inner, Some(value)),
            (Holds::List(inner), Some(Value::Array(items))) => {
                if items.is_empty() {
                    // What was stored once has no empty lists, and differences are with what was stored.
                    self.out
                        .push_str(if self.indent.is_some() { "null" } else { "[]" });
                    return;
                }
                self.open('[');
                let mut is_first = true;
                for item in items {
                    self.separate(&mut is_first);
                    self.value(inner, Some(item));
                }
                self.close(']', is_first);
            }
            (Holds::Map(inner), Some(Value::Object(entries))) => {
                self.open('{');
                let mut is_first = true;
                for (name, value) in entries {
                    self.separate(&mut is_first);
                    self.name(name);
                    self.value(inner, Some(value));
                }
                self.close('}', is_first);
            }
            (Holds::Tagged, Some(value)) => self.tagged(value),
            (_, Some(value)) => self.json(value),
        }
    }

    fn structure(&mut self, name: &'static str, fields: &Fields) {
        self.open('{');
        let mut is_first = true;
        self.fields(name, fields, fields, &mut is_first);
        self.close('}', is_first);
    }

    /// Writes the fields of a structure. Some of what a pod's specification holds is in its security context in Go.
    fn fields(&mut self, name: &'static str, fields: &Fields, around: &Fields, is_first: &mut bool) {
        for field in STRUCTURES.get(name).map_or(&[][..], Vec::as_slice) {
            match field {
                Field::Embedded(inner) => self.fields(inner, fields, around, is_first),
                Field::Metadata => {
                    for (name, value) in fields.at("metadata") {
                        self.separate(is_first);
                        self.name(name);
                        self.tagged(value);
                    }
                }
                Field::Named(go_name, _, Holds::Pointer(inner))
                    if **inner == Holds::Structure("core.PodSecurityContext") =>
                {
                    self.separate(is_first);
                    self.name(go_name);
                    if fields.has("securityContext") {
                        self.open('{');
                        let mut is_first = true;
                        self.fields(
                            "core.PodSecurityContext",
                            fields.at("securityContext"),
                            fields,
                            &mut is_first,
                        );
                        self.close('}', is_first);
                    } else {
                        self.out.push_str("null");
                    }
                }
                Field::Named(go_name, json_name, holds) => {
                    self.separate(is_first);
                    self.name(go_name);
                    let from = if name == "core.PodSecurityContext" && fields.get(*json_name).is_none() {
                        around
                    } else {
                        fields
                    };
                    self.value(holds, from.set_value(json_name));
                }
            }
        }
    }
}
