//! Manifests and indexes: the documents that an image is held together by.

use std::collections::BTreeSet;

use oci_spec::image::{Arch, Descriptor, ImageIndex, ImageManifest, MediaType, Os};
use serde::Deserialize;

use crate::content::{ContentError, ContentStore};
use crate::digest::{Digest, InvalidDigest};

/// How big a manifest, an index or an image's configuration may be: registries refuse manifests beyond 4 MiB, and none
/// of these documents holds content.
pub const MAX_DOCUMENT_BYTES: u64 = 4 << 20;

/// How deep indexes may lie within indexes; real ones hold images, and an image's index in a layout is one level more.
const MAX_INDEX_DEPTH: usize = 8;

/// How many documents and blobs one image may consist of: a hundred times what any real image has, and few enough to
/// hold their descriptors in memory.
const MAX_DESCRIPTORS: usize = 100_000;

/// Docker's name for an image manifest.
pub const DOCKER_MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";
/// Docker's name for an index.
pub const DOCKER_LIST: &str = "application/vnd.docker.distribution.manifest.list.v2+json";
/// Docker's name for an image configuration.
pub const DOCKER_CONFIG: &str = "application/vnd.docker.container.image.v1+json";
/// Docker's name for a layer that isn't compressed.
pub const DOCKER_LAYER: &str = "application/vnd.docker.image.rootfs.diff.tar";
/// Docker's name for a layer that is compressed with gzip.
pub const DOCKER_LAYER_GZIP: &str = "application/vnd.docker.image.rootfs.diff.tar.gzip";

/// A document that names other documents and blobs.
#[expect(clippy::large_enum_variant, reason = "few live at a time, each for a moment")]
#[derive(Debug, Clone)]
pub enum Manifest {
    /// One image: a configuration and layers.
    Image(ImageManifest),
    /// Several images, usually one for each platform.
    Index(ImageIndex),
}

/// Why the parts of an image can't be found.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// A part isn't in the content store, or is damaged there.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// A part is named by a digest that can't be verified.
    #[error("a part of image {image} can't be verified: {source}; ask for the image to be published again")]
    Digest {
        /// The document that names it, or the part itself.
        image: String,
        /// What is wrong with the digest.
        source: InvalidDigest,
    },
    /// The document isn't what its media type says.
    #[error("manifest {digest} can't be read: {cause}; ask for the image to be published again")]
    Malformed {
        /// The document.
        digest: Digest,
        /// What is wrong with it.
        cause: String,
    },
    /// The document is of a kind that baton doesn't read.
    #[error(
        "manifest {digest} is of type {media_type:?}, which is not supported: publish the image as an OCI or Docker v2 \
         image"
    )]
    Unsupported {
        /// The document.
        digest: Digest,
        /// Its media type.
        media_type: String,
    },
    /// Indexes lie too deep within each other, or name too many parts.
    #[error("image {digest} has more parts than an image can have ({limit}); don't use it")]
    TooManyParts {
        /// The image.
        digest: Digest,
        /// The limit that was passed.
        limit: usize,
    },
    /// No image of the index is for the platform that was asked for.
    #[error("the image has nothing for linux/{architecture}: it has {available}; pull it for one of these")]
    NoPlatform {
        /// What was asked for, as Go names it.
        architecture: String,
        /// What there is.
        available: String,
    },
}

/// The digest of a descriptor, in the form that can be verified.
pub fn digest_of(descriptor: &Descriptor) -> Result<Digest, ManifestError> {
    let text = descriptor.digest().to_string();
    text.parse()
        .map_err(|source| ManifestError::Digest { image: text, source })
}

/// A descriptor of a blob.
pub fn descriptor(media_type: MediaType, digest: &Digest, size: u64) -> Descriptor {
    // Our digests are always well-formed, so the sha256 form takes every one of them.
    let hash: Result<oci_spec::image::Sha256Digest, _> = digest.hex().parse();
    match hash {
        Ok(hash) => Descriptor::new(media_type, size, hash),
        Err(error) => unreachable!("{digest} is not a digest: {error}"),
    }
}

impl Manifest {
    /// Reads the manifest or index that the descriptor names.
    pub fn read(store: &ContentStore, descriptor: &Descriptor) -> Result<Self, ManifestError> {
        let digest = digest_of(descriptor)?;
        let bytes = store.read(&digest, MAX_DOCUMENT_BYTES)?;
        Self::parse(&digest, descriptor.media_type(), &bytes)
    }

    /// Reads a manifest or index from its bytes; `media_type` is what whoever handed it over says that it is.
    pub fn parse(digest: &Digest, media_type: &MediaType, bytes: &[u8]) -> Result<Self, ManifestError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Shape {
            media_type: Option<String>,
            config: Option<serde::de::IgnoredAny>,
            layers: Option<serde::de::IgnoredAny>,
            manifests: Option<serde::de::IgnoredAny>,
        }
        let malformed = |error: serde_json::Error| ManifestError::Malformed {
            digest: *digest,
            cause: error.to_string(),
        };
        let shape: Shape = serde_json::from_slice(bytes).map_err(malformed)?;
        let is_image = match media_type {
            MediaType::ImageManifest => true,
            MediaType::ImageIndex => false,
            MediaType::Other(name) if name == DOCKER_MANIFEST => true,
            MediaType::Other(name) if name == DOCKER_LIST => false,
            other => {
                // A registry that names no usable type leaves what the document says, and then its shape.
                let said = shape.media_type.as_deref().unwrap_or_default();
                match said {
                    DOCKER_MANIFEST | "application/vnd.oci.image.manifest.v1+json" => true,
                    DOCKER_LIST | "application/vnd.oci.image.index.v1+json" => false,
                    "" if shape.manifests.is_some() => false,
                    "" if shape.config.is_some() => true,
                    _ => {
                        let media_type = if said.is_empty() { other.as_ref() } else { said };
                        return Err(ManifestError::Unsupported {
                            digest: *digest,
                            media_type: media_type.to_owned(),
                        });
                    }
                }
            }
        };
        // One document that reads both as an image and as an index means different things to different tools.
        if shape.manifests.is_some() && (shape.layers.is_some() || shape.config.is_some()) {
            return Err(ManifestError::Malformed {
                digest: *digest,
                cause: "it is an image and an index at once".to_owned(),
            });
        }
        if is_image {
            serde_json::from_slice(bytes).map(Self::Image).map_err(malformed)
        } else {
            serde_json::from_slice(bytes).map(Self::Index).map_err(malformed)
        }
    }

    /// What the document names: the configuration and the layers of an image, or the images of an index.
    pub fn children(&self) -> Vec<Descriptor> {
        match self {
            Self::Image(image) => {
                let mut children = vec![image.config().clone()];
                children.extend(image.layers().iter().cloned());
                children
            }
            Self::Index(index) => index.manifests().clone(),
        }
    }
}

/// Returns whether a descriptor names a manifest or an index, not a blob.
pub fn is_manifest(descriptor: &Descriptor) -> bool {
    match descriptor.media_type() {
        MediaType::ImageManifest | MediaType::ImageIndex => true,
        MediaType::Other(name) => name == DOCKER_MANIFEST || name == DOCKER_LIST,
        _ => false,
    }
}

/// Everything that an image consists of, each part once and before whatever names it; the image itself comes last.
///
/// That is the order in which a registry takes the parts.
pub fn parts(store: &ContentStore, root: &Descriptor) -> Result<Vec<Descriptor>, ManifestError> {
    let mut found = Walk {
        store,
        root: digest_of(root)?,
        seen: BTreeSet::new(),
        parts: Vec::new(),
    };
    found.visit(root, 0, true)?;
    Ok(found.parts)
}

struct Walk<'a> {
    store: &'a ContentStore,
    root: Digest,
    seen: BTreeSet<Digest>,
    parts: Vec<Descriptor>,
}

impl Walk<'_> {
    fn visit(&mut self, descriptor: &Descriptor, depth: usize, is_root: bool) -> Result<(), ManifestError> {
        if !self.seen.insert(digest_of(descriptor)?) {
            return Ok(());
        }
        if is_root || is_manifest(descriptor) {
            if depth > MAX_INDEX_DEPTH {
                return Err(ManifestError::TooManyParts {
                    digest: self.root,
                    limit: MAX_INDEX_DEPTH,
                });
            }
            for child in Manifest::read(self.store, descriptor)?.children() {
                self.visit(&child, depth + 1, false)?;
            }
        }
        if self.parts.len() >= MAX_DESCRIPTORS {
            return Err(ManifestError::TooManyParts {
                digest: self.root,
                limit: MAX_DESCRIPTORS,
            });
        }
        self.parts.push(descriptor.clone());
        Ok(())
    }
}

/// The architecture that this program runs on, as Go and image indexes name it.
pub fn host_architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "x86" => "386",
        "aarch64" => "arm64",
        "powerpc64" if cfg!(target_endian = "little") => "ppc64le",
        "powerpc64" => "ppc64",
        other => other,
    }
}

/// Picks the image of an index for Linux on an architecture; of several variants, the one that runs everywhere.
///
/// As the container tools do, an image without a platform is taken when none has the right one.
pub fn select_platform(index: &ImageIndex, architecture: &str) -> Result<Descriptor, ManifestError> {
    let wanted = Arch::from(architecture);
    let fitting = index.manifests().iter().filter_map(|image| {
        let platform = image.platform().as_ref()?;
        let fits = *platform.os() == Os::Linux && *platform.architecture() == wanted;
        fits.then(|| (variant_rank(architecture, platform.variant().as_deref()), image))
    });
    let best = fitting.min_by_key(|(rank, _)| *rank).map(|(_, image)| image);
    let any = || index.manifests().iter().find(|image| image.platform().is_none());
    best.or_else(any).cloned().ok_or_else(|| {
        let mut available: Vec<_> = index
            .manifests()
            .iter()
            .filter_map(|image| image.platform().as_ref())
            .map(|platform| format!("{}/{}", platform.os(), platform.architecture()))
            .filter(|name| name != "unknown/unknown")
            .collect();
        available.sort_unstable();
        available.dedup();
        ManifestError::NoPlatform {
            architecture: architecture.to_owned(),
            available: if available.is_empty() {
                "no images".to_owned()
            } else {
                available.join(", ")
            },
        }
    })
}

/// How well a variant serves a processor of which only the architecture is known; less is better.
fn variant_rank(architecture: &str, variant: Option<&str>) -> u8 {
    match (architecture, variant) {
        (_, None | Some("")) => 0,
        ("arm64", Some("v8")) | ("amd64", Some("v1")) | ("arm", Some("v7")) => 1,
        ("arm", Some("v6")) => 2,
        ("arm", Some("v5")) => 3,
        _ => 4,
    }
}

#[cfg(test)]
mod tests {
    use oci_spec::image::PlatformBuilder;

    use super::*;

    fn image(name: &str, platform: Option<(&str, &str, Option<&str>)>) -> Descriptor {
        let mut image = descriptor(MediaType::ImageManifest, &Digest::of(name.as_bytes()), 1);
        image.set_platform(platform.map(|(os, architecture, variant)| {
            let mut platform = PlatformBuilder::default().os(os).architecture(architecture);
            if let Some(variant) = variant {
                platform = platform.variant(variant);
            }
            platform.build().unwrap()
        }));
        image
    }

    fn index(images: Vec<Descriptor>) -> ImageIndex {
        let mut index = ImageIndex::default();
        index.set_manifests(images);
        index
    }

    #[test]
    fn the_image_for_the_platform_is_picked() {
        let index = index(vec![
            image("windows", Some(("windows", "amd64", None))),
            image("v3", Some(("linux", "amd64", Some("v3")))),
            image("amd64", Some(("linux", "amd64", None))),
            image("v6", Some(("linux", "arm", Some("v6")))),
            image("v7", Some(("linux", "arm", Some("v7")))),
            image("arm64", Some(("linux", "arm64", Some("v8")))),
            image("attestation", Some(("unknown", "unknown", None))),
        ]);
        for (architecture, expected) in [("amd64", "amd64"), ("arm", "v7"), ("arm64", "arm64")] {
            let picked = select_platform(&index, architecture).unwrap();
            assert_eq!(digest_of(&picked).unwrap(), Digest::of(expected.as_bytes()));
        }
        assert_eq!(
            select_platform(&index, "s390x").unwrap_err().to_string(),
            "the image has nothing for linux/s390x: it has linux/amd64, linux/arm, linux/arm64, windows/amd64; pull it \
             for one of these"
        );
    }

    #[test]
    fn an_image_without_a_platform_is_the_last_resort() {
        let images = index(vec![
            image("any", None),
            image("arm64", Some(("linux", "arm64", None))),
        ]);
        let picked = select_platform(&images, "amd64").unwrap();
        assert_eq!(digest_of(&picked).unwrap(), Digest::of(b"any"));
        assert!(select_platform(&index(Vec::new()), "amd64").is_err());
    }

    #[test]
    fn what_a_document_is_follows_from_its_type_then_from_its_shape() {
        let digest = Digest::of(b"");
        let part = r#"{"mediaType":"x","size":1,"digest":"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}"#;
        let image = format!(r#"{{"schemaVersion":2,"config":{part},"layers":[]}}"#);
        let index = r#"{"schemaVersion":2,"manifests":[]}"#;
        let unknown = MediaType::Other("text/plain".to_owned());
        let read = |text: &str| Manifest::parse(&digest, &unknown, text.as_bytes());
        assert!(matches!(read(&image), Ok(Manifest::Image(_))));
        assert!(matches!(read(index), Ok(Manifest::Index(_))));
        assert!(matches!(
            read(r#"{"schemaVersion":1,"fsLayers":[]}"#),
            Err(ManifestError::Unsupported { .. })
        ));
        let both = format!(r#"{{"schemaVersion":2,"config":{part},"layers":[],"manifests":[]}}"#);
        assert!(matches!(read(&both), Err(ManifestError::Malformed { .. })));
        assert!(matches!(read("{"), Err(ManifestError::Malformed { .. })));
        assert!(matches!(
            Manifest::parse(&digest, &MediaType::ImageManifest, index.as_bytes()),
            Err(ManifestError::Malformed { .. })
        ));
    }

    #[test]
    fn an_index_that_names_itself_deeper_and_deeper_is_refused() {
        let store = ContentStore::temporary().unwrap();
        let mut inner = index(Vec::new());
        for _ in 0..MAX_INDEX_DEPTH + 2 {
            let bytes = serde_json::to_vec(&inner).unwrap();
            let digest = store.insert(&bytes).unwrap();
            inner = index(vec![descriptor(
                MediaType::ImageIndex,
                &digest,
                bytes.len() as u64,
            )]);
        }
        assert!(matches!(
            parts(&store, &inner.manifests()[0]),
            Err(ManifestError::TooManyParts { .. })
        ));
    }
}
