//! Sigstore signatures, made with cosign and a key.

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P384_SHA256_ASN1, ECDSA_P521_SHA256_ASN1, ED25519, ParsedPublicKey,
    RSA_PKCS1_2048_8192_SHA256, VerificationAlgorithm,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::SubjectPublicKeyInfoDer;
use rustls::pki_types::pem::PemObject;

use super::SigstoreSignature;
use super::payload::{Kind, Payload};
use crate::digest::Digest;

/// Cosign hashes with SHA-256 whatever the curve is.
static ALGORITHMS: [&dyn KnownAlgorithm; 5] = [
    &ECDSA_P256_SHA256_ASN1,
    &ECDSA_P384_SHA256_ASN1,
    &ECDSA_P521_SHA256_ASN1,
    &ED25519,
    &RSA_PKCS1_2048_8192_SHA256,
];

/// The keys of which one has to have signed.
pub(super) struct PublicKeys {
    /// Each with the digest of its DER form, by which people know it.
    keys: Vec<(ParsedPublicKey, String)>,
}

impl PublicKeys {
    /// Reads PEM files, one key each. A key that can't be used is an error even when others can, so that it is noticed
    /// before it is needed.
    pub(super) fn new(files: &[Vec<u8>]) -> Result<Self, String> {
        let mut keys = Vec::with_capacity(files.len());
        for (index, file) in files.iter().enumerate() {
            let number = index + 1;
            let der = SubjectPublicKeyInfoDer::from_pem_slice(file).map_err(|error| {
                format!("parsing public key {number}: {error}; give it as PEM (BEGIN PUBLIC KEY)")
            })?;
            let key = ALGORITHMS
                .iter()
                .find_map(|algorithm| algorithm.parse(&der))
                .ok_or_else(|| {
                    format!("parsing public key {number}: neither ECDSA (P-256, P-384, P-521), Ed25519 nor RSA (2048 bits or more)")
                })?;
            keys.push((key, Digest::of(&der).to_string()));
        }
        Ok(Self { keys })
    }

    /// Verifies a signature and returns what was signed, and by which key.
    pub(super) fn verify(&self, signature: &SigstoreSignature) -> Result<(Payload, String), String> {
        let bytes = STANDARD
            .decode(&signature.signature)
            .map_err(|error| format!("base64 decoding: {error}"))?;
        let signer = self
            .keys
            .iter()
            .find(|(key, _)| key.verify_sig(&signature.payload, &bytes).is_ok());
        let Some((_, signer)) = signer else {
            return Err(
                "cryptographic signature verification failed: invalid signature when validating".to_owned(),
            );
        };
        Ok((
            Payload::parse(&signature.payload, Kind::Sigstore)?,
            signer.clone(),
        ))
    }
}

/// An algorithm that says whether a key is one of its own.
trait KnownAlgorithm: Sync {
    fn parse(&'static self, key: &[u8]) -> Option<ParsedPublicKey>;
}

impl<A: VerificationAlgorithm + 'static> KnownAlgorithm for A {
    fn parse(&'static self, key: &[u8]) -> Option<ParsedPublicKey> {
        ParsedPublicKey::new(self, key).ok()
    }
}
