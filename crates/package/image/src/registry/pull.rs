//! Pulling: manifests and blobs, whole or in parts.

use axum::body::Body;
use axum::response::Response;
use http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderName, HeaderValue,
    IF_NONE_MATCH, IF_RANGE, RANGE,
};
use http::{HeaderMap, StatusCode};
use serde_json::json;
use std::io::{Seek, SeekFrom};
use tokio::io::AsyncReadExt;
use tokio_util::io::ReaderStream;

use super::Registry;
use super::content_digest::ContentDigest;
use super::names::{InvalidName, ManifestReference, RepositoryName};
use super::ranges::{RequestedRange, range_length};
use super::refusal::{ErrorCode, Refusal};

/// The header that carries the digest of content.
pub(super) const CONTENT_DIGEST: HeaderName = HeaderName::from_static("docker-content-digest");

/// The header that says of a manifest that nobody is known to have pushed it, so that who would push the same does it all the same.
pub(crate) const PUSHER: HeaderName = HeaderName::from_static("baton-pusher");

/// What that header says.
pub(crate) const NOBODY: &str = "nobody";

/// How much of a blob is read from disk at once while it is sent.
const SEND_BYTES: usize = 256 << 10;

/// How long caches may keep content: what a digest names never changes.
const FOREVER: &str = "max-age=31536000";

/// Whether the content itself is wanted, or only what is known about it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// `GET`.
    Content,
    /// `HEAD`.
    Facts,
}

/// Reads the reference in an address that something is to be read or removed by: what can't be a tag names nothing.
pub(super) fn existing_reference(
    repository: &RepositoryName,
    reference: &str,
) -> Result<ManifestReference, Refusal> {
    ManifestReference::parse(reference).map_err(|error| match error {
        InvalidName::Tag(tag) => unknown_manifest(repository, &tag),
        other => other.into(),
    })
}

/// The answer for a manifest that isn't there.
pub(super) fn unknown_manifest(repository: &RepositoryName, reference: &str) -> Refusal {
    Refusal::new(
        StatusCode::NOT_FOUND,
        ErrorCode::ManifestUnknown,
        format_args!("repository {repository} has no manifest {reference}: list its tags to see what it has"),
        json!({ "name": repository.as_str(), "reference": reference }),
    )
}

/// The answer for a blob that isn't there.
pub(super) fn unknown_blob(repository: &RepositoryName, digest: &ContentDigest) -> Refusal {
    Refusal::new(
        StatusCode::NOT_FOUND,
        ErrorCode::BlobUnknown,
        format_args!(
            "repository {repository} has no blob {digest}: push it, or mount it from a repository that has it"
        ),
        json!({ "name": repository.as_str(), "digest": digest }),
    )
}

/// The answer for a repository that isn't there.
pub(super) fn unknown_repository(repository: &RepositoryName) -> Refusal {
    Refusal::new(
        StatusCode::NOT_FOUND,
        ErrorCode::NameUnknown,
        format_args!("there is no repository {repository}: push something to it first"),
        json!({ "name": repository.as_str() }),
    )
}

/// Reads a digest in an address.
pub(super) fn digest(text: &str) -> Result<ContentDigest, Refusal> {
    text.parse()
        .map_err(|error| Refusal::from(InvalidName::Digest(error)))
}

/// `GET` and `HEAD` of a manifest.
pub(super) async fn manifest(
    registry: &Registry,
    repository: RepositoryName,
    reference: &str,
    headers: &HeaderMap,
    wanted: Wanted,
) -> Result<Response, Refusal> {
    let reference = existing_reference(&repository, reference)?;
    let text = reference.to_string();
    let name = repository.clone();
    let asks_who_pushed = wanted == Wanted::Facts && registry.0.options.access.knows_strangers();
    let (known, stored, is_nobodys) = registry
        .blocking(move |shared| {
            let stored = shared.store.manifest(&repository, &reference)?;
            let is_nobodys = match &stored {
                Some(stored) if asks_who_pushed => {
                    shared.store.pusher(&repository, &stored.digest)?.is_none()
                }
                _ => false,
            };
            Ok((
                stored.is_some() || shared.store.has_repository(&repository)?,
                stored,
                is_nobodys,
            ))
        })
        .await?;
    let Some(stored) = stored else {
        let refusal = if known {
            unknown_manifest(&name, &text)
        } else {
            unknown_repository(&name)
        };
        return Err(refusal);
    };
    let mut response = content_response(&stored.digest);
    if is_unchanged(headers, &stored.digest) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        return Ok(response);
    }
    let answer = response.headers_mut();
    answer.insert(CONTENT_LENGTH, HeaderValue::from(stored.bytes.len()));
    // Media types were compared with known ones when the manifest came in.
    if let Ok(media_type) = HeaderValue::from_str(&stored.media_type) {
        answer.insert(CONTENT_TYPE, media_type);
    }
    if is_nobodys {
        answer.insert(PUSHER, HeaderValue::from_static(NOBODY));
    }
    if wanted == Wanted::Content {
        *response.body_mut() = Body::from(stored.bytes);
    }
    Ok(response)
}

/// `GET` and `HEAD` of a blob.
pub(super) async fn blob(
    registry: &Registry,
    repository: RepositoryName,
    name: &str,
    headers: &HeaderMap,
    wanted: Wanted,
) -> Result<Response, Refusal> {
    let digest = digest(name)?;
    let range_header = headers
        .get(RANGE)
        .and_then(|header| header.to_str().ok())
        .filter(|_| wanted == Wanted::Content && may_be_partial(headers, &digest))
        .map(str::to_owned);
    let wanted_digest = digest.clone();
    let opened = registry
        .blocking(move |shared| {
            let Some(mut blob) = shared.store.blob(&repository, &wanted_digest)? else {
                return Err(unknown_blob(&repository, &wanted_digest));
            };
            let range = RequestedRange::parse(range_header.as_deref(), blob.size);
            if let RequestedRange::Part(part) = &range {
                blob.file
                    .seek(SeekFrom::Start(*part.start()))
                    .map_err(|error| Refusal::disk(format_args!("read blob {wanted_digest}"), &error))?;
            }
            Ok((blob, range))
        })
        .await;
    let (blob, range) = opened?;
    let mut response = content_response(&digest);
    if is_unchanged(headers, &digest) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        return Ok(response);
    }
    let answer = response.headers_mut();
    answer.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    answer.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    answer.insert(CACHE_CONTROL, HeaderValue::from_static(FOREVER));
    let length = match range {
        RequestedRange::Whole => blob.size,
        RequestedRange::Part(part) => {
            let text = format!("bytes {}-{}/{}", part.start(), part.end(), blob.size);
            if let Ok(value) = HeaderValue::from_str(&text) {
                answer.insert(CONTENT_RANGE, value);
            }
            *response.status_mut() = StatusCode::PARTIAL_CONTENT;
            range_length(&part)
        }
        RequestedRange::Unsatisfiable => {
            return Err(Refusal::new(
                StatusCode::RANGE_NOT_SATISFIABLE,
                ErrorCode::SizeInvalid,
                format_args!(
                    "blob {digest} has {} bytes: ask for a range within them",
                    blob.size
                ),
                json!({ "digest": digest, "size": blob.size }),
            )
            .with_header(CONTENT_RANGE, &format!("bytes */{}", blob.size)));
        }
    };
    response
        .headers_mut()
        .insert(CONTENT_LENGTH, HeaderValue::from(length));
    if wanted == Wanted::Content {
        let file = tokio::fs::File::from_std(blob.file).take(length);
        *response.body_mut() = Body::from_stream(ReaderStream::with_capacity(file, SEND_BYTES));
    }
    Ok(response)
}

fn content_response(digest: &ContentDigest) -> Response {
    let mut response = Response::new(Body::empty());
    let headers = response.headers_mut();
    if let Ok(value) = HeaderValue::from_str(&digest.to_string()) {
        headers.insert(CONTENT_DIGEST, value);
    }
    if let Ok(value) = HeaderValue::from_str(&entity_tag(digest)) {
        headers.insert(ETAG, value);
    }
    response
}

fn entity_tag(digest: &ContentDigest) -> String {
    format!("\"{digest}\"")
}

/// Returns whether the client has this content already.
fn is_unchanged(headers: &HeaderMap, digest: &ContentDigest) -> bool {
    let tag = entity_tag(digest);
    headers
        .get_all(IF_NONE_MATCH)
        .iter()
        .filter_map(|header| header.to_str().ok())
        .flat_map(|header| header.split(','))
        .map(str::trim)
        .any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag)
}

/// Returns whether a part may be sent: a client that holds a part of something else wants the whole.
fn may_be_partial(headers: &HeaderMap, digest: &ContentDigest) -> bool {
    headers
        .get(IF_RANGE)
        .is_none_or(|known| known.as_bytes() == entity_tag(digest).as_bytes())
}
