//! Clients made of client-go and controller-runtime work on stage as on a real cluster.

use std::path::Path;
use std::process::Command;

use contract::clients::Clients;
use contract::real::{Binaries, BuildError, RealCluster};
use stage::server::ServeOptions;

/// Whether something that a test needs is there; says so when it isn't.
fn found<T>(what: Result<T, BuildError>) -> Option<T> {
    match what {
        Ok(there) => Some(there),
        Err(reason) => {
            assert!(std::env::var_os("BATON_REQUIRE_REAL").is_none(), "{reason}");
            eprintln!("SKIPPED: {reason}");
            None
        }
    }
}

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
    let stage = stage::Stage::in_memory(stage::Options::default())
        .await
        .expect("a stage");
    let serving = stage
        .serve(
            "127.0.0.1:0".parse().expect("an address"),
            &ServeOptions::default(),
        )
        .await
        .expect("a listening stage");
    let folder = tempfile::tempdir().expect("a folder");
    let kubeconfig = folder.path().join("kubeconfig");
    serving.write_kubeconfig(&kubeconfig).expect("a kubeconfig");
    prove(&clients, &kubeconfig).await;
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
