//! Clients that are let in because of their certificate, whose authority may change while a program runs.

use std::sync::{Arc, PoisonError, RwLock};

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, RootCertStore, SignatureScheme,
};

/// Lets in only clients with a certificate of the authority that was named last, and nobody before one was named.
#[derive(Debug)]
pub(crate) struct KnownClients {
    provider: Arc<CryptoProvider>,
    judge: RwLock<Option<Arc<dyn ClientCertVerifier>>>,
}

impl Default for KnownClients {
    fn default() -> Self {
        Self {
            provider: Arc::new(aws_lc_rs::default_provider()),
            judge: RwLock::default(),
        }
    }
}

impl KnownClients {
    /// Lets in the clients of an authority, given as PEM, from now on.
    pub(crate) fn know(&self, authority: &str) -> Result<(), String> {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(authority.as_bytes()) {
            let certificate = certificate.map_err(|error| error.to_string())?;
            roots.add(certificate).map_err(|error| error.to_string())?;
        }
        let judge = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&self.provider))
            .build()
            .map_err(|error| error.to_string())?;
        *self.judge.write().unwrap_or_else(PoisonError::into_inner) = Some(judge);
        Ok(())
    }
}

impl ClientCertVerifier for KnownClients {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        // Clients that have several certificates would be helped by it; the API server has one.
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let judge = self.judge.read().unwrap_or_else(PoisonError::into_inner);
        match judge.as_ref() {
            Some(judge) => judge.verify_client_cert(end_entity, intermediates, now),
            None => Err(Error::InvalidCertificate(CertificateError::UnknownIssuer)),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};

    use super::*;

    /// An authority as PEM, and a certificate of one of its clients.
    fn authority() -> (String, CertificateDer<'static>) {
        let key = KeyPair::generate().expect("a key");
        let mut authority = CertificateParams::default();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = authority.self_signed(&key).expect("a certificate").pem();
        let issuer = Issuer::new(authority, key);
        let mut client = CertificateParams::default();
        client.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate().expect("a key");
        let certificate = client.signed_by(&key, &issuer).expect("a certificate");
        (pem, certificate.der().clone())
    }

    #[test]
    fn only_clients_of_the_authority_that_was_named_last_are_let_in() {
        let clients = KnownClients::default();
        let ((first, of_first), (second, of_second)) = (authority(), authority());
        let lets_in = |certificate: &CertificateDer<'_>| {
            clients
                .verify_client_cert(certificate, &[], UnixTime::now())
                .is_ok()
        };
        assert!(!lets_in(&of_first));
        clients.know(&first).expect("an authority");
        assert!(lets_in(&of_first) && !lets_in(&of_second));
        clients.know(&second).expect("an authority");
        assert!(!lets_in(&of_first) && lets_in(&of_second));
        assert!(clients.know("").is_err());
        assert!(lets_in(&of_second));
    }
}
