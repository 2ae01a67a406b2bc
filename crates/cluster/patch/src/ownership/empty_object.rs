//! The object that a created one is compared with.
//!
//! The API server holds a built-in kind in a structure whose fields are there before anyone wrote them. A created
//! Deployment therefore doesn't own `.spec.template`, but each field in it; a created custom resource owns `.spec`.

use schema::strict::{DecodeError, normalize};
use serde_json::{Value, json};

/// How the API server holds objects of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form<'a> {
    /// In a structure: a built-in kind, by the name of its definition, such as `io.k8s.api.apps.v1.Deployment`.
    Structured(&'a str),
    /// As it was written: a custom resource.
    Unstructured,
}

impl Form<'_> {
    /// Returns the object of a kind in which nothing has been written yet.
    pub fn empty_object(self, api_version: &str, kind: &str) -> Value {
        let object = json!({"apiVersion": api_version, "kind": kind});
        self.held(&object).unwrap_or(object)
    }

    /// Returns an object as the API server holds it.
    pub(super) fn held(self, object: &Value) -> Result<Value, String> {
        let Self::Structured(definition) = self else {
            return Ok(object.clone());
        };
        normalize(definition, object)
            .map(|decoded| decoded.value)
            .map_err(|error| match error {
                DecodeError::Unrecognized(message) | DecodeError::Malformed { message, .. } => {
                    in_words(&message)
                }
            })
    }
}

/// Returns what is wrong with a value in the words that the API server has when the value is the result of an apply,
/// which doesn't come from JSON.
fn in_words(message: &str) -> String {
    let number = message.strip_prefix("json: cannot unmarshal number ");
    match number.and_then(|rest| rest.rsplit_once(" of type ")) {
        Some((_, go_type)) => format!("cannot convert float64 to {go_type}"),
        None => message.to_owned(),
    }
}
