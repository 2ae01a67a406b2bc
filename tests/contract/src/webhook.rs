//! A small HTTPS server that cases use as an admission webhook or conversion webhook.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

type Answer = dyn Fn(&Value) -> Value + Send + Sync;

/// A running webhook. It ends when this value is dropped.
pub(crate) struct Webhook {
    /// Where it listens.
    pub(crate) url: String,
    /// Its certificate, as `caBundle` wants it.
    pub(crate) authority: String,
    seen: Arc<Mutex<Vec<Value>>>,
    task: JoinHandle<()>,
}

impl Drop for Webhook {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Webhook {
    /// Starts a server that answers each review with what `answer` makes of it: the `response` without its uid.
    pub(crate) async fn serve(answer: impl Fn(&Value) -> Value + Send + Sync + 'static) -> Self {
        let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).expect("a certificate");
        let authority = base64::engine::general_purpose::STANDARD.encode(made.cert.pem());
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
        let url = format!("https://{}/", listener.local_addr().expect("an address"));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let task = tokio::spawn(accept(listener, acceptor, Arc::clone(&seen), Arc::new(answer)));
        Self {
            url,
            authority,
            seen,
            task,
        }
    }

    /// The reviews so far.
    pub(crate) fn seen(&self) -> Vec<Value> {
        self.seen
            .lock()
            .expect("nobody panics while noting a review")
            .clone()
    }
}

async fn accept(
    listener: TcpListener,
    acceptor: tokio_rustls::TlsAcceptor,
    seen: Arc<Mutex<Vec<Value>>>,
    answer: Arc<Answer>,
) {
    while let Ok((stream, _)) = listener.accept().await {
        let (acceptor, seen, answer) = (acceptor.clone(), Arc::clone(&seen), Arc::clone(&answer));
        tokio::spawn(async move {
            let Ok(stream) = acceptor.accept(stream).await else {
                return;
            };
            let service = service_fn(|request| review(request, Arc::clone(&seen), Arc::clone(&answer)));
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn review(
    request: http::Request<Incoming>,
    seen: Arc<Mutex<Vec<Value>>>,
    answer: Arc<Answer>,
) -> Result<http::Response<Full<Bytes>>, Infallible> {
    let body = request
        .into_body()
        .collect()
        .await
        .map(http_body_util::Collected::to_bytes)
        .unwrap_or_default();
    let review: Value = serde_json::from_slice(&body).unwrap_or_default();
    let mut response = answer(&review["request"]);
    if response.get("uid").is_none() {
        response["uid"] = review["request"]["uid"].clone();
    }
    let answered = json!({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response});
    if let Ok(mut seen) = seen.lock() {
        seen.push(review);
    }
    let answered = http::Response::new(Full::from(answered.to_string()));
    let (mut parts, body) = answered.into_parts();
    parts
        .headers
        .insert("Content-Type", http::HeaderValue::from_static("application/json"));
    Ok(http::Response::from_parts(parts, body))
}
