//! Text made to fit: abbreviated with dots, or wrapped at a column; columns are bytes.

use gotemplate::{Failure, Function, Type, Value};

use super::limits;

/// The functions of this file.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("abbrev", &[Type::INT, Type::String], |call| {
        let text = call.text(1);
        Ok(Value::string(abbreviate(0, call.integer(0), &text)))
    })
    .heavy(),
    Function::new("abbrevboth", &[Type::INT, Type::INT, Type::String], |call| {
        let text = call.text(2);
        Ok(Value::string(abbreviate(call.integer(0), call.integer(1), &text)))
    })
    .heavy(),
    Function::new("wrap", &[Type::INT, Type::String], |call| {
        wrap(&call.text(1), call.integer(0), b"", LongWords::Stay)
    })
    .heavy(),
    Function::new("wrapWith", &[Type::INT, Type::String, Type::String], |call| {
        wrap(&call.text(2), call.integer(0), &call.text(1), LongWords::Break)
    })
    .heavy(),
];

const DOTS: &[u8] = b"...";

/// Shortens text to `width` bytes so that the byte at `left` stays in sight, with dots for what is left out.
fn abbreviate(left: i64, width: i64, text: &[u8]) -> Vec<u8> {
    let length = text.len() as i64;
    if width < 4 || (left > 0 && width < 7) || length <= width {
        return text.to_vec();
    }
    let room = width - 3;
    let left = left.min(length - room);
    let piece = |start: i64, end: i64| {
        text.get(start.max(0) as usize..end.max(0) as usize)
            .unwrap_or_default()
    };
    if left <= 4 {
        return [piece(0, room), DOTS].concat();
    }
    if left + room < length {
        return [DOTS, &abbreviate(0, room, piece(left, length))].concat();
    }
    [DOTS, piece(length - room, length)].concat()
}

/// What happens to a word that is longer than a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LongWords {
    Stay,
    Break,
}

/// Breaks text at spaces so that lines have at most `width` bytes.
fn wrap(text: &[u8], width: i64, separator: &[u8], long_words: LongWords) -> Result<Value, Failure> {
    let separator = if separator.is_empty() { b"\n" } else { separator };
    let width = usize::try_from(width.max(1)).unwrap_or(usize::MAX);
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while rest.len() > width {
        if let [b' ', tail @ ..] = rest {
            rest = tail;
            continue;
        }
        let (line, tail) = match rest.iter().take(width + 1).rposition(|&byte| byte == b' ') {
            Some(space) => (rest.get(..space), rest.get(space + 1..)),
            None if long_words == LongWords::Break => (rest.get(..width), rest.get(width..)),
            None => match rest.iter().skip(width).position(|&byte| byte == b' ') {
                Some(space) => (rest.get(..width + space), rest.get(width + space + 1..)),
                None => break,
            },
        };
        out.extend_from_slice(line.unwrap_or_default());
        out.extend_from_slice(separator);
        limits::check_text(out.len())?;
        rest = tail.unwrap_or_default();
    }
    out.extend_from_slice(rest);
    limits::text(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn abbreviations_keep_the_left_edge_in_sight() {
        for (left, width, from, want) in [
            (0, 5, "hello world", "he..."),
            (0, 3, "hello world", "hello world"),
            (0, 20, "hello world", "hello world"),
            (5, 10, "1234 5678 9123", "...5678..."),
            (6, 10, "1234 5678 9123", "...678 ..."),
            (1, 5, "1234 5678 9123", "1234 5678 9123"),
            (-3, 5, "1234 5678 9123", "12..."),
            (99, 10, "1234 5678 9123", "...78 9123"),
            (4, 8, "1234 5678 9123", "1234 ..."),
            (i64::MAX, 7, "1234 5678 9123", "...9123"),
        ] {
            let got = abbreviate(left, width, from.as_bytes());
            assert_eq!(String::from_utf8_lossy(&got), want, "{left} {width}");
        }
    }

    #[test]
    fn lines_break_at_spaces() {
        for (width, separator, long_words, want) in [
            (5, "", LongWords::Stay, "Hello\nWorld\nabcdefghij\nk"),
            (5, "-", LongWords::Break, "Hello-World-abcde-fghij-k"),
            (0, "", LongWords::Stay, "Hello\nWorld\nabcdefghij\nk"),
            (99, "", LongWords::Stay, "Hello World abcdefghij k"),
            (i64::MAX, "", LongWords::Stay, "Hello World abcdefghij k"),
        ] {
            let got = wrap(
                b"Hello World abcdefghij k",
                width,
                separator.as_bytes(),
                long_words,
            )
            .expect("short text");
            assert_eq!(got.as_text().expect("text").to_str(), want);
        }
    }
}
