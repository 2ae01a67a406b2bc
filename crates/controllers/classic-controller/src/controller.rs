//! The control loops of OLM v0.
//!
//! Watches feed the picture; what a change concerns goes into the queue; workers take it from there, decide and write.
//! What is written is in the picture at once. At rest nothing asks the API server for anything.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use classic::{Decision, Key, Kind};
use duty::metrics::Outcome;
use duty::queue::Queue;
use futures_util::FutureExt as _;
use install_plan::plan::permissions_changed;
use install_plan::settings::Settings;
use jiff::Timestamp;
use service_version::Place;
use tokio::task::JoinSet;

use crate::announcing::Announcer;
use crate::bundles::Bundles;
use crate::concerns::{Thing, concerns, everything, waiting};
use crate::discovery::discover;
use crate::manifests::Manifests;
use crate::metrics::Metrics;
use crate::picture::{Change, Picture};
use crate::sources::image::Images;
use crate::sources::{SourceName, Sources};
use crate::watching;
use crate::writing::{WriteError, Writer};

/// How many things are looked at at the same time: enough to hide the time that the API server takes.
const WORKERS: usize = 8;

/// How long what the API server serves may change before it is asked: definitions come in groups.
const DISCOVERY_PAUSE: Duration = Duration::from_millis(50);

/// How long the Subscriptions of a namespace may change before they are resolved: who applies several of them at once means
/// them to be resolved together.
const RESOLUTION_PAUSE: Duration = Duration::from_millis(100);

/// How soon is tried again when the API server can't be asked at the start.
const START_PAUSE: Duration = Duration::from_secs(1);

/// The Lease that is held while working.
pub const LEASE: &str = "classic.baton.dev";

/// What a controller is made of.
#[derive(Clone)]
pub struct Options {
    /// The way to the cluster.
    pub client: kube::Client,
    /// Namespaces and patience.
    pub settings: Settings,
    /// How images of catalogs and bundles are fetched; without it only catalogs with an address work.
    pub images: Option<Images>,
    /// Namespaces that get copies even where copies are turned off.
    pub protected_namespaces: Vec<String>,
}

impl Options {
    /// Works through a client, otherwise as upstream does when nothing is said.
    pub fn new(client: kube::Client) -> Self {
        Self {
            client,
            settings: Settings::default(),
            images: None,
            protected_namespaces: Vec::new(),
        }
    }
}

/// Looks after the kinds of OLM v0.
pub struct Controller {
    office: Arc<Office>,
}

/// Hears of changes and has looked at what they concern.
struct Bell {
    picture: Arc<Picture>,
    queue: Queue<Thing>,
    settings: Settings,
    /// Whether the picture is complete; before that, nothing is looked at.
    is_open: AtomicBool,
}

impl Bell {
    fn hear(&self, change: &Change) {
        if !self.is_open.load(Ordering::Acquire) {
            return;
        }
        let things = concerns(&self.picture.look(), change, &self.settings);
        for thing in things {
            self.ring(thing);
        }
    }

    fn ring(&self, thing: Thing) {
        match thing {
            Thing::Discovery => self.queue.add_after(thing, DISCOVERY_PAUSE),
            Thing::Namespace(_) => self.queue.add_after(thing, RESOLUTION_PAUSE),
            thing => self.queue.add(thing),
        }
    }
}

/// What all workers share.
pub(crate) struct Office {
    pub(crate) options: Options,
    pub(crate) picture: Arc<Picture>,
    bell: Arc<Bell>,
    pub(crate) writer: Writer,
    announcer: Announcer,
    pub(crate) sources: Sources,
    pub(crate) bundles: Bundles,
    pub(crate) metrics: Arc<Metrics>,
}

/// When a thing is looked at again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Again {
    WhenChanged,
    AtOnce,
    After(Duration),
    AfterFailure,
}

impl Controller {
    /// Makes a controller; it does nothing before it is run.
    pub fn new(options: Options) -> Self {
        let picture = Arc::new(Picture::default());
        let bell = Arc::new(Bell {
            picture: Arc::clone(&picture),
            queue: Queue::default(),
            settings: options.settings.clone(),
            is_open: AtomicBool::new(false),
        });
        let metrics = Arc::new(Metrics::default());
        let client = options.client.clone();
        let of_writes = Arc::clone(&bell);
        let of_sources = Arc::clone(&bell);
        let of_bundles = Arc::clone(&bell);
        let sources = Sources::new(
            client.clone(),
            options.images.clone(),
            Arc::new(move |name: &SourceName, is_new: bool| of_sources.source_changed(name, is_new)),
        );
        let bundles = Bundles::new(
            client.clone(),
            options.images.clone(),
            Arc::new(move |namespace: &str| of_bundles.ring(Thing::Namespace(namespace.to_owned()))),
        );
        Self {
            office: Arc::new(Office {
                writer: Writer::new(client.clone(), Arc::clone(&picture), move |change| {
                    of_writes.hear(&change);
                }),
                announcer: Announcer::new(client),
                picture,
                bell,
                sources,
                bundles,
                metrics,
                options,
            }),
        }
    }

    /// Returns what the controller counts, in the text format of Prometheus.
    pub fn metrics(&self) -> impl Fn() -> String + Send + Sync + 'static {
        let office = Arc::clone(&self.office);
        move || {
            office.metrics.set_depth(office.bell.queue.depth());
            let ready: Vec<(String, String, bool)> = office
                .sources
                .standings()
                .into_iter()
                .map(|(name, standing)| {
                    let is_ready = standing.connectivity == crate::sources::Connectivity::Ready;
                    (name.namespace, name.name, is_ready)
                })
                .collect();
            office.metrics.text(&office.picture.look(), &ready)
        }
    }

    /// Returns what answers about packages; it knows what this controller knows.
    pub fn manifests(&self) -> Manifests {
        Manifests::new(Arc::clone(&self.office))
    }

    /// Looks after the cluster until `stop` comes to its end.
    pub async fn run(&self, stop: impl Future<Output = ()>) {
        let mut tasks = JoinSet::new();
        tokio::select! {
            () = self.work(&mut tasks) => {}
            () = stop => {}
        }
        tasks.shutdown().await;
        self.office.sources.stop();
    }

    async fn work(&self, tasks: &mut JoinSet<()>) {
        let office = &self.office;
        let of_watches = Arc::clone(&office.bell);
        let heed: watching::Heed = Arc::new(move |change| of_watches.hear(&change));
        let ready = watching::start(&office.options.client, &office.picture, &heed, tasks);
        // A decision on half of what is there would be a wrong one.
        for mut ready in ready {
            ready.wait_for(|ready| *ready).await.ok();
        }
        while office.discover().await.is_err() {
            tokio::time::sleep(START_PAUSE).await;
        }
        office.bell.is_open.store(true, Ordering::Release);
        let things = everything(&office.picture.look(), &office.options.settings);
        for thing in things {
            office.bell.ring(thing);
        }
        for _ in 0..WORKERS {
            let office = Arc::clone(office);
            tasks.spawn(async move {
                loop {
                    let thing = office.bell.queue.next().await;
                    office.look_at(thing).await;
                }
            });
        }
        std::future::pending::<()>().await;
    }
}

impl Bell {
    /// Has looked at a catalog that stands differently, and at whoever is resolved from it if it has other content.
    fn source_changed(&self, name: &SourceName, is_new: bool) {
        let key = Key::new(Kind::CatalogSource, &name.namespace, &name.name);
        self.ring(Thing::Source(Place::new(&name.namespace, &name.name)));
        if !is_new {
            return;
        }
        let things: Vec<Thing> = {
            let world = self.picture.look();
            let source = world.get(key.kind, &key.namespace, &key.name);
            let change = Change {
                key,
                before: None,
                after: source.cloned(),
            };
            concerns(&world, &change, &self.settings).into_iter().collect()
        };
        for thing in things {
            self.ring(thing);
        }
    }
}

impl Office {
    /// Looks at a thing; if that panics, it is tried again later and everything else goes on.
    async fn look_at(self: &Arc<Self>, thing: Thing) {
        let begin = Instant::now();
        self.metrics.of(&thing).begin();
        let looking = AssertUnwindSafe(self.look(&thing)).catch_unwind();
        let queue = &self.bell.queue;
        let outcome = match looking.await {
            Ok(Again::WhenChanged) => {
                queue.forget_failures(&thing);
                Outcome::Success
            }
            Ok(Again::AtOnce) => {
                queue.add(thing.clone());
                Outcome::Requeue
            }
            Ok(Again::After(delay)) => {
                queue.forget_failures(&thing);
                queue.add_after(thing.clone(), delay);
                Outcome::RequeueAfter
            }
            Ok(Again::AfterFailure) => {
                queue.add_after_failure(thing.clone());
                Outcome::Error
            }
            Err(_) => {
                tracing::error!(?thing, "looking at it panicked");
                queue.add_after_failure(thing.clone());
                Outcome::Panic
            }
        };
        self.metrics.of(&thing).end(outcome, begin.elapsed());
        queue.done(&thing);
    }

    async fn look(self: &Arc<Self>, thing: &Thing) -> Again {
        match thing {
            Thing::Discovery => match self.discover().await {
                Ok(()) => Again::WhenChanged,
                Err(fault) => {
                    tracing::warn!(%fault, "the API server doesn't say what it serves; trying again");
                    Again::AfterFailure
                }
            },
            Thing::Namespace(namespace) => self.look_at_namespace(namespace).await,
            Thing::Plan(place) => self.look_at_plan(place).await,
            Thing::Source(place) => self.look_at_source(place).await,
            Thing::Subscription(place) => self.look_at_subscription(place).await,
            Thing::Definition(name) => self.look_at_definition(name).await,
            Thing::Permissions(namespace) => {
                let decision = permissions_changed(&self.picture.look(), namespace);
                self.carry_out(&decision).await
            }
            Thing::Operators(concern) => self.look_at_operators(concern).await,
        }
    }

    /// Has something looked at.
    pub(crate) fn ring(&self, thing: Thing) {
        self.bell.ring(thing);
    }

    /// Asks what the API server serves; if that is new, those are looked at that may have waited for it.
    async fn discover(&self) -> Result<(), kube::Error> {
        let offer = discover(&self.options.client).await?;
        if self.picture.serves(offer.served, offer.server_version)
            && self.bell.is_open.load(Ordering::Acquire)
        {
            let waiting = waiting(&self.picture.look());
            for thing in waiting {
                self.ring(thing);
            }
        }
        Ok(())
    }

    /// Makes the writes of a decision in their order, and tells its notices.
    pub(crate) async fn carry_out(&self, decision: &Decision) -> Again {
        if let Some(trouble) = &decision.trouble {
            tracing::debug!(trouble, "it can't go on");
        }
        for write in &decision.writes {
            match self.writer.write(write, None).await {
                Ok(_) => {}
                Err(fault) => return failed(&fault),
            }
        }
        self.tell(decision).await;
        decision.look_again_after.map_or(Again::WhenChanged, Again::After)
    }

    /// Tells the notices of a decision.
    pub(crate) async fn tell(&self, decision: &Decision) {
        for notice in &decision.notices {
            let uid = {
                let world = self.picture.look();
                let kind = Kind::named(&notice.about.kind);
                let known =
                    kind.and_then(|kind| world.get(kind, &notice.about.namespace, &notice.about.name));
                known.map(|known| apply::object::text(known, "/metadata/uid").to_owned())
            };
            self.announcer.tell(notice, &uid.unwrap_or_default()).await;
        }
    }
}

/// Returns when a thing is looked at again after a write that could not be made.
pub(crate) fn failed(fault: &WriteError) -> Again {
    if matches!(fault, WriteError::Stale(_)) || fault.is_already_there() || fault.is_not_found() {
        tracing::debug!(%fault, "it was changed meanwhile; looking again");
        return Again::AtOnce;
    }
    tracing::warn!(%fault, "a write could not be made; trying again");
    Again::AfterFailure
}

/// Returns the moment of a decision.
pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}
