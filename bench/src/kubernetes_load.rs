//! The same load on any Kubernetes API: writes, lists and watchers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::watch_frames::WatchFrames;

/// How many requests are under way at once.
const WRITERS: usize = 64;

/// How many watches share a connection: as many as the real server allows.
const WATCHES_PER_CONNECTION: usize = 90;

/// How long the slowest server may take for one figure.
const PATIENCE: Duration = Duration::from_mins(30);

/// How often a list is read, and a group of objects written: the figure is the median.
const ROUNDS: usize = 7;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// What objects are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Json,
    Protobuf,
}

impl Format {
    const ALL: [Self; 2] = [Self::Json, Self::Protobuf];

    fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Protobuf => "protobuf",
        }
    }

    fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Protobuf => schema::protobuf::CONTENT_TYPE,
        }
    }

    fn watch_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Protobuf => schema::protobuf::WATCH_CONTENT_TYPE,
        }
    }

    fn write(self, value: &Value) -> Result<Vec<u8>, Failure> {
        Ok(match self {
            Self::Json => serde_json::to_vec(value)?,
            Self::Protobuf => schema::protobuf::encode(value)?,
        })
    }
}

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
    // The windows are those of Go's client.
    Ok(reqwest::Client::builder()
        .no_proxy()
        .tls_certs_only([reqwest::Certificate::from_pem(authority)?])
        .http2_initial_stream_window_size(4 << 20)
        .http2_initial_connection_window_size(1 << 30)
        .build()?)
}

impl Target {
    fn new(url: &str, authority: &str, token: &str) -> Result<Self, Failure> {
        let authority: Arc<[u8]> = std::fs::read(authority)?.into();
        Ok(Self {
            client: client(&authority)?,
            url: url.into(),
            token: token.into(),
            authority,
        })
    }

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

    async fn get(&self, path: &str, format: Format) -> Result<Bytes, Failure> {
        let response = self
            .request(&self.client, reqwest::Method::GET, path)
            .header("accept", format.media_type())
            .send()
            .await?;
        Ok(response.error_for_status()?.bytes().await?)
    }

    async fn create(&self, path: &str, format: Format, value: &Value) -> Result<(), Failure> {
        let response = self
            .request(&self.client, reqwest::Method::POST, path)
            .header("content-type", format.media_type())
            .header("accept", format.media_type())
            .body(format.write(value)?)
            .send()
            .await?;
        let status = response.status();
        let body = response.bytes().await?;
        if !status.is_success() {
            return Err(format!("POST {path}: {status}: {}", String::from_utf8_lossy(&body)).into());
        }
        Ok(())
    }

    async fn create_namespace(&self, name: &str) -> Result<(), Failure> {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        self.create("/api/v1/namespaces", Format::Json, &namespace).await
    }

    /// Returns the version of a list of ConfigMaps, and how many there are.
    async fn state(&self, namespace: &str) -> Result<(String, usize), Failure> {
        let bytes = self
            .get(
                &format!("/api/v1/namespaces/{namespace}/configmaps"),
                Format::Json,
            )
            .await?;
        let list: Value = serde_json::from_slice(&bytes)?;
        let version = list["metadata"]["resourceVersion"].as_str().unwrap_or_default();
        Ok((version.to_owned(), list["items"].as_array().map_or(0, Vec::len)))
    }
}

fn run(work: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?
        .block_on(work)
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
    run(async {
        let target = Target::new(url, authority, token)?;
        for format in Format::ALL {
            let namespace = format!("bench-write-{}", format.name());
            target.create_namespace(&namespace).await?;
            let time = creates(&target, &namespace, "object", format, objects).await?;
            println!(
                "creates {}: {:.0} /s",
                format.name(),
                objects as f64 / time.as_secs_f64()
            );
        }
        for format in Format::ALL {
            let namespace = format!("bench-write-{}", format.name());
            let time = list(&target, &namespace, format, objects).await?;
            println!("list {}: {:.2} ms", format.name(), time.as_secs_f64() * 1e3);
        }
        for format in Format::ALL {
            let namespace = format!("bench-watch-{}", format.name());
            target.create_namespace(&namespace).await?;
            let time = watch(&target, &namespace, format, watchers, events).await?;
            println!("watchers {}: {:.2} s", format.name(), time.as_secs_f64());
        }
        Ok(())
    })
}

/// Measures writes with few and with many objects, and prints a line for each.
pub(crate) fn measure_growth(
    url: &str,
    authority: &str,
    token: &str,
    few: usize,
    many: usize,
) -> Result<(), Failure> {
    const GROUP: usize = 1_000;
    run(async {
        let target = Target::new(url, authority, token)?;
        let namespace = "bench-growth";
        target.create_namespace(namespace).await?;
        let mut stored = 0;
        for (name, wanted) in [("few", few), ("many", many)] {
            creates(&target, namespace, name, Format::Json, wanted - stored).await?;
            let mut times = Vec::new();
            for round in 0..ROUNDS {
                times.push(
                    creates(
                        &target,
                        namespace,
                        &format!("{name}-{round}"),
                        Format::Json,
                        GROUP,
                    )
                    .await?,
                );
            }
            stored = wanted + ROUNDS * GROUP;
            println!(
                "writes with {wanted} objects: {:.0} /s",
                GROUP as f64 / median(times).as_secs_f64()
            );
        }
        Ok(())
    })
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// An object as large as most are.
fn config_map(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {"app": "bench", "tier": "load"}},
        "data": {"key": "x".repeat(400)},
    })
}

async fn creates(
    target: &Target,
    namespace: &str,
    prefix: &str,
    format: Format,
    count: usize,
) -> Result<Duration, Failure> {
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
                let object = config_map(&format!("{prefix}-{number:06}"));
                target.create(&path, format, &object).await?;
            }
        });
    }
    while let Some(writer) = writers.join_next().await {
        writer??;
    }
    Ok(begun.elapsed())
}

async fn list(target: &Target, namespace: &str, format: Format, objects: usize) -> Result<Duration, Failure> {
    let path = format!("/api/v1/namespaces/{namespace}/configmaps");
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        let bytes = target.get(&path, format).await?;
        times.push(begun.elapsed());
        if bytes.len() < objects * 400 {
            return Err(format!("the list of {objects} objects has only {} bytes", bytes.len()).into());
        }
    }
    Ok(median(times))
}

/// Returns how long it takes from the first write until every watcher has seen every event.
async fn watch(
    target: &Target,
    namespace: &str,
    format: Format,
    watchers: usize,
    events: usize,
) -> Result<Duration, Failure> {
    let (since, present) = target.state(namespace).await?;
    let mut watching = JoinSet::new();
    for group in 0..watchers.div_ceil(WATCHES_PER_CONNECTION) {
        let connection = client(&target.authority)?;
        let left = watchers - group * WATCHES_PER_CONNECTION;
        for _ in 0..left.min(WATCHES_PER_CONNECTION) {
            let watcher = Watcher {
                target: target.clone(),
                connection: connection.clone(),
                namespace: namespace.to_owned(),
                format,
            };
            let response = watcher.start(&since).await?;
            watching.spawn(watcher.see(response, since.clone(), present, present + events));
        }
    }
    let begun = Instant::now();
    creates(target, namespace, "event", format, events).await?;
    let all = async {
        let mut restarts = 0;
        while let Some(seen) = watching.join_next().await {
            restarts += seen??;
        }
        Ok::<usize, Failure>(restarts)
    };
    let restarts = tokio::time::timeout(PATIENCE, all)
        .await
        .map_err(|_| format!("after {PATIENCE:?} not every watcher has seen every event"))??;
    let time = begun.elapsed();
    println!(
        "watchers {} that the server dropped and that came back: {restarts}",
        format.name()
    );
    Ok(time)
}

struct Watcher {
    target: Target,
    connection: reqwest::Client,
    namespace: String,
    format: Format,
}

impl Watcher {
    async fn start(&self, since: &str) -> Result<reqwest::Response, Failure> {
        let path = format!(
            "/api/v1/namespaces/{}/configmaps?watch=true&resourceVersion={since}&timeoutSeconds=3000",
            self.namespace
        );
        let response = self
            .target
            .request(&self.connection, reqwest::Method::GET, &path)
            .header("accept", self.format.watch_type())
            .send()
            .await?;
        Ok(response.error_for_status()?)
    }

    /// Reads until as many objects were seen as there will be; goes on as clients do where the server gives up. Returns
    /// how often that was.
    async fn see(
        self,
        mut response: reqwest::Response,
        mut since: String,
        mut seen: usize,
        wanted: usize,
    ) -> Result<usize, Failure> {
        let mut restarts = 0;
        loop {
            let mut frames = WatchFrames::new(self.format == Format::Protobuf);
            let mut body = response.bytes_stream();
            while seen < wanted
                && let Some(Ok(bytes)) = body.next().await
            {
                seen += frames.feed(bytes);
                if frames.has_failed() {
                    break;
                }
            }
            if frames.has_failed() {
                (since, seen) = self.target.state(&self.namespace).await?;
            } else if let Some(version) = frames.last_version() {
                since = version;
            }
            if seen >= wanted {
                return Ok(restarts);
            }
            restarts += 1;
            response = self.start(&since).await?;
        }
    }
}
