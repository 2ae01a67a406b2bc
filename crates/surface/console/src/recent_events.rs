//! The newest events of the cluster, and no more than a person reads.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Event;
use kube::runtime::watcher::Event as Seen;

/// How many events are kept: ten pages.
const MOST_EVENTS: usize = 500;

/// When an event was last seen, and which it is.
type Key = (Timestamp, String);

/// The newest events.
#[derive(Debug, Default)]
pub(crate) struct RecentEvents(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    events: BTreeMap<Key, Arc<Event>>,
    /// By the event: where it stands.
    times: HashMap<String, Timestamp>,
}

impl RecentEvents {
    /// Takes what a watch saw.
    pub(crate) fn take(&self, seen: Seen<Event>) {
        let mut kept = self.lock();
        match seen {
            Seen::Apply(event) | Seen::InitApply(event) => kept.put(event),
            Seen::Delete(event) => kept.remove(&id(&event)),
            // What is gone meanwhile was news once; it goes when newer ones come.
            Seen::Init | Seen::InitDone => {}
        }
    }

    /// Returns the events, the newest first.
    pub(crate) fn newest(&self) -> Vec<Arc<Event>> {
        self.lock().events.values().rev().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn put(&mut self, event: Event) {
        let id = id(&event);
        self.remove(&id);
        let time = last_seen(&event);
        self.times.insert(id.clone(), time);
        self.events.insert((time, id), Arc::new(event));
        while self.events.len() > MOST_EVENTS {
            if let Some(((_, id), _)) = self.events.pop_first() {
                self.times.remove(&id);
            }
        }
    }

    fn remove(&mut self, id: &str) {
        if let Some(time) = self.times.remove(id) {
            self.events.remove(&(time, id.to_owned()));
        }
    }
}

fn id(event: &Event) -> String {
    let metadata = &event.metadata;
    let named = || {
        let namespace = metadata.namespace.as_deref().unwrap_or_default();
        format!("{namespace}/{}", metadata.name.as_deref().unwrap_or_default())
    };
    metadata.uid.clone().unwrap_or_else(named)
}

/// What an event is about, as streams of changes name it: the kind, the namespace or a dash, and the name.
pub(crate) fn subject(event: &Event) -> String {
    let object = &event.involved_object;
    let part = |text: &Option<String>| text.clone().unwrap_or_default();
    let namespace = match part(&object.namespace) {
        namespace if namespace.is_empty() => "-".to_owned(),
        namespace => namespace,
    };
    format!("{}/{namespace}/{}", part(&object.kind), part(&object.name))
}

/// When an event was last seen; those that don't say are the oldest.
pub(crate) fn last_seen(event: &Event) -> Timestamp {
    let series = event.series.as_ref();
    let observed = series.and_then(|series| series.last_observed_time.as_ref());
    let times = [
        observed.map(|time| time.0),
        event.last_timestamp.as_ref().map(|time| time.0),
        event.event_time.as_ref().map(|time| time.0),
        event.metadata.creation_timestamp.as_ref().map(|time| time.0),
    ];
    times
        .into_iter()
        .flatten()
        .next()
        .unwrap_or(Timestamp::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    fn event(name: &str, minute: usize) -> Event {
        from_value(json!({
            "metadata": {"name": name, "namespace": "a", "uid": name},
            "involvedObject": {},
            "lastTimestamp": format!("2026-01-01T{:02}:{:02}:00Z", minute / 60, minute % 60),
        }))
        .expect("an event")
    }

    fn names(events: &RecentEvents) -> Vec<String> {
        let newest = events.newest().into_iter();
        newest.filter_map(|event| event.metadata.name.clone()).collect()
    }

    #[test]
    fn the_newest_come_first_and_an_event_that_happens_again_is_there_once() {
        let events = RecentEvents::default();
        events.take(Seen::InitApply(event("b", 2)));
        events.take(Seen::Apply(event("a", 1)));
        assert_eq!(names(&events), ["b", "a"]);
        events.take(Seen::Apply(event("a", 3)));
        assert_eq!(names(&events), ["a", "b"]);
        events.take(Seen::Delete(event("a", 3)));
        assert_eq!(names(&events), ["b"]);
    }

    #[test]
    fn the_oldest_go_when_there_are_too_many() {
        let events = RecentEvents::default();
        for minute in (0..MOST_EVENTS + 10).rev() {
            events.take(Seen::Apply(event(&minute.to_string(), minute)));
        }
        let kept = events.0.lock().expect("a lock");
        assert_eq!((kept.events.len(), kept.times.len()), (MOST_EVENTS, MOST_EVENTS));
        assert!(!kept.times.contains_key("9") && kept.times.contains_key("10"));
    }
}
