//! Which operators run in the cluster, each by a Lease of its own.
//!
//! A Lease says which kinds an operator looks after and which labels it picks. In a pod it belongs to the pod and vanishes
//! with it, so that it needs no renewal; elsewhere it is renewed, and judged by when that was last seen.

use std::collections::HashMap;
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

/// The label of the Leases of operators.
pub const LABEL: &str = "baton-olm.dev/helm-operator";

/// The annotation of such a Lease with what the operator looks after.
pub const ANNOTATION: &str = "baton-olm.dev/watches";

/// How long an operator outside of a pod counts as running after its last sign.
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
    others: Mutex<HashMap<String, Sighting>>,
}

/// What was last seen of another operator.
struct Sighting {
    operators: Vec<Operator>,
    /// Until when it counts as running; none while its pod is there.
    until: Option<Instant>,
}

impl Roster {
    /// Makes the roster of an operator that is told from others by `identity`, such as its name in leader election.
    pub fn new(namespace: &str, identity: &str, mut mine: Vec<Operator>) -> Self {
        let mark = digest(&SHA256, identity.as_bytes());
        let mark = hexadecimal(&mark.as_ref()[..6]);
        let name = format!("baton-helm-operator-{mark}");
        for operator in &mut mine {
            operator.id = format!("{namespace}/{name}");
        }
        Self {
            mine,
            namespace: namespace.to_owned(),
            name,
            others: Mutex::default(),
        }
    }

    fn others(&self) -> MutexGuard<'_, HashMap<String, Sighting>> {
        self.others.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the other operators that run now.
    pub fn running(&self) -> Vec<Operator> {
        let now = Instant::now();
        let mut others = self.others();
        others.retain(|_, sighting| sighting.until.is_none_or(|until| until > now));
        others
            .values()
            .flat_map(|sighting| sighting.operators.iter().cloned())
            .collect()
    }

    /// Keeps the roster true until it is dropped, and calls `changed` when another operator comes, goes or changes.
    ///
    /// `listed` is called once the others are known, or can't be.
    pub async fn keep(&self, client: &Client, changed: impl Fn(), listed: impl FnOnce()) {
        let mut listed = Some(listed);
        tokio::join!(self.register(client), self.follow(client, &changed, &mut listed));
    }

    /// Takes the operator off the roster, as it stops.
    pub async fn leave(&self, client: &Client) {
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
        let watches = serde_json::to_string(&self.mine).unwrap_or_default();
        Lease {
            metadata: ObjectMeta {
                name: Some(self.name.clone()),
                namespace: Some(self.namespace.clone()),
                labels: Some([(LABEL.to_owned(), "true".to_owned())].into()),
                annotations: Some([(ANNOTATION.to_owned(), watches)].into()),
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
        let mut seen_in_list: HashMap<String, Sighting> = HashMap::new();
        let give_up = tokio::time::sleep(FIRST_LIST);
        let mut give_up = std::pin::pin!(give_up);
        loop {
            let event = tokio::select! {
                event = events.try_next() => event,
                () = &mut give_up, if listed.is_some() => {
                    tracing::warn!("the Leases of other operators can't be listed; going on as if there were none");
                    if let Some(listed) = listed.take() {
                        listed();
                    }
                    continue;
                }
            };
            match event {
                Ok(Some(Event::Init)) => seen_in_list.clear(),
                Ok(Some(Event::InitApply(lease))) => {
                    seen_in_list.extend(self.sighting(&lease));
                }
                Ok(Some(Event::InitDone)) => {
                    *self.others() = std::mem::take(&mut seen_in_list);
                    if let Some(listed) = listed.take() {
                        listed();
                    }
                    changed();
                }
                Ok(Some(Event::Apply(lease))) => {
                    if let Some((id, sighting)) = self.sighting(&lease) {
                        let operators = sighting.operators.clone();
                        let before = self.others().insert(id, sighting);
                        if before.is_none_or(|before| before.operators != operators) {
                            changed();
                        }
                    }
                }
                Ok(Some(Event::Delete(lease))) => {
                    let id = format!("{}/{}", lease.namespace().unwrap_or_default(), lease.name_any());
                    if self.others().remove(&id).is_some() {
                        changed();
                    }
                }
                Ok(None) => return,
                Err(fault) => tracing::debug!(%fault, "the watch of operators begins anew"),
            }
        }
    }

    /// Reads the Lease of another operator.
    fn sighting(&self, lease: &Lease) -> Option<(String, Sighting)> {
        let (namespace, name) = (lease.namespace().unwrap_or_default(), lease.name_any());
        if (namespace.as_str(), name.as_str()) == (&self.namespace, &self.name) {
            return None;
        }
        let id = format!("{namespace}/{name}");
        let operators = read(&id, lease.annotations().get(ANNOTATION)?)?;
        let seconds = lease.spec.as_ref().and_then(|spec| spec.lease_duration_seconds);
        let until = seconds
            .and_then(|seconds| u64::try_from(seconds).ok())
            // One that was left behind long ago must not count from now on.
            .map(|seconds| {
                let renewed = lease.spec.as_ref().and_then(|spec| spec.renew_time.as_ref());
                let age = renewed.map_or(0, |time| jiff::Timestamp::now().as_second() - time.0.as_second());
                let left = seconds.saturating_sub(u64::try_from(age).unwrap_or_default());
                Instant::now() + Duration::from_secs(left.min(LASTS.as_secs()))
            });
        Some((id, Sighting { operators, until }))
    }
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
