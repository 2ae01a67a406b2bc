//! The way to a cluster, byte by byte: sockets that notice when it is cut, and those that nothing leaves any more when a
//! Lease is lost.
//!
//! The library's own way has neither: a connection over a network that went away is believed in for minutes, and what lies in
//! it arrives when the network is back.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use duty::fence::{Fence, transit};
use http::{HeaderValue, Uri};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_timeout::TimeoutConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::connect::{Connected, Connection as SocketConnection, HttpConnector};
use hyper_util::rt::TokioExecutor;
use kube::client::retry::RetryPolicy;
use kube::client::{Body, ConfigExt as _};
use kube::{Client, Config};
use tower::retry::RetryLayer;
use tower::{BoxError, Service, ServiceBuilder};

use super::requests::Counted;
use crate::failure::Failure;

/// After which time without a word it is asked whether the other end is still there, and how often. Watches are silent most
/// of the time.
const SILENT_FOR: Duration = Duration::from_secs(10);
const ASKED_EVERY: Duration = Duration::from_secs(5);
const ASKED_TIMES: u32 = 2;

/// How long what was sent may be unconfirmed before a connection is given up and another one is made.
const CONFIRMED_WITHIN: Duration = Duration::from_secs(15);

/// A cluster that can be talked to.
pub(crate) struct Connection {
    config: Config,
    /// Reads and writes at any time.
    pub(crate) client: Client,
}

impl Connection {
    /// Makes a client; nothing is sent yet.
    pub(super) fn new(config: Config) -> Result<Self, Failure> {
        let client = client(&config, Sockets::default())?;
        if config.accept_invalid_certs {
            tracing::warn!(
                server = %config.cluster_url,
                "the certificate of the API server isn't checked, because the kubeconfig says insecure-skip-tls-verify: whoever is \
                 on the way can read and change everything; give it certificate-authority-data in place of that"
            );
        }
        Ok(Self { config, client })
    }

    /// Returns a client that writes only while a fence is open, and what makes it so for the sockets as well: the time in
    /// which what was begun settles after the fence has closed.
    pub(crate) fn guarded(&self, fence: &Fence, settles_within: Duration) -> Result<Client, Failure> {
        let sockets = Sockets {
            fence: Some(fence.clone()),
            confirmed_within: transit(settles_within).min(CONFIRMED_WITHIN),
        };
        let writes = client(&self.config, sockets)?;
        Ok(fence.guard_apart(&self.client, &writes))
    }
}

/// What sockets heed.
struct Sockets {
    fence: Option<Fence>,
    confirmed_within: Duration,
}

impl Default for Sockets {
    fn default() -> Self {
        Self {
            fence: None,
            confirmed_within: CONFIRMED_WITHIN,
        }
    }
}

/// Makes a client as the library does, but with sockets of its own and without a line in the log for each failure.
fn client(config: &Config, sockets: Sockets) -> Result<Client, Failure> {
    // Only the first call has a say, and all would say the same.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let failed = |error: kube::Error| Failure::new(format!("cannot talk to the cluster: {error}"));
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_keepalive(Some(SILENT_FOR));
    tcp.set_keepalive_interval(Some(ASKED_EVERY));
    tcp.set_keepalive_retries(Some(ASKED_TIMES));
    #[cfg(any(target_os = "linux", target_os = "android"))]
    tcp.set_tcp_user_timeout(Some(sockets.confirmed_within));
    let fenced = FencedConnector {
        tcp,
        fence: sockets.fence,
    };
    match &config.proxy_url {
        None => assembled(config, fenced),
        Some(proxy) => match proxy.scheme_str() {
            Some("http") => assembled(config, tunnel(proxy, fenced)),
            Some("https") => {
                let encrypted = config
                    .rustls_https_connector_with_connector(fenced)
                    .map_err(failed)?;
                assembled(config, tunnel(proxy, encrypted))
            }
            // What the library makes of others is its affair.
            _ => return Client::try_from(config.clone()).map_err(failed),
        },
    }
    .map_err(failed)
}

/// Leads through a proxy, with the password that its address has.
fn tunnel<C>(proxy: &Uri, connector: C) -> Tunnel<C> {
    let tunnel = Tunnel::new(proxy.clone(), connector);
    let user = proxy
        .authority()
        .and_then(|authority| authority.as_str().split_once('@'));
    match user.and_then(|(user, _)| basic(user)) {
        Some(password) => tunnel.with_auth(password),
        None => tunnel,
    }
}

/// A user and a password as a proxy wants them, from an address, where some characters are written as numbers.
fn basic(user: &str) -> Option<HeaderValue> {
    use base64::Engine as _;
    let plain = percent_encoding::percent_decode_str(user).collect::<Vec<u8>>();
    let encoded = base64::engine::general_purpose::STANDARD.encode(plain);
    HeaderValue::from_str(&format!("Basic {encoded}")).ok()
}

/// Puts the client together around its connections.
fn assembled<C>(config: &Config, connector: C) -> Result<Client, kube::Error>
where
    C: Service<Uri> + Clone + Send + Sync + 'static,
    C::Response: Read + Write + SocketConnection + Send + Unpin + 'static,
    C::Future: Send + 'static,
    C::Error: std::error::Error + Send + Sync + 'static,
{
    let mut connector = TimeoutConnector::new(config.rustls_https_connector_with_connector(connector)?);
    connector.set_connect_timeout(config.connect_timeout);
    connector.set_read_timeout(config.read_timeout);
    connector.set_write_timeout(config.write_timeout);
    connector.set_reset_reader_on_write(config.reset_reader_on_write);
    let connections: hyper_util::client::legacy::Client<_, Body> =
        hyper_util::client::legacy::Builder::new(TokioExecutor::new()).build(connector);
    let retries = config
        .default_retry
        .then(|| RetryLayer::new(RetryPolicy::server_retry()));
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(retries)
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .layer_fn(Counted)
        .service(connections);
    Ok(Client::new(service, config.default_namespace.clone()))
}

/// Makes sockets that heed a fence.
#[derive(Clone)]
struct FencedConnector {
    tcp: HttpConnector,
    fence: Option<Fence>,
}

impl Service<Uri> for FencedConnector {
    type Response = FencedSocket<<HttpConnector as Service<Uri>>::Response>;
    type Error = <HttpConnector as Service<Uri>>::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.tcp.poll_ready(context)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connecting = self.tcp.call(uri);
        let fence = self.fence.clone();
        Box::pin(async move {
            let socket = connecting.await?;
            Ok(FencedSocket { socket, fence })
        })
    }
}

/// A socket that nothing is written to when a Lease isn't held any more: not the rest of a request either, which the server
/// makes nothing of then.
struct FencedSocket<S> {
    socket: S,
    fence: Option<Fence>,
}

impl<S> FencedSocket<S> {
    fn check(&self) -> io::Result<()> {
        match &self.fence {
            Some(fence) if !fence.holds() => Err(io::Error::other(
                "the Lease isn't held any more, so nothing is sent",
            )),
            _ => Ok(()),
        }
    }
}

impl<S: SocketConnection> SocketConnection for FencedSocket<S> {
    fn connected(&self) -> Connected {
        self.socket.connected()
    }
}

impl<S: Read + Unpin> Read for FencedSocket<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(context, buffer)
    }
}

impl<S: Write + Unpin> Write for FencedSocket<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check()?;
        Pin::new(&mut self.socket).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.check()?;
        Pin::new(&mut self.socket).poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use duty::fence::Moment;
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::api::{Api, PostParams};
    use tokio::io::AsyncReadExt as _;
    use tokio::net::TcpListener;
    use tracing_subscriber::Layer;
    use tracing_subscriber::layer::{Context as LayerContext, SubscriberExt as _};

    use super::*;

    const SETTLES: Duration = Duration::from_secs(4);

    #[tokio::test]
    async fn nothing_leaves_a_socket_after_the_lease_is_lost() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let config = Config::new(format!("http://{address}").parse().expect("an address"));
        let connection = Connection::new(config).expect("a client");
        let fence = Fence::closed();
        let guarded = connection.guarded(&fence, SETTLES).expect("a client");
        fence.open_until(Moment::now().after(Duration::from_mins(1)), SETTLES);
        let maps: Api<ConfigMap> = Api::default_namespaced(guarded);
        // Larger than what a connection takes before somebody reads it: the rest waits here.
        let map = ConfigMap {
            data: Some([("a".to_owned(), "x".repeat(64 << 20))].into()),
            ..ConfigMap::default()
        };
        let writing = tokio::spawn(async move { maps.create(&PostParams::default(), &map).await });
        let (mut taken, _) = listener.accept().await.expect("a connection");
        let mut some = vec![0; 1 << 16];
        taken.read_exact(&mut some).await.expect("the begin of a request");
        fence.close();
        let refused = writing.await.expect("no panic").expect_err("it isn't held");
        assert!(refused.to_string().contains("was broken off"), "{refused}");
        let mut rest = Vec::new();
        taken.read_to_end(&mut rest).await.ok();
        assert!(rest.len() < 64 << 20, "everything was sent");
    }

    /// Keeps what is told.
    #[derive(Clone, Default)]
    struct Told(Arc<Mutex<Vec<String>>>);

    impl<S: tracing::Subscriber> Layer<S> for Told {
        fn on_event(&self, event: &tracing::Event<'_>, _: LayerContext<'_, S>) {
            let mut words = String::new();
            event.record(
                &mut |field: &tracing::field::Field, value: &dyn std::fmt::Debug| {
                    if field.name() == "message" {
                        words = format!("{value:?}");
                    }
                },
            );
            self.0.lock().expect("no panic").push(words);
        }
    }

    #[tokio::test]
    async fn that_a_certificate_is_not_checked_is_told_once_and_not_at_each_handshake() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let certified = rcgen::generate_simple_self_signed(["elsewhere".to_owned()]).expect("a certificate");
        let key = rustls::pki_types::PrivatePkcs8KeyDer::from(certified.signing_key.serialize_der());
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let server = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![certified.cert.der().clone()], key.into())
            .expect("an identity");
        let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(server));
        let told = Told::default();
        let log = tracing_subscriber::registry().with(
            told.clone()
                .with_filter(crate::logging::up_to(tracing::Level::INFO)),
        );
        let _telling = tracing::subscriber::set_default(log);
        let mut config = Config::new(format!("https://{address}").parse().expect("an address"));
        config.accept_invalid_certs = true;
        config.default_retry = false;
        let connection = Connection::new(config).expect("a client");
        for _ in 0..3 {
            let asking = connection.client.apiserver_version();
            let hanging_up = async {
                let (socket, _) = listener.accept().await.expect("a connection");
                // Gone after the handshake, so that the next request makes another one.
                drop(acceptor.accept(socket).await.expect("a handshake"));
            };
            let (answer, ()) = tokio::join!(asking, hanging_up);
            answer.expect_err("nobody answers");
        }
        // What the library tells beside it is told as before.
        tracing::warn!(target: "kube_client::client::tls::rustls_tls", path = "ca.crt", "failed to reload");
        let told = told.0.lock().expect("no panic");
        let [once, another] = &told[..] else {
            panic!("{told:?}");
        };
        assert!(once.contains("isn't checked"), "{once}");
        assert_eq!(another, "failed to reload");
    }

    #[test]
    fn the_password_of_a_proxy_is_read_from_its_address() {
        let basic = basic("me:p%40ss").expect("a header");
        assert_eq!(basic, "Basic bWU6cEBzcw==");
    }
}
