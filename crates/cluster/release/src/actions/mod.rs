//! What is done to a release, as Helm does it: install, upgrade, rollback, uninstall; and what Helm leaves to others:
//! resume what was cut short, and repair what others changed.
//!
//! Each action writes down what it is about to do before it does it. Whoever dies in between leaves a `pending-*` record;
//! [`Releases::resume`] goes on from it.

mod install;
mod repair;
mod replacement;
mod resume;
mod rollback;
mod uninstall;
mod upgrade;

use std::collections::BTreeSet;
use std::time::Duration;

use apply::object::ObjectId;
use chart::manifest::HookEvent;
use chart::release::{Release, Status};
use futures_util::{StreamExt as _, stream};
use gotemplate::format::quoted;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use tokio::sync::watch;

use crate::changes::Step;
use crate::cluster::{Cluster, Placed, place_all};
use crate::documents::{self, Document};
use crate::failure::{Cause, Failure, several};
use crate::hooks::{Attempt, Runner, order};
use crate::identity::{self, ReleaseId};
use crate::records::{Record, RecordError, Records, Standing};
use crate::scaling::Replicas;
use crate::writing::{AT_ONCE, WriteError, Writer, Written, Wrote};

pub use repair::Repaired;
pub use uninstall::Uninstalled;

/// How long hooks are waited for, as Helm's command line does. Upstream's operators wait for ever.
pub const HOOK_TIMEOUT: Duration = Duration::from_mins(5);

/// How many revisions are kept, as upstream's operators and Helm's command line do.
pub const HISTORY_LIMIT: usize = 10;

/// What is said of a release that another action has under its hands.
pub const IN_PROGRESS: &str = "another operation (install/upgrade/rollback) is in progress";

/// What is said of a name that a release has already.
pub const IN_USE: &str = "cannot re-use a name that is still in use";

/// When it is looked whether objects of a new release belong to somebody else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Ownership {
    /// When they are made; if one does, the others are deleted again. Costs nothing. Hooks that run before are a reason
    /// to look first all the same.
    #[default]
    AsWritten,
    /// Before anything is done, as Helm does. Costs a request for each object.
    First,
}

/// How actions are done.
#[derive(Clone, Debug)]
pub struct Options {
    /// Who owns the records, so that they go with it.
    pub owner: Option<OwnerReference>,
    /// Whether hooks are left out.
    pub disable_hooks: bool,
    /// What the record says of the action when it is done; Helm's words if nothing is given.
    pub description: Option<String>,
    /// What the record adds to Helm's words, where no description takes their place.
    pub remark: Option<String>,
    /// How long hooks are waited for.
    pub hook_timeout: Duration,
    /// How many revisions are kept; 0 for all.
    pub history_limit: usize,
    /// Whether objects that can't be changed are replaced. Only the words of errors tell: what can't be applied is
    /// replaced in any case.
    pub force: bool,
    /// When it is looked whether objects belong to somebody else.
    pub ownership: Ownership,
    /// Whether the namespace is going away, so that nothing can be made in it any more.
    pub namespace_is_terminating: bool,
    /// Becomes true when the action is no longer wanted: then it doesn't wait for its hooks any longer, and can be
    /// resumed or given up like one that was cut short.
    pub unwanted: Option<watch::Receiver<bool>>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            owner: None,
            disable_hooks: false,
            description: None,
            remark: None,
            hook_timeout: HOOK_TIMEOUT,
            history_limit: HISTORY_LIMIT,
            force: false,
            ownership: Ownership::default(),
            namespace_is_terminating: false,
            unwanted: None,
        }
    }
}

impl Options {
    /// Returns what the record says of an action that is done, for which Helm has these words.
    fn done(&self, words: &str) -> String {
        match (&self.description, &self.remark) {
            (Some(description), _) => description.clone(),
            (None, Some(remark)) => format!("{words}; {remark}"),
            (None, None) => words.to_owned(),
        }
    }
}

/// What came of an action.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The record, as it stands now.
    pub record: Record,
    /// The objects that were written; those that stayed as they were are not among them.
    pub written: Vec<Written>,
}

/// What is done to one release.
#[derive(Clone)]
pub struct Releases {
    cluster: Cluster,
    id: ReleaseId,
    records: Records,
    options: Options,
}

/// How errors end the writing of objects, and how they are told.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Course {
    /// All are new: what can't be made doesn't keep the others from being made.
    Create,
    /// Some were there: what can't be made ends it; what can't be changed doesn't.
    Update,
}

/// What came of writing the objects of a revision.
#[derive(Default)]
struct Writing {
    written: Vec<Written>,
    /// Those that were made.
    created: Vec<Placed>,
    /// Those that were there.
    existing: Vec<Placed>,
    errors: Vec<(Placed, WriteError)>,
}

impl Releases {
    /// Looks after one release.
    pub fn new(cluster: &Cluster, id: &ReleaseId, options: Options) -> Self {
        Self {
            cluster: cluster.clone(),
            id: id.clone(),
            records: Records::new(cluster, id).owned_by(options.owner.clone()),
            options,
        }
    }

    /// The records of the release.
    pub fn records(&self) -> &Records {
        &self.records
    }

    /// Calls an action failed that was cut short, so that another one can follow.
    pub async fn give_up(&self, mut standing: Standing, why: &str) -> Result<Standing, RecordError> {
        let last = &mut standing.last;
        if last.release.info.status.is_pending() {
            let version = last.release.version;
            last.release.set_status(Status::Failed, why);
            self.records.update(last).await?;
            if let Some(tried) = standing
                .unfinished
                .iter_mut()
                .find(|release| release.version == version)
            {
                *tried = last.release.clone();
            }
        }
        Ok(standing)
    }

    fn writer(&self) -> Writer<'_> {
        Writer {
            cluster: &self.cluster,
            release: &self.id,
        }
    }

    /// Runs the hooks of a moment, unless there are to be none.
    async fn run_hooks(
        &self,
        record: &mut Record,
        event: HookEvent,
        attempt: Attempt,
    ) -> Result<(), Failure> {
        if self.options.disable_hooks || self.options.namespace_is_terminating {
            return Ok(());
        }
        let runner = Runner {
            cluster: &self.cluster,
            records: &self.records,
            release: &self.id,
            timeout: self.options.hook_timeout,
            unwanted: self.options.unwanted.clone(),
        };
        runner.run(record, &event, attempt).await
    }

    /// Returns whether hooks run at a moment.
    fn has_hooks(&self, release: &Release, event: &HookEvent) -> bool {
        !self.options.disable_hooks && !order(&release.hooks, event).is_empty()
    }

    /// Finds where the objects of a manifest are.
    async fn place(&self, documents: &[Document]) -> Result<Vec<Placed>, Failure> {
        place_all(&self.cluster, documents, &self.id.namespace)
            .await
            .map_err(|errors| Failure::of_servers(Cause::Build, &errors))
    }

    /// Finds where the objects of an earlier revision are. Kinds that the server no longer has are left out: there can't
    /// be objects of them.
    async fn place_earlier(&self, release: &Release) -> Result<Vec<Placed>, Failure> {
        let documents = documents::read(&release.manifest).map_err(|error| {
            Failure::from(error)
                .while_doing("unable to build kubernetes objects from current release manifest")
        })?;
        let mut placed = Vec::with_capacity(documents.len());
        for document in documents {
            match self
                .cluster
                .place(&document.id, document.object, &self.id.namespace)
                .await
            {
                Ok(found) => placed.push(found),
                Err(crate::cluster::ServerError::Unserved(id)) => {
                    tracing::info!(object = %id, "the server no longer has the kind of an object");
                }
                Err(error) => return Err(Failure::of_server(Cause::Build, &error)),
            }
        }
        Ok(placed)
    }

    /// Looks which objects exist; it is a failure if one of them belongs to somebody else.
    async fn claim(&self, objects: &[Placed]) -> Result<BTreeSet<ObjectId>, Failure> {
        // Gathered first: a closure that is kept while others wait is no good for a task that moves between threads.
        let reading: Vec<_> = objects
            .iter()
            .map(|object| async move { (object, self.cluster.get(object).await) })
            .collect();
        let read: Vec<_> = stream::iter(reading).buffered(AT_ONCE).collect().await;
        let mut existing = BTreeSet::new();
        for (object, live) in read {
            let live = live.map_err(|error| {
                Failure::of_server(Cause::Rejected, &error).while_doing(&format!(
                    "could not get information about the resource {}",
                    identity::in_words(&object.id)
                ))
            })?;
            let Some(live) = live else { continue };
            identity::check(&live, &object.id, &self.id).map_err(|refused| Failure {
                refused: vec![object.id.clone()],
                ..Failure::new(Cause::Collision, refused.to_string())
            })?;
            existing.insert(object.id.clone());
        }
        Ok(existing)
    }

    /// Writes the objects of a revision.
    async fn write(&self, objects: &[Placed], steps: &[Step], course: Course) -> Writing {
        let writer = self.writer();
        let write = |index: usize, placed| async move {
            match steps.get(index)? {
                Step::Keep => None,
                Step::New => Some(writer.make(placed).await),
                Step::Update => {
                    let updated = writer.update(placed, Replicas::OfWhoScales).await;
                    Some(updated.map(Wrote::Applied))
                }
                Step::Scale => {
                    let updated = writer.update(placed, Replicas::OfTheChart).await;
                    Some(updated.map(Wrote::Applied))
                }
            }
        };
        let stops = |error: &WriteError| match error {
            WriteError::NotOwned(_) => true,
            WriteError::Create(error) => course == Course::Update || error.is_passing(),
            WriteError::Update(error) => error.is_passing(),
        };
        let mut writing = Writing::default();
        for (index, outcome) in Writer::each(objects, write, stops).await {
            let Some(placed) = objects.get(index).cloned() else {
                continue;
            };
            match outcome {
                Ok(wrote) => {
                    match &wrote {
                        Wrote::Created(_) => writing.created.push(placed),
                        Wrote::Applied(_) => writing.existing.push(placed),
                    }
                    writing.written.push(wrote.into_written());
                }
                Err(error) => writing.errors.push((placed, error)),
            }
        }
        writing
    }

    /// Says what went wrong with the objects of a revision; none if nothing did.
    fn failure_of(&self, writing: &Writing, course: Course) -> Option<Failure> {
        let refused: Vec<ObjectId> = writing
            .errors
            .iter()
            .map(|(object, _)| object.id.clone())
            .collect();
        let collision = writing.errors.iter().find_map(|(_, error)| match error {
            WriteError::NotOwned(refused) => Some(refused.to_string()),
            _ => None,
        });
        if let Some(collision) = collision {
            return Some(Failure {
                refused,
                ..Failure::new(Cause::Collision, collision)
            });
        }
        writing.errors.first()?;
        let told = writing.errors.iter();
        let message = match course {
            Course::Create => {
                let texts: Vec<String> = told
                    .filter_map(|(_, error)| error.server().map(ToString::to_string))
                    .collect();
                several(texts.iter().map(String::as_str))
            }
            Course::Update => self.update_in_words(&writing.errors),
        };
        let mut failure = Failure {
            refused,
            ..Failure::new(Cause::Rejected, message)
        };
        for error in writing.errors.iter().filter_map(|(_, error)| error.server()) {
            failure.note(error);
        }
        Some(failure)
    }

    /// Puts into Helm's words what went wrong in an update: the first object that could not be made, or else all that
    /// could not be changed.
    fn update_in_words(&self, errors: &[(Placed, WriteError)]) -> String {
        let made = errors.iter().find_map(|(_, error)| match error {
            WriteError::Create(error) => Some(format!("failed to create resource: {error}")),
            _ => None,
        });
        let changed = errors.iter().filter_map(|(placed, error)| match error {
            WriteError::Update(error) if self.options.force => {
                Some(format!("failed to replace object: {error}"))
            }
            WriteError::Update(error) => {
                let name = quoted(&placed.id.name);
                Some(format!(
                    "cannot patch {name} with kind {}: {error}",
                    placed.id.kind
                ))
            }
            _ => None,
        });
        made.unwrap_or_else(|| changed.collect::<Vec<_>>().join(" && "))
    }

    /// Deletes what the release lets go, in the order that it was made in.
    async fn delete(&self, objects: &[Placed]) -> Result<(), Failure> {
        let mut failure: Option<Failure> = None;
        for object in objects {
            if let Err(error) = self.writer().let_go(object).await {
                let text = format!(
                    "failed to delete resource namespace={}, name={}, kind={}: {error}",
                    object.id.namespace, object.id.name, object.id.kind
                );
                let failure = failure.get_or_insert_with(|| Failure::new(Cause::Rejected, ""));
                failure.message = match failure.message.as_str() {
                    "" => text,
                    others => format!("{others} && {text}"),
                };
                failure.note(&error);
            }
        }
        failure.map_or(Ok(()), Err)
    }

    /// Writes down that a revision failed, unless the server is away and nothing is decided.
    async fn failed(&self, mut record: Record, description: &str, failure: Failure) -> Failure {
        if failure.cause != Cause::Interrupted {
            record
                .release
                .set_status(Status::Failed, format!("{description}: {}", failure.message));
            if let Err(error) = self.records.update(&mut record).await {
                tracing::warn!(release = %self.id, %error, "a failure could not be written down");
            }
        }
        failure.with(record)
    }
}
