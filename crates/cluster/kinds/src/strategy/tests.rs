use jiff::Timestamp;
use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};
use serde_json::{Value, json};

use super::{only_fields, prepare_for_create, prepare_for_update, reset_fields, rows};
use crate::tree::{Fields, Tree};

/// What a real server 1.36 answered to the creation of each object, but for its managers of fields.
const UPSTREAM: &str = include_str!("upstream.jsonl");

/// What a real server 1.36 answered to an update of each object, with what it was before.
const UPSTREAM_UPDATES: &str = include_str!("upstream_updates.jsonl");

/// Returns an object as it is when its kind's rules are asked for the last time before it is stored.
fn created(case: &Fields) -> Value {
    let (group, version, kind) = (case.text("group"), case.text("version"), case.text("kind"));
    let definition = schema::builtin::kind(group, version, kind).unwrap();
    let mut object = schema::strict::normalize(definition, &case["given"])
        .unwrap()
        .value;
    crate::defaults::apply(group, version, kind, &mut object);
    let answered = case["answer"]["metadata"].as_object().unwrap();
    let metadata = object["metadata"].as_object_mut().unwrap();
    for field in ["uid", "creationTimestamp", "namespace"] {
        metadata.take_from(Some(answered), field);
    }
    let stored = match (kind, group) {
        ("HorizontalPodAutoscaler", _) => "autoscaling/v2",
        ("Event", _) => "v1",
        _ => object["apiVersion"].as_str().unwrap(),
    }
    .to_owned();
    let asked = object["apiVersion"].as_str().unwrap().to_owned();
    let mut object = crate::conversion::convert(kind, &asked, &stored, object);
    let stored_version = stored.rsplit('/').next().unwrap();
    crate::defaults::apply(group, stored_version, kind, &mut object);
    prepare_for_create(group, kind, &mut object);
    crate::conversion::convert(kind, &stored, &asked, object)
}

/// Removes from an answer what isn't the rules' of the kind, but the store's, the allocation's or an admission plugin's.
fn without_the_rest_of_the_server(case: &Fields) -> Value {
    let mut answer = case["answer"].clone();
    let kind = case.text("kind");
    let fields = answer.as_object_mut().unwrap();
    let metadata = fields.part_mut("metadata").unwrap();
    metadata.remove("resourceVersion");
    if matches!(kind, "PersistentVolume" | "PersistentVolumeClaim") {
        metadata.remove("finalizers");
    }
    let Some(spec) = fields.part_mut("spec") else {
        return answer;
    };
    match kind {
        "Pod" => {
            for field in ["tolerations", "priority", "preemptionPolicy"] {
                spec.remove(field);
            }
            let names_account = ["serviceAccountName", "serviceAccount"]
                .iter()
                .any(|field| !case["given"]["spec"][field].is_null());
            if !names_account {
                spec.remove("serviceAccountName");
                spec.remove("serviceAccount");
            }
        }
        "Service" => {
            for field in ["ipFamilies", "ipFamilyPolicy", "clusterIPs"] {
                spec.remove(field);
            }
            if case.flag("alloc") {
                spec.remove("clusterIP");
                for port in spec.items_mut("ports") {
                    port.remove("nodePort");
                }
            }
        }
        "Node" => {
            spec.remove("taints");
        }
        _ => {}
    }
    answer
}

#[test]
fn new_objects_are_what_the_real_server_makes_of_them() {
    let mut wrong = Vec::new();
    for line in UPSTREAM.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let case = case.as_object().unwrap();
        let made = created(case);
        let wanted = without_the_rest_of_the_server(case);
        if made != wanted {
            let mut differences = Vec::new();
            differ("", &made, &wanted, &mut differences);
            wrong.push(format!(
                "{} {}:\n  {}",
                case.text("kind"),
                wanted["metadata"]["name"],
                differences.join("\n  ")
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn in_stored_version(kind: &str, object: Value) -> Value {
    let asked = object["apiVersion"].as_str().unwrap().to_owned();
    match kind {
        "HorizontalPodAutoscaler" => crate::conversion::convert(kind, &asked, "autoscaling/v2", object),
        _ => object,
    }
}

#[test]
fn updated_objects_are_what_the_real_server_makes_of_them() {
    let mut wrong = Vec::new();
    for line in UPSTREAM_UPDATES.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let case = case.as_object().unwrap();
        let (group, version, kind) = (case.text("group"), case.text("version"), case.text("kind"));
        let definition = schema::builtin::kind(group, version, kind).unwrap();
        let mut new = schema::strict::normalize(definition, &case["new"]).unwrap().value;
        crate::defaults::apply(group, version, kind, &mut new);
        let asked = new["apiVersion"].as_str().unwrap().to_owned();
        let new = in_stored_version(kind, new);
        let old = in_stored_version(kind, case["old"].clone());
        let below = case.get("below").and_then(Value::as_str);
        let now = case["answer"]["status"]["lastPhaseTransitionTime"].as_str();
        let now = now.map_or(Timestamp::UNIX_EPOCH, |time| time.parse().unwrap());
        let new = updated_at(now, group, kind, below, new, &old);
        let stored = new["apiVersion"].as_str().unwrap().to_owned();
        let new = crate::conversion::convert(kind, &stored, &asked, new);
        if new != case["answer"] {
            let mut differences = Vec::new();
            differ("", &new, &case["answer"], &mut differences);
            wrong.push(format!("{kind} {below:?}:\n  {}", differences.join("\n  ")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn differ(path: &str, made: &Value, wanted: &Value, differences: &mut Vec<String>) {
    match (made, wanted) {
        (Value::Object(one), Value::Object(other)) => {
            for name in one
                .keys()
                .chain(other.keys().filter(|name| !one.contains_key(*name)))
            {
                let missing = json!("(missing)");
                let value = one.get(name).unwrap_or(&missing);
                let other = other.get(name).unwrap_or(&missing);
                differ(&format!("{path}.{name}"), value, other, differences);
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (index, (one, other)) in one.iter().zip(other).enumerate() {
                differ(&format!("{path}[{index}]"), one, other, differences);
            }
        }
        _ if made != wanted => differences.push(format!("{path}: {made} instead of {wanted}")),
        _ => {}
    }
}

#[test]
fn a_second_pass_changes_nothing() {
    for line in UPSTREAM.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let case = case.as_object().unwrap();
        let mut object = case["answer"].clone();
        crate::defaults::apply(
            case.text("group"),
            case.text("version"),
            case.text("kind"),
            &mut object,
        );
        assert_eq!(object, case["answer"], "{}", case.text("kind"));
    }
}

#[test]
fn an_empty_status_has_the_fields_that_are_always_there() {
    for kind in crate::table::KINDS {
        if !rows::row(kind.group, kind.kind).status {
            continue;
        }
        let definition = schema::builtin::kind(kind.group, kind.versions[0], kind.kind).unwrap();
        let empty = schema::strict::normalize(definition, &json!({})).unwrap().value;
        assert_eq!(rows::empty_status(kind.kind), empty["status"], "{}", kind.kind);
    }
}

/// Returns any JSON, with the names that the rules look for in it.
fn anything() -> impl Strategy<Value = Value> {
    let names = [
        "metadata",
        "spec",
        "status",
        "template",
        "annotations",
        "labels",
        "containers",
        "volumes",
        "resources",
        "limits",
        "requests",
        "cpu",
        "type",
        "ports",
        "behavior",
        "metrics",
        "conditions",
        "items",
        "podIP",
        "podIPs",
        "deprecated.daemonset.template.generation",
        "autoscaling.alpha.kubernetes.io/metrics",
        "dataSource",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[0-9.+-]{0,40}([eE][+-]?[0-9]{1,10}|[numkMGTPE]i?)?".prop_map(Value::from),
        "[a-zA-Z\\[\\]{}:,\"]{0,8}".prop_map(Value::from),
        Just(json!("9223372036854775807")),
    ];
    leaf.prop_recursive(6, 48, 6, move |inner| {
        let name = proptest::sample::select(names.to_vec()).prop_map(str::to_owned);
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(name, inner, 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn no_object_is_too_strange(new in anything(), old in anything()) {
        for kind in crate::table::KINDS {
            let mut new = new.clone();
            for version in kind.versions {
                crate::defaults::apply(kind.group, version, kind.kind, &mut new);
            }
            let mut created = new.clone();
            prepare_for_create(kind.group, kind.kind, &mut created);
            for below in [None, Some("status"), Some("resize"), Some("ephemeralcontainers"), Some("approval")] {
                let mut new = new.clone();
                prepare_for_update(kind.group, kind.kind, below, &mut new, &old, Timestamp::UNIX_EPOCH);
            }
        }
        for (kind, one, other) in [
            ("HorizontalPodAutoscaler", "autoscaling/v1", "autoscaling/v2"),
            ("Event", "v1", "events.k8s.io/v1"),
        ] {
            let there = crate::conversion::convert(kind, one, other, new.clone());
            crate::conversion::convert(kind, other, one, there);
        }
    }
}

fn updated(group: &str, kind: &str, below: Option<&str>, new: Value, old: &Value) -> Value {
    updated_at(Timestamp::UNIX_EPOCH, group, kind, below, new, old)
}

fn updated_at(
    now: Timestamp,
    group: &str,
    kind: &str,
    below: Option<&str>,
    mut new: Value,
    old: &Value,
) -> Value {
    if let Some(generation) = old["metadata"].get("generation") {
        new["metadata"]["generation"] = generation.clone();
    }
    prepare_for_update(group, kind, below, &mut new, old, now);
    new
}

#[test]
fn a_write_to_the_object_leaves_the_status_and_counts_changes() {
    let old = json!({"metadata": {"generation": 3, "annotations": {"a": "1"}}, "spec": {"replicas": 1}, "status": {"replicas": 1}});
    let cases = [
        ("apps", "Deployment", json!({"replicas": 2}), json!({"a": "1"}), 4),
        ("apps", "Deployment", json!({"replicas": 1}), json!({"a": "2"}), 4),
        ("apps", "Deployment", json!({"replicas": 1}), json!({"a": "1"}), 3),
        ("apps", "ReplicaSet", json!({"replicas": 1}), json!({"a": "2"}), 3),
        (
            "apps",
            "StatefulSet",
            json!({"replicas": 9}),
            json!({"a": "2"}),
            4,
        ),
        ("batch", "CronJob", json!({"suspend": true}), json!({"a": "1"}), 4),
    ];
    for (group, kind, spec, annotations, generation) in cases {
        let new = json!({"metadata": {"annotations": annotations}, "spec": spec, "status": {"replicas": 9}});
        let new = updated(group, kind, None, new, &old);
        assert_eq!(new["metadata"]["generation"], generation, "{kind} {spec}");
        assert_eq!(new["status"], old["status"], "{kind}");
    }
}

#[test]
fn an_empty_list_is_no_change() {
    let old = json!({"metadata": {"generation": 1}, "spec": {"podSelector": {}}});
    let new = json!({"metadata": {}, "spec": {"podSelector": {}, "ingress": []}});
    let new = updated("networking.k8s.io", "NetworkPolicy", None, new, &old);
    assert_eq!(new["metadata"]["generation"], 1);
}

#[test]
fn a_write_to_the_status_leaves_the_rest() {
    let old =
        json!({"metadata": {"generation": 3, "labels": {"a": "1"}}, "spec": {"replicas": 1}, "status": {}});
    let new = json!({"metadata": {"labels": {"a": "2"}}, "spec": {"replicas": 7}, "status": {"replicas": 7}});
    for (group, kind, label) in [
        ("apps", "Deployment", "1"),
        ("apps", "ReplicaSet", "2"),
        ("storage.k8s.io", "VolumeAttachment", "1"),
        ("flowcontrol.apiserver.k8s.io", "FlowSchema", "1"),
        ("apiregistration.k8s.io", "APIService", "1"),
    ] {
        let new = updated(group, kind, Some("status"), new.clone(), &old);
        assert_eq!(new["spec"], old["spec"], "{kind}");
        assert_eq!(new["status"], json!({"replicas": 7}), "{kind}");
        assert_eq!(new["metadata"]["labels"]["a"], label, "{kind}");
        assert_eq!(new["metadata"]["generation"], 3, "{kind}");
    }
}

#[test]
fn the_finalizers_of_a_namespace_are_changed_by_finalize_alone() {
    let old = json!({"metadata": {"name": "n"}, "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}});
    let new = json!({"metadata": {"name": "n"}, "spec": {}, "status": {"phase": "Terminating"}});
    let object = updated("", "Namespace", None, new.clone(), &old);
    assert_eq!(object["spec"], old["spec"]);
    assert_eq!(object["status"], old["status"]);
    assert_eq!(object["metadata"]["labels"]["kubernetes.io/metadata.name"], "n");
    let finalized = updated("", "Namespace", Some("finalize"), new.clone(), &old);
    assert_eq!(finalized["spec"], json!({}));
    assert_eq!(finalized["status"], old["status"]);
    let status = updated("", "Namespace", Some("status"), new, &old);
    assert_eq!(status["spec"], old["spec"]);
    assert_eq!(status["status"]["phase"], "Terminating");
}

#[test]
fn a_daemon_set_counts_the_changes_of_its_template() {
    let annotation = "deprecated.daemonset.template.generation";
    let old = json!({"metadata": {"generation": 1, "annotations": {annotation: "4"}}, "spec": {"template": {"a": 1}}});
    let same = json!({"metadata": {"annotations": {annotation: "0"}}, "spec": {"template": {"a": 1}, "minReadySeconds": 1}});
    let other = json!({"metadata": {"annotations": {annotation: "0"}}, "spec": {"template": {"a": 2}}});
    let same = updated("apps", "DaemonSet", None, same, &old);
    assert_eq!(
        same["metadata"],
        json!({"generation": 2, "annotations": {annotation: "4"}})
    );
    let other = updated("apps", "DaemonSet", None, other, &old);
    assert_eq!(
        other["metadata"],
        json!({"generation": 2, "annotations": {annotation: "5"}})
    );
}

#[test]
fn annotations_that_once_were_numbers_are_written_as_numbers() {
    let generation = "deprecated.daemonset.template.generation";
    let rollback = "deprecated.deployment.rollback.to";
    for (kind, annotation, given, stored) in [
        ("DaemonSet", generation, "07", json!("7")),
        ("DaemonSet", generation, "-3", json!("1")),
        ("DaemonSet", generation, "9", json!("9")),
        ("Deployment", rollback, "07", json!("7")),
        ("Deployment", rollback, "", Value::Null),
    ] {
        let mut object = json!({"metadata": {"annotations": {annotation: given}}, "spec": {}});
        crate::defaults::apply("apps", "v1", kind, &mut object);
        prepare_for_create("apps", kind, &mut object);
        assert_eq!(
            object["metadata"]["annotations"][annotation], stored,
            "{kind} {given:?}"
        );
    }
}

#[test]
fn a_service_of_another_type_loses_what_the_old_type_had() {
    let old = json!({
        "metadata": {},
        "spec": {
            "type": "LoadBalancer", "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack", "externalTrafficPolicy": "Local", "healthCheckNodePort": 30001,
            "allocateLoadBalancerNodePorts": true, "loadBalancerClass": "a/b",
            "ports": [{"port": 80, "nodePort": 30000}],
        },
        "status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}},
    });
    let mut inside = old.clone();
    inside["spec"]["type"] = json!("ClusterIP");
    let inside = updated("", "Service", None, inside, &old);
    assert_eq!(
        inside["spec"],
        json!({
            "type": "ClusterIP", "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack", "ports": [{"port": 80}],
        })
    );
    assert_eq!(inside["status"], json!({"loadBalancer": {}}));
    let mut name = old.clone();
    name["spec"]["type"] = json!("ExternalName");
    let name = updated("", "Service", None, name, &old);
    assert_eq!(
        name["spec"],
        json!({"type": "ExternalName", "ports": [{"port": 80}]})
    );
    let mut chosen = old.clone();
    chosen["spec"]["type"] = json!("ClusterIP");
    chosen["spec"]["ports"][0]["nodePort"] = json!(31000);
    let chosen = updated("", "Service", None, chosen, &old);
    assert_eq!(
        chosen["spec"]["ports"][0]["nodePort"], 31000,
        "a port that the client chose is left for the validation to refuse"
    );
}

#[test]
fn only_the_ephemeral_containers_of_a_pod_are_written_through_theirs() {
    let old = json!({"metadata": {"generation": 1}, "spec": {"containers": [{"name": "a"}]}, "status": {"phase": "Running"}});
    let new = json!({
        "metadata": {"labels": {"x": "y"}},
        "spec": {"containers": [], "ephemeralContainers": [{"name": "e"}]},
        "status": {},
    });
    let new = updated("", "Pod", Some("ephemeralcontainers"), new, &old);
    assert_eq!(
        new,
        json!({
            "metadata": {"generation": 2},
            "spec": {"containers": [{"name": "a"}], "ephemeralContainers": [{"name": "e"}]},
            "status": {"phase": "Running"},
        })
    );
}

#[test]
fn only_resources_of_a_pod_are_written_through_its_resize() {
    let old = json!({"metadata": {"generation": 1}, "spec": {"containers": [{"name": "a", "image": "x"}]}, "status": {}});
    let resources = json!({"requests": {"cpu": "1"}});
    let new = json!({"metadata": {}, "spec": {"containers": [{"name": "a", "image": "y", "resources": resources}]}});
    let new = updated("", "Pod", Some("resize"), new, &old);
    assert_eq!(
        new["spec"],
        json!({"containers": [{"name": "a", "image": "x", "resources": resources}]})
    );
    assert_eq!(new["metadata"]["generation"], 2);
    let renamed = json!({"metadata": {}, "spec": {"containers": [{"name": "b", "image": "y"}]}});
    let renamed = updated("", "Pod", Some("resize"), renamed, &old);
    assert_eq!(
        renamed["spec"]["containers"][0]["name"], "b",
        "what isn't a resize is left for the validation to refuse"
    );
}

#[test]
fn a_decision_about_a_certificate_is_written_through_the_approval() {
    let kind = "CertificateSigningRequest";
    let group = "certificates.k8s.io";
    let old = json!({"metadata": {}, "spec": {"username": "a"}, "status": {}});
    let condition = json!({"type": "Approved", "status": "True"});
    let new = json!({
        "metadata": {},
        "spec": {"username": "b"},
        "status": {"conditions": [condition], "certificate": "eA=="},
    });
    let approved = updated(group, kind, Some("approval"), new.clone(), &old);
    assert_eq!(approved["spec"], old["spec"]);
    let since = "1970-01-01T00:00:00Z";
    assert_eq!(
        approved["status"],
        json!({"conditions": [{"type": "Approved", "status": "True", "lastUpdateTime": since, "lastTransitionTime": since}]})
    );
    let object = updated(group, kind, None, new, &old);
    assert_eq!(object["spec"], old["spec"]);
    assert_eq!(object["status"], old["status"]);
}

#[test]
fn a_new_certificate_request_is_from_whoever_sent_it() {
    let mut request = json!({"metadata": {}, "spec": {"username": "somebody", "groups": ["masters"]}});
    prepare_for_create("certificates.k8s.io", "CertificateSigningRequest", &mut request);
    assert_eq!(request["spec"], json!({}));
    let groups = ["devs".to_owned()];
    let requester = super::Requester {
        name: "alice",
        uid: "",
        groups: &groups,
        extra: &std::collections::BTreeMap::new(),
    };
    super::note_requester(&mut request, &requester);
    assert_eq!(request["spec"], json!({"username": "alice", "groups": ["devs"]}));
}

#[test]
fn a_volume_notes_when_its_phase_changed() {
    let old = json!({"metadata": {}, "spec": {}, "status": {"phase": "Pending", "lastPhaseTransitionTime": "2020-01-01T00:00:00Z"}});
    for (phase, since) in [
        ("Pending", "2020-01-01T00:00:00Z"),
        ("Bound", "1970-01-01T00:00:00Z"),
    ] {
        let new = json!({"metadata": {}, "spec": {}, "status": {"phase": phase}});
        let new = updated("", "PersistentVolume", Some("status"), new, &old);
        assert_eq!(new["status"]["lastPhaseTransitionTime"], since, "{phase}");
    }
}

#[test]
fn nobody_comes_to_own_what_a_write_resets() {
    type Case = (
        &'static str,
        &'static str,
        Option<&'static str>,
        &'static [&'static [&'static str]],
    );
    let cases: [Case; 9] = [
        ("apps", "Deployment", None, &[&["status"]]),
        (
            "apps",
            "Deployment",
            Some("status"),
            &[&["spec"], &["metadata", "labels"]],
        ),
        ("", "ConfigMap", None, &[]),
        ("", "Node", None, &[&["status"]]),
        (
            "",
            "Pod",
            Some("status"),
            &[
                &["spec"],
                &["metadata", "deletionTimestamp"],
                &["metadata", "ownerReferences"],
            ],
        ),
        ("apps", "Deployment", Some("scale"), &[]),
        (
            "apiextensions.k8s.io",
            "CustomResourceDefinition",
            None,
            &[&["status"]],
        ),
        (
            "certificates.k8s.io",
            "CertificateSigningRequest",
            Some("approval"),
            &[&["spec"], &["status", "certificate"]],
        ),
        (
            "admissionregistration.k8s.io",
            "MutatingWebhookConfiguration",
            None,
            &[],
        ),
    ];
    for (group, kind, below, fields) in cases {
        assert_eq!(reset_fields(group, kind, below), fields, "{kind} {below:?}");
    }
    assert!(only_fields("", "Pod", Some("resize")).is_some());
    assert!(only_fields("", "Pod", None).is_none());
}
