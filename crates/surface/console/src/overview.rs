//! The first page: what is there, and what needs somebody.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Response;

use crate::classic::overview::Numbers;
use crate::classic::{self, Presence};
use crate::conditions::{of_catalog, of_extension};
use crate::console::Console;
use crate::events::EventRow;
use crate::extensions::{ExtensionRow, last_word};
use crate::fault::Fault;
use crate::marks::{Empty, Pill, Tone};
use crate::page::{Page, Section, Visit, path, shown};

/// How many events the page shows.
const MOST_EVENTS: usize = 8;

/// How many things that need somebody the page shows; the lists have them all.
const MOST_NEEDS: usize = 12;

/// Something that needs somebody.
pub(crate) struct Need {
    pub(crate) href: String,
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) pill: Pill,
    pub(crate) why: String,
}

#[derive(Template)]
#[template(path = "overview.html")]
struct Overview {
    page: Page,
    catalogs: usize,
    serving: usize,
    extensions: usize,
    installed: usize,
    /// None where they can't be counted.
    resources: Option<String>,
    /// How many of them somebody must look at.
    troubled: usize,
    /// OLM v0; none where the cluster has none.
    classic: Option<Numbers>,
    needs: Vec<Need>,
    more_needs: usize,
    rows: Vec<ExtensionRow>,
    events: Vec<EventRow>,
    is_read: bool,
    empty: Empty,
}

/// Shows the first page.
pub(crate) async fn page(State(console): State<Arc<Console>>, visit: Visit) -> Result<Response, Fault> {
    let (is_read, is_classic_read) = tokio::join!(console.wait_filled(), console.wait_classic());
    let index = console.insight.index();
    let (catalogs, extensions) = (index.catalogs(), index.extensions());
    let mut needs = Vec::new();
    let mut serving = 0;
    for catalog in &catalogs {
        let pill = of_catalog(catalog);
        if pill.tone == Tone::Good {
            serving += 1;
        } else if matches!(pill.tone, Tone::Warning | Tone::Bad) {
            needs.push(Need {
                href: path(["catalogs", catalog.name()]),
                name: catalog.name().to_owned(),
                kind: "Catalog".to_owned(),
                pill,
                why: last_word(&catalog.status.conditions),
            });
        }
    }
    let mut installed = 0;
    for extension in &extensions {
        let pill = of_extension(extension);
        installed += usize::from(extension.status.install.is_some());
        if matches!(pill.tone, Tone::Warning | Tone::Bad) {
            needs.push(Need {
                href: path(["extensions", extension.name()]),
                name: extension.name().to_owned(),
                kind: "Extension".to_owned(),
                pill,
                why: last_word(&extension.status.conditions),
            });
        }
    }
    needs.extend(classic::needs(&console));
    let troubles = console.troubles().await;
    needs.extend(troubles.iter().map(|trouble| Need {
        href: trouble.resource.path(),
        name: trouble.resource.full_name(),
        kind: trouble.resource.kind.clone(),
        pill: trouble.pill.clone(),
        why: trouble.why.clone(),
    }));
    needs.sort_by_key(|need| need.pill.tone != Tone::Bad);
    let more_needs = needs.len().saturating_sub(MOST_NEEDS);
    needs.truncate(MOST_NEEDS);
    // Whoever may not read Secrets still gets a page.
    let resources = console.survey().await.map(|survey| survey.count());
    let now = console.now();
    let newest = console.events.newest();
    shown(&Overview {
        page: visit.page("Overview", Section::Overview).following([
            "catalogs",
            "extensions",
            "classic",
            "releases",
            "troubles",
            "events",
        ]),
        catalogs: catalogs.len(),
        serving,
        extensions: extensions.len(),
        installed,
        resources,
        troubled: troubles.len(),
        classic: (console.classic.presence() == Presence::There).then(|| Numbers::of(&console)),
        needs,
        more_needs,
        rows: extensions
            .iter()
            .take(MOST_NEEDS)
            .map(|one| ExtensionRow::of(one))
            .collect(),
        events: newest
            .iter()
            .take(MOST_EVENTS)
            .map(|event| EventRow::of(event, now))
            .collect(),
        is_read: is_read && is_classic_read,
        empty: if catalogs.is_empty() {
            Empty::new(
                "No catalog yet",
                "A catalog says which operators there are, and in which versions. Add one to begin.",
            )
            .command("baton catalog add NAME IMAGE")
        } else {
            Empty::new(
                "No extension yet",
                "Pick a package, and baton keeps it up to date from then on.",
            )
            .command("baton install PACKAGE")
        },
    })
}
