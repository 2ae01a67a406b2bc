//! Flags of `baton controllers` for OLM v0.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use clap::Args;
use install_plan::settings::Settings;

use crate::arguments::comma_separated;
use crate::cluster::ClusterAccess;
use crate::failure::Failure;
use crate::olm::{ClassicOptions, PackagePlace};

/// How OLM v0 works, with upstream's flags where it has them.
#[derive(Args)]
#[command(next_help_heading = "OLM v0")]
pub(crate) struct ClassicFlags {
    /// Leave out OLM v0: Subscriptions, CatalogSources and their kin are looked after by somebody else or nobody
    #[arg(long)]
    no_classic: bool,
    /// The namespace whose CatalogSources every namespace sees; made when it isn't there
    #[arg(
        long,
        value_name = "NAMESPACE",
        default_value = "olm",
        conflicts_with = "no_classic"
    )]
    global_catalog_namespace: String,
    /// Namespaces that get copies of ClusterServiceVersions even where copies are turned off, separated by commas
    #[arg(long, value_name = "NAMESPACES", conflicts_with = "no_classic")]
    protected_copied_csv_namespaces: Vec<String>,
    /// How long an InstallPlan is tried again before it counts as failed, in seconds
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 60,
        conflicts_with = "no_classic"
    )]
    install_plan_retry_timeout: u64,
    /// How long fetching a bundle image may take, in seconds; 0 is without end
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 600,
        conflicts_with = "no_classic"
    )]
    bundle_unpack_timeout: u64,
    /// Let a Subscription or CatalogSource that can't be resolved stop all others of its namespace, as upstream does
    #[arg(long, conflicts_with = "no_classic")]
    one_failure_stops_namespace: bool,
    /// Where packages are served for the API server; without it, any free port of this machine if the API server runs on it,
    /// and else nowhere
    #[arg(long, value_name = "ADDRESS", conflicts_with = "no_classic")]
    packages_listen: Option<SocketAddr>,
    /// The name or address under which the API server reaches --packages-listen; without it, that of --packages-listen
    #[arg(long, value_name = "HOST", requires = "packages_listen")]
    packages_host: Option<String>,
}

impl ClassicFlags {
    /// Whether OLM v0 is left out.
    pub(super) fn is_left_out(&self) -> bool {
        self.no_classic
    }

    /// Where it is asked to listen.
    pub(super) fn packages_listen(&self) -> Option<SocketAddr> {
        self.packages_listen
    }

    /// What OLM v0 is made of; none where it is left out.
    pub(super) async fn options(&self, access: &ClusterAccess) -> Result<Option<ClassicOptions>, Failure> {
        if self.no_classic {
            return Ok(None);
        }
        let packages = match self.packages_listen {
            Some(listen) => Some(self.place(listen)?),
            None if access.is_on_this_machine().await => {
                Some(self.place(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?)
            }
            None => {
                tracing::info!(
                    "packages (PackageManifest) aren't served: the API server runs on another machine; say where it reaches \
                     this one with --packages-listen and --packages-host"
                );
                None
            }
        };
        Ok(Some(ClassicOptions {
            settings: Settings {
                namespace: self.global_catalog_namespace.clone(),
                global_namespace: self.global_catalog_namespace.clone(),
                plan_patience: Duration::from_secs(self.install_plan_retry_timeout),
                unpack_timeout: Duration::from_secs(self.bundle_unpack_timeout),
                failures_stay_apart: !self.one_failure_stops_namespace,
            },
            protected_namespaces: comma_separated(
                "--protected-copied-csv-namespaces",
                &self.protected_copied_csv_namespaces,
            )?,
            packages,
        }))
    }

    fn place(&self, listen: SocketAddr) -> Result<PackagePlace, Failure> {
        let host = match (&self.packages_host, listen.ip()) {
            (Some(host), _) => host.clone(),
            (None, address) if address.is_unspecified() => {
                return Err(Failure::new(format!(
                    "--packages-listen {listen} is every address of this machine; say with --packages-host which one the API \
                     server shall use, in a pod its status.podIP"
                )));
            }
            // Names of Services have no colons.
            (None, IpAddr::V6(address)) if address.is_loopback() => "localhost".to_owned(),
            (None, address) => address.to_string(),
        };
        Ok(PackagePlace { listen, host })
    }
}
