//! Nothing is ever sent to a simulated pod, whatever its status, its network or an EndpointSlice says of its address.

use std::io::ErrorKind;
use std::net::TcpListener;

use http::{HeaderMap, Method, Request};
use serde_json::{Value, json};
use stage::Options;
use stage::admission::webhooks::simulated::SimulatedWebhooks;
use stage::store::{Change, Expect, Key, ResourceKey, Write};
use tower::ServiceExt as _;

use super::{World, message};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

const PODS: &str = "/api/v1/namespaces/default/pods";

/// What is said of a server that nobody answers for.
const NOT_ASKED: &str = "the pods of service \"hook\" in namespace \"default\" are simulated, so nobody answers there; pods of \
                         images that baton built really run";

/// A port of this machine that belongs to its user: whoever connects to it was led astray.
struct Trap {
    listener: TcpListener,
    port: u16,
}

impl Trap {
    fn set() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        listener.set_nonblocking(true).expect("it can be looked at");
        let port = listener.local_addr().expect("an address").port();
        Self { listener, port }
    }

    /// The request has been answered, so whoever would have connected has done so.
    fn nobody_came(&self) {
        let error = self
            .listener
            .accept()
            .map(|(_, from)| from)
            .expect_err("nobody came");
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
    }
}

impl World {
    /// Waits until an object is as it should be.
    async fn until(
        &self,
        resource: (&str, &str),
        namespace: &str,
        name: &str,
        is: impl Fn(&Value) -> bool,
    ) -> Value {
        let store = &self.stage.api().store;
        let key = ResourceKey::new(resource.0, resource.1);
        let mut watch = store.watch(&key, None, store.revision()).expect("a watch");
        loop {
            if let Some(stored) = store.get(&Key::new(&key, namespace, name)) {
                let object = stored.value();
                if is(&object) {
                    return object;
                }
            }
            watch.next().await.expect("an event");
        }
    }

    /// Returns the code, the warnings and the message of an answer.
    async fn post(&self, path: &str, object: &Value) -> (u16, Vec<String>) {
        let request = Request::post(path)
            .header("Content-Type", "application/json")
            .body(stage::wire::full_body(object.to_string()))
            .expect("a request");
        let Ok(answer) = self.service.clone().oneshot(request).await;
        (answer.status().as_u16(), warnings(answer.headers()))
    }

    async fn get(&self, path: &str) -> (u16, Value) {
        let (code, answer, _) = self
            .ask(Method::GET, path, "application/json", String::new())
            .await;
        (code, answer)
    }

    /// Starts a simulated pod and waits until it seems to run.
    async fn simulated_pod(&self, name: &str, spec: Value) -> Value {
        let mut pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default", "labels": {"app": name}},
            "spec": {"containers": [{"name": "c", "image": "example.com/c:1"}]},
        });
        for (field, value) in spec.as_object().into_iter().flatten() {
            pod["spec"][field] = value.clone();
        }
        let client = self.stage.client();
        client.create(("", "pods"), pod).await.expect("a pod");
        self.until(("", "pods"), "default", name, |pod| {
            pod["status"]["phase"] == "Running"
        })
        .await
    }
}

fn warnings(headers: &HeaderMap) -> Vec<String> {
    let all = headers.get_all("Warning").iter();
    all.filter_map(|value| value.to_str().ok().map(str::to_owned))
        .collect()
}

/// A Service of two simulated pods that are ready.
async fn with_service(simulated_webhooks: SimulatedWebhooks) -> World {
    let world = World::with(Options {
        simulated_webhooks,
        ..Options::default()
    })
    .await;
    let client = world.stage.client();
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": {"name": "default", "namespace": "default"}});
    // Its controller may have been quicker.
    let _ = client.create(("", "serviceaccounts"), account).await;
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "hook", "namespace": "default"},
        "spec": {"selector": {"app": "hook"}, "ports": [{"port": 443, "targetPort": 9443}]},
    });
    client.create(("", "services"), service).await.expect("a service");
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "hook", "namespace": "default"},
        "spec": {
            "replicas": 2, "selector": {"matchLabels": {"app": "hook"}},
            "template": {
                "metadata": {"labels": {"app": "hook"}},
                "spec": {"containers": [{"name": "hook", "image": "example.com/hook:1"}]},
            },
        },
    });
    let store = &world.stage.api().store;
    let slices = ResourceKey::new("discovery.k8s.io", "endpointslices");
    let mut watch = store.watch(&slices, None, store.revision()).expect("a watch");
    client
        .create(("apps", "deployments"), deployment)
        .await
        .expect("a deployment");
    loop {
        let listed = client
            .list(("discovery.k8s.io", "endpointslices"), "default")
            .expect("slices are served");
        let ready = listed
            .iter()
            .filter(|slice| slice["metadata"]["labels"]["kubernetes.io/service-name"] == "hook")
            .flat_map(|slice| slice["endpoints"].as_array().into_iter().flatten())
            .filter(|endpoint| endpoint["conditions"]["ready"] == true)
            .count();
        if ready == 2 {
            return world;
        }
        watch.next().await.expect("an event");
    }
}

/// Has the Service asked about new objects of a kind, by a webhook that is called as the kind is.
async fn register(world: &World, configurations: &str, about: &str, failure_policy: &str) {
    let kind = if configurations.starts_with('m') {
        "MutatingWebhookConfiguration"
    } else {
        "ValidatingWebhookConfiguration"
    };
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": about},
        "webhooks": [{
            "name": format!("{about}.example.com"), "failurePolicy": failure_policy, "sideEffects": "None",
            "admissionReviewVersions": ["v1"], "timeoutSeconds": 30,
            "clientConfig": {"service": {"namespace": "default", "name": "hook", "path": "/review"}},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": [about], "operations": ["CREATE"]}],
        }],
    });
    let client = world.stage.client();
    client
        .create(("admissionregistration.k8s.io", configurations), configuration)
        .await
        .expect("a webhook");
}

fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_of_simulated_pods_is_passed_over_with_a_warning_and_an_event() {
    for (configurations, kind) in [
        (
            "validatingwebhookconfigurations",
            "ValidatingWebhookConfiguration",
        ),
        ("mutatingwebhookconfigurations", "MutatingWebhookConfiguration"),
    ] {
        let world = with_service(SimulatedWebhooks::Skip).await;
        register(&world, configurations, "secrets", "Fail").await;
        register(&world, configurations, "configmaps", "Fail").await;
        let store = &world.stage.api().store;
        let mut events = store
            .watch(&ResourceKey::new("", "events"), None, store.revision())
            .expect("a watch");
        let text = |about: &str| {
            format!(
                "webhook \"{about}.example.com\" was not asked: Post \"https://hook.default.svc:443/review?timeout=30s\": \
                 {NOT_ASKED}"
            )
        };
        let warned = |about: &str| vec![format!("299 - \"{}\"", text(about).replace('"', "\\\""))];
        // One that is only tried warns as well, but nothing is told of it: events come in the order in which they are told.
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}});
        let tried = world
            .post("/api/v1/namespaces/default/secrets?dryRun=All", &secret)
            .await;
        assert_eq!(tried, (201, warned("secrets")), "{kind}");
        assert_eq!(
            world.post(CONFIG_MAPS, &config_map("a")).await,
            (201, warned("configmaps")),
            "{kind}"
        );
        loop {
            let event = events.next().await.expect("an event");
            let told = event.object.value();
            if told["reason"] == "WebhookSimulated" {
                assert_eq!(told["message"], text("configmaps"));
                assert_eq!(told["type"], "Warning");
                assert_eq!(told["involvedObject"]["kind"], kind);
                assert_eq!(told["involvedObject"]["name"], "configmaps");
                break;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_of_simulated_pods_fails_at_once_where_that_is_wanted() {
    for configurations in ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"] {
        let world = with_service(SimulatedWebhooks::Fail).await;
        register(&world, configurations, "configmaps", "Fail").await;
        let (code, answer, _) = world.create(CONFIG_MAPS, &config_map("a")).await;
        assert_eq!(code, 500);
        assert_eq!(
            message(&answer),
            format!(
                "Internal error occurred: failed calling webhook \"configmaps.example.com\": failed to call webhook: Post \
                 \"https://hook.default.svc:443/review?timeout=30s\": {NOT_ASKED}; with --simulated-webhooks=skip writes go on \
                 without it"
            )
        );
        let world = with_service(SimulatedWebhooks::Fail).await;
        register(&world, configurations, "configmaps", "Ignore").await;
        let (code, _, _) = world.create(CONFIG_MAPS, &config_map("a")).await;
        assert_eq!(code, 201, "{configurations}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_simulated_pods_should_convert_is_refused_at_once() {
    let world = with_service(SimulatedWebhooks::Skip).await;
    let version = |name: &str, storage: bool| json!({"name": name, "served": true, "storage": storage, "schema": {"openAPIV3Schema": {"type": "object"}}});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"},
            "versions": [version("v1", true), version("v2", false)],
            "conversion": {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"],
                "clientConfig": {"service": {"namespace": "default", "name": "hook", "path": "/convert"}}}},
        },
    });
    let definitions = ("apiextensions.k8s.io", "customresourcedefinitions");
    let client = world.stage.client();
    client
        .create(definitions, definition)
        .await
        .expect("a definition");
    let is_established = |definition: &Value| {
        let conditions = definition["status"]["conditions"]
            .as_array()
            .into_iter()
            .flatten();
        let mut established = conditions.filter(|one| one["type"] == "Established");
        established.any(|one| one["status"] == "True")
    };
    world
        .until(definitions, "", "things.example.com", is_established)
        .await;
    let thing = json!({"apiVersion": "example.com/v2", "kind": "Thing", "metadata": {"name": "a"}});
    let (code, answer, _) = world
        .create("/apis/example.com/v2/namespaces/default/things", &thing)
        .await;
    assert_eq!(code, 500, "{answer}");
    assert!(message(&answer).ends_with(NOT_ASKED), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_that_simulated_pods_should_serve_is_said_to_be_missing() {
    let world = with_service(SimulatedWebhooks::Skip).await;
    let api_service = json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": "v1.things.example"},
        "spec": {"group": "things.example", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 10,
            "insecureSkipTLSVerify": true, "service": {"namespace": "default", "name": "hook", "port": 443}},
    });
    let api_services = ("apiregistration.k8s.io", "apiservices");
    let client = world.stage.client();
    client
        .create(api_services, api_service)
        .await
        .expect("an APIService");
    let found = world
        .until(api_services, "", "v1.things.example", |one| {
            one["status"]["conditions"][0]["status"] == "False"
        })
        .await;
    let why = found["status"]["conditions"][0]["message"]
        .as_str()
        .unwrap_or_default();
    assert!(why.contains(NOT_ASKED), "{why}");
    let (code, _) = world.get("/apis/things.example/v1/things").await;
    assert_eq!(code, 503);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_proxy_and_no_forwarded_port_leads_to_simulated_pods() {
    let world = with_service(SimulatedWebhooks::Skip).await;
    let (code, answer) = world
        .get("/api/v1/namespaces/default/services/https:hook:443/proxy/")
        .await;
    assert_eq!(code, 503);
    assert_eq!(
        message(&answer),
        format!("error trying to reach service: {NOT_ASKED}")
    );
    world.simulated_pod("alone", json!({})).await;
    let (code, answer) = world.get(&format!("{PODS}/alone:8080/proxy/")).await;
    assert_eq!(code, 503);
    assert_eq!(
        message(&answer),
        "error trying to reach service: pod default/alone is simulated, so nothing listens at port 8080"
    );
    for (below, what) in [
        ("portforward", "forward ports to"),
        ("exec?command=id", "run a command in"),
        ("attach", "attach to"),
    ] {
        let (code, answer, _) = world.create(&format!("{PODS}/alone/{below}"), &Value::Null).await;
        assert_eq!(code, 501, "{answer}");
        assert_eq!(
            message(&answer),
            format!(
                "cannot {what} pod default/alone: it is simulated, so nothing runs in it (baton didn't build its image)"
            )
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_simulated_pod_in_the_network_of_the_machine_leads_to_none_of_its_ports() {
    let world = with_service(SimulatedWebhooks::Skip).await;
    let trap = Trap::set();
    let pod = world.simulated_pod("host", json!({"hostNetwork": true})).await;
    assert_eq!(pod["status"]["podIP"], "127.0.0.1");
    let (code, answer) = world.get(&format!("{PODS}/host:{}/proxy/", trap.port)).await;
    assert_eq!(code, 503, "{answer}");
    assert!(
        message(&answer).contains("pod default/host is simulated"),
        "{answer}"
    );
    let (_, answer, _) = world
        .create(&format!("{PODS}/host/portforward"), &Value::Null)
        .await;
    assert!(message(&answer).contains("it is simulated"), "{answer}");
    trap.nobody_came();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_someone_wrote_into_the_status_of_a_pod_is_never_dialled() {
    let world = with_service(SimulatedWebhooks::Skip).await;
    let trap = Trap::set();
    let here = world.simulated_pod("here", json!({})).await;
    let there = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "there", "namespace": "default"},
        "spec": {"nodeName": "elsewhere", "containers": [{"name": "c", "image": "example.com/c:1"}]},
    });
    let client = world.stage.client();
    let there = client.create(("", "pods"), there).await.expect("a pod");
    for (name, mut pod, why) in [
        ("here", here, "is simulated"),
        ("there", there, "only node baton runs pods"),
    ] {
        // The node may write the status at the same time.
        loop {
            pod["status"]["podIP"] = "127.0.0.1".into();
            pod["status"]["podIPs"] = json!([{"ip": "127.0.0.1"}]);
            let (code, answer, _) = world
                .ask(
                    Method::PUT,
                    &format!("{PODS}/{name}/status"),
                    "application/json",
                    pod.to_string(),
                )
                .await;
            if code == 200 {
                break;
            }
            assert_eq!(code, 409, "{answer}");
            pod = world.get(&format!("{PODS}/{name}")).await.1;
        }
        let (code, answer) = world.get(&format!("{PODS}/{name}:{}/proxy/", trap.port)).await;
        assert_eq!(code, 503, "{answer}");
        assert!(message(&answer).contains(why), "{answer}");
    }
    trap.nobody_came();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slice_that_names_this_machine_leads_to_none_of_its_ports() {
    let world = with_service(SimulatedWebhooks::Fail).await;
    let trap = Trap::set();
    let slices = ResourceKey::new("discovery.k8s.io", "endpointslices");
    let slice = |name: &str, service: &str, kind: &str, address: &str| {
        json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": kind,
            "metadata": {"name": name, "namespace": "default", "uid": "1",
                "labels": {"kubernetes.io/service-name": service}},
            "ports": [{"name": "", "port": trap.port, "protocol": "TCP"}],
            "endpoints": [{"addresses": [address], "conditions": {"ready": true}}],
        })
    };
    // Through the API nobody can make one.
    for (kind, address) in [
        ("IPv4", "127.0.0.1"),
        ("IPv4", "0.0.0.0"),
        ("IPv4", "169.254.169.254"),
        ("IPv6", "::1"),
        ("IPv6", "::ffff:127.0.0.1"),
        ("IPv6", "fe80::1"),
    ] {
        let (code, answer, _) = world
            .create(
                "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
                &slice("mine", "hook", kind, address),
            )
            .await;
        assert_eq!(code, 422, "{address}: {answer}");
    }
    // One that came in another way doesn't lead there either, because the Service's pods are others.
    let write = Write {
        key: Key::new(&slices, "default", "hook-0"),
        expect: Expect::Absent,
        change: Change::Put(slice("hook-0", "hook", "IPv4", "127.0.0.1")),
    };
    world.stage.api().store.write(write).await.expect("a slice");
    let (code, _) = world
        .get("/api/v1/namespaces/default/services/hook:443/proxy/")
        .await;
    assert_eq!(code, 503);
    register(&world, "validatingwebhookconfigurations", "configmaps", "Fail").await;
    let (code, answer, _) = world.create(CONFIG_MAPS, &config_map("a")).await;
    assert_eq!(code, 500, "{answer}");
    trap.nobody_came();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_stands_for_this_machine_by_name_is_not_proxied_to() {
    let world = World::start().await;
    let trap = Trap::set();
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "outside", "namespace": "default"},
        "spec": {"type": "ExternalName", "externalName": "localhost", "ports": [{"port": trap.port}]},
    });
    let client = world.stage.client();
    client.create(("", "services"), service).await.expect("a service");
    let (code, answer) = world
        .get(&format!(
            "/api/v1/namespaces/default/services/outside:{}/proxy/",
            trap.port
        ))
        .await;
    assert_eq!(code, 503);
    assert_eq!(
        message(&answer),
        format!("no endpoints available for service \"outside:{}\"", trap.port)
    );
    trap.nobody_came();
}
