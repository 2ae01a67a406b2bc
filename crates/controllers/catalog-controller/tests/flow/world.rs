//! A cluster and a registry in this process, and what tests ask them.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use api::ClusterCatalog;
use api::cluster_catalog::{CatalogSource, ClusterCatalogSpec, ImageSource};
use api::condition::{self, Condition};
use axum::body::Body;
use catalog_controller::fetch::CONFIGS_LABEL;
use catalog_controller::serve::Front;
use catalog_controller::{Controller, Handle, Images, MovedImages, Options, router};
use http::Request;
use http_body_util::BodyExt as _;
use image::build::{self, ImageSettings};
use image::content::ContentStore;
use image::digest::Digest;
use image::layer::{Compression, LayerFiles};
use image::manifest;
use image::reference::Reference;
use image::registry::{Access, Registry, RegistryOptions, Serving, Users};
use image::remote::{Encryption, Remote, RemoteOptions, Retry};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use stage::Stage;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tower::ServiceExt as _;

/// How long anything may take; only a failing test waits for it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A cluster, a registry and folders that vanish with them.
pub(crate) struct World {
    _stage: Stage,
    pub(crate) client: kube::Client,
    pub(crate) registry: Option<Serving>,
    pub(crate) address: String,
    pub(crate) content: ContentStore,
    pub(crate) folder: tempfile::TempDir,
}

/// A controller that runs until it is dropped.
pub(crate) struct Running {
    pub(crate) handle: Handle,
    pub(crate) moved: MovedImages,
    pub(crate) leads: watch::Sender<bool>,
    pub(crate) task: JoinHandle<()>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

pub(crate) fn remote_options() -> RemoteOptions {
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
    pub(crate) async fn new() -> Self {
        Self::with_users(None).await
    }

    pub(crate) async fn with_users(users: Option<&str>) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut options = RegistryOptions::open_to_all(folder.path().join("registry"));
        if let Some(users) = users {
            let path = folder.path().join("htpasswd");
            std::fs::write(&path, users).expect("a file");
            options.access = Access::users_only(Users::from_htpasswd(&path).expect("users"));
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

    pub(crate) fn reference(&self, tag: &str) -> String {
        format!("{}/team/catalog:{tag}", self.address)
    }

    /// Publishes an image with one file below `/configs` and returns its digest.
    pub(crate) async fn push(&self, tag: &str, file: &str, has_label: bool) -> Digest {
        self.push_as(tag, file, has_label, remote_options()).await
    }

    pub(crate) async fn push_as(
        &self,
        tag: &str,
        file: &str,
        has_label: bool,
        options: RemoteOptions,
    ) -> Digest {
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

    pub(crate) fn catalogs(&self) -> Api<ClusterCatalog> {
        Api::all(self.client.clone())
    }

    pub(crate) async fn create(&self, name: &str, reference: &str, minutes: Option<u32>) -> ClusterCatalog {
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

    pub(crate) async fn patch(&self, name: &str, patch: Value) -> ClusterCatalog {
        self.catalogs()
            .patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await
            .expect("patched")
    }

    /// Changes something that matters to nobody, so that the image is looked up again.
    pub(crate) async fn touch(&self, name: &str, priority: i32) {
        self.patch(name, json!({"spec": {"priority": priority}})).await;
    }

    /// Starts a controller on a folder of its own.
    pub(crate) fn run(&self, folder: &str, leads: bool) -> Running {
        let content = ContentStore::open(&self.folder.path().join("images"), 1 << 30).expect("a store");
        let images = Images::new(content, || Ok(remote_options()));
        let options = Options::new(self.data(folder), images, "https://catalogs.example");
        let controller = Controller::new(self.client.clone(), options).expect("a controller");
        let (handle, moved) = (controller.handle(), controller.moved_images());
        let (leads, led) = watch::channel(leads);
        Running {
            handle,
            moved,
            leads,
            task: tokio::spawn(controller.run(led)),
        }
    }

    pub(crate) fn data(&self, folder: &str) -> std::path::PathBuf {
        self.folder.path().join(folder)
    }

    pub(crate) async fn wait(
        &self,
        name: &str,
        what: &str,
        holds: impl Fn(&ClusterCatalog) -> bool,
    ) -> ClusterCatalog {
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

    pub(crate) async fn wait_served(&self, name: &str, digest: &Digest) -> ClusterCatalog {
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

    pub(crate) async fn stop_registry(&mut self) {
        if let Some(registry) = self.registry.take() {
            registry.stop().await;
        }
    }

    pub(crate) async fn start_registry(&mut self) {
        let registry = Registry::open(RegistryOptions::open_to_all(self.folder.path().join("registry")))
            .expect("a registry");
        let listener = TcpListener::bind(&self.address).await.expect("the same socket");
        self.registry = Some(registry.serve(listener, None).expect("a registry"));
    }
}

pub(crate) fn condition<'a>(catalog: &'a ClusterCatalog, kind: &str) -> Option<&'a Condition> {
    condition::find(&catalog.status.conditions, kind)
}

pub(crate) fn has(catalog: &ClusterCatalog, kind: &str, status: &str, reason: &str) -> bool {
    condition(catalog, kind).is_some_and(|found| found.status.as_str() == status && found.reason == reason)
}

pub(crate) fn message(catalog: &ClusterCatalog) -> &str {
    condition(catalog, "Progressing").map_or("", |found| &found.message)
}

pub(crate) fn is_settled(catalog: &ClusterCatalog) -> bool {
    let generation = catalog.metadata.generation.unwrap_or_default();
    condition(catalog, "Progressing").is_some_and(|found| found.observed_generation == generation)
}

pub(crate) async fn get(handle: &Handle, name: &str) -> (u16, String) {
    let request = Request::get(format!("/catalogs/{name}/api/v1/all"))
        .body(Body::empty())
        .expect("a request");
    let response = router(handle.clone(), Front::Nothing)
        .oneshot(request)
        .await
        .expect("an answer");
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.expect("a body").to_bytes();
    (status, String::from_utf8_lossy(&body).into_owned())
}

pub(crate) async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let begun = tokio::time::Instant::now();
    while !holds().await {
        assert!(begun.elapsed() < PATIENCE, "waited in vain for {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

pub(crate) fn files_in(folder: &Path) -> Vec<String> {
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

pub(crate) const FIRST: &str = "schema: olm.package\nname: first\n";
pub(crate) const SECOND: &str = "schema: olm.package\nname: second\n";
