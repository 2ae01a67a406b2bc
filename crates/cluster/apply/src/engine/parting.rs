//! How a revision lets go of its objects.

use futures_util::{StreamExt as _, stream};

use super::server::Trouble;
use super::{AT_ONCE, Engine, MOST_ATTEMPTS, ids_of};
use crate::object::ObjectId;
use crate::revision::{Observed, Outcome, Seen, Snapshot};
use crate::teardown::Parting;

impl Engine {
    /// Lets go of objects.
    pub(super) async fn part(
        &self,
        snapshot: &mut Snapshot,
        phase: usize,
        partings: Vec<(usize, Parting)>,
        attempts: usize,
    ) {
        let ids = ids_of(snapshot, phase);
        let parting = partings
            .iter()
            .filter_map(|(index, parting)| Some((*index, parting, ids.get(*index)?)));
        let parting =
            parting.map(|(index, parting, id)| async move { (index, id, self.part_with(id, parting).await) });
        let parting: Vec<_> = parting.collect();
        let parted: Vec<_> = stream::iter(parting).buffer_unordered(AT_ONCE).collect().await;
        for (index, id, parted) in parted {
            if let Some(observed) = snapshot.objects.get_mut(index) {
                *observed = match parted {
                    Ok(seen) => Observed {
                        seen,
                        outcome: Some(Outcome::Done),
                        ..Observed::default()
                    },
                    Err(Trouble::Unserved(_)) => Observed {
                        seen: Seen::Absent,
                        ..Observed::default()
                    },
                    Err(Trouble::Stale(_)) if attempts < MOST_ATTEMPTS => Observed::default(),
                    Err(Trouble::Stale(message) | Trouble::Invalid(message) | Trouble::Failed(message)) => {
                        Observed {
                            outcome: Some(Outcome::Failed(format!(
                                "teardown {id}: deleting object: {message}"
                            ))),
                            ..Observed::default()
                        }
                    }
                };
            }
        }
    }

    async fn part_with(&self, id: &ObjectId, parting: &Parting) -> Result<Seen, Trouble> {
        match parting {
            Parting::Delete {
                uid,
                resource_version,
                offspring,
            } => {
                self.server.delete(id, uid, resource_version, *offspring).await?;
                let left = self.server.get(id).await?;
                Ok(left.map_or(Seen::Absent, |live| Seen::Present(Box::new(live))))
            }
            Parting::Release(patch) => match self.server.merge(id, patch).await {
                // What was let go is as good as gone for the revision.
                Ok(_) => Ok(Seen::Absent),
                Err(Trouble::Invalid(_)) if self.server.get(id).await?.is_none() => Ok(Seen::Absent),
                Err(trouble) => Err(trouble),
            },
            Parting::Done | Parting::Waiting => Ok(Seen::Absent),
        }
    }
}
