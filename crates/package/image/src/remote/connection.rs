//! The connection to one repository of one registry: clients, tokens, and single requests.
//!
//! oci-client talks to the registry. What it can't do is done beside it with the same tokens: tokens are fetched here,
//! because it knows no identity tokens and hides why a login failed; and documents are read here, because it reads
//! them without a limit.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use oci_client::client::{Certificate, CertificateEncoding, ClientConfig, ClientProtocol};
use oci_client::secrets::RegistryAuth;
use oci_client::{RegistryOperation, token_cache::RegistryToken, token_cache::RegistryTokenType};
use reqwest::header::{ACCEPT, HeaderMap, WWW_AUTHENTICATE};
use reqwest::{Method, Response, StatusCode};
use serde::Deserialize;
use tokio::sync::Mutex;

use super::certificates::Encryption;
use super::error::{Context, RemoteError};
use super::retry::Retry;
use super::{RemoteOptions, error};
use crate::credentials::{Login, Secret};
use crate::manifest::{DOCKER_LIST, DOCKER_MANIFEST};
use crate::mirrors::Endpoint;
use crate::reference::Reference;

/// How long to wait for a connection.
const CONNECT_TIME_LIMIT: Duration = Duration::from_secs(30);

/// How long a connection may be silent in the middle of an answer.
const SILENCE_LIMIT: Duration = Duration::from_secs(60);

/// The longest answer of a token service, and the longest error message that is read.
const SMALL_ANSWER_LIMIT: u64 = 1 << 20;

/// How long a token is good for when its giver doesn't say; the specification's number.
const TOKEN_LIFETIME: Duration = Duration::from_secs(60);

/// A token is changed for a new one this long before it ends, so that it doesn't end on the way.
const TOKEN_MARGIN: Duration = Duration::from_secs(10);

/// How long oci-client may keep a token that says nothing about its end; [`Connection::authorize`] renews it earlier.
const CLIENT_TOKEN_SECONDS: usize = 3600;

/// What baton calls itself.
const USER_AGENT: &str = concat!("baton/", env!("CARGO_PKG_VERSION"));

/// The documents that are understood.
const MANIFEST_TYPES: [&str; 4] = [
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.oci.image.manifest.v1+json",
    DOCKER_LIST,
    DOCKER_MANIFEST,
];

/// The clients for one registry, shared by all its repositories.
pub(super) struct Registry {
    pub(super) client: oci_client::Client,
    /// The same, but sending blobs in pieces.
    pub(super) chunked_client: oci_client::Client,
    http: reqwest::Client,
    scheme: &'static str,
    host: String,
    challenge: Challenge,
    /// Whether it keeps OpenPGP signatures itself.
    pub(super) has_signatures: bool,
}

/// How a registry wants to know who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Challenge {
    None,
    Basic,
    Bearer { realm: String, service: Option<String> },
}

/// What is sent along with a request.
#[derive(Clone)]
enum Authorization {
    None,
    Basic(String, Secret),
    Bearer(Secret),
}

struct Granted {
    authorization: Authorization,
    renew_at: Option<Instant>,
}

/// One repository.
pub(super) struct Connection {
    pub(super) registry: Arc<Registry>,
    pub(super) reference: Reference,
    pub(super) login: Login,
    pub(super) retry: Retry,
    granted: Mutex<HashMap<Purpose, Granted>>,
}

/// What is going to be done in a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Purpose {
    Pull,
    Push,
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
            if challenge.scheme.eq_ignore_ascii_case("bearer") {
                if let Some(realm) = parameter("realm") {
                    return Challenge::Bearer {
                        realm,
                        service: parameter("service"),
                    };
                }
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
    match reference.digest() {
        Some(digest) => oci_client::Reference::with_digest(registry, repository, digest.to_string()),
        None => {
            let tag = reference.or_latest().tag().unwrap_or_default().to_owned();
            oci_client::Reference::with_tag(registry, repository, tag)
        }
    }
}

impl Connection {
    pub(super) fn new(registry: Arc<Registry>, reference: Reference, login: Login, retry: Retry) -> Self {
        Self {
            registry,
            reference,
            login,
            retry,
            granted: Mutex::new(HashMap::new()),
        }
    }

    pub(super) fn context(&self) -> Context<'_> {
        Context {
            registry: self.reference.registry(),
            repository: self.reference.repository(),
            login: &self.login,
        }
    }

    /// The address of something in this repository.
    pub(super) fn address(&self, path: &str) -> String {
        format!(
            "{}://{}/v2/{}/{path}",
            self.registry.scheme,
            self.registry.host,
            self.reference.repository()
        )
    }

    /// The address of something beside the registry's usual API.
    pub(super) fn extension_address(&self, path: &str) -> String {
        format!(
            "{}://{}/extensions/v2/{}/{path}",
            self.registry.scheme,
            self.registry.host,
            self.reference.repository()
        )
    }

    /// Makes sure that oci-client holds a token that is good for a while.
    pub(super) async fn authorize(&self, purpose: Purpose) -> Result<(), RemoteError> {
        self.authorization(purpose).await.map(drop)
    }

    /// Forgets the tokens, so that the next request asks for new ones.
    pub(super) async fn forget(&self) {
        self.granted.lock().await.clear();
    }

    /// Asks for a token that also lets blobs be taken from other repositories of the same registry.
    pub(super) async fn authorize_mount(&self, source: &str) -> Result<(), RemoteError> {
        if matches!(self.registry.challenge, Challenge::Bearer { .. }) {
            let scopes = [self.scope(Purpose::Push), format!("repository:{source}:pull")];
            let granted = self.fetch_token(&scopes).await?;
            self.hand_over(Purpose::Push, &granted.authorization).await;
            self.granted.lock().await.insert(Purpose::Push, granted);
        }
        Ok(())
    }

    async fn authorization(&self, purpose: Purpose) -> Result<Authorization, RemoteError> {
        let mut granted = self.granted.lock().await;
        if let Some(known) = granted.get(&purpose) {
            if known.renew_at.is_none_or(|renew_at| Instant::now() < renew_at) {
                return Ok(known.authorization.clone());
            }
        }
        let fresh = match (&self.registry.challenge, &self.login) {
            (Challenge::None, _) | (Challenge::Basic, Login::Anonymous) => Granted {
                authorization: Authorization::None,
                renew_at: None,
            },
            (Challenge::Basic, Login::Password { username, password }) => Granted {
                authorization: Authorization::Basic(username.clone(), password.clone()),
                renew_at: None,
            },
            (Challenge::Basic, Login::IdentityToken(token)) => Granted {
                authorization: Authorization::Basic("<token>".to_owned(), token.clone()),
                renew_at: None,
            },
            (Challenge::Bearer { .. }, _) => {
                let scopes = [self.scope(purpose)];
                let mut attempts = self.retry.start();
                loop {
                    match self.fetch_token(&scopes).await {
                        Err(error) if error.is_transient() && attempts.again().await => {}
                        result => break result?,
                    }
                }
            }
        };
        let authorization = fresh.authorization.clone();
        self.hand_over(purpose, &authorization).await;
        granted.insert(purpose, fresh);
        Ok(authorization)
    }

    fn scope(&self, purpose: Purpose) -> String {
        let actions = match purpose {
            Purpose::Pull => "pull",
            Purpose::Push => "pull,push",
        };
        format!("repository:{}:{actions}", self.reference.repository())
    }

    /// Gives oci-client what to send along; a right to push is one to pull, too.
    async fn hand_over(&self, purpose: Purpose, authorization: &Authorization) {
        let token = match authorization {
            Authorization::None => return,
            Authorization::Basic(username, password) => {
                RegistryTokenType::Basic(username.clone(), password.expose().to_owned())
            }
            Authorization::Bearer(token) => RegistryTokenType::Bearer(RegistryToken::Token {
                token: token.expose().to_owned(),
            }),
        };
        let reference = oci_reference(&self.reference);
        for client in [&self.registry.client, &self.registry.chunked_client] {
            // Without an entry here the client doesn't look at its tokens at all.
            client
                .store_auth_if_needed(reference.resolve_registry(), &RegistryAuth::Anonymous)
                .await;
        }
        let operations: &[RegistryOperation] = match purpose {
            Purpose::Pull => &[RegistryOperation::Pull],
            Purpose::Push => &[RegistryOperation::Pull, RegistryOperation::Push],
        };
        for operation in operations {
            self.registry
                .client
                .tokens
                .insert(&reference, *operation, token.clone())
                .await;
        }
    }

    async fn fetch_token(&self, scopes: &[String]) -> Result<Granted, RemoteError> {
        #[derive(Deserialize)]
        struct Token {
            token: Option<String>,
            access_token: Option<String>,
            expires_in: Option<u64>,
        }
        let Challenge::Bearer { realm, service } = &self.registry.challenge else {
            return Ok(Granted {
                authorization: Authorization::None,
                renew_at: None,
            });
        };
        let context = self.context();
        let refused = |message: &str| RemoteError::Refused {
            registry: context.registry.to_owned(),
            action: "name a token service".to_owned(),
            status: 0,
            message: message.to_owned(),
        };
        let mut address = reqwest::Url::parse(realm).map_err(|_| refused("its address is not one"))?;
        if !matches!(address.scheme(), "https" | "http") {
            return Err(refused("its address is neither https nor http"));
        }
        let request = if let Login::IdentityToken(token) = &self.login {
            let mut form = form_urlencoded::Serializer::new(String::new());
            form.append_pair("grant_type", "refresh_token")
                .append_pair("client_id", "baton")
                .append_pair("service", service.as_deref().unwrap_or_default())
                .append_pair("scope", &scopes.join(" "))
                .append_pair("refresh_token", token.expose());
            self.registry
                .http
                .post(address)
                .header("Content-Type", "application/x-www-form-urlencoded")
                .body(form.finish())
        } else {
            {
                let mut query = address.query_pairs_mut();
                if let Some(service) = service {
                    query.append_pair("service", service);
                }
                for scope in scopes {
                    query.append_pair("scope", scope);
                }
            }
            let request = self.registry.http.get(address);
            match &self.login {
                Login::Password { username, password } => {
                    request.basic_auth(username, Some(password.expose()))
                }
                _ => request,
            }
        };
        let answer = request.send().await.map_err(|error| context.request(&error))?;
        let status = answer.status();
        let body = bounded(answer, SMALL_ANSWER_LIMIT, &context, "a token").await?;
        if !status.is_success() {
            return Err(match status.as_u16() {
                // What a token service calls a bad request is a refresh token that it doesn't know.
                400 | 401 | 403 | 404 => context.unauthorized(status.as_u16()),
                other => context.status(other, "issue a token", "its token service", &body),
            });
        }
        let token: Token = serde_json::from_slice(&body).map_err(|_| refused("its answer holds no token"))?;
        let text = [token.token, token.access_token]
            .into_iter()
            .flatten()
            .find(|text| !text.is_empty())
            .ok_or_else(|| refused("its answer holds no token"))?;
        let lifetime = token
            .expires_in
            .map_or(TOKEN_LIFETIME, Duration::from_secs)
            .max(TOKEN_LIFETIME);
        Ok(Granted {
            authorization: Authorization::Bearer(Secret::new(text)),
            renew_at: Instant::now().checked_add(lifetime.saturating_sub(TOKEN_MARGIN)),
        })
    }

    /// Sends one request without a body, and once more with a new token when the old one isn't accepted any longer.
    async fn send(&self, method: &Method, address: &str) -> Result<Response, RemoteError> {
        let mut renewed = false;
        loop {
            let request = self
                .registry
                .http
                .request(method.clone(), address)
                .header(ACCEPT, MANIFEST_TYPES.join(", "));
            let request = match self.authorization(Purpose::Pull).await? {
                Authorization::None => request,
                Authorization::Basic(username, password) => {
                    request.basic_auth(username, Some(password.expose()))
                }
                Authorization::Bearer(token) => request.bearer_auth(token.expose()),
            };
            let answer = request
                .send()
                .await
                .map_err(|error| self.context().request(&error))?;
            if answer.status() != StatusCode::UNAUTHORIZED || renewed {
                return Ok(answer);
            }
            renewed = true;
            self.forget().await;
        }
    }

    /// Asks for the headers of a document.
    pub(super) async fn head(&self, address: &str, what: &str) -> Result<HeaderMap, RemoteError> {
        let mut attempts = self.retry.start();
        loop {
            let result = async {
                let answer = self.send(&Method::HEAD, address).await?;
                let status = answer.status();
                if status.is_success() {
                    return Ok(answer.headers().clone());
                }
                Err(self
                    .context()
                    .status(status.as_u16(), &format!("look for {what}"), what, b""))
            }
            .await;
            match result {
                Err(error) if error.is_transient() && attempts.again().await => {}
                result => return result,
            }
        }
    }

    /// Reads a document of at most `limit` bytes.
    pub(super) async fn get(
        &self,
        address: &str,
        what: &str,
        limit: u64,
    ) -> Result<(HeaderMap, Vec<u8>), RemoteError> {
        let mut attempts = self.retry.start();
        loop {
            let result = async {
                let answer = self.send(&Method::GET, address).await?;
                let status = answer.status();
                let headers = answer.headers().clone();
                if status.is_success() {
                    return Ok((headers, bounded(answer, limit, &self.context(), what).await?));
                }
                let body = bounded(answer, SMALL_ANSWER_LIMIT, &self.context(), what)
                    .await
                    .unwrap_or_default();
                Err(self
                    .context()
                    .status(status.as_u16(), &format!("send {what}"), what, &body))
            }
            .await;
            match result {
                Err(error) if error.is_transient() && attempts.again().await => {}
                result => return result,
            }
        }
    }

    /// Reads a document from anywhere, without showing any credentials; nothing when there is none.
    pub(super) async fn get_elsewhere(
        &self,
        address: &str,
        limit: u64,
    ) -> Result<Option<Vec<u8>>, RemoteError> {
        let mut attempts = self.retry.start();
        loop {
            let result = async {
                let context = self.context();
                let answer = self.registry.http.get(address).send().await;
                let answer = answer.map_err(|error| RemoteError::Unreachable {
                    registry: address.to_owned(),
                    cause: error::innermost(&error),
                })?;
                match answer.status() {
                    StatusCode::NOT_FOUND => Ok(None),
                    StatusCode::OK => bounded(answer, limit, &context, address).await.map(Some),
                    status => Err(context.status(status.as_u16(), &format!("send {address}"), address, b"")),
                }
            }
            .await;
            match result {
                Err(error) if error.is_transient() && attempts.again().await => {}
                result => return result,
            }
        }
    }
}

/// Reads an answer of at most `limit` bytes.
async fn bounded(
    answer: Response,
    limit: u64,
    context: &Context<'_>,
    what: &str,
) -> Result<Vec<u8>, RemoteError> {
    let mut bytes = Vec::new();
    let mut stream = answer.bytes_stream();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|error| context.request(&error))?;
        if bytes.len() as u64 + chunk.len() as u64 > limit {
            return Err(RemoteError::TooLarge {
                registry: context.registry.to_owned(),
                what: what.to_owned(),
                limit,
            });
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}
