//! The engine on a stage in this process.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use api::ClusterObjectSet;
use api::cluster_object_set::{
    Assertion, ClusterObjectSetSpec, CollisionProtection, FieldValue, LifecycleState, Phase, PhaseObject,
    ProbeSelector, ProgressionProbe,
};
use api::condition;
use api::definitions::OLM_V1;
use api::keys;
use apply::diff::What;
use apply::engine::{Engine, Next};
use apply::phases::phases_of;
use apply::secrets::{Destination, pack};
use futures_util::StreamExt as _;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret, ServiceAccount};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use stage::{Options, Stage};

struct World {
    client: Client,
    engine: Engine,
    _stage: Stage,
}

impl World {
    async fn new() -> Self {
        let stage = Stage::in_memory(Options::default()).await.expect("a stage");
        let client = Client::new(stage.service(), "default");
        let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
        for definition in OLM_V1 {
            let object = serde_json::from_value(definition.object()).expect("a definition");
            definitions
                .create(&PostParams::default(), &object)
                .await
                .expect("defined");
            let established = kube::runtime::conditions::is_crd_established();
            kube::runtime::wait::await_condition(definitions.clone(), definition.name, established)
                .await
                .expect("established");
        }
        let namespaces: Api<Namespace> = Api::all(client.clone());
        for name in ["system", "app"] {
            let namespace = serde_json::from_value(json!({"metadata": {"name": name}})).expect("a namespace");
            namespaces
                .create(&PostParams::default(), &namespace)
                .await
                .expect("made");
        }
        let engine = Engine::new(client.clone(), "system".to_owned());
        Self {
            client,
            engine,
            _stage: stage,
        }
    }

    fn sets(&self) -> Api<ClusterObjectSet> {
        Api::all(self.client.clone())
    }

    fn maps(&self) -> Api<ConfigMap> {
        Api::namespaced(self.client.clone(), "app")
    }

    async fn make(&self, set: &ClusterObjectSet) {
        self.sets()
            .create(&PostParams::default(), set)
            .await
            .expect("a revision is made");
    }

    async fn reconcile(&self, name: &str) -> Next {
        self.engine.reconcile(name).await.expect("reconciled")
    }

    async fn set(&self, name: &str) -> ClusterObjectSet {
        self.sets().get(name).await.expect("the revision")
    }

    /// What a condition says: status, reason and message.
    async fn said(&self, name: &str, kind: &str) -> (String, String, String) {
        let set = self.set(name).await;
        let said = condition::find(&set.status.conditions, kind).cloned();
        said.map_or_else(Default::default, |said| {
            (said.status.as_str().to_owned(), said.reason, said.message)
        })
    }

    async fn archive(&self, name: &str) {
        let patch = json!({"spec": {"lifecycleState": "Archived"}});
        self.sets()
            .patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await
            .expect("archived");
    }

    async fn value(&self, name: &str, key: &str) -> Option<String> {
        let map = self.maps().get_opt(name).await.expect("asked")?;
        map.data.unwrap_or_default().get(key).cloned()
    }
}

fn map(name: &str, value: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "app"}, "data": {"a": value}})
}

fn revision(extension: &str, number: i64, phases: Vec<(&str, Vec<Value>)>) -> ClusterObjectSet {
    let entry = |object| PhaseObject {
        object: Some(object),
        ..PhaseObject::default()
    };
    let phases = phases
        .into_iter()
        .map(|(name, objects)| Phase {
            name: name.to_owned(),
            objects: objects.into_iter().map(entry).collect(),
            ..Phase::default()
        })
        .collect();
    let mut set = ClusterObjectSet::new(
        &format!("{extension}-{number}"),
        ClusterObjectSetSpec {
            lifecycle_state: LifecycleState::Active,
            revision: number,
            collision_protection: CollisionProtection::Prevent,
            phases,
            progress_deadline_minutes: None,
            progression_probes: Vec::new(),
        },
    );
    set.metadata.labels = Some(BTreeMap::from([(
        keys::OWNER_NAME.to_owned(),
        extension.to_owned(),
    )]));
    set.metadata.annotations = Some(BTreeMap::from([(
        keys::BUNDLE_VERSION.to_owned(),
        format!("{number}.0.0"),
    )]));
    set
}

fn waits_for(value: &str) -> Vec<ProgressionProbe> {
    vec![ProgressionProbe {
        selector: ProbeSelector {
            kind: "GroupKind".to_owned(),
            group_kind: Some(api::cluster_object_set::GroupKind {
                group: String::new(),
                kind: "ConfigMap".to_owned(),
            }),
            label: None,
        },
        assertions: vec![Assertion {
            kind: "FieldValue".to_owned(),
            field_value: Some(FieldValue {
                field_path: "data.a".to_owned(),
                value: value.to_owned(),
            }),
            ..Assertion::default()
        }],
    }]
}

#[tokio::test]
async fn a_revision_is_rolled_out_and_says_so() {
    let world = World::new().await;
    world
        .make(&revision(
            "x",
            1,
            vec![
                ("one", vec![map("a", "1"), map("b", "1")]),
                ("two", vec![map("c", "1")]),
            ],
        ))
        .await;
    assert_eq!(world.reconcile("x-1").await, Next::default());
    let set = world.set("x-1").await;
    assert_eq!(
        set.metadata.finalizers.as_deref(),
        Some(&[keys::TEARDOWN.to_owned()][..])
    );
    assert_eq!(set.status.observed_phases.len(), 2);
    let progressing = world.said("x-1", "Progressing").await;
    assert_eq!(
        progressing,
        (
            "True".into(),
            "Succeeded".into(),
            "Revision 1.0.0 has rolled out.".into()
        )
    );
    assert_eq!(world.said("x-1", "Available").await.1, "ProbesSucceeded");
    assert_eq!(world.said("x-1", "Succeeded").await.0, "True");
    let made = world.maps().get("a").await.expect("made");
    let labels = made.metadata.labels.expect("labels");
    assert_eq!(labels[keys::OWNER_NAME], "x");
    assert_eq!(labels["app.kubernetes.io/managed-by"], "olm.operatorframework.io");
    assert_eq!(
        made.metadata.annotations.expect("annotations")[keys::REVISION],
        "1"
    );
    let owners = made.metadata.owner_references.expect("owners");
    assert_eq!(
        (owners[0].name.as_str(), owners[0].controller),
        ("x-1", Some(true))
    );
    let managers = made.metadata.managed_fields.expect("managers");
    assert_eq!(managers.len(), 1);
    assert_eq!(managers[0].operation.as_deref(), Some("Apply"));
}

#[tokio::test]
async fn a_second_look_changes_nothing() {
    let world = World::new().await;
    world
        .make(&revision("x", 1, vec![("one", vec![map("a", "1")])]))
        .await;
    world.reconcile("x-1").await;
    let (set, object) = (world.set("x-1").await, world.maps().get("a").await.expect("made"));
    world.reconcile("x-1").await;
    assert_eq!(
        world.set("x-1").await.metadata.resource_version,
        set.metadata.resource_version
    );
    let again = world.maps().get("a").await.expect("made");
    assert_eq!(again.metadata.resource_version, object.metadata.resource_version);
}

#[tokio::test]
async fn the_next_phase_waits_for_the_probes() {
    let world = World::new().await;
    let mut set = revision(
        "x",
        1,
        vec![("one", vec![map("a", "1")]), ("two", vec![map("b", "2")])],
    );
    set.spec.progression_probes = waits_for("2");
    set.spec.progress_deadline_minutes = Some(10);
    world.make(&set).await;
    let next = world.reconcile("x-1").await;
    assert!(
        next.after.is_some_and(|after| after > Duration::from_secs(590)),
        "{next:?}"
    );
    assert_eq!(
        world.said("x-1", "Available").await,
        (
            "False".into(),
            "ProbeFailure".into(),
            "Object ConfigMap.v1 app/a: value at key \"data.a\" != \"2\"; expected: \"2\" got: \"1\"".into()
        )
    );
    assert_eq!(world.said("x-1", "Progressing").await.1, "RollingOut");
    assert_eq!(world.value("b", "a").await, None);
}

#[tokio::test]
async fn drift_is_seen_and_repaired() {
    let world = World::new().await;
    world
        .make(&revision("x", 1, vec![("one", vec![map("a", "1")])]))
        .await;
    let mut drift = Box::pin(world.engine.drift());
    world.reconcile("x-1").await;
    assert_eq!(world.engine.watched_kinds(), 1);
    let patch = json!({"data": {"a": "changed", "more": "kept"}, "metadata": {"labels": {"mine": "yes"}}});
    world
        .maps()
        .patch("a", &PatchParams::default(), &Patch::Merge(patch))
        .await
        .expect("changed");
    while world.value("a", "a").await.as_deref() != Some("1") {
        repair(&world, &mut drift).await;
    }
    assert_eq!(
        world.value("a", "more").await.as_deref(),
        Some("kept"),
        "another's field survives"
    );
    let labels = world
        .maps()
        .get("a")
        .await
        .expect("there")
        .metadata
        .labels
        .expect("labels");
    assert_eq!(labels["mine"], "yes");

    world
        .maps()
        .delete("a", &DeleteParams::default())
        .await
        .expect("deleted");
    while world.value("a", "a").await.is_none() {
        repair(&world, &mut drift).await;
    }
}

/// Waits until something is heard of the revision, and looks at it then.
async fn repair(world: &World, drift: &mut (impl futures_util::Stream<Item = String> + Unpin)) {
    let told = tokio::time::timeout(Duration::from_secs(10), drift.next()).await;
    assert_eq!(told.expect("in time").as_deref(), Some("x-1"));
    world.reconcile("x-1").await;
}

#[tokio::test]
async fn what_a_revision_writes_itself_is_no_news() {
    let world = World::new().await;
    world
        .make(&revision(
            "x",
            1,
            vec![("one", vec![map("a", "1"), map("b", "1")])],
        ))
        .await;
    let mut drift = Box::pin(world.engine.drift());
    world.reconcile("x-1").await;
    // A change by another comes after everything that the revision wrote.
    let patch = json!({"metadata": {"labels": {"mine": "yes"}}});
    let maps = world.maps();
    maps.patch("b", &PatchParams::default(), &Patch::Merge(patch))
        .await
        .expect("changed");
    let mut told = 0;
    while tokio::time::timeout(Duration::from_millis(500), drift.next())
        .await
        .is_ok()
    {
        told += 1;
        world.reconcile("x-1").await;
    }
    assert!((1..=3).contains(&told), "told {told} times");
}

#[tokio::test]
async fn a_newer_revision_takes_over_and_the_older_one_goes() {
    let world = World::new().await;
    world
        .make(&revision(
            "x",
            1,
            vec![("one", vec![map("a", "1"), map("old", "1")])],
        ))
        .await;
    world.reconcile("x-1").await;
    let uid = world.maps().get("a").await.expect("made").metadata.uid;
    world
        .make(&revision(
            "x",
            2,
            vec![("one", vec![map("a", "2"), map("new", "2")])],
        ))
        .await;
    world.reconcile("x-2").await;
    assert_eq!(world.value("a", "a").await.as_deref(), Some("2"));
    assert_eq!(
        world.maps().get("a").await.expect("there").metadata.uid,
        uid,
        "it is the same object"
    );
    assert_eq!(
        world.set("x-1").await.spec.lifecycle_state,
        LifecycleState::Archived
    );
    assert_eq!(world.said("x-2", "Progressing").await.1, "Succeeded");

    world.reconcile("x-1").await;
    assert_eq!(
        world.value("old", "a").await,
        None,
        "what the newer one doesn't have goes"
    );
    assert_eq!(world.value("a", "a").await.as_deref(), Some("2"));
    let set = world.set("x-1").await;
    assert_eq!(set.metadata.finalizers, None);
    assert_eq!(
        world.said("x-1", "Progressing").await,
        ("False".into(), "Archived".into(), "revision is archived".into())
    );
    assert_eq!(world.said("x-1", "Available").await.0, "Unknown");
    let owners = world
        .maps()
        .get("a")
        .await
        .expect("there")
        .metadata
        .owner_references
        .expect("owners");
    assert_eq!(
        owners.iter().map(|owner| owner.name.as_str()).collect::<Vec<_>>(),
        ["x-2"]
    );

    world.reconcile("x-2").await;
    world.reconcile("x-1").await;
    assert_eq!(world.value("a", "a").await.as_deref(), Some("2"));
}

#[tokio::test]
async fn an_older_revision_leaves_objects_to_the_newer_one() {
    let world = World::new().await;
    let mut newer = revision("x", 2, vec![("one", vec![map("a", "2")])]);
    newer.spec.progression_probes = waits_for("never");
    world
        .make(&revision("x", 1, vec![("one", vec![map("a", "1")])]))
        .await;
    world.reconcile("x-1").await;
    world.make(&newer).await;
    world.reconcile("x-2").await;
    world.reconcile("x-1").await;
    assert_eq!(world.value("a", "a").await.as_deref(), Some("2"));
    assert_eq!(
        world.set("x-1").await.spec.lifecycle_state,
        LifecycleState::Active
    );
    assert_eq!(world.said("x-2", "Progressing").await.1, "RollingOut");
}

#[tokio::test]
async fn objects_of_others_are_left_alone_and_named() {
    let world = World::new().await;
    world
        .make(&revision("x", 1, vec![("one", vec![map("a", "1")])]))
        .await;
    world.reconcile("x-1").await;
    let foreign: ConfigMap = serde_json::from_value(map("foreign", "1")).expect("a map");
    world
        .maps()
        .create(&PostParams::default(), &foreign)
        .await
        .expect("made");
    world
        .make(&revision(
            "y",
            1,
            vec![
                ("one", vec![map("a", "2"), map("foreign", "2")]),
                ("two", vec![map("b", "2")]),
            ],
        ))
        .await;
    let next = world.reconcile("y-1").await;
    assert_eq!(next.after, Some(Duration::from_secs(10)));
    let (status, reason, message) = world.said("y-1", "Progressing").await;
    assert_eq!((status.as_str(), reason.as_str()), ("True", "Retrying"));
    assert!(
        message.starts_with("revision object collisions in phase 0\nObject ConfigMap.v1 app/a\n"),
        "{message}"
    );
    assert!(
        message.contains("It belongs to ClusterObjectSet \"x-1\" of extension \"x\""),
        "{message}"
    );
    assert!(
        message.contains("Object ConfigMap.v1 app/foreign\nAction: \"Collision\"\nConflicting Owner: nil\n"),
        "{message}"
    );
    assert_eq!(world.value("a", "a").await.as_deref(), Some("1"));
    assert_eq!(world.value("b", "a").await, None);
    // Once the obstacle is gone the rollout goes on.
    world
        .maps()
        .delete("foreign", &DeleteParams::default())
        .await
        .expect("deleted");
    world.archive("x-1").await;
    world.reconcile("x-1").await;
    world.reconcile("y-1").await;
    assert_eq!(world.said("y-1", "Progressing").await.1, "Succeeded");
    assert_eq!(world.value("foreign", "a").await.as_deref(), Some("2"));
}

#[tokio::test]
async fn objects_without_an_owner_are_taken_over_if_that_is_allowed() {
    let world = World::new().await;
    let foreign: ConfigMap = serde_json::from_value(map("foreign", "1")).expect("a map");
    world
        .maps()
        .create(&PostParams::default(), &foreign)
        .await
        .expect("made");
    let mut set = revision("y", 1, vec![("one", vec![map("foreign", "2")])]);
    set.spec.collision_protection = CollisionProtection::IfNoController;
    world.make(&set).await;
    world.reconcile("y-1").await;
    assert_eq!(world.said("y-1", "Progressing").await.1, "Succeeded");
    assert_eq!(world.value("foreign", "a").await.as_deref(), Some("2"));
}

#[tokio::test]
async fn nothing_of_a_phase_is_written_if_the_server_refuses_a_part() {
    let world = World::new().await;
    let bad =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "Bad", "namespace": "app"}});
    let unknown = json!({"apiVersion": "a.example/v1", "kind": "Unknown", "metadata": {"name": "u"}});
    world
        .make(&revision("x", 1, vec![("one", vec![map("a", "1"), bad])]))
        .await;
    let next = world.reconcile("x-1").await;
    assert_eq!(next.after, Some(Duration::from_secs(10)));
    let (_, reason, message) = world.said("x-1", "Progressing").await;
    assert_eq!(reason, "Retrying");
    assert!(
        message.starts_with("phase 0 validation error: phase \"one\": /v1, Kind=ConfigMap app/Bad: ConfigMap \"Bad\" is invalid: metadata.name: Invalid value:"),
        "{message}"
    );
    assert_eq!(world.value("a", "a").await, None);
    world.make(&revision("y", 1, vec![("one", vec![unknown])])).await;
    world.reconcile("y-1").await;
    let (_, _, message) = world.said("y-1", "Progressing").await;
    assert_eq!(
        message,
        "phase 0 validation error: phase \"one\": a.example/v1, Kind=Unknown /u: no matches for kind \"Unknown\" in version \"a.example/v1\""
    );
}

#[tokio::test]
async fn an_object_whose_kind_comes_with_an_earlier_phase_is_made() {
    let world = World::new().await;
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Cluster", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]},
    });
    let widget =
        json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "size": 3});
    let mut set = revision("x", 1, vec![("crds", vec![definition]), ("deploy", vec![widget])]);
    set.spec.progression_probes = apply::probes::default_probes();
    world.make(&set).await;
    let mut drift = Box::pin(world.engine.drift());
    for _ in 0..20 {
        world.reconcile("x-1").await;
        if world.said("x-1", "Progressing").await.1 == "Succeeded" {
            return;
        }
        let _ = tokio::time::timeout(Duration::from_secs(2), drift.next()).await;
    }
    panic!("{:?}", world.said("x-1", "Progressing").await);
}

#[tokio::test]
async fn objects_are_read_from_secrets_that_must_not_change() {
    let world = World::new().await;
    let phases = phases_of([map("a", "1"), map("b", "1")]);
    let destination = Destination {
        revision: "x-1",
        owner: "x",
        namespace: "system",
    };
    let packed = pack(&phases, destination).expect("packed");
    let secrets: Api<Secret> = Api::namespaced(world.client.clone(), "system");
    let mut set = revision("x", 1, Vec::new());
    set.spec.phases = packed.referring(phases);
    world.make(&set).await;
    let error = world
        .engine
        .reconcile("x-1")
        .await
        .expect_err("the Secret isn't there");
    let name = packed.secrets[0].metadata.name.clone().expect("a name");
    assert_eq!(
        error.to_string(),
        format!(
            "converting to boxcutter revision: resolving ref in phase \"configuration\": getting Secret system/{name}: secrets {name:?} not found"
        )
    );
    let mut secret = packed.secrets[0].clone();
    secret.immutable = None;
    secrets
        .create(&PostParams::default(), &secret)
        .await
        .expect("made");
    world.reconcile("x-1").await;
    let blocked = world.said("x-1", "Progressing").await;
    assert_eq!(blocked.1, "Blocked");
    assert!(blocked.2.ends_with(&format!(": system/{name}")), "{blocked:?}");
    secrets
        .delete(&name, &DeleteParams::default())
        .await
        .expect("deleted");
    secrets
        .create(&PostParams::default(), &packed.secrets[0])
        .await
        .expect("made");
    world.reconcile("x-1").await;
    assert_eq!(world.said("x-1", "Progressing").await.1, "Succeeded");
    assert_eq!(world.value("b", "a").await.as_deref(), Some("1"));

    // Under the same key something else is kept now.
    secrets
        .delete(&name, &DeleteParams::default())
        .await
        .expect("deleted");
    let mut other = packed.secrets[0].clone();
    for value in other.data.as_mut().expect("data").values_mut() {
        value.0 = map("c", "1").to_string().into_bytes();
    }
    secrets
        .create(&PostParams::default(), &other)
        .await
        .expect("made");
    world.reconcile("x-1").await;
    let blocked = world.said("x-1", "Progressing").await;
    assert_eq!((blocked.0.as_str(), blocked.1.as_str()), ("False", "Blocked"));
    assert!(
        blocked.2.starts_with(
            "resolved content of 1 phase(s) has changed: phase \"configuration\" (expected digest sha256:"
        ),
        "{blocked:?}"
    );
}

#[tokio::test]
async fn a_deleted_revision_lets_go_at_once() {
    let world = World::new().await;
    world
        .make(&revision("x", 1, vec![("one", vec![map("a", "1")])]))
        .await;
    world.reconcile("x-1").await;
    world
        .sets()
        .delete("x-1", &DeleteParams::default())
        .await
        .expect("deleted");
    world.reconcile("x-1").await;
    assert!(world.sets().get_opt("x-1").await.expect("asked").is_none());
    assert_eq!(world.reconcile("x-1").await, Next::default());
    assert_eq!(world.engine.watched_kinds(), 0);
}

#[tokio::test]
async fn what_is_to_survive_a_deletion_does() {
    let world = World::new().await;
    let mut set = revision("x", 1, vec![("one", vec![map("a", "1")])]);
    let annotations = set.metadata.annotations.get_or_insert_default();
    annotations.insert("baton-olm.dev/on-delete".into(), "orphan".into());
    world.make(&set).await;
    world.reconcile("x-1").await;
    world
        .sets()
        .delete("x-1", &DeleteParams::default())
        .await
        .expect("deleted");
    world.reconcile("x-1").await;
    assert!(world.sets().get_opt("x-1").await.expect("asked").is_none());
    let object = world.maps().get("a").await.expect("it survives");
    assert_eq!(object.metadata.owner_references.unwrap_or_default().len(), 0);
    assert!(
        !object
            .metadata
            .annotations
            .unwrap_or_default()
            .contains_key(keys::REVISION)
    );
}

#[tokio::test]
async fn phases_are_torn_down_from_the_last_to_the_first() {
    let world = World::new().await;
    world
        .make(&revision(
            "x",
            1,
            vec![("one", vec![map("a", "1")]), ("two", vec![map("b", "1")])],
        ))
        .await;
    world.reconcile("x-1").await;
    let patch = json!({"metadata": {"finalizers": ["example.com/held"]}});
    let maps = world.maps();
    maps.patch("b", &PatchParams::default(), &Patch::Merge(patch))
        .await
        .expect("held");
    world.archive("x-1").await;
    let next = world.reconcile("x-1").await;
    assert_eq!(next.after, Some(Duration::from_secs(5)));
    assert_eq!(
        world.said("x-1", "Progressing").await.2,
        "removing revision resources that are not owned by another revision"
    );
    assert!(
        world.value("a", "a").await.is_some(),
        "the first phase waits for the second"
    );
    let patch = json!({"metadata": {"finalizers": null}});
    maps.patch("b", &PatchParams::default(), &Patch::Merge(patch))
        .await
        .expect("let go");
    world.reconcile("x-1").await;
    assert_eq!(world.value("a", "a").await, None);
    assert_eq!(world.set("x-1").await.metadata.finalizers, None);
}

#[tokio::test]
async fn a_field_that_is_no_longer_wanted_goes() {
    let world = World::new().await;
    let mut first = map("a", "1");
    first["data"]["b"] = json!("1");
    world.make(&revision("x", 1, vec![("one", vec![first])])).await;
    world.reconcile("x-1").await;
    assert!(world.value("a", "b").await.is_some());
    world
        .make(&revision("x", 2, vec![("one", vec![map("a", "1")])]))
        .await;
    world.reconcile("x-2").await;
    assert_eq!(world.value("a", "b").await, None);
}

#[tokio::test]
async fn an_engine_that_was_stopped_after_creating_goes_on() {
    let world = World::new().await;
    world
        .make(&revision("x", 1, vec![("one", vec![map("a", "1")])]))
        .await;
    world.reconcile("x-1").await;
    // As it is when the object was made, and not yet taken as applied.
    let maps = world.maps();
    let mut object = maps.get("a").await.expect("made");
    for manager in object.metadata.managed_fields.iter_mut().flatten() {
        manager.operation = Some("Update".into());
    }
    maps.replace("a", &PostParams::default(), &object)
        .await
        .expect("replaced");
    let (engine, _) = world.metered(usize::MAX);
    engine.reconcile("x-1").await.expect("reconciled");
    let object = maps.get("a").await.expect("there");
    let managers = object.metadata.managed_fields.unwrap_or_default();
    let ours: Vec<_> = managers
        .iter()
        .filter(|manager| manager.manager.as_deref() == Some(keys::OBJECT_FIELD_OWNER))
        .map(|manager| manager.operation.as_deref())
        .collect();
    assert_eq!(ours, [Some("Apply")]);
}

#[tokio::test]
async fn a_preview_changes_nothing_and_says_what_would() {
    let world = World::new().await;
    world
        .make(&revision(
            "x",
            1,
            vec![("one", vec![map("a", "1"), map("old", "1"), map("same", "1")])],
        ))
        .await;
    world.reconcile("x-1").await;
    let next = revision(
        "x",
        2,
        vec![("one", vec![map("a", "2"), map("new", "2"), map("same", "1")])],
    );
    let before = world.maps().list(&ListParams::default()).await.expect("listed");
    let changes = world.engine.preview(&next).await.expect("previewed");
    let after = world.maps().list(&ListParams::default()).await.expect("listed");
    assert_eq!(before.metadata.resource_version, after.metadata.resource_version);
    let what: BTreeMap<&str, &What> = changes
        .iter()
        .map(|change| (change.id.name.as_str(), &change.what))
        .collect();
    assert_eq!(what["a"], &What::Update);
    assert_eq!(what["new"], &What::Create);
    assert_eq!(what["old"], &What::Delete);
    let change = changes
        .iter()
        .find(|change| change.id.name == "a")
        .expect("a change");
    assert!(change.to_string().contains("data.a: \"1\" -> \"2\""), "{change}");
}

#[tokio::test]
async fn many_objects_are_brought_about() {
    let world = World::new().await;
    let maps = (0..120).map(|index| map(&format!("m{index:03}"), "1"));
    let accounts = (0..10).map(|index| {
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": format!("s{index}"), "namespace": "app"}})
    });
    let mut set = revision("x", 1, Vec::new());
    set.spec.phases = phases_of(maps.chain(accounts));
    world.make(&set).await;
    world.reconcile("x-1").await;
    assert_eq!(world.said("x-1", "Progressing").await.1, "Succeeded");
    let listed = world
        .maps()
        .list(&ListParams::default().labels(keys::OWNER_NAME))
        .await;
    assert_eq!(listed.expect("listed").items.len(), 120);
    let accounts: Api<ServiceAccount> = Api::namespaced(world.client.clone(), "app");
    let listed = accounts
        .list(&ListParams::default().labels(keys::OWNER_NAME))
        .await;
    assert_eq!(listed.expect("listed").items.len(), 10);
    assert_eq!(world.engine.watched_kinds(), 2);
}

/// Counts the requests that change something, and refuses all once there were too many: a program that is killed.
#[derive(Clone, Default)]
struct Meter {
    reads: Arc<AtomicUsize>,
    writes: Arc<AtomicUsize>,
    most_writes: Arc<AtomicUsize>,
}

impl World {
    /// Returns an engine whose requests are counted, and which is killed after so many writes.
    fn metered(&self, most_writes: usize) -> (Engine, Meter) {
        let meter = Meter::default();
        meter.most_writes.store(most_writes, Ordering::SeqCst);
        let (inner, counting) = (self.client.clone(), meter.clone());
        let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
            let (inner, counting) = (inner.clone(), counting.clone());
            async move {
                if request.method() == http::Method::GET {
                    counting.reads.fetch_add(1, Ordering::SeqCst);
                } else {
                    counting.writes.fetch_add(1, Ordering::SeqCst);
                }
                if counting.writes.load(Ordering::SeqCst) > counting.most_writes.load(Ordering::SeqCst) {
                    return Err(tower::BoxError::from("killed"));
                }
                inner.send(request).await.map_err(tower::BoxError::from)
            }
        });
        let client = Client::new(service, "default");
        (Engine::new(client, "system".to_owned()), meter)
    }
}

/// What operators ship, in the shapes that servers add defaults to.
fn operator() -> Vec<Value> {
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "operator", "namespace": "app"},
        "spec": {
            "replicas": 1, "revisionHistoryLimit": 1, "strategy": {},
            "selector": {"matchLabels": {"app": "operator"}},
            "template": {
                "metadata": {"labels": {"app": "operator"}, "annotations": {"olm.targetNamespaces": ""}},
                "spec": {
                    "serviceAccountName": "operator", "securityContext": {"runAsNonRoot": true},
                    "tolerations": [{"key": "a", "operator": "Exists"}],
                    "volumes": [{"name": "v", "emptyDir": {}}],
                    "containers": [{
                        "name": "manager", "image": "example.com/operator:1", "args": ["--leader-elect"],
                        "env": [{"name": "A", "value": "1"},
                            {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
                        "ports": [{"containerPort": 8080}, {"containerPort": 8443, "name": "https"}],
                        "resources": {"limits": {"cpu": "500m"}, "requests": {"cpu": "10m", "memory": "64Mi"}},
                        "livenessProbe": {"httpGet": {"path": "/healthz", "port": 8080}},
                        "volumeMounts": [{"name": "v", "mountPath": "/v"}],
                    }],
                },
            },
        },
    });
    let rules = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]);
    let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "operator"});
    vec![
        deployment,
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "operator", "namespace": "app"}}),
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "app"}, "data": {"a": "MQ=="}}),
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "operator"}, "rules": rules}),
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "operator"},
            "roleRef": role, "subjects": [{"kind": "ServiceAccount", "name": "operator", "namespace": "app"}]}),
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "operator", "namespace": "app"},
            "spec": {"selector": {"app": "operator"}, "ports": [{"port": 443, "targetPort": 8443}]}}),
        json!({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "n", "namespace": "app"},
            "spec": {"podSelector": {"matchLabels": {"app": "operator"}}, "policyTypes": ["Ingress"],
                "ingress": [{"ports": [{"port": 8443, "protocol": "TCP"}]}]}}),
        json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "p", "namespace": "app"},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "operator"}}}}),
        json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "hook", "namespace": "app"},
            "webhooks": [{"name": "a.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
                "failurePolicy": "Ignore",
                "clientConfig": {"service": {"name": "operator", "namespace": "app", "path": "/x", "port": 443}},
                "rules": [{"apiGroups": ["example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["widgets"]}]}]}),
        map("a", "1"),
    ]
}

#[tokio::test]
async fn what_is_as_it_should_be_is_not_written_again() {
    let world = World::new().await;
    let mut set = revision("x", 1, Vec::new());
    set.spec.phases = phases_of(operator());
    world.make(&set).await;
    world.reconcile("x-1").await;
    assert_eq!(world.said("x-1", "Progressing").await.1, "Succeeded");
    // Another engine knows nothing, and must find that nothing is to be done.
    let (engine, meter) = world.metered(usize::MAX);
    engine.reconcile("x-1").await.expect("reconciled");
    assert_eq!(meter.writes.load(Ordering::SeqCst), 0);
    // Once it has seen everything, and its watches run, it need not look again.
    let mut reads = usize::MAX;
    for _ in 0..50 {
        let before = meter.reads.load(Ordering::SeqCst);
        engine.reconcile("x-1").await.expect("reconciled");
        reads = meter.reads.load(Ordering::SeqCst) - before;
        if reads <= 2 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(
        reads <= 2,
        "{reads} reads: one of the revision, one of its siblings"
    );
    // What changes is seen all the same.
    world
        .maps()
        .delete("a", &DeleteParams::default())
        .await
        .expect("deleted");
    let mut is_back = false;
    for _ in 0..50 {
        engine.reconcile("x-1").await.expect("reconciled");
        is_back = world.value("a", "a").await.is_some();
        if is_back {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(is_back);
}

#[tokio::test]
async fn an_engine_may_be_killed_at_every_write() {
    let world = World::new().await;
    for killed_after in 0..200 {
        let extension = format!("e{killed_after}");
        let name = |kind: &str| format!("{kind}-{extension}");
        let first = vec![
            ("one", vec![map(&name("a"), "1"), map(&name("old"), "1")]),
            ("two", vec![map(&name("b"), "1")]),
        ];
        let second = vec![
            ("one", vec![map(&name("a"), "2")]),
            ("two", vec![map(&name("b"), "2"), map(&name("new"), "2")]),
        ];
        world.make(&revision(&extension, 1, first)).await;
        let (one, two) = (format!("{extension}-1"), format!("{extension}-2"));
        let (engine, meter) = world.metered(killed_after);
        let survived_first = engine.reconcile(&one).await.is_ok();
        world.reconcile(&one).await;
        assert_eq!(
            world.said(&one, "Progressing").await.1,
            "Succeeded",
            "killed after {killed_after}"
        );
        world.make(&revision(&extension, 2, second)).await;
        let _ = engine.reconcile(&two).await;
        let _ = engine.reconcile(&one).await;
        let is_alive = meter.writes.load(Ordering::SeqCst) <= killed_after;
        world.reconcile(&two).await;
        world.reconcile(&one).await;
        world.reconcile(&two).await;
        assert_eq!(
            world.said(&two, "Progressing").await.1,
            "Succeeded",
            "killed after {killed_after}"
        );
        assert_eq!(
            world.said(&one, "Progressing").await.1,
            "Archived",
            "killed after {killed_after}"
        );
        for (kind, value) in [
            ("a", Some("2")),
            ("b", Some("2")),
            ("new", Some("2")),
            ("old", None),
        ] {
            assert_eq!(
                world.value(&name(kind), "a").await.as_deref(),
                value,
                "{kind}, killed after {killed_after}"
            );
        }
        for kind in ["a", "b", "new"] {
            let object = world.maps().get(&name(kind)).await.expect("there");
            let owners = object.metadata.owner_references.unwrap_or_default();
            assert_eq!(owners.len(), 1, "killed after {killed_after}: {owners:?}");
            assert_eq!(owners[0].name, two);
        }
        if survived_first && is_alive {
            return;
        }
    }
    panic!("a rollout takes fewer writes");
}
