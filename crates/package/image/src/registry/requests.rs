//! Requests: who may ask, what for, and which part of the registry answers.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::header::{ALLOW, AUTHORIZATION, HOST, HeaderName, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use http::{Method, StatusCode};
use serde_json::json;

use super::access::{Caller, Peer};
use super::pull::Wanted;
use super::push::next_piece;
use super::refusal::{ErrorCode, Refusal};
use super::routes::{Query, Route};
use super::{Registry, listing, manage, pull, push, tokens};

/// How much of a refused request's body is still read, so that clients that send first and read later get the answer.
const MAX_DRAINED_BYTES: usize = 16 << 20;

/// How long a refused request's body is still read.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// Answers a request below `/v2`.
pub(super) async fn answer(State(registry): State<Registry>, request: Request) -> Response {
    let (parts, mut body) = request.into_parts();
    let answered = dispatch(&registry, &parts, &mut body).await;
    finish(answered, &mut body).await
}

/// Writes the name that was asked where HTTP/1 has it: HTTP/2 says it beside the headers, and clients are sent back to it.
pub(super) async fn name_host(mut request: Request) -> Request {
    let asked = request.uri().authority();
    let host = asked.and_then(|asked| HeaderValue::from_str(asked.as_str()).ok());
    if let Some(host) = host
        && !request.headers().contains_key(HOST)
    {
        request.headers_mut().insert(HOST, host);
    }
    request
}

/// Makes an answer complete: a refusal comes after what its client sends, and every answer says what speaks.
pub(super) async fn finish(answered: Result<Response, Refusal>, body: &mut Body) -> Response {
    let mut response = match answered {
        Ok(response) => response,
        Err(refusal) => {
            drain(body).await;
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
    admit_host(registry, request)?;
    let access = &registry.0.options.access;
    let peer = request.extensions.get::<Peer>().copied();
    let caller = access.identify(&request.headers, peer).await?;
    let method = &request.method;
    if !matches!(*method, Method::GET | Method::HEAD) {
        access.admit_writer(&caller)?;
    }
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
    match &route {
        // Who asks this wants to know how to log in, and whether that worked.
        Route::Base if access.knows_strangers() && caller == Caller::Stranger && !has_token(request) => {
            return Err(Refusal::new(
                StatusCode::UNAUTHORIZED,
                ErrorCode::Unauthorized,
                "ask for a token to read, or log in to write",
                json!(null),
            )
            .with_challenge(&tokens::challenge(headers, peer)));
        }
        // An upload is its pusher's affair, also to look at.
        Route::Upload(..) => access.admit_writer(&caller)?,
        _ => {}
    }
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
            let push = manage::Push {
                reference: &reference,
                query: &query,
                headers,
                pusher: caller.user(),
            };
            manage::put_manifest(registry, name, push, body).await
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

/// Refuses a request that is for another server, or for a page of one.
pub(super) fn admit_host(registry: &Registry, request: &http::request::Parts) -> Result<(), Refusal> {
    let Some(hosts) = &registry.0.options.hosts else {
        return Ok(());
    };
    hosts.admit(&request.uri, &request.headers).map_err(|refused| {
        Refusal::new(
            refused.status(),
            ErrorCode::Denied,
            &refused,
            json!({ "reason": refused.reason() }),
        )
    })
}

/// Returns whether a request shows a token; one that reached its route was found to be good.
fn has_token(request: &http::request::Parts) -> bool {
    request.headers.contains_key(AUTHORIZATION)
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
