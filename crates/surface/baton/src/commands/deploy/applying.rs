//! Writes an installation to a cluster, step by step, and waits until it runs.

use ::deploy::component::{Component, MANAGED_BY};
use ::deploy::installation::{self, Need, called};
use ::deploy::settings::Settings;
use apply::diff;
use apply::object::ObjectId;
use apply::refusal::is_not_found;
use apply::served::{Kinds, Served, Unfound};
use k8s_openapi::api::apps::v1::Deployment;
use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::runtime::wait::{await_condition, conditions};
use serde::Serialize;
use serde_json::Value;

use crate::cluster::{FIELD_MANAGER, refused};
use crate::failure::Failure;
use crate::olm::wait_established;
use crate::output::{OutputFlag, columns};
use crate::terminal::Terminal;
use crate::waiting::WaitFlags;

/// Writes everything, in its order, and waits until it runs.
pub(super) async fn apply(
    client: &Client,
    settings: &Settings,
    wait: WaitFlags,
    terminal: &mut Terminal,
) -> Result<(), Failure> {
    let kinds = Kinds::new(client.clone());
    let mut written = 0;
    for step in installation::steps(settings) {
        for object in &step.objects {
            let Some((object, served)) = served(&kinds, object).await? else {
                let kind = object["kind"].as_str().unwrap_or_default();
                terminal.remark(format!(
                    "{} is left out: the cluster has no kind {kind}",
                    called(object)
                ));
                continue;
            };
            let outcome = attempt(client, &served, &object, false).await;
            outcome.map_err(|error| refused(&format!("write {}", called(&object)), error))?;
            written += 1;
        }
        for object in step
            .objects
            .iter()
            .filter(|object| object["kind"] == "CustomResourceDefinition")
        {
            wait_established(client, object["metadata"]["name"].as_str().unwrap_or_default()).await?;
        }
    }
    terminal.remark(format!("{written} objects are written"));
    if wait.is_declined() {
        return Ok(());
    }
    for component in settings.components() {
        let namespace = settings.namespace_of(component);
        let name = component.deployment();
        terminal.remark(format!("waiting for Deployment {namespace}/{name}"));
        let deployments: Api<Deployment> = Api::namespaced(client.clone(), namespace);
        let rolled_out = await_condition(deployments, name, conditions::is_deployment_completed());
        match tokio::time::timeout(wait.patience(), rolled_out).await {
            Ok(waited) => waited.map(drop).map_err(|error| {
                Failure::new(format!("cannot watch Deployment {namespace}/{name}: {error}"))
            })?,
            Err(_) => {
                return Err(Failure::new(format!(
                    "Deployment {namespace}/{name} doesn't run after {} s; baton deploy --check says what is wrong, and \
                     --timeout waits longer",
                    wait.patience().as_secs()
                )));
            }
        }
    }
    terminal.remark("baton runs in the cluster");
    Ok(())
}

/// The image of an installation that is there; none where there is none of ours.
pub(super) async fn deployed_image(client: &Client, settings: &Settings) -> Result<Option<String>, Failure> {
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), &settings.namespace);
    let name = Component::Extensions.deployment();
    let found = deployments.get_opt(name).await;
    let found =
        found.map_err(|error| refused(&format!("read Deployment {}/{name}", settings.namespace), error))?;
    let is_ours = |deployment: &Deployment| {
        let labels = deployment.metadata.labels.as_ref();
        labels
            .and_then(|labels| labels.get(MANAGED_BY.0))
            .is_some_and(|value| value == MANAGED_BY.1)
    };
    let pod = found
        .filter(is_ours)
        .and_then(|deployment| deployment.spec?.template.spec);
    Ok(pod.and_then(|pod| pod.containers.into_iter().next()?.image))
}

/// Finds the newest form of an object that the cluster knows, and how it is addressed.
pub(super) async fn find(kinds: &Kinds, object: &Value) -> Result<(Value, Served), Unfound> {
    let mut first = None;
    for form in installation::forms(object) {
        match kinds.find(&ObjectId::of(&form)).await {
            Ok(served) => return Ok((form, served)),
            Err(unfound @ Unfound::Unanswered(_)) => return Err(unfound),
            // The newest form is the one to speak of.
            Err(unfound) => {
                first.get_or_insert(unfound);
            }
        }
    }
    Err(first.unwrap_or(Unfound::Unserved {
        kind: object["kind"].as_str().unwrap_or_default().to_owned(),
        api_version: object["apiVersion"].as_str().unwrap_or_default().to_owned(),
    }))
}

/// Finds how an object is addressed; none where the cluster may do without its kind and does.
async fn served(kinds: &Kinds, object: &Value) -> Result<Option<(Value, Served)>, Failure> {
    match find(kinds, object).await {
        Ok(found) => Ok(Some(found)),
        Err(Unfound::Unserved { .. }) if installation::need(object) == Need::Welcome => Ok(None),
        Err(Unfound::Unserved { kind, api_version }) => Err(Failure::new(format!(
            "cannot write {}: the cluster has no kind {kind} of {api_version}; baton deploy --check says what it lacks",
            called(object)
        ))),
        Err(Unfound::Unanswered(error)) => Err(refused(&format!("write {}", called(object)), *error)),
    }
}

/// How an object's kind is reached.
pub(super) fn api(client: &Client, served: &Served, object: &Value) -> Api<DynamicObject> {
    match object["metadata"]["namespace"].as_str() {
        Some(namespace) if served.is_namespaced => {
            Api::namespaced_with(client.clone(), namespace, &served.resource)
        }
        _ => Api::all_with(client.clone(), &served.resource),
    }
}

/// Writes an object, or lets the server try it and keep nothing.
async fn attempt(
    client: &Client,
    served: &Served,
    object: &Value,
    is_trial: bool,
) -> Result<DynamicObject, kube::Error> {
    let mut parameters = PatchParams::apply(FIELD_MANAGER).force();
    parameters.dry_run = is_trial;
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    api(client, served, object)
        .patch(name, &parameters, &Patch::Apply(object))
        .await
}

/// What would happen to an object.
#[derive(Debug, Serialize)]
struct Prospect {
    what: &'static str,
    object: String,
    /// The fields that would be others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fields: Vec<String>,
}

/// Says what would be made and changed.
pub(super) async fn rehearse(
    client: &Client,
    settings: &Settings,
    output: OutputFlag,
    terminal: &mut Terminal,
) -> Result<(), Failure> {
    let kinds = Kinds::new(client.clone());
    let mut prospects = Vec::new();
    for object in installation::steps(settings)
        .iter()
        .flat_map(|step| &step.objects)
    {
        prospects.push(prospect(client, &kinds, object).await?);
    }
    output.print(terminal, &prospects, |prospects| table(prospects))
}

async fn prospect(client: &Client, kinds: &Kinds, object: &Value) -> Result<Prospect, Failure> {
    let will = |what, fields| Prospect {
        what,
        object: called(object),
        fields,
    };
    let (object, served) = match find(kinds, object).await {
        Ok(found) => found,
        Err(Unfound::Unserved { .. }) if installation::need(object) == Need::Welcome => {
            return Ok(will("leave out", Vec::new()));
        }
        // The installation may bring the kind itself.
        Err(Unfound::Unserved { .. }) => return Ok(will("make", Vec::new())),
        Err(Unfound::Unanswered(error)) => {
            return Err(refused(&format!("look for {}", called(object)), *error));
        }
    };
    let object = &object;
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let live = api(client, &served, object).get_opt(name).await;
    let live = live.map_err(|error| refused(&format!("read {}", called(object)), error))?;
    let Some(live) = live else {
        return match attempt(client, &served, object, true).await {
            Ok(_) => Ok(will("make", Vec::new())),
            // Its namespace is going to be made as well.
            Err(error) if is_not_found(&error) => Ok(will("make", Vec::new())),
            Err(error) => Err(refused(&format!("write {}", called(object)), error)),
        };
    };
    let live = serde_json::to_value(live)?;
    let differing = differing(client, &served, object, &live).await;
    let differing = differing.map_err(|error| refused(&format!("write {}", called(object)), error))?;
    let what = if differing.is_empty() { "leave" } else { "change" };
    Ok(will(what, differing))
}

/// The fields of an object that writing it again would change; the server tries it and keeps nothing.
pub(super) async fn differing(
    client: &Client,
    served: &Served,
    object: &Value,
    live: &Value,
) -> Result<Vec<String>, kube::Error> {
    let after = attempt(client, served, object, true).await?;
    let after = serde_json::to_value(after).map_err(kube::Error::SerdeError)?;
    let change = diff::Change::between(&ObjectId::of(object), Some(live), Some(&after));
    Ok(change.fields.into_iter().map(|field| field.path).collect())
}

fn table(prospects: &[Prospect]) -> String {
    let mut rows = vec![["WHAT", "OBJECT", "FIELDS"].map(str::to_owned).to_vec()];
    rows.extend(prospects.iter().map(|prospect| {
        vec![
            prospect.what.to_owned(),
            prospect.object.clone(),
            prospect.fields.join(", "),
        ]
    }));
    columns(&rows)
}
