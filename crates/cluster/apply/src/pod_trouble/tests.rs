use serde_json::json;

use super::*;

fn pod(name: &str, spec: Value, status: Value) -> Value {
    json!({"metadata": {"name": name}, "spec": spec, "status": status})
}

fn waiting(reason: &str, message: &str, ended: Value) -> Value {
    json!({"containerStatuses": [{"name": "server", "image": "x:1", "restartCount": 4,
        "state": {"waiting": {"reason": reason, "message": message}}, "lastState": ended}]})
}

fn ended_with(code: i64, reason: &str, message: &str) -> Value {
    json!({"terminated": {"exitCode": code, "reason": reason, "message": message}})
}

#[test]
fn a_pod_says_what_keeps_it_from_running() {
    let rows = [
        (
            waiting(
                "CrashLoopBackOff",
                "back-off 40s",
                ended_with(1, "Error", "starting\nno model at /models\n\n"),
            ),
            Some(
                r#"container server: CrashLoopBackOff after 4 restarts, it ended with 1 (Error): "no model at /models""#,
            ),
        ),
        (
            waiting(
                "CrashLoopBackOff",
                "back-off 40s",
                ended_with(137, "OOMKilled", ""),
            ),
            Some(
                "container server: CrashLoopBackOff after 4 restarts, it ended with 137 (OOMKilled: it needs more memory \
                 than it may have)",
            ),
        ),
        (
            waiting("CrashLoopBackOff", "", json!({})),
            Some("container server: CrashLoopBackOff after 4 restarts"),
        ),
        (
            waiting("ErrImagePull", "x:1: not found", json!({})),
            Some(r#"container server: ErrImagePull, image "x:1" can't be pulled: x:1: not found"#),
        ),
        (
            waiting(
                "ImagePullBackOff",
                "Back-off pulling image \"x:1\": ErrImagePull: not found",
                json!({}),
            ),
            Some(
                r#"container server: ImagePullBackOff, image "x:1" can't be pulled: ErrImagePull: not found"#,
            ),
        ),
        (
            waiting("ImagePullBackOff", "Back-off pulling image \"x:1\"", json!({})),
            Some(r#"container server: ImagePullBackOff, image "x:1" can't be pulled"#),
        ),
        (
            waiting("CreateContainerConfigError", "secret \"a\" not found", json!({})),
            Some(
                r#"container server: CreateContainerConfigError, it can't be started: secret "a" not found"#,
            ),
        ),
        (waiting("ContainerCreating", "", json!({})), None),
        (
            json!({"initContainerStatuses": [{"name": "fetch", "image": "x:1", "restartCount": 1,
                "state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": ended_with(2, "", "")}]}),
            Some("init container fetch: CrashLoopBackOff after 1 restart, it ended with 2"),
        ),
        (
            json!({"phase": "Failed", "reason": "Evicted", "message": "disk pressure"}),
            Some("it failed, Evicted: disk pressure"),
        ),
        (
            json!({"phase": "Failed", "containerStatuses": [{"name": "job", "state": ended_with(3, "Error", "no")}]}),
            Some(r#"it failed, container job: it ended with 3 (Error): "no""#),
        ),
        (json!({"phase": "Failed"}), Some("it failed, it doesn't say why")),
        (json!({"phase": "Running"}), None),
        (json!(null), None),
    ];
    for (status, expected) in rows {
        let told = of(&pod("a", json!({}), status.clone())).map(|trouble| trouble.to_string());
        assert_eq!(told.as_deref(), expected, "{status}");
    }
}

#[test]
fn what_no_node_has_is_what_the_pod_asks_for() {
    const PREEMPTION: &str = " no new claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.";
    let gpu = json!({"nodeSelector": {"nvidia.com/gpu.product": "A100"}});
    let terms = |terms: Value| json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}});
    let expression = |key: &str, operator: &str, values: Value| json!({"key": key, "operator": operator, "values": values});
    let asks = json!({"containers": [{"resources": {"requests": {"nvidia.com/gpu": "8", "cpu": "500m"}}},
        {"resources": {"requests": {"cpu": 2}}}]});
    let rows = [
        (
            gpu.clone(),
            "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector.",
            "no node has label nvidia.com/gpu.product=A100",
        ),
        (
            asks.clone(),
            "0/3 nodes are available: 3 Insufficient nvidia.com/gpu.",
            "no node has enough nvidia.com/gpu (it asks for 8)",
        ),
        (
            asks.clone(),
            "0/3 nodes are available: 3 Insufficient nvidia.com/gpu, 3 Insufficient cpu.",
            "no node has enough nvidia.com/gpu (it asks for 8), no node has enough cpu (it asks for 500m + 2)",
        ),
        (
            json!({"nodeSelector": {"gpu": "A100"}, "containers": asks["containers"]}),
            "0/3 nodes are available: 1 Insufficient nvidia.com/gpu, 2 node(s) didn't match Pod's node affinity/selector.",
            "no node takes it: 1 of 3 nodes has too little nvidia.com/gpu (it asks for 8), 2 of 3 nodes have no label gpu=A100",
        ),
        (
            gpu.clone(),
            "0/3 nodes are available: 1 node(s) had untolerated taint {a: b}, 2 node(s) didn't match Pod's node affinity/selector.",
            "no node takes it: 1 node(s) had untolerated taint {a: b}, 2 of 3 nodes have no label nvidia.com/gpu.product=A100",
        ),
        (
            terms(
                json!([{"matchExpressions": [expression("zone", "In", json!(["x", "y"])), expression("arm", "DoesNotExist", json!([]))]}]),
            ),
            "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector.",
            "no node has label zone in (x, y) and !arm",
        ),
        (
            terms(
                json!([{"matchExpressions": [expression("zone", "In", json!(["x"]))]},
                {"matchExpressions": [expression("gpus", "Gt", json!(["1"])), expression("arm", "Exists", json!([]))]}]),
            ),
            "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector.",
            "no node has label zone=x or gpus>1 and arm",
        ),
        (
            // A pod of a DaemonSet.
            terms(json!([{"matchFields": [expression("metadata.name", "In", json!(["node-1"]))]}])),
            "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't match Pod's node affinity/selector.",
            "no node takes it: 1 of 3 nodes has too little cpu",
        ),
        (
            json!({}),
            "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims.",
            "no node takes it: pod has unbound immediate PersistentVolumeClaims",
        ),
        (
            json!({}),
            "no nodes available to schedule pods",
            "no node takes it: no nodes available to schedule pods",
        ),
        (
            json!({}),
            "0/many nodes are available: 3 of",
            "no node takes it: 0/many nodes are available: 3 of",
        ),
    ];
    for (spec, said, expected) in rows {
        for said in [said.to_owned(), format!("{said}{PREEMPTION}")] {
            let is_understood = said.starts_with("0/3");
            let status = json!({"phase": "Pending", "conditions": [
                {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": said}]});
            let told = of(&pod("a", spec.clone(), status)).map(|trouble| trouble.to_string());
            let told = told.unwrap_or_default();
            assert!(
                told == expected || !is_understood && told.starts_with(expected),
                "{said}\n{told}"
            );
        }
    }
}

#[test]
fn of_several_pods_one_is_told_of_and_the_others_counted() {
    let crashing = |name: &str| {
        pod(
            name,
            json!({}),
            waiting("CrashLoopBackOff", "", ended_with(1, "Error", "")),
        )
    };
    let failed = |name: &str| pod(name, json!({}), json!({"phase": "Failed", "reason": "Evicted"}));
    let mut gone = crashing("a");
    gone["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    let running = pod("r", json!({}), json!({"phase": "Running"}));
    let words = "container server: CrashLoopBackOff after 4 restarts, it ended with 1 (Error)";
    let rows = [
        (vec![], None),
        (vec![running.clone(), gone.clone()], None),
        (
            vec![running, crashing("b"), gone],
            Some(format!("pod b: {words}")),
        ),
        (
            vec![failed("a"), crashing("c"), crashing("b")],
            Some(format!("pod b: {words} (and 1 more pod)")),
        ),
        (
            vec![crashing("c"), crashing("b"), crashing("d")],
            Some(format!("pod b: {words} (and 2 more pods)")),
        ),
        (vec![failed("a")], Some("pod a: it failed, Evicted".to_owned())),
    ];
    for (pods, expected) in rows {
        assert_eq!(cause(&pods), expected);
    }
}

#[test]
fn what_programs_say_at_length_is_cut() {
    let long = waiting("ErrImagePull", &"ä ".repeat(1000), json!({}));
    let told = of(&pod("a", json!({}), long)).expect("a trouble").to_string();
    assert!(
        told.ends_with('…') && told.chars().count() < 2 * LONGEST,
        "{told}"
    );
}
