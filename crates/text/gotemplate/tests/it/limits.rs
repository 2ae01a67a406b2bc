//! Templates from strangers: endless loops, deep nesting and nonsense end in an error, never in a panic.

use std::sync::Arc;

use bytes::Bytes;
use gotemplate::{Executor, Functions, MAX_NESTING, Options, Parsed, Templates, Value};
use proptest::prelude::*;

fn run_with(template: &[u8], options: Options) -> Result<Vec<u8>, String> {
    let parsed = Parsed::new("main", Bytes::copy_from_slice(template), &Functions::default())
        .map_err(|error| error.to_string())?;
    let mut templates = Templates::default();
    templates.add(&parsed);
    let data = Value::map([
        ("list", Value::list((0..3).map(Value::int).collect())),
        ("map", Value::map([("a", Value::from("b"))])),
        ("text", Value::from("text")),
        ("nil", Value::Nil),
    ]);
    Executor::new(Arc::new(templates), options, &())
        .execute(b"main", "main", data)
        .map_err(|error| error.to_string())
}

fn run(template: &str) -> Result<Vec<u8>, String> {
    run_with(template.as_bytes(), Options::default())
}

#[test]
fn a_range_that_does_not_end_is_an_error() {
    let error = run("{{range 1000000000}}{{end}}").expect_err("too many steps");
    assert!(error.contains("doesn't seem to end"), "{error}");
}

#[test]
fn output_that_grows_without_end_is_an_error() {
    let options = Options {
        max_output_bytes: 1000,
        ..Options::default()
    };
    let error = run_with(b"{{range 1000000}}0123456789{{end}}", options).expect_err("too much output");
    assert!(error.contains("output grows over 1000 bytes"), "{error}");
}

#[test]
fn a_template_that_calls_itself_ends_at_gos_limit() {
    let error = run(r#"{{define "r"}}{{template "r" .}}{{end}}{{template "r" .}}"#).expect_err("too deep");
    assert!(
        error.ends_with("exceeded maximum template depth (100000)"),
        "{error}"
    );
}

#[test]
fn nesting_has_a_limit() {
    let blocks = format!(
        "{}x{}",
        "{{if 1}}".repeat(MAX_NESTING + 1),
        "{{end}}".repeat(MAX_NESTING + 1)
    );
    assert!(
        run(&blocks)
            .expect_err("too deep")
            .contains("max expression depth exceeded")
    );
    let parentheses = format!(
        "{{{{{}1{}}}}}",
        "(".repeat(MAX_NESTING + 1),
        ")".repeat(MAX_NESTING + 1)
    );
    assert!(
        run(&parentheses)
            .expect_err("too deep")
            .contains("max expression depth exceeded")
    );
    let chain = format!(
        "{{{{if 0}}}}{}{{{{end}}}}",
        "{{else if 0}}".repeat(MAX_NESTING + 1)
    );
    assert!(
        run(&chain)
            .expect_err("too deep")
            .contains("max expression depth exceeded")
    );
    let allowed = format!(
        "{}x{}",
        "{{if 1}}".repeat(MAX_NESTING - 1),
        "{{end}}".repeat(MAX_NESTING - 1)
    );
    assert_eq!(run(&allowed).expect("deep, but allowed"), b"x");
}

/// Pieces that make templates which often parse.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("{{".to_owned()),
        Just("}}".to_owned()),
        Just("{{-".to_owned()),
        Just(" -}}".to_owned()),
        Just("{{/*".to_owned()),
        Just("*/}}".to_owned()),
        Just("{{if .text}}".to_owned()),
        Just("{{else}}".to_owned()),
        Just("{{else if .nil}}".to_owned()),
        Just("{{end}}".to_owned()),
        Just("{{range $i, $e := .list}}".to_owned()),
        Just("{{with .map}}".to_owned()),
        Just("{{define \"a\"}}".to_owned()),
        Just("{{template \"a\" .}}".to_owned()),
        Just("{{block \"b\" .}}".to_owned()),
        Just("{{break}}".to_owned()),
        Just("{{continue}}".to_owned()),
        Just("{{$x := .map}}".to_owned()),
        Just("{{$x = 1}}".to_owned()),
        Just("{{$x.a}}".to_owned()),
        Just("{{.list | len | printf \"%d\"}}".to_owned()),
        Just("{{index .list 1}}".to_owned()),
        Just("{{slice .text 1 2}}".to_owned()),
        Just("{{eq .a .b}}".to_owned()),
        Just("(".to_owned()),
        Just(")".to_owned()),
        Just("|".to_owned()),
        Just("'\\".to_owned()),
        Just("0x1p-2i".to_owned()),
        Just("1+2i".to_owned()),
        "[ -~\\n]{0,8}",
        "\\PC{0,4}",
    ]
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = run_with(&bytes, Options { max_steps: 10_000, ..Options::default() });
    }

    #[test]
    fn arbitrary_templates_never_panic(pieces in proptest::collection::vec(piece(), 0..30)) {
        let _ = run_with(pieces.concat().as_bytes(), Options { max_steps: 10_000, ..Options::default() });
    }
}
