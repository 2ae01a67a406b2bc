//! The operator's loops: watches feed the world, workers look at what changed. At rest nothing is asked.

use std::collections::HashSet;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::{FutureExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, DynamicObject};
use kube::core::PartialObjectMeta;
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt as _, watcher as watch};
use release::history::Revision;
use release::identity::ReleaseId;
use release::records::written_by;
use tokio::sync::watch as signal;
use tokio::task::JoinSet;

use crate::dependents::PAGE;
use crate::metrics::Outcome;
use crate::reconciling::{Again, after_panic, reconcile};
use crate::resource::CustomResource;
use crate::world::{Key, Making, World};

/// The label that all records of releases have.
const RECORDS: &str = "owner=helm";

/// How long a kind that the server lacks is waited for before it is looked again.
const KIND_PAUSE: Duration = Duration::from_secs(2);

/// Looks after the resources of an operator.
pub struct Controller {
    world: Arc<World>,
    max_concurrent: usize,
    watches_are_read: signal::Sender<bool>,
}

impl Controller {
    /// Makes a controller; it does nothing before it is run.
    pub fn new(making: Making, max_concurrent: usize) -> Self {
        Self {
            world: Arc::new(World::new(making)),
            max_concurrent: max_concurrent.max(1),
            watches_are_read: signal::Sender::new(false),
        }
    }

    /// Tells whether everything that is watched was listed, so that resources are looked after: only while it runs.
    pub fn watches_are_read(&self) -> signal::Receiver<bool> {
        self.watches_are_read.subscribe()
    }

    /// Returns what the operator counts, in the text format of Prometheus.
    pub fn metrics(&self) -> impl Fn() -> String + Send + Sync + 'static {
        let world = Arc::clone(&self.world);
        move || world.metrics.text(&world)
    }

    /// Looks after resources until `stop` comes to its end.
    pub async fn run(&self, stop: impl Future<Output = ()>) {
        let world = &self.world;
        let mut tasks = JoinSet::new();
        let mut ready = Vec::new();
        let (roster_is_known, roster_known) = signal::channel(false);
        ready.push(roster_known);
        {
            let world = Arc::clone(world);
            tasks.spawn(async move {
                let all = Arc::clone(&world);
                let listed = move || {
                    roster_is_known.send_replace(true);
                };
                world
                    .roster
                    .keep(world.cluster.client(), move || all.look_at_all(), listed)
                    .await;
            });
        }
        for namespace in places(&world.namespaces) {
            ready.push(follow_records(world, &namespace, &mut tasks));
            for watch in 0..world.blueprints.len() {
                ready.push(follow_resources(world, watch, &namespace, &mut tasks));
            }
        }
        let work = async {
            // A decision on half of what is there would be a wrong one. A kind that isn't served yet must not hold up
            // the others, so its list isn't waited for.
            for mut ready in ready {
                ready.wait_for(|ready| *ready).await.ok();
            }
            for watch in 0..world.blueprints.len() {
                let blueprint = &world.blueprints[watch];
                let workers = blueprint
                    .watch
                    .max_concurrent_reconciles
                    .unwrap_or(self.max_concurrent);
                for _ in 0..workers {
                    let world = Arc::clone(world);
                    tasks.spawn(async move { Box::pin(work(&world, watch)).await });
                }
            }
            self.watches_are_read.send_replace(true);
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = work => {}
            () = stop => {}
        }
        self.watches_are_read.send_replace(false);
        tasks.shutdown().await;
        world.roster.leave(world.cluster.client()).await;
    }
}

/// Where it is watched: in some namespaces, or in all, which the empty name stands for.
fn places(namespaces: &[String]) -> Vec<String> {
    if namespaces.is_empty() {
        vec![String::new()]
    } else {
        namespaces.to_vec()
    }
}

/// Feeds the world with the resources of a watch; what is returned becomes true once all were listed.
fn follow_resources(
    world: &Arc<World>,
    number: usize,
    namespace: &str,
    tasks: &mut JoinSet<()>,
) -> signal::Receiver<bool> {
    let (is_ready, ready) = signal::channel(false);
    let (world, namespace) = (Arc::clone(world), namespace.to_owned());
    tasks.spawn(async move {
        let blueprint = Arc::clone(&world.blueprints[number]);
        let resource = loop {
            match world.address(&blueprint).await {
                Ok(resource) => break resource,
                Err(fault) => {
                    tracing::info!(kind = %blueprint.watch.kind, %fault, "waiting for the kind to be served");
                    // Other kinds needn't wait for this one.
                    is_ready.send_replace(true);
                    tokio::time::sleep(KIND_PAUSE).await;
                }
            }
        };
        let client = world.cluster.client().clone();
        let api: Api<DynamicObject> = if namespace.is_empty() {
            Api::all_with(client, &resource)
        } else {
            Api::namespaced_with(client, &namespace, &resource)
        };
        let events = watch(api, watcher::Config::default().page_size(PAGE))
            .default_backoff()
            .modify(|object| object.metadata.managed_fields = None);
        let mut events = std::pin::pin!(events);
        let mut listed: HashSet<Key> = HashSet::new();
        let saw = |object: DynamicObject| {
            let object = serde_json::to_value(object).unwrap_or_default();
            let (key, is_news) = world.saw(number, CustomResource::read(object));
            if is_news {
                world.look_at(&key);
            }
            key
        };
        let gone = |key: &Key| {
            world.gone(key);
            world.look_at(key);
        };
        loop {
            match events.try_next().await {
                Ok(Some(Event::Init)) => listed.clear(),
                Ok(Some(Event::InitApply(object))) => {
                    listed.insert(saw(object));
                }
                Ok(Some(Event::InitDone)) => {
                    let vanished = world.keys(number, &namespace).into_iter();
                    vanished
                        .filter(|key| !listed.contains(key))
                        .for_each(|key| gone(&key));
                    is_ready.send_replace(true);
                }
                Ok(Some(Event::Apply(object))) => {
                    saw(object);
                }
                Ok(Some(Event::Delete(object))) => {
                    let object = serde_json::to_value(object).unwrap_or_default();
                    let resource = CustomResource::read(object);
                    let key = Key {
                        watch: number,
                        resource: resource.id,
                    };
                    // A new resource of the same name may be known already.
                    if world.resource(&key).is_none_or(|known| known.uid == resource.uid) {
                        gone(&key);
                    }
                }
                Ok(None) => return,
                Err(fault) => tracing::debug!(kind = %blueprint.watch.kind, %fault, "the watch begins anew"),
            }
        }
    });
    ready
}

/// Feeds the world with the records of releases; what is returned becomes true once all were listed.
fn follow_records(world: &Arc<World>, namespace: &str, tasks: &mut JoinSet<()>) -> signal::Receiver<bool> {
    let (is_ready, ready) = signal::channel(false);
    let (world, namespace) = (Arc::clone(world), namespace.to_owned());
    tasks.spawn(async move {
        let client = world.cluster.client().clone();
        let api: Api<PartialObjectMeta<Secret>> = if namespace.is_empty() {
            Api::all(client)
        } else {
            Api::namespaced(client, &namespace)
        };
        let events = watch(api, watcher::Config::default().labels(RECORDS)).default_backoff();
        let mut events = std::pin::pin!(events);
        let mut was_listed = false;
        loop {
            match events.try_next().await {
                Ok(Some(Event::Init)) => world.forget_revisions(&namespace),
                Ok(Some(Event::InitApply(secret) | Event::Apply(secret))) => {
                    if let Some((id, revision)) = revision_of(&secret) {
                        let is_foreign =
                            was_listed && written_by(&secret.metadata) != Some(world.cluster.manager());
                        for key in world.revision_seen(&id, revision) {
                            if is_foreign {
                                world.back_off.nudge(&key);
                            }
                            world.look_at(&key);
                        }
                    }
                }
                Ok(Some(Event::Delete(secret))) => {
                    if let Some((id, revision)) = revision_of(&secret) {
                        for key in world.revision_gone(&id, &revision.secret) {
                            world.look_at(&key);
                        }
                    }
                }
                Ok(Some(Event::InitDone)) => {
                    is_ready.send_replace(true);
                    // A second list means that the server was away, and that may be why things failed.
                    if std::mem::replace(&mut was_listed, true) {
                        world.back_off.nudge_all();
                    }
                    world.look_at_all();
                }
                Ok(None) => return,
                Err(fault) => tracing::debug!(%fault, "the watch of release records begins anew"),
            }
        }
    });
    ready
}

fn revision_of(secret: &PartialObjectMeta<Secret>) -> Option<(ReleaseId, Revision)> {
    let revision = Revision::of(&secret.metadata)?;
    let labels = secret.metadata.labels.as_ref()?;
    let namespace = secret.metadata.namespace.clone().unwrap_or_default();
    Some((ReleaseId::new(namespace, labels.get("name")?.clone()), revision))
}

/// Takes one resource after the other; one that panics is tried again later, and everything else goes on.
async fn work(world: &Arc<World>, watch: usize) {
    let queue = Arc::clone(&world.queues[watch]);
    loop {
        let resource = queue.next().await;
        let key = Key {
            watch,
            resource: resource.clone(),
        };
        let begin = Instant::now();
        world.metrics.begin(watch);
        let looked = AssertUnwindSafe(Box::pin(reconcile(world, &key)))
            .catch_unwind()
            .await;
        let outcome = match looked {
            Ok(Again::WhenChanged) => {
                queue.forget_failures(&resource);
                Outcome::Success
            }
            Ok(Again::After(delay)) => {
                queue.forget_failures(&resource);
                queue.add_after(resource.clone(), delay);
                Outcome::RequeueAfter
            }
            Ok(Again::Soon) => {
                queue.add(resource.clone());
                Outcome::Requeue
            }
            Ok(Again::Unwritten) => {
                queue.add_after_failure(resource.clone());
                Outcome::Error
            }
            Ok(Again::AfterFailure(wait)) => {
                queue.retry_after(resource.clone(), wait);
                Outcome::Error
            }
            Err(_) => {
                tracing::error!(%key.resource, "looking at it panicked");
                queue.retry_after(resource.clone(), after_panic(world, &key));
                Outcome::Panic
            }
        };
        world.metrics.end(watch, outcome, begin.elapsed());
        queue.done(&resource);
    }
}
