//! Catalogs from their image to served content, in a cluster and with a registry of this process.

mod faults;
mod world;

use api::cluster_catalog::AvailabilityMode;
use api::keys;
use catalog_controller::fetch::CONFIGS_LABEL;
use image::credentials::{Credentials, Login};
use image::remote::RemoteOptions;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, DeleteParams, PostParams};
use serde_json::json;

use world::{
    FIRST, SECOND, World, condition, eventually, files_in, get, has, is_settled, message, remote_options,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_catalog_is_fetched_served_and_deleted() {
    let world = World::new().await;
    let digest = world.push("latest", FIRST, true).await;
    let running = world.run("data", true);
    assert_eq!(
        get(&running.handle, "operators").await,
        (404, "404 Not Found\n".to_owned())
    );
    world
        .create("operators", &world.reference("latest"), Some(10))
        .await;
    let catalog = world.wait_served("operators", &digest).await;
    let status = &catalog.status;
    let base = status.urls.as_ref().map(|urls| urls.base.as_str());
    assert_eq!(base, Some("https://catalogs.example/catalogs/operators"));
    assert!(status.last_unpacked.is_some());
    let reference = format!("{}/team/catalog@{digest}", world.address);
    assert_eq!(catalog.resolved_reference(), Some(reference.as_str()));
    let labels = catalog.metadata.labels.unwrap_or_default();
    assert_eq!(
        labels.get(keys::METADATA_NAME).map(String::as_str),
        Some("operators")
    );
    let finalizers = catalog.metadata.finalizers.unwrap_or_default();
    assert_eq!(finalizers, [keys::DELETE_SERVER_CACHE]);
    let content = "{\"name\":\"first\",\"schema\":\"olm.package\"}\n";
    assert_eq!(get(&running.handle, "operators").await, (200, content.to_owned()));
    let (served, store) = running.handle.store("operators").expect("a store");
    assert_eq!((served, store.len()), (reference.clone(), 1));
    let waited = running.handle.wait_for("operators", &reference).await;
    assert_eq!(waited.digest(), &digest);

    world
        .catalogs()
        .delete("operators", &DeleteParams::default())
        .await
        .expect("deleted");
    eventually("the catalog to go", async || {
        world
            .catalogs()
            .get_opt("operators")
            .await
            .expect("asked")
            .is_none()
    })
    .await;
    assert_eq!(get(&running.handle, "operators").await.0, 404);
    assert_eq!(files_in(&world.data("data/stores")), [""; 0]);
    assert_eq!(files_in(&world.data("data/served")), [""; 0]);
    assert_eq!(files_in(&world.data("data/unpacking")), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tag_that_moves_is_followed_and_a_broken_image_is_not() {
    let world = World::new().await;
    let first = world.push("latest", FIRST, true).await;
    let running = world.run("data", true);
    world
        .create("operators", &world.reference("latest"), Some(10))
        .await;
    world.wait_served("operators", &first).await;

    let second = world.push("latest", SECOND, true).await;
    world.touch("operators", 1).await;
    world.wait_served("operators", &second).await;
    assert!(get(&running.handle, "operators").await.1.contains("second"));
    assert_eq!(
        files_in(&world.data("data/stores")).len(),
        1,
        "the old store is gone"
    );

    world.push("latest", "schema: [broken", true).await;
    world.touch("operators", 2).await;
    let catalog = world
        .wait("operators", "the broken image to be noticed", |catalog| {
            is_settled(catalog) && has(catalog, "Progressing", "True", "Retrying")
        })
        .await;
    let text = message(&catalog);
    assert!(
        text.starts_with("error storing fbc: error walking FBC root: "),
        "{text}"
    );
    assert!(
        text.ends_with(&format!("still serving {}/team/catalog@{second}", world.address)),
        "{text}"
    );
    assert!(has(&catalog, "Serving", "True", "Available"));
    assert!(get(&running.handle, "operators").await.1.contains("second"));

    world.push("latest", FIRST, true).await;
    world.wait_served("operators", &first).await;
    assert!(get(&running.handle, "operators").await.1.contains("first"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_that_is_said_to_have_moved_is_polled_at_once_where_it_is_polled_at_all() {
    let world = World::new().await;
    let first = world.push("latest", FIRST, true).await;
    let running = world.run("data", true);
    world.create("polled", &world.reference("latest"), Some(10)).await;
    world.create("fixed", &world.reference("latest"), None).await;
    world.wait_served("polled", &first).await;
    world.wait_served("fixed", &first).await;

    let serving = world.registry.as_ref().expect("a registry");
    let mut heard = serving.registry().tagged();
    let second = world.push("latest", SECOND, true).await;
    let tagged = heard.recv().await.expect("the registry tells of the push");
    assert_eq!(
        (tagged.repository.as_str(), tagged.tag.as_str()),
        ("team/catalog", "latest")
    );
    running
        .moved
        .tell("elsewhere.example/team/catalog:latest".to_owned())
        .await;
    running.moved.tell(world.reference("latest")).await;
    world.wait_served("polled", &second).await;
    assert!(get(&running.handle, "fixed").await.1.contains("first"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_without_a_catalog_is_tried_again_only_by_its_tag() {
    let world = World::new().await;
    let digest = world.push("latest", FIRST, false).await;
    let _running = world.run("data", true);
    world.create("tagged", &world.reference("latest"), None).await;
    let fixed = format!("{}/team/catalog@{digest}", world.address);
    world.create("fixed", &fixed, None).await;
    let tagged = world
        .wait("tagged", "the label to be missed", |catalog| {
            has(catalog, "Progressing", "True", "Retrying")
        })
        .await;
    let missing = format!("catalog image is missing the required label \"{CONFIGS_LABEL}\"");
    assert_eq!(
        message(&tagged),
        format!("source catalog content: error applying image: {missing}")
    );
    let fixed = world
        .wait("fixed", "the label to be missed", |catalog| {
            has(catalog, "Progressing", "False", "Blocked")
        })
        .await;
    assert_eq!(
        message(&fixed),
        format!("source catalog content: error applying image: terminal error: {missing}")
    );
    assert!(condition(&fixed, "Serving").is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unavailable_catalog_is_withdrawn_until_it_is_available_again() {
    let world = World::new().await;
    let digest = world.push("latest", FIRST, true).await;
    let running = world.run("data", true);
    world.create("operators", &world.reference("latest"), None).await;
    world.wait_served("operators", &digest).await;
    world
        .patch(
            "operators",
            json!({"spec": {"availabilityMode": AvailabilityMode::Unavailable}}),
        )
        .await;
    let catalog = world
        .wait("operators", "the catalog to be withdrawn", |catalog| {
            has(catalog, "Serving", "False", "UserSpecifiedUnavailable")
                && catalog.metadata.finalizers.as_ref().is_none_or(Vec::is_empty)
        })
        .await;
    assert!(has(&catalog, "Progressing", "True", "Succeeded"));
    assert_eq!(
        message(&catalog),
        "Catalog availability mode is set to Unavailable"
    );
    let status = &catalog.status;
    assert!(status.urls.is_none() && status.resolved_source.is_none() && status.last_unpacked.is_none());
    assert_eq!(get(&running.handle, "operators").await.0, 404);
    world
        .patch(
            "operators",
            json!({"spec": {"availabilityMode": AvailabilityMode::Available}}),
        )
        .await;
    world.wait_served("operators", &digest).await;
    assert_eq!(get(&running.handle, "operators").await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_catalog_has_a_secret_of_its_own() {
    // The password of "reader" is "secret".
    let hash = bcrypt_of("secret");
    let world = World::with_users(Some(&format!("reader:{hash}\n"))).await;
    let login = Login::Password {
        username: "reader".to_owned(),
        password: image::credentials::Secret::new("secret"),
    };
    let options = RemoteOptions {
        credentials: Credentials::fixed(login),
        ..remote_options()
    };
    let digest = world.push_as("latest", FIRST, true, options).await;
    let _running = world.run("data", true);
    world.create("operators", &world.reference("latest"), None).await;
    let refused = world
        .wait("operators", "the catalog to be refused", |catalog| {
            has(catalog, "Progressing", "True", "Retrying")
        })
        .await;
    assert!(
        message(&refused).contains("refuses access"),
        "{}",
        message(&refused)
    );

    world
        .patch(
            "operators",
            json!({"metadata": {"annotations": {keys::PULL_SECRET: "default/registry"}}}),
        )
        .await;
    let missing = world
        .wait("operators", "the secret to be missed", |catalog| {
            message(catalog).contains("default/registry")
        })
        .await;
    assert!(
        message(&missing).contains("does not exist"),
        "{}",
        message(&missing)
    );
    let document = json!({"auths": {&world.address: {"username": "reader", "password": "secret"}}});
    let secret: Secret = serde_json::from_value(json!({
        "metadata": {"name": "registry"},
        "type": "kubernetes.io/dockerconfigjson",
        "stringData": {".dockerconfigjson": document.to_string()},
    }))
    .expect("a secret");
    let secrets: Api<Secret> = Api::namespaced(world.client.clone(), "default");
    secrets
        .create(&PostParams::default(), &secret)
        .await
        .expect("created");
    world.wait_served("operators", &digest).await;
}

fn bcrypt_of(password: &str) -> String {
    bcrypt::hash(password, 4).expect("a hash")
}

#[tokio::test(flavor = "multi_thread")]
async fn many_catalogs_are_served_side_by_side() {
    let world = World::new().await;
    let running = world.run("data", true);
    let mut digests = Vec::new();
    for number in 0..12 {
        let tag = format!("v{number}");
        let digest = world
            .push(
                &tag,
                &format!("schema: olm.package\nname: package{number}\n"),
                true,
            )
            .await;
        world
            .create(&format!("catalog{number}"), &world.reference(&tag), None)
            .await;
        digests.push(digest);
    }
    for (number, digest) in digests.iter().enumerate() {
        let name = format!("catalog{number}");
        world.wait_served(&name, digest).await;
        assert!(
            get(&running.handle, &name)
                .await
                .1
                .contains(&format!("package{number}"))
        );
    }
}
