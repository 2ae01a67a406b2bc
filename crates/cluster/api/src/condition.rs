//! Conditions: what is known of an object right now.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// One aspect of an object, and whether it holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// The aspect.
    #[serde(rename = "type")]
    pub kind: String,
    /// Whether it holds.
    pub status: ConditionStatus,
    /// Why, in one word.
    pub reason: String,
    /// Why, in words for a person.
    pub message: String,
    /// The generation that this was said of.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub observed_generation: i64,
    /// When the status last became another one.
    pub last_transition_time: Timestamp,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_zero(number: &i64) -> bool {
    *number == 0
}

/// Whether something holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ConditionStatus {
    /// It does.
    True,
    /// It does not.
    False,
    /// Nobody can tell.
    Unknown,
}

impl ConditionStatus {
    /// Returns the status as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

/// The longest message that definitions allow.
pub const LONGEST_MESSAGE: usize = 32_768;

/// What a message that was cut ends with.
const CUT: &str = "\n\n... [message truncated]";

/// What is said of an aspect, before it is known since when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// The aspect.
    pub kind: &'static str,
    /// Whether it holds.
    pub status: ConditionStatus,
    /// Why, in one word.
    pub reason: String,
    /// Why, in words for a person.
    pub message: String,
}

impl Statement {
    /// Says whether an aspect holds, and why.
    pub fn new(
        kind: &'static str,
        status: ConditionStatus,
        reason: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            status,
            reason: reason.into(),
            message: message.into(),
        }
    }
}

/// The aspect: whether the image that an object uses carries the signatures that the administrator demands. Upstream doesn't
/// have it, and its definitions allow it.
pub const SIGNATURE_VERIFIED: &str = "SignatureVerified";

impl Statement {
    /// Says who has signed an image.
    pub fn of_signature(words: impl Into<String>) -> Self {
        Self::new(SIGNATURE_VERIFIED, ConditionStatus::True, "Signed", words)
    }
}

/// Puts a statement into a list of conditions; the time moves only if the status becomes another one.
pub fn set(conditions: &mut Vec<Condition>, statement: Statement, generation: i64, now: Timestamp) {
    let message = shortened(statement.message);
    if let Some(known) = conditions.iter_mut().find(|known| known.kind == statement.kind) {
        if known.status != statement.status {
            known.status = statement.status;
            known.last_transition_time = to_seconds(now);
        }
        known.reason = statement.reason;
        known.message = message;
        known.observed_generation = generation;
        return;
    }
    conditions.push(Condition {
        kind: statement.kind.to_owned(),
        status: statement.status,
        reason: statement.reason,
        message,
        observed_generation: generation,
        last_transition_time: to_seconds(now),
    });
}

/// Returns a condition of a list.
pub fn find<'a>(conditions: &'a [Condition], kind: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.kind == kind)
}

/// Returns whether an aspect is known to hold.
pub fn is_true(conditions: &[Condition], kind: &str) -> bool {
    find(conditions, kind).is_some_and(|condition| condition.status == ConditionStatus::True)
}

/// Kubernetes writes times in whole seconds; a finer one would differ from what is read back.
fn to_seconds(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}

fn shortened(mut message: String) -> String {
    if message.len() > LONGEST_MESSAGE {
        message.truncate(message.floor_char_boundary(LONGEST_MESSAGE - CUT.len()));
        message.push_str(CUT);
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("a time")
    }

    #[test]
    fn the_time_moves_only_with_the_status() {
        let mut conditions = Vec::new();
        let say = |status, reason| Statement::new("Serving", status, reason, "");
        set(&mut conditions, say(ConditionStatus::True, "A"), 1, at(10));
        set(&mut conditions, say(ConditionStatus::True, "B"), 2, at(20));
        assert_eq!(conditions[0].last_transition_time, at(10));
        assert_eq!(
            (conditions[0].reason.as_str(), conditions[0].observed_generation),
            ("B", 2)
        );
        set(&mut conditions, say(ConditionStatus::False, "C"), 2, at(30));
        assert_eq!(conditions[0].last_transition_time, at(30));
        assert_eq!(conditions.len(), 1);
    }

    #[test]
    fn a_message_is_cut_between_characters() {
        let mut conditions = Vec::new();
        let message = "ä".repeat(LONGEST_MESSAGE);
        set(
            &mut conditions,
            Statement::new("Progressing", ConditionStatus::True, "Retrying", message),
            1,
            at(1),
        );
        let message = &conditions[0].message;
        assert!(message.len() <= LONGEST_MESSAGE, "{}", message.len());
        assert!(message.ends_with(CUT));
    }
}
