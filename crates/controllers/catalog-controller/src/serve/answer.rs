//! Answers as Go's HTTP library gives them.

use axum::body::Body;
use axum::response::Response;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, LOCATION, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderMap, HeaderValue, Method, StatusCode};

/// A text for a person, with a newline after it.
pub(super) fn text(status: StatusCode, text: &str) -> Response {
    let mut response = Response::new(Body::from(format!("{text}\n")));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// The status in figures and words.
pub(super) fn status(status: StatusCode) -> Response {
    text(status, &status.to_string())
}

/// There is no such path.
pub(super) fn page_not_found() -> Response {
    text(StatusCode::NOT_FOUND, "404 page not found")
}

/// The method can't be used here.
pub(super) fn method_not_allowed() -> Response {
    text(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed")
}

/// The same resource has a shorter path.
pub(super) fn moved(location: &str) -> Response {
    let mut response = text(StatusCode::MOVED_PERMANENTLY, "Moved Permanently");
    if let Ok(location) = HeaderValue::from_str(location) {
        response.headers_mut().insert(LOCATION, location);
    }
    response
}

/// An answer without a body.
pub(super) fn empty(status: StatusCode, headers: HeaderMap) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

/// Takes the body away from the answer to a HEAD request, and keeps its length.
pub(super) fn for_method(method: &Method, response: Response) -> Response {
    if *method != Method::HEAD {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let length = http_body::Body::size_hint(&body).exact();
    if let Some(length) = length.filter(|_| !parts.headers.contains_key(CONTENT_LENGTH)) {
        // Go says nothing of the length of what it would have streamed; a length of nothing would be wrong.
        if length > 0 {
            parts.headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
        }
    }
    Response::from_parts(parts, Body::empty())
}
