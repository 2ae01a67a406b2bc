//! What type a value has in Go.

use gotemplate::{Function, Type, Value};

use super::equality::deep_equal;

/// The functions of this file.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("typeOf", &[Type::Any], |call| Ok(call.take(0).type_name().into())),
    Function::new("typeIs", &[Type::String, Type::Any], |call| {
        Ok(Value::Bool(&*call.text(0) == call.take(1).type_name().as_bytes()))
    }),
    Function::new("typeIsLike", &[Type::String, Type::Any], |call| {
        let (target, name) = (call.text(0), call.take(1).type_name());
        let pointed_at = name.strip_prefix('*').unwrap_or(&name);
        Ok(Value::Bool(&*target == name.as_bytes() || &*target == pointed_at.as_bytes()))
    }),
    Function::new("kindOf", &[Type::Any], |call| Ok(call.take(0).kind().name().into())),
    Function::new("kindIs", &[Type::String, Type::Any], |call| {
        Ok(Value::Bool(&*call.text(0) == call.take(1).kind().name().as_bytes()))
    }),
    Function::new("deepEqual", &[Type::Any, Type::Any], |call| {
        Ok(Value::Bool(deep_equal(&call.take(0), &call.take(1))?))
    }),
];
