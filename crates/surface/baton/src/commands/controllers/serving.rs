//! What the controllers serve over HTTP: catalogs, metrics, and whether they are well.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use catalog_controller::Handle;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// How long requests may take to end when the program does, as upstream has it.
const GRACE: Duration = Duration::from_secs(30);

/// The media type of metrics.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A server that runs until it is stopped.
pub(super) struct Serving {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Serving {
    pub(super) fn start(
        listener: TcpListener,
        catalogs: Handle,
        extension_metrics: impl Fn() -> String + Send + Sync + 'static,
    ) -> Self {
        let extension_metrics = Arc::new(extension_metrics);
        let counted = catalogs.clone();
        let metrics = move || {
            let text = format!("{}{}", counted.metrics().text(), extension_metrics());
            async move { ([(CONTENT_TYPE, METRICS)], text) }
        };
        let router = Router::new()
            .route("/metrics", get(metrics))
            .route("/healthz", get(async || "ok"))
            .route("/readyz", get(async || "ok"))
            .merge(catalog_controller::router(catalogs))
            .fallback(catalog_controller::serve::page_not_found);
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

    /// Lets requests end, and stops.
    pub(super) async fn stop(self) {
        self.stop.send(()).ok();
        tokio::time::timeout(GRACE, self.task).await.ok();
    }
}
