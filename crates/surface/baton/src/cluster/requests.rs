//! How often this process asked API servers for something, and what they said, under the name that client-go has for it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};

use http::{Method, Request, Response};
use tower::Service;

/// The name that dashboards know.
const METRIC: &str = "rest_client_requests_total";

/// What client-go says where no code came back.
const NO_ANSWER: &str = "<error>";

/// Requests by code, method and host. A process has one, however many clients it makes: who watches it asks the process.
static REQUESTS: Counts = Counts(Mutex::new(BTreeMap::new()));

struct Counts(Mutex<BTreeMap<(String, String, String), u64>>);

impl Counts {
    fn add(&self, code: Option<u16>, method: &Method, host: &str) {
        let code = code.map_or_else(|| NO_ANSWER.to_owned(), |code| code.to_string());
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counts
            .entry((code, method.to_string(), host.to_owned()))
            .or_default() += 1;
    }

    fn text(&self) -> String {
        let mut text = format!(
            "# HELP {METRIC} Number of HTTP requests, partitioned by status code, method, and host.\n# TYPE {METRIC} counter\n"
        );
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for ((code, method, host), count) in counts.iter() {
            // Writing to a text can't fail.
            let _ = writeln!(
                text,
                "{METRIC}{{code=\"{code}\",host=\"{host}\",method=\"{method}\"}} {count}"
            );
        }
        text
    }
}

/// Returns what was asked so far, in the text format of Prometheus.
pub(crate) fn text() -> String {
    REQUESTS.text()
}

/// Counts each request and its answer.
#[derive(Clone)]
pub(super) struct Counted<S>(pub(super) S);

impl<S, B, A> Service<Request<B>> for Counted<S>
where
    S: Service<Request<B>, Response = Response<A>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let method = request.method().clone();
        let host = request
            .uri()
            .authority()
            .map(ToString::to_string)
            .unwrap_or_default();
        let answering = self.0.call(request);
        Box::pin(async move {
            let answer = answering.await;
            let code = answer.as_ref().ok().map(|answer| answer.status().as_u16());
            REQUESTS.add(code, &method, &host);
            answer
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_told_by_code_method_and_host() {
        let counts = Counts(Mutex::default());
        counts.add(Some(200), &Method::GET, "a:6443");
        counts.add(Some(200), &Method::GET, "a:6443");
        counts.add(None, &Method::PATCH, "a:6443");
        let text = counts.text();
        for line in [
            "rest_client_requests_total{code=\"200\",host=\"a:6443\",method=\"GET\"} 2",
            "rest_client_requests_total{code=\"<error>\",host=\"a:6443\",method=\"PATCH\"} 1",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }
}
