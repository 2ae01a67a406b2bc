//! What a revision would change if it were made now.

use std::collections::HashSet;

use api::ClusterObjectSet;
use serde_json::Value;

use super::server::{Attempt, Trouble};
use super::{Engine, Error};
use crate::collision::{self, Action, Claimant};
use crate::content::{Wanted, owner_of};
use crate::desired;
use crate::diff::Change;
use crate::object::ObjectId;
use crate::owners::{Owner, controller};
use crate::revision;

/// What would become of an object, with what it is and what it would be.
#[derive(Debug, Clone, PartialEq)]
pub struct Previewed {
    /// What would become of it.
    pub change: Change,
    /// What the server has; none if it isn't there.
    pub before: Option<Value>,
    /// What the server would have; none if it would go, or isn't known.
    pub after: Option<Value>,
}

impl Previewed {
    fn between(id: &ObjectId, before: Option<Value>, after: Option<Value>) -> Self {
        Self {
            change: Change::between(id, before.as_ref(), after.as_ref()),
            before,
            after,
        }
    }

    fn refused(id: &ObjectId, before: Option<Value>, cause: impl Into<String>) -> Self {
        Self {
            change: Change::refused(id, cause),
            before,
            after: None,
        }
    }
}

impl Engine {
    /// Says what a revision would change, object by object, without changing anything; it need not be stored.
    ///
    /// The server is asked what it would make of each object. Where it can't tell yet, since an earlier phase must come
    /// first, an object that isn't there is said to be made. Objects of older revisions that this one doesn't have would
    /// go.
    pub async fn preview(&self, set: &ClusterObjectSet) -> Result<Vec<Change>, Error> {
        let whole = self.preview_whole(set).await?;
        Ok(whole.into_iter().map(|previewed| previewed.change).collect())
    }

    /// The same, with the objects as they are and as they would be.
    pub async fn preview_whole(&self, set: &ClusterObjectSet) -> Result<Vec<Previewed>, Error> {
        let content = self
            .content(set)
            .await
            .map_err(|error| Error::Objects(error.to_string()))?;
        let related = self.related(set).await?;
        let claimant = revision::claimant(set, &related);
        let mut changes = Vec::new();
        let mut wanted_ids = HashSet::new();
        for wanted in content.phases.iter().flat_map(|phase| &phase.objects) {
            wanted_ids.insert(wanted.id.clone());
            changes.push(self.preview_one(wanted, &claimant, owner_of(set)).await);
        }
        for older in revision::previous(set, &related) {
            let Ok(content) = self.content(older).await else {
                continue;
            };
            let owner = Owner::of(older);
            for wanted in content.phases.iter().flat_map(|phase| &phase.objects) {
                if wanted_ids.insert(wanted.id.clone()) {
                    changes.extend(self.preview_removal(&wanted.id, &owner).await);
                }
            }
        }
        Ok(changes)
    }

    async fn preview_one(&self, wanted: &Wanted, claimant: &Claimant, extension: &str) -> Previewed {
        let id = &wanted.id;
        let marked = desired::marked(&wanted.object, claimant, extension);
        let live = match self.server.get(id).await {
            Ok(live) => live,
            Err(Trouble::Unserved(_)) => return Previewed::between(id, None, Some(marked)),
            Err(Trouble::Stale(message) | Trouble::Invalid(message) | Trouble::Failed(message)) => {
                return Previewed::refused(id, None, message);
            }
        };
        let over = |live: &Value, adopting| desired::over(&marked, live, claimant, adopting);
        let own = live
            .as_ref()
            .map_or_else(|| marked.clone(), |live| over(live, false));
        let action = collision::decide(&own, live.as_ref(), claimant, wanted.protection);
        let tried = match (&action, &live) {
            (Action::Collide(collision), _) => {
                let message = collision.message();
                return Previewed::refused(id, live, message);
            }
            (Action::Keep | Action::Progressed, _) => return Previewed::between(id, live.clone(), live),
            (Action::Apply, Some(_)) => self.server.apply(id, &own, Attempt::Trial).await,
            (Action::Adopt, Some(live)) => self.server.apply(id, &over(live, true), Attempt::Trial).await,
            _ => self.server.create(id, &marked, Attempt::Trial).await,
        };
        match (tried, live) {
            (Ok(result), live) => Previewed::between(id, live, Some(result)),
            // Its namespace, say, is made by an earlier phase.
            (Err(Trouble::Invalid(message)), None) if message.contains("not found") => {
                Previewed::between(id, None, Some(marked))
            }
            (
                Err(
                    Trouble::Unserved(message)
                    | Trouble::Stale(message)
                    | Trouble::Invalid(message)
                    | Trouble::Failed(message),
                ),
                live,
            ) => Previewed::refused(id, live, message),
        }
    }

    async fn preview_removal(&self, id: &ObjectId, owner: &Owner) -> Option<Previewed> {
        let live = self.server.get(id).await.ok().flatten()?;
        let is_theirs = controller(&live).is_some_and(|reference| owner.is(reference));
        is_theirs.then(|| Previewed::between(id, Some(live), None))
    }
}
