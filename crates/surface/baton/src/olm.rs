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
mod stored_versions;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use api::ClusterCatalog;
use catalog::store::Store;
use catalog_controller::Handle;
use catalog_controller::pull_secrets::{self, GlobalSecrets};
use catalog_controller::serve::Front;
use console::{Console, Hosts, SessionLimits, Token};
use deploy::component::Component;
use duty::fence::Fence;
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
use crate::leadership::{self, TermMetrics, becomes_true};
use crate::served_router::{self, ServedRouter};

pub(crate) use classic::{ClassicOptions, Extent, PackagePlace, lay as lay_classic_groundwork};
pub(crate) use groundwork::{lay as lay_groundwork, wait_established};

use classic::Classic;

/// How long an extension waits for the content that a catalog's status names: the status may be read sooner than the
/// content is there, but not by much.
const CONTENT_WITHIN: Duration = Duration::from_secs(10);

/// The Lease of who writes of catalogs, as upstream has it.
const CATALOGS_LEASE: &str = Component::Catalogs.lease();

/// What the controllers are made of.
pub(crate) struct Options {
    pub(crate) client: Client,
    /// Makes clients that write only while a Lease is held.
    pub(crate) guard: Guard,
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
    /// What of OLM v1 this process looks after.
    pub(crate) duties: Duties,
    /// OLM v0; none leaves it out.
    pub(crate) classic: Option<ClassicOptions>,
}

/// Makes clients that write only while a fence is open.
pub(crate) type Guard = Box<dyn Fn(&Fence) -> Result<Client, Failure>>;

/// What of OLM v1 a process looks after, if it leads. Content of catalogs is served in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Duties {
    pub(crate) catalogs: bool,
    pub(crate) extensions: bool,
}

impl Default for Duties {
    fn default() -> Self {
        Self {
            catalogs: true,
            extensions: true,
        }
    }
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
    /// Lets the controller of extensions write only while this replica leads.
    fence: Fence,
    /// The same for the controller of catalogs, which has a Lease of its own.
    catalogs_fence: Fence,
    system_namespace: String,
    broken_catalogs: BrokenCatalogs,
    duties: Duties,
    fetching: Fetching,
    catalogs: catalog_controller::Controller,
    make_extensions: Box<dyn Fn() -> controller::Controller<Content> + Send + Sync>,
    extension_metrics: TermMetrics,
    classic: Option<Classic>,
}

impl Olm {
    /// Opens the folder; catalogs that were served before can be served at once.
    pub(crate) fn open(options: Options) -> Result<Self, Failure> {
        let Options {
            client,
            guard,
            folder,
            system_namespace,
            images,
            secrets,
            base_url,
            certificates,
            broken_catalogs,
            duties,
            classic,
        } = options;
        let fence = Fence::closed();
        let catalogs_fence = Fence::closed();
        let store = ContentStore::open(&folder.join("images"), DEFAULT_CAPACITY_BYTES)?;
        let images = Arc::new(images);
        let configured = Arc::clone(&images);
        let fetched = catalog_controller::Images::new(store.clone(), move || configured.remote_options());
        let mut wanted = catalog_controller::Options::new(folder.join("catalogs"), fetched, base_url);
        wanted.secrets = secrets.clone();
        let catalogs = catalog_controller::Controller::new(guard(&catalogs_fence)?, wanted);
        let catalogs = catalogs.map_err(|error| {
            Failure::new(format!("cannot keep catalogs in {}: {error}", folder.display()))
        })?;
        let classic = classic.map(|classic| -> Result<Classic, Failure> {
            let configured = Arc::clone(&images);
            let options = move || configured.remote_options();
            let images = classic_controller::sources::image::Images::new(
                store.clone(),
                folder.join("classic-catalogs"),
                options,
            );
            Classic::new(client.clone(), &guard, images, classic)
        });
        let classic = classic.transpose()?;
        let fetching = Fetching {
            remotes: remotes(&client, &images, &secrets),
            store,
            certificates,
        };
        let make_extensions = {
            let guarded = guard(&fence)?;
            let system_namespace = system_namespace.clone();
            let content = Content(catalogs.handle());
            let fetching = fetching.clone();
            move || {
                controller::Controller::new(controller::Options {
                    client: guarded.clone(),
                    system_namespace: system_namespace.clone(),
                    catalogs: content.clone(),
                    bundles: fetching.bundles(),
                    broken_catalogs,
                })
            }
        };
        let extension_metrics = TermMetrics::new(make_extensions().metrics());
        Ok(Self {
            client,
            fence,
            catalogs_fence,
            system_namespace,
            broken_catalogs,
            duties,
            fetching,
            catalogs,
            make_extensions: Box::new(make_extensions),
            extension_metrics,
            classic,
        })
    }

    /// Serves catalogs, whether the controllers are well, and, unless they are `elsewhere`, metrics for everybody who can
    /// reach it, under some names or under any. Called within a Tokio runtime.
    pub(crate) fn serve(
        &self,
        listener: TcpListener,
        tls: Option<TlsAcceptor>,
        metrics: MetricsPlace,
        hosts: Option<hosts::Hosts>,
    ) -> ServedRouter {
        // Where names are asked for, people are shown the address.
        let front = match hosts {
            Some(_) => Front::Index,
            None => Front::Nothing,
        };
        let mut router = serving::router(self.catalogs.handle(), front);
        if metrics == MetricsPlace::WithCatalogs {
            router = router.merge(guarded_metrics::router(None, self.metrics()));
        }
        if let Some(hosts) = hosts {
            router = served_router::asked_as(hosts, router);
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
        let extensions = self.extension_metrics.clone();
        let classic = self.classic.as_ref().map(Classic::metrics);
        move || {
            let classic = classic.as_ref().map(|metrics| metrics()).unwrap_or_default();
            counting::joined(&[catalogs.metrics().text(), extensions.text(), classic])
        }
    }

    /// Where those who know that a catalog's image moved can say so.
    pub(crate) fn moved_images(&self) -> MovedImages {
        MovedImages {
            catalogs: self.catalogs.moved_images(),
            classic: self.classic.as_ref().map(Classic::moved_images),
        }
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
            sessions: SessionLimits::default(),
            hosts,
        })
    }

    /// Looks after the cluster whenever the Leases are held, until `stop` becomes true.
    pub(crate) async fn run(self, tenure: &Tenure, stop: &watch::Receiver<bool>) {
        let duties = self.duties;
        let (leads_catalogs, is_leading) = watch::channel(false);
        let catalogs_tenure = Tenure {
            lease: CATALOGS_LEASE.to_owned(),
            ..tenure.clone()
        };
        let serving = async {
            if duties.catalogs {
                let until_over = |over| becomes_true(over);
                let fence = &self.catalogs_fence;
                leadership::hold(
                    &self.client,
                    &catalogs_tenure,
                    fence,
                    &leads_catalogs,
                    stop,
                    until_over,
                )
                .await;
            }
        };
        let (leads, _) = watch::channel(false);
        let extending = async {
            if duties.extensions {
                let work = |over| {
                    let controller = (self.make_extensions)();
                    self.extension_metrics.replace(controller.metrics());
                    Box::pin(async move { controller.run(becomes_true(over)).await })
                };
                leadership::hold(&self.client, tenure, &self.fence, &leads, stop, work).await;
            }
        };
        let subscribing = async {
            if let Some(classic) = &self.classic {
                Box::pin(classic.run(tenure, stop)).await;
            }
        };
        let following = async {
            // Extensions need the content of catalogs, whoever writes of them.
            if duties.catalogs || duties.extensions {
                self.catalogs.run(is_leading).await;
            } else {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            ((), (), ()) = async { tokio::join!(serving, extending, subscribing) } => {}
            // This has no end of its own.
            () = following => {}
        }
    }
}

/// Tells the controllers that an image moved, so that the catalogs of both OLMs needn't wait for their next poll.
pub(crate) struct MovedImages {
    catalogs: catalog_controller::MovedImages,
    classic: Option<classic_controller::controller::MovedImages>,
}

impl MovedImages {
    /// An image, as catalogs name it, stands for something else now.
    pub(crate) async fn tell(&self, reference: String) {
        if let Some(classic) = &self.classic {
            classic.tell(&reference);
        }
        self.catalogs.tell(reference).await;
    }
}

/// How bundles are fetched.
#[derive(Clone)]
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
