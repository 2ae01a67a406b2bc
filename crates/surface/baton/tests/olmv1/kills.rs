//! The controllers are killed after each of their writes, and started again: a rollout ends as if nothing had happened.

use std::time::Duration;

use reqwest::Method;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::bundles::definition_name;
use crate::faults::alone;
use crate::leftovers::is_tidy;
use crate::processes::Server;
use crate::scenario::{Extension, Scenario};
use crate::update::versions;

type Outcome = Result<(), String>;

/// More writes than a rollout of the test's bundle takes: the loop ends when a rollout is over before its kill.
const MOST_WRITES: usize = 120;

/// How long a write may be waited for before a rollout counts as over.
const QUIET: Duration = Duration::from_secs(5);

/// How many writes lie between two kills; `BATON_KILL_STEP=1` kills at every one, which takes minutes. The tests of the
/// crates `apply` and `extension-controller` kill at every write within one process.
fn kill_step() -> usize {
    let step = std::env::var("BATON_KILL_STEP").ok();
    step.and_then(|step| step.parse().ok()).unwrap_or(8).max(1)
}

/// Kills at every write of an installation and at every write of an upgrade, or at as many of them as there is time for.
pub(crate) async fn a_rollout_survives_every_kill(server: Server) -> Outcome {
    let step = kill_step();
    let world = alone(server, "kills").await?.world;
    let mut number = 1;
    let mut are_over = [false, false];
    while are_over != [true, true] {
        if number > MOST_WRITES {
            return Err("a rollout never ends".to_owned());
        }
        let told = Scenario {
            world: world.clone(),
            id: format!("k{number}"),
        };
        told.prepare(&versions()).await?;
        for (place, version) in ["1.0.0", "1.0.1"].into_iter().enumerate() {
            let extension = told.extension().version(version);
            are_over[place] = killed_at(&told, &extension, number).await?;
            let explain = |reason| {
                format!(
                    "killed at write {number} of the rollout of {version}: {reason}\n{}",
                    world.controllers.last_words(40)
                )
            };
            told.is_installed(&told.reference()).await.map_err(explain)?;
            told.has_version(version).await.map_err(explain)?;
            is_tidy(&told, place + 1).await.map_err(explain)?;
        }
        number += step;
    }
    Ok(())
}

/// Applies an extension and kills the controllers after so many writes; returns whether the rollout was over before.
async fn killed_at(told: &Scenario, extension: &Extension, writes: usize) -> Result<bool, String> {
    let (sender, mut seen) = mpsc::unbounded_channel();
    let mut watches = Vec::new();
    for (collection, query) in written(told) {
        let (_, version) = told.kubernetes().list(&collection, &query).await?;
        let path = format!("{collection}?{query}&watch=true&resourceVersion={version}");
        let answer = told
            .kubernetes()
            .request(Method::GET, &path)
            .send()
            .await
            .map_err(|error| error.to_string())?;
        watches.push(tokio::spawn(count(answer, sender.clone())));
    }
    drop(sender);
    told.apply(extension).await?;
    let mut is_over = false;
    for _ in 0..writes {
        if !matches!(tokio::time::timeout(QUIET, seen.recv()).await, Ok(Some(()))) {
            is_over = true;
            break;
        }
    }
    for watch in watches {
        watch.abort();
    }
    told.world.replace_controllers().await?;
    Ok(is_over)
}

/// What the controllers write during a rollout.
fn written(told: &Scenario) -> Vec<(String, String)> {
    let namespace = told.namespace();
    let owned = format!(
        "labelSelector=olm.operatorframework.io/owner-name%3D{}",
        told.name()
    );
    let named = |name: &str| format!("fieldSelector=metadata.name%3D{name}");
    let olm = "/apis/olm.operatorframework.io/v1";
    vec![
        (format!("{olm}/clusterextensions"), named(&told.name())),
        (format!("{olm}/clusterobjectsets"), owned.clone()),
        (
            format!("/api/v1/namespaces/{}/secrets", crate::world::SYSTEM_NAMESPACE),
            owned.clone(),
        ),
        (
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions".to_owned(),
            named(&definition_name(&told.id)),
        ),
        (
            format!("/api/v1/namespaces/{namespace}/configmaps"),
            owned.clone(),
        ),
        (
            format!("/api/v1/namespaces/{namespace}/serviceaccounts"),
            owned.clone(),
        ),
        (format!("/apis/apps/v1/namespaces/{namespace}/deployments"), owned),
    ]
}

/// Tells of each event of a watch.
async fn count(mut answer: reqwest::Response, seen: mpsc::UnboundedSender<()>) {
    let mut rest = Vec::new();
    while let Ok(Some(piece)) = answer.chunk().await {
        rest.extend_from_slice(&piece);
        while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = rest.drain(..=end).collect();
            let event: Value = serde_json::from_slice(&line).unwrap_or_default();
            if event["type"] != "BOOKMARK" && seen.send(()).is_err() {
                return;
            }
        }
    }
}
