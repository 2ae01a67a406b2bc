//! Serving with TLS: whose certificate is shown, and what is agreed on with clients.

mod identity;
mod known_clients;
mod listener;
mod profile;

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use rustls::ServerConfig;
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoClientAuth, ResolvesServerCert};
use tokio_rustls::TlsAcceptor;

use crate::failure::Failure;

pub(crate) use identity::OwnIdentity;
pub(crate) use known_clients::KnownClients;
pub(crate) use listener::TlsListener;
pub(crate) use profile::{Profile, ProfileFlags};

/// The certificate that is shown to clients, and what is agreed on with them, as upstream's flags say it.
#[derive(Debug, Args)]
pub(crate) struct TlsFlags {
    /// The certificate to serve with, with those that lead to its root, as PEM; read again when it changes
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The key of the certificate, as PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    #[command(flatten)]
    profile: ProfileFlags,
}

impl TlsFlags {
    /// Makes what encrypts connections; none without a certificate.
    pub(crate) fn acceptor(&self) -> Result<Option<TlsAcceptor>, Failure> {
        let profile = self.profile.profile()?;
        let (Some(certificate), Some(key)) = (&self.tls_cert, &self.tls_key) else {
            return Ok(None);
        };
        let identity = identity::ReloadedIdentity::open(certificate, key)?;
        acceptor(&profile, Arc::new(identity), Protocols::Both).map(Some)
    }
}

/// Which protocols are spoken after the handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocols {
    /// HTTP/1.1 alone.
    First,
    /// HTTP/1.1 and HTTP/2.
    Both,
}

/// Makes what encrypts connections with anybody.
pub(crate) fn acceptor(
    profile: &Profile,
    identity: Arc<dyn ResolvesServerCert>,
    protocols: Protocols,
) -> Result<TlsAcceptor, Failure> {
    accept(profile, identity, protocols, Arc::new(NoClientAuth))
}

/// Makes what encrypts connections with clients that are known by their certificates.
pub(crate) fn acceptor_for_known(
    profile: &Profile,
    identity: Arc<dyn ResolvesServerCert>,
    protocols: Protocols,
    clients: Arc<KnownClients>,
) -> Result<TlsAcceptor, Failure> {
    accept(profile, identity, protocols, clients)
}

fn accept(
    profile: &Profile,
    identity: Arc<dyn ResolvesServerCert>,
    protocols: Protocols,
    clients: Arc<dyn ClientCertVerifier>,
) -> Result<TlsAcceptor, Failure> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(profile.provider()))
        .with_protocol_versions(profile.versions())
        .map_err(|error| Failure::new(format!("cannot serve with TLS: {error}")))?
        .with_client_cert_verifier(clients)
        .with_cert_resolver(identity);
    config.alpn_protocols = match protocols {
        Protocols::First => vec![b"http/1.1".to_vec()],
        Protocols::Both => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
    };
    Ok(TlsAcceptor::from(Arc::new(config)))
}
