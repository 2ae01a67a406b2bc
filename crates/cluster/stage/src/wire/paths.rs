//! Paths that are no resource's: discovery, documents, health, the version.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderValue, Method, Response, StatusCode, header};
use serde_json::{Value, json};

use super::negotiation::{self, Accepted, Shape, Use};
use super::{Asked, Body, bytes_response, discovery, documents, full_body, representation, value_response};
use crate::api::Api;
use crate::health;
use crate::status::Status;

/// Answers a request for a path that is no resource's.
pub async fn answer(api: &Arc<Api>, asked: Asked) -> Result<Response<Body>, Status> {
    let path = asked.head.uri.path().trim_end_matches('/');
    if let Some(response) = crate::aggregation::answer_path(api, &asked, path).await {
        return response;
    }
    if !matches!(asked.head.method, Method::GET | Method::HEAD) {
        return match path {
            "/api" | "/apis" | "/version" => Err(Status::method_not_allowed()),
            _ => Ok(page_not_found()),
        };
    }
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    match parts.as_slice() {
        [] | [""] => index(api, &asked),
        ["api" | "apis"] => groups(api, &asked, parts[0] == "api"),
        ["api", version] => resources(api, &asked, "", version),
        ["apis", group] => {
            let served = api.resources.now();
            match served.group(group) {
                Some(group) if !group.name.is_empty() => respond(&asked, &discovery::group(group)),
                _ => Ok(page_not_found()),
            }
        }
        ["apis", group, version] => resources(api, &asked, group, version),
        ["version"] => Ok(version()),
        ["healthz" | "livez" | "readyz", check @ ..] => Ok(health::answer(api, &asked, parts[0], check)),
        ["openapi", "v3", document @ ..] => documents::answer(api, &asked, &document.join("/")),
        ["openapi", "v2"] => documents::old(api, &asked),
        [".well-known", "openid-configuration"] => api.access.openid_configuration(&asked.peer.address),
        ["openid", "v1", "jwks"] => api.access.openid_keys(),
        ["metrics"] => Ok(health::metrics(api)),
        _ => Ok(page_not_found()),
    }
}

fn accepted(asked: &Asked) -> Result<Accepted, Status> {
    negotiation::accepted(&asked.head.headers, &asked.query, Use::Discovery)
}

fn respond(asked: &Asked, value: &Value) -> Result<Response<Body>, Status> {
    let mut accepted = accepted(asked)?;
    accepted.shape = Shape::Whole;
    if schema::protobuf::encode(value).is_err() && accepted.format == negotiation::Format::Protobuf {
        accepted.format = negotiation::Format::Json;
    }
    value_response(StatusCode::OK, value, &accepted)
}

/// Returns the version for people to read, whatever form was asked for.
fn version() -> Response<Body> {
    let text = serde_json::to_vec_pretty(&health::version()).unwrap_or_default();
    bytes_response(StatusCode::OK, text.into(), "application/json")
}

fn groups(api: &Arc<Api>, asked: &Asked, core: bool) -> Result<Response<Body>, Status> {
    let served = api.resources.now();
    let accepted = accepted(asked)?;
    let Shape::Discovery(version) = &accepted.shape else {
        let value = if core {
            discovery::core_versions(&asked.peer.address)
        } else {
            let mut value = discovery::groups(&served);
            crate::aggregation::add_group_names(api, &mut value);
            value
        };
        return respond(asked, &value);
    };
    let mut value = discovery::aggregated(&served, core, &accepted.shape);
    if !core {
        crate::aggregation::add_groups(api, &mut value);
    }
    let bytes = representation::write(
        &value,
        &Accepted {
            shape: Shape::Whole,
            ..accepted.clone()
        },
    )?;
    let etag = format!("\"{}\"", documents::hash(&bytes));
    let media_type = format!("application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList");
    Ok(cached(asked, bytes, &etag, &media_type))
}

/// Returns an answer that clients keep until its tag changes.
pub fn cached(asked: &Asked, bytes: Bytes, etag: &str, media_type: &str) -> Response<Body> {
    let known = asked
        .head
        .headers
        .get(header::IF_NONE_MATCH)
        .and_then(|value| value.to_str().ok());
    let unchanged = known.is_some_and(|known| known.split(',').any(|one| one.trim() == etag));
    let mut response = if unchanged {
        let mut response = Response::new(full_body(Bytes::new()));
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response
    } else {
        Response::new(full_body(bytes))
    };
    let headers = response.headers_mut();
    for (name, value) in [(header::ETAG, etag), (header::CONTENT_TYPE, media_type)] {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public"));
    headers.insert(header::VARY, HeaderValue::from_static("Accept"));
    response
}

fn resources(api: &Arc<Api>, asked: &Asked, group: &str, version: &str) -> Result<Response<Body>, Status> {
    let served = api.resources.now();
    match served
        .group(group)
        .and_then(|group| discovery::resources(group, version))
    {
        Some(value) => respond(asked, &value),
        None if served.group(group).is_some() => Err(Status::no_such_resource()),
        None => Ok(page_not_found()),
    }
}

fn index(api: &Arc<Api>, asked: &Asked) -> Result<Response<Body>, Status> {
    let mut paths: Vec<String> = vec![
        "/.well-known/openid-configuration".into(),
        "/api".into(),
        "/api/v1".into(),
        "/apis".into(),
        "/apis/".into(),
    ];
    for group in api
        .resources
        .now()
        .groups
        .iter()
        .filter(|group| !group.name.is_empty())
    {
        paths.push(format!("/apis/{}", group.name));
        paths.extend(
            group
                .versions
                .iter()
                .map(|(version, _)| format!("/apis/{}/{version}", group.name)),
        );
    }
    for path in [
        "/healthz",
        "/livez",
        "/metrics",
        "/openapi/v2",
        "/openapi/v3",
        "/openid/v1/jwks",
        "/readyz",
        "/version",
    ] {
        paths.push(path.to_owned());
    }
    paths.sort();
    value_response(
        StatusCode::OK,
        &json!({"paths": paths}),
        &Accepted {
            shape: Shape::Whole,
            ..accepted(asked)?
        },
    )
}

/// Returns the answer for a path that nothing is served at.
pub fn page_not_found() -> Response<Body> {
    text(StatusCode::NOT_FOUND, "404 page not found\n")
}

/// Returns an answer in plain text.
pub fn text(code: StatusCode, text: impl Into<String>) -> Response<Body> {
    let mut response = bytes_response(code, text.into().into(), "text/plain; charset=utf-8");
    response.headers_mut().insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    response
}
