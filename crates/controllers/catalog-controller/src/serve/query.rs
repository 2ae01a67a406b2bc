//! GraphQL over HTTP.

use std::time::{Duration, Instant};

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use goyaml::json::Escape;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, StatusCode};
use http_body_util::BodyExt as _;
use serde_json::Value;

use super::{Server, answer, compressible};
use crate::graphql::{Answer, DeadlineExceeded, ParsedQuery, QueryError};

/// How many bytes a request may have, as upstream has it.
const MAX_REQUEST_BYTES: usize = 1 << 20;
/// How many bytes a query may have, as upstream has it.
const MAX_QUERY_BYTES: usize = 100_000;
/// How long a client may take to send its request, as upstream has it.
const READ_TIMEOUT: Duration = Duration::from_secs(5);
/// How long an answer may take, as upstream has it.
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

impl Server {
    pub(super) async fn query(&self, parts: &Parts, name: &str, body: Body) -> Response {
        let refuse = |text| answer::text(StatusCode::BAD_REQUEST, text);
        let read = tokio::time::timeout(READ_TIMEOUT, read(body)).await;
        let Some(query) = read.ok().flatten().and_then(|bytes| query_of(&bytes)) else {
            return refuse("Invalid request body");
        };
        if query.is_empty() {
            return refuse("Query cannot be empty");
        }
        if query.len() > MAX_QUERY_BYTES {
            return refuse("Query too large");
        }
        let parsed = match ParsedQuery::read(&query) {
            Ok(parsed) => parsed,
            Err(refusal) => return written(&parts.headers, &refusal).await,
        };
        let Some(served) = self.handle.served(name) else {
            return answer::status(StatusCode::NOT_FOUND);
        };
        let Ok(_turn) = self.queries.acquire().await else {
            return answer::status(StatusCode::SERVICE_UNAVAILABLE);
        };
        let patience = self.answer_timeout;
        let work = tokio::task::spawn_blocking(move || match served.types() {
            Ok(types) => parsed.answer(types, served.store(), Instant::now() + patience),
            Err(cause) => Ok(Answer {
                data: None,
                errors: vec![QueryError {
                    message: cause.to_owned(),
                    locations: Vec::new(),
                    path: Vec::new(),
                }],
            }),
        });
        match work.await {
            Ok(Ok(answer)) => written(&parts.headers, &answer).await,
            Ok(Err(DeadlineExceeded)) | Err(_) => answer::status(StatusCode::INTERNAL_SERVER_ERROR),
        }
    }
}

/// Reads a body up to the limit; what comes after that is left unread.
async fn read(mut body: Body) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    while bytes.len() < MAX_REQUEST_BYTES
        && let Some(frame) = body.frame().await
    {
        if let Ok(data) = frame.ok()?.into_data() {
            let room = MAX_REQUEST_BYTES - bytes.len();
            bytes.extend_from_slice(data.get(..room).unwrap_or(&data));
        }
    }
    Some(bytes)
}

/// The query in a request, which is the first JSON value of the body. Go finds keys whatever their case.
fn query_of(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let first = serde_json::Deserializer::from_str(&text)
        .into_iter::<Value>()
        .next()?;
    let object = match first.ok()? {
        Value::Object(object) => object,
        Value::Null => return Some(String::new()),
        _ => return None,
    };
    let mut query = String::new();
    for (key, value) in object {
        if key.eq_ignore_ascii_case("query") {
            match value {
                Value::String(text) => query = text,
                Value::Null => {}
                _ => return None,
            }
        }
    }
    Some(query)
}

async fn written(request: &HeaderMap, answer: &Answer) -> Response {
    let Ok(mut text) = goyaml::json::to_string(answer, Escape::Html) else {
        return answer::status(StatusCode::INTERNAL_SERVER_ERROR);
    };
    text.push('\n');
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    compressible(request, headers, vec![Bytes::from(text)], None).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_is_found_as_go_finds_it() {
        for (body, expected) in [
            ("{\"query\": \"{a}\"}", Some("{a}")),
            ("{\"Query\": \"{a}\", \"x\": 1} trailing", Some("{a}")),
            ("{}", Some("")),
            ("null", Some("")),
            ("{\"query\": null}", Some("")),
            ("{\"query\": 1}", None),
            ("[]", None),
            ("{invalid json", None),
            ("", None),
        ] {
            assert_eq!(query_of(body.as_bytes()).as_deref(), expected, "{body}");
        }
    }
}
