//! Hooks: objects that Helm creates at certain moments instead of installing them.

use bytes::Bytes;
use serde::{Serialize, Serializer};

use super::head::Head;

/// The annotation that makes an object a hook; its value lists the moments.
pub(super) const EVENT_ANNOTATION: &str = "helm.sh/hook";
const WEIGHT_ANNOTATION: &str = "helm.sh/hook-weight";
const DELETE_ANNOTATION: &str = "helm.sh/hook-delete-policy";

/// A moment at which hooks run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HookEvent {
    /// Before the objects of a new release are created.
    PreInstall,
    /// After they are created.
    PostInstall,
    /// Before a release's objects are deleted.
    PreDelete,
    /// After they are deleted.
    PostDelete,
    /// Before the objects of a new revision are applied.
    PreUpgrade,
    /// After they are applied.
    PostUpgrade,
    /// Before an earlier revision is restored.
    PreRollback,
    /// After it is restored.
    PostRollback,
    /// When the release is tested.
    Test,
}

/// A hook.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hook {
    /// The name of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The kind of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The template that it came from.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// Its YAML.
    #[serde(skip_serializing_if = "Bytes::is_empty", serialize_with = "as_text")]
    pub manifest: Bytes,
    /// When it runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<HookEvent>,
    /// How it went the last time.
    pub last_run: HookExecution,
    /// Hooks of one moment run in order of weight, then of name.
    #[serde(skip_serializing_if = "is_zero")]
    pub weight: i64,
    /// When the object is deleted again, in the words of the annotation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub delete_policies: Vec<String>,
}

/// How a hook went. Times are in RFC 3339, empty where they are not known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HookExecution {
    /// When it was started.
    pub started_at: String,
    /// When it was done.
    pub completed_at: String,
    /// `Running`, `Succeeded`, `Failed`, `Unknown`, or nothing.
    pub phase: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &i64) -> bool {
    *number == 0
}

/// Bytes that are no UTF-8 become replacement characters, as in Go's JSON.
pub(crate) fn as_text<S: Serializer>(bytes: &Bytes, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&String::from_utf8_lossy(bytes))
}

impl HookEvent {
    /// Reads the name of an event, as annotations and release records have it.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "pre-install" => Self::PreInstall,
            "post-install" => Self::PostInstall,
            "pre-delete" => Self::PreDelete,
            "post-delete" => Self::PostDelete,
            "pre-upgrade" => Self::PreUpgrade,
            "post-upgrade" => Self::PostUpgrade,
            "pre-rollback" => Self::PreRollback,
            "post-rollback" => Self::PostRollback,
            // The second is what Helm 2 called it.
            "test" | "test-success" => Self::Test,
            _ => return None,
        })
    }
}

impl Hook {
    /// Makes a hook of an object that has the annotation; an unknown event makes it nothing at all.
    pub(super) fn new(path: &str, manifest: Bytes, head: &Head) -> Option<Self> {
        let annotation = |name: &str| head.annotations.get(name).map(String::as_str);
        let words = |list: &str| list.split(',').map(|word| word.trim().to_lowercase()).collect::<Vec<_>>();
        let events = words(annotation(EVENT_ANNOTATION)?)
            .iter()
            .map(|event| HookEvent::from_name(event))
            .collect::<Option<Vec<_>>>()?;
        let weight = annotation(WEIGHT_ANNOTATION).and_then(|weight| weight.parse().ok()).unwrap_or(0);
        Some(Self {
            name: head.name.clone(),
            kind: head.kind.clone(),
            path: path.to_owned(),
            manifest,
            events,
            last_run: HookExecution::default(),
            weight,
            delete_policies: annotation(DELETE_ANNOTATION).map(words).unwrap_or_default(),
        })
    }

    /// Tells whether the hook is a test.
    pub fn is_test(&self) -> bool {
        self.events.contains(&HookEvent::Test)
    }
}
