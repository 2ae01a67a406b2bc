//! A collector of traces, as OpenTelemetry's are sent to.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::routing::post;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value};
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;

/// What came to a collector.
#[derive(Clone, Default)]
pub(crate) struct Collected {
    requests: Arc<Mutex<Vec<ExportTraceServiceRequest>>>,
}

impl Collected {
    /// Starts a collector, and returns where it is.
    pub(crate) async fn start() -> Result<(Self, String), String> {
        async fn take(State(collected): State<Collected>, body: Bytes) -> &'static str {
            if let Ok(request) = ExportTraceServiceRequest::decode(body) {
                let mut requests = collected.requests.lock().unwrap_or_else(PoisonError::into_inner);
                requests.push(request);
            }
            ""
        }
        let collected = Self::default();
        let router = Router::new()
            .route("/v1/traces", post(take))
            .with_state(collected.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.map_err(|error| error.to_string())?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        tokio::spawn(async move { axum::serve(listener, router).await });
        Ok((collected, format!("http://{address}")))
    }

    fn requests(&self) -> Vec<ExportTraceServiceRequest> {
        self.requests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn spans(&self) -> Vec<Span> {
        let requests = self.requests().into_iter();
        requests
            .flat_map(|request| request.resource_spans)
            .flat_map(|of_resource| of_resource.scope_spans)
            .flat_map(|of_scope| of_scope.spans)
            .collect()
    }

    /// The names of the services that sent something.
    pub(crate) fn services(&self) -> BTreeSet<String> {
        let requests = self.requests().into_iter();
        let resources = requests
            .flat_map(|request| request.resource_spans)
            .filter_map(|of_resource| of_resource.resource);
        resources
            .map(|resource| text(&resource.attributes, "service.name"))
            .collect()
    }
    /// Expects spans by their name, and the kind and the beginning of the name of what they are about. Steps belong to the
    /// look at an object that they are part of.
    pub(crate) fn tell_of(&self, expected: &[(&str, &str, &str)]) -> Result<(), String> {
        let spans = self.spans();
        for (name, kind, object) in expected {
            let is_it = |span: &Span| {
                span.name == *name
                    && text(&span.attributes, "kind") == *kind
                    && text(&span.attributes, "name").starts_with(object)
                    && (*name == "reconcile" || !span.parent_span_id.is_empty())
            };
            if !spans.iter().any(is_it) {
                let names: BTreeSet<&str> = spans.iter().map(|span| span.name.as_str()).collect();
                return Err(format!("there is no span {name} {kind} {object} among {names:?}"));
            }
        }
        Ok(())
    }
}

fn text(attributes: &[KeyValue], key: &str) -> String {
    let found = attributes.iter().find(|attribute| attribute.key == key);
    match found
        .and_then(|attribute| attribute.value.as_ref())
        .and_then(|value| value.value.as_ref())
    {
        Some(any_value::Value::StringValue(text)) => text.clone(),
        _ => String::new(),
    }
}
