//! The way out: the release uninstalled, the resource let go.

use std::time::Duration;

use api::condition::ConditionStatus;
use chart::release::Status;
use release::actions::{Options, Releases};
use release::failure::Cause;
use release::hooks::Attempt;

use super::saying::say_deployed;
use super::{Again, Look};
use crate::status::{Aspect, Statement, StatusChange};
use crate::writing;

/// How long a resource that asks for it waits for its objects to vanish.
const VANISH_WITHIN: Duration = Duration::from_mins(5);

impl Look<'_> {
    pub(super) async fn uninstall(&self) -> Again {
        let standing = match self.records().standing().await {
            Ok(Some(standing)) => standing,
            Ok(None) => return self.part(StatusChange::default()).await,
            Err(fault) => return self.cannot_read_records(&fault.into()).await,
        };
        let mut change = Self::beginning();
        say_deployed(&mut change, &standing.last);
        let objects = release::documents::read(&standing.base().release.manifest).unwrap_or_default();
        let attempt = match standing.last.release.info.status {
            // One that failed begins anew, as upstream's does; one that was cut off goes on.
            Status::Uninstalling
                if self
                    .world
                    .last_failure(self.key)
                    .is_none_or(|cause| cause == Cause::Interrupted) =>
            {
                Attempt::Resumed
            }
            _ => Attempt::First,
        };
        // What goes now goes by us, and nothing of it is set back any more.
        self.world.dependents.release(self.key);
        let options = Options {
            // Nothing new can be made there, hooks included.
            namespace_is_terminating: writing::is_namespace_terminating(self.world, &self.id.namespace).await,
            ..self.options(&self.wishes.uninstall, false)
        };
        let releases = Releases::new(&self.world.cluster, &self.id, options);
        let uninstalled = releases.uninstall(standing, attempt).await;
        let cause = uninstalled.as_ref().err().map(|failure| failure.cause);
        self.world.note_failure(self.key, cause);
        match uninstalled {
            Ok(_) => {
                if self.wishes.uninstall_wait {
                    writing::wait_until_gone(self.world, &self.id, &objects, VANISH_WITHIN).await;
                }
                self.part(change).await
            }
            Err(failure) if failure.cause == Cause::Interrupted => self.interrupted(&failure).await,
            Err(failure) => {
                let message = Self::words(&failure);
                self.say_failed(&mut change, "UninstallError", &message);
                self.try_later(change).await
            }
        }
    }

    /// Lets the resource go.
    pub(super) async fn part(&self, mut change: StatusChange) -> Again {
        self.world.let_go(self.key);
        change
            .say(Statement::plain(Aspect::Initialized, ConditionStatus::True))
            .say(Statement::plain(Aspect::ReleaseFailed, ConditionStatus::False))
            .say(Statement::new(
                Aspect::Deployed,
                ConditionStatus::False,
                "UninstallSuccessful",
                "",
            ))
            .unsay(Aspect::Ready)
            .release(None);
        match writing::write_status(self.world, self.key, self.resource, &change).await {
            Ok(()) => {}
            Err(fault) if fault.is_not_found() => return Again::WhenChanged,
            Err(fault) => return self.failed_write(&fault),
        }
        match writing::remove_finalizer(self.world, self.key, self.resource).await {
            Ok(()) => Again::WhenChanged,
            Err(fault) if fault.is_not_found() => Again::WhenChanged,
            Err(fault) => self.failed_write(&fault),
        }
    }
}
