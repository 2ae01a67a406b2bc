//! The Node object, its status and its lease.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use jiff::Timestamp;
use kinds::quantity::Quantity;
use serde_json::{Map, Value, json};

use super::{NODE_NAME, Options};
use crate::api::Api;
use crate::caller::Caller;
use crate::client::{Client, Named};
use crate::health::KUBERNETES_VERSION;
use crate::object::{Object, map_of, micro_timestamp, timestamp};
use crate::status::Status;

/// The resource of nodes.
pub const NODES: Named<'static> = ("", "nodes");

const LEASES: Named<'static> = ("coordination.k8s.io", "leases");

const LEASE_NAMESPACE: &str = "kube-node-lease";

/// How long a lease holds, as upstream's kubelet takes it.
const LEASE_SECONDS: i64 = 40;

/// How often the lease is renewed: a quarter of what it holds.
const RENEWAL: Duration = Duration::from_secs(10);

/// How often the status is written though nothing has changed, as upstream's kubelet does.
const STATUS_REPORT: Duration = Duration::from_mins(5);

/// What the node says it has when the machine has less. Simulated pods take nothing of the machine, so a laptop has
/// room for the requests of a small cluster.
const LEAST_ROOM: [(&str, &str); 4] = [
    ("cpu", "64"),
    ("memory", "256Gi"),
    ("ephemeral-storage", "1Ti"),
    ("pods", "10000"),
];

/// What is known of the machine.
#[derive(Debug, Clone, Default)]
pub struct Machine {
    /// Its name.
    pub host_name: String,
    /// How much of each resource there is.
    pub room: BTreeMap<String, String>,
    /// The kernel's release.
    pub kernel: String,
    /// The system's name, as `/etc/os-release` has it.
    pub system: String,
    /// What tells the machine from others.
    pub machine_id: String,
    /// What tells one start of the machine from another.
    pub boot_id: String,
}

impl Machine {
    /// Looks at the machine.
    pub fn look(options: &Options) -> Self {
        let read = |path: &str| {
            std::fs::read_to_string(path)
                .unwrap_or_default()
                .trim()
                .to_owned()
        };
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let kibibytes = read("/proc/meminfo")
            .lines()
            .find_map(|line| {
                line.strip_prefix("MemTotal:")?
                    .trim()
                    .strip_suffix("kB")
                    .map(|size| size.trim().to_owned())
            })
            .unwrap_or_else(|| "0".to_owned());
        let system = read("/etc/os-release")
            .lines()
            .find_map(|line| Some(line.strip_prefix("PRETTY_NAME=")?.trim_matches('"').to_owned()))
            .unwrap_or_else(|| std::env::consts::OS.to_owned());
        let measured = [
            ("cpu", processors.to_string()),
            ("memory", format!("{kibibytes}Ki")),
        ];
        let mut room: BTreeMap<String, String> = BTreeMap::new();
        for (name, least) in LEAST_ROOM {
            let measured = measured.iter().find(|(measured, _)| *measured == name);
            let most =
                measured.filter(|(_, amount)| Quantity::read(amount).is_more_than(Quantity::read(least)));
            room.insert(
                name.to_owned(),
                most.map_or_else(|| least.to_owned(), |(_, amount)| amount.clone()),
            );
        }
        for name in ["hugepages-1Gi", "hugepages-2Mi"] {
            room.insert(name.to_owned(), "0".to_owned());
        }
        room.extend(options.capacity.clone());
        Self {
            host_name: read("/proc/sys/kernel/hostname"),
            room,
            kernel: read("/proc/sys/kernel/osrelease"),
            system,
            machine_id: read("/etc/machine-id"),
            boot_id: read("/proc/sys/kernel/random/boot_id"),
        }
    }
}

fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// Returns the Node as it is made; labels that someone added to one that is there stay.
pub fn node(seen: Option<&Value>) -> Value {
    let mut node = seen.cloned().unwrap_or_else(|| {
        json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": NODE_NAME, "annotations": {"volumes.kubernetes.io/controller-managed-attach-detach": "true"}},
            "spec": {"podCIDR": "10.244.0.0/16", "podCIDRs": ["10.244.0.0/16"], "providerID": format!("baton://{NODE_NAME}")},
        })
    });
    let labels = map_of(node.metadata_mut().entry("labels").or_insert(Value::Null));
    for (name, value) in [
        ("beta.kubernetes.io/arch", architecture()),
        ("beta.kubernetes.io/os", "linux"),
        ("kubernetes.io/arch", architecture()),
        ("kubernetes.io/hostname", NODE_NAME),
        ("kubernetes.io/os", "linux"),
        ("node-role.kubernetes.io/control-plane", ""),
        ("node.kubernetes.io/exclude-from-external-load-balancers", ""),
    ] {
        labels.entry(name).or_insert_with(|| value.into());
    }
    node
}

/// Writes the node's status as it is now; resources and conditions that someone else added stay.
pub fn write_status(node: &mut Value, machine: &Machine, port: Option<u16>, now: Timestamp) {
    let status = map_of(map_of(node).entry("status").or_insert(Value::Null));
    for list in ["capacity", "allocatable"] {
        let there = map_of(status.entry(list).or_insert(Value::Null));
        for (name, amount) in &machine.room {
            there.insert(name.clone(), amount.clone().into());
        }
    }
    status.insert(
        "addresses".into(),
        json!([{"type": "InternalIP", "address": "127.0.0.1"}, {"type": "Hostname", "address": NODE_NAME}]),
    );
    if let Some(port) = port {
        status.insert(
            "daemonEndpoints".into(),
            json!({"kubeletEndpoint": {"Port": port}}),
        );
    } else {
        status
            .entry("daemonEndpoints")
            .or_insert_with(|| json!({"kubeletEndpoint": {"Port": 0}}));
    }
    let version = format!("v{KUBERNETES_VERSION}");
    status.insert(
        "nodeInfo".into(),
        json!({
            "architecture": architecture(), "bootID": machine.boot_id,
            "containerRuntimeVersion": format!("baton://{}", env!("CARGO_PKG_VERSION")),
            "kernelVersion": machine.kernel, "kubeProxyVersion": "", "kubeletVersion": version,
            "machineID": machine.machine_id, "operatingSystem": "linux", "osImage": machine.system,
            "systemUUID": machine.machine_id,
        }),
    );
    let conditions = status.entry("conditions").or_insert_with(|| json!([]));
    let Some(conditions) = conditions.as_array_mut() else {
        return;
    };
    for (kind, holds, reason, message) in [
        (
            "MemoryPressure",
            "False",
            "KubeletHasSufficientMemory",
            "kubelet has sufficient memory available",
        ),
        (
            "DiskPressure",
            "False",
            "KubeletHasNoDiskPressure",
            "kubelet has no disk pressure",
        ),
        (
            "PIDPressure",
            "False",
            "KubeletHasSufficientPID",
            "kubelet has sufficient PID available",
        ),
        ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
    ] {
        let now = timestamp(now);
        let there = conditions.iter_mut().find(|one| one["type"] == kind);
        let since = there
            .as_ref()
            .filter(|there| there["status"] == holds)
            .map_or_else(|| json!(now), |there| there["lastTransitionTime"].clone());
        let condition = json!({
            "type": kind, "status": holds, "reason": reason, "message": message, "lastHeartbeatTime": now,
            "lastTransitionTime": since,
        });
        match there {
            Some(there) => *there = condition,
            None => conditions.push(condition),
        }
    }
}

/// Keeps the Node and its lease fresh, until the cluster ends.
pub async fn keep(api: Weak<Api>, machine: Arc<Machine>) {
    let mut reported: Option<tokio::time::Instant> = None;
    loop {
        {
            let Some(api) = api.upgrade() else { return };
            let client = client(api);
            if reported.is_none_or(|at| at.elapsed() >= STATUS_REPORT) {
                match report(&client, &machine).await {
                    Ok(()) => reported = Some(tokio::time::Instant::now()),
                    // A controller wrote it at the same moment: the next try sees what it wrote.
                    Err(status) if status.code == http::StatusCode::CONFLICT => continue,
                    Err(status) => tracing::warn!(%status, "the node's status could not be written"),
                }
            }
            if let Err(status) = renew(&client).await {
                tracing::debug!(%status, "the node's lease could not be renewed");
            }
        }
        let again = if reported.is_none() {
            Duration::from_millis(100)
        } else {
            RENEWAL
        };
        tokio::time::sleep(again).await;
    }
}

/// Returns the client of the node.
pub fn client(api: Arc<Api>) -> Client {
    let caller = Caller::named(
        &format!("system:node:{NODE_NAME}"),
        &[crate::caller::MASTERS, "system:nodes", "system:authenticated"],
    );
    Client::new(api, Arc::new(caller), "kubelet")
}

/// Makes the Node what it should be.
pub async fn report(client: &Client, machine: &Machine) -> Result<(), Status> {
    let seen = client.get(NODES, "", NODE_NAME)?;
    let wanted = node(seen.as_ref());
    let mut node = match seen {
        Some(seen) if seen == wanted => seen,
        Some(_) => client.update(NODES, wanted).await?,
        None => client.create(NODES, wanted).await?,
    };
    write_status(&mut node, machine, None, Timestamp::now());
    client.update_status(NODES, node).await?;
    Ok(())
}

async fn renew(client: &Client) -> Result<(), Status> {
    let now = micro_timestamp(Timestamp::now());
    if client.get(LEASES, LEASE_NAMESPACE, NODE_NAME)?.is_some() {
        let patch = json!({"spec": {"renewTime": now, "holderIdentity": NODE_NAME}});
        client
            .merge(LEASES, LEASE_NAMESPACE, NODE_NAME, "", &patch)
            .await?;
        return Ok(());
    }
    let mut owner = Map::new();
    if let Some(node) = client.get(NODES, "", NODE_NAME)? {
        owner.insert(
            "ownerReferences".into(),
            json!([{"apiVersion": "v1", "kind": "Node", "name": NODE_NAME, "uid": node.uid()}]),
        );
    }
    owner.insert("name".into(), NODE_NAME.into());
    owner.insert("namespace".into(), LEASE_NAMESPACE.into());
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": owner,
        "spec": {"holderIdentity": NODE_NAME, "leaseDurationSeconds": LEASE_SECONDS, "renewTime": now},
    });
    client.create(LEASES, lease).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_and_labels_of_others_stay_when_the_node_is_written_again() {
        let machine = Machine::look(&Options::default());
        let mut first = node(None);
        write_status(&mut first, &machine, None, Timestamp::UNIX_EPOCH);
        first["status"]["capacity"]["nvidia.com/gpu"] = "8".into();
        first["metadata"]["labels"]["zone"] = "a".into();
        let since = first["status"]["conditions"][3]["lastTransitionTime"].clone();
        let mut again = node(Some(&first));
        write_status(&mut again, &machine, None, Timestamp::now());
        assert_eq!(again["status"]["capacity"]["nvidia.com/gpu"], "8");
        assert_eq!(again["metadata"]["labels"]["zone"], "a");
        assert_eq!(again["status"]["conditions"][3]["lastTransitionTime"], since);
        assert_eq!(again["status"]["conditions"].as_array().map(Vec::len), Some(4));
    }

    #[test]
    fn a_small_machine_has_room_for_simulated_pods() {
        let machine = Machine::look(&Options::default());
        assert!(!Quantity::read("64").is_more_than(Quantity::read(&machine.room["cpu"])));
    }
}
