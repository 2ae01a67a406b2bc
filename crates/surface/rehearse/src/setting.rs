//! The stage that a rehearsal is played on.

use std::path::PathBuf;
use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use kube::api::{Api, DeleteParams, ListParams};
use kube::{Client, ResourceExt as _};
use serde_json::{Map, Value, json};
use stage::Stage;
use stage::node::{NODE_NAME, Options};
use tokio::time::Instant;

use crate::impossible::Impossible;
use crate::report::Report;

/// What the node of the stage has: pods are only played there, and all of them find room.
const CAPACITY: [(&str, &str); 4] = [
    ("cpu", "1000000"),
    ("memory", "1000Ti"),
    ("ephemeral-storage", "1000Ti"),
    ("pods", "1000000"),
];

/// How long the node may take to be there.
const NODE_WITHIN: Duration = Duration::from_secs(10);

/// How often it is looked whether it is.
const NODE_PAUSE: Duration = Duration::from_millis(5);

/// Starts a stage on whose node the pods of some objects find a place.
pub(crate) async fn stage(data_dir: Option<PathBuf>, objects: &[Value]) -> Result<Stage, Impossible> {
    let stage = Stage::start(stage::Options {
        data_dir,
        node: Options {
            capacity: CAPACITY
                .map(|(name, amount)| (name.to_owned(), amount.to_owned()))
                .into(),
            ..Options::default()
        },
        ..stage::Options::default()
    });
    let stage = stage.await.map_err(|fault| Impossible::stage("start", fault))?;
    let labels = node_labels(objects);
    if !labels.is_empty() {
        label_node(&stage, &json!({"metadata": {"labels": labels}})).await?;
    }
    Ok(stage)
}

/// Labels the node, which comes a moment after the stage.
async fn label_node(stage: &Stage, change: &Value) -> Result<(), Impossible> {
    let client = stage.client();
    let deadline = Instant::now() + NODE_WITHIN;
    loop {
        match client.merge(("", "nodes"), "", NODE_NAME, "", change).await {
            Ok(_) => return Ok(()),
            Err(refused) if Instant::now() > deadline => {
                return Err(Impossible::stage("label its node", refused.message));
            }
            Err(_) => tokio::time::sleep(NODE_PAUSE).await,
        }
    }
}

/// The labels that pods look for on a node.
fn node_labels(objects: &[Value]) -> Map<String, Value> {
    let selectors = objects
        .iter()
        .filter_map(|object| object.pointer("/spec/template/spec/nodeSelector")?.as_object());
    selectors.flat_map(Map::clone).collect()
}

/// Takes the webhooks from the stage: their servers don't run there, and would stop every write that they are asked about.
pub(crate) async fn silence_webhooks(client: &Client, report: &mut Report) -> Result<(), Impossible> {
    let failed = |fault: kube::Error| Impossible::stage("let webhooks go", fault);
    let validating: Api<ValidatingWebhookConfiguration> = Api::all(client.clone());
    let mutating: Api<MutatingWebhookConfiguration> = Api::all(client.clone());
    let mut names = Vec::new();
    for webhook in validating.list(&ListParams::default()).await.map_err(failed)? {
        let name = webhook.name_any();
        validating
            .delete(&name, &DeleteParams::default())
            .await
            .map_err(failed)?;
        names.push(name);
    }
    for webhook in mutating.list(&ListParams::default()).await.map_err(failed)? {
        let name = webhook.name_any();
        mutating
            .delete(&name, &DeleteParams::default())
            .await
            .map_err(failed)?;
        names.push(name);
    }
    if !names.is_empty() {
        report.not_rehearsed.push(format!(
            "webhooks can't be asked on the stage: {} took no part",
            names.join(", ")
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_node_has_the_labels_that_pods_look_for() {
        let selecting = json!({"kind": "Deployment", "spec": {"template": {"spec": {"nodeSelector": {"tier": "system"}}}}});
        let stage = stage(None, &[selecting, json!({"kind": "ConfigMap"})])
            .await
            .expect("a stage");
        let node = stage
            .client()
            .get(("", "nodes"), "", NODE_NAME)
            .expect("an answer");
        assert_eq!(node.expect("a node")["metadata"]["labels"]["tier"], "system");
    }
}
