//! Pushing manifests and tags, and deleting what is no longer wanted.

use axum::body::Body;
use axum::response::Response;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION};
use http::{HeaderMap, StatusCode};
use serde_json::json;

use super::content_digest::{Algorithm, ContentDigest};
use super::manifest::{MAX_MANIFEST_BYTES, Manifest};
use super::names::{ManifestReference, RepositoryName, Tag};
use super::pull::{
    CONTENT_DIGEST, digest, existing_reference, unknown_blob, unknown_manifest, unknown_repository,
};
use super::push::next_piece;
use super::refusal::{ErrorCode, Refusal};
use super::routes::Query;
use super::{Registry, Tagged};

/// How many tags one push may set: each is a file that is written and synced.
pub const MAX_TAGS_PER_PUSH: usize = 100;

/// What a request says of the manifest that it brings.
pub(super) struct Push<'a> {
    /// The tag or digest.
    pub(super) reference: &'a str,
    pub(super) query: &'a Query,
    pub(super) headers: &'a HeaderMap,
    /// The name that was logged in with.
    pub(super) pusher: Option<&'a str>,
}

/// `PUT` of a manifest, by tag or digest.
pub(super) async fn put_manifest(
    registry: &Registry,
    repository: RepositoryName,
    push: Push<'_>,
    body: &mut Body,
) -> Result<Response, Refusal> {
    let Push { query, headers, .. } = push;
    let pusher = push.pusher.map(str::to_owned);
    let reference = ManifestReference::parse(push.reference)?;
    let mut tags: Vec<Tag> = query.all("tag").map(Tag::parse).collect::<Result<_, _>>()?;
    if tags.len() > MAX_TAGS_PER_PUSH {
        return Err(Refusal::new(
            StatusCode::URI_TOO_LONG,
            ErrorCode::ManifestInvalid,
            format_args!(
                "the manifest is pushed with {} tags: push at most {MAX_TAGS_PER_PUSH} at once",
                tags.len()
            ),
            json!({ "limit": MAX_TAGS_PER_PUSH }),
        ));
    }
    let bytes = read_manifest(headers, body).await?;
    let digest = match &reference {
        ManifestReference::Tag(_) => ContentDigest::of(Algorithm::default(), &bytes),
        ManifestReference::Digest(named) => {
            let digest = ContentDigest::of(named.algorithm(), &bytes);
            if digest != *named {
                return Err(Refusal::new(
                    StatusCode::BAD_REQUEST,
                    ErrorCode::DigestInvalid,
                    format_args!(
                        "the manifest's bytes are {digest}, not {named}: push them under their own digest"
                    ),
                    json!({ "expected": named, "uploaded": digest }),
                ));
            }
            digest
        }
    };
    let content_type = headers.get(CONTENT_TYPE).and_then(|header| header.to_str().ok());
    let manifest = Manifest::parse(&bytes, content_type).map_err(|error| {
        Refusal::new(
            StatusCode::BAD_REQUEST,
            ErrorCode::ManifestInvalid,
            format_args!("manifest {reference} of {repository} is refused: {error}"),
            json!({ "name": repository.as_str(), "reference": reference.to_string() }),
        )
    })?;
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::CREATED;
    let answer = response.headers_mut();
    answer.insert(CONTENT_LENGTH, HeaderValue::from(0));
    let subject = manifest
        .subject
        .as_ref()
        .map(|subject| subject.digest.to_string());
    let location = format!("/v2/{repository}/manifests/{digest}");
    let facts = [
        (LOCATION, Some(location)),
        (CONTENT_DIGEST, Some(digest.to_string())),
        (HeaderName::from_static("oci-subject"), subject),
    ];
    for (name, value) in facts {
        if let Some(Ok(value)) = value.map(|value| HeaderValue::from_str(&value)) {
            answer.insert(name, value);
        }
    }
    for tag in &tags {
        if let Ok(value) = HeaderValue::from_str(tag.as_str()) {
            answer.append(HeaderName::from_static("oci-tag"), value);
        }
    }
    if let ManifestReference::Tag(tag) = reference {
        tags.push(tag);
    }
    tags.sort_unstable();
    tags.dedup();
    registry
        .blocking(move |shared| {
            let stored =
                shared
                    .store
                    .put_manifest(&repository, &manifest, &digest, &bytes, &tags, pusher.as_deref());
            stored?;
            for tag in &tags {
                // An error only says that nobody listens.
                let _ = shared.tagged.send(Tagged {
                    repository: repository.as_str().to_owned(),
                    tag: tag.as_str().to_owned(),
                });
            }
            Ok(())
        })
        .await?;
    Ok(response)
}

async fn read_manifest(headers: &HeaderMap, body: &mut Body) -> Result<Vec<u8>, Refusal> {
    let too_large = || {
        Refusal::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            ErrorCode::SizeInvalid,
            format_args!("the manifest is larger than {MAX_MANIFEST_BYTES} bytes: move content into blobs"),
            json!({ "limit": MAX_MANIFEST_BYTES }),
        )
    };
    let declared = headers
        .get(CONTENT_LENGTH)
        .and_then(|header| header.to_str().ok()?.parse::<usize>().ok());
    if declared.is_some_and(|declared| declared > MAX_MANIFEST_BYTES) {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(declared.unwrap_or(0));
    while let Some(piece) = next_piece(body).await {
        let piece = piece?;
        if bytes.len() + piece.len() > MAX_MANIFEST_BYTES {
            return Err(too_large());
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

/// `DELETE` of a manifest, or of a tag.
pub(super) async fn delete_manifest(
    registry: &Registry,
    repository: RepositoryName,
    reference: &str,
) -> Result<Response, Refusal> {
    let reference = existing_reference(&repository, reference)?;
    registry
        .blocking(move |shared| {
            let was_there = match &reference {
                ManifestReference::Tag(tag) => shared.store.delete_tag(&repository, tag)?,
                ManifestReference::Digest(digest) => shared.store.delete_manifest(&repository, digest)?,
            };
            if was_there {
                Ok(())
            } else if shared.store.has_repository(&repository)? {
                Err(unknown_manifest(&repository, &reference.to_string()))
            } else {
                Err(unknown_repository(&repository))
            }
        })
        .await?;
    Ok(accepted())
}

/// `DELETE` of a blob.
pub(super) async fn delete_blob(
    registry: &Registry,
    repository: RepositoryName,
    name: &str,
) -> Result<Response, Refusal> {
    let digest = digest(name)?;
    registry
        .blocking(move |shared| {
            if shared.store.delete_blob(&repository, &digest)? {
                Ok(())
            } else {
                Err(unknown_blob(&repository, &digest))
            }
        })
        .await?;
    Ok(accepted())
}

fn accepted() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::ACCEPTED;
    response
        .headers_mut()
        .insert(CONTENT_LENGTH, HeaderValue::from(0));
    response
}
