//! Lists: taking, adding and finding elements. Lists never change; each function returns a new one.

use std::borrow::Cow;

use gotemplate::{Call, Failure, Function, List, Text, Type, Value};

use super::conversion::{elements, to_int64};
use super::equality::deep_equal_counting;
use super::limits::check_items;

/// The functions of this file.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::variadic("list", &[], Type::Any, |call| {
        Ok(Value::list(std::mem::take(&mut call.arguments)))
    })
    .fixed(),
    Function::variadic("tuple", &[], Type::Any, |call| {
        Ok(Value::list(std::mem::take(&mut call.arguments)))
    })
    .fixed(),
    Function::new("append", &[Type::Any, Type::Any], push),
    Function::new("push", &[Type::Any, Type::Any], push),
    Function::new("mustAppend", &[Type::Any, Type::Any], push),
    Function::new("mustPush", &[Type::Any, Type::Any], push),
    Function::new("prepend", &[Type::Any, Type::Any], prepend),
    Function::new("mustPrepend", &[Type::Any, Type::Any], prepend),
    Function::new("first", &[Type::Any], first),
    Function::new("mustFirst", &[Type::Any], first),
    Function::new("last", &[Type::Any], last),
    Function::new("mustLast", &[Type::Any], last),
    Function::new("rest", &[Type::Any], rest),
    Function::new("mustRest", &[Type::Any], rest),
    Function::new("initial", &[Type::Any], initial),
    Function::new("mustInitial", &[Type::Any], initial),
    Function::new("reverse", &[Type::Any], reverse),
    Function::new("mustReverse", &[Type::Any], reverse),
    Function::new("uniq", &[Type::Any], uniq).fixed(),
    Function::new("mustUniq", &[Type::Any], uniq).fixed(),
    Function::variadic("without", &[Type::Any], Type::Any, without).fixed(),
    Function::variadic("mustWithout", &[Type::Any], Type::Any, without).fixed(),
    Function::new("has", &[Type::Any, Type::Any], has).fixed(),
    Function::new("mustHas", &[Type::Any, Type::Any], has).fixed(),
    Function::variadic("slice", &[Type::Any], Type::Any, slice),
    Function::variadic("mustSlice", &[Type::Any], Type::Any, slice),
    Function::variadic("concat", &[], Type::Any, concat),
    Function::new("chunk", &[Type::INT, Type::Any], chunk),
    Function::new("mustChunk", &[Type::INT, Type::Any], chunk),
];

/// What Go says where a function asks the untyped nil for its type.
const NIL_DEREFERENCE: &str = "runtime error: invalid memory address or nil pointer dereference";

/// How many pairs of values a search looks at before it charges them, so that a long one can be ended.
const PAIRS_BETWEEN_CHARGES: usize = 65_536;

/// What Go says where a function makes a list of a negative or infinite length.
const MAKESLICE: &str = "runtime error: makeslice: len out of range";

/// Returns the elements of a list, or the error that names what was tried on the other type.
pub(super) fn elements_or<'value>(
    value: &'value Value,
    action: &str,
) -> Result<Cow<'value, [Value]>, Failure> {
    list_or(value, |kind| format!("Cannot {action} type {kind}"))
}

fn list_or(value: &Value, refuse: impl Fn(&str) -> String) -> Result<Cow<'_, [Value]>, Failure> {
    match (elements(value), value) {
        (Some(elements), _) => Ok(elements),
        (None, Value::Nil) => Err(NIL_DEREFERENCE.into()),
        (None, other) => Err(refuse(other.kind().name()).into()),
    }
}

fn argument<'call>(call: &'call Call<'_, '_>, index: usize) -> &'call Value {
    call.arguments.get(index).unwrap_or(&Value::Nil)
}

fn push(call: &mut Call<'_, '_>) -> Result<Value, Failure> {
    let added = call.take(1);
    let list = elements_or(argument(call, 0), "push on")?;
    check_items(list.len() + 1)?;
    Ok(Value::list(list.iter().cloned().chain([added]).collect()))
}

fn prepend(call: &mut Call<'_, '_>) -> Result<Value, Failure> {
    let added = call.take(1);
    let list = elements_or(argument(call, 0), "prepend on")?;
    check_items(list.len() + 1)?;
    Ok(Value::list(
        std::iter::once(added).chain(list.iter().cloned()).collect(),
    ))
}

fn first(call: &mut Call<'_, '_>) -> Result<Value, Failure> {
    Ok(elements_or(argument(call, 0), "find first on")?
        .first()
        .cloned()
        .unwrap_or_default())
}

fn last(call: &mut Call<'_, '_>) -> Result<Value, Failure> {
    Ok(elements_or(argument(call, 0), "find last on")?
        .last()
        .cloned()
        .unwrap_or_default())
}

/// Returns all but the first; the nil list where there is none.
fn rest(call: &mut Call<'_, '_>) -> Result<Value, Failure> {
    let list = elements_or(argument(call, 0), "find rest on")?;
    Ok(list
        .split_first()
        .map_or(Value::TypedNil(Type::List), |(_, rest)| {
            Value::list(rest.to_vec())
        }))
}

/// Returns all but the last; the nil list where there is none.
fn initial(call: &mut Call<'_, '_>) -> Result<Value, Failure> {
    let list = elements_or(argument(call, 0), "find initial on")?;
    Ok(list
        .split_last()
        .map_or(Value::TypedNil(Type::List), |(_, initial)| {
            Value::list(initial.to_vec())
        }))
}

fn reverse(call: &mut Call<'_, '_>) -> Result<Value, Failure> {
    Ok(Value::list(
        elements_or(argument(call, 0), "find reverse on")?
            .iter()
            .rev()
            .cloned()
            .collect(),
    ))
}

/// Searches a list, which is charged as it goes: for `uniq` each search is one of as many as there are elements.
fn contains(call: &mut Call<'_, '_>, list: &[Value], wanted: &Value) -> Result<bool, Failure> {
    let mut looked_at = 0;
    let mut is_found = false;
    for item in list {
        let (is_equal, pairs) = deep_equal_counting(wanted, item)?;
        looked_at += pairs;
        if is_equal {
            is_found = true;
            break;
        }
        if looked_at >= PAIRS_BETWEEN_CHARGES {
            call.charge_elements(std::mem::take(&mut looked_at))?;
        }
    }
    call.charge_elements(looked_at)?;
    Ok(is_found)
}

fn uniq(call: &mut Call<'_, '_>) -> Result<Value, Failure> {
    let mut kept: Vec<Value> = Vec::new();
    let list = call.take(0);
    for item in elements_or(&list, "find uniq on")?.iter() {
        if !contains(call, &kept, item)? {
            kept.push(item.clone());
        }
    }
    Ok(Value::list(kept))
}

fn without(call: &mut Call<'_, '_>) -> Result<Value, Failure> {
    let list = call.take(0);
    let arguments = std::mem::take(&mut call.arguments);
    let omitted = arguments.get(1..).unwrap_or_default();
    let mut kept = Vec::new();
    for item in elements_or(&list, "find without on")?.iter() {
        if !contains(call, omitted, item)? {
            kept.push(item.clone());
        }
    }
    Ok(Value::list(kept))
}

fn has(call: &mut Call<'_, '_>) -> Result<Value, Failure> {
    let (wanted, haystack) = (call.take(0), call.take(1));
    if matches!(haystack, Value::Nil) {
        return Ok(Value::Bool(false));
    }
    let list = elements_or(&haystack, "find has on")?;
    Ok(Value::Bool(contains(call, &list, &wanted)?))
}

/// Returns the elements from one index up to another, as a list of the same type; nil of an empty list.
fn slice(call: &mut Call<'_, '_>) -> Result<Value, Failure> {
    let list = argument(call, 0);
    let items = list_or(list, |kind| {
        format!("list should be type of slice or array but {kind}")
    })?;
    if items.is_empty() {
        return Ok(Value::Nil);
    }
    let start = call.arguments.get(1).map_or(0, to_int64);
    let end = call.arguments.get(2).map_or(items.len() as i64, to_int64);
    let range = usize::try_from(start).ok().zip(usize::try_from(end).ok());
    let part = range.and_then(|(start, end)| items.get(start..end));
    let part = part.ok_or("reflect.Value.Slice: slice index out of bounds")?;
    Ok(match list {
        Value::Bytes(bytes) => {
            let (start, end) = range.unwrap_or_default();
            Value::Bytes(Text::from(bytes.get(start..end).unwrap_or_default()))
        }
        Value::List(list) => Value::List(match list.named_type() {
            Some(named) => List::named(named, list.element(), part.to_vec()),
            None => List::of(list.element(), part.to_vec()),
        }),
        _ => Value::list(part.to_vec()),
    })
}

fn concat(call: &mut Call<'_, '_>) -> Result<Value, Failure> {
    let mut joined = Vec::new();
    for list in &call.arguments {
        let items = list_or(list, |kind| format!("Cannot concat type {kind} as list"))?;
        check_items(joined.len() + items.len())?;
        joined.extend_from_slice(&items);
    }
    Ok(if joined.is_empty() {
        Value::TypedNil(Type::List)
    } else {
        Value::list(joined)
    })
}

/// Cuts a list into lists of `size` elements; the last may be shorter.
fn chunk(call: &mut Call<'_, '_>) -> Result<Value, Failure> {
    let items = elements_or(argument(call, 1), "chunk")?;
    let chunks = match usize::try_from(call.integer(0)) {
        // Dividing by zero gives Go an infinite number of chunks to make.
        Ok(0) => return Err(MAKESLICE.into()),
        Ok(size) => items
            .chunks(size)
            .map(|chunk| Value::list(chunk.to_vec()))
            .collect(),
        Err(_) => negative_chunks(&items, call.integer(0))?,
    };
    Ok(Value::List(List::of(Type::List, chunks)))
}

/// Works out what Go's arithmetic makes of a negative size: sometimes nothing, mostly a list of negative length.
fn negative_chunks(items: &[Value], size: i64) -> Result<Vec<Value>, Failure> {
    match items {
        [_] if size < -1 => Ok(vec![Value::list(items.to_vec())]),
        [_, _, ..] if (items.len() as u64 - 1) <= size.unsigned_abs() => Ok(Vec::new()),
        _ => Err(MAKESLICE.into()),
    }
}

#[cfg(test)]
mod tests {
    use crate::functions::testing::check;

    #[test]
    fn lists_are_taken_apart_as_in_sprig() {
        check(&[
            (
                r#"{{ $x := append (list 1) "a" }}{{ $x }} {{ typeOf $x }}"#,
                Ok("[1 a] []interface {}"),
            ),
            (
                r#"{{ $x := append (splitList "," "a,b") 1 }}{{ $x }} {{ typeOf $x }}"#,
                Ok("[a b 1] []interface {}"),
            ),
            (r#"{{ prepend (until 2) "x" | toJson }}"#, Ok(r#"["x",0,1]"#)),
            (
                "{{ first (list 1 2) }}{{ last (list 1 2) }}{{ rest (list 1 2) }}{{ initial (list 1 2) }}",
                Ok("12[2][1]"),
            ),
            (
                "{{ first (list) }}|{{ last (list) }}|{{ rest (list) | typeOf }}|{{ initial (list) | toJson }}",
                Ok("<no value>|<no value>|[]interface {}|null"),
            ),
            ("{{ reverse (list 1 2 3) }}", Ok("[3 2 1]")),
            (
                r#"{{ uniq (list 1 1 1.0 "1" "1" nil nil (list) (list) (dict) (dict)) | toJson }}"#,
                Ok(r#"[1,1,"1",null,[],{}]"#),
            ),
            (
                "{{ without (list 1 2 3) 1 3 }}{{ without (list 1.0) 1 }}",
                Ok("[2][1]"),
            ),
            (
                "{{ has 1 (list 1 2) }}{{ has 1 (list 1.0) }}{{ has 1 nil }}{{ has nil (list nil) }}",
                Ok("truefalsefalsetrue"),
            ),
            (
                r#"{{ slice (list 1 2 3) }}{{ slice (list 1 2 3) 1 }}{{ slice (list 1 2 3) 1 "2" }}"#,
                Ok("[1 2 3][2 3][2]"),
            ),
            (
                r#"{{ slice (splitList "" "abc") 1 | typeOf }}{{ slice (until 3) 1 2 }}"#,
                Ok("[]string[1]"),
            ),
            (
                r#"{{ concat (list 1) (splitList "" "ab") (until 2) }}"#,
                Ok("[1 a b 0 1]"),
            ),
            (
                "{{ chunk 2 (list 1 2 3) }}{{ chunk 5 (list 1) }}{{ mustChunk 1 (until 2) }}",
                Ok("[[1 2] [3]][[1]][[0] [1]]"),
            ),
            (
                r#"{{ compact (list 0 1 "" "a" nil false (list) (dict "a" 1)) | toJson }}"#,
                Ok(r#"[1,"a",{"a":1}]"#),
            ),
            (
                "{{ tuple 1 2 }}{{ list }}{{ push (list) nil | len }}",
                Ok("[1 2][]1"),
            ),
            (r#"{{ first "" }}"#, Err("Cannot find first on type string")),
            (
                "{{ slice (dict) 0 }}",
                Err("list should be type of slice or array but map"),
            ),
        ]);
    }

    #[test]
    fn what_is_no_list_gets_the_words_of_go() {
        check(&[
            (
                "{{ slice (list 1 2 3) 0 5 }}",
                Err("reflect.Value.Slice: slice index out of bounds"),
            ),
            (
                "{{ slice (list 1 2 3) 2 1 }}",
                Err("reflect.Value.Slice: slice index out of bounds"),
            ),
            (
                "{{ slice (list 1 2 3) -1 }}",
                Err("reflect.Value.Slice: slice index out of bounds"),
            ),
            (
                r#"{{ slice "abc" 1 }}"#,
                Err("list should be type of slice or array but string"),
            ),
            (
                "{{ slice nil 1 }}",
                Err("runtime error: invalid memory address or nil pointer dereference"),
            ),
            ("{{ slice (list) 1 | typeOf }}", Ok("<nil>")),
            (
                "{{ first nil }}",
                Err("runtime error: invalid memory address or nil pointer dereference"),
            ),
            (r#"{{ first "abc" }}"#, Err("Cannot find first on type string")),
            ("{{ mustFirst 1 }}", Err("Cannot find first on type int")),
            (
                r#"{{ concat (list 1) "a" }}"#,
                Err("Cannot concat type string as list"),
            ),
            (
                "{{ concat (list 1) nil }}",
                Err("runtime error: invalid memory address or nil pointer dereference"),
            ),
            ("{{ typeOf (concat) }}", Ok("[]interface {}")),
            (
                "{{ chunk 0 (list 1 2) }}",
                Err("runtime error: makeslice: len out of range"),
            ),
            ("{{ chunk -1 (list 1 2) }}", Ok("[]")),
            ("{{ chunk 3 (list) | toJson }}", Ok("[]")),
            (
                "{{ chunk 0 (list) | toJson }}",
                Err("runtime error: makeslice: len out of range"),
            ),
            (r#"{{ has 1 "abc" }}"#, Err("Cannot find has on type string")),
            (
                r#"{{ without "abc" 1 }}"#,
                Err("Cannot find without on type string"),
            ),
            ("{{ compact 1 }}", Err("Cannot compact on type int")),
            ("{{ reverse (dict) }}", Err("Cannot find reverse on type map")),
            (
                "{{ append nil 1 }}",
                Err("runtime error: invalid memory address or nil pointer dereference"),
            ),
            (r#"{{ prepend "s" 1 }}"#, Err("Cannot prepend on type string")),
            ("{{ uniq 1.5 }}", Err("Cannot find uniq on type float64")),
            ("{{ initial true }}", Err("Cannot find initial on type bool")),
            (
                "{{ rest nil }}",
                Err("runtime error: invalid memory address or nil pointer dereference"),
            ),
            (
                "{{ chunk -1 (list) | toJson }}",
                Err("runtime error: makeslice: len out of range"),
            ),
            ("{{ chunk -2 (list 1 2) | toJson }}", Ok("[]")),
            ("{{ chunk -5 (list 1 2) | toJson }}", Ok("[]")),
            (
                "{{ chunk -1 (list 1) | toJson }}",
                Err("runtime error: makeslice: len out of range"),
            ),
            ("{{ chunk -2 (list 1) | toJson }}", Ok("[[1]]")),
            (
                "{{ chunk -2 (list) | toJson }}",
                Err("runtime error: makeslice: len out of range"),
            ),
            (
                "{{ chunk 0 (list 1) | toJson }}",
                Err("runtime error: makeslice: len out of range"),
            ),
            (r#"{{ chunk 3 "a" }}"#, Err("Cannot chunk type string")),
            (
                "{{ chunk 3 nil }}",
                Err("runtime error: invalid memory address or nil pointer dereference"),
            ),
            (
                "{{ typeOf (chunk 3 (list 1)) }}{{ typeOf (index (chunk 3 (list 1)) 0) }}",
                Ok("[][]interface {}[]interface {}"),
            ),
        ]);
    }
}
