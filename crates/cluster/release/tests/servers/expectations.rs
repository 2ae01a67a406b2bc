//! What this crate takes for granted of an API server.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use chart::release::Release;
use futures_util::future::BoxFuture;
use kube::Client;
use kube::api::{Api, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams};
use kube::core::ApiResource;
use release::drift::fingerprint;
use release::{Cause, Cluster, Options, Outcome, Prepared, ReleaseId, Releases};
use serde_json::{Value, json};

/// Something that is expected of a server, and its name.
pub(crate) type Expectation = (&'static str, fn(Client) -> BoxFuture<'static, ()>);

/// Lists expectations: functions that ask a server.
macro_rules! expectations {
    ($($name:ident),* $(,)?) => {
        [$((stringify!($name), |client| Box::pin(async move { $name(&client).await }))),*]
    };
}

/// All that is expected; none minds the others on the same server.
pub(crate) const EXPECTATIONS: [Expectation; 6] = expectations![
    what_exists_is_not_written_over,
    what_helm_wrote_is_taken_over,
    what_cannot_be_applied_is_written_as_a_whole,
    refusals_read_as_they_do_to_helm,
    drift_is_seen_by_the_fields_that_are_ours,
    two_writers_are_told_apart,
];

/// A namespace of a server.
struct Room {
    client: Client,
    cluster: Cluster,
    asked: Arc<Mutex<Vec<String>>>,
    id: ReleaseId,
}

impl Room {
    async fn new(client: &Client, namespace: &str) -> Self {
        let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(client.clone());
        let object = serde_json::from_value(json!({"metadata": {"name": namespace}})).expect("a namespace");
        namespaces
            .create(&PostParams::default(), &object)
            .await
            .expect("made");
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (inner, log) = (client.clone(), Arc::clone(&asked));
        let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
            let (inner, log) = (inner.clone(), Arc::clone(&log));
            async move {
                let path = request.uri().path();
                if path.contains("/namespaces/") {
                    let name = path.rsplit('/').next().unwrap_or_default();
                    let line = format!("{} {name}", request.method());
                    log.lock().expect("no test panicked").push(line);
                }
                inner.send(request).await.map_err(tower::BoxError::from)
            }
        });
        Self {
            client: client.clone(),
            cluster: Cluster::new(Client::new(service, "default"), "helm-operator"),
            asked,
            id: ReleaseId::new(namespace, "soup"),
        }
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().expect("no test panicked"))
    }

    fn releases(&self) -> Releases {
        Releases::new(&self.cluster, &self.id, Options::default())
    }

    fn prepared(&self, version: i64, objects: &[Value]) -> Prepared {
        let documents: Vec<String> = objects.iter().map(|object| format!("---\n{object}\n")).collect();
        let json = json!({"name": self.id.name, "namespace": self.id.namespace, "version": version,
            "manifest": documents.concat(), "chart": {"metadata": {"name": "kitchen", "version": "1.0.0"}}});
        Prepared::new(Release::from_json(&json.to_string()).expect("a release")).expect("objects")
    }

    async fn install(&self, objects: &[Value]) -> Result<Outcome, release::Failure> {
        self.releases().install(self.prepared(1, objects)).await
    }

    async fn upgrade(&self, objects: &[Value]) -> Result<Outcome, release::Failure> {
        let releases = self.releases();
        let standing = releases
            .records()
            .standing()
            .await
            .expect("records")
            .expect("a release");
        let prepared = self.prepared(standing.next_version(), objects);
        releases.upgrade(standing, prepared, &BTreeSet::new()).await
    }

    fn api(&self, api_version: &str, kind: &str) -> Api<DynamicObject> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        Api::namespaced_with(self.client.clone(), &self.id.namespace, &resource)
    }

    async fn get(&self, api_version: &str, kind: &str, name: &str) -> Value {
        let found = self.api(api_version, kind).get(name).await.expect("there");
        serde_json::to_value(found).expect("JSON")
    }

    /// Makes an object as a client without server-side apply does.
    async fn create(&self, manager: &str, object: Value) {
        let api = self.api(
            object["apiVersion"].as_str().expect("a version"),
            object["kind"].as_str().expect("a kind"),
        );
        let parameters = PostParams {
            field_manager: Some(manager.to_owned()),
            ..PostParams::default()
        };
        let object = serde_json::from_value(object).expect("an object");
        api.create(&parameters, &object).await.expect("made");
    }
}

fn map(name: &str, data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
}

fn service(port: i64) -> Value {
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "svc"}, "spec": {"ports": [{"port": port, "targetPort": 8080}]}})
}

fn deployment(spec: Value, environment: Value) -> Value {
    let mut deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [{"name": "c", "image": "i", "env": environment,
                "resources": {"limits": {"cpu": 1, "nvidia.com/gpu": 1}}}]}}}});
    for (key, value) in spec.as_object().into_iter().flatten() {
        deployment["spec"][key] = value.clone();
    }
    deployment
}

async fn what_exists_is_not_written_over(client: &Client) {
    let room = Room::new(client, "exists").await;
    let objects = [map("a", json!({"x": "1"})), service(80)];
    room.install(&objects).await.expect("installed");
    assert_eq!(
        room.asked(),
        [
            "POST secrets",
            "PATCH a",
            "PATCH svc",
            "PUT sh.helm.release.v1.soup.v1"
        ]
    );
    let other = Room {
        id: ReleaseId::new("exists", "stew"),
        ..room
    };
    let before = other.get("v1", "ConfigMap", "a").await;
    let failure = other
        .install(&[map("a", json!({"x": "2"}))])
        .await
        .expect_err("taken");
    assert_eq!(failure.cause, Cause::Collision, "{}", failure.message);
    assert_eq!(other.get("v1", "ConfigMap", "a").await, before);
    assert_eq!(
        other.asked(),
        [
            "POST secrets",
            "PATCH a",
            "GET a",
            "DELETE sh.helm.release.v1.stew.v1"
        ]
    );
}

async fn what_helm_wrote_is_taken_over(client: &Client) {
    for manager in ["helm", "helm-operator"] {
        let room = Room::new(client, &format!("over-{manager}")).await;
        let mut helms = deployment(
            json!({"minReadySeconds": 5, "paused": true}),
            json!([{"name": "A", "value": "1"}]),
        );
        release::identity::mark(&mut helms, &room.id);
        let mut old = map("a", json!({"x": "1", "y": "2"}));
        release::identity::mark(&mut old, &room.id);
        room.create(manager, old).await;
        room.create(manager, helms).await;
        let objects = [
            map("a", json!({"x": "1"})),
            deployment(json!({}), json!([{"name": "B", "value": "2"}])),
        ];
        room.install(&objects).await.expect("taken over");
        assert_eq!(
            room.get("v1", "ConfigMap", "a").await["data"],
            json!({"x": "1"}),
            "{manager}"
        );
        let live = room.get("apps/v1", "Deployment", "web").await;
        assert!(
            live["spec"]["paused"].is_null() && live["spec"]["minReadySeconds"].is_null(),
            "{}",
            live["spec"]
        );
        let environment = &live["spec"]["template"]["spec"]["containers"][0]["env"];
        assert_eq!(environment, &json!([{"name": "B", "value": "2"}]), "{manager}");
        room.asked();
        room.upgrade(&[map("a", json!({"x": "3"})), objects[1].clone()])
            .await
            .expect("upgraded");
        let patches = room
            .asked()
            .into_iter()
            .filter(|request| request.starts_with("PATCH"));
        assert_eq!(patches.collect::<Vec<_>>(), ["PATCH a"], "taken over once");
    }
}

async fn what_cannot_be_applied_is_written_as_a_whole(client: &Client) {
    let room = Room::new(client, "whole").await;
    let once = json!([{"name": "A", "value": "1"}]);
    let twice = json!([{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]);
    room.install(&[deployment(json!({}), twice.clone())])
        .await
        .expect("installed");
    let live = room.get("apps/v1", "Deployment", "web").await;
    assert_eq!(live["spec"]["template"]["spec"]["containers"][0]["env"], twice);
    let recreate = json!({"strategy": {"type": "Recreate"}});
    room.upgrade(&[deployment(recreate.clone(), once.clone())])
        .await
        .expect("upgraded");
    let live = room.get("apps/v1", "Deployment", "web").await;
    assert_eq!(live["spec"]["strategy"], recreate["strategy"]);
    assert_eq!(live["spec"]["template"]["spec"]["containers"][0]["env"], once);
    let unknown = json!({"strategy": {"type": "Recreate"}, "nonsense": 1, "minReadySeconds": 3});
    room.upgrade(&[deployment(unknown, once)])
        .await
        .expect("a field that the kind doesn't have");
    let live = room.get("apps/v1", "Deployment", "web").await;
    assert_eq!(live["spec"]["minReadySeconds"], 3);
}

async fn refusals_read_as_they_do_to_helm(client: &Client) {
    let room = Room::new(client, "refusals").await;
    let refused = "Service \"svc\" is invalid: spec.ports[0].port: Invalid value: 70000: must be between 1 and 65535, inclusive";
    let failure = room.install(&[service(70000)]).await.expect_err("refused");
    assert_eq!(failure.message, format!("1 error occurred:\n\t* {refused}\n\n"));
    let room = Room::new(client, "refusals-upgrade").await;
    room.install(&[service(80)]).await.expect("installed");
    let failure = room.upgrade(&[service(70000)]).await.expect_err("refused");
    assert_eq!(
        failure.message,
        format!("cannot patch \"svc\" with kind Service: {refused}")
    );
    let room = Room::new(client, "refusals-type").await;
    let ingress = json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "i"}, "spec": {"rules": [{"http":
        {"paths": [{"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "s", "port": {"number": "http"}}}}]}}]}});
    let failure = room.install(&[ingress]).await.expect_err("refused");
    assert_eq!(
        failure.message,
        "1 error occurred:\n\t* Ingress in version \"v1\" cannot be handled as a Ingress: json: cannot unmarshal string into \
         Go struct field ServiceBackendPort.spec.rules.IngressRuleValue.http.paths.backend.service.port.number of type int32\n\n"
    );
}

async fn drift_is_seen_by_the_fields_that_are_ours(client: &Client) {
    let room = Room::new(client, "drift").await;
    let objects = [map("a", json!({"x": "1"})), deployment(json!({}), json!([]))];
    let outcome = room.install(&objects).await.expect("installed");
    let documents = release::documents::read(&outcome.record.release.manifest).expect("documents");
    let quiet = room.releases().repair(&documents, None).await.expect("looked at");
    assert!(quiet.changes.is_empty(), "{:?}", quiet.changes);
    let ours = outcome.written[0].fingerprint;
    let print = |object: Value| {
        let entries: Vec<_> =
            serde_json::from_value(object["metadata"]["managedFields"].clone()).expect("entries");
        fingerprint(&entries, "helm-operator")
    };
    for (patch, is_ours) in [
        (json!({"data": {"y": "2"}}), false),
        (json!({"data": {"x": "2"}}), true),
    ] {
        let parameters = PatchParams {
            field_manager: Some("kubectl-edit".to_owned()),
            ..PatchParams::default()
        };
        let maps = room.api("v1", "ConfigMap");
        maps.patch("a", &parameters, &Patch::Merge(&patch))
            .await
            .expect("edited");
        let live = print(room.get("v1", "ConfigMap", "a").await);
        assert_eq!(live != ours, is_ours, "{patch}");
    }
    let repaired = room.releases().repair(&documents, None).await.expect("repaired");
    assert_eq!(repaired.changes.len(), 1);
    assert_eq!(repaired.changes[0].fields[0].path, "data.x");
    assert_eq!(repaired.written[0].fingerprint, ours);
    // An apply that changes nothing leaves the state as it is.
    let before = room.get("v1", "ConfigMap", "a").await["metadata"]["resourceVersion"].clone();
    let standing = room
        .releases()
        .records()
        .standing()
        .await
        .expect("records")
        .expect("a release");
    room.releases()
        .rollback(standing, Some(1))
        .await
        .expect("back to the same");
    let after = room.get("v1", "ConfigMap", "a").await["metadata"]["resourceVersion"].clone();
    assert_eq!(before, after);
}

async fn two_writers_are_told_apart(client: &Client) {
    let room = Room::new(client, "writers").await;
    room.install(&[map("a", json!({}))]).await.expect("installed");
    let records = room.releases().records().clone();
    let mut one = records.read(1).await.expect("a record").expect("there");
    let mut other = one.clone();
    assert_eq!(one.written_by(), Some("helm-operator"));
    "changed".clone_into(&mut one.release.info.description);
    records.update(&mut one).await.expect("the first one");
    assert!(matches!(
        records.update(&mut other).await,
        Err(release::records::RecordError::Changed(_))
    ));
}
