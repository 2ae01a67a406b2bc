//! The same load on any Kubernetes API: writes, lists and watchers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use tokio::task::JoinSet;

/// How many requests are under way at once.
const WRITERS: usize = 64;

/// How many watches share a connection: as many as the real server allows.
const WATCHES_PER_CONNECTION: usize = 90;

/// How long the slowest server may take for one figure.
const PATIENCE: Duration = Duration::from_mins(15);

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// A server under load.
#[derive(Clone)]
struct Target {
    client: reqwest::Client,
    url: Arc<str>,
    token: Arc<str>,
    authority: Arc<[u8]>,
}

fn client(authority: &[u8]) -> Result<reqwest::Client, Failure> {
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    Ok(reqwest::Client::builder()
        .no_proxy()
        .tls_certs_only([reqwest::Certificate::from_pem(authority)?])
        .http2_initial_stream_window_size(4 << 20)
        .http2_initial_connection_window_size(64 << 20)
        .build()?)
}

impl Target {
    fn request(
        &self,
        client: &reqwest::Client,
        method: reqwest::Method,
        path: &str,
    ) -> reqwest::RequestBuilder {
        client
            .request(method, format!("{}{path}", self.url))
            .bearer_auth(&self.token)
    }

    async fn get(&self, path: &str) -> Result<bytes::Bytes, Failure> {
        let response = self
            .request(&self.client, reqwest::Method::GET, path)
            .send()
            .await?;
        Ok(response.error_for_status()?.bytes().await?)
    }
}

/// Measures a server, and prints a line for each figure.
pub(crate) fn measure(
    url: &str,
    authority: &str,
    token: &str,
    objects: usize,
    watchers: usize,
    events: usize,
) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let authority: Arc<[u8]> = std::fs::read(authority)?.into();
        let target = Target {
            client: client(&authority)?,
            url: url.into(),
            token: token.into(),
            authority,
        };
        for namespace in ["bench-write", "bench-watch"] {
            let body =
                format!(r#"{{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{namespace}"}}}}"#);
            post(&target, "/api/v1/namespaces", body).await?;
        }
        let tenth = objects / 10;
        let first = creates(&target, "bench-write", "early", tenth).await?;
        println!(
            "creates, first tenth: {:.0} /s",
            tenth as f64 / first.as_secs_f64()
        );
        let most = creates(&target, "bench-write", "object", objects - 2 * tenth).await?;
        let last = creates(&target, "bench-write", "late", tenth).await?;
        println!(
            "creates: {:.0} /s",
            objects as f64 / (first + most + last).as_secs_f64()
        );
        println!("creates, last tenth: {:.0} /s", tenth as f64 / last.as_secs_f64());
        lists(&target, objects).await?;
        watch(&target, watchers, events).await
    })
}

async fn post(target: &Target, path: &str, body: String) -> Result<(), Failure> {
    let request = target.request(&target.client, reqwest::Method::POST, path);
    let response = request
        .header("content-type", "application/json")
        .body(body)
        .send()
        .await?;
    response.error_for_status()?;
    Ok(())
}

/// An object as large as most are.
fn config_map(name: &str) -> String {
    let text = "x".repeat(400);
    format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}","labels":{{"app":"bench","tier":"load"}}}},"data":{{"key":"{text}"}}}}"#
    )
}

async fn creates(target: &Target, namespace: &str, prefix: &str, count: usize) -> Result<Duration, Failure> {
    let next = Arc::new(AtomicUsize::new(0));
    let begun = Instant::now();
    let mut writers = JoinSet::new();
    for _ in 0..WRITERS {
        let (target, next) = (target.clone(), next.clone());
        let (path, prefix) = (
            format!("/api/v1/namespaces/{namespace}/configmaps"),
            prefix.to_owned(),
        );
        writers.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    return Ok::<(), Failure>(());
                }
                post(&target, &path, config_map(&format!("{prefix}-{number:06}"))).await?;
            }
        });
    }
    while let Some(writer) = writers.join_next().await {
        writer??;
    }
    Ok(begun.elapsed())
}

async fn lists(target: &Target, objects: usize) -> Result<(), Failure> {
    let path = "/api/v1/namespaces/bench-write/configmaps";
    let mut times = Vec::new();
    for _ in 0..7 {
        let begun = Instant::now();
        let bytes = target.get(path).await?;
        times.push(begun.elapsed().as_secs_f64() * 1e3);
        if bytes.len() < objects * 400 {
            return Err(format!("the list of {objects} objects has only {} bytes", bytes.len()).into());
        }
    }
    times.sort_by(f64::total_cmp);
    println!("list of {objects}: {:.1} ms", times[times.len() / 2]);
    Ok(())
}

async fn watch(target: &Target, watchers: usize, events: usize) -> Result<(), Failure> {
    let path = "/api/v1/namespaces/bench-watch/configmaps?watch=true&resourceVersion=0&timeoutSeconds=3000";
    // What is there already, such as the certificate of the server, is an event too.
    let present = count_of(&target.get("/api/v1/namespaces/bench-watch/configmaps").await?);
    let wanted = (watchers * (events + present)) as u64;
    let seen = Arc::new(AtomicU64::new(0));
    let mut reading = JoinSet::new();
    for group in 0..watchers.div_ceil(WATCHES_PER_CONNECTION) {
        let connection = client(&target.authority)?;
        let left = watchers - group * WATCHES_PER_CONNECTION;
        for _ in 0..left.min(WATCHES_PER_CONNECTION) {
            let response = target
                .request(&connection, reqwest::Method::GET, path)
                .send()
                .await?
                .error_for_status()?;
            let (seen, connection) = (seen.clone(), connection.clone());
            reading.spawn(async move {
                let mut body = response.bytes_stream();
                while let Some(Ok(bytes)) = body.next().await {
                    seen.fetch_add(
                        memchr::memchr_iter(b'\n', &bytes).count() as u64,
                        Ordering::Relaxed,
                    );
                }
                drop(connection);
            });
        }
    }
    let begun = Instant::now();
    creates(target, "bench-watch", "event", events).await?;
    while seen.load(Ordering::Relaxed) < wanted {
        if begun.elapsed() > PATIENCE {
            return Err(format!(
                "after {PATIENCE:?} only {} of {wanted} events were seen",
                seen.load(Ordering::Relaxed)
            )
            .into());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    println!(
        "{watchers} watchers × {events} events: {:.2} s",
        begun.elapsed().as_secs_f64()
    );
    reading.abort_all();
    Ok(())
}

/// Returns how many items a list has.
fn count_of(list: &[u8]) -> usize {
    let value: serde_json::Value = serde_json::from_slice(list).unwrap_or_default();
    value["items"].as_array().map_or(0, Vec::len)
}
