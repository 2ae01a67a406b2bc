//! Documents about an image that lie beside it in its registry: what it is made of, and how it was made.
//!
//! Each is a manifest of its own that names the image as its `subject`, so that registries list it among the image's referrers
//! and tools such as oras, cosign and trivy find it there. The same document gives the same digest, and so is attached once.

use std::collections::{BTreeMap, HashMap};

use oci_spec::image::{Descriptor, ImageManifestBuilder, MediaType, SCHEMA_VERSION};
use serde_json::{Value, json};

use crate::build::{BuildError, BuiltImage, incomplete, put};
use crate::content::ContentStore;
use crate::digest::Digest;
use crate::manifest::{self, digest_of};

/// The media type of a list of what a program is made of, as CycloneDX writes it.
pub const BILL_OF_MATERIALS: &str = "application/vnd.cyclonedx+json";

/// The media type of a statement about how something was made, as in-toto writes it.
pub const STATEMENT: &str = "application/vnd.in-toto+json";

/// The annotation by which tools know a statement's kind without reading it.
const PREDICATE_TYPE: &str = "in-toto.io/predicate-type";

/// The kind of statement that says how something was made.
const PROVENANCE: &str = "https://slsa.dev/provenance/v1";

/// The media type of a configuration that says nothing.
const EMPTY: &str = "application/vnd.oci.empty.v1+json";

/// A document about an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// The media type of the document, by which it is looked for.
    pub media_type: String,
    /// The document.
    pub bytes: Vec<u8>,
    /// What is said of it in lists.
    pub annotations: BTreeMap<String, String>,
}

impl Attachment {
    /// What a program in the image is made of.
    pub fn bill_of_materials(bytes: Vec<u8>) -> Self {
        Self {
            media_type: BILL_OF_MATERIALS.to_owned(),
            bytes,
            annotations: BTreeMap::new(),
        }
    }

    /// Makes its manifest in a store; `subject` is the image that it is about.
    pub fn build(&self, store: &ContentStore, subject: &Descriptor) -> Result<BuiltImage, BuildError> {
        let mut pins = Vec::new();
        let config = put(
            store,
            &json!({}),
            "configuration",
            MediaType::Other(EMPTY.to_owned()),
            &mut pins,
        )?;
        let digest = Digest::of(&self.bytes);
        pins.push(store.pin(&digest)?);
        store.insert(&self.bytes)?;
        let media_type = MediaType::Other(self.media_type.clone());
        let document = manifest::descriptor(media_type.clone(), &digest, self.bytes.len() as u64);
        // What else is said of the image, such as its platform, is no part of its name.
        let named = digest_of(subject).map_err(|error| BuildError::Field {
            field: "subject",
            value: subject.digest().to_string(),
            cause: error.to_string(),
        })?;
        let subject = manifest::descriptor(subject.media_type().clone(), &named, subject.size());
        let mut built = ImageManifestBuilder::default()
            .schema_version(SCHEMA_VERSION)
            .media_type(MediaType::ImageManifest)
            .artifact_type(media_type.clone())
            .config(config)
            .layers(vec![document])
            .subject(subject);
        let annotations: HashMap<String, String> = self.annotations.clone().into_iter().collect();
        if !self.annotations.is_empty() {
            built = built.annotations(annotations);
        }
        let built = built.build().map_err(incomplete)?;
        let mut descriptor = put(store, &built, "manifest", MediaType::ImageManifest, &mut pins)?;
        descriptor.set_artifact_type(Some(media_type));
        if !self.annotations.is_empty() {
            descriptor.set_annotations(built.annotations().clone());
        }
        Ok(BuiltImage { descriptor, pins })
    }
}

/// Something that an image was made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Material {
    /// What it is called.
    pub name: String,
    /// The digest of its content.
    pub digest: Digest,
    /// What else is known of it.
    pub annotations: BTreeMap<String, String>,
}

/// How an image was made: which of its builder's recipes, told what, of what.
///
/// It says what baton did and isn't signed: whoever needs more signs the image, or this statement, with cosign.
#[derive(Debug, Clone, PartialEq)]
pub struct Provenance {
    /// The recipe, as the last part of its address.
    pub recipe: &'static str,
    /// What the recipe was told.
    pub parameters: Value,
    /// What went in.
    pub materials: Vec<Material>,
    /// The version of baton that did it.
    pub version: String,
}

impl Provenance {
    /// The statement about an image, as SLSA v1 writes it. There is no time in it, so that the same build says the same.
    pub fn attachment(&self, name: &str, image: &Digest) -> Attachment {
        let materials: Vec<Value> = self
            .materials
            .iter()
            .map(|material| {
                let mut value = json!({"name": material.name, "digest": {"sha256": material.digest.hex()}});
                if !material.annotations.is_empty() {
                    value["annotations"] = json!(material.annotations);
                }
                value
            })
            .collect();
        let statement = json!({
            "_type": "https://in-toto.io/Statement/v1",
            "subject": [{"name": name, "digest": {"sha256": image.hex()}}],
            "predicateType": PROVENANCE,
            "predicate": {
                "buildDefinition": {
                    "buildType": format!("https://baton-olm.dev/build/{}/v1", self.recipe),
                    "externalParameters": self.parameters,
                    "resolvedDependencies": materials,
                },
                "runDetails": {
                    "builder": {"id": "https://baton-olm.dev/builder/baton", "version": {"baton": self.version}},
                },
            },
        });
        Attachment {
            media_type: STATEMENT.to_owned(),
            bytes: statement.to_string().into_bytes(),
            annotations: BTreeMap::from([(PREDICATE_TYPE.to_owned(), PROVENANCE.to_owned())]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::Manifest;

    fn image() -> Descriptor {
        manifest::descriptor(MediaType::ImageManifest, &Digest::of(b"image"), 5)
    }

    #[test]
    fn an_attachment_names_its_image_and_keeps_its_digest() {
        let store = ContentStore::temporary().expect("a store");
        let provenance = Provenance {
            recipe: "program-image",
            parameters: json!({"version": "1.0.0"}),
            materials: vec![Material {
                name: "baton".to_owned(),
                digest: Digest::of(b"program"),
                annotations: BTreeMap::from([("architecture".to_owned(), "amd64".to_owned())]),
            }],
            version: "1.0.0".to_owned(),
        };
        let attachment = provenance.attachment("registry.test/baton", &Digest::of(b"image"));
        let built = attachment.build(&store, &image()).expect("built");
        let again = attachment.build(&store, &image()).expect("built");
        assert_eq!(built.descriptor, again.descriptor);
        let bytes = store
            .read(&digest_of(&built.descriptor).expect("a digest"), u64::MAX)
            .expect("a manifest");
        let part = |media_type: &str, bytes: &[u8]| json!({"mediaType": media_type, "digest": Digest::of(bytes).to_string(), "size": bytes.len()});
        let manifest: Value = serde_json::from_slice(&bytes).expect("JSON");
        assert_eq!(
            manifest,
            json!({
                "schemaVersion": 2,
                "mediaType": "application/vnd.oci.image.manifest.v1+json",
                "artifactType": STATEMENT,
                "config": part("application/vnd.oci.empty.v1+json", b"{}"),
                "layers": [part(STATEMENT, &attachment.bytes)],
                "subject": part("application/vnd.oci.image.manifest.v1+json", b"image"),
                "annotations": {"in-toto.io/predicate-type": "https://slsa.dev/provenance/v1"},
            })
        );
        let statement: Value = serde_json::from_slice(&attachment.bytes).expect("JSON");
        assert_eq!(
            statement,
            json!({
                "_type": "https://in-toto.io/Statement/v1",
                "subject": [{"name": "registry.test/baton", "digest": {"sha256": Digest::of(b"image").hex()}}],
                "predicateType": "https://slsa.dev/provenance/v1",
                "predicate": {
                    "buildDefinition": {
                        "buildType": "https://baton-olm.dev/build/program-image/v1",
                        "externalParameters": {"version": "1.0.0"},
                        "resolvedDependencies": [{
                            "name": "baton", "digest": {"sha256": Digest::of(b"program").hex()},
                            "annotations": {"architecture": "amd64"},
                        }],
                    },
                    "runDetails": {
                        "builder": {"id": "https://baton-olm.dev/builder/baton", "version": {"baton": "1.0.0"}},
                    },
                },
            })
        );
    }

    #[test]
    fn the_image_is_no_part_of_what_is_about_it() {
        let store = ContentStore::temporary().expect("a store");
        let built = Attachment::bill_of_materials(b"{}".to_vec())
            .build(&store, &image())
            .expect("built");
        let parts = manifest::parts(&store, &built.descriptor).expect("parts");
        let is_image = |part: &Descriptor| part.digest() == image().digest();
        assert!(!parts.iter().any(is_image), "{parts:?}");
        assert!(matches!(
            Manifest::read(&store, &built.descriptor),
            Ok(Manifest::Image(_))
        ));
    }
}
