//! The Kubernetes API for one machine, started and served within a command.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use hosts::Hosts;
use image::content::{ContentStore, DEFAULT_CAPACITY_BYTES};
use image::credentials::Secret;
use image::policy::PolicySource;
use image::registry::{Access, Registry, RegistryOptions, Serving as ServedRegistry};
use image::remote::{Remote, RemoteOptions};
use image::surroundings::Surroundings;
use stage::Stage;
use stage::admission::webhooks::simulated::SimulatedWebhooks;
use stage::node::images::{BuiltImages, Images};
use stage::server::{ServeError, ServeOptions, Serving};
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::Failure;
use crate::listening;
use crate::own_registry;
use crate::terminal::Terminal;

/// How long all that uses the cluster may take to end, one after the other: controllers, requests, pushes. Whoever stops a server
/// expects it to be gone within five seconds; the last one is for closing the store, and for the end of the process.
const USERS_END_WITHIN: Duration = Duration::from_secs(4);

/// How the cluster of a command behaves.
#[derive(Args)]
pub(crate) struct ClusterFlags {
    /// How long an event is kept after it was last told
    #[arg(long, value_name = "DURATION", default_value = "1h0m0s", value_parser = chart::go_duration::parse)]
    event_ttl: Duration,
    /// What becomes of a write that a webhook in simulated pods should be asked about: skip lets it go on with a warning and
    /// an event, fail treats the webhook as unreachable
    #[arg(long, value_name = "WHAT", default_value = "skip")]
    simulated_webhooks: SimulatedWebhooksFlag,
    /// Let pods run this machine's programs where their image has none of that name, such as /bin/sh: whoever may create a pod
    /// runs anything as you
    #[arg(long)]
    host_programs: bool,
}

/// What `--simulated-webhooks` may say.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum SimulatedWebhooksFlag {
    Skip,
    Fail,
}

impl From<SimulatedWebhooksFlag> for SimulatedWebhooks {
    fn from(flag: SimulatedWebhooksFlag) -> Self {
        match flag {
            SimulatedWebhooksFlag::Skip => Self::Skip,
            SimulatedWebhooksFlag::Fail => Self::Fail,
        }
    }
}

/// Starts the cluster that a folder keeps, or one in memory. Pods of `images` really run, as soon as the API is served.
pub(crate) async fn start(
    data_dir: Option<PathBuf>,
    images: Option<Arc<dyn Images>>,
    flags: &ClusterFlags,
) -> Result<Stage, Failure> {
    Stage::start(stage::Options {
        data_dir,
        events_kept_for: Some(flags.event_ttl),
        simulated_webhooks: flags.simulated_webhooks.into(),
        node: stage::node::Options {
            images,
            host_programs: flags.host_programs,
            wait_for_listener: true,
            ..stage::node::Options::default()
        },
        ..stage::Options::default()
    })
    .await
    .map_err(|error| Failure::new(error.to_string()))
}

/// Ends what uses the cluster, which is `users`, and then the cluster: every write that was acknowledged is kept. What takes too long is
/// broken off; it is told then.
pub(crate) async fn stop(stage: Stage, users: impl Future<Output = ()>, terminal: &mut Terminal) {
    if tokio::time::timeout(USERS_END_WITHIN, users).await.is_err() {
        let seconds = USERS_END_WITHIN.as_secs();
        terminal.remark(format!("what still ran after {seconds} s is broken off"));
    }
    stage.stop().await;
}

/// Serves the cluster at an address that `flag` gave.
pub(crate) async fn serve(
    stage: &Stage,
    address: SocketAddr,
    flag: &str,
    options: &ServeOptions,
) -> Result<Serving, Failure> {
    stage.serve(address, options).await.map_err(|error| match error {
        ServeError::Remote { address } => listening::remote(address),
        ServeError::Taken { address } => listening::taken(address, flag),
        error => Failure::new(error.to_string()),
    })
}

/// Serves the registry that a folder keeps: everyone on this machine may read, and who has the password may write. `flag` is what gave
/// the address. Called within a Tokio runtime.
pub(crate) fn serve_registry(
    folder: &Path,
    listener: TcpListener,
    flag: &str,
    password: &Secret,
    names: &[String],
) -> Result<ServedRegistry, Failure> {
    let mut options = RegistryOptions::guarded(folder, Access::one_writer(own_registry::USER, password)?);
    let address = listener.local_addr()?;
    let twin = listening::bind_twin(address, flag)?;
    options.hosts = Some(Hosts::of(address.ip()).with_all(names));
    Ok(Registry::open(options)?.serve_with_twin(listener, twin)?)
}

/// The hosts under which images of a registry on this machine are named.
pub(crate) fn hosts(listens_on: SocketAddr) -> Vec<String> {
    let registry = stage::server::local(listens_on);
    let mut hosts = vec![registry.to_string()];
    // Elsewhere `localhost` leads to somebody else.
    if listening::is_localhost(registry) {
        hosts.push(format!("localhost:{}", registry.port()));
    }
    hosts
}

/// The images whose pods really run: those that baton built and that these registries or layouts have, or that were pushed with
/// the password of our own registry.
pub(crate) fn built_images(
    data: Option<&Path>,
    own: Option<&ServedRegistry>,
    registries: Vec<String>,
    layouts: Vec<PathBuf>,
) -> Result<Arc<dyn Images>, Failure> {
    // A store of its own: what other commands fetched from strangers isn't run.
    let store = match data {
        Some(data) => ContentStore::open(&data.join("node/content"), DEFAULT_CAPACITY_BYTES)?,
        None => ContentStore::temporary()?,
    };
    let options = RemoteOptions::from_surroundings(&Surroundings::of_process(), &PolicySource::Optional)?;
    let mut images =
        BuiltImages::new(Arc::new(store), Remote::new(options), registries).with_layouts(layouts);
    if let Some(own) = own {
        images = images.with_own_registry(hosts(own.address()), own.registry().clone());
    }
    Ok(Arc::new(images))
}

/// Makes a write beyond the limit of file sizes fail, as on a full disk, instead of ending the process.
pub(crate) fn outlive_file_limits() -> Option<Signal> {
    // The number is the same on all systems. Where listening is refused, the limit ends the process as ever.
    const FILE_TOO_LARGE: i32 = 25;
    signal(SignalKind::from_raw(FILE_TOO_LARGE)).ok()
}

/// Lets the process have as many open files as it may: each connection is one.
pub(crate) fn allow_many_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        // Where this is refused, fewer connections are served.
        let _ = setrlimit(
            Resource::Nofile,
            Rlimit {
                current: limit.maximum,
                maximum: limit.maximum,
            },
        );
    }
}
