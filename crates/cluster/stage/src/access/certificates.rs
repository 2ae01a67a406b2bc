//! Certificates: the authorities, and what they sign.

use std::net::IpAddr;

use jiff::civil::Date;
use jiff::{Timestamp, ToSpan as _};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose,
};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer as _, X509Certificate};

use super::keys::{KeyDirectory, KeyError};
use crate::caller::{Caller, MASTERS};

/// The names that every server of a cluster has.
pub const SERVER_NAMES: [&str; 8] = [
    "localhost",
    "127.0.0.1",
    "::1",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
    // The address of the Service `kubernetes`, the first of the range of Services.
    "10.96.0.1",
];

/// How long an authority is good: as kubeadm has it.
const AUTHORITY_YEARS: i32 = 10;

/// How long what an authority signs is good: as kubeadm has it.
const SIGNED_YEARS: i32 = 1;

/// How many days before its end a certificate is renewed, so that a server that runs for weeks keeps a good one.
const RENEW_DAYS: i64 = 90;

/// A certificate and its key.
#[derive(Debug)]
pub struct Identity {
    certificate: CertificateDer<'static>,
    key: KeyPair,
    common_name: String,
}

impl Identity {
    /// Returns the certificate as PEM.
    pub fn certificate_pem(&self) -> String {
        pem("CERTIFICATE", &self.certificate)
    }

    /// Returns the key as PEM.
    pub fn key_pem(&self) -> String {
        self.key.serialize_pem()
    }

    /// Returns the certificate as DER.
    pub fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// Returns the key as DER.
    pub fn key(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::Pkcs8(self.key.serialize_der().into())
    }

    fn read(directory: &KeyDirectory, file: &str, common_name: &str) -> Result<Option<Self>, KeyError> {
        let Some(text) = directory.read(file)? else {
            return Ok(None);
        };
        let broken = |why: String| KeyError::Broken {
            path: directory.path(file),
            why,
        };
        let certificate =
            CertificateDer::from_pem_slice(text.as_bytes()).map_err(|error| broken(error.to_string()))?;
        let key =
            PrivateKeyDer::from_pem_slice(text.as_bytes()).map_err(|error| broken(error.to_string()))?;
        let key = KeyPair::try_from(&key).map_err(|error| broken(error.to_string()))?;
        let identity = Self {
            certificate,
            key,
            common_name: common_name.to_owned(),
        };
        if identity.parsed().is_none() {
            return Err(broken("its certificate can't be read".to_owned()));
        }
        Ok(Some(identity))
    }

    fn write(&self, directory: &KeyDirectory, file: &str) -> Result<(), KeyError> {
        directory.write(file, &format!("{}{}", self.certificate_pem(), self.key_pem()))
    }

    fn parsed(&self) -> Option<X509Certificate<'_>> {
        X509Certificate::from_der(&self.certificate)
            .ok()
            .map(|(_, parsed)| parsed)
    }

    /// Returns whether the certificate is good for long enough.
    fn is_fresh(&self, now: Timestamp) -> bool {
        self.parsed().is_some_and(|parsed| {
            let end = parsed.validity().not_after.timestamp();
            end - now.as_second() > RENEW_DAYS * 24 * 60 * 60
        })
    }

    /// Returns whether the certificate names all these servers.
    fn names(&self, wanted: &[String]) -> bool {
        let Some(parsed) = self.parsed() else { return false };
        let Ok(Some(names)) = parsed.subject_alternative_name() else {
            return false;
        };
        wanted.iter().all(|wanted| {
            let address: Option<IpAddr> = wanted.parse().ok();
            names.value.general_names.iter().any(|name| match name {
                GeneralName::DNSName(name) => *name == wanted.as_str(),
                GeneralName::IPAddress(bytes) => match address {
                    Some(IpAddr::V4(address)) => *bytes == address.octets(),
                    Some(IpAddr::V6(address)) => *bytes == address.octets(),
                    None => false,
                },
                _ => false,
            })
        })
    }

    /// Returns whether an authority signed the certificate.
    fn is_signed_by(&self, authority: &Self) -> bool {
        let (Some(own), Some(other)) = (self.parsed(), authority.parsed()) else {
            return false;
        };
        own.issuer() == other.subject() && authority_key(&own) == subject_key(&other)
    }

    /// Signs bytes with the key.
    pub fn sign(&self, bytes: &[u8]) -> Result<Vec<u8>, rcgen::Error> {
        rcgen::SigningKey::sign(&self.key, bytes)
    }

    /// Returns what certificates that this one's key signs name the key by.
    pub fn key_identifier(&self) -> Option<Vec<u8>> {
        subject_key(&self.parsed()?)
    }

    fn issuer(&self) -> Issuer<'static, &KeyPair> {
        Issuer::new(authority_parameters(&self.common_name), &self.key)
    }
}

fn authority_key(certificate: &X509Certificate<'_>) -> Option<Vec<u8>> {
    certificate.iter_extensions().find_map(|extension| {
        let x509_parser::extensions::ParsedExtension::AuthorityKeyIdentifier(found) =
            extension.parsed_extension()
        else {
            return None;
        };
        found.key_identifier.as_ref().map(|key| key.0.to_vec())
    })
}

fn subject_key(certificate: &X509Certificate<'_>) -> Option<Vec<u8>> {
    certificate.iter_extensions().find_map(|extension| {
        let x509_parser::extensions::ParsedExtension::SubjectKeyIdentifier(found) =
            extension.parsed_extension()
        else {
            return None;
        };
        Some(found.0.to_vec())
    })
}

/// Returns bytes as PEM.
pub fn pem(label: &str, bytes: &[u8]) -> String {
    use base64::Engine as _;
    let text = base64::engine::general_purpose::STANDARD.encode(bytes);
    let mut pem = format!("-----BEGIN {label}-----\n");
    for line in text.as_bytes().chunks(64) {
        // Base64 is ASCII, so every piece of it is text.
        pem.push_str(&String::from_utf8_lossy(line));
        pem.push('\n');
    }
    pem.push_str("-----END ");
    pem.push_str(label);
    pem.push_str("-----\n");
    pem
}

fn make_error(what: &'static str) -> impl Fn(rcgen::Error) -> KeyError {
    move |error| KeyError::Make {
        what,
        why: error.to_string(),
    }
}

fn authority_parameters(common_name: &str) -> CertificateParams {
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name = DistinguishedName::new();
    parameters
        .distinguished_name
        .push(DnType::CommonName, common_name);
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    parameters.key_usages = vec![
        KeyUsagePurpose::DigitalSignature,
        KeyUsagePurpose::KeyEncipherment,
        KeyUsagePurpose::KeyCertSign,
    ];
    parameters
}

/// Sets from when to when a certificate is good. It begins a day early, because clocks differ.
fn set_validity(parameters: &mut CertificateParams, years: i32) {
    let today = Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date();
    let date = |date: Date| {
        rcgen::date_time_ymd(
            i32::from(date.year()),
            u8::try_from(date.month()).unwrap_or(1),
            u8::try_from(date.day()).unwrap_or(1),
        )
    };
    parameters.not_before = date(today.saturating_sub(1.day()));
    parameters.not_after = date(today.saturating_add(years.years()));
}

/// Returns an authority from its file, or a new one.
pub fn authority(directory: &KeyDirectory, file: &str, common_name: &str) -> Result<Identity, KeyError> {
    if let Some(known) = Identity::read(directory, file, common_name)?
        && known.is_fresh(Timestamp::now())
    {
        return Ok(known);
    }
    let failed = make_error("certificate of the authority");
    let key = KeyPair::generate().map_err(&failed)?;
    let mut parameters = authority_parameters(common_name);
    set_validity(&mut parameters, AUTHORITY_YEARS);
    let certificate = parameters.self_signed(&key).map_err(&failed)?;
    let identity = Identity {
        certificate: certificate.der().clone(),
        key,
        common_name: common_name.to_owned(),
    };
    identity.write(directory, file)?;
    Ok(identity)
}

/// Returns the certificate of a server, which is made anew before it expires or when it lacks a name.
pub fn serving(
    directory: &KeyDirectory,
    authority: &Identity,
    names: &[String],
) -> Result<Identity, KeyError> {
    const FILE: &str = "server.pem";
    let mut wanted: Vec<String> = SERVER_NAMES.iter().map(ToString::to_string).collect();
    for name in names {
        if !wanted.contains(name) {
            wanted.push(name.clone());
        }
    }
    if let Some(known) = Identity::read(directory, FILE, "kube-apiserver")?
        && known.is_fresh(Timestamp::now())
        && known.is_signed_by(authority)
        && known.names(&wanted)
    {
        return Ok(known);
    }
    let failed = make_error("certificate of the server");
    let key = KeyPair::generate().map_err(&failed)?;
    let mut parameters = CertificateParams::new(wanted).map_err(&failed)?;
    parameters.distinguished_name = DistinguishedName::new();
    parameters
        .distinguished_name
        .push(DnType::CommonName, "kube-apiserver");
    parameters.use_authority_key_identifier_extension = true;
    parameters.key_usages = vec![
        KeyUsagePurpose::DigitalSignature,
        KeyUsagePurpose::KeyEncipherment,
    ];
    parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    signed(
        directory,
        FILE,
        authority,
        parameters,
        key,
        "kube-apiserver",
        &failed,
    )
}

/// Returns the administrator's certificate.
pub fn administrator(directory: &KeyDirectory, authority: &Identity) -> Result<Identity, KeyError> {
    const FILE: &str = "administrator.pem";
    const NAME: &str = "kubernetes-admin";
    if let Some(known) = Identity::read(directory, FILE, NAME)?
        && known.is_fresh(Timestamp::now())
        && known.is_signed_by(authority)
    {
        return Ok(known);
    }
    let failed = make_error("certificate of the administrator");
    let key = KeyPair::generate().map_err(&failed)?;
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name = DistinguishedName::new();
    parameters
        .distinguished_name
        .push(DnType::OrganizationName, MASTERS);
    parameters.distinguished_name.push(DnType::CommonName, NAME);
    parameters.use_authority_key_identifier_extension = true;
    parameters.key_usages = vec![
        KeyUsagePurpose::DigitalSignature,
        KeyUsagePurpose::KeyEncipherment,
    ];
    parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    signed(directory, FILE, authority, parameters, key, NAME, &failed)
}

fn signed(
    directory: &KeyDirectory,
    file: &str,
    authority: &Identity,
    mut parameters: CertificateParams,
    key: KeyPair,
    common_name: &str,
    failed: &impl Fn(rcgen::Error) -> KeyError,
) -> Result<Identity, KeyError> {
    set_validity(&mut parameters, SIGNED_YEARS);
    let certificate = parameters.signed_by(&key, &authority.issuer()).map_err(failed)?;
    let identity = Identity {
        certificate: certificate.der().clone(),
        key,
        common_name: common_name.to_owned(),
    };
    identity.write(directory, file)?;
    Ok(identity)
}

/// Returns who a certificate is about: its common name is the user, its organizations are the groups.
///
/// Whether the certificate is to be believed is another question.
pub fn caller(certificate: &[u8]) -> Option<Caller> {
    let (_, parsed) = X509Certificate::from_der(certificate).ok()?;
    let subject = parsed.subject();
    let user = subject.iter_common_name().next()?.as_str().ok()?;
    if user.is_empty() {
        return None;
    }
    let groups = subject
        .iter_organization()
        .filter_map(|name| name.as_str().ok().map(str::to_owned))
        .collect();
    let mut caller = Caller {
        user: user.to_owned(),
        groups,
        ..Caller::default()
    };
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, certificate);
    caller.extra.insert(
        super::CREDENTIAL_ID.to_owned(),
        vec![format!("X509SHA256={}", hex(digest.as_ref()))],
    );
    Some(caller)
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing into a text can't fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_names_a_user_and_groups() {
        let directory = KeyDirectory::open(None).expect("memory");
        let authority = authority(&directory, "a", "kubernetes").expect("an authority");
        let identity = administrator(&directory, &authority).expect("a certificate");
        let caller = caller(identity.certificate()).expect("a caller");
        assert_eq!(caller.user, "kubernetes-admin");
        assert_eq!(caller.groups, [MASTERS]);
        let id = &caller.extra["authentication.kubernetes.io/credential-id"][0];
        assert!(id.starts_with("X509SHA256=") && id.len() == 75, "{id}");
    }

    #[test]
    fn a_server_has_the_usual_names_and_those_that_are_given() {
        let directory = KeyDirectory::open(None).expect("memory");
        let authority = authority(&directory, "a", "kubernetes").expect("an authority");
        let names = ["stage.example".to_owned(), "192.0.2.7".to_owned()];
        let identity = serving(&directory, &authority, &names).expect("a certificate");
        assert!(identity.names(&names) && identity.is_signed_by(&authority));
        assert!(identity.names(&SERVER_NAMES.map(ToOwned::to_owned)));
        assert!(!identity.names(&["other.example".to_owned()]));
    }

    #[test]
    fn a_certificate_near_its_end_is_renewed() {
        let directory = KeyDirectory::open(None).expect("memory");
        let authority = authority(&directory, "a", "kubernetes").expect("an authority");
        let identity = serving(&directory, &authority, &[]).expect("a certificate");
        let now = Timestamp::now();
        assert!(identity.is_fresh(now));
        assert!(!identity.is_fresh(now + jiff::SignedDuration::from_hours(24 * 300)));
    }

    #[test]
    fn a_certificate_of_another_authority_is_made_anew() {
        let folder = tempfile::tempdir().expect("a folder");
        let directory = KeyDirectory::open(Some(folder.path())).expect("a directory");
        let memory = KeyDirectory::open(None).expect("memory");
        let one = authority(&memory, "a", "kubernetes").expect("an authority");
        let other = authority(&memory, "b", "kubernetes").expect("an authority");
        let first = serving(&directory, &one, &[]).expect("a certificate");
        let second = serving(&directory, &other, &[]).expect("a certificate");
        assert!(first.certificate() != second.certificate() && second.is_signed_by(&other));
    }
}
