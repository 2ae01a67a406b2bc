//! Objects of OLM v0 as upstream wrote them, put into a cluster as they were.

use std::time::Duration;

use classic::Kind;
use classic_controller::watching::resource;
use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};

use crate::world::{World, apply};

/// The recorded objects, in the order in which they are made.
const RECORDED: &str = include_str!("recorded/olm-v0.yaml");

/// How long a definition may take to be served, on a machine that does much else.
const PATIENCE: Duration = Duration::from_mins(1);

/// Makes every recorded object, and waits until the console has seen them.
pub(crate) async fn restore_in(world: &World) {
    restore(&world.client).await;
    world.page_with("/classic", "badc").await;
    world
        .page_with("/classic/subscriptions/unsat/alpha", "can&#39;t go on by itself")
        .await;
    world.page_with("/classic/plans", "install-m4x9q").await;
    world
        .page_with("/classic/plans/mixed/install-m4x9q", "Approve all of it")
        .await;
    world
        .page_with("/classic/versions?copies=1", "copied from copy0")
        .await;
    world
        .page_with("/classic/versions/miss/hand.v1.0.0", "NotPresent")
        .await;
}

/// Makes every recorded object, with its status.
pub(crate) async fn restore(client: &kube::Client) {
    served(client).await;
    for document in RECORDED.split("\n---\n") {
        let mut object: Value = goyaml::to_value(document.as_bytes()).expect("YAML");
        let status = object.as_object_mut().expect("an object").remove("status");
        apply(client, object.clone()).await;
        if let (Some(status), Some(kind)) = (status, Kind::named(object["kind"].as_str().expect("a kind"))) {
            let (namespace, name) = (&object["metadata"]["namespace"], &object["metadata"]["name"]);
            let objects = objects(client, kind, namespace.as_str().expect("a namespace"));
            let patch = json!({"status": status});
            let written = objects
                .patch_status(
                    name.as_str().expect("a name"),
                    &PatchParams::default(),
                    &Patch::Merge(&patch),
                )
                .await;
            written.unwrap_or_else(|error| panic!("the status of {name}: {error}"));
        }
    }
}

/// Objects of a kind in a namespace.
pub(crate) fn objects(client: &kube::Client, kind: Kind, namespace: &str) -> Api<DynamicObject> {
    Api::namespaced_with(client.clone(), namespace, &resource(kind))
}

/// Waits until the kinds are served, which is a moment after their definitions are there.
pub(crate) async fn served(client: &kube::Client) {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    for kind in [
        Kind::OperatorGroup,
        Kind::CatalogSource,
        Kind::Subscription,
        Kind::ClusterServiceVersion,
        Kind::InstallPlan,
    ] {
        let all = objects(client, kind, "default");
        while let Err(error) = all.list(&kube::api::ListParams::default()).await {
            assert!(tokio::time::Instant::now() < deadline, "{error}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}
