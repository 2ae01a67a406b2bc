//! The page of events, as they happen.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Event;

use crate::conditions::shortened;
use crate::console::Console;
use crate::fault::Fault;
use crate::marks::{Empty, Moment, Pill, Tone};
use crate::page::{Page, Section, Visit, shown};
use crate::paging::Paging;

/// How many events about one object its page shows.
const MOST_ABOUT_ONE: usize = 10;

/// A row of the table of events.
pub(crate) struct EventRow {
    pub(crate) when: Moment,
    pub(crate) pill: Pill,
    pub(crate) reason: String,
    pub(crate) about: String,
    pub(crate) message: String,
    pub(crate) times: i32,
}

impl EventRow {
    pub(crate) fn of(event: &Event, now: Timestamp) -> Self {
        let object = &event.involved_object;
        let text = |part: &Option<String>| part.clone().unwrap_or_default();
        let name = match object.namespace.as_deref().unwrap_or_default() {
            "" => text(&object.name),
            namespace => format!("{namespace}/{}", text(&object.name)),
        };
        let is_warning = event.type_.as_deref() == Some("Warning");
        let series = event.series.as_ref();
        Self {
            when: Moment::new(crate::recent_events::last_seen(event), now),
            pill: if is_warning {
                Pill::new(Tone::Warning, "Warning")
            } else {
                Pill::new(Tone::Idle, text(&event.type_))
            },
            reason: text(&event.reason),
            about: format!("{} {name}", text(&object.kind)),
            message: shortened(&text(&event.message)),
            times: series
                .and_then(|series| series.count)
                .or(event.count)
                .unwrap_or(1),
        }
    }

    fn holds(&self, text: &str) -> bool {
        let fields = [&self.reason, &self.about, &self.message];
        fields.iter().any(|field| field.to_lowercase().contains(text))
    }
}

#[derive(Template)]
#[template(path = "events.html")]
struct EventsPage {
    page: Page,
    events: Vec<EventRow>,
    paging: Paging,
    text: String,
    only_warnings: bool,
    empty: Empty,
}

/// Shows the newest events.
pub(crate) async fn list(State(console): State<Arc<Console>>, visit: Visit) -> Result<Response, Fault> {
    console.wait_filled().await;
    let now = console.now();
    let text = visit.parameters.search();
    let wanted = text.to_lowercase();
    let only_warnings = visit.parameters.get("warnings").is_some();
    let mut rows: Vec<EventRow> = Vec::new();
    for event in console.events.newest() {
        if only_warnings && event.type_.as_deref() != Some("Warning") {
            continue;
        }
        let row = EventRow::of(&event, now);
        if row.holds(&wanted) {
            rows.push(row);
        }
    }
    let (events, paging) = Paging::take(rows, &visit.parameters);
    let empty = if wanted.is_empty() && !only_warnings {
        Empty::new(
            "Nothing has happened yet",
            "Events appear here as soon as something does; Kubernetes forgets them after an hour.",
        )
    } else {
        Empty::new(
            "No such event",
            "Nothing of what happened lately holds this text.",
        )
    };
    shown(&EventsPage {
        page: visit.page("Events", Section::Events).following(["events"]),
        events,
        paging,
        text,
        only_warnings,
        empty,
    })
}

/// The newest events about one object, as many as its page shows.
pub(crate) fn about(console: &Console, kind: &str, namespace: &str, name: &str) -> Vec<EventRow> {
    let now = console.now();
    let newest = console.events.newest().into_iter();
    let own = newest.filter(|event| {
        let object = &event.involved_object;
        object.kind.as_deref() == Some(kind)
            && object.name.as_deref() == Some(name)
            && object.namespace.as_deref().unwrap_or_default() == namespace
    });
    own.take(MOST_ABOUT_ONE)
        .map(|event| EventRow::of(&event, now))
        .collect()
}
