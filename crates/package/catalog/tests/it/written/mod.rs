//! Catalogs as text, and how they differ from what is expected.

use std::fs;
use std::path::Path;

use catalog::graph::mermaid::{self, Options};
use catalog::objects::Catalog;
use catalog::writing;

/// A catalog as a stream of JSON objects.
pub(crate) fn json(catalog: &Catalog) -> String {
    let mut out = Vec::new();
    writing::write_json(catalog, &mut out).expect("JSON");
    String::from_utf8(out).expect("text")
}

/// A catalog as a stream of YAML documents.
#[allow(dead_code, reason = "not every test that uses this module writes YAML")]
pub(crate) fn yaml(catalog: &Catalog) -> String {
    let mut out = Vec::new();
    writing::write_yaml(catalog, &mut out).expect("YAML");
    String::from_utf8(out).expect("text")
}

/// A catalog's upgrade graph, with what OLM v0 never offers marked.
#[allow(dead_code, reason = "not every test that uses this module draws")]
pub(crate) fn mermaid(catalog: &Catalog) -> String {
    let options = Options {
        draw_v0_semantics: true,
        ..Options::default()
    };
    mermaid::draw(catalog, options).expect("a drawing").text
}

/// Notes where a text first differs from the file that holds the expected one.
pub(crate) fn compare(ours: &str, expected: &Path, failures: &mut Vec<String>) {
    let theirs = fs::read_to_string(expected).expect("an expectation");
    if ours == theirs {
        return;
    }
    let line = ours
        .lines()
        .zip(theirs.lines())
        .position(|(one, other)| one != other);
    let show = |text: &str| -> String {
        let line = line.and_then(|line| text.lines().nth(line)).unwrap_or("the end");
        line.chars().take(300).collect()
    };
    failures.push(format!(
        "{} line {line:?}:\n  ours   {}\n  theirs {}",
        expected.display(),
        show(ours),
        show(&theirs)
    ));
}

/// Fails if there are failures, and shows them.
pub(crate) fn report(failures: &[String]) {
    assert!(
        failures.is_empty(),
        "{} differ:\n{}",
        failures.len(),
        failures.join("\n")
    );
}
