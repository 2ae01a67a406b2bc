//! Runs scenarios together in one world and says which of them don't hold.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use crate::scenario::Scenario;
use crate::world::World;

/// The environment variable that names the scenarios to run, by number or by a part of their names, with commas.
const SELECTION: &str = "BATON_SCENARIOS";

/// The longest that a name of Kubernetes can be made of: the ids of scenarios stand in labels and names.
const LONGEST_NUMBER: usize = 8;

type Told = Pin<Box<dyn Future<Output = Result<(), String>> + Send>>;

/// A scenario that can be run.
pub(crate) struct Case {
    /// Its number among upstream's; those without one are baton's own.
    number: &'static str,
    name: &'static str,
    tell: fn(Scenario) -> Told,
}

impl Case {
    pub(crate) const fn new(number: &'static str, name: &'static str, tell: fn(Scenario) -> Told) -> Self {
        assert!(number.len() <= LONGEST_NUMBER, "a number is short");
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

/// Runs the scenarios at the same time and fails with the stories of those that don't hold.
pub(crate) async fn run(world: World, cases: &[Case]) {
    let selection = std::env::var(SELECTION).unwrap_or_default();
    let chosen: Vec<&str> = selection.split(',').filter(|word| !word.is_empty()).collect();
    let is_chosen = |case: &Case| {
        chosen.is_empty()
            || chosen
                .iter()
                .any(|word| *word == case.number || case.name.contains(word))
    };
    let world = Arc::new(world);
    let begun = Instant::now();
    let running: Vec<_> = cases
        .iter()
        .filter(|case| is_chosen(case))
        .map(|case| {
            let scenario = Scenario {
                world: Arc::clone(&world),
                id: format!("s{}", case.number),
            };
            let told = (case.tell)(scenario);
            let task = tokio::spawn(async move {
                let outcome = told.await;
                (outcome, begun.elapsed())
            });
            (case, task)
        })
        .collect();
    let count = running.len();
    let mut failures = Vec::new();
    for (case, task) in running {
        let outcome = match task.await {
            Ok((Ok(()), elapsed)) => {
                eprintln!(
                    "{:>4} {} ({:.1} s)",
                    case.number,
                    case.name,
                    elapsed.as_secs_f32()
                );
                continue;
            }
            Ok((Err(reason), _)) => reason,
            Err(panic) => panic.to_string(),
        };
        eprintln!("{:>4} {} FAILED", case.number, case.name);
        failures.push(format!("{} {}\n    {outcome}", case.number, case.name));
    }
    assert!(
        failures.is_empty(),
        "{} of {count} scenarios don't hold:\n\n{}\n\nthe last words of the controllers:\n{}",
        failures.len(),
        failures.join("\n\n"),
        world.controllers.last_words(60)
    );
}
