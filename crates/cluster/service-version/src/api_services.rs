//! The aggregated APIs that a version serves: whose they are, and whether everything around them is in order.

use apply::object::{at, label, set_metadata_entry, text};
use classic::{Kind, World, keys, names};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::certificates::{authority_hash, bytes, check_certificate, encoded, has_authority};
use crate::deployments::condition;
use crate::overrides;
use crate::ownership;
use crate::requirements::{api_service_name, by_api_service, has_condition, is_served};
use crate::version::ServiceVersion;

/// How long an API may be away while its pods move, before that is a failure.
const DISRUPTION: SignedDuration = SignedDuration::from_mins(5);

/// The port of a server that names none.
const DEFAULT_PORT: i64 = 443;

/// Returns the port of a description of a server.
pub fn port(description: &Value) -> i64 {
    description
        .get("containerPort")
        .and_then(Value::as_i64)
        .filter(|port| *port > 0)
        .unwrap_or(DEFAULT_PORT)
}

/// Returns whether a version may take an APIService: it is its own, or one that its owner leaves to others.
pub fn is_adoptable(world: &World, version: ServiceVersion<'_>, service: &Value) -> bool {
    let owner = |key: &str| label(service, key).unwrap_or_default();
    let (kind, namespace, name) = (
        owner(keys::OWNER_KIND),
        owner(keys::OWNER_NAMESPACE),
        owner(keys::OWNER),
    );
    if kind != "ClusterServiceVersion" || namespace.is_empty() || name.is_empty() {
        return false;
    }
    if namespace == version.namespace() && name == version.name() {
        return true;
    }
    let is_replaced = namespace == version.namespace()
        && name == version.replaces()
        && ServiceVersion::find(world, namespace, name).is_some();
    let is_leaving = ServiceVersion::find(world, namespace, name)
        .is_some_and(|owner| matches!(owner.phase(), "Replacing" | "Deleting"));
    is_replaced || is_leaving
}

/// Returns whether an APIService that a version provides belongs to somebody else.
pub fn has_conflict(world: &World, version: ServiceVersion<'_>) -> bool {
    by_api_service(version.owned_api_services()).keys().any(|name| {
        world
            .get(Kind::ApiService, "", name)
            .is_some_and(|service| !is_adoptable(world, version, service))
    })
}

/// What is wrong with what was made for aggregated APIs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// All that is wrong, in upstream's words.
    pub message: String,
    /// Whether installing again helps.
    pub can_be_repaired: bool,
}

/// Checks everything that was made for the aggregated APIs of a version.
///
/// # Errors
///
/// All that is wrong.
pub fn check_resources(world: &World, version: ServiceVersion<'_>) -> Result<(), Broken> {
    let mut errors = Vec::new();
    let mut can_be_repaired = true;
    for (name, description) in by_api_service(version.owned_api_services()) {
        let Some(service) = world.get(Kind::ApiService, "", &name) else {
            errors.push(not_found("apiservice.apiregistration.k8s.io", &name));
            continue;
        };
        if !is_adoptable(world, version, service) {
            errors.push(format!("{name} is unadoptable"));
            can_be_repaired = false;
            break;
        }
        check_around(world, version, description, service, &mut errors);
    }
    if errors.is_empty() {
        return Ok(());
    }
    Err(Broken {
        message: aggregated(&errors),
        can_be_repaired,
    })
}

fn not_found(resource: &str, name: &str) -> String {
    format!("{resource} \"{name}\" not found")
}

/// Returns several failures as one text, each once.
fn aggregated(errors: &[String]) -> String {
    let mut texts: Vec<&str> = Vec::new();
    for error in errors {
        if !texts.contains(&error.as_str()) {
            texts.push(error);
        }
    }
    match texts.as_slice() {
        [one] => (*one).to_owned(),
        several => format!("[{}]", several.join(", ")),
    }
}

/// Checks what one aggregated API needs; the first thing that others build on ends it.
fn check_around(
    world: &World,
    version: ServiceVersion<'_>,
    description: &Value,
    service: &Value,
    errors: &mut Vec<String>,
) {
    const RBAC: &str = "rbac.authorization.k8s.io";
    let namespace = version.namespace();
    let deployment_name = text(description, "/deploymentName");
    let service_name = names::webhook_service(deployment_name);
    let mut fail = |message: String| errors.push(message);
    if world.get(Kind::Service, namespace, &service_name).is_none() {
        return fail(not_found("service", &service_name));
    }
    if text(service, "/spec/service/name") != service_name
        || text(service, "/spec/service/namespace") != namespace
    {
        return fail("found APIService and service reference mismatch".to_owned());
    }
    let authority = bytes(service, "/spec/caBundle").unwrap_or_default();
    if let Err(why) = check_certificate(&authority) {
        return fail(why);
    }
    let secret_name = names::certificate_secret(&service_name);
    let Some(secret) = world.get(Kind::Secret, namespace, &secret_name) else {
        return fail(not_found("secret", &secret_name));
    };
    if let Err(why) = check_certificate(&bytes(secret, "/data/tls.crt").unwrap_or_default()) {
        return fail(why);
    }
    let hash = authority_hash(&authority);
    if !has_authority(secret, &hash) {
        return fail(format!(
            "secret {secret_name} CA cert hash does not match expected"
        ));
    }
    let Some(deployment) = world.get(Kind::Deployment, namespace, deployment_name) else {
        return fail(not_found("deployment.apps", deployment_name));
    };
    if !has_authority(&deployment["spec"]["template"], &hash) {
        return fail(format!(
            "deployment {deployment_name} CA cert hash does not match expected"
        ));
    }
    let account = match text(deployment, "/spec/template/spec/serviceAccountName") {
        "" => "default",
        named => named,
    };
    if world.get(Kind::ServiceAccount, namespace, account).is_none() {
        fail(not_found("serviceaccounts", account));
    }
    for (kind, place, name, resource) in [
        (Kind::Role, namespace, secret_name.clone(), "role"),
        (Kind::RoleBinding, namespace, secret_name, "rolebinding"),
        (
            Kind::ClusterRoleBinding,
            "",
            names::authentication_delegator(&service_name),
            "clusterrolebinding",
        ),
        (
            Kind::RoleBinding,
            names::KUBE_SYSTEM,
            names::authentication_reader(&service_name),
            "rolebinding",
        ),
    ] {
        if world.get(kind, place, &name).is_none() {
            fail(not_found(&format!("{resource}.{RBAC}"), &name));
        }
    }
}

/// Whether the aggregated APIs of a version answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Availability {
    /// They do.
    Available,
    /// They don't, since their pods have just gone elsewhere; they will.
    Disrupted,
    /// They don't.
    Unavailable,
}

/// Finds out whether the aggregated APIs of a version answer.
pub fn availability(world: &World, version: ServiceVersion<'_>, now: Timestamp) -> Availability {
    for description in version.owned_api_services() {
        let name = api_service_name(description);
        let Some(service) = world.get(Kind::ApiService, "", &name) else {
            return Availability::Unavailable;
        };
        if !has_condition(service, "Available") {
            if is_disrupted(world, version, now) {
                return Availability::Disrupted;
            }
            return Availability::Unavailable;
        }
        if !is_served(world, description) {
            return Availability::Unavailable;
        }
    }
    Availability::Available
}

/// Returns whether pods of a version went away a short time ago, as when a node is restarted.
///
/// Upstream looks at the pods. Their Deployment says the same: it was available, and has stopped to be lately.
fn is_disrupted(world: &World, version: ServiceVersion<'_>, now: Timestamp) -> bool {
    if version.phase() != "Succeeded" {
        return false;
    }
    version.deployments().iter().any(|description| {
        let name = text(description, "/name");
        let Some(deployment) = world.get(Kind::Deployment, version.namespace(), name) else {
            return false;
        };
        let is_hopeless = condition(deployment, "Progressing")
            .is_some_and(|progressing| text(progressing, "/reason") == "ProgressDeadlineExceeded");
        let Some(available) = condition(deployment, "Available") else {
            return false;
        };
        let since: Option<Timestamp> = text(available, "/lastTransitionTime").parse().ok();
        text(available, "/status") == "False"
            && !is_hopeless
            && since.is_some_and(|since| now.duration_since(since) < DISRUPTION)
    })
}

/// Returns an APIService that leads to a server of a version.
///
/// # Errors
///
/// Upstream's text where it belongs to somebody else.
pub fn expected(
    world: &World,
    version: ServiceVersion<'_>,
    description: &Value,
    authority: &[u8],
) -> Result<Value, String> {
    let (group, api_version) = (text(description, "/group"), text(description, "/version"));
    let name = names::api_service(group, api_version);
    let mut object = match world.get(Kind::ApiService, "", &name) {
        Some(found) if !is_adoptable(world, version, found) => {
            return Err(format!("pre-existing APIService {name} is not adoptable"));
        }
        Some(found) => (**found).clone(),
        None => {
            let mut object = ownership::managed(Kind::ApiService, "", &name);
            object["spec"] = json!({
                "group": group, "version": api_version, "groupPriorityMinimum": 2000, "versionPriority": 15,
            });
            let annotations = overrides::subscription(world, version.namespace(), version.name())
                .and_then(|subscription| at(subscription, "/spec/config/annotations"));
            if let Some(annotations) = annotations {
                object["metadata"]["annotations"] = annotations.clone();
            }
            object
        }
    };
    ownership::add_labels(&mut object, &version.key());
    set_metadata_entry(&mut object, "labels", keys::MANAGED, keys::MANAGED_VALUE);
    object["spec"]["service"] = json!({
        "namespace": version.namespace(),
        "name": names::webhook_service(text(description, "/deploymentName")),
        "port": port(description),
    });
    object["spec"]["caBundle"] = Value::from(encoded(authority));
    Ok(object)
}
