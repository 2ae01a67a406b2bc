//! Private keys of the kinds that Go's x509 package knows, and DSA, which Sprig adds.

use aws_lc_rs::digest;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{self, Ed25519KeyPair, KeyPair, RsaKeyPair};
use num_bigint::BigUint;
use p256::ecdsa::signature::Signer;

use super::der::{self, Reader};
use super::{identifiers, pem};

/// Larger numbers than these bits in a key would cost minutes; Go has the same order of limit for TLS.
const MAX_RSA_BITS: u64 = 16_384;

/// What stands before a SHA-256 digest in a PKCS#1 signature, in DER.
const SHA256_DIGEST_INFO: &[u8] = &[
    0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01, 0x05, 0x00,
    0x04, 0x20,
];

/// A private key.
#[derive(Clone)]
pub(crate) enum PrivateKey {
    /// RSA: PKCS#1 in DER.
    Rsa(Vec<u8>),
    /// ECDSA on one of NIST's curves: the scalar at the curve's full length.
    Ecdsa(Curve, Vec<u8>),
    /// Ed25519: the seed.
    Ed25519([u8; 32]),
    /// DSA, which cannot sign certificates: version, p, q, g, y and x in DER.
    Dsa(Vec<u8>),
}

/// One of NIST's curves over a prime field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Curve {
    P256,
    P384,
    P521,
}

impl Curve {
    fn from_identifier(identifier: &[u8]) -> Option<Curve> {
        [Curve::P256, Curve::P384, Curve::P521]
            .into_iter()
            .find(|curve| curve.identifier() == identifier)
    }

    fn identifier(self) -> &'static [u8] {
        match self {
            Curve::P256 => identifiers::P256,
            Curve::P384 => identifiers::P384,
            Curve::P521 => identifiers::P521,
        }
    }

    fn scalar_length(self) -> usize {
        match self {
            Curve::P256 => 32,
            Curve::P384 => 48,
            Curve::P521 => 66,
        }
    }

    /// Returns the uncompressed public point; none for a scalar outside the group.
    fn public_point(self, scalar: &[u8]) -> Option<Vec<u8>> {
        Some(match self {
            Curve::P256 => {
                let key = p256::ecdsa::SigningKey::from_slice(scalar).ok()?;
                key.verifying_key().to_sec1_point(false).as_bytes().to_vec()
            }
            Curve::P384 => {
                let key = p384::ecdsa::SigningKey::from_slice(scalar).ok()?;
                key.verifying_key().to_sec1_point(false).as_bytes().to_vec()
            }
            Curve::P521 => {
                let key = p521::ecdsa::SigningKey::from_slice(scalar).ok()?;
                key.verifying_key().to_sec1_point(false).as_bytes().to_vec()
            }
        })
    }

    /// Signs with a nonce that comes from the key and the message (RFC 6979), so that a render can be repeated.
    fn sign(self, scalar: &[u8], message: &[u8]) -> Option<Vec<u8>> {
        let numbers = match self {
            Curve::P256 => {
                let signature: p256::ecdsa::Signature = p256::ecdsa::SigningKey::from_slice(scalar)
                    .ok()?
                    .try_sign(message)
                    .ok()?;
                signature.to_bytes().to_vec()
            }
            Curve::P384 => {
                let signature: p384::ecdsa::Signature = p384::ecdsa::SigningKey::from_slice(scalar)
                    .ok()?
                    .try_sign(message)
                    .ok()?;
                signature.to_bytes().to_vec()
            }
            Curve::P521 => {
                let signature: p521::ecdsa::Signature = p521::ecdsa::SigningKey::from_slice(scalar)
                    .ok()?
                    .try_sign(message)
                    .ok()?;
                signature.to_bytes().to_vec()
            }
        };
        let (r, s) = numbers.split_at(numbers.len() / 2);
        Some(der::sequence(&[
            der::integer_from_bytes(r),
            der::integer_from_bytes(s),
        ]))
    }
}

impl PrivateKey {
    /// Returns the ECDSA key on P-256 with the given scalar.
    pub(crate) fn ecdsa_p256(scalar: [u8; 32]) -> PrivateKey {
        PrivateKey::Ecdsa(Curve::P256, scalar.to_vec())
    }

    /// Reads a key from PEM, with Sprig's and Go's words for what is wrong with it.
    pub(crate) fn parse_pem(text: &[u8]) -> Result<PrivateKey, String> {
        let block = pem::decode(text).ok_or("no PEM data in input")?;
        if block.label == "PRIVATE KEY" {
            return parse_pkcs8(&block.data).map_err(|error| format!("decoding PEM as PKCS#8: {error}"));
        }
        let Some(kind) = block.label.strip_suffix(" PRIVATE KEY") else {
            return Err(format!(
                "no private key data in PEM block of type {}",
                block.label
            ));
        };
        match kind {
            "RSA" => {
                parse_pkcs1(&block.data).map_err(|error| format!("parsing RSA private key from PEM: {error}"))
            }
            "EC" => parse_sec1(&block.data, None)
                .map_err(|error| format!("parsing EC private key from PEM: {error}")),
            "DSA" => {
                parse_dsa(&block.data).map_err(|error| format!("parsing DSA private key from PEM: {error}"))
            }
            _ => Err(format!("invalid private key type {}", block.label)),
        }
    }

    /// Writes the key as Sprig does: each kind in its traditional form, Ed25519 as PKCS#8.
    pub(crate) fn to_pem(&self) -> String {
        match self {
            PrivateKey::Rsa(pkcs1) => pem::encode("RSA PRIVATE KEY", pkcs1),
            PrivateKey::Dsa(bytes) => pem::encode("DSA PRIVATE KEY", bytes),
            PrivateKey::Ecdsa(curve, scalar) => {
                let identifier = der::element(der::OBJECT_IDENTIFIER, curve.identifier());
                let point = curve.public_point(scalar).unwrap_or_default();
                let sec1 = der::sequence(&[
                    der::integer(&BigUint::from(1u8)),
                    der::element(der::OCTET_STRING, scalar),
                    der::element(der::CONTEXT_0, &identifier),
                    der::element(der::CONTEXT_1, &der::bit_string(&point)),
                ]);
                pem::encode("EC PRIVATE KEY", &sec1)
            }
            PrivateKey::Ed25519(seed) => {
                let pkcs8 = der::sequence(&[
                    der::integer(&BigUint::ZERO),
                    der::sequence(&[der::element(der::OBJECT_IDENTIFIER, identifiers::ED25519)]),
                    der::element(der::OCTET_STRING, &der::element(der::OCTET_STRING, seed)),
                ]);
                pem::encode("PRIVATE KEY", &pkcs8)
            }
        }
    }

    /// Returns the public key's algorithm and its bits; an error for a kind that certificates cannot carry.
    pub(super) fn public_key(&self) -> Result<(Vec<u8>, Vec<u8>), String> {
        let identifier = |content: &[u8]| der::element(der::OBJECT_IDENTIFIER, content);
        match self {
            PrivateKey::Rsa(pkcs1) => {
                let key = RsaNumbers::read(pkcs1).ok_or("x509: malformed RSA private key")?;
                let algorithm = der::sequence(&[identifier(identifiers::RSA_ENCRYPTION), der::null()]);
                let bits = der::sequence(&[der::integer(&key.modulus), der::integer(&key.exponent)]);
                Ok((algorithm, bits))
            }
            PrivateKey::Ecdsa(curve, scalar) => {
                let algorithm = der::sequence(&[
                    identifier(identifiers::EC_PUBLIC_KEY),
                    identifier(curve.identifier()),
                ]);
                let point = curve.public_point(scalar);
                Ok((
                    algorithm,
                    point.ok_or("x509: invalid elliptic curve private key value")?,
                ))
            }
            PrivateKey::Ed25519(seed) => {
                let pair = Ed25519KeyPair::from_seed_unchecked(seed)
                    .map_err(|_| "x509: invalid Ed25519 private key")?;
                let algorithm = der::sequence(&[identifier(identifiers::ED25519)]);
                Ok((algorithm, pair.public_key().as_ref().to_vec()))
            }
            PrivateKey::Dsa(_) => Err("x509: unsupported public key type: *dsa.PublicKey".into()),
        }
    }

    /// Returns whether the key can sign certificates.
    pub(super) fn can_sign(&self) -> bool {
        !matches!(self, PrivateKey::Dsa(_))
    }

    /// Returns the algorithm that Go signs certificates with by this key.
    pub(super) fn signature_algorithm(&self) -> Vec<u8> {
        let identifier = |content: &[u8]| der::element(der::OBJECT_IDENTIFIER, content);
        match self {
            PrivateKey::Rsa(_) => der::sequence(&[identifier(identifiers::SHA256_WITH_RSA), der::null()]),
            PrivateKey::Ecdsa(curve, _) => der::sequence(&[identifier(match curve {
                Curve::P256 => identifiers::ECDSA_WITH_SHA256,
                Curve::P384 => identifiers::ECDSA_WITH_SHA384,
                Curve::P521 => identifiers::ECDSA_WITH_SHA512,
            })]),
            PrivateKey::Ed25519(_) => der::sequence(&[identifier(identifiers::ED25519)]),
            PrivateKey::Dsa(_) => Vec::new(),
        }
    }

    /// Signs a message; the same key and message give the same signature.
    pub(super) fn sign(&self, message: &[u8]) -> Result<Vec<u8>, String> {
        let signed = match self {
            PrivateKey::Rsa(pkcs1) => sign_rsa(pkcs1, message),
            PrivateKey::Ecdsa(curve, scalar) => curve.sign(scalar, message),
            PrivateKey::Ed25519(seed) => Ed25519KeyPair::from_seed_unchecked(seed)
                .ok()
                .map(|pair| pair.sign(message).as_ref().to_vec()),
            PrivateKey::Dsa(_) => None,
        };
        signed.ok_or_else(|| "crypto: signing with the private key failed".into())
    }
}

fn sign_rsa(pkcs1: &[u8], message: &[u8]) -> Option<Vec<u8>> {
    if let Ok(pair) = RsaKeyPair::from_der(pkcs1) {
        let mut signature = vec![0; pair.public_modulus_len()];
        pair.sign(
            &signature::RSA_PKCS1_SHA256,
            &SystemRandom::new(),
            message,
            &mut signature,
        )
        .ok()?;
        return Some(signature);
    }
    // Keys that the library finds too short or odd; they keep no secret worth hiding the time it takes.
    let key = RsaNumbers::read(pkcs1)?;
    let length = key.modulus.bits().div_ceil(8) as usize;
    let digest = digest::digest(&digest::SHA256, message);
    let padding = length.checked_sub(3 + SHA256_DIGEST_INFO.len() + digest.as_ref().len())?;
    let mut block = vec![0, 1];
    block.extend(std::iter::repeat_n(0xff, padding));
    block.push(0);
    block.extend_from_slice(SHA256_DIGEST_INFO);
    block.extend_from_slice(digest.as_ref());
    let signature = BigUint::from_bytes_be(&block)
        .modpow(&key.private, &key.modulus)
        .to_bytes_be();
    let mut padded = vec![0; length.checked_sub(signature.len())?];
    padded.extend(signature);
    Some(padded)
}

/// The numbers of an RSA key that are not recomputed.
struct RsaNumbers {
    version: BigUint,
    modulus: BigUint,
    exponent: BigUint,
    private: BigUint,
    primes: [BigUint; 2],
}

impl RsaNumbers {
    fn read(pkcs1: &[u8]) -> Option<RsaNumbers> {
        let mut reader = Reader::new(pkcs1).enter(der::SEQUENCE)?;
        Some(RsaNumbers {
            version: reader.unsigned()?,
            modulus: reader.unsigned()?,
            exponent: reader.unsigned()?,
            private: reader.unsigned()?,
            primes: [reader.unsigned()?, reader.unsigned()?],
        })
    }

    /// Checks what Go's `rsa.PrivateKey.Validate` checks.
    fn validate(&self) -> Result<(), &'static str> {
        let one = BigUint::from(1u8);
        let [p, q] = &self.primes;
        if self.version > one {
            return Err("x509: unsupported private key version");
        }
        if [&self.modulus, &self.private, p, q].contains(&&BigUint::ZERO) {
            return Err("x509: private key contains zero or negative value");
        }
        if self.modulus.bits() > MAX_RSA_BITS {
            return Err("crypto/rsa: modulus too large");
        }
        if self.exponent < BigUint::from(2u8) {
            return Err("crypto/rsa: public exponent too small");
        }
        if self.exponent > BigUint::from(i32::MAX as u32) {
            return Err("crypto/rsa: public exponent too large");
        }
        if *p <= one || *q <= one {
            return Err("crypto/rsa: invalid prime value");
        }
        if p * q != self.modulus {
            return Err("crypto/rsa: invalid modulus");
        }
        let product = &self.exponent * &self.private;
        if [p, q]
            .iter()
            .any(|prime| &product % (*prime - &one) != one && (*prime - &one) != one)
        {
            return Err("crypto/rsa: invalid exponents");
        }
        Ok(())
    }

    /// Writes the key with the numbers that follow from the others computed anew, as Go does.
    fn to_der(&self) -> Option<Vec<u8>> {
        let one = BigUint::from(1u8);
        let [p, q] = &self.primes;
        Some(der::sequence(&[
            der::integer(&BigUint::ZERO),
            der::integer(&self.modulus),
            der::integer(&self.exponent),
            der::integer(&self.private),
            der::integer(p),
            der::integer(q),
            der::integer(&(&self.private % (p - &one))),
            der::integer(&(&self.private % (q - &one))),
            der::integer(&q.modinv(p)?),
        ]))
    }
}

/// The forms that a key's bytes can have.
#[derive(PartialEq, Eq)]
enum Form {
    Pkcs1,
    Pkcs8,
    Sec1,
}

fn has_form(bytes: &[u8], form: &Form) -> bool {
    match form {
        Form::Pkcs1 => RsaNumbers::read(bytes).is_some(),
        Form::Pkcs8 => der::pkcs8_private_key(bytes).is_some(),
        Form::Sec1 => sec1_parts(bytes).is_some(),
    }
}

/// Says which form the bytes have instead of the wanted one, or that they have none.
fn another_form(bytes: &[u8], candidates: [(Form, &str); 2], otherwise: String) -> String {
    for (form, parser) in candidates {
        if has_form(bytes, &form) {
            return format!("x509: failed to parse private key (use {parser} instead for this key format)");
        }
    }
    otherwise
}

fn parse_pkcs1(bytes: &[u8]) -> Result<PrivateKey, String> {
    if der::has_trailing_data(bytes) {
        return Err("asn1: syntax error: trailing data".into());
    }
    let numbers = RsaNumbers::read(bytes).ok_or_else(|| {
        let forms = [
            (Form::Sec1, "ParseECPrivateKey"),
            (Form::Pkcs8, "ParsePKCS8PrivateKey"),
        ];
        another_form(
            bytes,
            forms,
            der::complaint(bytes, der::SEQUENCE, "pkcs1PrivateKey"),
        )
    })?;
    numbers.validate()?;
    numbers
        .to_der()
        .map(PrivateKey::Rsa)
        .ok_or_else(|| "crypto/rsa: invalid CRT coefficient".into())
}

/// Version, scalar and the curve's identifier of a key in SEC 1's form.
type Sec1Parts<'a> = (BigUint, &'a [u8], Option<&'a [u8]>);

fn sec1_parts(bytes: &[u8]) -> Option<Sec1Parts<'_>> {
    let mut reader = Reader::new(bytes).enter(der::SEQUENCE)?;
    let version = reader.unsigned()?;
    let scalar = reader.expect(der::OCTET_STRING)?.content;
    let curve = match reader.expect(der::CONTEXT_0) {
        Some(parameters) => Some(
            Reader::new(parameters.content)
                .expect(der::OBJECT_IDENTIFIER)?
                .content,
        ),
        None => None,
    };
    Some((version, scalar, curve))
}

fn parse_sec1(bytes: &[u8], curve: Option<&[u8]>) -> Result<PrivateKey, String> {
    let (version, scalar, own_curve) = sec1_parts(bytes).ok_or_else(|| {
        let forms = [
            (Form::Pkcs8, "ParsePKCS8PrivateKey"),
            (Form::Pkcs1, "ParsePKCS1PrivateKey"),
        ];
        let complaint = der::complaint(bytes, der::SEQUENCE, "ecPrivateKey");
        another_form(
            bytes,
            forms,
            format!("x509: failed to parse EC private key: {complaint}"),
        )
    })?;
    if version != BigUint::from(1u8) {
        return Err(format!("x509: unknown EC private key version {version}"));
    }
    let curve = curve
        .or(own_curve)
        .and_then(Curve::from_identifier)
        .ok_or("x509: unknown elliptic curve")?;
    let number = BigUint::from_bytes_be(scalar).to_bytes_be();
    let padding = curve
        .scalar_length()
        .checked_sub(number.len())
        .ok_or("x509: invalid private key length")?;
    let mut padded = vec![0; padding];
    padded.extend(number);
    if curve.public_point(&padded).is_none() {
        return Err("x509: invalid elliptic curve private key value".into());
    }
    Ok(PrivateKey::Ecdsa(curve, padded))
}

fn parse_pkcs8(bytes: &[u8]) -> Result<PrivateKey, String> {
    let (algorithm, key) = der::pkcs8_private_key(bytes).ok_or_else(|| {
        let forms = [
            (Form::Sec1, "ParseECPrivateKey"),
            (Form::Pkcs1, "ParsePKCS1PrivateKey"),
        ];
        another_form(bytes, forms, der::complaint(bytes, der::SEQUENCE, "pkcs8"))
    })?;
    let mut algorithm = Reader::new(algorithm);
    let identifier = algorithm
        .expect(der::OBJECT_IDENTIFIER)
        .map(|element| element.content);
    match identifier.unwrap_or_default() {
        identifiers::RSA_ENCRYPTION => parse_pkcs1(key)
            .map_err(|error| format!("x509: failed to parse RSA private key embedded in PKCS#8: {error}")),
        identifiers::EC_PUBLIC_KEY => {
            let curve = algorithm
                .expect(der::OBJECT_IDENTIFIER)
                .map(|element| element.content);
            parse_sec1(key, curve)
                .map_err(|error| format!("x509: failed to parse EC private key embedded in PKCS#8: {error}"))
        }
        identifiers::ED25519 => {
            if !algorithm.is_empty() {
                return Err("x509: invalid Ed25519 private key parameters".into());
            }
            let seed = Reader::new(key).expect(der::OCTET_STRING).ok_or_else(|| {
                format!(
                    "x509: invalid Ed25519 private key: {}",
                    der::complaint(key, der::OCTET_STRING, "")
                )
            })?;
            let seed = seed
                .content
                .try_into()
                .map_err(|_| format!("x509: invalid Ed25519 private key length: {}", seed.content.len()))?;
            Ok(PrivateKey::Ed25519(seed))
        }
        identifier => Err(format!(
            "x509: PKCS#8 wrapping contained private key with unknown algorithm: {}",
            identifiers::dotted(identifier)
        )),
    }
}

fn parse_dsa(bytes: &[u8]) -> Result<PrivateKey, String> {
    let read = || {
        let mut reader = Reader::new(bytes).enter(der::SEQUENCE)?;
        let numbers: Option<Vec<Vec<u8>>> = (0..6)
            .map(|_| reader.unsigned().map(|number| der::integer(&number)))
            .collect();
        numbers.map(|mut numbers| {
            // Sprig writes its keys with version 0, whatever the version was.
            if let Some(version) = numbers.first_mut() {
                *version = der::integer(&BigUint::ZERO);
            }
            der::sequence(&numbers)
        })
    };
    read()
        .map(PrivateKey::Dsa)
        .ok_or_else(|| der::complaint(bytes, der::SEQUENCE, "DSAKeyFormat"))
}
