//! Where a Service's pods listen.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};

use serde_json::Value;

use crate::api::Api;
use crate::node::addresses::Occupant;
use crate::object::Object;
use crate::store::{Key, ResourceKey};

/// Why there is nobody behind a Service.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ServiceError {
    /// There is no such Service.
    #[error("service \"{0}\" not found")]
    NotFound(String),
    /// The Service doesn't have this port.
    #[error("no service port {0} found for service \"{1}\"")]
    NoPort(u16, String),
    /// No pod of the Service is ready.
    #[error("no endpoints available for service \"{0}\"")]
    NoEndpoints(String),
    /// The pods of the Service that are ready are simulated: nobody will ever answer.
    #[error(
        "the pods of service \"{0}\" in namespace \"{1}\" are simulated, so nobody answers there; pods of images that baton \
         built really run"
    )]
    Simulated(String, String),
    /// The pod that was ready doesn't run yet, as after a start of the cluster, or no more.
    #[error("dial tcp {0}: connect: connection refused")]
    Silent(SocketAddr),
    /// The Service stands for a name outside the cluster that isn't known.
    #[error("dial tcp: lookup {0}: no such host")]
    UnknownHost(String),
}

/// Returns an address at which a pod of a Service listens.
pub fn endpoint(api: &Api, namespace: &str, name: &str, port: u16) -> Result<SocketAddr, ServiceError> {
    let key = Key::new(&ResourceKey::new("", "services"), namespace, name);
    let service = api
        .store
        .get(&key)
        .ok_or_else(|| ServiceError::NotFound(name.to_owned()))?
        .value();
    let spec = &service["spec"];
    if spec["type"] == "ExternalName" {
        let host = spec["externalName"].as_str().unwrap_or_default();
        return (host, port)
            .to_socket_addrs()
            .ok()
            .and_then(|mut all| all.next())
            .ok_or_else(|| ServiceError::UnknownHost(host.to_owned()));
    }
    let service_port =
        service_port(&service, port).ok_or_else(|| ServiceError::NoPort(port, name.to_owned()))?;
    let port_name = service_port["name"].as_str().unwrap_or_default();
    let mut reason = ServiceError::NoEndpoints(name.to_owned());
    for one in ready_endpoints(api, namespace, name, port_name) {
        match one {
            Endpoint::Reached(at) => return Ok(at),
            // Who will answer, but not yet, counts more than who never will: what a webhook would refuse isn't let through
            // while its pod starts.
            Endpoint::Silent(at) => reason = ServiceError::Silent(at),
            Endpoint::Simulated if matches!(reason, ServiceError::Silent(_)) => {}
            Endpoint::Simulated => reason = ServiceError::Simulated(name.to_owned(), namespace.to_owned()),
        }
    }
    Err(reason)
}

/// Where a pod of a Service is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Endpoint {
    /// Something may listen there.
    Reached(SocketAddr),
    /// Its pod is simulated.
    Simulated,
    /// Its pod hasn't started yet, or is gone.
    Silent(SocketAddr),
}

/// Returns whether any pod of a Service is ready at a port, as the APIService controller asks.
pub fn has_endpoints(api: &Api, namespace: &str, name: &str, port_name: &str) -> bool {
    !ready_endpoints(api, namespace, name, port_name).is_empty()
}

/// Returns whether there is any EndpointSlice of a Service.
pub fn has_slices(api: &Api, namespace: &str, name: &str) -> bool {
    let slices = ResourceKey::new("discovery.k8s.io", "endpointslices");
    let Ok(listing) = api.store.list(&slices, Some(namespace), None, None, None) else {
        return false;
    };
    let label = "kubernetes.io/service-name";
    listing
        .items
        .iter()
        .any(|one| one.labels.get(label) == Some(name))
}

fn ready_endpoints(api: &Api, namespace: &str, name: &str, port_name: &str) -> Vec<Endpoint> {
    let slices = ResourceKey::new("discovery.k8s.io", "endpointslices");
    let Ok(listing) = api.store.list(&slices, Some(namespace), None, None, None) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for stored in &listing.items {
        if stored.labels.get("kubernetes.io/service-name") != Some(name) {
            continue;
        }
        let slice = stored.value();
        if slice.is_being_deleted() {
            continue;
        }
        let port = slice["ports"]
            .as_array()
            .into_iter()
            .flatten()
            .find(|one| one["name"].as_str().unwrap_or_default() == port_name)
            .and_then(|one| u16::try_from(one["port"].as_u64()?).ok());
        let Some(port) = port else { continue };
        for endpoint in slice["endpoints"].as_array().into_iter().flatten() {
            if endpoint["conditions"]["ready"] == false {
                continue;
            }
            for address in endpoint["addresses"].as_array().into_iter().flatten() {
                if let Some(text) = address.as_str()
                    && let Ok(address) = text.parse::<IpAddr>()
                {
                    // Pods that really run listen on this machine, whatever their address in the cluster. What other pods'
                    // addresses lead to in the network around this machine isn't theirs, so it is never dialled.
                    found.push(match api.node.occupant(&address) {
                        Some(Occupant::Simulation) => Endpoint::Simulated,
                        Some(Occupant::Nobody) => Endpoint::Silent(SocketAddr::new(address, port)),
                        Some(Occupant::Programs) | None => {
                            let reached = api.node.address_of(text).unwrap_or(address);
                            Endpoint::Reached(SocketAddr::new(reached, port))
                        }
                    });
                }
            }
        }
    }
    found
}

/// Returns the port of a Service as the Service has it.
pub fn service_port(service: &Value, port: u16) -> Option<&Value> {
    service["spec"]["ports"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|one| one["port"].as_u64() == Some(port.into()))
}
