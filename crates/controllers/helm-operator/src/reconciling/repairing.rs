//! What is there is as it should be: changes of others set back, and how the resource was left.

use std::collections::BTreeSet;

use api::condition::ConditionStatus;
use apply::object::ObjectId;
use apply::served::Served;
use release::actions::Outcome;
use release::failure::Cause;
use release::records::Standing;
use release::writing::Written;
use tokio::time::Instant;

use super::saying::say_deployed;
use super::{Again, Look, RECORDS_PAUSE};
use crate::dependents::Left;
use crate::preparing::Wanted;
use crate::resource::ActionWishes;
use crate::status::{Aspect, Statement, StatusChange};
use crate::world::Settled;

impl Look<'_> {
    /// The release is as wanted: its objects are looked at, all of them if they weren't watched until now.
    pub(super) async fn verify(
        &self,
        mut change: StatusChange,
        standing: Standing,
        wanted: Wanted,
        drifted: &BTreeSet<ObjectId>,
    ) -> Again {
        let is_watched =
            self.world.dependents.holds(self.key) && self.blueprint.watch.watch_dependent_resources;
        let only = is_watched.then_some(drifted);
        let releases = self.releases(&self.wishes.upgrade, false);
        let repaired = releases.repair(wanted.prepared.documents(), only).await;
        match repaired {
            Ok(repaired) => {
                self.say_drift(&mut change, &repaired, only).await;
                let outcome = Outcome {
                    record: standing.last,
                    written: repaired.written,
                };
                self.finish(change, &outcome, &wanted.objects, wanted.looked_at_cluster)
                    .await
            }
            Err(failure) => {
                self.world.put_back_drifted(self.key, drifted.clone());
                if failure.cause == Cause::Interrupted {
                    return self.interrupted(&failure).await;
                }
                self.note_written(&failure);
                let message = Self::words(&failure);
                change
                    .say(Statement::plain(Aspect::ReleaseFailed, ConditionStatus::False))
                    .say(Statement::new(
                        Aspect::Irreconcilable,
                        ConditionStatus::True,
                        "ReconcileError",
                        message,
                    ));
                self.try_later(change).await
            }
        }
    }

    /// Sets back what somebody changed.
    pub(super) async fn repair(&self, drifted: BTreeSet<ObjectId>) -> Again {
        let Some(settled) = self.world.settled(self.key) else {
            return Again::Soon;
        };
        let record = match self.records().read(settled.revision).await {
            Ok(Some(record)) => record,
            Ok(None) => {
                self.world.unsettle(self.key);
                return Again::After(RECORDS_PAUSE);
            }
            Err(fault) => {
                self.world.put_back_drifted(self.key, drifted);
                return self.cannot_read_records(&fault.into()).await;
            }
        };
        let documents = match release::documents::read(&record.release.manifest) {
            Ok(documents) => documents,
            Err(fault) => return self.cannot_read_records(&fault.into()).await,
        };
        let releases = self.releases(&ActionWishes::default(), false);
        let mut change = StatusChange::default();
        match releases.repair(&documents, Some(&drifted)).await {
            Ok(repaired) => {
                self.say_drift(&mut change, &repaired, Some(&drifted)).await;
                self.world.dependents.left(&left(&repaired.written));
                change
                    .say(Statement::plain(Aspect::Irreconcilable, ConditionStatus::False))
                    .say(Statement::plain(Aspect::ReleaseFailed, ConditionStatus::False));
                self.say_readiness(&mut change);
                self.write_status(self.resource, &change, self.next_look()).await
            }
            Err(failure) => {
                self.world.put_back_drifted(self.key, drifted);
                if failure.cause == Cause::Interrupted {
                    return self.interrupted(&failure).await;
                }
                self.note_written(&failure);
                let message = Self::words(&failure);
                change.say(Statement::new(
                    Aspect::Irreconcilable,
                    ConditionStatus::True,
                    "ReconcileError",
                    message,
                ));
                self.try_later(change).await
            }
        }
    }

    /// Notes how the resource was left, and writes that it is deployed.
    pub(super) async fn finish(
        &self,
        mut change: StatusChange,
        outcome: &Outcome,
        objects: &[(ObjectId, Served)],
        looks_at_cluster: bool,
    ) -> Again {
        let record = &outcome.record;
        let watched: Vec<(ObjectId, Served)> = objects
            .iter()
            .filter(|(id, _)| {
                self.blueprint.watch.watch_dependent_resources || release::readiness::matters(id)
            })
            .cloned()
            .collect();
        self.world
            .dependents
            .hold(self.key, &watched, &left(&outcome.written));
        // The watch tells of the record a moment later; until then it must not look as if there were none.
        if let Some(revision) = record.revision() {
            self.world.revision_seen(&self.id, revision);
        }
        self.world.settle(
            self.key,
            Settled {
                uid: self.resource.uid.clone(),
                generation: self.resource.generation,
                wishes: self.wishes.clone(),
                revision: record.release.version,
                record: record.resource_version().to_owned(),
                looks_at_cluster,
                compared: Instant::now(),
            },
        );
        say_deployed(&mut change, record);
        change
            .say(Statement::plain(Aspect::ReleaseFailed, ConditionStatus::False))
            .say(Statement::plain(Aspect::Irreconcilable, ConditionStatus::False))
            .observed(self.resource.generation);
        self.say_readiness(&mut change);
        self.write_status(self.resource, &change, self.next_look()).await
    }
}

pub(super) fn left(written: &[Written]) -> Vec<Left> {
    written
        .iter()
        .map(|written| Left {
            id: written.id.clone(),
            uid: written.uid.clone(),
            resource_version: written.resource_version.clone(),
            fingerprint: written.fingerprint,
        })
        .collect()
}
