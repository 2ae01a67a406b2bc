//! Text cut, searched, replaced, repeated and indented; counts are bytes, as Go counts them.

use std::collections::HashSet;

use gotemplate::{Failure, Function, Text, Type, Value};
use memchr::memmem;

use super::limits::{self, check_text};
use crate::go_characters::{characters, first_character};

/// The functions of this file.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("hello", &[], |_| Ok("Hello!".into())).fixed(),
    Function::new("trunc", &[Type::INT, Type::String], |call| {
        Ok(Value::string(trunc(call.integer(0), &call.text(1))))
    })
    .fixed(),
    Function::new("substr", &[Type::INT, Type::INT, Type::String], |call| {
        Ok(Value::string(substring(
            call.integer(0),
            call.integer(1),
            &call.text(2),
        )?))
    })
    .fixed(),
    Function::new("trim", &[Type::String], |call| {
        Ok(Value::string(trim_space(&call.text(0))))
    }),
    Function::new("trimall", &[Type::String, Type::String], |call| {
        Ok(Value::string(trim_all(&call.text(0), &call.text(1))))
    }),
    Function::new("trimAll", &[Type::String, Type::String], |call| {
        Ok(Value::string(trim_all(&call.text(0), &call.text(1))))
    }),
    Function::new("trimSuffix", &[Type::String, Type::String], |call| {
        let text = call.text(1);
        Ok(text
            .strip_suffix(call.text(0).as_bytes())
            .map_or_else(|| Value::String(text.clone()), Value::string))
    }),
    Function::new("trimPrefix", &[Type::String, Type::String], |call| {
        let text = call.text(1);
        Ok(text
            .strip_prefix(call.text(0).as_bytes())
            .map_or_else(|| Value::String(text.clone()), Value::string))
    }),
    Function::new("nospace", &[Type::String], |call| {
        Ok(Value::String(without_space(call.text(0))))
    })
    .heavy(),
    Function::new("contains", &[Type::String, Type::String], |call| {
        Ok(Value::Bool(memmem::find(&call.text(1), &call.text(0)).is_some()))
    }),
    Function::new("hasPrefix", &[Type::String, Type::String], |call| {
        Ok(Value::Bool(call.text(1).starts_with(&call.text(0))))
    }),
    Function::new("hasSuffix", &[Type::String, Type::String], |call| {
        Ok(Value::Bool(call.text(1).ends_with(&call.text(0))))
    }),
    Function::new("repeat", &[Type::INT, Type::String], |call| {
        repeat(call.integer(0), &call.text(1))
    }),
    Function::new("indent", &[Type::INT, Type::String], |call| {
        indent(b"", call.integer(0), &call.text(1))
    }),
    Function::new("nindent", &[Type::INT, Type::String], |call| {
        indent(b"\n", call.integer(0), &call.text(1))
    }),
    Function::new("replace", &[Type::String, Type::String, Type::String], |call| {
        replace(&call.text(0), &call.text(1), call.text(2))
    }),
    Function::new("plural", &[Type::String, Type::String, Type::INT], |call| {
        Ok(call.take(usize::from(call.integer(2) != 1)))
    })
    .fixed(),
];

/// Keeps the first bytes, or the last ones for a negative length.
fn trunc(length: i64, text: &[u8]) -> &[u8] {
    let wanted = usize::try_from(length.unsigned_abs()).unwrap_or(usize::MAX);
    if wanted >= text.len() {
        text
    } else if length < 0 {
        text.get(text.len() - wanted..).unwrap_or(text)
    } else {
        text.get(..wanted).unwrap_or(text)
    }
}

/// Cuts bytes out; a negative start means 0, a negative or too large end means the text's end.
fn substring(start: i64, end: i64, text: &[u8]) -> Result<&[u8], Failure> {
    let length = text.len() as i64;
    if start < 0 {
        return if end < 0 {
            Err(out_of_range(&format!("[:{end}]")))
        } else if end > length {
            Err(out_of_range(&format!("[:{end}] with length {length}")))
        } else {
            Ok(text.get(..end as usize).unwrap_or(text))
        };
    }
    let end = if end < 0 || end > length { length } else { end };
    text.get(start as usize..end as usize)
        .ok_or_else(|| out_of_range(&format!("[{start}:{end}]")))
}

fn out_of_range(bounds: &str) -> Failure {
    Failure::Message(format!("runtime error: slice bounds out of range {bounds}"))
}

/// Cuts white space off both ends.
pub(super) fn trim_space(text: &[u8]) -> &[u8] {
    trim_where(text, char::is_whitespace)
}

/// Cuts characters that occur in `cutset` off both ends.
fn trim_all<'text>(cutset: &[u8], text: &'text [u8]) -> &'text [u8] {
    // A set, because both texts may be long.
    let cutset: HashSet<char> = characters(cutset).map(|(character, _)| character).collect();
    trim_where(text, |character| cutset.contains(&character))
}

fn trim_where(text: &[u8], cut: impl Fn(char) -> bool) -> &[u8] {
    let mut rest = text;
    while let Some((character, size)) = first_character(rest)
        && cut(character)
    {
        rest = rest.get(size..).unwrap_or_default();
    }
    while let Some((character, size)) = last_character(rest)
        && cut(character)
    {
        rest = rest.get(..rest.len() - size).unwrap_or_default();
    }
    rest
}

fn last_character(text: &[u8]) -> Option<(char, usize)> {
    let starts = (1..=text.len().min(4)).rev();
    starts
        .filter_map(|size| text.get(text.len() - size..).map(|tail| (tail, size)))
        .find_map(|(tail, size)| {
            let character = std::str::from_utf8(tail).ok()?.chars().next()?;
            (character.len_utf8() == size).then_some((character, size))
        })
        .or_else(|| (!text.is_empty()).then_some((char::REPLACEMENT_CHARACTER, 1)))
}

/// Deletes white space, looking at bytes instead of characters as upstream does: bytes 0x85 and 0xA0 count as space,
/// and once there is any space, each byte above 0x7F is read as Latin-1.
fn without_space(text: Text) -> Text {
    let is_space = |byte: &u8| char::from(*byte).is_whitespace();
    if !text.iter().any(is_space) {
        return text;
    }
    text.iter()
        .filter(|byte| !is_space(byte))
        .map(|&byte| char::from(byte))
        .collect::<String>()
        .into()
}

/// Fails as Go's `strings.Repeat` does for a negative count.
fn repeat_count(count: i64) -> Result<usize, Failure> {
    usize::try_from(count).map_err(|_| "strings: negative Repeat count".into())
}

fn repeat(count: i64, text: &[u8]) -> Result<Value, Failure> {
    let count = repeat_count(count)?;
    check_text(text.len().saturating_mul(count))?;
    Ok(Value::string(if text.is_empty() {
        Vec::new()
    } else {
        text.repeat(count)
    }))
}

/// Puts spaces before every line, empty ones too.
fn indent(before: &[u8], spaces: i64, text: &[u8]) -> Result<Value, Failure> {
    let spaces = repeat_count(spaces)?;
    let lines = memchr::memchr_iter(b'\n', text).count() + 1;
    let size = before
        .len()
        .saturating_add(text.len())
        .saturating_add(lines.saturating_mul(spaces));
    check_text(size)?;
    let mut out = Vec::with_capacity(size);
    out.extend_from_slice(before);
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        out.resize(out.len() + spaces, b' ');
        out.extend_from_slice(line);
    }
    if text.is_empty() || text.ends_with(b"\n") {
        out.resize(out.len() + spaces, b' ');
    }
    Ok(Value::string(out))
}

/// Replaces every occurrence; an empty `old` occurs before every character and at the end.
fn replace(old: &[u8], new: &[u8], text: Text) -> Result<Value, Failure> {
    if old == new {
        return Ok(Value::String(text));
    }
    let places: Vec<usize> = if old.is_empty() {
        let starts = characters(&text).scan(0, |at, (_, size)| {
            *at += size;
            Some(*at)
        });
        std::iter::once(0).chain(starts).collect()
    } else {
        memmem::find_iter(&text, old).collect()
    };
    if places.is_empty() {
        return Ok(Value::String(text));
    }
    let size = (text.len() - places.len() * old.len()).saturating_add(places.len().saturating_mul(new.len()));
    check_text(size)?;
    let mut out = Vec::with_capacity(size);
    let mut done = 0;
    for place in places {
        out.extend_from_slice(text.get(done..place).unwrap_or_default());
        out.extend_from_slice(new);
        done = place + old.len();
    }
    out.extend_from_slice(text.get(done..).unwrap_or_default());
    limits::text(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::testing::check;

    fn text(result: Result<Value, Failure>) -> String {
        match result {
            Ok(value) => value
                .as_text()
                .expect("functions return text")
                .to_str()
                .into_owned(),
            Err(failure) => format!("error: {failure}"),
        }
    }

    #[test]
    fn trunc_keeps_bytes_from_either_end() {
        for (length, from, want) in [
            (5, "hello world", "hello"),
            (-5, "hello world", "world"),
            (0, "a", ""),
            (9, "abc", "abc"),
            (-3, "abc", "abc"),
            (i64::MIN, "abc", "abc"),
        ] {
            assert_eq!(trunc(length, from.as_bytes()), want.as_bytes(), "{length} {from}");
        }
        assert_eq!(trunc(1, "é".as_bytes()), b"\xc3");
    }

    #[test]
    fn substr_fails_where_go_panics() {
        for (start, end, want) in [
            (0, 3, Ok("abc")),
            (-1, 2, Ok("ab")),
            (2, -1, Ok("cde")),
            (2, 99, Ok("cde")),
            (5, 5, Ok("")),
            (
                -1,
                9,
                Err("runtime error: slice bounds out of range [:9] with length 5"),
            ),
            (-1, -2, Err("runtime error: slice bounds out of range [:-2]")),
            (9, -1, Err("runtime error: slice bounds out of range [9:5]")),
            (3, 2, Err("runtime error: slice bounds out of range [3:2]")),
        ] {
            let got = substring(start, end, b"abcde").map_err(|failure| failure.to_string());
            assert_eq!(
                got,
                want.map(str::as_bytes).map_err(str::to_owned),
                "{start} {end}"
            );
        }
    }

    #[test]
    fn trimming_knows_unicode() {
        assert_eq!(trim_space("\u{85}\u{a0}\t a b\u{2003}\n".as_bytes()), b"a b");
        assert_eq!(trim_all(b"$", b"$$5.00$"), b"5.00");
        assert_eq!(trim_all("é-".as_bytes(), "é-xé-é".as_bytes()), b"x");
        assert_eq!(trim_all("\u{fffd}".as_bytes(), b"\xffx\xff"), b"x");
        assert_eq!(trim_all(b"", b" x "), b" x ");
        assert_eq!(trim_space(b"   "), b"");
    }

    #[test]
    fn nospace_reads_bytes() {
        assert_eq!(&*without_space(" h e\tl l o ".into()), b"hello");
        assert_eq!(&*without_space("é x".into()), "Ã©x".as_bytes());
        assert_eq!(&*without_space("éx".into()), "éx".as_bytes());
        assert_eq!(&*without_space("à".into()), "Ã".as_bytes());
    }

    #[test]
    fn indent_pads_every_line() {
        assert_eq!(text(indent(b"", 2, b"a\n\nb")), "  a\n  \n  b");
        assert_eq!(text(indent(b"", 2, b"a\n")), "  a\n  ");
        assert_eq!(text(indent(b"", 2, b"")), "  ");
        assert_eq!(text(indent(b"\n", 1, b"a")), "\n a");
        assert_eq!(
            text(indent(b"", -1, b"a")),
            "error: strings: negative Repeat count"
        );
        assert!(text(indent(b"", i64::MAX, b"a\nb")).starts_with("error: text of "));
    }

    #[test]
    fn repetition_is_limited() {
        assert_eq!(text(repeat(3, b"ab")), "ababab");
        assert_eq!(text(repeat(i64::MAX, b"")), "");
        assert_eq!(text(repeat(-1, b"ab")), "error: strings: negative Repeat count");
        assert!(text(repeat(i64::MAX, b"ab")).starts_with("error: text of "));
    }

    #[test]
    fn replacing_nothing_inserts_everywhere() {
        assert_eq!(text(replace(b" ", b"-", "I Am Henry".into())), "I-Am-Henry");
        assert_eq!(text(replace(b"", b"X", "aé".into())), "XaXéX");
        assert_eq!(text(replace(b"", b"X", "".into())), "X");
        assert_eq!(text(replace(b"aa", b"b", "aaa".into())), "ba");
        assert_eq!(text(replace(b"a", b"", "banana".into())), "bnn");
    }

    #[test]
    fn text_is_cut_and_searched() {
        check(&[
            ("{{ hello }}", Ok("Hello!")),
            (
                r#"{{ trim "  a " }}|{{ trimall "$" "$5$" }}|{{ trimSuffix "-" "a--" }}|{{ trimPrefix "-" "--a" }}"#,
                Ok("a|5|a-|-a"),
            ),
            (
                r#"{{ contains "b" "abc" }}{{ contains "" "" }}{{ hasPrefix "a" "abc" }}{{ hasSuffix "bc" "abc" }}"#,
                Ok("truetruetruetrue"),
            ),
            (
                r#"{{ plural "one" "many" 1 }}{{ plural "one" "many" 0 }}"#,
                Ok("onemany"),
            ),
            (r#"{{ trunc 3 "abcdef" }}{{ trunc -3 "abcdef" }}"#, Ok("abcdef")),
            (
                r#"{{ substr 0 3 "hello" }}{{ substr -1 2 "hello" }}{{ substr 3 -1 "hello" }}"#,
                Ok("helhelo"),
            ),
            (
                r#"{{ substr 9 -1 "hello" }}"#,
                Err("runtime error: slice bounds out of range [9:5]"),
            ),
            (
                r#"{{ substr -1 9 "hello" }}"#,
                Err("runtime error: slice bounds out of range [:9] with length 5"),
            ),
            (
                r#"{{ substr 3 1 "hello" }}"#,
                Err("runtime error: slice bounds out of range [3:1]"),
            ),
            (r#"{{ repeat -1 "a" }}"#, Err("strings: negative Repeat count")),
            (r#"{{ indent -1 "a" }}"#, Err("strings: negative Repeat count")),
            (
                r#"{{ trunc "3" "a" }}"#,
                Err(r#"template: test:1:9: executing "test" at <"3">: expected integer; found "3""#),
            ),
            (
                r#"{{ randAlphaNum 8 | len }}{{ randAlpha 0 }}{{ randNumeric -1 }}{{ randAscii 3 | len }}{{ shuffle "aaa" }}"#,
                Ok("83aaa"),
            ),
        ]);
    }
}
