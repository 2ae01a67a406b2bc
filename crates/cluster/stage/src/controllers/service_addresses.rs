//! `IPAddresses`, which show who has which address.

use serde_json::{Value, json};

use super::service_pods::SERVICES;
use super::work::{Affected, Controller, Item, Next, itself};
use crate::api::Api;
use crate::client::{Client, Named};
use crate::object::Object;
use crate::options::DeleteOptions;
use crate::status::Status;
use crate::store::{Event, Position, ResourceKey, Stored};

/// The resource of addresses.
pub(crate) const ADDRESSES: Named<'static> = ("networking.k8s.io", "ipaddresses");

/// The label with an address's family.
const FAMILY: &str = "ipaddress.kubernetes.io/ip-family";

/// The label that says who keeps an address.
pub(super) const MANAGED_BY: &str = "ipaddress.kubernetes.io/managed-by";

/// Who keeps the addresses of Services.
pub(super) const MANAGER: &str = "ipallocator.k8s.io";

/// Keeps the `IPAddresses` of Services.
#[derive(Debug)]
pub struct ServiceAddresses;

impl Controller for ServiceAddresses {
    const NAME: &'static str = "service-ip-address-controller";

    fn watches(&self) -> Vec<(ResourceKey, Affected)> {
        vec![
            (ResourceKey::new(SERVICES.0, SERVICES.1), itself),
            (ResourceKey::new(ADDRESSES.0, ADDRESSES.1), service_of_address),
        ]
    }

    async fn reconcile(&self, client: &Client, item: &Item) -> Result<Next, Status> {
        let service = client.get(SERVICES, &item.namespace, &item.name)?;
        let addresses = addresses_of(client, item)?;
        let plan = decide(service.as_ref(), &addresses);
        for name in plan.gone {
            client
                .delete(ADDRESSES, "", &name, &DeleteOptions::default())
                .await?;
        }
        for address in plan.missing {
            client.create(ADDRESSES, address).await?;
        }
        Ok(Next::Wait)
    }
}

/// Returns the addresses that are kept for a Service.
fn addresses_of(client: &Client, item: &Item) -> Result<Vec<Value>, Status> {
    let positions: Vec<Position> = client.api().indices.addresses.ask(|addresses| {
        let of_service = addresses.get(&word(&item.namespace, &item.name));
        of_service.cloned().collect()
    });
    let mut found = Vec::new();
    for position in positions {
        let address = client.get(ADDRESSES, "", &position.name)?;
        found.extend(address.filter(|address| parent(address) == Some((&*item.namespace, &*item.name))));
    }
    Ok(found)
}

/// Returns the word that the index has an address under: its Service.
pub(crate) fn words(address: &Stored) -> Vec<String> {
    let address = address.value();
    Vec::from_iter(parent(&address).map(|(namespace, name)| word(namespace, name)))
}

fn word(namespace: &str, name: &str) -> String {
    format!("{namespace}/{name}")
}

/// What is done to the addresses of a Service.
#[derive(Debug, Default, PartialEq)]
struct Plan {
    gone: Vec<String>,
    missing: Vec<Value>,
}

fn decide(service: Option<&Value>, present: &[Value]) -> Plan {
    let listed = service.and_then(|service| service["spec"]["clusterIPs"].as_array());
    let wanted: Vec<&str> = listed
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .filter(|text| text.parse::<std::net::IpAddr>().is_ok())
        .collect();
    let gone = present
        .iter()
        .map(Object::name)
        .filter(|name| !wanted.contains(name))
        .map(str::to_owned)
        .collect();
    let missing = wanted
        .iter()
        .filter(|text| !present.iter().any(|address| address.name() == **text))
        .filter_map(|text| Some(address_of(service?, text)))
        .collect();
    Plan { gone, missing }
}

fn address_of(service: &Value, text: &str) -> Value {
    json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "IPAddress",
        "metadata": {
            "name": text,
            "labels": {
                FAMILY: if text.contains(':') { "IPv6" } else { "IPv4" },
                MANAGED_BY: MANAGER,
            },
        },
        "spec": {"parentRef": {
            "resource": "services",
            "namespace": service.namespace(),
            "name": service.name(),
        }},
    })
}

fn parent(address: &Value) -> Option<(&str, &str)> {
    let parent = &address["spec"]["parentRef"];
    let is_service = parent["resource"] == "services" && address.label(MANAGED_BY) == Some(MANAGER);
    is_service.then_some((parent["namespace"].as_str()?, parent["name"].as_str()?))
}

fn service_of_address(_: &Api, event: &Event) -> Vec<Item> {
    let address = event.object.value();
    Vec::from_iter(parent(&address).map(|(namespace, name)| Item::new(namespace, name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_has_an_address_object_for_each_of_its_addresses() {
        let service = json!({
            "metadata": {"name": "s", "namespace": "a"}, "spec": {"clusterIPs": ["10.96.1.2"]},
        });
        let made = decide(Some(&service), &[]).missing;
        assert_eq!(made.len(), 1);
        assert_eq!(parent(&made[0]), Some(("a", "s")));
        assert_eq!(made[0]["metadata"]["labels"][FAMILY], "IPv4");
        assert_eq!(decide(Some(&service), &made), Plan::default());
        assert_eq!(decide(None, &made).gone, ["10.96.1.2"]);
        let headless = json!({"metadata": {"name": "s", "namespace": "a"}, "spec": {"clusterIPs": ["None"]}});
        assert_eq!(decide(Some(&headless), &made).gone, ["10.96.1.2"]);
        assert!(decide(Some(&headless), &[]).missing.is_empty());
    }
}
