//! `baton adopt`: an operator that OLM v0 installed, looked after by a ClusterExtension from now on.

mod carrying_out;
mod looking;

use std::collections::BTreeMap;

use ::classic::Kind;
use api::cluster_extension::{CatalogFilter, ClusterExtensionSpec, Configuration, ExtensionSource};
use api::{ClusterExtension, keys};
use apply::engine::Engine;
use apply::object::text;
use clap::Args;
use extension_controller::adoption::classic::rights::{Becomes, Right};
use extension_controller::adoption::classic::webhooks::without_namespace;
use extension_controller::adoption::classic::{
    self, Action, ClassicInstallation, Step, Takeover, WatchedNamespaces,
};
use extension_controller::choosing::choose;
use extension_controller::snapshot::NoContent;
use serde_json::{Map, Value};

use self::carrying_out::Handover;
use crate::failure::Failure;
use crate::observed_cluster::{self, ObservationFlags};
use crate::output::{OutputFlag, columns};
use crate::planned_steps::{self, PlannedStep, object_name};
use crate::runtime;
use crate::terminal::Terminal;
use crate::waiting::WaitFlags;

/// Lets a ClusterExtension take over an operator that OLM v0 installed, after showing what becomes of each object and right.
///
/// The operator goes on watching the namespace that its OperatorGroup selects, or all of them.
#[derive(Args)]
pub(crate) struct Adopt {
    /// The Subscription that installed the operator
    #[arg(value_name = "SUBSCRIPTION")]
    pub(super) subscription: String,
    /// The namespace of the Subscription
    #[arg(short, long, value_name = "NAMESPACE")]
    pub(super) namespace: String,
    /// The name of the ClusterExtension; without it, that of the package
    #[arg(long, value_name = "NAME")]
    pub(super) name: Option<String>,
    /// Do it; without this, the plan is printed and nothing changes
    #[arg(short, long)]
    pub(super) yes: bool,
    /// Take over although the operator may do more then, or in more namespaces
    #[arg(long)]
    pub(super) allow_wider: bool,
    #[command(flatten)]
    pub(super) wait: WaitFlags,
    #[command(flatten)]
    pub(super) observation: ObservationFlags,
    #[command(flatten)]
    pub(super) output: OutputFlag,
}

impl Adopt {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        runtime::block_on(async {
            let observer = observed_cluster::observe(&self.observation, terminal).await?;
            let client = observer.client.clone();
            let namespace = self.namespace.as_str();
            let subscription =
                looking::read(&client, Kind::Subscription, namespace, &self.subscription).await?;
            let installed = text(&subscription, "/status/installedCSV").to_owned();
            let package = text(&subscription, "/spec/name").to_owned();
            if installed.is_empty() {
                return Err(Failure::new(format!(
                    "Subscription {namespace}/{} has installed nothing yet: status.installedCSV is empty; wait until it has, or \
                     use `baton install {package}`",
                    self.subscription,
                )));
            }
            let channel = text(&subscription, "/spec/channel").to_owned();
            let service_version =
                looking::read(&client, Kind::ClusterServiceVersion, namespace, &installed).await?;
            let version = text(&service_version, "/spec/version").to_owned();
            let mut installation = ClassicInstallation {
                subscription,
                cluster_service_version: service_version,
                ..ClassicInstallation::default()
            };
            classic::check(&package, namespace, &installation)?;
            let groups = looking::list(&client, Kind::OperatorGroup, namespace, "").await?;
            let watched = WatchedNamespaces::of(namespace, &groups, &installation.cluster_service_version)?;
            let selects_by_labels = groups.iter().any(|group| {
                group.pointer("/spec/targetNamespaces").is_none_or(is_empty)
                    && group
                        .pointer("/spec/selector")
                        .is_some_and(|selector| !is_empty(selector))
            });
            if selects_by_labels {
                terminal.remark(
                    "the OperatorGroup selects by labels, and the extension won't: namespaces that get the labels later are not \
                     watched",
                );
            }
            let extension = self.extension(&package, &channel, &version, &watched);
            let snapshot = observer.observe(&extension).await;
            let wanted = match observer.content(&snapshot, &choose(&snapshot)).await {
                Some(Ok(content)) => content.objects,
                Some(Err(NoContent::Pull(failure) | NoContent::Apply(failure))) => {
                    return Err(Failure::new(format!(
                        "cannot plan the extension: {}",
                        failure.message
                    )));
                }
                None => {
                    return Err(Failure::new(format!(
                        "no catalog of this cluster has version {version} of package {package:?}; add the one that has it with \
                         `baton catalog add`",
                    )));
                }
            };
            let wanted: Vec<Value> = wanted.into_iter().map(without_namespace).collect();
            let engine = Engine::new(client.clone(), self.observation.system_namespace.clone());
            let operator = (namespace, installed.as_str());
            let found = looking::look(&client, &engine, operator, watched.configured(), &wanted).await?;
            installation.objects = found.objects;
            installation.rights_of_others = found.rights_of_others;
            let takeover = classic::plan(&installation, &watched, &wanted);
            self.output.print(terminal, &takeover, told)?;
            let widening = self.widening(&takeover);
            if !self.yes {
                terminal.remark(match &widening {
                    None => "nothing was changed; do it with --yes".to_owned(),
                    Some(widening) => {
                        format!("nothing was changed; {widening}: do it with --yes --allow-wider")
                    }
                });
                return Ok(());
            }
            if let Some(widening) = widening {
                return Err(Failure::new(format!(
                    "nothing was changed; {widening}: allow it with --allow-wider, or leave the operator with OLM v0"
                )));
            }
            let handover = Handover {
                client: &client,
                installation: &installation,
                steps: &takeover.steps,
                wait: self.wait,
            };
            handover.carry_out(&extension, terminal).await
        })
    }

    /// Says what the operator may do more, unless that is allowed.
    fn widening(&self, takeover: &Takeover) -> Option<String> {
        let mut widening = takeover.widening();
        let first = widening.next().filter(|_| !self.allow_wider)?;
        let rights = match widening.count() {
            0 => "1 right widens".to_owned(),
            more => format!("{} rights widen", more + 1),
        };
        Some(format!(
            "{rights}, such as {:?} of ServiceAccount {}, which is for {} and would be for {}",
            first.told(),
            first.service_account,
            first.before.told(),
            first.after.told()
        ))
    }

    /// The extension that takes over: at the installed version, until somebody lets it go on, and watching what is watched.
    fn extension(
        &self,
        package: &str,
        channel: &str,
        version: &str,
        watched: &WatchedNamespaces,
    ) -> ClusterExtension {
        let inline = watched.configured().map(|namespace| {
            let setting = ("watchNamespace".to_owned(), Value::from(namespace));
            Map::from_iter([setting])
        });
        let mut extension = ClusterExtension::new(
            self.name.as_deref().unwrap_or(package),
            ClusterExtensionSpec {
                namespace: self.namespace.clone(),
                source: ExtensionSource {
                    source_type: "Catalog".to_owned(),
                    catalog: Some(CatalogFilter {
                        package_name: package.to_owned(),
                        version: version.to_owned(),
                        channels: Some(channel.to_owned())
                            .filter(|channel| !channel.is_empty())
                            .into_iter()
                            .collect(),
                        ..CatalogFilter::default()
                    }),
                },
                config: inline.map(|inline| Configuration {
                    config_type: "Inline".to_owned(),
                    inline: Some(inline),
                }),
                ..ClusterExtensionSpec::default()
            },
        );
        let adopts = BTreeMap::from([(keys::ADOPT.to_owned(), "unowned".to_owned())]);
        extension.metadata.annotations = Some(adopts);
        extension
    }
}

fn is_empty(value: &Value) -> bool {
    value.as_array().is_none_or(Vec::is_empty) && value.as_object().is_none_or(Map::is_empty)
}

/// The plan for people: objects, webhooks, then rights.
fn told(takeover: &Takeover) -> String {
    let mut told = table(&takeover.steps);
    if !takeover.webhooks.is_empty() {
        told.push('\n');
        let mut rows = vec![["WEBHOOK", "TYPE", "NOW", "THEN"].map(str::to_owned).to_vec()];
        rows.extend(takeover.webhooks.iter().map(|webhook| {
            vec![
                webhook.name.clone(),
                webhook.kind.clone(),
                webhook.before.join(", "),
                webhook.after.join(", "),
            ]
        }));
        told.push_str(&columns(&rows));
    }
    if !takeover.rights.is_empty() {
        told.push('\n');
        let header = ["SERVICEACCOUNT", "MAY", "NOW", "THEN", "WHICH"];
        let mut rows = vec![header.map(str::to_owned).to_vec()];
        rows.extend(takeover.rights.iter().map(right_told));
        told.push_str(&columns(&rows));
    }
    told.push('\n');
    match &takeover.watch_namespace {
        Some(namespace) => {
            told.push_str("The operator goes on watching namespace ");
            told.push_str(namespace);
            told.push_str(": spec.config.inline.watchNamespace.\n");
        }
        None => told.push_str("The operator goes on watching all namespaces.\n"),
    }
    told
}

fn right_told(right: &Right) -> Vec<String> {
    let becomes = match right.becomes {
        // What mustn't be overlooked.
        Becomes::Widens => "WIDENS",
        Becomes::Narrows => "narrows",
        Becomes::Stays => "stays",
    };
    vec![
        right.service_account.clone(),
        right.told(),
        right.before.told(),
        right.after.told(),
        becomes.to_owned(),
    ]
}

fn table(steps: &[Step]) -> String {
    planned_steps::table(steps.iter().map(|step| {
        let action = match step.action {
            Action::DeleteAlone => "delete, keep what it owns",
            Action::TakeOver => "take over",
            Action::Create => "make",
            Action::Delete => "delete",
        };
        PlannedStep {
            action,
            object: object_name(&step.kind, &step.namespace, &step.name),
            because: &step.because,
        }
    }))
}
