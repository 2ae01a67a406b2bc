//! Scenarios 52–55, 65 and 66: the controllers as processes, which are measured, killed, replaced and put behind proxies.
//! Who may read metrics, and with which TLS, is told in `secured`.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::bundles::Contents;
use crate::conditions::{Says, holds};
use crate::images::Entry;
use crate::kubernetes::ask;
use crate::processes::{Controllers, Server};
use crate::reference::Reference;
use crate::scenario::Scenario;
use crate::update::versions;
use crate::world::{SYSTEM_NAMESPACE, World, catalog};

type Outcome = Result<(), String>;

/// Longer than any lease is held by somebody who died.
const LEASE_PATIENCE: Duration = Duration::from_mins(4);

/// A registry that only a proxy could lead to.
const FAR_REGISTRY: &str = "registry.far-away.example";

/// 52
pub(crate) async fn metrics_are_told(scenario: Scenario) -> Outcome {
    scenario
        .prepare(&[Entry::new("1.0.0", "stable", Contents::small())])
        .await?;
    let name = scenario.catalog_name("test");
    // Somebody has to have asked before there is something to tell.
    crate::demonstrations::metas(&scenario, &name, "all").await?;
    scenario.install(&scenario.extension()).await?;
    let catalog = Reference::olm("ClusterCatalog", &name);
    let catalog = scenario.kubernetes().read(&catalog).await?;
    let base = catalog["status"]["urls"]["base"].as_str().unwrap_or_default();
    let root = base.split("/catalogs/").next().unwrap_or_default();
    let (code, text) = ask(&format!("{root}/metrics")).await?;
    let is_told = |line: &str| text.lines().any(|one| one.starts_with(line));
    if code == 200
        && is_told("# TYPE catalogd_http_request_duration_seconds histogram")
        && is_told("catalogd_http_request_duration_seconds_count{code=\"200\"}")
        && is_told("workqueue_work_duration_seconds_count{controller=\"extension-controller\"")
        && is_told("rest_client_requests_total{code=\"200\",host=\"")
        && is_told("process_resident_memory_bytes")
    {
        Ok(())
    } else {
        Err(format!("{root}/metrics answers {code} {text}"))
    }
}

fn scenario(world: &Arc<World>, id: &str) -> Scenario {
    Scenario {
        world: Arc::clone(world),
        id: id.to_owned(),
    }
}

/// The Leases of the controllers: their names and who holds them.
async fn holders(world: &World) -> Result<Vec<(String, String)>, String> {
    let leases = Reference::namespaced("coordination.k8s.io/v1", "Lease", SYSTEM_NAMESPACE, "").collection();
    let (leases, _) = world.kubernetes.list(&leases, "").await?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Ok(leases
        .iter()
        .map(|lease| {
            (
                text(&lease["metadata"]["name"]),
                text(&lease["spec"]["holderIdentity"]),
            )
        })
        .collect())
}

/// 53: of two processes one leads; when it is killed the other one goes on, and nothing was done twice.
pub(crate) async fn another_process_takes_over(server: Server) -> Outcome {
    let world = Arc::new(World::on(server).await?);
    let first = scenario(&world, "s53");
    first.prepare(&versions()).await?;
    let extension = first.extension();
    first.install(&extension.clone().version("1.0.0")).await?;
    let before = holders(&world).await?;
    if before.is_empty() || before.iter().any(|(_, holder)| holder.is_empty()) {
        return Err(format!("nobody holds a Lease in {SYSTEM_NAMESPACE}: {before:?}"));
    }
    let second = Controllers::of(&world.server, &[])?.without_classic();
    second.start()?;
    // Both run: whoever doesn't lead writes nothing, so that a rollout leaves exactly what one process leaves.
    first.install(&extension.clone().version("1.0.1")).await?;
    let revisions = first.revisions_of(&first.name()).await?;
    if revisions.len() != 2 {
        return Err(format!("there are {} revisions", revisions.len()));
    }
    if holders(&world).await? != before {
        return Err("another process took the Lease while its holder was alive".to_owned());
    }
    world.controllers.kill();
    let leases = Reference::namespaced("coordination.k8s.io/v1", "Lease", SYSTEM_NAMESPACE, "").collection();
    world
        .kubernetes
        .until_all(&leases, "", LEASE_PATIENCE, |leases| {
            let held_as_before = leases.iter().any(|lease| {
                before.iter().any(|(name, holder)| {
                    lease["metadata"]["name"] == *name && lease["spec"]["holderIdentity"] == *holder
                })
            });
            if held_as_before {
                Err("the dead process still leads".to_owned())
            } else {
                Ok(())
            }
        })
        .await?;
    let name = first.catalog_name("test");
    world
        .kubernetes
        .until(&Reference::olm("ClusterCatalog", &name), |catalog| {
            holds(catalog, "Serving", "True", "Available", Says::Anything)
        })
        .await?;
    first.install(&extension.version("1.2.0")).await?;
    first
        .has_version("1.2.0")
        .await
        .map_err(|reason| format!("{reason}\n{}", second.last_words(40)))
}

/// 65 and 66: another process, which knows nothing but the cluster, goes on with what the former one made.
pub(crate) async fn a_newer_release_goes_on(server: Server) -> Outcome {
    let world = Arc::new(World::on(server).await?);
    let told = scenario(&world, "s65");
    told.prepare(&versions()).await?;
    let extension = told.extension().service_account("some-sa");
    told.install(&extension.clone().version("1.0.0")).await?;
    let deployment = world.kubernetes.read(&told.deployment()).await?;
    world.controllers.stop().await?;
    world.controllers.forget()?;
    world.controllers.start()?;
    world.until_served().await?;
    let reference = Reference::olm("ClusterCatalog", &told.catalog_name("test"));
    // Only a process that has pulled anew can serve it: the address is of this one.
    world
        .kubernetes
        .until(&reference, |catalog| {
            holds(catalog, "Progressing", "True", "Succeeded", Says::Anything)?;
            holds(catalog, "Serving", "True", "Available", Says::Anything)
        })
        .await?;
    told.is_installed(&told.reference()).await?;
    let same = world.kubernetes.read(&told.deployment()).await?;
    if same["metadata"]["uid"] != deployment["metadata"]["uid"]
        || same["metadata"]["generation"] != deployment["metadata"]["generation"]
    {
        return Err("the workload was touched although nothing changed".to_owned());
    }
    told.install(&extension.version("1.0.1")).await?;
    told.has_version("1.0.1").await?;
    let revisions = told.revisions_of(&told.name()).await?;
    if revisions.len() == 2 {
        Ok(())
    } else {
        Err(format!("there are {} revisions", revisions.len()))
    }
}

/// 54: where nothing listens at the proxy's address, that is what is told.
///
/// Upstream's two components talk to each other through the proxy; baton's are one process, and what goes through a proxy
/// is what is fetched from registries.
pub(crate) async fn a_proxy_that_is_gone_is_told(server: Server) -> Outcome {
    let gone = crate::processes::free_address()?;
    let proxy = format!("http://{gone}");
    let world = behind_proxy(server, &proxy).await?;
    let told = scenario(&world, "s54");
    let name = told.catalog_name("test");
    let far = catalog(&name, &format!("{FAR_REGISTRY}/catalog:latest"));
    world.kubernetes.apply(&far).await?;
    let reference = Reference::olm("ClusterCatalog", &name);
    let text = format!("cannot reach registry {FAR_REGISTRY}: proxyconnect tcp {gone}");
    told.reports(
        &reference,
        "Progressing",
        "True",
        "Retrying",
        Says::Something(&text),
    )
    .await?;
    works_without_proxy(&told).await
}

/// 55: the proxy is asked for a way to the registry.
pub(crate) async fn requests_go_through_the_proxy(server: Server) -> Outcome {
    let listener = TcpListener::bind("127.0.0.1:0")
        .await
        .map_err(|error| error.to_string())?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    let asked = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&asked);
    let proxy = tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let mut request = vec![0; 4096];
            let length = client.read(&mut request).await.unwrap_or_default();
            let request = String::from_utf8_lossy(request.get(..length).unwrap_or_default()).into_owned();
            let first = request.lines().next().unwrap_or_default().to_owned();
            noted.lock().unwrap_or_else(PoisonError::into_inner).push(first);
            let refused = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            let _ = client.write_all(refused).await;
        }
    });
    let world = behind_proxy(server, &format!("http://{address}")).await?;
    let told = scenario(&world, "s55");
    let name = told.catalog_name("test");
    let far = catalog(&name, &format!("{FAR_REGISTRY}/catalog:latest"));
    world.kubernetes.apply(&far).await?;
    let reference = Reference::olm("ClusterCatalog", &name);
    told.reports(&reference, "Progressing", "True", "Retrying", Says::Anything)
        .await?;
    let asked = asked.lock().unwrap_or_else(PoisonError::into_inner).clone();
    proxy.abort();
    let expected = format!("CONNECT {FAR_REGISTRY}:443 ");
    if !asked.iter().any(|line| line.starts_with(&expected)) {
        return Err(format!("the proxy was asked for {asked:?}"));
    }
    if asked.iter().any(|line| line.contains("127.0.0.1")) {
        return Err(format!("this machine was looked for behind the proxy: {asked:?}"));
    }
    works_without_proxy(&told).await
}

async fn behind_proxy(server: Server, proxy: &str) -> Result<Arc<World>, String> {
    let environment = [("HTTPS_PROXY", proxy), ("NO_PROXY", "127.0.0.1,localhost")];
    let mut world = World::prepared_on(server, &environment).await?;
    world.controllers = world.controllers.with_encryption();
    world.controllers.start()?;
    world.until_served().await?;
    Ok(Arc::new(world))
}

/// What needs no proxy isn't held up by one.
async fn works_without_proxy(told: &Scenario) -> Outcome {
    told.with_namespace().await?;
    let entries = [Entry::new("1.0.0", "stable", Contents::small())];
    told.with_catalog("near", &entries).await?;
    let near = serde_json::json!({"olm.operatorframework.io/metadata.name": told.catalog_name("near")});
    told.install(&told.extension().selecting(near)).await
}
