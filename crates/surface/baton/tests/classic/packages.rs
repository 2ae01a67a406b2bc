//! Packages of catalogs: what they need, what they offer, and how kubectl shows what became of them.

use serde_json::json;

use crate::catalogs::{service_version, versions};
use crate::reference::Reference;
use crate::scenario::{Scenario, expect};

type Outcome = Result<(), String>;

/// What an operator needs is installed with it, from the catalog with the highest priority.
pub(crate) async fn what_an_operator_needs_comes_with_it(scenario: Scenario) -> Outcome {
    let (images, namespace) = (&scenario.world.images, scenario.namespace());
    let needed = format!("needed-{}", scenario.id);
    let mut metas = images
        .push_package(&scenario.id, &scenario.package(), &versions(&["1.0.0"]))
        .await?;
    metas = crate::catalogs::with_service_versions(&scenario.id, metas);
    let required =
        json!({"type": "olm.package.required", "value": {"packageName": needed, "versionRange": ">=1.0.0"}});
    crate::catalogs::with_property(&mut metas, &scenario.package(), &required);
    let image = images
        .push_catalog(&format!("catalog-{}", scenario.id), "latest", &metas)
        .await?;
    let mut objects = vec![
        crate::world::namespace(&namespace),
        scenario.group(&[&namespace]),
        scenario.catalog_source(&image),
    ];
    for (name, priority, version) in [("low", -10, "1.0.0"), ("high", 10, "1.2.0")] {
        let id = format!("{}n", scenario.id);
        let metas = images.push_package(&id, &needed, &versions(&[version])).await?;
        let metas = crate::catalogs::with_service_versions(&id, metas);
        let image = images
            .push_catalog(&format!("{name}-{}", scenario.id), "latest", &metas)
            .await?;
        let mut source = scenario.catalog_source(&image);
        source["metadata"]["name"] = name.into();
        source["spec"]["priority"] = priority.into();
        objects.push(source);
    }
    let kubectl = scenario.kubectl();
    kubectl.apply(&objects).await?;
    for name in ["catalog", "low", "high"] {
        scenario
            .is_ready(&scenario.classic("CatalogSource", name))
            .await?;
    }
    kubectl.apply(&[scenario.subscription("stable")]).await?;
    scenario.has_version("1.0.0").await?;
    let chosen = service_version(&needed, "1.2.0");
    scenario
        .is_in_phase(&scenario.classic("ClusterServiceVersion", &chosen), "Succeeded")
        .await?;
    let made = format!("{needed}-stable-high-{namespace}");
    let made = scenario.classic("Subscription", &made);
    kubectl
        .until_is(&made, "/status/installedCSV", &chosen)
        .await
        .map(drop)
}

/// What catalogs offer is an API of the cluster: as a table, as objects, and watched.
pub(crate) async fn packages_are_listed_and_watched(scenario: Scenario) -> Outcome {
    let kubectl = scenario.kubectl();
    let (namespace, package) = (scenario.namespace(), scenario.package());
    kubectl.apply(&[crate::world::namespace(&namespace)]).await?;
    let manifest = Reference::namespaced(
        "packages.operators.coreos.com/v1",
        "PackageManifest",
        &namespace,
        &package,
    );
    let mut watch = kubectl.watch_all(&manifest, &[])?;
    scenario.prepare(&versions(&["1.0.0", "1.1.0"])).await?;
    watch
        .until(|manifest| manifest["metadata"]["name"] == package)
        .await?;
    let table = kubectl
        .types(&format!("get packagemanifests -n {namespace}"))
        .await?;
    let heading: Vec<&str> = table
        .lines()
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    expect("the heading", heading, vec!["NAME", "CATALOG", "AGE"])?;
    let row = table.lines().find(|line| line.starts_with(&package));
    let row: Vec<&str> = row.unwrap_or_default().split_whitespace().take(2).collect();
    expect("the row", row, vec![package.as_str(), "Catalog"])?;
    let found = kubectl.read(&manifest).await?;
    let status = &found["status"];
    expect(
        "its default channel",
        status["defaultChannel"].as_str(),
        Some("stable"),
    )?;
    expect(
        "its catalog",
        status["catalogSourcePublisher"].as_str(),
        Some("Scenarios"),
    )?;
    let head = &status["channels"][0];
    let current = scenario.version("1.1.0").name;
    expect("its head", head["currentCSV"].as_str(), Some(current.as_str()))?;
    expect("its versions", head["entries"].as_array().map(Vec::len), Some(2))?;
    let shown = format!("Operator {package}");
    expect(
        "its name",
        head["currentCSVDesc"]["displayName"].as_str(),
        Some(shown.as_str()),
    )
}

/// `kubectl get csv -w` shows how far a version is, line by line.
pub(crate) async fn kubectl_shows_how_far_a_version_is(scenario: Scenario) -> Outcome {
    scenario.prepare(&versions(&["1.0.0"])).await?;
    let kubectl = scenario.kubectl();
    let namespace = scenario.namespace();
    let mut lines = kubectl.lines(&["get", "csv", "-n", &namespace, "-w"])?;
    kubectl.apply(&[scenario.subscription("stable")]).await?;
    let shown = lines.until_line(|line| line.ends_with("Succeeded")).await?;
    let heading: Vec<&str> = shown[0].split_whitespace().collect();
    expect(
        "the heading",
        heading,
        vec!["NAME", "DISPLAY", "VERSION", "RELEASE", "REPLACES", "PHASE"],
    )?;
    let mut phases: Vec<&str> = shown
        .iter()
        .skip(1)
        .filter_map(|line| line.split_whitespace().nth(3))
        .collect();
    phases.dedup();
    expect(
        "the phases",
        phases,
        vec!["Pending", "InstallReady", "Installing", "Succeeded"],
    )?;
    let subscriptions = kubectl.types(&format!("get sub -n {namespace}")).await?;
    let row: Vec<&str> = subscriptions
        .lines()
        .nth(1)
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    let package = scenario.package();
    expect(
        "the Subscription",
        row,
        vec![package.as_str(), &package, "catalog", "stable"],
    )?;
    let catalogs = kubectl.types(&format!("get catsrc -n {namespace}")).await?;
    let row: Vec<&str> = catalogs
        .lines()
        .nth(1)
        .unwrap_or_default()
        .split_whitespace()
        .take(4)
        .collect();
    expect(
        "the CatalogSource",
        row,
        vec!["catalog", "Catalog", "grpc", "Scenarios"],
    )
}
