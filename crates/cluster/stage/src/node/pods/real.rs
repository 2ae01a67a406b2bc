//! A pod that really runs, as processes of this machine.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::{Memory, PODS, address, deadline_exceeded, delete_now, is_over, time_left, with_address};
use crate::api::Api;
use crate::client::Client;
use crate::controllers::work::{Item, Next};
use crate::events::EventType;
use crate::node::addresses::Occupant;
use crate::node::images::Unpacked;
use crate::node::running::{RealPod, surroundings};
use crate::node::{Shared, cgroup, lock, pod_status};
use crate::object::{Object, map_of};
use crate::status::Status;

/// Returns the images of a pod's containers, those that baton built unpacked; or why one can't be had.
pub(super) async fn find_images(
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
        for container in crate::node::requests::items(&pod["spec"][list]) {
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

pub(super) async fn image_failed(
    shared: &Shared,
    client: &Client,
    pod: Value,
    (image, why): &(String, String),
) -> Result<Next, Status> {
    let message = format!("Failed to pull image \"{image}\": {why}");
    let waiting = pod_status::State::waiting("ErrImagePull", message.clone());
    let of = |list: &str| -> Vec<pod_status::Container> {
        crate::node::requests::items(&pod["spec"][list])
            .map(|container| {
                let mut container = pod_status::Container::new(container, "ContainerCreating");
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
pub(super) async fn follow(
    shared: &Shared,
    client: &Client,
    real: &RealPod,
    pod: Value,
) -> Result<Next, Status> {
    if is_over(&pod) && real.is_over() && !pod.is_being_deleted() {
        shared.release(pod.uid());
        return Ok(Next::Wait);
    }
    let address = address(shared, &pod)?;
    real.note(with_address(&pod, &address));
    // Before its programs run and between two runs, its ports are anybody's on this machine.
    let occupant = if real.runs() {
        Occupant::Programs
    } else {
        Occupant::Nobody
    };
    lock(&shared.addresses).note(pod.uid(), occupant);
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
        observed.failure = Some(deadline_exceeded());
    }
    if !real.is_over()
        && observed.phase.is_none()
        && matches!(pod_status::phase(&pod, &observed), "Succeeded" | "Failed")
    {
        // The end is told when it is the end: another container may still be stopping.
        observed.phase = Some("Running");
    }
    let status = pod_status::write(&pod, &observed, Timestamp::now());
    let (item, uid) = (Item::new(pod.namespace(), pod.name()), pod.uid().to_owned());
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
    cgroup::remove(&wanted);
    shared.release(&uid);
    if deleted {
        delete_now(client, &item, &uid).await?;
        return Ok(Next::After(Duration::ZERO));
    }
    Ok(Next::Wait)
}
