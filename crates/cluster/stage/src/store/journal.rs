//! The journal: what makes writes durable, and how they are found again.
//!
//! Two tables of a redb database. `journal` has the changes since the last compaction by their revision: a commit
//! appends to it, so it touches the last page of one tree, however many objects there are. `objects` has what the
//! objects were at the last compaction; a compaction brings it forward and cuts the journal off at the front, in
//! the same commit as a batch of writes. Opening reads `objects` and replays `journal`, which also brings the recent
//! events back: a watch resumes after a restart.

pub(super) mod entry;

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use redb::{Builder, Database, ReadableDatabase, ReadableTable, TableDefinition};

use super::ledger::{Decided, Past};
use super::ring::EventKind;
use super::state::FIRST_REVISION;
use entry::Entry;

const JOURNAL: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("journal");
const OBJECTS: TableDefinition<'_, (&str, &str, &str), &[u8]> = TableDefinition::new("objects");
const FACTS: TableDefinition<'_, &str, u64> = TableDefinition::new("facts");

/// The fact: up to which revision the changes are in `objects` and not in `journal`.
const COMPACTED: &str = "compacted";
/// The fact: how the tables are to be read.
const FORMAT: &str = "format";
/// The fact: the oldest format whose programs can read the tables all the same; the format itself where it is missing.
const READABLE_FROM: &str = "readable-from";
/// The only format so far. A program of the next one writes what one of this can read, and says so.
pub(super) const FORMAT_VERSION: u64 = 1;

/// Opens the database anew; called again after a failure, because redb refuses all work after one.
pub(super) type Opener = Box<dyn Fn(&Builder) -> Result<Database, redb::Error> + Send>;

/// How much memory the database may use: little, because everything is in memory already.
const CACHE_BYTES: usize = 8 << 20;

/// Returns how the database is to be opened.
pub(super) fn builder() -> Builder {
    let mut builder = Builder::new();
    builder.set_cache_size(CACHE_BYTES);
    builder
}

/// Why the journal could not do what it was asked for.
#[derive(Debug)]
pub(super) enum Failure {
    /// There is no space on the device, or the process may not use more of it.
    DiskFull,
    /// Everything else.
    Io(io::Error),
}

impl<E: Into<redb::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        match error.into() {
            redb::Error::Io(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
                ) =>
            {
                Self::DiskFull
            }
            redb::Error::Io(error) => Self::Io(error),
            error => Self::Io(io::Error::other(error)),
        }
    }
}

/// What a commit has besides the batch: objects brought forward to a revision.
#[derive(Debug)]
pub(super) struct Checkpoint {
    /// The last change to each object that changed since the last compaction.
    pub(super) changes: Vec<Past>,
    /// The revision that the changes lead to.
    pub(super) through: u64,
}

/// What is wrong with the content of the database.
#[derive(Debug)]
pub(super) enum LoadError {
    /// It can't be read.
    Unreadable(redb::Error),
    /// It was written by another version of this program.
    Format(u64),
    /// It contradicts itself, in these words.
    Damaged(String),
}

impl<E: Into<redb::Error>> From<E> for LoadError {
    fn from(error: E) -> Self {
        Self::Unreadable(error.into())
    }
}

/// What the database holds.
#[derive(Debug, Default)]
pub(super) struct Content {
    pub(super) compacted: u64,
    pub(super) objects: Vec<Entry>,
    pub(super) changes: Vec<Entry>,
    /// The changes at the end that can't be used: each with its revision, and why.
    pub(super) torn: Vec<(u64, String)>,
}

/// The database behind a store.
pub(super) struct Journal {
    opener: Opener,
    database: Option<Database>,
    /// Whether there may be changes on disk behind the last published one: of a commit that failed after all
    /// of it was written.
    has_stale_tail: bool,
}

impl Journal {
    pub(super) fn new(opener: Opener, database: Database) -> Self {
        Self {
            opener,
            database: Some(database),
            has_stale_tail: false,
        }
    }

    /// Makes sure that there is an open database; after a failure returns where its last compaction ended.
    pub(super) fn ready(&mut self, published: u64) -> Result<Option<u64>, Failure> {
        if self.database.is_some() {
            return Ok(None);
        }
        let opened = guarded(|| {
            let database = (self.opener)(&builder())?;
            let (compacted, last) = bounds(&database)?;
            Ok((database, compacted, last))
        });
        let (database, compacted, last) = opened?;
        if last < published {
            return Err(Failure::Io(io::Error::other(format!(
                "revision {published} was written and is not on disk any more: the last one there is {last}; \
                 stop the server and check the disk"
            ))));
        }
        self.has_stale_tail = last > published;
        self.database = Some(database);
        Ok(Some(compacted))
    }

    /// Makes changes durable, all or none.
    pub(super) fn commit(
        &mut self,
        published: u64,
        decided: &[Decided],
        checkpoint: Option<&Checkpoint>,
    ) -> Result<(), Failure> {
        let Some(database) = &self.database else {
            return Err(Failure::Io(io::Error::other("the journal is not open")));
        };
        let stale_after = self.has_stale_tail.then_some(published);
        let outcome = guarded(|| write(database, stale_after, decided, checkpoint));
        if outcome.is_ok() {
            self.has_stale_tail = false;
        } else {
            self.drop_database();
        }
        outcome
    }

    /// Lets go of the database; a clean end when nothing failed before.
    pub(super) fn drop_database(&mut self) {
        let database = self.database.take();
        // A database that failed may fail again while it is dropped; there is nothing left to lose by then.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(database)));
    }
}

/// Keeps a panic of the database, which damaged files can cause, from taking the writer along.
fn guarded<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        Err(Failure::Io(io::Error::other(
            "the database stopped at an internal contradiction",
        )))
    })
}

fn write(
    database: &Database,
    stale_after: Option<u64>,
    decided: &[Decided],
    checkpoint: Option<&Checkpoint>,
) -> Result<(), Failure> {
    let transaction = database.begin_write()?;
    {
        let mut journal = transaction.open_table(JOURNAL)?;
        if let Some(published) = stale_after {
            journal.retain_in(published + 1.., |_, _| false)?;
        }
        for Decided { event, completes, .. } in decided {
            let entry = entry::encode(&event.object, event.kind == EventKind::Deleted, *completes);
            journal.insert(event.revision, entry.as_slice())?;
        }
        if let Some(Checkpoint { changes, through }) = checkpoint {
            let mut objects = transaction.open_table(OBJECTS)?;
            for Past { object, deleted, .. } in changes {
                let key = &object.key;
                let key = (key.resource.as_str(), &*key.namespace, &*key.name);
                if *deleted {
                    objects.remove(key)?;
                } else {
                    objects.insert(key, entry::encode(object, false, true).as_slice())?;
                }
            }
            journal.retain_in(..=*through, |_, _| false)?;
            transaction.open_table(FACTS)?.insert(COMPACTED, *through)?;
        }
    }
    transaction.commit()?;
    Ok(())
}

fn bounds(database: &Database) -> Result<(u64, u64), Failure> {
    let transaction = database.begin_read()?;
    let compacted = transaction
        .open_table(FACTS)?
        .get(COMPACTED)?
        .map_or(FIRST_REVISION, |fact| fact.value());
    let last = transaction
        .open_table(JOURNAL)?
        .last()?
        .map_or(compacted, |(revision, _)| revision.value());
    Ok((compacted, last))
}

/// Prepares a new database; does nothing to one that has content.
pub(super) fn prepare(database: &Database) -> Result<(), redb::Error> {
    let is_new = database.begin_read()?.list_tables()?.next().is_none();
    if is_new {
        let transaction = database.begin_write()?;
        transaction.open_table(JOURNAL)?;
        transaction.open_table(OBJECTS)?;
        let mut facts = transaction.open_table(FACTS)?;
        facts.insert(FORMAT, FORMAT_VERSION)?;
        facts.insert(COMPACTED, FIRST_REVISION)?;
        drop(facts);
        transaction.commit()?;
    }
    if is_readable_and_newer(database)? {
        // What is written from now on is of this format, and the newer program has to know when it is back.
        let transaction = database.begin_write()?;
        transaction.open_table(FACTS)?.insert(FORMAT, FORMAT_VERSION)?;
        transaction.commit()?;
    }
    Ok(())
}

/// Returns whether a newer program wrote the database so that this one can read it.
fn is_readable_and_newer(database: &Database) -> Result<bool, redb::Error> {
    let transaction = database.begin_read()?;
    let facts = transaction.open_table(FACTS)?;
    let fact =
        |name: &str| -> Result<Option<u64>, redb::Error> { Ok(facts.get(name)?.map(|fact| fact.value())) };
    let (format, readable_from) = (fact(FORMAT)?, fact(READABLE_FROM)?);
    let is_newer = format.is_some_and(|format| format > FORMAT_VERSION);
    Ok(is_newer && readable_from.is_some_and(|from| from <= FORMAT_VERSION))
}

/// Reads everything, and holds each entry against its checksum, its key and its neighbours.
pub(super) fn load(database: &Database) -> Result<Content, LoadError> {
    let transaction = database.begin_read()?;
    let facts = transaction.open_table(FACTS)?;
    let fact = |name: &str| -> Result<u64, LoadError> {
        let value = facts.get(name)?.map(|fact| fact.value());
        value.ok_or_else(|| LoadError::Damaged(format!("it doesn't say what {name:?} is")))
    };
    let format = fact(FORMAT)?;
    if format != FORMAT_VERSION {
        return Err(LoadError::Format(format));
    }
    let mut content = Content {
        compacted: fact(COMPACTED)?,
        ..Content::default()
    };
    for row in transaction.open_table(OBJECTS)?.iter()? {
        let (key, value) = row?;
        let (resource, namespace, name) = key.value();
        let fitting = entry::decode(value.value()).and_then(|entry| {
            let key = &entry.object.key;
            let fits = (key.resource.as_str(), &*key.namespace, &*key.name) == (resource, namespace, name);
            if fits {
                Ok(entry)
            } else {
                Err(format!("it is {key}"))
            }
        });
        let damaged = |reason| format!("object {resource} \"{namespace}/{name}\" can't be used: {reason}");
        content
            .objects
            .push(fitting.map_err(|reason| LoadError::Damaged(damaged(reason)))?);
    }
    load_changes(&transaction.open_table(JOURNAL)?, &mut content)?;
    Ok(content)
}

fn load_changes(
    journal: &impl ReadableTable<u64, &'static [u8]>,
    content: &mut Content,
) -> Result<(), LoadError> {
    let mut expected = content.compacted;
    let mut complete = 0;
    for row in journal.iter()? {
        let (revision, value) = row?;
        let revision = revision.value();
        expected += 1;
        let fitting = if revision == expected {
            entry::decode(value.value())
        } else {
            return Err(LoadError::Damaged(format!(
                "revision {expected} is missing: {revision} is there instead"
            )));
        };
        let fitting = fitting.and_then(|entry| {
            let found = entry.object.revision;
            if found == revision {
                Ok(entry)
            } else {
                Err(format!("it is revision {found}"))
            }
        });
        match fitting {
            Ok(_) if !content.torn.is_empty() => {
                let (revision, reason) = &content.torn[0];
                return Err(LoadError::Damaged(format!(
                    "revision {revision} can't be used: {reason}"
                )));
            }
            Ok(entry) => {
                if entry.completes {
                    complete = content.changes.len() + 1;
                }
                content.changes.push(entry);
            }
            Err(reason) => content.torn.push((revision, reason)),
        }
    }
    let parts = content.changes.drain(complete..);
    let parts = parts.map(|entry| {
        (
            entry.object.revision,
            "the writes that belong to it are missing".to_owned(),
        )
    });
    content.torn = parts.chain(std::mem::take(&mut content.torn)).collect();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A database that says to be of a format which programs from another one on can read.
    fn database(folder: &std::path::Path, format: u64, readable_from: u64) -> Database {
        let database = builder().create(folder.join("database")).expect("a database");
        prepare(&database).expect("tables");
        let transaction = database.begin_write().expect("a transaction");
        {
            let mut facts = transaction.open_table(FACTS).expect("a table");
            facts.insert(FORMAT, format).expect("a fact");
            facts.insert(READABLE_FROM, readable_from).expect("a fact");
        }
        transaction.commit().expect("a commit");
        prepare(&database).expect("tables");
        database
    }

    #[test]
    fn what_the_next_version_wrote_is_read_and_what_those_after_it_wrote_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let next = database(folder.path(), FORMAT_VERSION + 1, FORMAT_VERSION);
        assert!(load(&next).is_ok());
        let facts = next.begin_read().expect("a transaction");
        let facts = facts.open_table(FACTS).expect("a table");
        let format = facts.get(FORMAT).expect("a table").map(|fact| fact.value());
        assert_eq!(format, Some(FORMAT_VERSION));

        let folder = tempfile::tempdir().expect("a folder");
        let later = database(folder.path(), FORMAT_VERSION + 2, FORMAT_VERSION + 1);
        let refused = load(&later).err();
        assert!(matches!(refused, Some(LoadError::Format(found)) if found == FORMAT_VERSION + 2));
    }
}
