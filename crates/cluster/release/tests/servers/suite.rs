//! What this crate takes for granted of an API server, on the real kube-apiserver; and releases that Helm and we have in common.

mod expectations;
mod helm_programs;
#[expect(dead_code, reason = "the tests in this process use the rest of it")]
#[path = "../flow/world.rs"]
mod world;

use std::process::ExitCode;
use std::sync::Arc;

use contract::real::{Options, RealCluster};
use expectations::EXPECTATIONS;
use kube::Client;
use suite::{Case, Group, Suite, cases};

/// A real cluster, and a way to it.
struct Kubernetes {
    client: Client,
    _cluster: RealCluster,
}

async fn start() -> Result<Kubernetes, String> {
    let cluster = RealCluster::start(Options::default()).await;
    let cluster = cluster.map_err(|error| error.to_string())?;
    let kubeconfig = kube::config::Kubeconfig::read_from(&cluster.kubeconfig).expect("a kubeconfig");
    let options = kube::config::KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await;
    Ok(Kubernetes {
        client: Client::try_from(config.expect("a configuration")).expect("a client"),
        _cluster: cluster,
    })
}

fn main() -> ExitCode {
    let helm = Group::free("helm-on-stage").at_once(2).cases(cases![
        helm_programs::helm_3_goes_on_with_our_releases,
        helm_programs::helm_4_goes_on_with_our_releases,
        helm_programs::we_go_on_with_releases_of_helm_3,
        helm_programs::we_go_on_with_releases_of_helm_4,
    ]);
    let expected = EXPECTATIONS.map(|(name, holds)| {
        Case::new(name, move |kubernetes: Arc<Kubernetes>| {
            holds(kubernetes.client.clone())
        })
    });
    Suite::new("releases")
        .with(helm)
        .with(Group::shared("kubernetes", start).cases(expected))
        .main()
}
