//! `ClusterObjectSet`: one revision of a set of objects.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::condition::Condition;
use crate::kind::cluster_kind;

cluster_kind! {
    /// One revision of a set of objects, applied phase after phase.
    ClusterObjectSet, "clusterobjectsets", ClusterObjectSetSpec, ClusterObjectSetStatus
}

/// The objects of a revision and what becomes of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterObjectSetSpec {
    /// Whether the objects are kept or taken away.
    pub lifecycle_state: LifecycleState,
    /// Which revision this is, from 1.
    pub revision: i64,
    /// What to do about objects that exist already.
    pub collision_protection: CollisionProtection,
    /// The objects, in the order in which they are applied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<Phase>,
    /// How long the revision may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress_deadline_minutes: Option<i32>,
    /// Further probes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub progression_probes: Vec<ProgressionProbe>,
}

/// Whether the objects of a revision are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum LifecycleState {
    /// They are.
    #[default]
    Active,
    /// They are taken away, for ever.
    Archived,
}

/// What to do about an object that exists already and belongs to somebody else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum CollisionProtection {
    /// Leave it and report it.
    #[default]
    Prevent,
    /// Take it over if it has no controller.
    IfNoController,
    /// Take it over.
    None,
}

/// Objects that are applied together.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Phase {
    /// Its name.
    pub name: String,
    /// What to do about objects of this phase that exist already; none for what the revision says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collision_protection: Option<CollisionProtection>,
    /// The objects.
    #[serde(default)]
    pub objects: Vec<PhaseObject>,
}

/// One object of a phase, given here or in a Secret.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PhaseObject {
    /// What to do if it exists already; none for what the phase says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collision_protection: Option<CollisionProtection>,
    /// The object itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<Value>,
    /// Where the object is kept.
    #[serde(rename = "ref", default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<ObjectReference>,
}

/// A key of a Secret that can't change.
#[derive(Debug, Clone, PartialEq, Eq, Default, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ObjectReference {
    /// The Secret.
    pub name: String,
    /// Its namespace; empty for the one of the system.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The key.
    pub key: String,
}

/// A probe that objects must pass before the next phase.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ProgressionProbe {
    /// The objects that it looks at.
    pub selector: ProbeSelector,
    /// What must hold.
    pub assertions: Vec<Assertion>,
}

/// How the objects of a probe are found.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProbeSelector {
    /// `GroupKind` or `Label`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Objects of one kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_kind: Option<GroupKind>,
    /// Objects with these labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<LabelSelector>,
}

/// A kind in any version.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct GroupKind {
    /// The API group; empty for the core.
    pub group: String,
    /// The kind.
    pub kind: String,
}

/// One thing that must hold of an object.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Assertion {
    /// `ConditionEqual`, `FieldsEqual` or `FieldValue`.
    #[serde(rename = "type")]
    pub kind: String,
    /// A condition has a status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition_equal: Option<ConditionEqual>,
    /// Two fields are equal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fields_equal: Option<FieldsEqual>,
    /// A field has a value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field_value: Option<FieldValue>,
}

/// A condition has a status.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ConditionEqual {
    /// The condition.
    #[serde(rename = "type")]
    pub kind: String,
    /// The status.
    pub status: String,
}

/// Two fields are equal.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FieldsEqual {
    /// The path of the first.
    pub field_a: String,
    /// The path of the second.
    pub field_b: String,
}

/// A field has a value.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FieldValue {
    /// The path of the field.
    pub field_path: String,
    /// The value, as text.
    pub value: String,
}

/// What became of a revision.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterObjectSetStatus {
    /// What is known of it right now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// What each phase held when it was first looked at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub observed_phases: Vec<ObservedPhase>,
}

/// What a phase held when it was first looked at.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ObservedPhase {
    /// Its name.
    pub name: String,
    /// The digest of its objects.
    pub digest: String,
}
