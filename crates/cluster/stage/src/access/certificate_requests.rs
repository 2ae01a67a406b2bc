//! Requests for certificates: what they ask for, and the certificates that an authority signs for them.
//!
//! The subject and the key of a request go into the certificate as they were written, byte for byte: an authority that
//! wrote them anew could lose one of two organizations, and with it a group of the user.

use jiff::{SignedDuration, Timestamp};
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::cri_attributes::ParsedCriAttribute;
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::prelude::{FromDer as _, X509Certificate};
use yasna::models::ObjectIdentifier;
use yasna::{DERWriter, DERWriterSeq, Tag};

use super::certificates::{Identity, pem};

/// How much earlier a certificate begins, because clocks differ.
const BACKDATED: SignedDuration = SignedDuration::from_mins(5);

/// A certificate that is good for less isn't ended earlier for having begun earlier.
const SHORT: SignedDuration = SignedDuration::from_hours(8);

const SUBJECT_ALTERNATIVE_NAME: &[u64] = &[2, 5, 29, 17];
const KEY_USAGE: &[u64] = &[2, 5, 29, 15];
const EXTENDED_KEY_USAGE: &[u64] = &[2, 5, 29, 37];
const BASIC_CONSTRAINTS: &[u64] = &[2, 5, 29, 19];
const AUTHORITY_KEY: &[u64] = &[2, 5, 29, 35];

/// The signature of the authorities' keys.
const ECDSA_WITH_SHA256: &[u64] = &[1, 2, 840, 10045, 4, 3, 2];

/// Usages of keys, and their bit.
const USAGES: [(&str, usize); 10] = [
    ("signing", 0),
    ("digital signature", 0),
    ("content commitment", 1),
    ("key encipherment", 2),
    ("data encipherment", 3),
    ("key agreement", 4),
    ("cert sign", 5),
    ("crl sign", 6),
    ("encipher only", 7),
    ("decipher only", 8),
];

/// Usages that are named by an identifier.
const EXTENDED_USAGES: [(&str, &[u64]); 13] = [
    ("any", &[2, 5, 29, 37, 0]),
    ("server auth", &[1, 3, 6, 1, 5, 5, 7, 3, 1]),
    ("client auth", &[1, 3, 6, 1, 5, 5, 7, 3, 2]),
    ("code signing", &[1, 3, 6, 1, 5, 5, 7, 3, 3]),
    ("email protection", &[1, 3, 6, 1, 5, 5, 7, 3, 4]),
    ("s/mime", &[1, 3, 6, 1, 5, 5, 7, 3, 4]),
    ("ipsec end system", &[1, 3, 6, 1, 5, 5, 7, 3, 5]),
    ("ipsec tunnel", &[1, 3, 6, 1, 5, 5, 7, 3, 6]),
    ("ipsec user", &[1, 3, 6, 1, 5, 5, 7, 3, 7]),
    ("timestamping", &[1, 3, 6, 1, 5, 5, 7, 3, 8]),
    ("ocsp signing", &[1, 3, 6, 1, 5, 5, 7, 3, 9]),
    ("microsoft sgc", &[1, 3, 6, 1, 4, 1, 311, 10, 3, 3]),
    ("netscape sgc", &[2, 16, 840, 1, 113_730, 4, 1]),
];

/// A request for a certificate, as its sender signed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateRequest {
    /// The subject's common name.
    pub common_name: String,
    /// The subject's organizations.
    pub organizations: Vec<String>,
    /// Which kinds of other names it asks for.
    pub names: OtherNames,
    subject: Vec<u8>,
    key: Vec<u8>,
    alternative_names: Option<Vec<u8>>,
    is_signed: bool,
}

/// Which kinds of names beside the subject a request asks for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each kind is there or not, apart from the others"
)]
pub struct OtherNames {
    /// Names of hosts.
    pub hosts: bool,
    /// Addresses of hosts.
    pub addresses: bool,
    /// Addresses of mail.
    pub mail: bool,
    /// URIs.
    pub uris: bool,
}

impl CertificateRequest {
    /// Reads a request from its PEM.
    pub fn read(text: &[u8]) -> Result<Self, String> {
        let not_pem = || "PEM block type must be CERTIFICATE REQUEST".to_owned();
        let (_, pem) = x509_parser::pem::parse_x509_pem(text).map_err(|_| not_pem())?;
        if pem.label != "CERTIFICATE REQUEST" {
            return Err(not_pem());
        }
        let (_, request) =
            X509CertificationRequest::from_der(&pem.contents).map_err(|error| error.to_string())?;
        let info = &request.certification_request_info;
        let text = |name: &x509_parser::x509::AttributeTypeAndValue<'_>| {
            name.as_str().unwrap_or_default().to_owned()
        };
        let extensions = info
            .iter_attributes()
            .filter_map(|attribute| match attribute.parsed_attribute() {
                ParsedCriAttribute::ExtensionRequest(extensions) => Some(&extensions.extensions),
                _ => None,
            });
        let mut names = OtherNames::default();
        let mut alternative_names = None;
        for extension in extensions.flatten() {
            let ParsedExtension::SubjectAlternativeName(parsed) = extension.parsed_extension() else {
                continue;
            };
            alternative_names = Some(extension.value.to_vec());
            for name in &parsed.general_names {
                match name {
                    GeneralName::DNSName(_) => names.hosts = true,
                    GeneralName::IPAddress(_) => names.addresses = true,
                    GeneralName::RFC822Name(_) => names.mail = true,
                    GeneralName::URI(_) => names.uris = true,
                    _ => {}
                }
            }
        }
        Ok(Self {
            common_name: info
                .subject
                .iter_common_name()
                .next()
                .map(text)
                .unwrap_or_default(),
            organizations: info.subject.iter_organization().map(text).collect(),
            names,
            subject: info.subject.as_raw().to_vec(),
            key: info.subject_pki.raw.to_vec(),
            alternative_names,
            is_signed: request.verify_signature().is_ok(),
        })
    }

    /// Has an authority sign a certificate for these usages, which is good for some time from now; returns its PEM.
    pub fn sign(
        &self,
        authority: &Identity,
        usages: &[&str],
        good_for: SignedDuration,
        now: Timestamp,
    ) -> Result<String, String> {
        if !self.is_signed {
            return Err("the signature of the request is not the one of its key".to_owned());
        }
        let (_, issuer) =
            X509Certificate::from_der(authority.certificate()).map_err(|error| error.to_string())?;
        let end = issuer.validity().not_after.timestamp();
        if now.as_second() >= end {
            return Err("the authority has expired".to_owned());
        }
        let begin = now.checked_sub(BACKDATED).unwrap_or(now);
        let counted_from = if good_for < SHORT { now } else { begin };
        let until = counted_from
            .checked_add(good_for)
            .map_or(end, |until| until.as_second().min(end));
        let until = Timestamp::from_second(until).map_err(|error| error.to_string())?;
        let mut serial = [0_u8; 16];
        getrandom::fill(&mut serial).map_err(|error| error.to_string())?;
        let content = yasna::construct_der(|writer| {
            writer.write_sequence(|writer| {
                writer
                    .next()
                    .write_tagged(Tag::context(0), |writer| writer.write_i8(2));
                writer.next().write_bigint_bytes(&serial, true);
                write_algorithm(writer.next());
                writer.next().write_der(issuer.subject().as_raw());
                writer.next().write_sequence(|writer| {
                    writer.next().write_der(&written_time(begin));
                    writer.next().write_der(&written_time(until));
                });
                writer.next().write_der(&self.subject);
                writer.next().write_der(&self.key);
                writer.next().write_tagged(Tag::context(3), |writer| {
                    writer.write_sequence(|writer| self.write_extensions(writer, authority, usages));
                });
            });
        });
        let signature = authority.sign(&content).map_err(|error| error.to_string())?;
        let certificate = yasna::construct_der(|writer| {
            writer.write_sequence(|writer| {
                writer.next().write_der(&content);
                write_algorithm(writer.next());
                writer.next().write_bitvec_bytes(&signature, signature.len() * 8);
            });
        });
        Ok(pem("CERTIFICATE", &certificate))
    }

    fn write_extensions(&self, writer: &mut DERWriterSeq<'_>, authority: &Identity, usages: &[&str]) {
        let bits: Vec<usize> = USAGES
            .iter()
            .filter(|(usage, _)| usages.contains(usage))
            .map(|(_, bit)| *bit)
            .collect();
        if let Some(last) = bits.iter().max() {
            let mut bytes = [0_u8; 2];
            for bit in &bits {
                if let Some(byte) = bytes.get_mut(bit / 8) {
                    *byte |= 0x80 >> (bit % 8);
                }
            }
            let length = last / 8 + 1;
            extension(writer, KEY_USAGE, true, |writer| {
                writer.write_bitvec_bytes(bytes.get(..length).unwrap_or_default(), last + 1);
            });
        }
        let mut extended: Vec<&[u64]> = Vec::new();
        for (usage, identifier) in EXTENDED_USAGES {
            if usages.contains(&usage) && !extended.contains(&identifier) {
                extended.push(identifier);
            }
        }
        if !extended.is_empty() {
            extension(writer, EXTENDED_KEY_USAGE, false, |writer| {
                writer.write_sequence(|writer| {
                    for identifier in &extended {
                        writer.next().write_oid(&ObjectIdentifier::from_slice(identifier));
                    }
                });
            });
        }
        extension(writer, BASIC_CONSTRAINTS, true, |writer| {
            writer.write_sequence(|_| {});
        });
        if let Some(key) = authority.key_identifier() {
            extension(writer, AUTHORITY_KEY, false, |writer| {
                writer.write_sequence(|writer| {
                    writer
                        .next()
                        .write_tagged_implicit(Tag::context(0), |writer| writer.write_bytes(&key));
                });
            });
        }
        if let Some(names) = &self.alternative_names {
            // A certificate that says nothing else of its owner must be understood in this.
            let is_all = self.common_name.is_empty() && self.organizations.is_empty();
            extension(writer, SUBJECT_ALTERNATIVE_NAME, is_all, |writer| {
                writer.write_der(names);
            });
        }
    }
}

fn extension(
    writer: &mut DERWriterSeq<'_>,
    identifier: &[u64],
    is_critical: bool,
    content: impl FnOnce(DERWriter<'_>),
) {
    writer.next().write_sequence(|writer| {
        writer.next().write_oid(&ObjectIdentifier::from_slice(identifier));
        if is_critical {
            writer.next().write_bool(true);
        }
        writer.next().write_bytes(&yasna::construct_der(content));
    });
}

fn write_algorithm(writer: DERWriter<'_>) {
    writer.write_sequence(|writer| {
        writer
            .next()
            .write_oid(&ObjectIdentifier::from_slice(ECDSA_WITH_SHA256));
    });
}

/// Returns a time as certificates have it: with two digits for the year before 2050, and four after.
fn written_time(at: Timestamp) -> Vec<u8> {
    const SHORT_YEAR: u8 = 0x17;
    const LONG_YEAR: u8 = 0x18;
    let year = at.to_zoned(jiff::tz::TimeZone::UTC).year();
    let (tag, text) = if (1950..2050).contains(&year) {
        (SHORT_YEAR, at.strftime("%y%m%d%H%M%SZ").to_string())
    } else {
        (LONG_YEAR, at.strftime("%Y%m%d%H%M%SZ").to_string())
    };
    let mut written = vec![tag, u8::try_from(text.len()).unwrap_or(0)];
    written.extend_from_slice(text.as_bytes());
    written
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};

    use super::super::certificates;
    use super::super::keys::KeyDirectory;
    use super::*;

    fn request(name: &str, hosts: &[&str]) -> CertificateRequest {
        let names: Vec<String> = hosts.iter().map(ToString::to_string).collect();
        let mut parameters = CertificateParams::new(names).expect("parameters");
        parameters.distinguished_name = DistinguishedName::new();
        parameters
            .distinguished_name
            .push(DnType::OrganizationName, "devs");
        parameters.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().expect("a key");
        let request = parameters.serialize_request(&key).expect("a request");
        CertificateRequest::read(request.pem().expect("PEM").as_bytes()).expect("a request")
    }

    #[test]
    fn a_certificate_names_who_asked_and_is_good_for_what_was_asked() {
        let directory = KeyDirectory::open(None).expect("memory");
        let authority = certificates::authority(&directory, "a", "kubernetes").expect("an authority");
        let request = request("alice", &["a.example"]);
        let now = Timestamp::now();
        let usages = ["digital signature", "key encipherment", "client auth"];
        let text = request
            .sign(&authority, &usages, SignedDuration::from_hours(1), now)
            .expect("a certificate");
        let (_, pem) = x509_parser::pem::parse_x509_pem(text.as_bytes()).expect("PEM");
        let certificate = pem.parse_x509().expect("a certificate");
        let (_, issuer) = X509Certificate::from_der(authority.certificate()).expect("the authority");
        certificate
            .verify_signature(Some(issuer.public_key()))
            .expect("signed by the authority");
        let caller = certificates::caller(&pem.contents).expect("a caller");
        assert_eq!(
            (caller.user.as_str(), caller.groups.as_slice()),
            ("alice", &["devs".to_owned()][..])
        );
        assert!(
            certificate
                .extended_key_usage()
                .expect("read")
                .expect("there")
                .value
                .client_auth
        );
        let usage = certificate.key_usage().expect("read").expect("there").value;
        assert!(usage.digital_signature() && usage.key_encipherment() && !usage.key_cert_sign());
        assert!(!certificate.is_ca());
        let validity = certificate.validity();
        assert_eq!(validity.not_after.timestamp(), now.as_second() + 3600);
        assert_eq!(validity.not_before.timestamp(), now.as_second() - 300);
        let names = certificate
            .subject_alternative_name()
            .expect("read")
            .expect("there");
        assert_eq!(names.value.general_names, [GeneralName::DNSName("a.example")]);
    }

    #[test]
    fn a_request_that_is_none_or_was_tampered_with_gets_no_certificate() {
        for text in [
            "",
            "x",
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        ] {
            assert_eq!(
                CertificateRequest::read(text.as_bytes()),
                Err("PEM block type must be CERTIFICATE REQUEST".to_owned())
            );
        }
        let directory = KeyDirectory::open(None).expect("memory");
        let authority = certificates::authority(&directory, "a", "kubernetes").expect("an authority");
        let tampered = CertificateRequest {
            is_signed: false,
            ..request("alice", &[])
        };
        let hour = SignedDuration::from_hours(1);
        assert!(
            tampered
                .sign(&authority, &["client auth"], hour, Timestamp::now())
                .is_err()
        );
    }

    #[test]
    fn years_beyond_2049_are_written_in_full() {
        for (text, expected) in [
            ("2049-12-31T23:59:59Z", "\u{17}\u{d}491231235959Z"),
            ("2050-01-01T00:00:00Z", "\u{18}\u{f}20500101000000Z"),
        ] {
            let at: Timestamp = text.parse().expect("a time");
            assert_eq!(written_time(at), expected.as_bytes());
        }
    }
}
