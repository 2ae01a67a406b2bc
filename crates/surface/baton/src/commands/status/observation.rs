//! The tree of an extension, read from the cluster.

use std::collections::{BTreeMap, HashMap};

use api::cluster_object_set::LifecycleState;
use api::condition::Condition;
use api::{ClusterExtension, ClusterObjectSet, keys};
use apply::content::{self, Content, SecretState};
use apply::object::ObjectId;
use apply::probes::ProbeStatus;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, DynamicObject, ListParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::discovery::Scope;
use kube::{Client, ResourceExt as _};
use serde::Serialize;
use serde_json::Value;

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

/// Reads trees; what kinds are called in paths is asked once.
pub(super) struct Observer {
    client: Client,
    system_namespace: String,
    kinds: HashMap<GroupVersionKind, Option<(ApiResource, Scope)>>,
}

impl Observer {
    pub(super) fn new(client: Client, system_namespace: String) -> Self {
        Self {
            client,
            system_namespace,
            kinds: HashMap::new(),
        }
    }

    pub(super) async fn observe(
        &mut self,
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

    async fn revision(&mut self, set: &ClusterObjectSet) -> Result<RevisionTree, Failure> {
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
        match self.content(set).await {
            Err(cause) => tree.unreadable = Some(cause),
            Ok(content) => {
                for phase in &content.phases {
                    let mut objects = Vec::with_capacity(phase.objects.len());
                    for wanted in &phase.objects {
                        objects.push(self.object(&wanted.id, &content).await?);
                    }
                    tree.phases.push(PhaseTree {
                        name: phase.name.clone(),
                        objects,
                    });
                }
            }
        }
        Ok(tree)
    }

    async fn content(&self, set: &ClusterObjectSet) -> Result<Content, String> {
        let mut kept = BTreeMap::new();
        for (namespace, name) in content::secrets_of(set, &self.system_namespace) {
            let secrets: Api<Secret> = Api::namespaced(self.client.clone(), &namespace);
            let state = match secrets.get(&name).await {
                Ok(secret) => SecretState::Found(Box::new(secret)),
                Err(kube::Error::Api(status)) => SecretState::Unreadable(status.message),
                Err(error) => SecretState::Unreadable(error.to_string()),
            };
            kept.insert((namespace, name), state);
        }
        content::read(set, &kept, &self.system_namespace).map_err(|error| error.to_string())
    }

    async fn object(&mut self, id: &ObjectId, content: &Content) -> Result<ObjectState, Failure> {
        let live = self.live(id).await?;
        let (state, waits_for) = match &live {
            None => (State::Absent, Vec::new()),
            Some(object) => {
                let result = content.probes.ask(object);
                match result.status {
                    ProbeStatus::True => (State::Ready, Vec::new()),
                    ProbeStatus::False | ProbeStatus::Unknown => (State::Waiting, result.messages),
                }
            }
        };
        Ok(ObjectState {
            object: id.to_string(),
            state,
            waits_for,
        })
    }

    async fn live(&mut self, id: &ObjectId) -> Result<Option<Value>, Failure> {
        let kind = GroupVersionKind::gvk(id.group(), id.version(), &id.kind);
        if !self.kinds.contains_key(&kind) {
            // A kind that isn't served yet has no objects: its definition stands in an earlier phase.
            let found = kube::discovery::pinned_kind(&self.client, &kind).await.ok();
            let found = found.map(|(resource, capabilities)| (resource, capabilities.scope));
            self.kinds.insert(kind.clone(), found);
        }
        let Some(Some((resource, scope))) = self.kinds.get(&kind) else {
            return Ok(None);
        };
        let objects: Api<DynamicObject> = match scope {
            Scope::Namespaced => Api::namespaced_with(self.client.clone(), &id.namespace, resource),
            Scope::Cluster => Api::all_with(self.client.clone(), resource),
        };
        let live = objects
            .get_opt(&id.name)
            .await
            .map_err(|error| refused(&format!("read {id}"), error))?;
        Ok(live.map(serde_json::to_value).transpose()?)
    }
}
