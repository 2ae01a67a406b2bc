//! Evictions: the deletion of a Pod as far as the budget that protects it allows.

use http::StatusCode;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Answered, Api, Call, MOST_ATTEMPTS, Outcome, Place, Written};
use crate::admission::{Operation, Review};
use crate::controllers::{conditions, disruption, ownership, pods};
use crate::object::{Object, map_of, timestamp};
use crate::options::{DeleteOptions, Query, WriteOptions};
use crate::status::{Cause, Status};
use crate::store::Stored;

/// How many Pods may be on their way out without the controller having seen them go.
const MOST_UNCONFIRMED: usize = 2000;

const VIOLATED: &str = "Cannot evict pod as it would violate the pod's disruption budget.";

impl Api {
    /// Deletes a Pod where its budget allows.
    pub(crate) async fn evict(
        &self,
        call: &Call,
        place: &Place,
        eviction: Value,
        options: &WriteOptions,
    ) -> Result<Written, Status> {
        if eviction.name() != place.name {
            return Err(Status::bad_request(
                "name in URL does not match name in Eviction object",
            ));
        }
        let mut deletion = deletion_of(&eviction, options)?;
        deletion.dry_run |= options.dry_run;
        let mut review = Review::new(
            self,
            call,
            place,
            Operation::Create,
            Some(eviction),
            None,
            deletion.dry_run,
        );
        self.admission.mutate(&mut review).await?;
        self.admission.validate(&review).await?;
        let pod_place = Place {
            subresource: String::new(),
            ..place.clone()
        };
        for _ in 0..MOST_ATTEMPTS {
            let pod = self.get(&pod_place)?.value();
            let mut deletion = deletion.clone();
            let named_version = deletion.resource_version.is_some();
            let mut guarded_by = None;
            if needs_no_budget(&pod) {
                // A Pod that is pending now may run a moment later.
                if !named_version && pods::phase(&pod) == "Pending" && !pod.is_being_deleted() {
                    deletion.resource_version = Some(pod.metadata_text("resourceVersion").to_owned());
                }
            } else if let Some(budget) = self.budget_of(&pod)? {
                if is_free(&pod, &budget) {
                    deletion.resource_version = Some(pod.metadata_text("resourceVersion").to_owned());
                    guarded_by = Some(budget.name().to_owned());
                } else {
                    match self.take_from(call, &budget, &pod, deletion.dry_run).await {
                        Err(status) if status.reason == "Conflict" => continue,
                        other => other?,
                    }
                }
            }
            match self.delete_evicted(call, &pod_place, deletion).await {
                Ok(()) => return Ok(success()),
                Err(status) if status.code != StatusCode::CONFLICT || named_version => return Err(status),
                Err(_) => {
                    if let Some(budget) = guarded_by {
                        return Err(still_processed(&budget));
                    }
                }
            }
        }
        Err(Status::timeout(format_args!(
            "couldn't evict pod \"{}\" due to conflicts",
            place.name
        )))
    }

    /// Returns the budget that protects a Pod.
    fn budget_of(&self, pod: &Value) -> Result<Option<Value>, Status> {
        let budgets = disruption::budgets_key();
        let listing = self.store.list(&budgets, Some(pod.namespace()), None, None, None);
        let stored = listing.map(|listing| listing.items).unwrap_or_default();
        let mut found: Vec<Value> = stored
            .iter()
            .map(|stored: &std::sync::Arc<Stored>| stored.value())
            .filter(|budget| ownership::selector_of(budget).matches_object(pod))
            .collect();
        if found.len() > 1 {
            return Err(Status::refusal(
                StatusCode::INTERNAL_SERVER_ERROR,
                "",
                "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
            ));
        }
        Ok(found.pop())
    }

    /// Takes one disruption from a budget.
    async fn take_from(&self, call: &Call, budget: &Value, pod: &Value, dry_run: bool) -> Result<(), Status> {
        let changed = after_disruption(budget, pod.name(), Timestamp::now())?;
        if dry_run {
            return Ok(());
        }
        let served = self.resources.now();
        let resource = served
            .preferred("policy", "poddisruptionbudgets")
            .ok_or_else(Status::no_such_resource)?;
        let place = Place {
            resource: resource.clone(),
            namespace: budget.namespace().to_owned(),
            name: budget.name().to_owned(),
            subresource: "status".to_owned(),
        };
        self.update(call, &place, changed, &WriteOptions::default())
            .await?;
        Ok(())
    }

    /// Says in the Pod's status why it goes, and deletes it.
    async fn delete_evicted(
        &self,
        call: &Call,
        place: &Place,
        mut deletion: DeleteOptions,
    ) -> Result<(), Status> {
        if !deletion.dry_run {
            let mut pod = self.get(place)?.value();
            super::delete::check_preconditions(place, &pod, &deletion)?;
            let status = map_of(&mut pod).entry("status").or_insert(Value::Null);
            if !conditions::is_true(status, "DisruptionTarget") {
                let condition = json!({
                    "type": "DisruptionTarget",
                    "status": "True",
                    "reason": "EvictionByEvictionAPI",
                    "message": "Eviction API: evicting",
                    "lastProbeTime": null,
                    "lastTransitionTime": timestamp(Timestamp::now()),
                });
                conditions::put(status, condition);
                let below = Place {
                    subresource: "status".to_owned(),
                    ..place.clone()
                };
                let written = self.update(call, &below, pod, &WriteOptions::default()).await?;
                if deletion.resource_version.is_some() {
                    let version = written
                        .answer
                        .into_value()
                        .metadata_text("resourceVersion")
                        .to_owned();
                    deletion.resource_version = Some(version);
                }
            }
        }
        self.delete(call, place, &deletion).await?;
        Ok(())
    }
}

fn deletion_of(eviction: &Value, options: &WriteOptions) -> Result<DeleteOptions, Status> {
    let Some(body) = eviction.get("deleteOptions").filter(|body| body.is_object()) else {
        return Ok(DeleteOptions {
            dry_run: options.dry_run,
            ..DeleteOptions::default()
        });
    };
    DeleteOptions::read(Some(body), &Query::read(None))
}

fn success() -> Written {
    let status =
        json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
    Written {
        outcome: Outcome::Created,
        answer: Answered::Value(status),
    }
}

/// Returns whether a Pod disturbs nobody when it goes: it has ended, goes already, or never ran.
fn needs_no_budget(pod: &Value) -> bool {
    pod.is_being_deleted() || pods::has_ended(pod) || pods::phase(pod) == "Pending"
}

/// Returns whether a Pod that isn't ready may go without being counted.
fn is_free(pod: &Value, budget: &Value) -> bool {
    if pods::is_ready(pod) {
        return false;
    }
    if budget["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow" {
        return true;
    }
    let number = |name: &str| budget["status"][name].as_i64().unwrap_or(0);
    number("desiredHealthy") > 0 && number("currentHealthy") >= number("desiredHealthy")
}

fn refused_with(message: String, seconds: u32) -> Status {
    let cause = Cause {
        reason: "DisruptionBudget".to_owned(),
        message,
        ..Cause::default()
    };
    Status::too_many_requests(VIOLATED, seconds).with_causes(vec![cause])
}

fn still_processed(budget: &str) -> Status {
    let message = format!("The disruption budget {budget} is still being processed by the server.");
    refused_with(message, 10)
}

/// Returns the budget with one disruption less.
fn after_disruption(budget: &Value, pod: &str, now: Timestamp) -> Result<Value, Status> {
    let status = &budget["status"];
    let number = |name: &str| status[name].as_i64().unwrap_or(0);
    if number("observedGeneration") < budget.generation() {
        return Err(still_processed(budget.name()));
    }
    let allowed = number("disruptionsAllowed");
    let resource = crate::status::GroupResource {
        group: "policy",
        resource: "poddisruptionbudget",
    };
    if allowed < 0 {
        let why = "pdb disruptions allowed is negative";
        return Err(Status::forbidden(resource, budget.name(), why));
    }
    let unconfirmed = status["disruptedPods"]
        .as_object()
        .map_or(0, serde_json::Map::len);
    if unconfirmed > MOST_UNCONFIRMED {
        let why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller";
        return Err(Status::forbidden(resource, budget.name(), why));
    }
    if allowed == 0 {
        let failed =
            conditions::find(status, "DisruptionAllowed").filter(|one| one["reason"] == "SyncFailed");
        let message = match failed {
            Some(failed) => format!(
                "The disruption budget {} does not allow evicting pods currently because it failed sync: {}",
                budget.name(),
                failed["message"].as_str().unwrap_or_default()
            ),
            None => format!(
                "The disruption budget {} needs {} healthy pods and has {} currently",
                budget.name(),
                number("desiredHealthy"),
                number("currentHealthy")
            ),
        };
        return Err(refused_with(message, 0));
    }
    let mut changed = budget.clone();
    let status = map_of(&mut changed).entry("status").or_insert(Value::Null);
    let map = map_of(status);
    map.insert("disruptionsAllowed".into(), (allowed - 1).into());
    let disrupted = map_of(map.entry("disruptedPods").or_insert(Value::Null));
    disrupted.insert(pod.to_owned(), timestamp(now).into());
    if allowed == 1 {
        disruption::note_allowed(&mut changed, now);
    }
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(allowed: i64) -> Value {
        json!({"metadata": {"name": "b", "generation": 2}, "spec": {},
            "status": {"observedGeneration": 2, "disruptionsAllowed": allowed, "desiredHealthy": 2, "currentHealthy": 2}})
    }

    #[test]
    fn a_budget_is_used_up_one_by_one() {
        let now = Timestamp::UNIX_EPOCH;
        let after = after_disruption(&budget(1), "p", now).expect("one is allowed");
        assert_eq!(after["status"]["disruptionsAllowed"], 0);
        assert_eq!(
            after["status"]["disruptedPods"],
            json!({"p": "1970-01-01T00:00:00Z"})
        );
        assert_eq!(after["status"]["conditions"][0]["reason"], "InsufficientPods");
        let refusal = after_disruption(&after, "q", now).expect_err("none is left");
        assert_eq!(refusal.message, VIOLATED);
        assert_eq!(
            refusal.details.expect("details").causes[0].message,
            "The disruption budget b needs 2 healthy pods and has 2 currently"
        );
    }

    #[test]
    fn a_budget_that_nobody_looked_at_yet_refuses() {
        let mut budget = budget(5);
        budget["status"]["observedGeneration"] = 1.into();
        let refusal = after_disruption(&budget, "p", Timestamp::UNIX_EPOCH).expect_err("it is too early");
        let details = refusal.details.expect("details");
        assert_eq!(details.retry_after_seconds, 10);
        assert_eq!(
            details.causes[0].message,
            "The disruption budget b is still being processed by the server."
        );
    }

    #[test]
    fn a_sick_pod_may_go_when_enough_are_well() {
        let pod = json!({"status": {"phase": "Running"}});
        assert!(is_free(&pod, &budget(0)));
        let mut poor = budget(0);
        poor["status"]["currentHealthy"] = 1.into();
        assert!(!is_free(&pod, &poor));
        poor["spec"]["unhealthyPodEvictionPolicy"] = "AlwaysAllow".into();
        assert!(is_free(&pod, &poor));
    }
}
