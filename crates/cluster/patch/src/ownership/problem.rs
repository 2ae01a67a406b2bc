//! What is wrong with an object that is compared or merged, in structured merge's words.

use std::fmt::{self, Write as _};

use gotemplate::format::{float_text, quoted};
use schema::field_error::shorten;
use schema::field_errors::MOST_PROBLEMS;
use serde_json::Value;

use super::order::float;
use super::shape::ScalarKind;

/// How many bytes of a message are told: it shows the value that it is about, which may be most of the object.
const LONGEST_MESSAGE: usize = 16 << 10;

/// How many bytes of a step are told in a path: the key of a map may be most of the object.
const LONGEST_STEP: usize = 2 << 10;

/// One thing that is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The path, such as `.spec.replicas`; empty for the object itself.
    pub path: String,
    /// What is wrong.
    pub message: String,
}

/// What is wrong with an object: the first problems, and how many more there are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Problems {
    told: Vec<Problem>,
    left_out: usize,
}

impl Problems {
    pub(super) fn report(&mut self, message: impl Into<String>) {
        if self.told.len() >= MOST_PROBLEMS {
            self.left_out += 1;
            return;
        }
        let mut message = message.into();
        shorten(&mut message, LONGEST_MESSAGE);
        self.told.push(Problem {
            path: String::new(),
            message,
        });
    }

    /// Returns how many problems there are.
    pub(super) fn count(&self) -> usize {
        self.told.len() + self.left_out
    }

    /// Puts a level in front of the paths of what was found since there were `before` problems.
    pub(super) fn lead_in(&mut self, before: usize, element: impl fmt::Display) {
        for problem in self.told.iter_mut().skip(before) {
            let mut path = element.to_string();
            shorten(&mut path, LONGEST_STEP);
            path.push_str(&problem.path);
            problem.path = path;
        }
    }

    /// Runs a step one level deeper, and puts that level in front of the paths of what it found.
    pub(super) fn below<T>(&mut self, element: impl fmt::Display, step: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.count();
        let result = step(self);
        self.lead_in(before, element);
        result
    }

    pub(super) fn into_result<T>(self, value: T) -> Result<T, Self> {
        if self.told.is_empty() {
            Ok(value)
        } else {
            Err(self)
        }
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [problem] = self.told.as_slice() {
            return problem.fmt(formatter);
        }
        formatter.write_str("errors:")?;
        for problem in &self.told {
            write!(formatter, "\n  {problem}")?;
        }
        if self.left_out > 0 {
            write!(formatter, "\n  and {} more problems", self.left_out)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            return formatter.write_str(&self.message);
        }
        write!(formatter, "{}: {}", self.path, self.message)
    }
}

/// Returns why a value isn't such a scalar; null is every scalar.
pub(super) fn scalar_problem(kind: ScalarKind, value: &Value) -> Option<String> {
    match (kind, value) {
        (_, Value::Null)
        | (ScalarKind::Numeric, Value::Number(_))
        | (ScalarKind::Text, Value::String(_))
        | (ScalarKind::Boolean, Value::Bool(_))
        | (ScalarKind::Any, Value::Number(_) | Value::String(_) | Value::Bool(_)) => None,
        (ScalarKind::Numeric, _) => {
            let go_type = match value {
                Value::String(_) => "string",
                Value::Bool(_) => "bool",
                Value::Array(_) => "[]interface {}",
                _ => "map[string]interface {}",
            };
            Some(format!("expected numeric (int or float), got {go_type}"))
        }
        (ScalarKind::Text, _) => Some(format!(
            "expected string, got &value.valueUnstructured{{Value:{}}}",
            GoSyntax(value)
        )),
        (ScalarKind::Boolean, _) => Some(format!("expected boolean, got {}", unexpected(value))),
        (ScalarKind::Any, _) => Some(format!("expected any scalar, got {}", unexpected(value))),
    }
}

/// Returns a value as messages show one that isn't what it should be.
pub(super) fn unexpected(value: &Value) -> String {
    format!("&{{{}}}", GoPlain(value))
}

fn number_text(number: &serde_json::Number) -> String {
    number.as_i64().map_or_else(
        || float_text(float(number), b'g', None),
        |whole| whole.to_string(),
    )
}

/// A value as Go's `%v` prints it.
struct GoPlain<'a>(&'a Value);

impl fmt::Display for GoPlain<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::Null => formatter.write_str("<nil>"),
            Value::Bool(value) => write!(formatter, "{value}"),
            Value::Number(number) => formatter.write_str(&number_text(number)),
            Value::String(text) => formatter.write_str(text),
            Value::Array(items) => {
                formatter.write_char('[')?;
                for (position, item) in items.iter().enumerate() {
                    let space = if position > 0 { " " } else { "" };
                    write!(formatter, "{space}{}", GoPlain(item))?;
                }
                formatter.write_char(']')
            }
            Value::Object(fields) => {
                formatter.write_str("map[")?;
                for (position, (name, value)) in fields.iter().enumerate() {
                    let space = if position > 0 { " " } else { "" };
                    write!(formatter, "{space}{name}:{}", GoPlain(value))?;
                }
                formatter.write_char(']')
            }
        }
    }
}

/// A value as Go's `%#v` prints it.
struct GoSyntax<'a>(&'a Value);

impl fmt::Display for GoSyntax<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::Null => formatter.write_str("interface {}(nil)"),
            Value::Bool(value) => write!(formatter, "{value}"),
            Value::Number(number) => formatter.write_str(&number_text(number)),
            Value::String(text) => formatter.write_str(&quoted(text)),
            Value::Array(items) => {
                formatter.write_str("[]interface {}{")?;
                for (position, item) in items.iter().enumerate() {
                    let comma = if position > 0 { ", " } else { "" };
                    write!(formatter, "{comma}{}", GoSyntax(item))?;
                }
                formatter.write_char('}')
            }
            Value::Object(fields) => {
                formatter.write_str("map[string]interface {}{")?;
                for (position, (name, value)) in fields.iter().enumerate() {
                    let comma = if position > 0 { ", " } else { "" };
                    write!(formatter, "{comma}{}:{}", quoted(name), GoSyntax(value))?;
                }
                formatter.write_char('}')
            }
        }
    }
}
