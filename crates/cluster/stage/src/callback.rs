//! Calls to servers that objects of the cluster name: webhooks, converters of custom resources, other API servers.
//!
//! Failures read as Go's HTTP client writes them, because people know and search for those texts.
//!
//! - [`services`]: where a Service's pods listen
//! - [`trust`]: which certificates are believed

pub mod services;
pub mod trust;

use std::error::Error as _;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use bytes::Bytes;
use http::StatusCode;
use serde_json::Value;

use crate::api::Api;
use services::ServiceError;

/// How many servers' connections are kept: more than any cluster has webhooks.
const MOST_CLIENTS: usize = 64;

/// The largest answer that is read, as the largest request is; an answer may hold a patch as long as an object.
const LARGEST_ANSWER: usize = 3 * 1024 * 1024;

/// Where a server is, and how it proves who it is: the `clientConfig` of a webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientConfig {
    /// Where it is.
    pub destination: Destination,
    /// The certificates it is believed with, as PEM; empty for those of the machine.
    pub authorities: Arc<[u8]>,
}

/// Where a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// At an address.
    Url(String),
    /// Behind a Service.
    Service {
        /// The Service's namespace.
        namespace: String,
        /// The Service's name.
        name: String,
        /// The Service's port.
        port: u16,
        /// The path on the server.
        path: String,
    },
}

impl ClientConfig {
    /// Reads a `clientConfig`.
    pub fn read(config: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let authorities = base64::engine::general_purpose::STANDARD
            .decode(config["caBundle"].as_str().unwrap_or_default())
            .unwrap_or_default();
        let destination = match config.get("service").filter(|service| service.is_object()) {
            Some(service) => Destination::Service {
                namespace: text(&service["namespace"]),
                name: text(&service["name"]),
                port: service["port"]
                    .as_u64()
                    .and_then(|port| u16::try_from(port).ok())
                    .filter(|&port| port != 0)
                    .unwrap_or(443),
                path: text(&service["path"]),
            },
            None => Destination::Url(text(&config["url"])),
        };
        Self {
            destination,
            authorities: authorities.into(),
        }
    }

    /// Returns where the Service leads that is named; `None` where none is.
    fn address(&self, api: &Api) -> Result<Option<SocketAddr>, ServiceError> {
        match &self.destination {
            Destination::Url(_) => Ok(None),
            Destination::Service {
                namespace,
                name,
                port,
                ..
            } => services::endpoint(api, namespace, name, *port).map(Some),
        }
    }

    /// Returns the address as failures show it.
    pub fn shown_url(&self, query: &str) -> String {
        let base = match &self.destination {
            Destination::Url(url) => {
                // A path is always written, even where the address ends with the host.
                let (scheme, rest) = url.split_once("://").unwrap_or(("https", url));
                if rest.contains('/') {
                    url.clone()
                } else {
                    format!("{scheme}://{rest}/")
                }
            }
            Destination::Service {
                namespace,
                name,
                port,
                path,
            } => {
                format!(
                    "https://{name}.{namespace}.svc:{port}/{}",
                    path.trim_start_matches('/')
                )
            }
        };
        if query.is_empty() {
            base
        } else {
            format!("{base}?{query}")
        }
    }
}

/// What a server answered.
#[derive(Debug)]
pub struct Answer {
    /// The status code.
    pub code: StatusCode,
    /// The kind of the body; empty where the server doesn't say.
    pub media_type: String,
    /// The body.
    pub body: Bytes,
}

/// Why a server couldn't be asked, in the words of Go's HTTP client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// It wasn't reached, or gave no proper answer.
    #[error("{0}")]
    Failed(String),
    /// Only simulated pods are behind its Service: it was not even tried.
    #[error("{0}")]
    Simulated(String),
}

/// The connections to servers that objects name.
#[derive(Debug, Default)]
pub struct Callbacks {
    clients: Mutex<Vec<(ClientKey, reqwest::Client)>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct ClientKey {
    host: String,
    at: Option<SocketAddr>,
    authorities: Arc<[u8]>,
    /// Whether nobody looks at the server's certificate.
    unchecked: bool,
    /// Whether this server proves itself.
    identified: bool,
}

impl Callbacks {
    /// Sends a JSON document to a server and returns its answer.
    pub async fn post(
        &self,
        api: &Api,
        config: &ClientConfig,
        body: &Value,
        limit: Duration,
    ) -> Result<Answer, CallError> {
        let query = format!("timeout={}", go_seconds(limit));
        let shown = config.shown_url(&query);
        let told = |why: &dyn fmt::Display| format!("Post \"{shown}\": {why}");
        let at = config.address(api).map_err(|error| match error {
            ServiceError::Simulated(..) => CallError::Simulated(told(&error)),
            error => CallError::Failed(told(&error)),
        })?;
        let posted = async {
            let (client, url) = self.client(config, at)?;
            let separator = if url.contains('?') { '&' } else { '?' };
            let request = client
                .post(format!("{url}{separator}{query}"))
                .header(http::header::CONTENT_TYPE, "application/json")
                .header(http::header::ACCEPT, "application/json, */*")
                .header(http::header::USER_AGENT, "kube-apiserver-admission")
                .body(body.to_string());
            let mut response = request.send().await.map_err(|error| in_go_words(&error, &url))?;
            let code = response.status();
            let media_type = response
                .headers()
                .get(http::header::CONTENT_TYPE)
                .and_then(|value| value.to_str().ok())
                .unwrap_or_default()
                .to_owned();
            let mut body = bytes::BytesMut::new();
            while let Some(piece) = response
                .chunk()
                .await
                .map_err(|error| in_go_words(&error, &url))?
            {
                if body.len() + piece.len() > LARGEST_ANSWER {
                    return Err(format!("the answer is larger than {LARGEST_ANSWER} bytes"));
                }
                body.extend_from_slice(&piece);
            }
            Ok(Answer {
                code,
                media_type,
                body: body.freeze(),
            })
        };
        let answer = match tokio::time::timeout(limit, posted).await {
            Ok(answer) => answer,
            Err(_) => Err("context deadline exceeded".to_owned()),
        };
        answer.map_err(|why| CallError::Failed(told(&why)))
    }

    /// Returns the connections to a server, and the address to use on them. `at` is where its Service leads.
    fn client(
        &self,
        config: &ClientConfig,
        at: Option<SocketAddr>,
    ) -> Result<(reqwest::Client, String), String> {
        let (host, url) = match &config.destination {
            Destination::Url(url) => (String::new(), url.clone()),
            Destination::Service {
                namespace,
                name,
                path,
                ..
            } => {
                let host = format!("{name}.{namespace}.svc");
                let url = format!("https://{host}/{}", path.trim_start_matches('/'));
                (host, url)
            }
        };
        let key = ClientKey {
            host,
            at,
            authorities: config.authorities.clone(),
            unchecked: false,
            identified: false,
        };
        Ok((self.kept(key, || None)?, url))
    }

    /// Returns the connections to a server behind this one, to which it proves itself.
    pub fn behind(
        &self,
        host: &str,
        at: SocketAddr,
        authorities: &Arc<[u8]>,
        unchecked: bool,
        identity: impl FnOnce() -> Option<trust::Identity>,
    ) -> Result<reqwest::Client, String> {
        let key = ClientKey {
            host: host.to_owned(),
            at: Some(at),
            authorities: authorities.clone(),
            unchecked,
            identified: true,
        };
        self.kept(key, identity)
    }

    fn kept(
        &self,
        key: ClientKey,
        identity: impl FnOnce() -> Option<trust::Identity>,
    ) -> Result<reqwest::Client, String> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(position) = clients.iter().position(|(known, _)| *known == key) {
            // The most recently used one stands last; the first makes room.
            let entry = clients.remove(position);
            let client = entry.1.clone();
            clients.push(entry);
            return Ok(client);
        }
        let encryption = if key.unchecked {
            trust::configuration_without_checks(identity())?
        } else {
            trust::configuration(&key.authorities, identity())?
        };
        let mut builder = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .tls_backend_preconfigured(encryption);
        if let Some(at) = key.at {
            builder = builder.resolve(&key.host, at);
        }
        let client = builder.build().map_err(|error| error.to_string())?;
        if clients.len() >= MOST_CLIENTS {
            clients.remove(0);
        }
        clients.push((key, client.clone()));
        Ok(client)
    }
}

/// Returns a duration as Go writes it: `10s`, `1m0s`.
fn go_seconds(duration: Duration) -> String {
    let seconds = duration.as_secs() + u64::from(duration.subsec_nanos() > 0);
    if seconds >= 60 {
        format!("{}m{}s", seconds / 60, seconds % 60)
    } else {
        format!("{seconds}s")
    }
}

/// Returns why a request failed, in the words of Go's HTTP client.
pub(crate) fn in_go_words(error: &reqwest::Error, url: &str) -> String {
    let address = || {
        let parsed = reqwest::Url::parse(url).ok();
        let host = parsed
            .as_ref()
            .and_then(reqwest::Url::host_str)
            .unwrap_or_default()
            .to_owned();
        let port = parsed.and_then(|url| url.port_or_known_default()).unwrap_or(443);
        (host, port)
    };
    let mut cause = error.source();
    let mut last: Option<String> = None;
    while let Some(one) = cause {
        if let Some(failed) = one.downcast_ref::<rustls::Error>() {
            return trust::in_go_words(failed, &address().0);
        }
        if let Some(failed) = one.downcast_ref::<io::Error>() {
            let inner = failed
                .get_ref()
                .and_then(|inner| inner.downcast_ref::<rustls::Error>());
            if let Some(failed) = inner {
                return trust::in_go_words(failed, &address().0);
            }
            let (host, port) = address();
            match failed.kind() {
                io::ErrorKind::ConnectionRefused => {
                    return format!("dial tcp {host}:{port}: connect: connection refused");
                }
                io::ErrorKind::ConnectionReset => {
                    return format!("read tcp {host}:{port}: read: connection reset by peer");
                }
                io::ErrorKind::UnexpectedEof => return "EOF".to_owned(),
                io::ErrorKind::TimedOut => return format!("dial tcp {host}:{port}: i/o timeout"),
                _ => {}
            }
            if failed.to_string().contains("lookup") {
                return format!("dial tcp: lookup {host}: no such host");
            }
        }
        last = Some(one.to_string());
        cause = one.source();
    }
    match last {
        Some(text) if text.contains("connection closed before message completed") => "EOF".to_owned(),
        Some(text) => text,
        None => error.to_string(),
    }
}

/// What a server said instead of what it was asked for, as Go's client of Kubernetes tells it.
impl fmt::Display for Answer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Ok(status) = serde_json::from_slice::<Value>(&self.body)
            && status["kind"] == "Status"
            && let Some(message) = status["message"].as_str()
        {
            return formatter.write_str(message);
        }
        let is_text = self.media_type.is_empty() || self.media_type.starts_with("text/");
        let said = if is_text {
            String::from_utf8_lossy(&self.body).trim().to_owned()
        } else {
            "unknown".to_owned()
        };
        let text = match self.code.as_u16() {
            400 => "the server rejected our request for an unknown reason",
            401 => "the server has asked for the client to provide credentials",
            404 => "the server could not find the requested resource",
            405 => "the server does not allow this method on the requested resource",
            406 if said.is_empty() || said == "unknown" => {
                "the server was unable to respond with a content type that the client supports"
            }
            403 | 406 | 415 => said.as_str(),
            409 => "the server reported a conflict",
            422 => "the server rejected our request due to an error in our request",
            429 => "the server has received too many requests and has asked us to try again later",
            503 => "the server is currently unable to handle the request",
            504 => {
                "the server was unable to return a response in the time allotted, but may still be processing the request"
            }
            code if code >= 500 => {
                let said = gotemplate::format::quoted(&said);
                return write!(
                    formatter,
                    "an error on the server ({said}) has prevented the request from succeeding"
                );
            }
            code => {
                return write!(
                    formatter,
                    "the server responded with the status code {code} but did not return more information"
                );
            }
        };
        formatter.write_str(text)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_address_is_shown_with_its_path_and_its_time_limit() {
        let shown = |config: Value| ClientConfig::read(&config).shown_url("timeout=10s");
        assert_eq!(
            shown(json!({"url": "https://127.0.0.1:9443"})),
            "https://127.0.0.1:9443/?timeout=10s"
        );
        assert_eq!(
            shown(json!({"url": "https://a.example/b"})),
            "https://a.example/b?timeout=10s"
        );
        let service = json!({"service": {"namespace": "n", "name": "s", "path": "/p"}});
        assert_eq!(shown(service), "https://s.n.svc:443/p?timeout=10s");
        let service = json!({"service": {"namespace": "n", "name": "s", "port": 8443}});
        assert_eq!(shown(service), "https://s.n.svc:8443/?timeout=10s");
    }

    #[test]
    fn an_unexpected_answer_is_told_as_clients_tell_it() {
        let answer = |code: u16, media_type: &str, body: &str| {
            Answer {
                code: StatusCode::from_u16(code).unwrap_or_default(),
                media_type: media_type.to_owned(),
                body: Bytes::copy_from_slice(body.as_bytes()),
            }
            .to_string()
        };
        assert_eq!(
            answer(500, "text/plain; charset=utf-8", "boom\n"),
            "an error on the server (\"boom\") has prevented the request from succeeding"
        );
        assert_eq!(
            answer(404, "text/plain", "404 page not found"),
            "the server could not find the requested resource"
        );
        assert_eq!(
            answer(400, "application/json", r#"{"kind":"Status","message":"no"}"#),
            "no"
        );
        assert_eq!(
            answer(302, "", ""),
            "the server responded with the status code 302 but did not return more information"
        );
    }
}
