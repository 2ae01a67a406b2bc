//! An extension as a tree, down to its objects, with what each waits for: what `baton status` and the console show.

use std::fmt;

use api::cluster_object_set::LifecycleState;
use api::condition::{Condition, find, is_true};
use api::{ClusterExtension, ClusterObjectSet, keys};
use apply::content::Content;
use apply::engine::Engine;
use apply::object::ObjectId;
use apply::probes::ProbeStatus;
use apply::troubles::{self, Workload};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt as _};
use serde::Serialize;
use serde_json::Value;
use thiserror::Error;

use crate::status::PROGRESSING;

/// An extension, its revisions, their phases and objects.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExtensionTree {
    /// Its name.
    pub name: String,
    /// The package that it installs; empty where it names none.
    pub package: String,
    /// The namespace that the package goes into.
    pub namespace: String,
    /// The version that is rolled out completely.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub installed_version: Option<String>,
    /// What is known of it.
    pub conditions: Vec<Condition>,
    /// Its revisions, the oldest first.
    pub revisions: Vec<RevisionTree>,
}

/// A revision of an extension.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RevisionTree {
    /// The name of its ClusterObjectSet.
    pub name: String,
    /// The version that it holds.
    pub version: String,
    /// Whether its objects are looked after.
    pub lifecycle_state: LifecycleState,
    /// What is known of it.
    pub conditions: Vec<Condition>,
    /// Why the objects aren't known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unreadable: Option<String>,
    /// Its phases, in their order.
    pub phases: Vec<PhaseTree>,
}

/// A phase of a revision: objects that are made together.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PhaseTree {
    /// Its name.
    pub name: String,
    /// Its objects.
    pub objects: Vec<ObjectState>,
    /// How many further objects it has that were not looked at.
    #[serde(skip_serializing_if = "is_zero")]
    pub unread: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// An object of a phase, as the cluster has it.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectState {
    /// What people call it.
    pub object: String,
    /// How it is.
    pub state: State,
    /// What keeps it from being ready.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waits_for: Vec<String>,
}

/// How an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum State {
    /// It is what it should be.
    Ready,
    /// It is there, but something is missing.
    Waiting,
    /// It isn't there.
    Absent,
}

impl ExtensionTree {
    /// Returns whether every revision that is in use says that its objects are as they should be.
    pub fn is_available(&self) -> bool {
        let in_use = |revision: &&RevisionTree| revision.lifecycle_state == LifecycleState::Active;
        let mut revisions = self.revisions.iter().filter(in_use);
        revisions.all(|revision| is_true(&revision.conditions, "Available"))
    }
}

impl RevisionTree {
    /// Returns what the revision says of its progress; none before anybody looked at it.
    pub fn progress(&self) -> Option<&Condition> {
        find(&self.conditions, PROGRESSING)
    }
}

impl PhaseTree {
    /// Returns how many objects are ready.
    pub fn ready(&self) -> usize {
        self.objects
            .iter()
            .filter(|object| object.state == State::Ready)
            .count()
    }
}

/// A tree can't be read.
#[derive(Debug, Error)]
pub enum TreeError {
    /// The revisions can't be listed.
    #[error("cannot list the revisions of ClusterExtension {extension:?}: {source}")]
    Revisions {
        /// The extension.
        extension: String,
        /// What the server said.
        source: Box<kube::Error>,
    },
    /// An object can't be read.
    #[error(transparent)]
    Object(#[from] apply::engine::Error),
}

/// How many objects are read at once.
const AT_ONCE: usize = 8;

/// Reads trees.
pub struct TreeReader {
    client: Client,
    engine: Engine,
    most_objects: usize,
}

impl TreeReader {
    /// Makes a reader that reads every object.
    pub fn new(client: Client, system_namespace: String) -> Self {
        Self {
            engine: Engine::new(client.clone(), system_namespace),
            client,
            most_objects: usize::MAX,
        }
    }

    /// Reads no more than so many objects of a revision; the others are only counted.
    pub fn at_most(mut self, objects: usize) -> Self {
        self.most_objects = objects;
        self
    }

    /// Reads the tree of an extension. The objects of archived revisions are nobody's, and not read.
    ///
    /// # Errors
    ///
    /// If the API server refuses it.
    pub async fn read(
        &self,
        extension: &ClusterExtension,
        with_archived: bool,
    ) -> Result<ExtensionTree, TreeError> {
        let name = extension.name_any();
        let owned = ListParams::default().labels(&format!("{}={name}", keys::OWNER_NAME));
        let sets: Api<ClusterObjectSet> = Api::all(self.client.clone());
        let listed = sets.list(&owned).await.map_err(|source| TreeError::Revisions {
            extension: name.clone(),
            source: Box::new(source),
        })?;
        let mut sets = listed.items;
        sets.retain(|set| with_archived || set.spec.lifecycle_state == LifecycleState::Active);
        sets.sort_by_key(|set| set.spec.revision);
        let mut revisions = Vec::with_capacity(sets.len());
        for set in &sets {
            revisions.push(self.revision(set).await?);
        }
        let filter = extension.spec.source.catalog.as_ref();
        let installed = extension.status.install.as_ref();
        Ok(ExtensionTree {
            package: filter
                .map(|filter| filter.package_name.clone())
                .unwrap_or_default(),
            namespace: extension.spec.namespace.clone(),
            installed_version: installed.map(|install| install.bundle.version.clone()),
            conditions: in_order(&extension.status.conditions),
            revisions,
            name,
        })
    }

    async fn revision(&self, set: &ClusterObjectSet) -> Result<RevisionTree, TreeError> {
        let mut tree = RevisionTree {
            name: set.name_any(),
            version: set
                .annotations()
                .get(keys::BUNDLE_VERSION)
                .cloned()
                .unwrap_or_default(),
            lifecycle_state: set.spec.lifecycle_state,
            conditions: in_order(&set.status.conditions),
            unreadable: None,
            phases: Vec::new(),
        };
        if set.spec.lifecycle_state == LifecycleState::Archived {
            return Ok(tree);
        }
        let content = match self.engine.content(set).await {
            Ok(content) => content,
            Err(cause) => {
                tree.unreadable = Some(cause.to_string());
                return Ok(tree);
            }
        };
        let mut left = self.most_objects;
        for phase in &content.phases {
            let wanted = phase.objects.iter().take(left);
            let reading: Vec<_> = wanted.map(|wanted| self.object(&wanted.id, &content)).collect();
            let objects: Vec<ObjectState> = stream::iter(reading).buffered(AT_ONCE).try_collect().await?;
            left -= objects.len();
            tree.phases.push(PhaseTree {
                name: phase.name.clone(),
                unread: phase.objects.len() - objects.len(),
                objects,
            });
        }
        Ok(tree)
    }

    async fn object(&self, id: &ObjectId, content: &Content) -> Result<ObjectState, TreeError> {
        let (state, waits_for) = match self.engine.live(id).await? {
            None => (State::Absent, Vec::new()),
            Some(object) => {
                let result = content.probes.ask(&object);
                match result.status {
                    ProbeStatus::True => (State::Ready, Vec::new()),
                    ProbeStatus::False | ProbeStatus::Unknown => {
                        let mut waits_for = result.messages;
                        waits_for.extend(self.trouble(&object).await);
                        (State::Waiting, waits_for)
                    }
                }
            }
        };
        Ok(ObjectState {
            object: Called(id).to_string(),
            state,
            waits_for,
        })
    }

    /// Asks the pods of a workload what keeps them from running; who may not read them isn't told.
    async fn trouble(&self, object: &Value) -> Option<String> {
        let workload = Workload::of(object)?;
        match troubles::ask(&self.client, &workload).await {
            Ok(cause) => cause,
            Err(fault) => {
                tracing::debug!(%fault, "pods can't be asked why they don't run");
                None
            }
        }
    }
}

/// What people call an object: its kind, and its name with its namespace.
pub struct Called<'a>(pub &'a ObjectId);

impl fmt::Display for Called<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(id) = self;
        match id.namespace.as_str() {
            "" => write!(formatter, "{} {}", id.kind, id.name),
            namespace => write!(formatter, "{} {namespace}/{}", id.kind, id.name),
        }
    }
}
/// Returns conditions in the order of their names: that in which they came is a matter of chance.
fn in_order(conditions: &[Condition]) -> Vec<Condition> {
    let mut conditions = conditions.to_vec();
    conditions.sort_by(|left, right| left.kind.cmp(&right.kind));
    conditions
}
