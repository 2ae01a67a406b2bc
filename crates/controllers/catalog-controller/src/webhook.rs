//! The mutating webhook that gives every catalog a label with its own name, for clusters that call one.
//!
//! The controller sets the label by itself. Where the webhook is registered, a catalog has it from the beginning, and
//! nobody can take it away.

use api::keys;
use axum::Router;
use axum::body::Bytes;
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::StatusCode;
use http::header::CONTENT_TYPE;
use serde_json::{Value, json};

/// Where the API server sends catalogs, as upstream has it.
pub const PATH: &str = "/mutate-olm-operatorframework-io-v1-clustercatalog";

/// The route of the webhook.
pub fn router() -> Router {
    Router::new().route(PATH, post(answer))
}

async fn answer(body: Bytes) -> Response {
    match serde_json::from_slice(&body)
        .ok()
        .and_then(|review| reviewed(&review))
    {
        Some(review) => ([(CONTENT_TYPE, "application/json")], review.to_string()).into_response(),
        None => (
            StatusCode::BAD_REQUEST,
            "expected an AdmissionReview of admission.k8s.io/v1 with a request\n",
        )
            .into_response(),
    }
}

/// The review of a catalog: always allowed, with the label where it lacks.
pub fn reviewed(review: &Value) -> Option<Value> {
    let request = review.get("request")?;
    let uid = request.get("uid")?.as_str()?;
    let mut response = json!({"uid": uid, "allowed": true});
    if let Some(patch) = patch(request.get("object").unwrap_or(&Value::Null)) {
        response["patchType"] = json!("JSONPatch");
        response["patch"] = json!(STANDARD.encode(patch.to_string()));
    }
    Some(json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": response,
    }))
}

fn patch(object: &Value) -> Option<Value> {
    let metadata = object.get("metadata")?;
    let name = metadata.get("name")?.as_str()?;
    let escaped = keys::METADATA_NAME.replace('~', "~0").replace('/', "~1");
    let path = format!("/metadata/labels/{escaped}");
    match metadata.get("labels").and_then(Value::as_object) {
        None => {
            Some(json!([{"op": "add", "path": "/metadata/labels", "value": {keys::METADATA_NAME: name}}]))
        }
        Some(labels) => match labels.get(keys::METADATA_NAME) {
            Some(label) if label == name => None,
            Some(_) => Some(json!([{"op": "replace", "path": path, "value": name}])),
            None => Some(json!([{"op": "add", "path": path, "value": name}])),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patch_of(labels: Value) -> Value {
        let mut object = json!({"metadata": {"name": "operatorhubio"}});
        if !labels.is_null() {
            object["metadata"]["labels"] = labels;
        }
        let review = json!({"request": {"uid": "u", "object": object}});
        let response = reviewed(&review).expect("a review")["response"].clone();
        assert_eq!(
            (&response["uid"], &response["allowed"]),
            (&json!("u"), &json!(true))
        );
        let patch = response["patch"]
            .as_str()
            .map(|patch| STANDARD.decode(patch).expect("base64"));
        patch.map_or(Value::Null, |patch| {
            serde_json::from_slice(&patch).expect("a patch")
        })
    }

    #[test]
    fn the_label_is_added_replaced_or_left() {
        let path = "/metadata/labels/olm.operatorframework.io~1metadata.name";
        assert_eq!(
            patch_of(Value::Null),
            json!([{"op": "add", "path": "/metadata/labels", "value": {keys::METADATA_NAME: "operatorhubio"}}])
        );
        assert_eq!(
            patch_of(json!({"a": "b"})),
            json!([{"op": "add", "path": path, "value": "operatorhubio"}])
        );
        assert_eq!(
            patch_of(json!({keys::METADATA_NAME: "wrong"})),
            json!([{"op": "replace", "path": path, "value": "operatorhubio"}])
        );
        assert_eq!(
            patch_of(json!({keys::METADATA_NAME: "operatorhubio"})),
            Value::Null
        );
        assert_eq!(reviewed(&json!({"kind": "AdmissionReview"})), None);
    }
}
