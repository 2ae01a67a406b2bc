//! Deep copies, which share no map with their original.

use std::cell::Cell;

use gotemplate::{Failure, Function, List, Map, Type, Value};

use super::limits::{check_items, nested};

/// The functions of this file.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("deepCopy", &[Type::Any], |call| copy_argument(&call.take(0))).heavy(),
    Function::new("mustDeepCopy", &[Type::Any], |call| copy_argument(&call.take(0))).heavy(),
];

fn copy_argument(value: &Value) -> Result<Value, Failure> {
    if matches!(value, Value::Nil) {
        return Err("reflect: call of reflect.Value.Type on zero Value".into());
    }
    deep_copy(value, 0, &Cell::new(0))
}

/// Copies a value with everything in it; numbers, text and native objects never change, so they stay shared.
///
/// `copied` counts: lists that hold the same list many times have far more in a copy than they store.
fn deep_copy(value: &Value, depth: usize, copied: &Cell<usize>) -> Result<Value, Failure> {
    copied.set(copied.get() + 1);
    check_items(copied.get())?;
    match value {
        Value::List(list) => nested(depth, || copy_list(list, depth, copied)),
        Value::Map(map) => nested(depth, || copy_map(map, depth, copied)),
        other => Ok(other.clone()),
    }
}

fn copy_list(list: &List, depth: usize, copied: &Cell<usize>) -> Result<Value, Failure> {
    let items: Result<Vec<Value>, Failure> = list
        .iter()
        .map(|item| deep_copy(item, depth + 1, copied))
        .collect();
    Ok(Value::List(match list.named_type() {
        Some(named) => List::named(named, list.element(), items?),
        None => List::of(list.element(), items?),
    }))
}

fn copy_map(map: &Map, depth: usize, copied: &Cell<usize>) -> Result<Value, Failure> {
    let entries = map.borrow();
    let entries_of_copy = entries
        .iter()
        .map(|(key, item)| Ok((key.clone(), deep_copy(item, depth + 1, copied)?)));
    let copy = Map::of(map.element(), entries_of_copy.collect::<Result<_, Failure>>()?);
    Ok(Value::Map(match map.named_type() {
        Some(named) => copy.named(named),
        None => copy,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::testing::check;

    #[test]
    fn a_copy_shares_no_map() {
        let inner = Map::new();
        let original = Value::map([("list", Value::list(vec![Value::Map(inner.clone())]))]);
        let copy = copy_argument(&original).expect("shallow");
        inner.insert("a", Value::int(1));
        assert_eq!(
            format!("{copy:?}"),
            r#"map[string]interface {}{"list":[]interface {}{map[string]interface {}{}}}"#
        );
    }

    #[test]
    fn types_survive() {
        for value in [
            Value::strings(["a"]),
            Value::TypedNil(Type::Strings),
            Value::int64(1),
            Value::list(vec![]),
        ] {
            assert_eq!(
                copy_argument(&value).expect("shallow").type_name(),
                value.type_name()
            );
        }
    }

    #[test]
    fn a_map_within_itself_is_refused() {
        let map = Map::new();
        map.insert("self", Value::Map(map.clone()));
        assert!(copy_argument(&Value::Map(map.clone())).is_err());
        map.remove("self");
    }

    #[test]
    fn nil_cannot_be_copied() {
        let failure = copy_argument(&Value::Nil).expect_err("Go panics");
        assert_eq!(
            failure.to_string(),
            "reflect: call of reflect.Value.Type on zero Value"
        );
    }

    #[test]
    fn copies_keep_their_types() {
        check(&[
            (
                "{{ deepCopy nil }}|{{ typeOf (deepCopy nil) }}",
                Err("reflect: call of reflect.Value.Type on zero Value"),
            ),
            ("{{ typeOf (deepCopy (list)) }}", Ok("[]interface {}")),
            ("{{ typeOf (deepCopy (rest (list))) }}", Ok("[]interface {}")),
            (
                r#"{{ typeOf (deepCopy (regexFindAll "x" "y" -1)) }} {{ eq nil (deepCopy (regexFindAll "x" "y" -1)) }}"#,
                Ok("[]string true"),
            ),
            (r#"{{ typeOf (deepCopy (splitList "," "a,b")) }}"#, Ok("[]string")),
            (
                r#"{{ typeOf (deepCopy (split "," "a,b")) }}"#,
                Ok("map[string]string"),
            ),
            (
                "{{ typeOf (deepCopy 1) }}{{ typeOf (deepCopy 1.5) }}{{ typeOf (deepCopy true) }}",
                Ok("intfloat64bool"),
            ),
            (
                r#"{{ deepCopy (dict "a" nil "b" (list nil 1 (dict "c" nil))) | toJson }}"#,
                Ok(r#"{"a":null,"b":[null,1,{"c":null}]}"#),
            ),
            (
                "{{ deepCopy (chunk 2 (list 1 2 3)) | typeOf }}",
                Ok("[][]interface {}"),
            ),
            (
                r#"{{ deepCopy (dict "a" (rest (list))) | toJson }}"#,
                Ok(r#"{"a":null}"#),
            ),
            (
                r#"{{ deepCopy (dict "a" (dict "x" (rest (list)))) | toJson }}"#,
                Ok(r#"{"a":{"x":null}}"#),
            ),
            (
                "{{ deepCopy (list (rest (list)) nil) | toJson }}",
                Ok("[null,null]"),
            ),
            ("{{ deepCopy (until 3) | typeOf }}", Ok("[]int")),
            (
                r#"{{ deepCopy (unset nil "a") | typeOf }}"#,
                Ok("map[string]interface {}"),
            ),
        ]);
    }
}
