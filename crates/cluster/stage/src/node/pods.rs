//! One task for each pod, from its creation to its end.
//!
//! - `scheduling`: binds it to the node
//! - `real`: runs and follows it, where baton built its image
//! - `simulated`: acts as if it ran, everywhere else
//!
//! A task looks at its pod whenever it changes, does the next thing, and sleeps. It keeps little while it sleeps, so that
//! thousands of pods cost little.

mod real;
mod scheduling;
mod simulated;

use std::sync::{Arc, Weak};
use std::time::Duration;

use http::StatusCode;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::machine::{self, NODES};
use super::running::{RealPod, container};
use super::security::{self, Identity};
use super::simulation::Knobs;
use super::{NODE_NAME, Shared, lock};
use crate::api::Api;
use crate::client::{Client, Named};
use crate::controllers::work::{Item, Next};
use crate::events::EventType;
use crate::object::Object;
use crate::options::DeleteOptions;
use crate::status::Status;
use crate::store::{Event, EventKind, ResourceKey, Stored, Watch, WatchEnd};

/// The resource of pods.
pub const PODS: Named<'static> = ("", "pods");

const CLAIMS: Named<'static> = ("", "persistentvolumeclaims");

/// How long a pod waits after a failure; each doubles it.
const FIRST_RETRY: Duration = Duration::from_millis(50);

/// The longest that it waits.
const LONGEST_RETRY: Duration = Duration::from_secs(5);

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
                event = nodes.next() => event.map(|event| look_at_node(&shared, &event)).err(),
                event = claims.next() => event.map(|event| look_at_claim(&shared, &event)).err(),
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

/// Has those who wait look again where the node is another for them: it is written now and then only to say that it lives.
fn look_at_node(shared: &Shared, event: &Event) {
    if *event.object.key.name != *NODE_NAME {
        return;
    }
    let matters = |node: &Stored| {
        let node = node.value();
        (
            node["metadata"]["labels"].clone(),
            node["spec"].clone(),
            node["status"]["allocatable"].clone(),
        )
    };
    let same = event.kind == EventKind::Modified
        && event
            .previous
            .as_ref()
            .is_some_and(|previous| matters(previous) == matters(&event.object));
    if !same {
        lock(&shared.line).node_changed();
    }
}

/// Has those who wait for a claim look again when it comes or goes.
fn look_at_claim(shared: &Shared, event: &Event) {
    if event.kind != EventKind::Modified {
        lock(&shared.line).claim_changed(&Item::of(&event.object));
    }
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
        shared.leave_line(item);
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
        return scheduling::schedule(api, shared, item, notify, memory, &pod)
            .await
            .map(Some);
    }
    if node != NODE_NAME {
        return Ok(Some(Next::Wait));
    }
    shared.leave_line(item);
    if memory.real.is_none() && !memory.is_simulated {
        match real::find_images(api, shared, memory, &pod).await {
            Ok(images)
                if images.iter().any(|(_, image)| image.is_some())
                    && !pod.is_being_deleted()
                    && !is_over(&pod) =>
            {
                shared.enter(&pod);
                if let Some(why) = security::passed_over(&pod, &images, Identity::own()) {
                    shared.tell(|recorder| {
                        recorder.tell(&pod, EventType::Warning, "SecurityContextIgnored", why);
                    });
                }
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
            Err(why) => return real::image_failed(shared, &client, pod, &why).await.map(Some),
        }
    }
    match &memory.real {
        Some(real) => real::follow(shared, &client, real, pod).await.map(Some),
        None if pod.is_being_deleted() => simulated::end(shared, &client, pod).await.map(Some),
        None if was_real(&pod) => Ok(Some(Next::Wait)),
        None => simulated::simulate(shared, &client, memory, pod).await.map(Some),
    }
}

/// Returns whether a pod that is over really ran, before the node was started again.
fn was_real(pod: &Value) -> bool {
    is_over(pod) && super::requests::items(&pod["status"]["containerStatuses"]).any(container::is_real)
}

/// Returns how long a pod may still be active; `None` where nothing ends it.
fn time_left(pod: &Value) -> Option<Duration> {
    let seconds = pod["spec"]["activeDeadlineSeconds"].as_i64()?;
    let since: Timestamp = pod["status"]["startTime"].as_str()?.parse().ok()?;
    let until = since.checked_add(jiff::SignedDuration::from_secs(seconds)).ok()?;
    Some(Duration::try_from(until.duration_since(Timestamp::now())).unwrap_or_default())
}

/// Returns the reason and the message of a pod that was active for too long.
fn deadline_exceeded() -> (String, String) {
    (
        "DeadlineExceeded".to_owned(),
        "Pod was active on the node longer than the specified deadline".to_owned(),
    )
}

/// Takes a pod away whose containers have stopped.
async fn delete_now(client: &Client, item: &Item, uid: &str) -> Result<(), Status> {
    let options = DeleteOptions {
        grace_period_seconds: Some(0),
        uid: Some(uid.to_owned()),
        ..DeleteOptions::default()
    };
    client.delete(PODS, &item.namespace, &item.name, &options).await?;
    Ok(())
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
