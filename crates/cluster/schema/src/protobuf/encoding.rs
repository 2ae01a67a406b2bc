//! From a JSON value to the bytes that Go writes for the same object.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Value};

use super::MAXIMUM_DEPTH;
use super::error::EncodeError;
use super::instant::{Instant, Precision};
use super::table::{Field, Form, Message, Shape, Table, Type};
use super::wire::{BackwardWriter, FIXED64};

static NOTHING: Value = Value::Null;

/// Writes messages by the table, the last field first.
pub(super) struct Encoder {
    table: &'static Table,
    pub(super) out: BackwardWriter,
}

impl Encoder {
    pub(super) fn new(table: &'static Table) -> Self {
        Self {
            table,
            out: BackwardWriter::default(),
        }
    }

    /// Writes the fields of a message. Keys that the message has no field for are left out, as Go does.
    pub(super) fn object(
        &mut self,
        message: &'static Message,
        object: &Map<String, Value>,
        depth: usize,
    ) -> Result<(), EncodeError> {
        if depth > MAXIMUM_DEPTH {
            return Err(EncodeError::TooDeep {
                message: message.name,
                limit: MAXIMUM_DEPTH,
            });
        }
        for field in message.fields.iter().rev() {
            let place = Place { message, field };
            if field.inlined {
                if let Type::Message(number) = field.value {
                    let mark = self.out.mark();
                    self.object(self.table.message(number), object, depth + 1)?;
                    self.out.close(field.number, mark);
                }
                continue;
            }
            self.field(place, object.get(field.name).unwrap_or(&NOTHING), depth)?;
        }
        Ok(())
    }

    fn field(&mut self, place: Place, value: &Value, depth: usize) -> Result<(), EncodeError> {
        let number = place.field.number;
        match place.field.shape {
            Shape::Always => {
                // Go writes the zero of everything but these, which it can tell from being absent.
                let absent = value.is_null() && matches!(place.field.value, Type::Bytes | Type::Texts);
                if absent {
                    Ok(())
                } else {
                    self.value(place, number, value, depth)
                }
            }
            Shape::Optional if value.is_null() => Ok(()),
            Shape::Optional => self.value(place, number, value, depth),
            Shape::List => {
                let items = match value {
                    Value::Null => &[][..],
                    Value::Array(items) => items,
                    _ => return Err(place.wrong("a list")),
                };
                items
                    .iter()
                    .rev()
                    .try_for_each(|item| self.value(place, number, item, depth))
            }
            Shape::Map => {
                let map = match value {
                    Value::Null => return Ok(()),
                    Value::Object(map) => map,
                    _ => return Err(place.wrong("an object")),
                };
                map.iter().rev().try_for_each(|(key, value)| {
                    let mark = self.out.mark();
                    let absent = value.is_null() && matches!(place.field.value, Type::Bytes | Type::Texts);
                    if !absent {
                        self.value(place, 2, value, depth + 1)?;
                    }
                    self.out.delimited(1, key.as_bytes());
                    self.out.close(number, mark);
                    Ok(())
                })
            }
        }
    }

    /// Writes one value with the tag of a field; `null` is the type's zero.
    fn value(&mut self, place: Place, number: u32, value: &Value, depth: usize) -> Result<(), EncodeError> {
        match place.field.value {
            Type::Boolean => {
                let truth = if value.is_null() {
                    Some(false)
                } else {
                    value.as_bool()
                };
                self.out
                    .number(number, u64::from(truth.ok_or_else(|| place.wrong("a boolean"))?));
            }
            Type::Integer32 => {
                let integer = integer(value).and_then(|integer| i32::try_from(integer).ok());
                let integer = integer.ok_or_else(|| place.wrong("a 32-bit integer"))?;
                self.out.number(number, i64::from(integer) as u64);
            }
            Type::Integer64 => {
                let integer = integer(value).ok_or_else(|| place.wrong("a 64-bit integer"))?;
                self.out.number(number, integer as u64);
            }
            Type::Double => {
                let double = if value.is_null() {
                    Some(0.0)
                } else {
                    value.as_f64()
                };
                self.out
                    .bytes(&double.ok_or_else(|| place.wrong("a number"))?.to_le_bytes());
                self.out.tag(number, FIXED64);
            }
            _ => {
                let mark = self.out.mark();
                self.content(place, value, depth)?;
                self.out.close(number, mark);
            }
        }
        Ok(())
    }

    /// Writes what follows the length of a value.
    fn content(&mut self, place: Place, value: &Value, depth: usize) -> Result<(), EncodeError> {
        match place.field.value {
            Type::Text => self.out.bytes(place.text(value)?.as_bytes()),
            Type::Bytes => {
                let bytes = BASE64
                    .decode(place.text(value)?)
                    .map_err(|_| place.wrong("base64"))?;
                self.out.bytes(&bytes);
            }
            Type::Time => self.instant(place, value, Precision::Seconds)?,
            Type::MicroTime => self.instant(place, value, Precision::Microseconds)?,
            Type::Quantity => self.quantity(place, value)?,
            Type::IntegerOrText => {
                let text = value.as_str();
                let integer = if text.is_some() { Some(0) } else { integer(value) };
                let integer = integer.and_then(|integer| i32::try_from(integer).ok());
                let integer = integer.ok_or_else(|| place.wrong("a 32-bit integer or a string"))?;
                self.out.delimited(3, text.unwrap_or_default().as_bytes());
                self.out.number(2, i64::from(integer) as u64);
                self.out.number(1, u64::from(text.is_some()));
            }
            Type::Raw | Type::Json if value.is_null() => {}
            Type::Raw | Type::Json => {
                let written = serde_json::to_vec(value).map_err(|_| place.wrong("JSON"))?;
                self.out.delimited(1, &written);
            }
            Type::Texts => {
                let items = if value.is_null() {
                    Some(&[][..])
                } else {
                    value.as_array().map(Vec::as_slice)
                };
                for item in items
                    .ok_or_else(|| place.wrong("a list of strings"))?
                    .iter()
                    .rev()
                {
                    self.out.delimited(1, place.text(item)?.as_bytes());
                }
            }
            Type::Message(number) => self.message(place, self.table.message(number), value, depth + 1)?,
            // `value` writes the numbers.
            Type::Boolean | Type::Integer32 | Type::Integer64 | Type::Double => {}
        }
        Ok(())
    }

    fn message(
        &mut self,
        place: Place,
        message: &'static Message,
        value: &Value,
        depth: usize,
    ) -> Result<(), EncodeError> {
        let fields = message.fields.iter().rev();
        match (message.form, value) {
            (Form::Struct | Form::Object, Value::Null) => self.object(message, &Map::new(), depth),
            (Form::Struct | Form::Object, Value::Object(object)) => self.object(message, object, depth),
            (Form::ListOrValue, Value::Null) => Ok(()),
            (Form::ListOrValue, value) => {
                let is_list = value.is_array();
                for field in fields.filter(|field| (field.shape == Shape::List) == is_list) {
                    self.field(Place { message, field }, value, depth)?;
                }
                Ok(())
            }
            (Form::ValueOrBoolean, Value::Object(_) | Value::Bool(_)) => {
                for field in fields {
                    let place = Place { message, field };
                    match (field.value, value) {
                        // A schema in this place says that more properties are allowed.
                        (Type::Boolean, Value::Object(_)) => self.field(place, &Value::Bool(true), depth)?,
                        (Type::Boolean, value) | (_, value @ Value::Object(_)) => {
                            self.field(place, value, depth)?;
                        }
                        _ => {}
                    }
                }
                Ok(())
            }
            (Form::ValueOrBoolean, _) => Err(place.wrong("an object or a boolean")),
            _ => Err(place.wrong("an object")),
        }
    }

    fn instant(&mut self, place: Place, value: &Value, precision: Precision) -> Result<(), EncodeError> {
        if value.is_null() {
            return Ok(());
        }
        let text = value.as_str().ok_or_else(|| place.wrong("a time"))?;
        let instant = Instant::parse(text, precision).ok_or_else(|| place.wrong("a time as RFC 3339"))?;
        if !instant.is_zero() {
            let (seconds, nanoseconds) = instant.parts();
            self.out.number(2, u64::from(nanoseconds));
            self.out.number(1, seconds as u64);
        }
        Ok(())
    }

    fn quantity(&mut self, place: Place, value: &Value) -> Result<(), EncodeError> {
        // JSON may have a quantity as a bare number; its text is read.
        let text = match value {
            Value::Null => "0".to_owned(),
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => return Err(place.wrong("a quantity")),
        };
        let written =
            bundle::rendering::quantity::canonical(text.trim()).map_err(|_| place.wrong("a quantity"))?;
        self.out.delimited(1, written.as_bytes());
        Ok(())
    }
}

/// A field of a message, for errors.
#[derive(Clone, Copy)]
struct Place {
    message: &'static Message,
    field: &'static Field,
}

impl Place {
    fn wrong(self, expected: &'static str) -> EncodeError {
        EncodeError::WrongType {
            message: self.message.name,
            field: self.field.name,
            expected,
        }
    }

    fn text(self, value: &Value) -> Result<&str, EncodeError> {
        match value {
            Value::Null => Ok(""),
            Value::String(text) => Ok(text),
            _ => Err(self.wrong("a string")),
        }
    }
}

fn integer(value: &Value) -> Option<i64> {
    if value.is_null() { Some(0) } else { value.as_i64() }
}
