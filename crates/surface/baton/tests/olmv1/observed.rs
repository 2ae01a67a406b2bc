//! The work of the controllers as those see it who watch over it: traces at a collector, and profiles on loopback.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::bundles::Contents;
use crate::collector::Collected;
use crate::images::Entry;
use crate::kubernetes::{PATIENCE, ask};
use crate::processes::{Controllers, Server, free_address};
use crate::scenario::Scenario;
use crate::world::World;

type Outcome = Result<(), String>;

/// An extension is installed, and every step of that is in the traces.
pub(crate) async fn work_is_traced_and_profiled(server: Server) -> Outcome {
    let world = World::prepared_on(server, &[]).await?;
    let (collected, endpoint) = Collected::start().await?;
    let profiles = free_address()?;
    let controllers = Controllers::of(&world.server, &[])?
        .without_classic()
        .with_flags(vec![
            format!("--otlp-endpoint={endpoint}"),
            format!("--pprof-bind-address={profiles}"),
            "--log-format=json".to_owned(),
        ]);
    controllers.start()?;
    world.until_served().await?;
    let profiling = tokio::spawn({
        let profiles = profiles.clone();
        async move { profiled(&profiles).await }
    });
    let told = Scenario {
        world: Arc::new(world),
        id: "traced".to_owned(),
    };
    told.prepare(&[Entry::new("1.0.0", "stable", Contents::small())])
        .await?;
    told.install(&told.extension()).await?;
    let profile = profiling.await.map_err(|error| error.to_string())??;
    if !profile.starts_with(&[0x1f, 0x8b]) {
        return Err("a profile is packed with gzip".to_owned());
    }
    let (code, figures) = ask(&format!("http://{profiles}/debug/figures")).await?;
    let figures: Value = serde_json::from_str(&figures).map_err(|error| format!("{code}: {error}"))?;
    if figures["tasks"].as_u64().unwrap_or_default() == 0 || figures["residentBytes"].is_null() {
        return Err(format!("figures say nothing: {figures}"));
    }
    // What isn't sent yet is sent at the end.
    controllers.stop().await?;
    let (catalog, extension) = (told.catalog_name("test"), told.name());
    collected.tell_of(&[
        ("reconcile", "ClusterCatalog", catalog.as_str()),
        ("reconcile", "ClusterExtension", extension.as_str()),
        ("reconcile", "ClusterObjectSet", ""),
        ("pull", "", ""),
        ("resolve", "", ""),
        ("apply", "", ""),
    ])?;
    if collected.services() != BTreeSet::from(["baton".to_owned()]) {
        return Err(format!("traces come from {:?}", collected.services()));
    }
    logged_as_json(&controllers.last_words(usize::MAX))
}

/// Every line of the log is an object with a level, but what a person at a terminal is told.
fn logged_as_json(log: &str) -> Outcome {
    let lines = log.lines().filter(|line| line.starts_with('{'));
    let mut count = 0;
    for line in lines {
        let entry: Value = serde_json::from_str(line).map_err(|error| format!("{line}: {error}"))?;
        if entry["level"].is_null() || entry["timestamp"].is_null() {
            return Err(format!("{line} has no level or time"));
        }
        count += 1;
    }
    if count == 0 {
        return Err(format!("nothing is logged as JSON:\n{log}"));
    }
    Ok(())
}

/// Asks for a profile of a second, as soon as somebody listens.
async fn profiled(address: &str) -> Result<Vec<u8>, String> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let answer = reqwest::get(format!("http://{address}/debug/pprof/profile?seconds=1")).await;
        match answer {
            Ok(answer) if answer.status().is_success() => {
                let bytes = answer.bytes().await.map_err(|error| error.to_string())?;
                return Ok(bytes.to_vec());
            }
            Ok(answer) => return Err(format!("a profile is answered by {}", answer.status())),
            Err(error) if Instant::now() > deadline => return Err(error.to_string()),
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}
