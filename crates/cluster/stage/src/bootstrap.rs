//! The first objects of a cluster: its namespaces, priority classes, storage class and the Service of the API itself.

use std::net::SocketAddr;
use std::sync::Arc;

use futures_util::future::{try_join_all, try_join3};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::allocation::SERVICE_RANGE;
use crate::api::Api;
use crate::caller::Caller;
use crate::client::{Client, Named};
use crate::object::{Object, timestamp};
use crate::status::Status;
use crate::store::{Change, Expect, Key, ResourceKey, Write};

/// The namespaces that every cluster has.
pub const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// The `StorageClass` that claims get when they name none.
pub const DEFAULT_STORAGE_CLASS: &str = "standard";

/// Who makes the volumes of the default `StorageClass`.
pub const PROVISIONER: &str = "baton.dev/directory";

/// The port that the API's Service names until the API listens somewhere else.
const USUAL_PORT: u16 = 6443;

const CRITICAL_ON_NODE: &str =
    "Used for system critical pods that must not be moved from their current node.";
const CRITICAL_IN_CLUSTER: &str = "Used for system critical pods that must run in the cluster, but can be moved to another \
    node if necessary.";

impl Api {
    /// Makes the first objects of a cluster, where they are missing.
    pub async fn bootstrap(self: &Arc<Self>) -> Result<(), Status> {
        let client = Client::new(self.clone(), Caller::administrator(), "kube-apiserver");
        // Namespaces come before what is in them; beyond that, everything at once is one write to the disk.
        let (namespaces, others): (Vec<_>, Vec<_>) = first_objects()
            .into_iter()
            .partition(|(resource, _)| *resource == ("", "namespaces"));
        for objects in [namespaces, others] {
            let making = objects.into_iter().map(|(resource, object)| {
                let client = &client;
                async move {
                    let known = client.get_stored(resource, object.namespace(), object.name())?;
                    if known.is_none() {
                        client.create(resource, object).await?;
                    }
                    Ok::<(), Status>(())
                }
            });
            try_join_all(making).await?;
        }
        self.bootstrap_policy().await
    }
}

/// Returns the first objects, in the order in which they are made.
fn first_objects() -> Vec<(Named<'static>, Value)> {
    let mut objects: Vec<(Named<'static>, Value)> = Vec::new();
    for name in NAMESPACES {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        objects.push((("", "namespaces"), namespace));
    }
    for (name, value, description) in [
        ("system-node-critical", 2_000_001_000, CRITICAL_ON_NODE),
        ("system-cluster-critical", 2_000_000_000, CRITICAL_IN_CLUSTER),
    ] {
        let class = json!({
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
            "description": description,
        });
        objects.push((("scheduling.k8s.io", "priorityclasses"), class));
    }
    let class = json!({
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {
            "name": DEFAULT_STORAGE_CLASS,
            "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
        },
        "provisioner": PROVISIONER,
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "Immediate",
    });
    objects.push((("storage.k8s.io", "storageclasses"), class));
    let range = json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "ServiceCIDR",
        "metadata": {"name": "kubernetes"},
        "spec": {"cidrs": [SERVICE_RANGE.to_string()]},
    });
    objects.push((("networking.k8s.io", "servicecidrs"), range));
    let address = SERVICE_RANGE.api_server().to_string();
    let service = json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": "kubernetes",
            "namespace": "default",
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {
            "type": "ClusterIP",
            "clusterIP": address,
            "clusterIPs": [address],
            "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack",
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": USUAL_PORT}],
            "sessionAffinity": "None",
        },
    });
    objects.push((("", "services"), service));
    objects
}

/// Publishes where the API listens, as the endpoint of its Service.
///
/// Nothing that a client writes may name a loopback address, but this API listens on one unless told otherwise: what
/// publishes it is stored directly.
pub async fn publish(api: &Arc<Api>, listens: SocketAddr) -> Result<(), Status> {
    let client = Client::new(api.clone(), Caller::administrator(), "kube-apiserver");
    let patch = json!({"spec": {"ports": [
        {"name": "https", "port": 443, "protocol": "TCP", "targetPort": listens.port()},
    ]}});
    let service = client.merge(("", "services"), "default", "kubernetes", "", &patch);
    let ports = json!([{"name": "https", "port": listens.port(), "protocol": "TCP"}]);
    let address = listens.ip().to_string();
    let slice = json!({
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"labels": {"kubernetes.io/service-name": "kubernetes"}, "generation": 1},
        "addressType": if listens.is_ipv4() { "IPv4" } else { "IPv6" },
        "endpoints": [{"addresses": [address], "conditions": {"ready": true}}],
        "ports": ports,
    });
    let endpoints = json!({
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {"labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}},
        "subsets": [{"addresses": [{"ip": address}], "ports": ports}],
    });
    let slices = ResourceKey::new("discovery.k8s.io", "endpointslices");
    let others = ResourceKey::new("", "endpoints");
    try_join3(service, put(api, &slices, slice), put(api, &others, endpoints)).await?;
    Ok(())
}

async fn put(api: &Api, resource: &ResourceKey, mut object: Value) -> Result<(), Status> {
    let key = Key::new(resource, "default", "kubernetes");
    let present = api
        .store
        .get(&key)
        .map(|stored| (stored.value(), stored.revision));
    let metadata = object.metadata_mut();
    metadata.insert("name".into(), "kubernetes".into());
    metadata.insert("namespace".into(), "default".into());
    let expect = if let Some((present, revision)) = &present {
        for field in ["uid", "creationTimestamp"] {
            metadata.insert(field.into(), present["metadata"][field].clone());
        }
        Expect::Revision(*revision)
    } else {
        metadata.insert("uid".into(), uuid::Uuid::new_v4().to_string().into());
        metadata.insert("creationTimestamp".into(), timestamp(Timestamp::now()).into());
        Expect::Absent
    };
    let change = Change::Put(object);
    api.store
        .write(Write { key, expect, change })
        .await
        .map(drop)
        .map_err(Status::internal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, Stage};

    #[tokio::test]
    async fn a_cluster_begins_with_its_namespaces_classes_and_the_service_of_its_api() {
        let options = Options {
            without_controllers: true,
            ..Options::default()
        };
        let stage = Stage::in_memory(options).await.unwrap();
        let client = stage.client();
        for (resource, object) in first_objects() {
            let found = client
                .get(resource, object.namespace(), object.name())
                .unwrap()
                .unwrap();
            assert_eq!(found["kind"], object["kind"]);
        }
        let service = client
            .get(("", "services"), "default", "kubernetes")
            .unwrap()
            .unwrap();
        assert_eq!(service["spec"]["clusterIP"], "10.96.0.1");
        publish(stage.api(), "127.0.0.1:7443".parse().unwrap())
            .await
            .unwrap();
        publish(stage.api(), "127.0.0.1:7444".parse().unwrap())
            .await
            .unwrap();
        let slice = client
            .get(("discovery.k8s.io", "endpointslices"), "default", "kubernetes")
            .unwrap()
            .unwrap();
        assert_eq!(slice["ports"][0]["port"], 7444);
    }
}
