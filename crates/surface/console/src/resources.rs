//! The pages of custom resources that Helm operators look after.

mod name;
mod objects;
mod one;
pub(crate) mod troubles;

use std::collections::BTreeMap;
use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use kube::api::{DynamicObject, ListParams};
use kube::{Api, ResourceExt as _};
use serde_json::Value;

use crate::console::Console;
use crate::fault::Fault;
use crate::marks::{Empty, Link, Moment, Pill, Tone};
use crate::page::{Page, Section, Visit, path, shown};
use crate::paging::ROWS;
use crate::parameters::Parameters;
use crate::releases::{status_pill, survey};

pub(crate) use name::ResourceName;
pub(crate) use objects::{Pods, live_objects, pods_of};
pub(crate) use one::{HISTORY, one, read_resource};

/// The label that says which version of an operator looks after a resource.
const OPERATOR_VERSION: &str = "operatorVersion";

/// A row of the table of kinds.
struct KindRow {
    href: String,
    kind: String,
    api_version: String,
    count: usize,
    statuses: Vec<(Pill, usize)>,
}

#[derive(Template)]
#[template(path = "kinds.html")]
struct Kinds {
    page: Page,
    rows: Vec<KindRow>,
    is_cut: bool,
    empty: Empty,
}

/// A row of the table of resources.
struct ResourceRow {
    href: String,
    namespace: String,
    name: String,
    pill: Pill,
    operator_version: String,
    created: Option<Moment>,
}

#[derive(Template)]
#[template(path = "resources.html")]
struct Resources {
    page: Page,
    kind: String,
    api_version: String,
    rows: Vec<ResourceRow>,
    next: Option<String>,
    is_first: bool,
    here: String,
    empty: Empty,
}

/// Shows the kinds that have releases.
pub(crate) async fn kinds(State(console): State<Arc<Console>>, visit: Visit) -> Result<Response, Fault> {
    let survey = survey(&console.client)
        .await
        .map_err(|error| Fault::refused("list the releases of the cluster", &error))?;
    let mut kinds: BTreeMap<(String, String, String), BTreeMap<String, usize>> = BTreeMap::new();
    for owned in survey.owned {
        let resource = owned.resource;
        let statuses = kinds
            .entry((resource.kind, resource.group, resource.version))
            .or_default();
        *statuses.entry(owned.status).or_default() += 1;
    }
    let rows = kinds
        .into_iter()
        .take(ROWS)
        .map(|((kind, group, version), statuses)| KindRow {
            href: name::kind_path(&group, &version, &kind),
            kind,
            api_version: format!("{group}/{version}"),
            count: statuses.values().sum(),
            statuses: statuses
                .into_iter()
                .map(|(status, count)| (status_pill(&status), count))
                .collect(),
        });
    shown(&Kinds {
        page: visit
            .page("Resources", Section::Resources)
            .following(["releases"]),
        rows: rows.collect(),
        is_cut: survey.is_cut,
        empty: Empty::new(
            "No resource yet",
            "Custom resources that a Helm operator looks after appear here once they own a release.",
        )
        .command("kubectl apply -f resource.yaml"),
    })
}

/// Shows the resources of one kind.
pub(crate) async fn list(
    State(console): State<Arc<Console>>,
    Path((group, version, kind)): Path<(String, String, String)>,
    visit: Visit,
) -> Result<Response, Fault> {
    let (group, version, kind) = name::read_kind(&group, &version, &kind)?;
    let (resource, _) = name::served(&console.client, &group, &version, &kind).await?;
    let objects: Api<DynamicObject> = Api::all_with(console.client.clone(), &resource);
    let mut parameters = ListParams::default().limit(ROWS as u32);
    let after = visit.parameters.filled("after");
    if let Some(after) = after {
        parameters = parameters.continue_token(after);
    }
    let listed = objects
        .list(&parameters)
        .await
        .map_err(|error| Fault::refused(&format!("list {kind} resources"), &error))?;
    let now = console.now();
    let rows = listed.items.iter().map(|object| {
        let name = ResourceName {
            group: group.clone(),
            version: version.clone(),
            kind: kind.clone(),
            namespace: object.namespace().unwrap_or_default(),
            name: object.name_any(),
        };
        let created = object.metadata.creation_timestamp.as_ref();
        ResourceRow {
            href: name.path(),
            pill: of_resource(&object.data, object.metadata.deletion_timestamp.is_some()),
            operator_version: object.labels().get(OPERATOR_VERSION).cloned().unwrap_or_default(),
            created: created.map(|time| Moment::new(time.0, now)),
            namespace: name.namespace,
            name: name.name,
        }
    });
    let next = listed
        .metadata
        .continue_
        .as_deref()
        .filter(|next| !next.is_empty());
    let here = visit.path().to_owned();
    shown(&Resources {
        page: visit
            .page(kind.clone(), Section::Resources)
            .following(["releases"]),
        api_version: format!("{group}/{version}"),
        rows: rows.collect(),
        next: next.map(|next| format!("{here}{}", Parameters::default().with("after", next).to_query())),
        is_first: after.is_none(),
        empty: Empty::new("No resource", "There is no resource of this kind any more.")
            .command(format!("kubectl get {}", resource.plural)),
        kind,
        here,
    })
}

/// How a resource is, in a word or two; its kind says so in conditions, if it says anything.
fn of_resource(object: &Value, is_leaving: bool) -> Pill {
    if is_leaving {
        return Pill::new(Tone::Busy, "Leaving");
    }
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    let find = |kind: &str| {
        let mut conditions = conditions.into_iter().flatten();
        let found = conditions.find(|condition| condition["type"] == kind)?;
        Some((
            found["status"].as_str()?,
            found["reason"].as_str().unwrap_or_default(),
        ))
    };
    for (kind, word) in [
        ("Irreconcilable", "Irreconcilable"),
        ("ReleaseFailed", "Release failed"),
    ] {
        if let Some(("True", _)) = find(kind) {
            return Pill::new(Tone::Bad, word);
        }
    }
    if let Some(("False", _)) = find("Selected") {
        return Pill::new(Tone::Warning, "No operator");
    }
    match (find("Ready"), find("Deployed"), find("Paused")) {
        (_, _, Some(("True", _))) => Pill::new(Tone::Idle, "Paused"),
        (Some(("True", _)), _, _) => Pill::new(Tone::Good, "Ready"),
        (Some((_, reason)), _, _) => {
            Pill::new(Tone::Busy, if reason.is_empty() { "Not ready" } else { reason })
        }
        (None, Some(("True", _)), _) => Pill::new(Tone::Good, "Deployed"),
        (None, Some(_), _) => Pill::new(Tone::Busy, "Not deployed"),
        (None, None, _) => Pill::new(Tone::Idle, "Not seen yet"),
    }
}

/// The links above the pages of a resource.
pub(crate) fn crumbs(name: &ResourceName) -> Vec<Link> {
    vec![
        Link::to(path(["resources"]), "Resources"),
        Link::to(
            name::kind_path(&name.group, &name.version, &name.kind),
            name.kind.clone(),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_state_of_a_resource_is_told_in_a_word() {
        let condition = |kind: &str, status: &str, reason: &str| json!({"type": kind, "status": status, "reason": reason});
        let deployed = condition("Deployed", "True", "InstallSuccessful");
        for (conditions, tone, word) in [
            (json!([]), Tone::Idle, "Not seen yet"),
            (json!([deployed]), Tone::Good, "Deployed"),
            (
                json!([deployed, condition("Ready", "False", "WaitingForPods")]),
                Tone::Busy,
                "WaitingForPods",
            ),
            (
                json!([deployed, condition("Ready", "True", "")]),
                Tone::Good,
                "Ready",
            ),
            (
                json!([deployed, condition("Irreconcilable", "True", "")]),
                Tone::Bad,
                "Irreconcilable",
            ),
            (json!([condition("Paused", "True", "")]), Tone::Idle, "Paused"),
            (
                json!([deployed, condition("Selected", "False", "NotSelected")]),
                Tone::Warning,
                "No operator",
            ),
            (json!("odd"), Tone::Idle, "Not seen yet"),
        ] {
            let object = json!({"status": {"conditions": conditions}});
            assert_eq!(of_resource(&object, false), Pill::new(tone, word));
        }
        assert_eq!(of_resource(&json!({}), true).text, "Leaving");
    }
}
