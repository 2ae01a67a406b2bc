//! The customer, who installs the operator, and the model team, who runs stacks with it.

use serde_json::{Map, Value, json};

use super::author::Author;
use super::cluster::Cluster;
use super::operators::is_ready;
use super::world::World;

const CATALOG: &str = "models";
const PACKAGE: &str = "inference-stack-operator";
/// Where the operators run.
pub(crate) const OPERATORS: &str = "operators";
/// Where the stacks are.
const STACKS: &str = "stacks";
const EXTENSIONS: &str = "apis/olm.operatorframework.io/v1/clusterextensions";

/// The cluster's administrator.
pub(crate) struct Customer<'w> {
    world: &'w World,
    cluster: &'w Cluster,
}

impl<'w> Customer<'w> {
    pub(crate) fn new(world: &'w World, cluster: &'w Cluster) -> Self {
        for namespace in [OPERATORS, STACKS] {
            let body = json!({"metadata": {"name": namespace}});
            cluster.ask("POST", "api/v1/namespaces", Some(&body));
        }
        Self { world, cluster }
    }

    fn runs(&self, arguments: &[&str]) {
        let kubeconfig = self.cluster.kubeconfig();
        let mut all = arguments.to_vec();
        all.extend(["--kubeconfig", kubeconfig.as_str()]);
        let output = self.world.run(&all);
        assert!(output.status.success(), "{}", self.world.describe(&all, &output));
    }

    pub(crate) fn adds_the_catalog(&self, author: &Author<'_>) {
        self.runs(&["catalog", "add", CATALOG, &author.catalog(), "--poll", "1"]);
    }

    /// Applies the definitions that the author leaves out of the bundles.
    pub(crate) fn applies_definitions(&self, author: &Author<'_>) {
        for entry in std::fs::read_dir(author.definitions()).expect("definitions") {
            let bytes = std::fs::read(entry.expect("a file").path()).expect("a definition");
            let definition = goyaml::to_value(&bytes).expect("YAML");
            let path = "apis/apiextensions.k8s.io/v1/customresourcedefinitions";
            let (status, answer) = self.cluster.ask("POST", path, Some(&definition));
            assert_eq!(status, 201, "{answer}");
        }
    }

    pub(crate) fn installs(&self, name: &str, channel: &str, more: &[&str]) {
        let mut arguments = vec![
            "install",
            PACKAGE,
            "--name",
            name,
            "--namespace",
            OPERATORS,
            "--channel",
            channel,
        ];
        arguments.extend(more);
        self.runs(&arguments);
    }

    pub(crate) fn upgrades(&self, name: &str, more: &[&str]) {
        let mut arguments = vec!["upgrade", name];
        arguments.extend(more);
        self.runs(&arguments);
    }

    pub(crate) fn uninstalls(&self, name: &str, more: &[&str]) {
        let mut arguments = vec!["uninstall", name];
        arguments.extend(more);
        self.runs(&arguments);
    }

    /// Whether a kind of custom resources is served.
    pub(crate) fn is_served(&self, definition: &str) -> bool {
        let path = format!("apis/apiextensions.k8s.io/v1/customresourcedefinitions/{definition}");
        self.cluster.ask("GET", &path, None).0 == 200
    }

    fn changes(&self, name: &str, change: &Value) {
        let (status, answer) = self
            .cluster
            .ask("PATCH", &format!("{EXTENSIONS}/{name}"), Some(change));
        assert_eq!(status, 200, "{answer}");
    }

    pub(crate) fn annotates(&self, name: &str, key: &str, value: &str) {
        let annotations: Map<String, Value> = [(key.to_owned(), json!(value))].into_iter().collect();
        self.changes(name, &json!({"metadata": {"annotations": annotations}}));
    }

    /// Gives a new version some minutes to roll out.
    pub(crate) fn allows_minutes(&self, name: &str, minutes: u32) {
        self.changes(name, &json!({"spec": {"progressDeadlineMinutes": minutes}}));
    }

    pub(crate) fn has_version(&self, name: &str, version: &str) {
        self.cluster.until(&format!("{name} has version {version}"), || {
            let (_, extension) = self.cluster.ask("GET", &format!("{EXTENSIONS}/{name}"), None);
            let installed = &extension["status"]["install"]["bundle"]["version"];
            if installed == version {
                Ok(())
            } else {
                Err(extension["status"].to_string())
            }
        });
    }

    /// The status of an extension says something.
    pub(crate) fn is_told(&self, name: &str, words: &str) {
        self.cluster.until(&format!("{name} is told: {words}"), || {
            let (_, extension) = self.cluster.ask("GET", &format!("{EXTENSIONS}/{name}"), None);
            let status = extension["status"].to_string();
            if status.contains(words) {
                Ok(())
            } else {
                Err(status)
            }
        });
    }

    /// A pod of the operator of a version runs, as a process of this machine.
    pub(crate) fn sees_the_operator_run(&self, version: &str) {
        self.cluster.until(&format!("the operator {version} runs"), || {
            let (_, pods) = self
                .cluster
                .ask("GET", &format!("api/v1/namespaces/{OPERATORS}/pods"), None);
            let pods = pods["items"].as_array().cloned().unwrap_or_default();
            let is_running = |pod: &Value| {
                let image = pod["spec"]["containers"][0]["image"].as_str().unwrap_or_default();
                image.contains(version) && pod["metadata"]["deletionTimestamp"].is_null() && is_ready(pod)
            };
            if pods.iter().any(is_running) {
                Ok(())
            } else {
                Err(pods
                    .iter()
                    .map(|pod| format!("{} {}", pod["metadata"]["name"], pod["status"]))
                    .collect::<Vec<_>>()
                    .join("\n"))
            }
        });
    }

    pub(crate) fn has_no_operator(&self) {
        self.cluster.until("no operator is left", || {
            let path = format!("apis/apps/v1/namespaces/{OPERATORS}/deployments");
            let (_, deployments) = self.cluster.ask("GET", &path, None);
            match deployments["items"].as_array().map(Vec::len) {
                Some(0) => Ok(()),
                _ => Err(deployments.to_string()),
            }
        });
    }
}

/// The stacks of the model team.
pub(crate) struct Stack<'w> {
    cluster: &'w Cluster,
    path: String,
    api_version: String,
    kind: &'static str,
}

impl<'w> Stack<'w> {
    pub(crate) fn new(
        cluster: &'w Cluster,
        group: &str,
        version: &str,
        plural: &str,
        kind: &'static str,
    ) -> Self {
        Self {
            cluster,
            path: format!("apis/{group}/{version}/namespaces/{STACKS}/{plural}"),
            api_version: format!("{group}/{version}"),
            kind,
        }
    }

    pub(crate) fn make(&self, name: &str, labels: &[(&str, &str)], spec: &Value) {
        let labels: Map<String, Value> = labels
            .iter()
            .map(|(key, value)| ((*key).to_owned(), json!(value)))
            .collect();
        let body = json!({
            "apiVersion": self.api_version, "kind": self.kind,
            "metadata": {"name": name, "labels": labels}, "spec": spec,
        });
        // The definition may be served a moment later.
        self.cluster.until(&format!("{name} is made"), || {
            let (status, answer) = self.cluster.ask("POST", &self.path, Some(&body));
            if status == 201 {
                Ok(())
            } else {
                Err(answer.to_string())
            }
        });
    }

    pub(crate) fn change(&self, name: &str, spec: &Value) {
        let change = json!({"spec": spec});
        let (status, answer) = self
            .cluster
            .ask("PATCH", &format!("{}/{name}", self.path), Some(&change));
        assert_eq!(status, 200, "{answer}");
    }

    pub(crate) fn label(&self, name: &str, key: &str, value: &str) {
        let labels: Map<String, Value> = [(key.to_owned(), json!(value))].into_iter().collect();
        let change = json!({"metadata": {"labels": labels}});
        let (status, answer) = self
            .cluster
            .ask("PATCH", &format!("{}/{name}", self.path), Some(&change));
        assert_eq!(status, 200, "{answer}");
    }

    fn get(&self, name: &str) -> Value {
        self.cluster.ask("GET", &format!("{}/{name}", self.path), None).1
    }

    /// Waits until the stack says of its newest generation that it is deployed and ready.
    pub(crate) fn is_ready(&self, name: &str) {
        self.cluster.until(&format!("{name} is ready"), || {
            let stack = self.get(name);
            let holds = |kind: &str| {
                let conditions = stack["status"]["conditions"]
                    .as_array()
                    .cloned()
                    .unwrap_or_default();
                conditions
                    .iter()
                    .any(|condition| condition["type"] == kind && condition["status"] == "True")
            };
            let is_current = stack["status"]["observedGeneration"] == stack["metadata"]["generation"];
            if is_current && holds("Deployed") && holds("Ready") {
                Ok(())
            } else {
                Err(stack["status"]["conditions"].to_string())
            }
        });
    }

    pub(crate) fn condition_message(&self, name: &str, kind: &str) -> String {
        self.cluster.until(&format!("{name} says {kind}"), || {
            let stack = self.get(name);
            let conditions = stack["status"]["conditions"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            conditions
                .iter()
                .find(|condition| condition["type"] == kind)
                .and_then(|condition| condition["message"].as_str().map(str::to_owned))
                .ok_or_else(|| stack["status"].to_string())
        })
    }

    pub(crate) fn object(&self, api: &str, plural: &str, name: &str) -> Value {
        self.cluster
            .ask("GET", &format!("{api}/namespaces/{STACKS}/{plural}/{name}"), None)
            .1
    }

    pub(crate) fn has(&self, api_version: &str, plural: &str, name: &str) {
        let object = self.object(&prefix(api_version), plural, name);
        assert_eq!(object["metadata"]["name"], name, "{object}");
    }

    pub(crate) fn has_none(&self, api_version: &str, plural: &str) {
        self.cluster.until(&format!("no {plural} are left"), || {
            let path = format!("{}/namespaces/{STACKS}/{plural}", prefix(api_version));
            let (_, list) = self.cluster.ask("GET", &path, None);
            match list["items"].as_array().map(Vec::len) {
                Some(0) => Ok(()),
                _ => Err(list.to_string()),
            }
        });
    }

    /// The version of the chart that an object of a stack says it is from.
    pub(crate) fn chart_version(&self, name: &str) -> String {
        let account = self.object("api/v1", "configmaps", &format!("{name}-inference-stack-chat"));
        let label = account["metadata"]["labels"]["helm.sh/chart"]
            .as_str()
            .unwrap_or_default();
        label
            .rsplit_once('-')
            .map_or(label, |(_, version)| version)
            .to_owned()
    }

    pub(crate) fn until_chart_version(&self, name: &str, version: &str) {
        self.cluster.until(&format!("{name} has chart {version}"), || {
            let seen = self.chart_version(name);
            if seen == version { Ok(()) } else { Err(seen) }
        });
    }

    /// The identities of the pods of a workload.
    pub(crate) fn pods(&self, workload: &str) -> Vec<String> {
        let (_, pods) = self
            .cluster
            .ask("GET", &format!("api/v1/namespaces/{STACKS}/pods"), None);
        let pods = pods["items"].as_array().cloned().unwrap_or_default();
        let mut found: Vec<String> = pods
            .iter()
            .filter(|pod| pod["metadata"]["deletionTimestamp"].is_null())
            .filter(|pod| {
                let name = pod["metadata"]["name"].as_str().unwrap_or_default();
                name.starts_with(&format!("{workload}-"))
            })
            .map(|pod| pod["metadata"]["uid"].as_str().unwrap_or_default().to_owned())
            .collect();
        found.sort();
        found
    }

    pub(crate) fn until_pods_are_others(&self, workload: &str, before: &[String]) {
        assert!(!before.is_empty(), "{workload} had pods");
        self.cluster
            .until(&format!("the pods of {workload} are others"), || {
                let now = self.pods(workload);
                if now.len() == before.len() && now.iter().all(|pod| !before.contains(pod)) {
                    Ok(())
                } else {
                    Err(format!("{now:?}, before {before:?}"))
                }
            });
    }
}

/// The path of an API version.
fn prefix(api_version: &str) -> String {
    if api_version.contains('/') {
        format!("apis/{api_version}")
    } else {
        format!("api/{api_version}")
    }
}
