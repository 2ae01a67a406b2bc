//! What watches, looks at the clock, and has things done.
//!
//! At rest there are only watches; the clock is looked at when the next certificate is to be renewed.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::{FutureExt as _, ready};
use futures_util::stream::{BoxStream, StreamExt as _, select_all};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams};
use kube::core::PartialObjectMeta;
use kube::runtime::conditions::is_crd_established;
use kube::runtime::wait::await_condition;
use kube::runtime::watcher::{self, Config, Event};
use kube::runtime::{WatchStreamExt as _, watcher as watch_objects};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::watch;

use crate::acting::{Work, resource, resource_of, resource_of_target, secrets};
use crate::definitions::{self, CERT_MANAGER_LABELS, FIELD_MANAGER, Whose};
use crate::injection::Target;
use crate::seen::{Item, Seen, Source, Told, Watched};

/// How soon is tried again what failed: the API server is busy, or just being stopped.
const TRY_AGAIN: SignedDuration = SignedDuration::from_secs(5);

/// How long is waited at most without a look at the clock: a machine that sleeps doesn't count the time.
const LONGEST_WAIT: SignedDuration = SignedDuration::from_hours(12);

/// Serves the kinds where nobody else does, until `stop` is done.
pub async fn run(client: Client, stop: impl Future<Output = ()>) {
    let (say, whose) = watch::channel(None);
    tokio::select! {
        () = stand_guard(&client, &say) => {}
        () = follow(&client, whose) => {}
        () = stop => {}
    }
}

/// Watches whose the kinds are, and says so.
async fn stand_guard(client: &Client, say: &watch::Sender<Option<Whose>>) {
    let deployments = resource("apps", "v1", "Deployment", "deployments");
    let definitions = resource_of_target(Target::Definition);
    let mut changes = select_all([
        names(client, &definitions, Config::default())
            .map(|told| (true, told))
            .boxed(),
        names(
            client,
            &deployments,
            Config::default().labels(CERT_MANAGER_LABELS),
        )
        .map(|told| (false, told))
        .boxed(),
    ]);
    let (mut definitions, mut deployments) = (Watched::default(), Watched::default());
    while let Some((is_definition, told)) = changes.next().await {
        if is_definition {
            definitions.take(told, |definition| {
                let name = definition.pointer("/metadata/name").and_then(Value::as_str);
                name.is_some_and(definitions::is_of_kinds)
            });
        } else {
            deployments.take(told, |_| true);
        }
        if definitions.is_listed && deployments.is_listed {
            let whose = definitions::whose(definitions.known.values(), !deployments.known.is_empty());
            say.send_if_modified(|said| said.replace(whose) != Some(whose));
        }
    }
}

/// Does what whose the kinds are calls for.
async fn follow(client: &Client, mut whose: watch::Receiver<Option<Whose>>) {
    loop {
        let now = *whose.borrow_and_update();
        let work = async {
            match now {
                Some(Whose::Nobodys) => lay(client).await,
                Some(Whose::Ours) => {
                    // They may be those of an older release.
                    lay(client).await;
                    serve(client).await;
                }
                Some(Whose::Theirs) => {
                    tracing::info!("certificates are left to cert-manager, which is in the cluster");
                    std::future::pending::<()>().await;
                }
                None => std::future::pending().await,
            }
        };
        let has_changed = tokio::select! {
            changed = whose.changed() => changed,
            // What was laid is seen in a moment.
            () = work => whose.changed().await,
        };
        if has_changed.is_err() {
            return;
        }
    }
}

/// Writes the definitions and waits until they are served. Those of others are left alone.
async fn lay(client: &Client) {
    while let Err(error) = try_to_lay(client).await {
        tracing::warn!(%error, "the kinds of cert-manager can't be defined yet");
        tokio::time::sleep(TRY_AGAIN.unsigned_abs()).await;
    }
}

async fn try_to_lay(client: &Client) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    for definition in definitions::all() {
        let name = definition
            .pointer("/metadata/name")
            .and_then(Value::as_str)
            .unwrap_or_default();
        // Without force: what somebody else wrote meanwhile stays.
        let parameters = PatchParams::apply(FIELD_MANAGER);
        definitions
            .patch(name, &parameters, &Patch::Apply(&definition))
            .await?;
        await_condition(definitions.clone(), name, is_crd_established()).await?;
    }
    Ok(())
}

/// Issues what is asked for, without an end.
async fn serve(client: &Client) {
    let mut changes = select_all(Source::all().map(|source| changes_of(client, source)));
    let mut seen = Seen::default();
    let mut queue: BTreeSet<Item> = BTreeSet::new();
    let mut later: BTreeMap<Item, Timestamp> = BTreeMap::new();
    loop {
        let next = later.values().min().copied();
        tokio::select! {
            change = changes.next() => match change {
                Some((source, told)) => queue.extend(seen.take(source, told)),
                None => return,
            },
            () = wait_until(next), if seen.is_complete() => {}
        }
        while let Some(Some((source, told))) = changes.next().now_or_never() {
            queue.extend(seen.take(source, told));
        }
        if !seen.is_complete() {
            continue;
        }
        let now = Timestamp::now();
        queue.extend(
            later
                .iter()
                .filter(|(_, at)| **at <= now)
                .map(|(item, _)| item.clone()),
        );
        let work = Work {
            client,
            seen: &seen,
            now,
        };
        for item in std::mem::take(&mut queue) {
            later.remove(&item);
            match work.look_at(&item).await {
                Ok(None) => {}
                Ok(Some(at)) => {
                    later.insert(item, at);
                }
                Err(error) => {
                    tracing::warn!(?item, %error, "a certificate isn't served yet");
                    later.insert(item, now + TRY_AGAIN);
                }
            }
        }
    }
}

/// Waits until a moment; without one, for ever.
async fn wait_until(moment: Option<Timestamp>) {
    let Some(moment) = moment else {
        return std::future::pending().await;
    };
    let left = moment.duration_since(Timestamp::now());
    let left = left.clamp(SignedDuration::ZERO, LONGEST_WAIT);
    tokio::time::sleep(left.unsigned_abs()).await;
}

type Changes<T> = BoxStream<'static, T>;

fn changes_of(client: &Client, source: Source) -> Changes<(Source, Told)> {
    let told = match source {
        Source::Certificates => whole(client, &resource_of("Certificate")),
        Source::Issuers => whole(client, &resource_of("Issuer")),
        Source::ClusterIssuers => whole(client, &resource_of("ClusterIssuer")),
        Source::Secrets => names(client, &secrets(), Config::default()),
        Source::Targets(target) => names(client, &resource_of_target(target), Config::default()),
    };
    told.map(move |told| (source, told)).boxed()
}

/// Watches whole objects.
fn whole(client: &Client, resource: &ApiResource) -> Changes<Told> {
    let objects: Api<DynamicObject> = Api::all_with(client.clone(), resource);
    let events = watch_objects(objects, Config::default()).default_backoff();
    events.filter_map(|event| ready(told(event))).boxed()
}

/// Watches what objects are called, and what else is in their metadata.
fn names(client: &Client, resource: &ApiResource, config: Config) -> Changes<Told> {
    let objects: Api<PartialObjectMeta<DynamicObject>> = Api::all_with(client.clone(), resource);
    let events = watch_objects(objects, config).default_backoff();
    events.filter_map(|event| ready(told(event))).boxed()
}

fn told<Object: Serialize>(event: Result<Event<Object>, watcher::Error>) -> Option<Told> {
    let value = |object: &Object| serde_json::to_value(object).ok();
    match event {
        Ok(Event::Init) => Some(Told::Begins),
        Ok(Event::InitApply(object)) => value(&object).map(Told::Lists),
        Ok(Event::InitDone) => Some(Told::Ends),
        Ok(Event::Apply(object)) => value(&object).map(Told::Changed),
        Ok(Event::Delete(object)) => value(&object).map(Told::Gone),
        Err(error) => {
            tracing::debug!(%error, "the watch begins anew");
            None
        }
    }
}
