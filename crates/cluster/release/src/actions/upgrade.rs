//! Upgrading: a further revision of a release.

use std::collections::BTreeSet;

use apply::object::ObjectId;
use chart::manifest::HookEvent;
use chart::release::Status;

use super::{Course, IN_PROGRESS, Outcome, Releases};
use crate::changes::{self, Changes, Extent, Step};
use crate::cluster::Placed;
use crate::failure::{Cause, Failure};
use crate::hooks::Attempt;
use crate::moment;
use crate::prepared::Prepared;
use crate::records::{Record, Standing};

impl Releases {
    /// Releases new content over what is there; only objects whose document changed are written, and those that are said
    /// to have drifted.
    pub async fn upgrade(
        &self,
        standing: Standing,
        prepared: Prepared,
        drifted: &BTreeSet<ObjectId>,
    ) -> Result<Outcome, Failure> {
        if standing.status().is_pending() {
            return Err(Failure::new(Cause::Pending, IN_PROGRESS));
        }
        let Prepared {
            mut release,
            documents,
            labels,
        } = prepared;
        let objects = self.place(&documents).await?;
        let changes = self.changes(&standing, None, &objects, drifted).await?;
        let base = standing.base().clone();
        release
            .info
            .first_deployed
            .clone_from(&base.release.info.first_deployed);
        release.info.last_deployed = Some(moment::now());
        release.set_status(Status::PendingUpgrade, "Preparing upgrade");
        // Helm takes the labels of the last record over, its own among them.
        let mut all_labels = standing.last.labels();
        all_labels.extend(labels);
        self.records
            .prune(&standing.history, self.options.history_limit)
            .await?;
        let record = self.records.create(release, &all_labels).await?;
        Box::pin(self.finish_upgrade(record, base, &objects, &changes, Attempt::First)).await
    }

    /// Works out what changes against the revisions that may be in the cluster; `upgrade` is the number of one that was
    /// cut short and goes on.
    pub(super) async fn changes(
        &self,
        standing: &Standing,
        upgrade: Option<i64>,
        objects: &[Placed],
        drifted: &BTreeSet<ObjectId>,
    ) -> Result<Changes, Failure> {
        let base = &standing.base().release;
        let mut earlier = vec![self.place_earlier(base).await?];
        for release in &standing.unfinished {
            if release.version != base.version && Some(release.version) != upgrade {
                earlier.push(self.place_earlier(release).await?);
            }
        }
        let mut changes = changes::between(&earlier, objects, Extent::Changed { drifted });
        // Nobody knows which objects of an installation are there that came to nothing.
        if !matches!(base.info.status, Status::Deployed | Status::Superseded) {
            changes.steps.fill(Step::New);
        }
        self.claim_new(objects, &mut changes)
            .await
            .map_err(|failure| failure.while_doing("Unable to continue with update"))?;
        Ok(changes)
    }

    /// Looks whether the objects that are new to the release are somebody else's; those that exist are updated.
    async fn claim_new(&self, objects: &[Placed], changes: &mut Changes) -> Result<(), Failure> {
        let new = objects
            .iter()
            .zip(&changes.steps)
            .filter(|(_, step)| **step == Step::New);
        let new: Vec<Placed> = new.map(|(object, _)| object.clone()).collect();
        let existing = self.claim(&new).await?;
        for (object, step) in objects.iter().zip(&mut changes.steps) {
            if existing.contains(&object.id) {
                *step = Step::Update;
            }
        }
        Ok(())
    }

    /// Does what is left to do when the record of an upgrade is there.
    pub(super) async fn finish_upgrade(
        &self,
        mut record: Record,
        mut base: Record,
        objects: &[Placed],
        changes: &Changes,
        attempt: Attempt,
    ) -> Result<Outcome, Failure> {
        let description = format!("Upgrade {:?} failed", self.id.name);
        let before = self.run_hooks(&mut record, HookEvent::PreUpgrade, attempt).await;
        if let Err(failure) = before {
            let failure = failure.while_doing("pre-upgrade hooks failed");
            return Err(self.failed(record, &description, failure).await);
        }
        let writing = self.write(objects, &changes.steps, Course::Update).await;
        let failure = match self.failure_of(&writing, Course::Update) {
            Some(failure) if failure.cause == Cause::Collision => {
                Some(failure.while_doing("Unable to continue with update"))
            }
            Some(failure) => Some(failure),
            None => self.delete(&changes.vanished).await.err(),
        };
        if let Some(failure) = failure {
            let failure = failure.having_written(writing.written);
            return Err(self.failed(record, &description, failure).await);
        }
        let after = self.run_hooks(&mut record, HookEvent::PostUpgrade, attempt).await;
        if let Err(failure) = after {
            let failure = failure
                .while_doing("post-upgrade hooks failed")
                .having_written(writing.written);
            return Err(self.failed(record, &description, failure).await);
        }
        if base.release.info.status != Status::Superseded {
            base.release.info.status = Status::Superseded;
            if let Err(error) = self.records.update(&mut base).await {
                return Err(Failure::from(error).having_written(writing.written).with(record));
            }
        }
        let done = self.options.done("Upgrade complete");
        record.release.set_status(Status::Deployed, done);
        match self.records.update(&mut record).await {
            Ok(()) => Ok(Outcome {
                record,
                written: writing.written,
            }),
            Err(error) => Err(Failure::from(error).having_written(writing.written).with(record)),
        }
    }
}
