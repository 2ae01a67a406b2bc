//! What the controller would do now for an extension, object by object: what `baton plan` and the console show.
//!
//! For a version that waits, what would be done once nothing makes it wait any more: whoever approves it wants to know what.

mod permissions;
mod succession;

use std::collections::BTreeMap;

use api::{ClusterExtension, ClusterObjectSet, keys};
use apply::diff::{Change, What};
use apply::engine::{Engine, Previewed};
use apply::object::ObjectId;
use kube::ResourceExt as _;
use serde::Serialize;
use serde_json::Value;
use thiserror::Error;

use crate::catalogs::Catalogs;
use crate::choosing::{Wait, WaitsFor, choose};
use crate::deciding::{Plan, Write, decide};
use crate::observing::Observer;
use crate::revisions::NewRevision;
use crate::status::PROGRESSING;

pub use permissions::RoleChange;
pub use succession::Succession;

/// How many things a version may wait for, one after the other: there are no more kinds of them.
const MOST_WAITS: usize = 4;

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
    /// What would be done once the version that waits need not wait any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub then: Option<Then>,
}

/// What would be done once nothing makes a version wait any more.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Then {
    /// What has to happen before, in the order in which it is waited for: that the version is approved, say.
    pub once: Vec<String>,
    /// What the status would say of the progress.
    pub progress: String,
    /// What would become of the revisions.
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
    /// The objects among them that come in the place of others, whose names carry another version.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "successions_as_json")]
    pub successions: Vec<Succession>,
    /// What the roles among them would allow that they, or those whose place they take, don't allow now.
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        serialize_with = "permissions_as_json"
    )]
    pub permissions: BTreeMap<ObjectId, RoleChange>,
}

impl PlannedRevision {
    /// A revision of whose objects nothing is told.
    fn without_objects(name: String, action: Action) -> Self {
        Self {
            name,
            action,
            objects: Vec::new(),
            successions: Vec::new(),
            permissions: BTreeMap::new(),
        }
    }

    fn with_objects(name: String, action: Action, previewed: Vec<Previewed>) -> Self {
        let successions = succession::successions(&previewed);
        let permissions = role_changes(&previewed, &successions);
        Self {
            name,
            action,
            objects: previewed.into_iter().map(|previewed| previewed.change).collect(),
            successions,
            permissions,
        }
    }

    /// Returns the object in whose place an object comes.
    pub fn predecessor(&self, id: &ObjectId) -> Option<&Succession> {
        let mut successions = self.successions.iter();
        successions.find(|succession| succession.change.id == *id)
    }

    /// Returns whether another object comes in the place of an object.
    pub fn is_succeeded(&self, id: &ObjectId) -> bool {
        let mut successions = self.successions.iter();
        successions.any(|succession| succession.before == *id)
    }
}

/// What becomes of the rights of each role.
fn role_changes(previewed: &[Previewed], successions: &[Succession]) -> BTreeMap<ObjectId, RoleChange> {
    let object = |id: &ObjectId| previewed.iter().find(|previewed| previewed.change.id == *id);
    let roles = previewed
        .iter()
        .filter(|previewed| permissions::is_role(&previewed.change.id));
    let changes = roles.filter_map(|role| {
        let id = &role.change.id;
        if matches!(role.change.what, What::Refused(_))
            || successions.iter().any(|succession| succession.before == *id)
        {
            return None;
        }
        let predecessor = successions.iter().find(|succession| succession.change.id == *id);
        let before = match predecessor {
            Some(succession) => object(&succession.before).and_then(|goes| goes.before.as_ref()),
            None => role.before.as_ref(),
        };
        let change = permissions::change(before, role.after.as_ref())?;
        Some((id.clone(), change))
    });
    changes.collect()
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

fn successions_as_json<S: serde::Serializer>(
    successions: &[Succession],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let of = |succession: &Succession| {
        let mut value = succession.change.to_json();
        value["inPlaceOf"] = Value::from(succession.before.name.as_str());
        value
    };
    successions
        .iter()
        .map(of)
        .collect::<Vec<Value>>()
        .serialize(serializer)
}

fn permissions_as_json<S: serde::Serializer>(
    permissions: &BTreeMap<ObjectId, RoleChange>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let of = |(id, change): (&ObjectId, &RoleChange)| {
        serde_json::json!({
            "kind": id.kind, "namespace": id.namespace, "name": id.name, "allows": change.allows, "forbids": change.forbids,
        })
    };
    permissions
        .iter()
        .map(of)
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
    extension: &ClusterExtension,
) -> Result<Planned, PlanError> {
    let (decided, mut wait) = decided(observer, extension).await;
    let mut once = Vec::new();
    let mut lifted = extension.clone();
    let mut after = None;
    while let Some(held) = wait.take().filter(|_| once.len() < MOST_WAITS) {
        lift(&mut lifted, &held);
        once.push(end_of(&held));
        let (decided, next) = self::decided(observer, &lifted).await;
        after = Some(decided);
        wait = next;
    }
    let mut planned = planned(extension.name(), engine, decided).await?;
    if let Some(decided) = after {
        let progress = progress_of(&decided);
        planned.then = Some(Then {
            once,
            progress,
            revisions: revisions_of(engine, decided.writes).await?,
        });
    }
    Ok(planned)
}

/// What is decided for an extension, and the version that waits.
async fn decided<C: Catalogs>(observer: &Observer<C>, extension: &ClusterExtension) -> (Plan, Option<Wait>) {
    let snapshot = observer.observe(extension).await;
    let choice = choose(&snapshot);
    let content = observer.content(&snapshot, &choice).await;
    let decided = decide(&snapshot, &choice, content.as_ref());
    (decided, choice.wait)
}

/// Takes away what makes a version wait.
fn lift(extension: &mut ClusterExtension, wait: &Wait) {
    let annotations = extension.metadata.annotations.get_or_insert_default();
    match &wait.waits_for {
        WaitsFor::Approval { .. } | WaitsFor::AnotherTry { .. } => {
            annotations.insert(keys::APPROVE.to_owned(), wait.version.clone());
        }
        WaitsFor::Resumption => {
            annotations.remove(keys::PAUSE);
        }
        WaitsFor::Window { .. } => {
            annotations.remove(keys::WINDOW);
        }
    }
}

/// Says what ends a wait.
fn end_of(wait: &Wait) -> String {
    match &wait.waits_for {
        WaitsFor::Approval { .. } | WaitsFor::AnotherTry { .. } => {
            format!("version {} is approved", wait.version)
        }
        WaitsFor::Resumption => format!("annotation {:?} is removed", keys::PAUSE),
        WaitsFor::Window { opens, .. } => format!("the maintenance window opens at {opens}"),
    }
}

async fn planned(name: &str, engine: &Engine, decided: Plan) -> Result<Planned, PlanError> {
    Ok(Planned {
        extension: name.to_owned(),
        progress: progress_of(&decided),
        waits_for: decided.waiting.clone(),
        revisions: revisions_of(engine, decided.writes).await?,
        then: None,
    })
}

fn progress_of(decided: &Plan) -> String {
    let progressing = api::condition::find(&decided.status.conditions, PROGRESSING);
    progressing.map_or_else(String::new, |condition| {
        format!("{}: {}", condition.reason, condition.message)
    })
}

async fn revisions_of(engine: &Engine, writes: Vec<Write>) -> Result<Vec<PlannedRevision>, PlanError> {
    let mut revisions = Vec::with_capacity(writes.len());
    for write in writes {
        revisions.push(match write {
            Write::Delete(name) => PlannedRevision::without_objects(name, Action::Delete),
            Write::Create(next) => PlannedRevision::with_objects(
                next.object_set.name_any(),
                Action::Make,
                engine.preview_whole(&with_objects(*next)?).await?,
            ),
            Write::Change(set) => PlannedRevision::without_objects(set.name_any(), Action::Change),
            // Neither the revision nor an object of it changes by that.
            Write::Restore(_) => continue,
        });
    }
    Ok(revisions)
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
