//! `baton controllers`: OLM v1 on a cluster, until it is stopped.

mod groundwork;
mod leadership;
mod serving;

use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use api::{ClusterCatalog, keys};
use catalog::store::Store;
use catalog_controller::pull_secrets::{self, GlobalSecrets};
use clap::{Args, ValueEnum};
use extension_controller::bundles::{Bundles, Certificates, Remotes};
use extension_controller::catalogs::{Catalogs, ContentError};
use extension_controller::controller;
use futures_util::FutureExt as _;
use image::content::{ContentStore, DEFAULT_CAPACITY_BYTES};
use image::policy::PolicySource;
use image::remote::Remote;
use resolve::resolution::BrokenCatalogs;
use tokio::sync::watch;

use crate::cluster::ClusterAccess;
use crate::failure::Failure;
use crate::images::{ImageFlags, Images};
use crate::listening;
use crate::runtime;
use crate::terminal::Terminal;

/// How long an extension waits for the content that a catalog's status names: the status may be read sooner than the
/// content is there, but not by much.
const CONTENT_WITHIN: Duration = Duration::from_secs(10);

/// Looks after the catalogs and extensions of a cluster until it is stopped.
#[derive(Args)]
pub(crate) struct Controllers {
    /// The folder for catalogs and images, which are served again at once after a restart
    #[arg(long, value_name = "FOLDER", default_value = "baton-controllers")]
    data_dir: PathBuf,
    /// Where catalogs and metrics are served; port 0 is any that is free
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// Let other machines reach what is served: listen on addresses that aren't loopback
    #[arg(long)]
    allow_remote: bool,
    /// The address under which others reach what is served, with http:// or https://; without it, that of --listen
    #[arg(long, value_name = "URL")]
    external_address: Option<String>,
    /// The namespace of what the controllers keep for themselves; made when it isn't there
    #[arg(long, value_name = "NAMESPACE", default_value = keys::SYSTEM_NAMESPACE)]
    system_namespace: String,
    /// A Secret with passwords for all registries, as NAMESPACE/NAME; may be repeated
    #[arg(long, value_name = "SECRET")]
    global_pull_secret: Vec<String>,
    /// Leave the definitions and policies of OLM v1 in the cluster as they are
    #[arg(long)]
    no_definitions: bool,
    /// Let a catalog that can't be read block all extensions that could use it, as upstream does
    #[arg(long)]
    broken_catalogs_block: bool,
    /// Who makes the certificates of webhooks
    #[arg(long, value_enum, value_name = "WHO", default_value = "cert-manager")]
    certificates: CertificateMaker,
    /// How long another replica waits for one that is silent, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 15, value_parser = clap::value_parser!(u64).range(3..=600))]
    lease_duration: u64,
    /// How much is told on standard error
    #[arg(long, value_enum, value_name = "LEVEL", default_value = "info")]
    log_level: LogLevel,
    #[command(flatten)]
    access: ClusterAccess,
    #[command(flatten)]
    images: ImageFlags,
}

/// Who makes the certificates of webhooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CertificateMaker {
    CertManager,
    OpenshiftServiceCa,
    Nobody,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
}

impl Controllers {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        listening::check(self.listen, self.allow_remote)?;
        self.start_log();
        runtime::block_on(self.work(terminal))
    }

    fn start_log(&self) {
        let level = match self.log_level {
            LogLevel::Error => tracing::Level::ERROR,
            LogLevel::Warn => tracing::Level::WARN,
            LogLevel::Info => tracing::Level::INFO,
            LogLevel::Debug => tracing::Level::DEBUG,
        };
        tracing_subscriber::fmt()
            .with_max_level(level)
            .with_writer(std::io::stderr)
            .with_ansi(std::io::stderr().is_terminal())
            .with_target(false)
            .init();
    }

    async fn work(self, terminal: &mut Terminal) -> Result<(), Failure> {
        let stop = runtime::stop_signal()?;
        let client = self.access.connect().await?;
        groundwork::lay(&client, &self.system_namespace, !self.no_definitions).await?;
        let listener = tokio::net::TcpListener::bind(self.listen)
            .await
            .map_err(|error| {
                Failure::new(format!(
                    "cannot listen on {}: {error}; give another address with --listen",
                    self.listen
                ))
            })?;
        let address = listener.local_addr()?;
        let base = self
            .external_address
            .clone()
            .unwrap_or_else(|| format!("http://{address}"));
        let store = ContentStore::open(&self.data_dir.join("images"), DEFAULT_CAPACITY_BYTES)?;
        let images = Arc::new(Images::open(&self.images, PolicySource::Optional, None)?);
        let secrets = self.secrets()?;
        let catalogs = self.catalogs(&client, &store, &images, &secrets, &base)?;
        let content = Content(catalogs.handle());
        let extensions = controller::Controller::new(controller::Options {
            client: client.clone(),
            system_namespace: self.system_namespace.clone(),
            catalogs: content.clone(),
            bundles: Bundles::new(
                remotes(&client, &images, &secrets),
                store,
                self.certificates.provider(),
            ),
            broken_catalogs: if self.broken_catalogs_block {
                BrokenCatalogs::Block
            } else {
                BrokenCatalogs::Skip
            },
        });
        let serving = serving::Serving::start(listener, content.0.clone(), extensions.metrics());
        terminal.remark(format!(
            "catalogs are served at {base}/catalogs, metrics at http://{address}/metrics; {} holds what is kept",
            self.data_dir.display()
        ));
        let (leads, is_leading) = watch::channel(false);
        let (say_stop, stopped) = watch::channel(false);
        let stopping = async {
            stop.await;
            terminal.remark("stopping");
            say_stop.send_replace(true);
            std::future::pending::<()>().await;
        };
        let tenure = leadership::tenure(&self.system_namespace, Duration::from_secs(self.lease_duration));
        tokio::select! {
            () = leadership::hold(&client, &tenure, &leads, &extensions, &stopped) => {}
            // These have no end of their own.
            () = catalogs.run(is_leading) => {}
            () = stopping => {}
        }
        serving.stop().await;
        Ok(())
    }

    /// The Secrets with passwords for all registries.
    fn secrets(&self) -> Result<GlobalSecrets, Failure> {
        let mut secrets = GlobalSecrets::default();
        for secret in &self.global_pull_secret {
            let name = secret.parse();
            secrets
                .secrets
                .push(name.map_err(|error| Failure::new(format!("invalid --global-pull-secret: {error}")))?);
        }
        Ok(secrets)
    }

    fn catalogs(
        &self,
        client: &kube::Client,
        store: &ContentStore,
        images: &Arc<Images>,
        secrets: &GlobalSecrets,
        base: &str,
    ) -> Result<catalog_controller::Controller, Failure> {
        let images = Arc::clone(images);
        let fetched = catalog_controller::Images::new(store.clone(), move || images.remote_options());
        let mut options = catalog_controller::Options::new(self.data_dir.join("catalogs"), fetched, base);
        options.secrets = secrets.clone();
        catalog_controller::Controller::new(client.clone(), options).map_err(|error| {
            Failure::new(format!(
                "cannot keep catalogs in {}: {error}",
                self.data_dir.display()
            ))
        })
    }
}

impl CertificateMaker {
    fn provider(self) -> Certificates {
        match self {
            Self::CertManager => Certificates::CertManager,
            Self::OpenshiftServiceCa => Certificates::ServiceCa,
            Self::Nobody => Certificates::Nobody,
        }
    }
}

/// The way to registries for bundles: with the passwords that the cluster has right now.
fn remotes(client: &kube::Client, images: &Arc<Images>, secrets: &GlobalSecrets) -> Remotes {
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
struct Content(catalog_controller::Handle);

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
