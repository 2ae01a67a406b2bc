//! `baton controllers`: OLM on a cluster, until it is stopped.

mod classic;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use api::keys;
use catalog_controller::pull_secrets::GlobalSecrets;
use clap::{Args, ValueEnum};
use deploy::component::Component;
use duty::leader::Tenure;
use extension_controller::bundles::Certificates;
use extension_controller::controller;
use image::policy::PolicySource;
use resolve::resolution::BrokenCatalogs;
use tokio::sync::watch;

use self::classic::ClassicFlags;
use crate::cluster::{self, ClusterAccess};
use crate::data_format;
use crate::failure::Failure;
use crate::images::{ImageFlags, Images};
use crate::listening;
use crate::logging::LogFlags;
use crate::olm::{self, Extent, MetricsPlace, Olm};
use crate::runtime;
use crate::startup_code;
use crate::telemetry::TelemetryFlags;
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
    #[arg(long, value_name = "ADDRESS")]
    metrics_bind_address: Option<SocketAddr>,
    /// What this process looks after; others may look after the rest
    #[arg(long, value_enum, value_name = "DUTIES", value_delimiter = ',',
        default_values_t = [Duty::Catalogs, Duty::Extensions, Duty::Subscriptions])]
    duties: Vec<Duty>,
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
    #[arg(long, value_name = "SECONDS", default_value_t = 11, value_parser = clap::value_parser!(u64).range(3..=600))]
    lease_duration: u64,
    #[command(flatten)]
    log: LogFlags,
    #[command(flatten)]
    telemetry: TelemetryFlags,
    #[command(flatten)]
    classic: ClassicFlags,
    #[command(flatten)]
    tls: TlsFlags,
    #[command(flatten)]
    access: ClusterAccess,
    #[command(flatten)]
    images: ImageFlags,
}

/// What a process looks after.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Duty {
    Catalogs,
    Extensions,
    Subscriptions,
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
        let _used = data_format::open(&self.data_dir)?;
        self.telemetry.check()?;
        runtime::block_on(async {
            let telemetry = self.telemetry.start(&self.log, self.service_name()).await?;
            let outcome = Box::pin(self.work(terminal)).await;
            telemetry.stop().await;
            outcome
        })
    }

    /// What traces call this process: the component that it is, where it is one alone.
    fn service_name(&self) -> &'static str {
        match self.duties.as_slice() {
            [Duty::Catalogs] => Component::Catalogs.name(),
            [Duty::Extensions] => Component::Extensions.name(),
            [Duty::Subscriptions] => Component::Subscriptions.name(),
            _ => "baton",
        }
    }

    async fn work(self, terminal: &mut Terminal) -> Result<(), Failure> {
        let stop = runtime::stop_signal()?;
        // Refused before anything is written to the cluster.
        if self.metrics_bind_address.is_some() && !self.tls.is_given() {
            return Err(Failure::new(
                "--metrics-bind-address needs a certificate: give one with --tls-cert and --tls-key, or let baton keep one with \
                 --tls-secret",
            ));
        }
        if self.duties == [Duty::Subscriptions] && self.classic.is_left_out() {
            return Err(Failure::new(
                "--duties subscriptions and --no-classic leave nothing to look after; take out one of them",
            ));
        }
        let mut tls = self.tls.acceptor()?;
        let connection = self.access.connection().await?;
        let client = connection.client.clone();
        let tenure = Tenure {
            // A pod goes with its namespace, and comes back with the Deployment of whoever installs it again.
            makes_namespace: !cluster::is_in_pod(),
            ..tenure::of(
                &self.system_namespace,
                controller::LEASE,
                Duration::from_secs(self.lease_duration),
            )
        };
        let classic = if self.has(Duty::Subscriptions) {
            self.classic.options(&self.access).await?
        } else {
            None
        };
        olm::lay_groundwork(&client, &self.system_namespace, !self.no_definitions).await?;
        if let Some(classic) = &classic {
            let extent = if self.no_definitions {
                Extent::Namespace
            } else {
                Extent::Needed
            };
            olm::lay_classic_groundwork(&client, &classic.settings.global_namespace, extent).await?;
        }
        let kept = self.tls.kept(&client).await?.map(|(acceptor, identity)| {
            tls = Some(acceptor);
            identity
        });
        let renewing = async {
            match &kept {
                Some(identity) => identity.keep().await,
                None => std::future::pending().await,
            }
        };
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
            guard: {
                let settles_within = tenure.settles_within();
                Box::new(move |fence| connection.guarded(fence, settles_within))
            },
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
            duties: olm::Duties {
                catalogs: self.has(Duty::Catalogs),
                extensions: self.has(Duty::Extensions),
            },
            classic,
        })?;
        let place = if guarded.is_some() {
            MetricsPlace::Elsewhere
        } else {
            MetricsPlace::WithCatalogs
        };
        let mut served = vec![olm.serve(listener, tls, place, None)];
        let mut metrics = own;
        if let Some((address, listener, tls)) = guarded {
            served.push(olm.serve_metrics(listener, tls));
            metrics = format!("https://{address}");
        }
        terminal.remark(format!(
            "catalogs are served at {base}/catalogs, metrics at {metrics}/metrics; {} holds what is kept",
            self.data_dir.display()
        ));
        startup_code::give_back_as_work_begins();
        let (say_stop, stopped) = watch::channel(false);
        let stopping = async {
            stop.await;
            terminal.remark("stopping");
            say_stop.send_replace(true);
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = olm.run(&tenure, &stopped) => {}
            // These have no end of their own.
            () = stopping => {}
            () = renewing => {}
        }
        for served in served {
            served.stop().await;
        }
        Ok(())
    }

    /// Whether this process looks after something.
    fn has(&self, duty: Duty) -> bool {
        self.duties.contains(&duty)
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
