//! The records of a release, in the Secrets of its namespace.
//!
//! ```text
//! Release ─ storage ─► one Secret as Helm writes it │ an index and chunks, where one is too small
//! Records ─ create, update, delete, read ─► server;  history ─► labels only
//! ```
//!
//! An update carries the state of the Secret that was read or written before, so that of two writers one is refused.

mod storage;

use std::collections::BTreeMap;

use apply::refusal::{is_already_there, is_conflict, is_not_found, words};
use chart::release::chunks::{CHUNK_LABELS, INDEX_TYPE};
use chart::release::{DecodeError, Release, SECRET_TYPE, SYSTEM_LABELS, Status, Stored, object_name};
use http::header::{ACCEPT, HeaderValue};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use kube::core::{PartialObjectMeta, Request};
use kube::{Client, Resource as _};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::cluster::{Cluster, Permission};
use crate::history::{History, Revision};
use crate::identity::ReleaseId;
use storage::{Form, SecretBody, StoredSecret, chunk_body};

/// The most revisions between the deployed one and the last one that are looked at; a history has ten by default.
const MOST_UNFINISHED: usize = 10;

/// A record as it is stored.
#[derive(Clone, Debug)]
pub struct Record {
    /// The revision.
    pub release: Release,
    metadata: ObjectMeta,
    form: Form,
}

impl Record {
    /// The state of the Secret that keeps the record.
    pub fn resource_version(&self) -> &str {
        self.metadata.resource_version.as_deref().unwrap_or_default()
    }

    /// All labels of the Secret, Helm's own among them.
    pub fn labels(&self) -> BTreeMap<String, String> {
        self.metadata.labels.clone().unwrap_or_default()
    }

    /// The labels of the Secret that users set.
    pub fn user_labels(&self) -> BTreeMap<String, String> {
        let mut labels = self.labels();
        labels
            .retain(|key, _| !SYSTEM_LABELS.contains(&key.as_str()) && !CHUNK_LABELS.contains(&key.as_str()));
        labels
    }

    /// Who wrote the Secret last, as far as the server knows.
    pub fn written_by(&self) -> Option<&str> {
        written_by(&self.metadata)
    }

    /// When the Secret was written last.
    pub fn written(&self) -> Option<Timestamp> {
        Revision::of(&self.metadata).and_then(|revision| revision.written)
    }

    /// What the labels of the Secret say of the revision.
    pub fn revision(&self) -> Option<Revision> {
        Revision::of(&self.metadata)
    }

    /// The objects that the Secret belongs to.
    pub fn owners(&self) -> &[OwnerReference] {
        self.metadata.owner_references.as_deref().unwrap_or_default()
    }

    /// Returns whether the Secret belongs to an object, known by its identity.
    pub fn is_owned_by(&self, uid: &str) -> bool {
        self.owners().iter().any(|reference| reference.uid == uid)
    }
}

/// Who wrote a Secret last, as far as the server knows.
pub fn written_by(metadata: &ObjectMeta) -> Option<&str> {
    let entries = metadata.managed_fields.as_deref().unwrap_or_default();
    let latest = entries
        .iter()
        .max_by_key(|entry| entry.time.as_ref().map(|time| time.0));
    latest.and_then(|entry| entry.manager.as_deref())
}

/// What the records of a release say.
#[derive(Clone, Debug)]
pub struct Standing {
    /// All revisions, by their labels.
    pub history: History,
    /// The last revision.
    pub last: Record,
    /// The revision whose objects are in the cluster, where that isn't the last one.
    pub base: Option<Record>,
    /// What was tried between the two and came to nothing.
    pub unfinished: Vec<Release>,
}

impl Standing {
    /// The number of the next revision.
    pub fn next_version(&self) -> i64 {
        self.last.release.version.saturating_add(1)
    }

    /// The revision whose objects are in the cluster.
    pub fn base(&self) -> &Record {
        self.base.as_ref().unwrap_or(&self.last)
    }

    /// What state the last revision is in.
    pub fn status(&self) -> &Status {
        &self.last.release.info.status
    }
}

/// A record that can't be read or written.
#[derive(Debug, Error)]
pub enum RecordError {
    /// There is one already.
    #[error("release: already exists")]
    Exists,
    /// There is none.
    #[error("release: not found")]
    NotFound,
    /// Somebody else wrote it since it was read.
    #[error("Secret {0:?} of the release was changed by another program meanwhile")]
    Changed(String),
    /// The server refused, or did not answer.
    #[error("{doing}: {}", words(source))]
    Server {
        /// What was tried, in Helm's words.
        doing: &'static str,
        /// What must be allowed for it.
        permission: Permission,
        /// What it said.
        source: Box<kube::Error>,
    },
    /// It is no record.
    #[error("Secret {secret:?} of the release: {cause}")]
    Unreadable {
        /// The Secret.
        secret: String,
        /// What is wrong with it.
        cause: String,
    },
    /// It is larger than all its Secrets may be.
    #[error(
        "the record of revision {version} of release {name:?} has {bytes} bytes compressed, more than can be kept; leave large files out of the chart"
    )]
    TooLarge {
        /// The release.
        name: String,
        /// The revision.
        version: i64,
        /// Its size.
        bytes: usize,
    },
}

impl RecordError {
    pub(crate) fn missing_permission(&self) -> Option<Permission> {
        match self {
            Self::Server {
                permission, source, ..
            } if matches!(source.as_ref(), kube::Error::Api(status) if status.reason == "Forbidden") => {
                Some(permission.clone())
            }
            _ => None,
        }
    }

    fn unreadable(secret: &str, cause: &DecodeError) -> Self {
        Self::Unreadable {
            secret: secret.to_owned(),
            cause: cause.to_string(),
        }
    }
}

/// The metadata of an answer.
#[derive(Deserialize)]
struct Answer {
    metadata: ObjectMeta,
}

/// The records of one release.
#[derive(Clone)]
pub struct Records {
    cluster: Cluster,
    id: ReleaseId,
    owner: Option<OwnerReference>,
}

impl Records {
    /// Looks after the records of a release.
    pub fn new(cluster: &Cluster, id: &ReleaseId) -> Self {
        Self {
            cluster: cluster.clone(),
            id: id.clone(),
            owner: None,
        }
    }

    /// Makes an object own the records that are written, so that they go with it.
    pub fn owned_by(mut self, owner: Option<OwnerReference>) -> Self {
        self.owner = owner;
        self
    }

    /// Lists the revisions by their labels, without reading them.
    pub async fn history(&self) -> Result<History, RecordError> {
        let selector = format!("name={},owner=helm", self.id.name);
        let mut revisions = Vec::new();
        let mut parameters = ListParams::default().labels(&selector);
        loop {
            let listed = self
                .secrets()
                .list_metadata(&parameters)
                .await
                .map_err(self.failed("query: failed to query with labels", "list"))?;
            revisions.extend(
                listed
                    .items
                    .iter()
                    .filter_map(|item: &PartialObjectMeta<Secret>| Revision::of(&item.metadata)),
            );
            match listed.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => parameters = parameters.continue_token(&token),
                None => return Ok(History::new(revisions)),
            }
        }
    }

    /// Reads a revision; none if there is no such record.
    pub async fn read(&self, version: i64) -> Result<Option<Record>, RecordError> {
        let name = object_name(&self.id.name, version);
        let Some(secret) = self.get(&name).await? else {
            return Ok(None);
        };
        let (release, form) = if secret.kind == INDEX_TYPE {
            let mut data = secret.chunk()?;
            let further = secret.further_chunks()?;
            for chunk in &further {
                let Some(chunk) = self.get(chunk).await? else {
                    return Err(RecordError::Unreadable {
                        secret: name,
                        cause: format!("its chunk {chunk:?} is gone"),
                    });
                };
                data.extend_from_slice(&chunk.chunk()?);
            }
            (Release::decompress(&data), Form::Chunked { further })
        } else {
            (Release::decode(&secret.release()?), Form::Helm)
        };
        let release = release.map_err(|cause| RecordError::unreadable(&name, &cause))?;
        Ok(Some(Record {
            release,
            metadata: secret.metadata,
            form,
        }))
    }

    /// Reads the last revision; none if there is no release.
    pub async fn last(&self) -> Result<Option<Record>, RecordError> {
        match self.history().await?.last() {
            Some(revision) => self.read(revision.version).await,
            None => Ok(None),
        }
    }

    /// Reads the last revision that is deployed; none if there is none.
    pub async fn deployed(&self) -> Result<Option<Record>, RecordError> {
        match self.history().await?.deployed() {
            Some(revision) => self.read(revision.version).await,
            None => Ok(None),
        }
    }

    /// Reads what the records say; none if there is no release.
    pub async fn standing(&self) -> Result<Option<Standing>, RecordError> {
        let history = self.history().await?;
        let Some(last) = history.last() else {
            return Ok(None);
        };
        let last = self.existing(last.version).await?;
        if last.release.info.status == Status::Deployed {
            return Ok(Some(Standing {
                history,
                last,
                base: None,
                unfinished: Vec::new(),
            }));
        }
        let version = last.release.version;
        let base = match history.base_before(version) {
            Some(base) => Some(self.existing(base.version).await?),
            None => None,
        };
        let mut unfinished = Vec::new();
        if let Some(base) = &base {
            let between = history
                .revisions()
                .iter()
                .filter(|revision| revision.version > base.release.version && revision.version < version);
            for revision in between.rev().take(MOST_UNFINISHED) {
                unfinished.push(self.existing(revision.version).await?.release);
            }
            unfinished.push(last.release.clone());
        }
        Ok(Some(Standing {
            history,
            last,
            base,
            unfinished,
        }))
    }

    async fn existing(&self, version: i64) -> Result<Record, RecordError> {
        self.read(version).await?.ok_or(RecordError::NotFound)
    }

    /// Stores a new revision, with labels besides Helm's own.
    pub async fn create(
        &self,
        release: Release,
        labels: &BTreeMap<String, String>,
    ) -> Result<Record, RecordError> {
        let stored = storage::fit(&release)?;
        let mut labels = labels.clone();
        labels.retain(|key, _| !CHUNK_LABELS.contains(&key.as_str()));
        let metadata = ObjectMeta {
            name: Some(object_name(&release.name, release.version)),
            namespace: Some(self.id.namespace.clone()),
            labels: Some(release.labels(&labels, Stored::Created(Timestamp::now().as_second()))),
            owner_references: self.owner.clone().map(|owner| vec![owner]),
            ..ObjectMeta::default()
        };
        let (form, body) = self.stored(&release, metadata, stored).await?;
        let request = self.address().create(&self.posting(), body);
        let metadata = self
            .send::<Answer>(request)
            .await
            .map_err(|error| match &error {
                error if is_already_there(error) => RecordError::Exists,
                _ => self.failed("create: failed to create", "create")(error),
            })?
            .metadata;
        Ok(Record {
            release,
            metadata,
            form,
        })
    }

    /// Stores the present state of a revision, unless somebody else wrote it meanwhile.
    pub async fn update(&self, record: &mut Record) -> Result<(), RecordError> {
        let stored = storage::refit(&record.release, &record.form)?;
        let mut labels = record.labels();
        labels.remove("createdAt");
        let now = Stored::Modified(Timestamp::now().as_second());
        let name = object_name(&record.release.name, record.release.version);
        let metadata = ObjectMeta {
            name: Some(name.clone()),
            namespace: Some(self.id.namespace.clone()),
            labels: Some(record.release.labels(&labels, now)),
            annotations: record.metadata.annotations.clone(),
            finalizers: record.metadata.finalizers.clone(),
            owner_references: self.owners(record),
            resource_version: record.metadata.resource_version.clone(),
            ..ObjectMeta::default()
        };
        let former = record.form.further().to_vec();
        let (form, body) = self.stored(&record.release, metadata, stored).await?;
        let request = self.address().replace(&name, &self.posting(), body);
        let written = self.send::<Answer>(request).await.map_err(|error| match &error {
            error if is_conflict(error) => RecordError::Changed(name.clone()),
            error if is_not_found(error) => RecordError::NotFound,
            _ => self.failed("update: failed to update", "update")(error),
        })?;
        record.metadata = written.metadata;
        record.form = form;
        let outdated = former
            .iter()
            .filter(|chunk| !record.form.further().contains(chunk));
        for chunk in outdated {
            self.delete_secret(chunk).await?;
        }
        Ok(())
    }

    /// Deletes a revision; one that isn't there is no error.
    pub async fn delete(&self, revision: &Revision) -> Result<(), RecordError> {
        let further = if revision.labels.get("type").map(String::as_str) == Some("index") {
            let index = self.get(&revision.secret).await?;
            index
                .map(|index| index.further_chunks())
                .transpose()?
                .unwrap_or_default()
        } else {
            Vec::new()
        };
        self.delete_secret(&revision.secret).await?;
        for chunk in further {
            self.delete_secret(&chunk).await?;
        }
        Ok(())
    }

    /// Deletes the record of a revision that was just written.
    pub(crate) async fn delete_record(&self, record: &Record) -> Result<(), RecordError> {
        self.delete_secret(&object_name(&record.release.name, record.release.version))
            .await?;
        for chunk in record.form.further() {
            self.delete_secret(chunk).await?;
        }
        Ok(())
    }

    /// Deletes the oldest revisions so that one more fits into the limit; 0 is none.
    pub async fn prune(&self, history: &History, limit: usize) -> Result<(), RecordError> {
        for revision in history.outdated(limit) {
            self.delete(revision).await?;
        }
        Ok(())
    }

    /// Returns the owners of a record, with the one that all records are to have.
    fn owners(&self, record: &Record) -> Option<Vec<OwnerReference>> {
        let mut owners = record.metadata.owner_references.clone().unwrap_or_default();
        if let Some(owner) = &self.owner
            && !owners.iter().any(|known| known.uid == owner.uid)
        {
            let mut owner = owner.clone();
            // Only one may control an object.
            if owners.iter().any(|known| known.controller == Some(true)) {
                owner.controller = None;
            }
            owners.push(owner);
        }
        (!owners.is_empty()).then_some(owners)
    }

    /// Returns the body of the Secret that a record is found by, after storing the chunks that it names. A chunk is
    /// named by what it holds, so that one that is there already is the same.
    async fn stored(
        &self,
        release: &Release,
        mut metadata: ObjectMeta,
        stored: storage::Stored,
    ) -> Result<(Form, Vec<u8>), RecordError> {
        match stored {
            storage::Stored::Whole(data) => {
                let body = SecretBody::new(&metadata, SECRET_TYPE, "release", data.as_bytes()).written();
                Ok((Form::Helm, body))
            }
            storage::Stored::Chunks(chunks) => {
                let key = object_name(&release.name, release.version);
                let labels = metadata.labels.get_or_insert_default();
                labels.insert("type".to_owned(), "index".to_owned());
                // Upstream's label; the names of long releases don't fit into one.
                if key.len() <= storage::MAX_LABEL {
                    labels.insert("key".to_owned(), key.clone());
                }
                let mut further = Vec::new();
                for chunk in chunks.iter().skip(1) {
                    let body = chunk_body(&key, chunk, &metadata);
                    let name = chart::release::chunks::chunk_name(&key, chunk);
                    let request = self.address().create(&self.posting(), body);
                    match self.send::<Answer>(request).await {
                        Err(error) if !is_already_there(&error) => {
                            return Err(self.failed("create: failed to create", "create")(error));
                        }
                        _ => further.push(name),
                    }
                }
                let first = chunks.first().map(Vec::as_slice).unwrap_or_default();
                let body = SecretBody::index(&metadata, first, &further).written();
                Ok((Form::Chunked { further }, body))
            }
        }
    }

    async fn get(&self, name: &str) -> Result<Option<StoredSecret>, RecordError> {
        let request = self.address().get(name, &kube::api::GetParams::default());
        let request = request.map_err(kube::Error::BuildRequest);
        let sent = match request {
            Ok(request) => self.client().request(request).await,
            Err(error) => Err(error),
        };
        match sent {
            Ok(secret) => Ok(Some(secret)),
            Err(error) if is_not_found(&error) => Ok(None),
            Err(error) => Err(self.failed("get: failed to get", "get")(error)),
        }
    }

    async fn delete_secret(&self, name: &str) -> Result<(), RecordError> {
        match self.secrets().delete(name, &DeleteParams::default()).await {
            Err(error) if !is_not_found(&error) => {
                Err(self.failed("delete: failed to delete", "delete")(error))
            }
            _ => Ok(()),
        }
    }

    async fn send<T: DeserializeOwned>(
        &self,
        request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
    ) -> Result<T, kube::Error> {
        let mut request = request.map_err(kube::Error::BuildRequest)?;
        request
            .headers_mut()
            .insert(ACCEPT, HeaderValue::from_static(crate::cluster::METADATA_ONLY));
        self.client().request(request).await
    }

    fn client(&self) -> &Client {
        self.cluster.client()
    }

    fn secrets(&self) -> Api<Secret> {
        Api::namespaced(self.client().clone(), &self.id.namespace)
    }

    fn address(&self) -> Request {
        Request::new(Secret::url_path(&(), Some(&self.id.namespace)))
    }

    fn posting(&self) -> PostParams {
        PostParams {
            dry_run: false,
            field_manager: Some(self.cluster.manager().to_owned()),
        }
    }

    fn failed(&self, doing: &'static str, verb: &'static str) -> impl Fn(kube::Error) -> RecordError {
        let namespace = self.id.namespace.clone();
        move |source| RecordError::Server {
            doing,
            permission: Permission {
                verb,
                group: String::new(),
                resource: "secrets".to_owned(),
                namespace: namespace.clone(),
            },
            source: Box::new(source),
        }
    }
}
