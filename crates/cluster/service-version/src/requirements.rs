//! What a version needs before it can be installed, and whether the cluster has it.

use std::collections::{BTreeMap, BTreeSet};

use apply::object::{at, text};
use apply::owners;
use bundle::cluster_service_version::GroupVersionKind;
use classic::hashes::{self, Shape};
use classic::{Kind, World, keys, names};
use serde_json::{Value, json};

use crate::authorization::{Granted, InvalidRule};
use crate::version::ServiceVersion;

/// Whether all that is needed is there, and what is said about each.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Requirements {
    /// Whether everything is there.
    pub are_met: bool,
    /// What `requirementStatus` says.
    pub statuses: Vec<Value>,
}

/// Why the requirements can't be checked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Uncheckable {
    /// It is installed in a way that there isn't.
    #[error("{0}")]
    Strategy(&'static str),
    /// A rule of its permissions is none.
    #[error(transparent)]
    Rule(#[from] InvalidRule),
}

/// Checks everything that a version needs.
///
/// # Errors
///
/// [`Uncheckable`] where the version itself is wrong.
pub fn check(world: &World, version: ServiceVersion<'_>) -> Result<Requirements, Uncheckable> {
    version.check_strategy().map_err(Uncheckable::Strategy)?;
    let minimum = text(version.object, "/spec/minKubeVersion");
    let mut all = minimum_version(version.name(), minimum, &world.server_version);
    let mut add = |part: Requirements| {
        all.are_met &= part.are_met;
        all.statuses.extend(part.statuses);
    };
    add(definitions(world, version));
    add(required_api_services(world, version));
    add(owned_api_services(version));
    add(native_apis(world, version));
    add(permissions(world, version, version.namespace())?);
    Ok(all)
}

/// Returns whether an entry of `requirementStatus`, or one of its dependents, says that the cluster has what is needed.
pub fn is_met(entry: &Value) -> bool {
    matches!(
        text(entry, "/status"),
        "Present" | "DeploymentFound" | "Satisfied"
    )
}

/// Collects entries and whether all are fine.
#[derive(Default)]
struct Gathered {
    is_missing: bool,
    statuses: Vec<Value>,
}

impl Gathered {
    fn add(&mut self, is_met: bool, status: Value) {
        self.is_missing |= !is_met;
        self.statuses.push(status);
    }

    fn finish(self) -> Requirements {
        Requirements {
            are_met: !self.is_missing,
            statuses: self.statuses,
        }
    }
}

fn entry(api: (&str, &str, &str), name: &str, status: &str, message: &str) -> Value {
    let (group, version, kind) = api;
    json!({"group": group, "version": version, "kind": kind, "name": name, "status": status, "message": message})
}

/// Checks that the server is not older than a version asks for; nothing is said where it doesn't ask.
pub fn minimum_version(name: &str, minimum: &str, server: &str) -> Requirements {
    let mut gathered = Gathered::default();
    if minimum.is_empty() {
        return gathered.finish();
    }
    let mut say = |is_met: bool, message: &str| {
        let status = if is_met { "Present" } else { "PresentNotSatisfied" };
        let api = ("operators.coreos.com", "v1alpha1", "ClusterServiceVersion");
        gathered.add(is_met, entry(api, name, status, message));
    };
    let bare = |text: &'_ str| text.strip_prefix('v').unwrap_or(text).to_owned();
    let server_bare = bare(server);
    let server_bare = server_bare.split('-').next().unwrap_or_default();
    match (
        CoreosVersion::read(server_bare),
        CoreosVersion::read(&bare(minimum)),
    ) {
        (None, _) => say(false, "Server version parsing error"),
        (_, None) => say(false, "CSV version parsing error"),
        (Some(running), Some(wanted)) if wanted > running => say(
            false,
            &format!(
                "CSV version requirement not met: minKubeVersion ({minimum}) > server version ({server_bare})"
            ),
        ),
        _ => say(
            true,
            &format!("CSV minKubeVersion ({minimum}) less than server version ({server})"),
        ),
    }
    gathered.finish()
}

/// A version as upstream's library for this one check reads it: three numbers, and a pre-release that comes before none.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct CoreosVersion {
    numbers: [u64; 3],
    /// No pre-release is more than any.
    is_release: bool,
    pre_release: Vec<Identifier>,
}

/// A part of a pre-release; numbers come before words.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Identifier {
    Number(u64),
    Word(String),
}

impl CoreosVersion {
    fn read(text: &str) -> Option<Self> {
        let text = text.split_once('+').map_or(text, |(version, _)| version);
        let (numbers, pre_release) = text.split_once('-').unwrap_or((text, ""));
        let parts: Vec<u64> = numbers
            .splitn(3, '.')
            .map(|part| part.parse().ok())
            .collect::<Option<_>>()?;
        let identifier = |part: &str| match part.parse() {
            Ok(number) => Identifier::Number(number),
            Err(_) => Identifier::Word(part.to_owned()),
        };
        Some(Self {
            numbers: parts.try_into().ok()?,
            is_release: pre_release.is_empty(),
            pre_release: pre_release.split('.').map(identifier).collect(),
        })
    }
}

fn definitions(world: &World, version: ServiceVersion<'_>) -> Requirements {
    const API: (&str, &str, &str) = ("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let mut gathered = Gathered::default();
    // By name; what is owned wins over what is required.
    let all: BTreeMap<&str, &Value> = version
        .required_definitions()
        .iter()
        .chain(version.owned_definitions())
        .map(|definition| (text(definition, "/name"), definition))
        .collect();
    for (name, description) in all {
        let mut say = |is_met, status, message: &str| gathered.add(is_met, entry(API, name, status, message));
        let Some(definition) = world.get(Kind::CustomResourceDefinition, "", name) else {
            say(false, "NotPresent", "CRD is not present");
            continue;
        };
        let others = installed_alongside(world, definition, version);
        if !others.is_empty() && version.owns_definition(name) {
            let message = format!("CRD installed alongside other CSV(s): {}", others.join(", "));
            say(false, "PresentNotSatisfied", &message);
            continue;
        }
        let wanted = text(description, "/version");
        let versions = at(definition, "/spec/versions").and_then(Value::as_array);
        let is_served = versions
            .into_iter()
            .flatten()
            .find(|version| text(version, "/name") == wanted)
            .and_then(|version| version.get("served"))
            .and_then(Value::as_bool)
            .unwrap_or_default();
        if !is_served {
            say(false, "NotPresent", "CRD version not served");
            continue;
        }
        if has_condition(definition, "Established") && has_condition(definition, "NamesAccepted") {
            let mut status = entry(
                API,
                name,
                "Present",
                "CRD is present and Established condition is true",
            );
            add_identity(&mut status, definition);
            gathered.add(true, status);
        } else {
            say(
                false,
                "PresentNotAvailable",
                "CRD is present but the Established condition is False (not available)",
            );
        }
    }
    gathered.finish()
}

fn add_identity(status: &mut Value, object: &Value) {
    let uid = text(object, "/metadata/uid");
    if !uid.is_empty() {
        status["uuid"] = Value::from(uid);
    }
}

/// Returns whether a condition of an object is true.
pub fn has_condition(object: &Value, kind: &str) -> bool {
    let conditions = at(object, "/status/conditions").and_then(Value::as_array);
    conditions
        .into_iter()
        .flatten()
        .any(|condition| text(condition, "/type") == kind && text(condition, "/status") == "True")
}

/// Returns the older versions that a definition was installed with, where it wasn't installed with this one.
///
/// Until its own definition is there, a newer version would work with the one of an older version.
pub fn installed_alongside(world: &World, definition: &Value, version: ServiceVersion<'_>) -> Vec<String> {
    let annotations = definition
        .pointer("/metadata/annotations")
        .and_then(Value::as_object);
    let named = annotations
        .into_iter()
        .flatten()
        .filter(|(key, _)| key.starts_with(keys::INSTALLED_ALONGSIDE_PREFIX))
        .filter_map(|(_, value)| value.as_str()?.split_once('/'))
        .filter(|(_, name)| !name.contains('/'));
    let mut candidates: BTreeMap<&str, ServiceVersion<'_>> = BTreeMap::new();
    for (namespace, name) in named {
        if namespace != version.namespace() {
            continue;
        }
        if name == version.name() {
            return Vec::new();
        }
        if let Some(other) = ServiceVersion::find(world, namespace, name)
            && !other.is_copy()
        {
            candidates.insert(other.name(), other);
        }
    }
    let mut ancestors = BTreeSet::new();
    let mut before = version.replaces();
    while !before.is_empty() && ancestors.insert(before) {
        before = candidates
            .get(before)
            .map(|other| other.replaces())
            .filter(|replaced| candidates.contains_key(replaced))
            .unwrap_or_default();
    }
    let names = candidates.keys().filter(|name| **name != version.name());
    names
        .filter(|name| ancestors.contains(*name))
        .map(|name| (*name).to_owned())
        .collect()
}

const API_SERVICE: (&str, &str, &str) = ("apiregistration.k8s.io", "v1", "APIService");

/// Returns the name of the APIService that a description speaks of.
pub fn api_service_name(description: &Value) -> String {
    names::api_service(text(description, "/group"), text(description, "/version"))
}

/// Orders descriptions by the name of their APIService, each name once: the last of a name counts.
pub fn by_api_service(descriptions: &[Value]) -> BTreeMap<String, &Value> {
    descriptions
        .iter()
        .map(|description| (api_service_name(description), description))
        .collect()
}

/// Returns whether the API server serves the kind that a description speaks of.
pub fn is_served(world: &World, description: &Value) -> bool {
    world.served.contains(&GroupVersionKind {
        group: text(description, "/group").to_owned(),
        version: text(description, "/version").to_owned(),
        kind: text(description, "/kind").to_owned(),
    })
}

fn required_api_services(world: &World, version: ServiceVersion<'_>) -> Requirements {
    let mut gathered = Gathered::default();
    let owned = by_api_service(version.owned_api_services());
    for (name, description) in by_api_service(version.required_api_services()) {
        if owned.contains_key(&name) {
            continue;
        }
        let service = world
            .get(Kind::ApiService, "", &name)
            .filter(|service| is_served(world, description) && has_condition(service, "Available"));
        match service {
            None => gathered.add(false, entry(API_SERVICE, &name, "NotPresent", "")),
            Some(service) => {
                let mut status = entry(API_SERVICE, &name, "Present", "");
                add_identity(&mut status, service);
                gathered.add(true, status);
            }
        }
    }
    gathered.finish()
}

fn owned_api_services(version: ServiceVersion<'_>) -> Requirements {
    let mut gathered = Gathered::default();
    for (name, description) in by_api_service(version.owned_api_services()) {
        let wanted = text(description, "/deploymentName");
        let mut deployments = version.deployments().iter();
        let is_found = deployments.any(|deployment| text(deployment, "/name") == wanted);
        let status = if is_found {
            "DeploymentFound"
        } else {
            "DeploymentNotFound"
        };
        gathered.add(is_found, entry(API_SERVICE, &name, status, ""));
    }
    gathered.finish()
}

fn native_apis(world: &World, version: ServiceVersion<'_>) -> Requirements {
    let mut gathered = Gathered::default();
    for api in version.native_apis() {
        let (group, version, kind) = (text(api, "/group"), text(api, "/version"), text(api, "/kind"));
        let is_there = is_served(world, api);
        let (status, message) = if is_there {
            ("Present", "Native API exists")
        } else {
            ("NotPresent", "Native API does not exist")
        };
        gathered.add(
            is_there,
            entry((group, version, kind), &api_service_name(api), status, message),
        );
    }
    gathered.finish()
}

/// Checks that the service accounts of a version are there and may do what it says, in `place` or in the whole cluster.
///
/// # Errors
///
/// [`InvalidRule`] where a rule is none.
pub fn permissions(
    world: &World,
    version: ServiceVersion<'_>,
    place: &str,
) -> Result<Requirements, InvalidRule> {
    let namespaced = version.permissions().iter().map(|permission| (permission, place));
    let everywhere = version
        .cluster_permissions()
        .iter()
        .map(|permission| (permission, ""));
    check_permissions(world, version, namespaced.chain(everywhere))
}

/// Checks that all permissions of a version hold in the whole cluster.
///
/// # Errors
///
/// [`InvalidRule`] where a rule is none.
pub fn permissions_everywhere(
    world: &World,
    version: ServiceVersion<'_>,
) -> Result<Requirements, InvalidRule> {
    let all = version.cluster_permissions().iter().chain(version.permissions());
    check_permissions(world, version, all.map(|permission| (permission, "")))
}

fn check_permissions<'a>(
    world: &World,
    version: ServiceVersion<'_>,
    permissions: impl Iterator<Item = (&'a Value, &'a str)>,
) -> Result<Requirements, InvalidRule> {
    let mut is_missing = false;
    let mut accounts: BTreeMap<&str, Value> = BTreeMap::new();
    for (permission, place) in permissions {
        let name = text(permission, "/serviceAccountName");
        let status = accounts
            .entry(name)
            .or_insert_with(|| entry(("", "v1", "ServiceAccount"), name, "Present", ""));
        let mut fail = |status: &mut Value, word: &str, message: &str| {
            is_missing = true;
            status["status"] = Value::from(word);
            status["message"] = Value::from(message);
        };
        let Some(account) = world.get(Kind::ServiceAccount, version.namespace(), name) else {
            fail(status, "NotPresent", "Service account does not exist");
            continue;
        };
        if owners::names(account, "ClusterServiceVersion").next().is_some()
            && !owners::is_owned_by(account, version.object)
        {
            fail(
                status,
                "PresentNotSatisfied",
                "Service account is owned by another ClusterServiceVersion",
            );
            continue;
        }
        let granted = Granted::to(world, (version.namespace(), name), place, version.object);
        let scope = if place.is_empty() { "cluster" } else { "namespaced" };
        let rules = permission.get("rules").and_then(Value::as_array);
        for rule in rules.into_iter().flatten() {
            let is_granted = granted.covers(rule)?;
            if !is_granted {
                fail(
                    status,
                    "PresentNotSatisfied",
                    "Policy rule not satisfied for service account",
                );
            }
            let dependent = json!({
                "group": "rbac.authorization.k8s.io",
                "version": "v1",
                "kind": "PolicyRule",
                "status": if is_granted { "Satisfied" } else { "NotSatisfied" },
                "message": format!("{scope} rule:{}", hashes::go_json(Shape::PolicyRule, rule)),
            });
            match status.get_mut("dependents").and_then(Value::as_array_mut) {
                Some(dependents) => dependents.push(dependent),
                None => status["dependents"] = json!([dependent]),
            }
        }
    }
    Ok(Requirements {
        are_met: !is_missing,
        statuses: accounts.into_values().collect(),
    })
}
