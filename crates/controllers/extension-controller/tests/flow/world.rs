//! A cluster, a registry and a controller in this process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use api::condition::find;
use api::{ClusterCatalog, ClusterExtension, ClusterObjectSet, definitions};
use catalog::reading::Source;
use catalog::store::{Store, StoreWriter};
use extension_controller::bundles::{Bundles, Certificates};
use extension_controller::catalogs::{Catalogs, ContentError};
use extension_controller::controller::{Controller, Options};
use image::build::{ImageSettings, image as build_image};
use image::content::ContentStore;
use image::digest::Digest;
use image::layer::{Compression, LayerFiles};
use image::manifest::host_architecture;
use image::reference::Reference;
use image::registry::{Registry, Serving};
use image::remote::{Remote, RemoteOptions};
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams, PostParams};
use resolve::resolution::BrokenCatalogs;
use serde_json::{Value, json};
use stage::Stage;
use tokio::task::JoinHandle;

pub(crate) const NAMESPACE: &str = "operators";
pub(crate) const SYSTEM: &str = "olmv1-system";

/// How long something may take that happens in milliseconds, on a machine that does much else.
const PATIENCE: Duration = Duration::from_mins(1);

/// The name of a catalog that makes whoever reads it panic.
pub(crate) const PANICS: &str = "panics";

/// Catalogs whose content a test wrote, by their resolved references.
#[derive(Debug, Clone, Default)]
pub(crate) struct TestCatalogs(Arc<Mutex<HashMap<String, Arc<Store>>>>);

impl Catalogs for TestCatalogs {
    async fn content(&self, catalog: &ClusterCatalog) -> Result<Arc<Store>, ContentError> {
        assert_ne!(catalog.name(), PANICS, "a catalog that makes its readers panic");
        let not_found = || ContentError::NotFound(catalog.name().to_owned());
        let reference = catalog.resolved_reference().ok_or_else(not_found)?;
        let stores = self.0.lock().expect("no test panicked");
        stores.get(reference).cloned().ok_or_else(not_found)
    }
}

impl TestCatalogs {
    /// Takes all content away, and returns it.
    pub(crate) fn take(&self) -> HashMap<String, Arc<Store>> {
        std::mem::take(&mut self.0.lock().expect("no test panicked"))
    }

    pub(crate) fn put(&self, contents: HashMap<String, Arc<Store>>) {
        *self.0.lock().expect("no test panicked") = contents;
    }
}

/// What a bundle of the test holds.
#[derive(Debug, Clone)]
pub(crate) struct TestBundle {
    pub(crate) version: &'static str,
    pub(crate) replaces: Option<&'static str>,
    /// What the node makes of its pod.
    pub(crate) fate: &'static str,
    /// Names of further ConfigMaps.
    pub(crate) config_maps: Vec<String>,
    /// The type of the field `size` of its custom resource.
    pub(crate) size: &'static str,
}

impl TestBundle {
    pub(crate) fn new(version: &'static str) -> Self {
        Self {
            version,
            replaces: None,
            fate: "running",
            config_maps: Vec::new(),
            size: "integer",
        }
    }

    pub(crate) fn replaces(mut self, version: &'static str) -> Self {
        self.replaces = Some(version);
        self
    }

    pub(crate) fn fate(mut self, fate: &'static str) -> Self {
        self.fate = fate;
        self
    }
}

pub(crate) struct World {
    pub(crate) stage: Stage,
    pub(crate) client: kube::Client,
    pub(crate) catalogs: TestCatalogs,
    registry: Serving,
    remote: Arc<Remote>,
    folder: tempfile::TempDir,
    controller: Option<(JoinHandle<()>, tokio::sync::oneshot::Sender<()>)>,
}

impl World {
    /// Makes a cluster with the kinds of OLM v1 and a controller that looks after it.
    pub(crate) async fn new() -> Self {
        let mut world = Self::without_controller().await;
        world.start();
        world
    }

    pub(crate) async fn without_controller() -> Self {
        let stage = Stage::in_memory(stage::Options::default())
            .await
            .expect("a stage");
        let client = kube::Client::new(stage.service(), "default");
        let folder = tempfile::tempdir().expect("a folder");
        let registry = Registry::serve_on_loopback(folder.path().join("registry"))
            .await
            .expect("a registry");
        let world = Self {
            stage,
            client,
            catalogs: TestCatalogs::default(),
            registry,
            remote: Arc::new(Remote::new(RemoteOptions::default())),
            folder,
            controller: None,
        };
        for definition in definitions::OLM_V1 {
            world.apply(definition.object()).await;
        }
        for policy in api::admission::OLM_V1 {
            world.apply(policy.object()).await;
        }
        let namespaces: Api<Namespace> = Api::all(world.client.clone());
        for name in [NAMESPACE, SYSTEM] {
            let namespace = serde_json::from_value(json!({"metadata": {"name": name}})).expect("a namespace");
            namespaces
                .create(&PostParams::default(), &namespace)
                .await
                .expect("made");
        }
        world
    }

    /// Starts a controller; if one was running, it is stopped before.
    pub(crate) fn start(&mut self) {
        self.start_with(self.client.clone());
    }

    /// Starts a controller that has its own way to the cluster.
    pub(crate) fn start_with(&mut self, client: kube::Client) {
        let controller = Controller::new(Options {
            client,
            system_namespace: SYSTEM.to_owned(),
            catalogs: self.catalogs.clone(),
            bundles: self.bundles(),
            broken_catalogs: BrokenCatalogs::Skip,
        });
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let running = tokio::spawn(async move {
            controller
                .run(async {
                    stopped.await.ok();
                })
                .await;
        });
        self.controller = Some((running, stop));
    }

    /// Returns what fetches bundles from the registry.
    pub(crate) fn bundles(&self) -> Bundles {
        let remote = Arc::clone(&self.remote);
        let store = ContentStore::open(&self.folder.path().join("images"), 1 << 30).expect("a store");
        Bundles::new(
            Arc::new(move || Box::pin(std::future::ready(Ok(Arc::clone(&remote))))),
            store,
            Certificates::CertManager,
        )
    }

    pub(crate) async fn stop(&mut self) {
        if let Some((running, stop)) = self.controller.take() {
            stop.send(()).ok();
            running.await.expect("the controller ended");
        }
    }

    /// Applies an object, whatever its kind.
    pub(crate) async fn apply(&self, object: Value) {
        let api_version = object["apiVersion"].as_str().expect("a version");
        let kind = object["kind"].as_str().expect("a kind");
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        let objects: Api<DynamicObject> = match object["metadata"]["namespace"].as_str() {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
            None => Api::all_with(self.client.clone(), &resource),
        };
        let name = object["metadata"]["name"].as_str().expect("a name").to_owned();
        objects
            .patch(&name, &PatchParams::apply("test").force(), &Patch::Apply(&object))
            .await
            .expect("applied");
    }

    pub(crate) fn extensions(&self) -> Api<ClusterExtension> {
        Api::all(self.client.clone())
    }

    pub(crate) fn object_sets(&self) -> Api<ClusterObjectSet> {
        Api::all(self.client.clone())
    }

    /// Asks for package `p`, with changes to the spec.
    pub(crate) async fn extend(&self, name: &str, change: impl FnOnce(&mut Value)) {
        let mut object = json!({
            "apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterExtension",
            "metadata": {"name": name},
            "spec": {"namespace": NAMESPACE, "source": {"sourceType": "Catalog", "catalog": {"packageName": "p"}}},
        });
        change(&mut object);
        self.apply(object).await;
    }

    /// Publishes bundles and a catalog of them with one channel.
    pub(crate) async fn publish(&self, catalog: &str, bundles: &[TestBundle]) {
        let mut objects = vec![json!({"schema": "olm.package", "name": "p", "defaultChannel": "stable"})];
        let entries: Vec<Value> = bundles
            .iter()
            .map(|bundle| {
                let mut entry = json!({"name": format!("p.{}", bundle.version)});
                if let Some(replaces) = bundle.replaces {
                    entry["replaces"] = json!(format!("p.{replaces}"));
                }
                entry
            })
            .collect();
        objects.push(json!({"schema": "olm.channel", "name": "stable", "package": "p", "entries": entries}));
        for bundle in bundles {
            let image = self.push(bundle).await;
            objects.push(json!({
                "schema": "olm.bundle", "name": format!("p.{}", bundle.version), "package": "p", "image": image,
                "properties": [{"type": "olm.package", "value": {"packageName": "p", "version": bundle.version}}],
            }));
        }
        self.serve(catalog, &objects).await;
    }

    /// Serves objects as a catalog.
    pub(crate) async fn serve(&self, catalog: &str, objects: &[Value]) {
        let lines: Vec<String> = objects.iter().map(Value::to_string).collect();
        let bytes = lines.join("\n").into_bytes();
        let digest = Digest::of(&bytes);
        let files = std::collections::BTreeMap::from([("catalog.json".to_owned(), bytes)]);
        let mut writer =
            StoreWriter::create(&self.folder.path().join("catalogs"), &digest).expect("a writer");
        writer.push_all(Source::Files(&files)).expect("a catalog");
        let store = writer.finish().expect("a store");
        let reference = format!("registry.example.com/{catalog}@{digest}");
        self.catalogs
            .0
            .lock()
            .expect("no test panicked")
            .insert(reference.clone(), Arc::new(store));
        self.apply(json!({
            "apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterCatalog",
            "metadata": {"name": catalog},
            "spec": {"source": {"type": "Image", "image": {"ref": format!("registry.example.com/{catalog}:latest")}}},
        }))
        .await;
        let status = json!({"status": {
            "conditions": [
                {"type": "Serving", "status": "True", "reason": "Available", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"},
            ],
            "resolvedSource": {"type": "Image", "image": {"ref": reference}},
            "urls": {"base": format!("https://catalogs.example.com/catalogs/{catalog}")},
        }});
        let catalogs: Api<ClusterCatalog> = Api::all(self.client.clone());
        catalogs
            .patch_status(catalog, &PatchParams::default(), &Patch::Merge(&status))
            .await
            .expect("served");
    }

    /// Builds and pushes the image of a bundle; returns its name.
    pub(crate) async fn push(&self, bundle: &TestBundle) -> String {
        let store = ContentStore::temporary().expect("a store");
        let mut files = LayerFiles::new();
        for (path, content) in files_of(bundle) {
            files.add_bytes(&path, content, 0o644).expect("a file");
        }
        let layer = files.write(&store, Compression::Gzip).expect("a layer");
        let built =
            build_image(&store, &ImageSettings::default(), host_architecture(), &[layer]).expect("an image");
        let name = format!("{}/p:v{}", self.registry.address(), bundle.version);
        let reference = Reference::parse(&name).expect("a reference");
        self.remote
            .push(&store, &built.descriptor, &reference)
            .await
            .expect("pushed");
        format!("{}/p@{}", self.registry.address(), built.descriptor.digest())
    }

    /// Waits until an extension is as `wanted` says.
    pub(crate) async fn extension(
        &self,
        name: &str,
        wanted: impl Fn(&ClusterExtension) -> bool,
    ) -> ClusterExtension {
        let extensions = self.extensions();
        let mut last = None;
        let deadline = tokio::time::Instant::now() + PATIENCE;
        while tokio::time::Instant::now() < deadline {
            let found = extensions.get_opt(name).await.expect("asked");
            if let Some(found) = found {
                if wanted(&found) {
                    return found;
                }
                last = Some(found);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let revisions = self
            .object_sets()
            .list(&ListParams::default())
            .await
            .expect("asked");
        let revisions: Vec<Value> = revisions
            .items
            .iter()
            .map(|set| json!([set.name(), set.spec.lifecycle_state, set.status]))
            .collect();
        panic!(
            "{name} is {:#?}\n{revisions:#?}",
            last.map(|extension| json!(extension.status))
        );
    }

    /// Waits until a version is installed and nothing else is on its way.
    pub(crate) async fn installed(&self, name: &str, version: &str) -> ClusterExtension {
        self.extension(name, |extension| {
            let installed = extension
                .status
                .install
                .as_ref()
                .map(|install| install.bundle.version.as_str());
            installed == Some(version) && says(extension, "Progressing", "True", "Succeeded")
        })
        .await
    }

    /// Waits until an object is there, or isn't.
    pub(crate) async fn object(&self, kind: &str, name: &str, is_there: bool) -> Option<Value> {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let found = self.get(kind, name).await;
            if found.is_some() == is_there {
                return found;
            }
            assert!(tokio::time::Instant::now() < deadline, "{kind} {name}: {found:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub(crate) fn api_of(&self, kind: &str) -> Api<DynamicObject> {
        let (group, version, is_namespaced) = match kind {
            "ConfigMap" | "Secret" | "ServiceAccount" => ("", "v1", true),
            "Deployment" => ("apps", "v1", true),
            "CustomResourceDefinition" => ("apiextensions.k8s.io", "v1", false),
            "ClusterRole" => ("rbac.authorization.k8s.io", "v1", false),
            other => panic!("{other} is not known here"),
        };
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        if is_namespaced {
            Api::namespaced_with(self.client.clone(), NAMESPACE, &resource)
        } else {
            Api::all_with(self.client.clone(), &resource)
        }
    }

    pub(crate) async fn get(&self, kind: &str, name: &str) -> Option<Value> {
        let found = self.api_of(kind).get_opt(name).await.expect("asked");
        found.map(|object| serde_json::to_value(object).expect("JSON"))
    }
}

/// Returns whether a condition of an extension says this.
pub(crate) fn says(extension: &ClusterExtension, kind: &str, status: &str, reason: &str) -> bool {
    find(&extension.status.conditions, kind)
        .is_some_and(|said| said.status.as_str() == status && said.reason == reason)
}

fn files_of(bundle: &TestBundle) -> Vec<(String, Vec<u8>)> {
    let service_version = json!({
        "apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
        "metadata": {"name": format!("p.v{}", bundle.version)},
        "spec": {
            "displayName": "P", "version": bundle.version,
            "installModes": [
                {"type": "OwnNamespace", "supported": false}, {"type": "SingleNamespace", "supported": false},
                {"type": "MultiNamespace", "supported": false}, {"type": "AllNamespaces", "supported": true},
            ],
            "customresourcedefinitions": {"owned": [
                {"name": "widgets.example.com", "kind": "Widget", "version": "v1"},
            ]},
            "install": {"strategy": "deployment", "spec": {
                "clusterPermissions": [{"serviceAccountName": "p-manager", "rules": [
                    {"apiGroups": ["example.com"], "resources": ["widgets"], "verbs": ["*"]},
                ]}],
                "deployments": [{"name": "p-operator", "spec": {
                    "replicas": 1,
                    "selector": {"matchLabels": {"app": "p"}},
                    "template": {
                        "metadata": {"labels": {"app": "p"}, "annotations": {"stage.baton.dev/simulate": bundle.fate}},
                        "spec": {
                            "serviceAccountName": "p-manager",
                            "containers": [{"name": "manager", "image": format!("registry.example.com/p:{}", bundle.version)}],
                        },
                    },
                }}],
            }},
        },
    });
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"size": {"type": bundle.size}},
            }}}],
        },
    });
    let mut files = vec![
        (
            "manifests/p.clusterserviceversion.yaml".to_owned(),
            service_version.to_string().into_bytes(),
        ),
        (
            "manifests/widgets.crd.yaml".to_owned(),
            definition.to_string().into_bytes(),
        ),
        (
            "metadata/annotations.yaml".to_owned(),
            b"annotations:\n  operators.operatorframework.io.bundle.package.v1: p\n".to_vec(),
        ),
        (
            "metadata/properties.yaml".to_owned(),
            b"properties:\n- type: olm.test-property\n  value: some-value\n".to_vec(),
        ),
    ];
    for name in std::iter::once("p-config").chain(bundle.config_maps.iter().map(String::as_str)) {
        let config_map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"version": bundle.version},
        });
        files.push((
            format!("manifests/{name}.yaml"),
            config_map.to_string().into_bytes(),
        ));
    }
    files
}
