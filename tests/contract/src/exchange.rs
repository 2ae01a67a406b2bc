//! One request that a case makes, put together step by step and sent when it is awaited.

use std::pin::Pin;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use http::{HeaderName, HeaderValue, Method};
use serde_json::Value;

use crate::answer::Answer;
use crate::context::PATIENCE;
use crate::server::Server;
use crate::watch::Events;

/// The four kinds of patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchKind {
    /// RFC 6902.
    Json,
    /// RFC 7386.
    Merge,
    /// Kubernetes' own, guided by the schema.
    Strategic,
    /// Server-side apply.
    Apply,
}

impl PatchKind {
    /// The media type that selects this kind.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Json => "application/json-patch+json",
            Self::Merge => "application/merge-patch+json",
            Self::Strategic => "application/strategic-merge-patch+json",
            Self::Apply => "application/apply-patch+yaml",
        }
    }
}

/// A request in the making.
#[derive(Clone)]
#[must_use = "a request is sent when it is awaited"]
pub struct Exchange<'a> {
    server: &'a dyn Server,
    method: Method,
    path: String,
    headers: http::HeaderMap,
    body: Bytes,
}

impl<'a> Exchange<'a> {
    pub(crate) fn new(server: &'a dyn Server, method: Method, path: String) -> Self {
        Self {
            server,
            method,
            path,
            headers: http::HeaderMap::new(),
            body: Bytes::new(),
        }
    }

    /// Adds a parameter.
    pub fn query(mut self, name: &str, value: &str) -> Self {
        self.path.push(if self.path.contains('?') { '&' } else { '?' });
        self.path.push_str(name);
        self.path.push('=');
        self.path.push_str(&escape(value));
        self
    }

    /// Adds a header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        let name: HeaderName = name.parse().expect("a header's name");
        self.headers
            .append(name, HeaderValue::from_str(value).expect("a header's value"));
        self
    }

    /// Says what answer is wanted.
    pub fn accept(self, media_type: &str) -> Self {
        self.header("Accept", media_type)
    }

    /// Asks for a table.
    pub fn as_table(self) -> Self {
        self.accept("application/json;as=Table;v=v1;g=meta.k8s.io")
    }

    /// Asks for metadata alone.
    pub fn as_metadata(self) -> Self {
        self.accept("application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io")
    }

    /// Asks on behalf of a user, who is in no group but `system:authenticated`.
    pub fn as_user(self, user: &str) -> Self {
        self.header("Impersonate-User", user)
    }

    /// Asks as the bearer of a token.
    pub fn token(self, token: &str) -> Self {
        self.header("Authorization", &format!("Bearer {token}"))
    }

    /// Asks without any credentials.
    pub fn anonymous(self) -> Self {
        self.header("Authorization", "")
    }

    /// Sets the body and its media type; an empty media type sends none.
    pub fn body(mut self, content_type: &str, body: impl Into<Bytes>) -> Self {
        self.headers.remove(http::header::CONTENT_TYPE);
        self.body = body.into();
        if content_type.is_empty() {
            self
        } else {
            self.header("Content-Type", content_type)
        }
    }

    /// Sets the body to a JSON document.
    pub fn json(self, body: &Value) -> Self {
        self.body("application/json", body.to_string())
    }

    fn what(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    async fn open(self) -> crate::server::Response {
        let what = self.what();
        let mut request = http::Request::new(self.body);
        *request.method_mut() = self.method;
        *request.uri_mut() = self
            .path
            .parse()
            .unwrap_or_else(|error| panic!("{what}: {error}"));
        *request.headers_mut() = self.headers;
        match tokio::time::timeout(PATIENCE, self.server.send(request)).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => panic!("{what}: {error}"),
            Err(elapsed) => panic!("{what}: no answer after {} s ({elapsed})", PATIENCE.as_secs()),
        }
    }

    async fn send(self) -> Answer {
        let what = self.what();
        let response = self.open().await;
        let (parts, mut chunks) = response.into_parts();
        let mut body = BytesMut::new();
        let read = async {
            while let Some(chunk) = chunks.next().await {
                body.extend_from_slice(&chunk.unwrap_or_else(|error| panic!("{what}: {error}")));
            }
        };
        assert!(
            tokio::time::timeout(PATIENCE, read).await.is_ok(),
            "{what}: the answer had no end after {} s",
            PATIENCE.as_secs()
        );
        Answer {
            what,
            status: parts.status.as_u16(),
            headers: parts.headers,
            body: body.freeze(),
        }
    }

    /// Sends the request as a watch and returns its events. The answer must be 200.
    pub async fn watch(self) -> Watch {
        let exchange = self.query("watch", "true");
        let what = exchange.what();
        let begun = Instant::now();
        let (parts, chunks) = loop {
            let (parts, chunks) = exchange.clone().open().await.into_parts();
            // A server that begins to keep events says so; clients try again.
            if parts.status != 429 || begun.elapsed() > PATIENCE {
                break (parts, chunks);
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        };
        let mut events = Events::new(chunks);
        if parts.status != 200 {
            let body = events.next().await;
            panic!("{what}: a watch was refused with {}: {body:?}", parts.status);
        }
        Watch { what, events }
    }
}

impl<'a> IntoFuture for Exchange<'a> {
    type Output = Answer;
    type IntoFuture = Pin<Box<dyn Future<Output = Answer> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.send())
    }
}

/// An open watch.
#[derive(Debug)]
pub struct Watch {
    what: String,
    events: Events,
}

impl Watch {
    /// The next event; panics when none comes or the watch ends.
    pub async fn next(&mut self) -> Value {
        match tokio::time::timeout(PATIENCE, self.events.next()).await {
            Ok(Some(Ok(event))) => event,
            Ok(Some(Err(error))) => panic!("{}: {error}", self.what),
            Ok(None) => panic!("{}: the watch ended, but an event was expected", self.what),
            Err(elapsed) => panic!(
                "{}: no event after {} s ({elapsed})",
                self.what,
                PATIENCE.as_secs()
            ),
        }
    }

    /// Takes the next event and checks its type and the object's name.
    pub async fn expect(&mut self, kind: &str, name: &str) -> Value {
        let event = self.next().await;
        let seen = event["object"]["metadata"]["name"].as_str().unwrap_or_default();
        assert!(
            event["type"] == kind && seen == name,
            "{}: expected {kind} {name}, not {event}",
            self.what
        );
        event["object"].clone()
    }

    /// Takes events until one is a bookmark, and returns its object.
    pub async fn bookmark(&mut self) -> Value {
        let event = self.next().await;
        assert!(
            event["type"] == "BOOKMARK",
            "{}: expected a bookmark, not {event}",
            self.what
        );
        event["object"].clone()
    }

    /// Waits for the server to end the watch, with no event before.
    pub async fn end(&mut self) {
        match tokio::time::timeout(PATIENCE, self.events.next()).await {
            Ok(None) => {}
            Ok(Some(event)) => panic!("{}: expected the end, not {event:?}", self.what),
            Err(elapsed) => panic!("{}: no end after {} s ({elapsed})", self.what, PATIENCE.as_secs()),
        }
    }
}

/// Escapes what has a meaning in a query.
pub(crate) fn escape(value: &str) -> String {
    percent_encoding::utf8_percent_encode(value, percent_encoding::NON_ALPHANUMERIC).to_string()
}
