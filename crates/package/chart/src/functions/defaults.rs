//! Choosing between values by whether they are empty.

use gotemplate::{Failure, Function, Type, Value};

use super::conversion::is_empty;
use super::lists::elements_or;

/// The functions of this file.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::variadic("default", &[Type::Any], Type::Any, |call| {
        let given = call.take(1);
        Ok(if is_empty(&given) { call.take(0) } else { given })
    })
    .fixed(),
    Function::new("empty", &[Type::Any], |call| {
        Ok(Value::Bool(is_empty(&call.take(0))))
    })
    .fixed(),
    Function::variadic("coalesce", &[], Type::Any, |call| {
        Ok(call
            .arguments
            .drain(..)
            .find(|value| !is_empty(value))
            .unwrap_or_default())
    })
    .fixed(),
    Function::variadic("all", &[], Type::Any, |call| {
        Ok(Value::Bool(!call.arguments.iter().any(is_empty)))
    })
    .fixed(),
    Function::variadic("any", &[], Type::Any, |call| {
        Ok(Value::Bool(!call.arguments.iter().all(is_empty)))
    })
    .fixed(),
    Function::new("ternary", &[Type::Any, Type::Any, Type::Bool], |call| {
        let chosen = usize::from(!call.boolean(2));
        Ok(call.take(chosen))
    })
    .fixed(),
    Function::new("compact", &[Type::Any], |call| compact(&call.take(0))),
    Function::new("mustCompact", &[Type::Any], |call| compact(&call.take(0))),
];

/// Returns the elements that are not empty.
fn compact(list: &Value) -> Result<Value, Failure> {
    let kept = elements_or(list, "compact on")?
        .iter()
        .filter(|item| !is_empty(item))
        .cloned()
        .collect();
    Ok(Value::list(kept))
}

#[cfg(test)]
mod tests {
    use crate::functions::testing::check;

    #[test]
    fn emptiness_decides() {
        check(&[
            (
                r#"{{ default "d" 0 }}{{ default "d" }}{{ default "d" "x" }}{{ default "d" nil }}{{ default "d" (list) }}{{ default "d" false }}"#,
                Ok("ddxddd"),
            ),
            ("{{ default nil 0 | typeOf }}", Ok("<nil>")),
            (
                r#"{{ empty 0.0 }}{{ empty "" }}{{ empty (dict) }}{{ empty (dict "a" 1) }}{{ empty nil }}"#,
                Ok("truetruetruefalsetrue"),
            ),
            (
                r#"{{ coalesce 0 "" nil "x" }}{{ coalesce | typeOf }}{{ coalesce 0 | typeOf }}"#,
                Ok("x<nil><nil>"),
            ),
            (
                r#"{{ all 1 "a" }}{{ all }}{{ all 1 0 }}{{ any 0 "" }}{{ any }}{{ any 0 1 }}"#,
                Ok("truetruefalsefalsefalsetrue"),
            ),
            ("{{ ternary 1 2 true }}{{ ternary 1 2 false }}", Ok("12")),
            (
                r#"{{ ternary 1 2 "x" }}"#,
                Err(r#"template: test:1:15: executing "test" at <"x">: expected bool; found "x""#),
            ),
            (
                "{{ compact nil }}",
                Err("runtime error: invalid memory address or nil pointer dereference"),
            ),
        ]);
    }
}
