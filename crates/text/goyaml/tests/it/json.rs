//! JSON as encoding/json has it, row by row; the answers are Go's.

use goyaml::json::{self, Escape};
use goyaml::{Numbers, ReadOptions};
use serde_json::{Value, json};

const FLOATS: ReadOptions = ReadOptions {
    numbers: Numbers::Float64,
    strict: false,
    most_values: None,
};

#[test]
fn json_is_read_and_written_as_go_does() {
    for (input, expected) in ROWS {
        let value = json::to_value(input, FLOATS).map_err(|error| error.to_string());
        let answer = value.map(|value| json::to_string(&value, Escape::Html).unwrap());
        let answer = answer.as_deref().map_err(String::as_str);
        assert_eq!(answer, *expected, "input {}", String::from_utf8_lossy(input));
    }
}

#[test]
fn json_is_indented_as_go_does() {
    for (input, expected) in PRETTY_ROWS {
        let value = json::to_value(input, FLOATS).unwrap();
        assert_eq!(
            json::to_string_pretty(&value, "  ", Escape::Html).unwrap(),
            *expected
        );
    }
}

#[test]
fn what_is_not_utf_8_is_replaced_byte_by_byte() {
    let value: Value = json::from_slice(b"[\"\xff\xfe\", \"\\ud83d\", \"\\ud83d\\u0041\"]", FLOATS).unwrap();
    assert_eq!(value, json!(["\u{FFFD}\u{FFFD}", "\u{FFFD}", "\u{FFFD}A"]));
}

#[test]
fn angle_brackets_are_escaped_on_request() {
    assert_eq!(
        json::to_string("<&>\u{2028}", Escape::None).unwrap(),
        "\"<&>\\u2028\""
    );
    assert_eq!(
        json::to_string("<&>", Escape::Html).unwrap(),
        "\"\\u003c\\u0026\\u003e\""
    );
}

#[test]
fn the_keys_of_a_map_are_sorted_and_those_of_a_struct_are_not() {
    #[derive(serde::Serialize)]
    struct Pair {
        b: std::collections::HashMap<&'static str, f32>,
        a: i128,
    }
    let pair = Pair {
        b: [("z", 1.5), ("y", 0.1), ("x", 1e21)].into(),
        a: 1,
    };
    assert_eq!(
        json::to_string(&pair, Escape::Html).unwrap(),
        r#"{"b":{"x":1e+21,"y":0.1,"z":1.5},"a":1}"#
    );
    let pretty = "{\n \"b\": {\n  \"x\": 1e+21,\n  \"y\": 0.1,\n  \"z\": 1.5\n },\n \"a\": 1\n}";
    assert_eq!(json::to_string_pretty(&pair, " ", Escape::Html).unwrap(), pretty);
}

#[test]
fn numbers_stay_exact_unless_floats_are_wanted() {
    let value: Value =
        json::from_slice(b"[1, 18446744073709551615, -0, 1.0]", ReadOptions::default()).unwrap();
    assert!(value[0].is_i64() && value[1].is_u64() && value[2].is_f64() && value[3].is_f64());
}

#[test]
fn a_syntax_error_has_a_place() {
    let error = json::to_value(b"{\n  \"a\": x}", FLOATS).unwrap_err();
    assert_eq!((error.line(), error.column()), (Some(2), Some(8)));
}

#[test]
fn go_has_a_word_for_each_kind_of_value() {
    let words = [
        json!(null),
        json!(true),
        json!(1),
        json!(""),
        json!([]),
        json!({}),
    ]
    .map(|value| json::kind_word(&value));
    assert_eq!(words, ["null", "bool", "number", "string", "array", "object"]);
}

#[rustfmt::skip]
const ROWS: &[(&[u8], Result<&str, &str>)] = &[
    (b"", Err("unexpected end of JSON input")),
    (b" ", Err("unexpected end of JSON input")),
    (b"x", Err("invalid character 'x' looking for beginning of value")),
    (b"{", Err("unexpected end of JSON input")),
    (b"}", Err("invalid character '}' looking for beginning of value")),
    (b"[", Err("unexpected end of JSON input")),
    (b"]", Err("invalid character ']' looking for beginning of value")),
    (b"[1", Err("unexpected end of JSON input")),
    (b"[1,", Err("unexpected end of JSON input")),
    (b"[1,]", Err("invalid character ']' looking for beginning of value")),
    (b"[,]", Err("invalid character ',' looking for beginning of value")),
    (b"[1 2]", Err("invalid character '2' after array element")),
    (b"{\"a\"}", Err("invalid character '}' after object key")),
    (b"{\"a\":}", Err("invalid character '}' looking for beginning of value")),
    (b"{\"a\":1,}", Err("invalid character '}' looking for beginning of object key string")),
    (b"{a:1}", Err("invalid character 'a' looking for beginning of object key string")),
    (b"{1:2}", Err("invalid character '1' looking for beginning of object key string")),
    (b"{\"a\" 1}", Err("invalid character '1' after object key")),
    (b"{\"a\":1 \"b\":2}", Err("invalid character '\"' after object key:value pair")),
    (b"1 2", Err("invalid character '2' after top-level value")),
    (b"null null", Err("invalid character 'n' after top-level value")),
    (b"tru", Err("invalid character ' ' in literal true (expecting 'e')")),
    (b"trux", Err("invalid character 'x' in literal true (expecting 'e')")),
    (b"nul", Err("invalid character ' ' in literal null (expecting 'l')")),
    (b"fals ", Err("invalid character ' ' in literal false (expecting 'e')")),
    (b"nope", Err("invalid character 'o' in literal null (expecting 'u')")),
    (b"-", Err("invalid character ' ' in numeric literal")),
    (b"-x", Err("invalid character 'x' in numeric literal")),
    (b"01", Err("invalid character '1' after top-level value")),
    (b"1.", Err("invalid character ' ' after decimal point in numeric literal")),
    (b"1.x", Err("invalid character 'x' after decimal point in numeric literal")),
    (b"1e", Err("invalid character ' ' in exponent of numeric literal")),
    (b"1e+", Err("invalid character ' ' in exponent of numeric literal")),
    (b"1ex", Err("invalid character 'x' in exponent of numeric literal")),
    (b".5", Err("invalid character '.' looking for beginning of value")),
    (b"+1", Err("invalid character '+' looking for beginning of value")),
    (b"\"a", Err("unexpected end of JSON input")),
    (b"\"a\nb\"", Err("invalid character '\\n' in string literal")),
    (b"\"\\x\"", Err("invalid character 'x' in string escape code")),
    (b"\"\\", Err("invalid character ' ' in string escape code")),
    (b"\"\\u12", Err("invalid character ' ' in \\u hexadecimal character escape")),
    (b"\"\\u12g4\"", Err("invalid character 'g' in \\u hexadecimal character escape")),
    (b"'a'", Err("invalid character '\\'' looking for beginning of value")),
    (b"\"\\ud83d\\ude00\"", Ok("\"\u{1F600}\"")),
    (b"\"\\ud83d\"", Ok("\"\u{FFFD}\"")),
    (b"\"\\ude00x\"", Ok("\"\u{FFFD}x\"")),
    (b"\"\\ud83d\\u0041\"", Ok("\"\u{FFFD}A\"")),
    (b"\"\xff\"", Ok("\"\u{FFFD}\"")),
    (b"\xff", Err("invalid character '\u{FF}' looking for beginning of value")),
    (b"\"\xe2\x80\xa8<>&\\u0001\\b\\f\\/\"", Ok("\"\\u2028\\u003c\\u003e\\u0026\\u0001\\b\\f/\"")),
    (b"{\"a\":1,\"a\":2}", Ok("{\"a\":2}")),
    (b"{\"b\":1,\"a\":{\"d\":[],\"c\":{}}}", Ok("{\"a\":{\"c\":{},\"d\":[]},\"b\":1}")),
    (b"1e400", Err("json: cannot unmarshal number 1e400 into Go value of type float64")),
    (b"[1e400,", Err("unexpected end of JSON input")),
    (b"-0", Ok("-0")),
    (b"0.1", Ok("0.1")),
    (b"1e21", Ok("1e+21")),
    (b"1e20", Ok("100000000000000000000")),
    (b"123456789012345678901234567890", Ok("1.2345678901234568e+29")),
    (b"1e-7", Ok("1e-7")),
    (b"0.000001", Ok("0.000001")),
    (b"5e-324", Ok("5e-324")),
    (b"1.7976931348623157e308", Ok("1.7976931348623157e+308")),
    (b"9007199254740993", Ok("9007199254740992")),
    (b"\"\xc3\xa9", Err("unexpected end of JSON input")),
    (b"\"", Err("unexpected end of JSON input")),
    (b"\xef\xbb\xbf{}", Err("invalid character '\u{EF}' looking for beginning of value")),
    (b"[1]x", Err("invalid character 'x' after top-level value")),
    (b"{\"a\":[1,{\"b\":null}]}", Ok("{\"a\":[1,{\"b\":null}]}")),
    (b"[\"\x7f\"]", Ok("[\"\u{7F}\"]")),
];

#[rustfmt::skip]
const PRETTY_ROWS: &[(&[u8], &str)] = &[
    (b"\"\\ud83d\\ude00\"", "\"\u{1F600}\""),
    (b"\"\\ude00x\"", "\"\u{FFFD}x\""),
    (b"\"\\ud83d\\u0041\"", "\"\u{FFFD}A\""),
    (b"\"\xe2\x80\xa8<>&\\u0001\\b\\f\\/\"", "\"\\u2028\\u003c\\u003e\\u0026\\u0001\\b\\f/\""),
    (b"{\"a\":1,\"a\":2}", "{\n  \"a\": 2\n}"),
    (b"{\"b\":1,\"a\":{\"d\":[],\"c\":{}}}", "{\n  \"a\": {\n    \"c\": {},\n    \"d\": []\n  },\n  \"b\": 1\n}"),
    (b"123456789012345678901234567890", "1.2345678901234568e+29"),
    (b"1.7976931348623157e308", "1.7976931348623157e+308"),
    (b"9007199254740993", "9007199254740992"),
    (b"{\"a\":[1,{\"b\":null}]}", "{\n  \"a\": [\n    1,\n    {\n      \"b\": null\n    }\n  ]\n}"),
];
