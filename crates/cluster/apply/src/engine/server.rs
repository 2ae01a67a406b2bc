//! The server: which kinds it has, and how objects of any kind are read and written.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use api::keys::OBJECT_FIELD_OWNER;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResourceList;
use kube::api::{
    ApiResource, DeleteParams, DynamicObject, GetParams, Patch, PatchParams, PostParams, Preconditions,
};
use kube::core::Request;
use kube::{Client, Resource as _};
use serde::Serialize;
use serde_json::Value;

use crate::object::ObjectId;
use crate::refusal::{is_not_found, words};

/// A kind that the server has.
#[derive(Debug, Clone)]
pub(crate) struct Served {
    pub(crate) resource: ApiResource,
    is_namespaced: bool,
}

impl Served {
    /// Returns the name under which the server has an object of this kind.
    pub(crate) fn named(&self, id: &ObjectId) -> ObjectId {
        let mut id = id.clone();
        if !self.is_namespaced {
            id.namespace.clear();
        }
        id
    }
}

/// Whether a change is made, or only tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attempt {
    Real,
    Trial,
}

/// Why something could not be done.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The server doesn't know the kind.
    Unserved(String),
    /// The object isn't what it was when it was seen.
    Stale(String),
    /// The server would never take it.
    Invalid(String),
    /// It may work next time.
    Failed(String),
}

impl Trouble {
    fn of(error: &kube::Error) -> Self {
        let message = words(error);
        let kube::Error::Api(status) = error else {
            return Self::Failed(message);
        };
        match status.reason.as_str() {
            "AlreadyExists" | "Conflict" => Self::Stale(message),
            "Unauthorized"
            | "Forbidden"
            | "Invalid"
            | "BadRequest"
            | "MethodNotAllowed"
            | "RequestEntityTooLarge"
            | "UnsupportedMediaType"
            | "NotAcceptable"
            | "NotFound" => Self::Invalid(message),
            _ if message.contains("failed to create typed patch object") => Self::Invalid(message),
            _ => Self::Failed(message),
        }
    }
}

pub(crate) struct Server {
    pub(crate) client: Client,
    /// What each group version has, as far as it was asked.
    kinds: Mutex<HashMap<String, Arc<APIResourceList>>>,
}

impl Server {
    pub(crate) fn new(client: Client) -> Self {
        Self {
            client,
            kinds: Mutex::default(),
        }
    }

    /// Finds the kind of an object.
    pub(crate) async fn kind(&self, id: &ObjectId) -> Result<Served, Trouble> {
        let unserved = || {
            Trouble::Unserved(format!(
                "no matches for kind {:?} in version {:?}",
                id.kind, id.api_version
            ))
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
            Err(error) => Err(Trouble::Failed(words(&error))),
        }
    }

    fn known(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<APIResourceList>>> {
        self.kinds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads an object; none if it isn't there.
    pub(crate) async fn get(&self, id: &ObjectId) -> Result<Option<Value>, Trouble> {
        let request = self.address(id).await?.get(&id.name, &GetParams::default());
        match self.send(id, request).await {
            Ok(object) => Ok(Some(object)),
            Err(error) if is_not_found(&error) => Ok(None),
            Err(error) => Err(Trouble::Failed(words(&error))),
        }
    }

    /// Makes an object that must not exist.
    pub(crate) async fn create(
        &self,
        id: &ObjectId,
        object: &Value,
        attempt: Attempt,
    ) -> Result<Value, Trouble> {
        let parameters = PostParams {
            dry_run: attempt == Attempt::Trial,
            field_manager: Some(OBJECT_FIELD_OWNER.to_owned()),
        };
        let body = serde_json::to_vec(&self.body(id, object).await?);
        let body = body.map_err(|error| Trouble::Invalid(error.to_string()))?;
        let request = self.address(id).await?.create(&parameters, body);
        self.send(id, request).await.map_err(|error| Trouble::of(&error))
    }

    /// Applies an object, whoever else holds its fields.
    pub(crate) async fn apply(
        &self,
        id: &ObjectId,
        object: &Value,
        attempt: Attempt,
    ) -> Result<Value, Trouble> {
        let mut parameters = PatchParams::apply(OBJECT_FIELD_OWNER).force();
        parameters.dry_run = attempt == Attempt::Trial;
        let object = self.body(id, object).await?;
        self.patch(id, &parameters, &Patch::Apply(object)).await
    }

    /// Changes an object by a JSON patch.
    pub(crate) async fn edit(&self, id: &ObjectId, patch: Value) -> Result<Value, Trouble> {
        let patch = serde_json::from_value(patch).map_err(|error| Trouble::Failed(error.to_string()))?;
        let parameters = PatchParams {
            field_manager: Some(OBJECT_FIELD_OWNER.to_owned()),
            ..PatchParams::default()
        };
        self.patch::<()>(id, &parameters, &Patch::Json(patch)).await
    }

    /// Changes an object by a merge patch.
    pub(crate) async fn merge(&self, id: &ObjectId, patch: &Value) -> Result<Value, Trouble> {
        let parameters = PatchParams {
            field_manager: Some(OBJECT_FIELD_OWNER.to_owned()),
            ..PatchParams::default()
        };
        self.patch(id, &parameters, &Patch::Merge(patch)).await
    }

    /// Deletes an object if it is still the one that was seen.
    pub(crate) async fn delete(
        &self,
        id: &ObjectId,
        uid: &str,
        resource_version: &str,
    ) -> Result<(), Trouble> {
        let parameters = DeleteParams::default().preconditions(Preconditions {
            uid: Some(uid.to_owned()),
            resource_version: Some(resource_version.to_owned()),
        });
        let request = self.address(id).await?.delete(&id.name, &parameters);
        match self.send(id, request).await {
            Ok(_) => Ok(()),
            Err(error) if is_not_found(&error) => Ok(()),
            Err(error) => Err(Trouble::of(&error)),
        }
    }

    async fn patch<P: Serialize + std::fmt::Debug>(
        &self,
        id: &ObjectId,
        parameters: &PatchParams,
        patch: &Patch<P>,
    ) -> Result<Value, Trouble> {
        let request = self.address(id).await?.patch(&id.name, parameters, patch);
        self.send(id, request).await.map_err(|error| Trouble::of(&error))
    }

    async fn send(
        &self,
        id: &ObjectId,
        request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
    ) -> Result<Value, kube::Error> {
        let sent = self
            .client
            .request(request.map_err(kube::Error::BuildRequest)?)
            .await;
        // The kind may be gone, or be another one when it comes back.
        if sent.as_ref().is_err_and(is_not_found) {
            self.known().remove(&id.api_version);
        }
        sent
    }

    async fn address(&self, id: &ObjectId) -> Result<Request, Trouble> {
        let served = self.kind(id).await?;
        let namespace = match (served.is_namespaced, id.namespace.as_str()) {
            (true, "") => {
                return Err(Trouble::Invalid(format!(
                    "metadata.namespace: Required value: {} is a kind with a namespace",
                    id.kind
                )));
            }
            (true, namespace) => Some(namespace),
            (false, _) => None,
        };
        Ok(Request::new(DynamicObject::url_path(&served.resource, namespace)))
    }

    /// Returns what is sent of an object: kinds without a namespace are said to have one by some bundles.
    async fn body(&self, id: &ObjectId, object: &Value) -> Result<Value, Trouble> {
        let mut object = object.clone();
        if !self.kind(id).await?.is_namespaced
            && let Some(Value::Object(metadata)) = object.get_mut("metadata")
        {
            metadata.remove("namespace");
        }
        Ok(object)
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
