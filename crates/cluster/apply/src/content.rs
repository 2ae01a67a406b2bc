//! What a revision holds: the objects that its phases name, wherever they are kept.

use std::collections::BTreeMap;

use api::cluster_object_set::{CollisionProtection, ObservedPhase};
use api::{ClusterObjectSet, keys};
use k8s_openapi::api::core::v1::Secret;
use serde_json::Value;

use crate::collision;
use crate::digests;
use crate::object::ObjectId;
use crate::phases::objects_of;
use crate::probes::Probes;
use crate::secrets;

/// The namespace and name of a Secret.
pub type SecretName = (String, String);

/// What became of reading a Secret.
#[derive(Debug, Clone)]
pub enum SecretState {
    /// It was read.
    Found(Box<Secret>),
    /// It isn't there, or can't be read; with the server's words.
    Unreadable(String),
}

/// The objects of a revision, phase by phase.
#[derive(Debug, Clone, Default)]
pub struct Content {
    /// The phases in the order in which they are applied.
    pub phases: Vec<ContentPhase>,
    /// The digest of each.
    pub digests: Vec<ObservedPhase>,
    /// What objects must pass before the next phase.
    pub probes: Probes,
}

/// The objects of one phase.
#[derive(Debug, Clone, Default)]
pub struct ContentPhase {
    /// Its name.
    pub name: String,
    /// Its objects.
    pub objects: Vec<Wanted>,
}

/// One object as the revision wants it.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// What it is called.
    pub id: ObjectId,
    /// The object, before anything is added to it.
    pub object: Value,
    /// What to do if it exists already.
    pub protection: CollisionProtection,
}

/// Why it is not known what a revision holds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ContentError {
    /// Somebody must change something first.
    #[error("{0}")]
    Blocked(String),
    /// It may be known later.
    #[error("{0}")]
    Retry(String),
}

/// How what is said begins of an entry whose Secret, or whose key in it, can't be read.
const UNRESOLVED: &str = "resolving ref in phase";

/// Returns whether a revision says that Secrets with its objects aren't there.
pub fn lacks_secrets(set: &ClusterObjectSet) -> bool {
    let mut conditions = set.status.conditions.iter();
    conditions.any(|said| said.message.contains(UNRESOLVED) && said.message.ends_with("not found"))
}

/// Returns the Secrets that a revision refers to, each once, in the order of first mention.
pub fn secrets_of(set: &ClusterObjectSet, system_namespace: &str) -> Vec<SecretName> {
    let mut names: Vec<SecretName> = Vec::new();
    for entry in set.spec.phases.iter().flat_map(|phase| &phase.objects) {
        let Some(reference) = entry.reference.as_ref().filter(|found| !found.name.is_empty()) else {
            continue;
        };
        let name = (
            namespace_of(&reference.namespace, system_namespace),
            reference.name.clone(),
        );
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn namespace_of(namespace: &str, system_namespace: &str) -> String {
    if namespace.is_empty() {
        system_namespace
    } else {
        namespace
    }
    .to_owned()
}

/// Reads what a revision holds from its own entries and from Secrets that were read before.
pub fn read(
    set: &ClusterObjectSet,
    kept: &BTreeMap<SecretName, SecretState>,
    system_namespace: &str,
) -> Result<Content, ContentError> {
    let found = secrets_of(set, system_namespace);
    let found = found.iter().filter_map(|name| match kept.get(name) {
        Some(SecretState::Found(secret)) => Some(secret.as_ref()),
        _ => None,
    });
    if let Some(message) = secrets::mutable_ones(found) {
        return Err(ContentError::Blocked(message));
    }
    let retry = |message: String| ContentError::Retry(message);
    let mut content = Content {
        probes: Probes::read(&set.spec.progression_probes).map_err(|error| retry(error.to_string()))?,
        ..Content::default()
    };
    for phase in &set.spec.phases {
        let mut entries = Vec::with_capacity(phase.objects.len());
        for entry in &phase.objects {
            let object = match (&entry.object, &entry.reference) {
                (Some(object), _) => object.clone(),
                (None, Some(reference)) if !reference.name.is_empty() => {
                    let namespace = namespace_of(&reference.namespace, system_namespace);
                    let resolved = match kept.get(&(namespace.clone(), reference.name.clone())) {
                        Some(SecretState::Found(secret)) => {
                            secrets::read(secret, &namespace, &reference.name, &reference.key)
                                .map_err(|error| error.to_string())
                        }
                        Some(SecretState::Unreadable(cause)) => {
                            Err(format!("getting Secret {namespace}/{}: {cause}", reference.name))
                        }
                        None => Err(format!("getting Secret {namespace}/{}: not read", reference.name)),
                    };
                    resolved.map_err(|cause| retry(format!("{UNRESOLVED} {:?}: {cause}", phase.name)))?
                }
                _ => {
                    return Err(retry(format!(
                        "object in phase {:?} has neither object nor ref",
                        phase.name
                    )));
                }
            };
            entries.push(object);
        }
        content.digests.push(ObservedPhase {
            name: phase.name.clone(),
            digest: digests::of_phase(&phase.name, Some(&entries)),
        });
        let mut objects = Vec::with_capacity(entries.len());
        for (entry, object) in phase.objects.iter().zip(entries) {
            let protection = collision::effective(
                Some(set.spec.collision_protection),
                phase.collision_protection,
                entry.collision_protection,
            );
            objects.extend(objects_of(object).into_iter().map(|object| Wanted {
                id: ObjectId::of(&object),
                object,
                protection,
            }));
        }
        content.phases.push(ContentPhase {
            name: phase.name.clone(),
            objects,
        });
    }
    Ok(content)
}

/// Returns the extension that a revision belongs to; empty for none.
pub(crate) fn owner_of(set: &ClusterObjectSet) -> &str {
    set.metadata
        .labels
        .as_ref()
        .and_then(|labels| labels.get(keys::OWNER_NAME))
        .map_or("", String::as_str)
}
