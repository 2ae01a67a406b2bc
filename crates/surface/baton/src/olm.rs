//! OLM in this process: the controllers of catalogs and extensions on a cluster, what they serve, and OLM v0 beside them.
//!
//! ```text
//! groundwork (definitions, policies, a namespace) ─► catalogs ─► their content ─► extensions
//!                                                       └──► serving (HTTP) ◄──────┘
//!                                                 ─► classic (OLM v0) ─► packages (HTTPS, for the API server)
//! ```

mod classic;
mod counting;
mod groundwork;
mod serving;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use api::ClusterCatalog;
use catalog::store::Store;
use catalog_controller::pull_secrets::{self, GlobalSecrets};
use catalog_controller::{Handle, MovedImages};
use console::{Console, Hosts, Token};
use duty::leader::Tenure;
use extension_controller::bundles::{Bundles, Certificates, Remotes};
use extension_controller::catalogs::{Catalogs, ContentError};
use extension_controller::controller;
use futures_util::FutureExt as _;
use image::content::{ContentStore, DEFAULT_CAPACITY_BYTES};
use image::remote::Remote;
use kube::Client;
use resolve::resolution::BrokenCatalogs;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use crate::failure::Failure;
use crate::guarded_metrics;
use crate::images::Images;
use crate::leadership::{self, becomes_true};
use crate::served_router::ServedRouter;

pub(crate) use classic::{ClassicOptions, Extent, PackagePlace, lay as lay_classic_groundwork};
pub(crate) use groundwork::lay as lay_groundwork;

use classic::Classic;

/// How long an extension waits for the content that a catalog's status names: the status may be read sooner than the
/// content is there, but not by much.
const CONTENT_WITHIN: Duration = Duration::from_secs(10);

/// What the controllers are made of.
pub(crate) struct Options {
    pub(crate) client: Client,
    /// Where catalogs and images are kept between starts.
    pub(crate) folder: PathBuf,
    /// The namespace of what the controllers keep for themselves.
    pub(crate) system_namespace: String,
    pub(crate) images: Images,
    /// Passwords for all registries.
    pub(crate) secrets: GlobalSecrets,
    /// The address that catalogs are served under, up to and without `/catalogs`.
    pub(crate) base_url: String,
    pub(crate) certificates: Certificates,
    pub(crate) broken_catalogs: BrokenCatalogs,
    /// OLM v0; none leaves it out.
    pub(crate) classic: Option<ClassicOptions>,
}

/// Where metrics are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MetricsPlace {
    /// Where catalogs are, by everybody who can reach them.
    WithCatalogs,
    /// At an address of their own.
    Elsewhere,
}

/// The controllers, which do nothing before they are run.
pub(crate) struct Olm {
    client: Client,
    system_namespace: String,
    broken_catalogs: BrokenCatalogs,
    fetching: Fetching,
    catalogs: catalog_controller::Controller,
    extensions: controller::Controller<Content>,
    classic: Option<Classic>,
}

impl Olm {
    /// Opens the folder; catalogs that were served before can be served at once.
    pub(crate) fn open(options: Options) -> Result<Self, Failure> {
        let Options {
            client,
            folder,
            system_namespace,
            images,
            secrets,
            base_url,
            certificates,
            broken_catalogs,
            classic,
        } = options;
        let store = ContentStore::open(&folder.join("images"), DEFAULT_CAPACITY_BYTES)?;
        let images = Arc::new(images);
        let configured = Arc::clone(&images);
        let fetched = catalog_controller::Images::new(store.clone(), move || configured.remote_options());
        let mut wanted = catalog_controller::Options::new(folder.join("catalogs"), fetched, base_url);
        wanted.secrets = secrets.clone();
        let catalogs = catalog_controller::Controller::new(client.clone(), wanted).map_err(|error| {
            Failure::new(format!("cannot keep catalogs in {}: {error}", folder.display()))
        })?;
        let classic = classic.map(|classic| {
            let configured = Arc::clone(&images);
            let options = move || configured.remote_options();
            let images = classic_controller::sources::image::Images::new(
                store.clone(),
                folder.join("classic-catalogs"),
                options,
            );
            Classic::new(client.clone(), images, classic)
        });
        let fetching = Fetching {
            remotes: remotes(&client, &images, &secrets),
            store,
            certificates,
        };
        let extensions = controller::Controller::new(controller::Options {
            client: client.clone(),
            system_namespace: system_namespace.clone(),
            catalogs: Content(catalogs.handle()),
            bundles: fetching.bundles(),
            broken_catalogs,
        });
        Ok(Self {
            client,
            system_namespace,
            broken_catalogs,
            fetching,
            catalogs,
            extensions,
            classic,
        })
    }

    /// Serves catalogs, whether the controllers are well, and, unless they are `elsewhere`, metrics for everybody who can
    /// reach it. Called within a Tokio runtime.
    pub(crate) fn serve(
        &self,
        listener: TcpListener,
        tls: Option<TlsAcceptor>,
        metrics: MetricsPlace,
    ) -> ServedRouter {
        let mut router = serving::router(self.catalogs.handle());
        if metrics == MetricsPlace::WithCatalogs {
            router = router.merge(guarded_metrics::router(None, self.metrics()));
        }
        ServedRouter::start_with(listener, tls, router)
    }

    /// Serves metrics for those whom the cluster allows it. Called within a Tokio runtime.
    pub(crate) fn serve_metrics(&self, listener: TcpListener, tls: TlsAcceptor) -> ServedRouter {
        let router = guarded_metrics::router(Some(self.client.clone()), self.metrics());
        ServedRouter::start_with(listener, Some(tls), router)
    }

    fn metrics(&self) -> impl Fn() -> String + Send + Sync + 'static {
        let catalogs = self.catalogs.handle();
        let extensions = self.extensions.metrics();
        let classic = self.classic.as_ref().map(Classic::metrics);
        move || {
            let classic = classic.as_ref().map(|metrics| metrics()).unwrap_or_default();
            counting::joined(&[catalogs.metrics().text(), extensions(), classic])
        }
    }

    /// Where those who know that a catalog's image moved can say so.
    pub(crate) fn moved_images(&self) -> MovedImages {
        self.catalogs.moved_images()
    }

    /// Makes a console that shows what these controllers do.
    pub(crate) fn console(&self, token: Token, hosts: Hosts) -> Arc<Console> {
        Console::new(console::Options {
            client: self.client.clone(),
            catalogs: Content(self.catalogs.handle()),
            bundles: self.fetching.bundles(),
            broken_catalogs: self.broken_catalogs,
            system_namespace: self.system_namespace.clone(),
            token,
            hosts,
        })
    }

    /// Looks after the cluster whenever the Leases are held, until `stop` becomes true.
    pub(crate) async fn run(self, tenure: &Tenure, stop: &watch::Receiver<bool>) {
        let (leads, is_leading) = watch::channel(false);
        let extending = leadership::hold(&self.client, tenure, &leads, stop, || {
            Box::pin(self.extensions.run(becomes_true(stop.clone())))
        });
        let subscribing = async {
            if let Some(classic) = &self.classic {
                Box::pin(classic.run(tenure, stop)).await;
            }
        };
        tokio::select! {
            ((), ()) = async { tokio::join!(extending, subscribing) } => {}
            // This has no end of its own.
            () = self.catalogs.run(is_leading) => {}
        }
    }
}

/// How bundles are fetched.
struct Fetching {
    remotes: Remotes,
    store: ContentStore,
    certificates: Certificates,
}

impl Fetching {
    fn bundles(&self) -> Bundles {
        Bundles::new(Arc::clone(&self.remotes), self.store.clone(), self.certificates)
    }
}

/// The way to registries for bundles: with the passwords that the cluster has right now.
fn remotes(client: &Client, images: &Arc<Images>, secrets: &GlobalSecrets) -> Remotes {
    let (client, images, secrets) = (client.clone(), Arc::clone(images), secrets.clone());
    Arc::new(move || {
        let (client, images, secrets) = (client.clone(), Arc::clone(&images), secrets.clone());
        async move {
            let documents = pull_secrets::read(&client, None, &secrets).await;
            let documents = documents.map_err(|error| error.to_string())?;
            let mut options = images.remote_options().map_err(|error| error.to_string())?;
            options.credentials = options.credentials.with_documents(documents);
            Ok(Arc::new(Remote::new(options)))
        }
        .boxed()
    })
}

/// The content of catalogs, from the same process.
#[derive(Debug, Clone)]
struct Content(Handle);

impl Catalogs for Content {
    async fn content(&self, catalog: &ClusterCatalog) -> Result<Arc<Store>, ContentError> {
        let name = catalog.name();
        let Some(reference) = catalog.resolved_reference() else {
            return Err(ContentError::NotServed(name.to_owned()));
        };
        tokio::time::timeout(CONTENT_WITHIN, self.0.wait_for(name, reference))
            .await
            .map_err(|_| ContentError::NotFound(name.to_owned()))
    }
}
