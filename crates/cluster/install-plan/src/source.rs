//! A CatalogSource: what is served from it, and the status that says how that goes.
//!
//! ```text
//! template ─► spec.image   validation ─► ConfigMap ─► server ─► connection ─► status
//!                                                          └─► Serve: what the controller pulls or connects to
//! ```
//!
//! Upstream runs a pod for each catalog; here the controller pulls the image and serves it itself. The status has the
//! same fields all the same, since scripts wait for `connectionState.lastObservedState` to be `READY`.

mod disagreement;
mod polling;
mod template;
mod validation;

use std::time::Duration;

use apply::object::{ObjectId, as_map, at, label, text};
use apply::owners;
use classic::{Decision, Kind, World, Write, keys};
use jiff::Timestamp;
use serde_json::{Value, json};

pub use disagreement::{Said, Told};
pub use polling::{DEFAULT_INTERVAL, Poll, interval};
pub use template::{IMAGE_RESOLVED, TEMPLATES_RESOLVED, resolve_template};
pub use validation::{SpecProblem, validate};

use crate::conditions;
use crate::moment;
use crate::reference;

/// The port that catalogs are served on.
pub const PORT: &str = "50051";

const SPEC_INVALID: &str = "SpecInvalidError";
const CONFIG_MAP_FAILED: &str = "ConfigMapError";
const SERVER_FAILED: &str = "RegistryServerError";
const INTERVAL_INVALID: &str = "InvalidIntervalError";

/// What a CatalogSource offers from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Serve {
    /// A server at this address.
    Address(String),
    /// An image.
    Image {
        /// The image.
        image: String,
        /// The Secrets of the namespace to pull it with.
        secrets: Vec<String>,
        /// When to look for a newer one; none for never.
        poll: Option<Poll>,
    },
    /// A ConfigMap of the namespace.
    ConfigMap {
        /// The name.
        name: String,
        /// The version of it that is to be served.
        resource_version: String,
    },
    /// Nothing, until there is a ConfigMap of this name. Nobody tells of it by itself, since it has no label yet.
    MissingConfigMap {
        /// The name.
        name: String,
    },
}

/// What the controller knows of a CatalogSource.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Observed {
    /// The state of the connection as gRPC names it (`IDLE`, `CONNECTING`, `READY`, `TRANSIENT_FAILURE`, `SHUTDOWN`); none
    /// before the first attempt.
    pub connection: Option<String>,
    /// Why the image or ConfigMap can't be served.
    pub failure: Option<String>,
    /// When the image was looked for last.
    pub polled_at: Option<Timestamp>,
    /// Who signed the image that is served; none where nobody had to.
    pub signature: Option<String>,
    /// What the controller said of it last.
    pub told: Option<Told>,
}

/// What becomes of a CatalogSource.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SourceDecision {
    /// What is written.
    pub decision: Decision,
    /// What is to be served; none for nothing.
    pub serve: Option<Serve>,
}

/// Returns the address by which a CatalogSource is reached.
pub fn address(source: &Value) -> String {
    match text(source, "/spec/address") {
        "" => format!(
            "{}.{}.svc:{PORT}",
            service_name(source),
            text(source, "/metadata/namespace")
        ),
        address => address.to_owned(),
    }
}

/// The name of the Service of a catalog: names of Services have no points.
fn service_name(source: &Value) -> String {
    text(source, "/metadata/name").replace('.', "-")
}

/// Returns whether Subscriptions may rely on a CatalogSource.
///
/// As upstream has it, a server at an address is always taken for healthy.
pub fn is_healthy(source: &Value) -> bool {
    if validate(source).is_err() || text(source, "/status/reason") == SPEC_INVALID {
        return false;
    }
    let is_address = text(source, "/spec/sourceType") == "grpc" && text(source, "/spec/image").is_empty();
    is_address
        || (source
            .pointer("/status/registryService")
            .is_some_and(Value::is_object)
            && !matches!(text(source, "/status/reason"), CONFIG_MAP_FAILED | SERVER_FAILED))
}

/// Returns what becomes of a CatalogSource.
pub fn decide(
    world: &World,
    namespace: &str,
    name: &str,
    observed: &Observed,
    now: Timestamp,
) -> SourceDecision {
    let Some(source) = world.get(Kind::CatalogSource, namespace, name) else {
        return SourceDecision::default();
    };
    let mut status = match source.get("status") {
        Some(status @ Value::Object(_)) => status.clone(),
        _ => json!({}),
    };
    let mut writes = Vec::new();
    if let Some(image) = template::update(world, source, &mut status, now) {
        let mut changed = source.as_ref().clone();
        changed["spec"]["image"] = Value::from(image);
        writes.push(Write::Update(changed));
        return SourceDecision {
            decision: Decision {
                writes,
                ..Decision::default()
            },
            serve: None,
        };
    }
    let mut look_again_after = None;
    let serve = chain(
        world,
        source,
        observed,
        &mut status,
        &mut writes,
        &mut look_again_after,
        now,
    );
    if let Some(told) = &observed.told
        && let Some(rest) = told.leave_it(source, &mut status, now)
    {
        look_again_after = Some(look_again_after.map_or(rest, |other| other.min(rest)));
    }
    if source.get("status").unwrap_or(&json!({})) != &status {
        let mut changed = source.as_ref().clone();
        changed["status"] = status;
        writes.push(Write::UpdateStatus(changed));
    }
    SourceDecision {
        decision: Decision {
            writes,
            look_again_after,
            ..Decision::default()
        },
        serve,
    }
}

fn set_error(status: &mut Value, reason: &str, message: &str) {
    let fields = as_map(status);
    for (name, value) in [("reason", reason), ("message", message)] {
        if value.is_empty() {
            fields.remove(name);
        } else {
            fields.insert(name.to_owned(), Value::from(value));
        }
    }
}

/// Goes from the spec to the connection, as far as it comes.
fn chain(
    world: &World,
    source: &Value,
    observed: &Observed,
    status: &mut Value,
    writes: &mut Vec<Write>,
    look_again_after: &mut Option<Duration>,
    now: Timestamp,
) -> Option<Serve> {
    if let Err(problem) = validate(source) {
        set_error(status, SPEC_INVALID, &problem.to_string());
        return None;
    }
    if conditions::field(status, "reason") == SPEC_INVALID {
        // What was known belongs to another spec.
        as_map(status).retain(|field, _| field == "conditions");
    }
    set_error(status, "", "");
    let serve = match text(source, "/spec/sourceType") {
        "grpc" if text(source, "/spec/image").is_empty() => Serve::Address(address(source)),
        "grpc" => image(source, observed, status, look_again_after, now),
        _ => match config_map(world, source, status, writes, now) {
            Ok(Some(serve)) => serve,
            Ok(None) => return None,
            Err(message) => {
                set_error(status, CONFIG_MAP_FAILED, &message);
                let name = text(source, "/spec/configMap").to_owned();
                return Some(Serve::MissingConfigMap { name });
            }
        },
    };
    if !status.get("registryService").is_some_and(Value::is_object) {
        status["registryService"] = registry_service(source, &serve, now);
        return Some(serve);
    }
    if let Some(failure) = &observed.failure {
        set_error(
            status,
            SERVER_FAILED,
            &format!("couldn't ensure registry server - {failure}"),
        );
        return Some(serve);
    }
    connection(source, observed, status, now);
    Some(serve)
}

fn registry_service(source: &Value, serve: &Serve, now: Timestamp) -> Value {
    let mut service = json!({"createdAt": moment::text(now), "protocol": "grpc"});
    if !matches!(serve, Serve::Address(_)) {
        service["port"] = Value::from(PORT);
        service["serviceName"] = Value::from(service_name(source));
        service["serviceNamespace"] = Value::from(text(source, "/metadata/namespace"));
    }
    service
}

fn connection(source: &Value, observed: &Observed, status: &mut Value, now: Timestamp) {
    let Some(state) = &observed.connection else {
        return;
    };
    let address = address(source);
    let known = &status["connectionState"];
    let is_new = text(known, "/address") != address;
    if !is_new && text(known, "/lastObservedState") == state {
        return;
    }
    // A connection starts idle, however fast it gets ready.
    let state = if is_new { "IDLE" } else { state.as_str() };
    status["connectionState"] = json!({
        "address": address,
        "lastObservedState": state,
        "lastConnect": moment::text(now),
    });
}

/// The aspect that ClusterCatalogs have too: whether the image carries the signatures that are demanded.
const SIGNATURE_VERIFIED: &str = "SignatureVerified";

/// Says who signed the image. Where no signature is demanded, nothing is said: the status is upstream's then.
fn signature(words: Option<&str>, status: &mut Value, now: Timestamp) {
    let Some(words) = words else {
        conditions::remove(status, &[SIGNATURE_VERIFIED]);
        return;
    };
    let mut said = conditions::condition(SIGNATURE_VERIFIED, "True", "Signed", words);
    let known = conditions::get(status, SIGNATURE_VERIFIED);
    if known.is_some_and(|known| conditions::say_the_same(known, &said)) {
        return;
    }
    said["lastTransitionTime"] = Value::from(moment::text(now));
    conditions::set(status, said);
}

fn image(
    source: &Value,
    observed: &Observed,
    status: &mut Value,
    look_again_after: &mut Option<Duration>,
    now: Timestamp,
) -> Serve {
    signature(observed.signature.as_deref(), status, now);
    if let Some(polled) = observed.polled_at {
        let known = moment::read(conditions::field(status, "latestImageRegistryPoll"));
        if known.is_none_or(|known| known < polled)
            && moment::text(polled) != conditions::field(status, "latestImageRegistryPoll")
        {
            status["latestImageRegistryPoll"] = Value::from(moment::text(polled));
        }
    }
    let poll = source
        .pointer("/spec/updateStrategy/registryPoll")
        .filter(|poll| poll.is_object())
        .map(|poll| match interval(text(poll, "/interval")) {
            Ok(interval) => interval,
            Err(message) => {
                set_error(status, INTERVAL_INVALID, &message);
                DEFAULT_INTERVAL
            }
        })
        .map(|interval| Poll::new(source, status, interval));
    // Once it is due, whoever polls says when that is done; until then there is nothing new to see.
    *look_again_after = poll
        .map(|poll| poll.remaining(now))
        .filter(|remaining| !remaining.is_zero());
    let secrets = at(source, "/spec/secrets").and_then(Value::as_array);
    let secrets = secrets.into_iter().flatten().filter_map(Value::as_str);
    Serve::Image {
        image: text(source, "/spec/image").to_owned(),
        secrets: secrets.map(str::to_owned).collect(),
        poll,
    }
}

/// Takes the ConfigMap of a catalog: it gets an owner and a label, and the status names the version that is served.
/// Returns nothing while the status is to be written first.
fn config_map(
    world: &World,
    source: &Value,
    status: &mut Value,
    writes: &mut Vec<Write>,
    now: Timestamp,
) -> Result<Option<Serve>, String> {
    let name = text(source, "/spec/configMap");
    let namespace = text(source, "/metadata/namespace");
    let Some(map) = world.get(Kind::ConfigMap, namespace, name) else {
        return Err(format!(
            "failed to get catalog config map {name}: configmaps {name:?} not found"
        ));
    };
    let owner = reference::to_owner(
        Kind::CatalogSource,
        text(source, "/metadata/name"),
        text(source, "/metadata/uid"),
    );
    let mut owners = owners::references(map).to_vec();
    let is_owned = owners
        .iter()
        .any(|known| text(known, "/uid") == text(&owner, "/uid"));
    if !is_owned || label(map, keys::MANAGED).is_none() {
        if !is_owned {
            owners.push(owner);
        }
        writes.push(Write::Merge {
            id: ObjectId {
                api_version: "v1".to_owned(),
                kind: "ConfigMap".to_owned(),
                ..ObjectId::of(map)
            },
            // It is the user's, and only watched.
            patch: json!({"metadata": {"ownerReferences": owners, "labels": {keys::MANAGED: "false"}}}),
        });
        return Ok(None);
    }
    let (identity, version) = (text(map, "/metadata/uid"), text(map, "/metadata/resourceVersion"));
    let known = &status["configMapReference"];
    if text(known, "/uid") != identity || text(known, "/resourceVersion") != version {
        status["configMapReference"] = json!({
            "name": name,
            "namespace": namespace,
            "uid": identity,
            "resourceVersion": version,
            "lastUpdateTime": moment::text(now),
        });
    }
    Ok(Some(Serve::ConfigMap {
        name: name.to_owned(),
        resource_version: version.to_owned(),
    }))
}
