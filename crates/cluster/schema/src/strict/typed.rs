//! A body read into a built-in kind, as Go reads it into the kind's struct and writes it again.
//!
//! Go drops fields that the struct doesn't have, takes `null` for nothing, leaves out empty fields where the type says
//! so and writes the others' zeros. It goes on after a value of the wrong type and tells the first one at the end; a type
//! that reads itself ends the reading at once.

use serde_json::{Map, Value};

use super::leaf;
use super::problems::Problems;
use super::scanner::{Begin, Scanner, SyntaxError};
use super::untyped;
use crate::builtin::record::{Field, Form, Held, Record};
use crate::builtin::{self, JSON_SCHEMA};

/// Why a value can't be held.
#[derive(Debug, Clone)]
enum Refusal {
    /// It has another type.
    Mismatch {
        /// What it is, such as `string` or `number 1.5`.
        given: String,
        /// The struct that holds the field; empty at the top.
        record: &'static str,
        /// The way to the field, with the embedded structs in it.
        field: String,
        /// The type of the field.
        wanted: String,
    },
    /// What a type that reads itself says.
    Message(String),
}

impl Refusal {
    fn text(&self) -> String {
        match self {
            Self::Mismatch {
                given,
                record,
                field,
                wanted,
            } if record.is_empty() && field.is_empty() => {
                format!("json: cannot unmarshal {given} into Go value of type {wanted}")
            }
            Self::Mismatch {
                given,
                record,
                field,
                wanted,
            } => {
                format!(
                    "json: cannot unmarshal {given} into Go struct field {record}.{field} of type {wanted}"
                )
            }
            Self::Message(message) => message.clone(),
        }
    }
}

/// Reads a body into a kind.
pub(super) struct Typed<'t, 'p> {
    scanner: &'p mut Scanner<'t>,
    problems: &'p mut Problems,
    /// The struct whose field is read.
    record: &'static str,
    /// The way to the field that is read.
    field: String,
    first: Option<Refusal>,
    last: Option<Refusal>,
}

impl<'t, 'p> Typed<'t, 'p> {
    pub(super) fn new(scanner: &'p mut Scanner<'t>, problems: &'p mut Problems) -> Self {
        Self {
            scanner,
            problems,
            record: "",
            field: String::new(),
            first: None,
            last: None,
        }
    }

    /// Returns what the server says about the values that can't be held.
    pub(super) fn refusal(&self) -> Option<String> {
        self.last.as_ref().or(self.first.as_ref()).map(Refusal::text)
    }

    /// Reads a whole body. `null` is an object without anything.
    pub(super) fn whole(&mut self, record: &'static Record) -> Result<Value, SyntaxError> {
        let held = Held::of(Form::Record(record.definition));
        let value = self.value(&held, None)?;
        self.scanner.end()?;
        Ok(value.unwrap_or_else(|| zero(&held.form)))
    }

    fn mismatch(&self, given: &str, wanted: String) -> Refusal {
        Refusal::Mismatch {
            given: given.to_owned(),
            record: self.record,
            field: self.field.clone(),
            wanted,
        }
    }

    /// Notes a value of the wrong type; the reading goes on.
    fn note(&mut self, refusal: Refusal) {
        self.first.get_or_insert(refusal);
    }

    /// Notes what a type that reads itself says; nothing after it counts.
    fn stop(&mut self, refusal: Refusal) {
        self.last.get_or_insert(refusal);
    }

    /// Reads a value; `None` is nothing, which `null` is too. `before` is what an earlier field of the same name held.
    fn value(&mut self, held: &Held, before: Option<Value>) -> Result<Option<Value>, SyntaxError> {
        let begin = self.scanner.begin()?;
        match &held.form {
            Form::Raw => return self.raw(),
            Form::Quantity => return self.quantity(),
            Form::Time => return self.time(leaf::time),
            Form::MicroTime => return self.time(leaf::micro_time),
            Form::IntOrString => return self.int_or_string(begin),
            Form::SchemaOrBoolean | Form::SchemaOrList | Form::SchemaOrNames => {
                return self.schema_or_other(&held.form, begin);
            }
            _ => {}
        }
        match (begin, &held.form) {
            (Begin::Null, form) => {
                self.scanner.word(begin)?;
                // Only what can be nothing becomes nothing; a number or struct stays what it was.
                Ok(if matches!(form, Form::List(_) | Form::Map(_) | Form::Bytes) {
                    None
                } else {
                    before
                })
            }
            (Begin::Object, Form::Record(definition)) => match builtin::record(definition) {
                Some(record) => self.object(record, before).map(Some),
                None => self.raw(),
            },
            (Begin::Object, Form::Map(values)) => self.map(values, before).map(Some),
            (Begin::Array, Form::List(items)) => self.list(items).map(Some),
            (Begin::True | Begin::False, Form::Boolean) => {
                self.scanner.word(begin)?;
                Ok(Some(Value::Bool(begin == Begin::True)))
            }
            (Begin::Text, Form::Text) => Ok(Some(Value::String(self.scanner.text()?.into_owned()))),
            (Begin::Text, Form::Bytes) => {
                let text = self.scanner.text()?;
                match leaf::bytes(&text) {
                    Ok(text) => Ok(Some(Value::String(text))),
                    Err(message) => {
                        self.note(Refusal::Message(message));
                        Ok(None)
                    }
                }
            }
            (Begin::Array, Form::Bytes) => self.byte_list(),
            (Begin::Number, Form::Integer32 | Form::Integer64 | Form::Number) => self.number(held),
            _ => {
                let refusal = self.mismatch(word_for(begin), held.type_name());
                self.note(refusal);
                self.scanner.skip()?;
                Ok(before)
            }
        }
    }

    fn number(&mut self, held: &Held) -> Result<Option<Value>, SyntaxError> {
        let text = self.scanner.number()?;
        let number = match held.form {
            Form::Integer32 => text.parse::<i32>().ok().map(Value::from),
            Form::Integer64 => text.parse::<i64>().ok().map(Value::from),
            _ => text
                .parse::<f64>()
                .ok()
                .filter(|number| number.is_finite())
                .map(untyped::float),
        };
        if number.is_none() {
            let refusal = self.mismatch(&format!("number {text}"), held.type_name());
            self.note(refusal);
        }
        Ok(number)
    }

    /// Reads a struct, and returns it as Go writes it.
    fn object(&mut self, record: &'static Record, before: Option<Value>) -> Result<Value, SyntaxError> {
        let mut slots = slots_of(record, before);
        let mut seen = vec![false; slots.len()];
        self.scanner.open_kept()?;
        let mut is_first = true;
        while let Some(key) = self.scanner.key(is_first)? {
            is_first = false;
            let found = record.position(&key);
            let parts =
                found.and_then(|at| Some((record.fields().get(at)?, slots.get_mut(at)?, seen.get_mut(at)?)));
            let Some((field, slot, seen)) = parts else {
                self.problems.unknown(&key);
                self.scanner.skip()?;
                continue;
            };
            if std::mem::replace(seen, true) {
                self.problems.duplicate(&key);
            }
            let back = self.problems.enter_field(field.name);
            let (outer, length) = (self.record, self.field.len());
            self.step_into(record, field);
            *slot = self.value(&field.held, slot.take())?;
            self.record = outer;
            self.field.truncate(length);
            self.problems.leave(back);
        }
        Ok(written(record, slots))
    }

    fn step_into(&mut self, record: &'static Record, field: &Field) {
        for part in [field.inside, field.name] {
            if !part.is_empty() {
                if !self.field.is_empty() {
                    self.field.push('.');
                }
                self.field.push_str(part);
            }
        }
        self.record = record.name();
    }

    fn map(&mut self, values: &Held, before: Option<Value>) -> Result<Value, SyntaxError> {
        let mut map = match before {
            Some(Value::Object(map)) => map,
            _ => Map::new(),
        };
        let mut seen: Map<String, Value> = Map::new();
        self.scanner.open_kept()?;
        let mut is_first = true;
        while let Some(key) = self.scanner.key(is_first)? {
            is_first = false;
            let key = key.into_owned();
            if seen.insert(key.clone(), Value::Null).is_some() {
                self.problems.duplicate(&key);
            }
            let back = self.problems.enter_field(&key);
            let value = self.value(values, None)?;
            self.problems.leave(back);
            map.insert(key, value.unwrap_or_else(|| zero_element(&values.form)));
        }
        Ok(Value::Object(map))
    }

    fn list(&mut self, items: &Held) -> Result<Value, SyntaxError> {
        let mut list = Vec::new();
        self.scanner.open_kept()?;
        while self.scanner.item(list.is_empty())? {
            let back = self.problems.enter_item(list.len());
            let value = self.value(items, None)?;
            self.problems.leave(back);
            list.push(value.unwrap_or_else(|| zero_element(&items.form)));
        }
        Ok(Value::Array(list))
    }

    /// Reads bytes that are written as a list of numbers, which Go takes too.
    fn byte_list(&mut self) -> Result<Option<Value>, SyntaxError> {
        let mut bytes = Vec::new();
        self.scanner.open_kept()?;
        while self.scanner.item(bytes.is_empty())? {
            let begin = self.scanner.begin()?;
            let given = match begin {
                Begin::Number => {
                    let text = self.scanner.number()?;
                    let byte = text.parse::<u8>().ok();
                    bytes.push(byte.unwrap_or_default());
                    byte.is_none().then(|| format!("number {text}"))
                }
                other => {
                    self.scanner.skip()?;
                    bytes.push(0);
                    (other != Begin::Null).then(|| word_for(other).to_owned())
                }
            };
            if let Some(given) = given {
                let refusal = self.mismatch(&given, "uint8".into());
                self.note(refusal);
            }
        }
        Ok(Some(Value::String(leaf::base64_text(&bytes))))
    }

    fn raw(&mut self) -> Result<Option<Value>, SyntaxError> {
        self.problems.look_away();
        let value = untyped::value(self.scanner, self.problems)?;
        self.problems.look_again();
        Ok((!value.is_null()).then_some(value))
    }

    fn quantity(&mut self) -> Result<Option<Value>, SyntaxError> {
        let json = self.scanner.skip()?;
        if json == b"null" {
            return Ok(None);
        }
        Ok(match leaf::quantity(json) {
            Ok(text) => Some(Value::String(text)),
            Err(message) => {
                self.stop(Refusal::Message(message));
                None
            }
        })
    }

    fn time(&mut self, read: fn(&str) -> Result<String, String>) -> Result<Option<Value>, SyntaxError> {
        let begin = self.scanner.begin()?;
        match begin {
            Begin::Null => {
                self.scanner.word(begin)?;
                Ok(None)
            }
            Begin::Text => {
                let text = self.scanner.text()?;
                Ok(match read(&text) {
                    Ok(text) => Some(Value::String(text)),
                    Err(message) => {
                        self.stop(Refusal::Message(message));
                        None
                    }
                })
            }
            _ => {
                self.scanner.skip()?;
                let refusal = self.mismatch(word_for(begin), "string".into());
                self.stop(refusal);
                Ok(None)
            }
        }
    }

    fn int_or_string(&mut self, begin: Begin) -> Result<Option<Value>, SyntaxError> {
        let given = match begin {
            Begin::Text => return Ok(Some(Value::String(self.scanner.text()?.into_owned()))),
            Begin::Null => {
                self.scanner.word(begin)?;
                return Ok(None);
            }
            Begin::Number => {
                let text = self.scanner.number()?;
                if let Ok(number) = text.parse::<i32>() {
                    return Ok(Some(Value::from(number)));
                }
                format!("number {text}")
            }
            other => {
                self.scanner.skip()?;
                word_for(other).to_owned()
            }
        };
        let refusal = self.mismatch(&given, "int32".into());
        self.stop(refusal);
        Ok(None)
    }

    /// Reads a schema or what may stand in its place. It is read by itself: nobody looks for problems in it, and a value
    /// of the wrong type inside of it ends the reading.
    fn schema_or_other(&mut self, form: &Form, begin: Begin) -> Result<Option<Value>, SyntaxError> {
        let schema = Held::of(Form::Record(JSON_SCHEMA));
        let inner = match (form, begin) {
            (_, Begin::Null) => {
                self.scanner.word(begin)?;
                return Ok(None);
            }
            (Form::SchemaOrBoolean, Begin::True | Begin::False) => {
                self.scanner.word(begin)?;
                return Ok(Some(Value::Bool(begin == Begin::True)));
            }
            (_, Begin::Object) => schema,
            (Form::SchemaOrList, Begin::Array) => Held::of(Form::List(Box::new(schema))),
            (Form::SchemaOrNames, Begin::Array) => Held::of(Form::List(Box::new(Held::of(Form::Text)))),
            _ => {
                self.scanner.skip()?;
                if matches!(form, Form::SchemaOrBoolean) {
                    self.stop(Refusal::Message("boolean or JSON schema expected".into()));
                }
                return Ok(None);
            }
        };
        let outer = self.first.take();
        self.problems.look_away();
        let value = self.value(&inner, None)?;
        self.problems.look_again();
        if let Some(mut refusal) = std::mem::replace(&mut self.first, outer) {
            if let Refusal::Mismatch { record, .. } = &mut refusal {
                *record = self.record;
            }
            self.stop(refusal);
        }
        Ok(value.filter(|value| value.as_array().is_none_or(|items| !items.is_empty())))
    }
}

fn word_for(begin: Begin) -> &'static str {
    match begin {
        Begin::Object => "object",
        Begin::Array => "array",
        Begin::Text => "string",
        Begin::Number => "number",
        Begin::True | Begin::False => "bool",
        Begin::Null => "null",
    }
}

/// Returns what an earlier field of the same name left in a struct's fields.
fn slots_of(record: &Record, before: Option<Value>) -> Vec<Option<Value>> {
    let mut before = match before {
        Some(Value::Object(map)) => map,
        _ => Map::new(),
    };
    record
        .fields()
        .iter()
        .map(|field| before.remove(field.name).filter(|value| !value.is_null()))
        .collect()
}

/// Returns a struct as Go writes it.
fn written(record: &Record, slots: Vec<Option<Value>>) -> Value {
    let mut map = Map::new();
    for (field, slot) in record.fields().iter().zip(slots) {
        if let Some(value) = written_field(record, field, slot) {
            map.insert(field.name.to_owned(), value);
        }
    }
    Value::Object(map)
}

fn written_field(record: &Record, field: &Field, slot: Option<Value>) -> Option<Value> {
    if field.pointer {
        return match slot {
            None if field.omit_empty => None,
            None => Some(Value::Null),
            some => some,
        };
    }
    let is_empty = match &slot {
        None | Some(Value::Null) => true,
        Some(Value::Array(items)) => items.is_empty(),
        Some(Value::Object(map)) => matches!(field.held.form, Form::Map(_)) && map.is_empty(),
        Some(Value::String(text)) => text.is_empty(),
        Some(Value::Bool(yes)) => !yes,
        Some(Value::Number(number)) => number.as_f64() == Some(0.0),
    };
    if !is_empty {
        return slot;
    }
    // What is a struct in Go is never empty to it, only zero.
    let can_be_empty = !matches!(
        field.held.form,
        Form::Record(_) | Form::Time | Form::MicroTime | Form::Quantity | Form::IntOrString | Form::Raw
    );
    if field.omit_zero && slot.is_none() || field.omit_empty && can_be_empty {
        return None;
    }
    match field.held.form {
        Form::IntOrString if slot.is_some() => slot,
        Form::List(_) if slot.is_some() && is_stored_as_json(record) => slot,
        _ => Some(zero(&field.held.form)),
    }
}

/// Returns whether the store keeps objects with this struct as JSON, which tells an empty list from none.
fn is_stored_as_json(record: &Record) -> bool {
    record.definition.starts_with("io.k8s.apiextensions-apiserver.")
}

/// Returns a type's zero as Go writes it. Lists and maps without anything are nothing: the store doesn't tell them apart.
fn zero(form: &Form) -> Value {
    match form {
        Form::Record(definition) => builtin::record(definition).map_or_else(
            || Value::Object(Map::new()),
            |record| written(record, slots_of(record, None)),
        ),
        Form::Text => Value::String(String::new()),
        Form::Integer32 | Form::Integer64 | Form::Number | Form::IntOrString => Value::from(0),
        Form::Boolean => Value::Bool(false),
        Form::Quantity => Value::String("0".into()),
        Form::Bytes
        | Form::List(_)
        | Form::Map(_)
        | Form::Time
        | Form::MicroTime
        | Form::Raw
        | Form::SchemaOrBoolean
        | Form::SchemaOrList
        | Form::SchemaOrNames => Value::Null,
    }
}

/// Bytes in a list or map are never nothing: the store keeps them as empty ones.
fn zero_element(form: &Form) -> Value {
    match form {
        Form::Bytes => Value::String(String::new()),
        other => zero(other),
    }
}
