//! Who needs whom in a namespace: the operators that are there, those that a plan would install, and what is missing.

mod drawing;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use apply::object::text;
use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use classic::Kind;
use install_plan::approval;
use install_plan::plan::phase;
use resolve::classic::dependents::{Dependence, dependences};
use resolve::classic::existing::{Existing, UpgradeStrategy};
use resolve::classic::request::Subscription as Asking;
use resolve::classic::{Entry, ExistingVersion};
use serde_json::Value;

use super::states::of_version;
use super::{SUBJECT, absence, href, page_of, page_of_all};
use crate::console::Console;
use crate::fault::Fault;
use crate::marks::{Empty, Link, Pill, Tone};
use crate::page::{Page, Visit, path, shown};
use crate::paging::Paging;

/// How many relations the words about a drawing name.
const MOST_WORDS: usize = 8;

/// How many namespaces can be chosen from; the address leads to the others.
const MOST_NAMESPACES: usize = 500;

/// The address of the page about a namespace.
pub(super) fn address(namespace: &str) -> String {
    path([SUBJECT, "dependencies", namespace])
}

/// An operator of a namespace.
#[derive(Debug, Clone)]
pub(super) struct Operator {
    pub(super) name: String,
    pub(super) pill: Pill,
    /// Where its page is; none where a plan would only install it.
    pub(super) href: Option<String>,
}

impl Operator {
    fn link(&self) -> Link {
        match &self.href {
            Some(href) => Link::to(href.clone(), &self.name),
            None => Link::nowhere(&self.name),
        }
    }
}

/// The operators of a namespace, and what each needs of the others.
#[derive(Debug, Default)]
pub(super) struct Operators {
    namespace: String,
    found: Vec<Operator>,
    dependences: Vec<Dependence>,
    /// What can't be read of them.
    faults: Vec<String>,
}

/// A row of the table of needs.
pub(crate) struct NeedRow {
    pub(crate) operator: Link,
    pub(crate) pill: Pill,
    /// What is needed; empty for nothing.
    pub(crate) need: String,
    pub(crate) met_by: Vec<Link>,
}

impl Operators {
    /// Reads the operators of a namespace from the picture.
    pub(super) fn read(console: &Console, namespace: &str) -> Self {
        let all = |kind: Kind| console.classic.in_namespace(kind, namespace);
        Self::of(
            namespace,
            &all(Kind::ClusterServiceVersion),
            &all(Kind::Subscription),
            &all(Kind::InstallPlan),
        )
    }

    fn of(
        namespace: &str,
        versions: &[Arc<Value>],
        subscriptions: &[Arc<Value>],
        plans: &[Arc<Value>],
    ) -> Self {
        let asking: Vec<Asking> = subscriptions.iter().map(|one| Asking::from_object(one)).collect();
        let objects: Vec<&Value> = versions.iter().map(AsRef::as_ref).collect();
        let existing = Existing::read(namespace, &objects, &asking, UpgradeStrategy::Default);
        let pills: BTreeMap<&str, Pill> = versions
            .iter()
            .map(|version| (text(version, "/metadata/name"), of_version(version)))
            .collect();
        let planned = planned(plans, &existing.versions);
        let mut operators: Vec<Operator> = Vec::new();
        let mut entries: Vec<&Entry> = Vec::new();
        for version in &existing.versions {
            let entry = &*version.entry;
            operators.push(Operator {
                name: entry.name.clone(),
                pill: pills
                    .get(entry.name.as_str())
                    .cloned()
                    .unwrap_or_else(|| Pill::new(Tone::Idle, "Unknown")),
                href: Some(href(Kind::ClusterServiceVersion, namespace, &entry.name)),
            });
            entries.push(entry);
        }
        for (name, entry) in &planned {
            operators.push(Operator {
                name: name.clone(),
                pill: Pill::new(Tone::Idle, "Planned"),
                href: None,
            });
            entries.push(entry);
        }
        Self {
            namespace: namespace.to_owned(),
            dependences: dependences(&entries),
            found: operators,
            faults: existing.faults.iter().map(ToString::to_string).collect(),
        }
    }

    /// What an operator needs, and who has it.
    pub(super) fn needs_of(&self, name: &str) -> Vec<NeedRow> {
        let own = |dependence: &&Dependence| {
            let needer = self.found.get(dependence.needer);
            needer.is_some_and(|needer| needer.name == name)
        };
        self.dependences
            .iter()
            .filter(own)
            .filter_map(|dependence| self.need_row(dependence))
            .collect()
    }

    /// Those that need an operator.
    pub(super) fn needed_by(&self, name: &str) -> Vec<Link> {
        let place = self.found.iter().position(|operator| operator.name == name);
        let needers: BTreeSet<usize> = self
            .dependences
            .iter()
            .filter(|dependence| place.is_some_and(|place| dependence.met_by.contains(&place)))
            .map(|dependence| dependence.needer)
            .collect();
        let needers = needers.into_iter().filter_map(|place| self.found.get(place));
        needers.map(Operator::link).collect()
    }

    fn need_row(&self, dependence: &Dependence) -> Option<NeedRow> {
        let needer = self.found.get(dependence.needer)?;
        let met_by = dependence
            .met_by
            .iter()
            .filter_map(|place| self.found.get(*place));
        Some(NeedRow {
            operator: needer.link(),
            pill: needer.pill.clone(),
            need: dependence.need.clone(),
            met_by: met_by.map(Operator::link).collect(),
        })
    }

    /// The table of needs: every operator, with everything that it needs.
    fn rows(&self) -> Vec<NeedRow> {
        let mut rows = Vec::new();
        for (place, operator) in self.found.iter().enumerate() {
            let own = self.dependences.iter().filter(|one| one.needer == place);
            let before = rows.len();
            rows.extend(own.filter_map(|dependence| self.need_row(dependence)));
            if rows.len() == before {
                rows.push(NeedRow {
                    operator: operator.link(),
                    pill: operator.pill.clone(),
                    need: String::new(),
                    met_by: Vec::new(),
                });
            }
        }
        rows
    }

    /// Says in words what the drawing shows.
    fn words(&self) -> String {
        let count = self.found.len();
        let mut text = format!(
            "Namespace {}: {count} {}",
            self.namespace,
            if count == 1 { "operator" } else { "operators" }
        );
        if self.dependences.is_empty() && count > 0 {
            text.push_str(", and none needs another");
        }
        for dependence in self.dependences.iter().take(MOST_WORDS) {
            let name = |place: &usize| {
                self.found
                    .get(*place)
                    .map_or("", |operator| operator.name.as_str())
            };
            let met_by: Vec<&str> = dependence.met_by.iter().map(name).collect();
            let met_by = if met_by.is_empty() {
                "which no operator here has".to_owned()
            } else {
                format!("which {} has", met_by.join(" or "))
            };
            let _ = write!(
                text,
                "; {} needs {}, {met_by}",
                name(&dependence.needer),
                dependence.need
            );
        }
        if self.dependences.len() > MOST_WORDS {
            let _ = write!(text, "; and {} more", self.dependences.len() - MOST_WORDS);
        }
        text
    }
}

/// What plans that aren't carried out would install, beside what is there.
fn planned(plans: &[Arc<Value>], existing: &[ExistingVersion]) -> BTreeMap<String, Entry> {
    let open = plans
        .iter()
        .filter(|plan| !matches!(text(plan, "/status/phase"), phase::COMPLETE | phase::FAILED));
    let mut planned: BTreeMap<String, Entry> = open.flat_map(|plan| approval::entries(plan, &())).collect();
    planned.retain(|name, _| !existing.iter().any(|version| version.entry.name == *name));
    planned
}

/// A namespace that can be chosen.
struct Choice {
    name: String,
    is_chosen: bool,
}

#[derive(Template)]
#[template(path = "dependencies.html")]
struct DependenciesPage {
    page: Page,
    tab: &'static str,
    namespace: String,
    choices: Vec<Choice>,
    svg: String,
    words: String,
    hidden: usize,
    left_out: usize,
    faults: Vec<String>,
    rows: Vec<NeedRow>,
    paging: Paging,
    empty: Empty,
}

/// Shows the namespace that was chosen, or the first that has operators.
pub(crate) async fn choose(State(console): State<Arc<Console>>, visit: Visit) -> Result<Response, Fault> {
    if let Some(page) = absence(&console, &visit).await {
        return Ok(page);
    }
    let namespace = visit.parameters.filled("namespace").map(str::to_owned);
    let namespace = namespace.or_else(|| namespaces(&console).into_iter().next());
    let page = page_of_all(&visit, "Dependencies");
    draw(&console, &visit, page, namespace.unwrap_or_default())
}

/// Shows who needs whom in a namespace.
pub(crate) async fn one(
    State(console): State<Arc<Console>>,
    Path(namespace): Path<String>,
    visit: Visit,
) -> Result<Response, Fault> {
    if let Some(page) = absence(&console, &visit).await {
        return Ok(page);
    }
    let page = page_of(
        &visit,
        &format!("Dependencies in {namespace}"),
        &[&namespace],
        Vec::new(),
    );
    draw(&console, &visit, page, namespace)
}

fn draw(console: &Console, visit: &Visit, page: Page, namespace: String) -> Result<Response, Fault> {
    let operators = Operators::read(console, &namespace);
    let drawing = drawing::draw(&operators);
    let (rows, paging) = Paging::take(operators.rows(), &visit.parameters);
    let choices = namespaces(console).into_iter().take(MOST_NAMESPACES);
    shown(&DependenciesPage {
        page,
        tab: "dependencies",
        choices: choices
            .map(|name| Choice {
                is_chosen: name == namespace,
                name,
            })
            .collect(),
        namespace,
        words: operators.words(),
        hidden: drawing.hidden,
        left_out: drawing.left_out,
        svg: drawing.svg,
        faults: operators.faults.clone(),
        rows,
        paging,
        empty: Empty::new(
            "No operator here",
            "No ClusterServiceVersion is in this namespace, and no plan would install one.",
        )
        .command("baton classic subscribe PACKAGE"),
    })
}

/// The namespaces that have something to show.
fn namespaces(console: &Console) -> BTreeSet<String> {
    let versions = console.classic.all(Kind::ClusterServiceVersion);
    let plans = console.classic.all(Kind::InstallPlan);
    let objects = versions.iter().chain(&plans);
    objects
        .map(|object| text(object, "/metadata/namespace").to_owned())
        .collect()
}

#[cfg(test)]
mod tests;
