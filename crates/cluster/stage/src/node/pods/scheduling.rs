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
use crate::node::machine::NODES;
use crate::node::simulation::{Fate, Knobs};
use crate::node::{NODE_NAME, SCHEDULER, Shared, fit, lock};
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
        return Ok(Next::Wait);
    }
    let caller = Caller::named(
        "system:kube-scheduler",
        &[crate::caller::MASTERS, "system:authenticated"],
    );
    let client = Client::new(api.clone(), Arc::new(caller), "kube-scheduler");
    let Some(node) = client.get(NODES, "", NODE_NAME)? else {
        lock(&shared.waiting).insert(item.clone(), notify.clone());
        let message = "no nodes available to schedule pods";
        return stay_unscheduled(shared, &client, memory, pod, message).await;
    };
    let misfit = if let Some(missing) = missing_claim(&client, pod)? {
        lock(&shared.waiting).insert(item.clone(), notify.clone());
        Some(missing.message())
    } else {
        let mut ledger = lock(&shared.ledger);
        let misfit = fit::misfit(pod, &node, &ledger);
        match &misfit {
            None => {
                ledger.enter(pod);
            }
            // Under the ledger's lock, so that nobody gives back room between the look and the wait.
            Some(_) => {
                lock(&shared.waiting).insert(item.clone(), notify.clone());
            }
        }
        misfit.map(|misfit| misfit.message())
    };
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

fn missing_claim(client: &Client, pod: &Value) -> Result<Option<fit::Misfit>, Status> {
    for volume in crate::node::requests::items(&pod["spec"]["volumes"]) {
        let Some(claim) = volume["persistentVolumeClaim"]["claimName"].as_str() else {
            continue;
        };
        if client.get_stored(CLAIMS, pod.namespace(), claim)?.is_none() {
            return Ok(Some(fit::Misfit {
                reasons: vec![format!("persistentvolumeclaim \"{claim}\" not found")],
                others_could_go: false,
                is_of_pod: true,
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
