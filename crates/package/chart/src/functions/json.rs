//! JSON to and from values: Helm's functions, which swallow errors, and Sprig's, some of which do not.

use gotemplate::{Call, Failure, Function, Type, Value};
use goyaml::json::{self, Escape};

use super::generic::{Generic, LIST_TYPE, MAP_TYPE, error_list, error_map, mismatch};
use super::limits;
use crate::document::VALUES;

pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("toJson", &[Type::Any], |call| or_nothing(to_json(call))).heavy(),
    Function::new("mustToJson", &[Type::Any], to_json).heavy(),
    Function::new("toPrettyJson", &[Type::Any], |call| {
        or_nothing(to_pretty_json(call))
    })
    .heavy(),
    Function::new("mustToPrettyJson", &[Type::Any], to_pretty_json).heavy(),
    // Sprig panics where this one fails, which ends up as the same error.
    Function::new("toRawJson", &[Type::Any], to_raw_json).heavy(),
    Function::new("mustToRawJson", &[Type::Any], to_raw_json).heavy(),
    Function::new("mustFromJson", &[Type::String], |call| Ok(read(&call.text(0))?)).heavy(),
    Function::new("fromJson", &[Type::String], |call| {
        Ok(match read(&call.text(0)) {
            Ok(map @ Value::Map(_)) => map,
            Ok(Value::Nil) => Value::TypedNil(Type::Map),
            Ok(other) => error_map(mismatch(&other, MAP_TYPE)),
            Err(error) => error_map(error),
        })
    })
    .heavy(),
    Function::new("fromJsonArray", &[Type::String], |call| {
        Ok(match read(&call.text(0)) {
            Ok(list @ Value::List(_)) => list,
            Ok(Value::Nil) => Value::TypedNil(Type::List),
            Ok(other) => error_list(mismatch(&other, LIST_TYPE)),
            Err(error) => error_list(error),
        })
    })
    .heavy(),
];

fn written(result: Result<String, goyaml::Error>) -> Result<Value, Failure> {
    let text = result.map_err(|error| error.to_string())?;
    limits::text(text.into_bytes())
}

fn or_nothing(result: Result<Value, Failure>) -> Result<Value, Failure> {
    Ok(result.unwrap_or_else(|_| Value::string("")))
}

fn to_json(call: &mut Call<'_, '_>) -> Result<Value, Failure> {
    written(json::to_string(&call.take(0), Escape::Html))
}

fn to_pretty_json(call: &mut Call<'_, '_>) -> Result<Value, Failure> {
    written(json::to_string_pretty(&call.take(0), "  ", Escape::Html))
}

fn to_raw_json(call: &mut Call<'_, '_>) -> Result<Value, Failure> {
    written(json::to_string(&call.take(0), Escape::None))
}

fn read(text: &[u8]) -> Result<Value, String> {
    json::from_slice(text, VALUES)
        .map(|Generic(value)| value)
        .map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use crate::functions::testing::check;

    #[test]
    fn json_is_read_and_written_as_in_helm() {
        check(&[
            (
                r#"{{ fromJson "" | toJson }}{{ fromJson "null" | toJson }}{{ fromJson "{\"a\":1e3}" | toJson }}{{ fromJson "[1]" | toJson }}{{ fromJson "\"x\"" | toJson }}{{ fromJson "1" | toJson }}{{ fromJson "{" | toJson }}{{ fromJson "{\"a\":1}x" | toJson }}{{ fromJson "nul" | toJson }}"#,
                Ok(
                    r#"{"Error":"unexpected end of JSON input"}null{"a":1000}{"Error":"json: cannot unmarshal array into Go value of type map[string]interface {}"}{"Error":"json: cannot unmarshal string into Go value of type map[string]interface {}"}{"Error":"json: cannot unmarshal number into Go value of type map[string]interface {}"}{"Error":"unexpected end of JSON input"}{"Error":"invalid character 'x' after top-level value"}{"Error":"invalid character ' ' in literal null (expecting 'l')"}"#,
                ),
            ),
            (
                r#"{{ fromJsonArray "" | toJson }}{{ fromJsonArray "null" | toJson }}{{ fromJsonArray "[1,{\"a\":[]}]" | toJson }}{{ fromJsonArray "{}" | toJson }}{{ fromJsonArray "x" | toJson }}"#,
                Ok(
                    r#"["unexpected end of JSON input"]null[1,{"a":[]}]["json: cannot unmarshal object into Go value of type []interface {}"]["invalid character 'x' looking for beginning of value"]"#,
                ),
            ),
            (
                r#"{{ mustFromJson "[1]" }}{{ mustFromJson "null" }}{{ mustFromJson "\"a\"" }}{{ typeOf (mustFromJson "1") }}"#,
                Ok("[1]<no value>afloat64"),
            ),
            (
                r#"{{ mustFromJson "x" }}"#,
                Err("invalid character 'x' looking for beginning of value"),
            ),
            (r#"{{ mustFromJson "" }}"#, Err("unexpected end of JSON input")),
            (
                r#"{{ mustFromJson "{\"a\":1" }}"#,
                Err("unexpected end of JSON input"),
            ),
            (
                r#"{{ toJson nil }}{{ toJson "<a>&\u2028" }}{{ toRawJson "<a>&" }}{{ toPrettyJson (dict "a" (list 1 2) "b" (dict) "c" (list)) }}{{ mustToJson 1 }}{{ mustToPrettyJson 1 }}{{ mustToRawJson "<" }}"#,
                Ok(
                    "null\"\\u003ca\\u003e\\u0026\\u2028\"\"<a>&\"{\n  \"a\": [\n    1,\n    2\n  ],\n  \"b\": {},\n  \"c\": []\n}11\"<\"",
                ),
            ),
            ("{{ toJson (divf 1 0) }}", Err("decimal division by 0")),
            (
                r#"{{ mustToJson (float64 "NaN") }}"#,
                Err("json: unsupported value: NaN"),
            ),
            (
                r#"{{ toRawJson (float64 "NaN") }}"#,
                Err("json: unsupported value: NaN"),
            ),
            (
                r#"{{ mustToRawJson (float64 "-Inf") }}"#,
                Err("json: unsupported value: -Inf"),
            ),
            (
                r#"{{ mustToPrettyJson (float64 "-Inf") }}"#,
                Err("json: unsupported value: -Inf"),
            ),
            (r#"{{ toPrettyJson (float64 "-Inf") }}x"#, Ok("x")),
        ]);
    }
}
