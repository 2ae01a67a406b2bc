//! A listener whose connections are encrypted.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// How long a client may take to agree on TLS.
const HANDSHAKE: Duration = Duration::from_secs(5);

/// How many clients may be agreeing on TLS at the same time; the others wait in the system's queue.
const HANDSHAKES: usize = 128;

/// Takes connections and encrypts them; a client that is slow to agree keeps nobody else waiting.
pub(crate) struct TlsListener {
    listener: TcpListener,
    acceptor: TlsAcceptor,
    agreeing: JoinSet<Option<(TlsStream<TcpStream>, SocketAddr)>>,
}

impl TlsListener {
    /// Makes one of a listener.
    pub(crate) fn new(listener: TcpListener, acceptor: TlsAcceptor) -> Self {
        Self {
            listener,
            acceptor,
            agreeing: JoinSet::new(),
        }
    }
}

impl axum::serve::Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            tokio::select! {
                (stream, address) = axum::serve::Listener::accept(&mut self.listener),
                    if self.agreeing.len() < HANDSHAKES =>
                {
                    let agreeing = self.acceptor.accept(stream);
                    self.agreeing.spawn(async move {
                        let agreed = tokio::time::timeout(HANDSHAKE, agreeing).await;
                        Some((agreed.ok()?.ok()?, address))
                    });
                }
                Some(agreed) = self.agreeing.join_next() => {
                    if let Ok(Some(connection)) = agreed {
                        return connection;
                    }
                }
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}
