//! The recorded flows of the real Helm operator, played against ours on the real kube-apiserver; `main.rs` plays them on stage.

mod comparing;
mod differences;
mod flows;
mod kubelet;
mod observing;
mod operators;
mod playing;
mod recording;
#[expect(dead_code, reason = "the stage is for the tests in this process")]
mod server;
mod sighting;
mod story;
mod wording;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use flows::Flows;
use recording::Recording;
use server::Server;
use suite::{Case, Group, Suite};

/// How many recordings are played at the same time on one server: most of the time they wait.
const AT_ONCE: usize = 5;

/// The longest recording has a dozen groups of actions, each of which waits for some seconds.
const LIMIT: Duration = Duration::from_mins(8);

/// The recording in which the operator is killed. What was cut off is left to whoever may still work on it, so nobody else may be
/// at work while that is looked at.
const CUT_OFF: &str = "13";

/// Whether a recording needs a server for itself: it is killed in it, or it sees a definition arrive that others have from the
/// beginning.
fn is_alone(recording: &Recording) -> bool {
    recording.number == CUT_OFF || recording.sees("CustomResourceDefinition")
}

async fn start() -> Result<Server, String> {
    Ok(Server::kubernetes().await)
}

/// The recordings that need a server for themselves, or those that don't.
fn cases(flows: &Arc<Flows>, alone: bool) -> Vec<Case<Server>> {
    let recordings = flows.recordings.iter().enumerate();
    recordings
        .filter(|(_, recording)| is_alone(recording) == alone)
        .map(|(position, recording)| {
            let flows = Arc::clone(flows);
            let name = format!("{}_{}", recording.number, recording.name);
            Case::new(name, move |server: Arc<Server>| {
                let flows = Arc::clone(&flows);
                async move { followed(&flows, &server, position).await }
            })
        })
        .collect()
}

fn main() -> ExitCode {
    let mut alone = Group::apart("kubernetes-alone", start).within(LIMIT);
    let mut together = Group::shared("kubernetes", start).at_once(AT_ONCE).within(LIMIT);
    if let Some(flows) = Flows::read().map(Arc::new) {
        alone = alone.cases(cases(&flows, true));
        together = together.cases(cases(&flows, false));
    }
    Suite::new("helm-operator").with(alone).with(together).main()
}

async fn followed(flows: &Flows, server: &Server, position: usize) -> Result<(), String> {
    let mut complaints = flows.play(server, &flows.recordings[position]).await;
    complaints.sort();
    if complaints.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{} differences that are not known, or known ones that are not there:\n{}",
        complaints.len(),
        complaints.join("\n")
    ))
}
