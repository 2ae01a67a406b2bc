//! The pages of Subscriptions.

use std::sync::Arc;

use apply::object::{annotation, text};
use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use classic::{Kind, keys};
use install_plan::approval;
use install_plan::standing::{Standing, current_version, in_pieces, standing};
use serde_json::Value;

use super::listing::{Headline, Listed, Listing, Words};
use super::plans::PlanRow;
use super::states::{of_source, of_standing};
use super::{absence, events_of, href, link, list as list_at, moment, named, page_of, page_of_all, place};
use crate::conditions::{ConditionRow, rows_of, shortened};
use crate::console::Console;
use crate::events::{EventRow, about};
use crate::fault::Fault;
use crate::marks::{Link, Moment, Pill, Tone};
use crate::page::{Page, Visit, shown};
use crate::paging::Paging;

/// A row of the table of Subscriptions.
pub(crate) struct SubscriptionRow {
    pub(crate) headline: Headline,
    pub(crate) state: String,
    pub(crate) package: String,
    pub(crate) channel: String,
    pub(crate) catalog: String,
    pub(crate) installed: Option<Link>,
    /// Where it goes to, if that is another version.
    pub(crate) next: Option<Link>,
}

impl SubscriptionRow {
    pub(crate) fn of(console: &Console, subscription: &Value) -> Self {
        let (namespace, _) = place(subscription);
        let said = |pointer: &str| text(subscription, pointer).to_owned();
        let standing = standing_of(console, subscription);
        let (installed, current) = (
            text(subscription, "/status/installedCSV"),
            text(subscription, "/status/currentCSV"),
        );
        let version = |name: &str| link(console, Kind::ClusterServiceVersion, namespace, name);
        Self {
            headline: Headline::of(Self::KIND, subscription, of_standing(&standing), why(&standing)),
            state: said("/status/state"),
            package: said("/spec/name"),
            channel: said("/spec/channel"),
            catalog: format!("{}/{}", said("/spec/sourceNamespace"), said("/spec/source")),
            installed: Some(installed).filter(|name| !name.is_empty()).map(version),
            next: Some(current)
                .filter(|name| !name.is_empty() && *name != installed)
                .map(version),
        }
    }
}

impl Listed for SubscriptionRow {
    const KIND: Kind = Kind::Subscription;
    const WORDS: Words = Words {
        none: [
            "No Subscription yet",
            "A Subscription asks for an operator of a catalog, and keeps it up to date in its namespace.",
        ],
        not_found: [
            "No such Subscription",
            "No Subscription has this in its namespace, name, package, channel, catalog or versions.",
        ],
    };

    fn texts(&self) -> Vec<&str> {
        let own = [
            &self.headline.namespace,
            &self.headline.name,
            &self.package,
            &self.channel,
            &self.catalog,
        ];
        let versions = [&self.installed, &self.next].into_iter().flatten();
        let own = own.into_iter().map(String::as_str);
        own.chain(versions.map(Link::text)).collect()
    }
}

/// What a Subscription waits for, in a line beside the word for how it is.
pub(super) fn why(standing: &Standing) -> String {
    match standing {
        Standing::Done(_) => String::new(),
        Standing::NeedsApproval { plan, .. } => format!("InstallPlan {plan}"),
        Standing::Underway(why) | Standing::Stopped(why) => shortened(&in_pieces(why)),
    }
}

/// How far a Subscription is, by the plan and the version that it is about.
pub(super) fn standing_of(console: &Console, subscription: &Value) -> Standing {
    let (namespace, _) = place(subscription);
    let plan = text(subscription, "/status/installPlanRef/name");
    let plan = console.classic.get(Kind::InstallPlan, namespace, plan);
    let version = current_version(subscription);
    let version = console
        .classic
        .get(Kind::ClusterServiceVersion, namespace, version);
    standing(subscription, plan.as_deref(), version.as_deref())
}

#[derive(Template)]
#[template(path = "subscriptions.html")]
struct Subscriptions {
    page: Page,
    listing: Listing<SubscriptionRow>,
}

/// Shows the Subscriptions of all namespaces.
pub(crate) async fn list(State(console): State<Arc<Console>>, visit: Visit) -> Result<Response, Fault> {
    if let Some(page) = absence(&console, &visit).await {
        return Ok(page);
    }
    let all = console.classic.all(Kind::Subscription);
    let rows = all.iter().map(|one| SubscriptionRow::of(&console, one));
    shown(&Subscriptions {
        page: page_of_all(&visit, "Subscriptions"),
        listing: Listing::new(&console, &visit, rows),
    })
}

/// A catalog that a Subscription was looked for in.
struct HealthRow {
    catalog: String,
    pill: Pill,
    updated: Option<Moment>,
}

/// What a Subscription waits for.
struct Waiting {
    tone: &'static str,
    title: &'static str,
    text: String,
    /// The plan that somebody may approve.
    plan: Option<Link>,
}

#[derive(Template)]
#[template(path = "subscription.html")]
struct SubscriptionPage {
    page: Page,
    row: SubscriptionRow,
    waiting: Option<Waiting>,
    approval: &'static str,
    starting: String,
    /// The plan that made it for a dependency.
    made_by: Option<Link>,
    source: Pill,
    groups: Vec<String>,
    conditions: Vec<ConditionRow>,
    health: Vec<HealthRow>,
    plans: Vec<PlanRow>,
    paging: Paging,
    events: Vec<EventRow>,
    dependencies: String,
}

/// Shows one Subscription.
pub(crate) async fn one(
    State(console): State<Arc<Console>>,
    Path((namespace, name)): Path<(String, String)>,
    visit: Visit,
) -> Result<Response, Fault> {
    if let Some(page) = absence(&console, &visit).await {
        return Ok(page);
    }
    let subscription = named(&console, Kind::Subscription, &namespace, &name)?;
    let source_namespace = text(&subscription, "/spec/sourceNamespace");
    let source = console.classic.get(
        Kind::CatalogSource,
        source_namespace,
        text(&subscription, "/spec/source"),
    );
    let (plans, paging) = Paging::take(plans_of(&console, &subscription), &visit.parameters);
    let groups = console.classic.in_namespace(Kind::OperatorGroup, &namespace);
    shown(&SubscriptionPage {
        page: page_of(
            &visit,
            &name,
            &[&namespace, source_namespace],
            vec![events_of(Kind::Subscription, &namespace, &name)],
        ),
        waiting: waiting(&namespace, &standing_of(&console, &subscription)),
        approval: match text(&subscription, "/spec/installPlanApproval") {
            "Manual" => "Manual",
            _ => "Automatic",
        },
        starting: text(&subscription, "/spec/startingCSV").to_owned(),
        made_by: annotation(&subscription, keys::GENERATED_BY)
            .map(|plan| link(&console, Kind::InstallPlan, &namespace, plan)),
        source: source.map_or_else(
            || Pill::new(Tone::Bad, "Isn't there"),
            |source| of_source(&source),
        ),
        groups: groups.iter().map(|group| group_in_words(group)).collect(),
        conditions: rows_of(&subscription, console.now()),
        health: health(&console, &subscription),
        plans,
        paging,
        events: about(&console, "Subscription", &namespace, &name),
        dependencies: super::dependencies::address(&namespace),
        row: SubscriptionRow::of(&console, &subscription),
    })
}

fn group_in_words(group: &Value) -> String {
    format!(
        "{}: {}",
        text(group, "/metadata/name"),
        service_version::membership::targets_in_words(group)
    )
}

/// What a Subscription waits for, or what stopped it; none where its version runs.
fn waiting(namespace: &str, standing: &Standing) -> Option<Waiting> {
    let (tone, title, text, plan) = match standing {
        Standing::Done(_) => return None,
        Standing::NeedsApproval { plan, versions } => (
            "warning",
            "A plan waits for approval",
            format!("InstallPlan {plan} would install {}.", versions.join(", ")),
            Some(Link::to(href(Kind::InstallPlan, namespace, plan), plan)),
        ),
        Standing::Underway(why) => ("busy", "It is under way", shortened(why), None),
        Standing::Stopped(why) => ("bad", "It can't go on by itself", shortened(why), None),
    };
    Some(Waiting {
        tone,
        title,
        text,
        plan,
    })
}

/// The plans that install a version for a Subscription, the newest first.
fn plans_of(console: &Console, subscription: &Value) -> Vec<PlanRow> {
    let (namespace, _) = place(subscription);
    let package = text(subscription, "/spec/name");
    let referred = text(subscription, "/status/installPlanRef/name");
    let is_about = |plan: &Value| {
        text(plan, "/metadata/name") == referred
            || approval::entries(plan, &())
                .values()
                .any(|entry| entry.is_of_package(package))
    };
    let mut plans = console.classic.in_namespace(Kind::InstallPlan, namespace);
    plans.retain(|plan| is_about(plan));
    super::plans::newest_first(&mut plans);
    plans.iter().map(|plan| PlanRow::of(console, plan)).collect()
}

fn health(console: &Console, subscription: &Value) -> Vec<HealthRow> {
    let rows = list_at(subscription, "/status/catalogHealth");
    let row = |health: &Value| HealthRow {
        catalog: format!(
            "{}/{}",
            text(health, "/catalogSourceRef/namespace"),
            text(health, "/catalogSourceRef/name")
        ),
        pill: match health.get("healthy").and_then(Value::as_bool) {
            Some(true) => Pill::new(Tone::Good, "Healthy"),
            _ => Pill::new(Tone::Bad, "Unhealthy"),
        },
        updated: moment(console, health, "/lastUpdated"),
    };
    rows.iter().take(crate::paging::ROWS).map(row).collect()
}
