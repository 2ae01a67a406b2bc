//! A connection to the server of a catalog, which says when it is lost.
//!
//! A gRPC channel connects anew by itself and tells nobody. But a server that was away may serve other content, so the
//! loss has to be seen: what the channel reads from and writes to tells when something is heard for the first time, and when it
//! is dropped.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tonic::transport::{Channel, Endpoint, Uri};

use super::proxy::Proxies;

/// How long connecting may take.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);

/// How long a server may take until it says anything, as Go's gRPC has it: one that speaks HTTP/2 begins by itself.
const SPEAK_WITHIN: Duration = Duration::from_secs(20);

/// How often a silent server is asked whether it is still there.
const ALIVE_EVERY: Duration = Duration::from_secs(30);

/// How long it may take to say so.
const ALIVE_WITHIN: Duration = Duration::from_secs(10);

/// A connection.
#[derive(Debug)]
pub struct Link {
    /// What calls are made through.
    pub channel: Channel,
    life: watch::Receiver<Life>,
}

/// How far a connection came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Life {
    /// Nothing was heard yet.
    Silent,
    /// The server, or the proxy before it, said something.
    Speaking,
    /// It is lost.
    Over,
}

impl Link {
    /// Connects to `host:port`, without TLS and through the proxy of the environment, as upstream does.
    ///
    /// # Errors
    ///
    /// If nobody answers there, or nobody who says anything; the text is that of Go's gRPC.
    pub async fn open(address: &str) -> Result<Self, String> {
        Self::open_within(address, SPEAK_WITHIN).await
    }

    async fn open_within(address: &str, patience: Duration) -> Result<Self, String> {
        let endpoint = Endpoint::from_shared(format!("http://{address}"))
            .map_err(|fault| format!("invalid address {address:?}: {fault}"))?
            .connect_timeout(CONNECT_WITHIN)
            .http2_keep_alive_interval(ALIVE_EVERY)
            .keep_alive_timeout(ALIVE_WITHIN)
            .keep_alive_while_idle(true);
        let (telling, mut life) = watch::channel(Life::Silent);
        let target = address.to_owned();
        let proxy = Proxies::of_environment().to(address);
        let connector = tower::service_fn(move |_: Uri| {
            let (target, telling, proxy) = (target.clone(), telling.clone(), proxy.clone());
            async move {
                let Some(proxy) = proxy else {
                    return connect(target, telling).await;
                };
                let first = proxy.address();
                let to_proxy = tower::service_fn(move |_: Uri| connect(first.clone(), telling.clone()));
                proxy.lead(to_proxy, &target).await
            }
        });
        let connecting = endpoint.connect_with_connector(connector);
        let channel = match tokio::time::timeout(CONNECT_WITHIN, connecting).await {
            Ok(connected) => connected.map_err(|fault| dial_text(address, &fault))?,
            Err(_) => {
                return Err("rpc error: code = DeadlineExceeded desc = context deadline exceeded".to_owned());
            }
        };
        let speaking = life.wait_for(|life| *life != Life::Silent);
        let cause = match tokio::time::timeout(patience, speaking).await {
            Ok(Ok(life)) if *life == Life::Speaking => None,
            Ok(_) => Some("EOF"),
            Err(_) => Some("i/o timeout"),
        };
        match cause {
            None => Ok(Self { channel, life }),
            Some(cause) => Err(format!(
                "rpc error: code = Unavailable desc = connection error: desc = \"error reading server preface: {cause}\""
            )),
        }
    }

    /// Waits until the connection is lost.
    pub async fn lost(&mut self) {
        self.life.wait_for(|life| *life == Life::Over).await.ok();
    }
}

async fn connect(address: String, telling: watch::Sender<Life>) -> std::io::Result<TokioIo<Told>> {
    let stream = TcpStream::connect(&address).await?;
    stream.set_nodelay(true).ok();
    Ok(TokioIo::new(Told { stream, telling }))
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

/// A stream that tells when something is heard, and when nobody has it any more.
struct Told {
    stream: TcpStream,
    telling: watch::Sender<Life>,
}

impl Drop for Told {
    fn drop(&mut self) {
        self.telling.send_replace(Life::Over);
    }
}

impl AsyncRead for Told {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.telling.send_if_modified(|life| {
                let is_first = *life == Life::Silent;
                if is_first {
                    *life = Life::Speaking;
                }
                is_first
            });
        }
        read
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
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

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

    /// Listens once, says something and hangs up, or says nothing.
    async fn stranger(words: Option<&'static [u8]>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        tokio::spawn(async move {
            let (mut client, _) = listener.accept().await.expect("a client");
            client.read_u8().await.expect("what clients begin with");
            match words {
                Some(words) => drop(client.write_all(words).await),
                None => std::future::pending().await,
            }
        });
        address
    }

    #[tokio::test]
    async fn who_hangs_up_without_a_word_is_no_server() {
        let address = stranger(Some(b"")).await;
        let fault = Link::open(&address).await.expect_err("nobody speaks");
        assert!(fault.ends_with("error reading server preface: EOF\""), "{fault}");
    }

    #[tokio::test]
    async fn who_says_nothing_is_no_server() {
        let address = stranger(None).await;
        let opening = Link::open_within(&address, Duration::from_millis(20));
        let fault = opening.await.expect_err("nobody speaks");
        assert!(
            fault.ends_with("error reading server preface: i/o timeout\""),
            "{fault}"
        );
    }

    #[tokio::test]
    async fn who_talks_nonsense_is_lost_soon() {
        let address = stranger(Some(b"who goes there?")).await;
        // It depends on who is faster what is seen of it.
        if let Ok(mut link) = Link::open(&address).await {
            link.lost().await;
        }
    }
}
