//! Copies of a version in the namespaces that it looks after, which show there that it does.
//!
//! There may be thousands of them, so the picture of the cluster holds each only in short: [`reduced`] keeps what tells
//! whether it is still the right one. A version that doesn't change costs nothing but to compare those. What has to be
//! written is written in parts, none of which depends on the order of its writes.

use std::collections::BTreeSet;
use std::time::Duration;

use apply::object::{ObjectId, annotation, at, label, text};
use classic::copied::is_marked_as_copy;
use classic::{Decision, Kind, Notice, World, Write, hashes, keys};
use serde_json::{Map, Value, json};

use crate::Circumstances;
use crate::membership;
use crate::olm_config;
use crate::provided_apis::{Namespaces, status_namespaces};
use crate::target_permissions;
use crate::version::ServiceVersion;

/// The annotation, in the picture alone, with the hash of all of a copy but its status.
const CONTENT_HASH: &str = "$copyhash-spec";

/// The annotation, in the picture alone, with the hash of the status of a copy.
const STATUS_HASH: &str = "$copyhash-status";

/// What the labels and annotations start with that OLM writes, and that decisions about copies read.
const OWN_PREFIXES: [&str; 2] = ["olm.", keys::COMPONENT_PREFIX];

/// How many copies one decision writes: each write holds the whole version, and there may be thousands of namespaces.
pub const MOST_WRITES: usize = 64;

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

/// Returns a copy as the picture of the cluster holds it: what OLM wrote into its metadata, and hashes of the rest.
///
/// Whoever fills the picture calls this for each copy, before anything is taken from it.
pub fn reduced(copy: &Value) -> Value {
    let of_metadata = |field: &str| copy.get("metadata").and_then(|metadata| metadata.get(field));
    let mut metadata = Map::new();
    for field in ["name", "namespace", "uid", "resourceVersion", "deletionTimestamp"] {
        if let Some(value) = of_metadata(field) {
            metadata.insert(field.to_owned(), value.clone());
        }
    }
    // Others write examples and descriptions there, some as long as the rest of the version.
    for field in ["labels", "annotations"] {
        let entries = of_metadata(field)
            .and_then(Value::as_object)
            .into_iter()
            .flatten();
        let own = entries.filter(|(key, _)| OWN_PREFIXES.iter().any(|prefix| key.starts_with(prefix)));
        let own: Map<String, Value> = own.map(|(key, value)| (key.clone(), value.clone())).collect();
        metadata.insert(field.to_owned(), Value::Object(own));
    }
    let mut object = json!({
        "apiVersion": copy["apiVersion"],
        "kind": copy["kind"],
        "metadata": metadata,
    });
    let (content, status) = digest(copy);
    let annotations = &mut object["metadata"]["annotations"];
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
        "labels": at(copy, "/metadata/labels"),
        "annotations": annotations,
        "spec": copy.get("spec"),
    });
    let status = copy.get("status").unwrap_or(&Value::Null);
    (
        hashes::text_hash(&content.to_string()),
        hashes::text_hash(&status.to_string()),
    )
}

/// Returns whether a copy says what one with these hashes does, and whether its status does.
fn says(copy: &Value, wanted: &(String, String)) -> (bool, bool) {
    let made;
    let noted = (annotation(copy, CONTENT_HASH), annotation(copy, STATUS_HASH));
    let (content, status) = if let (Some(content), Some(status)) = noted {
        (content, status)
    } else {
        made = digest(copy);
        (made.0.as_str(), made.1.as_str())
    };
    (content == wanted.0, status == wanted.1)
}

/// Returns the copy of a version that a namespace shall have.
fn expected(version: ServiceVersion<'_>, namespace: &str) -> Value {
    let filtered = |pointer: &str, keep: &dyn Fn(&str) -> bool| {
        let map = at(version.object, pointer).and_then(Value::as_object);
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
///
/// At most [`MOST_WRITES`] of them at once, those that are missing before those that only say something old: while they
/// are made, the version goes from phase to phase, and its last one is what they shall say.
pub fn decide(world: &World, namespace: &str, name: &str, circumstances: &Circumstances<'_>) -> Decision {
    let mut decision = Decision::default();
    let version = ServiceVersion::find(world, namespace, name).filter(|version| !version.is_copy());
    let plan = version
        .filter(|version| !version.is_terminating())
        .and_then(|version| Plan::of(world, version, circumstances));
    let mut deletes_disabled = false;
    let mut missing: Vec<&str> = Vec::new();
    let mut outdated: Vec<Outdated<'_>> = Vec::new();
    for target in world.all(Kind::Namespace) {
        let target_name = text(target, "/metadata/name");
        if target_name == namespace {
            continue;
        }
        let there = world.get(Kind::ClusterServiceVersion, target_name, name);
        let existing = there.filter(|there| is_marked_as_copy(there) && comes_from(there, namespace));
        match &plan {
            Some(plan) if plan.wants(target_name) => {
                let is_leaving =
                    apply::object::is_terminating(target) || text(target, "/status/phase") == "Terminating";
                // A version of the same name that is no copy is somebody's own.
                if is_leaving || there.is_some() && existing.is_none() {
                    continue;
                }
                match existing {
                    Some(existing) => outdated.extend(plan.outdated(target_name, existing)),
                    None => missing.push(target_name),
                }
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
        let made = missing.iter().map(|target| plan.creation(target));
        let changed = outdated.iter().map(|outdated| plan.change(outdated));
        decision.writes.extend(made.chain(changed).take(MOST_WRITES));
        if missing.len() + outdated.len() > MOST_WRITES {
            decision.look_again_after = Some(Duration::ZERO);
        } else {
            plan.share_permissions(&mut decision);
        }
    }
    decision
}

fn comes_from(copy: &Value, namespace: &str) -> bool {
    label(copy, keys::COPIED_FROM) == Some(namespace)
        || annotation(copy, keys::OPERATOR_NAMESPACE) == Some(namespace)
}

/// A copy that is not the one that it shall be.
struct Outdated<'a> {
    namespace: &'a str,
    existing: &'a Value,
    /// Whether only its status differs.
    is_status_alone: bool,
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

    /// Returns in what the copy in a namespace is not the one that it shall be; none if it is.
    fn outdated<'b>(&self, namespace: &'b str, existing: &'b Value) -> Option<Outdated<'b>> {
        let (is_same, is_status_same) = says(existing, &self.digest);
        (!is_same || !is_status_same).then_some(Outdated {
            namespace,
            existing,
            is_status_alone: is_same,
        })
    }

    fn creation(&self, namespace: &str) -> Write {
        Write::Create {
            object: expected(self.version, namespace),
            or_update: false,
        }
    }

    fn change(&self, outdated: &Outdated<'_>) -> Write {
        let mut object = expected(self.version, outdated.namespace);
        for field in ["uid", "resourceVersion"] {
            if let Some(value) = at(outdated.existing, &format!("/metadata/{field}")) {
                object["metadata"][field] = value.clone();
            }
        }
        // A status that differs, too, follows when this write was seen.
        if outdated.is_status_alone {
            Write::UpdateStatus(object)
        } else {
            Write::Update(object)
        }
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
                .filter(|copy| is_marked_as_copy(copy));
            let Some(copy) = copy else { continue };
            match target_permissions::in_namespace(self.world, self.version, target, copy) {
                Ok(writes) => decision.writes.extend(writes),
                Err(why) => decision.trouble = Some(why),
            }
        }
    }
}
