//! The page of one resource: what it asks for, its release, and what became of it.

use std::sync::Arc;

use apply::diff::{Change, What};
use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use chart::release::Release;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::api::DynamicObject;
use kube::{Api, ResourceExt as _};
use release::documents;
use release::drift;
use release::identity::ReleaseId;
use release::readiness::{self, Readiness};
use release::records::{RecordError, Records};
use serde_json::Value;

use super::{OPERATOR_VERSION, Pods, ResourceName, crumbs, live_objects, of_resource, pods_of};
use crate::conditions::{ConditionRow, rows_of, shortened};
use crate::console::Console;
use crate::diffs::values_of;
use crate::events::{EventRow, about};
use crate::fault::Fault;
use crate::marks::{Empty, Link, Moment, Pill, Tone};
use crate::page::{Page, Section, Visit, shown};
use crate::parameters::Parameters;
use crate::plans::ChangeList;
use crate::releases::status_pill;

/// How many revisions of a release are shown: as many as operators keep.
pub(crate) const HISTORY: usize = 10;

/// How much YAML is shown.
const LONGEST_YAML: usize = 64 << 10;

/// What is shown in place of what a Secret keeps.
const HIDDEN: &str = "***";

/// A revision of the release.
struct RevisionRow {
    href: String,
    number: i64,
    pill: Pill,
    chart: String,
    description: String,
    when: Option<Moment>,
    is_oldest: bool,
}

/// An object of the release.
struct ObjectRow {
    object: String,
    pill: Pill,
    text: String,
}

/// A pod of the release.
pub(crate) struct PodRow {
    name: String,
    pill: Pill,
    restarts: i32,
    created: Option<Moment>,
    logs: String,
}

/// What is known of the release.
#[derive(Default)]
struct ReleaseView {
    history: Vec<RevisionRow>,
    values: String,
    notes: String,
    drift: ChangeList,
    objects: Vec<ObjectRow>,
    objects_left_out: usize,
    pods: Vec<PodRow>,
    pods_unreadable: Option<String>,
}

#[derive(Template)]
#[template(path = "resource.html")]
struct ResourcePage {
    page: Page,
    crumbs: Vec<Link>,
    name: ResourceName,
    pill: Pill,
    operator_version: String,
    created: Option<Moment>,
    conditions: Vec<ConditionRow>,
    spec: String,
    release: Option<ReleaseView>,
    /// Why the release isn't known.
    unreadable: Option<String>,
    events: Vec<EventRow>,
    base: String,
    no_release: Empty,
}

/// Shows one resource.
pub(crate) async fn one(
    State(console): State<Arc<Console>>,
    Path((group, version, kind, namespace, name)): Path<(String, String, String, String, String)>,
    visit: Visit,
) -> Result<Response, Fault> {
    let name = ResourceName::read(&group, &version, &kind, &namespace, &name)?;
    console.wait_filled().await;
    let (object, id) = read_resource(&console, &name).await?;
    let now = console.now();
    let (release, unreadable) = match view(&console, &name, &id, now).await {
        Ok(release) => (release, None),
        Err(error) => (None, Some(error.to_string())),
    };
    let created = object.metadata.creation_timestamp.as_ref();
    let subject = name.path();
    let releases = format!("releases/{}/{}", id.namespace, id.name);
    let namespace = if name.namespace.is_empty() {
        "-"
    } else {
        &name.namespace
    };
    let happenings = format!("events/{}/{namespace}/{}", name.kind, name.name);
    shown(&ResourcePage {
        page: visit.page(name.words(), Section::Resources).following([
            subject.trim_start_matches('/'),
            &releases,
            &happenings,
        ]),
        crumbs: crumbs(&name),
        pill: of_resource(&object.data, object.metadata.deletion_timestamp.is_some()),
        operator_version: object.labels().get(OPERATOR_VERSION).cloned().unwrap_or_default(),
        created: created.map(|time| Moment::new(time.0, now)),
        conditions: rows_of(&object.data, now),
        spec: yaml(object.data.get("spec").unwrap_or(&Value::Null)),
        release,
        unreadable,
        events: about(&console, &name.kind, &name.namespace, &name.name),
        base: subject.clone(),
        no_release: Empty::new(
            "No release yet",
            "No operator has made a release of this resource. Its label operatorVersion must be one that a running operator \
             selects; the conditions and events say more.",
        ),
        name,
    })
}

/// Reads a resource, and says which release is its own.
pub(crate) async fn read_resource(
    console: &Console,
    name: &ResourceName,
) -> Result<(DynamicObject, ReleaseId), Fault> {
    let api: Api<DynamicObject> = name.api(&console.client).await?;
    let object = api
        .get(&name.name)
        .await
        .map_err(|error| Fault::refused(&format!("read {}", name.words()), &error))?;
    // Operators call the release after the resource, and say so in its status.
    let called = object
        .data
        .pointer("/status/deployedRelease/name")
        .and_then(Value::as_str);
    let release = called.unwrap_or(&name.name);
    let id = ReleaseId::new(&name.namespace, release);
    Ok((object, id))
}

async fn view(
    console: &Console,
    name: &ResourceName,
    id: &ReleaseId,
    now: Timestamp,
) -> Result<Option<ReleaseView>, RecordError> {
    let records = Records::new(&console.releases, id);
    let history = records.history().await?;
    let mut view = ReleaseView::default();
    let mut current: Option<Release> = None;
    let newest: Vec<_> = history.revisions().iter().rev().take(HISTORY).collect();
    let oldest = history.revisions().first().map(|revision| revision.version);
    for revision in newest {
        let Some(record) = records.read(revision.version).await? else {
            continue;
        };
        let release = record.release;
        view.history.push(RevisionRow {
            href: format!("{}/revisions/{}", name.path(), release.version),
            number: release.version,
            pill: status_pill(release.info.status.as_str()),
            chart: format!(
                "{} {}",
                release.chart.metadata_text("name"),
                release.chart.metadata_text("version")
            ),
            description: shortened(&release.info.description),
            when: moment(release.info.last_deployed.as_deref(), now),
            is_oldest: oldest == Some(release.version),
        });
        let is_better = current
            .as_ref()
            .is_none_or(|known| known.info.status.as_str() != "deployed")
            && release.info.status.as_str() == "deployed";
        if current.is_none() || is_better {
            current = Some(release);
        }
    }
    let Some(current) = current else {
        return Ok(None);
    };
    view.values = yaml(&values_of(&current));
    view.notes = shortened(current.info.notes.trim());
    // A manifest that can't be read has no objects; its history is still worth showing.
    let documents = documents::read(&current.manifest).unwrap_or_default();
    let (objects, left_out) = live_objects(&console.engine, &id.namespace, documents).await;
    let changes: Vec<Change> = objects.iter().filter_map(drifted).collect();
    view.drift = ChangeList::of(&changes);
    view.objects_left_out = left_out;
    view.objects = objects
        .iter()
        .map(|object| {
            let (pill, text) = match &object.live {
                Err(cause) => (Pill::new(Tone::Bad, "Unreadable"), shortened(cause)),
                Ok(None) => (Pill::new(Tone::Bad, "Not there"), String::new()),
                Ok(Some(live)) => match readiness::of(live) {
                    Readiness::Ready => (Pill::new(Tone::Good, "Ready"), String::new()),
                    Readiness::Waiting(why) => (Pill::new(Tone::Busy, "Waits"), shortened(&why)),
                    Readiness::Failed(why) => (Pill::new(Tone::Bad, "Failed"), shortened(&why)),
                },
            };
            ObjectRow {
                object: extension_controller::tree::Called(&object.id).to_string(),
                pill,
                text,
            }
        })
        .collect();
    let Pods { pods, unreadable } = pods_of(&console.client, &objects).await;
    view.pods = pods.iter().map(|pod| pod_row(pod, &name.path(), now)).collect();
    view.pods_unreadable = unreadable;
    Ok(Some(view))
}

/// What of an object isn't as its release wrote it.
fn drifted(object: &super::objects::LiveObject) -> Option<Change> {
    let live = object.live.as_ref().ok()?;
    let Some(live) = live else {
        return Some(Change::between(&object.id, None, Some(&object.wanted)));
    };
    let mut fields = drift::between(&object.wanted, live);
    if object.id.kind == "Secret" && object.id.api_version == "v1" {
        for field in &mut fields {
            for value in [&mut field.before, &mut field.after].into_iter().flatten() {
                *value = Value::from(HIDDEN);
            }
        }
    }
    (!fields.is_empty()).then(|| Change {
        id: object.id.clone(),
        what: What::Update,
        fields,
    })
}

fn pod_row(pod: &Pod, base: &str, now: Timestamp) -> PodRow {
    let status = pod.status.as_ref();
    let phase = status.and_then(|status| status.phase.clone()).unwrap_or_default();
    let containers = status
        .and_then(|status| status.container_statuses.as_deref())
        .unwrap_or_default();
    let is_ready = !containers.is_empty() && containers.iter().all(|container| container.ready);
    let waiting = containers.iter().find_map(|container| {
        let waiting = container.state.as_ref()?.waiting.as_ref()?;
        waiting.reason.clone()
    });
    let name = pod.name_any();
    let created = pod.metadata.creation_timestamp.as_ref();
    PodRow {
        pill: match (phase.as_str(), waiting) {
            ("Running", None) if is_ready => Pill::new(Tone::Good, "Ready"),
            ("Succeeded", _) => Pill::new(Tone::Good, "Succeeded"),
            ("Failed", _) => Pill::new(Tone::Bad, "Failed"),
            (_, Some(reason)) if reason == "ContainerCreating" => Pill::new(Tone::Busy, "Starting"),
            (_, Some(reason)) => Pill::new(Tone::Bad, reason),
            ("", None) => Pill::new(Tone::Idle, "Not seen yet"),
            (phase, None) => Pill::new(Tone::Busy, phase),
        },
        restarts: containers.iter().map(|container| container.restart_count).sum(),
        created: created.map(|time| Moment::new(time.0, now)),
        logs: format!(
            "{base}/logs{}",
            Parameters::default().with("pod", &*name).to_query()
        ),
        name,
    }
}

fn moment(time: Option<&str>, now: Timestamp) -> Option<Moment> {
    let time = time?.parse().ok()?;
    Some(Moment::new(time, now))
}

/// A value as YAML, shortened where nobody would read on.
pub(crate) fn yaml(value: &Value) -> String {
    if value.is_null() {
        return String::new();
    }
    let mut text = goyaml::to_string(value).unwrap_or_else(|_| value.to_string());
    if text.len() > LONGEST_YAML {
        text.truncate(text.floor_char_boundary(LONGEST_YAML));
        text.push_str("\n# … more follows");
    }
    text
}
