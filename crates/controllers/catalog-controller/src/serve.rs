//! Catalogs over HTTP: `/catalogs/{name}/api/v1/{all,metas,graphql}`, with upstream's rules.
//!
//! Beyond upstream, answers have strong tags (the digest of the image, with the form of the content), may be compressed
//! with zstd too, and come straight from the mapped file of the catalog.

mod answer;
mod body;
mod condition;
mod index;
mod query;
mod range;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::any;
use bytes::Bytes;
use catalog::store::{Query, StoreError};
use http::header::{
    ACCEPT_ENCODING, ACCEPT_RANGES, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG,
    LAST_MODIFIED, RANGE, VARY,
};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use percent_encoding::percent_decode_str;
use tokio::sync::Semaphore;
use tokio_util::io::ReaderStream;

use crate::contents::Served;
use crate::encoding::{Encoding, WORTH_COMPRESSING};
use crate::handle::Handle;
use body::{Pieces, Timed};
use condition::{Verdict, Version, whole_seconds};

/// The type of content that has one object on each line.
const JSON_LINES: &str = "application/jsonl";

/// How many queries are answered at the same time: each keeps a core busy, for five seconds at most.
const MAX_QUERIES_AT_ONCE: usize = 4;

/// How much of a compressed file is read at once.
const FILE_BUFFER_BYTES: usize = 256 << 10;

/// What all requests share.
#[derive(Clone)]
struct Server {
    handle: Handle,
    queries: Arc<Semaphore>,
    answer_timeout: Duration,
    front: Front,
}

/// What is at the address itself, where no catalog is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Front {
    /// Nothing, as upstream has it.
    Nothing,
    /// A page for people, who are shown the address and open it.
    Index,
}

/// The routes below `/catalogs`, to be served alone or merged with others.
pub fn router(handle: Handle, front: Front) -> Router {
    let server = Server {
        handle,
        queries: Arc::new(Semaphore::new(MAX_QUERIES_AT_ONCE)),
        answer_timeout: query::ANSWER_TIMEOUT,
        front,
    };
    server.router()
}

/// The answer for every path that nothing is served at; a fallback for who serves [`router`] alone.
pub fn page_not_found() -> std::future::Ready<Response> {
    std::future::ready(answer::page_not_found())
}

async fn answer(State(server): State<Server>, request: Request) -> Response {
    let begun = Instant::now();
    let (parts, body) = request.into_parts();
    let mut response = server.route(&parts, body).await;
    response
        .headers_mut()
        .insert(VARY, HeaderValue::from_static("Accept-Encoding"));
    let response = answer::for_method(&parts.method, response);
    let status = response.status().as_u16();
    let metrics = server.handle.shared_metrics();
    response.map(|inner| {
        Body::new(Timed {
            inner,
            metrics,
            status,
            begun,
        })
    })
}

/// The path without what means nothing in it: empty and `.` segments, and `..` with the one before.
fn cleaned(path: &str) -> Cow<'_, str> {
    let needs_no_cleaning = path
        .split('/')
        .skip(1)
        .all(|segment| !matches!(segment, "" | "." | ".."));
    let inner = path.strip_suffix('/').unwrap_or(path);
    let only_ends_with_slash = !inner.is_empty()
        && inner
            .split('/')
            .skip(1)
            .all(|segment| !matches!(segment, "" | "." | ".."));
    if needs_no_cleaning || only_ends_with_slash || path == "/" {
        return Cow::Borrowed(path);
    }
    let mut kept: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                kept.pop();
            }
            other => kept.push(other),
        }
    }
    let mut clean = format!("/{}", kept.join("/"));
    if path.ends_with('/') && clean != "/" {
        clean.push('/');
    }
    Cow::Owned(clean)
}

impl Server {
    fn router(self) -> Router {
        let router = match self.front {
            Front::Nothing => Router::new(),
            Front::Index => Router::new().route("/", any(answer)),
        };
        router
            .route("/catalogs", any(answer))
            .route("/catalogs/", any(answer))
            .route("/catalogs/{*path}", any(answer))
            .with_state(self)
    }

    async fn route(&self, parts: &Parts, body: Body) -> Response {
        let path = parts.uri.path();
        let clean = cleaned(path);
        if clean != path {
            let query = parts
                .uri
                .query()
                .map_or_else(String::new, |query| format!("?{query}"));
            return answer::moved(&format!("{clean}{query}"));
        }
        let segments: Vec<&str> = path.split('/').skip(1).collect();
        let is_read = matches!(parts.method, Method::GET | Method::HEAD);
        if self.front == Front::Index && matches!(segments.as_slice(), ["" | "catalogs"] | ["catalogs", ""]) {
            return if is_read {
                index::page(self.handle.contents())
            } else {
                answer::method_not_allowed()
            };
        }
        let [
            "catalogs",
            name,
            "api",
            "v1",
            endpoint @ ("all" | "metas" | "graphql"),
        ] = segments.as_slice()
        else {
            return answer::page_not_found();
        };
        if is_read == (*endpoint == "graphql") || !(is_read || parts.method == Method::POST) {
            return answer::method_not_allowed();
        }
        let name = percent_decode_str(name).decode_utf8_lossy();
        let faults = schema::structural::name_rules::dns_subdomain(&name);
        if !faults.is_empty() {
            let message = format!("invalid catalog name: {}", faults.join("; "));
            return answer::text(StatusCode::BAD_REQUEST, &message);
        }
        match *endpoint {
            "all" => self.all(parts, &name).await,
            "metas" => self.metas(parts, &name).await,
            _ => self.query(parts, &name, body).await,
        }
    }

    async fn all(&self, parts: &Parts, name: &str) -> Response {
        let Some(served) = self.handle.served(name) else {
            return answer::status(StatusCode::NOT_FOUND);
        };
        let version = version(&served);
        if let Some(response) = refused(&version, &parts.headers, false) {
            return response;
        }
        let ranges = if version.allows_ranges(&parts.headers) {
            let header = parts.headers.get(RANGE).and_then(|value| value.to_str().ok());
            range::parse(header.unwrap_or_default(), served.store().content_length())
        } else {
            Ok(Vec::new())
        };
        match ranges {
            Ok(ranges) if ranges.is_empty() => self.whole(parts, name, &served, &version).await,
            Ok(ranges) => match served.whole().await {
                Ok(content) => partial(&content, &ranges, &version),
                Err(error) => self.damaged(name, error),
            },
            Err(error) => {
                let mut response = answer::text(StatusCode::RANGE_NOT_SATISFIABLE, &error.to_string());
                if error == range::RangeError::NoOverlap {
                    let size = served.store().content_length();
                    insert(response.headers_mut(), CONTENT_RANGE, &format!("bytes */{size}"));
                }
                response
            }
        }
    }

    /// The whole content, compressed if the client likes that.
    async fn whole(&self, parts: &Parts, name: &str, served: &Served, version: &Version) -> Response {
        let is_worth_it = served.store().content_length() >= WORTH_COMPRESSING;
        if let Some(encoding) = accepted(&parts.headers).filter(|_| is_worth_it) {
            match compressed_file(served, encoding, parts.method == Method::HEAD).await {
                Ok((length, body)) => {
                    let mut headers = headers_of(version, Some(encoding));
                    headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
                    let mut response = answer::empty(StatusCode::OK, headers);
                    *response.body_mut() = body;
                    return response;
                }
                Err(error) => tracing::warn!(catalog = name, %error, "content is sent without compression"),
            }
        }
        match served.whole().await {
            Ok(content) => {
                let mut headers = headers_of(version, None);
                headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
                headers.insert(CONTENT_LENGTH, HeaderValue::from(content.len()));
                let mut response = answer::empty(StatusCode::OK, headers);
                *response.body_mut() = Body::new(Pieces::new([content]));
                response
            }
            Err(error) => self.damaged(name, error),
        }
    }

    async fn metas(&self, parts: &Parts, name: &str) -> Response {
        let (mut schema, mut package, mut wanted) = (None, None, None);
        let query = parts.uri.query().unwrap_or_default();
        for (key, value) in form_urlencoded::parse(query.as_bytes()) {
            let place = match &*key {
                "schema" => &mut schema,
                "package" => &mut package,
                "name" => &mut wanted,
                _ => return answer::status(StatusCode::BAD_REQUEST),
            };
            // Of a parameter that is given twice, the first counts.
            place.get_or_insert(value);
        }
        let Some(served) = self.handle.served(name) else {
            return answer::status(StatusCode::NOT_FOUND);
        };
        let version = version(&served);
        if let Some(response) = refused(&version, &parts.headers, true) {
            return response;
        }
        let [schema, package, wanted] = [schema, package, wanted].map(Option::unwrap_or_default);
        let query = Query {
            schema: &schema,
            package: &package,
            name: &wanted,
        };
        if query == Query::default() {
            return self.whole(parts, name, &served, &version).await;
        }
        let pieces: Result<Vec<Bytes>, StoreError> =
            served.store().metas(query).map(|meta| meta.line()).collect();
        match pieces {
            Ok(pieces) => {
                let headers = headers_of(&version, None);
                compressible(&parts.headers, headers, pieces, Some(&version)).await
            }
            Err(error) => self.damaged(name, error),
        }
    }

    /// Stops serving a catalog whose file has changed under our hands; the controller fetches it again.
    fn damaged(&self, name: &str, error: StoreError) -> Response {
        tracing::error!(catalog = name, %error, "a stored catalog can't be read; it is fetched again");
        if error.calls_for_rebuild() {
            let (contents, name) = (Arc::clone(self.handle.contents()), name.to_owned());
            tokio::task::spawn_blocking(move || {
                if let Err(error) = contents.withdraw(&name) {
                    tracing::warn!(catalog = name, %error, "a damaged catalog can't be removed");
                }
            });
        }
        answer::status(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

fn version(served: &Served) -> Version {
    Version {
        digest: served.digest().to_string(),
        modified: whole_seconds(served.unpacked().as_second()),
    }
}

/// The answer to a request whose conditions don't hold.
fn refused(version: &Version, headers: &HeaderMap, refuses_dates: bool) -> Option<Response> {
    let with_version = |status| {
        let mut headers = HeaderMap::new();
        insert(&mut headers, ETAG, &version.tag(None));
        insert(&mut headers, LAST_MODIFIED, &version.date());
        answer::empty(status, headers)
    };
    match version.check(headers, refuses_dates) {
        Verdict::Holds => None,
        Verdict::NotModified => Some(with_version(StatusCode::NOT_MODIFIED)),
        Verdict::Failed => Some(with_version(StatusCode::PRECONDITION_FAILED)),
        Verdict::Malformed => Some(answer::status(StatusCode::INTERNAL_SERVER_ERROR)),
    }
}

fn accepted(headers: &HeaderMap) -> Option<Encoding> {
    let values = headers.get_all(ACCEPT_ENCODING).iter();
    Encoding::accepted(values.filter_map(|value| value.to_str().ok()))
}

fn insert(headers: &mut HeaderMap, name: http::HeaderName, value: &str) {
    // Everything that is put here is made of digests, dates and numbers.
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

/// The headers of content.
fn headers_of(version: &Version, encoding: Option<Encoding>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON_LINES));
    insert(&mut headers, ETAG, &version.tag(encoding));
    insert(&mut headers, LAST_MODIFIED, &version.date());
    if let Some(encoding) = encoding {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static(encoding.token()));
    }
    headers
}

async fn compressed_file(
    served: &Served,
    encoding: Encoding,
    is_head: bool,
) -> Result<(u64, Body), Box<dyn std::error::Error + Send + Sync>> {
    let path = served.compressed(encoding).await?;
    let file = tokio::fs::File::open(path).await?;
    let length = file.metadata().await?.len();
    if is_head {
        return Ok((length, Body::empty()));
    }
    let stream = ReaderStream::with_capacity(file, FILE_BUFFER_BYTES);
    Ok((length, Body::from_stream(stream)))
}

/// An answer of pieces, compressed if that is worth it and the client likes it.
async fn compressible(
    request: &HeaderMap,
    mut headers: HeaderMap,
    pieces: Vec<Bytes>,
    version: Option<&Version>,
) -> Response {
    let length: u64 = pieces.iter().map(|piece| piece.len() as u64).sum();
    let mut pieces = pieces;
    if let Some(encoding) = accepted(request).filter(|_| length >= WORTH_COMPRESSING) {
        let plain = pieces.clone();
        let compressed = tokio::task::spawn_blocking(move || encoding.compressed(&plain)).await;
        if let Ok(Ok(compressed)) = compressed {
            pieces = vec![compressed];
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static(encoding.token()));
            if let Some(version) = version {
                insert(&mut headers, ETAG, &version.tag(Some(encoding)));
            }
        }
    }
    let mut response = answer::empty(StatusCode::OK, headers);
    *response.body_mut() = Body::new(Pieces::new(pieces));
    response
}

/// Some ranges of the content: one as it is, several as parts of a multipart document.
fn partial(content: &Bytes, ranges: &[std::ops::Range<u64>], version: &Version) -> Response {
    let cut = |range: &std::ops::Range<u64>| content.slice(range.start as usize..range.end as usize);
    let place = |range: &std::ops::Range<u64>| {
        let last = range.end.saturating_sub(1);
        format!("bytes {}-{last}/{}", range.start, content.len())
    };
    let mut headers = headers_of(version, None);
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    let pieces = if let [only] = ranges {
        insert(&mut headers, CONTENT_RANGE, &place(only));
        vec![cut(only)]
    } else {
        let boundary = format!("{:016x}", getrandom::u64().unwrap_or_default());
        insert(
            &mut headers,
            CONTENT_TYPE,
            &format!("multipart/byteranges; boundary={boundary}"),
        );
        let mut pieces = Vec::with_capacity(2 * ranges.len() + 1);
        for (number, range) in ranges.iter().enumerate() {
            let begin = if number == 0 { "" } else { "\r\n" };
            let head = format!(
                "{begin}--{boundary}\r\nContent-Range: {}\r\nContent-Type: {JSON_LINES}\r\n\r\n",
                place(range)
            );
            pieces.push(Bytes::from(head));
            pieces.push(cut(range));
        }
        pieces.push(Bytes::from(format!("\r\n--{boundary}--\r\n")));
        pieces
    };
    let pieces = Pieces::new(pieces);
    let length = http_body::Body::size_hint(&pieces).exact().unwrap_or_default();
    headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    let mut response = answer::empty(StatusCode::PARTIAL_CONTENT, headers);
    *response.body_mut() = Body::new(pieces);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_answer_that_takes_too_long_is_an_error() {
        use http_body_util::BodyExt as _;
        use tower::ServiceExt as _;

        let folder = tempfile::tempdir().expect("a folder");
        let contents = Arc::new(crate::contents::Contents::open(folder.path()).expect("contents"));
        let digest = image::digest::Digest::of(b"catalog");
        let writer = catalog::store::StoreWriter::create(&contents.stores(), &digest).expect("a writer");
        let store = writer.finish().expect("a store");
        let reference = format!("registry.example/catalog@{digest}");
        contents
            .put("test-catalog", reference, jiff::Timestamp::now(), store)
            .expect("served");
        let server = Server {
            handle: Handle::of(contents),
            queries: Arc::new(Semaphore::new(1)),
            answer_timeout: Duration::ZERO,
            front: Front::Nothing,
        };
        let request = http::Request::post("/catalogs/test-catalog/api/v1/graphql")
            .body(Body::from("{\"query\": \"{ summary { totalSchemas } }\"}"))
            .expect("a request");
        let response = server.router().oneshot(request).await.expect("an answer");
        assert_eq!(response.status(), 500);
        let body = response.into_body().collect().await.expect("a body").to_bytes();
        assert_eq!(body, "500 Internal Server Error\n");
    }

    #[tokio::test]
    async fn whoever_opens_the_address_sees_which_catalogs_there_are_if_that_is_wanted() {
        use http_body_util::BodyExt as _;
        use tower::ServiceExt as _;

        let folder = tempfile::tempdir().expect("a folder");
        let contents = Arc::new(crate::contents::Contents::open(folder.path()).expect("contents"));
        let shown = async |front: Front, method: &str, path: &str| {
            let request = Request::builder().method(method).uri(path);
            let request = request.body(Body::empty()).expect("a request");
            let router = router(Handle::of(Arc::clone(&contents)), front);
            let response = router.oneshot(request).await.expect("an answer");
            let status = response.status().as_u16();
            let body = response.into_body().collect().await.expect("a body").to_bytes();
            (status, String::from_utf8_lossy(&body).into_owned())
        };
        let (status, page) = shown(Front::Index, "GET", "/").await;
        assert_eq!(status, 200);
        assert!(page.contains("No catalog is served yet"), "{page}");

        let digest = image::digest::Digest::of(b"catalog");
        let writer = catalog::store::StoreWriter::create(&contents.stores(), &digest).expect("a writer");
        let store = writer.finish().expect("a store");
        let reference = format!("registry.example/<catalog>@{digest}");
        contents
            .put("main", reference, jiff::Timestamp::UNIX_EPOCH, store)
            .expect("served");
        for path in ["/", "/catalogs", "/catalogs/"] {
            let (status, page) = shown(Front::Index, "GET", path).await;
            assert_eq!(status, 200, "{path}");
            assert!(page.contains("href=\"/catalogs/main/api/v1/all\""), "{page}");
            assert!(
                !page.contains("<catalog>"),
                "what others wrote is no markup: {page}"
            );
            assert_eq!(shown(Front::Index, "POST", path).await.0, 405, "{path}");
            assert_eq!(shown(Front::Nothing, "GET", path).await.0, 404, "{path}");
        }
    }

    #[test]
    fn paths_are_cleaned_as_go_does() {
        for (path, expected) in [
            ("/catalogs/a/api/v1/all", "/catalogs/a/api/v1/all"),
            ("/catalogs/", "/catalogs/"),
            ("/", "/"),
            ("/catalogs//a/", "/catalogs/a/"),
            ("/catalogs/./a/../b", "/catalogs/b"),
            ("/../..", "/"),
            ("//", "/"),
        ] {
            assert_eq!(cleaned(path), expected, "{path}");
        }
    }
}
