//! Traces, sent to a collector of OpenTelemetry.

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use opentelemetry::KeyValue;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_http::{HttpClient, HttpError};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{Sampler, SdkTracer, SdkTracerProvider};
use tokio::runtime::Handle;

use crate::failure::Failure;

/// Where collectors take traces, below their address.
const PATH: &str = "/v1/traces";

/// How long a collector may take; what it doesn't take in time is dropped, and nothing waits for it.
const SENT_WITHIN: Duration = Duration::from_secs(10);

/// The longest answer of a collector that is read: one has a few bytes.
const ANSWER_LIMIT: usize = 1 << 20;

/// Sends traces.
pub(super) struct Traces {
    provider: SdkTracerProvider,
}

impl Traces {
    /// Sends the traces of a service to a collector; nothing is sent yet. Called within a Tokio runtime.
    pub(super) fn open(endpoint: &str, ratio: f64, service: &str) -> Result<Self, Failure> {
        let failed = |cause: &dyn fmt::Display| {
            Failure::new(format!(
                "cannot send traces to --otlp-endpoint {endpoint}: {cause}; give the address of a collector such as \
                 http://collector:4318"
            ))
        };
        let address = reqwest::Url::parse(endpoint).map_err(|error| failed(&error))?;
        if !matches!(address.scheme(), "http" | "https") {
            return Err(failed(&"it is neither http nor https"));
        }
        let base = endpoint.trim_end_matches('/');
        let address = if base.ends_with(PATH) {
            base.to_owned()
        } else {
            format!("{base}{PATH}")
        };
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(Courier::new().map_err(|error| failed(&error))?)
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(address)
            .with_timeout(SENT_WITHIN)
            .build()
            .map_err(|error| failed(&error))?;
        let mut resource =
            Resource::builder().with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")));
        // Who deploys may have another name for it.
        if std::env::var_os("OTEL_SERVICE_NAME").is_none() {
            resource = resource.with_service_name(service.to_owned());
        }
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_sampler(Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(ratio))))
            .with_resource(resource.build())
            .build();
        Ok(Self { provider })
    }

    pub(super) fn tracer(&self) -> SdkTracer {
        self.provider.tracer("baton")
    }

    /// Sends what isn't sent yet.
    pub(super) async fn stop(self) {
        // It waits for a thread that needs this runtime.
        let stopped = tokio::task::spawn_blocking(move || self.provider.shutdown()).await;
        if let Ok(Err(error)) = stopped {
            tracing::warn!(%error, "the last traces can't be sent");
        }
    }
}

/// Carries traces to the collector. They come from a thread without a runtime, so the runtime of the program sends them.
struct Courier {
    client: reqwest::Client,
    runtime: Handle,
}

impl Courier {
    fn new() -> Result<Self, reqwest::Error> {
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        Ok(Self {
            client: reqwest::Client::builder().timeout(SENT_WITHIN).build()?,
            runtime: Handle::current(),
        })
    }
}

impl fmt::Debug for Courier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Courier").finish_non_exhaustive()
    }
}

impl HttpClient for Courier {
    fn send_bytes<'own, 'sending>(
        &'own self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'sending>>
    where
        'own: 'sending,
        Self: 'sending,
    {
        let client = self.client.clone();
        let sent = self.runtime.spawn(async move {
            let request = reqwest::Request::try_from(request)?;
            let mut answer = client.execute(request).await?;
            let mut response = Response::builder().status(answer.status());
            if let Some(headers) = response.headers_mut() {
                headers.clone_from(answer.headers());
            }
            let mut body = Vec::new();
            while let Some(piece) = answer.chunk().await? {
                if body.len() + piece.len() > ANSWER_LIMIT {
                    return Err(HttpError::from("the collector's answer is too long"));
                }
                body.extend_from_slice(&piece);
            }
            Ok(response.body(Bytes::from(body))?)
        });
        Box::pin(async move { sent.await? })
    }
}
