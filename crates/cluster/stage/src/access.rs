//! Who is who, and who may do what.
//!
//! ```text
//! credentials ─► authentication ─► impersonation ─► rbac ─► yes, or the real server's 401 and 403
//!                  │                                  │
//!                keys, tokens                        index over roles and bindings
//! ```
//!
//! - [`keys`], [`certificates`], [`signing`]: what a cluster proves its own and its clients' identity with
//! - [`authentication`]: who makes a request

pub mod authentication;
pub mod certificates;
pub mod keys;
pub mod signing;

pub use authentication::{Certificate, Credentials};
pub use keys::KeyError;

use crate::api::Api;
use crate::caller::{Caller, MASTERS};
use crate::request::{ResourcePath, Verb};
use crate::status::Status;

/// The key of the extra that names the credential a caller came with.
pub const CREDENTIAL_ID: &str = "authentication.kubernetes.io/credential-id";

/// Who is who, and who may do what.
#[derive(Debug)]
pub struct Access {
    /// The keys of the cluster.
    pub keys: keys::Keys,
    clients: authentication::Clients,
    tokens: authentication::StaticTokens,
}

impl Access {
    /// Returns the access rules of a cluster.
    pub fn new(options: &crate::Options) -> Result<Self, KeyError> {
        let keys = keys::Keys::open(options.data_dir.as_deref())?;
        let clients = authentication::Clients::new(&keys.client_authority)?;
        let tokens = authentication::StaticTokens::new(&keys.administrator_token, &options.tokens);
        Ok(Self { keys, clients, tokens })
    }

    /// Returns the token of the administrator.
    pub fn administrator_token(&self) -> &str {
        &self.keys.administrator_token
    }

    /// Answers who issues the tokens of ServiceAccounts.
    pub fn openid_configuration(&self) -> Result<http::Response<crate::Body>, Status> {
        Ok(crate::wire::paths::page_not_found())
    }

    /// Answers the keys that check the tokens of ServiceAccounts.
    pub fn openid_keys(&self) -> Result<http::Response<crate::Body>, Status> {
        Ok(crate::wire::paths::page_not_found())
    }

    /// Fails where the caller may not do this to a resource.
    pub fn authorize(
        &self,
        _api: &Api,
        caller: &Caller,
        _verb: Verb,
        _path: &ResourcePath,
    ) -> Result<(), Status> {
        if caller.is_in(MASTERS) {
            Ok(())
        } else {
            Err(Status::unauthorized())
        }
    }

    /// Fails where the caller may not use a path that is no resource's.
    pub fn authorize_path(
        &self,
        _api: &Api,
        caller: &Caller,
        _verb: &str,
        _path: &str,
    ) -> Result<(), Status> {
        if caller.is_in(MASTERS) {
            Ok(())
        } else {
            Err(Status::unauthorized())
        }
    }
}
