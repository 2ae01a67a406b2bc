//! A cluster in this process with catalogs, extensions and custom resources, and a console that shows them.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use api::definitions::{self, Definition};
use api::{ClusterCatalog, ClusterExtension};
use axum::body::Body;
use axum::response::Response;
use catalog::reading::Source;
use catalog::store::{Store, StoreWriter};
use chart::release::{Release, Stored};
use console::{Console, Hosts, Options, SessionLimits, Token};
use extension_controller::bundles::{Bundles, Certificates};
use extension_controller::catalogs::{Catalogs, ContentError};
use extension_controller::controller::{self, Controller};
use http::{Method, Request};
use http_body_util::BodyExt as _;
use image::build::{ImageSettings, image as build_image};
use image::content::ContentStore;
use image::digest::Digest;
use image::layer::{Compression, LayerFiles};
use image::manifest::host_architecture;
use image::reference::Reference;
use image::registry::{Registry, Serving};
use image::remote::{Remote, RemoteOptions};
use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams};
use regex::Regex;
use resolve::resolution::BrokenCatalogs;
use serde_json::{Value, json};
use stage::Stage;
use tower::ServiceExt as _;

/// The token that opens the console of tests.
pub(crate) const TOKEN: &str = "token-for-tests-token-for-tests-00";

/// The port that the console of tests believes to be reached at.
pub(crate) const PORT: u16 = 8443;

const SYSTEM: &str = "olmv1-system";

/// How long something may take that happens in milliseconds, on a machine that does much else.
const PATIENCE: Duration = Duration::from_mins(1);

/// Catalogs whose content a test wrote, by their resolved references.
#[derive(Clone, Default)]
struct TestCatalogs(Arc<Mutex<HashMap<String, Arc<Store>>>>);

impl Catalogs for TestCatalogs {
    async fn content(&self, catalog: &ClusterCatalog) -> Result<Arc<Store>, ContentError> {
        let reference = catalog.resolved_reference().unwrap_or_default();
        let stores = self.0.lock().expect("no test panicked");
        let store = stores.get(reference).cloned();
        store.ok_or_else(|| ContentError::NotFound(catalog.name().to_owned()))
    }
}

impl TestCatalogs {
    fn put(&self, reference: &str, store: Store) {
        let mut stores = self.0.lock().expect("no test panicked");
        stores.insert(reference.to_owned(), Arc::new(store));
    }
}

/// A cluster and its console.
pub(crate) struct World {
    pub(crate) client: kube::Client,
    pub(crate) console: Arc<Console>,
    pub(crate) router: axum::Router,
    /// What lets this visitor in.
    pub(crate) ticket: Ticket,
    catalogs: TestCatalogs,
    folder: tempfile::TempDir,
    registry: Serving,
    remote: Arc<Remote>,
    /// Dropped last: everything above talks to it.
    _stage: Stage,
}

impl World {
    /// A cluster with nothing but the kinds of OLM v1.
    pub(crate) async fn empty() -> Self {
        Self::new(PORT, definitions::OLM_V1, SessionLimits::default()).await
    }

    /// The same with other limits for sessions.
    pub(crate) async fn with_sessions(limits: SessionLimits) -> Self {
        Self::new(PORT, definitions::OLM_V1, limits).await
    }

    /// A cluster with the kinds of OLM v0, too, for a console that is really reached at a port.
    pub(crate) async fn with_olm_v0(port: u16) -> Self {
        let definitions = definitions::OLM_V1.into_iter().chain(definitions::OLM_V0);
        Self::new(port, definitions, SessionLimits::default()).await
    }

    async fn new(
        port: u16,
        definitions: impl IntoIterator<Item = Definition>,
        sessions: SessionLimits,
    ) -> Self {
        let stage = Stage::in_memory(stage::Options::default())
            .await
            .expect("a stage");
        let client = kube::Client::new(stage.service(), "default");
        let folder = tempfile::tempdir().expect("a folder");
        let registry = Registry::serve_on_loopback(folder.path().join("registry"))
            .await
            .expect("a registry");
        for definition in definitions {
            apply(&client, definition.object()).await;
        }
        for name in [SYSTEM, "web-system", "shop-system", "shop"] {
            apply(
                &client,
                json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}),
            )
            .await;
        }
        let catalogs = TestCatalogs::default();
        let remote = Arc::new(Remote::new(RemoteOptions::default()));
        let console = Console::new(Options {
            client: client.clone(),
            catalogs: catalogs.clone(),
            bundles: bundles(&remote, &folder.path().join("looked-at")),
            broken_catalogs: BrokenCatalogs::Skip,
            system_namespace: SYSTEM.to_owned(),
            token: Token::from_text(TOKEN).expect("a token"),
            sessions,
            hosts: Hosts::loopback(port),
        });
        tokio::spawn(Arc::clone(&console).run(std::future::pending()));
        let router = console::router(Arc::clone(&console));
        Self {
            ticket: Ticket::fetch(&router, port).await,
            router,
            client,
            console,
            catalogs,
            folder,
            registry,
            remote,
            _stage: stage,
        }
    }

    /// Fills the cluster with what every page has something to show of.
    pub(crate) async fn fill(&self) {
        self.publish().await;
        self.start_controller();
        self.extend(
            "web",
            json!({"baton-olm.dev/approval": "manual", "baton-olm.dev/approve": "1.0.0"}),
            json!({
                "packageName": "web-operator", "version": "1.0.0", "channels": ["stable"],
            }),
        )
        .await;
        self.extend("shop", json!({}), json!({"packageName": "shop-operator"}))
            .await;
        self.extend("lost", json!({}), json!({"packageName": "nowhere"}))
            .await;
        self.extension("web", |extension| version(extension) == Some("1.0.0"))
            .await;
        // The next version may come, but somebody must approve it.
        self.extend(
            "web",
            json!({"baton-olm.dev/approval": "manual", "baton-olm.dev/approve": "1.0.0"}),
            json!({
                "packageName": "web-operator", "channels": ["stable"],
            }),
        )
        .await;
        self.extension("web", |extension| {
            annotation(extension, "baton-olm.dev/waiting").is_some()
        })
        .await;
        self.extension("shop", |extension| says(extension, "RollingOut"))
            .await;
        self.extension("lost", |extension| says(extension, "Retrying"))
            .await;
        self.release().await;
    }

    fn start_controller(&self) {
        let controller = Controller::new(controller::Options {
            client: self.client.clone(),
            system_namespace: SYSTEM.to_owned(),
            catalogs: self.catalogs.clone(),
            bundles: bundles(&self.remote, &self.folder.path().join("images")),
            broken_catalogs: BrokenCatalogs::Skip,
        });
        tokio::spawn(async move { controller.run(std::future::pending()).await });
    }

    async fn extend(&self, name: &str, annotations: Value, catalog: Value) {
        let namespace = format!("{name}-system");
        let namespace = if name == "lost" { SYSTEM } else { &namespace };
        apply(
            &self.client,
            json!({
                "apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterExtension",
                "metadata": {"name": name, "annotations": annotations},
                "spec": {"namespace": namespace, "source": {"sourceType": "Catalog", "catalog": catalog}},
            }),
        )
        .await;
    }

    /// Says that an extension, which no controller looks after here, has installed a version.
    pub(crate) async fn claim(&self, name: &str, channel: &str, version: &str) {
        self.extend(
            name,
            json!({}),
            json!({"packageName": "web-operator", "channels": [channel]}),
        )
        .await;
        let bundle = json!({"name": format!("web-operator.v{version}"), "version": version});
        let status = json!({"status": {"install": {"bundle": bundle}}});
        let patched = self
            .extensions()
            .patch_status(name, &PatchParams::default(), &Patch::Merge(&status))
            .await;
        patched.expect("a status");
    }

    /// Publishes two packages in one catalog; another catalog can't be fetched.
    pub(crate) async fn publish(&self) {
        let mut objects = vec![
            json!({"schema": "olm.package", "name": "web-operator", "defaultChannel": "stable",
                "description": "# Web operator\n\nServes the web, and <keeps> serving it."}),
            json!({"schema": "olm.channel", "package": "web-operator", "name": "stable", "entries": [
                {"name": "web-operator.v1.0.0"},
                {"name": "web-operator.v1.1.0", "replaces": "web-operator.v1.0.0"},
                {"name": "web-operator.v1.2.0", "replaces": "web-operator.v1.1.0", "skips": ["web-operator.v1.0.0"]},
            ]}),
            json!({"schema": "olm.channel", "package": "web-operator", "name": "fast", "entries": [
                {"name": "web-operator.v1.2.0"},
                {"name": "web-operator.v2.0.0", "replaces": "web-operator.v1.2.0", "skipRange": ">=1.0.0 <2.0.0"},
            ]}),
            json!({"schema": "olm.deprecations", "package": "web-operator", "entries": [
                {"reference": {"schema": "olm.bundle", "name": "web-operator.v1.1.0"}, "message": "1.1.0 loses requests; use 1.2.0"},
            ]}),
            json!({"schema": "olm.package", "name": "shop-operator", "defaultChannel": "stable", "description": "Sells things"}),
            json!({"schema": "olm.channel", "package": "shop-operator", "name": "stable", "entries": [{"name": "shop-operator.v0.1.0"}]}),
        ];
        for (package, version, fate) in [
            ("web-operator", "1.0.0", "running"),
            ("web-operator", "1.1.0", "running"),
            ("web-operator", "1.2.0", "running"),
            ("web-operator", "2.0.0", "running"),
            ("shop-operator", "0.1.0", "unready"),
        ] {
            let image = self.push(package, version, fate).await;
            objects.push(json!({
                "schema": "olm.bundle", "name": format!("{package}.v{version}"), "package": package, "image": image,
                "properties": [{"type": "olm.package", "value": {"packageName": package, "version": version}}],
            }));
        }
        self.serve("main", &objects).await;
        self.catalog("broken").await;
        let status = json!({"status": {"conditions": [
            {"type": "Progressing", "status": "True", "reason": "Retrying",
                "message": "source catalog content: error creating image source: registry.example.com: connection refused",
                "lastTransitionTime": "2026-01-01T00:00:00Z"},
            {"type": "Serving", "status": "False", "reason": "Unavailable", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"},
        ]}});
        self.catalog_status("broken", &status).await;
    }

    async fn catalog(&self, name: &str) {
        apply(&self.client, json!({
            "apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterCatalog", "metadata": {"name": name},
            "spec": {"source": {"type": "Image", "image": {"ref": format!("registry.example.com/{name}:latest")}}},
        }))
        .await;
    }

    async fn catalog_status(&self, name: &str, status: &Value) {
        let catalogs: Api<ClusterCatalog> = Api::all(self.client.clone());
        let patch = Patch::Merge(status);
        let patched = catalogs.patch_status(name, &PatchParams::default(), &patch).await;
        patched.expect("a status");
    }

    async fn serve(&self, name: &str, objects: &[Value]) {
        let lines: Vec<String> = objects.iter().map(Value::to_string).collect();
        let bytes = lines.join("\n").into_bytes();
        let digest = Digest::of(&bytes);
        let files = BTreeMap::from([("catalog.json".to_owned(), bytes)]);
        let mut writer =
            StoreWriter::create(&self.folder.path().join("catalogs"), &digest).expect("a writer");
        writer.push_all(Source::Files(&files)).expect("a catalog");
        let store = writer.finish().expect("a store");
        let reference = format!("registry.example.com/{name}@{digest}");
        self.catalogs.put(&reference, store);
        self.catalog(name).await;
        let status = json!({"status": {
            "conditions": [
                {"type": "Progressing", "status": "True", "reason": "Succeeded",
                    "message": "Successfully unpacked and stored content from resolved source",
                    "lastTransitionTime": "2026-01-01T00:00:00Z"},
                {"type": "Serving", "status": "True", "reason": "Available", "message": "Serving desired content from resolved source",
                    "lastTransitionTime": "2026-01-01T00:00:00Z"},
            ],
            "resolvedSource": {"type": "Image", "image": {"ref": reference}},
            "urls": {"base": format!("https://catalogs.example.com/catalogs/{name}")},
            "lastUnpacked": "2026-01-01T00:00:00Z",
        }});
        self.catalog_status(name, &status).await;
    }

    /// Builds and pushes the image of a bundle; returns its name.
    async fn push(&self, package: &str, version: &str, fate: &str) -> String {
        let store = ContentStore::temporary().expect("a store");
        let mut files = LayerFiles::new();
        for (path, content) in bundle_files(package, version, fate) {
            files.add_bytes(&path, content, 0o644).expect("a file");
        }
        let layer = files.write(&store, Compression::Gzip).expect("a layer");
        let built =
            build_image(&store, &ImageSettings::default(), host_architecture(), &[layer]).expect("an image");
        let name = format!("{}/{package}:v{version}", self.registry.address());
        let reference = Reference::parse(&name).expect("a reference");
        let pushed = self.remote.push(&store, &built.descriptor, &reference).await;
        pushed.expect("pushed");
        format!(
            "{}/{package}@{}",
            self.registry.address(),
            built.descriptor.digest()
        )
    }

    /// Makes a custom resource, and its kind if it isn't there.
    pub(crate) async fn shop(&self, shop: &Value) -> DynamicObject {
        apply(&self.client, json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "shops.example.com"},
            "spec": {
                "group": "example.com", "scope": "Namespaced",
                "names": {"plural": "shops", "singular": "shop", "kind": "Shop", "listKind": "ShopList"},
                "versions": [{"name": "v1alpha1", "served": true, "storage": true, "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}],
            },
        }))
        .await;
        let shops = self.shops();
        let name = shop["metadata"]["name"].as_str().expect("a name");
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let parameters = PatchParams::apply("test").force();
            match shops.patch(name, &parameters, &Patch::Apply(shop)).await {
                Ok(made) => return made,
                // The kind is served a moment after its definition is there.
                Err(error) => assert!(tokio::time::Instant::now() < deadline, "{error}"),
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Makes a custom resource with two revisions of a release, of whose objects somebody changed one.
    async fn release(&self) {
        let shop = json!({
            "apiVersion": "example.com/v1alpha1", "kind": "Shop",
            "metadata": {"name": "books", "namespace": "shop", "labels": {"operatorVersion": "v2"}},
            "spec": {"replicas": 1, "greeting": "hello", "nodeSelector": {"disk": "fast"}},
        });
        let made = self.shop(&shop).await;
        let deadline = tokio::time::Instant::now() + PATIENCE;
        let shops = self.shops();
        let status = json!({"status": {"conditions": [
            {"type": "Deployed", "status": "True", "reason": "UpgradeSuccessful", "message": "release was successfully upgraded",
                "lastTransitionTime": "2026-01-01T00:00:00Z"},
            {"type": "Ready", "status": "True", "reason": "WorkloadsAvailable", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"},
        ]}});
        let patched = shops
            .patch_status("books", &PatchParams::default(), &Patch::Merge(&status))
            .await;
        patched.expect("a status");
        let owner = json!({
            "apiVersion": "example.com/v1alpha1", "kind": "Shop", "name": "books", "uid": made.metadata.uid,
            "controller": true, "blockOwnerDeletion": true,
        });
        for (revision, greeting, state) in [(1, "hi", "superseded"), (2, "hello", "deployed")] {
            let mut secret =
                record(revision, greeting, state).to_secret(&BTreeMap::new(), Stored::Created(0));
            secret["metadata"]["ownerReferences"] = json!([owner]);
            apply(&self.client, secret).await;
        }
        for mut object in objects_of("hello") {
            object["metadata"]["namespace"] = json!("shop");
            if object["kind"] == "ConfigMap" {
                object["data"]["greeting"] = json!("somebody else was here");
            }
            apply(&self.client, object).await;
        }
        let pods: Api<k8s_openapi::api::core::v1::Pod> = Api::namespaced(self.client.clone(), "shop");
        while tokio::time::Instant::now() < deadline {
            let list = pods.list(&kube::api::ListParams::default()).await.expect("pods");
            let is_ready = |pod: &k8s_openapi::api::core::v1::Pod| {
                let status = pod.status.as_ref();
                let containers = status.and_then(|status| status.container_statuses.as_ref());
                containers.is_some_and(|all| all.iter().all(|container| container.ready))
            };
            if !list.items.is_empty() && list.items.iter().all(is_ready) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub(crate) fn shops(&self) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk("example.com", "v1alpha1", "Shop");
        Api::namespaced_with(self.client.clone(), "shop", &ApiResource::from_gvk(&kind))
    }

    pub(crate) fn extensions(&self) -> Api<ClusterExtension> {
        Api::all(self.client.clone())
    }

    /// Waits until an extension is as `wanted` says.
    pub(crate) async fn extension(
        &self,
        name: &str,
        wanted: impl Fn(&ClusterExtension) -> bool,
    ) -> ClusterExtension {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let found = self.extensions().get(name).await.expect("an extension");
            if wanted(&found) {
                return found;
            }
            assert!(
                tokio::time::Instant::now() < deadline,
                "{name} is {:#?}",
                found.status
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Sends a request as a visitor who may look.
    pub(crate) async fn visit(&self, path: &str) -> Answer {
        self.send(self.opened(Method::GET, path)).await
    }

    /// Presses a button of a page.
    pub(crate) async fn press(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let request = self
            .opened(Method::POST, path)
            .header("origin", format!("http://127.0.0.1:{PORT}"));
        let mut all = vec![("key", self.form_key().await)];
        all.extend(fields.iter().map(|(key, value)| (*key, (*value).to_owned())));
        let form: Vec<String> = all.iter().map(|(key, value)| format!("{key}={value}")).collect();
        self.send_with(request, form.join("&")).await
    }

    /// The key that forms carry, read from a page as a browser would.
    pub(crate) async fn form_key(&self) -> String {
        let page = self.visit("/").await.text;
        let key = Regex::new(r#"name="key" value="([^"]+)""#).expect("a pattern");
        key.captures(&page).expect("a form")[1].to_owned()
    }

    pub(crate) async fn send(&self, request: http::request::Builder) -> Answer {
        self.send_with(request, String::new()).await
    }

    pub(crate) async fn send_with(&self, request: http::request::Builder, body: String) -> Answer {
        let request = request.body(Body::from(body)).expect("a request");
        let response = self.router.clone().oneshot(request).await.expect("an answer");
        Answer::read(response, &self.ticket.place).await
    }

    /// A request of a visitor who may look, for a page as it is called without the place.
    pub(crate) fn opened(&self, method: Method, path: &str) -> http::request::Builder {
        self.ticket.request(method, path)
    }

    /// Waits until a page holds a text.
    pub(crate) async fn page_with(&self, path: &str, text: &str) -> Answer {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let answer = self.visit(path).await;
            if answer.text.contains(text) {
                return answer;
            }
            assert!(
                tokio::time::Instant::now() < deadline,
                "{path} has no {text:?}:\n{}",
                answer.text
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// What a browser that was let in has: where the pages are, and the number of its session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ticket {
    pub(crate) port: u16,
    pub(crate) place: String,
    pub(crate) number: String,
}

impl Ticket {
    /// Opens the printed address.
    pub(crate) async fn fetch(router: &axum::Router, port: u16) -> Self {
        let request = Request::builder()
            .uri(format!("/?token={TOKEN}"))
            .header("host", format!("127.0.0.1:{port}"));
        let request = request.body(Body::empty()).expect("a request");
        let response = router.clone().oneshot(request).await.expect("an answer");
        Self::of(&Answer::read(response, "").await, port)
    }

    /// Reads what an answer has the browser keep.
    pub(crate) fn of(answer: &Answer, port: u16) -> Self {
        let pattern = format!(
            "^baton_console_{port}=([0-9A-Za-z_-]{{32}}); Path=(/~[0-9A-Za-z_-]{{22}}); HttpOnly; SameSite=Strict$"
        );
        let pattern = Regex::new(&pattern).expect("a pattern");
        let cookie = answer.header("set-cookie");
        let parts = pattern
            .captures(cookie)
            .unwrap_or_else(|| panic!("no cookie of a session: {cookie:?}"));
        Self {
            port,
            number: parts[1].to_owned(),
            place: parts[2].to_owned(),
        }
    }

    /// A request for a page, as it is called without the place.
    pub(crate) fn request(&self, method: Method, path: &str) -> http::request::Builder {
        Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.place))
            .header("host", format!("127.0.0.1:{}", self.port))
            .header("cookie", format!("baton_console_{}={}", self.port, self.number))
    }
}

/// What the console answered.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: http::HeaderMap,
    /// The page as it was sent.
    pub(crate) sent: String,
    /// The page with links as if it were at the root.
    pub(crate) text: String,
}

impl Answer {
    async fn read(response: Response, place: &str) -> Self {
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.expect("a body").to_bytes();
        // A server that really sends it would stop here.
        if let Some(length) = parts.headers.get("content-length") {
            assert_eq!(length, bytes.len().to_string().as_str());
        }
        let sent = String::from_utf8(bytes.to_vec()).expect("text");
        Self {
            status: parts.status.as_u16(),
            headers: parts.headers,
            text: sent.replace(place, ""),
            sent,
        }
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().expect("text"))
    }

    /// Where the answer leads to, as it is called without the place.
    pub(crate) fn leads_to<'a>(&'a self, world: &World) -> &'a str {
        let location = self.header("location");
        location.strip_prefix(&world.ticket.place).unwrap_or(location)
    }

    /// What the page is about, with everything that is another one with every run replaced.
    pub(crate) fn content(&self) -> String {
        let start = self.text.find("<main").expect("a main part");
        let end = self.text.find("</main>").expect("its end");
        steady(&self.text[start..end])
    }
}

/// Replaces what is another one with every run.
pub(crate) fn steady(text: &str) -> String {
    let mut text = text.to_owned();
    for (pattern, replacement) in [
        (
            r#"<time datetime="[^"]*" title="[^"]*">[^<]*</time>"#,
            "<time>WHEN</time>",
        ),
        (r"sha256:[0-9a-f]{64}", "sha256:DIGEST"),
        (r"127\.0\.0\.1:\d+", "127.0.0.1:PORT"),
        (r#"name="key" value="[^"]+""#, r#"name="key" value="KEY""#),
        (
            r"(web|shop|books)(-operator|-config)?-[0-9a-z]{8,10}-[0-9a-z]{5}",
            "$1$2-POD",
        ),
        (r"books-[0-9bcdfghjklmnpqrstvwxz]{6,10}\b", "books-SET"),
    ] {
        let pattern = Regex::new(pattern).expect("a pattern");
        text = pattern.replace_all(&text, replacement).into_owned();
    }
    text
}

fn version(extension: &ClusterExtension) -> Option<&str> {
    let install = extension.status.install.as_ref()?;
    Some(install.bundle.version.as_str())
}

pub(crate) fn annotation(extension: &ClusterExtension, key: &str) -> Option<String> {
    extension.metadata.annotations.as_ref()?.get(key).cloned()
}

fn says(extension: &ClusterExtension, reason: &str) -> bool {
    let progressing = api::condition::find(&extension.status.conditions, "Progressing");
    progressing.is_some_and(|said| said.reason == reason)
}

fn bundles(remote: &Arc<Remote>, folder: &std::path::Path) -> Bundles {
    let remote = Arc::clone(remote);
    Bundles::new(
        Arc::new(move || Box::pin(std::future::ready(Ok(Arc::clone(&remote))))),
        ContentStore::open(folder, 1 << 30).expect("a store"),
        Certificates::CertManager,
    )
}

/// Applies an object, whatever its kind.
pub(crate) async fn apply(client: &kube::Client, object: Value) {
    let api_version = object["apiVersion"].as_str().expect("a version");
    let kind = object["kind"].as_str().expect("a kind");
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    let objects: Api<DynamicObject> = match object["metadata"]["namespace"].as_str() {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    };
    let name = object["metadata"]["name"].as_str().expect("a name").to_owned();
    let parameters = PatchParams::apply("test").force();
    let applied = objects.patch(&name, &parameters, &Patch::Apply(&object)).await;
    applied.expect("applied");
}

/// The objects that the chart of the tests makes.
fn objects_of(greeting: &str) -> Vec<Value> {
    vec![
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "books-config"}, "data": {"greeting": greeting}}),
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "books"},
            "spec": {"selector": {"app": "books"}, "ports": [{"port": 80, "targetPort": 8080}]}}),
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "books"}, "spec": {
            "replicas": 1, "selector": {"matchLabels": {"app": "books"}},
            "template": {
                "metadata": {"labels": {"app": "books"}, "annotations": {
                    "stage.baton.dev/simulate-logs": "listening on :8080\nGET /books 200 <fast>\n",
                }},
                "spec": {"containers": [{"name": "server", "image": "registry.example.com/books:1"}]},
            },
        }}),
    ]
}

fn record(revision: i64, greeting: &str, status: &str) -> Release {
    let manifest: Vec<String> = objects_of(greeting)
        .iter()
        .map(|object| format!("---\n{}", goyaml::to_string(object).expect("YAML")))
        .collect();
    let record = json!({
        "name": "books", "namespace": "shop", "version": revision, "manifest": manifest.concat(),
        "config": {"replicas": 1, "greeting": greeting},
        "chart": {"metadata": {"name": "shop", "version": format!("0.{revision}.0")}},
        "info": {
            "first_deployed": "2026-01-01T00:00:00Z", "last_deployed": format!("2026-01-0{revision}T00:00:00Z"),
            "description": if revision == 1 { "Install complete" } else { "Upgrade complete" },
            "status": status, "notes": format!("The shop says {greeting}."),
        },
    });
    Release::from_json(&record.to_string()).expect("a record")
}

fn bundle_files(package: &str, version: &str, fate: &str) -> Vec<(String, Vec<u8>)> {
    let service_version = json!({
        "apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
        "metadata": {"name": format!("{package}.v{version}")},
        "spec": {
            "displayName": package, "version": version,
            "installModes": [
                {"type": "OwnNamespace", "supported": false}, {"type": "SingleNamespace", "supported": false},
                {"type": "MultiNamespace", "supported": false}, {"type": "AllNamespaces", "supported": true},
            ],
            "install": {"strategy": "deployment", "spec": {
                "clusterPermissions": [{"serviceAccountName": package, "rules": [
                    {"apiGroups": ["example.com"], "resources": ["*"], "verbs": ["*"]},
                ]}],
                "deployments": [{"name": package, "spec": {
                    "replicas": 1,
                    "selector": {"matchLabels": {"app": package}},
                    "template": {
                        "metadata": {"labels": {"app": package}, "annotations": {"stage.baton.dev/simulate": fate}},
                        "spec": {
                            "serviceAccountName": package,
                            "containers": [{"name": "manager", "image": format!("registry.example.com/{package}:{version}")}],
                        },
                    },
                }}],
            }},
        },
    });
    let config = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("{package}-config")}, "data": {"version": version},
    });
    let annotations =
        format!("annotations:\n  operators.operatorframework.io.bundle.package.v1: {package}\n");
    vec![
        (
            "manifests/operator.clusterserviceversion.yaml".to_owned(),
            service_version.to_string().into_bytes(),
        ),
        (
            "manifests/config.yaml".to_owned(),
            config.to_string().into_bytes(),
        ),
        ("metadata/annotations.yaml".to_owned(), annotations.into_bytes()),
    ]
}
