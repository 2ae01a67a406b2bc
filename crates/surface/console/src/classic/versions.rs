//! The pages of ClusterServiceVersions.

use std::collections::BTreeMap;
use std::sync::Arc;

use apply::object::{annotation, text};
use askama::Template;
use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Response};
use classic::{Kind, keys};
use http::StatusCode;
use http::header::LOCATION;
use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use serde_json::Value;
use service_version::ServiceVersion;
use service_version::provided_apis::Namespaces;

use super::dependencies::{NeedRow, Operators};
use super::listing::{Headline, Listed, Listing, Words};
use super::requirements::Tree;
use super::states::{of_phase, of_version};
use super::{absence, events_of, href, link, list as list_at, moment, named, page_of, page_of_all, place};
use crate::conditions::shortened;
use crate::console::Console;
use crate::events::{EventRow, about};
use crate::fault::Fault;
use crate::marks::{Link, Moment, Pill, Tone};
use crate::page::{Page, Visit, shown};
use crate::paging::ROWS;

/// How many Deployments of a version are looked at, and how many of those are followed.
const MOST_DEPLOYMENTS: usize = 20;
const MOST_FOLLOWED: usize = 4;

/// A row of the table of versions.
pub(crate) struct VersionRow {
    pub(crate) headline: Headline,
    pub(crate) display_name: String,
    pub(crate) version: String,
    pub(crate) replaces: String,
    pub(crate) copies: usize,
    /// The namespace that it is a copy from.
    pub(crate) copied_from: Option<String>,
}

impl VersionRow {
    fn of(version: &Value, copies: usize) -> Self {
        let said = |pointer: &str| text(version, pointer).to_owned();
        Self {
            headline: Headline::of(Self::KIND, version, of_version(version), why(version)),
            display_name: said("/spec/displayName"),
            version: said("/spec/version"),
            replaces: said("/spec/replaces"),
            copies,
            copied_from: None,
        }
    }

    /// The row of a copy, which leads to what it is a copy of.
    fn of_copy(namespace: String, name: String, from: String) -> Self {
        Self {
            headline: Headline {
                href: href(Self::KIND, &from, &name),
                namespace,
                name,
                pill: Pill::new(Tone::Idle, "Copy"),
                why: String::new(),
            },
            display_name: String::new(),
            version: String::new(),
            replaces: String::new(),
            copies: 0,
            copied_from: Some(from),
        }
    }
}

impl Listed for VersionRow {
    const KIND: Kind = Kind::ClusterServiceVersion;
    const WORDS: Words = Words {
        none: [
            "No ClusterServiceVersion yet",
            "A ClusterServiceVersion is one version of an operator in a namespace. Plans make them.",
        ],
        not_found: [
            "No such ClusterServiceVersion",
            "None has this in its namespace, its name or its state.",
        ],
    };

    fn texts(&self) -> Vec<&str> {
        let texts = [
            &self.headline.namespace,
            &self.headline.name,
            &self.display_name,
            &self.headline.pill.text,
            &self.headline.why,
        ];
        texts.into_iter().map(String::as_str).collect()
    }
}

/// Why a version is in its phase, where that isn't the last one.
fn why(version: &Value) -> String {
    match text(version, "/status/phase") {
        "" | "Succeeded" => String::new(),
        _ => text(version, "/status/reason").to_owned(),
    }
}

#[derive(Template)]
#[template(path = "service_versions.html")]
struct Versions {
    page: Page,
    with_copies: bool,
    copies: usize,
    listing: Listing<VersionRow>,
}

/// Shows the versions of all namespaces, and where asked for their copies.
pub(crate) async fn list(State(console): State<Arc<Console>>, visit: Visit) -> Result<Response, Fault> {
    if let Some(page) = absence(&console, &visit).await {
        return Ok(page);
    }
    let with_copies = visit.parameters.get("copies").is_some();
    let copies = console.classic.copies();
    let count = copies.len();
    let mut tally: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for (_, name, from) in &copies {
        *tally.entry((from, name)).or_default() += 1;
    }
    let versions = console.classic.all(Kind::ClusterServiceVersion);
    let mut rows: Vec<VersionRow> = versions
        .iter()
        .map(|version| VersionRow::of(version, tally.get(&place(version)).copied().unwrap_or_default()))
        .collect();
    if with_copies {
        let copies = copies.into_iter();
        rows.extend(copies.map(|(namespace, name, from)| VersionRow::of_copy(namespace, name, from)));
        rows.sort_by(|one, other| {
            let (one, other) = (&one.headline, &other.headline);
            (&one.namespace, &one.name).cmp(&(&other.namespace, &other.name))
        });
    }
    shown(&Versions {
        page: page_of_all(&visit, "Service versions"),
        with_copies,
        copies: count,
        listing: Listing::new(&console, &visit, rows),
    })
}

/// An API that a version provides or needs.
struct ApiRow {
    kind: String,
    api_version: String,
    name: String,
    what: &'static str,
}

/// A Deployment that a version is made of.
struct DeploymentRow {
    name: String,
    pill: Pill,
    text: String,
}

/// A step that a version took.
struct PhaseRow {
    pill: Pill,
    reason: String,
    message: String,
    when: Option<Moment>,
}

#[derive(Template)]
#[template(path = "service_version.html")]
struct VersionPage {
    page: Page,
    row: VersionRow,
    message: String,
    tone: &'static str,
    provider: String,
    group: String,
    targets: String,
    replaces: Option<Link>,
    subscriptions: Vec<Link>,
    requirements: Tree,
    owned: Vec<ApiRow>,
    required: Vec<ApiRow>,
    needs: Vec<NeedRow>,
    needed_by: Vec<Link>,
    deployments: Vec<DeploymentRow>,
    history: Vec<PhaseRow>,
    copies: Vec<String>,
    more_copies: usize,
    events: Vec<EventRow>,
    dependencies: String,
}

/// Shows one version; the address of a copy leads to what it is a copy of.
pub(crate) async fn one(
    State(console): State<Arc<Console>>,
    Path((namespace, name)): Path<(String, String)>,
    visit: Visit,
) -> Result<Response, Fault> {
    if let Some(page) = absence(&console, &visit).await {
        return Ok(page);
    }
    if let Some(from) = console.classic.copied_from(&namespace, &name) {
        let original = href(Kind::ClusterServiceVersion, &from, &name);
        return Ok((StatusCode::SEE_OTHER, [(LOCATION, original)]).into_response());
    }
    let object = named(&console, Kind::ClusterServiceVersion, &namespace, &name)?;
    let version = ServiceVersion::of(&object);
    let deployments = deployments(&console, version).await;
    let mut copies = console.classic.copied_to(&namespace, &name);
    let row = VersionRow::of(&object, copies.len());
    let more_copies = copies.len().saturating_sub(ROWS);
    copies.truncate(ROWS);
    let operators = Operators::read(&console, &namespace);
    let mut subjects = vec![events_of(Kind::ClusterServiceVersion, &namespace, &name)];
    subjects.extend(
        version
            .deployments()
            .iter()
            .take(MOST_FOLLOWED)
            .map(|one| format!("resources/apps/v1/Deployment/{namespace}/{}", text(one, "/name"))),
    );
    let mut history: Vec<PhaseRow> = list_at(&object, "/status/conditions")
        .iter()
        .map(|step| phase_row(&console, step))
        .collect();
    history.reverse();
    shown(&VersionPage {
        page: page_of(&visit, &name, &[&namespace], subjects),
        message: shortened(text(&object, "/status/message")),
        tone: match row.headline.pill.tone {
            Tone::Bad => "bad",
            Tone::Warning => "warning",
            _ => "busy",
        },
        provider: text(&object, "/spec/provider/name").to_owned(),
        group: version
            .annotation(keys::OPERATOR_GROUP)
            .unwrap_or_default()
            .to_owned(),
        targets: targets(&object),
        replaces: Some(version.replaces())
            .filter(|name| !name.is_empty())
            .map(|name| link(&console, Kind::ClusterServiceVersion, &namespace, name)),
        subscriptions: subscriptions_of(&console, &namespace, &name),
        requirements: Tree::of(&object),
        owned: apis(version.owned_definitions(), version.owned_api_services(), &[]),
        required: apis(
            version.required_definitions(),
            version.required_api_services(),
            version.native_apis(),
        ),
        needs: operators.needs_of(&name),
        needed_by: operators.needed_by(&name),
        deployments,
        history,
        copies,
        more_copies,
        events: about(&console, "ClusterServiceVersion", &namespace, &name),
        dependencies: super::dependencies::address(&namespace),
        row,
    })
}

/// The namespaces that a version looks after, in words.
fn targets(version: &Value) -> String {
    match annotation(version, keys::TARGET_NAMESPACES) {
        None => String::new(),
        Some(targets) if Namespaces::read(targets).is_all() => "all namespaces".to_owned(),
        Some(targets) => targets.replace(',', ", "),
    }
}

fn subscriptions_of(console: &Console, namespace: &str, version: &str) -> Vec<Link> {
    let all = console.classic.in_namespace(Kind::Subscription, namespace);
    let own = all.iter().filter(|one| {
        text(one, "/status/installedCSV") == version || text(one, "/status/currentCSV") == version
    });
    own.map(|one| {
        link(
            console,
            Kind::Subscription,
            namespace,
            text(one, "/metadata/name"),
        )
    })
    .collect()
}

fn apis(definitions: &[Value], services: &[Value], native: &[Value]) -> Vec<ApiRow> {
    let row = |api: &Value, group: &str, what: &'static str| ApiRow {
        kind: text(api, "/kind").to_owned(),
        api_version: format!("{group}/{}", text(api, "/version")),
        name: text(api, "/name").to_owned(),
        what,
    };
    let definitions = definitions.iter().map(|api| {
        let group = text(api, "/name").split_once('.').map_or("", |(_, group)| group);
        row(api, group, "custom resource")
    });
    let services = services
        .iter()
        .map(|api| row(api, text(api, "/group"), "aggregated API"));
    let native = native
        .iter()
        .map(|api| row(api, text(api, "/group"), "of the cluster"));
    definitions.chain(services).chain(native).take(ROWS).collect()
}

fn phase_row(console: &Console, step: &Value) -> PhaseRow {
    PhaseRow {
        pill: of_phase(text(step, "/phase")),
        reason: text(step, "/reason").to_owned(),
        message: shortened(text(step, "/message")),
        when: moment(console, step, "/lastTransitionTime"),
    }
}

/// How the Deployments of a version are, asked of the cluster.
async fn deployments(console: &Console, version: ServiceVersion<'_>) -> Vec<DeploymentRow> {
    let api: Api<Deployment> = Api::namespaced(console.client.clone(), version.namespace());
    let mut rows = Vec::new();
    for described in version.deployments().iter().take(MOST_DEPLOYMENTS) {
        let name = text(described, "/name");
        let (pill, text) = match api.get_opt(name).await {
            Ok(Some(deployment)) => deployment_state(&deployment),
            Ok(None) => (Pill::new(Tone::Idle, "Not there"), String::new()),
            Err(error) => (
                Pill::new(Tone::Warning, "Unknown"),
                shortened(&apply::refusal::words(&error)),
            ),
        };
        rows.push(DeploymentRow {
            name: name.to_owned(),
            pill,
            text,
        });
    }
    rows
}

fn deployment_state(deployment: &Deployment) -> (Pill, String) {
    let wanted = deployment
        .spec
        .as_ref()
        .and_then(|spec| spec.replicas)
        .unwrap_or(1);
    let status = deployment.status.as_ref();
    let available = status
        .and_then(|status| status.available_replicas)
        .unwrap_or_default();
    let pill = if available >= wanted {
        Pill::new(Tone::Good, "Available")
    } else {
        Pill::new(Tone::Busy, "Not available")
    };
    (pill, format!("{available} of {wanted} replicas available"))
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    #[test]
    fn a_deployment_is_available_when_all_its_replicas_are() {
        let told = |replicas: i32, available: i32| {
            let deployment = json!({"spec": {"replicas": replicas, "selector": {}, "template": {}}, "status": {"availableReplicas": available}});
            let (pill, text) = deployment_state(&from_value(deployment).expect("a deployment"));
            (pill.tone, text)
        };
        assert_eq!(told(2, 2), (Tone::Good, "2 of 2 replicas available".to_owned()));
        assert_eq!(told(2, 1), (Tone::Busy, "1 of 2 replicas available".to_owned()));
    }

    #[test]
    fn what_a_version_looks_after_is_told_in_words() {
        let version =
            |targets: &str| json!({"metadata": {"annotations": {keys::TARGET_NAMESPACES: targets}}});
        assert_eq!(targets(&version("")), "all namespaces");
        assert_eq!(targets(&version("a,b")), "a, b");
        assert_eq!(targets(&json!({})), "");
    }

    #[test]
    fn apis_are_named_with_their_group() {
        let rows = apis(
            &[
                json!({"name": "webs.example.com", "version": "v1", "kind": "Web"}),
                json!({"name": "odd"}),
            ],
            &[json!({"name": "metrics", "group": "metrics.example.com", "version": "v1", "kind": "Metric"})],
            &[],
        );
        let told: Vec<String> = rows
            .iter()
            .map(|row| format!("{} {}", row.kind, row.api_version))
            .collect();
        assert_eq!(
            told,
            ["Web example.com/v1", " /", "Metric metrics.example.com/v1"]
        );
    }
}
