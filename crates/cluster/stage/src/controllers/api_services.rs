//! APIServices: every group that this server serves has one, and those of other servers say whether they can be reached.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::definitions::DEFINITIONS;
use super::work::{Affected, Controller, Item, Next, itself};
use crate::aggregation::{ApiService, Remote, proxy};
use crate::api::Api;
use crate::callback::services;
use crate::caller::Caller;
use crate::client::{Client, Named};
use crate::object::{Object, map_of, timestamp};
use crate::options::DeleteOptions;
use crate::status::Status;
use crate::store::{Event, ResourceKey};

/// The resource of APIServices.
pub const API_SERVICES: Named<'static> = ("apiregistration.k8s.io", "apiservices");

/// The label of APIServices that are made without anyone's asking.
const AUTOMANAGED: &str = "kube-aggregator.kubernetes.io/automanaged";

/// How often a server that was reached is asked again.
const RECHECK: Duration = Duration::from_secs(30);

/// How soon a server that wasn't reached is asked again.
const RECHECK_FAILED: Duration = Duration::from_secs(1);

/// The places of the built-in groups among all, as the real server has them.
const GROUP_PRIORITIES: [(&str, i64); 21] = [
    ("", 18_000),
    ("apps", 17_800),
    ("events.k8s.io", 17_750),
    ("authentication.k8s.io", 17_700),
    ("authorization.k8s.io", 17_600),
    ("autoscaling", 17_500),
    ("batch", 17_400),
    ("certificates.k8s.io", 17_300),
    ("networking.k8s.io", 17_200),
    ("policy", 17_100),
    ("rbac.authorization.k8s.io", 17_000),
    ("storage.k8s.io", 16_800),
    ("apiextensions.k8s.io", 16_700),
    ("admissionregistration.k8s.io", 16_700),
    ("scheduling.k8s.io", 16_600),
    ("coordination.k8s.io", 16_500),
    ("node.k8s.io", 16_300),
    ("discovery.k8s.io", 16_200),
    ("resource.k8s.io", 16_200),
    ("flowcontrol.apiserver.k8s.io", 16_100),
    ("internal.apiserver.k8s.io", 16_000),
];

/// Makes the APIServices of the groups that are always served, and tells other servers whom to believe.
pub async fn register(api: &Arc<Api>) {
    let client = Client::new(api.clone(), Caller::administrator(), "kube-apiserver");
    let served = api.resources.now();
    let mut wanted = Vec::new();
    for group in &served.groups {
        let Some((_, priority)) = GROUP_PRIORITIES.iter().find(|(name, _)| *name == &*group.name) else {
            continue;
        };
        for (version, _) in &group.versions {
            let version_priority = match (&*group.name, &**version) {
                ("", _) => 1,
                ("autoscaling", "v2") => 30,
                ("flowcontrol.apiserver.k8s.io" | "resource.k8s.io", _) => 21,
                _ => 15,
            };
            let name = format!("{version}.{}", group.name);
            if !matches!(client.get_stored(API_SERVICES, "", &name), Ok(None)) {
                continue;
            }
            wanted.push(api_service(
                &group.name,
                version,
                *priority,
                version_priority,
                "onstart",
            ));
        }
    }
    let made = join_all(wanted.into_iter().map(|object| async {
        let made = client.create(API_SERVICES, object).await?;
        client.update_status(API_SERVICES, available(made)).await
    }));
    for failed in made.await.into_iter().filter_map(Result::err) {
        tracing::warn!(%failed, "an APIService was not made");
    }
    if let Err(status) = api.aggregation.front().publish(&client).await {
        tracing::warn!(%status, "the authority of the front proxy was not published");
    }
}

fn api_service(
    group: &str,
    version: &str,
    group_priority: i64,
    version_priority: i64,
    managed: &str,
) -> Value {
    let mut spec = json!({
        "version": version, "groupPriorityMinimum": group_priority, "versionPriority": version_priority,
    });
    if !group.is_empty() {
        spec["group"] = group.into();
    }
    json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": {"name": format!("{version}.{group}"), "labels": {AUTOMANAGED: managed}}, "spec": spec,
    })
}

fn available(mut object: Value) -> Value {
    set_condition(
        &mut object,
        "True",
        "Local",
        "Local APIServices are always available",
    );
    object
}

/// Keeps APIServices in step with definitions, and says which can be reached.
#[derive(Debug)]
pub struct ApiServices;

impl Controller for ApiServices {
    const NAME: &'static str = "apiservice-controller";

    fn watches(&self) -> Vec<(ResourceKey, Affected)> {
        vec![
            (ResourceKey::new(API_SERVICES.0, API_SERVICES.1), itself),
            (ResourceKey::new(DEFINITIONS.0, DEFINITIONS.1), of_definition),
            (ResourceKey::new("", "services"), of_service),
            (ResourceKey::new("discovery.k8s.io", "endpointslices"), of_slice),
        ]
    }

    async fn reconcile(&self, client: &Client, item: &Item) -> Result<Next, Status> {
        let wanted = wanted_for_definition(client, &item.name)?;
        let Some(seen) = client.get(API_SERVICES, "", &item.name)? else {
            client.api().aggregation.forget(&item.name);
            if let Some(wanted) = wanted {
                let made = client.create(API_SERVICES, wanted).await?;
                client.update_status(API_SERVICES, available(made)).await?;
            }
            return Ok(Next::Wait);
        };
        if wanted.is_none() && seen.label(AUTOMANAGED) == Some("true") {
            let options = DeleteOptions::default();
            client.delete(API_SERVICES, "", &item.name, &options).await?;
            return Ok(Next::Wait);
        }
        let service = ApiService::read(&seen);
        let Some(remote) = &service.remote else {
            let wanted = available(seen.clone());
            if wanted != seen {
                client.update_status(API_SERVICES, wanted).await?;
            }
            return Ok(Next::Wait);
        };
        let (status, reason, message) = check(client.api(), &service, remote).await;
        let mut wanted = seen.clone();
        set_condition(&mut wanted, status, reason, &message);
        if wanted != seen {
            client.update_status(API_SERVICES, wanted).await?;
        }
        let again = if reason == "FailedDiscoveryCheck" {
            RECHECK_FAILED
        } else {
            RECHECK
        };
        Ok(Next::After(again))
    }
}

/// Returns the APIService that a definition wants under this name.
fn wanted_for_definition(client: &Client, name: &str) -> Result<Option<Value>, Status> {
    let Some((version, group)) = name.split_once('.') else {
        return Ok(None);
    };
    let serves = client.list(DEFINITIONS, "")?.iter().any(|definition| {
        let versions = definition["spec"]["versions"].as_array();
        definition["spec"]["group"] == group
            && !definition.is_being_deleted()
            && schema::structural::definition::is_condition_true(definition, "Established")
            && versions
                .into_iter()
                .flatten()
                .any(|one| one["name"] == version && one["served"] == true)
    });
    Ok(serves.then(|| api_service(group, version, 1_000, 100, "true")))
}

/// Returns whether a server can be reached: a condition's status, reason and message.
async fn check(
    api: &Arc<Api>,
    service: &ApiService,
    remote: &Remote,
) -> (&'static str, &'static str, String) {
    let Remote {
        namespace,
        name,
        port,
        ..
    } = remote;
    let key = crate::store::Key::new(&ResourceKey::new("", "services"), namespace, name);
    let Some(found) = api.store.get(&key) else {
        let message = format!("service/{name} in \"{namespace}\" is not present");
        return ("False", "ServiceNotFound", message);
    };
    let found = found.value();
    if found["spec"]["type"] == "ClusterIP" {
        let Some(service_port) = services::service_port(&found, *port) else {
            let message = format!("service/{name} in \"{namespace}\" is not listening on port {port}");
            return ("False", "ServicePortError", message);
        };
        let port_name = service_port["name"].as_str().unwrap_or_default();
        if !services::has_slices(api, namespace, name) {
            let message = format!("cannot find endpointslices for service/{name} in \"{namespace}\"");
            return ("False", "EndpointsNotFound", message);
        }
        if !services::has_endpoints(api, namespace, name, port_name) {
            let message = format!(
                "endpointslices for service/{name} in \"{namespace}\" have no addresses with port name \"{port_name}\""
            );
            return ("False", "MissingEndpoints", message);
        }
    }
    match proxy::discover(api, service, remote).await {
        Ok(version) => {
            api.aggregation.discover(&service.name, Some(version));
            ("True", "Passed", "all checks passed".to_owned())
        }
        Err(why) => {
            api.aggregation.discover(&service.name, None);
            ("False", "FailedDiscoveryCheck", why)
        }
    }
}

fn set_condition(object: &mut Value, status: &str, reason: &str, message: &str) {
    let known = object["status"]["conditions"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|one| one["type"] == "Available");
    let since = known
        .filter(|one| one["status"] == status)
        .and_then(|one| one["lastTransitionTime"].as_str())
        .map_or_else(|| timestamp(Timestamp::now()), ToOwned::to_owned);
    let condition = json!({
        "type": "Available", "status": status, "lastTransitionTime": since, "reason": reason, "message": message,
    });
    map_of(&mut object["status"]).insert("conditions".into(), json!([condition]));
}

fn of_definition(_: &Api, event: &Event) -> Vec<Item> {
    let definition = event.object.value();
    let group = definition["spec"]["group"].as_str().unwrap_or_default();
    let versions = definition["spec"]["versions"].as_array().into_iter().flatten();
    versions
        .filter_map(|version| version["name"].as_str())
        .map(|version| Item::new("", &format!("{version}.{group}")))
        .collect()
}

fn of_service(api: &Api, event: &Event) -> Vec<Item> {
    behind(api, &event.object.key.namespace, &event.object.key.name)
}

fn of_slice(api: &Api, event: &Event) -> Vec<Item> {
    let name = event
        .object
        .labels
        .get("kubernetes.io/service-name")
        .unwrap_or_default();
    behind(api, &event.object.key.namespace, name)
}

/// Returns the APIServices that a Service serves.
fn behind(api: &Api, namespace: &str, name: &str) -> Vec<Item> {
    let services = api.aggregation.remote(api);
    services
        .iter()
        .filter(|service| {
            let remote = service.remote.as_ref();
            remote.is_some_and(|remote| remote.namespace == namespace && remote.name == name)
        })
        .map(|service| Item::new("", &service.name))
        .collect()
}
