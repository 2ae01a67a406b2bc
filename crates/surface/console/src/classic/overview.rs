//! The first page of OLM v0: what is there, which plans wait, the catalogs, and the OperatorGroups.

use std::sync::Arc;

use apply::object::text;
use askama::Template;
use axum::extract::State;
use axum::response::Response;
use classic::Kind;
use install_plan::approval::waits;
use install_plan::plan::versions;
use install_plan::standing::Standing;
use serde_json::Value;
use service_version::membership::targets_in_words;

use super::plans::{PlanRow, newest_first};
use super::states::{of_source, of_standing};
use super::subscriptions::{standing_of, why};
use super::{absence, href, list, moment, page_of_all, place};
use crate::conditions::shortened;
use crate::console::Console;
use crate::fault::Fault;
use crate::marks::{Empty, Moment, Pill, Tone};
use crate::overview::Need;
use crate::page::{Page, Visit, shown};
use crate::paging::ROWS;

/// The address of the page, whose tables have names.
const ADDRESS: &str = "/classic";

/// What there is of OLM v0, in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Numbers {
    pub(crate) subscriptions: usize,
    pub(crate) installed: usize,
    pub(crate) plans: usize,
    pub(crate) waiting: usize,
    pub(crate) versions: usize,
    pub(crate) succeeded: usize,
    pub(crate) sources: usize,
    pub(crate) ready: usize,
}

impl Numbers {
    pub(crate) fn of(console: &Console) -> Self {
        let all = |kind: Kind| console.classic.all(kind);
        let count = |objects: &[Arc<Value>], is_counted: &dyn Fn(&Value) -> bool| {
            objects.iter().filter(|object| is_counted(object)).count()
        };
        let (subscriptions, plans) = (all(Kind::Subscription), all(Kind::InstallPlan));
        let (versions, sources) = (all(Kind::ClusterServiceVersion), all(Kind::CatalogSource));
        Self {
            installed: count(&subscriptions, &|one| {
                matches!(standing_of(console, one), Standing::Done(_))
            }),
            subscriptions: subscriptions.len(),
            waiting: count(&plans, &waits),
            plans: plans.len(),
            succeeded: count(&versions, &|one| text(one, "/status/phase") == "Succeeded"),
            versions: versions.len(),
            ready: count(&sources, &|one| of_source(one).tone == Tone::Good),
            sources: sources.len(),
        }
    }
}

/// What of OLM v0 needs somebody: plans that wait, Subscriptions that stopped, catalogs that can't be reached.
pub(crate) fn needs(console: &Console) -> Vec<Need> {
    let mut needs = Vec::new();
    let waiting = console.classic.all(Kind::InstallPlan);
    for plan in waiting.iter().filter(|plan| waits(plan)) {
        let (namespace, name) = place(plan);
        needs.push(Need {
            href: href(Kind::InstallPlan, namespace, name),
            name: format!("{namespace}/{name}"),
            kind: "InstallPlan".to_owned(),
            pill: Pill::new(Tone::Warning, "Waits for approval"),
            why: format!("installs {}", versions(plan).join(", ")),
        });
    }
    for subscription in console.classic.all(Kind::Subscription) {
        let (namespace, name) = place(&subscription);
        let standing = standing_of(console, &subscription);
        if matches!(standing, Standing::Stopped(_)) {
            needs.push(Need {
                href: href(Kind::Subscription, namespace, name),
                name: format!("{namespace}/{name}"),
                kind: "Subscription".to_owned(),
                pill: of_standing(&standing),
                why: why(&standing),
            });
        }
    }
    for source in console.classic.all(Kind::CatalogSource) {
        let (namespace, name) = place(&source);
        let pill = of_source(&source);
        if pill.tone == Tone::Bad {
            needs.push(Need {
                href: format!("{ADDRESS}#catalogs"),
                name: format!("{namespace}/{name}"),
                kind: "CatalogSource".to_owned(),
                pill,
                why: source_trouble(&source),
            });
        }
    }
    needs
}

/// What is wrong with a catalog: what it says itself, or where it can't be reached.
fn source_trouble(source: &Value) -> String {
    match text(source, "/status/message") {
        "" => format!(
            "no connection to {}",
            text(source, "/status/connectionState/address")
        ),
        message => shortened(message),
    }
}

/// A row of the table of catalogs.
struct SourceRow {
    namespace: String,
    name: String,
    display_name: String,
    pill: Pill,
    message: String,
    content: String,
    priority: i64,
    connected: Option<Moment>,
}

/// A row of the table of OperatorGroups.
struct GroupRow {
    namespace: String,
    name: String,
    targets: String,
    account: String,
    /// What is wrong with it.
    trouble: Vec<String>,
}

#[derive(Template)]
#[template(path = "classic.html")]
struct Overview {
    page: Page,
    tab: &'static str,
    gaps: Vec<String>,
    numbers: Numbers,
    waiting: Vec<PlanRow>,
    more_waiting: usize,
    sources: Vec<SourceRow>,
    more_sources: usize,
    groups: Vec<GroupRow>,
    more_groups: usize,
    no_source: Empty,
    no_group: Empty,
}

/// Shows the first page of OLM v0.
pub(crate) async fn page(State(console): State<Arc<Console>>, visit: Visit) -> Result<Response, Fault> {
    if let Some(page) = absence(&console, &visit).await {
        return Ok(page);
    }
    let mut plans = console.classic.all(Kind::InstallPlan);
    plans.retain(|plan| waits(plan));
    newest_first(&mut plans);
    let sources = console.classic.all(Kind::CatalogSource);
    let groups = console.classic.all(Kind::OperatorGroup);
    shown(&Overview {
        page: page_of_all(&visit, "OLM v0"),
        tab: "overview",
        gaps: console.classic.gaps(),
        numbers: Numbers::of(&console),
        waiting: plans
            .iter()
            .take(ROWS)
            .map(|plan| PlanRow::of(&console, plan))
            .collect(),
        more_waiting: plans.len().saturating_sub(ROWS),
        more_sources: sources.len().saturating_sub(ROWS),
        sources: sources
            .iter()
            .take(ROWS)
            .map(|source| source_row(&console, source))
            .collect(),
        more_groups: groups.len().saturating_sub(ROWS),
        groups: groups.iter().take(ROWS).map(|group| group_row(group)).collect(),
        no_source: Empty::new(
            "No CatalogSource yet",
            "A CatalogSource says where the operators of a catalog are. Subscriptions name one.",
        )
        .command("kubectl apply -f catalogsource.yaml"),
        no_group: Empty::new(
            "No OperatorGroup yet",
            "An OperatorGroup says which namespaces the operators of its own namespace look after. Nothing is installed without.",
        )
        .command("baton classic subscribe PACKAGE"),
    })
}

fn source_row(console: &Console, source: &Value) -> SourceRow {
    let (namespace, name) = place(source);
    let said = |pointer: &str| text(source, pointer);
    let content = match (
        said("/spec/image"),
        said("/spec/address"),
        said("/spec/configMap"),
    ) {
        ("", "", "") => String::new(),
        ("", "", map) => format!("ConfigMap {map}"),
        ("", address, _) => address.to_owned(),
        (image, _, _) => image.to_owned(),
    };
    SourceRow {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        display_name: said("/spec/displayName").to_owned(),
        pill: of_source(source),
        message: shortened(said("/status/message")),
        content,
        priority: source
            .pointer("/spec/priority")
            .and_then(Value::as_i64)
            .unwrap_or_default(),
        connected: moment(console, source, "/status/connectionState/lastConnect"),
    }
}

fn group_row(group: &Value) -> GroupRow {
    let (namespace, name) = place(group);
    let conditions = list(group, "/status/conditions").iter();
    let trouble = conditions.filter(|condition| text(condition, "/status") == "True");
    GroupRow {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        targets: targets_in_words(group),
        account: text(group, "/spec/serviceAccountName").to_owned(),
        trouble: trouble
            .map(|condition| shortened(text(condition, "/message")))
            .collect(),
    }
}
