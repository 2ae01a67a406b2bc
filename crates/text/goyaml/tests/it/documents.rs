//! Streams of several documents.

use goyaml::{Error, ReadOptions, chunks, documents};
use serde_json::{Value, json};

fn values(text: &str) -> Vec<(usize, Result<Value, String>)> {
    let value = |document: Result<goyaml::Document<'_>, Error>| match document {
        Ok(document) => (
            document.line(),
            document
                .to_value(ReadOptions::default())
                .map_err(|error| error.to_string()),
        ),
        Err(error) => (error.line().unwrap_or(0), Err(error.to_string())),
    };
    documents(text.as_bytes()).map(value).collect()
}

#[test]
fn each_document_has_a_value_and_a_line() {
    assert_eq!(
        values("a: 1\n---\n# note\nb: |\n  x\n  y\n...\n---\n---\n[c]\n"),
        [
            (1, Ok(json!({"a": 1}))),
            (2, Ok(json!({"b": "x\ny\n"}))),
            (8, Ok(json!(null))),
            (9, Ok(json!(["c"]))),
        ]
    );
    assert_eq!(values(""), []);
    assert_eq!(values("# nothing\n"), []);
}

#[test]
fn a_syntax_error_ends_the_stream_and_a_value_error_does_not() {
    assert_eq!(
        values("a: !!int x\n---\nb: 2\n---\nc: [\n---\nd: 4"),
        [
            (1, Err("yaml: cannot decode !!str `x` as a !!int".to_owned())),
            (2, Ok(json!({"b": 2}))),
            (
                6,
                Err("yaml: line 5: did not find expected node content".to_owned())
            ),
        ]
    );
}

#[test]
fn anchors_and_folded_text_do_not_leak_between_documents() {
    assert_eq!(
        values("a: &x 'it''s'\nb: *x\n---\na: *x\n"),
        [
            (1, Ok(json!({"a": "it's", "b": "it's"}))),
            (4, Err("yaml: unknown anchor 'x' referenced".to_owned())),
        ]
    );
    assert_eq!(
        values("a: 'x''y'\n--- 'z''w'\n"),
        [(1, Ok(json!({"a": "x'y"}))), (2, Ok(json!("z'w")))]
    );
}

#[test]
fn chunks_are_cut_at_separator_lines_without_parsing() {
    let cut = |text: &'static str| -> Vec<(usize, &str)> {
        chunks(text.as_bytes())
            .map(|chunk| (chunk.line, std::str::from_utf8(chunk.bytes).unwrap()))
            .collect()
    };
    assert_eq!(
        cut("---\na\n--- # note\nb: ]\n---x\n---\n---\nc"),
        [(2, "a\n"), (4, "b: ]\n---x\n"), (8, "c")]
    );
    assert_eq!(cut("a\n ---\nb"), [(1, "a\n ---\nb")]);
    assert_eq!(cut(""), []);
    assert_eq!(cut("---"), []);
}
