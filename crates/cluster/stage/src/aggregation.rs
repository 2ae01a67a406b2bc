//! APIs that another server serves, as an APIService says.
//!
//! - [`front`]: who this server is to the other one
//! - [`proxy`]: a request that goes on to the other server

pub mod front;
pub mod proxy;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use http::{Method, Response, StatusCode};
use serde_json::{Value, json};

use crate::admission::kept::Kept;
use crate::api::Api;
use crate::object::Object;
use crate::request::ResourcePath;
use crate::resource::{Served, api_version};
use crate::status::Status;
use crate::wire::negotiation::{self, Accepted, Shape, Use};
use crate::wire::{Asked, Body, value_response};

/// The other servers of a cluster.
#[derive(Debug)]
pub struct Aggregation {
    services: Kept<ApiService>,
    front: front::Front,
    /// What each APIService serves, as discovery of all groups shows it.
    discovered: Mutex<BTreeMap<String, Value>>,
}

impl Default for Aggregation {
    fn default() -> Self {
        Self {
            services: Kept::new("apiregistration.k8s.io", "apiservices"),
            front: front::Front::default(),
            discovered: Mutex::default(),
        }
    }
}

/// What an APIService says.
#[derive(Debug, Clone)]
pub struct ApiService {
    /// Its name.
    pub name: String,
    /// The group it is about.
    pub group: String,
    /// The version it is about.
    pub version: String,
    /// Where it is served; `None` for this server.
    pub remote: Option<Remote>,
    /// Whether it can be reached.
    pub available: bool,
    /// The place of the group among others: higher comes first.
    pub group_priority: i64,
    /// The place of the version among those of its group: higher comes first.
    pub version_priority: i64,
}

/// Where another server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remote {
    /// The Service's namespace.
    pub namespace: String,
    /// The Service's name.
    pub name: String,
    /// The Service's port.
    pub port: u16,
    /// The certificates it is believed with, as PEM.
    pub authorities: Arc<[u8]>,
    /// Whether anyone is believed.
    pub unchecked: bool,
}

impl ApiService {
    /// Reads an APIService.
    pub fn read(object: &Value) -> Self {
        use base64::Engine as _;
        let spec = &object["spec"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let remote = spec
            .get("service")
            .filter(|service| service.is_object())
            .map(|service| Remote {
                namespace: text(&service["namespace"]),
                name: text(&service["name"]),
                port: service["port"]
                    .as_u64()
                    .and_then(|port| u16::try_from(port).ok())
                    .unwrap_or(443),
                authorities: base64::engine::general_purpose::STANDARD
                    .decode(spec["caBundle"].as_str().unwrap_or_default())
                    .unwrap_or_default()
                    .into(),
                unchecked: spec["insecureSkipTLSVerify"] == true,
            });
        let conditions = object["status"]["conditions"].as_array();
        Self {
            name: object.name().to_owned(),
            group: text(&spec["group"]),
            version: text(&spec["version"]),
            remote,
            available: conditions
                .into_iter()
                .flatten()
                .any(|one| one["type"] == "Available" && one["status"] == "True"),
            group_priority: spec["groupPriorityMinimum"].as_i64().unwrap_or(0),
            version_priority: spec["versionPriority"].as_i64().unwrap_or(0),
        }
    }
}

impl Aggregation {
    /// Returns what other servers serve, the preferred ones first.
    pub fn remote(&self, api: &Api) -> Vec<Arc<ApiService>> {
        let mut all = self.services.all(&api.store, ApiService::read);
        all.retain(|one| one.remote.is_some());
        all.sort_by(|one, other| {
            (other.group_priority, &one.group, other.version_priority)
                .cmp(&(one.group_priority, &other.group, one.version_priority))
                .then_with(|| version::api_version_priority(&one.version, &other.version))
        });
        all
    }

    /// Keeps what an APIService serves, as its server told; `None` when it can't be reached.
    pub fn discover(&self, name: &str, version: Option<Value>) {
        let mut discovered = self.discovered.lock().unwrap_or_else(PoisonError::into_inner);
        match version {
            Some(version) => {
                discovered.insert(name.to_owned(), version);
            }
            None => {
                // What was served before is still shown, but as something that may have changed.
                if let Some(known) = discovered.get_mut(name) {
                    known["freshness"] = "Stale".into();
                }
            }
        }
    }

    /// Forgets what an APIService served.
    pub fn forget(&self, name: &str) {
        let mut discovered = self.discovered.lock().unwrap_or_else(PoisonError::into_inner);
        discovered.remove(name);
    }

    /// Returns who this server is to others.
    pub fn front(&self) -> &front::Front {
        &self.front
    }
}

/// Answers a request for a group and version that another server serves; `None` where none does.
pub async fn answer(
    api: &Arc<Api>,
    asked: &Asked,
    path: &ResourcePath,
) -> Option<Result<Response<Body>, Status>> {
    let services = api.aggregation.remote(api);
    let service = services
        .iter()
        .find(|one| one.group == path.group && one.version == path.version)?;
    Some(Ok(proxy::forward(api, asked, service).await))
}

/// Answers discovery of a group and version that another server serves; `None` where none does.
pub async fn answer_path(
    api: &Arc<Api>,
    asked: &Asked,
    path: &str,
) -> Option<Result<Response<Body>, Status>> {
    let mut parts = path.trim_start_matches('/').split('/');
    if parts.next() != Some("apis") {
        return None;
    }
    let group = parts.next()?;
    let services = api.aggregation.remote(api);
    match parts.next() {
        Some(version) => {
            let service = services
                .iter()
                .find(|one| one.group == group && one.version == version)?;
            if api.resources.now().resources_of(group, version) {
                return None;
            }
            Some(Ok(proxy::forward(api, asked, service).await))
        }
        None if asked.head.method == Method::GET && api.resources.now().group(group).is_none() => {
            let mut value = group_value(&services, group)?;
            value["kind"] = "APIGroup".into();
            value["apiVersion"] = "v1".into();
            let accepted = negotiation::accepted(&asked.head.headers, &asked.query, Use::Discovery);
            let accepted = match accepted {
                Ok(accepted) => Accepted {
                    shape: Shape::Whole,
                    ..accepted
                },
                Err(status) => return Some(Err(status)),
            };
            Some(value_response(StatusCode::OK, &value, &accepted))
        }
        None => None,
    }
}

fn group_value(services: &[Arc<ApiService>], group: &str) -> Option<Value> {
    let versions: Vec<Value> = services
        .iter()
        .filter(|one| one.group == group)
        .map(|one| json!({"groupVersion": api_version(group, &one.version), "version": one.version}))
        .collect();
    let preferred = versions.first()?.clone();
    Some(json!({"name": group, "versions": versions, "preferredVersion": preferred}))
}

impl Served {
    /// Returns whether this server serves a group and version itself.
    fn resources_of(&self, group: &str, version: &str) -> bool {
        self.group(group)
            .is_some_and(|group| group.versions.iter().any(|(name, _)| **name == *version))
    }
}

/// Adds the groups that other servers serve to the list of groups.
pub fn add_group_names(api: &Arc<Api>, groups: &mut Value) {
    let services = api.aggregation.remote(api);
    let Some(listed) = groups["groups"].as_array_mut() else {
        return;
    };
    let mut seen: Vec<&str> = Vec::new();
    for service in &services {
        let known = listed.iter().any(|group| group["name"] == *service.group);
        if known || seen.contains(&service.group.as_str()) {
            continue;
        }
        seen.push(&service.group);
        listed.extend(group_value(&services, &service.group));
    }
}

/// Adds the groups that other servers serve to discovery of all groups at once.
pub fn add_groups(api: &Arc<Api>, discovery: &mut Value) {
    let services = api.aggregation.remote(api);
    let discovered = api
        .aggregation
        .discovered
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    let Some(items) = discovery["items"].as_array_mut() else {
        return;
    };
    for service in &services {
        let Some(version) = discovered.get(&service.name) else {
            continue;
        };
        let known = items
            .iter_mut()
            .find(|group| group["metadata"]["name"] == *service.group);
        match known {
            Some(group) => {
                let versions = group["versions"].as_array_mut();
                if let Some(versions) = versions
                    && versions.iter().all(|one| one["version"] != *service.version)
                {
                    versions.push(version.clone());
                }
            }
            None => items.push(json!({
                "metadata": {"name": service.group, "creationTimestamp": null}, "versions": [version],
            })),
        }
    }
}
