//! The documents that describe what is served: OpenAPI.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use schema::openapi::{self, ServedResource};

use super::paths::page_not_found;
use super::{Asked, Body, bytes_response};
use crate::api::Api;
use crate::resource::{Resource, Served, api_version};
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
    documents: BTreeMap<String, Document>,
}

#[derive(Debug, Clone)]
struct Document {
    /// What it describes, by identity: the same resources need no new document.
    resources: Vec<Arc<Resource>>,
    bytes: Bytes,
    hash: String,
}

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
        return Ok(bytes_response(StatusCode::OK, bytes, "application/json"));
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
    let mut response = super::paths::cached(asked, document.bytes, &etag, "application/json");
    let lasting = if asked_hash.is_empty() {
        "no-cache, private"
    } else {
        "public, immutable"
    };
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, HeaderValue::from_static(lasting));
    Ok(response)
}

/// Answers `/openapi/v2`, which only old clients ask for.
pub fn old(_api: &Arc<Api>, _asked: &Asked) -> Result<Response<Body>, Status> {
    Ok(page_not_found())
}

impl Documents {
    fn index(&self, served: &Served) -> Bytes {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.refresh(served);
        if let Some(index) = &kept.index {
            return index.clone();
        }
        let mut entries = Vec::new();
        for group in &served.groups {
            for (version, _) in &group.versions {
                let name = document_name(&group.name, version);
                if let Some(document) = kept.document(served, &name) {
                    entries.push((name, document.hash));
                }
            }
        }
        let index = Bytes::from(openapi::index(
            entries.iter().map(|(name, hash)| (name.as_str(), hash.as_str())),
        ));
        kept.index = Some(index.clone());
        index
    }

    fn document(&self, served: &Served, name: &str) -> Option<Document> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.refresh(served);
        kept.document(served, name)
    }
}

fn document_name(group: &str, version: &str) -> String {
    if group.is_empty() {
        format!("api/{version}")
    } else {
        format!("apis/{group}/{version}")
    }
}

impl Kept {
    fn refresh(&mut self, served: &Served) {
        if self.generation != served.generation {
            self.generation = served.generation;
            self.index = None;
        }
    }

    fn document(&mut self, served: &Served, name: &str) -> Option<Document> {
        let mut parts = name.split('/');
        let (group, version) = match (parts.next()?, parts.next()?, parts.next()) {
            ("api", version, None) => ("", version),
            ("apis", group, Some(version)) => (group, version),
            _ => return None,
        };
        let (_, resources) = served
            .group(group)?
            .versions
            .iter()
            .find(|(name, _)| &**name == version)?;
        let resources: Vec<Arc<Resource>> = resources.values().cloned().collect();
        if let Some(document) = self.documents.get(name)
            && document.resources.len() == resources.len()
            && document
                .resources
                .iter()
                .zip(&resources)
                .all(|(one, other)| Arc::ptr_eq(one, other))
        {
            return Some(document.clone());
        }
        let described: Vec<ServedResource> = resources.iter().map(|resource| described(resource)).collect();
        let bytes = Bytes::from(openapi::document(&api_version(group, version), &described));
        let document = Document {
            resources,
            hash: hash(&bytes),
            bytes,
        };
        self.documents.insert(name.to_owned(), document.clone());
        Some(document)
    }
}

fn described(resource: &Resource) -> ServedResource {
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
        schema: resource.custom().map(|custom| custom.document.clone()),
    }
}
