//! The writer: the one thread that changes a store that is on disk.
//!
//! It takes whatever was asked for while the last commit ran, and commits it together: the more there is to do, the
//! less each write pays for the disk.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use tokio::sync::{mpsc, oneshot};

use super::Options;
use super::change::{Order, WriteError};
use super::directory::Directory;
use super::disk_health::DiskTrouble;
use super::journal::{Checkpoint, Failure, Journal};
use super::ledger::{Batch, Ledger};
use super::state::State;
use super::stored::Stored;

/// How many requests may wait: further ones wait before they are queued, with nothing but a place in line.
const QUEUE_LIMIT: usize = 4096;

/// How many bytes of JSON are committed together at most, so that no request waits for the disk for long.
const BATCH_BYTES: usize = 16 << 20;

/// How many steps of the automatic compaction one step of a requested one takes; nobody waits for it but writers.
const REQUESTED_STEPS: usize = 8;

/// Something for the writer to do, and where to say that it is done.
#[derive(Debug)]
pub(super) enum Request {
    /// One write.
    Write(Order, oneshot::Sender<Result<Arc<Stored>, WriteError>>),
    /// Several, all or none.
    WriteAll(Vec<Order>, oneshot::Sender<Result<Vec<Arc<Stored>>, WriteError>>),
    /// Forget what was replaced up to a revision.
    Compact(u64, oneshot::Sender<Result<(), WriteError>>),
    /// Stop.
    Close(oneshot::Sender<()>),
}

/// An answer that is held back until the commit is through.
enum Answer {
    One(
        oneshot::Sender<Result<Arc<Stored>, WriteError>>,
        Result<Arc<Stored>, WriteError>,
    ),
    All(
        oneshot::Sender<Result<Vec<Arc<Stored>>, WriteError>>,
        Result<Vec<Arc<Stored>>, WriteError>,
    ),
}

impl Answer {
    fn send(self) {
        // Whoever no longer waits doesn't need to know.
        match self {
            Self::One(asker, result) => drop(asker.send(result)),
            Self::All(asker, result) => drop(asker.send(result)),
        }
    }

    fn fail(self, error: WriteError) {
        match self {
            Self::One(asker, _) => drop(asker.send(Err(error))),
            Self::All(asker, _) => drop(asker.send(Err(error))),
        }
    }
}

/// What the thread works on.
pub(super) struct Writer {
    pub(super) state: Arc<State>,
    pub(super) ledger: Arc<Mutex<Ledger>>,
    pub(super) options: Arc<Options>,
    pub(super) journal: Journal,
    /// Kept until the journal is closed.
    pub(super) directory: Directory,
    pub(super) place: Arc<str>,
}

impl Writer {
    /// Starts the thread; it ends when it is told to, or when nobody is left to tell it anything.
    pub(super) fn start(self) -> std::io::Result<mpsc::Sender<Request>> {
        let (sender, receiver) = mpsc::channel(QUEUE_LIMIT);
        thread::Builder::new()
            .name("store-writer".into())
            .spawn(move || self.run(receiver))?;
        Ok(sender)
    }

    fn run(mut self, mut requests: mpsc::Receiver<Request>) {
        let mut closing = None;
        let mut held_over = None;
        while closing.is_none() {
            let Some(first) = held_over.take().or_else(|| requests.blocking_recv()) else {
                break;
            };
            let mut batch = Batch::new(&self.state);
            let mut answers = Vec::new();
            let mut bytes = 0;
            let mut next = Some(first);
            while let Some(request) = next.take() {
                match request {
                    Request::Write(order, asker) => {
                        bytes += order.weight();
                        answers.push(Answer::One(asker, batch.decide(&self.state, order)));
                    }
                    Request::WriteAll(orders, asker) => {
                        bytes += orders.iter().map(Order::weight).sum::<usize>();
                        answers.push(Answer::All(asker, batch.decide_all(&self.state, orders)));
                    }
                    // What came before is committed before.
                    other if !answers.is_empty() => {
                        held_over = Some(other);
                        break;
                    }
                    Request::Compact(through, asker) => {
                        drop(asker.send(self.compact(through)));
                        break;
                    }
                    Request::Close(asker) => {
                        closing = Some(asker);
                        break;
                    }
                }
                if bytes < BATCH_BYTES && answers.len() < QUEUE_LIMIT {
                    next = requests.try_recv().ok();
                }
            }
            self.finish(batch, answers, bytes);
        }
        self.state.close();
        requests.close();
        self.journal.drop_database();
        drop(self.directory);
        // Requests that are still in the queue are dropped with it, and their askers learn that the store is closed.
        drop(requests);
        if let Some(asker) = closing {
            let _ = asker.send(());
        }
    }

    fn finish(&mut self, batch: Batch, answers: Vec<Answer>, bytes: usize) {
        if batch.decided.is_empty() {
            return answers.into_iter().for_each(Answer::send);
        }
        let outcome = self.commit(batch);
        let mut disk = self.state.disk.lock().unwrap_or_else(PoisonError::into_inner);
        match &outcome {
            Ok(()) => disk.took(bytes),
            Err(WriteError::DiskFull { .. }) => disk.refused(DiskTrouble::Full, bytes, Instant::now()),
            Err(_) => disk.refused(DiskTrouble::Fails, bytes, Instant::now()),
        }
        drop(disk);
        match outcome {
            Ok(()) => answers.into_iter().for_each(Answer::send),
            // Also those that failed by themselves: they may have done so because of what is not there now.
            Err(error) => answers.into_iter().for_each(|answer| answer.fail(error.clone())),
        }
    }

    fn commit(&mut self, batch: Batch) -> Result<(), WriteError> {
        self.make_ready()?;
        let checkpoint = {
            let ledger = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
            let through = ledger.overdue(&self.options);
            through.map(|through| Checkpoint {
                changes: ledger.last_changes(through),
                through,
            })
        };
        let published = self.state.revision();
        let outcome = self
            .journal
            .commit(published, &batch.decided, checkpoint.as_ref());
        outcome.map_err(|failure| self.write_error(failure))?;
        let mut ledger = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
        ledger.publish(&self.state, batch.decided, &self.options);
        if let Some(Checkpoint { through, .. }) = checkpoint {
            ledger.forget_through(&self.state, through);
        }
        Ok(())
    }

    fn compact(&mut self, target: u64) -> Result<(), WriteError> {
        self.make_ready()?;
        loop {
            let checkpoint = {
                let ledger = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
                let step = self.options.compaction_step.saturating_mul(REQUESTED_STEPS);
                let Some(through) = ledger.step_towards(target, step) else {
                    return Ok(());
                };
                Checkpoint {
                    changes: ledger.last_changes(through),
                    through,
                }
            };
            let published = self.state.revision();
            let outcome = self.journal.commit(published, &[], Some(&checkpoint));
            outcome.map_err(|failure| self.write_error(failure))?;
            let mut ledger = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
            ledger.forget_through(&self.state, checkpoint.through);
        }
    }

    /// Opens the database again after a failure, and takes over what the failed commit did after all.
    fn make_ready(&mut self) -> Result<(), WriteError> {
        let reopened = self.journal.ready(self.state.revision());
        if let Some(compacted) = reopened.map_err(|failure| self.write_error(failure))?
            && compacted > self.state.compacted.load(Ordering::Acquire)
        {
            // A compaction of which the disk knows and memory doesn't: the journal can't be read from before it.
            let mut ledger = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
            ledger.forget_through(&self.state, compacted);
        }
        Ok(())
    }

    fn write_error(&self, failure: Failure) -> WriteError {
        let place = self.place.clone();
        match failure {
            Failure::DiskFull => WriteError::DiskFull { place },
            Failure::Io(error) => WriteError::Io {
                place,
                source: Arc::new(error),
            },
        }
    }
}
