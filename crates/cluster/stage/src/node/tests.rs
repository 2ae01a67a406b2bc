//! Pods on a whole stage.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::pods::PODS;
use crate::client::Client;
use crate::object::Object;
use crate::options::DeleteOptions;
use crate::{Options, Stage};

async fn stage() -> (Stage, Client) {
    let stage = Stage::in_memory(Options::default())
        .await
        .expect("a stage in memory starts");
    let client = stage.client();
    // The controller that makes it may be quicker, or slower than the first pod.
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": "default"}});
    let _ = client.create(("", "serviceaccounts"), account).await;
    (stage, client)
}

#[expect(clippy::needless_pass_by_value, reason = "`json!` makes values")]
fn pod(name: &str, annotations: Value, spec: Value) -> Value {
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default", "annotations": annotations},
        "spec": {"containers": [{"name": "c", "image": "example.com/i:1"}]},
    });
    for (field, value) in spec.as_object().into_iter().flatten() {
        pod["spec"][field] = value.clone();
    }
    pod
}

/// Waits until a pod is as it should be, and returns it.
async fn until(client: &Client, name: &str, is: impl Fn(&Value) -> bool) -> Value {
    let wait = async {
        loop {
            if let Some(pod) = client.get(PODS, "default", name).expect("pods are served")
                && is(&pod)
            {
                return pod;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    let Ok(pod) = tokio::time::timeout(Duration::from_secs(20), wait).await else {
        panic!("pod {name} is {:#?}", client.get(PODS, "default", name));
    };
    pod
}

fn condition<'a>(pod: &'a Value, kind: &str) -> &'a Value {
    let conditions = pod["status"]["conditions"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    conditions
        .iter()
        .find(|one| one["type"] == kind)
        .unwrap_or(&Value::Null)
}

fn phase_is(phase: &'static str) -> impl Fn(&Value) -> bool {
    move |pod| pod["status"]["phase"] == phase
}

#[tokio::test]
async fn a_pod_is_bound_runs_says_that_it_is_simulated_and_goes() {
    let (_stage, client) = stage().await;
    client
        .create(PODS, pod("a", json!({}), json!({})))
        .await
        .expect("created");
    let running = until(&client, "a", phase_is("Running")).await;
    assert_eq!(running["spec"]["nodeName"], "baton");
    assert_eq!(running.annotation("stage.baton.dev/simulated"), Some("true"));
    assert_eq!(condition(&running, "Ready")["status"], "True");
    assert!(
        running["status"]["podIP"]
            .as_str()
            .is_some_and(|address| address.starts_with("10.244."))
    );
    assert_eq!(
        running["status"]["observedGeneration"],
        running["metadata"]["generation"]
    );
    let reasons = ["Scheduled", "Pulled", "Created", "Started", "Simulated"];
    loop {
        let events = client.list(("", "events"), "default").expect("events");
        if reasons
            .iter()
            .all(|reason| events.iter().any(|event| event["reason"] == *reason))
        {
            break;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    client
        .delete(PODS, "default", "a", &DeleteOptions::default())
        .await
        .expect("deleted");
    let gone = async {
        while client
            .get(PODS, "default", "a")
            .expect("pods are served")
            .is_some()
        {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), gone)
        .await
        .expect("it goes at once");
}

#[tokio::test]
async fn a_change_of_the_annotation_changes_a_running_pod() {
    let (_stage, client) = stage().await;
    client
        .create(PODS, pod("a", json!({}), json!({})))
        .await
        .expect("created");
    until(&client, "a", phase_is("Running")).await;
    let told = |fate: &str| json!({"metadata": {"annotations": {"stage.baton.dev/simulate": fate}}});
    client
        .merge(PODS, "default", "a", "", &told("unready"))
        .await
        .expect("patched");
    until(&client, "a", |pod| {
        condition(pod, "Ready")["reason"] == "ContainersNotReady"
    })
    .await;
    client
        .merge(PODS, "default", "a", "", &told("failed"))
        .await
        .expect("patched");
    until(&client, "a", phase_is("Failed")).await;
    client
        .merge(PODS, "default", "a", "", &told("running"))
        .await
        .expect("patched");
    let again = until(&client, "a", phase_is("Running")).await;
    assert_eq!(again["status"]["containerStatuses"][0]["restartCount"], 1);
}

#[tokio::test]
async fn a_pod_that_doesnt_fit_waits_until_there_is_room() {
    let (_stage, client) = stage().await;
    let asks = |cpu: &str| json!({"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]});
    let all = super::machine::Machine::look(&super::Options::default()).room["cpu"].clone();
    client
        .create(PODS, pod("first", json!({}), asks(&all)))
        .await
        .expect("created");
    until(&client, "first", phase_is("Running")).await;
    client
        .create(PODS, pod("second", json!({}), asks("1")))
        .await
        .expect("created");
    let waiting = until(&client, "second", |pod| {
        condition(pod, "PodScheduled")["status"] == "False"
    })
    .await;
    assert_eq!(condition(&waiting, "PodScheduled")["reason"], "Unschedulable");
    assert_eq!(
        condition(&waiting, "PodScheduled")["message"],
        "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: \
         1 No preemption victims found for incoming pod."
    );
    client
        .delete(PODS, "default", "first", &DeleteOptions::default())
        .await
        .expect("deleted");
    until(&client, "second", phase_is("Running")).await;
}

#[tokio::test]
async fn a_device_that_is_given_back_goes_to_who_came_first_and_to_nobody_else() {
    let node = super::Options {
        capacity: BTreeMap::from([("example.com/device".to_owned(), "1".to_owned())]),
        ..super::Options::default()
    };
    let options = Options {
        node,
        ..Options::default()
    };
    let stage = Stage::in_memory(options).await.expect("a stage in memory starts");
    let client = stage.client();
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": "default"}});
    let _ = client.create(("", "serviceaccounts"), account).await;
    let asks = || json!({"containers": [{"name": "c", "image": "i", "resources": {"limits": {"example.com/device": "1"}}}]});
    let waits = |pod: &Value| condition(pod, "PodScheduled")["status"] == "False";
    for name in ["a", "b", "c", "d"] {
        client
            .create(PODS, pod(name, json!({}), asks()))
            .await
            .expect("created");
        if name == "a" {
            until(&client, name, phase_is("Running")).await;
        } else {
            until(&client, name, waits).await;
        }
    }
    for (holder, next) in [("a", "b"), ("b", "c"), ("c", "d")] {
        client
            .delete(PODS, "default", holder, &DeleteOptions::default())
            .await
            .expect("deleted");
        until(&client, next, phase_is("Running")).await;
    }
}

#[tokio::test]
async fn a_pod_waits_for_its_claim_and_is_bound_when_it_comes() {
    let (_stage, client) = stage().await;
    let volumes = json!({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "late"}}]});
    client
        .create(PODS, pod("a", json!({}), volumes))
        .await
        .expect("created");
    let waiting = until(&client, "a", |pod| {
        condition(pod, "PodScheduled")["status"] == "False"
    })
    .await;
    assert_eq!(
        condition(&waiting, "PodScheduled")["message"],
        "0/1 nodes are available: persistentvolumeclaim \"late\" not found. not found"
    );
    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "late", "namespace": "default"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    });
    client
        .create(("", "persistentvolumeclaims"), claim)
        .await
        .expect("created");
    until(&client, "a", phase_is("Running")).await;
}

#[tokio::test]
async fn a_gated_pod_is_bound_when_its_gates_are_gone() {
    let (_stage, client) = stage().await;
    client
        .create(
            PODS,
            pod(
                "a",
                json!({}),
                json!({"schedulingGates": [{"name": "example.com/g"}]}),
            ),
        )
        .await
        .expect("created");
    client
        .create(PODS, pod("b", json!({}), json!({})))
        .await
        .expect("created");
    until(&client, "b", phase_is("Running")).await;
    let gated = until(&client, "a", phase_is("Pending")).await;
    assert_eq!(condition(&gated, "PodScheduled")["reason"], "SchedulingGated");
    client
        .merge(
            PODS,
            "default",
            "a",
            "",
            &json!({"spec": {"schedulingGates": []}}),
        )
        .await
        .expect("patched");
    until(&client, "a", phase_is("Running")).await;
}

#[tokio::test]
async fn what_someone_else_writes_into_the_status_stays() {
    let (_stage, client) = stage().await;
    client
        .create(
            PODS,
            pod(
                "a",
                json!({}),
                json!({"readinessGates": [{"conditionType": "example.com/g"}]}),
            ),
        )
        .await
        .expect("created");
    let waiting = until(&client, "a", phase_is("Running")).await;
    assert_eq!(condition(&waiting, "Ready")["reason"], "ReadinessGatesNotReady");
    let mut opened = waiting.clone();
    opened["status"]["conditions"]
        .as_array_mut()
        .expect("conditions")
        .push(json!({"type": "example.com/g", "status": "True"}));
    client.update_status(PODS, opened).await.expect("written");
    until(&client, "a", |pod| condition(pod, "Ready")["status"] == "True").await;
    let message = json!({"status": {"message": "someone was here"}});
    client
        .merge(PODS, "default", "a", "status", &message)
        .await
        .expect("patched");
}
