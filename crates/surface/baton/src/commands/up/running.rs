//! Everything that `baton up` runs: started together, stopped in turn.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use ::console::Token;
use api::keys;
use catalog_controller::pull_secrets::GlobalSecrets;
use duty::leader::Tenure;
use extension_controller::bundles::Certificates;
use extension_controller::controller;
use hosts::Hosts;
use image::credentials::Secret;
use image::registry::Serving as ServedRegistry;
use kube::Client;
use resolve::resolution::BrokenCatalogs;
use stage::Stage;
use stage::server::{ServeOptions, Serving as ServedApi};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::addresses::{self, AddressFlags, Remembered};
use super::console::ServedConsole;
use super::following;
use crate::failure::Failure;
use crate::hosted_stage::{self, ClusterFlags};
use crate::images::Images;
use crate::leadership::becomes_true;
use crate::olm::{self, ClassicOptions, Extent, MetricsPlace, Olm, PackagePlace};
use crate::served_router::ServedRouter;
use crate::terminal::Terminal;

/// Who looks after extensions here. The same at every start, so that the Lease of one that was killed needn't run out: the
/// folder's lock lets only one live.
const IDENTITY: &str = "baton-up";

/// How often the Leases are renewed. A renewal finds out that the namespace with the Leases was deleted, and half a minute after that
/// everything is to be as before; deleting a namespace takes a part of it.
const LEASES_RENEWED_EVERY: Duration = Duration::from_secs(10);

/// The names of the Service that catalogs have in a cluster, for programs that were told them.
const CATALOG_SERVICE: [&str; 3] = [
    "catalogd-service.olmv1-system",
    "catalogd-service.olmv1-system.svc",
    "catalogd-service.olmv1-system.svc.cluster.local",
];

/// What is to run.
pub(super) struct Plan<'a> {
    /// The folder of the cluster; `None` is memory.
    pub(super) cluster: Option<PathBuf>,
    /// The folder for what can't be in memory.
    pub(super) files: PathBuf,
    pub(super) addresses: &'a AddressFlags,
    /// How the cluster behaves.
    pub(super) cluster_flags: &'a ClusterFlags,
    /// Where things listened at the last start.
    pub(super) last: Remembered,
    /// How the controllers talk to registries.
    pub(super) images: Images,
    /// Who knows it may use the console.
    pub(super) token: Token,
    /// Who knows it may write to the registry.
    pub(super) registry_password: Secret,
}

/// Everything that runs.
pub(super) struct Running {
    /// The way to the cluster, without a socket.
    pub(super) client: Client,
    pub(super) api: ServedApi,
    pub(super) registry: ServedRegistry,
    /// Who knows it may write to the registry.
    pub(super) registry_password: Secret,
    /// Where catalogs are served, up to and without `/catalogs`.
    pub(super) catalogs_url: String,
    /// Where things listen.
    pub(super) listening: Remembered,
    /// The address of the console, with the token that lets in.
    pub(super) console_url: String,
    catalogs: ServedRouter,
    console: ServedConsole,
    following: JoinHandle<()>,
    controllers: JoinHandle<()>,
    /// Issues the certificates of webhooks, as long as nobody brings cert-manager.
    issuing: JoinHandle<()>,
    say_stop: watch::Sender<bool>,
    stage: Stage,
}

impl Running {
    /// Starts everything, and returns when all of it can be used.
    pub(super) async fn start(plan: Plan<'_>) -> Result<Self, Failure> {
        let Plan {
            cluster,
            files,
            addresses,
            cluster_flags,
            last,
            images,
            token,
            registry_password,
        } = plan;
        // First of all: a port that is in use is noticed before anything is made.
        let (registry_listener, catalogs_listener, console_listener) = tokio::try_join!(
            addresses::bind(addresses.registry, last.registry, "--registry"),
            addresses::bind(addresses.catalogs, last.catalogs, "--catalogs"),
            addresses::bind(addresses.console, last.console, "--console"),
        )?;
        let registry = hosted_stage::serve_registry(
            &files.join("registry"),
            registry_listener,
            "--registry",
            &registry_password,
            &addresses.tls_san,
        )?;
        let built = hosted_stage::built_images(cluster.as_deref(), Some(&registry), Vec::new(), Vec::new())?;
        let stage = hosted_stage::start(cluster, Some(built), cluster_flags).await?;
        let client = Client::new(stage.service(), "default");
        let classic = classic_options();
        let (api, (), ()) = tokio::try_join!(
            serve_api(&stage, addresses, last.api),
            olm::lay_groundwork(&client, keys::SYSTEM_NAMESPACE, true),
            olm::lay_classic_groundwork(&client, &classic.settings.global_namespace, Extent::AsUpstream),
        )?;
        let catalogs_address = catalogs_listener.local_addr()?;
        let catalogs_url = format!("http://{}", stage::server::local(catalogs_address));
        let controllers = Olm::open(olm::Options {
            client: client.clone(),
            guard: {
                let client = client.clone();
                Box::new(move |fence| Ok(fence.guard(&client)))
            },
            folder: files,
            system_namespace: keys::SYSTEM_NAMESPACE.to_owned(),
            images,
            secrets: GlobalSecrets::default(),
            base_url: catalogs_url.clone(),
            certificates: Certificates::CertManager,
            broken_catalogs: BrokenCatalogs::Skip,
            duties: olm::Duties::default(),
            classic: Some(classic),
        })?;
        let hosts = Hosts::of(catalogs_address.ip())
            .with_all(CATALOG_SERVICE)
            .with_all(&addresses.tls_san);
        let catalogs = controllers.serve(catalogs_listener, None, MetricsPlace::WithCatalogs, Some(hosts));
        let following = tokio::spawn(following::follow(
            registry.registry().tagged(),
            registry.address(),
            controllers.moved_images(),
        ));
        let (say_stop, stopped) = watch::channel(false);
        let console_address = console_listener.local_addr()?;
        let console = ServedConsole::start(
            controllers.console(token, console_hosts(addresses, console_address)),
            console_listener,
            stopped.clone(),
        );
        let issuing = certificate_issuer::controller::run(client.clone(), becomes_true(stopped.clone()));
        let issuing = tokio::spawn(issuing);
        let controllers = tokio::spawn(async move {
            let tenure = Tenure {
                makes_namespace: true,
                every: LEASES_RENEWED_EVERY,
                ..Tenure::new(keys::SYSTEM_NAMESPACE, controller::LEASE, IDENTITY)
            };
            Box::pin(controllers.run(&tenure, &stopped)).await;
        });
        Ok(Self {
            listening: Remembered {
                api: Some(api.address()),
                registry: Some(registry.address()),
                catalogs: Some(catalogs_address),
                console: Some(console_address),
            },
            console_url: console.url(console_address),
            registry_password,
            client,
            api,
            registry,
            catalogs_url,
            catalogs,
            console,
            following,
            controllers,
            issuing,
            say_stop,
            stage,
        })
    }

    /// The registry as images name it.
    pub(super) fn registry_host(&self) -> String {
        stage::server::local(self.registry.address()).to_string()
    }

    /// Ends what uses the cluster, then the cluster.
    pub(super) async fn stop(self, terminal: &mut Terminal) {
        let Self {
            api,
            registry,
            catalogs,
            console,
            following,
            controllers,
            issuing,
            say_stop,
            stage,
            ..
        } = self;
        say_stop.send_replace(true);
        let breaking_off = [controllers.abort_handle(), issuing.abort_handle()];
        let users = async move {
            // A controller that panicked has ended as well.
            let _ = tokio::join!(controllers, issuing);
            following.abort();
            tokio::join!(console.stop(), catalogs.stop(), api.stop(), registry.stop());
        };
        hosted_stage::stop(stage, users, terminal).await;
        for task in breaking_off {
            task.abort();
        }
    }
}

/// OLM v0 as it is without flags; its packages are served at any port, since only the API server of this process asks.
fn classic_options() -> ClassicOptions {
    let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    ClassicOptions {
        packages: Some(PackagePlace {
            listen,
            host: listen.ip().to_string(),
        }),
        ..ClassicOptions::default()
    }
}

/// Serves the API where the last start did, if that will do, or else where the flag says.
async fn serve_api(
    stage: &Stage,
    addresses: &AddressFlags,
    last: Option<SocketAddr>,
) -> Result<ServedApi, Failure> {
    let options = ServeOptions {
        allow_remote: addresses.allow_remote,
        names: addresses.tls_san.clone(),
    };
    if let Some(last) = addresses::first_choice(addresses.api, last)
        && let Ok(serving) = hosted_stage::serve(stage, last, "--api", &options).await
    {
        return Ok(serving);
    }
    hosted_stage::serve(stage, addresses.api, "--api", &options).await
}

/// The names under which browsers reach the console: those of this machine, and those that others use for it.
fn console_hosts(addresses: &AddressFlags, address: SocketAddr) -> ::console::Hosts {
    let hosts = ::console::Hosts::loopback(address.port()).with(address.to_string());
    let names = addresses.tls_san.iter();
    names.fold(hosts, |hosts, name| {
        hosts.with(format!("{name}:{}", address.port()))
    })
}
