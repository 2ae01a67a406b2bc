//! APIs of other servers, held to a small server of its own.

use std::convert::Infallible;
use std::sync::Arc;

use base64::Engine as _;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::{Value, json};
use stage::store::{Change, Expect, Key, ResourceKey, Write};
use stage::{Options, Stage};
use tokio::net::TcpListener;
use tower::Service as _;

/// Starts a server that serves `things` and tells who asked; returns its port and its certificate.
async fn serve() -> (u16, String) {
    let made =
        rcgen::generate_simple_self_signed(vec!["things.default.svc".to_owned()]).expect("a certificate");
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider's own protocols")
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .expect("a key that fits its certificate");
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(stream).await else {
                    return;
                };
                let _ = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service_fn(answer))
                    .await;
            });
        }
    });
    (
        port,
        base64::engine::general_purpose::STANDARD.encode(made.cert.pem()),
    )
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let user = request
        .headers()
        .get("x-remote-user")
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
        .to_owned();
    let value = match request.uri().path() {
        "/apis/things.example/v1" => json!({
            "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "things.example/v1",
            "resources": [{"name": "things", "singularName": "thing", "namespaced": true, "kind": "Thing",
                "verbs": ["get"]}],
        }),
        _ => json!({"kind": "Thing", "asked": user, "query": request.uri().query()}),
    };
    let mut response = Response::new(Full::new(Bytes::from(value.to_string())));
    response
        .headers_mut()
        .insert("content-type", http::HeaderValue::from_static("application/json"));
    Ok(response)
}

async fn get(stage: &Stage, path: &str) -> (u16, Value, String) {
    let request = Request::get(path)
        .body(Full::new(Bytes::new()))
        .expect("a request");
    let response = match stage.service().call(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    };
    let code = response.status().as_u16();
    let bytes = response.into_body().collect().await.expect("a body").to_bytes();
    let value = serde_json::from_slice(&bytes).unwrap_or_default();
    (code, value, String::from_utf8_lossy(&bytes).into_owned())
}

/// Waits until the APIService says that it is available, or isn't, for a reason.
async fn until(stage: &Stage, reason: &str) -> Value {
    let services = ResourceKey::new("apiregistration.k8s.io", "apiservices");
    let store = &stage.api().store;
    let mut watch = store.watch(&services, None, store.revision()).expect("a watch");
    let key = Key::new(&services, "", "v1.things.example");
    loop {
        if let Some(stored) = store.get(&key) {
            let condition = stored.value()["status"]["conditions"][0].clone();
            if condition["reason"] == reason {
                return condition;
            }
        }
        watch.next().await.expect("an event");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_of_another_server_is_found_and_served_by_it() {
    let (port, authority) = serve().await;
    let stage = Stage::in_memory(Options {
        without_controllers: true,
        ..Options::default()
    })
    .await
    .expect("a stage");
    let client = stage.client();
    let api_service = json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": "v1.things.example"},
        "spec": {"group": "things.example", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 10,
            "caBundle": authority, "service": {"namespace": "default", "name": "things", "port": 443}},
    });
    client
        .create(("apiregistration.k8s.io", "apiservices"), api_service)
        .await
        .expect("an APIService");
    let missing = until(&stage, "ServiceNotFound").await;
    assert_eq!(missing["message"], "service/things in \"default\" is not present");
    let (code, _, text) = get(&stage, "/apis/things.example/v1/namespaces/default/things/a").await;
    assert_eq!((code, text.as_str()), (503, "service unavailable\n"));

    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "things", "namespace": "default"},
        "spec": {"ports": [{"port": 443}]},
    });
    client.create(("", "services"), service).await.expect("a Service");
    // No client may name an address of this machine; the node does, for what it runs here.
    let slices = ResourceKey::new("discovery.k8s.io", "endpointslices");
    let slice = json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
        "metadata": {"name": "things", "namespace": "default", "uid": "1",
            "labels": {"kubernetes.io/service-name": "things"}},
        "ports": [{"name": "", "port": port, "protocol": "TCP"}],
        "endpoints": [{"addresses": ["127.0.0.1"], "conditions": {"ready": true}}],
    });
    let write = Write {
        key: Key::new(&slices, "default", "things"),
        expect: Expect::Absent,
        change: Change::Put(slice),
    };
    stage.api().store.write(write).await.expect("a slice");
    let passed = until(&stage, "Passed").await;
    assert_eq!(passed["message"], "all checks passed");

    let (code, thing, _) = get(&stage, "/apis/things.example/v1/namespaces/default/things/a?x=y").await;
    assert_eq!(code, 200);
    assert_eq!(
        thing,
        json!({"kind": "Thing", "asked": "kubernetes-admin", "query": "x=y"})
    );
    let (_, group, _) = get(&stage, "/apis/things.example").await;
    assert_eq!(group["preferredVersion"]["groupVersion"], "things.example/v1");
    let (_, groups, _) = get(&stage, "/apis").await;
    let listed = groups["groups"].as_array().cloned().unwrap_or_default();
    assert!(listed.iter().any(|group| group["name"] == "things.example"));
}
