//! One task for each pod, from its creation to its end.
//!
//! A task looks at its pod whenever it changes, does the next thing, and sleeps. It keeps little while it sleeps, so that
//! thousands of pods cost little.

use std::sync::{Arc, Weak};
use std::time::Duration;

use http::StatusCode;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::images::Unpacked;
use super::machine::{self, NODES};
use super::running::{RealPod, container, surroundings};
use super::simulation::{self, Fate, Knobs};
use super::{NODE_NAME, SCHEDULER, Shared, fit, lock, pod_status};
use crate::api::Api;
use crate::caller::Caller;
use crate::client::{Client, Named};
use crate::controllers::work::{Item, Next};
use crate::events::{self, EventType};
use crate::object::{Object, map_of, timestamp};
use crate::options::DeleteOptions;
use crate::status::Status;
use crate::store::{Event, ResourceKey, Watch, WatchEnd};

/// The resource of pods.
pub const PODS: Named<'static> = ("", "pods");

const CLAIMS: Named<'static> = ("", "persistentvolumeclaims");

/// How long a pod waits after a failure; each doubles it.
const FIRST_RETRY: Duration = Duration::from_millis(50);

/// The longest that it waits.
const LONGEST_RETRY: Duration = Duration::from_secs(5);

/// A delay that is longer than this shows: the pod's containers are said to be created meanwhile.
const NOTICEABLE: Duration = Duration::from_millis(500);

/// Follows all pods, and the nodes and claims that they wait for, until the cluster ends.
pub(super) async fn dispatch(api: Weak<Api>, shared: Arc<Shared>) {
    // The tasks end with the set, and the set with this task.
    let mut tasks = JoinSet::new();
    loop {
        let Some((mut pods, mut nodes, mut claims)) = begin(&api, &shared, &mut tasks) else {
            return;
        };
        loop {
            let end = tokio::select! {
                event = pods.next() => match event {
                    Ok(event) => {
                        wake(&api, &shared, &mut tasks, &event);
                        None
                    }
                    Err(end) => Some(end),
                },
                event = nodes.next() => event.map(|_| shared.wake_waiting()).err(),
                event = claims.next() => event.map(|_| shared.wake_waiting()).err(),
            };
            while tasks.try_join_next().is_some() {}
            match end {
                None => {}
                Some(WatchEnd::Closed) => return,
                // So much happened that the place was lost: everything is looked at again.
                Some(WatchEnd::Expired(_)) => break,
            }
        }
    }
}

fn begin(api: &Weak<Api>, shared: &Arc<Shared>, tasks: &mut JoinSet<()>) -> Option<(Watch, Watch, Watch)> {
    let strong = api.upgrade()?;
    let key = |resource: Named<'_>| ResourceKey::new(resource.0, resource.1);
    let listing = strong.store.list(&key(PODS), None, None, None, None).ok()?;
    let watch = |resource: Named<'_>| strong.store.watch(&key(resource), None, listing.revision).ok();
    let watches = (watch(PODS)?, watch(NODES)?, watch(CLAIMS)?);
    // Addresses that pods have are theirs before any other pod is given one.
    for stored in &listing.items {
        let pod = stored.value();
        if let Some(address) = pod["status"]["podIP"].as_str()
            && !is_over(&pod)
        {
            lock(&shared.addresses).claim(pod.uid(), address);
        }
    }
    let known: Vec<&str> = listing.items.iter().map(|stored| &*stored.uid).collect();
    let images = shared.directory(None).join("images");
    // A directory that goes with the server is never one of an earlier server.
    if tasks.is_empty() && strong.options.data_dir.is_some() && images.is_dir() {
        let left = super::orphans::end(&images);
        if left > 0 {
            tracing::warn!(
                left,
                "processes of pods that an earlier server left running were ended"
            );
        }
    }
    shared.remove_leftovers(&known);
    for stored in listing.items {
        wake(api, shared, tasks, &Event::present(stored));
    }
    Some(watches)
}

/// Has the pod of an event looked at, by a new task where there is none.
fn wake(api: &Weak<Api>, shared: &Arc<Shared>, tasks: &mut JoinSet<()>, event: &Event) {
    let item = Item::of(&event.object);
    let mut known = lock(&shared.tasks);
    if let Some(notify) = known.get(&item) {
        notify.notify_one();
        return;
    }
    let notify = Arc::new(Notify::new());
    known.insert(item.clone(), notify.clone());
    tasks.spawn(look_after(api.clone(), shared.clone(), item, notify));
}

/// What a task remembers of its pod.
#[derive(Debug, Default)]
struct Memory {
    uid: String,
    /// What was asked for, and since when.
    asked: Option<(Knobs, Instant)>,
    /// What was done of it.
    done: Option<Knobs>,
    /// When the next failure of a crash loop is due.
    next_crash: Option<Instant>,
    /// The last reason why the pod doesn't fit.
    misfit: String,
    /// Whether the events of the start were told.
    start_told: bool,
    /// The processes, for a pod that really runs.
    real: Option<RealPod>,
    /// Whether it was found out that the pod is simulated.
    is_simulated: bool,
}

async fn look_after(api: Weak<Api>, shared: Arc<Shared>, item: Item, notify: Arc<Notify>) {
    let mut memory = Memory::default();
    let mut failures = 0_u32;
    loop {
        let next = {
            let Some(strong) = api.upgrade() else { return };
            // The step is boxed, so that a sleeping task doesn't hold the room that it needs.
            Box::pin(step(&strong, &shared, &item, &notify, &mut memory)).await
        };
        let sleep = match next {
            Ok(Some(Next::Wait)) => {
                failures = 0;
                None
            }
            Ok(Some(Next::After(delay))) => {
                failures = 0;
                Some(delay)
            }
            Ok(None) => {
                // Gone. It may have come again since, and its event may already have been sent to us.
                let mut tasks = lock(&shared.tasks);
                let Some(strong) = api.upgrade() else { return };
                let client = machine::client(strong);
                if !matches!(client.get_stored(PODS, &item.namespace, &item.name), Ok(Some(_))) {
                    tasks.remove(&item);
                    return;
                }
                continue;
            }
            Err(status) => {
                failures = failures.saturating_add(1);
                if status.code != StatusCode::CONFLICT {
                    tracing::debug!(?item, %status, "a pod is tried again later");
                }
                Some(
                    FIRST_RETRY
                        .saturating_mul(1 << (failures - 1).min(10))
                        .min(LONGEST_RETRY),
                )
            }
        };
        match sleep {
            None => notify.notified().await,
            Some(delay) => {
                let _ = tokio::time::timeout(delay, notify.notified()).await;
            }
        }
    }
}

/// Gives back all that a pod had: room, address, processes and files.
fn forget(shared: &Shared, memory: &mut Memory) {
    if memory.uid.is_empty() {
        return;
    }
    shared.release(&memory.uid);
    if memory.real.take().is_some() {
        let _ = std::fs::remove_dir_all(shared.pod_directory(&memory.uid));
    }
}

fn is_over(pod: &Value) -> bool {
    matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"))
}

/// Does the next thing for a pod; `None` when the pod is gone.
async fn step(
    api: &Arc<Api>,
    shared: &Arc<Shared>,
    item: &Item,
    notify: &Arc<Notify>,
    memory: &mut Memory,
) -> Result<Option<Next>, Status> {
    let client = machine::client(api.clone());
    let Some(pod) = client.get(PODS, &item.namespace, &item.name)? else {
        lock(&shared.waiting).remove(item);
        forget(shared, memory);
        return Ok(None);
    };
    if memory.uid != pod.uid() {
        forget(shared, memory);
        *memory = Memory {
            uid: pod.uid().to_owned(),
            ..Memory::default()
        };
    }
    let node = pod["spec"]["nodeName"].as_str().unwrap_or_default();
    if node.is_empty() {
        return schedule(api, shared, item, notify, memory, &pod).await.map(Some);
    }
    if node != NODE_NAME {
        return Ok(Some(Next::Wait));
    }
    lock(&shared.waiting).remove(item);
    if memory.real.is_none() && !memory.is_simulated {
        match find_images(api, shared, memory, &pod).await {
            Ok(images)
                if images.iter().any(|(_, image)| image.is_some())
                    && !pod.is_being_deleted()
                    && !is_over(&pod) =>
            {
                lock(&shared.ledger).enter(&pod);
                // Programs may ask for the address before the status has it.
                let pod = with_address(&pod, &address(shared, &pod)?);
                memory.real = Some(RealPod::start(
                    Arc::downgrade(api),
                    shared.clone(),
                    notify.clone(),
                    &pod,
                    &images,
                ));
            }
            Ok(_) => memory.is_simulated = true,
            Err(why) => return image_failed(shared, &client, pod, &why).await.map(Some),
        }
    }
    match &memory.real {
        Some(real) => follow_real(shared, &client, real, pod).await.map(Some),
        None if pod.is_being_deleted() => end_simulated(shared, &client, pod).await.map(Some),
        None if was_real(&pod) => Ok(Some(Next::Wait)),
        None => simulate(shared, &client, memory, pod).await.map(Some),
    }
}

/// Returns whether a pod that is over really ran, before the node was started again.
fn was_real(pod: &Value) -> bool {
    is_over(pod) && super::requests::items(&pod["status"]["containerStatuses"]).any(container::is_real)
}

/// Returns the images of a pod's containers, those that baton built unpacked; or why one can't be had.
async fn find_images(
    api: &Arc<Api>,
    shared: &Shared,
    memory: &Memory,
    pod: &Value,
) -> Result<Vec<(String, Option<Arc<Unpacked>>)>, (String, String)> {
    let mut found: Vec<(String, Option<Arc<Unpacked>>)> = Vec::new();
    let Some(images) = shared.options.images.as_ref().filter(|_| !memory.is_simulated) else {
        return Ok(found);
    };
    let below = shared.directory(api.options.data_dir.as_deref()).join("images");
    for list in ["initContainers", "containers"] {
        for container in super::requests::items(&pod["spec"][list]) {
            let reference = container["image"].as_str().unwrap_or_default();
            if found.iter().any(|(known, _)| known == reference) {
                continue;
            }
            let image = images
                .find(reference, &below)
                .await
                .map_err(|why| (reference.to_owned(), why))?;
            found.push((reference.to_owned(), image));
        }
    }
    Ok(found)
}

/// How long an image that couldn't be had is waited for.
const IMAGE_RETRY: Duration = Duration::from_secs(10);

async fn image_failed(
    shared: &Shared,
    client: &Client,
    pod: Value,
    (image, why): &(String, String),
) -> Result<Next, Status> {
    let message = format!("Failed to pull image \"{image}\": {why}");
    let waiting = super::pod_status::State::waiting("ErrImagePull", message.clone());
    let of = |list: &str| -> Vec<super::pod_status::Container> {
        super::requests::items(&pod["spec"][list])
            .map(|container| {
                let mut container = super::pod_status::Container::new(container, "ContainerCreating");
                if container.image == *image {
                    container.state = waiting.clone();
                }
                container
            })
            .collect()
    };
    let observed = pod_status::Observed {
        init: of("initContainers"),
        containers: of("containers"),
        ..pod_status::Observed::default()
    };
    let status = pod_status::write(&pod, &observed, Timestamp::now());
    if pod["status"] != status {
        shared.tell(|recorder| recorder.tell(&pod, EventType::Warning, "Failed", message));
        let mut wanted = pod;
        map_of(&mut wanted).insert("status".into(), status);
        client.update_status(PODS, wanted).await?;
    }
    Ok(Next::After(IMAGE_RETRY))
}

/// Writes what a real pod does, and lets it go when it is asked to.
async fn follow_real(shared: &Shared, client: &Client, real: &RealPod, pod: Value) -> Result<Next, Status> {
    if is_over(&pod) && real.is_over() && !pod.is_being_deleted() {
        shared.release(pod.uid());
        return Ok(Next::Wait);
    }
    let address = address(shared, &pod)?;
    real.note(with_address(&pod, &address));
    lock(&shared.addresses).note_real(pod.uid());
    let left = pod
        .metadata()
        .and_then(|all| all.get("deletionGracePeriodSeconds")?.as_i64());
    let late = time_left(&pod).is_some_and(|left| left.is_zero()) && !is_over(&pod);
    if pod.is_being_deleted() {
        if left == Some(0) && real.is_over() {
            shared.release(pod.uid());
            return Ok(Next::Wait);
        }
        real.stop(Duration::from_secs(
            left.and_then(|left| u64::try_from(left).ok()).unwrap_or(0),
        ));
    } else if late {
        real.stop(surroundings::grace(&pod));
    }
    let mut observed = real.observe(&address);
    if late && real.is_over() {
        observed.phase = Some("Failed");
        observed.failure = Some((
            "DeadlineExceeded".to_owned(),
            "Pod was active on the node longer than the specified deadline".to_owned(),
        ));
    }
    if !real.is_over()
        && observed.phase.is_none()
        && matches!(pod_status::phase(&pod, &observed), "Succeeded" | "Failed")
    {
        // The end is told when it is the end: another container may still be stopping.
        observed.phase = Some("Running");
    }
    let status = pod_status::write(&pod, &observed, Timestamp::now());
    let (namespace, name, uid) = (
        pod.namespace().to_owned(),
        pod.name().to_owned(),
        pod.uid().to_owned(),
    );
    let deleted = pod.is_being_deleted();
    let left_to_run = time_left(&pod);
    let is_new = pod["status"] != status;
    let mut wanted = pod;
    map_of(&mut wanted).insert("status".into(), status);
    if is_new {
        wanted = client.update_status(PODS, wanted).await?;
    }
    if !real.is_over() {
        return Ok(left_to_run.filter(|_| !late).map_or(Next::Wait, Next::After));
    }
    super::cgroup::remove(&wanted);
    shared.release(&uid);
    if deleted {
        let options = DeleteOptions {
            grace_period_seconds: Some(0),
            uid: Some(uid.clone()),
            ..DeleteOptions::default()
        };
        client.delete(PODS, &namespace, &name, &options).await?;
        return Ok(Next::After(Duration::ZERO));
    }
    Ok(Next::Wait)
}

/// Binds a pod to the node where it fits, and says why where it doesn't.
async fn schedule(
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
    for volume in super::requests::items(&pod["spec"]["volumes"]) {
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

/// Makes a simulated pod what its annotations say, when the time has come.
async fn simulate(shared: &Shared, client: &Client, memory: &mut Memory, pod: Value) -> Result<Next, Status> {
    let knobs = Knobs::read(&pod);
    if knobs.fate == Fate::Pending {
        // Left wholly alone, as by a node that hasn't heard of it.
        return Ok(Next::Wait);
    }
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
    lock(&shared.ledger).enter(&pod);
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

/// Returns how long a pod may still be active; `None` where nothing ends it.
fn time_left(pod: &Value) -> Option<Duration> {
    let seconds = pod["spec"]["activeDeadlineSeconds"].as_i64()?;
    let since: Timestamp = pod["status"]["startTime"].as_str()?.parse().ok()?;
    let until = since.checked_add(jiff::SignedDuration::from_secs(seconds)).ok()?;
    Some(Duration::try_from(until.duration_since(Timestamp::now())).unwrap_or_default())
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
    let (reason, message) = (
        "DeadlineExceeded",
        "Pod was active on the node longer than the specified deadline",
    );
    observed.failure = Some((reason.to_owned(), message.to_owned()));
    write(client, pod.clone(), &observed).await?;
    shared.tell(|recorder| recorder.tell(pod, EventType::Normal, reason, message));
    shared.release(pod.uid());
    Ok(Some(Next::Wait))
}

fn with_address(pod: &Value, address: &str) -> Value {
    let mut pod = pod.clone();
    pod["status"]["podIP"] = address.into();
    pod["status"]["podIPs"] = json!([{"ip": address}]);
    pod
}

fn address(shared: &Shared, pod: &Value) -> Result<String, Status> {
    if pod["spec"]["hostNetwork"] == true {
        return Ok("127.0.0.1".to_owned());
    }
    let mut addresses = lock(&shared.addresses);
    if let Some(there) = pod["status"]["podIP"].as_str() {
        addresses.claim(pod.uid(), there);
    }
    addresses.give(pod.uid()).ok_or_else(|| {
        Status::service_unavailable(format!(
            "pod \"{}\" gets no address: all of 10.244.0.0/16 are taken; delete pods that are done",
            pod.name()
        ))
    })
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
async fn end_simulated(shared: &Shared, client: &Client, pod: Value) -> Result<Next, Status> {
    let left = pod
        .metadata()
        .and_then(|all| all.get("deletionGracePeriodSeconds")?.as_i64())
        .unwrap_or(0);
    if left == 0 {
        // Only finalizers keep it.
        shared.release(pod.uid());
        return Ok(Next::Wait);
    }
    let (namespace, name, uid) = (
        pod.namespace().to_owned(),
        pod.name().to_owned(),
        pod.uid().to_owned(),
    );
    if !is_over(&pod) && pod["status"]["containerStatuses"].is_array() {
        for container in super::requests::items(&pod["spec"]["containers"]) {
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
    let options = DeleteOptions {
        grace_period_seconds: Some(0),
        uid: Some(uid.clone()),
        ..DeleteOptions::default()
    };
    client.delete(PODS, &namespace, &name, &options).await?;
    shared.release(&uid);
    Ok(Next::After(Duration::ZERO))
}

fn tell_start(shared: &Shared, pod: &Value) {
    shared.tell(|recorder| {
        for list in ["initContainers", "containers"] {
            for container in super::requests::items(&pod["spec"][list]) {
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
        for container in super::requests::items(&pod["spec"]["containers"]) {
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
