//! Stand-ins for a registry: one that lets nothing through until it is told to, and one that changes what it passes on.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// How much a slow registry sends at a time.
const DROP: usize = 16;

/// How long it waits before it sends more.
const BETWEEN_DROPS: Duration = Duration::from_millis(500);

/// After how many it waits for its release: no answer of a registry is as short, so none is whole before, however long that takes.
const MOST_DROPS: usize = 8;

async fn listen() -> Result<(TcpListener, String), String> {
    let listener = TcpListener::bind("127.0.0.1:0")
        .await
        .map_err(|error| error.to_string())?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    Ok((listener, address.to_string()))
}

/// A registry that answers a few bytes at a time, and never a whole answer, until it is released.
pub(crate) struct Trickle {
    pub(crate) address: String,
    used: watch::Receiver<bool>,
    released: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Drop for Trickle {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Trickle {
    pub(crate) async fn before(registry: &str) -> Result<Self, String> {
        let (listener, address) = listen().await?;
        let (released, is_released) = watch::channel(false);
        let (use_it, used) = watch::channel(false);
        let registry = registry.to_owned();
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let _ = use_it.send(true);
                tokio::spawn(trickle(client, registry.clone(), is_released.clone()));
            }
        });
        Ok(Self {
            address,
            used,
            released,
            task,
        })
    }

    /// Waits until somebody connects.
    pub(crate) async fn until_used(&self) -> Result<(), String> {
        let mut used = self.used.clone();
        let waited = tokio::time::timeout(crate::kubernetes::PATIENCE, used.wait_for(|used| *used)).await;
        match waited {
            Ok(Ok(_)) => Ok(()),
            _ => Err("nobody asked the slow registry".to_owned()),
        }
    }

    /// Lets everything through at once.
    pub(crate) fn release(&self) {
        let _ = self.released.send(true);
    }
}

async fn trickle(client: TcpStream, registry: String, mut released: watch::Receiver<bool>) -> Option<()> {
    let server = TcpStream::connect(registry).await.ok()?;
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let asking = tokio::spawn(async move { tokio::io::copy(&mut from_client, &mut to_server).await });
    let mut buffer = vec![0; 64 << 10];
    let mut drops = 0;
    loop {
        if drops == MOST_DROPS {
            released.wait_for(|is_released| *is_released).await.ok()?;
        }
        drops += 1;
        let is_released = *released.borrow();
        let most = if is_released { buffer.len() } else { DROP };
        let piece = buffer.get_mut(..most)?;
        let read = from_server.read(piece).await.ok().filter(|read| *read > 0);
        let Some(read) = read else { break };
        if !is_released {
            tokio::time::sleep(BETWEEN_DROPS).await;
        }
        if to_client.write_all(piece.get(..read)?).await.is_err() {
            break;
        }
    }
    asking.abort();
    Some(())
}

/// A registry that changes the last byte of every blob, until it is told not to.
pub(crate) struct Liar {
    pub(crate) address: String,
    lies: Arc<AtomicBool>,
    task: JoinHandle<()>,
}

impl Drop for Liar {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Liar {
    pub(crate) async fn before(registry: &str) -> Result<Self, String> {
        let (listener, address) = listen().await?;
        let lies = Arc::new(AtomicBool::new(true));
        let registry: Arc<str> = registry.into();
        let shared = Arc::clone(&lies);
        let client = reqwest::Client::builder()
            .no_proxy()
            .build()
            .map_err(|error| error.to_string())?;
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (client, registry, lies) = (client.clone(), Arc::clone(&registry), Arc::clone(&shared));
                tokio::spawn(async move {
                    let service = service_fn(|request| {
                        let lies = lies.load(Ordering::SeqCst);
                        pass_on(client.clone(), Arc::clone(&registry), request, lies)
                    });
                    let _ = hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), service)
                        .await;
                });
            }
        });
        Ok(Self { address, lies, task })
    }

    pub(crate) fn tell_the_truth(&self) {
        self.lies.store(false, Ordering::SeqCst);
    }
}

async fn pass_on(
    client: reqwest::Client,
    registry: Arc<str>,
    request: hyper::Request<Incoming>,
    lies: bool,
) -> Result<hyper::Response<Full<Bytes>>, Infallible> {
    let path = request
        .uri()
        .path_and_query()
        .map_or("/", |path| path.as_str())
        .to_owned();
    let mut asked = client.request(request.method().clone(), format!("http://{registry}{path}"));
    for name in [hyper::header::ACCEPT, hyper::header::RANGE] {
        if let Some(value) = request.headers().get(&name) {
            asked = asked.header(name, value.clone());
        }
    }
    let Ok(answer) = asked.send().await else {
        let mut failed = hyper::Response::new(Full::default());
        *failed.status_mut() = hyper::StatusCode::BAD_GATEWAY;
        return Ok(failed);
    };
    let (status, headers) = (answer.status(), answer.headers().clone());
    let mut body = answer.bytes().await.unwrap_or_default().to_vec();
    if lies
        && path.contains("/blobs/")
        && let Some(last) = body.last_mut()
    {
        *last ^= 1;
    }
    let is_head = request.method() == hyper::Method::HEAD;
    let mut passed = hyper::Response::new(Full::from(body));
    *passed.status_mut() = status;
    for (name, value) in &headers {
        let is_length = name == hyper::header::CONTENT_LENGTH || name == hyper::header::TRANSFER_ENCODING;
        if !is_length || is_head {
            passed.headers_mut().insert(name.clone(), value.clone());
        }
    }
    Ok(passed)
}
