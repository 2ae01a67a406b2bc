//! The pages of InstallPlans, and the button that approves one.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use apply::object::text;
use apply::refusal::is_conflict;
use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use classic::Kind;
use classic_controller::watching::resource;
use install_plan::approval::{self, Unapprovable, approved_alone, waits, with_needs};
use install_plan::plan::versions;
use install_plan::standing::{current_version, in_pieces, plan_message};
use install_plan::steps::StepStatus;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};

use super::listing::{Headline, Listed, Listing, Words};
use super::states::{of_plan, of_step};
use super::{
    absence, events_of, href, link, links, list as list_at, moment, named, page_of, page_of_all, place,
};
use crate::actions::{FIELD_MANAGER, led_to};
use crate::conditions::{ConditionRow, rows_of, shortened};
use crate::console::Console;
use crate::events::{EventRow, about};
use crate::fault::Fault;
use crate::marks::{Empty, Link, Moment, Pill, Tone};
use crate::page::{Page, Visit, shown};

/// How many steps of a plan are shown: more than the plans of most operators have.
const MOST_STEPS: usize = 300;

/// A row of the table of plans.
pub(crate) struct PlanRow {
    pub(crate) headline: Headline,
    pub(crate) installs: Vec<Link>,
    pub(crate) approval: String,
    pub(crate) done: usize,
    pub(crate) steps: usize,
    pub(crate) created: Option<Moment>,
}

impl PlanRow {
    pub(crate) fn of(console: &Console, plan: &Value) -> Self {
        let (namespace, _) = place(plan);
        let steps = list_at(plan, "/status/plan");
        let why = shortened(&in_pieces(&plan_message(plan)));
        Self {
            headline: Headline::of(Self::KIND, plan, of_plan(plan), why),
            installs: links(console, Kind::ClusterServiceVersion, namespace, versions(plan)),
            approval: text(plan, "/spec/approval").to_owned(),
            done: steps.iter().filter(|step| is_done(step)).count(),
            steps: steps.len(),
            created: moment(console, plan, "/metadata/creationTimestamp"),
        }
    }
}

impl Listed for PlanRow {
    const KIND: Kind = Kind::InstallPlan;
    const WORDS: Words = Words {
        none: [
            "No plan yet",
            "A plan says which versions are installed next, and what that takes. Subscriptions lead to plans.",
        ],
        not_found: [
            "No such plan",
            "No plan has this in its namespace, its name or what it installs.",
        ],
    };

    fn texts(&self) -> Vec<&str> {
        let own = [self.headline.namespace.as_str(), self.headline.name.as_str()];
        own.into_iter()
            .chain(self.installs.iter().map(Link::text))
            .collect()
    }
}

fn is_done(step: &Value) -> bool {
    StepStatus::named(text(step, "/status")).is_some_and(StepStatus::is_done)
}

/// Sorts plans: the newest come first, and of those that were made together the one that was planned last.
pub(super) fn newest_first(plans: &mut [Arc<Value>]) {
    plans.sort_by_cached_key(|plan| {
        let generation = plan.pointer("/spec/generation").and_then(Value::as_i64);
        let created = text(plan, "/metadata/creationTimestamp").to_owned();
        Reverse((created, generation, text(plan, "/metadata/name").to_owned()))
    });
}

#[derive(Template)]
#[template(path = "install_plans.html")]
struct PlanList {
    page: Page,
    listing: Listing<PlanRow>,
}

/// Shows the plans of all namespaces: those that wait for approval, and then the newest.
pub(crate) async fn list(State(console): State<Arc<Console>>, visit: Visit) -> Result<Response, Fault> {
    if let Some(page) = absence(&console, &visit).await {
        return Ok(page);
    }
    let mut plans = console.classic.all(Kind::InstallPlan);
    newest_first(&mut plans);
    plans.sort_by_key(|plan| !waits(plan));
    let rows = plans.iter().map(|plan| PlanRow::of(&console, plan));
    shown(&PlanList {
        page: page_of_all(&visit, "Install plans"),
        listing: Listing::new(&console, &visit, rows),
    })
}

/// The steps for one version.
struct StepGroup {
    version: Link,
    done: usize,
    total: usize,
    /// Whether somebody should look at its steps.
    is_open: bool,
    /// Whether it was approved alone.
    is_approved: bool,
    /// What would be approved with it, if it were approved alone; none where it can't be.
    alone: Option<Vec<String>>,
    steps: Vec<StepView>,
}

struct StepView {
    pill: Pill,
    object: String,
    source: String,
}

/// A bundle that is fetched.
struct BundleView {
    path: String,
    reason: String,
    message: String,
}

#[derive(Template)]
#[template(path = "install_plan.html")]
struct PlanPage {
    page: Page,
    row: PlanRow,
    /// What was seen of the plan, by its version: only this is approved.
    seen: String,
    is_waiting: bool,
    message: String,
    generation: i64,
    started: Option<Moment>,
    account: String,
    subscriptions: Vec<Link>,
    groups: Vec<StepGroup>,
    left_out: usize,
    bundles: Vec<BundleView>,
    conditions: Vec<ConditionRow>,
    events: Vec<EventRow>,
    empty: Empty,
}

/// Shows one plan.
pub(crate) async fn one(
    State(console): State<Arc<Console>>,
    Path((namespace, name)): Path<(String, String)>,
    visit: Visit,
) -> Result<Response, Fault> {
    if let Some(page) = absence(&console, &visit).await {
        return Ok(page);
    }
    let plan = named(&console, Kind::InstallPlan, &namespace, &name)?;
    let (groups, left_out) = step_groups(&console, &plan);
    let generation = plan.pointer("/spec/generation").and_then(Value::as_i64);
    shown(&PlanPage {
        page: page_of(
            &visit,
            &name,
            &[&namespace],
            vec![events_of(Kind::InstallPlan, &namespace, &name)],
        ),
        row: PlanRow::of(&console, &plan),
        seen: text(&plan, "/metadata/resourceVersion").to_owned(),
        is_waiting: waits(&plan),
        message: shortened(&plan_message(&plan)),
        generation: generation.unwrap_or_default(),
        started: moment(&console, &plan, "/status/startTime"),
        account: text(&plan, "/status/attenuatedServiceAccountRef/name").to_owned(),
        subscriptions: subscriptions_of(&console, &plan),
        groups,
        left_out,
        bundles: bundles(&plan),
        conditions: rows_of(&plan, console.now()),
        events: about(&console, "InstallPlan", &namespace, &name),
        empty: Empty::new(
            "No step yet",
            "Nobody has found out yet what this plan takes; bundles may still be fetched.",
        ),
    })
}

/// The Subscriptions that a plan installs something for.
fn subscriptions_of(console: &Console, plan: &Value) -> Vec<Link> {
    let (namespace, name) = place(plan);
    let installs = versions(plan);
    let is_about = |subscription: &Value| {
        installs.contains(&current_version(subscription))
            || text(subscription, "/status/installPlanRef/name") == name
    };
    let all = console.classic.in_namespace(Kind::Subscription, namespace);
    let about = all.iter().filter(|one| is_about(one));
    about
        .map(|one| {
            link(
                console,
                Kind::Subscription,
                namespace,
                text(one, "/metadata/name"),
            )
        })
        .collect()
}

/// The steps of a plan by the version that each is for, in the order of the plan, and how many aren't shown.
fn step_groups(console: &Console, plan: &Value) -> (Vec<StepGroup>, usize) {
    let (namespace, _) = place(plan);
    let installs = versions(plan);
    let steps = list_at(plan, "/status/plan");
    let mut by_version: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    let mut order: Vec<&str> = Vec::new();
    for version in installs
        .iter()
        .copied()
        .chain(steps.iter().map(|step| text(step, "/resolving")))
    {
        if by_version.insert(version, Vec::new()).is_none() {
            order.push(version);
        }
    }
    for step in steps.iter().take(MOST_STEPS) {
        by_version.entry(text(step, "/resolving")).or_default().push(step);
    }
    let approved = approved_alone(plan, &());
    let groups = order.into_iter().map(|version| {
        let shown = by_version.remove(version).unwrap_or_default();
        let is_approved = approved.contains(version);
        let may_be_alone = waits(plan) && installs.len() > 1 && installs.contains(&version) && !is_approved;
        let all = || steps.iter().filter(|step| text(step, "/resolving") == version);
        let (done, total) = (all().filter(|step| is_done(step)).count(), all().count());
        StepGroup {
            version: link(console, Kind::ClusterServiceVersion, namespace, version),
            is_open: done < total,
            done,
            total,
            is_approved,
            alone: may_be_alone.then(|| {
                let mut with = with_needs(plan, &BTreeSet::from([version]), &());
                with.remove(version);
                with.into_iter().collect()
            }),
            steps: shown.into_iter().map(step_view).collect(),
        }
    });
    (groups.collect(), steps.len().saturating_sub(MOST_STEPS))
}

fn step_view(step: &Value) -> StepView {
    StepView {
        pill: of_step(step),
        object: format!(
            "{} {}",
            text(step, "/resource/kind"),
            text(step, "/resource/name")
        ),
        source: format!(
            "{}/{}",
            text(step, "/resource/sourceNamespace"),
            text(step, "/resource/sourceName")
        ),
    }
}

/// The bundles of a plan that aren't there yet.
fn bundles(plan: &Value) -> Vec<BundleView> {
    let lookups = list_at(plan, "/status/bundleLookups");
    let view = |lookup: &Value| {
        let mut conditions = list_at(lookup, "/conditions").iter();
        let waiting = conditions.find(|condition| text(condition, "/status") == "True")?;
        Some(BundleView {
            path: text(lookup, "/path").to_owned(),
            reason: text(waiting, "/reason").to_owned(),
            message: shortened(text(waiting, "/message")),
        })
    };
    lookups
        .iter()
        .filter_map(view)
        .take(crate::paging::ROWS)
        .collect()
}

/// Approves a plan as it was seen, or only one of its versions with what that needs.
pub(crate) async fn approve(
    State(console): State<Arc<Console>>,
    Path((namespace, name)): Path<(String, String)>,
    visit: Visit,
) -> Result<Response, Fault> {
    let seen = visit.parameters.filled("seen").ok_or_else(|| {
        Fault::bad_request(
            "the form doesn't say which state of the plan was seen; open the page of the plan and press its button",
        )
    })?;
    let only: Vec<String> = visit.parameters.all("only").map(str::to_owned).collect();
    let kind = resource(Kind::InstallPlan);
    let plans: Api<DynamicObject> = Api::namespaced_with(console.client.clone(), &namespace, &kind);
    let called = format!("InstallPlan {namespace}/{name}");
    // Read anew: what the caches hold may be older than what is approved.
    let plan = plans
        .get(&name)
        .await
        .map_err(|error| Fault::refused(&format!("read {called}"), &error))?;
    let plan =
        serde_json::to_value(&plan).map_err(|error| Fault::unanswered(&format!("read {called}"), error))?;
    let mut change = approval::change(&plan, &only).map_err(|refusal| match refusal {
        Unapprovable::NotWaiting { .. } => {
            Fault::conflict(format!("{refusal}; its page says what became of it"))
        }
        Unapprovable::NotInPlan { .. } => Fault::conflict(refusal.to_string()),
    })?;
    change["metadata"]["resourceVersion"] = json!(seen);
    let parameters = PatchParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    };
    plans
        .patch(&name, &parameters, &Patch::Merge(&change))
        .await
        .map_err(|error| {
            if is_conflict(&error) {
                Fault::conflict(format!(
                    "{called} has changed since its page was shown; go back, look at it again, and approve what you see"
                ))
            } else {
                Fault::refused(&format!("approve {called}"), &error)
            }
        })?;
    let done = if only.is_empty() {
        "plan-approved"
    } else {
        "version-approved"
    };
    Ok(led_to(&href(Kind::InstallPlan, &namespace, &name), done))
}
