//! The part of an operator that a server calls: reviews of admission and conversion, over TLS.
//!
//! Nobody runs the Pods of a test. They are given the address of this machine, so that a server that calls them calls the
//! test.

use std::convert::Infallible;
use std::net::{IpAddr, UdpSocket};
use std::sync::Arc;

use base64::Engine as _;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::kubernetes::PATIENCE;
use crate::reference::Reference;
use crate::scenario::Scenario;

/// What an operator answers to a review: from its path and the `request` to the `response`, without its uid.
pub(crate) type Answer = fn(&str, &Value) -> Value;

/// A port that is taken before anything listens for requests on it.
pub(crate) struct Reserved {
    listener: TcpListener,
    pub(crate) port: u16,
}

impl Reserved {
    pub(crate) async fn any() -> Result<Self, String> {
        let listener = TcpListener::bind((address()?, 0))
            .await
            .map_err(|error| error.to_string())?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        Ok(Self {
            listener,
            port: address.port(),
        })
    }

    /// Serves with the certificate of a Secret.
    pub(crate) fn serve(self, secret: &Value, answer: Answer) -> Result<WebhookServer, String> {
        let part = |key: &str| {
            let text = secret["data"][key].as_str().unwrap_or_default();
            base64::engine::general_purpose::STANDARD
                .decode(text)
                .map_err(|error| error.to_string())
        };
        let certificates = CertificateDer::pem_slice_iter(&part("tls.crt")?)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| error.to_string())?;
        let key = PrivateKeyDer::from_pem_slice(&part("tls.key")?).map_err(|error| error.to_string())?;
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_no_client_auth()
            .with_single_cert(certificates, key)
            .map_err(|error| error.to_string())?;
        let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
        Ok(WebhookServer {
            task: tokio::spawn(accept(self.listener, acceptor, answer)),
        })
    }
}

/// An address of this machine that isn't its loopback: no Pod of a cluster may have that.
fn address() -> Result<IpAddr, String> {
    // Nothing is sent: the system only says from where it would be. The address is one for documentation.
    let socket = UdpSocket::bind("0.0.0.0:0").map_err(|error| error.to_string())?;
    socket
        .connect("198.51.100.1:9")
        .and_then(|()| socket.local_addr())
        .map(|address| address.ip())
        .map_err(|error| format!("this machine has no address but its loopback: {error}"))
}

/// Gives the Pods of a Deployment the address of this machine, as a kubelet would.
pub(crate) async fn leads_here(scenario: &Scenario, deployment: &Reference) -> Result<(), String> {
    let deployment = scenario.kubernetes().until_there(deployment).await?;
    let labels = deployment["spec"]["selector"]["matchLabels"].as_object();
    let labels: Vec<String> = labels
        .into_iter()
        .flatten()
        .map(|(name, value)| format!("{name}%3D{}", value.as_str().unwrap_or_default()))
        .collect();
    let namespace = deployment["metadata"]["namespace"].as_str().unwrap_or_default();
    let pods = Reference::namespaced("v1", "Pod", namespace, "").collection();
    let query = format!("labelSelector={}", labels.join(","));
    let name = scenario
        .kubernetes()
        .until_all(&pods, &query, PATIENCE, |pods| {
            let mut running = pods.iter().filter(|pod| pod["status"]["phase"] == "Running");
            let pod = running.next().ok_or("no Pod of the operator runs")?;
            Ok(pod["metadata"]["name"].as_str().unwrap_or_default().to_owned())
        })
        .await?;
    let address = address()?.to_string();
    let status = json!({"status": {"podIP": address, "podIPs": [{"ip": address}]}});
    let pod = Reference::namespaced("v1", "Pod", namespace, &name);
    scenario
        .kubernetes()
        .replace_in_status(&pod, &status)
        .await
        .map(drop)
}

/// A running server; it ends when this value is dropped.
pub(crate) struct WebhookServer {
    task: JoinHandle<()>,
}

impl Drop for WebhookServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, acceptor: tokio_rustls::TlsAcceptor, answer: Answer) {
    while let Ok((stream, _)) = listener.accept().await {
        let acceptor = acceptor.clone();
        tokio::spawn(async move {
            let Ok(stream) = acceptor.accept(stream).await else {
                return;
            };
            let service = service_fn(|request| review(request, answer));
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn review(
    request: hyper::Request<Incoming>,
    answer: Answer,
) -> Result<hyper::Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path().to_owned();
    let body = request.into_body().collect().await;
    let body = body.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let review: Value = serde_json::from_slice(&body).unwrap_or_default();
    let mut response = answer(&path, &review["request"]);
    response["uid"] = review["request"]["uid"].clone();
    let answered = json!({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response});
    let mut answered = hyper::Response::new(Full::from(answered.to_string()));
    answered.headers_mut().insert(
        hyper::header::CONTENT_TYPE,
        hyper::header::HeaderValue::from_static("application/json"),
    );
    Ok(answered)
}
