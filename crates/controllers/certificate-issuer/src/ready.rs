//! The condition `Ready`: whether what is asked for is there, and why not.

use apply::object::{at, generation, text};
use jiff::Timestamp;
use serde_json::{Value, json};

/// What the condition says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ready {
    /// Whether it is there.
    pub is_ready: bool,
    /// Why, in one word.
    pub reason: &'static str,
    /// Why, for people.
    pub message: String,
}

impl Ready {
    /// It is there.
    pub fn yes(message: impl Into<String>) -> Self {
        Self {
            is_ready: true,
            reason: "Ready",
            message: message.into(),
        }
    }

    /// It isn't there.
    pub fn no(reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            is_ready: false,
            reason,
            message: message.into(),
        }
    }
}

/// Returns the status that an object shall have; none where it has it. `fields` are what stands in it beside the conditions.
pub fn status(object: &Value, ready: &Ready, fields: &Value, now: Timestamp) -> Option<Value> {
    let conditions = at(object, "/status/conditions").and_then(Value::as_array);
    let before = conditions
        .into_iter()
        .flatten()
        .find(|condition| condition["type"] == "Ready");
    let word = if ready.is_ready { "True" } else { "False" };
    let since = before
        .filter(|before| before["status"] == word)
        .map(|before| text(before, "/lastTransitionTime").to_owned())
        .filter(|since| !since.is_empty());
    // To the second, as Kubernetes writes times.
    let since = since.unwrap_or_else(|| now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
    let condition = json!({"type": "Ready", "status": word, "reason": ready.reason, "message": ready.message,
        "observedGeneration": generation(object), "lastTransitionTime": since});
    let mut status = fields.clone();
    status["conditions"] = json!([condition]);
    let mut said = status.as_object().into_iter().flatten();
    let is_said = said.all(|(name, value)| object["status"][name] == *value);
    (!is_said).then_some(status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_written_once_and_keeps_its_time_while_it_says_the_same() {
        let now: Timestamp = "2026-01-01T00:00:00.5Z".parse().expect("a moment");
        let later: Timestamp = "2026-01-02T00:00:00Z".parse().expect("a moment");
        let fields = json!({"notAfter": "2026-04-01T00:00:00Z"});
        let mut object = json!({"metadata": {"generation": 2}});
        let first = status(&object, &Ready::yes("it is"), &fields, now).expect("a status");
        assert_eq!(
            first["conditions"][0]["lastTransitionTime"],
            "2026-01-01T00:00:00Z"
        );
        assert_eq!(first["conditions"][0]["observedGeneration"], 2);
        object["status"] = first;
        assert_eq!(status(&object, &Ready::yes("it is"), &fields, later), None);
        let other = status(&object, &Ready::yes("it is again"), &fields, later).expect("a status");
        assert_eq!(
            other["conditions"][0]["lastTransitionTime"],
            "2026-01-01T00:00:00Z"
        );
        let lost =
            status(&object, &Ready::no("Missing", "it is gone"), &Value::Null, later).expect("a status");
        assert_eq!(
            lost["conditions"][0]["lastTransitionTime"],
            "2026-01-02T00:00:00Z"
        );
        assert_eq!(lost["conditions"][0]["status"], "False");
    }
}
