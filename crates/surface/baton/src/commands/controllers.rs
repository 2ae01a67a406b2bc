//! `baton controllers`: OLM on a cluster, until it is stopped.

mod classic;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use api::keys;
use catalog_controller::pull_secrets::GlobalSecrets;
use clap::{Args, ValueEnum};
use extension_controller::bundles::Certificates;
use extension_controller::controller;
use image::policy::PolicySource;
use resolve::resolution::BrokenCatalogs;
use tokio::sync::watch;

use self::classic::ClassicFlags;
use crate::cluster::ClusterAccess;
use crate::failure::Failure;
use crate::images::{ImageFlags, Images};
use crate::listening;
use crate::logging::LogLevel;
use crate::olm::{self, Extent, MetricsPlace, Olm};
use crate::runtime;
use crate::tenure;
use crate::terminal::Terminal;
use crate::tls::TlsFlags;

/// Looks after the catalogs, extensions and subscriptions of a cluster until it is stopped.
#[derive(Args)]
pub(crate) struct Controllers {
    /// The folder for catalogs and images, which are served again at once after a restart
    #[arg(long, value_name = "FOLDER", default_value = "baton-controllers")]
    data_dir: PathBuf,
    /// Where catalogs and metrics are served; port 0 is any that is free
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// Where metrics are served with TLS, to those whom the cluster allows to get /metrics; without it, beside catalogs and
    /// to everybody who can reach them
    #[arg(long, value_name = "ADDRESS", requires = "tls_cert")]
    metrics_bind_address: Option<SocketAddr>,
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
    /// Leave the definitions, policies and roles of OLM in the cluster as they are
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
    classic: ClassicFlags,
    #[command(flatten)]
    tls: TlsFlags,
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

impl Controllers {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        let packages = self.classic.packages_listen();
        for address in [Some(self.listen), self.metrics_bind_address, packages]
            .into_iter()
            .flatten()
        {
            listening::check(address, self.allow_remote)?;
        }
        self.log_level.start();
        runtime::block_on(self.work(terminal))
    }

    async fn work(self, terminal: &mut Terminal) -> Result<(), Failure> {
        let stop = runtime::stop_signal()?;
        // Refused before anything is written to the cluster.
        let tls = self.tls.acceptor()?;
        let client = self.access.connect().await?;
        let classic = self.classic.options(&self.access).await?;
        olm::lay_groundwork(&client, &self.system_namespace, !self.no_definitions).await?;
        if let Some(classic) = &classic {
            let extent = if self.no_definitions {
                Extent::Namespace
            } else {
                Extent::Needed
            };
            olm::lay_classic_groundwork(&client, &classic.settings.global_namespace, extent).await?;
        }
        let listener = listening::bind(self.listen, "--listen").await?;
        let address = listener.local_addr()?;
        let scheme = if tls.is_some() { "https" } else { "http" };
        let own = format!("{scheme}://{address}");
        let base = self.external_address.clone().unwrap_or_else(|| own.clone());
        let guarded = match (self.metrics_bind_address, &tls) {
            (Some(address), Some(tls)) => {
                let listener = listening::bind(address, "--metrics-bind-address").await?;
                Some((listener.local_addr()?, listener, tls.clone()))
            }
            _ => None,
        };
        let olm = Olm::open(olm::Options {
            client,
            folder: self.data_dir.clone(),
            system_namespace: self.system_namespace.clone(),
            images: Images::open(&self.images, PolicySource::Optional, None)?,
            secrets: self.secrets()?,
            base_url: base.clone(),
            certificates: self.certificates.provider(),
            broken_catalogs: if self.broken_catalogs_block {
                BrokenCatalogs::Block
            } else {
                BrokenCatalogs::Skip
            },
            classic,
        })?;
        let place = if guarded.is_some() {
            MetricsPlace::Elsewhere
        } else {
            MetricsPlace::WithCatalogs
        };
        let mut served = vec![olm.serve(listener, tls, place)];
        let mut metrics = own;
        if let Some((address, listener, tls)) = guarded {
            served.push(olm.serve_metrics(listener, tls));
            metrics = format!("https://{address}");
        }
        terminal.remark(format!(
            "catalogs are served at {base}/catalogs, metrics at {metrics}/metrics; {} holds what is kept",
            self.data_dir.display()
        ));
        let (say_stop, stopped) = watch::channel(false);
        let stopping = async {
            stop.await;
            terminal.remark("stopping");
            say_stop.send_replace(true);
            std::future::pending::<()>().await;
        };
        let tenure = tenure::of(
            &self.system_namespace,
            controller::LEASE,
            Duration::from_secs(self.lease_duration),
        );
        tokio::select! {
            () = olm.run(&tenure, &stopped) => {}
            // This has no end of its own.
            () = stopping => {}
        }
        for served in served {
            served.stop().await;
        }
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
