//! What stays when something goes: deletions and rollbacks.

use api::condition::find;
use api::keys;
use extension_controller::choosing::{Choice, Target};
use extension_controller::deciding::{Write, decide};
use extension_controller::observing::Observer;
use extension_controller::standing::{Bundle, Revision};
use kube::api::{DeleteParams, Patch, PatchParams};
use resolve::resolution::BrokenCatalogs;
use serde_json::json;

use crate::world::{NAMESPACE, SYSTEM, TestBundle, World, says};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_stays_where_it_shall_and_a_word_that_means_nothing_holds_up_the_deletion() {
    let world = World::new().await;
    world.publish("c", &[TestBundle::new("1.0.0")]).await;
    world.extend("a", |_| {}).await;
    world.installed("a", "1.0.0").await;
    world
        .extend("a", |object| {
            object["metadata"]["annotations"] = json!({keys::ON_DELETE: "keep-everything"});
        })
        .await;
    world
        .extensions()
        .delete("a", &DeleteParams::default())
        .await
        .expect("deleted");
    let held = world
        .extension("a", |extension| {
            says(extension, "Progressing", "False", "InvalidConfiguration")
        })
        .await;
    let message = &find(&held.status.conditions, "Progressing")
        .expect("said")
        .message;
    assert!(message.contains("write \"keep-crds\" or \"orphan\""), "{message}");
    assert!(says(&held, "Installed", "True", "Succeeded"));
    world.object("ConfigMap", "p-config", true).await;

    let orphan = json!({"metadata": {"annotations": {keys::ON_DELETE: "orphan"}}});
    world
        .extensions()
        .patch("a", &PatchParams::default(), &Patch::Merge(&orphan))
        .await
        .expect("changed");
    let gone = async {
        while world.extensions().get_opt("a").await.expect("asked").is_some() {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_mins(1), gone)
        .await
        .expect("the extension goes");
    for (kind, name) in [
        ("ConfigMap", "p-config"),
        ("Deployment", "p-operator"),
        ("CustomResourceDefinition", "widgets.example.com"),
        ("ServiceAccount", "p-manager"),
    ] {
        let kept = world.get(kind, name).await.expect("it stays");
        assert!(
            kept["metadata"]["ownerReferences"]
                .as_array()
                .is_none_or(Vec::is_empty),
            "{kind} {name}"
        );
        assert!(kept["metadata"]["deletionTimestamp"].is_null(), "{kind} {name}");
    }
    assert!(world.object_sets().get_opt("a-1").await.expect("asked").is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_foreground_deletion_leaves_what_shall_stay() {
    let world = World::new().await;
    world.publish("c", &[TestBundle::new("1.0.0")]).await;
    world.extend("a", |_| {}).await;
    world.installed("a", "1.0.0").await;
    let blocks = || async {
        let revision = world.object_sets().get("a-1").await.expect("there");
        let owners = revision.metadata.owner_references.unwrap_or_default();
        assert_eq!(owners.len(), 1, "{owners:?}");
        owners[0].block_owner_deletion
    };
    assert_eq!(
        blocks().await,
        Some(true),
        "everything goes in the order that was asked for"
    );
    world
        .extend("a", |object| {
            object["metadata"]["annotations"] = json!({keys::ON_DELETE: "keep-crds"});
        })
        .await;
    let told = async {
        while blocks().await != Some(false) {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_mins(1), told)
        .await
        .expect("the revision is told");
    world
        .extensions()
        .delete("a", &DeleteParams::foreground())
        .await
        .expect("deleted");
    world.object("Deployment", "p-operator", false).await;
    world.object("ConfigMap", "p-config", false).await;
    let gone = async {
        while world.extensions().get_opt("a").await.expect("asked").is_some() {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_mins(1), gone)
        .await
        .expect("the extension goes");
    let kept = world.get("CustomResourceDefinition", "widgets.example.com").await;
    let kept = kept.expect("it stays");
    assert!(
        kept["metadata"]["deletionTimestamp"].is_null(),
        "{}",
        kept["metadata"]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rollback_brings_back_what_the_old_revision_held() {
    let mut world = World::new().await;
    let mut first = TestBundle::new("1.0.0");
    first.config_maps.push("p-only-in-1.0.0".to_owned());
    world.publish("c", &[first]).await;
    world.extend("a", |_| {}).await;
    let extension = world.installed("a", "1.0.0").await;
    world.stop().await;

    let observer = Observer::new(
        world.client.clone(),
        world.catalogs.clone(),
        world.bundles(),
        BrokenCatalogs::Skip,
        SYSTEM.to_owned(),
    );
    observer.fill().await.expect("read");
    let snapshot = observer.observe(&extension).await;
    let revision = snapshot.standing().installed.expect("installed");
    let mut failed: Revision = revision.clone();
    failed.bundle = Bundle {
        metadata: api::cluster_extension::BundleMetadata {
            version: "2.0.0".to_owned(),
            ..failed.bundle.metadata.clone()
        },
        ..failed.bundle.clone()
    };
    let choice = Choice {
        target: Target::Again {
            revision: Box::new(revision),
            instead_of: Box::new(failed),
        },
        deprecations: None,
        wait: None,
        notices: Vec::new(),
    };
    let content = observer
        .content(&snapshot, &choice)
        .await
        .expect("it has content");
    let objects = &content.as_ref().expect("read").objects;
    assert!(
        objects
            .iter()
            .any(|object| object["metadata"]["name"] == "p-only-in-1.0.0")
    );
    // Held against the very revision that it comes from, nothing differs but where it comes from.
    let plan = decide(&snapshot, &choice, Some(&content));
    let [Write::Change(object_set)] = plan.writes.as_slice() else {
        panic!("{:?}", plan.writes);
    };
    let annotations = object_set.metadata.annotations.as_ref().expect("annotations");
    assert_eq!(annotations[keys::ROLLED_BACK_FROM], "2.0.0");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_nobody_owns_is_taken_over_only_if_that_is_wanted() {
    let world = World::new().await;
    world.publish("c", &[TestBundle::new("1.0.0")]).await;
    let existing = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "p-config", "namespace": NAMESPACE},
        "data": {"mine": "stays"},
    });
    world.apply(existing).await;
    let before = world.get("ConfigMap", "p-config").await.expect("there");
    world.extend("a", |_| {}).await;
    let collides = world
        .extension("a", |extension| {
            says(extension, "Progressing", "True", "Retrying")
        })
        .await;
    let message = &find(&collides.status.conditions, "Progressing")
        .expect("said")
        .message;
    assert!(message.contains("p-config"), "{message}");
    world
        .extensions()
        .delete("a", &DeleteParams::default())
        .await
        .expect("deleted");
    world
        .extend("b", |object| {
            object["metadata"]["annotations"] = json!({keys::ADOPT: "unowned"});
        })
        .await;
    world.installed("b", "1.0.0").await;
    let after = world.get("ConfigMap", "p-config").await.expect("there");
    assert_eq!(
        after["metadata"]["uid"], before["metadata"]["uid"],
        "it is the same object"
    );
    assert_eq!(after["data"], json!({"mine": "stays", "version": "1.0.0"}));
    assert_eq!(after["metadata"]["labels"][keys::OWNER_NAME], "b");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_collides_is_taken_over_when_that_is_wanted_afterwards() {
    let world = World::new().await;
    world.publish("c", &[TestBundle::new("1.0.0")]).await;
    world
        .apply(json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "p-config", "namespace": NAMESPACE},
            "data": {"mine": "stays"},
        }))
        .await;
    world.extend("a", |_| {}).await;
    let collides = world
        .extension("a", |extension| {
            says(extension, "Progressing", "True", "Retrying")
        })
        .await;
    let message = &find(&collides.status.conditions, "Progressing")
        .expect("said")
        .message;
    assert!(
        message.ends_with(
            "It exists already: delete it, or let the extension take over what nobody controls: kubectl annotate clusterextension a \
             baton-olm.dev/adopt=unowned"
        ),
        "{message}"
    );
    let wanted = json!({"metadata": {"annotations": {keys::ADOPT: "unowned"}}});
    world
        .extensions()
        .patch("a", &PatchParams::default(), &Patch::Merge(&wanted))
        .await
        .expect("annotated");
    world.installed("a", "1.0.0").await;
    let after = world.get("ConfigMap", "p-config").await.expect("there");
    assert_eq!(after["data"], json!({"mine": "stays", "version": "1.0.0"}));
    assert_eq!(after["metadata"]["labels"][keys::OWNER_NAME], "a");
}
