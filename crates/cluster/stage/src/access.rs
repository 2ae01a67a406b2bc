//! Who is who, and who may do what.

use std::sync::Arc;

use crate::api::Api;
use crate::caller::{Caller, MASTERS};
use crate::request::{ResourcePath, Verb};
use crate::status::Status;

/// What a request presents to say who makes it.
#[derive(Debug, Default)]
pub struct Credentials {
    /// The token of the `Authorization` header.
    pub token: Option<String>,
    /// The client's certificate as DER, which the connection has verified.
    pub certificate: Option<Arc<[u8]>>,
    /// The `Impersonate-*` headers, in lower case.
    pub impersonation: Vec<(String, String)>,
}

/// Why the keys of a cluster can't be had.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {}

/// Who is who, and who may do what.
#[derive(Debug, Default)]
pub struct Access {
    /// The token of the administrator.
    pub administrator_token: String,
}

impl Access {
    /// Returns the access rules of a cluster.
    pub fn new(_options: &crate::Options) -> Result<Self, KeyError> {
        Ok(Self {
            administrator_token: "admin-token".to_owned(),
        })
    }

    /// Answers who issues the tokens of ServiceAccounts.
    pub fn openid_configuration(&self) -> Result<http::Response<crate::Body>, Status> {
        Ok(crate::wire::paths::page_not_found())
    }

    /// Answers the keys that check the tokens of ServiceAccounts.
    pub fn openid_keys(&self) -> Result<http::Response<crate::Body>, Status> {
        Ok(crate::wire::paths::page_not_found())
    }

    /// Returns who makes a request.
    pub fn authenticate(
        &self,
        _api: &Api,
        credentials: &Credentials,
        trusted: Option<&Arc<Caller>>,
    ) -> Result<Arc<Caller>, Status> {
        match &credentials.token {
            None if trusted.is_some() => Ok(trusted.cloned().unwrap_or_default()),
            Some(token) if *token == self.administrator_token => Ok(Arc::new(Caller::named(
                "kubernetes-admin",
                &[MASTERS, "system:authenticated"],
            ))),
            Some(_) => Err(Status::unauthorized()),
            None => Ok(Arc::new(Caller::named(
                "system:anonymous",
                &["system:unauthenticated"],
            ))),
        }
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
