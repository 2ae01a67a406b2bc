//! What is wrong with a pod, in words: an image that can't be pulled, a program that crashes, no node that takes it.
//!
//! A workload only says how many of its pods are available. Why they aren't stands in the pods.

mod scheduling;

use std::fmt;

use serde_json::Value;

use crate::object::{at, is_terminating, text};

/// The longest part of a message that is repeated in a condition: what kubelets and programs say has no limit, and whoever
/// wants all of it looks at the pod.
const LONGEST: usize = 300;

/// What is wrong with a pod.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trouble {
    /// An image of it can't be pulled.
    Image(Stopped),
    /// A container of it can't be made, for want of a Secret for example.
    Start(Stopped),
    /// A program of it ends again and again.
    Crash(Stopped),
    /// No node takes it; with what the nodes lack.
    NoNode(String),
    /// It has ended, and not well; with the cause.
    Failed(String),
}

/// A container that doesn't run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stopped {
    /// The field of the pod's status that tells of it: `containerStatuses` or `initContainerStatuses`.
    pub field: &'static str,
    /// Its name.
    pub container: String,
    /// Why, in the kubelet's word and then in ours.
    pub why: String,
}

impl fmt::Display for Stopped {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.field {
            INIT => "init container",
            _ => "container",
        };
        write!(formatter, "{what} {}: {}", self.container, self.why)
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Image(stopped) | Self::Start(stopped) | Self::Crash(stopped) => stopped.fmt(formatter),
            Self::NoNode(why) => formatter.write_str(why),
            Self::Failed(why) => write!(formatter, "it failed, {why}"),
        }
    }
}

impl Trouble {
    /// What pods that suffer from the same have in common: the kind of trouble, and the container.
    fn alike(&self) -> (u8, &str) {
        match self {
            Self::Image(stopped) => (0, &stopped.container),
            Self::Start(stopped) => (1, &stopped.container),
            Self::Crash(stopped) => (2, &stopped.container),
            Self::NoNode(_) => (3, ""),
            // Pods that ended lie around after others have taken their place.
            Self::Failed(_) => (4, ""),
        }
    }
}

const INIT: &str = "initContainerStatuses";
const MAIN: &str = "containerStatuses";

/// Returns what is wrong with a pod; nothing where it runs, or may still come to.
pub fn of(pod: &Value) -> Option<Trouble> {
    for field in [INIT, MAIN] {
        let statuses = at(pod, &format!("/status/{field}")).and_then(Value::as_array);
        let found = statuses
            .into_iter()
            .flatten()
            .find_map(|status| container(field, status));
        if found.is_some() {
            return found;
        }
    }
    let conditions = at(pod, "/status/conditions").and_then(Value::as_array);
    let scheduled = conditions
        .into_iter()
        .flatten()
        .find(|condition| text(condition, "/type") == "PodScheduled");
    if let Some(scheduled) = scheduled.filter(|scheduled| text(scheduled, "/status") == "False") {
        let said = match text(scheduled, "/message") {
            "" => text(scheduled, "/reason"),
            message => message,
        };
        return Some(Trouble::NoNode(scheduling::words(pod, said)));
    }
    (text(pod, "/status/phase") == "Failed").then(|| Trouble::Failed(failed(pod)))
}

/// Says why pods of a workload don't run: the trouble of one, by name, and how many more have the same.
pub fn cause<'a>(pods: impl IntoIterator<Item = &'a Value>) -> Option<String> {
    let mut suffering: Vec<(Trouble, &str)> = pods
        .into_iter()
        .filter(|pod| !is_terminating(pod))
        .filter_map(|pod| Some((of(pod)?, text(pod, "/metadata/name"))))
        .collect();
    suffering.sort_by(|(left, left_name), (right, right_name)| {
        (left.alike(), left_name).cmp(&(right.alike(), right_name))
    });
    let (trouble, name) = suffering.first()?;
    let others = suffering
        .iter()
        .skip(1)
        .filter(|(other, _)| other.alike() == trouble.alike())
        .count();
    Some(match others {
        0 => format!("pod {name}: {trouble}"),
        1 => format!("pod {name}: {trouble} (and 1 more pod)"),
        others => format!("pod {name}: {trouble} (and {others} more pods)"),
    })
}

fn container(field: &'static str, status: &Value) -> Option<Trouble> {
    let reason = text(status, "/state/waiting/reason");
    let message = shortened(text(status, "/state/waiting/message"));
    let stopped = |why: String| Stopped {
        field,
        container: text(status, "/name").to_owned(),
        why: format!("{reason}{why}"),
    };
    let and = |message: &str| match message {
        "" => String::new(),
        message => format!(": {message}"),
    };
    Some(match reason {
        "ErrImagePull"
        | "ImagePullBackOff"
        | "InvalidImageName"
        | "ErrImageNeverPull"
        | "ImageInspectError"
        | "RegistryUnavailable" => {
            let image = text(status, "/image");
            let again = format!("Back-off pulling image \"{image}\"");
            let why = message.strip_prefix(&again).unwrap_or(&message);
            let why = why.strip_prefix(": ").unwrap_or(why);
            Trouble::Image(stopped(format!(
                ", image \"{image}\" can't be pulled{}",
                and(why)
            )))
        }
        "CreateContainerConfigError" | "CreateContainerError" | "RunContainerError" => {
            Trouble::Start(stopped(format!(", it can't be started{}", and(&message))))
        }
        "CrashLoopBackOff" => {
            let restarts = at(status, "/restartCount").and_then(Value::as_i64);
            let restarts = match restarts.unwrap_or_default() {
                0 => String::new(),
                1 => " after 1 restart".to_owned(),
                restarts => format!(" after {restarts} restarts"),
            };
            let ended = at(status, "/lastState/terminated").map(ended);
            let ended = ended.map_or_else(String::new, |ended| format!(", {ended}"));
            Trouble::Crash(stopped(format!("{restarts}{ended}")))
        }
        _ => return None,
    })
}

/// How a container ended: `it ended with 1 (Error): "its last line"`.
fn ended(end: &Value) -> String {
    let code = at(end, "/exitCode").and_then(Value::as_i64);
    let code = code.map_or_else(String::new, |code| format!(" with {code}"));
    let reason = match text(end, "/reason") {
        "" => String::new(),
        "OOMKilled" => " (OOMKilled: it needs more memory than it may have)".to_owned(),
        reason => format!(" ({reason})"),
    };
    let mut lines = text(end, "/message").lines().map(str::trim);
    let last = lines.rfind(|line| !line.is_empty());
    let last = last.map_or_else(String::new, |last| format!(": \"{}\"", shortened(last)));
    format!("it ended{code}{reason}{last}")
}

/// Why a pod failed: its own words, or how a container of it ended.
fn failed(pod: &Value) -> String {
    let (reason, message) = (
        text(pod, "/status/reason"),
        shortened(text(pod, "/status/message")),
    );
    match (reason, message.as_str()) {
        ("", "") => {}
        (reason, "") => return reason.to_owned(),
        ("", message) => return message.to_owned(),
        (reason, message) => return format!("{reason}: {message}"),
    }
    let statuses = [INIT, MAIN]
        .into_iter()
        .filter_map(|field| at(pod, &format!("/status/{field}"))?.as_array());
    let mut ends = statuses.flatten().filter_map(|status| {
        let end = at(status, "/state/terminated")?;
        (at(end, "/exitCode") != Some(&Value::from(0)))
            .then(|| format!("container {}: {}", text(status, "/name"), ended(end)))
    });
    ends.next().unwrap_or_else(|| "it doesn't say why".to_owned())
}

/// Puts a message on one line, and cuts one that is too long.
fn shortened(message: &str) -> String {
    let words: Vec<&str> = message.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(LONGEST) {
        None => line,
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests;
