//! Files that lost their end or have wrong bytes.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

use redb::{Database, ReadableTable, TableDefinition};
use serde_json::json;

use super::{contents, create, key, pods};
use crate::store::{Options, Store, StoreError};

const JOURNAL: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("journal");

/// Makes a store with objects, half of them compacted, and says what is in it.
async fn filled(directory: &Path) -> Vec<String> {
    let store = Store::open(directory, Options::default()).await.unwrap();
    for number in 0..60 {
        store
            .write(create(
                key("n", &number.to_string()),
                json!({"pad": "x".repeat(500)}),
            ))
            .await
            .unwrap();
        if number == 30 {
            store.compact(store.revision()).await.unwrap();
        }
    }
    let expected = contents(&store.list(&pods(), None, None, None, None).unwrap().items);
    store.close().await;
    expected
}

async fn reopened(directory: &Path) -> Result<(Vec<String>, Store), StoreError> {
    let store = Store::open(directory, Options::default()).await?;
    Ok((
        contents(&store.list(&pods(), None, None, None, None).unwrap().items),
        store,
    ))
}

#[tokio::test]
async fn a_file_without_its_end_is_whole_again_or_left_alone_with_a_clear_error() {
    let directory = tempfile::tempdir().unwrap();
    let expected = filled(directory.path()).await;
    let file = directory.path().join("store.redb");
    let bytes = fs::read(&file).unwrap();
    let mut outcomes = [0, 0];
    let cuts = (0..10)
        .map(|shift| 1usize << shift)
        .chain((1..20).map(|part| bytes.len() * part / 20));
    for cut in cuts {
        fs::write(&file, &bytes[..bytes.len() - cut]).unwrap();
        match reopened(directory.path()).await {
            Ok((found, store)) => {
                assert_eq!(found, expected, "cut {cut}");
                assert_eq!(store.repair_report().restored_bytes, cut as u64);
                store.write(create(key("n", "new"), json!({}))).await.unwrap();
                store.close().await;
                let (_, store) = reopened(directory.path()).await.unwrap();
                assert!(store.repair_report().is_clean());
                store.close().await;
                outcomes[0] += 1;
            }
            Err(error) => {
                let text = error.to_string();
                assert!(
                    text.contains("store.redb is damaged and was left as it is"),
                    "{text}"
                );
                outcomes[1] += 1;
            }
        }
    }
    assert!(outcomes.iter().all(|count| *count > 0), "{outcomes:?}");
}

#[tokio::test]
async fn wrong_bytes_never_become_objects() {
    let directory = tempfile::tempdir().unwrap();
    let expected = filled(directory.path()).await;
    let path = directory.path().join("store.redb");
    let bytes = fs::read(&path).unwrap();
    let mut noticed = 0;
    for place in (4096..bytes.len())
        .rev()
        .filter(|place| bytes[*place] != 0)
        .step_by(487)
    {
        fs::write(&path, &bytes).unwrap();
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        file.write_all_at(&[bytes[place] ^ 0x55], place as u64).unwrap();
        match reopened(directory.path()).await {
            // Only the end may be missing, and then it is said.
            Ok((found, store)) => {
                let missing = store.repair_report().dropped.len();
                assert_eq!(found.len() + missing, expected.len(), "byte {place}");
                assert!(
                    found.iter().all(|object| expected.contains(object)),
                    "byte {place}"
                );
                noticed += missing;
                store.close().await;
            }
            Err(error) => {
                assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
                noticed += 1;
            }
        }
    }
    assert!(noticed > 10, "{noticed}");
}

/// Changes the journal behind the store's back, as redb's own checksums can't notice.
fn change_journal(directory: &Path, change: impl FnOnce(&mut redb::Table<'_, u64, &'static [u8]>)) {
    let database = Database::create(directory.join("store.redb")).unwrap();
    let transaction = database.begin_write().unwrap();
    change(&mut transaction.open_table(JOURNAL).unwrap());
    transaction.commit().unwrap();
}

#[tokio::test]
async fn a_damaged_end_of_the_journal_is_dropped_reported_and_its_revisions_are_not_used_again() {
    let directory = tempfile::tempdir().unwrap();
    let expected = filled(directory.path()).await;
    change_journal(directory.path(), |journal| {
        for revision in [60, 61] {
            let mut entry = journal.get(revision).unwrap().unwrap().value().to_vec();
            entry[40] ^= 1;
            journal.insert(revision, entry.as_slice()).unwrap();
        }
    });
    let (found, store) = reopened(directory.path()).await.unwrap();
    assert_eq!(found.len(), expected.len() - 2);
    assert_eq!(
        store.repair_report().to_string(),
        "revisions 60 to 61 were dropped: its checksum is wrong"
    );
    assert_eq!((store.revision(), store.compacted()), (61, 61));
    assert!(store.watch(&pods(), None, 59).is_err());
    assert_eq!(
        store
            .write(create(key("n", "58"), json!({})))
            .await
            .unwrap()
            .revision,
        62
    );
    store.close().await;
    let (found, store) = reopened(directory.path()).await.unwrap();
    assert!(store.repair_report().is_clean());
    assert_eq!((found.len(), store.revision()), (expected.len() - 1, 62));
}

#[tokio::test]
async fn damage_before_the_end_of_the_journal_is_not_repaired_by_forgetting() {
    for (change, expected) in [
        (0, "revision 40 can't be used: its checksum is wrong"),
        (1, "revision 40 is missing: 41 is there instead"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        filled(directory.path()).await;
        change_journal(directory.path(), |journal| match change {
            0 => drop(journal.insert(40, [1; 50].as_slice()).unwrap()),
            _ => drop(journal.remove(40).unwrap()),
        });
        let error = reopened(directory.path()).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[tokio::test]
async fn a_group_of_writes_without_its_end_is_dropped_as_a_whole() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), Options::default()).await.unwrap();
    store.write(create(key("n", "alone"), json!({}))).await.unwrap();
    let group = ["a", "b", "c"].map(|name| create(key("n", name), json!({})));
    store.write_all(group.into()).await.unwrap();
    store.close().await;
    change_journal(directory.path(), |journal| drop(journal.remove(5).unwrap()));
    let (found, store) = reopened(directory.path()).await.unwrap();
    assert_eq!(
        found,
        ["/pods \"n/alone\" {\"metadata\":{\"resourceVersion\":\"2\"}}"]
    );
    assert_eq!(
        store.repair_report().to_string(),
        "revisions 3 to 4 were dropped: the writes that belong to it are missing"
    );
}

#[tokio::test]
async fn a_file_that_is_no_store_is_refused_and_kept() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.redb");
    fs::write(&path, "something else").unwrap();
    assert!(reopened(directory.path()).await.is_err());
    assert_eq!(fs::read(&path).unwrap(), b"something else");
}
