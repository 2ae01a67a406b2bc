//! The users' whole story on one machine: an author publishes versions of an operator, a customer installs and upgrades
//! it, and a model team runs its stack with it.
//!
//! Everything is what users have: `baton up`, `baton publish`, `baton install`, manifests through the API, and the
//! operator as a process of its own that the node runs.

mod author;
mod customer;
#[path = "../stage/running.rs"]
#[expect(dead_code, reason = "the tests of the stage use the rest of it")]
mod running;
mod up;
#[path = "../world/mod.rs"]
#[expect(dead_code, reason = "the other test programs use the rest of it")]
mod world;

use std::sync::{Mutex, MutexGuard, PoisonError};

use author::Author;
use customer::{Customer, Stack};
use serde_json::json;
use up::Up;
use world::World;

/// Stories are told one after the other: the pods of all nodes share the ports of the machine.
static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the model team asks for first.
fn first_wish() -> serde_json::Value {
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

#[test]
#[ignore = "takes minutes; the rollback step needs a deadline below the ten minutes that the definition allows"]
fn an_operator_is_published_installed_upgraded_and_taken_away() {
    let _turn = turn();
    let world = World::new();
    let up = Up::start(&world);
    let author = Author::new(&world, &up, "models.example.com", "InferenceStack");
    let customer = Customer::new(&world, &up);

    // The author publishes 2.0.0 and 2.1.0: stable has the first, fast both.
    author.publish("2.0.0", &["candidate", "fast", "stable"]);
    author.publish("2.1.0", &["candidate", "fast"]);
    customer.adds_the_catalog(&author);

    // The customer installs from stable-v2; the operator runs as a process.
    customer.installs("stack", "stable-v2", &[]);
    customer.has_version("stack", "2.0.0");
    customer.sees_the_operator_run("2.0.0");

    // The model team makes a stack with one application.
    let stack = Stack::new(
        &up,
        "models.example.com",
        "v1alpha1",
        "inferencestacks",
        "InferenceStack",
    );
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

    // The way out: the stack's objects go with it, the operator's with the extension.
    stack.delete("chat");
    stack.has_none("apps/v1", "deployments");
    customer.uninstalls("stack");
    customer.has_no_operator();
    up.stop();
}

#[test]
fn two_majors_run_side_by_side_and_a_resource_changes_hands() {
    let _turn = turn();
    let world = World::new();
    let up = Up::start(&world);
    let author = Author::new(&world, &up, "models.example.com", "InferenceStack").with_separate_definitions();
    let customer = Customer::new(&world, &up);
    author.publish("2.0.0", &["stable"]);
    author.publish("3.0.0", &["stable"]);
    customer.adds_the_catalog(&author);
    customer.applies_definitions(&author);
    customer.installs("two", "stable-v2", &[]);
    customer.installs("three", "stable-v3", &[]);
    customer.sees_the_operator_run("2.0.0");
    customer.sees_the_operator_run("3.0.0");

    let stack = Stack::new(
        &up,
        "models.example.com",
        "v1alpha1",
        "inferencestacks",
        "InferenceStack",
    );
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
    up.stop();
}

#[test]
fn the_older_names_work_the_same() {
    let _turn = turn();
    let world = World::new();
    let up = Up::start(&world);
    let author = Author::new(&world, &up, "models.titanml.co", "ModelOrchestra").with_whole_version_labels();
    let customer = Customer::new(&world, &up);
    author.publish("0.2.13", &["stable"]);
    customer.adds_the_catalog(&author);
    customer.installs("orchestra", "stable-v0", &[]);
    customer.sees_the_operator_run("0.2.13");
    let stack = Stack::new(
        &up,
        "models.titanml.co",
        "v1alpha1",
        "modelorchestras",
        "ModelOrchestra",
    );
    stack.make("choir", &[("operatorVersion", "0.2.13")], &first_wish());
    stack.is_ready("choir");
    assert_eq!(stack.chart_version("choir"), "0.2.13");
    up.stop();
}
