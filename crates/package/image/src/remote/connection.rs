//! The connection to one repository of one registry: tokens and single requests.
//!
//! oci-client talks to the registry. What it can't do is done beside it with the same tokens: tokens are fetched here,
//! because it knows no identity tokens and hides why a login failed; and documents are read here, because it reads
//! them without a limit.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use oci_client::RegistryOperation;
use oci_client::secrets::RegistryAuth;
use oci_client::token_cache::{RegistryToken, RegistryTokenType};
use reqwest::header::{ACCEPT, HeaderMap};
use reqwest::{Method, Response, StatusCode};
use serde::Deserialize;
use tokio::sync::Mutex;

use super::error;
use super::error::{Context, RemoteError};
use super::registry::{Challenge, Registry, oci_reference};
use super::retry::Retry;
use crate::credentials::{Login, Secret};
use crate::manifest::{DOCKER_LIST, DOCKER_MANIFEST};
use crate::reference::Reference;

/// The longest answer of a token service, and the longest error message that is read.
pub(super) const SMALL_ANSWER_LIMIT: u64 = 1 << 20;

/// How long a token is good for when its giver doesn't say; the specification's number.
const TOKEN_LIFETIME: Duration = Duration::from_mins(1);

/// A token is changed for a new one this long before it ends, so that it doesn't end on the way.
const TOKEN_MARGIN: Duration = Duration::from_secs(10);

/// The documents that are understood.
const MANIFEST_TYPES: [&str; 4] = [
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.oci.image.manifest.v1+json",
    DOCKER_LIST,
    DOCKER_MANIFEST,
];

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
        let is_good = |known: &&Granted| known.renew_at.is_none_or(|renew_at| Instant::now() < renew_at);
        if let Some(known) = granted.get(&purpose).filter(is_good) {
            return Ok(known.authorization.clone());
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
        struct Answer {
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
        let response = request.send().await.map_err(|error| context.request(&error))?;
        let status = response.status();
        let body = bounded(response, SMALL_ANSWER_LIMIT, &context, "a token").await?;
        if !status.is_success() {
            return Err(match status.as_u16() {
                // What a token service calls a bad request is a refresh token that it doesn't know.
                400 | 401 | 403 | 404 => context.unauthorized(status.as_u16()),
                other => context.status(other, "issue a token", "its token service", &body),
            });
        }
        let answer: Answer =
            serde_json::from_slice(&body).map_err(|_| refused("its answer holds no token"))?;
        let text = [answer.token, answer.access_token]
            .into_iter()
            .flatten()
            .find(|text| !text.is_empty())
            .ok_or_else(|| refused("its answer holds no token"))?;
        let lifetime = answer
            .expires_in
            .map_or(TOKEN_LIFETIME, Duration::from_secs)
            .max(TOKEN_LIFETIME);
        Ok(Granted {
            authorization: Authorization::Bearer(Secret::new(text)),
            renew_at: Instant::now().checked_add(lifetime.saturating_sub(TOKEN_MARGIN)),
        })
    }

    /// Asks the registry whether it lets us in; a password is shown whether or not it wants one.
    pub(super) async fn greet(&self) -> Result<(), RemoteError> {
        let address = format!("{}://{}/v2/", self.registry.scheme, self.registry.host);
        let request = self.registry.http.get(address);
        let request = match (&self.registry.challenge, &self.login) {
            (Challenge::Bearer { .. }, _) => match self.fetch_token(&[]).await?.authorization {
                Authorization::Bearer(token) => request.bearer_auth(token.expose()),
                Authorization::Basic(..) | Authorization::None => request,
            },
            (_, Login::Password { username, password }) => {
                request.basic_auth(username, Some(password.expose()))
            }
            (_, Login::IdentityToken(token)) => request.basic_auth("<token>", Some(token.expose())),
            (_, Login::Anonymous) => request,
        };
        let answer = request
            .send()
            .await
            .map_err(|error| self.context().request(&error))?;
        let status = answer.status();
        if status.is_success() {
            return Ok(());
        }
        let body = bounded(answer, SMALL_ANSWER_LIMIT, &self.context(), "its greeting")
            .await
            .unwrap_or_default();
        Err(match status.as_u16() {
            401 | 403 => self.context().unauthorized(status.as_u16()),
            other => self.context().status(other, "let us in", "its API", &body),
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
pub(super) async fn bounded(
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
