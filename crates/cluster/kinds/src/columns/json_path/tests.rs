use proptest::prelude::*;
use serde_json::{Value, json};

use super::JsonPath;

fn found(path: &str) -> Value {
    let object = json!({
        "spec": {"a.b": 1, "list": [1, 2, 3, 4], "n": null},
        "status": {"conditions": [
            {"type": "Ready", "status": "True", "weight": 2},
            {"type": "Other", "status": "False"},
        ]},
    });
    match JsonPath::parse(path) {
        Err(error) => Value::String(error.to_string()),
        Ok(path) => match path.find(&object) {
            Ok(values) => Value::Array(values.into_iter().cloned().collect()),
            Err(error) => Value::String(error.to_string()),
        },
    }
}

#[test]
fn paths_lead_to_what_they_name() {
    let cases = [
        (".spec.list", json!([[1, 2, 3, 4]])),
        (".spec.list[0]", json!([1])),
        (".spec.list[-1]", json!([4])),
        (".spec.list[-2]", json!([3])),
        (".spec.list[1:3]", json!([2, 3])),
        (".spec.list[::2]", json!([1, 3])),
        (".spec.list[*]", json!([1, 2, 3, 4])),
        (".spec.list[0,2]", json!([1, 3])),
        (".spec.list[9]", json!("the path doesn't fit the object")),
        (".spec.none.deeper", json!([])),
        (".spec.a\\.b", json!([1])),
        (".spec['a\\.b']", json!([1])),
        (".status.conditions[?(@.type==\"Ready\")].status", json!(["True"])),
        (".status.conditions[?(@.type=='Ready')].status", json!(["True"])),
        (".status.conditions[?(@.type!=\"Ready\")].type", json!(["Other"])),
        (".status.conditions[?(@.weight>1)].type", json!(["Ready"])),
        (".status.conditions[?(@.weight)].type", json!(["Ready"])),
        (
            ".status.conditions[?(@.type==1)].type",
            json!("the path doesn't fit the object"),
        ),
        (".status..type", json!(["Ready", "Other"])),
        (".spec.list[?(@.x", json!("unterminated filter")),
        (".spec.list[x]", json!("invalid array index x")),
        ("spec", json!("unrecognized identifier spec")),
    ];
    for (path, expected) in cases {
        assert_eq!(found(path), expected, "{path}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in any::<String>()) {
        found(&text);
    }

    #[test]
    fn no_path_makes_it_panic(text in "(\\.|\\.\\.|\\[|\\]|\\*|\\?|\\(|\\)|@|=|'|\"|,|:|-|0|1|a|spec|list|\\\\){0,16}") {
        found(&text);
    }
}
