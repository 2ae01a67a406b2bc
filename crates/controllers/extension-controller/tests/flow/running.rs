//! What keeps the controller going, and what it costs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use duty::fence::Fence;
use duty::leader::{Tenure, lead};
use http::Request;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Api;
use kube::api::{ListParams, PostParams};
use kube::client::Body;
use serde_json::json;

use crate::killing::Mortal;
use crate::world::{NAMESPACE, PANICS, SYSTEM, TestBundle, World, says};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_rest_nothing_is_asked() {
    let mut world = World::without_controller().await;
    world.publish("c", &[TestBundle::new("1.0.0")]).await;
    let counting = Mortal::counting(world.stage.service());
    let requests = counting.requests();
    world.start_with(kube::Client::new(counting, "default"));
    world.extend("a", |_| {}).await;
    world.installed("a", "1.0.0").await;
    // What is under way, such as an event, is done soon; then nothing more comes.
    let mut before = requests.load(Ordering::SeqCst);
    let mut quiet = 0;
    for _ in 0..200 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let now = requests.load(Ordering::SeqCst);
        quiet = if now == before { quiet + 1 } else { 0 };
        before = now;
        if quiet == 20 {
            return;
        }
    }
    panic!("the controller never rests: {before} requests so far");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_of_one_does_not_stop_the_others() {
    let world = World::new().await;
    let nothing = [json!({"schema": "olm.package", "name": "q"})];
    world.serve(PANICS, &nothing).await;
    world.publish("c", &[TestBundle::new("1.0.0")]).await;
    world
        .extend("bad", |object| {
            object["spec"]["source"]["catalog"]["packageName"] = json!("q");
        })
        .await;
    world
        .extend("good", |object| {
            let selector = json!({"matchLabels": {"olm.operatorframework.io/metadata.name": "c"}});
            object["spec"]["source"]["catalog"]["selector"] = selector;
        })
        .await;
    world.installed("good", "1.0.0").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_happens_is_told_in_events() {
    let world = World::new().await;
    world.publish("c", &[TestBundle::new("1.0.0")]).await;
    world.extend("a", |_| {}).await;
    world.installed("a", "1.0.0").await;
    let events: Api<Event> = Api::namespaced(world.client.clone(), "default");
    let told = async {
        loop {
            let listed = events.list(&ListParams::default()).await.expect("listed").items;
            let reasons: Vec<&str> = listed
                .iter()
                .filter_map(|event| event.reason.as_deref())
                .collect();
            if reasons.contains(&"RollingOut") && reasons.contains(&"Installed") {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), told)
        .await
        .expect("told");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_controllers_one_leads_and_the_other_follows() {
    let world = World::without_controller().await;
    let leading = Arc::new(AtomicUsize::new(0));
    let tenure = |identity: &str| Tenure {
        // Nobody waits for its end: who stops gives it back.
        lasts: Duration::from_mins(1),
        renews_within: Duration::from_secs(30),
        every: Duration::from_millis(50),
        ..Tenure::new(SYSTEM, "test.example.com", identity)
    };
    let candidate = |identity: &str| {
        let (client, tenure, leading) = (world.client.clone(), tenure(identity), Arc::clone(&leading));
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let task = tokio::spawn(async move {
            lead(&client, &tenure, &Fence::closed(), async |_| {
                let others = leading.fetch_add(1, Ordering::SeqCst);
                assert_eq!(others, 0, "somebody else leads");
                stopped.await.ok();
                leading.fetch_sub(1, Ordering::SeqCst);
            })
            .await
        });
        (task, stop)
    };
    let until_led = || async {
        while leading.load(Ordering::SeqCst) != 1 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let (first, stop_first) = candidate("first");
    until_led().await;
    let (second, stop_second) = candidate("second");
    tokio::time::sleep(Duration::from_millis(300)).await;
    stop_first.send(()).expect("the first leads");
    assert_eq!(first.await.expect("no panic"), Some(()));
    tokio::time::timeout(Duration::from_mins(1), until_led())
        .await
        .expect("the second leads");
    stop_second.send(()).expect("the second leads");
    assert_eq!(second.await.expect("no panic"), Some(()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_was_held_up_writes_nothing_afterwards() {
    let world = World::without_controller().await;
    let tenure = |identity: &str| Tenure {
        lasts: Duration::from_secs(8),
        renews_within: Duration::from_secs(6),
        every: Duration::from_millis(50),
        ..Tenure::new(SYSTEM, "test.example.com", identity)
    };
    let write = async |client: &kube::Client, name: &str| {
        let map = ConfigMap {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                ..ObjectMeta::default()
            },
            ..ConfigMap::default()
        };
        let maps: Api<ConfigMap> = Api::namespaced(client.clone(), SYSTEM);
        maps.create(&PostParams::default(), &map).await.map(drop)
    };
    let (say_leads, leads) = tokio::sync::oneshot::channel::<()>();
    let (let_go_on, goes_on) = std::sync::mpsc::channel::<()>();
    // A thread of its own can be held up as a stopped process is: nothing in it goes on, its timers neither.
    let held_up = std::thread::spawn({
        let (client, tenure) = (world.client.clone(), tenure("first"));
        move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            runtime.block_on(async {
                let fence = Fence::closed();
                let guarded = fence.guard(&client);
                write(&guarded, "too-early").await.expect_err("nobody leads yet");
                let work = async |_| {
                    write(&guarded, "while-leading").await.expect("it leads");
                    say_leads.send(()).expect("somebody listens");
                    goes_on.recv().expect("somebody else led");
                    write(&guarded, "too-late").await
                };
                lead(&client, &tenure, &fence, work).await
            })
        }
    });
    leads.await.expect("the first leads");
    let (second, fence) = (tenure("second"), Fence::closed());
    let next = lead(&world.client, &second, &fence, async |_| {});
    tokio::time::timeout(Duration::from_mins(1), next)
        .await
        .expect("the second leads");
    let_go_on.send(()).expect("the first is held up");
    let late = tokio::task::spawn_blocking(|| held_up.join())
        .await
        .expect("a thread")
        .expect("no panic");
    // It is told by the write that was refused, or by the Lease, whichever it looks at first.
    assert!(!matches!(late, Some(Ok(()))), "{late:?}");
    let maps: Api<ConfigMap> = Api::namespaced(world.client.clone(), SYSTEM);
    let written: Vec<String> = maps
        .list(&ListParams::default())
        .await
        .expect("a list")
        .into_iter()
        .filter_map(|map| map.metadata.name)
        .filter(|name| name.starts_with("too-") || name.starts_with("while-"))
        .collect();
    assert_eq!(written, ["while-leading"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_account_is_warned_of_in_upstreams_words() {
    let world = World::without_controller().await;
    let extension = json!({
        "apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterExtension", "metadata": {"name": "a"},
        "spec": {
            "namespace": NAMESPACE, "serviceAccount": {"name": "some-sa"},
            "source": {"sourceType": "Catalog", "catalog": {"packageName": "p"}},
        },
    });
    let request = Request::post("/apis/olm.operatorframework.io/v1/clusterextensions")
        .header("content-type", "application/json")
        .body(Body::from(serde_json::to_vec(&extension).expect("JSON")))
        .expect("a request");
    let response = world.client.send(request).await.expect("an answer");
    assert_eq!(response.status(), 201);
    let warnings: Vec<&str> = response
        .headers()
        .get_all("warning")
        .iter()
        .filter_map(|warning| warning.to_str().ok())
        .collect();
    let expected = "Validation failed for ValidatingAdmissionPolicy 'clusterextension-serviceaccount-deprecated' with binding 'clusterextension-serviceaccount-deprecated': spec.serviceAccount is deprecated, ignored, and will be removed in a future release. The operator-controller's cluster-admin service account is used for all cluster interactions.";
    assert!(
        warnings.iter().any(|warning| warning.contains(expected)),
        "{warnings:?}"
    );
    let stored = world.extensions().get("a").await.expect("made");
    assert!(
        !says(&stored, "Progressing", "True", "Succeeded"),
        "nobody looks after it"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn content_that_is_there_a_moment_after_the_start_is_waited_for() {
    let mut world = World::without_controller().await;
    world.publish("c", &[TestBundle::new("1.0.0")]).await;
    world.extend("a", |_| {}).await;
    let contents = world.catalogs.take();
    world.start();
    tokio::time::sleep(Duration::from_millis(200)).await;
    world.catalogs.put(contents);
    world.installed("a", "1.0.0").await;
    let events: Api<Event> = Api::namespaced(world.client.clone(), "default");
    let listed = events.list(&ListParams::default()).await.expect("listed").items;
    let failed = listed
        .iter()
        .find(|event| event.reason.as_deref() == Some("Failed"));
    assert!(failed.is_none(), "{failed:?}");
}
