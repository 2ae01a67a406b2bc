//! Scenarios and stories as cases of a suite.

use std::time::Duration;

use suite::Group;

use crate::processes::Kind;
use crate::runner::{Case, SCENARIOS_AT_ONCE, Story};
use crate::scenario::Scenario;
use crate::world::World;

/// How many clusters are there at once: stories wait much, but each takes memory.
const CLUSTERS_AT_ONCE: usize = 2;

/// How long a scenario may take. It waits for deadlines of minutes and asks for patience several times, which is only used up when
/// something is wrong.
const LIMIT: Duration = Duration::from_mins(10);

/// The same for a story: one kills controllers again and again, at every single write if somebody wants it so.
const LIMIT_ALONE: Duration = Duration::from_mins(30);

/// Scenarios that share a world.
pub(crate) fn scenarios(kind: Kind, cases: &'static [Case]) -> Group<World> {
    let world = move || async move { World::on(kind.start().await?).await };
    let played = cases.iter().map(|case| {
        let name = format!("{}_{}", case.number, case.name);
        suite::Case::new(name, move |world| {
            let id = format!("s{}", case.number);
            (case.tell)(Scenario { world, id })
        })
    });
    Group::shared(kind.name(), world)
        .at_once(SCENARIOS_AT_ONCE)
        .within(LIMIT)
        .last_words(|world| world.controllers.last_words(60))
        .cases(played)
}

/// Stories, each of which has a server for itself.
pub(crate) fn stories(kind: Kind, stories: impl IntoIterator<Item = &'static Story>) -> Group<()> {
    let played = stories.into_iter().map(|story| {
        let name = format!("{}_{}", story.number, story.name);
        suite::Case::new(name, move |_| async move {
            let server = kind.start().await?;
            (story.tell)(server).await
        })
    });
    Group::free(format!("{}-alone", kind.name()))
        .at_once(CLUSTERS_AT_ONCE)
        .within(LIMIT_ALONE)
        .cases(played)
}
