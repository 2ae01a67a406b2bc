//! Replays what blang/semver and Masterminds/semver were recorded to answer.

use serde_json::Value;
use std::cmp::Ordering;
use std::path::Path;
use version::{Constraint, Edition, Range, Version, VersionRelease};

fn read(corpus: &Path, file: &str) -> Value {
    let path = corpus.join("olmv1-corpus").join(file);
    serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap()
}

/// The rows of a table; a table without rows would pass by testing nothing.
fn rows<'a>(document: &'a Value, table: &str) -> &'a Vec<Value> {
    let rows = document[table]
        .as_array()
        .unwrap_or_else(|| panic!("there is no table {table}"));
    assert!(!rows.is_empty(), "the table {table} is empty");
    rows
}

fn text<'a>(row: &'a Value, field: &str) -> &'a str {
    row[field]
        .as_str()
        .unwrap_or_else(|| panic!("{field} is no text in {row}"))
}

#[test]
fn versions_are_read_as_recorded() {
    let Some(corpus) = corpus::open("olmv1") else {
        return;
    };
    for row in rows(&read(&corpus, "versions/blang-versions.json"), "parse") {
        let input = text(row, "in");
        match Version::parse(input) {
            Ok(version) => assert_eq!(version.to_string(), text(row, "out"), "{input:?}"),
            Err(error) => assert_eq!(error.to_string(), text(row, "error"), "{input:?}"),
        }
    }
}

#[test]
fn versions_are_ordered_as_recorded() {
    let Some(corpus) = corpus::open("olmv1") else {
        return;
    };
    for row in rows(&read(&corpus, "versions/blang-versions.json"), "compare") {
        let version = |index: usize| Version::parse(row[index].as_str().unwrap()).unwrap();
        let expected = row[2].as_i64().unwrap().cmp(&0);
        assert_eq!(version(0).precedence(&version(1)), expected, "{row}");
        assert_eq!(version(1).precedence(&version(0)), expected.reverse(), "{row}");
    }
}

#[test]
fn ranges_match_as_recorded() {
    let Some(corpus) = corpus::open("olmv1") else {
        return;
    };
    let recorded = read(&corpus, "versions/blang.json");
    for row in rows(&recorded, "rows") {
        let range = Range::parse(text(row, "range")).unwrap_or_else(|error| panic!("{row}: {error}"));
        let version = Version::parse(text(row, "version")).unwrap();
        assert_eq!(range.matches(&version), row["matches"], "{row}");
    }
    for row in rows(&recorded, "errors") {
        let error = Range::parse(text(row, "range")).expect_err(text(row, "range"));
        assert_eq!(error.to_string(), text(row, "error"), "{row}");
    }
}

#[test]
fn constraints_match_as_recorded() {
    let Some(corpus) = corpus::open("olmv1") else {
        return;
    };
    let recorded = read(&corpus, "versions/masterminds.json");
    for row in rows(&recorded, "rows") {
        let constraint = Constraint::parse(text(row, "range"), Edition::V3_5)
            .unwrap_or_else(|error| panic!("{row}: {error}"));
        let version = Version::parse(text(row, "version")).unwrap();
        assert_eq!(constraint.check(&version), row["matches"], "{row}");
        assert_eq!(constraint.validate(&version).is_ok(), row["matches"], "{row}");
    }
    for row in rows(&recorded, "errors") {
        let error = Constraint::parse(text(row, "range"), Edition::V3_5).expect_err(text(row, "range"));
        assert_eq!(error.to_string(), text(row, "error"), "{row}");
    }
}

#[test]
fn releases_are_read_and_ordered_as_recorded() {
    let Some(corpus) = corpus::open("olmv1") else {
        return;
    };
    let recorded = read(&corpus, "resolve/cases.json");
    for row in rows(&recorded, "versionAndRelease") {
        let Some(Ok(property)) = row["property"].as_str().map(serde_json::from_str::<Value>) else {
            continue;
        };
        let explicit = property["release"].as_str().filter(|_| row["gate"] == true);
        let read = match explicit {
            Some(release) => VersionRelease::from_fields(text(&property, "version"), release).ok(),
            None => VersionRelease::from_build_metadata(text(&property, "version")).ok(),
        };
        assert_eq!(read.is_none(), row["error"] == true, "{row}");
        if let Some(read) = read {
            assert_eq!(read.version.to_string(), text(row, "version"), "{row}");
            assert_eq!(
                read.release.map(|release| release.to_string()).as_deref(),
                row["release"].as_str(),
                "{row}"
            );
        }
    }
    for row in rows(&recorded, "sortByVersionAndRelease") {
        let versions = |field: &str| -> Vec<VersionRelease> {
            let texts = row[field].as_array().unwrap().iter().filter_map(Value::as_str);
            texts
                .filter_map(|text| VersionRelease::from_build_metadata(text).ok())
                .collect()
        };
        let mut sorted = versions("input");
        sorted.sort_by(|one, other| other.precedence(one));
        assert_eq!(sorted, versions("expected"), "{row}");
    }
    for row in rows(&recorded, "statusMetadata") {
        let release = row["release"].as_str();
        let read = match release {
            Some(release) => VersionRelease::from_fields(text(row, "version"), release).unwrap(),
            None => VersionRelease {
                version: text(row, "version").parse().unwrap(),
                release: None,
            },
        };
        if row["gate"] == false {
            assert_eq!(
                read.to_build_metadata().to_string(),
                text(&row["expected"], "version"),
                "{row}"
            );
        }
    }
}

#[test]
fn constraints_ignore_build_metadata_as_recorded() {
    let Some(corpus) = corpus::open("olmv1") else {
        return;
    };
    for row in rows(&read(&corpus, "resolve/cases.json"), "versionRange") {
        let constraint = Constraint::parse(row[0].as_str().unwrap(), Edition::V3_5);
        assert_eq!(constraint.is_err(), row[2] == "error", "{row}");
        if let Ok(constraint) = constraint {
            let version = Version::parse(row[1].as_str().unwrap()).unwrap();
            assert_eq!(constraint.check(&version), row[2], "{row}");
            assert_eq!(version.precedence(&version.without_build()), Ordering::Equal);
        }
    }
}
