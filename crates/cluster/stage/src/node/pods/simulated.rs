//! A pod that only seems to run: its annotations say what becomes of it.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;
use tokio::time::Instant;

use super::{Memory, PODS, address, deadline_exceeded, delete_now, is_over, time_left};
use crate::client::Client;
use crate::controllers::work::{Item, Next};
use crate::events::{self, EventType};
use crate::node::addresses::Occupant;
use crate::node::simulation::{self, Fate, Knobs};
use crate::node::{Shared, lock, pod_status};
use crate::object::{Object, map_of};
use crate::status::Status;

/// A delay that is longer than this shows: the pod's containers are said to be created meanwhile.
const NOTICEABLE: Duration = Duration::from_millis(500);

/// Makes a simulated pod what its annotations say, when the time has come.
pub(super) async fn simulate(
    shared: &Shared,
    client: &Client,
    memory: &mut Memory,
    pod: Value,
) -> Result<Next, Status> {
    let knobs = Knobs::read(&pod);
    if knobs.fate == Fate::Pending {
        // Left wholly alone, as by a node that hasn't heard of it.
        return Ok(Next::Wait);
    }
    lock(&shared.addresses).note(pod.uid(), Occupant::Simulation);
    let over = is_over(&pod);
    if over && memory.done.is_none() && !knobs.is_told {
        // It ended before we looked, or someone else ended it.
        shared.release(pod.uid());
        return Ok(Next::Wait);
    }
    let pending = pod["status"]["phase"]
        .as_str()
        .is_none_or(|phase| phase == "Pending");
    let known = memory.asked.as_ref().is_some_and(|(asked, _)| *asked == knobs);
    if !known {
        let is_first = memory.asked.is_none();
        memory.asked = Some((knobs.clone(), Instant::now()));
        memory.next_crash = None;
        if is_first && !pending {
            // The cluster was started again: what the pod is was done before.
            memory.done = matches!(
                (knobs.fate, pod["status"]["phase"].as_str()),
                (Fate::Running | Fate::Unready | Fate::CrashLoop, Some("Running"))
                    | (Fate::Succeeded, Some("Succeeded"))
                    | (Fate::Failed, Some("Failed"))
            )
            .then(|| knobs.clone());
            memory.start_told = true;
        }
    }
    if over && memory.done.as_ref() == Some(&knobs) {
        shared.release(pod.uid());
        return Ok(Next::Wait);
    }
    shared.enter(&pod);
    if let Some(next) = past_deadline(shared, client, &pod).await? {
        return Ok(next);
    }
    let crash_is_due = memory.next_crash.is_some_and(|at| at <= Instant::now());
    let seen = pod["status"]["observedGeneration"].as_i64().unwrap_or(0) == pod.generation();
    let gates = pod["spec"]["readinessGates"]
        .as_array()
        .is_some_and(|gates| !gates.is_empty());
    if memory.done.as_ref() == Some(&knobs) && !pending && seen && !gates && !crash_is_due {
        return Ok(wait(memory, &pod));
    }
    let since = memory
        .asked
        .as_ref()
        .map_or_else(Instant::now, |(_, since)| *since);
    let delay = knobs.after.unwrap_or_else(|| shared.simulated_delay());
    let due = since + delay;
    let address = address(shared, &pod)?;
    if due > Instant::now() {
        if pending && delay > NOTICEABLE && pod["status"]["containerStatuses"].is_null() {
            let creating = Knobs {
                fate: Fate::Pending,
                ..knobs
            };
            let observed = simulation::observe(&pod, &creating, "", false, Timestamp::now());
            write(client, pod, &observed).await?;
        }
        return Ok(Next::After(due.saturating_duration_since(Instant::now())));
    }
    let observed = simulation::observe(&pod, &knobs, &address, crash_is_due, Timestamp::now());
    if !memory.start_told {
        tell_start(shared, &pod);
        memory.start_told = true;
    }
    if knobs.fate == Fate::CrashLoop {
        tell_crash(shared, &pod);
        let restarts = observed
            .containers
            .iter()
            .map(|container| container.restarts)
            .max()
            .unwrap_or(0);
        memory.next_crash = Some(Instant::now() + simulation::back_off(restarts));
    }
    let written = write(client, pod, &observed).await?;
    memory.done = Some(knobs);
    if is_over(&written) {
        shared.release(written.uid());
    }
    Ok(wait(memory, &written))
}

/// Returns when a pod has to be looked at again though nothing changes.
fn wait(memory: &Memory, pod: &Value) -> Next {
    let crash = memory
        .next_crash
        .map(|at| at.saturating_duration_since(Instant::now()));
    match (crash, time_left(pod).filter(|_| !is_over(pod))) {
        (Some(one), Some(other)) => Next::After(one.min(other)),
        (Some(delay), None) | (None, Some(delay)) => Next::After(delay),
        (None, None) => Next::Wait,
    }
}

async fn past_deadline(shared: &Shared, client: &Client, pod: &Value) -> Result<Option<Next>, Status> {
    if is_over(pod) || time_left(pod).is_none_or(|left| !left.is_zero()) {
        return Ok(None);
    }
    let address = pod["status"]["podIP"].as_str().unwrap_or_default();
    let failed = Knobs {
        fate: Fate::Failed,
        is_told: true,
        after: None,
        exit_code: 137,
        message: String::new(),
    };
    let mut observed = simulation::observe(pod, &failed, address, false, Timestamp::now());
    let (reason, message) = deadline_exceeded();
    observed.failure = Some((reason.clone(), message.clone()));
    write(client, pod.clone(), &observed).await?;
    shared.tell(|recorder| recorder.tell(pod, EventType::Normal, reason, message));
    shared.release(pod.uid());
    Ok(Some(Next::Wait))
}

/// Writes what a simulated pod has become, and that it is simulated.
async fn write(client: &Client, mut pod: Value, observed: &pod_status::Observed) -> Result<Value, Status> {
    let status = pod_status::write(&pod, observed, Timestamp::now());
    map_of(&mut pod).insert("status".into(), status);
    let annotations = map_of(pod.metadata_mut().entry("annotations").or_insert(Value::Null));
    annotations.insert(simulation::SIMULATED.into(), "true".into());
    client.update_status(PODS, pod).await
}

/// Ends a simulated pod, as upstream's kubelet does with one whose containers stop at once.
pub(super) async fn end(shared: &Shared, client: &Client, pod: Value) -> Result<Next, Status> {
    let left = pod
        .metadata()
        .and_then(|all| all.get("deletionGracePeriodSeconds")?.as_i64())
        .unwrap_or(0);
    if left == 0 {
        // Only finalizers keep it.
        shared.release(pod.uid());
        return Ok(Next::Wait);
    }
    let (item, uid) = (Item::new(pod.namespace(), pod.name()), pod.uid().to_owned());
    if !is_over(&pod) && pod["status"]["containerStatuses"].is_array() {
        for container in crate::node::requests::items(&pod["spec"]["containers"]) {
            let container = container["name"].as_str().unwrap_or_default();
            shared.tell(|recorder| {
                let regarding = events::container_reference(&pod, "containers", container);
                recorder.tell_of(
                    regarding,
                    EventType::Normal,
                    "Killing",
                    format!("Stopping container {container}"),
                    "",
                );
            });
        }
        let address = pod["status"]["podIP"].as_str().unwrap_or_default().to_owned();
        let observed = simulation::observe_end(&pod, &address, Timestamp::now());
        write(client, pod, &observed).await?;
    }
    delete_now(client, &item, &uid).await?;
    shared.release(&uid);
    Ok(Next::After(Duration::ZERO))
}

fn tell_start(shared: &Shared, pod: &Value) {
    shared.tell(|recorder| {
        for list in ["initContainers", "containers"] {
            for container in crate::node::requests::items(&pod["spec"][list]) {
                let text = |field: &str| container[field].as_str().unwrap_or_default();
                let regarding = events::container_reference(pod, list, text("name"));
                let pulled = format!("Container image \"{}\" already present on machine", text("image"));
                recorder.tell_of(regarding.clone(), EventType::Normal, "Pulled", pulled, "");
                recorder.tell_of(
                    regarding.clone(),
                    EventType::Normal,
                    "Created",
                    "Container created",
                    "",
                );
                recorder.tell_of(regarding, EventType::Normal, "Started", "Container started", "");
            }
        }
        recorder.tell(
            pod,
            EventType::Normal,
            "Simulated",
            "Pod is simulated: nothing runs, because baton didn't build its image; the annotation \
             stage.baton.dev/simulate says what becomes of it",
        );
    });
}

fn tell_crash(shared: &Shared, pod: &Value) {
    shared.tell(|recorder| {
        for container in crate::node::requests::items(&pod["spec"]["containers"]) {
            let name = container["name"].as_str().unwrap_or_default();
            let message = format!(
                "Back-off restarting failed container {name} in pod {}_{}({})",
                pod.name(),
                pod.namespace(),
                pod.uid()
            );
            let regarding = events::container_reference(pod, "containers", name);
            recorder.tell_of(regarding, EventType::Warning, "BackOff", message, "");
        }
    });
}
