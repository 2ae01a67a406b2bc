//! The recorded flows of the real OLM v0, played against ours: the same phases, reasons, messages and objects.
//!
//! ```text
//! recording ─ steps ─► server, catalogs, kubelet ─ sightings ─► story, end ◄─ compared ─► story, end ◄─ recording
//! ```
//!
//! What is meant to differ stands in a table, with the reason. `BATON_TRACES=uninstall,fail-forward` picks flows,
//! and `BATON_LOG=1` shows what the controller does.

mod catalogs;
mod comparing;
mod differences;
mod kubelet;
mod observing;
mod playing;
mod recording;
mod server;
mod story;
mod wording;

use std::panic::AssertUnwindSafe;

use contract::real::Binaries;
use futures_util::{FutureExt as _, StreamExt as _};
use recording::Recording;
use server::Server;

/// How many flows are played at the same time: most of the time they wait.
const AT_ONCE: usize = 8;

/// How often a flow that differs is played again, then on its own: some steps come while others are under way, and what is
/// seen of those depends on how busy the machine is.
const AGAIN: usize = 2;

/// Flows that are not followed yet, with what differs. One that is followed after all has to go from here.
const NOT_YET: &[(&str, &str)] = &[];

fn recordings() -> Option<Vec<Recording>> {
    let folder = corpus::open("olmv0")?.join("olmv0-corpus/traces");
    let wanted = std::env::var("BATON_TRACES").ok();
    let is_wanted = |recording: &Recording| {
        wanted
            .as_deref()
            .is_none_or(|wanted| wanted.split(',').any(|name| name == recording.name))
    };
    Some(Recording::all(&folder).into_iter().filter(is_wanted).collect())
}

/// Writes what the controller does, for whoever looks for the cause of a difference.
fn log_if_asked() {
    if std::env::var_os("BATON_LOG").is_some() {
        tracing_subscriber::fmt()
            .with_max_level(tracing_subscriber::filter::LevelFilter::DEBUG)
            .with_writer(std::io::stderr)
            .init();
    }
}

/// Plays a flow; where that goes wrong altogether, the others are still played.
async fn play(server: &Server, recording: &Recording) -> Option<String> {
    let client = server.client().await;
    let playing = playing::play(client, recording);
    let differences = match AssertUnwindSafe(playing).catch_unwind().await {
        Ok(differences) => differences.iter().map(ToString::to_string).collect(),
        Err(_) => vec!["  it panicked".to_owned()],
    };
    let is_expected = NOT_YET.iter().any(|(name, _)| *name == recording.name);
    match (differences.is_empty(), is_expected) {
        (true, false) | (false, true) => None,
        (true, true) => Some(format!(
            "{}: it is followed now; take it from the list",
            recording.name
        )),
        (false, false) => Some(format!("{}:\n{}", recording.name, differences.join("\n"))),
    }
}

fn conclude(complaints: Vec<Option<String>>) {
    let mut complaints: Vec<String> = complaints.into_iter().flatten().collect();
    complaints.sort();
    assert!(
        complaints.is_empty(),
        "{} flows differ:\n{}",
        complaints.len(),
        complaints.join("\n")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn every_flow_is_followed_on_stage() {
    let Some(recordings) = recordings() else { return };
    log_if_asked();
    let on_stage = async |recording| {
        let server = Server::stage().await;
        (recording, play(&server, recording).await)
    };
    let mut played: Vec<(&Recording, Option<String>)> =
        futures_util::stream::iter(recordings.iter().map(on_stage))
            .buffer_unordered(AT_ONCE)
            .collect()
            .await;
    for _ in 0..AGAIN {
        for flow in played.iter_mut().filter(|(_, complaint)| complaint.is_some()) {
            *flow = on_stage(flow.0).await;
        }
    }
    conclude(played.into_iter().map(|(_, complaint)| complaint).collect());
}

/// Each flow needs a cluster of its own, since they define the same kinds; so only flows that are asked for are played.
#[tokio::test(flavor = "multi_thread")]
async fn the_flows_that_are_asked_for_are_followed_on_kubernetes() {
    if let Err(reason) = Binaries::locate() {
        assert!(std::env::var_os("BATON_REQUIRE_REAL").is_none(), "{reason}");
        corpus::skipped(&reason.to_string());
        return;
    }
    if std::env::var_os("BATON_TRACES").is_none() {
        corpus::skipped("BATON_TRACES names no flows");
        return;
    }
    let Some(recordings) = recordings() else { return };
    let mut complaints = Vec::new();
    for recording in &recordings {
        let server = Server::kubernetes().await;
        complaints.push(play(&server, recording).await);
    }
    conclude(complaints);
}
