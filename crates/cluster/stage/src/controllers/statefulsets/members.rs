//! The Pods of a StatefulSet in the order of their numbers, and what has to be done to them.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{claims, status_with};
use crate::controllers::pods;
use crate::object::{Object, map_of};

const REVISION: &str = "controller-revision-hash";
const POD_NAME: &str = "statefulset.kubernetes.io/pod-name";
const POD_INDEX: &str = "apps.kubernetes.io/pod-index";

/// The templates that Pods may have.
#[derive(Debug, Clone)]
pub(super) struct Revisions {
    /// The name of the revision that was rolled out last.
    pub(super) current: String,
    /// Its template.
    pub(super) current_template: Value,
    /// The name of the revision of the present template.
    pub(super) update: String,
}

/// What has to be done.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) create: Vec<Value>,
    pub(super) update: Vec<Value>,
    pub(super) delete: Vec<Value>,
    pub(super) status: Value,
}

/// Returns the number of a Pod of the set.
pub(super) fn ordinal(pod: &Value, set: &Value) -> Option<i64> {
    let (parent, digits) = pod.name().rsplit_once('-')?;
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if parent != set.name() || !plain {
        return None;
    }
    digits
        .parse()
        .ok()
        .filter(|&ordinal| ordinal <= i64::from(i32::MAX))
}

/// Returns the revision that a Pod was made from.
pub(super) fn revision(pod: &Value) -> &str {
    pod.label(REVISION).unwrap_or_default()
}

fn start(set: &Value) -> i64 {
    set["spec"]["ordinals"]["start"].as_i64().unwrap_or(0)
}

fn replicas(set: &Value) -> i64 {
    set["spec"]["replicas"].as_i64().unwrap_or(1).max(0)
}

/// Returns whether a Pod's number is one of those that the set wants.
pub(super) fn is_wanted(pod: &Value, set: &Value) -> bool {
    ordinal(pod, set).is_some_and(|ordinal| (start(set)..start(set) + replicas(set)).contains(&ordinal))
}

fn is_created(pod: &Value) -> bool {
    !pods::phase(pod).is_empty()
}

fn is_running_and_ready(pod: &Value) -> bool {
    pods::phase(pod) == "Running" && pods::is_ready(pod)
}

/// Decides what has to be done to the Pods of a set.
pub(super) fn decide(set: &Value, all: &[Value], revisions: &Revisions, now: Timestamp) -> Plan {
    let seconds = set["spec"]["minReadySeconds"].as_i64().unwrap_or(0);
    let first = start(set);
    let mut members: Vec<Value> = (first..first + replicas(set))
        .map(|number| {
            let present = all.iter().find(|pod| ordinal(pod, set) == Some(number));
            present
                .cloned()
                .unwrap_or_else(|| made_for(set, revisions, number))
        })
        .collect();
    let mut condemned: Vec<&Value> = all.iter().filter(|pod| !is_wanted(pod, set)).collect();
    condemned.sort_by_key(|pod| std::cmp::Reverse(ordinal(pod, set)));
    let mut plan = Plan::default();
    if !set.is_being_deleted() {
        let in_order = set["spec"]["podManagementPolicy"] != "Parallel";
        let unavailable = |pod: &Value| !pods::is_available(pod, seconds, now) || pod.is_being_deleted();
        let first_unavailable = members
            .iter()
            .chain(condemned.iter().rev().copied())
            .find(|pod| unavailable(pod))
            .map(|pod| pod.name().to_owned());
        let settled = keep_members(set, &members, in_order, &unavailable, &mut plan)
            && remove_condemned(
                &condemned,
                in_order,
                first_unavailable.as_deref(),
                &unavailable,
                &mut plan,
            );
        if settled && set["spec"]["updateStrategy"]["type"] != "OnDelete" {
            update_next(set, &members, revisions, &unavailable, &mut plan);
        }
    }
    members.retain(is_created);
    members.extend(condemned.into_iter().cloned());
    plan.status = status(set, &members, revisions, &plan.delete, now);
    plan
}

/// Makes the members that are missing; whether all are there and well.
fn keep_members(
    set: &Value,
    members: &[Value],
    in_order: bool,
    unavailable: &dyn Fn(&Value) -> bool,
    plan: &mut Plan,
) -> bool {
    for pod in members {
        if pods::has_ended(pod) {
            if !pod.is_being_deleted() {
                plan.delete.push(pod.clone());
            }
            if in_order {
                return false;
            }
            continue;
        }
        if !is_created(pod) {
            plan.create.push(pod.clone());
            if in_order {
                return false;
            }
            continue;
        }
        if in_order && (!is_running_and_ready(pod) || unavailable(pod)) {
            return false;
        }
        if let Some(corrected) = corrected(set, pod).filter(|_| !pod.is_being_deleted()) {
            plan.update.push(corrected);
        }
    }
    true
}

/// Removes the members that aren't wanted any more, the highest number first; whether there is none left to wait for.
fn remove_condemned(
    condemned: &[&Value],
    in_order: bool,
    first_unavailable: Option<&str>,
    unavailable: &dyn Fn(&Value) -> bool,
    plan: &mut Plan,
) -> bool {
    for pod in condemned {
        if pod.is_being_deleted() {
            if in_order {
                return false;
            }
            continue;
        }
        let is_sick = !is_running_and_ready(pod) || unavailable(pod);
        if in_order && is_sick && first_unavailable != Some(pod.name()) {
            return false;
        }
        plan.delete.push((*pod).clone());
        if in_order {
            return false;
        }
    }
    true
}

/// Removes the next Pod of an old template, the highest number first, so that it is made anew.
fn update_next(
    set: &Value,
    members: &[Value],
    revisions: &Revisions,
    unavailable: &dyn Fn(&Value) -> bool,
    plan: &mut Plan,
) {
    let partition = set["spec"]["updateStrategy"]["rollingUpdate"]["partition"]
        .as_i64()
        .and_then(|partition| usize::try_from(partition).ok())
        .unwrap_or(0);
    for pod in members.iter().skip(partition).rev() {
        let is_old = revision(pod) != revisions.update;
        if is_old && !pod.is_being_deleted() {
            if is_created(pod) {
                plan.delete.push(pod.clone());
            }
            return;
        }
        if unavailable(pod) {
            return;
        }
    }
}

/// Returns a Pod with the labels and volumes that its number asks for, where it hasn't.
fn corrected(set: &Value, pod: &Value) -> Option<Value> {
    let ordinal = ordinal(pod, set)?;
    let mut corrected = pod.clone();
    let name = pod.name().to_owned();
    if pod.label(POD_NAME) != Some(&name) {
        let labels = map_of(corrected.metadata_mut().entry("labels").or_insert(Value::Null));
        labels.insert(POD_NAME.into(), name.into());
        labels.insert(POD_INDEX.into(), ordinal.to_string().into());
    }
    (corrected != *pod).then_some(corrected)
}

/// Returns the Pod with a number.
fn made_for(set: &Value, revisions: &Revisions, number: i64) -> Value {
    let strategy = &set["spec"]["updateStrategy"];
    let rolling = strategy["type"] != "OnDelete";
    let still_current = if let Some(partition) = strategy["rollingUpdate"]["partition"].as_i64() {
        number < start(set) + partition
    } else {
        let current = set["status"]["currentReplicas"].as_i64().unwrap_or(0);
        rolling && strategy["rollingUpdate"].is_null() && number < start(set) + current
    };
    let (template, revision) = if still_current {
        (&revisions.current_template, &revisions.current)
    } else {
        (&set["spec"]["template"], &revisions.update)
    };
    let mut pod = pods::from_template(template, set);
    let name = format!("{}-{number}", set.name());
    let metadata = pod.metadata_mut();
    metadata.insert("name".into(), name.clone().into());
    let labels = map_of(metadata.entry("labels").or_insert(Value::Null));
    labels.insert(POD_NAME.into(), name.clone().into());
    labels.insert(POD_INDEX.into(), number.to_string().into());
    labels.insert(REVISION.into(), revision.clone().into());
    let templates = set["spec"]["volumeClaimTemplates"].as_array();
    let mut volumes: Vec<Value> = templates
        .into_iter()
        .flatten()
        .map(|template| {
            json!({"name": template.name(),
                "persistentVolumeClaim": {"claimName": claims::name(set, template, number)}})
        })
        .collect();
    let spec = map_of(map_of(&mut pod).entry("spec").or_insert(Value::Null));
    spec.insert("hostname".into(), name.into());
    if let Some(service) = set["spec"]["serviceName"]
        .as_str()
        .filter(|name| !name.is_empty())
    {
        spec.insert("subdomain".into(), service.into());
    }
    let others = spec
        .get("volumes")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    for other in others {
        if !volumes.iter().any(|volume| volume["name"] == other["name"]) {
            volumes.push(other);
        }
    }
    if !volumes.is_empty() {
        spec.insert("volumes".into(), volumes.into());
    }
    pod
}

fn status(set: &Value, pods: &[Value], revisions: &Revisions, deleted: &[Value], now: Timestamp) -> Value {
    let seconds = set["spec"]["minReadySeconds"].as_i64().unwrap_or(0);
    let count = |test: &dyn Fn(&Value) -> bool| {
        i64::try_from(pods.iter().filter(|pod| test(pod)).count()).unwrap_or(i64::MAX)
    };
    let lives = |pod: &Value| !pod.is_being_deleted() && !deleted.iter().any(|gone| gone.uid() == pod.uid());
    let wanted = replicas(set);
    let mut current = count(&|pod| lives(pod) && revision(pod) == revisions.current);
    let updated = count(&|pod| !pod.is_being_deleted() && revision(pod) == revisions.update);
    let ready = count(&is_running_and_ready);
    let present = count(&is_created);
    let mut revisions = revisions.clone();
    let rolling = set["spec"]["updateStrategy"]["type"] != "OnDelete";
    if rolling && updated == wanted && ready == wanted && present == wanted {
        current = updated;
        revisions.current.clone_from(&revisions.update);
    }
    let available = count(&|pod| is_running_and_ready(pod) && pods::is_available(pod, seconds, now));
    status_with(
        set,
        &revisions,
        &[
            ("replicas", present),
            ("readyReplicas", ready),
            ("availableReplicas", available),
            ("currentReplicas", current),
            ("updatedReplicas", updated),
        ],
    )
}

#[cfg(test)]
mod tests;
