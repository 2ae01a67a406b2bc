//! Requests that connect to something that runs: exec, attach, port-forward and proxy.
//!
//! Proxies lead to the loopback ports of real pods. The others need a container's runtime or SPDY, and say what to do
//! instead.

use std::net::SocketAddr;
use std::sync::Arc;

use futures_util::StreamExt as _;
use http::{HeaderMap, HeaderName, Response, StatusCode, header};
use http_body::Frame;
use serde_json::Value;

use super::addresses::Occupant;
use super::probes::port;
use super::requests::items;
use super::{Handle, NODE_NAME, PROGRAMS_LISTEN, logs};
use crate::Body;
use crate::api::{Api, Place};
use crate::callback::services::{self, ServiceError};
use crate::callback::{self, trust};
use crate::object::Object;
use crate::status::{GroupResource, Status};
use crate::wire::{Asked, full_body, stream_body};

/// Headers that are about one connection and not passed on.
const OF_ONE_CONNECTION: [HeaderName; 9] = [
    header::CONNECTION,
    header::HOST,
    header::AUTHORIZATION,
    header::CONTENT_LENGTH,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// Answers a request to connect.
pub(super) async fn answer(
    handle: &Handle,
    api: &Arc<Api>,
    asked: &Asked,
    place: &Place,
) -> Result<Response<Body>, Status> {
    match (&*place.resource.plural, place.subresource.as_str()) {
        ("pods", "proxy") => {
            let target = Target::read(&place.name).ok_or_else(|| invalid("pod", &place.name))?;
            let at = of_pod(handle, api, place, &target)?;
            proxy(asked, &target, at).await
        }
        ("services", "proxy") => {
            let target = Target::read(&place.name).ok_or_else(|| invalid("service", &place.name))?;
            let at = of_service(api, place, &target)?;
            proxy(asked, &target, at).await
        }
        ("nodes", _) => {
            let name = place.name.split(':').next().unwrap_or_default();
            if name == NODE_NAME {
                return Err(not_implemented(format!(
                    "cannot proxy to node {NODE_NAME}: it is part of this server and has no port of its own; use \
                     kubectl logs and the API's own paths"
                )));
            }
            let nodes = GroupResource {
                group: "",
                resource: "nodes",
            };
            Err(Status::not_found(nodes, name))
        }
        ("pods", below) => {
            let pod = api.get(place)?.value();
            if below != "portforward" {
                logs::container_of(&pod, asked.query.get("container"))?;
            }
            if pod["spec"]["nodeName"].as_str().unwrap_or_default().is_empty() {
                let message = format!("pod {} does not have a host assigned", pod.name());
                return Err(Status::bad_request(message));
            }
            Err(refusal(handle.occupant_of(pod.uid()), &pod, below))
        }
        _ => Err(Status::method_not_allowed()),
    }
}

fn not_implemented(message: String) -> Status {
    Status::refusal(StatusCode::NOT_IMPLEMENTED, "NotImplemented", message)
}

/// Returns why nothing connects to a pod in this way, and what to do instead.
fn refusal(occupant: Occupant, pod: &Value, below: &str) -> Status {
    let what = match below {
        "exec" => "run a command in",
        "attach" => "attach to",
        _ => "forward ports to",
    };
    let why = match occupant {
        Occupant::Simulation => "it is simulated, so nothing runs in it (baton didn't build its image)".to_owned(),
        Occupant::Nobody => idle(pod),
        Occupant::Programs if below == "portforward" => {
            let ports: Vec<String> = items(&pod["spec"]["containers"])
                .flat_map(|container| items(&container["ports"]))
                .filter_map(|port| Some(format!("{PROGRAMS_LISTEN}:{}", port["containerPort"].as_u64()?)))
                .collect();
            let ports = if ports.is_empty() {
                format!("its ports on {PROGRAMS_LISTEN}")
            } else {
                ports.join(", ")
            };
            format!("it is a process of this machine, so connect to {ports} directly, or use kubectl proxy")
        }
        Occupant::Programs => {
            "it is a process of this machine without a container around it, so run the command on this machine".to_owned()
        }
    };
    not_implemented(format!(
        "cannot {what} pod {}/{}: {why}",
        pod.namespace(),
        pod.name()
    ))
}

/// Returns why nobody answers for a pod that isn't known to be simulated: it hasn't started, or has ended.
fn idle(pod: &Value) -> String {
    let node = pod["spec"]["nodeName"].as_str().unwrap_or_default();
    if node.is_empty() {
        return "it isn't bound to a node yet".to_owned();
    }
    if node != NODE_NAME {
        return format!("it is bound to node {node}, and only node {NODE_NAME} runs pods");
    }
    match pod["status"]["phase"].as_str() {
        Some(phase @ ("Succeeded" | "Failed")) => format!("it has ended (its phase is {phase})"),
        _ => "no program of it runs now; kubectl describe says what it waits for".to_owned(),
    }
}

fn invalid(kind: &str, name: &str) -> Status {
    Status::bad_request(format!("invalid {kind} request \"{name}\""))
}

/// What a proxy leads to: `name`, `name:port` or `scheme:name:port`.
#[derive(Debug, PartialEq, Eq)]
struct Target<'a> {
    scheme: &'a str,
    name: &'a str,
    port: &'a str,
}

impl<'a> Target<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let parts: Vec<&str> = text.split(':').collect();
        let (scheme, name, port) = match parts.as_slice() {
            [name] => ("", *name, ""),
            [name, port] => ("", *name, *port),
            [scheme, name, port] => (*scheme, *name, *port),
            _ => return None,
        };
        let known = matches!(scheme, "" | "http" | "https");
        (known && !name.is_empty()).then_some(Self { scheme, name, port })
    }
}

fn of_pod(handle: &Handle, api: &Api, place: &Place, target: &Target<'_>) -> Result<SocketAddr, Status> {
    let place = Place {
        name: target.name.to_owned(),
        subresource: String::new(),
        ..place.clone()
    };
    let pod = api.get(&place)?.value();
    let mut containers = items(&pod["spec"]["containers"]);
    let number = if target.port.is_empty() {
        containers
            .flat_map(|container| items(&container["ports"]))
            .find_map(|port| port["containerPort"].as_u64())
            .and_then(|number| u16::try_from(number).ok())
            .or(Some(80))
    } else {
        containers.find_map(|container| port(container, &target.port.into()))
    };
    let number = number.ok_or_else(|| invalid("pod", &place.name))?;
    if pod["status"]["podIP"].as_str().unwrap_or_default().is_empty() {
        return Err(Status::bad_request("address not allowed"));
    }
    // The address itself is only shown: whoever may write a pod's status could lead elsewhere with it.
    let why = match handle.occupant_of(pod.uid()) {
        Occupant::Programs => return Ok(SocketAddr::new(PROGRAMS_LISTEN, number)),
        Occupant::Simulation => format!("is simulated, so nothing listens at port {number}"),
        Occupant::Nobody => format!("doesn't listen at port {number}: {}", idle(&pod)),
    };
    Err(Status::service_unavailable(format!(
        "error trying to reach service: pod {}/{} {why}",
        pod.namespace(),
        pod.name()
    )))
}

fn of_service(api: &Api, place: &Place, target: &Target<'_>) -> Result<SocketAddr, Status> {
    let place = Place {
        name: target.name.to_owned(),
        subresource: String::new(),
        ..place.clone()
    };
    let service = api.get(&place)?.value();
    // The whole of what was asked for is named, as the real server does.
    let asked = match (target.scheme, target.port) {
        ("", "") => target.name.to_owned(),
        ("", port) => format!("{}:{port}", target.name),
        (scheme, port) => format!("{scheme}:{}:{port}", target.name),
    };
    let nobody = || Status::service_unavailable(format!("no endpoints available for service \"{asked}\""));
    let number = items(&service["spec"]["ports"])
        .find(|one| {
            target.port.is_empty()
                || one["name"] == *target.port
                || one["port"]
                    .as_u64()
                    .is_some_and(|number| number.to_string() == target.port)
        })
        .and_then(|one| u16::try_from(one["port"].as_u64()?).ok())
        .ok_or_else(nobody)?;
    // A name outside the cluster is never proxied to, as upstream: whoever may make a Service could name this machine.
    if service["spec"]["type"] == "ExternalName" {
        return Err(nobody());
    }
    services::endpoint(api, &place.namespace, target.name, number).map_err(|error| match error {
        ServiceError::Simulated(..) | ServiceError::NotAllowed(_) => {
            Status::service_unavailable(format!("error trying to reach service: {error}"))
        }
        _ => nobody(),
    })
}

/// How many parts the path of a proxy has before what is passed on: `/api/v1/namespaces/<namespace>/<resource>/<name>/proxy`.
const PARTS_BEFORE_REST: usize = 8;

/// Returns what follows `…/proxy` in the path of a request, as it was written.
fn rest_of_path(path: &str) -> &str {
    let known: usize = path
        .split('/')
        .take(PARTS_BEFORE_REST)
        .map(|part| part.len() + 1)
        .sum();
    path.get(known.saturating_sub(1)..).unwrap_or_default()
}

async fn proxy(asked: &Asked, target: &Target<'_>, at: SocketAddr) -> Result<Response<Body>, Status> {
    let path = asked.head.uri.path();
    let rest = rest_of_path(path);
    let query = asked
        .head
        .uri
        .query()
        .map(|query| format!("?{query}"))
        .unwrap_or_default();
    if rest.is_empty() && matches!(asked.head.method, http::Method::GET | http::Method::HEAD) {
        let mut response = Response::new(full_body(bytes::Bytes::new()));
        *response.status_mut() = StatusCode::MOVED_PERMANENTLY;
        if let Ok(location) = format!("{path}/{query}").parse() {
            response.headers_mut().insert(header::LOCATION, location);
        }
        return Ok(response);
    }
    let scheme = if target.scheme == "https" { "https" } else { "http" };
    let rest = if rest.is_empty() { "/" } else { rest };
    let url = format!("{scheme}://{at}{rest}{query}");
    let unreachable = |why: &dyn std::fmt::Display| {
        Status::service_unavailable(format!("error trying to reach service: {why}"))
    };
    // As the real server does for pods, the certificate isn't checked: it is rarely one that others know.
    let tls = trust::configuration_without_checks(None).map_err(|why| unreachable(&why))?;
    let client = reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .tls_backend_preconfigured(tls)
        .build()
        .map_err(|error| unreachable(&error))?;
    let answer = client
        .request(asked.head.method.clone(), &url)
        .headers(passed_on(&asked.head.headers))
        .body(asked.body.clone())
        .send()
        .await
        .map_err(|error| unreachable(&callback::in_go_words(&error, &url)))?;
    let (code, headers) = (answer.status(), passed_on(answer.headers()));
    // An answer that breaks off ends here, as it does on a connection.
    let frames = answer
        .bytes_stream()
        .take_while(|piece| std::future::ready(piece.is_ok()));
    let frames =
        frames.filter_map(|piece| std::future::ready(piece.ok().map(|bytes| Ok(Frame::data(bytes)))));
    let mut response = Response::new(stream_body(frames));
    *response.status_mut() = code;
    *response.headers_mut() = headers;
    Ok(response)
}

fn passed_on(headers: &HeaderMap) -> HeaderMap {
    headers
        .iter()
        .filter(|(name, _)| !OF_ONE_CONNECTION.contains(name) && !name.as_str().starts_with("impersonate-"))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_has_a_name_and_maybe_a_scheme_and_a_port() {
        let target = |scheme, name, port| Some(Target { scheme, name, port });
        for (text, expected) in [
            ("a", target("", "a", "")),
            ("a:80", target("", "a", "80")),
            ("https:a:web", target("https", "a", "web")),
            ("https:a:", target("https", "a", "")),
            ("ftp:a:1", None),
            ("", None),
            ("a:b:c:d", None),
        ] {
            assert_eq!(Target::read(text), expected, "{text}");
        }
    }

    #[test]
    fn what_follows_the_proxy_is_passed_on_as_it_was_written() {
        for (path, expected) in [
            ("/api/v1/namespaces/a/pods/b/proxy", ""),
            ("/api/v1/namespaces/a/pods/b/proxy/", "/"),
            (
                "/api/v1/namespaces/a/pods/https:b:8443/proxy/x%2Fy/proxy/z",
                "/x%2Fy/proxy/z",
            ),
            ("/api/v1/namespaces/pods/pods/proxy/proxy/q", "/q"),
            ("/short", ""),
        ] {
            assert_eq!(rest_of_path(path), expected, "{path}");
        }
    }
}
