//! What has to be looked at, and when: events of every resource, those of custom kinds included.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::{NAME, owner_references, reconcile};
use crate::api::Api;
use crate::caller::Caller;
use crate::client::Client;
use crate::controllers::work::Running;
use crate::events::Reporter;
use crate::store::{Event, EventKind, Key, ResourceKey, WatchEnd};

/// How long a failed look waits before the next; each failure doubles it.
const FIRST_RETRY: Duration = Duration::from_millis(20);

/// The longest that a failed look waits.
const LONGEST_RETRY: Duration = Duration::from_secs(30);

/// How often new kinds are looked for.
const NEW_KINDS: Duration = Duration::from_millis(100);

/// Starts the collection of garbage.
pub fn start(api: &Arc<Api>) -> Running {
    let (sender, receiver) = mpsc::unbounded_channel();
    let feeding = tokio::spawn(feed_all(Arc::downgrade(api), sender));
    let working = tokio::spawn(work(Arc::downgrade(api), receiver));
    Running::of(vec![feeding, working])
}

/// Feeds the events of everything that is served, now and later.
async fn feed_all(api: Weak<Api>, sender: mpsc::UnboundedSender<Key>) {
    let mut known: HashSet<ResourceKey> = HashSet::new();
    let mut feeds = JoinSet::new();
    let mut generation = None;
    loop {
        {
            let Some(api) = api.upgrade() else { return };
            let served = api.resources.now();
            if generation != Some(served.generation) {
                generation = Some(served.generation);
                for resource in served.all() {
                    // Events own nothing and are owned by nobody, and there are many.
                    let collectable = ["list", "watch", "delete"]
                        .iter()
                        .all(|verb| resource.verbs.contains(verb))
                        && &*resource.plural != "events";
                    if collectable && known.insert(resource.storage.clone()) {
                        feeds.spawn(feed(
                            Arc::downgrade(&api),
                            resource.storage.clone(),
                            sender.clone(),
                        ));
                    }
                }
            }
        }
        tokio::time::sleep(NEW_KINDS).await;
    }
}

async fn feed(api: Weak<Api>, resource: ResourceKey, sender: mpsc::UnboundedSender<Key>) {
    loop {
        let mut watch = {
            let Some(api) = api.upgrade() else { return };
            let Ok(listing) = api.store.list(&resource, None, None, None, None) else {
                continue;
            };
            let Ok(watch) = api.store.watch(&resource, None, listing.revision) else {
                continue;
            };
            for stored in listing.items {
                if !send(&sender, affected(&api, &Event::present(stored))) {
                    return;
                }
            }
            watch
        };
        loop {
            match watch.next().await {
                Ok(event) => {
                    let Some(api) = api.upgrade() else { return };
                    if !send(&sender, affected(&api, &event)) {
                        return;
                    }
                }
                Err(WatchEnd::Closed) => return,
                Err(WatchEnd::Expired(_)) => break,
            }
        }
    }
}

fn send(sender: &mpsc::UnboundedSender<Key>, keys: Vec<Key>) -> bool {
    keys.into_iter().all(|key| sender.send(key).is_ok())
}

/// Returns which objects an event makes worth a look.
fn affected(api: &Api, event: &Event) -> Vec<Key> {
    let object = &event.object;
    if event.kind == EventKind::Deleted {
        let mut keys: Vec<Key> = api
            .store
            .owned_by(&object.uid)
            .iter()
            .map(|dependent| dependent.key.clone())
            .collect();
        keys.extend(owners_of(api, object));
        return keys;
    }
    let Some(previous) = &event.previous else {
        return if object.owners.is_empty() && !object.deleting {
            Vec::new()
        } else {
            vec![object.key.clone()]
        };
    };
    let mut keys = Vec::new();
    if object.owners != previous.owners || object.deleting {
        keys.push(object.key.clone());
    }
    // An owner may wait for it: it no longer blocks the owner, is no longer owned, or waits itself.
    if !previous.owners.is_empty()
        && (object.owners != previous.owners || object.deleting || has_waiting_owner(api, object))
    {
        keys.extend(owners_of(api, previous));
    }
    keys
}

/// Returns whether some owner is being deleted.
fn has_waiting_owner(api: &Api, object: &crate::store::Stored) -> bool {
    owners_of(api, object)
        .iter()
        .any(|key| api.store.get(key).is_some_and(|owner| owner.deleting))
}

/// Returns where the owners are that an object names.
fn owners_of(api: &Api, object: &crate::store::Stored) -> Vec<Key> {
    if object.owners.is_empty() {
        return Vec::new();
    }
    let served = api.resources.now();
    owner_references(&object.value())
        .iter()
        .filter_map(|reference| {
            let text = |field: &str| reference[field].as_str().unwrap_or_default();
            let resource = served.of_kind(text("apiVersion"), text("kind"))?;
            let namespace = if resource.namespaced {
                &*object.key.namespace
            } else {
                ""
            };
            Some(Key::new(&resource.storage, namespace, text("name")))
        })
        .collect()
}

async fn work(api: Weak<Api>, mut receiver: mpsc::UnboundedReceiver<Key>) {
    let reporter = Reporter::controller("garbage-collector-controller");
    let mut ready: VecDeque<Key> = VecDeque::new();
    let mut queued: HashSet<Key> = HashSet::new();
    let mut later: HashMap<Key, (Instant, u32)> = HashMap::new();
    loop {
        while let Ok(key) = receiver.try_recv() {
            if queued.insert(key.clone()) {
                ready.push_back(key);
            }
        }
        let now = Instant::now();
        for (key, _) in later.iter().filter(|(_, (at, _))| *at <= now) {
            if queued.insert(key.clone()) {
                ready.push_back(key.clone());
            }
        }
        let Some(key) = ready.pop_front() else {
            let due = later.values().map(|(at, _)| *at).min();
            let sleep = async {
                match due {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                key = receiver.recv() => match key {
                    Some(key) => {
                        queued.insert(key.clone());
                        ready.push_back(key);
                    }
                    None => return,
                },
                () = sleep => {}
            }
            continue;
        };
        queued.remove(&key);
        let failures = later.remove(&key).map_or(0, |(_, failures)| failures);
        let Some(api) = api.upgrade() else { return };
        let client = Client::new(api, Caller::controller(NAME), "kube-controller-manager");
        let again = match reconcile(&client, reporter, &key).await {
            Ok(outcome) => {
                for key in outcome.now {
                    if queued.insert(key.clone()) {
                        ready.push_back(key);
                    }
                }
                outcome.again
            }
            Err(status) => {
                tracing::debug!(%key, %status, "garbage is looked at again later");
                true
            }
        };
        if again {
            let delay = FIRST_RETRY
                .saturating_mul(1 << failures.min(16))
                .min(LONGEST_RETRY);
            later.insert(key, (Instant::now() + delay, failures.saturating_add(1)));
        }
    }
}
