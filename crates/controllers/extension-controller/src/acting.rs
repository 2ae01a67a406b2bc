//! Does what a plan says.
//!
//! A revision is made in three steps, so that whoever is stopped between two of them can go on: the Secrets, which are
//! named after what they hold; the revision; the Secrets' owner.

use std::collections::BTreeSet;

use api::{ClusterExtension, ClusterObjectSet, keys};
use apply::refusal::{is_already_there, is_invalid, is_not_found, words};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::core::PartialObjectMeta;
use kube::runtime::watcher::Event;
use serde_json::{Value, json};
use thiserror::Error;

use crate::deciding::{Plan, Write};
use crate::index::{Concern, Index};
use crate::revisions::{NewRevision, revision_owner};

/// Why a plan could not be carried out.
#[derive(Debug, Error)]
pub enum ActError {
    /// An old revision can't be deleted.
    #[error("garbage collecting old revisions: deleting archived revision: {}", words(.0))]
    Collect(#[source] kube::Error),
    /// A Secret can't be made.
    #[error("creating ref Secret {name:?}: {}", words(.cause))]
    Secret {
        /// The Secret.
        name: String,
        /// Why.
        cause: kube::Error,
    },
    /// A revision can't be made.
    #[error("creating new Revision: {}", words(.0))]
    Create(#[source] kube::Error),
    /// A revision can't be changed.
    #[error("patching {name} Revision: {}", words(.cause))]
    Change {
        /// The revision.
        name: String,
        /// Why.
        cause: kube::Error,
    },
    /// The owner of Secrets can't be written.
    #[error("patching ownerReferences on ref Secrets: {}", words(.0))]
    Own(#[source] kube::Error),
    /// What was decided on was older than what is there; what is there has to be looked at again.
    #[error("revision {0} is there already")]
    Outdated(String),
}

/// Writes into the cluster.
pub struct Actor<'a> {
    /// The way to the cluster.
    pub client: &'a kube::Client,
    /// Hears of what was written before the watches do.
    pub index: &'a Index,
    /// Hears of what has to be looked at since it was written; the watches will not tell of it again.
    pub concern: &'a (dyn Fn(Concern) + Send + Sync),
    /// The namespace of Secrets.
    pub system_namespace: &'a str,
}

impl Actor<'_> {
    /// Takes note of a revision as it was written.
    pub fn object_set_written(&self, object_set: ClusterObjectSet) {
        let concerns = self.index.object_set_seen(Event::Apply(object_set));
        concerns.into_iter().for_each(self.concern);
    }

    /// Takes note of an extension as it was written.
    fn extension_written(&self, extension: ClusterExtension) {
        let concerns = self.index.extension_seen(Event::Apply(extension));
        concerns.into_iter().for_each(self.concern);
    }

    /// Carries out the writes of a plan, in their order.
    ///
    /// # Errors
    ///
    /// With the first that can't be done.
    pub async fn write(&self, plan: &Plan) -> Result<(), ActError> {
        self.own_what_was_left().await?;
        for write in &plan.writes {
            match write {
                Write::Delete(name) => self.delete(name).await?,
                Write::Create(next) => self.create(next).await?,
                Write::Change(object_set) => {
                    let changed = self.apply(object_set).await;
                    let changed = changed.map_err(|cause| ActError::Change {
                        name: object_set.name().to_owned(),
                        cause,
                    })?;
                    self.object_set_written(changed);
                }
                Write::Restore(lost) => {
                    self.make_secrets(&lost.secrets).await?;
                    self.own_secrets(&lost.object_set).await.map_err(ActError::Own)?;
                    tracing::warn!(
                        revision = lost.object_set.name(),
                        namespace = self.system_namespace,
                        "the Secrets with its objects were gone, and are made again"
                    );
                }
            }
        }
        Ok(())
    }

    /// Makes Secrets that keep objects; those that are there hold the same, because their names follow from it.
    async fn make_secrets(&self, wanted: &[Secret]) -> Result<(), ActError> {
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), self.system_namespace);
        for secret in wanted {
            match secrets.create(&PostParams::default(), secret).await {
                Err(fault) if !is_already_there(&fault) => {
                    return Err(ActError::Secret {
                        name: secret.metadata.name.clone().unwrap_or_default(),
                        cause: fault,
                    });
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Deletes a revision, and its Secrets where nothing holds it any more.
    ///
    /// The garbage collector would get to the Secrets too, but it may take many minutes where it first heard of a revision
    /// before it knew of the kind.
    async fn delete(&self, name: &str) -> Result<(), ActError> {
        let object_sets: Api<ClusterObjectSet> = Api::all(self.client.clone());
        let known = self.index.object_set(name);
        match object_sets.delete(name, &DeleteParams::background()).await {
            Ok(answer) if answer.is_left() => return Ok(()),
            Err(fault) if !is_not_found(&fault) => return Err(ActError::Collect(fault)),
            _ => {}
        }
        match known {
            Some(gone) => self.delete_secrets_of(&gone).await.map_err(ActError::Collect),
            None => Ok(()),
        }
    }

    /// Deletes the Secrets that belong to a revision which is gone, and to nobody else.
    async fn delete_secrets_of(&self, gone: &ClusterObjectSet) -> Result<(), kube::Error> {
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), self.system_namespace);
        for secret in self.secrets_for(&secrets, gone.name()).await? {
            let owners = secret.metadata.owner_references.as_deref().unwrap_or_default();
            // Another life of the revision may have Secrets of the same names.
            if let [owner] = owners
                && Some(&owner.uid) == gone.metadata.uid.as_ref()
            {
                self.delete_secret(&secrets, &secret).await?;
            }
        }
        Ok(())
    }

    /// Returns the Secrets that were made for the revision of a name.
    async fn secrets_for(
        &self,
        secrets: &Api<Secret>,
        revision: &str,
    ) -> Result<Vec<PartialObjectMeta<Secret>>, kube::Error> {
        let of_revision = format!("{}={revision}", keys::REVISION_NAME);
        let found = secrets
            .list_metadata(&ListParams::default().labels(&of_revision))
            .await?;
        Ok(found.items)
    }

    /// Makes a revision.
    ///
    /// # Errors
    ///
    /// If a Secret or the revision can't be made, or another one of that name is there.
    pub async fn create(&self, next: &NewRevision) -> Result<(), ActError> {
        self.make_secrets(&next.secrets).await?;
        let name = next.object_set.name();
        // An answer that gets lost leaves a revision without its Secrets.
        self.index.secrets_are_owed_to(name);
        let made = match self.apply(&next.object_set).await {
            Ok(made) => made,
            // Its phases can't change: another one has the name, which the watch hasn't told yet.
            Err(fault) if is_invalid(&fault) => {
                let object_sets: Api<ClusterObjectSet> = Api::all(self.client.clone());
                match object_sets.get_opt(name).await {
                    Ok(Some(there)) => {
                        self.object_set_written(there);
                        return Err(ActError::Outdated(name.to_owned()));
                    }
                    _ => return Err(ActError::Create(fault)),
                }
            }
            Err(fault) => return Err(ActError::Create(fault)),
        };
        self.object_set_written(made.clone());
        self.own_secrets(&made).await.map_err(ActError::Own)?;
        self.index.secrets_are_given_to(name);
        Ok(())
    }

    /// Gives Secrets to revisions that were made without getting them.
    async fn own_what_was_left(&self) -> Result<(), ActError> {
        for name in self.index.revisions_without_secrets() {
            if let Some(object_set) = self.index.object_set(&name) {
                self.own_secrets(&object_set).await.map_err(ActError::Own)?;
                self.index.secrets_are_given_to(&name);
            }
        }
        Ok(())
    }

    async fn apply(&self, object_set: &ClusterObjectSet) -> Result<ClusterObjectSet, kube::Error> {
        let object_sets: Api<ClusterObjectSet> = Api::all(self.client.clone());
        let mut body = serde_json::to_value(object_set).map_err(kube::Error::SerdeError)?;
        if let Some(fields) = body.as_object_mut() {
            fields.remove("status");
        }
        let parameters = PatchParams::apply(keys::EXTENSION_FIELD_OWNER).force();
        object_sets
            .patch(object_set.name(), &parameters, &Patch::Apply(&body))
            .await
    }

    /// Gives the Secrets of a revision to it, and deletes those that were made for it and are not used.
    ///
    /// Whoever was stopped before making the revision may have left Secrets that another content needed.
    pub async fn own_secrets(&self, object_set: &ClusterObjectSet) -> Result<(), kube::Error> {
        let used: BTreeSet<&str> = object_set
            .spec
            .phases
            .iter()
            .flat_map(|phase| &phase.objects)
            .filter_map(|entry| entry.reference.as_ref())
            .map(|reference| reference.name.as_str())
            .collect();
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), self.system_namespace);
        let owner = revision_owner(object_set);
        for secret in &self.secrets_for(&secrets, object_set.name()).await? {
            let name = secret.metadata.name.as_deref().unwrap_or_default();
            if !used.contains(name) {
                self.delete_secret(&secrets, secret).await?;
                continue;
            }
            let mut owners = secret.metadata.owner_references.clone().unwrap_or_default();
            if owners.iter().any(|known| known.uid == owner.uid) {
                continue;
            }
            // The owner of an earlier object of this name is gone for good.
            owners.retain(|known| known.kind != owner.kind || known.name != owner.name);
            owners.push(owner.clone());
            let patch = json!({"metadata": {"ownerReferences": owners}});
            secrets
                .patch_metadata(name, &PatchParams::default(), &Patch::Merge(&patch))
                .await?;
        }
        Ok(())
    }

    /// Gives every Secret an owner whose revision was made, but not its Secrets' owner; and deletes those whose
    /// extension is gone.
    pub async fn own_all_secrets(&self) -> Result<(), kube::Error> {
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), self.system_namespace);
        let found = secrets
            .list_metadata(&ListParams::default().labels(keys::REVISION_NAME))
            .await?;
        let mut revisions = BTreeSet::new();
        for secret in &found.items {
            let owners = secret.metadata.owner_references.as_ref();
            if !owners.is_none_or(Vec::is_empty) {
                continue;
            }
            let label = |key: &str| secret.metadata.labels.as_ref().and_then(|labels| labels.get(key));
            let revision = label(keys::REVISION_NAME).and_then(|name| self.index.object_set(name));
            let extension = label(keys::OWNER_NAME).map(|name| self.index.extension(name));
            match (revision, extension) {
                (Some(revision), _) if revisions.insert(revision.name().to_owned()) => {
                    self.own_secrets(&revision).await?;
                }
                (None, Some(None)) => self.delete_secret(&secrets, secret).await?,
                _ => {}
            }
        }
        Ok(())
    }

    async fn delete_secret(
        &self,
        secrets: &Api<Secret>,
        secret: &PartialObjectMeta<Secret>,
    ) -> Result<(), kube::Error> {
        let name = secret.metadata.name.as_deref().unwrap_or_default();
        match secrets.delete(name, &DeleteParams::default()).await {
            Err(fault) if !is_not_found(&fault) => Err(fault),
            _ => Ok(()),
        }
    }

    /// Deletes the Secrets of an extension that no revision owns.
    pub async fn delete_ownerless_secrets(&self, extension: &str) -> Result<(), kube::Error> {
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), self.system_namespace);
        let selector = format!("{}={extension},{}", keys::OWNER_NAME, keys::REVISION_NAME);
        let found = secrets
            .list_metadata(&ListParams::default().labels(&selector))
            .await?;
        for secret in &found.items {
            let owners = secret.metadata.owner_references.as_ref();
            if owners.is_none_or(Vec::is_empty) {
                self.delete_secret(&secrets, secret).await?;
            }
        }
        Ok(())
    }

    /// Writes the status of an extension, and the annotation that says what waits, where they changed.
    pub async fn report(&self, extension: &ClusterExtension, plan: &Plan) -> Result<(), kube::Error> {
        let extensions: Api<ClusterExtension> = Api::all(self.client.clone());
        let name = extension.name();
        if plan.status != extension.status {
            let patch = json!({"status": whole(&plan.status)});
            let written = extensions
                .patch_status(name, &PatchParams::default(), &Patch::Merge(&patch))
                .await;
            match written {
                Ok(written) => self.extension_written(written),
                Err(fault) if is_not_found(&fault) => return Ok(()),
                Err(fault) => return Err(fault),
            }
        }
        let annotations = extension.metadata.annotations.as_ref();
        let told = annotations.and_then(|annotations| annotations.get(keys::WAITING));
        if told != plan.waiting.as_ref() {
            let patch = json!({"metadata": {"annotations": {keys::WAITING: plan.waiting}}});
            let written = extensions
                .patch(name, &PatchParams::default(), &Patch::Merge(&patch))
                .await;
            match written {
                Ok(written) => self.extension_written(written),
                Err(fault) if is_not_found(&fault) => {}
                Err(fault) => return Err(fault),
            }
        }
        Ok(())
    }

    /// Writes the finalizers of an extension; nobody may have changed it meanwhile.
    pub async fn set_finalizers(
        &self,
        extension: &ClusterExtension,
        finalizers: &[String],
    ) -> Result<Option<ClusterExtension>, kube::Error> {
        let extensions: Api<ClusterExtension> = Api::all(self.client.clone());
        let patch = json!({"metadata": {
            "finalizers": finalizers,
            "resourceVersion": extension.metadata.resource_version,
        }});
        let written = extensions
            .patch(extension.name(), &PatchParams::default(), &Patch::Merge(&patch))
            .await;
        match written {
            Ok(written) => {
                self.extension_written(written.clone());
                Ok(Some(written))
            }
            Err(fault) if is_not_found(&fault) => Ok(None),
            Err(fault) => Err(fault),
        }
    }
}

/// Writes a status with every field, so that a merge takes away what is no longer there.
fn whole(status: &api::cluster_extension::ClusterExtensionStatus) -> Value {
    json!({
        "conditions": status.conditions,
        "install": status.install,
        "activeRevisions": status.active_revisions,
    })
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::{Arc, Mutex};

    use http::{Method, Request, Response};
    use kube::client::Body;

    use super::*;

    /// A server that has Secrets of revision `a-1`; returns what is deleted there along with the way to it.
    fn server(holds_revision: bool) -> (kube::Client, Arc<Mutex<Vec<String>>>) {
        let deleted = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&deleted);
        let secret = |name: &str, owner: Value| json!({"metadata": {"name": name, "ownerReferences": owner}});
        let owner =
            |uid: &str| json!({"apiVersion": "v1", "kind": "ClusterObjectSet", "name": "a-1", "uid": uid});
        let secrets = json!({
            "apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList", "metadata": {}, "items": [
                secret("its-own", json!([owner("gone")])),
                secret("of-another-life", json!([owner("other")])),
                secret("shared", json!([owner("gone"), owner("other")])),
                secret("of-nobody", json!([])),
            ],
        });
        let service = tower::service_fn(move |request: Request<Body>| {
            let path = request.uri().path().to_owned();
            let answer = match *request.method() {
                Method::DELETE => {
                    let is_held = holds_revision && path.contains("clusterobjectsets");
                    noted.lock().expect("no test panicked").push(path);
                    if is_held {
                        json!({"apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterObjectSet",
                            "metadata": {"name": "a-1"},
                            "spec": {"lifecycleState": "Archived", "revision": 1, "collisionProtection": "Prevent"}})
                    } else {
                        json!({"apiVersion": "v1", "kind": "Status", "status": "Success"})
                    }
                }
                _ => secrets.clone(),
            };
            async move { Ok::<_, Infallible>(Response::new(Body::from(answer.to_string().into_bytes()))) }
        });
        (kube::Client::new(service, "default"), deleted)
    }

    async fn deleted_with_revision(holds_revision: bool) -> Vec<String> {
        let (client, deleted) = server(holds_revision);
        let index = Index::default();
        let revision: ClusterObjectSet = serde_json::from_value(json!({
            "apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterObjectSet",
            "metadata": {"name": "a-1", "uid": "gone"},
            "spec": {"lifecycleState": "Archived", "revision": 1, "collisionProtection": "Prevent"},
        }))
        .expect("a revision");
        index.object_set_seen(Event::Apply(revision));
        let actor = Actor {
            client: &client,
            index: &index,
            concern: &|_| {},
            system_namespace: "system",
        };
        actor.delete("a-1").await.expect("deleted");
        let deleted = deleted.lock().expect("no test panicked");
        let names = deleted.iter().filter_map(|path| path.rsplit('/').next());
        names.map(str::to_owned).collect()
    }

    #[tokio::test]
    async fn an_old_revision_takes_along_the_secrets_that_are_its_alone() {
        assert_eq!(deleted_with_revision(false).await, ["a-1", "its-own"]);
    }

    #[tokio::test]
    async fn the_secrets_of_a_revision_stay_while_something_holds_it() {
        assert_eq!(deleted_with_revision(true).await, ["a-1"]);
    }
}
