//! Disks that are full or fail, and recover.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use redb::StorageBackend;
use redb::backends::FileBackend;
use serde_json::json;

use super::{contents, create, forgetful, key, pods, put};
use crate::store::directory::{Directory, open_private};
use crate::store::{Expect, Options, Store, WriteError, opening};

/// A disk on which writing fails once its allowance is used up.
#[derive(Debug, Clone)]
struct Allowance {
    operations: Arc<AtomicI64>,
    error: Arc<AtomicU64>,
}

impl Allowance {
    fn new() -> Self {
        Self {
            operations: Arc::new(AtomicI64::new(i64::MAX)),
            error: Arc::default(),
        }
    }

    fn set(&self, operations: i64, error: i32) {
        self.error.store(error as u64, Ordering::SeqCst);
        self.operations.store(operations, Ordering::SeqCst);
    }

    fn take(&self) -> io::Result<()> {
        if self.operations.fetch_sub(1, Ordering::SeqCst) > 0 {
            Ok(())
        } else {
            Err(io::Error::from_raw_os_error(
                self.error.load(Ordering::SeqCst) as i32
            ))
        }
    }
}

#[derive(Debug)]
struct Disk {
    file: FileBackend,
    allowance: Allowance,
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.allowance.take()?;
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        // What was written before stays written: a failed commit may be on disk as a whole.
        self.allowance.take()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.allowance.take()?;
        self.file.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.file.close()
    }
}

fn open(path: &std::path::Path, allowance: &Allowance, options: Options) -> Store {
    let directory = Directory::claim(path).unwrap();
    let database_path = directory.database_path();
    let allowance = allowance.clone();
    let opener = Box::new(move |builder: &redb::Builder| {
        let file: File = open_private(&database_path)?;
        let disk = Disk {
            file: FileBackend::new(file)?,
            allowance: allowance.clone(),
        };
        Ok(builder.create_with_backend(disk)?)
    });
    Store::start(opening::open_with(directory, opener, &options).unwrap(), options).unwrap()
}

const NO_SPACE: i32 = 28;
const IO_ERROR: i32 = 5;

#[tokio::test]
async fn a_full_disk_refuses_writes_and_takes_them_again_when_there_is_space() {
    let directory = tempfile::tempdir().unwrap();
    let allowance = Allowance::new();
    let store = open(directory.path(), &allowance, Options::default());
    store.write(create(key("n", "before"), json!({}))).await.unwrap();
    let mut watch = store.watch(&pods(), None, store.revision()).unwrap();
    allowance.set(0, NO_SPACE);
    for _ in 0..3 {
        let error = store
            .write(create(key("n", "during"), json!({})))
            .await
            .unwrap_err();
        assert!(matches!(error, WriteError::DiskFull { .. }), "{error}");
        let expected = format!(
            "no space left on the device of {}: free some space and retry",
            directory.path().display()
        );
        assert_eq!(error.to_string(), expected);
        let compaction = store.compact(store.revision()).await.unwrap_err();
        assert!(matches!(compaction, WriteError::DiskFull { .. }), "{compaction}");
    }
    assert!(store.get(&key("n", "during")).is_none());
    assert!(watch.try_next().unwrap().is_none());
    assert_eq!(store.revision(), 2);
    allowance.set(i64::MAX, 0);
    assert_eq!(
        store
            .write(create(key("n", "after"), json!({})))
            .await
            .unwrap()
            .revision,
        3
    );
    assert_eq!(watch.next().await.unwrap().revision, 3);
    let expected = contents(&store.list(&pods(), None, None, None, None).unwrap().items);
    store.close().await;
    let store = Store::open(directory.path(), Options::default()).await.unwrap();
    assert_eq!(
        contents(&store.list(&pods(), None, None, None, None).unwrap().items),
        expected
    );
}

#[tokio::test]
async fn wherever_a_disk_fails_what_was_acknowledged_stays_and_what_was_refused_is_not_seen() {
    for error in [NO_SPACE, IO_ERROR] {
        let directory = tempfile::tempdir().unwrap();
        let allowance = Allowance::new();
        let mut store = open(directory.path(), &allowance, forgetful());
        let mut refused = 0;
        for round in 0..60 {
            allowance.set(round, error);
            // Some of these fit into the allowance, and one doesn't.
            for number in 0..12 {
                let name = (number % 5).to_string();
                let current = store.get(&key("n", &name));
                let expect = current
                    .as_ref()
                    .map_or(Expect::Absent, |object| Expect::Revision(object.revision));
                let value = json!({"round": round, "number": number, "pad": "x".repeat(300)});
                let revision = store.revision();
                match store.write(put(key("n", &name), expect, value)).await {
                    Ok(object) => assert_eq!(object.revision, revision + 1),
                    Err(WriteError::DiskFull { .. }) if error == NO_SPACE => refused += 1,
                    Err(WriteError::Io { .. }) if error == IO_ERROR => refused += 1,
                    Err(error) => panic!("{error}"),
                }
                if store.revision() == revision {
                    let unchanged = store.get(&key("n", &name)).map(|object| object.revision);
                    assert_eq!(unchanged, current.map(|object| object.revision));
                }
            }
            allowance.set(i64::MAX, 0);
            let name = format!("round-{round}");
            if round % 3 == 0 {
                store
                    .write(create(key("n", &name), json!({"round": round})))
                    .await
                    .unwrap();
            }
            if round % 7 == 0 {
                store
                    .write(create(key("m", &name), json!({"round": round})))
                    .await
                    .unwrap();
                let expected = contents(&store.list(&pods(), None, None, None, None).unwrap().items);
                let (revision, compacted) = (store.revision(), store.compacted());
                store.close().await;
                store = open(directory.path(), &allowance, forgetful());
                assert_eq!((store.revision(), store.compacted()), (revision, compacted));
                let found = contents(&store.list(&pods(), None, None, None, None).unwrap().items);
                assert_eq!(found, expected, "round {round}");
            }
        }
        assert!(refused > 100, "{refused}");
    }
}
