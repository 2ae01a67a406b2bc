//! The servers that flows are played on: the stage in this process, and the real kube-apiserver.

use std::collections::BTreeSet;
use std::time::Duration;

use api::definitions::OLM_V0;
use classic::Kind;
use contract::real::RealCluster;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};
use stage::Stage;
use tokio::time::Instant;

use crate::observing::api_of;

/// How long a kind may take to be served.
const SERVED_WITHIN: Duration = Duration::from_mins(1);

/// How long what a flow leaves behind may take to go; on a busy machine, namespaces go slowly.
const CLEARED_WITHIN: Duration = Duration::from_secs(40);

/// How often it is looked whether it is gone.
const CLEARING_PAUSE: Duration = Duration::from_millis(100);

/// The namespace of OLM itself.
pub(crate) const SYSTEM: &str = "olm";

/// A server with the kinds of OLM v0.
pub(crate) struct Server {
    client: Client,
    /// What was there before any flow, by identity.
    scenery: BTreeSet<String>,
    /// What serves; it ends with this value.
    _process: Process,
}

enum Process {
    /// The stage; its node has no room, because pods are played by the test.
    Stage(#[expect(dead_code, reason = "it is kept for its end")] Stage),
    /// Kubernetes without a node.
    Kubernetes(#[expect(dead_code, reason = "it is kept for its end")] Box<RealCluster>),
}

impl Server {
    pub(crate) async fn stage() -> Self {
        let mut options = stage::Options::default();
        options.node.capacity = [("pods".to_owned(), "0".to_owned())].into();
        let stage = Stage::in_memory(options).await.expect("a stage");
        let client = Client::new(stage.service(), "default");
        define(&client).await;
        Self::new(client, Process::Stage(stage)).await
    }

    pub(crate) async fn kubernetes() -> Self {
        let options = contract::real::Options {
            controllers: false,
            node: false,
            // As in the recordings.
            apiserver_arguments: vec!["--disable-admission-plugins=ServiceAccount".to_owned()],
            ..contract::real::Options::default()
        };
        let mut cluster = RealCluster::start(options).await.expect("a cluster");
        let kubeconfig = kube::config::Kubeconfig::read_from(&cluster.kubeconfig).expect("a kubeconfig");
        let options = kube::config::KubeConfigOptions::default();
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await;
        let client = Client::try_from(config.expect("a configuration")).expect("a client");
        // The garbage collector asks for new kinds only twice a minute, but when it starts.
        define(&client).await;
        cluster.start_controllers().expect("controllers");
        Self::new(client, Process::Kubernetes(Box::new(cluster))).await
    }

    async fn new(client: Client, process: Process) -> Self {
        let mut server = Self {
            client,
            scenery: BTreeSet::new(),
            _process: process,
        };
        let there = server.everything().await;
        server.scenery = there.iter().filter_map(|(_, object)| object.uid()).collect();
        server.furnish().await;
        server
    }

    /// Returns a way to the server.
    pub(crate) fn client(&self) -> Client {
        self.client.clone()
    }

    /// Makes what is there before every flow.
    async fn furnish(&self) {
        for object in [
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM}}),
            json!({"apiVersion": "operators.coreos.com/v1", "kind": "OLMConfig", "metadata": {"name": "cluster"}}),
        ] {
            create(&self.client, &object).await;
        }
    }

    /// Takes away what a flow left behind, so that another one can be played; says what doesn't go. A kube-apiserver may
    /// hold on to a definition that is removed right after it was made: it then waits, ever longer, for the storage of the
    /// kind, which is torn down and set up with every change of the definition.
    pub(crate) async fn clear(&self) -> Result<(), String> {
        // A namespace with pods goes only after the time that these may take to end, and here nobody ends them by and by.
        self.clear_of(|kind| kind != Kind::Namespace).await?;
        self.clear_of(|kind| kind == Kind::Namespace).await?;
        self.furnish().await;
        Ok(())
    }

    async fn clear_of(&self, is_meant: impl Fn(Kind) -> bool) -> Result<(), String> {
        let deadline = Instant::now() + CLEARED_WITHIN;
        loop {
            let mut left = self.everything().await;
            left.retain(|(kind, object)| is_meant(*kind) && self.is_left(*kind, object));
            let pods = self.pods().await;
            if left.is_empty() && pods.is_empty() {
                return Ok(());
            }
            if Instant::now() >= deadline {
                let described = left.iter().map(|(kind, object)| described(*kind, object));
                return Err(described.chain(pods).collect::<Vec<_>>().join("; "));
            }
            let removing = left.iter().map(|(kind, object)| self.remove(*kind, object));
            futures_util::future::join_all(removing).await;
            tokio::time::sleep(CLEARING_PAUSE).await;
        }
    }

    /// Returns what pods there are; they go with their Deployments.
    async fn pods(&self) -> Vec<String> {
        let pods: Api<Pod> = Api::all(self.client.clone());
        let pods = pods.list_metadata(&ListParams::default()).await.expect("a list");
        pods.iter().map(|pod| format!("Pod {}", pod.name_any())).collect()
    }

    async fn everything(&self) -> Vec<(Kind, DynamicObject)> {
        let lists = Kind::ALL.map(async |kind| {
            let api = api_of(&self.client, kind.naming().kind, "");
            let list = api.list(&ListParams::default()).await.expect("a list");
            list.into_iter()
                .map(move |object| (kind, object))
                .collect::<Vec<_>>()
        });
        futures_util::future::join_all(lists).await.concat()
    }

    /// Returns whether a flow left an object behind: neither was it there before, nor does Kubernetes make it by itself.
    fn is_left(&self, kind: Kind, object: &DynamicObject) -> bool {
        let namespace = object.namespace().unwrap_or_default();
        let is_of_cluster = namespace.starts_with("kube-") || namespace == "default";
        let is_of_olm = object.labels().keys().any(|key| key.starts_with("olm."));
        // Every group of custom resources has one that leads to the server itself; it goes with the group.
        let is_local = kind == Kind::ApiService && object.data["spec"]["service"].is_null();
        // Kubernetes makes these in every namespace, and they go with it.
        let is_of_every = match kind {
            Kind::ServiceAccount => object.name_any() == "default",
            Kind::ConfigMap => object.name_any() == "kube-root-ca.crt",
            _ => false,
        };
        let is_known = object.uid().is_some_and(|uid| self.scenery.contains(&uid));
        !is_known && !is_local && !is_of_every && (!is_of_cluster || is_of_olm)
    }

    async fn remove(&self, kind: Kind, object: &DynamicObject) {
        let name = object.name_any();
        let api = api_of(
            &self.client,
            kind.naming().kind,
            &object.namespace().unwrap_or_default(),
        );
        // Whoever would take a finalizer away is stopped; Kubernetes takes its own away.
        let has_ours = object
            .finalizers()
            .iter()
            .any(|name| name.starts_with("operators."));
        if has_ours {
            let nothing = json!({"metadata": {"finalizers": null}});
            api.patch(&name, &PatchParams::default(), &Patch::Merge(nothing))
                .await
                .ok();
        }
        if object.metadata.deletion_timestamp.is_none() {
            api.delete(&name, &DeleteParams::background()).await.ok();
        }
    }
}

/// Names an object that stays, with what it says of that.
fn described(kind: Kind, object: &DynamicObject) -> String {
    let finalizers = object.finalizers();
    let conditions = &object.data["status"]["conditions"];
    format!("{kind:?} {} with {finalizers:?} {conditions}", object.name_any())
}

/// Defines the kinds of OLM v0.
async fn define(client: &Client) {
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
