//! What the status and events say of a look.

use std::collections::BTreeSet;
use std::time::Duration;

use api::condition::ConditionStatus;
use apply::object::ObjectId;
use chart::schema::SchemaViolation;
use duty::events::{Announcement, Telling};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use release::actions::Repaired;
use release::failure::{Cause, Failure};
use release::records::Record;
use release::writing::Written;
use tokio::time::Instant;

use super::repairing::left;
use super::{Again, Look};
use crate::backoff::LONGEST_WAIT;
use crate::drift_report;
use crate::invalid_fields;
use crate::readiness;
use crate::resource::CustomResource;
use crate::status::{Aspect, DeployedRelease, Drift, Retry, Statement, StatusChange};
use crate::writing::{self, WriteError};

/// How long nobody may look after a resource before that is said: operators start and are replaced one after the other.
const HERALD_PAUSE: Duration = Duration::from_secs(3);

/// How long two operators may pick a resource before that is said: at an upgrade the older one goes soon after the newer one
/// has taken its resources over.
const OUTRANKED_PAUSE: Duration = Duration::from_secs(10);

impl Look<'_> {
    /// Nobody has looked after the resource for a time.
    pub(super) async fn as_herald(&self, message: String, has_been: Duration) -> Again {
        self.world.let_go(self.key);
        let pause = HERALD_PAUSE.saturating_sub(has_been);
        if !pause.is_zero() {
            return Again::After(pause);
        }
        let mut change = StatusChange::default();
        change
            .say(Statement::new(
                Aspect::Selected,
                ConditionStatus::False,
                "NotSelected",
                message.clone(),
            ))
            .say(Statement::new(
                Aspect::Ready,
                ConditionStatus::Unknown,
                "NotSelected",
                "no running operator looks after this resource, so that nobody knows whether it works",
            ));
        let announcement = Announcement::warning("NotSelected", message);
        self.announce_once(&announcement).await;
        self.write_status(self.resource, &change, Again::WhenChanged)
            .await
    }

    /// A newer operator has looked after the resource for a time.
    pub(super) async fn as_outranked(&self, by: &str, has_been: Duration) -> Again {
        self.world.let_go(self.key);
        self.world.forget_tries(self.key);
        let pause = OUTRANKED_PAUSE.saturating_sub(has_been);
        if !pause.is_zero() {
            return Again::After(pause);
        }
        let announcement = Announcement::warning(
            "AlsoSelected",
            format!("another operator picks this resource too and looks after it: {by}"),
        );
        self.announce_once(&announcement).await;
        Again::WhenChanged
    }

    pub(super) async fn pause(&self) -> Again {
        let mut change = StatusChange::default();
        for aspect in [
            Aspect::Irreconcilable,
            Aspect::Deployed,
            Aspect::Initialized,
            Aspect::ReleaseFailed,
        ] {
            change.say(Statement::plain(aspect, ConditionStatus::Unknown));
        }
        change
            .say(Statement::new(
                Aspect::Paused,
                ConditionStatus::True,
                "PauseReconcileAnnotationTrue",
                "",
            ))
            .unsay(Aspect::Ready)
            .release(None);
        self.world.let_go(self.key);
        self.write_status(self.resource, &change, Again::WhenChanged)
            .await
    }

    pub(super) async fn collide(&self, chart: &str) -> Again {
        self.world.let_go(self.key);
        let message = format!(
            "duplicate release name: found existing release with name {:?} for chart {chart:?}; give the resource \
             another name, or delete the one that has it",
            self.id.name
        );
        self.announce_once(&Announcement::warning("ReleaseNameTaken", message.clone()))
            .await;
        let mut change = Self::beginning();
        self.cannot_tell_state(&mut change, &message);
        // Nothing is done, so nothing comes back: the records tell when the name is free.
        self.write_status(self.resource, &change, Again::After(LONGEST_WAIT))
            .await
    }

    /// What every look says first.
    pub(super) fn beginning() -> StatusChange {
        let mut change = StatusChange::default();
        change
            .say(Statement::plain(Aspect::Paused, ConditionStatus::False))
            .say(Statement::plain(Aspect::Initialized, ConditionStatus::True))
            .unsay(Aspect::Selected)
            .unsay(Aspect::Valid);
        change
    }

    /// Points to the fields of the resource whose values the chart's schema doesn't allow.
    pub(super) fn say_invalid(&self, change: &mut StatusChange, violation: &SchemaViolation) {
        change.say(Statement::new(
            Aspect::Valid,
            ConditionStatus::False,
            "SchemaViolation",
            invalid_fields::describe(violation, &self.blueprint.watch.overrides),
        ));
    }

    pub(super) fn say_failed(&self, change: &mut StatusChange, reason: &'static str, message: &str) {
        change
            .say(Statement::new(
                Aspect::Irreconcilable,
                ConditionStatus::True,
                "ReconcileError",
                message,
            ))
            .say(Statement::new(
                Aspect::ReleaseFailed,
                ConditionStatus::True,
                reason,
                message,
            ))
            .observed(self.resource.generation);
        self.world.unsettle(self.key);
    }

    pub(super) fn cannot_tell_state(&self, change: &mut StatusChange, message: &str) {
        change
            .say(Statement::new(
                Aspect::Irreconcilable,
                ConditionStatus::True,
                "ErrorGettingReleaseState",
                message,
            ))
            .say(Statement::plain(Aspect::ReleaseFailed, ConditionStatus::Unknown))
            .say(Statement::plain(Aspect::Deployed, ConditionStatus::Unknown))
            .observed(self.resource.generation)
            .release(None);
        self.world.unsettle(self.key);
    }

    pub(super) fn say_readiness(&self, change: &mut StatusChange) {
        if let Some(statement) = readiness::statement(&self.world.dependents.readiness(self.key)) {
            change.say(statement);
        }
    }

    /// Says what a comparison of objects – of all, if none are named – found otherwise than the release has it.
    pub(super) async fn say_drift(
        &self,
        change: &mut StatusChange,
        repaired: &Repaired,
        looked_at: Option<&BTreeSet<ObjectId>>,
    ) {
        let fields = drift_report::fields(&repaired.changes);
        if !fields.is_empty() {
            let message = format!("changed by others and set back: {}", fields.join("; "));
            self.announce(&Announcement::normal("DriftRepaired", message))
                .await;
        }
        self.say_what_is_left(change, fields, looked_at, &repaired.scaled)
            .await;
    }

    /// Says of the objects that an upgrade wrote whose number of replicas is left to others.
    pub(super) async fn say_scaled(&self, change: &mut StatusChange, written: &[Written]) {
        let looked_at: BTreeSet<ObjectId> = written.iter().map(|written| written.id.clone()).collect();
        let scaled: Vec<(ObjectId, String)> = written
            .iter()
            .filter_map(|written| Some((written.id.clone(), written.scaled_by.clone()?)))
            .collect();
        self.say_what_is_left(change, Vec::new(), Some(&looked_at), &scaled)
            .await;
    }

    async fn say_what_is_left(
        &self,
        change: &mut StatusChange,
        repaired: Vec<String>,
        looked_at: Option<&BTreeSet<ObjectId>>,
        scaled: &[(ObjectId, String)],
    ) {
        if !scaled.is_empty() {
            let words = drift_report::left(scaled).join("; ");
            self.announce_once(&Announcement::normal("LeftToOthers", words))
                .await;
        }
        let before = Drift::left(&self.resource.status.open());
        let left = drift_report::left_by_now(&before, looked_at, scaled);
        if !repaired.is_empty() || left != before {
            change.drift(Drift { repaired, left });
        }
    }

    /// What went wrong, and which rules are missing.
    pub(super) fn words(failure: &Failure) -> String {
        let mut message = failure.message.clone();
        if !failure.missing.is_empty() {
            let rules: Vec<String> = failure.missing.iter().map(ToString::to_string).collect();
            message.push_str("\nthe operator lacks rights: ");
            message.push_str(&rules.join("; "));
            message
                .push_str("; `baton bundle generate` writes a bundle with the rights that the chart needs");
        }
        message
    }

    pub(super) async fn announce_once(&self, announcement: &Announcement) {
        if !self.world.announcer.has_told(&self.resource.uid, announcement) {
            self.announce(announcement).await;
        }
    }

    pub(super) async fn announce(&self, announcement: &Announcement) {
        let (resource, kind) = (self.resource, &self.blueprint.watch.kind);
        let telling = Telling {
            reporter: format!("{}-controller", kind.kind.to_lowercase()),
            about: ObjectReference {
                api_version: Some(kind.api_version()),
                kind: Some(kind.kind.clone()),
                name: Some(resource.id.name.clone()),
                namespace: Some(resource.id.namespace.clone()).filter(|namespace| !namespace.is_empty()),
                resource_version: Some(resource.resource_version.clone()),
                uid: Some(resource.uid.clone()),
                field_path: None,
            },
            happened: Timestamp::now(),
        };
        self.world.announcer.tell(&telling, announcement).await;
    }

    pub(super) async fn announce_overrides(&self) {
        for (path, value) in self.blueprint.watch.overrides.iter() {
            let value = if self.world.suppress_override_values {
                "****"
            } else {
                value
            };
            let message = format!("Chart value {path:?} overridden to {value:?} by operator");
            let announcement = Announcement::warning("ValueOverridden", message);
            self.announce(&announcement).await;
        }
    }

    /// Waits for the next try. What is there may begin or cease to work meanwhile, and that is said all the same.
    pub(super) async fn wait_for_next_try(&self, rest: Duration) -> Again {
        if !self.resource.is_deleted && self.world.dependents.holds(self.key) {
            let mut change = StatusChange::default();
            self.say_readiness(&mut change);
            if let Err(fault) = writing::write_status(self.world, self.key, self.resource, &change).await
                && !fault.is_not_found()
            {
                self.failed_write(&fault);
            }
        }
        Again::After(rest)
    }

    /// Writes what is said of a look that didn't fail.
    pub(super) async fn write_status(
        &self,
        resource: &CustomResource,
        change: &StatusChange,
        again: Again,
    ) -> Again {
        self.world.back_off.succeeded(self.key);
        self.world.awaited.forget(self.key);
        let mut change = change.clone();
        change.no_retry();
        match writing::write_status(self.world, self.key, resource, &change).await {
            Ok(()) => again,
            Err(fault) if fault.is_not_found() => Again::WhenChanged,
            Err(fault) => self.failed_write(&fault),
        }
    }

    /// Writes what is said of a look that failed, and when the next try is.
    pub(super) async fn try_later(&self, change: StatusChange) -> Again {
        self.try_later_because(change, "").await
    }

    /// The same, with a cause that no other condition says.
    async fn try_later_because(&self, mut change: StatusChange, cause: &str) -> Again {
        let period = self
            .wishes
            .reconcile_period
            .or(self.blueprint.watch.reconcile_period);
        let (failures, wait) = self
            .world
            .back_off
            .failed(self.key, &self.asked, Instant::now(), period);
        self.world.awaited.wait_for(self.key, self.take_awaits());
        let retry = Retry {
            attempt: failures.saturating_add(1),
            at: Timestamp::now() + wait,
            of: self.asked.clone(),
        };
        change.retry(retry, cause);
        match writing::write_status(self.world, self.key, self.resource, &change).await {
            Ok(()) => Again::AfterFailure(wait),
            Err(fault) if fault.is_not_found() => Again::WhenChanged,
            Err(fault) => {
                self.failed_write(&fault);
                Again::AfterFailure(wait)
            }
        }
    }

    pub(super) fn failed_write(&self, fault: &WriteError) -> Again {
        if fault.is_conflict() {
            tracing::debug!(resource = %self.resource.id, "somebody else changed the resource meanwhile");
        } else {
            tracing::warn!(resource = %self.resource.id, %fault, "the resource can't be written; trying again");
        }
        Again::Unwritten
    }

    /// Notes the objects that an action wrote before it failed, so that they don't come back as somebody else's changes.
    pub(super) fn note_written(&self, failure: &Failure) {
        self.world.dependents.left(&left(&failure.written));
    }

    /// Says that the server was away, or somebody else at work; the conditions stay as they are.
    pub(super) async fn interrupted(&self, failure: &Failure) -> Again {
        tracing::warn!(resource = %self.resource.id, %failure, "the release was interrupted; trying again");
        self.world.unsettle(self.key);
        self.note_written(failure);
        if *self.unwanted.borrow() {
            // It is to go, and that is looked at already.
            return Again::Soon;
        }
        self.try_later_because(StatusChange::default(), &failure.message)
            .await
    }

    pub(super) async fn cannot_read_records(&self, failure: &Failure) -> Again {
        if failure.cause == Cause::Interrupted {
            return self.interrupted(failure).await;
        }
        let mut change = Self::beginning();
        let message = Self::words(failure);
        self.cannot_tell_state(&mut change, &message);
        self.try_later(change).await
    }
}

pub(super) fn say_deployed(change: &mut StatusChange, record: &Record) {
    let release = &record.release;
    let (reason, otherwise) = if release.version > 1 {
        ("UpgradeSuccessful", "release was successfully upgraded")
    } else {
        ("InstallSuccessful", "release was successfully installed")
    };
    let message = if release.info.notes.is_empty() {
        otherwise
    } else {
        release.info.notes.as_str()
    };
    change
        .say(Statement::new(
            Aspect::Deployed,
            ConditionStatus::True,
            reason,
            message,
        ))
        .release(Some(DeployedRelease {
            name: release.name.clone(),
            manifest: release.manifest.clone(),
        }));
}
