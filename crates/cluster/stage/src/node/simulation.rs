//! Pods that nothing really runs: what their annotations make of them.
//!
//! | annotation | meaning |
//! |---|---|
//! | `stage.baton.dev/simulate` | `running` (the default), `unready`, `pending` (left wholly alone), `succeeded` (the default for pods of Jobs), `failed`, `crash-loop`; `run`, `succeed` and `fail` are the same in short |
//! | `stage.baton.dev/simulate-after` | how long that takes, such as `2s` or `500ms` |
//! | `stage.baton.dev/simulate-exit-code` | the exit code of `failed` and `crash-loop`; 1 otherwise |
//! | `stage.baton.dev/simulate-message` | the message of containers that ended |
//! | `stage.baton.dev/simulate-logs` | what `kubectl logs` shows |
//!
//! A change of the annotations changes the pod. Every simulated pod says so: `stage.baton.dev/simulated: "true"`.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::pod_status::{Container, Ended, Observed, State};
use super::requests::items;
use crate::object::Object;

/// The annotation that a simulated pod carries.
pub const SIMULATED: &str = "stage.baton.dev/simulated";

const FATE: &str = "stage.baton.dev/simulate";
const AFTER: &str = "stage.baton.dev/simulate-after";
const EXIT_CODE: &str = "stage.baton.dev/simulate-exit-code";
const MESSAGE: &str = "stage.baton.dev/simulate-message";
const LOGS: &str = "stage.baton.dev/simulate-logs";

/// How long a container that fails waits before it is started again; each failure doubles it.
const FIRST_BACK_OFF: Duration = Duration::from_secs(10);

/// The longest that it waits.
const LONGEST_BACK_OFF: Duration = Duration::from_mins(5);

/// The longest that an annotation can put something off: what is longer is meant to be `pending`.
const LONGEST_DELAY: Duration = Duration::from_hours(24);

/// What becomes of a simulated pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It runs and is ready.
    Running,
    /// It runs and isn't ready.
    Unready,
    /// It is left alone: not bound, and where it is bound already, not started.
    Pending,
    /// It ends well.
    Succeeded,
    /// It ends with an exit code.
    Failed,
    /// It ends with an exit code and is started again, and again.
    CrashLoop,
}

/// What the annotations of a pod ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Knobs {
    /// What becomes of it.
    pub fate: Fate,
    /// Whether an annotation says so.
    pub is_told: bool,
    /// How long that takes; `None` for as long as it usually does.
    pub after: Option<Duration>,
    /// The exit code of failures.
    pub exit_code: i32,
    /// What ended containers leave to say.
    pub message: String,
}

impl Knobs {
    /// Reads the annotations of a pod. Values that say nothing are as if they weren't there.
    pub fn read(pod: &Value) -> Self {
        let told = match pod.annotation(FATE) {
            Some("running" | "run") => Some(Fate::Running),
            Some("unready") => Some(Fate::Unready),
            Some("pending") => Some(Fate::Pending),
            Some("succeeded" | "succeed") => Some(Fate::Succeeded),
            Some("failed" | "fail") => Some(Fate::Failed),
            Some("crash-loop") => Some(Fate::CrashLoop),
            _ => None,
        };
        let of_job = pod
            .pointer("/metadata/ownerReferences/0/kind")
            .and_then(Value::as_str)
            == Some("Job");
        let usual = if of_job { Fate::Succeeded } else { Fate::Running };
        let exit_code = pod.annotation(EXIT_CODE).and_then(|code| code.parse().ok());
        Self {
            fate: told.unwrap_or(usual),
            is_told: told.is_some(),
            after: pod.annotation(AFTER).and_then(read_duration),
            exit_code: exit_code.filter(|code| (1..=255).contains(code)).unwrap_or(1),
            message: pod.annotation(MESSAGE).unwrap_or_default().to_owned(),
        }
    }
}

/// Returns what `kubectl logs` shows of a container of a simulated pod.
pub fn logs(pod: &Value, container: &str) -> String {
    let text = pod.annotation(LOGS).map_or_else(
        || {
            format!(
                "pod \"{}\" is simulated: nothing runs in container \"{container}\", because baton didn't build its \
                 image; set the annotation {LOGS} for other text",
                pod.name()
            )
        },
        str::to_owned,
    );
    if text.is_empty() || text.ends_with('\n') {
        text
    } else {
        text + "\n"
    }
}

/// Reads a time such as `1m30s`, `2s`, `1.5s` or `500ms`.
pub fn read_duration(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut total = 0.0_f64;
    while !rest.is_empty() {
        let digits = rest.find(|character: char| !character.is_ascii_digit() && character != '.')?;
        let (number, after) = rest.split_at(digits);
        let unit = after
            .find(|character: char| character.is_ascii_digit())
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(unit);
        let seconds = match unit {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        total += number.parse::<f64>().ok()? * seconds;
        rest = after;
    }
    if text.is_empty() || !total.is_finite() {
        return None;
    }
    Some(
        Duration::try_from_secs_f64(total)
            .unwrap_or(LONGEST_DELAY)
            .min(LONGEST_DELAY),
    )
}

/// Returns how long a container that was started again so many times waits.
pub fn back_off(restarts: i64) -> Duration {
    let doublings = u32::try_from(restarts.saturating_sub(1).clamp(0, 16)).unwrap_or(0);
    FIRST_BACK_OFF
        .saturating_mul(1 << doublings)
        .min(LONGEST_BACK_OFF)
}

/// Returns what a pod's containers do at a moment.
///
/// `crashes_again` is whether a container that fails again and again has just done so.
pub fn observe(pod: &Value, knobs: &Knobs, address: &str, crashes_again: bool, now: Timestamp) -> Observed {
    let spec = &pod["spec"];
    let fate = match knobs.fate {
        // Nothing is started again where the pod says so.
        Fate::CrashLoop if spec["restartPolicy"] == "Never" => Fate::Failed,
        fate => fate,
    };
    let starts = fate != Fate::Pending;
    let init = items(&spec["initContainers"]).map(|container| {
        let before = Container::read(container, &pod["status"]["initContainerStatuses"]);
        match (starts, container["restartPolicy"] == "Always") {
            (false, _) => Container::new(container, "PodInitializing"),
            (true, false) => ended(pod, container, before, 0, "", now),
            (true, true) => match fate {
                Fate::Succeeded | Fate::Failed => ended(pod, container, before, 0, "", now),
                _ => running(pod, container, before, true, now),
            },
        }
    });
    let containers = items(&spec["containers"]).map(|container| {
        let before = Container::read(container, &pod["status"]["containerStatuses"]);
        match fate {
            Fate::Pending => Container::new(container, "ContainerCreating"),
            Fate::Running => running(pod, container, before, true, now),
            Fate::Unready => running(pod, container, before, false, now),
            Fate::Succeeded => ended(pod, container, before, 0, &knobs.message, now),
            Fate::Failed => ended(pod, container, before, knobs.exit_code, &knobs.message, now),
            Fate::CrashLoop => crashing(pod, container, before.as_ref(), knobs, crashes_again, now),
        }
    });
    let ephemeral = items(&spec["ephemeralContainers"]).map(|container| {
        let before = Container::read(container, &pod["status"]["ephemeralContainerStatuses"]);
        Container {
            ready: false,
            started: false,
            ..running(pod, container, before, false, now)
        }
    });
    Observed {
        init: init.collect(),
        containers: containers.collect(),
        ephemeral: ephemeral.collect(),
        address: address.to_owned(),
        // The end is the annotation's word, whatever the restart policy would make of it.
        phase: match fate {
            Fate::Succeeded => Some("Succeeded"),
            Fate::Failed => Some("Failed"),
            Fate::Running | Fate::Unready => Some("Running"),
            Fate::Pending | Fate::CrashLoop => None,
        },
        failure: None,
    }
}

/// Returns the containers of a pod that is being deleted: all have ended.
pub fn observe_end(pod: &Value, address: &str, now: Timestamp) -> Observed {
    let knobs = Knobs {
        fate: Fate::Succeeded,
        is_told: true,
        after: None,
        exit_code: 0,
        message: String::new(),
    };
    observe(pod, &knobs, address, false, now)
}

fn container_id(pod: &Value, name: &str, run: i64) -> String {
    format!("simulated://{}/{name}/{run}", pod.uid())
}

fn image_id(container: &Value) -> String {
    format!("simulated://{}", container["image"].as_str().unwrap_or_default())
}

fn running(
    pod: &Value,
    container: &Value,
    before: Option<Container>,
    ready: bool,
    now: Timestamp,
) -> Container {
    let fresh = Container::new(container, "");
    let (mut restarts, mut last, mut started_at) = (0, None, now);
    if let Some(before) = before {
        (restarts, last) = (before.restarts, before.last);
        match before.state {
            State::Running { started_at: since } if before.image == fresh.image => started_at = since,
            State::Running { started_at: since } => {
                // The image was changed in place: the container ends and starts again.
                restarts += 1;
                last = Some(Ended {
                    exit_code: 0,
                    reason: "Completed".to_owned(),
                    message: String::new(),
                    started_at: since,
                    finished_at: now,
                    container_id: before.container_id,
                });
            }
            State::Terminated(ended) => {
                restarts += 1;
                last = Some(ended);
            }
            State::Waiting { .. } => {}
        }
    }
    Container {
        image_id: image_id(container),
        container_id: container_id(pod, &fresh.name, restarts),
        state: State::Running { started_at },
        last,
        restarts,
        ready,
        started: true,
        ..fresh
    }
}

fn ended(
    pod: &Value,
    container: &Value,
    before: Option<Container>,
    exit_code: i32,
    message: &str,
    now: Timestamp,
) -> Container {
    let fresh = Container::new(container, "");
    let (mut restarts, mut last, mut started_at) = (0, None, now);
    if let Some(before) = before {
        if matches!(&before.state, State::Terminated(ended) if ended.exit_code == exit_code && ended.message == message)
        {
            return Container {
                ready: before.has_succeeded() && before.ready,
                ..before
            };
        }
        (restarts, last) = (before.restarts, before.last);
        if let State::Running { started_at: since } = before.state {
            started_at = since;
        }
    }
    restarts = restarts.max(0);
    let container_id = container_id(pod, &fresh.name, restarts);
    let is_init = items(&pod["spec"]["initContainers"]).any(|init| init["name"] == container["name"]);
    Container {
        image_id: image_id(container),
        container_id: container_id.clone(),
        state: State::Terminated(Ended {
            exit_code,
            reason: Ended::reason_of(exit_code).to_owned(),
            message: message.to_owned(),
            started_at,
            finished_at: now,
            container_id,
        }),
        last: last.take(),
        restarts,
        // Upstream calls an init container ready when it is done.
        ready: is_init && exit_code == 0,
        started: false,
        ..fresh
    }
}

fn crashing(
    pod: &Value,
    container: &Value,
    before: Option<&Container>,
    knobs: &Knobs,
    again: bool,
    now: Timestamp,
) -> Container {
    let is_crashing = |before: &Container| matches!(&before.state, State::Waiting { reason, .. } if reason == "CrashLoopBackOff");
    if let Some(before) = before.filter(|before| is_crashing(before) && !again) {
        return before.clone();
    }
    let restarts = before.map_or(0, |before| before.restarts) + 1;
    let name = container["name"].as_str().unwrap_or_default();
    let failed = ended(pod, container, None, knobs.exit_code, &knobs.message, now);
    let State::Terminated(mut end) = failed.state.clone() else {
        return failed;
    };
    end.container_id = container_id(pod, name, restarts - 1);
    let wait = back_off(restarts);
    let wait = match wait.as_secs() {
        seconds @ ..60 => format!("{seconds}s"),
        seconds => format!("{}m{}s", seconds / 60, seconds % 60),
    };
    let message = format!(
        "back-off {wait} restarting failed container={name} pod={}_{}({})",
        pod.name(),
        pod.namespace(),
        pod.uid()
    );
    Container {
        container_id: end.container_id.clone(),
        state: State::waiting("CrashLoopBackOff", message),
        last: Some(end),
        restarts,
        ..failed
    }
}

#[cfg(test)]
mod tests;
