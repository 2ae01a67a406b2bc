//! What upstream doesn't do, and we do.

use apply::object::text;
use classic::{Kind, Write};
use serde_json::{Value, json};
use service_version::{Concern, Place, concerns, copies, decide, installation_failed, retry};

use crate::support::{Cluster, at};

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
    let mut waiting = version("a", "Pending", "RequirementsNotMet");
    waiting["spec"]["install"]["spec"]["permissions"] = json!([{"serviceAccountName": "sa", "rules": []}]);
    let cluster = cluster([waiting, version("b", "Pending", "RequirementsNotMet")]);
    let account = json!({"kind": "ServiceAccount", "metadata": {"name": "sa", "namespace": "n"}});
    assert!(woken(&cluster, None, Some(&account), "a"));
    let binding = json!({
        "kind": "ClusterRoleBinding", "metadata": {"name": "b"}, "roleRef": {"kind": "ClusterRole", "name": "r"},
        "subjects": [{"kind": "ServiceAccount", "name": "sa", "namespace": "n"}],
    });
    assert!(woken(&cluster, None, Some(&binding), "a"));
    assert!(
        !woken(&cluster, None, Some(&account), "b") && !woken(&cluster, None, Some(&binding), "b"),
        "one that works with another account needn't look"
    );
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
    settle_at(cluster, name, NOW);
}

/// The same at some moment.
fn settle_at(cluster: &mut Cluster, name: &str, now: &str) {
    for _ in 0..20 {
        let decision = decide(&cluster.world, "n", name, &at(now));
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
        (
            Kind::ValidatingWebhookConfiguration,
            "",
            &classic::names::made_up("check.things-", "ValidatingWebhookConfiguration/n/a"),
        ),
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

#[test]
fn certificates_are_renewed_in_time_though_whoever_made_them_did_not_come_to_say_when() {
    let mut cluster = cluster([with_webhook(version("a", "", ""))]);
    cluster.put(definition());
    loop {
        let decision = decide(&cluster.world, "n", "a", &at(NOW));
        if let Some(attempt) = &decision.attempt {
            // Somebody else writes the version before its status comes.
            attempt.writes.iter().for_each(|write| cluster.write(write));
            break;
        }
        assert!(!decision.writes.is_empty(), "it isn't installed");
        cluster.act(&decision);
    }
    let status = |cluster: &Cluster| {
        let version = cluster.world.get(Kind::ClusterServiceVersion, "n", "a");
        version.expect("a version")["status"].clone()
    };
    assert_eq!(status(&cluster)["certsRotateAt"], Value::Null);
    settle_at(&mut cluster, "a", "2026-11-15T20:00:05Z");
    let told = status(&cluster);
    assert_eq!(told["phase"], "Succeeded");
    assert_eq!(told["certsRotateAt"], "2028-11-13T20:00:00Z");
    assert_eq!(told["certsLastUpdated"], "2026-11-15T20:00:05Z");

    let found = cluster.world.get(Kind::ClusterServiceVersion, "n", "a");
    let mut silent = (**found.expect("a version")).clone();
    silent["status"]["certsRotateAt"] = Value::Null;
    cluster.put(silent);
    let decision = decide(&cluster.world, "n", "a", &at("2028-11-13T19:59:00Z"));
    assert_eq!(decision.look_again_after, Some(std::time::Duration::from_mins(1)));
}

/// The state of a version, and the certificate of its webhook.
fn state_and_certificate(cluster: &Cluster) -> (String, Value) {
    let version = cluster.world.get(Kind::ClusterServiceVersion, "n", "a");
    let phase = text(version.expect("a version"), "/status/phase").to_owned();
    let secret = cluster.world.get(Kind::Secret, "n", "d-service-cert");
    (phase, secret.expect("a Secret")["data"]["tls.crt"].clone())
}

#[test]
fn a_clock_that_jumps_breaks_no_webhook() {
    let mut cluster = cluster([with_webhook(version("a", "", ""))]);
    cluster.put(definition());
    settle(&mut cluster, "a");
    let first = state_and_certificate(&cluster);
    assert_eq!(first.0, "Succeeded");
    // The clock of another replica is behind.
    settle_at(&mut cluster, "a", "2026-11-15T19:30:00Z");
    assert_eq!(state_and_certificate(&cluster), first, "nothing is made anew");
    // A clock that is years ahead, and one that is put right again: each finds a certificate that isn't good, once.
    for now in ["2030-01-01T00:00:00Z", NOW] {
        let before = state_and_certificate(&cluster);
        settle_at(&mut cluster, "a", now);
        let after = state_and_certificate(&cluster);
        assert_eq!(after.0, "Succeeded", "{now}");
        assert_ne!(after.1, before.1, "{now}");
    }
}

#[test]
fn a_clock_that_jumps_while_an_operator_is_installed_delays_it_at_most() {
    let mut cluster = cluster([version("a", "", "")]);
    cluster.put(definition());
    let phase = |cluster: &Cluster| {
        let version = cluster.world.get(Kind::ClusterServiceVersion, "n", "a");
        text(version.expect("a version"), "/status/phase").to_owned()
    };
    while phase(&cluster) != "Installing" {
        let decision = decide(&cluster.world, "n", "a", &at(NOW));
        assert!(!decision.writes.is_empty(), "it stays {}", phase(&cluster));
        cluster.act(&decision);
    }
    let yesterday = decide(&cluster.world, "n", "a", &at("2026-11-14T20:00:00Z"));
    cluster.act(&yesterday);
    assert_eq!(
        phase(&cluster),
        "Installing",
        "time that is to come again is no time out"
    );
    let tomorrow = "2026-11-16T20:00:00Z";
    let decision = decide(&cluster.world, "n", "a", &at(tomorrow));
    cluster.act(&decision);
    assert_eq!(phase(&cluster), "Failed", "it seems to have taken a day");
    settle_at(&mut cluster, "a", tomorrow);
    assert_eq!(phase(&cluster), "Succeeded");
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
fn a_binding_wakes_the_versions_whose_account_it_is_about_and_no_others() {
    let with_account = |name: &str| {
        let mut version = version(name, "Succeeded", "InstallSucceeded");
        version["spec"]["install"]["spec"]["permissions"] =
            json!([{"serviceAccountName": format!("{name}-account"), "rules": []}]);
        version
    };
    let binding = |kind: &str, name: &str| {
        json!({
            "kind": "RoleBinding", "metadata": {"name": "b", "namespace": "n"},
            "roleRef": {"kind": "Role", "name": "r"},
            "subjects": [{"kind": kind, "name": name, "namespace": "n"}],
        })
    };
    let mut cluster = cluster([with_account("a"), with_account("b")]);
    let woken = |cluster: &Cluster, object: &Value| -> Vec<String> {
        let concerns = concerns(&cluster.world, None, Some(object));
        let versions = concerns.into_iter().filter_map(|concern| match concern {
            Concern::ServiceVersion(place) => Some(place.name),
            _ => None,
        });
        versions.collect()
    };
    let role = json!({"kind": "Role", "metadata": {"name": "r", "namespace": "n"}, "rules": []});
    assert_eq!(woken(&cluster, &role), [""; 0], "nobody has it");
    assert_eq!(woken(&cluster, &binding("ServiceAccount", "a-account")), ["a"]);
    assert_eq!(
        woken(&cluster, &binding("Group", "system:serviceaccounts:n")),
        ["a", "b"]
    );
    cluster.put(binding("ServiceAccount", "b-account"));
    assert_eq!(woken(&cluster, &role), ["b"]);
    let account = json!({"kind": "ServiceAccount", "metadata": {"name": "a-account", "namespace": "n"}});
    assert_eq!(woken(&cluster, &account), ["a"]);
}

#[test]
fn a_plan_of_many_subscriptions_is_labelled_for_all_of_them_at_once() {
    let mut cluster = cluster([]);
    let subscription = |package: &str, plan: &str| {
        json!({
            "kind": "Subscription", "metadata": {"name": package, "namespace": "n"}, "spec": {"name": package},
            "status": {"installPlanRef": {"name": plan}},
        })
    };
    for (package, plan) in [
        ("a", "install-2"),
        ("b", "install-2"),
        ("c", "install-1"),
        ("d", ""),
    ] {
        cluster.put(subscription(package, plan));
    }
    let label = |package: &str| format!("operators.coreos.com/{package}.n");
    cluster.put(json!({
        "apiVersion": "operators.coreos.com/v1alpha1", "kind": "InstallPlan",
        "metadata": {"name": "install-2", "namespace": "n", "labels": {label("b"): "", label("c"): "", label("d"): ""}},
    }));
    let concern = Concern::InstallPlan(Place::new("n", "install-2"));
    let decision = concern.decide(&cluster.world, &at(NOW));
    let [Write::Merge { patch, .. }] = decision.writes.as_slice() else {
        panic!("one write: {decision:?}");
    };
    assert_eq!(
        *patch,
        json!({"metadata": {"labels": {label("a"): "", label("c"): null}}})
    );
    cluster.act(&decision);
    assert!(concern.decide(&cluster.world, &at(NOW)).writes.is_empty());
}

/// A version that looks after all namespaces, and so many of them beside its own.
fn cluster_of_namespaces(count: usize) -> Cluster {
    let mut everywhere = version("a", "Succeeded", "InstallSucceeded");
    everywhere["metadata"]["annotations"]["olm.targetNamespaces"] = json!("");
    let mut cluster = cluster([everywhere]);
    let mut group = group();
    group["spec"] = json!({});
    group["status"]["namespaces"] = json!([""]);
    cluster.put(group);
    for number in 0..count {
        let name = format!("target-{number}");
        cluster.put(json!({"kind": "Namespace", "metadata": {"name": name}, "status": {"phase": "Active"}}));
    }
    cluster
}

#[test]
fn many_copies_are_made_in_parts_and_all_of_them_before_any_is_changed() {
    let mut cluster = cluster_of_namespaces(150);
    let mut parts = Vec::new();
    loop {
        let decision = copies::decide(&cluster.world, "n", "a", &at(NOW));
        cluster.act(&decision);
        let changes = decision
            .writes
            .iter()
            .filter(|write| !matches!(write, Write::Create { .. }));
        parts.push((decision.writes.len(), changes.count()));
        // A status comes after its copy, as on a server.
        if parts.len() == 1 {
            let mut first = cluster
                .world
                .get(Kind::ClusterServiceVersion, "target-0", "a")
                .map(|copy| (**copy).clone())
                .expect("a copy");
            first["status"] = json!({});
            cluster.world.put(copies::reduced(&first));
        }
        if decision.look_again_after.is_none() {
            break;
        }
    }
    assert_eq!(parts, [(64, 0), (64, 0), (23, 1)]);
}

#[test]
fn copies_cost_nothing_while_nothing_changes() {
    let mut cluster = cluster_of_namespaces(5);
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
