//! Copies of a version in the namespaces that it looks after, which show there that it does.
//!
//! There may be thousands of them, so the picture of the cluster holds each only in short: [`reduced`] keeps what tells
//! whether it is still the right one. A version that doesn't change costs nothing but to compare those.

use std::collections::BTreeSet;

use apply::object::{ObjectId, annotation, label, text};
use classic::{Decision, Kind, Notice, World, Write, hashes, keys};
use serde_json::{Map, Value, json};

use crate::Circumstances;
use crate::membership;
use crate::olm_config;
use crate::provided_apis::{Namespaces, status_namespaces};
use crate::target_permissions;
use crate::version::{ServiceVersion, is_copy};

/// The annotation, in the picture alone, with the hash of all of a copy but its status.
const CONTENT_HASH: &str = "$copyhash-spec";

/// The annotation, in the picture alone, with the hash of the status of a copy.
const STATUS_HASH: &str = "$copyhash-status";

/// Versions that failed for one of these reasons are not copied.
const UNCOPIABLE: [&str; 8] = [
    "Copied",
    "InvalidInstallModes",
    "NoTargetNamespaces",
    "UnsupportedOperatorGroup",
    "NoOperatorGroup",
    "TooManyOperatorGroups",
    "InterOperatorGroupOwnerConflict",
    "CannotModifyStaticOperatorGroupProvidedAPIs",
];

/// Returns a copy as the picture of the cluster holds it: its metadata, and hashes of the rest.
///
/// Whoever fills the picture calls this for each copy, before anything is taken from it.
pub fn reduced(copy: &Value) -> Value {
    let mut metadata = Map::new();
    for field in [
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "deletionTimestamp",
        "labels",
        "annotations",
    ] {
        if let Some(value) = copy.pointer(&format!("/metadata/{field}")) {
            metadata.insert(field.to_owned(), value.clone());
        }
    }
    let mut object = json!({
        "apiVersion": copy["apiVersion"],
        "kind": copy["kind"],
        "metadata": metadata,
    });
    let (content, status) = digest(copy);
    let annotations = &mut object["metadata"]["annotations"];
    if !annotations.is_object() {
        *annotations = json!({});
    }
    annotations[CONTENT_HASH] = Value::from(content);
    annotations[STATUS_HASH] = Value::from(status);
    object
}

/// Returns hashes of what a copy says, and of its status.
fn digest(copy: &Value) -> (String, String) {
    let mut annotations = copy
        .pointer("/metadata/annotations")
        .cloned()
        .unwrap_or_else(|| json!({}));
    if let Some(annotations) = annotations.as_object_mut() {
        annotations.retain(|key, _| key != CONTENT_HASH && key != STATUS_HASH && key != keys::LAST_APPLIED);
    }
    let content = json!({
        "labels": copy.pointer("/metadata/labels"),
        "annotations": annotations,
        "spec": copy.get("spec"),
    });
    let status = copy.get("status").unwrap_or(&Value::Null);
    (
        hashes::text_hash(&content.to_string()),
        hashes::text_hash(&status.to_string()),
    )
}

fn known_digest(copy: &Value) -> (String, String) {
    match (annotation(copy, CONTENT_HASH), annotation(copy, STATUS_HASH)) {
        (Some(content), Some(status)) => (content.to_owned(), status.to_owned()),
        _ => digest(copy),
    }
}

/// Returns the copy of a version that a namespace shall have.
fn expected(version: ServiceVersion<'_>, namespace: &str) -> Value {
    let filtered = |pointer: &str, keep: &dyn Fn(&str) -> bool| {
        let map = version.object.pointer(pointer).and_then(Value::as_object);
        let entries = map.into_iter().flatten().filter(|(key, _)| keep(key));
        entries
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect::<Map<String, Value>>()
    };
    let annotations = filtered("/metadata/annotations", &|key| {
        key != keys::TARGET_NAMESPACES && key != keys::LAST_APPLIED
    });
    let mut labels = filtered("/metadata/labels", &|key| {
        !key.starts_with(keys::COMPONENT_PREFIX)
    });
    labels.insert(keys::COPIED_FROM.to_owned(), Value::from(version.namespace()));
    let mut status = version.object.get("status").cloned().unwrap_or_else(|| json!({}));
    status["reason"] = Value::from("Copied");
    status["message"] = Value::from(format!(
        "The operator is running in {} but is managing this namespace",
        version.namespace()
    ));
    let naming = Kind::ClusterServiceVersion.naming();
    json!({
        "apiVersion": naming.api_version,
        "kind": naming.kind,
        "metadata": {
            "name": version.name(),
            "namespace": namespace,
            "annotations": annotations,
            "labels": labels,
        },
        "spec": version.object["spec"],
        "status": status,
    })
}

/// Returns whether a copy has lost what it is a copy of.
pub fn is_dangling(world: &World, copy: &Value) -> bool {
    let Some(from) = annotation(copy, keys::OPERATOR_NAMESPACE) else {
        return true;
    };
    let namespace = text(copy, "/metadata/namespace");
    let Some(parent) = ServiceVersion::find(world, from, text(copy, "/metadata/name")) else {
        return true;
    };
    let targets = Namespaces::read(parent.annotation(keys::TARGET_NAMESPACES).unwrap_or_default());
    parent.phase() == "Failed" && parent.reason() == "InterOperatorGroupOwnerConflict"
        || !targets.contains(namespace)
        || from == namespace
}

/// Decides which copies of the version of a name in a namespace are made, changed and deleted; also where the version is
/// gone.
pub fn decide(world: &World, namespace: &str, name: &str, circumstances: &Circumstances<'_>) -> Decision {
    let mut decision = Decision::default();
    let version = ServiceVersion::find(world, namespace, name).filter(|version| !version.is_copy());
    let plan = version
        .filter(|version| !version.is_terminating())
        .and_then(|version| Plan::of(world, version, circumstances));
    let mut deletes_disabled = false;
    for target in world.all(Kind::Namespace) {
        let target_name = text(target, "/metadata/name");
        if target_name == namespace {
            continue;
        }
        let there = world.get(Kind::ClusterServiceVersion, target_name, name);
        let existing = there.filter(|there| is_copy(there) && comes_from(there, namespace));
        match &plan {
            Some(plan) if plan.wants(target_name) => {
                let is_leaving =
                    apply::object::is_terminating(target) || text(target, "/status/phase") == "Terminating";
                // A version of the same name that is no copy is somebody's own.
                if is_leaving || there.is_some() && existing.is_none() {
                    continue;
                }
                let existing = existing.map(|existing| &**existing);
                decision.writes.extend(plan.writes(target_name, existing));
            }
            _ => {
                let Some(existing) = existing else { continue };
                let is_unwanted = plan.as_ref().is_some_and(|plan| plan.is_disabled);
                if is_unwanted || is_dangling(world, existing) {
                    deletes_disabled |= is_unwanted;
                    decision.writes.push(Write::Delete {
                        id: ObjectId::of(existing),
                        uid: None,
                    });
                }
            }
        }
    }
    let Some(version) = version else {
        return decision;
    };
    if deletes_disabled {
        decision.notices.push(Notice {
            about: ObjectId::of(version.object),
            is_warning: true,
            reason: "DisabledCopiedCSVs".to_owned(),
            message: format!("CSV copying disabled for {namespace}/{name}"),
        });
    }
    if let Some(plan) = plan {
        plan.share_permissions(&mut decision);
    }
    decision
}

fn comes_from(copy: &Value, namespace: &str) -> bool {
    label(copy, keys::COPIED_FROM) == Some(namespace)
        || annotation(copy, keys::OPERATOR_NAMESPACE) == Some(namespace)
}

/// Where copies of a version shall be.
struct Plan<'a> {
    world: &'a World,
    version: ServiceVersion<'a>,
    group: &'a Value,
    targets: Namespaces,
    /// Whether copies are switched off for this version.
    is_disabled: bool,
    digest: (String, String),
}

impl<'a> Plan<'a> {
    /// Plans the copies of a version; none where it isn't copied.
    fn of(world: &'a World, version: ServiceVersion<'a>, circumstances: &Circumstances<'_>) -> Option<Self> {
        let group = membership::group(world, version)?;
        if version.phase().is_empty()
            || UNCOPIABLE.contains(&version.reason())
            || membership::is_own_namespace_only(group)
        {
            return None;
        }
        let listed: BTreeSet<String> = status_namespaces(group)?.into_iter().map(str::to_owned).collect();
        let mut targets = Namespaces(listed);
        let is_disabled = targets.is_all() && olm_config::disables_copies(world);
        if is_disabled {
            targets = Namespaces(circumstances.protected_namespaces.clone());
        }
        Some(Self {
            world,
            version,
            group,
            targets,
            is_disabled,
            digest: digest(&expected(version, "")),
        })
    }

    fn wants(&self, namespace: &str) -> bool {
        self.targets.contains(namespace)
    }

    fn writes(&self, namespace: &str, existing: Option<&Value>) -> Option<Write> {
        let Some(existing) = existing else {
            return Some(Write::Create {
                object: expected(self.version, namespace),
                or_update: false,
            });
        };
        let (content, status) = known_digest(existing);
        let is_same = content == self.digest.0;
        if is_same && status == self.digest.1 {
            return None;
        }
        let mut object = expected(self.version, namespace);
        for field in ["uid", "resourceVersion"] {
            if let Some(value) = existing.pointer(&format!("/metadata/{field}")) {
                object["metadata"][field] = value.clone();
            }
        }
        // A status that differs, too, follows when this write was seen.
        Some(if is_same {
            Write::UpdateStatus(object)
        } else {
            Write::Update(object)
        })
    }

    /// Lets the operator work in its namespaces; the roles are owned by the copies.
    fn share_permissions(&self, decision: &mut Decision) {
        let targets = status_namespaces(self.group).unwrap_or_default();
        if targets == [""] {
            return;
        }
        for target in targets {
            let copy = self
                .world
                .get(Kind::ClusterServiceVersion, target, self.version.name())
                .filter(|copy| is_copy(copy));
            let Some(copy) = copy else { continue };
            match target_permissions::in_namespace(self.world, self.version, target, copy) {
                Ok(writes) => decision.writes.extend(writes),
                Err(why) => decision.trouble = Some(why),
            }
        }
    }
}
