//! The certificates of servers that an operator brings: made by an authority that lives for one installation.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use apply::object::{annotation, at};
use aws_lc_rs::digest;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use classic::keys;
use jiff::{SignedDuration, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, SerialNumber,
};
use serde_json::Value;
use x509_parser::extensions::GeneralName;
use x509_parser::pem::parse_x509_pem;

/// How long a certificate is good.
const VALID_FOR: SignedDuration = SignedDuration::from_hours(730 * 24);

/// How long before it was made a certificate is good already: the clocks of whoever checks it may be behind, and a replica with
/// such a clock would make it anew.
const BACKDATED_BY: SignedDuration = SignedDuration::from_hours(1);

/// How long before its end a certificate is replaced.
const FRESH_FOR: SignedDuration = SignedDuration::from_hours(24);

/// The organization that certificates name, as upstream's do.
const ORGANIZATION: &str = "Red Hat, Inc.";

/// The entry of a Secret with the certificate of the authority.
pub const AUTHORITY_ENTRY: &str = "olmCAKey";

/// Why a certificate can't be made.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// The keys or the certificate could not be made.
    #[error("could not make a certificate: {0}")]
    Making(#[from] rcgen::Error),
    /// The clock is outside of all calendars.
    #[error("could not make a certificate: {0}")]
    Time(#[from] jiff::Error),
    /// There is no randomness.
    #[error("could not make a certificate: no random bytes")]
    Random,
}

/// Keys and numbers that nobody can guess. Decisions have no randomness of their own, so whoever asks for one gives it.
pub trait Secrets {
    /// Returns a new key.
    ///
    /// # Errors
    ///
    /// Where none can be made.
    fn key(&self) -> Result<KeyPair, CertificateError>;

    /// Returns a number for a certificate.
    ///
    /// # Errors
    ///
    /// Where there is no randomness.
    fn serial(&self) -> Result<u64, CertificateError>;
}

/// Real keys and numbers.
#[derive(Debug, Clone, Copy, Default)]
pub struct Random;

impl Secrets for Random {
    fn key(&self) -> Result<KeyPair, CertificateError> {
        Ok(KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256)?)
    }

    fn serial(&self) -> Result<u64, CertificateError> {
        let mut bytes = [0; 8];
        aws_lc_rs::rand::fill(&mut bytes).map_err(|_| CertificateError::Random)?;
        Ok(u64::from_be_bytes(bytes) >> 1)
    }
}

/// A certificate and its key as PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// The certificate.
    pub certificate: String,
    /// The key.
    pub key: String,
}

/// An authority that signs the certificates of one installation.
#[derive(Debug)]
pub struct Authority<'a> {
    secrets: &'a dyn Secrets,
    issuer: Issuer<'static, KeyPair>,
    from: Timestamp,
    until: Timestamp,
    /// Its own certificate as PEM.
    pub certificate: String,
}

impl std::fmt::Debug for dyn Secrets + '_ {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("secrets")
    }
}

impl<'a> Authority<'a> {
    /// Makes an authority.
    ///
    /// # Errors
    ///
    /// Where keys can't be made.
    pub fn new(secrets: &'a dyn Secrets, now: Timestamp) -> Result<Self, CertificateError> {
        let (from, until) = (now.checked_sub(BACKDATED_BY)?, now.checked_add(VALID_FOR)?);
        let serial = secrets.serial()?;
        let mut parameters = parameters(&format!("olm-selfsigned-{serial:x}"), serial, from, until);
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let key = secrets.key()?;
        let certificate = parameters.self_signed(&key)?.pem();
        Ok(Self {
            secrets,
            issuer: Issuer::new(parameters, key),
            from,
            until,
            certificate,
        })
    }

    /// Makes the certificate of a server that is reached by some names.
    ///
    /// # Errors
    ///
    /// Where keys can't be made.
    pub fn sign(&self, hosts: &[String]) -> Result<Pair, CertificateError> {
        let first = hosts.first().map_or("", String::as_str);
        let mut parameters = parameters(first, self.secrets.serial()?, self.from, self.until);
        parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        parameters.is_ca = IsCa::ExplicitNoCa;
        for host in hosts {
            parameters
                .subject_alt_names
                .push(rcgen::SanType::DnsName(host.as_str().try_into()?));
        }
        let key = self.secrets.key()?;
        Ok(Pair {
            certificate: parameters.signed_by(&key, &self.issuer)?.pem(),
            key: key.serialize_pem(),
        })
    }

    /// Returns when others should be made.
    pub fn rotate_at(&self) -> Timestamp {
        self.until.checked_sub(FRESH_FOR).unwrap_or(self.until)
    }
}

fn parameters(common_name: &str, serial: u64, from: Timestamp, until: Timestamp) -> CertificateParams {
    let mut parameters = CertificateParams::default();
    let mut name = DistinguishedName::new();
    name.push(DnType::OrganizationName, ORGANIZATION);
    name.push(DnType::CommonName, common_name);
    parameters.distinguished_name = name;
    parameters.serial_number = Some(SerialNumber::from(serial));
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    let seconds = |moment: Timestamp| std::time::Duration::from_secs(moment.as_second().unsigned_abs());
    parameters.not_before = epoch + seconds(from);
    parameters.not_after = epoch + seconds(until);
    parameters
}

/// Returns what annotations say of the certificate of an authority.
pub fn authority_hash(certificate: &[u8]) -> String {
    let digest = digest::digest(&digest::SHA256, certificate);
    let mut text = String::with_capacity(2 * digest.as_ref().len());
    for byte in digest.as_ref() {
        // Writing to a text can't fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Reads a field that holds bytes in base64.
pub fn bytes(object: &Value, pointer: &str) -> Option<Vec<u8>> {
    STANDARD.decode(at(object, pointer)?.as_str()?).ok()
}

/// Writes bytes as fields hold them.
pub fn encoded(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Checks that bytes are a certificate.
///
/// # Errors
///
/// Upstream's text where they are not.
pub fn check_certificate(pem: &[u8]) -> Result<(), String> {
    let (_, block) = parse_x509_pem(pem).map_err(|_| "cert PEM empty".to_owned())?;
    block
        .parse_x509()
        .map(|_| ())
        .map_err(|_| "x509: malformed certificate".to_owned())
}

/// What a Secret holds of a certificate.
#[derive(Debug, Clone)]
pub struct Stored {
    /// The certificate of the authority as PEM.
    pub authority: Vec<u8>,
    certificate: Vec<u8>,
}

impl Stored {
    /// Reads a Secret; none where something is missing.
    pub fn read(secret: &Value) -> Option<Self> {
        Some(Self {
            authority: bytes(secret, &format!("/data/{AUTHORITY_ENTRY}"))?,
            certificate: bytes(secret, "/data/tls.crt")?,
        })
    }

    /// Returns whether the certificate is good for some names now and for a day.
    pub fn is_good(&self, hosts: &[String], now: Timestamp) -> bool {
        self.verify(hosts, now).unwrap_or_default()
    }

    /// Returns when others should be made; none where these can't be read.
    pub fn rotate_at(&self) -> Option<Timestamp> {
        let end = |pem: &[u8]| {
            let (_, block) = parse_x509_pem(pem).ok()?;
            Some(block.parse_x509().ok()?.validity().not_after.timestamp())
        };
        let end = end(&self.authority)?.min(end(&self.certificate)?);
        Timestamp::from_second(end - FRESH_FOR.as_secs()).ok()
    }

    fn verify(&self, hosts: &[String], now: Timestamp) -> Option<bool> {
        let (_, authority) = parse_x509_pem(&self.authority).ok()?;
        let (_, certificate) = parse_x509_pem(&self.certificate).ok()?;
        let (authority, certificate) = (authority.parse_x509().ok()?, certificate.parse_x509().ok()?);
        let now = now.as_second();
        let is_fresh = |validity: &x509_parser::certificate::Validity| {
            let end = validity.not_after.timestamp();
            validity.not_before.timestamp() <= now && now <= end - FRESH_FOR.as_secs()
        };
        if !is_fresh(authority.validity()) || !is_fresh(certificate.validity()) {
            return Some(false);
        }
        let is_signed = certificate.issuer() == authority.subject()
            && certificate.verify_signature(Some(authority.public_key())).is_ok();
        let names = certificate.subject_alternative_name().ok()??;
        let has = |host: &String| {
            let mut names = names.value.general_names.iter();
            names.any(|name| matches!(name, GeneralName::DNSName(name) if *name == host.as_str()))
        };
        Some(is_signed && hosts.iter().all(has))
    }
}

/// Returns the entries of a Secret for a certificate.
pub fn secret_data(pair: &Pair, authority: &str) -> BTreeMap<&'static str, String> {
    BTreeMap::from([
        ("tls.crt", encoded(pair.certificate.as_bytes())),
        ("tls.key", encoded(pair.key.as_bytes())),
        (AUTHORITY_ENTRY, encoded(authority.as_bytes())),
    ])
}

/// Returns whether an object says that it belongs to an authority.
pub fn has_authority(annotated: &Value, hash: &str) -> bool {
    annotation(annotated, keys::CERTIFICATE_AUTHORITY_HASH) == Some(hash)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::Fixed;

    fn secret(now: Timestamp) -> Value {
        let secrets = Fixed::default();
        let authority = Authority::new(&secrets, now).expect("an authority");
        let pair = authority
            .sign(&["a.n".to_owned(), "a.n.svc".to_owned()])
            .expect("a pair");
        json!({"data": secret_data(&pair, &authority.certificate)})
    }

    #[test]
    fn a_certificate_is_good_until_the_day_before_its_end() {
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().expect("a moment");
        let stored = Stored::read(&secret(now)).expect("a certificate");
        let hosts = ["a.n".to_owned(), "a.n.svc".to_owned()];
        let after = |days: i64| {
            now.checked_add(SignedDuration::from_hours(days * 24))
                .expect("a moment")
        };
        assert!(stored.is_good(&hosts, now) && stored.is_good(&hosts, after(728)));
        assert!(!stored.is_good(&hosts, after(730)) && !stored.is_good(&hosts, after(-1)));
        assert!(!stored.is_good(&["b.n".to_owned()], now));
    }

    #[test]
    fn a_certificate_of_another_authority_is_not_good() {
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().expect("a moment");
        let other = Authority::new(&Random, now).expect("an authority");
        let mut secret = secret(now);
        secret["data"][AUTHORITY_ENTRY] = Value::from(encoded(other.certificate.as_bytes()));
        assert!(
            !Stored::read(&secret)
                .expect("a certificate")
                .is_good(&["a.n".to_owned()], now)
        );
        secret["data"]["tls.crt"] = Value::from("bm90aGluZw==");
        assert!(
            !Stored::read(&secret)
                .expect("bytes")
                .is_good(&["a.n".to_owned()], now)
        );
    }
}
