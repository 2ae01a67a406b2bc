//! The objects of a release as the cluster has them, and the pods that they run.

use std::collections::BTreeSet;
use std::sync::Arc;

use apply::engine::Engine;
use apply::object::ObjectId;
use futures_util::{StreamExt as _, stream};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::api::{Api, ListParams};
use kube::core::Selector;
use kube::{Client, ResourceExt};
use release::documents::Document;
use serde_json::Value;

/// How many objects of a release a page reads.
const MOST_OBJECTS: usize = 200;

/// How many objects are read at once.
const AT_ONCE: usize = 8;

/// How many pods a page shows.
const MOST_PODS: usize = 50;

/// Kinds that run pods and say which by a selector.
const RUN_PODS: [&str; 5] = ["DaemonSet", "Deployment", "Job", "ReplicaSet", "StatefulSet"];

/// An object of a release, and what the cluster has of it.
pub(crate) struct LiveObject {
    pub(crate) id: ObjectId,
    pub(crate) wanted: Arc<Value>,
    /// The object, that it isn't there, or why it can't be read.
    pub(crate) live: Result<Option<Value>, String>,
}

/// Reads the objects of a release, and how many were left out.
pub(crate) async fn live_objects(
    engine: &Engine,
    namespace: &str,
    documents: Vec<Document>,
) -> (Vec<LiveObject>, usize) {
    let left_out = documents.len().saturating_sub(MOST_OBJECTS);
    let reading = documents
        .into_iter()
        .take(MOST_OBJECTS)
        .map(|document| async move {
            let mut id = document.id;
            if id.namespace.is_empty() {
                // Helm puts what names no namespace into that of the release; kinds without one don't mind.
                namespace.clone_into(&mut id.namespace);
            }
            let live = engine.live(&id).await.map_err(|error| error.to_string());
            LiveObject {
                id,
                wanted: document.object,
                live,
            }
        });
    let reading: Vec<_> = reading.collect();
    let objects: Vec<LiveObject> = stream::iter(reading).buffered(AT_ONCE).collect().await;
    (objects, left_out)
}

/// The pods of a release.
#[derive(Default)]
pub(crate) struct Pods {
    pub(crate) pods: Vec<Pod>,
    /// Why some aren't known.
    pub(crate) unreadable: Option<String>,
}

/// Finds the pods that the objects of a release run.
pub(crate) async fn pods_of(client: &Client, objects: &[LiveObject]) -> Pods {
    let mut found = Pods::default();
    let mut seen = BTreeSet::new();
    for object in objects {
        let Ok(Some(live)) = &object.live else { continue };
        let Some(selector) = selector(&object.id, live) else {
            continue;
        };
        let pods: Api<Pod> = Api::namespaced(client.clone(), &object.id.namespace);
        let wanted = ListParams::default()
            .labels_from(&selector)
            .limit(MOST_PODS as u32);
        match pods.list(&wanted).await {
            Ok(list) => {
                let new = list.items.into_iter().filter(|pod| seen.insert(pod.name_any()));
                found.pods.extend(new);
            }
            Err(error) => found.unreadable = Some(apply::refusal::words(&error)),
        }
        if found.pods.len() >= MOST_PODS {
            found.pods.truncate(MOST_PODS);
            break;
        }
    }
    found.pods.sort_by_key(ResourceExt::name_any);
    found
}

/// The selector of an object that runs pods; an empty one would pick the pods of others.
fn selector(id: &ObjectId, live: &Value) -> Option<Selector> {
    if !RUN_PODS.contains(&id.kind.as_str()) {
        return None;
    }
    let selector = live.pointer("/spec/selector")?;
    let selector: LabelSelector = serde_json::from_value(selector.clone()).ok()?;
    let selector = Selector::try_from(selector).ok()?;
    (!selector.selects_all()).then_some(selector)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_workloads_with_a_selector_have_pods() {
        let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"selector": {"matchLabels": {"a": "b"}}}});
        assert!(selector(&ObjectId::of(&deployment), &deployment).is_some());
        let service = json!({"apiVersion": "v1", "kind": "Service", "spec": {"selector": {"a": "b"}}});
        assert!(selector(&ObjectId::of(&service), &service).is_none());
        let everything = json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"selector": {}}});
        assert!(selector(&ObjectId::of(&everything), &everything).is_none());
    }
}
