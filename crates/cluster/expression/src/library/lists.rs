//! Functions on lists.

use std::cmp::Ordering;

use super::Function;
use super::arithmetic::add;
use crate::value::equality::{compare, equal};
use crate::value::map::Entries;
use crate::value::{Failure, List, Map, Outcome, Value};

/// The most numbers that `lists.range` makes. Upstream makes as many as it is told to and runs out of memory; what a
/// range costs is far beyond every limit long before this.
const LONGEST_RANGE: i64 = 16 * 1024 * 1024;

/// How deep `flatten` goes into lists of lists; it walks them by recursion.
const DEEPEST_FLATTEN: i64 = 1_000;

pub(super) fn shared(function: &str) -> Option<Function> {
    Some(match function {
        "sort" => |arguments| match arguments {
            [Value::List(list)] => sort_by(list, list),
            _ => Err(Failure::no_such_overload()),
        },
        "@sortByAssociatedKeys" => |arguments| match arguments {
            [Value::List(list), Value::List(keys)] => sort_by(list, keys),
            _ => Err(Failure::no_such_overload()),
        },
        _ => return None,
    })
}

pub(super) fn overload(id: &str) -> Option<Function> {
    Some(match id {
        "list_slice" => slice,
        "list_flatten" | "list_flatten_int" => flatten,
        "lists_range" => range,
        "list_reverse" => |arguments| {
            let mut items = only(arguments)?.values()?;
            items.reverse();
            Ok(Value::list(items))
        },
        "list_distinct" => distinct,
        "list_a_index_of_int" => index_of,
        "list_a_last_index_of_int" => last_index_of,
        "@mapInsert_map_key_value" | "@mapInsert_map_map" => insert,
        "list_int_sum_int" => |arguments| sum(arguments, Value::Int(0)),
        "list_uint_sum_uint" => |arguments| sum(arguments, Value::Uint(0)),
        "list_double_sum_double" => |arguments| sum(arguments, Value::Double(0.0)),
        "list_duration_sum_duration" => |arguments| sum(arguments, Value::Duration(0)),
        other if other.ends_with("_is_sorted_bool") => is_sorted,
        other if other.contains("_max_") => |arguments| extreme(arguments, "max", Ordering::Less),
        other if other.contains("_min_") => |arguments| extreme(arguments, "min", Ordering::Greater),
        _ => return None,
    })
}

fn only<'b, 'a>(arguments: &'b [Value<'a>]) -> Result<&'b List<'a>, Failure> {
    match arguments {
        [Value::List(list)] => Ok(list),
        _ => Err(Failure::no_such_overload()),
    }
}

fn is_sorted<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    let items = only(arguments)?.values()?;
    let sorted = items.windows(2).all(|pair| match pair {
        [one, other] => compare(one, other) != Ok(Ordering::Greater),
        _ => true,
    });
    Ok(Value::Bool(sorted))
}

fn sum<'a>(arguments: &[Value<'a>], zero: Value<'a>) -> Outcome<'a> {
    let mut total = zero;
    for item in only(arguments)?.iter() {
        total = add(&[total, item?])?;
    }
    Ok(total)
}

/// Returns the item that no other beats: `beaten` is how one compares with the item that replaces it.
fn extreme<'a>(arguments: &[Value<'a>], name: &str, beaten: Ordering) -> Outcome<'a> {
    let mut best: Option<Value<'a>> = None;
    for item in only(arguments)?.iter() {
        let item = item?;
        best = Some(match best {
            Some(best) if compare(&best, &item) != Ok(beaten) => best,
            _ => item,
        });
    }
    best.ok_or_else(|| Failure::new(format!("{name} called on empty list")))
}

fn index_of<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    let [Value::List(list), wanted] = arguments else {
        return Err(Failure::no_such_overload());
    };
    let found = list
        .values()?
        .iter()
        .position(|item| equal(item, wanted) == Ok(true));
    Ok(Value::Int(found.map_or(-1, |index| index as i64)))
}

fn last_index_of<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    let [Value::List(list), wanted] = arguments else {
        return Err(Failure::no_such_overload());
    };
    let items = list.values()?;
    let found = items.iter().rposition(|item| equal(item, wanted) == Ok(true));
    Ok(Value::Int(found.map_or(-1, |index| index as i64)))
}

fn slice<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    let [Value::List(list), Value::Int(start), Value::Int(end)] = arguments else {
        return Err(Failure::no_such_overload());
    };
    let wrong = |rule: &str| Failure::new(format!("cannot slice({start}, {end}), {rule}"));
    let (Ok(from), Ok(to)) = (usize::try_from(*start), usize::try_from(*end)) else {
        return Err(wrong("negative indexes not supported"));
    };
    if from > to {
        return Err(wrong("start index must be less than or equal to end index"));
    }
    if list.len() < to {
        return Err(wrong(&format!("list is length {}", list.len())));
    }
    Ok(Value::list(
        (from..to)
            .filter_map(|index| list.get(index))
            .collect::<Result<_, _>>()?,
    ))
}

fn flatten<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    let (list, depth) = match arguments {
        [Value::List(list)] => (list, 1),
        [Value::List(list), Value::Int(depth)] => (list, *depth),
        [other] => {
            return Err(Failure::new(format!(
                "no such overload: {}.flatten()",
                other.type_name()
            )));
        }
        [one, other] => {
            let message = format!(
                "no such overload: {}.flatten({})",
                one.type_name(),
                other.type_name()
            );
            return Err(Failure::new(message));
        }
        _ => return Err(Failure::no_such_overload()),
    };
    if depth < 0 {
        return Err(Failure::new("level must be non-negative"));
    }
    let mut flat = Vec::new();
    flatten_into(list, depth.min(DEEPEST_FLATTEN), &mut flat)?;
    Ok(Value::list(flat))
}

fn flatten_into<'a>(list: &List<'a>, depth: i64, flat: &mut Vec<Value<'a>>) -> Result<(), Failure> {
    crate::syntax::parse::with_stack(|| {
        for item in list.iter() {
            match item? {
                Value::List(inner) if depth > 0 => flatten_into(&inner, depth - 1, flat)?,
                other => flat.push(other),
            }
        }
        Ok(())
    })
}

fn range<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    let [Value::Int(end)] = arguments else {
        return Err(Failure::no_such_overload());
    };
    if *end > LONGEST_RANGE {
        return Err(Failure::CostLimit);
    }
    Ok(Value::list((0..*end).map(Value::Int).collect()))
}

fn distinct<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    let mut distinct: Vec<Value<'a>> = Vec::new();
    for item in only(arguments)?.iter() {
        let item = item?;
        if !distinct.iter().any(|known| equal(&item, known) == Ok(true)) {
            distinct.push(item);
        }
    }
    Ok(Value::list(distinct))
}

fn sort_by<'a>(list: &List<'a>, keys: &List<'a>) -> Outcome<'a> {
    let (items, keys) = (list.values()?, keys.values()?);
    if items.len() != keys.len() {
        return Err(Failure::new(format!(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got {} and {} \
             elements respectively",
            items.len(),
            keys.len()
        )));
    }
    let Some(first) = keys.first() else {
        return Ok(Value::List(list.clone()));
    };
    let comparable = matches!(
        first,
        Value::Int(_)
            | Value::Uint(_)
            | Value::Double(_)
            | Value::Bool(_)
            | Value::Duration(_)
            | Value::Timestamp(_)
            | Value::String(_)
            | Value::Bytes(_)
    );
    if !comparable {
        return Err(Failure::new("list elements must be comparable"));
    }
    if keys.len() > 1 && keys.iter().any(|key| key.type_name() != first.type_name()) {
        return Err(Failure::new("list elements must have the same type"));
    }
    let mut pairs: Vec<(Value<'a>, Value<'a>)> = keys.into_iter().zip(items).collect();
    pairs.sort_by(|(one, _), (other, _)| compare(one, other).unwrap_or(Ordering::Equal));
    Ok(Value::list(pairs.into_iter().map(|(_, item)| item).collect()))
}

fn insert<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    let (map, added): (&Map<'a>, Vec<(Value<'a>, Outcome<'a>)>) = match arguments {
        [Value::Map(map), key, value] => (map, vec![(key.clone(), Ok(value.clone()))]),
        [Value::Map(map), Value::Map(other)] => (map, other.entries()),
        _ => return Err(Failure::no_such_overload()),
    };
    let mut entries = match map {
        Map::Entries(entries) => (**entries).clone(),
        Map::Json { .. } => {
            let mut entries = Entries::default();
            for (key, value) in map.entries() {
                entries.set(key, value?);
            }
            entries
        }
    };
    for (key, value) in added {
        entries.insert(key, value?)?;
    }
    Ok(Value::Map(Map::of(entries)))
}
