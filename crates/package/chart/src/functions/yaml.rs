//! YAML to and from values; errors become part of the result, as in Helm.

use gotemplate::{Failure, Function, Type, Value};

use super::generic::{Generic, LIST_TYPE, MAP_TYPE, error_list, error_map, mismatch};
use super::limits;
use super::yaml_direct::Direct;
use crate::document::VALUES;

pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("toYaml", &[Type::Any], |call| {
        match goyaml::to_string(&call.take(0)) {
            Ok(text) => without_line_end(text),
            Err(_) => Ok(Value::string("")),
        }
    })
    .heavy(),
    // Helm has this one from 3.18 on.
    Function::new("mustToYaml", &[Type::Any], |call| {
        let text = goyaml::to_string(&call.take(0)).map_err(|error| error.in_sigs_words())?;
        without_line_end(text)
    })
    .heavy(),
    Function::new(
        "toYamlPretty",
        &[Type::Any],
        |call| match goyaml::to_string_v3_indented(&Direct {
            value: &call.take(0),
            depth: 0,
        }) {
            Ok(text) => without_line_end(text),
            Err(_) => Ok(Value::string("")),
        },
    )
    .heavy(),
    Function::new("fromYaml", &[Type::String], |call| {
        Ok(match read(&call.text(0)) {
            Ok(map @ Value::Map(_)) => map,
            Ok(Value::Nil) => Value::map::<_, &str>([]),
            Ok(other) => error_map(unmarshal_error(&other, MAP_TYPE)),
            Err(error) => error_map(error),
        })
    })
    .heavy(),
    Function::new("fromYamlArray", &[Type::String], |call| {
        Ok(match read(&call.text(0)) {
            Ok(list @ Value::List(_)) => list,
            Ok(Value::Nil) => Value::list(Vec::new()),
            Ok(other) => error_list(unmarshal_error(&other, LIST_TYPE)),
            Err(error) => error_list(error),
        })
    })
    .heavy(),
];

fn without_line_end(mut text: String) -> Result<Value, Failure> {
    if text.ends_with('\n') {
        text.pop();
    }
    limits::text(text.into_bytes())
}

fn read(text: &[u8]) -> Result<Value, String> {
    goyaml::from_slice_with(text, VALUES)
        .map(|Generic(value)| value)
        .map_err(|error| error.in_sigs_words())
}

fn unmarshal_error(value: &Value, wanted: &str) -> String {
    format!(
        "error unmarshaling JSON: while decoding JSON: {}",
        mismatch(value, wanted)
    )
}

#[cfg(test)]
mod tests {
    use crate::functions::testing::check;

    #[test]
    fn yaml_is_read_and_written_as_in_helm() {
        check(&[
            (
                r#"{{ fromYaml "" | toJson }}{{ fromYaml "null" | toJson }}{{ fromYaml "a: 1" | toJson }}{{ fromYaml "[1]" | toJson }}{{ fromYaml "x" | toJson }}{{ fromYaml "1" | toJson }}{{ fromYaml "true" | toJson }}{{ fromYaml "a: [" | toJson }}{{ fromYaml "a: b: c" | toJson }}"#,
                Ok(
                    r#"{}{}{"a":1}{"Error":"error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go value of type map[string]interface {}"}{"Error":"error unmarshaling JSON: while decoding JSON: json: cannot unmarshal string into Go value of type map[string]interface {}"}{"Error":"error unmarshaling JSON: while decoding JSON: json: cannot unmarshal number into Go value of type map[string]interface {}"}{"Error":"error unmarshaling JSON: while decoding JSON: json: cannot unmarshal bool into Go value of type map[string]interface {}"}{"Error":"error converting YAML to JSON: yaml: line 1: did not find expected node content"}{"Error":"error converting YAML to JSON: yaml: mapping values are not allowed in this context"}"#,
                ),
            ),
            (
                r#"{{ fromYamlArray "" | toJson }}{{ fromYamlArray "[1,a,null]" | toJson }}{{ fromYamlArray "a: 1" | toJson }}{{ fromYamlArray "x" | toJson }}{{ fromYamlArray "- [" | toJson }}"#,
                Ok(
                    r#"[][1,"a",null]["error unmarshaling JSON: while decoding JSON: json: cannot unmarshal object into Go value of type []interface {}"]["error unmarshaling JSON: while decoding JSON: json: cannot unmarshal string into Go value of type []interface {}"]["error converting YAML to JSON: yaml: line 1: did not find expected node content"]"#,
                ),
            ),
            (
                r#"{{ fromYaml "a: 12345678901234567890\nb: 0x1F\nc: 1e3\nd: 010\ne: .5\nf: 1_000\ng: 2024-01-01\nh: yes\ni: ~\nj: !!str 1\n1: x\ntrue: y\n1.5: z" | toJson }}"#,
                Ok(
                    r#"{"1":"x","1.5":"z","a":12345678901234567000,"b":31,"c":1000,"d":8,"e":0.5,"f":1000,"g":"2024-01-01","h":true,"i":null,"j":"1","true":true}"#,
                ),
            ),
            (
                r#"{{ typeOf (fromYaml "a: 1").a }}{{ typeOf (fromYaml "a: 1") }}{{ typeOf (fromYamlArray "[1]") }}{{ typeOf (fromJsonArray "null") }}{{ typeOf (fromYaml "a: [1]").a }}{{ typeOf (fromYaml "a: {b: 1}").a }}{{ typeOf (fromYaml "a:").a }}"#,
                Ok(
                    "float64map[string]interface {}[]interface {}[]interface {}[]interface {}map[string]interface {}<nil>",
                ),
            ),
            (
                r#"{{ toYaml nil }}{{ toYaml "a: b" }}{{ toYaml (dict "b" 1 "a" (list 1 (dict "x" nil)) "c" "yes" "d" "1" "e" "") }}{{ toYaml (list) }}{{ toYaml (dict) }}{{ toYaml 1.5 }}{{ toYaml (semver "1.2") }}"#,
                Ok("null'a: b'a:\n- 1\n- x: null\nb: 1\nc: \"yes\"\nd: \"1\"\ne: \"\"[]{}1.51.2.0"),
            ),
            (
                r#"{{ toYamlPretty (dict "b" 1 "a" (list 1 (dict "x" nil)) "c" "yes" "d" "1" "e" "" "f" 1.0 "g" 1e21 "h" (list)) }}{{ toYamlPretty nil }}{{ toYamlPretty "x" }}"#,
                Ok("a:\n  - 1\n  - x: null\nb: 1\nc: \"yes\"\nd: \"1\"\ne: \"\"\nf: 1\ng: 1e+21\nh: []nullx"),
            ),
            (
                r#"{{ toYaml (dict "x" (divf 1 0)) }}x"#,
                Err("decimal division by 0"),
            ),
            (
                r#"{{ toYaml (mulf 1e308 10) }}x{{ toJson (float64 "+Inf") }}x{{ toYaml (float64 "NaN") }}x"#,
                Ok("xxx"),
            ),
            (
                r#"{{ toYamlPretty (float64 "-Inf") }}x{{ toYamlPretty (float64 "NaN") }}x"#,
                Ok("-.infx.nanx"),
            ),
            (
                r#"{{ toYamlPretty (dict "f" (float64 "+Inf") "g" 1e6 "h" 1e21 "i" 1.5 "j" 100000.0 "k" 1e20) }}"#,
                Ok("f: .inf\ng: 1e+06\nh: 1e+21\ni: 1.5\nj: 100000\nk: 1e+20"),
            ),
            (
                r#"{{ toYamlPretty (fromJson "null") }}{{ toYamlPretty (fromJsonArray "null") }}"#,
                Ok("{}[]"),
            ),
            (
                "{{ toYamlPretty (list (list 1 2) (list)) }}",
                Ok("- - 1\n  - 2\n- []"),
            ),
        ]);
    }
}
