//! What an operator serves: metrics, with TLS and to whom the cluster allows it if asked for, and whether it is well.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::State;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::Client;
use kube::api::{Api, ObjectMeta, PostParams};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::Run;
use crate::failure::Failure;
use crate::served_router::ServedRouter;

/// The media type of metrics.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// How long a client may take to agree on TLS.
const HANDSHAKE: Duration = Duration::from_secs(5);

/// How many connections may wait to be taken.
const BACKLOG: u32 = 128;

/// How long the cluster's answer to who may read metrics is believed.
const BELIEVED: Duration = Duration::from_mins(1);

/// How many answers are remembered.
const REMEMBERED: usize = 256;

/// What is served until it is stopped.
pub(super) struct Serving {
    /// Where metrics are; none if nowhere.
    pub(super) metrics_address: Option<String>,
    served: Vec<ServedRouter>,
}

impl Serving {
    /// Lets requests end, and stops.
    pub(super) async fn stop(self) {
        for served in self.served {
            served.stop().await;
        }
    }
}

/// Starts to serve what the flags ask for.
pub(super) async fn start(
    run: &Run,
    client: &Client,
    metrics: impl Fn() -> String + Send + Sync + 'static,
) -> Result<Serving, Failure> {
    let mut served = Vec::new();
    let mut metrics_address = None;
    let asked = run.metrics_addr.as_deref().unwrap_or(&run.metrics_bind_address);
    if let Some(listener) = bind("--metrics-bind-address", asked).await? {
        let scheme = if run.metrics_secure { "https" } else { "http" };
        metrics_address = Some(format!("{scheme}://{}/metrics", listener.local_addr()?));
        let reading = Reading {
            metrics: Arc::new(metrics),
            gate: run
                .metrics_require_rbac
                .then(|| Arc::new(Gate::new(client.clone()))),
        };
        let router = Router::new()
            .route("/metrics", get(read_metrics))
            .with_state(reading);
        served.push(if run.metrics_secure {
            let acceptor = own_identity(run.enable_http2)?;
            ServedRouter::start(TlsListener { listener, acceptor }, router)
        } else {
            ServedRouter::start(listener, router)
        });
    }
    if let Some(listener) = bind("--health-probe-bind-address", &run.health_probe_bind_address).await? {
        let router = Router::new()
            .route("/healthz", get(async || "ok"))
            .route("/readyz", get(async || "ok"));
        served.push(ServedRouter::start(listener, router));
    }
    Ok(Serving {
        metrics_address,
        served,
    })
}

/// Listens at an address as Go writes it: without a host it is every address of the machine, `0` is none at all.
async fn bind(flag: &str, address: &str) -> Result<Option<TcpListener>, Failure> {
    if matches!(address, "0" | "") {
        return Ok(None);
    }
    let full = match address.strip_prefix(':') {
        Some(port) => format!("[::]:{port}"),
        None => address.to_owned(),
    };
    let failed = |error: &dyn std::fmt::Display| {
        Failure::new(format!(
            "cannot listen on {address}: {error}; give another address with {flag}, or 0 for none"
        ))
    };
    let bound = listen(&full).await;
    // A machine without IPv6 has its addresses elsewhere.
    match (bound, address.strip_prefix(':')) {
        (Ok(listener), _) => Ok(Some(listener)),
        (Err(_), Some(port)) => {
            let listener = listen(&format!("0.0.0.0:{port}")).await;
            listener.map(Some).map_err(|error| failed(&error))
        }
        (Err(error), None) => Err(failed(&error)),
    }
}

/// Listens at an address. Pods of a stage's node are processes that share the machine's ports: there the new version of an
/// operator shares them with the old one until that is gone, as both would otherwise wait for each other for ever.
async fn listen(address: &str) -> std::io::Result<TcpListener> {
    let is_pod_of_stage = std::env::var_os(stage::node::paths::ROOT_VARIABLE).is_some();
    let Ok(address) = address.parse::<SocketAddr>() else {
        return TcpListener::bind(address).await;
    };
    let socket = if address.is_ipv6() {
        TcpSocket::new_v6()?
    } else {
        TcpSocket::new_v4()?
    };
    socket.set_reuseaddr(true)?;
    socket.set_reuseport(is_pod_of_stage)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

#[derive(Clone)]
struct Reading {
    metrics: Arc<dyn Fn() -> String + Send + Sync>,
    gate: Option<Arc<Gate>>,
}

async fn read_metrics(State(reading): State<Reading>, headers: HeaderMap) -> Response {
    if let Some(gate) = &reading.gate {
        let token = headers
            .get(AUTHORIZATION)
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.strip_prefix("Bearer "));
        let Some(token) = token else {
            return (StatusCode::UNAUTHORIZED, "Unauthorized\n").into_response();
        };
        match gate.ask(token).await {
            Ok(Entry::Allowed) => {}
            Ok(Entry::Unknown) => return (StatusCode::UNAUTHORIZED, "Unauthorized\n").into_response(),
            Ok(Entry::Denied(user)) => {
                let text = format!("Authorization denied for user {user}\n");
                return (StatusCode::FORBIDDEN, text).into_response();
            }
            Err(fault) => {
                tracing::warn!(%fault, "the cluster can't be asked who may read metrics");
                return (StatusCode::INTERNAL_SERVER_ERROR, "Authorization failed\n").into_response();
            }
        }
    }
    ([(CONTENT_TYPE, METRICS)], (reading.metrics)()).into_response()
}

/// Whether somebody may read metrics.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Entry {
    Allowed,
    Unknown,
    Denied(String),
}

/// Asks the cluster who somebody is and whether he may read metrics, and believes the answer for a while.
struct Gate {
    client: Client,
    answers: Mutex<HashMap<String, (Instant, Entry)>>,
}

impl Gate {
    fn new(client: Client) -> Self {
        Self {
            client,
            answers: Mutex::default(),
        }
    }

    async fn ask(&self, token: &str) -> Result<Entry, kube::Error> {
        {
            let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
            answers.retain(|_, (since, _)| since.elapsed() < BELIEVED);
            if answers.len() >= REMEMBERED {
                answers.clear();
            }
            if let Some((_, entry)) = answers.get(token) {
                return Ok(entry.clone());
            }
        }
        let entry = self.review(token).await?;
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.insert(token.to_owned(), (Instant::now(), entry.clone()));
        Ok(entry)
    }

    async fn review(&self, token: &str) -> Result<Entry, kube::Error> {
        let reviews: Api<TokenReview> = Api::all(self.client.clone());
        let asked = TokenReview {
            metadata: ObjectMeta::default(),
            spec: TokenReviewSpec {
                token: token.to_owned(),
                audiences: None,
            },
            status: None,
        };
        let status = reviews.create(&PostParams::default(), &asked).await?.status;
        let user = status
            .filter(|status| status.authenticated == Some(true))
            .and_then(|status| status.user);
        let Some(user) = user else {
            return Ok(Entry::Unknown);
        };
        let reviews: Api<SubjectAccessReview> = Api::all(self.client.clone());
        let name = user.username.clone().unwrap_or_default();
        let asked = SubjectAccessReview {
            metadata: ObjectMeta::default(),
            spec: SubjectAccessReviewSpec {
                user: user.username,
                uid: user.uid,
                groups: user.groups,
                extra: user.extra,
                non_resource_attributes: Some(NonResourceAttributes {
                    path: Some("/metrics".to_owned()),
                    verb: Some("get".to_owned()),
                }),
                resource_attributes: None,
            },
            status: None,
        };
        let status = reviews.create(&PostParams::default(), &asked).await?.status;
        Ok(if status.is_some_and(|status| status.allowed) {
            Entry::Allowed
        } else {
            Entry::Denied(name)
        })
    }
}

/// A listener whose connections are encrypted.
struct TlsListener {
    listener: TcpListener,
    acceptor: TlsAcceptor,
}

impl axum::serve::Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let (stream, address) = axum::serve::Listener::accept(&mut self.listener).await;
            if let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE, self.acceptor.accept(stream)).await {
                return (stream, address);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}

/// Makes a certificate for this run, as the real operator does without one of its own.
fn own_identity(with_http2: bool) -> Result<TlsAcceptor, Failure> {
    let failed =
        |error: &dyn std::fmt::Display| Failure::new(format!("cannot serve metrics with TLS: {error}"));
    let made =
        rcgen::generate_simple_self_signed(["localhost".to_owned()]).map_err(|error| failed(&error))?;
    let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der())
        .map_err(|error| failed(&error))?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| {
            builder
                .with_no_client_auth()
                .with_single_cert(vec![made.cert.der().clone()], key)
        })
        .map_err(|error| failed(&error))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    if with_http2 {
        config.alpn_protocols.insert(0, b"h2".to_vec());
    }
    Ok(TlsAcceptor::from(Arc::new(config)))
}
