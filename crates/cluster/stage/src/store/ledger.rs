//! Whose turn it is: decides writes one after the other, gives them their revisions and makes them visible.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use super::Options;
use super::change::{Action, Order, WriteError};
use super::key::Key;
use super::owners::Owners;
use super::ring::{Event, EventKind};
use super::state::State;
use super::stock::Stock;
use super::stored::Stored;

/// The book-keeping of the writer: what was written since the last compaction, in order.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    history: VecDeque<Past>,
    history_bytes: usize,
    window: VecDeque<Seen>,
    window_bytes: usize,
}

/// A change that lies behind us but can still be asked for.
#[derive(Debug, Clone)]
pub(super) struct Past {
    pub(super) stock: Arc<Stock>,
    pub(super) object: Arc<Stored>,
    pub(super) deleted: bool,
}

/// An event in a ring, in the order of all rings.
#[derive(Debug)]
struct Seen {
    stock: Arc<Stock>,
    sequence: u64,
    weight: usize,
}

/// A decided change that nobody has seen yet.
#[derive(Debug)]
pub(super) struct Decided {
    pub(super) stock: Arc<Stock>,
    pub(super) event: Arc<Event>,
    /// Whether the changes that go together end here: a reader of the journal must not stop in between.
    pub(super) completes: bool,
}

/// Changes that are decided together, on top of what is published.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) decided: Vec<Decided>,
    /// What the decided changes make of objects; `None` when no further write can ask.
    pending: Option<HashMap<Key, Option<Arc<Stored>>>>,
    last: u64,
}

impl Batch {
    /// Starts with nothing decided.
    pub(super) fn new(state: &State) -> Self {
        Self {
            decided: Vec::new(),
            pending: Some(HashMap::new()),
            last: state.revision(),
        }
    }

    /// Starts a batch that will have a single write.
    pub(super) fn of_one(state: &State) -> Self {
        Self {
            decided: Vec::with_capacity(1),
            pending: None,
            last: state.revision(),
        }
    }

    /// Decides a write that stands alone.
    pub(super) fn decide(&mut self, state: &State, order: Order) -> Result<Arc<Stored>, WriteError> {
        self.decide_part(state, order, true)
    }

    /// Decides writes of which all take place or none.
    pub(super) fn decide_all(
        &mut self,
        state: &State,
        orders: Vec<Order>,
    ) -> Result<Vec<Arc<Stored>>, WriteError> {
        let (before, last) = (self.decided.len(), self.last);
        let count = orders.len();
        let mut objects = Vec::with_capacity(count);
        for (index, order) in orders.into_iter().enumerate() {
            match self.decide_part(state, order, index + 1 == count) {
                Ok(object) => objects.push(object),
                Err(error) => {
                    self.undo(before, last);
                    return Err(error);
                }
            }
        }
        Ok(objects)
    }

    fn undo(&mut self, before: usize, last: u64) {
        self.last = last;
        for decided in self.decided.drain(before..).rev() {
            if let Some(pending) = &mut self.pending {
                pending.insert(decided.event.object.key.clone(), decided.event.previous.clone());
            }
        }
    }

    fn decide_part(
        &mut self,
        state: &State,
        order: Order,
        completes: bool,
    ) -> Result<Arc<Stored>, WriteError> {
        let Order { key, expect, action } = order;
        let stock = state.stock_or_new(&key.resource);
        let pending = self.pending.as_ref().and_then(|pending| pending.get(&key));
        let current = match pending {
            Some(current) => current.clone(),
            None => stock.get(&key.position(), state.revision()),
        };
        expect.check(&key, current.as_ref())?;
        let revision = self.last + 1;
        let event = match (action, current) {
            (Action::Put(draft), None) => {
                let object = Arc::new(Stored::finish(stock.intern(&key), revision, draft));
                Event::new(EventKind::Added, object, None)
            }
            (Action::Put(draft), Some(current)) => {
                let object = Arc::new(Stored::finish(current.key.clone(), revision, draft));
                Event::new(EventKind::Modified, object, Some(current))
            }
            (Action::Delete, None) => return Err(WriteError::NotFound { key }),
            (Action::Delete, Some(current)) => {
                // Those who watch see it as it was stored last.
                let object = current.at_revision(revision);
                Event::new(EventKind::Deleted, Arc::new(object), Some(current))
            }
        };
        self.last = revision;
        let object = event.object.clone();
        if let Some(pending) = &mut self.pending {
            let after = (event.kind != EventKind::Deleted).then(|| object.clone());
            pending.insert(object.key.clone(), after);
        }
        self.decided.push(Decided {
            stock,
            event: Arc::new(event),
            completes,
        });
        Ok(object)
    }
}

impl Ledger {
    /// Makes decided changes visible, all at once, and wakes who watches.
    pub(super) fn publish(&mut self, state: &State, decided: Vec<Decided>, options: &Options) {
        let Some(last) = decided.last() else { return };
        let last = last.event.revision;
        let mut stocks: Vec<Arc<Stock>> = Vec::new();
        for Decided { stock, event, .. } in decided {
            if !stocks.iter().any(|known| Arc::ptr_eq(known, &stock)) {
                stocks.push(stock.clone());
            }
            self.record(state, stock, &event, options);
        }
        state.published.store(last, Ordering::Release);
        for stock in stocks {
            stock.bell.send_replace(());
        }
        self.keep_window(options);
    }

    /// Applies one change without telling anybody.
    pub(super) fn record(&mut self, state: &State, stock: Arc<Stock>, event: &Arc<Event>, options: &Options) {
        let sequence = stock.apply(event, options.ring_events);
        if Owners::concern(event) {
            state
                .owners
                .write()
                .unwrap_or_else(PoisonError::into_inner)
                .apply(event);
        }
        let weight = event.weight();
        self.window_bytes += weight;
        self.window.push_back(Seen {
            stock: stock.clone(),
            sequence,
            weight,
        });
        self.history_bytes += event.object.bytes.len();
        self.history.push_back(Past {
            stock,
            object: event.object.clone(),
            deleted: event.kind == EventKind::Deleted,
        });
    }

    /// Lets the oldest events go, of whichever resource, so that all rings together stay within bounds.
    pub(super) fn keep_window(&mut self, options: &Options) {
        while self.window_bytes > options.window_bytes || self.window.len() > options.window_events {
            let Some(Seen {
                stock,
                sequence,
                weight,
            }) = self.window.pop_front()
            else {
                break;
            };
            self.window_bytes -= weight;
            stock.ring_mut().drop_if_oldest(sequence);
        }
    }

    pub(super) fn history_len(&self) -> usize {
        self.history.len()
    }

    pub(super) fn history_bytes(&self) -> usize {
        self.history_bytes
    }

    /// Returns up to which revision to forget, when there is more history than is to be kept.
    pub(super) fn overdue(&self, options: &Options) -> Option<u64> {
        let step = options.compaction_step.max(1);
        let excess_entries = self.history.len().saturating_sub(options.history_entries);
        let excess_bytes = self.history_bytes.saturating_sub(options.history_bytes);
        if excess_entries < step && excess_bytes == 0 {
            return None;
        }
        let mut bytes = 0;
        let mut through = None;
        for (index, past) in self.history.iter().enumerate() {
            if index >= excess_entries.max(step) && bytes >= excess_bytes {
                break;
            }
            bytes += past.object.bytes.len();
            through = Some(past.object.revision);
        }
        through
    }

    /// Returns the revision of the change that ends the next step of a compaction.
    pub(super) fn step_towards(&self, revision: u64, step: usize) -> Option<u64> {
        let reached = self
            .history
            .partition_point(|past| past.object.revision <= revision);
        let step = reached.min(step.max(1));
        Some(self.history.get(step.checked_sub(1)?)?.object.revision)
    }

    /// Returns the last of the changes to each object up to a revision: what the objects were then.
    pub(super) fn last_changes(&self, through: u64) -> Vec<Past> {
        let mut last: HashMap<&Key, &Past> = HashMap::new();
        for past in self
            .history
            .iter()
            .take_while(|past| past.object.revision <= through)
        {
            last.insert(&past.object.key, past);
        }
        let mut changes: Vec<Past> = last.into_values().cloned().collect();
        // In the order of the keys, so that the journal's table is written page by page.
        changes.sort_by(|left, right| left.object.key.cmp(&right.object.key));
        changes
    }

    /// Forgets all versions that were replaced up to a revision.
    pub(super) fn forget_through(&mut self, state: &State, revision: u64) {
        // First the announcement: a reader that finds a version missing must find out why.
        state
            .compacted
            .fetch_max(revision.min(state.revision()), Ordering::AcqRel);
        while self
            .history
            .front()
            .is_some_and(|past| past.object.revision <= revision)
        {
            let Some(Past { stock, object, .. }) = self.history.pop_front() else {
                break;
            };
            self.history_bytes -= object.bytes.len();
            stock.forget_before(&object.key.position(), object.revision);
        }
    }
}
