//! The recorded flows, and how one is played.

use std::time::Instant;

use crate::comparing::Account;
use crate::differences;
use crate::playing;
use crate::recording::Recording;
use crate::server::Server;

/// All flows.
pub(crate) struct Flows(pub(crate) Vec<Recording>);

impl Flows {
    /// Reads them; none, and said, where there are no recordings.
    pub(crate) fn read() -> Option<Self> {
        let folder = corpus::open("olmv0")?.join("olmv0-corpus/traces");
        Some(Self(Recording::all(&folder)))
    }

    /// Returns the flow of a name. Whoever means one that there isn't would otherwise see all go well.
    pub(crate) fn named(&self, name: &str) -> &Recording {
        let found = self.0.iter().find(|recording| recording.name == name);
        found.unwrap_or_else(|| {
            let names: Vec<&str> = self.0.iter().map(|recording| recording.name.as_str()).collect();
            panic!("{name:?} is no flow; there are {}", names.join(", "))
        })
    }

    /// Returns what should come of a flow.
    fn expected(&self, recording: &Recording) -> Account {
        match differences::ending(&recording.name) {
            None => recording.account(),
            Some(differences::Ending::BeforeStep(step)) => recording.until(step).account(),
            Some(differences::Ending::OfFlow { flow, names }) => self.named(flow).renamed(names).account(),
        }
    }

    /// Plays a flow; returns what differs that should not, and what should differ and does not.
    pub(crate) async fn play(&self, server: &Server, recording: &Recording) -> Vec<String> {
        let expected = self.expected(recording);
        let begin = Instant::now();
        let complaints = playing::play(server.client(), recording, &expected).await;
        // Shown by `--nocapture`.
        println!("{}: {:.1} s", recording.name, begin.elapsed().as_secs_f32());
        complaints
    }
}

/// Those that take long first.
pub(crate) fn longest_first(recordings: &mut [&Recording]) {
    recordings.sort_by_key(|recording| std::cmp::Reverse(recording.steps.len()));
}

/// Writes what the controller does, for whoever looks for the cause of a difference.
pub(crate) fn log_if_asked() {
    if std::env::var_os("BATON_LOG").is_some() {
        let log = tracing_subscriber::fmt()
            .with_max_level(tracing_subscriber::filter::LevelFilter::DEBUG)
            .with_writer(std::io::stderr);
        // Another test may have done it.
        log.try_init().ok();
    }
}
