//! What can go wrong between here and a registry.

use std::error::Error;

use hyper_util::client::proxy::matcher::Matcher;
use oci_client::errors::{OciDistributionError, OciErrorCode};

use crate::content::ContentError;
use crate::credentials::{CredentialsError, Login};
use crate::digest::Digest;
use crate::manifest::ManifestError;
use crate::mirrors::MirrorsError;
use crate::policy::PolicyError;
use crate::reference::{InvalidReference, Reference};

/// How much of a registry's own message is passed on.
const MESSAGE_LIMIT: usize = 300;

/// Why an image couldn't be fetched or published. What was already fetched is kept; nothing half-done is visible.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// No connection, or it broke off; tried several times.
    #[error(
        "cannot reach registry {registry}: {cause}; check its name, the network and the proxy settings, then try again"
    )]
    Unreachable {
        /// The registry's host.
        registry: String,
        /// What the network said.
        cause: String,
    },
    /// There was a connection, and it broke off before the answer was there; tried several times.
    #[error(
        "the connection to registry {registry} broke off: {cause}; nothing half-done is visible anywhere, run the command again to go on"
    )]
    BrokenOff {
        /// The registry's host.
        registry: String,
        /// What the network said.
        cause: String,
    },
    /// The registry's certificate isn't trusted. Trying again would not help.
    #[error(
        "cannot trust registry {registry}: {cause}; put the certificate of its authority into /etc/containers/certs.d/{registry}/ca.crt"
    )]
    Certificate {
        /// The registry's host.
        registry: String,
        /// What is wrong with the certificate.
        cause: String,
    },
    /// The registry's certificates or keys on this machine can't be used.
    #[error("cannot use the certificates for registry {registry}: {cause}")]
    CertificateFiles {
        /// The registry's host.
        registry: String,
        /// What is wrong, and with which file.
        cause: String,
    },
    /// The registry doesn't let us in. Trying again would not help.
    #[error("registry {registry} refuses access to {repository} ({status}): {who}")]
    Unauthorized {
        /// The registry's host.
        registry: String,
        /// The repository.
        repository: String,
        /// The HTTP status.
        status: u16,
        /// Who was refused, and what to do about it.
        who: String,
    },
    /// There is no such image or blob.
    #[error("{what} does not exist at registry {registry}; check the name, or publish it first")]
    NotFound {
        /// The registry's host.
        registry: String,
        /// What was looked for.
        what: String,
    },
    /// The registry is overloaded or broken; tried several times.
    #[error("registry {registry} failed to {action} ({status}): {message}; try again later")]
    Failing {
        /// The registry's host.
        registry: String,
        /// What it was asked.
        action: String,
        /// The HTTP status.
        status: u16,
        /// What it said.
        message: String,
    },
    /// The registry's disk is full. Trying again at once would not help.
    #[error(
        "registry {registry} has no room to {action} ({status}): {message}; run the command again when there is room"
    )]
    NoRoom {
        /// The registry's host.
        registry: String,
        /// What it was asked.
        action: String,
        /// The HTTP status.
        status: u16,
        /// What it said.
        message: String,
    },
    /// The registry says that the request is wrong.
    #[error(
        "registry {registry} refused to {action} ({status}): {message}; check the name and what the registry allows"
    )]
    Refused {
        /// The registry's host.
        registry: String,
        /// What it was asked.
        action: String,
        /// The HTTP status; 0 when there was none.
        status: u16,
        /// What it said.
        message: String,
    },
    /// The connection broke off in the middle of a blob, again and again.
    #[error(
        "registry {registry} broke off blob {blob} after {received} of {size} bytes: {cause}; what has arrived is kept, run the command again to go on"
    )]
    Interrupted {
        /// The registry's host.
        registry: String,
        /// The blob.
        blob: Digest,
        /// How many bytes are there by now.
        received: u64,
        /// How many there should be.
        size: u64,
        /// What happened.
        cause: String,
    },
    /// What came isn't what was asked for: altered on the way, or wrong at the registry.
    #[error(
        "registry {registry} sent something else than {what}: {cause}; nothing of it was kept: don't use this image, and ask whoever runs the registry or the proxy in between"
    )]
    Tampered {
        /// The registry's host.
        registry: String,
        /// What was asked for.
        what: String,
        /// How it differs.
        cause: String,
    },
    /// The document is bigger than any real one.
    #[error(
        "registry {registry} sent {what} with more than {limit} bytes, which no real one has; don't use it"
    )]
    TooLarge {
        /// The registry's host.
        registry: String,
        /// What was asked for.
        what: String,
        /// The limit.
        limit: u64,
    },
    /// The image is to be published under a digest that it doesn't have.
    #[error(
        "cannot push image {found} as {reference}: the digest in the name is another one; give a tag instead"
    )]
    OtherDigest {
        /// The name.
        reference: Box<Reference>,
        /// The image's digest.
        found: Digest,
    },
    /// Neither the mirrors nor the registry itself could deliver.
    #[error("cannot fetch {reference} from any of its places: {}", failures.join("; then "))]
    Everywhere {
        /// The image.
        reference: Box<Reference>,
        /// What each place said.
        failures: Vec<String>,
    },
    /// The trust policy refuses the image.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The image's parts don't fit together, or there is none for the platform.
    #[error("image {reference}: {source}")]
    Image {
        /// The image.
        reference: Box<Reference>,
        /// What is wrong with it.
        source: Box<ManifestError>,
    },
    /// The content store failed.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// The mirror configuration forbids it or makes no sense.
    #[error(transparent)]
    Mirrors(#[from] MirrorsError),
    /// The credentials can't be read.
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    /// A name is invalid.
    #[error(transparent)]
    Reference(#[from] InvalidReference),
}

impl RemoteError {
    /// Whether trying the same again may help.
    pub(super) fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::Unreachable { .. }
                | Self::BrokenOff { .. }
                | Self::Failing { .. }
                | Self::Interrupted { .. }
        )
    }

    /// Whether asking another mirror is out of the question.
    pub(super) fn is_final(&self) -> bool {
        matches!(
            self,
            Self::Policy(_) | Self::Content(_) | Self::Mirrors(_) | Self::Credentials(_) | Self::Reference(_)
        )
    }
}

/// Who talks to which registry about what: all that a message needs.
pub(super) struct Context<'a> {
    pub(super) registry: &'a str,
    pub(super) repository: &'a str,
    pub(super) login: &'a Login,
}

impl Context<'_> {
    /// The error for an answer that isn't a success.
    pub(super) fn status(&self, status: u16, action: &str, what: &str, body: &[u8]) -> RemoteError {
        let registry = self.registry.to_owned();
        match status {
            401 | 403 => self.unauthorized(status),
            404 => RemoteError::NotFound {
                registry,
                what: what.to_owned(),
            },
            408 | 425 | 429 | 500 | 502..=504 => RemoteError::Failing {
                registry,
                action: action.to_owned(),
                status,
                message: message(body),
            },
            507 => RemoteError::NoRoom {
                registry,
                action: action.to_owned(),
                status,
                message: message(body),
            },
            _ => RemoteError::Refused {
                registry,
                action: action.to_owned(),
                status,
                message: message(body),
            },
        }
    }

    pub(super) fn unauthorized(&self, status: u16) -> RemoteError {
        let registry = self.registry;
        let who = match self.login {
            Login::Anonymous => format!(
                "no credentials are kept for it; log in (baton login {registry}, docker login {registry}) or set REGISTRY_AUTH_FILE"
            ),
            Login::Password { username, .. } => {
                format!(
                    "the user {username:?} is not known there, has another password or lacks the right; log in again"
                )
            }
            Login::IdentityToken(_) => "the kept identity token is not accepted; log in again".to_owned(),
        };
        RemoteError::Unauthorized {
            registry: registry.to_owned(),
            repository: self.repository.to_owned(),
            status,
            who,
        }
    }

    /// The error for a request that got no answer.
    pub(super) fn request(&self, error: &reqwest::Error) -> RemoteError {
        let cause = innermost(error);
        let registry = self.registry.to_owned();
        if is_certificate_error(error) {
            return RemoteError::Certificate { registry, cause };
        }
        if error.is_connect() || error.is_builder() || error.is_redirect() {
            let proxy = error.url().filter(|_| error.is_connect()).and_then(proxy_before);
            let cause = match proxy {
                // The word that people know from Go's client, and what it failed to reach.
                Some(proxy) => format!("proxyconnect tcp {proxy}: {cause}"),
                None => cause,
            };
            RemoteError::Unreachable { registry, cause }
        } else {
            RemoteError::BrokenOff { registry, cause }
        }
    }

    /// The error for what the registry client reports.
    pub(super) fn client(&self, error: OciDistributionError, action: &str, what: &str) -> RemoteError {
        let refused = |status: u16, message: String| RemoteError::Refused {
            registry: self.registry.to_owned(),
            action: action.to_owned(),
            status,
            message,
        };
        match error {
            OciDistributionError::RequestError(error) => match error.status() {
                Some(status) => self.status(status.as_u16(), action, what, b""),
                None => self.request(&error),
            },
            OciDistributionError::IoError(error) => RemoteError::Unreachable {
                registry: self.registry.to_owned(),
                cause: innermost(&error),
            },
            OciDistributionError::ServerError { code, message, .. } => {
                self.status(code, action, what, message.as_bytes())
            }
            OciDistributionError::UnauthorizedError { .. }
            | OciDistributionError::AuthenticationFailure(_) => self.unauthorized(401),
            OciDistributionError::ImageManifestNotFoundError(_) => self.status(404, action, what, b""),
            OciDistributionError::RegistryError { envelope, .. } => {
                let message = envelope
                    .errors
                    .iter()
                    .map(|error| shortened(&error.message))
                    .collect::<Vec<_>>()
                    .join(", ");
                let status = match envelope.errors.first().map(|error| &error.code) {
                    Some(OciErrorCode::Unauthorized) => 401,
                    Some(OciErrorCode::Denied) => 403,
                    Some(
                        OciErrorCode::BlobUnknown
                        | OciErrorCode::ManifestUnknown
                        | OciErrorCode::NameUnknown
                        | OciErrorCode::NotFound,
                    ) => 404,
                    Some(OciErrorCode::Toomanyrequests) => 429,
                    _ => 400,
                };
                self.status(status, action, what, message.as_bytes())
            }
            other => refused(0, shortened(&other.to_string())),
        }
    }
}

/// What a registry says in its error document, or the beginning of whatever else it sent.
fn message(body: &[u8]) -> String {
    #[derive(serde::Deserialize)]
    struct Envelope {
        errors: Vec<Entry>,
    }
    #[derive(serde::Deserialize)]
    struct Entry {
        #[serde(default)]
        code: String,
        #[serde(default)]
        message: String,
    }
    if let Ok(envelope) = serde_json::from_slice::<Envelope>(body) {
        let messages: Vec<String> = envelope
            .errors
            .iter()
            .map(|entry| {
                shortened(if entry.message.is_empty() {
                    &entry.code
                } else {
                    &entry.message
                })
            })
            .collect();
        return messages.join(", ");
    }
    match shortened(String::from_utf8_lossy(body).trim()) {
        text if text.is_empty() => "it gave no reason".to_owned(),
        text => text,
    }
}

fn shortened(text: &str) -> String {
    let mut characters = text
        .chars()
        .map(|character| if character.is_control() { ' ' } else { character });
    let short: String = characters.by_ref().take(MESSAGE_LIMIT).collect();
    if characters.next().is_some() {
        format!("{short}…")
    } else {
        short
    }
}

/// The address of the proxy that the environment puts before a server.
fn proxy_before(server: &reqwest::Url) -> Option<String> {
    let server = server.as_str().parse().ok()?;
    let proxy = Matcher::from_env().intercept(&server)?;
    Some(proxy.uri().authority()?.to_string())
}

/// The innermost cause says what happened; the layers around it only say where.
pub(super) fn innermost(error: &(dyn Error + 'static)) -> String {
    let mut current = error;
    while let Some(source) = current.source() {
        current = source;
    }
    current.to_string()
}

/// An error of the operating system may wrap another error, which its source then passes over.
fn is_certificate_error(error: &(dyn Error + 'static)) -> bool {
    if let Some(error) = error.downcast_ref::<rustls::Error>() {
        return matches!(error, rustls::Error::InvalidCertificate(_));
    }
    let wrapped = error
        .downcast_ref::<std::io::Error>()
        .and_then(std::io::Error::get_ref)
        .is_some_and(|inner| is_certificate_error(inner));
    wrapped || error.source().is_some_and(is_certificate_error)
}
