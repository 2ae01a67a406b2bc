//! Every bundle of the corpus renders as opm renders it, byte for byte, or fails with opm's text.

use std::fs;
use std::path::Path;

use bundle::files::BundleFiles;
use catalog::metadata::{self, Metadata, MigrationLevel};
use catalog::objects::Catalog;
use catalog::rendering::{RenderedBundle, render};

use crate::written;

/// The image that the corpus gives to bundles made by hand.
const MADE_IMAGE: &str = "quay.io/made/bundle:x";

fn json(rendered: &RenderedBundle) -> String {
    written::json(&Catalog {
        bundles: vec![rendered.bundle.clone()],
        ..Catalog::default()
    })
}

/// Renders and migrates one bundle, and compares both with the files `expected.json` and `expected.migrated.json`.
fn check(directory: &Path, image: &str, expected: &Path, failures: &mut Vec<String>) -> Result<(), String> {
    let files = BundleFiles::read_directory(directory).expect("a bundle");
    let mut rendered = render(&files, image).map_err(|error| error.to_string())?;
    let beside = |ending: &str| expected.with_file_name(format!("{}{ending}", name_of(expected)));
    written::compare(&json(&rendered), &beside(".json"), failures);
    rendered
        .migrate(Metadata::Full)
        .map_err(|error| format!("migrate: {error}"))?;
    written::compare(&json(&rendered), &beside(".migrated.json"), failures);
    Ok(())
}

fn name_of(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).expect("a name")
}

#[test]
fn real_bundles_render_as_opm_renders_them() {
    let Some(corpus) = corpus::open("catalog") else {
        return;
    };
    let corpus = corpus.join("catalog-corpus");
    let index = fs::read_to_string(corpus.join("bundles/index.tsv")).expect("an index");
    let mut failures = Vec::new();
    for line in index.lines() {
        let mut columns = line.split('\t');
        let (directory, image) = (
            columns.next().expect("a directory"),
            columns.next().expect("an image"),
        );
        let expected = corpus.join(directory.replacen("bundles/", "bundles-expected/", 1));
        if let Err(error) = check(&corpus.join(directory), image, &expected, &mut failures) {
            failures.push(format!("{directory}: {error}"));
        }
    }
    assert!(index.lines().count() > 100, "the index lists every bundle");
    written::report(&failures);
}

#[test]
fn a_whole_catalog_is_migrated_as_its_bundles_are_and_minified_in_two_ways_alike() {
    let Some(corpus) = corpus::open("catalog") else {
        return;
    };
    let corpus = corpus.join("catalog-corpus");
    let mut seen_descriptors = false;
    for case in fs::read_dir(corpus.join("bundles-made")).expect("cases") {
        let directory = case.expect("a case").path();
        let files = BundleFiles::read_directory(&directory).expect("a bundle");
        let Ok(plain) = render(&files, MADE_IMAGE) else {
            continue;
        };
        let migrated = |metadata| {
            let mut rendered = plain.clone();
            rendered.migrate(metadata).ok().map(|()| json(&rendered))
        };
        let (full, minified) = (migrated(Metadata::Full), migrated(Metadata::Minified));
        let mut catalog = Catalog {
            bundles: vec![plain.bundle.clone()],
            ..Catalog::default()
        };
        let migration = metadata::migrate(&mut catalog, MigrationLevel::All, Metadata::Full);
        assert_eq!(
            migration.ok().map(|()| written::json(&catalog)),
            full,
            "{directory:?}"
        );
        let (Some(full), Some(minified)) = (full, minified) else {
            continue;
        };
        metadata::minify(&mut catalog);
        let values = |text: &str| {
            let stream = serde_json::Deserializer::from_str(text).into_iter::<serde_json::Value>();
            stream.collect::<Result<Vec<_>, _>>().expect("JSON")
        };
        assert_eq!(
            values(&written::json(&catalog)),
            values(&minified),
            "{directory:?}"
        );
        seen_descriptors |= full.contains("specDescriptors");
        assert!(!minified.contains("specDescriptors"));
    }
    assert!(seen_descriptors, "some bundle has something to leave out");
}

#[test]
fn bundles_without_an_image_keep_their_objects() {
    let Some(corpus) = corpus::open("catalog") else {
        return;
    };
    let corpus = corpus.join("catalog-corpus");
    let mut failures = Vec::new();
    let mut count = 0;
    for file in fs::read_dir(corpus.join("bundles-expected/no-image")).expect("expectations") {
        let file = file.expect("an expectation").path();
        let Some(name) = name_of(&file)
            .strip_suffix(".json")
            .filter(|name| !name.ends_with(".migrated"))
        else {
            continue;
        };
        count += 1;
        let directory = corpus.join("bundles").join(name.replace("__", "/"));
        check(&directory, "", &file.with_file_name(name), &mut failures).expect("it renders");
    }
    assert!(count > 0, "there are some");
    written::report(&failures);
}

#[test]
fn made_bundles_render_or_fail_as_opm_says() {
    let Some(corpus) = corpus::open("catalog") else {
        return;
    };
    let corpus = corpus.join("catalog-corpus");
    let mut failures = Vec::new();
    let mut count = 0;
    for case in fs::read_dir(corpus.join("bundles-made")).expect("cases") {
        let directory = case.expect("a case").path();
        let name = name_of(&directory).to_owned();
        count += 1;
        let expected = corpus.join("bundles-made-expected").join(&name);
        let error = check(&directory, MADE_IMAGE, &expected, &mut failures).err();
        let theirs = fs::read_to_string(expected.with_file_name(format!("{name}.err"))).ok();
        let ours = error.map(|error| format!("render reference \"bundles-made/{name}\": {error}"));
        if ours.as_deref() != theirs.as_deref().map(|text| text.trim_end_matches('\n')) {
            failures.push(format!("{name}:\n  ours   {ours:?}\n  theirs {theirs:?}"));
        }
    }
    assert!(count > 50, "every case is there");
    written::report(&failures);
}
