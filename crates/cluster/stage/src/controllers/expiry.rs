//! Events are news: they go an hour after they were last told.

use std::sync::{Arc, Weak};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::work::Running;
use crate::api::Api;
use crate::object::Object;
use crate::store::{Change, Expect, ResourceKey, Write};

/// How long an event is kept, as the real server does.
const KEPT_FOR: SignedDuration = SignedDuration::from_hours(1);

/// How often old events are looked for.
const LOOK_EVERY: Duration = Duration::from_mins(1);

/// Starts the removal of old events.
pub fn start(api: &Arc<Api>) -> Running {
    Running::of(vec![tokio::spawn(run(Arc::downgrade(api)))])
}

async fn run(api: Weak<Api>) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let Some(api) = api.upgrade() else { return };
        remove_old(&api, Timestamp::now()).await;
    }
}

async fn remove_old(api: &Api, now: Timestamp) {
    let events = ResourceKey::new("", "events");
    let Ok(listing) = api.store.list(&events, None, None, None, None) else {
        return;
    };
    for stored in listing.items {
        if !is_old(&stored.value(), now) {
            continue;
        }
        let write = Write {
            key: stored.key.clone(),
            expect: Expect::Revision(stored.revision),
            change: Change::Delete,
        };
        // An event that is told again at this moment stays; one that can't be removed now is found again.
        if let Err(error) = api.store.write(write).await {
            tracing::debug!(%error, "an old event stays");
        }
    }
}

/// Returns whether nothing was heard of an event for long.
fn is_old(event: &Value, now: Timestamp) -> bool {
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
    last.is_none_or(|last| now.duration_since(last) > KEPT_FOR)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_event_is_old_an_hour_after_it_was_last_told() {
        let now: Timestamp = "2026-01-01T12:00:00Z".parse().unwrap();
        let event = |first: &str, last: &str| json!({"metadata": {"creationTimestamp": first}, "lastTimestamp": last, "eventTime": null});
        assert!(is_old(
            &event("2026-01-01T10:00:00Z", "2026-01-01T10:59:59Z"),
            now
        ));
        assert!(!is_old(
            &event("2026-01-01T10:00:00Z", "2026-01-01T11:00:00Z"),
            now
        ));
    }

    #[tokio::test]
    async fn old_events_are_removed_and_others_stay() {
        let options = crate::Options {
            without_controllers: true,
            ..crate::Options::default()
        };
        let stage = crate::Stage::in_memory(options).await.unwrap();
        let client = stage.client();
        let event = json!({
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": "e", "namespace": "default"},
            "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"},
            "lastTimestamp": "2026-01-01T00:00:00Z",
        });
        client.create(("", "events"), event).await.unwrap();
        let there = || client.get(("", "events"), "default", "e").unwrap().is_some();
        remove_old(stage.api(), Timestamp::now()).await;
        assert!(there());
        let later = Timestamp::now() + SignedDuration::from_hours(2);
        remove_old(stage.api(), later).await;
        assert!(!there());
    }
}
