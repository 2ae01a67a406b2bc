//! Takes over an operator as planned: nothing that it needs goes before something else is in its place.

use std::time::Duration;

use ::classic::keys;
use api::ClusterExtension;
use apply::object::{ObjectId, text};
use apply::owners;
use apply::refusal::{is_already_there, is_not_found};
use extension_controller::adoption::classic::webhooks::{called_namespaces, calls_webhooks, unanswered};
use extension_controller::adoption::classic::{Action, ClassicInstallation, Step};
use kube::Client;
use kube::api::{
    Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams, PropagationPolicy,
};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

use crate::cluster::{FIELD_MANAGER, refused};
use crate::commands::install::told as told_installed;
use crate::extensions::Extensions;
use crate::failure::Failure;
use crate::planned_steps::object_name;
use crate::terminal::Terminal;
use crate::waiting::WaitFlags;

/// How often it is looked whether something is gone, or answers.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// A plan that is carried out.
pub(super) struct Handover<'a> {
    pub(super) client: &'a Client,
    pub(super) installation: &'a ClassicInstallation,
    pub(super) steps: &'a [Step],
    pub(super) wait: WaitFlags,
}

impl Handover<'_> {
    pub(super) async fn carry_out(
        &self,
        extension: &ClusterExtension,
        terminal: &mut Terminal,
    ) -> Result<(), Failure> {
        let alone = DeleteParams {
            propagation_policy: Some(PropagationPolicy::Orphan),
            ..DeleteParams::default()
        };
        let extensions = Extensions::of(self.client.clone());
        // Tried first: nothing goes before it is known that something can take its place.
        extensions.create(extension, true).await?;
        let calling: Vec<&Value> = self
            .installation
            .objects
            .iter()
            .filter(|object| calls_webhooks(object))
            .collect();
        let mut going = self.steps_of(Action::DeleteAlone);
        if let Some(subscription) = going.next() {
            delete(self.client, subscription, &alone).await?;
        }
        // Who goes takes these along, by a label or through its copy; until others are in their place, the operator works
        // with them.
        for object in self
            .installation
            .objects
            .iter()
            .filter(|object| self.goes_along(object))
        {
            let_go(self.client, object).await?;
        }
        for version in going {
            delete(self.client, version, &alone).await?;
            if !calling.is_empty() {
                self.restore_when_gone(version, &calling).await?;
            }
        }
        let made = extensions.create(extension, false).await?;
        let installed = extensions.wait_installed(&made, self.wait, terminal).await?;
        if self.wait.is_declined() {
            let left: Vec<String> = self.steps_of(Action::Delete).map(named).collect();
            if !left.is_empty() {
                terminal.remark(format!(
                    "left for you to delete when ClusterExtension {} is installed, since nobody waits for that: {}",
                    extension.metadata.name.as_deref().unwrap_or_default(),
                    left.join(", ")
                ));
            }
            return Ok(());
        }
        // Only now: until the new ones are there, the operator works with these.
        self.await_answers(terminal).await?;
        for step in self.steps_of(Action::Delete) {
            delete(self.client, step, &DeleteParams::background()).await?;
        }
        terminal.remark(told_installed(&installed).trim_end());
        Ok(())
    }

    fn steps_of(&self, action: Action) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(move |step| step.action == action)
    }

    /// Whether an object is one that the extension doesn't take over, and that goes with the ClusterServiceVersion although
    /// that is told to leave what it owns.
    fn goes_along(&self, object: &Value) -> bool {
        let id = ObjectId::of(object);
        let own = text(&self.installation.subscription, "/metadata/namespace");
        let is_replaced = self
            .steps_of(Action::Delete)
            .any(|step| (&step.kind, &step.namespace, &step.name) == (&id.kind, &id.namespace, &id.name));
        is_replaced && id.namespace != own
    }

    /// Waits until the ClusterServiceVersion is gone, and makes again what went with it although it shall stay: OLM v0 undoes
    /// conversions, and may have put its label on a configuration once more.
    async fn restore_when_gone(&self, version: &Step, calling: &[&Value]) -> Result<(), Failure> {
        let versions = objects_of(self.client, &id_of(version));
        let gone = async {
            while versions.get_metadata_opt(&version.name).await?.is_some() {
                tokio::time::sleep(LOOK_EVERY).await;
            }
            Ok::<_, kube::Error>(())
        };
        match tokio::time::timeout(self.wait.patience(), gone).await {
            Ok(gone) => gone.map_err(|error| refused(&format!("read {}", named(version)), error))?,
            // It goes on in the cluster, and the extension puts right what it undoes later.
            Err(_) => return Ok(()),
        }
        for object in calling {
            restore(self.client, object).await?;
        }
        Ok(())
    }

    /// Waits until the webhooks that the extension made are answered.
    async fn await_answers(&self, terminal: &mut Terminal) -> Result<(), Failure> {
        let replaced = self
            .steps_of(Action::Delete)
            .filter(|step| step.kind.ends_with("WebhookConfiguration"));
        let replaced: Vec<String> = replaced.map(named).collect();
        let made = self
            .steps
            .iter()
            .filter(|step| matches!(step.action, Action::Create | Action::TakeOver));
        for step in made.filter(|step| step.kind.ends_with("WebhookConfiguration")) {
            let mut said = String::new();
            let answered = async {
                while let Some(why) = self.missing(step).await? {
                    if why != said {
                        terminal.remark(format!("waiting: {why}"));
                        said = why;
                    }
                    tokio::time::sleep(LOOK_EVERY).await;
                }
                Ok::<_, Failure>(())
            };
            if let Ok(answered) = tokio::time::timeout(self.wait.patience(), answered).await {
                answered?;
            } else {
                return Err(Failure::new(format!(
                    "after {} s the new webhook isn't answered: {said}; the old ones are left as they are ({}): delete them with \
                     kubectl once it is",
                    self.wait.patience().as_secs(),
                    replaced.join(", ")
                )));
            }
        }
        Ok(())
    }

    /// What is missing until a webhook configuration is answered.
    async fn missing(&self, step: &Step) -> Result<Option<String>, Failure> {
        let reading = |error| refused(&format!("read {}", named(step)), error);
        let live = objects_of(self.client, &id_of(step))
            .get_opt(&step.name)
            .await
            .map_err(reading)?;
        let Some(live) = live else {
            return Ok(Some(format!("{} isn't there yet", named(step))));
        };
        let mut live = serde_json::to_value(live)?;
        live["kind"] = json!(step.kind);
        let slices = ApiResource::from_gvk(&GroupVersionKind::gvk("discovery.k8s.io", "v1", "EndpointSlice"));
        let mut found = Vec::new();
        for namespace in called_namespaces(&live) {
            let slices: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), namespace, &slices);
            let listed = slices.list(&ListParams::default()).await;
            for slice in listed.map_err(|error| refused("list endpointslices", error))? {
                found.push(serde_json::to_value(slice)?);
            }
        }
        Ok(unanswered(&live, &found))
    }
}

fn id_of(step: &Step) -> ObjectId {
    ObjectId {
        api_version: step.api_version.clone(),
        kind: step.kind.clone(),
        namespace: step.namespace.clone(),
        name: step.name.clone(),
    }
}

fn named(step: &Step) -> String {
    object_name(&step.kind, &step.namespace, &step.name)
}

fn objects_of(client: &Client, id: &ObjectId) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(id.group(), id.version(), &id.kind));
    if id.namespace.is_empty() {
        Api::all_with(client.clone(), &resource)
    } else {
        Api::namespaced_with(client.clone(), &id.namespace, &resource)
    }
}

/// Takes from an object what makes OLM v0, or the garbage collector, delete it with its ClusterServiceVersion.
async fn let_go(client: &Client, object: &Value) -> Result<(), Failure> {
    let id = ObjectId::of(object);
    let kept: Vec<&Value> = owners::references(object)
        .iter()
        .filter(|owner| text(owner, "/kind") != "ClusterServiceVersion")
        .collect();
    let change = json!({"metadata": {"labels": {keys::OWNER: null}, "ownerReferences": kept}});
    let changed = objects_of(client, &id)
        .patch(&id.name, &PatchParams::default(), &Patch::Merge(&change))
        .await;
    match changed {
        Err(error) if is_not_found(&error) => Ok(()),
        changed => changed
            .map(drop)
            .map_err(|error| refused(&format!("change {}", told(&id)), error)),
    }
}

fn told(id: &ObjectId) -> String {
    object_name(&id.kind, &id.namespace, &id.name)
}

/// Makes an object call webhooks again as it did, where it is gone or doesn't any more.
async fn restore(client: &Client, object: &Value) -> Result<(), Failure> {
    let id = ObjectId::of(object);
    let doing = || format!("restore {}", told(&id));
    let objects = objects_of(client, &id);
    let live = objects
        .get_opt(&id.name)
        .await
        .map_err(|error| refused(&doing(), error))?;
    match (id.kind.as_str(), live) {
        ("CustomResourceDefinition", Some(live)) => {
            if text(&live.data, "/spec/conversion/strategy") == "Webhook" {
                return Ok(());
            }
            let change = json!({"spec": {"conversion": object["spec"]["conversion"]}});
            let changed = objects
                .patch(&id.name, &PatchParams::default(), &Patch::Merge(&change))
                .await;
            changed.map(drop).map_err(|error| refused(&doing(), error))
        }
        ("CustomResourceDefinition", None) | (_, Some(_)) => Ok(()),
        (_, None) => {
            let mut object = object.clone();
            object["metadata"] = json!({"name": id.name});
            let object: DynamicObject = serde_json::from_value(object)?;
            let parameters = PostParams {
                field_manager: Some(FIELD_MANAGER.to_owned()),
                ..PostParams::default()
            };
            match objects.create(&parameters, &object).await {
                Err(error) if is_already_there(&error) => Ok(()),
                made => made.map(drop).map_err(|error| refused(&doing(), error)),
            }
        }
    }
}

async fn delete(client: &Client, step: &Step, how: &DeleteParams) -> Result<(), Failure> {
    match objects_of(client, &id_of(step)).delete(&step.name, how).await {
        Err(error) if is_not_found(&error) => Ok(()),
        deleted => deleted
            .map(drop)
            .map_err(|error| refused(&format!("delete {}", named(step)), error)),
    }
}
