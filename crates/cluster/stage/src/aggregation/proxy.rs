//! A request that goes on to the server that serves its group.

use std::time::Duration;

use futures_util::StreamExt as _;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Response, StatusCode};
use http_body::Frame;
use serde_json::{Value, json};

use super::{ApiService, Remote, front};
use crate::api::Api;
use crate::callback::{self, services};
use crate::caller::Caller;
use crate::wire::paths::text;
use crate::wire::{Asked, Body, stream_body};

/// How long a server may take to say what it serves.
const DISCOVERY_TIMEOUT: Duration = Duration::from_secs(5);

/// Headers that are between two neighbours, or that this server says itself.
const NOT_FORWARDED: [&str; 11] = [
    "connection",
    "proxy-connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "host",
    "authorization",
];

/// Sends a request to the server of an APIService and returns its answer.
pub async fn forward(api: &Api, asked: &Asked, service: &ApiService) -> Response<Body> {
    let unavailable = || text(StatusCode::SERVICE_UNAVAILABLE, "service unavailable\n");
    let Some(remote) = &service.remote else {
        return unavailable();
    };
    if !service.available {
        return unavailable();
    }
    let Ok(client) = client(api, remote) else {
        return unavailable();
    };
    let path = asked
        .head
        .uri
        .path_and_query()
        .map_or("/", http::uri::PathAndQuery::as_str);
    let url = format!("{}{path}", base(remote));
    let mut headers = forwarded(&asked.head.headers);
    tell(&mut headers, &asked.call.caller);
    let sent = client
        .request(asked.head.method.clone(), &url)
        .headers(headers)
        .body(asked.body.clone())
        .send()
        .await;
    match sent {
        Ok(answer) => {
            let mut response = Response::new(stream_body(futures_util::stream::empty()));
            *response.status_mut() = answer.status();
            *response.headers_mut() = forwarded(answer.headers());
            // A connection that breaks ends the body; the client sees that it is short.
            let pieces = answer
                .bytes_stream()
                .take_while(|piece| std::future::ready(piece.is_ok()))
                .filter_map(|piece| std::future::ready(piece.ok()))
                .map(|piece| Ok(Frame::data(piece)));
            *response.body_mut() = stream_body(pieces);
            response
        }
        Err(error) => {
            let why = callback::in_go_words(&error, &url);
            text(StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n"))
        }
    }
}

/// Asks the server of an APIService what it serves: the version as discovery of all groups shows it.
pub async fn discover(api: &Api, service: &ApiService, remote: &Remote) -> Result<Value, String> {
    let path = if service.group.is_empty() {
        format!("/api/{}", service.version)
    } else {
        format!("/apis/{}/{}", service.group, service.version)
    };
    let at = services::endpoint(api, &remote.namespace, &remote.name, remote.port)
        .map_err(|error| error.to_string())?;
    let shown = format!("https://{at}{path}");
    let failing = |why: String| format!("failing or missing response from {shown}: {why}");
    let client = client(api, remote).map_err(failing)?;
    let url = format!("{}{path}", base(remote));
    let mut headers = HeaderMap::new();
    tell(
        &mut headers,
        &Caller::named("system:kube-aggregator", &["system:masters"]),
    );
    let asked = client
        .get(&url)
        .headers(headers)
        .header(header::ACCEPT, "application/json")
        .timeout(DISCOVERY_TIMEOUT)
        .send()
        .await;
    let answer = asked.map_err(|error| {
        let why = callback::in_go_words(&error, &url);
        failing(format!("Get \"{shown}\": {why}"))
    })?;
    let code = answer.status().as_u16();
    if !(200..300).contains(&code) {
        return Err(failing(format!("bad status from {shown}: {code}")));
    }
    let document: Value = match answer.bytes().await {
        Ok(bytes) => serde_json::from_slice(&bytes).unwrap_or_default(),
        Err(error) => return Err(failing(callback::in_go_words(&error, &url))),
    };
    Ok(version_of(service, &document))
}

/// Returns a list of resources as discovery of all groups shows it.
fn version_of(service: &ApiService, list: &Value) -> Value {
    let mut resources: Vec<Value> = Vec::new();
    let listed = list["resources"].as_array().into_iter().flatten();
    for one in listed {
        let name = one["name"].as_str().unwrap_or_default();
        let text = |field: &str, otherwise: &str| -> String {
            match one[field].as_str() {
                Some(text) if !text.is_empty() => text.to_owned(),
                _ => otherwise.to_owned(),
            }
        };
        let kind = json!({
            "group": text("group", &service.group), "version": text("version", &service.version),
            "kind": text("kind", ""),
        });
        let Some((parent, below)) = name.split_once('/') else {
            let mut resource = json!({
                "resource": name, "responseKind": kind,
                "scope": if one["namespaced"] == true { "Namespaced" } else { "Cluster" },
                "singularResource": text("singularName", ""), "verbs": one["verbs"],
            });
            for field in ["shortNames", "categories"] {
                if one[field].as_array().is_some_and(|all| !all.is_empty()) {
                    resource[field] = one[field].clone();
                }
            }
            resources.push(resource);
            continue;
        };
        let known = resources
            .iter_mut()
            .find(|resource| resource["resource"] == parent);
        if let Some(resource) = known {
            let subresource = json!({"subresource": below, "responseKind": kind, "verbs": one["verbs"]});
            match resource["subresources"].as_array_mut() {
                Some(all) => all.push(subresource),
                None => resource["subresources"] = json!([subresource]),
            }
        }
    }
    json!({"version": service.version, "resources": resources, "freshness": "Current"})
}

fn base(remote: &Remote) -> String {
    format!("https://{}.{}.svc", remote.name, remote.namespace)
}

fn client(api: &Api, remote: &Remote) -> Result<reqwest::Client, String> {
    let at = services::endpoint(api, &remote.namespace, &remote.name, remote.port)
        .map_err(|error| error.to_string())?;
    let host = format!("{}.{}.svc", remote.name, remote.namespace);
    let identity = || api.aggregation.front().identity();
    api.callbacks
        .behind(&host, at, &remote.authorities, remote.unchecked, identity)
}

fn forwarded(headers: &HeaderMap) -> HeaderMap {
    let mut kept = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        let own = NOT_FORWARDED.contains(&name.as_str())
            || name.as_str().starts_with("x-remote-")
            || name.as_str().starts_with("impersonate-")
            || *name == header::CONTENT_LENGTH;
        if !own {
            kept.append(name, value.clone());
        }
    }
    kept
}

fn tell(headers: &mut HeaderMap, caller: &Caller) {
    for (name, value) in front::headers(caller) {
        if let (Ok(name), Ok(value)) = (
            HeaderName::from_bytes(name.as_bytes()),
            HeaderValue::from_str(&value),
        ) {
            headers.append(name, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subresources_are_shown_below_their_resource() {
        let service = ApiService::read(&json!({"spec": {"group": "metrics.k8s.io", "version": "v1beta1"}}));
        let list = json!({"resources": [
            {"name": "pods", "singularName": "pod", "namespaced": true, "kind": "PodMetrics", "verbs": ["get"]},
            {"name": "pods/status", "namespaced": true, "kind": "PodMetrics", "verbs": ["update"]},
        ]});
        let version = version_of(&service, &list);
        assert_eq!(version["resources"].as_array().map(Vec::len), Some(1));
        assert_eq!(version["resources"][0]["responseKind"]["group"], "metrics.k8s.io");
        assert_eq!(
            version["resources"][0]["subresources"][0]["subresource"],
            "status"
        );
    }

    #[test]
    fn who_calls_is_never_taken_from_the_client() {
        let mut headers = HeaderMap::new();
        headers.insert("x-remote-user", HeaderValue::from_static("root"));
        headers.insert("authorization", HeaderValue::from_static("Bearer secret"));
        headers.insert("accept", HeaderValue::from_static("application/json"));
        let kept = forwarded(&headers);
        assert_eq!(
            kept.keys().map(HeaderName::as_str).collect::<Vec<_>>(),
            ["accept"]
        );
    }
}
