//! Scenarios 27–31: what is disturbed becomes right again.

use serde_json::{Value, json};

use crate::bundles::Contents;
use crate::conditions::{Says, condition};
use crate::images::Entry;
use crate::reference::Reference;
use crate::scenario::Scenario;

type Outcome = Result<(), String>;

fn full() -> [Entry; 1] {
    [Entry::new("1.2.0", "beta", Contents::full())]
}

/// Deletes the ConfigMap and waits until another one stands in its place.
pub(crate) async fn config_map_comes_back(scenario: &Scenario) -> Outcome {
    let reference = scenario.config_map();
    let old = scenario.kubernetes().read(&reference).await?;
    scenario.kubernetes().delete(&reference).await?;
    scenario
        .kubernetes()
        .until(&reference, |config_map| match config_map {
            Some(new) if new["metadata"]["uid"] == old["metadata"]["uid"] => {
                Err("it isn't deleted".to_owned())
            }
            Some(new) if new["data"] != old["data"] => Err(format!("its data is {}", new["data"])),
            Some(_) => Ok(()),
            None => Err("it didn't come back".to_owned()),
        })
        .await
}

/// Waits until a Deployment has all its Pods.
pub(crate) async fn deployment_is_available(scenario: &Scenario) -> Outcome {
    scenario
        .reports(&scenario.deployment(), "Available", "True", "", Says::Anything)
        .await
        .map(drop)
}

/// 27
pub(crate) async fn a_removed_object_comes_back(scenario: Scenario) -> Outcome {
    scenario.prepare(&full()).await?;
    scenario.install(&scenario.extension()).await?;
    config_map_comes_back(&scenario).await
}

/// What was changed by hand is put right, which upstream's scenarios don't ask for.
pub(crate) async fn a_changed_object_is_put_right(scenario: Scenario) -> Outcome {
    scenario.prepare(&full()).await?;
    scenario.install(&scenario.extension()).await?;
    let reference = scenario.config_map();
    scenario
        .kubernetes()
        .merge(&reference, &json!({"data": {"version": "tampered"}}))
        .await?;
    scenario
        .kubernetes()
        .until(&reference, |config_map| {
            let version = config_map.map_or(&Value::Null, |config_map| &config_map["data"]["version"]);
            if version == "1.2.0" {
                Ok(())
            } else {
                Err(format!("the version in it is {version}"))
            }
        })
        .await
}

/// 28
pub(crate) async fn a_namespace_may_come_later(scenario: Scenario) -> Outcome {
    scenario.with_catalog("test", &full()).await?;
    scenario.apply(&scenario.extension()).await?;
    scenario
        .reports(
            &scenario.reference(),
            "Progressing",
            "True",
            "Retrying",
            Says::Anything,
        )
        .await?;
    scenario.with_namespace().await?;
    scenario.is_installed(&scenario.reference()).await
}

/// 29
pub(crate) async fn an_object_of_somebody_else_is_in_the_way(scenario: Scenario) -> Outcome {
    scenario.prepare(&full()).await?;
    let reference = scenario.deployment();
    let foreign = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": reference.name, "namespace": scenario.namespace()},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "foreign"}},
            "template": {
                "metadata": {"labels": {"app": "foreign"}},
                "spec": {"containers": [{"name": "foreign", "image": "busybox:1.36"}]},
            },
        },
    });
    scenario
        .kubernetes()
        .create(&foreign)
        .await?
        .successful("cannot make the Deployment")?;
    scenario.apply(&scenario.extension()).await?;
    scenario
        .reports(
            &scenario.reference(),
            "Progressing",
            "True",
            "Retrying",
            Says::Anything,
        )
        .await?;
    scenario
        .reports(&scenario.reference(), "Installed", "False", "", Says::Anything)
        .await?;
    let untouched = scenario.kubernetes().read(&reference).await?;
    if untouched["spec"]["selector"]["matchLabels"]["app"] != "foreign" {
        return Err("the Deployment of somebody else was changed".to_owned());
    }
    scenario.kubernetes().delete(&reference).await?;
    scenario.is_installed(&scenario.reference()).await
}

/// Installs, and takes the catalog away.
async fn installed_without_catalog(scenario: &Scenario) -> Outcome {
    scenario.prepare(&full()).await?;
    scenario.install(&scenario.extension()).await?;
    let catalog = Reference::olm("ClusterCatalog", &scenario.catalog_name("test"));
    scenario.kubernetes().delete(&catalog).await?;
    scenario.kubernetes().until_gone(&catalog).await
}

/// 30
pub(crate) async fn objects_come_back_without_a_catalog(scenario: Scenario) -> Outcome {
    installed_without_catalog(&scenario).await?;
    config_map_comes_back(&scenario).await?;
    deployment_is_available(&scenario).await
}

/// 31
pub(crate) async fn a_change_is_taken_without_a_catalog(scenario: Scenario) -> Outcome {
    installed_without_catalog(&scenario).await?;
    let changed = scenario
        .apply(&scenario.extension().definition_safety("None"))
        .await?;
    let generation = &changed["metadata"]["generation"];
    if *generation == 1 {
        return Err("nothing was changed".to_owned());
    }
    scenario.is_installed(&scenario.reference()).await?;
    let extension = scenario.kubernetes().read(&scenario.reference()).await?;
    let seen = condition(&extension, "Progressing").map(|one| one["observedGeneration"].clone());
    if seen.as_ref() == Some(generation) {
        Ok(())
    } else {
        Err(format!("generation {generation} wasn't looked at: {seen:?}"))
    }
}
