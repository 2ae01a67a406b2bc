//! What the controllers serve over HTTP: catalogs, and whether they are well.

use axum::Router;
use axum::routing::get;
use catalog_controller::Handle;
use catalog_controller::serve::Front;

/// The routes of everything that everybody may read.
pub(super) fn router(catalogs: Handle, front: Front) -> Router {
    Router::new()
        .route("/healthz", get(async || "ok"))
        .route("/readyz", get(async || "ok"))
        .merge(catalog_controller::router(catalogs, front))
        .fallback(catalog_controller::serve::page_not_found)
}
