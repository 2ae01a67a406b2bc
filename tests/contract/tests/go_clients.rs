//! Clients made of client-go and controller-runtime work on stage as on a real cluster.

mod needs;
mod served_stage;

use std::path::Path;
use std::process::Command;

use contract::clients::Clients;
use contract::real::{Binaries, RealCluster};
use needs::found;
use served_stage::ServedStage;

async fn prove(clients: &Clients, kubeconfig: &Path) {
    let program = clients.program("goclients");
    let kubeconfig = kubeconfig.to_owned();
    let output = tokio::task::spawn_blocking(move || Command::new(program).arg(kubeconfig).output());
    let output = output.await.expect("it ends").expect("it starts");
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn go_clients_work_on_stage() {
    let Some(clients) = found(Clients::locate()) else {
        return;
    };
    let stage = ServedStage::start().await;
    prove(&clients, &stage.kubeconfig).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn go_clients_prove_what_a_real_cluster_does() {
    let Some(clients) = found(Clients::locate()) else {
        return;
    };
    if found(Binaries::locate()).is_none() {
        return;
    }
    let cluster = RealCluster::start(contract::real::Options::default())
        .await
        .expect("a real cluster");
    prove(&clients, &cluster.kubeconfig).await;
}
