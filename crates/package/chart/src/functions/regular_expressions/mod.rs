//! Functions that match, find, replace and split by regular expressions.

mod search;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use gotemplate::format::quoted;
use gotemplate::{Call, Failure, Function, Text, Type, Value};

use super::limits;
use crate::go_expression::{Expression, SyntaxError};
use crate::host::Host;

/// The functions of this file.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("regexMatch", &[Type::String, Type::String], |call| {
        Ok(Value::Bool(
            compiled(call).is_ok_and(|expression| expression.is_match(&call.text(1))),
        ))
    }),
    Function::new("mustRegexMatch", &[Type::String, Type::String], |call| {
        Ok(Value::Bool(returning(call)?.is_match(&call.text(1))))
    }),
    Function::new("regexFind", &[Type::String, Type::String], |call| {
        Ok(Value::string(panicking(call)?.find(&call.text(1))))
    }),
    Function::new("mustRegexFind", &[Type::String, Type::String], |call| {
        Ok(Value::string(returning(call)?.find(&call.text(1))))
    }),
    Function::new("regexFindAll", &[Type::String, Type::String, Type::INT], |call| {
        find_all(panicking(call)?.as_ref(), &call.text(1), call.integer(2))
    }),
    Function::new(
        "mustRegexFindAll",
        &[Type::String, Type::String, Type::INT],
        |call| find_all(returning(call)?.as_ref(), &call.text(1), call.integer(2)),
    ),
    Function::new(
        "regexReplaceAll",
        &[Type::String, Type::String, Type::String],
        |call| limits::text(panicking(call)?.replace_all(&call.text(1), &call.text(2))?),
    ),
    Function::new(
        "mustRegexReplaceAll",
        &[Type::String, Type::String, Type::String],
        |call| limits::text(returning(call)?.replace_all(&call.text(1), &call.text(2))?),
    ),
    Function::new(
        "regexReplaceAllLiteral",
        &[Type::String, Type::String, Type::String],
        |call| limits::text(panicking(call)?.replace_all_literal(&call.text(1), &call.text(2))?),
    ),
    Function::new(
        "mustRegexReplaceAllLiteral",
        &[Type::String, Type::String, Type::String],
        |call| limits::text(returning(call)?.replace_all_literal(&call.text(1), &call.text(2))?),
    ),
    Function::new("regexSplit", &[Type::String, Type::String, Type::INT], |call| {
        split(panicking(call)?.as_ref(), &call.text(1), call.integer(2))
    }),
    Function::new(
        "mustRegexSplit",
        &[Type::String, Type::String, Type::INT],
        |call| split(returning(call)?.as_ref(), &call.text(1), call.integer(2)),
    ),
    Function::new("regexQuoteMeta", &[Type::String], |call| {
        limits::text(quote_meta(&call.text(0)))
    }),
];

/// How many expressions a render keeps compiled; one that uses more starts over.
const MAX_CACHED_EXPRESSIONS: usize = 128;

/// The expressions that a render has compiled.
#[derive(Default)]
pub(crate) struct Expressions(RefCell<HashMap<Text, Rc<Expression>>>);

impl Expressions {
    fn compiled(&self, text: &Text) -> Result<Rc<Expression>, SyntaxError> {
        if let Some(expression) = self.0.borrow().get(text) {
            return Ok(Rc::clone(expression));
        }
        let expression = Rc::new(Expression::new(text)?);
        let mut cached = self.0.borrow_mut();
        if cached.len() >= MAX_CACHED_EXPRESSIONS {
            cached.clear();
        }
        cached.insert(text.clone(), Rc::clone(&expression));
        Ok(expression)
    }
}

fn compiled(call: &Call<'_, '_>) -> Result<Rc<Expression>, SyntaxError> {
    let text = call.text(0);
    match Host::of(call) {
        Some(host) => host.expressions.compiled(&text),
        None => Expression::new(&text).map(Rc::new),
    }
}

/// Returns the expression, or the error itself.
fn returning(call: &Call<'_, '_>) -> Result<Rc<Expression>, Failure> {
    compiled(call).map_err(|error| Failure::Message(error.to_string()))
}

/// Returns the expression, or what Go's `MustCompile` panics with.
fn panicking(call: &Call<'_, '_>) -> Result<Rc<Expression>, Failure> {
    compiled(call)
        .map_err(|error| Failure::Message(format!("regexp: Compile({}): {error}", shown(&call.text(0)))))
}

/// Writes an expression between back quotes where Go source could have it so, or else quoted.
fn shown(expression: &[u8]) -> String {
    match std::str::from_utf8(expression) {
        Ok(text) if !text.contains(|character| matches!(character, '`' | '\u{feff}' | '\u{7f}' | '\0'..='\u{8}' | '\n'..='\u{1f}')) => {
            format!("`{text}`")
        }
        _ => quoted(expression),
    }
}

fn find_all(expression: &Expression, text: &[u8], limit: i64) -> Result<Value, Failure> {
    let found = expression.find_all(text, limit)?;
    Ok(if found.is_empty() {
        Value::TypedNil(Type::Strings)
    } else {
        Value::strings(found)
    })
}

fn split(expression: &Expression, text: &[u8], limit: i64) -> Result<Value, Failure> {
    Ok(expression
        .split(text, limit)?
        .map_or(Value::TypedNil(Type::Strings), Value::strings))
}

/// Puts a backslash before everything that has a meaning in expressions.
fn quote_meta(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for &byte in text {
        if br"\.+*?()|[]{}^$".contains(&byte) {
            out.push(b'\\');
        }
        out.push(byte);
    }
    out
}
