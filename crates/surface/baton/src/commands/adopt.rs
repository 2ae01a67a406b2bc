//! `baton adopt`: an operator that OLM v0 installed, looked after by a ClusterExtension from now on.

use std::collections::BTreeMap;

use api::cluster_extension::{CatalogFilter, ClusterExtensionSpec, ExtensionSource};
use api::{ClusterExtension, keys};
use apply::engine::Engine;
use apply::object::ObjectId;
use apply::refusal::is_not_found;
use clap::Args;
use extension_controller::adoption::classic::{self, Action, ClassicInstallation, Step};
use extension_controller::choosing::choose;
use extension_controller::snapshot::NoContent;
use kube::Client;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PropagationPolicy};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

use crate::cluster::{lacks_kind, refused};
use crate::commands::install::told as told_installed;
use crate::extensions::Extensions;
use crate::failure::Failure;
use crate::observed_cluster::{self, ObservationFlags};
use crate::output::OutputFlag;
use crate::planned_steps::{self, PlannedStep, object_name};
use crate::runtime;
use crate::terminal::Terminal;
use crate::waiting::WaitFlags;

/// The API of OLM v0.
const CLASSIC: (&str, &str) = ("operators.coreos.com", "v1alpha1");

/// The label by which OLM v0 knows the objects that it made for a ClusterServiceVersion.
const OWNER_LABEL: &str = "olm.owner";

/// The label that tells `ClusterServiceVersion`s of one name apart: objects of the cluster are in no namespace.
const OWNER_NAMESPACE_LABEL: &str = "olm.owner.namespace";

/// The kinds that OLM v0 makes for a ClusterServiceVersion: group, version, kind, whether they are in a namespace.
const MADE_BY_CLASSIC: [(&str, &str, &str, bool); 7] = [
    ("rbac.authorization.k8s.io", "v1", "ClusterRole", false),
    ("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", false),
    ("rbac.authorization.k8s.io", "v1", "Role", true),
    ("rbac.authorization.k8s.io", "v1", "RoleBinding", true),
    ("apps", "v1", "Deployment", true),
    ("", "v1", "ServiceAccount", true),
    ("", "v1", "Service", true),
];

/// Lets a ClusterExtension take over an operator that OLM v0 installed, after showing what becomes of each object.
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
            let subscription = self.read(&client, "Subscription", &self.subscription).await?;
            let text = |object: &Value, pointer: &str| {
                object
                    .pointer(pointer)
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned()
            };
            let installed = text(&subscription, "/status/installedCSV");
            if installed.is_empty() {
                return Err(Failure::new(format!(
                    "Subscription {}/{} has installed nothing yet: status.installedCSV is empty; wait until it has, or use `baton \
                     install {}`",
                    self.namespace,
                    self.subscription,
                    text(&subscription, "/spec/name")
                )));
            }
            let service_version = self.read(&client, "ClusterServiceVersion", &installed).await?;
            let package = text(&subscription, "/spec/name");
            let extension = self.extension(
                &package,
                &text(&subscription, "/spec/channel"),
                &text(&service_version, "/spec/version"),
            );
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
                        "no catalog of this cluster has version {} of package {package:?}; add the one that has it with `baton \
                         catalog add`",
                        text(&service_version, "/spec/version")
                    )));
                }
            };
            let objects = self.existing(&client, &installed, &wanted).await?;
            let installation = ClassicInstallation {
                subscription,
                cluster_service_version: service_version,
                objects,
            };
            let steps = classic::plan(&package, &self.namespace, &installation, &wanted)?;
            self.output.print(terminal, &steps, |steps| table(steps))?;
            if !self.yes {
                terminal.remark("nothing was changed; do it with --yes");
                return Ok(());
            }
            self.carry_out(&client, &extension, &steps, terminal).await
        })
    }

    /// The extension that takes over: at the installed version, until somebody lets it go on.
    fn extension(&self, package: &str, channel: &str, version: &str) -> ClusterExtension {
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
                ..ClusterExtensionSpec::default()
            },
        );
        let adopts = BTreeMap::from([(keys::ADOPT.to_owned(), "unowned".to_owned())]);
        extension.metadata.annotations = Some(adopts);
        extension
    }

    async fn read(&self, client: &Client, kind: &str, name: &str) -> Result<Value, Failure> {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(CLASSIC.0, CLASSIC.1, kind));
        let objects: Api<DynamicObject> = Api::namespaced_with(client.clone(), &self.namespace, &resource);
        let object = objects.get(name).await.map_err(|error| match &error {
            error if lacks_kind(error) => Failure::new(format!(
                "the cluster has no {}: OLM v0 isn't on it, and there is nothing to take over; `baton install` installs a package",
                resource.plural
            )),
            error if is_not_found(error) => Failure::new(format!(
                "{kind} {}/{name} isn't there; `kubectl get {}.{} --all-namespaces` lists what there is",
                self.namespace, resource.plural, CLASSIC.0
            )),
            _ => refused(&format!("read {kind} {}/{name}", self.namespace), error),
        })?;
        let mut object = serde_json::to_value(object)?;
        object["apiVersion"] = json!(format!("{}/{}", CLASSIC.0, CLASSIC.1));
        object["kind"] = json!(kind);
        Ok(object)
    }

    /// What is there of what the extension wants, and of what OLM v0 made.
    async fn existing(
        &self,
        client: &Client,
        service_version: &str,
        wanted: &[Value],
    ) -> Result<Vec<Value>, Failure> {
        let mut found = Vec::new();
        let owned = ListParams::default().labels(&format!(
            "{OWNER_LABEL}={service_version},{OWNER_NAMESPACE_LABEL}={}",
            self.namespace
        ));
        for (group, version, kind, is_namespaced) in MADE_BY_CLASSIC {
            let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
            let objects: Api<DynamicObject> = if is_namespaced {
                Api::namespaced_with(client.clone(), &self.namespace, &resource)
            } else {
                Api::all_with(client.clone(), &resource)
            };
            let list = objects.list(&owned).await;
            for object in list.map_err(|error| refused(&format!("list {}", resource.plural), error))? {
                let mut object = serde_json::to_value(object)?;
                object["apiVersion"] = json!(resource.api_version);
                object["kind"] = json!(kind);
                found.push(object);
            }
        }
        let engine = Engine::new(client.clone(), self.observation.system_namespace.clone());
        for object in wanted {
            if engine.live(&ObjectId::of(object)).await?.is_some() {
                found.push(object.clone());
            }
        }
        Ok(found)
    }

    async fn carry_out(
        &self,
        client: &Client,
        extension: &ClusterExtension,
        steps: &[Step],
        terminal: &mut Terminal,
    ) -> Result<(), Failure> {
        let alone = DeleteParams {
            propagation_policy: Some(PropagationPolicy::Orphan),
            ..DeleteParams::default()
        };
        let extensions = Extensions::of(client.clone());
        // Tried first: nothing goes before it is known that something can take its place.
        extensions.create(extension, true).await?;
        // Who goes takes these along, by a label; until others are in their place, the operator works with them.
        let goes_along = |step: &&Step| step.action == Action::Delete && step.namespace.is_empty();
        for step in steps.iter().filter(goes_along) {
            let_go(client, step).await?;
        }
        for step in steps.iter().filter(|step| step.action == Action::DeleteAlone) {
            delete(client, step, &alone).await?;
        }
        let made = extensions.create(extension, false).await?;
        let installed = extensions.wait_installed(&made, self.wait, terminal).await?;
        // Only now: until the new ones are there, the operator works with these.
        for step in steps.iter().filter(|step| step.action == Action::Delete) {
            delete(client, step, &DeleteParams::background()).await?;
        }
        terminal.remark(told_installed(&installed).trim_end());
        Ok(())
    }
}

fn objects_of(client: &Client, step: &Step) -> Api<DynamicObject> {
    let (group, version) = step
        .api_version
        .split_once('/')
        .unwrap_or(("", &step.api_version));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, &step.kind));
    if step.namespace.is_empty() {
        Api::all_with(client.clone(), &resource)
    } else {
        Api::namespaced_with(client.clone(), &step.namespace, &resource)
    }
}

/// Takes the label from an object by which OLM v0 deletes it with its ClusterServiceVersion.
async fn let_go(client: &Client, step: &Step) -> Result<(), Failure> {
    let change = json!({"metadata": {"labels": {OWNER_LABEL: null}}});
    let changed = objects_of(client, step)
        .patch(&step.name, &PatchParams::default(), &Patch::Merge(&change))
        .await;
    match changed {
        Err(error) if is_not_found(&error) => Ok(()),
        changed => changed
            .map(drop)
            .map_err(|error| refused(&format!("change {} {:?}", step.kind, step.name), error)),
    }
}

async fn delete(client: &Client, step: &Step, how: &DeleteParams) -> Result<(), Failure> {
    match objects_of(client, step).delete(&step.name, how).await {
        Err(error) if is_not_found(&error) => Ok(()),
        deleted => deleted
            .map(drop)
            .map_err(|error| refused(&format!("delete {} {:?}", step.kind, step.name), error)),
    }
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
