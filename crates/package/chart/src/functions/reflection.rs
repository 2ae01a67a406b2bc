//! What type a value has in Go.

use gotemplate::{Function, Type, Value};

use super::equality::deep_equal;

/// The functions of this file.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("typeOf", &[Type::Any], |call| Ok(call.take(0).type_name().into())).fixed(),
    Function::new("typeIs", &[Type::String, Type::Any], |call| {
        Ok(Value::Bool(&*call.text(0) == call.take(1).type_name().as_bytes()))
    })
    .fixed(),
    Function::new("typeIsLike", &[Type::String, Type::Any], |call| {
        let (target, name) = (call.text(0), call.take(1).type_name());
        let pointed_at = name.strip_prefix('*').unwrap_or(&name);
        Ok(Value::Bool(
            &*target == name.as_bytes() || &*target == pointed_at.as_bytes(),
        ))
    })
    .fixed(),
    Function::new("kindOf", &[Type::Any], |call| {
        Ok(call.take(0).kind().name().into())
    })
    .fixed(),
    Function::new("kindIs", &[Type::String, Type::Any], |call| {
        Ok(Value::Bool(
            &*call.text(0) == call.take(1).kind().name().as_bytes(),
        ))
    })
    .fixed(),
    Function::new("deepEqual", &[Type::Any, Type::Any], |call| {
        Ok(Value::Bool(deep_equal(&call.take(0), &call.take(1))?))
    })
    .heavy(),
];

#[cfg(test)]
mod tests {
    use crate::functions::testing::check;

    #[test]
    fn types_have_the_names_of_go() {
        check(&[
            (
                r#"{{ typeOf 1 }} {{ typeOf 1.0 }} {{ typeOf "a" }} {{ typeOf true }} {{ typeOf nil }} {{ typeOf (list) }} {{ typeOf (dict) }} {{ typeOf (until 1) }} {{ typeOf (splitList "" "a") }} {{ typeOf (split "," "a") }} {{ typeOf (int64 1) }}"#,
                Ok(
                    "int float64 string bool <nil> []interface {} map[string]interface {} []int []string map[string]string int64",
                ),
            ),
            (
                r#"{{ kindIs "map" (dict) }}{{ kindIs "invalid" nil }}"#,
                Ok("truetrue"),
            ),
            (
                r#"{{ deepEqual (list 1) (list 1) }}{{ deepEqual (list 1) (list 1.0) }}{{ deepEqual nil nil }}{{ deepEqual (rest (list)) (list) }}{{ deepEqual (dict "a" (list 1 2)) (dict "a" (list 1 2)) }}"#,
                Ok("truefalsetruefalsetrue"),
            ),
        ]);
    }
}
