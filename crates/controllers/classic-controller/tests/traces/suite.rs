//! The recorded flows of the real OLM v0, played against ours on the real kube-apiserver; `main.rs` plays them on stage.

mod catalogs;
mod comparing;
#[expect(
    dead_code,
    unused_imports,
    reason = "whether the list of differences is sound is asked without a server"
)]
mod differences;
mod events;
mod flows;
mod kubelet;
#[expect(unused_imports, reason = "its own tests are of the other program")]
mod moment;
mod observing;
mod playing;
mod recording;
#[expect(dead_code, reason = "the stage is for the tests in this process")]
mod server;
#[expect(
    dead_code,
    reason = "whether every passing state occurs is asked without a server"
)]
mod story;
mod wording;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use flows::{Flows, log_if_asked, longest_first};
use recording::Recording;
use server::Server;
use suite::{Case, Group, Suite};

/// How many clusters play flows, one after the other each; a flow needs a cluster for itself, since they define the same kinds.
const CLUSTERS: usize = 3;

/// The longest flow has a dozen steps, before each of which something is waited for.
const LIMIT: Duration = Duration::from_mins(8);

fn main() -> ExitCode {
    log_if_asked();
    let mut group = Group::apart("kubernetes", async || Ok(Server::kubernetes().await))
        .at_once(CLUSTERS)
        .within(LIMIT)
        // What was to be seen of a flow has been seen; the next one only needs a server without traces of it.
        .cleared_by(async |server: Arc<Server>| server.clear().await);
    if let Some(flows) = Flows::read().map(Arc::new) {
        let mut recordings: Vec<&Recording> = flows.0.iter().collect();
        longest_first(&mut recordings);
        let cases = recordings.into_iter().map(|recording| {
            let (flows, name) = (Arc::clone(&flows), recording.name.clone());
            Case::new(recording.name.clone(), move |server: Arc<Server>| {
                let (flows, name) = (Arc::clone(&flows), name.clone());
                async move { followed(&flows, &server, &name).await }
            })
        });
        group = group.cases(cases);
    }
    Suite::new("olmv0-flows").with(group).main()
}

async fn followed(flows: &Flows, server: &Server, name: &str) -> Result<(), String> {
    let complaints = flows.play(server, flows.named(name)).await;
    if complaints.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{} differences:\n{}",
        complaints.len(),
        complaints.join("\n")
    ))
}
