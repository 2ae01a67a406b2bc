//! Which catalog is looked after next, and when.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

/// Names that wait for their turn. A name is worked on by one at a time; what comes meanwhile is not lost.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    entries: HashMap<String, Entry>,
}

#[derive(Debug, Default)]
struct Entry {
    /// When it is due.
    due: Option<Instant>,
    is_running: bool,
    /// Whether something happened while it was worked on.
    is_stale: bool,
}

impl Queue {
    /// Something happened to a name.
    pub(crate) fn add(&mut self, name: &str, now: Instant) {
        let entry = self.entries.entry(name.to_owned()).or_default();
        if entry.is_running {
            entry.is_stale = true;
        } else {
            entry.due = Some(now);
        }
    }

    /// Takes a name that is due; the one that waits longest comes first.
    pub(crate) fn take(&mut self, now: Instant) -> Option<String> {
        let (name, entry) = self
            .entries
            .iter_mut()
            .filter(|(_, entry)| !entry.is_running && entry.due.is_some_and(|due| due <= now))
            .min_by_key(|(_, entry)| entry.due)?;
        entry.is_running = true;
        entry.due = None;
        Some(name.clone())
    }

    /// A name was worked on, and may want another turn by itself.
    pub(crate) fn finished(&mut self, name: &str, again: Option<Duration>, now: Instant) {
        let Some(entry) = self.entries.get_mut(name) else {
            return;
        };
        entry.is_running = false;
        entry.due = if std::mem::take(&mut entry.is_stale) {
            Some(now)
        } else {
            again.map(|again| now + again)
        };
        if entry.due.is_none() {
            self.entries.remove(name);
        }
    }

    /// When the next name is due.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        let waiting = self.entries.values().filter(|entry| !entry.is_running);
        waiting.filter_map(|entry| entry.due).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happens_during_the_work_gives_another_turn() {
        let now = Instant::now();
        let mut queue = Queue::default();
        queue.add("a", now);
        queue.add("a", now);
        assert_eq!(queue.take(now).as_deref(), Some("a"));
        assert_eq!(queue.take(now), None);
        queue.add("a", now);
        assert_eq!(queue.take(now), None, "one at a time");
        queue.finished("a", Some(Duration::from_mins(1)), now);
        assert_eq!(queue.take(now).as_deref(), Some("a"));
        queue.finished("a", Some(Duration::from_mins(1)), now);
        assert_eq!(queue.take(now), None);
        assert_eq!(queue.next_due(), Some(now + Duration::from_mins(1)));
        queue.add("a", now);
        assert_eq!(
            queue.take(now).as_deref(),
            Some("a"),
            "an event doesn't wait for the poll"
        );
        queue.finished("a", None, now);
        assert_eq!(queue.next_due(), None);
    }
}
