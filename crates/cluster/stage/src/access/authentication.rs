//! Who makes a request.

use std::collections::HashMap;
use std::sync::Arc;

use aws_lc_rs::digest;
use jiff::Timestamp;
use rustls::RootCertStore;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;

use super::Access;
use super::certificates::{self, Identity};
use super::keys::KeyError;
use super::tokens::ISSUER;
use crate::api::Api;
use crate::caller::{Caller, MASTERS};
use crate::status::Status;

/// The user of those who say nothing.
pub const ANONYMOUS: &str = "system:anonymous";

/// The group of those who say nothing.
pub const UNAUTHENTICATED: &str = "system:unauthenticated";

/// The group of all others.
pub const AUTHENTICATED: &str = "system:authenticated";

/// Who the certificate of a connection is about.
#[derive(Debug, Clone)]
pub enum Certificate {
    /// Someone whom the cluster's authority vouches for.
    Known(Arc<Caller>),
    /// Someone whom it doesn't vouch for.
    Unknown,
}

/// What a request presents to say who makes it.
#[derive(Debug, Default)]
pub struct Credentials {
    /// The token of the `Authorization` header.
    pub token: Option<String>,
    /// Who the client's certificate is about.
    pub certificate: Option<Certificate>,
    /// The `Impersonate-*` headers, in lower case.
    pub impersonation: Vec<(String, String)>,
}

/// What tells believable client certificates from others.
#[derive(Debug)]
pub struct Clients {
    verifier: Arc<dyn ClientCertVerifier>,
}

impl Clients {
    pub(super) fn new(authority: &Identity) -> Result<Self, KeyError> {
        let failed = |why: String| KeyError::Make {
            what: "check of client certificates",
            why,
        };
        let mut roots = RootCertStore::empty();
        roots
            .add(authority.certificate().clone())
            .map_err(|error| failed(error.to_string()))?;
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
            .allow_unauthenticated()
            .build()
            .map_err(|error| failed(error.to_string()))?;
        Ok(Self { verifier })
    }
}

/// Tokens that are known from the start. They are kept as digests, so that how long a look-up takes says nothing about
/// them.
#[derive(Debug)]
pub struct StaticTokens(HashMap<[u8; 32], Arc<Caller>>);

impl StaticTokens {
    pub(super) fn new(administrator: &str, others: &[(String, String, Vec<String>)]) -> Self {
        let mut known = HashMap::new();
        for (token, user, groups) in others {
            let caller = Caller {
                user: user.clone(),
                groups: groups.clone(),
                ..Caller::default()
            };
            known.insert(fingerprint(token), Arc::new(authenticated(caller)));
        }
        let caller = Caller::named("kubernetes-admin", &[MASTERS]);
        known.insert(fingerprint(administrator), Arc::new(authenticated(caller)));
        Self(known)
    }

    fn caller(&self, token: &str) -> Option<&Arc<Caller>> {
        self.0.get(&fingerprint(token))
    }
}

fn fingerprint(token: &str) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes.copy_from_slice(digest::digest(&digest::SHA256, token.as_bytes()).as_ref());
    bytes
}

/// Adds the group of all whose identity is proven.
pub(super) fn authenticated(mut caller: Caller) -> Caller {
    if !caller.is_in(AUTHENTICATED) && !caller.is_in(UNAUTHENTICATED) {
        caller.groups.push(AUTHENTICATED.to_owned());
    }
    caller
}

impl Access {
    /// Returns what checks that a client has the key of the certificate it shows.
    pub fn client_verifier(&self) -> &Arc<dyn ClientCertVerifier> {
        &self.clients.verifier
    }

    /// Returns who the certificate of a connection is about.
    pub fn certificate(&self, chain: &[CertificateDer<'_>]) -> Option<Certificate> {
        let (own, intermediates) = chain.split_first()?;
        let believed = self
            .clients
            .verifier
            .verify_client_cert(own, intermediates, UnixTime::now())
            .is_ok();
        let caller = certificates::caller(own).filter(|_| believed);
        Some(caller.map_or(Certificate::Unknown, |caller| {
            Certificate::Known(Arc::new(authenticated(caller)))
        }))
    }

    /// Returns who makes a request; `trusted` is who it is when the request says nothing.
    ///
    /// As on the real server a good certificate counts more than a token, and a bad one is forgiven where the token is
    /// good.
    pub fn authenticate(
        &self,
        api: &Api,
        credentials: &Credentials,
        trusted: Option<&Arc<Caller>>,
    ) -> Result<Arc<Caller>, Status> {
        if let Some(Certificate::Known(caller)) = &credentials.certificate {
            return Ok(caller.clone());
        }
        if let Some(token) = credentials.token.as_deref().filter(|token| !token.is_empty()) {
            let audiences = [ISSUER.to_owned()];
            return self
                .token(api, token, &audiences)
                .map(|(caller, _)| caller)
                .map_err(|_| Status::unauthorized());
        }
        if credentials.certificate.is_some() {
            return Err(Status::unauthorized());
        }
        Ok(trusted
            .cloned()
            .unwrap_or_else(|| Arc::new(Caller::named(ANONYMOUS, &[UNAUTHENTICATED]))))
    }

    /// Returns whose token this is and for which of the wanted audiences, or what the real server says about it.
    pub fn token(
        &self,
        api: &Api,
        token: &str,
        wanted: &[String],
    ) -> Result<(Arc<Caller>, Vec<String>), String> {
        let unknown = "invalid bearer token";
        if let Some(caller) = self.tokens.caller(token) {
            // Static tokens are for the API alone.
            return if wanted.iter().any(|audience| audience == ISSUER) {
                Ok((caller.clone(), vec![ISSUER.to_owned()]))
            } else {
                Err(unknown.to_owned())
            };
        }
        match self.service_account(api, token, wanted, Timestamp::now()) {
            Some(Ok(believed)) => Ok((Arc::new(believed.caller), believed.audiences)),
            Some(Err(why)) => Err(format!("[{unknown}, {why}]")),
            None => Err(unknown.to_owned()),
        }
    }
}
