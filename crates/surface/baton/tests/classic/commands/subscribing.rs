//! `baton classic subscribe`, `list`, `status`, `explain` and `uninstall`.

use serde_json::{Value, json};

use super::{Chapter, Outcome, classic};
use crate::reference::Reference;
use crate::scenario::expect;

/// What is said where OLM v0 isn't.
pub(super) async fn without_controllers(mut chapter: Chapter) -> Outcome {
    chapter
        .terminal
        .types_all(&[
            "classic list",
            "classic subscribe web -n default",
            "classic approve",
        ])
        .await?;
    chapter.ends("without_controllers");
    Ok(())
}

/// Waits until the Operator of `web` lists everything of a version and nothing of another: that is told last, and shown by
/// `status`.
async fn lists_components_of(chapter: &Chapter, version: &str) -> Outcome {
    let operator = Reference::cluster("operators.coreos.com/v1", "Operator", "web.shop");
    let is_listed = |operator: &Value| {
        let refs = operator.pointer("/status/components/refs");
        let refs = refs.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let has = |kind: &str| refs.iter().any(|one| one["kind"] == kind);
        let kinds = [
            "ClusterRole",
            "ClusterRoleBinding",
            "ConfigMap",
            "CustomResourceDefinition",
            "Role",
            "RoleBinding",
            "ServiceAccount",
        ];
        let works = refs.iter().any(|one| {
            let conditions = one["conditions"].as_array().into_iter().flatten();
            let mut conditions =
                conditions.filter(|said| said["type"] == "Available" && said["status"] == "True");
            one["kind"] == "Deployment" && conditions.next().is_some()
        });
        let is_of_another = |one: &Value| {
            let name = one["name"].as_str().unwrap_or_default();
            name.starts_with("web.v") && !name.starts_with(version)
        };
        if works && kinds.into_iter().all(has) && !refs.iter().any(is_of_another) {
            Ok(())
        } else {
            Err(format!("it lists {refs:?}"))
        }
    };
    chapter.kubectl().until(&operator, is_listed).await
}

/// The life of a Subscription.
pub(super) async fn from_first_to_last(mut chapter: Chapter) -> Outcome {
    let terminal = &mut chapter.terminal;
    terminal
        .types_all(&[
            "classic list",
            "classic subscribe web -n shop",
            "classic subscribe nothing -n default",
            "classic subscribe web -n default --channel none",
            "classic subscribe web -n default --version 9.9.9",
            "classic subscribe web -n shop --create-namespace --dry-run",
            "classic subscribe web -n shop --create-namespace --version 1.0.0 --approval manual --install-mode OwnNamespace",
            "classic approve web",
            "classic list",
        ])
        .await?;
    lists_components_of(&chapter, "web.v1.0.0").await?;
    chapter
        .terminal
        .types_all(&[
            "classic status web",
            "classic explain web",
            "classic subscribe web -n shop",
            "classic status nothing",
        ])
        .await?;
    // What stands in the way is told by whoever is asked, and watched until it is gone.
    let watching = chapter.terminal.start(&["classic", "status", "web", "--watch"])?;
    chapter
        .terminal
        .run(&["classic", "approve", "web"])
        .await?
        .successful()?;
    let watched = crate::terminal::Seen::of(watching).await?.successful()?;
    let last = watched.rsplit("\n\n").next().unwrap_or_default();
    expect(
        "the last picture shows it installed",
        last.contains("web.v1.1.0 Succeeded"),
        true,
    )?;
    lists_components_of(&chapter, "web.v1.1.0").await?;
    let broken = json!({"spec": {"channel": "edge"}});
    let subscription = classic("Subscription", "shop", "web");
    chapter.kubectl().merge(&subscription, &broken).await?;
    chapter
        .terminal
        .types_all(&[
            "classic explain web --version 2.0.0",
            "classic status web --all",
            "classic uninstall web --dry-run",
            "classic uninstall web --delete-crds",
            "classic list",
            "classic uninstall web",
        ])
        .await?;
    chapter.ends("subscribing");
    Ok(())
}
