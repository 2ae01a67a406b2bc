//! Catalogs: how each is reached, and what it holds.
//!
//! ```text
//! CatalogSource ─ Wish ─► a task each: link (gRPC) │ image (pulled here, no pod) │ config_map ─► Standing (state, content)
//! ```
//!
//! A catalog that is slow, away or talks nonsense keeps its own task busy and nobody else.

pub mod config_map;
pub mod content;
pub mod image;
pub mod link;
pub mod proxy;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use ::image::reference::Reference;
use install_plan::source::Told;
use jiff::Timestamp;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use content::{Content, ContentError};
use image::{Images, Pulled};
use link::Link;

/// How long reading a catalog may take, as upstream has it.
const READ_WITHIN: Duration = Duration::from_mins(1);

/// How long content is used before it is read anew, as upstream has it.
const READ_AGAIN_AFTER: Duration = Duration::from_mins(30);

/// How long the second try waits; each further one waits twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// How long a try waits at most.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// A catalog by its namespace and name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceName {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl fmt::Display for SourceName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.namespace, self.name)
    }
}

/// Where a catalog comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    /// A server.
    Address(String),
    /// An image.
    Image {
        /// The image.
        reference: String,
        /// The Secrets with credentials, in the namespace of the catalog.
        secrets: Vec<String>,
        /// How often the registry is asked for another one.
        every: Option<Duration>,
    },
    /// A ConfigMap in the namespace of the catalog, in the state with this version.
    ConfigMap {
        /// Its name.
        name: String,
        /// Its version.
        version: String,
    },
    /// Nothing, until there is a ConfigMap of this name in the namespace of the catalog.
    MissingConfigMap {
        /// Its name.
        name: String,
    },
}

/// The state of a connection, in the words of gRPC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connectivity {
    /// Nothing was tried yet.
    Idle,
    /// It is being tried.
    Connecting,
    /// It works.
    Ready,
    /// It doesn't, and is tried again.
    TransientFailure,
}

impl fmt::Display for Connectivity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Idle => "IDLE",
            Self::Connecting => "CONNECTING",
            Self::Ready => "READY",
            Self::TransientFailure => "TRANSIENT_FAILURE",
        })
    }
}

/// How a catalog stands.
#[derive(Debug, Clone)]
pub struct Standing {
    /// Where it comes from.
    pub wish: Wish,
    /// The state of the connection.
    pub connectivity: Connectivity,
    /// Since when it is so.
    pub since: Timestamp,
    /// What it holds, or why that is not known.
    pub content: Result<Arc<Content>, ContentError>,
    /// The image by digest, for those that come from one.
    pub image: Option<String>,
    /// Who signed the image; none where nobody had to.
    pub signature: Option<String>,
    /// When the registry was last asked.
    pub polled: Option<Timestamp>,
    /// Counts the contents, so that whoever has seen one knows that another came.
    pub edition: u64,
    /// What was said of it in its status last.
    pub told: Option<Told>,
}

/// Called when a catalog stands differently, and with whether what is known of its content is new.
pub type Heed = Arc<dyn Fn(&SourceName, bool) + Send + Sync>;

/// All catalogs.
pub struct Sources {
    shared: Arc<Shared>,
    tasks: Mutex<BTreeMap<SourceName, Task>>,
}

struct Task {
    wish: Wish,
    running: AbortHandle,
    /// Has the task look at once whether its image moved.
    moved: Arc<Notify>,
}

impl Drop for Task {
    fn drop(&mut self) {
        self.running.abort();
    }
}

struct Shared {
    client: kube::Client,
    images: Option<Images>,
    standings: RwLock<BTreeMap<SourceName, Standing>>,
    heed: Heed,
}

impl Sources {
    /// Looks after no catalog yet. Without a way to images, catalogs that come from one say so.
    pub fn new(client: kube::Client, images: Option<Images>, heed: Heed) -> Self {
        Self {
            shared: Arc::new(Shared {
                client,
                images,
                standings: RwLock::default(),
                heed,
            }),
            tasks: Mutex::default(),
        }
    }

    /// Looks after a catalog from now on; where nothing changed for it, it goes on as it was.
    pub fn look_after(&self, name: &SourceName, wish: &Wish) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        if tasks.get(name).is_some_and(|task| task.wish == *wish) {
            return;
        }
        let before = self.shared.standing(name);
        // What a ConfigMap held that is gone is gone with it.
        let mut before = before.filter(|_| !matches!(wish, Wish::MissingConfigMap { .. }));
        // What it held stays in use until the new place was read.
        if let Some(before) = &mut before {
            before.wish = wish.clone();
            before.connectivity = Connectivity::Idle;
        }
        let standing = before.unwrap_or_else(|| Standing {
            wish: wish.clone(),
            connectivity: Connectivity::Idle,
            since: Timestamp::now(),
            content: Err(ContentError::NotConnected {
                namespace: name.namespace.clone(),
                name: name.name.clone(),
            }),
            image: None,
            signature: None,
            polled: None,
            edition: 0,
            told: None,
        });
        self.shared.set(name, standing);
        let moved = Arc::new(Notify::new());
        let running = Running {
            shared: Arc::clone(&self.shared),
            name: name.clone(),
            moved: Arc::clone(&moved),
        };
        let wished = wish.clone();
        let running = tokio::spawn(async move { running.run(wished).await }).abort_handle();
        tasks.insert(
            name.clone(),
            Task {
                wish: wish.clone(),
                running,
                moved,
            },
        );
    }

    /// Polls the catalogs of an image that stands for something else now, as far as they follow it.
    pub fn image_moved(&self, image: &str) {
        let named = |text: &str| Reference::parse(text).ok().map(|reference| reference.or_latest());
        let image = named(image);
        let tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        for task in tasks.values() {
            if let Wish::Image {
                reference,
                every: Some(_),
                ..
            } = &task.wish
                && named(reference) == image
            {
                task.moved.notify_one();
            }
        }
    }

    /// Looks after a catalog no longer.
    pub fn forget(&self, name: &SourceName) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        if tasks.remove(name).is_some() {
            let mut standings = self
                .shared
                .standings
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            standings.remove(name);
        }
    }

    /// Looks after no catalog any more.
    pub fn stop(&self) {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Remembers what was said of a catalog in its status.
    pub fn told(&self, name: &SourceName, told: Told) {
        let mut standings = self
            .shared
            .standings
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(standing) = standings.get_mut(name) {
            standing.told = Some(told);
        }
    }

    /// Returns how a catalog stands; none if nobody looks after it.
    pub fn standing(&self, name: &SourceName) -> Option<Standing> {
        self.shared.standing(name)
    }

    /// Returns how all catalogs stand.
    pub fn standings(&self) -> BTreeMap<SourceName, Standing> {
        let standings = self
            .shared
            .standings
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        standings.clone()
    }
}

impl Shared {
    fn standing(&self, name: &SourceName) -> Option<Standing> {
        let standings = self.standings.read().unwrap_or_else(PoisonError::into_inner);
        standings.get(name).cloned()
    }

    fn set(&self, name: &SourceName, standing: Standing) {
        let mut standings = self.standings.write().unwrap_or_else(PoisonError::into_inner);
        standings.insert(name.clone(), standing);
    }
}

/// The task of one catalog.
struct Running {
    shared: Arc<Shared>,
    name: SourceName,
    moved: Arc<Notify>,
}

/// How long to wait, longer with each failure.
#[derive(Default)]
struct Patience {
    failures: u32,
}

impl Patience {
    fn pause(&mut self) -> Duration {
        let pause = FIRST_PAUSE.saturating_mul(1 << self.failures.min(12));
        self.failures += 1;
        pause.min(LONGEST_PAUSE)
    }
}

impl Running {
    async fn run(&self, wish: Wish) {
        match wish {
            Wish::Address(address) => self.follow_server(&address).await,
            Wish::Image {
                reference,
                secrets,
                every,
            } => self.follow_image(&reference, &secrets, every).await,
            Wish::ConfigMap { name, .. } => self.read_config_map(&name).await,
            Wish::MissingConfigMap { name } => self.wait_for_config_map(&name).await,
        }
    }

    /// Changes the standing and tells of it.
    fn update(&self, change: impl FnOnce(&mut Standing)) {
        let is_new = {
            let mut standings = self
                .shared
                .standings
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            let Some(standing) = standings.get_mut(&self.name) else {
                return;
            };
            let before = (standing.connectivity, standing.edition);
            let fault = standing.content.as_ref().err().cloned();
            change(standing);
            if standing.connectivity != before.0 {
                standing.since = Timestamp::now();
            }
            standing.edition != before.1 || standing.content.as_ref().err() != fault.as_ref()
        };
        (self.shared.heed)(&self.name, is_new);
    }

    /// Says that a connection is tried. What failed goes on failing until it works, as in Go's gRPC: nobody wants to be told of
    /// each try.
    fn connecting(&self) {
        self.update(|standing| {
            if standing.connectivity != Connectivity::TransientFailure {
                standing.connectivity = Connectivity::Connecting;
            }
        });
    }

    /// Says that a connection that worked is lost.
    fn lost(&self) {
        self.update(|standing| {
            if standing.connectivity == Connectivity::Ready {
                standing.connectivity = Connectivity::Idle;
            }
        });
    }

    /// Keeps new content, or why there is none; content that is known stays while a server is away.
    fn take(&self, content: Result<Content, ContentError>) -> bool {
        let is_good = content.is_ok();
        self.update(|standing| {
            standing.connectivity = if is_good {
                Connectivity::Ready
            } else {
                Connectivity::TransientFailure
            };
            standing.content = content.map(Arc::new);
            standing.edition += u64::from(is_good);
        });
        is_good
    }

    async fn follow_server(&self, address: &str) {
        let mut patience = Patience::default();
        loop {
            self.connecting();
            match Link::open(address).await {
                Ok(mut link) => {
                    self.keep_reading(&mut link, &mut patience).await;
                    self.lost();
                }
                Err(fault) => {
                    self.take(Err(ContentError::Bundles(fault)));
                }
            }
            tokio::time::sleep(patience.pause()).await;
        }
    }

    /// Reads a catalog, and again after a time, until the connection is lost.
    async fn keep_reading(&self, link: &mut Link, patience: &mut Patience) {
        loop {
            let reading = tokio::time::timeout(
                READ_WITHIN,
                Content::from_server(&self.name, link.channel.clone()),
            );
            let content = reading.await.unwrap_or_else(|_| {
                Err(ContentError::Bundles(
                    "rpc error: code = DeadlineExceeded desc = context deadline exceeded".to_owned(),
                ))
            });
            let pause = if self.take(content) {
                *patience = Patience::default();
                READ_AGAIN_AFTER
            } else {
                patience.pause()
            };
            tokio::select! {
                () = link.lost() => return,
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    async fn follow_image(&self, reference: &str, secrets: &[String], every: Option<Duration>) {
        let mut patience = Patience::default();
        let mut known: Option<String> = None;
        loop {
            if known.is_none() {
                self.connecting();
            }
            let pause = match self.pull(reference, secrets, known.as_deref()).await {
                Ok(pulled) => {
                    patience = Patience::default();
                    let now = Timestamp::now();
                    if let Some(Pulled {
                        image,
                        content,
                        signature,
                    }) = pulled
                    {
                        self.update(|standing| {
                            standing.image = Some(image.clone());
                            standing.signature = signature;
                        });
                        self.take(Ok(content));
                        known = Some(image);
                    }
                    if every.is_some() {
                        self.update(|standing| standing.polled = Some(now));
                    }
                    every
                }
                Err(fault) => {
                    // What is served goes on being served.
                    if known.is_none() {
                        self.take(Err(ContentError::Image(fault)));
                    } else {
                        tracing::warn!(catalog = %self.name, fault, "a newer image can't be had");
                    }
                    Some(patience.pause())
                }
            };
            match pause {
                Some(pause) => tokio::select! {
                    () = tokio::time::sleep(pause) => {}
                    () = self.moved.notified() => {}
                },
                None => std::future::pending().await,
            }
        }
    }

    async fn pull(
        &self,
        reference: &str,
        secrets: &[String],
        known: Option<&str>,
    ) -> Result<Option<Pulled>, String> {
        let Some(images) = &self.shared.images else {
            return Err("images can't be pulled here; give the address of a server instead".to_owned());
        };
        let secrets = image::credentials(&self.shared.client, &self.name.namespace, secrets).await?;
        images.catalog(&self.name, reference, secrets, known).await
    }

    async fn read_config_map(&self, name: &str) {
        let mut patience = Patience::default();
        self.connecting();
        loop {
            let content = config_map::read(&self.shared.client, &self.name, name).await;
            if self.take(content) {
                // A change of the ConfigMap is another wish.
                std::future::pending::<()>().await;
            }
            tokio::time::sleep(patience.pause()).await;
        }
    }

    /// Tells when a ConfigMap is there: the watch on ConfigMaps is one on those with a label, which it doesn't have yet.
    async fn wait_for_config_map(&self, name: &str) {
        let mut patience = Patience::default();
        while config_map::comes_and_goes(&self.shared.client, &self.name, name, || {
            (self.shared.heed)(&self.name, false);
        })
        .await
        .is_err()
        {
            tokio::time::sleep(patience.pause()).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_doubles_the_wait_up_to_an_end() {
        let mut patience = Patience::default();
        let pauses: Vec<Duration> = (0..20).map(|_| patience.pause()).collect();
        assert_eq!(pauses[..3], [250, 500, 1000].map(Duration::from_millis));
        assert_eq!(pauses[19], LONGEST_PAUSE);
    }
}
