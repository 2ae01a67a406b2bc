//! `--set-literal`: one assignment whose right side is text to the end.

use gotemplate::format::quoted;
use serde_json::Value;

use super::parser::Nesting;
use super::scan::{Scan, unexpected_after_index};
use super::{Assignments, SetError, Stop, TABLE_TYPE, list_at, parse_index, take_list};
use crate::values::Table;

pub(super) fn apply(
    expression: &str,
    target: &mut Table,
    assigned: &mut dyn FnMut(&str),
) -> Result<(), SetError> {
    let mut parser = Parser {
        scan: Scan::new(expression),
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

struct Parser<'text, 'told> {
    scan: Scan<'text>,
    at: Assignments<'told>,
}

impl Parser<'_, '_> {
    fn key(&mut self, table: &mut Table, nesting: Nesting) -> Result<(), Stop> {
        let (key, stop) = self.scan.until_literal(&['=', '[', '.']);
        match stop {
            None if key.is_empty() => Err(Stop::End),
            None => Stop::fault(format!("key {} has no value", quoted(key))),
            Some('=') => {
                let value = self.rest();
                self.at.set(table, key, value);
                Ok(())
            }
            Some('.') => {
                let nesting = nesting.into_name()?;
                let mut fresh = Table::new();
                let (inner, is_fresh) = match table.get_mut(key) {
                    Some(Value::Object(inner)) => (inner, false),
                    Some(other) => return Stop::wrong_type(other, TABLE_TYPE),
                    None => (&mut fresh, true),
                };
                let outer = self.at.enter_key(key);
                let outcome = self.key(inner, nesting);
                self.at.leave(outer);
                if outcome.is_ok() && inner.is_empty() {
                    return Stop::fault(format!("key map {} has no value", quoted(key)));
                }
                if is_fresh && !fresh.is_empty() && !key.is_empty() {
                    table.insert(key.to_owned(), Value::Object(fresh));
                }
                outcome
            }
            Some(_) => {
                let index = self.index()?;
                let mut list = take_list(table, key)?;
                let outer = self.at.enter_key(key);
                let outcome = self.element(&mut list, index, nesting);
                self.at.leave(outer);
                if !key.is_empty() {
                    table.insert(key.to_owned(), Value::Array(list));
                }
                outcome
            }
        }
    }

    fn rest(&mut self) -> Value {
        Value::String(self.scan.until_literal(&[]).0.to_owned())
    }

    fn index(&mut self) -> Result<i64, Stop> {
        match self.scan.until_literal(&[']']) {
            (text, Some(_)) => parse_index(text),
            (_, None) => Stop::fault("error parsing index: EOF".to_owned()),
        }
    }

    fn element(&mut self, list: &mut Vec<Value>, index: i64, nesting: Nesting) -> Result<(), Stop> {
        if index < 0 {
            return Stop::fault(format!("negative {index} index not allowed"));
        }
        let position = index as usize;
        let nesting = nesting.into_list()?;
        let (text, stop) = self.scan.until_literal(&['[', '.', '=']);
        if !text.is_empty() {
            return unexpected_after_index(text);
        }
        match stop {
            None => Err(Stop::End),
            Some('=') => {
                let value = self.rest();
                self.at.set_index(list, index, value)
            }
            Some('.') => {
                let outer = self.at.enter_element(index);
                if let Some(existing) = list.get_mut(position) {
                    if !existing.is_object() {
                        *existing = Value::Object(Table::new());
                    }
                    if let Value::Object(inner) = existing {
                        self.key(inner, nesting)?;
                    }
                    self.at.leave(outer);
                    return Ok(());
                }
                let mut inner = Table::new();
                self.key(&mut inner, nesting)?;
                self.at.leave(outer);
                self.at.place(list, index, Value::Object(inner))
            }
            Some(_) => {
                let next = self.index()?;
                let mut inner = list_at(list, position)?;
                let outer = self.at.enter_element(index);
                self.element(&mut inner, next, nesting)?;
                self.at.leave(outer);
                self.at.place(list, index, Value::Array(inner))
            }
        }
    }
}
