//! One registry: how it wants to be talked to, and the clients that do so.

use std::time::Duration;

use oci_client::client::{Certificate, CertificateEncoding, ClientConfig, ClientProtocol};
use reqwest::header::{HeaderMap, WWW_AUTHENTICATE};

use super::certificates::Encryption;
use super::connection::{SMALL_ANSWER_LIMIT, bounded};
use super::error::{Context, RemoteError};
use super::{RemoteOptions, error};
use crate::credentials::Login;
use crate::mirrors::Endpoint;
use crate::reference::Reference;

/// How long to wait for a connection.
const CONNECT_TIME_LIMIT: Duration = Duration::from_secs(30);

/// How long a connection may be silent in the middle of an answer.
const SILENCE_LIMIT: Duration = Duration::from_mins(1);

/// How long oci-client may keep a token that says nothing about its end; [`Connection::authorize`] renews it earlier.
const CLIENT_TOKEN_SECONDS: usize = 3600;

/// What baton calls itself.
const USER_AGENT: &str = concat!("baton/", env!("CARGO_PKG_VERSION"));

/// The clients for one registry, shared by all its repositories.
pub(super) struct Registry {
    pub(super) client: oci_client::Client,
    /// The same, but sending blobs in pieces.
    pub(super) chunked_client: oci_client::Client,
    pub(super) http: reqwest::Client,
    pub(super) scheme: &'static str,
    pub(super) host: String,
    pub(super) challenge: Challenge,
    /// Whether it keeps GPG signatures itself.
    pub(super) has_signatures: bool,
}

/// How a registry wants to know who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Challenge {
    None,
    Basic,
    Bearer { realm: String, service: Option<String> },
}

impl Registry {
    /// Finds out how to talk to a registry.
    pub(super) async fn open(
        endpoint: &Endpoint,
        options: &RemoteOptions,
        login: &Login,
    ) -> Result<Self, RemoteError> {
        // Whoever builds a client without a provider gets a panic instead of an error; a second call changes nothing.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let name = endpoint.reference.registry();
        let encryption = options.encryption_of(name, endpoint.insecure);
        let schemes: &[&'static str] = match encryption {
            Encryption::Verified => &["https"],
            Encryption::Unverified => &["https", "http"],
            Encryption::Off => &["http"],
        };
        let context = Context {
            registry: name,
            repository: endpoint.reference.repository(),
            login,
        };
        let http = http_client(name, encryption, options)?;
        let host = oci_reference(&endpoint.reference).resolve_registry().to_owned();
        let mut attempts = options.retry.start();
        loop {
            let mut failure = None;
            for scheme in schemes {
                let answer = http.get(format!("{scheme}://{host}/v2/")).send().await;
                match answer {
                    Ok(answer) if matches!(answer.status().as_u16(), 429 | 500 | 502..=504) => {
                        let status = answer.status().as_u16();
                        let body = bounded(answer, SMALL_ANSWER_LIMIT, &context, "its greeting")
                            .await
                            .unwrap_or_default();
                        failure = Some(context.status(status, "greet", "its API", &body));
                        break;
                    }
                    Ok(answer) => {
                        let (client, chunked_client) = registry_clients(name, encryption, scheme, options)?;
                        return Ok(Self {
                            challenge: challenge(answer.headers()),
                            has_signatures: answer
                                .headers()
                                .get("x-registry-supports-signatures")
                                .is_some_and(|value| value == "1"),
                            client,
                            chunked_client,
                            http,
                            scheme,
                            host,
                        });
                    }
                    Err(error) => failure = Some(context.request(&error)),
                }
            }
            match failure {
                Some(error) if error.is_transient() && attempts.again().await => {}
                Some(error) => return Err(error),
                None => unreachable!("there is at least one scheme"),
            }
        }
    }
}

fn http_client(
    name: &str,
    encryption: Encryption,
    options: &RemoteOptions,
) -> Result<reqwest::Client, RemoteError> {
    let certificates = authorities(name, encryption, options)?;
    let build = || {
        let mut builder = reqwest::Client::builder()
            .user_agent(USER_AGENT)
            .connect_timeout(CONNECT_TIME_LIMIT)
            .read_timeout(SILENCE_LIMIT)
            .danger_accept_invalid_certs(encryption != Encryption::Verified);
        let certificates: Result<Vec<_>, _> = certificates
            .iter()
            .map(|certificate| reqwest::Certificate::from_der(certificate))
            .collect();
        builder = builder.tls_certs_merge(certificates?);
        builder.build()
    };
    build().map_err(|error| unusable(name, &error))
}

fn unusable(name: &str, error: &reqwest::Error) -> RemoteError {
    RemoteError::CertificateFiles {
        registry: name.to_owned(),
        cause: format!(
            "{}; install the system's certificate authorities (ca-certificates) or set SSL_CERT_FILE",
            error::innermost(error)
        ),
    }
}

fn authorities(
    name: &str,
    encryption: Encryption,
    options: &RemoteOptions,
) -> Result<Vec<rustls::pki_types::CertificateDer<'static>>, RemoteError> {
    if encryption == Encryption::Off {
        return Ok(Vec::new());
    }
    options
        .certificates
        .for_host(name)
        .map_err(|cause| RemoteError::CertificateFiles {
            registry: name.to_owned(),
            cause,
        })
}

fn registry_clients(
    name: &str,
    encryption: Encryption,
    scheme: &str,
    options: &RemoteOptions,
) -> Result<(oci_client::Client, oci_client::Client), RemoteError> {
    let certificates = authorities(name, encryption, options)?;
    let configuration = |use_monolithic_push| ClientConfig {
        protocol: if scheme == "http" {
            ClientProtocol::Http
        } else {
            ClientProtocol::Https
        },
        accept_invalid_certificates: encryption != Encryption::Verified,
        use_monolithic_push,
        extra_root_certificates: certificates
            .iter()
            .map(|certificate| Certificate {
                encoding: CertificateEncoding::Der,
                data: certificate.to_vec(),
            })
            .collect(),
        default_token_expiration_secs: CLIENT_TOKEN_SECONDS,
        read_timeout: Some(SILENCE_LIMIT),
        connect_timeout: Some(CONNECT_TIME_LIMIT),
        user_agent: USER_AGENT,
        ..ClientConfig::default()
    };
    let client = |monolithic| {
        oci_client::Client::try_from(configuration(monolithic)).map_err(|error| {
            RemoteError::CertificateFiles {
                registry: name.to_owned(),
                cause: error.to_string(),
            }
        })
    };
    let whole = client(true)?;
    let mut chunked = client(false)?;
    chunked.tokens = whole.tokens.clone();
    Ok((whole, chunked))
}

fn challenge(headers: &HeaderMap) -> Challenge {
    let mut found = Challenge::None;
    for value in headers.get_all(WWW_AUTHENTICATE) {
        let Ok(text) = value.to_str() else { continue };
        let Ok(challenges) = http_auth::parse_challenges(text) else {
            continue;
        };
        for challenge in challenges {
            let parameter = |name: &str| {
                let found = challenge
                    .params
                    .iter()
                    .find(|(key, _)| key.eq_ignore_ascii_case(name));
                found.map(|(_, value)| value.to_unescaped())
            };
            let is_bearer = challenge.scheme.eq_ignore_ascii_case("bearer");
            if let Some(realm) = parameter("realm").filter(|_| is_bearer) {
                return Challenge::Bearer {
                    realm,
                    service: parameter("service"),
                };
            }
            if challenge.scheme.eq_ignore_ascii_case("basic") {
                found = Challenge::Basic;
            }
        }
    }
    found
}

/// The same name in oci-client's type.
pub(super) fn oci_reference(reference: &Reference) -> oci_client::Reference {
    let registry = reference.registry().to_owned();
    let repository = reference.repository().to_owned();
    if let Some(digest) = reference.digest() {
        return oci_client::Reference::with_digest(registry, repository, digest.to_string());
    }
    let tag = reference
        .tag()
        .unwrap_or(crate::reference::DEFAULT_TAG)
        .to_owned();
    oci_client::Reference::with_tag(registry, repository, tag)
}
