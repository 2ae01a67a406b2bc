//! Patches and what Kubernetes' own libraries make of them.
//!
//! Each line of the table is an object, a patch and either the object after it or the error with its HTTP code.

use patch::{PatchError, json_patch, merge_patch, strategic};
use schema::node::{Reference, Schema};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct Case {
    mode: String,
    #[serde(default, rename = "type")]
    definition: String,
    object: Value,
    patch: Box<RawValue>,
    result: Option<Value>,
    #[serde(default)]
    error: String,
    #[serde(default)]
    code: u16,
}

impl Case {
    fn run(&self) -> Result<Value, PatchError> {
        let body = self.patch.get().as_bytes();
        match self.mode.as_str() {
            "json" => json_patch::apply(self.object.clone(), body),
            "merge" => Ok(merge_patch::apply(self.object.clone(), body, false)?.object),
            "strategic" => {
                let definition = Reference::Definition {
                    name: self.definition.as_str().into(),
                    beside: Schema::anything().into(),
                };
                Ok(strategic::apply(self.object.clone(), body, &definition, false)?.object)
            }
            other => panic!("no such mode: {other}"),
        }
    }

    fn problem(&self) -> Option<String> {
        match (self.run(), &self.result) {
            (Ok(object), Some(expected)) if text(&object) == text(expected) => None,
            // The comparison of upstream's own texts ends where it panics; any refusal will do.
            (Err(PatchError::Internal(_)), None) if self.error == "PANIC" => None,
            (Err(error), None) if error.to_string() == self.error && error.code() == self.code => None,
            (actual, expected) => Some(format!(
                "{} {} on {}\n  is   {:?}\n  not  {:?} {} {}",
                self.mode,
                self.patch,
                self.object,
                actual.as_ref().map(text),
                expected.as_ref().map(text),
                self.code,
                self.error
            )),
        }
    }
}

/// Go writes a float that is whole without its fraction.
fn text(value: &Value) -> String {
    goyaml::json::to_string(value, goyaml::json::Escape::None).expect("a finite value")
}

#[test]
fn patches_do_what_upstream_does_with_them() {
    let table = std::env::var("PATCH_TABLE").map_or_else(
        |_| include_str!("upstream.jsonl").to_owned(),
        |path| std::fs::read_to_string(path).expect("a table"),
    );
    let problems: Vec<String> = table
        .lines()
        .map(|line| serde_json::from_str::<Case>(line).expect("a case"))
        .filter_map(|case| case.problem())
        .collect();
    assert!(
        problems.is_empty(),
        "{} cases differ:\n{}",
        problems.len(),
        problems.join("\n")
    );
}
