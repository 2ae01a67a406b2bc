//! What an object may not be, in the words of the API server.

use schema::FieldError;
use serde_json::Value;

/// Returns what is wrong with a new object.
pub fn validate_create(_group: &str, _kind: &str, _object: &Value) -> Vec<FieldError> {
    Vec::new()
}

/// Returns what is wrong with an update of an object, through the object itself (`None`) or a subresource.
pub fn validate_update(
    _group: &str,
    _kind: &str,
    _subresource: Option<&str>,
    _new: &Value,
    _old: &Value,
) -> Vec<FieldError> {
    Vec::new()
}

/// Returns what a person should know about an object that is allowed, as the `Warning` headers say it.
pub fn warnings(_group: &str, _kind: &str, _new: &Value, _old: Option<&Value>) -> Vec<String> {
    Vec::new()
}
