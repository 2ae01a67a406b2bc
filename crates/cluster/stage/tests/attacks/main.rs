//! What strangers send who mean harm, or don't know what they do: each request is refused with an answer that is small, and
//! takes nothing from others.

mod simulated_pods;

use std::fmt::Write as _;

use http::{Method, Request};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use stage::status::LARGEST_FAILURE;
use stage::{Body, Options, Service, Stage};
use tower::ServiceExt as _;

/// How large the answer to a request is whose problems are short: a small part of the request.
const SMALL_ANSWER: usize = 256 << 10;

/// As many as a body of 3 MiB has room for.
const MANY: usize = 100_000;

struct World {
    stage: Stage,
    service: Service,
}

impl World {
    async fn start() -> Self {
        Self::with(Options {
            without_controllers: true,
            ..Options::default()
        })
        .await
    }

    async fn with(options: Options) -> Self {
        let stage = Stage::in_memory(options).await.expect("a stage");
        let service = stage.service();
        Self { stage, service }
    }

    /// Returns the code, the answer, and how large it is.
    async fn ask(&self, method: Method, path: &str, media_type: &str, body: String) -> (u16, Value, usize) {
        let body: Body = stage::wire::full_body(body);
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("Content-Type", media_type)
            .body(body)
            .expect("a request");
        let Ok(answer) = self.service.clone().oneshot(request).await;
        let code = answer.status().as_u16();
        let bytes = answer.into_body().collect().await.expect("a body").to_bytes();
        (
            code,
            serde_json::from_slice(&bytes).unwrap_or_default(),
            bytes.len(),
        )
    }

    async fn create(&self, path: &str, object: &Value) -> (u16, Value, usize) {
        self.ask(Method::POST, path, "application/json", object.to_string())
            .await
    }
}

fn message(answer: &Value) -> &str {
    answer["message"].as_str().unwrap_or_default()
}

/// An object of a name and as many entries as are wanted, each of which has two faults.
fn invalid_labels(count: usize) -> Value {
    (0..count)
        .map(|number| (format!("-a{number}"), json!("-b")))
        .collect()
}

#[tokio::test]
async fn a_hundred_thousand_invalid_labels_are_refused_in_few_words_that_count_them() {
    let world = World::start().await;
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "labels": invalid_labels(MANY)},
    });
    let (code, answer, bytes) = world
        .create("/api/v1/namespaces/default/configmaps", &object)
        .await;
    assert_eq!(code, 422);
    assert!(bytes < SMALL_ANSWER, "{bytes}");
    let more = 2 * MANY - 100;
    let text = message(&answer);
    assert!(
        text.starts_with("ConfigMap \"a\" is invalid: [metadata.labels: Invalid value: \"-a0\": "),
        "{text}"
    );
    assert!(
        text.ends_with(&format!(", and {more} more problems]")),
        "{}",
        &text[text.len() - 60..]
    );
    let causes = answer["details"]["causes"].as_array().expect("causes");
    assert_eq!(causes.len(), 101);
    assert_eq!(
        causes[100],
        json!({"field": "metadata.labels", "message": format!("and {more} more problems, which are not shown")})
    );
}

#[tokio::test]
async fn whatever_is_wrong_everywhere_is_refused_in_few_words() {
    const COUNT: usize = 5_000;
    let world = World::start().await;
    let list = |item: &dyn Fn(usize) -> Value| -> Value { (0..COUNT).map(item).collect() };
    let pod = |container: Value, spec: Value| {
        let mut object = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"},
            "spec": {"containers": [{"name": "a", "image": "a"}]},
        });
        for (name, value) in container.as_object().into_iter().flatten() {
            object["spec"]["containers"][0][name] = value.clone();
        }
        for (name, value) in spec.as_object().into_iter().flatten() {
            object["spec"][name] = value.clone();
        }
        ("/api/v1/namespaces/default/pods", object)
    };
    let config_map = |metadata: Value| {
        let mut object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
        object["metadata"]["name"] = "a".into();
        ("/api/v1/namespaces/default/configmaps", object)
    };
    let labels = |count| invalid_labels(count);
    let quota = json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "a"},
        "spec": {"scopes": list(&|number| json!(format!("scope {number}"))), "hard": {"pods": "1"}},
    });
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"},
        "spec": {"ports": list(&|_| json!({"name": "-", "port": 0}))},
    });
    let slice = json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": {"name": "a"}, "addressType": "IPv4",
        "endpoints": [], "ports": list(&|_| json!({"name": "-"})),
    });
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"},
        "spec": {
            "selector": {"matchLabels": labels(COUNT)},
            "template": {
                "metadata": {"labels": labels(COUNT)},
                "spec": {"containers": list(&|_| json!({"name": "-", "image": ""}))},
            },
        },
    });
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "a"},
        "rules": list(&|_| json!({"verbs": []})),
    });
    let cases = [
        ("labels", config_map(json!({"labels": labels(COUNT)}))),
        ("annotations", config_map(json!({"annotations": labels(COUNT)}))),
        (
            "finalizers",
            config_map(json!({"finalizers": list(&|number| json!(format!("-{number}")))})),
        ),
        (
            "owners without anything",
            config_map(json!({"ownerReferences": list(&|number| json!({"uid": number.to_string()}))})),
        ),
        (
            "owners that all control",
            config_map(json!({"ownerReferences": list(&|number| json!({
                "apiVersion": "v1", "kind": "Pod", "name": "a", "uid": number.to_string(), "controller": true,
            }))})),
        ),
        (
            "variables",
            pod(json!({"env": list(&|_| json!({"name": "="}))}), json!({})),
        ),
        (
            "ports",
            pod(
                json!({"ports": list(&|_| json!({"name": "-", "containerPort": 0}))}),
                json!({}),
            ),
        ),
        (
            "mounts",
            pod(
                json!({"volumeMounts": list(&|_| json!({"name": "-", "mountPath": ""}))}),
                json!({}),
            ),
        ),
        (
            "volumes",
            pod(json!({}), json!({"volumes": list(&|_| json!({"name": "-"}))})),
        ),
        (
            "tolerations",
            pod(
                json!({}),
                json!({"tolerations": list(&|_| json!({"key": "-", "operator": "?"}))}),
            ),
        ),
        (
            "gates",
            pod(
                json!({}),
                json!({"schedulingGates": list(&|_| json!({"name": "-"}))}),
            ),
        ),
        (
            "claims",
            pod(
                json!({"resources": {"claims": list(&|_| json!({"name": "-"}))}}),
                json!({}),
            ),
        ),
        ("scopes", ("/api/v1/namespaces/default/resourcequotas", quota)),
        (
            "ports of a Service",
            ("/api/v1/namespaces/default/services", service),
        ),
        (
            "ports of a slice",
            (
                "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
                slice,
            ),
        ),
        (
            "selectors and containers",
            ("/apis/apps/v1/namespaces/default/deployments", deployment),
        ),
        (
            "rules",
            (
                "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles",
                role,
            ),
        ),
    ];
    for (what, (path, object)) in cases {
        let (code, answer, bytes) = world.create(path, &object).await;
        assert_eq!(code, 422, "{what}: {}", message(&answer));
        assert!(bytes < SMALL_ANSWER, "{what}: {bytes}");
        let text = message(&answer);
        assert!(
            text.ends_with(" more problems]"),
            "{what}: {}",
            &text[text.len().saturating_sub(200)..]
        );
        let causes = answer["details"]["causes"].as_array().map_or(0, Vec::len);
        assert!((2..=101).contains(&causes), "{what}: {causes}");
    }
}

#[tokio::test]
async fn a_value_or_a_name_as_long_as_the_body_is_not_sent_back_whole() {
    let world = World::start().await;
    // Every byte of it takes six in an answer.
    let long = "<".repeat(2 << 20);
    let path = "/api/v1/namespaces/default/configmaps";
    let config_map = |metadata: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
    let cases = [
        ("a name", config_map(json!({"name": long}))),
        ("a label", config_map(json!({"name": "a", "labels": {"a": long}}))),
        (
            "a label's key",
            config_map(json!({"name": "a", "labels": {long.as_str(): "a"}})),
        ),
        (
            "a kind",
            json!({"apiVersion": "v1", "kind": long, "metadata": {"name": "a"}}),
        ),
        (
            "a version",
            json!({"apiVersion": long, "kind": "ConfigMap", "metadata": {"name": "a"}}),
        ),
        ("a namespace", config_map(json!({"name": "a", "namespace": long}))),
        (
            "a time",
            config_map(json!({"name": "a", "creationTimestamp": long})),
        ),
        (
            "a field",
            config_map(json!({"name": "a", "labels": {"a": {long.as_str(): 1}}})),
        ),
    ];
    for (what, object) in cases {
        let (code, answer, bytes) = world
            .create(&format!("{path}?fieldValidation=Strict"), &object)
            .await;
        assert!((400..500).contains(&code), "{what}: {code}");
        assert!(bytes < LARGEST_FAILURE, "{what}: {bytes}");
        assert!(!message(&answer).is_empty(), "{what}: {answer}");
    }
}

#[tokio::test]
async fn fields_that_a_kind_does_not_have_are_told_as_far_as_there_is_room() {
    let world = World::with(Options::default()).await;
    let mut served = world.stage.api().resources.changes();
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "stacks.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"kind": "Stack", "plural": "stacks", "singular": "stack", "listKind": "StackList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object",
                "properties": {"spec": {"type": "object", "additionalProperties": {
                    "type": "object",
                    "properties": {
                        "counts": {"type": "array", "items": {"type": "integer"}},
                        "words": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
                    },
                }}},
            }}}],
        },
    });
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let (code, answer, _) = world.create(definitions, &definition).await;
    assert_eq!(code, 201, "{answer}");
    let is_served = || {
        let served = world.stage.api().resources.now();
        served.resource("example.com", "v1", "stacks").is_some()
    };
    while !is_served() {
        served.changed().await.expect("the cluster lives");
    }
    let path = "/apis/example.com/v1/namespaces/default/stacks";
    // The place of each field is as long as the key above it: all of them together are a thousand times the body.
    let key = "k".repeat(1 << 20);
    let stack = |inside: &str| {
        format!(
            r#"{{"apiVersion":"example.com/v1","kind":"Stack","metadata":{{"name":"a"}},"spec":{{"{key}":{{{inside}}}}}}}"#
        )
    };
    let mut unknown = String::new();
    for number in 0..20_000 {
        let _ = write!(unknown, "{}\"f{number}\":1", if number > 0 { "," } else { "" });
    }
    let wrong = |item: &str| vec![item; 20_000].join(",");
    let cases = [
        (400, "and 19999 more unknown fields", stack(&unknown)),
        (
            422,
            " more problems]",
            stack(&format!("\"counts\":[{}]", wrong("\"x\""))),
        ),
        (
            422,
            " more problems]",
            stack(&format!("\"words\":[{}]", wrong("\"x\""))),
        ),
    ];
    for (expected, end, body) in cases {
        let strict = format!("{path}?fieldValidation=Strict");
        let (code, answer, bytes) = world.ask(Method::POST, &strict, "application/json", body).await;
        let text = message(&answer);
        let shown = &text[text.len().saturating_sub(200)..];
        assert_eq!(code, expected, "{shown}");
        assert!(text.ends_with(end), "{shown}");
        assert!(bytes < LARGEST_FAILURE, "{bytes}");
    }
}
