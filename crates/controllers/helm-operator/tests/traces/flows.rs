//! The recorded flows, and what they are played with.

use std::path::PathBuf;

use crate::operators::Charts;
use crate::playing::{self, Complaint};
use crate::recording::Recording;
use crate::server::Server;

/// All flows.
pub(crate) struct Flows {
    folder: PathBuf,
    charts: Charts,
    pub(crate) recordings: Vec<Recording>,
    _made: tempfile::TempDir,
}

impl Flows {
    /// Reads them; none, and said, where there are no recordings.
    pub(crate) fn read() -> Option<Self> {
        let folder = corpus::open("operator")?.join("operator-corpus");
        let charts = corpus::open("helm-charts")?.join("charts");
        let made = tempfile::tempdir().expect("a folder");
        Some(Self {
            charts: Charts::new(&folder, &charts, made.path()),
            recordings: Recording::all(&folder),
            folder,
            _made: made,
        })
    }

    /// Plays a flow; returns what differs that should not, and what should differ and does not.
    pub(crate) async fn play(&self, server: &Server, recording: &Recording) -> Vec<Complaint> {
        let client = server.client().await;
        playing::play(client, recording, &self.folder, &self.charts).await
    }
}
