//! The row of a Pod: how ready it is, and the one word for its state.

use serde_json::{Value, json};

use super::cells::{Cells, at, items_at, number_at, or, text_at};

/// Returns the conditions of the row: a pod that has ended is `Completed`.
pub(super) fn conditions(cells: &Cells<'_>) -> Vec<Value> {
    let phase = text_at(cells.object(), "status.phase");
    let message = match phase {
        "Succeeded" => "The pod has completed successfully.",
        "Failed" => "The pod failed.",
        _ => return Vec::new(),
    };
    vec![json!({"type": "Completed", "status": "True", "reason": phase, "message": message})]
}

/// How often containers were started again, and when last.
#[derive(Default)]
struct Restarts<'a> {
    count: i64,
    last: &'a str,
}

impl<'a> Restarts<'a> {
    fn add(&mut self, status: &'a Value) {
        self.count += number_at(status, "restartCount");
        // Times are all written in one form, in which the later is the greater text.
        self.last = self.last.max(text_at(status, "lastState.terminated.finishedAt"));
    }
}

fn has_condition(pod: &Value, condition_type: &str) -> bool {
    items_at(pod, "status.conditions")
        .iter()
        .find(|condition| text_at(condition, "type") == condition_type)
        .is_some_and(|condition| text_at(condition, "status") == "True")
}

/// Returns the word for how a container ended.
fn ending(terminated: &Value) -> String {
    let reason = text_at(terminated, "reason");
    if !reason.is_empty() {
        return reason.to_owned();
    }
    match number_at(terminated, "signal") {
        0 => format!("ExitCode:{}", number_at(terminated, "exitCode")),
        signal => format!("Signal:{signal}"),
    }
}

/// What the containers of a pod say about it.
struct State<'a> {
    reason: String,
    ready: usize,
    restarts: Restarts<'a>,
}

/// Looks at the init containers up to the first one that hasn't finished. Returns whether there is such a one.
fn init_containers<'a>(
    pod: &'a Value,
    state: &mut State<'a>,
    restartable_restarts: &mut Restarts<'a>,
) -> bool {
    let containers = items_at(pod, "spec.initContainers");
    for (index, status) in items_at(pod, "status.initContainerStatuses").iter().enumerate() {
        let name = text_at(status, "name");
        let restartable = containers
            .iter()
            .rfind(|container| text_at(container, "name") == name)
            .is_some_and(|container| text_at(container, "restartPolicy") == "Always");
        state.restarts.add(status);
        if restartable {
            restartable_restarts.add(status);
        }
        let terminated = at(status, "state.terminated");
        if terminated.is_some_and(|terminated| number_at(terminated, "exitCode") == 0) {
            continue;
        }
        if restartable && at(status, "started").and_then(Value::as_bool) == Some(true) {
            state.ready += usize::from(at(status, "ready").and_then(Value::as_bool) == Some(true));
            continue;
        }
        let waiting = text_at(status, "state.waiting.reason");
        state.reason = if let Some(terminated) = terminated {
            format!("Init:{}", ending(terminated))
        } else if !waiting.is_empty() && waiting != "PodInitializing" {
            format!("Init:{waiting}")
        } else {
            format!("Init:{index}/{}", containers.len())
        };
        return true;
    }
    false
}

/// Looks at the containers, from the last to the first.
fn containers<'a>(pod: &'a Value, state: &mut State<'a>) {
    let mut running = false;
    let mut failure = String::new();
    for status in items_at(pod, "status.containerStatuses").iter().rev() {
        state.restarts.add(status);
        let waiting = text_at(status, "state.waiting.reason");
        if !waiting.is_empty() {
            waiting.clone_into(&mut state.reason);
        } else if let Some(terminated) = at(status, "state.terminated") {
            state.reason = ending(terminated);
            if number_at(terminated, "exitCode") != 0 {
                failure.clone_from(&state.reason);
            }
        } else if at(status, "ready").and_then(Value::as_bool) == Some(true)
            && at(status, "state.running").is_some()
        {
            running = true;
            state.ready += 1;
        }
    }
    if state.reason == "Completed" {
        if running && items_at(pod, "status.conditions").iter().any(is_ready) {
            "Running".clone_into(&mut state.reason);
        } else if !failure.is_empty() {
            state.reason = failure;
        } else if running {
            "NotReady".clone_into(&mut state.reason);
        }
    }
}

fn is_ready(condition: &Value) -> bool {
    text_at(condition, "type") == "Ready" && text_at(condition, "status") == "True"
}

/// Returns how many readiness gates are open, of how many.
fn readiness_gates(pod: &Value) -> String {
    let gates = items_at(pod, "spec.readinessGates");
    if gates.is_empty() {
        return "<none>".to_owned();
    }
    let open = gates
        .iter()
        .filter(|gate| has_condition(pod, text_at(gate, "conditionType")))
        .count();
    format!("{open}/{}", gates.len())
}

/// Returns the cells of a Pod.
pub(super) fn pod(cells: &Cells<'_>) -> Vec<Value> {
    let pod = cells.object();
    let phase = text_at(pod, "status.phase");
    let mut state = State {
        reason: or(text_at(pod, "status.reason"), phase).to_owned(),
        ready: 0,
        restarts: Restarts::default(),
    };
    let gated = |condition: &Value| {
        text_at(condition, "type") == "PodScheduled" && text_at(condition, "reason") == "SchedulingGated"
    };
    if items_at(pod, "status.conditions").iter().any(gated) {
        "SchedulingGated".clone_into(&mut state.reason);
    }
    let sidecars = items_at(pod, "spec.initContainers")
        .iter()
        .filter(|container| text_at(container, "restartPolicy") == "Always")
        .count();
    let total = items_at(pod, "spec.containers").len() + sidecars;
    let mut restartable_restarts = Restarts::default();
    let initializing = init_containers(pod, &mut state, &mut restartable_restarts);
    if !initializing || has_condition(pod, "Initialized") {
        state.restarts = restartable_restarts;
        containers(pod, &mut state);
    }
    if cells.is_deleted() {
        if text_at(pod, "status.reason") == "NodeLost" {
            "Unknown".clone_into(&mut state.reason);
        } else if !matches!(phase, "Succeeded" | "Failed") {
            "Terminating".clone_into(&mut state.reason);
        }
    }
    let Restarts { count, last } = state.restarts;
    let restarts = if count != 0 && !last.is_empty() {
        format!("{count} ({} ago)", cells.since_text(last))
    } else {
        count.to_string()
    };
    let address = items_at(pod, "status.podIPs")
        .first()
        .map_or("", |ip| text_at(ip, "ip"));
    vec![
        cells.name(),
        format!("{}/{total}", state.ready).into(),
        state.reason.into(),
        restarts.into(),
        cells.age(),
        or(or(address, text_at(pod, "status.podIP")), "<none>").into(),
        cells.text_or("spec.nodeName", "<none>"),
        cells.text_or("status.nominatedNodeName", "<none>"),
        readiness_gates(pod).into(),
    ]
}
