//! What the library says about each rule that a value breaks.

use gotemplate::format::quoted;

use super::english::{count, float, integer};
use super::json::Json;
use crate::schema::number::Decimal;

pub(super) const GROUP: &str = "validation failed";
pub(super) const REFERENCE: &str = "validation failed";
pub(super) const FALSE_SCHEMA: &str = "false schema";
pub(super) const NOT: &str = "'not' failed";
pub(super) const ALL_OF: &str = "'allOf' failed";
pub(super) const ANY_OF: &str = "'anyOf' failed";
pub(super) const NONE_OF: &str = "'oneOf' failed, none matched";
pub(super) const CONTAINS: &str = "no items match contains schema";

/// Text between single quotes, with the escapes of Go.
pub(super) fn quote(text: &str) -> String {
    let literal = quoted(text);
    // The library does so with the quotes still around it, to which a backslash at the end is lost.
    let literal = literal.replace("\\\"", "\"").replace('\'', "\\'");
    format!("'{}'", &literal[1..literal.len() - 1])
}

fn quote_all(texts: &[&str]) -> String {
    let quoted: Vec<String> = texts.iter().map(|text| quote(text)).collect();
    quoted.join(", ")
}

/// A value that a schema names.
fn display(value: &Json) -> String {
    match value {
        Json::Null => "<nil>".to_owned(),
        Json::Bool(flag) => flag.to_string(),
        Json::Number(numeral) => numeral.text.clone(),
        Json::String(text) => quote(text),
        Json::Array(_) | Json::Object(_) => "value".to_owned(),
    }
}

fn is_collection(value: &Json) -> bool {
    matches!(value, Json::Array(_) | Json::Object(_))
}

pub(super) fn one_of_several(first: usize, second: usize) -> String {
    format!(
        "'oneOf' failed, subschemas {}, {} matched",
        count(first),
        count(second)
    )
}

pub(super) fn cycle(first: &str, second: &str, url: &str) -> String {
    format!(
        "both {first} and {second} resolve to {} causing reference cycle",
        quoted(url)
    )
}

pub(super) fn wrong_type(got: &str, want: &[&str]) -> String {
    format!("got {got}, want {}", want.join(" or "))
}

pub(super) fn constant(want: &Json) -> String {
    if is_collection(want) {
        "'const' failed".to_owned()
    } else {
        format!("value must be {}", display(want))
    }
}

pub(super) fn enumeration(want: &[Json]) -> String {
    if want.iter().any(is_collection) {
        return "'enum' failed".to_owned();
    }
    let shown: Vec<String> = want.iter().map(display).collect();
    match shown.as_slice() {
        [one] => format!("value must be {one}"),
        several => format!("value must be one of {}", several.join(", ")),
    }
}

pub(super) fn format(got: &str, name: &str, error: &str) -> String {
    format!("{} is not valid {name}: {error}", quote(got))
}

pub(super) fn missing(names: &[&str]) -> String {
    match names {
        [one] => format!("missing property {}", quote(one)),
        several => format!("missing properties {}", quote_all(several)),
    }
}

pub(super) fn dependency(property: &str, missing: &[&str]) -> String {
    format!(
        "properties {} required, if {} exists",
        quote_all(missing),
        quote(property)
    )
}

pub(super) fn additional_properties(names: &[&str]) -> String {
    format!("additional properties {} not allowed", quote_all(names))
}

pub(super) fn property_name(name: &str) -> String {
    format!("invalid propertyName {}", quote(name))
}

pub(super) fn additional_items(number: usize) -> String {
    format!("last {} additionalItem(s) not allowed", count(number))
}

pub(super) fn equal_items(first: usize, second: usize) -> String {
    format!("items at {} and {} are equal", count(first), count(second))
}

fn plain_list(indices: &[usize]) -> String {
    let indices: Vec<String> = indices.iter().map(usize::to_string).collect();
    indices.join(" ")
}

fn matched(indices: &[usize]) -> String {
    format!(
        "matched {} items at {}",
        count(indices.len()),
        plain_list(indices)
    )
}

pub(super) fn min_contains(got: &[usize], want: i64) -> String {
    let got = if got.is_empty() {
        "none matched".to_owned()
    } else {
        matched(got)
    };
    format!(
        "min {} items required to match contains schema, but {got}",
        integer(want)
    )
}

pub(super) fn max_contains(got: &[usize], want: i64) -> String {
    format!(
        "max {} items required to match contains schema, but {}",
        integer(want),
        matched(got)
    )
}

pub(super) fn pattern(got: &str, want: &str) -> String {
    format!("{} does not match pattern {}", quote(got), quote(want))
}

/// What is said about a size: of a text, a list or a table.
pub(super) fn size(keyword: &str, got: usize, want: i64) -> String {
    format!("{keyword}: got {}, want {}", count(got), integer(want))
}

/// What is said about a number beyond a bound, or between multiples.
pub(super) fn number(keyword: &str, got: &Decimal, want: &Decimal) -> String {
    format!(
        "{keyword}: got {}, want {}",
        float(got.to_float()),
        float(want.to_float())
    )
}
