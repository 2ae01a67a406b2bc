//! Semantic versions.

use std::cmp::Ordering;
use std::sync::Arc;

use version::Version;

use super::Function;
use crate::value::{Failure, Outcome, Value};

pub(super) fn overload(id: &str) -> Option<Function> {
    Some(match id {
        "string_to_semver" | "string_bool_to_semver" => {
            |arguments| Ok(Value::Semver(Arc::new(parse(arguments)?.map_err(Failure::new)?)))
        }
        "is_semver_string" | "is_semver_string_bool" => {
            |arguments| Ok(Value::Bool(parse(arguments)?.is_ok()))
        }
        "semver_is_greater_than" => |arguments| Ok(Value::Bool(compare(arguments)?.is_gt())),
        "semver_is_less_than" => |arguments| Ok(Value::Bool(compare(arguments)?.is_lt())),
        "semver_compare_to" => |arguments| Ok(Value::Int(compare(arguments)? as i64)),
        "semver_major" => |arguments| number(arguments, Version::major),
        "semver_minor" => |arguments| number(arguments, Version::minor),
        "semver_patch" => |arguments| number(arguments, Version::patch),
        _ => return None,
    })
}

fn compare(arguments: &[Value<'_>]) -> Result<Ordering, Failure> {
    match arguments {
        [Value::Semver(one), Value::Semver(other)] => Ok(one.precedence(other)),
        _ => Err(Failure::no_such_overload()),
    }
}

fn number<'a>(arguments: &[Value<'a>], read: fn(&Version) -> u64) -> Outcome<'a> {
    match arguments {
        [Value::Semver(version)] => Ok(Value::Int(read(version) as i64)),
        _ => Err(Failure::no_such_overload()),
    }
}

fn parse(arguments: &[Value<'_>]) -> Result<Result<Version, String>, Failure> {
    let (text, normalize) = match arguments {
        [Value::String(text)] => (text, false),
        [Value::String(text), Value::Bool(normalize)] => (text, *normalize),
        _ => return Err(Failure::no_such_overload()),
    };
    if !normalize {
        return Ok(Version::parse(text).map_err(|error| error.to_string()));
    }
    Ok(normalized(text).and_then(|text| Version::parse(&text).map_err(|error| error.to_string())))
}

/// Brings a version into shape: no `v` before it, three numbers, no needless zeros.
fn normalized(text: &str) -> Result<String, String> {
    let text = text.strip_prefix('v').unwrap_or(text);
    let mut parts: Vec<String> = text
        .splitn(3, '.')
        .map(|part| {
            if part.len() <= 1 {
                return part.to_owned();
            }
            let rest = part.trim_start_matches('0');
            let starts_with_digit = rest.starts_with(|first: char| first.is_ascii_digit());
            if starts_with_digit {
                rest.to_owned()
            } else {
                format!("0{rest}")
            }
        })
        .collect();
    if parts.len() < 3 && parts.last().is_some_and(|last| last.contains(['+', '-'])) {
        return Err("short version cannot contain PreRelease/Build meta data".to_owned());
    }
    while parts.len() < 3 {
        parts.push("0".to_owned());
    }
    Ok(parts.join("."))
}
