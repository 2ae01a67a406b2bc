//! How far a version came: its phase, why, and the phases before.

use apply::object::{ObjectId, as_map, text};
use classic::Notice;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

/// The most phases that are remembered; the oldest go first.
const MAXIMUM_HISTORY: usize = 20;

/// Returns a moment as Kubernetes writes it: to the second.
pub fn written(moment: Timestamp) -> String {
    Timestamp::from_second(moment.as_second()).map_or_else(|_| moment.to_string(), |whole| whole.to_string())
}

/// The status of a version while it is decided.
#[derive(Debug)]
pub struct Progress<'a> {
    before: &'a Value,
    status: Value,
    now: String,
    /// What is told.
    pub notices: Vec<Notice>,
}

impl<'a> Progress<'a> {
    /// Starts with the status that a version has.
    pub fn new(version: &'a Value, now: Timestamp) -> Self {
        Self {
            before: version,
            status: version.get("status").cloned().unwrap_or_else(|| json!({})),
            now: written(now),
            notices: Vec::new(),
        }
    }

    /// Returns the phase.
    pub fn phase(&self) -> &str {
        text(&self.status, "/phase")
    }

    /// Returns why.
    pub fn reason(&self) -> &str {
        text(&self.status, "/reason")
    }

    /// Moves to a phase and tells it; nothing happens where it is there for the same reason and with the same message.
    ///
    /// Upstream writes the time again even then, which lets it turn in circles.
    pub fn set(&mut self, phase: &str, reason: &str, message: &str) {
        if self.set_quietly(phase, reason, message) {
            self.notices.push(Notice {
                about: ObjectId::of(self.before),
                is_warning: phase == "Failed",
                reason: reason.to_owned(),
                message: message.to_owned(),
            });
        }
    }

    /// Moves to a phase without telling it; returns whether something changed.
    pub fn set_quietly(&mut self, phase: &str, reason: &str, message: &str) -> bool {
        let changes_phase = self.phase() != phase;
        if !changes_phase && self.reason() == reason && text(&self.status, "/message") == message {
            return false;
        }
        let now = Value::from(self.now.as_str());
        let status = as_map(&mut self.status);
        status.insert("lastUpdateTime".into(), now.clone());
        if changes_phase {
            status.insert("lastTransitionTime".into(), now);
        }
        status.insert("phase".into(), Value::from(phase));
        status.insert("reason".into(), Value::from(reason));
        status.insert("message".into(), Value::from(message));
        let mut entry = Map::new();
        for field in [
            "phase",
            "reason",
            "message",
            "lastTransitionTime",
            "lastUpdateTime",
        ] {
            if let Some(value) = status.get(field) {
                entry.insert(field.to_owned(), value.clone());
            }
        }
        let history = status.entry("conditions").or_insert(Value::Null);
        if !history.is_array() {
            *history = json!([]);
        }
        if let Value::Array(history) = history {
            let is_news = history
                .last()
                .is_none_or(|last| text(last, "/phase") != phase || text(last, "/reason") != reason);
            if is_news {
                history.push(Value::Object(entry));
            }
            let excess = history.len().saturating_sub(MAXIMUM_HISTORY);
            history.drain(..excess);
        }
        true
    }

    /// Remembers what became of the requirements.
    pub fn set_requirements(&mut self, requirements: Vec<Value>) {
        as_map(&mut self.status).insert("requirementStatus".into(), Value::Array(requirements));
    }

    /// Remembers when certificates were made and when others are due. Those that are there already may be told of for the first
    /// time: whoever made them may not have come to write it down.
    pub fn set_certificates(&mut self, rotate_at: Timestamp, are_new: bool) {
        let due = written(rotate_at);
        if !are_new && text(&self.status, "/certsRotateAt") == due {
            return;
        }
        let now = Value::from(self.now.as_str());
        let status = as_map(&mut self.status);
        status.insert("certsLastUpdated".into(), now);
        status.insert("certsRotateAt".into(), Value::from(due));
    }

    /// Returns the moment of the last change of the phase.
    pub fn since(&self) -> Option<Timestamp> {
        text(&self.status, "/lastTransitionTime").parse().ok()
    }

    /// Returns the version with its new status; none where the status is as it was.
    pub fn changed(&self) -> Option<Value> {
        if self.before.get("status").unwrap_or(&Value::Null) == &self.status
            || self.before.get("status").is_none() && self.status == json!({})
        {
            return None;
        }
        let mut object = self.before.clone();
        let mut status = self.status.clone();
        // Upstream's type can't leave it out.
        as_map(&mut status).entry("cleanup").or_insert_with(|| json!({}));
        object["status"] = status;
        Some(object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_history_has_an_end_and_no_repetitions() {
        let version = json!({"kind": "ClusterServiceVersion", "metadata": {"name": "a"}});
        let mut progress = Progress::new(&version, Timestamp::UNIX_EPOCH);
        for round in 0..30 {
            let phase = if round % 2 == 0 { "Pending" } else { "Failed" };
            progress.set(phase, "Reason", "message");
            progress.set(phase, "Reason", "another message");
        }
        let changed = progress.changed().expect("a change");
        assert_eq!(
            changed
                .pointer("/status/conditions")
                .and_then(Value::as_array)
                .map(Vec::len),
            Some(20)
        );
        assert_eq!(progress.notices.len(), 60);
        assert_eq!(text(&changed, "/status/lastUpdateTime"), "1970-01-01T00:00:00Z");
    }
}
