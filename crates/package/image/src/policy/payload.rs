//! The text that a signature signs: which manifest, under which name.

use serde::Deserialize;

use super::identity::SignedIdentity;
use crate::digest::Digest;
use crate::reference::Reference;

/// What tells a text that was signed for images from any other text that the same key has signed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    SimpleSigning,
    Sigstore,
}

/// The signed text, of which nothing is believed before its signature is verified.
#[derive(Debug)]
pub(super) struct Payload {
    digest: String,
    reference: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    critical: Critical,
    optional: serde_json::Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Critical {
    r#type: String,
    image: Image,
    identity: Identity,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Image {
    #[serde(rename = "docker-manifest-digest")]
    digest: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Identity {
    #[serde(rename = "docker-reference")]
    reference: String,
}

impl Payload {
    /// Reads a text whose signature has been verified.
    pub(super) fn parse(bytes: &[u8], kind: Kind) -> Result<Self, String> {
        let document: Document =
            serde_json::from_slice(bytes).map_err(|error| format!("Invalid signature contents: {error}"))?;
        let expected = match kind {
            Kind::SimpleSigning => "atomic container signature",
            Kind::Sigstore => "cosign container image signature",
        };
        if document.critical.r#type != expected {
            return Err(format!(
                "Unrecognized signature type {}",
                document.critical.r#type
            ));
        }
        // Cosign writes null where nobody has added anything.
        let is_object =
            document.optional.is_object() || (kind == Kind::Sigstore && document.optional.is_null());
        if !is_object {
            return Err("Invalid signature contents: field optional is not an object".to_owned());
        }
        Ok(Self {
            digest: document.critical.image.digest,
            reference: document.critical.identity.reference,
        })
    }

    /// Says why the signature is for another image, if so.
    pub(super) fn check(
        &self,
        reference: &Reference,
        manifest: &Digest,
        identity: &SignedIdentity,
    ) -> Result<(), String> {
        if self.digest.parse() != Ok(*manifest) {
            return Err(format!("Signature for digest {} does not match", self.digest));
        }
        if !identity.accepts(reference, &self.reference) {
            return Err(format!(
                "Signature for identity {:?} is not accepted",
                self.reference
            ));
        }
        Ok(())
    }
}
