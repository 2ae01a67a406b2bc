//! One question to a webhook, and its answer.

use base64::Engine as _;
use http::StatusCode;
use patch::json_patch::JsonPatch;
use serde_json::{Value, json};

use super::Question;
use super::registered::Webhook;
use crate::admission::Review;
use crate::admission::expressions;
use crate::callback::CallError;
use crate::resource::split_api_version;
use crate::status::{Details, Status};

/// What a webhook that allows a write says.
#[derive(Debug)]
pub struct Answer {
    /// How it changes the object.
    pub patch: Option<JsonPatch>,
}

/// Why a write doesn't go on.
#[derive(Debug)]
pub enum Refused {
    /// The webhook couldn't be asked, or gave no proper answer.
    Unreachable(String),
    /// Only simulated pods would answer, so it was not asked.
    Simulated(String),
    /// The webhook denies the write, or the write can't be shown to it.
    Denied(Box<Status>),
}

impl From<Refused> for Status {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Unreachable(why) | Refused::Simulated(why) => Status::internal(why),
            Refused::Denied(status) => *status,
        }
    }
}

/// Asks a webhook about a write.
pub async fn ask(
    review: &Review<'_>,
    webhook: &Webhook,
    question: &Question,
    mutating: bool,
) -> Result<Answer, Refused> {
    let failed =
        |why: String| Refused::Unreachable(format!("failed calling webhook \"{}\": {why}", webhook.name));
    if review.dry_run && !webhook.takes_dry_runs {
        let why = format!("admission webhook \"{}\" does not support dry run", webhook.name);
        return Err(Refused::Denied(Box::new(Status::bad_request(why))));
    }
    let Some(version) = webhook.review_version else {
        return Err(failed(
            "could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)"
                .to_owned(),
        ));
    };
    let uid = uuid::Uuid::new_v4().to_string();
    let mut request = expressions::request(review, &question.resource);
    request["uid"] = uid.clone().into();
    request["object"] = question.object.clone();
    request["oldObject"] = question.old.clone();
    let document = json!({
        "kind": "AdmissionReview", "apiVersion": format!("admission.k8s.io/{version}"), "request": request,
    });
    let answer = review
        .api
        .callbacks
        .post(review.api, &webhook.client, &document, webhook.timeout)
        .await
        .map_err(|error| match error {
            CallError::Simulated(why) => Refused::Simulated(why),
            CallError::Failed(why) => failed(format!("failed to call webhook: {why}")),
        })?;
    if !(200..=206).contains(&answer.code.as_u16()) {
        return Err(failed(format!("failed to call webhook: {answer}")));
    }
    if answer.body.is_empty() {
        return Err(failed(format!(
            "failed to call webhook: 0-length response with status code: {} and content type: {}",
            answer.code.as_u16(),
            answer.media_type
        )));
    }
    let document: Value = serde_json::from_slice(&answer.body).map_err(|error| {
        failed(format!(
            "failed to call webhook: couldn't get version/kind; json parse error: {error}"
        ))
    })?;
    let invalid = |why: String| failed(format!("received invalid webhook response: {why}"));
    let response = check(&document, &uid, version, mutating).map_err(invalid)?;
    for warning in response["warnings"].as_array().into_iter().flatten() {
        if let Some(warning) = warning.as_str() {
            review.call.warn(warning);
        }
    }
    if response["allowed"] != true {
        return Err(Refused::Denied(Box::new(denial(
            &webhook.name,
            &response["status"],
        ))));
    }
    let encoded = response["patch"].as_str().unwrap_or_default();
    if !mutating || encoded.is_empty() {
        return Ok(Answer { patch: None });
    }
    let kind = response["patchType"].as_str().unwrap_or_default();
    if version == "v1" && kind != "JSONPatch" {
        return Err(failed(format!("unsupported patch type \"{kind}\"")));
    }
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(encoded)
        .map_err(|error| failed(format!("failed to call webhook: {error}")))?;
    let patch = JsonPatch::read(&bytes, false)
        .map_err(|error| failed(format!("received undecodable patch in webhook response: {error}")))?;
    Ok(Answer { patch: Some(patch) })
}

/// Returns the response of a review, if it is one to the question.
fn check<'a>(document: &'a Value, uid: &str, version: &str, mutating: bool) -> Result<&'a Value, String> {
    let response = &document["response"];
    if !response.is_object() {
        return Err("webhook response was absent".to_owned());
    }
    if version != "v1" {
        // The old version never checked any of this.
        return Ok(response);
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let answered = text(&response["uid"]);
    if answered != uid {
        return Err(format!("expected response.uid=\"{uid}\", got \"{answered}\""));
    }
    let (api_version, kind) = (text(&document["apiVersion"]), text(&document["kind"]));
    if api_version != "admission.k8s.io/v1" || kind != "AdmissionReview" {
        let (group, version) = split_api_version(&api_version);
        return Err(format!(
            "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got {group}/{version}, Kind={kind}"
        ));
    }
    let has_patch = response["patch"].as_str().is_some_and(|patch| !patch.is_empty());
    let patch_type = response.get("patchType").filter(|value| !value.is_null());
    if !mutating {
        if has_patch {
            return Err("validating webhook may not return response.patch".to_owned());
        }
        if patch_type.is_some() {
            return Err("validating webhook may not return response.patchType".to_owned());
        }
        return Ok(response);
    }
    match (has_patch, patch_type) {
        (true, None) => Err("webhook returned response.patch but not response.patchType".to_owned()),
        (false, Some(_)) => Err("webhook returned response.patchType but not response.patch".to_owned()),
        (true, Some(named)) if named == "" => {
            Err("webhook returned invalid response.patchType of \"\"".to_owned())
        }
        _ => Ok(response),
    }
}

/// Returns the refusal of a webhook, in its own words as far as it has any.
fn denial(name: &str, result: &Value) -> Status {
    let denied = format!("admission webhook \"{name}\" denied the request");
    let text = |field: &str| result[field].as_str().unwrap_or_default();
    let message = match (text("message"), text("reason")) {
        ("", "") => format!("{denied} without explanation"),
        ("", reason) => format!("{denied}: {reason}"),
        (message, _) => format!("{denied}: {message}"),
    };
    let code = result["code"]
        .as_u64()
        .and_then(|code| u16::try_from(code).ok())
        .filter(|&code| code >= 400)
        .and_then(|code| StatusCode::from_u16(code).ok())
        .unwrap_or(StatusCode::BAD_REQUEST);
    let mut status = Status::refusal(code, text("reason").to_owned(), message);
    if let Some(details) = result.get("details").filter(|details| details.is_object()) {
        status.details = Some(Box::new(Details::read(details)));
    }
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_denial_has_the_webhook_s_code_reason_and_words() {
        let status = denial(
            "a.b.c",
            &json!({"code": 409, "reason": "Conflict", "message": "no", "details": {"causes": [{"message": "x"}]}}),
        );
        assert_eq!(status.code, StatusCode::CONFLICT);
        assert_eq!(status.reason, "Conflict");
        assert_eq!(
            status.message,
            "admission webhook \"a.b.c\" denied the request: no"
        );
        assert_eq!(status.details.map(|details| details.causes.len()), Some(1));
    }

    #[test]
    fn a_denial_without_words_says_so_and_is_never_a_success() {
        let status = denial("a", &json!({"code": 200}));
        assert_eq!(status.code, StatusCode::BAD_REQUEST);
        assert_eq!(
            status.message,
            "admission webhook \"a\" denied the request without explanation"
        );
    }

    #[test]
    fn an_answer_must_be_one_to_the_question() {
        let v1 = |response: Value| json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response});
        let why =
            |document: Value, mutating: bool| check(&document, "1", "v1", mutating).err().unwrap_or_default();
        assert_eq!(why(json!({}), true), "webhook response was absent");
        assert_eq!(
            why(v1(json!({"uid": "2"})), true),
            "expected response.uid=\"1\", got \"2\""
        );
        assert_eq!(
            why(json!({"response": {"uid": "1"}}), true),
            "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind="
        );
        assert_eq!(
            why(v1(json!({"uid": "1", "patch": "x"})), true),
            "webhook returned response.patch but not response.patchType"
        );
        assert_eq!(
            why(v1(json!({"uid": "1", "patch": "x"})), false),
            "validating webhook may not return response.patch"
        );
        assert_eq!(why(v1(json!({"uid": "1"})), true), "");
    }
}
