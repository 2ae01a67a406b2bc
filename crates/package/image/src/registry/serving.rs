//! Serving the registry on a socket, with or without TLS, until it is told to stop.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use axum::{Extension, Router};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use super::access::Peer;
use super::{Registry, RegistryError};

/// How many connections are served at once: each may hold two open files, and processes have about a thousand.
const MAX_CONNECTIONS: usize = 400;

/// How long a client may take for its TLS handshake and for the head of a request, and may rest between two requests.
const HEAD_TIMEOUT: Duration = Duration::from_mins(1);

/// How many bytes the head of a request may have: an address, a token and a few dozen headers fit many times. It is looked
/// at after each read, so that a head that comes at once may have up to twice as many.
const MAX_HEAD_BYTES: usize = 64 << 10;

/// How many headers a request may have.
const MAX_HEADERS: usize = 100;

/// How many requests one HTTP/2 connection may have open: clients pull and push a handful of layers at once.
const MAX_STREAMS: u32 = 64;

/// How long running requests may take to end after the registry was told to stop.
const STOP_GRACE: Duration = Duration::from_secs(10);

/// How long accepting rests after the system refused to, usually for want of file descriptors.
const ACCEPT_REST: Duration = Duration::from_millis(100);

/// The certificate and key that a registry shows to its clients.
#[derive(Clone)]
pub struct TlsIdentity(Arc<rustls::ServerConfig>);

impl std::fmt::Debug for TlsIdentity {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("TlsIdentity")
    }
}

impl TlsIdentity {
    /// Reads a certificate, with those that lead to its root, and its key, both as PEM.
    pub fn from_pem(certificates: &[u8], key: &[u8]) -> Result<Self, RegistryError> {
        let broken = |cause: String| RegistryError::Tls { cause };
        let certificates: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(certificates)
            .collect::<Result<_, _>>()
            .map_err(|error| broken(format!("the certificate can't be read: {error}")))?;
        if certificates.is_empty() {
            return Err(broken("there is no certificate in the file".to_owned()));
        }
        let key = PrivateKeyDer::from_pem_slice(key)
            .map_err(|error| broken(format!("the key can't be read: {error}")))?;
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(certificates, key))
            .map_err(|error| broken(error.to_string()))?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self(Arc::new(config)))
    }

    /// Reads the certificate and the key from PEM files.
    pub fn from_files(certificates: &Path, key: &Path) -> Result<Self, RegistryError> {
        let read = |path: &Path| {
            std::fs::read(path).map_err(|error| RegistryError::Tls {
                cause: format!("{} can't be read: {error}", path.display()),
            })
        };
        Self::from_pem(&read(certificates)?, &read(key)?)
    }
}

/// A registry that is being served. Dropping it ends the serving at once.
#[derive(Debug)]
pub struct Serving {
    address: SocketAddr,
    is_tls: bool,
    registry: Registry,
    stop: watch::Sender<bool>,
    accepting: JoinHandle<()>,
}

impl Serving {
    pub(super) fn start(
        registry: Registry,
        listener: TcpListener,
        twin: Option<TcpListener>,
        tls: Option<TlsIdentity>,
    ) -> Result<Self, RegistryError> {
        let address = listener.local_addr().map_err(RegistryError::Listener)?;
        let (stop, stopped) = watch::channel(false);
        let is_tls = tls.is_some();
        let acceptor = tls.map(|identity| TlsAcceptor::from(identity.0));
        let listeners = [Some(listener), twin].into_iter().flatten().collect();
        let accepting = tokio::spawn(accept(
            listeners,
            acceptor,
            registry.router(),
            registry.clone(),
            stopped,
        ));
        Ok(Self {
            address,
            is_tls,
            registry,
            stop,
            accepting,
        })
    }

    /// Where the registry listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address with its scheme, as clients outside of image references want it.
    pub fn url(&self) -> String {
        let scheme = if self.is_tls { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// The registry that is being served.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Takes no more connections, lets running requests end for a few seconds, and returns when all is quiet.
    pub async fn stop(mut self) {
        let _ = self.stop.send(true);
        // Kept in place: who doesn't wait for the end drops this, which ends the serving at once.
        let _ = (&mut self.accepting).await;
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Takes the next connection of any listener.
async fn next_of(listeners: &[TcpListener]) -> std::io::Result<(TcpStream, SocketAddr)> {
    poll_fn(|context| {
        let ready = |listener: &TcpListener| listener.poll_accept(context);
        let first = listeners.iter().map(ready).find(Poll::is_ready);
        first.unwrap_or(Poll::Pending)
    })
    .await
}

async fn accept(
    listeners: Vec<TcpListener>,
    tls: Option<TlsAcceptor>,
    router: Router,
    registry: Registry,
    mut stopped: watch::Receiver<bool>,
) {
    // Connections and housekeeping belong to this set: when serving is dropped, they end with it.
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(registry.keep_house());
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let graceful = GracefulShutdown::new();
    loop {
        let next = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (place, next_of(&listeners).await)
        };
        let (place, accepted) = tokio::select! {
            next = next => next,
            _ = stopped.wait_for(|stopped| *stopped) => break,
        };
        while tasks.try_join_next().is_some() {}
        match accepted {
            Ok((stream, client)) => {
                let tls = tls.clone();
                let peer = Peer {
                    address: client.ip(),
                    is_tls: tls.is_some(),
                };
                let router = router.clone().layer(Extension(peer));
                let watcher = graceful.watcher();
                tasks.spawn(async move {
                    let _place = place;
                    connect(stream, tls, router, watcher).await;
                });
            }
            Err(_) => tokio::time::sleep(ACCEPT_REST).await,
        }
    }
    drop(listeners);
    let _ = tokio::time::timeout(STOP_GRACE, graceful.shutdown()).await;
    tasks.shutdown().await;
}

async fn connect(stream: TcpStream, tls: Option<TlsAcceptor>, router: Router, watcher: Watcher) {
    // Answers are small or already large pieces: waiting to fill a packet only delays them.
    let _ = stream.set_nodelay(true);
    match tls {
        // No client of registries speaks HTTP/2 without TLS.
        None => converse(stream, Protocol::Http1, router, watcher).await,
        Some(acceptor) => {
            if let Ok(Ok(stream)) = tokio::time::timeout(HEAD_TIMEOUT, acceptor.accept(stream)).await {
                let protocol = match stream.get_ref().1.alpn_protocol() {
                    Some(b"h2") => Protocol::Http2,
                    _ => Protocol::Http1,
                };
                converse(stream, protocol, router, watcher).await;
            }
        }
    }
}

/// What a connection speaks. It is decided before the first request, so that the timeout for a request's head also counts
/// while nothing has come at all.
#[derive(Clone, Copy)]
enum Protocol {
    Http1,
    Http2,
}

async fn converse<S>(stream: S, protocol: Protocol, router: Router, watcher: Watcher)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut builder = match protocol {
        Protocol::Http1 => auto::Builder::new(TokioExecutor::new()).http1_only(),
        Protocol::Http2 => auto::Builder::new(TokioExecutor::new()).http2_only(),
    };
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_HEAD_BYTES);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(HEAD_TIMEOUT)
        .max_concurrent_streams(MAX_STREAMS)
        .max_header_list_size(MAX_HEAD_BYTES as u32);
    let connection = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    // A client that goes away in the middle is its own affair.
    let _ = watcher.watch(connection).await;
}
