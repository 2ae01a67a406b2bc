//! A way to a cluster that counts what goes through it, and can end in the middle.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{HeaderValue, Method, Request, header};
use kube::Client;
use kube::client::Body;

/// What a line knows.
#[derive(Clone)]
pub(crate) struct Line {
    /// How many writes go through before it is dead; the last one is done, but never answered.
    left: Arc<AtomicI64>,
    /// What went through.
    asked: Arc<Mutex<Vec<String>>>,
}

impl Line {
    /// A line that lasts.
    pub(crate) fn lasting() -> Self {
        Self::of(i64::MAX)
    }

    /// A line that ends with the n-th write.
    pub(crate) fn of(writes: i64) -> Self {
        Self {
            left: Arc::new(AtomicI64::new(writes)),
            asked: Arc::default(),
        }
    }

    /// Returns whether the line is dead.
    pub(crate) fn is_dead(&self) -> bool {
        self.left.load(Ordering::SeqCst) <= 0
    }

    /// Waits until the line is dead.
    pub(crate) async fn dead(&self) {
        while !self.is_dead() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Takes what was asked since the last time.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().expect("no panic"))
    }

    /// Puts the line before a service; who calls presents a token, if one is given.
    pub(crate) fn to(&self, service: stage::Service, token: Option<&'static str>) -> Client {
        let line = self.clone();
        let service = tower::service_fn(move |mut request: Request<Body>| {
            let (line, mut service) = (line.clone(), service.clone());
            async move {
                let asked = format!("{} {}", request.method(), request.uri());
                line.asked.lock().expect("no panic").push(asked);
                if line.is_dead() {
                    return std::future::pending().await;
                }
                let is_write = request.method() != Method::GET;
                let dies = is_write && line.left.fetch_sub(1, Ordering::SeqCst) <= 1;
                if let Some(token) = token {
                    let value = HeaderValue::try_from(format!("Bearer {token}")).expect("a header");
                    request.headers_mut().insert(header::AUTHORIZATION, value);
                }
                let answer = tower::Service::call(&mut service, request).await;
                if dies {
                    return std::future::pending().await;
                }
                answer
            }
        });
        Client::new(service, "default")
    }
}
