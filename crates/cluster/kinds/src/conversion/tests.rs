use serde_json::{Value, json};

use super::convert;

/// What a real server 1.36 shows of the same object in two versions.
const UPSTREAM: &str = include_str!("../strategy/upstream.jsonl");

#[test]
fn objects_are_shown_in_other_versions_as_the_real_server_does() {
    let mut compared = 0;
    for line in UPSTREAM.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let Some(other) = case.get("other") else {
            continue;
        };
        let answer = &case["answer"];
        let kind = answer["kind"].as_str().unwrap();
        let versions = [answer, other].map(|object| object["apiVersion"].as_str().unwrap());
        let there = convert(kind, versions[0], versions[1], answer.clone());
        assert_eq!(&there, other, "{} of {kind}", answer["metadata"]["name"]);
        let back = convert(kind, versions[1], versions[0], other.clone());
        let order = |object: &Value| -> Vec<String> {
            let metrics = object["spec"]["metrics"].as_array().cloned().unwrap_or_default();
            let mut metrics: Vec<String> = metrics.iter().map(Value::to_string).collect();
            metrics.sort();
            metrics
        };
        assert_eq!(
            order(&back),
            order(answer),
            "metrics of {}",
            answer["metadata"]["name"]
        );
        compared += 1;
    }
    assert!(compared >= 6, "only {compared} objects in two versions");
}

#[test]
fn what_was_measured_is_kept_in_annotations() {
    let second = json!({
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "a"},
        "spec": {"maxReplicas": 3, "metrics": []},
        "status": {
            "currentReplicas": 2,
            "desiredReplicas": 2,
            "currentMetrics": [{
                "type": "Resource",
                "resource": {"name": "cpu", "current": {"averageUtilization": 40, "averageValue": "100m"}},
            }],
            "conditions": [{"type": "AbleToScale", "status": "True", "lastTransitionTime": "2024-01-01T00:00:00Z", "reason": "R"}],
        },
    });
    let first = convert(
        "HorizontalPodAutoscaler",
        "autoscaling/v2",
        "autoscaling/v1",
        second.clone(),
    );
    assert_eq!(
        first["metadata"]["annotations"],
        json!({
            "autoscaling.alpha.kubernetes.io/current-metrics":
                r#"[{"type":"Resource","resource":{"name":"cpu","currentAverageUtilization":40,"currentAverageValue":"100m"}}]"#,
            "autoscaling.alpha.kubernetes.io/conditions":
                r#"[{"type":"AbleToScale","status":"True","lastTransitionTime":"2024-01-01T00:00:00Z","reason":"R"}]"#,
        })
    );
    assert_eq!(
        first["status"],
        json!({"currentReplicas": 2, "desiredReplicas": 2, "currentCPUUtilizationPercentage": 40})
    );
    let back = convert(
        "HorizontalPodAutoscaler",
        "autoscaling/v1",
        "autoscaling/v2",
        first,
    );
    assert_eq!(back["status"], second["status"]);
}

#[test]
fn annotations_that_make_no_sense_are_dropped() {
    for text in ["", "[", "{}", "[1,null]", r#"[{"type":5}]"#, "null"] {
        let annotations: serde_json::Map<String, Value> = crate::defaults::AUTOSCALER_ANNOTATIONS
            .iter()
            .map(|name| ((*name).to_owned(), text.into()))
            .collect();
        let first = json!({"metadata": {"annotations": annotations}, "spec": {"maxReplicas": 3}});
        let second = convert(
            "HorizontalPodAutoscaler",
            "autoscaling/v1",
            "autoscaling/v2",
            first,
        );
        assert_eq!(second["metadata"], json!({}), "{text}");
    }
}

#[test]
fn other_kinds_only_change_their_version() {
    let object = json!({"apiVersion": "a/v1", "kind": "X", "spec": {"a": 1}});
    let converted = convert("X", "a/v1", "a/v2", object);
    assert_eq!(
        converted,
        json!({"apiVersion": "a/v2", "kind": "X", "spec": {"a": 1}})
    );
}
