//! Small catalogs that show one rule each.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use catalog::canonical;
use catalog::graph::mermaid::{self, Options};
use catalog::listing::DisplayNames;
use catalog::reading::{self, ReadError, Source};
use catalog::writing::{self, Format};
use catalog::{listing, validation};

const CATALOG: &str = r#"
{"schema": "olm.package", "name": "foo", "defaultChannel": "stable"}
{"schema": "olm.package", "name": "bar", "defaultChannel": "beta"}
{"schema": "olm.channel", "package": "foo", "name": "stable", "entries": [
  {"name": "foo.v0.1.0"},
  {"name": "foo.v0.2.0", "replaces": "foo.v0.1.0", "skips": ["foo.v0.1.1", "foo.v0.1.2"], "skipRange": "<0.2.0"}]}
{"schema": "olm.channel", "package": "bar", "name": "beta", "entries": [{"name": "bar.v0.1.0"}]}
{"schema": "olm.bundle", "package": "foo", "name": "foo.v0.1.0", "image": "quay.io/foo/bundle:1",
 "properties": [{"type": "olm.package", "value": {"packageName": "foo", "version": "0.1.0"}}]}
{"schema": "olm.bundle", "package": "foo", "name": "foo.v0.2.0", "image": "quay.io/foo/bundle:2",
 "properties": [{"type": "olm.package", "value": {"packageName": "foo", "version": "0.2.0"}},
  {"type": "olm.bundle.object", "value": {"data":
   "eyJhcGlWZXJzaW9uIjoib3BlcmF0b3JzLmNvcmVvcy5jb20vdjFhbHBoYTEiLCJraW5kIjoiQ2x1c3RlclNlcnZpY2VWZXJzaW9uIiwic3BlYyI6eyJkaXNwbGF5TmFtZSI6IkZvbyBPcGVyYXRvciJ9fQ=="}}]}
{"schema": "olm.bundle", "package": "bar", "name": "bar.v0.1.0", "image": "quay.io/bar/bundle:1",
 "properties": [{"type": "olm.package", "value": {"packageName": "bar", "version": "0.1.0"}}]}
{"schema": "custom.root", "x": 1}
"#;

fn files(content: &str) -> BTreeMap<String, Vec<u8>> {
    BTreeMap::from([("catalog.yaml".to_owned(), content.as_bytes().to_vec())])
}

fn blobs(content: &str) -> Result<Vec<String>, String> {
    let mut blobs = Vec::new();
    let result = reading::for_each(Source::Files(&files(content)), |meta| {
        blobs.push(String::from_utf8_lossy(meta.blob).into_owned());
        Ok::<(), ReadError>(())
    });
    result.map(|()| blobs).map_err(|error| error.to_string())
}

#[test]
fn tables_list_packages_channels_and_bundles_by_name() {
    let catalog = reading::read_stream(CATALOG.as_bytes()).expect("a catalog");
    assert_eq!(
        listing::packages(&catalog, DisplayNames::OfManifests).expect("valid"),
        "NAME  DISPLAY NAME  DEFAULT CHANNEL\n\
         bar                 beta\n\
         foo   Foo Operator  stable\n"
    );
    assert_eq!(
        listing::channels(&catalog, None).expect("valid"),
        "PACKAGE  CHANNEL  HEAD\n\
         bar      beta     bar.v0.1.0\n\
         foo      stable   foo.v0.2.0\n"
    );
    assert_eq!(
        listing::bundles(&catalog, Some("foo")).expect("valid"),
        "PACKAGE  CHANNEL  BUNDLE      REPLACES    SKIPS                  SKIP RANGE  IMAGE\n\
         foo      stable   foo.v0.1.0                                                 quay.io/foo/bundle:1\n\
         foo      stable   foo.v0.2.0  foo.v0.1.0  foo.v0.1.1,foo.v0.1.2  <0.2.0      quay.io/foo/bundle:2\n"
    );
    let error = listing::channels(&catalog, Some("nope")).expect_err("no such package");
    assert_eq!(error.to_string(), "package \"nope\" not found");
}

#[test]
fn packages_have_the_names_that_metadata_in_place_of_manifests_tells() {
    let of_bar = r#"{"type": "olm.package", "value": {"packageName": "bar", "version": "0.1.0"}}"#;
    let metadata = r#"{"type": "olm.csv.metadata", "value": {"displayName": "Bar, the Operator"}}"#;
    let text = CATALOG.replace(of_bar, &format!("{of_bar}, {metadata}"));
    let catalog = reading::read_stream(text.as_bytes()).expect("a catalog");
    for (names, of_bar) in [
        (
            DisplayNames::OfMetadata,
            "bar   Bar, the Operator  beta\nfoo   Foo Operator       stable\n",
        ),
        (
            DisplayNames::OfManifests,
            "bar                 beta\nfoo   Foo Operator  stable\n",
        ),
    ] {
        let table = listing::packages(&catalog, names).expect("valid");
        let (_, rows) = table.split_once('\n').expect("a heading");
        assert_eq!(rows, of_bar, "{names:?}");
    }
}

#[test]
fn a_graph_starts_at_the_oldest_bundle_that_is_asked_for() {
    let catalog = reading::read_stream(CATALOG.as_bytes()).expect("a catalog");
    let options = Options {
        minimum_edge: "foo.v0.2.0",
        ..Options::default()
    };
    let drawing = mermaid::draw(&catalog, options).expect("a drawing");
    assert!(!drawing.text.contains("bar"), "{}", drawing.text);
    assert!(!drawing.text.contains("foo.v0.1.0"), "{}", drawing.text);
    let options = Options {
        minimum_edge: "foo.v9",
        ..Options::default()
    };
    let error = mermaid::draw(&catalog, options).expect_err("no such bundle");
    assert_eq!(error.to_string(), "unknown minimum edge name: \"foo.v9\"");
}

#[test]
fn a_directory_has_a_file_per_package_and_one_for_the_rest() {
    let catalog = reading::read_stream(CATALOG.as_bytes()).expect("a catalog");
    for format in [Format::Json, Format::Yaml] {
        let directory = tempfile::tempdir().expect("a directory");
        writing::write_directory(&catalog, directory.path(), format).expect("written");
        let mut names: Vec<String> = fs::read_dir(directory.path())
            .expect("a directory")
            .map(|entry| {
                entry
                    .expect("an entry")
                    .file_name()
                    .to_string_lossy()
                    .into_owned()
            })
            .collect();
        names.sort();
        assert_eq!(names, ["bar", &format!("catalog.{format}"), "foo"]);
        let again = reading::read_catalog(directory.path()).expect("the same catalog");
        let (mut first, mut second) = (Vec::new(), Vec::new());
        writing::write_json(&catalog, &mut first).expect("JSON");
        writing::write_json(&again, &mut second).expect("JSON");
        assert_eq!(first, second);
        validation::validate_directory(directory.path()).expect("valid");
    }
}

#[test]
fn a_package_name_never_leads_out_of_the_directory() {
    for name in ["..", "/etc", "../x", "a/../../x"] {
        let text = format!(r#"{{"schema": "olm.package", "name": "{name}"}}"#);
        let catalog = reading::read_stream(text.as_bytes()).expect("a catalog");
        let directory = tempfile::tempdir().expect("a directory");
        let error = writing::write_directory(&catalog, &directory.path().join("out"), Format::Json);
        assert_eq!(
            error.expect_err("refused").to_string(),
            format!("invalid package name {name:?}: must be a single local path element")
        );
    }
}

#[test]
fn json_that_fails_early_is_tried_as_yaml_and_the_error_is_about_json() {
    assert_eq!(
        blobs("{\"schema\": \"a\"}\n---\nschema: b\n"),
        Ok(vec![
            r#"{"schema":"a"}"#.to_owned(),
            r#"{"schema":"b"}"#.to_owned()
        ])
    );
    assert_eq!(
        blobs("{\"schema\": \"a\" \"b\": [}\n"),
        Err("json: offset 16: invalid character '\"' after object key:value pair".to_owned())
    );
    assert_eq!(
        blobs("{\"schema\":\"a\"} {\"schema\":\"b\"} {\"schema\":,}"),
        Err("invalid character ',' looking for beginning of value".to_owned())
    );
    assert_eq!(blobs("{\"schema\": \"a\""), Err("unexpected EOF".to_owned()));
}

#[test]
fn objects_are_found_wherever_the_stream_is_cut() {
    let long = "x".repeat(300_000);
    let mut content = String::new();
    for index in 0..8 {
        write!(
            content,
            "{{\"schema\": \"a\", \"n\": {index}, \"t\": \"{long}é\\n\"}}\n  "
        )
        .expect("memory");
    }
    let blobs = blobs(&content).expect("objects");
    assert_eq!(blobs.len(), 8);
    assert!(blobs.iter().all(|blob| blob.ends_with("é\\n\"}")));
}

#[test]
fn nesting_has_go_s_limit_and_does_not_use_the_stack() {
    let nested = |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
    let mut out = Vec::new();
    let deep = nested(9_999);
    canonical::append(deep.as_bytes(), &mut out).expect("as deep as Go goes");
    assert_eq!(out, deep.as_bytes());
    let error = canonical::append(nested(10_000).as_bytes(), &mut out).expect_err("too deep");
    assert_eq!(error.to_string(), "invalid character '[' exceeded max depth");
}

#[test]
fn what_is_no_object_is_refused_with_the_place_marked() {
    let error = |text: &str| {
        canonical::append(text.as_bytes(), &mut Vec::new())
            .expect_err("refused")
            .to_string()
    };
    assert_eq!(
        error("[1]"),
        "json: cannot unmarshal array into Go value of type map[string]interface {} at offset 1 (indicated by <==)\n\
         [ <== \n    1\n]"
    );
    assert_eq!(
        error(r#"{"a": 1e400}"#),
        "json: cannot unmarshal number 1e400 into Go value of type float64 at offset 12 (indicated by <==)\n\
         {\n    \"a\": 1e400\n} <=="
    );
    assert_eq!(error("{} x"), "invalid character 'x' after top-level value");
}

#[test]
fn keys_in_another_case_are_found_and_collisions_are_told() {
    let head = canonical::head(br#"{"SCHEMA": "a", "Pac\u212aage": "b", "name": "c"}"#).expect("a head");
    assert_eq!((&*head.schema, &*head.package, &*head.name), ("a", "b", "c"));
    let error = canonical::head(br#"{"A": 1, "a": 2, "B": 3, "b": 4}"#).expect_err("collisions");
    assert_eq!(
        error.to_string(),
        "[duplicate keys for key \"a\": [A a], duplicate keys for key \"b\": [B b]]"
    );
}
