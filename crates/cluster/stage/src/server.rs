//! The listening end: TLS, HTTP/1.1 and HTTP/2, and the kubeconfig that leads there.

mod connections;
mod kubeconfig;
mod patience;
mod tls;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use hosts::Hosts;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::access::KeyError;
use crate::access::certificates::SERVER_NAMES;
use crate::{Stage, access};

/// How a cluster is served.
#[derive(Debug, Clone, Default)]
pub struct ServeOptions {
    /// Whether addresses that other machines reach may be listened on.
    pub allow_remote: bool,
    /// Names and addresses of the server beside the usual ones, for its certificate and for requests.
    pub names: Vec<String>,
}

/// Why a cluster isn't served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address can be reached by other machines, and nobody said that this is wanted.
    #[error(
        "cannot listen on {address}: other machines could reach it; listen on a loopback address such as 127.0.0.1, or \
         allow remote clients"
    )]
    Remote {
        /// The address.
        address: SocketAddr,
    },
    /// Something else listens there.
    #[error("cannot listen on {address}: the port is in use; choose another one, or 0 for any that is free")]
    Taken {
        /// The address.
        address: SocketAddr,
    },
    /// The system refuses to listen.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The certificate can't be had.
    #[error(transparent)]
    Keys(#[from] KeyError),
    /// The certificate can't be used.
    #[error("cannot serve with the certificate: {0}")]
    Tls(#[from] rustls::Error),
    /// The Service of the API can't be told where the API is.
    #[error("cannot publish the address of the API: {0}")]
    Publish(#[from] crate::status::Status),
}

/// A cluster that is being served. Dropping it ends the serving at once.
#[derive(Debug)]
pub struct Serving {
    address: SocketAddr,
    kubeconfig: String,
    stop: watch::Sender<bool>,
    accepting: JoinHandle<()>,
}

impl Stage {
    /// Serves the cluster over TLS at an address; port 0 is any port that is free.
    pub async fn serve(&self, listen: SocketAddr, options: &ServeOptions) -> Result<Serving, ServeError> {
        if !listen.ip().to_canonical().is_loopback() && !options.allow_remote {
            return Err(ServeError::Remote { address: listen });
        }
        let listener = TcpListener::bind(listen).await.map_err(|source| {
            if source.kind() == io::ErrorKind::AddrInUse {
                ServeError::Taken { address: listen }
            } else {
                ServeError::Listen {
                    address: listen,
                    source,
                }
            }
        })?;
        let address = listener.local_addr().map_err(|source| ServeError::Listen {
            address: listen,
            source,
        })?;
        let mut names = options.names.clone();
        if !address.ip().is_unspecified() {
            names.push(address.ip().to_string());
        }
        let api = self.api().clone();
        let identity = api.access.keys.serving(&names)?;
        let acceptor = tls::acceptor(&api.access, &identity)?;
        crate::bootstrap::publish(&api, address).await?;
        let kubeconfig = kubeconfig::of(&url(address), &api.access);
        api.node.note_listener(local(address));
        let (stop, stopped) = watch::channel(false);
        let hosts = Hosts::of(address.ip())
            .with_all(SERVER_NAMES)
            .with_all(&names)
            .with_pages_of_any_port();
        let accepting = tokio::spawn(connections::accept(
            listener,
            acceptor,
            api,
            hosts.into(),
            stopped,
        ));
        Ok(Serving {
            address,
            kubeconfig,
            stop,
            accepting,
        })
    }
}

impl Serving {
    /// Returns where the cluster listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the address as clients on this machine write it.
    pub fn url(&self) -> String {
        url(self.address)
    }

    /// Returns a kubeconfig of the administrator.
    pub fn kubeconfig(&self) -> &str {
        &self.kubeconfig
    }

    /// Writes a kubeconfig of the administrator into a file that only its owner can read.
    pub fn write_kubeconfig(&self, path: &Path) -> Result<(), KeyError> {
        access::keys::write_private(path, self.kubeconfig.as_bytes())
    }

    /// Takes no more connections, ends watches, lets other requests end for a few seconds, and returns when all is
    /// quiet.
    pub async fn stop(mut self) {
        let _ = self.stop.send(true);
        // Kept in place: who doesn't wait for the end drops this, which ends the serving at once.
        let _ = (&mut self.accepting).await;
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Returns the address that clients on this machine use: one that isn't any address.
fn url(address: SocketAddr) -> String {
    format!("https://{}", local(address))
}

/// Returns where this machine reaches a server that listens on an address, which may be any address.
pub fn local(address: SocketAddr) -> SocketAddr {
    let host = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        host => host,
    };
    SocketAddr::new(host, address.port())
}

/// What is shared by the connections of one server.
type SharedApi = Arc<crate::api::Api>;
