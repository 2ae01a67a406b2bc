//! The way out, and a server that goes away for a while.

use std::time::Duration;

use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::json;
use stage::Stage;

use crate::world::{NAMESPACE, Settings, World};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_deleted_goes_with_all_that_it_made() {
    let mut world = World::new().await;
    world.start(&Settings::default());
    world.stack("a", "v1", json!({"random": true})).await;
    world.ready("a").await;
    world.delete("Stack", "a").await;
    world.until_gone("Stack", "a").await;
    for (kind, name) in [
        ("ConfigMap", "a-config"),
        ("Deployment", "a-web"),
        ("Secret", "a-secret"),
    ] {
        world.until_gone(kind, name).await;
    }
    assert_eq!(world.history("a").await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_namespace_that_goes_takes_its_resources_along() {
    let mut world = World::new().await;
    world.start(&Settings::default());
    world.stack("a", "v1", json!({"random": true})).await;
    world.ready("a").await;
    world.delete("Namespace", NAMESPACE).await;
    world.until_gone("Namespace", NAMESPACE).await;
}

/// A cluster that listens, and can be started again in the same place.
struct Listening {
    stage: Stage,
    serving: stage::server::Serving,
}

impl Listening {
    async fn start(folder: &std::path::Path, port: u16) -> Self {
        let options = stage::Options {
            data_dir: Some(folder.to_owned()),
            ..stage::Options::default()
        };
        let stage = Stage::start(options).await.expect("a stage");
        let address = ([127, 0, 0, 1], port).into();
        let serving = stage
            .serve(address, &stage::server::ServeOptions::default())
            .await;
        Self {
            stage,
            serving: serving.expect("it listens"),
        }
    }

    async fn client(&self) -> Client {
        let kubeconfig = Kubeconfig::from_yaml(self.serving.kubeconfig()).expect("a kubeconfig");
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
        Client::try_from(config.expect("a configuration")).expect("a client")
    }

    async fn stop(self) -> u16 {
        let port = self.serving.address().port();
        self.serving.stop().await;
        self.stage.stop().await;
        port
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_was_away_is_caught_up_with() {
    let folder = tempfile::tempdir().expect("a folder");
    let cluster = Listening::start(folder.path(), 0).await;
    let client = cluster.client().await;
    let mut world = World::at(client.clone());
    world.prepare().await;
    world.start(&Settings::default());
    world.stack("a", "v1", json!({})).await;
    world.ready("a").await;

    let port = cluster.stop().await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let cluster = Listening::start(folder.path(), port).await;
    world.until("Stack", "a", |_| true).await;
    world
        .edit("Stack", "a", json!({"spec": {"message": "second"}}))
        .await;
    world
        .edit("Deployment", "a-web", json!({"spec": {"replicas": 3}}))
        .await;
    world
        .until("ConfigMap", "a-config", |map| map["data"]["message"] == "second")
        .await;
    world
        .until("Deployment", "a-web", |deployment| {
            deployment["spec"]["replicas"] == 1
        })
        .await;
    world.ready("a").await;
    world.stop("operator").await;
    cluster.stop().await;
}
