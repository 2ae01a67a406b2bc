//! The contract, asked of a real kube-apiserver: what the cases expect is what Kubernetes does.

mod needs;

use std::sync::Arc;

use contract::real::{ADMIN_TOKEN, Binaries, Options, RealCluster};
use contract::server::{Backend, Https};
use needs::found;

#[tokio::test(flavor = "multi_thread")]
async fn kubernetes_itself_keeps_the_contract() {
    if found(Binaries::locate()).is_none() {
        return;
    }
    let cluster = RealCluster::start(Options::default())
        .await
        .expect("a real cluster");
    let server =
        Https::new(Backend::Real, &cluster.url, &cluster.authority, ADMIN_TOKEN).expect("an HTTPS client");
    contract::run(Arc::new(server)).await;
}
