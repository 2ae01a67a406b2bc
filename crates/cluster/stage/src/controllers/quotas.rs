//! ResourceQuotas: what a namespace uses is counted when a quota is new and when something goes.

use std::time::Duration;

use kinds::amounts::{self, Amount, Amounts};
use serde_json::Value;

use super::work::{Affected, Controller, Item, Next};
use crate::admission::quota;
use crate::api::Api;
use crate::client::{Client, Named};
use crate::object::{Object, map_of};
use crate::status::Status;
use crate::store::{Event, EventKind, ResourceKey};

const QUOTAS: Named<'static> = ("", "resourcequotas");

/// How often everything is counted again, for what no event tells of.
const RECOUNT: Duration = Duration::from_secs(300);

/// The resources whose deletions are watched; others are counted again from time to time.
const WATCHED: [Named<'static>; 14] = [
    ("", "pods"),
    ("", "services"),
    ("", "persistentvolumeclaims"),
    ("", "configmaps"),
    ("", "secrets"),
    ("", "replicationcontrollers"),
    ("", "serviceaccounts"),
    ("apps", "deployments"),
    ("apps", "replicasets"),
    ("apps", "statefulsets"),
    ("apps", "daemonsets"),
    ("batch", "jobs"),
    ("batch", "cronjobs"),
    ("networking.k8s.io", "ingresses"),
];

/// Counts what quotas are about.
#[derive(Debug)]
pub struct Quotas;

impl Controller for Quotas {
    const NAME: &'static str = "resourcequota-controller";

    fn watches(&self) -> Vec<(ResourceKey, Affected)> {
        let mut watches: Vec<(ResourceKey, Affected)> =
            vec![(ResourceKey::new(QUOTAS.0, QUOTAS.1), of_quota as Affected)];
        for (group, plural) in WATCHED {
            watches.push((ResourceKey::new(group, plural), of_object as Affected));
        }
        watches
    }

    async fn reconcile(&self, client: &Client, item: &Item) -> Result<Next, Status> {
        let Some(seen) = client.get(QUOTAS, &item.namespace, &item.name)? else {
            return Ok(Next::Wait);
        };
        let hard = amounts::read_all(&seen["spec"]["hard"]);
        let used = count(client, &seen, &hard)?;
        let mut wanted = seen.clone();
        let status = map_of(&mut wanted["status"]);
        status.insert("hard".into(), quota::written(&hard));
        status.insert("used".into(), quota::written(&used));
        if wanted["status"] != seen["status"] {
            client.update_status(QUOTAS, wanted).await?;
        }
        Ok(Next::After(RECOUNT))
    }
}

/// Returns how much of what a quota names is used in its namespace.
fn count(client: &Client, quota: &Value, hard: &Amounts) -> Result<Amounts, Status> {
    let served = client.api().resources.now();
    let mut used: Amounts = hard.keys().map(|name| (name.clone(), Amount::count(0))).collect();
    for group in &served.groups {
        let Some((_, resources)) = group.versions.first() else {
            continue;
        };
        for resource in resources.values().filter(|resource| resource.namespaced) {
            let names: Vec<&String> = hard.keys().filter(|name| quota::counts(resource, name)).collect();
            if names.is_empty() {
                continue;
            }
            let objects = client.list_stored((&resource.group, &resource.plural), quota.namespace())?;
            for stored in objects {
                let object = stored.value();
                if !quota::is_in_scope(quota, resource, &object) {
                    continue;
                }
                let mut uses = quota::usage(resource, &object);
                uses.retain(|name, _| hard.contains_key(name));
                amounts::add(&mut used, &uses);
            }
        }
    }
    Ok(used)
}

/// A quota is looked at when what it wants isn't what it counts yet; what writes count into it is theirs.
fn of_quota(_: &Api, event: &Event) -> Vec<Item> {
    let quota = event.object.value();
    let hard = amounts::read_all(&quota["spec"]["hard"]);
    let counted = amounts::read_all(&quota["status"]["hard"]);
    let used = amounts::read_all(&quota["status"]["used"]);
    let same = hard.len() == counted.len()
        && hard
            .iter()
            .all(|(name, amount)| counted.get(name) == Some(amount) && used.contains_key(name));
    if same && !hard.is_empty() {
        return Vec::new();
    }
    if hard.is_empty() && quota["status"]["hard"].is_object() {
        return Vec::new();
    }
    vec![Item::of(&event.object)]
}

/// Something that went, or a pod that has ended, makes room.
fn of_object(api: &Api, event: &Event) -> Vec<Item> {
    let quotas = ResourceKey::new(QUOTAS.0, QUOTAS.1);
    if api.store.count(&quotas) == 0 {
        return Vec::new();
    }
    let makes_room = event.kind == EventKind::Deleted || {
        let object = event.object.value();
        object["kind"] == "Pod" && matches!(object["status"]["phase"].as_str(), Some("Succeeded" | "Failed"))
    };
    if !makes_room {
        return Vec::new();
    }
    let namespace = &event.object.key.namespace;
    let listing = api.store.list(&quotas, Some(namespace), None, None, None);
    let items = listing.map(|listing| listing.items).unwrap_or_default();
    items.iter().map(|stored| Item::of(stored)).collect()
}
