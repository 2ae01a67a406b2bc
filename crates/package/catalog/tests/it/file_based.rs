//! Catalogs against what upstream's own code made of them: texts, JSON, YAML, mermaid and blobs to the byte.

use std::fs;
use std::path::{Path, PathBuf};

use catalog::graph::mermaid::{self, Options};
use catalog::objects::Catalog;
use catalog::reading::{self, ReadError, Source};
use catalog::{validation, writing};
use serde_json::Value;

/// What a command gives: its output, as far as it came, and its error.
#[derive(Default)]
struct Outcome {
    output: Vec<u8>,
    error: Option<String>,
    warnings: String,
}

impl Outcome {
    fn of(output: Vec<u8>, result: Result<(), impl ToString>) -> Self {
        Self {
            output,
            error: result.err().map(|error| error.to_string()),
            warnings: String::new(),
        }
    }
}

fn blobs(source: Source<'_>) -> Outcome {
    let mut output = Vec::new();
    let result = reading::for_each(source, |meta| {
        output.extend_from_slice(meta.blob);
        if !meta.blob.is_empty() {
            output.push(b'\n');
        }
        Ok::<(), ReadError>(())
    });
    Outcome::of(output, result)
}

fn loaded(source: Source<'_>, command: impl FnOnce(&Catalog) -> Outcome) -> Outcome {
    match reading::read(source) {
        Ok(catalog) => command(&catalog),
        Err(error) => Outcome::of(Vec::new(), Err(error)),
    }
}

fn drawn(catalog: &Catalog, draw_v0_semantics: bool) -> Outcome {
    let options = Options {
        draw_v0_semantics,
        ..Options::default()
    };
    match mermaid::draw(catalog, options) {
        Ok(drawing) => Outcome {
            output: drawing.text.into_bytes(),
            error: None,
            warnings: drawing.warnings.join("\n"),
        },
        Err(error) => Outcome::of(Vec::new(), Err(error)),
    }
}

fn run(command: &str, source: Source<'_>) -> Outcome {
    match command {
        "blobs" => blobs(source),
        "validate" => Outcome::of(Vec::new(), validation::validate_source(source)),
        "write_json" => loaded(source, |catalog| {
            let mut output = Vec::new();
            let result = writing::write_json(catalog, &mut output);
            Outcome::of(output, result)
        }),
        "write_yaml" => loaded(source, |catalog| {
            let mut output = Vec::new();
            let result = writing::write_yaml(catalog, &mut output);
            Outcome::of(output, result)
        }),
        "mermaid" => loaded(source, |catalog| drawn(catalog, true)),
        "mermaid_no_v0" => loaded(source, |catalog| drawn(catalog, false)),
        other => panic!("unknown command {other}"),
    }
}

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).chars().take(2000).collect()
}

/// Compares one command's outcome with its recording, and returns what differs.
fn differences(case: &Path, command: &str, expected: &Value, outcome: &Outcome) -> Vec<String> {
    let mut differences = Vec::new();
    let text = |key: &str| expected.get(key).and_then(Value::as_str);
    if outcome.error.as_deref() != text("error") {
        differences.push(format!(
            "{command}: error {:?}, recorded {:?}",
            outcome.error,
            text("error")
        ));
    }
    let output = match text("file") {
        Some(file) => fs::read(case.join(file)).expect("a recorded file"),
        None => text("partial_out").or(text("out")).unwrap_or_default().into(),
    };
    if outcome.output != output {
        let at = outcome
            .output
            .iter()
            .zip(&output)
            .take_while(|(a, b)| a == b)
            .count();
        let start = at.saturating_sub(60);
        differences.push(format!(
            "{command}: output differs at byte {at}:\n{}\nrecorded\n{}",
            shown(outcome.output.get(start..).unwrap_or_default()),
            shown(output.get(start..).unwrap_or_default())
        ));
    }
    if outcome.warnings != text("stderr").unwrap_or_default() {
        differences.push(format!(
            "{command}: warnings {:?}, recorded {:?}",
            outcome.warnings,
            text("stderr")
        ));
    }
    differences
}

fn cases(folder: &str) -> Vec<PathBuf> {
    let Some(corpus) = corpus::open("catalog") else {
        return Vec::new();
    };
    let mut cases: Vec<PathBuf> = fs::read_dir(corpus.join("catalog-corpus").join(folder))
        .expect("the corpus has the folder")
        .map(|entry| entry.expect("a folder entry").path())
        .filter(|path| path.join("expect.json").is_file())
        .collect();
    cases.sort();
    assert!(cases.len() > 30, "{folder} has only {} cases", cases.len());
    cases
}

fn expectations(case: &Path) -> Vec<(String, Value)> {
    let text = fs::read(case.join("expect.json")).expect("an expectation");
    match serde_json::from_slice(&text).expect("JSON") {
        Value::Object(commands) => commands.into_iter().collect(),
        other => panic!("{other}"),
    }
}

fn compare_all(folder: &str) {
    let mut failures = Vec::new();
    for case in cases(folder) {
        let input = case.join("in");
        for (command, expected) in expectations(&case) {
            let outcome = run(&command, Source::Directory(&input));
            for difference in differences(&case, &command, &expected, &outcome) {
                failures.push(format!("{}: {difference}", case.display()));
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{} differences:\n{}",
        failures.len(),
        failures.join("\n\n")
    );
}

#[test]
fn real_catalogs_come_out_as_upstream_makes_them() {
    compare_all("fbc");
}

#[test]
fn unusual_catalogs_come_out_as_upstream_makes_them() {
    compare_all("fbc-edge");
}

/// Validation in memory is the same as validation of a stream.
#[test]
fn a_catalog_in_memory_is_validated_with_the_same_words() {
    for folder in ["fbc", "fbc-edge"] {
        for case in cases(folder) {
            let input = case.join("in");
            let Ok(catalog) = reading::read_catalog(&input) else {
                continue;
            };
            let in_memory = validation::validate(&catalog)
                .err()
                .map(|error| error.to_string());
            let streamed = validation::validate_directory(&input)
                .err()
                .map(|error| error.to_string());
            assert_eq!(in_memory, streamed, "{}", case.display());
        }
    }
}

/// Files in memory, as from an image, are read in the same order as those on disk.
#[test]
fn files_in_memory_are_read_as_those_on_disk() {
    for case in cases("fbc-edge") {
        let input = case.join("in");
        let mut files = std::collections::BTreeMap::new();
        collect(&input, "", &mut files);
        let (memory, disk) = (blobs(Source::Files(&files)), blobs(Source::Directory(&input)));
        assert_eq!(memory.output, disk.output, "{}", case.display());
        assert_eq!(memory.error, disk.error, "{}", case.display());
    }
}

fn collect(folder: &Path, prefix: &str, files: &mut std::collections::BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if path.is_dir() {
            collect(&path, &format!("{prefix}{name}/"), files);
        } else {
            files.insert(format!("{prefix}{name}"), fs::read(&path).expect("a file"));
        }
    }
}

/// What is written as JSON is read again as the same catalog.
#[test]
fn written_json_reads_back_as_the_same_catalog() {
    for case in cases("fbc") {
        let catalog = reading::read_catalog(&case.join("in")).expect("a catalog");
        let mut first = Vec::new();
        writing::write_json(&catalog, &mut first).expect("JSON");
        let again = reading::read_stream(first.as_slice()).expect("the same catalog");
        let mut second = Vec::new();
        writing::write_json(&again, &mut second).expect("JSON");
        assert_eq!(first, second, "{}", case.display());
    }
}
