//! Hostile input is refused, not suffered.

use std::fmt::Write as _;

use goyaml::limits::MAX_VALUE_DEPTH;
use goyaml::{ReadOptions, from_slice, json, to_string, to_string_v3_indented, to_value};
use serde_json::Value;

/// The stack of a worker thread.
const STACK: usize = 2 << 20;

fn on_a_small_stack(work: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new()
        .stack_size(STACK)
        .spawn(work)
        .unwrap()
        .join()
        .unwrap();
}

fn error_text(input: &str) -> String {
    to_value(input.as_bytes()).unwrap_err().to_string()
}

#[test]
fn nesting_beyond_go_yaml_s_limit_has_its_words() {
    on_a_small_stack(|| {
        assert_eq!(
            error_text(&"[".repeat(10_001)),
            "yaml: exceeded max depth of 10000"
        );
        assert_eq!(
            error_text(&"- ".repeat(10_001)),
            "yaml: exceeded max depth of 10000"
        );
        let error =
            json::to_value("[".repeat(10_001).as_bytes(), goyaml::ReadOptions::default()).unwrap_err();
        assert_eq!(error.to_string(), "invalid character '[' exceeded max depth");
    });
}

#[test]
fn nesting_up_to_our_limit_works_on_a_small_stack_and_beyond_is_an_error() {
    on_a_small_stack(|| {
        let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        let deepest = nested(MAX_VALUE_DEPTH);
        let value = to_value(deepest.as_bytes()).unwrap();
        let typed: Value = from_slice(deepest.as_bytes()).unwrap();
        assert_eq!(value, typed);
        assert_eq!(json::to_string(&value, json::Escape::None).unwrap(), deepest);
        assert_eq!(
            json::to_value(deepest.as_bytes(), goyaml::ReadOptions::default()).unwrap(),
            value
        );
        assert!(to_string(&value).is_ok() && to_string_v3_indented(&value).is_ok());

        let maps = format!(
            "{}1{}",
            "{a: ".repeat(MAX_VALUE_DEPTH),
            "}".repeat(MAX_VALUE_DEPTH)
        );
        let value: Value = from_slice(maps.as_bytes()).unwrap();
        assert!(to_string(&value).is_ok());

        let too_deep = nested(MAX_VALUE_DEPTH + 1);
        assert_eq!(error_text(&too_deep), "yaml: exceeded max depth of 1000");
        let error = json::to_value(too_deep.as_bytes(), goyaml::ReadOptions::default()).unwrap_err();
        assert_eq!(error.to_string(), "exceeded max depth of 1000");
        assert!(json::to_value(nested(9_999).as_bytes(), goyaml::ReadOptions::default()).is_err());
    });
}

#[test]
fn a_value_that_never_ends_cannot_be_written() {
    struct Endless;
    impl serde::Serialize for Endless {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_seq([Endless])
        }
    }
    on_a_small_stack(|| {
        assert!(to_string(&Endless).is_err());
        assert!(json::to_string(&Endless, json::Escape::Html).is_err());
    });
}

#[test]
fn aliases_cannot_multiply_without_end() {
    let mut bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n".to_owned();
    for (previous, name) in ('a'..'i').zip('b'..='i') {
        let items = vec![format!("*{previous}"); 9].join(",");
        writeln!(bomb, "{name}: &{name} [{items}]").unwrap();
    }
    assert_eq!(error_text(&bomb), "yaml: document contains excessive aliasing");
    assert_eq!(error_text("a: &a [*a]"), "yaml: anchor 'a' value contains itself");
    assert_eq!(
        error_text("a: &a\n  b: {<<: *a}"),
        "yaml: anchor 'a' value contains itself"
    );
}

#[test]
fn aliases_add_up_to_a_bounded_depth() {
    on_a_small_stack(|| {
        let level = |inner: &str| format!("{}{inner}{}", "[".repeat(600), "]".repeat(600));
        let text = format!("a: &a {}\nb: {}", level("1"), level("*a"));
        assert_eq!(error_text(&text), "yaml: exceeded max depth of 1000");
    });
}

#[test]
fn a_document_may_have_so_many_keys_and_values_and_not_one_more() {
    let options = |most_values| ReadOptions {
        most_values,
        ..ReadOptions::default()
    };
    // With the whole document as a value, each of these has eleven.
    for text in [
        "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]",
        "{a: 1, b: 2, c: 3, d: 4, e: 5}",
        "- {a: 1}\n- {b: 2}\n- {c: 3}\n- x\n",
    ] {
        let read = |most| goyaml::to_value_with(text.as_bytes(), options(Some(most)));
        assert!(read(11).is_ok(), "{text}");
        assert_eq!(
            read(10).unwrap_err().to_string(),
            "yaml: the document has more than 10 keys and values; leave out what isn't needed, or split it",
            "{text}"
        );
    }
    for text in [
        "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]",
        r#"{"a": 1, "b": 2, "c": [4, 5, 6, 7]}"#,
    ] {
        let read = |most| json::to_value(text.as_bytes(), options(Some(most)));
        assert!(read(11).is_ok(), "{text}");
        let error = read(10).unwrap_err().to_string();
        assert!(
            error.starts_with("the document has more than 10 keys and values; "),
            "{error}"
        );
    }
    let aliases = "a: &a [1, 2, 3, 4]\nb: *a\nc: *a\n";
    assert!(to_value(aliases.as_bytes()).is_ok());
    let error = goyaml::to_value_with(aliases.as_bytes(), options(Some(14))).unwrap_err();
    assert!(error.to_string().contains("more than 14 keys"), "{error}");
}
