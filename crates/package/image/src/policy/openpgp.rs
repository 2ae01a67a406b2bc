//! Simple signing: messages signed with GPG keys whose text names an image.

use std::io::Read;

use pgp::composed::{Deserializable, Message, SignedPublicKey, SignedPublicSubKey};
use pgp::packet::{Signature, SignatureType};
use pgp::types::{KeyDetails, Tag, Timestamp, VerifyingKey};

use super::payload::{Kind, Payload};

/// The longest signed text that is read; a real one has a few hundred bytes, but what is compressed may grow.
const TEXT_LIMIT: u64 = 1 << 20;

/// How often a message may be compressed within itself.
const COMPRESSION_LIMIT: usize = 2;

/// The keys of which one has to have signed.
pub(super) struct Keyring {
    keys: Vec<SignedPublicKey>,
}

impl Keyring {
    /// Reads key files, armored or not, with any number of keys each.
    pub(super) fn new(files: &[Vec<u8>]) -> Result<Self, String> {
        let mut keys = Vec::new();
        for file in files {
            let (found, _) = SignedPublicKey::from_reader_many(file.as_slice())
                .map_err(|error| format!("cannot read the GPG keys: {error}"))?;
            for key in found {
                keys.push(key.map_err(|error| format!("cannot read the GPG keys: {error}"))?);
            }
        }
        if keys.is_empty() {
            return Err("No public keys imported".to_owned());
        }
        Ok(Self { keys })
    }

    /// Verifies a signature and returns what was signed, and the fingerprint of the key that vouches for it.
    pub(super) fn verify(&self, signature: &[u8]) -> Result<(Payload, String), String> {
        let invalid = |error: pgp::errors::Error| format!("signature error: {error}");
        let (mut message, _) = Message::from_reader(signature).map_err(invalid)?;
        for _ in 0..COMPRESSION_LIMIT {
            if message.is_compressed() {
                message = message.decompress().map_err(invalid)?;
            }
        }
        if !message.is_signed() && !message.is_one_pass_signed() {
            return Err("not signed".to_owned());
        }
        message = message.decompress().map_err(invalid)?;
        let mut text = Vec::new();
        (&mut message)
            .take(TEXT_LIMIT + 1)
            .read_to_end(&mut text)
            .map_err(|error| format!("signature error: {error}"))?;
        if text.len() as u64 > TEXT_LIMIT {
            return Err(format!("the signed text is longer than {TEXT_LIMIT} bytes"));
        }
        let now = Timestamp::now();
        let mut reason = "signature error: the key that signed is not in the keyring".to_owned();
        for key in &self.keys {
            for signer in signers(key) {
                let Ok(signature) = message.verify(signer) else {
                    continue;
                };
                match usable(key, signature, now) {
                    Ok(()) => {
                        let signed = Payload::parse(&text, Kind::SimpleSigning)?;
                        return Ok((signed, key.primary_key.fingerprint().to_string()));
                    }
                    Err(refusal) => reason = refusal,
                }
            }
        }
        Err(reason)
    }
}

/// The primary key, and the subkeys that it declares to sign in its name.
fn signers(key: &SignedPublicKey) -> Vec<&dyn VerifyingKey> {
    let mut signers: Vec<&dyn VerifyingKey> = vec![&key.primary_key];
    for subkey in &key.public_subkeys {
        if may_sign(key, subkey) {
            signers.push(&subkey.key);
        }
    }
    signers
}

fn may_sign(key: &SignedPublicKey, subkey: &SignedPublicSubKey) -> bool {
    let is_revoked = subkey
        .signatures
        .iter()
        .any(|signature| signature.typ() == Some(SignatureType::SubkeyRevocation));
    if is_revoked {
        return false;
    }
    let bindings = subkey.signatures.iter().filter(|signature| {
        signature
            .verify_subkey_binding(&key.primary_key, &subkey.key)
            .is_ok()
    });
    let Some(binding) = newest(bindings) else {
        return false;
    };
    let agrees = binding.embedded_signature().is_some_and(|back| {
        back.verify_primary_key_binding(&subkey.key, &key.primary_key)
            .is_ok()
    });
    binding.key_flags().sign() && agrees && !is_expired(&subkey.key, binding, Timestamp::now())
}

/// Says why a signature that is right mathematically doesn't count, if so.
fn usable(key: &SignedPublicKey, signature: &Signature, now: Timestamp) -> Result<(), String> {
    if !matches!(signature.typ(), Some(SignatureType::Binary | SignatureType::Text)) {
        return Err("signature error: it is not a signature of a text".to_owned());
    }
    let created = signature.created().map_or(0, Timestamp::as_secs);
    let lifetime = signature
        .signature_expiration_time()
        .map_or(0, pgp::types::Duration::as_secs);
    if lifetime != 0 && created.saturating_add(lifetime) < now.as_secs() {
        return Err("Signature expired".to_owned());
    }
    let fingerprint = key.primary_key.fingerprint();
    let is_revoked = key
        .details
        .revocation_signatures
        .iter()
        .any(|revocation| revocation.verify_key(&key.primary_key).is_ok());
    if is_revoked {
        return Err(format!("signature by key {fingerprint}, which is revoked"));
    }
    let direct = key
        .details
        .direct_signatures
        .iter()
        .filter(|signature| signature.verify_key(&key.primary_key).is_ok());
    let certifications = key.details.users.iter().flat_map(|user| {
        user.signatures.iter().filter(|signature| {
            signature
                .verify_certification(&key.primary_key, Tag::UserId, &user.id)
                .is_ok()
        })
    });
    match newest(direct.chain(certifications)) {
        Some(statement) if is_expired(&key.primary_key, statement, now) => {
            Err(format!("signature by key {fingerprint}, which is expired"))
        }
        _ => Ok(()),
    }
}

fn newest<'key>(signatures: impl Iterator<Item = &'key Signature>) -> Option<&'key Signature> {
    signatures.max_by_key(|signature| signature.created().map_or(0, Timestamp::as_secs))
}

fn is_expired(key: &impl KeyDetails, statement: &Signature, now: Timestamp) -> bool {
    statement.key_expiration_time().is_some_and(|lifetime| {
        lifetime.as_secs() != 0
            && key.created_at().as_secs().saturating_add(lifetime.as_secs()) < now.as_secs()
    })
}
