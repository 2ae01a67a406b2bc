//! The recorded cases of upstream's check of definitions.

use std::fs;
use std::path::{Path, PathBuf};

use apply::definition_safety::{Check, Checks, examine, preflight, text};
use proptest::prelude::*;
use serde_json::{Value, json};

fn folder() -> Option<PathBuf> {
    Some(corpus::open("olmv1")?.join("olmv1-corpus/crd-upgrade-safety"))
}

fn cases(folder: &Path) -> Value {
    let bytes = fs::read(folder.join("cases.json")).expect("the cases");
    serde_json::from_slice(&bytes).expect("JSON")
}

fn rows(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn message(old: &Value, new: &Value) -> Option<String> {
    examine(old, new, &Checks::all())
        .expect("readable definitions")
        .map(|found| found.to_string())
}

/// A definition with one property `.spec.f` in version `v1`.
fn with_property(property: Option<&Value>) -> Value {
    let mut spec = json!({"type": "object"});
    if let Some(property) = property {
        spec["properties"] = json!({"f": property});
    }
    let schema = json!({"type": "object", "properties": {"spec": spec}});
    json!({
        "metadata": {"name": "tests.example.com"},
        "spec": {
            "scope": "Namespaced",
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
    })
}

#[test]
fn files_are_judged_as_upstream_judges_them() {
    let Some(folder) = folder() else { return };
    let mut judged = 0;
    for row in rows(&cases(&folder)["files"]) {
        let id = row["id"].as_str().expect("an id");
        let read = |name: &Value| {
            let name = name.as_str()?;
            Some(serde_json::from_slice::<Value>(
                &fs::read(folder.join(name)).expect("a manifest"),
            ))
        };
        let existing = |_: &str| match (row["getError"].as_str(), read(&row["old"])) {
            (Some(fault), _) => Err(fault.to_owned()),
            (None, old) => Ok(old.map(|old| old.expect("JSON"))),
        };
        let message = match read(&row["new"]).transpose() {
            Ok(new) => {
                let objects: Vec<Value> = new.into_iter().collect();
                preflight(&objects, existing, &Checks::all())
                    .err()
                    .map(|fault| fault.to_string())
            }
            Err(fault) => Some(fault.to_string()),
        };
        assert_eq!(message.is_none(), row["ok"] == true, "{id}: {message:?}");
        let message = message.unwrap_or_default();
        for part in rows(&row["errorContains"]) {
            let part = part.as_str().expect("a text");
            // Any words for a file that isn't JSON.
            let free = part.starts_with("json:");
            assert!(free || message.contains(part), "{id}: {message} lacks {part}");
        }
        for part in rows(&row["errorNotContains"]) {
            assert!(
                !message.contains(part.as_str().expect("a text")),
                "{id}: {message} has {part}"
            );
        }
        judged += 1;
    }
    assert_eq!(judged, 18);
}

#[test]
fn a_change_of_a_property_is_told_in_upstreams_words() {
    let Some(folder) = folder() else { return };
    let cases = cases(&folder);
    let rows = rows(&cases["properties"]["rows"]);
    assert!(!rows.is_empty());
    for row in rows {
        let (old, new) = (
            with_property(row["oldProperty"].as_object().map(|_| &row["oldProperty"])),
            with_property(Some(&row["newProperty"])),
        );
        let expected = row["error"]
            .as_str()
            .map(|error| format!("validating upgrade for CRD \"tests.example.com\": {error}"));
        assert_eq!(message(&old, &new), expected, "{}", row["id"]);
    }
}

#[test]
fn a_change_of_the_whole_definition_is_told_in_upstreams_words() {
    let Some(folder) = folder() else { return };
    let definition = |said: &Value| {
        let property = said["properties"]["spec.f"]
            .as_str()
            .map(|kind| json!({"type": kind}));
        let mut definition = with_property(property.as_ref());
        if let Some(scope) = said["scope"].as_str() {
            definition["spec"]["scope"] = scope.into();
        }
        if !said["storedVersions"].is_null() {
            definition["status"]["storedVersions"] = said["storedVersions"].clone();
        }
        definition
    };
    let cases = cases(&folder);
    let rows = rows(&cases["crdWide"]);
    assert_eq!(rows.len(), 3);
    for row in rows {
        let found = message(&definition(&row["oldCrd"]), &definition(&row["newCrd"])).expect("a finding");
        let expected = row["error"].as_str().expect("a text");
        assert_eq!(
            found,
            format!("validating upgrade for CRD \"tests.example.com\": {expected}"),
            "{}",
            row["id"]
        );
    }
}

/// Definitions made at random, and what upstream's checker says of them; where its answer varies from run to run, or its
/// order does, no row or no order is kept.
#[test]
fn random_changes_are_told_in_upstreams_words() {
    let rows = include_str!("upstream.jsonl").lines();
    for (index, row) in rows.enumerate() {
        let row: Value = serde_json::from_str(row).expect("JSON");
        let found = examine(&row["old"], &row["new"], &Checks::all()).expect("readable definitions");
        let findings = found.expect("findings").findings;
        let mut lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
        lines.sort();
        assert_eq!(Value::from(lines), row["lines"], "row {}", index + 1);
    }
}

#[test]
fn a_check_that_is_left_out_finds_nothing_and_is_no_unhandled_change() {
    let old = with_property(Some(&json!({"type": "string"})));
    let new = with_property(Some(
        &json!({"type": "string", "pattern": "^a$", "default": "a", "maxLength": 3}),
    ));
    let found = |skip: &str| {
        let checks = Checks::without(skip).expect("known checks");
        let found = examine(&old, &new, &checks).expect("readable");
        found.map_or_else(Vec::new, |found| {
            found.findings.iter().map(|finding| finding.check).collect()
        })
    };
    assert_eq!(found(""), [Check::Default, Check::MaxLength, Check::Pattern]);
    assert_eq!(found(" pattern, default"), [Check::MaxLength]);
    assert_eq!(found("pattern,default,maxLength"), []);
    assert_eq!(
        Checks::without("patern").expect_err("a wrong name").to_string(),
        "unknown check \"patern\" in annotation \"baton-olm.dev/crd-safety-skip\"; name one or more of \
         existingFieldRemoval, scope, storedVersionRemoval, default, enum, maxItems, maxLength, maxProperties, maximum, \
         minItems, minLength, minProperties, minimum, nullable, oneOf, pattern, required, type, unhandled, separated by \
         commas"
    );
}

#[test]
fn a_long_text_ends_with_the_count_of_what_it_leaves_out() {
    let properties: serde_json::Map<_, _> = (0..100)
        .map(|number| (format!("p{number:02}"), json!({"type": "string"})))
        .collect();
    let old = with_property(Some(&json!({"type": "object", "properties": properties})));
    let new = with_property(Some(&json!({"type": "object"})));
    let found = examine(&old, &new, &Checks::all())
        .expect("readable")
        .expect("findings");
    let found = [found];
    let whole = text(&found, usize::MAX);
    assert_eq!(whole.lines().count(), 200);
    let cut = text(&found, 500);
    assert!(cut.len() <= 520, "{}", cut.len());
    let told = cut.lines().count() - 1;
    assert!(cut.ends_with(&format!("\n… and {} more", 200 - told)), "{cut}");
    assert!(whole.starts_with(cut.rsplit_once('\n').expect("lines").0));
    assert!(
        text(&found, 10).starts_with("validating…\n… and 199 more"),
        "{}",
        text(&found, 10)
    );
}

#[test]
fn a_schema_that_is_none_is_named_with_its_place() {
    let old = with_property(Some(&json!({"type": "string"})));
    let new = with_property(Some(&json!({"type": ["string"]})));
    assert_eq!(
        examine(&old, &new, &Checks::all())
            .expect_err("no schema")
            .to_string(),
        "converting unstructured to CRD object: CRD \"tests.example.com\": \
         spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.f.type: expected a string, got array"
    );
}

#[test]
fn lists_within_lists_are_compared_in_reasonable_time() {
    let nested = |levels: usize, leaf: Value| {
        (0..levels).fold(
            leaf,
            |inner, _| json!({"anyOf": [inner, {"type": "string"}], "allOf": [{"not": {}}]}),
        )
    };
    let (old, new) = (
        nested(50, json!({"format": "a"})),
        nested(50, json!({"format": "b"})),
    );
    let (old, new) = (with_property(Some(&old)), with_property(Some(&new)));
    let found = examine(&old, &new, &Checks::all())
        .expect("readable")
        .expect("findings");
    assert_eq!(found.findings.len(), 51);
    assert_eq!(
        found.findings[0].message,
        "unhandled changes found (Format \"a\" -> \"b\")"
    );
    let deep = with_property(Some(&nested(200, json!({}))));
    let fault = examine(&deep, &deep, &Checks::all())
        .expect_err("too deep")
        .to_string();
    assert!(
        fault.ends_with("schemas are nested deeper than 128 levels"),
        "{fault}"
    );
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,40}".prop_map(Value::from),
        prop::sample::select(&["string", "object", "v1", "v1beta1", "Webhook", "Cluster"][..])
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(8, 64, 6, |inner| {
        let keys = &[
            "spec",
            "status",
            "versions",
            "name",
            "served",
            "schema",
            "openAPIV3Schema",
            "properties",
            "items",
            "type",
            "allOf",
            "oneOf",
            "not",
            "enum",
            "default",
            "additionalProperties",
            "x-kubernetes-validations",
            "rule",
            "dependencies",
            "storedVersions",
            "metadata",
            "example",
            "format",
            "",
        ][..];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(prop::sample::select(keys).prop_map(str::to_owned), inner, 0..6)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

/// A schema with anything that schemas may have.
fn any_schema() -> impl Strategy<Value = Value> {
    let leaf = (
        prop::option::of(prop::sample::select(
            &["string", "integer", "object", "array"][..],
        )),
        prop::option::of("[a-z ]{0,60}\n?"),
        prop::option::of(prop::collection::vec("[a-d]", 0..3)),
        prop::option::of(-5..5_i64),
        prop::option::of(any::<bool>()),
        prop::option::of(prop::collection::vec("[a-z:]{0,50}", 0..3)),
    )
        .prop_map(|(kind, text, values, number, truth, rules)| {
            let mut schema = serde_json::Map::new();
            let mut set = |key: &str, value: Option<Value>| {
                if let Some(value) = value {
                    schema.insert(key.to_owned(), value);
                }
            };
            set("type", kind.map(Value::from));
            set("title", text.clone().map(Value::from));
            set("example", text.clone().map(Value::from));
            set("pattern", text.map(Value::from));
            set("enum", values.clone().map(Value::from));
            set("x-kubernetes-list-map-keys", values.map(Value::from));
            set("minimum", number.map(Value::from));
            set("maxLength", number.map(Value::from));
            set("nullable", truth.map(Value::from));
            set("additionalProperties", truth.map(Value::from));
            set("x-kubernetes-preserve-unknown-fields", truth.map(Value::from));
            let rule = |rule: String| json!({"rule": rule, "message": "m"});
            set(
                "x-kubernetes-validations",
                rules.map(|rules| rules.into_iter().map(rule).collect()),
            );
            Value::Object(schema)
        });
    leaf.prop_recursive(3, 16, 3, |inner| {
        (inner.clone(), prop::collection::vec(inner, 0..3), 0..6).prop_map(|(mut schema, parts, place)| {
            match place {
                0 => schema["anyOf"] = parts.into(),
                1 => schema["oneOf"] = parts.into(),
                2 => {
                    let named = parts.into_iter().enumerate();
                    let named = named.map(|(index, part)| (format!("p{index}"), part));
                    schema["properties"] = Value::Object(named.collect());
                }
                3 => schema["items"] = parts.into(),
                4 => schema["not"] = parts.into_iter().next().unwrap_or_default(),
                _ => schema["additionalProperties"] = parts.into_iter().next().unwrap_or_default(),
            }
            schema
        })
    })
}

proptest! {
    #[test]
    fn no_json_is_too_strange(old in any_json(), new in any_json()) {
        let _ = examine(&old, &new, &Checks::all());
    }

    #[test]
    fn a_definition_may_always_take_its_own_place(schema in any_schema(), other in any_schema()) {
        let mut definition = with_property(Some(&schema));
        let mut next = with_property(Some(&other))["spec"]["versions"][0].clone();
        next["name"] = "v2".into();
        definition["spec"]["versions"].as_array_mut().expect("versions").push(next);
        prop_assert_eq!(examine(&definition, &definition, &Checks::all()), Ok(None));
    }

    #[test]
    fn every_change_is_told_or_harmless(old in any_schema(), new in any_schema()) {
        let (old, new) = (with_property(Some(&old)), with_property(Some(&new)));
        if let Some(found) = examine(&old, &new, &Checks::all()).expect("readable definitions") {
            prop_assert!(!found.findings.is_empty());
            prop_assert!(text(&[found], 300).len() < 340);
        }
    }
}
