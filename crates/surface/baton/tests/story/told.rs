//! What is told on one machine as on Kubernetes.

use serde_json::json;

use crate::cast::author::Author;
use crate::cast::cluster::Cluster;
use crate::cast::customer::{Customer, Stack};
use crate::cast::world::World;

/// What the model team asks for first.
pub(crate) fn first_wish() -> serde_json::Value {
    json!({
        "imagePullSecrets": [{"name": "registry"}],
        "applications": {
            "chat": {
                "nodeSelector": {"kubernetes.io/os": "linux"},
                "readerConfig": {"modelName": "example/small-chat-7b", "maxSequenceLength": 4096},
            },
        },
    })
}

pub(crate) fn inference_stacks(cluster: &Cluster) -> Stack<'_> {
    let (group, plural) = ("models.example.com", "inferencestacks");
    Stack::new(cluster, group, "v1alpha1", plural, "InferenceStack")
}

/// From the first version to the last deletion.
pub(crate) fn an_operators_life(world: &World, cluster: &Cluster) {
    let author = Author::new(world, cluster, "models.example.com", "InferenceStack");
    let customer = Customer::new(world, cluster);
    cluster.allows_short_deadlines();

    // The author publishes 2.0.0 and 2.1.0: stable has the first, fast both.
    author.publish("2.0.0", &["candidate", "fast", "stable"]);
    author.publish("2.1.0", &["candidate", "fast"]);
    customer.adds_the_catalog(&author);

    // The customer installs from stable-v2; the operator runs as a process.
    customer.installs("stack", "stable-v2", &[]);
    customer.has_version("stack", "2.0.0");
    customer.sees_the_operator_run("2.0.0");

    // The model team makes a stack with one application.
    let stack = inference_stacks(cluster);
    stack.make("chat", &[("operatorVersion", "v2")], &first_wish());
    stack.is_ready("chat");
    stack.has("apps/v1", "deployments", "chat-inference-stack-chat");
    stack.has("v1", "configmaps", "chat-inference-stack-chat");
    stack.has("v1", "services", "chat-inference-stack-gateway");
    let deployment = stack.object("apis/apps/v1", "deployments", "chat-inference-stack-chat");
    let pod = &deployment["spec"]["template"]["spec"];
    assert_eq!(pod["nodeSelector"]["kubernetes.io/os"], "linux", "{deployment}");
    assert_eq!(pod["imagePullSecrets"][0]["name"], "registry", "{deployment}");

    // A change of the reader's configuration reaches its pods: they start anew.
    let before = stack.pods("chat-inference-stack-chat");
    stack.change(
        "chat",
        &json!({"applications": {"chat": {"readerConfig": {"maxSequenceLength": 8192}}}}),
    );
    stack.until_pods_are_others("chat-inference-stack-chat", &before);
    stack.is_ready("chat");

    // 2.2.0 comes to stable, and arrives by itself.
    author.publish("2.2.0", &["candidate", "fast", "stable"]);
    customer.has_version("stack", "2.2.0");
    customer.sees_the_operator_run("2.2.0");
    stack.until_chart_version("chat", "2.2.0");
    stack.is_ready("chat");

    // A version can be pinned, and the channel changed.
    customer.upgrades("stack", &["--version", "2.2.0"]);
    customer.has_version("stack", "2.2.0");
    customer.upgrades("stack", &["--channel", "fast-v2", "--version", ">=2.2.0"]);
    customer.has_version("stack", "2.2.0");

    // A bad 2.3.0, whose operator never becomes ready, is rolled back; the status says why.
    customer.annotates("stack", "baton-olm.dev/on-failure", "rollback");
    customer.allows_minutes("stack", 1);
    author.publish_broken("2.3.0", &["candidate", "fast"]);
    customer.is_told(
        "stack",
        "version 2.3.0 did not roll out in time and was rolled back",
    );
    customer.has_version("stack", "2.2.0");
    customer.sees_the_operator_run("2.2.0");
    stack.is_ready("chat");

    // The operator goes and the data stays: the stack's pods run on, and who installs again takes them over.
    let pods = stack.pods("chat-inference-stack-chat");
    customer.uninstalls("stack", &["--keep", "crds"]);
    customer.has_no_operator();
    assert!(customer.is_served("inferencestacks.models.example.com"));
    assert_eq!(stack.pods("chat-inference-stack-chat"), pods, "the pods run on");
    customer.installs("stack", "stable-v2", &["--version", "2.2.0"]);
    customer.sees_the_operator_run("2.2.0");
    stack.change("chat", &json!({"applications": {"chat": {"replicas": 2}}}));
    stack.is_ready("chat");

    // The operator goes and the data with it: the stack, its objects, and the kind.
    customer.uninstalls("stack", &[]);
    customer.has_no_operator();
    assert!(!customer.is_served("inferencestacks.models.example.com"));
    stack.has_none("apps/v1", "deployments");
}

/// Two majors at once, and a resource that goes from one to the other.
pub(crate) fn two_majors(world: &World, cluster: &Cluster) {
    let author =
        Author::new(world, cluster, "models.example.com", "InferenceStack").with_separate_definitions();
    let customer = Customer::new(world, cluster);
    author.publish("2.0.0", &["stable"]);
    author.publish("3.0.0", &["stable"]);
    customer.adds_the_catalog(&author);
    customer.applies_definitions(&author);
    customer.installs("two", "stable-v2", &[]);
    customer.installs("three", "stable-v3", &[]);
    customer.sees_the_operator_run("2.0.0");
    customer.sees_the_operator_run("3.0.0");

    let stack = inference_stacks(cluster);
    stack.make("old", &[("operatorVersion", "v2")], &first_wish());
    stack.make("new", &[("operatorVersion", "v3")], &first_wish());
    stack.is_ready("old");
    stack.is_ready("new");
    assert_eq!(stack.chart_version("old"), "2.0.0");
    assert_eq!(stack.chart_version("new"), "3.0.0");

    // Nobody looks after v9: the newest operator says which labels there are.
    stack.make("lost", &[("operatorVersion", "v9")], &first_wish());
    let told = stack.condition_message("lost", "Selected");
    assert!(
        told.contains("operatorVersion=v2") && told.contains("operatorVersion=v3"),
        "{told}"
    );

    // A new label hands the resource over; its pods keep running.
    let pods = stack.pods("old-inference-stack-gateway");
    stack.label("old", "operatorVersion", "v3");
    stack.until_chart_version("old", "3.0.0");
    stack.is_ready("old");
    assert_eq!(
        stack.pods("old-inference-stack-gateway"),
        pods,
        "the pods keep running"
    );
    stack.label("lost", "operatorVersion", "v3");
    stack.is_ready("lost");
}

/// The kind and the labels that the first users have.
pub(crate) fn the_older_names(world: &World, cluster: &Cluster) {
    let author =
        Author::new(world, cluster, "models.titanml.co", "ModelOrchestra").with_whole_version_labels();
    let customer = Customer::new(world, cluster);
    author.publish("0.2.13", &["stable"]);
    customer.adds_the_catalog(&author);
    customer.installs("orchestra", "stable-v0", &[]);
    customer.sees_the_operator_run("0.2.13");
    let (group, plural) = ("models.titanml.co", "modelorchestras");
    let stack = Stack::new(cluster, group, "v1alpha1", plural, "ModelOrchestra");
    stack.make("choir", &[("operatorVersion", "0.2.13")], &first_wish());
    stack.is_ready("choir");
    assert_eq!(stack.chart_version("choir"), "0.2.13");
}
