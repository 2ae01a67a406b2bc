//! Maps merged into one another as the library mergo does it, with its notion of what may be overwritten.

use std::collections::HashSet;

use gotemplate::{Call, Failure, Function, Kind, Map, Type, Value};

use super::limits::nested;

/// The functions of this file.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::variadic("merge", &[Type::Map], Type::Map, |call| {
        merge_or_empty(call, Overwrite::Empty)
    })
    .heavy(),
    Function::variadic("mustMerge", &[Type::Map], Type::Map, |call| {
        merge_all(call, Overwrite::Empty)?.into_result()
    })
    .heavy(),
    Function::variadic("mergeOverwrite", &[Type::Map], Type::Map, |call| {
        merge_or_empty(call, Overwrite::Everything)
    })
    .heavy(),
    Function::variadic("mustMergeOverwrite", &[Type::Map], Type::Map, |call| {
        merge_all(call, Overwrite::Everything)?.into_result()
    })
    .heavy(),
];

/// Which values of the destination give way.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Overwrite {
    /// Only those that are empty: false, zero, or without content.
    Empty,
    /// All but maps that are merged with maps.
    Everything,
}

/// How a merge ended; a panic in Go is a [`Failure`] instead.
enum Outcome {
    Merged(Value),
    /// The library returned this error.
    Refused(&'static str),
}

impl Outcome {
    fn into_result(self) -> Result<Value, Failure> {
        match self {
            Outcome::Merged(value) => Ok(value),
            Outcome::Refused(error) => Err(error.into()),
        }
    }
}

/// Merges; an error of the library gives an empty text.
fn merge_or_empty(call: &mut Call<'_, '_>, overwrite: Overwrite) -> Result<Value, Failure> {
    Ok(match merge_all(call, overwrite)? {
        Outcome::Merged(value) => value,
        Outcome::Refused(_) => "".into(),
    })
}

fn merge_all(call: &mut Call<'_, '_>, overwrite: Overwrite) -> Result<Outcome, Failure> {
    // The result has the parameter's type, whatever named type the argument has.
    let mut destination = call.map(0).map(|map| map.unnamed());
    for source in call.arguments.iter().skip(1).filter_map(Value::as_map) {
        let destination = destination.get_or_insert_default();
        if let Some(error) = merge_maps(destination, source, overwrite, 0, &mut Merged::new())? {
            return Ok(Outcome::Refused(error));
        }
    }
    Ok(Outcome::Merged(
        destination.map_or(Value::TypedNil(Type::Map), Value::Map),
    ))
}

/// Pairs of maps, by identity, that have been merged.
type Merged = HashSet<(usize, usize)>;

/// Merges one map into another; returns the error of the library, if there is one.
fn merge_maps(
    destination: &Map,
    source: &Map,
    overwrite: Overwrite,
    depth: usize,
    merged: &mut Merged,
) -> Result<Option<&'static str>, Failure> {
    // A snapshot: source and destination may be the same map.
    for (key, value) in source.entries() {
        if matches!(value, Value::Nil) {
            if overwrite == Overwrite::Everything {
                put(destination, source, key, value)?;
            }
            continue;
        }
        let existing = destination.get(&*key);
        let kind = value.kind();
        if matches!(kind, Kind::Map | Kind::Struct | Kind::Pointer)
            && let Some(existing) = &existing
            && let Some(error) = merge_values(existing, &value, overwrite, depth + 1, merged)?
        {
            return Ok(Some(error));
        }
        if kind == Kind::Slice && destination.element() != Type::Any {
            return Err(refuse_list(destination, existing.as_ref(), &value));
        }
        let gives_way = match &existing {
            Some(existing) if is_empty(existing) => true,
            Some(existing) if kind == Kind::Map && existing.kind() == Kind::Map => false,
            Some(_) => overwrite == Overwrite::Everything,
            None => true,
        };
        if gives_way {
            put(destination, source, key, value)?;
        }
    }
    Ok(None)
}

/// Merges a map, struct or pointer into what is there already; only maps can change.
fn merge_values(
    existing: &Value,
    value: &Value,
    overwrite: Overwrite,
    depth: usize,
    merged: &mut Merged,
) -> Result<Option<&'static str>, Failure> {
    match (existing, value) {
        (Value::Map(existing), Value::Map(value)) => {
            // Merging the same two a second time changes nothing; maps that hold one map many times would take for ever.
            let pair = (existing.identity(), value.identity());
            if merged.contains(&pair) {
                return Ok(None);
            }
            let outcome = nested(depth, || merge_maps(existing, value, overwrite, depth, merged))?;
            merged.insert(pair);
            return Ok(outcome);
        }
        (Value::Object(existing), _) => match (existing.kind(), value.kind()) {
            (Kind::Struct, Kind::Map | Kind::Pointer) if !existing.fields().is_empty() => {
                let kind = if value.kind() == Kind::Map { "map" } else { "ptr" };
                return Err(Failure::Message(format!(
                    "reflect: call of reflect.Value.Field on {kind} Value"
                )));
            }
            (Kind::Pointer, Kind::Map | Kind::Struct) if overwrite == Overwrite::Empty && !value.is_nil() => {
                let pointed_at = existing.type_name().strip_prefix('*').unwrap_or_default();
                if value.type_name() != pointed_at {
                    return Ok(Some("src and dst must be of same type"));
                }
            }
            _ => {}
        },
        _ => {}
    }
    Ok(None)
}

/// Sets an entry; a map with typed values takes none of another type.
fn put(destination: &Map, source: &Map, key: gotemplate::Text, value: Value) -> Result<(), Failure> {
    let (into, from) = (destination.element(), source.element());
    if into != Type::Any && into != from {
        return Err(Failure::Message(format!(
            "reflect.Value.SetMapIndex: value of type {from} is not assignable to type {into}"
        )));
    }
    destination.insert(key, value);
    Ok(())
}

/// Returns the panic of putting a list among typed values.
fn refuse_list(destination: &Map, existing: Option<&Value>, list: &Value) -> Failure {
    Failure::Message(match existing {
        Some(existing) => format!(
            "reflect: call of reflect.Value.IsNil on {} Value",
            existing.kind().name()
        ),
        None => format!(
            "reflect.Value.SetMapIndex: value of type {} is not assignable to type {}",
            list.type_name(),
            destination.element()
        ),
    })
}

/// Returns whether the library takes a value for empty; complex numbers never are.
fn is_empty(value: &Value) -> bool {
    !matches!(value, Value::Complex(..)) && !value.truth()
}

#[cfg(test)]
mod tests {
    use crate::functions::testing::{check, complaint};

    #[test]
    fn maps_merge_as_in_mergo() {
        check(&[
            (
                r#"{{ merge (dict "a" (split "," "a,b")) (dict "a" (dict "_0" "x" "c" 1)) | toJson }}"#,
                Err("reflect.Value.SetMapIndex: value of type interface {} is not assignable to type string"),
            ),
            (
                r#"{{ merge (dict "a" (split "," "a,b")) (dict "a" (dict "_0" "x")) | toJson }}"#,
                Ok(r#"{"a":{"_0":"a","_1":"b"}}"#),
            ),
            (
                r#"{{ merge (dict "a" (split "," "a,b")) (dict "a" (split "," "x,y,z")) | toJson }}"#,
                Ok(r#"{"a":{"_0":"a","_1":"b","_2":"z"}}"#),
            ),
            (
                r#"{{ merge (dict "a" (dict "_0" 1)) (dict "a" (split "," "x,y,z")) | toJson }}"#,
                Ok(r#"{"a":{"_0":1,"_1":"y","_2":"z"}}"#),
            ),
            (
                r#"{{ mergeOverwrite (dict "a" (split "," "a,b")) (dict "a" (dict "_0" nil)) | toJson }}"#,
                Err("reflect.Value.SetMapIndex: value of type interface {} is not assignable to type string"),
            ),
            (
                r#"{{ mergeOverwrite (dict "a" 1 "b" (list 1) "c" (dict "x" 1) "d" "s") (dict "a" nil "b" (list) "c" (dict) "d" "") | toJson }}"#,
                Ok(r#"{"a":null,"b":[],"c":{"x":1},"d":""}"#),
            ),
            (
                r#"{{ merge (dict "a" 0 "b" (list) "c" (dict) "d" "" "e" false "f" nil) (dict "a" 1 "b" (list 1) "c" (dict "x" 1) "d" "s" "e" true "f" 2) | toJson }}"#,
                Ok(r#"{"a":1,"b":[1],"c":{"x":1},"d":"s","e":true,"f":2}"#),
            ),
            (
                r#"{{ merge (dict "a" (dict "x" 1)) (dict "a" "str") | toJson }}"#,
                Ok(r#"{"a":{"x":1}}"#),
            ),
            (
                r#"{{ merge (dict "a" "str") (dict "a" (dict "x" 1)) | toJson }}"#,
                Ok(r#"{"a":"str"}"#),
            ),
            (
                r#"{{ merge (dict "a" "") (dict "a" (dict "x" 1)) | toJson }}"#,
                Ok(r#"{"a":{"x":1}}"#),
            ),
            (
                r#"{{ mergeOverwrite (dict "a" (dict "x" 1)) (dict "a" "str") | toJson }}"#,
                Ok(r#"{"a":"str"}"#),
            ),
            (
                r#"{{ mergeOverwrite (dict "a" "str") (dict "a" (dict "x" 1)) | toJson }}"#,
                Ok(r#"{"a":{"x":1}}"#),
            ),
            (
                r#"{{ mergeOverwrite (dict "a" (list 1)) (dict "a" (dict "x" 1)) | toJson }}"#,
                Ok(r#"{"a":{"x":1}}"#),
            ),
            (
                r#"{{ mergeOverwrite (dict "a" (dict "x" 1)) (dict "a" (list 1)) | toJson }}"#,
                Ok(r#"{"a":[1]}"#),
            ),
            (
                r#"{{ merge (dict "a" (dict "x" 1)) (dict "a" (list 1)) | toJson }}"#,
                Ok(r#"{"a":{"x":1}}"#),
            ),
            (
                r#"{{ merge (dict "a" "s") (dict "a" (list 1)) | toJson }}"#,
                Ok(r#"{"a":"s"}"#),
            ),
            (
                r#"{{ merge (dict) (dict "a" (list)) | toJson }}"#,
                Ok(r#"{"a":[]}"#),
            ),
            (
                r#"{{ merge (dict "b" 1) (dict "a" (list)) | toJson }}"#,
                Ok(r#"{"a":[],"b":1}"#),
            ),
            (
                r#"{{ merge (dict "b" 1) (dict "a" nil) | toJson }}"#,
                Ok(r#"{"b":1}"#),
            ),
            (
                r#"{{ mergeOverwrite (dict "b" 1) (dict "a" nil) | toJson }}"#,
                Ok(r#"{"a":null,"b":1}"#),
            ),
            (
                r#"{{ mergeOverwrite (dict "b" (dict "c" 1 "d" 2)) (dict "b" (dict "c" nil "e" nil)) | toJson }}"#,
                Ok(r#"{"b":{"c":null,"d":2,"e":null}}"#),
            ),
            (
                r#"{{ $d := dict "x" 1 }}{{ $m := merge (dict) (dict "a" $d) }}{{ $_ := set $d "y" 2 }}{{ $m | toJson }}"#,
                Ok(r#"{"a":{"x":1,"y":2}}"#),
            ),
            (
                r#"{{ $old := dict }}{{ $d := dict "a" $old }}{{ $_ := merge $d (dict "a" (dict "x" 1)) }}{{ $old | toJson }}{{ $d | toJson }}{{ $_ := set $old "q" 1 }}{{ $d | toJson }}"#,
                Ok(r#"{"x":1}{"a":{"x":1}}{"a":{"q":1,"x":1}}"#),
            ),
            (
                r#"{{ $d := dict "a" (dict "x" 1) }}{{ merge $d $d | toJson }}"#,
                Ok(r#"{"a":{"x":1}}"#),
            ),
            (
                r#"{{ merge nil (dict "a" 1) | toJson }}{{ merge nil nil | typeOf }}{{ merge nil | typeOf }}"#,
                Ok(r#"{"a":1}map[string]interface {}map[string]interface {}"#),
            ),
            (
                r#"{{ merge (dict "a" 1) nil (dict "b" 2) | toJson }}"#,
                Ok(r#"{"a":1,"b":2}"#),
            ),
            (
                r#"{{ mergeOverwrite (dict "a" (dict "x" 1)) (dict "a" (rest (list))) | toJson }}"#,
                Ok(r#"{"a":null}"#),
            ),
            (
                r#"{{ mergeOverwrite (dict "a" (dict "x" 1)) (dict "a" (unset nil "x")) | toJson }}"#,
                Ok(r#"{"a":{"x":1}}"#),
            ),
            (
                r#"{{ merge (dict "a" (unset nil "x")) (dict "a" (dict "x" 1)) | toJson }}"#,
                Ok(r#"{"a":{"x":1}}"#),
            ),
            (
                r#"{{ mergeOverwrite (dict "a" (split "," "x")) (dict "a" (dict "_0" (list 1))) | toJson }}"#,
                Err("reflect: call of reflect.Value.IsNil on string Value"),
            ),
            (
                r#"{{ mergeOverwrite (dict "a" (dict "_0" "s")) (dict "a" (dict "_0" (list 1))) | toJson }}"#,
                Ok(r#"{"a":{"_0":[1]}}"#),
            ),
        ]);
    }

    #[test]
    fn maps_within_themselves_are_refused() {
        let complaint = complaint(concat!(
            r#"{{ $a := dict }}{{ $_ := set $a "x" $a }}{{ $b := dict }}{{ $_ := set $b "x" $b }}"#,
            "{{ merge $a $b }}"
        ));
        assert_eq!(complaint, "value is nested deeper than 1000 levels");
    }
}
