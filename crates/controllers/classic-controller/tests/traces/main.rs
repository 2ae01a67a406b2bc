//! The recorded flows of the real OLM v0, played against ours: the same phases, reasons, messages, events and objects.
//!
//! ```text
//! recording ─ steps ─► server, catalogs, kubelet ─ sightings ─► account ◄─ compared ─► account ◄─ recording
//! ```
//!
//! What is meant to differ stands in a table, with the reason. `BATON_TRACES=uninstall,fail-forward` picks flows. `BATON_LOG=1`
//! shows what the controller does.

mod catalogs;
mod comparing;
mod differences;
mod events;
mod kubelet;
mod moment;
mod observing;
mod playing;
mod recording;
mod server;
mod story;
mod wording;

use std::collections::{BTreeSet, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::Mutex;

use comparing::Account;
use contract::real::Binaries;
use futures_util::{FutureExt as _, StreamExt as _};
use recording::Recording;
use server::Server;

/// How many flows are played at the same time, each on a stage of its own: most of the time they wait.
const STAGES: usize = 8;

/// How many real clusters play flows, one after the other; a flow needs a cluster for itself, since they define the same
/// kinds.
const CLUSTERS: usize = 3;

/// Flows are played on one kind of server after the other, so that each has the machine to itself.
static TURN: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// The recorded flows.
struct Flows(Vec<Recording>);

impl Flows {
    /// Reads them; none where there are no recordings.
    fn read() -> Option<Self> {
        let folder = corpus::open("olmv0")?.join("olmv0-corpus/traces");
        Some(Self(Recording::all(&folder)))
    }

    /// Returns the flow of a name. Whoever means one that there isn't would otherwise see all go well.
    fn named(&self, name: &str) -> &Recording {
        let found = self.0.iter().find(|recording| recording.name == name);
        found.unwrap_or_else(|| {
            let names: Vec<&str> = self.0.iter().map(|recording| recording.name.as_str()).collect();
            panic!("{name:?} is no flow; there are {}", names.join(", "))
        })
    }

    /// Returns those that are to be played, those that take long first.
    fn wanted(&self) -> VecDeque<&Recording> {
        let mut wanted: Vec<&Recording> = match std::env::var("BATON_TRACES") {
            Ok(names) => names.split(',').map(|name| self.named(name)).collect(),
            Err(_) => self.0.iter().collect(),
        };
        wanted.sort_by_key(|recording| std::cmp::Reverse(recording.steps.len()));
        wanted.into()
    }

    /// Returns what should come of a flow.
    fn expected(&self, recording: &Recording) -> Account {
        match differences::ending(&recording.name) {
            None => recording.account(),
            Some(differences::Ending::BeforeStep(step)) => recording.until(step).account(),
            Some(differences::Ending::OfFlow { flow, names }) => self.named(flow).renamed(names).account(),
        }
    }

    /// Plays a flow; where that goes wrong altogether, the others are still played.
    async fn play(&self, server: &Server, recording: &Recording) -> Option<String> {
        let expected = self.expected(recording);
        let begin = std::time::Instant::now();
        let playing = playing::play(server.client(), recording, &expected);
        let complaints = match AssertUnwindSafe(playing).catch_unwind().await {
            Ok(complaints) => complaints,
            Err(_) => vec!["  it panicked".to_owned()],
        };
        // Shown by `--nocapture`.
        println!("{}: {:.1} s", recording.name, begin.elapsed().as_secs_f32());
        (!complaints.is_empty()).then(|| format!("{}:\n{}", recording.name, complaints.join("\n")))
    }
}

/// Writes what the controller does, for whoever looks for the cause of a difference.
fn log_if_asked() {
    if std::env::var_os("BATON_LOG").is_some() {
        let log = tracing_subscriber::fmt()
            .with_max_level(tracing_subscriber::filter::LevelFilter::DEBUG)
            .with_writer(std::io::stderr);
        // Another test may have done it.
        log.try_init().ok();
    }
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
    let _turn = TURN.lock().await;
    let on_stage = async |recording| {
        let server = Server::stage().await;
        flows.play(&server, recording).await
    };
    let played = flows
        .wanted()
        .into_iter()
        .map(async |recording| (recording, on_stage(recording).await));
    let outcomes = futures_util::stream::iter(played).buffer_unordered(STAGES);
    conclude(outcomes.collect().await, on_stage).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_flow_is_followed_on_kubernetes() {
    if let Err(reason) = Binaries::locate() {
        assert!(std::env::var_os("BATON_REQUIRE_REAL").is_none(), "{reason}");
        corpus::skipped(&reason.to_string());
        return;
    }
    let Some(flows) = Flows::read() else { return };
    log_if_asked();
    let _turn = TURN.lock().await;
    let waiting = Mutex::new(flows.wanted());
    let next = || waiting.lock().expect("no panic").pop_front();
    let clusters = (0..CLUSTERS.min(flows.wanted().len())).map(async |_| {
        let mut server = Server::kubernetes().await;
        let mut outcomes = Vec::new();
        while let Some(recording) = next() {
            outcomes.push((recording, flows.play(&server, recording).await));
            // What was to be seen of the flow has been seen; the next one only needs a server without traces of it.
            if let Err(left) = server.clear().await {
                println!("a new cluster, since these stay in the old one: {left}");
                server = Server::kubernetes().await;
            }
        }
        outcomes
    });
    let outcomes = futures_util::future::join_all(clusters).await.concat();
    let alone = async |recording| flows.play(&Server::kubernetes().await, recording).await;
    conclude(outcomes, alone).await;
}
