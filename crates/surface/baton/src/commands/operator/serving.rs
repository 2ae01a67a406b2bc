//! What an operator serves: metrics, with TLS and to whom the cluster allows it if asked for, and whether it is well.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use kube::Client;
use tokio::net::{TcpListener, TcpSocket};

use super::Run;
use crate::failure::Failure;
use crate::guarded_metrics;
use crate::served_router::ServedRouter;
use crate::tls::{self, OwnIdentity, Profile, Protocols, TlsListener};

/// How many connections may wait to be taken.
const BACKLOG: u32 = 128;

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
    readiness: impl Fn() -> Result<String, String> + Clone + Send + Sync + 'static,
) -> Result<Serving, Failure> {
    let mut served = Vec::new();
    let mut metrics_address = None;
    let asked = run.metrics_addr.as_deref().unwrap_or(&run.metrics_bind_address);
    if let Some(listener) = bind("--metrics-bind-address", asked).await? {
        let scheme = if run.metrics_secure { "https" } else { "http" };
        metrics_address = Some(format!("{scheme}://{}/metrics", listener.local_addr()?));
        let guard = run.metrics_require_rbac.then(|| client.clone());
        let router = guarded_metrics::router(guard, metrics);
        served.push(if run.metrics_secure {
            let protocols = if run.enable_http2 {
                Protocols::Both
            } else {
                Protocols::First
            };
            // Without a certificate of its own, as the real operator does.
            let identity = Arc::new(OwnIdentity::make()?);
            let acceptor = tls::acceptor(&Profile::default(), identity, protocols)?;
            ServedRouter::start(TlsListener::new(listener, acceptor), router)
        } else {
            ServedRouter::start(listener, router)
        });
    }
    if let Some(listener) = bind("--health-probe-bind-address", &run.health_probe_bind_address).await? {
        let answer = async move || match readiness() {
            Ok(reason) => (StatusCode::OK, format!("ok: {reason}\n")),
            Err(reason) => (
                StatusCode::INTERNAL_SERVER_ERROR,
                format!("not ready: {reason}\n"),
            ),
        };
        let router = Router::new()
            .route("/healthz", get(async || "ok"))
            .route("/readyz", get(answer));
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
    let mut failure = None;
    for place in places(address, is_pod_of_stage()) {
        match listen(&place).await {
            Ok(listener) => return Ok(Some(listener)),
            Err(error) => failure = Some(error),
        }
    }
    let why = failure.map(|error| format!(": {error}")).unwrap_or_default();
    Err(Failure::new(format!(
        "cannot listen on {address}{why}; give another address with {flag}, or 0 for none"
    )))
}

/// Returns where an address is listened at, the first place that works.
///
/// To a container, all of its addresses are its own. A pod of a stage's node has those of the whole machine, and who started
/// the node was promised that nothing listens where other machines reach it.
fn places(address: &str, is_pod_of_stage: bool) -> Vec<String> {
    let all = ["", "0.0.0.0", "[::]"];
    match address.rsplit_once(':') {
        Some((host, port)) if is_pod_of_stage && all.contains(&host) => vec![format!("127.0.0.1:{port}")],
        // A machine without IPv6 has its addresses elsewhere.
        Some(("", port)) => vec![format!("[::]:{port}"), format!("0.0.0.0:{port}")],
        _ => vec![address.to_owned()],
    }
}

/// Returns whether this process is a pod of a stage's node.
fn is_pod_of_stage() -> bool {
    std::env::var_os(stage::node::paths::ROOT_VARIABLE).is_some()
}

/// Listens at an address. Pods of a stage's node are processes that share the machine's ports: there the new version of an
/// operator shares them with the old one until that is gone, as both would otherwise wait for each other for ever.
async fn listen(address: &str) -> std::io::Result<TcpListener> {
    let Ok(address) = address.parse::<SocketAddr>() else {
        return TcpListener::bind(address).await;
    };
    let socket = if address.is_ipv6() {
        TcpSocket::new_v6()?
    } else {
        TcpSocket::new_v4()?
    };
    socket.set_reuseaddr(true)?;
    socket.set_reuseport(is_pod_of_stage())?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_of_a_stage_listens_where_this_machine_alone_reaches_it() {
        for (address, in_cluster, on_stage) in [
            (
                ":8443",
                &["[::]:8443", "0.0.0.0:8443"][..],
                &["127.0.0.1:8443"][..],
            ),
            ("0.0.0.0:8443", &["0.0.0.0:8443"], &["127.0.0.1:8443"]),
            ("[::]:8443", &["[::]:8443"], &["127.0.0.1:8443"]),
            ("127.0.0.1:8443", &["127.0.0.1:8443"], &["127.0.0.1:8443"]),
            ("[::1]:8443", &["[::1]:8443"], &["[::1]:8443"]),
            ("192.0.2.1:8443", &["192.0.2.1:8443"], &["192.0.2.1:8443"]),
            ("localhost:8443", &["localhost:8443"], &["localhost:8443"]),
            ("8443", &["8443"], &["8443"]),
        ] {
            assert_eq!(places(address, false), in_cluster, "{address}");
            assert_eq!(places(address, true), on_stage, "{address}");
        }
    }
}
