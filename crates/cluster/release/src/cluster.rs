//! The way to a cluster: which kinds it has, and how objects of any kind are read and written.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use apply::object::ObjectId;
use apply::refusal::{self, words};
use apply::served::{Kinds, Served, Unfound};
use gotemplate::format::quoted;
use http::header::{ACCEPT, HeaderValue};
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use kube::api::{ApiResource, DeleteParams, DynamicObject, GetParams, Patch, PatchParams, PostParams};
use kube::core::Request;
use kube::{Api, Client, Resource as _};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use thiserror::Error;

/// What is asked for where only the metadata of a written object counts: the rest was sent just now.
pub(crate) const METADATA_ONLY: &str =
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

/// The managers under which Helm and its operators write.
const HELMS: [&str; 4] = ["helm", "helm-operator", "helm3", "helm4"];

/// A cluster, and the name under which objects are written to it. Copies share what was learnt of the cluster.
#[derive(Clone)]
pub struct Cluster(Arc<Inner>);

struct Inner {
    client: Client,
    manager: String,
    former_managers: Vec<String>,
    kinds: Kinds,
}

impl fmt::Debug for Cluster {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Cluster")
            .field("manager", &self.0.manager)
            .finish_non_exhaustive()
    }
}

/// An object, and where the server has it.
#[derive(Clone, Debug)]
pub struct Placed {
    /// What it is, with the namespace that it is in.
    pub id: ObjectId,
    /// How its kind is addressed.
    pub resource: ApiResource,
    /// Whether its kind has namespaces.
    pub is_namespaced: bool,
    /// The object, as the manifest has it.
    pub object: Arc<Value>,
}

/// What the server did not do.
#[derive(Debug, Error)]
pub enum ServerError {
    /// It doesn't have the kind.
    #[error("{}", unmapped(.0))]
    Unserved(ObjectId),
    /// It refused, or did not answer.
    #[error("{}", words(source))]
    Refused {
        /// What was tried.
        attempted: Permission,
        /// What it said.
        source: Box<kube::Error>,
    },
}

/// Says as Go's clients do that the server doesn't have the kind of an object.
fn unmapped(id: &ObjectId) -> String {
    format!(
        "resource mapping not found for name: {} namespace: {} from \"\": no matches for kind {} in version {}\nensure CRDs \
         are installed first",
        quoted(&id.name),
        quoted(&id.namespace),
        quoted(&id.kind),
        quoted(&id.api_version)
    )
}

/// What must be allowed for a request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Permission {
    /// What is done, such as `patch`.
    pub verb: &'static str,
    /// The API group; empty for the core.
    pub group: String,
    /// The resource, such as `deployments`.
    pub resource: String,
    /// The namespace; empty where the kind has none.
    pub namespace: String,
}

impl fmt::Display for Permission {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let role = if self.namespace.is_empty() {
            "ClusterRole"
        } else {
            "Role or ClusterRole"
        };
        write!(
            formatter,
            "add to the {role}: {{apiGroups: [{:?}], resources: [{:?}], verbs: [{:?}]}}",
            self.group, self.resource, self.verb
        )
    }
}

impl ServerError {
    fn api(&self) -> Option<&kube::Error> {
        match self {
            Self::Unserved(_) => None,
            Self::Refused { source, .. } => Some(source),
        }
    }

    fn is(&self, what: fn(&kube::Error) -> bool) -> bool {
        self.api().is_some_and(what)
    }

    /// Returns whether somebody else changed the object first, or has it.
    pub fn is_conflict(&self) -> bool {
        self.is(refusal::is_conflict)
    }

    /// Returns whether there is no such object.
    pub fn is_not_found(&self) -> bool {
        self.is(refusal::is_not_found)
    }

    /// Returns whether an object of that name is there already.
    pub fn is_already_there(&self) -> bool {
        self.is(refusal::is_already_there)
    }

    /// Returns whether the object breaks a rule of its kind.
    pub fn is_invalid(&self) -> bool {
        self.is(refusal::is_invalid)
    }

    /// Returns whether the server can't apply such an object, although it might take it otherwise: it has a field that
    /// its kind doesn't know, or one item twice.
    pub fn is_not_applicable(&self) -> bool {
        self.is(|error| {
            matches!(error, kube::Error::Api(status) if status.message.contains("failed to create typed patch object"))
        })
    }

    /// Returns whether it may work when tried again: the server was away, or had too much to do.
    pub fn is_passing(&self) -> bool {
        self.is(is_passing)
    }

    /// Returns what must be allowed for it to work; none if that is not the cause.
    pub fn missing_permission(&self) -> Option<&Permission> {
        match self {
            Self::Refused { attempted, source }
                if matches!(source.as_ref(), kube::Error::Api(status)
                    if status.code == 403 && status.reason == "Forbidden" && !is_going_away(&status.message)) =>
            {
                Some(attempted)
            }
            _ => None,
        }
    }
}

/// A namespace that is being deleted refuses new objects with the same reason as missing permissions.
fn is_going_away(message: &str) -> bool {
    message.contains("because it is being terminated")
}

/// Returns whether a request may work when it is sent again.
pub fn is_passing(error: &kube::Error) -> bool {
    match error {
        kube::Error::Api(status) => {
            matches!(status.code, 429 | 502 | 503 | 504)
                || matches!(
                    status.reason.as_str(),
                    "ServerTimeout" | "Timeout" | "TooManyRequests" | "ServiceUnavailable"
                )
        }
        kube::Error::Service(_) | kube::Error::HyperError(_) | kube::Error::ReadEvents(_) => true,
        _ => false,
    }
}

/// What became of an object that was to be deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// It is gone, or was never there.
    Gone,
    /// It is on its way out, or the server doesn't say.
    Going,
}

/// The metadata of an answer.
#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    metadata: Value,
}

impl Cluster {
    /// Takes a client, and the name under which fields are written.
    pub fn new(client: Client, manager: &str) -> Self {
        let mut former_managers: Vec<String> = HELMS.map(str::to_owned).to_vec();
        if !HELMS.contains(&manager) {
            former_managers.push(manager.to_owned());
        }
        Self(Arc::new(Inner {
            kinds: Kinds::new(client.clone()),
            client,
            manager: manager.to_owned(),
            former_managers,
        }))
    }

    /// The client.
    pub fn client(&self) -> &Client {
        &self.0.client
    }

    /// The name under which fields are written.
    pub fn manager(&self) -> &str {
        &self.0.manager
    }

    /// The names under which releases were written before, by Helm, its operators or ourselves; their fields are taken
    /// over.
    pub(crate) fn former_managers(&self) -> Vec<&str> {
        self.0.former_managers.iter().map(String::as_str).collect()
    }

    /// Finds the kind of an object; asked of the server once for each group version.
    pub async fn served(&self, id: &ObjectId) -> Result<Served, ServerError> {
        self.0.kinds.find(id).await.map_err(|unfound| match unfound {
            Unfound::Unserved { .. } => ServerError::Unserved(id.clone()),
            Unfound::Unanswered(source) => ServerError::Refused {
                attempted: Permission {
                    verb: "get",
                    group: id.group().to_owned(),
                    resource: String::new(),
                    namespace: String::new(),
                },
                source,
            },
        })
    }

    /// Finds where the server has an object; one that names no namespace is in the given one.
    pub async fn place(
        &self,
        id: &ObjectId,
        object: Arc<Value>,
        namespace: &str,
    ) -> Result<Placed, ServerError> {
        let served = self.served(id).await?;
        let mut id = served.named(id);
        if served.is_namespaced && id.namespace.is_empty() {
            namespace.clone_into(&mut id.namespace);
        }
        Ok(Placed {
            id,
            resource: served.resource,
            is_namespaced: served.is_namespaced,
            object,
        })
    }

    /// Reads an object; none if it isn't there.
    pub(crate) async fn get(&self, placed: &Placed) -> Result<Option<Value>, ServerError> {
        let request = placed.address().get(&placed.id.name, &GetParams::default());
        match self.send(placed, "get", request).await {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Makes an object; returns its metadata.
    pub(crate) async fn create(&self, placed: &Placed, object: &Value) -> Result<Value, ServerError> {
        let body = serde_json::to_vec(object).unwrap_or_default();
        let request = placed.address().create(&self.posting(), body);
        self.metadata(placed, "create", request).await
    }

    /// Replaces an object by another; returns its metadata.
    pub(crate) async fn replace(&self, placed: &Placed, object: &Value) -> Result<Value, ServerError> {
        let body = serde_json::to_vec(object).unwrap_or_default();
        let request = placed.address().replace(&placed.id.name, &self.posting(), body);
        self.metadata(placed, "update", request).await
    }

    /// Applies an object, whoever else holds its fields; returns its metadata.
    ///
    /// Fields are checked as the server does by itself, which warns of those that a kind doesn't have. Helm 4 asks for
    /// more; that would refuse charts that Helm 3 installs.
    pub(crate) async fn apply(&self, placed: &Placed, object: &Value) -> Result<Value, ServerError> {
        let parameters = PatchParams::apply(self.manager()).force();
        let request = placed
            .address()
            .patch(&placed.id.name, &parameters, &Patch::Apply(object));
        self.metadata(placed, "patch", request).await
    }

    /// Changes an object by a JSON patch; returns its metadata.
    pub(crate) async fn edit(&self, placed: &Placed, patch: Value) -> Result<Value, ServerError> {
        let parameters = PatchParams {
            field_manager: Some(self.manager().to_owned()),
            ..PatchParams::default()
        };
        let patch = serde_json::from_value(patch).map_err(|error| {
            let source = Box::new(kube::Error::SerdeError(error));
            let attempted = placed.permission("patch");
            ServerError::Refused { attempted, source }
        })?;
        let request = placed
            .address()
            .patch(&placed.id.name, &parameters, &Patch::<()>::Json(patch));
        self.metadata(placed, "patch", request).await
    }

    /// Deletes an object, and what belongs to it in the background.
    pub(crate) async fn delete(&self, placed: &Placed) -> Result<Deletion, ServerError> {
        let request = placed
            .address()
            .delete(&placed.id.name, &DeleteParams::background());
        match self.send::<Value>(placed, "delete", request).await {
            Ok(answer) if answer.get("kind").and_then(Value::as_str) == Some("Status") => Ok(Deletion::Gone),
            Ok(_) => Ok(Deletion::Going),
            Err(error) if error.is_not_found() => Ok(Deletion::Gone),
            Err(error) => Err(error),
        }
    }

    /// Returns whether an object that may not be deleted can't be there: it isn't, or it is of a kind that may neither be
    /// seen nor made, so that nobody here made it.
    pub(crate) async fn is_surely_absent(&self, placed: &Placed) -> bool {
        match self.get(placed).await {
            Ok(live) => live.is_none(),
            Err(error) if error.missing_permission().is_some() => !self.may(placed, "patch").await,
            Err(_) => false,
        }
    }

    /// Returns whether something may be done to an object; what can't be found out may be.
    async fn may(&self, placed: &Placed, verb: &str) -> bool {
        let reviews: Api<SelfSubjectAccessReview> = Api::all(self.client().clone());
        let review = SelfSubjectAccessReview {
            spec: SelfSubjectAccessReviewSpec {
                resource_attributes: Some(ResourceAttributes {
                    group: Some(placed.resource.group.clone()),
                    version: Some(placed.resource.version.clone()),
                    resource: Some(placed.resource.plural.clone()),
                    namespace: Some(placed.id.namespace.clone()),
                    name: Some(placed.id.name.clone()),
                    verb: Some(verb.to_owned()),
                    ..ResourceAttributes::default()
                }),
                ..SelfSubjectAccessReviewSpec::default()
            },
            ..SelfSubjectAccessReview::default()
        };
        match reviews.create(&PostParams::default(), &review).await {
            Ok(answer) => answer.status.is_none_or(|status| status.allowed),
            Err(_) => true,
        }
    }

    fn posting(&self) -> PostParams {
        PostParams {
            dry_run: false,
            field_manager: Some(self.manager().to_owned()),
        }
    }

    async fn metadata(
        &self,
        placed: &Placed,
        verb: &'static str,
        request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
    ) -> Result<Value, ServerError> {
        let request = request.map(|mut request| {
            request
                .headers_mut()
                .insert(ACCEPT, HeaderValue::from_static(METADATA_ONLY));
            request
        });
        let answer: Answer = self.send(placed, verb, request).await?;
        Ok(answer.metadata)
    }

    async fn send<T: DeserializeOwned>(
        &self,
        placed: &Placed,
        verb: &'static str,
        request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
    ) -> Result<T, ServerError> {
        let sent = match request {
            Ok(request) => self.client().request(request).await,
            Err(error) => Err(kube::Error::BuildRequest(error)),
        };
        sent.map_err(|source| {
            // The kind may be gone, or be another one when it comes back.
            if refusal::is_not_found(&source) && verb != "get" && verb != "delete" {
                self.0.kinds.forget(&placed.id.api_version);
            }
            ServerError::Refused {
                attempted: placed.permission(verb),
                source: Box::new(source),
            }
        })
    }
}

impl Placed {
    /// Returns what tells the object apart from all others, whatever version of its API it is written in.
    pub fn key(&self) -> Key {
        Key {
            group: self.id.group().to_owned(),
            kind: self.id.kind.clone(),
            namespace: self.id.namespace.clone(),
            name: self.id.name.clone(),
        }
    }

    /// Returns the object as it is sent: in its namespace, and without what only the server writes.
    pub(crate) fn body(&self) -> Value {
        let mut object = Value::clone(&self.object);
        if let Some(map) = object.as_object_mut() {
            let metadata = apply::object::as_map(map.entry("metadata").or_insert(Value::Null));
            for written_by_server in [
                "managedFields",
                "resourceVersion",
                "uid",
                "creationTimestamp",
                "generation",
            ] {
                metadata.remove(written_by_server);
            }
            if self.is_namespaced {
                metadata.insert("namespace".to_owned(), self.id.namespace.clone().into());
            } else {
                metadata.remove("namespace");
            }
        }
        object
    }

    pub(crate) fn api(&self, client: &Client) -> Api<DynamicObject> {
        if self.is_namespaced {
            Api::namespaced_with(client.clone(), &self.id.namespace, &self.resource)
        } else {
            Api::all_with(client.clone(), &self.resource)
        }
    }

    pub(crate) fn permission(&self, verb: &'static str) -> Permission {
        Permission {
            verb,
            group: self.resource.group.clone(),
            resource: self.resource.plural.clone(),
            namespace: self.id.namespace.clone(),
        }
    }

    fn address(&self) -> Request {
        let namespace = self.is_namespaced.then_some(self.id.namespace.as_str());
        Request::new(DynamicObject::url_path(&self.resource, namespace))
    }
}

/// What tells an object apart from all others, whatever version of its API it is written in.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    group: String,
    kind: String,
    namespace: String,
    name: String,
}

/// Places documents; what the server refused is told for each kind once.
pub(crate) async fn place_all(
    cluster: &Cluster,
    documents: &[crate::documents::Document],
    namespace: &str,
) -> Result<Vec<Placed>, Vec<ServerError>> {
    let mut placed = Vec::with_capacity(documents.len());
    let mut errors: BTreeMap<(String, String), ServerError> = BTreeMap::new();
    for document in documents {
        match cluster
            .place(&document.id, Arc::clone(&document.object), namespace)
            .await
        {
            Ok(found) => placed.push(found),
            Err(error) => {
                let kind = (document.id.api_version.clone(), document.id.kind.clone());
                errors.entry(kind).or_insert(error);
            }
        }
    }
    if errors.is_empty() {
        Ok(placed)
    } else {
        Err(errors.into_values().collect())
    }
}
