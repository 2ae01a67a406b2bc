//! The server: which kinds it has, and how objects of any kind are read and written.

use api::keys::OBJECT_FIELD_OWNER;
use kube::api::{DeleteParams, DynamicObject, GetParams, Patch, PatchParams, PostParams, Preconditions};
use kube::core::Request;
use kube::{Client, Resource as _};
use serde::Serialize;
use serde_json::Value;

use crate::object::ObjectId;
use crate::refusal::{is_not_found, words};
use crate::served::{Kinds, Served, Unfound};
use crate::teardown::Offspring;

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
    kinds: Kinds,
}

impl Server {
    pub(crate) fn new(client: Client) -> Self {
        Self {
            kinds: Kinds::new(client.clone()),
            client,
        }
    }

    /// Finds the kind of an object.
    pub(crate) async fn kind(&self, id: &ObjectId) -> Result<Served, Trouble> {
        self.kinds.find(id).await.map_err(|unfound| match unfound {
            Unfound::Unserved { .. } => Trouble::Unserved(unfound.to_string()),
            Unfound::Unanswered(error) => Trouble::Failed(words(&error)),
        })
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
        offspring: Offspring,
    ) -> Result<(), Trouble> {
        let parameters = match offspring {
            Offspring::Follows => DeleteParams::default(),
            Offspring::Precedes => DeleteParams::foreground(),
        };
        let parameters = parameters.preconditions(Preconditions {
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
            self.kinds.forget(&id.api_version);
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
