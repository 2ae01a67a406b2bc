//! Scenarios and stories, and scenarios told at the same time.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

use crate::processes::{Kind, Server};
use crate::scenario::Scenario;
use crate::world::World;

/// The longest that a name of Kubernetes can be made of: the ids of scenarios stand in labels and names.
const LONGEST_NUMBER: usize = 8;

/// How many scenarios of one world are under way at once. Most of their time they wait, but by asking with kubectl again and
/// again, which takes a tenth of a second of the processor each time, and a real API server works for a second on each definition
/// that comes or goes: with all of them at once, nobody would be served in time.
pub(crate) const SCENARIOS_AT_ONCE: usize = 8;

pub(crate) type Told = Pin<Box<dyn Future<Output = Result<(), String>> + Send>>;

/// A scenario that can be run in a world that it shares with others.
pub(crate) struct Case {
    /// Its number among upstream's; those without one are baton's own.
    pub(crate) number: &'static str,
    pub(crate) name: &'static str,
    pub(crate) tell: fn(Scenario) -> Told,
}

/// A story that has a server for itself.
pub(crate) struct Story {
    pub(crate) number: &'static str,
    pub(crate) name: &'static str,
    pub(crate) tell: fn(Server) -> Told,
}

impl Case {
    pub(crate) const fn new(number: &'static str, name: &'static str, tell: fn(Scenario) -> Told) -> Self {
        assert!(number.len() <= LONGEST_NUMBER, "a number is short");
        Self { number, name, tell }
    }
}

impl Story {
    pub(crate) const fn new(number: &'static str, name: &'static str, tell: fn(Server) -> Told) -> Self {
        Self { number, name, tell }
    }
}

/// Lists scenarios: their numbers and the functions that tell them.
macro_rules! cases {
    ($($number:literal: $module:ident :: $name:ident),* $(,)?) => {
        [$($crate::runner::Case::new(
            $number,
            stringify!($name),
            |scenario| Box::pin($crate::$module::$name(scenario)),
        )),*]
    };
}
pub(crate) use cases;

/// Lists stories: their numbers and the functions that tell them.
macro_rules! stories {
    ($($number:literal: $module:ident :: $name:ident),* $(,)?) => {
        [$($crate::runner::Story::new(
            $number,
            stringify!($name),
            |server| Box::pin($crate::$module::$name(server)),
        )),*]
    };
}
pub(crate) use stories;

/// Says how a scenario ended; returns why it doesn't hold.
pub(crate) fn report(
    kind: Kind,
    number: &str,
    name: &str,
    outcome: Result<(), String>,
    elapsed: Duration,
) -> Option<String> {
    match outcome {
        Ok(()) => {
            eprintln!("{kind:?} {number:>8} {name} ({:.1} s)", elapsed.as_secs_f32());
            None
        }
        Err(reason) => {
            eprintln!("{kind:?} {number:>8} {name} FAILED");
            Some(format!("{number} {name}\n    {reason}"))
        }
    }
}

/// Runs scenarios in one world at the same time; returns the stories of those that don't hold.
pub(crate) async fn told_together<'a>(
    world: World,
    cases: impl IntoIterator<Item = &'a Case>,
) -> Vec<String> {
    let world = Arc::new(world);
    let kind = world.server.kind();
    let turns = Arc::new(Semaphore::new(SCENARIOS_AT_ONCE));
    let running: Vec<_> = cases
        .into_iter()
        .map(|case| {
            let scenario = Scenario {
                world: Arc::clone(&world),
                id: format!("s{}", case.number),
            };
            let told = (case.tell)(scenario);
            let turns = Arc::clone(&turns);
            let task = tokio::spawn(async move {
                let _turn = turns.acquire_owned().await;
                let begun = Instant::now();
                let outcome = told.await;
                (outcome, begun.elapsed())
            });
            (case, task)
        })
        .collect();
    let mut failures = Vec::new();
    for (case, task) in running {
        let (outcome, elapsed) = match task.await {
            Ok(told) => told,
            Err(panic) => (Err(panic.to_string()), Duration::ZERO),
        };
        failures.extend(report(kind, case.number, case.name, outcome, elapsed));
    }
    if !failures.is_empty() {
        failures.push(format!(
            "the last words of the controllers:\n{}",
            world.controllers.last_words(60)
        ));
    }
    failures
}
