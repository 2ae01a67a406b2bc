//! Fetching one blob: verified while it streams to disk, and continued where it broke off.

use std::io::Write;

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use oci_client::client::BlobResponse;
use oci_spec::image::Descriptor;
use tokio::sync::mpsc;

use super::connection::{Connection, Purpose};
use super::pull::blocking;
use super::registry::oci_reference;
use super::{Direction, Outcome, Remote, RemoteError, error};
use crate::content::{ContentError, ContentStore, Ingest};
use crate::digest::Digest;

/// How many pieces may wait for the disk; each is at most as long as a piece that the network delivers.
const PIECES_IN_FLIGHT: usize = 32;

/// A connection that delivered this much before it broke off is one that works, so that trying again is not given up.
const WORTHWHILE_BYTES: u64 = 1 << 20;

impl Remote {
    /// Puts a blob into the store, unless it is there.
    pub(super) async fn download(
        &self,
        connection: &Connection,
        store: &ContentStore,
        digest: Digest,
        blob: &Descriptor,
    ) -> Result<(), RemoteError> {
        let progress = &self.options.progress;
        progress.started(Direction::Download, &digest, blob.size());
        if store.contains(&digest) {
            progress.finished(&digest, Outcome::AlreadyThere);
            return Ok(());
        }
        let mut attempts = connection.retry.start();
        let mut renewed = false;
        let mut restarted = false;
        loop {
            let ingest = {
                let store = store.clone();
                let size = blob.size();
                blocking(move || store.ingest(&digest, Some(size))).await?
            };
            let begun_at = ingest.offset();
            let (reached, result) = self
                .continue_download(connection, digest, blob.size(), ingest)
                .await;
            let error = match result {
                Ok(()) => {
                    progress.finished(&digest, Outcome::Transferred);
                    return Ok(());
                }
                Err(error) => error,
            };
            if reached >= begun_at + WORTHWHILE_BYTES {
                attempts.progressed();
            }
            match error {
                // A token may end between two blobs.
                RemoteError::Unauthorized { .. } if !renewed => {
                    renewed = true;
                    connection.forget().await;
                }
                // The beginning may have been damaged by whoever wrote it; the store has thrown it away.
                RemoteError::Tampered { .. } if begun_at > 0 && !restarted => restarted = true,
                error if error.is_transient() && attempts.again().await => {}
                RemoteError::Unreachable { registry, cause } | RemoteError::BrokenOff { registry, cause }
                    if reached > 0 =>
                {
                    return Err(RemoteError::Interrupted {
                        registry,
                        blob: digest,
                        received: reached,
                        size: blob.size(),
                        cause,
                    });
                }
                error => return Err(error),
            }
        }
    }

    /// Fetches what is missing of a blob; also says how far it got.
    async fn continue_download(
        &self,
        connection: &Connection,
        digest: Digest,
        size: u64,
        mut ingest: Ingest,
    ) -> (u64, Result<(), RemoteError>) {
        let offset = ingest.offset();
        let mut reached = offset;
        let result = async {
            if !ingest.is_complete() {
                connection.authorize(Purpose::Pull).await?;
                let name = digest.to_string();
                let response = connection
                    .registry
                    .client
                    .pull_blob_stream_partial(
                        &oci_reference(&connection.reference),
                        name.as_str(),
                        offset,
                        None,
                    )
                    .await
                    .map_err(|error| {
                        let context = connection.context();
                        context.client(error, &format!("send blob {digest}"), &format!("blob {digest}"))
                    })?;
                let stream = match response {
                    BlobResponse::Partial(stream) => stream.stream,
                    BlobResponse::Full(stream) => {
                        ingest.restart()?;
                        reached = 0;
                        stream.stream
                    }
                };
                let written = self
                    .write(connection, digest, size, ingest, stream, &mut reached)
                    .await?;
                ingest = written;
            }
            blocking(move || ingest.commit())
                .await
                .map(drop)
                .map_err(|error| of_content(connection, digest, error))
        }
        .await;
        (reached, result)
    }

    /// Writes a stream to disk on a thread that may block.
    async fn write(
        &self,
        connection: &Connection,
        digest: Digest,
        size: u64,
        mut ingest: Ingest,
        mut stream: impl Stream<Item = std::io::Result<Bytes>> + Unpin,
        reached: &mut u64,
    ) -> Result<Ingest, RemoteError> {
        let (sender, mut receiver) = mpsc::channel::<Bytes>(PIECES_IN_FLIGHT);
        let writer = tokio::task::spawn_blocking(move || {
            while let Some(piece) = receiver.blocking_recv() {
                ingest.write_all(&piece)?;
            }
            Ok::<_, std::io::Error>(ingest)
        });
        let mut broken = None;
        while let Some(piece) = stream.next().await {
            match piece {
                Ok(piece) => {
                    let length = piece.len() as u64;
                    // A closed channel means that writing failed, which the writer says below.
                    if sender.send(piece).await.is_err() {
                        break;
                    }
                    *reached += length;
                    self.options.progress.reached(&digest, *reached);
                }
                Err(error) => {
                    broken = Some(error);
                    break;
                }
            }
        }
        drop(sender);
        let path = std::path::Path::new("content store");
        let ingest = match writer.await {
            Ok(Ok(ingest)) => ingest,
            Ok(Err(error)) => {
                return Err(of_content(
                    connection,
                    digest,
                    ContentError::of_stream(error, path, "write to the"),
                ));
            }
            Err(error) => {
                let error = std::io::Error::other(error);
                return Err(ContentError::of_stream(error, path, "write to the").into());
            }
        };
        match broken {
            // Every byte has come, so that the digest decides, whatever the connection says.
            Some(error) if !ingest.is_complete() => Err(RemoteError::Interrupted {
                registry: connection.reference.registry().to_owned(),
                blob: digest,
                received: ingest.offset(),
                size,
                cause: error::innermost(&error),
            }),
            _ => Ok(ingest),
        }
    }
}

/// What the store says about a blob, told as what the registry did.
fn of_content(connection: &Connection, digest: Digest, error: ContentError) -> RemoteError {
    let registry = connection.reference.registry().to_owned();
    match error {
        ContentError::WrongDigest { found, .. } => RemoteError::Tampered {
            registry,
            what: format!("blob {digest}"),
            cause: format!("the digest of what came is {found}"),
        },
        ContentError::WrongSize { expected, found, .. } if found > expected => RemoteError::Tampered {
            registry,
            what: format!("blob {digest}"),
            cause: format!("it is longer than the {expected} bytes that the manifest says"),
        },
        ContentError::WrongSize { expected, found, .. } => RemoteError::Interrupted {
            registry,
            blob: digest,
            received: found,
            size: expected,
            cause: "the connection ended early".to_owned(),
        },
        other => other.into(),
    }
}
