//! Schemas as charts have them, and what becomes of them.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn property(schema: &Value) -> Value {
    let whole = json!({"type": "object", "additionalProperties": false, "properties": {"a": schema}});
    let converted = structural(&whole, None);
    assert_eq!(violations(&converted), Vec::<String>::new());
    converted["properties"]["a"].clone()
}

#[test]
fn each_schema_becomes_the_closest_structural_one() {
    let preserved = json!({PRESERVE: true});
    for (schema, expected) in [
        (
            json!({"type": "string", "description": "D"}),
            json!({"type": "string", "description": "D"}),
        ),
        (
            json!({"type": ["string", "null"]}),
            json!({"type": "string", "nullable": true}),
        ),
        (
            json!({"type": ["integer", "string"]}),
            json!({INT_OR_STRING: true}),
        ),
        (json!({"type": ["integer", "number"]}), json!({"type": "number"})),
        (json!({"type": ["object", "string"]}), preserved.clone()),
        (json!({"const": "x"}), json!({"type": "string", "enum": ["x"]})),
        (
            json!({"enum": ["a", null]}),
            json!({"type": "string", "nullable": true}),
        ),
        (json!({"enum": ["a", 1, true]}), preserved.clone()),
        (json!(true), preserved.clone()),
        (json!({}), preserved.clone()),
        (
            json!({"type": "array"}),
            json!({"type": "array", "items": {PRESERVE: true}}),
        ),
        (
            json!({"type": "array", "uniqueItems": true, "items": [{}]}),
            json!({"type": "array", "items": {PRESERVE: true}}),
        ),
        (
            json!({"type": "object"}),
            json!({"type": "object", PRESERVE: true}),
        ),
        (
            json!({"type": "object", "additionalProperties": {"type": "string"}}),
            json!({"type": "object", "additionalProperties": {"type": "string"}}),
        ),
        (
            json!({"type": "object", "properties": {"x": {"type": "string"}}}),
            json!({"type": "object", PRESERVE: true, "properties": {"x": {"type": "string"}}}),
        ),
        (
            json!({"patternProperties": {"^a": {"type": "string"}}, "additionalProperties": false}),
            json!({"type": "object", "additionalProperties": {"type": "string"}}),
        ),
        (
            json!({"type": "integer", "exclusiveMinimum": 0}),
            json!({"type": "integer", "minimum": 0, "exclusiveMinimum": true}),
        ),
        (
            json!({"type": "string", "pattern": "^(?!x)"}),
            json!({"type": "string"}),
        ),
        (
            json!({"oneOf": [{"type": "string"}, {"type": "integer"}]}),
            json!({INT_OR_STRING: true}),
        ),
        (
            json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
            json!({"type": "string", "nullable": true}),
        ),
        (
            json!({"oneOf": [{"type": "object"}, {"type": "array"}]}),
            preserved.clone(),
        ),
        (
            json!({"allOf": [{"type": "object", "properties": {"x": {"type": "string"}}},
                          {"properties": {"y": {"type": "boolean"}}}]}),
            json!({"type": "object", PRESERVE: true,
                "properties": {"x": {"type": "string"}, "y": {"type": "boolean"}}}),
        ),
        (
            json!({"$ref": "https://elsewhere.example.com/x.json", "description": "D"}),
            json!({PRESERVE: true, "description": "D"}),
        ),
        (
            json!({"type": "string", "default": "x", "not": {"const": "y"}}),
            json!({"type": "string"}),
        ),
    ] {
        assert_eq!(property(&schema), expected, "{schema}");
    }
}

#[test]
fn a_reference_keeps_its_own_description_and_may_lead_in_circles() {
    let schema = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {"tree": {"$ref": "#/definitions/node", "description": "mine"}},
        "definitions": {"node": {
            "type": "object", "description": "theirs", "additionalProperties": false,
            "properties": {"children": {"type": "array", "items": {"$ref": "#/definitions/node"}}}
        }}
    });
    let converted = structural(&schema, None);
    assert_eq!(violations(&converted), Vec::<String>::new());
    assert_eq!(converted["properties"]["tree"]["description"], "mine");
    let circle = json!({"$ref": "#/definitions/a", "definitions": {"a": {"$ref": "#/definitions/a"}}});
    assert_eq!(violations(&structural(&circle, None)), Vec::<String>::new());
}

#[test]
fn what_has_a_default_is_neither_required_nor_without_null() {
    let schema = json!({
        "type": "object",
        "required": ["a", "b"],
        "properties": {"a": {"type": "string"}, "b": {"type": "string"}}
    });
    let converted = structural(&schema, Some(&json!({"a": "x"})));
    assert_eq!(converted["required"], json!(["b"]));
    assert_eq!(
        converted["properties"]["a"],
        json!({"type": "string", "nullable": true})
    );
}

fn any_schema() -> impl Strategy<Value = Value> {
    let name = || {
        prop::sample::select(vec![
            "object", "array", "string", "integer", "number", "boolean", "null",
        ])
    };
    let leaf = prop_oneof![
        name().prop_map(|name| json!({"type": name})),
        prop::collection::vec(name(), 0..3).prop_map(|names| json!({"type": names})),
        Just(json!(true)),
        Just(json!({"enum": ["a", 1, null]})),
        Just(json!({"const": {"a": 1}})),
        Just(json!({"$ref": "#/properties/a"})),
        Just(json!({"type": 7, "properties": [], "required": "x", "items": 3, "enum": {}})),
    ];
    leaf.prop_recursive(4, 40, 4, move |inner| {
        let map = prop::collection::btree_map("[a-c]", inner.clone(), 0..3);
        prop_oneof![
            (map.clone(), any::<bool>()).prop_map(|(map, closed)| {
                json!({"type": "object", "properties": map, "additionalProperties": !closed})
            }),
            (map.clone(), inner.clone()).prop_map(|(map, others)| {
                json!({"properties": map, "additionalProperties": others, "required": ["a"]})
            }),
            map.prop_map(|map| json!({"patternProperties": map})),
            inner
                .clone()
                .prop_map(|items| json!({"type": "array", "items": items})),
            prop::collection::vec(inner.clone(), 0..3).prop_map(|list| json!({"oneOf": list})),
            prop::collection::vec(inner.clone(), 0..3)
                .prop_map(|list| json!({"anyOf": list, "type": "object"})),
            prop::collection::vec(inner, 0..3).prop_map(|list| json!({"allOf": list})),
        ]
    })
}

proptest! {
    #[test]
    fn whatever_the_schema_the_result_is_structural(schema in any_schema()) {
        let whole = json!({"type": "object", "properties": {"a": schema}});
        prop_assert_eq!(violations(&structural(&whole, None)), Vec::<String>::new());
    }
}
