use serde_json::json;

use super::*;

fn node() -> Value {
    json!({
        "metadata": {"name": "baton", "labels": {"kubernetes.io/hostname": "baton", "zone": "a", "size": "5"}},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "2"}},
    })
}

#[expect(clippy::needless_pass_by_value, reason = "`json!` makes values")]
fn pod(name: &str, spec: Value) -> Value {
    json!({"metadata": {"name": name, "namespace": "n", "uid": name, "labels": {"app": name}}, "spec": spec})
}

fn asks(cpu: &str) -> Value {
    json!({"containers": [{"resources": {"requests": {"cpu": cpu}}}]})
}

#[test]
fn a_pod_that_fits_has_no_reason_not_to() {
    assert_eq!(misfit(&pod("a", asks("1")), &node(), &Ledger::default()), None);
}

#[test]
fn what_keeps_a_pod_away_is_said_in_upstreams_words() {
    let term = |key: &str, operator: &str, values: Value| {
        json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": key, "operator": operator, "values": values}]}]}}}})
    };
    let affinity = "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector. no new claims to \
                    deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.";
    let insufficient = "0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient nvidia.com/gpu. no new claims to \
                        deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.";
    let spread = "0/1 nodes are available: 1 node(s) didn't match pod topology spread constraints (missing required \
                  label). no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not \
                  helpful for scheduling.";
    for (spec, expected) in [
        (json!({"nodeSelector": {"zone": "b"}}), Some(affinity)),
        (json!({"nodeSelector": {"zone": "a"}}), None),
        (term("zone", "In", json!(["a", "b"])), None),
        (term("zone", "NotIn", json!(["a"])), Some(affinity)),
        (term("size", "Gt", json!(["4"])), None),
        (term("size", "Lt", json!(["4"])), Some(affinity)),
        (term("gone", "DoesNotExist", json!([])), None),
        (
            json!({"containers": [{"resources": {"requests": {"cpu": "5", "nvidia.com/gpu": "1"}}}]}),
            Some(insufficient),
        ),
        (
            json!({"topologySpreadConstraints": [{"topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule"}]}),
            Some(spread),
        ),
        (
            json!({"topologySpreadConstraints": [{"topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]}),
            None,
        ),
    ] {
        let found =
            misfit(&pod("a", spec.clone()), &node(), &Ledger::default()).map(|misfit| misfit.message());
        assert_eq!(found.as_deref(), expected, "{spec}");
    }
}

#[test]
fn taints_and_cordons_keep_away_those_who_dont_tolerate_them() {
    let mut cordoned = node();
    cordoned["spec"] = json!({"unschedulable": true, "taints": [
        {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]});
    let mut tainted = node();
    tainted["spec"] = json!({"taints": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"},
        {"key": "soft", "effect": "PreferNoSchedule"}]});
    let tolerating = |toleration: Value| json!({"tolerations": [toleration]});
    for (node, spec, reason) in [
        (&cordoned, json!({}), Some("node(s) were unschedulable")),
        (&cordoned, tolerating(json!({"operator": "Exists"})), None),
        (&tainted, json!({}), Some("node(s) had untolerated taint(s)")),
        (&tainted, tolerating(json!({"key": "gpu", "value": "yes"})), None),
        (
            &tainted,
            tolerating(json!({"key": "gpu", "value": "no"})),
            Some("node(s) had untolerated taint(s)"),
        ),
        (
            &tainted,
            tolerating(json!({"key": "gpu", "operator": "Exists", "effect": "NoExecute"})),
            Some("node(s) had untolerated taint(s)"),
        ),
    ] {
        let found = misfit(&pod("a", spec.clone()), node, &Ledger::default());
        assert_eq!(
            found.map(|misfit| misfit.reasons),
            reason.map(|reason| vec![reason.to_owned()]),
            "{spec}"
        );
    }
}

#[test]
fn what_others_take_is_not_there_and_is_there_again_when_they_go() {
    let mut ledger = Ledger::default();
    assert!(ledger.enter(&pod("a", asks("3"))));
    assert!(!ledger.enter(&pod("a", asks("3"))), "it is entered already");
    let second = pod("b", asks("2"));
    let found = misfit(&second, &node(), &ledger).expect("too little is left");
    assert_eq!(
        found.message(),
        "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: \
         1 No preemption victims found for incoming pod."
    );
    ledger.enter(&pod("c", json!({})));
    let found = misfit(&second, &node(), &ledger).expect("two pods are all");
    assert_eq!(found.reasons, ["Too many pods", "Insufficient cpu"]);
    ledger.strike("a");
    assert_eq!(misfit(&second, &node(), &ledger), None);
}

#[test]
fn ports_and_neighbours_are_looked_at() {
    let mut ledger = Ledger::default();
    let port = json!({"containers": [{"ports": [{"hostPort": 80, "protocol": "TCP"}]}]});
    ledger.enter(&pod("a", port.clone()));
    let reason =
        |spec: Value| misfit(&pod("b", spec), &node(), &ledger).map(|misfit| misfit.reasons.join(","));
    assert_eq!(
        reason(port).as_deref(),
        Some("node(s) didn't have free ports for the requested pod ports")
    );
    assert_eq!(
        reason(json!({"containers": [{"ports": [{"hostPort": 80, "protocol": "UDP"}]}]})),
        None
    );
    let beside = |kind: &str, app: &str| {
        json!({"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": app}}}]}}})
    };
    assert_eq!(reason(beside("podAffinity", "a")), None);
    assert_eq!(reason(beside("podAffinity", "b")), None, "the first of its kind");
    assert_eq!(
        reason(beside("podAffinity", "c")).as_deref(),
        Some("node(s) didn't match pod affinity rules")
    );
    assert_eq!(
        reason(beside("podAntiAffinity", "a")).as_deref(),
        Some("node(s) didn't match pod anti-affinity rules")
    );
    assert_eq!(reason(beside("podAntiAffinity", "b")), None);
    let mut ledger = Ledger::default();
    ledger.enter(&pod("a", beside("podAntiAffinity", "b")));
    let refused = misfit(&pod("b", json!({})), &node(), &ledger).expect("refused");
    assert_eq!(
        refused.reasons,
        ["node(s) didn't satisfy existing pods anti-affinity rules"]
    );
}
