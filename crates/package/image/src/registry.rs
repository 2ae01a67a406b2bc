//! The embedded registry: OCI distribution 1.1 on a folder of files.
//!
//! ```text
//! serving ─► requests ┬► pull, listing ───────────────► store ─► layout, durable   (what repositories have)
//!            routes   ├► push ─► uploads ─(verified)──►   ▲
//!            access   └► manage ─► manifest ──────────►   │
//!            tokens                                  garbage
//! ```
//!
//! Blobs are never in memory: pieces go from the socket to the file of an upload while they are hashed, and from the file
//! to the socket when they are pulled. A blob or manifest is put in its place by a rename after it was verified and
//! synced, so that a reader, another push or a killed process never leaves or sees a part of one.
//!
//! One process serves a folder; it holds a lock on it.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use image::registry::{Registry, RegistryOptions};
//!
//! let registry = Registry::open(RegistryOptions::open_to_all("/var/lib/registry"))?;
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:5000").await?;
//! let serving = registry.serve(listener, None)?;
//! tokio::signal::ctrl_c().await?;
//! serving.stop().await;
//! # Ok(())
//! # }
//! ```

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::middleware::map_request;
use axum::routing::any;
use hosts::Hosts;
use http::StatusCode;
use http::header::RETRY_AFTER;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, broadcast};

mod access;
mod content_digest;
mod durable;
mod garbage;
mod layout;
mod listing;
mod manage;
mod manifest;
mod names;
mod pull;
mod push;
mod pushers;
mod ranges;
mod refusal;
mod requests;
mod routes;
mod serving;
mod store;
mod tokens;
mod uploads;

pub use access::{Access, Strangers, Users};
pub use garbage::{DEFAULT_GRACE, GarbageOptions, GarbageReport};
pub use listing::MAX_PAGE_ENTRIES;
pub use manage::MAX_TAGS_PER_PUSH;
pub use manifest::MAX_MANIFEST_BYTES;
pub use names::{MAX_REPOSITORY_NAME_BYTES, MAX_TAG_BYTES};
pub(crate) use pull::{NOBODY, PUSHER};
pub use push::MAX_CONCURRENT_WRITES;
pub use pushers::note_pusher;
pub use serving::{Serving, TlsIdentity};
pub use uploads::{MAX_UPLOAD_AGE, MAX_UPLOAD_SESSIONS};

use layout::Layout;
use refusal::{ErrorCode, Refusal};
use store::Store;
use uploads::Uploads;

/// The largest blob unless the options say otherwise: far above any layer of an operator, below what fills most disks.
pub const DEFAULT_MAX_BLOB_BYTES: u64 = 32 << 30;

/// How often garbage is collected while a registry is served, unless the options say otherwise.
pub const DEFAULT_COLLECT_EVERY: Duration = Duration::from_hours(6);

/// How often abandoned uploads are looked for where garbage isn't collected.
const EXPIRE_EVERY: Duration = Duration::from_hours(1);

/// The layout that this version writes.
const LAYOUT_VERSION: &str = "baton registry, layout 1\n";

/// Why a registry can't be opened or served.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// The folder can't be prepared.
    #[error("cannot open the registry in {}: cannot {action}: {source}", folder.display())]
    Folder {
        /// The registry's folder.
        folder: PathBuf,
        /// What was tried.
        action: &'static str,
        /// What the disk said.
        source: io::Error,
    },
    /// The folder holds something else.
    #[error("{} is not a registry and not empty: choose another folder, or empty this one", .0.display())]
    NotARegistry(PathBuf),
    /// The folder was written by a version with another layout.
    #[error("the registry in {} has layout {found:?}, which this version can't read: use the version that wrote it", folder.display())]
    OtherLayout {
        /// The registry's folder.
        folder: PathBuf,
        /// What its version file says.
        found: String,
    },
    /// Another process serves the folder.
    #[error("the registry in {} is in use by another process: stop that one first", .0.display())]
    InUse(PathBuf),
    /// The htpasswd file can't be read.
    #[error("cannot read the passwords in {}: {source}", path.display())]
    Htpasswd {
        /// The file.
        path: PathBuf,
        /// What the disk said.
        source: io::Error,
    },
    /// A line of the htpasswd file isn't a name with a bcrypt hash.
    #[error("line {line} of {} is not a name and a bcrypt hash: write it with `htpasswd -B`", path.display())]
    HtpasswdLine {
        /// The file.
        path: PathBuf,
        /// The number of the line.
        line: usize,
    },
    /// Certificate and key can't be used.
    #[error("cannot serve with TLS: {cause}: give a certificate and its key as PEM files")]
    Tls {
        /// What is wrong.
        cause: String,
    },
    /// The socket can't be used.
    #[error("cannot listen: {0}")]
    Listener(#[source] io::Error),
    /// What is stored can't be read.
    #[error("cannot read the registry: {0}")]
    Read(String),
    /// There is no randomness for keys.
    #[error("cannot make a key: the system has no randomness to give")]
    NoRandomness,
    /// Garbage wasn't collected, or not all of it.
    #[error("cannot collect garbage: {0}")]
    Garbage(String),
}

/// What a registry is to be like.
#[derive(Debug)]
pub struct RegistryOptions {
    /// Where everything is kept. The folder is created when it isn't there.
    pub folder: PathBuf,
    /// Who may read and write.
    pub access: Access,
    /// The names by which it is asked; any when nothing is said.
    pub hosts: Option<Hosts>,
    /// Whether pushing and deleting are refused.
    pub read_only: bool,
    /// Whether a tag, once pushed, always stands for the same manifest and can't be deleted.
    pub immutable_tags: bool,
    /// The largest blob that is taken.
    pub max_blob_bytes: u64,
    /// How often garbage is collected while the registry is served; never when nothing is said.
    pub collect_every: Option<Duration>,
    /// What those collections may remove.
    pub garbage: GarbageOptions,
}

impl RegistryOptions {
    /// A registry in `folder` that everyone who reaches it may read and write.
    pub fn open_to_all(folder: impl Into<PathBuf>) -> Self {
        Self::guarded(folder, Access::Open)
    }

    /// A registry in `folder` that those may use whom `access` lets in.
    pub fn guarded(folder: impl Into<PathBuf>, access: Access) -> Self {
        Self {
            folder: folder.into(),
            access,
            hosts: None,
            read_only: false,
            immutable_tags: false,
            max_blob_bytes: DEFAULT_MAX_BLOB_BYTES,
            collect_every: Some(DEFAULT_COLLECT_EVERY),
            garbage: GarbageOptions::default(),
        }
    }
}

/// How many pushed tags wait for those who want to hear of them.
const TOLD_AT_ONCE: usize = 256;

/// A tag that was pushed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tagged {
    /// The repository, without the registry's host.
    pub repository: String,
    /// The tag.
    pub tag: String,
}

/// What all requests share.
#[derive(Debug)]
struct Shared {
    options: RegistryOptions,
    store: Store,
    uploads: Uploads,
    turns: Arc<Semaphore>,
    collecting: Mutex<()>,
    /// Tells who listens which tags were pushed.
    tagged: broadcast::Sender<Tagged>,
    /// Keeps other processes out for as long as this value lives.
    _lock: File,
}

/// An OCI registry in a folder.
#[derive(Debug, Clone)]
pub struct Registry(Arc<Shared>);

impl Registry {
    /// Opens the registry in a folder, or makes an empty one there.
    pub fn open(options: RegistryOptions) -> Result<Self, RegistryError> {
        let layout = Layout::new(&options.folder);
        let lock = prepare(&layout)?;
        let failed = |action| {
            let folder = options.folder.clone();
            move |source| RegistryError::Folder {
                folder,
                action,
                source,
            }
        };
        let uploads = Uploads::open(&layout.uploads()).map_err(failed("read the unfinished uploads"))?;
        Ok(Self(Arc::new(Shared {
            store: Store::new(layout, options.immutable_tags),
            uploads,
            turns: Arc::new(Semaphore::new(MAX_CONCURRENT_WRITES)),
            collecting: Mutex::new(()),
            tagged: broadcast::channel(TOLD_AT_ONCE).0,
            options,
            _lock: lock,
        })))
    }

    /// Serves a registry that everyone may read and write in `folder`, on a free port of this machine alone.
    pub async fn serve_on_loopback(folder: impl Into<PathBuf>) -> Result<Serving, RegistryError> {
        let registry = Self::open(RegistryOptions::open_to_all(folder))?;
        let listener = TcpListener::bind("127.0.0.1:0")
            .await
            .map_err(RegistryError::Listener)?;
        registry.serve(listener, None)
    }

    /// Hears of every tag that is pushed from now on. Who listens too slowly misses the oldest.
    pub fn tagged(&self) -> broadcast::Receiver<Tagged> {
        self.0.tagged.subscribe()
    }

    /// The routes below `/v2`, to be served alone or merged with others.
    pub fn router(&self) -> Router {
        Router::new()
            .route("/v2", any(requests::answer))
            .route(tokens::PATH, any(tokens::answer))
            .route("/v2/", any(requests::answer))
            .route("/v2/{*path}", any(requests::answer))
            .layer(map_request(requests::name_host))
            .with_state(self.clone())
    }

    /// Serves the registry on a socket until the result is told to stop, and collects garbage meanwhile. Called within a
    /// Tokio runtime.
    pub fn serve(&self, listener: TcpListener, tls: Option<TlsIdentity>) -> Result<Serving, RegistryError> {
        Serving::start(self.clone(), listener, None, tls)
    }

    /// Serves the registry as [`Registry::serve`] does, at the address that the name `localhost` may lead to as well.
    pub fn serve_with_twin(
        &self,
        listener: TcpListener,
        twin: Option<TcpListener>,
    ) -> Result<Serving, RegistryError> {
        Serving::start(self.clone(), listener, twin, None)
    }

    /// Removes blobs that no manifest refers to and uploads that were abandoned. Blocks; pushes go on meanwhile.
    pub fn collect_garbage(&self, options: &GarbageOptions) -> Result<GarbageReport, RegistryError> {
        let _collecting = self.0.collecting.lock().unwrap_or_else(PoisonError::into_inner);
        let uploads_expired = self.0.uploads.expire(MAX_UPLOAD_AGE);
        let report = garbage::collect(&self.0.store, options)
            .map_err(|error| RegistryError::Garbage(error.to_string()))?;
        Ok(GarbageReport {
            uploads_expired,
            ..report
        })
    }

    /// Collects garbage again and again, as the options say, and throws away uploads that were abandoned.
    async fn keep_house(self) {
        if self.0.options.read_only {
            return;
        }
        let collect_every = self.0.options.collect_every;
        loop {
            tokio::time::sleep(collect_every.unwrap_or(EXPIRE_EVERY)).await;
            let registry = self.clone();
            // A failure is tried again next time; until then there is only some garbage more.
            let _ = tokio::task::spawn_blocking(move || {
                if collect_every.is_some() {
                    let _ = registry.collect_garbage(&registry.0.options.garbage);
                } else {
                    registry.0.uploads.expire(MAX_UPLOAD_AGE);
                }
            })
            .await;
        }
    }

    fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.0)
    }

    /// Runs what blocks on a thread for that.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Shared) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let shared = self.shared();
        tokio::task::spawn_blocking(move || work(&shared))
            .await
            .unwrap_or_else(|_| Err(failed_task()))
    }

    /// Waits until fewer than [`MAX_CONCURRENT_WRITES`] uploads are being written.
    async fn writing_turn(&self, patience: Duration) -> Result<OwnedSemaphorePermit, Refusal> {
        match tokio::time::timeout(patience, Arc::clone(&self.0.turns).acquire_owned()).await {
            Ok(Ok(turn)) => Ok(turn),
            _ => Err(Refusal::new(
                StatusCode::TOO_MANY_REQUESTS,
                ErrorCode::TooManyRequests,
                format_args!("{MAX_CONCURRENT_WRITES} uploads are being written: try again later"),
                json!({ "limit": MAX_CONCURRENT_WRITES }),
            )
            .with_header(RETRY_AFTER, "10")),
        }
    }
}

/// Makes a folder a registry, or makes sure that it is one, and locks it.
fn prepare(layout: &Layout) -> Result<File, RegistryError> {
    let folder = layout.folder();
    let failed = |action: &'static str| {
        move |source| RegistryError::Folder {
            folder: folder.to_path_buf(),
            action,
            source,
        }
    };
    durable::create_folders(folder).map_err(failed("create the folder"))?;
    let version =
        durable::if_present(fs::read_to_string(layout.version())).map_err(failed("read its version"))?;
    if version.is_none() {
        let names = durable::names_in(folder).map_err(failed("list the folder"))?;
        // A process that was killed while it made the registry leaves these.
        let is_ours = |name: &String| matches!(name.as_str(), "lock" | "temporary" | "lost+found");
        if !names.iter().all(is_ours) {
            return Err(RegistryError::NotARegistry(folder.to_path_buf()));
        }
    }
    let lock = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(layout.lock())
        .map_err(failed("create its lock"))?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(fs::TryLockError::WouldBlock) => return Err(RegistryError::InUse(folder.to_path_buf())),
        Err(fs::TryLockError::Error(error)) => return Err(failed("lock it")(error)),
    }
    let temporary = layout.temporary();
    if temporary.exists() {
        fs::remove_dir_all(&temporary).map_err(failed("remove what was left behind"))?;
    }
    for part in [temporary.clone(), layout.uploads(), layout.repositories()] {
        durable::create_folders(&part).map_err(failed("create its folders"))?;
    }
    match version {
        Some(version) if version == LAYOUT_VERSION => {}
        Some(found) => {
            return Err(RegistryError::OtherLayout {
                folder: folder.to_path_buf(),
                found: found.trim_end().to_owned(),
            });
        }
        None => {
            durable::replace(&temporary, &layout.version(), LAYOUT_VERSION.as_bytes())
                .map_err(failed("write its version"))?;
        }
    }
    Ok(lock)
}

/// The answer when a thread of ours died.
fn failed_task() -> Refusal {
    Refusal::new(
        StatusCode::INTERNAL_SERVER_ERROR,
        ErrorCode::Unknown,
        "the registry failed in the middle of the request: try again",
        json!(null),
    )
}
