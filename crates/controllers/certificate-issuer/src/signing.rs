//! Keys and certificates, made as they are asked for.

use std::time::Duration;

use apply::object::text;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::{SignedDuration, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, DnValue,
    ExtendedKeyUsagePurpose as Extended, IsCa, Issuer, KeyPair, KeyUsagePurpose as Usage, PublicKeyData as _,
    RsaKeySize, SanType,
};
use serde_json::Value;
use x509_parser::asn1_rs::Tag;
use x509_parser::pem::Pem;
use x509_parser::x509::X509Name;

use crate::request::{KeyKind, Name, Request};

/// How long before it is made a certificate is good already: clocks of those who look at it may be behind.
const BACKDATED_BY: SignedDuration = SignedDuration::from_mins(5);

/// The key of the certificate in a Secret.
pub const CERTIFICATE_ENTRY: &str = "tls.crt";

/// The key of the private key in a Secret.
pub const KEY_ENTRY: &str = "tls.key";

/// The key of the certificate by which the other one is trusted.
pub const AUTHORITY_ENTRY: &str = "ca.crt";

/// What a Secret shall hold, as PEM.
#[derive(Clone, PartialEq, Eq)]
pub struct Issued {
    /// The certificate, and those between it and the one by which it is trusted.
    pub certificate: String,
    /// Its key.
    pub key: String,
    /// The certificate by which it is trusted.
    pub authority: String,
}

/// Why nothing could be issued.
#[derive(Debug, thiserror::Error)]
pub enum SigningError {
    /// The key or the certificate could not be made.
    #[error("could not make the certificate: {0}")]
    Making(#[from] rcgen::Error),
    /// The clock is outside of all calendars.
    #[error("could not make the certificate: {0}")]
    Time(#[from] jiff::Error),
}

/// An authority that was found in a Secret.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// Its certificate and those above it, as PEM.
    pub chain: Vec<String>,
    /// Until when it is good.
    pub until: Timestamp,
}

impl Authority {
    /// Reads a Secret.
    ///
    /// # Errors
    ///
    /// Which part of it can't be used.
    pub fn read(secret: &Value) -> Result<Self, String> {
        let certificates = entry(secret, CERTIFICATE_ENTRY)
            .ok_or("it has no tls.crt: put the authority's certificate there")?;
        let key = entry(secret, KEY_ENTRY).ok_or("it has no tls.key: put the authority's key there")?;
        let key = String::from_utf8_lossy(&key);
        let key = KeyPair::from_pem(&key).map_err(|error| format!("its tls.key can't be read: {error}"))?;
        let unreadable = "its tls.crt can't be read: put a certificate there as PEM";
        let blocks: Vec<Pem> = Pem::iter_from_buffer(&certificates)
            .filter_map(Result::ok)
            .collect();
        let first = blocks.first().ok_or(unreadable)?;
        let certificate = first.parse_x509().map_err(|_| unreadable)?;
        if !certificate.is_ca() {
            return Err("its tls.crt is no authority: a Certificate with isCA: true makes one".to_owned());
        }
        if certificate.public_key().raw != key.subject_public_key_info() {
            return Err("its tls.key is the key of another certificate than its tls.crt".to_owned());
        }
        let mut parameters = CertificateParams::default();
        parameters.distinguished_name = name_as_written(certificate.subject()).ok_or(
            "its tls.crt has a subject with a part that is there twice or isn't plain text: use an authority with another subject",
        )?;
        let until = Timestamp::from_second(certificate.validity().not_after.timestamp());
        Ok(Self {
            issuer: Issuer::new(parameters, key),
            chain: blocks.iter().map(written).collect(),
            until: until.map_err(|_| unreadable)?,
        })
    }

    /// The certificate by which those below it are trusted.
    pub fn trusted(&self) -> &str {
        self.chain.last().map_or("", String::as_str)
    }
}

/// Who signs.
pub enum Signer<'a> {
    /// The certificate's own key.
    Itself,
    /// An authority.
    Authority(&'a Authority),
}

/// Makes a key, and the certificate that is asked for.
///
/// # Errors
///
/// If it can't be made, such as for a name that certificates can't hold.
pub fn issue(request: &Request, signer: &Signer<'_>, now: Timestamp) -> Result<Issued, SigningError> {
    let key = new_key(request.key)?;
    let mut parameters = parameters(request)?;
    let mut until = now.checked_add(request.lifetime)?;
    if let Signer::Authority(authority) = signer {
        // Longer than its authority it is worth nothing.
        until = until.min(authority.until);
    }
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    let since_epoch = |moment: Timestamp| Duration::from_secs(moment.as_second().unsigned_abs());
    parameters.not_before = epoch + since_epoch(now.checked_sub(BACKDATED_BY)?);
    parameters.not_after = epoch + since_epoch(until);
    let (certificate, authority) = match signer {
        Signer::Itself => {
            let certificate = parameters.self_signed(&key)?.pem();
            (certificate.clone(), certificate)
        }
        Signer::Authority(authority) => {
            let mut chain = parameters.signed_by(&key, &authority.issuer)?.pem();
            let between = authority.chain.len().saturating_sub(1);
            chain.extend(authority.chain.iter().take(between).map(String::as_str));
            (chain, authority.trusted().to_owned())
        }
    };
    Ok(Issued {
        certificate,
        key: key.serialize_pem(),
        authority,
    })
}

/// Reads an entry of a Secret.
pub(crate) fn entry(secret: &Value, name: &str) -> Option<Vec<u8>> {
    let encoded = text(&secret["data"][name], "");
    STANDARD.decode(encoded).ok().filter(|bytes| !bytes.is_empty())
}

/// Writes bytes as Secrets and webhooks hold them.
pub(crate) fn encoded(bytes: impl AsRef<[u8]>) -> String {
    STANDARD.encode(bytes)
}

fn new_key(kind: KeyKind) -> Result<KeyPair, rcgen::Error> {
    match kind {
        KeyKind::Rsa(bits) => {
            let size = match bits {
                4096.. => RsaKeySize::_4096,
                3072.. => RsaKeySize::_3072,
                _ => RsaKeySize::_2048,
            };
            KeyPair::generate_rsa_for(&rcgen::PKCS_RSA_SHA256, size)
        }
        KeyKind::Ecdsa(384) => KeyPair::generate_for(&rcgen::PKCS_ECDSA_P384_SHA384),
        KeyKind::Ecdsa(_) => KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256),
        KeyKind::Ed25519 => KeyPair::generate_for(&rcgen::PKCS_ED25519),
    }
}

fn parameters(request: &Request) -> Result<CertificateParams, rcgen::Error> {
    let mut parameters = CertificateParams::default();
    let mut name = DistinguishedName::new();
    if let Some(organization) = &request.organization {
        name.push(DnType::OrganizationName, organization.as_str());
    }
    if !request.common_name.is_empty() {
        name.push(DnType::CommonName, request.common_name.as_str());
    }
    parameters.distinguished_name = name;
    for name in &request.names {
        parameters.subject_alt_names.push(match name {
            Name::Host(host) => SanType::DnsName(host.as_str().try_into()?),
            Name::Address(address) => SanType::IpAddress(*address),
            Name::Uri(uri) => SanType::URI(uri.as_str().try_into()?),
            Name::Mailbox(mailbox) => SanType::Rfc822Name(mailbox.as_str().try_into()?),
        });
    }
    parameters.is_ca = if request.is_authority {
        IsCa::Ca(BasicConstraints::Unconstrained)
    } else {
        IsCa::ExplicitNoCa
    };
    let (usages, extended) = usages(request);
    parameters.key_usages = usages;
    parameters.extended_key_usages = extended;
    Ok(parameters)
}

/// What a key may do, in the words of cert-manager. Words that it has and that no certificate needs here are passed over.
fn usages(request: &Request) -> (Vec<Usage>, Vec<Extended>) {
    let mut usages = Vec::new();
    let mut extended = Vec::new();
    if request.usages.is_empty() {
        usages.extend([Usage::DigitalSignature, Usage::KeyEncipherment]);
    }
    for word in &request.usages {
        match word.as_str() {
            "signing" | "digital signature" => usages.push(Usage::DigitalSignature),
            "content commitment" => usages.push(Usage::ContentCommitment),
            "key encipherment" => usages.push(Usage::KeyEncipherment),
            "key agreement" => usages.push(Usage::KeyAgreement),
            "data encipherment" => usages.push(Usage::DataEncipherment),
            "cert sign" => usages.push(Usage::KeyCertSign),
            "crl sign" => usages.push(Usage::CrlSign),
            "any" => extended.push(Extended::Any),
            "server auth" => extended.push(Extended::ServerAuth),
            "client auth" => extended.push(Extended::ClientAuth),
            "code signing" => extended.push(Extended::CodeSigning),
            "email protection" | "s/mime" => extended.push(Extended::EmailProtection),
            "timestamping" => extended.push(Extended::TimeStamping),
            "ocsp signing" => extended.push(Extended::OcspSigning),
            _ => {}
        }
    }
    if request.is_authority && !usages.contains(&Usage::KeyCertSign) {
        usages.push(Usage::KeyCertSign);
    }
    (usages, extended)
}

/// Returns a name so that it is written as it was read, byte by byte: that is how who checks a chain compares names.
fn name_as_written(name: &X509Name<'_>) -> Option<DistinguishedName> {
    let mut written = DistinguishedName::new();
    for attribute in name.iter_attributes() {
        let parts: Vec<u64> = attribute.attr_type().iter()?.collect();
        let value = attribute.attr_value();
        let said = attribute.as_str().ok()?;
        let said = match value.tag() {
            Tag::PrintableString => DnValue::PrintableString(said.try_into().ok()?),
            Tag::Ia5String => DnValue::Ia5String(said.try_into().ok()?),
            Tag::Utf8String => DnValue::Utf8String(said.to_owned()),
            _ => return None,
        };
        let part = DnType::from_oid(&parts);
        if written.get(&part).is_some() {
            return None;
        }
        written.push(part, said);
    }
    Some(written)
}

/// Writes a certificate as PEM again.
fn written(pem: &Pem) -> String {
    // Lines of 64 characters, as everybody has them.
    const LINE: usize = 64;
    let encoded = encoded(&pem.contents);
    let mut text = String::from("-----BEGIN CERTIFICATE-----\n");
    let mut rest = encoded.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at(LINE.min(rest.len()));
        text.push_str(line);
        text.push('\n');
        rest = after;
    }
    text.push_str("-----END CERTIFICATE-----\n");
    text
}
