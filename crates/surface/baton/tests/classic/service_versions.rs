//! What becomes of a version, by kubectl alone: it fails and recovers, is copied, waits, and goes.

use serde_json::{Value, json};

use crate::bundles::definition_name;
use crate::catalogs::{operator, versions};
use crate::images::Entry;
use crate::reference::Reference;
use crate::scenario::{ALPHA, Scenario, expect};

type Outcome = Result<(), String>;

/// A version that can't watch what its group says fails, says why, and goes on when the group is another.
pub(crate) async fn a_version_fails_and_recovers(scenario: Scenario) -> Outcome {
    let only = crate::bundles::Contents::operator().with_install_modes(&["OwnNamespace"]);
    scenario.prepare(&[Entry::new("1.0.0", "stable", only)]).await?;
    let kubectl = scenario.kubectl();
    let group = Reference::of(&scenario.group(&[]));
    let others = json!({"spec": {"targetNamespaces": ["default"]}});
    kubectl.merge(&group, &others).await?;
    kubectl.apply(&[scenario.subscription("stable")]).await?;
    let version = scenario.version("1.0.0");
    let failed = scenario.is_in_phase(&version, "Failed").await?;
    expect(
        "its reason",
        failed["status"]["reason"].as_str(),
        Some("UnsupportedOperatorGroup"),
    )?;
    expect(
        "its message",
        failed["status"]["message"].as_str(),
        Some("SingleNamespace InstallModeType not supported, cannot configure to watch one namespace"),
    )?;
    let events = kubectl
        .types(&format!(
            "get events -n {} --field-selector involvedObject.name={},type=Warning -o jsonpath={{.items[*].reason}}",
            scenario.namespace(),
            version.name
        ))
        .await?;
    expect(
        "told in an event",
        events.contains("UnsupportedOperatorGroup"),
        true,
    )?;
    let own = json!({"spec": {"targetNamespaces": [scenario.namespace()]}});
    kubectl.merge(&group, &own).await?;
    scenario.has_version("1.0.0").await
}

/// The namespaces that an operator watches see a copy of its version; it goes with it.
pub(crate) async fn a_version_is_copied_to_where_it_watches(scenario: Scenario) -> Outcome {
    scenario.prepare(&versions(&["1.0.0"])).await?;
    let kubectl = scenario.kubectl();
    let watched = format!("{}-watched", scenario.namespace());
    kubectl.apply(&[crate::world::namespace(&watched)]).await?;
    let both = [scenario.namespace(), watched.clone()];
    let targets = json!({"spec": {"targetNamespaces": both}});
    kubectl
        .merge(&Reference::of(&scenario.group(&[])), &targets)
        .await?;
    kubectl.apply(&[scenario.subscription("stable")]).await?;
    scenario.has_version("1.0.0").await?;
    let copy = Reference::namespaced(
        ALPHA,
        "ClusterServiceVersion",
        &watched,
        &scenario.version("1.0.0").name,
    );
    let copied = kubectl.until_is(&copy, "/status/reason", "Copied").await?;
    let from = copied["metadata"]["labels"]["olm.copiedFrom"].as_str();
    expect("where it is from", from, Some(scenario.namespace().as_str()))?;
    // What somebody deletes comes back, and what isn't wanted any more goes.
    kubectl.delete(&copy).await?;
    kubectl.until_is(&copy, "/status/reason", "Copied").await?;
    let own = json!({"spec": {"targetNamespaces": [scenario.namespace()]}});
    kubectl.merge(&Reference::of(&scenario.group(&[])), &own).await?;
    kubectl.until_gone(&copy).await
}

/// What is deleted leaves nothing but definitions and their resources; a version alone comes back.
pub(crate) async fn what_is_deleted_leaves_definitions(scenario: Scenario) -> Outcome {
    scenario.prepare(&versions(&["1.0.0"])).await?;
    let kubectl = scenario.kubectl();
    kubectl.apply(&[scenario.subscription("stable")]).await?;
    scenario.has_version("1.0.0").await?;
    let version = scenario.version("1.0.0");
    let before = kubectl.read(&version).await?;
    // A Subscription still asks for it.
    kubectl.delete(&version).await?;
    kubectl
        .until(&version, |again| {
            let is_another = again["metadata"]["uid"] != before["metadata"]["uid"];
            (is_another && again["status"]["phase"] == "Succeeded")
                .then_some(())
                .ok_or_else(|| format!("it is {}", again["status"]["phase"]))
        })
        .await?;
    kubectl.delete(&scenario.subscription_reference()).await?;
    kubectl.delete(&version).await?;
    kubectl.until_gone(&scenario.deployment()).await?;
    let label = format!("olm.owner={}", version.name);
    for kind in [
        "clusterroles",
        "clusterrolebindings",
        "roles",
        "rolebindings",
        "serviceaccounts",
    ] {
        let mut left = Vec::new();
        // The garbage collector takes a moment.
        for _ in 0..100 {
            left = kubectl.list(kind, &scenario.namespace(), &["-l", &label]).await?;
            if left.is_empty() {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        }
        expect(kind, left.len(), 0)?;
    }
    let definition = Reference::cluster(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        &definition_name(&scenario.id),
    );
    kubectl.read(&definition).await.map(drop)
}

/// What is missing is waited for, and noticed as it comes.
pub(crate) async fn what_is_missing_is_noticed_as_it_comes(scenario: Scenario) -> Outcome {
    let needed = format!("needed.e2e-{}.example.com", scenario.id);
    let contents = crate::files::changed(&operator(), &scenario, "1.0.0", |version| {
        version["spec"]["customresourcedefinitions"]["required"] = json!([{"name": needed, "kind": "Needed", "version": "v1", "displayName": "Needed", "description": "-"}]);
    });
    scenario
        .prepare(&[Entry::new("1.0.0", "stable", contents)])
        .await?;
    let kubectl = scenario.kubectl();
    kubectl.apply(&[scenario.subscription("stable")]).await?;
    let version = scenario.version("1.0.0");
    let waiting = kubectl
        .until_is(&version, "/status/reason", "RequirementsNotMet")
        .await?;
    let requirements = waiting["status"]["requirementStatus"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let missing: Vec<&Value> = requirements
        .iter()
        .filter(|one| one["status"] == "NotPresent")
        .collect();
    expect("the number of what is missing", missing.len(), 1)?;
    expect(
        "what is missing",
        missing[0]["name"].as_str(),
        Some(needed.as_str()),
    )?;
    kubectl
        .apply(&[json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": needed},
            "spec": {"group": format!("e2e-{}.example.com", scenario.id), "scope": "Namespaced",
                "names": {"kind": "Needed", "listKind": "NeededList", "plural": "needed", "singular": "needed"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}]},
        })])
        .await?;
    scenario.has_version("1.0.0").await
}
