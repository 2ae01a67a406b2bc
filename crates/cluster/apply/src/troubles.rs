//! Why workloads aren't ready, as their pods tell it, asked seldom enough.
//!
//! A workload that isn't ready is left alone for some seconds, because most are ready by then. After that its pods are read a few
//! times, less and less often, until the workload itself says something new: a cause, such as a back-off, may take its time
//! to show, and is the same from then on. Of workloads that are ready nothing is asked, and nothing is kept.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kinds::label_selector::LabelSelector;
use kube::Client;
use kube::Resource as _;
use kube::api::ListParams;
use kube::core::Request;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::object::{ObjectId, at, generation, text};
use crate::pod_trouble;
use crate::refusal::is_forbidden;

/// How long is waited before each look at the pods of a workload that says nothing new meanwhile. The last look comes when
/// even the back-offs of kubelets, which grow to five minutes, have been seen.
const PAUSES: &[Duration] = &[
    Duration::from_secs(3),
    Duration::from_secs(15),
    Duration::from_mins(1),
    Duration::from_mins(5),
];

/// How long nothing is asked in a namespace whose pods one may not read: rights come seldom, and without this nothing is
/// lost but words.
const FORBIDDEN_PAUSE: Duration = Duration::from_mins(10);

/// How many workloads are asked about at once: a server that just lost its nodes has others to serve.
const AT_ONCE: usize = 2;

/// How many pods of a workload are read: what ails one mostly ails all, and a workload may have thousands.
const MOST_PODS: u32 = 100;

/// A workload that isn't ready: whose pods are asked, and what it says itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workload {
    namespace: String,
    pods: Pods,
    generation: i64,
    /// Tells what its status says from what it said before.
    says: u64,
}

/// The pods of a workload.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Pods {
    /// By their labels.
    Selected(String),
    /// It is one.
    Named(String),
}

impl Workload {
    /// Reads a workload; none of what has no pods.
    pub fn of(object: &Value) -> Option<Self> {
        let id = ObjectId::of(object);
        let labels = |pointer: &str| {
            let selector = LabelSelector::from_object(at(object, pointer)?).ok()?;
            (!selector.requirements().is_empty()).then(|| Pods::Selected(selector.to_string()))
        };
        let pods = match (id.group(), id.kind.as_str()) {
            ("apps", "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet") | ("batch", "Job") => {
                labels("/spec/selector")?
            }
            ("", "ReplicationController") => {
                let map = at(object, "/spec/selector")?.as_object()?;
                (!map.is_empty()).then(|| Pods::Selected(LabelSelector::from_map(map).to_string()))?
            }
            ("", "Pod") => Pods::Named(id.name),
            _ => return None,
        };
        Some(Self {
            namespace: id.namespace,
            pods,
            generation: generation(object),
            says: said(object),
        })
    }

    fn parameters(&self) -> ListParams {
        let parameters = ListParams::default().limit(MOST_PODS);
        match &self.pods {
            Pods::Selected(labels) => parameters.labels(labels),
            Pods::Named(name) => parameters.fields(&format!("metadata.name={name}")),
        }
    }
}

/// Tells what a workload's status says, but for when it says it.
fn said(object: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    let fields = at(object, "/status").and_then(Value::as_object);
    for (field, value) in fields.into_iter().flatten() {
        if value.is_number() || value.is_string() {
            (field, value.to_string()).hash(&mut hasher);
        }
    }
    let conditions = at(object, "/status/conditions").and_then(Value::as_array);
    for condition in conditions.into_iter().flatten() {
        for field in ["/type", "/status", "/reason"] {
            text(condition, field).hash(&mut hasher);
        }
    }
    hasher.finish()
}

/// Asks the pods of a workload what keeps them from running.
///
/// # Errors
///
/// If the server doesn't answer, or one may not read pods there.
pub async fn ask(client: &Client, workload: &Workload) -> Result<Option<String>, kube::Error> {
    let path = Pod::url_path(&(), Some(&workload.namespace));
    let request = Request::new(path)
        .list(&workload.parameters())
        .map_err(kube::Error::BuildRequest)?;
    let listed: Value = client.request(request).await?;
    let pods = at(&listed, "/items").and_then(Value::as_array);
    Ok(pod_trouble::cause(pods.into_iter().flatten()))
}

/// Knows why workloads aren't ready.
pub struct Troubles {
    shared: Arc<Shared>,
    pauses: &'static [Duration],
}

struct Shared {
    client: Client,
    known: Mutex<HashMap<ObjectId, Known>>,
    /// The namespaces whose pods one may not read, and until when that is believed.
    forbidden: Mutex<HashMap<String, Instant>>,
    turns: Semaphore,
}

/// What is known of a workload that isn't ready.
struct Known {
    workload: Workload,
    cause: Option<String>,
    asking: AbortHandle,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Troubles {
    /// Knows of nothing yet.
    pub fn new(client: Client) -> Self {
        Self::with(client, PAUSES)
    }

    fn with(client: Client, pauses: &'static [Duration]) -> Self {
        Self {
            shared: Arc::new(Shared {
                client,
                known: Mutex::default(),
                forbidden: Mutex::default(),
                turns: Semaphore::new(AT_ONCE),
            }),
            pauses,
        }
    }

    /// Notes that a workload isn't ready; `tell` is called whenever the cause is another than before.
    pub fn unready(&self, id: &ObjectId, workload: Workload, tell: impl Fn() + Send + 'static) {
        let mut known = lock(&self.shared.known);
        let before = known.remove(id);
        let cause = match before {
            Some(before) if before.workload == workload => {
                known.insert(id.clone(), before);
                return;
            }
            Some(before) => {
                before.asking.abort();
                // Another spec may have mended it; until that is known, what was true a moment ago is.
                let is_same_spec = before.workload.generation == workload.generation;
                before.cause.filter(|_| is_same_spec)
            }
            None => None,
        };
        let (shared, pauses) = (Arc::clone(&self.shared), self.pauses);
        let (name, asked) = (id.clone(), workload.clone());
        let asking = tokio::spawn(async move {
            for pause in pauses {
                tokio::time::sleep(*pause).await;
                if let Some(cause) = shared.ask(&asked).await
                    && shared.note(&name, &asked, cause)
                {
                    tell();
                }
            }
        });
        let asking = asking.abort_handle();
        known.insert(
            id.clone(),
            Known {
                workload,
                cause,
                asking,
            },
        );
    }

    /// Forgets a workload: it is ready, gone, or nobody's concern any more.
    pub fn forget(&self, id: &ObjectId) {
        if let Some(known) = lock(&self.shared.known).remove(id) {
            known.asking.abort();
        }
    }

    /// Returns why a workload isn't ready, as far as its pods have told it.
    pub fn cause(&self, id: &ObjectId) -> Option<String> {
        lock(&self.shared.known).get(id)?.cause.clone()
    }
}

impl Drop for Troubles {
    fn drop(&mut self) {
        for known in lock(&self.shared.known).values() {
            known.asking.abort();
        }
    }
}

impl Shared {
    /// Asks the pods of a workload; none where nothing can be known.
    async fn ask(&self, workload: &Workload) -> Option<Option<String>> {
        let _turn = self.turns.acquire().await.ok()?;
        if self.is_forbidden(&workload.namespace) {
            return None;
        }
        match ask(&self.client, workload).await {
            Ok(cause) => Some(cause),
            Err(fault) => {
                if is_forbidden(&fault) {
                    let until = Instant::now() + FORBIDDEN_PAUSE;
                    lock(&self.forbidden).insert(workload.namespace.clone(), until);
                }
                tracing::debug!(namespace = workload.namespace, %fault, "pods can't be asked why they don't run");
                None
            }
        }
    }

    fn is_forbidden(&self, namespace: &str) -> bool {
        let mut forbidden = lock(&self.forbidden);
        let now = Instant::now();
        forbidden.retain(|_, until| *until > now);
        forbidden.contains_key(namespace)
    }

    /// Notes a cause; returns whether it is news.
    fn note(&self, id: &ObjectId, workload: &Workload, cause: Option<String>) -> bool {
        let mut known = lock(&self.known);
        let Some(known) = known.get_mut(id).filter(|known| known.workload == *workload) else {
            return false;
        };
        let is_news = known.cause != cause;
        known.cause = cause;
        is_news
    }
}

#[cfg(test)]
mod tests;
