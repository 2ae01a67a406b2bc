//! YAML to and from values; errors become part of the result, as in Helm.

use gotemplate::{Failure, Function, Type, Value};
use goyaml::{Numbers, ReadOptions};

use super::generic::{Generic, LIST_TYPE, MAP_TYPE, error_list, error_map, mismatch};
use super::limits;

pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("toYaml", &[Type::Any], |call| match goyaml::to_string(&call.take(0)) {
        Ok(text) => without_line_end(text),
        Err(_) => Ok(Value::string("")),
    }),
    // Helm has this one from 3.18 on.
    Function::new("mustToYaml", &[Type::Any], |call| {
        let text = goyaml::to_string(&call.take(0)).map_err(|error| error.in_sigs_words())?;
        without_line_end(text)
    }),
    Function::new("toYamlPretty", &[Type::Any], |call| {
        match goyaml::to_string_v3_indented(&call.take(0)) {
            Ok(text) => without_line_end(text),
            Err(_) => Ok(Value::string("")),
        }
    }),
    Function::new("fromYaml", &[Type::String], |call| {
        Ok(match read(&call.text(0)) {
            Ok(map @ Value::Map(_)) => map,
            Ok(Value::Nil) => Value::map::<_, &str>([]),
            Ok(other) => error_map(unmarshal_error(&other, MAP_TYPE)),
            Err(error) => error_map(error),
        })
    }),
    Function::new("fromYamlArray", &[Type::String], |call| {
        Ok(match read(&call.text(0)) {
            Ok(list @ Value::List(_)) => list,
            Ok(Value::Nil) => Value::list(Vec::new()),
            Ok(other) => error_list(unmarshal_error(&other, LIST_TYPE)),
            Err(error) => error_list(error),
        })
    }),
];

fn without_line_end(mut text: String) -> Result<Value, Failure> {
    if text.ends_with('\n') {
        text.pop();
    }
    limits::text(text.into_bytes())
}

fn read(text: &[u8]) -> Result<Value, String> {
    let options = ReadOptions { numbers: Numbers::Float64, ..ReadOptions::default() };
    goyaml::from_slice_with(text, options)
        .map(|Generic(value)| value)
        .map_err(|error| error.in_sigs_words())
}

fn unmarshal_error(value: &Value, wanted: &str) -> String {
    format!("error unmarshaling JSON: while decoding JSON: {}", mismatch(value, wanted))
}
