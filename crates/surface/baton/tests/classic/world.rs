//! A cluster with baton's controllers and a registry: what every scenario happens in.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::images::Images;
use crate::kubectl::Kubectl;
use crate::kubernetes::Kubernetes;
use crate::processes::{Controllers, Server};
use crate::reference::Reference;

/// The namespace of the controllers, with their Leases.
pub(crate) const SYSTEM_NAMESPACE: &str = "olmv1-system";

/// How long another replica waits for one that is silent: on a machine that does much else, long, unless a scenario says so.
pub(crate) const LEASE_FLAG: &str = "--lease-duration";

/// A cluster, its controllers and a registry. All of it ends with this value.
pub(crate) struct World {
    // Dropped in this order: who talks before whom it talks to.
    pub(crate) controllers: Controllers,
    pub(crate) server: Server,
    pub(crate) images: Images,
    /// For what kubectl can't do, such as counting writes.
    pub(crate) kubernetes: Kubernetes,
    pub(crate) kubectl: Kubectl,
}

impl World {
    /// Starts the controllers on a server and waits until their kinds are served.
    pub(crate) async fn on(server: Server) -> Result<Self, String> {
        let world = Self::prepared_on(server, &[], &[]).await?;
        world.controllers.start()?;
        world.until_served().await?;
        Ok(world)
    }

    /// Prepares everything, but leaves the controllers to be started.
    pub(crate) async fn prepared_on(
        server: Server,
        environment: &[(&str, &str)],
        flags: &[&str],
    ) -> Result<Self, String> {
        Ok(Self {
            controllers: controllers(&server, environment, flags)?,
            kubernetes: Kubernetes::of(&server.kubeconfig())?,
            kubectl: Kubectl::of(&server.kubeconfig())?,
            images: Images::start().await?,
            server,
        })
    }

    /// Waits until the kinds of OLM v0 and its packages are served.
    pub(crate) async fn until_served(&self) -> Result<(), String> {
        let explain = |reason| format!("{reason}\n{}", self.controllers.last_words(30));
        let group = Reference::cluster("operators.coreos.com/v1", "OLMConfig", "cluster");
        self.kubectl.until(&group, |_| Ok(())).await.map_err(explain)?;
        let packages = Reference::cluster(
            "apiregistration.k8s.io/v1",
            "APIService",
            "v1.packages.operators.coreos.com",
        );
        let is_available = |service: &Value| {
            crate::conditions::holds(
                Some(service),
                "Available",
                "True",
                "",
                crate::conditions::Says::Anything,
            )
        };
        let available = self.kubectl.until(&packages, is_available).await;
        available.map(drop).map_err(explain)
    }

    /// Kills the controllers and starts them again at once: the claim to lead of who is dead counts no more.
    pub(crate) async fn replace_controllers(&self) -> Result<(), String> {
        self.controllers.kill();
        let leases = Reference::namespaced("coordination.k8s.io/v1", "Lease", SYSTEM_NAMESPACE, "");
        let (leases, _) = self.kubernetes.list(&leases.collection(), "").await?;
        for lease in leases {
            let name = lease["metadata"]["name"].as_str().unwrap_or_default();
            let lease = Reference::namespaced("coordination.k8s.io/v1", "Lease", SYSTEM_NAMESPACE, name);
            self.kubernetes.delete(&lease).await?;
        }
        self.controllers.start()
    }

    /// Where the administrator's kubeconfig is.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.server.kubeconfig()
    }
}

/// The controllers of a cluster, with flags of their own.
pub(crate) fn controllers(
    server: &Server,
    environment: &[(&str, &str)],
    flags: &[&str],
) -> Result<Controllers, String> {
    let mut all: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
    if !flags.contains(&LEASE_FLAG) {
        all.extend([LEASE_FLAG, "60"].map(str::to_owned));
    }
    Ok(Controllers::of(server, environment)?.with_flags(all))
}

/// A Namespace.
pub(crate) fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

/// What kube-apiserver is told in addition: it leads requests for packages to the controllers, and shows a certificate there.
pub(crate) fn apiserver_arguments() -> Result<Vec<String>, String> {
    crate::front_proxy::arguments()
}
