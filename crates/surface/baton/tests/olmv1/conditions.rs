//! What an object says of itself in its conditions.

use std::fmt::Write as _;

use serde_json::Value;

/// What the message of a condition has to be.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Says<'a> {
    /// Whatever it likes.
    Anything,
    /// This and nothing else.
    Exactly(&'a str),
    /// This and perhaps more.
    Something(&'a str),
}

/// Returns a condition of an object.
pub(crate) fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    let conditions = object.pointer("/status/conditions")?.as_array()?;
    conditions.iter().find(|condition| condition["type"] == kind)
}

/// Returns the condition if the object has it and it says what is wanted; otherwise what it says instead.
pub(crate) fn holds(
    object: Option<&Value>,
    kind: &str,
    status: &str,
    reason: &str,
    says: Says<'_>,
) -> Result<Value, String> {
    let object = object.ok_or("it isn't there")?;
    let found = condition(object, kind);
    let message = found
        .and_then(|condition| condition["message"].as_str())
        .unwrap_or_default();
    let is_said = match says {
        Says::Anything => true,
        Says::Exactly(text) => message == text,
        Says::Something(text) => message.contains(text),
    };
    match found {
        Some(condition)
            if condition["status"] == status
                && (reason.is_empty() || condition["reason"] == reason)
                && is_said =>
        {
            Ok(condition.clone())
        }
        _ => Err(format!(
            "{kind} isn't {status}/{reason} that says {says:?}; its conditions:{}",
            described(object)
        )),
    }
}

/// Returns all conditions of an object for people to read.
pub(crate) fn described(object: &Value) -> String {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    let mut text = String::new();
    for condition in conditions.into_iter().flatten() {
        let word = |name: &str| condition[name].as_str().unwrap_or("?").to_owned();
        let message: String = word("message").chars().take(600).collect();
        let _ = write!(
            text,
            "\n      {} {}/{} (generation {}): {message}",
            word("type"),
            word("status"),
            word("reason"),
            condition["observedGeneration"],
        );
    }
    if text.is_empty() { " none".to_owned() } else { text }
}
