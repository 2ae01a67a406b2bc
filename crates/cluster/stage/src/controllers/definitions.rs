//! CustomResourceDefinitions: their names are accepted, their kinds are served, and when they go, so do their objects.

use http::StatusCode;
use jiff::Timestamp;
use schema::structural::{definition, names};
use serde_json::{Value, json};

use super::work::{Affected, Controller, Item, Next, itself};
use crate::client::{Client, Named};
use crate::object::{Object, map_of, timestamp};
use crate::options::DeleteOptions;
use crate::status::Status;
use crate::store::ResourceKey;

/// The resource of definitions.
pub const DEFINITIONS: Named<'static> = ("apiextensions.k8s.io", "customresourcedefinitions");

/// The finalizer that keeps a definition until its objects are gone.
pub const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Accepts the names of definitions, serves their kinds, and removes the objects of those that go.
#[derive(Debug)]
pub struct Definitions;

impl Controller for Definitions {
    const NAME: &'static str = "customresourcedefinition-controller";

    fn watches(&self) -> Vec<(ResourceKey, Affected)> {
        vec![(ResourceKey::new(DEFINITIONS.0, DEFINITIONS.1), itself)]
    }

    async fn reconcile(&self, client: &Client, item: &Item) -> Result<Next, Status> {
        let definitions = client.list(DEFINITIONS, "")?;
        let Some(seen) = definitions.iter().find(|one| *one.name() == *item.name) else {
            serve(client, &definitions);
            return Ok(Next::Wait);
        };
        if seen.is_being_deleted() {
            return end(client, seen, &definitions).await;
        }
        let mut wanted = seen.clone();
        decide(&mut wanted, &definitions, Timestamp::now());
        if wanted != *seen {
            // Who waits for the condition asks for the kind at once, so it is served before the condition is seen.
            let coming = definitions
                .iter()
                .map(|one| if one.name() == seen.name() { &wanted } else { one });
            serve(client, coming);
            client.update_status(DEFINITIONS, wanted).await?;
            return Ok(Next::Wait);
        }
        serve(client, &definitions);
        Ok(Next::Wait)
    }
}

/// Writes into a definition's status what its names and schemas come to.
fn decide(wanted: &mut Value, all: &[Value], now: Timestamp) {
    let now = timestamp(now);
    if let Some(decision) = names::decide(&wanted.clone(), all) {
        map_of(&mut wanted["status"]).insert("acceptedNames".into(), decision.accepted);
        decision.names_accepted.write(wanted, &now);
        if !definition::is_condition_true(wanted, "Established") {
            decision.established.write(wanted, &now);
        }
    }
    if let Some(established) = names::established(wanted) {
        established.write(wanted, &now);
    }
    let others = [
        names::approval_condition(wanted),
        names::non_structural_condition(wanted),
    ];
    for condition in others.into_iter().flatten() {
        if !condition.is_in(wanted) {
            condition.write(wanted, &now);
        }
    }
}

/// Serves the kinds of all definitions whose names are accepted.
pub fn serve<'a>(client: &Client, definitions: impl IntoIterator<Item = &'a Value>) {
    let established = definitions
        .into_iter()
        .filter(|one| definition::is_condition_true(one, "Established"));
    client.api().resources.serve_definitions(established);
}

/// Removes the objects of a definition that goes, then lets it go.
async fn end(client: &Client, seen: &Value, all: &[Value]) -> Result<Next, Status> {
    serve(client, all);
    if !seen.finalizers().contains(&CLEANUP) {
        return Ok(Next::Wait);
    }
    let (group, plural) = (
        seen["spec"]["group"].as_str().unwrap_or_default().to_owned(),
        seen["spec"]["names"]["plural"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
    );
    let mut left = 0;
    match client.list_stored((&group, &plural), "") {
        Ok(objects) => {
            left = objects.len();
            for object in objects {
                let (namespace, name) = (&object.key.namespace, &object.key.name);
                client
                    .delete((&group, &plural), namespace, name, &DeleteOptions::default())
                    .await?;
            }
            left = client
                .list_stored((&group, &plural), "")
                .map_or(left, |objects| objects.len());
        }
        // Never served: it has no objects.
        Err(status) if status.code == StatusCode::NOT_FOUND => {}
        Err(status) => return Err(status),
    }
    let mut wanted = seen.clone();
    let (reason, message) = if left == 0 {
        ("InstanceDeletionCompleted", "removed all instances".to_owned())
    } else {
        let text = "could not confirm zero CustomResources remaining: timed out waiting for the condition"
            .to_owned();
        ("InstanceDeletionCheck", text)
    };
    let condition = names::Condition {
        condition_type: "Terminating",
        status: if left == 0 { "False" } else { "True" }.to_owned(),
        reason: reason.to_owned(),
        message,
    };
    if !condition.is_in(&wanted) {
        condition.write(&mut wanted, &timestamp(Timestamp::now()));
        wanted = client.update_status(DEFINITIONS, wanted).await?;
    }
    if left > 0 {
        return Ok(Next::After(std::time::Duration::from_millis(200)));
    }
    let kept: Vec<&str> = wanted
        .finalizers()
        .into_iter()
        .filter(|name| *name != CLEANUP)
        .collect();
    let patch = json!({"metadata": {"finalizers": kept, "uid": wanted.uid()}});
    client.merge(DEFINITIONS, "", wanted.name(), "", &patch).await?;
    Ok(Next::Wait)
}
