//! Values as TOML, laid out as `BurntSushi`'s encoder does: nested tables indented, plain keys before tables.

use std::borrow::Cow;

use gotemplate::format::float_text;
use gotemplate::{Failure, Integer, IntegerKind, Json, Kind, Object, Text, Value};

use super::key::{write_key, write_part, write_quoted};
use crate::functions::limits;
use crate::time::Time;

/// The indentation of one level of tables.
const INDENT: &str = "  ";

/// Writes a value; errors have the encoder's words.
pub(crate) fn write(value: &Value) -> Result<Vec<u8>, Failure> {
    let mut writer = Writer {
        out: Vec::new(),
        key: Vec::new(),
        depth: 0,
    };
    writer.value(value)?;
    Ok(writer.out)
}

struct Writer {
    out: Vec<u8>,
    /// The keys from the top to where the writer is.
    key: Vec<Text>,
    depth: usize,
}

/// What a value is in TOML.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// Nothing: it is left out.
    Nil,
    Plain,
    Array,
    Table,
    TableArray,
}

/// A value, with what it is made of in reach.
enum Content<'a> {
    Nil,
    /// Written without quotes.
    Bare(String),
    Text(Vec<u8>),
    List(Cow<'a, [Value]>),
    Map(Vec<(Text, Value)>),
    /// In the order of declaration.
    Struct(Vec<(Text, Value)>),
}

impl Writer {
    /// Writes the value at the current key.
    fn value(&mut self, value: &Value) -> Result<(), Failure> {
        self.deeper(|writer| match shape(value, writer.depth)? {
            Shape::Nil => Ok(()),
            Shape::Plain | Shape::Array => writer.key_and_value(value),
            Shape::Table => writer.table(value),
            Shape::TableArray => writer.table_array(value),
        })
    }

    fn key_and_value(&mut self, value: &Value) -> Result<(), Failure> {
        let Some(last) = self.key.last().cloned() else {
            return self.element(value);
        };
        self.indent();
        write_part(&mut self.out, &last);
        self.out.extend_from_slice(b" = ");
        self.element(value)?;
        self.newline();
        Ok(())
    }

    fn table(&mut self, value: &Value) -> Result<(), Failure> {
        if self.key.len() == 1 {
            self.newline();
        }
        if !self.key.is_empty() {
            self.header("[", "]");
        }
        self.entries(value)
    }

    fn table_array(&mut self, value: &Value) -> Result<(), Failure> {
        if self.key.is_empty() {
            return Err("toml: top-level values must be Go maps or structs".into());
        }
        if let Content::List(items) = content(value)? {
            for item in items.iter().filter(|item| !item.is_nil()) {
                self.newline();
                self.header("[[", "]]");
                self.entries(item)?;
            }
        }
        Ok(())
    }

    fn header(&mut self, open: &str, close: &str) {
        self.indent();
        self.out.extend_from_slice(open.as_bytes());
        write_key(&mut self.out, &self.key);
        self.out.extend_from_slice(close.as_bytes());
        self.newline();
    }

    /// Writes the entries of a table: those that are no tables first.
    fn entries(&mut self, value: &Value) -> Result<(), Failure> {
        let (direct, tables) = self.split(value)?;
        for (key, value) in direct.into_iter().chain(tables) {
            self.key.push(key);
            let written = self.value(&value);
            self.key.pop();
            written?;
        }
        Ok(())
    }

    #[expect(clippy::type_complexity, reason = "two lists of entries")]
    fn split(&self, value: &Value) -> Result<(Vec<(Text, Value)>, Vec<(Text, Value)>), Failure> {
        let (Content::Map(entries) | Content::Struct(entries)) = content(value)? else {
            return Ok((Vec::new(), Vec::new()));
        };
        let (mut direct, mut tables) = (Vec::new(), Vec::new());
        for (key, value) in entries {
            match shape(&value, self.depth)? {
                Shape::Table | Shape::TableArray => tables.push((key, value)),
                Shape::Nil | Shape::Plain | Shape::Array => direct.push((key, value)),
            }
        }
        Ok((direct, tables))
    }

    /// Writes a value behind its key or inside an array.
    fn element(&mut self, value: &Value) -> Result<(), Failure> {
        self.deeper(|writer| match content(value)? {
            Content::Nil => {
                // Only an inner table can be nil here: the rest has been left out or refused.
                writer.out.extend_from_slice(b"{}");
                Ok(())
            }
            Content::Bare(text) => {
                writer.out.extend(text.bytes());
                Ok(())
            }
            Content::Text(text) => {
                write_quoted(&mut writer.out, &text);
                Ok(())
            }
            Content::List(items) => {
                writer.out.push(b'[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        writer.out.extend_from_slice(b", ");
                    }
                    writer.element(item)?;
                }
                writer.out.push(b']');
                Ok(())
            }
            Content::Map(_) => writer.inline_map(value),
            Content::Struct(_) => writer.inline_struct(value),
        })
    }

    fn inline_map(&mut self, value: &Value) -> Result<(), Failure> {
        let (direct, tables) = self.split(value)?;
        self.out.push(b'{');
        let more = !tables.is_empty();
        for (entries, more) in [(direct, more), (tables, false)] {
            let last = entries.len().saturating_sub(1);
            for (index, (key, value)) in entries.iter().enumerate() {
                // As in the encoder, what is left out takes its comma along, even the one before the end.
                if value.is_nil() {
                    continue;
                }
                self.inline_entry(key, value)?;
                if more || index != last {
                    self.out.extend_from_slice(b", ");
                }
            }
        }
        self.out.push(b'}');
        Ok(())
    }

    fn inline_struct(&mut self, value: &Value) -> Result<(), Failure> {
        let Content::Struct(fields) = content(value)? else {
            return Ok(());
        };
        let (direct, tables) = self.split(value)?;
        self.out.push(b'{');
        for entries in [direct, tables] {
            for (key, value) in entries.iter().filter(|(_, value)| !value.is_nil()) {
                self.inline_entry(key, value)?;
                // The encoder compares the field's place in the struct with the length of this part of the fields.
                let place = fields.iter().position(|(field, _)| field == key);
                if place != Some(entries.len() - 1) {
                    self.out.extend_from_slice(b", ");
                }
            }
        }
        self.out.push(b'}');
        Ok(())
    }

    fn inline_entry(&mut self, key: &Text, value: &Value) -> Result<(), Failure> {
        write_part(&mut self.out, key);
        self.out.extend_from_slice(b" = ");
        self.element(value)
    }

    fn deeper(&mut self, work: impl FnOnce(&mut Writer) -> Result<(), Failure>) -> Result<(), Failure> {
        self.depth += 1;
        let done = limits::nested(self.depth, || work(self));
        self.depth -= 1;
        done
    }

    fn newline(&mut self) {
        if !self.out.is_empty() {
            self.out.push(b'\n');
        }
    }

    fn indent(&mut self) {
        for _ in 1..self.key.len() {
            self.out.extend_from_slice(INDENT.as_bytes());
        }
    }
}

fn shape(value: &Value, depth: usize) -> Result<Shape, Failure> {
    Ok(match value {
        Value::Nil | Value::TypedNil(_) => Shape::Nil,
        Value::Map(_) => Shape::Table,
        Value::List(list) => {
            let mut tables = !list.is_empty();
            for item in list.iter() {
                match limits::nested(depth, || shape(item, depth + 1))? {
                    Shape::Nil => return Err("toml: cannot encode array with nil element".into()),
                    Shape::Table => {}
                    Shape::Plain | Shape::Array | Shape::TableArray => tables = false,
                }
            }
            if tables { Shape::TableArray } else { Shape::Array }
        }
        Value::Bytes(_) => Shape::Array,
        Value::Object(object) => match object_content(object.as_ref())? {
            Content::Nil => Shape::Nil,
            Content::Bare(_) | Content::Text(_) => Shape::Plain,
            Content::List(_) => Shape::Array,
            Content::Map(_) | Content::Struct(_) => Shape::Table,
        },
        Value::Complex(..) => return Err("unsupported type: complex128".into()),
        Value::Function(_) => return Err("unsupported type: func".into()),
        Value::Bool(_) | Value::Integer(_) | Value::Float(_) | Value::String(_) => Shape::Plain,
    })
}

fn content(value: &Value) -> Result<Content<'_>, Failure> {
    Ok(match value {
        Value::Nil | Value::TypedNil(_) => Content::Nil,
        Value::Bool(value) => Content::Bare(value.to_string()),
        Value::Integer(integer) => Content::Bare(integer.wide().to_string()),
        Value::Float(value) => Content::Bare(float(*value)),
        Value::String(text) => Content::Text(text.to_vec()),
        Value::Bytes(bytes) => Content::List(bytes.iter().map(|byte| byte_value(*byte)).collect()),
        Value::List(list) => Content::List(Cow::Borrowed(list)),
        Value::Map(map) => Content::Map(map.entries()),
        Value::Object(object) => object_content(object.as_ref())?,
        Value::Complex(..) => return Err("unsupported type: complex128".into()),
        Value::Function(_) => return Err("unsupported type: func".into()),
    })
}

fn byte_value(byte: u8) -> Value {
    Value::Integer(Integer {
        kind: IntegerKind::Uint8,
        bits: i64::from(byte),
    })
}

fn object_content(object: &dyn Object) -> Result<Content<'static>, Failure> {
    if let Some(time) = object.as_any().downcast_ref::<Time>() {
        return Ok(Content::Bare(time.to_toml()));
    }
    // These two write themselves as text.
    if matches!(
        object.type_name(),
        "*semver.Version" | "semver.Version" | "time.Duration"
    ) {
        return Ok(Content::Text(object.text().unwrap_or_default().into_bytes()));
    }
    let underlying = |object: &dyn Object| match object.json() {
        Json::Value(value) => value,
        Json::Object(members) => Value::map(members),
    };
    Ok(match object.kind() {
        Kind::Struct | Kind::Pointer => Content::Struct(
            object
                .fields()
                .into_iter()
                .map(|(name, value)| (name.into(), value))
                .collect(),
        ),
        kind => match underlying(object) {
            Value::Integer(integer) => Content::Bare(integer.wide().to_string()),
            Value::String(text) => Content::Text(text.to_vec()),
            Value::Bool(value) => Content::Bare(value.to_string()),
            Value::Float(value) => Content::Bare(float(value)),
            Value::Map(map) => Content::Map(map.entries()),
            Value::List(list) => Content::List(list.iter().cloned().collect()),
            _ => return Err(format!("unsupported type: {}", kind.name()).into()),
        },
    })
}

fn float(value: f64) -> String {
    if value.is_nan() {
        return if value.is_sign_negative() {
            "-nan".into()
        } else {
            "nan".into()
        };
    }
    if value.is_infinite() {
        return if value < 0.0 { "-inf".into() } else { "inf".into() };
    }
    let text = float_text(value, b'f', None);
    if text.contains('.') { text } else { text + ".0" }
}
