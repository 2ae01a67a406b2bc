//! Which certificates of other servers are believed.
//!
//! As Go does and webpki doesn't, a certificate that says it is an authority is also believed as a server's own when it is
//! one of the trusted ones itself: self-signed certificates often are like that.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

/// A certificate with its key, with which this server proves itself to others.
pub type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

/// Returns how to connect to a server that is believed with these authorities (PEM); nobody is believed with none.
pub fn configuration(authorities: &[u8], identity: Option<Identity>) -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut roots = RootCertStore::empty();
    let mut trusted = Vec::new();
    for certificate in CertificateDer::pem_slice_iter(authorities).flatten() {
        // One that can't be read helps nobody; the others may.
        if roots.add(certificate.clone()).is_ok() {
            trusted.push(certificate);
        }
    }
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let verifier = if roots.is_empty() {
        None
    } else {
        let inner = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone())
            .build()
            .map_err(|error| error.to_string())?;
        Some(inner)
    };
    let builder = builder
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Verifier {
            inner: verifier,
            trusted,
            provider,
        }));
    match identity {
        Some((chain, key)) => builder
            .with_client_auth_cert(chain, key)
            .map_err(|error| error.to_string()),
        None => Ok(builder.with_no_client_auth()),
    }
}

/// Returns how to connect to a server whose certificate nobody looks at, as an APIService may say.
pub fn configuration_without_checks(identity: Option<Identity>) -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Unchecked { provider }));
    match identity {
        Some((chain, key)) => builder
            .with_client_auth_cert(chain, key)
            .map_err(|error| error.to_string()),
        None => Ok(builder.with_no_client_auth()),
    }
}

#[derive(Debug)]
struct Verifier {
    inner: Option<Arc<WebPkiServerVerifier>>,
    trusted: Vec<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(inner) = &self.inner else {
            return Err(CertificateError::UnknownIssuer.into());
        };
        let verified = inner.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        let Err(refused) = verified else { return verified };
        let is_trusted_itself = self.trusted.iter().any(|one| one.as_ref() == end_entity.as_ref());
        let as_authority = matches!(
            &refused,
            rustls::Error::InvalidCertificate(CertificateError::Other(_))
        );
        if !(is_trusted_itself && as_authority) {
            return Err(refused);
        }
        check_times(end_entity, now)?;
        rustls::client::verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

#[derive(Debug)]
struct Unchecked {
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Unchecked {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

fn check_times(certificate: &CertificateDer<'_>, now: UnixTime) -> Result<(), rustls::Error> {
    let (_, parsed) = x509_parser::parse_x509_certificate(certificate)
        .map_err(|_| rustls::Error::from(CertificateError::BadEncoding))?;
    let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    let validity = parsed.validity();
    if now > validity.not_after.timestamp() {
        return Err(CertificateError::Expired.into());
    }
    if now < validity.not_before.timestamp() {
        return Err(CertificateError::NotValidYet.into());
    }
    Ok(())
}

/// Returns why a connection couldn't be made safe, in the words of Go.
pub(super) fn in_go_words(error: &rustls::Error, host: &str) -> String {
    let why = match error {
        rustls::Error::InvalidCertificate(certificate) => match certificate {
            CertificateError::UnknownIssuer => "x509: certificate signed by unknown authority".to_owned(),
            CertificateError::Expired
            | CertificateError::NotValidYet
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYetContext { .. } => {
                let now = crate::object::timestamp(jiff::Timestamp::now());
                format!("x509: certificate has expired or is not yet valid: current time {now}")
            }
            CertificateError::NotValidForNameContext { presented, .. } => wrong_name(presented, host),
            CertificateError::NotValidForName => wrong_name(&[], host),
            other => format!("x509: {other:?}"),
        },
        rustls::Error::InvalidMessage(_) => {
            return "http: server gave HTTP response to HTTPS client".to_owned();
        }
        rustls::Error::AlertReceived(alert) => {
            return format!("remote error: tls: {}", format!("{alert:?}").to_lowercase());
        }
        other => return format!("tls: {other}"),
    };
    format!("tls: failed to verify certificate: {why}")
}

fn wrong_name(presented: &[String], host: &str) -> String {
    let inner = |name: &str| -> String {
        // rustls shows names as `DnsName("a")` and addresses as `IpAddress(127.0.0.1)`.
        let inner = name
            .split_once('(')
            .map_or(name, |(_, rest)| rest.trim_end_matches(')'));
        inner.trim_matches('"').to_owned()
    };
    let host = host.trim_matches(['[', ']']);
    if host.parse::<std::net::IpAddr>().is_ok() {
        let addresses: Vec<String> = presented
            .iter()
            .filter(|name| name.starts_with("Ip"))
            .map(|name| inner(name))
            .collect();
        if addresses.is_empty() {
            return format!(
                "x509: cannot validate certificate for {host} because it doesn't contain any IP SANs"
            );
        }
        return format!(
            "x509: certificate is valid for {}, not {host}",
            addresses.join(", ")
        );
    }
    let names: Vec<String> = presented
        .iter()
        .filter(|name| !name.starts_with("Ip"))
        .map(|name| inner(name))
        .collect();
    if names.is_empty() {
        return format!("x509: certificate is not valid for any names, but wanted to match {host}");
    }
    format!("x509: certificate is valid for {}, not {host}", names.join(", "))
}
