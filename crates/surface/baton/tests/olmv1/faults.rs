//! What goes wrong around the controllers: servers and registries that go, are slow, or lie; bundles that want too much.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::bundles::Contents;
use crate::conditions::{Says, holds};
use crate::images::Entry;
use crate::leftovers::is_tidy;
use crate::network_faults::{Liar, Trickle};
use crate::processes::Server;
use crate::reference::Reference;
use crate::scenario::{Extension, Scenario};
use crate::update::versions;
use crate::world::World;

type Outcome = Result<(), String>;

/// How many documents the largest bundle has.
const DOCUMENTS: usize = 1000;

/// A scenario in a world of its own.
pub(crate) async fn alone(server: Server, id: &str) -> Result<Scenario, String> {
    Ok(Scenario {
        world: Arc::new(World::on(server).await?),
        id: id.to_owned(),
    })
}

/// The registry goes away and comes back: what is served stays served, what is installed is kept up, and the rest follows.
pub(crate) async fn a_registry_that_is_gone_holds_up_only_what_is_new(server: Server) -> Outcome {
    let told = alone(server, "gone").await?;
    let images = &told.world.images;
    told.prepare(&versions()).await?;
    told.install(&told.extension().version("1.0.0")).await?;
    let mut more = versions().to_vec();
    more.push(Entry::new("1.3.0", "beta", Contents::full()).replacing("1.0.1"));
    let next = told.image("test", "v2", &more).await?;
    images.stop().await;

    let name = told.catalog_name("test");
    told.kubernetes()
        .apply(&crate::world::catalog(&name, &next))
        .await?;
    let catalog = Reference::olm("ClusterCatalog", &name);
    told.reports(&catalog, "Progressing", "True", "Retrying", Says::Anything)
        .await?;
    let unmoved = told.kubernetes().read(&catalog).await?;
    holds(Some(&unmoved), "Serving", "True", "Available", Says::Anything)?;
    crate::recovery::config_map_comes_back(&told).await?;
    told.apply(&told.extension().version("1.0.1")).await?;
    told.reports(
        &told.reference(),
        "Progressing",
        "True",
        "Retrying",
        Says::Something(&images.host),
    )
    .await?;
    told.has_version("1.0.0").await?;

    images.start_again().await?;
    told.reports(&catalog, "Progressing", "True", "Succeeded", Says::Anything)
        .await?;
    told.is_installed(&told.reference()).await?;
    told.has_version("1.0.1").await?;
    told.install(&told.extension().version("1.3.0")).await?;
    told.has_version("1.3.0").await?;
    is_tidy(&told, 3).await
}

/// A registry that takes its time holds up nobody but those who want something of it.
pub(crate) async fn a_slow_registry_holds_up_nobody_else(server: Server) -> Outcome {
    let told = alone(server, "slow").await?;
    let slow = Trickle::before(&told.world.images.host).await?;
    let contents = Contents::small().named_in(&slow.address);
    told.prepare(&[Entry::new("1.0.0", "stable", contents)]).await?;
    told.apply(&told.extension()).await?;
    slow.until_used().await?;
    let quick = Scenario {
        id: "quick".to_owned(),
        ..told.clone()
    };
    quick
        .prepare(&[Entry::new("1.0.0", "stable", Contents::small())])
        .await?;
    quick.install(&quick.extension()).await?;
    let waiting = told.kubernetes().read(&told.reference()).await?;
    if holds(Some(&waiting), "Installed", "True", "", Says::Anything).is_ok() {
        return Err("the slow registry wasn't slow".to_owned());
    }
    slow.release();
    told.is_installed(&told.reference()).await
}

/// What isn't what its digest says is thrown away, and told.
pub(crate) async fn a_registry_that_lies_is_not_believed(server: Server) -> Outcome {
    let told = alone(server, "lies").await?;
    let liar = Liar::before(&told.world.images.host).await?;
    let contents = Contents::small().named_in(&liar.address);
    told.prepare(&[Entry::new("1.0.0", "stable", contents)]).await?;
    told.apply(&told.extension()).await?;
    let condition = told
        .reports(
            &told.reference(),
            "Progressing",
            "True",
            "Retrying",
            Says::Something(&liar.address),
        )
        .await?;
    let message = condition["message"].as_str().unwrap_or_default();
    if !message.contains("digest") && !message.contains("sha256:") {
        return Err(format!("nothing is said of the digest: {message}"));
    }
    if told.kubernetes().get(&told.revision(1)).await?.is_some() {
        return Err("a revision was made of it".to_owned());
    }
    // The same of a catalog: nothing of it is served.
    let name = told.catalog_name("lying");
    let entries = [Entry::new("1.0.0", "stable", Contents::small())];
    let image = told.image("lying", "v1", &entries).await?;
    let image = image.replace(&told.world.images.host, &liar.address);
    told.kubernetes()
        .apply(&crate::world::catalog(&name, &image))
        .await?;
    let catalog = Reference::olm("ClusterCatalog", &name);
    told.reports(
        &catalog,
        "Progressing",
        "True",
        "Retrying",
        Says::Something(&liar.address),
    )
    .await?;
    let catalog = told.kubernetes().read(&catalog).await?;
    if holds(Some(&catalog), "Serving", "True", "", Says::Anything).is_ok() {
        return Err("a catalog that isn't what its digest says is served".to_owned());
    }
    liar.tell_the_truth();
    told.is_installed(&told.reference()).await
}

/// The API server is killed and started again, while a rollout is under way and between its steps.
pub(crate) async fn a_server_that_restarts_loses_nothing(server: Server) -> Outcome {
    let told = alone(server, "restart").await?;
    let Server::Stage(stage) = &told.world.server else {
        return Err("there is nothing to restart".to_owned());
    };
    told.prepare(&versions()).await?;
    let extension = told.extension();
    told.apply(&extension.clone().version("1.0.0")).await?;
    told.kubernetes().until_there(&told.revision(1)).await?;
    stage.kill();
    stage.start_again().await?;
    told.is_installed(&told.reference()).await?;
    is_tidy(&told, 1).await?;
    for (version, number) in [("1.0.1", 2), ("1.2.0", 3)] {
        told.apply(&extension.clone().version(version)).await?;
        told.kubernetes().until_there(&told.revision(number)).await?;
        stage.kill();
        stage.start_again().await?;
        told.is_installed(&told.reference()).await?;
        told.has_version(version).await?;
    }
    is_tidy(&told, 3).await
}

/// A bundle of a thousand documents is installed, although a revision has room for fewer at first sight.
pub(crate) async fn a_thousand_documents_are_installed(scenario: Scenario) -> Outcome {
    let mut contents = Contents::small();
    for number in 0..DOCUMENTS {
        contents = contents.with_object(json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": format!("document-{number:04}"), "labels": {"scenario": scenario.id}},
            "data": {"number": number.to_string()},
        }));
    }
    scenario
        .prepare(&[Entry::new("1.0.0", "stable", contents)])
        .await?;
    scenario.apply(&scenario.extension()).await?;
    let installed = |extension: Option<&Value>| {
        holds(extension, "Installed", "True", "Succeeded", Says::Anything).map(drop)
    };
    scenario
        .kubernetes()
        .until_within(&scenario.reference(), crate::kubernetes::PATIENCE * 3, installed)
        .await?;
    let maps = Reference::namespaced("v1", "ConfigMap", &scenario.namespace(), "").collection();
    let query = format!("labelSelector=scenario%3D{}", scenario.id);
    let (maps, _) = scenario.kubernetes().list(&maps, &query).await?;
    if maps.len() == DOCUMENTS {
        Ok(())
    } else {
        Err(format!("{} of {DOCUMENTS} documents are there", maps.len()))
    }
}

/// Applies an extension that wants what isn't its own, and expects to read what that is.
async fn is_refused_with(scenario: &Scenario, extension: &Extension, names: &[&str]) -> Outcome {
    scenario.apply(extension).await?;
    let condition = scenario
        .reports(
            &extension.reference(),
            "Progressing",
            "True",
            "Retrying",
            Says::Something("revision object collisions"),
        )
        .await?;
    let message = condition["message"].as_str().unwrap_or_default();
    match names.iter().find(|name| !message.contains(**name)) {
        None => Ok(()),
        Some(name) => Err(format!("{name} isn't named: {message}")),
    }
}

/// What belongs to the cluster itself stays as it is.
pub(crate) async fn a_bundle_may_not_take_the_clusters_roles(scenario: Scenario) -> Outcome {
    let role = "system:basic-user";
    let reference = Reference::cluster("rbac.authorization.k8s.io/v1", "ClusterRole", role);
    let before = scenario.kubernetes().read(&reference).await?;
    let contents = Contents::small().with_object(json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": role},
        "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}],
    }));
    scenario
        .prepare(&[Entry::new("1.0.0", "stable", contents)])
        .await?;
    is_refused_with(&scenario, &scenario.extension(), &["ClusterRole", role]).await?;
    let after = scenario.kubernetes().read(&reference).await?;
    if after == before {
        Ok(())
    } else {
        Err(format!("the role was changed: {after}"))
    }
}

/// What belongs to another extension stays with it, and the refusal names both.
pub(crate) async fn a_bundle_may_not_take_from_another(scenario: Scenario) -> Outcome {
    scenario
        .prepare(&[Entry::new("1.0.0", "stable", Contents::small())])
        .await?;
    scenario.install(&scenario.extension()).await?;
    let owner = scenario.kubernetes().read(&scenario.config_map()).await?;
    let thief = Scenario {
        id: format!("{}-thief", scenario.id),
        ..scenario.clone()
    };
    let wanted = scenario.config_map().name;
    let contents = Contents::small().with_object(json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": wanted}, "data": {"version": "stolen"}}));
    thief
        .with_catalog("test", &[Entry::new("1.0.0", "stable", contents)])
        .await?;
    let mut extension = thief.extension();
    extension.0["spec"]["namespace"] = scenario.namespace().into();
    is_refused_with(&thief, &extension, &["ConfigMap", &wanted, &scenario.name()]).await?;
    let kept = scenario.kubernetes().read(&scenario.config_map()).await?;
    if kept["data"] != owner["data"] || kept["metadata"]["uid"] != owner["metadata"]["uid"] {
        return Err(format!("it was taken: {kept}"));
    }
    scenario
        .reports(
            &scenario.reference(),
            "Installed",
            "True",
            "Succeeded",
            Says::Anything,
        )
        .await
        .map(drop)
}
