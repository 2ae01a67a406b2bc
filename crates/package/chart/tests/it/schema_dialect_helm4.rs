//! Schemas as Helm 4 takes them: answers of its schema library, and charts whose values it refused.

use std::path::Path;

use chart::schema::{self, Dialect, Schema, SchemaError, SchemaViolation, field_name, json_pointer};
use chart::values::Table;
use chart::{dependencies, loader, values};
use proptest::prelude::*;
use serde_json::Value;
use serde_json::value::RawValue;

/// One row: a schema, as JSON or as text, values, and what was said about them.
///
/// The library's order is that of a hash map where it goes through tables; the answers here are those of all its orders
/// that go through them by name.
#[derive(serde::Deserialize)]
struct Row {
    #[serde(default)]
    schema: Option<Box<RawValue>>,
    text: Option<String>,
    values: Table,
    expected: String,
}

fn validate(schema: &str, values: &Table) -> Result<(), SchemaError> {
    Schema::compile(schema.as_bytes(), Dialect::Helm4)?.validate(values)
}

fn said(schema: &str, values: &Table) -> String {
    let error = validate(schema, values).err();
    error.map(|error| error.to_string()).unwrap_or_default()
}

#[test]
fn values_are_judged_as_helm_4_judges_them() {
    let mut wrong = Vec::new();
    for line in include_str!("data/schemas_helm4.jsonl").lines() {
        let row: Row = serde_json::from_str(line).expect("a row of the table");
        let schema = row.schema.as_ref().map(|schema| schema.get());
        let got = said(row.text.as_deref().or(schema).expect("a schema"), &row.values);
        if got != row.expected {
            wrong.push(format!("{line}\n    got {got:?}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} rows differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

fn table(json: &str) -> Table {
    serde_json::from_str(json).expect("a table")
}

#[test]
fn each_complaint_names_its_value() {
    let schema = r#"{
        "properties": {
            "replicas": {"maximum": 5},
            "ports": {"items": {"properties": {"name": {"type": "string"}}}},
            "labels": {"additionalProperties": {"type": "string"}},
            "image": {"anyOf": [{"type": "string"}, {"required": ["tag"]}]},
            "names": {"propertyNames": {"maxLength": 1}},
            "pair": {"prefixItems": [true], "items": {"type": "string"}}
        }
    }"#;
    let values = table(
        r#"{"replicas": 99, "ports": [{"name": "a"}, {"name": 1}], "labels": {"a.b/c": 1}, "image": {},
            "names": {"ab": 1}, "pair": [1, 2]}"#,
    );
    let Err(SchemaError::Complaints(complaints)) = validate(schema, &values) else {
        panic!("complaints");
    };
    let named: Vec<(String, String, String)> = complaints
        .iter()
        .map(|complaint| {
            (
                complaint.pointer(),
                complaint.field_below("spec"),
                complaint.to_string(),
            )
        })
        .collect();
    let named: Vec<(&str, &str, &str)> = named
        .iter()
        .map(|(pointer, field, text)| (pointer.as_str(), field.as_str(), text.as_str()))
        .collect();
    assert_eq!(
        named,
        [
            ("/image", "spec.image", "at '/image': 'anyOf' failed"),
            (
                "/labels/a.b~1c",
                "spec.labels[a.b/c]",
                "at '/labels/a.b~1c': got number, want string"
            ),
            // Where the library does not tell the place, or a wrong one, the path is still right.
            ("/names", "spec.names", "at '': invalid propertyName 'ab'"),
            ("/pair/1", "spec.pair[1]", "at '/pair/0': got number, want string"),
            (
                "/ports/1/name",
                "spec.ports[1].name",
                "at '/ports/1/name': got number, want string"
            ),
            (
                "/replicas",
                "spec.replicas",
                "at '/replicas': maximum: got 99, want 5"
            ),
        ]
    );
    let causes: Vec<String> = complaints[0].causes.iter().map(ToString::to_string).collect();
    assert_eq!(
        causes,
        [
            "at '/image': got object, want string",
            "at '/image': missing property 'tag'"
        ]
    );
}

#[test]
fn schemas_that_lead_in_circles_are_told_so() {
    assert_eq!(
        said(r##"{"$ref": "#"}"##, &Table::new()),
        "- at '': both /$ref and  resolve to \"file:///values.schema.json#\" causing reference cycle\n"
    );
    let linked = r##"{"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}]}, "b": {"$ref": "#/$defs/a"}}}"##;
    assert!(said(linked, &Table::new()).contains("causing reference cycle"));
}

#[test]
fn a_schema_that_takes_too_long_is_refused() {
    let link = |index: usize| {
        let next = index + 1;
        format!(
            r##""d{index}": {{"allOf": [{{"$ref": "#/$defs/d{next}"}}, {{"$ref": "#/$defs/d{next}"}}]}}"##
        )
    };
    let links: Vec<String> = (0..30).map(link).collect();
    let multiplying = |last: &str| {
        format!(
            r##"{{"$ref": "#/$defs/d0", "$defs": {{{}, "d30": {last}}}}}"##,
            links.join(", ")
        )
    };
    assert_eq!(
        said(&multiplying(r#"{"type": "object"}"#), &Table::new()),
        "unable to validate schema: more than 2000000 steps"
    );
    // Every way through it says something.
    let text = format!(r#"{{"const": "{}"}}"#, "x".repeat(10_000));
    assert_eq!(
        said(&multiplying(&text), &Table::new()),
        "unable to validate schema: more than 16777216 bytes of complaints"
    );
}

#[test]
fn a_deep_schema_is_judged_or_refused_but_never_fatal() {
    let nested = |depth: usize| format!("{}{{}}{}", r#"{"not":"#.repeat(depth), "}".repeat(depth));
    assert_eq!(said(&nested(500), &Table::new()), "");
    assert!(!said(&nested(5000), &Table::new()).is_empty());
    let deep = |depth: usize| {
        let mut value = Value::Null;
        for _ in 0..depth {
            value = Value::Array(vec![value]);
        }
        Table::from_iter([("a".to_owned(), value)])
    };
    let recursive = r##"{"properties": {"a": {"$ref": "#/$defs/list"}}, "$defs": {"list": {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/list"}}, {"type": "null"}]}}}"##;
    assert_eq!(said(recursive, &deep(900)), "");
}

/// What is said about the values of a chart.
fn refusal(chart: &Path, overrides: &Table) -> Option<SchemaViolation> {
    let mut ignore = |_| {};
    let chart = loader::load(chart, &mut ignore).expect("a chart");
    let active = dependencies::activate(&chart, overrides, &mut ignore).expect("subcharts");
    let values = values::coalesce(&active, overrides, &mut ignore).expect("values");
    schema::validate_chart_by(&active, &values, Dialect::Helm4).err()
}

fn read_table(file: &Path) -> Table {
    let text = std::fs::read(file).expect("a file of the corpus");
    goyaml::from_slice(&text).expect("a table")
}

#[test]
fn charts_refuse_the_values_that_helm_4_was_seen_to_refuse() {
    let (Some(operator), Some(charts)) = (corpus::open("operator"), corpus::open("helm-charts")) else {
        return;
    };
    let folder = operator.join("operator-corpus/variations/fail");
    let index = std::fs::read_to_string(folder.join("index.jsonl")).expect("an index");
    let mut seen = 0;
    for line in index.lines() {
        let row: Value = serde_json::from_str(line).expect("a row of the index");
        if row["class"] != "schema" {
            continue;
        }
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let overlay = read_table(&folder.join(text(&row["overlay"])));
        let chart = charts.join("charts").join(text(&row["chart"]));
        let refusal = refusal(&chart, &overlay).expect("a refusal");
        let printed = text(&row["helm4.2.4"]["stderr"]);
        let printed = &printed[printed.find("Error: ").expect("an error")..];
        assert_eq!(format!("Error: {refusal}\n"), printed, "{}", row["chart"]);
        // The way to the value leads through the section of the subchart.
        for (path, complaint) in refusal.complaints() {
            assert!(json_pointer(&path).ends_with(&complaint.pointer()), "{path:?}");
            assert!(printed.contains(&complaint.pointer()), "{path:?}");
        }
        seen += 1;
    }
    assert_eq!(seen, 12);
}

#[test]
fn a_custom_resource_is_refused_as_the_operator_was_seen_to_refuse_it() {
    let Some(operator) = corpus::open("operator") else {
        return;
    };
    let corpus = operator.join("operator-corpus");
    let trace = corpus.join("traces/09-kitchen-invalid-spec");
    let log = std::fs::read_to_string(trace.join("log.jsonl")).expect("a log");
    for (resource, fields) in [
        ("01-kitchen-badschema.yaml", vec!["spec.message", "spec.replicas"]),
        ("04-kitchen-badmap.yaml", vec!["spec.service"]),
    ] {
        let resource = read_table(&trace.join("input").join(resource));
        let spec = resource["spec"].as_object().expect("a spec");
        let refusal = refusal(&corpus.join("charts/kitchen"), spec).expect("a refusal");
        let logged = log.lines().any(|line| {
            let line: Value = serde_json::from_str(line).expect("a line of the log");
            line["error"] == refusal.to_string().as_str()
        });
        assert!(logged, "{refusal}");
        let named: Vec<String> = refusal
            .complaints()
            .map(|(path, _)| field_name("spec", &path))
            .collect();
        assert_eq!(named, fields);
    }
}

/// Values that mean something as schemas, and as values.
fn any_json() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "a",
        "b",
        "",
        "object",
        "string",
        "array",
        "#",
        "#/$defs/a",
        "#a",
        "other",
        "^a",
        "(",
        "date",
        "uri",
        "http://json-schema.org/draft-04/schema#",
        "http://json-schema.org/draft-07/schema#",
        "https://json-schema.org/draft/2019-09/schema",
        "https://json-schema.org/draft/2020-12/meta/applicator",
    ]);
    let key = prop::sample::select(vec![
        "a",
        "b",
        "type",
        "properties",
        "items",
        "prefixItems",
        "additionalProperties",
        "patternProperties",
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "if",
        "then",
        "else",
        "contains",
        "minContains",
        "$ref",
        "$dynamicRef",
        "$recursiveRef",
        "$recursiveAnchor",
        "$anchor",
        "$dynamicAnchor",
        "$id",
        "id",
        "$schema",
        "$defs",
        "unevaluatedProperties",
        "unevaluatedItems",
        "propertyNames",
        "dependencies",
        "enum",
        "const",
        "minimum",
        "multipleOf",
        "maxLength",
        "pattern",
        "format",
        "required",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2..5_i64).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word.prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 5, move |inner| {
        let entries = prop::collection::btree_map(key.clone().prop_map(str::to_owned), inner.clone(), 0..5);
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Value::from),
            entries.prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn nothing_that_is_written_as_a_schema_is_fatal_and_all_is_judged_alike_twice(
        schema in any_json(),
        values in any_json(),
    ) {
        let values = Table::from_iter([("a".to_owned(), values)]);
        for dialect in [Dialect::Helm3_17, Dialect::Helm4] {
            let judge = || Schema::compile(schema.to_string().as_bytes(), dialect)?.validate(&values);
            prop_assert_eq!(judge(), judge());
        }
    }

    #[test]
    fn what_is_no_json_is_refused(text in "[{}\\[\\]\":,a0-9.eE +-]{0,12}") {
        let is_json = serde_json::from_str::<Value>(&text).is_ok_and(|value| value.is_object() || value.is_boolean());
        if !is_json {
            prop_assert!(validate(&text, &Table::new()).is_err(), "{}", text);
        }
    }
}
