//! The kinds that a server has, asked once for each group version.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResourceList;
use kube::Client;
use kube::api::ApiResource;

use crate::object::ObjectId;
use crate::refusal::is_not_found;

/// A kind that the server has.
#[derive(Debug, Clone)]
pub struct Served {
    /// How it is addressed.
    pub resource: ApiResource,
    /// Whether its objects are in namespaces.
    pub is_namespaced: bool,
}

impl Served {
    /// Returns the name under which the server has an object of this kind.
    pub fn named(&self, id: &ObjectId) -> ObjectId {
        let mut id = id.clone();
        if !self.is_namespaced {
            id.namespace.clear();
        }
        id
    }
}

/// Why a kind was not found.
#[derive(Debug, thiserror::Error)]
pub enum Unfound {
    /// The server doesn't have it.
    #[error("no matches for kind {kind:?} in version {api_version:?}")]
    Unserved {
        /// The kind.
        kind: String,
        /// The group and version.
        api_version: String,
    },
    /// The server didn't say.
    #[error(transparent)]
    Unanswered(#[from] Box<kube::Error>),
}

/// The group of cert-manager's kinds; those of its parts end in it.
const CERT_MANAGER: &str = "cert-manager.io";

/// Returns what somebody can do who misses the kinds of an API group; none where that isn't known.
pub(crate) fn next_step(group: &str) -> Option<&'static str> {
    let before = group.strip_suffix(CERT_MANAGER)?;
    (before.is_empty() || before.ends_with('.')).then_some(
        "cert-manager, which makes the certificates of webhooks, isn't installed: install cert-manager with \"kubectl apply -f \
         https://github.com/cert-manager/cert-manager/releases/latest/download/cert-manager.yaml\", or let somebody else make \
         them, by --certificates of \"baton controllers\"",
    )
}

/// The kinds of a server, as far as it was asked.
pub struct Kinds {
    client: Client,
    known: Mutex<HashMap<String, Arc<APIResourceList>>>,
}

impl Kinds {
    /// Asks through a client, and remembers the answers.
    pub fn new(client: Client) -> Self {
        Self {
            client,
            known: Mutex::default(),
        }
    }

    /// Finds the kind of an object.
    pub async fn find(&self, id: &ObjectId) -> Result<Served, Unfound> {
        let unserved = || Unfound::Unserved {
            kind: id.kind.clone(),
            api_version: id.api_version.clone(),
        };
        // It becomes part of an address.
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-./".contains(&byte);
        if !id.api_version.bytes().all(is_plain) || id.api_version.contains("..") || id.version().is_empty() {
            return Err(unserved());
        }
        let known = self.known().get(&id.api_version).cloned();
        if let Some(served) = known.and_then(|list| served(&list, id)) {
            return Ok(served);
        }
        let listed = if id.group().is_empty() {
            self.client.list_core_api_resources(id.version()).await
        } else {
            self.client.list_api_group_resources(&id.api_version).await
        };
        match listed {
            Ok(list) => {
                let list = Arc::new(list);
                self.known().insert(id.api_version.clone(), Arc::clone(&list));
                served(&list, id).ok_or_else(unserved)
            }
            Err(error) if is_not_found(&error) => Err(unserved()),
            Err(error) => Err(Unfound::Unanswered(Box::new(error))),
        }
    }

    /// Forgets what a group version had: a kind of it may be gone, or be another one when it comes back.
    pub fn forget(&self, api_version: &str) {
        self.known().remove(api_version);
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, Arc<APIResourceList>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn served(list: &APIResourceList, id: &ObjectId) -> Option<Served> {
    let found = list
        .resources
        .iter()
        .find(|resource| resource.kind == id.kind && !resource.name.contains('/'))?;
    Some(Served {
        resource: ApiResource {
            group: id.group().to_owned(),
            version: id.version().to_owned(),
            api_version: id.api_version.clone(),
            kind: id.kind.clone(),
            plural: found.name.clone(),
        },
        is_namespaced: found.namespaced,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_next_step_is_known_for_the_groups_of_cert_manager() {
        for (group, is_known) in [
            ("cert-manager.io", true),
            ("acme.cert-manager.io", true),
            ("my-cert-manager.io", false),
            ("cert-manager.io.example", false),
            ("", false),
        ] {
            assert_eq!(next_step(group).is_some(), is_known, "{group:?}");
        }
    }
}
