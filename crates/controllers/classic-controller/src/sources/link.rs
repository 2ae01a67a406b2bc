//! A connection to the server of a catalog, which says when it is lost.
//!
//! A gRPC channel connects anew by itself and tells nobody. But a server that was away may serve other content, so the
//! loss has to be seen: what the channel reads from and writes to tells when it is dropped.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tonic::transport::{Channel, Endpoint, Uri};

/// How long connecting may take.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);

/// How often a silent server is asked whether it is still there.
const ALIVE_EVERY: Duration = Duration::from_secs(30);

/// How long it may take to say so.
const ALIVE_WITHIN: Duration = Duration::from_secs(10);

/// A connection.
#[derive(Debug)]
pub struct Link {
    /// What calls are made through.
    pub channel: Channel,
    lost: watch::Receiver<bool>,
}

impl Link {
    /// Connects to `host:port`, without TLS, as upstream does.
    ///
    /// # Errors
    ///
    /// If nobody answers there; the text is that of Go's gRPC.
    pub async fn open(address: &str) -> Result<Self, String> {
        let endpoint = Endpoint::from_shared(format!("http://{address}"))
            .map_err(|fault| format!("invalid address {address:?}: {fault}"))?
            .connect_timeout(CONNECT_WITHIN)
            .http2_keep_alive_interval(ALIVE_EVERY)
            .keep_alive_timeout(ALIVE_WITHIN)
            .keep_alive_while_idle(true);
        let (dropped, lost) = watch::channel(false);
        let target = address.to_owned();
        let connector = tower::service_fn(move |_: Uri| {
            let (target, dropped) = (target.clone(), dropped.clone());
            async move {
                let stream = TcpStream::connect(&target).await?;
                stream.set_nodelay(true).ok();
                Ok::<_, std::io::Error>(TokioIo::new(Told { stream, dropped }))
            }
        });
        let connecting = endpoint.connect_with_connector(connector);
        let channel = match tokio::time::timeout(CONNECT_WITHIN, connecting).await {
            Ok(connected) => connected.map_err(|fault| dial_text(address, &fault))?,
            Err(_) => {
                return Err("rpc error: code = DeadlineExceeded desc = context deadline exceeded".to_owned());
            }
        };
        Ok(Self { channel, lost })
    }

    /// Waits until the connection is lost.
    pub async fn lost(&mut self) {
        self.lost.wait_for(|lost| *lost).await.ok();
    }
}

/// Writes why nobody could be reached, as Go's gRPC does.
fn dial_text(address: &str, fault: &tonic::transport::Error) -> String {
    let mut cause: &dyn std::error::Error = fault;
    while let Some(source) = cause.source() {
        cause = source;
    }
    let cause = cause.downcast_ref::<std::io::Error>().map_or_else(
        || cause.to_string(),
        |fault| match fault.kind() {
            std::io::ErrorKind::ConnectionRefused => "connect: connection refused".to_owned(),
            std::io::ErrorKind::TimedOut => "i/o timeout".to_owned(),
            _ => fault.to_string(),
        },
    );
    format!(
        "rpc error: code = Unavailable desc = connection error: desc = \"transport: Error while dialing: dial tcp \
         {address}: {cause}\""
    )
}

/// A stream that tells when nobody has it any more.
struct Told {
    stream: TcpStream,
    dropped: watch::Sender<bool>,
}

impl Drop for Told {
    fn drop(&mut self) {
        self.dropped.send_replace(true);
    }
}

impl AsyncRead for Told {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Told {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, buffer)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_closed_port_is_told_in_the_words_of_go() {
        let fault = Link::open("127.0.0.1:1").await.expect_err("nobody listens");
        assert_eq!(
            fault,
            "rpc error: code = Unavailable desc = connection error: desc = \"transport: Error while dialing: dial tcp \
             127.0.0.1:1: connect: connection refused\""
        );
    }
}
