//! What has to be done to the Pods of a DaemonSet, as a pure function of the nodes and the Pods.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::HASH;
use super::placement::{fits, node_of, place_on};
use crate::controllers::conditions::set_count;
use crate::controllers::fractions::scaled;
use crate::controllers::pods;
use crate::events::Note;
use crate::object::{Object, map_of};

/// The annotation and label with the number that templates had before there were revisions.
const GENERATION: &str = "pod-template-generation";
const GENERATION_ANNOTATION: &str = "deprecated.daemonset.template.generation";

/// What has to be done.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) create: Vec<Value>,
    pub(super) delete: Vec<Value>,
    pub(super) notes: Vec<Note>,
    pub(super) status: Value,
}

struct View<'a> {
    set: &'a Value,
    hash: &'a str,
    seconds: i64,
    now: Timestamp,
    by_node: BTreeMap<&'a str, Vec<&'a Value>>,
    surges: bool,
}

impl View<'_> {
    fn is_new(&self, pod: &Value) -> bool {
        pod.label(HASH) == Some(self.hash)
    }

    fn is_available(&self, pod: &Value) -> bool {
        pods::is_available(pod, self.seconds, self.now)
    }
}

/// Decides what has to be done to the Pods of a set.
pub(super) fn decide(set: &Value, nodes: &[Value], all: &[Value], hash: &str, now: Timestamp) -> Plan {
    let mut by_node: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    for pod in all {
        if let Some(node) = node_of(pod) {
            by_node.entry(node).or_default().push(pod);
        }
    }
    for pods in by_node.values_mut() {
        pods.sort_by(|one, other| by_age(one, other));
    }
    let rolling = &set["spec"]["updateStrategy"]["rollingUpdate"];
    let wanted = nodes.iter().filter(|node| fits(set, node).0).count();
    let wanted = i64::try_from(wanted).unwrap_or(i64::MAX);
    let max_surge = scaled(&rolling["maxSurge"], wanted, true);
    let view = View {
        set,
        hash,
        seconds: set["spec"]["minReadySeconds"].as_i64().unwrap_or(0),
        now,
        by_node,
        surges: set["spec"]["updateStrategy"]["type"] == "RollingUpdate" && max_surge > 0,
    };
    let mut plan = Plan::default();
    for node in nodes {
        keep_on_node(&view, node, &mut plan);
    }
    for (node, pods) in &view.by_node {
        // Their node is gone for good.
        if !nodes.iter().any(|known| known.name() == *node) {
            plan.delete.extend(
                pods.iter()
                    .filter(|pod| !pod.is_being_deleted())
                    .map(|&pod| pod.clone()),
            );
        }
    }
    if plan.create.is_empty()
        && plan.delete.is_empty()
        && set["spec"]["updateStrategy"]["type"] == "RollingUpdate"
    {
        if view.surges {
            roll_with_surge(&view, nodes, max_surge, &mut plan);
        } else {
            let mut most = scaled(&rolling["maxUnavailable"], wanted, true);
            if most == 0 {
                most = 1;
            }
            roll(&view, most, &mut plan);
        }
    }
    plan.status = status(&view, nodes);
    plan
}

fn by_age(one: &Value, other: &Value) -> std::cmp::Ordering {
    let bound = |pod: &Value| pod["spec"]["nodeName"].as_str().is_none_or(str::is_empty);
    let made = |pod: &Value| pod.metadata_text("creationTimestamp").to_owned();
    bound(one)
        .cmp(&bound(other))
        .then_with(|| made(one).cmp(&made(other)))
        .then_with(|| one.name().cmp(other.name()))
}

/// Makes the one Pod of a node, and removes those that are too many, have ended or don't belong there.
fn keep_on_node(view: &View<'_>, node: &Value, plan: &mut Plan) {
    let (should_run, may_stay) = fits(view.set, node);
    let Some(present) = view.by_node.get(node.name()) else {
        if should_run {
            plan.create.push(made_for(view, node.name()));
        }
        return;
    };
    let live = present.iter().copied().filter(|pod| !pod.is_being_deleted());
    if !may_stay {
        plan.delete.extend(live.cloned());
        return;
    }
    let mut running = Vec::new();
    for pod in live {
        let place = format!("{}/{} on node {}", pod.namespace(), pod.name(), node.name());
        match pods::phase(pod) {
            "Failed" => {
                let text = format!("Found failed daemon pod {place}, will try to kill it");
                plan.notes.push(Note::warning("FailedDaemonPod", text));
                plan.delete.push(pod.clone());
            }
            "Succeeded" => {
                let text = format!("Found succeeded daemon pod {place}, will try to delete it");
                plan.notes.push(Note::normal("SucceededDaemonPod", text));
                plan.delete.push(pod.clone());
            }
            _ => running.push(pod),
        }
    }
    if !view.surges {
        plan.delete.extend(running.into_iter().skip(1).cloned());
        return;
    }
    if running.is_empty() {
        if should_run && plan.delete.is_empty() {
            plan.create.push(made_for(view, node.name()));
        }
        return;
    }
    let (new, old): (Vec<&Value>, Vec<&Value>) = running.into_iter().partition(|pod| view.is_new(pod));
    let extra = new.iter().skip(1).chain(old.iter().skip(1));
    plan.delete.extend(extra.map(|&pod| pod.clone()));
    if let (Some(new), Some(old)) = (new.first(), old.first())
        && (!pods::is_ready(old) || view.is_available(new))
    {
        plan.delete.push((*old).clone());
    }
}

/// Returns the new and the old Pod of a node; `None` where there are more.
fn pair<'a>(view: &View<'_>, present: &[&'a Value]) -> Option<(Option<&'a Value>, Option<&'a Value>)> {
    let (mut new, mut old) = (None, None);
    for &pod in present.iter().filter(|pod| !pod.is_being_deleted()) {
        let slot = if view.is_new(pod) { &mut new } else { &mut old };
        if slot.replace(pod).is_some() {
            return None;
        }
    }
    Some((new, old))
}

/// Removes old Pods as far as enough are available.
fn roll(view: &View<'_>, most_unavailable: i64, plan: &mut Plan) {
    let mut unavailable = 0;
    let mut candidates = Vec::new();
    for present in view.by_node.values() {
        match pair(view, present) {
            None | Some((None, None) | (Some(_), Some(_))) => unavailable += 1,
            Some((Some(new), None)) => {
                if !view.is_available(new) {
                    unavailable += 1;
                }
            }
            Some((None, Some(old))) => {
                if view.is_available(old) {
                    candidates.push(old.clone());
                } else {
                    plan.delete.push(old.clone());
                    unavailable += 1;
                }
            }
        }
    }
    let room = usize::try_from(most_unavailable - unavailable).unwrap_or(0);
    plan.delete.extend(candidates.into_iter().take(room));
}

/// Makes new Pods beside old ones, which go when the new ones are available.
fn roll_with_surge(view: &View<'_>, nodes: &[Value], max_surge: i64, plan: &mut Plan) {
    let mut surge = 0;
    let mut candidates = Vec::new();
    for node in nodes {
        let Some(present) = view.by_node.get(node.name()) else {
            continue;
        };
        match pair(view, present) {
            None => surge += 1,
            Some((_, None)) => {}
            Some((None, Some(old))) => {
                if !fits(view.set, node).0 {
                    if !view.is_available(old) {
                        plan.delete.push(old.clone());
                    }
                } else if view.is_available(old) {
                    candidates.push(node.name());
                } else {
                    plan.create.push(made_for(view, node.name()));
                }
            }
            Some((Some(new), Some(old))) => {
                if view.is_available(new) {
                    plan.delete.push(old.clone());
                } else {
                    surge += 1;
                }
            }
        }
    }
    let room = usize::try_from(max_surge - surge).unwrap_or(0);
    plan.create
        .extend(candidates.into_iter().take(room).map(|node| made_for(view, node)));
}

fn made_for(view: &View<'_>, node: &str) -> Value {
    let mut pod = pods::from_template(&view.set["spec"]["template"], view.set);
    let labels = map_of(pod.metadata_mut().entry("labels").or_insert(Value::Null));
    labels.insert(HASH.into(), view.hash.into());
    if let Some(generation) = view.set.annotation(GENERATION_ANNOTATION) {
        labels.insert(GENERATION.into(), generation.into());
    }
    place_on(map_of(&mut pod).entry("spec").or_insert(Value::Null), node);
    pod
}

fn status(view: &View<'_>, nodes: &[Value]) -> Value {
    let [
        mut desired,
        mut current,
        mut misplaced,
        mut ready,
        mut available,
        mut updated,
    ] = [0_i64; 6];
    for node in nodes {
        let first = view.by_node.get(node.name()).and_then(|pods| pods.first());
        if !fits(view.set, node).0 {
            misplaced += i64::from(first.is_some());
            continue;
        }
        desired += 1;
        let Some(pod) = first else { continue };
        current += 1;
        ready += i64::from(pods::is_ready(pod));
        available += i64::from(view.is_available(pod));
        updated += i64::from(view.is_new(pod));
    }
    let mut status = Map::new();
    status.insert("desiredNumberScheduled".into(), desired.into());
    status.insert("currentNumberScheduled".into(), current.into());
    status.insert("numberMisscheduled".into(), misplaced.into());
    status.insert("numberReady".into(), ready.into());
    status.insert("observedGeneration".into(), view.set.generation().into());
    set_count(&mut status, "updatedNumberScheduled", updated);
    set_count(&mut status, "numberAvailable", available);
    set_count(&mut status, "numberUnavailable", desired - available);
    if let Some(conditions) = view.set["status"].get("conditions") {
        status.insert("conditions".into(), conditions.clone());
    }
    Value::Object(status)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn set(rolling: Value) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "DaemonSet",
            "metadata": {"name": "d", "namespace": "n", "uid": "u", "generation": 1,
                "annotations": {GENERATION_ANNOTATION: "1"}},
            "spec": {"template": {"metadata": {"labels": {"a": "b"}}, "spec": {}},
                "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": rolling}}})
    }

    fn nodes(count: usize) -> Vec<Value> {
        (0..count)
            .map(|number| json!({"metadata": {"name": format!("n{number}")}}))
            .collect()
    }

    fn run(made: Vec<Value>, pods: &mut Vec<Value>) {
        for mut pod in made {
            let name = format!("p{}", pods.len() + 100);
            pod.metadata_mut().insert("uid".into(), name.clone().into());
            pod.metadata_mut().insert("name".into(), name.into());
            pods.push(pod);
        }
        for pod in pods {
            pod["status"] = json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]});
        }
    }

    fn settle(
        set: &Value,
        nodes: &[Value],
        pods: &mut Vec<Value>,
        hash: &str,
        check: &dyn Fn(&Plan),
    ) -> Value {
        let mut status = Value::Null;
        for _ in 0..20 {
            let plan = decide(set, nodes, pods, hash, Timestamp::UNIX_EPOCH);
            check(&plan);
            pods.retain(|pod| !plan.delete.iter().any(|gone| gone.uid() == pod.uid()));
            run(plan.create, pods);
            status = plan.status;
        }
        status
    }

    #[test]
    fn each_node_gets_one_pod() {
        let (set, nodes, mut pods) = (
            set(json!({"maxUnavailable": 1, "maxSurge": 0})),
            nodes(3),
            Vec::new(),
        );
        let status = settle(&set, &nodes, &mut pods, "h1", &|_| {});
        assert_eq!(
            status,
            json!({"desiredNumberScheduled": 3, "currentNumberScheduled": 3, "numberMisscheduled": 0, "numberReady": 3,
                "numberAvailable": 3, "updatedNumberScheduled": 3, "observedGeneration": 1})
        );
        assert_eq!(pods[0].label(GENERATION), Some("1"));
        settle(&set, &nodes[..1], &mut pods, "h1", &|_| {});
        assert_eq!(pods.len(), 1, "nodes that are gone have no Pods");
    }

    #[test]
    fn an_update_replaces_as_many_as_may_be_missing() {
        let (set, nodes, mut pods) = (
            set(json!({"maxUnavailable": 2, "maxSurge": 0})),
            nodes(5),
            Vec::new(),
        );
        settle(&set, &nodes, &mut pods, "h1", &|_| {});
        let status = settle(&set, &nodes, &mut pods, "h2", &|plan| {
            assert!(plan.delete.len() <= 2);
        });
        assert_eq!(status["updatedNumberScheduled"], 5);
        assert_eq!(pods.len(), 5);
    }

    #[test]
    fn an_update_with_surge_never_leaves_a_node_alone() {
        let (set, nodes, mut pods) = (
            set(json!({"maxUnavailable": 0, "maxSurge": 1})),
            nodes(3),
            Vec::new(),
        );
        settle(&set, &nodes, &mut pods, "h1", &|_| {});
        let status = settle(&set, &nodes, &mut pods, "h2", &|plan| {
            assert!(plan.create.len() <= 1);
        });
        assert_eq!(status["updatedNumberScheduled"], 3);
        assert_eq!(status["numberAvailable"], 3);
        assert_eq!(pods.len(), 3);
    }

    #[test]
    fn a_failed_pod_is_removed_and_made_anew() {
        let (set, nodes, mut pods) = (set(json!({"maxUnavailable": 1})), nodes(1), Vec::new());
        settle(&set, &nodes, &mut pods, "h1", &|_| {});
        pods[0]["status"]["phase"] = "Failed".into();
        let plan = decide(&set, &nodes, &pods, "h1", Timestamp::UNIX_EPOCH);
        assert_eq!(
            plan.notes[0].message,
            "Found failed daemon pod n/p100 on node n0, will try to kill it"
        );
        assert_eq!(plan.delete.len(), 1);
        pods.clear();
        settle(&set, &nodes, &mut pods, "h1", &|_| {});
        assert_eq!(pods.len(), 1);
    }
}
