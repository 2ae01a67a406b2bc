//! Making what a resource asks for true: install, upgrade, and what was cut off brought to an end.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use api::condition::ConditionStatus;
use apply::object::ObjectId;
use chart::engine::Operation;
use chart::release::Status;
use duty::events::Announcement;
use jiff::Timestamp;
use release::actions::{IN_PROGRESS, Options, Ownership, Releases};
use release::definitions;
use release::failure::{Cause, Failure};
use release::hooks::Attempt;
use release::records::{Record, Standing};
use release::recovery::{self, Found, Recovery};

use super::repairing::left;
use super::saying::say_deployed;
use super::{Again, Look, RECORDS_PAUSE};
use crate::blueprint::RenderError;
use crate::deciding::{self, Comparison};
use crate::preparing::{Before, LookedUp, Preparation, PreparationError, Wanted};
use crate::resource::ActionWishes;
use crate::status::{Aspect, Statement, StatusChange};

/// How long the definitions of a chart may take to be served.
const DEFINITIONS_WITHIN: Duration = Duration::from_mins(1);

/// How long another operator that runs may still be at work on a release that it began.
const HANDED_OVER: Duration = Duration::from_mins(1);

impl Look<'_> {
    pub(super) async fn install(&self) -> Again {
        let mut change = Self::beginning();
        // Helm can't even look for a release of such a name.
        if chart::release_name::validate(&self.id.name).is_err() {
            let message = format!("releaseContent: Release name is invalid: {}", self.id.name);
            self.cannot_tell_state(&mut change, &message);
            return self.try_later(change).await;
        }
        change.say(Statement::plain(Aspect::Deployed, ConditionStatus::False));
        let wanted = match self.wanted(None, Operation::Install, 1, &mut change).await {
            Ok(wanted) => wanted,
            Err(Unwanted::Said) => {
                return self.try_later(change).await;
            }
            Err(Unwanted::Fault(fault)) => {
                self.say_failed(&mut change, "InstallError", &fault);
                return self.try_later(change).await;
            }
        };
        let mut options = self.options(&self.wishes.install, false);
        if self.world.last_failure(self.key) == Some(Cause::Collision) {
            // What belonged to somebody else most likely still does: nothing is written before that is known.
            options.ownership = Ownership::First;
        }
        let releases = Releases::new(&self.world.cluster, &self.id, options);
        let objects = wanted.objects.clone();
        let installed = releases.install(wanted.prepared).await;
        let cause = installed.as_ref().err().map(|failure| failure.cause);
        self.world.note_failure(self.key, cause);
        match installed {
            Ok(outcome) => {
                self.announce_overrides().await;
                self.finish(change, &outcome, &objects, wanted.looked_at_cluster)
                    .await
            }
            Err(failure) if failure.cause == Cause::Interrupted => self.interrupted(&failure).await,
            // Somebody was faster: the next look sees what is there.
            Err(failure) if failure.cause == Cause::InUse => self.interrupted(&failure).await,
            Err(failure) => {
                let mut message = Self::words(&failure);
                self.await_refused(&failure);
                if failure.record.is_some()
                    && let Err(second) = self.uninstall_failed().await
                {
                    if second.cause == Cause::Interrupted {
                        return self.interrupted(&second).await;
                    }
                    message = format!("uninstall failed: {second}: original install error: {message}");
                }
                self.say_failed(&mut change, "InstallError", &message);
                self.try_later(change).await
            }
        }
    }

    /// Takes away what an installation that failed has left.
    pub(super) async fn uninstall_failed(&self) -> Result<(), Failure> {
        let Some(standing) = self.records().standing().await? else {
            return Ok(());
        };
        let releases = self.releases(&ActionWishes::default(), false);
        releases.uninstall(standing, Attempt::First).await.map(|_| ())
    }

    pub(super) async fn compare(&self, drifted: BTreeSet<ObjectId>) -> Again {
        let standing = match self.records().standing().await {
            Ok(Some(standing)) => standing,
            Ok(None) => return Again::After(RECORDS_PAUSE),
            Err(fault) => {
                self.world.put_back_drifted(self.key, drifted);
                return self.cannot_read_records(&fault.into()).await;
            }
        };
        let mut change = Self::beginning();
        say_deployed(&mut change, &standing.last);
        let labels = standing.base().user_labels();
        let before = Before {
            release: &standing.base().release,
            labels: &labels,
            last: &standing.last.release,
        };
        let next = standing.next_version();
        let wanted = match self
            .wanted(Some(&before), Operation::Upgrade, next, &mut change)
            .await
        {
            Ok(wanted) => wanted,
            Err(Unwanted::Said) => {
                return self.try_later(change).await;
            }
            Err(Unwanted::Fault(message)) => {
                self.cannot_tell_state(&mut change, &message);
                return self.try_later(change).await;
            }
        };
        let last = &standing.last.release;
        let is_same = wanted.prepared.release().manifest == last.manifest
            || self.differs_by_number_alone(&standing, &wanted).await;
        let recovery = recovery::decide(&Found {
            status: &last.info.status,
            same_content: is_same,
            ours: self.is_left_by_us(&standing.last),
            age: Self::age_of(&standing.last),
            deleting: false,
        });
        let failed = matches!(last.info.status, Status::Failed | Status::Superseded);
        change.say(Statement::plain(Aspect::Irreconcilable, ConditionStatus::False));
        match deciding::compare(recovery, failed, is_same) {
            Comparison::Verify => self.verify(change, standing, wanted, &drifted).await,
            Comparison::Upgrade => self.upgrade(change, standing, wanted, &drifted).await,
            Comparison::Recover(recovery) => {
                Box::pin(self.recover(change, recovery, standing, wanted, &drifted)).await
            }
        }
    }

    /// Returns whether what is wanted differs from what is there only because the next revision has another number.
    pub(super) async fn differs_by_number_alone(&self, standing: &Standing, wanted: &Wanted) -> bool {
        let last = &standing.last.release;
        // Where the number isn't in the manifest, a second render can't make a difference.
        if !wanted
            .prepared
            .release()
            .manifest
            .contains(&standing.next_version().to_string())
        {
            return false;
        }
        let labels = standing.last.user_labels();
        let before = Before {
            release: last,
            labels: &labels,
            last,
        };
        let mut ignored = StatusChange::default();
        let same_number = self
            .wanted(Some(&before), Operation::Upgrade, last.version, &mut ignored)
            .await;
        same_number.is_ok_and(|same| same.prepared.release().manifest == last.manifest)
    }

    pub(super) async fn upgrade(
        &self,
        mut change: StatusChange,
        standing: Standing,
        wanted: Wanted,
        drifted: &BTreeSet<ObjectId>,
    ) -> Again {
        let releases = self.releases_of(&wanted, &self.wishes.upgrade);
        let objects = wanted.objects.clone();
        match releases.upgrade(standing, wanted.prepared, drifted).await {
            Ok(outcome) => {
                self.announce_overrides().await;
                self.say_scaled(&mut change, &outcome.written).await;
                self.finish(change, &outcome, &objects, wanted.looked_at_cluster)
                    .await
            }
            Err(failure) if failure.cause == Cause::Interrupted => self.interrupted(&failure).await,
            Err(failure) if matches!(failure.cause, Cause::InUse | Cause::Pending) => {
                self.cannot_tell_state(&mut change, &failure.message);
                self.try_later(change).await
            }
            Err(failure) => {
                let mut message = Self::words(&failure);
                self.note_written(&failure);
                if failure.record.is_some()
                    && let Err(second) = self.roll_back().await
                {
                    if second.cause == Cause::Interrupted {
                        return self.interrupted(&second).await;
                    }
                    self.note_written(&second);
                    message = format!("rollback failed: {second}: original upgrade error: {message}");
                }
                if failure.record.is_some() {
                    self.replace_failed().await;
                } else {
                    self.await_refused(&failure);
                }
                self.say_failed(&mut change, "UpgradeError", &message);
                self.try_later(change).await
            }
        }
    }

    /// Looks after a release that is to become what is wanted; its record says what stays as it was all the same.
    fn releases_of(&self, wanted: &Wanted, wishes: &ActionWishes) -> Releases {
        let options = Options {
            remark: wanted.kept.clone(),
            ..self.options(wishes, self.wishes.upgrade_force)
        };
        Releases::new(&self.world.cluster, &self.id, options)
    }

    pub(super) async fn roll_back(&self) -> Result<(), Failure> {
        let Some(standing) = self.records().standing().await? else {
            return Ok(());
        };
        let releases = self.releases(&ActionWishes::default(), self.wishes.rollback_force);
        let to = Releases::good_revision(&standing);
        let outcome = releases.rollback(standing, to).await?;
        self.world.dependents.left(&left(&outcome.written));
        Ok(())
    }

    /// Lets what failed take the place of its earlier tries in the history.
    async fn replace_failed(&self) {
        let releases = self.releases(&ActionWishes::default(), false);
        if let Err(fault) = releases.replace_failed().await {
            tracing::warn!(release = %self.id, %fault, "earlier revisions that failed could not be taken out of the history");
        }
    }

    /// Brings to an end what was cut off.
    pub(super) async fn recover(
        &self,
        mut change: StatusChange,
        recovery: Recovery,
        standing: Standing,
        wanted: Wanted,
        drifted: &BTreeSet<ObjectId>,
    ) -> Again {
        let revision = standing.last.release.version;
        match recovery {
            Recovery::Nothing => self.upgrade(change, standing, wanted, drifted).await,
            Recovery::Wait(delay) => {
                self.cannot_tell_state(&mut change, IN_PROGRESS);
                let is_operator = standing.last.written_by() == Some(self.world.cluster.manager());
                let delay = if is_operator {
                    delay.min(HANDED_OVER.saturating_sub(Self::age_of(&standing.last)))
                } else {
                    delay
                };
                self.write_status(self.resource, &change, Again::After(delay))
                    .await
            }
            Recovery::Resume => {
                let action = if revision == 1 {
                    &self.wishes.install
                } else {
                    &self.wishes.upgrade
                };
                let announcement = Announcement::normal(
                    "ReleaseResumed",
                    format!("revision {revision} was cut off and is brought to an end"),
                );
                self.announce(&announcement).await;
                let releases = self.releases_of(&wanted, action);
                match releases.resume(standing).await {
                    Ok(outcome) => {
                        self.finish(change, &outcome, &wanted.objects, wanted.looked_at_cluster)
                            .await
                    }
                    Err(failure) if failure.cause == Cause::Interrupted => self.interrupted(&failure).await,
                    Err(failure) => {
                        let reason = if revision == 1 {
                            "InstallError"
                        } else {
                            "UpgradeError"
                        };
                        let message = Self::words(&failure);
                        self.note_written(&failure);
                        self.say_failed(&mut change, reason, &message);
                        self.try_later(change).await
                    }
                }
            }
            Recovery::GiveUp => {
                let releases = self.releases(&self.wishes.upgrade, self.wishes.upgrade_force);
                let why = format!("revision {revision} was cut off; the next one takes its place");
                match releases.give_up(standing, &why).await {
                    Ok(standing) => self.upgrade(change, standing, wanted, drifted).await,
                    Err(fault) => self.cannot_read_records(&fault.into()).await,
                }
            }
            Recovery::FinishUninstall => {
                // The resource is still wanted: what is left of the old release makes room for a new one.
                let releases = self.releases(&self.wishes.uninstall, false);
                match releases.uninstall(standing, Attempt::Resumed).await {
                    Ok(_) => Again::Soon,
                    Err(failure) => {
                        let message = Self::words(&failure);
                        self.say_failed(&mut change, "UninstallError", &message);
                        self.try_later(change).await
                    }
                }
            }
        }
    }

    /// Works out what the resource asks for; a fault in the values is said at once.
    pub(super) async fn wanted(
        &self,
        before: Option<&Before<'_>>,
        operation: Operation,
        revision: i64,
        change: &mut StatusChange,
    ) -> Result<Wanted, Unwanted> {
        let values = match self.blueprint.values(self.resource) {
            Ok(values) => Arc::new(values),
            Err(fault) => {
                change
                    .say(Statement::new(
                        Aspect::Irreconcilable,
                        ConditionStatus::True,
                        "ErrorGettingValues",
                        fault.to_string(),
                    ))
                    .say(Statement::plain(Aspect::ReleaseFailed, ConditionStatus::Unknown))
                    .observed(self.resource.generation);
                return Err(Unwanted::Said);
            }
        };
        if operation == Operation::Install {
            self.install_definitions(&values).await.map_err(Unwanted::Fault)?;
        }
        let capabilities = self.world.capabilities().await;
        let capabilities = capabilities.map_err(|fault| Unwanted::Fault(fault.to_string()))?;
        let preparation = Preparation {
            cluster: &self.world.cluster,
            blueprint: self.blueprint,
            capabilities: &capabilities,
            resource: self.resource,
            values: &values,
            before,
            looked_up: &LookedUp::default(),
        };
        let wanted = preparation.revision(operation, revision).await;
        self.await_lookups(preparation.looked_up, wanted.as_ref().ok());
        wanted.map_err(|fault| {
            match &fault {
                PreparationError::Render(RenderError::Values(violation)) => {
                    self.say_invalid(change, violation);
                }
                PreparationError::Unserved { id, .. } => self.await_definition(id),
                _ => {}
            }
            Unwanted::Fault(fault.to_string())
        })
    }

    /// Returns how long ago a record was written.
    fn age_of(record: &Record) -> Duration {
        let written = record.written().unwrap_or_default();
        Duration::try_from(Timestamp::now().duration_since(written)).unwrap_or_default()
    }

    /// Whether nobody else can be at work on a record: it carries the name that all operators have, and no other one
    /// that runs has its chart, or could not have begun it a moment ago, as when a resource is handed over.
    fn is_left_by_us(&self, record: &Record) -> bool {
        let chart = &record.release.chart;
        let (name, version) = (chart.metadata_text("name"), chart.metadata_text("version"));
        let others = self.world.roster.running();
        let is_others = others
            .iter()
            .any(|other| (&other.chart, &other.version) == (&name, &version));
        record.written_by() == Some(self.world.cluster.manager())
            && (!is_others || Self::age_of(record) >= HANDED_OVER)
    }

    pub(super) async fn install_definitions(&self, values: &chart::values::Table) -> Result<(), String> {
        let active = chart::dependencies::activate(&self.blueprint.chart, values, &mut |_| {})
            .map_err(|fault| fault.to_string())?;
        let definitions = chart::crds::crds(&active);
        if definitions.is_empty() {
            return Ok(());
        }
        definitions::install(&self.world.cluster, &definitions, DEFINITIONS_WITHIN)
            .await
            .map_err(|failure| Self::words(&failure))?;
        self.world.forget_capabilities().await;
        Ok(())
    }
}

/// Why it is not known what a resource asks for.
pub(super) enum Unwanted {
    /// The status says it already.
    Said,
    /// In words.
    Fault(String),
}
