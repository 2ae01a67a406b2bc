//! The recorded flows of the real Helm operator, played against ours: the same conditions, events, records and objects.
//!
//! ```text
//! recording ─ actions ─► scene (a namespace of a server), operators ─ sightings ─► story ◄─ compared ─► story ◄─ recording
//! ```
//!
//! What is meant to differ stands in a table, with the reason. `BATON_TRACES=05,12` picks recordings.

mod comparing;
mod differences;
mod kubelet;
mod observing;
mod operators;
mod playing;
mod recording;
mod server;
mod sighting;
mod story;
mod wording;

use std::panic::AssertUnwindSafe;
use std::path::PathBuf;

use contract::real::Binaries;
use futures_util::{FutureExt as _, StreamExt as _};
use operators::Charts;
use recording::Recording;
use server::Server;

/// How many recordings are played at the same time: most of the time they wait.
const AT_ONCE: usize = 5;

/// The recording in which the operator is killed.
const CUT_OFF: &str = "13";

/// What the tests work with.
struct Corpus {
    folder: PathBuf,
    charts: Charts,
    recordings: Vec<Recording>,
    _made: tempfile::TempDir,
}

fn corpus() -> Option<Corpus> {
    let folder = corpus::open("operator")?.join("operator-corpus");
    let charts = corpus::open("helm-charts")?.join("charts");
    let made = tempfile::tempdir().expect("a folder");
    let wanted = std::env::var("BATON_TRACES").ok();
    let is_wanted = |recording: &Recording| match wanted.as_deref() {
        Some(wanted) => wanted.split(',').any(|number| number == recording.number),
        None => true,
    };
    Some(Corpus {
        charts: Charts::new(&folder, &charts, made.path()),
        recordings: Recording::all(&folder).into_iter().filter(is_wanted).collect(),
        folder,
        _made: made,
    })
}

fn conclude(mut complaints: Vec<String>) {
    complaints.sort();
    assert!(
        complaints.is_empty(),
        "{} differences that are not known, or known ones that are not there:\n{}",
        complaints.len(),
        complaints.join("\n")
    );
}

/// Plays a recording; where that goes wrong altogether, the others are still played.
async fn play(server: &Server, recording: &Recording, corpus: &Corpus) -> Vec<String> {
    let client = server.client().await;
    let playing = playing::play(client, recording, &corpus.folder, &corpus.charts);
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
    let Some(corpus) = corpus() else { return };
    let played = corpus.recordings.iter().map(async |recording| {
        let server = Server::stage().await;
        play(&server, recording, &corpus).await
    });
    let complaints: Vec<Vec<String>> = futures_util::stream::iter(played)
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    conclude(complaints.concat());
}

#[tokio::test(flavor = "multi_thread")]
async fn every_trace_is_followed_on_kubernetes() {
    if let Err(reason) = Binaries::locate() {
        assert!(std::env::var_os("BATON_REQUIRE_REAL").is_none(), "{reason}");
        corpus::skipped(&reason.to_string());
        return;
    }
    let Some(corpus) = corpus() else { return };
    let server = Server::kubernetes().await;
    // The one that sees a definition arrive comes before all others, which have it from the beginning. What was cut off is
    // left to whoever may still work on it, so nobody else is at work while that is looked at.
    let (first, others): (Vec<&Recording>, Vec<&Recording>) = corpus
        .recordings
        .iter()
        .partition(|recording| recording.sees("CustomResourceDefinition"));
    let (alone, others): (Vec<&Recording>, Vec<&Recording>) = others
        .into_iter()
        .partition(|recording| recording.number == CUT_OFF);
    let mut complaints = Vec::new();
    for recordings in [first, alone, others] {
        let played = recordings
            .into_iter()
            .map(async |recording| play(&server, recording, &corpus).await);
        let played: Vec<Vec<String>> = futures_util::stream::iter(played)
            .buffer_unordered(AT_ONCE)
            .collect()
            .await;
        complaints.extend(played.concat());
    }
    conclude(complaints);
}
