//! The store: all objects in memory, one revision for everything, and a journal on disk.
//!
//! ```text
//!  write ─► Order (encoded) ─► queue ─► Batch (decided, in turn) ─► Journal (one commit) ─► Ledger (published)
//!                                                                                              │
//!  get, list ◄── Stock: versions of each object since the last compaction ◄────────────────────┤
//!  watch     ◄── Ring: recent events of each resource, shared by all watchers ◄────────────────┘
//! ```
//!
//! Readers see a write when it is durable, and never a part of a batch. What replaced versions and events cost is
//! bounded by [`Options`]; the journal holds the same history, so that watches resume after a restart.

mod change;
mod directory;
mod disk_health;
mod encoding;
mod followed;
mod journal;
mod key;
mod ledger;
mod listing;
mod opening;
mod owners;
mod ring;
mod state;
mod stock;
mod stored;
#[cfg(test)]
mod tests;
mod watching;
mod writer;

use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::{mpsc, oneshot};

pub use change::{Change, Expect, LARGEST_OBJECT, Write, WriteError};
pub use disk_health::DiskTrouble;
pub use encoding::EncodeError;
pub use followed::{Derived, Followed};
pub use key::{Key, Position, ResourceKey};
pub use listing::{Expired, Listing};
pub use opening::{RepairReport, StoreError};
pub use ring::{ENCODINGS, Event, EventKind};
pub use stored::{Labels, Stored};
pub use watching::{Watch, WatchEnd};

use change::Order;
use ledger::{Batch, Ledger};
use opening::Opened;
use state::State;
use writer::{Request, Writer};

/// How much of the past is kept.
#[derive(Debug, Clone)]
pub struct Options {
    /// How many writes can be undone in the mind: lists at an older revision, and watches from one, are answered
    /// as long as fewer writes happened since. A client that pages through a list has some minutes of a busy
    /// machine's writes.
    pub history_entries: usize,
    /// The same in bytes of JSON, for large objects.
    pub history_bytes: usize,
    /// How many events of one resource are kept for watchers: more than the 10,000 of a burst that a slow watcher
    /// should survive.
    pub ring_events: usize,
    /// How many events of all resources together are kept.
    pub window_events: usize,
    /// What the events of all resources together may weigh, in bytes.
    pub window_bytes: usize,
    /// How many writes are forgotten at a time: enough that several writes of one object become one on disk.
    pub compaction_step: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            history_entries: 65_536,
            history_bytes: 64 << 20,
            ring_events: 16_384,
            window_events: 131_072,
            window_bytes: 96 << 20,
            compaction_step: 1024,
        }
    }
}

/// What a store holds at the moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statistics {
    /// The revision of the last write.
    pub revision: u64,
    /// The oldest revision that can be asked for.
    pub compacted: u64,
    /// How many objects there are.
    pub objects: usize,
    /// How many writes can still be asked for.
    pub history_entries: usize,
    /// Their JSON in bytes.
    pub history_bytes: usize,
    /// How many events are kept for watchers.
    pub events: usize,
    /// How many watchers there are.
    pub watchers: usize,
}

/// All objects of a cluster; a clone is the same store.
#[derive(Debug, Clone)]
pub struct Store {
    state: Arc<State>,
    ledger: Arc<Mutex<Ledger>>,
    options: Arc<Options>,
    /// The way to the writer of a store that is on disk; without one, writers take turns by the ledger's lock.
    writer: Option<mpsc::Sender<Request>>,
    report: Arc<RepairReport>,
}

impl Store {
    /// Makes an empty store that forgets everything with its last clone.
    pub fn in_memory(options: Options) -> Self {
        Self {
            state: Arc::new(State::new()),
            ledger: Arc::default(),
            options: Arc::new(options),
            writer: None,
            report: Arc::default(),
        }
    }

    /// Opens the store in a directory, which is made when it is missing, and repairs it where need be.
    pub async fn open(path: impl AsRef<Path>, options: Options) -> Result<Self, StoreError> {
        let path = path.as_ref().to_owned();
        let failed_at = path.clone();
        let opening = tokio::task::spawn_blocking(move || {
            let opened = opening::open(&path, &options)?;
            Self::start(opened, options)
        });
        opening.await.unwrap_or_else(|error| {
            Err(StoreError::Io {
                path: failed_at,
                source: std::io::Error::other(error),
            })
        })
    }

    fn start(opened: Opened, options: Options) -> Result<Self, StoreError> {
        let Opened {
            directory,
            journal,
            state,
            ledger,
            report,
        } = opened;
        if !report.is_clean() {
            tracing::warn!(directory = %directory.path().display(), "repaired the store: {report}");
        }
        let path = directory.path().to_owned();
        let place: Arc<str> = path.display().to_string().into();
        let (state, ledger, options) = (Arc::new(state), Arc::new(Mutex::new(ledger)), Arc::new(options));
        let writer = Writer {
            state: state.clone(),
            ledger: ledger.clone(),
            options: options.clone(),
            journal,
            directory,
            place,
        };
        let writer = writer.start().map_err(|source| StoreError::Io { path, source })?;
        Ok(Self {
            state,
            ledger,
            options,
            writer: Some(writer),
            report: Arc::new(report),
        })
    }

    /// Returns what had to be repaired when the store was opened.
    pub fn repair_report(&self) -> &RepairReport {
        &self.report
    }

    /// Changes one object; returns when the change is durable and visible.
    ///
    /// Dropping the future doesn't take the write back: it may take place or not.
    pub async fn write(&self, write: Write) -> Result<Arc<Stored>, WriteError> {
        let order = Order::prepare(write)?;
        if let Some(writer) = &self.writer {
            return Self::ask(writer, |asker| Request::Write(order, asker)).await;
        }
        let mut ledger = self.take_turn()?;
        let mut batch = Batch::of_one(&self.state);
        let object = batch.decide(&self.state, order)?;
        self.publish(&mut ledger, batch);
        Ok(object)
    }

    /// Changes some objects, all of them or none; returns them in the order of the writes.
    ///
    /// Each write has its own revision, and readers see all of them at once. A write sees those before it.
    pub async fn write_all(&self, writes: Vec<Write>) -> Result<Vec<Arc<Stored>>, WriteError> {
        let orders = writes
            .into_iter()
            .map(Order::prepare)
            .collect::<Result<Vec<_>, _>>()?;
        if let Some(writer) = &self.writer {
            return Self::ask(writer, |asker| Request::WriteAll(orders, asker)).await;
        }
        let mut ledger = self.take_turn()?;
        let mut batch = Batch::new(&self.state);
        let objects = batch.decide_all(&self.state, orders)?;
        self.publish(&mut ledger, batch);
        Ok(objects)
    }

    async fn ask<T>(
        writer: &mpsc::Sender<Request>,
        request: impl FnOnce(oneshot::Sender<Result<T, WriteError>>) -> Request,
    ) -> Result<T, WriteError> {
        let (asker, answer) = oneshot::channel();
        writer
            .send(request(asker))
            .await
            .map_err(|_| WriteError::Closed)?;
        answer.await.unwrap_or(Err(WriteError::Closed))
    }

    fn take_turn(&self) -> Result<MutexGuard<'_, Ledger>, WriteError> {
        let ledger = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
        if self.state.closed.load(Ordering::Acquire) {
            return Err(WriteError::Closed);
        }
        Ok(ledger)
    }

    fn publish(&self, ledger: &mut Ledger, batch: Batch) {
        ledger.publish(&self.state, batch.decided, &self.options);
        if let Some(through) = ledger.overdue(&self.options) {
            ledger.forget_through(&self.state, through);
        }
    }

    /// Returns an object.
    pub fn get(&self, key: &Key) -> Option<Arc<Stored>> {
        self.state.get(key)
    }

    /// Returns the revision of the last write.
    pub fn revision(&self) -> u64 {
        self.state.revision()
    }

    /// Returns the oldest revision that lists and watches can ask for.
    pub fn compacted(&self) -> u64 {
        self.state.compacted.load(Ordering::Acquire)
    }

    /// Lists the objects of a resource that stand behind `after`, as of revision `at` or as they are.
    ///
    /// A revision that is yet to come is answered with the present one: compare with [`Store::revision`].
    pub fn list(
        &self,
        resource: &ResourceKey,
        namespace: Option<&str>,
        after: Option<&Position>,
        limit: Option<usize>,
        at: Option<u64>,
    ) -> Result<Listing, Expired> {
        let revision = || {
            let (present, oldest) = (self.revision(), self.compacted());
            match at {
                Some(requested) if requested < oldest => Err(Expired { requested, oldest }),
                Some(requested) => Ok(requested.min(present)),
                None => Ok(present),
            }
        };
        match self.state.stock(resource) {
            Some(stock) => stock.list(namespace, after, limit, revision),
            None => Ok(Listing {
                revision: revision()?,
                items: Vec::new(),
                remaining: 0,
                next: None,
            }),
        }
    }

    /// Watches the objects of a resource: every change after revision `since`, in order.
    pub fn watch(
        &self,
        resource: &ResourceKey,
        namespace: Option<&str>,
        since: u64,
    ) -> Result<Watch, Expired> {
        Watch::start(&self.state, self.state.stock_or_new(resource), namespace, since)
    }

    /// Returns the objects that name an owner with this uid, sorted by key.
    pub fn owned_by(&self, uid: &str) -> Vec<Arc<Stored>> {
        self.state.owned_by(uid)
    }

    /// Returns how many objects of a resource there are.
    pub fn count(&self, resource: &ResourceKey) -> usize {
        self.state.stock(resource).map_or(0, |stock| stock.count())
    }

    /// Returns the resources that have or had objects, each with how many there are, sorted.
    pub fn counts(&self) -> Vec<(ResourceKey, usize)> {
        self.state
            .all()
            .iter()
            .map(|stock| (stock.resource.clone(), stock.count()))
            .collect()
    }

    /// Returns what is wrong with the disk, as far as the last writes tell.
    pub fn disk_trouble(&self) -> Option<DiskTrouble> {
        let disk = self.state.disk.lock().unwrap_or_else(PoisonError::into_inner);
        disk.trouble(Instant::now())
    }

    /// Returns what the store holds at the moment.
    pub fn statistics(&self) -> Statistics {
        let stocks = self.state.all();
        let ledger = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
        Statistics {
            revision: self.revision(),
            compacted: self.compacted(),
            objects: stocks.iter().map(|stock| stock.count()).sum(),
            history_entries: ledger.history_len(),
            history_bytes: ledger.history_bytes(),
            events: stocks.iter().map(|stock| stock.ring().len()).sum(),
            watchers: stocks.iter().map(|stock| stock.bell.receiver_count()).sum(),
        }
    }

    /// Forgets the versions that were replaced up to a revision; lists and watches can't ask for older ones then.
    ///
    /// Watchers that are under way go on.
    pub async fn compact(&self, through: u64) -> Result<(), WriteError> {
        if let Some(writer) = &self.writer {
            return Self::ask(writer, |asker| Request::Compact(through, asker)).await;
        }
        self.take_turn()?.forget_through(&self.state, through);
        Ok(())
    }

    /// Ends all watches, finishes the writes that were accepted, and lets go of the files.
    pub async fn close(&self) {
        if let Some(writer) = &self.writer {
            let (asker, answer) = oneshot::channel();
            if writer.send(Request::Close(asker)).await.is_ok() {
                // The writer is gone without an answer only when it was closed by somebody else.
                let _ = answer.await;
            }
            return;
        }
        let _turn = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
        self.state.close();
    }
}
