//! Where catalogs come from, and what a bad one or a bad bundle holds up: nobody but those who want it.

use std::time::Duration;

use serde_json::{Value, json};

use crate::bundles::Contents;
use crate::catalog_server::CatalogServer;
use crate::catalogs::{operator, service_version, versions, with_service_versions};
use crate::images::{Entry, bundle_image};
use crate::processes::free_address;
use crate::scenario::{ALPHA, Scenario, expect};
use crate::world::namespace;

type Outcome = Result<(), String>;

/// How many operators a namespace can have at once, at least: more than the bundles that are kept in memory.
const MANY: usize = 10;

/// Pushes the bundles of a scenario's package; returns the package as a catalog has it.
pub(crate) async fn pushed(scenario: &Scenario, entries: &[Entry]) -> Result<Vec<Value>, String> {
    let images = &scenario.world.images;
    let metas = images
        .push_package(&scenario.id, &scenario.package(), entries)
        .await?;
    Ok(with_service_versions(&scenario.id, metas))
}

/// A CatalogSource that is a server somewhere.
pub(crate) fn at_address(scenario: &Scenario, name: &str, address: &str) -> Value {
    json!({
        "apiVersion": ALPHA, "kind": "CatalogSource",
        "metadata": {"name": name, "namespace": scenario.namespace()},
        "spec": {"sourceType": "grpc", "address": address, "displayName": "Server", "publisher": "Scenarios"},
    })
}

/// A server that speaks the registry's API is a catalog; what it holds after a restart is noticed.
pub(crate) async fn a_server_is_a_catalog(scenario: Scenario) -> Outcome {
    let address = free_address()?;
    let metas = pushed(&scenario, &versions(&["1.0.0"])).await?;
    let served = CatalogServer::start(&address, &metas).await?;
    let own = scenario.namespace();
    let kubectl = scenario.kubectl();
    kubectl
        .apply(&[
            namespace(&own),
            scenario.group(&[&own]),
            at_address(&scenario, "catalog", &address),
        ])
        .await?;
    scenario.is_ready(&scenario.catalog()).await?;
    kubectl.apply(&[scenario.subscription("stable")]).await?;
    scenario.has_version("1.0.0").await?;
    served.kill();
    let state = "/status/connectionState/lastObservedState";
    kubectl
        .until_is(&scenario.catalog(), state, "TRANSIENT_FAILURE")
        .await?;
    served.write(&pushed(&scenario, &versions(&["1.0.0", "1.1.0"])).await?)?;
    served.start_again().await?;
    scenario.has_version("1.1.0").await
}

/// A ConfigMap is a catalog, and so is the next one in its place.
pub(crate) async fn a_config_map_is_a_catalog(scenario: Scenario) -> Outcome {
    let (own, package) = (scenario.namespace(), scenario.package());
    let map = |all: &[&'static str]| {
        let mut definitions = Vec::new();
        let mut service_versions = Vec::new();
        let mut before = Value::Null;
        for version in all {
            let files = operator().files(&scenario.id, &package, version);
            for (path, text) in files {
                let object: Value = serde_json::from_slice(&text).unwrap_or_default();
                match object["kind"].as_str() {
                    Some("CustomResourceDefinition") if definitions.is_empty() => definitions.push(object),
                    Some("ClusterServiceVersion") if path.starts_with("manifests/") => {
                        let mut object = object;
                        object["spec"]["replaces"] = before;
                        before = object["metadata"]["name"].clone();
                        service_versions.push(object);
                    }
                    _ => {}
                }
            }
        }
        let packages = json!([{"packageName": package, "defaultChannel": "stable",
            "channels": [{"name": "stable", "currentCSV": before}]}]);
        json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "catalog", "namespace": own},
            "data": {
                "customResourceDefinitions": Value::from(definitions).to_string(),
                "clusterServiceVersions": Value::from(service_versions).to_string(),
                "packages": packages.to_string(),
            },
        })
    };
    let source = json!({
        "apiVersion": ALPHA, "kind": "CatalogSource", "metadata": {"name": "catalog", "namespace": own},
        "spec": {"sourceType": "configmap", "configMap": "catalog", "displayName": "Map", "publisher": "Scenarios"},
    });
    let kubectl = scenario.kubectl();
    kubectl
        .apply(&[namespace(&own), scenario.group(&[&own]), source])
        .await?;
    let reason = kubectl
        .until_is(&scenario.catalog(), "/status/reason", "ConfigMapError")
        .await?;
    let message = reason["status"]["message"].as_str().unwrap_or_default();
    expect("the ConfigMap is named", message.contains("catalog"), true)?;
    kubectl.apply(&[map(&["1.0.0"])]).await?;
    scenario.is_ready(&scenario.catalog()).await?;
    kubectl.apply(&[scenario.subscription("stable")]).await?;
    scenario.has_version("1.0.0").await?;
    kubectl.apply(&[map(&["1.0.0", "1.1.0"])]).await?;
    scenario.has_version("1.1.0").await
}

/// The image of a catalog may depend on the version of the cluster.
pub(crate) async fn an_image_depends_on_the_clusters_version(scenario: Scenario) -> Outcome {
    let kubectl = scenario.kubectl();
    let version: Value =
        serde_json::from_str(&kubectl.types("version -o json").await?).map_err(|error| error.to_string())?;
    let server = &version["serverVersion"];
    let tag = format!(
        "v{}.{}",
        server["major"].as_str().unwrap_or_default(),
        server["minor"].as_str().unwrap_or_default()
    );
    let image = scenario.image(&tag, &versions(&["1.0.0"])).await?;
    let template = image.replace(&tag, "v{kube_major_version}.{kube_minor_version}");
    let mut source = scenario.catalog_source(&image.replace(&tag, "missing"));
    source["metadata"]["annotations"] = json!({"olm.catalogImageTemplate": template});
    let own = scenario.namespace();
    kubectl
        .apply(&[namespace(&own), scenario.group(&[&own]), source])
        .await?;
    kubectl
        .until_is(&scenario.catalog(), "/spec/image", &image)
        .await?;
    scenario.is_ready(&scenario.catalog()).await?;
    kubectl.apply(&[scenario.subscription("stable")]).await?;
    scenario.has_version("1.0.0").await
}

/// A second Subscription of a scenario, to a package of its own in a catalog of its own.
struct Neighbour {
    package: String,
    id: String,
}

impl Neighbour {
    fn of(scenario: &Scenario, number: usize) -> Self {
        let id = format!("{}x{number}", scenario.id);
        Self {
            package: format!("test-{id}"),
            id,
        }
    }

    fn entry() -> [Entry; 1] {
        [Entry::new("1.0.0", "stable", operator())]
    }

    fn subscription(&self, scenario: &Scenario, source: &str) -> Value {
        let mut subscription = scenario.subscription("stable");
        subscription["metadata"]["name"] = self.package.as_str().into();
        subscription["spec"]["name"] = self.package.as_str().into();
        subscription["spec"]["source"] = source.into();
        subscription
    }

    fn version(&self, scenario: &Scenario) -> crate::reference::Reference {
        scenario.classic("ClusterServiceVersion", &service_version(&self.package, "1.0.0"))
    }
}

/// A bundle that can't be pulled holds up its own Subscription, is tried again, and comes when it is there.
pub(crate) async fn a_missing_bundle_holds_up_nobody_else(scenario: Scenario) -> Outcome {
    let images = &scenario.world.images;
    let missing = Neighbour::of(&scenario, 1);
    let mut metas = pushed(&scenario, &versions(&["1.0.0"])).await?;
    let unpushed = Entry::new("1.0.0", "stable", operator());
    let unpushed = images
        .push_package(&missing.id, &missing.package, &[unpushed])
        .await?;
    let late = format!("late/{}:v1.0.0", missing.package);
    for mut meta in with_service_versions(&missing.id, unpushed) {
        if meta["schema"] == "olm.bundle" {
            meta["image"] = format!("{}/{late}", images.host).into();
        }
        metas.push(meta);
    }
    let image = images
        .push_catalog(&format!("catalog-{}", scenario.id), "latest", &metas)
        .await?;
    let own = scenario.namespace();
    let mut group = scenario.group(&[&own]);
    group["metadata"]["annotations"] = json!({"operatorframework.io/bundle-unpack-min-retry-interval": "2s"});
    let kubectl = scenario.kubectl();
    kubectl
        .apply(&[namespace(&own), group, scenario.catalog_source(&image)])
        .await?;
    scenario.is_ready(&scenario.catalog()).await?;
    kubectl
        .apply(&[
            missing.subscription(&scenario, "catalog"),
            scenario.subscription("stable"),
        ])
        .await?;
    let held_up = scenario.classic("Subscription", &missing.package);
    let said = scenario.complains(&held_up, "BundleUnpackFailed", &late).await?;
    expect(
        "it says when it goes on",
        said.contains("Auto-retry in 2 s"),
        true,
    )?;
    scenario.has_version("1.0.0").await?;
    let spared = kubectl.read(&scenario.subscription_reference()).await?;
    let complaint = crate::conditions::condition(&spared, "BundleUnpackFailed");
    expect("what the other one complains of", complaint, None)?;
    expect("there", kubectl.get(&missing.version(&scenario)).await?, None)?;
    let files = operator().files(&missing.id, &missing.package, "1.0.0");
    images.push(&files, &late, false).await?;
    scenario
        .is_in_phase(&missing.version(&scenario), "Succeeded")
        .await
        .map(drop)
}

/// A bundle that is none, and a catalog that isn't there, stop nobody else either.
pub(crate) async fn a_broken_bundle_and_a_missing_catalog_hold_up_nobody_else(scenario: Scenario) -> Outcome {
    let images = &scenario.world.images;
    let broken = Neighbour::of(&scenario, 1);
    let lost = Neighbour::of(&scenario, 2);
    let mut metas = pushed(&scenario, &versions(&["1.0.0"])).await?;
    let entry = [Entry::new(
        "1.0.0",
        "stable",
        Contents::of_files([("manifests/nothing.yaml".to_owned(), b"{}".to_vec())].into()),
    )];
    let none = images.push_package(&broken.id, &broken.package, &entry).await?;
    metas.extend(with_service_versions(&broken.id, none));
    let image = images
        .push_catalog(&format!("catalog-{}", scenario.id), "latest", &metas)
        .await?;
    let own = scenario.namespace();
    let kubectl = scenario.kubectl();
    kubectl
        .apply(&[
            namespace(&own),
            scenario.group(&[&own]),
            scenario.catalog_source(&image),
            at_address(&scenario, "nobody", &free_address()?),
        ])
        .await?;
    scenario.is_ready(&scenario.catalog()).await?;
    kubectl
        .apply(&[
            broken.subscription(&scenario, "catalog"),
            lost.subscription(&scenario, "nobody"),
            scenario.subscription("stable"),
        ])
        .await?;
    scenario.has_version("1.0.0").await?;
    let held_up = scenario.classic("Subscription", &broken.package);
    let name = bundle_image(&broken.package, "1.0.0");
    scenario.complains(&held_up, "BundleUnpackFailed", &name).await?;
    let held_up = scenario.classic("Subscription", &lost.package);
    scenario
        .complains(&held_up, "ResolutionFailed", "error using catalogsource")
        .await
        .map(drop)
}

/// A namespace has as many operators from images as it likes.
pub(crate) async fn many_operators_come_at_once(scenario: Scenario) -> Outcome {
    let images = &scenario.world.images;
    let all: Vec<Neighbour> = (0..MANY).map(|number| Neighbour::of(&scenario, number)).collect();
    let mut metas = Vec::new();
    for one in &all {
        let pushed = images
            .push_package(&one.id, &one.package, &Neighbour::entry())
            .await?;
        metas.extend(with_service_versions(&one.id, pushed));
    }
    let image = images
        .push_catalog(&format!("catalog-{}", scenario.id), "latest", &metas)
        .await?;
    let own = scenario.namespace();
    let kubectl = scenario.kubectl();
    kubectl
        .apply(&[
            namespace(&own),
            scenario.group(&[&own]),
            scenario.catalog_source(&image),
        ])
        .await?;
    scenario.is_ready(&scenario.catalog()).await?;
    let subscriptions: Vec<Value> = all
        .iter()
        .map(|one| one.subscription(&scenario, "catalog"))
        .collect();
    kubectl.apply(&subscriptions).await?;
    for one in &all {
        scenario.is_in_phase(&one.version(&scenario), "Succeeded").await?;
    }
    let plans = kubectl
        .list("installplans.operators.coreos.com", &own, &[])
        .await?;
    expect("the number of plans that they share", plans.len(), 1)
}

/// At rest nothing is written.
pub(crate) async fn nothing_is_written_at_rest(scenario: &Scenario, rest: Duration) -> Outcome {
    let kubernetes = &scenario.world.kubernetes;
    let own = scenario.namespace();
    let collections = [
        format!("/apis/operators.coreos.com/v1alpha1/namespaces/{own}/subscriptions"),
        format!("/apis/operators.coreos.com/v1alpha1/namespaces/{own}/installplans"),
        format!("/apis/operators.coreos.com/v1alpha1/namespaces/{own}/clusterserviceversions"),
        format!("/apis/operators.coreos.com/v1alpha1/namespaces/{own}/catalogsources"),
        format!("/apis/operators.coreos.com/v1/namespaces/{own}/operatorgroups"),
        format!("/apis/apps/v1/namespaces/{own}/deployments"),
        format!("/api/v1/namespaces/{own}/secrets"),
    ];
    let versions = async || {
        let mut versions = Vec::new();
        for collection in &collections {
            let (items, _) = kubernetes.list(collection, "").await?;
            versions.extend(items.into_iter().map(|item| {
                let metadata = &item["metadata"];
                (
                    collection.clone(),
                    metadata["name"].clone(),
                    metadata["resourceVersion"].clone(),
                )
            }));
        }
        Ok::<_, String>(versions)
    };
    let before = versions().await?;
    tokio::time::sleep(rest).await;
    expect("what is there after a rest", versions().await?, before)
}
