//! `baton doctor` and `baton snapshot` on a cluster that works, and on the same one after somebody broke it.

#[path = "story/cast/mod.rs"]
#[expect(dead_code, reason = "the stories use the rest of it")]
mod cast;

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::process::Output;

use cast::author::Author;
use cast::cluster::Cluster;
use cast::customer::{Customer, Stack};
use cast::world::World;
use regex::Regex;
use serde_json::{Value, json};

/// The package that the author publishes.
const PACKAGE: &str = "inference-stack-operator";

/// What nobody may find in an archive, wherever it was put.
const PLANTED: [&str; 9] = [
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
struct Ward<'w> {
    world: &'w World,
    cluster: &'w Cluster,
    author: Author<'w>,
}

impl<'w> Ward<'w> {
    fn new(world: &'w World, cluster: &'w Cluster) -> Self {
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
    fn run(&self, arguments: &[&str]) -> Output {
        let kubeconfig = self.cluster.kubeconfig();
        let mut all = arguments.to_vec();
        all.extend(["--kubeconfig", &kubeconfig]);
        self.world.run(&all)
    }

    /// What `baton doctor` finds, for programs.
    fn report(&self) -> (Option<i32>, Value) {
        let output = self.run(&["doctor", "-o", "json"]);
        let report = serde_json::from_slice(&output.stdout);
        let words = String::from_utf8_lossy(&output.stderr);
        (
            output.status.code(),
            report.unwrap_or_else(|error| panic!("{error}: {words}")),
        )
    }

    fn make(&self, path: &str, object: &Value) {
        let (code, answer) = self.cluster.ask("POST", path, Some(object));
        assert!(matches!(code, 200 | 201), "{code} {answer}");
    }

    fn namespace(&self, name: &str) {
        self.make("api/v1/namespaces", &json!({"metadata": {"name": name}}));
    }

    fn subscription(&self, namespace: &str, source: &str, approval: &str) {
        self.make(
            &format!("apis/operators.coreos.com/v1alpha1/namespaces/{namespace}/subscriptions"),
            &json!({"apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription",
                "metadata": {"name": "stack"},
                "spec": {"name": PACKAGE, "channel": "stable-v2", "source": source, "sourceNamespace": "olm",
                    "installPlanApproval": approval}}),
        );
    }

    fn group(&self, namespace: &str, name: &str) {
        self.make(
            &format!("apis/operators.coreos.com/v1/namespaces/{namespace}/operatorgroups"),
            &json!({"apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup", "metadata": {"name": name},
                "spec": {"targetNamespaces": [namespace]}}),
        );
    }

    fn source(&self, name: &str, image: &str) {
        self.make(
            "apis/operators.coreos.com/v1alpha1/namespaces/olm/catalogsources",
            &json!({"apiVersion": "operators.coreos.com/v1alpha1", "kind": "CatalogSource",
                "metadata": {"name": name}, "spec": {"sourceType": "grpc", "image": image}}),
        );
    }

    /// Lets somebody list the kinds of OLM v1, or nothing; returns her kubeconfig.
    fn reader(&self, name: &str, may_look: bool) -> String {
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
    fn break_things(&self) {
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
    fn plant(&self) {
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
fn flat(findings: &Value) -> Vec<(String, String)> {
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

/// What differs from run to run, replaced.
fn plain(text: &str) -> String {
    [
        (r"127\.0\.0\.1:\d+", "127.0.0.1:[PORT]"),
        (r"install-[a-z0-9]{5}\b", "install-[ID]"),
        (r"for \d+ (s|min|h|days)", "for [TIME]"),
        (r"looked at \d+ objects", "looked at [N] objects"),
    ]
    .iter()
    .fold(text.to_owned(), |text, (pattern, by)| {
        let pattern = Regex::new(pattern).expect("a pattern");
        pattern.replace_all(&text, *by).into_owned()
    })
}

/// The files of an archive, by path.
fn files(bytes: &[u8]) -> BTreeMap<String, String> {
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(bytes));
    archive
        .entries()
        .expect("entries")
        .map(|entry| {
            let mut entry = entry.expect("an entry");
            let path = entry.path().expect("a path").display().to_string();
            let mut text = String::new();
            entry.read_to_string(&mut text).expect("a text");
            (path, text)
        })
        .collect()
}

#[test]
fn a_cluster_is_well_then_broken_and_its_archive_has_no_secrets() {
    let world = World::new();
    let cluster = Cluster::up(&world);
    let ward = Ward::new(&world, &cluster);

    let (code, report) = ward.report();
    assert_eq!(
        (code, report["broken"].as_u64()),
        (Some(0), Some(0)),
        "{report:#}"
    );

    rights_decide_what_is_seen(&ward);

    ward.break_things();
    ward.plant();
    let expected = [
        ("catalog-not-served", "ClusterCatalog /gone"),
        ("catalog-source-unhealthy", "CatalogSource olm/gone"),
        ("subscription-waits", "Subscription waits-for-catalog/stack"),
        (
            "subscription-waits-for-approval",
            "Subscription waits-for-somebody/stack",
        ),
        ("several-operator-groups", "OperatorGroup has-two-groups/first"),
        (
            "subscription-without-operator-group",
            "Subscription has-no-group/stack",
        ),
        ("webhook-silent", "ValidatingWebhookConfiguration /left-behind"),
        ("operator-silent", "Lease default/baton-helm-operator-gone"),
        ("resource-without-operator", "InferenceStack stacks/lost"),
    ];
    cluster.until("doctor finds everything", || {
        let (code, report) = ward.report();
        let found = flat(&report["findings"]);
        let missing = expected.iter().find(|(rule, object)| {
            !found
                .iter()
                .any(|one| (one.0.as_str(), one.1.as_str()) == (*rule, *object))
        });
        // The controller says it in the Subscription a moment after the groups are there.
        if !report.to_string().contains("found 2 operatorGroups, expected 1") {
            return Err(format!("nothing says what a Subscription waits for: {report:#}"));
        }
        match missing {
            None if code == Some(1) => Ok(()),
            None => Err(format!("exit code {code:?}")),
            Some(missing) => Err(format!("no {missing:?} in {found:#?}")),
        }
    });
    let told = ward.run(&["doctor"]);
    insta::assert_snapshot!("broken", plain(&String::from_utf8_lossy(&told.stdout)));
    let one = ward.run(&["doctor", "--namespace", "has-no-group"]);
    insta::assert_snapshot!("one_namespace", plain(&String::from_utf8_lossy(&one.stdout)));

    archive_without_secrets(&ward);
    cluster.stop();
}

/// Who may not look at something is told what, and the rest is looked at all the same.
fn rights_decide_what_is_seen(ward: &Ward<'_>) {
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

fn archive_without_secrets(ward: &Ward<'_>) {
    let file = ward.world.path("snapshot.tar.gz");
    let path = file.display().to_string();
    let taken = ward.run(&["snapshot", &path, "--with-values"]);
    assert!(
        taken.status.success(),
        "{}",
        String::from_utf8_lossy(&taken.stderr)
    );
    let files = files(&fs::read(&file).expect("an archive"));
    for (path, text) in &files {
        for secret in PLANTED {
            assert!(!text.contains(secret), "{secret} is in {path}:\n{text}");
        }
    }
    for path in [
        "contents.json",
        "baton.yaml",
        "report.txt",
        "report.json",
        "server/version.json",
        "server/apis.json",
        "events/olm.yaml",
        "objects/cluster/ClusterCatalog.olm.operatorframework.io/gone.yaml",
        "objects/namespaces/olm/ConfigMap/planted.yaml",
        "objects/namespaces/olm/Secret/planted.yaml",
        "objects/namespaces/stacks/InferenceStack.models.example.com/lost.yaml",
    ] {
        assert!(
            files.contains_key(&format!("baton-snapshot/{path}")),
            "no {path} in {:#?}",
            files.keys().collect::<Vec<_>>()
        );
    }
    assert!(files.keys().any(|path| path.starts_with("baton-snapshot/logs/")));
    assert!(
        files
            .keys()
            .any(|path| path.starts_with("baton-snapshot/releases/"))
    );
    let settings = &files["baton-snapshot/objects/namespaces/olm/ConfigMap/planted.yaml"];
    assert!(settings.contains("harmless: shown"), "{settings}");
    let secret = &files["baton-snapshot/objects/namespaces/olm/Secret/planted.yaml"];
    assert!(secret.contains("anything: 19 bytes"), "{secret}");

    let refused = ward.run(&["snapshot", &path]);
    assert_eq!(refused.status.code(), Some(1));
    let words = String::from_utf8_lossy(&refused.stderr);
    assert!(
        words.contains("is there already; name another file, or overwrite it with --force"),
        "{words}"
    );
    let small = ward.run(&["snapshot", &path, "--force", "--limit", "1", "--limit-each", "1"]);
    assert!(small.status.success());
    let words = String::from_utf8_lossy(&small.stdout);
    assert!(
        words.contains("left out:") && words.contains("the rest of "),
        "{words}"
    );
}

#[test]
fn a_real_cluster_is_well() {
    let world = World::new();
    let Some(cluster) = Cluster::real(&world) else {
        return;
    };
    let ward = Ward::new(&world, &cluster);
    let (code, report) = ward.report();
    assert_eq!(
        (code, report["broken"].as_u64()),
        (Some(0), Some(0)),
        "{report:#}"
    );
    rights_decide_what_is_seen(&ward);
}

#[test]
fn who_cannot_look_is_told_so() {
    let world = World::new();
    let kubeconfig = world.path("nowhere.kubeconfig");
    let config = json!({"apiVersion": "v1", "kind": "Config", "current-context": "a",
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
        "clusters": [{"name": "a", "cluster": {"server": "http://127.0.0.1:1"}}],
        "users": [{"name": "a", "user": {}}]});
    fs::write(&kubeconfig, config.to_string()).expect("a kubeconfig");
    let kubeconfig = kubeconfig.display().to_string();
    for command in ["doctor", "snapshot"] {
        let output = world.run(&[command, "--kubeconfig", &kubeconfig]);
        assert_eq!(output.status.code(), Some(2), "{command}");
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(
            words.contains("could not look at the cluster: connection refused"),
            "{words}"
        );
    }
    assert_eq!(world.files(), ["nowhere.kubeconfig"]);
}
