//! StatefulSets: Pods with a number each, which keep their names and their volumes.
//!
//! - `members`: the Pods, and what has to be done to them, as a pure function
//! - `claims`: the volumes that belong to each Pod

mod claims;
mod members;

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use self::members::{Plan, Revisions, decide};
use super::conditions::set_count;
use super::ownership::{claim, concerned};
use super::pods::{self, PODS};
use super::revisions;
use super::work::{Affected, Controller, Item, Next, itself};
use crate::api::Api;
use crate::client::{Client, Named};
use crate::events::{EventType, Reporter};
use crate::object::{Object, map_of};
use crate::options::DeleteOptions;
use crate::status::Status;
use crate::store::{Event, ResourceKey};

/// The resource of StatefulSets.
pub const STATEFUL_SETS: Named<'static> = ("apps", "statefulsets");

/// The label of a revision with its hash.
const HASH: &str = "controller.kubernetes.io/hash";

/// Keeps the Pods and volumes of StatefulSets.
#[derive(Debug)]
pub struct StatefulSets {
    reporter: Reporter,
}

impl Default for StatefulSets {
    fn default() -> Self {
        Self {
            reporter: Reporter::controller("statefulset-controller"),
        }
    }
}

fn sets_of_pod(api: &Api, event: &Event) -> Vec<Item> {
    concerned(api, event, "apps", "StatefulSet", "statefulsets")
}

impl Controller for StatefulSets {
    const NAME: &'static str = "statefulset-controller";

    fn watches(&self) -> Vec<(ResourceKey, Affected)> {
        vec![
            (ResourceKey::new(STATEFUL_SETS.0, STATEFUL_SETS.1), itself),
            (ResourceKey::new(PODS.0, PODS.1), sets_of_pod),
            (
                ResourceKey::new(revisions::REVISIONS.0, revisions::REVISIONS.1),
                sets_of_pod,
            ),
        ]
    }

    async fn reconcile(&self, client: &Client, item: &Item) -> Result<Next, Status> {
        let Some(set) = client.get(STATEFUL_SETS, &item.namespace, &item.name)? else {
            return Ok(Next::Wait);
        };
        let mut pods = claim(client, PODS, &set, |_| true).await?;
        pods.retain(|pod| members::ordinal(pod, &set).is_some());
        let collisions = set["status"]["collisionCount"].as_i64().unwrap_or(0);
        let history = revisions::settle(client, &set, HASH, Some(collisions)).await?;
        let current = set["status"]["currentRevision"].as_str().unwrap_or_default();
        let current = history
            .all
            .iter()
            .find(|revision| revision.name() == current)
            .unwrap_or(&history.present);
        let known = Revisions {
            current: current.name().to_owned(),
            current_template: revisions::template(current),
            update: history.present.name().to_owned(),
        };
        let now = Timestamp::now();
        let plan = decide(&set, &pods, &known, now);
        let mut status = plan.status.clone();
        let collisions = history.collisions.unwrap_or(0);
        map_of(&mut status).insert("collisionCount".into(), collisions.into());
        let acted = self.act(client, &set, &pods, plan).await;
        if status != set["status"] {
            let mut changed = set.clone();
            map_of(&mut changed).insert("status".into(), status);
            client.update_status(STATEFUL_SETS, changed).await?;
        }
        acted?;
        let limit = set["spec"]["revisionHistoryLimit"].as_i64();
        revisions::truncate(client, &history, limit, |revision| {
            revision.name() == known.current
                || pods.iter().any(|pod| members::revision(pod) == revision.name())
        })
        .await?;
        let seconds = set["spec"]["minReadySeconds"].as_i64().unwrap_or(0);
        Ok(
            pods::next_available(&pods, seconds, now).map_or(Next::Wait, |delay| {
                Next::After(delay.max(Duration::from_millis(50)))
            }),
        )
    }
}

impl StatefulSets {
    async fn act(&self, client: &Client, set: &Value, pods: &[Value], plan: Plan) -> Result<(), Status> {
        if set.is_being_deleted() {
            return Ok(());
        }
        for pod in plan.create {
            self.create_claims(client, set, &pod).await?;
            let name = pod.name().to_owned();
            let made = client.create(PODS, pod).await.map(|_| ());
            self.tell(client, set, "Create", &name, made)?;
        }
        for pod in plan.update {
            self.create_claims(client, set, &pod).await?;
            let name = pod.name().to_owned();
            let updated = client.update(PODS, pod).await.map(|_| ());
            self.tell(client, set, "Update", &name, updated)?;
        }
        for pod in pods {
            if pods::phase(pod) == "Pending" && !pod.is_being_deleted() {
                self.create_claims(client, set, pod).await?;
            }
            claims::keep_owners(client, set, pod).await?;
        }
        for pod in plan.delete {
            let options = DeleteOptions {
                uid: Some(pod.uid().to_owned()),
                ..DeleteOptions::default()
            };
            let deleted = client.delete(PODS, pod.namespace(), pod.name(), &options).await;
            self.tell(client, set, "Delete", pod.name(), deleted.map(|_| ()))?;
        }
        Ok(())
    }

    async fn create_claims(&self, client: &Client, set: &Value, pod: &Value) -> Result<(), Status> {
        for wanted in claims::of_pod(set, pod) {
            let name = wanted.name().to_owned();
            if client
                .get_stored(claims::CLAIMS, set.namespace(), &name)?
                .is_some()
            {
                continue;
            }
            let (level, reason, text) = match client.create(claims::CLAIMS, wanted).await {
                Ok(_) => (EventType::Normal, "SuccessfulCreate", "success".to_owned()),
                Err(refusal) if refusal.reason == "AlreadyExists" => continue,
                Err(refusal) => {
                    let text = format!(
                        "Create Claim {name} for Pod {} in StatefulSet {} failed error: {refusal}",
                        pod.name(),
                        set.name()
                    );
                    self.reporter
                        .note(client, set, EventType::Warning, "FailedCreate", &text);
                    return Err(refusal);
                }
            };
            let text = format!(
                "Create Claim {name} Pod {} in StatefulSet {} {text}",
                pod.name(),
                set.name()
            );
            self.reporter.note(client, set, level, reason, &text);
        }
        Ok(())
    }

    /// Says in an event how it went with a Pod.
    fn tell(
        &self,
        client: &Client,
        set: &Value,
        verb: &str,
        pod: &str,
        result: Result<(), Status>,
    ) -> Result<(), Status> {
        let (good, bad) = match verb {
            "Create" => ("SuccessfulCreate", "FailedCreate"),
            "Update" => ("SuccessfulUpdate", "FailedUpdate"),
            _ => ("SuccessfulDelete", "FailedDelete"),
        };
        match &result {
            Ok(()) => {
                let text = format!("{verb} Pod {pod} in StatefulSet {} successful", set.name());
                self.reporter.note(client, set, EventType::Normal, good, &text);
            }
            Err(refusal) if refusal.reason == "AlreadyExists" || pods::is_namespace_ending(refusal) => {}
            Err(refusal) => {
                let text = format!(
                    "{verb} Pod {pod} in StatefulSet {} failed error: {refusal}",
                    set.name()
                );
                self.reporter.note(client, set, EventType::Warning, bad, &text);
            }
        }
        result
    }
}

/// Returns the status of a StatefulSet with these numbers.
fn status_with(set: &Value, revisions: &Revisions, counts: &[(&str, i64)]) -> Value {
    let mut status = json!({
        "observedGeneration": set.generation(),
        "currentRevision": revisions.current,
        "updateRevision": revisions.update,
    });
    if let Some(conditions) = set["status"].get("conditions") {
        map_of(&mut status).insert("conditions".into(), conditions.clone());
    }
    for &(name, count) in counts {
        set_count(map_of(&mut status), name, count);
        // These two are told even when there are none.
        if matches!(name, "replicas" | "availableReplicas") {
            map_of(&mut status).insert(name.into(), count.into());
        }
    }
    status
}
