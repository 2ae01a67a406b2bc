//! Installing: the first revision of a release.

use chart::manifest::HookEvent;
use chart::release::Status;

use super::{Course, IN_USE, Outcome, Ownership, Releases, Writing};
use crate::changes::Step;
use crate::cluster::Placed;
use crate::failure::{Cause, Failure};
use crate::hooks::Attempt;
use crate::moment;
use crate::prepared::Prepared;
use crate::records::{Record, RecordError};

impl Releases {
    /// Installs a release that has no record yet.
    ///
    /// A failure without a record left nothing behind; one with a record left objects, and is to be uninstalled.
    pub async fn install(&self, prepared: Prepared) -> Result<Outcome, Failure> {
        let Prepared {
            mut release,
            documents,
            labels,
        } = prepared;
        let objects = self.place(&documents).await.map_err(|failure| {
            failure.while_doing("unable to build kubernetes objects from release manifest")
        })?;
        let looks_first =
            self.options.ownership == Ownership::First || self.has_hooks(&release, &HookEvent::PreInstall);
        let (steps, course) = if looks_first {
            let existing = self
                .claim(&objects)
                .await
                .map_err(|failure| failure.while_doing("Unable to continue with install"))?;
            let step = |object: &Placed| {
                if existing.contains(&object.id) {
                    Step::Update
                } else {
                    Step::New
                }
            };
            let course = if existing.is_empty() {
                Course::Create
            } else {
                Course::Update
            };
            (objects.iter().map(step).collect(), course)
        } else {
            (vec![Step::New; objects.len()], Course::Create)
        };
        let now = Some(moment::now());
        release.info.first_deployed.clone_from(&now);
        release.info.last_deployed = now;
        release.set_status(Status::PendingInstall, "Initial install underway");
        let record = self
            .records
            .create(release, &labels)
            .await
            .map_err(|error| match error {
                RecordError::Exists => Failure::new(Cause::InUse, IN_USE),
                error => Failure::from(error),
            })?;
        Box::pin(self.finish_install(record, &objects, &steps, course, Attempt::First)).await
    }

    /// Does what is left to do when the record of an installation is there.
    pub(super) async fn finish_install(
        &self,
        mut record: Record,
        objects: &[Placed],
        steps: &[Step],
        course: Course,
        attempt: Attempt,
    ) -> Result<Outcome, Failure> {
        let description = format!("Release {:?} failed", self.id.name);
        let before = self.run_hooks(&mut record, HookEvent::PreInstall, attempt).await;
        if let Err(failure) = before {
            let failure = failure.while_doing("failed pre-install");
            return Err(self.failed(record, &description, failure).await);
        }
        let writing = self.write(objects, steps, course).await;
        // That something was there is sometimes seen only now.
        let course = if writing.existing.is_empty() {
            course
        } else {
            Course::Update
        };
        if let Some(failure) = self.failure_of(&writing, course) {
            if failure.cause == Cause::Collision {
                return Err(self.take_back(record, writing, failure, attempt).await);
            }
            return Err(self.failed(record, &description, failure).await);
        }
        let after = self.run_hooks(&mut record, HookEvent::PostInstall, attempt).await;
        if let Err(failure) = after {
            let failure = failure.while_doing("failed post-install");
            return Err(self.failed(record, &description, failure).await);
        }
        let done = self.options.done("Install complete");
        record.release.set_status(Status::Deployed, done);
        match self.records.update(&mut record).await {
            Ok(()) => Ok(Outcome {
                record,
                written: writing.written,
            }),
            Err(error) => Err(Failure::from(error).with(record)),
        }
    }

    /// Deletes what was made before an object was found that belongs to somebody else, and the record: Helm looks before
    /// it does anything, so nothing may be left.
    async fn take_back(
        &self,
        record: Record,
        writing: Writing,
        failure: Failure,
        attempt: Attempt,
    ) -> Failure {
        let mut failure = failure.while_doing("Unable to continue with install");
        let mut made = writing.created;
        if attempt == Attempt::Resumed {
            // The installation that was cut short made them.
            made.extend(writing.existing);
        }
        for object in made.iter().rev() {
            if let Err(error) = self.writer().let_go(object).await {
                tracing::warn!(release = %self.id, object = %object.id, %error, "an object could not be taken back");
                failure.note(&error);
                return failure.with(record);
            }
        }
        match self.records.delete_record(&record).await {
            Ok(()) => failure,
            Err(error) => {
                tracing::warn!(release = %self.id, %error, "a record could not be taken back");
                failure.with(record)
            }
        }
    }
}
