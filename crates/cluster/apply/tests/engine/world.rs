//! A server with the kinds of OLM, an engine, and revisions to try.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use api::cluster_object_set::{
    Assertion, ClusterObjectSetSpec, CollisionProtection, FieldValue, LifecycleState, Phase, PhaseObject,
    ProbeSelector, ProgressionProbe,
};
use api::definitions::OLM_V1;
use api::{ClusterObjectSet, condition, keys};
use apply::engine::{Engine, Next};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use stage::{Options, Stage};

pub(crate) struct World {
    pub(crate) client: Client,
    pub(crate) engine: Engine,
    _stage: Stage,
}

impl World {
    pub(crate) async fn new() -> Self {
        let stage = Stage::in_memory(Options::default()).await.expect("a stage");
        let client = Client::new(stage.service(), "default");
        let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
        for definition in OLM_V1 {
            let object = serde_json::from_value(definition.object()).expect("a definition");
            definitions
                .create(&PostParams::default(), &object)
                .await
                .expect("defined");
            let established = kube::runtime::conditions::is_crd_established();
            kube::runtime::wait::await_condition(definitions.clone(), definition.name, established)
                .await
                .expect("established");
        }
        let namespaces: Api<Namespace> = Api::all(client.clone());
        for name in ["system", "app"] {
            let namespace = serde_json::from_value(json!({"metadata": {"name": name}})).expect("a namespace");
            namespaces
                .create(&PostParams::default(), &namespace)
                .await
                .expect("made");
        }
        let engine = Engine::new(client.clone(), "system".to_owned());
        Self {
            client,
            engine,
            _stage: stage,
        }
    }

    pub(crate) fn sets(&self) -> Api<ClusterObjectSet> {
        Api::all(self.client.clone())
    }

    pub(crate) fn maps(&self) -> Api<ConfigMap> {
        Api::namespaced(self.client.clone(), "app")
    }

    pub(crate) async fn make(&self, set: &ClusterObjectSet) {
        self.sets()
            .create(&PostParams::default(), set)
            .await
            .expect("a revision is made");
    }

    pub(crate) async fn reconcile(&self, name: &str) -> Next {
        self.engine.reconcile(name).await.expect("reconciled")
    }

    pub(crate) async fn set(&self, name: &str) -> ClusterObjectSet {
        self.sets().get(name).await.expect("the revision")
    }

    /// What a condition says: status, reason and message.
    pub(crate) async fn said(&self, name: &str, kind: &str) -> (String, String, String) {
        let set = self.set(name).await;
        let said = condition::find(&set.status.conditions, kind).cloned();
        said.map_or_else(Default::default, |said| {
            (said.status.as_str().to_owned(), said.reason, said.message)
        })
    }

    pub(crate) async fn archive(&self, name: &str) {
        let patch = json!({"spec": {"lifecycleState": "Archived"}});
        self.sets()
            .patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await
            .expect("archived");
    }

    pub(crate) async fn value(&self, name: &str, key: &str) -> Option<String> {
        let map = self.maps().get_opt(name).await.expect("asked")?;
        map.data.unwrap_or_default().get(key).cloned()
    }
}

pub(crate) fn map(name: &str, value: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "app"}, "data": {"a": value}})
}

pub(crate) fn revision(extension: &str, number: i64, phases: Vec<(&str, Vec<Value>)>) -> ClusterObjectSet {
    let entry = |object| PhaseObject {
        object: Some(object),
        ..PhaseObject::default()
    };
    let phases = phases
        .into_iter()
        .map(|(name, objects)| Phase {
            name: name.to_owned(),
            objects: objects.into_iter().map(entry).collect(),
            ..Phase::default()
        })
        .collect();
    let mut set = ClusterObjectSet::new(
        &format!("{extension}-{number}"),
        ClusterObjectSetSpec {
            lifecycle_state: LifecycleState::Active,
            revision: number,
            collision_protection: CollisionProtection::Prevent,
            phases,
            progress_deadline_minutes: None,
            progression_probes: Vec::new(),
        },
    );
    set.metadata.labels = Some(BTreeMap::from([(
        keys::OWNER_NAME.to_owned(),
        extension.to_owned(),
    )]));
    set.metadata.annotations = Some(BTreeMap::from([(
        keys::BUNDLE_VERSION.to_owned(),
        format!("{number}.0.0"),
    )]));
    set
}

pub(crate) fn waits_for(value: &str) -> Vec<ProgressionProbe> {
    vec![ProgressionProbe {
        selector: ProbeSelector {
            kind: "GroupKind".to_owned(),
            group_kind: Some(api::cluster_object_set::GroupKind {
                group: String::new(),
                kind: "ConfigMap".to_owned(),
            }),
            label: None,
        },
        assertions: vec![Assertion {
            kind: "FieldValue".to_owned(),
            field_value: Some(FieldValue {
                field_path: "data.a".to_owned(),
                value: value.to_owned(),
            }),
            ..Assertion::default()
        }],
    }]
}

/// Counts the requests that change something, and refuses all once there were too many: a program that is killed.
#[derive(Clone, Default)]
pub(crate) struct Meter {
    pub(crate) reads: Arc<AtomicUsize>,
    pub(crate) writes: Arc<AtomicUsize>,
    pub(crate) most_writes: Arc<AtomicUsize>,
}

impl World {
    /// Returns an engine whose requests are counted, and which is killed after so many writes.
    pub(crate) fn metered(&self, most_writes: usize) -> (Engine, Meter) {
        let meter = Meter::default();
        meter.most_writes.store(most_writes, Ordering::SeqCst);
        let (inner, counting) = (self.client.clone(), meter.clone());
        let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
            let (inner, counting) = (inner.clone(), counting.clone());
            async move {
                if request.method() == http::Method::GET {
                    counting.reads.fetch_add(1, Ordering::SeqCst);
                } else {
                    counting.writes.fetch_add(1, Ordering::SeqCst);
                }
                if counting.writes.load(Ordering::SeqCst) > counting.most_writes.load(Ordering::SeqCst) {
                    return Err(tower::BoxError::from("killed"));
                }
                inner.send(request).await.map_err(tower::BoxError::from)
            }
        });
        let client = Client::new(service, "default");
        (Engine::new(client, "system".to_owned()), meter)
    }
}

/// What operators ship, in the shapes that servers add defaults to.
pub(crate) fn operator() -> Vec<Value> {
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "operator", "namespace": "app"},
        "spec": {
            "replicas": 1, "revisionHistoryLimit": 1, "strategy": {},
            "selector": {"matchLabels": {"app": "operator"}},
            "template": {
                "metadata": {"creationTimestamp": null, "labels": {"app": "operator"}, "annotations": {"olm.targetNamespaces": ""}},
                "spec": {
                    "serviceAccountName": "operator", "securityContext": {"runAsNonRoot": true},
                    "tolerations": [{"key": "a", "operator": "Exists"}],
                    "volumes": [{"name": "v", "emptyDir": {}}],
                    "containers": [{
                        "name": "manager", "image": "example.com/operator:1", "args": ["--leader-elect"],
                        "env": [{"name": "A", "value": "1"},
                            {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
                        "ports": [{"containerPort": 8080}, {"containerPort": 8443, "name": "https"}],
                        "resources": {"limits": {"cpu": "500m"}, "requests": {"cpu": "10m", "memory": "64Mi"}},
                        "livenessProbe": {"httpGet": {"path": "/healthz", "port": 8080}},
                        "volumeMounts": [{"name": "v", "mountPath": "/v"}],
                    }],
                },
            },
        },
    });
    let rules = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]);
    let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "operator"});
    vec![
        deployment,
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "operator", "namespace": "app"}}),
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "app"}, "stringData": {"a": "1"}}),
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "operator"}, "rules": rules}),
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "operator"},
            "roleRef": role, "subjects": [{"kind": "ServiceAccount", "name": "operator", "namespace": "app"}]}),
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "operator", "namespace": "app"},
            "spec": {"selector": {"app": "operator"}, "ports": [{"port": 443, "targetPort": 8443}]}}),
        json!({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "n", "namespace": "app"},
            "spec": {"podSelector": {"matchLabels": {"app": "operator"}}, "policyTypes": ["Ingress"],
                "ingress": [{"ports": [{"port": 8443, "protocol": "TCP"}]}]}}),
        json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "p", "namespace": "app"},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "operator"}}}}),
        json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "hook", "namespace": "app"},
            "webhooks": [{"name": "a.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
                "failurePolicy": "Ignore",
                "clientConfig": {"service": {"name": "operator", "namespace": "app", "path": "/x", "port": 443}},
                "rules": [{"apiGroups": ["example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["widgets"]}]}]}),
        map("a", "1"),
    ]
}
