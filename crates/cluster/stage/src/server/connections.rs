//! Connections: accepted, spoken with, and ended.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use hosts::Hosts;
use http::{Request, Response};
use http_body::Body as _;
use http_body_util::BodyStream;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::SharedApi;
use super::patience::{Impatience, Impatient};
use crate::status::Status;
use crate::wire::negotiation::Accepted;
use crate::wire::{self, Body, Peer, Watched};

/// How many connections are served at once: more clients than one machine has, and fewer than would take its memory.
const MAX_CONNECTIONS: usize = 8192;

/// How long a client may take for its TLS handshake and for the head of a request, and may rest between two requests.
const HEAD_TIMEOUT: Duration = Duration::from_mins(2);

/// How often a quiet HTTP/2 connection is asked whether its client still lives.
const KEEP_ALIVE: Duration = Duration::from_secs(30);

/// How many bytes the head of a request may have, as on the real server.
const MAX_HEAD_BYTES: usize = 1 << 20;

/// How many headers a request may have: each group of an impersonated user is one.
const MAX_HEADERS: usize = 2048;

/// How many requests one HTTP/2 connection may have open: a client has a watch for each kind, all on one connection.
const MAX_STREAMS: u32 = 1000;

/// How much of an answer waits for a slow client on an HTTP/2 connection: thousands of watchers have this much each.
const SEND_BUFFER: usize = 64 * 1024;

/// How long running requests may take to end after the server was told to stop.
const STOP_GRACE: Duration = Duration::from_secs(10);

/// How long accepting rests after the system refused to, usually for want of file descriptors.
const ACCEPT_REST: Duration = Duration::from_millis(100);

/// Accepts connections until it is told to stop, then ends them.
pub(super) async fn accept(
    listener: TcpListener,
    tls: TlsAcceptor,
    api: SharedApi,
    hosts: Arc<Hosts>,
    mut stopped: watch::Receiver<bool>,
) {
    // Connections belong to this set: when serving is dropped, they end with it.
    let mut tasks = tokio::task::JoinSet::new();
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let graceful = GracefulShutdown::new();
    let stopping = stopped.clone();
    loop {
        let next = async {
            let place = places.clone().acquire_owned().await;
            (place, listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            next = next => next,
            _ = stopped.wait_for(|stopped| *stopped) => break,
        };
        while tasks.try_join_next().is_some() {}
        match accepted {
            Ok((stream, _)) => {
                let (tls, api, hosts) = (tls.clone(), api.clone(), hosts.clone());
                let (watcher, stopping) = (graceful.watcher(), stopping.clone());
                tasks.spawn(async move {
                    let _place = place;
                    connect(stream, tls, api, hosts, watcher, stopping).await;
                });
            }
            Err(_) => tokio::time::sleep(ACCEPT_REST).await,
        }
    }
    drop(listener);
    let _ = tokio::time::timeout(STOP_GRACE, graceful.shutdown()).await;
    tasks.shutdown().await;
}

async fn connect(
    stream: TcpStream,
    tls: TlsAcceptor,
    api: SharedApi,
    hosts: Arc<Hosts>,
    watcher: Watcher,
    stopping: watch::Receiver<bool>,
) {
    // Answers are small or already large pieces: waiting to fill a packet only delays them.
    let _ = stream.set_nodelay(true);
    let address: Arc<str> = stream
        .local_addr()
        .map_or_else(|_| "".into(), |address| address.to_string().into());
    let (stream, impatience) = Impatient::new(stream);
    if let Ok(Ok(stream)) = tokio::time::timeout(HEAD_TIMEOUT, tls.accept(stream)).await {
        let chain = stream.get_ref().1.peer_certificates().unwrap_or_default();
        let peer = Peer {
            certificate: api.access.certificate(chain),
            trusted: None,
            address,
        };
        let served = Served { api, hosts, peer };
        converse(stream, impatience, served, watcher, stopping).await;
    }
}

/// What the requests of a connection are answered with.
#[derive(Clone)]
struct Served {
    api: SharedApi,
    /// The names by which the server is asked.
    hosts: Arc<Hosts>,
    peer: Peer,
}

async fn converse(
    stream: TlsStream<Impatient<TcpStream>>,
    impatience: Impatience,
    served: Served,
    watcher: Watcher,
    stopping: watch::Receiver<bool>,
) {
    // What is spoken is known before the first request, so that the timeout for its head also counts while nothing has
    // come at all.
    let builder = auto::Builder::new(TokioExecutor::new());
    let multiplexed = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    let mut builder = if multiplexed {
        builder.http2_only()
    } else {
        builder.http1_only()
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
        .keep_alive_interval(KEEP_ALIVE)
        .max_concurrent_streams(MAX_STREAMS)
        .max_send_buf_size(SEND_BUFFER)
        .max_header_list_size(u32::try_from(MAX_HEAD_BYTES).unwrap_or(u32::MAX));
    let service = service_fn(move |request: Request<Incoming>| {
        let (served, stopping) = (served.clone(), stopping.clone());
        let impatience = impatience.clone();
        async move {
            if let Err(refused) = served.hosts.admit(request.uri(), request.headers()) {
                return Ok(wire::failure(
                    &Status::misdirected(&refused),
                    &Accepted::default(),
                ));
            }
            let response = wire::handle(&served.api, request, served.peer).await;
            // Where requests share a connection, its pings find out who no longer reads; and what one request's
            // reader leaves lying holds up nobody.
            impatience.set(!multiplexed && response.extensions().get::<Watched>().is_some());
            Ok::<_, Infallible>(until_stopped(response, stopping))
        }
    });
    let connection = builder
        .serve_connection_with_upgrades(TokioIo::new(stream), service)
        .into_owned();
    // A client that goes away in the middle is its own affair.
    let _ = watcher.watch(connection).await;
}

/// Ends an answer without a known end, such as a watch, when the server stops.
fn until_stopped(response: Response<Body>, mut stopping: watch::Receiver<bool>) -> Response<Body> {
    if response.body().size_hint().exact().is_some() {
        return response;
    }
    response.map(|body| {
        let stopped = async move {
            let _ = stopping.wait_for(|stopped| *stopped).await;
        };
        wire::stream_body(BodyStream::new(body).take_until(Box::pin(stopped)))
    })
}
