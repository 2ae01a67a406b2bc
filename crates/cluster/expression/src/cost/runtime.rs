//! What a call costs, from its arguments.

use super::{AUTHORIZATION, REGULAR, TEXT};
use crate::value::{Outcome, Value};

/// Returns what a call cost. A call with an argument that failed costs too.
pub(crate) fn call_cost(
    function: &str,
    overload: Option<&str>,
    arguments: &[Outcome<'_>],
    result: &Outcome<'_>,
) -> u64 {
    let size = |index: usize| arguments.get(index).map_or(1, actual_size);
    if let Some(cost) = tracked(overload, arguments, result) {
        return cost;
    }
    match function {
        "check" => return AUTHORIZATION,
        "serviceAccount"
        | "path"
        | "group"
        | "resource"
        | "subresource"
        | "namespace"
        | "name"
        | "allowed"
        | "reason"
        | "error"
        | "errored"
        | "masked"
        | "prefixLength"
        | "family"
        | "isUnspecified"
        | "isLoopback"
        | "isLinkLocalMulticast"
        | "isLinkLocalUnicast"
        | "isGlobalUnicast"
        | "format.named"
        | "sign"
        | "asInteger"
        | "isInteger"
        | "asApproximateFloat"
        | "isGreaterThan"
        | "isLessThan"
        | "compareTo"
        | "add"
        | "sub"
        | "major"
        | "minor"
        | "patch"
        | "getScheme"
        | "getHostname"
        | "getHost"
        | "getPort"
        | "getEscapedPath"
        | "getQuery" => return 1,
        "fieldSelector" | "labelSelector" if arguments.len() >= 2 => return selector(size(1)),
        "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => {
            return arguments
                .first()
                .map_or(0, |argument| argument.as_ref().map_or(1, traversal));
        }
        "url"
        | "lowerAscii"
        | "upperAscii"
        | "substring"
        | "trim"
        | "jsonpatch.escapeKey"
        | "cidr"
        | "isIP"
        | "isCIDR"
        | "quantity"
        | "isQuantity"
        | "semver"
        | "isSemver"
            if !arguments.is_empty() =>
        {
            return scaled(size(0), TEXT);
        }
        "ip" if !arguments.is_empty() => {
            return if overload == Some("cidr_ip") {
                1
            } else {
                scaled(size(0), TEXT)
            };
        }
        "replace" | "split" | "ip.isCanonical" if !arguments.is_empty() => {
            return scaled(size(0), 2.0 * TEXT);
        }
        "join" if !arguments.is_empty() => return scaled(actual_size(result), 2.0 * TEXT),
        "find" | "findAll" if arguments.len() >= 2 => return regular(size(0), size(1)),
        "containsIP" if arguments.len() >= 2 => {
            let parsed = if overload == Some("cidr_contains_ip_string") {
                scaled(size(1), TEXT)
            } else {
                0
            };
            return scaled(2 * size(0), TEXT) + parsed;
        }
        "containsCIDR" if arguments.len() >= 2 => {
            let parsed = if overload == Some("cidr_contains_cidr_string") {
                scaled(size(1), TEXT)
            } else {
                0
            };
            return scaled(2 * size(0), TEXT) + scaled(size(0), TEXT) + 1 + parsed;
        }
        "validate" => {
            if let Some(Ok(Value::Format(format))) = arguments.first() {
                return regular(size(1), format.expression_size);
            }
        }
        "_==_" => {
            if let Some(Ok(
                Value::Quantity { .. }
                | Value::Ip(_)
                | Value::Cidr { .. }
                | Value::Format(_)
                | Value::Url(_)
                | Value::Semver(_)
                | Value::Authorization(_),
            )) = arguments.first()
            {
                return 1;
            }
        }
        _ => {}
    }
    match overload.unwrap_or_default() {
        "starts_with_string" | "ends_with_string" | "string_to_bytes" | "bytes_to_string"
        | "strings_quote" | "string_format" => scaled(size(0), TEXT),
        "in_list" => size(1),
        "less_string"
        | "greater_string"
        | "less_equals_string"
        | "greater_equals_string"
        | "less_bytes"
        | "greater_bytes"
        | "less_equals_bytes"
        | "greater_equals_bytes"
        | "equals"
        | "not_equals" => scaled(size(0).min(size(1)), TEXT),
        "add_string" | "add_bytes" => scaled(size(0).saturating_add(size(1)), TEXT),
        "matches_string" => regular(size(0), size(1)),
        "contains_string" => scaled(size(0), TEXT).saturating_mul(scaled(size(1), TEXT)),
        _ => 1,
    }
}

/// The costs of functions on lists that grow faster than their arguments.
fn tracked(overload: Option<&str>, arguments: &[Outcome<'_>], result: &Outcome<'_>) -> Option<u64> {
    let size = |index: usize| arguments.get(index).map_or(1, actual_size);
    let made = |factor: f64, size: u64| (size as f64 * factor) as u64 + 1 + super::LIST;
    let compared = |index: usize| {
        let size = size(index);
        let texts = match arguments.get(index) {
            Some(Ok(Value::List(list))) => {
                matches!(list.get(0), Some(Ok(Value::String(_) | Value::Bytes(_))))
            }
            _ => false,
        };
        made(if texts { 2.0 + TEXT } else { 2.0 }, size.saturating_mul(size))
    };
    Some(match overload? {
        "list_sets_contains_list" | "list_sets_intersects_list" => 1 + size(0).saturating_mul(size(1)),
        "list_sets_equivalent_list" => 1 + 2 * size(0).saturating_mul(size(1)),
        "list_slice" | "lists_range" | "list_reverse" => made(1.0, actual_size(result)),
        "list_flatten" => made(1.0, size(0)),
        "list_flatten_int" => match arguments.get(1) {
            Some(Ok(Value::Int(depth))) => made(*depth as f64, size(0)),
            _ => made(1.0, size(0)),
        },
        "list_distinct" => compared(0),
        other if other.ends_with("_sort") && other.starts_with("list_") => compared(0),
        other if other.ends_with("_sortByAssociatedKeys") => compared(1),
        _ => return None,
    })
}

/// Multiplies a size with what each of its units costs, rounded up.
fn scaled(size: u64, factor: f64) -> u64 {
    (size as f64 * factor).ceil() as u64
}

fn regular(text: u64, expression: u64) -> u64 {
    // One is added so that an expensive expression on an empty text isn't free.
    let text = ((1.0 + text as f64) * TEXT).ceil() as u64;
    text.saturating_mul(scaled(expression, REGULAR))
}

fn selector(length: u64) -> u64 {
    let requirements = scaled(length, 0.5);
    super::LIST + scaled(length, TEXT) + requirements * (super::LIST + super::OBJECT)
}

/// Returns the size of a value; of a value without a size, one.
fn actual_size(value: &Outcome<'_>) -> u64 {
    fn of(value: &Value<'_>) -> u64 {
        match value {
            Value::Optional(Some(inner)) => of(inner),
            other => other.size().unwrap_or(1),
        }
    }
    value.as_ref().map_or(1, of)
}

/// Returns what going through a value with all its parts costs.
fn traversal(value: &Value<'_>) -> u64 {
    match value {
        Value::String(text) => (text.len() as f64 * TEXT) as u64,
        Value::Bytes(bytes) => (bytes.len() as f64 * TEXT) as u64,
        Value::List(list) => list
            .iter()
            .map(|item| item.map_or(1, |item| traversal(&item)))
            .sum(),
        Value::Map(map) => map
            .entries()
            .into_iter()
            .map(|(key, value)| traversal(&key) + value.map_or(1, |value| traversal(&value)))
            .sum(),
        _ => 1,
    }
}
