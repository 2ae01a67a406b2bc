//! What the caches are fed with.

use api::{ClusterCatalog, ClusterExtension, ClusterObjectSet};
use extension_controller::index::owner_of;
use futures_util::StreamExt as _;
use k8s_openapi::api::core::v1::Event as ClusterEvent;
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt as _, watcher as watch_objects};
use kube::{Api, Resource, ResourceExt};
use serde::de::DeserializeOwned;

use crate::changes::{Notice, Topic};
use crate::classic;
use crate::console::Console;
use crate::recent_events::subject;

/// Which caches hold what the cluster holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each cache is filled by itself")]
pub(crate) struct Filled {
    catalogs: bool,
    extensions: bool,
    revisions: bool,
    events: bool,
}

impl Filled {
    pub(crate) fn is_complete(self) -> bool {
        self.catalogs && self.extensions && self.revisions && self.events
    }
}

/// Feeds the caches; this has no end of its own.
pub(crate) async fn watch(console: &Console) {
    let index = console.insight.index();
    let client = &console.client;
    let catalogs = follow(
        Api::<ClusterCatalog>::all(client.clone()),
        |event| {
            let notice = named(&event).map(|name| Notice::of(Topic::Catalogs, name));
            index.catalog_seen(event);
            tell(console, notice);
        },
        || console.filled.send_modify(|filled| filled.catalogs = true),
    );
    let extensions = follow(
        Api::<ClusterExtension>::all(client.clone()),
        |event| {
            let notice = named(&event).map(|name| Notice::of(Topic::Extensions, name));
            index.extension_seen(event);
            tell(console, notice);
        },
        || console.filled.send_modify(|filled| filled.extensions = true),
    );
    let revisions = follow(
        Api::<ClusterObjectSet>::all(client.clone()),
        |event| {
            // What happens to a revision happens to its extension.
            let notice = changed(&event)
                .and_then(owner_of)
                .map(|owner| Notice::of(Topic::Extensions, owner));
            index.object_set_seen(event);
            tell(console, notice);
        },
        || console.filled.send_modify(|filled| filled.revisions = true),
    );
    let events = follow(
        Api::<ClusterEvent>::all(client.clone()),
        |event| {
            let notice = changed(&event).map(|event| Notice::of(Topic::Events, subject(event)));
            console.events.take(event);
            tell(console, notice);
        },
        || console.filled.send_modify(|filled| filled.events = true),
    );
    tokio::join!(catalogs, extensions, revisions, events, classic::watch(console));
}

/// Hands over everything that a watch sees, and says when everything was seen once.
async fn follow<K>(api: Api<K>, mut take: impl FnMut(Event<K>), filled: impl Fn())
where
    K: Resource + Clone + std::fmt::Debug + DeserializeOwned + Send + 'static,
{
    let seen = watch_objects(api, watcher::Config::default()).default_backoff();
    let mut seen = std::pin::pin!(seen);
    while let Some(event) = seen.next().await {
        match event {
            Ok(event) => {
                let is_done = matches!(event, Event::InitDone);
                take(event);
                if is_done {
                    filled();
                }
            }
            // It is tried again; what was seen before is shown meanwhile.
            Err(error) => tracing::debug!(%error, "the console cannot watch the cluster"),
        }
    }
}

/// The object that an event tells something new of; a list that begins again tells nothing.
fn changed<K>(event: &Event<K>) -> Option<&K> {
    match event {
        Event::Apply(object) | Event::Delete(object) => Some(object),
        Event::Init | Event::InitApply(_) | Event::InitDone => None,
    }
}

fn named<K: Resource>(event: &Event<K>) -> Option<String> {
    changed(event).map(ResourceExt::name_any)
}

fn tell(console: &Console, notice: Option<Notice>) {
    if let Some(notice) = notice {
        // Nobody may be listening.
        let _ = console.notices.send(notice);
    }
}
