//! Who of several controllers works: the one that holds a Lease.
//!
//! A claim is judged by when a change of the Lease was seen here, not by the times that are written in it: the clocks of
//! two machines needn't agree.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::api::{Api, PostParams};
use tokio::time::Instant;

/// How a Lease is held.
#[derive(Debug, Clone)]
pub struct Tenure {
    /// The namespace of the Lease.
    pub namespace: String,
    /// Its name.
    pub lease: String,
    /// Who claims it; no other process may have the same.
    pub identity: String,
    /// How long a claim lasts that is not renewed.
    pub lasts: Duration,
    /// How long the holder tries to renew before it gives up.
    pub renews_within: Duration,
    /// How often it is tried.
    pub every: Duration,
}

impl Tenure {
    /// Holds a Lease as upstream does.
    pub fn new(namespace: &str, lease: &str, identity: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            lease: lease.to_owned(),
            identity: identity.to_owned(),
            lasts: Duration::from_secs(137),
            renews_within: Duration::from_secs(107),
            every: Duration::from_secs(26),
        }
    }
}

/// What is known of a Lease.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Sight {
    /// What was written in it.
    spec: Option<LeaseSpecKey>,
    /// When it was first seen so.
    since: Instant,
}

/// Tells two states of a Lease apart.
type LeaseSpecKey = (Option<String>, Option<Timestamp>, Option<i32>);

fn key(spec: &LeaseSpec) -> LeaseSpecKey {
    let renewed = spec.renew_time.as_ref().map(|MicroTime(time)| *time);
    (spec.holder_identity.clone(), renewed, spec.lease_transitions)
}

/// What may be done with a Lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Claim {
    /// It is ours, and is renewed.
    Renew,
    /// It is nobody's any more, and is taken.
    Take,
    /// Somebody else holds it.
    Leave,
}

fn claim(spec: &LeaseSpec, sight: &Sight, identity: &str, lasts: Duration, now: Instant) -> Claim {
    let holder = spec.holder_identity.as_deref().unwrap_or_default();
    if holder == identity {
        return Claim::Renew;
    }
    let stated = spec
        .lease_duration_seconds
        .and_then(|seconds| u64::try_from(seconds).ok());
    let lasts = stated.map_or(lasts, Duration::from_secs);
    if holder.is_empty() || now.saturating_duration_since(sight.since) >= lasts {
        Claim::Take
    } else {
        Claim::Leave
    }
}

/// Works as long as the Lease is held, waits for it before, and ends when it is lost or the work is done.
///
/// Returns what the work came to; none if the Lease was lost. It is given back at the end, so that the next one needn't
/// wait.
pub async fn lead<T>(client: &kube::Client, tenure: &Tenure, work: impl Future<Output = T>) -> Option<T> {
    let mut election = Election {
        leases: Api::namespaced(client.clone(), &tenure.namespace),
        tenure,
        sight: None,
    };
    while !election.attempt().await {
        tokio::time::sleep(tenure.every).await;
    }
    tracing::info!(lease = tenure.lease, identity = tenure.identity, "leading");
    let renewing = async {
        let mut renewed = Instant::now();
        loop {
            tokio::time::sleep(tenure.every).await;
            if election.attempt().await {
                renewed = Instant::now();
            } else if renewed.elapsed() >= tenure.renews_within || election.is_others() {
                return;
            }
        }
    };
    let done = {
        tokio::pin!(work);
        tokio::select! {
            done = &mut work => Some(done),
            () = renewing => None,
        }
    };
    if done.is_some() {
        election.give_back().await;
    } else {
        tracing::warn!(
            lease = tenure.lease,
            identity = tenure.identity,
            "no longer leading"
        );
    }
    done
}

struct Election<'a> {
    leases: Api<Lease>,
    tenure: &'a Tenure,
    sight: Option<Sight>,
}

impl Election<'_> {
    /// Tries to take or to renew the Lease; returns whether it is held now.
    async fn attempt(&mut self) -> bool {
        match self.try_once().await {
            Ok(is_held) => is_held,
            Err(fault) => {
                tracing::debug!(lease = self.tenure.lease, %fault, "the lease can't be claimed");
                false
            }
        }
    }

    async fn try_once(&mut self) -> Result<bool, kube::Error> {
        let Some(mut lease) = self.leases.get_opt(&self.tenure.lease).await? else {
            let lease = Lease {
                metadata: ObjectMeta {
                    name: Some(self.tenure.lease.clone()),
                    namespace: Some(self.tenure.namespace.clone()),
                    ..ObjectMeta::default()
                },
                spec: Some(self.claimed(None)),
            };
            let made = self.leases.create(&PostParams::default(), &lease).await?;
            self.see(&made);
            return Ok(true);
        };
        self.see(&lease);
        let spec = lease.spec.clone().unwrap_or_default();
        let Some(sight) = &self.sight else {
            return Ok(false);
        };
        let tenure = self.tenure;
        if claim(&spec, sight, &tenure.identity, tenure.lasts, Instant::now()) == Claim::Leave {
            return Ok(false);
        }
        lease.spec = Some(self.claimed(Some(&spec)));
        // The resource version in it makes sure that nobody was faster.
        let written = self
            .leases
            .replace(&tenure.lease, &PostParams::default(), &lease)
            .await?;
        self.see(&written);
        Ok(true)
    }

    fn see(&mut self, lease: &Lease) {
        let spec = lease.spec.as_ref().map(key);
        if self.sight.as_ref().is_none_or(|sight| sight.spec != spec) {
            self.sight = Some(Sight {
                spec,
                since: Instant::now(),
            });
        }
    }

    /// Returns whether somebody else was last seen to hold the Lease.
    fn is_others(&self) -> bool {
        let holder = self.sight.as_ref().and_then(|sight| sight.spec.as_ref());
        let holder = holder
            .and_then(|(holder, _, _)| holder.as_deref())
            .unwrap_or_default();
        !holder.is_empty() && holder != self.tenure.identity
    }

    fn claimed(&self, before: Option<&LeaseSpec>) -> LeaseSpec {
        let now = MicroTime(Timestamp::now());
        let is_ours = before.is_some_and(|spec| spec.holder_identity.as_ref() == Some(&self.tenure.identity));
        let transitions = before.and_then(|spec| spec.lease_transitions).unwrap_or(0);
        LeaseSpec {
            holder_identity: Some(self.tenure.identity.clone()),
            lease_duration_seconds: i32::try_from(self.tenure.lasts.as_secs()).ok(),
            acquire_time: before
                .filter(|_| is_ours)
                .and_then(|spec| spec.acquire_time.clone())
                .or_else(|| Some(now.clone())),
            renew_time: Some(now),
            lease_transitions: Some(if before.is_none() || is_ours {
                transitions
            } else {
                transitions.saturating_add(1)
            }),
            ..LeaseSpec::default()
        }
    }

    async fn give_back(&mut self) {
        let given = async {
            let Some(mut lease) = self.leases.get_opt(&self.tenure.lease).await? else {
                return Ok(());
            };
            let Some(spec) = lease.spec.as_mut() else {
                return Ok(());
            };
            if spec.holder_identity.as_ref() != Some(&self.tenure.identity) {
                return Ok(());
            }
            spec.holder_identity = Some(String::new());
            spec.lease_duration_seconds = Some(1);
            self.leases
                .replace(&self.tenure.lease, &PostParams::default(), &lease)
                .await
                .map(drop)
        };
        let given: Result<(), kube::Error> = given.await;
        if let Err(fault) = given {
            tracing::debug!(lease = self.tenure.lease, %fault, "the lease can't be given back; it runs out by itself");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held_by(holder: &str) -> LeaseSpec {
        LeaseSpec {
            holder_identity: Some(holder.to_owned()),
            lease_duration_seconds: Some(15),
            ..LeaseSpec::default()
        }
    }

    #[test]
    fn a_lease_is_taken_when_it_was_not_renewed_for_its_time() {
        let spec = held_by("other");
        let sight = Sight {
            spec: Some(key(&spec)),
            since: Instant::now(),
        };
        let lasts = Duration::from_secs(100);
        let at = |seconds| sight.since + Duration::from_secs(seconds);
        assert_eq!(claim(&spec, &sight, "me", lasts, at(14)), Claim::Leave);
        assert_eq!(claim(&spec, &sight, "me", lasts, at(15)), Claim::Take);
        assert_eq!(claim(&spec, &sight, "other", lasts, at(1)), Claim::Renew);
        assert_eq!(claim(&held_by(""), &sight, "me", lasts, at(0)), Claim::Take);
    }
}
