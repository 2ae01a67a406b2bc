//! The example's custom resource: made, and drawn until its workloads are available.

use std::fmt::Write as _;
use std::time::Duration;

use futures_util::StreamExt as _;
use kube::Client;
use kube::api::{Api, DynamicObject, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::{WatchStreamExt as _, watcher};
use serde_json::Value;

use super::example;
use crate::cluster::{make_namespace, refused};
use crate::failure::Failure;
use crate::terminal::Terminal;

/// The namespace of the custom resource and of what becomes of it.
pub(super) const NAMESPACE: &str = "models";

/// How long changes are gathered before the tree is drawn again.
const REDRAW_AFTER: Duration = Duration::from_millis(300);

/// Makes the custom resource, unless it is there, and draws it whenever it changes, until it is ready.
pub(super) async fn follow(client: &Client, terminal: &mut Terminal) -> Result<(), Failure> {
    make_namespace(client, NAMESPACE).await?;
    let sample: DynamicObject = serde_json::from_value(goyaml::to_value(example::sample())?)?;
    let types = sample.types.clone().unwrap_or_default();
    let (group, version) = types
        .api_version
        .split_once('/')
        .unwrap_or(("", &types.api_version));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, &types.kind));
    let resources: Api<DynamicObject> = Api::namespaced_with(client.clone(), NAMESPACE, &resource);
    let name = sample.metadata.name.clone().unwrap_or_default();
    let called = format!("{} {NAMESPACE}/{name}", types.kind);
    let known = resources
        .get_opt(&name)
        .await
        .map_err(|error| refused(&format!("read {called}"), error))?;
    if known.is_none() {
        resources
            .create(&PostParams::default(), &sample)
            .await
            .map_err(|error| refused(&format!("make {called}"), error))?;
    }
    let config = watcher::Config::default().fields(&format!("metadata.name={name}"));
    let mut changes = std::pin::pin!(watcher(resources, config).default_backoff().applied_objects());
    let mut drawn = String::new();
    while let Some(seen) = changes.next().await {
        // What fails is tried again.
        let Ok(mut object) = seen else { continue };
        // Changes come in bursts: the tree is drawn when one is over.
        while let Ok(Some(Ok(newer))) = tokio::time::timeout(REDRAW_AFTER, changes.next()).await {
            object = newer;
        }
        let tree = draw(&called, &object.data["status"]);
        if tree != drawn {
            terminal.print(format!("\n{tree}").as_bytes())?;
            drawn = tree;
        }
        if is_ready(&object) {
            return Ok(());
        }
    }
    Err(Failure::new(format!("the watch of {called} ended")))
}

/// Whether the operator has seen the resource as it is now, and everything that it made is available.
fn is_ready(object: &DynamicObject) -> bool {
    let status = &object.data["status"];
    let is_current = status["observedGeneration"].as_i64() >= object.metadata.generation;
    let is_so = |condition: &Value| condition["type"] == "Ready" && condition["status"] == "True";
    is_current && conditions(status).any(is_so)
}

fn conditions(status: &Value) -> impl Iterator<Item = &Value> {
    status["conditions"].as_array().into_iter().flatten()
}

/// Draws what the operator says of a resource, and what it made.
fn draw(called: &str, status: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    // Nobody wants to read that nothing failed and nothing is paused.
    let is_shown = |condition: &&Value| {
        condition["status"] != "False" || condition["type"] == "Deployed" || condition["type"] == "Ready"
    };
    let mut lines: Vec<String> = conditions(status)
        .filter(is_shown)
        .map(|condition| {
            let mut line = format!("{} {}", text(&condition["type"]), text(&condition["status"]));
            let mut separator = ", ";
            for part in [&condition["reason"], &condition["message"]] {
                // Notes of a chart have many lines, and the first is their title.
                let part = text(part);
                if let Some(part) = part.lines().next() {
                    let _ = write!(line, "{separator}{part}");
                    separator = ": ";
                }
            }
            line
        })
        .collect();
    if lines.is_empty() {
        lines.push("no operator has looked at it yet".to_owned());
    }
    lines.extend(objects(&text(&status["deployedRelease"]["manifest"])));
    let last = lines.len().saturating_sub(1);
    let mut tree = format!("{called}\n");
    for (index, line) in lines.iter().enumerate() {
        let branch = if index == last { "└─" } else { "├─" };
        let _ = writeln!(tree, "{branch} {line}");
    }
    tree
}

/// The objects of a release, by kind and name.
fn objects(manifest: &str) -> Vec<String> {
    let documents = manifest.split("\n---").filter_map(|document| {
        let object = goyaml::to_value(document.trim_start_matches("---").as_bytes()).ok()?;
        let kind = object["kind"].as_str()?;
        Some(format!("{kind} {}", object["metadata"]["name"].as_str()?))
    });
    documents.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_resource_is_drawn_with_its_conditions_and_what_was_made() {
        insta::assert_snapshot!(draw("InferenceStack models/a", &Value::Null), @r"
        InferenceStack models/a
        └─ no operator has looked at it yet
        ");
        let status = json!({
            "conditions": [
                {"type": "Initialized", "status": "True"},
                {"type": "ReleaseFailed", "status": "False"},
                {"type": "Ready", "status": "False", "reason": "Waiting", "message": ""},
                {"type": "Deployed", "status": "True", "reason": "InstallSuccessful", "message": "The stack\nis there"},
            ],
            "deployedRelease": {"name": "a", "manifest":
                "---\n# Source: a\nkind: Service\nmetadata:\n  name: gateway\n---\nkind: Deployment\nmetadata:\n  name: gateway\n"},
        });
        insta::assert_snapshot!(draw("InferenceStack models/a", &status), @r"
        InferenceStack models/a
        ├─ Initialized True
        ├─ Ready False, Waiting
        ├─ Deployed True, InstallSuccessful: The stack
        ├─ Service gateway
        └─ Deployment gateway
        ");
    }

    #[test]
    fn a_resource_is_ready_when_the_present_one_is() {
        let object = |observed: i64, status: &str| -> DynamicObject {
            serde_json::from_value(json!({
                "apiVersion": "a/v1", "kind": "A", "metadata": {"name": "a", "generation": 2},
                "status": {"observedGeneration": observed, "conditions": [{"type": "Ready", "status": status}]},
            }))
            .expect("an object")
        };
        assert!(is_ready(&object(2, "True")));
        assert!(!is_ready(&object(1, "True")));
        assert!(!is_ready(&object(2, "False")));
    }
}
