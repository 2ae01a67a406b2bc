//! ClusterServiceVersions, OperatorGroups, copies, OperatorConditions and Operators.

use std::sync::Arc;

use classic::{Attempt, Decision, Kind};
use futures_util::StreamExt as _;
use service_version::{Circumstances, Concern, Place, Random, installation_failed};

use crate::controller::{Again, Office, failed, now};
use crate::writing::WriteError;

/// How many copies are written at the same time: enough to hide the time that the API server takes, and few enough that it
/// serves others meanwhile.
const WRITES_AT_ONCE: usize = 8;

impl Office {
    pub(crate) async fn look_at_operators(self: &Arc<Self>, concern: &Concern) -> Again {
        let decision = {
            let circumstances = self.circumstances();
            concern.decide(&self.picture.look(), &circumstances)
        };
        self.count_upgrade(&decision);
        if let (Some(attempt), Concern::ServiceVersion(place)) = (&decision.attempt, concern)
            && let Err(fault) = self.attempt(attempt).await
        {
            return self.installation_failed(place, &fault).await;
        }
        match concern {
            Concern::Copies(_) => self.carry_out_at_once(&decision).await,
            _ => self.carry_out(&decision).await,
        }
    }

    /// Makes the writes of a decision whose order doesn't matter, several at the same time.
    async fn carry_out_at_once(&self, decision: &Decision) -> Again {
        let mut writes = Vec::new();
        for write in &decision.writes {
            writes.push(self.writer.write(write, None));
        }
        let mut written = futures_util::stream::iter(writes).buffer_unordered(WRITES_AT_ONCE);
        let mut fault = None;
        while let Some(written) = written.next().await {
            // One that fails keeps none of the others from being made.
            fault = fault.or(written.err());
        }
        match fault {
            Some(fault) => failed(&fault),
            None => self.conclude(decision),
        }
    }

    fn circumstances(&self) -> Circumstances<'static> {
        Circumstances {
            now: now(),
            secrets: &Random,
            protected_namespaces: self.options.protected_namespaces.iter().cloned().collect(),
        }
    }

    async fn attempt(&self, attempt: &Attempt) -> Result<(), WriteError> {
        for write in &attempt.writes {
            self.writer.write(write, attempt.account.as_ref()).await?;
        }
        Ok(())
    }

    async fn installation_failed(&self, place: &Place, fault: &WriteError) -> Again {
        if matches!(fault, WriteError::Stale(_)) {
            return failed(fault);
        }
        tracing::info!(namespace = place.namespace, version = place.name, %fault, "the installation failed");
        let decision = {
            let circumstances = self.circumstances();
            installation_failed(
                &self.picture.look(),
                &place.namespace,
                &place.name,
                &fault.to_string(),
                fault.is_forbidden(),
                &circumstances,
            )
        };
        self.carry_out(&decision).await
    }

    fn count_upgrade(&self, decision: &Decision) {
        let begins = decision.notices.iter().any(|notice| {
            notice.reason == "BeingReplaced" && notice.about.kind == Kind::ClusterServiceVersion.naming().kind
        });
        if begins {
            self.metrics.upgrade_begun();
        }
    }
}
