//! Server-sent events: a page learns that something it shows has changed, and asks for itself again.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream::{self, BoxStream};
use futures_util::{FutureExt as _, Stream, StreamExt as _};
use http::StatusCode;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::core::PartialObjectMeta;
use kube::runtime::watcher::{self, Event as Seen};
use kube::runtime::{WatchStreamExt as _, watcher as watch};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use crate::console::Console;
use crate::fault::Fault;
use crate::lately::STILL_NEW;
use crate::page::Visit;
use crate::releases::OWNED_BY_HELM;
use crate::resources::{ResourceName, troubles};
use crate::sessions::Visitor;

/// How many pages may follow the cluster at the same time: a person has a few tabs, and each may have its own watch.
pub(crate) const MOST_STREAMS: usize = 64;

/// How many things one page may follow.
const MOST_SUBJECTS: usize = 8;

/// How long changes are gathered before a page is told: they come in bursts.
const GATHERED: Duration = Duration::from_millis(300);

/// How often a silent stream shows that it is alive, so that nobody between takes it for dead.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);

/// What a change is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Topic {
    Catalogs,
    Extensions,
    Events,
    /// OLM v0; the name is a namespace.
    Classic,
}

/// Something changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notice {
    topic: Topic,
    name: String,
}

impl Notice {
    pub(crate) fn of(topic: Topic, name: impl Into<String>) -> Self {
        Self {
            topic,
            name: name.into(),
        }
    }
}

/// What a page wants to be told of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Subject {
    /// What the caches hold: everything of a topic, or one thing.
    Topic(Topic, Option<String>),
    /// The releases of a cluster, or those of one name in one namespace.
    Releases(Option<(String, String)>),
    /// One custom resource.
    Resource(ResourceName),
    /// The custom resources of all Helm operators, as far as somebody must look at them.
    Troubles,
}

impl Subject {
    /// Reads a subject as pages write it.
    fn read(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split('/').collect();
        let owned = |part: &&str| (*part).to_owned();
        Some(match parts.as_slice() {
            ["catalogs"] => Self::Topic(Topic::Catalogs, None),
            ["catalogs", name] => Self::Topic(Topic::Catalogs, Some(owned(name))),
            ["extensions"] => Self::Topic(Topic::Extensions, None),
            ["extensions", name] => Self::Topic(Topic::Extensions, Some(owned(name))),
            ["classic"] => Self::Topic(Topic::Classic, None),
            ["classic", namespace] => Self::Topic(Topic::Classic, Some(owned(namespace))),
            ["events"] => Self::Topic(Topic::Events, None),
            ["events", kind, namespace, name] => {
                Self::Topic(Topic::Events, Some(format!("{kind}/{namespace}/{name}")))
            }
            ["troubles"] => Self::Troubles,
            ["releases"] => Self::Releases(None),
            ["releases", namespace, name] => Self::Releases(Some((owned(namespace), owned(name)))),
            ["resources", group, version, kind, namespace, name] => {
                Self::Resource(ResourceName::read(group, version, kind, namespace, name).ok()?)
            }
            _ => return None,
        })
    }

    fn includes(&self, notice: &Notice) -> bool {
        match self {
            Self::Topic(topic, name) => {
                *topic == notice.topic && name.as_ref().is_none_or(|name| *name == notice.name)
            }
            Self::Releases(_) | Self::Resource(_) | Self::Troubles => false,
        }
    }
}

/// Tells a page whenever one of its subjects changes.
pub(crate) async fn stream(
    State(console): State<Arc<Console>>,
    Extension(visitor): Extension<Visitor>,
    visit: Visit,
) -> Result<Response, Fault> {
    let mut subjects = Vec::new();
    for text in visit.parameters.all("about").take(MOST_SUBJECTS + 1) {
        let subject = Subject::read(text)
            .ok_or_else(|| Fault::bad_request(format!("{text:?} is nothing that changes are told of")))?;
        subjects.push(subject);
    }
    if subjects.is_empty() || subjects.len() > MOST_SUBJECTS {
        return Err(Fault::bad_request(format!(
            "name 1 to {MOST_SUBJECTS} things to be told of, such as ?about=extensions"
        )));
    }
    let Ok(place) = Arc::clone(&console.streams).try_acquire_owned() else {
        return Err(Fault::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "Too many pages follow the cluster",
            format!(
                "{MOST_STREAMS} pages are told of changes already; close one, or reload this one by hand"
            ),
        ));
    };
    let mut sources: Vec<BoxStream<'static, ()>> =
        vec![noticed(console.notices.subscribe(), subjects.clone())];
    for subject in &subjects {
        match subject {
            Subject::Topic(..) => {}
            Subject::Releases(only) => sources.push(releases(&console, only.as_ref())),
            Subject::Resource(name) => sources.push(name.changes(&console.client).await?),
            Subject::Troubles => {
                let survey = console.survey().await;
                let changes = troubles::changes(&console.client, survey.as_deref()).await;
                // As for releases: what is shown may be what was known a moment before the change.
                sources.extend(changes.into_iter().map(|changes| echoed(changes, STILL_NEW)));
            }
        }
    }
    let mut stopped = console.stopped.subscribe();
    let end = async move {
        tokio::select! {
            // The console is gone when nobody can say so any more.
            _ = stopped.wait_for(|stopped| *stopped) => {}
            () = visitor.ended() => {}
        }
    };
    let changes = gathered(stream::select_all(sources))
        .map(move |()| {
            let _place = &place;
            Ok::<_, Infallible>(Event::default().event("changed").data("changed"))
        })
        .take_until(end.boxed());
    let kept_alive = Sse::new(changes).keep_alive(KeepAlive::new().interval(SIGN_OF_LIFE));
    Ok(kept_alive.into_response())
}

/// Happens with every notice that one of the subjects includes.
fn noticed(notices: broadcast::Receiver<Notice>, subjects: Vec<Subject>) -> BoxStream<'static, ()> {
    stream::unfold((notices, subjects), |(mut notices, subjects)| async move {
        loop {
            match notices.recv().await {
                Ok(notice) if !subjects.iter().any(|subject| subject.includes(&notice)) => {}
                // Whoever missed some may have missed one of its own.
                Ok(_) | Err(RecvError::Lagged(_)) => return Some(((), (notices, subjects))),
                Err(RecvError::Closed) => return None,
            }
        }
    })
    .boxed()
}

/// Happens with every change of a release.
fn releases(console: &Console, only: Option<&(String, String)>) -> BoxStream<'static, ()> {
    let (secrets, selector): (Api<PartialObjectMeta<Secret>>, String) = match only {
        None => (Api::all(console.client.clone()), OWNED_BY_HELM.to_owned()),
        Some((namespace, name)) => (
            Api::namespaced(console.client.clone(), namespace),
            format!("{OWNED_BY_HELM},name={name}"),
        ),
    };
    let seen = watch(secrets, watcher::Config::default().labels(&selector));
    let changes = changes_of(seen.default_backoff());
    match only {
        // Pages may show what was counted a moment before the change.
        None => echoed(changes, STILL_NEW),
        Some(_) => changes,
    }
}

/// Happens with every change, and once more when there was none for so long.
fn echoed(changes: BoxStream<'static, ()>, after: Duration) -> BoxStream<'static, ()> {
    stream::unfold((changes, false), move |(mut changes, is_owed)| async move {
        let next = changes.next();
        let happens = if is_owed {
            // Nothing is owed when it was quiet for so long.
            tokio::time::timeout(after, next).await.ok()
        } else {
            Some(next.await)
        };
        match happens {
            Some(None) => None,
            Some(Some(())) => Some(((), (changes, true))),
            None => Some(((), (changes, false))),
        }
    })
    .boxed()
}

/// Happens with everything that a watch sees after its first list.
pub(crate) fn changes_of<K: Send + 'static>(
    seen: impl Stream<Item = Result<Seen<K>, watcher::Error>> + Send + 'static,
) -> BoxStream<'static, ()> {
    seen.filter_map(async |event| matches!(event, Ok(Seen::Apply(_) | Seen::Delete(_))).then_some(()))
        .boxed()
}

/// Makes one of those that come together.
fn gathered(changes: impl Stream<Item = ()> + Send + 'static) -> impl Stream<Item = ()> + Send {
    stream::unfold(changes.fuse().boxed(), |mut changes| async move {
        changes.next().await?;
        let mut pause = std::pin::pin!(tokio::time::sleep(GATHERED));
        loop {
            tokio::select! {
                () = &mut pause => break,
                more = changes.next() => if more.is_none() { break },
            }
        }
        Some(((), changes))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_told_of_its_own_subject_and_of_no_other() {
        let subject = Subject::read("extensions/web").expect("a subject");
        assert!(subject.includes(&Notice::of(Topic::Extensions, "web")));
        assert!(!subject.includes(&Notice::of(Topic::Extensions, "other")));
        assert!(!subject.includes(&Notice::of(Topic::Catalogs, "web")));
        let event = Subject::read("events/Shop/-/books").expect("a subject");
        assert!(event.includes(&Notice::of(Topic::Events, "Shop/-/books")));
        assert!(!event.includes(&Notice::of(Topic::Events, "Shop/shop/books")));
        let namespace = Subject::read("classic/shop").expect("a subject");
        assert!(namespace.includes(&Notice::of(Topic::Classic, "shop")));
        assert!(!namespace.includes(&Notice::of(Topic::Classic, "other")));
        let all = Subject::read("extensions").expect("a subject");
        assert!(all.includes(&Notice::of(Topic::Extensions, "other")));
    }

    #[test]
    fn what_is_no_subject_is_refused() {
        for text in ["", "secrets", "extensions/a/b", "resources/a/b", "releases/a"] {
            assert_eq!(Subject::read(text), None, "{text:?}");
        }
    }

    #[tokio::test]
    async fn what_was_counted_too_early_is_told_of_again() {
        let changes = stream::iter([(), ()]).chain(stream::pending()).boxed();
        // Two changes, and one echo of them, which comes at once here.
        assert_eq!(echoed(changes, Duration::ZERO).take(3).count().await, 3);
        assert_eq!(
            echoed(stream::iter([()]).boxed(), Duration::ZERO).count().await,
            1
        );
    }

    #[tokio::test]
    async fn changes_that_come_together_are_told_once() {
        let burst = stream::iter([(), (), ()]);
        assert_eq!(gathered(burst).count().await, 1);
    }
}
