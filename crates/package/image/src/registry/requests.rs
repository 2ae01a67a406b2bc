//! Requests: who may ask, what for, and which part of the registry answers.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::header::{ALLOW, HeaderName, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use http::{Method, StatusCode};
use serde_json::json;

use super::pull::Wanted;
use super::push::next_piece;
use super::refusal::{ErrorCode, Refusal};
use super::routes::{Query, Route};
use super::{Registry, listing, manage, pull, push};

/// How much of a refused request's body is still read, so that clients that send first and read later get the answer.
const MAX_DRAINED_BYTES: usize = 16 << 20;

/// How long a refused request's body is still read.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// Answers a request below `/v2`.
pub(super) async fn answer(State(registry): State<Registry>, request: Request) -> Response {
    let (parts, mut body) = request.into_parts();
    let mut response = match dispatch(&registry, &parts, &mut body).await {
        Ok(response) => response,
        Err(refusal) => {
            drain(&mut body).await;
            refusal.into_response()
        }
    };
    let headers = response.headers_mut();
    headers.insert(
        HeaderName::from_static("docker-distribution-api-version"),
        HeaderValue::from_static("registry/2.0"),
    );
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// Reads and forgets the rest of a body, within limits.
async fn drain(body: &mut Body) {
    let reading = async {
        let mut bytes = 0;
        while let Some(Ok(piece)) = next_piece(body).await {
            bytes += piece.len();
            if bytes > MAX_DRAINED_BYTES {
                break;
            }
        }
    };
    let _ = tokio::time::timeout(DRAIN_TIMEOUT, reading).await;
}

async fn dispatch(
    registry: &Registry,
    request: &http::request::Parts,
    body: &mut Body,
) -> Result<Response, Refusal> {
    if let Some(users) = &registry.0.users {
        users.admit(&request.headers).await?;
    }
    let method = &request.method;
    if registry.0.options.read_only && !matches!(*method, Method::GET | Method::HEAD) {
        return Err(Refusal::new(
            StatusCode::METHOD_NOT_ALLOWED,
            ErrorCode::Unsupported,
            "this registry is read-only: push to the one that it is filled from",
            json!(null),
        )
        .with_header(ALLOW, "GET, HEAD"));
    }
    let path = request.uri.path();
    let Some(route) = Route::parse(path)? else {
        return Err(Refusal::new(
            StatusCode::NOT_FOUND,
            ErrorCode::Unsupported,
            format_args!("the registry has nothing at {path:?}"),
            json!({ "path": path }),
        ));
    };
    let query = Query::parse(request.uri.query());
    let headers = &request.headers;
    let wanted = match *method {
        Method::HEAD => Wanted::Facts,
        _ => Wanted::Content,
    };
    match (route, method) {
        (Route::Base, &Method::GET | &Method::HEAD) => {
            Ok(listing::json_response("application/json", &json!({})))
        }
        (Route::Catalog, &Method::GET | &Method::HEAD) => listing::catalog(registry, &query).await,
        (Route::Tags(name), &Method::GET | &Method::HEAD) => listing::tags(registry, name, &query).await,
        (Route::Referrers(name, subject), &Method::GET | &Method::HEAD) => {
            listing::referrers(registry, name, &subject, &query).await
        }
        (Route::Manifest(name, reference), &Method::GET | &Method::HEAD) => {
            pull::manifest(registry, name, &reference, headers, wanted).await
        }
        (Route::Manifest(name, reference), &Method::PUT) => {
            manage::put_manifest(registry, name, &reference, &query, headers, body).await
        }
        (Route::Manifest(name, reference), &Method::DELETE) => {
            manage::delete_manifest(registry, name, &reference).await
        }
        (Route::Blob(name, digest), &Method::GET | &Method::HEAD) => {
            pull::blob(registry, name, &digest, headers, wanted).await
        }
        (Route::Blob(name, digest), &Method::DELETE) => manage::delete_blob(registry, name, &digest).await,
        (Route::Uploads(name), &Method::POST) => push::begin(registry, name, &query, headers, body).await,
        (Route::Upload(name, id), &Method::GET | &Method::HEAD) => push::status(registry, &name, &id),
        (Route::Upload(name, id), &Method::PATCH) => push::append(registry, name, &id, headers, body).await,
        (Route::Upload(name, id), &Method::PUT) => {
            push::finish(registry, name, &id, &query, headers, body).await
        }
        (Route::Upload(name, id), &Method::DELETE) => push::cancel(registry, &name, &id).await,
        (route, _) => Err(Refusal::new(
            StatusCode::METHOD_NOT_ALLOWED,
            ErrorCode::Unsupported,
            format_args!("{path:?} does not support {method}"),
            json!({ "method": method.as_str() }),
        )
        .with_header(ALLOW, allowed(&route))),
    }
}

fn allowed(route: &Route) -> &'static str {
    match route {
        Route::Base | Route::Catalog | Route::Tags(_) | Route::Referrers(..) => "GET, HEAD",
        Route::Manifest(..) => "GET, HEAD, PUT, DELETE",
        Route::Blob(..) => "GET, HEAD, DELETE",
        Route::Uploads(_) => "POST",
        Route::Upload(..) => "GET, HEAD, PATCH, PUT, DELETE",
    }
}
