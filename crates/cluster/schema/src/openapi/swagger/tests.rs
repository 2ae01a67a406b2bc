use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use super::definitions::{definition, schema};
use super::{document, to_protobuf};
use crate::openapi::entrance;

#[test]
fn alternatives_defaults_and_null_have_no_place_in_the_older_form() {
    let cases = [
        (
            json!({"type": "string", "default": "a", "minLength": 1}),
            json!({"type": "string", "minLength": 1}),
        ),
        (json!({"type": "string", "nullable": true}), json!({})),
        (
            json!({"type": "array", "nullable": true, "items": {"type": "string"}}),
            json!({}),
        ),
        (
            json!({"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": true}),
            json!({"x-kubernetes-int-or-string": true}),
        ),
        (
            json!({"description": "d", "default": {}, "allOf": [{"$ref": "#/components/schemas/a.B"}]}),
            json!({"description": "d", "$ref": "#/definitions/a.B"}),
        ),
        (
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"a": {}}}),
            json!({"x-kubernetes-preserve-unknown-fields": true}),
        ),
        (
            json!({"type": "object", "required": ["a", "b"], "properties": {
                "a": {"type": "string", "nullable": true}, "b": {"type": "string"}}}),
            json!({"type": "object", "required": ["b"], "properties": {"a": {}, "b": {"type": "string"}}}),
        ),
        (
            json!({"type": "object", "properties": {"default": {"type": "string"}, "nullable": {"type": "string"}}}),
            json!({"type": "object", "properties": {"default": {"type": "string"}, "nullable": {"type": "string"}}}),
        ),
        (
            json!({"type": "object", "additionalProperties": {"type": "string", "nullable": true}}),
            json!({"type": "object", "additionalProperties": {}}),
        ),
        (
            json!({"type": "object", "additionalProperties": true}),
            json!({"type": "object", "additionalProperties": true}),
        ),
    ];
    for (newer, older) in cases {
        assert_eq!(schema(&newer), older, "{newer}");
    }
}

#[test]
fn a_resource_with_any_fields_has_none_in_the_older_form() {
    let kinds = json!([{"group": "g", "kind": "K", "version": "v1"}]);
    let newer = json!({
        "type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"spec": {"type": "object"}},
        "x-kubernetes-group-version-kind": kinds,
    });
    assert_eq!(
        definition("g.v1.K", &newer),
        json!({"type": "object", "x-kubernetes-group-version-kind": kinds})
    );
}

#[test]
fn what_many_operations_take_is_told_once() {
    let documents: Vec<Value> = ["api", "apis", "apis/apps", "version"]
        .into_iter()
        .filter_map(entrance)
        .collect();
    let told = document(&documents);
    assert_eq!(
        told["paths"]["/apis/apps/"]["get"],
        json!({
            "description": "get information of a group",
            "consumes": ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"],
            "produces": ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"],
            "schemes": ["https"],
            "tags": ["apps"],
            "operationId": "getAppsAPIGroup",
            "responses": {
                "200": {"description": "OK", "schema": {"$ref": "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.APIGroup"}},
                "401": {"description": "Unauthorized"},
            },
        })
    );
    let newer = |kind: &str| {
        json!({"paths": {format!("/{kind}"): {
            "get": {"x-kubernetes-action": "list", "responses": {}, "parameters": [
                {"name": "limit", "in": "query", "schema": {"type": "integer"}}]},
            "parameters": [{"name": "name", "in": "path", "required": true, "schema": {"type": "string"}}],
        }}})
    };
    let told = document(&[newer("a"), newer("b")]);
    let shared = told["parameters"].as_object().expect("parameters");
    let names: Vec<&String> = shared.keys().collect();
    assert_eq!(names.len(), 1, "{names:?}");
    for path in ["/a", "/b"] {
        assert_eq!(
            told["paths"][path]["get"]["parameters"],
            json!([{"$ref": format!("#/parameters/{}", names[0])}])
        );
        assert_eq!(told["paths"][path]["parameters"][0]["name"], "name");
    }
}

#[test]
fn the_binary_form_is_gnostics() {
    let told = json!({
        "swagger": "2.0",
        "info": {"title": "T", "version": "1"},
        "paths": {},
        "definitions": {"a.B": {"type": "object", "maxLength": 3, "maximum": 1.0, "additionalProperties": false,
            "x-k": ["a"]}},
        "security": [{"Key": []}],
    });
    let mut expected = b"\n\x032.0\x12\x06\n\x01T\x12\x011B\x00".to_vec();
    let schema = b"9\0\0\0\0\0\0\xf0\x3fX\x03\xaa\x01\x02\x10\x00\xb2\x01\x08\n\x06object\xfa\x01\r\n\x03x-k\x12\x06\x12\x04- a\n";
    let mut entry = b"\n\x03a.B\x12".to_vec();
    entry.push(schema.len() as u8);
    entry.extend(schema);
    let mut definitions = vec![b'\n', entry.len() as u8];
    definitions.extend(entry);
    expected.extend([b'J', definitions.len() as u8]);
    expected.extend(definitions);
    expected.extend(b"b\x09\n\x07\n\x03Key\x12\x00");
    assert_eq!(to_protobuf(&told), expected);
}

#[test]
#[ignore = "needs a real server's documents: a folder in REAL_DOCUMENTS with swagger.json and swagger.pb from /openapi/v2, \
            and documents.json, which holds all of /openapi/v3 by their names"]
fn both_forms_agree_with_a_real_servers() {
    let folder = std::env::var("REAL_DOCUMENTS").expect("REAL_DOCUMENTS");
    let read = |name: &str| std::fs::read(Path::new(&folder).join(name)).expect(name);
    let newer: BTreeMap<String, Value> = serde_json::from_slice(&read("documents.json")).expect("JSON");
    let older: Value = serde_json::from_slice(&read("swagger.json")).expect("JSON");
    for (name, theirs) in newer
        .iter()
        .filter(|(name, _)| name.matches('/').count() < 2 && *name != "api/v1")
    {
        let ours = entrance(name).expect(name);
        assert_eq!(ours["paths"], theirs["paths"], "{name}");
    }
    let mut ours = document(newer.values());
    let mut theirs = older.clone();
    // The names of shared parameters are made from their text, which has the keys in another order there.
    for told in [&mut ours, &mut theirs] {
        let shared = told["parameters"].take();
        for (_, item) in told["paths"].as_object_mut().into_iter().flatten() {
            for (key, value) in item.as_object_mut().into_iter().flatten() {
                let parameters = if key == "parameters" {
                    value
                } else {
                    &mut value["parameters"]
                };
                for parameter in parameters.as_array_mut().into_iter().flatten() {
                    if let Some(name) = parameter["$ref"]
                        .as_str()
                        .and_then(|name| name.strip_prefix("#/parameters/"))
                    {
                        *parameter = shared[name].clone();
                    }
                }
            }
        }
    }
    for part in ["paths", "definitions"] {
        for (name, theirs) in theirs[part].as_object().expect("an object") {
            assert_eq!(&ours[part][name], theirs, "{part} {name}");
        }
    }
    assert_eq!(ours, theirs);
    // Theirs has the fields of some extensions in the order in which they were written, which is lost here.
    let (mut ours, mut theirs) = (to_protobuf(&older), read("swagger.pb"));
    assert_eq!(ours.len(), theirs.len());
    ours.sort_unstable();
    theirs.sort_unstable();
    assert!(ours == theirs, "the binary forms differ");
}
