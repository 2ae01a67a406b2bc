//! Manifests: which kinds the registry takes, what they must say, and what they refer to.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use super::content_digest::ContentDigest;

/// The largest manifest: what the specification asks registries and clients to support at least. A manifest is read
/// into memory as a whole.
pub const MAX_MANIFEST_BYTES: usize = 4 << 20;

/// The media type of an OCI image manifest.
pub(super) const OCI_MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// The media type of an OCI image index.
pub(super) const OCI_INDEX: &str = "application/vnd.oci.image.index.v1+json";
/// The media type of Docker's image manifest, version 2, schema 2.
pub(super) const DOCKER_MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";
/// The media type of Docker's manifest list.
pub(super) const DOCKER_LIST: &str = "application/vnd.docker.distribution.manifest.list.v2+json";

/// Layers that may not be pushed for legal reasons, so that a manifest may name them without the registry having them.
const NONDISTRIBUTABLE_LAYERS: [&str; 5] = [
    "application/vnd.docker.image.rootfs.foreign.diff.tar",
    "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip",
    "application/vnd.oci.image.layer.nondistributable.v1.tar",
    "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip",
    "application/vnd.oci.image.layer.nondistributable.v1.tar+zstd",
];

/// Why bytes are not a manifest that the registry keeps.
#[derive(Debug, thiserror::Error)]
pub(super) enum InvalidManifest {
    /// Neither the header nor the body says what kind of manifest it is.
    #[error("the manifest has no media type: send it as Content-Type")]
    NoMediaType,
    /// The kind is unknown here, or one that is no longer written.
    #[error(
        "media type {0:?} is not supported: push {OCI_MANIFEST}, {OCI_INDEX}, {DOCKER_MANIFEST} or {DOCKER_LIST}"
    )]
    UnsupportedMediaType(String),
    /// Header and body say different kinds.
    #[error("Content-Type is {header:?} but the manifest's mediaType is {body:?}: send the same in both")]
    MediaTypeMismatch {
        /// What the header says.
        header: String,
        /// What the body says.
        body: String,
    },
    /// The body is not JSON of the right shape.
    #[error("the manifest can't be read: {0}")]
    Malformed(#[from] serde_json::Error),
    /// The version of the format isn't 2.
    #[error("schemaVersion is {0}: only 2 is supported")]
    SchemaVersion(u64),
    /// The body has the fields of another kind, so that clients might disagree about what it is.
    #[error("a manifest of type {media_type} must not have the field {field:?}")]
    Ambiguous {
        /// The kind that it is said to be.
        media_type: String,
        /// The field of the other kind.
        field: &'static str,
    },
    /// An image has no configuration.
    #[error("the manifest has no field \"config\"")]
    NoConfig,
}

/// A reference from a manifest to other content.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Descriptor {
    /// What the content is.
    pub media_type: String,
    /// The name of the content.
    pub digest: ContentDigest,
    /// How long it is.
    pub size: u64,
    /// What the content is used for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact_type: Option<String>,
    /// Facts about it.
    #[serde(
        default,
        deserialize_with = "null_is_empty",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub annotations: BTreeMap<String, String>,
}

/// What the registry reads of a manifest of any kind.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    schema_version: u64,
    media_type: Option<String>,
    artifact_type: Option<String>,
    config: Option<Descriptor>,
    #[serde(default, deserialize_with = "null_is_empty")]
    layers: Vec<Descriptor>,
    #[serde(default, deserialize_with = "null_is_empty")]
    manifests: Vec<Descriptor>,
    subject: Option<Descriptor>,
    #[serde(default, deserialize_with = "null_is_empty")]
    annotations: BTreeMap<String, String>,
}

/// Go's encoders write `null` for a list or map that was never filled.
fn null_is_empty<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// A manifest that keeps to the rules.
#[derive(Debug)]
pub(super) struct Manifest {
    /// Its kind.
    pub media_type: String,
    /// What it is about, if it is about another manifest.
    pub subject: Option<Descriptor>,
    body: Body,
}

/// What a reference is used for in the manifest that holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Role {
    /// The configuration of an image.
    Config,
    /// A layer of an image.
    Layer,
    /// A manifest in an index.
    Manifest,
}

impl std::fmt::Display for Role {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Config => "config",
            Self::Layer => "layer",
            Self::Manifest => "manifest",
        })
    }
}

impl Manifest {
    /// Reads a manifest; `content_type` is the header that it was sent with.
    pub(super) fn parse(bytes: &[u8], content_type: Option<&str>) -> Result<Self, InvalidManifest> {
        let header = content_type
            .map(|header| header.split(';').next().unwrap_or_default().trim())
            .filter(|header| !header.is_empty());
        // Before the body is read: schema 1 manifests are signed texts of a shape of their own.
        if let Some(header) = header
            && !is_supported(header)
        {
            return Err(InvalidManifest::UnsupportedMediaType(header.to_owned()));
        }
        let mut body: Body = serde_json::from_slice(bytes)?;
        let media_type = match (header, body.media_type.take()) {
            (None, None) => return Err(InvalidManifest::NoMediaType),
            (Some(header), Some(body)) if header != body => {
                return Err(InvalidManifest::MediaTypeMismatch {
                    header: header.to_owned(),
                    body,
                });
            }
            (Some(header), _) => header.to_owned(),
            (None, Some(body)) => body,
        };
        if !is_supported(&media_type) {
            return Err(InvalidManifest::UnsupportedMediaType(media_type));
        }
        if body.schema_version != 2 {
            return Err(InvalidManifest::SchemaVersion(body.schema_version));
        }
        let foreign_field = if is_index(&media_type) {
            let config = body.config.is_some().then_some("config");
            config.or((!body.layers.is_empty()).then_some("layers"))
        } else {
            (!body.manifests.is_empty()).then_some("manifests")
        };
        if let Some(field) = foreign_field {
            return Err(InvalidManifest::Ambiguous { media_type, field });
        }
        if !is_index(&media_type) && body.config.is_none() {
            return Err(InvalidManifest::NoConfig);
        }
        Ok(Self {
            media_type,
            subject: body.subject.take(),
            body,
        })
    }

    /// Everything that the manifest is made of, with what it is used for. The subject is no part of it.
    pub(super) fn parts(&self) -> impl Iterator<Item = (Role, &Descriptor)> {
        let config = self.body.config.iter().map(|part| (Role::Config, part));
        let layers = self.body.layers.iter().map(|part| (Role::Layer, part));
        let manifests = self.body.manifests.iter().map(|part| (Role::Manifest, part));
        config.chain(layers).chain(manifests)
    }

    /// How a list of referrers describes this manifest.
    pub(super) fn descriptor(&self, digest: ContentDigest, size: u64) -> Descriptor {
        let config_type = || self.body.config.as_ref().map(|config| config.media_type.clone());
        Descriptor {
            media_type: self.media_type.clone(),
            digest,
            size,
            artifact_type: self
                .body
                .artifact_type
                .clone()
                .filter(|artifact_type| !artifact_type.is_empty())
                .or_else(config_type),
            annotations: self.body.annotations.clone(),
        }
    }
}

/// Returns whether the registry may have a manifest without this part of it.
pub(super) fn may_be_absent(role: Role, part: &Descriptor) -> bool {
    role == Role::Layer && NONDISTRIBUTABLE_LAYERS.contains(&part.media_type.as_str())
}

fn is_supported(media_type: &str) -> bool {
    matches!(
        media_type,
        OCI_MANIFEST | OCI_INDEX | DOCKER_MANIFEST | DOCKER_LIST
    )
}

fn is_index(media_type: &str) -> bool {
    matches!(media_type, OCI_INDEX | DOCKER_LIST)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: &str = r#"{"mediaType":"application/vnd.oci.empty.v1+json","digest":"sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","size":2}"#;

    fn message(body: &str, content_type: Option<&str>) -> String {
        Manifest::parse(body.as_bytes(), content_type)
            .err()
            .map_or_else(|| "accepted".to_owned(), |error| error.to_string())
    }

    #[test]
    fn a_manifest_is_an_error_when_clients_could_disagree_about_it() {
        let image = format!(r#"{{"schemaVersion":2,"config":{EMPTY},"layers":[]}}"#);
        assert_eq!(message(&image, Some(OCI_MANIFEST)), "accepted");
        assert_eq!(
            message(&image, Some(&format!("{OCI_MANIFEST}; charset=utf-8"))),
            "accepted"
        );
        insta::assert_snapshot!([
            message(&image, None),
            message(&image, Some("application/json")),
            message(&image, Some(OCI_INDEX)),
            message(r#"{"schemaVersion":2,"layers":[]}"#, Some(OCI_MANIFEST)),
            message(&format!(r#"{{"schemaVersion":2,"config":{EMPTY},"manifests":[{EMPTY}]}}"#), Some(OCI_MANIFEST)),
            message(&format!(r#"{{"schemaVersion":2,"layers":[{EMPTY}]}}"#), Some(DOCKER_LIST)),
            message(&format!(r#"{{"schemaVersion":2,"mediaType":"{OCI_MANIFEST}","config":{EMPTY}}}"#), Some(DOCKER_MANIFEST)),
            message(&format!(r#"{{"schemaVersion":1,"config":{EMPTY}}}"#), Some(OCI_MANIFEST)),
            message(r#"{"schemaVersion":2,"config":{"mediaType":"a","digest":"md5:00","size":1}}"#, Some(OCI_MANIFEST)),
            message(r#"{"schemaVersion":2,"schemaVersion":2}"#, Some(OCI_MANIFEST)),
            message("[", Some(OCI_MANIFEST)),
        ]
        .join("\n"), @r#"
        the manifest has no media type: send it as Content-Type
        media type "application/json" is not supported: push application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.v2+json or application/vnd.docker.distribution.manifest.list.v2+json
        a manifest of type application/vnd.oci.image.index.v1+json must not have the field "config"
        the manifest has no field "config"
        a manifest of type application/vnd.oci.image.manifest.v1+json must not have the field "manifests"
        a manifest of type application/vnd.docker.distribution.manifest.list.v2+json must not have the field "layers"
        Content-Type is "application/vnd.docker.distribution.manifest.v2+json" but the manifest's mediaType is "application/vnd.oci.image.manifest.v1+json": send the same in both
        schemaVersion is 1: only 2 is supported
        the manifest can't be read: digest algorithm "md5" is not supported: use sha256 or sha512 at line 1 column 62
        the manifest can't be read: duplicate field `schemaVersion` at line 1 column 34
        the manifest can't be read: EOF while parsing a list at line 1 column 1
        "#);
    }

    #[test]
    fn lists_that_go_left_empty_are_empty() {
        let body = format!(
            r#"{{"schemaVersion":2,"config":{EMPTY},"layers":null,"annotations":null,"subject":null}}"#
        );
        let manifest = Manifest::parse(body.as_bytes(), Some(OCI_MANIFEST)).unwrap();
        assert_eq!(manifest.parts().count(), 1);
    }

    #[test]
    fn a_referrer_without_an_artifact_type_has_its_configuration_s() {
        let body = format!(r#"{{"schemaVersion":2,"config":{EMPTY},"artifactType":""}}"#);
        let manifest = Manifest::parse(body.as_bytes(), Some(OCI_MANIFEST)).unwrap();
        let digest: ContentDigest = ContentDigest::of(super::super::content_digest::Algorithm::Sha256, b"");
        assert_eq!(
            manifest.descriptor(digest.clone(), 7).artifact_type.as_deref(),
            Some("application/vnd.oci.empty.v1+json")
        );
        let index = Manifest::parse(br#"{"schemaVersion":2,"manifests":[]}"#, Some(OCI_INDEX)).unwrap();
        assert_eq!(index.descriptor(digest, 7).artifact_type, None);
    }
}
