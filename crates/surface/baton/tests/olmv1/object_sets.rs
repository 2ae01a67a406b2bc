//! Scenarios 32–40: a ClusterObjectSet that a user writes.

use std::time::Duration;

use serde_json::{Value, json};

use crate::conditions::Says;
use crate::reference::Reference;
use crate::scenario::Scenario;
use crate::workloads;

type Outcome = Result<(), String>;

/// A minute of deadline, and what else may take time.
const DEADLINE_PATIENCE: Duration = Duration::from_secs(150);

/// The ClusterObjectSet of a scenario.
fn set(scenario: &Scenario) -> Reference {
    Reference::olm("ClusterObjectSet", &format!("set-{}", scenario.id))
}

/// Describes the ClusterObjectSet: its phases, each with its entries, and more fields.
fn described(scenario: &Scenario, phases: &[(&str, Vec<Value>)], more: &Value) -> Value {
    let phases: Vec<Value> = phases
        .iter()
        .map(|(name, objects)| json!({"name": name, "objects": objects}))
        .collect();
    let mut set = json!({
        "apiVersion": "olm.operatorframework.io/v1",
        "kind": "ClusterObjectSet",
        "metadata": {"name": set(scenario).name},
        "spec": {"lifecycleState": "Active", "collisionProtection": "Prevent", "revision": 1, "phases": phases},
    });
    for (field, value) in more.as_object().into_iter().flatten() {
        set["spec"][field] = value.clone();
    }
    set
}

fn object(object: Value) -> Value {
    json!({"object": object})
}

fn config_map(scenario: &Scenario, name: &str, labels: &Value, data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": scenario.namespace(), "labels": labels}, "data": data})
}

fn here(scenario: &Scenario, api_version: &str, kind: &str, name: &str) -> Reference {
    Reference::namespaced(api_version, kind, &scenario.namespace(), name)
}

async fn has_succeeded(scenario: &Scenario) -> Outcome {
    let set = set(scenario);
    scenario
        .reports(&set, "Progressing", "True", "Succeeded", Says::Anything)
        .await?;
    scenario
        .reports(&set, "Available", "True", "ProbesSucceeded", Says::Anything)
        .await
        .map(drop)
}

/// A claim that only the scenario's own volume fits.
fn claim(scenario: &Scenario) -> Value {
    json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": "test-pvc", "namespace": scenario.namespace()},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "", "volumeName": format!("test-pv-{}", scenario.id),
            "resources": {"requests": {"storage": "1Mi"}}}})
}

fn claims_are_bound() -> Value {
    json!([{"selector": {"type": "GroupKind", "groupKind": {"group": "", "kind": "PersistentVolumeClaim"}},
        "assertions": [{"type": "FieldValue", "fieldValue": {"fieldPath": "status.phase", "value": "Bound"}}]}])
}

/// 32
pub(crate) async fn a_claim_that_is_not_bound_halts(scenario: Scenario) -> Outcome {
    scenario.with_namespace().await?;
    let later = config_map(
        &scenario,
        "test-configmap",
        &json!({}),
        &json!({"version": "v1.2.0"}),
    );
    let phases = [
        ("pvc", vec![object(claim(&scenario))]),
        ("configmap", vec![object(later)]),
    ];
    let more = json!({"progressionProbes": claims_are_bound()});
    scenario
        .kubernetes()
        .apply(&described(&scenario, &phases, &more))
        .await?;
    let text = format!(
        "Object PersistentVolumeClaim.v1 {}/test-pvc: value at key \"status.phase\" != \"Bound\"; expected: \"Bound\" got: \
         \"Pending\"",
        scenario.namespace()
    );
    scenario
        .reports(
            &set(&scenario),
            "Available",
            "False",
            "ProbeFailure",
            Says::Exactly(&text),
        )
        .await?;
    let claim = here(&scenario, "v1", "PersistentVolumeClaim", "test-pvc");
    scenario.kubernetes().read(&claim).await?;
    is_absent(&scenario, "test-configmap").await
}

async fn is_absent(scenario: &Scenario, config_map: &str) -> Outcome {
    let reference = here(scenario, "v1", "ConfigMap", config_map);
    match scenario.kubernetes().get(&reference).await? {
        None => Ok(()),
        Some(_) => Err(format!("{reference} is there too early")),
    }
}

/// 33
pub(crate) async fn a_claim_that_is_bound_lets_on(scenario: Scenario) -> Outcome {
    scenario.with_namespace().await?;
    let name = format!("test-pv-{}", scenario.id);
    let volume = json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
    "spec": {
        "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Mi"},
        "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "name": "test-pvc",
            "namespace": scenario.namespace()},
        "persistentVolumeReclaimPolicy": "Delete", "storageClassName": "", "volumeMode": "Filesystem",
        "local": {"path": "/var/persistent-volume"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "kubernetes.io/hostname",
            "operator": "NotIn", "values": ["a-node-name-that-should-not-exist"]}]}]}},
    }});
    let later = config_map(
        &scenario,
        "test-configmap",
        &json!({}),
        &json!({"version": "v1.2.0"}),
    );
    let phases = [
        ("pvc", vec![object(claim(&scenario)), object(volume)]),
        ("configmap", vec![object(later)]),
    ];
    let more = json!({"progressionProbes": claims_are_bound()});
    scenario
        .kubernetes()
        .apply(&described(&scenario, &phases, &more))
        .await?;
    has_succeeded(&scenario).await?;
    for reference in [
        Reference::cluster("v1", "PersistentVolume", &name),
        here(&scenario, "v1", "PersistentVolumeClaim", "test-pvc"),
        here(&scenario, "v1", "ConfigMap", "test-configmap"),
    ] {
        scenario.kubernetes().read(&reference).await?;
    }
    Ok(())
}

/// 34
pub(crate) async fn a_probe_that_fails_halts(scenario: Scenario) -> Outcome {
    scenario.with_namespace().await?;
    let first = config_map(
        &scenario,
        "test-configmap-1",
        &json!({"test-label": "foo"}),
        &json!({"foo": "foo"}),
    );
    let second = config_map(
        &scenario,
        "test-configmap-2",
        &json!({"test-label": "bar"}),
        &json!({"version": "v1.2.0"}),
    );
    let phases = [("cm-1", vec![object(first)]), ("cm-2", vec![object(second)])];
    let more = json!({"progressionProbes": [{
        "selector": {"type": "Label", "label": {"matchLabels": {"test-label": "foo"}}},
        "assertions": [{"type": "FieldValue", "fieldValue": {"fieldPath": "data.foo", "value": "bar"}}],
    }]});
    scenario
        .kubernetes()
        .apply(&described(&scenario, &phases, &more))
        .await?;
    let text = format!(
        "Object ConfigMap.v1 {}/test-configmap-1: value at key \"data.foo\" != \"bar\"; expected: \"bar\" got: \"foo\"",
        scenario.namespace()
    );
    scenario
        .reports(
            &set(&scenario),
            "Available",
            "False",
            "ProbeFailure",
            Says::Exactly(&text),
        )
        .await?;
    let first = here(&scenario, "v1", "ConfigMap", "test-configmap-1");
    scenario.kubernetes().read(&first).await?;
    is_absent(&scenario, "test-configmap-2").await
}

/// 35
pub(crate) async fn probes_that_pass_let_on(scenario: Scenario) -> Outcome {
    scenario.with_namespace().await?;
    let namespace = scenario.namespace();
    let first = config_map(
        &scenario,
        "test-configmap-1",
        &json!({"test-label": "foo"}),
        &json!({"foo": "bar"}),
    );
    let last = config_map(
        &scenario,
        "test-configmap-3",
        &json!({"test-label": "bar"}),
        &json!({"foo": "bar"}),
    );
    let equal = "exercise-fieldsEqual-probe";
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "test-serviceaccount",
        "namespace": namespace, "labels": {"foo": equal, "bar": equal}}});
    let label = "exercise-label-selector-matchexpressions";
    let pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "test-pod", "namespace": namespace, "labels": {"expkey": label}},
        "spec": {"containers": [{"name": "busybox", "image": "busybox:1.36", "command": ["sleep"], "args": ["1000"]}]}});
    let phases = [
        ("phase1", vec![object(first)]),
        ("phase2", vec![object(account)]),
        ("phase3", vec![object(pod)]),
        ("phase4", vec![object(last)]),
    ];
    let more = json!({"progressionProbes": [
        {"selector": {"type": "GroupKind", "groupKind": {"group": "", "kind": "ConfigMap"}},
            "assertions": [{"type": "FieldValue", "fieldValue": {"fieldPath": "data.foo", "value": "bar"}}]},
        {"selector": {"type": "GroupKind", "groupKind": {"group": "", "kind": "ServiceAccount"}},
            "assertions": [{"type": "FieldsEqual", "fieldsEqual": {
                "fieldA": "metadata.labels.foo", "fieldB": "metadata.labels.bar"}}]},
        {"selector": {"type": "Label", "label": {"matchExpressions": [
                {"key": "expkey", "operator": "In", "values": [label]}]}},
            "assertions": [{"type": "ConditionEqual", "conditionEqual": {"type": "Ready", "status": "True"}}]},
    ]});
    scenario
        .kubernetes()
        .apply(&described(&scenario, &phases, &more))
        .await?;
    has_succeeded(&scenario).await?;
    for (kind, name) in [
        ("ConfigMap", "test-configmap-1"),
        ("ServiceAccount", "test-serviceaccount"),
        ("Pod", "test-pod"),
        ("ConfigMap", "test-configmap-3"),
    ] {
        scenario
            .kubernetes()
            .read(&here(&scenario, "v1", kind, name))
            .await?;
    }
    Ok(())
}

fn secret(scenario: &Scenario, name: &str, immutable: bool, objects: &[(&str, Value)]) -> Value {
    let mut secret = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": scenario.namespace()},
        "type": "olm.operatorframework.io/object-data",
        "stringData": {},
    });
    for (key, object) in objects {
        secret["stringData"][key] = object.to_string().into();
    }
    if immutable {
        secret["immutable"] = true.into();
    }
    secret
}

fn reference(scenario: &Scenario, secret: &str, key: &str) -> Value {
    json!({"ref": {"name": secret, "namespace": scenario.namespace(), "key": key}})
}

async fn has_digest(scenario: &Scenario) -> Outcome {
    let set = scenario.kubernetes().read(&set(scenario)).await?;
    let phases = set["status"]["observedPhases"].as_array();
    let is_there = phases.into_iter().flatten().any(|phase| {
        phase["name"] == "resources" && phase["digest"].as_str().is_some_and(|digest| !digest.is_empty())
    });
    if is_there {
        Ok(())
    } else {
        Err(format!(
            "the observed phases are {}",
            set["status"]["observedPhases"]
        ))
    }
}

/// 36
pub(crate) async fn objects_come_from_secrets(scenario: Scenario) -> Outcome {
    scenario.with_namespace().await?;
    let name = format!("{}-ref-secret", set(&scenario).name);
    let map = config_map(
        &scenario,
        "test-configmap-ref",
        &json!({}),
        &json!({"key": "value"}),
    );
    let deployment = workloads::deployment(&scenario.namespace(), "test-httpd", &json!({}));
    let objects = [("configmap", map), ("deployment", deployment)];
    scenario
        .kubernetes()
        .apply(&secret(&scenario, &name, true, &objects))
        .await?;
    let entries = vec![
        reference(&scenario, &name, "configmap"),
        reference(&scenario, &name, "deployment"),
    ];
    let described = described(&scenario, &[("resources", entries)], &json!({}));
    scenario.kubernetes().apply(&described).await?;
    has_succeeded(&scenario).await?;
    scenario
        .kubernetes()
        .read(&here(&scenario, "v1", "ConfigMap", "test-configmap-ref"))
        .await?;
    scenario
        .kubernetes()
        .read(&here(&scenario, "apps/v1", "Deployment", "test-httpd"))
        .await?;
    has_digest(&scenario).await
}

/// 37
pub(crate) async fn a_secret_that_may_change_blocks(scenario: Scenario) -> Outcome {
    scenario.with_namespace().await?;
    let name = format!("{}-mutable-secret", set(&scenario).name);
    let map = config_map(&scenario, "test-cm-mutable", &json!({}), &json!({"key": "value"}));
    scenario
        .kubernetes()
        .apply(&secret(&scenario, &name, false, &[("configmap", map)]))
        .await?;
    let entries = vec![reference(&scenario, &name, "configmap")];
    let described = described(&scenario, &[("resources", entries)], &json!({}));
    scenario.kubernetes().apply(&described).await?;
    let text = format!(
        "the following secrets are not immutable (referenced secrets must have immutable set to true): {}/{name}",
        scenario.namespace()
    );
    scenario
        .reports(
            &set(&scenario),
            "Progressing",
            "False",
            "Blocked",
            Says::Exactly(&text),
        )
        .await?;
    is_absent(&scenario, "test-cm-mutable").await
}

/// 38
pub(crate) async fn content_that_changed_blocks(scenario: Scenario) -> Outcome {
    scenario.with_namespace().await?;
    let name = format!("{}-change-secret", set(&scenario).name);
    let of = |value: &str| {
        let map = config_map(&scenario, "test-cm-change", &json!({}), &json!({"key": value}));
        secret(&scenario, &name, true, &[("configmap", map)])
    };
    scenario.kubernetes().apply(&of("original-value")).await?;
    let entries = vec![reference(&scenario, &name, "configmap")];
    let described = described(&scenario, &[("resources", entries)], &json!({}));
    scenario.kubernetes().apply(&described).await?;
    has_succeeded(&scenario).await?;
    has_digest(&scenario).await?;
    let replace = async |value: &str, attempt: &str| {
        let reference = here(&scenario, "v1", "Secret", &name);
        scenario.kubernetes().delete(&reference).await?;
        scenario.kubernetes().until_gone(&reference).await?;
        scenario.kubernetes().apply(&of(value)).await?;
        let trigger = json!({"metadata": {"annotations": {"example.com/attempt": attempt}}});
        scenario.kubernetes().merge(&set(&scenario), &trigger).await
    };
    replace("TAMPERED-value", "1").await?;
    let text = "resolved content of 1 phase(s) has changed: phase \"resources\"";
    scenario
        .reports(
            &set(&scenario),
            "Progressing",
            "False",
            "Blocked",
            Says::Something(text),
        )
        .await?;
    let map = here(&scenario, "v1", "ConfigMap", "test-cm-change");
    let map = scenario.kubernetes().read(&map).await?;
    if map["data"]["key"] != "original-value" {
        return Err(format!("the ConfigMap has {}", map["data"]));
    }
    replace("original-value", "2").await?;
    scenario
        .reports(
            &set(&scenario),
            "Progressing",
            "True",
            "Succeeded",
            Says::Anything,
        )
        .await
        .map(drop)
}

/// A ClusterObjectSet with a deadline of a minute and a Deployment whose Pods aren't ready.
async fn exceeds_its_deadline(scenario: &Scenario) -> Outcome {
    scenario.with_namespace().await?;
    let map = config_map(scenario, "test-configmap", &json!({}), &json!({"foo": "bar"}));
    let unready = json!({"stage.baton.dev/simulate": "unready"});
    let deployment = workloads::deployment(&scenario.namespace(), "test-deployment", &unready);
    let more = json!({
        "progressDeadlineMinutes": 1,
        "progressionProbes": [{
            "selector": {"type": "GroupKind", "groupKind": {"group": "apps", "kind": "Deployment"}},
            "assertions": [{"type": "ConditionEqual", "conditionEqual": {"type": "Available", "status": "True"}}],
        }],
    });
    let described = described(
        scenario,
        &[("resources", vec![object(map), object(deployment)])],
        &more,
    );
    scenario.kubernetes().apply(&described).await?;
    for (api_version, kind, name) in [
        ("v1", "ConfigMap", "test-configmap"),
        ("apps/v1", "Deployment", "test-deployment"),
    ] {
        scenario
            .kubernetes()
            .until_there(&here(scenario, api_version, kind, name))
            .await?;
    }
    scenario
        .reports_within(
            &set(scenario),
            DEADLINE_PATIENCE,
            ("Progressing", "False", "ProgressDeadlineExceeded"),
            Says::Anything,
        )
        .await
        .map(drop)
}

/// 39
pub(crate) async fn archiving_after_the_deadline_cleans_up(scenario: Scenario) -> Outcome {
    exceeds_its_deadline(&scenario).await?;
    let archived = json!({"spec": {"lifecycleState": "Archived"}});
    scenario.kubernetes().merge(&set(&scenario), &archived).await?;
    scenario
        .reports(
            &set(&scenario),
            "Progressing",
            "False",
            "Archived",
            Says::Anything,
        )
        .await?;
    let map = here(&scenario, "v1", "ConfigMap", "test-configmap");
    scenario.kubernetes().until_gone(&map).await?;
    let deployment = here(&scenario, "apps/v1", "Deployment", "test-deployment");
    scenario.kubernetes().until_gone(&deployment).await
}

/// 40
pub(crate) async fn what_is_late_succeeds_all_the_same(scenario: Scenario) -> Outcome {
    exceeds_its_deadline(&scenario).await?;
    workloads::set_readiness(&scenario, "app=test-deployment", true).await?;
    scenario
        .reports(
            &set(&scenario),
            "Progressing",
            "True",
            "Succeeded",
            Says::Anything,
        )
        .await
        .map(drop)
}
