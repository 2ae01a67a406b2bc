//! Collecting the signatures of an image, for the policy to judge.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use oci_spec::image::Descriptor;
use serde::Deserialize;

use super::connection::Connection;
use super::{RemoteError, digest_of, referrers};
use crate::digest::Digest;
use crate::manifest::Manifest;
use crate::policy::lookaside::{Location, Lookaside};
use crate::policy::{Needs, PolicyError, Signatures, SigstoreSignature};

/// The longest signature that is read; real ones have a few kilobytes.
const SIGNATURE_SIZE_LIMIT: u64 = 4 << 20;

/// How many signatures of one image are looked at.
const SIGNATURE_LIMIT: usize = 64;

/// What cosign calls the signed text.
const PAYLOAD_TYPE: &str = "application/vnd.dev.cosign.simplesigning.v1+json";

/// Where cosign puts the signature of the text.
const SIGNATURE_ANNOTATION: &str = "dev.cosignproject.cosign/signature";

/// What cosign calls a signature that refers to its image.
const ARTIFACT_TYPE: &str = "application/vnd.dev.cosign.artifact.sig.v1+json";

/// Fetches the signatures that the policy needs to see.
pub(super) async fn fetch(
    connection: &Connection,
    lookaside: &Lookaside,
    digest: &Digest,
    needs: Needs,
) -> Result<Signatures, RemoteError> {
    let mut signatures = Signatures::default();
    if needs.simple_signing {
        signatures.simple_signing = if connection.registry.has_signatures {
            from_extension(connection, digest).await?
        } else {
            from_lookaside(connection, lookaside, digest).await?
        };
    }
    if needs.sigstore {
        let tag = format!("{}.sig", digest.to_string().replace(':', "-"));
        let reference = connection.reference.with_tag(&tag)?;
        match connection.manifest_of(&reference).await {
            Ok((descriptor, bytes)) => {
                attached(connection, &descriptor, &bytes, &mut signatures.sigstore).await?;
            }
            Err(RemoteError::NotFound { .. }) => {}
            Err(error) => return Err(error),
        }
        let referrers = referrers::listed(connection, digest).await?;
        let signing = referrers
            .into_iter()
            .filter(|referrer| referrers::is_of(referrer, ARTIFACT_TYPE));
        for referrer in signing.take(SIGNATURE_LIMIT) {
            let digest = digest_of(&connection.reference, &referrer)?;
            let (descriptor, bytes) = connection
                .manifest_of(&connection.reference.with_digest(digest))
                .await?;
            attached(connection, &descriptor, &bytes, &mut signatures.sigstore).await?;
        }
    }
    Ok(signatures)
}

async fn from_lookaside(
    connection: &Connection,
    lookaside: &Lookaside,
    digest: &Digest,
) -> Result<Vec<Vec<u8>>, RemoteError> {
    let mut signatures = Vec::new();
    for index in 0..SIGNATURE_LIMIT {
        let location = lookaside
            .location(&connection.reference, digest, index)
            .map_err(|cause| PolicyError::Lookaside {
                path: "registries.d".into(),
                cause,
            })?;
        let signature = match location {
            Location::Address(address) => connection.get_elsewhere(&address, SIGNATURE_SIZE_LIMIT).await?,
            Location::File(path) => match tokio::fs::read(&path).await {
                Ok(bytes) => Some(bytes),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
                Err(error) => {
                    return Err(PolicyError::Lookaside {
                        path,
                        cause: error.to_string(),
                    }
                    .into());
                }
            },
        };
        match signature {
            Some(signature) => signatures.push(signature),
            None => break,
        }
    }
    Ok(signatures)
}

/// The registry of `OpenShift` keeps signatures itself.
async fn from_extension(connection: &Connection, digest: &Digest) -> Result<Vec<Vec<u8>>, RemoteError> {
    #[derive(Deserialize)]
    struct Listing {
        #[serde(default)]
        signatures: Vec<Entry>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Entry {
        #[serde(default)]
        schema_version: u32,
        #[serde(default)]
        r#type: String,
        #[serde(default)]
        content: String,
    }
    let what = format!("signatures of {digest}");
    let address = connection.extension_address(&format!("signatures/{digest}"));
    let bytes = match connection.get(&address, &what, SIGNATURE_SIZE_LIMIT).await {
        Ok((_, bytes)) => bytes,
        Err(RemoteError::NotFound { .. }) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let listing: Listing =
        serde_json::from_slice(&bytes).map_err(|error| malformed(connection, &what, &error))?;
    Ok(listing
        .signatures
        .iter()
        .filter(|entry| entry.schema_version == 2 && entry.r#type == "atomic")
        .filter_map(|entry| STANDARD.decode(&entry.content).ok())
        .take(SIGNATURE_LIMIT)
        .collect())
}

/// Reads the signatures that a manifest holds as its layers.
async fn attached(
    connection: &Connection,
    descriptor: &Descriptor,
    bytes: &[u8],
    signatures: &mut Vec<SigstoreSignature>,
) -> Result<(), RemoteError> {
    let broken = |source| RemoteError::Image {
        reference: Box::new(connection.reference.clone()),
        source: Box::new(source),
    };
    let digest = digest_of(&connection.reference, descriptor)?;
    let Manifest::Image(image) = Manifest::parse(&digest, descriptor.media_type(), bytes).map_err(broken)?
    else {
        return Ok(());
    };
    for layer in image.layers() {
        if layer.media_type().as_ref() != PAYLOAD_TYPE || signatures.len() >= SIGNATURE_LIMIT {
            continue;
        }
        let annotations = layer.annotations().as_ref();
        let Some(signature) = annotations.and_then(|annotations| annotations.get(SIGNATURE_ANNOTATION))
        else {
            continue;
        };
        let digest = digest_of(&connection.reference, layer)?;
        let what = format!("signature {digest}");
        let address = connection.address(&format!("blobs/{digest}"));
        let (_, payload) = connection.get(&address, &what, SIGNATURE_SIZE_LIMIT).await?;
        let found = Digest::of(&payload);
        if found != digest {
            return Err(connection.tampered(&what, digest, found));
        }
        signatures.push(SigstoreSignature {
            payload,
            signature: signature.clone(),
        });
    }
    Ok(())
}

pub(super) fn malformed(connection: &Connection, what: &str, error: &serde_json::Error) -> RemoteError {
    RemoteError::Refused {
        registry: connection.reference.registry().to_owned(),
        action: format!("send {what}"),
        status: 0,
        message: format!("its answer can't be read: {error}"),
    }
}
