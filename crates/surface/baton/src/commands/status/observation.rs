//! The tree of an extension, read from the cluster.

use api::cluster_object_set::LifecycleState;
use api::condition::Condition;
use api::{ClusterExtension, ClusterObjectSet, keys};
use apply::content::Content;
use apply::engine::Engine;
use apply::object::ObjectId;
use apply::probes::ProbeStatus;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt as _};
use serde::Serialize;

use crate::cluster::refused;
use crate::failure::Failure;

/// An extension, its revisions, their phases and objects.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ExtensionTree {
    pub(super) name: String,
    pub(super) package: String,
    pub(super) namespace: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) installed_version: Option<String>,
    pub(super) conditions: Vec<Condition>,
    pub(super) revisions: Vec<RevisionTree>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RevisionTree {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) lifecycle_state: LifecycleState,
    pub(super) conditions: Vec<Condition>,
    /// Why the objects aren't known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) unreadable: Option<String>,
    pub(super) phases: Vec<PhaseTree>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PhaseTree {
    pub(super) name: String,
    pub(super) objects: Vec<ObjectState>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ObjectState {
    pub(super) object: String,
    pub(super) state: State,
    /// What keeps it from being ready.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) waits_for: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) enum State {
    Ready,
    Waiting,
    Absent,
}

impl PhaseTree {
    pub(super) fn ready(&self) -> usize {
        self.objects
            .iter()
            .filter(|object| object.state == State::Ready)
            .count()
    }
}

/// How many objects are read at once.
const AT_ONCE: usize = 8;

/// Reads trees.
pub(super) struct Observer {
    client: Client,
    engine: Engine,
}

impl Observer {
    pub(super) fn new(client: Client, system_namespace: String) -> Self {
        Self {
            engine: Engine::new(client.clone(), system_namespace),
            client,
        }
    }

    pub(super) async fn observe(
        &self,
        extension: &ClusterExtension,
        with_archived: bool,
    ) -> Result<ExtensionTree, Failure> {
        let name = extension.name_any();
        let owned = ListParams::default().labels(&format!("{}={name}", keys::OWNER_NAME));
        let mut sets = Api::<ClusterObjectSet>::all(self.client.clone())
            .list(&owned)
            .await
            .map_err(|error| refused(&format!("list the revisions of ClusterExtension {name:?}"), error))?
            .items;
        sets.retain(|set| with_archived || set.spec.lifecycle_state == LifecycleState::Active);
        sets.sort_by_key(|set| set.spec.revision);
        let mut revisions = Vec::with_capacity(sets.len());
        for set in &sets {
            revisions.push(self.revision(set).await?);
        }
        Ok(ExtensionTree {
            package: extension
                .spec
                .source
                .catalog
                .as_ref()
                .map(|catalog| catalog.package_name.clone())
                .unwrap_or_default(),
            namespace: extension.spec.namespace.clone(),
            installed_version: extension
                .status
                .install
                .as_ref()
                .map(|install| install.bundle.version.clone()),
            conditions: extension.status.conditions.clone(),
            revisions,
            name,
        })
    }

    async fn revision(&self, set: &ClusterObjectSet) -> Result<RevisionTree, Failure> {
        let mut tree = RevisionTree {
            name: set.name_any(),
            version: set
                .annotations()
                .get(keys::BUNDLE_VERSION)
                .cloned()
                .unwrap_or_default(),
            lifecycle_state: set.spec.lifecycle_state,
            conditions: set.status.conditions.clone(),
            unreadable: None,
            phases: Vec::new(),
        };
        if set.spec.lifecycle_state == LifecycleState::Archived {
            return Ok(tree);
        }
        match self.engine.content(set).await {
            Err(cause) => tree.unreadable = Some(cause.to_string()),
            Ok(content) => {
                for phase in &content.phases {
                    let reading = phase
                        .objects
                        .iter()
                        .map(|wanted| self.object(&wanted.id, &content));
                    let objects = stream::iter(reading).buffered(AT_ONCE).try_collect().await?;
                    tree.phases.push(PhaseTree {
                        name: phase.name.clone(),
                        objects,
                    });
                }
            }
        }
        Ok(tree)
    }

    async fn object(&self, id: &ObjectId, content: &Content) -> Result<ObjectState, Failure> {
        let (state, waits_for) = match self.engine.live(id).await? {
            None => (State::Absent, Vec::new()),
            Some(object) => {
                let result = content.probes.ask(&object);
                match result.status {
                    ProbeStatus::True => (State::Ready, Vec::new()),
                    ProbeStatus::False | ProbeStatus::Unknown => (State::Waiting, result.messages),
                }
            }
        };
        Ok(ObjectState {
            object: called(id),
            state,
            waits_for,
        })
    }
}

/// What people call an object.
fn called(id: &ObjectId) -> String {
    match id.namespace.as_str() {
        "" => format!("{} {}", id.kind, id.name),
        namespace => format!("{} {namespace}/{}", id.kind, id.name),
    }
}
