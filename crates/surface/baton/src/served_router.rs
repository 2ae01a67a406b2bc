//! Routes that are served until they are stopped.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::middleware::{self, Next};
use axum::response::IntoResponse as _;
use axum::serve::Listener;
use hosts::Hosts;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use crate::tls::TlsListener;

/// How long requests may take to end when the program does, as upstream has it.
const GRACE: Duration = Duration::from_secs(30);

/// Routes that are only for those who ask by one of these names, and not for pages of others.
pub(crate) fn asked_as(hosts: Hosts, router: Router) -> Router {
    let hosts = Arc::new(hosts);
    router.layer(middleware::from_fn(move |request: Request, next: Next| {
        let refused = hosts.admit(request.uri(), request.headers()).err();
        async move {
            match refused {
                Some(refused) => (refused.status(), format!("{refused}\n")).into_response(),
                None => next.run(request).await,
            }
        }
    }))
}

/// A server that runs until it is stopped.
pub(crate) struct ServedRouter {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl ServedRouter {
    /// Serves the routes. Called within a Tokio runtime.
    pub(crate) fn start<L: Listener>(listener: L, router: Router) -> Self
    where
        L::Addr: Debug,
    {
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(async move {
            let ended = axum::serve(listener, router)
                .with_graceful_shutdown(async {
                    stopped.await.ok();
                })
                .await;
            if let Err(error) = ended {
                tracing::error!(%error, "the server ended");
            }
        });
        Self { stop, task }
    }

    /// Serves the routes, with TLS where there is something that encrypts connections.
    pub(crate) fn start_with(listener: TcpListener, tls: Option<TlsAcceptor>, router: Router) -> Self {
        match tls {
            Some(acceptor) => Self::start(TlsListener::new(listener, acceptor), router),
            None => Self::start(listener, router),
        }
    }

    /// Lets requests end, and stops.
    pub(crate) async fn stop(self) {
        self.stop.send(()).ok();
        tokio::time::timeout(GRACE, self.task).await.ok();
    }
}
