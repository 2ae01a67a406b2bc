//! The web console: pages that show what the controllers do, and a few buttons.
//!
//! ```text
//! browser ─► access (host, session, form key) ─► a page ─► insight, kube client ─► the cluster
//!    ▲          └─► door (token)                   │
//!    └── changes (server-sent events) ◄─ caches ───┴─► template ─► HTML
//! ```
//!
//! - [`Console`], [`Options`]: what the pages share, and how it is wired
//! - [`Token`], [`SessionLimits`], [`Hosts`]: who may look
//! - `overview`, `catalogs`, `packages`, `extensions`, `resources`, `events`: the pages, each with its templates
//! - `classic`: the pages of OLM v0
//! - `graph`: an upgrade graph drawn as SVG, as a pure function
//!
//! Nothing is decided here: what a plan, an explanation or a road is, those say who decide it. Pages work without
//! JavaScript; with it, they follow the cluster by themselves.

mod access;
mod actions;
mod assets;
mod catalogs;
mod changes;
mod classic;
mod conditions;
mod console;
mod diffs;
mod door;
mod events;
mod extensions;
mod fault;
mod graph;
mod insight;
mod lately;
mod logs;
mod marks;
mod overview;
mod packages;
mod page;
mod paging;
mod parameters;
mod place;
mod plans;
mod recent_events;
mod releases;
mod resources;
mod sessions;
mod token;
mod watching;

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};

pub use access::Hosts;
pub use console::{Console, Options};
pub use sessions::SessionLimits;
pub use token::{NoToken, Token};

/// The routes of the console, to be served alone on an address of this machine.
///
/// The pages show what the caches of the console hold: [`Console::run`] must be running too.
pub fn router(console: Arc<Console>) -> Router {
    let resource = "/resources/{group}/{version}/{kind}/{namespace}/{name}";
    let pages = Router::new()
        .route("/", get(overview::page))
        .route("/catalogs", get(catalogs::list))
        .route("/catalogs/{catalog}", get(catalogs::one))
        .route("/packages", get(packages::search))
        .route("/packages/{catalog}/{package}", get(packages::one))
        .route("/extensions", get(extensions::list))
        .route("/extensions/{name}", get(extensions::one))
        .route("/extensions/{name}/versions", get(plans::versions))
        .route("/extensions/{name}/plan", get(plans::plan))
        .route("/extensions/{name}/rollback", get(plans::rollback))
        .route("/extensions/{name}/approve", post(actions::approve))
        .route("/extensions/{name}/pause", post(actions::pause))
        .route("/extensions/{name}/resume", post(actions::resume))
        .route("/extensions/{name}/go-back", post(actions::go_back))
        .route("/resources", get(resources::kinds))
        .route("/resources/{group}/{version}/{kind}", get(resources::list))
        .route(resource, get(resources::one))
        .route(
            &format!("{resource}/revisions/{{revision}}"),
            get(diffs::revision),
        )
        .route(&format!("{resource}/logs"), get(logs::of_resource))
        .route("/classic", get(classic::overview::page))
        .route("/classic/subscriptions", get(classic::subscriptions::list))
        .route(
            "/classic/subscriptions/{namespace}/{name}",
            get(classic::subscriptions::one),
        )
        .route("/classic/plans", get(classic::plans::list))
        .route("/classic/plans/{namespace}/{name}", get(classic::plans::one))
        .route(
            "/classic/plans/{namespace}/{name}/approve",
            post(classic::plans::approve),
        )
        .route("/classic/versions", get(classic::versions::list))
        .route(
            "/classic/versions/{namespace}/{name}",
            get(classic::versions::one),
        )
        .route("/classic/dependencies", get(classic::dependencies::choose))
        .route(
            "/classic/dependencies/{namespace}",
            get(classic::dependencies::one),
        )
        .route("/events", get(events::list))
        .route("/changes", get(changes::stream))
        .route("/theme", post(actions::theme))
        .route("/leave", post(door::leave))
        .route("/assets/{file}", get(assets::file))
        .fallback(fault::no_such_page)
        .method_not_allowed_fallback(fault::no_such_method)
        .with_state(Arc::clone(&console));
    // Around the routes and not in them: the guard takes the place out of the address before a route is looked for.
    Router::new()
        .fallback_service(pages)
        .layer(from_fn_with_state(console, access::guard))
}
