//! Fetching an image: its manifests, the policy's word, then its blobs.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::{TryStreamExt, stream};
use oci_spec::image::{Descriptor, MediaType};

use super::connection::Connection;
use super::{Pulled, Remote, RemoteError, digest_of, manifest_type};
use crate::content::{ContentError, ContentStore, Pin};
use crate::digest::Digest;
use crate::manifest::{self, MAX_DOCUMENT_BYTES, Manifest, ManifestError};
use crate::policy::Signatures;
use crate::reference::Reference;

/// How deep indexes may lie within indexes; real ones hold images.
const INDEX_DEPTH_LIMIT: usize = 8;

/// How many manifests one index may lead to: a hundred times what any real one has.
const MANIFEST_LIMIT: usize = 10_000;

/// Which images of an index are fetched.
#[derive(Debug, Clone, Copy)]
pub(super) enum Selection<'a> {
    /// The one for Linux on an architecture.
    Architecture(&'a str),
    /// All of them.
    Everything,
}

/// The manifests of an image, each before those that name it.
struct Manifests {
    documents: Vec<(Descriptor, Vec<u8>)>,
    /// Configurations and layers, each once.
    blobs: BTreeMap<Digest, Descriptor>,
    /// The image for the platform, or the root when everything is fetched.
    chosen: Descriptor,
    /// The digests from the chosen image up to the root: a signature of any of them vouches for the image.
    vouching: Vec<Digest>,
}

/// Runs what blocks on a thread that may.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ContentError> + Send + 'static,
) -> Result<T, ContentError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(ContentError::Io {
            path: std::path::PathBuf::new(),
            action: "finish working in the content store",
            source: std::io::Error::other(error),
        }),
    }
}

impl Remote {
    pub(super) async fn pull_from(
        &self,
        connection: &Connection,
        store: &ContentStore,
        reference: &Reference,
        selection: Selection<'_>,
    ) -> Result<Pulled, RemoteError> {
        let (root, bytes) = connection.manifest().await?;
        let manifests = gather(connection, reference, root.clone(), bytes, selection).await?;
        let acceptance = self
            .check_policy(connection, reference, &manifests.vouching)
            .await?;

        let digests: Vec<Digest> = manifests
            .documents
            .iter()
            .map(|(document, _)| digest_of(reference, document))
            .chain(manifests.blobs.keys().map(|digest| Ok(*digest)))
            .collect::<Result<_, _>>()?;
        let pins = pin(store, digests).await?;
        stream::iter(manifests.blobs.into_iter().map(Ok::<_, RemoteError>))
            .try_for_each_concurrent(self.options.concurrency.get(), |(digest, blob)| async move {
                self.download(connection, store, digest, &blob).await?;
                self.note(&connection.reference, digest);
                Ok(())
            })
            .await?;
        for (_, bytes) in manifests.documents {
            let store = store.clone();
            blocking(move || store.insert(&bytes)).await?;
        }
        Ok(Pulled {
            reference: reference.with_digest(digest_of(reference, &root)?),
            root,
            manifest: manifests.chosen,
            acceptance,
            pins,
        })
    }

    /// An image that is asked for by digest and is in the store needs no network, unless a signature has to be seen.
    pub(super) async fn already_there(
        &self,
        store: &ContentStore,
        reference: &Reference,
        selection: Selection<'_>,
    ) -> Result<Option<Pulled>, RemoteError> {
        let needs = self.options.policy.needs(reference);
        let Some(digest) = reference.digest() else {
            return Ok(None);
        };
        if needs.simple_signing || needs.sigstore || !store.contains(&digest) {
            return Ok(None);
        }
        let found = {
            let store = store.clone();
            let architecture = match selection {
                Selection::Architecture(name) => Some(name.to_owned()),
                Selection::Everything => None,
            };
            tokio::task::spawn_blocking(move || find(&store, digest, architecture.as_deref()))
                .await
                .ok()
                .flatten()
        };
        let Some((root, manifest, pins)) = found else {
            return Ok(None);
        };
        Ok(Some(Pulled {
            reference: reference.with_digest(digest),
            root,
            manifest,
            acceptance: self
                .options
                .policy
                .evaluate(reference, &digest, &Signatures::default())?,
            pins,
        }))
    }
}

/// Finds the digests whose signatures vouch for an image: its own, and those of the indexes that lead to it.
pub(super) async fn vouching(
    connection: &Connection,
    reference: &Reference,
    architecture: &str,
) -> Result<Vec<Digest>, RemoteError> {
    let (root, bytes) = connection.manifest().await?;
    let selection = Selection::Architecture(architecture);
    Ok(gather(connection, reference, root, bytes, selection)
        .await?
        .vouching)
}

/// Looks for a whole image in the store; anything missing or odd means that it has to be fetched.
fn find(
    store: &ContentStore,
    digest: Digest,
    architecture: Option<&str>,
) -> Option<(Descriptor, Descriptor, Vec<Pin>)> {
    let bytes = store.read(&digest, MAX_DOCUMENT_BYTES).ok()?;
    let media_type = manifest_type(&MediaType::Other(String::new()), &bytes);
    let root = manifest::descriptor(media_type, &digest, bytes.len() as u64);
    let mut chosen = root.clone();
    if let Some(architecture) = architecture {
        for _ in 0..INDEX_DEPTH_LIMIT {
            match Manifest::read(store, &chosen).ok()? {
                Manifest::Image(_) => break,
                Manifest::Index(index) => chosen = manifest::select_platform(&index, architecture).ok()?,
            }
        }
    }
    let mut pins = vec![store.pin(&digest).ok()?];
    for part in manifest::parts(store, &chosen).ok()? {
        let digest = manifest::digest_of(&part).ok()?;
        pins.push(store.pin(&digest).ok()?);
        if !store.contains(&digest) {
            return None;
        }
    }
    Some((root, chosen, pins))
}

async fn pin(store: &ContentStore, digests: Vec<Digest>) -> Result<Vec<Pin>, ContentError> {
    let store = store.clone();
    blocking(move || digests.iter().map(|digest| store.pin(digest)).collect()).await
}

/// Fetches the manifests of an image, from the root down.
async fn gather(
    connection: &Connection,
    reference: &Reference,
    root: Descriptor,
    bytes: Vec<u8>,
    selection: Selection<'_>,
) -> Result<Manifests, RemoteError> {
    let broken = |source| RemoteError::Image {
        reference: Box::new(reference.clone()),
        source: Box::new(source),
    };
    let mut documents = Vec::new();
    let mut blobs = BTreeMap::new();
    let mut seen = BTreeSet::new();
    let mut chosen = root.clone();
    let root_digest = digest_of(reference, &root)?;
    let mut vouching = vec![root_digest];
    seen.insert(root_digest);
    let mut waiting = vec![(root, bytes, 0)];
    while let Some((descriptor, bytes, depth)) = waiting.pop() {
        let digest = digest_of(reference, &descriptor)?;
        let parsed = Manifest::parse(&digest, descriptor.media_type(), &bytes).map_err(broken)?;
        documents.push((descriptor, bytes));
        let children = match (&parsed, selection) {
            (Manifest::Image(_), _) => {
                for blob in parsed.children() {
                    blobs.insert(digest_of(reference, &blob)?, blob);
                }
                Vec::new()
            }
            (Manifest::Index(index), Selection::Architecture(architecture)) => {
                let child = manifest::select_platform(index, architecture).map_err(broken)?;
                chosen = child.clone();
                // The image itself comes first: its own signature is the usual one.
                vouching.insert(0, digest_of(reference, &child)?);
                vec![child]
            }
            (Manifest::Index(_), Selection::Everything) => parsed.children(),
        };
        for child in children {
            let digest = digest_of(reference, &child)?;
            if !seen.insert(digest) {
                continue;
            }
            if depth >= INDEX_DEPTH_LIMIT || seen.len() > MANIFEST_LIMIT {
                return Err(broken(ManifestError::TooManyParts {
                    digest: root_digest,
                    limit: if depth >= INDEX_DEPTH_LIMIT {
                        INDEX_DEPTH_LIMIT
                    } else {
                        MANIFEST_LIMIT
                    },
                }));
            }
            let (_, bytes) = connection
                .manifest_of(&connection.reference.with_digest(digest))
                .await?;
            waiting.push((child, bytes, depth + 1));
        }
    }
    // Whoever names a document was visited before it.
    documents.reverse();
    Ok(Manifests {
        documents,
        blobs,
        chosen,
        vouching,
    })
}
