//! Text as Go literals and back.

use proptest::prelude::*;

use crate::format::{is_decimal_digit, is_letter, is_print, quote, quote_ascii, unquote, unquote_char};

#[test]
fn text_is_quoted_as_go_quotes_it() {
    let rows: &[(&[u8], &str, &str)] = &[
        (b"", "\"\"", "\"\""),
        (b"plain", "\"plain\"", "\"plain\""),
        (b"say \"hi\"", "\"say \\\"hi\\\"\"", "\"say \\\"hi\\\"\""),
        (b"it's", "\"it's\"", "\"it's\""),
        (b"back\\slash", "\"back\\\\slash\"", "\"back\\\\slash\""),
        (
            b"\x07\x08\x0c\n\r\t\x0b",
            "\"\\a\\b\\f\\n\\r\\t\\v\"",
            "\"\\a\\b\\f\\n\\r\\t\\v\"",
        ),
        (b"\x00\x1f\x7f", "\"\\x00\\x1f\\x7f\"", "\"\\x00\\x1f\\x7f\""),
        (
            b"\xc3\xa9\xe4\xb8\x96\xf0\x9f\x98\x80",
            "\"é世😀\"",
            "\"\\u00e9\\u4e16\\U0001f600\"",
        ),
        (
            b"\xc2\xa0\xc2\xad\xe2\x80\xa8\xef\xbb\xbf\xf3\xa0\x80\x81\xf4\x8f\xbf\xbf",
            "\"\\u00a0\\u00ad\\u2028\\ufeff\\U000e0001\\U0010ffff\"",
            "\"\\u00a0\\u00ad\\u2028\\ufeff\\U000e0001\\U0010ffff\"",
        ),
        (
            b"\xff\xe2\x82x\xed\xa0\x80",
            "\"\\xff\\xe2\\x82x\\xed\\xa0\\x80\"",
            "\"\\xff\\xe2\\x82x\\xed\\xa0\\x80\"",
        ),
        (b"\xef\xbf\xbd", "\"�\"", "\"\\ufffd\""),
    ];
    for (text, quoted, ascii) in rows {
        assert_eq!(String::from_utf8_lossy(&quote(text)), *quoted);
        assert_eq!(String::from_utf8_lossy(&quote_ascii(text)), *ascii);
    }
}

#[test]
fn literals_are_read_as_go_reads_them() {
    let rows: &[(&[u8], Option<&[u8]>)] = &[
        (b"\"\"", Some(b"")),
        (b"\"a\"", Some(b"a")),
        (b"\"a\\nb\\t\\\"\\\\\"", Some(b"a\nb\t\"\\")),
        (
            b"\"\\x41\\101\\u00e9\\U0001F600\"",
            Some(b"AA\xc3\xa9\xf0\x9f\x98\x80"),
        ),
        (b"\"\\xff\\377\"", Some(b"\xff\xff")),
        (b"\"\xff\"", Some(b"\xef\xbf\xbd")),
        (b"\"\\400\"", None),
        (b"\"\\ud800\"", None),
        (b"\"\\U00110000\"", None),
        (b"\"\\'\"", None),
        (b"\"\\q\"", None),
        (b"\"\\x4\"", None),
        (b"\"\\", None),
        (b"\"a", None),
        (b"a\"", None),
        (b"\"a\nb\"", None),
        (b"\"a\"b\"", None),
        (b"`a\\n\r\nb`", Some(b"a\\n\nb")),
        (b"`a`b`", None),
        (b"`", None),
        (b"``", Some(b"")),
        (b"'a'", Some(b"a")),
        (b"'\\n'", Some(b"\n")),
        (b"'\\''", Some(b"'")),
        (b"'\\\"'", None),
        (b"'\"'", Some(b"\"")),
        (b"'ab'", None),
        (b"''", Some(b"")),
        (b"'\xe4\xb8\x96'", Some(b"\xe4\xb8\x96")),
        (b"'\\xff'", Some(b"\xff")),
        (b"'\xff'", Some(b"\xef\xbf\xbd")),
        (b"'''", None),
        (b"", None),
        (b"\"", None),
        (b"a", None),
        (b"'a\"", None),
    ];
    for (literal, text) in rows {
        let read = unquote(literal);
        assert_eq!(
            read.as_deref().ok(),
            *text,
            "{:?}",
            String::from_utf8_lossy(literal)
        );
    }
    assert_eq!(
        unquote(b"x").map_err(|error| error.to_string()),
        Err("invalid syntax".to_owned())
    );
}

#[test]
fn a_single_character_is_read_with_what_follows_it() {
    type Read = Option<(u32, &'static [u8])>;
    let rows: &[(&[u8], u8, Read)] = &[
        (b"ab", b'\'', Some((97, b"b"))),
        (b"\\n'", b'\'', Some((10, b"'"))),
        (b"\\xff'", b'\'', Some((255, b"'"))),
        (b"\\u4e16x", b'"', Some((0x4e16, b"x"))),
        (b"\xe4\xb8\x96x", b'"', Some((0x4e16, b"x"))),
        (b"\xffx", b'"', Some((0xfffd, b"x"))),
        (b"'", b'\'', None),
        (b"'", b'"', Some((39, b""))),
        (b"\\'", b'"', None),
        (b"\\", b'"', None),
        (b"", b'"', None),
    ];
    for (inside, delimiter, read) in rows {
        assert_eq!(unquote_char(inside, *delimiter).ok(), *read, "{inside:?}");
    }
}

/// Returns the number of characters in a class, and a hash of which they are.
fn census(class: fn(char) -> bool) -> (usize, u64) {
    let mut count = 0;
    let mut hash: u64 = 14_695_981_039_346_656_037;
    for character in '\0'..=char::MAX {
        if class(character) {
            count += 1;
            hash = (hash ^ u64::from(character)).wrapping_mul(1_099_511_628_211);
        }
    }
    (count, hash)
}

#[test]
fn every_character_has_the_class_that_go_gives_it() {
    assert_eq!(census(is_print), (148_998, 17_123_653_939_545_431_263));
    assert_eq!(census(is_letter), (136_104, 18_444_528_644_627_200_931));
    assert_eq!(census(is_decimal_digit), (680, 2_228_285_223_454_637_853));
}

proptest! {
    #[test]
    fn quoted_text_reads_back(text in any::<Vec<u8>>()) {
        prop_assert_eq!(unquote(&quote(&text)), Ok(text.clone()));
        let ascii = quote_ascii(&text);
        prop_assert!(ascii.is_ascii());
        prop_assert_eq!(unquote(&ascii), Ok(text));
    }

    #[test]
    fn no_literal_makes_reading_fail_otherwise_than_by_error(literal in "[\"'`](\\\\?[a-zA-Z0-9\"'`\\\\\n]){0,6}[\"'`]?") {
        if let Ok(text) = unquote(literal.as_bytes()) {
            prop_assert!(text.len() <= literal.len());
        }
    }
}
