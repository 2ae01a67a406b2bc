//! The way out: the release uninstalled, the resource let go.

use super::saying::say_deployed;
use super::*;

impl Look<'_> {
    pub(super) async fn uninstall(&self) -> Again {
        let standing = match self.records().standing().await {
            Ok(Some(standing)) => standing,
            Ok(None) => return self.part(StatusChange::default()).await,
            Err(fault) => return self.cannot_read_records(&fault.into()).await,
        };
        let wishes = self.resource.wishes();
        let mut change = self.beginning();
        say_deployed(&mut change, &standing.last);
        let objects = release::documents::read(&standing.base().release.manifest).unwrap_or_default();
        let attempt = match standing.last.release.info.status {
            Status::Uninstalling => Attempt::Resumed,
            _ => Attempt::First,
        };
        let options = Options {
            // Nothing new can be made there, hooks included.
            namespace_is_terminating: writing::is_namespace_terminating(self.world, &self.id.namespace).await,
            ..self.options(&wishes.uninstall, false)
        };
        let releases = Releases::new(&self.world.cluster, &self.id, options);
        match releases.uninstall(standing, attempt).await {
            Ok(_) => {
                if wishes.uninstall_wait {
                    writing::wait_until_gone(self.world, &self.id, &objects, VANISH_WITHIN).await;
                }
                self.part(change).await
            }
            Err(failure) if failure.cause == Cause::Interrupted => self.interrupted(&failure),
            Err(failure) => {
                let message = self.words(&failure);
                self.say_failed(&mut change, "UninstallError", &message);
                self.write_status(self.resource, &change, Again::AfterFailure)
                    .await
            }
        }
    }

    /// Lets the resource go.
    pub(super) async fn part(&self, mut change: StatusChange) -> Again {
        self.world.let_go(self.key);
        change
            .say(Statement::plain(Aspect::Initialized, Truth::True))
            .say(Statement::plain(Aspect::ReleaseFailed, Truth::False))
            .say(Statement::new(
                Aspect::Deployed,
                Truth::False,
                "UninstallSuccessful",
                "",
            ))
            .unsay(Aspect::Ready)
            .release(None);
        match writing::write_status(self.world, self.blueprint, self.resource, &change).await {
            Ok(_) => {}
            Err(fault) if fault.is_not_found() => return Again::WhenChanged,
            Err(fault) => return self.failed_write(&fault),
        }
        match writing::remove_finalizer(self.world, self.blueprint, self.resource).await {
            Ok(()) => Again::WhenChanged,
            Err(fault) if fault.is_not_found() => Again::WhenChanged,
            Err(fault) => self.failed_write(&fault),
        }
    }
}
