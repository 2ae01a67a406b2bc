//! Functions on text.

use super::Function;
use crate::value::{Failure, Outcome, Value};

pub(super) fn shared(function: &str) -> Option<Function> {
    Some(match function {
        "contains" => |arguments| test(arguments, |text, part| text.contains(part)),
        "startsWith" => |arguments| test(arguments, |text, part| text.starts_with(part)),
        "endsWith" => |arguments| test(arguments, |text, part| text.ends_with(part)),
        "size" => size,
        _ => return None,
    })
}

pub(super) fn overload(id: &str) -> Option<Function> {
    Some(match id {
        "string_char_at_int" => char_at,
        "string_index_of_string" | "string_index_of_string_int" => index_of,
        "string_last_index_of_string" | "string_last_index_of_string_int" => last_index_of,
        "string_lower_ascii" => |arguments| map(arguments, str::to_ascii_lowercase),
        "string_upper_ascii" => |arguments| map(arguments, str::to_ascii_uppercase),
        "string_trim" => |arguments| map(arguments, |text| trim(text).to_owned()),
        "string_replace_string_string" | "string_replace_string_string_int" => replace,
        "string_split_string" | "string_split_string_int" => split,
        "string_substring_int" | "string_substring_int_int" => substring,
        "strings_quote" => |arguments| map(arguments, quote),
        "list_join" | "list_join_string" => join,
        _ => return None,
    })
}

fn test<'a>(arguments: &[Value<'a>], holds: fn(&str, &str) -> bool) -> Outcome<'a> {
    match arguments {
        [Value::String(text), Value::String(part)] => Ok(Value::Bool(holds(text, part))),
        _ => Err(Failure::no_such_overload()),
    }
}

fn size<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    match arguments {
        [value @ (Value::String(_) | Value::Bytes(_) | Value::List(_) | Value::Map(_))] => {
            Ok(Value::Int(value.size().unwrap_or_default() as i64))
        }
        _ => Err(Failure::new("no such overload: size")),
    }
}

fn map<'a>(arguments: &[Value<'a>], change: fn(&str) -> String) -> Outcome<'a> {
    match arguments {
        [Value::String(text)] => Ok(Value::string(change(text))),
        _ => Err(Failure::no_such_overload()),
    }
}

/// Removes what Go calls space from both ends.
pub(crate) fn trim(text: &str) -> &str {
    text.trim_matches(|character: char| character.is_whitespace())
}

fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{b}' => quoted.push_str("\\v"),
            '\\' => quoted.push_str("\\\\"),
            '"' => quoted.push_str("\\\""),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

fn out_of_range(index: i64) -> Failure {
    Failure::new(format!("index out of range: {index}"))
}

fn char_at<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    let [Value::String(text), Value::Int(index)] = arguments else {
        return Err(Failure::no_such_overload());
    };
    let position = usize::try_from(*index).map_err(|_| out_of_range(*index))?;
    match text.chars().nth(position) {
        Some(character) => Ok(Value::string(character.to_string())),
        None if text.chars().count() == position => Ok(Value::string("")),
        None => Err(out_of_range(*index)),
    }
}

fn index_of<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    let (text, part, from) = match arguments {
        [Value::String(text), Value::String(part)] => (text, part, 0),
        [Value::String(text), Value::String(part), Value::Int(from)] => (text, part, *from),
        _ => return Err(Failure::no_such_overload()),
    };
    if part.is_empty() {
        return Ok(Value::Int(from));
    }
    let skipped = usize::try_from(from).map_err(|_| out_of_range(from))?;
    let Some((start, _)) = text.char_indices().nth(skipped) else {
        return Ok(Value::Int(-1));
    };
    let rest = text.get(start..).unwrap_or_default();
    Ok(Value::Int(match rest.find(&**part) {
        Some(found) => (skipped + rest.get(..found).unwrap_or_default().chars().count()) as i64,
        None => -1,
    }))
}

fn last_index_of<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    let (text, part, to) = match arguments {
        [Value::String(text), Value::String(part)] => (text, part, None),
        [Value::String(text), Value::String(part), Value::Int(to)] => (text, part, Some(*to)),
        _ => return Err(Failure::no_such_overload()),
    };
    let length = text.chars().count();
    if part.is_empty() {
        return Ok(Value::Int(to.unwrap_or(length as i64)));
    }
    if to.is_none() && text.len() < part.len() {
        return Ok(Value::Int(-1));
    }
    let to = to.unwrap_or(length as i64 - 1);
    let last = usize::try_from(to).map_err(|_| out_of_range(to))?;
    if last >= length {
        return Ok(Value::Int(-1));
    }
    // The match may begin at `last` at the latest, so what is searched ends a part's length behind it.
    let end = text
        .char_indices()
        .nth(last + part.chars().count())
        .map_or(text.len(), |(end, _)| end);
    let searched = text.get(..end).unwrap_or(text);
    Ok(Value::Int(match searched.rfind(&**part) {
        Some(found) => searched.get(..found).unwrap_or_default().chars().count() as i64,
        None => -1,
    }))
}

fn replace<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    let (text, old, new, limit) = match arguments {
        [Value::String(text), Value::String(old), Value::String(new)] => (text, old, new, -1),
        [
            Value::String(text),
            Value::String(old),
            Value::String(new),
            Value::Int(limit),
        ] => (text, old, new, *limit),
        _ => return Err(Failure::no_such_overload()),
    };
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    Ok(Value::string(text.replacen(&**old, new, limit)))
}

fn split<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    let (text, separator, limit) = match arguments {
        [Value::String(text), Value::String(separator)] => (text, separator, -1),
        [Value::String(text), Value::String(separator), Value::Int(limit)] => (text, separator, *limit),
        _ => return Err(Failure::no_such_overload()),
    };
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    if limit == 0 {
        return Ok(Value::list(Vec::new()));
    }
    if separator.is_empty() {
        let mut parts: Vec<&str> = Vec::new();
        let mut left: &str = text;
        while let Some(character) = left.chars().next() {
            let end = if parts.len() + 1 >= limit {
                left.len()
            } else {
                character.len_utf8()
            };
            let Some((part, rest)) = left.split_at_checked(end) else {
                break;
            };
            parts.push(part);
            left = rest;
        }
        return Ok(Value::strings(parts));
    }
    Ok(Value::strings(text.splitn(limit, &**separator)))
}

fn substring<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    let (text, start, end) = match arguments {
        [Value::String(text), Value::Int(start)] => (text, *start, None),
        [Value::String(text), Value::Int(start), Value::Int(end)] => (text, *start, Some(*end)),
        _ => return Err(Failure::no_such_overload()),
    };
    if let Some(end) = end
        && start > end
    {
        return Err(Failure::new(format!(
            "invalid substring range. start: {start}, end: {end}"
        )));
    }
    let length = text.chars().count() as i64;
    let place = |index: i64| {
        let position = usize::try_from(index)
            .ok()
            .filter(|_| index <= length)
            .ok_or_else(|| out_of_range(index))?;
        Ok(text
            .char_indices()
            .nth(position)
            .map_or(text.len(), |(place, _)| place))
    };
    let from = place(start)?;
    let to = place(end.unwrap_or(length))?;
    Ok(Value::string(text.get(from..to).unwrap_or_default()))
}

fn join<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    let (list, separator) = match arguments {
        [Value::List(list)] => (list, ""),
        [Value::List(list), Value::String(separator)] => (list, &**separator),
        _ => return Err(Failure::no_such_overload()),
    };
    let mut joined = String::new();
    for (index, item) in list.iter().enumerate() {
        if index > 0 {
            joined.push_str(separator);
        }
        match item? {
            Value::String(text) => joined.push_str(&text),
            other => {
                return Err(Failure::new(format!(
                    "join: invalid input: {}",
                    crate::value::text::go(&other)
                )));
            }
        }
    }
    Ok(Value::string(joined))
}
