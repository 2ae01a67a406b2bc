//! OperatorGroups: which namespaces their members look after, as whom they are installed, and what they provide.

use std::collections::BTreeSet;

use apply::object::{ObjectId, at, label, text};
use classic::{Decision, Key, Kind, World, Write, keys};
use jiff::Timestamp;
use kinds::label_selector::LabelSelector;
use serde_json::{Map, Value, json};

use crate::Circumstances;
use crate::api_roles;
use crate::membership::{annotation_patch, guard, missing_annotations};
use crate::phases;
use crate::progress::written;
use crate::provided_apis::{Apis, Namespaces, Surface, status_namespaces};
use crate::version::ServiceVersion;

/// The field manager of the label that service accounts of groups get.
const FIELD_MANAGER: &str = "operator-lifecycle-manager";

/// Why the namespaces of a group can't be told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTargets {
    /// It names all namespaces beside others.
    #[error("TargetNamespaces cannot contain NamespaceAll: [{0}]")]
    All(String),
    /// Its selector is none.
    #[error("{0}")]
    Selector(String),
}

/// Returns the namespaces that a group looks after, by name; one empty name for all.
///
/// # Errors
///
/// [`InvalidTargets`] where its spec doesn't say.
pub fn targets(world: &World, group: &Value) -> Result<Vec<String>, InvalidTargets> {
    let listed = at(group, "/spec/targetNamespaces").and_then(Value::as_array);
    let listed: Vec<&str> = listed.into_iter().flatten().filter_map(Value::as_str).collect();
    if !listed.is_empty() {
        if listed.contains(&"") {
            return Err(InvalidTargets::All(listed.join(" ")));
        }
        let set: BTreeSet<&str> = listed.into_iter().collect();
        return Ok(set.into_iter().map(str::to_owned).collect());
    }
    let selector = at(group, "/spec/selector").unwrap_or(&Value::Null);
    if selector.is_null() {
        return Ok(vec![String::new()]);
    }
    let selector =
        LabelSelector::from_object(selector).map_err(|error| InvalidTargets::Selector(error.to_string()))?;
    if selector.is_everything() {
        return Ok(vec![String::new()]);
    }
    Ok(world
        .all(Kind::Namespace)
        .filter(|namespace| selector.matches_object(namespace))
        .map(|namespace| text(namespace, "/metadata/name").to_owned())
        .collect())
}

/// Decides what is done for one group.
///
/// Its status comes first, and the rest when that is seen: members read what the status says.
pub fn decide(world: &World, namespace: &str, name: &str, circumstances: &Circumstances<'_>) -> Decision {
    let mut decision = Decision::default();
    let Some(group) = world.get(Kind::OperatorGroup, namespace, name) else {
        decision.writes = leftovers(world, namespace, name);
        return decision;
    };
    let is_alone = world.in_namespace(Kind::OperatorGroup, namespace).count() == 1;
    // A server may refuse these while the others have no status of their own, so they come last.
    let mut of_others = Vec::new();
    for other in world.in_namespace(Kind::OperatorGroup, namespace) {
        if text(other, "/metadata/name") != name
            && let Some(status) = with_multiplicity(other, is_alone, circumstances.now)
        {
            of_others.push(update_status(other, status));
        }
    }
    let mut status = with_multiplicity(group, is_alone, circumstances.now)
        .unwrap_or_else(|| group.get("status").cloned().unwrap_or_else(|| json!({})));
    let account = sync_account(world, group, &mut status, circumstances.now);
    let changes_account =
        text(&status, "/serviceAccountRef/uid") != text(group, "/status/serviceAccountRef/uid");
    let mut is_done = false;
    match account {
        Ok(write) => {
            decision.writes.extend(write);
            match targets(world, group) {
                Ok(targets) => is_done = !set_targets(group, &mut status, &targets, circumstances.now),
                Err(error) => decision.trouble = Some(error.to_string()),
            }
        }
        Err(error) => decision.trouble = Some(error),
    }
    if group.get("status").unwrap_or(&json!({})) != &status {
        decision.writes.push(update_status(group, status));
        is_done = false;
    }
    if changes_account {
        for version in ServiceVersion::all_in(world, namespace) {
            let retried = phases::retry(world, namespace, version.name(), circumstances);
            decision.writes.extend(retried.writes);
        }
    }
    decision.writes.extend(of_others);
    if is_done {
        keep_members(world, group, &mut decision);
    }
    decision
}

fn update_status(group: &Value, status: Value) -> Write {
    let mut object = group.clone();
    object["status"] = status;
    // Upstream's type can't leave it out.
    if object["status"].get("lastUpdated").is_none() {
        object["status"]["lastUpdated"] = Value::Null;
    }
    Write::UpdateStatus(object)
}

const MULTIPLE: &str = "MultipleOperatorGroup";
const ACCOUNT: &str = "OperatorGroupServiceAccount";

fn conditions(status: &Value) -> Vec<Value> {
    let listed = status.get("conditions").and_then(Value::as_array);
    listed.cloned().unwrap_or_default()
}

fn has_condition(status: &Value, kind: &str) -> bool {
    conditions(status)
        .iter()
        .any(|condition| text(condition, "/type") == kind)
}

fn remove_condition(status: &mut Value, kind: &str) {
    let mut rest = conditions(status);
    rest.retain(|condition| text(condition, "/type") != kind);
    let Some(status) = status.as_object_mut() else {
        return;
    };
    if rest.is_empty() {
        status.remove("conditions");
    } else {
        status.insert("conditions".to_owned(), Value::Array(rest));
    }
}

fn add_condition(status: &mut Value, kind: &str, reason: &str, message: &str, now: Timestamp) {
    let mut all = conditions(status);
    let known = all.iter_mut().find(|condition| text(condition, "/type") == kind);
    match known {
        Some(known) => {
            known["reason"] = Value::from(reason);
            known["message"] = Value::from(message);
        }
        None => all.push(json!({
            "type": kind, "status": "True", "reason": reason, "message": message,
            "lastTransitionTime": written(now),
        })),
    }
    status["conditions"] = Value::Array(all);
}

/// Returns the status of a group that says whether it is alone in its namespace; none where it says so already.
fn with_multiplicity(group: &Value, is_alone: bool, now: Timestamp) -> Option<Value> {
    let mut status = group.get("status").cloned().unwrap_or_else(|| json!({}));
    if has_condition(&status, MULTIPLE) != is_alone {
        return None;
    }
    if is_alone {
        remove_condition(&mut status, MULTIPLE);
    } else {
        add_condition(
            &mut status,
            MULTIPLE,
            "MultipleOperatorGroupsFound",
            "Multiple OperatorGroup found in the same namespace",
            now,
        );
    }
    Some(status)
}

/// Lets the status of a group name its service account; returns what is written to the account.
fn sync_account(
    world: &World,
    group: &Value,
    status: &mut Value,
    now: Timestamp,
) -> Result<Option<Write>, String> {
    let namespace = text(group, "/metadata/namespace");
    let name = text(group, "/spec/serviceAccountName");
    let known = status
        .get("serviceAccountRef")
        .filter(|known| !known.is_null())
        .cloned();
    let forget = |status: &mut Value| {
        if let Some(status) = status.as_object_mut() {
            status.remove("serviceAccountRef");
            status.insert("lastUpdated".to_owned(), Value::from(written(now)));
        }
    };
    if name.is_empty() {
        if known.is_some() || has_condition(status, ACCOUNT) {
            remove_condition(status, ACCOUNT);
            forget(status);
        }
        return Ok(None);
    }
    let Some(account) = world.get(Kind::ServiceAccount, namespace, name) else {
        let message = format!("ServiceAccount {name} not found");
        if known.is_some() || !has_condition(status, ACCOUNT) {
            forget(status);
        }
        add_condition(status, ACCOUNT, "ServiceAccountNotFound", &message, now);
        return Err(format!(
            "failed to get service account, sa={name} serviceaccounts \"{name}\" not found"
        ));
    };
    let naming = Kind::ServiceAccount.naming();
    let mut reference =
        json!({"apiVersion": naming.api_version, "kind": naming.kind, "namespace": namespace, "name": name});
    let uid = text(account, "/metadata/uid");
    if !uid.is_empty() {
        reference["uid"] = Value::from(uid);
    }
    let is_known = known.as_ref().is_some_and(|known| {
        text(known, "/name") == name && text(known, "/namespace") == namespace && text(known, "/uid") == uid
    });
    if !is_known {
        let version = text(account, "/metadata/resourceVersion");
        if !version.is_empty() {
            reference["resourceVersion"] = Value::from(version);
        }
        status["serviceAccountRef"] = reference;
        status["lastUpdated"] = Value::from(written(now));
    }
    remove_condition(status, ACCOUNT);
    let is_labelled = label(account, keys::MANAGED) == Some(keys::MANAGED_VALUE);
    Ok((!is_labelled).then(|| Write::Apply {
        object: crate::ownership::managed(Kind::ServiceAccount, namespace, name),
        field_manager: FIELD_MANAGER,
    }))
}

/// Writes the namespaces into the status; returns whether they changed.
fn set_targets(group: &Value, status: &mut Value, targets: &[String], now: Timestamp) -> bool {
    let known: BTreeSet<&str> = status_namespaces(group).unwrap_or_default().into_iter().collect();
    let wanted: BTreeSet<&str> = targets.iter().map(String::as_str).collect();
    if known == wanted {
        return false;
    }
    if targets.is_empty() {
        if let Some(status) = status.as_object_mut() {
            status.remove("namespaces");
        }
    } else {
        status["namespaces"] = json!(targets);
    }
    status["lastUpdated"] = Value::from(written(now));
    true
}

/// Makes versions members, and lets the group say what they provide.
fn keep_members(world: &World, group: &Value, decision: &mut Decision) {
    let namespace = text(group, "/metadata/namespace");
    for version in ServiceVersion::all_in(world, namespace) {
        if let Some(annotations) = missing_annotations(version.object, group)
            && !annotations.is_empty()
        {
            decision.writes.push(Write::Merge {
                id: ObjectId::of(version.object),
                patch: annotation_patch(version.object, annotations),
            });
        }
    }
    let surface = Surface::of(group);
    let of_members = ServiceVersion::all_in(world, namespace)
        .filter_map(ServiceVersion::provided_apis)
        .fold(Apis::default(), |all, apis| all.union(&apis));
    let all = of_members.union(&surface.provided);
    decision.writes.extend(api_roles::of_group(world, group, &all));
    if let Some(write) = pruned(world, group, &surface, &of_members) {
        decision.writes.push(write);
    }
}

/// Takes from the annotation what no member provides any more; waits for members that have not got so far.
fn pruned(world: &World, group: &Value, surface: &Surface, of_members: &Apis) -> Option<Write> {
    if at(group, "/spec/staticProvidedAPIs") == Some(&Value::Bool(true)) {
        return None;
    }
    let added = of_members.difference(&surface.provided);
    let is_pending = |version: ServiceVersion<'_>| {
        awaits(version) && version.provided_apis().is_some_and(|apis| apis.meets(&added))
    };
    let mut members = ServiceVersion::all_in(world, &surface.namespace);
    if members.any(is_pending) {
        return None;
    }
    let gone = surface.provided.difference(of_members);
    if gone.0.is_empty() {
        return None;
    }
    let mut annotations = Map::new();
    let rest = surface.provided.difference(&gone);
    annotations.insert(keys::PROVIDED_APIS.to_owned(), Value::from(rest.written()));
    Some(Write::Merge {
        id: ObjectId::of(group),
        patch: annotation_patch(group, annotations),
    })
}

/// Returns whether a group waits for a member before it takes anything from what it says that members provide.
pub fn awaits(version: ServiceVersion<'_>) -> bool {
    !version.is_terminating() && matches!(version.phase(), "" | "Pending")
}

/// Deletes the ClusterRoles of a group that is gone.
fn leftovers(world: &World, namespace: &str, name: &str) -> Vec<Write> {
    let owner = Key::new(Kind::OperatorGroup, namespace, name);
    world
        .labelled_with(&owner)
        .filter(|(key, _)| key.kind == Kind::ClusterRole)
        .map(|(_, object)| Write::Delete {
            id: ObjectId::of(object),
            uid: None,
        })
        .collect()
}

/// Decides the labels by which a Namespace says which groups look after it; webhooks select by them.
pub fn decide_namespace(world: &World, name: &str) -> Decision {
    let mut decision = Decision::default();
    let Some(namespace) = world.get(Kind::Namespace, "", name) else {
        return decision;
    };
    let wanted: BTreeSet<String> = world
        .all(Kind::OperatorGroup)
        .filter(|group| {
            let targets = status_namespaces(group).unwrap_or_default();
            let targets = Namespaces(targets.into_iter().map(str::to_owned).collect());
            !targets.is_all() && targets.contains(name)
        })
        .map(|group| text(group, "/metadata/uid"))
        .filter(|uid| !uid.is_empty())
        .map(|uid| format!("{}{uid}", keys::OPERATOR_GROUP_IDENTITY_PREFIX))
        .collect();
    let labels = at(namespace, "/metadata/labels").and_then(Value::as_object);
    let mut patch = Map::new();
    for (key, _) in labels.into_iter().flatten() {
        if key.starts_with(keys::OPERATOR_GROUP_IDENTITY_PREFIX) && !wanted.contains(key) {
            patch.insert(key.clone(), Value::Null);
        }
    }
    for key in wanted {
        if label(namespace, &key) != Some("") {
            patch.insert(key, Value::from(""));
        }
    }
    if !patch.is_empty() {
        let mut patch = json!({"metadata": {"labels": patch}});
        guard(&mut patch, namespace);
        decision.writes.push(Write::Merge {
            id: ObjectId::of(namespace),
            patch,
        });
    }
    decision
}
