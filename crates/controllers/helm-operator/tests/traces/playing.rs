//! A recording played on a server: each group of actions is done, and its story must be the recorded one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use kube::Client;
use serde_json::Value;
use tokio::time::Instant;

use crate::comparing::{Difference, Rules, compare};
use crate::differences::{self, Known};
use crate::observing::Scene;
use crate::operators::{Charts, HISTORY, Operators};
use crate::recording::{Action, Group, Recording};
use crate::server;
use crate::story::{State, Story, Subject};
use crate::wording::{Counting, Countings, Names, chances};

/// How long the same may take here.
const PATIENCE: Duration = Duration::from_secs(20);

/// How often it is looked.
const PAUSE: Duration = Duration::from_millis(100);

/// How long nothing may happen before the next actions are done.
const QUIET: Duration = Duration::from_millis(300);

/// Something that is wrong with what was played.
pub(crate) type Complaint = String;

/// Plays a recording; returns what differs that should not, and what should differ and does not.
pub(crate) async fn play(
    client: Client,
    recording: &Recording,
    corpus: &Path,
    charts: &Charts,
) -> Vec<Complaint> {
    let sees_definition = recording.sees("CustomResourceDefinition");
    server::define(&client, corpus, !sees_definition).await;
    let scene = Scene::new(client.clone(), &recording.namespace, sees_definition).await;
    let mut player = Player {
        operators: Operators::new(client, &recording.namespace, charts.clone()),
        recording,
        scene,
        theirs: Side::default(),
        ours: Side::default(),
        agreed: BTreeMap::new(),
        previous: None,
        begin: 0,
        trying: BTreeSet::new(),
        told: BTreeMap::new(),
    };
    let mut complaints = Vec::new();
    for group in &recording.groups {
        complaints.extend(player.group(group).await);
    }
    complaints
}

/// What is known of one side.
#[derive(Default)]
struct Side {
    names: Names,
    state: State,
    chances: BTreeSet<String>,
}

struct Player<'a> {
    recording: &'a Recording,
    scene: Scene,
    operators: Operators,
    theirs: Side,
    ours: Side,
    /// Up to which revision both sides count the same.
    agreed: BTreeMap<String, i64>,
    /// What both sides told of the group before.
    previous: Option<(Story, Story)>,
    /// How much of what was seen is told already.
    begin: usize,
    /// The releases that upstream tries to make again and again.
    trying: BTreeSet<String>,
    /// The differences of ends that were told: what stays different isn't told again.
    told: BTreeMap<Subject, Difference>,
}

impl Player<'_> {
    async fn group(&mut self, group: &Group) -> Vec<Complaint> {
        let sightings = self.theirs.names.name(&group.sightings);
        let before = self.theirs.state.clone();
        let story = self.theirs.state.live(&sightings);
        let mut retried = story.retried.clone();
        retried.extend(self.trying.iter().cloned());
        let theirs = self.countings(&self.theirs, &before, &retried).tell(&story);
        let rules = self.rules(&retried, &theirs);

        let begin = self.begin;
        for action in &group.actions {
            self.act(action).await;
        }
        let known = differences::of(&self.recording.number, group.begin);
        let deadline = Instant::now() + PATIENCE;
        let mut is_quiet = false;
        loop {
            tokio::time::sleep(PAUSE).await;
            let (ours, our_story, state) = self.our_story(begin, &retried);
            let mut found = compare(&theirs, &ours, &rules);
            found.retain(|difference| !self.is_told(difference) && !is_pruned(difference, &state));
            let (unknown, missing) = sort_out(&found, &known);
            let is_same = unknown.is_empty() && missing.is_empty();
            if !is_same && Instant::now() < deadline {
                is_quiet = false;
                continue;
            }
            if !is_quiet {
                // What comes late counts too.
                self.quiet().await;
                is_quiet = true;
                continue;
            }
            let complaints = self.complain(group, &unknown, &missing);
            self.trying = retried.intersection(&failing(&theirs)).cloned().collect();
            for difference in found {
                self.told.insert(difference.subject.clone(), difference);
            }
            self.settle(&story, &our_story, state, (theirs, ours));
            return complaints;
        }
    }

    /// Tells what became of things here since some moment.
    fn our_story(&mut self, begin: usize, retried: &BTreeSet<String>) -> (Story, Story, State) {
        let sightings = self.scene.since(begin);
        self.begin = begin + sightings.len();
        let sightings = self.ours.names.name(&sightings);
        let mut state = self.ours.state.clone();
        let story = state.live(&sightings);
        let told = self.countings(&self.ours, &self.ours.state, retried).tell(&story);
        (told, story, state)
    }

    /// Returns whether an end differs as was told of it already.
    fn is_told(&self, difference: &Difference) -> bool {
        let last = |steps: &[Value]| steps.last().filter(|last| **last != "absent").cloned();
        let ends = |difference: &Difference| (last(&difference.theirs), last(&difference.ours));
        let told = self.told.get(&difference.subject);
        difference.is_end && told.is_some_and(|told| ends(told) == ends(difference))
    }

    fn settle(&mut self, theirs: &Story, ours: &Story, state: State, told: (Story, Story)) {
        self.ours.state = state;
        self.theirs.chances.extend(chances(theirs));
        self.ours.chances.extend(chances(ours));
        let (their_last, our_last) = (self.theirs.state.revisions(), self.ours.state.revisions());
        for (release, last) in &their_last {
            if !theirs.retried.contains(release) && our_last.get(release) == Some(last) {
                let agreed = self.agreed.entry(release.clone()).or_default();
                let before = self
                    .previous
                    .as_ref()
                    .is_some_and(|(theirs, _)| theirs.retried.contains(release));
                if !before || *agreed + 1 >= *last {
                    *agreed = *last;
                }
            }
        }
        // A new release of the same name counts from the beginning.
        self.agreed.retain(|release, _| their_last.contains_key(release));
        self.previous = Some(told);
    }

    fn countings(&self, side: &Side, before: &State, retried: &BTreeSet<String>) -> Countings {
        let mut releases: BTreeMap<String, Counting> = BTreeMap::new();
        for release in self.recording.releases() {
            let base = before.revisions().get(&release).copied().unwrap_or_default();
            let counting = Counting {
                agreed: self.agreed.get(&release).copied().unwrap_or_default(),
                base,
                is_hidden: retried.contains(&release),
            };
            releases.insert(release, counting);
        }
        Countings {
            releases,
            known_chances: side.chances.clone(),
        }
    }

    fn rules(&self, retried: &BTreeSet<String>, told: &Story) -> Rules {
        let mut rules = Rules::default();
        let countings = self.countings(&self.theirs, &self.theirs.state, &BTreeSet::new());
        let belongs = |subject: &Subject, releases: &BTreeSet<String>| {
            let release = countings.release_of(subject);
            release.is_some_and(|release| releases.contains(release))
        };
        let trying: BTreeSet<String> = failing(told).intersection(retried).cloned().collect();
        rules.trying = Box::new({
            let (countings, trying) = (countings.clone(), trying);
            move |subject| {
                countings
                    .release_of(subject)
                    .is_some_and(|release| trying.contains(release))
            }
        });
        if let Some((theirs, ours)) = &self.previous {
            for story in [theirs, ours] {
                for (subject, steps) in &story.steps {
                    if belongs(subject, &self.trying) {
                        let carried = rules.carried.entry(subject.clone()).or_default();
                        carried.extend(steps.iter().cloned());
                    }
                }
            }
        }
        rules
    }

    async fn act(&mut self, action: &Action) {
        match action {
            Action::Start {
                operator,
                period,
                watches,
                environment,
            } => self.operators.start(operator, *period, watches, environment),
            Action::Stop(operator) => self.operators.stop(operator).await,
            Action::Kill(operator) => self.operators.kill(operator).await,
            _ => self.scene.act(action).await,
        }
    }

    /// Waits until nothing happens any more; where something is tried again and again that is never so.
    async fn quiet(&self) {
        let deadline = Instant::now() + QUIET * 5;
        let mut length = self.scene.length();
        while Instant::now() < deadline {
            tokio::time::sleep(QUIET).await;
            if self.scene.length() == length {
                return;
            }
            length = self.scene.length();
        }
    }

    fn complain(&self, group: &Group, unknown: &[&Difference], missing: &[&Known]) -> Vec<Complaint> {
        let place = format!(
            "trace {} {}, after record {}",
            self.recording.number, self.recording.name, group.begin
        );
        let unknown = unknown
            .iter()
            .map(|difference| format!("{place}:\n{}", difference.show()));
        let missing = missing.iter().map(|known| {
            format!(
                "{place}: expected to differ, but doesn't: {} with {:?}",
                known.what, known.ours
            )
        });
        unknown.chain(missing).collect()
    }
}

/// Returns whether a record isn't there because more tries were made than upstream had the time for.
fn is_pruned(difference: &Difference, ours: &State) -> bool {
    let release = difference
        .subject
        .name
        .rsplit_once(".v")
        .map(|(release, _)| release);
    difference.subject.kind == "Record"
        && difference.ours.is_empty()
        && release.is_some_and(|release| ours.count(release) >= HISTORY)
}

/// Returns the resources that can't be made true.
fn failing(told: &Story) -> BTreeSet<String> {
    let conditions = told
        .ends
        .iter()
        .filter(|(subject, _)| subject.facet == "conditions");
    conditions
        .filter(|(_, end)| is_irreconcilable(end))
        .map(|(subject, _)| subject.name.clone())
        .collect()
}

fn is_irreconcilable(conditions: &Value) -> bool {
    let conditions = conditions.as_array().into_iter().flatten();
    conditions.into_iter().any(|condition| {
        matches!(
            condition["type"].as_str(),
            Some("Irreconcilable" | "ReleaseFailed")
        ) && condition["status"] == "True"
    })
}

/// Separates what differs into what nobody knows of; what is known and doesn't differ comes second.
fn sort_out<'a>(found: &'a [Difference], known: &[&'a Known]) -> (Vec<&'a Difference>, Vec<&'a Known>) {
    let unknown = found
        .iter()
        .filter(|difference| !known.iter().any(|known| known.is(difference)));
    let missing = known
        .iter()
        .filter(|known| known.is_certain && !found.iter().any(|difference| known.is(difference)));
    (unknown.collect(), missing.copied().collect())
}
