//! CronJobs: a Job at each time that a schedule names.
//!
//! - `schedule`: schedules, and the next time that one names
//! - `due`: what has to be done now, as a pure function

mod due;
mod schedule;

use jiff::Timestamp;
use serde_json::{Value, json};

use self::due::{Plan, decide};
use super::jobs::JOBS;
use super::ownership::{concerned, is_controlled_by};
use super::work::{Affected, Controller, Item, Next, itself};
use crate::api::Api;
use crate::client::{Client, Named};
use crate::events::{EventType, Note, Reporter};
use crate::object::{Object, map_of};
use crate::options::{DeleteOptions, Propagation};
use crate::status::Status;
use crate::store::{Event, ResourceKey};

/// The resource of CronJobs.
pub const CRON_JOBS: Named<'static> = ("batch", "cronjobs");

/// Makes the Jobs of CronJobs in time.
#[derive(Debug)]
pub struct CronJobs {
    reporter: Reporter,
}

impl Default for CronJobs {
    fn default() -> Self {
        Self {
            reporter: Reporter::controller("cronjob-controller"),
        }
    }
}

fn cron_jobs_of_job(api: &Api, event: &Event) -> Vec<Item> {
    // Unlike other controllers it takes nothing that nobody owns.
    if event.object.owners.is_empty() {
        return Vec::new();
    }
    concerned(api, event, "batch", "CronJob", "cronjobs")
}

impl Controller for CronJobs {
    const NAME: &'static str = "cronjob-controller";

    fn watches(&self) -> Vec<(ResourceKey, Affected)> {
        vec![
            (ResourceKey::new(CRON_JOBS.0, CRON_JOBS.1), itself),
            (ResourceKey::new(JOBS.0, JOBS.1), cron_jobs_of_job),
        ]
    }

    async fn reconcile(&self, client: &Client, item: &Item) -> Result<Next, Status> {
        let Some(cron) = client.get(CRON_JOBS, &item.namespace, &item.name)? else {
            return Ok(Next::Wait);
        };
        let owned = client.api().store.owned_by(cron.uid());
        let jobs: Vec<Value> = owned
            .iter()
            .map(|stored| stored.value())
            .filter(|job| job["kind"] == "Job" && is_controlled_by(job, &cron))
            .collect();
        let plan = decide(&cron, &jobs, Timestamp::now());
        self.act(client, &cron, plan).await
    }
}

impl CronJobs {
    async fn act(&self, client: &Client, cron: &Value, plan: Plan) -> Result<Next, Status> {
        self.reporter.tell(client, cron, &plan.notes);
        for name in &plan.delete {
            let options = DeleteOptions {
                propagation: Some(Propagation::Background),
                ..DeleteOptions::default()
            };
            if client.delete(JOBS, cron.namespace(), name, &options).await? {
                let note = Note::normal("SuccessfulDelete", format!("Deleted job {name}"));
                self.reporter.tell(client, cron, &[note]);
            }
        }
        let mut wanted = plan.cron;
        if let Some(job) = plan.create {
            let made = self.create(client, cron, job).await?;
            let active = json!({
                "apiVersion": "batch/v1",
                "kind": "Job",
                "name": made.name(),
                "namespace": made.namespace(),
                "uid": made.uid(),
                "resourceVersion": made.metadata_text("resourceVersion"),
            });
            let status = map_of(map_of(&mut wanted).entry("status").or_insert(Value::Null));
            match status.entry("active").or_insert_with(|| json!([])) {
                Value::Array(all) => all.push(active),
                other => *other = json!([active]),
            }
        }
        if wanted != *cron {
            client.update_status(CRON_JOBS, wanted).await?;
        }
        Ok(plan.next)
    }

    async fn create(&self, client: &Client, cron: &Value, job: Value) -> Result<Value, Status> {
        let name = job.name().to_owned();
        match client.create(JOBS, job).await {
            Ok(made) => {
                let note = Note::normal("SuccessfulCreate", format!("Created job {name}"));
                self.reporter.tell(client, cron, &[note]);
                Ok(made)
            }
            Err(refusal) if refusal.reason == "AlreadyExists" => {
                let present = client.get(JOBS, cron.namespace(), &name)?;
                present.filter(|job| is_controlled_by(job, cron)).ok_or(refusal)
            }
            Err(refusal) => {
                if !super::pods::is_namespace_ending(&refusal) {
                    let text = format!("Error creating job: {refusal}");
                    self.reporter
                        .note(client, cron, EventType::Warning, "FailedCreate", &text);
                }
                Err(refusal)
            }
        }
    }
}
