//! Lists as sets.

use super::Function;
use crate::value::{Failure, List, Value};

pub(super) fn overload(id: &str) -> Option<Function> {
    Some(match id {
        "list_sets_contains_list" => |arguments| {
            let (one, other) = both(arguments)?;
            Ok(Value::Bool(contains(one, other)?))
        },
        "list_sets_equivalent_list" => |arguments| {
            let (one, other) = both(arguments)?;
            Ok(Value::Bool(contains(one, other)? && contains(other, one)?))
        },
        "list_sets_intersects_list" => |arguments| {
            let (one, other) = both(arguments)?;
            let mut found = one.iter().map(|item| item.and_then(|item| other.contains(&item)));
            Ok(Value::Bool(found.any(|found| found == Ok(true))))
        },
        _ => return None,
    })
}

fn both<'b, 'a>(arguments: &'b [Value<'a>]) -> Result<(&'b List<'a>, &'b List<'a>), Failure> {
    match arguments {
        [Value::List(one), Value::List(other)] => Ok((one, other)),
        _ => Err(Failure::no_such_overload()),
    }
}

fn contains<'a>(list: &List<'a>, part: &List<'a>) -> Result<bool, Failure> {
    for item in part.iter() {
        if !list.contains(&item?)? {
            return Ok(false);
        }
    }
    Ok(true)
}
