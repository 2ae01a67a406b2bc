//! The documents that describe what is served: OpenAPI.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use schema::openapi::{self, ServedResource};
use serde_json::Value;

use super::paths::page_not_found;
use super::{Asked, Body, bytes_response, negotiation};
use crate::api::Api;
use crate::resource::{Group, Resource, Served, api_version};
use crate::status::Status;

/// The documents that were made so far, each for what was served when it was made.
#[derive(Debug, Default)]
pub struct Documents {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    generation: u64,
    index: Option<Bytes>,
    old: Option<Arc<OldDocument>>,
    documents: BTreeMap<String, Arc<Document>>,
}

/// A document of the newer form. Its hash is that of what it is made from, so that the index needs no document.
#[derive(Debug)]
struct Document {
    /// What it describes, by identity: the same resources need no new document.
    resources: Vec<Arc<Resource>>,
    name: String,
    hash: String,
    bytes: OnceLock<Bytes>,
}

/// The document of the older form, in both of its representations.
#[derive(Debug)]
struct OldDocument {
    json: Bytes,
    hash: String,
    binary: OnceLock<Bytes>,
}

/// The media type of the older document's binary form.
const BINARY: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// The media type by which Go's clients ask for it, which can't be written in an answer.
const BINARY_ASKED: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";

/// The documents of paths that tell about the server rather than about groups.
const ABOUT_THE_SERVER: [&str; 5] = [
    ".well-known/openid-configuration",
    "api",
    "apis",
    "openid/v1/jwks",
    "version",
];

/// Returns a hash as the real server writes it in tags and links.
pub fn hash(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA512, bytes);
    digest
        .as_ref()
        .iter()
        .fold(String::with_capacity(128), |mut text, byte| {
            let _ = write!(text, "{byte:02X}");
            text
        })
}

/// Answers `/openapi/v3` and what lies below it.
pub fn answer(api: &Arc<Api>, asked: &Asked, name: &str) -> Result<Response<Body>, Status> {
    let served = api.resources.now();
    if name.is_empty() {
        let bytes = api.documents.index(&served);
        let mut response = bytes_response(StatusCode::OK, bytes, "text/plain; charset=utf-8");
        response
            .headers_mut()
            .insert(header::CACHE_CONTROL, HeaderValue::from_static(UNCACHED));
        return Ok(response);
    }
    let Some(document) = api.documents.document(&served, name) else {
        return Ok(page_not_found());
    };
    let asked_hash = asked.query.get("hash");
    let etag = format!("\"{}\"", document.hash);
    if !asked_hash.is_empty() && asked_hash != document.hash {
        // The link is from an older index: the client is sent to what is there now.
        let mut response = Response::new(super::full_body(Bytes::new()));
        *response.status_mut() = StatusCode::MOVED_PERMANENTLY;
        if let Ok(place) = HeaderValue::from_str(&format!("/openapi/v3/{name}?hash={}", document.hash)) {
            response.headers_mut().insert(header::LOCATION, place);
        }
        return Ok(response);
    }
    let mut response = super::paths::cached(asked, document.bytes(), &etag, "application/json");
    let lasting = if asked_hash.is_empty() {
        UNCACHED
    } else {
        "public, immutable"
    };
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, HeaderValue::from_static(lasting));
    Ok(response)
}

/// Answers `/openapi/v2`: everything in one document of the older form.
pub fn old(api: &Arc<Api>, asked: &Asked) -> Result<Response<Body>, Status> {
    let accepted = asked.head.headers.get(header::ACCEPT);
    let accepted = accepted
        .and_then(|accepted| accepted.to_str().ok())
        .unwrap_or_default();
    let known = ["application/json", BINARY_ASKED, BINARY];
    let Some(chosen) = negotiation::first_known(accepted, &known) else {
        let mut response = Response::new(super::full_body(Bytes::new()));
        *response.status_mut() = StatusCode::NOT_ACCEPTABLE;
        response
            .headers_mut()
            .insert(header::VARY, HeaderValue::from_static("Accept"));
        return Ok(response);
    };
    let document = api.documents.old(&api.resources.now());
    let (bytes, media_type) = if chosen == "application/json" {
        (document.json.clone(), chosen)
    } else {
        (document.binary(), BINARY)
    };
    let mut response = super::paths::cached(asked, bytes, &format!("\"{}\"", document.hash), media_type);
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, HeaderValue::from_static(UNCACHED));
    Ok(response)
}

/// What answers say that may differ with the next request.
const UNCACHED: &str = "no-cache, private";

impl Document {
    fn bytes(&self) -> Bytes {
        self.bytes
            .get_or_init(|| Bytes::from(self.value().to_string()))
            .clone()
    }

    fn value(&self) -> Value {
        let described: Vec<ServedResource> = self
            .resources
            .iter()
            .map(|resource| described(resource))
            .collect();
        match version_of(&self.name) {
            Some((group, version)) => openapi::document_value(&api_version(group, version), &described),
            None => openapi::entrance(&self.name).unwrap_or_default(),
        }
    }
}

impl OldDocument {
    fn binary(&self) -> Bytes {
        let made = || {
            let document: Value = serde_json::from_slice(&self.json).unwrap_or_default();
            Bytes::from(openapi::swagger::to_protobuf(&document))
        };
        self.binary.get_or_init(made).clone()
    }
}

impl Documents {
    fn index(&self, served: &Served) -> Bytes {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.refresh(served);
        if let Some(index) = &kept.index {
            return index.clone();
        }
        let documents: Vec<Arc<Document>> = document_names(served)
            .iter()
            .filter_map(|name| kept.document(served, name))
            .collect();
        let index = Bytes::from(openapi::index(
            documents
                .iter()
                .map(|document| (document.name.as_str(), document.hash.as_str())),
        ));
        kept.index = Some(index.clone());
        index
    }

    fn document(&self, served: &Served, name: &str) -> Option<Arc<Document>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.refresh(served);
        kept.document(served, name)
    }

    fn old(&self, served: &Served) -> Arc<OldDocument> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.refresh(served);
        if let Some(old) = &kept.old {
            return Arc::clone(old);
        }
        let documents: Vec<Value> = document_names(served)
            .iter()
            .filter_map(|name| Some(kept.document(served, name)?.value()))
            .collect();
        let json = Bytes::from(openapi::swagger::document(&documents).to_string());
        let old = Arc::new(OldDocument {
            hash: hash(&json),
            json,
            binary: OnceLock::new(),
        });
        kept.old = Some(Arc::clone(&old));
        old
    }
}

/// Returns the names of all documents. Groups of custom resources have none of their own.
fn document_names(served: &Served) -> Vec<String> {
    let mut names: Vec<String> = ABOUT_THE_SERVER.map(str::to_owned).to_vec();
    for group in &served.groups {
        if is_built_in(group) && !group.name.is_empty() {
            names.push(format!("apis/{}", group.name));
        }
        for (version, _) in &group.versions {
            names.push(if group.name.is_empty() {
                format!("api/{version}")
            } else {
                format!("apis/{}/{version}", group.name)
            });
        }
    }
    names
}

fn is_built_in(group: &Group) -> bool {
    group
        .versions
        .iter()
        .flat_map(|(_, resources)| resources.values())
        .any(|resource| resource.custom().is_none())
}

/// Returns the group and version that a document is about, if it is about one.
fn version_of(name: &str) -> Option<(&str, &str)> {
    let mut parts = name.split('/');
    match (parts.next()?, parts.next()?, parts.next(), parts.next()) {
        ("api", version, None, None) => Some(("", version)),
        ("apis", group, Some(version), None) => Some((group, version)),
        _ => None,
    }
}

impl Kept {
    fn refresh(&mut self, served: &Served) {
        if self.generation != served.generation {
            self.generation = served.generation;
            self.index = None;
            self.old = None;
        }
    }

    fn document(&mut self, served: &Served, name: &str) -> Option<Arc<Document>> {
        let resources: Vec<Arc<Resource>> = match version_of(name) {
            Some((group, version)) => {
                let (_, resources) = served
                    .group(group)?
                    .versions
                    .iter()
                    .find(|(name, _)| &**name == version)?;
                resources.values().cloned().collect()
            }
            None if ABOUT_THE_SERVER.contains(&name) => Vec::new(),
            None => {
                served
                    .group(name.strip_prefix("apis/")?)
                    .filter(|group| is_built_in(group))?;
                Vec::new()
            }
        };
        if let Some(document) = self.documents.get(name)
            && document.resources.len() == resources.len()
            && document
                .resources
                .iter()
                .zip(&resources)
                .all(|(one, other)| Arc::ptr_eq(one, other))
        {
            return Some(Arc::clone(document));
        }
        let described: Vec<ServedResource> = resources.iter().map(|resource| described(resource)).collect();
        let document = Arc::new(Document {
            hash: hash(&openapi::ingredients(name, &described)),
            resources,
            name: name.to_owned(),
            bytes: OnceLock::new(),
        });
        self.documents.insert(name.to_owned(), Arc::clone(&document));
        Some(document)
    }
}

fn described(resource: &Resource) -> ServedResource {
    let custom = resource.custom();
    ServedResource {
        group: resource.group.to_string(),
        version: resource.version.to_string(),
        plural: resource.plural.to_string(),
        singular: resource.singular.to_string(),
        kind: resource.kind.to_string(),
        list_kind: resource.list_kind.to_string(),
        namespaced: resource.namespaced,
        verbs: resource.verbs.iter().map(ToString::to_string).collect(),
        subresources: resource
            .subresources
            .iter()
            .map(|below| below.name.to_owned())
            .collect(),
        schema: custom.map(|custom| custom.document.clone()),
        selectable_fields: custom
            .map(|custom| custom.selectable_fields.clone())
            .unwrap_or_default(),
    }
}
