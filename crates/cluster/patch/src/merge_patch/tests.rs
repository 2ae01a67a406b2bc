use proptest::prelude::*;
use serde_json::{Value, json};

use super::{apply, merge};

#[test]
fn fields_replace_fields_and_null_removes() {
    let cases = [
        (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
        (json!({"a": "b", "b": 1}), json!({"a": null}), json!({"b": 1})),
        (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
        (
            json!({"a": {"b": "c"}}),
            json!({"a": {"b": "d", "c": null}}),
            json!({"a": {"b": "d"}}),
        ),
        (
            json!({}),
            json!({"a": {"bb": {"ccc": null}}}),
            json!({"a": {"bb": {}}}),
        ),
        // What is new loses its nulls, even in the objects of a list.
        (
            json!({"a": [1]}),
            json!({"a": [{"b": null}, null]}),
            json!({"a": [{}, null]}),
        ),
        // A list that takes the place of an object keeps them.
        (
            json!({"a": {}}),
            json!({"a": [{"b": null}]}),
            json!({"a": [{"b": null}]}),
        ),
        (json!({"a": 1}), json!([{"b": null}]), json!([{}])),
    ];
    for (object, patch, expected) in cases {
        assert_eq!(merge(object, patch.clone()).unwrap(), expected, "{patch}");
    }
}

#[test]
fn what_is_no_patch_is_a_bad_request() {
    let cases = [
        ("null", true, "Invalid JSON Patch"),
        (
            "[]",
            true,
            "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}",
        ),
        (
            "[x",
            true,
            "error decoding patch: invalid character 'x' looking for beginning of value",
        ),
        ("[x", false, "Invalid JSON Patch"),
        ("5", false, "Invalid JSON Patch"),
    ];
    for (body, strict, expected) in cases {
        let error = apply(json!({}), body.as_bytes(), strict).unwrap_err();
        assert_eq!(
            (error.code(), error.to_string().as_str()),
            (400, expected),
            "{body}"
        );
    }
}

#[test]
fn strict_reading_finds_repeated_fields() {
    let merged = apply(json!({}), br#"{"data":{"q":"1","q":"2"}}"#, true).unwrap();
    assert_eq!(merged.object, json!({"data": {"q": "2"}}));
    assert_eq!(merged.findings, ["duplicate field \"data.q\""]);
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        "[a-c]".prop_map(Value::String)
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::Array),
            proptest::collection::btree_map("[a-c]", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn object() -> impl Strategy<Value = Value> {
    proptest::collection::btree_map("[a-c]", value(), 0..4)
        .prop_map(|map| Value::Object(map.into_iter().collect()))
}

proptest! {
    #[test]
    fn no_body_makes_it_panic(body in any::<Vec<u8>>()) {
        let _ = apply(json!({"a": 1}), &body, true);
        let _ = apply(json!({"a": 1}), &body, false);
    }

    #[test]
    fn the_empty_patch_changes_nothing(object in object()) {
        prop_assert_eq!(merge(object.clone(), json!({})).unwrap(), object);
    }

    #[test]
    fn a_patch_applied_twice_does_no_more_than_once(object in object(), patch in object()) {
        let once = merge(object, patch.clone()).unwrap();
        // A list that took the place of an object kept its nulls; the second time it takes the place of a list.
        let twice = merge(once.clone(), patch.clone()).unwrap();
        prop_assert_eq!(merge(twice.clone(), patch).unwrap(), twice);
    }

    #[test]
    fn a_null_in_the_patch_is_a_field_that_is_gone(object in object(), patch in object()) {
        let merged = merge(object, patch.clone()).unwrap();
        for (name, change) in patch.as_object().unwrap() {
            prop_assert_eq!(change.is_null(), merged.get(name).is_none());
        }
    }
}
