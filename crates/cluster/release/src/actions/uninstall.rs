//! Uninstalling: the objects of a release go, and then its records.

use apply::object::annotation;
use chart::manifest::{HookEvent, UNINSTALL_ORDER, compare_kinds};
use chart::release::Status;
use futures_util::{StreamExt as _, stream};

use super::Releases;
use crate::cluster::Placed;
use crate::failure::{Cause, Failure};
use crate::hooks::Attempt;
use crate::identity::{self, RESOURCE_POLICY};
use crate::moment;
use crate::records::{Record, RecordError, Standing};
use crate::writing::AT_ONCE;

/// What came of uninstalling a release.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Uninstalled {
    /// The objects that stay because they say so, in Helm's words; empty if there are none.
    pub kept: String,
}

impl Releases {
    /// Deletes the objects of a release and then its records, whatever state it is in.
    pub async fn uninstall(&self, standing: Standing, attempt: Attempt) -> Result<Uninstalled, Failure> {
        let mut record = standing.last.clone();
        if record.release.info.status == Status::Uninstalled {
            self.purge(&standing).await?;
            return Ok(Uninstalled::default());
        }
        let goes_on = attempt == Attempt::Resumed && record.release.info.status == Status::Uninstalling;
        if !goes_on {
            record.release.info.deleted = Some(moment::now());
        }
        record
            .release
            .set_status(Status::Uninstalling, "Deletion in progress (or silently failed)");
        let attempt = if goes_on { Attempt::Resumed } else { Attempt::First };
        self.run_hooks(&mut record, HookEvent::PreDelete, attempt)
            .await
            .map_err(|failure| failure.with(record.clone()))?;
        self.note(&mut record).await?;
        let kept = self.delete_objects(&record).await?;
        let after = self.run_hooks(&mut record, HookEvent::PostDelete, attempt).await;
        if let Err(failure) = &after
            && failure.cause == Cause::Interrupted
        {
            return after.map(|()| Uninstalled::default());
        }
        let purged = self
            .purge(&standing)
            .await
            .map_err(|error| Failure::from(error).while_doing("uninstall: Failed to purge the release"));
        let mut failures: Vec<Failure> = [after.err(), purged.err()].into_iter().flatten().collect();
        if let Some(last) = failures.pop() {
            let texts: Vec<String> = failures
                .iter()
                .chain([&last])
                .map(|failure| failure.message.clone())
                .collect();
            let message = format!(
                "uninstallation completed with {} error(s): {}",
                texts.len(),
                texts.join("; ")
            );
            return Err(Failure { message, ..last });
        }
        Ok(Uninstalled { kept })
    }

    /// Writes down that the release is going; a record that is gone already needs no more words.
    async fn note(&self, record: &mut Record) -> Result<(), Failure> {
        match self.records.update(record).await {
            Ok(()) | Err(RecordError::NotFound) => Ok(()),
            Err(error) => Err(Failure::from(error).with(record.clone())),
        }
    }

    async fn purge(&self, standing: &Standing) -> Result<(), RecordError> {
        for revision in standing.history.revisions() {
            self.records.delete(revision).await?;
        }
        Ok(())
    }

    /// Deletes the objects of a release, one kind after the other; returns those that stay.
    async fn delete_objects(&self, record: &Record) -> Result<String, Failure> {
        let failed = || format!("failed to delete release: {}", self.id.name);
        let mut objects = self.place_earlier(&record.release).await.map_err(|failure| {
            tracing::warn!(release = %self.id, error = %failure, "the objects of a release can't be read");
            Failure {
                message: failed(),
                ..failure
            }
            .with(record.clone())
        })?;
        objects.sort_by(|one, other| compare_kinds(&one.id.kind, &other.id.kind, UNINSTALL_ORDER));
        let mut kept = String::new();
        objects.retain(|object| {
            if identity::is_kept(&object.object) {
                kept = format!("{kept}[{}] {}\n", object.id.kind, object.id.name);
            }
            // Helm leaves objects alone whose policy it doesn't know.
            annotation(&object.object, RESOURCE_POLICY).is_none()
        });
        let mut failure: Option<Failure> = None;
        for batch in objects.chunk_by(|one, other| one.id.kind == other.id.kind) {
            let deleting: Vec<_> = batch
                .iter()
                .map(|object: &Placed| async move { (object, self.cluster.delete(object).await) })
                .collect();
            let deleted: Vec<_> = stream::iter(deleting).buffered(AT_ONCE).collect().await;
            for (object, deleted) in deleted {
                if let Err(error) = deleted {
                    if error.missing_permission().is_some() && self.cluster.is_surely_absent(object).await {
                        continue;
                    }
                    tracing::warn!(release = %self.id, object = %object.id, %error, "an object can't be deleted");
                    failure
                        .get_or_insert_with(|| Failure::new(Cause::Rejected, failed()))
                        .note(&error);
                }
            }
        }
        if let Some(failure) = failure {
            return Err(failure.with(record.clone()));
        }
        if !kept.is_empty() {
            kept = format!("These resources were kept due to the resource policy:\n{kept}");
        }
        Ok(kept)
    }
}
