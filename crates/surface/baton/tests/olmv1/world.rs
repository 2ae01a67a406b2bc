//! A cluster with baton's controllers and a registry: what every scenario happens in.

use std::fs;
use std::path::PathBuf;

use contract::real::Binaries;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::conditions::{Says, holds};
use crate::images::Images;
use crate::kubernetes::Kubernetes;
use crate::processes::{Controllers, Server};
use crate::reference::Reference;

/// The namespace of the controllers.
pub(crate) const SYSTEM_NAMESPACE: &str = "olmv1-system";

/// A registry that nobody can reach but by its mirror.
pub(crate) const MIRRORED: &str = "mirrored-registry.operator-controller-e2e.svc.cluster.local:5000";

/// A cluster, its controllers and a registry. All of it ends with this value.
pub(crate) struct World {
    // Dropped in this order: who talks before whom it talks to.
    pub(crate) controllers: Controllers,
    pub(crate) server: Server,
    pub(crate) images: Images,
    pub(crate) kubernetes: Kubernetes,
    _folder: TempDir,
}

impl World {
    /// Starts the controllers on a server and waits until their kinds are served.
    pub(crate) async fn on(server: Server) -> Result<Self, String> {
        let world = Self::prepared_on(server, &[]).await?;
        world.controllers.start()?;
        world.until_served().await?;
        Ok(world)
    }

    /// Prepares everything, but leaves the controllers to be started.
    pub(crate) async fn prepared_on(server: Server, environment: &[(&str, &str)]) -> Result<Self, String> {
        let images = Images::start().await?;
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let registries = folder.path().join("registries.conf");
        let mirrors = format!(
            "[[registry]]\nprefix = {MIRRORED:?}\nlocation = {MIRRORED:?}\n\n[[registry.mirror]]\nlocation = {:?}\ninsecure = true\n",
            images.host
        );
        fs::write(&registries, mirrors).map_err(|error| error.to_string())?;
        let registries = registries.display().to_string();
        let mut all = vec![("CONTAINERS_REGISTRIES_CONF", registries.as_str())];
        all.extend(environment);
        Ok(Self {
            controllers: Controllers::of(&server, &all)?.without_classic(),
            kubernetes: Kubernetes::of(&server.kubeconfig())?,
            server,
            images,
            _folder: folder,
        })
    }

    /// Waits until the kinds of OLM v1 are served, and lets deadlines be as short as a test needs them.
    pub(crate) async fn until_served(&self) -> Result<(), String> {
        for kind in ["clustercatalogs", "clusterextensions", "clusterobjectsets"] {
            let definition = Reference::cluster(
                "apiextensions.k8s.io/v1",
                "CustomResourceDefinition",
                &format!("{kind}.olm.operatorframework.io"),
            );
            let served = self
                .kubernetes
                .until(&definition, |definition| {
                    holds(definition, "Established", "True", "", Says::Anything)
                })
                .await;
            served.map_err(|reason| format!("{reason}\n{}", self.controllers.last_words(30)))?;
            if kind != "clustercatalogs" {
                let minimum = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/progressDeadlineMinutes/minimum";
                let lowered = json!([{"op": "replace", "path": minimum, "value": 1}]);
                self.kubernetes.operate(&definition, &lowered).await?;
            }
        }
        let namespace = Reference::cluster("v1", "Namespace", SYSTEM_NAMESPACE);
        self.kubernetes.until_there(&namespace).await.map(drop)
    }

    /// Kills the controllers and starts them again at once: the claim to lead of who is dead counts no more.
    pub(crate) async fn replace_controllers(&self) -> Result<(), String> {
        self.controllers.kill();
        let collection =
            Reference::namespaced("coordination.k8s.io/v1", "Lease", SYSTEM_NAMESPACE, "").collection();
        let (leases, _) = self.kubernetes.list(&collection, "").await?;
        for lease in leases {
            let name = lease["metadata"]["name"].as_str().unwrap_or_default();
            let lease = Reference::namespaced("coordination.k8s.io/v1", "Lease", SYSTEM_NAMESPACE, name);
            self.kubernetes.delete(&lease).await?;
        }
        self.controllers.start()
    }

    /// Makes a namespace and waits until Pods can be made in it.
    pub(crate) async fn namespace(&self, name: &str) -> Result<(), String> {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        self.kubernetes.apply(&namespace).await?;
        let account = Reference::namespaced("v1", "ServiceAccount", name, "default");
        self.kubernetes.until_there(&account).await.map(drop)
    }

    /// Makes a ClusterCatalog of an image, polled once a minute.
    pub(crate) async fn catalog(&self, name: &str, image: &str) -> Result<(), String> {
        self.kubernetes.apply(&catalog(name, image)).await?;
        let reference = Reference::olm("ClusterCatalog", name);
        self.kubernetes
            .until(&reference, |catalog| {
                holds(catalog, "Serving", "True", "Available", Says::Anything)?;
                holds(catalog, "Progressing", "True", "Succeeded", Says::Anything)
            })
            .await
            .map(drop)
    }

    /// Where the administrator's kubeconfig is.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.server.kubeconfig()
    }

    /// Where kubectl is, if it is anywhere.
    pub(crate) fn kubectl() -> Option<PathBuf> {
        Some(Binaries::locate().ok()?.program("kubectl"))
    }
}

/// A ClusterCatalog of an image.
pub(crate) fn catalog(name: &str, image: &str) -> Value {
    json!({
        "apiVersion": "olm.operatorframework.io/v1",
        "kind": "ClusterCatalog",
        "metadata": {"name": name},
        "spec": {"source": {"type": "Image", "image": {"ref": image, "pollIntervalMinutes": 1}}},
    })
}

/// What kube-apiserver is told in addition: nobody carries what is sent to the address of a Service, and the addresses of its
/// Pods are of this machine.
#[expect(
    clippy::unnecessary_wraps,
    reason = "the worlds of other tests write files for it"
)]
pub(crate) fn apiserver_arguments() -> Result<Vec<String>, String> {
    Ok(vec!["--enable-aggregator-routing=true".to_owned()])
}
