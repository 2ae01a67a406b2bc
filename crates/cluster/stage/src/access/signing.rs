//! The key that signs the tokens of ServiceAccounts, and the tokens as signed texts.

use aws_lc_rs::digest;
use aws_lc_rs::rsa::KeyPair as RsaKey;
use aws_lc_rs::signature::KeyPair as _;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use rcgen::{KeyPair, PublicKeyData as _, RsaKeySize};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::{Value, json};

use super::keys::{KeyDirectory, KeyError};

/// The file of the key.
const FILE: &str = "service-accounts.pem";

/// The largest token that is looked at; real ones have about a kilobyte.
const LARGEST_TOKEN: usize = 64 << 10;

/// The key that signs the tokens of ServiceAccounts.
pub struct SigningKey {
    id: String,
    modulus: String,
    exponent: String,
    encoding: EncodingKey,
    decoding: DecodingKey,
}

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("SigningKey")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl SigningKey {
    /// Reads the key from its file, or makes it.
    pub(super) fn open(directory: &KeyDirectory) -> Result<Self, KeyError> {
        if let Some(text) = directory.read(FILE)? {
            let broken = |why: String| KeyError::Broken {
                path: directory.path(FILE),
                why,
            };
            let key = PrivateKeyDer::from_pem_slice(text.as_bytes())
                .map_err(|error| broken(error.to_string()))
                .and_then(|der| KeyPair::try_from(&der).map_err(|error| broken(error.to_string())))?;
            return Self::of(&key).map_err(broken);
        }
        let failed = |why: String| KeyError::Make {
            what: "key of the ServiceAccounts' tokens",
            why,
        };
        let key = KeyPair::generate_rsa_for(&rcgen::PKCS_RSA_SHA256, RsaKeySize::_2048)
            .map_err(|error| failed(error.to_string()))?;
        directory.write(FILE, &key.serialize_pem())?;
        Self::of(&key).map_err(failed)
    }

    fn of(key: &KeyPair) -> Result<Self, String> {
        let rsa = RsaKey::from_pkcs8(key.serialized_der()).map_err(|error| error.to_string())?;
        let public = rsa.public_key();
        let modulus = public.modulus().big_endian_without_leading_zero();
        let exponent = public.exponent().big_endian_without_leading_zero();
        let encoding =
            EncodingKey::from_rsa_pem(key.serialize_pem().as_bytes()).map_err(|error| error.to_string())?;
        let id = digest::digest(&digest::SHA256, &key.subject_public_key_info());
        Ok(Self {
            id: URL_SAFE_NO_PAD.encode(id),
            modulus: URL_SAFE_NO_PAD.encode(modulus),
            exponent: URL_SAFE_NO_PAD.encode(exponent),
            encoding,
            decoding: DecodingKey::from_rsa_raw_components(modulus, exponent),
        })
    }

    /// Returns the name of the key in tokens.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the public key as a JSON Web Key.
    pub fn public(&self) -> Value {
        json!({
            "use": "sig", "kty": "RSA", "kid": self.id, "alg": "RS256", "n": self.modulus, "e": self.exponent,
        })
    }

    /// Signs claims.
    pub fn sign(&self, claims: &Value) -> Result<String, String> {
        let mut header = Header::new(Algorithm::RS256);
        // The real server's tokens have no type.
        header.typ = None;
        header.kid = Some(self.id.clone());
        jsonwebtoken::encode(&header, claims, &self.encoding).map_err(|error| error.to_string())
    }

    /// Returns the claims of a token that this key signed. Whether they hold is another question.
    pub fn verify(&self, token: &str) -> Option<Value> {
        if token.len() > LARGEST_TOKEN {
            return None;
        }
        let mut validation = Validation::new(Algorithm::RS256);
        validation.validate_exp = false;
        validation.validate_nbf = false;
        validation.validate_aud = false;
        validation.required_spec_claims.clear();
        let found = jsonwebtoken::decode::<Value>(token, &self.decoding, &validation).ok()?;
        Some(found.claims)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tokens_of_the_key_itself_are_believed() {
        let memory = KeyDirectory::open(None).expect("memory");
        let one = SigningKey::open(&memory).expect("a key");
        let other = SigningKey::open(&memory).expect("a key");
        let claims = json!({"sub": "a", "exp": 1});
        let token = one.sign(&claims).expect("a token");
        assert_eq!(one.verify(&token), Some(claims));
        assert_eq!(other.verify(&token), None);
        let (body, signature) = token.rsplit_once('.').expect("three parts");
        let (header, _) = body.split_once('.').expect("two parts");
        let forged = URL_SAFE_NO_PAD.encode(r#"{"sub":"b"}"#);
        assert_eq!(one.verify(&format!("{header}.{forged}.{signature}")), None);
        let none = URL_SAFE_NO_PAD.encode(r#"{"alg":"none"}"#);
        assert_eq!(one.verify(&format!("{none}.{forged}.")), None);
        assert_eq!(one.verify("a.b.c"), None);
        assert_eq!(one.verify(""), None);
    }
}
