//! ResourceQuotas: how much of everything a namespace may have.
//!
//! What is used is counted in the quota's status: a write that needs more adds to it, and a controller counts again when
//! something goes.

use kinds::amounts::{self, Amount, Amounts};
use serde_json::{Value, json};

use super::{Operation, Review};
use crate::object::{Object, map_of};
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
    let hard = amounts::read_all(&quota["status"]["hard"]);
    let restricted: Vec<String> = hard
        .keys()
        .filter(|name| counts(resource, name))
        .cloned()
        .collect();
    if restricted.is_empty() || !is_in_scope(&quota, resource, object) {
        return Ok(None);
    }
    if let Some(missing) = unnamed(resource, object, &restricted) {
        let why = format!("failed quota: {}: must specify {missing}", quota.name());
        return Err(review.forbidden(why));
    }
    let used = amounts::read_all(&quota["status"]["used"]);
    if restricted.iter().any(|name| !used.contains_key(name)) {
        return Err(review.forbidden(format_args!(
            "status unknown for quota: {}, resources: {}",
            quota.name(),
            restricted.join(",")
        )));
    }
    let mut delta = usage(resource, object);
    if let (Operation::Update, Some(old)) = (review.operation, review.old)
        && is_in_scope(&quota, resource, old)
    {
        let before = usage(resource, old);
        for (name, amount) in &mut delta {
            if let Some(before) = before.get(name) {
                let more = amount.minus(*before);
                *amount = if more.is_positive() {
                    more
                } else {
                    Amount::count(0)
                };
            }
        }
    }
    delta.retain(|name, amount| amount.is_set() && hard.contains_key(name));
    if delta.is_empty() {
        return Ok(None);
    }
    let mut sum = used.clone();
    amounts::add(&mut sum, &delta);
    let exceeded: Vec<&String> = delta
        .keys()
        .filter(|name| match (sum.get(*name), hard.get(*name)) {
            (Some(sum), Some(hard)) => sum.is_more_than(*hard),
            _ => false,
        })
        .collect();
    if !exceeded.is_empty() {
        let shown = |amounts: &Amounts| {
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
pub fn written(amounts: &Amounts) -> Value {
    let all = amounts
        .iter()
        .map(|(name, amount)| (name.clone(), json!(amount.written())));
    Value::Object(all.collect())
}

/// Returns whether a name in a quota is about objects of a resource.
pub fn counts(resource: &Resource, name: &str) -> bool {
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

/// Returns what an object uses of a quota.
pub fn usage(resource: &Resource, object: &Value) -> Amounts {
    let mut used = Amounts::new();
    let one = Amount::count(1);
    used.insert(count_name(resource), one);
    if !resource.group.is_empty() {
        return used;
    }
    match &*resource.plural {
        "pods" => {
            let ended = matches!(object["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
            if !ended {
                used.extend(pod_usage(
                    &amounts::of_pod(&object["spec"], "requests", true),
                    &amounts::of_pod(&object["spec"], "limits", true),
                ));
            }
        }
        "services" => {
            used.insert("services".to_owned(), one);
            let ports = object["spec"]["ports"].as_array().map_or(0, Vec::len);
            let balanced = object["spec"]["type"] == "LoadBalancer";
            let explicit = object["spec"]["allocateLoadBalancerNodePorts"] == false;
            let node_ports = match object["spec"]["type"].as_str() {
                Some("LoadBalancer") if explicit => {
                    let all = object["spec"]["ports"].as_array().into_iter().flatten();
                    all.filter(|port| port["nodePort"].as_u64().is_some_and(|port| port != 0))
                        .count()
                }
                Some("NodePort" | "LoadBalancer") => ports,
                _ => 0,
            };
            used.insert("services.nodeports".to_owned(), Amount::count(node_ports));
            used.insert(
                "services.loadbalancers".to_owned(),
                Amount::count(usize::from(balanced)),
            );
        }
        "persistentvolumeclaims" => {
            let class = object
                .annotation("volume.beta.kubernetes.io/storage-class")
                .or_else(|| object["spec"]["storageClassName"].as_str())
                .unwrap_or_default();
            let storage = &object["spec"]["resources"]["requests"]["storage"];
            let mut note = |name: &str, amount: Amount| {
                used.insert(name.to_owned(), amount);
                if !class.is_empty() {
                    used.insert(format!("{class}{OF_STORAGE_CLASS}{name}"), amount);
                }
            };
            note("persistentvolumeclaims", one);
            if !storage.is_null() {
                note("requests.storage", Amount::of(storage));
            }
        }
        plural @ ("configmaps" | "secrets" | "replicationcontrollers" | "resourcequotas") => {
            used.insert(plural.to_owned(), one);
        }
        _ => {}
    }
    used
}

fn pod_usage(requests: &Amounts, limits: &Amounts) -> Amounts {
    let mut used = Amounts::new();
    used.insert("pods".to_owned(), Amount::count(1));
    for (name, amount) in requests {
        if is_of_pods(name) || name.starts_with("hugepages-") {
            used.insert(name.clone(), *amount);
            used.insert(format!("requests.{name}"), *amount);
        } else if name.contains('/') {
            used.insert(format!("requests.{name}"), *amount);
        }
    }
    for (name, amount) in limits {
        if is_of_pods(name) {
            used.insert(format!("limits.{name}"), *amount);
        }
    }
    used
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
                let resources = &container["resources"];
                let named = pod_usage(
                    &amounts::read_all(&resources["requests"]),
                    &amounts::read_all(&resources["limits"]),
                );
                !named.contains_key(name)
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

/// Returns whether a quota is about an object at all.
pub fn is_in_scope(quota: &Value, resource: &Resource, object: &Value) -> bool {
    let spec = &quota["spec"];
    let plain = spec["scopes"].as_array().into_iter().flatten();
    let selected = spec["scopeSelector"]["matchExpressions"]
        .as_array()
        .into_iter()
        .flatten();
    let is_pod = resource.is("", "pods");
    let mut plain = plain.filter_map(Value::as_str);
    let mut selected = selected.clone();
    plain.all(|scope| is_pod && pod_is_in(object, scope, &Value::Null))
        && selected.all(|one| is_pod && pod_is_in(object, one["scopeName"].as_str().unwrap_or_default(), one))
}

fn pod_is_in(pod: &Value, scope: &str, selector: &Value) -> bool {
    let spec = &pod["spec"];
    let ends = spec["activeDeadlineSeconds"]
        .as_i64()
        .is_some_and(|seconds| seconds >= 0);
    match scope {
        "Terminating" => ends,
        "NotTerminating" => !ends,
        "BestEffort" => is_best_effort(pod),
        "NotBestEffort" => !is_best_effort(pod),
        "PriorityClass" => {
            let class = spec["priorityClassName"].as_str().unwrap_or_default();
            let values = selector["values"].as_array().into_iter().flatten();
            let named = values.filter_map(Value::as_str).any(|value| value == class);
            match selector["operator"].as_str() {
                Some("In") => named,
                Some("NotIn") => !named,
                Some("DoesNotExist") => class.is_empty(),
                _ => !class.is_empty(),
            }
        }
        "CrossNamespacePodAffinity" => ["podAffinity", "podAntiAffinity"].iter().any(|kind| {
            let affinity = &spec["affinity"][*kind];
            let required = affinity["requiredDuringSchedulingIgnoredDuringExecution"].as_array();
            let preferred = affinity["preferredDuringSchedulingIgnoredDuringExecution"].as_array();
            let reaches = |term: &Value| {
                term["namespaces"].as_array().is_some_and(|all| !all.is_empty())
                    || term["namespaceSelector"].is_object()
            };
            required.into_iter().flatten().any(reaches)
                || preferred
                    .into_iter()
                    .flatten()
                    .any(|one| reaches(&one["podAffinityTerm"]))
        }),
        _ => false,
    }
}

fn is_best_effort(pod: &Value) -> bool {
    if let Some(class) = pod["status"]["qosClass"].as_str() {
        return class == "BestEffort";
    }
    let containers = ["containers", "initContainers"]
        .iter()
        .flat_map(|list| pod["spec"][*list].as_array().into_iter().flatten());
    let mut resources = containers.map(|container| &container["resources"]);
    resources.all(|resources| {
        ["requests", "limits"].iter().all(|which| {
            let amounts = amounts::read_all(&resources[*which]);
            !["cpu", "memory"]
                .iter()
                .any(|name| amounts.get(*name).is_some_and(|amount| amount.is_set()))
        })
    })
}
