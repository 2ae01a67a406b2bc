//! The one node of the cluster: it binds pods, runs those whose images baton built, and simulates all others.
//!
//! ```text
//! a new pod ─► fit (ledger) ─► bound ─► image built by baton? ─► processes: children, probes, logs, restarts
//!                  │                                └─ no ─► simulation: what its annotations say
//!                  └─ doesn't fit: stays Pending, and says why
//! ```
//!
//! - [`machine`]: the Node object, its status and its lease
//! - [`fit`], [`ledger`], [`requests`]: whether a pod fits, and what the others take
//! - [`mod@line`]: those that don't fit, and who of them is told to try again
//! - [`pods`]: one task for each pod, from its creation to its end
//! - [`simulation`]: pods that nothing really runs
//! - [`images`], [`running`]: pods that really run, with their [`programs`], [`environment`], [`service_links`], [`volumes`],
//!   [`paths`] and `probes`; `orphans` ends what an earlier server left running
//! - [`security`]: what a pod asks for of its rights and doesn't get
//! - [`pod_status`]: what a pod's status says of its containers
//! - [`logs`], [`connect`]: what clients ask of pods

pub mod addresses;
mod cgroup;
pub mod connect;
pub mod environment;
pub mod fit;
pub mod images;
pub mod ledger;
pub mod line;
pub mod log_file;
pub mod logs;
pub mod machine;
mod orphans;
pub mod paths;
pub mod pod_status;
pub mod pods;
pub mod probes;
pub mod process;
pub mod programs;
pub mod requests;
pub mod running;
pub mod security;
pub mod service_links;
pub mod simulation;
pub mod volumes;

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use http::Response;
use serde_json::Value;
use tokio::sync::{Notify, watch};

use addresses::Occupant;

use crate::Body;
use crate::api::{Api, Place};
use crate::client::Client;
use crate::controllers::work::{Item, Running};
use crate::events::{Recorder, Reporter};
use crate::object::Object;
use crate::status::Status;
use crate::wire::Asked;

/// The name of the node.
pub const NODE_NAME: &str = "baton";

/// Where the programs of pods listen: they share this machine's ports.
pub const PROGRAMS_LISTEN: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// How long a simulated pod takes to be ready, unless it or the options say otherwise.
const USUAL_DELAY: Duration = Duration::from_millis(20);

const SCHEDULER: Reporter = Reporter {
    component: "default-scheduler",
    host: NODE_NAME,
    program: "kube-scheduler",
};
const KUBELET: Reporter = Reporter {
    component: "kubelet",
    host: NODE_NAME,
    program: "kubelet",
};

/// What the node runs.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// How long a simulated pod takes to be ready; `None` for 20 ms.
    pub simulated_delay: Option<Duration>,
    /// Amounts of resources that stand before what the machine has, such as `nvidia.com/gpu: "8"`.
    pub capacity: BTreeMap<String, String>,
    /// Where images that baton built are found; without it, every pod is simulated.
    pub images: Option<Arc<dyn images::Images>>,
    /// Whether pods may run this machine's programs where their image has none of that name.
    pub host_programs: bool,
    /// Whether programs of pods wait until the API listens, because they are told where.
    pub wait_for_listener: bool,
}

/// The node, as the API sees it.
#[derive(Debug, Clone)]
pub struct Handle {
    shared: Arc<Shared>,
}

/// What the tasks of the node share.
#[derive(Debug)]
pub(crate) struct Shared {
    options: Options,
    ledger: Mutex<ledger::Ledger>,
    addresses: Mutex<addresses::Addresses>,
    /// The tasks of pods, and how each is told to look again.
    tasks: Mutex<HashMap<Item, Arc<Notify>>>,
    /// Those that wait for the node. Who holds the ledger as well takes it first.
    line: Mutex<line::Line>,
    /// The node as it was last read.
    seen: Mutex<Option<Arc<Seen>>>,
    recorder: OnceLock<Recorder>,
    /// Where the API listens, for the programs of pods.
    listener: watch::Sender<Option<SocketAddr>>,
    directory: OnceLock<Directory>,
    /// Whether it was told that limits aren't kept.
    limits_told: AtomicBool,
}

/// The Node object as it was read.
#[derive(Debug)]
struct Seen {
    revision: u64,
    node: Value,
    /// What it has to give.
    room: requests::Amounts,
}

/// Where the node keeps the files of pods and images.
#[derive(Debug)]
struct Directory {
    path: PathBuf,
    /// Whether it goes with the node.
    is_temporary: bool,
}

impl Drop for Directory {
    fn drop(&mut self) {
        if self.is_temporary {
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is kept is whole after every statement, so a panic elsewhere doesn't spoil it.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn tell(&self, with: impl FnOnce(&Recorder)) {
        if let Some(recorder) = self.recorder.get() {
            with(recorder);
        }
    }

    /// Returns the Node, which is read anew only when it was written.
    fn seen(&self, client: &Client) -> Result<Option<Arc<Seen>>, Status> {
        let Some(stored) = client.get_stored(machine::NODES, "", NODE_NAME)? else {
            return Ok(None);
        };
        let mut seen = lock(&self.seen);
        if let Some(known) = seen.as_ref().filter(|known| known.revision == stored.revision) {
            return Ok(Some(known.clone()));
        }
        let node = stored.value();
        let now = Arc::new(Seen {
            revision: stored.revision,
            room: requests::amounts(&node["status"]["allocatable"]),
            node,
        });
        *seen = Some(now.clone());
        Ok(Some(now))
    }

    /// Enters what a pod takes, and tells those who wait for such a neighbour.
    fn enter(&self, pod: &Value) {
        let mut ledger = lock(&self.ledger);
        if ledger.enter(pod) {
            lock(&self.line).arrived(pod.namespace(), &fit::labels_of(pod));
        }
    }

    /// Has a pod wait no longer.
    fn leave_line(&self, item: &Item) {
        if lock(&self.line).has(item) {
            let ledger = lock(&self.ledger);
            lock(&self.line).leave(&ledger, item);
        }
    }

    /// Gives back what a pod took, and tells those whom that may help.
    fn release(&self, uid: &str) {
        lock(&self.addresses).release(uid);
        let mut ledger = lock(&self.ledger);
        if ledger.strike(uid) {
            lock(&self.line).departed(&ledger);
        }
    }

    /// Returns where the node keeps its files: beside the cluster's data, or where they go with it.
    fn directory(&self, data: Option<&Path>) -> &Path {
        let directory = self.directory.get_or_init(|| match data {
            Some(data) => Directory {
                // Programs start in directories of their own, so the path must lead there from anywhere.
                path: std::path::absolute(data)
                    .unwrap_or_else(|_| data.to_owned())
                    .join("node"),
                is_temporary: false,
            },
            None => Directory {
                path: std::env::temp_dir().join(format!("baton-node-{}", uuid::Uuid::new_v4().simple())),
                is_temporary: true,
            },
        });
        &directory.path
    }

    fn pod_directory(&self, uid: &str) -> PathBuf {
        self.directory(None).join("pods").join(uid)
    }

    fn claim_directory(&self, namespace: &str, claim: &str) -> PathBuf {
        self.directory(None).join("claims").join(namespace).join(claim)
    }

    /// Removes the files of pods that went while the node was away.
    fn remove_leftovers(&self, known: &[&str]) {
        let Ok(entries) = std::fs::read_dir(self.directory(None).join("pods")) else {
            return;
        };
        for entry in entries.flatten() {
            if !known.iter().any(|uid| *entry.file_name() == **uid) {
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
    }

    fn listener(&self) -> Option<SocketAddr> {
        *self.listener.borrow()
    }

    /// Waits until the API listens, where programs are to be told.
    async fn listening(&self) {
        if self.options.wait_for_listener {
            // The sender is here, so it doesn't end.
            let _ = self.listener.subscribe().wait_for(Option::is_some).await;
        }
    }

    fn simulated_delay(&self) -> Duration {
        self.options.simulated_delay.unwrap_or(USUAL_DELAY)
    }
}

impl Default for Handle {
    fn default() -> Self {
        Self::new(&Options::default())
    }
}

impl Handle {
    /// Returns a node that isn't started.
    pub fn new(options: &Options) -> Self {
        Self {
            shared: Arc::new(Shared {
                options: options.clone(),
                ledger: Mutex::default(),
                addresses: Mutex::default(),
                tasks: Mutex::default(),
                line: Mutex::default(),
                seen: Mutex::default(),
                recorder: OnceLock::new(),
                listener: watch::Sender::new(None),
                directory: OnceLock::new(),
                limits_told: AtomicBool::new(false),
            }),
        }
    }

    /// Notes where the API listens, so that the programs of pods find it.
    pub fn note_listener(&self, address: SocketAddr) {
        self.shared.listener.send_replace(Some(address));
    }

    /// Answers a request for the logs of a pod.
    #[expect(
        clippy::unused_async,
        reason = "whoever asks needn't know that logs are on this machine"
    )]
    pub async fn logs(&self, api: &Arc<Api>, asked: &Asked, place: &Place) -> Result<Response<Body>, Status> {
        logs::answer(&self.shared, api, asked, place)
    }

    /// Answers a request to connect to a pod, a service or a node.
    pub async fn connect(
        &self,
        api: &Arc<Api>,
        asked: &Asked,
        place: &Place,
    ) -> Result<Response<Body>, Status> {
        connect::answer(self, api, asked, place).await
    }

    /// Returns who answers at an address; `None` where it isn't one that pods have.
    pub fn occupant(&self, address: &IpAddr) -> Option<Occupant> {
        lock(&self.shared.addresses).occupant(address)
    }

    /// Returns who answers for a pod, by its uid. What its status says of its address doesn't count: others than the node may
    /// write it.
    pub fn occupant_of(&self, uid: &str) -> Occupant {
        lock(&self.shared.addresses).occupant_of(uid)
    }
}

/// Starts the node: its object and lease, the scheduler, and a task for every pod.
pub fn start(api: &Arc<Api>) -> Running {
    let shared = api.node.shared.clone();
    // A node that is started again tells through the recorder it has.
    let _ = shared.recorder.set(api.events.recorder(KUBELET));
    shared.directory(api.options.data_dir.as_deref());
    let machine = Arc::new(machine::Machine::look(&shared.options));
    Running::of(vec![
        tokio::spawn(machine::keep(Arc::downgrade(api), machine)),
        tokio::spawn(pods::dispatch(Arc::downgrade(api), shared)),
    ])
}

#[cfg(test)]
mod tests;
