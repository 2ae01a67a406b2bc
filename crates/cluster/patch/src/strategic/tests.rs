use std::sync::Arc;

use proptest::prelude::*;
use schema::node::{PatchStrategy, Reference, Schema, Type};
use serde_json::{Value, json};

use super::{apply, merge};

fn inline(schema: Schema) -> Reference {
    Reference::Inline(Arc::new(schema))
}

fn scalar(value_type: Type) -> Reference {
    inline(Schema {
        value_type,
        ..Schema::anything()
    })
}

fn list(items: Reference, strategy: Option<PatchStrategy>) -> Reference {
    inline(Schema {
        value_type: Type::Array,
        items: Some(items),
        patch_strategy: strategy.map(Box::new),
        ..Schema::anything()
    })
}

/// A type with every way to merge: `items` by name, `words` as a set, `plain` as a whole, `labels` a map.
fn kind() -> Reference {
    let item = inline(Schema {
        value_type: Type::Object,
        properties: [
            ("name".into(), scalar(Type::String)),
            ("value".into(), scalar(Type::Integer)),
        ]
        .into(),
        ..Schema::anything()
    });
    let by_name = PatchStrategy {
        merge: true,
        merge_key: Some("name".into()),
        ..PatchStrategy::default()
    };
    let as_set = PatchStrategy {
        merge: true,
        ..PatchStrategy::default()
    };
    let labels = Schema {
        value_type: Type::Object,
        additional_properties: Some(scalar(Type::String)),
        ..Schema::anything()
    };
    inline(Schema {
        value_type: Type::Object,
        properties: [
            ("items".into(), list(item.clone(), Some(by_name))),
            ("words".into(), list(scalar(Type::String), Some(as_set))),
            ("plain".into(), list(item, None)),
            ("labels".into(), inline(labels)),
        ]
        .into(),
        ..Schema::anything()
    })
}

fn outcome(object: &Value, patch: &Value) -> String {
    match merge(object.clone(), patch.clone(), &kind()) {
        Ok(object) => object.to_string(),
        Err(error) => format!("{} {error}", error.code()),
    }
}

#[test]
fn lists_merge_as_their_type_says() {
    let object = json!({"items": [{"name": "a", "value": 1}, {"name": "b", "value": 2}], "words": ["x", "y"], "plain": [{"name": "p"}]});
    let cases = [
        (
            json!({"items": [{"name": "b", "value": 3}, {"name": "c"}]}),
            r#"{"items":[{"name":"a","value":1},{"name":"b","value":3},{"name":"c"}],"plain":[{"name":"p"}],"words":["x","y"]}"#,
        ),
        (
            json!({"items": [{"name": "a", "$patch": "delete"}], "plain": []}),
            r#"{"items":[{"name":"b","value":2}],"plain":[],"words":["x","y"]}"#,
        ),
        (
            json!({"items": [{"$patch": "replace"}, {"name": "z"}]}),
            r#"{"items":[{"name":"z"}],"plain":[{"name":"p"}],"words":["x","y"]}"#,
        ),
        (
            json!({"words": ["z", "x"], "$setElementOrder/words": ["z", "x", "y"], "items": null}),
            r#"{"plain":[{"name":"p"}],"words":["z","x","y"]}"#,
        ),
        (
            json!({"$deleteFromPrimitiveList/words": ["x"], "$retainKeys": ["words"]}),
            r#"{"words":["y"]}"#,
        ),
        (json!({"$patch": "replace", "words": []}), r#"{"words":[]}"#),
        (json!({"$patch": "delete"}), "{}"),
    ];
    for (patch, expected) in cases {
        assert_eq!(outcome(&object, &patch), expected, "{patch}");
    }
}

#[test]
fn what_can_not_be_merged_is_refused_with_upstreams_words() {
    let object = json!({"items": [{"name": "a"}], "words": ["x"], "labels": {"a": {"b": "c"}}});
    let cases = [
        (
            json!({"items": [{"value": 1}]}),
            "500 map: map[value:1] does not contain declared merge key: name",
        ),
        (
            json!({"items": [{"name": "a", "$patch": "grow"}]}),
            "500 unknown patch type: grow in map: map[$patch:grow name:a]",
        ),
        (
            json!({"items": [{"$patch": "merge"}]}),
            "500 merging lists cannot yet be specified in the patch",
        ),
        (
            json!({"words": [1]}),
            "500 list element types are not identical: [[x] [1]]",
        ),
        (
            json!({"$retainKeys": "a"}),
            "400 invalid patch format of retainKeys",
        ),
        (
            json!({"$deleteFromPrimitiveList": []}),
            "400 invalid patch format of primitive list",
        ),
        (
            json!({"$setElementOrder": []}),
            "400 invalid patch format of setElementOrder list",
        ),
        (
            json!({"$setElementOrder/words": ["y"], "words": ["x"]}),
            "500 The order in patch list:\n[x]\n doesn't match $setElementOrder list:\n[y]\n",
        ),
        (
            json!({"labels": {"a": {"b": "d"}}}),
            "500 merging an object in json but data type is not struct, instead is: map",
        ),
    ];
    for (patch, expected) in cases {
        assert_eq!(outcome(&object, &patch), expected, "{patch}");
    }
}

#[test]
fn a_body_that_is_no_object_is_a_bad_request() {
    let error = apply(json!({}), b"5", &kind(), true).unwrap_err();
    assert_eq!(
        error.to_string(),
        "json: cannot unmarshal number into Go value of type map[string]interface {}"
    );
    assert_eq!(
        apply(json!({"words": []}), b"null", &kind(), true)
            .unwrap()
            .object,
        json!({"words": []})
    );
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<i8>().prop_map(Value::from),
        "(a|x|replace|delete|merge)".prop_map(Value::String)
    ];
    let name = "(name|value|items|words|plain|labels|\\$patch|\\$retainKeys|\\$setElementOrder/(items|words|plain)|\\$deleteFromPrimitiveList/(words|items))";
    leaf.prop_recursive(4, 32, 4, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            proptest::collection::btree_map(name, inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn no_patch_makes_it_panic(object in value(), patch in value()) {
        let _ = merge(object, patch, &kind());
    }

    #[test]
    fn the_empty_patch_changes_nothing(object in value()) {
        prop_assume!(object.is_object());
        prop_assert_eq!(merge(object.clone(), json!({}), &kind()).unwrap(), object);
    }
}
