//! What upstream doesn't do, and we do.

mod support;

use apply::object::text;
use classic::{Kind, Write};
use serde_json::{Value, json};
use service_version::{Concern, Place, concerns, copies, decide, installation_failed, retry};
use support::{Cluster, at};

const NOW: &str = "2026-11-15T20:00:00Z";

fn version(name: &str, phase: &str, reason: &str) -> Value {
    json!({
        "apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
        "metadata": {
            "name": name, "namespace": "n", "uid": name, "finalizers": ["operators.coreos.com/csv-cleanup"],
            "annotations": {"olm.operatorGroup": "og", "olm.operatorNamespace": "n", "olm.targetNamespaces": "n"},
        },
        "spec": {
            "customresourcedefinitions": {"owned": [{"name": "things.g", "version": "v1", "kind": "Thing"}]},
            "installModes": [{"type": "OwnNamespace", "supported": true}],
            "install": {"strategy": "deployment", "spec": {"deployments": [{"name": "d", "spec": {
                "selector": {"matchLabels": {"app": "d"}}, "template": {"spec": {"containers": [{"name": "c"}]}},
            }}]}},
        },
        "status": {"phase": phase, "reason": reason, "message": "conflicting CRD owner in namespace"},
    })
}

fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "things.g"},
        "spec": {"group": "g", "names": {"kind": "Thing"}, "versions": [{"name": "v1", "served": true}]},
        "status": {"conditions": [
            {"type": "Established", "status": "True"}, {"type": "NamesAccepted", "status": "True"},
        ]},
    })
}

fn group() -> Value {
    json!({
        "apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup",
        "metadata": {
            "name": "og", "namespace": "n", "uid": "og", "annotations": {"olm.providedAPIs": "Thing.v1.g"},
        },
        "spec": {"targetNamespaces": ["n"]}, "status": {"namespaces": ["n"]},
    })
}

fn cluster(versions: impl IntoIterator<Item = Value>) -> Cluster {
    let mut cluster = Cluster::real();
    "v1.36.3".clone_into(&mut cluster.world.server_version);
    cluster.put(json!({"kind": "Namespace", "metadata": {"name": "n"}, "status": {"phase": "Active"}}));
    cluster.put(group());
    for version in versions {
        cluster.put(version);
    }
    cluster
}

fn woken(cluster: &Cluster, before: Option<&Value>, after: Option<&Value>, name: &str) -> bool {
    let concern = Concern::ServiceVersion(Place::new("n", name));
    concerns(&cluster.world, before, after).contains(&concern)
}

#[test]
fn a_definition_that_comes_wakes_the_version_that_waits_for_it() {
    let mut cluster = cluster([version("a", "Pending", "RequirementsNotMet")]);
    cluster.put(definition());
    assert!(woken(&cluster, None, Some(&definition()), "a"));
    let decision = decide(&cluster.world, "n", "a", &at(NOW));
    cluster.act(&decision);
    let after = cluster
        .world
        .get(Kind::ClusterServiceVersion, "n", "a")
        .expect("a version");
    assert_eq!(text(after, "/status/phase"), "InstallReady");
}

#[test]
fn an_account_that_comes_without_labels_wakes_the_version_that_waits_for_it() {
    let cluster = cluster([version("a", "Pending", "RequirementsNotMet")]);
    let account = json!({"kind": "ServiceAccount", "metadata": {"name": "sa", "namespace": "n"}});
    assert!(woken(&cluster, None, Some(&account), "a"));
    let binding = json!({
        "kind": "ClusterRoleBinding", "metadata": {"name": "b"}, "roleRef": {"kind": "ClusterRole", "name": "r"},
        "subjects": [{"kind": "ServiceAccount", "name": "sa", "namespace": "n"}],
    });
    assert!(woken(&cluster, None, Some(&binding), "a"));
}

#[test]
fn a_change_of_nothing_but_the_version_wakes_nobody() {
    let cluster = cluster([version("a", "Pending", "RequirementsNotMet")]);
    let mut later = definition();
    later["metadata"]["resourceVersion"] = json!("2");
    assert!(concerns(&cluster.world, Some(&definition()), Some(&later)).is_empty());
}

#[test]
fn a_conflict_of_owners_rests_until_the_other_is_gone() {
    let mut cluster = cluster([
        version("a", "Succeeded", ""),
        version("b", "Failed", "OwnerConflict"),
    ]);
    cluster.put(definition());
    let decision = decide(&cluster.world, "n", "b", &at(NOW));
    assert!(
        decision.writes.is_empty() && decision.attempt.is_none(),
        "{decision:?}"
    );
    let first = cluster
        .world
        .get(Kind::ClusterServiceVersion, "n", "a")
        .cloned()
        .expect("a version");
    cluster
        .world
        .remove(&classic::Key::new(Kind::ClusterServiceVersion, "n", "a"));
    assert!(woken(&cluster, Some(&first), None, "b"));
    let decision = decide(&cluster.world, "n", "b", &at(NOW));
    cluster.act(&decision);
    let after = cluster
        .world
        .get(Kind::ClusterServiceVersion, "n", "b")
        .expect("a version");
    assert_eq!(text(after, "/status/phase"), "Pending");
}

/// Looks at a version until nothing is left to do.
fn settle(cluster: &mut Cluster, name: &str) {
    for _ in 0..20 {
        let decision = decide(&cluster.world, "n", name, &at(NOW));
        if decision.writes.is_empty() && decision.attempt.is_none() {
            return;
        }
        cluster.act(&decision);
        let deployments: Vec<Value> = cluster
            .world
            .all(Kind::Deployment)
            .map(|object| (**object).clone())
            .collect();
        for mut deployment in deployments {
            if deployment.get("status").is_none() {
                deployment["status"] = json!({"conditions": [{"type": "Available", "status": "True"}]});
                cluster.put(deployment);
            }
        }
    }
    panic!("it doesn't settle");
}

fn with_webhook(mut version: Value) -> Value {
    version["spec"]["webhookdefinitions"] = json!([{
        "generateName": "check.things", "type": "ValidatingAdmissionWebhook", "deploymentName": "d",
        "containerPort": 443, "sideEffects": "None", "admissionReviewVersions": ["v1"],
        "rules": [{"apiGroups": ["g"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["things"]}],
    }]);
    version
}

#[test]
fn what_a_webhook_needs_is_made_once_and_goes_with_its_version() {
    let mut cluster = cluster([with_webhook(version("a", "", ""))]);
    cluster.put(definition());
    settle(&mut cluster, "a");
    let after = cluster
        .world
        .get(Kind::ClusterServiceVersion, "n", "a")
        .cloned()
        .expect("a version");
    assert_eq!(text(&after, "/status/phase"), "Succeeded", "{}", after["status"]);
    assert!(!text(&after, "/status/certsRotateAt").is_empty());
    for (kind, namespace, name) in [
        (Kind::Service, "n", "d-service"),
        (Kind::Secret, "n", "d-service-cert"),
        (Kind::Role, "n", "d-service-cert"),
        (Kind::RoleBinding, "n", "d-service-cert"),
        (Kind::ClusterRoleBinding, "", "d-service-system:auth-delegator"),
        (Kind::RoleBinding, "kube-system", "d-service-auth-reader"),
        (Kind::ValidatingWebhookConfiguration, "", "check.things-xxxxx"),
    ] {
        assert!(
            cluster.world.get(kind, namespace, name).is_some(),
            "{kind:?} {name}"
        );
    }
    // Two years later the certificates are made again.
    let later = decide(&cluster.world, "n", "a", &at("2028-11-14T12:00:00Z"));
    let Some(Write::UpdateStatus(object)) = later.writes.last() else {
        panic!("{later:?}");
    };
    assert_eq!(text(object, "/status/reason"), "NeedsCertRotation");

    let mut leaving = (*after).clone();
    leaving["metadata"]["deletionTimestamp"] = json!(NOW);
    cluster.put(leaving);
    settle_removal(&mut cluster, "a");
    assert!(
        cluster
            .world
            .get(Kind::RoleBinding, "kube-system", "d-service-auth-reader")
            .is_none()
    );
    assert_eq!(cluster.world.all(Kind::ValidatingWebhookConfiguration).count(), 0);
    let after = cluster
        .world
        .get(Kind::ClusterServiceVersion, "n", "a")
        .expect("a version");
    assert_eq!(after["metadata"]["finalizers"], json!([]));
}

fn settle_removal(cluster: &mut Cluster, name: &str) {
    for _ in 0..3 {
        let decision = decide(&cluster.world, "n", name, &at(NOW));
        cluster.act(&decision);
    }
}

#[test]
fn a_refused_installation_waits_for_a_change_of_permissions() {
    let mut cluster = cluster([version("a", "InstallReady", "AllRequirementsMet")]);
    cluster.put(definition());
    let decision = decide(&cluster.world, "n", "a", &at(NOW));
    assert!(decision.attempt.is_some());
    let refused = installation_failed(
        &cluster.world,
        "n",
        "a",
        "deployments.apps is forbidden",
        true,
        &at(NOW),
    );
    cluster.act(&refused);
    let after = cluster
        .world
        .get(Kind::ClusterServiceVersion, "n", "a")
        .cloned()
        .expect("a version");
    assert_eq!(text(&after, "/status/reason"), "InstallComponentFailedNoRetry");
    assert!(decide(&cluster.world, "n", "a", &at(NOW)).writes.is_empty());
    let role = json!({"kind": "Role", "metadata": {"name": "r", "namespace": "n"}, "rules": []});
    let woken = concerns(&cluster.world, None, Some(&role));
    assert!(woken.contains(&Concern::Retry(Place::new("n", "a"))));
    cluster.act(&retry(&cluster.world, "n", "a", &at(NOW)));
    let after = cluster
        .world
        .get(Kind::ClusterServiceVersion, "n", "a")
        .expect("a version");
    assert_eq!(text(after, "/status/reason"), "DetectedClusterChange");
}

#[test]
fn copies_cost_nothing_while_nothing_changes() {
    let mut everywhere = version("a", "Succeeded", "InstallSucceeded");
    everywhere["metadata"]["annotations"]["olm.targetNamespaces"] = json!("");
    let mut cluster = cluster([everywhere]);
    let mut group = group();
    group["spec"] = json!({});
    group["status"]["namespaces"] = json!([""]);
    cluster.put(group);
    for number in 0..5 {
        let name = format!("target-{number}");
        cluster.put(json!({"kind": "Namespace", "metadata": {"name": name}, "status": {"phase": "Active"}}));
    }
    let made = copies::decide(&cluster.world, "n", "a", &at(NOW));
    assert_eq!(made.writes.len(), 5);
    cluster.act(&made);
    let all: Vec<Value> = cluster
        .world
        .all(Kind::ClusterServiceVersion)
        .map(|object| (**object).clone())
        .collect();
    for copy in all
        .iter()
        .filter(|object| text(object, "/metadata/namespace") != "n")
    {
        cluster.world.put(copies::reduced(copy));
    }
    assert!(
        copies::decide(&cluster.world, "n", "a", &at(NOW))
            .writes
            .is_empty()
    );
    let mut changed = all
        .into_iter()
        .find(|object| text(object, "/metadata/namespace") == "n")
        .expect("a version");
    changed["status"]["message"] = json!("another");
    changed["status"]["phase"] = json!("Failed");
    cluster.put(changed);
    let writes = copies::decide(&cluster.world, "n", "a", &at(NOW)).writes;
    assert_eq!(writes.len(), 5);
    assert!(writes.iter().all(|write| matches!(write, Write::UpdateStatus(_))));
}
