//! Jobs: Pods that run to their end.
//!
//! - `sync`: what has to be done now, as a pure function
//! - `failure`: what the failure of a Pod means
//! - `backoff`: how long to wait before the next try
//! - `indexes`: completion indexes

mod backoff;
mod failure;
mod indexes;
mod sync;

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use self::backoff::Record;
use self::sync::{Plan, decide, is_finished};
use super::conditions;
use super::ownership::{claim, concerned};
use super::pods::{self, PODS};
use super::work::{Affected, Controller, Item, Next, itself};
use crate::api::Api;
use crate::client::{Client, Named};
use crate::events::Reporter;
use crate::object::Object;
use crate::options::{DeleteOptions, Propagation};
use crate::status::Status;
use crate::store::{Event, ResourceKey};

/// The resource of Jobs.
pub const JOBS: Named<'static> = ("batch", "jobs");

/// The finalizer that keeps a Pod until its Job has counted it.
const TRACKING: &str = "batch.kubernetes.io/job-tracking";

/// The value of `managedBy` that means this controller.
const MANAGED_HERE: &str = "kubernetes.io/job-controller";

/// Runs Jobs to their end, and removes those that have been finished for long enough.
#[derive(Debug)]
pub struct Jobs {
    reporter: Reporter,
    /// Failures are forgotten when a Job is finished or gone.
    records: Mutex<HashMap<Item, Record>>,
}

impl Default for Jobs {
    fn default() -> Self {
        Self {
            reporter: Reporter::controller("job-controller"),
            records: Mutex::default(),
        }
    }
}

fn jobs_of_pod(api: &Api, event: &Event) -> Vec<Item> {
    concerned(api, event, "batch", "Job", "jobs")
}

impl Controller for Jobs {
    const NAME: &'static str = "job-controller";

    fn watches(&self) -> Vec<(ResourceKey, Affected)> {
        vec![
            (ResourceKey::new(JOBS.0, JOBS.1), itself),
            (ResourceKey::new(PODS.0, PODS.1), jobs_of_pod),
        ]
    }

    async fn reconcile(&self, client: &Client, item: &Item) -> Result<Next, Status> {
        let Some(job) = client.get(JOBS, &item.namespace, &item.name)? else {
            self.with_records(|records| records.remove(item));
            release_orphans(client, item, None).await?;
            return Ok(Next::Wait);
        };
        if job["spec"]["managedBy"]
            .as_str()
            .is_some_and(|by| by != MANAGED_HERE)
        {
            return Ok(Next::Wait);
        }
        if is_finished(&job) {
            self.with_records(|records| records.remove(item));
            release_orphans(client, item, Some(&job)).await?;
            return remove_after_a_while(client, &job).await;
        }
        let pods = claim(client, PODS, &job, |_| true).await?;
        let record = self.with_records(|records| records.get(item).copied().unwrap_or_default());
        let plan = decide(&job, &pods, record, Timestamp::now());
        self.act(client, item, &job, plan).await
    }
}

impl Jobs {
    fn with_records<T>(&self, work: impl FnOnce(&mut HashMap<Item, Record>) -> T) -> T {
        work(&mut self.records.lock().unwrap_or_else(PoisonError::into_inner))
    }

    async fn act(&self, client: &Client, item: &Item, job: &Value, plan: Plan) -> Result<Next, Status> {
        for (pod, releases) in &plan.delete {
            if *releases {
                release(client, pod).await?;
            }
            pods::delete(client, self.reporter, job, pod).await?;
        }
        pods::create_all(client, self.reporter, job, plan.create).await?;
        let mut written = plan.noted.metadata_text("resourceVersion").to_owned();
        if plan.noted != *job {
            let noted = client.update_status(JOBS, plan.noted.clone()).await?;
            noted.metadata_text("resourceVersion").clone_into(&mut written);
        }
        self.with_records(|records| records.insert(item.clone(), plan.record));
        self.reporter.tell(client, job, &plan.notes);
        for pod in &plan.release {
            release(client, pod).await?;
        }
        if plan.counted != plan.noted {
            let mut counted = plan.counted;
            counted.set_metadata_text("resourceVersion", &written);
            client.update_status(JOBS, counted).await?;
            self.reporter.tell(client, job, &plan.finished_notes);
        }
        Ok(plan.next)
    }
}

/// Lets a Pod go that has been counted.
async fn release(client: &Client, pod: &Value) -> Result<(), Status> {
    // The Pod may have changed since: only its finalizers as they are now matter.
    let Some(pod) = client
        .get(PODS, pod.namespace(), pod.name())?
        .filter(|now| now.uid() == pod.uid())
    else {
        return Ok(());
    };
    let kept: Vec<&str> = pod
        .finalizers()
        .into_iter()
        .filter(|&finalizer| finalizer != TRACKING)
        .collect();
    if kept.len() == pod.finalizers().len() {
        return Ok(());
    }
    let kept = if kept.is_empty() { Value::Null } else { json!(kept) };
    let patch = json!({"metadata": {
        "finalizers": kept,
        "uid": pod.uid(),
        "resourceVersion": pod.metadata_text("resourceVersion"),
    }});
    match client.merge(PODS, pod.namespace(), pod.name(), "", &patch).await {
        Err(status) if status.code != http::StatusCode::NOT_FOUND => Err(status),
        _ => Ok(()),
    }
}

/// Lets the Pods go that nobody counts any more: their Job is gone, or finished.
async fn release_orphans(client: &Client, item: &Item, finished: Option<&Value>) -> Result<(), Status> {
    let candidates = match finished {
        Some(job) => client.api().store.owned_by(job.uid()),
        None => client.list_stored(PODS, &item.namespace)?,
    };
    for stored in candidates {
        if stored.owners.is_empty() || memchr::memmem::find(&stored.bytes, TRACKING.as_bytes()).is_none() {
            continue;
        }
        let pod = stored.value();
        let is_of_job = pod
            .controller()
            .is_some_and(|owner| owner["kind"] == "Job" && owner["name"] == *item.name);
        if is_of_job && pod["kind"] == "Pod" {
            release(client, &pod).await?;
        }
    }
    Ok(())
}

/// How long a Job is there at least. Who creates one that is removed when it is finished, as Helm does with hooks, looks
/// for it afterwards to wait for it. Where images are pulled, it is still there then; a simulated one ends at once.
const LEAST_LIFE: SignedDuration = SignedDuration::from_secs(5);

/// Removes a finished Job when its time has come.
async fn remove_after_a_while(client: &Client, job: &Value) -> Result<Next, Status> {
    let Some(seconds) = job["spec"]["ttlSecondsAfterFinished"].as_i64() else {
        return Ok(Next::Wait);
    };
    if job.is_being_deleted() {
        return Ok(Next::Wait);
    }
    let finished = ["Complete", "Failed"]
        .iter()
        .find_map(|kind| conditions::find(&job["status"], kind).filter(|one| one["status"] == "True"))
        .and_then(|one| one["lastTransitionTime"].as_str()?.parse::<Timestamp>().ok());
    let Some(finished) = finished else {
        return Ok(Next::Wait);
    };
    let now = Timestamp::now();
    let created = job.metadata_text("creationTimestamp").parse::<Timestamp>();
    let left = (SignedDuration::from_secs(seconds) - now.duration_since(finished)).max(
        created.map_or(SignedDuration::ZERO, |created| {
            LEAST_LIFE - now.duration_since(created)
        }),
    );
    if left > SignedDuration::ZERO {
        return Ok(Next::After(Duration::try_from(left).unwrap_or_default()));
    }
    let options = DeleteOptions {
        propagation: Some(Propagation::Foreground),
        uid: Some(job.uid().to_owned()),
        ..DeleteOptions::default()
    };
    client.delete(JOBS, job.namespace(), job.name(), &options).await?;
    Ok(Next::Wait)
}
