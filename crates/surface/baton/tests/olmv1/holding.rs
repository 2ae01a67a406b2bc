//! Runs scenarios and stories on stage at the same time and says which of them don't hold.

use std::time::Instant;

use futures_util::{StreamExt as _, stream};

use crate::processes::Kind;
use crate::runner::{Case, Story, report, told_together};
use crate::world::World;

/// The environment variable that names the scenarios to run, by number or by a part of their names, with commas; `all` is all.
const SELECTION: &str = "BATON_SCENARIOS";

/// How many clusters are there at once beside the shared one: stories wait much, but each takes memory.
const CLUSTERS_AT_ONCE: usize = 2;

/// Returns whether somebody wants to run a scenario; without a word of it, all are wanted.
fn is_wanted(number: &str, name: &str) -> bool {
    let selection = std::env::var(SELECTION).unwrap_or_default();
    let mut words = selection.split(',').filter(|word| !word.is_empty()).peekable();
    words.peek().is_none() || words.any(|word| word == "all" || word == number || name.contains(word))
}

/// Runs scenarios in one world and stories in worlds of their own, all at the same time, and fails with those that don't
/// hold.
pub(crate) async fn hold(scenarios: &[Case], stories: &[&[Story]]) {
    let scenarios: Vec<&Case> = scenarios
        .iter()
        .filter(|case| is_wanted(case.number, case.name))
        .collect();
    let stories: Vec<&Story> = stories
        .iter()
        .copied()
        .flatten()
        .filter(|story| is_wanted(story.number, story.name))
        .collect();
    assert!(
        !scenarios.is_empty() || !stories.is_empty(),
        "{SELECTION} picks nothing"
    );
    let together = async {
        if scenarios.is_empty() {
            return Vec::new();
        }
        match world().await {
            Ok(world) => told_together(world, scenarios).await,
            Err(reason) => vec![reason],
        }
    };
    let alone = stream::iter(stories.into_iter().map(told_alone))
        .buffer_unordered(CLUSTERS_AT_ONCE)
        .collect();
    let (mut failures, alone): (_, Vec<Option<String>>) = tokio::join!(together, alone);
    failures.extend(alone.into_iter().flatten());
    assert!(
        failures.is_empty(),
        "{} scenarios don't hold:\n\n{}",
        failures.len(),
        failures.join("\n\n")
    );
}

async fn world() -> Result<World, String> {
    World::on(Kind::Stage.start().await?).await
}

/// Tells a story on a server of its own; returns why it doesn't hold.
async fn told_alone(story: &Story) -> Option<String> {
    let server = match Kind::Stage.start().await {
        Ok(server) => server,
        Err(reason) => return Some(format!("{}: no server: {reason}", story.name)),
    };
    let begun = Instant::now();
    let task = tokio::spawn((story.tell)(server));
    let outcome = task.await.unwrap_or_else(|panic| Err(panic.to_string()));
    report(Kind::Stage, story.number, story.name, outcome, begun.elapsed())
}
