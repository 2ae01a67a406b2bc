//! The servers that recordings are played on: the stage in this process, and the real kube-apiserver.

use std::path::Path;
use std::time::Duration;

use contract::real::RealCluster;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, Patch, PatchParams};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Client, ResourceExt as _};
use stage::Stage;

use crate::observing::WIDGETS;

/// How long a kind may take to be served.
const SERVED_WITHIN: Duration = Duration::from_mins(1);

/// A server.
pub(crate) enum Server {
    /// The stage; its node has no room, because pods are played by the test.
    Stage(Stage),
    /// Kubernetes without a node.
    Kubernetes(Box<RealCluster>),
}

impl Server {
    pub(crate) async fn stage() -> Self {
        let mut options = stage::Options::default();
        options.node.capacity = [("pods".to_owned(), "0".to_owned())].into();
        Self::Stage(Stage::in_memory(options).await.expect("a stage"))
    }

    pub(crate) async fn kubernetes() -> Self {
        let options = contract::real::Options {
            node: false,
            ..contract::real::Options::default()
        };
        Self::Kubernetes(Box::new(RealCluster::start(options).await.expect("a cluster")))
    }

    /// Returns a way to the server.
    pub(crate) async fn client(&self) -> Client {
        match self {
            Self::Stage(stage) => Client::new(stage.service(), "default"),
            Self::Kubernetes(cluster) => {
                let kubeconfig =
                    kube::config::Kubeconfig::read_from(&cluster.kubeconfig).expect("a kubeconfig");
                let options = kube::config::KubeConfigOptions::default();
                let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await;
                Client::try_from(config.expect("a configuration")).expect("a client")
            }
        }
    }
}

/// Defines the kinds of the recordings; those that a chart brings along only if they should be there already.
pub(crate) async fn define(client: &Client, corpus: &Path, with_widgets: bool) {
    let charts = corpus.join("charts");
    let mut files = vec![charts.join("crds.yaml"), charts.join("crd-inferencestack.yaml")];
    if with_widgets {
        files.push(charts.join("kitchen/crds/widget.yaml"));
    }
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    for file in files {
        let text = std::fs::read_to_string(file).expect("a file");
        for document in release::documents::read(&text).expect("objects") {
            let definition: CustomResourceDefinition =
                serde_json::from_value((*document.object).clone()).expect("a definition");
            let name = definition.name_any();
            let parameters = PatchParams::apply("harness").force();
            let applied = definitions
                .patch(&name, &parameters, &Patch::Apply(&definition))
                .await;
            applied.expect("applied");
            let established = await_condition(definitions.clone(), &name, conditions::is_crd_established());
            let established = tokio::time::timeout(SERVED_WITHIN, established).await;
            established.expect("in time").expect("established");
        }
    }
    assert!(!with_widgets || definitions.get_opt(WIDGETS).await.expect("an answer").is_some());
}
