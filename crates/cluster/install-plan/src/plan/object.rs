//! What a step writes: the object as it shall be, given what exists.

use apply::object::{ObjectId, as_map, at, is_terminating, set_metadata_entry, text};
use apply::owners;
use bundle::cluster_service_version::{GroupVersionKind, KIND as SERVICE_VERSION};
use classic::{Kind, Write, components, keys};
use serde_json::{Value, json};

use super::definition_step;
use super::execution::{Pause, Run, StepFailure};
use super::ownership::{add_owner, check_owners, identify_owners};
use super::refusal_text::missing_api;
use super::supported_kinds::is_namespaced;
use crate::steps::{BUNDLE_SECRET, DEFINITION, StepStatus};

/// What a step comes to.
pub(super) enum StepAct {
    /// Nothing is to be written.
    Known(StepStatus),
    /// An object must be seen first.
    Look(ObjectId),
    /// This is to be written.
    Write(Box<Write>),
}

impl StepAct {
    pub(super) fn write(write: Write) -> Self {
        Self::Write(Box::new(write))
    }

    /// Makes an object, or replaces one that the World doesn't know.
    fn create_or_update(object: Value) -> Self {
        Self::write(Write::Create {
            object,
            or_update: true,
        })
    }
}

/// Returns what a step comes to. `exists` says that the server refused to make the object since there is one.
pub(super) fn act(run: &Run<'_>, step: &Value, mut object: Value, exists: bool) -> Result<StepAct, Pause> {
    let kind = text(step, "/resource/kind");
    let world = run.world;
    let namespace = text(run.plan, "/metadata/namespace");
    let resolving = text(step, "/resolving");
    match kind {
        DEFINITION => return definition_step::act(run, step, object, exists),
        "Secret" => return pull_secret(run, step),
        _ => {}
    }
    let known = match kind {
        BUNDLE_SECRET => Some(Kind::Secret),
        SERVICE_VERSION => Some(Kind::ClusterServiceVersion),
        "Subscription" => Some(Kind::Subscription),
        "ClusterRole" => Some(Kind::ClusterRole),
        "ClusterRoleBinding" => Some(Kind::ClusterRoleBinding),
        "Role" => Some(Kind::Role),
        "RoleBinding" => Some(Kind::RoleBinding),
        "ServiceAccount" => Some(Kind::ServiceAccount),
        "Service" => Some(Kind::Service),
        "ConfigMap" => Some(Kind::ConfigMap),
        _ => None,
    };
    let Some(known) = known else {
        return other(run, step, object);
    };
    let naming = known.naming();
    object["apiVersion"] = Value::from(naming.api_version);
    object["kind"] = Value::from(naming.kind);
    if naming.is_namespaced {
        object["metadata"]["namespace"] = Value::from(namespace);
    } else {
        as_map(&mut object["metadata"]).remove("namespace");
    }
    set_metadata_entry(&mut object, "labels", keys::MANAGED, keys::MANAGED_VALUE);
    let name = text(&object, "/metadata/name").to_owned();
    let place = if naming.is_namespaced { namespace } else { "" };
    let existing = world.get(known, place, &name).map(AsRef::as_ref);
    match known {
        Kind::ClusterServiceVersion | Kind::Subscription => {
            if known == Kind::Subscription {
                let plan = text(run.plan, "/metadata/name");
                set_metadata_entry(&mut object, "annotations", keys::GENERATED_BY, plan);
            } else {
                check_owners(world, run.plan, &object)?;
                components::join_package(world, namespace, &mut object);
            }
            return create_only(known, object, existing, exists);
        }
        Kind::Secret | Kind::Service | Kind::ConfigMap if !resolving.is_empty() => {
            add_owner(&mut object, resolving);
        }
        _ => {}
    }
    if let Some(look) = identify_owners(run, &mut object)? {
        return Ok(look);
    }
    // What is there stays a component of what it is one of; adopting it is up to whoever looks at its version.
    let component = existing.or_else(|| version(run, resolving));
    if let Some(component) = component {
        components::join(&mut object, component);
    }
    match (known, existing) {
        (Kind::ServiceAccount | Kind::Service, None) if exists => Ok(StepAct::Look(ObjectId::of(&object))),
        (Kind::ServiceAccount | Kind::Service, None) => Ok(StepAct::write(Write::Create {
            object,
            or_update: false,
        })),
        (Kind::ServiceAccount, Some(existing)) => Ok(service_account(object, existing)),
        (_, Some(existing)) => {
            if matches!(known, Kind::ClusterRole | Kind::ClusterRoleBinding) && !resolving.is_empty() {
                // What is updated belongs to the newest version.
                set_metadata_entry(&mut object, "labels", keys::OWNER, resolving);
            }
            Ok(update(known, object, existing))
        }
        (_, None) => Ok(StepAct::create_or_update(object)),
    }
}

/// A ClusterServiceVersion or Subscription that exists is left alone.
fn create_only(kind: Kind, object: Value, existing: Option<&Value>, exists: bool) -> Result<StepAct, Pause> {
    match existing {
        Some(existing) if is_terminating(existing) => {
            // Upstream takes it for present, and is left with nothing when it is gone.
            let name = text(&object, "/metadata/name");
            Err(StepFailure::new(format!(
                "error creating {} {name}: object is being deleted: {}.operators.coreos.com {name:?} already exists",
                if kind == Kind::Subscription { "subscription" } else { "csv" },
                kind.naming().plural,
            ))
            .into())
        }
        Some(_) => Ok(StepAct::Known(StepStatus::Present)),
        None if exists => Ok(StepAct::Known(StepStatus::Present)),
        None => Ok(StepAct::write(Write::Create {
            object,
            or_update: false,
        })),
    }
}

/// Updates what exists, unless it is what it shall be.
fn update(kind: Kind, object: Value, existing: &Value) -> StepAct {
    if covers(existing, &object) {
        return StepAct::Known(StepStatus::Present);
    }
    if kind == Kind::Service {
        // The server gave it an address, which stays.
        let id = ObjectId::of(&object);
        let mut patch = object;
        for field in ["apiVersion", "kind", "status"] {
            as_map(&mut patch).remove(field);
        }
        return StepAct::write(Write::Merge { id, patch });
    }
    StepAct::write(Write::Update(object))
}

/// Keeps the secrets, owners and annotations that a service account has.
fn service_account(mut object: Value, existing: &Value) -> StepAct {
    match existing.get("secrets") {
        Some(secrets) => object["secrets"] = secrets.clone(),
        None => drop(as_map(&mut object).remove("secrets")),
    }
    let mut merged = owners::references(existing).to_vec();
    for owner in owners::references(&object) {
        let is_same = |other: &Value| {
            text(other, "/uid") == text(owner, "/uid") && text(other, "/name") == text(owner, "/name")
        };
        if !merged.iter().any(is_same) {
            merged.push(owner.clone());
        }
    }
    if !merged.is_empty() {
        object["metadata"]["ownerReferences"] = Value::Array(merged);
    }
    let kept = existing
        .pointer("/metadata/annotations")
        .and_then(Value::as_object);
    for (key, value) in kept.into_iter().flatten() {
        let annotations = as_map(&mut object["metadata"])
            .entry("annotations")
            .or_insert_with(|| json!({}));
        as_map(annotations).entry(key).or_insert_with(|| value.clone());
    }
    if covers(existing, &object) {
        return StepAct::Known(StepStatus::Present);
    }
    if let Some(version) = at(existing, "/metadata/resourceVersion") {
        object["metadata"]["resourceVersion"] = version.clone();
    }
    StepAct::write(Write::Update(object))
}

/// Returns whether everything that is wanted is there already.
pub(super) fn covers(existing: &Value, wanted: &Value) -> bool {
    match (existing, wanted) {
        (Value::Object(existing), Value::Object(wanted)) => wanted.iter().all(|(key, wanted)| {
            wanted.is_null()
                || key == "status"
                || existing.get(key).is_some_and(|existing| covers(existing, wanted))
        }),
        (Value::Array(existing), Value::Array(wanted)) => {
            existing.len() == wanted.len()
                && existing
                    .iter()
                    .zip(wanted)
                    .all(|(existing, wanted)| covers(existing, wanted))
        }
        (existing, wanted) => existing == wanted,
    }
}

/// Copies a pull secret from OLM's namespace.
fn pull_secret(run: &Run<'_>, step: &Value) -> Result<StepAct, Pause> {
    let name = text(step, "/resource/name");
    let namespace = text(run.plan, "/metadata/namespace");
    if run.world.get(Kind::Secret, namespace, name).is_some() {
        return Ok(StepAct::Known(StepStatus::Present));
    }
    let Some(original) = run.world.get(Kind::Secret, &run.settings.namespace, name) else {
        let id = ObjectId {
            api_version: "v1".to_owned(),
            kind: "Secret".to_owned(),
            namespace: run.settings.namespace.clone(),
            name: name.to_owned(),
        };
        if !run.progress.looked.contains(&id) {
            return Ok(StepAct::Look(id));
        }
        return Err(StepFailure::new(format!(
            "secret {name} does not exist - secrets {name:?} not found"
        ))
        .into());
    };
    let mut copy = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {keys::MANAGED: keys::MANAGED_VALUE},
        },
    });
    for field in ["data", "type"] {
        if let Some(value) = original.get(field) {
            copy[field] = value.clone();
        }
    }
    Ok(StepAct::write(Write::Create {
        object: copy,
        or_update: false,
    }))
}

/// An object of a kind that isn't in every bundle.
fn other(run: &Run<'_>, step: &Value, mut object: Value) -> Result<StepAct, Pause> {
    let Some(is_namespaced) = is_namespaced(text(step, "/resource/kind")) else {
        return Ok(StepAct::Known(StepStatus::UnsupportedResource));
    };
    let own = gvk(&ObjectId::of(&object));
    if !run.world.served.contains(&own) {
        if run
            .world
            .served
            .iter()
            .any(|served| served.group == own.group && served.version == own.version)
        {
            return Err(StepFailure::new(format!(
                "Unable to find GVK in discovery: {} {} {}",
                own.group, own.version, own.kind
            ))
            .into());
        }
        if let Some(missing) = missing_api(run.world, step) {
            return Err(StepFailure::new(missing).into());
        }
    }
    let namespace = text(run.plan, "/metadata/namespace");
    let resolving = text(step, "/resolving");
    if is_namespaced {
        object["metadata"]["namespace"] = Value::from(namespace);
    } else {
        as_map(&mut object["metadata"]).remove("namespace");
    }
    if !resolving.is_empty() {
        if is_namespaced {
            add_owner(&mut object, resolving);
            if let Some(look) = identify_owners(run, &mut object)? {
                return Ok(look);
            }
        } else {
            set_metadata_entry(&mut object, "labels", keys::OWNER, resolving);
            set_metadata_entry(&mut object, "labels", keys::OWNER_NAMESPACE, namespace);
            set_metadata_entry(&mut object, "labels", keys::OWNER_KIND, SERVICE_VERSION);
        }
    }
    set_metadata_entry(&mut object, "labels", keys::MANAGED, keys::MANAGED_VALUE);
    Ok(StepAct::create_or_update(object))
}

/// The version that a step is for, if it is there.
pub(super) fn version<'a>(run: &Run<'a>, name: &str) -> Option<&'a Value> {
    let namespace = text(run.plan, "/metadata/namespace");
    let version = run.world.get(Kind::ClusterServiceVersion, namespace, name);
    version.map(AsRef::as_ref)
}

fn gvk(id: &ObjectId) -> GroupVersionKind {
    GroupVersionKind {
        group: id.group().to_owned(),
        version: id.version().to_owned(),
        kind: id.kind.clone(),
    }
}
