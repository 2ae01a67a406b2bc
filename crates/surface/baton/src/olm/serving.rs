//! What the controllers serve over HTTP: catalogs, metrics, and whether they are well.

use std::sync::Arc;

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use catalog_controller::Handle;

/// The media type of metrics.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The routes of everything that is served.
pub(super) fn router(
    catalogs: Handle,
    extension_metrics: impl Fn() -> String + Send + Sync + 'static,
) -> Router {
    let extension_metrics = Arc::new(extension_metrics);
    let counted = catalogs.clone();
    let metrics = move || {
        let text = format!("{}{}", counted.metrics().text(), extension_metrics());
        async move { ([(CONTENT_TYPE, METRICS)], text) }
    };
    Router::new()
        .route("/metrics", get(metrics))
        .route("/healthz", get(async || "ok"))
        .route("/readyz", get(async || "ok"))
        .merge(catalog_controller::router(catalogs))
        .fallback(catalog_controller::serve::page_not_found)
}
