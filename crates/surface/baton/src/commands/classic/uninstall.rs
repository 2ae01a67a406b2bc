//! `baton classic uninstall`: an operator of OLM v0, gone in the right order, with as much of what it left as is asked for.

mod cluster_roles;
mod plan;

use std::collections::BTreeSet;
use std::time::Duration;

use apply::object::{annotation, label, text};
use apply::refusal::is_not_found;
use clap::Args;
use classic::{Kind, keys};
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use serde_json::Value;

use self::plan::{Action, Definition, Found, Step, Wish, plan};
use crate::cluster::ClusterAccess;
use crate::failure::Failure;
use crate::output::OutputFlag;
use crate::planned_steps::{self, PlannedStep};
use crate::runtime;
use crate::subscriptions::{Subscriptions, place, unreachable};
use crate::terminal::Terminal;
use crate::waiting::WaitFlags;

/// How often it is looked whether something is gone.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Removes a Subscription and its operator, and waits until both are gone.
///
/// Definitions of custom resources and the resources stay, unless it is asked for more.
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Uninstall {
    /// The Subscription, or its package
    #[arg(value_name = "NAME")]
    name: String,
    /// The namespace of the Subscription; without it, all are looked through
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// Delete the operator's custom resources first, while it can still clean up after them
    #[arg(long)]
    delete_operands: bool,
    /// Delete the definitions of its custom resources, unless another operator uses them
    #[arg(long, conflicts_with = "keep_crds")]
    delete_crds: bool,
    /// Leave the definitions of its custom resources; this is so without the flag too
    #[arg(long)]
    keep_crds: bool,
    /// Delete the OperatorGroup if nothing else in the namespace needs it
    #[arg(long)]
    delete_group: bool,
    /// Delete all of these
    #[arg(short = 'X', long, conflicts_with = "keep_crds")]
    delete_all: bool,
    /// Print what would be deleted and what would stay, and delete nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    wait: WaitFlags,
    #[command(flatten)]
    access: ClusterAccess,
    #[command(flatten)]
    output: OutputFlag,
}

impl Uninstall {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        runtime::block_on(async {
            let subscriptions = Subscriptions::of(self.access.connect().await?);
            let subscription = subscriptions.find(&self.name, self.namespace.as_deref()).await?;
            let found = look(&subscriptions, subscription).await?;
            let wish = Wish {
                operands: self.delete_operands || self.delete_all,
                definitions: self.delete_crds || self.delete_all,
                group: self.delete_group || self.delete_all,
            };
            let steps = plan(&found, wish).map_err(Failure::new)?;
            if !self.dry_run {
                for step in steps.iter().filter(|step| step.action == Action::Delete) {
                    self.delete(&subscriptions, step, terminal).await?;
                }
            }
            self.output.print(terminal, &steps, |steps| table(steps))?;
            if self.dry_run {
                terminal.remark("nothing was deleted; do it without --dry-run");
            }
            Ok(())
        })
    }

    /// Deletes one object, and waits until it is gone: the next one may need that.
    async fn delete(
        &self,
        subscriptions: &Subscriptions,
        step: &Step,
        terminal: &mut Terminal,
    ) -> Result<(), Failure> {
        let objects = objects(subscriptions, step);
        match objects.delete(&step.name, &DeleteParams::background()).await {
            Err(error) if is_not_found(&error) => return Ok(()),
            deleted => deleted.map_err(|error| unreachable(&format!("delete {}", step.object()), error))?,
        };
        if self.wait.is_declined() {
            return Ok(());
        }
        terminal.remark(format!("deleting {}", step.object()));
        let going = async {
            while objects.get_metadata_opt(&step.name).await?.is_some() {
                tokio::time::sleep(LOOK_EVERY).await;
            }
            Ok::<_, kube::Error>(())
        };
        match tokio::time::timeout(self.wait.patience(), going).await {
            Ok(gone) => gone.map_err(|error| unreachable(&format!("read {}", step.object()), error)),
            Err(_) => Err(Failure::new(format!(
                "{} is still there after {} s: a finalizer holds it, see `kubectl get {} {}{} -o yaml`; run the command again to \
                 go on, or wait longer with --timeout",
                step.object(),
                self.wait.patience().as_secs(),
                step.plural,
                step.name,
                match step.namespace.as_str() {
                    "" => String::new(),
                    namespace => format!(" -n {namespace}"),
                }
            ))),
        }
    }
}

fn objects(subscriptions: &Subscriptions, step: &Step) -> Api<DynamicObject> {
    let (group, version) = step
        .api_version
        .split_once('/')
        .unwrap_or(("", &step.api_version));
    let kind = GroupVersionKind::gvk(group, version, &step.kind);
    let resource = ApiResource::from_gvk_with_plural(&kind, &step.plural);
    let client = subscriptions.client().clone();
    if step.namespace.is_empty() {
        Api::all_with(client, &resource)
    } else {
        Api::namespaced_with(client, &step.namespace, &resource)
    }
}

/// Looks at everything that the decision depends on.
async fn look(subscriptions: &Subscriptions, subscription: Value) -> Result<Found, Failure> {
    let (namespace, name) = place(&subscription);
    let (versions, in_namespace, groups) = tokio::try_join!(
        subscriptions.list(Kind::ClusterServiceVersion, ""),
        subscriptions.list(Kind::Subscription, &namespace),
        subscriptions.list(Kind::OperatorGroup, &namespace),
    )?;
    let versions: Vec<Value> = versions
        .into_iter()
        .filter(|version| label(version, keys::COPIED_FROM).is_none())
        .collect();
    // In the middle of an upgrade there are two of them, or more where one follows at once on the other.
    let mut names: BTreeSet<String> = ["/status/installedCSV", "/status/currentCSV"]
        .map(|pointer| text(&subscription, pointer).to_owned())
        .into();
    let here = |version: &&Value| place(version).0 == namespace;
    while let Some(replaced) = versions.iter().filter(here).find_map(|version| {
        let replaces = text(version, "/spec/replaces");
        let is_found = names.contains(&place(version).1) && !replaces.is_empty() && !names.contains(replaces);
        is_found.then(|| replaces.to_owned())
    }) {
        names.insert(replaced);
    }
    let is_installed = |version: &&Value| here(version) && names.contains(&place(version).1);
    let installed: Vec<Value> = versions.iter().filter(is_installed).cloned().collect();
    let brought: BTreeSet<&str> = installed.iter().flat_map(owned).collect();
    let mut definitions = Vec::new();
    for owned in brought {
        let users = versions.iter().filter(|other| !is_installed(other));
        let users = users.filter(|other| self::owned(other).any(|name| name == owned));
        let users: Vec<String> = users
            .map(|other| {
                let (namespace, name) = place(other);
                format!("{namespace}/{name}")
            })
            .collect();
        let found = subscriptions
            .get(Kind::CustomResourceDefinition, "", owned)
            .await?;
        if let Some(definition) = found {
            let operands = operands(subscriptions, &definition, installed.first()).await?;
            definitions.push(Definition {
                name: owned.to_owned(),
                users,
                operands,
            });
        }
    }
    let made_by = text(&subscription, "/status/installPlanRef/name");
    let dependencies = in_namespace
        .iter()
        .filter(|other| !made_by.is_empty() && annotation(other, keys::GENERATED_BY) == Some(made_by))
        .map(|other| place(other).1);
    let dependencies: Vec<String> = dependencies.filter(|other| *other != name).collect();
    let others_there = in_namespace.iter().filter(|other| place(other).1 != name).count()
        + versions
            .iter()
            .filter(|other| place(other).0 == namespace && !is_installed(other))
            .count();
    let groups: Vec<String> = groups.iter().map(|group| place(group).1).collect();
    let mut roles = subscriptions.list(Kind::ClusterRole, "").await?;
    roles.extend(subscriptions.list(Kind::ClusterRoleBinding, "").await?);
    let operator = cluster_roles::Operator {
        package: text(&subscription, "/spec/name"),
        namespace: &namespace,
        versions: &names,
        there: versions
            .iter()
            .filter(here)
            .map(|version| place(version).1)
            .collect(),
        definitions: definitions
            .iter()
            .map(|definition| definition.name.as_str())
            .collect(),
        groups: groups.iter().map(String::as_str).collect(),
    };
    let cluster_roles = roles.iter().filter_map(|role| operator.made(role)).collect();
    Ok(Found {
        dependencies,
        has_others: others_there > 0,
        groups,
        cluster_roles,
        versions: installed,
        subscription,
        definitions,
    })
}

/// The definitions that a version brings.
fn owned(version: &Value) -> impl Iterator<Item = &str> {
    let owned = version
        .pointer("/spec/customresourcedefinitions/owned")
        .and_then(Value::as_array);
    owned.into_iter().flatten().map(|owned| text(owned, "/name"))
}

/// The custom resources of a definition that a version looks after.
async fn operands(
    subscriptions: &Subscriptions,
    definition: &Value,
    version: Option<&Value>,
) -> Result<Vec<Step>, Failure> {
    let versions = definition.pointer("/spec/versions").and_then(Value::as_array);
    let stored = versions
        .into_iter()
        .flatten()
        .find(|version| version.get("storage") == Some(&Value::Bool(true)));
    let Some(stored) = stored else {
        return Ok(Vec::new());
    };
    let api_version = format!("{}/{}", text(definition, "/spec/group"), text(stored, "/name"));
    let sample = Step {
        action: Action::Delete,
        api_version,
        kind: text(definition, "/spec/names/kind").to_owned(),
        plural: text(definition, "/spec/names/plural").to_owned(),
        namespace: String::new(),
        name: String::new(),
        because: String::new(),
    };
    let targets = version.and_then(|version| annotation(version, keys::TARGET_NAMESPACES));
    let targets: Vec<&str> = targets
        .unwrap_or_default()
        .split(',')
        .filter(|namespace| !namespace.is_empty())
        .collect();
    let list = objects(subscriptions, &sample)
        .list_metadata(&ListParams::default())
        .await
        .map_err(|error| unreachable(&format!("list {}", sample.plural), error))?;
    let found = list.items.into_iter().map(|object| Step {
        namespace: object.metadata.namespace.unwrap_or_default(),
        name: object.metadata.name.unwrap_or_default(),
        ..sample.clone()
    });
    let is_looked_after = |step: &Step| {
        targets.is_empty() || step.namespace.is_empty() || targets.contains(&step.namespace.as_str())
    };
    Ok(found.filter(is_looked_after).collect())
}

fn table(steps: &[Step]) -> String {
    planned_steps::table(steps.iter().map(|step| {
        let action = match step.action {
            Action::Delete => "delete",
            Action::Keep => "keep",
        };
        PlannedStep {
            action,
            object: step.object(),
            because: &step.because,
        }
    }))
}
