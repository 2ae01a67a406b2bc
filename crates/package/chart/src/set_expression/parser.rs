//! Expressions with escapes and several assignments: `--set`, `--set-string`, `--set-json` and `--set-file`.

use gotemplate::format::quoted;
use serde_json::Value;

use super::scan::{Scan, unexpected_after_index};
use super::{
    Assignments, MAX_NESTED_LISTS, MAX_NESTED_NAMES, Reading, SetError, Stop, TABLE_TYPE, list_at,
    parse_index, take_list, typed_value,
};
use crate::values::Table;

pub(super) fn apply(
    expression: &str,
    reading: Reading<'_>,
    target: &mut Table,
    assigned: &mut dyn FnMut(&str),
) -> Result<(), SetError> {
    let mut parser = Parser {
        scan: Scan::new(expression),
        reading,
        at: Assignments::new(assigned),
    };
    loop {
        match parser.key(target, Nesting::default()) {
            Ok(()) => {}
            Err(Stop::End) => return Ok(()),
            Err(Stop::Fault(message)) => return Err(SetError(message)),
        }
    }
}

struct Parser<'text, 'reader, 'told> {
    scan: Scan<'text>,
    reading: Reading<'reader>,
    at: Assignments<'told>,
}

/// How deep the parser is in names and in lists.
#[derive(Clone, Copy, Default)]
pub(super) struct Nesting {
    names: usize,
    lists: usize,
}

impl Nesting {
    pub(super) fn into_name(mut self) -> Result<Self, Stop> {
        self.names += 1;
        if self.names > MAX_NESTED_NAMES {
            return Stop::fault(format!(
                "value name nested level is greater than maximum supported nested level of {MAX_NESTED_NAMES}"
            ));
        }
        Ok(self)
    }

    pub(super) fn into_list(mut self) -> Result<Self, Stop> {
        self.lists += 1;
        if self.lists > MAX_NESTED_LISTS {
            return Stop::fault(format!("lists are nested more than {MAX_NESTED_LISTS} deep"));
        }
        Ok(self)
    }
}

/// The right side of an assignment.
enum Side {
    Value(Value),
    /// There is no more text.
    Missing,
}

impl Parser<'_, '_, '_> {
    /// Reads one assignment, or the part of it that is below `table`.
    fn key(&mut self, table: &mut Table, nesting: Nesting) -> Result<(), Stop> {
        let (key, stop) = self.scan.until(&['=', '[', ',', '.']);
        match stop {
            None if key.is_empty() => Err(Stop::End),
            None => Stop::fault(format!("key {} has no value", quoted(&key))),
            Some('[') => {
                let index = self.index()?;
                let mut list = take_list(table, &key)?;
                let outcome = self.in_key(&key, |parser| parser.element(&mut list, index, nesting));
                if !key.is_empty() {
                    table.insert(key, Value::Array(list));
                }
                outcome
            }
            Some('=') => match self.side()? {
                Side::Value(value) => {
                    self.at.set(table, &key, value);
                    Ok(())
                }
                Side::Missing => {
                    self.at.set(table, &key, Value::String(String::new()));
                    Err(Stop::End)
                }
            },
            Some(',') => Stop::fault(format!("key {} has no value (cannot end with ,)", quoted(&key))),
            Some(_) => {
                let nesting = nesting.into_name()?;
                match table.get_mut(&key) {
                    Some(Value::Object(inner)) => {
                        let outcome = self.in_key(&key, |parser| parser.key(inner, nesting));
                        if outcome.is_ok() && inner.is_empty() {
                            return Stop::fault(format!("key map {} has no value", quoted(&key)));
                        }
                        outcome
                    }
                    Some(other) => Stop::wrong_type(other, TABLE_TYPE),
                    None => {
                        let mut inner = Table::new();
                        let outcome = self.in_key(&key, |parser| parser.key(&mut inner, nesting));
                        if outcome.is_ok() && inner.is_empty() {
                            return Stop::fault(format!("key map {} has no value", quoted(&key)));
                        }
                        if !inner.is_empty() && !key.is_empty() {
                            table.insert(key, Value::Object(inner));
                        }
                        outcome
                    }
                }
            }
        }
    }

    fn in_key<T>(&mut self, key: &str, work: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.at.enter_key(key);
        let result = work(self);
        self.at.leave(outer);
        result
    }

    fn in_element<T>(&mut self, index: i64, work: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.at.enter_element(index);
        let result = work(self);
        self.at.leave(outer);
        result
    }

    fn index(&mut self) -> Result<i64, Stop> {
        match self.scan.until(&[']']) {
            (text, Some(_)) => parse_index(&text),
            (_, None) => Stop::fault("error parsing index: EOF".to_owned()),
        }
    }

    /// Reads what follows an index, and sets that element.
    fn element(&mut self, list: &mut Vec<Value>, index: i64, nesting: Nesting) -> Result<(), Stop> {
        if index < 0 {
            return Stop::fault(format!("negative {index} index not allowed"));
        }
        let position = index as usize;
        let nesting = nesting.into_list()?;
        let (text, stop) = self.scan.until(&['[', '.', '=']);
        if !text.is_empty() {
            return unexpected_after_index(&text);
        }
        match stop {
            None => Err(Stop::End),
            Some('=') => {
                let value = match self.side()? {
                    Side::Value(value) => value,
                    Side::Missing => Value::String(String::new()),
                };
                self.at.set_index(list, index, value)
            }
            Some('[') => {
                let next = self.index()?;
                let mut inner = list_at(list, position)?;
                self.in_element(index, |parser| parser.element(&mut inner, next, nesting))?;
                self.at.place(list, index, Value::Array(inner))
            }
            Some(_) => {
                if let Some(existing) = list.get_mut(position) {
                    if !existing.is_object() {
                        *existing = Value::Object(Table::new());
                    }
                    if let Value::Object(inner) = existing {
                        self.in_element(index, |parser| parser.key(inner, nesting))?;
                    }
                    return Ok(());
                }
                let mut inner = Table::new();
                self.in_element(index, |parser| parser.key(&mut inner, nesting))?;
                self.at.place(list, index, Value::Object(inner))
            }
        }
    }

    /// Reads the right side.
    fn side(&mut self) -> Result<Side, Stop> {
        if matches!(self.reading, Reading::Json) {
            return self.json();
        }
        match self.scan.peek() {
            None => Ok(Side::Missing),
            Some('{') => {
                self.scan.next();
                self.list().map(Side::Value)
            }
            Some(_) => {
                let (text, _) = self.scan.until(&[',']);
                self.convert(text).map(Side::Value)
            }
        }
    }

    fn list(&mut self) -> Result<Value, Stop> {
        let mut list = Vec::new();
        loop {
            let (text, stop) = self.scan.until(&[',', '}']);
            match stop {
                None => return Stop::fault("list must terminate with '}'".to_owned()),
                Some('}') => {
                    if self.scan.peek() == Some(',') {
                        self.scan.next();
                    }
                    list.push(self.convert(text)?);
                    return Ok(Value::Array(list));
                }
                Some(_) => list.push(self.convert(text)?),
            }
        }
    }

    fn convert(&mut self, text: String) -> Result<Value, Stop> {
        match &mut self.reading {
            Reading::Typed => Ok(typed_value(text)),
            Reading::File(read) => read(&text).map_err(Stop::Fault),
            Reading::Text | Reading::Json | Reading::Literal => Ok(Value::String(text)),
        }
    }

    fn json(&mut self) -> Result<Side, Stop> {
        if self.skip_to_value() {
            return Ok(Side::Value(Value::Null));
        }
        let rest = self.scan.rest();
        let text = crate::document::first_json_value(rest);
        let value = crate::document::read_json_floats(text.as_bytes()).map_err(Stop::Fault)?;
        self.scan.skip(text.len());
        self.skip_to_value();
        Ok(Side::Value(value))
    }

    /// Skips spaces and one comma; tells whether there was no value before the comma or the end.
    fn skip_to_value(&mut self) -> bool {
        while let Some(character) = self.scan.peek() {
            if character != ',' && !character.is_whitespace() {
                return false;
            }
            self.scan.next();
            if character == ',' {
                return true;
            }
        }
        true
    }
}
