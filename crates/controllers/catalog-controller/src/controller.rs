//! The loop: what changes in the cluster, on disk or with time leads to a decision, and the decision to a deed.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use api::ClusterCatalog;
use futures_util::StreamExt as _;
use jiff::Timestamp;
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt as _, watcher as watch_objects};
use kube::{Api, Client};
use tokio::sync::{mpsc, watch};
use tokio::task::{Id, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use crate::act::{Outcome, Task, look_after};
use crate::contents::{Contents, ContentsError};
use crate::fetch::Images;
use crate::handle::Handle;
use crate::metrics::Metrics;
use crate::poll;
use crate::pull_secrets::GlobalSecrets;
use crate::queue::Queue;
use crate::reconcile::{Memory, Wish};

/// How many catalogs are looked after at the same time. Most of that is waiting for a registry, and one that is slow must
/// not keep others waiting; how many images are unpacked at once is limited elsewhere.
const MAX_AT_ONCE: usize = 64;

/// How many images that moved wait for the loop.
const MOVED_AT_ONCE: usize = 64;

/// How often files that nothing is served from are looked for, as upstream has it.
pub const COLLECT_EVERY: Duration = Duration::from_hours(12);

/// What a controller needs.
#[derive(Debug)]
pub struct Options {
    /// Where catalogs and images are kept between starts.
    pub folder: PathBuf,
    /// How images are fetched.
    pub images: Images,
    /// The address that catalogs are served under, up to and without `/catalogs`.
    pub base_url: String,
    /// Credentials for all catalogs.
    pub secrets: GlobalSecrets,
    /// How often garbage is collected.
    pub collect_every: Duration,
}

impl Options {
    /// The usual options.
    pub fn new(folder: impl Into<PathBuf>, images: Images, base_url: impl Into<String>) -> Self {
        Self {
            folder: folder.into(),
            images,
            base_url: base_url.into(),
            secrets: GlobalSecrets::default(),
            collect_every: COLLECT_EVERY,
        }
    }
}

/// What the loop and its deeds share.
pub(crate) struct Shared {
    pub(crate) client: Client,
    pub(crate) images: Images,
    pub(crate) base_url: String,
    pub(crate) secrets: GlobalSecrets,
    pub(crate) contents: Arc<Contents>,
    pub(crate) metrics: Arc<Metrics>,
}

/// Looks after the `ClusterCatalog`s of a cluster.
///
/// From the moment that it is made, it serves what was served before the last stop. Running it keeps that up to date. Any
/// number of replicas may run; the one that leads writes to the cluster, and the others serve what it says.
pub struct Controller {
    shared: Arc<Shared>,
    collect_every: Duration,
    moved: (mpsc::Sender<String>, mpsc::Receiver<String>),
}

/// Tells a controller that an image moved, so that it needn't wait for its next poll.
#[derive(Debug, Clone)]
pub struct MovedImages(mpsc::Sender<String>);

impl MovedImages {
    /// An image, as catalogs name it, stands for something else now.
    pub async fn tell(&self, reference: String) {
        // A controller that has ended polls nothing either.
        let _ = self.0.send(reference).await;
    }
}

impl std::fmt::Debug for Controller {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Controller")
            .field("contents", &self.shared.contents)
            .finish_non_exhaustive()
    }
}

impl Controller {
    /// Opens the folder and serves what is there. Blocks for as long as it takes to open some files.
    pub fn new(client: Client, options: Options) -> Result<Self, ContentsError> {
        let contents = Arc::new(Contents::open(&options.folder)?);
        Ok(Self {
            shared: Arc::new(Shared {
                client,
                images: options.images,
                base_url: options.base_url,
                secrets: options.secrets,
                contents,
                metrics: Arc::new(Metrics::default()),
            }),
            collect_every: options.collect_every,
            moved: mpsc::channel(MOVED_AT_ONCE),
        })
    }

    /// Where those who know that an image moved can say so. Catalogs that are polled are polled at once then.
    pub fn moved_images(&self) -> MovedImages {
        MovedImages(self.moved.0.clone())
    }

    /// What is served, for those in the same process.
    pub fn handle(&self) -> Handle {
        Handle::new(
            Arc::clone(&self.shared.contents),
            Arc::clone(&self.shared.metrics),
        )
    }

    /// Looks after catalogs until the future is dropped. `leads` says whether this replica writes to the cluster.
    pub async fn run(self, mut leads: watch::Receiver<bool>) {
        let catalogs: Api<ClusterCatalog> = Api::all(self.shared.client.clone());
        let mut events = watch_objects(catalogs, watcher::Config::default())
            .default_backoff()
            .boxed();
        let mut changes = self.shared.contents.changes();
        let mut collecting = tokio::time::interval(self.collect_every.max(Duration::from_secs(1)));
        // The sender is kept, so that the channel has no end of its own.
        let (_moves, mut moved) = self.moved;
        let mut work = Work::new(self.shared);
        loop {
            work.start(*leads.borrow());
            let due = work.queue.next_due();
            tokio::select! {
                event = events.next() => match event {
                    Some(Ok(event)) => work.event(event),
                    Some(Err(error)) => tracing::warn!(%error, "ClusterCatalogs can't be watched; trying again"),
                    // The stream has no end while it is polled; without it there is nothing left to do.
                    None => return,
                },
                Some(finished) = work.running.join_next_with_id() => work.finished(finished),
                () = sleep_until(due) => {}
                changed = leads.changed() => match changed {
                    Ok(()) => work.everything(),
                    // Nobody decides any more who leads, and a replica that isn't sure doesn't.
                    Err(_) => leads = watch::channel(false).1,
                },
                Ok(()) = changes.changed() => work.missing(),
                Some(reference) = moved.recv() => work.moved(&reference),
                _ = collecting.tick() => work.collect_garbage(),
            }
        }
    }
}

async fn sleep_until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}

/// What the loop knows.
struct Work {
    shared: Arc<Shared>,
    catalogs: HashMap<String, Arc<ClusterCatalog>>,
    memories: HashMap<String, Memory>,
    queue: Queue,
    running: JoinSet<Outcome>,
    names: HashMap<Id, String>,
    /// The catalogs whose images moved since they were polled.
    moved: BTreeSet<String>,
    /// What ends the work on a catalog early.
    interruptions: HashMap<String, CancellationToken>,
    /// The catalogs of a list that is still coming in.
    listed: BTreeSet<String>,
    /// Whether all catalogs are known.
    is_complete: bool,
}

impl Work {
    fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            catalogs: HashMap::new(),
            memories: HashMap::new(),
            queue: Queue::default(),
            running: JoinSet::new(),
            names: HashMap::new(),
            moved: BTreeSet::new(),
            interruptions: HashMap::new(),
            listed: BTreeSet::new(),
            is_complete: false,
        }
    }

    fn event(&mut self, event: Event<ClusterCatalog>) {
        match event {
            Event::Init => self.listed.clear(),
            Event::InitApply(catalog) => {
                self.listed.insert(catalog.name().to_owned());
                self.applied(catalog);
            }
            Event::InitDone => {
                let listed = std::mem::take(&mut self.listed);
                let gone: Vec<String> = self
                    .catalogs
                    .keys()
                    .filter(|name| !listed.contains(*name))
                    .cloned()
                    .collect();
                for name in &gone {
                    self.deleted(name);
                }
                self.is_complete = true;
                self.collect_garbage();
            }
            Event::Apply(catalog) => self.applied(catalog),
            Event::Delete(catalog) => self.deleted(catalog.name()),
        }
    }

    fn applied(&mut self, catalog: ClusterCatalog) {
        let name = catalog.name().to_owned();
        self.queue.add(&name, Instant::now());
        let known = self.catalogs.insert(name.clone(), Arc::new(catalog));
        let is_other = known.zip(self.catalogs.get(&name)).is_some_and(|(before, now)| {
            Wish::of(&before) != Wish::of(now)
                || before.metadata.deletion_timestamp != now.metadata.deletion_timestamp
                || before.resolved_reference() != now.resolved_reference()
        });
        if is_other {
            self.interrupt(&name);
        }
    }

    fn deleted(&mut self, name: &str) {
        self.catalogs.remove(name);
        self.memories.remove(name);
        self.moved.remove(name);
        self.queue.add(name, Instant::now());
        self.interrupt(name);
    }

    /// Ends waiting for an image that may not be wanted any more. What is being put in its place is finished.
    fn interrupt(&self, name: &str) {
        if let Some(interruption) = self.interruptions.get(name) {
            interruption.cancel();
        }
    }

    fn everything(&mut self) {
        for name in self.catalogs.keys() {
            self.queue.add(name, Instant::now());
            self.interrupt(name);
        }
    }

    /// Looks after the catalogs of which nothing is served: a file may have turned out to be damaged.
    fn missing(&mut self) {
        for name in self.catalogs.keys() {
            if self.shared.contents.get(name).is_none() {
                self.queue.add(name, Instant::now());
            }
        }
    }

    /// Looks at once after the catalogs of an image that moved, as far as they follow it.
    fn moved(&mut self, reference: &str) {
        let names = self
            .catalogs
            .iter()
            .filter(|(_, catalog)| follows(catalog, reference));
        for (name, _) in names {
            self.moved.insert(name.clone());
            self.queue.add(name, Instant::now());
        }
    }

    /// Starts what is due.
    fn start(&mut self, leads: bool) {
        while self.running.len() < MAX_AT_ONCE {
            let Some(name) = self.queue.take(Instant::now()) else {
                return;
            };
            let catalog = self.catalogs.get(&name).cloned();
            let mut memory = self.memories.get(&name).cloned().unwrap_or_default();
            if self.moved.remove(&name) {
                memory.polled = None;
            }
            let interruption = CancellationToken::new();
            let task = Task {
                name: name.clone(),
                catalog,
                memory,
                leads,
                interruption: interruption.clone(),
            };
            self.interruptions.insert(name.clone(), interruption);
            let span = tracing::info_span!(target: "baton::work", "reconcile", kind = "ClusterCatalog", name);
            let deed = look_after(Arc::clone(&self.shared), task);
            let id = self.running.spawn(deed.instrument(span)).id();
            self.names.insert(id, name);
        }
    }

    fn finished(&mut self, finished: Result<(Id, Outcome), tokio::task::JoinError>) {
        let (id, outcome) = match finished {
            Ok((id, outcome)) => (id, Some(outcome)),
            Err(error) => (error.id(), None),
        };
        let Some(name) = self.names.remove(&id) else {
            return;
        };
        self.interruptions.remove(&name);
        let again = if let Some(Outcome { memory, again }) = outcome {
            if self.catalogs.contains_key(&name) {
                self.memories.insert(name.clone(), memory);
            }
            again
        } else {
            tracing::error!(
                catalog = name,
                "looking after the catalog failed unexpectedly; trying again"
            );
            Some(poll::retry_delay(u32::MAX))
        };
        self.queue.finished(&name, again, Instant::now());
    }

    /// Deletes what is served of catalogs that are gone, once it is known which those are.
    fn collect_garbage(&self) {
        if !self.is_complete {
            return;
        }
        let mut existing: BTreeSet<String> = self.catalogs.keys().cloned().collect();
        let contents = Arc::clone(&self.shared.contents);
        let served = contents.names();
        tokio::task::spawn_blocking(move || {
            // A catalog that came only now isn't among those that were known to exist.
            let new = contents.names().into_iter().filter(|name| !served.contains(name));
            existing.extend(new);
            match contents.collect_garbage(&existing) {
                Ok(removed) if removed.is_empty() => {}
                Ok(removed) => tracing::info!(?removed, "removed what was left of deleted catalogs"),
                Err(error) => tracing::warn!(%error, "garbage is left until the next collection"),
            }
        });
    }
}

/// Whether a catalog is polled for an image that somebody names.
fn follows(catalog: &ClusterCatalog, reference: &str) -> bool {
    let Some(image) = &catalog.spec.source.image else {
        return false;
    };
    let is_same = image.reference == reference
        || reference
            .strip_suffix(":latest")
            .is_some_and(|repository| repository == image.reference);
    is_same && image.poll_interval_minutes.is_some()
}

/// The time, for those who only decide.
pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}
