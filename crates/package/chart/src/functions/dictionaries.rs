//! Maps: making, reading, changing them. Maps are shared, so a change is seen by everyone who holds the map.

use gotemplate::{Call, Failure, Function, Map, Type, Value};

use super::conversion::strval;

/// The functions of this file.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::variadic("dict", &[], Type::Any, dict).fixed(),
    Function::new("get", &[Type::Map, Type::String], |call| {
        Ok(call
            .map(0)
            .and_then(|map| map.get(&*call.text(1)))
            .unwrap_or_else(|| "".into()))
    })
    .fixed(),
    Function::new("set", &[Type::Map, Type::String, Type::Any], |call| {
        match call.map(0) {
            Some(map) => {
                map.insert(call.text(1), call.take(2));
                Ok(Value::Map(map.unnamed()))
            }
            None => Err("assignment to entry in nil map".into()),
        }
    })
    .fixed(),
    Function::new("unset", &[Type::Map, Type::String], |call| match call.map(0) {
        Some(map) => {
            map.remove(&*call.text(1));
            Ok(Value::Map(map.unnamed()))
        }
        None => Ok(Value::TypedNil(Type::Map)),
    })
    .fixed(),
    Function::new("hasKey", &[Type::Map, Type::String], |call| {
        Ok(Value::Bool(
            call.map(0).is_some_and(|map| map.contains_key(&*call.text(1))),
        ))
    })
    .fixed(),
    Function::variadic("pluck", &[Type::String], Type::Map, |call| {
        let key = call.text(0);
        Ok(Value::list(
            call.arguments
                .iter()
                .skip(1)
                .filter_map(|map| map.as_map()?.get(&*key))
                .collect(),
        ))
    })
    .fixed(),
    Function::variadic("keys", &[], Type::Map, |call| {
        let maps = call.arguments.iter().filter_map(Value::as_map);
        Ok(Value::strings(maps.flat_map(|map| {
            map.borrow().keys().cloned().collect::<Vec<_>>()
        })))
    }),
    Function::new("values", &[Type::Map], |call| {
        Ok(Value::list(call.map(0).map_or_else(Vec::new, |map| {
            map.borrow().values().cloned().collect()
        })))
    }),
    Function::variadic("pick", &[Type::Map], Type::String, |call| {
        Ok(Value::Map(pick(call)))
    })
    .fixed(),
    Function::variadic("omit", &[Type::Map], Type::String, omit),
    Function::variadic("dig", &[], Type::Any, dig).fixed(),
];

/// Pairs keys with values; a last key without one gets an empty text.
fn dict(call: &mut Call<'_, '_>) -> Result<Value, Failure> {
    let arguments = std::mem::take(&mut call.arguments);
    // Only keys are looked at.
    for key in arguments.iter().step_by(2) {
        call.charge_printing(key)?;
    }
    let entries = arguments.chunks(2).filter_map(|pair| match pair {
        [key, value] => Some((strval(key), value.clone())),
        [key] => Some((strval(key), "".into())),
        _ => None,
    });
    Ok(Value::Map(entries.collect()))
}

fn pick(call: &Call<'_, '_>) -> Map {
    let Some(map) = call.map(0) else { return Map::new() };
    let keys = call.arguments.iter().skip(1).filter_map(Value::as_text);
    keys.filter_map(|key| Some((key.clone(), map.get(&**key)?)))
        .collect()
}

fn omit(call: &mut Call<'_, '_>) -> Result<Value, Failure> {
    let Some(map) = call.map(0) else {
        return Ok(Value::Map(Map::new()));
    };
    call.charge_elements(map.len().saturating_mul(call.arguments.len()))?;
    let omitted: Vec<_> = call.arguments.iter().skip(1).filter_map(Value::as_text).collect();
    let entries = map.borrow();
    let kept = entries.iter().filter(|(key, _)| !omitted.contains(key));
    Ok(Value::Map(
        kept.map(|(key, value)| (key.clone(), value.clone())).collect(),
    ))
}

/// Follows keys into nested maps; the last two arguments are the default and the map.
fn dig(call: &mut Call<'_, '_>) -> Result<Value, Failure> {
    let [keys @ .., default, map] = call.arguments.as_slice() else {
        return Err("dig needs at least three arguments".into());
    };
    if keys.is_empty() {
        return Err("dig needs at least three arguments".into());
    }
    let mut step = map.clone();
    // All keys are looked at before the first step.
    plain_map(&step)?;
    for key in keys {
        if key.as_text().is_none() {
            return Err(conversion_panic(key, "string"));
        }
    }
    for key in keys.iter().filter_map(Value::as_text) {
        match plain_map(&step)?.and_then(|map| map.get(&**key)) {
            Some(value) => step = value,
            None => return Ok(default.clone()),
        }
    }
    Ok(step)
}

/// Returns a value as `map[string]interface {}`, which no other map type is; none for a nil map.
fn plain_map(value: &Value) -> Result<Option<Map>, Failure> {
    match value {
        Value::Map(map) if map.element() == Type::Any && map.named_type().is_none() => Ok(Some(map.clone())),
        Value::TypedNil(Type::Map) => Ok(None),
        _ => Err(conversion_panic(value, "map[string]interface {}")),
    }
}

fn conversion_panic(value: &Value, wanted: &str) -> Failure {
    let found = if matches!(value, Value::Nil) {
        "nil".to_owned()
    } else {
        value.type_name()
    };
    Failure::Message(format!(
        "interface conversion: interface {{}} is {found}, not {wanted}"
    ))
}

#[cfg(test)]
mod tests {
    use gotemplate::{Map, Value};

    use crate::context::VALUES;
    use crate::functions::testing::{check, render_with};

    #[test]
    fn maps_are_read_and_changed() {
        check(&[
            (
                r#"{{ dict "a" 1 "b" | toJson }}{{ dict 1 2 nil 3 true | toJson }}{{ dict | toJson }}"#,
                Ok(r#"{"a":1,"b":""}{"1":2,"\u003cnil\u003e":3,"true":""}{}"#),
            ),
            (
                r#"{{ get (dict "a" 1) "a" }}|{{ get (dict "a" 1) "b" }}|{{ get (dict "a" nil) "a" | typeOf }}|{{ get nil "a" | typeOf }}"#,
                Ok("1||<nil>|string"),
            ),
            (
                r#"{{ $d := dict }}{{ $e := set $d "a" 1 }}{{ $_ := unset $e "b" }}{{ $d }}"#,
                Ok("map[a:1]"),
            ),
            (r#"{{ set nil "a" 1 }}"#, Err("assignment to entry in nil map")),
            (r#"{{ unset nil "a" | typeOf }}"#, Ok("map[string]interface {}")),
            (
                r#"{{ hasKey (dict "a" nil) "a" }}{{ hasKey (dict) "a" }}{{ hasKey nil "a" }}"#,
                Ok("truefalsefalse"),
            ),
            (
                r#"{{ pluck "a" (dict "a" 1) (dict "b" 2) nil (dict "a" nil) | toJson }}"#,
                Ok("[1,null]"),
            ),
            (
                r#"{{ values (dict "a" 1) }}{{ values nil | toJson }}"#,
                Ok("[1][]"),
            ),
            (
                r#"{{ pick (dict "a" 1 "b" 2) "a" "c" }}{{ omit (dict "a" 1 "b" 2) "a" "c" }}{{ pick nil "a" }}{{ omit nil "a" | toJson }}"#,
                Ok("map[a:1]map[b:2]map[]{}"),
            ),
            (
                r#"{{ dig "a" "b" 0 (dict "a" (dict "b" 1)) }}{{ dig "a" "c" 0 (dict "a" (dict "b" 1)) }}{{ dig "x" "c" 0 (dict) }}"#,
                Ok("100"),
            ),
            (r#"{{ dig "a" nil (dict "a" nil) | typeOf }}"#, Ok("<nil>")),
            (
                r#"{{ dig "a" "b" 1 (dict "a" (split "," "x")) }}"#,
                Err("interface conversion: interface {} is map[string]string, not map[string]interface {}"),
            ),
            (
                r#"{{ dig "a" 1 nil }}"#,
                Err("interface conversion: interface {} is nil, not map[string]interface {}"),
            ),
            (
                r#"{{ dig "a" 1 "x" }}"#,
                Err("interface conversion: interface {} is string, not map[string]interface {}"),
            ),
            (
                r#"{{ dig "a" "b" 1 (dict "a" (list)) }}"#,
                Err("interface conversion: interface {} is []interface {}, not map[string]interface {}"),
            ),
            (r#"{{ dig "a" 1 (unset nil "x") }}"#, Ok("1")),
            (
                r#"{{ dig "a" "x" "b" (dict "a" 1) }}"#,
                Err("interface conversion: interface {} is int, not map[string]interface {}"),
            ),
            (
                r#"{{ dig "a" "x" "b" (dict "a" nil) }}"#,
                Err("interface conversion: interface {} is nil, not map[string]interface {}"),
            ),
            (
                r#"{{ dig 1 "b" (dict "a" nil) }}"#,
                Err("interface conversion: interface {} is int, not string"),
            ),
            (
                r#"{{ dig "a" (dict "a" nil) }}"#,
                Err("dig needs at least three arguments"),
            ),
        ]);
    }

    #[test]
    fn a_named_map_loses_its_name_and_stays_the_same_map() {
        let values = Map::new();
        let data = Value::Map(values.named(&VALUES));
        let template = "{{ typeOf . }} {{ typeOf (set . \"a\" 1) }} {{ typeOf (unset . \"b\") }} {{ typeOf (merge . (dict)) }}";
        let plain = "map[string]interface {}";
        assert_eq!(
            render_with(template, data),
            Ok(format!("chartutil.Values {plain} {plain} {plain}"))
        );
        assert!(values.contains_key("a"));
    }
}
