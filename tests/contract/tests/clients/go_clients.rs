//! Clients made of client-go and controller-runtime work on stage as on a real cluster.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use contract::clients::Clients;
use contract::real::{Options, RealCluster};
use suite::{Case, Group, Outcome};

use crate::served_stage::ServedStage;

/// How long the program may take for everything that it tries.
const LIMIT: Duration = Duration::from_mins(10);

/// The program, and a server that ends with this.
struct Ground<S> {
    program: PathBuf,
    kubeconfig: PathBuf,
    _server: S,
}

fn program() -> Result<PathBuf, String> {
    let clients = Clients::locate().map_err(|error| error.to_string())?;
    Ok(clients.program("goclients"))
}

fn prove(program: &Path, kubeconfig: &Path) -> Outcome {
    let output = Command::new(program)
        .arg(kubeconfig)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    if output.status.success() {
        suite::say(said);
        Ok(())
    } else {
        Err(said)
    }
}

fn case<S: Send + Sync + 'static>() -> Case<Ground<S>> {
    Case::blocking("client-go_and_controller-runtime_work", |ground: &Ground<S>| {
        prove(&ground.program, &ground.kubeconfig)
    })
}

async fn stage() -> Result<Ground<ServedStage>, String> {
    let stage = ServedStage::start().await;
    Ok(Ground {
        program: program()?,
        kubeconfig: stage.kubeconfig.clone(),
        _server: stage,
    })
}

async fn kubernetes() -> Result<Ground<RealCluster>, String> {
    let program = program()?;
    let cluster = RealCluster::start(Options::default()).await;
    let cluster = cluster.map_err(|error| error.to_string())?;
    Ok(Ground {
        program,
        kubeconfig: cluster.kubeconfig.clone(),
        _server: cluster,
    })
}

pub(crate) fn on_stage() -> Group<impl Send + Sync> {
    Group::apart("go-on-stage", stage).within(LIMIT).case(case())
}

pub(crate) fn on_kubernetes() -> Group<impl Send + Sync> {
    Group::apart("go-on-kubernetes", kubernetes)
        .within(LIMIT)
        .case(case())
}
