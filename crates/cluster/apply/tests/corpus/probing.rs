//! What probes say.

use api::cluster_object_set::ProgressionProbe;
use apply::probes::{ProbeResult, ProbeStatus, Probes};
use serde_json::{Value, json};

use crate::{cases, rows, texts};

fn status_of(result: &ProbeResult) -> &'static str {
    match result.status {
        ProbeStatus::True => "True",
        ProbeStatus::False => "False",
        ProbeStatus::Unknown => "Unknown",
    }
}

pub(crate) fn result(value: &Value) -> ProbeResult {
    ProbeResult {
        status: match value[0].as_str() {
            Some("True") => ProbeStatus::True,
            Some("False") => ProbeStatus::False,
            _ => ProbeStatus::Unknown,
        },
        messages: texts(&value[1]),
    }
}

fn probes(selector: &Value, assertions: Value) -> Probes {
    let probe: ProgressionProbe =
        serde_json::from_value(json!({"selector": selector, "assertions": assertions})).expect("a probe");
    Probes::read(&[probe]).expect("probes")
}

#[test]
fn probes_say_what_upstreams_say() {
    let Some(cases) = cases("cos-status/probes.json") else {
        return;
    };
    let everything = json!({"type": "Label", "label": {}});
    for row in rows(&cases["probes"]) {
        let result = probes(&everything, json!([row["probe"]])).ask(&row["object"]);
        assert_eq!(status_of(&result), row["status"], "{}", row["id"]);
        assert_eq!(result.messages, texts(&row["messages"]), "{}", row["id"]);
    }
    let banana = json!([{"type": "FieldValue", "fieldValue": {"fieldPath": "fruit", "value": "banana"}}]);
    for row in rows(&cases["observedGeneration"]) {
        let mut object =
            json!({"fruit": "banana", "metadata": {"generation": row["generation"]}, "status": {}});
        if !row["observedGeneration"].is_null() {
            object["status"]["observedGeneration"] = row["observedGeneration"].clone();
        }
        let result = probes(&everything, banana.clone()).ask(&object);
        assert_eq!(status_of(&result), row["expected"][0], "{}", row["id"]);
        if result.status == ProbeStatus::Unknown {
            assert_eq!(result.messages, texts(&row["expected"][1]), "{}", row["id"]);
        }
    }
    for row in rows(&cases["and"]) {
        let joined = ProbeResult::all(rows(&row["in"]).iter().map(result));
        assert_eq!(joined, result(&row["expected"]), "{}", row["id"]);
    }
    for row in rows(&cases["selectors"]) {
        let object =
            json!({"apiVersion": "v1", "kind": row["objectKind"][1], "metadata": {"labels": row["labels"]}});
        let asked = probes(&row["selector"], banana.clone()).ask(&object);
        assert_eq!(asked, result(&row["expected"]), "{}", row["id"]);
    }
}
