//! What holds for any input.

use goyaml::json::{self, Escape};
use goyaml::{ReadOptions, documents, from_slice, to_string, to_string_v3_indented, to_value, to_value_with};
use proptest::prelude::*;
use serde::de::IgnoredAny;
use serde_json::{Map, Number, Value};

const STRICT: ReadOptions = ReadOptions {
    strict: true,
    numbers: goyaml::Numbers::Exact,
    most_values: None,
};

/// Characters that go-yaml itself does not read back as written: it forbids some, and takes others for line
/// breaks in the JSON that it is given.
fn survives(character: char) -> bool {
    !matches!(
        character,
        '\u{7F}'..='\u{9F}' | '\u{2028}' | '\u{2029}' | '\u{FFFE}' | '\u{FFFF}'
    )
}

fn text() -> impl Strategy<Value = String> {
    let awkward = prop::sample::select(vec![
        " ",
        "  ",
        "\n",
        "\n\n",
        "\t",
        ":",
        ": ",
        "#",
        " #",
        "- ",
        "?",
        "'",
        "\"",
        "\\",
        "%",
        "@",
        "`",
        "|",
        ">",
        "&",
        "*",
        "!",
        "[",
        "]",
        "{",
        "}",
        ",",
        "~",
        "yes",
        "null",
        "1",
        "0x1",
        "1e3",
        ".inf",
        "---",
        "...",
        "<<",
        "\r",
        "2001-01-01",
        "12:30",
        "word",
        "é",
        "\u{FEFF}",
        "\u{1F600}",
        "\0",
    ]);
    prop_oneof![
        prop::collection::vec(awkward, 0..30).prop_map(|parts| parts.concat()),
        any::<String>().prop_map(|text| text.chars().filter(|&character| survives(character)).collect()),
        prop::collection::vec("[a-z ]{1,12}", 0..30).prop_map(|parts| parts.concat()),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let number = any::<f64>().prop_filter_map("finite", Number::from_f64);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        number.prop_map(Value::Number),
        text().prop_map(Value::from),
    ];
    // go-yaml writes the key `<<` without quotes, and then merges.
    let key = || text().prop_filter("keys are short", |key| key.len() < 160 && key != "<<");
    leaf.prop_recursive(5, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((key(), inner), 0..6)
                .prop_map(|entries| Value::Object(entries.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// What is left of a value after it was JSON: floats that print like integers are integers.
fn through_json(value: &Value) -> Value {
    let text = json::to_string(value, Escape::None).unwrap();
    without_negative_zero(json::to_value(text.as_bytes(), ReadOptions::default()).unwrap())
}

fn without_negative_zero(value: Value) -> Value {
    match value {
        Value::Number(number) if number.as_f64() == Some(0.0) => Value::from(0),
        Value::Array(items) => items.into_iter().map(without_negative_zero).collect(),
        Value::Object(map) => map
            .into_iter()
            .map(|(key, value)| (key, without_negative_zero(value)))
            .collect(),
        other => other,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read_back(value in value()) {
        let written = to_string(&value).unwrap();
        prop_assert_eq!(to_value(written.as_bytes()).unwrap(), through_json(&value), "{}", written);
    }

    #[test]
    fn what_v3_writes_is_read_back_by_v2(value in value()) {
        // v3 begins a block with a tab, which v2 takes for indentation.
        prop_assume!(!value.to_string().contains("\\t"));
        let written = to_string_v3_indented(&value).unwrap();
        let read = without_negative_zero(to_value(written.as_bytes()).unwrap());
        prop_assert_eq!(read, through_json(&value), "{}", written);
    }

    #[test]
    fn a_strict_reader_accepts_what_the_writer_wrote(value in value()) {
        let written = to_string(&value).unwrap();
        prop_assert!(to_value_with(written.as_bytes(), STRICT).is_ok(), "{}", written);
    }

    #[test]
    fn json_is_read_as_yaml_and_as_json_alike(value in value()) {
        let written = json::to_string(&value, Escape::Html).unwrap();
        let as_json = json::to_value(written.as_bytes(), ReadOptions::default()).unwrap();
        prop_assert_eq!(json::to_string(&as_json, Escape::Html).unwrap(), written.as_str());
        let as_yaml = to_value(written.as_bytes()).unwrap();
        prop_assert_eq!(json::to_string(&without_negative_zero(as_yaml), Escape::Html).unwrap(), json::to_string(&without_negative_zero(as_json), Escape::Html).unwrap());
    }

    #[test]
    fn reading_a_type_sees_what_reading_a_value_sees(value in value()) {
        let written = to_string(&value).unwrap();
        let typed: Value = from_slice(written.as_bytes()).unwrap();
        prop_assert_eq!(typed, to_value(written.as_bytes()).unwrap());
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        read_in_every_way(&bytes);
    }

    #[test]
    fn no_scraps_of_yaml_make_the_reader_panic(scraps in prop::collection::vec(prop::sample::select(SCRAPS), 0..40)) {
        read_in_every_way(scraps.concat().as_bytes());
    }

    #[test]
    fn no_string_makes_the_writer_panic(text in any::<String>()) {
        let _ = to_string(&text);
        let _ = to_string_v3_indented(&Value::Object([(text.clone(), Value::from(text))].into_iter().collect()));
    }
}

const SCRAPS: &[&str] = &[
    "a",
    "key",
    ": ",
    ":",
    "- ",
    "-",
    "? ",
    "?",
    "\n",
    "\n  ",
    "\n    ",
    " ",
    "\t",
    "[",
    "]",
    "{",
    "}",
    ", ",
    ",",
    "\"",
    "'",
    "\\",
    "#",
    " #",
    "&a ",
    "*a",
    "!!str ",
    "!!int ",
    "!!binary ",
    "!",
    "!x ",
    "|",
    ">",
    "|-",
    ">+",
    "|2",
    "---",
    "...",
    "\n---\n",
    "%YAML 1.1\n",
    "%TAG ! x\n",
    "<<: ",
    "1",
    "0x1",
    "yes",
    "null",
    "~",
    ".inf",
    "\r\n",
    "\u{85}",
    "\u{2028}",
    "\u{FEFF}",
    "é",
    "\\x41",
    "\\u00",
    "x: {a: 1}\n",
    "\u{7f}",
];

fn read_in_every_way(bytes: &[u8]) {
    let value = to_value(bytes);
    let strict = to_value_with(bytes, STRICT);
    assert!(
        value.is_ok() || strict.is_err(),
        "strict accepts what lenient refuses"
    );
    assert_eq!(from_slice::<Value>(bytes).ok(), value.as_ref().ok().cloned());
    assert_eq!(from_slice::<IgnoredAny>(bytes).is_ok(), value.is_ok());
    for document in documents(bytes) {
        let _ = document.and_then(|document| document.to_value(ReadOptions::default()));
    }
    let _ = json::to_value(bytes, ReadOptions::default());
    if let Ok(value) = value {
        let _ = to_string(&value);
        let _ = to_string_v3_indented(&value);
    }
}
