//! The servers that flows are played on: the stage in this process, and the real kube-apiserver.

use std::time::Duration;

use api::definitions::OLM_V0;
use contract::real::RealCluster;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::{Api, PostParams};
use kube::runtime::wait::{await_condition, conditions};
use serde_json::{Value, json};
use stage::Stage;

use crate::observing::api_of;

/// How long a kind may take to be served.
const SERVED_WITHIN: Duration = Duration::from_mins(1);

/// The namespace of OLM itself.
pub(crate) const SYSTEM: &str = "olm";

/// A server with the kinds of OLM v0.
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
        let server = Self::Stage(Stage::in_memory(options).await.expect("a stage"));
        server.prepare().await;
        server
    }

    pub(crate) async fn kubernetes() -> Self {
        let options = contract::real::Options {
            node: false,
            ..contract::real::Options::default()
        };
        let server = Self::Kubernetes(Box::new(RealCluster::start(options).await.expect("a cluster")));
        server.prepare().await;
        server
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

    async fn prepare(&self) {
        let client = self.client().await;
        let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
        for definition in OLM_V0 {
            let object = serde_json::from_value(definition.object()).expect("a definition");
            let made = definitions.create(&PostParams::default(), &object).await;
            made.expect("made");
        }
        for definition in OLM_V0 {
            let condition = conditions::is_crd_established();
            let established = await_condition(definitions.clone(), definition.name, condition);
            let established = tokio::time::timeout(SERVED_WITHIN, established).await;
            established.expect("in time").expect("established");
        }
        for object in [
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM}}),
            json!({"apiVersion": "operators.coreos.com/v1", "kind": "OLMConfig", "metadata": {"name": "cluster"}}),
        ] {
            create(&client, &object).await;
        }
    }
}

/// Makes an object.
pub(crate) async fn create(client: &Client, object: &Value) {
    let kind = object["kind"].as_str().expect("a kind");
    let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default();
    let api = api_of(client, kind, namespace);
    let object = serde_json::from_value(object.clone()).expect("an object");
    let parameters = PostParams {
        field_manager: Some("harness".to_owned()),
        ..PostParams::default()
    };
    // A kind that was just made may not be served yet.
    for _ in 0..50 {
        match api.create(&parameters, &object).await {
            Ok(_) => return,
            Err(kube::Error::Api(status)) if status.code == 404 => {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            Err(fault) => panic!("{kind} can't be made: {fault}"),
        }
    }
    panic!("{kind} is not served");
}
