//! A way to the cluster that ends after so many writes, as if the controller were killed.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::task::{Context, Poll};

use http::{Method, Request, Response};
use kube::client::Body;

/// Passes on so many writes; the last one is done, but never answered, and nothing is passed on after it.
#[derive(Clone)]
pub(crate) struct Mortal {
    service: stage::Service,
    left: Arc<AtomicI64>,
    requests: Arc<AtomicI64>,
}

impl Mortal {
    pub(crate) fn new(service: stage::Service, writes: i64) -> Self {
        Self {
            service,
            left: Arc::new(AtomicI64::new(writes)),
            requests: Arc::new(AtomicI64::new(0)),
        }
    }

    /// Passes on everything and counts it; watches, which stay open, count when they begin.
    pub(crate) fn counting(service: stage::Service) -> Self {
        Self::new(service, i64::MAX)
    }

    /// Returns how many requests were passed on.
    pub(crate) fn requests(&self) -> Arc<AtomicI64> {
        Arc::clone(&self.requests)
    }

    /// Returns how many writes are left; none are when it is dead.
    pub(crate) fn left(&self) -> Arc<AtomicI64> {
        Arc::clone(&self.left)
    }
}

impl tower::Service<Request<Body>> for Mortal {
    type Response = Response<stage::Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let is_write = request.method() != Method::GET;
        let mut service = self.service.clone();
        let left = Arc::clone(&self.left);
        self.requests.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            if left.load(Ordering::SeqCst) <= 0 {
                return std::future::pending().await;
            }
            let dies = is_write && left.fetch_sub(1, Ordering::SeqCst) <= 1;
            let response = service.call(request).await;
            if dies {
                return std::future::pending().await;
            }
            response
        })
    }
}
