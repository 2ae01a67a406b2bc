//! Takes over from upstream's installations, as planned.

use std::time::Duration;

use ::deploy::settings::Settings;
use ::deploy::takeover::{self, Action, Place, Step};
use apply::object::ObjectId;
use apply::refusal::is_not_found;
use apply::served::{Kinds, Unfound};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Client;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use kube::runtime::wait::await_condition;
use serde_json::{Value, json};

use crate::cluster::refused;
use crate::failure::Failure;
use crate::output::OutputFlag;
use crate::planned_steps::{self, PlannedStep, object_name};
use crate::terminal::Terminal;

/// How long the pods of a program may take to end.
const ENDED_WITHIN: Duration = Duration::from_mins(2);

/// How long a Lease may be held by who is gone: upstream's lasts 137 seconds.
const RELEASED_WITHIN: Duration = Duration::from_secs(137 + 30);

/// Fails where upstream's programs run, and nobody said that they are to be taken over.
pub(super) async fn refuse(client: &Client, settings: &Settings) -> Result<(), Failure> {
    match takeover::refusal(settings, &found(client, settings).await?) {
        Some(refusal) => Err(Failure::new(refusal)),
        None => Ok(()),
    }
}

/// Prints the plan, and does what comes before our own programs if it is told to.
pub(super) async fn take_over(
    client: &Client,
    settings: &Settings,
    is_told_to: bool,
    output: OutputFlag,
    terminal: &mut Terminal,
) -> Result<(), Failure> {
    let steps = takeover::plan(settings, &found(client, settings).await?);
    output.print(terminal, &steps, |steps| table(steps))?;
    if steps.is_empty() {
        terminal.remark("there is nothing of upstream's in this cluster");
    }
    if !is_told_to {
        terminal.remark("nothing was changed; do it with --yes");
        return Ok(());
    }
    for step in &steps {
        carry_out(client, step, terminal).await?;
    }
    Ok(())
}

/// What there is at the places where upstream's installation has something.
async fn found(client: &Client, settings: &Settings) -> Result<Vec<Value>, Failure> {
    let kinds = Kinds::new(client.clone());
    let mut found = Vec::new();
    for place in takeover::places(settings) {
        found.extend(at(client, &kinds, &place).await?);
    }
    Ok(found)
}

async fn at(client: &Client, kinds: &Kinds, place: &Place) -> Result<Vec<Value>, Failure> {
    let id = ObjectId {
        api_version: place.api_version.to_owned(),
        kind: place.kind.to_owned(),
        namespace: place.namespace.clone(),
        name: place.name.to_owned(),
    };
    let doing = || format!("look for {} {:?}", place.kind, place.name);
    let served = match kinds.find(&id).await {
        Ok(served) => served,
        Err(Unfound::Unserved { .. }) => return Ok(Vec::new()),
        Err(Unfound::Unanswered(error)) => return Err(refused(&doing(), *error)),
    };
    let objects: Api<DynamicObject> = match place.namespace.as_str() {
        "" => Api::all_with(client.clone(), &served.resource),
        namespace => Api::namespaced_with(client.clone(), namespace, &served.resource),
    };
    let objects = if place.name.is_empty() {
        let listed = objects.list(&ListParams::default().labels(place.labels)).await;
        listed.map(|list| list.items)
    } else {
        objects
            .get_opt(place.name)
            .await
            .map(|object| object.into_iter().collect())
    };
    let objects = objects.map_err(|error| refused(&doing(), error))?;
    let with_kind = objects.into_iter().map(|object| {
        let mut object = serde_json::to_value(object)?;
        // Items of lists don't say what they are.
        object["apiVersion"] = json!(place.api_version);
        object["kind"] = json!(place.kind);
        Ok(object)
    });
    with_kind.collect()
}

async fn carry_out(client: &Client, step: &Step, terminal: &mut Terminal) -> Result<(), Failure> {
    match step.action {
        Action::StopAndDelete => {
            terminal.remark(format!("stopping {} {}/{}", step.kind, step.namespace, step.name));
            stop(client, step).await?;
            delete(client, step).await
        }
        Action::Delete => delete(client, step).await,
        Action::AwaitRelease => {
            terminal.remark(format!("waiting for Lease {}/{}", step.namespace, step.name));
            await_release(client, step).await
        }
        // What is written over them makes them ours.
        Action::Adopt | Action::Keep => Ok(()),
    }
}

/// Ends the pods of a Deployment, and waits until they are gone.
async fn stop(client: &Client, step: &Step) -> Result<(), Failure> {
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), &step.namespace);
    let none = Patch::Merge(json!({"spec": {"replicas": 0}}));
    let stopped = deployments
        .patch(&step.name, &PatchParams::default(), &none)
        .await;
    let stopped = stopped.map_err(|error| {
        refused(
            &format!("stop Deployment {}/{}", step.namespace, step.name),
            error,
        )
    })?;
    let generation = stopped.metadata.generation;
    let is_empty = move |deployment: Option<&Deployment>| {
        let status = deployment.and_then(|deployment| deployment.status.as_ref());
        deployment.is_none()
            || status.is_some_and(|status| {
                status.observed_generation >= generation && status.replicas.unwrap_or_default() == 0
            })
    };
    let ended = await_condition(deployments, &step.name, is_empty);
    match tokio::time::timeout(ENDED_WITHIN, ended).await {
        Ok(waited) => waited.map(drop).map_err(|error| {
            Failure::new(format!(
                "cannot watch Deployment {}/{}: {error}",
                step.namespace, step.name
            ))
        }),
        Err(_) => Err(Failure::new(format!(
            "the pods of Deployment {}/{} don't end; see them with: kubectl get pods -n {}; run the command again when they \
             are gone",
            step.namespace, step.name, step.namespace
        ))),
    }
}

/// Waits until nobody holds a Lease, or until who held it is silent for longer than it lasts.
async fn await_release(client: &Client, step: &Step) -> Result<(), Failure> {
    let leases: Api<Lease> = Api::namespaced(client.clone(), &step.namespace);
    let is_free = |lease: Option<&Lease>| {
        let spec = lease.and_then(|lease| lease.spec.as_ref());
        let holder = spec.and_then(|spec| spec.holder_identity.as_deref());
        holder.unwrap_or_default().is_empty()
    };
    let released = await_condition(leases, &step.name, is_free);
    match tokio::time::timeout(RELEASED_WITHIN, released).await {
        Ok(waited) => waited.map(drop).map_err(|error| {
            Failure::new(format!(
                "cannot watch Lease {}/{}: {error}",
                step.namespace, step.name
            ))
        }),
        // It has run out by now, and our replicas take it.
        Err(_) => Ok(()),
    }
}

async fn delete(client: &Client, step: &Step) -> Result<(), Failure> {
    let id = ObjectId {
        api_version: step.api_version.clone(),
        kind: step.kind.clone(),
        namespace: step.namespace.clone(),
        name: step.name.clone(),
    };
    let doing = || format!("delete {} {:?}", step.kind, step.name);
    let served = match Kinds::new(client.clone()).find(&id).await {
        Ok(served) => served,
        Err(Unfound::Unserved { .. }) => return Ok(()),
        Err(Unfound::Unanswered(error)) => return Err(refused(&doing(), *error)),
    };
    let objects: Api<DynamicObject> = match step.namespace.as_str() {
        "" => Api::all_with(client.clone(), &served.resource),
        namespace => Api::namespaced_with(client.clone(), namespace, &served.resource),
    };
    match objects.delete(&step.name, &DeleteParams::background()).await {
        Err(error) if !is_not_found(&error) => Err(refused(&doing(), error)),
        _ => Ok(()),
    }
}

fn table(steps: &[Step]) -> String {
    if steps.is_empty() {
        return String::new();
    }
    planned_steps::table(steps.iter().map(|step| {
        let action = match step.action {
            Action::StopAndDelete => "stop, delete",
            Action::Delete => "delete",
            Action::Adopt => "take over",
            Action::AwaitRelease => "wait for",
            Action::Keep => "keep",
        };
        PlannedStep {
            action,
            object: object_name(&step.kind, &step.namespace, &step.name),
            because: &step.because,
        }
    }))
}
