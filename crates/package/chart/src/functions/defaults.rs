//! Choosing between values by whether they are empty.

use gotemplate::{Failure, Function, Type, Value};

use super::conversion::is_empty;
use super::lists::elements_or;

/// The functions of this file.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::variadic("default", &[Type::Any], Type::Any, |call| {
        let given = call.take(1);
        Ok(if is_empty(&given) { call.take(0) } else { given })
    }),
    Function::new("empty", &[Type::Any], |call| Ok(Value::Bool(is_empty(&call.take(0))))),
    Function::variadic("coalesce", &[], Type::Any, |call| {
        Ok(call.arguments.drain(..).find(|value| !is_empty(value)).unwrap_or_default())
    }),
    Function::variadic("all", &[], Type::Any, |call| {
        Ok(Value::Bool(!call.arguments.iter().any(is_empty)))
    }),
    Function::variadic("any", &[], Type::Any, |call| {
        Ok(Value::Bool(!call.arguments.iter().all(is_empty)))
    }),
    Function::new("ternary", &[Type::Any, Type::Any, Type::Bool], |call| {
        let chosen = usize::from(!call.boolean(2));
        Ok(call.take(chosen))
    }),
    Function::new("compact", &[Type::Any], |call| compact(&call.take(0))),
    Function::new("mustCompact", &[Type::Any], |call| compact(&call.take(0))),
];

/// Returns the elements that are not empty.
fn compact(list: &Value) -> Result<Value, Failure> {
    let kept = elements_or(list, "compact on")?.iter().filter(|item| !is_empty(item)).cloned().collect();
    Ok(Value::list(kept))
}
