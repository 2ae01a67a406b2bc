//! Custom resources and their definitions, beside what a kube-apiserver 1.36.3 says of them.

use std::collections::BTreeMap;

use proptest::prelude::*;
use schema::FieldErrors;
use schema::structural::definition;
use schema::structural::metadata::Malformed;
use schema::structural::{coerce, default, names, read, unchecked_rules, validate, validate_resource};
use serde_json::{Value, json};

/// Schemas, values and definitions with the errors that the API server's own packages gave for them.
const MEASURED: &str = include_str!("measured.jsonl");

fn texts(errors: &FieldErrors) -> Vec<String> {
    let mut texts: Vec<String> = errors
        .told()
        .iter()
        .map(|error| format!("{} {error}", error.kind.reason()))
        .collect();
    texts.sort();
    texts
}

/// Numbers without a fraction are written without one, so that 2 and 2.0 compare as the server's JSON does.
fn plain(value: &Value) -> Value {
    match value {
        Value::Number(number) => number
            .as_f64()
            .map_or_else(|| value.clone(), |number| Value::from(number.to_string())),
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| (name.clone(), plain(value)))
            .collect(),
        other => other.clone(),
    }
}

#[test]
fn errors_and_settled_objects_are_those_of_the_api_server() {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for line in MEASURED.lines() {
        let case: Value = serde_json::from_str(line).expect("a measured case is JSON");
        let wanted: Vec<String> = serde_json::from_value(case["errors"].clone()).expect("errors are texts");
        if let Some(new) = case.get("crd") {
            let mut new = new.clone();
            definition::default(&mut new);
            let errors = match case.get("oldCrd") {
                None => definition::validate(&new),
                Some(old) => {
                    let mut old = old.clone();
                    definition::default(&mut old);
                    definition::validate_update(&new, &old)
                }
            };
            assert_eq!(texts(&errors), wanted, "{line}");
            *counts.entry("definitions").or_default() += 1;
            continue;
        }
        let schema = read(&case["schema"]).expect("a measured schema can be read");
        let errors = validate_resource(&schema, &case["new"], case.get("old"));
        assert_eq!(texts(&errors), wanted, "{line}");
        let mut settled = case["new"].clone();
        match coerce(&schema, &mut settled, Malformed::Refuse) {
            Err(error) => assert_eq!(
                Some(error.to_string().as_str()),
                case["coerce"].as_str(),
                "{line}"
            ),
            Ok(unknown) => {
                default(&schema, &mut settled);
                assert_eq!(plain(&settled), plain(&case["settled"]), "{line}");
                let wanted = case.get("unknown").cloned().unwrap_or_else(|| json!([]));
                assert_eq!(json!(unknown.paths()), wanted, "{line}");
            }
        }
        *counts.entry("values").or_default() += 1;
    }
    assert!(
        counts["definitions"] > 100 && counts["values"] > 200,
        "{counts:?}"
    );
}

#[test]
fn a_wrong_type_is_told_in_the_words_that_scripts_match() {
    let schema = read(
        &json!({"type": "object", "properties": {"spec": {"type": "object", "required": ["size"],
        "properties": {"replicas": {"type": "integer"}, "mode": {"type": "string", "enum": ["a", "b"]}}}}}),
    )
    .expect("the schema is sound");
    let object = json!({"spec": {"replicas": "three", "mode": "c"}});
    let errors = validate(&schema, &object, None);
    let shown: Vec<String> = errors.told().iter().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        [
            "spec.mode: Unsupported value: \"c\": supported values: \"a\", \"b\"",
            "spec.replicas: Invalid value: \"string\": spec.replicas in body must be of type integer: \"string\"",
            "spec.size: Required value",
        ]
    );
    let note = unchecked_rules(&errors)
        .expect("rules can't be run on it")
        .to_string();
    assert!(
        note.starts_with("<nil>: Invalid value: null: some validation rules were not checked"),
        "{note}"
    );
    assert!(
        validate(&schema, &object, Some(&object)).is_empty(),
        "what didn't change stays allowed"
    );
}

fn definition_named(name: &str, kind: &str, accepted: bool) -> Value {
    let names = json!({"plural": name, "singular": kind.to_lowercase(), "kind": kind, "listKind": format!("{kind}List")});
    let accepted = if accepted { names.clone() } else { json!({}) };
    json!({"spec": {"group": "example.com", "names": names}, "status": {"acceptedNames": accepted}})
}

#[test]
fn a_name_that_another_definition_has_is_not_accepted() {
    let first = definition_named("pots", "Pot", true);
    let mut second = definition_named("pans", "Pot", false);
    let all = [first.clone(), second.clone()];
    let decision = names::decide(&second, &all).expect("its names are new");
    assert_eq!(decision.names_accepted.status, "False");
    assert_eq!(decision.names_accepted.reason, "ListKindConflict");
    assert_eq!(decision.names_accepted.message, "\"PotList\" is already in use");
    assert_eq!(decision.established.reason, "NotAccepted");
    assert_eq!(decision.accepted["plural"], "pans", "what is free is accepted");
    assert!(names::decide(&first, &all).is_none(), "nothing is left to decide");

    second["spec"]["names"] =
        json!({"plural": "pans", "singular": "pan", "kind": "Pan", "listKind": "PanList"});
    let decision = names::decide(&second, &all).expect("its names are new");
    assert_eq!(decision.names_accepted.message, "no conflicts found");
    assert_eq!(decision.established.reason, "Installing");
    decision.names_accepted.write(&mut second, "2024-01-01T00:00:00Z");
    decision.established.write(&mut second, "2024-01-01T00:00:00Z");
    let established = names::established(&second).expect("it can be served now");
    assert_eq!(
        (established.status.as_str(), established.reason.as_str()),
        ("True", "InitialNamesAccepted")
    );
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-c0-9.:é-]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-d]|metadata|kind", inner, 0..4).prop_map(|map| json!(map)),
        ]
    })
}

fn any_schema() -> impl Strategy<Value = Value> {
    let formats = prop::sample::select(vec![
        "date", "duration", "int32", "email", "mac", "cidr", "hostname", "none",
    ]);
    let leaf = (
        prop::sample::select(vec!["string", "integer", "number", "boolean"]),
        formats,
        any::<bool>(),
        prop::option::of(prop_oneof![
            any::<i64>().prop_map(Value::from),
            "[a-c]{0,3}".prop_map(Value::from)
        ]),
        prop::option::of(any::<f64>()),
    )
        .prop_map(|(kind, format, nullable, default, bound)| {
            json!({"type": kind, "format": format, "nullable": nullable, "default": default, "minimum": bound,
                "multipleOf": bound, "pattern": "^[a-c]+$", "maxLength": 3})
        });
    leaf.prop_recursive(4, 24, 4, |inner| {
        let fields = prop::collection::btree_map("[a-d]", inner.clone(), 0..4);
        prop_oneof![
            (fields, any::<bool>(), any::<bool>()).prop_map(
                |(properties, keeps, embedded)| json!({"type": "object",
                "properties": properties, "required": ["a"], "x-kubernetes-embedded-resource": embedded,
                "x-kubernetes-preserve-unknown-fields": keeps.then_some(true)})
            ),
            inner
                .clone()
                .prop_map(|values| json!({"type": "object", "additionalProperties": values})),
            inner.clone().prop_map(
                |items| json!({"type": "array", "items": items, "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["a"]})
            ),
            inner.prop_map(
                |clause| json!({"type": "object", "anyOf": [clause.clone(), {"minProperties": 2}],
                "not": clause.clone(), "oneOf": [clause]})
            ),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn settling_twice_is_settling_once_and_nothing_panics(document in any_schema(), value in any_value(), old in any_value()) {
        let schema = read(&json!({"type": "object", "properties": {"a": document.clone(), "b": document}}))
            .expect("such schemas can be read");
        let object = json!({"a": value.clone(), "b": old.clone(), "metadata": {"name": "x"}});
        validate_resource(&schema, &object, Some(&json!({"a": old})));
        let mut once = object;
        if coerce(&schema, &mut once, Malformed::Drop).is_ok() {
            default(&schema, &mut once);
            let mut twice = once.clone();
            prop_assert!(coerce(&schema, &mut twice, Malformed::Drop).is_ok());
            default(&schema, &mut twice);
            prop_assert_eq!(once, twice);
        }
    }

    #[test]
    fn no_definition_makes_a_check_panic(spec in any_value(), schema in any_value(), metadata in any_value()) {
        for versions in [json!([{"name": "v1", "schema": {"openAPIV3Schema": schema}}]), schema] {
            let mut new = json!({"metadata": metadata, "spec": {"versions": versions, "names": spec, "conversion": spec}});
            definition::default(&mut new);
            definition::validate(&new);
            definition::validate_update(&new, &json!({"spec": spec}));
            definition::warnings(&new, None);
            names::decide(&new, [&new]);
        }
    }
}
