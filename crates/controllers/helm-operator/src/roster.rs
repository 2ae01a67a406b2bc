//! Which operators run in the cluster, each by a Lease.
//!
//! A Lease says which kinds an operator looks after and which labels it picks. Where replicas elect one of them, it is the
//! Lease of the election: it is renewed anyway, given back at the end, and runs out soon after a crash. Elsewhere it is one of
//! the operator's own; in a pod it belongs to the pod and vanishes with it, and otherwise it is renewed.

mod sightings;

use std::collections::{BTreeMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use apply::digests::hexadecimal;
use aws_lc_rs::digest::{SHA256, digest};
use futures_util::TryStreamExt as _;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta, OwnerReference};
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt as _, watcher as watch};
use kube::{Client, ResourceExt as _};
use tokio::time::Instant;

use crate::routing::Operator;
use sightings::{Now, Sightings, Sign};

/// The label of the Leases of operators.
pub const LABEL: &str = "baton-olm.dev/helm-operator";

/// The annotation of such a Lease with what the operator looks after.
pub const ANNOTATION: &str = "baton-olm.dev/watches";

/// How long an operator with a Lease of its own counts as running after its last sign, outside of a pod.
const LASTS: Duration = Duration::from_mins(15);

/// How often it gives one: two failures in a row are survived, and a minute at rest mostly sees none.
const RENEWED_EVERY: Duration = Duration::from_mins(5);

/// How long the start waits for the list of the others before it goes on alone.
const FIRST_LIST: Duration = Duration::from_secs(5);

/// The operators that run.
pub struct Roster {
    /// This operator, once for each kind.
    pub mine: Vec<Operator>,
    namespace: String,
    name: String,
    /// Whether the Lease is that of an election, which is kept there.
    is_elected: bool,
    others: Mutex<Sightings>,
}

/// Returns the label and the annotation of a Lease with which an operator says that it runs.
pub fn marks(mine: &[Operator]) -> (BTreeMap<String, String>, BTreeMap<String, String>) {
    let watches = serde_json::to_string(mine).unwrap_or_default();
    (
        [(LABEL.to_owned(), "true".to_owned())].into(),
        [(ANNOTATION.to_owned(), watches)].into(),
    )
}

impl Roster {
    /// Makes the roster of an operator with a Lease of its own, which is told from others by `identity`.
    pub fn new(namespace: &str, identity: &str, mine: Vec<Operator>) -> Self {
        let mark = digest(&SHA256, identity.as_bytes());
        let mark = hexadecimal(&mark.as_ref()[..6]);
        Self::of(namespace, &format!("baton-helm-operator-{mark}"), false, mine)
    }

    /// Makes the roster of an operator that holds the Lease of an election; the election puts the [`marks`] on it.
    pub fn of_election(namespace: &str, lease: &str, mine: Vec<Operator>) -> Self {
        Self::of(namespace, lease, true, mine)
    }

    fn of(namespace: &str, name: &str, is_elected: bool, mut mine: Vec<Operator>) -> Self {
        for operator in &mut mine {
            operator.id = format!("{namespace}/{name}");
        }
        Self {
            mine,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            is_elected,
            others: Mutex::default(),
        }
    }

    fn others(&self) -> MutexGuard<'_, Sightings> {
        self.others.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the other operators that run now.
    pub fn running(&self) -> Vec<Operator> {
        self.others().running(Instant::now())
    }

    /// Keeps the roster true until it is dropped, and calls `changed` when another operator comes, goes or changes, and when
    /// one has given no sign for too long.
    ///
    /// `listed` is called once the others are known, or can't be.
    pub async fn keep(&self, client: &Client, changed: impl Fn(), listed: impl FnOnce()) {
        let mut listed = Some(listed);
        let register = async {
            if !self.is_elected {
                self.register(client).await;
            }
        };
        tokio::join!(register, self.follow(client, &changed, &mut listed));
    }

    /// Takes the operator off the roster, as it stops.
    pub async fn leave(&self, client: &Client) {
        if self.is_elected {
            return;
        }
        let leases: Api<Lease> = Api::namespaced(client.clone(), &self.namespace);
        if let Err(fault) = leases.delete(&self.name, &DeleteParams::default()).await {
            tracing::debug!(%fault, lease = self.name, "the operator's Lease can't be deleted; it runs out by itself");
        }
    }

    async fn register(&self, client: &Client) {
        let owner = own_pod(client, &self.namespace).await;
        let leases: Api<Lease> = Api::namespaced(client.clone(), &self.namespace);
        let parameters = PatchParams::apply("baton-helm-operator").force();
        loop {
            let lease = self.lease(owner.clone());
            let written = leases.patch(&self.name, &parameters, &Patch::Apply(&lease)).await;
            if let Err(fault) = &written {
                tracing::debug!(%fault, lease = self.name, "other operators can't be told that this one runs");
            } else if owner.is_some() {
                return;
            }
            tokio::time::sleep(RENEWED_EVERY).await;
        }
    }

    fn lease(&self, owner: Option<OwnerReference>) -> Lease {
        let (labels, annotations) = marks(&self.mine);
        Lease {
            metadata: ObjectMeta {
                name: Some(self.name.clone()),
                namespace: Some(self.namespace.clone()),
                labels: Some(labels),
                annotations: Some(annotations),
                owner_references: owner.clone().map(|owner| vec![owner]),
                ..ObjectMeta::default()
            },
            spec: Some(LeaseSpec {
                holder_identity: Some(
                    owner
                        .as_ref()
                        .map_or_else(|| self.name.clone(), |pod| pod.name.clone()),
                ),
                lease_duration_seconds: owner
                    .is_none()
                    .then(|| i32::try_from(LASTS.as_secs()).unwrap_or(i32::MAX)),
                renew_time: owner.is_none().then(|| MicroTime(jiff::Timestamp::now())),
                ..LeaseSpec::default()
            }),
        }
    }

    async fn follow(&self, client: &Client, changed: &impl Fn(), listed: &mut Option<impl FnOnce()>) {
        // An operator may be allowed to see Leases only where it lives.
        let everywhere: Api<Lease> = Api::all(client.clone());
        let here: Api<Lease> = Api::namespaced(client.clone(), &self.namespace);
        let probe = kube::api::ListParams::default().labels(LABEL).limit(1);
        let leases = match everywhere.list(&probe).await {
            Err(kube::Error::Api(status)) if status.code == 403 => here,
            _ => everywhere,
        };
        let events = watch(leases, watcher::Config::default().labels(LABEL)).default_backoff();
        let mut events = std::pin::pin!(events);
        let mut listed_now: HashSet<String> = HashSet::new();
        let give_up = tokio::time::sleep(FIRST_LIST);
        let mut give_up = std::pin::pin!(give_up);
        loop {
            let next_end = self.others().next_end();
            let runs_out = async {
                match next_end {
                    Some(end) => tokio::time::sleep_until(end).await,
                    None => std::future::pending().await,
                }
            };
            let event = tokio::select! {
                event = events.try_next() => event,
                () = runs_out => {
                    if self.others().expire(Instant::now()) {
                        changed();
                    }
                    continue;
                }
                () = &mut give_up, if listed.is_some() => {
                    tracing::warn!("the Leases of other operators can't be listed; going on as if there were none");
                    if let Some(listed) = listed.take() {
                        listed();
                    }
                    continue;
                }
            };
            let is_news = match event {
                Ok(Some(Event::Init)) => {
                    listed_now.clear();
                    false
                }
                Ok(Some(Event::InitApply(lease))) => {
                    listed_now.insert(id_of(&lease));
                    self.saw(&lease)
                }
                Ok(Some(Event::InitDone)) => {
                    let are_fewer = self.others().are_all(&listed_now);
                    if let Some(listed) = listed.take() {
                        listed();
                    }
                    are_fewer
                }
                Ok(Some(Event::Apply(lease))) => self.saw(&lease),
                Ok(Some(Event::Delete(lease))) => self.others().gone(&id_of(&lease)),
                Ok(None) => return,
                Err(fault) => {
                    tracing::debug!(%fault, "the watch of operators begins anew");
                    false
                }
            };
            if is_news {
                changed();
            }
        }
    }

    /// Notes the Lease of another operator; returns whether others run than before.
    fn saw(&self, lease: &Lease) -> bool {
        let id = id_of(lease);
        if id == format!("{}/{}", self.namespace, self.name) {
            return false;
        }
        let mut others = self.others();
        match sign(id.clone(), lease) {
            Some(sign) => others.saw(sign, Now::read()),
            None => others.gone(&id),
        }
    }
}

fn id_of(lease: &Lease) -> String {
    format!("{}/{}", lease.namespace().unwrap_or_default(), lease.name_any())
}

/// Reads the Lease of an operator; none if it isn't one.
fn sign(id: String, lease: &Lease) -> Option<Sign> {
    let operators = read(&id, lease.annotations().get(ANNOTATION)?)?;
    let spec = lease.spec.clone().unwrap_or_default();
    let seconds = spec.lease_duration_seconds;
    let lasts = seconds.and_then(|seconds| u64::try_from(seconds).ok());
    Some(Sign {
        id,
        operators,
        is_held: spec.holder_identity.is_some_and(|holder| !holder.is_empty()),
        lasts: lasts.map(|seconds| Duration::from_secs(seconds).min(LASTS)),
        renewed: spec.renew_time.map(|MicroTime(time)| time),
    })
}

/// Reads what an operator looks after from the annotation of its Lease, once for each kind; none if it can't be read.
pub fn read(id: &str, watches: &str) -> Option<Vec<Operator>> {
    let mut operators: Vec<Operator> = serde_json::from_str(watches).ok()?;
    for operator in &mut operators {
        id.clone_into(&mut operator.id);
    }
    Some(operators)
}

/// Returns a reference to the pod that this process runs in, if it does.
async fn own_pod(client: &Client, namespace: &str) -> Option<OwnerReference> {
    let name = std::env::var("POD_NAME")
        .or_else(|_| std::env::var("HOSTNAME"))
        .ok()?;
    std::env::var_os("KUBERNETES_SERVICE_HOST")?;
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let pod = pods.get_metadata_opt(&name).await.ok()??;
    Some(OwnerReference {
        api_version: "v1".to_owned(),
        kind: "Pod".to_owned(),
        name,
        uid: pod.metadata.uid?,
        ..OwnerReference::default()
    })
}
