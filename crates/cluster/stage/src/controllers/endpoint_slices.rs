//! `EndpointSlices`: where the pods of a Service are, and which of them take traffic.

mod decision;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::service_pods::{SERVICES, service_of_slice, services_of_pod};
use super::work::{Affected, Controller, Item, Next, itself};
use crate::client::{Client, Named};
use crate::object::Object;
use crate::options::DeleteOptions;
use crate::selectors::LabelSelector;
use crate::status::Status;
use crate::store::ResourceKey;

use decision::{Change, decide};

/// The resource of slices.
const SLICES: Named<'static> = ("discovery.k8s.io", "endpointslices");

/// The label that names a slice's Service.
pub(super) const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// The label that says who keeps a slice.
const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";

/// Who keeps the slices of Services that select pods.
const MANAGER: &str = "endpointslice-controller.k8s.io";

/// Keeps the slices of Services that select pods.
#[derive(Debug)]
pub struct EndpointSlices;

impl Controller for EndpointSlices {
    const NAME: &'static str = "endpointslice-controller";

    fn watches(&self) -> Vec<(ResourceKey, Affected)> {
        vec![
            (ResourceKey::new("", "services"), itself),
            (ResourceKey::new("", "pods"), services_of_pod),
            (ResourceKey::new(SLICES.0, SLICES.1), service_of_slice),
        ]
    }

    async fn reconcile(&self, client: &Client, item: &Item) -> Result<Next, Status> {
        // The slices of a Service that is gone go with it: they are owned by it.
        let Some(service) = client.get(SERVICES, &item.namespace, &item.name)? else {
            return Ok(Next::Wait);
        };
        let Some(selector) = service["spec"]["selector"].as_object() else {
            return Ok(Next::Wait);
        };
        if service["spec"]["type"] == "ExternalName" || service.is_being_deleted() {
            return Ok(Next::Wait);
        }
        let pods = client.list_selected(("", "pods"), &item.namespace, &LabelSelector::from_map(selector))?;
        let slices = slices_of(client, item)?;
        for change in decide(&service, &pods, &slices, Timestamp::now()) {
            match change {
                Change::Create(slice) => drop(client.create(SLICES, slice).await?),
                Change::Update(slice) => drop(client.update(SLICES, slice).await?),
                Change::Delete(name) => {
                    let options = DeleteOptions::default();
                    client.delete(SLICES, &item.namespace, &name, &options).await?;
                }
            }
        }
        Ok(Next::Wait)
    }
}

fn slices_of(client: &Client, item: &Item) -> Result<Vec<Value>, Status> {
    let labels = Map::from_iter([
        (SERVICE_NAME.to_owned(), Value::from(&*item.name)),
        (MANAGED_BY.to_owned(), MANAGER.into()),
    ]);
    let mut slices = client.list_selected(SLICES, &item.namespace, &LabelSelector::from_map(&labels))?;
    slices.retain(|slice| !slice.is_being_deleted());
    Ok(slices)
}
