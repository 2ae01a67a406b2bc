//! Who is who, and who may do what.
//!
//! ```text
//! credentials ─► authentication ─► impersonation ─► rbac ─► yes, or the real server's 401 and 403
//!                  ▲                                  ▲
//!                keys, tokens                      roles and bindings of the store, indexed
//! ```
//!
//! - [`keys`], [`certificates`], [`certificate_requests`], [`signing`]: what a cluster proves its own and its clients' identity with
//! - [`authentication`], [`tokens`], [`impersonation`]: who makes a request
//! - [`attributes`], [`rbac`]: what someone wants to do, and whether they may
//! - [`escalation`]: nobody grants what they don't have
//! - [`reviews`], [`token_requests`]: questions and tokens that clients ask for
//! - [`bootstrap`]: the roles and bindings that every cluster has

pub mod attributes;
pub mod authentication;
pub mod bootstrap;
pub mod certificate_requests;
pub mod certificates;
pub mod escalation;
pub mod impersonation;
pub mod keys;
pub mod rbac;
pub mod reviews;
pub mod signing;
pub mod token_requests;
pub mod tokens;

use http::{HeaderValue, StatusCode, header};
use serde_json::json;

pub use attributes::{Attributes, Decision};
pub use authentication::{Certificate, Credentials};
pub use keys::KeyError;

use crate::caller::Caller;
use crate::status::Status;
use crate::store::{Followed, Store};
use rbac::policy::Policy;
use rbac::rules::Rule;

/// The key of the extra that names the credential a caller came with.
pub const CREDENTIAL_ID: &str = "authentication.kubernetes.io/credential-id";

/// Who is who, and who may do what.
#[derive(Debug)]
pub struct Access {
    /// The keys of the cluster.
    pub keys: keys::Keys,
    clients: authentication::Clients,
    tokens: authentication::StaticTokens,
    policy: Followed<Policy>,
    impersonations: impersonation::Successes,
}

impl Access {
    /// Returns the access rules of a cluster that is kept in a store.
    pub fn new(options: &crate::Options, store: &Store) -> Result<Self, KeyError> {
        let keys = keys::Keys::open(options.data_dir.as_deref())?;
        let clients = authentication::Clients::new(&keys.client_authority)?;
        let tokens = authentication::StaticTokens::new(&keys.administrator_token, &options.tokens);
        Ok(Self {
            keys,
            clients,
            tokens,
            policy: rbac::follow::policy(store),
            impersonations: impersonation::Successes::default(),
        })
    }

    /// Returns the token of the administrator.
    pub fn administrator_token(&self) -> &str {
        &self.keys.administrator_token
    }

    /// Decides whether someone may do something.
    pub fn allowed(&self, caller: &Caller, attributes: &Attributes) -> Decision {
        self.policy.ask(|policy| policy.decide(caller, attributes))
    }

    /// Fails where someone may not do something.
    pub fn authorize(&self, caller: &Caller, attributes: &Attributes) -> Result<(), Status> {
        let decision = self.allowed(caller, attributes);
        if decision.allowed {
            Ok(())
        } else {
            Err(attributes.forbidden(caller, &decision.reason))
        }
    }

    /// Returns the rules that hold for someone in a namespace, and what is wrong with those that can't be had.
    pub fn rules_for(&self, caller: &Caller, namespace: &str) -> (Vec<Rule>, Option<String>) {
        let (rules, failures) = self.policy.ask(|policy| policy.rules_for(caller, namespace));
        let failures: Vec<String> = failures.iter().map(ToString::to_string).collect();
        (rules, rbac::policy::aggregated(&failures))
    }

    /// Answers who issues the tokens of ServiceAccounts, to a client that reached the server at an address.
    pub fn openid_configuration(&self, address: &str) -> Result<http::Response<crate::Body>, Status> {
        let address = if address.is_empty() {
            "kubernetes.default.svc"
        } else {
            address
        };
        let document = json!({
            "issuer": tokens::ISSUER,
            "jwks_uri": format!("https://{address}/openid/v1/jwks"),
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
        });
        Ok(public_document(&document, "application/json"))
    }

    /// Answers the keys that check the tokens of ServiceAccounts.
    pub fn openid_keys(&self) -> Result<http::Response<crate::Body>, Status> {
        let key = self.keys.signing().map_err(Status::internal)?;
        Ok(public_document(
            &json!({"keys": [key.public()]}),
            "application/jwk-set+json",
        ))
    }
}

fn public_document(document: &serde_json::Value, media_type: &'static str) -> http::Response<crate::Body> {
    let mut response = crate::wire::bytes_response(StatusCode::OK, document.to_string().into(), media_type);
    response.headers_mut().insert(
        header::CACHE_CONTROL,
        HeaderValue::from_static("public, max-age=3600"),
    );
    response
}
