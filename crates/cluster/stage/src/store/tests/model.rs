//! Any interleaving of writes, lists and watches rebuilds the store.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;

use super::{delete, forgetful, put};
use crate::store::{EventKind, Expect, Key, Listing, Options, ResourceKey, Store, Watch, WatchEnd, Write};

/// What is expected: everything that was ever there, by revision.
#[derive(Default)]
struct Model {
    states: BTreeMap<u64, BTreeMap<Key, String>>,
}

impl Model {
    fn at(&self, revision: u64) -> BTreeMap<Key, String> {
        self.states
            .range(..=revision)
            .next_back()
            .map(|(_, state)| state.clone())
            .unwrap_or_default()
    }

    fn now(&self) -> BTreeMap<Key, String> {
        self.at(u64::MAX)
    }
}

/// Somebody who knows the objects of a resource by a list and a watch.
struct Observer {
    resource: ResourceKey,
    namespace: Option<&'static str>,
    known: BTreeMap<Key, String>,
    watch: Watch,
}

fn spec(object: &crate::store::Stored) -> String {
    object.value()["spec"].to_string()
}

fn known(listing: &Listing) -> BTreeMap<Key, String> {
    listing
        .items
        .iter()
        .map(|object| (object.key.clone(), spec(object)))
        .collect()
}

impl Observer {
    fn start(store: &Store, resource: ResourceKey, namespace: Option<&'static str>) -> Self {
        // What is remembered may move on between the two, as it may for any client: then one begins anew.
        let (listing, watch) = loop {
            let listing = store.list(&resource, namespace, None, None, None).unwrap();
            if let Ok(watch) = store.watch(&resource, namespace, listing.revision) {
                break (listing, watch);
            }
        };
        Self {
            known: known(&listing),
            resource,
            namespace,
            watch,
        }
    }

    /// Takes in what has happened; lists again when too much did.
    fn catch_up(&mut self, store: &Store, limit: usize) {
        for _ in 0..limit {
            match self.watch.try_next() {
                Ok(Some(event)) => {
                    let before = self.known.get(&event.object.key).cloned();
                    assert_eq!(event.previous.as_ref().map(|object| spec(object)), before);
                    assert_eq!(event.kind == EventKind::Added, before.is_none());
                    if event.kind == EventKind::Deleted {
                        self.known.remove(&event.object.key);
                    } else {
                        self.known.insert(event.object.key.clone(), spec(&event.object));
                    }
                }
                Ok(None) => break,
                Err(WatchEnd::Expired(_)) => {
                    *self = Self::start(store, self.resource.clone(), self.namespace);
                }
                Err(WatchEnd::Closed) => panic!("the store is open"),
            }
        }
    }

    /// Goes on with the same store after it was opened again.
    fn resume(&mut self, store: &Store) {
        let since = self.watch.progress();
        // What was taken out of the ring before and not looked at yet is shown again by the new watch.
        match store.watch(&self.resource, self.namespace, since) {
            Ok(watch) => self.watch = watch,
            Err(_) => *self = Self::start(store, self.resource.clone(), self.namespace),
        }
    }

    fn expected(&self, model: &Model) -> BTreeMap<Key, String> {
        let mut expected = model.now();
        expected.retain(|key, _| {
            key.resource == self.resource
                && self
                    .namespace
                    .is_none_or(|namespace| *key.namespace == *namespace)
        });
        expected
    }
}

#[derive(Debug, Clone)]
enum Step {
    Write(Vec<(usize, usize, usize, bool, usize)>),
    Compact(u64),
    Reopen,
    Observe(usize, usize),
    CatchUp(usize, usize),
    ListAt(usize, u64, usize),
}

const NAMESPACES: [&str; 3] = ["a", "a-b", "b"];

fn step() -> impl Strategy<Value = Step> {
    let write = (
        0..2usize,
        0..3usize,
        0..4usize,
        prop::bool::weighted(0.7),
        0..60usize,
    );
    prop_oneof![
        12 => prop::collection::vec(write, 1..4).prop_map(Step::Write),
        1 => (0..30u64).prop_map(Step::Compact),
        1 => Just(Step::Reopen),
        2 => (0..2usize, 0..4usize).prop_map(|(resource, namespace)| Step::Observe(resource, namespace)),
        4 => (0..8usize, 0..9usize).prop_map(|(observer, limit)| Step::CatchUp(observer, limit)),
        3 => (0..2usize, 0..30u64, 1..5usize)
            .prop_map(|(resource, back, page)| Step::ListAt(resource, back, page)),
    ]
}

fn resource(number: usize) -> ResourceKey {
    ResourceKey::new("test", ["apples", "pears"][number % 2])
}

fn namespace(number: usize) -> Option<&'static str> {
    NAMESPACES.get(number).copied()
}

/// Writes what makes sense at that moment, and says what is there afterwards.
async fn write(store: &Store, model: &mut Model, changes: &[(usize, usize, usize, bool, usize)]) {
    let mut state = model.now();
    let mut states = Vec::new();
    let mut writes: Vec<Write> = Vec::new();
    for (resource_number, namespace_number, name, is_put, pad) in changes {
        let namespace = NAMESPACES[*namespace_number];
        let key = Key::new(&resource(*resource_number), namespace, &format!("o{name}"));
        if *is_put {
            let expect = if state.contains_key(&key) {
                Expect::Present
            } else {
                Expect::Absent
            };
            let spec = json!(format!("{pad} {}", "x".repeat(*pad)));
            state.insert(key.clone(), spec.to_string());
            writes.push(put(key, expect, json!({ "spec": spec })));
        } else if state.remove(&key).is_some() {
            writes.push(delete(key));
        } else {
            continue;
        }
        states.push(state.clone());
    }
    let objects = match writes.len() {
        1 => vec![store.write(writes.remove(0)).await.unwrap()],
        _ => store.write_all(writes).await.unwrap(),
    };
    for (object, state) in objects.iter().zip(states) {
        model.states.insert(object.revision, state);
    }
}

fn list_in_pages(store: &Store, resource: &ResourceKey, revision: u64, page: usize) -> BTreeMap<Key, String> {
    let mut all = BTreeMap::new();
    let mut after = None;
    let mut expected_remaining = None;
    loop {
        let listing = store
            .list(resource, None, after.as_ref(), Some(page), Some(revision))
            .unwrap();
        assert_eq!(listing.revision, revision);
        let total = listing.items.len() + listing.remaining;
        assert_eq!(expected_remaining.unwrap_or(total), total);
        expected_remaining = Some(listing.remaining);
        all.extend(known(&listing));
        after = listing.next;
        if after.is_none() {
            return all;
        }
    }
}

async fn run(steps: Vec<Step>, directory: Option<&std::path::Path>, options: Options) {
    let open = || async {
        match directory {
            Some(path) => Store::open(path, options.clone()).await.unwrap(),
            None => Store::in_memory(options.clone()),
        }
    };
    let mut store = open().await;
    let mut model = Model::default();
    let mut observers: Vec<Observer> = Vec::new();
    for step in steps {
        let revision = store.revision();
        match step {
            Step::Write(changes) => write(&store, &mut model, &changes).await,
            Step::Compact(back) => store.compact(revision.saturating_sub(back)).await.unwrap(),
            Step::Reopen if directory.is_some() => {
                let compacted = store.compacted();
                store.close().await;
                store = open().await;
                assert!(store.repair_report().is_clean());
                assert_eq!((store.revision(), store.compacted()), (revision, compacted));
                for observer in &mut observers {
                    observer.resume(&store);
                }
            }
            Step::Reopen => {}
            Step::Observe(resource_number, namespace_number) => {
                observers.push(Observer::start(
                    &store,
                    resource(resource_number),
                    namespace(namespace_number),
                ));
            }
            Step::CatchUp(number, limit) => {
                if let Some(observer) = observers.get_mut(number) {
                    observer.catch_up(&store, limit);
                }
            }
            Step::ListAt(number, back, page) => {
                let at = revision.saturating_sub(back);
                if at < store.compacted() {
                    assert!(store.list(&resource(number), None, None, None, Some(at)).is_err());
                } else {
                    let mut expected = model.at(at);
                    expected.retain(|key, _| key.resource == resource(number));
                    assert_eq!(list_in_pages(&store, &resource(number), at, page), expected);
                }
            }
        }
        assert!(store.revision() >= revision);
        let counted: usize = store.counts().iter().map(|(_, count)| count).sum();
        assert_eq!(counted, model.now().len());
    }
    for observer in &mut observers {
        observer.catch_up(&store, usize::MAX);
        assert_eq!(observer.known, observer.expected(&model));
    }
    store.close().await;
}

fn block_on(work: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(work);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]
    #[test]
    fn lists_and_watches_rebuild_a_store_in_memory(steps in prop::collection::vec(step(), 1..80)) {
        block_on(run(steps, None, forgetful()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
    #[test]
    fn lists_and_watches_rebuild_a_store_on_disk(steps in prop::collection::vec(step(), 1..60)) {
        let directory = tempfile::tempdir().unwrap();
        block_on(run(steps, Some(directory.path()), forgetful()));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn observers_that_run_beside_writers_end_with_what_is_there() {
    let directory = tempfile::tempdir().unwrap();
    for store in [
        Store::in_memory(forgetful()),
        Store::open(directory.path(), forgetful()).await.unwrap(),
    ] {
        let writers: Vec<_> = (0..4)
            .map(|writer| {
                let store = store.clone();
                tokio::spawn(async move {
                    for number in 0..100usize {
                        let key = Key::new(
                            &resource(0),
                            NAMESPACES[writer % 3],
                            &format!("{writer}-{}", number % 5),
                        );
                        let change = match store.get(&key) {
                            Some(_) if number % 4 == 0 => delete(key),
                            Some(_) => put(key, Expect::Present, json!({"spec": number})),
                            None => put(key, Expect::Absent, json!({"spec": number})),
                        };
                        store.write(change).await.unwrap();
                    }
                })
            })
            .collect();
        let observers: Vec<_> = (0..4)
            .map(|number| {
                let store = store.clone();
                tokio::spawn(async move {
                    let mut observer = Observer::start(&store, resource(0), namespace(number));
                    while observer.watch.progress() < 401 {
                        observer.catch_up(&store, 3);
                        tokio::task::yield_now().await;
                    }
                    observer.catch_up(&store, usize::MAX);
                    observer
                })
            })
            .collect();
        for writer in writers {
            writer.await.unwrap();
        }
        assert_eq!(store.revision(), 401);
        for observer in observers {
            let observer = observer.await.unwrap();
            let listing = store
                .list(&resource(0), observer.namespace, None, None, None)
                .unwrap();
            assert_eq!(observer.known, known(&listing));
        }
    }
}
