//! `baton rehearse` as users have it: versions that an author published, stacks that a team runs, and an upgrade that is
//! tried before it is made. Whoever rehearses may read the cluster, and nothing else.

#[path = "story/cast/mod.rs"]
#[expect(dead_code, reason = "the stories use the rest of it")]
mod cast;

use std::fs;
use std::process::Output;

use cast::author::Author;
use cast::cluster::Cluster;
use cast::customer::{Customer, Stack};
use cast::world::World;
use serde_json::{Value, json};

/// The catalog leads from each version to the next one alone.
const FORCE: &[&str] = &["--force"];

/// What somebody may see who may not write: the Secrets of whole namespaces, or only those that she can name.
fn rights(name: &str, lists_secrets: bool) -> Value {
    let mut rules = vec![
        json!({"apiGroups": ["apps", "apiextensions.k8s.io", "rbac.authorization.k8s.io", "olm.operatorframework.io",
            "models.example.com", "networking.k8s.io", "autoscaling", "policy", "monitoring.coreos.com"],
            "resources": ["*"], "verbs": ["get", "list"]}),
        json!({"apiGroups": [""], "resources": ["namespaces", "serviceaccounts", "services", "configmaps"],
            "verbs": ["get", "list"]}),
    ];
    let verbs = if lists_secrets {
        json!(["get", "list"])
    } else {
        json!(["get"])
    };
    rules.push(json!({"apiGroups": [""], "resources": ["secrets"], "verbs": verbs}));
    json!({"metadata": {"name": name}, "rules": rules})
}

/// Lets somebody read the cluster who may not write to it; returns her kubeconfig.
fn reader(world: &World, cluster: &Cluster, name: &str, lists_secrets: bool) -> String {
    let made = |path: &str, body: &Value| {
        let (code, answer) = cluster.ask("POST", path, Some(body));
        assert!(matches!(code, 200 | 201), "{code} {answer}");
        answer
    };
    let rbac = "apis/rbac.authorization.k8s.io/v1";
    made(
        "api/v1/namespaces/default/serviceaccounts",
        &json!({"metadata": {"name": name}}),
    );
    made(&format!("{rbac}/clusterroles"), &rights(name, lists_secrets));
    made(
        &format!("{rbac}/clusterrolebindings"),
        &json!({
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "default"}],
        }),
    );
    let token = made(
        &format!("api/v1/namespaces/default/serviceaccounts/{name}/token"),
        &json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}),
    );
    let token = token["status"]["token"].as_str().expect("a token");
    let own = fs::read(cluster.kubeconfig()).expect("a kubeconfig");
    let mut kubeconfig = goyaml::to_value(&own).expect("YAML");
    kubeconfig["users"][0]["user"] = json!({"token": token});
    let path = world.path(&format!("{name}.kubeconfig"));
    fs::write(&path, kubeconfig.to_string()).expect("a kubeconfig");
    path.display().to_string()
}

/// A published operator with two stacks, of which one has more than the other.
struct Scene<'w> {
    world: &'w World,
    cluster: &'w Cluster,
    author: Author<'w>,
    kubeconfig: String,
}

impl<'w> Scene<'w> {
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
        for (name, replicas) in [("chat", 1), ("code", 7)] {
            let wish = json!({"applications": {name: {
                "replicaCount": replicas, "readerConfig": {"modelName": "example/small-chat-7b"},
            }}});
            stack.make(name, &[("operatorVersion", "v2")], &wish);
            stack.is_ready(name);
        }
        let kubeconfig = reader(world, cluster, "reader", true);
        Self {
            world,
            cluster,
            author,
            kubeconfig,
        }
    }

    /// Changes a file of the author's tree.
    fn edit(&self, file: &str, from: &str, to: &str) {
        let path = self.world.path("tree").join(file);
        let text = fs::read_to_string(&path).expect("a file");
        assert!(text.contains(from), "{file} has no {from:?}:\n{text}");
        fs::write(&path, text.replacen(from, to, 1)).expect("a file");
    }

    /// Publishes a version, and waits until the cluster knows it.
    fn publish(&self, version: &str) {
        self.author.publish(version, &["stable"]);
        let explain = [
            "explain",
            "stack",
            "--kubeconfig",
            &self.cluster.kubeconfig(),
            "-o",
            "json",
        ];
        self.cluster.until(&format!("{version} is in the catalog"), || {
            let output = self.world.run(&explain);
            let told = String::from_utf8_lossy(&output.stdout).into_owned();
            if told.contains(&format!("\"{version}\"")) {
                Ok(())
            } else {
                Err(told)
            }
        });
    }

    fn run(&self, version: &str, more: &[&str]) -> Output {
        let images = self.world.path("images").display().to_string();
        let catalogs = self.world.path("catalogs").display().to_string();
        let mut arguments = vec![
            "rehearse",
            "stack",
            "--to",
            version,
            "--kubeconfig",
            &self.kubeconfig,
        ];
        arguments.extend(["--image-cache", &images, "--catalog-cache", &catalogs]);
        arguments.extend(more);
        self.world.run(&arguments)
    }

    /// Rehearses, and returns the exit code and what people read.
    fn rehearse(&self, version: &str, more: &[&str]) -> (i32, String) {
        let output = self.run(version, more);
        let text = format!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        (output.status.code().expect("an end"), text)
    }

    /// Everything that a rehearsal might have touched, as the cluster has it.
    fn picture(&self) -> Value {
        let paths = [
            "apis/olm.operatorframework.io/v1/clusterextensions",
            "apis/olm.operatorframework.io/v1/clusterobjectsets",
            "apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            "apis/models.example.com/v1alpha1/inferencestacks",
            "apis/apps/v1/deployments",
            "api/v1/secrets",
            "api/v1/configmaps",
        ];
        paths
            .iter()
            .map(|path| {
                let (code, answer) = self.cluster.ask("GET", path, None);
                assert_eq!(code, 200, "{answer}");
                let items = answer["items"].as_array().cloned().unwrap_or_default();
                let versions = items.iter().map(|item| {
                    json!([
                        item["metadata"]["name"],
                        item["metadata"]["uid"],
                        item["metadata"]["generation"]
                    ])
                });
                Value::Array(versions.collect())
            })
            .collect()
    }
}

/// One cluster for all rehearsals: each version is tried from 2.0.0, and none is ever installed.
#[test]
fn an_upgrade_is_tried_on_a_copy() {
    let world = World::new();
    let cluster = Cluster::up(&world);
    let scene = Scene::new(&world, &cluster);

    // A good one: the chart says nothing new but its version.
    scene.publish("2.1.0");
    let before = scene.picture();
    let (code, told) = scene.rehearse("2.1.0", &[]);
    assert_eq!(code, 0, "{told}");
    assert!(
        told.starts_with("stack: 2.0.0 -> 2.1.0 would break nothing\n"),
        "{told}"
    );
    assert!(
        told.contains("copied: 2 resources of inferencestacks.models.example.com\n"),
        "{told}"
    );
    assert!(
        told.contains(
            "  ~ Service stacks/chat-inference-stack-gateway of InferenceStack stacks/chat\n      \
             metadata.labels[\"helm.sh/chart\"]: \"inference-stack-2.0.0\" -> \"inference-stack-2.1.0\"\n"
        ),
        "{told}"
    );
    assert!(!told.contains("would restart"), "{told}");
    assert_eq!(scene.rehearse("2.1.0", &[]).1, told, "the same twice");
    let output = scene.run("2.1.0", &["-o", "json"]);
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(report["wouldBreak"], json!([]), "{report}");
    assert_eq!(report["wouldRestart"], json!([]), "{report}");
    assert_eq!(report["copied"]["resources"][0]["copied"], 2, "{report}");

    // One that restarts the pods of every stack.
    scene.edit(
        "chart/templates/applications.yaml",
        "            - --config=/etc/reader/config.yaml",
        "            - --config=/etc/reader/config.yaml\n            - --warm-up",
    );
    scene.publish("2.2.0");
    let (code, told) = scene.rehearse("2.2.0", FORCE);
    assert_eq!(code, 0, "{told}");
    for (name, pods) in [("chat", "1 pod"), ("code", "7 pods")] {
        let line = format!(
            "  Deployment stacks/{name}-inference-stack-{name} of InferenceStack stacks/{name} ({pods}): \
             spec.template.spec.containers[name=model-server].args[1]\n"
        );
        assert!(told.contains(&line), "no {line:?} in {told}");
    }

    // One whose chart fails for one stack.
    scene.edit(
        "chart/templates/applications.yaml",
        "---\n",
        "{{- if gt (int $application.replicaCount) 5 }}{{ fail \"at most 5 replicas\" }}{{ end }}\n---\n",
    );
    scene.publish("2.3.0");
    let (code, told) = scene.rehearse("2.3.0", FORCE);
    assert_eq!(code, 1, "{told}");
    assert!(
        told.starts_with("stack: 2.0.0 -> 2.3.0 would break 1 thing\n"),
        "{told}"
    );
    assert!(
        told.contains("  InferenceStack stacks/code, spec: the new chart can't be rendered for it: "),
        "{told}"
    );
    assert!(told.contains("at most 5 replicas"), "{told}");
    assert!(
        told.contains("Deployment stacks/chat-inference-stack-chat"),
        "{told}"
    );

    // One whose definition allows less than one stack has.
    scene.edit(
        "chart/values.schema.json",
        "\"description\": \"How many pods serve it, if scaling is off.\",\n          \"type\": \"integer\",\n",
        "\"description\": \"How many pods serve it, if scaling is off.\",\n          \"type\": \"integer\",\n          \"maximum\": 5,\n",
    );
    scene.publish("2.4.0");
    let (code, told) = scene.rehearse("2.4.0", FORCE);
    assert_eq!(code, 1, "{told}");
    assert!(
        told.contains(
            "  CustomResourceDefinition inferencestacks.models.example.com, v1alpha1 ^.spec.applications."
        ),
        "{told}"
    );
    assert!(
        told.contains("the upgrade is refused by the check maximum: "),
        "{told}"
    );
    assert!(
        told.contains(
            "  InferenceStack stacks/code, spec.applications.code.replicaCount: the new definition doesn't allow it: "
        ),
        "{told}"
    );
    assert!(
        told.contains(
            "the new chart's schema doesn't allow its values: spec.applications.code.replicaCount: "
        ),
        "{told}"
    );
    assert!(!told.contains("InferenceStack stacks/chat, "), "{told}");

    assert_eq!(scene.picture(), before, "the cluster is as it was");

    // Who may see less learns less, and is told so.
    let scene = Scene {
        kubeconfig: reader(&world, &cluster, "half-reader", false),
        ..scene
    };
    let (code, told) = scene.rehearse("2.2.0", FORCE);
    assert_eq!(code, 0, "{told}");
    assert!(
        told.contains("cannot list the records of releases in namespace stacks: "),
        "{told}"
    );
    assert!(!told.contains("Deployment stacks/"), "{told}");

    // What can't be rehearsed is another end.
    let (code, told) = scene.rehearse("9.9.9", &[]);
    assert_eq!(code, 2, "{told}");
    assert!(
        told.contains("ClusterExtension \"stack\" cannot go to version \"9.9.9\": "),
        "{told}"
    );
    let (code, told) = scene.rehearse("2.0.0", &[]);
    assert_eq!(code, 2, "{told}");
    cluster.stop();
}
