//! A Kubernetes API to ask, whoever serves it.

use std::marker::PhantomData;
use std::pin::Pin;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use http_body_util::{BodyExt as _, Full};

/// The bytes of an answer as they arrive.
pub type ByteStream = Pin<Box<dyn Stream<Item = Result<Bytes, String>> + Send>>;

/// What a server answers, before the body has been read.
pub type Response = http::Response<ByteStream>;

/// Which of the three servers answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    /// stage, called as a function.
    StageInProcess,
    /// stage, over TLS.
    StageOverTls,
    /// kube-apiserver with etcd and kube-controller-manager.
    Real,
}

impl Backend {
    /// Whether the answers come from Kubernetes itself.
    pub fn is_real(self) -> bool {
        self == Self::Real
    }
}

/// A server that takes HTTP requests. The path and query of a request are relative to the server.
pub trait Server: Send + Sync + 'static {
    /// Sends one request. The administrator's credentials are added where the request has none of its own.
    fn send(
        &self,
        request: http::Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response, String>> + Send + '_>>;

    /// Which of the three it is.
    fn backend(&self) -> Backend;
}

/// Makes a client that trusts one authority and nothing else.
pub fn https_client(authority: &str) -> Result<reqwest::Client, reqwest::Error> {
    // A second installation is refused and harmless: the provider is the same.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .tls_certs_only([reqwest::Certificate::from_pem(authority.as_bytes())?])
        .build()
}

/// A server behind an address.
#[derive(Debug)]
pub struct Https {
    client: reqwest::Client,
    url: String,
    token: String,
    backend: Backend,
}

impl Https {
    /// Talks to `url` as the bearer of `token`, trusting `authority` (PEM).
    pub fn new(backend: Backend, url: &str, authority: &str, token: &str) -> Result<Self, reqwest::Error> {
        let client = https_client(authority)?;
        Ok(Self {
            client,
            url: url.to_owned(),
            token: token.to_owned(),
            backend,
        })
    }
}

impl Server for Https {
    fn send(
        &self,
        request: http::Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response, String>> + Send + '_>> {
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let mut headers = parts.headers;
            headers.entry(http::header::AUTHORIZATION).or_insert_with(|| {
                http::HeaderValue::from_str(&format!("Bearer {}", self.token))
                    .expect("a token without control characters")
            });
            // An empty header stands for "without credentials".
            if headers
                .get(http::header::AUTHORIZATION)
                .is_some_and(http::HeaderValue::is_empty)
            {
                headers.remove(http::header::AUTHORIZATION);
            }
            let answer = self
                .client
                .request(parts.method, format!("{}{}", self.url, parts.uri))
                .headers(headers)
                .body(body)
                .send()
                .await
                .map_err(|error| format!("{error:?}"))?;
            let mut response = http::Response::builder().status(answer.status());
            if let Some(headers) = response.headers_mut() {
                *headers = answer.headers().clone();
            }
            let stream = answer
                .bytes_stream()
                .map(|chunk| chunk.map_err(|error| format!("{error:?}")));
            response
                .body(Box::pin(stream) as ByteStream)
                .map_err(|error| error.to_string())
        })
    }

    fn backend(&self) -> Backend {
        self.backend
    }
}

/// A server that is a function in this process: one for those it trusts, and one for strangers.
#[derive(Debug, Clone)]
pub struct InProcess<S, Out> {
    trusted: S,
    stranger: S,
    answers: PhantomData<fn() -> Out>,
}

impl<S, Out> InProcess<S, Out> {
    /// Calls `trusted` for every request, but `stranger` for those that are to come without credentials.
    pub fn new(trusted: S, stranger: S) -> Self {
        Self {
            trusted,
            stranger,
            answers: PhantomData,
        }
    }
}

impl<S, Out> Server for InProcess<S, Out>
where
    S: tower::Service<http::Request<Full<Bytes>>, Response = http::Response<Out>>
        + Clone
        + Send
        + Sync
        + 'static,
    S::Future: Send,
    S::Error: std::fmt::Debug + Send,
    Out: http_body::Body<Data = Bytes> + Send + 'static,
    Out::Error: std::fmt::Debug + Send,
{
    fn send(
        &self,
        request: http::Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response, String>> + Send + '_>> {
        use tower::ServiceExt as _;
        let mut request = request.map(Full::new);
        let headers = request.headers_mut();
        let service = if headers
            .get(http::header::AUTHORIZATION)
            .is_some_and(http::HeaderValue::is_empty)
        {
            headers.remove(http::header::AUTHORIZATION);
            self.stranger.clone()
        } else {
            self.trusted.clone()
        };
        Box::pin(async move {
            let answer = service
                .oneshot(request)
                .await
                .map_err(|error| format!("{error:?}"))?;
            Ok(answer.map(|body| {
                let stream = body.into_data_stream();
                Box::pin(stream.map(|chunk| chunk.map_err(|error| format!("{error:?}")))) as ByteStream
            }))
        })
    }

    fn backend(&self) -> Backend {
        Backend::StageInProcess
    }
}
