use std::collections::BTreeMap;

use proptest::prelude::*;
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
