//! The pages of extensions.

use std::sync::Arc;

use api::cluster_object_set::LifecycleState;
use api::condition::{Condition, ConditionStatus, find};
use api::{ClusterExtension, ClusterObjectSet, keys};
use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use extension_controller::tree::{ObjectState, PhaseTree, RevisionTree, State as ObjectIs};
use extension_controller::wishes;

use crate::conditions::{ConditionRow, of_extension, rows, shortened};
use crate::console::Console;
use crate::events::{EventRow, about};
use crate::fault::Fault;
use crate::marks::{Empty, Moment, Pill, Tone};
use crate::page::{Page, Section, Visit, path, shown};
use crate::paging::Paging;

/// A row of the table of extensions.
pub(crate) struct ExtensionRow {
    pub(crate) href: String,
    pub(crate) name: String,
    pub(crate) package: String,
    pub(crate) namespace: String,
    pub(crate) version: String,
    pub(crate) channels: String,
    pub(crate) pill: Pill,
}

impl ExtensionRow {
    pub(crate) fn of(extension: &ClusterExtension) -> Self {
        let filter = extension.spec.source.catalog.as_ref();
        let installed = extension.status.install.as_ref();
        Self {
            href: path(["extensions", extension.name()]),
            name: extension.name().to_owned(),
            package: filter
                .map(|filter| filter.package_name.clone())
                .unwrap_or_default(),
            namespace: extension.spec.namespace.clone(),
            version: installed
                .map(|install| install.bundle.version.clone())
                .unwrap_or_default(),
            channels: filter
                .map(|filter| filter.channels.join(", "))
                .unwrap_or_default(),
            pill: of_extension(extension),
        }
    }
}

/// What conditions say of what is going on, in one line.
pub(crate) fn last_word(conditions: &[Condition]) -> String {
    let said = find(conditions, "Progressing").or_else(|| conditions.first());
    let message = said.map(|said| said.message.as_str()).unwrap_or_default();
    shortened(message.lines().next().unwrap_or_default())
}

#[derive(Template)]
#[template(path = "extensions.html")]
struct Extensions {
    page: Page,
    rows: Vec<ExtensionRow>,
    paging: Paging,
    empty: Empty,
}

/// What an extension waits for.
struct Waiting {
    tone: &'static str,
    title: String,
    text: String,
    /// The version that may be approved now.
    approve: Option<String>,
}

/// A revision as the page shows it.
struct RevisionView {
    name: String,
    version: String,
    pill: Pill,
    message: String,
    unreadable: Option<String>,
    phases: Vec<PhaseView>,
}

struct PhaseView {
    name: String,
    class: &'static str,
    ready: usize,
    total: usize,
    unread: usize,
    /// Whether somebody should look at its objects.
    is_open: bool,
    objects: Vec<ObjectView>,
}

struct ObjectView {
    object: String,
    pill: Pill,
    waits_for: Vec<String>,
}

/// A row of the history.
struct HistoryRow {
    number: i64,
    name: String,
    version: String,
    pill: Pill,
    created: Option<Moment>,
    note: String,
}

#[derive(Template)]
#[template(path = "extension.html")]
struct Extension {
    page: Page,
    row: ExtensionRow,
    tab: &'static str,
    base: String,
    package_href: Option<String>,
    wish: String,
    is_paused: bool,
    can_go_back: bool,
    waiting: Option<Waiting>,
    conditions: Vec<ConditionRow>,
    revisions: Vec<RevisionView>,
    history: Vec<HistoryRow>,
    paging: Paging,
    events: Vec<EventRow>,
    empty: Empty,
}

/// Shows all extensions.
pub(crate) async fn list(State(console): State<Arc<Console>>, visit: Visit) -> Result<Response, Fault> {
    console.wait_filled().await;
    let (extensions, paging) = Paging::take(console.insight.index().extensions(), &visit.parameters);
    shown(&Extensions {
        page: visit
            .page("Extensions", Section::Extensions)
            .following(["extensions"]),
        rows: extensions.iter().map(|one| ExtensionRow::of(one)).collect(),
        paging,
        empty: Empty::new(
            "No extension yet",
            "An extension is a package that is installed in the cluster and kept up to date.",
        )
        .command("baton install PACKAGE"),
    })
}

/// Finds an extension by its name.
pub(crate) fn named(console: &Console, name: &str) -> Result<Arc<ClusterExtension>, Fault> {
    let index = console.insight.index();
    index.extension(name).ok_or_else(|| {
        let extensions = index.extensions();
        let known: Vec<&str> = extensions.iter().map(|one| one.name()).take(10).collect();
        Fault::not_found(if known.is_empty() {
            format!("ClusterExtension {name:?} isn't there; none is installed: `baton install` makes one")
        } else {
            format!(
                "ClusterExtension {name:?} isn't there; there are {}",
                known.join(", ")
            )
        })
    })
}

/// Shows one extension.
pub(crate) async fn one(
    State(console): State<Arc<Console>>,
    Path(name): Path<String>,
    visit: Visit,
) -> Result<Response, Fault> {
    console.wait_filled().await;
    let extension = named(&console, &name)?;
    let tree = console
        .trees
        .read(&extension, false)
        .await
        .map_err(|error| Fault::unanswered(&format!("read the objects of extension {name:?}"), error))?;
    let sets = console.insight.index().revisions_of(&name);
    let revisions: Vec<&ClusterObjectSet> = sets.iter().map(AsRef::as_ref).collect();
    let history: Vec<HistoryRow> = revisions
        .iter()
        .rev()
        .map(|set| history_row(&console, set))
        .collect();
    let (history, paging) = Paging::take(history, &visit.parameters);
    let row = ExtensionRow::of(&extension);
    shown(&Extension {
        page: visit.page(name.clone(), Section::Extensions).following([
            format!("extensions/{name}").as_str(),
            &format!("events/ClusterExtension/-/{name}"),
        ]),
        tab: "overview",
        base: row.href.clone(),
        package_href: package_href(&console, &row.package).await,
        wish: wish(&extension),
        is_paused: is_paused(&extension),
        can_go_back: can_go_back(&extension, &revisions),
        waiting: waiting(&extension),
        conditions: rows(&extension.status.conditions, console.now()),
        revisions: tree.revisions.iter().rev().map(revision_view).collect(),
        history,
        paging,
        events: about(&console, "ClusterExtension", "", &name),
        empty: Empty::new(
            "Nothing is rolled out",
            "There is no revision yet; the conditions below say what is missing.",
        )
        .command(format!("baton explain {name}")),
        row,
    })
}

/// Whether the buttons for going back are of use.
pub(crate) fn can_go_back(extension: &ClusterExtension, revisions: &[&ClusterObjectSet]) -> bool {
    !wishes::earlier_versions(extension, revisions).is_empty()
}

pub(crate) fn is_paused(extension: &ClusterExtension) -> bool {
    let annotations = extension.metadata.annotations.as_ref();
    annotations.is_some_and(|all| all.get(keys::PAUSE).is_some_and(|value| value == "true"))
}

/// What the spec asks for, in words.
fn wish(extension: &ClusterExtension) -> String {
    let Some(filter) = &extension.spec.source.catalog else {
        return "no package".to_owned();
    };
    let versions = match filter.version.as_str() {
        "" => "any version".to_owned(),
        version => format!("version {version}"),
    };
    match filter.channels.len() {
        0 => format!("{versions} of any channel"),
        1 => format!("{versions} of channel {}", filter.channels.join("")),
        _ => format!("{versions} of the channels {}", filter.channels.join(", ")),
    }
}

/// The page of the package, if a catalog that is served has it.
async fn package_href(console: &Console, package: &str) -> Option<String> {
    for catalog in console.insight.index().catalogs() {
        let content = crate::catalogs::content(console, &catalog).await;
        if content.is_ok_and(|store| store.package(package).is_some()) {
            return Some(path(["packages", catalog.name(), package]));
        }
    }
    None
}

/// What an extension waits for, or what went wrong; none where all is well.
fn waiting(extension: &ClusterExtension) -> Option<Waiting> {
    let progressing = find(&extension.status.conditions, "Progressing");
    let message = progressing
        .map(|said| shortened(&said.message))
        .unwrap_or_default();
    if let Some(version) = wishes::waiting(extension) {
        return Some(Waiting {
            tone: "warning",
            title: format!("Version {version} waits"),
            text: message,
            approve: (!is_paused(extension)).then(|| version.to_owned()),
        });
    }
    let said = progressing?;
    match (said.status, said.reason.as_str()) {
        (ConditionStatus::False, _) => Some(Waiting {
            tone: "bad",
            title: "It can't go on by itself".to_owned(),
            text: message,
            approve: None,
        }),
        (_, "Succeeded") => None,
        (_, "RollingOut") => Some(Waiting {
            tone: "busy",
            title: "Rolling out".to_owned(),
            text: message,
            approve: None,
        }),
        (_, reason) => Some(Waiting {
            tone: "warning",
            title: reason.to_owned(),
            text: message,
            approve: None,
        }),
    }
}

fn revision_view(revision: &RevisionTree) -> RevisionView {
    let progress = revision.progress();
    let mut is_held_up = false;
    let phases = revision.phases.iter().map(|phase| {
        let view = phase_view(phase, is_held_up);
        is_held_up |= view.ready < view.total;
        view
    });
    let phases: Vec<PhaseView> = phases.collect();
    RevisionView {
        name: revision.name.clone(),
        version: revision.version.clone(),
        pill: match progress {
            None => Pill::new(Tone::Idle, "Not seen yet"),
            Some(said) if said.reason == "Succeeded" => Pill::new(Tone::Good, "Rolled out"),
            Some(said) if said.status == ConditionStatus::False => Pill::new(Tone::Bad, said.reason.clone()),
            Some(said) if said.reason == "RollingOut" => Pill::new(Tone::Busy, "Rolling out"),
            Some(said) => Pill::new(Tone::Warning, said.reason.clone()),
        },
        message: progress.map(|said| shortened(&said.message)).unwrap_or_default(),
        unreadable: revision.unreadable.clone(),
        phases,
    }
}

/// Phases go one after another: the first that isn't ready is what the others wait for.
fn phase_view(phase: &PhaseTree, is_held_up: bool) -> PhaseView {
    let (ready, total) = (phase.ready(), phase.objects.len());
    let is_ready = ready == total;
    PhaseView {
        name: phase.name.clone(),
        class: match (is_ready, is_held_up) {
            (true, _) => "done",
            (false, false) => "current",
            (false, true) => "later",
        },
        ready,
        total,
        unread: phase.unread,
        is_open: !is_ready && !is_held_up,
        objects: phase.objects.iter().map(object_view).collect(),
    }
}

fn object_view(object: &ObjectState) -> ObjectView {
    ObjectView {
        object: object.object.clone(),
        pill: match object.state {
            ObjectIs::Ready => Pill::new(Tone::Good, "Ready"),
            ObjectIs::Waiting => Pill::new(Tone::Busy, "Waits"),
            ObjectIs::Absent => Pill::new(Tone::Idle, "Not there"),
        },
        waits_for: object.waits_for.iter().map(|text| shortened(text)).collect(),
    }
}

fn history_row(console: &Console, set: &ClusterObjectSet) -> HistoryRow {
    let annotation = |key: &str| {
        let annotations = set.metadata.annotations.as_ref()?;
        annotations.get(key).cloned()
    };
    let is_archived = set.spec.lifecycle_state == LifecycleState::Archived;
    let succeeded = find(&set.status.conditions, "Succeeded");
    let was_rolled_out = succeeded.is_some_and(|said| said.status == ConditionStatus::True);
    let created = set.metadata.creation_timestamp.as_ref();
    HistoryRow {
        number: set.spec.revision,
        name: set.name().to_owned(),
        version: annotation(keys::BUNDLE_VERSION).unwrap_or_default(),
        pill: match (is_archived, was_rolled_out) {
            (false, true) => Pill::new(Tone::Good, "Active"),
            (false, false) => Pill::new(Tone::Busy, "Rolling out"),
            (true, true) => Pill::new(Tone::Idle, "Archived"),
            (true, false) => Pill::new(Tone::Warning, "Given up"),
        },
        created: created.map(|time| Moment::new(time.0, console.now())),
        note: annotation(keys::ROLLED_BACK_FROM)
            .map(|version| format!("rolled back from {version}"))
            .unwrap_or_default(),
    }
}
