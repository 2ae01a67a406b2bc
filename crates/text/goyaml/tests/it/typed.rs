//! Reading into types, by the rules that Go has for structs.

use std::collections::BTreeMap;

use goyaml::{from_str, from_str_strict};
use serde::Deserialize;
use serde::de::IgnoredAny;

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Chart {
    version: String,
    count: i32,
    flag: bool,
    share: f64,
    names: Vec<String>,
    labels: BTreeMap<String, String>,
    home: Option<String>,
}

fn read(text: &str) -> Chart {
    from_str(text).unwrap()
}

#[test]
fn a_number_or_bool_is_welcome_where_text_is_wanted() {
    for (text, expected) in [
        ("version: 1.10", "1.1"),
        ("version: 1e3", "1000"),
        ("version: 0777", "511"),
        ("version: yes", "true"),
        ("version: 18446744073709551615", "18446744073709551615"),
        ("version: 1.23456789", "1.2345679"),
        ("version: 2001-01-01", "2001-01-01"),
        ("version: ~", ""),
    ] {
        assert_eq!(read(text).version, expected, "{text}");
    }
    assert_eq!(read("names: [1, yes, ~, 1.5]").names, ["1", "true", "", "1.5"]);
    let labels =
        [("2", "3"), ("a", "1"), ("b", "false")].map(|(key, value)| (key.to_owned(), value.to_owned()));
    assert_eq!(read("labels: {a: 1, b: no, 2: 3}").labels, labels.into());
    assert_eq!(read("home: 5").home.as_deref(), Some("5"));
}

#[test]
fn a_float_without_a_fraction_is_an_integer() {
    assert_eq!(read("count: 1e3").count, 1000);
    assert_eq!(read("count: 3.0").count, 3);
    assert_eq!(read("share: 3").share, 3.0);
    assert!(from_str::<Chart>("count: 1.5").is_err());
}

#[test]
fn null_leaves_the_zero_value() {
    let text = "version: ~\ncount: ~\nflag: ~\nshare: ~\nnames: ~\nlabels: ~\nhome: ~";
    assert_eq!(read(text), Chart::default());
    assert_eq!(read(""), Chart::default());
    assert_eq!(read("---\n..."), Chart::default());
}

#[test]
fn field_names_match_whatever_their_case_and_the_exact_one_wins() {
    assert_eq!(read("VERSION: x").version, "x");
    assert_eq!(read("version: a\nVersion: b").version, "a");
    assert_eq!(read("Version: b\nversion: a").version, "a");
    assert!(from_str_strict::<Chart>("VERSION: x").is_ok());
}

#[test]
fn the_last_of_repeated_keys_counts_unless_the_reader_is_strict() {
    assert_eq!(read("count: 1\ncount: 2").count, 2);
    let error = from_str_strict::<Chart>("count: 1\ncount: 2").unwrap_err();
    assert_eq!(
        error.to_string(),
        "yaml: unmarshal errors:\n  line 2: key \"count\" already set in map"
    );
}

#[test]
fn an_unknown_field_is_an_error_for_a_strict_reader_only() {
    assert_eq!(read("other: 1"), Chart::default());
    let error = from_str_strict::<Chart>("other: 1").unwrap_err();
    assert_eq!(
        error.in_sigs_words(),
        "error unmarshaling JSON: while decoding JSON: json: unknown field \"other\""
    );
}

#[derive(Debug, Deserialize)]
struct Named {
    name: String,
}

#[test]
fn what_is_skipped_is_checked_all_the_same() {
    assert_eq!(
        from_str::<Named>("name: x\nrest: {a: [1, 2], b: {c: d}}")
            .unwrap()
            .name,
        "x"
    );
    let text = |input: &str| from_str::<Named>(input).unwrap_err().in_sigs_words();
    assert_eq!(
        text("name: x\nrest: .inf"),
        "error converting YAML to JSON: json: unsupported value: +Inf"
    );
    assert_eq!(
        text("name: x\nrest: !!int a"),
        "error converting YAML to JSON: yaml: cannot decode !!str `a` as a !!int"
    );
    assert!(text("name: x\nrest: {~: 1}").contains("unsupported map key of type"));
    assert!(from_str::<IgnoredAny>("{a: b}}").is_ok());
    assert!(from_str::<IgnoredAny>("{a: b").is_err());
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Shape {
    Point,
    Circle(f64),
    Box { width: u8, height: u8 },
    Path(u8, u8),
}

#[test]
fn enums_are_a_word_or_an_object_with_one_key() {
    let shapes: Vec<Shape> =
        from_str("[point, {circle: 1}, {box: {width: 1, height: 2}}, {path: [1, 2]}]").unwrap();
    assert_eq!(
        shapes,
        [
            Shape::Point,
            Shape::Circle(1.0),
            Shape::Box { width: 1, height: 2 },
            Shape::Path(1, 2)
        ]
    );
    assert!(from_str::<Shape>("{circle: 1, point: 2}").is_err());
}

#[test]
fn merged_mappings_and_aliases_reach_types_too() {
    let text = "base: &b {version: a, count: 1}\nuse:\n  <<: *b\n  count: 2\nagain: *b";
    let charts: BTreeMap<String, Chart> = from_str(text).unwrap();
    assert_eq!((charts["use"].version.as_str(), charts["use"].count), ("a", 2));
    assert_eq!(charts["again"], charts["base"]);
}

#[test]
fn keys_may_be_numbers() {
    let map: BTreeMap<u16, bool> = from_str("{1: y, 0x10: n}").unwrap();
    assert_eq!(map, [(1, true), (16, false)].into());
}
