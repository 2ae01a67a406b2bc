//! Publishing an image: blobs first, manifests from the leaves up, the tag last.

use futures_util::{StreamExt, TryStreamExt, stream};
use oci_client::errors::OciDistributionError;
use oci_spec::image::Descriptor;
use reqwest::header::HeaderValue;
use tokio_util::io::ReaderStream;

use super::connection::{Connection, Purpose};
use super::pull::blocking;
use super::registry::oci_reference;
use super::{Direction, Outcome, Remote, RemoteError, digest_of};
use crate::content::ContentStore;
use crate::digest::Digest;
use crate::manifest::{self, MAX_DOCUMENT_BYTES};
use crate::reference::Reference;
use crate::registry::{NOBODY, PUSHER};

/// How much of a blob is read from disk at a time, and the size of a piece where a registry takes no whole blobs.
const PIECE_BYTES: usize = 1 << 20;

impl Remote {
    pub(super) async fn push_to(
        &self,
        connection: &Connection,
        store: &ContentStore,
        root: &Descriptor,
        reference: &Reference,
    ) -> Result<(), RemoteError> {
        let root_digest = digest_of(reference, root)?;
        if reference.digest().is_some_and(|digest| digest != root_digest) {
            return Err(RemoteError::OtherDigest {
                reference: Box::new(reference.clone()),
                found: root_digest,
            });
        }
        let parts = {
            let (store, root) = (store.clone(), root.clone());
            let parts = tokio::task::spawn_blocking(move || manifest::parts(&store, &root)).await;
            parts
                .unwrap_or_else(|error| {
                    Err(crate::content::ContentError::Io {
                        path: std::path::PathBuf::new(),
                        action: "read the image from the content store",
                        source: std::io::Error::other(error),
                    }
                    .into())
                })
                .map_err(|source| RemoteError::Image {
                    reference: Box::new(reference.clone()),
                    source: Box::new(source),
                })?
        };
        let mut manifests = Vec::new();
        let mut blobs = Vec::new();
        for part in parts {
            let digest = digest_of(reference, &part)?;
            if digest == root_digest || manifest::is_manifest(&part) {
                manifests.push((digest, part));
            } else {
                blobs.push((digest, part));
            }
        }
        stream::iter(blobs.into_iter().map(Ok::<_, RemoteError>))
            .try_for_each_concurrent(self.options.concurrency.get(), |(digest, blob)| async move {
                let outcome = self.upload(connection, store, digest, blob.size()).await?;
                self.note(&connection.reference, digest);
                self.options.progress.finished(&digest, outcome);
                Ok(())
            })
            .await?;
        for (digest, part) in manifests {
            let by_digest = connection.reference.with_digest(digest);
            let name = match reference.tag() {
                Some(tag) if digest == root_digest => connection.reference.with_tag(tag)?,
                _ => by_digest,
            };
            self.publish(connection, store, digest, &part, &name).await?;
        }
        Ok(())
    }

    /// Makes sure that the repository has a blob.
    async fn upload(
        &self,
        connection: &Connection,
        store: &ContentStore,
        digest: Digest,
        size: u64,
    ) -> Result<Outcome, RemoteError> {
        self.options.progress.started(Direction::Upload, &digest, size);
        let name = digest.to_string();
        let image = oci_reference(&connection.reference);
        let mut attempts = connection.retry.start();
        let mut renewed = false;
        let mut in_pieces = false;
        loop {
            let result = async {
                connection.authorize(Purpose::Push).await?;
                let client = &connection.registry.client;
                let failed = |error| {
                    let context = connection.context();
                    context.client(
                        error,
                        &format!("take blob {digest}"),
                        &format!("repository {}", connection.reference.name()),
                    )
                };
                if client.blob_exists(&image, &name).await.map_err(failed)? {
                    return Ok(Outcome::AlreadyThere);
                }
                if self.mount(connection, digest).await {
                    return Ok(Outcome::Mounted);
                }
                let client = if in_pieces {
                    &connection.registry.chunked_client
                } else {
                    client
                };
                let body = self.body(store, digest).await?;
                client
                    .push_blob_stream(&image, body, &name, Some(size))
                    .await
                    .map_err(failed)?;
                Ok(Outcome::Transferred)
            }
            .await;
            match result {
                Err(RemoteError::Unauthorized { .. }) if !renewed => {
                    renewed = true;
                    connection.forget().await;
                }
                // Some proxies in front of registries take only small bodies.
                Err(RemoteError::Refused { status: 413, .. }) if !in_pieces => in_pieces = true,
                Err(error) if error.is_transient() && attempts.again().await => {}
                result => return result,
            }
        }
    }

    /// Lets the registry take a blob from another of its repositories; whatever goes wrong, the blob is sent instead.
    async fn mount(&self, connection: &Connection, digest: Digest) -> bool {
        let Some(source) = self.source_of(&connection.reference, digest) else {
            return false;
        };
        if connection.authorize_mount(&source).await.is_err() {
            return false;
        }
        let target = oci_reference(&connection.reference);
        let source = oci_client::Reference::with_tag(
            connection.reference.registry().to_owned(),
            source,
            crate::reference::DEFAULT_TAG.to_owned(),
        );
        let client = &connection.registry.client;
        client
            .mount_blob(&target, &source, &digest.to_string())
            .await
            .is_ok()
    }

    /// The bytes of a blob, as the registry client wants them.
    async fn body(
        &self,
        store: &ContentStore,
        digest: Digest,
    ) -> Result<
        impl stream::Stream<Item = Result<bytes::Bytes, OciDistributionError>> + Send + use<>,
        RemoteError,
    > {
        let file = {
            let store = store.clone();
            blocking(move || store.open_blob(&digest)).await?
        };
        let progress = self.options.progress.clone();
        let mut position = 0;
        let pieces = ReaderStream::with_capacity(tokio::fs::File::from_std(file), PIECE_BYTES);
        Ok(pieces.map(move |piece| {
            if let Ok(piece) = &piece {
                position += piece.len() as u64;
                progress.reached(&digest, position);
            }
            piece.map_err(OciDistributionError::from)
        }))
    }

    /// Publishes a manifest, unless the name stands for it already.
    pub(super) async fn publish(
        &self,
        connection: &Connection,
        store: &ContentStore,
        digest: Digest,
        part: &Descriptor,
        name: &Reference,
    ) -> Result<(), RemoteError> {
        let what = format!("image {name}");
        let address = connection.manifest_address(name);
        let is_there = match connection.head(&address, &what).await {
            Ok(headers) => {
                let says = |header: &str, text: &str| {
                    headers
                        .get(header)
                        .is_some_and(|value| value.as_bytes() == text.as_bytes())
                };
                let is_same = name.digest().is_some() || says("docker-content-digest", &digest.to_string());
                // What nobody is known to have pushed doesn't run, so it is pushed although it is there.
                is_same && !says(PUSHER.as_str(), NOBODY)
            }
            Err(RemoteError::NotFound { .. }) => false,
            Err(error) => return Err(error),
        };
        if is_there {
            return Ok(());
        }
        let bytes: bytes::Bytes = {
            let store = store.clone();
            blocking(move || store.read(&digest, MAX_DOCUMENT_BYTES))
                .await?
                .into()
        };
        let media_type = super::manifest_type(part.media_type(), &bytes);
        let content_type = HeaderValue::from_str(media_type.as_ref()).map_err(|_| RemoteError::Refused {
            registry: connection.reference.registry().to_owned(),
            action: format!("take {what}"),
            status: 0,
            message: format!("{:?} is not a media type", media_type.as_ref()),
        })?;
        let image = oci_reference(name);
        let mut attempts = connection.retry.start();
        let mut renewed = false;
        loop {
            connection.authorize(Purpose::Push).await?;
            let pushed = connection
                .registry
                .client
                .push_manifest_raw(&image, bytes.clone(), content_type.clone())
                .await
                .map_err(|error| connection.context().client(error, &format!("take {what}"), &what));
            match pushed {
                Ok(_) => return Ok(()),
                Err(RemoteError::Unauthorized { .. }) if !renewed => {
                    renewed = true;
                    connection.forget().await;
                }
                Err(error) if error.is_transient() && attempts.again().await => {}
                Err(error) => return Err(error),
            }
        }
    }
}
