//! A registry in memory that misbehaves as it is told.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, Request, Response, StatusCode, header};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::{StreamExt, stream};

use crate::digest::Digest;

/// Who may come in.
#[derive(Clone, Default, PartialEq)]
pub(super) enum Door {
    #[default]
    Open,
    Basic(&'static str, &'static str),
    /// A token for this name and password, or for this identity token.
    Bearer {
        username: &'static str,
        password: &'static str,
        identity: &'static str,
    },
}

/// What goes wrong.
#[derive(Default)]
pub(super) struct Faults {
    /// Blob by blob: how many bytes are sent before the connection breaks off.
    pub(super) break_off: VecDeque<usize>,
    /// Whether it breaks off forever after so many bytes.
    pub(super) always_break_off: Option<usize>,
    /// Statuses that are given instead of the next answers.
    pub(super) statuses: VecDeque<u16>,
    /// Blobs and manifests whose bytes are altered on the way.
    pub(super) altered: Vec<String>,
    /// Whether ranges are ignored.
    pub(super) no_ranges: bool,
    /// Whether whole blobs are refused.
    pub(super) only_pieces: bool,
    /// Whether mounting is not known.
    pub(super) no_mounts: bool,
    /// After how many requests a token ends.
    pub(super) token_uses: Option<usize>,
}

#[derive(Default)]
pub(super) struct Contents {
    pub(super) door: Door,
    pub(super) faults: Faults,
    /// By `repository digest`.
    pub(super) blobs: HashMap<String, Vec<u8>>,
    /// By `repository tag-or-digest`.
    pub(super) manifests: HashMap<String, (String, Vec<u8>)>,
    uploads: HashMap<String, Vec<u8>>,
    sessions: usize,
    /// What was asked, without the greeting.
    pub(super) requests: Vec<String>,
    tokens: usize,
    uses: usize,
}

#[derive(Clone)]
pub(super) struct Mock {
    pub(super) contents: Arc<Mutex<Contents>>,
    pub(super) host: String,
}

impl Mock {
    pub(super) async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port");
        let host = listener.local_addr().expect("an address").to_string();
        let mock = Self {
            contents: Arc::default(),
            host,
        };
        let router = mock.router();
        tokio::spawn(async move { axum::serve(listener, router).await });
        mock
    }

    pub(super) fn router(&self) -> Router {
        Router::new().fallback(answer).with_state(self.clone())
    }

    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Contents) -> T) -> T {
        change(&mut self.contents.lock().expect("no panic"))
    }

    pub(super) fn put_blob(&self, repository: &str, bytes: &[u8]) -> Digest {
        let digest = Digest::of(bytes);
        self.change(|contents| {
            contents
                .blobs
                .insert(format!("{repository} {digest}"), bytes.to_vec())
        });
        digest
    }

    pub(super) fn put_manifest(&self, repository: &str, tag: &str, media_type: &str, bytes: &[u8]) -> Digest {
        let digest = Digest::of(bytes);
        self.change(|contents| {
            for version in [tag, &digest.to_string()] {
                let value = (media_type.to_owned(), bytes.to_vec());
                contents
                    .manifests
                    .insert(format!("{repository} {version}"), value);
            }
        });
        digest
    }

    pub(super) fn requests(&self) -> Vec<String> {
        self.change(|contents| contents.requests.clone())
    }
}

fn plain(status: u16) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::from_u16(status).expect("a status");
    response
}

fn with(status: u16, headers: &[(&str, &str)], body: impl Into<Body>) -> Response<Body> {
    let mut builder = Response::builder().status(status);
    for (name, value) in headers {
        builder = builder.header(*name, *value);
    }
    builder.body(body.into()).expect("a response")
}

impl Contents {
    fn lets_in(&mut self, headers: &HeaderMap) -> bool {
        let given = headers
            .get(header::AUTHORIZATION)
            .and_then(|value| value.to_str().ok());
        match &self.door {
            Door::Open => true,
            Door::Basic(username, password) => {
                given
                    == Some(&format!(
                        "Basic {}",
                        STANDARD.encode(format!("{username}:{password}"))
                    ))
            }
            Door::Bearer { .. } => {
                self.uses += 1;
                if self.faults.token_uses.is_some_and(|limit| self.uses > limit) {
                    self.faults.token_uses = None;
                    self.tokens += 1;
                    return false;
                }
                given == Some(&format!("Bearer token-{}", self.tokens))
            }
        }
    }

    fn token(&self, method: &Method, headers: &HeaderMap, query: &str, body: &str) -> Response<Body> {
        let Door::Bearer {
            username,
            password,
            identity,
        } = &self.door
        else {
            return plain(404);
        };
        let given = headers
            .get(header::AUTHORIZATION)
            .and_then(|value| value.to_str().ok());
        let by_password = given
            == Some(&format!(
                "Basic {}",
                STANDARD.encode(format!("{username}:{password}"))
            ));
        let by_identity = method == Method::POST
            && body.contains("grant_type=refresh_token")
            && body.contains(&format!("refresh_token={identity}"));
        let asked = if method == Method::POST { body } else { query };
        if !asked.contains("service=mock") || !asked.contains("scope=repository%3A") {
            return plain(400);
        }
        if by_password || by_identity {
            let name = if by_identity { "access_token" } else { "token" };
            return with(
                200,
                &[],
                format!(r#"{{"{name}":"token-{}","expires_in":300}}"#, self.tokens),
            );
        }
        plain(401)
    }
}

async fn answer(State(mock): State<Mock>, request: Request<Body>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let path = parts.uri.path().to_owned();
    let query = parts.uri.query().unwrap_or_default().to_owned();
    mock.change(|contents| {
        if path == "/token" {
            contents.requests.push(format!("{} /token", parts.method));
            return contents.token(
                &parts.method,
                &parts.headers,
                &query,
                &String::from_utf8_lossy(&body),
            );
        }
        if path == "/v2/" {
            return match &contents.door {
                Door::Open => plain(200),
                Door::Basic(..) => with(401, &[("www-authenticate", "Basic realm=\"mock\"")], ""),
                Door::Bearer { .. } => {
                    let value = format!("Bearer realm=\"http://{}/token\",service=\"mock\"", mock.host);
                    with(401, &[("www-authenticate", &value)], "")
                }
            };
        }
        let range = parts
            .headers
            .get(header::RANGE)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default();
        contents
            .requests
            .push(format!("{} {path} {range}", parts.method).trim_end().to_owned());
        if let Some(status) = contents.faults.statuses.pop_front() {
            return with(status, &[], r#"{"errors":[{"code":"X","message":"not now"}]}"#);
        }
        if !contents.lets_in(&parts.headers) {
            return plain(401);
        }
        let Some(path) = path.strip_prefix("/v2/") else {
            return plain(404);
        };
        let segments: Vec<&str> = path.rsplitn(3, '/').collect();
        let [version, kind, repository] = segments[..] else {
            return plain(404);
        };
        match (kind, version) {
            ("blobs", "uploads") | ("uploads", _) => {
                let repository = repository.strip_suffix("/blobs").unwrap_or(repository);
                contents.upload(&parts.method, repository, path, &query, &body)
            }
            ("blobs", digest) => contents.blob(&parts.method, repository, digest, range),
            ("manifests", version) => contents.manifest(&parts, repository, version, &body),
            ("tags", "list") => contents.tags(repository, &query),
            _ => plain(404),
        }
    })
}

impl Contents {
    fn blob(&mut self, method: &Method, repository: &str, digest: &str, range: &str) -> Response<Body> {
        let Some(bytes) = self.blobs.get(&format!("{repository} {digest}")) else {
            return plain(404);
        };
        let mut bytes = bytes.clone();
        if method == Method::HEAD {
            return with(200, &[("content-length", &bytes.len().to_string())], "");
        }
        if self.faults.altered.iter().any(|altered| altered == digest) {
            bytes[0] ^= 1;
        }
        let start: usize = range
            .strip_prefix("bytes=")
            .and_then(|range| range.strip_suffix('-'))
            .and_then(|start| start.parse().ok())
            .filter(|_| !self.faults.no_ranges)
            .unwrap_or(0);
        let status = if range.is_empty() || self.faults.no_ranges {
            200
        } else {
            206
        };
        let rest = bytes[start.min(bytes.len())..].to_vec();
        let length = rest.len().to_string();
        let cut = self.faults.break_off.pop_front().or(self.faults.always_break_off);
        let body = match cut {
            Some(cut) if cut < rest.len() => {
                let begun = stream::once(async move { Ok(Bytes::from(rest[..cut].to_vec())) });
                // The server sends what it has while the rest is not ready.
                let broken = stream::once(async {
                    tokio::task::yield_now().await;
                    Err(std::io::Error::other("broken off on purpose"))
                });
                Body::from_stream(begun.chain(broken))
            }
            _ => Body::from(rest),
        };
        with(status, &[("content-length", &length)], body)
    }

    fn manifest(
        &mut self,
        parts: &axum::http::request::Parts,
        repository: &str,
        version: &str,
        body: &Bytes,
    ) -> Response<Body> {
        let key = format!("{repository} {version}");
        if parts.method == Method::PUT {
            let media_type = parts
                .headers
                .get(header::CONTENT_TYPE)
                .and_then(|value| value.to_str().ok());
            let value = (media_type.unwrap_or_default().to_owned(), body.to_vec());
            let digest = Digest::of(body).to_string();
            self.manifests
                .insert(format!("{repository} {digest}"), value.clone());
            self.manifests.insert(key, value);
            return with(
                201,
                &[("location", &format!("/v2/{repository}/manifests/{digest}"))],
                "",
            );
        }
        let Some((media_type, bytes)) = self.manifests.get(&key) else {
            return plain(404);
        };
        let digest = Digest::of(bytes).to_string();
        let mut bytes = bytes.clone();
        if self.faults.altered.iter().any(|altered| altered == version) {
            bytes.push(b' ');
        }
        let length = bytes.len().to_string();
        let headers = [
            ("content-type", media_type.as_str()),
            ("docker-content-digest", &digest),
            ("content-length", &length),
        ];
        with(
            200,
            &headers,
            if parts.method == Method::HEAD {
                Vec::new()
            } else {
                bytes
            },
        )
    }

    fn upload(
        &mut self,
        method: &Method,
        repository: &str,
        path: &str,
        query: &str,
        body: &Bytes,
    ) -> Response<Body> {
        let parameter = |name: &str| {
            form_urlencoded::parse(query.as_bytes())
                .find(|(key, _)| key == name)
                .map(|(_, value)| value.into_owned())
        };
        match *method {
            Method::POST => {
                let source = parameter("mount")
                    .zip(parameter("from"))
                    .filter(|_| !self.faults.no_mounts);
                let found = source.and_then(|(digest, from)| {
                    Some((self.blobs.get(&format!("{from} {digest}"))?.clone(), digest))
                });
                if let Some((bytes, digest)) = found {
                    self.blobs.insert(format!("{repository} {digest}"), bytes);
                    return with(
                        201,
                        &[("location", &format!("/v2/{repository}/blobs/{digest}"))],
                        "",
                    );
                }
                self.sessions += 1;
                let session = format!("{repository}/blobs/uploads/{}", self.sessions);
                self.uploads.insert(session.clone(), Vec::new());
                with(202, &[("location", &format!("/v2/{session}?state=x"))], "")
            }
            Method::PATCH => {
                self.uploads
                    .entry(path.to_owned())
                    .or_default()
                    .extend_from_slice(body);
                with(202, &[("location", &format!("/v2/{path}?state=y"))], "")
            }
            Method::PUT => {
                if self.faults.only_pieces && !body.is_empty() {
                    return plain(413);
                }
                let mut bytes = self.uploads.remove(path).unwrap_or_default();
                bytes.extend_from_slice(body);
                let digest = parameter("digest").unwrap_or_default();
                if Digest::of(&bytes).to_string() != digest {
                    return with(
                        400,
                        &[],
                        r#"{"errors":[{"code":"DIGEST_INVALID","message":"no"}]}"#,
                    );
                }
                self.blobs.insert(format!("{repository} {digest}"), bytes);
                with(
                    201,
                    &[("location", &format!("/v2/{repository}/blobs/{digest}"))],
                    "",
                )
            }
            _ => plain(405),
        }
    }

    fn tags(&self, repository: &str, query: &str) -> Response<Body> {
        let last = form_urlencoded::parse(query.as_bytes())
            .find(|(key, _)| key == "last")
            .map(|(_, value)| value.into_owned())
            .unwrap_or_default();
        let mut tags: Vec<&str> = self
            .manifests
            .keys()
            .filter_map(|key| key.strip_prefix(&format!("{repository} ")))
            .filter(|version| !version.contains(':') && *version > last.as_str())
            .collect();
        tags.sort_unstable();
        tags.truncate(2);
        with(
            200,
            &[],
            serde_json::json!({"name": repository, "tags": tags}).to_string(),
        )
    }
}
