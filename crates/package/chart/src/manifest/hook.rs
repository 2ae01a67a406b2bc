//! Hooks: objects that Helm creates at certain moments instead of installing them.

use bytes::Bytes;

use super::head::Head;

/// The annotation that makes an object a hook; its value lists the moments.
pub(super) const EVENT_ANNOTATION: &str = "helm.sh/hook";
const WEIGHT_ANNOTATION: &str = "helm.sh/hook-weight";
const DELETE_ANNOTATION: &str = "helm.sh/hook-delete-policy";

/// A moment at which hooks run.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// A moment that only another version of Helm knows; found in records, never made of an annotation.
    Other(String),
}

/// A hook.
#[derive(Clone, Debug)]
pub struct Hook {
    /// The name of the object.
    pub name: String,
    /// The kind of the object.
    pub kind: String,
    /// The template that it came from.
    pub path: String,
    /// Its YAML.
    pub manifest: Bytes,
    /// When it runs.
    pub events: Vec<HookEvent>,
    /// How it went the last time.
    pub last_run: HookExecution,
    /// Hooks of one moment run in order of weight, then of name.
    pub weight: i64,
    /// When the object is deleted again, in the words of the annotation.
    pub delete_policies: Vec<String>,
    /// Fields of a record that another version of Helm wrote.
    pub(crate) extra: crate::release::Extra,
}

/// How a hook went. Times are in RFC 3339; an empty one is not known, an absent one is not written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookExecution {
    /// When it was started.
    pub started_at: Option<String>,
    /// When it was done.
    pub completed_at: Option<String>,
    /// `Running`, `Succeeded`, `Failed`, `Unknown`, or nothing.
    pub phase: String,
}

impl Default for HookExecution {
    fn default() -> Self {
        Self {
            started_at: Some(String::new()),
            completed_at: Some(String::new()),
            phase: String::new(),
        }
    }
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

    /// Reads the name of an event in a record, whatever it is.
    pub(crate) fn from_record(name: String) -> Self {
        Self::from_name(&name)
            .filter(|event| event.as_str() == name)
            .unwrap_or(Self::Other(name))
    }

    /// The name in annotations and records.
    pub fn as_str(&self) -> &str {
        match self {
            Self::PreInstall => "pre-install",
            Self::PostInstall => "post-install",
            Self::PreDelete => "pre-delete",
            Self::PostDelete => "post-delete",
            Self::PreUpgrade => "pre-upgrade",
            Self::PostUpgrade => "post-upgrade",
            Self::PreRollback => "pre-rollback",
            Self::PostRollback => "post-rollback",
            Self::Test => "test",
            Self::Other(name) => name,
        }
    }
}

impl Hook {
    /// Makes a hook of an object that has the annotation; an unknown event makes it nothing at all.
    pub(super) fn new(path: &str, manifest: Bytes, head: &Head) -> Option<Self> {
        let annotation = |name: &str| head.annotations.get(name).map(String::as_str);
        let words = |list: &str| {
            list.split(',')
                .map(|word| word.trim().to_lowercase())
                .collect::<Vec<_>>()
        };
        let events = words(annotation(EVENT_ANNOTATION)?)
            .iter()
            .map(|event| HookEvent::from_name(event))
            .collect::<Option<Vec<_>>>()?;
        let weight = annotation(WEIGHT_ANNOTATION)
            .and_then(|weight| weight.parse().ok())
            .unwrap_or(0);
        Some(Self {
            name: head.name.clone(),
            kind: head.kind.clone(),
            path: path.to_owned(),
            manifest,
            events,
            last_run: HookExecution::default(),
            weight,
            delete_policies: annotation(DELETE_ANNOTATION).map(words).unwrap_or_default(),
            extra: crate::release::Extra::new(),
        })
    }

    /// Tells whether the hook is a test.
    pub fn is_test(&self) -> bool {
        self.events.contains(&HookEvent::Test)
    }
}
