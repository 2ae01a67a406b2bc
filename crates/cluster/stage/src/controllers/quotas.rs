//! `ResourceQuotas`: what is used of each.

use std::time::Duration;

use kinds::quantity::Quantity;
use serde_json::{Map, Value, json};

use super::work::{Affected, Controller, Item, Next};
use crate::api::Api;
use crate::client::{Client, Named};
use crate::object::Object;
use crate::quota::{Usage, add, is_about, usage};
use crate::status::Status;
use crate::store::{Event, EventKind, ResourceKey};

const QUOTAS: Named<'static> = ("", "resourcequotas");

/// How often a quota is counted anew that limits custom resources, which aren't watched.
const NEXT_COUNT: Duration = Duration::from_secs(2);

/// How often every quota is counted anew: admission counts what is made, also where the making fails in the end.
const RECOUNT: Duration = Duration::from_mins(5);

/// Counts what is used of quotas.
#[derive(Debug)]
pub struct Quotas;

impl Controller for Quotas {
    const NAME: &'static str = "resourcequota-controller";

    fn watches(&self) -> Vec<(ResourceKey, Affected)> {
        let counted = kinds::table::KINDS
            .iter()
            .filter(|kind| kind.is_namespaced() && kind.verbs.contains(&"delete"))
            // Events of both groups are the same, and nobody limits them.
            .filter(|kind| kind.plural != "events" && (kind.group, kind.plural) != QUOTAS)
            .map(|kind| {
                (
                    ResourceKey::new(kind.group, kind.plural),
                    quotas_of_namespace as Affected,
                )
            });
        let own: (ResourceKey, Affected) = (ResourceKey::new(QUOTAS.0, QUOTAS.1), uncounted);
        counted.chain([own]).collect()
    }

    async fn reconcile(&self, client: &Client, item: &Item) -> Result<Next, Status> {
        let Some(quota) = client.get(QUOTAS, &item.namespace, &item.name)? else {
            return Ok(Next::Wait);
        };
        if quota.is_being_deleted() {
            return Ok(Next::Wait);
        }
        let (used, watched) = count(client, &quota)?;
        if let Some(status) = decide(&quota, &used) {
            let mut wanted = quota;
            wanted["status"] = status;
            client.update_status(QUOTAS, wanted).await?;
        }
        Ok(Next::After(if watched { RECOUNT } else { NEXT_COUNT }))
    }
}

/// Sums up what is used of a quota, and returns whether everything in it is watched.
fn count(client: &Client, quota: &Value) -> Result<(Usage, bool), Status> {
    let served = client.api().resources.now();
    let mut used = Usage::new();
    let mut counted: Vec<ResourceKey> = Vec::new();
    let mut watched = true;
    for limit in limits(quota) {
        let (group, plural) = resource_of(limit);
        let Some(resource) = served.preferred(group, plural) else {
            // It may be served later.
            watched = false;
            continue;
        };
        watched &= resource.custom().is_none();
        if counted.contains(&resource.storage) {
            continue;
        }
        counted.push(resource.storage.clone());
        for stored in client.list_stored((group, plural), quota.namespace())? {
            let object = stored.value();
            if is_about(quota, group, plural, &object) {
                add(&mut used, &usage(group, plural, &object));
            }
        }
    }
    Ok((used, watched))
}

fn limits(quota: &Value) -> impl Iterator<Item = &str> {
    let hard = quota["spec"]["hard"].as_object().into_iter().flatten();
    hard.map(|(name, _)| name.as_str())
}

/// Returns the resource whose objects use what a limit is on.
fn resource_of(limit: &str) -> (&str, &str) {
    if let Some(counted) = limit.strip_prefix("count/") {
        return match counted.split_once('.') {
            Some((plural, group)) => (group, plural),
            None => ("", counted),
        };
    }
    match limit {
        "services" | "services.nodeports" | "services.loadbalancers" => ("", "services"),
        "configmaps" | "secrets" | "replicationcontrollers" | "resourcequotas" => ("", limit),
        "persistentvolumeclaims" | "requests.storage" => ("", "persistentvolumeclaims"),
        _ if limit.contains(".storageclass.storage.k8s.io/") => ("", "persistentvolumeclaims"),
        _ => ("", "pods"),
    }
}

/// Returns the status of a quota, unless it has it.
fn decide(quota: &Value, used: &Usage) -> Option<Value> {
    let nothing = Quantity::read("0");
    let used: Map<String, Value> = limits(quota)
        .map(|name| {
            let amount = used.get(name).copied().unwrap_or(nothing);
            (name.to_owned(), amount.written().into())
        })
        .collect();
    let status = json!({"hard": quota["spec"]["hard"], "used": used});
    (quota["status"] != status).then_some(status)
}

/// Returns a quota that limits something else than it counts. What is used is no reason: admission writes it for objects
/// that are about to be stored, and a count in between would miss them.
fn uncounted(_: &Api, event: &Event) -> Vec<Item> {
    let quota = event.object.value();
    let used = &quota["status"]["used"];
    let counted = quota["status"]["hard"] == quota["spec"]["hard"]
        && limits(&quota).all(|name| used.get(name).is_some());
    if counted {
        return Vec::new();
    }
    vec![Item::of(&event.object)]
}

/// Returns the quotas of the namespace in which something changed or went; admission counts what is new.
fn quotas_of_namespace(api: &Api, event: &Event) -> Vec<Item> {
    let namespace = &event.object.key.namespace;
    let quotas = ResourceKey::new(QUOTAS.0, QUOTAS.1);
    if event.kind == EventKind::Added || api.store.count(&quotas) == 0 {
        return Vec::new();
    }
    let listed = api.store.list(&quotas, Some(namespace), None, None, None);
    let items = listed.map(|listing| listing.items).unwrap_or_default();
    items.iter().map(|quota| Item::of(quota)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_is_on_objects_of_one_resource() {
        for (limit, expected) in [
            ("count/deployments.apps", ("apps", "deployments")),
            ("count/secrets", ("", "secrets")),
            ("secrets", ("", "secrets")),
            ("services.nodeports", ("", "services")),
            ("requests.storage", ("", "persistentvolumeclaims")),
            (
                "fast.storageclass.storage.k8s.io/requests.storage",
                ("", "persistentvolumeclaims"),
            ),
            ("requests.cpu", ("", "pods")),
            ("pods", ("", "pods")),
            ("requests.nvidia.com/gpu", ("", "pods")),
        ] {
            assert_eq!(resource_of(limit), expected, "{limit}");
        }
    }

    #[test]
    fn what_is_limited_is_shown_also_when_nothing_of_it_is_used() {
        let mut quota = json!({"spec": {"hard": {"pods": "4", "requests.storage": "10Gi"}}});
        let mut used = Usage::new();
        add(
            &mut used,
            &usage(
                "",
                "persistentvolumeclaims",
                &json!({"spec": {"resources": {"requests": {"storage": "5Gi"}}}}),
            ),
        );
        let status = decide(&quota, &used).unwrap();
        assert_eq!(
            status,
            json!({
                "hard": {"pods": "4", "requests.storage": "10Gi"},
                "used": {"pods": "0", "requests.storage": "5Gi"},
            })
        );
        quota["status"] = status;
        assert_eq!(decide(&quota, &used), None);
    }
}
