//! `baton uninstall`, and what it leaves.

use reqwest::Method;
use serde_json::{Value, json};

use super::{Chapter, Outcome};
use crate::bundles::definition_name;
use crate::reference::Reference;
use crate::terminal::Seen;

pub(super) async fn what_shall_stay(mut chapter: Chapter) -> Outcome {
    chapter
        .terminal
        .types_all(&[
            "install keeper",
            "uninstall keeper --keep crds",
            "install leaver",
            "uninstall leaver --keep everything",
            "uninstall keeper --keep nothing",
        ])
        .await?;
    let definition = |package: &str| {
        Reference::cluster(
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            &definition_name(package),
        )
    };
    let deployment = |package: &str| {
        Reference::namespaced(
            "apps/v1",
            "Deployment",
            package,
            &format!("test-operator-{package}"),
        )
    };
    chapter.kubernetes().until_gone(&deployment("keeper")).await?;
    for kept in [definition("keeper"), definition("leaver"), deployment("leaver")] {
        let object = chapter.kubernetes().read(&kept).await?;
        let metadata = &object["metadata"];
        if !metadata["ownerReferences"].is_null() || !metadata["deletionTimestamp"].is_null() {
            return Err(format!("{kept} is still bound: {metadata}"));
        }
    }
    chapter
        .terminal
        .types_all(&["why deployment/test-operator-leaver --namespace leaver"])
        .await?;
    what_is_held_up(&mut chapter).await?;
    chapter.ends("keeping");
    Ok(())
}

/// Finalizers that nobody removes: as long as anything is there, it isn't said to be gone, and what holds it up is named.
async fn what_is_held_up(chapter: &mut Chapter) -> Outcome {
    chapter.terminal.types_all(&["install keeper"]).await?;
    // The plural of the kind is no English.
    let resource = Reference::cluster(
        "e2e-keeper.e2e.operatorframework.io/v1",
        "e2e-keepertest",
        "precious",
    );
    let settings = Reference::namespaced("v1", "ConfigMap", "keeper", "test-configmap-keeper");
    let held = json!({"metadata": {"finalizers": ["example.com/backed-up"]}});
    let made = chapter
        .kubernetes()
        .request(Method::POST, &resource.collection())
        .header("Content-Type", "application/json")
        .body(
            json!({
                "apiVersion": "e2e-keeper.e2e.operatorframework.io/v1", "kind": "E2ETest",
                "metadata": {"name": "precious", "finalizers": ["example.com/backed-up"]},
            })
            .to_string(),
        )
        .send()
        .await
        .map_err(|error| error.to_string())?;
    if !made.status().is_success() {
        return Err(format!("the custom resource is refused: {}", made.status()));
    }
    chapter.kubernetes().merge(&settings, &held).await?;
    chapter
        .terminal
        .types_all(&["uninstall keeper --timeout 10", "status keeper"])
        .await?;
    let free = json!({"metadata": {"finalizers": null}});
    chapter.kubernetes().merge(&resource, &free).await?;
    chapter.kubernetes().until_gone(&resource).await?;
    let revision = Reference::olm("ClusterObjectSet", "keeper-1");
    chapter.kubernetes().until_gone(&revision).await?;
    let deletion = |object: Option<&Value>| match object {
        Some(object) if object["metadata"]["deletionTimestamp"].is_string() => Ok(()),
        Some(_) => Err("it isn't deleted yet".to_owned()),
        None => Err("it is gone".to_owned()),
    };
    chapter.kubernetes().until(&settings, deletion).await?;
    // Nothing of OLM's is left that could tell of what is.
    chapter
        .terminal
        .types_all(&["uninstall keeper --timeout 3"])
        .await?;
    let waiting = chapter.terminal.start(&["uninstall", "keeper"])?;
    chapter.kubernetes().merge(&settings, &free).await?;
    chapter.kubernetes().until_gone(&settings).await?;
    // It may look when everything is gone.
    Seen::of(waiting).await.map(drop)
}
