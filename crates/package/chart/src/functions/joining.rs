//! Values written into text, and text taken apart into lists: quoting, joining, splitting, sorting.

use std::collections::BTreeMap;

use gotemplate::format::{append_value, quote};
use gotemplate::{Failure, Function, Map, Text, Type, Value};
use memchr::memmem;

use super::conversion::{elements, strval};
use super::limits::{self, check_items};
use crate::go_characters::first_character;

/// The functions of this file.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::variadic("quote", &[], Type::Any, |call| {
        write_each(&call.arguments, |out, value| {
            out.extend_from_slice(&quote(&strval(value)));
        })
    })
    .heavy(),
    Function::variadic("squote", &[], Type::Any, |call| {
        write_each(&call.arguments, |out, value| {
            out.push(b'\'');
            append_value(out, value);
            out.push(b'\'');
        })
    })
    .heavy(),
    Function::variadic("cat", &[], Type::Any, |call| {
        write_each(&call.arguments, append_value)
    })
    .heavy(),
    Function::new("toString", &[Type::Any], |call| {
        Ok(Value::String(strval(&call.take(0))))
    })
    .heavy(),
    Function::new("toStrings", &[Type::Any], |call| Ok(to_strings(&call.take(0)))).heavy(),
    Function::new("join", &[Type::String, Type::Any], |call| {
        join(&call.text(0), &call.take(1))
    })
    .heavy(),
    Function::new("sortAlpha", &[Type::Any], |call| Ok(sort_alpha(&call.take(0)))).heavy(),
    Function::new("splitList", &[Type::String, Type::String], |call| {
        Ok(Value::strings(split(&call.text(1), &call.text(0), -1)?))
    })
    .heavy(),
    Function::new("split", &[Type::String, Type::String], |call| {
        Ok(numbered(split(&call.text(1), &call.text(0), -1)?))
    })
    .heavy(),
    Function::new("splitn", &[Type::String, Type::INT, Type::String], |call| {
        Ok(numbered(split(&call.text(2), &call.text(0), call.integer(1))?))
    })
    .heavy(),
];

/// Writes what is not nil, with spaces between.
fn write_each(values: &[Value], mut write: impl FnMut(&mut Vec<u8>, &Value)) -> Result<Value, Failure> {
    let mut out = Vec::new();
    for (index, value) in values
        .iter()
        .filter(|value| !matches!(value, Value::Nil))
        .enumerate()
    {
        if index > 0 {
            out.push(b' ');
        }
        write(&mut out, value);
        limits::check_text(out.len())?;
    }
    Ok(Value::string(out))
}

/// Returns the texts of a list's elements without the nil ones, or the text of the value itself.
fn texts(value: &Value) -> Vec<Text> {
    match (elements(value), value) {
        (Some(elements), _) => elements
            .iter()
            .filter(|element| !matches!(element, Value::Nil))
            .map(strval)
            .collect(),
        (None, Value::Nil) => Vec::new(),
        (None, other) => vec![strval(other)],
    }
}

fn to_strings(value: &Value) -> Value {
    match value {
        Value::List(list) if list.element() == Type::String && list.named_type().is_none() => value.clone(),
        Value::TypedNil(Type::Strings) => value.clone(),
        _ => Value::strings(texts(value)),
    }
}

fn join(separator: &[u8], value: &Value) -> Result<Value, Failure> {
    let mut out = Vec::new();
    for (index, text) in texts(value).iter().enumerate() {
        if index > 0 {
            out.extend_from_slice(separator);
        }
        out.extend_from_slice(text);
        limits::check_text(out.len())?;
    }
    Ok(Value::string(out))
}

fn sort_alpha(value: &Value) -> Value {
    if elements(value).is_none() {
        return Value::strings([strval(value)]);
    }
    if matches!(value, Value::TypedNil(Type::Strings)) {
        return value.clone();
    }
    let mut texts = texts(value);
    texts.sort_unstable();
    Value::strings(texts)
}

/// Splits at a separator, into at most `limit` pieces unless that is negative; an empty separator splits characters.
pub(super) fn split<'text>(
    text: &'text [u8],
    separator: &[u8],
    limit: i64,
) -> Result<Vec<&'text [u8]>, Failure> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut pieces = Vec::new();
    if limit == 0 {
        return Ok(pieces);
    }
    let mut rest = text;
    let finder = memmem::Finder::new(separator);
    while pieces.len() < limit - 1 {
        let (end, next) = if separator.is_empty() {
            match first_character(rest) {
                Some((_, size)) if size < rest.len() => (size, size),
                _ => break,
            }
        } else {
            match finder.find(rest) {
                Some(at) => (at, at + separator.len()),
                None => break,
            }
        };
        pieces.push(rest.get(..end).unwrap_or_default());
        rest = rest.get(next..).unwrap_or_default();
        check_items(pieces.len())?;
    }
    if !(text.is_empty() && separator.is_empty()) {
        pieces.push(rest);
    }
    Ok(pieces)
}

/// Returns a `map[string]string` with the keys `_0`, `_1` and so on.
fn numbered(pieces: Vec<&[u8]>) -> Value {
    let entries: BTreeMap<Text, Value> = pieces
        .into_iter()
        .enumerate()
        .map(|(index, piece)| (format!("_{index}").into(), Value::string(piece)))
        .collect();
    Value::Map(Map::of(Type::String, entries))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::testing::check;

    fn pieces(text: &str, separator: &str, limit: i64) -> Vec<String> {
        let pieces = split(text.as_bytes(), separator.as_bytes(), limit).expect("few pieces");
        pieces
            .into_iter()
            .map(|piece| String::from_utf8_lossy(piece).into_owned())
            .collect()
    }

    #[test]
    fn splitting_follows_go() {
        assert_eq!(pieces("a,b,c", ",", -1), ["a", "b", "c"]);
        assert_eq!(pieces("a,b,c", ",", 2), ["a", "b,c"]);
        assert_eq!(pieces("a,b,c", ",", 9), ["a", "b", "c"]);
        assert_eq!(pieces("a,b,c", ",", 0), [""; 0]);
        assert_eq!(pieces("", ",", -1), [""]);
        assert_eq!(pieces("", "", -1), [""; 0]);
        assert_eq!(pieces("aéb", "", -1), ["a", "é", "b"]);
        assert_eq!(pieces("aéb", "", 2), ["a", "éb"]);
        assert_eq!(pieces(",", ",", -1), ["", ""]);
    }

    #[test]
    fn joining_skips_nil() {
        let list = Value::list(vec![
            Value::int(1),
            Value::Nil,
            "a".into(),
            true.into(),
            Value::from(1.5),
        ]);
        for (value, want) in [
            (list, "1,a,true,1.5"),
            ("abc".into(), "abc"),
            (Value::Nil, ""),
            (Value::int(7), "7"),
        ] {
            let got = join(b",", &value).expect("short");
            assert_eq!(got.as_text().expect("text").to_str(), want);
        }
    }

    #[test]
    fn sorting_gives_strings() {
        let sorted = sort_alpha(&Value::list(vec![
            "b".into(),
            Value::int(10),
            "a".into(),
            Value::int(9),
        ]));
        assert_eq!(format!("{sorted:?}"), r#"[]string{"10", "9", "a", "b"}"#);
        assert_eq!(format!("{:?}", sort_alpha(&Value::Nil)), r#"[]string{"<nil>"}"#);
        assert_eq!(format!("{:?}", sort_alpha(&"x".into())), r#"[]string{"x"}"#);
    }

    #[test]
    fn values_become_text() {
        check(&[
            (
                r#"{{ quote 1 "a" nil true }}|{{ quote nil }}|{{ quote }}|{{ quote (list 1 "a") }}"#,
                Ok(r#""1" "a" "true"|||"[1 a]""#),
            ),
            (
                r#"{{ quote "a\nb\t\"é\u0001\x00" }}"#,
                Ok(r#""a\nb\t\"é\x01\x00""#),
            ),
            (r#"{{ squote "it's" nil 1 }}"#, Ok("'it's' '1'")),
            (r#"{{ cat "a" 1 nil true " b " }}|{{ cat }}"#, Ok("a 1 true  b |")),
            (
                r#"{{ toString nil }} {{ toString 1.0 }} {{ toString (list 1 "a") }} {{ toString (dict "a" 1) }}"#,
                Ok("<nil> 1 [1 a] map[a:1]"),
            ),
            (
                r#"{{ toStrings (list 1 nil "a") | toJson }}{{ toStrings nil | toJson }}{{ toStrings 5 | toJson }}"#,
                Ok(r#"["1","a"][]["5"]"#),
            ),
            (
                r#"{{ join "-" (list 1 2) }}{{ join "-" (until 3) }}{{ join "-" nil }}"#,
                Ok("1-20-1-2"),
            ),
            (
                r#"{{ split "," "a,b" | toJson }}{{ (split "/" "a/b")._1 }}{{ splitn "," 2 "a,b,c" | toJson }}{{ splitn "," 0 "a" | toJson }}"#,
                Ok(r#"{"_0":"a","_1":"b"}b{"_0":"a","_1":"b,c"}{}"#),
            ),
            (
                r#"{{ splitList "," "" | toJson }}{{ splitList "" "" | toJson }}{{ splitList "" "aé" | toJson }}"#,
                Ok(r#"[""][]["a","é"]"#),
            ),
        ]);
    }
}
