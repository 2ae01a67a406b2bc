//! Requests that are too much, in whatever way.

use serde_json::{Value, json};

use crate::context::Context;
use crate::exchange::PatchKind;

cases![
    a_body_over_three_mebibytes_is_too_large,
    a_patch_over_three_mebibytes_is_too_large,
    a_config_map_over_one_mebibyte_is_invalid,
    a_secret_over_one_mebibyte_is_invalid,
    annotations_over_a_quarter_mebibyte_are_invalid,
    json_that_is_too_deep_is_refused,
    bytes_that_are_no_utf8_become_replacement_characters,
    a_hundred_thousand_unknown_keys_are_dropped,
    ten_thousand_operations_are_enough_for_a_json_patch,
    a_long_name_is_invalid,
    a_long_label_is_invalid,
    a_url_can_be_long,
    many_unknown_fields_are_not_all_warned_of,
    a_custom_object_over_one_and_a_half_mebibytes_is_too_large_to_store,
    a_million_keys_are_too_large_a_body,
    an_alias_bomb_is_refused,
    a_body_is_read_as_it_came_whatever_its_encoding_is_said_to_be,
];

const MEBIBYTE: usize = 1024 * 1024;

fn config_map(name: &str, data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
}

async fn a_body_over_three_mebibytes_is_too_large(c: &Context) {
    c.namespace().await;
    let body = config_map("a", &json!({"k": "x".repeat(3 * MEBIBYTE)}));
    c.post("configmaps", &body).await.refused(
        413,
        "RequestEntityTooLarge",
        "Request entity too large: limit is 3145728",
    );
}

async fn a_patch_over_three_mebibytes_is_too_large(c: &Context) {
    c.namespace().await;
    c.post("configmaps", &config_map("a", &json!({})))
        .await
        .expect(201);
    let body = json!({"data": {"k": "x".repeat(3 * MEBIBYTE)}});
    c.patch(PatchKind::Merge, "configmaps/a", &body).await.refused(
        413,
        "RequestEntityTooLarge",
        "Request entity too large: limit is 3145728",
    );
}

async fn a_config_map_over_one_mebibyte_is_invalid(c: &Context) {
    c.namespace().await;
    let body = config_map("a", &json!({"k": "x".repeat(MEBIBYTE + 1)}));
    c.post("configmaps", &body).await.refused(
        422,
        "Invalid",
        "ConfigMap \"a\" is invalid: []: Too long: may not be more than 1048576 bytes",
    );
    c.post(
        "configmaps",
        &config_map("a", &json!({"k": "x".repeat(MEBIBYTE)})),
    )
    .await
    .expect(201);
}

async fn a_secret_over_one_mebibyte_is_invalid(c: &Context) {
    c.namespace().await;
    let body = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"},
        "stringData": {"k": "x".repeat(MEBIBYTE + 1)}});
    c.post("secrets", &body).await.refused(
        422,
        "Invalid",
        "Secret \"a\" is invalid: data: Too long: may not be more than 1048576 bytes",
    );
}

async fn annotations_over_a_quarter_mebibyte_are_invalid(c: &Context) {
    c.namespace().await;
    let body = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "a", "annotations": {"k": "x".repeat(MEBIBYTE / 4)}}});
    c.post("configmaps", &body).await.refused(
        422,
        "Invalid",
        "ConfigMap \"a\" is invalid: metadata.annotations: Too long: may not be more than 262144 bytes",
    );
}

async fn json_that_is_too_deep_is_refused(c: &Context) {
    c.namespace().await;
    let nested = |depth: usize| {
        let (open, close) = ("{\"a\":".repeat(depth), "}".repeat(depth));
        format!(
            "{{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{{\"name\":\"a\"}},\"data\":{open}1{close}}}"
        )
    };
    c.post("configmaps", &Value::Null).body("application/json", nested(11_000)).await.refused(
        400,
        "BadRequest",
        "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: invalid character '{' exceeded max depth ({\"apiVersion\":\"v1\",\"kind\":\"Con ...)",
    );
    c.post("configmaps", &Value::Null).body("application/json", nested(500)).await.refused(
        400,
        "BadRequest",
        "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: json: cannot unmarshal object into Go struct field ConfigMap.data of type string",
    );
}

async fn bytes_that_are_no_utf8_become_replacement_characters(c: &Context) {
    c.namespace().await;
    let mut body =
        br#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"a"#.to_vec();
    body.extend_from_slice(b"\xff\xfe");
    body.extend_from_slice(br#"b"}}"#);
    c.post("configmaps", &Value::Null)
        .body("application/json", body)
        .await
        .expect(201)
        .has("/data/k", "a\u{fffd}\u{fffd}b");
}

async fn a_hundred_thousand_unknown_keys_are_dropped(c: &Context) {
    c.namespace().await;
    let keys: serde_json::Map<String, Value> = (0..100_000)
        .map(|number| (format!("k{number}"), json!(1)))
        .collect();
    let mut body = config_map("a", &json!({}));
    body["bogus"] = Value::Object(keys);
    c.post("configmaps", &body)
        .query("fieldValidation", "Ignore")
        .await
        .expect(201)
        .lacks("/bogus");
}

async fn ten_thousand_operations_are_enough_for_a_json_patch(c: &Context) {
    c.namespace().await;
    c.post("configmaps", &config_map("a", &json!({"k": "v"})))
        .await
        .expect(201);
    let operations =
        |count: usize| Value::from(vec![json!({"op": "add", "path": "/data/k", "value": "w"}); count]);
    c.patch(PatchKind::Json, "configmaps/a", &operations(10_001))
        .await
        .refused(
            413,
            "RequestEntityTooLarge",
            "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001",
        );
    c.patch(PatchKind::Json, "configmaps/a", &operations(10_000))
        .await
        .expect(200)
        .has("/data/k", "w");
}

async fn a_long_name_is_invalid(c: &Context) {
    c.namespace().await;
    let name = "a".repeat(254);
    let message = format!(
        "ConfigMap \"{name}\" is invalid: metadata.name: Invalid value: \"{name}\": must be no more than 253 characters"
    );
    c.post("configmaps", &config_map(&name, &json!({})))
        .await
        .refused(422, "Invalid", &message);
    let body =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "b".repeat(100)}});
    let made = c.post("configmaps", &body).await.expect(201).json();
    assert_eq!(made["metadata"]["name"].as_str().map(str::len), Some(63));
}

async fn a_long_label_is_invalid(c: &Context) {
    c.namespace().await;
    let value = "a".repeat(64);
    let body =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "labels": {"k": value}}});
    let message = format!(
        "ConfigMap \"a\" is invalid: metadata.labels: Invalid value: \"{value}\": must be no more than 63 bytes"
    );
    c.post("configmaps", &body)
        .await
        .refused(422, "Invalid", &message);
}

async fn a_url_can_be_long(c: &Context) {
    c.namespace().await;
    let values: Vec<String> = (0..2000).map(|number| format!("v{number}")).collect();
    c.get("secrets")
        .query("labelSelector", &format!("k in ({})", values.join(",")))
        .await
        .expect(200)
        .has("/items", json!([]));
}

async fn many_unknown_fields_are_not_all_warned_of(c: &Context) {
    c.namespace().await;
    let mut body = config_map("a", &json!({}));
    for number in 0..60 {
        body[format!("bogus{number:02}{}", "x".repeat(300))] = json!(1);
    }
    let answer = c.post("configmaps", &body).await.expect(201);
    let warnings = answer.warnings();
    assert!(
        warnings
            .iter()
            .all(|warning| warning.starts_with("299 - \"unknown field \\\"bogus")),
        "{warnings:?}"
    );
    assert!(warnings.iter().all(|warning| warning.len() < 300), "{warnings:?}");
    assert!(!warnings.is_empty() && warnings.len() < 60, "{}", warnings.len());
}

async fn a_custom_object_over_one_and_a_half_mebibytes_is_too_large_to_store(c: &Context) {
    c.namespace().await;
    let group = format!("{}.example.com", c.id);
    let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}});
    c.define(
        &json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("things.{group}")}, "spec": {"group": group, "scope": "Namespaced",
        "names": {"plural": "things", "kind": "Thing"}, "versions": [
            {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]}}),
    )
    .await;
    let path = c.path(&format!("{group}/v1:things"));
    let thing = |kibibytes: usize| {
        json!({"apiVersion": format!("{group}/v1"), "kind": "Thing", "metadata": {"name": "a"},
            "text": "x".repeat(kibibytes * 1024)})
    };
    c.until_answer(&path, |answer| answer.status == 200).await;
    c.post(&path, &thing(1550))
        .await
        .refused(500, "", "etcdserver: request is too large");
    c.post(&path, &thing(1500)).await.expect(201);
    c.patch(PatchKind::Merge, &format!("{path}/a"), &thing(1550))
        .await
        .refused(500, "", "etcdserver: request is too large");
    c.get(&format!("{path}/a")).await.expect(200);
}

async fn a_million_keys_are_too_large_a_body(c: &Context) {
    c.namespace().await;
    let keys: Vec<String> = (0..1_000_000)
        .map(|number| format!("\"{number}\":\"\""))
        .collect();
    let body = format!(
        "{{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{{\"name\":\"a\"}},\"data\":{{{}}}}}",
        keys.join(",")
    );
    c.post("configmaps", &Value::Null)
        .body("application/json", body)
        .await
        .refused(
            413,
            "RequestEntityTooLarge",
            "Request entity too large: limit is 3145728",
        );
}

async fn an_alias_bomb_is_refused(c: &Context) {
    c.namespace().await;
    let mut bomb =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bomb}\ndata:\n  l0: &l0 [x]\n".to_owned();
    for level in 1..12 {
        let below = vec![format!("*l{}", level - 1); 9].join(",");
        let name = format!("l{level}");
        bomb.extend(["  ", &name, ": &", &name, " [", &below, "]\n"]);
    }
    c.post("configmaps", &Value::Null)
        .body("application/yaml", bomb.clone())
        .await
        .refused(
            400,
            "BadRequest",
            "the object provided is unrecognized (must be of type ConfigMap): yaml: document contains excessive aliasing \
             (61706956657273696f6e3a2076310a6b696e643a20436f6e6669674d6170 ...)",
        );
    c.request(http::Method::PATCH, "configmaps/bomb")
        .query("fieldManager", "m")
        .body("application/apply-patch+yaml", bomb)
        .await
        .refused(
            400,
            "BadRequest",
            "error decoding YAML: error converting YAML to JSON: yaml: document contains excessive aliasing",
        );
}

async fn a_body_is_read_as_it_came_whatever_its_encoding_is_said_to_be(c: &Context) {
    c.namespace().await;
    c.post("configmaps", &config_map("a", &json!({})))
        .header("Content-Encoding", "gzip")
        .await
        .expect(201);
    let packed: &[u8] =
        b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xab\xae\x05\x00\x43\xbf\xa6\xa3\x02\x00\x00\x00";
    c.post("configmaps", &Value::Null)
        .body("application/json", packed)
        .header("Content-Encoding", "gzip")
        .await
        .refused(
            400,
            "BadRequest",
            "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: \
             invalid character '\\x1f' looking for beginning of value (1f8b0800000000000003abae050043bfa6a302000000)",
        );
}
