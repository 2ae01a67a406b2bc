//! The recorded flows of the real OLM v0, played against ours: the same phases, reasons, messages, events and objects.
//!
//! ```text
//! recording ─ steps ─► server, catalogs, kubelet ─ sightings ─► account ◄─ compared ─► account ◄─ recording
//! ```
//!
//! Here they are played on stage, and by `suite.rs` on the real kube-apiserver. What is meant to differ stands in a table, with the
//! reason. `BATON_TRACES=uninstall,fail-forward` picks flows. `BATON_LOG=1` shows what the controller does.

mod catalogs;
mod comparing;
mod differences;
mod events;
mod flows;
mod kubelet;
mod moment;
mod observing;
mod playing;
mod recording;
#[expect(dead_code, reason = "the real one is for the suite")]
mod server;
mod story;
mod wording;

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;

use flows::{Flows, log_if_asked, longest_first};
use futures_util::{FutureExt as _, StreamExt as _};
use recording::Recording;
use server::Server;

/// How many flows are played at the same time, each on a stage of its own: most of the time they wait.
const STAGES: usize = 8;

/// Returns the flows that are to be played, those that take long first.
fn wanted(flows: &Flows) -> Vec<&Recording> {
    let mut wanted: Vec<&Recording> = match std::env::var("BATON_TRACES") {
        Ok(names) => names.split(',').map(|name| flows.named(name)).collect(),
        Err(_) => flows.0.iter().collect(),
    };
    longest_first(&mut wanted);
    wanted
}

/// Plays a flow on a stage of its own; where that goes wrong altogether, the others are still played.
async fn play(flows: &Flows, recording: &Recording) -> Option<String> {
    let playing = async {
        let server = Server::stage().await;
        flows.play(&server, recording).await
    };
    let complaints = match AssertUnwindSafe(playing).catch_unwind().await {
        Ok(complaints) => complaints,
        Err(_) => vec!["  it panicked".to_owned()],
    };
    (!complaints.is_empty()).then(|| format!("{}:\n{}", recording.name, complaints.join("\n")))
}

/// What a flow came to: the flow, and what differs.
type Outcome<'a> = (&'a Recording, Option<String>);

/// Fails where flows differ. One that differs beside others is played once more with the machine to itself, and what counts is
/// what it does there: some steps come while others are under way, and what a watch sees of those depends on how busy the
/// machine is. What differed the first time is shown by `--nocapture`.
async fn conclude<'a>(outcomes: Vec<Outcome<'a>>, alone: impl AsyncFn(&'a Recording) -> Option<String>) {
    let mut complaints = Vec::new();
    for (recording, complaint) in outcomes {
        let Some(complaint) = complaint else { continue };
        println!("it differed beside others, and is played alone: {complaint}");
        complaints.extend(alone(recording).await);
    }
    complaints.sort();
    assert!(
        complaints.is_empty(),
        "{} flows differ:\n{}",
        complaints.len(),
        complaints.join("\n")
    );
}

#[test]
fn what_is_meant_to_differ_is_something_that_was_recorded() {
    let Some(flows) = Flows::read() else { return };
    assert_eq!(differences::of_nothing(&flows.0), Vec::<String>::new());
    let sights = flows.0.iter().map(|recording| &recording.sights);
    let left_out = sights.flat_map(story::left_out).collect();
    assert_eq!(story::PASSING.into_iter().collect::<BTreeSet<_>>(), left_out);
}

#[test]
fn what_the_recorder_waited_for_was_there() {
    let Some(flows) = Flows::read() else { return };
    assert_eq!(flows.0.len(), 45);
    for recording in &flows.0 {
        for (position, step) in recording.steps.iter().enumerate() {
            assert_eq!(
                step.moment.is_seen(&step.before),
                !differences::is_in_vain(&recording.name, position),
                "{}, step {position}: {:?}",
                recording.name,
                step.moment
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_flow_is_followed_on_stage() {
    let Some(flows) = Flows::read() else { return };
    log_if_asked();
    let played = wanted(&flows)
        .into_iter()
        .map(async |recording| (recording, play(&flows, recording).await));
    let outcomes = futures_util::stream::iter(played).buffer_unordered(STAGES);
    conclude(outcomes.collect().await, async |recording| {
        play(&flows, recording).await
    })
    .await;
}
