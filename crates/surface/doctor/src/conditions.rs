//! What objects say of themselves: conditions, whatever their kind.

use apply::object::text;
use install_plan::conditions;
use jiff::Timestamp;
use serde_json::Value;

/// The longest message that is repeated in a report; what is longer says where the rest is.
const LONGEST: usize = 600;

/// A condition of an object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Said<'a> {
    pub(crate) status: &'a str,
    pub(crate) reason: &'a str,
    pub(crate) message: &'a str,
    pub(crate) since: Option<Timestamp>,
}

impl Said<'_> {
    pub(crate) fn is_true(&self) -> bool {
        self.status == "True"
    }

    pub(crate) fn is_false(&self) -> bool {
        self.status == "False"
    }

    /// Returns the message, or the reason where there is none.
    pub(crate) fn words(&self) -> String {
        match (self.reason, self.message) {
            ("", "") => format!("it is {}", self.status),
            (reason, "") => reason.to_owned(),
            (_, message) => shortened(message),
        }
    }
}

/// Returns a condition of an object.
pub(crate) fn condition<'a>(object: &'a Value, kind: &str) -> Option<Said<'a>> {
    let found = conditions::get(object.get("status")?, kind)?;
    Some(Said {
        status: text(found, "/status"),
        reason: text(found, "/reason"),
        message: text(found, "/message"),
        since: text(found, "/lastTransitionTime").parse().ok(),
    })
}

/// Returns whether a condition of an object holds.
pub(crate) fn holds(object: &Value, kind: &str) -> bool {
    condition(object, kind).is_some_and(|said| said.is_true())
}

/// The conditions that tell of deprecations, of both OLMs.
const DEPRECATIONS: [&str; 3] = ["PackageDeprecated", "ChannelDeprecated", "BundleDeprecated"];

/// Returns what is deprecated about an object: the first condition that says so, and the messages of all.
pub(crate) fn deprecations(object: &Value) -> Option<(&'static str, String)> {
    let found: Vec<(&str, String)> = DEPRECATIONS
        .into_iter()
        .filter_map(|kind| Some((kind, condition(object, kind).filter(Said::is_true)?.words())))
        .collect();
    let (first, _) = found.first()?;
    let messages: Vec<&str> = found.iter().map(|(_, message)| message.as_str()).collect();
    Some((first, messages.join("; ")))
}

/// Cuts a message that is too long for a report, and puts it on one line.
pub(crate) fn shortened(message: &str) -> String {
    let lines: Vec<&str> = message.split_whitespace().collect();
    let line = lines.join(" ");
    match line.char_indices().nth(LONGEST) {
        None => line,
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_condition_is_told_on_one_short_line() {
        let object = json!({"status": {"conditions": [
            {"type": "Ready", "status": "False", "reason": "Waiting", "message": "for\n  a pod"},
            {"type": "Bare", "status": "Unknown"},
            {"type": "Long", "status": "True", "message": "ä".repeat(LONGEST + 1)},
        ]}});
        let said = |kind: &str| condition(&object, kind).expect("a condition").words();
        assert_eq!(said("Ready"), "for a pod");
        assert_eq!(said("Bare"), "it is Unknown");
        assert_eq!(said("Long").chars().count(), LONGEST + 1);
        assert!(holds(&object, "Long") && !holds(&object, "Ready") && !holds(&object, "None"));
    }
}
