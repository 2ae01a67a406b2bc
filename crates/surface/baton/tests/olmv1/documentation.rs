//! What upstream's documentation promises: columns, waiting, pinning, ranges, selectors, priorities, downgrades.

use std::process::Stdio;

use reqwest::Method;
use serde_json::{Value, json};

use crate::bundles::Contents;
use crate::conditions::{Says, holds};
use crate::images::Entry;
use crate::reference::Reference;
use crate::scenario::Scenario;
use crate::update::versions;
use crate::world::World;

type Outcome = Result<(), String>;

/// Reads objects as the table that kubectl prints: a row for each object, by column.
async fn table(scenario: &Scenario, reference: &Reference) -> Result<Vec<(String, Value)>, String> {
    let request = scenario
        .kubernetes()
        .request(Method::GET, &reference.path())
        .header("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io");
    let answer = request.send().await.map_err(|error| error.to_string())?;
    let text = answer.bytes().await.map_err(|error| error.to_string())?;
    let table: Value = serde_json::from_slice(&text).map_err(|error| error.to_string())?;
    let columns = table["columnDefinitions"].as_array().cloned().unwrap_or_default();
    let cells = table["rows"][0]["cells"].as_array().cloned().unwrap_or_default();
    let named = columns.iter().zip(cells);
    Ok(named
        .map(|(column, cell)| (column["name"].as_str().unwrap_or_default().to_owned(), cell))
        .collect())
}

/// Holds the columns of an object against those that are expected; what follows them is an age.
fn has_columns(table: &[(String, Value)], expected: &[(&str, &str)]) -> Outcome {
    let (age, others) = table.split_last().ok_or("there are no columns")?;
    let found: Vec<(&str, &str)> = others
        .iter()
        .map(|(name, cell)| (name.as_str(), cell.as_str().unwrap_or_default()))
        .collect();
    if found == expected && age.0 == "Age" {
        Ok(())
    } else {
        Err(format!("the columns are {table:?}"))
    }
}

/// `kubectl get` prints upstream's columns, and `kubectl wait` ends.
pub(crate) async fn kubectl_shows_and_waits(scenario: Scenario) -> Outcome {
    scenario.prepare(&versions()).await?;
    scenario.apply(&scenario.extension()).await?;
    if let Some(kubectl) = World::kubectl() {
        let name = format!("clusterextension/{}", scenario.name());
        let output = tokio::process::Command::new(kubectl)
            .arg("--kubeconfig")
            .arg(scenario.world.kubeconfig())
            .args(["wait", "--for=condition=Installed", "--timeout=120s", &name])
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output()
            .await
            .map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if !output.status.success() || !text.contains("condition met") {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(format!("kubectl wait said {text} {said}"));
        }
    }
    scenario.is_installed(&scenario.reference()).await?;
    let extension = table(&scenario, &scenario.reference()).await?;
    let bundle = format!("{}.1.2.0", scenario.package());
    has_columns(
        &extension,
        &[
            ("Name", &scenario.name()),
            ("Installed Bundle", &bundle),
            ("Version", "1.2.0"),
            ("Installed", "True"),
            ("Progressing", "True"),
        ],
    )?;
    let revision = table(&scenario, &scenario.revision(1)).await?;
    let name = format!("{}-1", scenario.name());
    has_columns(
        &revision,
        &[("Name", &name), ("Available", "True"), ("Progressing", "True")],
    )?;
    let name = scenario.catalog_name("test");
    let catalog = table(&scenario, &Reference::olm("ClusterCatalog", &name)).await?;
    let named: Vec<&str> = catalog.iter().map(|(name, _)| name.as_str()).collect();
    if named == ["Name", "LastUnpacked", "Serving", "Age"] {
        Ok(())
    } else {
        Err(format!("the columns of a catalog are {named:?}"))
    }
}

/// A channel that is named leaves the others out of sight.
pub(crate) async fn a_channel_is_pinned(scenario: Scenario) -> Outcome {
    let entries = [
        Entry::new("1.0.0", "stable", Contents::small()),
        Entry::new("1.1.0", "stable", Contents::small()).replacing("1.0.0"),
        Entry::new("2.0.0", "candidate", Contents::small()),
    ];
    scenario.prepare(&entries).await?;
    scenario
        .install(&scenario.extension().channels(&["stable"]))
        .await?;
    scenario.has_version("1.1.0").await
}

/// A range takes the highest version in it, and no other later.
pub(crate) async fn a_range_is_kept_to(scenario: Scenario) -> Outcome {
    scenario.prepare(&versions()).await?;
    scenario
        .install(&scenario.extension().version(">=1.0.0, <1.0.2"))
        .await?;
    scenario.has_version("1.0.1").await?;
    scenario.install(&scenario.extension().version("1.x")).await?;
    scenario.has_version("1.2.0").await
}

/// Of two catalogs the one with the higher priority wins.
pub(crate) async fn a_higher_priority_wins(scenario: Scenario) -> Outcome {
    scenario
        .prepare(&[Entry::new("1.0.0", "stable", Contents::small())])
        .await?;
    scenario
        .with_catalog("extra", &[Entry::new("2.0.0", "stable", Contents::small())])
        .await?;
    let preferred = Reference::olm("ClusterCatalog", &scenario.catalog_name("test"));
    scenario
        .kubernetes()
        .merge(&preferred, &json!({"spec": {"priority": 10}}))
        .await?;
    // Both carry the label, so that the choice is between these two alone.
    for name in ["test", "extra"] {
        let catalog = Reference::olm("ClusterCatalog", &scenario.catalog_name(name));
        let label = json!({"metadata": {"labels": {"scenario": scenario.id}}});
        scenario.kubernetes().merge(&catalog, &label).await?;
    }
    let selector = json!({"scenario": scenario.id});
    scenario
        .install(&scenario.extension().selecting(selector))
        .await?;
    scenario.has_version("1.0.0").await
}

/// An older version is refused unless the user vouches for it.
pub(crate) async fn a_downgrade_has_to_be_certified(scenario: Scenario) -> Outcome {
    scenario.prepare(&versions()).await?;
    scenario.install(&scenario.extension().version("1.2.0")).await?;
    let older = scenario.extension().version("1.0.0");
    scenario.apply(&older).await?;
    let text = format!(
        "error upgrading from currently installed version \"1.2.0\": no bundles found for package {:?} matching version \
         \"1.0.0\"",
        scenario.package()
    );
    scenario
        .reports(
            &scenario.reference(),
            "Progressing",
            "True",
            "Retrying",
            Says::Exactly(&text),
        )
        .await?;
    scenario.install(&older.self_certified()).await?;
    scenario.has_version("1.0.0").await
}

/// Whoever has an old package, channel or bundle is told in three conditions and their sum.
pub(crate) async fn deprecations_are_told(scenario: Scenario) -> Outcome {
    scenario.with_namespace().await?;
    let images = &scenario.world.images;
    let package = scenario.package();
    let entries = [Entry::new("1.0.0", "stable", Contents::small())];
    let mut metas = images.push_package(&scenario.id, &package, &entries).await?;
    metas.push(json!({
        "schema": "olm.deprecations",
        "package": package,
        "entries": [
            {"reference": {"schema": "olm.package"}, "message": "the package is old"},
            {"reference": {"schema": "olm.bundle", "name": format!("{package}.1.0.0")}, "message": "the bundle is old"},
        ],
    }));
    let name = scenario.catalog_name("test");
    let image = images.push_catalog(&name, "v1", &metas).await?;
    scenario.world.catalog(&name, &image).await?;
    scenario.install(&scenario.extension()).await?;
    scenario
        .kubernetes()
        .until(&scenario.reference(), |extension| {
            let says =
                |kind, status, reason, text| holds(extension, kind, status, reason, Says::Exactly(text));
            says(
                "Deprecated",
                "True",
                "Deprecated",
                "the package is old\nthe bundle is old",
            )?;
            says("PackageDeprecated", "True", "Deprecated", "the package is old")?;
            says("BundleDeprecated", "True", "Deprecated", "the bundle is old")?;
            says(
                "ChannelDeprecated",
                "False",
                "NotDeprecated",
                "channel not deprecated",
            )
        })
        .await
        .map(drop)
}
