//! Installing and uninstalling.

use release::actions::Ownership;
use release::hooks::Attempt;
use release::{Cause, Options};
use serde_json::json;

use crate::world::{NAMESPACE, World};

#[tokio::test]
async fn an_install_writes_its_record_and_each_object_once() {
    let world = World::new().await;
    let outcome = world.install("soup", json!({})).await.expect("installed");
    assert_eq!(
        world.meter.take(),
        [
            "POST /api/v1/namespaces/apps/secrets",
            "PATCH /api/v1/namespaces/apps/serviceaccounts/soup",
            "PATCH /api/v1/namespaces/apps/configmaps/soup-cm",
            "PATCH /api/v1/namespaces/apps/services/soup-svc",
            "PATCH /apis/apps/v1/namespaces/apps/deployments/soup-web",
            "PUT /api/v1/namespaces/apps/secrets/sh.helm.release.v1.soup.v1",
        ]
    );
    assert_eq!(world.history("soup").await, ["1 deployed: Install complete"]);
    assert_eq!(world.objects("soup").await.len(), 4);
    assert_eq!(outcome.written.len(), 4);
    assert!(outcome.written.iter().all(|written| !written.uid.is_empty()
        && !written.resource_version.is_empty()
        && written.fingerprint.0 != 0
        && written.id.namespace == NAMESPACE));
    let secret = world
        .get("v1", "Secret", "sh.helm.release.v1.soup.v1")
        .await
        .expect("a record");
    assert_eq!(secret["type"], "helm.sh/release.v1");
    let labels = &secret["metadata"]["labels"];
    assert!(
        labels["modifiedAt"].is_string() && labels["createdAt"].is_null(),
        "{labels}"
    );
    let stored = chart::release::Release::from_secret(&secret).expect("a release");
    assert_eq!(stored.info.notes, "Kitchen soup revision 1.\n");
    assert_eq!(stored.info.first_deployed, stored.info.last_deployed);
    assert!(
        !stored.manifest.contains("meta.helm.sh"),
        "the marks are put on when objects are applied"
    );
}

#[tokio::test]
async fn records_belong_to_their_owner() {
    let world = World::new().await;
    world
        .create(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owner"}}))
        .await;
    let owner = world.get("v1", "ConfigMap", "owner").await.expect("there");
    let uid = owner["metadata"]["uid"].as_str().expect("an identity").to_owned();
    let owner = serde_json::from_value(json!({
        "apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid, "controller": true, "blockOwnerDeletion": true,
    }));
    let options = Options {
        owner: Some(owner.expect("a reference")),
        ..Options::default()
    };
    let prepared = world.prepare("soup", 1, &json!({}));
    let releases = world.releases_with("soup", options);
    let outcome = releases.install(prepared).await.expect("installed");
    assert!(outcome.record.is_owned_by(&uid));
    let secret = world
        .get("v1", "Secret", "sh.helm.release.v1.soup.v1")
        .await
        .expect("a record");
    let references = secret["metadata"]["ownerReferences"].as_array().expect("owners");
    assert_eq!(references.len(), 1);
    assert_eq!(references[0]["controller"], true);
}

#[tokio::test]
async fn a_name_is_used_once() {
    let world = World::new().await;
    world.install("soup", json!({})).await.expect("installed");
    let failure = world.install("soup", json!({})).await.expect_err("taken");
    assert_eq!(failure.message, "cannot re-use a name that is still in use");
    assert_eq!(failure.cause, Cause::InUse);
    assert!(failure.record.is_none());
}

#[tokio::test]
async fn an_object_of_somebody_else_stops_an_install_and_nothing_is_left() {
    for ownership in [Ownership::AsWritten, Ownership::First] {
        let world = World::new().await;
        world
            .create(
                json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "soup-svc"},
                "spec": {"ports": [{"port": 1}]}}),
            )
            .await;
        let options = Options {
            ownership,
            ..Options::default()
        };
        let prepared = world.prepare("soup", 1, &json!({}));
        let failure = world
            .releases_with("soup", options)
            .install(prepared)
            .await
            .expect_err("a collision");
        assert_eq!(failure.cause, Cause::Collision);
        assert!(failure.record.is_none(), "nothing is left");
        assert_eq!(
            failure.message,
            "Unable to continue with install: Service \"soup-svc\" in namespace \"apps\" exists and cannot be imported into \
             the current release: invalid ownership metadata; label validation error: missing key \
             \"app.kubernetes.io/managed-by\": must be set to \"Helm\"; annotation validation error: missing key \
             \"meta.helm.sh/release-name\": must be set to \"soup\"; annotation validation error: missing key \
             \"meta.helm.sh/release-namespace\": must be set to \"apps\""
        );
        assert_eq!(world.objects("soup").await, Vec::<String>::new());
        assert_eq!(world.history("soup").await, Vec::<String>::new());
        let service = world.get("v1", "Service", "soup-svc").await.expect("untouched");
        assert_eq!(service["spec"]["ports"][0]["port"], 1);
    }
}

#[tokio::test]
async fn an_object_that_carries_the_marks_is_taken_over() {
    let world = World::new().await;
    world
        .install("soup", json!({"kept": true}))
        .await
        .expect("installed");
    let standing = world.standing("soup").await;
    let uninstalled = world
        .releases("soup")
        .uninstall(standing, Attempt::First)
        .await
        .expect("gone");
    assert_eq!(
        uninstalled.kept,
        "These resources were kept due to the resource policy:\n[ConfigMap] soup-kept\n"
    );
    assert_eq!(world.objects("soup").await, ["ConfigMap-kept"]);
    assert_eq!(world.history("soup").await, Vec::<String>::new());
    world
        .install("soup", json!({"kept": true}))
        .await
        .expect("installed again");
    assert_eq!(world.objects("soup").await.len(), 5);
}

#[tokio::test]
async fn an_uninstall_goes_through_the_kinds_in_helms_order() {
    let world = World::new().await;
    world
        .install("soup", json!({"extra": true}))
        .await
        .expect("installed");
    let standing = world.standing("soup").await;
    world.meter.take();
    let releases = world.releases("soup");
    releases.uninstall(standing, Attempt::First).await.expect("gone");
    assert_eq!(
        world.meter.take(),
        [
            "PUT /api/v1/namespaces/apps/secrets/sh.helm.release.v1.soup.v1",
            "DELETE /api/v1/namespaces/apps/services/soup-svc",
            "DELETE /apis/apps/v1/namespaces/apps/deployments/soup-web",
            "DELETE /api/v1/namespaces/apps/configmaps/soup-cm",
            "DELETE /api/v1/namespaces/apps/configmaps/soup-extra",
            "DELETE /api/v1/namespaces/apps/serviceaccounts/soup",
            "DELETE /api/v1/namespaces/apps/secrets/sh.helm.release.v1.soup.v1",
        ]
    );
}

#[tokio::test]
async fn hooks_run_around_an_install_and_are_written_down() {
    let world = World::new().await;
    let hooks = json!({"hooks": {"pre-install": {"policy": "hook-succeeded"}, "post-install": {}}});
    let outcome = world.install("soup", hooks).await.expect("installed");
    let hooks = &outcome.record.release.hooks;
    let told: Vec<_> = hooks
        .iter()
        .map(|hook| {
            (
                hook.name.as_str(),
                hook.last_run.phase.as_str(),
                hook.delete_policies.clone(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            (
                "soup-post-install",
                "Succeeded",
                vec!["before-hook-creation".to_owned()]
            ),
            ("soup-pre-install", "Succeeded", vec!["hook-succeeded".to_owned()]),
        ]
    );
    assert!(world.get("batch/v1", "Job", "soup-pre-install").await.is_none());
    let job = world
        .get("batch/v1", "Job", "soup-post-install")
        .await
        .expect("it stays");
    assert!(
        job["metadata"]["labels"]["app.kubernetes.io/managed-by"].is_null(),
        "hooks carry no marks"
    );
}

#[tokio::test]
async fn definitions_come_before_everything_else_and_stay_as_they_are() {
    let world = World::new().await;
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.kitchen.test"},
        "spec": {"group": "kitchen.test", "scope": "Namespaced", "names": {"kind": "Widget", "plural": "widgets"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}});
    let crd = |definition: &serde_json::Value| chart::crds::Crd {
        name: "crds/widget.yaml".to_owned(),
        file_name: "kitchen/crds/widget.yaml".to_owned(),
        data: definition.to_string().into(),
    };
    let timeout = release::definitions::TIMEOUT;
    let made = release::definitions::install(&world.cluster, &[crd(&definition)], timeout).await;
    made.expect("made and served");
    world
        .create(json!({"apiVersion": "kitchen.test/v1", "kind": "Widget", "metadata": {"name": "a"}}))
        .await;
    let mut changed = definition.clone();
    changed["spec"]["names"]["shortNames"] = json!(["w"]);
    let again = release::definitions::install(&world.cluster, &[crd(&changed)], timeout).await;
    again.expect("there already");
    let live = world
        .get(
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            "widgets.kitchen.test",
        )
        .await
        .expect("there");
    assert!(live["spec"]["names"]["shortNames"].is_null());
    let broken = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "x"}, "spec": {}});
    let failure = release::definitions::install(&world.cluster, &[crd(&broken)], timeout).await;
    let text = failure.expect_err("refused").message;
    assert!(
        text.starts_with("failed to install CRD crds/widget.yaml: 1 error occurred:\n\t* "),
        "{text}"
    );
}
