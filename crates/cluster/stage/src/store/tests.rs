//! The store as a whole, in memory and on disk.

mod crash;
mod disk_full;
mod history;
mod model;
mod torn;

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Change, Expect, Key, Options, ResourceKey, Store, Stored, Write, WriteError};

pub(super) fn pods() -> ResourceKey {
    ResourceKey::new("", "pods")
}

pub(super) fn key(namespace: &str, name: &str) -> Key {
    Key::new(&pods(), namespace, name)
}

pub(super) fn put(key: Key, expect: Expect, value: Value) -> Write {
    Write {
        key,
        expect,
        change: Change::Put(value),
    }
}

pub(super) fn create(key: Key, value: Value) -> Write {
    put(key, Expect::Absent, value)
}

pub(super) fn delete(key: Key) -> Write {
    Write {
        key,
        expect: Expect::Present,
        change: Change::Delete,
    }
}

/// Options that forget so soon that tests see it.
pub(super) fn forgetful() -> Options {
    Options {
        history_entries: 20,
        history_bytes: 4000,
        ring_events: 16,
        window_events: 40,
        window_bytes: 40_000,
        compaction_step: 4,
    }
}

/// What objects are now, as text, in order.
pub(super) fn contents(objects: &[Arc<Stored>]) -> Vec<String> {
    objects
        .iter()
        .map(|object| {
            assert_eq!(
                object.value()["metadata"]["resourceVersion"],
                object.revision.to_string()
            );
            format!("{} {}", object.key, object.value())
        })
        .collect()
}

async fn both() -> [(Store, Option<tempfile::TempDir>); 2] {
    let directory = tempfile::tempdir().unwrap();
    let on_disk = Store::open(directory.path(), Options::default()).await.unwrap();
    [
        (Store::in_memory(Options::default()), None),
        (on_disk, Some(directory)),
    ]
}

#[tokio::test]
async fn a_write_takes_place_only_when_its_condition_holds() {
    for (store, _directory) in both().await {
        let web = key("default", "web");
        let missing = store
            .write(put(web.clone(), Expect::Present, json!({})))
            .await
            .unwrap_err();
        assert_eq!(missing.to_string(), "/pods \"default/web\" not found");
        let first = store
            .write(create(web.clone(), json!({"spec": 1})))
            .await
            .unwrap();
        assert_eq!(first.revision, 2);
        let again = store.write(create(web.clone(), json!({}))).await.unwrap_err();
        assert_eq!(again.to_string(), "/pods \"default/web\" already exists");
        let second = store
            .write(put(web.clone(), Expect::Revision(2), json!({"spec": 2})))
            .await
            .unwrap();
        let stale = store
            .write(put(web.clone(), Expect::Revision(2), json!({})))
            .await
            .unwrap_err();
        assert!(matches!(&stale, WriteError::Conflict { current } if current.revision == second.revision));
        assert_eq!(
            stale.to_string(),
            "/pods \"default/web\" was changed: it is at revision 3"
        );
        assert_eq!(store.get(&web).unwrap().value()["spec"], 2);
        let gone = store.write(delete(web.clone())).await.unwrap();
        assert_eq!((gone.revision, store.revision()), (4, 4));
        assert_eq!(
            gone.value(),
            json!({"metadata": {"resourceVersion": "4"}, "spec": 2})
        );
        assert!(store.get(&web).is_none());
        assert!(matches!(
            store.write(delete(web)).await,
            Err(WriteError::NotFound { .. })
        ));
        let invalid = store.write(create(key("", "odd"), json!([]))).await.unwrap_err();
        assert_eq!(
            invalid.to_string(),
            "cannot store /pods \"odd\": it is not an object"
        );
    }
}

#[tokio::test]
async fn writes_that_belong_together_all_take_place_or_none() {
    for (store, _directory) in both().await {
        let writes = |last: Expect| {
            vec![
                create(
                    key("a", "one"),
                    json!({"metadata": {"ownerReferences": [{"uid": "o"}]}}),
                ),
                put(key("a", "one"), Expect::Present, json!({"spec": "again"})),
                create(key("a", "two"), json!({})),
                put(key("a", "three"), last, json!({})),
            ]
        };
        let refused = store.write_all(writes(Expect::Present)).await.unwrap_err();
        assert!(matches!(refused, WriteError::NotFound { .. }));
        assert_eq!((store.count(&pods()), store.revision()), (0, 1));
        assert!(store.owned_by("o").is_empty());
        let done = store.write_all(writes(Expect::Absent)).await.unwrap();
        let revisions: Vec<u64> = done.iter().map(|object| object.revision).collect();
        assert_eq!(revisions, [2, 3, 4, 5]);
        assert_eq!((store.count(&pods()), store.revision()), (3, 5));
        assert!(store.write_all(Vec::new()).await.unwrap().is_empty());
        assert_eq!(store.revision(), 5);
    }
}

#[tokio::test]
async fn objects_are_found_by_the_uid_of_their_owners() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), Options::default()).await.unwrap();
    let owned = |uids: &[&str]| {
        let owners: Vec<Value> = uids.iter().map(|uid| json!({"uid": uid})).collect();
        json!({"metadata": {"ownerReferences": owners}})
    };
    let names = |store: &Store, uid: &str| -> Vec<String> {
        store
            .owned_by(uid)
            .iter()
            .map(|object| object.key.name.to_string())
            .collect()
    };
    store.write(create(key("n", "b"), owned(&["x"]))).await.unwrap();
    store
        .write(create(key("n", "a"), owned(&["x", "y"])))
        .await
        .unwrap();
    store.write(create(key("n", "c"), owned(&["y"]))).await.unwrap();
    assert_eq!(names(&store, "x"), ["a", "b"]);
    store
        .write(put(key("n", "b"), Expect::Present, owned(&["y"])))
        .await
        .unwrap();
    store.compact(store.revision()).await.unwrap();
    store.write(delete(key("n", "c"))).await.unwrap();
    store.close().await;
    let reopened = Store::open(directory.path(), Options::default()).await.unwrap();
    for store in [store, reopened] {
        assert_eq!(names(&store, "x"), ["a"]);
        assert_eq!(names(&store, "y"), ["a", "b"]);
        assert!(names(&store, "z").is_empty());
    }
}

#[tokio::test]
async fn a_directory_belongs_to_one_store_at_a_time_and_to_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("new/data");
    let store = Store::open(&path, Options::default()).await.unwrap();
    let refused = Store::open(&path, Options::default())
        .await
        .unwrap_err()
        .to_string();
    let expected = format!(
        "data directory {} is in use by process {}: stop it, or choose another directory",
        path.display(),
        std::process::id()
    );
    assert_eq!(refused, expected);
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o700);
    for file in std::fs::read_dir(&path).unwrap() {
        assert_eq!(mode(&file.unwrap().path()), 0o600);
    }
    store.close().await;
    assert!(matches!(
        store.write(create(key("", "late"), json!({}))).await,
        Err(WriteError::Closed)
    ));
    Store::open(&path, Options::default()).await.unwrap();
}

#[tokio::test]
async fn concurrent_writers_of_one_object_lose_nothing() {
    for (store, _directory) in both().await {
        let counter = key("", "counter");
        store
            .write(create(counter.clone(), json!({"count": 0})))
            .await
            .unwrap();
        let mut writers = Vec::new();
        for _ in 0..8 {
            let (store, counter) = (store.clone(), counter.clone());
            writers.push(tokio::spawn(async move {
                for _ in 0..20 {
                    loop {
                        let current = store.get(&counter).unwrap();
                        let next = json!({"count": current.value()["count"].as_i64().unwrap() + 1});
                        let expect = Expect::Revision(current.revision);
                        match store.write(put(counter.clone(), expect, next)).await {
                            Ok(_) => break,
                            Err(WriteError::Conflict { .. }) => {}
                            Err(error) => panic!("{error}"),
                        }
                    }
                }
            }));
        }
        for writer in writers {
            writer.await.unwrap();
        }
        let last = store.get(&counter).unwrap();
        assert_eq!((last.value()["count"].as_i64(), last.revision), (Some(160), 162));
    }
}
