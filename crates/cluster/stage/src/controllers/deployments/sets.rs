//! What a Deployment knows about its ReplicaSets.

use std::cmp::Ordering;

use serde_json::{Value, json};

use crate::controllers::fractions::scaled;
use crate::controllers::ownership::controller_reference;
use crate::controllers::template_hash::{same_template, short_hash};
use crate::object::{Object, map_of};

/// The label that tells the Pods of one template from those of another.
pub(super) const TEMPLATE_HASH: &str = "pod-template-hash";

/// The annotation with the number of a rollout.
pub(super) const REVISION: &str = "deployment.kubernetes.io/revision";

const REVISION_HISTORY: &str = "deployment.kubernetes.io/revision-history";
const DESIRED_REPLICAS: &str = "deployment.kubernetes.io/desired-replicas";
const MAX_REPLICAS: &str = "deployment.kubernetes.io/max-replicas";

/// Annotations of a Deployment that its ReplicaSets don't get.
const NOT_COPIED: &[&str] = &[
    "kubectl.kubernetes.io/last-applied-configuration",
    REVISION,
    REVISION_HISTORY,
    DESIRED_REPLICAS,
    MAX_REPLICAS,
    "deprecated.deployment.rollback.to",
];

/// The longest list of former revisions that an annotation keeps.
const LONGEST_HISTORY: usize = 2000;

/// The longest name of a ReplicaSet.
const LONGEST_NAME: usize = 253;

/// The value of `progressDeadlineSeconds` and `revisionHistoryLimit` that means there is none.
const NO_LIMIT: i64 = i32::MAX as i64;

/// Returns a number that the spec has.
pub(super) fn replicas(object: &Value) -> i64 {
    object["spec"]["replicas"].as_i64().unwrap_or(1)
}

/// Returns a number of the status; 0 where it is missing.
pub(super) fn counted(status: &Value, name: &str) -> i64 {
    status[name].as_i64().unwrap_or(0)
}

/// Returns after how many seconds without progress a rollout has failed.
pub(super) fn progress_deadline(deployment: &Value) -> Option<i64> {
    deployment["spec"]["progressDeadlineSeconds"]
        .as_i64()
        .filter(|&seconds| seconds != NO_LIMIT)
}

/// Returns how many old ReplicaSets are kept.
pub(super) fn history_limit(deployment: &Value) -> Option<i64> {
    deployment["spec"]["revisionHistoryLimit"]
        .as_i64()
        .filter(|&limit| limit != NO_LIMIT)
}

/// Returns whether old Pods are replaced step by step.
pub(super) fn is_rolling(deployment: &Value) -> bool {
    deployment["spec"]["strategy"]["type"] != "Recreate"
}

/// Returns how many Pods more than wanted there may be, and how many may be missing.
fn fenceposts(deployment: &Value) -> (i64, i64) {
    let rolling = &deployment["spec"]["strategy"]["rollingUpdate"];
    let wanted = replicas(deployment);
    let surge = scaled(&rolling["maxSurge"], wanted, true);
    let unavailable = scaled(&rolling["maxUnavailable"], wanted, false);
    // Without either there would be no step to take.
    if surge == 0 && unavailable == 0 {
        return (0, 1);
    }
    (surge, unavailable)
}

/// Returns how many Pods more than wanted there may be.
pub(super) fn max_surge(deployment: &Value) -> i64 {
    if is_rolling(deployment) {
        fenceposts(deployment).0
    } else {
        0
    }
}

/// Returns how many Pods may be missing.
pub(super) fn max_unavailable(deployment: &Value) -> i64 {
    if !is_rolling(deployment) || replicas(deployment) == 0 {
        return 0;
    }
    fenceposts(deployment).1.min(replicas(deployment))
}

/// Orders by age, the oldest first.
pub(super) fn by_age(one: &Value, other: &Value) -> Ordering {
    let made = |object: &Value| object.metadata_text("creationTimestamp").to_owned();
    made(one)
        .cmp(&made(other))
        .then_with(|| one.name().cmp(other.name()))
}

/// Returns the number of a ReplicaSet's rollout; 0 where it isn't known.
pub(super) fn revision(set: &Value) -> i64 {
    set.annotation(REVISION)
        .and_then(|text| text.parse().ok())
        .unwrap_or(0)
}

/// Returns how many Pods the Deployment wanted when the ReplicaSet was scaled last.
pub(super) fn desired_then(set: &Value) -> Option<i64> {
    annotated_count(set, DESIRED_REPLICAS)
}

/// Returns how many Pods there might have been when the ReplicaSet was scaled last.
pub(super) fn most_then(set: &Value) -> Option<i64> {
    annotated_count(set, MAX_REPLICAS)
}

fn annotated_count(set: &Value, name: &str) -> Option<i64> {
    set.annotation(name)?
        .parse()
        .ok()
        .filter(|count| (0..=i64::from(i32::MAX)).contains(count))
}

fn annotate(object: &mut Value, name: &str, value: &str) -> bool {
    if object.annotation(name) == Some(value) {
        return false;
    }
    let annotations = object
        .metadata_mut()
        .entry("annotations")
        .or_insert_with(|| json!({}));
    map_of(annotations).insert(name.to_owned(), value.into());
    true
}

/// Notes the number of a rollout on a Deployment.
pub(super) fn note_revision(deployment: &mut Value, revision: &str) {
    annotate(deployment, REVISION, revision);
}

/// Notes how many Pods are wanted and may be at present; whether that is news.
pub(super) fn note_sizes(set: &mut Value, deployment: &Value) -> bool {
    let wanted = replicas(deployment);
    let desired = annotate(set, DESIRED_REPLICAS, &wanted.to_string());
    let most = annotate(set, MAX_REPLICAS, &(wanted + max_surge(deployment)).to_string());
    desired || most
}

/// Brings the annotations of the ReplicaSet of the present template up to date.
pub(super) fn note_rollout(set: &mut Value, deployment: &Value, number: i64) {
    let annotations = deployment["metadata"]["annotations"].as_object();
    for (name, value) in annotations.into_iter().flatten() {
        if !NOT_COPIED.contains(&name.as_str()) {
            annotate(set, name, value.as_str().unwrap_or_default());
        }
    }
    let before = set.annotation(REVISION).map(str::to_owned);
    let former = match before.as_deref().unwrap_or_default() {
        "" => 0,
        text => match text.parse::<i64>() {
            Ok(former) => former,
            // Someone else uses the annotation for something else.
            Err(_) => return,
        },
    };
    if former >= number {
        return;
    }
    annotate(set, REVISION, &number.to_string());
    let Some(before) = before else { return };
    let history = set.annotation(REVISION_HISTORY).unwrap_or_default().to_owned();
    if history.is_empty() {
        annotate(set, REVISION_HISTORY, &before);
        return;
    }
    let mut kept: Vec<&str> = history.split(',').collect();
    kept.push(&before);
    let mut length = history.len() + before.len() + 1;
    while length > LONGEST_HISTORY && kept.len() > 1 {
        length -= kept.remove(0).len() + 1;
    }
    if length <= LONGEST_HISTORY {
        annotate(set, REVISION_HISTORY, &kept.join(","));
    }
}

/// Returns whether a ReplicaSet is that of the Deployment's present template.
pub(super) fn is_present(set: &Value, deployment: &Value) -> bool {
    same_template(
        &set["spec"]["template"],
        &deployment["spec"]["template"],
        TEMPLATE_HASH,
    )
}

/// Returns the ReplicaSet of the Deployment's present template, with no Pods yet.
pub(super) fn made_for(deployment: &Value) -> Value {
    let mut template = deployment["spec"]["template"].clone();
    let hash = short_hash(&template, deployment["status"]["collisionCount"].as_i64());
    let labels = template
        .metadata_mut()
        .entry("labels")
        .or_insert_with(|| json!({}));
    map_of(labels).insert(TEMPLATE_HASH.into(), hash.clone().into());
    let labels = labels.clone();
    let mut selector = deployment["spec"]["selector"].clone();
    let matched = map_of(&mut selector)
        .entry("matchLabels")
        .or_insert_with(|| json!({}));
    map_of(matched).insert(TEMPLATE_HASH.into(), hash.clone().into());
    let mut base = deployment.name().to_owned();
    base.truncate(LONGEST_NAME - 1 - hash.len());
    let mut spec = json!({"replicas": 0, "selector": selector, "template": template});
    if let Some(seconds) = deployment["spec"]["minReadySeconds"].as_i64().filter(|&s| s != 0) {
        map_of(&mut spec).insert("minReadySeconds".into(), seconds.into());
    }
    json!({
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": format!("{base}-{hash}"),
            "namespace": deployment.namespace(),
            "labels": labels,
            "ownerReferences": [controller_reference(deployment)],
        },
        "spec": spec,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_always_a_step_to_take() {
        let table = [
            (10, json!("25%"), json!("25%"), 3, 2),
            (10, json!(0), json!(0), 0, 1),
            (1, json!("25%"), json!("25%"), 1, 0),
            (2, json!(0), json!(5), 0, 2),
            (0, json!("25%"), json!("25%"), 0, 0),
        ];
        for (wanted, surge, unavailable, most, missing) in table {
            let deployment = json!({"spec": {"replicas": wanted, "strategy": {"type": "RollingUpdate",
                "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}}});
            assert_eq!(max_surge(&deployment), most, "{deployment}");
            assert_eq!(max_unavailable(&deployment), missing, "{deployment}");
        }
    }

    #[test]
    fn former_revisions_are_kept_in_a_bounded_list() {
        let deployment = json!({"metadata": {"annotations": {"note": "x", REVISION: "9"}}});
        let mut set = json!({"metadata": {"annotations": {REVISION: "1"}}});
        note_rollout(&mut set, &deployment, 3);
        note_rollout(&mut set, &deployment, 5);
        assert_eq!(
            set["metadata"]["annotations"],
            json!({"note": "x", REVISION: "5", REVISION_HISTORY: "1,3"})
        );
        for number in 6..2000 {
            note_rollout(&mut set, &deployment, number);
        }
        let history = set.annotation(REVISION_HISTORY).expect("a history");
        assert!(
            history.len() <= LONGEST_HISTORY && history.ends_with(",1997,1998"),
            "{history}"
        );
    }
}
