//! kubectl on stage prints what it prints on a real cluster.
//!
//! `CONTRACT_RECORD=1` writes the sessions anew from the real cluster, and those that are stage's own from stage.

mod needs;
mod served_stage;

use std::path::{Path, PathBuf};

use contract::real::{Binaries, RealCluster};
use contract::session::{self, Stand, Step};
use needs::found;
use served_stage::ServedStage;

fn sessions() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("sessions");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the sessions")
        .map(|entry| entry.expect("a session").path())
        .collect();
    files.sort();
    let wanted = std::env::var("CONTRACT_CASES").unwrap_or_default();
    files.retain(|file| file.to_string_lossy().contains(&wanted));
    files
}

/// Whether a session shows what only stage can: its first line says so.
fn is_stages_own(file: &Path) -> bool {
    std::fs::read_to_string(file).is_ok_and(|text| text.starts_with("# stage's own"))
}

fn play(stand: &Stand, file: &Path, record: bool) -> (String, Vec<Step>, Vec<Step>) {
    let text = std::fs::read_to_string(file).expect("a readable session");
    let comment = text.find("$ ").map_or("", |first| &text[..first]).to_owned();
    let expected = session::read(&text);
    let seen = expected
        .iter()
        .map(|step| {
            if record {
                let output = stand.run(&step.command)?;
                Ok(Step {
                    command: step.command.clone(),
                    output,
                })
            } else {
                stand.play(step)
            }
        })
        .collect::<std::io::Result<Vec<Step>>>()
        .expect("commands that run");
    (comment, expected, seen)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_on_stage_reads_as_on_a_real_cluster() {
    let Some(binaries) = found(Binaries::locate()) else {
        return;
    };
    let stage = ServedStage::start().await;
    let kubeconfig = stage.kubeconfig.clone();
    let kubectl = binaries.program("kubectl").parent().expect("a folder").to_owned();
    let record = std::env::var_os("CONTRACT_RECORD").is_some();
    let failures = tokio::task::spawn_blocking(move || {
        let mut failures = Vec::new();
        for file in sessions() {
            let stand = Stand::new(&kubeconfig, std::slice::from_ref(&kubectl)).expect("a stand");
            let record = record && is_stages_own(&file);
            let (comment, expected, seen) = play(&stand, &file, record);
            if record {
                std::fs::write(&file, session::write(&comment, &seen)).expect("a written session");
                continue;
            }
            for (expected, seen) in expected.iter().zip(&seen) {
                if expected.output != seen.output {
                    failures.push(format!(
                        "{}: $ {}\n--- on a real cluster\n{}--- on stage\n{}",
                        file.file_name().unwrap_or_default().to_string_lossy(),
                        expected.command,
                        expected.output,
                        seen.output
                    ));
                }
            }
        }
        failures
    })
    .await
    .expect("the sessions end");
    assert!(
        failures.is_empty(),
        "{} steps differ\n\n{}",
        failures.len(),
        failures.join("\n")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sessions_are_those_of_a_real_cluster() {
    let Some(binaries) = found(Binaries::locate()) else {
        return;
    };
    let cluster = RealCluster::start(contract::real::Options::default())
        .await
        .expect("a real cluster");
    let kubectl = binaries.program("kubectl").parent().expect("a folder").to_owned();
    let kubeconfig = cluster.kubeconfig.clone();
    let record = std::env::var_os("CONTRACT_RECORD").is_some();
    let differing = tokio::task::spawn_blocking(move || {
        let mut differing = Vec::new();
        for file in sessions().into_iter().filter(|file| !is_stages_own(file)) {
            let stand = Stand::new(&kubeconfig, std::slice::from_ref(&kubectl)).expect("a stand");
            let (comment, expected, seen) = play(&stand, &file, record);
            if record {
                std::fs::write(&file, session::write(&comment, &seen)).expect("a written session");
                continue;
            }
            for (expected, seen) in expected
                .iter()
                .zip(&seen)
                .filter(|(expected, seen)| expected != seen)
            {
                differing.push(format!(
                    "{}: $ {}\n--- recorded\n{}--- now\n{}",
                    file.display(),
                    expected.command,
                    expected.output,
                    seen.output
                ));
            }
        }
        differing
    })
    .await
    .expect("the sessions end");
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}
