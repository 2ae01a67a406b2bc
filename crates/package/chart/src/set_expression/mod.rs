//! The little language of `--set`: `a.b[0].c=value,d={x,y}`.

mod literal;
mod parser;
mod scan;

use std::fmt::Write as _;

use serde_json::{Number, Value};
use thiserror::Error;

use crate::values::Table;

/// The greatest list index.
pub const MAX_INDEX: usize = 65_536;

/// The deepest nesting of names.
pub const MAX_NESTED_NAMES: usize = 30;

/// The deepest nesting of lists, `a[0][0]…` and `a[0].b[0]…`. Helm has no limit of its own, but every level costs stack,
/// here and wherever the value goes.
const MAX_NESTED_LISTS: usize = 30;

/// How many elements all lists of one expression may grow by. A few characters make a list of 65 537 elements; Helm lets a
/// long expression fill any memory.
const MAX_GROWTH: usize = 16 * (MAX_INDEX + 1);

/// An expression that is not understood.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0}")]
pub struct SetError(String);

/// How the right side of an expression is read.
pub enum Reading<'a> {
    /// `--set`: booleans, `null` and integers are recognised, everything else is text.
    Typed,
    /// `--set-string`: everything is text.
    Text,
    /// `--set-json`: JSON.
    Json,
    /// `--set-file`: the name of a file, whose content the function gives.
    File(&'a mut dyn FnMut(&str) -> Result<Value, String>),
    /// `--set-literal`: all of the rest is text, commas and backslashes included.
    Literal,
}

/// Applies an expression to values.
///
/// `assigned` is told the path of everything that is set, such as `a.b[0]`.
pub fn apply(
    expression: &str,
    reading: Reading<'_>,
    target: &mut Table,
    assigned: &mut dyn FnMut(&str),
) -> Result<(), SetError> {
    match reading {
        Reading::Literal => literal::apply(expression, target, assigned),
        reading => parser::apply(expression, reading, target, assigned),
    }
}

/// Parsing ends: because there is no more text, which is how it should, or because of a fault.
#[derive(Debug)]
enum Stop {
    End,
    Fault(String),
}

impl Stop {
    fn fault<T>(message: String) -> Result<T, Stop> {
        Err(Stop::Fault(message))
    }

    /// What Go reports when a value is not of the type that the path asks for.
    fn wrong_type<T>(given: &Value, expected: &str) -> Result<T, Stop> {
        let given = match given {
            Value::Null => "nil",
            given => goyaml::json::go_type(given),
        };
        Self::fault(format!(
            "unable to parse key: interface conversion: interface {{}} is {given}, not {expected}"
        ))
    }
}

const LIST_TYPE: &str = "[]interface {}";
const TABLE_TYPE: &str = "map[string]interface {}";

/// Where in the values a parser is, for those who want to know what is set.
struct Assignments<'a> {
    path: String,
    assigned: &'a mut dyn FnMut(&str),
    /// How many more list elements may be made.
    growth_left: usize,
}

impl<'a> Assignments<'a> {
    fn new(assigned: &'a mut dyn FnMut(&str)) -> Self {
        Self {
            path: String::new(),
            assigned,
            growth_left: MAX_GROWTH,
        }
    }

    /// Goes down to a key; the result leads back up.
    fn enter_key(&mut self, key: &str) -> usize {
        let outer = self.path.len();
        if outer > 0 {
            self.path.push('.');
        }
        self.path.push_str(key);
        outer
    }

    /// Goes down to an element of a list; the result leads back up.
    fn enter_element(&mut self, index: i64) -> usize {
        let outer = self.path.len();
        // Writing to a String cannot fail.
        let _ = write!(self.path, "[{index}]");
        outer
    }

    fn leave(&mut self, outer: usize) {
        self.path.truncate(outer);
    }

    /// Sets a value in a table; an empty key sets nothing.
    fn set(&mut self, table: &mut Table, key: &str, value: Value) {
        if !key.is_empty() {
            let outer = self.enter_key(key);
            (self.assigned)(&self.path);
            self.leave(outer);
            table.insert(key.to_owned(), value);
        }
    }

    /// Sets an element of a list and tells so.
    fn set_index(&mut self, list: &mut Vec<Value>, index: i64, value: Value) -> Result<(), Stop> {
        self.place(list, index, value)?;
        let outer = self.enter_element(index);
        (self.assigned)(&self.path);
        self.leave(outer);
        Ok(())
    }

    /// Puts an element into a list, with nulls in the gap before it.
    fn place(&mut self, list: &mut Vec<Value>, index: i64, value: Value) -> Result<(), Stop> {
        let position = usize::try_from(index).unwrap_or(usize::MAX);
        if position > MAX_INDEX {
            return Stop::fault(format!(
                "index of {index} is greater than maximum supported index of {MAX_INDEX}"
            ));
        }
        if list.len() <= position {
            let growth = position + 1 - list.len();
            let Some(left) = self.growth_left.checked_sub(growth) else {
                return Stop::fault(format!("expression makes more than {MAX_GROWTH} list elements"));
            };
            self.growth_left = left;
            list.resize(position + 1, Value::Null);
        }
        list[position] = value;
        Ok(())
    }
}

/// Takes the list out of a table that an index follows; a new one where there is none.
fn take_list(table: &mut Table, key: &str) -> Result<Vec<Value>, Stop> {
    match table.get_mut(key) {
        None => Ok(Vec::new()),
        Some(Value::Array(list)) => Ok(std::mem::take(list)),
        Some(other) => Stop::wrong_type(other, LIST_TYPE),
    }
}

/// Returns the list that is an element of another one, to be changed; a new one where there is none.
fn list_at(list: &[Value], position: usize) -> Result<Vec<Value>, Stop> {
    match list.get(position) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(inner)) => Ok(inner.clone()),
        Some(other) => Stop::wrong_type(other, LIST_TYPE),
    }
}

/// Reads a list index as Go's `strconv.Atoi` does.
fn parse_index(text: &str) -> Result<i64, Stop> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let reason = if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        "invalid syntax"
    } else if let Ok(index) = text.parse() {
        return Ok(index);
    } else {
        "value out of range"
    };
    Stop::fault(format!(
        "error parsing index: strconv.Atoi: parsing {}: {reason}",
        gotemplate::format::quoted(text)
    ))
}

/// Recognises booleans, `null` and integers.
fn typed_value(text: String) -> Value {
    let equals = |expected: &str| {
        text.chars()
            .map(|character| {
                if character == '\u{17f}' {
                    's'
                } else {
                    character.to_ascii_lowercase()
                }
            })
            .eq(expected.chars())
    };
    if equals("true") {
        return Value::Bool(true);
    }
    if equals("false") {
        return Value::Bool(false);
    }
    if equals("null") {
        return Value::Null;
    }
    if text == "0" {
        return Value::Number(Number::from(0));
    }
    if !text.starts_with('0')
        && let Ok(integer) = text.parse::<i64>()
    {
        return Value::Number(Number::from(integer));
    }
    Value::String(text)
}
