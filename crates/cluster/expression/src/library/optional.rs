//! Values that may be absent.

use super::Function;
use crate::value::{Failure, Outcome, Value};

pub(super) fn overload(id: &str) -> Option<Function> {
    Some(match id {
        "optional_of" => |arguments| match arguments {
            [value] => Ok(Value::some(value.clone())),
            _ => Err(Failure::no_such_overload()),
        },
        "optional_ofNonZeroValue" => |arguments| match arguments {
            [value] if value.is_zero() => Ok(Value::Optional(None)),
            [value] => Ok(Value::some(value.clone())),
            _ => Err(Failure::no_such_overload()),
        },
        "optional_none" => |_| Ok(Value::Optional(None)),
        "optional_value" => |arguments| match arguments {
            [Value::Optional(Some(value))] => Ok((**value).clone()),
            [Value::Optional(None)] => Err(Failure::new("optional.none() dereference")),
            _ => Err(Failure::no_such_overload()),
        },
        "optional_hasValue" => |arguments| match arguments {
            [Value::Optional(value)] => Ok(Value::Bool(value.is_some())),
            _ => Err(Failure::no_such_overload()),
        },
        "optional_unwrap" | "optional_unwrapOpt" => unwrap,
        "list_first" => |arguments| end(arguments, |_| 0),
        "list_last" => |arguments| end(arguments, |length| length.saturating_sub(1)),
        _ => return None,
    })
}

fn end<'a>(arguments: &[Value<'a>], index: fn(usize) -> usize) -> Outcome<'a> {
    let [Value::List(list)] = arguments else {
        return Err(Failure::no_such_overload());
    };
    match list.get(index(list.len())) {
        Some(item) => Ok(Value::some(item?)),
        None => Ok(Value::Optional(None)),
    }
}

fn unwrap<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    let [Value::List(list)] = arguments else {
        return Err(Failure::no_such_overload());
    };
    let mut present = Vec::new();
    for item in list.iter() {
        match item? {
            Value::Optional(Some(value)) => present.push((*value).clone()),
            Value::Optional(None) => {}
            other => {
                return Err(Failure::new(format!(
                    "value {} is not optional",
                    crate::value::text::go(&other)
                )));
            }
        }
    }
    Ok(Value::list(present))
}
