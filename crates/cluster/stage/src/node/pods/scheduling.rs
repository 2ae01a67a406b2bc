//! Where a pod runs: on the one node, if it fits there.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::{CLAIMS, Memory, PODS, is_over};
use crate::api::Api;
use crate::caller::Caller;
use crate::client::Client;
use crate::controllers::work::{Item, Next};
use crate::events::{self, EventType};
use crate::node::fit::{NeighbourTerm, Remedy};
use crate::node::line::Want;
use crate::node::simulation::{Fate, Knobs};
use crate::node::{NODE_NAME, SCHEDULER, Seen, Shared, fit, lock, requests};
use crate::object::{Object, map_of, timestamp};
use crate::status::Status;

/// Binds a pod to the node where it fits, and says why where it doesn't.
pub(super) async fn schedule(
    api: &Arc<Api>,
    shared: &Arc<Shared>,
    item: &Item,
    notify: &Arc<Notify>,
    memory: &mut Memory,
    pod: &Value,
) -> Result<Next, Status> {
    let spec = &pod["spec"];
    let gated = spec["schedulingGates"]
        .as_array()
        .is_some_and(|gates| !gates.is_empty());
    let ours = matches!(
        spec["schedulerName"].as_str(),
        None | Some("" | "default-scheduler")
    );
    let left_alone = Knobs::read(pod).fate == Fate::Pending;
    if gated || !ours || left_alone || pod.is_being_deleted() || is_over(pod) {
        shared.leave_line(item);
        return Ok(Next::Wait);
    }
    let caller = Caller::named(
        "system:kube-scheduler",
        &[crate::caller::MASTERS, "system:authenticated"],
    );
    let client = Client::new(api.clone(), Arc::new(caller), "kube-scheduler");
    let (seen, missing) = (shared.seen(&client)?, missing_claim(&client, pod)?);
    let lacks_claim = missing.is_some();
    let misfit = {
        let mut ledger = lock(&shared.ledger);
        let misfit = match (&seen, missing) {
            (None, _) => Some((Want::Node, "no nodes available to schedule pods".to_owned())),
            (_, Some(missing)) => Some((Want::Node, missing.message())),
            (Some(seen), None) => fit::misfit(pod, &seen.node, &ledger)
                .map(|misfit| (want(pod, misfit.remedy), misfit.message())),
        };
        // Under the ledger's lock, so that nobody gives back room between the look and the wait.
        let mut line = lock(&shared.line);
        if let Some(seen) = &seen {
            line.note_room(&seen.room);
        }
        match &misfit {
            None => {
                if ledger.enter(pod) {
                    line.arrived(pod.namespace(), &fit::labels_of(pod));
                }
                line.leave(&ledger, item);
            }
            Some((want, _)) => {
                let claims = claims_of(pod).map(str::to_owned).collect();
                line.wait(&ledger, item, notify, want.clone(), claims);
            }
        }
        misfit.map(|(_, message)| message)
    };
    if misfit.is_some() {
        // What was written between the look and the wait was told to nobody.
        let now = shared.seen(&client)?;
        let revision = |seen: &Option<Arc<Seen>>| seen.as_ref().map(|seen| seen.revision);
        if revision(&now) != revision(&seen) || missing_claim(&client, pod)?.is_some() != lacks_claim {
            notify.notify_one();
        }
    }
    if let Some(message) = misfit {
        return stay_unscheduled(shared, &client, memory, pod, &message).await;
    }
    let binding = json!({
        "apiVersion": "v1", "kind": "Binding",
        "metadata": {"name": pod.name(), "namespace": pod.namespace(), "uid": pod.uid()},
        "target": {"kind": "Node", "name": NODE_NAME},
    });
    if let Err(status) = client
        .create_below(PODS, pod.namespace(), pod.name(), "binding", binding)
        .await
    {
        shared.release(pod.uid());
        return Err(status);
    }
    shared.tell(|recorder| {
        recorder.of(SCHEDULER).tell_of(
            events::reference(pod),
            EventType::Normal,
            "Scheduled",
            format!(
                "Successfully assigned {}/{} to {NODE_NAME}",
                pod.namespace(),
                pod.name()
            ),
            "Binding",
        );
    });
    Ok(Next::After(Duration::ZERO))
}

/// Returns what a pod waits for whose misfit has this remedy.
fn want(pod: &Value, remedy: Remedy) -> Want {
    match remedy {
        Remedy::Change => Want::Node,
        Remedy::Room => Want::Room(requests::of_pod(pod)),
        Remedy::Departure => Want::Departure,
        Remedy::Company => Want::Company(NeighbourTerm::read(pod, "podAffinity")),
    }
}

fn claims_of(pod: &Value) -> impl Iterator<Item = &str> {
    requests::items(&pod["spec"]["volumes"])
        .filter_map(|volume| volume["persistentVolumeClaim"]["claimName"].as_str())
}

fn missing_claim(client: &Client, pod: &Value) -> Result<Option<fit::Misfit>, Status> {
    for claim in claims_of(pod) {
        if client.get_stored(CLAIMS, pod.namespace(), claim)?.is_none() {
            return Ok(Some(fit::Misfit {
                reasons: vec![format!("persistentvolumeclaim \"{claim}\" not found")],
                others_could_go: false,
                is_of_pod: true,
                remedy: Remedy::Change,
            }));
        }
    }
    Ok(None)
}

async fn stay_unscheduled(
    shared: &Shared,
    client: &Client,
    memory: &mut Memory,
    pod: &Value,
    message: &str,
) -> Result<Next, Status> {
    if memory.misfit == message {
        return Ok(Next::Wait);
    }
    let mut wanted = pod.clone();
    let status = map_of(map_of(&mut wanted).entry("status").or_insert(Value::Null));
    let conditions = status.entry("conditions").or_insert_with(|| json!([]));
    if let Some(conditions) = conditions.as_array_mut() {
        let before = conditions.iter().position(|one| one["type"] == "PodScheduled");
        let since = before
            .and_then(|before| conditions.get(before))
            .filter(|before| before["status"] == "False")
            .map_or_else(
                || json!(timestamp(Timestamp::now())),
                |before| before["lastTransitionTime"].clone(),
            );
        let mut condition = json!({
            "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message,
            "lastProbeTime": null, "lastTransitionTime": since,
        });
        if pod.generation() > 0 {
            condition["observedGeneration"] = pod.generation().into();
        }
        match before.and_then(|before| conditions.get_mut(before)) {
            Some(before) => *before = condition,
            None => conditions.push(condition),
        }
    }
    client.update_status(PODS, wanted).await?;
    message.clone_into(&mut memory.misfit);
    shared.tell(|recorder| {
        recorder.of(SCHEDULER).tell_of(
            events::reference(pod),
            EventType::Warning,
            "FailedScheduling",
            message,
            "Scheduling",
        );
    });
    Ok(Next::Wait)
}
