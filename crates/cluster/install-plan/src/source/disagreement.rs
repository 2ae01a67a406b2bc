//! Two controllers that see a catalog differently: one reaches it and the other one doesn't. If each put right what the other
//! one wrote, they would write for ever and as fast as they can.

use std::time::Duration;

use apply::object::{as_map, at, text};
use jiff::Timestamp;
use serde_json::Value;

/// How long somebody who says otherwise is left alone.
const PAUSE: Duration = Duration::from_mins(1);

/// The fields of a status that depend on who looks.
const FIELDS: [&str; 3] = ["connectionState", "reason", "message"];

/// What a status says that depends on who looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    connection: String,
    reason: String,
    message: String,
}

impl Said {
    /// What the status of a CatalogSource says.
    pub fn of(source: &Value) -> Self {
        Self::in_status(source.get("status").unwrap_or(&Value::Null))
    }

    fn in_status(status: &Value) -> Self {
        let read = |pointer: &str| text(status, pointer).to_owned();
        Self {
            connection: read("/connectionState/lastObservedState"),
            reason: read("/reason"),
            message: read("/message"),
        }
    }
}

/// What a controller said of a CatalogSource last, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// What it said.
    pub said: Said,
    /// When.
    pub at: Timestamp,
}

impl Told {
    /// Leaves in a status what somebody else says, where it was said only just now that it is otherwise. Returns when it may
    /// be said again.
    pub(super) fn leave_it(&self, source: &Value, status: &mut Value, now: Timestamp) -> Option<Duration> {
        let wanted = Said::in_status(status);
        if wanted != self.said || wanted == Said::of(source) {
            return None;
        }
        // A clock that was put back doesn't make it later.
        let since = Duration::try_from(now.duration_since(self.at)).ok()?;
        let rest = PAUSE.checked_sub(since).filter(|rest| !rest.is_zero())?;
        for field in FIELDS {
            match at(source, &format!("/status/{field}")) {
                Some(there) => status[field] = there.clone(),
                None => drop(as_map(status).remove(field)),
            }
        }
        Some(rest)
    }
}
