//! What the controller would do now for an extension, object by object: what `baton plan` and the console show.

use api::ClusterObjectSet;
use apply::diff::{Change, What};
use apply::engine::Engine;
use kube::ResourceExt as _;
use serde::Serialize;
use serde_json::Value;
use thiserror::Error;

use crate::catalogs::Catalogs;
use crate::choosing::choose;
use crate::deciding::{Plan, Write, decide};
use crate::observing::Observer;
use crate::revisions::NewRevision;
use crate::status::PROGRESSING;

/// What would be done for an extension.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Planned {
    /// The extension.
    pub extension: String,
    /// What the status would say of the progress.
    pub progress: String,
    /// The version that would not be rolled out yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<String>,
    /// What would become of its revisions.
    pub revisions: Vec<PlannedRevision>,
}

/// What would become of a revision.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedRevision {
    /// The name of its ClusterObjectSet.
    pub name: String,
    /// What would be done with it.
    pub action: Action,
    /// What would become of its objects.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "as_json")]
    pub objects: Vec<Change>,
}

/// What would be done with a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Action {
    /// It would be made.
    Make,
    /// Its fields would change.
    Change,
    /// It would be deleted.
    Delete,
}

impl Action {
    /// Returns the verb that says so.
    pub fn verb(self) -> &'static str {
        match self {
            Self::Make => "make",
            Self::Change => "change",
            Self::Delete => "delete",
        }
    }
}

/// How many objects of a plan would be made, changed, and so on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Those that would be made.
    pub made: usize,
    /// Those that would be changed.
    pub changed: usize,
    /// Those that would be deleted.
    pub deleted: usize,
    /// Those that are as they should be.
    pub same: usize,
    /// Those that could not be applied.
    pub refused: usize,
}

impl Tally {
    /// Counts what would become of objects.
    pub fn of(changes: &[Change]) -> Self {
        let mut tally = Self::default();
        for change in changes {
            match change.what {
                What::Create => tally.made += 1,
                What::Update => tally.changed += 1,
                What::Delete => tally.deleted += 1,
                What::Same => tally.same += 1,
                What::Refused(_) => tally.refused += 1,
            }
        }
        tally
    }
}

/// A plan can't be made.
#[derive(Debug, Error)]
pub enum PlanError {
    /// The objects of the cluster can't be compared with.
    #[error(transparent)]
    Objects(#[from] apply::engine::Error),
    /// A revision refers to a Secret that the plan doesn't make.
    #[error("the plan has no Secret {0:?}")]
    NoSecret(String),
    /// A Secret of the plan doesn't hold what it should.
    #[error(transparent)]
    Secret(#[from] apply::secrets::ReadError),
}

fn as_json<S: serde::Serializer>(changes: &[Change], serializer: S) -> Result<S::Ok, S::Error> {
    changes
        .iter()
        .map(Change::to_json)
        .collect::<Vec<Value>>()
        .serialize(serializer)
}

/// Says what would be done now for an extension, which need not be as the cluster has it.
///
/// # Errors
///
/// If the objects that it would change can't be looked at.
pub async fn plan<C: Catalogs>(
    observer: &Observer<C>,
    engine: &Engine,
    extension: &api::ClusterExtension,
) -> Result<Planned, PlanError> {
    let snapshot = observer.observe(extension).await;
    let choice = choose(&snapshot);
    let content = observer.content(&snapshot, &choice).await;
    let decided = decide(&snapshot, &choice, content.as_ref());
    planned(extension.name(), engine, decided).await
}

async fn planned(name: &str, engine: &Engine, decided: Plan) -> Result<Planned, PlanError> {
    let mut revisions = Vec::with_capacity(decided.writes.len());
    for write in decided.writes {
        revisions.push(match write {
            Write::Delete(name) => PlannedRevision {
                name,
                action: Action::Delete,
                objects: Vec::new(),
            },
            Write::Create(next) => PlannedRevision {
                name: next.object_set.name_any(),
                action: Action::Make,
                objects: engine.preview(&with_objects(*next)?).await?,
            },
            Write::Change(set) => PlannedRevision {
                name: set.name_any(),
                action: Action::Change,
                objects: Vec::new(),
            },
        });
    }
    let progressing = api::condition::find(&decided.status.conditions, PROGRESSING);
    Ok(Planned {
        extension: name.to_owned(),
        progress: progressing.map_or_else(String::new, |condition| {
            format!("{}: {}", condition.reason, condition.message)
        }),
        waits_for: decided.waiting,
        revisions,
    })
}

/// A revision with its objects in itself: the Secrets that would keep them aren't made.
fn with_objects(next: NewRevision) -> Result<ClusterObjectSet, PlanError> {
    let NewRevision {
        mut object_set,
        secrets,
        ..
    } = next;
    let phases = object_set.spec.phases.iter_mut();
    for entry in phases.flat_map(|phase| &mut phase.objects) {
        let Some(reference) = entry.reference.take() else {
            continue;
        };
        let secret = secrets
            .iter()
            .find(|secret| secret.metadata.name.as_deref() == Some(reference.name.as_str()))
            .ok_or_else(|| PlanError::NoSecret(reference.name.clone()))?;
        entry.object = Some(apply::secrets::read(
            secret,
            &reference.namespace,
            &reference.name,
            &reference.key,
        )?);
    }
    Ok(object_set)
}
