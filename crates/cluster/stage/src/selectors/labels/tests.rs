use std::collections::BTreeMap;

use proptest::prelude::*;
use schema::field_error::FieldPath;
use serde::Deserialize;
use serde_json::{Value, json};

use super::LabelSelector;

/// A selector, and what upstream makes of it.
#[derive(Deserialize)]
struct Case {
    selector: String,
    #[serde(default)]
    printed: String,
    #[serde(default)]
    matches: Vec<bool>,
    error: Option<String>,
}

fn label_sets() -> [Value; 5] {
    [
        json!({}),
        json!({"a": "b"}),
        json!({"a": "1", "b": "in"}),
        json!({"x.y/z": "", "b": "2"}),
        json!({"in": "a", "notin": "b", "1": "a"}),
    ]
}

#[test]
fn selectors_are_read_printed_and_matched_as_upstream_does() {
    for line in include_str!("upstream.jsonl").lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        match LabelSelector::parse(&case.selector) {
            Ok(selector) => {
                assert_eq!(None, case.error, "{}", case.selector);
                assert_eq!(selector.to_string(), case.printed, "{}", case.selector);
                let matches: Vec<bool> = label_sets()
                    .iter()
                    .map(|labels| selector.matches(labels))
                    .collect();
                assert_eq!(matches, case.matches, "{}", case.selector);
            }
            Err(error) => assert_eq!(Some(error.to_string()), case.error, "{}", case.selector),
        }
    }
}

#[test]
fn selector_objects_become_selectors() {
    let selector = LabelSelector::from_object(&json!({
        "matchLabels": {"b": "c"},
        "matchExpressions": [
            {"key": "a", "operator": "In", "values": ["y", "x"]},
            {"key": "d", "operator": "DoesNotExist"},
        ],
    }))
    .unwrap();
    assert_eq!(selector.to_string(), "a in (x,y),b=c,!d");
    assert!(selector.matches_object(&json!({"metadata": {"labels": {"a": "x", "b": "c"}}})));
    assert!(!selector.matches_object(&json!({"metadata": {}})));
    assert!(
        !LabelSelector::from_object(&Value::Null)
            .unwrap()
            .matches(&json!({}))
    );
    assert!(
        LabelSelector::from_object(&json!({}))
            .unwrap()
            .matches(&json!({}))
    );
}

#[test]
fn selector_objects_that_make_no_sense_are_refused_with_upstreams_words() {
    let refused = |object: Value| LabelSelector::from_object(&object).unwrap_err().to_string();
    assert_eq!(
        refused(json!({"matchExpressions": [{"key": "a", "operator": "Near"}]})),
        "\"Near\" is not a valid label selector operator"
    );
    assert_eq!(
        refused(json!({"matchExpressions": [{"key": "a", "operator": "In"}]})),
        "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty"
    );
    assert_eq!(
        refused(json!({"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["x"]}]})),
        "values: Invalid value: [\"x\"]: values set must be empty for exists and does not exist"
    );
}

#[test]
fn the_problems_of_a_selector_object_are_all_reported() {
    let object = json!({
        "matchLabels": {"-a": "b c"},
        "matchExpressions": [
            {"key": "a", "operator": "In"},
            {"key": "", "operator": "Exists", "values": ["x"]},
            {"key": "a", "operator": "Near", "values": ["-"]},
        ],
    });
    let problems = LabelSelector::object_problems(&object, &FieldPath::new("spec").child("selector"));
    let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
    let name = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
                '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
    let value = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and \
                 must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex \
                 used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
    let place = "spec.selector.matchExpressions";
    assert_eq!(
        texts,
        [
            format!("spec.selector.matchLabels: Invalid value: \"-a\": {name}"),
            format!("spec.selector.matchLabels: Invalid value: \"b c\": {value}"),
            format!(
                "{place}[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'"
            ),
            format!(
                "{place}[1].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            ),
            format!("{place}[1].key: Invalid value: \"\": name part must be non-empty"),
            format!("{place}[1].key: Invalid value: \"\": {name}"),
            format!("{place}[2].operator: Invalid value: \"Near\": not a valid selector operator"),
            format!("{place}[2].values[0]: Invalid value: \"-\": {value}"),
        ]
    );
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in any::<String>()) {
        let _ = LabelSelector::parse(&text);
    }

    #[test]
    fn what_is_printed_reads_back_as_the_same(text in "(a|b|in|!| |,|=|\\(|\\)|>|1){0,12}") {
        if let Ok(selector) = LabelSelector::parse(&text) {
            let again = LabelSelector::parse(&selector.to_string()).unwrap();
            let labels = BTreeMap::from([("a".to_owned(), "1".to_owned())]);
            prop_assert_eq!(selector.matches(&labels), again.matches(&labels));
            prop_assert_eq!(selector.to_string(), again.to_string());
        }
    }
}
