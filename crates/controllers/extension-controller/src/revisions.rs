//! Revisions: what of an extension shall be there, as a ClusterObjectSet.
//!
//! ```text
//! Content ─ desired ─► phases ─ compare with the newest revision ─┬─ the same: nothing, or fields that may change
//!                                                                 └─ another: Secrets and the next revision
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::cluster_object_set::{
    ClusterObjectSetSpec, CollisionProtection, LifecycleState, ObjectReference, Phase,
};
use api::{ClusterExtension, ClusterObjectSet, keys};
use apply::content::lacks_secrets;
use apply::phases::phases_of;
use apply::probes::default_probes;
use apply::revision::conclusion::collides;
use apply::secrets::{Destination, PackError, pack};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde_json::{Map, Value};

use crate::snapshot::Content;
use crate::standing::Bundle;

/// How many revisions are kept beside the ones that are in use.
pub const RETAINED: usize = 5;

/// What of an extension shall be there.
#[derive(Debug, Clone, PartialEq)]
pub struct Desired {
    /// The objects, phase after phase.
    pub phases: Vec<Phase>,
    /// What the revision says of its bundle.
    pub annotations: BTreeMap<String, String>,
    /// How long it may take.
    pub progress_deadline_minutes: Option<i32>,
    /// What to do about objects that exist already.
    pub collision_protection: CollisionProtection,
    /// Further labels of the revision.
    pub labels: BTreeMap<String, String>,
}

/// A revision that is to be made, with the Secrets that keep its objects.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRevision {
    /// The revision; its objects are references.
    pub object_set: ClusterObjectSet,
    /// The Secrets, which are made before it.
    pub secrets: Vec<Secret>,
    /// The number of the revision that was the newest when this one was decided; 0 for none.
    pub follows: i64,
}

/// The Secrets of a revision that is there, to be made again: whoever deleted their namespace deleted them as well.
#[derive(Debug, Clone, PartialEq)]
pub struct LostContent {
    /// The revision, which refers to them.
    pub object_set: ClusterObjectSet,
    /// All of its Secrets, also those that are there.
    pub secrets: Vec<Secret>,
}

/// What of the newest revision has to change.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Nothing.
    Nothing,
    /// Fields that may change in a revision.
    InPlace(Box<ClusterObjectSet>),
    /// So much that it takes another revision.
    Next,
}

/// Adds labels or annotations to an object.
pub fn add(object: &mut Value, field: &str, entries: &[(&str, &str)]) {
    let Some(object) = object.as_object_mut() else {
        return;
    };
    let metadata = object
        .entry("metadata")
        .or_insert_with(|| Value::Object(Map::new()));
    let Some(metadata) = metadata.as_object_mut() else {
        return;
    };
    let known = metadata.entry(field).or_insert(Value::Null);
    if !known.is_object() {
        *known = Value::Object(Map::new());
    }
    if let Some(known) = known.as_object_mut() {
        for (key, value) in entries {
            known.insert((*key).to_owned(), Value::from(*value));
        }
    }
}

/// Returns what a revision says of its bundle.
pub fn bundle_annotations(bundle: &Bundle) -> BTreeMap<String, String> {
    let mut annotations = BTreeMap::from([
        (keys::BUNDLE_NAME.to_owned(), bundle.metadata.name.clone()),
        (keys::PACKAGE_NAME.to_owned(), bundle.package.clone()),
        (keys::BUNDLE_VERSION.to_owned(), bundle.metadata.version.clone()),
        (keys::BUNDLE_REFERENCE.to_owned(), bundle.image.clone()),
    ]);
    if let Some(release) = &bundle.metadata.release {
        annotations.insert(keys::BUNDLE_RELEASE.to_owned(), release.clone());
    }
    annotations
}

/// The kind of extensions, as owners of what is made for them.
const OWNER_KIND: &str = "ClusterExtension";

impl Desired {
    /// Says what shall be there, from the content of a bundle.
    pub fn new(
        extension: &ClusterExtension,
        content: &Content,
        progress_deadline_minutes: Option<i32>,
    ) -> Self {
        let mut annotations = bundle_annotations(&content.bundle);
        if let Some(properties) = &content.properties {
            annotations.insert(keys::PROPERTIES.to_owned(), properties.clone());
        }
        if let Some(signature) = &content.signature {
            annotations.insert(keys::SIGNATURE.to_owned(), signature.clone());
        }
        let labels = [
            (keys::OWNER_KIND, OWNER_KIND),
            (keys::OWNER_NAME, extension.name()),
        ];
        let of_bundle = [
            (keys::BUNDLE_VERSION, content.bundle.metadata.version.as_str()),
            (keys::PACKAGE_NAME, content.bundle.package.as_str()),
        ];
        let of_bundle: Vec<(&str, &str)> = of_bundle
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
            .collect();
        let objects = content.objects.iter().cloned().map(|mut object| {
            add(&mut object, "labels", &labels);
            if !of_bundle.is_empty() {
                add(&mut object, "annotations", &of_bundle);
            }
            object
        });
        Self {
            phases: phases_of(objects),
            annotations,
            progress_deadline_minutes,
            collision_protection: CollisionProtection::Prevent,
            labels: BTreeMap::new(),
        }
    }

    /// Says what the newest revision lacks of it.
    pub fn compare(
        &self,
        extension: &ClusterExtension,
        newest: &ClusterObjectSet,
    ) -> Result<Change, PackError> {
        let is_over = newest.spec.lifecycle_state == LifecycleState::Archived
            || newest.metadata.deletion_timestamp.is_some();
        let takes_more = may_take_more(self.collision_protection, newest);
        if is_over || takes_more || fingerprint(&self.phases)? != fingerprint(&newest.spec.phases)? {
            return Ok(Change::Next);
        }
        let mut wanted = self.object_set(extension, newest.spec.revision, newest.spec.phases.clone());
        // These can't change in a revision that is there.
        wanted.spec.collision_protection = newest.spec.collision_protection;
        let mut annotations = wanted.metadata.annotations.take().unwrap_or_default();
        let known = newest.metadata.annotations.clone().unwrap_or_default();
        if let Some(from) = known.get(keys::ROLLED_BACK_FROM) {
            annotations.insert(keys::ROLLED_BACK_FROM.to_owned(), from.clone());
        }
        // It says how the bundle was accepted when the revision was made, and not what a policy of today says.
        match known.get(keys::SIGNATURE) {
            Some(signature) => annotations.insert(keys::SIGNATURE.to_owned(), signature.clone()),
            None => annotations.remove(keys::SIGNATURE),
        };
        let mut labels = wanted.metadata.labels.take().unwrap_or_default();
        let known_labels = newest.metadata.labels.clone().unwrap_or_default();
        if let Some(migrated) = known_labels.get(keys::MIGRATED_FROM_HELM) {
            labels.insert(keys::MIGRATED_FROM_HELM.to_owned(), migrated.clone());
        }
        let has = |known: &BTreeMap<String, String>, wanted: &BTreeMap<String, String>| {
            wanted.iter().all(|(key, value)| known.get(key) == Some(value))
        };
        let blocks = |owner: &OwnerReference| owner.block_owner_deletion.unwrap_or_default();
        let is_owned = wanted.metadata.owner_references.iter().flatten().all(|owner| {
            let mut known = newest.metadata.owner_references.iter().flatten();
            known.any(|known| known.uid == owner.uid && blocks(known) == blocks(owner))
        });
        let is_same = has(&known, &annotations)
            && known.get(keys::ON_DELETE) == annotations.get(keys::ON_DELETE)
            && has(&known_labels, &labels)
            && is_owned
            && newest.spec.progress_deadline_minutes == wanted.spec.progress_deadline_minutes
            && newest.spec.progression_probes == wanted.spec.progression_probes;
        if is_same {
            return Ok(Change::Nothing);
        }
        wanted.metadata.annotations = Some(annotations);
        wanted.metadata.labels = Some(labels);
        Ok(Change::InPlace(Box::new(wanted)))
    }

    /// Makes the next revision.
    pub fn next(
        &self,
        extension: &ClusterExtension,
        follows: i64,
        system_namespace: &str,
    ) -> Result<NewRevision, PackError> {
        let number = follows.saturating_add(1);
        let name = format!("{}-{number}", extension.name());
        let destination = Destination {
            revision: &name,
            owner: extension.name(),
            namespace: system_namespace,
        };
        let packed = pack(&self.phases, destination)?;
        let phases = packed.referring(self.phases.clone());
        Ok(NewRevision {
            object_set: self.object_set(extension, number, phases),
            secrets: packed.secrets,
            follows,
        })
    }

    /// Makes the Secrets of the newest revision again, which holds the same, where it says that they aren't there. None also where they
    /// would be other ones than it refers to: then another baton packed them.
    pub fn lost_content(
        &self,
        extension: &ClusterExtension,
        newest: &ClusterObjectSet,
        system_namespace: &str,
    ) -> Result<Option<LostContent>, PackError> {
        if !lacks_secrets(newest) {
            return Ok(None);
        }
        let destination = Destination {
            revision: newest.name(),
            owner: extension.name(),
            namespace: system_namespace,
        };
        let packed = pack(&self.phases, destination)?;
        let made: BTreeSet<&ObjectReference> = packed.references.values().collect();
        let entries = newest.spec.phases.iter().flat_map(|phase| &phase.objects);
        let mut referred = entries.filter_map(|entry| entry.reference.as_ref());
        Ok(referred
            .all(|reference| made.contains(reference))
            .then(|| LostContent {
                object_set: newest.clone(),
                secrets: packed.secrets.clone(),
            }))
    }

    fn object_set(&self, extension: &ClusterExtension, number: i64, phases: Vec<Phase>) -> ClusterObjectSet {
        let name = format!("{}-{number}", extension.name());
        let spec = ClusterObjectSetSpec {
            lifecycle_state: LifecycleState::Active,
            revision: number,
            collision_protection: self.collision_protection,
            phases,
            progress_deadline_minutes: self.progress_deadline_minutes,
            progression_probes: default_probes(),
        };
        let mut object_set = ClusterObjectSet::new(&name, spec);
        let mut labels = self.labels.clone();
        labels.insert(keys::OWNER_KIND.to_owned(), OWNER_KIND.to_owned());
        labels.insert(keys::OWNER_NAME.to_owned(), extension.name().to_owned());
        object_set.metadata.labels = Some(labels);
        object_set.metadata.annotations = Some(self.annotations.clone());
        object_set.metadata.owner_references = Some(vec![OwnerReference {
            block_owner_deletion: Some(self.goes_with_its_extension()),
            ..owner(extension)
        }]);
        object_set
    }

    /// Returns whether everything goes when the extension goes.
    ///
    /// Where something shall stay, the garbage collector must not begin: in a foreground deletion it would delete revisions
    /// that block their extension's deletion, and what they own, before anybody let go of what stays.
    fn goes_with_its_extension(&self) -> bool {
        !self.annotations.contains_key(keys::ON_DELETE)
    }
}

/// Returns whether a revision is held up by objects that another protection lets it take over: what a revision does about them
/// can't change, so that it takes another one.
pub fn may_take_more(protection: CollisionProtection, revision: &ClusterObjectSet) -> bool {
    revision.spec.collision_protection == CollisionProtection::Prevent
        && protection != CollisionProtection::Prevent
        && collides(&revision.status.conditions)
}

/// Returns the reference that says that something belongs to an extension.
fn owner(extension: &ClusterExtension) -> OwnerReference {
    OwnerReference {
        api_version: extension.api_version.clone(),
        kind: OWNER_KIND.to_owned(),
        name: extension.name().to_owned(),
        uid: extension.metadata.uid.clone().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

/// Returns the reference that says that something belongs to a revision.
pub fn revision_owner(object_set: &ClusterObjectSet) -> OwnerReference {
    OwnerReference {
        api_version: object_set.api_version.clone(),
        kind: object_set.kind.clone(),
        name: object_set.name().to_owned(),
        uid: object_set.metadata.uid.clone().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

/// Tells phases apart by what they hold: the key of each object follows from its content.
fn fingerprint(phases: &[Phase]) -> Result<Vec<(&str, Vec<String>)>, PackError> {
    let packed = pack(
        phases,
        Destination {
            revision: "",
            owner: "",
            namespace: "",
        },
    )?;
    let key = |reference: &ObjectReference| reference.key.clone();
    let phases = phases.iter().enumerate().map(|(phase_index, phase)| {
        let keys = phase.objects.iter().enumerate().map(|(index, entry)| {
            let packed = packed.references.get(&(phase_index, index));
            packed.or(entry.reference.as_ref()).map(key).unwrap_or_default()
        });
        (phase.name.as_str(), keys.collect())
    });
    Ok(phases.collect())
}

/// Returns the archived revisions that are too old to be kept, given all revisions, the oldest first.
pub fn outdated(object_sets: &[Arc<ClusterObjectSet>]) -> Vec<String> {
    let old = object_sets.len().saturating_sub(RETAINED);
    object_sets
        .iter()
        .take(old)
        .filter(|object_set| object_set.spec.lifecycle_state == LifecycleState::Archived)
        .map(|object_set| object_set.name().to_owned())
        .collect()
}

/// Returns the number of the newest revision, archived ones too; 0 for none.
pub fn newest_number(object_sets: &[Arc<ClusterObjectSet>]) -> i64 {
    let numbers = object_sets.iter().map(|object_set| object_set.spec.revision);
    numbers.max().unwrap_or(0)
}
