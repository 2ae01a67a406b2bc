//! What a claim's binding depends on, and which claims a change may concern: found by index, so that no claim costs a look at
//! all volumes and pods.

use serde_json::Value;

use super::{BIND_COMPLETED, CLASSES, VOLUMES};
use crate::api::Api;
use crate::client::Client;
use crate::controllers::work::Item;
use crate::object::Object;
use crate::status::Status;
use crate::store::{Event, Stored};

/// A claim, and what its binding depends on.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) claim: Value,
    pub(super) volumes: Vec<Value>,
    pub(super) classes: Vec<Value>,
    /// Pods that use the claim and haven't ended.
    pub(super) users: Vec<String>,
}

/// Looks at what the binding of a claim depends on, and at nothing else: most claims are bound, and most volumes are those
/// of other claims.
pub(super) fn look(client: &Client, claim: Value) -> Result<Seen, Status> {
    let mut seen = Seen {
        volumes: Vec::new(),
        classes: Vec::new(),
        users: Vec::new(),
        claim,
    };
    let claim = &seen.claim;
    if claim.is_being_deleted() {
        seen.users = users(client, claim)?;
        return Ok(seen);
    }
    let named = claim["spec"]["volumeName"].as_str().unwrap_or_default();
    if !named.is_empty() || claim.annotation(BIND_COMPLETED).is_some() {
        seen.volumes.extend(client.get(VOLUMES, "", named)?);
        return Ok(seen);
    }
    let words = [word(claim.namespace(), claim.name()), FREE.to_owned()];
    let positions = client.api().indices.volumes.ask(|volumes| {
        let found = words.iter().flat_map(|word| volumes.get(word));
        found.cloned().collect::<Vec<_>>()
    });
    for position in positions {
        seen.volumes.extend(client.get(VOLUMES, "", &position.name)?);
    }
    seen.classes = client.list(CLASSES, "")?;
    seen.users = users(client, claim)?;
    Ok(seen)
}

fn users(client: &Client, claim: &Value) -> Result<Vec<String>, Status> {
    let positions = client.api().indices.users_of_claims.ask(|pods| {
        let users = pods.get(&word(claim.namespace(), claim.name()));
        users.cloned().collect::<Vec<_>>()
    });
    let mut users = Vec::new();
    for position in positions {
        let Some(pod) = client.get(("", "pods"), &position.namespace, &position.name)? else {
            continue;
        };
        let has_ended = matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
        if !has_ended && claims_in(&pod).iter().any(|name| name == claim.name()) {
            users.push(pod.name().to_owned());
        }
    }
    Ok(users)
}

/// The word that an index has volumes under that nobody claims, and claims that aren't bound: no object has such a name.
const FREE: &str = "";

fn word(namespace: &str, name: &str) -> String {
    format!("{namespace}/{name}")
}

/// Returns the word that the index has a volume under: the claim that it is for.
pub(crate) fn words_of_volume(volume: &Stored) -> Vec<String> {
    let volume = volume.value();
    let reference = &volume["spec"]["claimRef"];
    if reference.is_null() {
        return vec![FREE.to_owned()];
    }
    let text = |field: &str| reference[field].as_str().unwrap_or_default();
    vec![word(text("namespace"), text("name"))]
}

/// Returns the words that the index has a claim under: whether it is bound, and the volume that it names.
pub(crate) fn words_of_claim(claim: &Stored) -> Vec<String> {
    let claim = claim.value();
    let mut words = Vec::new();
    if claim["status"]["phase"] != "Bound" {
        words.push(FREE.to_owned());
    }
    let named = claim["spec"]["volumeName"].as_str();
    words.extend(named.filter(|named| !named.is_empty()).map(str::to_owned));
    words
}

/// Returns the words that the index has a pod under: the claims that it uses.
pub(crate) fn words_of_pod(pod: &Stored) -> Vec<String> {
    let mut words: Vec<String> = claims_of_stored(pod)
        .iter()
        .map(|name| word(&pod.key.namespace, name))
        .collect();
    words.dedup();
    words
}

/// Returns the names of the claims that a pod uses.
fn claims_in(pod: &Value) -> Vec<String> {
    let volumes = pod["spec"]["volumes"].as_array();
    volumes
        .into_iter()
        .flatten()
        .filter_map(|volume| {
            if volume["ephemeral"].is_object() {
                return Some(format!("{}-{}", pod.name(), volume["name"].as_str()?));
            }
            Some(volume["persistentVolumeClaim"]["claimName"].as_str()?.to_owned())
        })
        .collect()
}

/// Returns the claims that a volume may concern: the one that it is for, those that name it, and, where it is for none, all
/// that aren't bound.
pub(super) fn claims_of_volume(api: &Api, event: &Event) -> Vec<Item> {
    let volume = event.object.value();
    let reference = &volume["spec"]["claimRef"];
    let text = |field: &str| reference[field].as_str().unwrap_or_default();
    let mut items = if reference.is_null() {
        waiting_claims(api, event)
    } else {
        vec![Item::new(text("namespace"), text("name"))]
    };
    items.extend(claims_under(api, &event.object.key.name));
    items
}

/// Returns the claims that a new class may concern: those that aren't bound.
pub(super) fn waiting_claims(api: &Api, _: &Event) -> Vec<Item> {
    claims_under(api, FREE)
}

fn claims_under(api: &Api, word: &str) -> Vec<Item> {
    api.indices.claims.ask(|claims| {
        claims
            .get(word)
            .map(|position| Item {
                namespace: position.namespace.clone(),
                name: position.name.clone(),
            })
            .collect()
    })
}

pub(super) fn claims_of_pod(_: &Api, event: &Event) -> Vec<Item> {
    let namespace = &event.object.key.namespace;
    claims_of_stored(&event.object)
        .iter()
        .map(|name| Item::new(namespace, name))
        .collect()
}

/// Returns the names of the claims that a stored pod uses.
fn claims_of_stored(pod: &Stored) -> Vec<String> {
    // Most pods use no claim, and needn't be read.
    let may_use = [&b"persistentVolumeClaim"[..], &b"\"ephemeral\""[..]];
    if !may_use
        .iter()
        .any(|text| memchr::memmem::find(&pod.bytes, text).is_some())
    {
        return Vec::new();
    }
    claims_in(&pod.value())
}
