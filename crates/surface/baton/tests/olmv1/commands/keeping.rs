//! `baton uninstall`, and what it leaves.

use super::{Chapter, Outcome};
use crate::bundles::definition_name;
use crate::reference::Reference;

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
    chapter.ends("keeping");
    Ok(())
}
