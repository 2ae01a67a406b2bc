//! What would happen to an extension: the versions that may come, and what one of them would change.

use std::sync::Arc;

use api::{ClusterExtension, ClusterObjectSet};
use apply::diff::{Change, What};
use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use extension_controller::planning::{Planned, Tally};
use extension_controller::wishes;
use resolve::explanation::{BundleExplanation, CatalogExplanation, Verdict};
use serde_json::Value;

use crate::conditions::shortened;
use crate::console::Console;
use crate::extensions::{ExtensionRow, can_go_back, is_paused, named};
use crate::fault::Fault;
use crate::marks::{Empty, Pill, Tone};
use crate::page::{Page, Section, Visit, shown};
use crate::paging::ROWS;

/// How many objects of a plan are shown; the command line shows all.
const MOST_CHANGES: usize = 200;

/// How many fields of one object are shown.
const MOST_FIELDS: usize = 60;

/// How much of a value is shown.
const LONGEST_VALUE: usize = 600;

/// The longest version that is understood.
const LONGEST_VERSION: usize = 256;

/// What would become of an object.
struct ChangeView {
    class: &'static str,
    pill: Pill,
    object: String,
    refused: String,
    fields: Vec<FieldView>,
    more_fields: usize,
}

/// What would become of a field.
struct FieldView {
    path: String,
    before: Option<String>,
    after: Option<String>,
}

impl ChangeView {
    fn of(change: &Change) -> Self {
        let (class, tone, word) = match &change.what {
            What::Create => ("made", Tone::Good, "Made"),
            What::Update => ("changed", Tone::Warning, "Changed"),
            What::Delete => ("deleted", Tone::Bad, "Deleted"),
            What::Same => ("same", Tone::Idle, "As it is"),
            What::Refused(_) => ("refused", Tone::Bad, "Refused"),
        };
        let fields = change.fields.iter().take(MOST_FIELDS).map(|field| FieldView {
            path: field.path.clone(),
            before: field.before.as_ref().map(value_text),
            after: field.after.as_ref().map(value_text),
        });
        Self {
            class,
            pill: Pill::new(tone, word),
            object: extension_controller::tree::Called(&change.id).to_string(),
            refused: match &change.what {
                What::Refused(cause) => shortened(cause),
                _ => String::new(),
            },
            fields: fields.collect(),
            more_fields: change.fields.len().saturating_sub(MOST_FIELDS),
        }
    }
}

/// What would become of objects, field by field.
#[derive(Default, Template)]
#[template(path = "change_list.html")]
pub(crate) struct ChangeList {
    changes: Vec<ChangeView>,
    left_out: usize,
}

impl ChangeList {
    /// Takes every change but those that change nothing.
    pub(crate) fn of(changes: &[Change]) -> Self {
        let real = || changes.iter().filter(|change| change.what != What::Same);
        let shown: Vec<ChangeView> = real().take(MOST_CHANGES).map(ChangeView::of).collect();
        Self {
            left_out: real().count() - shown.len(),
            changes: shown,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }
}

/// A value as people write it: texts without quotes, everything else as JSON.
fn value_text(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match text.char_indices().nth(LONGEST_VALUE) {
        None => text,
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}

/// What would become of a revision.
struct RevisionPlan {
    name: String,
    verb: &'static str,
    tally: Tally,
    changes: ChangeList,
}

/// The form that makes a plan true.
struct Decision {
    action: String,
    field: &'static str,
    version: String,
    text: String,
    is_danger: bool,
}

#[derive(Template)]
#[template(path = "plan.html")]
struct PlanPage {
    page: Page,
    row: ExtensionRow,
    tab: &'static str,
    base: String,
    is_paused: bool,
    can_go_back: bool,
    title: String,
    lead: String,
    progress: String,
    waits_for: Option<String>,
    revisions: Vec<RevisionPlan>,
    decision: Option<Decision>,
    /// Versions that can be gone back to.
    choices: Vec<(String, bool)>,
    empty: Empty,
}

struct VersionView {
    version: String,
    bundle: String,
    channels: String,
    pill: Pill,
    text: String,
    change: String,
    is_deprecated: bool,
}

struct CatalogView {
    name: String,
    priority: i32,
    absence: Option<String>,
    versions: Vec<VersionView>,
    left_out: usize,
}

#[derive(Template)]
#[template(path = "versions.html")]
struct VersionsPage {
    page: Page,
    row: ExtensionRow,
    tab: &'static str,
    base: String,
    is_paused: bool,
    can_go_back: bool,
    next: String,
    catalogs: Vec<CatalogView>,
    empty: Empty,
}

/// What the pages about one extension begin with.
struct Subject {
    extension: Arc<ClusterExtension>,
    sets: Vec<Arc<ClusterObjectSet>>,
}

impl Subject {
    async fn read(console: &Console, name: &str) -> Result<Self, Fault> {
        console.wait_filled().await;
        Ok(Self {
            extension: named(console, name)?,
            sets: console.insight.index().revisions_of(name),
        })
    }

    fn revisions(&self) -> Vec<&ClusterObjectSet> {
        self.sets.iter().map(AsRef::as_ref).collect()
    }

    fn can_go_back(&self) -> bool {
        can_go_back(&self.extension, &self.revisions())
    }
}

/// Shows what became of every version, and why.
pub(crate) async fn versions(
    State(console): State<Arc<Console>>,
    Path(name): Path<String>,
    visit: Visit,
) -> Result<Response, Fault> {
    let subject = Subject::read(&console, &name).await?;
    let explained = console
        .insight
        .explain(&subject.extension)
        .await
        .map_err(|cause| {
            Fault::conflict(format!(
                "cannot explain the versions of extension {name:?}: {cause}"
            ))
        })?;
    let row = ExtensionRow::of(&subject.extension);
    shown(&VersionsPage {
        page: visit
            .page(format!("Versions of {name}"), Section::Extensions)
            .following([format!("extensions/{name}").as_str(), "catalogs"]),
        tab: "versions",
        base: row.href.clone(),
        is_paused: is_paused(&subject.extension),
        can_go_back: subject.can_go_back(),
        next: shortened(&explained.next),
        catalogs: explained
            .versions
            .catalogs
            .iter()
            .map(|catalog| catalog_view(catalog, explained.installed.as_deref()))
            .collect(),
        empty: Empty::new(
            "No catalog is selected",
            "The extension looks into no catalog: there is none, or its selector picks none.",
        )
        .command("baton catalog add NAME IMAGE"),
        row,
    })
}

fn catalog_view(catalog: &CatalogExplanation, installed: Option<&str>) -> CatalogView {
    let bundles = catalog.bundles.iter().take(ROWS);
    let versions: Vec<VersionView> = bundles.map(|bundle| version_view(bundle, installed)).collect();
    CatalogView {
        name: catalog.catalog.clone(),
        priority: catalog.priority,
        absence: catalog.absence.clone(),
        left_out: catalog.bundles.len() - versions.len(),
        versions,
    }
}

fn version_view(bundle: &BundleExplanation, installed: Option<&str>) -> VersionView {
    let (pill, text, change) = match &bundle.verdict {
        // It is there, whatever else could be.
        _ if installed == Some(bundle.version.as_str()) => {
            (Pill::new(Tone::Good, "Installed"), String::new(), String::new())
        }
        Verdict::Kept => (Pill::new(Tone::Good, "Installed"), String::new(), String::new()),
        Verdict::Chosen { because } => (
            Pill::new(Tone::Busy, "Comes next"),
            because.clone(),
            String::new(),
        ),
        Verdict::Outranked { because } => (
            Pill::new(Tone::Idle, "Could follow"),
            if because.is_empty() {
                "a better one does".to_owned()
            } else {
                because.clone()
            },
            String::new(),
        ),
        Verdict::Excluded { rules, change } => {
            (Pill::new(Tone::Idle, "Not now"), rules.join("; "), change.clone())
        }
    };
    VersionView {
        version: bundle.version.clone(),
        bundle: bundle.bundle.clone(),
        channels: bundle.channels.join(", "),
        pill,
        text: shortened(&text),
        change: shortened(&change),
        is_deprecated: bundle.deprecated,
    }
}

/// Shows what would happen now, or if a version were approved.
pub(crate) async fn plan(
    State(console): State<Arc<Console>>,
    Path(name): Path<String>,
    visit: Visit,
) -> Result<Response, Fault> {
    let subject = Subject::read(&console, &name).await?;
    let asked = asked_version(&visit, "version")?;
    let waiting = wishes::waiting(&subject.extension).map(str::to_owned);
    let version = asked.or_else(|| waiting.clone());
    let (title, lead, wanted) = match &version {
        None => (
            "Plan".to_owned(),
            "What the controller would do now, object by object. Looking changes nothing.".to_owned(),
            (*subject.extension).clone(),
        ),
        Some(version) => (
            format!("Plan for {version}"),
            "What approving this version would do, object by object. Looking changes nothing.".to_owned(),
            // The same change that the button makes, on a copy.
            changed(&subject.extension, &wishes::approve(version))?,
        ),
    };
    let planned = planned(&console, &wanted).await?;
    // What would still wait isn't waiting for an approval.
    let version = version.filter(|_| planned.waits_for.is_none());
    let decision = version.map(|version| Decision {
        action: format!("{}/approve", ExtensionRow::of(&subject.extension).href),
        field: "version",
        text: format!("Approve {version}"),
        version,
        is_danger: false,
    });
    show_plan(
        &visit,
        &subject,
        "plan",
        (title, lead),
        planned,
        decision,
        Vec::new(),
    )
}

/// Shows what going back would do.
pub(crate) async fn rollback(
    State(console): State<Arc<Console>>,
    Path(name): Path<String>,
    visit: Visit,
) -> Result<Response, Fault> {
    let subject = Subject::read(&console, &name).await?;
    let asked = asked_version(&visit, "to")?;
    let revisions = subject.revisions();
    let version =
        wishes::rollback_target(&subject.extension, &revisions, asked.as_deref()).map_err(Fault::conflict)?;
    let wanted = changed(&subject.extension, &wishes::pin(&version))?;
    let planned = planned(&console, &wanted).await?;
    let choices = wishes::earlier_versions(&subject.extension, &revisions).into_iter();
    let choices = choices.map(|earlier| {
        let is_chosen = earlier == version;
        (earlier, is_chosen)
    });
    let lead = format!(
        "What going back would do, object by object. {name} is pinned to {version} then, until somebody lets it go on with: \
         baton upgrade {name} --version '' --no-force"
    );
    let decision = Decision {
        action: format!("{}/go-back", ExtensionRow::of(&subject.extension).href),
        field: "to",
        text: format!("Go back to {version}"),
        version: version.clone(),
        is_danger: true,
    };
    let title = format!("Go back to {version}");
    show_plan(
        &visit,
        &subject,
        "rollback",
        (title, lead),
        planned,
        Some(decision),
        choices.collect(),
    )
}

fn show_plan(
    visit: &Visit,
    subject: &Subject,
    tab: &'static str,
    (title, lead): (String, String),
    planned: Planned,
    decision: Option<Decision>,
    choices: Vec<(String, bool)>,
) -> Result<Response, Fault> {
    let row = ExtensionRow::of(&subject.extension);
    let revisions = planned.revisions.iter().map(|revision| RevisionPlan {
        name: revision.name.clone(),
        verb: revision.action.verb(),
        tally: Tally::of(&revision.objects),
        changes: ChangeList::of(&revision.objects),
    });
    shown(&PlanPage {
        page: visit.page(format!("{title}: {}", row.name), Section::Extensions),
        tab,
        base: row.href.clone(),
        is_paused: is_paused(&subject.extension),
        can_go_back: subject.can_go_back(),
        title,
        lead,
        revisions: revisions.collect(),
        progress: shortened(&planned.progress),
        waits_for: planned.waits_for,
        decision,
        choices,
        empty: Empty::new("Nothing to do", "The cluster holds what the extension asks for."),
        row,
    })
}

async fn planned(console: &Console, extension: &ClusterExtension) -> Result<Planned, Fault> {
    let planning = console.insight.plan(&console.engine, extension).await;
    planning.map_err(|error| Fault::unanswered(&format!("plan extension {:?}", extension.name()), error))
}

fn changed(extension: &ClusterExtension, change: &Value) -> Result<ClusterExtension, Fault> {
    let name = extension.name();
    wishes::changed(extension, change)
        .map_err(|error| Fault::conflict(format!("cannot plan extension {name:?}: {error}")))
}

/// A version that was asked for; too long a one is none.
pub(crate) fn asked_version(visit: &Visit, field: &str) -> Result<Option<String>, Fault> {
    match visit.parameters.filled(field) {
        Some(version) if version.len() > LONGEST_VERSION => Err(Fault::bad_request(format!(
            "a version has at most {LONGEST_VERSION} characters"
        ))),
        version => Ok(version.map(str::to_owned)),
    }
}
