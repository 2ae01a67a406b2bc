//! A cluster in this process, a chart, and operators that look after it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use helm_operator::blueprint::Blueprint;
use helm_operator::controller::Controller;
use helm_operator::roster::Roster;
use helm_operator::routing::Operator;
use helm_operator::watches;
use helm_operator::world::Making;
use kube::Client;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use serde_json::{Value, json};
use stage::Stage;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::chart::{CHART, SCHEMA, TEMPLATE, VALUES};
use crate::line::Line;

pub(crate) const NAMESPACE: &str = "models";

/// How long something may take that happens in milliseconds, on a machine that does much else.
const PATIENCE: Duration = Duration::from_mins(1);

/// An operator.
pub(crate) struct Settings {
    /// What tells it from others.
    pub(crate) name: &'static str,
    /// The version of its chart.
    pub(crate) version: &'static str,
    /// The label that it looks for; none for every resource.
    pub(crate) label: Option<&'static str>,
    /// Further lines of its watch.
    pub(crate) more: &'static str,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            name: "operator",
            version: "1.0.0",
            label: None,
            more: "",
        }
    }
}

pub(crate) struct World {
    /// None where the cluster is elsewhere.
    pub(crate) stage: Option<Stage>,
    pub(crate) client: Client,
    charts: tempfile::TempDir,
    running: HashMap<&'static str, (JoinHandle<()>, oneshot::Sender<()>)>,
}

impl World {
    /// A cluster with the kinds of the tests, and no operator.
    pub(crate) async fn new() -> Self {
        Self::with(stage::Options::default()).await
    }

    pub(crate) async fn with(options: stage::Options) -> Self {
        let stage = Stage::start(options).await.expect("a stage");
        let client = Client::new(stage.service(), "default");
        let mut world = Self::at(client);
        world.stage = Some(stage);
        world.prepare().await;
        world
    }

    /// A cluster that is reached by a client.
    pub(crate) fn at(client: Client) -> Self {
        Self {
            stage: None,
            client,
            charts: tempfile::tempdir().expect("a folder"),
            running: HashMap::new(),
        }
    }

    /// Makes the kinds and the namespace.
    pub(crate) async fn prepare(&self) {
        for kind in ["Stack", "Heap"] {
            let plural = format!("{}s", kind.to_lowercase());
            let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
            self.create(json!({
                "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "metadata": {"name": format!("{plural}.example.com")},
                "spec": {
                    "group": "example.com", "scope": "Namespaced", "names": {"kind": kind, "plural": plural},
                    "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                        "schema": {"openAPIV3Schema": schema}}],
                },
            }))
            .await;
        }
        self.create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}))
            .await;
        self.until("CustomResourceDefinition", "heaps.example.com", |definition| {
            says(definition, "Established", "True", "InitialNamesAccepted")
        })
        .await;
    }

    /// A cluster with one who may do anything but in some groups.
    pub(crate) async fn limited() -> Self {
        let world = Self::with(stage::Options {
            tokens: vec![("limited".to_owned(), "limited".to_owned(), Vec::new())],
            ..stage::Options::default()
        })
        .await;
        let group = "rbac.authorization.k8s.io";
        world
            .create(json!({"apiVersion": format!("{group}/v1"), "kind": "ClusterRole", "metadata": {"name": "limited"},
                "rules": rules(&[])}))
            .await;
        world
            .create(json!({"apiVersion": format!("{group}/v1"), "kind": "ClusterRoleBinding",
                "metadata": {"name": "limited"}, "subjects": [{"apiGroup": group, "kind": "User", "name": "limited"}],
                "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "limited"}}))
            .await;
        world
    }

    /// Takes verbs of a resource from the one who is limited; everything else is allowed again.
    pub(crate) async fn forbid(&self, forbidden: &[(&str, &str)]) {
        self.edit("ClusterRole", "limited", json!({"rules": rules(forbidden)}))
            .await;
    }

    /// Starts an operator that is limited.
    pub(crate) fn start_limited(&mut self, line: &Line) {
        let service = self.stage.as_ref().expect("a stage").stranger_service();
        self.start_with(&Settings::default(), line.to(service, Some("limited")));
    }

    /// Starts an operator of the chart.
    pub(crate) fn start(&mut self, settings: &Settings) {
        let client = self.client.clone();
        self.start_with(settings, client);
    }

    pub(crate) fn start_with(&mut self, settings: &Settings, client: Client) {
        let folder = self.charts.path().join(settings.version);
        std::fs::create_dir_all(folder.join("templates")).expect("a folder");
        let chart = CHART.replace("VERSION", settings.version);
        for (name, content) in [
            ("Chart.yaml", chart.as_str()),
            ("values.yaml", VALUES),
            ("values.schema.json", SCHEMA),
            ("templates/main.yaml", TEMPLATE),
        ] {
            std::fs::write(folder.join(name), content).expect("a file");
        }
        let selector = settings.label.map_or(String::new(), |label| {
            format!("  selector: {{matchLabels: {{operatorVersion: {label}}}}}\n")
        });
        let mut text = String::new();
        for kind in ["Stack", "Heap"] {
            let watch = format!(
                "- group: example.com\n  version: v1\n  kind: {kind}\n  chart: {}\n{selector}{}",
                folder.display(),
                settings.more
            );
            text.push_str(&watch);
        }
        let blueprints: Vec<Arc<Blueprint>> =
            watches::read(text.as_bytes(), &::chart::environment::of_process())
                .expect("watches")
                .into_iter()
                .map(|watch| Arc::new(Blueprint::load(watch).expect("a chart")))
                .collect();
        let mine = blueprints
            .iter()
            .map(|blueprint| Operator::of(blueprint, &[]))
            .collect();
        let controller = Controller::new(
            Making {
                client,
                manager: "helm-operator".to_owned(),
                blueprints,
                roster: Roster::new("default", settings.name, mine),
                namespaces: Vec::new(),
                reconcile_period: Duration::from_mins(1),
                suppress_override_values: false,
                history_limit: 10,
            },
            2,
        );
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(async move {
            controller
                .run(async {
                    stopped.await.ok();
                })
                .await;
        });
        self.running.insert(settings.name, (task, stop));
    }

    /// Ends an operator as it should.
    pub(crate) async fn stop(&mut self, name: &str) {
        let (task, stop) = self.running.remove(name).expect("it runs");
        stop.send(()).ok();
        task.await.expect("no panic");
    }

    /// Ends an operator in the middle of what it does.
    pub(crate) async fn kill(&mut self, name: &str) {
        let (task, _) = self.running.remove(name).expect("it runs");
        task.abort();
        task.await.ok();
    }

    pub(crate) fn api(&self, kind: &str) -> Api<DynamicObject> {
        let (group, plural) = match kind {
            "Stack" => ("example.com", "stacks"),
            "Heap" => ("example.com", "heaps"),
            "Deployment" => ("apps", "deployments"),
            "NetworkPolicy" => ("networking.k8s.io", "networkpolicies"),
            "CustomResourceDefinition" => ("apiextensions.k8s.io", "customresourcedefinitions"),
            "ClusterRole" => ("rbac.authorization.k8s.io", "clusterroles"),
            "ClusterRoleBinding" => ("rbac.authorization.k8s.io", "clusterrolebindings"),
            "ConfigMap" => ("", "configmaps"),
            "Secret" => ("", "secrets"),
            "Widget" => ("example.org", "widgets"),
            "Pod" => ("", "pods"),
            "Event" => ("", "events"),
            "Namespace" => ("", "namespaces"),
            "Lease" => ("coordination.k8s.io", "leases"),
            other => panic!("the kind {other} is not known to the tests"),
        };
        let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, "v1", kind), plural);
        if matches!(
            kind,
            "CustomResourceDefinition" | "ClusterRole" | "ClusterRoleBinding" | "Namespace"
        ) {
            Api::all_with(self.client.clone(), &resource)
        } else {
            Api::namespaced_with(self.client.clone(), NAMESPACE, &resource)
        }
    }

    pub(crate) async fn create(&self, object: Value) {
        let api = self.api(object["kind"].as_str().expect("a kind"));
        let object = serde_json::from_value(object).expect("an object");
        api.create(&PostParams::default(), &object).await.expect("made");
    }

    /// Makes a Stack.
    pub(crate) async fn stack(&self, name: &str, label: &str, spec: Value) {
        self.create(json!({
            "apiVersion": "example.com/v1", "kind": "Stack",
            "metadata": {"name": name, "labels": {"operatorVersion": label}}, "spec": spec,
        }))
        .await;
    }

    /// Changes an object as somebody else would.
    pub(crate) async fn edit(&self, kind: &str, name: &str, patch: Value) {
        let parameters = PatchParams {
            field_manager: Some("kubectl-edit".to_owned()),
            ..PatchParams::default()
        };
        let edited = self
            .api(kind)
            .patch(name, &parameters, &Patch::Merge(patch))
            .await;
        edited.expect("edited");
    }

    pub(crate) async fn delete(&self, kind: &str, name: &str) {
        let deleted = self.api(kind).delete(name, &DeleteParams::default()).await;
        deleted.expect("deleted");
    }

    pub(crate) async fn get(&self, kind: &str, name: &str) -> Option<Value> {
        let found = self.api(kind).get_opt(name).await.expect("an answer");
        found.map(|object| serde_json::to_value(object).expect("JSON"))
    }

    pub(crate) async fn list(&self, kind: &str) -> Vec<Value> {
        let listed = self.api(kind).list(&ListParams::default()).await.expect("a list");
        let objects = listed.items.into_iter();
        objects
            .map(|object| serde_json::to_value(object).expect("JSON"))
            .collect()
    }

    /// Waits until an object looks as it should.
    pub(crate) async fn until(&self, kind: &str, name: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let mut last = Value::Null;
        let waiting = async {
            loop {
                if let Ok(Some(object)) = self.api(kind).get_opt(name).await {
                    last = serde_json::to_value(object).expect("JSON");
                    if is_so(&last) {
                        return;
                    }
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let waited = tokio::time::timeout(PATIENCE, waiting).await;
        assert!(
            waited.is_ok(),
            "{kind} {name} never became what it should be; it is {last:#}"
        );
        last
    }

    /// Waits until an object is gone.
    pub(crate) async fn until_gone(&self, kind: &str, name: &str) {
        let waiting = async {
            while !matches!(self.api(kind).get_opt(name).await, Ok(None)) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let waited = tokio::time::timeout(PATIENCE, waiting).await;
        assert!(waited.is_ok(), "{kind} {name} never went");
    }

    /// Waits until what a Stack asks for is there and works.
    pub(crate) async fn ready(&self, name: &str) -> Value {
        self.until("Stack", name, |stack| {
            is_true(stack, "Deployed")
                && is_true(stack, "Ready")
                && stack["status"]["observedGeneration"] == stack["metadata"]["generation"]
        })
        .await
    }

    /// Waits until something was told of a Stack, and returns the words.
    pub(crate) async fn told(&self, name: &str, reason: &str) -> String {
        let mut words = None;
        let waiting = async {
            while words.is_none() {
                tokio::time::sleep(Duration::from_millis(20)).await;
                let events = self.list("Event").await;
                let event = events
                    .iter()
                    .find(|event| event["involvedObject"]["name"] == name && event["reason"] == reason);
                words = event.and_then(|event| event["message"].as_str().map(str::to_owned));
            }
        };
        let waited = tokio::time::timeout(PATIENCE, waiting).await;
        assert!(waited.is_ok(), "{reason} was never told of {name}");
        words.unwrap_or_default()
    }

    /// The states of a Stack's revisions.
    pub(crate) async fn history(&self, name: &str) -> Vec<String> {
        let mut revisions: Vec<(i64, String)> = self
            .list("Secret")
            .await
            .iter()
            .filter(|secret| secret["metadata"]["labels"]["owner"] == "helm")
            .filter(|secret| secret["metadata"]["labels"]["name"] == name)
            .map(|secret| {
                let labels = &secret["metadata"]["labels"];
                let number = labels["version"].as_str().and_then(|number| number.parse().ok());
                let status = labels["status"].as_str().unwrap_or_default();
                (number.unwrap_or_default(), status.to_owned())
            })
            .collect();
        revisions.sort();
        revisions
            .into_iter()
            .map(|(number, status)| format!("{number} {status}"))
            .collect()
    }

    /// Waits until a line is quiet for a while.
    pub(crate) async fn rest(line: &Line) {
        let waiting = async {
            let mut quiet = 0;
            while quiet < 30 {
                tokio::time::sleep(Duration::from_millis(50)).await;
                quiet = if line.take().is_empty() { quiet + 1 } else { 0 };
            }
        };
        tokio::time::timeout(PATIENCE, waiting)
            .await
            .expect("the operator rests");
    }
}

impl Drop for World {
    fn drop(&mut self) {
        for (task, _) in self.running.values() {
            task.abort();
        }
    }
}

/// The rules of one who may do anything with the kinds of the tests but what is forbidden: verbs of resources.
fn rules(forbidden: &[(&str, &str)]) -> Value {
    const VERBS: [&str; 7] = ["get", "list", "watch", "create", "update", "patch", "delete"];
    let kinds = [
        ("", "configmaps"),
        ("", "secrets"),
        ("", "events"),
        ("", "namespaces"),
        ("", "pods"),
        ("apps", "*"),
        ("example.com", "*"),
        ("coordination.k8s.io", "*"),
        ("apiextensions.k8s.io", "*"),
    ];
    let rules = kinds.iter().map(|(group, resource)| {
        let may = VERBS.iter().filter(|verb| {
            !forbidden
                .iter()
                .any(|(kind, forbidden)| kind == resource && forbidden == *verb)
        });
        json!({"apiGroups": [group], "resources": [resource], "verbs": may.collect::<Vec<_>>()})
    });
    rules.collect()
}

fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    let conditions = object["status"]["conditions"].as_array()?;
    conditions.iter().find(|condition| condition["type"] == kind)
}

/// Returns whether a condition holds.
pub(crate) fn is_true(object: &Value, kind: &str) -> bool {
    condition(object, kind).is_some_and(|condition| condition["status"] == "True")
}

/// Returns whether a condition has a status and a reason.
pub(crate) fn says(object: &Value, kind: &str, status: &str, reason: &str) -> bool {
    condition(object, kind)
        .is_some_and(|condition| condition["status"] == status && condition["reason"] == reason)
}

/// Returns the message of a condition.
pub(crate) fn message(object: &Value, kind: &str) -> String {
    let message = condition(object, kind).and_then(|condition| condition["message"].as_str());
    message.unwrap_or_default().to_owned()
}
