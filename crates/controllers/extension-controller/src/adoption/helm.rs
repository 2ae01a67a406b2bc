//! Extensions that upstream's Helm applier installed: the release becomes the first revision.
//!
//! A release is kept as gzipped JSON in Secrets: an index with the first chunk and the names of the further ones; what
//! upstream's controller noted of the bundle are labels of the index, or annotations where they don't fit into labels.
//! The revision says of itself that it succeeded, since what it holds is running already; its objects are taken over
//! from whoever owns them.

use std::collections::BTreeMap;
use std::sync::PoisonError;

use api::cluster_extension::BundleMetadata;
use api::cluster_object_set::CollisionProtection;
use api::condition::{self, ConditionStatus, Statement, is_true};
use api::{ClusterExtension, ClusterObjectSet, keys};
use apply::refusal::words;
use chart::release::chunks::{CHUNK_KEY, CHUNK_LABELS, FURTHER_KEY, MAX_CHUNKS, further_names};
use chart::release::{DecodeError, SYSTEM_LABELS};
use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, ListParams, Patch, PatchParams};
use serde_json::{Value, json};
use thiserror::Error;

use crate::acting::Actor;
use crate::catalogs::Catalogs;
use crate::notice::Notice;
use crate::observing::Observer;
use crate::revisions::Desired;
use crate::snapshot::Content;
use crate::standing::Bundle;
use crate::status::{SUCCEEDED, reason};

/// Who owns the Secrets of releases.
const OWNER: &str = "operator-controller";

/// A Helm release, as far as it counts here.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Release {
    /// Its number.
    pub version: i64,
    /// What became of it.
    pub info: ReleaseInfo,
    /// Its objects.
    pub manifest: String,
    /// What upstream's controller wrote of the bundle.
    pub labels: BTreeMap<String, String>,
}

/// What became of a release.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReleaseInfo {
    /// `deployed`, `failed`, `superseded` …
    pub status: String,
}

/// A release that can't be read.
#[derive(Debug, Error)]
pub enum ReleaseError {
    /// A Secret lacks what it should hold.
    #[error("Secret {secret:?} of a Helm release has no {key:?}")]
    Missing {
        /// The Secret.
        secret: String,
        /// The key.
        key: &'static str,
    },
    /// It has more parts than any release has.
    #[error("the Helm release in Secret {0:?} has more than {MAX_CHUNKS} chunks")]
    TooManyChunks(String),
    /// It isn't a release.
    #[error("the Helm release in Secret {secret:?} can't be read: {cause}")]
    Unreadable {
        /// The Secret.
        secret: String,
        /// Why.
        cause: DecodeError,
    },
}

impl Release {
    /// Unpacks a release from the bytes of all its chunks, with what its index says of the bundle.
    ///
    /// # Errors
    ///
    /// If it isn't one.
    pub fn read(secret: &str, bytes: &[u8], labels: BTreeMap<String, String>) -> Result<Self, ReleaseError> {
        let record =
            chart::release::Release::decompress(bytes).map_err(|cause| ReleaseError::Unreadable {
                secret: secret.to_owned(),
                cause,
            })?;
        Ok(Self {
            version: record.version,
            info: ReleaseInfo {
                status: record.info.status.to_string(),
            },
            manifest: record.manifest,
            labels,
        })
    }

    /// Returns the bundle that the release installed.
    pub fn bundle(&self) -> Bundle {
        let label = |key: &str| self.labels.get(key).cloned().unwrap_or_default();
        Bundle {
            package: label(keys::PACKAGE_NAME),
            image: label(keys::BUNDLE_REFERENCE),
            metadata: BundleMetadata {
                name: label(keys::BUNDLE_NAME),
                version: label(keys::BUNDLE_VERSION),
                release: self.labels.get(keys::BUNDLE_RELEASE).cloned(),
            },
        }
    }

    /// Returns the objects that the release installed.
    ///
    /// # Errors
    ///
    /// If the manifest isn't one.
    pub fn objects(&self) -> Result<Vec<Value>, String> {
        let mut objects = Vec::new();
        for document in goyaml::documents(self.manifest.as_bytes()) {
            let document = document.map_err(|fault| fault.to_string())?;
            let value = document
                .to_value(goyaml::ReadOptions::default())
                .map_err(|fault| fault.to_string())?;
            if value.is_object() {
                objects.push(value);
            }
        }
        Ok(objects)
    }
}

/// Returns the release that is installed: the newest that was deployed.
pub fn deployed(releases: Vec<Release>) -> Option<Release> {
    let deployed = releases
        .into_iter()
        .filter(|release| release.info.status == "deployed");
    deployed.max_by_key(|release| release.version)
}

/// Returns the first revision of an extension, made from what a release installed.
///
/// # Errors
///
/// If the release's objects can't be read.
pub fn first_revision(extension: &ClusterExtension, release: &Release) -> Result<Desired, String> {
    let content = Content {
        bundle: release.bundle(),
        objects: release.objects()?,
        properties: None,
        signature: None,
        definitions: BTreeMap::new(),
    };
    let deadline = extension
        .spec
        .progress_deadline_minutes
        .filter(|minutes| *minutes > 0);
    let mut desired = Desired::new(extension, &content, deadline);
    desired.collision_protection = CollisionProtection::None;
    desired
        .labels
        .insert(keys::MIGRATED_FROM_HELM.to_owned(), "true".to_owned());
    Ok(desired)
}

/// Makes the first revision of an extension that Helm installed, unless it has revisions already.
///
/// # Errors
///
/// If its release can't be read, or the revision can't be made.
pub async fn adopt<C: Catalogs>(
    observer: &Observer<C>,
    actor: &Actor<'_>,
    extension: &ClusterExtension,
) -> Result<Option<Notice>, String> {
    let revisions = observer.index.revisions_of(extension.name());
    if let Some(first) = revisions.iter().find(|revision| revision.spec.revision == 1) {
        if is_migrated(first) && !is_true(&first.status.conditions, SUCCEEDED) {
            mark_succeeded(actor, first).await.map_err(|fault| {
                format!(
                    "migrating storage: updating migrated revision status: {}",
                    words(&fault)
                )
            })?;
        }
        return Ok(None);
    }
    if !revisions.is_empty() {
        return Ok(None);
    }
    let uid = extension.metadata.uid.clone().unwrap_or_default();
    let is_known = {
        let without_release = observer.without_release.lock();
        without_release
            .unwrap_or_else(PoisonError::into_inner)
            .contains(&uid)
    };
    if is_known {
        return Ok(None);
    }
    let releases = releases(&observer.client, &observer.system_namespace, extension.name())
        .await
        .map_err(|fault| format!("migrating storage: {fault}"))?;
    let Some(release) = deployed(releases) else {
        let without_release = observer.without_release.lock();
        without_release
            .unwrap_or_else(PoisonError::into_inner)
            .insert(uid);
        return Ok(None);
    };
    let next = first_revision(extension, &release)
        .and_then(|desired| {
            let next = desired.next(extension, 0, &observer.system_namespace);
            next.map_err(|fault| fault.to_string())
        })
        .map_err(|fault| format!("migrating storage: {fault}"))?;
    actor
        .create(&next)
        .await
        .map_err(|fault| format!("migrating storage: {fault}"))?;
    if let Some(made) = observer.index.object_set(next.object_set.name()) {
        mark_succeeded(actor, &made).await.map_err(|fault| {
            format!(
                "migrating storage: updating migrated revision status: {}",
                words(&fault)
            )
        })?;
    }
    let bundle = release.bundle();
    Ok(Some(Notice::adopted(&format!(
        "bundle {} of Helm release {} is looked after as revision {}",
        bundle.metadata.name,
        release.version,
        next.object_set.name()
    ))))
}

fn is_migrated(object_set: &ClusterObjectSet) -> bool {
    let labels = object_set.metadata.labels.as_ref();
    labels.is_some_and(|labels| {
        labels
            .get(keys::MIGRATED_FROM_HELM)
            .is_some_and(|value| value == "true")
    })
}

async fn mark_succeeded(actor: &Actor<'_>, object_set: &ClusterObjectSet) -> Result<(), kube::Error> {
    let mut conditions = object_set.status.conditions.clone();
    let statement = Statement::new(
        SUCCEEDED,
        ConditionStatus::True,
        reason::SUCCEEDED,
        "Revision succeeded - migrated from Helm release",
    );
    condition::set(
        &mut conditions,
        statement,
        object_set.generation(),
        Timestamp::now(),
    );
    let object_sets: Api<ClusterObjectSet> = Api::all(actor.client.clone());
    // The engine writes conditions too: whoever is later must have seen what the other wrote.
    let patch = json!({
        "metadata": {"resourceVersion": object_set.metadata.resource_version},
        "status": {"conditions": conditions},
    });
    let written = object_sets
        .patch_status(object_set.name(), &PatchParams::default(), &Patch::Merge(&patch))
        .await?;
    actor.object_set_written(written);
    Ok(())
}

/// Reads the releases of an extension.
async fn releases(client: &kube::Client, namespace: &str, extension: &str) -> Result<Vec<Release>, String> {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let selector = format!("name={extension},owner={OWNER},type=index");
    let indexes = secrets
        .list(&ListParams::default().labels(&selector))
        .await
        .map_err(|fault| words(&fault))?;
    let mut releases = Vec::new();
    for index in &indexes.items {
        let name = index.metadata.name.as_deref().unwrap_or_default();
        let mut bytes = data(index, CHUNK_KEY)
            .map_err(|fault| fault.to_string())?
            .to_vec();
        let further = match data(index, FURTHER_KEY) {
            Ok(names) if !names.is_empty() => further_names(names).map_err(|fault| {
                let (secret, cause) = (name.to_owned(), DecodeError::Json(fault));
                ReleaseError::Unreadable { secret, cause }.to_string()
            })?,
            _ => Vec::new(),
        };
        if further.len() >= MAX_CHUNKS {
            return Err(ReleaseError::TooManyChunks(name.to_owned()).to_string());
        }
        for chunk in further {
            let chunk = secrets.get(&chunk).await.map_err(|fault| words(&fault))?;
            bytes.extend_from_slice(data(&chunk, CHUNK_KEY).map_err(|fault| fault.to_string())?);
        }
        let release = Release::read(name, &bytes, notes(index));
        releases.push(release.map_err(|fault| fault.to_string())?);
    }
    Ok(releases)
}

/// Returns what the index of a release says besides what it is found by.
fn notes(index: &Secret) -> BTreeMap<String, String> {
    let mut notes = index.metadata.labels.clone().unwrap_or_default();
    notes.retain(|key, _| !SYSTEM_LABELS.contains(&key.as_str()) && !CHUNK_LABELS.contains(&key.as_str()));
    notes.extend(index.metadata.annotations.clone().unwrap_or_default());
    notes
}

fn data<'a>(secret: &'a Secret, key: &'static str) -> Result<&'a [u8], ReleaseError> {
    let found = secret.data.as_ref().and_then(|data| data.get(key));
    found
        .map(|ByteString(bytes)| bytes.as_slice())
        .ok_or_else(|| ReleaseError::Missing {
            secret: secret.metadata.name.clone().unwrap_or_default(),
            key,
        })
}
