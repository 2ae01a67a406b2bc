//! Checks of one value by itself: its type, its text, how much there is of it, and whether it is one of those allowed.

use std::collections::HashSet;

use goyaml::json::{self, Escape};
use serde_json::Value;

use super::outcome::{Outcome, Path};
use crate::field_error::shown;
use crate::structural::{Demands, formats};
use crate::{Schema, Type};

/// Returns a value as `json.Marshal` writes it.
pub(super) fn json(value: &Value) -> String {
    // Every JSON value has a JSON form.
    json::to_string(value, Escape::Html).unwrap_or_default()
}

/// Returns the format if it is one that is enforced on values of the schema's type, else nothing.
pub(super) fn kept_format(schema: &Schema) -> &str {
    let Some(format) = schema.format.as_deref() else {
        return "";
    };
    let is_kept = match schema.value_type {
        Type::Any | Type::String | Type::IntegerOrString => formats::check(format).is_some(),
        Type::Integer => matches!(format, "int32" | "int64"),
        Type::Number => matches!(format, "float" | "double"),
        Type::Object | Type::Array | Type::Boolean => false,
    };
    if is_kept { format } else { "" }
}

/// Returns whether a number with a fraction stands for a whole one, with the tolerance of upstream.
pub(super) fn is_whole(number: f64) -> bool {
    /// The largest whole number up to which each has its own float.
    const LIMIT: f64 = 9_007_199_254_740_991.0;
    const TOLERANCE: f64 = 1e-9;
    if !number.is_finite() || number.abs() > LIMIT {
        return false;
    }
    if number == number.trunc() {
        return true;
    }
    // Upstream compares with the number cut off, and a negative one is cut off to an enormous one.
    let cut = number.trunc();
    if number < 0.0 || cut == 0.0 {
        return false;
    }
    (number - cut) / (number + cut) < TOLERANCE
}

fn expected(value_type: Type) -> &'static str {
    match value_type {
        Type::Any => "",
        Type::Object => "object",
        Type::Array => "array",
        Type::String => "string",
        Type::Integer => "integer",
        Type::Number => "number",
        Type::Boolean => "boolean",
        Type::IntegerOrString => "integer,string",
    }
}

/// The type and the format that a value has by itself.
fn given(value: &Value) -> (Type, &'static str, &'static str) {
    match value {
        Value::Null => (Type::Any, "null", ""),
        Value::Bool(_) => (Type::Boolean, "boolean", ""),
        Value::Number(number) if number.is_i64() => (Type::Integer, "integer", "int64"),
        Value::Number(_) => (Type::Number, "number", "float64"),
        Value::String(_) => (Type::String, "string", ""),
        Value::Array(_) => (Type::Array, "array", ""),
        Value::Object(_) => (Type::Object, "object", ""),
    }
}

/// Checks the type. Of text and lists with a format only the format is asked, if even that.
pub(super) fn check_type(
    schema: &Schema,
    format: &str,
    value: &Value,
    path: &Path<'_>,
    outcome: &mut Outcome<'_>,
) {
    let wanted = schema.value_type;
    let (given_type, given_name, given_format) = given(value);
    if value.is_null() {
        if wanted != Type::Any && !schema.nullable {
            outcome.wrong_type(path, expected(wanted), "null");
        } else {
            outcome.count();
        }
        return;
    }
    let takes_integer = matches!(wanted, Type::Integer | Type::IntegerOrString);
    let fits = wanted == given_type
        || match given_type {
            Type::Integer => matches!(wanted, Type::IntegerOrString | Type::Number),
            Type::String => wanted == Type::IntegerOrString,
            Type::Number => takes_integer && value.as_f64().is_some_and(is_whole),
            _ => false,
        };
    let is_text_or_list = matches!(given_type, Type::String | Type::Array);
    if !format.is_empty() && !is_text_or_list && !fits && format != given_format {
        outcome.wrong_type(path, format, given_format);
    } else if !format.is_empty() && is_text_or_list && !takes_integer && wanted != Type::Number || fits {
        outcome.count();
    } else {
        outcome.wrong_type(path, expected(wanted), given_name);
    }
}

/// Checks the length of text and its pattern. The first that fails is all that is said.
pub(super) fn check_text(schema: &Schema, text: &str, path: &Path<'_>, outcome: &mut Outcome<'_>) {
    let Some(demands) = &schema.demands else { return };
    if demands.max_length.is_some() || demands.min_length.is_some() {
        let length = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
        if let Some(limit) = demands.max_length.filter(|limit| length > *limit) {
            outcome.too_long(path, limit);
            return;
        }
        if let Some(limit) = demands.min_length.filter(|limit| length < *limit) {
            outcome.invalid(
                path,
                || shown(&text.into()),
                || format!("should be at least {limit} chars long"),
            );
            return;
        }
    }
    let Some(pattern) = &demands.pattern else { return };
    match pattern.is_match(text) {
        Ok(true) => {}
        Ok(false) => outcome.invalid(
            path,
            || shown(&text.into()),
            || format!("should match '{}'", pattern.as_str()),
        ),
        Err(error) => outcome.invalid(
            path,
            || shown(&text.into()),
            || {
                format!(
                    "should match '{}, but pattern is invalid: {error}'",
                    pattern.as_str()
                )
            },
        ),
    }
}

/// Checks the format of text; returns whether there was anything to check.
pub(super) fn check_format(format: &str, text: &str, path: &Path<'_>, outcome: &mut Outcome<'_>) -> bool {
    let Some(check) = formats::check(format) else {
        return false;
    };
    if !check(text) {
        outcome.wrong_type(path, format, text);
    }
    true
}

/// Checks how many items a list has, and whether they differ.
pub(super) fn check_size(demands: &Demands, items: &[Value], path: &Path<'_>, outcome: &mut Outcome<'_>) {
    let size = i64::try_from(items.len()).unwrap_or(i64::MAX);
    if let Some(limit) = demands.min_items.filter(|limit| size < *limit) {
        outcome.invalid(
            path,
            || size.to_string(),
            || format!("should have at least {limit} items"),
        );
    }
    if let Some(limit) = demands.max_items.filter(|limit| size > *limit) {
        outcome.too_many(path, items.len(), limit, "items");
    }
    if demands.unique_items {
        let mut seen = HashSet::with_capacity(items.len());
        if !items.iter().all(|item| seen.insert(item.to_string())) {
            outcome.invalid(
                path,
                || "\"\"".to_owned(),
                || "shouldn't contain duplicates".to_owned(),
            );
        }
    }
}

/// Checks how many fields an object has.
pub(super) fn check_field_count(demands: &Demands, count: usize, path: &Path<'_>, outcome: &mut Outcome<'_>) {
    let size = i64::try_from(count).unwrap_or(i64::MAX);
    if let Some(limit) = demands.min_properties.filter(|limit| size < *limit) {
        outcome.invalid(
            path,
            || size.to_string(),
            || format!("should have at least {limit} properties"),
        );
    }
    if let Some(limit) = demands.max_properties.filter(|limit| size > *limit) {
        outcome.too_many(path, count, limit, "properties");
    }
}

/// Checks whether a value is one of those allowed. Null never is, even where it is listed.
pub(super) fn check_enumeration(schema: &Schema, value: &Value, path: &Path<'_>, outcome: &mut Outcome<'_>) {
    let Some(demands) = &schema.demands else { return };
    let allowed = &demands.enumeration;
    if !allowed.is_empty() && !allowed.iter().any(|one| converts_to(value, one)) {
        outcome.not_supported(path, value, allowed);
    }
}

/// Returns whether a value is another one once it is converted to its type as Go converts: numbers are cut off, and
/// a whole number becomes the character that it counts.
fn converts_to(value: &Value, wanted: &Value) -> bool {
    if value.is_null() {
        return false;
    }
    match (value, wanted) {
        (Value::Number(value), Value::Number(wanted)) => match (value.as_i64(), wanted.as_i64()) {
            (Some(value), Some(wanted)) => value == wanted,
            #[expect(
                clippy::cast_precision_loss,
                reason = "this is the loss that Go's conversion has"
            )]
            (Some(value), None) => wanted.as_f64() == Some(value as f64),
            (None, Some(wanted)) => value.as_f64().map(super::number::cut_off) == Some(wanted),
            (None, None) => value.as_f64() == wanted.as_f64(),
        },
        (Value::Number(value), Value::String(wanted)) => value.as_i64().is_some_and(|code| {
            let character = u32::try_from(code).ok().and_then(char::from_u32);
            let mut characters = wanted.chars();
            characters.next() == Some(character.unwrap_or(char::REPLACEMENT_CHARACTER))
                && characters.next().is_none()
        }),
        _ => value == wanted,
    }
}
