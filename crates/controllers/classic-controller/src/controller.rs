//! The control loops of OLM v0.
//!
//! Watches feed the picture; what a change concerns goes into the queue; workers take it from there, decide and write.
//! What is written is in the picture at once. At rest nothing asks the API server for anything.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use classic::{Decision, Key, Kind};
use duty::metrics::Outcome;
use duty::queue::Queue;
use futures_util::FutureExt as _;
use install_plan::plan::permissions_changed;
use install_plan::settings::Settings;
use jiff::Timestamp;
use service_version::{Concern, Place, Urgency, urgency};
use tokio::task::JoinSet;
use tracing::Instrument as _;

use crate::announcing::Teller;
use crate::bundles::Bundles;
use crate::bustle::Bustle;
use crate::concerns::{Thing, concerns, everything, waiting};
use crate::discovery::{discover, discover_groups};
use crate::manifests::Manifests;
use crate::metrics::Metrics;
use crate::picture::{Change, Picture};
use crate::sources::image::Images;
use crate::sources::{SourceName, Sources};
use crate::watching;
use crate::writing::{WriteError, Writer};

/// How many things are looked at at the same time: enough to hide the time that the API server takes.
const WORKERS: usize = 8;

/// How long what the API server serves must not have changed before it is asked: definitions come in groups.
const DISCOVERY_QUIET: Duration = Duration::from_millis(20);

/// How long it is waited for that in all.
const DISCOVERY_PAUSE: Duration = Duration::from_millis(100);

/// How long the version of the API server and its own kinds are taken to be the same: they change when it is upgraded, and then
/// so do its groups.
const DISCOVERY_OF_ALL: Duration = Duration::from_mins(10);

/// How long the Subscriptions of a namespace must not have changed before they are resolved: who applies several of them at
/// once means them to be resolved together.
const RESOLUTION_QUIET: Duration = Duration::from_millis(40);

/// How long they are waited for in all: a list of fifty takes about that long to be applied.
const RESOLUTION_PAUSE: Duration = Duration::from_secs(1);

/// How long a version may change before its copies follow: it goes through its phases in less, and its copies, of which there
/// may be thousands, need to say only the last of them.
const COPIES_PAUSE: Duration = Duration::from_millis(200);

/// How long what an Operator lists must not have changed: it has a dozen components, and each of them comes and changes by itself.
const LIST_QUIET: Duration = Duration::from_millis(250);

/// How long it is waited for that in all.
const LIST_PAUSE: Duration = Duration::from_secs(5);

/// How long what is only summed up must not have changed: what a Subscription says of its catalogs and its plan, and whose plan
/// one is. While an operator is installed, each of them changes a dozen times, and nothing waits for it.
const SUMMARY_QUIET: Duration = Duration::from_millis(100);

/// How long it is waited for that in all.
const SUMMARY_PAUSE: Duration = Duration::from_secs(2);

/// How long a version must not have been touched that waits for others, while much changes: its account, its roles and its
/// definition come one after the other, and it is checked once when all are there.
const WAITING_QUIET: Duration = Duration::from_millis(300);

/// How long it is waited for that in all.
const WAITING_PAUSE: Duration = Duration::from_millis(1_500);

/// The same for what nobody waits for, while much changes: lists, summaries, and versions that work. What is asked of the API
/// server for them would keep it from what operators wait for.
const QUIET_IN_BUSTLE: Duration = Duration::from_secs(2);

/// How long it is waited for that in all.
const PAUSE_IN_BUSTLE: Duration = Duration::from_secs(10);

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

/// Tells a controller that an image moved, so that catalogs that follow it needn't wait for their next poll.
#[derive(Clone)]
pub struct MovedImages(Arc<Office>);

impl MovedImages {
    /// An image, as CatalogSources name it, stands for something else now.
    pub fn tell(&self, image: &str) {
        self.0.sources.image_moved(image);
    }
}

/// Hears of changes and has looked at what they concern.
struct Bell {
    picture: Arc<Picture>,
    queue: Queue<Thing>,
    bustle: Bustle,
    settings: Settings,
    /// Whether the picture is complete; before that, nothing is looked at.
    is_open: AtomicBool,
}

impl Bell {
    fn hear(&self, change: &Change) {
        if !self.is_open.load(Ordering::Acquire) {
            return;
        }
        self.bustle.note(Instant::now());
        let things = concerns(&self.picture.look(), change, &self.settings);
        for thing in things {
            self.ring(thing);
        }
    }

    fn ring(&self, thing: Thing) {
        match self.patience(&thing) {
            Patience::None => self.queue.add(thing),
            Patience::Pause(pause) => self.queue.add_after(thing, pause),
            Patience::Quiet { quiet, longest } => self.queue.add_when_quiet(thing, quiet, longest),
        }
    }

    /// How long a thing may wait, since it is likely to change again.
    fn patience(&self, thing: &Thing) -> Patience {
        let quiet = |quiet, longest| Patience::Quiet { quiet, longest };
        let is_bustling = || self.bustle.is_high(Instant::now());
        let summary = |usual, longest| {
            if is_bustling() {
                quiet(QUIET_IN_BUSTLE, PAUSE_IN_BUSTLE)
            } else {
                quiet(usual, longest)
            }
        };
        match thing {
            Thing::Discovery => quiet(DISCOVERY_QUIET, DISCOVERY_PAUSE),
            Thing::Namespace(_) => quiet(RESOLUTION_QUIET, RESOLUTION_PAUSE),
            Thing::Operators(Concern::Copies(_)) => Patience::Pause(COPIES_PAUSE),
            Thing::Operators(Concern::Operator(_)) => summary(LIST_QUIET, LIST_PAUSE),
            Thing::Subscription(_) | Thing::Operators(Concern::InstallPlan(_)) => {
                summary(SUMMARY_QUIET, SUMMARY_PAUSE)
            }
            Thing::Operators(Concern::ServiceVersion(place)) if is_bustling() => {
                let world = self.picture.look();
                match urgency(&world, &place.namespace, &place.name) {
                    Urgency::Moving => Patience::None,
                    Urgency::Waiting => quiet(WAITING_QUIET, WAITING_PAUSE),
                    Urgency::Working => quiet(QUIET_IN_BUSTLE, PAUSE_IN_BUSTLE),
                }
            }
            Thing::Operators(Concern::OperatorGroup(_)) if is_bustling() => {
                quiet(WAITING_QUIET, WAITING_PAUSE)
            }
            _ => Patience::None,
        }
    }
}

/// How long a thing waits before it is looked at.
enum Patience {
    /// Not at all.
    None,
    /// For a time.
    Pause(Duration),
    /// Until it didn't change for a time, but not longer than another.
    Quiet { quiet: Duration, longest: Duration },
}

/// What all workers share.
pub(crate) struct Office {
    pub(crate) options: Options,
    pub(crate) picture: Arc<Picture>,
    bell: Arc<Bell>,
    pub(crate) writer: Writer,
    teller: Teller,
    pub(crate) sources: Sources,
    pub(crate) bundles: Bundles,
    pub(crate) metrics: Arc<Metrics>,
    /// When the API server was last asked for everything that it serves.
    asked: Mutex<Option<Instant>>,
}

/// A look that is under way. However it ends, the thing can be looked at again afterwards: who leads no longer is stopped in the
/// middle of it, and may lead again.
struct Turn<'a> {
    queue: &'a Queue<Thing>,
    thing: Thing,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.queue.done(&self.thing);
    }
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
            bustle: Bustle::default(),
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
                teller: Teller::new(client),
                picture,
                bell,
                sources,
                bundles,
                metrics,
                asked: Mutex::default(),
                options,
            }),
        }
    }

    /// Returns what the controller counts, in the text format of Prometheus.
    pub fn metrics(&self) -> impl Fn() -> String + Send + Sync + 'static {
        let office = Arc::clone(&self.office);
        move || {
            let ready: Vec<(String, String, bool)> = office
                .sources
                .standings()
                .into_iter()
                .map(|(name, standing)| {
                    let is_ready = standing.connectivity == crate::sources::Connectivity::Ready;
                    (name.namespace, name.name, is_ready)
                })
                .collect();
            let queue = office.bell.queue.reading();
            office.metrics.text(&office.picture.look(), queue, &ready)
        }
    }

    /// Returns where those who know that an image moved can say so.
    pub fn moved_images(&self) -> MovedImages {
        MovedImages(Arc::clone(&self.office))
    }

    /// Returns what answers about packages; it knows what this controller knows.
    pub fn manifests(&self) -> Manifests {
        Manifests::new(Arc::clone(&self.office))
    }

    /// Returns what all workers share, for tests of what one of them does.
    #[cfg(test)]
    pub(crate) fn office(&self) -> &Arc<Office> {
        &self.office
    }

    /// Looks after the cluster until `stop` comes to its end.
    pub async fn run(&self, stop: impl Future<Output = ()>) {
        let mut tasks = JoinSet::new();
        tokio::select! {
            () = self.work(&mut tasks) => {}
            () = stop => {}
        }
        tasks.shutdown().await;
        // Who runs again begins with an incomplete picture again.
        self.office.bell.is_open.store(false, Ordering::Release);
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
        let of_events = Arc::clone(office);
        tasks.spawn(async move { of_events.teller.run(&of_events.bell.bustle).await });
        for _ in 0..WORKERS {
            let office = Arc::clone(office);
            tasks.spawn(async move {
                loop {
                    let thing = office.bell.queue.next().await;
                    office.look_at(thing).await;
                    // A look that waits for nothing would otherwise keep its thread from those who do.
                    tokio::task::yield_now().await;
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
        let queue = &self.bell.queue;
        let _turn = Turn {
            queue,
            thing: thing.clone(),
        };
        let (kind, namespace, name) = thing.subject();
        let span = tracing::info_span!(target: "baton::work", "reconcile", kind, namespace, name);
        let looking = AssertUnwindSafe(self.look(&thing).instrument(span)).catch_unwind();
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
        let asked = *self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let is_recent = asked.is_some_and(|asked| asked.elapsed() < DISCOVERY_OF_ALL);
        let is_new = if is_recent {
            let groups = discover_groups(&self.options.client).await?;
            self.picture.groups_serve(groups)
        } else {
            let offer = discover(&self.options.client).await?;
            *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
            self.picture.serves(offer.served, offer.server_version)
        };
        if is_new && self.bell.is_open.load(Ordering::Acquire) {
            let waiting = waiting(&self.picture.look());
            for thing in waiting {
                self.ring(thing);
            }
        }
        Ok(())
    }

    /// Makes the writes of a decision in their order, and tells its notices.
    pub(crate) async fn carry_out(&self, decision: &Decision) -> Again {
        if !decision.writes.is_empty() {
            let span = tracing::info_span!(target: "baton::work", "apply", writes = decision.writes.len());
            if let Err(fault) = self.make_writes(decision).instrument(span).await {
                return failed(&fault);
            }
        }
        self.conclude(decision)
    }

    async fn make_writes(&self, decision: &Decision) -> Result<(), WriteError> {
        for write in &decision.writes {
            self.writer.write(write, None).await?;
        }
        Ok(())
    }

    /// Tells the notices of a decision whose writes were made; returns when to look again.
    pub(crate) fn conclude(&self, decision: &Decision) -> Again {
        if let Some(trouble) = &decision.trouble {
            tracing::debug!(trouble, "it can't go on");
        }
        self.tell(decision);
        decision.look_again_after.map_or(Again::WhenChanged, Again::After)
    }

    /// Has the notices of a decision told.
    fn tell(&self, decision: &Decision) {
        for notice in &decision.notices {
            let uid = {
                let world = self.picture.look();
                let kind = Kind::named(&notice.about.kind);
                let known =
                    kind.and_then(|kind| world.get(kind, &notice.about.namespace, &notice.about.name));
                known.map(|known| apply::object::text(known, "/metadata/uid").to_owned())
            };
            self.teller.take(notice, uid);
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
