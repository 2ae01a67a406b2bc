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
            compiled(call)?.is_ok_and(|expression| expression.is_match(&call.text(1))),
        ))
    })
    .fixed(),
    Function::new("mustRegexMatch", &[Type::String, Type::String], |call| {
        Ok(Value::Bool(returning(call)?.is_match(&call.text(1))))
    })
    .fixed(),
    Function::new("regexFind", &[Type::String, Type::String], |call| {
        Ok(Value::string(panicking(call)?.find(&call.text(1))))
    })
    .fixed(),
    Function::new("mustRegexFind", &[Type::String, Type::String], |call| {
        Ok(Value::string(returning(call)?.find(&call.text(1))))
    })
    .fixed(),
    Function::new("regexFindAll", &[Type::String, Type::String, Type::INT], |call| {
        find_all(panicking(call)?.as_ref(), &call.text(1), call.integer(2))
    })
    .fixed(),
    Function::new(
        "mustRegexFindAll",
        &[Type::String, Type::String, Type::INT],
        |call| find_all(returning(call)?.as_ref(), &call.text(1), call.integer(2)),
    )
    .fixed(),
    Function::new(
        "regexReplaceAll",
        &[Type::String, Type::String, Type::String],
        |call| limits::text(panicking(call)?.replace_all(&call.text(1), &call.text(2))?),
    )
    .fixed(),
    Function::new(
        "mustRegexReplaceAll",
        &[Type::String, Type::String, Type::String],
        |call| limits::text(returning(call)?.replace_all(&call.text(1), &call.text(2))?),
    )
    .fixed(),
    Function::new(
        "regexReplaceAllLiteral",
        &[Type::String, Type::String, Type::String],
        |call| limits::text(panicking(call)?.replace_all_literal(&call.text(1), &call.text(2))?),
    )
    .fixed(),
    Function::new(
        "mustRegexReplaceAllLiteral",
        &[Type::String, Type::String, Type::String],
        |call| limits::text(returning(call)?.replace_all_literal(&call.text(1), &call.text(2))?),
    )
    .fixed(),
    Function::new("regexSplit", &[Type::String, Type::String, Type::INT], |call| {
        split(panicking(call)?.as_ref(), &call.text(1), call.integer(2))
    })
    .fixed(),
    Function::new(
        "mustRegexSplit",
        &[Type::String, Type::String, Type::INT],
        |call| split(returning(call)?.as_ref(), &call.text(1), call.integer(2)),
    )
    .fixed(),
    Function::new("regexQuoteMeta", &[Type::String], |call| {
        limits::text(quote_meta(&call.text(0)))
    })
    .heavy(),
];

/// How many expressions a render keeps compiled; one that uses more starts over.
const MAX_CACHED_EXPRESSIONS: usize = 128;

/// The expressions that a render has compiled.
#[derive(Default)]
pub(crate) struct Expressions(RefCell<HashMap<Text, Rc<Expression>>>);

/// The work of compiling an expression, in steps for each of its states.
const WORK_PER_STATE: u64 = 10;

/// So many states more of an expression make searching by it twice as much work.
const STATES_PER_SEARCH: usize = 8;

impl Expressions {
    fn known(&self, text: &Text) -> Option<Rc<Expression>> {
        self.0.borrow().get(text).cloned()
    }

    fn keep(&self, text: Text, expression: &Rc<Expression>) {
        let mut cached = self.0.borrow_mut();
        if cached.len() >= MAX_CACHED_EXPRESSIONS {
            cached.clear();
        }
        cached.insert(text, Rc::clone(expression));
    }
}

/// Compiles the first argument, unless that was done before, and charges this and the search in the second.
fn compiled(call: &mut Call<'_, '_>) -> Result<Result<Rc<Expression>, SyntaxError>, Failure> {
    let (text, searched) = (call.text(0), call.text(1));
    call.charge_text(text.len())?;
    let known = Host::of(call).and_then(|host| host.expressions.known(&text));
    let expression = if let Some(known) = known {
        known
    } else {
        call.charge_heavy_text(text.len())?;
        let expression = match Expression::new(&text) {
            Ok(expression) => Rc::new(expression),
            Err(error) => return Ok(Err(error)),
        };
        call.charge(expression.size as u64 * WORK_PER_STATE)?;
        if let Some(host) = Host::of(call) {
            host.expressions.keep(text, &expression);
        }
        expression
    };
    let times = 1 + expression.size / STATES_PER_SEARCH;
    call.charge_text(searched.len().saturating_mul(times))?;
    Ok(Ok(expression))
}

/// Returns the expression, or the error itself.
fn returning(call: &mut Call<'_, '_>) -> Result<Rc<Expression>, Failure> {
    compiled(call)?.map_err(|error| Failure::Message(error.to_string()))
}

/// Returns the expression, or what Go's `MustCompile` panics with.
fn panicking(call: &mut Call<'_, '_>) -> Result<Rc<Expression>, Failure> {
    compiled(call)?
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
