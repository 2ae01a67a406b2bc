//! ResourceQuotas: how much of everything a namespace may have.
//!
//! What is used is counted in the quota's status: a write that needs more adds to it, and a controller counts again when
//! something goes.

use kinds::quantity::Quantity;
use serde_json::{Value, json};

use super::{Operation, Review};
use crate::node::requests::amounts;
use crate::object::{Object, map_of};
use crate::quota::{Usage, add, is_about, usage};
use crate::resource::Resource;
use crate::status::{GroupResource, Status};
use crate::store::{Change, Expect, ResourceKey, Write, WriteError};

/// How often a quota is read again when others write it at the same moment.
const MOST_ATTEMPTS: usize = 20;

/// What every container must name where a quota counts it.
const NAMED_BY_CONTAINERS: [&str; 6] = [
    "cpu",
    "memory",
    "requests.cpu",
    "requests.memory",
    "limits.cpu",
    "limits.memory",
];

/// The end of the names of amounts that are counted for each StorageClass.
const OF_STORAGE_CLASS: &str = ".storageclass.storage.k8s.io/";

/// Counts writes into the quotas of their namespaces, one after the other.
#[derive(Debug, Default)]
pub struct Quotas {
    turn: tokio::sync::Mutex<()>,
}

impl Quotas {
    /// Refuses a write that needs more than the quotas of its namespace leave, and counts it otherwise.
    pub async fn charge(&self, review: &Review<'_>) -> Result<(), Status> {
        let quotas = ResourceKey::new("", "resourcequotas");
        let store = &review.api.store;
        if review.place.namespace.is_empty() || !is_counted(review) || store.count(&quotas) == 0 {
            return Ok(());
        }
        let _turn = self.turn.lock().await;
        for _ in 0..MOST_ATTEMPTS {
            let listing = store
                .list(&quotas, Some(&review.place.namespace), None, None, None)
                .map_err(Status::internal)?;
            let mut raced = false;
            let mut charged = Vec::new();
            for stored in &listing.items {
                if let Some(quota) = checked(review, stored.value())? {
                    charged.push((stored, quota));
                }
            }
            if review.dry_run {
                return Ok(());
            }
            for (stored, quota) in charged {
                let write = Write {
                    key: stored.key.clone(),
                    expect: Expect::Revision(stored.revision),
                    change: Change::Put(quota),
                };
                match store.write(write).await {
                    Ok(_) => {}
                    Err(WriteError::Conflict { .. } | WriteError::NotFound { .. }) => {
                        raced = true;
                        break;
                    }
                    Err(error) => return Err(Status::internal(error)),
                }
            }
            if !raced {
                return Ok(());
            }
        }
        let named = GroupResource {
            group: "",
            resource: "resourcequotas",
        };
        Err(Status::modified(named, ""))
    }
}

fn is_counted(review: &Review<'_>) -> bool {
    let resource = &review.place.resource;
    let below = review.place.subresource.as_str();
    match review.operation {
        Operation::Create => below.is_empty(),
        Operation::Update if resource.is("", "pods") => below == "resize",
        Operation::Update => {
            below.is_empty() && (resource.is("", "services") || resource.is("", "persistentvolumeclaims"))
        }
        _ => false,
    }
}

/// Returns a quota as the write makes it; `None` where the write doesn't change what it counts.
fn checked(review: &Review<'_>, mut quota: Value) -> Result<Option<Value>, Status> {
    let Some(object) = &review.object else {
        return Ok(None);
    };
    let resource = &review.place.resource;
    let hard = amounts(&quota["status"]["hard"]);
    let restricted: Vec<String> = hard
        .keys()
        .filter(|name| counts(resource, name))
        .cloned()
        .collect();
    if restricted.is_empty() || !is_about(&quota, &resource.group, &resource.plural, object) {
        return Ok(None);
    }
    if let Some(missing) = unnamed(resource, object, &restricted) {
        let why = format!("failed quota: {}: must specify {missing}", quota.name());
        return Err(review.forbidden(why));
    }
    let used = amounts(&quota["status"]["used"]);
    if restricted.iter().any(|name| !used.contains_key(name)) {
        return Err(review.forbidden(format_args!(
            "status unknown for quota: {}, resources: {}",
            quota.name(),
            restricted.join(",")
        )));
    }
    let mut delta = usage(&resource.group, &resource.plural, object);
    if let (Operation::Update, Some(old)) = (review.operation, review.old)
        && is_about(&quota, &resource.group, &resource.plural, old)
    {
        let before = usage(&resource.group, &resource.plural, old);
        for (name, amount) in &mut delta {
            if let Some(before) = before.get(name) {
                let more = amount.minus(*before);
                *amount = if more.is_positive() {
                    more
                } else {
                    Quantity::read("0")
                };
            }
        }
    }
    delta.retain(|name, amount| amount.is_set() && hard.contains_key(name));
    if delta.is_empty() {
        return Ok(None);
    }
    let mut sum = used.clone();
    add(&mut sum, &delta);
    let exceeded: Vec<&String> = delta
        .keys()
        .filter(|name| match (sum.get(*name), hard.get(*name)) {
            (Some(sum), Some(hard)) => sum.is_more_than(*hard),
            _ => false,
        })
        .collect();
    if !exceeded.is_empty() {
        let shown = |amounts: &Usage| {
            let all = exceeded.iter().filter_map(|name| {
                let amount = amounts.get(*name)?;
                Some(format!("{name}={}", amount.written()))
            });
            all.collect::<Vec<_>>().join(",")
        };
        return Err(review.forbidden(format_args!(
            "exceeded quota: {}, requested: {}, used: {}, limited: {}",
            quota.name(),
            shown(&delta),
            shown(&used),
            shown(&hard)
        )));
    }
    map_of(&mut quota["status"]).insert("used".into(), written(&sum));
    Ok(Some(quota))
}

/// Returns amounts as a status has them.
fn written(amounts: &Usage) -> Value {
    let all = amounts
        .iter()
        .map(|(name, amount)| (name.clone(), json!(amount.written())));
    Value::Object(all.collect())
}

/// Returns whether a name in a quota is about objects of a resource.
fn counts(resource: &Resource, name: &str) -> bool {
    if *name == count_name(resource) {
        return true;
    }
    if !resource.group.is_empty() {
        return false;
    }
    match &*resource.plural {
        "pods" => {
            matches!(name, "pods" | "cpu" | "memory" | "ephemeral-storage")
                || name.starts_with("hugepages-")
                || name.strip_prefix("limits.").is_some_and(is_of_pods)
                || name.strip_prefix("requests.").is_some_and(|rest| {
                    is_of_pods(rest) || rest.starts_with("hugepages-") || rest.contains('/')
                })
        }
        "services" => matches!(name, "services" | "services.loadbalancers" | "services.nodeports"),
        "persistentvolumeclaims" => {
            let of_class = name.split_once(OF_STORAGE_CLASS).map_or(name, |(_, rest)| rest);
            matches!(of_class, "persistentvolumeclaims" | "requests.storage")
        }
        plural @ ("configmaps" | "secrets" | "replicationcontrollers" | "resourcequotas") => name == plural,
        _ => false,
    }
}

fn is_of_pods(name: &str) -> bool {
    matches!(name, "cpu" | "memory" | "ephemeral-storage")
}

fn count_name(resource: &Resource) -> String {
    format!("count/{}", resource.group_resource())
}

/// Returns what containers don't name though a quota counts it.
fn unnamed(resource: &Resource, pod: &Value, restricted: &[String]) -> Option<String> {
    if !resource.is("", "pods") || pod["spec"]["resources"].is_object() {
        return None;
    }
    let mut missing: Vec<String> = Vec::new();
    let mut names: Vec<&String> = restricted
        .iter()
        .filter(|name| NAMED_BY_CONTAINERS.contains(&name.as_str()))
        .collect();
    names.sort();
    for name in names {
        let mut containers: Vec<&str> = ["containers", "initContainers"]
            .iter()
            .flat_map(|list| pod["spec"][*list].as_array().into_iter().flatten())
            .filter(|container| {
                let (list, resource) = match name.strip_prefix("limits.") {
                    Some(resource) => ("limits", resource),
                    None => ("requests", name.strip_prefix("requests.").unwrap_or(name)),
                };
                container["resources"][list].get(resource).is_none()
            })
            .map(|container| container["name"].as_str().unwrap_or_default())
            .collect();
        containers.sort_unstable();
        containers.dedup();
        if !containers.is_empty() {
            missing.push(format!("{name} for: {}", containers.join(",")));
        }
    }
    (!missing.is_empty()).then(|| missing.join("; "))
}
