//! Pushing blobs: in one request, in two, or piece by piece; and mounting them from another repository.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use axum::response::Response;
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_RANGE, HeaderName, HeaderValue, LOCATION, RANGE, RETRY_AFTER};
use http::{HeaderMap, StatusCode};
use serde_json::json;
use uuid::Uuid;

use super::content_digest::{Algorithm, ContentDigest};
use super::names::RepositoryName;
use super::pull::{CONTENT_DIGEST, digest};
use super::ranges::{parse_content_range, range_length};
use super::refusal::{ErrorCode, Refusal};
use super::routes::Query;
use super::uploads::{MAX_UPLOAD_SESSIONS, Upload, UploadWriter};
use super::{Registry, Shared};

/// How many uploads are written at once: each holds up to `WRITE_BYTES` in memory and keeps the disk busy.
pub const MAX_CONCURRENT_WRITES: usize = 64;

/// How long an upload waits for its turn before the client is asked to come back.
const TURN_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a client may send nothing in the middle of a body.
pub(super) const BODY_TIMEOUT: Duration = Duration::from_mins(1);

/// How much of an upload is gathered before it is written: few large writes instead of many small ones.
const WRITE_BYTES: usize = 512 << 10;

/// The header that names an upload for Docker's clients.
const UPLOAD_ID: HeaderName = HeaderName::from_static("docker-upload-uuid");

/// The next piece of a body; nothing at its end.
pub(super) async fn next_piece(body: &mut Body) -> Option<Result<Bytes, Refusal>> {
    loop {
        let frame = std::future::poll_fn(|context| Pin::new(&mut *body).poll_frame(context));
        let cut_off = |cause: String| {
            Refusal::new(
                StatusCode::BAD_REQUEST,
                ErrorCode::BlobUploadInvalid,
                format_args!(
                    "the request ended early: {cause}; send it again, or ask for the upload's status and go on from there"
                ),
                json!({ "cause": cause }),
            )
        };
        match tokio::time::timeout(BODY_TIMEOUT, frame).await {
            Err(_) => {
                return Some(Err(cut_off(format!(
                    "nothing was sent for {} seconds",
                    BODY_TIMEOUT.as_secs()
                ))));
            }
            Ok(None) => return None,
            Ok(Some(Err(error))) => return Some(Err(cut_off(error.to_string()))),
            Ok(Some(Ok(frame))) => {
                // Trailers carry nothing that is needed.
                if let Ok(piece) = frame.into_data() {
                    return Some(Ok(piece));
                }
            }
        }
    }
}

/// `POST /v2/<name>/blobs/uploads/`: begins an upload, mounts a blob, or takes one whole.
pub(super) async fn begin(
    registry: &Registry,
    repository: RepositoryName,
    query: &Query,
    headers: &HeaderMap,
    body: &mut Body,
) -> Result<Response, Refusal> {
    if let Some(mount) = query.first("mount") {
        let digest = digest(mount)?;
        // Without a repository to mount from, the client uploads: a blob is readable only where it was given to.
        if let Some(from) = query.first("from") {
            let from = RepositoryName::parse(from)?;
            let (into, wanted) = (repository.clone(), digest.clone());
            let is_mounted = registry
                .blocking(move |shared| Ok(shared.store.mount_blob(&from, &into, &wanted)?))
                .await?;
            if is_mounted {
                return Ok(blob_created(&repository, &digest));
            }
        }
    }
    let whole = query.first("digest").map(digest).transpose()?;
    let algorithm = match (&whole, query.first("digest-algorithm")) {
        (Some(digest), _) => digest.algorithm(),
        (None, None) => Algorithm::default(),
        (None, Some(name)) => name.parse().map_err(|error| {
            Refusal::new(
                StatusCode::BAD_REQUEST,
                ErrorCode::DigestInvalid,
                error,
                json!({ "algorithm": name }),
            )
        })?,
    };
    let name = repository.clone();
    let upload = registry
        .blocking(move |shared| {
            let begun = shared.uploads.begin(&name, algorithm);
            begun.map_err(|error| Refusal::disk(format_args!("begin an upload to {name}"), &error))
        })
        .await?;
    let Some(upload) = upload else {
        return Err(Refusal::new(
            StatusCode::TOO_MANY_REQUESTS,
            ErrorCode::TooManyRequests,
            format_args!(
                "{MAX_UPLOAD_SESSIONS} uploads are unfinished: finish or cancel some, or try again later"
            ),
            json!({ "limit": MAX_UPLOAD_SESSIONS }),
        )
        .with_header(RETRY_AFTER, "60"));
    };
    let Some(digest) = whole else {
        return Ok(upload_response(StatusCode::ACCEPTED, &repository, &upload));
    };
    // The client never learns this upload's name, so that nobody else would clean up after it.
    let abandoned = Abandoned {
        shared: registry.shared(),
        upload: Arc::clone(&upload),
    };
    let writer = open_writer(&repository, &upload).await?;
    let writer = receive(registry, writer, headers, body, None).await?;
    let response = close(registry, repository, upload, writer, digest).await;
    drop(abandoned);
    response
}

/// Throws an upload away when the request that owns it ends, however it ends.
struct Abandoned {
    shared: Arc<Shared>,
    upload: Arc<Upload>,
}

impl Drop for Abandoned {
    fn drop(&mut self) {
        self.shared.uploads.discard(&self.upload);
    }
}

/// `PATCH` of an upload: takes the next piece.
pub(super) async fn append(
    registry: &Registry,
    repository: RepositoryName,
    id: &str,
    headers: &HeaderMap,
    body: &mut Body,
) -> Result<Response, Refusal> {
    let upload = find(registry, &repository, id)?;
    let writer = open_writer(&repository, &upload).await?;
    let place = place_of(headers, &writer, &repository, &upload)?;
    let mut writer = receive(registry, writer, headers, body, place).await?;
    registry
        .blocking(move |_| {
            let synced = writer.sync();
            synced.map_err(|error| Refusal::disk("store a piece of the upload", &error))
        })
        .await?;
    Ok(upload_response(StatusCode::ACCEPTED, &repository, &upload))
}

/// `PUT` of an upload: takes the last piece, if there is one, and makes a blob of it all.
pub(super) async fn finish(
    registry: &Registry,
    repository: RepositoryName,
    id: &str,
    query: &Query,
    headers: &HeaderMap,
    body: &mut Body,
) -> Result<Response, Refusal> {
    let upload = find(registry, &repository, id)?;
    let Some(text) = query.first("digest") else {
        return Err(Refusal::new(
            StatusCode::BAD_REQUEST,
            ErrorCode::DigestInvalid,
            "the upload can't be finished without its digest: add ?digest=sha256:…",
            json!(null),
        ));
    };
    let digest = digest(text)?;
    let writer = open_writer(&repository, &upload).await?;
    let place = place_of(headers, &writer, &repository, &upload)?;
    let writer = receive(registry, writer, headers, body, place).await?;
    close(registry, repository, upload, writer, digest).await
}

/// `GET` of an upload: how far it is.
pub(super) fn status(
    registry: &Registry,
    repository: &RepositoryName,
    id: &str,
) -> Result<Response, Refusal> {
    let upload = find(registry, repository, id)?;
    Ok(upload_response(StatusCode::NO_CONTENT, repository, &upload))
}

/// `DELETE` of an upload.
pub(super) async fn cancel(
    registry: &Registry,
    repository: &RepositoryName,
    id: &str,
) -> Result<Response, Refusal> {
    let upload = find(registry, repository, id)?;
    registry
        .blocking(move |shared| {
            shared.uploads.discard(&upload);
            Ok(())
        })
        .await?;
    Ok(empty(StatusCode::NO_CONTENT))
}

fn find(registry: &Registry, repository: &RepositoryName, id: &str) -> Result<Arc<Upload>, Refusal> {
    let found = Uuid::parse_str(id)
        .ok()
        .and_then(|id| registry.shared().uploads.find(repository, id));
    found.ok_or_else(|| unknown_upload(repository, id))
}

fn unknown_upload(repository: &RepositoryName, id: &str) -> Refusal {
    Refusal::new(
        StatusCode::NOT_FOUND,
        ErrorCode::BlobUploadUnknown,
        format_args!("repository {repository} has no unfinished upload {id}: begin a new one"),
        json!({ "name": repository.as_str(), "upload": id }),
    )
}

async fn open_writer(repository: &RepositoryName, upload: &Arc<Upload>) -> Result<UploadWriter, Refusal> {
    let upload_to_open = Arc::clone(upload);
    let opened = tokio::task::spawn_blocking(move || upload_to_open.try_write());
    match opened.await {
        Ok(Some(Ok(writer))) => Ok(writer),
        // Cancelled or finished between being found and being opened.
        Ok(Some(Err(error))) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(unknown_upload(repository, &upload.id().to_string()))
        }
        Ok(Some(Err(error))) => Err(Refusal::disk("open the upload", &error)),
        Ok(None) => Err(Refusal::new(
            StatusCode::CONFLICT,
            ErrorCode::BlobUploadInvalid,
            "another request is writing to this upload: ask for its status and go on from there",
            json!({ "upload": upload.id().to_string() }),
        )
        .with_header(RETRY_AFTER, "1")),
        Err(_) => Err(super::failed_task()),
    }
}

/// Where the piece says that it belongs; an error if that isn't where the upload has got to.
fn place_of(
    headers: &HeaderMap,
    writer: &UploadWriter,
    repository: &RepositoryName,
    upload: &Upload,
) -> Result<Option<u64>, Refusal> {
    let Some(header) = headers.get(CONTENT_RANGE) else {
        return Ok(None);
    };
    let text = header.to_str().unwrap_or_default();
    let Some(range) = parse_content_range(text) else {
        return Err(Refusal::new(
            StatusCode::BAD_REQUEST,
            ErrorCode::BlobUploadInvalid,
            format_args!(
                "Content-Range is {text:?}: expected the first and the last byte of the piece, as in 0-1023"
            ),
            json!({ "contentRange": text }),
        ));
    };
    if *range.start() != writer.offset() {
        let mut refusal = Refusal::new(
            StatusCode::RANGE_NOT_SATISFIABLE,
            ErrorCode::BlobUploadInvalid,
            format_args!(
                "the piece begins at byte {} but the next one is {}: send that",
                range.start(),
                writer.offset()
            ),
            json!({ "next": writer.offset(), "sent": range.start() }),
        );
        for (name, value) in upload_facts(repository, upload) {
            refusal = refusal.with_header(name, &value);
        }
        return Err(refusal);
    }
    let length = range_length(&range);
    if declared_length(headers).is_some_and(|declared| declared != length) {
        return Err(wrong_length(length, declared_length(headers).unwrap_or_default()));
    }
    Ok(Some(length))
}

fn declared_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn wrong_length(expected: u64, found: u64) -> Refusal {
    Refusal::new(
        StatusCode::BAD_REQUEST,
        ErrorCode::SizeInvalid,
        format_args!("Content-Range says {expected} bytes but {found} were sent: send both alike"),
        json!({ "expected": expected, "sent": found }),
    )
}

/// Writes a body to the end of an upload.
///
/// When the client breaks off, what has come stays, and the client can go on from there. When the disk or a limit refuses,
/// or the piece isn't as long as it was said to be, the upload is again as it was before the request.
async fn receive(
    registry: &Registry,
    mut writer: UploadWriter,
    headers: &HeaderMap,
    body: &mut Body,
    expected: Option<u64>,
) -> Result<UploadWriter, Refusal> {
    let limit = registry.shared().options.max_blob_bytes;
    let start = writer.offset();
    let too_large = || {
        Refusal::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            ErrorCode::SizeInvalid,
            format_args!(
                "the blob is larger than {limit} bytes: ask for a higher limit, or make the layer smaller"
            ),
            json!({ "limit": limit }),
        )
    };
    if start.saturating_add(declared_length(headers).unwrap_or(0)) > limit {
        return Err(too_large());
    }
    // Taken before the first byte is read, because what was read waits in memory.
    let _turn = if body.is_end_stream() {
        None
    } else {
        Some(registry.writing_turn(TURN_TIMEOUT).await?)
    };
    let mut received: u64 = 0;
    loop {
        let mut pieces = Vec::new();
        let mut gathered = 0;
        let mut end = None;
        while gathered < WRITE_BYTES {
            match next_piece(body).await {
                Some(Ok(piece)) => {
                    gathered += piece.len();
                    pieces.push(piece);
                }
                Some(Err(refusal)) => {
                    end = Some(Err(refusal));
                    break;
                }
                None => {
                    end = Some(Ok(()));
                    break;
                }
            }
        }
        received += gathered as u64;
        let refusal = if start.saturating_add(received) > limit {
            Some(too_large())
        } else if expected.is_some_and(|expected| {
            received > expected || (received < expected && matches!(end, Some(Ok(()))))
        }) {
            Some(wrong_length(expected.unwrap_or_default(), received))
        } else {
            None
        };
        let written = tokio::task::spawn_blocking(move || {
            if let Some(refusal) = refusal {
                writer.roll_back();
                return Err(refusal);
            }
            match writer.append(&pieces) {
                Ok(()) => Ok(writer),
                Err(error) => Err(Refusal::disk("store the upload", &error)),
            }
        });
        writer = written.await.unwrap_or_else(|_| Err(super::failed_task()))?;
        match end {
            None => {}
            Some(Ok(())) => return Ok(writer),
            Some(Err(refusal)) => return Err(refusal),
        }
    }
}

/// Verifies an upload that has everything, and gives it to its repository.
async fn close(
    registry: &Registry,
    repository: RepositoryName,
    upload: Arc<Upload>,
    writer: UploadWriter,
    digest: ContentDigest,
) -> Result<Response, Refusal> {
    let response = blob_created(&repository, &digest);
    registry
        .blocking(move |shared| {
            let finished = writer
                .finish(digest.algorithm())
                .map_err(|error| Refusal::disk(format_args!("store blob {digest}"), &error))?;
            if *finished.digest() != digest {
                shared.uploads.discard(&upload);
                return Err(Refusal::new(
                    StatusCode::BAD_REQUEST,
                    ErrorCode::DigestInvalid,
                    format_args!(
                        "the uploaded bytes are {}, not {digest}: upload the blob again",
                        finished.digest()
                    ),
                    json!({ "expected": digest, "uploaded": finished.digest() }),
                ));
            }
            shared.store.adopt_blob(&repository, &digest, &finished.file())?;
            shared.uploads.discard(&upload);
            Ok(())
        })
        .await?;
    Ok(response)
}

fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    if status != StatusCode::NO_CONTENT {
        response
            .headers_mut()
            .insert(CONTENT_LENGTH, HeaderValue::from(0));
    }
    response
}

fn blob_created(repository: &RepositoryName, digest: &ContentDigest) -> Response {
    let mut response = empty(StatusCode::CREATED);
    let location = format!("/v2/{repository}/blobs/{digest}");
    for (name, value) in [(LOCATION, location), (CONTENT_DIGEST, digest.to_string())] {
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

fn upload_response(status: StatusCode, repository: &RepositoryName, upload: &Upload) -> Response {
    let mut response = empty(status);
    for (name, value) in upload_facts(repository, upload) {
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

/// What a client needs to go on with an upload.
fn upload_facts(repository: &RepositoryName, upload: &Upload) -> [(HeaderName, String); 3] {
    let id = upload.id();
    [
        (LOCATION, format!("/v2/{repository}/blobs/uploads/{id}")),
        (UPLOAD_ID, id.to_string()),
        (RANGE, format!("0-{}", upload.written().saturating_sub(1))),
    ]
}
