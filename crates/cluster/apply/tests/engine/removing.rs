//! What pods need outlives them: a revision that goes takes its workloads first, and the rest when their pods have ended.

use std::time::Duration;

use apply::phases::phases_of;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Pod, ServiceAccount};
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams};
use serde_json::{Value, json};

use crate::world::{World, operator, revision};

/// More looks than a rollout takes on any machine.
const MOST_LOOKS: usize = 1_000;

/// Makes an operator whose pod doesn't end before it may.
async fn with_a_pod_that_takes_its_time(annotations: &[(&str, &str)]) -> (World, String) {
    let world = World::new().await;
    let mut set = revision("x", 1, Vec::new());
    set.spec.phases = phases_of(operator());
    let told = set.metadata.annotations.get_or_insert_default();
    for (key, value) in annotations {
        told.insert((*key).to_owned(), (*value).to_owned());
    }
    world.make(&set).await;
    let pods: Api<Pod> = Api::namespaced(world.client.clone(), "app");
    let mut pod = String::new();
    for _ in 0..MOST_LOOKS {
        world.reconcile("x-1").await;
        let listed = pods.list(&ListParams::default()).await.expect("a list");
        if let Some(name) = listed.items.first().and_then(|pod| pod.metadata.name.clone()) {
            pod = name;
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(!pod.is_empty(), "the Deployment never had a pod");
    let held = Patch::Merge(json!({"metadata": {"finalizers": ["example.com/at-work"]}}));
    pods.patch(&pod, &PatchParams::default(), &held)
        .await
        .expect("held");
    (world, pod)
}

impl World {
    async fn has_rights(&self) -> (bool, bool) {
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client.clone(), "app");
        let bindings: Api<ClusterRoleBinding> = Api::all(self.client.clone());
        let account = accounts.get_metadata_opt("operator").await.expect("asked");
        let binding = bindings.get_metadata_opt("operator").await.expect("asked");
        (account.is_some(), binding.is_some())
    }

    /// Lets the pod end, and reconciles until a condition holds.
    async fn end(&self, pod: &str, is_over: impl AsyncFn(&Self) -> bool) {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), "app");
        let ended: Patch<Value> = Patch::Merge(json!({"metadata": {"finalizers": null}}));
        pods.patch(pod, &PatchParams::default(), &ended)
            .await
            .expect("ended");
        for _ in 0..MOST_LOOKS {
            self.reconcile("x-1").await;
            if is_over(self).await {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("what the pod needed never went");
    }
}

#[tokio::test]
async fn an_archived_revision_takes_the_rights_of_pods_when_they_have_ended() {
    let (world, pod) = with_a_pod_that_takes_its_time(&[]).await;
    world.archive("x-1").await;
    let next = world.reconcile("x-1").await;
    assert_eq!(next.after, Some(Duration::from_secs(5)));
    let deployments: Api<Deployment> = Api::namespaced(world.client.clone(), "app");
    let deployment = deployments.get("operator").await.expect("it waits for its pod");
    assert!(deployment.metadata.deletion_timestamp.is_some());
    world.reconcile("x-1").await;
    assert_eq!(world.has_rights().await, (true, true));
    world
        .end(&pod, async |world| world.has_rights().await == (false, false))
        .await;
    assert_eq!(world.said("x-1", "Progressing").await.1, "Archived");
}

#[tokio::test]
async fn a_deleted_revision_leaves_pods_their_rights_until_they_have_ended() {
    for annotations in [&[][..], &[("baton-olm.dev/on-delete", "keep-crds")][..]] {
        let (world, pod) = with_a_pod_that_takes_its_time(annotations).await;
        let background = DeleteParams::background();
        world.sets().delete("x-1", &background).await.expect("deleted");
        let next = world.reconcile("x-1").await;
        assert_eq!(next.after, Some(Duration::from_secs(1)), "{annotations:?}");
        assert_eq!(
            world.said("x-1", "Progressing").await.2,
            "waiting until the pods of operator are gone: they may need their rights until then"
        );
        assert_eq!(world.has_rights().await, (true, true));
        let is_gone = async |world: &World| world.sets().get_opt("x-1").await.expect("asked").is_none();
        world.end(&pod, is_gone).await;
    }
}
