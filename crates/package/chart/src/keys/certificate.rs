//! X.509 certificates, field for field as Go's `x509.CreateCertificate` writes Sprig's template.

use std::net::IpAddr;

use aws_lc_rs::digest;
use num_bigint::BigUint;

use super::der::{self, Element, Reader};
use super::{PrivateKey, identifiers};
use crate::time::{Duration, Location, Time};

/// What a certificate says.
pub(crate) struct Template {
    pub(crate) common_name: Vec<u8>,
    pub(crate) addresses: Vec<IpAddr>,
    pub(crate) dns_names: Vec<Vec<u8>>,
    pub(crate) serial_number: [u8; 16],
    pub(crate) not_before: Time,
    pub(crate) days_valid: i64,
    pub(crate) is_authority: bool,
}

/// The certificate that signs another one.
pub(crate) struct Issuer {
    /// The subject, in DER.
    subject: Vec<u8>,
    key_identifier: Vec<u8>,
    /// The public key's bits.
    public_key: Vec<u8>,
}

impl Template {
    /// Writes the certificate for the key `subject`, signed by `signer`; self-signed where there is no issuer.
    pub(crate) fn sign(
        &self,
        subject: &PrivateKey,
        issuer: Option<&Issuer>,
        signer: &PrivateKey,
    ) -> Result<Vec<u8>, String> {
        if !signer.can_sign() {
            return Err("x509: certificate private key does not implement crypto.Signer".into());
        }
        let (key_algorithm, key_bits) = subject.public_key()?;
        let subject_name = self.subject_name()?;
        let issuer_name = issuer.map_or(&subject_name, |issuer| &issuer.subject);
        let authority_key = issuer
            .filter(|issuer| issuer.subject != subject_name)
            .map(|issuer| &issuer.key_identifier);
        if let Some(issuer) = issuer {
            let (_, signer_bits) = signer.public_key()?;
            if !issuer.public_key.is_empty() && issuer.public_key != signer_bits {
                return Err("x509: provided PrivateKey doesn't match parent's PublicKey".into());
            }
        }
        let extensions =
            self.extensions(&key_bits, authority_key, subject_name.len() == EMPTY_NAME_LENGTH)?;
        let version_3 = der::integer(&BigUint::from(2u8));
        let signature_algorithm = signer.signature_algorithm();
        let lifetime = Duration(self.days_valid.wrapping_mul(24 * 3600 * 1_000_000_000));
        let content = der::sequence(&[
            der::element(der::CONTEXT_0, &version_3),
            der::integer_from_bytes(&self.serial_number),
            signature_algorithm.clone(),
            issuer_name.clone(),
            der::sequence(&[time(&self.not_before)?, time(&self.not_before.add(lifetime))?]),
            subject_name,
            der::sequence(&[key_algorithm, der::bit_string(&key_bits)]),
            der::element(der::CONTEXT_3, &der::sequence(&extensions)),
        ]);
        let signature = signer.sign(&content)?;
        Ok(der::sequence(&[
            content,
            signature_algorithm,
            der::bit_string(&signature),
        ]))
    }

    fn subject_name(&self) -> Result<Vec<u8>, String> {
        if self.common_name.is_empty() {
            return Ok(der::sequence(&[]));
        }
        let printable = self
            .common_name
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b" '()+,-./:=?".contains(byte));
        if !printable && std::str::from_utf8(&self.common_name).is_err() {
            return Err("asn1: string not valid UTF-8".into());
        }
        let tag = if printable {
            der::PRINTABLE_STRING
        } else {
            der::UTF8_STRING
        };
        let attribute = der::sequence(&[
            der::element(der::OBJECT_IDENTIFIER, identifiers::COMMON_NAME),
            der::element(tag, &self.common_name),
        ]);
        Ok(der::sequence(&[der::constructed(der::SET, &[attribute])]))
    }

    /// Writes the extensions in Go's order.
    fn extensions(
        &self,
        key_bits: &[u8],
        authority_key: Option<&Vec<u8>>,
        nameless: bool,
    ) -> Result<Vec<Vec<u8>>, String> {
        // Bits from the left: digital signature, key encipherment, and for an authority certificate signing.
        let usage: &[u8] = if self.is_authority {
            &[2, 0b1010_0100]
        } else {
            &[5, 0b1010_0000]
        };
        let extended_usage = der::sequence(&[
            der::element(der::OBJECT_IDENTIFIER, identifiers::SERVER_AUTHENTICATION),
            der::element(der::OBJECT_IDENTIFIER, identifiers::CLIENT_AUTHENTICATION),
        ]);
        let constraints: &[Vec<u8>] = if self.is_authority {
            &[der::element(der::BOOLEAN, &[0xff])]
        } else {
            &[]
        };
        let mut extensions = vec![
            extension(
                identifiers::KEY_USAGE,
                true,
                &der::element(der::BIT_STRING, usage),
            ),
            extension(identifiers::EXTENDED_KEY_USAGE, false, &extended_usage),
            extension(identifiers::BASIC_CONSTRAINTS, true, &der::sequence(constraints)),
        ];
        if self.is_authority {
            let hash = digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, key_bits);
            let identifier = der::element(der::OCTET_STRING, hash.as_ref());
            extensions.push(extension(identifiers::SUBJECT_KEY_IDENTIFIER, false, &identifier));
        }
        if let Some(identifier) = authority_key.filter(|identifier| !identifier.is_empty()) {
            let identifier = der::sequence(&[der::element(der::OCTETS_CONTEXT_0, identifier)]);
            extensions.push(extension(
                identifiers::AUTHORITY_KEY_IDENTIFIER,
                false,
                &identifier,
            ));
        }
        if !self.dns_names.is_empty() || !self.addresses.is_empty() {
            let names = der::sequence(&self.alternative_names()?);
            extensions.push(extension(identifiers::SUBJECT_ALTERNATIVE_NAME, nameless, &names));
        }
        Ok(extensions)
    }

    fn alternative_names(&self) -> Result<Vec<Vec<u8>>, String> {
        let mut names = Vec::with_capacity(self.dns_names.len() + self.addresses.len());
        for name in &self.dns_names {
            if !name.is_ascii() {
                let quoted = gotemplate::format::quoted(name);
                return Err(format!("x509: {quoted} cannot be encoded as an IA5String"));
            }
            names.push(der::element(der::IA5_STRING_CONTEXT_2, name));
        }
        for address in &self.addresses {
            // An IPv4 address in IPv6's clothes is an IPv4 address to Go.
            names.push(match address.to_canonical() {
                IpAddr::V4(address) => der::element(der::OCTETS_CONTEXT_7, &address.octets()),
                IpAddr::V6(address) => der::element(der::OCTETS_CONTEXT_7, &address.octets()),
            });
        }
        Ok(names)
    }
}

/// The length of a name without parts, in DER.
const EMPTY_NAME_LENGTH: usize = 2;

fn extension(identifier: &[u8], critical: bool, value: &[u8]) -> Vec<u8> {
    let mut parts = vec![der::element(der::OBJECT_IDENTIFIER, identifier)];
    if critical {
        parts.push(der::element(der::BOOLEAN, &[0xff]));
    }
    parts.push(der::element(der::OCTET_STRING, value));
    der::sequence(&parts)
}

/// Writes a time: with two digits of the year where they say enough.
fn time(time: &Time) -> Result<Vec<u8>, String> {
    let time = time.within(Location::Utc);
    match time.civil().year {
        1950..2050 => Ok(der::element(der::UTC_TIME, &time.format(b"060102150405Z"))),
        0..=9999 => Ok(der::element(
            der::GENERALIZED_TIME,
            &time.format(b"20060102150405Z"),
        )),
        _ => Err("asn1: structure error: cannot represent time as GeneralizedTime".into()),
    }
}

impl Issuer {
    /// Reads a certificate from DER, with Go's words for what is wrong with it.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Issuer, &'static str> {
        const MALFORMED: &str = "x509: malformed certificate";
        const MALFORMED_SIGNED: &str = "x509: malformed tbs certificate";
        if der::has_trailing_data(bytes) {
            return Err("x509: trailing data");
        }
        let mut whole = Reader::new(bytes).enter(der::SEQUENCE).ok_or(MALFORMED)?;
        let mut signed = whole.enter(der::SEQUENCE).ok_or(MALFORMED_SIGNED)?;
        if let Some(mut version) = signed.enter(der::CONTEXT_0)
            && version.unsigned().ok_or("x509: malformed version")? > BigUint::from(2u8)
        {
            return Err("x509: invalid version");
        }
        let serial = signed
            .expect(der::INTEGER)
            .ok_or("x509: malformed serial number")?;
        if serial.content.first().is_some_and(|first| *first >= 0x80) {
            return Err("x509: negative serial number");
        }
        let inner = signed
            .expect(der::SEQUENCE)
            .ok_or("x509: malformed signature algorithm identifier")?;
        let outer = whole
            .expect(der::SEQUENCE)
            .ok_or("x509: malformed algorithm identifier")?;
        if inner.content != outer.content {
            return Err("x509: inner and outer signature algorithm identifiers don't match");
        }
        name(&mut signed)?;
        let mut validity = signed.enter(der::SEQUENCE).ok_or("x509: malformed validity")?;
        for _ in 0..2 {
            let time = validity.next().map(|element| element.tag);
            if !matches!(time, Some(der::UTC_TIME | der::GENERALIZED_TIME)) {
                return Err("x509: unsupported time format");
            }
        }
        let subject = name(&mut signed)?.whole.to_vec();
        let mut key = signed.enter(der::SEQUENCE).ok_or("x509: malformed spki")?;
        let algorithm = key
            .expect(der::SEQUENCE)
            .ok_or("x509: malformed public key algorithm identifier")?;
        let bits = key
            .expect(der::BIT_STRING)
            .ok_or("x509: malformed subjectPublicKey")?;
        let (_, public_key) = bits
            .content
            .split_first()
            .ok_or("x509: malformed subjectPublicKey")?;
        // A key of a kind that Go does not know is not compared with the signer's.
        let known = Reader::new(algorithm.content)
            .expect(der::OBJECT_IDENTIFIER)
            .is_some_and(|identifier| {
                [
                    identifiers::RSA_ENCRYPTION,
                    identifiers::EC_PUBLIC_KEY,
                    identifiers::ED25519,
                ]
                .contains(&identifier.content)
            });
        signed.expect(UNIQUE_IDENTIFIER_1);
        signed.expect(UNIQUE_IDENTIFIER_2);
        let mut key_identifier = Vec::new();
        if let Some(mut extensions) = signed.enter(der::CONTEXT_3) {
            let mut extensions = extensions
                .enter(der::SEQUENCE)
                .ok_or("x509: malformed extensions")?;
            while !extensions.is_empty() {
                let mut extension = extensions
                    .enter(der::SEQUENCE)
                    .ok_or("x509: malformed extension")?;
                let identifier = extension
                    .expect(der::OBJECT_IDENTIFIER)
                    .ok_or("x509: malformed extension OID field")?;
                extension.expect(der::BOOLEAN);
                let value = extension
                    .expect(der::OCTET_STRING)
                    .ok_or("x509: malformed extension value field")?;
                if identifier.content == identifiers::SUBJECT_KEY_IDENTIFIER {
                    let value = Reader::new(value.content).expect(der::OCTET_STRING);
                    key_identifier = value
                        .ok_or("x509: invalid subject key identifier")?
                        .content
                        .to_vec();
                }
            }
        }
        whole.expect(der::BIT_STRING).ok_or("x509: malformed signature")?;
        let public_key = if known { public_key.to_vec() } else { Vec::new() };
        Ok(Issuer {
            subject,
            key_identifier,
            public_key,
        })
    }
}

const UNIQUE_IDENTIFIER_1: u8 = 0x81;
const UNIQUE_IDENTIFIER_2: u8 = 0x82;

fn name<'a>(reader: &mut Reader<'a>) -> Result<Element<'a>, &'static str> {
    let name = reader.expect(der::SEQUENCE).ok_or("x509: malformed issuer")?;
    let mut parts = Reader::new(name.content);
    while !parts.is_empty() {
        let mut set = parts.enter(der::SET).ok_or("x509: invalid RDNSequence")?;
        while !set.is_empty() {
            let mut attribute = set
                .enter(der::SEQUENCE)
                .ok_or("x509: invalid RDNSequence: invalid attribute")?;
            attribute
                .expect(der::OBJECT_IDENTIFIER)
                .ok_or("x509: invalid RDNSequence: invalid attribute type")?;
            attribute
                .next()
                .ok_or("x509: invalid RDNSequence: invalid attribute value")?;
        }
    }
    Ok(name)
}
