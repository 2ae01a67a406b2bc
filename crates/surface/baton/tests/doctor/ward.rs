//! A cluster with something in it to look after, and what `baton doctor` says of it.

use std::fs;
use std::process::Output;

use serde_json::{Value, json};

use crate::cast::author::Author;
use crate::cast::cluster::Cluster;
use crate::cast::customer::{Customer, Stack};
use crate::cast::world::World;

/// The package that the author publishes.
pub(crate) const PACKAGE: &str = "inference-stack-operator";

/// What nobody may find in an archive, wherever it was put.
pub(crate) const PLANTED: [&str; 9] = [
    "hunter2-in-a-secret",
    "hunter2-in-a-variable",
    "hunter2-in-a-setting",
    "hunter2-in-a-file",
    "hunter2-in-an-address",
    "hunter2-in-an-annotation",
    "hunter2-behind-a-flag",
    "hunter2-in-a-resource",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJodW50ZXIifQ.c2lnbmF0dXJlLW9mLWh1bnRlcjI",
];

/// A cluster with a published operator, an extension of it and a stack that runs.
pub(crate) struct Ward<'w> {
    pub(crate) world: &'w World,
    pub(crate) cluster: &'w Cluster,
    pub(crate) author: Author<'w>,
}

impl<'w> Ward<'w> {
    pub(crate) fn new(world: &'w World, cluster: &'w Cluster) -> Self {
        let author = Author::new(world, cluster, "models.example.com", "InferenceStack");
        let customer = Customer::new(world, cluster);
        author.publish("2.0.0", &["stable"]);
        customer.adds_the_catalog(&author);
        customer.installs("stack", "stable-v2", &["--version", "2.0.0"]);
        let stack = Stack::new(
            cluster,
            "models.example.com",
            "v1alpha1",
            "inferencestacks",
            "InferenceStack",
        );
        let wish = json!({"applications": {"chat": {
            "replicaCount": 1, "readerConfig": {"modelName": "example/small-chat-7b"},
        }}});
        stack.make("chat", &[("operatorVersion", "v2")], &wish);
        stack.is_ready("chat");
        Self {
            world,
            cluster,
            author,
        }
    }

    /// Runs baton as the administrator.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        let kubeconfig = self.cluster.kubeconfig();
        let mut all = arguments.to_vec();
        all.extend(["--kubeconfig", &kubeconfig]);
        self.world.run(&all)
    }

    /// What `baton doctor` finds, for programs.
    pub(crate) fn report(&self) -> (Option<i32>, Value) {
        let output = self.run(&["doctor", "-o", "json"]);
        let report = serde_json::from_slice(&output.stdout);
        let words = String::from_utf8_lossy(&output.stderr);
        (
            output.status.code(),
            report.unwrap_or_else(|error| panic!("{error}: {words}")),
        )
    }

    pub(crate) fn make(&self, path: &str, object: &Value) {
        let (code, answer) = self.cluster.ask("POST", path, Some(object));
        assert!(matches!(code, 200 | 201), "{code} {answer}");
    }

    pub(crate) fn namespace(&self, name: &str) {
        self.make("api/v1/namespaces", &json!({"metadata": {"name": name}}));
    }

    pub(crate) fn subscription(&self, namespace: &str, source: &str, approval: &str) {
        self.make(
            &format!("apis/operators.coreos.com/v1alpha1/namespaces/{namespace}/subscriptions"),
            &json!({"apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription",
                "metadata": {"name": "stack"},
                "spec": {"name": PACKAGE, "channel": "stable-v2", "source": source, "sourceNamespace": "olm",
                    "installPlanApproval": approval}}),
        );
    }

    pub(crate) fn group(&self, namespace: &str, name: &str) {
        self.make(
            &format!("apis/operators.coreos.com/v1/namespaces/{namespace}/operatorgroups"),
            &json!({"apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup", "metadata": {"name": name},
                "spec": {"targetNamespaces": [namespace]}}),
        );
    }

    pub(crate) fn source(&self, name: &str, image: &str) {
        self.make(
            "apis/operators.coreos.com/v1alpha1/namespaces/olm/catalogsources",
            &json!({"apiVersion": "operators.coreos.com/v1alpha1", "kind": "CatalogSource",
                "metadata": {"name": name}, "spec": {"sourceType": "grpc", "image": image}}),
        );
    }

    /// Lets somebody list the kinds of OLM v1, or nothing; returns her kubeconfig.
    pub(crate) fn reader(&self, name: &str, may_look: bool) -> String {
        self.make(
            "api/v1/namespaces/default/serviceaccounts",
            &json!({"metadata": {"name": name}}),
        );
        let rbac = "apis/rbac.authorization.k8s.io/v1";
        let mut rules = Vec::new();
        if may_look {
            rules.push(
                json!({"apiGroups": ["olm.operatorframework.io"], "resources": ["*"], "verbs": ["list"]}),
            );
        }
        self.make(
            &format!("{rbac}/clusterroles"),
            &json!({"metadata": {"name": name}, "rules": rules}),
        );
        self.make(
            &format!("{rbac}/clusterrolebindings"),
            &json!({"metadata": {"name": name},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
                "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "default"}]}),
        );
        let (_, token) = self.cluster.ask(
            "POST",
            &format!("api/v1/namespaces/default/serviceaccounts/{name}/token"),
            Some(&json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}})),
        );
        let own = fs::read(self.cluster.kubeconfig()).expect("a kubeconfig");
        let mut kubeconfig = goyaml::to_value(&own).expect("YAML");
        kubeconfig["users"][0]["user"] = json!({"token": token["status"]["token"]});
        let path = self.world.path(&format!("{name}.kubeconfig"));
        fs::write(&path, kubeconfig.to_string()).expect("a kubeconfig");
        path.display().to_string()
    }

    /// Breaks what people break.
    pub(crate) fn break_things(&self) {
        let missing = format!("{}/nothing:1", self.cluster.registry());
        self.make(
            "apis/olm.operatorframework.io/v1/clustercatalogs",
            &json!({"apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterCatalog", "metadata": {"name": "gone"},
                "spec": {"source": {"type": "Image", "image": {"ref": missing}}}}),
        );
        self.source("gone", &missing);
        self.source("models", &self.author.catalog());
        let models = "apis/operators.coreos.com/v1alpha1/namespaces/olm/catalogsources/models";
        self.cluster.until("the catalog is connected", || {
            let (_, source) = self.cluster.ask("GET", models, None);
            match source["status"]["connectionState"]["lastObservedState"].as_str() {
                Some("READY") => Ok(()),
                _ => Err(source.to_string()),
            }
        });
        for (namespace, source, approval) in [
            ("waits-for-catalog", "gone", "Automatic"),
            ("waits-for-somebody", "models", "Manual"),
            ("has-two-groups", "models", "Automatic"),
        ] {
            self.namespace(namespace);
            self.group(namespace, "first");
            if namespace == "has-two-groups" {
                self.group(namespace, "second");
            }
            self.subscription(namespace, source, approval);
        }
        self.namespace("has-no-group");
        self.subscription("has-no-group", "models", "Automatic");
        self.make(
            "apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
            &json!({"metadata": {"name": "left-behind"}, "webhooks": [{"name": "left.behind.example.com",
                "clientConfig": {"service": {"namespace": "default", "name": "gone"}},
                "rules": [{"apiGroups": ["none.example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["nothings"]}],
                "sideEffects": "None", "admissionReviewVersions": ["v1"]}]}),
        );
        self.make(
            "apis/coordination.k8s.io/v1/namespaces/default/leases",
            &json!({"metadata": {"name": "baton-helm-operator-gone", "labels": {"baton-olm.dev/helm-operator": "true"}},
                "spec": {"holderIdentity": "gone", "leaseDurationSeconds": 900, "renewTime": "2026-01-01T00:00:00.000000Z"}}),
        );
        let stack = Stack::new(
            self.cluster,
            "models.example.com",
            "v1alpha1",
            "inferencestacks",
            "InferenceStack",
        );
        stack.make(
            "lost",
            &[("operatorVersion", "v9")],
            &json!({"adminPassword": PLANTED[7]}),
        );
    }

    /// Puts secrets where people put them.
    pub(crate) fn plant(&self) {
        self.make(
            "api/v1/namespaces/olm/secrets",
            &json!({"metadata": {"name": "planted", "annotations": {"note": format!("token={}", PLANTED[5])}},
                "stringData": {"anything": PLANTED[0]}}),
        );
        self.make(
            "api/v1/namespaces/olm/configmaps",
            &json!({"metadata": {"name": "planted"}, "data": {
                "password": PLANTED[2],
                "config.yaml": format!("database:\n  password: {}\n  url: https://bob:{}@example.com\n", PLANTED[3], PLANTED[4]),
                "harmless": "shown", "token.txt": PLANTED[8], "note": format!("the other one is {}", PLANTED[0])}}),
        );
        self.make(
            "api/v1/namespaces/olm/pods",
            &json!({"metadata": {"name": "planted"}, "spec": {"containers": [{"name": "a", "image": "r.example/a:1",
                "env": [{"name": "ANYTHING", "value": PLANTED[1]}],
                "args": ["--api-token", PLANTED[6]]}]}}),
        );
    }
}

/// All findings of a report, consequences included: rule and object.
pub(crate) fn flat(findings: &Value) -> Vec<(String, String)> {
    let findings = findings.as_array().map(Vec::as_slice).unwrap_or_default();
    let mut all = Vec::new();
    for finding in findings {
        let object = &finding["object"];
        let text = |field: &str| object[field].as_str().unwrap_or_default().to_owned();
        all.push((
            finding["rule"].as_str().unwrap_or_default().to_owned(),
            format!("{} {}/{}", text("kind"), text("namespace"), text("name")),
        ));
        all.extend(flat(&finding["leadsTo"]));
    }
    all
}

/// Who may not look at something is told what, and the rest is looked at all the same.
pub(crate) fn rights_decide_what_is_seen(ward: &Ward<'_>) {
    let some = ward.reader("sees-some", true);
    let output = ward.world.run(&["doctor", "-o", "json", "--kubeconfig", &some]);
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    assert_eq!(
        (output.status.code(), report["broken"].as_u64()),
        (Some(0), Some(0)),
        "{report:#}"
    );
    let found = flat(&report["findings"]);
    let is_told = |object: &str| {
        found
            .iter()
            .any(|one| one.0 == "not-looked-at" && one.1 == object)
    };
    assert!(is_told("Subscription /") && is_told("Secret /"), "{found:#?}");
    assert!(!is_told("ClusterExtension /"), "{found:#?}");

    let none = ward.reader("sees-nothing", false);
    let output = ward.world.run(&["doctor", "--kubeconfig", &none]);
    assert_eq!(output.status.code(), Some(2));
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(
        words.contains("could not look at anything in the cluster: ") && words.contains("forbidden"),
        "{words}"
    );
}
