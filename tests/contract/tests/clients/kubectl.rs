//! kubectl on stage prints what it prints on a real cluster: sessions, each a case.
//!
//! `CONTRACT_RECORD=1` writes the sessions anew from the real cluster, and those that are stage's own from stage.

use std::path::{Path, PathBuf};
use std::time::Duration;

use contract::real::{Binaries, Options, RealCluster};
use contract::session::{self, Stand, Step};
use suite::{Case, Group, Outcome};

use crate::served_stage::ServedStage;

/// The longest session has a hundred commands, and each may wait for the controllers.
const LIMIT: Duration = Duration::from_mins(10);

fn sessions() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("sessions");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the sessions")
        .map(|entry| entry.expect("a session").path())
        .collect();
    files.sort();
    files
}

/// Whether a session shows what only stage can: its first line says so.
fn is_stages_own(file: &Path) -> bool {
    std::fs::read_to_string(file).is_ok_and(|text| text.starts_with("# stage's own"))
}

/// Where kubectl is, and a server that ends with this.
struct Ground<S> {
    kubectl: PathBuf,
    kubeconfig: PathBuf,
    _server: S,
}

/// The folder of the real kubectl.
fn kubectl() -> Result<PathBuf, String> {
    let binaries = Binaries::locate().map_err(|error| error.to_string())?;
    let program = binaries.program("kubectl");
    let folder = program
        .parent()
        .ok_or_else(|| format!("{} has no folder", program.display()))?;
    Ok(folder.to_owned())
}

async fn stage() -> Result<Ground<ServedStage>, String> {
    let stage = ServedStage::start().await;
    Ok(Ground {
        kubectl: kubectl()?,
        kubeconfig: stage.kubeconfig.clone(),
        _server: stage,
    })
}

async fn kubernetes() -> Result<Ground<RealCluster>, String> {
    let kubectl = kubectl()?;
    let cluster = RealCluster::start(Options::default()).await;
    let cluster = cluster.map_err(|error| error.to_string())?;
    Ok(Ground {
        kubectl,
        kubeconfig: cluster.kubeconfig.clone(),
        _server: cluster,
    })
}

/// Plays a session and compares what is printed; or, where that is asked for and `may_record`, writes it anew.
fn play<S>(ground: &Ground<S>, file: &Path, may_record: bool) -> Outcome {
    let named = |error: std::io::Error| format!("{}: {error}", file.display());
    let stand = Stand::new(&ground.kubeconfig, std::slice::from_ref(&ground.kubectl)).map_err(named)?;
    let text = std::fs::read_to_string(file).map_err(named)?;
    let expected = session::read(&text);
    if may_record && std::env::var_os("CONTRACT_RECORD").is_some() {
        let recorded: std::io::Result<Vec<Step>> = expected
            .iter()
            .map(|step| {
                let command = step.command.clone();
                let output = stand.run(&command)?;
                Ok(Step { command, output })
            })
            .collect();
        let comment = text.find("$ ").map_or("", |first| &text[..first]);
        return std::fs::write(file, session::write(comment, &recorded.map_err(named)?)).map_err(named);
    }
    let mut differing = Vec::new();
    for expected in &expected {
        let seen = stand.play(expected).map_err(named)?;
        if expected.output != seen.output {
            differing.push(format!(
                "$ {}\n--- recorded on a real cluster\n{}--- now\n{}",
                expected.command, expected.output, seen.output
            ));
        }
    }
    if differing.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{} steps differ\n{}",
        differing.len(),
        differing.join("\n")
    ))
}

fn case<S: Send + Sync + 'static>(file: PathBuf, may_record: bool) -> Case<Ground<S>> {
    let name = file
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    Case::blocking(name, move |ground: &Ground<S>| play(ground, &file, may_record))
}

pub(crate) fn sessions_on_stage() -> Group<impl Send + Sync> {
    let cases = sessions().into_iter().map(|file| {
        let may_record = is_stages_own(&file);
        case(file, may_record)
    });
    Group::shared("sessions-on-stage", stage)
        .within(LIMIT)
        .cases(cases)
}

pub(crate) fn sessions_on_kubernetes() -> Group<impl Send + Sync> {
    let cases = sessions().into_iter().filter(|file| !is_stages_own(file));
    Group::shared("sessions-on-kubernetes", kubernetes)
        .within(LIMIT)
        .cases(cases.map(|file| case(file, true)))
}
