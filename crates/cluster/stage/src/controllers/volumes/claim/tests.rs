use super::*;

fn claim(spec: &Value) -> Value {
    let mut claim = json!({
        "metadata": {"name": "c", "namespace": "a", "uid": "cu", "finalizers": [PROTECTION]},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
        "status": {"phase": "Pending"},
    });
    for (field, value) in spec.as_object().unwrap() {
        claim["spec"][field] = value.clone();
    }
    claim
}

fn class(name: &str, provisioner: &str, mode: &str, default: bool) -> Value {
    json!({
        "metadata": {"name": name, "annotations": {DEFAULT_CLASS: default.to_string()}},
        "provisioner": provisioner,
        "volumeBindingMode": mode,
    })
}

fn volume(name: &str, class: &str) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {
            "storageClassName": class, "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "2Gi"},
        },
        "status": {"phase": "Available"},
    })
}

fn seen(claim: Value) -> Seen {
    Seen {
        claim,
        volumes: Vec::new(),
        classes: vec![
            class("standard", PROVISIONER, "Immediate", true),
            class("lazy", PROVISIONER, "WaitForFirstConsumer", false),
            class("far", "example.com/x", "Immediate", false),
        ],
        users: Vec::new(),
    }
}

fn note_of(plan: Plan) -> (Option<String>, String) {
    match plan {
        Plan::Wait {
            provisioner,
            note: Some(note),
        } => (provisioner, format!("{} {}", note.reason, note.message)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_claim_without_a_class_takes_the_default_one() {
    assert_eq!(
        decide(&seen(claim(&json!({})))),
        Plan::TakeClass("standard".to_owned())
    );
    let mut without = seen(claim(&json!({})));
    without.classes.clear();
    assert_eq!(
        note_of(decide(&without)).1,
        "FailedBinding no persistent volumes available for this claim and no storage class is set"
    );
    let empty = seen(claim(&json!({"storageClassName": ""})));
    assert!(note_of(decide(&empty)).1.starts_with("FailedBinding"));
}

#[test]
fn a_claim_gets_a_new_volume_of_its_class_when_none_fits() {
    let mut world = seen(claim(&json!({"storageClassName": "standard"})));
    let Plan::Provision(class) = decide(&world) else {
        panic!("a volume is made");
    };
    let made = volume_for(&world.claim, &class, "/d");
    assert_eq!(made["metadata"]["name"], "pvc-cu");
    assert_eq!(made["spec"]["hostPath"]["path"], "/d/pvc-cu");
    assert_eq!(made["spec"]["capacity"]["storage"], "1Gi");
    world.volumes.push(volume("v", "standard"));
    assert!(matches!(decide(&world), Plan::Bind(volume) if volume.name() == "v"));
}

#[test]
fn a_claim_of_a_lazy_class_waits_for_a_pod() {
    let mut world = seen(claim(&json!({"storageClassName": "lazy"})));
    world.volumes.push(volume("v", "lazy"));
    assert_eq!(
        note_of(decide(&world)).1,
        "WaitForFirstConsumer waiting for first consumer to be created before binding"
    );
    world.users.push("p".to_owned());
    assert!(matches!(decide(&world), Plan::Bind(_)));
}

#[test]
fn others_make_volumes_of_their_classes() {
    let (provisioner, text) = note_of(decide(&seen(claim(&json!({"storageClassName": "far"})))));
    assert_eq!(provisioner.as_deref(), Some("example.com/x"));
    assert!(text.starts_with("ExternalProvisioning Waiting for a volume"));
    let (_, text) = note_of(decide(&seen(claim(&json!({"storageClassName": "none"})))));
    assert_eq!(
        text,
        "ProvisioningFailed storageclass.storage.k8s.io \"none\" not found"
    );
}

#[test]
fn a_claim_that_names_a_volume_gets_that_one_or_none() {
    let mut world = seen(claim(&json!({"storageClassName": "x", "volumeName": "v"})));
    assert_eq!(decide(&world), wait(None, None));
    world.volumes.push(volume("v", "y"));
    assert_eq!(
        note_of(decide(&world)).1,
        "VolumeMismatch Cannot bind to requested volume \"v\": storageClassName does not match"
    );
    world.volumes[0] = volume("v", "x");
    assert!(matches!(decide(&world), Plan::Bind(_)));
    world.volumes[0]["spec"]["claimRef"] = json!({"namespace": "a", "name": "d", "uid": "du"});
    assert_eq!(
        note_of(decide(&world)).1,
        "FailedBinding volume \"v\" already bound to a different claim (a/d)"
    );
}

#[test]
fn a_bound_claim_stays_and_is_lost_without_its_volume() {
    let mut bound = claim(&json!({"storageClassName": "x", "volumeName": "v"}));
    bound["metadata"]["annotations"] = json!({BIND_COMPLETED: "yes"});
    bound["status"] = json!({"phase": "Bound", "capacity": {"storage": "2Gi"}});
    let mut world = seen(bound);
    assert_eq!(decide(&world), Plan::Lose);
    let mut volume = volume("v", "x");
    volume["spec"]["claimRef"] = json!({"namespace": "a", "name": "c", "uid": "cu"});
    volume["status"]["phase"] = "Bound".into();
    world.volumes.push(volume);
    assert_eq!(decide(&world), Plan::Nothing);
}

#[test]
fn a_deleted_claim_goes_when_no_pod_uses_it() {
    let mut going = claim(&json!({}));
    going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    let mut world = seen(going);
    world.users.push("p".to_owned());
    assert_eq!(decide(&world), Plan::Nothing);
    world.users.clear();
    assert_eq!(decide(&world), Plan::Release);
}
