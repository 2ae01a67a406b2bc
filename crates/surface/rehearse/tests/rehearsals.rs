//! Upgrades of an operator that is no Helm operator, rehearsed against a cluster that takes down every request.

#[path = "../../../controllers/extension-controller/tests/flow/world.rs"]
#[expect(dead_code, reason = "the tests of the controller use the rest of it")]
mod world;

use std::sync::{Arc, Mutex};

use http::{Method, Request};
use image::content::ContentStore;
use image::remote::{Remote, RemoteOptions};
use kube::Client;
use kube::client::Body;
use rehearse::report::{Break, Report};
use rehearse::{DEFAULT_SAMPLE, Impossible, Rehearsal};
use serde_json::{Value, json};
use tower::ServiceExt as _;
use world::{NAMESPACE, SYSTEM, TestBundle, World};

/// What was asked of the live cluster.
type Requests = Arc<Mutex<Vec<Method>>>;

/// A client of the live cluster that takes down what it is asked for.
fn overheard(world: &World) -> (Client, Requests) {
    let requests = Requests::default();
    let heard = Arc::clone(&requests);
    let service = world.stage.service();
    let service = tower::service_fn(move |request: Request<Body>| {
        heard
            .lock()
            .expect("no test panicked")
            .push(request.method().clone());
        service.clone().oneshot(request)
    });
    (Client::new(service, "default"), requests)
}

/// A cluster with version 1.0.0 of the package, and one widget.
async fn installed() -> World {
    let world = World::new().await;
    world.publish("models", &[TestBundle::new("1.0.0")]).await;
    world.extend("e", |_| {}).await;
    world.installed("e", "1.0.0").await;
    world
        .apply(json!({"apiVersion": "example.com/v1", "kind": "Widget",
            "metadata": {"name": "one", "namespace": NAMESPACE}, "size": 3}))
        .await;
    // What comes next is only rehearsed.
    world
        .extend("e", |extension| {
            extension["spec"]["source"]["catalog"]["version"] = json!("1.0.0");
        })
        .await;
    world
}

/// Publishes a bundle after 1.0.0 and rehearses the way to it; nothing but reads must reach the cluster.
async fn rehearse(world: &World, next: TestBundle) -> Result<Report, Impossible> {
    let version = next.version;
    world
        .publish("models", &[TestBundle::new("1.0.0"), next.replaces("1.0.0")])
        .await;
    let (client, requests) = overheard(world);
    let remote = Arc::new(Remote::new(RemoteOptions::default()));
    let rehearsal = Rehearsal {
        client,
        extension: "e".to_owned(),
        version: version.to_owned(),
        force: false,
        sample: DEFAULT_SAMPLE,
        catalogs: Arc::new(world.catalogs.clone()),
        remotes: Arc::new(move || Box::pin(std::future::ready(Ok(Arc::clone(&remote))))),
        store: ContentStore::temporary().expect("a store"),
        system_namespace: SYSTEM.to_owned(),
        keep: None,
    };
    let report = rehearsal.rehearse().await;
    let requests = requests.lock().expect("no test panicked");
    assert!(
        !requests.is_empty() && requests.iter().all(Method::is_safe),
        "{requests:?}"
    );
    report
}

fn told(report: &Report) -> Vec<String> {
    let told = report.would_break.iter().map(
        |Break {
             object, field, cause, ..
         }| {
            format!(
                "{} {} {}: {cause}",
                object.kind,
                object.name,
                field.as_deref().unwrap_or("-")
            )
        },
    );
    told.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_good_upgrade_is_told_object_by_object() {
    let world = installed().await;
    let before = world.get("Deployment", "p-operator").await;
    let report = rehearse(&world, TestBundle::new("1.1.0"))
        .await
        .expect("a report");
    assert_eq!(told(&report), [""; 0]);
    assert_eq!((report.from.as_str(), report.to.as_str()), ("1.0.0", "1.1.0"));
    let restarts: Vec<&str> = report
        .would_restart
        .iter()
        .map(|one| one.object.name.as_str())
        .collect();
    assert_eq!(restarts, ["p-operator"]);
    let changed: Vec<&str> = report
        .would_change
        .iter()
        .map(|one| one.change.id.name.as_str())
        .collect();
    assert!(
        changed.contains(&"p-config") && changed.contains(&"p-operator"),
        "{changed:?}"
    );
    assert_eq!(report.copied.resources[0].copied, 1);
    assert!(report.unchanged.objects > 0, "{report}");
    let without_status = |object: Option<Value>| object.map(|object| object["spec"].clone());
    let after = world.get("Deployment", "p-operator").await;
    assert_eq!(
        without_status(after),
        without_status(before),
        "the cluster is as it was"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_definition_that_allows_less_is_told_with_the_resources_that_it_breaks() {
    let world = installed().await;
    let next = TestBundle {
        size: "string",
        ..TestBundle::new("1.1.0")
    };
    let report = rehearse(&world, next).await.expect("a report");
    let told = told(&report);
    assert!(
        told.iter().any(|line| line.starts_with("CustomResourceDefinition widgets.example.com v1 ^.size: the upgrade is refused by the check type: ")),
        "{told:#?}"
    );
    assert!(
        told.iter()
            .any(|line| line
                .starts_with("Widget one size: the new definition doesn't allow it: Invalid value: ")),
        "{told:#?}"
    );
    assert_eq!(told.len(), 2, "{told:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_belongs_to_somebody_else_is_told() {
    let world = installed().await;
    world
        .apply(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "taken", "namespace": NAMESPACE}}))
        .await;
    let next = TestBundle {
        config_maps: vec!["taken".to_owned()],
        ..TestBundle::new("1.1.0")
    };
    let report = rehearse(&world, next).await.expect("a report");
    let told = told(&report);
    assert_eq!(told.len(), 1, "{told:#?}");
    assert!(told[0].starts_with("ConfigMap taken -: "), "{told:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_whose_pods_are_never_ready_is_told() {
    let world = installed().await;
    let report = rehearse(&world, TestBundle::new("1.1.0").fate("unready"))
        .await
        .expect("a report");
    let told = told(&report);
    assert_eq!(told.len(), 1, "{told:#?}");
    assert!(
        told[0].starts_with("ClusterExtension e -: version 1.1.0 does not roll out: ")
            && told[0].contains("p-operator"),
        "{told:#?}"
    );
}
