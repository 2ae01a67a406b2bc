//! The watches that feed the picture of the cluster.
//!
//! At rest they are the only requests that the API server gets.

use std::collections::BTreeSet;
use std::sync::Arc;

use apply::object::{label, text};
use apply::unmanaged::Unmanaged;
use classic::keys::{COPIED_FROM, MANAGED};
use classic::{Key, Kind};
use futures_util::{Stream, TryStreamExt as _};
use kube::api::{Api, ApiResource};
use kube::core::GroupVersionKind;
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt as _, watcher as watch};
use serde_json::Value;
use tokio::sync::watch as signal;
use tokio::task::JoinSet;

use crate::picture::{Change, Picture, Present};
use crate::pruning::is_managed_only;

/// How many copies are listed at once: each is as large as what it is a copy of until it is reduced.
const COPIES_AT_ONCE: u32 = 50;

/// What a watch is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Subject {
    kind: Kind,
    /// Whether it is about copies of ClusterServiceVersions, of which there may be thousands.
    is_of_copies: bool,
}

impl Subject {
    /// Returns every watch.
    fn all() -> impl Iterator<Item = Self> {
        let whole = Kind::ALL.into_iter().map(|kind| Self {
            kind,
            is_of_copies: false,
        });
        whole.chain([Self {
            kind: Kind::ClusterServiceVersion,
            is_of_copies: true,
        }])
    }

    fn labels(self) -> Option<String> {
        match self.kind {
            Kind::ClusterServiceVersion if self.is_of_copies => Some(COPIED_FROM.to_owned()),
            Kind::ClusterServiceVersion => Some(format!("!{COPIED_FROM}")),
            kind if is_managed_only(kind) => Some(MANAGED.to_owned()),
            _ => None,
        }
    }

    /// Returns whether the watch is about an object of its kind.
    fn is_about(self, object: &Value) -> bool {
        self.kind != Kind::ClusterServiceVersion || label(object, COPIED_FROM).is_some() == self.is_of_copies
    }
}

/// Returns how objects of a kind are addressed.
pub fn resource(kind: Kind) -> ApiResource {
    let naming = kind.naming();
    let (group, version) = naming
        .api_version
        .split_once('/')
        .unwrap_or(("", naming.api_version));
    let kind = GroupVersionKind::gvk(group, version, naming.kind);
    ApiResource::from_gvk_with_plural(&kind, naming.plural)
}

/// Takes what changed.
pub type Heed = Arc<dyn Fn(Change) + Send + Sync>;

/// Starts all watches; each of what is returned becomes true when everything was listed once.
pub fn start(
    client: &kube::Client,
    picture: &Arc<Picture>,
    heed: &Heed,
    tasks: &mut JoinSet<()>,
) -> Vec<signal::Receiver<bool>> {
    let started = Subject::all().map(|subject| {
        let (is_ready, ready) = signal::channel(false);
        let feed = Feed {
            subject,
            picture: Arc::clone(picture),
            heed: Arc::clone(heed),
            is_ready,
            list: None,
        };
        tasks.spawn(feed.run(client.clone()));
        ready
    });
    started.collect()
}

/// One watch.
struct Feed {
    subject: Subject,
    picture: Arc<Picture>,
    heed: Heed,
    is_ready: signal::Sender<bool>,
    /// While everything is listed: what was there before, and what is in the list so far.
    list: Option<(Present, BTreeSet<Key>)>,
}

impl Feed {
    async fn run(mut self, client: kube::Client) {
        let objects: Api<Unmanaged> = Api::all_with(client, &resource(self.subject.kind));
        let mut config = watcher::Config::default();
        if let Some(labels) = self.subject.labels() {
            config = config.labels(&labels);
        }
        if self.subject.is_of_copies {
            config = config.page_size(COPIES_AT_ONCE);
        }
        self.follow(watch(objects, config).default_backoff()).await;
    }

    async fn follow(&mut self, events: impl Stream<Item = Result<Event<Unmanaged>, watcher::Error>>) {
        let mut events = std::pin::pin!(events);
        loop {
            match events.try_next().await {
                Ok(Some(event)) => self.take(event),
                Ok(None) => return,
                Err(fault) => {
                    tracing::debug!(kind = self.subject.kind.naming().kind, %fault, "the watch begins anew");
                }
            }
        }
    }

    fn take(&mut self, event: Event<Unmanaged>) {
        match event {
            Event::Apply(object) => {
                let change = self.object(object).and_then(|object| self.picture.take(object));
                self.heed(change);
            }
            Event::Delete(object) => {
                let change = self.object(object).and_then(|object| self.gone(&object));
                self.heed(change);
            }
            Event::Init => {
                let subject = self.subject;
                let present = self
                    .picture
                    .present(subject.kind, |object| subject.is_about(object));
                self.list = Some((present, BTreeSet::new()));
            }
            Event::InitApply(object) => {
                let Some(object) = self.object(object) else {
                    return;
                };
                if let (Some((_, listed)), Some(key)) = (&mut self.list, Key::of(&object)) {
                    listed.insert(key);
                }
                let change = self.picture.take(object);
                self.heed(change);
            }
            Event::InitDone => {
                if let Some((present, listed)) = self.list.take() {
                    self.heed(self.picture.missing(present, &listed));
                }
                self.is_ready.send_replace(true);
            }
        }
    }

    /// Takes the news that an object is gone, or no longer one that this watch is about.
    fn gone(&self, object: &Value) -> Option<Change> {
        let (namespace, name) = (
            text(object, "/metadata/namespace"),
            text(object, "/metadata/name"),
        );
        let is_ours = {
            let world = self.picture.look();
            let known = world.get(self.subject.kind, namespace, name);
            known.is_none_or(|known| self.subject.is_about(known))
        };
        is_ours.then(|| self.picture.gone(object)).flatten()
    }

    fn heed(&self, changes: impl IntoIterator<Item = Change>) {
        for change in changes {
            (self.heed)(change);
        }
    }

    /// Returns an object as it is written; lists leave out what they are lists of.
    fn object(&self, seen: Unmanaged) -> Option<Value> {
        let mut object = seen.object;
        let naming = self.subject.kind.naming();
        let fields = object.as_object_mut()?;
        fields.insert("apiVersion".to_owned(), naming.api_version.into());
        fields.insert("kind".to_owned(), naming.kind.into());
        Some(object)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn copies_are_watched_apart_from_what_they_are_copies_of() {
        let of_versions: Vec<Subject> = Subject::all()
            .filter(|subject| subject.kind == Kind::ClusterServiceVersion)
            .collect();
        let labels: Vec<Option<String>> = of_versions.iter().map(|subject| subject.labels()).collect();
        assert_eq!(
            labels,
            [
                Some("!olm.copiedFrom".to_owned()),
                Some("olm.copiedFrom".to_owned())
            ]
        );
        let copy = json!({"metadata": {"labels": {COPIED_FROM: "n"}}});
        let about: Vec<bool> = of_versions
            .iter()
            .map(|subject| subject.is_about(&copy))
            .collect();
        assert_eq!(about, [false, true]);
    }

    #[test]
    fn every_kind_is_addressed_as_the_api_has_it() {
        let paths: Vec<String> = [Kind::OlmConfig, Kind::Namespace, Kind::ApiService]
            .map(|kind| resource(kind).api_version + "/" + &resource(kind).plural)
            .to_vec();
        assert_eq!(
            paths,
            [
                "operators.coreos.com/v1/olmconfigs",
                "v1/namespaces",
                "apiregistration.k8s.io/v1/apiservices"
            ]
        );
    }
}
