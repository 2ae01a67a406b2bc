//! The pages of catalogs.

use std::sync::Arc;
use std::time::Duration;

use api::ClusterCatalog;
use api::cluster_catalog::AvailabilityMode;
use api::condition::is_true;
use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use catalog::store::Store;

use crate::conditions::{ConditionRow, of_catalog, rows};
use crate::console::Console;
use crate::fault::Fault;
use crate::marks::{Empty, Moment, Pill};
use crate::packages::{PackageRow, find};
use crate::page::{Page, Section, Visit, path, shown};
use crate::paging::Paging;

/// How long a page waits for the content of a catalog: whoever looks wants to see the others too.
const CONTENT_WITHIN: Duration = Duration::from_secs(3);

/// A row of the table of catalogs.
struct CatalogRow {
    href: String,
    name: String,
    pill: Pill,
    image: String,
    priority: i32,
    packages: Option<usize>,
    unpacked: Option<Moment>,
}

#[derive(Template)]
#[template(path = "catalogs.html")]
struct Catalogs {
    page: Page,
    rows: Vec<CatalogRow>,
    paging: Paging,
    empty: Empty,
}

#[derive(Template)]
#[template(path = "catalog.html")]
struct Catalog {
    page: Page,
    row: CatalogRow,
    resolved: String,
    url: String,
    conditions: Vec<ConditionRow>,
    packages: Vec<PackageRow>,
    paging: Paging,
    text: String,
    /// Why the packages aren't known.
    unreadable: Option<String>,
    empty: Empty,
}

/// Shows all catalogs.
pub(crate) async fn list(State(console): State<Arc<Console>>, visit: Visit) -> Result<Response, Fault> {
    console.wait_filled().await;
    let (catalogs, paging) = Paging::take(console.insight.index().catalogs(), &visit.parameters);
    let mut rows = Vec::with_capacity(catalogs.len());
    for catalog in &catalogs {
        let content = content(&console, catalog).await;
        rows.push(row(&console, catalog, content.ok().as_deref()));
    }
    shown(&Catalogs {
        page: visit.page("Catalogs", Section::Catalogs).following(["catalogs"]),
        rows,
        paging,
        empty: Empty::new(
            "No catalog yet",
            "A catalog is an image that says which operators there are, in which channels and versions.",
        )
        .command("baton catalog add NAME IMAGE"),
    })
}

/// Shows one catalog and its packages.
pub(crate) async fn one(
    State(console): State<Arc<Console>>,
    Path(name): Path<String>,
    visit: Visit,
) -> Result<Response, Fault> {
    console.wait_filled().await;
    let catalog = named(&console, &name)?;
    let text = visit.parameters.search();
    let content = content(&console, &catalog).await;
    let row = row(&console, &catalog, content.as_deref().ok());
    let (found, unreadable) = match content {
        Ok(store) => match find(&console, &[(name.clone(), store)], &text, &visit.parameters).await {
            Ok(found) => (Some(found), None),
            Err(cause) => (None, Some(cause)),
        },
        Err(cause) => (None, Some(cause)),
    };
    let (packages, paging) = found.unwrap_or_else(|| Paging::take(Vec::new(), &visit.parameters));
    shown(&Catalog {
        page: visit
            .page(name.clone(), Section::Catalogs)
            .following([format!("catalogs/{name}").as_str(), "extensions"]),
        resolved: catalog.resolved_reference().unwrap_or_default().to_owned(),
        url: catalog
            .status
            .urls
            .as_ref()
            .map(|urls| urls.base.clone())
            .unwrap_or_default(),
        conditions: rows(&catalog.status.conditions, console.now()),
        row,
        packages,
        paging,
        unreadable,
        empty: if text.is_empty() {
            Empty::new("No package", "This catalog has no packages.")
        } else {
            Empty::new(
                "No such package",
                "No package of this catalog has this in its name or description.",
            )
        },
        text,
    })
}

/// Finds a catalog by its name.
pub(crate) fn named(console: &Console, name: &str) -> Result<Arc<ClusterCatalog>, Fault> {
    let catalogs = console.insight.index().catalogs();
    let found = catalogs.iter().find(|catalog| catalog.name() == name);
    found.cloned().ok_or_else(|| {
        let known: Vec<&str> = catalogs.iter().map(|catalog| catalog.name()).take(10).collect();
        Fault::not_found(if known.is_empty() {
            format!("ClusterCatalog {name:?} isn't there; none is: `baton catalog add` adds one")
        } else {
            format!(
                "ClusterCatalog {name:?} isn't there; there are {}",
                known.join(", ")
            )
        })
    })
}

/// The content of a catalog, or why there is none.
pub(crate) async fn content(console: &Console, catalog: &ClusterCatalog) -> Result<Arc<Store>, String> {
    if catalog.spec.availability_mode == AvailabilityMode::Unavailable {
        return Err("the catalog was taken out of service: spec.availabilityMode is Unavailable".to_owned());
    }
    if !is_true(&catalog.status.conditions, "Serving") {
        return Err("the catalog isn't served yet; its conditions say why".to_owned());
    }
    let content = tokio::time::timeout(CONTENT_WITHIN, console.insight.content(catalog)).await;
    match content {
        Ok(content) => content.map_err(|error| error.to_string()),
        Err(_) => Err(format!("there is no answer after {} s", CONTENT_WITHIN.as_secs())),
    }
}

fn row(console: &Console, catalog: &ClusterCatalog, content: Option<&Store>) -> CatalogRow {
    let image = catalog.spec.source.image.as_ref();
    CatalogRow {
        href: path(["catalogs", catalog.name()]),
        name: catalog.name().to_owned(),
        pill: of_catalog(catalog),
        image: image.map(|image| image.reference.clone()).unwrap_or_default(),
        priority: catalog.spec.priority,
        packages: content.map(|store| store.packages().count()),
        unpacked: catalog
            .status
            .last_unpacked
            .map(|time| Moment::new(time, console.now())),
    }
}
