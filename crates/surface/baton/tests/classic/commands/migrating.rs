//! `baton classic migrate`: an operator of OLM v0 goes on under an extension, and doesn't notice.

use serde_json::{Value, json};

use super::{Chapter, Outcome, classic};
use crate::bundles::definition_name;
use crate::reference::Reference;
use crate::scenario::expect;
use crate::world::World;

const NAMESPACE: &str = "leaving";

pub(super) async fn to_an_extension(mut chapter: Chapter, image: String) -> Outcome {
    // It depends on how soon the garbage collector lets go of what the ClusterServiceVersion owned.
    chapter.terminal.passes_over("Retrying: ");
    let terminal = &mut chapter.terminal;
    terminal
        .types_all(&[
            "classic subscribe leaver -n leaving --create-namespace",
            "classic migrate nobody -n leaving",
            "classic migrate leaver",
        ])
        .await?;
    // Nothing was changed for want of a catalog.
    let version = classic("ClusterServiceVersion", NAMESPACE, "leaver.v1.0.0");
    let kept = chapter.kubectl().read(&version).await?;
    expect("its phase", kept["status"]["phase"].as_str(), Some("Succeeded"))?;
    chapter
        .terminal
        .run(&["catalog", "add", "main", &image])
        .await?
        .successful()?;
    let before = running(&chapter).await?;
    // What isn't as it should be isn't taken over, and stays as it is.
    let deployment = Reference::namespaced("apps/v1", "Deployment", NAMESPACE, "test-operator-leaver");
    let second = json!({
        "apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup",
        "metadata": {"name": "second", "namespace": NAMESPACE}, "spec": {},
    });
    chapter.kubectl().apply(std::slice::from_ref(&second)).await?;
    chapter
        .kubectl()
        .until_is(&version, "/status/phase", "Failed")
        .await?;
    chapter
        .terminal
        .types_all(&["classic migrate leaver --yes"])
        .await?;
    chapter.kubectl().delete(&Reference::of(&second)).await?;
    chapter
        .kubectl()
        .until_is(&version, "/status/phase", "Succeeded")
        .await?;
    expect("what runs", running(&chapter).await?, before.clone())?;

    chapter.terminal.types_all(&["classic migrate leaver"]).await?;
    let world = std::sync::Arc::clone(&chapter.world);
    let keeping = tokio::spawn(async move { keeps_its_rights(&world).await });
    chapter
        .terminal
        .types_all(&["classic migrate leaver --yes"])
        .await?;
    keeping.abort();
    if let Ok(Err(reason)) = keeping.await {
        return Err(reason);
    }
    chapter
        .terminal
        .types_all(&["get extensions leaver", "classic list -n leaving"])
        .await?;
    chapter.kubectl().until_gone(&version).await?;
    chapter
        .kubectl()
        .until_gone(&classic("Subscription", NAMESPACE, "leaver"))
        .await?;
    expect("what runs", running(&chapter).await?, before)?;
    let owned = chapter.kubectl().read(&deployment).await?;
    let controller = owned["metadata"]["ownerReferences"][0]["kind"].clone();
    expect(
        "who looks after it",
        controller.as_str(),
        Some("ClusterObjectSet"),
    )?;
    chapter.ends("migrating");
    Ok(())
}

/// What runs: which objects they are, and what their pods are made of.
async fn running(chapter: &Chapter) -> Result<Vec<(String, Value, Value)>, String> {
    let kubectl = chapter.kubectl();
    let definition = Reference::cluster(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        &definition_name("leaver"),
    );
    let mut found = Vec::new();
    for reference in [
        Reference::namespaced("apps/v1", "Deployment", NAMESPACE, "test-operator-leaver"),
        Reference::namespaced("v1", "ServiceAccount", NAMESPACE, "bundle-manager-leaver"),
        definition,
    ] {
        let object = kubectl.read(&reference).await?;
        let template = object["spec"]["template"].clone();
        found.push((reference.to_string(), object["metadata"]["uid"].clone(), template));
    }
    for pod in kubectl.list("pods", NAMESPACE, &[]).await? {
        found.push(("Pod".to_owned(), pod["metadata"]["uid"].clone(), Value::Null));
    }
    Ok(found)
}

/// Asks again and again whether the operator may do what its bundle asks for the whole cluster; ends where it may not.
async fn keeps_its_rights(world: &World) -> Outcome {
    let question = ["auth", "can-i", "create", "tokenreviews.authentication.k8s.io"];
    let mut arguments = question.to_vec();
    arguments.push("--as=system:serviceaccount:leaving:bundle-manager-leaver");
    loop {
        let answer = world.kubectl.run(&arguments).await?;
        expect("what the operator may", answer.stdout.trim(), "yes")?;
    }
}
