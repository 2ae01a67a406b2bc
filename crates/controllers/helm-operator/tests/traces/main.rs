//! The recorded flows of the real Helm operator, played against ours: the same conditions, events, records and objects.
//!
//! ```text
//! recording ─ actions ─► scene (a namespace of a server), operators ─ sightings ─► story ◄─ compared ─► story ◄─ recording
//! ```
//!
//! Here they are played on stage, and by `suite.rs` on the real kube-apiserver. What is meant to differ stands in a table, with the
//! reason. `BATON_TRACES=05,12` picks recordings.

mod comparing;
mod differences;
mod flows;
mod kubelet;
mod observing;
mod operators;
mod playing;
mod recording;
#[expect(dead_code, reason = "the real one is for the suite")]
mod server;
mod sighting;
mod story;
mod wording;

use std::panic::AssertUnwindSafe;

use flows::Flows;
use futures_util::{FutureExt as _, StreamExt as _};
use recording::Recording;
use server::Server;

/// How many recordings are played at the same time: most of the time they wait.
const AT_ONCE: usize = 5;

/// The recordings that are asked for.
fn wanted(flows: &Flows) -> Vec<&Recording> {
    let wanted = std::env::var("BATON_TRACES").ok();
    let is_wanted = |recording: &&Recording| match wanted.as_deref() {
        Some(wanted) => wanted.split(',').any(|number| number == recording.number),
        None => true,
    };
    let recordings: Vec<&Recording> = flows.recordings.iter().filter(is_wanted).collect();
    assert!(
        !recordings.is_empty(),
        "BATON_TRACES={wanted:?} picks no recording"
    );
    recordings
}

/// Plays a recording; where that goes wrong altogether, the others are still played.
async fn play(flows: &Flows, recording: &Recording) -> Vec<String> {
    let server = Server::stage().await;
    let playing = flows.play(&server, recording);
    match AssertUnwindSafe(playing).catch_unwind().await {
        Ok(complaints) => complaints,
        Err(_) => vec![format!(
            "trace {} {}: it panicked",
            recording.number, recording.name
        )],
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_trace_is_followed_on_stage() {
    let Some(flows) = Flows::read() else { return };
    let played = wanted(&flows)
        .into_iter()
        .map(async |recording| play(&flows, recording).await);
    let complaints: Vec<Vec<String>> = futures_util::stream::iter(played)
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    let mut complaints = complaints.concat();
    complaints.sort();
    assert!(
        complaints.is_empty(),
        "{} differences that are not known, or known ones that are not there:\n{}",
        complaints.len(),
        complaints.join("\n")
    );
}
