//! Events are news: they go some time after they were last told.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::future::join_all;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::work::Running;
use crate::api::Api;
use crate::object::Object;
use crate::store::{Change, Expect, ResourceKey, Write};

/// How long an event is kept where nothing else is said, as the real server does.
const USUALLY_KEPT_FOR: Duration = Duration::from_hours(1);

/// How often old events are looked for, and how many times at least while one is kept.
const LOOK_EVERY: Duration = Duration::from_mins(1);
const LOOKS_IN_A_LIFE: u32 = 4;

/// The shortest pause between two looks.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);

/// How many events are removed at once, so that they share a commit.
const LARGEST_BATCH: usize = 256;

/// Starts the removal of old events.
pub fn start(api: &Arc<Api>) -> Running {
    let kept_for = api.options.events_kept_for.unwrap_or(USUALLY_KEPT_FOR);
    Running::of(vec![tokio::spawn(run(Arc::downgrade(api), kept_for))])
}

async fn run(api: Weak<Api>, kept_for: Duration) {
    let mut removal = Removal::new(kept_for);
    let pause = (kept_for / LOOKS_IN_A_LIFE).clamp(SHORTEST_PAUSE, LOOK_EVERY);
    loop {
        tokio::time::sleep(pause).await;
        let Some(api) = api.upgrade() else { return };
        removal.look(&api, Timestamp::now()).await;
    }
}

/// What is known of how old events are.
struct Removal {
    kept_for: SignedDuration,
    /// When something was looked at, and the last revision then: what was written later is younger, which needs no look
    /// into it.
    looks: VecDeque<(Timestamp, u64)>,
}

impl Removal {
    fn new(kept_for: Duration) -> Self {
        Self {
            kept_for: SignedDuration::try_from(kept_for).unwrap_or(SignedDuration::MAX),
            looks: VecDeque::new(),
        }
    }

    /// Removes the events that are old.
    async fn look(&mut self, api: &Api, now: Timestamp) {
        let events = ResourceKey::new("", "events");
        let revision = api.store.revision();
        let Ok(listing) = api.store.list(&events, None, None, None, None) else {
            return;
        };
        // The newest look that is as long ago as an event is kept; before there is one, times tell.
        while self
            .looks
            .get(1)
            .is_some_and(|(at, _)| self.is_long_ago(*at, now))
        {
            self.looks.pop_front();
        }
        let oldest = self.looks.front();
        let young = oldest.map_or(u64::MAX, |(_, revision)| *revision);
        self.looks.push_back((now, revision));
        let old: Vec<Write> = listing
            .items
            .iter()
            .filter(|stored| stored.revision <= young && self.is_old(&stored.value(), now))
            .map(|stored| Write {
                key: stored.key.clone(),
                expect: Expect::Revision(stored.revision),
                change: Change::Delete,
            })
            .collect();
        drop(listing);
        for batch in old.chunks(LARGEST_BATCH) {
            let removals = batch.iter().map(|write| api.store.write(write.clone()));
            for error in join_all(removals).await.into_iter().filter_map(Result::err) {
                // An event that is told again at this moment stays; one that can't be removed now is found again.
                tracing::debug!(%error, "an old event stays");
            }
        }
    }

    fn is_long_ago(&self, at: Timestamp, now: Timestamp) -> bool {
        now.duration_since(at) > self.kept_for
    }

    /// Returns whether nothing was heard of an event for long.
    fn is_old(&self, event: &Value, now: Timestamp) -> bool {
        let times = [
            &event["lastTimestamp"],
            &event["eventTime"],
            &event["firstTimestamp"],
            &event["series"]["lastObservedTime"],
        ];
        let times = times
            .into_iter()
            .filter_map(Value::as_str)
            .chain([event.metadata_text("creationTimestamp")]);
        let last = times.filter_map(|text| text.parse::<Timestamp>().ok()).max();
        last.is_none_or(|last| self.is_long_ago(last, now))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_event_is_old_an_hour_after_it_was_last_told() {
        let now: Timestamp = "2026-01-01T12:00:00Z".parse().unwrap();
        let event = |first: &str, last: &str| json!({"metadata": {"creationTimestamp": first}, "lastTimestamp": last, "eventTime": null});
        let removal = Removal::new(USUALLY_KEPT_FOR);
        assert!(removal.is_old(&event("2026-01-01T10:00:00Z", "2026-01-01T10:59:59Z"), now));
        assert!(!removal.is_old(&event("2026-01-01T10:00:00Z", "2026-01-01T11:00:00Z"), now));
    }

    #[tokio::test]
    async fn old_events_are_removed_and_others_stay() {
        let options = crate::Options {
            without_controllers: true,
            ..crate::Options::default()
        };
        let stage = crate::Stage::in_memory(options).await.unwrap();
        let client = stage.client();
        let make = async |name: &str, told: Timestamp| {
            let event = json!({
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {"name": name, "namespace": "default"},
                "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"},
                "lastTimestamp": told.to_string(),
            });
            client.create(("", "events"), event).await.unwrap();
        };
        let there = || -> Vec<String> {
            let events = client.list(("", "events"), "default").unwrap();
            events.iter().map(|event| event.name().to_owned()).collect()
        };
        let begun = Timestamp::now();
        let after = |minutes: i64| begun + SignedDuration::from_mins(minutes);
        let mut removal = Removal::new(USUALLY_KEPT_FOR);
        make("first", "2026-01-01T00:00:00Z".parse().unwrap()).await;
        removal.look(stage.api(), begun).await;
        assert_eq!(there(), ["first"]);
        removal.look(stage.api(), after(30)).await;
        make("second", after(40)).await;
        // The first is older than the look at the beginning; the second came after the look half an hour ago.
        removal.look(stage.api(), after(62)).await;
        assert_eq!(there(), ["second"]);
        removal.look(stage.api(), after(95)).await;
        assert_eq!(there(), ["second"]);
        removal.look(stage.api(), after(130)).await;
        assert!(there().is_empty());
    }
}
