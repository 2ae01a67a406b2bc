//! Pods that really run: their containers are child processes of the node.
//!
//! A task conducts each pod: init containers one after the other, then the others side by side. What the containers do is
//! kept where the pod's own task reads it and writes the pod's status.
//!
//! - [`container`]: one container: started, probed, started again
//! - [`surroundings`]: what a container finds around it: volumes, environment, a kubeconfig

pub mod container;
pub mod surroundings;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;
use tokio::sync::{Notify, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Instant;

use super::images::Unpacked;
use super::pod_status::{Container, Ended, Observed, State};
use super::requests::items;
use super::{Shared, lock};
use crate::api::Api;

/// The least that a container has to end where another took its time, as upstream.
const LEAST_GRACE: Duration = Duration::from_secs(2);

/// How often volumes are looked at again: tokens expire, and configuration changes.
const REFRESHED_EVERY: Duration = Duration::from_secs(10);

/// A container and what it runs.
#[derive(Debug)]
pub struct Part {
    /// The list of the pod's spec that has it.
    pub list: &'static str,
    /// The container as the pod has it.
    pub spec: Value,
    /// The image that baton built; `None` for one that is simulated beside the others.
    pub image: Option<Arc<Unpacked>>,
    /// What it does.
    pub state: Mutex<Container>,
    /// How long it has to end; `None` while it may run.
    stop: watch::Sender<Option<Duration>>,
}

impl Part {
    /// Returns whether it is an init container that stays.
    fn stays(&self) -> bool {
        self.list == "initContainers" && self.spec["restartPolicy"] == "Always"
    }

    /// Asks the container to end within some time.
    fn ask_to_stop(&self, grace: Duration) {
        self.stop.send_if_modified(|asked| {
            let sooner = asked.is_none_or(|asked| grace < asked);
            if sooner {
                *asked = Some(grace);
            }
            sooner
        });
    }

    /// Waits until the container is asked to end, and returns how long that may take.
    async fn asked_to_stop(&self) -> Duration {
        let mut stop = self.stop.subscribe();
        let asked = stop.wait_for(Option::is_some).await.map(|asked| *asked);
        asked.ok().flatten().unwrap_or_default()
    }

    /// Returns the container's name.
    pub fn name(&self) -> &str {
        self.spec["name"].as_str().unwrap_or_default()
    }
}

/// What the tasks of a pod share.
#[derive(Debug)]
pub struct Company {
    api: Weak<Api>,
    shared: Arc<Shared>,
    /// The pod as it was seen last.
    pod: Mutex<Value>,
    /// The containers, those that run first at the front.
    parts: Vec<Part>,
    /// Tells the pod's own task that something has changed.
    changed: Arc<Notify>,
    /// How long the containers have to end; `None` while they may run.
    stop: watch::Receiver<Option<Duration>>,
    is_over: AtomicBool,
    tokens: Mutex<surroundings::TokenCache>,
}

/// A pod that really runs. Its processes are killed when this is dropped.
#[derive(Debug)]
pub struct RealPod {
    company: Arc<Company>,
    stop: watch::Sender<Option<Duration>>,
    conducting: JoinHandle<()>,
}

impl Drop for RealPod {
    fn drop(&mut self) {
        self.conducting.abort();
    }
}

impl RealPod {
    /// Starts a pod, or takes it up again from its status.
    pub(super) fn start(
        api: Weak<Api>,
        shared: Arc<Shared>,
        changed: Arc<Notify>,
        pod: &Value,
        images: &[(String, Option<Arc<Unpacked>>)],
    ) -> Self {
        let now = Timestamp::now();
        let mut parts = Vec::new();
        for (list, statuses) in [
            ("initContainers", "initContainerStatuses"),
            ("containers", "containerStatuses"),
        ] {
            for spec in items(&pod["spec"][list]) {
                let image = images
                    .iter()
                    .find(|(reference, _)| spec["image"] == **reference)
                    .and_then(|(_, image)| image.clone());
                let waiting = if list == "containers" && pod["spec"]["initContainers"].is_array() {
                    "PodInitializing"
                } else {
                    "ContainerCreating"
                };
                let before = Container::read(spec, &pod["status"][statuses]);
                parts.push(Part {
                    list,
                    spec: spec.clone(),
                    image,
                    state: Mutex::new(taken_up(spec, waiting, before, now)),
                    stop: watch::Sender::new(None),
                });
            }
        }
        let (stop, stopped) = watch::channel(None);
        let company = Arc::new(Company {
            api,
            shared,
            pod: Mutex::new(pod.clone()),
            parts,
            changed,
            stop: stopped,
            is_over: AtomicBool::new(false),
            tokens: Mutex::default(),
        });
        let conducting = tokio::spawn(conduct(company.clone()));
        Self {
            company,
            stop,
            conducting,
        }
    }

    /// Tells the pod's tasks how the pod is now.
    pub fn note(&self, pod: Value) {
        *lock(&self.company.pod) = pod;
    }

    /// Asks all containers to end within some time.
    pub fn stop(&self, grace: Duration) {
        self.stop.send_if_modified(|asked| {
            let sooner = asked.is_none_or(|asked| grace < asked);
            if sooner {
                *asked = Some(grace);
            }
            sooner
        });
    }

    /// Returns whether all containers have ended and none is started again.
    pub fn is_over(&self) -> bool {
        self.company.is_over.load(Ordering::Acquire)
    }

    /// Returns whether a program of the pod runs now.
    pub fn runs(&self) -> bool {
        let mut real = self.company.parts.iter().filter(|part| part.image.is_some());
        real.any(|part| matches!(lock(&part.state).state, State::Running { .. }))
    }

    /// Returns what the containers do.
    pub fn observe(&self, address: &str) -> Observed {
        let of = |list: &str| {
            let parts = self.company.parts.iter().filter(|part| part.list == list);
            parts.map(|part| lock(&part.state).clone()).collect()
        };
        Observed {
            init: of("initContainers"),
            containers: of("containers"),
            ephemeral: Vec::new(),
            address: address.to_owned(),
            phase: None,
            failure: None,
        }
    }
}

/// Returns how a container begins: anew, or where its status says it was. A process that ran before is gone.
fn taken_up(spec: &Value, waiting: &str, before: Option<Container>, now: Timestamp) -> Container {
    let fresh = Container::new(spec, waiting);
    let Some(before) = before else { return fresh };
    match &before.state {
        State::Waiting { .. } if before.last.is_none() => fresh,
        State::Waiting { .. } | State::Terminated(_) => before,
        State::Running { started_at } => {
            let lost = Ended {
                exit_code: 137,
                reason: "ContainerStatusUnknown".to_owned(),
                message: "The container could not be located when the node was started again".to_owned(),
                started_at: *started_at,
                finished_at: now,
                container_id: before.container_id.clone(),
            };
            Container {
                state: State::Terminated(lost),
                ready: false,
                started: false,
                ..before
            }
        }
    }
}

impl Company {
    fn tell_change(&self) {
        self.changed.notify_one();
    }

    /// Returns what to do with a container's restart policy; the pod's, unless the container stays.
    fn policy(&self, part: &Part) -> Policy {
        let pod = lock(&self.pod);
        // A container's own policy stands before the pod's.
        let own = part.spec["restartPolicy"].as_str();
        match (own.or_else(|| pod["spec"]["restartPolicy"].as_str()), part.list) {
            (Some("Always"), "initContainers") if part.stays() => Policy::Always,
            (Some("Never"), _) => Policy::Never,
            // An init container that is done is done.
            (_, "initContainers") | (Some("OnFailure"), _) => Policy::OnFailure,
            _ => Policy::Always,
        }
    }

    /// Returns whether a container that ended is started again: a rule about its exit code stands before its policy.
    fn restarts(&self, part: &Part, exit_code: i32) -> bool {
        let rule = items(&part.spec["restartPolicyRules"]).find(|rule| {
            let codes = &rule["exitCodes"];
            let named = items(&codes["values"]).any(|code| code.as_i64() == Some(exit_code.into()));
            match codes["operator"].as_str() {
                Some("In") => named,
                Some("NotIn") => !named,
                _ => false,
            }
        });
        match rule {
            Some(rule) => rule["action"] == "Restart" || rule["action"] == "RestartAllContainers",
            None => self.policy(part).restarts(exit_code),
        }
    }

    fn is_asked_to_stop(&self) -> bool {
        self.stop.borrow().is_some()
    }
}

/// When a container is started again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// Whenever it ends.
    Always,
    /// When it ends badly.
    OnFailure,
    /// Not at all.
    Never,
}

impl Policy {
    /// Returns whether a container that ended is started again.
    pub fn restarts(self, exit_code: i32) -> bool {
        match self {
            Self::Always => true,
            Self::OnFailure => exit_code != 0,
            Self::Never => false,
        }
    }
}

/// Runs the containers of a pod in their order.
async fn conduct(company: Arc<Company>) {
    let mut running = JoinSet::new();
    let mut staying = Vec::new();
    let mut failed = false;
    // Sets end with this task, even where it is ended from outside.
    let mut refreshing = JoinSet::new();
    refreshing.spawn(refresh(company.clone()));
    refreshing.spawn(pass_on_stop(company.clone()));
    for index in 0..company.parts.len() {
        let Some(part) = company.parts.get(index) else {
            break;
        };
        if failed || company.is_asked_to_stop() {
            break;
        }
        if part.list == "containers" {
            running.spawn(container::look_after(company.clone(), index));
        } else if part.stays() {
            // Sets end with this task, and so does what each of them runs.
            let mut alone = JoinSet::new();
            alone.spawn(container::look_after(company.clone(), index));
            staying.push((index, alone));
            while !lock(&part.state).started && !company.is_asked_to_stop() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        } else {
            container::look_after(company.clone(), index).await;
            failed = !lock(&part.state).has_succeeded();
        }
    }
    while running.join_next().await.is_some() {}
    // Those that stay serve the others, so they end after them, the last first.
    let began = Instant::now();
    let asked = *company.stop.borrow();
    let grace = asked.unwrap_or_else(|| surroundings::grace(&lock(&company.pod)));
    for (index, mut alone) in staying.into_iter().rev() {
        if let Some(part) = company.parts.get(index) {
            part.ask_to_stop(grace.saturating_sub(began.elapsed()).max(LEAST_GRACE.min(grace)));
        }
        while alone.join_next().await.is_some() {}
    }
    refreshing.abort_all();
    company.is_over.store(true, Ordering::Release);
    company.tell_change();
}

/// Asks the containers to end when the pod is; those that stay are asked after the others.
async fn pass_on_stop(company: Arc<Company>) {
    let mut stop = company.stop.clone();
    loop {
        if let Some(grace) = *stop.borrow_and_update() {
            for part in company.parts.iter().filter(|part| !part.stays()) {
                part.ask_to_stop(grace);
            }
        }
        if stop.changed().await.is_err() {
            return;
        }
    }
}

/// Keeps the files of volumes up to date.
async fn refresh(company: Arc<Company>) {
    loop {
        tokio::time::sleep(REFRESHED_EVERY).await;
        if let Err(why) = surroundings::volumes(&company).await {
            tracing::debug!(%why, "the volumes of a pod could not be brought up to date");
        }
    }
}

#[cfg(test)]
mod tests;
