//! Who of several controllers works: the one that holds a Lease.
//!
//! A claim is judged by when a change of the Lease was seen here, not by the times that are written in it: the clocks of
//! two machines needn't agree.

use std::time::Duration;

use futures_util::{Stream, StreamExt as _};
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::api::{Api, PostParams};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, watch_object};
use tokio::sync::watch;
use tokio::time::{Instant, timeout, timeout_at};

use crate::fence::{Fence, Moment};

mod tenure;

pub use tenure::Tenure;

/// How long work that has to end because the Lease was lost may take for it. It can't write any more.
const WINDS_UP_WITHIN: Duration = Duration::from_secs(5);

/// How long is waited for answers to the last writes, and how long giving back the Lease may take: others take over within
/// two seconds where all goes well, and otherwise when the Lease runs out.
const LAST_WRITES_WITHIN: Duration = Duration::from_secs(5);
const GIVEN_BACK_WITHIN: Duration = Duration::from_secs(2);

/// How much sooner than usual a Lease is tried to be renewed again after that failed.
const RETRIES_SOONER: u32 = 4;

/// How often a Lease is tried to be made in a namespace that is going: nothing tells when it is gone, and as long as it isn't, the
/// server says no without much ado.
const NAMESPACE_LOOKED_AT_EVERY: Duration = Duration::from_secs(1);

/// Who makes namespaces, as managed fields name it.
const FIELD_MANAGER: &str = "baton";

/// The time for which a Lease is held without a break, for the work that is done in it.
#[derive(Debug, Clone)]
pub struct Term(watch::Receiver<bool>);

impl Term {
    /// Waits until the Lease is lost: the work has to end then, and to leave everything so that it can begin anew.
    pub async fn is_over(&self) {
        // Nobody being left who could say so is as good as being told.
        self.0.clone().wait_for(|is_over| *is_over).await.ok();
    }
}

/// What is known of a Lease.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Sight {
    /// What was written in it.
    spec: Option<LeaseSpecKey>,
    /// How long the claim in it lasts, if it says so.
    lasts: Option<Duration>,
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
    if holder.is_empty() || now >= sight.since + stated(spec).unwrap_or(lasts) {
        Claim::Take
    } else {
        Claim::Leave
    }
}

/// What came of trying to hold a Lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attempt {
    /// It is held.
    Held,
    /// It isn't: somebody else has it, or the server said no, or nothing.
    NotHeld,
    /// Its namespace is being deleted, and nothing can be made there until it is gone.
    NamespaceGoes,
}

/// Returns how soon a Lease is tried to be renewed again after that failed; none is a try that took too long.
fn pause_after_failure(tried: Option<Attempt>, every: Duration) -> Duration {
    let sooner = every / RETRIES_SOONER;
    match tried {
        Some(Attempt::NamespaceGoes) => sooner.min(NAMESPACE_LOOKED_AT_EVERY),
        Some(Attempt::Held | Attempt::NotHeld) | None => sooner,
    }
}

/// Returns whether nothing can be made in a namespace because it is being deleted.
fn is_namespace_going(error: &kube::Error) -> bool {
    let kube::Error::Api(status) = error else {
        return false;
    };
    let causes = status.details.iter().flat_map(|details| &details.causes);
    status.code == 403
        && causes
            .into_iter()
            .any(|cause| cause.reason == "NamespaceTerminating")
}

/// Returns whether the server answered with a code.
fn is_answered(error: &kube::Error, code: u16) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == code)
}

/// Returns how long a claim lasts by what its holder says.
fn stated(spec: &LeaseSpec) -> Option<Duration> {
    let seconds = spec.lease_duration_seconds?;
    u64::try_from(seconds).ok().map(Duration::from_secs)
}

/// Works as long as the Lease is held, waits for it before, and ends when it is lost or the work is done.
///
/// Returns what the work came to; none if the Lease was lost, which the work is told of by its [`Term`]. The Lease is given
/// back at the end, so that the next one needn't wait. The fence is open only as long as the Lease can't be anybody else's.
pub async fn lead<T, W: Future<Output = T>>(
    client: &kube::Client,
    tenure: &Tenure,
    fence: &Fence,
    work: impl FnOnce(Term) -> W,
) -> Option<T> {
    let mut election = Election::new(client, tenure, fence);
    let renewed = election.wait_for_it().await;
    tracing::info!(lease = tenure.lease, identity = tenure.identity, "leading");
    let (say_over, is_over) = watch::channel(false);
    let mut work = std::pin::pin!(work(Term(is_over)));
    let done = tokio::select! {
        done = &mut work => Some(done),
        () = election.renew(renewed) => None,
    };
    if done.is_some() {
        fence.shut();
        if fence.is_quiet_within(LAST_WRITES_WITHIN).await {
            election.give_back().await;
        } else {
            tracing::warn!(
                lease = tenure.lease,
                "the server doesn't answer the last writes; the lease runs out by itself"
            );
        }
        fence.close();
    } else {
        fence.close();
        tracing::warn!(
            lease = tenure.lease,
            identity = tenure.identity,
            "no longer leading"
        );
        say_over.send_replace(true);
        if timeout(WINDS_UP_WITHIN, work).await.is_err() {
            tracing::debug!(lease = tenure.lease, "the work didn't end by itself");
        }
    }
    done
}

struct Election<'a> {
    leases: Api<Lease>,
    namespaces: Api<Namespace>,
    /// Whether it was told that the namespace can't be made: once is enough.
    is_refusal_told: bool,
    tenure: &'a Tenure,
    fence: &'a Fence,
    sight: Option<Sight>,
}

impl<'a> Election<'a> {
    fn new(client: &kube::Client, tenure: &'a Tenure, fence: &'a Fence) -> Self {
        Self {
            leases: Api::namespaced(client.clone(), &tenure.namespace),
            namespaces: Api::all(client.clone()),
            is_refusal_told: false,
            tenure,
            fence,
            sight: None,
        }
    }

    /// Waits until the Lease is held; returns when that was asked for.
    async fn wait_for_it(&mut self) -> Instant {
        // Who waits is told of each renewal, and at once when the Lease is given back.
        let changes = watch_object(self.leases.clone(), &self.tenure.lease).default_backoff();
        let mut changes = std::pin::pin!(changes);
        loop {
            let begun = Instant::now();
            // One that takes longer isn't worth much: the time that the Lease lasts is counted from here.
            match timeout(self.tenure.renews_within, self.attempt()).await {
                Ok(Attempt::Held) => return begun,
                Ok(Attempt::NamespaceGoes) => tokio::time::sleep(NAMESPACE_LOOKED_AT_EVERY).await,
                Ok(Attempt::NotHeld) | Err(_) => self.until_it_may_be_free(changes.as_mut()).await,
            }
        }
    }

    /// Renews the Lease again and again; ends when it is lost.
    async fn renew(&mut self, mut renewed: Instant) {
        let tenure = self.tenure;
        let mut pause = tenure.every;
        loop {
            tokio::time::sleep(pause).await;
            let begun = Instant::now();
            let given_up = renewed + tenure.renews_within;
            // A connection that leads nowhere must not use up all the time: the next try has another one.
            let this_try = given_up.min(begun + tenure.every);
            let tried = timeout_at(this_try, self.attempt()).await;
            pause = match tried {
                Ok(Attempt::Held) => {
                    renewed = begun;
                    tenure.every
                }
                _ if Instant::now() >= given_up || self.is_others() => return,
                tried => pause_after_failure(tried.ok(), tenure.every),
            };
        }
    }

    /// Waits until the Lease is given back or not renewed any more.
    async fn until_it_may_be_free(
        &mut self,
        mut changes: std::pin::Pin<&mut impl Stream<Item = watcher::Result<Option<Lease>>>>,
    ) {
        // Where nothing is known of the Lease, the next try says more.
        let next_try = Instant::now() + self.tenure.every;
        let mut until = self.runs_out().unwrap_or(next_try);
        loop {
            tokio::select! {
                () = tokio::time::sleep_until(until) => return,
                change = changes.next() => match change {
                    Some(Ok(Some(lease))) => {
                        self.see(&lease);
                        match self.runs_out() {
                            Some(later) => until = later,
                            None => return,
                        }
                    }
                    Some(Ok(None)) => return,
                    // A server that is away, or one that allows no watch: then it is asked from time to time.
                    Some(Err(_)) | None => until = until.min(next_try),
                },
            }
        }
    }

    /// When the claim of somebody else ends; none if nobody else is known to have one.
    fn runs_out(&self) -> Option<Instant> {
        let sight = self.sight.as_ref()?;
        self.is_others()
            .then(|| sight.since + sight.lasts.unwrap_or(self.tenure.lasts))
    }

    /// Tries to take or to renew the Lease.
    async fn attempt(&mut self) -> Attempt {
        // Others count from when they see the renewal, which is later than this.
        let begun = Moment::now();
        match self.try_once().await {
            Ok(true) => {
                let tenure = self.tenure;
                self.fence
                    .open_until(begun.after(tenure.renews_within), tenure.settles_within());
                Attempt::Held
            }
            Ok(false) => Attempt::NotHeld,
            Err(fault) => {
                tracing::debug!(lease = self.tenure.lease, %fault, "the lease can't be claimed");
                if is_namespace_going(&fault) {
                    Attempt::NamespaceGoes
                } else {
                    Attempt::NotHeld
                }
            }
        }
    }

    async fn try_once(&mut self) -> Result<bool, kube::Error> {
        let Some(mut lease) = self.leases.get_opt(&self.tenure.lease).await? else {
            let mut lease = Lease {
                metadata: ObjectMeta {
                    name: Some(self.tenure.lease.clone()),
                    namespace: Some(self.tenure.namespace.clone()),
                    ..ObjectMeta::default()
                },
                spec: Some(self.claimed(None)),
            };
            self.mark(&mut lease.metadata);
            let made = self.make(&lease).await?;
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
        self.mark(&mut lease.metadata);
        // The resource version in it makes sure that nobody was faster.
        let written = self
            .leases
            .replace(&tenure.lease, &PostParams::default(), &lease)
            .await?;
        self.see(&written);
        Ok(true)
    }

    /// Makes the Lease, and before it the namespace if that is gone.
    async fn make(&mut self, lease: &Lease) -> Result<Lease, kube::Error> {
        let made = self.leases.create(&PostParams::default(), lease).await;
        // Of what is about to be made, only the namespace can be missing.
        if !self.tenure.makes_namespace || !made.as_ref().is_err_and(|error| is_answered(error, 404)) {
            return made;
        }
        let name = &self.tenure.namespace;
        let mut namespace = Namespace::default();
        namespace.metadata.name = Some(name.clone());
        let parameters = PostParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PostParams::default()
        };
        match self.namespaces.create(&parameters, &namespace).await {
            Ok(_) => tracing::warn!(
                namespace = name,
                "the namespace was gone, and is made again: the lease that says who works is in it"
            ),
            // The holder of another Lease in it was faster.
            Err(error) if is_answered(&error, 409) => {}
            Err(error) => {
                if !std::mem::replace(&mut self.is_refusal_told, true) {
                    tracing::warn!(
                        namespace = name,
                        %error,
                        "the namespace of the lease is gone and can't be made again, so nobody can work; make it with: \
                         kubectl create namespace {name}"
                    );
                }
                return Err(error);
            }
        }
        self.leases.create(&PostParams::default(), lease).await
    }

    /// Has the Lease say what it says of its holder.
    fn mark(&self, metadata: &mut ObjectMeta) {
        let Tenure {
            labels, annotations, ..
        } = self.tenure;
        if !labels.is_empty() {
            metadata.labels.get_or_insert_default().extend(labels.clone());
        }
        if !annotations.is_empty() {
            metadata
                .annotations
                .get_or_insert_default()
                .extend(annotations.clone());
        }
    }

    /// Takes that away again: whoever holds the Lease next may be another.
    fn unmark(&self, metadata: &mut ObjectMeta) {
        let Tenure {
            labels, annotations, ..
        } = self.tenure;
        if let Some(known) = &mut metadata.labels {
            known.retain(|key, _| !labels.contains_key(key));
        }
        if let Some(known) = &mut metadata.annotations {
            known.retain(|key, _| !annotations.contains_key(key));
        }
    }

    fn see(&mut self, lease: &Lease) {
        let spec = lease.spec.as_ref().map(key);
        let holder = lease.spec.as_ref().and_then(|spec| spec.holder_identity.clone());
        let holder = holder.filter(|holder| !holder.is_empty());
        self.tenure.holder.send_if_modified(|known| {
            let is_news = *known != holder;
            *known = holder;
            is_news
        });
        if self.sight.as_ref().is_none_or(|sight| sight.spec != spec) {
            self.sight = Some(Sight {
                spec,
                lasts: lease.spec.as_ref().and_then(stated),
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
            self.unmark(&mut lease.metadata);
            self.leases
                .replace(&self.tenure.lease, &PostParams::default(), &lease)
                .await
                .map(drop)
        };
        let given: Result<Result<(), kube::Error>, _> = timeout(GIVEN_BACK_WITHIN, given).await;
        match given {
            Ok(Ok(())) => {}
            Ok(Err(fault)) => {
                tracing::debug!(lease = self.tenure.lease, %fault, "the lease can't be given back; it runs out by itself");
            }
            Err(_) => {
                tracing::debug!(
                    lease = self.tenure.lease,
                    "the server doesn't answer; the lease runs out by itself"
                );
            }
        }
    }
}

#[cfg(test)]
mod tests;
