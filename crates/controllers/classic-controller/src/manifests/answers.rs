//! The answers of the API: what it has, one package, all packages, a picture.

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::response::Response;
use axum::routing::get;
use futures_util::StreamExt as _;
use http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use super::table::table;
use super::{API_VERSION, GROUP, Manifests, VERSION};

/// How long a watch lasts if nobody says how long: as long as the API server's shortest.
const WATCH_SECONDS: u64 = 300;

/// The longest that a watch lasts, whatever is asked for.
const LONGEST_WATCH_SECONDS: u64 = 3600;

/// How often a watch looks whether catalogs changed.
const WATCH_PAUSE: std::time::Duration = std::time::Duration::from_secs(1);

pub(super) fn router(manifests: Manifests) -> Router {
    let root = format!("/apis/{GROUP}");
    let version = format!("{root}/{VERSION}");
    let one = format!("{version}/namespaces/{{namespace}}/packagemanifests/{{name}}");
    Router::new()
        .route(&root, get(async || answer(StatusCode::OK, &group())))
        .route(&version, get(async || answer(StatusCode::OK, &resources())))
        .route(&format!("{version}/packagemanifests"), get(all))
        .route(
            &format!("{version}/namespaces/{{namespace}}/packagemanifests"),
            get(in_namespace),
        )
        .route(&one, get(single))
        .route(&format!("{one}/icon"), get(icon))
        .with_state(manifests)
}

fn answer(code: StatusCode, value: &Value) -> Response {
    let mut response = Response::new(Body::from(value.to_string()));
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, http::HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, http::HeaderValue::from_static("no-cache, private"));
    response
}

fn group() -> Value {
    let version = json!({"groupVersion": API_VERSION, "version": VERSION});
    json!({
        "apiVersion": "v1", "kind": "APIGroup", "name": GROUP,
        "versions": [version], "preferredVersion": version,
    })
}

fn resources() -> Value {
    json!({
        "apiVersion": "v1", "kind": "APIResourceList", "groupVersion": API_VERSION,
        "resources": [
            {
                "name": "packagemanifests", "singularName": "packagemanifest", "namespaced": true, "kind": "PackageManifest",
                "verbs": ["get", "list", "watch"],
            },
            {
                "name": "packagemanifests/icon", "singularName": "", "namespaced": true, "kind": "PackageManifest",
                "verbs": ["get"],
            },
        ],
    })
}

fn status(code: StatusCode, reason: &str, message: &str) -> Response {
    let value = json!({
        "apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": code.as_u16(),
    });
    answer(code, &value)
}

fn not_found(name: &str) -> Response {
    let message = format!("packagemanifests.{GROUP} {name:?} not found");
    status(StatusCode::NOT_FOUND, "NotFound", &message)
}

/// What a request asks beside its path.
struct Asked {
    labels: Vec<Requirement>,
    name: Option<String>,
    is_watch: bool,
    seconds: u64,
    wants_table: bool,
}

/// One requirement of a label selector.
struct Requirement {
    key: String,
    /// The values, one of which is required; none for any value.
    values: Option<Vec<String>>,
    is_negated: bool,
}

impl Requirement {
    fn read(text: &str) -> Option<Self> {
        let plain = |key: &str, values: Option<Vec<String>>, is_negated: bool| {
            Some(Self {
                key: key.trim().to_owned(),
                values,
                is_negated,
            })
        };
        let list = |text: &str| -> Option<Vec<String>> {
            let inner = text.trim().strip_prefix('(')?.strip_suffix(')')?;
            Some(inner.split(',').map(|value| value.trim().to_owned()).collect())
        };
        if let Some((key, values)) = text.split_once(" notin ") {
            return plain(key, Some(list(values)?), true);
        }
        if let Some((key, values)) = text.split_once(" in ") {
            return plain(key, Some(list(values)?), false);
        }
        if let Some((key, value)) = text.split_once("!=") {
            return plain(key, Some(vec![value.trim().to_owned()]), true);
        }
        if let Some((key, value)) = text.split_once("==").or_else(|| text.split_once('=')) {
            return plain(key, Some(vec![value.trim().to_owned()]), false);
        }
        match text.trim().strip_prefix('!') {
            Some(key) => plain(key, None, true),
            None => plain(text, None, false),
        }
    }

    fn holds(&self, manifest: &Value) -> bool {
        let value = apply::object::label(manifest, &self.key);
        let is_met = match (&self.values, value) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(values), Some(value)) => values.iter().any(|wanted| wanted == value),
        };
        is_met != self.is_negated
    }
}

/// Splits a selector at its commas, but not at those in parentheses.
fn requirements(selector: &str) -> Option<Vec<Requirement>> {
    let mut parts = Vec::new();
    let mut depth = 0_i32;
    let mut part = String::new();
    for character in selector.chars() {
        match character {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(std::mem::take(&mut part));
                continue;
            }
            _ => {}
        }
        part.push(character);
    }
    parts.push(part);
    let parts = parts.iter().filter(|part| !part.trim().is_empty());
    parts.map(|part| Requirement::read(part)).collect()
}

impl Asked {
    fn read(request: &Request) -> Result<Self, Box<Response>> {
        let bad = |message: &str| Box::new(status(StatusCode::BAD_REQUEST, "BadRequest", message));
        let accept = request
            .headers()
            .get(ACCEPT)
            .and_then(|value| value.to_str().ok());
        let mut asked = Self {
            labels: Vec::new(),
            name: None,
            is_watch: false,
            seconds: WATCH_SECONDS,
            wants_table: accept.is_some_and(|accept| accept.contains("as=Table")),
        };
        let query = request.uri().query().unwrap_or_default();
        for (key, value) in form_urlencoded::parse(query.as_bytes()) {
            match key.as_ref() {
                "labelSelector" => {
                    asked.labels = requirements(&value)
                        .ok_or_else(|| bad(&format!("unable to parse requirement: {value:?}")))?;
                }
                "fieldSelector" if value.is_empty() => {}
                "fieldSelector" => {
                    let name = value
                        .strip_prefix("metadata.name=")
                        .map(|name| name.trim_start_matches('='));
                    let name = name.ok_or_else(|| {
                        bad("field label not supported: only metadata.name can be selected")
                    })?;
                    asked.name = Some(name.to_owned());
                }
                "watch" => asked.is_watch = matches!(value.as_ref(), "true" | "1" | ""),
                "timeoutSeconds" => {
                    asked.seconds = value.parse().unwrap_or(WATCH_SECONDS).min(LONGEST_WATCH_SECONDS);
                }
                _ => {}
            }
        }
        Ok(asked)
    }

    fn select(&self, mut manifests: Vec<Value>) -> Vec<Value> {
        manifests.retain(|manifest| {
            let is_named = self
                .name
                .as_deref()
                .is_none_or(|name| apply::object::text(manifest, "/metadata/name") == name);
            is_named && self.labels.iter().all(|requirement| requirement.holds(manifest))
        });
        manifests
    }
}

async fn all(State(manifests): State<Manifests>, request: Request) -> Response {
    list(manifests, String::new(), &request)
}

async fn in_namespace(
    State(manifests): State<Manifests>,
    Path(namespace): Path<String>,
    request: Request,
) -> Response {
    list(manifests, namespace, &request)
}

fn list(manifests: Manifests, namespace: String, request: &Request) -> Response {
    let asked = match Asked::read(request) {
        Ok(asked) => asked,
        Err(refusal) => return *refusal,
    };
    if asked.is_watch {
        return watch(manifests, namespace, asked);
    }
    let version = manifests.version().to_string();
    let found = asked.select(manifests.packages(&namespace));
    if asked.wants_table {
        return answer(StatusCode::OK, &table(&found, &version, jiff::Timestamp::now()));
    }
    let value = json!({
        "apiVersion": API_VERSION, "kind": "PackageManifestList", "metadata": {"resourceVersion": version}, "items": found,
    });
    answer(StatusCode::OK, &value)
}

/// What a watch has told so far.
struct Watching {
    manifests: Manifests,
    namespace: String,
    asked: Asked,
    told: std::collections::BTreeMap<(String, String, String), Value>,
    edition: Option<u64>,
    end: tokio::time::Instant,
}

impl Watching {
    /// Returns what changed since it was last looked, as lines of JSON.
    fn news(&mut self) -> String {
        let edition = self.manifests.version();
        if self.edition == Some(edition) {
            return String::new();
        }
        self.edition = Some(edition);
        let mut lines = String::new();
        let mut tell = |kind: &str, object: &Value| {
            lines.push_str(&json!({"type": kind, "object": object}).to_string());
            lines.push('\n');
        };
        let mut now = std::collections::BTreeMap::new();
        for manifest in self.asked.select(self.manifests.packages(&self.namespace)) {
            let text = |pointer: &str| apply::object::text(&manifest, pointer).to_owned();
            let key = (
                text("/metadata/namespace"),
                text("/metadata/name"),
                text("/status/catalogSource"),
            );
            match self.told.remove(&key) {
                None => tell("ADDED", &manifest),
                Some(before) if before != manifest => tell("MODIFIED", &manifest),
                Some(_) => {}
            }
            now.insert(key, manifest);
        }
        for gone in self.told.values() {
            tell("DELETED", gone);
        }
        self.told = now;
        lines
    }
}

fn watch(manifests: Manifests, namespace: String, asked: Asked) -> Response {
    let watching = Watching {
        end: tokio::time::Instant::now() + std::time::Duration::from_secs(asked.seconds),
        manifests,
        namespace,
        asked,
        told: std::collections::BTreeMap::new(),
        edition: None,
    };
    let lines = futures_util::stream::unfold(watching, async |mut watching| {
        loop {
            if tokio::time::Instant::now() >= watching.end {
                return None;
            }
            let news = watching.news();
            if !news.is_empty() {
                return Some((news, watching));
            }
            tokio::time::sleep(WATCH_PAUSE).await;
        }
    });
    let mut response = Response::new(Body::from_stream(lines.map(Ok::<_, std::convert::Infallible>)));
    response
        .headers_mut()
        .insert(CONTENT_TYPE, http::HeaderValue::from_static("application/json"));
    response
}

async fn single(
    State(manifests): State<Manifests>,
    Path((namespace, name)): Path<(String, String)>,
    request: Request,
) -> Response {
    let mut found = manifests.packages(&namespace);
    found.retain(|manifest| apply::object::text(manifest, "/metadata/name") == name);
    let wants_table = Asked::read(&request).is_ok_and(|asked| asked.wants_table);
    match found.first() {
        None => not_found(&name),
        Some(manifest) if wants_table => {
            let version = manifests.version().to_string();
            let one = std::slice::from_ref(manifest);
            answer(StatusCode::OK, &table(one, &version, jiff::Timestamp::now()))
        }
        Some(manifest) => answer(StatusCode::OK, manifest),
    }
}

async fn icon(
    State(manifests): State<Manifests>,
    Path((namespace, name)): Path<(String, String)>,
    headers: HeaderMap,
) -> Response {
    let Some(icon) = manifests.icon(&namespace, &name) else {
        return not_found(&name);
    };
    let tag = format!("\"{}\"", icon.tag);
    let is_known = headers
        .get(IF_NONE_MATCH)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|known| known == tag);
    let mut response = Response::new(if is_known {
        Body::empty()
    } else {
        Body::from(icon.bytes)
    });
    if is_known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let headers = response.headers_mut();
    if let Ok(tag) = tag.parse() {
        headers.insert(ETAG, tag);
    }
    if let Ok(media_type) = icon.media_type.parse() {
        headers.insert(CONTENT_TYPE, media_type);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selector_is_split_outside_of_parentheses_and_holds_as_kubernetes_has_it() {
        let manifest = json!({"metadata": {"labels": {"catalog": "c", "provider": "Us"}}});
        let holds = |selector: &str| {
            let requirements = requirements(selector).expect("a selector");
            requirements
                .iter()
                .all(|requirement| requirement.holds(&manifest))
        };
        for selector in [
            "",
            "catalog=c",
            "catalog==c,provider=Us",
            "catalog in (b,c)",
            "catalog",
            "!other",
            "other!=x",
            "catalog notin (x, y),provider",
        ] {
            assert!(holds(selector), "{selector}");
        }
        for selector in ["catalog=b", "catalog!=c", "!catalog", "other", "catalog in (a,b)"] {
            assert!(!holds(selector), "{selector}");
        }
        assert!(requirements("a in b").is_none());
    }
}
