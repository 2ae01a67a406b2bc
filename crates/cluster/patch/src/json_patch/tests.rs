use proptest::prelude::*;
use serde_json::{Value, json};

use super::{JsonPatch, MAX_OPERATIONS, apply};
use crate::PatchError;

fn outcome(object: &Value, patch: &Value) -> String {
    match apply(object.clone(), patch.to_string().as_bytes()) {
        Ok(object) => object.to_string(),
        Err(error) => format!("{} {error}", error.code()),
    }
}

#[test]
fn operations_change_what_their_paths_lead_to() {
    let object = json!({"a": {"b/c": 1, "d~e": [1, 2, 3]}, "n": null});
    let cases = [
        (
            json!([{"op": "add", "path": "/a/b~1c", "value": 2}]),
            r#"{"a":{"b/c":2,"d~e":[1,2,3]},"n":null}"#,
        ),
        (
            json!([{"op": "add", "path": "/a/d~0e/-", "value": 4}]),
            r#"{"a":{"b/c":1,"d~e":[1,2,3,4]},"n":null}"#,
        ),
        (
            json!([{"op": "add", "path": "/a/d~0e/-1", "value": 4}]),
            r#"{"a":{"b/c":1,"d~e":[1,2,3,4]},"n":null}"#,
        ),
        (
            json!([{"op": "remove", "path": "/a/d~0e/-3"}]),
            r#"{"a":{"b/c":1,"d~e":[2,3]},"n":null}"#,
        ),
        (
            json!([{"op": "replace", "path": "/new", "value": 1}]),
            r#"{"a":{"b/c":1,"d~e":[1,2,3]},"n":null,"new":1}"#,
        ),
        (
            json!([{"op": "move", "from": "/a/b~1c", "path": "/m"}]),
            r#"{"a":{"d~e":[1,2,3]},"m":1,"n":null}"#,
        ),
        (
            json!([{"op": "copy", "from": "/none", "path": "/m"}]),
            r#"{"a":{"b/c":1,"d~e":[1,2,3]},"m":null,"n":null}"#,
        ),
        (
            json!([{"op": "test", "path": "/n", "value": null}, {"op": "remove", "path": "/a"}]),
            r#"{"n":null}"#,
        ),
        (json!([{"op": "replace", "path": "", "value": [1]}]), "[1]"),
    ];
    for (patch, expected) in cases {
        assert_eq!(outcome(&object, &patch), expected, "{patch}");
    }
}

#[test]
fn what_does_not_apply_is_refused_with_upstreams_words() {
    let object = json!({"a": [1]});
    let cases = [
        (
            json!([{"op": "test", "path": "/a/0", "value": 2}]),
            "422 testing value /a/0 failed: test failed",
        ),
        (
            json!([{"op": "add", "path": "/x/y", "value": 2}]),
            "422 add operation does not apply: doc is missing path: \"/x/y\": missing value",
        ),
        (
            json!([{"op": "remove", "path": "/x"}]),
            "422 error in remove for path: '/x': Unable to remove nonexistent key: x: missing value",
        ),
        (
            json!([{"op": "add", "path": "/a/x", "value": 2}]),
            "422 error in add for path: '/a/x': value was not a proper array index: 'x': strconv.Atoi: parsing \"x\": invalid syntax",
        ),
        (
            json!([{"op": "replace", "path": "/a/1", "value": 2}]),
            "422 replace operation does not apply: doc is missing key: /a/1: missing value",
        ),
        (json!([{"op": "grow", "path": "/a"}]), "422 Unexpected kind: grow"),
        (
            json!({}),
            "400 json: cannot unmarshal object into Go value of type jsonpatch.Patch",
        ),
    ];
    for (patch, expected) in cases {
        assert_eq!(outcome(&object, &patch), expected, "{patch}");
    }
}

#[test]
fn a_test_compares_texts_as_the_server_writes_them() {
    let object = json!({"a": "x<y"});
    assert!(apply(object.clone(), br#"[{"op":"test","path":"/a","value":"x<y"}]"#).is_err());
    assert!(
        apply(
            object.clone(),
            br#"[{"op":"test","path":"/a","value":"x\u003cy"}]"#
        )
        .is_ok()
    );
    let written_before = br#"[{"op":"add","path":"/b","value":"<"},{"op":"test","path":"/b","value":"<"}]"#;
    assert!(apply(object, written_before).is_ok());
}

#[test]
fn more_operations_than_allowed_are_refused() {
    let one = json!({"op": "test", "path": "/a", "value": 1});
    let body = Value::Array(vec![one; MAX_OPERATIONS + 1]).to_string();
    let error = JsonPatch::read(body.as_bytes(), true).unwrap_err();
    assert_eq!(error.code(), 413);
    assert_eq!(
        error.message(),
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"
    );
}

#[test]
fn copies_that_add_up_to_too_much_are_refused() {
    let mut operations = vec![json!({"op": "add", "path": "/a", "value": "x".repeat(1000)})];
    operations.extend((0..20).map(|_| json!({"op": "copy", "from": "", "path": "/b"})));
    assert_eq!(
        outcome(&json!({}), &json!(operations)),
        "422 copy operation does not apply: doc is missing from path: : missing value"
    );
    let mut operations = vec![json!({"op": "add", "path": "/a", "value": {"x": "x".repeat(1000)}})];
    operations.extend((0..20).map(|step| json!({"op": "copy", "from": "/a", "path": format!("/a/{step}")})));
    assert_eq!(
        outcome(&json!({}), &json!(operations)),
        "422 Unable to complete the copy, the accumulated size increase of copy is 4148176, exceeding the limit 3145728"
    );
}

#[test]
fn strict_reading_finds_unknown_and_repeated_fields_in_their_order() {
    let body = br#"[{"op":"add","path":"/c","value":{"a":1,"a":2},"foo":1,"bar":{"a":1,"a":2},"op":"add"}]"#;
    let patch = JsonPatch::read(body, true).unwrap();
    assert_eq!(
        patch.findings(),
        [
            "json patch duplicate field \"[0].value.a\"",
            "json patch unknown field \"[0].foo\"",
            "json patch unknown field \"[0].bar\"",
            "json patch duplicate field \"[0].op\"",
        ]
    );
    let wrong = JsonPatch::read(br#"[{"op":1}]"#, true).unwrap_err();
    let text = "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string";
    assert_eq!(wrong, PatchError::BadRequest(text.to_owned()));
}

proptest! {
    #[test]
    fn no_body_makes_it_panic(body in any::<Vec<u8>>()) {
        let _ = apply(json!({"a": [1, {"b": null}]}), &body);
    }

    #[test]
    fn no_operations_make_it_panic(
        operations in proptest::collection::vec(
            ("(add|remove|replace|move|copy|test)", "(/(a|b|0|1|-|-1|~0|~1|~|))*", "(/(a|b|0|-))*", 0..4_usize),
            0..6,
        )
    ) {
        let operations: Vec<Value> = operations
            .into_iter()
            .map(|(op, path, from, value)| {
                let value = [json!(1), json!({"a": [null]}), json!([[]]), Value::Null][value].clone();
                json!({"op": op, "path": path, "from": from, "value": value})
            })
            .collect();
        let _ = apply(json!({"a": [1, {"b": [null]}], "b": {"a": {}}}), json!(operations).to_string().as_bytes());
    }

    #[test]
    fn moving_there_and_back_changes_nothing(name in "[a-z~/]{1,5}") {
        let object = json!({"a": {"b": [1, 2]}, "c": 1});
        let path = format!("/{}", name.replace('~', "~0").replace('/', "~1"));
        prop_assume!(name != "a" && name != "c");
        let patch = json!([{"op": "move", "from": "/a", "path": path}, {"op": "move", "from": path, "path": "/a"}]);
        prop_assert_eq!(apply(object.clone(), patch.to_string().as_bytes()).unwrap(), object);
    }
}
