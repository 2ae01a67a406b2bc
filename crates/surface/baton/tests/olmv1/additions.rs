//! What baton adds to OLM v1 by annotations: approval, pauses, windows, going back, keeping, and images without a catalog.

use std::time::Duration;

use serde_json::{Value, json};

use crate::bundles::{Contents, definition_name};
use crate::conditions::{Says, holds};
use crate::images::{Entry, bundle_image};
use crate::recovery::config_map_comes_back;
use crate::reference::Reference;
use crate::scenario::{Extension, Scenario};
use crate::update::versions;

type Outcome = Result<(), String>;

/// A minute of deadline, and what else may take time.
const DEADLINE_PATIENCE: Duration = Duration::from_mins(3);

/// Waits until an extension says that a version waits; returns what for.
async fn waits(scenario: &Scenario, version: &str) -> Result<String, String> {
    let text = format!("version {version} waits");
    let said = scenario
        .kubernetes()
        .until(&scenario.reference(), |extension| {
            holds(extension, "Progressing", "False", "", Says::Something(&text))
                .or_else(|_| holds(extension, "Progressing", "True", "", Says::Something(&text)))
        })
        .await?;
    Ok(said["message"].as_str().unwrap_or_default().to_owned())
}

/// Installs the first version and asks for the next one under a condition.
async fn waits_with(scenario: &Scenario, annotation: &str, value: &str) -> Result<Extension, String> {
    scenario.prepare(&versions()).await?;
    scenario.install(&scenario.extension().version("1.0.0")).await?;
    let next = scenario.extension().version("1.0.1");
    scenario.apply(&next.clone().annotated(annotation, value)).await?;
    waits(scenario, "1.0.1").await?;
    scenario.has_version("1.0.0").await?;
    // What waits keeps nobody from looking after what is there.
    config_map_comes_back(scenario).await?;
    if scenario.kubernetes().get(&scenario.revision(2)).await?.is_some() {
        return Err("there is a second revision already".to_owned());
    }
    Ok(next)
}

/// A version waits until somebody approves it.
pub(crate) async fn a_version_waits_for_approval(scenario: Scenario) -> Outcome {
    let next = waits_with(&scenario, "baton-olm.dev/approval", "manual").await?;
    let text = waits(&scenario, "1.0.1").await?;
    if !text.contains("baton-olm.dev/approve=1.0.1") {
        return Err(format!("nobody learns how to approve it: {text}"));
    }
    let approved = next
        .annotated("baton-olm.dev/approval", "manual")
        .annotated("baton-olm.dev/approve", "1.0.1");
    scenario.install(&approved).await?;
    scenario.has_version("1.0.1").await?;
    // An approval is for one version.
    scenario.apply(&approved.version("1.2.0")).await?;
    waits(&scenario, "1.2.0").await.map(drop)
}

/// A paused extension stays where it is until the pause ends.
pub(crate) async fn a_version_waits_for_the_end_of_a_pause(scenario: Scenario) -> Outcome {
    let next = waits_with(&scenario, "baton-olm.dev/pause", "true").await?;
    scenario.install(&next).await?;
    scenario.has_version("1.0.1").await
}

/// A version waits for its window, and takes an open one.
pub(crate) async fn a_version_waits_for_its_window(scenario: Scenario) -> Outcome {
    // A window of an hour on the day of the week that is farthest away.
    let far = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(84);
    let window = far.strftime("%a 02:00-03:00 UTC").to_string();
    let next = waits_with(&scenario, "baton-olm.dev/window", &window).await?;
    let always = "Mon,Tue,Wed,Thu,Fri,Sat,Sun 00:00-24:00 UTC";
    scenario
        .install(&next.annotated("baton-olm.dev/window", always))
        .await?;
    scenario.has_version("1.0.1").await
}

/// An annotation that means nothing is told, with what to write instead.
pub(crate) async fn a_setting_that_means_nothing_is_told(scenario: Scenario) -> Outcome {
    scenario
        .prepare(&[Entry::new("1.0.0", "stable", Contents::small())])
        .await?;
    let extension = scenario.extension();
    scenario
        .apply(&extension.clone().annotated("baton-olm.dev/pause", "perhaps"))
        .await?;
    scenario
        .reports(
            &scenario.reference(),
            "Progressing",
            "False",
            "InvalidConfiguration",
            Says::Something("annotation \"baton-olm.dev/pause\": \"perhaps\" means nothing here"),
        )
        .await?;
    scenario.install(&extension).await
}

/// What doesn't roll out in time makes way for what did.
pub(crate) async fn a_failed_rollout_goes_back(scenario: Scenario) -> Outcome {
    scenario.prepare(&versions()).await?;
    let extension = scenario
        .extension()
        .self_certified()
        .annotated("baton-olm.dev/on-failure", "rollback");
    scenario.install(&extension.clone().version("1.0.0")).await?;
    // Only what never works has a deadline: what works may take the time of a busy machine.
    scenario.apply(&extension.version("1.0.2").deadline(1)).await?;
    scenario.kubernetes().until_there(&scenario.revision(2)).await?;
    let third = scenario.revision(3);
    scenario
        .reports_within(
            &third,
            DEADLINE_PATIENCE,
            ("Available", "True", "ProbesSucceeded"),
            Says::Anything,
        )
        .await?;
    scenario.has_version("1.0.0").await?;
    scenario
        .kubernetes()
        .until(&scenario.deployment(), |deployment| {
            let image = deployment.map_or(&Value::Null, |deployment| {
                &deployment["spec"]["template"]["spec"]["containers"][0]["image"]
            });
            if image == "busybox:1.36" {
                Ok(())
            } else {
                Err(format!("it runs {image}"))
            }
        })
        .await?;
    // It stays there: the version that failed isn't tried over and over.
    let text = "version 1.0.2 did not roll out in time and was rolled back";
    scenario
        .reports(
            &scenario.reference(),
            "Progressing",
            "False",
            "Blocked",
            Says::Something(text),
        )
        .await
        .map(drop)
}

/// Deletes an extension that says what shall stay; returns what it had.
async fn deleted_with(scenario: &Scenario, on_delete: &str) -> Result<Vec<Reference>, String> {
    scenario
        .prepare(&[Entry::new("1.0.0", "stable", Contents::full())])
        .await?;
    let extension = scenario
        .extension()
        .annotated("baton-olm.dev/on-delete", on_delete);
    scenario.install(&extension).await?;
    let objects = scenario.objects_of(&scenario.revision(1)).await?;
    scenario.kubernetes().delete(&scenario.reference()).await?;
    scenario.kubernetes().until_gone(&scenario.reference()).await?;
    scenario.kubernetes().until_gone(&scenario.revision(1)).await?;
    Ok(objects.iter().map(Reference::of).collect())
}

/// Checks that an object is there and that nobody is going to take it away.
async fn stays(scenario: &Scenario, reference: &Reference) -> Outcome {
    let object = scenario.kubernetes().read(reference).await?;
    let metadata = &object["metadata"];
    if metadata["ownerReferences"].is_null() && metadata["deletionTimestamp"].is_null() {
        Ok(())
    } else {
        Err(format!("{reference} is still bound: {metadata}"))
    }
}

/// Definitions stay, and with them what users made of them.
pub(crate) async fn definitions_are_kept(scenario: Scenario) -> Outcome {
    let objects = deleted_with(&scenario, "keep-crds").await?;
    let definition = Reference::cluster(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        &definition_name(&scenario.id),
    );
    stays(&scenario, &definition).await?;
    for reference in objects.iter().filter(|reference| **reference != definition) {
        scenario.kubernetes().until_gone(reference).await?;
    }
    stays(&scenario, &definition).await
}

/// Everything stays, and another extension doesn't get it by chance.
pub(crate) async fn everything_is_kept(scenario: Scenario) -> Outcome {
    let objects = deleted_with(&scenario, "orphan").await?;
    for reference in &objects {
        stays(&scenario, reference).await?;
    }
    Ok(())
}

/// A bundle image is installed without any catalog that knows it.
pub(crate) async fn a_bundle_image_needs_no_catalog(scenario: Scenario) -> Outcome {
    scenario.with_namespace().await?;
    let images = &scenario.world.images;
    let package = scenario.package();
    for version in ["1.0.0", "1.1.0"] {
        let files = Contents::full().files(&scenario.id, &package, version);
        images
            .push(&files, &bundle_image(&package, version), false)
            .await?;
    }
    let of = |version: &str| {
        let image = format!("{}/{}", images.host, bundle_image(&package, version));
        scenario
            .extension()
            .whose_catalog_is_open()
            .annotated("baton-olm.dev/bundle-image", &image)
    };
    scenario.install(&of("1.0.0")).await?;
    scenario.kubernetes().read(&scenario.deployment()).await?;
    scenario.install(&of("1.1.0")).await?;
    scenario
        .kubernetes()
        .until(&scenario.reference(), |extension| {
            let extension = extension.ok_or("it isn't there")?;
            let version = &extension["status"]["install"]["bundle"]["version"];
            if *version == json!("1.1.0") {
                Ok(())
            } else {
                Err(format!("installed is {}", extension["status"]["install"]))
            }
        })
        .await
}
