//! What is to be looked at, each thing once and by one worker at a time.

mod record;

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

pub(crate) use record::BOUNDS;
pub use record::{Durations, Reading, Record};

/// How long the second try waits; each further one waits twice as long.
const FIRST_DELAY: Duration = Duration::from_millis(500);

/// How long a try waits at most.
const LONGEST_DELAY: Duration = Duration::from_mins(5);

/// Things to look at.
#[derive(Debug)]
pub struct Queue<T> {
    state: Mutex<State<T>>,
    changed: Notify,
}

#[derive(Debug)]
struct State<T> {
    ready: VecDeque<T>,
    /// What is in `ready`, and since when.
    is_ready: HashMap<T, Instant>,
    /// What is due later, by when; the number keeps those of the same time apart.
    later: BTreeMap<(Instant, u64), T>,
    /// When what is in `later` is due.
    due: HashMap<T, (Instant, u64)>,
    /// What is due when it is quiet, and since when it isn't.
    restless: HashMap<T, Instant>,
    /// What workers have, and since when.
    running: HashMap<T, Instant>,
    /// What came while it was being looked at.
    again: HashSet<T>,
    failures: HashMap<T, u32>,
    next_number: u64,
    record: Record,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self {
            state: Mutex::new(State {
                ready: VecDeque::new(),
                is_ready: HashMap::new(),
                later: BTreeMap::new(),
                due: HashMap::new(),
                restless: HashMap::new(),
                running: HashMap::new(),
                again: HashSet::new(),
                failures: HashMap::new(),
                next_number: 0,
                record: Record::default(),
            }),
            changed: Notify::new(),
        }
    }
}

impl<T: Clone + Eq + Hash> Queue<T> {
    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a thing, to be looked at as soon as a worker is free.
    pub fn add(&self, thing: T) {
        self.state().make_ready(thing);
        self.changed.notify_one();
    }

    /// Adds a thing, to be looked at after a time; if it is due before, that stays.
    pub fn add_after(&self, thing: T, delay: Duration) {
        self.state().make_due(thing, Instant::now() + delay);
        self.changed.notify_one();
    }

    /// Adds a thing, to be looked at when it wasn't added again for a time, but not later than the longest one: what comes
    /// in a row is looked at together, and what comes alone soon.
    pub fn add_when_quiet(&self, thing: T, quiet: Duration, longest: Duration) {
        self.state()
            .make_due_when_quiet(thing, Instant::now(), quiet, longest);
        self.changed.notify_one();
    }

    /// Adds a thing that was looked at in vain; the more often, the later it is due. Returns after which time.
    pub fn add_after_failure(&self, thing: T) -> Duration {
        let delay = {
            let mut state = self.state();
            state.record.retries += 1;
            let failures = state.failures.entry(thing.clone()).or_insert(0);
            let delay = FIRST_DELAY.saturating_mul(1_u32.checked_shl(*failures).unwrap_or(u32::MAX));
            *failures = failures.saturating_add(1).min(31);
            delay.min(LONGEST_DELAY)
        };
        self.add_after(thing, delay);
        delay
    }

    /// Adds a thing that was looked at in vain, after a time that whoever looks at it works out and keeps count of.
    pub fn retry_after(&self, thing: T, delay: Duration) {
        {
            let mut state = self.state();
            state.record.retries += 1;
            state.failures.remove(&thing);
        }
        self.add_after(thing, delay);
    }

    /// Forgets that a thing was looked at in vain.
    pub fn forget_failures(&self, thing: &T) {
        self.state().failures.remove(thing);
    }

    /// Says that a worker is done with a thing.
    pub fn done(&self, thing: &T) {
        {
            let mut state = self.state();
            if let Some(since) = state.running.remove(thing) {
                state.record.works.add(since.elapsed());
            }
            if !state.again.remove(thing) {
                return;
            }
            state.make_ready(thing.clone());
        }
        self.changed.notify_one();
    }

    /// Returns how many things wait for a worker.
    pub fn depth(&self) -> usize {
        self.state().ready.len()
    }

    /// Returns how the queue stands, and what went through it.
    pub fn reading(&self) -> Reading {
        let state = self.state();
        let now = Instant::now();
        let busy = state
            .running
            .values()
            .map(|since| now.saturating_duration_since(*since));
        Reading {
            depth: state.ready.len(),
            record: state.record.clone(),
            unfinished: busy.clone().sum(),
            longest: busy.max().unwrap_or_default(),
        }
    }

    /// Waits for the next thing. It is not given to another worker before [`Queue::done`].
    pub async fn next(&self) -> T {
        loop {
            let changed = self.changed.notified();
            let due = {
                let mut state = self.state();
                state.ready_what_is_due(Instant::now());
                if let Some(thing) = state.take() {
                    if !state.ready.is_empty() {
                        self.changed.notify_one();
                    }
                    return thing;
                }
                state.later.keys().next().map(|(due, _)| *due)
            };
            match due {
                None => changed.await,
                Some(due) => {
                    tokio::select! {
                        () = changed => {}
                        () = tokio::time::sleep_until(due) => {}
                    }
                }
            }
        }
    }
}

impl<T: Clone + Eq + Hash> State<T> {
    fn make_ready(&mut self, thing: T) {
        self.restless.remove(&thing);
        if let Some(place) = self.due.remove(&thing) {
            self.later.remove(&place);
        }
        if self.running.contains_key(&thing) {
            self.again.insert(thing);
        } else if let Entry::Vacant(place) = self.is_ready.entry(thing.clone()) {
            place.insert(Instant::now());
            self.record.additions += 1;
            self.ready.push_back(thing);
        }
    }

    /// Gives what waits longest to a worker.
    fn take(&mut self) -> Option<T> {
        let thing = self.ready.pop_front()?;
        let now = Instant::now();
        if let Some(since) = self.is_ready.remove(&thing) {
            self.record.waits.add(now.saturating_duration_since(since));
        }
        self.running.insert(thing.clone(), now);
        Some(thing)
    }

    fn make_due(&mut self, thing: T, due: Instant) {
        if self.is_ready.contains_key(&thing) || self.again.contains(&thing) {
            return;
        }
        match self.due.get(&thing) {
            Some((sooner, _)) if *sooner <= due => return,
            Some(place) => {
                let place = *place;
                self.later.remove(&place);
            }
            None => {}
        }
        let place = (due, self.next_number);
        self.next_number += 1;
        self.later.insert(place, thing.clone());
        self.due.insert(thing, place);
    }

    fn make_due_when_quiet(&mut self, thing: T, now: Instant, quiet: Duration, longest: Duration) {
        if let Some(since) = self.restless.get(&thing) {
            let due = (now + quiet).min(*since + longest);
            if let Some(place) = self.due.remove(&thing) {
                self.later.remove(&place);
            }
            self.make_due(thing, due);
            return;
        }
        let due = now + quiet.min(longest);
        self.make_due(thing.clone(), due);
        // What is due sooner for another reason stays so.
        if self.due.get(&thing).is_some_and(|place| place.0 == due) {
            self.restless.insert(thing, now);
        }
    }

    fn ready_what_is_due(&mut self, now: Instant) {
        while let Some(entry) = self.later.first_entry() {
            if entry.key().0 > now {
                break;
            }
            let thing = entry.remove();
            self.due.remove(&thing);
            self.make_ready(thing);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_thing_is_given_out_once_and_again_if_it_came_meanwhile() {
        let queue = Queue::default();
        queue.add("a");
        queue.add("a");
        assert_eq!((queue.next().await, queue.depth()), ("a", 0));
        queue.add("a");
        queue.add("b");
        assert_eq!(queue.next().await, "b", "a is being looked at");
        queue.done(&"a");
        assert_eq!(queue.next().await, "a");
    }

    #[tokio::test]
    async fn what_waits_and_what_takes_long_is_remembered() {
        let queue = Queue::default();
        queue.add("a");
        queue.add("b");
        queue.add("a");
        assert_eq!(queue.next().await, "a");
        let busy = queue.reading();
        assert_eq!((busy.depth, busy.record.additions), (1, 2));
        assert_eq!((busy.record.waits.count(), busy.record.works.count()), (1, 0));
        assert_eq!(busy.unfinished, busy.longest, "one worker is busy");
        queue.done(&"a");
        queue.add_after_failure("a");
        let reading = queue.reading();
        assert_eq!((reading.record.works.count(), reading.record.retries), (1, 1));
        assert_eq!(
            (reading.unfinished, reading.longest),
            (Duration::ZERO, Duration::ZERO)
        );
        assert!(reading.record.works.sum >= busy.longest);
    }

    #[test]
    fn what_is_due_sooner_stays_sooner() {
        let queue = Queue::default();
        let mut state = queue.state();
        let begin = Instant::now();
        let after = |seconds| begin + Duration::from_secs(seconds);
        state.make_due("a", after(60));
        state.make_due("a", after(5));
        state.make_due("a", after(600));
        state.ready_what_is_due(after(4));
        assert!(state.ready.is_empty());
        state.ready_what_is_due(after(5));
        assert_eq!((state.ready.len(), state.later.len(), state.due.len()), (1, 0, 0));
    }

    #[test]
    fn what_comes_in_a_row_is_due_together_but_not_for_ever_later() {
        let queue = Queue::default();
        let mut state = queue.state();
        let begin = Instant::now();
        let after = |milliseconds| begin + Duration::from_millis(milliseconds);
        let (quiet, longest) = (Duration::from_millis(20), Duration::from_millis(100));
        let mut due = Vec::new();
        for moment in [0, 15, 30, 95, 99] {
            state.make_due_when_quiet("a", after(moment), quiet, longest);
            due.push(state.due["a"].0);
        }
        assert_eq!(due, [20, 35, 50, 100, 100].map(after));
        assert_eq!(state.later.len(), 1);
        state.ready_what_is_due(after(100));
        assert_eq!((state.ready.len(), state.restless.len()), (1, 0));
        state.make_due("b", after(105));
        state.make_due_when_quiet("b", after(101), quiet, longest);
        state.make_due_when_quiet("b", after(102), quiet, longest);
        assert_eq!(state.due["b"].0, after(105), "what is due sooner stays sooner");
    }

    #[test]
    fn each_failure_doubles_the_wait_up_to_an_end() {
        let queue = Queue::default();
        let delays: Vec<Duration> = (0..40).map(|_| queue.add_after_failure("a")).collect();
        assert_eq!(delays[..3], [500, 1000, 2000].map(Duration::from_millis));
        assert_eq!(delays[39], LONGEST_DELAY);
        queue.forget_failures(&"a");
        assert_eq!(queue.add_after_failure("a"), FIRST_DELAY);
        queue.retry_after("a", Duration::from_mins(1));
        assert_eq!(queue.reading().record.retries, 42);
        assert_eq!(queue.add_after_failure("a"), FIRST_DELAY);
    }

    #[tokio::test]
    async fn every_worker_gets_something() {
        let queue = std::sync::Arc::new(Queue::default());
        let workers: Vec<_> = (0..4)
            .map(|_| {
                let queue = std::sync::Arc::clone(&queue);
                tokio::spawn(async move { queue.next().await })
            })
            .collect();
        tokio::task::yield_now().await;
        for thing in 0..4 {
            queue.add(thing);
        }
        let mut seen = Vec::new();
        for worker in workers {
            seen.push(worker.await.expect("a worker"));
        }
        seen.sort_unstable();
        assert_eq!(seen, [0, 1, 2, 3]);
    }
}
