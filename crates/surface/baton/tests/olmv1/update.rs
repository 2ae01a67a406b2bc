//! Scenarios 17–25: an extension goes to another version.

use std::time::Duration;

use serde_json::{Value, json};

use crate::bundles::Contents;
use crate::conditions::Says;
use crate::images::Entry;
use crate::kubernetes::PATIENCE;
use crate::reference::Reference;
use crate::scenario::Scenario;

type Outcome = Result<(), String>;

/// A minute until the next poll, and what else may take time.
const POLL_PATIENCE: Duration = Duration::from_mins(3);

/// The package that these scenarios go through.
pub(crate) fn versions() -> [Entry; 6] {
    [
        Entry::new("1.0.0", "alpha", Contents::full()),
        Entry::again("1.0.0", "beta"),
        Entry::new("1.0.1", "beta", Contents::full()).replacing("1.0.0"),
        Entry::new("1.0.2", "alpha", Contents::bad_image()).replacing("1.0.0"),
        Entry::new("1.0.4", "beta", Contents::full()),
        Entry::new("1.2.0", "beta", Contents::full()).replacing("1.0.1"),
    ]
}

/// Prepares the package and installs its first version.
async fn at_first_version(scenario: &Scenario) -> Outcome {
    scenario.prepare(&versions()).await?;
    scenario.install(&scenario.extension().version("1.0.0")).await?;
    scenario.has_version("1.0.0").await
}

/// 17
pub(crate) async fn a_successor_is_installed(scenario: Scenario) -> Outcome {
    at_first_version(&scenario).await?;
    scenario.install(&scenario.extension().version("1.0.1")).await?;
    scenario.has_version("1.0.1").await
}

/// 18
pub(crate) async fn what_is_no_successor_is_refused(scenario: Scenario) -> Outcome {
    at_first_version(&scenario).await?;
    scenario.apply(&scenario.extension().version("1.2.0")).await?;
    let text = format!(
        "error upgrading from currently installed version \"1.0.0\": no bundles found for package {:?} matching version \
         \"1.2.0\"",
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
    scenario.has_version("1.0.0").await
}

/// 19
pub(crate) async fn what_is_no_successor_can_be_forced(scenario: Scenario) -> Outcome {
    at_first_version(&scenario).await?;
    scenario
        .install(&scenario.extension().version("1.2.0").self_certified())
        .await?;
    scenario.has_version("1.2.0").await
}

/// The package of the next catalog image.
fn next_version() -> [Entry; 1] {
    [Entry::new("1.3.0", "beta", Contents::full()).replacing("1.2.0")]
}

/// 20
pub(crate) async fn another_image_of_the_catalog_brings_a_version(scenario: Scenario) -> Outcome {
    scenario.prepare(&versions()).await?;
    scenario.install(&scenario.extension()).await?;
    scenario.has_version("1.2.0").await?;
    let next = scenario.image("test", "v2", &next_version()).await?;
    let catalog = crate::world::catalog(&scenario.catalog_name("test"), &next);
    scenario.kubernetes().apply(&catalog).await?;
    scenario.has_version("1.3.0").await
}

/// 21
pub(crate) async fn a_tag_that_moves_brings_a_version(scenario: Scenario) -> Outcome {
    scenario.with_namespace().await?;
    let image = scenario.image("test", "latest", &versions()).await?;
    scenario
        .world
        .catalog(&scenario.catalog_name("test"), &image)
        .await?;
    scenario.install(&scenario.extension()).await?;
    scenario.has_version("1.2.0").await?;
    scenario.image("test", "latest", &next_version()).await?;
    scenario.has_version_within("1.3.0", POLL_PATIENCE).await
}

/// 22
pub(crate) async fn the_same_content_is_a_new_revision(scenario: Scenario) -> Outcome {
    let same = || Contents::full().with_version_in_objects("same");
    let entries = [
        Entry::new("1.0.0", "beta", same()),
        Entry::new("1.0.4", "beta", same()),
    ];
    scenario.prepare(&entries).await?;
    let extension = scenario.extension().self_certified();
    scenario.install(&extension.clone().version("1.0.0")).await?;
    scenario.has_version("1.0.0").await?;
    scenario.install(&extension.version("1.0.4")).await?;
    scenario.has_version("1.0.4").await?;
    scenario.kubernetes().read(&scenario.revision(2)).await.map(drop)
}

/// 23
pub(crate) async fn a_second_extension_collides(scenario: Scenario) -> Outcome {
    at_first_version(&scenario).await?;
    scenario.install(&scenario.extension().version("1.0.1")).await?;
    scenario.has_version("1.0.1").await?;
    let name = format!("{}-dup", scenario.name());
    let second = scenario.extension().named(&name).version("1.0.1");
    let collides = async |scenario: &Scenario| {
        let text = Says::Something("revision object collisions");
        scenario
            .reports(&second.reference(), "Progressing", "True", "Retrying", text)
            .await?;
        scenario
            .reports(
                &scenario.reference(),
                "Installed",
                "True",
                "Succeeded",
                Says::Anything,
            )
            .await
    };
    scenario.apply(&second).await?;
    collides(&scenario).await?;
    let variable = json!({"deploymentConfig": {"env": [{"name": "MY_VAR", "value": "my-value"}]}});
    scenario.apply(&second.clone().configured(variable)).await?;
    let collection = Reference::olm("ClusterObjectSet", "").collection();
    let query = format!("labelSelector=olm.operatorframework.io/owner-name%3D{name}");
    scenario
        .kubernetes()
        .until_all(&collection, &query, PATIENCE, |sets| match sets.len() {
            2 => Ok(()),
            count => Err(format!("{name} has {count} ClusterObjectSets")),
        })
        .await?;
    collides(&scenario).await.map(drop)
}

/// Waits until an extension says which revisions are active.
async fn has_active_revisions(scenario: &Scenario, numbers: &[u32]) -> Outcome {
    let expected: Vec<String> = numbers
        .iter()
        .map(|number| format!("{}-{number}", scenario.name()))
        .collect();
    scenario
        .kubernetes()
        .until(&scenario.reference(), |extension| {
            let extension = extension.ok_or("it isn't there")?;
            let revisions = extension["status"]["activeRevisions"].as_array();
            let mut names: Vec<&str> = revisions
                .into_iter()
                .flatten()
                .filter_map(|revision| revision["name"].as_str())
                .collect();
            names.sort_unstable();
            if names == expected {
                Ok(())
            } else {
                Err(format!("the active revisions are {names:?}, not {expected:?}"))
            }
        })
        .await
}

/// 24
pub(crate) async fn what_a_new_revision_lacks_goes(scenario: Scenario) -> Outcome {
    let old = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": format!("only-in-the-first-{}", scenario.id)}, "data": {"a": "b"}});
    let entries = [
        Entry::new("1.0.0", "beta", Contents::full().with_object(old.clone())),
        Entry::new("1.2.0", "beta", Contents::full()),
    ];
    scenario.prepare(&entries).await?;
    let extension = scenario.extension().self_certified();
    scenario.install(&extension.clone().version("1.0.0")).await?;
    let first = scenario.kubernetes().read(&scenario.revision(1)).await?;
    let objects = scenario.objects_of(&scenario.revision(1)).await?;
    let mut stale = Reference::of(&old);
    stale = Reference::namespaced("v1", "ConfigMap", &scenario.namespace(), &stale.name);
    scenario.kubernetes().read(&stale).await?;

    scenario.install(&extension.version("1.2.0")).await?;
    scenario.has_version("1.2.0").await?;
    has_active_revisions(&scenario, &[2]).await?;
    let second = scenario.revision(2);
    scenario
        .reports(&second, "Progressing", "True", "Succeeded", Says::Anything)
        .await?;
    scenario
        .reports(&second, "Available", "True", "ProbesSucceeded", Says::Anything)
        .await?;
    scenario
        .kubernetes()
        .until(&scenario.revision(1), |set| match set {
            Some(set) if set["spec"]["lifecycleState"] == "Archived" => Ok(()),
            Some(set) => Err(format!("it is {}", set["spec"]["lifecycleState"])),
            // Archived ones may be cleared away, but not the last one.
            None => Err("it isn't there".to_owned()),
        })
        .await?;
    scenario.kubernetes().until_gone(&stale).await?;
    for object in &objects {
        scenario
            .kubernetes()
            .until(&Reference::of(object), |live| {
                let owners = live.and_then(|live| live["metadata"]["ownerReferences"].as_array());
                let uid = &first["metadata"]["uid"];
                if owners.is_some_and(|owners| owners.iter().any(|owner| owner["uid"] == *uid)) {
                    return Err("it is still owned by the first revision".to_owned());
                }
                Ok(())
            })
            .await?;
    }
    Ok(())
}

/// 25
pub(crate) async fn all_active_revisions_are_told(scenario: Scenario) -> Outcome {
    scenario.prepare(&versions()).await?;
    let extension = scenario.extension().self_certified();
    scenario.install(&extension.clone().version("1.0.0")).await?;
    scenario.apply(&extension.version("1.0.2")).await?;
    has_active_revisions(&scenario, &[1, 2]).await?;
    let second = scenario.revision(2);
    scenario
        .reports(&second, "Progressing", "True", "RollingOut", Says::Anything)
        .await?;
    scenario
        .reports(&second, "Available", "False", "ProbeFailure", Says::Anything)
        .await
        .map(drop)
}

/// A stuck rollout is left by asking for another version, which upstream refuses to see.
pub(crate) async fn a_stuck_rollout_is_redirected(scenario: Scenario) -> Outcome {
    scenario.prepare(&versions()).await?;
    let extension = scenario.extension().self_certified();
    scenario.install(&extension.clone().version("1.0.0")).await?;
    scenario.apply(&extension.clone().version("1.0.2")).await?;
    scenario
        .reports(
            &scenario.revision(2),
            "Available",
            "False",
            "ProbeFailure",
            Says::Anything,
        )
        .await?;
    scenario.install(&extension.version("1.0.1")).await?;
    scenario.has_version("1.0.1").await?;
    has_active_revisions(&scenario, &[3]).await?;
    let deployment: Value = scenario.kubernetes().read(&scenario.deployment()).await?;
    let image = &deployment["spec"]["template"]["spec"]["containers"][0]["image"];
    if image == "busybox:1.36" {
        Ok(())
    } else {
        Err(format!("the Deployment runs {image}"))
    }
}
