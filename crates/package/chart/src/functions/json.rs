//! JSON to and from values: Helm's functions, which swallow errors, and Sprig's, some of which do not.

use gotemplate::{Call, Failure, Function, Type, Value};
use goyaml::json::{self, Escape};
use goyaml::{Numbers, ReadOptions};

use super::generic::{Generic, LIST_TYPE, MAP_TYPE, error_list, error_map, mismatch};
use super::limits;

pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("toJson", &[Type::Any], |call| or_nothing(to_json(call))),
    Function::new("mustToJson", &[Type::Any], to_json),
    Function::new("toPrettyJson", &[Type::Any], |call| or_nothing(to_pretty_json(call))),
    Function::new("mustToPrettyJson", &[Type::Any], to_pretty_json),
    // Sprig panics where this one fails, which ends up as the same error.
    Function::new("toRawJson", &[Type::Any], to_raw_json),
    Function::new("mustToRawJson", &[Type::Any], to_raw_json),
    Function::new("mustFromJson", &[Type::String], |call| Ok(read(&call.text(0))?)),
    Function::new("fromJson", &[Type::String], |call| {
        Ok(match read(&call.text(0)) {
            Ok(map @ Value::Map(_)) => map,
            Ok(Value::Nil) => Value::TypedNil(Type::Map),
            Ok(other) => error_map(mismatch(&other, MAP_TYPE)),
            Err(error) => error_map(error),
        })
    }),
    Function::new("fromJsonArray", &[Type::String], |call| {
        Ok(match read(&call.text(0)) {
            Ok(list @ Value::List(_)) => list,
            Ok(Value::Nil) => Value::TypedNil(Type::List),
            Ok(other) => error_list(mismatch(&other, LIST_TYPE)),
            Err(error) => error_list(error),
        })
    }),
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
    let options = ReadOptions { numbers: Numbers::Float64, ..ReadOptions::default() };
    json::from_slice(text, options).map(|Generic(value)| value).map_err(|error| error.to_string())
}
