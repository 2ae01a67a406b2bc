//! Catalogs from their image to served content, in a cluster and with a registry of this process.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use api::cluster_catalog::{AvailabilityMode, CatalogSource, ClusterCatalogSpec, ImageSource};
use api::condition::{self, Condition};
use api::{ClusterCatalog, keys};
use axum::body::Body;
use catalog_controller::fetch::CONFIGS_LABEL;
use catalog_controller::{Controller, Handle, Images, Options, router};
use http::Request;
use http_body_util::BodyExt as _;
use image::build::{self, ImageSettings};
use image::content::ContentStore;
use image::digest::Digest;
use image::layer::{Compression, LayerFiles};
use image::manifest;
use image::reference::Reference;
use image::registry::{Registry, RegistryOptions, Serving, Users};
use image::remote::{Encryption, Remote, RemoteOptions, Retry};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use stage::Stage;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tower::ServiceExt as _;

/// How long anything may take; only a failing test waits for it.
const PATIENCE: Duration = Duration::from_secs(20);

/// A cluster, a registry and folders that vanish with them.
struct World {
    _stage: Stage,
    client: kube::Client,
    registry: Option<Serving>,
    address: String,
    content: ContentStore,
    folder: tempfile::TempDir,
}

/// A controller that runs until it is dropped.
struct Running {
    handle: Handle,
    leads: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn remote_options() -> RemoteOptions {
    RemoteOptions {
        encryption: Encryption::Off,
        retry: Retry {
            attempts: 1,
            ..Retry::default()
        },
        ..RemoteOptions::default()
    }
}

impl World {
    async fn new() -> Self {
        Self::with_users(None).await
    }

    async fn with_users(users: Option<&str>) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut options = RegistryOptions::new(folder.path().join("registry"));
        if let Some(users) = users {
            let path = folder.path().join("htpasswd");
            std::fs::write(&path, users).expect("a file");
            options.users = Some(Users::from_htpasswd(&path).expect("users"));
        }
        let registry = Registry::open(options).expect("a registry");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a socket");
        let serving = registry.serve(listener, None).expect("a registry");
        let stage = Stage::in_memory(stage::Options::default())
            .await
            .expect("a stage");
        let client = kube::Client::new(stage.service(), "default");
        let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
        let definition = api::definitions::OLM_V1[0];
        let object = serde_json::from_value(definition.object()).expect("a definition");
        definitions
            .create(&PostParams::default(), &object)
            .await
            .expect("created");
        let established = kube::runtime::conditions::is_crd_established();
        kube::runtime::wait::await_condition(definitions, definition.name, established)
            .await
            .expect("established");
        Self {
            _stage: stage,
            client,
            address: serving.address().to_string(),
            registry: Some(serving),
            content: ContentStore::temporary().expect("a store"),
            folder,
        }
    }

    fn reference(&self, tag: &str) -> String {
        format!("{}/team/catalog:{tag}", self.address)
    }

    /// Publishes an image with one file below `/configs` and returns its digest.
    async fn push(&self, tag: &str, file: &str, has_label: bool) -> Digest {
        self.push_as(tag, file, has_label, remote_options()).await
    }

    async fn push_as(&self, tag: &str, file: &str, has_label: bool, options: RemoteOptions) -> Digest {
        let mut layer = LayerFiles::new();
        layer
            .add_bytes("configs/catalog.yaml", file, 0o644)
            .expect("a file");
        layer
            .add_bytes("etc/other", "not: [a catalog", 0o644)
            .expect("a file");
        let layer = layer.write(&self.content, Compression::Gzip).expect("a layer");
        let mut settings = ImageSettings::default();
        if has_label {
            settings.labels = BTreeMap::from([(CONFIGS_LABEL.to_owned(), "/configs".to_owned())]);
        }
        let built = build::image(&self.content, &settings, manifest::host_architecture(), &[layer])
            .expect("an image");
        let reference = Reference::parse(&self.reference(tag)).expect("a reference");
        Remote::new(options)
            .push(&self.content, &built.descriptor, &reference)
            .await
            .expect("pushed");
        manifest::digest_of(&built.descriptor).expect("a digest")
    }

    fn catalogs(&self) -> Api<ClusterCatalog> {
        Api::all(self.client.clone())
    }

    async fn create(&self, name: &str, reference: &str, minutes: Option<u32>) -> ClusterCatalog {
        let spec = ClusterCatalogSpec {
            source: CatalogSource {
                kind: "Image".to_owned(),
                image: Some(ImageSource {
                    reference: reference.to_owned(),
                    poll_interval_minutes: minutes,
                }),
            },
            ..ClusterCatalogSpec::default()
        };
        self.catalogs()
            .create(&PostParams::default(), &ClusterCatalog::new(name, spec))
            .await
            .expect("created")
    }

    async fn patch(&self, name: &str, patch: Value) -> ClusterCatalog {
        self.catalogs()
            .patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await
            .expect("patched")
    }

    /// Changes something that matters to nobody, so that the image is looked up again.
    async fn touch(&self, name: &str, priority: i32) {
        self.patch(name, json!({"spec": {"priority": priority}})).await;
    }

    /// Starts a controller on a folder of its own.
    fn run(&self, folder: &str, leads: bool) -> Running {
        let content = ContentStore::open(&self.folder.path().join("images"), 1 << 30).expect("a store");
        let images = Images::new(content, || Ok(remote_options()));
        let options = Options::new(self.data(folder), images, "https://catalogs.example");
        let controller = Controller::new(self.client.clone(), options).expect("a controller");
        let handle = controller.handle();
        let (leads, led) = watch::channel(leads);
        Running {
            handle,
            leads,
            task: tokio::spawn(controller.run(led)),
        }
    }

    fn data(&self, folder: &str) -> std::path::PathBuf {
        self.folder.path().join(folder)
    }

    async fn wait(&self, name: &str, what: &str, holds: impl Fn(&ClusterCatalog) -> bool) -> ClusterCatalog {
        let begun = tokio::time::Instant::now();
        loop {
            let catalog = self.catalogs().get(name).await.expect("the catalog");
            if holds(&catalog) {
                return catalog;
            }
            assert!(
                begun.elapsed() < PATIENCE,
                "waited in vain for {what}: {:#?}",
                catalog.status
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn wait_served(&self, name: &str, digest: &Digest) -> ClusterCatalog {
        self.wait(name, &format!("{digest} to be served"), |catalog| {
            is_settled(catalog)
                && has(catalog, "Serving", "True", "Available")
                && has(catalog, "Progressing", "True", "Succeeded")
                && catalog
                    .resolved_reference()
                    .is_some_and(|reference| reference.ends_with(&digest.to_string()))
        })
        .await
    }

    async fn stop_registry(&mut self) {
        if let Some(registry) = self.registry.take() {
            registry.stop().await;
        }
    }

    async fn start_registry(&mut self) {
        let registry =
            Registry::open(RegistryOptions::new(self.folder.path().join("registry"))).expect("a registry");
        let listener = TcpListener::bind(&self.address).await.expect("the same socket");
        self.registry = Some(registry.serve(listener, None).expect("a registry"));
    }
}

fn condition<'a>(catalog: &'a ClusterCatalog, kind: &str) -> Option<&'a Condition> {
    condition::find(&catalog.status.conditions, kind)
}

fn has(catalog: &ClusterCatalog, kind: &str, status: &str, reason: &str) -> bool {
    condition(catalog, kind).is_some_and(|found| found.status.as_str() == status && found.reason == reason)
}

fn message(catalog: &ClusterCatalog) -> &str {
    condition(catalog, "Progressing").map_or("", |found| &found.message)
}

fn is_settled(catalog: &ClusterCatalog) -> bool {
    let generation = catalog.metadata.generation.unwrap_or_default();
    condition(catalog, "Progressing").is_some_and(|found| found.observed_generation == generation)
}

async fn get(handle: &Handle, name: &str) -> (u16, String) {
    let request = Request::get(format!("/catalogs/{name}/api/v1/all"))
        .body(Body::empty())
        .expect("a request");
    let response = router(handle.clone()).oneshot(request).await.expect("an answer");
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.expect("a body").to_bytes();
    (status, String::from_utf8_lossy(&body).into_owned())
}

async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let begun = tokio::time::Instant::now();
    while !holds().await {
        assert!(begun.elapsed() < PATIENCE, "waited in vain for {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn files_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    entries
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect()
}

const FIRST: &str = "schema: olm.package\nname: first\n";
const SECOND: &str = "schema: olm.package\nname: second\n";

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
async fn a_restart_serves_at_once_and_a_poll_without_news_writes_nothing() {
    let mut world = World::new().await;
    let digest = world.push("latest", FIRST, true).await;
    let running = world.run("data", true);
    world
        .create("operators", &world.reference("latest"), Some(1))
        .await;
    let before = world.wait_served("operators", &digest).await;
    drop(running);

    // The registry is gone, and the content is there all the same.
    world.stop_registry().await;
    let running = world.run("data", false);
    assert_eq!(get(&running.handle, "operators").await.0, 200);
    drop(running);
    world.start_registry().await;

    let running = world.run("data", true);
    let polled = |text: &str| {
        text.lines()
            .any(|line| line.contains("result=\"requeue_after\"} ") && !line.ends_with(" 0"))
    };
    eventually("a poll", async || polled(&running.handle.metrics().text())).await;
    let after = world.catalogs().get("operators").await.expect("the catalog");
    assert_eq!(after.metadata.resource_version, before.metadata.resource_version);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_replica_serves_and_only_one_writes() {
    let world = World::new().await;
    let first = world.push("latest", FIRST, true).await;
    let leader = world.run("one", true);
    let follower = world.run("two", false);
    world.create("operators", &world.reference("latest"), None).await;
    let catalog = world.wait_served("operators", &first).await;
    let reference = catalog.resolved_reference().expect("a reference").to_owned();
    tokio::time::timeout(PATIENCE, follower.handle.wait_for("operators", &reference))
        .await
        .expect("the follower has the content");
    assert_eq!(
        get(&follower.handle, "operators").await,
        get(&leader.handle, "operators").await
    );

    // The other takes over, and goes on where this one stopped.
    drop(leader);
    let second = world.push("latest", SECOND, true).await;
    follower.leads.send(true).expect("it runs");
    world.touch("operators", 1).await;
    world.wait_served("operators", &second).await;
    assert!(get(&follower.handle, "operators").await.1.contains("second"));
    follower.leads.send(false).expect("it runs");
    world
        .catalogs()
        .delete("operators", &DeleteParams::default())
        .await
        .expect("deleted");
    eventually("the follower to withdraw", async || {
        get(&follower.handle, "operators").await.0 == 404
    })
    .await;
    let waiting = world
        .catalogs()
        .get("operators")
        .await
        .expect("the leader isn't there to let it go");
    assert!(waiting.metadata.deletion_timestamp.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_is_gone_is_asked_until_it_is_back() {
    let mut world = World::new().await;
    let digest = world.push("latest", FIRST, true).await;
    world.stop_registry().await;
    let _running = world.run("data", true);
    world.create("operators", &world.reference("latest"), None).await;
    let catalog = world
        .wait("operators", "the registry to be missed", |catalog| {
            has(catalog, "Progressing", "True", "Retrying")
        })
        .await;
    let text = message(&catalog);
    assert!(
        text.starts_with("source catalog content: cannot reach registry "),
        "{text}"
    );
    world.start_registry().await;
    world.wait_served("operators", &digest).await;
}

/// A registry that says one thing and does another: the tag has a digest that no content has.
async fn lying_registry() -> (String, JoinHandle<()>) {
    let document = "{\"schemaVersion\":2}";
    let digest = Digest::of(b"something else");
    let router = axum::Router::new().fallback(move |request: axum::extract::Request| async move {
        let is_manifest = request.uri().path().contains("/manifests/");
        let body = if is_manifest { document } else { "{}" };
        axum::response::Response::builder()
            .header("content-type", "application/vnd.oci.image.manifest.v1+json")
            .header("docker-content-digest", digest.to_string())
            .body(Body::from(body))
            .expect("an answer")
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a socket");
    let address = listener.local_addr().expect("an address").to_string();
    let serving = tokio::spawn(async move {
        axum::serve(listener, router).await.expect("it serves");
    });
    (address, serving)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_lies_changes_nothing_that_is_served() {
    let world = World::new().await;
    let digest = world.push("latest", FIRST, true).await;
    let running = world.run("data", true);
    world.create("operators", &world.reference("latest"), None).await;
    world.wait_served("operators", &digest).await;
    let (liar, serving) = lying_registry().await;
    let reference = format!("{liar}/team/catalog:latest");
    world
        .patch(
            "operators",
            json!({"spec": {"source": {"image": {"ref": reference}}}}),
        )
        .await;
    let catalog = world
        .wait("operators", "the lie to be noticed", |catalog| {
            is_settled(catalog) && has(catalog, "Progressing", "True", "Retrying")
        })
        .await;
    let text = message(&catalog);
    assert!(
        text.contains("sent something else than") && text.contains("still serving"),
        "{text}"
    );
    assert!(has(&catalog, "Serving", "True", "Available"));
    assert!(get(&running.handle, "operators").await.1.contains("first"));
    serving.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_says_nothing_holds_up_nobody_else() {
    let world = World::new().await;
    let digest = world.push("latest", FIRST, true).await;
    let _running = world.run("data", true);
    let silent = TcpListener::bind("127.0.0.1:0").await.expect("a socket");
    let address = silent.local_addr().expect("an address");
    for number in 0..8 {
        world
            .create(
                &format!("silent{number}"),
                &format!("{address}/team/catalog:latest"),
                None,
            )
            .await;
    }
    world
        .wait("silent7", "the controller to be at work", |catalog| {
            catalog
                .metadata
                .finalizers
                .as_ref()
                .is_some_and(|found| !found.is_empty())
        })
        .await;
    world.create("operators", &world.reference("latest"), None).await;
    world.wait_served("operators", &digest).await;

    // Whoever changes their mind needn't wait for the registry either.
    world
        .catalogs()
        .delete("silent0", &DeleteParams::default())
        .await
        .expect("deleted");
    eventually("the catalog to go", async || {
        world
            .catalogs()
            .get_opt("silent0")
            .await
            .expect("asked")
            .is_none()
    })
    .await;
    let reference = world.reference("latest");
    world
        .patch(
            "silent1",
            json!({"spec": {"source": {"image": {"ref": reference}}}}),
        )
        .await;
    world.wait_served("silent1", &digest).await;
    drop(silent);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_catalog_has_a_secret_of_its_own() {
    // The password of "reader" is "secret".
    let hash = bcrypt_of("secret");
    let world = World::with_users(Some(&format!("reader:{hash}\n"))).await;
    let login = image::credentials::Login::Password {
        username: "reader".to_owned(),
        password: image::credentials::Secret::new("secret"),
    };
    let options = RemoteOptions {
        credentials: image::credentials::Credentials::fixed(login),
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
async fn a_damaged_store_is_fetched_again() {
    let world = World::new().await;
    let digest = world.push("latest", FIRST, true).await;
    let running = world.run("data", true);
    world.create("operators", &world.reference("latest"), None).await;
    world.wait_served("operators", &digest).await;
    drop(running);
    let path = world
        .data("data/stores")
        .join(format!("{}.catalog", digest.hex()));
    let mut bytes = std::fs::read(&path).expect("the store");
    let at = bytes
        .windows(5)
        .position(|window| window == b"first")
        .expect("the content");
    bytes[at] = b'F';
    std::fs::remove_file(&path).expect("removed");
    std::fs::write(&path, bytes).expect("written");

    let running = world.run("data", true);
    assert_eq!(get(&running.handle, "operators").await.0, 500);
    eventually("the content to be whole again", async || {
        get(&running.handle, "operators").await
            == (
                200,
                "{\"name\":\"first\",\"schema\":\"olm.package\"}\n".to_owned(),
            )
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_left_of_catalogs_that_are_gone_is_collected() {
    let world = World::new().await;
    let digest = world.push("latest", FIRST, true).await;
    let running = world.run("data", true);
    world.create("operators", &world.reference("latest"), None).await;
    world.create("same", &world.reference("latest"), None).await;
    world.wait_served("operators", &digest).await;
    world.wait_served("same", &digest).await;
    assert_eq!(
        files_in(&world.data("data/stores")).len(),
        1,
        "one image has one store"
    );
    drop(running);
    // It goes while nobody looks, and without waiting for anybody.
    world
        .patch("operators", json!({"metadata": {"finalizers": null}}))
        .await;
    world
        .catalogs()
        .delete("operators", &DeleteParams::default())
        .await
        .expect("deleted");
    let running = world.run("data", true);
    eventually("the garbage to be collected", async || {
        get(&running.handle, "operators").await.0 == 404
    })
    .await;
    assert_eq!(files_in(&world.data("data/served")), ["same.json"]);
    assert_eq!(get(&running.handle, "same").await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_catalogs_are_served_side_by_side() {
    let world = Arc::new(World::new().await);
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
