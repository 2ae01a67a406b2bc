//! What the registry answers when it can't do as asked: a status, and errors in the specification's form.

use std::fmt::Display;
use std::io;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue, WWW_AUTHENTICATE};
use serde_json::{Value, json};

use super::names::InvalidName;
use super::store::StoreError;

/// The identifiers of errors that the distribution specification lists, and the one that servers use for their own
/// failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ErrorCode {
    BlobUnknown,
    BlobUploadInvalid,
    BlobUploadUnknown,
    DigestInvalid,
    ManifestBlobUnknown,
    ManifestInvalid,
    ManifestUnknown,
    NameInvalid,
    NameUnknown,
    SizeInvalid,
    Unauthorized,
    Denied,
    Unsupported,
    TooManyRequests,
    Unknown,
}

impl ErrorCode {
    /// The identifier as it is sent.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::BlobUnknown => "BLOB_UNKNOWN",
            Self::BlobUploadInvalid => "BLOB_UPLOAD_INVALID",
            Self::BlobUploadUnknown => "BLOB_UPLOAD_UNKNOWN",
            Self::DigestInvalid => "DIGEST_INVALID",
            Self::ManifestBlobUnknown => "MANIFEST_BLOB_UNKNOWN",
            Self::ManifestInvalid => "MANIFEST_INVALID",
            Self::ManifestUnknown => "MANIFEST_UNKNOWN",
            Self::NameInvalid => "NAME_INVALID",
            Self::NameUnknown => "NAME_UNKNOWN",
            Self::SizeInvalid => "SIZE_INVALID",
            Self::Unauthorized => "UNAUTHORIZED",
            Self::Denied => "DENIED",
            Self::Unsupported => "UNSUPPORTED",
            Self::TooManyRequests => "TOOMANYREQUESTS",
            Self::Unknown => "UNKNOWN",
        }
    }
}

/// A request that wasn't done, and why.
#[derive(Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    errors: Vec<Value>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Refusal {
    /// One error with a message for people and a detail for programs.
    pub(super) fn new(status: StatusCode, code: ErrorCode, message: impl Display, detail: Value) -> Self {
        let refusal = Self {
            status,
            errors: Vec::new(),
            headers: Vec::new(),
        };
        refusal.and(code, message, detail)
    }

    /// Adds another error to the same answer.
    pub(super) fn and(mut self, code: ErrorCode, message: impl Display, detail: Value) -> Self {
        let error = [
            ("code", Value::from(code.as_str())),
            ("message", Value::from(message.to_string())),
            ("detail", detail),
        ];
        self.errors.push(
            error
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect(),
        );
        self
    }

    /// Adds a header to the answer; a value that no header can hold is left out.
    pub(super) fn with_header(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.push((name, value));
        }
        self
    }

    /// Says how to be let in.
    pub(super) fn with_challenge(self, challenge: &str) -> Self {
        self.with_header(WWW_AUTHENTICATE, challenge)
    }

    /// A failure of the disk: the status tells a full one from a broken one.
    pub(super) fn disk(action: impl Display, error: &io::Error) -> Self {
        let (status, next_step) = if is_full(error) {
            (
                StatusCode::INSUFFICIENT_STORAGE,
                "free space on the registry's disk, then try again",
            )
        } else {
            (
                StatusCode::INTERNAL_SERVER_ERROR,
                "look at the registry's disk, then try again",
            )
        };
        Self::new(
            status,
            ErrorCode::Unknown,
            format_args!("cannot {action}: {error}; nothing was changed: {next_step}"),
            json!({ "cause": error.to_string() }),
        )
    }
}

/// Returns whether a write failed because there is no room for it.
pub(super) fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(json!({ "errors": self.errors }).to_string()));
        *response.status_mut() = self.status;
        response
            .headers_mut()
            .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response.headers_mut().extend(self.headers);
        response
    }
}

impl From<InvalidName> for Refusal {
    fn from(error: InvalidName) -> Self {
        let (code, detail) = match &error {
            InvalidName::Repository(name) => (ErrorCode::NameInvalid, json!({ "name": name })),
            InvalidName::RepositoryTooLong(length) => (ErrorCode::NameInvalid, json!({ "length": length })),
            InvalidName::Tag(tag) => (ErrorCode::ManifestInvalid, json!({ "tag": tag })),
            InvalidName::Digest(_) => (ErrorCode::DigestInvalid, Value::Null),
        };
        Self::new(StatusCode::BAD_REQUEST, code, error, detail)
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        match &error {
            StoreError::Disk { action, source } => Self::disk(action, source),
            StoreError::Missing { descriptors, .. } => {
                let mut refusal = Self {
                    status: StatusCode::BAD_REQUEST,
                    errors: Vec::new(),
                    headers: Vec::new(),
                };
                for descriptor in descriptors {
                    refusal = refusal.and(
                        ErrorCode::ManifestBlobUnknown,
                        format_args!(
                            "{} {} is not in this repository: push or mount it before the manifest",
                            descriptor.role, descriptor.digest
                        ),
                        json!({ "digest": descriptor.digest, "role": descriptor.role }),
                    );
                }
                refusal
            }
            StoreError::WrongSize { digest, said, stored } => Self::new(
                StatusCode::BAD_REQUEST,
                ErrorCode::ManifestInvalid,
                &error,
                json!({ "digest": digest, "manifestSays": said, "stored": stored }),
            ),
            StoreError::TagImmutable { tag, current, pushed } => Self::new(
                StatusCode::FORBIDDEN,
                ErrorCode::Denied,
                &error,
                json!({ "tag": tag.as_str(), "published": current, "pushed": pushed }),
            ),
            StoreError::Published { digest, tag } => Self::new(
                StatusCode::METHOD_NOT_ALLOWED,
                ErrorCode::Unsupported,
                &error,
                json!({ "digest": digest, "tag": tag.as_str() }),
            ),
            StoreError::Damaged { digest, .. } => Self::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                ErrorCode::Unknown,
                &error,
                json!({ "digest": digest }),
            ),
        }
    }
}
