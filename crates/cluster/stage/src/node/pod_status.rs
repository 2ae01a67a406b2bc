//! The status of a pod, from what its containers do: phase, conditions and container statuses as upstream's kubelet
//! writes them.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::requests::items;
use crate::object::{Object, timestamp};

/// The end of one run of a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// The exit code; 128 and the signal's number for one that was killed.
    pub exit_code: i32,
    /// The reason in one word.
    pub reason: String,
    /// What the container left to say.
    pub message: String,
    /// When the run began.
    pub started_at: Timestamp,
    /// When it ended.
    pub finished_at: Timestamp,
    /// Which run it was.
    pub container_id: String,
}

impl Ended {
    /// Returns the word for an exit code.
    pub fn reason_of(exit_code: i32) -> &'static str {
        if exit_code == 0 { "Completed" } else { "Error" }
    }

    fn to_value(&self) -> Value {
        let mut value = json!({
            "exitCode": self.exit_code, "reason": self.reason, "startedAt": timestamp(self.started_at),
            "finishedAt": timestamp(self.finished_at), "containerID": self.container_id,
        });
        if !self.message.is_empty() {
            value["message"] = self.message.clone().into();
        }
        value
    }

    /// Reads what `Ended::to_value` wrote.
    pub fn read(value: &Value) -> Option<Self> {
        let ended = value.as_object()?;
        let text = |name: &str| ended.get(name).and_then(Value::as_str).unwrap_or_default();
        let at = |name: &str| text(name).parse().unwrap_or(Timestamp::UNIX_EPOCH);
        Some(Self {
            exit_code: ended
                .get("exitCode")
                .and_then(Value::as_i64)
                .and_then(|code| i32::try_from(code).ok())
                .unwrap_or(0),
            reason: text("reason").to_owned(),
            message: text("message").to_owned(),
            started_at: at("startedAt"),
            finished_at: at("finishedAt"),
            container_id: text("containerID").to_owned(),
        })
    }
}

/// What a container does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// It hasn't started, or waits to be started again.
    Waiting {
        /// The reason in one word, such as `ContainerCreating`.
        reason: String,
        /// More about it.
        message: String,
    },
    /// It runs.
    Running {
        /// Since when.
        started_at: Timestamp,
    },
    /// It has ended and isn't started again.
    Terminated(Ended),
}

impl State {
    /// Returns a state of waiting.
    pub fn waiting(reason: &str, message: impl Into<String>) -> Self {
        Self::Waiting {
            reason: reason.to_owned(),
            message: message.into(),
        }
    }

    fn to_value(&self) -> Value {
        match self {
            Self::Waiting { reason, message } if message.is_empty() => json!({"waiting": {"reason": reason}}),
            Self::Waiting { reason, message } => json!({"waiting": {"reason": reason, "message": message}}),
            Self::Running { started_at } => json!({"running": {"startedAt": timestamp(*started_at)}}),
            Self::Terminated(ended) => json!({"terminated": ended.to_value()}),
        }
    }

    /// Reads a state from a container's status.
    pub fn read(value: &Value) -> Option<Self> {
        if let Some(waiting) = value.get("waiting") {
            let text = |name: &str| waiting[name].as_str().unwrap_or_default().to_owned();
            return Some(Self::Waiting {
                reason: text("reason"),
                message: text("message"),
            });
        }
        if let Some(running) = value.get("running") {
            let started_at = running["startedAt"].as_str().and_then(|at| at.parse().ok());
            return Some(Self::Running {
                started_at: started_at.unwrap_or(Timestamp::UNIX_EPOCH),
            });
        }
        Ended::read(value.get("terminated")?).map(Self::Terminated)
    }
}

/// What is known of a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Container {
    /// Its name.
    pub name: String,
    /// Its image, as the pod names it.
    pub image: String,
    /// The digest of the image that runs.
    pub image_id: String,
    /// Which run it is; empty before the first.
    pub container_id: String,
    /// What it does.
    pub state: State,
    /// The end of the run before.
    pub last: Option<Ended>,
    /// How often it was started again.
    pub restarts: i64,
    /// Whether it is ready for requests.
    pub ready: bool,
    /// Whether its start is over.
    pub started: bool,
}

impl Container {
    /// Returns a container that hasn't started.
    pub fn new(container: &Value, reason: &str) -> Self {
        let text = |name: &str| container[name].as_str().unwrap_or_default().to_owned();
        Self {
            name: text("name"),
            image: text("image"),
            image_id: String::new(),
            container_id: String::new(),
            state: State::waiting(reason, ""),
            last: None,
            restarts: 0,
            ready: false,
            started: false,
        }
    }

    /// Reads a container from the status of its pod; `None` where the status has nothing of it.
    pub fn read(container: &Value, statuses: &Value) -> Option<Self> {
        let status = items(statuses).find(|status| status["name"] == container["name"])?;
        let text = |name: &str| status[name].as_str().unwrap_or_default().to_owned();
        Some(Self {
            name: text("name"),
            image: text("image"),
            image_id: text("imageID"),
            container_id: text("containerID"),
            state: State::read(&status["state"])?,
            last: status["lastState"].get("terminated").and_then(Ended::read),
            restarts: status["restartCount"].as_i64().unwrap_or(0),
            ready: status["ready"] == true,
            started: status["started"] == true,
        })
    }

    /// Returns whether it has ended well.
    pub fn has_succeeded(&self) -> bool {
        matches!(&self.state, State::Terminated(ended) if ended.exit_code == 0)
    }

    fn to_value(&self, spec: Option<&Value>) -> Value {
        let mut status = json!({
            "name": self.name, "image": self.image, "imageID": self.image_id, "ready": self.ready,
            "restartCount": self.restarts, "started": self.started, "state": self.state.to_value(),
            "lastState": self.last.as_ref().map_or_else(|| json!({}), |ended| json!({"terminated": ended.to_value()})),
        });
        if !self.container_id.is_empty() {
            status["containerID"] = self.container_id.clone().into();
        }
        let Some(spec) = spec else { return status };
        if let Some(resources) = spec.get("resources").filter(|resources| !resources.is_null())
            && matches!(self.state, State::Running { .. })
        {
            status["resources"] = resources.clone();
            if let Some(requests) = resources.get("requests") {
                status["allocatedResources"] = requests.clone();
            }
        }
        let mounts: Vec<Value> = items(&spec["volumeMounts"])
            .map(|mount| {
                let mut mounted = json!({"name": mount["name"], "mountPath": mount["mountPath"]});
                if mount["readOnly"] == true {
                    mounted["readOnly"] = true.into();
                    mounted["recursiveReadOnly"] = mount
                        .get("recursiveReadOnly")
                        .cloned()
                        .unwrap_or_else(|| "Disabled".into());
                }
                mounted
            })
            .collect();
        if !mounts.is_empty() {
            status["volumeMounts"] = mounts.into();
        }
        status
    }
}

/// What is known of a pod's containers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Observed {
    /// Those that run before the others.
    pub init: Vec<Container>,
    /// Those that the pod is for.
    pub containers: Vec<Container>,
    /// Those that were added to look at it.
    pub ephemeral: Vec<Container>,
    /// The pod's address; empty before it has one.
    pub address: String,
    /// The phase, where it doesn't follow from the containers.
    pub phase: Option<&'static str>,
    /// Why the pod has failed as a whole: reason and message.
    pub failure: Option<(String, String)>,
}

/// Returns the phase that follows from the containers.
pub fn phase(pod: &Value, observed: &Observed) -> &'static str {
    if let Some(phase) = observed.phase {
        return phase;
    }
    let policy = pod["spec"]["restartPolicy"].as_str().unwrap_or("Always");
    let specs: Vec<&Value> = items(&pod["spec"]["initContainers"]).collect();
    for (spec, container) in specs.iter().zip(&observed.init) {
        if spec["restartPolicy"] == "Always" {
            continue;
        }
        match &container.state {
            State::Terminated(ended) if ended.exit_code == 0 => {}
            State::Terminated(_) if policy == "Never" => return "Failed",
            _ => return "Pending",
        }
    }
    let (mut waiting, mut running, mut stopped, mut succeeded) = (0, 0, 0, 0);
    for container in &observed.containers {
        match &container.state {
            State::Running { .. } => running += 1,
            State::Terminated(ended) => {
                stopped += 1;
                succeeded += usize::from(ended.exit_code == 0);
            }
            State::Waiting { .. } => match &container.last {
                Some(_) => stopped += 1,
                None => waiting += 1,
            },
        }
    }
    match (waiting, running) {
        (1.., _) => "Pending",
        (0, 1..) => "Running",
        _ if policy == "Always" => "Running",
        _ if stopped == succeeded => "Succeeded",
        _ if policy == "Never" => "Failed",
        _ => "Running",
    }
}

/// Returns the status of a pod. What others wrote into it stays.
pub fn write(pod: &Value, observed: &Observed, now: Timestamp) -> Value {
    let mut status = pod
        .get("status")
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    let phase = phase(pod, observed);
    let generation = pod.generation();
    status.insert("phase".into(), phase.into());
    if generation > 0 {
        status.insert("observedGeneration".into(), generation.into());
    }
    let (reason, message) = observed.failure.clone().unwrap_or_default();
    for (name, text) in [("reason", reason), ("message", message)] {
        if text.is_empty() {
            status.remove(name);
        } else {
            status.insert(name.into(), text.into());
        }
    }
    status.insert("hostIP".into(), "127.0.0.1".into());
    status.insert("hostIPs".into(), json!([{"ip": "127.0.0.1"}]));
    if !observed.address.is_empty() {
        status.insert("podIP".into(), observed.address.clone().into());
        status.insert("podIPs".into(), json!([{"ip": observed.address}]));
    }
    status.entry("startTime").or_insert_with(|| timestamp(now).into());
    let spec = &pod["spec"];
    for (name, list, containers) in [
        ("initContainerStatuses", "initContainers", &observed.init),
        ("containerStatuses", "containers", &observed.containers),
        (
            "ephemeralContainerStatuses",
            "ephemeralContainers",
            &observed.ephemeral,
        ),
    ] {
        if containers.is_empty() {
            status.remove(name);
            continue;
        }
        let written: Vec<Value> = containers
            .iter()
            .map(|container| {
                container.to_value(items(&spec[list]).find(|spec| spec["name"] == *container.name))
            })
            .collect();
        status.insert(name.into(), written.into());
    }
    let conditions = conditions(pod, observed, phase, &status, now);
    status.insert("conditions".into(), conditions.into());
    Value::Object(status)
}

/// The conditions that the node writes, in the order in which upstream's kubelet does.
const OWN_CONDITIONS: [&str; 5] = [
    "PodReadyToStartContainers",
    "Initialized",
    "Ready",
    "ContainersReady",
    "PodScheduled",
];

fn conditions(
    pod: &Value,
    observed: &Observed,
    phase: &str,
    status: &Map<String, Value>,
    now: Timestamp,
) -> Vec<Value> {
    let old: Vec<&Value> = status.get("conditions").into_iter().flat_map(items).collect();
    let mut written: Vec<Value> = old
        .iter()
        .filter(|one| !OWN_CONDITIONS.contains(&one["type"].as_str().unwrap_or_default()))
        .map(|one| (*one).clone())
        .collect();
    let has_sandbox = !observed.address.is_empty() && !matches!(phase, "Succeeded" | "Failed");
    let containers_ready = containers_ready(pod, observed, phase);
    let ready = match &containers_ready {
        Verdict { holds: true, .. } => readiness_gates(pod, &written),
        other => other.clone(),
    };
    for (kind, verdict) in OWN_CONDITIONS.into_iter().zip([
        Verdict {
            holds: has_sandbox,
            ..Verdict::default()
        },
        initialized(pod, observed, phase),
        ready,
        containers_ready,
        Verdict::yes(),
    ]) {
        let before = old.iter().find(|one| one["type"] == kind);
        let holds = if verdict.holds { "True" } else { "False" };
        let since = before.filter(|before| before["status"] == holds).map_or_else(
            || json!(timestamp(now)),
            |before| before["lastTransitionTime"].clone(),
        );
        let mut condition = json!({
            "type": kind, "status": holds, "lastProbeTime": null, "lastTransitionTime": since,
        });
        if pod.generation() > 0 {
            condition["observedGeneration"] = pod.generation().into();
        }
        if !verdict.reason.is_empty() {
            condition["reason"] = verdict.reason.into();
        }
        if !verdict.message.is_empty() {
            condition["message"] = verdict.message.into();
        }
        written.push(condition);
    }
    written
}

#[derive(Debug, Clone, Default)]
struct Verdict {
    holds: bool,
    reason: &'static str,
    message: String,
}

impl Verdict {
    fn yes() -> Self {
        Self {
            holds: true,
            ..Self::default()
        }
    }

    fn no(reason: &'static str, message: String) -> Self {
        Self {
            holds: false,
            reason,
            message,
        }
    }
}

fn initialized(pod: &Value, observed: &Observed, phase: &str) -> Verdict {
    if phase == "Succeeded" {
        return Verdict {
            holds: true,
            reason: "PodCompleted",
            message: String::new(),
        };
    }
    let specs = items(&pod["spec"]["initContainers"]);
    let incomplete: Vec<&str> = specs
        .zip(&observed.init)
        .filter(|(spec, container)| {
            let stays = spec["restartPolicy"] == "Always";
            if stays {
                !container.started
            } else {
                !container.has_succeeded()
            }
        })
        .map(|(_, container)| container.name.as_str())
        .collect();
    if incomplete.is_empty() {
        return Verdict::yes();
    }
    Verdict::no(
        "ContainersNotInitialized",
        format!("containers with incomplete status: [{}]", incomplete.join(" ")),
    )
}

fn containers_ready(pod: &Value, observed: &Observed, phase: &str) -> Verdict {
    match phase {
        "Succeeded" => return Verdict::no("PodCompleted", String::new()),
        "Failed" => return Verdict::no("PodFailed", String::new()),
        _ => {}
    }
    let staying = items(&pod["spec"]["initContainers"])
        .zip(&observed.init)
        .filter(|(spec, _)| spec["restartPolicy"] == "Always")
        .map(|(_, container)| container);
    let unready: Vec<&str> = staying
        .chain(&observed.containers)
        .filter(|container| !container.ready)
        .map(|container| container.name.as_str())
        .collect();
    if unready.is_empty() {
        return Verdict::yes();
    }
    Verdict::no(
        "ContainersNotReady",
        format!("containers with unready status: [{}]", unready.join(" ")),
    )
}

fn readiness_gates(pod: &Value, conditions: &[Value]) -> Verdict {
    let mut missing = Vec::new();
    for gate in items(&pod["spec"]["readinessGates"]) {
        let kind = gate["conditionType"].as_str().unwrap_or_default();
        match conditions.iter().find(|one| one["type"] == kind) {
            None => missing.push(format!(
                "corresponding condition of pod readiness gate \"{kind}\" does not exist."
            )),
            Some(condition) if condition["status"] != "True" => missing.push(format!(
                "the status of pod readiness gate \"{kind}\" is not \"True\", but {}",
                condition["status"].as_str().unwrap_or_default()
            )),
            Some(_) => {}
        }
    }
    if missing.is_empty() {
        return Verdict::yes();
    }
    Verdict::no("ReadinessGatesNotReady", missing.join(", "))
}

#[cfg(test)]
mod tests;
