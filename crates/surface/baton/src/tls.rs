//! Serving with TLS: whose certificate is shown, and what is agreed on with clients.

mod identity;
mod kept_identity;
mod known_clients;
mod listener;
mod profile;

use std::path::PathBuf;
use std::sync::Arc;

use catalog_controller::pull_secrets::NamespacedName;
use clap::Args;
use kube::Client;
use rustls::ServerConfig;
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoClientAuth, ResolvesServerCert};
use tokio_rustls::TlsAcceptor;

use crate::failure::Failure;

pub(crate) use identity::OwnIdentity;
pub(crate) use kept_identity::KeptIdentity;
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
    /// The Secret that keeps the certificate in place of files, as NAMESPACE/NAME; baton makes and renews it
    #[arg(long, value_name = "SECRET", conflicts_with_all = ["tls_cert", "tls_key"], requires = "tls_host")]
    tls_secret: Option<NamespacedName>,
    /// A name under which others reach what is served, for the certificate in --tls-secret; may be repeated
    #[arg(long, value_name = "HOST", requires = "tls_secret")]
    tls_host: Vec<String>,
    #[command(flatten)]
    profile: ProfileFlags,
}

impl TlsFlags {
    /// Whether there is a certificate to serve with.
    pub(crate) fn is_given(&self) -> bool {
        self.tls_cert.is_some() || self.tls_secret.is_some()
    }

    /// Makes what encrypts connections with the certificate that the cluster keeps, and what has to go on so that it is
    /// renewed; none where the cluster keeps none.
    pub(crate) async fn kept(
        &self,
        client: &Client,
    ) -> Result<Option<(TlsAcceptor, Arc<KeptIdentity>)>, Failure> {
        let Some(secret) = &self.tls_secret else {
            return Ok(None);
        };
        let profile = self.profile.profile()?;
        let identity = KeptIdentity::open(client.clone(), secret.clone(), self.tls_host.clone()).await?;
        let acceptor = acceptor(&profile, Arc::<KeptIdentity>::clone(&identity), Protocols::Both)?;
        Ok(Some((acceptor, identity)))
    }

    /// Makes what encrypts connections with the certificate in files; none without them.
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
