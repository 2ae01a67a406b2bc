//! Resuming: an action that was cut short goes on.

use std::collections::BTreeSet;

use chart::release::Status;

use super::{Course, Outcome, Releases};
use crate::changes::{self, Extent, Step};
use crate::documents;
use crate::failure::{Cause, Failure};
use crate::hooks::Attempt;
use crate::records::Standing;

impl Releases {
    /// Goes on with the action that the last record tells of. What was done before is done again where that changes
    /// nothing; hooks that are done are not run again.
    pub async fn resume(&self, standing: Standing) -> Result<Outcome, Failure> {
        match standing.status() {
            Status::PendingInstall => self.resume_install(standing).await,
            Status::PendingUpgrade => self.resume_upgrade(standing).await,
            Status::PendingRollback => self.resume_rollback(standing).await,
            status => Err(Failure::new(
                Cause::Pending,
                format!(
                    "release {:?} is {status}, which is no action that could go on",
                    self.id.name
                ),
            )),
        }
    }

    async fn resume_install(&self, standing: Standing) -> Result<Outcome, Failure> {
        let documents = documents::read(&standing.last.release.manifest)?;
        let objects = self.place(&documents).await?;
        let steps = vec![Step::New; objects.len()];
        Box::pin(self.finish_install(standing.last, &objects, &steps, Course::Create, Attempt::Resumed)).await
    }

    async fn resume_upgrade(&self, standing: Standing) -> Result<Outcome, Failure> {
        let record = standing.last.clone();
        let documents = documents::read(&record.release.manifest)?;
        let objects = self.place(&documents).await?;
        let base = standing.base().clone();
        let nothing = BTreeSet::new();
        let changes = self
            .changes(&standing, Some(record.release.version), &objects, &nothing)
            .await?;
        Box::pin(self.finish_upgrade(record, base, &objects, &changes, Attempt::Resumed)).await
    }

    async fn resume_rollback(&self, standing: Standing) -> Result<Outcome, Failure> {
        let record = standing.last.clone();
        let objects = self.place_again(&record.release).await?;
        // What it goes back from is the revision before it.
        let previous = record.release.version - 1;
        let current = match self.records.read(previous).await? {
            Some(current) => current,
            None => standing.base().clone(),
        };
        let earlier = self.place_earlier(&current.release).await?;
        let changes = changes::between(&[earlier], &objects, Extent::All);
        Box::pin(self.finish_rollback(
            record,
            current,
            &standing.history,
            &objects,
            &changes,
            Attempt::Resumed,
        ))
        .await
    }
}
