//! `baton plan`: what the controller would do now, object by object.

use std::fmt::Write as _;

use api::ClusterObjectSet;
use apply::diff::{Change, What};
use apply::engine::Engine;
use clap::Args;
use extension_controller::choosing::choose;
use extension_controller::deciding::{Plan as Decided, Write, decide};
use extension_controller::revisions::NewRevision;
use kube::ResourceExt as _;
use serde::Serialize;
use serde_json::Value;

use crate::extensions::Extensions;
use crate::failure::Failure;
use crate::observed_cluster::{self, ObservationFlags};
use crate::output::OutputFlag;
use crate::runtime;
use crate::terminal::Terminal;

/// Shows what the controller would do now for an extension, object by object, and changes nothing.
#[derive(Args)]
pub(crate) struct Plan {
    /// The extension
    #[arg(value_name = "EXTENSION")]
    name: String,
    /// As if this version, or range of versions, were asked for
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    /// As if the catalog's edges didn't matter
    #[arg(long)]
    force: bool,
    /// Show objects that stay as they are too
    #[arg(short, long)]
    all: bool,
    #[command(flatten)]
    observation: ObservationFlags,
    #[command(flatten)]
    output: OutputFlag,
}

/// What would be done for an extension.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Planned {
    extension: String,
    /// What the status would say of the progress.
    progress: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    waits_for: Option<String>,
    revisions: Vec<PlannedRevision>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PlannedRevision {
    name: String,
    action: &'static str,
    /// What would become of its objects.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "as_json")]
    objects: Vec<Change>,
}

fn as_json<S: serde::Serializer>(changes: &[Change], serializer: S) -> Result<S::Ok, S::Error> {
    changes
        .iter()
        .map(Change::to_json)
        .collect::<Vec<Value>>()
        .serialize(serializer)
}

impl Plan {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        runtime::block_on(async {
            let observer = observed_cluster::observe(&self.observation, terminal).await?;
            let mut extension = Extensions::of(observer.client.clone()).read(&self.name).await?;
            if let Some(catalog) = &mut extension.spec.source.catalog {
                if let Some(version) = &self.version {
                    catalog.version.clone_from(version);
                }
                if self.force {
                    catalog.upgrade_constraint_policy =
                        api::cluster_extension::UpgradeConstraintPolicy::SelfCertified;
                }
            }
            let snapshot = observer.observe(&extension).await;
            let choice = choose(&snapshot);
            let content = observer.content(&snapshot, &choice).await;
            let decided = decide(&snapshot, &choice, content.as_ref());
            let engine = Engine::new(observer.client.clone(), self.observation.system_namespace.clone());
            let planned = planned(&self.name, &engine, decided).await?;
            self.output
                .print(terminal, &planned, |planned| told(planned, self.all))
        })
    }
}

async fn planned(name: &str, engine: &Engine, decided: Decided) -> Result<Planned, Failure> {
    let mut revisions = Vec::with_capacity(decided.writes.len());
    for write in decided.writes {
        revisions.push(match write {
            Write::Delete(name) => PlannedRevision {
                name,
                action: "delete",
                objects: Vec::new(),
            },
            Write::Create(next) => PlannedRevision {
                name: next.object_set.name_any(),
                action: "make",
                objects: engine.preview(&with_objects(*next)?).await?,
            },
            Write::Change(set) => PlannedRevision {
                name: set.name_any(),
                action: "change",
                objects: Vec::new(),
            },
        });
    }
    let progressing = api::condition::find(&decided.status.conditions, "Progressing");
    Ok(Planned {
        extension: name.to_owned(),
        progress: progressing.map_or_else(String::new, |condition| {
            format!("{}: {}", condition.reason, condition.message)
        }),
        waits_for: decided.waiting,
        revisions,
    })
}

/// A revision with its objects in itself: the Secrets that would keep them aren't made.
fn with_objects(next: NewRevision) -> Result<ClusterObjectSet, Failure> {
    let NewRevision {
        mut object_set,
        secrets,
        ..
    } = next;
    for entry in object_set
        .spec
        .phases
        .iter_mut()
        .flat_map(|phase| &mut phase.objects)
    {
        let Some(reference) = entry.reference.take() else {
            continue;
        };
        let secret = secrets
            .iter()
            .find(|secret| secret.metadata.name.as_deref() == Some(reference.name.as_str()));
        let Some(secret) = secret else {
            return Err(Failure::new(format!(
                "the plan has no Secret {:?}",
                reference.name
            )));
        };
        entry.object = Some(apply::secrets::read(
            secret,
            &reference.namespace,
            &reference.name,
            &reference.key,
        )?);
    }
    Ok(object_set)
}

fn told(planned: &Planned, all: bool) -> String {
    let mut text = String::new();
    if let Some(waits_for) = &planned.waits_for {
        let _ = writeln!(text, "{}: {waits_for}", planned.extension);
    }
    if planned.revisions.is_empty() {
        let _ = writeln!(
            text,
            "{}: nothing to do ({})",
            planned.extension, planned.progress
        );
        return text;
    }
    for revision in &planned.revisions {
        let _ = writeln!(
            text,
            "{}: {} revision {}",
            planned.extension, revision.action, revision.name
        );
        let shown = revision
            .objects
            .iter()
            .filter(|change| all || change.what != What::Same);
        for change in shown {
            for line in change.to_string().lines() {
                let _ = writeln!(text, "  {line}");
            }
        }
        let count = |what: fn(&What) -> bool| {
            revision
                .objects
                .iter()
                .filter(|change| what(&change.what))
                .count()
        };
        if !revision.objects.is_empty() {
            let _ = writeln!(
                text,
                "  {} to make, {} to change, {} to delete, {} as they are, {} refused",
                count(|what| matches!(what, What::Create)),
                count(|what| matches!(what, What::Update)),
                count(|what| matches!(what, What::Delete)),
                count(|what| matches!(what, What::Same)),
                count(|what| matches!(what, What::Refused(_))),
            );
        }
    }
    text
}
