//! Versions of a custom kind that a webhook turns into each other.

use std::time::Duration;

use goyaml::json::go_type;
use http::StatusCode;
use serde_json::{Map, Value, json};

use crate::api::Api;
use crate::callback::ClientConfig;
use crate::object::{Object, map_of};
use crate::resource::split_api_version;
use crate::status::Status;

/// How long a conversion may take, as on the real server.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Returns objects as the webhook of a definition makes them in another version, in the same order.
pub async fn convert(
    api: &Api,
    webhook: &Value,
    wanted: &str,
    objects: Vec<Value>,
) -> Result<Vec<Value>, Status> {
    let Some(first) = objects.first() else {
        return Ok(objects);
    };
    let kind = kind_text(first);
    let failed = |why: String| {
        let text = format!("conversion webhook for {kind} {why}");
        Status::refusal(StatusCode::INTERNAL_SERVER_ERROR, "", text)
    };
    let versions = webhook["conversionReviewVersions"].as_array();
    let version = versions
        .into_iter()
        .flatten()
        .find_map(|version| match version.as_str()? {
            "v1" => Some("v1"),
            "v1beta1" => Some("v1beta1"),
            _ => None,
        });
    let Some(version) = version else {
        let text = "no supported conversion review versions";
        return Err(Status::refusal(StatusCode::INTERNAL_SERVER_ERROR, "", text));
    };
    let uid = uuid::Uuid::new_v4().to_string();
    let api_version = format!("apiextensions.k8s.io/{version}");
    let review = json!({
        "kind": "ConversionReview", "apiVersion": api_version,
        "request": {"uid": uid, "desiredAPIVersion": wanted, "objects": objects},
        "response": {"uid": "", "convertedObjects": null, "result": {"metadata": {}}},
    });
    let client = ClientConfig::read(&webhook["clientConfig"]);
    let answer = api
        .callbacks
        .post(api, &client, &review, TIMEOUT)
        .await
        .map_err(|error| failed(format!("failed: {error}")))?;
    if !(200..=206).contains(&answer.code.as_u16()) {
        return Err(failed(format!("failed: {answer}")));
    }
    let document: Value = serde_json::from_slice(&answer.body).map_err(|error| {
        failed(format!(
            "failed: couldn't get version/kind; json parse error: {error}"
        ))
    })?;
    let converted = response(document, &uid, version).map_err(|why| failed(format!("failed: {why}")))?;
    if converted.len() != objects.len() {
        return Err(failed(format!(
            "returned {} objects, expected {}",
            converted.len(),
            objects.len()
        )));
    }
    let mut made = Vec::with_capacity(objects.len());
    for (original, mut object) in objects.iter().zip(converted) {
        finish(original, &mut object, wanted).map_err(&failed)?;
        made.push(object);
    }
    Ok(made)
}

/// Returns an object's kind as Go writes it: `example.com/v1, Kind=Thing`.
fn kind_text(object: &Value) -> String {
    let text = |name: &str| object[name].as_str().unwrap_or_default();
    let (group, version) = split_api_version(text("apiVersion"));
    format!("{group}/{version}, Kind={}", text("kind"))
}

/// Returns the objects of an answer, if it is one to the question.
fn response(mut document: Value, uid: &str, version: &str) -> Result<Vec<Value>, String> {
    if version == "v1" {
        let right =
            document["apiVersion"] == "apiextensions.k8s.io/v1" && document["kind"] == "ConversionReview";
        if !right {
            return Err(format!(
                "expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got {}",
                kind_text(&document)
            ));
        }
    }
    let response = &mut document["response"];
    if !response.is_object() {
        return Err("no response provided".to_owned());
    }
    let answered = response["uid"].as_str().unwrap_or_default();
    if version == "v1" && answered != uid {
        return Err(format!("expected response.uid=\"{uid}\", got \"{answered}\""));
    }
    let result = &response["result"];
    let status = result["status"].as_str().unwrap_or_default();
    if status != "Success" {
        return Err(match result["message"].as_str() {
            Some(message) if !message.is_empty() => message.to_owned(),
            _ => format!("response.result.status was '{status}', not 'Success'"),
        });
    }
    match response["convertedObjects"].take() {
        Value::Array(objects) => Ok(objects),
        _ => Ok(Vec::new()),
    }
}

/// Checks that a converted object is still the same one, and puts its metadata back but for labels and annotations.
fn finish(original: &Value, object: &mut Value, wanted: &str) -> Result<(), String> {
    let text = |object: &Value, name: &str| object[name].as_str().unwrap_or_default().to_owned();
    let received = text(object, "apiVersion");
    if received != wanted {
        return Err(format!(
            "returned invalid object at index 0: invalid groupVersion (expected {wanted}, received {received})"
        ));
    }
    let (expected, received) = (text(original, "kind"), text(object, "kind"));
    if expected != received {
        return Err(format!(
            "returned invalid object at index 0: invalid kind (expected {expected}, received {received})"
        ));
    }
    for (what, expected, received) in [
        ("name", original.name(), object.name()),
        ("namespace", original.namespace(), object.namespace()),
        ("UID", original.uid(), object.uid()),
    ] {
        if expected != received {
            return Err(format!(
                "returned invalid object: must have the same {what}: {expected} != {received}"
            ));
        }
    }
    let Some(metadata) = object.get("metadata") else {
        return Err("returned invalid metadata: missing metadata in converted object".to_owned());
    };
    let Some(metadata) = metadata.as_object() else {
        return Err(format!(
            "returned invalid metadata: invalid metadata of type {} in converted object",
            go_type(metadata)
        ));
    };
    let mut kept = original.metadata().cloned().unwrap_or_default();
    for name in ["labels", "annotations"] {
        match metadata.get(name) {
            None | Some(Value::Null) => {
                kept.remove(name);
            }
            Some(Value::Object(texts)) => {
                check_texts(name, texts)?;
                kept.insert(name.to_owned(), texts.clone().into());
            }
            Some(other) => {
                return Err(format!(
                    "returned invalid metadata: invalid metadata.{name} of type {} in converted object",
                    go_type(other)
                ));
            }
        }
    }
    map_of(object).insert("metadata".into(), kept.into());
    Ok(())
}

fn check_texts(name: &str, texts: &Map<String, Value>) -> Result<(), String> {
    match texts.iter().find(|(_, value)| !value.is_string()) {
        None => Ok(()),
        Some((key, value)) => Err(format!(
            "returned invalid metadata: metadata.{name}[{key}] must be a string, but is {} in converted object",
            go_type(value)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thing(version: &str, metadata: Value) -> Value {
        json!({"apiVersion": format!("example.com/{version}"), "kind": "Thing", "metadata": metadata})
    }

    #[test]
    fn a_conversion_may_change_labels_and_annotations_and_no_other_metadata() {
        let original = thing(
            "v1",
            json!({"name": "a", "uid": "1", "labels": {"a": "b"}, "generation": 3}),
        );
        let mut made = thing(
            "v2",
            json!({"name": "a", "uid": "1", "annotations": {"c": "d"}, "generation": 7}),
        );
        assert_eq!(finish(&original, &mut made, "example.com/v2"), Ok(()));
        assert_eq!(
            made["metadata"],
            json!({"name": "a", "uid": "1", "annotations": {"c": "d"}, "generation": 3})
        );
    }

    #[test]
    fn a_converted_object_must_be_the_same_one_in_the_wanted_version() {
        let original = thing("v1", json!({"name": "a", "uid": "1"}));
        let why = |mut made: Value| {
            finish(&original, &mut made, "example.com/v2")
                .err()
                .unwrap_or_default()
        };
        assert_eq!(
            why(thing("v1", json!({"name": "a", "uid": "1"}))),
            "returned invalid object at index 0: invalid groupVersion (expected example.com/v2, received example.com/v1)"
        );
        assert_eq!(
            why(thing("v2", json!({"name": "b", "uid": "1"}))),
            "returned invalid object: must have the same name: a != b"
        );
        assert_eq!(
            why(thing("v2", json!({"name": "a", "uid": "1", "labels": {"x": 1}}))),
            "returned invalid metadata: metadata.labels[x] must be a string, but is int64 in converted object"
        );
    }

    #[test]
    fn a_failed_conversion_tells_the_webhook_s_words() {
        let review = |result: Value| {
            json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
                "response": {"uid": "1", "result": result}})
        };
        let why = |result: Value| response(review(result), "1", "v1").err().unwrap_or_default();
        assert_eq!(why(json!({"status": "Failure", "message": "no"})), "no");
        assert_eq!(
            why(json!({"status": "Failed"})),
            "response.result.status was 'Failed', not 'Success'"
        );
        assert_eq!(
            response(json!({}), "1", "v1").err().unwrap_or_default(),
            "expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got /, Kind="
        );
    }
}
