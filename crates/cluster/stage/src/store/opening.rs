//! How a store comes back from disk: found, checked, repaired where that loses nothing, and replayed.

use std::cell::Cell;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use redb::Database;

use super::Options;
use super::directory::{Directory, open_private, restore_length};
use super::journal::entry::Entry;
use super::journal::{self, Checkpoint, Content, Failure, Journal, LoadError, Opener};
use super::key::Key;
use super::ledger::Ledger;
use super::ring::{Event, EventKind};
use super::state::State;

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process has the store open.
    #[error(
        "data directory {} is in use by {holder}: stop it, or choose another directory", directory.display()
    )]
    InUse {
        /// The directory.
        directory: PathBuf,
        /// Who has it.
        holder: String,
    },
    /// The directory or a file in it can't be used.
    #[error("cannot open {}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The file was written by another version of this program.
    #[error(
        "{} has format {found}, and this version of baton reads format {known}: use the version that wrote it, or name another \
         folder with --data-dir",
        path.display()
    )]
    Format {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u64,
        /// The one that can be read.
        known: u64,
    },
    /// Something is missing in the file that was once acknowledged; it is left as it is.
    #[error(
        "{} is damaged and was left as it is: {what}; restore it from a copy, or move it away to start empty",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was found.
        what: String,
    },
}

/// What had to be repaired when a store was opened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RepairReport {
    /// Whether the last process that had the store ended without closing it; a commit that was under way then is
    /// undone.
    pub unclean_shutdown: bool,
    /// By how many bytes the file was too short.
    pub restored_bytes: u64,
    /// Whether pages of the file were wrong and an older state of them was taken.
    pub rolled_back: bool,
    /// The changes at the end of the journal that could not be used: their revisions, and why.
    pub dropped: Vec<(u64, String)>,
}

impl RepairReport {
    /// Returns whether there was nothing to repair.
    pub fn is_clean(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for RepairReport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if self.unclean_shutdown {
            parts.push("the store was not closed last time".to_owned());
        }
        if self.restored_bytes > 0 {
            parts.push(format!("the file was {} bytes too short", self.restored_bytes));
        }
        if self.rolled_back {
            parts.push("damaged pages were replaced by their last good state".to_owned());
        }
        if let (Some((first, reason)), Some((last, _))) = (self.dropped.first(), self.dropped.last()) {
            parts.push(format!("revisions {first} to {last} were dropped: {reason}"));
        }
        formatter.write_str(if parts.is_empty() { "nothing to repair" } else { "" })?;
        formatter.write_str(&parts.join("; "))
    }
}

/// Everything a writer needs after a store was opened.
pub(super) struct Opened {
    pub(super) directory: Directory,
    pub(super) journal: Journal,
    pub(super) state: State,
    pub(super) ledger: Ledger,
    pub(super) report: RepairReport,
}

/// Opens the store in a directory; blocks.
pub(super) fn open(path: &Path, options: &Options) -> Result<Opened, StoreError> {
    let directory = Directory::claim(path)?;
    let database_path = directory.database_path();
    let opener: Opener = Box::new(move |builder| Ok(builder.create_file(open_private(&database_path)?)?));
    open_with(directory, opener, options)
}

/// Opens the store in a directory by an opener for its database.
pub(super) fn open_with(
    directory: Directory,
    opener: Opener,
    options: &Options,
) -> Result<Opened, StoreError> {
    let path = directory.database_path();
    let failed = |source| StoreError::Io {
        path: path.clone(),
        source,
    };
    let restored_bytes = open_private(&path)
        .and_then(|file| restore_length(&file))
        .map_err(failed)?;
    let mut report = RepairReport {
        restored_bytes,
        ..RepairReport::default()
    };
    let (database, content) = read(&path, &opener, &mut report)?;
    assemble(
        directory,
        Journal::new(opener, database),
        content,
        report,
        options,
    )
}

/// Puts together what was read, and brings the disk in line with it.
fn assemble(
    directory: Directory,
    mut journal: Journal,
    content: Content,
    mut report: RepairReport,
    options: &Options,
) -> Result<Opened, StoreError> {
    let state = State::new();
    let mut ledger = Ledger::default();
    let torn = replay(&state, &mut ledger, content, options);
    if let Some((last_torn, _)) = torn.last() {
        // The revisions that are dropped may be known to somebody: they are never used again, and everybody who
        // watched has to list again.
        let through = *last_torn;
        let changes = ledger.last_changes(u64::MAX);
        let failed = |failure| StoreError::Io {
            path: directory.database_path(),
            source: match failure {
                Failure::DiskFull => io::ErrorKind::StorageFull.into(),
                Failure::Io(error) => error,
            },
        };
        let published = state.revision();
        journal
            .commit(published, &[], Some(&Checkpoint { changes, through }))
            .map_err(failed)?;
        state.published.store(through, Ordering::Release);
        ledger.forget_through(&state, through);
    }
    report.dropped = torn;
    Ok(Opened {
        directory,
        journal,
        state,
        ledger,
        report,
    })
}

fn read(path: &Path, opener: &Opener, report: &mut RepairReport) -> Result<(Database, Content), StoreError> {
    let unclean = Rc::new(Cell::new(false));
    let open = || {
        let mut builder = journal::builder();
        let unclean = unclean.clone();
        builder.set_repair_callback(move |_| unclean.set(true));
        opener(&builder)
    };
    let attempt = |check: bool| -> Result<(Database, Content, bool), LoadError> {
        let attempt = || {
            let mut database = open()?;
            let was_whole = !check || database.check_integrity()?;
            journal::prepare(&database)?;
            let content = journal::load(&database)?;
            Ok((database, content, was_whole))
        };
        // Pages that nobody checks before they are read can contradict each other in ways that make redb panic.
        catch_unwind(AssertUnwindSafe(attempt))
            .unwrap_or_else(|_| Err(LoadError::Damaged("its pages contradict each other".into())))
    };
    let doubtful = report.restored_bytes > 0;
    let mut outcome = attempt(doubtful);
    let is_damaged = match &outcome {
        Ok((_, content, _)) => !content.torn.is_empty(),
        Err(LoadError::Unreadable(error)) => !matches!(error, redb::Error::DatabaseAlreadyOpen),
        Err(LoadError::Damaged(_)) => true,
        Err(LoadError::Format(_)) => false,
    };
    if is_damaged && !doubtful {
        // The first one has to let go of the file.
        drop(outcome);
        outcome = attempt(true);
    }
    report.unclean_shutdown = unclean.get();
    let path = path.to_owned();
    match outcome {
        Ok((database, content, was_whole)) => {
            report.rolled_back = !was_whole;
            Ok((database, content))
        }
        Err(LoadError::Format(found)) => Err(StoreError::Format {
            path,
            found,
            known: journal::FORMAT_VERSION,
        }),
        Err(LoadError::Damaged(what)) => Err(StoreError::Damaged { path, what }),
        Err(LoadError::Unreadable(redb::Error::DatabaseAlreadyOpen)) => {
            let directory = path.parent().unwrap_or(&path).to_owned();
            Err(StoreError::InUse {
                directory,
                holder: "another program".into(),
            })
        }
        Err(LoadError::Unreadable(redb::Error::Io(source))) => Err(StoreError::Io { path, source }),
        Err(LoadError::Unreadable(error)) => Err(StoreError::Damaged {
            path,
            what: error.to_string(),
        }),
    }
}

/// Makes the content visible again; returns the changes that can't be.
fn replay(state: &State, ledger: &mut Ledger, content: Content, options: &Options) -> Vec<(u64, String)> {
    state.compacted.store(content.compacted, Ordering::Release);
    state.published.store(content.compacted, Ordering::Release);
    for Entry { mut object, .. } in content.objects {
        let stock = state.stock_or_new(&object.key.resource);
        object.key = stock.intern(&object.key);
        let mut owners = state.owners.write().unwrap_or_else(PoisonError::into_inner);
        for uid in &object.owners {
            owners.insert(uid, &object.key);
        }
        stock.restore(Arc::new(object));
    }
    for Entry {
        mut object, deleted, ..
    } in content.changes
    {
        let stock = state.stock_or_new(&object.key.resource);
        let previous = stock.get(&object.key.position(), object.revision);
        object.key = previous
            .as_ref()
            .map_or_else(|| stock.intern(&object.key), |known| Key::clone(&known.key));
        let kind = match (&previous, deleted) {
            (_, true) => EventKind::Deleted,
            (None, false) => EventKind::Added,
            (Some(_), false) => EventKind::Modified,
        };
        let revision = object.revision;
        let event = Arc::new(Event::new(kind, Arc::new(object), previous));
        ledger.record(state, stock, &event, options);
        state.published.store(revision, Ordering::Release);
    }
    ledger.keep_window(options);
    content.torn
}
