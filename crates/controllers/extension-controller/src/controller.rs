//! The control loops of ClusterExtension and ClusterObjectSet.
//!
//! Watches feed the index; what a change concerns goes into the queue; workers take it from there. At rest nothing asks
//! the API server for anything.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use api::cluster_catalog::AvailabilityMode;
use api::condition::is_true;
use api::{ClusterCatalog, ClusterExtension, ClusterObjectSet};
use apply::engine::Engine;
use catalog::store::Store;
use duty::metrics::{LoopMetrics, Outcome};
use duty::queue::Queue;
use futures_util::{FutureExt as _, StreamExt as _, TryStreamExt as _};
use kube::Api;
use kube::runtime::events::{Event as ClusterEvent, EventType, Recorder, Reporter};
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt as _, watcher as watch};
use kube::{Resource, ResourceExt as _};
use resolve::resolution::BrokenCatalogs;
use serde::de::DeserializeOwned;
use tokio::sync::watch as signal;
use tokio::task::JoinSet;
use tracing::Instrument as _;

use crate::acting::Actor;
use crate::bundles::Bundles;
use crate::catalogs::Catalogs;
use crate::index::{Concern, Index};
use crate::metrics::Metrics;
use crate::notice::Notice;
use crate::observing::{Observer, labels_of, selection};
use crate::reconciling::{Reconciled, reconcile};

/// How many things are looked at at the same time: enough to hide the time that the API server takes.
const WORKERS: usize = 8;

/// How long the start waits for the content of catalogs: they are read from disk at the same time, and whoever looked
/// before would call them broken for a moment.
const FIRST_CONTENT: Duration = Duration::from_secs(10);

/// How often the start looks whether content is there.
const FIRST_CONTENT_PAUSE: Duration = Duration::from_millis(50);

/// The Lease of upstream's controller, so that never both work at once.
pub const LEASE: &str = "9c4404e7.operatorframework.io";

/// The name that events carry.
const REPORTER: &str = "extension-controller";

/// What a controller is made of.
pub struct Options<C> {
    /// The way to the cluster.
    pub client: kube::Client,
    /// The namespace that the Secrets of revisions go into.
    pub system_namespace: String,
    /// Gives the content of catalogs.
    pub catalogs: C,
    /// Fetches bundles.
    pub bundles: Bundles,
    /// What a catalog that can't be asked does to the others.
    pub broken_catalogs: BrokenCatalogs,
}

/// Looks after extensions and revisions.
pub struct Controller<C> {
    world: Arc<World<C>>,
}

/// What all workers share.
struct World<C> {
    observer: Observer<C>,
    engine: Engine,
    queue: Queue<Thing>,
    metrics: Metrics,
    recorder: Recorder,
    /// What was told last of each extension, so that the same is not told again and again.
    told: Mutex<HashMap<String, Vec<Notice>>>,
    /// What catalogs held when they were last looked at.
    contents: Mutex<HashMap<String, Arc<Store>>>,
}

/// Something to look at.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Thing {
    Extension(String),
    ObjectSet(String),
}

impl<C: Catalogs> Controller<C> {
    /// Makes a controller; it does nothing before it is run.
    pub fn new(options: Options<C>) -> Self {
        let Options {
            client,
            system_namespace,
            catalogs,
            bundles,
            broken_catalogs,
        } = options;
        let reporter = Reporter {
            controller: REPORTER.to_owned(),
            instance: None,
        };
        Self {
            world: Arc::new(World {
                engine: Engine::new(client.clone(), system_namespace.clone()),
                recorder: Recorder::new(client.clone(), reporter),
                observer: Observer::new(client, catalogs, bundles, broken_catalogs, system_namespace),
                queue: Queue::default(),
                metrics: Metrics::default(),
                told: Mutex::default(),
                contents: Mutex::default(),
            }),
        }
    }

    /// Returns what the controller counts, in the text format of Prometheus.
    pub fn metrics(&self) -> impl Fn() -> String + Send + Sync + 'static {
        let world = Arc::clone(&self.world);
        move || world.metrics.text(world.queue.reading())
    }

    /// Looks after the cluster until `stop` comes to its end.
    pub async fn run(&self, stop: impl Future<Output = ()>) {
        let world = &self.world;
        let mut tasks = JoinSet::new();
        let extensions = Feed::new(world, |index: &Index, event| index.extension_seen(event));
        let object_sets = Feed::new(world, |index: &Index, event| index.object_set_seen(event));
        let catalogs = Feed::new(world, |index: &Index, event| index.catalog_seen(event));
        let ready = [
            extensions.start::<ClusterExtension>(&mut tasks),
            object_sets.start::<ClusterObjectSet>(&mut tasks),
            catalogs.start::<ClusterCatalog>(&mut tasks),
        ];
        let work = async {
            // A decision on half of what is there would be a wrong one.
            for mut ready in ready {
                ready.wait_for(|ready| *ready).await.ok();
            }
            if let Err(fault) = world
                .actor(&|concern| world.concern(concern))
                .own_all_secrets()
                .await
            {
                tracing::warn!(%fault, "Secrets whose owner is missing could not be looked for");
            }
            let contents = AssertUnwindSafe(world.contents_are_there()).catch_unwind();
            if !matches!(tokio::time::timeout(FIRST_CONTENT, contents).await, Ok(Ok(()))) {
                tracing::warn!("not every catalog can be read; its extensions will say so");
            }
            let drift = Arc::clone(world);
            tasks.spawn(async move {
                let mut drifted = std::pin::pin!(drift.engine.drift());
                while let Some(name) = drifted.next().await {
                    drift.queue.add(Thing::ObjectSet(name));
                }
            });
            for _ in 0..WORKERS {
                let world = Arc::clone(world);
                tasks.spawn(async move {
                    loop {
                        let thing = world.queue.next().await;
                        world.look_at(thing).await;
                    }
                });
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = work => {}
            () = stop => {}
        }
        tasks.shutdown().await;
    }
}

/// A watch that feeds the index.
struct Feed<C, F> {
    world: Arc<World<C>>,
    take: F,
}

impl<C: Catalogs, F> Feed<C, F> {
    fn new(world: &Arc<World<C>>, take: F) -> Self {
        Self {
            world: Arc::clone(world),
            take,
        }
    }

    /// Starts the watch; what is returned becomes true when everything was listed once.
    fn start<K>(self, tasks: &mut JoinSet<()>) -> signal::Receiver<bool>
    where
        K: Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug + Send + 'static,
        F: Fn(&Index, Event<K>) -> Vec<Concern> + Send + Sync + 'static,
    {
        let (is_ready, ready) = signal::channel(false);
        let Self { world, take } = self;
        tasks.spawn(async move {
            let objects: Api<K> = Api::all(world.observer.client.clone());
            let events = watch(objects, watcher::Config::default())
                .default_backoff()
                // Nobody here asks who wrote which field.
                .modify(|object| object.managed_fields_mut().clear());
            let mut events = std::pin::pin!(events);
            loop {
                match events.try_next().await {
                    Ok(Some(event)) => {
                        let is_complete = matches!(event, Event::InitDone);
                        for concern in take(&world.observer.index, event) {
                            world.concern(concern);
                        }
                        if is_complete {
                            is_ready.send_replace(true);
                        }
                    }
                    Ok(None) => return,
                    Err(fault) => tracing::debug!(kind = %K::kind(&()), %fault, "the watch begins anew"),
                }
            }
        });
        ready
    }
}

impl<C: Catalogs> World<C> {
    fn concern(self: &Arc<Self>, concern: Concern) {
        match concern {
            Concern::Extension(name) => self.queue.add(Thing::Extension(name)),
            Concern::ObjectSet(name) => self.queue.add(Thing::ObjectSet(name)),
            Concern::Catalog { before, after } => {
                let world = Arc::clone(self);
                // To read the content may take its time, which the watch has not.
                tokio::spawn(async move { world.catalog_changed(before, after).await });
            }
        }
    }

    /// Has the extensions looked at that a catalog concerns: by its labels, and because it has their package or had it.
    async fn catalog_changed(&self, before: Option<Arc<ClusterCatalog>>, after: Option<Arc<ClusterCatalog>>) {
        let name = before
            .as_ref()
            .or(after.as_ref())
            .map(|catalog| catalog.name().to_owned());
        let Some(name) = name else { return };
        let now = match &after {
            Some(after) => self.observer.catalogs.content(after).await.ok(),
            None => None,
        };
        let then = {
            let mut contents = self.contents.lock().unwrap_or_else(PoisonError::into_inner);
            match &now {
                Some(now) => contents.insert(name, Arc::clone(now)),
                None => contents.remove(&name),
            }
        };
        let has = |store: &Option<Arc<Store>>, package: &str| {
            // What can't be read may have held anything.
            store
                .as_ref()
                .is_none_or(|store| store.package(package).is_some())
        };
        for extension in self.observer.index.extensions() {
            let Some(filter) = &extension.spec.source.catalog else {
                continue;
            };
            let is_selected = match selection(&extension) {
                Ok(selection) => before
                    .iter()
                    .chain(&after)
                    .any(|catalog| selection.includes(&labels_of(catalog))),
                Err(_) => false,
            };
            let package = &filter.package_name;
            if is_selected && (has(&then, package) || has(&now, package)) {
                self.queue.add(Thing::Extension(extension.name().to_owned()));
            }
        }
    }

    fn actor<'a>(&'a self, concern: &'a (dyn Fn(Concern) + Send + Sync)) -> Actor<'a> {
        Actor {
            client: &self.observer.client,
            index: &self.observer.index,
            concern,
            system_namespace: &self.observer.system_namespace,
        }
    }

    /// Waits until the content of every catalog that says it is served can be read.
    async fn contents_are_there(&self) {
        let catalogs = self.observer.index.catalogs();
        let served = catalogs.iter().filter(|catalog| {
            catalog.spec.availability_mode == AvailabilityMode::Available
                && is_true(&catalog.status.conditions, "Serving")
        });
        for catalog in served {
            while self.observer.catalogs.content(catalog).await.is_err() {
                tokio::time::sleep(FIRST_CONTENT_PAUSE).await;
            }
        }
    }

    fn metrics_of(&self, thing: &Thing) -> &LoopMetrics {
        match thing {
            Thing::Extension(_) => &self.metrics.extensions,
            Thing::ObjectSet(_) => &self.metrics.object_sets,
        }
    }

    /// Looks at a thing; if that panics, it is tried again later and everything else goes on.
    async fn look_at(self: &Arc<Self>, thing: Thing) {
        let begin = Instant::now();
        self.metrics_of(&thing).begin();
        let looking = match thing.clone() {
            Thing::Extension(name) => {
                let span =
                    tracing::info_span!(target: "baton::work", "reconcile", kind = "ClusterExtension", name);
                self.extension(name).instrument(span).boxed()
            }
            Thing::ObjectSet(name) => {
                let span =
                    tracing::info_span!(target: "baton::work", "reconcile", kind = "ClusterObjectSet", name);
                self.object_set(name).instrument(span).boxed()
            }
        };
        let outcome = match AssertUnwindSafe(looking).catch_unwind().await {
            Ok(Again::WhenChanged) => {
                self.queue.forget_failures(&thing);
                Outcome::Success
            }
            Ok(Again::After(delay)) => {
                self.queue.forget_failures(&thing);
                self.queue.add_after(thing.clone(), delay);
                Outcome::RequeueAfter
            }
            Ok(Again::AfterFailure) => {
                self.queue.add_after_failure(thing.clone());
                Outcome::Error
            }
            Err(_) => {
                tracing::error!(?thing, "looking at it panicked");
                self.queue.add_after_failure(thing.clone());
                Outcome::Panic
            }
        };
        self.metrics_of(&thing).end(outcome, begin.elapsed());
        self.queue.done(&thing);
    }

    async fn object_set(&self, name: String) -> Again {
        match self.engine.reconcile(&name).await {
            Ok(next) => next.after.map_or(Again::WhenChanged, Again::After),
            // What became of objects is in the conditions.
            Err(fault @ apply::engine::Error::Objects(_)) => {
                tracing::debug!(name, %fault, "the revision could not be brought further");
                Again::AfterFailure
            }
            Err(fault) => {
                tracing::warn!(name, %fault, "the revision could not be looked after; trying again");
                Again::AfterFailure
            }
        }
    }

    async fn extension(self: &Arc<Self>, name: String) -> Again {
        let Some(extension) = self.observer.index.extension(&name) else {
            self.observer.forget(&name);
            self.told
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .remove(&name);
            return Again::WhenChanged;
        };
        let Reconciled { notices, again } = reconcile(
            &self.observer,
            &self.actor(&|concern| self.concern(concern)),
            &extension,
        )
        .await;
        self.tell(&extension, notices).await;
        match again {
            crate::deciding::Again::WhenChanged => Again::WhenChanged,
            crate::deciding::Again::Soon => Again::AfterFailure,
            crate::deciding::Again::After(delay) => Again::After(delay),
        }
    }

    /// Tells what was not told before.
    async fn tell(&self, extension: &ClusterExtension, notices: Vec<Notice>) {
        let news: Vec<Notice> = {
            let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
            let before = told.insert(extension.name().to_owned(), notices.clone());
            let before = before.unwrap_or_default();
            notices
                .into_iter()
                .filter(|notice| !before.contains(notice))
                .collect()
        };
        for notice in news {
            let event = ClusterEvent {
                type_: if notice.is_warning {
                    EventType::Warning
                } else {
                    EventType::Normal
                },
                reason: notice.reason.to_owned(),
                note: Some(notice.text),
                action: notice.action.to_owned(),
                secondary: None,
            };
            if let Err(fault) = self.recorder.publish(&event, &extension.object_ref(&())).await {
                tracing::debug!(extension = extension.name(), %fault, "an event could not be written");
            }
        }
    }
}

/// When a thing is looked at again.
enum Again {
    WhenChanged,
    After(Duration),
    AfterFailure,
}
