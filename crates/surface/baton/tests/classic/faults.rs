//! What goes wrong around the controllers: servers, registries and catalogs that go, are slow or talk nonsense, and others who
//! do the same work.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use crate::catalog_server::{CatalogServer, ConnectProxy, Impostor, Manner};
use crate::catalogs::{operator, versions};
use crate::images::Entry;
use crate::leftovers::is_tidy;
use crate::network_faults::Trickle;
use crate::processes::{Server, free_address};
use crate::reference::Reference;
use crate::scenario::{Scenario, expect};
use crate::sources::{at_address, nothing_is_written_at_rest, pushed};
use crate::world::{LEASE_FLAG, SYSTEM_NAMESPACE, World, controllers, namespace};

type Outcome = Result<(), String>;

/// How long nothing may be written for a cluster to be at rest.
const REST: Duration = Duration::from_secs(3);

/// So long another replica waits for one that is silent, where that is what is waited for.
const SHORT_LEASE: [&str; 2] = [LEASE_FLAG, "11"];

/// A scenario in a world of its own.
pub(crate) async fn alone(server: Server, id: &str) -> Result<Scenario, String> {
    alone_with(server, id, &[]).await
}

/// The same, with flags for the controllers.
pub(crate) async fn alone_with(server: Server, id: &str, flags: &[&str]) -> Result<Scenario, String> {
    let world = World::prepared_on(server, &[], flags).await?;
    world.controllers.start()?;
    world.until_served().await?;
    Ok(Scenario {
        world: Arc::new(world),
        id: id.to_owned(),
    })
}

/// The registry goes away and comes back: what is installed is kept up, and the rest follows.
pub(crate) async fn a_registry_that_is_gone_holds_up_only_what_is_new(server: Server) -> Outcome {
    let told = alone(server, "gone").await?;
    let (images, kubectl) = (&told.world.images, told.kubectl());
    told.prepare(&versions(&["1.0.0", "1.1.0"])).await?;
    let retry =
        json!({"metadata": {"annotations": {"operatorframework.io/bundle-unpack-min-retry-interval": "1s"}}});
    kubectl.merge(&Reference::of(&told.group(&[])), &retry).await?;
    let mut subscription = told.manual_subscription("stable");
    subscription["spec"]["startingCSV"] = told.version("1.0.0").name.into();
    kubectl.apply(&[subscription]).await?;
    told.plan_in_phase("RequiresApproval").await?;
    images.stop().await;
    // The catalog is known, and so is the bundle that was planned.
    told.approves("1.0.0").await?;
    told.is_in_phase(&told.version("1.0.0"), "Succeeded").await?;
    let reference = told.subscription_reference();
    told.complains(&reference, "BundleUnpackFailed", &images.host)
        .await?;
    kubectl.delete(&told.deployment()).await?;
    kubectl
        .until_is(
            &told.deployment(),
            "/metadata/labels/olm.owner",
            &told.version("1.0.0").name,
        )
        .await?;
    images.start_again().await?;
    told.approves("1.1.0").await?;
    told.has_version("1.1.0").await?;
    is_tidy(&told, "1.1.0", 2).await
}

/// The API server is killed and started again, while a plan is carried out and between its steps.
pub(crate) async fn a_server_that_restarts_loses_nothing(server: Server) -> Outcome {
    let told = alone(server, "restart").await?;
    let Server::Stage(stage) = &told.world.server else {
        return Err("there is nothing to restart".to_owned());
    };
    told.prepare(&versions(&["1.0.0"])).await?;
    let kubectl = told.kubectl();
    kubectl.apply(&[told.subscription("stable")]).await?;
    kubectl.until(&told.subscription_reference(), |_| Ok(())).await?;
    stage.kill();
    stage.start_again().await?;
    told.has_version("1.0.0").await?;
    told.image("latest", &versions(&["1.0.0", "1.1.0"])).await?;
    kubectl.until(&told.version("1.1.0"), |_| Ok(())).await?;
    stage.kill();
    stage.start_again().await?;
    told.has_version("1.1.0").await?;
    is_tidy(&told, "1.1.0", 2).await
}

/// A registry that takes its time holds up nobody but those who want something of it.
pub(crate) async fn a_slow_registry_holds_up_nobody_else(server: Server) -> Outcome {
    let told = alone(server, "slow").await?;
    let slow = Trickle::before(&told.world.images.host).await?;
    let contents = operator().named_in(&slow.address);
    let late = Scenario {
        id: "late".to_owned(),
        ..told.clone()
    };
    told.prepare(&versions(&["1.0.0"])).await?;
    let images = &told.world.images;
    let metas = images
        .push_package(
            &late.id,
            &late.package(),
            &[Entry::new("1.0.0", "stable", contents)],
        )
        .await?;
    let metas = crate::catalogs::with_service_versions(&late.id, metas);
    let image = images.push_catalog("late", "latest", &metas).await?;
    let mut source = told.catalog_source(&image);
    source["metadata"]["name"] = "late".into();
    let mut waiting = late.subscription("stable");
    waiting["metadata"]["namespace"] = told.namespace().into();
    waiting["spec"]["source"] = "late".into();
    waiting["spec"]["sourceNamespace"] = told.namespace().into();
    let kubectl = told.kubectl();
    kubectl.apply(&[source]).await?;
    told.is_ready(&told.classic("CatalogSource", "late")).await?;
    kubectl.apply(&[waiting, told.subscription("stable")]).await?;
    slow.until_used().await?;
    told.has_version("1.0.0").await?;
    let late = told.classic("ClusterServiceVersion", &late.version("1.0.0").name);
    expect("what the slow registry has", kubectl.get(&late).await?, None)?;
    slow.release();
    told.is_in_phase(&late, "Succeeded").await.map(drop)
}

/// Catalogs that are away, slow, silent or talk nonsense are told, and hold up nobody else; through a proxy they are reached all
/// the same.
pub(crate) async fn catalogs_that_are_none_hold_up_nobody_else(server: Server) -> Outcome {
    let address = free_address()?;
    let proxy = ConnectProxy::to(&address).await?;
    let proxy_url = format!("http://{}", proxy.address);
    let environment = [("GRPC_PROXY", proxy_url.as_str()), ("NO_PROXY", "127.0.0.1")];
    let world = World::prepared_on(server, &environment, &[]).await?;
    world.controllers.start()?;
    world.until_served().await?;
    let told = Scenario {
        world: Arc::new(world),
        id: "none".to_owned(),
    };
    let metas = pushed(&told, &versions(&["1.0.0"])).await?;
    let served = CatalogServer::start(&address, &metas).await?;
    let babbling = Impostor::start(Manner::Babbling).await?;
    let silent = Impostor::start(Manner::Silent).await?;
    let slow = Trickle::before(&address).await?;
    let own = told.namespace();
    let kubectl = told.kubectl();
    kubectl
        .apply(&[
            namespace(&own),
            told.group(&[&own]),
            // A name that only the proxy knows.
            at_address(&told, "catalog", "models.catalogs.example:50051"),
            at_address(&told, "babbling", &babbling.address),
            at_address(&told, "silent", &silent.address),
            at_address(&told, "slow", &slow.address),
            at_address(&told, "away", &free_address()?),
        ])
        .await?;
    told.is_ready(&told.catalog()).await?;
    expect(
        "who the proxy leads to",
        proxy.asked().first().map(String::as_str),
        Some("models.catalogs.example:50051"),
    )?;
    kubectl.apply(&[told.subscription("stable")]).await?;
    told.has_version("1.0.0").await?;
    let state = "/status/connectionState/lastObservedState";
    let late = told.classic("CatalogSource", "slow");
    let read = kubectl.read(&late).await?;
    expect(
        "it is read already",
        read.pointer(state) == Some(&json!("READY")),
        false,
    )?;
    slow.release();
    told.is_ready(&late).await?;
    for name in ["babbling", "silent", "away"] {
        let source = told.classic("CatalogSource", name);
        kubectl.until_is(&source, state, "TRANSIENT_FAILURE").await?;
    }
    served.kill();
    kubectl
        .until_is(&told.catalog(), state, "TRANSIENT_FAILURE")
        .await?;
    // What is installed is looked after without a catalog.
    kubectl.delete(&told.deployment()).await?;
    kubectl
        .until_is(
            &told.deployment(),
            "/metadata/labels/olm.owner",
            &told.version("1.0.0").name,
        )
        .await?;
    served.write(&pushed(&told, &versions(&["1.0.0", "1.1.0"])).await?)?;
    served.start_again().await?;
    told.has_version("1.1.0").await
}

/// Two replicas share a Lease: one works, and the other one takes over.
pub(crate) async fn another_process_takes_over(server: Server) -> Outcome {
    let told = alone_with(server, "leader", &SHORT_LEASE).await?;
    let kubectl = told.kubectl();
    told.prepare(&versions(&["1.0.0"])).await?;
    let second = controllers(&told.world.server, &[], &SHORT_LEASE)?;
    second.start()?;
    kubectl.apply(&[told.subscription("stable")]).await?;
    told.has_version("1.0.0").await?;
    is_tidy(&told, "1.0.0", 1).await?;
    let lease = Reference::namespaced(
        "coordination.k8s.io/v1",
        "Lease",
        SYSTEM_NAMESPACE,
        "classic.baton.dev",
    );
    let holder = kubectl.read(&lease).await?["spec"]["holderIdentity"].clone();
    told.world.controllers.kill();
    told.image("latest", &versions(&["1.0.0", "1.1.0"])).await?;
    told.has_version("1.1.0").await?;
    is_tidy(&told, "1.1.0", 2).await?;
    let after = kubectl.read(&lease).await?["spec"]["holderIdentity"].clone();
    expect("another one holds the Lease", holder != after, true)?;
    // Packages are served by whoever leads.
    let packages = kubectl
        .types(&format!("get packagemanifests -n {} -o name", told.namespace()))
        .await?;
    expect("its package is listed", packages.contains(&told.package()), true)
}

/// Who loses the Lease in the middle of its work stops, and goes on when it has it again.
pub(crate) async fn a_lease_is_lost_and_found(server: Server) -> Outcome {
    let told = alone_with(server, "lost", &SHORT_LEASE).await?;
    let kubectl = told.kubectl();
    told.prepare(&versions(&["1.0.0"])).await?;
    kubectl.apply(&[told.subscription("stable")]).await?;
    kubectl.until(&told.version("1.0.0"), |_| Ok(())).await?;
    let lease = Reference::namespaced(
        "coordination.k8s.io/v1",
        "Lease",
        SYSTEM_NAMESPACE,
        "classic.baton.dev",
    );
    // It lasts for longer than the scenario: a claim that nobody renews is taken back.
    let taken = json!({"spec": {
        "holderIdentity": "somebody-else",
        "leaseDurationSeconds": 3600,
        "renewTime": "2100-01-01T00:00:00.000000Z",
    }});
    kubectl.merge(&lease, &taken).await?;
    let has_noticed = || {
        told.world
            .controllers
            .last_words(200)
            .contains("no longer leading")
    };
    for _ in 0..600 {
        if has_noticed() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    expect("it knows that it doesn't lead any more", has_noticed(), true)?;
    // Whoever took the Lease without waiting for its end can't expect more than that: before, the old holder may write.
    told.image("latest", &versions(&["1.0.0", "1.1.0"])).await?;
    tokio::time::sleep(REST).await;
    expect(
        "who follows writes nothing",
        kubectl.get(&told.version("1.1.0")).await?,
        None,
    )?;
    kubectl.delete(&lease).await?;
    told.has_version("1.1.0").await?;
    let packages = format!("get packagemanifests -n {} -o name", told.namespace());
    let packages = kubectl.types(&packages).await?;
    expect("its package is listed", packages.contains(&told.package()), true)
}

/// Two OLMs that know nothing of each other do the same work, and come to rest all the same.
pub(crate) async fn two_at_once_come_to_rest(server: Server) -> Outcome {
    let told = alone(server, "two").await?;
    let other = controllers(&told.world.server, &[], &["--system-namespace", "another-olm"])?;
    other.start()?;
    let kubectl = told.kubectl();
    let contents = |version: &str| {
        crate::files::changed(&operator(), &told, version, |object| {
            crate::certificates::with_webhook(object, &told);
        })
    };
    let first = Entry::new("1.0.0", "stable", contents("1.0.0"));
    let second = Entry::new("1.1.0", "stable", contents("1.1.0")).replacing("1.0.0");
    told.prepare(std::slice::from_ref(&first)).await?;
    kubectl.apply(&[told.subscription("stable")]).await?;
    told.has_version("1.0.0").await?;
    let lease = Reference::namespaced(
        "coordination.k8s.io/v1",
        "Lease",
        "another-olm",
        "classic.baton.dev",
    );
    kubectl.until(&lease, |_| Ok(())).await?;
    told.image("latest", &[first, second]).await?;
    told.has_version("1.1.0").await?;
    kubectl.until_gone(&told.version("1.0.0")).await?;
    // A poll is written each time, and is no fight.
    let polled = json!({"spec": {"updateStrategy": null}});
    kubectl.merge(&told.catalog(), &polled).await?;
    let mut outcome = Ok(());
    for _ in 0..5 {
        outcome = nothing_is_written_at_rest(&told, REST).await;
        if outcome.is_ok() {
            break;
        }
    }
    outcome?;
    is_tidy(&told, "1.1.0", 2).await
}
