//! Rollouts during which the controllers are killed, after each of their writes, and started again.

use crate::faults::alone;
use crate::processes::Server;
use crate::scenario::Scenario;
use crate::write_counting::{Writes, kill_step};

type Outcome = Result<(), String>;

/// An installation and an upgrade, and how they must end.
pub(crate) trait Rollout {
    /// The version that is installed, and the one that it is upgraded to.
    const VERSIONS: [&'static str; 2];

    /// More writes than a rollout of the test's bundle takes: the loop ends when a rollout is over before its kill.
    const MOST_WRITES: usize;

    /// How many writes lie between two kills.
    const USUAL_STEP: usize;

    /// Makes what is there before the installation.
    fn prepare(told: &Scenario) -> impl Future<Output = Outcome> + Send;

    /// What the controllers write during a rollout: collections, each with a query.
    fn written(told: &Scenario) -> Vec<(String, String)>;

    /// Lets a version come.
    fn begin(told: &Scenario, version: &'static str) -> impl Future<Output = Outcome> + Send;

    /// Waits until a version is there, and checks that nothing else is left of so many rollouts.
    fn ends(told: &Scenario, version: &'static str, rollouts: usize) -> impl Future<Output = Outcome> + Send;
}

/// Kills at every write of an installation and at every write of an upgrade, or at as many of them as there is time for.
pub(crate) async fn survives_every_kill<R: Rollout>(server: Server) -> Outcome {
    let step = kill_step(R::USUAL_STEP);
    let world = alone(server, "kills").await?.world;
    let mut number = 1;
    let mut are_over = [false, false];
    while are_over != [true, true] {
        if number > R::MOST_WRITES {
            return Err("a rollout never ends".to_owned());
        }
        let told = Scenario {
            world: world.clone(),
            id: format!("k{number}"),
        };
        R::prepare(&told).await?;
        for (place, version) in R::VERSIONS.into_iter().enumerate() {
            are_over[place] = killed_at::<R>(&told, version, number).await?;
            R::ends(&told, version, place + 1).await.map_err(|reason| {
                format!(
                    "killed at write {number} of the rollout of {version}: {reason}\n{}",
                    world.controllers.last_words(40)
                )
            })?;
        }
        number += step;
    }
    Ok(())
}

/// Lets a version come and kills the controllers after so many writes; returns whether the rollout was over before.
async fn killed_at<R: Rollout>(
    told: &Scenario,
    version: &'static str,
    writes: usize,
) -> Result<bool, String> {
    let seen = Writes::to(&told.world.kubernetes, R::written(told)).await?;
    R::begin(told, version).await?;
    let is_over = seen.end_before(writes).await;
    told.world.replace_controllers().await?;
    Ok(is_over)
}
