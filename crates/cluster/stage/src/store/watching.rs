//! A watcher: a place in the ring of a resource.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::Stream;
use futures_util::stream;
use tokio::sync::watch;

use super::listing::Expired;
use super::ring::Event;
use super::state::State;
use super::stock::Stock;

/// How many events a watcher takes from the ring at a time: few, because until it asks again it keeps them in
/// memory, however long it takes for them.
const TAKEN_AT_ONCE: usize = 64;

/// Why a watch is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WatchEnd {
    /// The watcher was so slow that events fell out of the ring before it asked for them: list again.
    #[error(transparent)]
    Expired(#[from] Expired),
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
}

/// The events of a resource from a revision on, in the order of their revisions.
///
/// Nobody waits for a watcher: one that stays behind until its place in the ring is overwritten gets
/// [`WatchEnd::Expired`].
#[derive(Debug)]
pub struct Watch {
    state: Arc<State>,
    stock: Arc<Stock>,
    bell: watch::Receiver<()>,
    namespace: Option<Arc<str>>,
    /// Events up to this revision are not shown.
    since: u64,
    /// The sequence number of the next event to look at.
    next: u64,
    /// The revision up to which everything was taken from the ring.
    taken: u64,
    waiting: VecDeque<Arc<Event>>,
}

impl Watch {
    pub(super) fn start(
        state: &Arc<State>,
        stock: Arc<Stock>,
        namespace: Option<&str>,
        since: u64,
    ) -> Result<Self, Expired> {
        let bell = stock.bell.subscribe();
        let ring = stock.ring();
        // Read with the ring in hand: nothing falls out of it between the check and the choice of the place.
        let oldest = state.compacted.load(Ordering::Acquire).max(ring.floor());
        if since < oldest {
            return Err(Expired {
                requested: since,
                oldest,
            });
        }
        let next = ring.after(since);
        drop(ring);
        Ok(Self {
            state: state.clone(),
            stock,
            bell,
            namespace: namespace.map(Arc::from),
            since,
            next,
            taken: since,
            waiting: VecDeque::new(),
        })
    }

    /// Returns the next event as soon as there is one.
    ///
    /// No event is lost when the future is dropped before it is ready.
    pub async fn next(&mut self) -> Result<Arc<Event>, WatchEnd> {
        loop {
            if let Some(event) = self.try_next()? {
                return Ok(event);
            }
            self.wait_for_bell().await?;
        }
    }

    /// Returns the next event if it has happened already.
    pub fn try_next(&mut self) -> Result<Option<Arc<Event>>, WatchEnd> {
        if let Some(event) = self.waiting.pop_front() {
            return Ok(Some(event));
        }
        let mut events = std::mem::take(&mut self.waiting);
        let taken = self.take(TAKEN_AT_ONCE, |event| events.push_back(event.clone()));
        self.waiting = events;
        taken?;
        Ok(self.waiting.pop_front())
    }

    /// Returns the next events, at most `limit`, as soon as there is one.
    ///
    /// No event is lost when the future is dropped before it is ready.
    pub async fn next_batch(&mut self, limit: usize) -> Result<Vec<Arc<Event>>, WatchEnd> {
        loop {
            let limit = limit.max(1);
            let mut events: Vec<_> = self.waiting.drain(..limit.min(self.waiting.len())).collect();
            if events.is_empty() {
                self.take(limit, |event| events.push(event.clone()))?;
            }
            if !events.is_empty() {
                return Ok(events);
            }
            self.wait_for_bell().await?;
        }
    }

    /// Returns the revision up to which the watcher has seen everything: what a bookmark may say.
    ///
    /// It moves on without events of this resource, as others are written.
    pub fn progress(&self) -> u64 {
        if let Some(event) = self.waiting.front() {
            return event.revision - 1;
        }
        // First the revision, then the ring: what was published by then is in the ring.
        let published = self.state.published.load(Ordering::Acquire);
        let ring = self.stock.ring();
        let nothing_new = ring
            .from(self.next)
            .next()
            .is_none_or(|event| event.revision > published);
        if self.next >= ring.first() && nothing_new {
            published.max(self.taken)
        } else {
            self.taken
        }
    }

    /// Turns the watch into a stream that ends after its first error.
    pub fn into_stream(self) -> impl Stream<Item = Result<Arc<Event>, WatchEnd>> + Send {
        stream::unfold(Some(self), |watch| async move {
            let mut watch = watch?;
            match watch.next().await {
                Ok(event) => Some((Ok(event), Some(watch))),
                Err(end) => Some((Err(end), None)),
            }
        })
    }

    fn take(&mut self, limit: usize, mut show: impl FnMut(&Arc<Event>)) -> Result<(), WatchEnd> {
        // Whatever is published from here on rings again.
        self.bell.mark_unchanged();
        let published = self.state.published.load(Ordering::Acquire);
        let ring = self.stock.ring();
        if self.next < ring.first() {
            return Err(Expired {
                requested: self.taken,
                oldest: ring.floor(),
            }
            .into());
        }
        let mut shown = 0;
        for event in ring.from(self.next) {
            if event.revision > published {
                break;
            }
            self.next += 1;
            self.taken = self.taken.max(event.revision);
            let is_wanted = event.revision > self.since
                && self
                    .namespace
                    .as_ref()
                    .is_none_or(|namespace| *namespace == event.object.key.namespace);
            if is_wanted {
                show(event);
                shown += 1;
                if shown == limit {
                    break;
                }
            }
        }
        Ok(())
    }

    async fn wait_for_bell(&mut self) -> Result<(), WatchEnd> {
        if self.state.closed.load(Ordering::Acquire) {
            return Err(WatchEnd::Closed);
        }
        self.bell.changed().await.map_err(|_| WatchEnd::Closed)
    }
}
