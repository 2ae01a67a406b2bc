//! The whole flow, from an extension to what runs: on a cluster, with a registry, all in this process.

mod explaining;
mod killing;
mod parting;
mod running;
mod world;

use std::time::Duration;

use api::cluster_object_set::LifecycleState;
use api::condition::find;
use api::keys;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::json;

use killing::Mortal;
use world::{NAMESPACE, SYSTEM, TestBundle, World, says};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_extension_is_installed_with_all_that_upstream_promises() {
    let world = World::new().await;
    world.publish("c", &[TestBundle::new("1.2.0")]).await;
    world.extend("a", |_| {}).await;
    let extension = world.installed("a", "1.2.0").await;
    let bundle = &extension.status.install.as_ref().expect("installed").bundle;
    assert_eq!(
        (bundle.name.as_str(), bundle.version.as_str()),
        ("p.1.2.0", "1.2.0")
    );
    assert!(says(&extension, "Installed", "True", "Succeeded"));
    assert!(says(&extension, "Available", "True", "ProbesSucceeded"));
    assert!(says(&extension, "Deprecated", "False", "NotDeprecated"));
    assert!(says(&extension, "BundleDeprecated", "False", "NotDeprecated"));
    let message = &find(&extension.status.conditions, "Installed")
        .expect("said")
        .message;
    assert!(
        message.starts_with("Installed bundle 127.0.0.1:") && message.ends_with(" successfully"),
        "{message}"
    );
    for condition in &extension.status.conditions {
        assert_eq!(
            condition.observed_generation,
            extension.generation(),
            "{}",
            condition.kind
        );
    }
    let config = world.get("ConfigMap", "p-config").await.expect("applied");
    assert_eq!(config["metadata"]["labels"][keys::OWNER_NAME], "a");
    assert_eq!(config["metadata"]["labels"][keys::OWNER_KIND], "ClusterExtension");
    assert_eq!(config["metadata"]["annotations"][keys::BUNDLE_VERSION], "1.2.0");

    let object_set = world.object_sets().get("a-1").await.expect("a revision");
    let annotations = object_set.metadata.annotations.as_ref().expect("annotations");
    assert_eq!(
        annotations[keys::PROPERTIES],
        r#"[{"type":"olm.test-property","value":"some-value"}]"#
    );
    let labels = object_set.metadata.labels.as_ref().expect("labels");
    assert_eq!(labels[keys::OWNER_NAME], "a");
    let secrets: Api<Secret> = Api::namespaced(world.client.clone(), SYSTEM);
    let of_revision = ListParams::default().labels("olm.operatorframework.io/revision-name=a-1");
    let secrets = secrets.list(&of_revision).await.expect("listed").items;
    assert!(!secrets.is_empty());
    for secret in secrets {
        assert_eq!(secret.immutable, Some(true));
        assert_eq!(secret.type_.as_deref(), Some(keys::OBJECT_DATA));
        let owners = secret.metadata.owner_references.expect("owners");
        assert_eq!(Some(&owners[0].uid), object_set.metadata.uid.as_ref());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_extension_is_upgraded_by_its_catalog_pinned_and_forced() {
    let world = World::new().await;
    let mut first = TestBundle::new("1.0.0");
    first.config_maps.push("p-only-in-1.0.0".to_owned());
    let second = TestBundle::new("1.0.1").replaces("1.0.0");
    let third = TestBundle::new("1.2.0").replaces("1.0.1");
    let bundles = [first, second, third];
    world.publish("c", &bundles).await;
    let version = |version: &'static str| {
        move |object: &mut serde_json::Value| {
            object["spec"]["source"]["catalog"]["version"] = json!(version);
        }
    };
    world.extend("a", version("1.0.0")).await;
    world.installed("a", "1.0.0").await;
    world.object("ConfigMap", "p-only-in-1.0.0", true).await;

    world.extend("a", version("1.2.0")).await;
    let refused = world
        .extension("a", |extension| {
            says(extension, "Progressing", "True", "Retrying")
        })
        .await;
    assert_eq!(
        find(&refused.status.conditions, "Progressing")
            .expect("said")
            .message,
        "error upgrading from currently installed version \"1.0.0\": no bundles found for package \"p\" matching version \"1.2.0\""
    );
    assert!(says(&refused, "Installed", "True", "Succeeded"));

    world.extend("a", version("1.0.1")).await;
    let upgraded = world.installed("a", "1.0.1").await;
    let active: Vec<&str> = upgraded
        .status
        .active_revisions
        .iter()
        .map(|active| active.name.as_str())
        .collect();
    assert_eq!(active, ["a-2"]);
    world.object("ConfigMap", "p-only-in-1.0.0", false).await;
    let old = world.object_sets().get("a-1").await.expect("the old revision");
    assert_eq!(old.spec.lifecycle_state, LifecycleState::Archived);

    let forced = |object: &mut serde_json::Value| {
        object["spec"]["source"]["catalog"]["version"] = json!("1.0.0");
        object["spec"]["source"]["catalog"]["upgradeConstraintPolicy"] = json!("SelfCertified");
    };
    world.extend("a", forced).await;
    world.installed("a", "1.0.0").await;
    world.object("ConfigMap", "p-only-in-1.0.0", true).await;

    // Without a version the catalog decides, now and when it has something new.
    world.extend("a", |_| {}).await;
    world.installed("a", "1.2.0").await;
    let [first, second, third] = bundles;
    let fourth = TestBundle::new("1.3.0").replaces("1.2.0");
    world.publish("c", &[first, second, third, fourth]).await;
    world.installed("a", "1.3.0").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rollout_that_is_stuck_is_redirected_by_another_version() {
    let world = World::new().await;
    let bundles = [
        TestBundle::new("1.0.0"),
        TestBundle::new("1.0.1").replaces("1.0.0").fate("unready"),
        TestBundle::new("1.0.2").replaces("1.0.0"),
    ];
    world.publish("c", &bundles).await;
    let version = |version: &'static str| {
        move |object: &mut serde_json::Value| {
            object["spec"]["source"]["catalog"]["version"] = json!(version);
        }
    };
    world.extend("a", version("1.0.0")).await;
    world.installed("a", "1.0.0").await;
    world.extend("a", version("1.0.1")).await;
    let stuck = world
        .extension("a", |extension| {
            extension.status.active_revisions.len() == 2
                && extension.status.active_revisions[1]
                    .conditions
                    .iter()
                    .any(|condition| condition.kind == "Available" && condition.reason == "ProbeFailure")
        })
        .await;
    assert!(
        says(&stuck, "Installed", "True", "Succeeded"),
        "the old one is still installed"
    );
    assert!(says(&stuck, "Progressing", "True", "RollingOut"));
    world.extend("a", version("1.0.2")).await;
    let redirected = world.installed("a", "1.0.2").await;
    assert_eq!(redirected.status.active_revisions.len(), 1);
    assert_eq!(redirected.status.active_revisions[0].name, "a-3");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_deleted_or_changed_comes_back_even_without_a_catalog_or_in_a_pause() {
    let world = World::new().await;
    world.publish("c", &[TestBundle::new("1.0.0")]).await;
    world.extend("a", |_| {}).await;
    world.installed("a", "1.0.0").await;
    let config_maps = world.api_of("ConfigMap");
    config_maps
        .delete("p-config", &DeleteParams::default())
        .await
        .expect("deleted");
    world.object("ConfigMap", "p-config", true).await;

    let catalogs: Api<api::ClusterCatalog> = Api::all(world.client.clone());
    catalogs
        .delete("c", &DeleteParams::default())
        .await
        .expect("deleted");
    config_maps
        .delete("p-config", &DeleteParams::default())
        .await
        .expect("deleted");
    world.object("ConfigMap", "p-config", true).await;
    let none = |object: &mut serde_json::Value| {
        object["spec"]["install"] = json!({"preflight": {"crdUpgradeSafety": {"enforcement": "None"}}});
    };
    world.extend("a", none).await;
    let extension = world
        .extension("a", |extension| {
            find(&extension.status.conditions, "Progressing")
                .is_some_and(|said| said.observed_generation == 2 && said.reason == "Succeeded")
        })
        .await;
    assert!(says(&extension, "Installed", "True", "Succeeded"));

    world
        .extend("a", |object| {
            none(object);
            object["metadata"]["annotations"] = json!({keys::PAUSE: "true"});
        })
        .await;
    let changed = json!({"data": {"version": "changed"}});
    config_maps
        .patch("p-config", &PatchParams::default(), &Patch::Merge(&changed))
        .await
        .expect("changed");
    let repaired = async {
        loop {
            let found = world.get("ConfigMap", "p-config").await.expect("there");
            if found["data"]["version"] == "1.0.0" {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), repaired)
        .await
        .expect("repaired");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approved_version_is_installed_and_what_waits_is_shown() {
    let world = World::new().await;
    world.publish("c", &[TestBundle::new("1.0.0")]).await;
    let manual = |object: &mut serde_json::Value| {
        object["metadata"]["annotations"] = json!({keys::APPROVAL: "manual"});
    };
    world.extend("a", manual).await;
    let waiting = world
        .extension("a", |extension| {
            says(extension, "Progressing", "False", "Blocked")
        })
        .await;
    assert_eq!(waiting.status.install, None);
    let told = world
        .extension("a", |extension| {
            extension
                .metadata
                .annotations
                .as_ref()
                .is_some_and(|all| all.contains_key(keys::WAITING))
        })
        .await;
    assert_eq!(
        told.metadata.annotations.expect("annotations")[keys::WAITING],
        "1.0.0"
    );
    world
        .extend("a", |object| {
            object["metadata"]["annotations"] = json!({keys::APPROVAL: "manual", keys::APPROVE: "1.0.0"});
        })
        .await;
    let installed = world.installed("a", "1.0.0").await;
    assert!(
        !installed
            .metadata
            .annotations
            .expect("annotations")
            .contains_key(keys::WAITING)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_image_is_installed_without_a_catalog() {
    let world = World::new().await;
    let image = world.push(&TestBundle::new("3.0.0")).await;
    world
        .extend("a", |object| {
            object["metadata"]["annotations"] = json!({keys::BUNDLE_IMAGE: image});
        })
        .await;
    let extension = world.installed("a", "3.0.0").await;
    assert_eq!(
        extension.status.install.expect("installed").bundle.name,
        "p.v3.0.0"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_extension_takes_everything_with_it_but_what_shall_stay() {
    let world = World::new().await;
    world.publish("c", &[TestBundle::new("1.0.0")]).await;
    world.extend("a", |_| {}).await;
    world.installed("a", "1.0.0").await;
    world
        .extensions()
        .delete("a", &DeleteParams::default())
        .await
        .expect("deleted");
    for (kind, name) in [
        ("ConfigMap", "p-config"),
        ("Deployment", "p-operator"),
        ("CustomResourceDefinition", "widgets.example.com"),
        ("ServiceAccount", "p-manager"),
    ] {
        world.object(kind, name, false).await;
    }
    let secrets: Api<Secret> = Api::namespaced(world.client.clone(), SYSTEM);
    let gone = async {
        while !secrets
            .list(&ListParams::default())
            .await
            .expect("listed")
            .items
            .is_empty()
        {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), gone)
        .await
        .expect("no Secret is left");

    world
        .extend("b", |object| {
            object["metadata"]["annotations"] = json!({keys::ON_DELETE: "keep-crds"});
        })
        .await;
    world.installed("b", "1.0.0").await;
    world
        .extensions()
        .delete("b", &DeleteParams::default())
        .await
        .expect("deleted");
    world.object("Deployment", "p-operator", false).await;
    world.object("ConfigMap", "p-config", false).await;
    let kept = world
        .object("CustomResourceDefinition", "widgets.example.com", true)
        .await;
    let kept = kept.expect("kept");
    assert!(
        kept["metadata"]["ownerReferences"]
            .as_array()
            .is_none_or(Vec::is_empty),
        "{}",
        kept["metadata"]
    );
    assert!(kept["metadata"]["deletionTimestamp"].is_null());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_extension_of_the_same_package_collides_and_does_no_harm() {
    let world = World::new().await;
    world.publish("c", &[TestBundle::new("1.0.0")]).await;
    world.extend("a", |_| {}).await;
    world.installed("a", "1.0.0").await;
    world.extend("a-dup", |_| {}).await;
    let collides = world
        .extension("a-dup", |extension| {
            says(extension, "Progressing", "True", "Retrying")
                && find(&extension.status.conditions, "Progressing")
                    .is_some_and(|said| said.message.contains("revision object collisions"))
        })
        .await;
    assert!(says(&collides, "Installed", "False", "Failed"));
    world
        .extend("a-dup", |object| {
            object["spec"]["config"] = json!({"configType": "Inline", "inline": {
                "deploymentConfig": {"env": [{"name": "MY_VAR", "value": "my-value"}]},
            }});
        })
        .await;
    world
        .extension("a-dup", |extension| extension.status.active_revisions.len() == 2)
        .await;
    let first = world.extensions().get("a").await.expect("there");
    assert!(says(&first, "Installed", "True", "Succeeded"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_controller_that_is_stopped_and_started_goes_on_where_it_was() {
    let mut world = World::new().await;
    let bundles = [
        TestBundle::new("1.0.0"),
        TestBundle::new("1.0.1").replaces("1.0.0"),
    ];
    world.publish("c", &bundles[..1]).await;
    world.extend("a", |_| {}).await;
    world.installed("a", "1.0.0").await;
    world.stop().await;
    world.publish("c", &bundles).await;
    world.start();
    world.installed("a", "1.0.1").await;
    let names: Vec<String> = {
        let revisions = world
            .object_sets()
            .list(&ListParams::default())
            .await
            .expect("listed");
        revisions
            .items
            .iter()
            .map(|object_set| object_set.name().to_owned())
            .collect()
    };
    assert_eq!(names, ["a-1", "a-2"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_helm_installed_becomes_the_first_revision_and_keeps_running() {
    use std::io::Write as _;

    let mut world = World::without_controller().await;
    world.publish("c", &[TestBundle::new("1.0.0")]).await;
    world.extend("a", |_| {}).await;
    let extension = world.extensions().get("a").await.expect("there");
    let owner = json!([{
        "apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterExtension", "name": "a",
        "uid": extension.metadata.uid, "controller": true, "blockOwnerDeletion": true,
    }]);
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "p-config", "namespace": NAMESPACE}, "data": {"version": "1.0.0"},
    });
    let mut live = object.clone();
    live["metadata"]["ownerReferences"] = owner;
    world.apply(live).await;
    let before = world.get("ConfigMap", "p-config").await.expect("there");

    let release = json!({
        "name": "a", "version": 1, "info": {"status": "deployed"},
        "manifest": format!("---\n# Source: a/object.json\n{object}\n"),
    });
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(release.to_string().as_bytes()).expect("packed");
    let packed = packed.finish().expect("packed");
    let (first, second) = packed.split_at(packed.len() / 2);
    let secrets: Api<Secret> = Api::namespaced(world.client.clone(), SYSTEM);
    let encoded = |bytes: &[u8]| k8s_openapi::ByteString(bytes.to_vec());
    // What doesn't fit into a label is an annotation.
    let annotations = json!({keys::BUNDLE_REFERENCE: "registry.example.com/p:v0.9.0"});
    let secret = |name: &str, kind: &str, labels: serde_json::Value, data: serde_json::Value| {
        serde_json::from_value::<Secret>(json!({
            "metadata": {"name": name, "labels": labels, "annotations": annotations}, "type": kind, "data": data,
        }))
        .expect("a Secret")
    };
    let index = secret(
        "sh.helm.release.v1.a.v1",
        "operatorframework.io/index.v1",
        json!({
            "name": "a", "owner": "operator-controller", "status": "deployed", "version": "1", "type": "index",
            keys::BUNDLE_NAME: "p.0.9.0", keys::BUNDLE_VERSION: "0.9.0", keys::PACKAGE_NAME: "p",
        }),
        json!({"chunk": encoded(first), "extraChunks": encoded(br#"["sh.helm.release.v1.a.v1-chunk"]"#)}),
    );
    let chunk = secret(
        "sh.helm.release.v1.a.v1-chunk",
        "operatorframework.io/chunk.v1",
        json!({"owner": "operator-controller", "type": "chunk"}),
        json!({"chunk": encoded(second)}),
    );
    for secret in [index, chunk] {
        secrets
            .create(&PostParams::default(), &secret)
            .await
            .expect("made");
    }
    world.start();
    let adopted = world
        .extension("a", |extension| {
            extension
                .status
                .install
                .as_ref()
                .is_some_and(|install| install.bundle.version == "0.9.0")
        })
        .await;
    assert!(says(&adopted, "Installed", "True", "Succeeded"));
    let object_set = world.object_sets().get("a-1").await.expect("the first revision");
    assert_eq!(
        object_set.metadata.labels.as_ref().expect("labels")[keys::MIGRATED_FROM_HELM],
        "true"
    );
    let after = world.get("ConfigMap", "p-config").await.expect("there");
    assert_eq!(
        after["metadata"]["uid"], before["metadata"]["uid"],
        "it is the same object"
    );
    assert_eq!(after["data"], before["data"]);
}

/// Stops the controller after each of its writes, and starts another one, which must come to the same end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_controller_that_is_killed_at_any_write_leaves_nothing_behind() {
    let mut is_over = false;
    let mut writes = 1;
    while !is_over {
        let mut world = World::without_controller().await;
        world.publish("c", &[TestBundle::new("1.0.0")]).await;
        let mortal = Mortal::new(world.stage.service(), writes);
        let left = mortal.left();
        world.start_with(kube::Client::new(mortal, "default"));
        world.extend("a", |_| {}).await;
        is_over = tokio::time::timeout(Duration::from_mins(1), async {
            loop {
                if left.load(std::sync::atomic::Ordering::SeqCst) <= 0 {
                    return false;
                }
                let extension = world.extensions().get("a").await.expect("there");
                if extension.status.install.is_some() && says(&extension, "Progressing", "True", "Succeeded")
                {
                    return true;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await
        .expect("it dies or comes to its end");
        world.stop().await;
        world.start();
        world.installed("a", "1.0.0").await;
        let revisions = world
            .object_sets()
            .list(&ListParams::default())
            .await
            .expect("listed")
            .items;
        let states: Vec<(&str, LifecycleState)> = revisions
            .iter()
            .map(|object_set| (object_set.name(), object_set.spec.lifecycle_state))
            .collect();
        assert_eq!(
            states,
            [("a-1", LifecycleState::Active)],
            "killed after {writes} writes"
        );
        let used: Vec<&str> = revisions
            .iter()
            .flat_map(|object_set| &object_set.spec.phases)
            .flat_map(|phase| &phase.objects)
            .filter_map(|entry| entry.reference.as_ref())
            .map(|reference| reference.name.as_str())
            .collect();
        let secrets: Api<Secret> = Api::namespaced(world.client.clone(), SYSTEM);
        for secret in secrets.list(&ListParams::default()).await.expect("listed").items {
            let name = secret.metadata.name.as_deref().expect("a name");
            assert!(
                used.contains(&name),
                "killed after {writes} writes: nobody uses Secret {name}"
            );
            let owners = secret.metadata.owner_references.unwrap_or_default();
            assert_eq!(
                owners.len(),
                1,
                "killed after {writes} writes: nobody owns Secret {name}"
            );
        }
        writes += 1;
    }
    assert!(writes > 10, "only {writes} writes");
}
