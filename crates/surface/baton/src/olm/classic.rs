//! OLM v0 in this process: Subscriptions and what they lead to, beside OLM v1 and with a Lease of its own.

mod groundwork;
mod packages;

use std::net::SocketAddr;

use classic_controller::controller::{self, Controller};
use classic_controller::sources::image::Images;
use duty::fence::Fence;
use duty::leader::Tenure;
use install_plan::settings::Settings;
use kube::Client;
use tokio::sync::watch;

use super::Guard;
use crate::failure::Failure;
use crate::leadership::{self, becomes_true};

pub(crate) use groundwork::{Extent, lay};

/// What OLM v0 is made of.
#[derive(Debug, Clone, Default)]
pub(crate) struct ClassicOptions {
    /// Namespaces and patience.
    pub(crate) settings: Settings,
    /// Namespaces that get copies of ClusterServiceVersions even where copies are turned off.
    pub(crate) protected_namespaces: Vec<String>,
    /// Where packages are served for the API server; none where it can't reach this process.
    pub(crate) packages: Option<PackagePlace>,
}

/// Where packages are served for the API server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PackagePlace {
    /// Where this process listens.
    pub(crate) listen: SocketAddr,
    /// The name or address under which the API server reaches it.
    pub(crate) host: String,
}

/// OLM v0, which does nothing before it is run.
pub(super) struct Classic {
    client: Client,
    /// The same, which writes only while this replica leads.
    guarded: Client,
    /// Lets writes through only while this replica leads.
    fence: Fence,
    controller: Controller,
    namespace: String,
    packages: Option<PackagePlace>,
}

impl Classic {
    pub(super) fn new(
        client: Client,
        guard: &Guard,
        images: Images,
        options: ClassicOptions,
    ) -> Result<Self, Failure> {
        let ClassicOptions {
            settings,
            protected_namespaces,
            packages,
        } = options;
        let namespace = settings.global_namespace.clone();
        let fence = Fence::closed();
        let guarded = guard(&fence)?;
        let controller = Controller::new(controller::Options {
            settings,
            images: Some(images),
            protected_namespaces,
            ..controller::Options::new(guarded.clone())
        });
        Ok(Self {
            client,
            guarded,
            fence,
            controller,
            namespace,
            packages,
        })
    }

    /// What it counts, in the text format of Prometheus.
    pub(super) fn metrics(&self) -> impl Fn() -> String + Send + Sync + 'static {
        self.controller.metrics()
    }

    /// Where those who know that a catalog's image moved can say so.
    pub(super) fn moved_images(&self) -> controller::MovedImages {
        self.controller.moved_images()
    }

    /// Looks after the cluster whenever its own Lease is held, which is beside the one of OLM v1, until `stop` becomes true.
    pub(super) async fn run(&self, beside: &Tenure, stop: &watch::Receiver<bool>) {
        let tenure = Tenure {
            lease: controller::LEASE.to_owned(),
            ..beside.clone()
        };
        let (leads, _) = watch::channel(false);
        leadership::hold(
            &self.client,
            &tenure,
            &self.fence,
            &leads,
            stop,
            |over| async move {
                let looking = Box::pin(self.controller.run(becomes_true(over.clone())));
                let serving = async {
                    // Only who leads knows what catalogs hold.
                    if let Some(place) = &self.packages {
                        let manifests = self.controller.manifests();
                        Box::pin(packages::serve(
                            &self.guarded,
                            &manifests,
                            place,
                            &self.namespace,
                            &over,
                        ))
                        .await;
                    }
                };
                tokio::join!(looking, serving);
            },
        )
        .await;
    }
}
