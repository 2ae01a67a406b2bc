//! Extensions of a cluster, as commands read, change and wait for them.

mod departure;
pub(crate) mod drawing;
mod rollout;

use api::cluster_extension::ClusterExtension;
use api::{ClusterObjectSet, keys};
use apply::refusal::is_already_there;
use kube::api::{Api, ListParams, Patch, PatchParams};
use kube::{Client, ResourceExt as _};
use serde_json::Value;

use crate::cluster::{FIELD_MANAGER, refused};
use crate::failure::Failure;
use crate::known_names;

pub(crate) use rollout::{is_rolled_out, waiting_version};

/// The extensions of a cluster.
pub(crate) struct Extensions {
    client: Client,
    api: Api<ClusterExtension>,
    revisions: Api<ClusterObjectSet>,
}

impl Extensions {
    pub(crate) fn of(client: Client) -> Self {
        Self {
            api: Api::all(client.clone()),
            revisions: Api::all(client.clone()),
            client,
        }
    }

    /// Reads one extension; one that isn't there is a failure that names those that are.
    pub(crate) async fn read(&self, name: &str) -> Result<ClusterExtension, Failure> {
        match self.find(name).await? {
            Some(extension) => Ok(extension),
            None => Err(self.unknown(name).await?),
        }
    }

    /// Reads one extension; none where it isn't there.
    pub(crate) async fn find(&self, name: &str) -> Result<Option<ClusterExtension>, Failure> {
        let found = self.api.get_opt(name).await;
        found.map_err(|error| refused(&format!("read ClusterExtension {name:?}"), error))
    }

    /// What is said of an extension that isn't there: it is on its way out, or there never was one.
    pub(crate) async fn unknown(&self, name: &str) -> Result<Failure, Failure> {
        if let Ok(left) = self.revisions_of(name).await
            && !left.is_empty()
        {
            let left: Vec<&str> = left.iter().map(ClusterObjectSet::name).collect();
            return Ok(Failure::new(format!(
                "ClusterExtension {name:?} is deleted, and its ClusterObjectSets aren't gone yet: {}; `baton uninstall {name}` waits \
                 for that, and says what holds it up",
                left.join(", ")
            )));
        }
        let known: Vec<String> = self
            .all()
            .await?
            .iter()
            .map(kube::ResourceExt::name_any)
            .collect();
        let otherwise = "`baton install` makes one";
        Ok(known_names::unknown("ClusterExtension", name, &known, otherwise))
    }

    /// The revisions of an extension, the oldest first.
    async fn revisions_of(&self, name: &str) -> Result<Vec<ClusterObjectSet>, Failure> {
        let owned = ListParams::default().labels(&of_owner(name));
        let listed =
            self.revisions.list(&owned).await.map_err(|error| {
                refused(&format!("list the revisions of ClusterExtension {name:?}"), error)
            })?;
        let mut revisions = listed.items;
        revisions.sort_by_key(|revision| revision.spec.revision);
        Ok(revisions)
    }

    /// All extensions, by name.
    pub(crate) async fn all(&self) -> Result<Vec<ClusterExtension>, Failure> {
        let list = self.api.list(&ListParams::default()).await;
        Ok(list
            .map_err(|error| refused("list ClusterExtensions", error))?
            .items)
    }

    pub(crate) async fn create(
        &self,
        extension: &ClusterExtension,
        try_only: bool,
    ) -> Result<ClusterExtension, Failure> {
        let parameters = kube::api::PostParams {
            dry_run: try_only,
            field_manager: Some(FIELD_MANAGER.to_owned()),
        };
        let name = extension.name_any();
        match self.api.create(&parameters, extension).await {
            Err(error) if is_already_there(&error) => Err(Failure::new(format!(
                "ClusterExtension {name:?} is there already; change its version with `baton upgrade {name}`, or give the new \
                 one another name with --name"
            ))),
            made => made.map_err(|error| refused(&format!("make ClusterExtension {name:?}"), error)),
        }
    }

    /// Changes an extension that was read before; what others changed meanwhile is left as they made it.
    pub(crate) async fn change(&self, name: &str, change: &Value) -> Result<ClusterExtension, Failure> {
        self.merge(name, change, false).await
    }

    /// Returns what an extension would be after a change; nothing changes.
    pub(crate) async fn changed(&self, name: &str, change: &Value) -> Result<ClusterExtension, Failure> {
        self.merge(name, change, true).await
    }

    async fn merge(&self, name: &str, change: &Value, try_only: bool) -> Result<ClusterExtension, Failure> {
        let parameters = PatchParams {
            dry_run: try_only,
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        self.api
            .patch(name, &parameters, &Patch::Merge(change))
            .await
            .map_err(|error| refused(&format!("change ClusterExtension {name:?}"), error))
    }

    /// Asks for an extension to be deleted.
    pub(crate) async fn delete(&self, name: &str) -> Result<(), Failure> {
        self.api
            .delete(name, &kube::api::DeleteParams::default())
            .await
            .map(drop)
            .map_err(|error| refused(&format!("delete ClusterExtension {name:?}"), error))
    }
}

/// The selector of what was made for an extension.
fn of_owner(name: &str) -> String {
    format!("{}={name}", keys::OWNER_NAME)
}
