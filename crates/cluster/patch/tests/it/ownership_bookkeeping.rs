//! What surrounds ownership: the names of managers, times, the replicas of a Scale.

use std::collections::BTreeMap;

use patch::ownership::{
    FieldPath, ReplicasPaths, keep_times_if_only_they_changed, managed_fields_from_scale,
    manager_or_user_agent, scale_managed_fields, validate_field_manager, validate_managed_fields,
    validate_patch_options, warning_after_admission,
};
use serde_json::{Value, json};

fn texts(errors: &[schema::FieldError]) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn a_manager_without_a_name_has_the_beginning_of_its_user_agent() {
    assert_eq!(manager_or_user_agent("me", "kubectl/v1.36"), "me");
    assert_eq!(
        manager_or_user_agent("", "kubectl/v1.36 (linux/amd64)"),
        "kubectl"
    );
    assert_eq!(manager_or_user_agent("", "a\u{7}b c"), "ab c");
    assert_eq!(manager_or_user_agent("", &"é".repeat(100)), "é".repeat(64));
    assert_eq!(manager_or_user_agent("", ""), "");
}

#[test]
fn the_options_of_a_patch_are_checked_with_the_api_servers_texts() {
    assert_eq!(
        texts(&validate_patch_options(true, "", None)),
        ["fieldManager: Required value: is required for apply patch"]
    );
    assert_eq!(
        texts(&validate_patch_options(false, "", Some(false))),
        ["force: Forbidden: may not be specified for non-apply patch"]
    );
    assert!(validate_patch_options(true, "me", Some(true)).is_empty());
    let path = schema::FieldPath::new("fieldManager");
    assert_eq!(
        texts(&validate_field_manager("é\t", &path)),
        ["fieldManager: Invalid value: \"é\\t\": invalid character U+0009 (at position 2)"]
    );
    assert_eq!(
        texts(&validate_field_manager(&"x".repeat(129), &path)),
        ["fieldManager: Too long: may not be more than 128 bytes"]
    );
    let path = schema::FieldPath::new("metadata").child("managedFields");
    assert_eq!(
        texts(&validate_managed_fields(
            &json!([{"operation": "x", "fieldsType": "y"}]),
            &path
        )),
        [
            "metadata.managedFields[0].operation: Invalid value: \"x\": must be `Apply` or `Update`",
            "metadata.managedFields[0].fieldsType: Invalid value: \"y\": must be `FieldsV1`",
        ]
    );
}

#[test]
fn managed_fields_that_a_webhook_broke_give_a_warning() {
    assert_eq!(warning_after_admission(None), None);
    assert_eq!(
        warning_after_admission(Some(&json!([{"operation": "Apply"}]))).unwrap(),
        ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating \
         admission controller; please fix your requests: apiVersion must not be empty"
    );
}

fn entry(manager: &str, version: &str, fields: &Value, time: &str) -> Value {
    json!({
        "manager": manager, "operation": "Update", "apiVersion": version, "fieldsType": "FieldsV1",
        "fieldsV1": fields, "time": time,
    })
}

#[test]
fn times_alone_are_no_change() {
    let fields = json!({"f:spec": {}});
    let object = |time: &str, spec: i64| {
        json!({
            "metadata": {"name": "n", "managedFields": [entry("m", "v1", &fields, time)]}, "spec": spec,
        })
    };
    let live = object("2026-01-01T00:00:00Z", 1);
    let mut same = object("2026-01-02T00:00:00Z", 1);
    keep_times_if_only_they_changed(&live, &mut same);
    assert_eq!(same, live);
    let mut different = object("2026-01-02T00:00:00Z", 2);
    keep_times_if_only_they_changed(&live, &mut different);
    assert_eq!(different, object("2026-01-02T00:00:00Z", 2));
    let mut renamed = object("2026-01-02T00:00:00Z", 1);
    renamed["metadata"]["managedFields"][0]["manager"] = json!("other");
    let expected = renamed.clone();
    keep_times_if_only_they_changed(&live, &mut renamed);
    assert_eq!(renamed, expected);
}

#[test]
fn owners_of_replicas_own_them_through_the_scale_and_back() {
    let paths: ReplicasPaths =
        BTreeMap::from([("apps/v1".into(), Some(FieldPath::of_fields(["spec", "replicas"])))]);
    let time = "2026-01-01T00:00:00Z";
    let parent = json!([
        entry(
            "a",
            "apps/v1",
            &json!({"f:spec": {"f:replicas": {}, "f:paused": {}}}),
            time
        ),
        entry("b", "apps/v1", &json!({"f:spec": {"f:paused": {}}}), time),
        entry(
            "gone",
            "apps/v1beta1",
            &json!({"f:spec": {"f:replicas": {}}}),
            time
        ),
    ]);
    let scale = scale_managed_fields(Some(&parent), &paths).unwrap().unwrap();
    assert_eq!(
        scale,
        json!([entry(
            "a",
            "autoscaling/v1",
            &json!({"f:spec": {"f:replicas": {}}}),
            time
        )])
    );

    let mut written = entry(
        "hpa",
        "autoscaling/v1",
        &json!({"f:spec": {"f:replicas": {}}}),
        time,
    );
    written["subresource"] = json!("scale");
    let after = managed_fields_from_scale(Some(&parent), Some(&json!([written])), "apps/v1", &paths)
        .unwrap()
        .unwrap();
    let mut stolen = entry("hpa", "apps/v1", &json!({"f:spec": {"f:replicas": {}}}), time);
    stolen["subresource"] = json!("scale");
    stolen.as_object_mut().unwrap().remove("time");
    let paused = json!({"f:spec": {"f:paused": {}}});
    assert_eq!(
        after,
        json!([
            stolen,
            entry("a", "apps/v1", &paused, time),
            entry("b", "apps/v1", &paused, time)
        ])
    );
}
