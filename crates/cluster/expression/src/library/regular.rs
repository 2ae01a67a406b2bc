//! Regular expressions, which are Go's.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use chart::go_expression::Expression;

use super::Function;
use crate::value::{Failure, Outcome, Value};

/// How many compiled expressions are kept: those of a server's rules, many times over.
const MOST_KEPT: usize = 1_000;

type Compiled = Result<Arc<Expression>, Box<str>>;

static KEPT: Mutex<Option<HashMap<Box<str>, Compiled>>> = Mutex::new(None);

/// Compiles an expression, or finds it compiled: rules run again and again with the same ones.
pub(crate) fn compile(pattern: &str) -> Compiled {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let kept = kept.get_or_insert_default();
    if let Some(found) = kept.get(pattern) {
        return found.clone();
    }
    let compiled = Expression::new(pattern.as_bytes())
        .map(Arc::new)
        .map_err(|error| error.to_string().into_boxed_str());
    if kept.len() >= MOST_KEPT {
        kept.clear();
    }
    kept.insert(pattern.into(), compiled.clone());
    compiled
}

pub(super) fn overload(id: &str) -> Option<Function> {
    Some(match id {
        "matches" | "matches_string" => matches,
        "string_find_string" => find,
        "string_find_all_string" | "string_find_all_string_int" => find_all,
        _ => return None,
    })
}

fn matches<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    let [Value::String(text), Value::String(pattern)] = arguments else {
        return Err(Failure::no_such_overload());
    };
    let expression = compile(pattern).map_err(Failure::Message)?;
    Ok(Value::Bool(expression.is_match(text.as_bytes())))
}

fn illegal(cause: &str) -> Failure {
    Failure::new(format!("Illegal regex: {cause}"))
}

fn find<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    let [Value::String(text), Value::String(pattern)] = arguments else {
        return Err(Failure::no_such_overload());
    };
    let expression = compile(pattern).map_err(|cause| illegal(&cause))?;
    Ok(Value::string(String::from_utf8_lossy(
        expression.find(text.as_bytes()),
    )))
}

fn find_all<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    let (text, pattern, limit) = match arguments {
        [Value::String(text), Value::String(pattern)] => (text, pattern, -1),
        [Value::String(text), Value::String(pattern), Value::Int(limit)] => (text, pattern, *limit),
        _ => return Err(Failure::no_such_overload()),
    };
    let expression = compile(pattern).map_err(|cause| illegal(&cause))?;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let found = expression.find_up_to(text.as_bytes(), limit);
    Ok(Value::strings(found.into_iter().map(String::from_utf8_lossy)))
}
