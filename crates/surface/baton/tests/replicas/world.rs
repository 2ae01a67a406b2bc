//! A real cluster, and machines that can be cut off from it, each with controllers and a Helm operator on it.

use std::path::{Path, PathBuf};

use contract::real::{Options, RealCluster};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::audit::{self, Audit, Place};
use crate::conditions::{Says, holds};
use crate::images::Images;
use crate::kubernetes::Kubernetes;
use crate::network::Network;
use crate::reference::Reference;
use crate::replica::Replica;
use crate::stacks;

/// The namespace of the controllers, with their Leases.
pub(crate) const SYSTEM_NAMESPACE: &str = "olmv1-system";

/// The Leases of the controllers: two of them have upstream's names.
pub(crate) const CATALOGS_LEASE: &str = "catalogd-operator-lock";
pub(crate) const EXTENSIONS_LEASE: &str = "9c4404e7.operatorframework.io";
pub(crate) const SUBSCRIPTIONS_LEASE: &str = "classic.baton.dev";
pub(crate) const OPERATOR_LEASE: &str = "stack-operator";

/// How many machines there are.
pub(crate) const MACHINES: usize = 3;

/// A machine, with what runs on it.
pub(crate) struct Machine {
    pub(crate) number: usize,
    pub(crate) controllers: Replica,
    pub(crate) operator: Replica,
}

/// Everything. It ends with this value.
pub(crate) struct World {
    // Dropped in this order: who talks before whom it talks to.
    pub(crate) machines: Vec<Machine>,
    cluster: RealCluster,
    pub(crate) images: Images,
    pub(crate) kubernetes: Kubernetes,
    pub(crate) network: Network,
    _folder: TempDir,
}

/// The name under which a process is known to the API server.
pub(crate) fn controllers_of(machine: usize) -> String {
    format!("controllers-{machine}")
}

/// The same for the operator beside it.
pub(crate) fn operator_of(machine: usize) -> String {
    format!("operator-{machine}")
}

impl World {
    /// Starts a cluster with machines on which nothing runs yet.
    pub(crate) async fn prepare() -> Result<Self, String> {
        let network = Network::make(MACHINES)?;
        let users: Vec<String> = (0..MACHINES)
            .flat_map(|machine| [controllers_of(machine), operator_of(machine)])
            .collect();
        let cluster = RealCluster::start(Options {
            address: network.address(),
            audit_policy: Some(audit::policy(&users)),
            administrators: users,
            ..Options::default()
        });
        let cluster = cluster.await.map_err(|error| error.to_string())?;
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let watches = stacks::write_operator(folder.path())?;
        let machines = (0..MACHINES)
            .map(|number| machine(number, &network, &cluster, folder.path(), &watches))
            .collect();
        let world = Self {
            machines,
            images: Images::start_on(network.address()).await?,
            kubernetes: Kubernetes::of(&cluster.kubeconfig)?,
            cluster,
            network,
            _folder: folder,
        };
        world.kubernetes.apply(&stacks::definition()).await?;
        world.namespace(SYSTEM_NAMESPACE).await?;
        Ok(world)
    }

    /// Starts the controllers of all machines, and waits until their kinds are served.
    pub(crate) async fn start_controllers(&self) -> Result<(), String> {
        for machine in &self.machines {
            machine.controllers.start()?;
        }
        for kind in [
            "clustercatalogs.olm.operatorframework.io",
            "clusterextensions.olm.operatorframework.io",
            "clusterobjectsets.olm.operatorframework.io",
            "subscriptions.operators.coreos.com",
            "catalogsources.operators.coreos.com",
            "operatorgroups.operators.coreos.com",
        ] {
            let definition = Reference::cluster("apiextensions.k8s.io/v1", "CustomResourceDefinition", kind);
            let served = self.kubernetes.until(&definition, |definition| {
                holds(definition, "Established", "True", "", Says::Anything)
            });
            served
                .await
                .map_err(|reason| format!("{reason}\n{}", self.last_words(30)))?;
        }
        Ok(())
    }

    /// Makes a namespace and waits until Pods can be made in it.
    pub(crate) async fn namespace(&self, name: &str) -> Result<(), String> {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        self.kubernetes.apply(&namespace).await?;
        let account = Reference::namespaced("v1", "ServiceAccount", name, "default");
        self.kubernetes.until_there(&account).await.map(drop)
    }

    /// Makes a ClusterCatalog of an image.
    pub(crate) async fn catalog(&self, name: &str, image: &str) -> Result<(), String> {
        let catalog = json!({
            "apiVersion": "olm.operatorframework.io/v1",
            "kind": "ClusterCatalog",
            "metadata": {"name": name},
            "spec": {"source": {"type": "Image", "image": {"ref": image, "pollIntervalMinutes": 1}}},
        });
        self.kubernetes.apply(&catalog).await?;
        let served = |catalog: Option<&Value>| {
            holds(catalog, "Serving", "True", "Available", Says::Anything).map(drop)
        };
        self.kubernetes.until(&Reference::of(&catalog), served).await
    }

    /// The end of what all processes said.
    pub(crate) fn last_words(&self, lines: usize) -> String {
        let machines = self.machines.iter();
        let words = machines
            .map(|machine| machine.controllers.last_words(lines) + &machine.operator.last_words(lines));
        words.collect()
    }

    /// What the API server wrote down so far.
    pub(crate) fn audit(&self) -> Result<Audit, String> {
        Audit::read(&self.cluster.audit_log(), leases_for)
    }
}

fn machine(
    number: usize,
    network: &Network,
    cluster: &RealCluster,
    folder: &Path,
    watches: &Path,
) -> Machine {
    let namespace = network.namespace(number);
    let kubeconfig = |name: &str| cluster.kubeconfig_of(name).display().to_string();
    let (controllers, operator) = (controllers_of(number), operator_of(number));
    let data: PathBuf = folder.join(format!("data-{number}"));
    let flags = [
        "controllers",
        "--kubeconfig",
        &kubeconfig(&controllers),
        "--data-dir",
        &data.display().to_string(),
        "--listen",
        "127.0.0.1:0",
        "--plain-http",
    ]
    .map(str::to_owned);
    let operator_flags = [
        "operator",
        "run",
        "--kubeconfig",
        &kubeconfig(&operator),
        "--watches-file",
        &watches.display().to_string(),
        "--leader-elect",
        "--leader-election-id",
        OPERATOR_LEASE,
        "--leader-election-namespace",
        SYSTEM_NAMESPACE,
        "--metrics-bind-address",
        "0",
        "--health-probe-bind-address",
        "0",
    ]
    .map(str::to_owned);
    Machine {
        number,
        controllers: Replica::new(&controllers, &namespace, folder, flags.to_vec()),
        operator: Replica::new(&operator, &namespace, folder, operator_flags.to_vec()),
    }
}

/// The Leases of which one has to be held to write something. What a process lays down at its start, before it waits for a
/// Lease, needs none: it is the same for all.
fn leases_for(place: &Place<'_>) -> Vec<String> {
    let Place {
        who,
        group,
        resource,
        namespace,
        name,
    } = *place;
    if who.starts_with("operator-") {
        return vec![OPERATOR_LEASE.to_owned()];
    }
    let is_question =
        ["tokenreviews", "subjectaccessreviews", "selfsubjectaccessreviews"].contains(&resource);
    let is_groundwork = match resource {
        "customresourcedefinitions" => {
            name.ends_with(".olm.operatorframework.io") || name.ends_with(".operators.coreos.com")
        }
        "namespaces" => [SYSTEM_NAMESPACE, "olm", "operators"].contains(&name) || name.is_empty(),
        "clusterroles" => {
            name.ends_with("-metrics-reader") || name.starts_with("aggregate-olm-") || name == "olm-reader"
        }
        "olmconfigs"
        | "validatingadmissionpolicies"
        | "validatingadmissionpolicybindings"
        | "mutatingadmissionpolicies"
        | "mutatingadmissionpolicybindings" => true,
        "operatorgroups" => ["olm", "operators"].contains(&namespace),
        _ => false,
    };
    if is_question || is_groundwork {
        return Vec::new();
    }
    let leases: &[&str] = match (resource, group) {
        ("clustercatalogs", _) => &[CATALOGS_LEASE],
        (_, "olm.operatorframework.io") => &[EXTENSIONS_LEASE],
        (_, "operators.coreos.com") => &[SUBSCRIPTIONS_LEASE],
        _ if namespace == SYSTEM_NAMESPACE || namespace.starts_with("ns-e") => &[EXTENSIONS_LEASE],
        _ if namespace.starts_with("ns-s") => &[SUBSCRIPTIONS_LEASE],
        // What belongs to no namespace, and events.
        _ => &[CATALOGS_LEASE, EXTENSIONS_LEASE, SUBSCRIPTIONS_LEASE],
    };
    leases.iter().map(|lease| (*lease).to_owned()).collect()
}
