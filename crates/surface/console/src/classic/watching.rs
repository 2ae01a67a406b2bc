//! What feeds the picture of OLM v0; it works where the cluster doesn't have its kinds, and sees them when they come.

use std::collections::BTreeSet;
use std::pin::pin;
use std::time::Duration;

use apply::refusal::{is_not_found, words};
use classic::keys::COPIED_FROM;
use classic::{Key, Kind};
use classic_controller::watching::resource;
use futures_util::future::join_all;
use futures_util::{Stream, StreamExt as _};
use kube::api::{Api, DynamicObject};
use kube::core::PartialObjectMeta;
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt as _, watcher as watch_objects};
use kube::{Resource as _, ResourceExt as _};
use serde_json::Value;

use super::picture::{Answer, SHOWN, TOLD_BY};
use crate::changes::{Notice, Topic};
use crate::console::Console;

/// How many objects are listed at once: plans and versions are large until they are pruned.
const AT_ONCE: u32 = 50;

/// How soon is asked again for a kind that the cluster doesn't have.
const ASK_AGAIN: Duration = Duration::from_secs(5);

/// Feeds the picture; this has no end of its own.
pub(crate) async fn watch(console: &Console) {
    let shown = join_all(SHOWN.map(|kind| follow(console, kind)));
    tokio::join!(shown, follow_copies(console));
}

fn tell(console: &Console, namespace: &str) {
    // Nobody may be listening.
    let _ = console.notices.send(Notice::of(Topic::Classic, namespace));
}

async fn follow(console: &Console, kind: Kind) {
    loop {
        follow_while_known(console, kind).await;
        wait_for_kind(console, kind).await;
    }
}

/// Waits until it is worth asking for a kind again that the cluster doesn't have. Where there is no OLM v0 at all, one kind
/// is asked for now and then, and the others when it is there.
async fn wait_for_kind(console: &Console, kind: Kind) {
    if kind == TOLD_BY || console.classic.is_known() {
        tokio::time::sleep(ASK_AGAIN).await;
    } else {
        console.classic.wait_known().await;
    }
}

/// Feeds the picture with objects of a kind until the cluster doesn't have the kind.
async fn follow_while_known(console: &Console, kind: Kind) {
    let objects: Api<DynamicObject> = Api::all_with(console.client.clone(), &resource(kind));
    let mut config = watcher::Config::default().page_size(AT_ONCE);
    if kind == Kind::ClusterServiceVersion {
        config = config.labels(&format!("!{COPIED_FROM}"));
    }
    let seen = watch_objects(objects, config).default_backoff();
    let mut seen = pin!(seen);
    let mut listed = BTreeSet::new();
    while let Some(event) = seen.next().await {
        match event {
            Ok(Event::Init) => listed.clear(),
            Ok(Event::InitApply(object)) => {
                let key = written(kind, &object).and_then(|object| console.classic.put(object));
                listed.extend(key);
            }
            Ok(Event::InitDone) => {
                let gone = console.classic.keep_only(kind, &listed);
                let changed = listed.iter().map(|key| &key.namespace).chain(&gone);
                let changed: BTreeSet<&String> = changed.collect();
                for namespace in changed {
                    tell(console, namespace);
                }
                note(console, kind, Answer::Listed);
                listed.clear();
            }
            Ok(Event::Apply(object)) => {
                let key = written(kind, &object).and_then(|object| console.classic.put(object));
                if let Some(key) = key {
                    tell(console, &key.namespace);
                }
            }
            Ok(Event::Delete(object)) => {
                let namespace = object.namespace().unwrap_or_default();
                let key = Key::new(kind, &namespace, &object.name_any());
                console.classic.remove(&key);
                tell(console, &namespace);
            }
            Err(error) => {
                note_fault(console, kind, &error);
                if is_of_no_kind(&error) {
                    return;
                }
            }
        }
    }
}

/// Whether the API server doesn't know the kind that it was asked for.
fn is_of_no_kind(error: &watcher::Error) -> bool {
    match error {
        watcher::Error::InitialListFailed(error) | watcher::Error::WatchStartFailed(error) => {
            is_not_found(error)
        }
        _ => false,
    }
}

/// An object as it is written; lists leave out what they are lists of.
fn written(kind: Kind, object: &DynamicObject) -> Option<Value> {
    let mut object = serde_json::to_value(object).ok()?;
    let fields = object.as_object_mut()?;
    fields.insert("kind".to_owned(), kind.naming().kind.into());
    fields.insert("apiVersion".to_owned(), kind.naming().api_version.into());
    Some(object)
}

/// Notes an answer, and tells the pages that show all namespaces where it is news.
fn note(console: &Console, kind: Kind, answer: Answer) {
    if console.classic.answered(kind, answer) {
        tell(console, "");
    }
}

/// Notes why a kind can't be read; what was seen before is shown meanwhile.
fn note_fault(console: &Console, kind: Kind, error: &watcher::Error) {
    let answer = match error {
        error if is_of_no_kind(error) => {
            console.classic.keep_only(kind, &BTreeSet::new());
            Answer::Unknown
        }
        watcher::Error::InitialListFailed(error) | watcher::Error::WatchStartFailed(error) => {
            Answer::Refused(words(error))
        }
        // It is begun again at once.
        _ => return,
    };
    tracing::debug!(kind = kind.naming().kind, %error, "the console cannot watch OLM v0");
    note(console, kind, answer);
}

/// Copies of versions are seen by their metadata alone.
async fn follow_copies(console: &Console) {
    let kind = Kind::ClusterServiceVersion;
    loop {
        let copies: Api<PartialObjectMeta<DynamicObject>> =
            Api::all_with(console.client.clone(), &resource(kind));
        let config = watcher::Config::default().labels(COPIED_FROM);
        take_copies(console, watch_objects(copies, config).default_backoff()).await;
        wait_for_kind(console, kind).await;
    }
}

/// Takes copies until the cluster doesn't have their kind.
async fn take_copies(
    console: &Console,
    seen: impl Stream<Item = Result<Event<PartialObjectMeta<DynamicObject>>, watcher::Error>>,
) {
    let mut seen = pin!(seen);
    let mut listed = BTreeSet::new();
    while let Some(event) = seen.next().await {
        match event {
            Ok(Event::Init) => listed.clear(),
            Ok(Event::InitApply(copy)) => {
                listed.extend(put(console, &copy));
            }
            Ok(Event::InitDone) => {
                console.classic.keep_only_copies(&listed);
                listed.clear();
                tell(console, "");
            }
            Ok(Event::Apply(copy)) => {
                put(console, &copy);
            }
            Ok(Event::Delete(copy)) => {
                let namespace = copy.namespace().unwrap_or_default();
                console.classic.remove_copy(&namespace, &copy.name_any());
                tell(console, &namespace);
                tell(console, from(&copy));
            }
            Err(error) if is_of_no_kind(&error) => {
                console.classic.keep_only_copies(&BTreeSet::new());
                return;
            }
            // The watch of what they are copies of says so.
            Err(_) => {}
        }
    }
}

/// The namespace that a copy was copied from.
fn from(copy: &PartialObjectMeta<DynamicObject>) -> &str {
    let labels = copy.meta().labels.as_ref();
    labels
        .and_then(|labels| labels.get(COPIED_FROM))
        .map_or("", String::as_str)
}

/// Takes a copy; pages are told where it is new, and not of every change of what it is a copy of.
fn put(console: &Console, copy: &PartialObjectMeta<DynamicObject>) -> Option<(String, String)> {
    let (namespace, name) = (copy.namespace()?, copy.name_any());
    if console.classic.put_copy(&namespace, &name, from(copy)) {
        tell(console, &namespace);
        tell(console, from(copy));
    }
    Some((namespace, name))
}
