//! Every case of the corpus: what each validator of operator-framework/api and opm say about a bundle.

use std::path::{Path, PathBuf};

use bundle::files::BundleFiles;
use bundle::validation::{self, OpmChecks, OptionalValues, Outcome, Subject};
use serde_json::{Value, json};

/// What the corpus writes for a bundle's directory.
const LOCATION: &str = "$BUNDLE";

/// The bundle of a case: its own, or one that it refers to.
fn bundle_of(case: &Path) -> PathBuf {
    match std::fs::read_to_string(case.join("bundle.ref")) {
        Ok(reference) => case.join(reference.trim()),
        Err(_) => case.join("bundle"),
    }
}

fn sorted(mut messages: Vec<String>) -> Value {
    messages.sort();
    json!(messages)
}

fn texts(findings: &[validation::Finding]) -> Value {
    sorted(findings.iter().map(ToString::to_string).collect())
}

fn outcomes(outcomes: &[Outcome]) -> Value {
    outcomes
        .iter()
        .map(|outcome| {
            json!({"name": outcome.name, "errors": texts(&outcome.errors), "warnings": texts(&outcome.warnings)})
        })
        .collect()
}

/// What opm says where the corpus has an expectation under `key`; nothing for a key that isn't opm's.
fn opm(files: &BundleFiles, key: &str, values: &OptionalValues) -> Option<Value> {
    let content = |checks| validation::opm_content(files, LOCATION, OpmChecks::parse(checks), values);
    Some(sorted(match key {
        "opm-format" => validation::opm_format(files, LOCATION),
        "opm-content" => content(""),
        "opm-content-operatorhub-bundle-objects" => content("operatorhub,bundle-objects"),
        _ => return None,
    }))
}

fn differences(case: &Path) -> Vec<String> {
    let read = std::fs::read(case.join("expect.json")).expect("an expectation");
    let expected: Value = serde_json::from_slice(&read).expect("JSON");
    let files = BundleFiles::read_directory(&bundle_of(case)).expect("a bundle");
    let values = OptionalValues::default();
    let manifests = Subject::load(&files, LOCATION, "manifests");
    let root = Subject::load(&files, LOCATION, "");
    let name = case
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    let mut differences = Vec::new();
    for (key, expected) in expected.as_object().expect("an object") {
        // Upstream falls over here; that is not copied.
        if expected.get("upstream-panics").is_some() {
            continue;
        }
        let actual = opm(&files, key, &values).unwrap_or_else(|| {
            let (validator, subject) = match key.split_once('@') {
                Some((validator, _)) => (validator, &root),
                None => (key.as_str(), &manifests),
            };
            match subject {
                Ok(subject) => outcomes(&subject.run(validator, &values)),
                Err(error) => json!(error),
            }
        });
        if actual != *expected {
            differences.push(format!(
                "{name} {key}\n  expected {expected}\n  actual   {actual}"
            ));
        }
    }
    differences
}

#[test]
fn every_bundle_is_judged_as_upstream_judges_it() {
    let Some(corpus) = corpus::open("catalog") else {
        return;
    };
    let mut cases: Vec<PathBuf> = std::fs::read_dir(corpus.join("catalog-corpus/bundle-validation"))
        .expect("cases")
        .map(|entry| entry.expect("a case").path())
        .collect();
    cases.sort();
    assert!(cases.len() >= 88, "the corpus has {} cases", cases.len());
    let differences: Vec<String> = cases.iter().flat_map(|case| differences(case)).collect();
    assert!(
        differences.is_empty(),
        "{} differ:\n{}",
        differences.len(),
        differences.join("\n")
    );
}
