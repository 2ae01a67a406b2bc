//! Where a Service's pods listen.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};

use serde_json::Value;

use crate::api::Api;
use crate::node::PROGRAMS_LISTEN;
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
    /// What is named is this machine itself or its link, and no pod that runs here stands behind it.
    #[error("address {0} not allowed: no pod that runs on this machine stands behind it")]
    NotAllowed(IpAddr),
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
    let is_selected = spec["selector"].as_object().is_some_and(|all| !all.is_empty());
    for one in ready_endpoints(api, namespace, name, port_name) {
        match one {
            Endpoint::Reached(at) => return Ok(at),
            // What the cluster's owner put beside the API for a Service that selects no pods, as a webhook that is developed.
            Endpoint::Own(at) if !is_selected => return Ok(at),
            Endpoint::Own(at) if matches!(reason, ServiceError::NoEndpoints(_)) => {
                reason = ServiceError::NotAllowed(at.ip());
            }
            Endpoint::Own(_) => {}
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
    /// It is this machine or its link, and no pod is named.
    Own(SocketAddr),
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
            let pod = pod_behind(endpoint, namespace).map(|uid| api.node.occupant_of(uid));
            let addresses = endpoint["addresses"].as_array().into_iter().flatten();
            let addresses = addresses.filter_map(|address| address.as_str()?.parse::<IpAddr>().ok());
            found.extend(addresses.map(|address| {
                let of_pods = api.node.occupant(&address.to_canonical());
                // Somebody has written another address over that of a pod which nobody runs: they stand in for it there.
                let stands_in = pod == Some(Occupant::Simulation) && of_pods.is_none() && !is_own(address);
                let occupant = pod.filter(|_| !stands_in).or(of_pods);
                at_endpoint(occupant, SocketAddr::new(address, port))
            }));
        }
    }
    found
}

/// Returns the uid of the pod that an endpoint stands for; `None` where it stands for something else.
fn pod_behind<'a>(endpoint: &'a Value, namespace: &str) -> Option<&'a str> {
    let target = &endpoint["targetRef"];
    let is_pod = target["kind"] == "Pod"
        && target["namespace"]
            .as_str()
            .is_none_or(|there| there == namespace);
    target["uid"].as_str().filter(|_| is_pod)
}

/// Returns what an endpoint leads to, by who answers for its pod or at its address; `None` where neither is a pod's.
///
/// Pods that really run listen on this machine, whatever their address in the cluster. What other pods' addresses lead to in
/// the network around this machine isn't theirs, so it is never dialled.
fn at_endpoint(occupant: Option<Occupant>, at: SocketAddr) -> Endpoint {
    match occupant {
        Some(Occupant::Programs) => Endpoint::Reached(SocketAddr::new(PROGRAMS_LISTEN, at.port())),
        Some(Occupant::Simulation) => Endpoint::Simulated,
        Some(Occupant::Nobody) => Endpoint::Silent(at),
        None if is_own(at.ip()) => Endpoint::Own(at),
        None => Endpoint::Reached(at),
    }
}

/// Returns whether an address is this machine itself or its link, or none at all: what upstream never proxies to.
fn is_own(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(four) => {
            four.is_loopback()
                || four.is_link_local()
                || four.is_unspecified()
                || four.is_multicast()
                || four.is_broadcast()
        }
        IpAddr::V6(six) => {
            six.is_loopback() || six.is_unicast_link_local() || six.is_unspecified() || six.is_multicast()
        }
    }
}

/// Returns the port of a Service as the Service has it.
pub fn service_port(service: &Value, port: u16) -> Option<&Value> {
    service["spec"]["ports"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|one| one["port"].as_u64() == Some(port.into()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_endpoint_leads_to_who_answers_for_its_pod_and_to_this_machine_only_then() {
        let at = |text: &str| -> SocketAddr { text.parse().expect("an address") };
        let machine = at("127.0.0.1:8443");
        for (occupant, address, expected) in [
            (
                Some(Occupant::Programs),
                "10.244.0.2:8443",
                Endpoint::Reached(machine),
            ),
            (
                Some(Occupant::Programs),
                "192.0.2.1:8443",
                Endpoint::Reached(machine),
            ),
            (Some(Occupant::Simulation), "127.0.0.1:8443", Endpoint::Simulated),
            (
                Some(Occupant::Nobody),
                "127.0.0.1:8443",
                Endpoint::Silent(machine),
            ),
            (None, "127.0.0.1:8443", Endpoint::Own(machine)),
            (None, "127.9.9.9:1", Endpoint::Own(at("127.9.9.9:1"))),
            (None, "[::1]:1", Endpoint::Own(at("[::1]:1"))),
            (
                None,
                "[::ffff:127.0.0.1]:1",
                Endpoint::Own(at("[::ffff:127.0.0.1]:1")),
            ),
            (None, "0.0.0.0:1", Endpoint::Own(at("0.0.0.0:1"))),
            (
                None,
                "169.254.169.254:80",
                Endpoint::Own(at("169.254.169.254:80")),
            ),
            (None, "[fe80::1]:1", Endpoint::Own(at("[fe80::1]:1"))),
            (None, "192.0.2.1:443", Endpoint::Reached(at("192.0.2.1:443"))),
        ] {
            assert_eq!(
                at_endpoint(occupant, at(address)),
                expected,
                "{occupant:?} {address}"
            );
        }
    }

    #[test]
    fn a_pod_stands_behind_an_endpoint_only_in_its_namespace() {
        for (target, expected) in [
            (
                json!({"kind": "Pod", "namespace": "a", "name": "p", "uid": "1"}),
                Some("1"),
            ),
            (json!({"kind": "Pod", "name": "p", "uid": "1"}), Some("1")),
            (
                json!({"kind": "Pod", "namespace": "b", "name": "p", "uid": "1"}),
                None,
            ),
            (json!({"kind": "Node", "name": "p", "uid": "1"}), None),
            (json!({"kind": "Pod", "namespace": "a", "name": "p"}), None),
        ] {
            assert_eq!(
                pod_behind(&json!({"targetRef": target}), "a"),
                expected,
                "{target}"
            );
        }
    }
}
