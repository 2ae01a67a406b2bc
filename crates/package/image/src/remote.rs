//! Fetching images from registries and publishing them there.
//!
//! ```text
//! pull:  mirrors ─► connection (credentials, certificates, tokens) ─► manifests ─► policy ─► blobs, in parallel ─► store
//! push:  store ─► blobs, in parallel (there already? mounted? sent) ─► manifests, children first ─► the tag, last
//! ```
//!
//! Every blob is verified while it streams to disk; one that breaks off is continued where it stopped, by this process
//! or the next. Until an image is complete, its manifest isn't in the store; until all it needs is published, its tag
//! isn't moved. So nobody ever sees half an image.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use oci_spec::image::{Descriptor, MediaType};
use tracing::Instrument as _;

use crate::content::{ContentStore, Pin};
use crate::credentials::{Credentials, Login};
use crate::digest::Digest;
use crate::manifest::{self, MAX_DOCUMENT_BYTES, Manifest};
use crate::mirrors::{Endpoint, Mirrors};
use crate::policy::lookaside::Lookaside;
use crate::policy::{Acceptance, Needs, Policy, PolicyError, PolicySource, Signatures};
use crate::reference::Reference;
use crate::surroundings::Surroundings;

mod blobs;
mod certificates;
mod connection;
mod error;
mod progress;
mod pull;
mod push;
mod referrers;
mod registry;
mod retry;
mod signatures;

pub use certificates::{Certificates, Encryption};
pub use error::RemoteError;
pub use progress::{Direction, Outcome, Progress, Silent};
pub use retry::Retry;

use connection::{Connection, Purpose};
use registry::{Registry, oci_reference};

/// How many blobs are moved at the same time: enough to fill a line, and what registries expect of one client.
const DEFAULT_CONCURRENCY: NonZeroUsize = NonZeroUsize::new(4).expect("four is not zero");

/// The repository that a login is tried with.
const LOGIN_REPOSITORY: &str = "login";

/// How many tags are asked for at a time.
const TAGS_PER_PAGE: usize = 1000;

/// How many tags of one repository are listed: far above any real one.
const TAG_LIMIT: usize = 1_000_000;

/// How registries are talked to, and whom to believe.
#[derive(Clone)]
pub struct RemoteOptions {
    /// Names and passwords.
    pub credentials: Credentials,
    /// Mirrors, blocked and insecure registries.
    pub mirrors: Mirrors,
    /// Which images may be used.
    pub policy: Policy,
    /// Where GPG signatures are kept.
    pub lookaside: Lookaside,
    /// Trusted authorities beside the system's.
    pub certificates: Certificates,
    /// How every registry is talked to, unless `encryption_by_host` or the mirrors say otherwise.
    pub encryption: Encryption,
    /// How single registries are talked to, by `host:port`.
    pub encryption_by_host: BTreeMap<String, Encryption>,
    /// How often to try.
    pub retry: Retry,
    /// How many blobs are moved at the same time.
    pub concurrency: NonZeroUsize,
    /// Who hears how far things are.
    pub progress: Arc<dyn Progress>,
}

impl Default for RemoteOptions {
    /// Nothing configured: no credentials, no mirrors, and every image is accepted.
    fn default() -> Self {
        Self {
            credentials: Credentials::none(),
            mirrors: Mirrors::none(),
            policy: Policy::accept_anything(),
            lookaside: Lookaside::in_folder(Path::new("/var/lib/containers/sigstore")),
            certificates: Certificates::default(),
            encryption: Encryption::Verified,
            encryption_by_host: BTreeMap::new(),
            retry: Retry::default(),
            concurrency: DEFAULT_CONCURRENCY,
            progress: Arc::new(Silent),
        }
    }
}

impl fmt::Debug for RemoteOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RemoteOptions")
            .field("credentials", &self.credentials)
            .field("mirrors", &self.mirrors)
            .field("policy", &self.policy)
            .field("encryption", &self.encryption)
            .finish_non_exhaustive()
    }
}

impl RemoteOptions {
    /// Reads what the user and the system have configured for Docker and Podman.
    pub fn from_surroundings(
        surroundings: &Surroundings,
        policy: &PolicySource,
    ) -> Result<Self, RemoteError> {
        Ok(Self {
            credentials: Credentials::from_surroundings(surroundings),
            mirrors: Mirrors::from_surroundings(surroundings)?,
            policy: Policy::load(policy, surroundings)?,
            lookaside: Lookaside::from_surroundings(surroundings)?,
            certificates: Certificates::from_surroundings(surroundings),
            ..Self::default()
        })
    }

    fn encryption_of(&self, host: &str, insecure: bool) -> Encryption {
        match self.encryption_by_host.get(host) {
            Some(encryption) => *encryption,
            // What listens on this machine needs no certificate, as for Docker.
            None if self.encryption == Encryption::Verified && (insecure || is_loopback(host)) => {
                Encryption::Unverified
            }
            None => self.encryption,
        }
    }
}

/// Whether a registry, given as `host` or `host:port`, is on this machine.
pub fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name == "localhost"
        || name
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

/// Everything behind the network, ready to be asked.
pub struct Remote {
    options: RemoteOptions,
    /// By host, and whether it may be insecure.
    registries: tokio::sync::Mutex<HashMap<(String, bool), Arc<Registry>>>,
    /// Which repositories of a registry are known to have a blob, so that it needn't be sent to the next.
    known: Mutex<HashMap<(String, Digest), BTreeSet<String>>>,
}

/// An image that is completely in the store.
#[derive(Debug)]
pub struct Pulled {
    /// What the name stands for: an index or a manifest.
    pub root: Descriptor,
    /// The manifest for the platform that was asked for; the root itself when it is one.
    pub manifest: Descriptor,
    /// The name that was asked for, with the root's digest.
    pub reference: Reference,
    /// Why the trust policy accepts it.
    pub acceptance: Acceptance,
    /// Keep the image's parts in the store as long as this lives.
    pub pins: Vec<Pin>,
}

impl fmt::Debug for Remote {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Remote")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl Remote {
    /// Makes a remote; nothing is contacted yet.
    #[must_use]
    pub fn new(options: RemoteOptions) -> Self {
        Self {
            options,
            registries: tokio::sync::Mutex::default(),
            known: Mutex::default(),
        }
    }

    /// The options that it was made with.
    pub fn options(&self) -> &RemoteOptions {
        &self.options
    }

    /// Finds what a name stands for at the moment, without fetching it.
    pub async fn resolve(&self, reference: &Reference) -> Result<Descriptor, RemoteError> {
        let reference = reference.or_latest();
        let mut places = self.places(&reference)?;
        while let Some(place) = places.next() {
            match self.resolve_at(&place).await {
                Err(error) if !error.is_final() => places.failed(error),
                result => return result,
            }
        }
        Err(places.exhausted())
    }

    async fn resolve_at(&self, place: &Endpoint) -> Result<Descriptor, RemoteError> {
        self.connect(place, Purpose::Pull).await?.resolve().await
    }

    /// Fetches the manifest or index that a name stands for, without anything that it names; the trust policy applies.
    pub async fn manifest(&self, reference: &Reference) -> Result<(Descriptor, Vec<u8>), RemoteError> {
        let reference = reference.or_latest();
        self.options.policy.refuse_early(&reference)?;
        let mut places = self.places(&reference)?;
        while let Some(place) = places.next() {
            match self.manifest_at(&place, &reference).await {
                Err(error) if !error.is_final() => places.failed(error),
                result => return result,
            }
        }
        Err(places.exhausted())
    }

    async fn manifest_at(
        &self,
        place: &Endpoint,
        reference: &Reference,
    ) -> Result<(Descriptor, Vec<u8>), RemoteError> {
        let connection = self.connect(place, Purpose::Pull).await?;
        let (descriptor, bytes) = connection.manifest().await?;
        let digest = digest_of(reference, &descriptor)?;
        self.check_policy(&connection, reference, &[digest]).await?;
        Ok((descriptor, bytes))
    }

    /// Asks the trust policy about an image for Linux on an architecture, without fetching it. Where no signature has to be
    /// seen, no registry is asked.
    pub async fn verify(&self, reference: &Reference, architecture: &str) -> Result<Acceptance, RemoteError> {
        let reference = reference.or_latest();
        let policy = &self.options.policy;
        policy.refuse_early(&reference)?;
        if policy.needs(&reference) == Needs::default() {
            // Nothing that is demanded looks at the digest.
            return Ok(policy.evaluate(&reference, &Digest::of(&[]), &Signatures::default())?);
        }
        let mut places = self.places(&reference)?;
        while let Some(place) = places.next() {
            match self.verify_at(&place, &reference, architecture).await {
                Err(error) if !error.is_final() => places.failed(error),
                result => return result,
            }
        }
        Err(places.exhausted())
    }

    async fn verify_at(
        &self,
        place: &Endpoint,
        reference: &Reference,
        architecture: &str,
    ) -> Result<Acceptance, RemoteError> {
        let connection = self.connect(place, Purpose::Pull).await?;
        let vouching = pull::vouching(&connection, reference, architecture).await?;
        self.check_policy(&connection, reference, &vouching).await
    }

    /// Lists the tags of a repository, as the registry orders them.
    pub async fn tags(&self, reference: &Reference) -> Result<Vec<String>, RemoteError> {
        let reference = reference.without_version().or_latest();
        let mut places = self.places(&reference)?;
        while let Some(place) = places.next() {
            match self.tags_at(&place).await {
                Err(error) if !error.is_final() => places.failed(error),
                result => return result,
            }
        }
        Err(places.exhausted())
    }

    async fn tags_at(&self, place: &Endpoint) -> Result<Vec<String>, RemoteError> {
        self.connect(place, Purpose::Pull).await?.tags().await
    }

    /// Fetches an image for Linux on an architecture (`amd64`, `arm64` …) into the store.
    pub async fn pull(
        &self,
        store: &ContentStore,
        reference: &Reference,
        architecture: &str,
    ) -> Result<Pulled, RemoteError> {
        self.pull_selected(store, reference, pull::Selection::Architecture(architecture))
            .await
    }

    /// Fetches an image for all its platforms into the store.
    pub async fn pull_everything(
        &self,
        store: &ContentStore,
        reference: &Reference,
    ) -> Result<Pulled, RemoteError> {
        self.pull_selected(store, reference, pull::Selection::Everything)
            .await
    }

    async fn pull_selected(
        &self,
        store: &ContentStore,
        reference: &Reference,
        selection: pull::Selection<'_>,
    ) -> Result<Pulled, RemoteError> {
        let reference = reference.or_latest();
        self.options.policy.refuse_early(&reference)?;
        if let Some(pulled) = self.already_there(store, &reference, selection).await? {
            return Ok(pulled);
        }
        let span = tracing::info_span!(target: "baton::work", "pull", image = %reference);
        self.pull_anywhere(store, &reference, selection)
            .instrument(span)
            .await
    }

    async fn pull_anywhere(
        &self,
        store: &ContentStore,
        reference: &Reference,
        selection: pull::Selection<'_>,
    ) -> Result<Pulled, RemoteError> {
        let mut places = self.places(reference)?;
        while let Some(place) = places.next() {
            match self.pull_at(&place, store, reference, selection).await {
                Err(error) if !error.is_final() => places.failed(error),
                result => return result,
            }
        }
        Err(places.exhausted())
    }

    async fn pull_at(
        &self,
        place: &Endpoint,
        store: &ContentStore,
        reference: &Reference,
        selection: pull::Selection<'_>,
    ) -> Result<Pulled, RemoteError> {
        let connection = self.connect(place, Purpose::Pull).await?;
        self.pull_from(&connection, store, reference, selection).await
    }

    /// Publishes an image of the store under a name.
    pub async fn push(
        &self,
        store: &ContentStore,
        root: &Descriptor,
        reference: &Reference,
    ) -> Result<(), RemoteError> {
        let reference = reference.or_latest();
        let endpoint = self.options.mirrors.push_target(&reference)?;
        let connection = self.connect(&endpoint, Purpose::Push).await?;
        self.push_to(&connection, store, root, &reference).await
    }

    /// Lists where an image may be.
    fn places(&self, reference: &Reference) -> Result<Places, RemoteError> {
        Ok(Places {
            reference: reference.clone(),
            left: self.options.mirrors.endpoints(reference)?.into_iter(),
            failures: Vec::new(),
        })
    }

    async fn connect(&self, endpoint: &Endpoint, purpose: Purpose) -> Result<Connection, RemoteError> {
        let login = self.options.credentials.login_for(&endpoint.reference).await?;
        let key = (endpoint.reference.registry().to_owned(), endpoint.insecure);
        let registry = {
            let mut registries = self.registries.lock().await;
            if let Some(registry) = registries.get(&key) {
                registry.clone()
            } else {
                let registry = Arc::new(Registry::open(endpoint, &self.options, &login).await?);
                registries.insert(key, registry.clone());
                registry
            }
        };
        let connection = Connection::new(registry, endpoint.reference.clone(), login, self.options.retry);
        connection.authorize(purpose).await?;
        Ok(connection)
    }

    /// Shows a registry, given as `host` or `host:port`, a login; an error unless it lets its owner in.
    pub async fn log_in(&self, registry: &str, login: Login) -> Result<(), RemoteError> {
        // A registry is asked about one of its repositories; this one is named in errors, and needn't be there.
        let reference = Reference::parse(&format!("{registry}/{LOGIN_REPOSITORY}"))?;
        let endpoint = Endpoint {
            reference: reference.clone(),
            insecure: false,
        };
        let opened = Registry::open(&endpoint, &self.options, &login).await?;
        Connection::new(Arc::new(opened), reference, login, self.options.retry)
            .greet()
            .await
    }

    /// Remembers that a repository has a blob.
    fn note(&self, reference: &Reference, blob: Digest) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known
            .entry((reference.registry().to_owned(), blob))
            .or_default()
            .insert(reference.repository().to_owned());
    }

    /// Another repository of the same registry that has a blob.
    fn source_of(&self, reference: &Reference, blob: Digest) -> Option<String> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let repositories = known.get(&(reference.registry().to_owned(), blob))?;
        repositories
            .iter()
            .find(|repository| *repository != reference.repository())
            .cloned()
    }

    /// Decides whether the trust policy accepts any of the digests: that of an image, or of an index that vouches for
    /// it by holding its digest.
    async fn check_policy(
        &self,
        connection: &Connection,
        reference: &Reference,
        digests: &[Digest],
    ) -> Result<Acceptance, RemoteError> {
        let policy = &self.options.policy;
        let needs = policy.needs(reference);
        let mut refusal: Option<PolicyError> = None;
        for digest in digests {
            let signatures = signatures::fetch(connection, &self.options.lookaside, digest, needs).await?;
            match policy.evaluate(reference, digest, &signatures) {
                Ok(acceptance) => return Ok(acceptance),
                Err(error) => {
                    refusal.get_or_insert(error);
                }
            }
        }
        // Without a digest there is no image to accept.
        refusal.map_or_else(|| Ok(Acceptance::default()), |error| Err(error.into()))
    }
}

/// The places where an image may be, and what those said that were asked already.
struct Places {
    reference: Reference,
    left: std::vec::IntoIter<Endpoint>,
    failures: Vec<RemoteError>,
}

impl Places {
    fn next(&mut self) -> Option<Endpoint> {
        self.left.next()
    }

    fn failed(&mut self, error: RemoteError) {
        self.failures.push(error);
    }

    /// The error when no place delivered: that of the only one, or all of them.
    fn exhausted(mut self) -> RemoteError {
        match self.failures.pop() {
            Some(only) if self.failures.is_empty() => only,
            last => RemoteError::Everywhere {
                reference: Box::new(self.reference),
                failures: self
                    .failures
                    .iter()
                    .chain(&last)
                    .map(ToString::to_string)
                    .collect(),
            },
        }
    }
}

fn digest_of(reference: &Reference, descriptor: &Descriptor) -> Result<Digest, RemoteError> {
    manifest::digest_of(descriptor).map_err(|source| RemoteError::Image {
        reference: Box::new(reference.clone()),
        source: Box::new(source),
    })
}

impl Connection {
    fn manifest_address(&self, reference: &Reference) -> String {
        let version = match reference.digest() {
            Some(digest) => digest.to_string(),
            None => reference.or_latest().tag().unwrap_or_default().to_owned(),
        };
        self.address(&format!("manifests/{version}"))
    }

    async fn resolve(&self) -> Result<Descriptor, RemoteError> {
        let what = format!("image {}", self.reference);
        let headers = self.head(&self.manifest_address(&self.reference), &what).await?;
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let digest: Option<Digest> = text("docker-content-digest").and_then(|digest| digest.parse().ok());
        let size: Option<u64> = text("content-length").and_then(|length| length.parse().ok());
        let (Some(digest), Some(size), Some(media_type)) = (digest, size, media_type(&headers)) else {
            // The headers are only recommended, so a registry without them is asked for the document.
            return Ok(self.manifest().await?.0);
        };
        if let Some(expected) = self.reference.digest().filter(|expected| *expected != digest) {
            return Err(self.tampered(&what, expected, digest));
        }
        Ok(manifest::descriptor(media_type, &digest, size))
    }

    async fn manifest(&self) -> Result<(Descriptor, Vec<u8>), RemoteError> {
        self.manifest_of(&self.reference).await
    }

    /// Fetches a manifest or index of this repository and verifies it.
    async fn manifest_of(&self, reference: &Reference) -> Result<(Descriptor, Vec<u8>), RemoteError> {
        let what = format!("image {reference}");
        let (headers, bytes) = self
            .get(&self.manifest_address(reference), &what, MAX_DOCUMENT_BYTES)
            .await?;
        let found = Digest::of(&bytes);
        let announced = headers
            .get("docker-content-digest")
            .and_then(|value| value.to_str().ok())
            .and_then(|digest| digest.parse().ok());
        for expected in [reference.digest(), announced].into_iter().flatten() {
            if expected != found {
                return Err(self.tampered(&what, expected, found));
            }
        }
        let media_type = media_type(&headers).unwrap_or(MediaType::Other(String::new()));
        let media_type = manifest_type(&media_type, &bytes);
        Ok((
            manifest::descriptor(media_type, &found, bytes.len() as u64),
            bytes,
        ))
    }

    fn tampered(&self, what: &str, expected: Digest, found: Digest) -> RemoteError {
        RemoteError::Tampered {
            registry: self.reference.registry().to_owned(),
            what: what.to_owned(),
            cause: format!("its digest is {found} instead of {expected}"),
        }
    }

    async fn tags(&self) -> Result<Vec<String>, RemoteError> {
        let reference = oci_reference(&self.reference);
        let auth = oci_client::secrets::RegistryAuth::Anonymous;
        let mut tags: Vec<String> = Vec::new();
        let mut seen = BTreeSet::new();
        let mut attempts = self.retry.start();
        loop {
            self.authorize(Purpose::Pull).await?;
            let client = &self.registry.client;
            let page = client
                .list_tags(
                    &reference,
                    &auth,
                    Some(TAGS_PER_PAGE),
                    tags.last().map(String::as_str),
                )
                .await
                .map_err(|error| {
                    let what = format!("repository {}", self.reference.name());
                    self.context().client(error, "list tags", &what)
                });
            let page = match page {
                Ok(page) => page.tags,
                Err(error) if error.is_transient() && attempts.again().await => continue,
                Err(error) => return Err(error),
            };
            let before = tags.len();
            tags.extend(page.into_iter().filter(|tag| seen.insert(tag.clone())));
            // A registry may give fewer than were asked for, so only a page without anything new is the last.
            if tags.len() == before || tags.len() >= TAG_LIMIT {
                return Ok(tags);
            }
        }
    }
}

fn media_type(headers: &reqwest::header::HeaderMap) -> Option<MediaType> {
    let value = headers.get(reqwest::header::CONTENT_TYPE)?.to_str().ok()?;
    let name = value.split(';').next().unwrap_or_default().trim();
    (!name.is_empty()).then(|| MediaType::from(name))
}

/// The type of a document: what the registry says where that makes sense, otherwise what the document says or is.
fn manifest_type(announced: &MediaType, bytes: &[u8]) -> MediaType {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Typed {
        media_type: Option<String>,
    }
    let known = manifest::descriptor(announced.clone(), &Digest::of(bytes), 0);
    if manifest::is_manifest(&known) {
        return announced.clone();
    }
    let said = serde_json::from_slice::<Typed>(bytes)
        .ok()
        .and_then(|typed| typed.media_type);
    match said {
        Some(name) if !name.is_empty() => MediaType::from(name.as_str()),
        _ => match Manifest::parse(&Digest::of(bytes), announced, bytes) {
            Ok(Manifest::Image(_)) => MediaType::ImageManifest,
            Ok(Manifest::Index(_)) => MediaType::ImageIndex,
            Err(_) => announced.clone(),
        },
    }
}

#[cfg(test)]
mod tests;
