//! From bytes to the JSON value that Go writes for the same object.

use std::cell::Cell;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Number, Value};

use super::error::ProtobufError;
use super::instant::{Instant, Precision};
use super::table::{Field, Form, Message, Shape, Table, Type};
use super::wire::{DELIMITED, FIXED64, Reader, VARINT};
use super::{MAGIC, MAXIMUM_DEPTH, MAXIMUM_OBJECTS};

/// Reads messages by the table.
pub(super) struct Decoder {
    table: &'static Table,
    /// How many objects were made so far.
    objects: Cell<usize>,
}

impl Decoder {
    pub(super) const fn new(table: &'static Table) -> Self {
        Self {
            table,
            objects: Cell::new(0),
        }
    }

    /// Returns the message of a kind.
    pub(super) fn of_kind(&self, api_version: &str, kind: &str) -> Option<&'static Message> {
        self.table.of_kind(api_version, kind)
    }

    /// Reads a message's fields into an object, and adds those that Go's JSON has though they weren't written.
    ///
    /// What the object holds already is merged with, as protobuf asks of a message that is written in parts.
    pub(super) fn object(
        &self,
        message: &'static Message,
        bytes: &[u8],
        object: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), ProtobufError> {
        if depth > MAXIMUM_DEPTH {
            return Err(ProtobufError::TooDeep { limit: MAXIMUM_DEPTH });
        }
        if self.objects.get() > MAXIMUM_OBJECTS {
            return Err(ProtobufError::TooMany {
                limit: MAXIMUM_OBJECTS,
            });
        }
        let mut reader = Reader::new(bytes);
        while let Some(tag) = reader.tag(message.name)? {
            match message.field(tag.number) {
                Some(field) => self.field(field, tag.wire, &mut reader, object, depth)?,
                None => reader.skip(tag)?,
            }
        }
        self.complete(message, object);
        Ok(())
    }

    fn field(
        &self,
        field: &'static Field,
        wire: u8,
        reader: &mut Reader<'_>,
        object: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), ProtobufError> {
        match field.shape {
            Shape::List => {
                let list = entry(object, field.name, || Value::Array(Vec::new()), Value::is_array);
                let Value::Array(list) = list else { return Ok(()) };
                if wire == DELIMITED
                    && matches!(field.value, Type::Boolean | Type::Integer32 | Type::Integer64)
                {
                    // Several numbers in one field, which readers must accept.
                    let mut packed = Reader::new(reader.delimited()?);
                    while !packed.is_at_end() {
                        list.push(self.value(field, VARINT, &mut packed, depth)?);
                    }
                } else {
                    list.push(self.value(field, wire, reader, depth)?);
                }
            }
            Shape::Map => {
                let bytes = delimited(field, wire, reader)?;
                let (key, value) = self.map_entry(field, bytes, depth)?;
                let map = entry(object, field.name, || Value::Object(Map::new()), Value::is_object);
                if let Value::Object(map) = map {
                    map.insert(key, value);
                }
            }
            Shape::Always | Shape::Optional => {
                if let Type::Message(number) = field.value {
                    let message = self.table.message(number);
                    if field.inlined {
                        return self.object(message, delimited(field, wire, reader)?, object, depth + 1);
                    }
                    if let Some(Value::Object(existing)) = object.get_mut(field.name)
                        && matches!(message.form, Form::Struct | Form::Object)
                    {
                        return self.object(message, delimited(field, wire, reader)?, existing, depth + 1);
                    }
                }
                let value = self.value(field, wire, reader, depth)?;
                if is_left_out(field, &value) {
                    object.remove(field.name);
                } else {
                    object.insert(field.name.to_owned(), value);
                }
            }
        }
        Ok(())
    }

    fn map_entry(
        &self,
        field: &'static Field,
        bytes: &[u8],
        depth: usize,
    ) -> Result<(String, Value), ProtobufError> {
        if depth >= MAXIMUM_DEPTH {
            return Err(ProtobufError::TooDeep { limit: MAXIMUM_DEPTH });
        }
        let (mut key, mut value) = (String::new(), None);
        let mut reader = Reader::new(bytes);
        while let Some(tag) = reader.tag(field.go_name)? {
            match tag.number {
                1 => key = text(delimited(field, tag.wire, &mut reader)?),
                2 => value = Some(self.value(field, tag.wire, &mut reader, depth + 1)?),
                _ => reader.skip(tag)?,
            }
        }
        let value = value.unwrap_or_else(|| match field.value {
            // Go's reader makes an empty value of each entry, which for these isn't the same as none.
            Type::Bytes => Value::String(String::new()),
            Type::Texts => Value::Array(Vec::new()),
            other => self.zero(other),
        });
        Ok((key, value))
    }

    /// Reads one value of a field: an item of a list, a value of a map, or the only one.
    fn value(
        &self,
        field: &'static Field,
        wire: u8,
        reader: &mut Reader<'_>,
        depth: usize,
    ) -> Result<Value, ProtobufError> {
        match field.value {
            Type::Boolean => Ok(Value::Bool(varint(field, wire, reader)? != 0)),
            Type::Integer32 => Ok(Value::from(varint(field, wire, reader)? as i32)),
            Type::Integer64 => Ok(Value::from(varint(field, wire, reader)? as i64)),
            Type::Double if wire == FIXED64 => number(f64::from_le_bytes(reader.fixed64()?)),
            Type::Double => Err(ProtobufError::WrongWireType {
                wire,
                field: field.go_name,
            }),
            _ => self.delimited_value(field, delimited(field, wire, reader)?, depth),
        }
    }

    fn delimited_value(
        &self,
        field: &'static Field,
        bytes: &[u8],
        depth: usize,
    ) -> Result<Value, ProtobufError> {
        let instant = |precision| {
            let instant = Instant::decode(bytes, precision)?;
            Ok(instant.map_or(Value::Null, |instant| Value::String(instant.text(precision))))
        };
        match field.value {
            Type::Text => Ok(Value::String(text(bytes))),
            Type::Bytes => Ok(Value::String(BASE64.encode(bytes))),
            Type::Time => instant(Precision::Seconds),
            Type::MicroTime => instant(Precision::Microseconds),
            Type::Quantity => quantity(bytes),
            Type::IntegerOrText => integer_or_text(bytes),
            Type::Raw => self.raw(field, bytes, depth),
            Type::Json => json(field, only_bytes(bytes, "FieldsV1")?.unwrap_or_default()),
            Type::Texts => texts(bytes),
            Type::Message(number) => self.message(self.table.message(number), bytes, depth + 1),
            // `value` reads the numbers.
            Type::Boolean | Type::Integer32 | Type::Integer64 | Type::Double => Ok(Value::Null),
        }
    }

    fn message(&self, message: &'static Message, bytes: &[u8], depth: usize) -> Result<Value, ProtobufError> {
        let mut object = Map::new();
        self.object(message, bytes, &mut object, depth)?;
        Ok(in_form(message, object))
    }

    /// Reads an object of any kind: JSON mostly, protobuf within the events of a watch.
    fn raw(&self, field: &'static Field, bytes: &[u8], depth: usize) -> Result<Value, ProtobufError> {
        let bytes = only_bytes(bytes, "RawExtension")?.unwrap_or_default();
        if bytes.starts_with(&MAGIC) {
            return Ok(super::decode_with(self, bytes, None, depth + 1)?.value);
        }
        json(field, bytes)
    }

    /// Adds the fields that Go's JSON has even if nothing was written for them.
    fn complete(&self, message: &Message, object: &mut Map<String, Value>) {
        self.objects.set(self.objects.get() + 1);
        for field in &message.fields {
            match (field.shape, field.value) {
                (_, Type::Message(number)) if field.inlined => {
                    self.complete(self.table.message(number), object);
                }
                _ if object.contains_key(field.name) => {}
                (Shape::Always, value) => {
                    let zero = self.zero(value);
                    if !is_left_out(field, &zero) {
                        object.insert(field.name.to_owned(), zero);
                    }
                }
                _ if field.omit_empty => {}
                _ => drop(object.insert(field.name.to_owned(), Value::Null)),
            }
        }
    }

    /// Returns what Go's JSON has for a value of which nothing was written.
    fn zero(&self, value: Type) -> Value {
        match value {
            Type::Text => Value::String(String::new()),
            Type::Boolean => Value::Bool(false),
            Type::Integer32 | Type::Integer64 | Type::Double | Type::IntegerOrText => Value::from(0),
            Type::Quantity => Value::from("0"),
            Type::Bytes | Type::Texts | Type::Time | Type::MicroTime | Type::Raw | Type::Json => Value::Null,
            Type::Message(number) => {
                // Go's structs hold each other by value without circles, so this ends.
                let message = self.table.message(number);
                let mut object = Map::new();
                self.complete(message, &mut object);
                in_form(message, object)
            }
        }
    }
}

/// Returns the value of a key, put there if it is absent or isn't what `fits`.
fn entry<'o>(
    object: &'o mut Map<String, Value>,
    name: &'static str,
    make: impl FnOnce() -> Value,
    fits: impl FnOnce(&Value) -> bool,
) -> &'o mut Value {
    if !object.get(name).is_some_and(fits) {
        object.insert(name.to_owned(), make());
    }
    &mut object[name]
}

/// Returns whether Go's JSON leaves out a field that isn't a pointer and has this value.
fn is_left_out(field: &Field, value: &Value) -> bool {
    if field.shape == Shape::Optional {
        return false;
    }
    let is_empty = || match field.value {
        Type::Text | Type::Bytes => value.as_str().is_none_or(str::is_empty),
        Type::Boolean => *value == Value::Bool(false),
        Type::Integer32 | Type::Integer64 | Type::Double => value.as_f64() == Some(0.0),
        Type::Texts => value.as_array().is_none_or(Vec::is_empty),
        // These are structs in Go, and none is ever empty.
        Type::Time
        | Type::MicroTime
        | Type::Quantity
        | Type::IntegerOrText
        | Type::Raw
        | Type::Json
        | Type::Message(_) => false,
    };
    (field.omit_empty && is_empty()) || (field.omit_zero && value.is_null())
}

/// Gives the fields of a message the form that JSON has for it.
fn in_form(message: &Message, mut object: Map<String, Value>) -> Value {
    let mut take = |wanted: fn(&Field) -> bool| {
        let field = message.fields.iter().find(|field| wanted(field));
        field
            .and_then(|field| object.remove(field.name))
            .filter(|value| !value.is_null())
    };
    match message.form {
        Form::Struct | Form::Object => Value::Object(object),
        Form::ListOrValue => {
            let list = take(|field| field.shape == Shape::List);
            list.or_else(|| take(|field| field.shape != Shape::List))
                .unwrap_or_default()
        }
        Form::ValueOrBoolean => {
            let value = take(|field| field.value != Type::Boolean);
            value
                .or_else(|| take(|field| field.value == Type::Boolean))
                .unwrap_or(Value::Bool(false))
        }
    }
}

fn varint(field: &Field, wire: u8, reader: &mut Reader<'_>) -> Result<u64, ProtobufError> {
    if wire == VARINT {
        reader.varint()
    } else {
        Err(ProtobufError::WrongWireType {
            wire,
            field: field.go_name,
        })
    }
}

fn delimited<'b>(field: &Field, wire: u8, reader: &mut Reader<'b>) -> Result<&'b [u8], ProtobufError> {
    if wire == DELIMITED {
        reader.delimited()
    } else {
        Err(ProtobufError::WrongWireType {
            wire,
            field: field.go_name,
        })
    }
}

/// Returns bytes as text; like Go's JSON, it shows each byte that is no UTF-8 as U+FFFD.
pub(super) fn text(mut bytes: &[u8]) -> String {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(bytes.len());
    while let Some(chunk) = bytes.utf8_chunks().next() {
        out.push_str(chunk.valid());
        let rest = bytes.get(chunk.valid().len()..).unwrap_or_default();
        match rest.split_first() {
            Some((_, after)) => {
                out.push(char::REPLACEMENT_CHARACTER);
                bytes = after;
            }
            None => break,
        }
    }
    out
}

/// Returns a number as a JSON reader would have it from what Go writes: whole ones without a point.
fn number(value: f64) -> Result<Value, ProtobufError> {
    /// Whole numbers up to here are written without an exponent, and each of them fits into 64 bits.
    const WHOLE: f64 = 9.0e18;
    let unsupported = || {
        ProtobufError::UnsupportedNumber(if value.is_nan() {
            "NaN"
        } else if value > 0.0 {
            "+Inf"
        } else {
            "-Inf"
        })
    };
    let is_negative_zero = value == 0.0 && value.is_sign_negative();
    if value.fract() == 0.0 && value.abs() < WHOLE && !is_negative_zero {
        return Ok(Value::from(value as i64));
    }
    if value.fract() == 0.0 && value >= WHOLE && value < u64::MAX as f64 {
        return Ok(Value::from(value as u64));
    }
    Number::from_f64(value).map(Value::Number).ok_or_else(unsupported)
}

/// Reads a message whose field 1 is all that it has.
fn only_bytes<'b>(bytes: &'b [u8], message: &'static str) -> Result<Option<&'b [u8]>, ProtobufError> {
    let mut found = None;
    let mut reader = Reader::new(bytes);
    while let Some(tag) = reader.tag(message)? {
        match (tag.number, tag.wire) {
            (1, DELIMITED) => found = Some(reader.delimited()?),
            (1, wire) => return Err(ProtobufError::WrongWireType { wire, field: "Raw" }),
            _ => reader.skip(tag)?,
        }
    }
    Ok(found)
}

fn texts(bytes: &[u8]) -> Result<Value, ProtobufError> {
    let mut items = Vec::new();
    let mut reader = Reader::new(bytes);
    while let Some(tag) = reader.tag("ExtraValue")? {
        match (tag.number, tag.wire) {
            (1, DELIMITED) => items.push(Value::String(text(reader.delimited()?))),
            (1, wire) => return Err(ProtobufError::WrongWireType { wire, field: "Items" }),
            _ => reader.skip(tag)?,
        }
    }
    Ok(Value::Array(items))
}

fn quantity(bytes: &[u8]) -> Result<Value, ProtobufError> {
    match only_bytes(bytes, "Quantity")? {
        Some(written) => Ok(Value::String(bundle::rendering::quantity::canonical(&text(
            written,
        ))?)),
        None => Ok(Value::from("0")),
    }
}

fn integer_or_text(bytes: &[u8]) -> Result<Value, ProtobufError> {
    let (mut kind, mut integer, mut words) = (0, 0, &[][..]);
    let mut reader = Reader::new(bytes);
    while let Some(tag) = reader.tag("IntOrString")? {
        match (tag.number, tag.wire) {
            (1, VARINT) => kind = reader.varint()?,
            (2, VARINT) => integer = reader.varint()? as i32,
            (3, DELIMITED) => words = reader.delimited()?,
            (1, wire) => return Err(ProtobufError::WrongWireType { wire, field: "Type" }),
            (2, wire) => {
                return Err(ProtobufError::WrongWireType {
                    wire,
                    field: "IntVal",
                });
            }
            (3, wire) => {
                return Err(ProtobufError::WrongWireType {
                    wire,
                    field: "StrVal",
                });
            }
            _ => reader.skip(tag)?,
        }
    }
    match kind {
        0 => Ok(Value::from(integer)),
        1 => Ok(Value::String(text(words))),
        _ => Err(ProtobufError::IntegerOrText),
    }
}

fn json(field: &'static Field, bytes: &[u8]) -> Result<Value, ProtobufError> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    serde_json::from_slice(bytes).map_err(|source| ProtobufError::Json {
        field: field.go_name,
        source,
    })
}
