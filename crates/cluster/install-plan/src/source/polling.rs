//! When the image of a catalog is looked for again.

use std::time::Duration;

use apply::object::text;
use jiff::Timestamp;
use serde_json::Value;

use crate::moment;

/// How often an image is looked for when the interval can't be read.
pub const DEFAULT_INTERVAL: Duration = Duration::from_mins(15);

/// When to look for a newer image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Poll {
    /// How long between two looks.
    pub interval: Duration,
    /// When the next one is due.
    pub due: Timestamp,
}

impl Poll {
    pub(super) fn new(source: &Value, status: &Value, interval: Duration) -> Self {
        let last = moment::read(text(status, "/latestImageRegistryPoll"))
            .or_else(|| moment::read(text(source, "/metadata/creationTimestamp")))
            .unwrap_or(Timestamp::UNIX_EPOCH);
        Self {
            interval,
            due: last.checked_add(interval).unwrap_or(Timestamp::MAX),
        }
    }

    /// Returns whether it is time to look.
    pub fn is_due(&self, now: Timestamp) -> bool {
        self.due < now
    }

    /// Returns how long until it is time to look.
    pub fn remaining(&self, now: Timestamp) -> Duration {
        Duration::try_from(self.due.duration_since(now)).unwrap_or_default()
    }
}

/// Reads an interval, or says in upstream's words that it can't be read.
pub fn interval(text: &str) -> Result<Duration, String> {
    chart::go_duration::parse(text).map_err(|error| {
        format!(
            "error parsing spec.updateStrategy.registryPoll.interval. Using the default value of 15m0s instead. Error: {error}"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_that_cannot_be_read_says_so() {
        assert_eq!(interval("45m"), Ok(Duration::from_mins(45)));
        assert_eq!(
            interval("45mError.code").unwrap_err(),
            "error parsing spec.updateStrategy.registryPoll.interval. Using the default value of 15m0s instead. Error: \
             time: unknown unit \"mError\" in duration \"45mError.code\""
        );
    }
}
