//! One write: a request in the name of whoever shall make it, its answer, and what the server warns of.

use std::borrow::Cow;
use std::sync::Arc;

use apply::object::{ObjectId, at, text};
use apply::served::{Kinds, Served, Unfound};
use apply::unmanaged::Unmanaged;
use classic::copied::is_marked_as_copy;
use classic::definitions::lacks_schemas;
use classic::{Key, ServiceAccount, Write};
use http::{HeaderName, HeaderValue, Request};
use http_body_util::BodyExt as _;
use kube::Client;
use kube::Resource as _;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams, Preconditions};
use kube::core::Status;
use serde_json::Value;

use crate::picture::{Change, Picture};

/// The name under which fields are written.
const FIELD_MANAGER: &str = "olm";

/// The most bytes of an answer: more than the largest object that an API server takes.
const MAX_ANSWER: usize = 16 << 20;

/// What came of a write.
#[derive(Debug, Clone, Default)]
pub struct Written {
    /// The object as it is now; none where it is gone.
    pub object: Option<Value>,
    /// Whether it was made, where it could have been there before.
    pub is_new: bool,
    /// What the server warned of.
    pub warnings: Vec<String>,
}

/// Why a write could not be made.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// Somebody changed the object since it was looked at; looking again helps.
    #[error("{0}")]
    Stale(String),
    /// The server doesn't have the kind, or didn't say.
    #[error(transparent)]
    Kind(#[from] Unfound),
    /// The server refused.
    #[error("{}", .0.message)]
    Refused(Box<Status>),
    /// The server could not be asked.
    #[error(transparent)]
    Unanswered(#[from] kube::Error),
    /// The object is none that can be written as a whole.
    #[error("the definition {0} was read without its schemas and can't be written as a whole")]
    Partial(String),
    /// The request could not be built.
    #[error("the request can't be made: {0}")]
    Request(String),
}

impl WriteError {
    /// Returns whether the server said that whoever asked may not do that.
    pub fn is_forbidden(&self) -> bool {
        matches!(self, Self::Refused(status) if status.code == 403)
    }

    /// Returns whether there is no such object.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused(status) if status.code == 404)
    }

    /// Returns whether there is such an object already.
    pub fn is_already_there(&self) -> bool {
        matches!(self, Self::Refused(status) if status.reason == "AlreadyExists")
    }

    /// Returns whether the kind is none that the server has.
    pub fn is_unserved(&self) -> bool {
        matches!(self, Self::Kind(Unfound::Unserved { .. }))
    }
}

/// Makes writes, and keeps what comes of them in the picture.
pub struct Writer {
    client: Client,
    kinds: Kinds,
    picture: Arc<Picture>,
    heed: Box<dyn Fn(Change) + Send + Sync>,
}

impl Writer {
    /// Writes through a client; `heed` takes what changed in the picture.
    pub fn new(client: Client, picture: Arc<Picture>, heed: impl Fn(Change) + Send + Sync + 'static) -> Self {
        Self {
            kinds: Kinds::new(client.clone()),
            client,
            picture,
            heed: Box::new(heed),
        }
    }

    /// Returns the way to the cluster.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Makes a write, in the name of a service account if one is given.
    ///
    /// # Errors
    ///
    /// If it can't be made.
    pub async fn write(
        &self,
        write: &Write,
        account: Option<&ServiceAccount>,
    ) -> Result<Written, WriteError> {
        let attempt = Attempt {
            writer: self,
            account,
        };
        match write {
            Write::Create { object, or_update } => attempt.create(object, *or_update).await,
            Write::Update(object) => attempt.update(object).await,
            Write::UpdateStatus(object) => attempt.update_status(object).await,
            Write::Merge { id, patch } => {
                attempt
                    .patch(id, &PatchParams::default(), &Patch::Merge(patch))
                    .await
            }
            Write::Apply {
                object,
                field_manager,
            } => {
                let parameters = PatchParams::apply(field_manager).force();
                attempt
                    .patch(&ObjectId::of(object), &parameters, &Patch::Apply(object))
                    .await
            }
            Write::Delete { id, uid } => attempt.delete(id, uid.as_deref()).await,
        }
    }

    /// Reads an object in full; what the picture has of it may be less.
    ///
    /// # Errors
    ///
    /// If there is none, or it can't be read.
    pub async fn read(&self, id: &ObjectId) -> Result<Value, WriteError> {
        let attempt = Attempt {
            writer: self,
            account: None,
        };
        attempt.get(id).await
    }

    /// Returns whether the picture has an object as a write would make it.
    fn is_so_already(&self, object: &Value, is_status: bool) -> bool {
        let Some(key) = Key::of(object) else { return false };
        let world = self.picture.look();
        let Some(known) = world.get(key.kind, &key.namespace, &key.name) else {
            return false;
        };
        if is_status {
            return known.get("status") == object.get("status");
        }
        **known == *object
    }

    fn take(&self, object: &Value) {
        if let Some(change) = self.picture.take(object.clone()) {
            (self.heed)(change);
        }
    }

    fn forget(&self, id: &ObjectId) {
        let Some(kind) = classic::Kind::named(&id.kind) else {
            return;
        };
        let key = Key::new(kind, &id.namespace, &id.name);
        if let Some(change) = self.picture.deleted(&key) {
            (self.heed)(change);
        }
    }

    /// Takes an object anew from the server, after what the picture has turned out to be old.
    async fn refresh(&self, id: &ObjectId) {
        let attempt = Attempt {
            writer: self,
            account: None,
        };
        match attempt.get(id).await {
            Ok(object) => self.take(&object),
            Err(fault) if fault.is_not_found() => self.forget(id),
            Err(fault) => tracing::debug!(%id, %fault, "it can't be read"),
        }
    }
}

/// Writes in the name of someone.
struct Attempt<'a> {
    writer: &'a Writer,
    account: Option<&'a ServiceAccount>,
}

impl Attempt<'_> {
    async fn get(&self, id: &ObjectId) -> Result<Value, WriteError> {
        let request = self
            .address(id)
            .await?
            .get(&id.name, &kube::api::GetParams::default());
        Ok(self.send(id, request).await?.0)
    }

    async fn create(&self, object: &Value, or_update: bool) -> Result<Written, WriteError> {
        let id = ObjectId::of(object);
        let mut request = self.address(&id).await?.create(&post(), body(object)?);
        // What it is a copy of went through that, and nobody would read the warnings.
        if is_marked_as_copy(object) {
            request = request.and_then(without_field_validation);
        }
        match self.send(&id, request).await {
            Ok((made, warnings)) => {
                self.writer.take(&made);
                Ok(Written {
                    object: Some(made),
                    is_new: true,
                    warnings,
                })
            }
            Err(fault) if or_update && fault.is_already_there() => {
                let there = self.get(&id).await?;
                let mut object = object.clone();
                object["metadata"]["resourceVersion"] = text(&there, "/metadata/resourceVersion").into();
                self.update(&object).await
            }
            Err(fault) => {
                if fault.is_already_there() {
                    self.writer.refresh(&id).await;
                }
                Err(fault)
            }
        }
    }

    async fn update(&self, object: &Value) -> Result<Written, WriteError> {
        if self.account.is_none() && self.writer.is_so_already(object, false) {
            return Ok(Written::default());
        }
        if lacks_schemas(object) {
            return Err(WriteError::Partial(text(object, "/metadata/name").to_owned()));
        }
        let id = ObjectId::of(object);
        let object = self.versioned(&id, object).await?;
        let request = self
            .address(&id)
            .await?
            .replace(&id.name, &post(), body(&object)?);
        self.written(&id, request).await
    }

    async fn update_status(&self, object: &Value) -> Result<Written, WriteError> {
        if self.writer.is_so_already(object, true) {
            return Ok(Written::default());
        }
        let id = ObjectId::of(object);
        let object = status_alone(object);
        let object = self.versioned(&id, &object).await?;
        let address = self.address(&id).await?;
        let request = address.replace_subresource("status", &id.name, &post(), body(&object)?);
        self.written(&id, request.and_then(without_field_validation))
            .await
    }

    /// Returns an object with its version; servers take no update of a custom resource without one.
    async fn versioned<'a>(&self, id: &ObjectId, object: &'a Value) -> Result<Cow<'a, Value>, WriteError> {
        let mut object = Cow::Borrowed(object);
        if text(&object, "/metadata/resourceVersion").is_empty() {
            let there = self.get(id).await?;
            object.to_mut()["metadata"]["resourceVersion"] = text(&there, "/metadata/resourceVersion").into();
        }
        Ok(object)
    }

    async fn patch<P: serde::Serialize + std::fmt::Debug>(
        &self,
        id: &ObjectId,
        parameters: &PatchParams,
        patch: &Patch<P>,
    ) -> Result<Written, WriteError> {
        let request = self.address(id).await?.patch(&id.name, parameters, patch);
        self.written(id, request).await
    }

    async fn delete(&self, id: &ObjectId, uid: Option<&str>) -> Result<Written, WriteError> {
        let mut parameters = DeleteParams::background();
        if let Some(uid) = uid {
            parameters = parameters.preconditions(Preconditions {
                uid: Some(uid.to_owned()),
                resource_version: None,
            });
        }
        let request = self.address(id).await?.delete(&id.name, &parameters);
        match self.send(id, request).await {
            // What has finalizers is only on its way out.
            Ok((object, warnings)) if !text(&object, "/metadata/deletionTimestamp").is_empty() => {
                self.writer.take(&object);
                Ok(Written {
                    object: Some(object),
                    is_new: false,
                    warnings,
                })
            }
            Ok((_, warnings)) => {
                self.writer.forget(id);
                Ok(Written {
                    warnings,
                    ..Written::default()
                })
            }
            Err(fault) if fault.is_not_found() => {
                self.writer.forget(id);
                Ok(Written::default())
            }
            Err(fault) => Err(fault),
        }
    }

    async fn written(&self, id: &ObjectId, request: Built) -> Result<Written, WriteError> {
        match self.send(id, request).await {
            // Without its last finalizer, what is on its way out is gone.
            Ok((object, warnings)) if is_gone(&object) => {
                self.writer.forget(id);
                Ok(Written {
                    warnings,
                    ..Written::default()
                })
            }
            Ok((object, warnings)) => {
                self.writer.take(&object);
                Ok(Written {
                    object: Some(object),
                    is_new: false,
                    warnings,
                })
            }
            Err(fault) => {
                if matches!(fault, WriteError::Stale(_)) || fault.is_not_found() {
                    self.writer.refresh(id).await;
                }
                Err(fault)
            }
        }
    }

    async fn address(&self, id: &ObjectId) -> Result<kube::core::Request, WriteError> {
        let Served {
            resource,
            is_namespaced,
        } = self.writer.kinds.find(id).await?;
        let namespace = is_namespaced.then_some(id.namespace.as_str());
        Ok(kube::core::Request::new(DynamicObject::url_path(
            &resource, namespace,
        )))
    }

    /// Sends a request; returns the answer and what the server warns of.
    async fn send(&self, id: &ObjectId, request: Built) -> Result<(Value, Vec<String>), WriteError> {
        let mut request = request.map_err(|fault| WriteError::Request(fault.to_string()))?;
        if let Some(account) = self.account {
            impersonate(&mut request, account)?;
        }
        let answer = self.writer.client.send(request.map(Into::into)).await?;
        let (parts, body) = answer.into_parts();
        let body = http_body_util::Limited::new(body, MAX_ANSWER);
        let body = body
            .collect()
            .await
            .map_err(|fault| WriteError::Request(fault.to_string()))?;
        let body = body.to_bytes();
        if parts.status.is_success() {
            let answer: Unmanaged = serde_json::from_slice(&body)
                .map_err(|fault| WriteError::Unanswered(kube::Error::SerdeError(fault)))?;
            return Ok((answer.object, warnings(&parts.headers)));
        }
        let status: Status = serde_json::from_slice(&body).unwrap_or_else(|_| {
            Status::failure(&String::from_utf8_lossy(&body), "").with_code(parts.status.as_u16())
        });
        if status.code == 404 {
            // The kind may be gone, or be another one when it comes back.
            self.writer.kinds.forget(&id.api_version);
        }
        if status.code == 409 && status.reason != "AlreadyExists" {
            return Err(WriteError::Stale(status.message));
        }
        Err(WriteError::Refused(Box::new(status)))
    }
}

fn is_gone(object: &Value) -> bool {
    let finalizers = at(object, "/metadata/finalizers").and_then(Value::as_array);
    text(object, "/kind") != "Namespace"
        && !text(object, "/metadata/deletionTimestamp").is_empty()
        && finalizers.is_none_or(Vec::is_empty)
        && object
            .pointer("/metadata/deletionGracePeriodSeconds")
            .and_then(Value::as_i64)
            .unwrap_or(0)
            == 0
}

/// A request, or why it could not be built.
type Built = Result<Request<Vec<u8>>, kube::core::request::Error>;

fn post() -> PostParams {
    PostParams {
        dry_run: false,
        field_manager: Some(FIELD_MANAGER.to_owned()),
    }
}

/// Returns what servers take of an object whose status is written: they keep everything else as it is, and what they don't
/// get they needn't read, prune and compare. Most of a version is its specification.
fn status_alone(object: &Value) -> Value {
    let identity = ["name", "namespace", "uid", "resourceVersion"];
    let identity = identity.iter().filter_map(|field| {
        let value = object.get("metadata")?.get(field)?;
        Some(((*field).to_owned(), value.clone()))
    });
    let fields = ["apiVersion", "kind", "status"].into_iter();
    let fields = fields.filter_map(|field| Some((field.to_owned(), object.get(field)?.clone())));
    let metadata = ("metadata".to_owned(), Value::Object(identity.collect()));
    Value::Object(fields.chain([metadata]).collect())
}

/// Spares the server the search for fields that are unknown or there twice, which is a second reading of the whole object.
fn without_field_validation(mut request: Request<Vec<u8>>) -> Built {
    let uri = request.uri();
    let separator = if uri.query().is_some() { '&' } else { '?' };
    let asked = format!("{uri}{separator}fieldValidation=Ignore");
    *request.uri_mut() = asked
        .parse()
        .map_err(|fault: http::uri::InvalidUri| kube::core::request::Error::BuildRequest(fault.into()))?;
    Ok(request)
}

fn body(object: &Value) -> Result<Vec<u8>, WriteError> {
    serde_json::to_vec(object).map_err(|fault| WriteError::Request(fault.to_string()))
}

/// Makes a request one of a service account, with the groups that such an account has.
fn impersonate(request: &mut Request<Vec<u8>>, account: &ServiceAccount) -> Result<(), WriteError> {
    let ServiceAccount { namespace, name } = account;
    let groups = [
        "system:serviceaccounts".to_owned(),
        format!("system:serviceaccounts:{namespace}"),
        "system:authenticated".to_owned(),
    ];
    let value =
        |text: &str| HeaderValue::from_str(text).map_err(|fault| WriteError::Request(fault.to_string()));
    let headers = request.headers_mut();
    headers.insert(
        HeaderName::from_static("impersonate-user"),
        value(&format!("system:serviceaccount:{namespace}:{name}"))?,
    );
    for group in groups {
        headers.append(HeaderName::from_static("impersonate-group"), value(&group)?);
    }
    Ok(())
}

/// Reads the warnings of an answer: `299 - "text"`.
fn warnings(headers: &http::HeaderMap) -> Vec<String> {
    let texts = headers.get_all(http::header::WARNING).into_iter();
    let texts = texts.filter_map(|value| value.to_str().ok());
    texts
        .filter_map(|text| {
            let quoted = text.strip_prefix("299 ")?.split_once(" \"")?.1;
            let inner = quoted.trim_end().strip_suffix('"').unwrap_or(quoted);
            Some(inner.replace("\\\"", "\"").replace("\\\\", "\\"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_warning_is_read_without_its_code_and_quotes() {
        let mut headers = http::HeaderMap::new();
        headers.append(
            http::header::WARNING,
            HeaderValue::from_static(r#"299 - "policy/v1beta1 \"X\" is deprecated""#),
        );
        headers.append(http::header::WARNING, HeaderValue::from_static("199 - \"other\""));
        assert_eq!(warnings(&headers), [r#"policy/v1beta1 "X" is deprecated"#]);
    }

    #[test]
    fn a_status_is_written_without_what_it_is_the_status_of() {
        let object = json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
            "metadata": {"name": "v", "namespace": "n", "uid": "u", "resourceVersion": "1", "labels": {"a": "b"}},
            "spec": {"version": "1.0.0"},
            "status": {"phase": "Pending"},
        });
        let mut expected = object.clone();
        expected.as_object_mut().expect("an object").remove("spec");
        expected["metadata"]
            .as_object_mut()
            .expect("an object")
            .remove("labels");
        assert_eq!(status_alone(&object), expected);
    }

    #[test]
    fn a_server_may_be_spared_the_validation_of_fields() {
        for (asked, expected) in [
            ("/apis/a/b", "/apis/a/b?fieldValidation=Ignore"),
            (
                "/apis/a/b?&fieldManager=olm",
                "/apis/a/b?&fieldManager=olm&fieldValidation=Ignore",
            ),
        ] {
            let request = Request::get(asked).body(Vec::new()).expect("a request");
            let request = without_field_validation(request).expect("a request");
            assert_eq!(request.uri().to_string(), expected);
        }
    }

    #[test]
    fn a_service_account_speaks_with_its_groups() {
        let mut request = Request::new(Vec::new());
        let account = ServiceAccount {
            namespace: "n".to_owned(),
            name: "a".to_owned(),
        };
        impersonate(&mut request, &account).expect("headers");
        assert_eq!(request.headers()["impersonate-user"], "system:serviceaccount:n:a");
        assert_eq!(request.headers().get_all("impersonate-group").iter().count(), 3);
    }
}
