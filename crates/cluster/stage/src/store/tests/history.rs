//! Lists at a revision, watches from one, and what is forgotten.

use serde_json::json;

use super::{contents, create, delete, forgetful, key, pods, put};
use crate::store::{EventKind, Expect, Expired, Options, Position, ResourceKey, Store, WatchEnd};

#[tokio::test]
async fn pages_of_a_list_show_one_revision_whatever_is_written_meanwhile() {
    let store = Store::in_memory(Options::default());
    for name in ["a", "b", "c", "d", "e"] {
        store
            .write(create(key("n", name), json!({"was": "first"})))
            .await
            .unwrap();
        store.write(create(key("other", name), json!({}))).await.unwrap();
    }
    let whole = store.list(&pods(), Some("n"), None, None, None).unwrap();
    let first = store.list(&pods(), Some("n"), None, Some(2), None).unwrap();
    assert_eq!((first.items.len(), first.remaining), (2, 3));
    assert_eq!(first.next, Some(Position::new("n", "b")));
    store.write(delete(key("n", "c"))).await.unwrap();
    store.write(create(key("n", "bb"), json!({}))).await.unwrap();
    store
        .write(put(key("n", "e"), Expect::Present, json!({"was": "second"})))
        .await
        .unwrap();
    store.write(delete(key("n", "e"))).await.unwrap();
    store
        .write(create(key("n", "e"), json!({"was": "third"})))
        .await
        .unwrap();
    let second = store
        .list(
            &pods(),
            Some("n"),
            first.next.as_ref(),
            Some(2),
            Some(first.revision),
        )
        .unwrap();
    assert_eq!((second.remaining, second.revision), (1, first.revision));
    let third = store
        .list(
            &pods(),
            Some("n"),
            second.next.as_ref(),
            Some(2),
            Some(first.revision),
        )
        .unwrap();
    assert_eq!((third.items.len(), third.remaining, third.next), (1, 0, None));
    let pages: Vec<_> = [first.items, second.items, third.items].concat();
    assert_eq!(contents(&pages), contents(&whole.items));
    let all = store.list(&pods(), None, None, None, None).unwrap();
    assert_eq!((all.items.len(), all.revision), (10, store.revision()));
    let none = store
        .list(&ResourceKey::new("", "none"), None, None, None, None)
        .unwrap();
    assert_eq!((none.items.len(), none.revision), (0, store.revision()));
    let behind = store
        .list(&pods(), Some("n"), Some(&Position::new("a", "z")), None, None)
        .unwrap();
    assert_eq!(behind.items.len(), 5);
}

#[tokio::test]
async fn a_watch_shows_what_happened_to_whom_and_what_was_before() {
    let store = Store::in_memory(Options::default());
    store.write(create(key("n", "a"), json!({"v": 1}))).await.unwrap();
    let mut all = store.watch(&pods(), None, store.revision()).unwrap();
    let mut other = store.watch(&pods(), Some("m"), 1).unwrap();
    let waiting = tokio::spawn(async move {
        let mut seen = Vec::new();
        for _ in 0..4 {
            let event = all.next().await.unwrap();
            let before = event.previous.as_ref().map(|object| object.value()["v"].clone());
            seen.push((
                event.kind,
                event.revision,
                event.object.value()["v"].clone(),
                before,
            ));
        }
        (all, seen)
    });
    tokio::task::yield_now().await;
    store
        .write(put(key("n", "a"), Expect::Present, json!({"v": 2})))
        .await
        .unwrap();
    store.write(create(key("m", "b"), json!({"v": 3}))).await.unwrap();
    store.write(delete(key("n", "a"))).await.unwrap();
    store.write(create(key("n", "a"), json!({"v": 4}))).await.unwrap();
    let (all, seen) = waiting.await.unwrap();
    assert_eq!(
        seen,
        [
            (EventKind::Modified, 3, json!(2), Some(json!(1))),
            (EventKind::Added, 4, json!(3), None),
            (EventKind::Deleted, 5, json!(2), Some(json!(2))),
            (EventKind::Added, 6, json!(4), None),
        ]
    );
    assert_eq!(other.next().await.unwrap().revision, 4);
    assert!(other.try_next().unwrap().is_none());
    store
        .write(create(
            crate::store::Key::new(&ResourceKey::new("", "nodes"), "", "n"),
            json!({}),
        ))
        .await
        .unwrap();
    assert_eq!((all.progress(), other.progress()), (7, 7));
    store.close().await;
    assert_eq!(other.next().await.unwrap_err(), WatchEnd::Closed);
}

#[tokio::test]
async fn progress_stops_before_an_event_that_was_not_asked_for_yet() {
    let store = Store::in_memory(Options::default());
    let mut watch = store.watch(&pods(), None, 1).unwrap();
    for name in ["a", "b", "c"] {
        store.write(create(key("n", name), json!({}))).await.unwrap();
    }
    assert_eq!(watch.progress(), 1);
    assert_eq!(watch.next().await.unwrap().revision, 2);
    assert_eq!(watch.progress(), 2);
    assert_eq!(watch.next_batch(10).await.unwrap().len(), 2);
    assert_eq!(watch.progress(), 4);
}

#[tokio::test]
async fn a_watch_from_a_revision_to_come_shows_only_what_is_behind_it() {
    let store = Store::in_memory(Options::default());
    let mut watch = store.watch(&pods(), None, 3).unwrap();
    for name in ["a", "b", "c"] {
        store.write(create(key("n", name), json!({}))).await.unwrap();
    }
    assert_eq!(watch.next().await.unwrap().revision, 4);
}

#[tokio::test]
async fn a_watcher_that_falls_behind_is_told_and_never_waited_for() {
    let store = Store::in_memory(Options {
        ring_events: 4,
        ..Options::default()
    });
    let mut slow = store.watch(&pods(), None, 1).unwrap();
    for number in 0..10 {
        store
            .write(create(key("n", &number.to_string()), json!({})))
            .await
            .unwrap();
    }
    assert_eq!(
        slow.next().await.unwrap_err(),
        WatchEnd::Expired(Expired {
            requested: 1,
            oldest: 7
        })
    );
    assert_eq!(
        store.watch(&pods(), None, 6).unwrap_err(),
        Expired {
            requested: 6,
            oldest: 7
        }
    );
    let mut fresh = store.watch(&pods(), None, 7).unwrap();
    assert_eq!(fresh.next().await.unwrap().revision, 8);
}

#[tokio::test]
async fn what_was_compacted_can_not_be_asked_for_and_watchers_under_way_go_on() {
    let store = Store::in_memory(Options::default());
    let mut watch = store.watch(&pods(), None, 1).unwrap();
    for number in 0..5 {
        let expect = if number == 0 {
            Expect::Absent
        } else {
            Expect::Present
        };
        store
            .write(put(key("n", "a"), expect, json!({"v": number})))
            .await
            .unwrap();
    }
    store.compact(4).await.unwrap();
    let expired = Expired {
        requested: 3,
        oldest: 4,
    };
    assert_eq!(
        store.list(&pods(), None, None, None, Some(3)).unwrap_err(),
        expired
    );
    assert_eq!(store.watch(&pods(), None, 3).unwrap_err(), expired);
    assert_eq!(
        store.list(&pods(), None, None, None, Some(4)).unwrap().items[0].value()["v"],
        2
    );
    assert_eq!(store.statistics().history_entries, 2);
    assert_eq!(watch.next().await.unwrap().revision, 2);
    store.compact(u64::MAX).await.unwrap();
    assert_eq!(store.compacted(), store.revision());
    assert_eq!(
        store.list(&pods(), None, None, None, None).unwrap().items[0].value()["v"],
        4
    );
    store.write(delete(key("n", "a"))).await.unwrap();
    store.compact(store.revision()).await.unwrap();
    assert_eq!(store.count(&pods()), 0);
}

#[tokio::test]
async fn history_and_events_stay_within_their_bounds_however_much_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let options = forgetful();
    let stores = [
        Store::in_memory(options.clone()),
        Store::open(directory.path(), options.clone()).await.unwrap(),
    ];
    for store in stores {
        for number in 0..300 {
            let name = (number % 7).to_string();
            let key = crate::store::Key::new(&ResourceKey::new("", &(number % 5).to_string()), "n", &name);
            let expect = if store.get(&key).is_some() {
                Expect::Present
            } else {
                Expect::Absent
            };
            store
                .write(put(key, expect, json!({"pad": "x".repeat(number)})))
                .await
                .unwrap();
            let statistics = store.statistics();
            assert!(statistics.history_entries < options.history_entries + options.compaction_step + 1);
            assert!(
                statistics.history_bytes <= options.history_bytes + 400,
                "{statistics:?}"
            );
            assert!(statistics.events <= options.window_events);
        }
        assert_eq!(store.statistics().objects, 35);
    }
}

#[tokio::test]
async fn an_event_is_encoded_once_for_all_watchers() {
    let store = Store::in_memory(Options::default());
    let mut watchers = [
        store.watch(&pods(), None, 1).unwrap(),
        store.watch(&pods(), None, 1).unwrap(),
    ];
    store.write(create(key("n", "a"), json!({}))).await.unwrap();
    let mut encodings = 0;
    for watch in &mut watchers {
        let event = watch.next().await.unwrap();
        let encoded = event.encoded(1, || {
            encodings += 1;
            "frame".into()
        });
        assert_eq!(&encoded[..], b"frame");
        assert_eq!(&event.encoded(usize::MAX, || "other".into())[..], b"other");
    }
    assert_eq!(encodings, 1);
}

#[tokio::test]
async fn a_watch_resumes_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), Options::default()).await.unwrap();
    store.write(create(key("n", "a"), json!({"v": 1}))).await.unwrap();
    store.compact(2).await.unwrap();
    store
        .write(put(key("n", "a"), Expect::Present, json!({"v": 2})))
        .await
        .unwrap();
    store.write(delete(key("n", "a"))).await.unwrap();
    store.close().await;
    let store = Store::open(directory.path(), Options::default()).await.unwrap();
    assert!(store.repair_report().is_clean(), "{}", store.repair_report());
    assert_eq!((store.revision(), store.compacted()), (4, 2));
    assert!(store.watch(&pods(), None, 1).is_err());
    let mut watch = store.watch(&pods(), None, 2).unwrap();
    let modified = watch.next().await.unwrap();
    assert_eq!(
        (modified.kind, modified.object.value()["v"].as_i64()),
        (EventKind::Modified, Some(2))
    );
    assert_eq!(modified.previous.as_ref().unwrap().value()["v"], 1);
    let deleted = watch.next().await.unwrap();
    assert_eq!((deleted.kind, deleted.revision), (EventKind::Deleted, 4));
    assert_eq!(
        store
            .list(&pods(), None, None, None, Some(3))
            .unwrap()
            .items
            .len(),
        1
    );
    assert_eq!(
        store.list(&pods(), None, None, None, None).unwrap().items.len(),
        0
    );
}
