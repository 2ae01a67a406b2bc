//! What goes with a version: everything of it that Kubernetes' garbage collection can't find.

use std::collections::BTreeSet;

use apply::object::{ObjectId, at, text};
use classic::{Decision, Kind, World, Write, keys, names};
use serde_json::{Value, json};

use crate::membership::guard;
use crate::replacement;
use crate::version::ServiceVersion;
use crate::webhooks;

/// The kinds that name their version by labels, in the order in which they are deleted.
const LABELLED: [Kind; 5] = [
    Kind::ClusterRoleBinding,
    Kind::ClusterRole,
    Kind::MutatingWebhookConfiguration,
    Kind::ValidatingWebhookConfiguration,
    Kind::ApiService,
];

/// Returns the finalizers of an object.
fn finalizers(object: &Value) -> Vec<&str> {
    let listed = at(object, "/metadata/finalizers").and_then(Value::as_array);
    listed.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Returns whether a version waits for its cleanup when it is deleted.
pub fn has_finalizer(version: ServiceVersion<'_>) -> bool {
    finalizers(version.object).contains(&keys::CLEANUP_FINALIZER)
}

/// Returns the finalizers of a version with ours.
pub fn with_finalizer(version: ServiceVersion<'_>) -> Value {
    let mut all = finalizers(version.object);
    all.push(keys::CLEANUP_FINALIZER);
    json!(all)
}

/// Decides what is done for a version that is on its way out: first everything of it goes, then it may go itself.
pub fn finalize(world: &World, version: ServiceVersion<'_>) -> Decision {
    let mut decision = Decision::default();
    if !has_finalizer(version) {
        return decision;
    }
    decision.writes = deletions(world, version);
    if replacement::next(world, version).is_none() {
        decision.writes.extend(webhooks::undo_conversions(world, version));
    }
    if !decision.writes.is_empty() {
        decision.trouble = Some(format!("waiting for {} to delete", described(&decision.writes)));
        return decision;
    }
    let rest: Vec<&str> = finalizers(version.object)
        .into_iter()
        .filter(|name| *name != keys::CLEANUP_FINALIZER)
        .collect();
    let mut patch = json!({"metadata": {"finalizers": rest}});
    guard(&mut patch, version.object);
    decision.writes.push(Write::Merge {
        id: ObjectId::of(version.object),
        patch,
    });
    decision
}

fn described(writes: &[Write]) -> String {
    let kinds: BTreeSet<&str> = writes
        .iter()
        .map(|write| match write {
            Write::Delete { id, .. } | Write::Merge { id, .. } => id.kind.as_str(),
            _ => "objects",
        })
        .collect();
    kinds.into_iter().collect::<Vec<_>>().join(", ")
}

fn deletions(world: &World, version: ServiceVersion<'_>) -> Vec<Write> {
    let key = version.key();
    let mut found: Vec<_> = world
        .labelled_with(&key)
        .filter_map(|(key, object)| {
            let place = LABELLED.iter().position(|kind| *kind == key.kind)?;
            Some((place, object))
        })
        .collect();
    found.sort_by_key(|(place, _)| *place);
    let delete = |object: &Value| Write::Delete {
        id: ObjectId::of(object),
        uid: None,
    };
    let mut writes: Vec<Write> = found.into_iter().map(|(_, object)| delete(object)).collect();
    writes.extend(authentication_readers(world, version).map(delete));
    writes
}

/// Finds the bindings in `kube-system` that let servers of a version authenticate. Upstream leaves them behind.
fn authentication_readers<'a>(
    world: &'a World,
    version: ServiceVersion<'a>,
) -> impl Iterator<Item = &'a Value> {
    let serves = |version: ServiceVersion<'a>| {
        version
            .owned_api_services()
            .iter()
            .chain(version.webhooks())
            .map(|description| text(description, "/deploymentName"))
    };
    let still_served: BTreeSet<&str> = ServiceVersion::all_in(world, version.namespace())
        .filter(|other| other.name() != version.name())
        .flat_map(serves)
        .collect();
    let gone: BTreeSet<&str> = serves(version)
        .filter(|deployment| !still_served.contains(deployment))
        .collect();
    gone.into_iter().filter_map(move |deployment| {
        let name = names::authentication_reader(&names::webhook_service(deployment));
        let binding = world.get(Kind::RoleBinding, names::KUBE_SYSTEM, &name)?;
        // Another namespace may have a deployment of the same name, and the last to be installed has the binding.
        (text(binding, "/subjects/0/namespace") == version.namespace()).then_some(&**binding)
    })
}

/// Deletes the Deployments that a version describes.
pub fn deployment_deletions(world: &World, version: ServiceVersion<'_>) -> Vec<Write> {
    version
        .deployments()
        .iter()
        .filter_map(|description| {
            world.get(Kind::Deployment, version.namespace(), text(description, "/name"))
        })
        .map(|object| Write::Delete {
            id: ObjectId::of(object),
            uid: None,
        })
        .collect()
}
