//! Rolling back: an earlier revision, released again.

use chart::manifest::HookEvent;
use chart::release::{Info, Release, Status};

use super::{Course, Outcome, Releases};
use crate::changes::{self, Changes, Extent};
use crate::cluster::Placed;
use crate::documents;
use crate::failure::{Cause, Failure};
use crate::history::History;
use crate::hooks::Attempt;
use crate::moment;
use crate::records::{Record, Standing};

impl Releases {
    /// Returns the revision to go back to when an upgrade failed: the one whose objects are in the cluster, or the one that
    /// it is a copy of, so that a history in which the same fails again and again leads to what once was made and not to
    /// the last way back. None where nothing ever was deployed.
    pub fn good_revision(standing: &Standing) -> Option<i64> {
        let base = standing.base.as_ref()?;
        let (version, info) = (base.release.version, &base.release.info);
        if !matches!(info.status, Status::Deployed | Status::Superseded) {
            return None;
        }
        let copied = info.description.strip_prefix(ROLLBACK_TO);
        let copied = copied.and_then(|number| standing.history.get(number.parse().ok()?));
        let copied = copied.filter(|revision| revision.status == Status::Superseded);
        Some(copied.map_or(version, |revision| revision.version))
    }

    /// Releases an earlier revision again; without a number, the one before the last. All of its objects are written.
    pub async fn rollback(&self, standing: Standing, to: Option<i64>) -> Result<Outcome, Failure> {
        let to = to.unwrap_or(standing.last.release.version - 1);
        let no_such = || Failure::new(Cause::NoRevision, format!("release has no {to} version"));
        standing.history.get(to).ok_or_else(no_such)?;
        let target = self.records.read(to).await?.ok_or_else(no_such)?;
        let labels = target.user_labels();
        let current = standing.last;
        let release = again(target.release, &current.release);
        let objects = self.place_again(&release).await?;
        let earlier = self.place_earlier(&current.release).await?;
        let changes = changes::between(&[earlier], &objects, Extent::All);
        self.records
            .prune(&standing.history, self.options.history_limit)
            .await?;
        let record = self.records.create(release, &labels).await?;
        Box::pin(self.finish_rollback(
            record,
            current,
            &standing.history,
            &objects,
            &changes,
            Attempt::First,
        ))
        .await
    }

    /// Finds where the objects of a revision are that is released again.
    pub(super) async fn place_again(&self, release: &Release) -> Result<Vec<Placed>, Failure> {
        let building = "unable to build kubernetes objects from new release manifest";
        let documents =
            documents::read(&release.manifest).map_err(|error| Failure::from(error).while_doing(building))?;
        let placed = self.place(&documents).await;
        placed.map_err(|failure| failure.while_doing(building))
    }

    /// Does what is left to do when the record of a rollback is there.
    pub(super) async fn finish_rollback(
        &self,
        mut record: Record,
        mut current: Record,
        history: &History,
        objects: &[Placed],
        changes: &Changes,
        attempt: Attempt,
    ) -> Result<Outcome, Failure> {
        let description = format!("Rollback {:?} failed", self.id.name);
        // Helm leaves the record pending if a hook fails, and nothing more can be done with the release.
        let before = self.run_hooks(&mut record, HookEvent::PreRollback, attempt).await;
        if let Err(failure) = before {
            return Err(self.failed(record, &description, failure).await);
        }
        let writing = self.write(objects, &changes.steps, Course::Update).await;
        let failure = match self.failure_of(&writing, Course::Update) {
            Some(failure) => Some(failure),
            None => self.delete(&changes.vanished).await.err(),
        };
        if let Some(failure) = failure {
            if failure.cause != Cause::Interrupted {
                current.release.info.status = Status::Superseded;
                if let Err(error) = self.records.update(&mut current).await {
                    tracing::warn!(release = %self.id, %error, "a record could not be superseded");
                }
            }
            let failure = failure.having_written(writing.written);
            return Err(self.failed(record, &description, failure).await);
        }
        let after = self
            .run_hooks(&mut record, HookEvent::PostRollback, attempt)
            .await;
        if let Err(failure) = after {
            let failure = failure.having_written(writing.written);
            return Err(self.failed(record, &description, failure).await);
        }
        for deployed in history.all_deployed() {
            let superseded = async {
                let Some(mut deployed) = self.records.read(deployed.version).await? else {
                    return Ok(());
                };
                deployed.release.info.status = Status::Superseded;
                self.records.update(&mut deployed).await
            };
            if let Err(error) = superseded.await {
                return Err(Failure::from(error).having_written(writing.written).with(record));
            }
        }
        record.release.info.status = Status::Deployed;
        match self.records.update(&mut record).await {
            Ok(()) => Ok(Outcome {
                record,
                written: writing.written,
            }),
            Err(error) => Err(Failure::from(error).having_written(writing.written).with(record)),
        }
    }
}

/// What Helm's words for a revision that is an earlier one again begin with; the number of that one follows.
pub(crate) const ROLLBACK_TO: &str = "Rollback to ";

/// Makes the next revision of an earlier one.
fn again(target: Release, current: &Release) -> Release {
    let version = target.version;
    let mut release = target;
    let mut info = Info::default();
    info.first_deployed.clone_from(&current.info.first_deployed);
    info.last_deployed = Some(moment::now());
    info.notes = std::mem::take(&mut release.info.notes);
    release.info = info;
    release.namespace.clone_from(&current.namespace);
    release.version = current.version.saturating_add(1);
    release.set_status(Status::PendingRollback, format!("{ROLLBACK_TO}{version}"));
    release
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rollback_is_the_earlier_revision_with_a_new_number() {
        let target = r#"{"name":"a","info":{"first_deployed":"1","status":"superseded","notes":"n"},"manifest":"m","version":1,"namespace":"x"}"#;
        let current = r#"{"name":"a","info":{"first_deployed":"0","status":"failed"},"manifest":"o","version":4,"namespace":"x"}"#;
        let read = |json| Release::from_json(json).expect("a release");
        let release = again(read(target), &read(current));
        assert_eq!((release.version, release.manifest.as_str()), (5, "m"));
        assert_eq!(release.info.first_deployed.as_deref(), Some("0"));
        assert_eq!(release.info.notes, "n");
        assert_eq!(release.info.status, Status::PendingRollback);
        assert_eq!(release.info.description, "Rollback to 1");
    }
}
