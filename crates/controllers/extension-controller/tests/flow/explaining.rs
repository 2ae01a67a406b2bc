//! Operators that don't come up: the revision says why, as their pods tell it.

use api::condition::find;
use extension_controller::tree::{State, TreeReader};

use crate::world::{SYSTEM, TestBundle, World, says};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_keeps_an_operator_from_running_is_said_after_upstreams_words() {
    const UPSTREAMS: &str =
        "Object Deployment.apps/v1 operators/p-operator: .status.condition[\"Available\"] is False";
    const OURS: &str = ": container manager: CrashLoopBackOff after ";
    let world = World::new().await;
    let bundles = [
        TestBundle::new("1.0.0").fate("crash-loop"),
        TestBundle::new("1.0.1").replaces("1.0.0"),
    ];
    world.publish("c", &bundles).await;
    let version = |version: &'static str| {
        move |object: &mut serde_json::Value| {
            object["spec"]["source"]["catalog"]["version"] = version.into();
        }
    };
    world.extend("a", version("1.0.0")).await;
    let extension = world
        .extension("a", |extension| {
            let mut revisions = extension.status.active_revisions.iter();
            let said = revisions.find_map(|revision| find(&revision.conditions, "Available"));
            said.is_some_and(|said| {
                let words = said.message.strip_prefix(UPSTREAMS);
                let ours = words.and_then(|words| words.strip_prefix("; pod p-operator-"));
                said.reason == "ProbeFailure" && ours.is_some_and(|ours| ours.contains(OURS))
            })
        })
        .await;
    assert!(says(&extension, "Progressing", "True", "RollingOut"));

    let reader = TreeReader::new(world.client.clone(), SYSTEM.to_owned());
    let tree = reader.read(&extension, false).await.expect("a tree");
    let mut objects = tree.revisions.iter().flat_map(|revision| &revision.phases);
    let waiting = objects.find_map(|phase| {
        let mut objects = phase.objects.iter();
        objects.find(|object| object.state == State::Waiting)
    });
    let waiting = waiting.expect("something waits");
    assert_eq!(waiting.object, "Deployment operators/p-operator");
    assert_eq!(waiting.waits_for[0], ".status.condition[\"Available\"] is False");
    assert!(waiting.waits_for[1].contains(OURS), "{:?}", waiting.waits_for);

    world.extend("a", version("1.0.1")).await;
    let extension = world.installed("a", "1.0.1").await;
    assert!(says(&extension, "Available", "True", "ProbesSucceeded"));
}
