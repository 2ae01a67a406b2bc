//! What happens when something is in the way.

use std::sync::atomic::Ordering;
use std::time::Duration;

use api::cluster_object_set::CollisionProtection;
use api::keys;
use apply::phases::phases_of;
use apply::secrets::{Destination, pack};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{Api, DeleteParams, PostParams};
use serde_json::json;

use crate::world::{World, map, revision};

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
async fn who_misses_cert_manager_is_told_once_how_to_install_it() {
    let world = World::new().await;
    let of = |kind: &str| json!({"apiVersion": "cert-manager.io/v1", "kind": kind, "metadata": {"name": "c", "namespace": "app"}});
    let phases = vec![("one", vec![of("Certificate"), of("Issuer")])];
    world.make(&revision("x", 1, phases)).await;
    world.reconcile("x-1").await;
    let (_, _, message) = world.said("x-1", "Progressing").await;
    let (upstream, ours) = message.split_once("; ").expect("a next step");
    assert_eq!(
        upstream,
        "phase 0 validation error: phase \"one\": cert-manager.io/v1, Kind=Certificate app/c: no matches for kind \"Certificate\" \
         in version \"cert-manager.io/v1\", cert-manager.io/v1, Kind=Issuer app/c: no matches for kind \"Issuer\" in version \
         \"cert-manager.io/v1\""
    );
    assert!(
        ours.contains("install cert-manager with \"kubectl apply -f https://")
            && ours.contains("--certificates"),
        "{ours}"
    );
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
